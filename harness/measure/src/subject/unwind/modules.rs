//! Which file's unwind information covers a code address.
//!
//! glibc 2.35 and newer answer that without a lock and without allocating
//! (`_dl_find_object(3)`), and know a library as soon as it is loaded. Elsewhere
//! there is a table of what `dl_iterate_phdr(3)` lists, which is brought up to date
//! between iterations: what is loaded is known from the next one on.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr};

use super::cfi::{self, Section};
use super::memory;

/// One file's unwind information in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// `.eh_frame_hdr`.
    pub(super) index: Section<'static>,
    /// `.eh_frame`, and what else is behind it in its segment.
    pub(super) frames: Section<'static>,
}

impl Module {
    /// From its program headers and the difference between addresses in memory and
    /// in the file.
    ///
    /// # Safety
    ///
    /// The headers must be those of a file that is loaded with that difference,
    /// and stays loaded while the answer, or what was read through it, is in use.
    unsafe fn of(headers: &[Elf64_Phdr], difference: u64) -> Option<Module> {
        let index = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let start = difference.wrapping_add(index.p_vaddr);
        let rest = rest_of(headers, difference, start)?;
        let length = rest.min(usize::try_from(index.p_memsz).ok()?);
        // SAFETY: the bytes lie in one readable segment of a loaded file, which the
        // caller keeps loaded; nobody writes to unwind information.
        let index = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let index = Section::loaded(index);
        let start = cfi::frames_address(&index)?;
        let length = rest_of(headers, difference, start)?;
        // SAFETY: as for the index.
        let frames = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let frames = Section::loaded(frames);
        Some(Module { index, frames })
    }

    /// Whether its unwind information can be read.
    fn is_there(&self) -> bool {
        let index = self.index.bytes();
        let start = index.as_ptr() as u64;
        let last = start + (index.len() as u64).saturating_sub(8);
        memory::is_readable(start) && memory::is_readable(last)
    }
}

/// Bytes from an address to the end of the segment that it is in, of those that can be
/// read.
fn rest_of(headers: &[Elf64_Phdr], difference: u64, address: u64) -> Option<usize> {
    for header in headers {
        let offset = address.wrapping_sub(difference.wrapping_add(header.p_vaddr));
        let is_readable = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_R != 0;
        if is_readable && offset < header.p_memsz {
            return usize::try_from(header.p_memsz - offset).ok();
        }
    }
    None
}

