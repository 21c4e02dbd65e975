//! Finds the file whose unwind information covers a code address.
//!
//! glibc 2.35 and newer has a function for this that neither locks nor allocates
//! (`_dl_find_object(3)`). It knows a library as soon as that is loaded. On other systems, and
//! for [`Files::Linked`], this module has a table of files that `dl_iterate_phdr(3)` lists.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use libc::{Elf64_Ehdr, Elf64_Phdr};

use super::cfi::{self, Section};
use super::headers::{Names, rest_of};
use super::{Files, memory};

/// The unwind information of one file, in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// `.eh_frame_hdr`.
    pub(super) index: Section<'static>,
    /// `.eh_frame`, and what follows it in its segment.
    pub(super) frames: Section<'static>,
}

impl Module {
    /// Makes a module from a file's program headers, and the difference between addresses in
    /// memory and in the file.
    ///
    /// # Safety
    ///
    /// The headers must be those of a file that is loaded with that difference. The file must
    /// stay loaded while the module, or what was read through it, is in use.
    unsafe fn of(headers: &[Elf64_Phdr], difference: u64) -> Option<Module> {
        let mut all = headers.iter();
        let index = all.find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let start = difference.wrapping_add(index.p_vaddr);
        let rest = rest_of(headers, difference, start)?;
        let length = rest.min(usize::try_from(index.p_memsz).ok()?);
        // SAFETY: the bytes lie in one readable segment of a loaded file, and the caller keeps
        // the file loaded. Nobody writes to unwind information.
        let index = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let index = Section::loaded(index);
        let start = cfi::frames_address(&index)?;
        let length = rest_of(headers, difference, start)?;
        // SAFETY: as for the index.
        let frames = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        let frames = Section::loaded(frames);
        Some(Module { index, frames })
    }

    /// Returns whether the unwind information can be read.
    fn is_there(&self) -> bool {
        let index = self.index.bytes;
        let start = index.as_ptr() as u64;
        let last = start + (index.len() as u64).saturating_sub(8);
        memory::is_readable(start) && memory::is_readable(last)
    }
}

