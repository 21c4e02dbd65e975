//! Compares the stacks that this unwinder finds with those that libgcc finds, before the
//! unwinder is used.

pub(crate) mod library;
#[cfg(test)]
mod tests;

use std::ffi::{c_int, c_void};
use std::hint::black_box;

use super::machine::Captured;
use super::{End, Files, walk};

/// The most frames that are compared; no stack here is deeper.
const MOST_FRAMES: usize = 128;

/// Numbers of calls between the comparison and its caller.
const DEPTHS: [usize; 3] = [1, 8, 40];

/// Compares both unwinders on stacks of several depths: through Rust, through C, on a second
/// thread and, if every loaded file is known, through a library that is loaded for the comparison.
///
/// # Errors
///
/// Where they differ.
pub(super) fn agrees_with_libgcc(files: Files) -> Result<(), String> {
    for depth in DEPTHS {
        compare("in Rust", |both| deeper(depth, &mut || record(both)))?;
    }
    compare("through C", |both| through_c(&mut || record(both)))?;
    let on_thread = std::thread::Builder::new().spawn(|| {
        compare("on a second thread", |both| {
            deeper(3, &mut || through_c(&mut || record(both)));
        })
    });
    match on_thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(outcome)) => outcome?,
        Ok(Err(_)) => return Err("the comparison with libgcc's panicked".to_owned()),
        // If no thread can be started, the workload will notice.
        Err(_) => {}
    }
    if files == Files::Linked {
        return Ok(());
    }
    // If no library can be loaded, as in a static program, there is nothing to compare.
    let Some(library) = library::load() else {
        return Ok(());
    };
    super::refresh_loaded();
    compare("through a library", |both| {
        library.call(&mut || deeper(2, &mut || record(both)));
    })
}

/// The stacks that both unwinders found, leaf first.
struct Both {
    ours: RecordedStack,
    libgcc: RecordedStack,
    /// Why the walk of this unwinder ended.
    end: End,
}

struct RecordedStack {
    frames: [*mut c_void; MOST_FRAMES],
    length: usize,
}

impl RecordedStack {
    const fn nothing() -> RecordedStack {
        RecordedStack {
            frames: [std::ptr::null_mut(); MOST_FRAMES],
            length: 0,
        }
    }

    fn frames(&self) -> &[*mut c_void] {
        &self.frames[..self.length]
    }
}

fn compare(stack: &str, records: impl FnOnce(&mut Both)) -> Result<(), String> {
    let mut both = Both {
        ours: RecordedStack::nothing(),
        libgcc: RecordedStack::nothing(),
        end: End::Root,
    };
    records(&mut both);
    // libgcc begins with the function that asks, this unwinder with that function's caller.
    let libgcc = both.libgcc.frames().get(1..).unwrap_or_default();
    let ours = both.ours.frames();
    if libgcc.is_empty() {
        return Err(format!("libgcc's found no stack {stack}"));
    }
    if ours == libgcc {
        return Ok(());
    }
    let equal = ours.iter().zip(libgcc).take_while(|(a, b)| a == b).count();
    Err(format!(
        "it finds another stack than libgcc's {stack}: {} frames and not {}, different from \
         frame {}",
        ours.len(),
        libgcc.len(),
        equal + 1
    ))
}

/// Walks the stack with both unwinders, from one place.
#[inline(never)]
fn record(both: &mut Both) {
    let captured = crate::capture!();
    (both.ours.length, both.end) = walk(&captured, &mut both.ours.frames);
    // SAFETY: the Itanium C++ ABI, "Base ABI", 1.6: the function calls `note` for every frame
    // with the pointer that it was given. The pointer is to `both.libgcc`, which nothing else
    // uses here.
    unsafe { _Unwind_Backtrace(note, (&raw mut both.libgcc).cast()) };
}

extern "C" fn note(context: *mut UnwindContext, found: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: only `_Unwind_Backtrace` calls this function, with a context that lives during
    // the call, and with the pointer that it was given.
    let (address, found) = unsafe { (_Unwind_GetIP(context), &mut *found.cast::<RecordedStack>()) };
    let address = address as *mut c_void;
    if address.is_null() || found.length == MOST_FRAMES {
        return STOP;
    }
    found.frames[found.length] = address;
    found.length += 1;
    GO_ON
}

/// Returns whether a function of this program has unwind information, as libgcc finds it. With
/// `panic=abort` and `-C force-unwind-tables=no` no function has it.
pub fn has_tables(function: usize) -> bool {
    // The function takes a return address, and looks up the byte before it.
    let address = std::ptr::without_provenance::<c_void>(function + 1);
    // SAFETY: the address is only looked up; the memory there is not read.
    !unsafe { _Unwind_FindEnclosingFunction(address) }.is_null()
}

/// `struct _Unwind_Context`, which is used only through pointers.
#[repr(C)]
struct UnwindContext {
    _nothing: [u8; 0],
}

// Functions of the library that unwinds Rust's panics; the standard library links it.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        note: extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    fn _Unwind_FindEnclosingFunction(address: *const c_void) -> *const c_void;
}

/// Makes `calls` more calls before it calls `then`.
#[inline(never)]
fn deeper(calls: usize, then: &mut dyn FnMut()) {
    match calls {
        0 => then(),
        _ => deeper(calls - 1, then),
    }
    // If the call above were the last thing here, the compiler could make it a jump.
    black_box(());
}

/// Does the same as [`walk`], and returns too whether libgcc finds the same stack. The registers
/// must be those of the function that calls this one.
#[inline(never)]
pub fn walk_with_both(captured: &Captured, frames: &mut [*mut c_void]) -> (usize, End, bool) {
    let mut libgcc = RecordedStack::nothing();
    // SAFETY: as in `record`.
    unsafe { _Unwind_Backtrace(note, (&raw mut libgcc).cast()) };
    // libgcc begins with this function and its caller, this unwinder with the caller's caller.
    let libgcc = libgcc.frames().get(2..).unwrap_or_default();
    let (walked, end) = walk(captured, frames);
    let ours = &frames[..walked];
    // This unwinder ends at a harness; libgcc goes on to the thread's root.
    let is_same = match end {
        End::Root => walked > 0 && libgcc.starts_with(ours),
        End::Full => ours.iter().zip(libgcc).all(|(ours, libgcc)| ours == libgcc),
        End::NoInformation | End::Astray => ours == libgcc,
    };
    (walked, end, is_same)
}

/// Calls `then` through C: bsearch(3) of the C library calls it back.
#[inline(never)]
fn through_c(mut then: &mut dyn FnMut()) {
    let element = 0_u8;
    // SAFETY: bsearch(3): there is one element of one byte. The key is only passed to the
    // function, which knows its type.
    unsafe {
        crate::system::bsearch(
            (&raw mut then).cast(),
            (&raw const element).cast(),
            1,
            1,
            Some(call_back),
        );
    }
}

unsafe extern "C" fn call_back(key: *const c_void, _: *const c_void) -> c_int {
    // SAFETY: `through_c` and `Library::call` give a pointer to such a reference, which nobody
    // else uses meanwhile.
    let then = unsafe { &mut *key.cast::<&mut dyn FnMut()>().cast_mut() };
    then();
    0
}
