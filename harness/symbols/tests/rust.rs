//! A Rust program, built in the ways that projects build theirs.

mod support;

use support::{Bench, summary};

const LEGACY: &[&str] = &["-Zunstable-options", "-Csymbol-mangling-version=legacy"];
const V0: &[&str] = &["-Csymbol-mangling-version=v0"];

/// All labels' frames, then the summary.
#[track_caller]
fn resolved(flags: &[&[&str]]) -> String {
    let bench = Bench::new();
    let process = bench.start(&bench.rustc(&flags.concat()));
    let table = process.symbolize();
    let mut text = String::new();
    for label in ["fill", "in_closure", "plain_name"] {
        text.push_str(&format!("# {label}\n{}", process.shown(&table, label)));
    }
    text + &summary(&table)
}

#[test]
fn full_debug_v0() {
    assert_eq!(
        resolved(&[&["-Cdebuginfo=2"], V0]),
        "\
# fill
program::call program.rs:25
<program::store::Cache<u8>>::put program.rs:17
program::fill program.rs:31
# in_closure
program::call program.rs:25
program::in_closure::{closure#0} program.rs:42
program::with::<program::in_closure::{closure#0}> program.rs:37
program::in_closure program.rs:42
# plain_name
plain_name program.rs:49
without debug info 0, unresolved 0
"
    );
}

#[test]
fn full_debug_legacy() {
    assert_eq!(
        resolved(&[&["-Cdebuginfo=2"], LEGACY]),
        "\
# fill
program::call program.rs:25
program::store::Cache<T>::put program.rs:17
program::fill program.rs:31
# in_closure
program::call program.rs:25
program::in_closure::{{closure}} program.rs:42
program::with program.rs:37
program::in_closure program.rs:42
# plain_name
plain_name program.rs:49
without debug info 0, unresolved 0
"
    );
}

/// DWARF has bare names; the physical function's path is the symbol table's.
#[test]
fn line_tables_only() {
    for mangling in [V0, LEGACY] {
        assert_eq!(
            resolved(&[&["-Cdebuginfo=line-tables-only"], mangling]),
            "\
# fill
call program.rs:25
put<u8> program.rs:17
program::fill program.rs:31
# in_closure
call program.rs:25
{closure#0} program.rs:42
with<program::in_closure::{closure_env#0}> program.rs:37
program::in_closure program.rs:42
# plain_name
plain_name program.rs:49
without debug info 0, unresolved 0
"
        );
    }
}

const PHYSICAL: &str = "\
# fill
program::fill
# in_closure
program::in_closure
# plain_name
plain_name
without debug info 3, unresolved 0
";

/// The standard library brings its own, which is no reason to be silent.
#[test]
fn without_debug_info() {
    for mangling in [V0, LEGACY] {
        let note = "program has no debug information but the standard library's: \
                    names from its symbol table\n";
        assert_eq!(
            resolved(&[&["-Cdebuginfo=0", "-Cstrip=none"], mangling]),
            format!("{PHYSICAL}{note}")
        );
    }
}

#[test]
fn debug_info_stripped() {
    for mangling in [V0, LEGACY] {
        assert_eq!(
            resolved(&[&["-Cdebuginfo=2", "-Cstrip=debuginfo"], mangling]),
            format!("{PHYSICAL}program has no debug information: names from its symbol table\n")
        );
    }
}

#[test]
fn everything_stripped() {
    let bench = Bench::new();
    let process = bench.start(&bench.rustc(&["-Cdebuginfo=2", "-Cstrip=symbols"]));
    let table = process.symbolize();
    let start = process.start_of("program");
    for (label, address) in &process.addresses {
        let relative = address.0 - start;
        assert_eq!(
            process.shown(&table, label),
            format!("program+{relative:#x}\n")
        );
    }
    assert_eq!(
        summary(&table),
        "without debug info 0, unresolved 3\n\
         program has no debug information: these addresses have no names\n"
    );
}
