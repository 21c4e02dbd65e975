//! System calls that the standard library does not offer: signals, limits and shared memory.

use std::fs::File;
use std::io::{Read, Write};
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

/// Reserves memory that is zero. Only the pages that are written to are there.
pub(crate) fn reserve(bytes: usize) -> io::Result<*mut libc::c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: mmap(2) without a wished address places the mapping where nothing else is.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    match address == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(address),
    }
}

/// Returns the ID of this thread.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: gettid(2) always succeeds.
    u64::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// Returns the address of this thread's control block.
pub(crate) fn thread_pointer() -> u64 {
    let pointer: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by the ABI, the first word of the control block is its own address.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the register can be read by any program.
    unsafe {
        std::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags));
    }
    pointer
}

/// Opens a folder.
pub(crate) fn open_folder(path: &std::ffi::CStr) -> io::Result<OwnedFd> {
    open(path, libc::O_RDONLY | libc::O_DIRECTORY)
}

fn open(path: &std::ffi::CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: open(2) reads a string that ends with a zero.
    let descriptor = checked(unsafe { libc::open(path.as_ptr(), flags) })?;
    // SAFETY: `open` has just made it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Calls a function with the name of each entry of a folder that is a number. Does not allocate.
pub(crate) fn each_number(folder: &OwnedFd, mut number: impl FnMut(u64)) -> io::Result<()> {
    /// Bytes of an entry before its name: its inode, its offset, its length and its type.
    const HEAD: usize = 8 + 8 + 2 + 1;
    let mut buffer = [0_u64; 512];
    let bytes = size_of_val(&buffer);
    let descriptor = folder.as_raw_fd();
    // SAFETY: lseek(2) takes three numbers.
    unsafe { libc::lseek(descriptor, 0, libc::SEEK_SET) };
    loop {
        // SAFETY: getdents64(2) writes at most as many bytes to the buffer as it has.
        let read =
            unsafe { libc::syscall(libc::SYS_getdents64, descriptor, buffer.as_mut_ptr(), bytes) };
        let Ok(read) = usize::try_from(read) else {
            return Err(io::Error::last_os_error());
        };
        if read == 0 {
            return Ok(());
        }
        // SAFETY: the buffer has that many bytes, and any bits are valid bytes.
        let mut rest = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), read) };
        while let Some(length) = rest.get(16..18) {
            let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
            let entry = rest.get(HEAD..length).unwrap_or_default();
            let name = entry.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = std::str::from_utf8(name).unwrap_or_default();
            if let Ok(name) = name.parse() {
                number(name);
            }
            rest = rest.get(length.max(HEAD)..).unwrap_or_default();
        }
    }
}

/// Returns the stack pointer of a thread of this process that waits in the kernel. `None` if it runs.
/// Does not allocate.
pub(crate) fn stack_pointer_of(thread: u64) -> Option<u64> {
    let mut path = [0_u8; 48];
    write!(&mut path[..47], "/proc/self/task/{thread}/syscall").ok()?;
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let file = File::from(open(path, libc::O_RDONLY).ok()?);
    let mut line = [0_u8; 256];
    let read = (&file).read(&mut line).ok()?;
    // proc_pid_syscall(5): the last two numbers are the stack pointer and where the program is.
    let line = std::str::from_utf8(line.get(..read)?).ok()?;
    let pointer = line.trim_end().rsplit(' ').nth(1)?;
    u64::from_str_radix(pointer.strip_prefix("0x")?, 16).ok()
}

/// A function that handles a signal, with `SA_SIGINFO`.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Has a function handle a signal, with all other signals blocked, on the thread's alternative
/// stack if it has one.
pub(crate) fn on_signal(signal: libc::c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: sigfillset(3) writes to the set, which lives across the call.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    // SAFETY: sigaction(2) reads the structure, which lives across the call; the function lives as
    // long as the process.
    let answer = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    checked(answer).map(|_| ())
}

/// Sends a signal to a thread of this process. A thread that is gone gets none.
pub(crate) fn signal_thread(thread: u64, signal: libc::c_int) {
    let process = std::process::id();
    // SAFETY: tgkill(2) takes three numbers.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Waits until a signal comes that is not blocked.
pub(crate) fn wait_for_signals() {
    // SAFETY: pause(2) takes nothing.
    unsafe { libc::pause() };
}

/// Sends a line and two open files over a socket.
pub(crate) fn send_with_files(socket: RawFd, line: &[u8], files: [RawFd; 2]) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: line.as_ptr().cast_mut().cast(),
        iov_len: line.len(),
    };
    // Aligned as a `cmsghdr` has to be, and large enough for two descriptors.
    let mut control = [0_u64; 8];
    // SAFETY: all zeros is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    let bytes = u32::try_from(size_of_val(&files)).unwrap_or(8);
    // SAFETY: cmsg(3): these compute sizes from a number.
    let (space, length) = unsafe { (libc::CMSG_SPACE(bytes), libc::CMSG_LEN(bytes)) };
    message.msg_controllen = space as usize;
    // SAFETY: cmsg(3): the buffer is large enough for a header and the descriptors, so the first header
    // is in it, and so is the data behind it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = length as usize;
        libc::CMSG_DATA(header)
            .cast::<[RawFd; 2]>()
            .write_unaligned(files);
    }
    // SAFETY: sendmsg(2) reads the message, which lives across the call.
    let sent = unsafe { libc::sendmsg(socket, &raw const message, 0) };
    match usize::try_from(sent) {
        Ok(sent) if sent == line.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Returns the bytes of the thread-locals of each thread, of all files that are loaded.
pub(crate) fn thread_local_bytes() -> u64 {
    extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        sum: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: dl_iterate_phdr(3) passes a valid structure, with an array of that many headers.
        let headers = unsafe {
            let info = &*info;
            std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum))
        };
        let of_threads = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_TLS);
        let bytes = of_threads.map(|header| header.p_memsz + header.p_align);
        // SAFETY: the pointer is that of `sum` below.
        unsafe { *sum.cast::<u64>() += bytes.sum::<u64>() };
        0
    }
    let mut sum = 0_u64;
    // SAFETY: dl_iterate_phdr(3) calls the function, and passes the pointer on.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut sum).cast()) };
    sum
}
