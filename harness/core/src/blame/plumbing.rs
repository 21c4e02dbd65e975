//! The list of plumbing: functions that allocate for their callers.

/// Crates, modules and types that allocate for whoever calls them, by the crates' own paths.
/// A stack is blamed on the first frame that is none of these.
///
/// An entry belongs here if nobody would look there for a leak: the cells of tasks, the tables
/// of caches, the engine below a crate that everybody uses. A whole crate belongs here if it
/// is a container: what keeps too much in it is its caller. If the reader's own code calls it,
/// the function that is called is named.
const RUST: &[&str] = &[
    // Tasks of runtimes. Modules and not types: an inlined method has no type.
    "async_task::raw",
    "async_task::runnable",
    "tokio::runtime::blocking",
    "tokio::runtime::context",
    "tokio::runtime::handle",
    "tokio::runtime::scheduler",
    "tokio::runtime::task",
    // What stays with a task is to blame on whoever spawned it.
    "tokio::task::blocking",
    "tokio::task::spawn",
    "tokio::util::sharded_list",
    // Containers, and the tables and cells in others.
    "bytes::bytes_mut::BytesMut::reserve_inner",
    "crossbeam_epoch::atomic",
    "hashbrown",
    "indexmap",
    "moka::cht",
    "moka::common::concurrent::arc",
    "moka_cht",
    "parking_lot_core::parking_lot",
    "sharded_slab",
    "slab",
    "slotmap",
    "smallvec",
    "tokio::sync::mpsc::block",
    "tokio::sync::mpsc::bounded::channel",
    "tokio::sync::mpsc::chan",
    "tokio::sync::mpsc::list",
    "tokio::sync::mpsc::unbounded::unbounded_channel",
    "triomphe",
    // Arenas.
    "bumpalo",
    "typed_arena",
    // The engines below `regex`.
    "aho_corasick",
    "memchr",
    "regex_automata",
    "regex_syntax",
];

/// Plumbing that allocates for nobody: loops that run whatever they are given.
const LOOPS: &[&str] = &[
    "futures_executor::local_pool",
    "pollster",
    "tokio::loom",
    "tokio::runtime::park",
    "tokio::runtime::runtime::Runtime::block_on",
    "tokio::runtime::runtime::Runtime::block_on_inner",
    "tokio::task::coop",
];

/// Beginnings of the names of C functions that allocate for their callers.
const C: &[&str] = &[
    // SQLite.
    "dbMallocRaw",
    "dbReallocFinish",
    "mallocWithAlarm",
    "pcache1",
    "sqlite3DbMalloc",
    "sqlite3DbRealloc",
    "sqlite3DbStr",
    "sqlite3Malloc",
    "sqlite3MemMalloc",
    "sqlite3MemRealloc",
    "sqlite3PageMalloc",
    "sqlite3Realloc",
    "sqlite3_malloc",
    "sqlite3_realloc",
    // The unwinder, which calls whoever collects a backtrace.
    "_Unwind_",
    // OpenSSL, zlib, zstd, Lua, GLib.
    "CRYPTO_",
    "OPENSSL_",
    "ZSTD_custom",
    "g_malloc",
    "luaM_",
    "l_alloc",
    "zcalloc",
];

/// Returns whether a normalised name is that of a function that allocates for its callers.
pub fn is_plumbing(function: &str) -> bool {
    if !function.contains("::") {
        let name = function.trim_start_matches(['<', '&']);
        return C.iter().any(|start| name.starts_with(start));
    }
    is_below(function, RUST) || is_loop(function)
}

/// Returns whether a normalised name is that of a loop that runs what it was given.
pub(super) fn is_loop(function: &str) -> bool {
    is_below(function, LOOPS)
}

/// Returns whether a function is in one of these crates, modules or types.
fn is_below(function: &str, paths: &[&str]) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    let path = path.strip_prefix("mut ").unwrap_or(path);
    let path = path.strip_prefix("dyn ").unwrap_or(path);
    let is_at = |end: &str| !end.starts_with(is_of_word);
    paths.iter().any(|start| {
        let without_type = || {
            let (module, method) = without_type(start)?;
            path.strip_prefix(module)?.strip_prefix(method)
        };
        path.strip_prefix(start).is_some_and(is_at) || without_type().is_some_and(is_at)
    })
}

/// Splits the path of a method where its type stands: an inlined method may have none.
fn without_type(path: &str) -> Option<(&str, &str)> {
    let (before, method) = path.rsplit_once("::")?;
    let module = before.len() - before.rsplit("::").next()?.len();
    let is_type = before[module..].starts_with(char::is_uppercase);
    is_type.then(|| (&path[..module], method))
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