/// The file that an address is in, if it has unwind information. Neither
/// allocates nor locks.
pub(super) fn find(address: u64) -> Option<Module> {
    let found = FIND_OBJECT.load(Ordering::Acquire);
    if found.is_null() {
        return find_in_table(address);
    }
    // SAFETY: only `prepare` stores there: what dlsym(3) answered for a function of
    // this type.
    let find_object: FindObject = unsafe { std::mem::transmute(found) };
    let mut object = MaybeUninit::<FoundObject>::zeroed();
    // SAFETY: dlfcn.h: the function takes any address, fills the structure and
    // answers 0, or answers -1.
    let answer = unsafe { find_object(address as *mut c_void, object.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: it was filled; and all zeros are a value of it too.
    let object = unsafe { object.assume_init_ref() };
    let start = object.start.cast::<Elf64_Ehdr>();
    // SAFETY: the file is loaded from there on, and `address` is in it: it stays
    // loaded while the calling thread is about to return to it.
    match unsafe { headers_at(start) } {
        // SAFETY: the same, and the headers are the file's own.
        Some((headers, difference)) => unsafe { Module::of(headers, difference) },
        // SAFETY: the same.
        None => unsafe { as_found(object) },
    }
}

/// The file as glibc knows it, where its headers are not loaded at its start: tools
/// that edit libraries (patchelf) move them to the end.
///
/// # Safety
///
/// A file that stays loaded.
unsafe fn as_found(object: &FoundObject) -> Option<Module> {
    let (first, end) = (object.start as u64, object.end as u64);
    // Its segments, and what is between them: nothing in it says that anything is there.
    // What is behind the index is looked at only where its own numbers lead, as libgcc
    // does that knows no more.
    let section_at = |start: u64| {
        let length = (first..end).contains(&start).then(|| end - start)?;
        let length = usize::try_from(length).ok()?;
        // SAFETY: the caller's promise; dlfcn.h: that is where the file ends.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        Some(Section::loaded(bytes))
    };
    // dlfcn.h: the file's `PT_GNU_EH_FRAME`.
    let index = section_at(object.eh_frame as u64)?;
    let frames = section_at(cfi::frames_address(&index)?)?;
    Some(Module { index, frames })
}

/// The program headers of the file whose first bytes were loaded there, and the
/// difference between addresses in memory and in the file.
///
/// # Safety
///
/// A file that stays loaded, whose first segment begins there.
unsafe fn headers_at(start: *const Elf64_Ehdr) -> Option<(&'static [Elf64_Phdr], u64)> {
    // SAFETY: the first segment of a loaded file is at least a page, and can be
    // read; it is page-aligned.
    let header = unsafe { start.as_ref() }?;
    let is_whole = header.e_ident.starts_with(b"\x7fELF")
        && usize::from(header.e_phentsize) == size_of::<Elf64_Phdr>()
        && header.e_phoff.is_multiple_of(8)
        && header.e_phoff < 4_096;
    if !is_whole {
        return None;
    }
    let headers = start
        .cast::<u8>()
        .wrapping_add(usize::try_from(header.e_phoff).ok()?)
        .cast::<Elf64_Phdr>();
    // SAFETY: the loader itself has read the program headers there; they follow
    // the file's header in its first page, and are aligned as was just seen.
    let headers = unsafe { std::slice::from_raw_parts(headers, usize::from(header.e_phnum)) };
    let first = headers.iter().find(|h| h.p_type == libc::PT_LOAD)?;
    // The first segment holds the file's header only where it starts at byte 0.
    let difference = (start as u64).wrapping_sub(first.p_vaddr);
    (first.p_offset == 0).then_some((headers, difference))
}

/// `struct dl_find_object` of glibc's dlfcn.h, on 64-bit machines.
#[repr(C)]
struct FoundObject {
    flags: u64,
    start: *mut c_void,
    end: *mut c_void,
    link_map: *mut c_void,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

type FindObject = unsafe extern "C" fn(*mut c_void, *mut FoundObject) -> c_int;

/// `_dl_find_object`, if there is one.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks for `_dl_find_object`, or fills the table in its place.
pub(super) fn prepare() {
    // SAFETY: dlsym(3) takes a name that ends in a zero, and answers an address or
    // null.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Release);
    refresh(true);
}

/// Takes the table in place of glibc's function, to test it where that exists.
#[cfg(test)]
pub(super) fn prepare_table() {
    FIND_OBJECT.store(ptr::null_mut(), Ordering::Release);
    refresh(true);
}

/// A file in the table, by the code that it has.
struct Listed {
    code: (u64, u64),
    module: Module,
}

/// Sorted by address; replaced as a whole, and never freed: a thread may be
/// looking. There is one for each time that something was loaded.
static TABLE: AtomicPtr<Vec<Listed>> = AtomicPtr::new(ptr::null_mut());
/// Files loaded and unloaded so far when that was last looked at.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Somebody looked for an address that is in no file.
static MISSED: AtomicBool = AtomicBool::new(false);

fn find_in_table(address: u64) -> Option<Module> {
    // SAFETY: null, or a table that lives for ever.
    let table = unsafe { TABLE.load(Ordering::Acquire).as_ref() }?;
    let behind = table.partition_point(|listed| listed.code.0 <= address);
    let found = behind
        .checked_sub(1)
        .map(|index| &table[index])
        .filter(|listed| address < listed.code.1);
    if found.is_none() {
        MISSED.store(true, Ordering::Relaxed);
    }
    // Since the table was made it may have been unloaded, and generated code be there.
    found
        .map(|listed| listed.module)
        .filter(|module| module.is_there())
}

/// Whether an address was looked for that the table does not have.
#[inline]
pub(super) fn has_missed() -> bool {
    MISSED.load(Ordering::Relaxed)
}

/// Brings the table up to date, where one is used; answers whether what is known of
/// addresses may be wrong now. Allocates: never to be called from the hook.
pub(super) fn refresh(always: bool) -> bool {
    MISSED.store(false, Ordering::Relaxed);
    let mut counts = (0_u64, 0_u64);
    // SAFETY: dl_iterate_phdr(3) calls the function with a filled structure, its
    // size, and the pointer that it was given, which is to `counts`.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut counts).cast()) };
    let (loaded, unloaded) = counts;
    let both = loaded.wrapping_add(unloaded);
    let is_new = SEEN.swap(both, Ordering::Relaxed) != both;
    let uses_table = FIND_OBJECT.load(Ordering::Acquire).is_null();
    if uses_table && (is_new || always) {
        let mut table: Vec<Listed> = Vec::new();
        // SAFETY: as above, to `table`.
        unsafe { libc::dl_iterate_phdr(Some(list), (&raw mut table).cast()) };
        table.sort_by_key(|listed| listed.code);
        TABLE.store(Box::into_raw(Box::new(table)), Ordering::Release);
    }
    // What was loaded may be where other code was, of which nothing was known.
    is_new
}

unsafe extern "C" fn count(
    info: *mut libc::dl_phdr_info,
    size: usize,
    counts: *mut c_void,
) -> c_int {
    // SAFETY: called through `refresh` alone, see there. The counts were added to the
    // structure later: its size tells whether they are there.
    unsafe {
        if size >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) + 8 {
            *counts.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs);
        }
    }
    1
}

unsafe extern "C" fn list(info: *mut libc::dl_phdr_info, _: usize, table: *mut c_void) -> c_int {
    // SAFETY: called through `refresh` alone, see there: a filled structure, whose
    // headers are those of a loaded file, and the table.
    let (info, table) = unsafe { (&*info, &mut *table.cast::<Vec<Listed>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    // SAFETY: the headers are those of a file at this address. What is unloaded is
    // no longer looked for: nobody returns to it.
    let module = unsafe { Module::of(headers, info.dlpi_addr) };
    if let Some(module) = module {
        let code = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
        table.extend(code.map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            Listed {
                code: (start, start.saturating_add(header.p_memsz)),
                module,
            }
        }));
    }
    0
}
