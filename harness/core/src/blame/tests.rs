use super::*;
use crate::Lacks;

const LOCK: &[&str] = &[
    "jobs 0.1.0: hyper-util, minijinja, regex 1.11.0, rusqlite, tokio",
    "hyper-util 0.1.21: want",
    "libsqlite3-sys 0.30.1",
    "minijinja 1.0.8",
    "regex 1.11.0: regex-automata",
    "regex-automata 0.4.9",
    "rusqlite 0.32.1: libsqlite3-sys",
    "tokio 1.54.1",
    "want 0.3.1",
];

/// Reads a `Cargo.lock` of packages with their versions and what they need. The first is the
/// reader's own.
fn packages(lines: &[&str]) -> Packages {
    let mut lock = String::new();
    for (number, line) in lines.iter().enumerate() {
        let (package, needs) = line.split_once(": ").unwrap_or((line, ""));
        let (name, version) = package.split_once(' ').unwrap();
        let needs: Vec<&str> = needs.split(", ").filter(|one| !one.is_empty()).collect();
        lock += &format!("[[package]]\nname = {name:?}\nversion = {version:?}\n");
        lock += if number == 0 { "" } else { "source = \"r\"\n" };
        lock += &format!("dependencies = {needs:?}\n");
    }
    Packages::of_lockfile(&lock)
}

/// Reads frames, leaf first: a name, and maybe `@` and a file with a line.
fn frames(lines: &str) -> Vec<Frame> {
    let frame = |line: &str| {
        let (function, place) = match line.split_once(" @ ") {
            Some((function, place)) => (function, place.rsplit_once(':')),
            None => (line, None),
        };
        Frame {
            function: function.trim().to_owned(),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.and_then(|(_, line)| line.parse().ok()),
        }
    };
    lines.trim().lines().map(frame).collect()
}

/// Reads a stack of the scenario `pages`. The last line may say where it begins, and that lines are
/// missing: `^ thread without lines`.
fn trace(lines: &str) -> Trace {
    let without = lines.strip_suffix(" without lines");
    let (lines, origin) = match without.unwrap_or(lines).rsplit_once('^') {
        None => (lines, None),
        Some((lines, origin)) => (
            lines,
            Some(match origin.trim() {
                "iteration" => fold::Origin::Iteration,
                "setup" => fold::Origin::Setup,
                "thread" => fold::Origin::Thread,
                other => panic!("{other}"),
            }),
        ),
    };
    Trace {
        frames: frames(lines.trim_end()),
        origin,
        lacks: without.map(|_| Lacks::DebugInfo),
    }
}

/// Finds the place of a stack without its source files.
fn of(lines: &str, packages: &Packages) -> Option<Blame> {
    Blame::of(&trace(lines), "pages", packages, &SourceFiles::default())
}

/// Returns the parts of a place that are there, with the words before them.
fn said(blame: &Blame) -> String {
    let at = blame.at.as_ref().map(|at| at.function.clone());
    let mut said = at.unwrap_or_else(|| "-".to_owned());
    let mut add = |before: &str, name: Option<&str>| {
        if let Some(name) = name {
            said += before;
            said += name;
        }
    };
    add(
        " called by ",
        blame.by.as_ref().map(|frame| &*frame.function),
    );
    add(" in ", blame.called.as_ref().map(|frame| &*frame.function));
    add(
        " from ",
        blame.caller.as_ref().map(|frame| &*frame.function),
    );
    let origin = match &blame.origin {
        Some(Origin::Workload(name)) => Some(format!("workload of {name}")),
        Some(Origin::Setup(name)) => Some(format!("setup of {name}")),
        Some(Origin::Thread) | None => None,
    };
    add(" from ", origin.as_deref());
    add(", thread of ", blame.thread_of.as_deref());
    add(" by ", blame.needed_by.as_deref());
    said
}

