//! Reads words of memory that may not be a stack.

use std::cell::Cell;

use super::machine::{self, Frame};

/// How many bytes above the stack pointer words count as the frame's own.
pub(super) const NEAR: u64 = 64 << 10;

/// Returns whether an address is in the frame, or not far above it. An address below it or
/// further away is on another stack, or behind a large array.
#[inline]
pub(super) fn is_near(address: u64, frame: &Frame) -> bool {
    address.wrapping_sub(frame.stack_pointer) < NEAR
}

/// Reads a word of memory. Returns `None` if it cannot be read.
#[inline]
pub(super) fn read(address: u64) -> Option<u64> {
    if !address.is_multiple_of(8) || !is_in_known_page(address) {
        return None;
    }
    // SAFETY: the address is aligned, and the kernel has said that its page can be read.
    Some(unsafe { machine::load(address) })
}

/// Bytes of the smallest page.
pub(super) const PAGE: u64 = 4_096;
/// The number of pages that a thread remembers: all pages of a usual stack.
pub(super) const PAGES: usize = 32;

thread_local! {
    // Has neither a constructor nor a destructor, so access is a plain address. Page 0 stands
    // for an empty place, since it can never be read.
    pub(super) static KNOWN: [Cell<u64>; PAGES] = const { [const { Cell::new(0) }; PAGES] };
}

/// Returns whether the page of an address can be read, as the kernel says or has said before.
///
/// Wrong unwind information leads beyond the end of a stack, and not far above that there may
/// be no memory. A page of a stack that a thread has read once stays readable as long as the
/// thread returns to that stack. A stack that is gone is not walked.
#[inline]
fn is_in_known_page(address: u64) -> bool {
    let page = address / PAGE;
    KNOWN.with(|known| {
        // This is one word, so a signal handler that walks in between does no harm.
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

/// Asks the kernel whether a word can be read.
///
/// The kernel copies the set of signals before it finds that the request is invalid
/// (sigprocmask(2): EFAULT before EINVAL). So nothing changes but `errno`, which is restored.
#[cold]
pub(super) fn is_readable(address: u64) -> bool {
    // The first page can never be read, and a null set would be no error.
    if address < 4_096 {
        return false;
    }
    const NOTHING: libc::c_int = !0;
    // SAFETY: `__errno_location` returns the address of the calling thread's `errno`, which
    // lives as long as the thread. The system call makes the kernel read eight bytes; if there
    // are none, the kernel returns EFAULT.
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
