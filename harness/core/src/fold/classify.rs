//! Classifies frames, to find those that are not to blame for an allocation.

use super::normalize::{is_unresolved, normalize_frame};
use super::qualify::{Crates, crate_of, is_of_harness, is_std_file};
use super::scan::{closing_angle, find_outside};
use crate::SourceFrame;

/// What a frame is. This decides whether it is cut from a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The function that calls the workload. No frame below it is plimsoll's.
    Marker,
    /// A frame of plimsoll.
    Harness,
    /// A frame of an allocator or a profiler, or one that leads there.
    Allocator,
    /// The function through which Rust code calls the global allocator. What it calls is an
    /// allocator, whatever its name.
    Global,
    /// A frame of `alloc`, `core` or `std`.
    Std,
    /// A frame of hashbrown. No file says whether it is std's hashbrown.
    Hashbrown,
    /// A function that only calls a closure.
    Shim,
    /// A function that begins a thread or the process.
    Start,
    /// The same in Rust's runtime. It is a frame of its own in builds that do not inline it.
    RustStart,
    /// Code without a name, in a file or outside of all files.
    Unresolved,
    /// Any other frame.
    Other,
}

/// Returns a frame's stable name, and its kind.
pub(super) fn name(source: &SourceFrame, crates: &Crates) -> (String, Kind) {
    let file = source.file.as_deref();
    let in_std = file.is_some_and(is_std_file);
    let plain = normalize_frame(&source.function);
    // If only line tables name inlined functions, the function that calls the global allocator
    // is in the file that declares the allocator.
    let calls_global = CALLS_GLOBAL.contains(&plain.as_str());
    let mut name = match calls_global {
        true => plain,
        false => crates.qualify(plain, file),
    };
    if in_std {
        name = without_implementor(name);
    }
    let krate = crate_of(&name);
    let std = in_std || is_of_std(&name);
    // A Rust function may also have a name such as `prof_start`.
    let is_c = krate.is_none() && !file.is_some_and(|file| file.ends_with(".rs"));
    let allocates =
        is_allocator(&name) || is_c && is_c_allocator(&name) || file.is_some_and(is_allocator_file);
    let kind = match krate {
        _ if calls_global => Kind::Global,
        _ if allocates => Kind::Allocator,
        _ if MARKERS.contains(&name.as_str()) => Kind::Marker,
        _ if is_harness(&name) => Kind::Harness,
        _ if is_shim(&name, std) => Kind::Shim,
        _ if std => Kind::Std,
        _ if is_c && STARTS.contains(&name.as_str()) => Kind::Start,
        _ if is_c && RUST_STARTS.contains(&name.as_str()) => Kind::RustStart,
        Some("hashbrown") if file.is_none() => Kind::Hashbrown,
        _ if is_unresolved(&source.function) => Kind::Unresolved,
        _ => Kind::Other,
    };
    (name, kind)
}

/// The functions from which the subject calls the setup and one iteration.
const MARKERS: [&str; 2] = [SETUP, "plimsoll_subject::workload_iteration"];
pub(super) const SETUP: &str = "plimsoll_subject::workload_setup";

/// Returns whether a function is the harness's own.
pub(crate) fn is_harness(function: &str) -> bool {
    crate_of(function).is_some_and(is_of_harness)
}

/// Crates of the standard library.
const STD: [&str; 7] = [
    "alloc",
    "core",
    "std",
    "__rustc",
    "compiler_builtins",
    "panic_unwind",
    "proc_macro",
];

/// Names without a path that the compiler makes of functions in std.
const RUST_STARTS: [&str; 2] = ["__rust_begin_short_backtrace", "__rust_try"];

/// Functions between the kernel and Rust. glibc is among them, because Debian strips the name
/// of its function that starts a thread.
const STARTS: [&str; 16] = [
    "__clone",
    "__clone3",
    "__libc_start_call_main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "_start",
    "clone",
    "clone3",
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libpthread.so.0",
    "main",
    "rust_thread_start",
    "start_thread",
    "thread_start",
];

/// Those of them that only a thread has which is not the process's first one.
const THREAD_STARTS: [&str; 7] = [
    "__clone",
    "__clone3",
    "clone",
    "clone3",
    "rust_thread_start",
    "start_thread",
    "thread_start",
];

/// Returns whether a frame begins a thread. In the standard library, the function is a method of
/// a type that has another path in each version.
pub(super) fn starts_a_thread(name: &str, kind: Kind) -> bool {
    match kind {
        Kind::Start => THREAD_STARTS.contains(&name),
        Kind::Std => name.starts_with("std::") && name.ends_with("::thread_start"),
        _ => false,
    }
}