#[test]
fn places() {
    let packages = packages(LOCK).with_own("leaks");
    for (lines, expected) in [
        // The reader's own code allocates.
        (
            "jobs::queue::push @ src/queue.rs:7\n jobs::main @ src/main.rs:3",
            "jobs::queue::push",
        ),
        // A dependency runs a function of the reader, and keeps what it returns.
        (
            "jobs::read @ src/config.rs:9
             jobs::config::{{closure}} @ src/config.rs:7
             want::Once::call_once::{{closure}} @ want-0.3.1/src/lib.rs:4
             want::Once::call_once @ want-0.3.1/src/lib.rs:3
             jobs::config @ src/config.rs:6",
            "jobs::read in want::Once::call_once",
        ),
        // But not if it only waits for a future.
        (
            "jobs::config::{{closure}} @ src/config.rs:7
             <want::All as core::future::future::Future>::poll @ want-0.3.1/src/lib.rs:4
             jobs::config @ src/config.rs:6",
            "jobs::config::{{closure}}",
        ),
        // Under a runtime's cells.
        (
            "tokio::runtime::task::core::Cell::new @ tokio-1.54.1/src/runtime/task/core.rs:1
             tokio::runtime::blocking::pool::Spawner::spawn_blocking_inner @ tokio-1.54.1/src/runtime/blocking/pool.rs:1
             tokio::task::blocking::spawn_blocking @ tokio-1.54.1/src/task/blocking.rs:1
             jobs::start @ src/jobs.rs:41
             tokio::runtime::park::CachedParkThread::block_on @ tokio-1.54.1/src/runtime/park.rs:1
             jobs::main @ src/main.rs:3",
            "tokio::task::blocking::spawn_blocking from jobs::start",
        ),
        // An unoptimised build has a frame for each function of the runtime.
        (
            "tokio::runtime::scheduler::Handle::spawn @ tokio-1.54.1/src/runtime/scheduler/mod.rs:1
             tokio::task::spawn::spawn_inner::{{closure}} @ tokio-1.54.1/src/task/spawn.rs:2
             tokio::runtime::context::current::with_current @ tokio-1.54.1/src/runtime/context/current.rs:1
             tokio::task::spawn::spawn_inner @ tokio-1.54.1/src/task/spawn.rs:2
             tokio::task::spawn::spawn @ tokio-1.54.1/src/task/spawn.rs:1
             jobs::start @ src/jobs.rs:41",
            "tokio::task::spawn::spawn from jobs::start",
        ),
        // A task is the dependency's that spawned it.
        (
            "tokio::runtime::task::core::Cell::new @ tokio-1.54.1/src/runtime/task/core.rs:1
             tokio::task::spawn::spawn @ tokio-1.54.1/src/task/spawn.rs:1
             want::new @ want-0.3.1/src/lib.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1
             jobs::main @ src/main.rs:3",
            "want::new in hyper_util::client::pool::run from jobs::main",
        ),
        // Three functions matter, and what is between them does not.
        (
            "minijinja::vm::closure_object::Closure::new @ minijinja/src/vm/closure_object.rs:1
             minijinja::vm::Vm::eval @ minijinja/src/vm/mod.rs:1
             minijinja::template::Template::render @ minijinja/src/template.rs:1
             jobs::page @ src/page.rs:12",
            "minijinja::vm::closure_object::Closure::new in minijinja::template::Template::render \
             from jobs::page",
        ),
        // C has neither files nor crates.
        (
            "sqlite3MemMalloc
             mallocWithAlarm
             sqlite3Malloc
             sqlite3VdbeMakeReady
             sqlite3_prepare_v3
             rusqlite::Connection::prepare @ rusqlite-0.32.1/src/lib.rs:1
             jobs::find @ src/db.rs:9",
            "sqlite3_prepare_v3 in rusqlite::Connection::prepare from jobs::find",
        ),
        // The frames of `std` are cut, and the unwinder has called them.
        (
            "_Unwind_Backtrace
             want::capture_backtrace @ want-0.3.1/src/backtrace.rs:22
             want::Taker::poll @ want-0.3.1/src/lib.rs:1
             jobs::main @ src/main.rs:3",
            "want::capture_backtrace in want::Taker::poll from jobs::main",
        ),
        // What C returned has to be freed by whoever called it.
        (
            "WebPMemoryWrite
             WebPPictureAlloc
             webp::shared::new_picture @ webp-0.3.0/src/shared.rs:1
             webp::encoder::Encoder::encode @ webp-0.3.0/src/encoder.rs:1
             jobs::thumbnail @ src/images.rs:9",
            "WebPPictureAlloc called by webp::shared::new_picture in \
             webp::encoder::Encoder::encode from jobs::thumbnail",
        ),
        // An engine below the crate that is used.
        (
            "regex_automata::meta::strategy::new @ regex-automata-0.4.9/src/meta/strategy.rs:1
             regex::regex::string::Regex::new @ regex-1.11.0/src/regex/string.rs:1
             jobs::matches @ src/lib.rs:5",
            "regex::regex::string::Regex::new from jobs::matches",
        ),
        // What the reader called is the dependency, and not the loop that runs it.
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1
             tokio::runtime::park::block_on @ tokio-1.54.1/src/runtime/park.rs:1
             jobs::main @ src/main.rs:3",
            "want::new in hyper_util::client::pool::run from jobs::main",
        ),
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             <hyper_util::client::Request as core::future::future::Future>::poll @ hyper-util-0.1.21/src/client.rs:1
             tokio::task::coop::budget @ tokio-1.54.1/src/task/coop/mod.rs:133
             tokio::runtime::scheduler::current_thread::CoreGuard::block_on @ tokio-1.54.1/src/runtime/scheduler/current_thread/mod.rs:819
             tokio::runtime::runtime::Runtime::block_on_inner @ tokio-1.54.1/src/runtime/runtime.rs:379
             tokio::runtime::runtime::Runtime::block_on @ tokio-1.54.1/src/runtime/runtime.rs:348
             jobs::main @ src/main.rs:3",
            "want::new in <hyper_util::client::Request as core::future::future::Future>::poll \
             from jobs::main",
        ),
        // A channel, below the function that makes it.
        (
            "tokio::sync::mpsc::list::channel_from_index @ tokio-1.54.1/src/sync/mpsc/list.rs:1
             tokio::sync::mpsc::chan::channel @ tokio-1.54.1/src/sync/mpsc/chan.rs:1
             tokio::sync::mpsc::unbounded::unbounded_channel @ tokio-1.54.1/src/sync/mpsc/unbounded.rs:1
             jobs::main @ src/main.rs:3",
            "tokio::sync::mpsc::unbounded::unbounded_channel from jobs::main",
        ),
        // A macro of a dependency makes closures of the reader's crate.
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             jobs::turn::{{closure}}::{{closure}} @ tokio-1.54.1/src/macros/select.rs:710
             jobs::turn @ src/main.rs:3",
            "want::new from jobs::turn",
        ),
        // A closure, of which only the file is known, is in the function whose call begins
        // before it.
        (
            "jobs::db::{{closure}} @ src/db.rs:9
             jobs::db::each @ src/db.rs:40
             jobs::db::find @ src/db.rs:8
             jobs::db::main @ src/db.rs:3",
            "jobs::db::find::{{closure}}",
        ),
        (
            "<minijinja::Value as core::clone::Clone>::clone @ minijinja/src/value.rs:1
             minijinja::vm::{{closure}} @ minijinja/src/vm.rs:9
             <minijinja::vm::Vm as core::ops::drop::Drop>::drop @ minijinja/src/vm.rs:20
             jobs::page @ src/page.rs:12",
            "<minijinja::Value as core::clone::Clone>::clone \
             in <minijinja::vm::Vm as core::ops::drop::Drop>::drop from jobs::page",
        ),
        // Nothing else is left.
        (
            "regex_automata::meta::strategy::new @ regex-automata-0.4.9/src/meta/strategy.rs:1
             regex_automata::meta::regex::Regex::new @ regex-automata-0.4.9/src/meta/regex.rs:1
             jobs::matches @ src/lib.rs:5",
            "regex_automata::meta::regex::Regex::new from jobs::matches",
        ),
        // A thread without the reader's code.
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1
             ^ thread",
            "want::new, thread of hyper_util",
        ),
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             ^ thread",
            "want::new, thread of want by hyper_util",
        ),
        // Nothing says that it is a thread.
        (
            "want::new @ want-0.3.1/src/lib.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1",
            "want::new",
        ),
        // The workload's closure is inlined into the harness, without debug information.
        (
            "want::new
             hyper_util::client::pool::run
             ^ iteration",
            "want::new in hyper_util::client::pool::run from workload of pages",
        ),
        (
            "want::new
             ^ setup",
            "want::new from setup of pages",
        ),
        ("plimsoll_subject::workload_iteration\n ^ iteration", "- from workload of pages"),
        ("plimsoll_subject::workload_setup\n ^ setup", "- from setup of pages"),
        ("plimsoll_subject::ladder::serve", "-"),
        // What a thread runs is inlined into the standard library.
        ("alloc::sync::Arc::new\n ^ thread", "alloc::sync::Arc::new"),
        ("alloc::sync::Arc::new\n ^ thread without lines", "-"),
        ("want::new\n ^ thread", "want::new, thread of want by hyper_util"),
        // Or it is the reader's, and inlined into what it calls.
        ("want::new\n ^ thread without lines", "want::new"),
        // A program that was stripped of its symbols.
        ("leaks-0123456789abcdef", "-"),
        ("xmlNewNode\n leaks-0123456789abcdef", "xmlNewNode"),
        // What the workload calls may have a loop that runs the rest of the workload.
        (
            "tokio::sync::mpsc::bounded::channel
             tokio::runtime::park::CachedParkThread::block_on
             tokio::runtime::runtime::Runtime::block_on
             ^ iteration",
            "tokio::sync::mpsc::bounded::channel in tokio::runtime::runtime::Runtime::block_on \
             from workload of pages",
        ),
        (
            "tokio::runtime::park::CachedParkThread::block_on
             tokio::runtime::runtime::Runtime::block_on
             ^ iteration",
            "tokio::runtime::runtime::Runtime::block_on from workload of pages",
        ),
        // The standard library's own map, and one that a dependency uses.
        ("hashbrown::map::HashMap::insert\n ^ iteration", "- from workload of pages"),
        (
            "hashbrown::map::HashMap::insert\n want::Pool::put\n ^ iteration",
            "want::Pool::put from workload of pages",
        ),
        // With debug information, a stack that the reader's own code is not on.
        (
            "hashbrown::raw::RawTable::resize @ hashbrown-0.17.1/src/raw.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1
             ^ iteration",
            "hyper_util::client::pool::run from workload of pages",
        ),
        // The thread of a runtime runs tasks of others.
        (
            "tokio::task::spawn::spawn @ tokio-1.54.1/src/task/spawn.rs:1
             hyper_util::client::pool::run @ hyper-util-0.1.21/src/client/pool.rs:1
             tokio::loom::std::unsafe_cell::UnsafeCell::with_mut @ tokio-1.54.1/src/loom/std/unsafe_cell.rs:1
             tokio::runtime::task::core::Core::poll @ tokio-1.54.1/src/runtime/task/core.rs:1
             tokio::task::coop::budget @ tokio-1.54.1/src/task/coop/mod.rs:1
             tokio::runtime::scheduler::multi_thread::worker::run @ tokio-1.54.1/src/runtime/scheduler/multi_thread/worker.rs:1
             <tokio::runtime::blocking::task::BlockingTask as core::future::future::Future>::poll @ tokio-1.54.1/src/runtime/blocking/task.rs:1
             tokio::runtime::blocking::pool::Inner::run @ tokio-1.54.1/src/runtime/blocking/pool.rs:1
             ^ thread",
            "hyper_util::client::pool::run, thread of hyper_util",
        ),
        (
            "tokio::runtime::blocking::pool::Inner::run @ tokio-1.54.1/src/runtime/blocking/pool.rs:1
             ^ thread",
            "tokio::runtime::blocking::pool::Inner::run, thread of tokio",
        ),
        // A test target, and a library that is not named like its package.
        (
            "leaks::pages::{{closure}} @ tests/leaks.rs:9",
            "leaks::pages::{{closure}}",
        ),
        // Without debug information.
        (
            "tokio::task::spawn::spawn\n jobs::start",
            "tokio::task::spawn::spawn from jobs::start",
        ),
        (
            "tokio::task::spawn::spawn\n leaks::spawn::{{closure}}",
            "tokio::task::spawn::spawn from leaks::spawn::{{closure}}",
        ),
        // It may be the reader's, whose thread it is then.
        ("want::new\n other::run", "want::new"),
        // A program in C.
        (
            "g_malloc0\n g_hash_table_new\n main",
            "g_hash_table_new",
        ),
        ("libcrypto.so.3", "libcrypto.so.3"),
    ] {
        let blame = of(lines, &packages).unwrap();
        assert_eq!(said(&blame), expected, "{lines}");
    }
    assert_eq!(of("", &packages), None);
}

