//! Dumps that jemalloc wrote by itself, at intervals.

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::schema::Schema;
use crate::{file, plimsoll, says};

/// Stacks by their names alone: what they held, dump by dump.
fn folder(dumps: &[(&str, u64)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, leaked) in dumps {
        let text = format!("main;leak {leaked}\nmain;cache 50000\n");
        file(&folder, name, &text);
    }
    folder
}

#[track_caller]
fn compare(folder: &TempDir, arguments: &[&str], status: i32, expected: &[&str]) -> String {
    let mut command = plimsoll(&["compare"]);
    let command = command.current_dir(folder.path()).args(arguments);
    says(command, status, expected).stdout
}

#[test]
fn in_the_order_of_their_numbers() {
    let names: Vec<String> = (8..13).map(|n| format!("node.7.{n}.i{n}.heap")).collect();
    let levels = (8..).map(|n| 1_000_000 * n);
    let dumps: Vec<_> = names.iter().map(String::as_str).zip(levels).collect();
    let folder = folder(&dumps);
    assert_snapshot!(compare(&folder, &["."], 0, &[]), @"
    live bytes over 5 dumps from ./node.7.8.i8.heap to ./node.7.12.i12.heap
    +3.81 MiB in all; of the stacks that gained: 1 keeps growing, 0 perhaps, 0 not

       gained  per dump     law  goes on  stack
    +3.81 MiB  +977 KiB  linear      yes  main;leak
    ");
    compare(&folder, &[".", "--fail-on", "growth > 3MiB"], 1, &[]);
}

#[test]
fn processes_are_not_mixed() {
    let names = ["1.0.i0", "1.1.i1", "2.0.i0", "2.1.i1"].map(|name| format!("a.{name}.heap"));
    let folder = folder(&names.each_ref().map(|name| (name.as_str(), 1)));
    compare(&folder, &["."], 2, &["1 (2), 2 (2)", "--pid"]);
    compare(&folder, &[".", "--pid", "1"], 0, &["too few dumps"]);
}

#[test]
fn what_cannot_be_meant() {
    let folder = folder(&[("a.heap", 1)]);
    for arguments in [
        &["."][..],
        &["a.heap"],
        &["a.heap", "a.heap", "a.heap"],
        &["a.heap", "a.heap", "--pid", "1"],
        &["--series", "a.heap"],
        &["--series", "a.heap", "a.heap", "--alloc-space"],
    ] {
        compare(&folder, arguments, 2, &[]);
    }
}

#[test]
fn a_real_database_that_is_filled() {
    let dumps = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dumps/sqlite");
    let mut command = plimsoll(&["compare", dumps, "--json", "--addresses"]);
    let note = "left out: it was written as the process ended";
    let json = says(&mut command, 0, &[note]).json();
    assert_fits_the_schema(&json);
    assert_eq!(json["dumps"].as_array().unwrap().len(), 5);
    let word = |of: usize, key: &str| json["stacks"][of][key].as_str().unwrap_or("-").to_owned();
    let laws = [0, 1, 2].map(|of| word(of, "law") + " " + &word(of, "goes_on"));
    // Pages of the second table, which came late and goes on to the end; those of the first,
    // which was full by then; and one large buffer: that it came before the others is chance.
    assert_eq!(laws, ["filling perhaps", "filling no", "- no"]);
}

/// What programs are told to expect.
pub(crate) fn assert_fits_the_schema(json: &serde_json::Value) {
    let schema = include_str!("../../../heap/schema/series-v1.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    assert_eq!(Schema::of(&schema).errors(json), [""; 0]);
}
