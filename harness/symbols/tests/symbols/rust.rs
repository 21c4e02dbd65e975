//! A Rust program, built in the ways that projects build theirs.

use crate::support::Bench;
use plimsoll_symbols::Options;

const LEGACY: &[&str] = &["-Zunstable-options", "-Csymbol-mangling-version=legacy"];
const V0: &[&str] = &["-Csymbol-mangling-version=v0"];

/// All labels' frames, then the summary.
#[track_caller]
fn resolved(flags: &[&[&str]]) -> String {
    let bench = Bench::new();
    let process = bench.start(&bench.rustc(&flags.concat()));
    process.resolved(&Options::default(), &["fill", "in_closure", "plain_name"])
}

const FULL: [&str; 9] = [
    "program::call program.rs:25",
    "<program::store::Cache<u8>>::put program.rs:17",
    "program::fill program.rs:31",
    "program::call program.rs:25",
    "program::in_closure::{closure#0} program.rs:42",
    "program::with::<program::in_closure::{closure#0}> program.rs:37",
    "program::in_closure program.rs:42",
    "plain_name program.rs:49",
    "without debug info 0, unresolved 0\n",
];

#[test]
fn full_debug_info() {
    assert_eq!(resolved(&[&["-Cdebuginfo=2"], V0]), FULL.join("\n"));
    let mut legacy = FULL;
    legacy[1] = "program::store::Cache<T>::put program.rs:17";
    legacy[4] = "program::in_closure::{{closure}} program.rs:42";
    legacy[5] = "program::with program.rs:37";
    assert_eq!(resolved(&[&["-Cdebuginfo=2"], LEGACY]), legacy.join("\n"));
}

/// DWARF has bare names; the physical function's path is the symbol table's.
#[test]
fn line_tables_only() {
    let mut bare = FULL;
    bare[0] = "call program.rs:25";
    bare[1] = "put<u8> program.rs:17";
    bare[3] = "call program.rs:25";
    bare[4] = "{closure#0} program.rs:42";
    bare[5] = "with<program::in_closure::{closure_env#0}> program.rs:37";
    let flags = [&["-Cdebuginfo=line-tables-only"], LEGACY];
    assert_eq!(resolved(&flags), bare.join("\n"));
}

/// The standard library brings its own, which is no reason to be silent.
#[test]
fn without_debug_info() {
    let (none, stripped) = (
        ["-Cdebuginfo=0", "-Cstrip=none"],
        ["-Cdebuginfo=2", "-Cstrip=debuginfo"],
    );
    for (flags, mangling, what) in [
        (none, V0, " but the standard library's"),
        (stripped, LEGACY, ""),
    ] {
        let expected = format!(
            "program::fill\nprogram::in_closure\nplain_name\n\
             without debug info 3, unresolved 0\n\
             program has no debug information{what}: names from its symbol table\n"
        );
        assert_eq!(resolved(&[&flags, mangling]), expected);
    }
}
