//! Reads words of a stack that may not be one.

use super::machine::Frame;

/// How far above the stack pointer a frame's words are taken to be stack.
///
/// A frame lies between its stack pointer and its caller's, and both are stack.
/// What is further away, or below, is looked at through the kernel first: rules
/// that lead there are rare (a large array, another stack), and wrong ones too.
const NEAR: u64 = 64 << 10;

/// Whether an address is in the frame, or not far above it.
#[inline]
pub(super) fn is_near(address: u64, frame: &Frame) -> bool {
    address.wrapping_sub(frame.stack_pointer) < NEAR
}

/// A word of the frame's memory; none where it cannot be read.
#[inline]
pub(super) fn read(address: u64, frame: &Frame) -> Option<u64> {
    if !address.is_multiple_of(8) || !is_near(address, frame) && !is_readable(address) {
        return None;
    }
    // SAFETY: the address is aligned, and is in memory that can be read: either the
    // kernel has just said so, or it is within a few pages above a stack pointer,
    // where the caller's frame is. Any bits are a number. The read is volatile: other
    // functions' frames are no objects that the compiler may reason about.
    Some(unsafe { (address as *const u64).read_volatile() })
}

/// The word at an address that [`read`] has just read, or would.
///
/// # Safety
///
/// For one that it would not there may be no memory.
#[inline]
pub(super) unsafe fn read_again(address: u64) -> u64 {
    // SAFETY: the caller's promise; for the rest see `read`.
    unsafe { (address as *const u64).read_volatile() }
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
            assert_eq!(read(address, &Frame::caller(1, here, 0)), None);
        }
        assert!(is_readable(here));
        assert_eq!(read(here, &Frame::caller(1, here, 0)), Some(7));
        // From another stack.
        assert_eq!(read(here, &Frame::caller(1, 1 << 40, 0)), Some(7));
        assert_eq!(read(here + 4, &Frame::caller(1, here, 0)), None);
    }
}
