//! A shared library that calls back, made in memory. It lets the check walk through a library,
//! like a plugin, wherever the tests run.
//!
//! This is the smallest ELF file that dlopen(3) accepts ("System V Application Binary
//! Interface", chapters 4 and 5): one function, its symbol, and its unwind information, as an
//! assembler would write them.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// A loaded library.
#[derive(Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    function: Function,
}

/// The type of the library's function, which calls its first argument with its second one
/// twice.
type Function = unsafe extern "C" fn(CallBack, *const c_void);
type CallBack = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

impl Library {
    /// Calls `then` through the library.
    pub fn call(&self, mut then: &mut dyn FnMut()) {
        // SAFETY: this is the function that `file` writes; see there. It calls `call_back` with
        // that pointer, which is what `call_back` expects.
        unsafe { (self.function)(super::call_back, (&raw mut then).cast()) };
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handle comes from dlopen(3), and is closed once.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

/// Loads the library. Returns `None` if that is not possible here.
pub fn load() -> Option<Library> {
    let descriptor = crate::system::memory_file(c"plimsoll-unwinder-check");
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was just made, and nothing else owns it.
    let mut memory = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    memory.write_all(&file()).ok()?;
    let path = format!("/proc/self/fd/{}\0", memory.as_raw_fd());
    // SAFETY: the name ends in a zero byte. The library has no code that runs when it is
    // loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr().cast(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    let handle = NonNull::new(handle)?;
    // SAFETY: the handle is open, and the name ends in a zero byte.
    let function = unsafe { libc::dlsym(handle.as_ptr(), c"call".as_ptr()) };
    if function.is_null() {
        return None;
    }
    // SAFETY: this is the function that `file` writes, of this type.
    let function: Function = unsafe { std::mem::transmute(function) };
    Some(Library { handle, function })
}

/// `call(f, x)`: reserves space on the stack, calls `f(x, x)`, returns.
#[cfg(target_arch = "x86_64")]
const CODE: [u8; 20] = [
    0x48, 0x83, 0xec, 0x18, // sub rsp, 24
    0x48, 0x89, 0xf8, // mov rax, rdi
    0x48, 0x89, 0xf7, // mov rdi, rsi
    0xff, 0xd0, // call rax
    0x48, 0x83, 0xc4, 0x18, // add rsp, 24
    0xc3, // ret
    0xcc, 0xcc, 0xcc,
];
#[cfg(target_arch = "aarch64")]
const CODE: [u8; 24] = [
    0xfd, 0x7b, 0xbe, 0xa9, // stp x29, x30, [sp, -32]!
    0xe2, 0x03, 0x00, 0xaa, // mov x2, x0
    0xe0, 0x03, 0x01, 0xaa, // mov x0, x1
    0x40, 0x00, 0x3f, 0xd6, // blr x2
    0xfd, 0x7b, 0xc2, 0xa8, // ldp x29, x30, [sp], 32
    0xc0, 0x03, 0x5f, 0xd6, // ret
];

/// The number of the return address, and the instructions for the function's start: the CFA's
/// register and offset and, on x86-64, that the return address is in the word below the CFA.
#[cfg(target_arch = "x86_64")]
const AT_START: (u8, &[u8]) = (16, &[0x0c, 7, 8, 0x80 | 16, 1]);
#[cfg(target_arch = "aarch64")]
const AT_START: (u8, &[u8]) = (30, &[0x0c, 31, 0]);

/// The instructions for what changes after the first machine instruction, which has four bytes
/// on both.
#[cfg(target_arch = "x86_64")]
const AFTER_FIRST: &[u8] = &[0x44, 0x0e, 32];
#[cfg(target_arch = "aarch64")]
const AFTER_FIRST: &[u8] = &[0x44, 0x0e, 32, 0x80 | 29, 4, 0x80 | 30, 3];

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// The address of the dynamic section. The section is written to, so it has a page of its own,
/// whatever the size of a page is.
const DYNAMIC: u64 = 1 << 16;

/// The bytes of a file; their offsets are also their addresses.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn here(&self) -> u64 {
        self.0.len() as u64
    }