#[test]
fn without_a_lockfile_paths_decide() {
    let lines = "lru::LruCache::put @ lru-0.6.3/src/lib.rs:1
                 case::{{closure}} @ leaky/../src/lib.rs:15";
    for text in ["", "[[package]", "package = 1", "[[package]]\nname = 1"] {
        let packages = Packages::of_lockfile(text);
        let blame = of(lines, &packages).unwrap();
        let expected = "lru::LruCache::put from case::{{closure}}";
        assert_eq!(said(&blame), expected, "{text}");
    }
}

/// Which dependency needs a crate is said only if there is no doubt.
#[test]
fn who_needs_the_crate_of_a_thread() {
    let needed = |own: &str, others: &[&str], file: &str| {
        let own = format!("jobs 0.1.0: {own}");
        let all: Vec<&str> = [own.as_str()].iter().chain(others).copied().collect();
        let lines = format!("want::new{file}\n^ thread");
        let blame = of(&lines, &packages(&all)).unwrap();
        assert_eq!(blame.thread_of.as_deref(), Some("want"));
        blame.needed_by
    };
    let one = [
        "hyper 1.0.0: want",
        "axum 0.8.0: hyper",
        "want 0.3.1",
        "plimsoll 0.1.0: want",
    ];
    for (own, expected) in [
        ("hyper", Some("hyper")),
        ("axum, plimsoll", Some("axum")),
        ("axum, hyper", None),
        ("axum, want", None),
        ("plimsoll", None),
    ] {
        assert_eq!(needed(own, &one, "").as_deref(), expected, "{own}");
    }
    let two = [
        "hyper 1.0.0: want 0.3.1",
        "redis 1.0.0: want 0.2.0",
        "want 0.3.1",
        "want 0.2.0",
    ];
    let both = "hyper, redis";
    assert_eq!(needed(both, &two, ""), None);
    let found = needed(both, &two, " @ want-0.2.0/src/lib.rs:1");
    assert_eq!(found.as_deref(), Some("redis"));
}

