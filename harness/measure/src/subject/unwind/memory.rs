//! Reads words of a stack that may not be one.

use std::cell::Cell;

use super::machine::{self, Frame};

/// How far above the stack pointer a frame's words are taken to be its own.
pub(super) const NEAR: u64 = 64 << 10;

/// Whether an address is in the frame, or not far above it. What is further away, or
/// below, is on another stack, or behind a large array.
#[inline]
pub(super) fn is_near(address: u64, frame: &Frame) -> bool {
    address.wrapping_sub(frame.stack_pointer) < NEAR
}

/// A word of memory; none where it cannot be read.
#[inline]
pub(super) fn read(address: u64) -> Option<u64> {
    if !address.is_multiple_of(8) || !is_in_known_page(address) {
        return None;
    }
    // SAFETY: the address is aligned, and is in memory that can be read: the kernel has
    // said so of its page.
    Some(unsafe { machine::load(address) })
}

/// Bytes of the smallest page.
pub(super) const PAGE: u64 = 4_096;
/// Pages that a thread remembers: of a usual stack all.
pub(super) const PAGES: usize = 32;

thread_local! {
    // Neither made when it is first used nor dropped: a plain address. No page is the
    // first, which never can be read.
    pub(super) static KNOWN: [Cell<u64>; PAGES] = const { [const { Cell::new(0) }; PAGES] };
}

/// Whether the page of an address can be read, as the kernel says or has said.
///
/// Where the information is wrong, the way leads beyond the end of a stack, and not
/// far above it may be nothing. What a thread has once read of a stack stays there
/// for as long as it returns to it; a stack that is gone is not walked.
#[inline]
fn is_in_known_page(address: u64) -> bool {
    let page = address / PAGE;
    KNOWN.with(|known| {
        // One word, so a signal's handler that walks in between does no harm.
        let known = &known[(page % PAGES as u64) as usize];
        if known.get() == page && page != 0 {
            return true;
        }
        let is_readable = is_readable(address);
        if is_readable {
            known.set(page);
        }
        is_readable
    })
}

/// The word at an address that [`read`] has just read, or would.
///
/// # Safety
///
/// For one that it would not there may be no memory.
#[inline(always)]
pub(super) unsafe fn read_again(address: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { machine::load(address) }
}

/// Asks the kernel. It copies the set of signals before it finds that there is
/// nothing that could be done with it (sigprocmask(2): EFAULT before EINVAL), so
/// nothing changes but `errno`, which is put back.
#[cold]
pub(super) fn is_readable(address: u64) -> bool {
    // The first page never is; and "no set" is no error.
    if address < 4_096 {
        return false;
    }
    const NOTHING: libc::c_int = !0;
    // SAFETY: `__errno_location` answers the calling thread's `errno`, which lives
    // as long as the thread. The system call reads eight bytes through the kernel,
    // which answers EFAULT where there are none.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::syscall(libc::SYS_rt_sigprocmask, NOTHING, address, 0_usize, 8_usize);
        let readable = *errno != libc::EFAULT;
        *errno = before;
        readable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_cannot_be_read() {
        let word = 7_u64;
        let here = &raw const word as u64;
        for address in [0, 8, 1 << 46, 0x7fff_ffff_f000, u64::MAX - 7, 1 << 63] {
            assert!(!is_readable(address), "{address:#x}");
            assert_eq!(read(address), None);
        }
        assert!(is_readable(here));
        for _ in 0..2 {
            assert_eq!(read(here), Some(7));
        }
        assert_eq!(read(here + 4), None);
    }
}