/// Returns the module that contains an address, if it has unwind information. Neither allocates
/// nor locks.
pub(super) fn find(address: u64) -> Option<Module> {
    let found = FIND_OBJECT.load(Ordering::Acquire);
    if found.is_null() {
        return find_in_table(address);
    }
    // SAFETY: only `prepare` and a test store to `FIND_OBJECT`. A value that is not null comes
    // from dlsym(3), for a function of this type.
    let find_object: FindObject = unsafe { std::mem::transmute(found) };
    let mut object = MaybeUninit::<FoundObject>::zeroed();
    // SAFETY: dlfcn.h: the function takes any address. It fills the structure and returns 0, or
    // it returns -1.
    let answer = unsafe { find_object(address as *mut c_void, object.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: the function has filled it; all zeros would be a valid value too.
    let object = unsafe { object.assume_init_ref() };
    let start = object.start.cast::<Elf64_Ehdr>();
    // SAFETY: the file is loaded at `start`, and `address` is in it. It stays loaded, because
    // the calling thread is about to return to it.
    match unsafe { headers_at(start) } {
        // SAFETY: as above, and the headers are the file's own.
        Some((headers, difference)) => unsafe { Module::of(headers, difference) },
        // SAFETY: as above.
        None => unsafe { as_found(object) },
    }
}

/// Returns the module as glibc knows it, for a file whose headers are not loaded at its start.
/// Tools that edit libraries (patchelf) move the headers to the end.
///
/// # Safety
///
/// The file must stay loaded.
unsafe fn as_found(object: &FoundObject) -> Option<Module> {
    let (first, end) = (object.start as u64, object.end as u64);
    // This range has the file's segments and the gaps between them, and nothing says that a gap
    // can be read. So bytes behind the index are read only where the index's own numbers lead,
    // as in libgcc, which does not know more either.
    let section_at = |start: u64| {
        let length = (first..end).contains(&start).then(|| end - start)?;
        let length = usize::try_from(length).ok()?;
        // SAFETY: the caller keeps the file loaded; dlfcn.h: `end` is where it ends.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
        Some(Section::loaded(bytes))
    };
    // dlfcn.h: `eh_frame` is the file's `PT_GNU_EH_FRAME`.
    let index = section_at(object.eh_frame as u64)?;
    let frames = section_at(cfi::frames_address(&index)?)?;
    Some(Module { index, frames })
}

/// Returns the program headers of a file whose first bytes are loaded at `start`, and the
/// difference between addresses in memory and in the file.
///
/// # Safety
///
/// The file must stay loaded, and its first segment must begin at `start`.
unsafe fn headers_at(start: *const Elf64_Ehdr) -> Option<(&'static [Elf64_Phdr], u64)> {
    // SAFETY: the first segment of a loaded file has at least a page, is readable, and is
    // page-aligned.
    let header = unsafe { start.as_ref() }?;
    let is_whole = header.e_ident.starts_with(b"\x7fELF")
        && usize::from(header.e_phentsize) == size_of::<Elf64_Phdr>()
        && header.e_phoff.is_multiple_of(8)
        && header.e_phoff < 4_096;
    if !is_whole {
        return None;
    }
    let headers = start.wrapping_byte_add(usize::try_from(header.e_phoff).ok()?);
    let headers = headers.cast::<Elf64_Phdr>();
    // SAFETY: the loader itself has read the program headers there. They follow the file's
    // header in its first page, and the check above has shown that they are aligned.
    let headers = unsafe { std::slice::from_raw_parts(headers, usize::from(header.e_phnum)) };
    let first = headers.iter().find(|h| h.p_type == libc::PT_LOAD)?;
    // The first segment contains the file's header only if it starts at byte 0 of the file.
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

/// The address of `_dl_find_object`, if there is one.
static FIND_OBJECT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Looks for `_dl_find_object`. If there is none, or if it knows too much, fills the table
/// instead.
pub(super) fn prepare(files: Files) {
    if files == Files::Linked {
        FIND_OBJECT.store(ptr::null_mut(), Ordering::Release);
        publish(linked(all_files()));
        return;
    }
    // SAFETY: dlsym(3) takes a name that ends in a zero byte, and returns an address or null.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(found, Ordering::Release);
    refresh(true);
}

/// Uses the table even if glibc's function exists, to test the table.
#[cfg(test)]
pub(super) fn prepare_table() {
    FIND_OBJECT.store(ptr::null_mut(), Ordering::Release);
    refresh(true);
}

/// A file in the table, with one range of its code.
struct Listed {
    code: (u64, u64),
    module: Module,
}

/// A file, while the table is made.
struct File {
    names: Names,
    is_program: bool,
    listed: Vec<Listed>,
}

/// The table, sorted by address. It is replaced as a whole and never freed, because a thread
/// may be reading it. There is one table for each change in the loaded files.
static TABLE: AtomicPtr<Vec<Listed>> = AtomicPtr::new(ptr::null_mut());
/// The number of files loaded and unloaded at the last refresh.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Whether a lookup failed because the address is in no file of the table.
static MISSED: AtomicBool = AtomicBool::new(false);

fn find_in_table(address: u64) -> Option<Module> {
    // SAFETY: this is null, or a table that lives for ever.
    let table = unsafe { TABLE.load(Ordering::Acquire).as_ref() }?;
    let behind = table.partition_point(|listed| listed.code.0 <= address);
    let found = table[..behind].last();
    let Some(listed) = found.filter(|listed| address < listed.code.1) else {
        MISSED.store(true, Ordering::Relaxed);
        return None;
    };
    // The file may have been unloaded since the table was made, and other code may be there
    // now.
    listed.module.is_there().then_some(listed.module)
}

/// Returns whether a walk came to a file that is missing, so that [`refresh`](crate::refresh) may
/// help.
#[inline]
pub fn has_missed() -> bool {
    MISSED.load(Ordering::Relaxed)
}

/// Updates the table, if one is used. Returns whether cached rules may be wrong now. Allocates,
/// so the hook must never call this.
pub(super) fn refresh(always: bool) -> bool {
    MISSED.store(false, Ordering::Relaxed);
    let mut counts = (0_u64, 0_u64);
    // SAFETY: dl_iterate_phdr(3) calls the function with a filled structure, its size, and the
    // pointer that it was given, which points to `counts`.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut counts).cast()) };
    let (loaded, unloaded) = counts;
    let both = loaded.wrapping_add(unloaded);
    let is_new = SEEN.swap(both, Ordering::Relaxed) != both;
    let uses_table = FIND_OBJECT.load(Ordering::Acquire).is_null();
    if uses_table && (is_new || always) {
        publish(all_files());
    }
    // A new file may be where other code was, or where an address had no unwind information.
    is_new
}

fn publish(files: Vec<File>) {
    let listed = files.into_iter().flat_map(|file| file.listed);
    let mut table: Vec<Listed> = listed.collect();
    table.sort_by_key(|listed| listed.code);
    TABLE.store(Box::into_raw(Box::new(table)), Ordering::Release);
}

fn all_files() -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    // SAFETY: dl_iterate_phdr(3) calls the function with a filled structure, its size, and the
    // pointer that it was given, which points to `files`.
    unsafe { libc::dl_iterate_phdr(Some(list), (&raw mut files).cast()) };
    files
}

/// Returns the program, and the files that it names directly or through others. dlclose(3) never
/// unloads these.
fn linked(files: Vec<File>) -> Vec<File> {
    let (mut linked, mut others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.is_program);
    let mut at = 0;
    while let Some(file) = linked.get(at) {
        let needed = file.names.needed.clone();
        for name in needed {
            // If two files have the name, the one that was loaded first.
            let found = others.iter().position(|file| file.names.include(&name));
            linked.extend(found.map(|place| others.remove(place)));
        }
        at += 1;
    }
    linked
}

unsafe extern "C" fn count(
    info: *mut libc::dl_phdr_info,
    size: usize,
    counts: *mut c_void,
) -> c_int {
    // SAFETY: only `refresh` uses this function; see there. The counts were added to the
    // structure later, and its size tells whether they are there.
    unsafe {
        if size >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) + 8 {
            *counts.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs);
        }
    }
    1
}