/// A folder of the workspace may have a version in its name, and an old release of a package
/// may be compared with the package itself.
#[test]
fn a_versioned_folder_is_the_readers_if_no_registry_has_the_package() {
    let own = "[[package]]\nname = \"lru\"\n";
    let both = own.to_owned() + "[[package]]\nname = \"lru\"\nsource = \"registry+x\"\n";
    let lines = "lru::put @ lru-0.6.3/src/lib.rs:1\n leaks::run @ tests/leaks.rs:2";
    for (lock, expected) in [(own, "lru::put"), (&both, "lru::put from leaks::run")] {
        let blame = of(lines, &Packages::of_lockfile(lock)).unwrap();
        assert_eq!(said(&blame), expected, "{lock}");
    }
}

#[test]
fn stacks_of_one_site_share_what_is_equal() {
    let packages = packages(LOCK);
    let blame = |lines: &str| of(lines, &packages).unwrap();
    let spawn = "tokio::task::spawn::spawn @ tokio-1.54.1/src/task/spawn.rs:1\n";
    let one = blame(&format!("{spawn}jobs::start @ src/jobs.rs:41"));
    let other = blame(&format!("{spawn}jobs::stop @ src/jobs.rs:60"));
    let common = |blames: &[&Blame]| {
        let common = Blame::common(blames.iter().copied().cloned());
        common.as_ref().map(said)
    };
    let at = "tokio::task::spawn::spawn";
    assert_eq!(
        common(&[&one, &one]),
        Some(format!("{at} from jobs::start"))
    );
    assert_eq!(common(&[&one, &other, &one]), Some(at.to_owned()));
    assert_eq!(common(&[&one, &blame("jobs::start")]), None);
    assert_eq!(common(&[]), None);
}

