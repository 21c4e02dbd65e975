//! jemalloc's control interface, for the subject.
//!
//! Names and types are those of jemalloc(3), section "MALLCTL NAMESPACE".

use std::ffi::{CStr, c_uint, c_void};

use tikv_jemalloc_ctl::raw;

/// Error of `mallctl`.
pub(crate) type Error = tikv_jemalloc_ctl::Error;

macro_rules! readable {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $key:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name() -> Result<$type, Error> {
            // SAFETY: jemalloc(3) lists this name as readable, with this type.
            unsafe { raw::read(concat!($key, "\0").as_bytes()) }
        }
    )*};
}

readable! {
    /// Whether jemalloc was built with profiling.
    config_prof: bool = "config.prof";
    /// Whether profiling was switched on when the program started.
    opt_prof: bool = "opt.prof";
    /// Whether allocations are sampled now.
    prof_active: bool = "prof.active";
    /// The logarithm to base 2 of the mean bytes between samples.
    lg_sample: usize = "prof.lg_sample";
    /// The maximum number of frames that a stack keeps; newer than 5.3.0.
    prof_bt_max: u32 = "opt.prof_bt_max";
    /// Bytes that this thread has allocated so far.
    thread_allocated: u64 = "thread.allocated";
    /// Whether memory comes from jemalloc's allocator of huge pages; newer than 5.2.
    opt_hpa: bool = "opt.hpa";
    /// Bytes of a page of jemalloc's, which may be larger than the kernel's.
    page: usize = "arenas.page";
    /// Bytes in pages with live objects, when statistics were last refreshed. So are the next ones.
    stats_active: usize = "stats.active";
    /// Bytes that jemalloc needs for itself.
    stats_metadata: usize = "stats.metadata";
    /// Bytes of jemalloc's pages that may be resident.
    stats_resident: usize = "stats.resident";
    /// Bytes that jemalloc has mapped and that it may use without asking the kernel.
    stats_mapped: usize = "stats.mapped";
    /// Bytes that jemalloc has mapped and given back to the kernel, without unmapping them.
    stats_retained: usize = "stats.retained";
    /// How often the mutexes of the lists of thread caches had been locked when statistics were
    /// last refreshed. 4096 is MALLCTL_ARENAS_ALL: the sum over all arenas.
    thread_cache_locks: u64 = "stats.arenas.4096.mutexes.tcache_list.num_ops";
}

/// Returns jemalloc's version, such as `5.3.1-0-g81034ce…`.
pub(crate) fn version() -> Result<&'static str, Error> {
    // SAFETY: jemalloc(3) lists `version` as a readable C string that lives as
    // long as the program.
    let bytes = unsafe { raw::read_str(b"version\0") }?;
    Ok(CStr::from_bytes_until_nul(bytes)
        .ok()
        .and_then(|text| text.to_str().ok())
        .or_else(|| std::str::from_utf8(bytes).ok())
        .unwrap_or("unknown"))
}

/// Refreshes jemalloc's statistics: values of `stats.*` are those of the last refresh.
pub(crate) fn refresh_stats() -> Result<(), Error> {
    // SAFETY: jemalloc(3) lists `epoch` as writable, of type `uint64_t`.
    unsafe { raw::write(b"epoch\0", 1_u64) }
}

/// Refreshes the statistics, and returns the bytes that the program has allocated now.
///
/// jemalloc's count includes its own allocations, mostly the stacks of a profile, and what is free
/// in the caches of threads, some MiB for each thread. They are subtracted here.
pub(crate) fn stats_allocated() -> Result<usize, Error> {
    refresh_stats()?;
    // SAFETY: jemalloc(3) lists `stats.allocated` as readable, of type `size_t`;
    // `usize` has the size and alignment of `size_t` on every supported target.
    let allocated: usize = unsafe { raw::read(b"stats.allocated\0") }?;
    // SAFETY: `stats.arenas.<i>.internal` is listed as readable, of type `size_t`, like the
    // name above; 4096 is MALLCTL_ARENAS_ALL, all arenas together.
    let internal: usize = unsafe { raw::read(b"stats.arenas.4096.internal\0") }?;
    // SAFETY: likewise, `stats.arenas.<i>.tcache_bytes`.
    let cached: usize = unsafe { raw::read(b"stats.arenas.4096.tcache_bytes\0") }?;
    Ok(allocated.saturating_sub(internal.saturating_add(cached)))
}

