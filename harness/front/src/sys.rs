//! System calls that the standard library does not offer: processes and the terminal.

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