#[test]
fn plumbing_by_whole_names() {
    for function in [
        "tokio::runtime::task::core::Cell::new",
        "<tokio::runtime::task::core::Cell as core::clone::Clone>::clone",
        "<&mut hashbrown::raw::RawTable as core::iter::Extend>::extend",
        "sqlite3MallocZero",
        // Methods that are inlined, and have no type.
        "tokio::runtime::runtime::block_on_inner",
        "bytes::bytes_mut::reserve_inner",
    ] {
        assert!(is_plumbing(function), "{function}");
    }
    for function in [
        "tokio::runtime::tasks::new",
        "tokio::runtime::runtime::block_on_other",
        "bytes::bytes_mut::reserve",
        "my::hashbrown::raw::insert",
        "tokio::runtime::io::registration_set::RegistrationSet::allocate",
        "jobs::sqlite3Malloc",
        "sqlite3_prepare_v2",
    ] {
        assert!(!is_plumbing(function), "{function}");
    }
}

/// The frames are those of the leaks of the zoo, and of others in current releases, without
/// those beyond the reader's own nearest to the allocation.
#[test]
fn measured_stacks() {
    let said = |block: &str| {
        let stack = block.lines().filter(|line| !line.starts_with(['#', '=']));
        let stack = stack.collect::<Vec<_>>().join("\n");
        of(&stack, &Packages::default()).map(|blame| said(&blame))
    };
    let blocks = include_str!("tests/stacks.txt").split("\n\n");
    let mut wrong = Vec::new();
    for block in blocks {
        let name = block.lines().next().unwrap_or_default();
        let expected = block.lines().find_map(|line| line.strip_prefix("= "));
        let found = said(block).unwrap_or_default();
        if expected != Some(&*found) {
            wrong.push(format!("{name}\n= {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
