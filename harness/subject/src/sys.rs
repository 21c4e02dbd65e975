//! System calls that the standard library does not offer: signals, limits and shared memory.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{io, ptr};

/// Turns the answer of a system call into a result.
fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    match answer {
        ..0 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// Asks the kernel to kill this process when the thread that started it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl(2): PR_SET_PDEATHSIG takes a signal number and touches no memory of this
    // process.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(|_| ())
}

/// Removes a variable from the environment.
///
/// To be called in `main`, before any code but the harness's has run.
pub(crate) fn remove_variable_before_threads(name: &str) {
    // SAFETY: `remove_var` must not race with another thread that reads or writes the
    // environment. This is called at the start of `main`, when the process has one thread.
    unsafe { std::env::remove_var(name) };
}

/// Moves a descriptor to a number of at least 3, closed on exec, and opens `/dev/null` in its
/// place.
pub(crate) fn take_descriptor(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl(2): F_DUPFD_CLOEXEC takes a descriptor and the smallest number for the
    // copy. For a descriptor that is not open it returns an error.
    let copy = checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: `fcntl` has just made `copy`, and nothing else owns it.
    let copy = unsafe { OwnedFd::from_raw_fd(copy) };
    let null = File::open("/dev/null")?;
    // SAFETY: dup2(2) closes `descriptor` and makes it a copy of `null`. Both are open, and the
    // caller gives `descriptor` up.
    checked(unsafe { libc::dup2(null.as_raw_fd(), descriptor) })?;
    Ok(copy)
}

/// Returns whether this process was forked from one that had called [`notice_forks`].
pub(crate) fn was_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

static FORKED: AtomicBool = AtomicBool::new(false);

/// Makes [`was_forked`] return true in processes that this process forks from now on.
pub(crate) fn notice_forks() {
    extern "C" fn in_the_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: pthread_atfork(3) keeps the function pointer; the function lives as long as the
    // process. It only stores into an atomic, which a forked child may do.
    unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
}

/// Raises the soft limit of open files to the hard limit, but to no more than 65,536.
pub(crate) fn raise_descriptor_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit(2) writes to the structure, which lives across the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    // A higher limit would slow workloads down that call `close` for every possible descriptor.
    limit.rlim_cur = limit.rlim_max.min(1 << 16);
    // SAFETY: setrlimit(2) reads the structure, which lives across the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}

/// Flushes the buffered output of the program, that of Rust and that of C.
pub(crate) fn flush_output() {
    use std::io::Write;
    // If stdout takes no more, there is nobody to report the error to.
    let _ = std::io::stdout().flush();
    // SAFETY: fflush(3) with a null pointer flushes every stream, and locks each one meanwhile.
    unsafe { libc::fflush(ptr::null_mut()) };
}

/// Ends the process at once, without running exit handlers.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: _exit(2) takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// Progress of a subject, in a file that the subject maps and the front reads. The file
/// outlives a subject that is killed. Processes that the subject forks share the mapping.
#[derive(Debug)]
pub(crate) struct Progress {
    iterations: &'static AtomicU64,
    strays: &'static AtomicU64,
}

impl Progress {
    /// Size of the file in bytes: one number for the iterations done, one for the forked
    /// processes that returned into the harness.
    pub(crate) const BYTES: u64 = 16;

    /// Maps the start of a file of at least [`Self::BYTES`].
    pub(crate) fn map(file: &File) -> io::Result<Progress> {
        let bytes = usize::try_from(Self::BYTES).unwrap_or(16);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: mmap(2) without a wished address places the mapping where nothing else is;
        // the descriptor is open for reading and writing.
        let address =
            unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, file.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is page-aligned, at least sixteen bytes long, and never unmapped;
        // any bits are two valid u64. Other processes access it at the same time: the front
        // reads both numbers, and forked processes add to the second. Both numbers are atomics.
        let [iterations, strays] = unsafe { &*address.cast::<[AtomicU64; 2]>() };
        Ok(Progress { iterations, strays })
    }

    /// Stores the number of iterations done.
    pub(crate) fn set(&self, iterations: u64) {
        self.iterations.store(iterations, Ordering::Relaxed);
    }

    /// Counts a process that the workload forked and that returned into the harness.
    pub(crate) fn add_stray(&self) {
        self.strays.fetch_add(1, Ordering::Relaxed);
    }
}