    fn align(&mut self, to: usize) -> u64 {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
        self.here()
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn halves(&mut self, values: &[u16]) {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn words(&mut self, values: &[u32]) {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn longs(&mut self, values: &[u64]) {
        self.0
            .extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Appends the distance between two addresses, in four bytes.
    fn distance(&mut self, from: u64, to: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "a file of two pages")]
        let distance = to.wrapping_sub(from) as u32;
        self.put(&distance.to_le_bytes());
    }

    fn segment(&mut self, kind: u32, flags: u32, start: u64, length: u64, align: u64) {
        self.words(&[kind, flags]);
        self.longs(&[start, start, start, length, length, align]);
    }

    /// Appends an entry of `.eh_frame`, with its length before it.
    fn frame_entry(&mut self, body: impl FnOnce(&mut Bytes)) -> u64 {
        let start = self.align(8);
        self.words(&[0]);
        body(self);
        let end = self.align(8);
        let length = u32::try_from(end - start - 4).unwrap_or(0);
        let start = usize::try_from(start).unwrap_or(0);
        self.0[start..start + 4].copy_from_slice(&length.to_le_bytes());
        start as u64
    }
}

/// Returns the bytes of the library.
fn file() -> Vec<u8> {
    const SEGMENTS: u16 = 5;
    const HEADERS: usize = 64 + 56 * SEGMENTS as usize;
    const NAMES: &[u8] = b"\0call\0";

    let mut body = Bytes(vec![0; HEADERS]);
    let code = body.align(16);
    body.put(&CODE);
    // One bucket, with symbol 1 in it; no symbol follows in the chain.
    let hash = body.align(8);
    body.words(&[1, 2, 1, 0, 0]);
    let symbols = body.align(8);
    body.put(&[0; 24]);
    body.words(&[1]);
    // A global function, in a section that is not "undefined".
    body.put(&[0x12, 0]);
    body.halves(&[1]);
    body.longs(&[code, CODE.len() as u64]);
    let names = body.here();
    body.put(NAMES);

    // Addresses are distances (0x1b: relative to their own place, 4 bytes, signed). The factors
    // are 1 byte for code and −8 bytes for data (0x78).
    let (return_address, at_start) = AT_START;
    let common = body.frame_entry(|body| {
        body.words(&[0]);
        body.put(&[1, b'z', b'R', 0, 1, 0x78, return_address, 1, 0x1b]);
        body.put(at_start);
    });
    let function = body.frame_entry(|body| {
        let here = body.here();
        body.distance(common, here);
        let here = body.here();
        body.distance(here, code);
        body.words(&[u32::try_from(CODE.len()).unwrap_or(0)]);
        body.put(&[0]);
        body.put(AFTER_FIRST);
    });
    body.words(&[0]);
    // Version 1; encodings of an address, a count, and a table of distances from its own start.
    let index = body.align(8);
    body.put(&[1, 0x1b, 0x03, 0x3b]);
    let here = body.here();
    body.distance(here, common);
    body.words(&[1]);
    body.distance(index, code);
    body.distance(index, function);
    let end = body.here();

    // DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, and the end.
    let length = NAMES.len() as u64;
    let dynamic = [
        [4, hash],
        [5, names],
        [6, symbols],
        [10, length],
        [11, 24],
        [0, 0],
    ];
    let dynamic_length = size_of_val(&dynamic) as u64;

    let mut headers = Bytes::default();
    // 64 bits, little-endian, version 1; a shared object.
    headers.put(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    headers.halves(&[3, MACHINE]);
    headers.words(&[1]);
    headers.longs(&[0, 64, 0]);
    headers.words(&[0]);
    headers.halves(&[64, 56, SEGMENTS, 64, 0, 0]);
    // One segment to read and execute, one to read and write; a stack that is not executed.
    headers.segment(1, 5, 0, end, DYNAMIC);
    headers.segment(1, 6, DYNAMIC, dynamic_length, DYNAMIC);
    headers.segment(2, 6, DYNAMIC, dynamic_length, 8);
    headers.segment(0x6474_e550, 4, index, end - index, 4);
    headers.segment(0x6474_e551, 6, 0, 0, 16);

    let mut bytes = body.0;
    bytes[..HEADERS].copy_from_slice(&headers.0);
    let mut bytes = Bytes(bytes);
    bytes.align(usize::try_from(DYNAMIC).unwrap_or(0));
    bytes.longs(dynamic.as_flattened());
    bytes.0
}
