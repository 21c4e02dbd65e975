//! What older releases of the crate `libc` lack. A stranger's benchmarks are built with the release
//! that their lock file names, which may be years old.

use std::ffi::{CStr, c_int, c_uint, c_ulong, c_void};

/// A segment can be executed (elf(5)).
pub(crate) const PF_X: u32 = 1;
/// A segment can be read.
pub(crate) const PF_R: u32 = 4;
/// The address of the program's headers, for getauxval(3).
pub(crate) const AT_PHDR: c_ulong = 3;
/// The descriptor is closed on exec, for memfd_create(2).
const MFD_CLOEXEC: c_uint = 1;

/// The function that bsearch(3) compares with.
pub(crate) type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

unsafe extern "C" {
    /// bsearch(3)
    pub(crate) fn bsearch(
        key: *const c_void,
        base: *const c_void,
        number: usize,
        size: usize,
        compare: Option<Compare>,
    ) -> *mut c_void;
}

/// Makes a file that is only in memory (memfd_create(2)). Returns its descriptor, or a negative
/// number.
pub(crate) fn memory_file(name: &CStr) -> c_int {
    // SAFETY: memfd_create(2) takes a name and a flag.
    let made = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), MFD_CLOEXEC) };
    c_int::try_from(made).unwrap_or(-1)
}