unsafe extern "C" fn list(info: *mut libc::dl_phdr_info, _: usize, files: *mut c_void) -> c_int {
    // SAFETY: only `all_files` uses this function; see there. `info` is a filled structure, whose
    // headers are those of a loaded file, and `files` is the list.
    let (info, files) = unsafe { (&*info, &mut *files.cast::<Vec<File>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    // SAFETY: the headers are those of a file at this address. A file that is unloaded is no
    // longer looked up, because nobody returns to it.
    let module = unsafe { Module::of(headers, info.dlpi_addr) };
    let code = headers.iter().filter(|header| {
        header.p_type == libc::PT_LOAD && header.p_flags & crate::system::PF_X != 0
    });
    let listed = module.map(|module| {
        let listed = code.map(|header| {
            let start = info.dlpi_addr.wrapping_add(header.p_vaddr);
            Listed {
                code: (start, start.saturating_add(header.p_memsz)),
                module,
            }
        });
        listed.collect()
    });
    // SAFETY: getauxval(3): any kind may be asked for.
    let of_program = unsafe { libc::getauxval(crate::system::AT_PHDR) };
    files.push(File {
        // SAFETY: the headers are those of a file at this address, which stays loaded during the
        // call; dl_iterate_phdr(3): its path ends in a zero byte.
        names: unsafe { Names::of(headers, info.dlpi_addr, info.dlpi_name) },
        is_program: info.dlpi_phdr as u64 == of_program,
        listed: listed.unwrap_or_default(),
    });
    0
}