/// C functions that allocate for their caller, without leading underscores.
const ALLOCATORS: [&str; 22] = [
    "GI___libc_malloc",
    "GI___strdup",
    "GI___strndup",
    "aligned_alloc",
    "calloc",
    "libc_calloc",
    "libc_malloc",
    "libc_memalign",
    "libc_realloc",
    "mallocx",
    "malloc",
    "memalign",
    "posix_memalign",
    "prof_backtrace",
    "pvalloc",
    "rallocx",
    "realloc",
    "reallocarray",
    "strdup",
    "strndup",
    "valloc",
    "xallocx",
];

/// Functions of jemalloc built with symbols and without debug information, and of C++.
const C_PREFIXES: [&str; 19] = [
    "_rjem_",
    "je_",
    // A library of its own, under any name of this form, whose functions' names are not known.
    "libjemalloc",
    "prof_",
    "arena_",
    "tcache_",
    "te_event",
    "imalloc",
    "iallocz",
    "ialloc_",
    "iralloc",
    "do_rallocx",
    "large_palloc",
    "large_ralloc",
    "malloc_default",
    "fallback_alloc",
    "operator new",
    "_Znwm",
    "_Znam",
];

/// Functions that the compiler puts between `alloc` and the global allocator.
const RUST_PREFIXES: [&str; 14] = [
    "__rust_alloc",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_realloc",
    "__rg_alloc",
    "__rg_realloc",
    "alloc::alloc::",
    "allocator_api2::",
    "core::alloc::",
    // These frames are below a map, and do not say who filled it.
    "hashbrown::alloc::",
    "hashbrown::raw::",
    "jemallocator::",
    "tikv_jemalloc_sys::",
    "tikv_jemallocator::",
];

/// Functions that `#[global_allocator]` declares, without paths.
const CALLS_GLOBAL: [&str; 4] = [
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_dealloc",
    "__rust_realloc",
];

fn is_c_allocator(name: &str) -> bool {
    ALLOCATORS.contains(&name.trim_start_matches('_'))
        || C_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_allocator(name: &str) -> bool {
    if let Some(path) = name.strip_prefix('<') {
        return path.contains(" as core::alloc::global::GlobalAlloc>")
            || path.contains(" as core::alloc::Allocator>")
            || path.starts_with("alloc::alloc::Global as ")
            || path.starts_with("allocator_api2::")
            || path.starts_with("hashbrown::raw::");
    }
    let name = name.strip_prefix("__rustc::").unwrap_or(name);
    RUST_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_allocator_file(file: &str) -> bool {
    file.contains("/jemalloc/src/")
        || file.contains("/jemalloc/include/")
        || file.contains("/tikv-jemallocator-")
}

/// Returns whether the name is that of a function of the standard library.
pub(crate) fn is_of_std(name: &str) -> bool {
    is_of_slice(name) || crate_of(name).is_some_and(|krate| STD.contains(&krate))
}

/// Returns whether the function belongs to slices, such as `<[_]>::to_vec_in` and
/// `<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec`. Only the standard library can have these. In
/// v0 mangling they name no crate, and no file if std has no debug information, as in Debian.
fn is_of_slice(name: &str) -> bool {
    let Some(path) = name.strip_prefix('<') else {
        return false;
    };
    let implemented = find_outside(path, " as ").map_or(name, |at| &path[at + 4..]);
    implemented.starts_with("<[_]>::")
}

/// Returns whether the function is a shim, such as `core::ops::function::FnOnce::call_once`,
/// `<F as core::ops::function::FnMut>::call_mut` or `alloc::boxed::Box::call`. Whether a stack
/// has such a frame depends on what was inlined.
fn is_shim(name: &str, std: bool) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let calls = matches!(last, "call" | "call_mut" | "call_once");
    name.starts_with("core::ops::function::")
        || calls && (std || name.contains(" as core::ops::function::Fn"))
}

/// Returns `core::c::D::f` for `<a::B as core::c::D>::f` of the standard library.
///
/// For a method that the trait provides, legacy mangling has only the trait, and v0 has the
/// type as well. In the standard library's own files the type says little, so it is left out.
fn without_implementor(name: String) -> String {
    let method = closing_angle(&name, 0).filter(|_| name.starts_with('<'));
    let Some((inner, method)) = method.map(|close| (&name[1..close], &name[close + 1..])) else {
        return name;
    };
    match find_outside(inner, " as ") {
        Some(at) => format!("{}{method}", &inner[at + 4..]),
        None => name,
    }
}
