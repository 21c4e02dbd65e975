//! jemalloc's control interface.
//!
//! Names and types are those of jemalloc(3), section "MALLCTL NAMESPACE".

use std::ffi::{CStr, c_uint, c_void};
use std::{mem, ptr};

use tikv_jemalloc_sys::mallctl;

/// `prof_backtrace_hook_t` of jemalloc's prof_hook.h.
pub(crate) type BacktraceHook = unsafe extern "C" fn(*mut *mut c_void, *mut c_uint, c_uint);

/// The most frames of such a hook itself; libgcc's has one.
pub(crate) const OF_WALKER: usize = 8;

/// Returns whether jemalloc was built with its profiler.
pub(crate) fn has_profiler() -> bool {
    flag(c"config.prof")
}

/// Returns whether the profiler was enabled when the program started.
pub(crate) fn is_profiled() -> bool {
    flag(c"opt.prof")
}

fn flag(name: &CStr) -> bool {
    let mut value = false;
    let mut size = mem::size_of::<bool>();
    // SAFETY: `flag` is called with names that jemalloc(3) lists as readable, of type `bool`.
    // Value and size live across the call.
    let status = unsafe {
        mallctl(
            name.as_ptr(),
            (&raw mut value).cast(),
            &raw mut size,
            ptr::null_mut(),
            0,
        )
    };
    status == 0 && value
}

/// Returns whether jemalloc has allocated the memory at this address.
pub(crate) fn has_allocated(address: *const c_void) -> bool {
    let mut arena: c_uint = 0;
    let mut size = mem::size_of::<c_uint>();
    let mut address = address;
    // SAFETY: jemalloc(3) lists `arenas.lookup` as readable, of type `unsigned`, and writable, of
    // type `void *`. jemalloc does not read what is at the address. All three live across the
    // call.
    let status = unsafe {
        mallctl(
            c"arenas.lookup".as_ptr(),
            (&raw mut arena).cast(),
            &raw mut size,
            (&raw mut address).cast(),
            mem::size_of::<*const c_void>(),
        )
    };
    status == 0
}

const BACKTRACE: &CStr = c"experimental.hooks.prof_backtrace";

/// Returns the function that walks stacks for the profiler.
pub(crate) fn backtrace_hook() -> Option<BacktraceHook> {
    let mut hook: Option<BacktraceHook> = None;
    let mut size = mem::size_of::<Option<BacktraceHook>>();
    // SAFETY: since 5.3.0, ctl.c returns a function pointer of this type under this name.
    // `Option` has the size of a function pointer, and a null pointer is `None`. Both outputs
    // live across the call.
    let status = unsafe {
        mallctl(
            BACKTRACE.as_ptr(),
            (&raw mut hook).cast(),
            &raw mut size,
            ptr::null_mut(),
            0,
        )
    };
    hook.filter(|_| status == 0)
}

/// Makes the profiler walk stacks with the given function. Returns whether jemalloc took it.
pub(crate) fn set_backtrace_hook(hook: BacktraceHook) -> bool {
    let mut hook = hook;
    // SAFETY: since 5.3.0, ctl.c takes a function pointer of this type under this name; it copies
    // the pointer, and the function lives as long as the program.
    let status = unsafe {
        mallctl(
            BACKTRACE.as_ptr(),
            ptr::null_mut(),
            ptr::null_mut(),
            (&raw mut hook).cast(),
            mem::size_of::<BacktraceHook>(),
        )
    };
    status == 0
}