/// Refreshes the statistics, and returns what jemalloc says of its memory: `stats.active`,
/// `stats.metadata`, `stats.resident`, and the bytes of all that it has mapped. The last is zero
/// if that cannot be told: `stats.mapped` lacks what the allocator of huge pages has mapped.
pub(crate) fn memory() -> Result<[usize; 4], Error> {
    refresh_stats()?;
    let mapped = match opt_hpa().unwrap_or(false) {
        true => 0,
        false => stats_mapped()?.saturating_add(stats_retained()?),
    };
    Ok([
        stats_active()?,
        stats_metadata()?,
        stats_resident()?,
        mapped,
    ])
}

/// Switches the profiler on or off, for every thread.
pub(crate) fn set_prof_active(active: bool) -> Result<(), Error> {
    // SAFETY: jemalloc(3) lists `prof.active` as writable, of type `bool`.
    unsafe { raw::write(b"prof.active\0", active) }
}

/// Writes a heap profile to a file.
pub(crate) fn dump(path: &CStr) -> Result<(), Error> {
    // SAFETY: jemalloc(3) lists `prof.dump` as writable, of type `const char *`; the string
    // outlives the call, and jemalloc does not keep the pointer.
    unsafe { raw::write(b"prof.dump\0", path.as_ptr()) }
}

/// Switches the profiler on or off for allocations of this thread.
fn set_thread_profiled(profiled: bool) -> Result<(), Error> {
    // SAFETY: jemalloc(3) lists `thread.prof.active` as writable, of type `bool`.
    unsafe { raw::write(b"thread.prof.active\0", profiled) }
}

/// Calls a function; its allocations on this thread are not profiled.
pub(crate) fn unprofiled<T>(something: impl FnOnce() -> T) -> T {
    let was_profiled = set_thread_profiled(false);
    let answer = something();
    if was_profiled.is_ok() {
        let _ = set_thread_profiled(true);
    }
    answer
}

/// `prof_sample_hook_t` of jemalloc's prof_hook.h: the object, the bytes that were asked for, its
/// stack, and the object's bytes.
pub(crate) type SampleHook =
    unsafe extern "C" fn(*const c_void, usize, *mut *mut c_void, c_uint, usize);

/// `prof_sample_free_hook_t` of jemalloc's prof_hook.h: the object, and its bytes.
pub(crate) type SampleFreeHook = unsafe extern "C" fn(*const c_void, usize);

/// Makes the profiler call functions for each object that it samples, and for each of these that is
/// freed.
pub(crate) fn set_prof_sample_hooks(
    sampled: SampleHook,
    freed: SampleFreeHook,
) -> Result<(), Error> {
    // SAFETY: since 5.3.1, ctl.c takes a function pointer of this type under this name; the
    // function lives as long as the program. Objects that are freed first are in no table, which
    // the hook allows.
    unsafe { raw::write(b"experimental.hooks.prof_sample_free\0", freed) }?;
    // SAFETY: likewise.
    unsafe { raw::write(b"experimental.hooks.prof_sample\0", sampled) }
}

/// `prof_backtrace_hook_t` of jemalloc's prof_hook.h.
pub(crate) type BacktraceHook = unsafe extern "C" fn(*mut *mut c_void, *mut c_uint, c_uint);

/// Returns the function that walks stacks for the profiler.
pub(crate) fn prof_backtrace_hook() -> Result<Option<BacktraceHook>, Error> {
    // SAFETY: since 5.3.0, ctl.c returns a function pointer of this type under this name.
    // `Option` has the size of a function pointer, and a null pointer is `None`.
    unsafe { raw::read(b"experimental.hooks.prof_backtrace\0") }
}

/// Makes the profiler walk stacks with the given function.
pub(crate) fn set_prof_backtrace_hook(hook: BacktraceHook) -> Result<(), Error> {
    // SAFETY: since 5.3.0, ctl.c takes a function pointer of this type under this name; the
    // function lives as long as the program.
    unsafe { raw::write(b"experimental.hooks.prof_backtrace\0", hook) }
}
