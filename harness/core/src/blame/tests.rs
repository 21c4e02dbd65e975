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
    let name = |frame: &Option<Frame>| frame.as_ref().map(|frame| frame.function.clone());
    let origin = match &blame.origin {
        Some(Origin::Workload(name)) => Some(format!("workload of {name}")),
        Some(Origin::Setup(name)) => Some(format!("setup of {name}")),
        Some(Origin::Thread) | None => None,
    };
    let parts = [
        ("", name(&blame.at).or(Some("-".to_owned()))),
        (" called by ", name(&blame.by)),
        (" in ", name(&blame.called)),
        (" from ", name(&blame.caller)),
        (" from ", origin),
        (", thread of ", blame.thread_of.clone()),
        (" by ", blame.needed_by.clone()),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(before, name)| Some(before.to_owned() + &name?));
    parts.collect()
}

/// Those of `stacks.txt` are the leaks of the zoo, and of others in current releases, without the
/// frames beyond the reader's own nearest to the allocation.
#[test]
fn places() {
    let (known, none) = (&packages(LOCK).with_own("leaks"), &Packages::default());
    let written = include_str!("tests/places.txt").split("\n\n");
    let measured = include_str!("tests/stacks.txt").split("\n\n");
    let measured = measured.map(|block| (block, none));
    let mut wrong = String::new();
    for (block, packages) in written.map(|block| (block, known)).chain(measured) {
        let (stack, expected) = block.trim_end().rsplit_once("\n= ").unwrap();
        let (name, stack) = stack.split_once('\n').unwrap();
        let found = of(stack, packages).map(|blame| said(&blame));
        if found.as_deref() != Some(expected) {
            wrong += &format!("{name}\n= {}\n", found.unwrap_or_default());
        }
    }
    assert_eq!(wrong, "");
    assert_eq!(of("", known), None);
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
