//! Leaks of memory that jemalloc does not manage, and of mapped files.

use std::fs::File;
use std::hint::black_box;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MAP_SHARED, PROT_NONE, PROT_READ, PROT_WRITE};

pub(super) const PAGE: usize = 4_096;

/// New memory or a file in memory, which is unmapped when it is dropped.
pub(super) struct Map {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Map {
    pub(super) fn new(bytes: usize, protection: i32, kind: i32, file: RawFd) -> Map {
        // SAFETY: mmap(2) without a wished address places the mapping where nothing else is.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, kind, file, 0) };
        assert!(start != MAP_FAILED, "{}", std::io::Error::last_os_error());
        Map { start, bytes }
    }

    /// Private memory that may be used, with its first byte written.
    pub(super) fn memory(bytes: usize) -> Map {
        let map = Map::new(
            bytes,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
        );
        // SAFETY: the mapping may be written, and begins here.
        unsafe { map.start.cast::<u8>().write_volatile(1) };
        map
    }

    pub(super) fn file(file: &impl AsRawFd) -> Map {
        Map::new(PAGE, PROT_READ, MAP_SHARED, file.as_raw_fd())
    }

    /// Makes the first bytes of reserved memory accessible.
    pub(super) fn grow_to(&self, bytes: usize) {
        assert!(bytes <= self.bytes);
        // SAFETY: mprotect(2) of a part of this mapping, which nothing reads or writes.
        let answer = unsafe { libc::mprotect(self.start, bytes, PROT_READ | PROT_WRITE) };
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: munmap(2) of a mapping that nothing refers to any longer.
        unsafe { libc::munmap(self.start, self.bytes) };
    }
}

// SAFETY: the mapping belongs to the process, and only its owner unmaps it.
unsafe impl Send for Map {}

/// A page in every iteration.
pub(super) fn maps_pages(_: u64) {
    std::mem::forget(Map::memory(PAGE));
}

unsafe extern "C" {
    /// glibc's own `malloc`, whatever `malloc` is.
    fn __libc_malloc(size: usize) -> *mut libc::c_void;
    /// glibc's own `free`.
    fn __libc_free(object: *mut libc::c_void);
}

/// An object of glibc's own allocator, which is not freed.
pub(super) fn glibc_object(size: usize) -> *mut libc::c_void {
    // SAFETY: malloc(3) takes a size.
    black_box(unsafe { __libc_malloc(size) })
}

pub(super) fn free_glibc_object(object: *mut libc::c_void) {
    // SAFETY: the object is from glibc's `malloc`, and is freed once.
    unsafe { __libc_free(object) };
}

/// 100 bytes of glibc's own allocator, as C code has them beside a jemalloc with a prefix.
pub(super) fn glibc_leak(_: u64) {
    glibc_object(100);
}

fn in_memory() -> OwnedFd {
    // SAFETY: memfd_create(2) takes a name, which outlives the call.
    let file = unsafe { libc::memfd_create(c"ring".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: memfd_create has just made it, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(file) }
}

/// A file in memory stays mapped after it was closed.
pub(super) fn maps_memfd(_: u64) {
    let file = File::from(in_memory());
    file.set_len(PAGE as u64).expect("there is memory");
    std::mem::forget(Map::file(&file));
}

/// A memory as a runtime of WebAssembly has it: much is reserved, and made accessible as it grows.
pub(super) fn grows_reserved() -> impl FnMut(u64) {
    let memory = Map::new(4 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    move |i: u64| {
        let pages = usize::try_from(i).expect("few iterations") + 1;
        memory.grow_to(pages * PAGE);
    }
}
