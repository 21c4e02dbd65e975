//! Reads what the program headers of a loaded file lead to: the extent of its segments, and the
//! libraries that it is linked to ("System V Application Binary Interface", chapter 5).

use std::ffi::{CStr, CString, c_char};

use libc::Elf64_Phdr;

/// Returns the number of bytes from an address to the end of its segment, if that is readable.
pub(super) fn rest_of(headers: &[Elf64_Phdr], difference: u64, address: u64) -> Option<usize> {
    for header in headers {
        let offset = address.wrapping_sub(difference.wrapping_add(header.p_vaddr));
        let is_readable =
            header.p_type == libc::PT_LOAD && header.p_flags & crate::system::PF_R != 0;
        if is_readable && offset < header.p_memsz {
            return usize::try_from(header.p_memsz - offset).ok();
        }
    }
    None
}

/// What a file is called, and what it calls others.
#[derive(Debug, Default)]
pub(super) struct Names {
    path: CString,
    own: Option<CString>,
    pub(super) needed: Vec<CString>,
}

// Kinds of entries (`DT_*`).
const END: u64 = 0;
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const LENGTH_OF_STRINGS: u64 = 10;
const OWN: u64 = 14;

impl Names {
    /// Copies the names out of a loaded file. The last argument is its path, or null.
    ///
    /// # Safety
    ///
    /// The headers must be those of a file that is loaded with that difference between addresses
    /// in memory and in the file, and that stays loaded during the call.
    pub(super) unsafe fn of(headers: &[Elf64_Phdr], difference: u64, path: *const c_char) -> Names {
        let mut names = Names::default();
        if !path.is_null() {
            // SAFETY: the caller's path ends in a zero byte.
            names.path = unsafe { CStr::from_ptr(path) }.to_owned();
        }
        let bytes_at = |address: u64, most: u64| {
            let length = rest_of(headers, difference, address)?;
            let length = length.min(usize::try_from(most).ok()?);
            // SAFETY: the bytes lie in one readable segment, and the caller keeps the file loaded.
            // After a file was linked, nobody writes to its dynamic section or to its names.
            Some(unsafe { std::slice::from_raw_parts(address as *const u8, length) })
        };
        let is_dynamic = |header: &&Elf64_Phdr| header.p_type == libc::PT_DYNAMIC;
        let Some(dynamic) = headers.iter().find(is_dynamic) else {
            return names;
        };
        let start = difference.wrapping_add(dynamic.p_vaddr);
        let entries = bytes_at(start, dynamic.p_memsz).unwrap_or_default();
        let (entries, _) = entries.as_chunks::<8>();
        let (entries, _) = entries.as_chunks::<2>();
        let entries = entries.iter().map(|entry| entry.map(u64::from_le_bytes));
        let entries = entries.take_while(|[kind, _]| *kind != END);
        let value = |wanted| {
            let mut entries = entries.clone();
            entries.find_map(|[kind, value]| (kind == wanted).then_some(value))
        };
        let length = value(LENGTH_OF_STRINGS).unwrap_or(0);
        // glibc replaces the address in the file by that in memory, and musl does not.
        let strings = value(STRINGS).and_then(|address| {
            let in_memory = difference.wrapping_add(address);
            bytes_at(address, length).or_else(|| bytes_at(in_memory, length))
        });
        let string = |offset: u64| {
            let bytes = strings?.get(usize::try_from(offset).ok()?..)?;
            Some(CStr::from_bytes_until_nul(bytes).ok()?.to_owned())
        };
        for [kind, value] in entries {
            match kind {
                NEEDED => names.needed.extend(string(value)),
                OWN => names.own = string(value),
                _ => {}
            }
        }
        names
    }

    /// Returns whether the loader means this file by a name.
    pub(super) fn include(&self, name: &CStr) -> bool {
        let path = self.path.as_bytes();
        let last = path.rsplit(|byte| *byte == b'/').next();
        let name = name.to_bytes();
        self.own.as_deref().map(CStr::to_bytes) == Some(name) || path == name || last == Some(name)
    }
}
