//! Stops all threads of this process for ever, and notes where each of them is.
//!
//! A thread that is stopped uses only the part of its stack that is above its stack pointer, and
//! only the thread itself can tell that. So each is sent a signal, and notes it in the handler, which
//! does not return. The process is of no use afterwards: the front reads its memory, and kills it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::sys;

/// The most threads that are noted.
const THREADS: usize = 1 << 12;

/// The most registers that may point to objects.
const REGISTERS: usize = 32;

/// How long to wait for the threads.
const LIMIT: Duration = Duration::from_millis(500);

/// A thread that is stopped. The front reads it; `docs/protocol.md` describes it.
#[repr(C)]
struct Stopped {
    /// The thread's ID.
    thread: AtomicU64,
    stack_pointer: AtomicU64,
    /// The address of the thread's control block, with its thread-locals around it. Zero if the
    /// thread blocks signals, and was met in a system call.
    thread_pointer: AtomicU64,
    registers: [AtomicU64; REGISTERS],
}

static STOPPED: [Stopped; THREADS] = [const {
    Stopped {
        thread: AtomicU64::new(0),
        stack_pointer: AtomicU64::new(0),
        thread_pointer: AtomicU64::new(0),
        registers: [const { AtomicU64::new(0) }; REGISTERS],
    }
}; THREADS];

/// How many threads have begun to note where they are.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// How many threads have noted it.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// Where the threads are noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) address: u64,
    /// How many are noted; the first is the thread that stopped the others.
    pub(crate) threads: usize,
    /// How many others there are, which did not answer in time.
    pub(crate) running: usize,
    pub(crate) bytes_of_each: usize,
}

/// Stops all threads but this one, whose stack is in use from `frame` on.
///
/// Nothing here allocates: a thread may be stopped while it has a lock of the allocator.
///
/// # Errors
///
/// If the handler cannot be installed, or threads cannot be listed.
pub(crate) fn stop_all(frame: u64) -> std::io::Result<Place> {
    // qemu's emulation of a process has no last three.
    let signal = libc::SIGRTMAX() - 4;
    let own = sys::thread_id();
    if let Some(first) = begin() {
        first.note(own, frame, sys::thread_pointer(), []);
    }
    sys::on_signal(signal, stop_here)?;
    let tasks = sys::open_folder(c"/proc/self/task")?;
    let end = Instant::now() + LIMIT;
    let mut asked = [0_u64; THREADS];
    asked[0] = own;
    let mut count = 1;
    loop {
        let (mut threads, mut is_new) = (0, false);
        sys::each_number(&tasks, |thread| {
            threads += 1;
            if !asked[..count].contains(&thread) && count < THREADS {
                asked[count] = thread;
                count += 1;
                is_new = true;
                sys::signal_thread(thread, signal);
            }
        })?;
        let stopped = DONE.load(Ordering::Acquire);
        if !is_new && stopped >= threads || Instant::now() > end {
            // Who blocks all signals waits in the kernel for most of its time.
            for thread in &asked[1..count] {
                if !has_noted(*thread)
                    && let Some(pointer) = sys::stack_pointer_of(*thread)
                    && let Some(place) = begin()
                {
                    place.note(*thread, pointer, 0, []);
                }
            }
            let stopped = DONE.load(Ordering::Acquire);
            return Ok(Place {
                address: STOPPED.as_ptr() as u64,
                threads: stopped.min(THREADS),
                running: threads.saturating_sub(stopped),
                bytes_of_each: size_of::<Stopped>(),
            });
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// Returns whether a thread has noted where it is.
fn has_noted(thread: u64) -> bool {
    let mut all = STOPPED.iter().take(BEGUN.load(Ordering::Acquire));
    all.any(|one| one.thread.load(Ordering::Acquire) == thread)
}

/// Takes a place for a thread.
fn begin() -> Option<&'static Stopped> {
    STOPPED.get(BEGUN.fetch_add(1, Ordering::Relaxed))
}

impl Stopped {
    fn note(
        &self,
        thread: u64,
        stack_pointer: u64,
        thread_pointer: u64,
        registers: impl IntoIterator<Item = u64>,
    ) {
        self.stack_pointer.store(stack_pointer, Ordering::Relaxed);
        self.thread_pointer.store(thread_pointer, Ordering::Relaxed);
        for (place, register) in self.registers.iter().zip(registers) {
            place.store(register, Ordering::Relaxed);
        }
        self.thread.store(thread, Ordering::Release);
        DONE.fetch_add(1, Ordering::Release);
    }
}

/// Handles the signal.
extern "C" fn stop_here(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if let Some(place) = begin() {
        // SAFETY: sigaction(2): with SA_SIGINFO, the third argument points to a `ucontext_t`, which
        // lives as long as the handler runs.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        let (stack_pointer, registers) = registers(context);
        let pointer = sys::thread_pointer();
        place.note(sys::thread_id(), stack_pointer, pointer, registers);
    } else {
        DONE.fetch_add(1, Ordering::Release);
    }
    loop {
        sys::wait_for_signals();
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> (u64, impl Iterator<Item = u64>) {
    let all = &context.uc_mcontext.gregs;
    let number = usize::try_from(libc::REG_RSP).unwrap_or(0);
    let general = usize::try_from(libc::REG_RIP).unwrap_or(0);
    let bits = |register: &i64| u64::from_ne_bytes(register.to_ne_bytes());
    (bits(&all[number]), all[..general].iter().map(bits))
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> (u64, impl Iterator<Item = u64>) {
    let context = &context.uc_mcontext;
    (context.sp, context.regs.iter().copied())
}
