//! System calls that the standard library does not offer: processes, the terminal and files that
//! come over a socket.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};

/// Returns the columns of the terminal that standard output is. `None` if it is no terminal.
pub(crate) fn columns() -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: ioctl_tty(2): TIOCGWINSZ writes a `winsize` to where the pointer points. For a
    // descriptor that is no terminal, it returns an error and writes nothing.
    let answer = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    let columns = usize::from(size.ws_col);
    (answer == 0 && columns > 0).then_some(columns)
}

/// Kills a process.
pub(crate) fn kill(process: u32) {
    if let Ok(process @ 2..) = libc::pid_t::try_from(process) {
        // SAFETY: kill(2) takes two numbers; if the process is gone, it returns an error and
        // changes nothing.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
}

/// Kills every process of a process group.
pub(crate) fn kill_group(group: u32) {
    if let Ok(group @ 2..) = libc::pid_t::try_from(group) {
        // SAFETY: kill(2) takes two numbers; if the group is gone, it returns an error and
        // changes nothing.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Stops a process until it is killed.
pub(crate) fn pause(process: u32) {
    if let Ok(process @ 2..) = libc::pid_t::try_from(process) {
        // SAFETY: kill(2) takes two numbers; if the process is gone, it returns an error and
        // changes nothing.
        unsafe { libc::kill(process, libc::SIGSTOP) };
    }
}

/// Receives bytes from a socket, and two open files if they come with them.
pub(crate) fn receive_with_files(
    socket: RawFd,
    bytes: &mut [u8],
) -> io::Result<(usize, Option<[File; 2]>)> {
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // Aligned as a `cmsghdr` has to be.
    let mut control = [0_u64; 8];
    // SAFETY: all zeros is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: recvmsg(2) writes to the buffers, which live across the call and are as long as said.
    let read = unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let Ok(read) = usize::try_from(read) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: cmsg(3): the kernel has written valid headers, as long as `msg_controllen` says now.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let bytes = u32::try_from(size_of::<[RawFd; 2]>()).unwrap_or(8);
    // SAFETY: cmsg(3): this computes a size from a number.
    let length = unsafe { libc::CMSG_LEN(bytes) } as usize;
    let has_files = |header: &&libc::cmsghdr| {
        let kind = (header.cmsg_level, header.cmsg_type);
        kind == (libc::SOL_SOCKET, libc::SCM_RIGHTS) && header.cmsg_len == length
    };
    let files = header.filter(has_files).map(|header| {
        // SAFETY: a message of this type and length has two descriptors, which are now this
        // process's and which nothing else owns.
        unsafe {
            let files = libc::CMSG_DATA(header).cast::<[RawFd; 2]>();
            files
                .read_unaligned()
                .map(|descriptor| File::from_raw_fd(descriptor))
        }
    });
    Ok((read, files))
}

/// Returns the bytes of a page of memory.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf(3) takes a number and returns one.
    let answer = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(answer).unwrap_or(4_096)
}

/// Returns the name of a signal.
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
