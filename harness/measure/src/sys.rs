//! What the standard library has no words for: the operating system's side of
//! a subject's life.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{io, ptr};

/// Asks for the subject's death when the thread that started it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl(2): PR_SET_PDEATHSIG takes a signal number and touches no
    // memory of ours.
    let answer = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The process that started this one.
pub(crate) fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// Removes a variable from the environment.
///
/// To be called before any code but the harness's has run in `main`.
pub(crate) fn remove_variable_before_threads(name: &str) {
    // SAFETY: `remove_var` must not race with another thread that reads or
    // writes the environment; this is called first thing in `main`, when the
    // process has one thread.
    unsafe { std::env::remove_var(name) };
}

/// Moves a descriptor out of the way of `0`, `1` and `2`, closed on exec, and
/// puts `/dev/null` in its place.
pub(crate) fn take_descriptor(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl(2): F_DUPFD_CLOEXEC takes a descriptor and a least number;
    // a descriptor that is not open is answered with an error.
    let copy = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the line above has just made `copy`, and nobody else has it.
    let copy = unsafe { OwnedFd::from_raw_fd(copy) };
    let null = File::open("/dev/null")?;
    // SAFETY: dup2(2) closes `descriptor` and makes it a copy of `null`; both
    // are open, and the caller gives `descriptor` up.
    let answer = unsafe { libc::dup2(null.as_raw_fd(), descriptor) };
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(copy)
    }
}

/// Kills a process.
pub(crate) fn kill(process: u32) {
    if let Ok(process @ 2..) = libc::pid_t::try_from(process) {
        // SAFETY: kill(2) takes two numbers; a process that is gone is an error
        // that changes nothing.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
}

/// Whether this process was forked from one that called [`notice_forks`].
pub(crate) fn was_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

static FORKED: AtomicBool = AtomicBool::new(false);

/// From here on [`was_forked`] is true in what this process forks.
pub(crate) fn notice_forks() {
    extern "C" fn in_the_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: pthread_atfork(3) keeps a function that stays for as long as the process; that
    // only stores into an atomic, which a forked child may.
    unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
}

/// Kills every process of a group.
pub(crate) fn kill_group(group: u32) {
    let Ok(group) = libc::pid_t::try_from(group) else {
        return;
    };
    if group > 1 {
        // SAFETY: kill(2) takes two numbers; a group that is gone is an error
        // that changes nothing.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Raises the number of files that this process may open as far as it may.
pub(crate) fn raise_descriptor_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit(2) fills the structure that it is given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    // More would only make `close_range` loops of workloads slow.
    limit.rlim_cur = limit.rlim_max.min(1 << 16);
    // SAFETY: setrlimit(2) reads the structure that it is given.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

/// Bytes in a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf(3) takes a number and answers one.
    let answer = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(answer).unwrap_or(4_096)
}

/// Writes out what the program has printed, through Rust and through C.
pub(crate) fn flush_output() {
    use std::io::Write;
    // Who does not take it is not told.
    let _ = std::io::stdout().flush();
    // SAFETY: fflush(3) of a null pointer flushes every stream, and locks each.
    unsafe { libc::fflush(ptr::null_mut()) };
}

/// Ends the process at once, with nothing run on the way out.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit(2) takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// The name of a signal.
pub(crate) fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => "another signal",
    }
}

/// The number of iterations done, in a file that the front reads: what is left
/// of a subject that was killed. What the subject forks has it in common with it.
pub(crate) struct Progress {
    iterations: &'static AtomicU64,
    strays: &'static AtomicU64,
}

impl Progress {
    /// Bytes of the file: the iterations, and processes that returned from a fork.
    pub(crate) const BYTES: u64 = 16;

    /// Maps the first bytes of a file of at least that size.
    pub(crate) fn map(file: &File) -> io::Result<Progress> {
        let bytes = usize::try_from(Self::BYTES).unwrap_or(16);
        // SAFETY: mmap(2) with no address wished for places the mapping where
        // nothing else is; the descriptor is open for reading and writing.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is page-aligned, at least sixteen bytes long, and
        // never unmapped; any bits are two valid u64. Other processes read, and what
        // this one forks adds to the second.
        let [iterations, strays] = unsafe { &*address.cast::<[AtomicU64; 2]>() };
        Ok(Progress { iterations, strays })
    }

    /// Notes that so many iterations are done.
    pub(crate) fn set(&self, iterations: u64) {
        self.iterations.store(iterations, Ordering::Relaxed);
    }

    /// Notes that a process which the workload forked came back from it.
    pub(crate) fn add_stray(&self) {
        self.strays.fetch_add(1, Ordering::Relaxed);
    }
}
