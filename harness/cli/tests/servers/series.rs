//! Dumps that jemalloc wrote by itself, at intervals.

use std::fs;

use insta::assert_snapshot;

use crate::{plimsoll, recorded, said};

/// Stacks by their names alone: what they held, dump by dump.
fn folder(dumps: &[(&str, u64)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, leaked) in dumps {
        let text = format!("main;leak {leaked}\nmain;cache 50000\n");
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn compare(folder: &tempfile::TempDir, arguments: &[&str]) -> (String, i32) {
    let mut command = plimsoll(&["compare"]);
    command.current_dir(folder.path()).args(arguments);
    said(&mut command)
}

#[test]
fn in_the_order_of_their_numbers() {
    let names: Vec<String> = (8..13).map(|n| format!("node.7.{n}.i{n}.heap")).collect();
    let dumps: Vec<(&str, u64)> = names
        .iter()
        .zip(8..)
        .map(|(name, n)| (name.as_str(), 1_000_000 * n))
        .collect();
    let folder = folder(&dumps);
    assert_snapshot!(compare(&folder, &["."]).0, @"
    live bytes over 5 dumps from ./node.7.8.i8.heap to ./node.7.12.i12.heap
    +3.81 MiB in all; of the stacks that gained: 1 keeps growing, 0 perhaps, 0 not

       gained  per dump     law  goes on  stack
    +3.81 MiB  +977 KiB  linear      yes  main;leak
    ");
    // As a shell lists them.
    let mut sorted = names.clone();
    sorted.sort();
    let mut arguments = vec!["--series"];
    arguments.extend(sorted.iter().map(String::as_str));
    let (text, status) = compare(&folder, &arguments);
    assert!(text.contains("linear      yes  main;leak"), "{text}");
    assert_eq!(status, 0);
    arguments.extend(["--fail-on", "growth > 3MiB"]);
    assert_eq!(compare(&folder, &arguments).1, 1);
}

#[test]
fn processes_are_not_mixed() {
    let folder = folder(&[
        ("a.1.0.i0.heap", 1),
        ("a.1.1.i1.heap", 2),
        ("a.2.0.i0.heap", 3),
        ("a.2.1.i1.heap", 4),
    ]);
    let (text, status) = compare(&folder, &["."]);
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("1 (2), 2 (2)") && text.contains("--pid"),
        "{text}"
    );
    let (text, status) = compare(&folder, &[".", "--pid", "1"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("too few dumps"), "{text}");
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
        let (text, status) = compare(&folder, arguments);
        assert_eq!(status, 2, "{arguments:?}: {text}");
    }
}

#[test]
fn a_real_database_that_is_filled() {
    let dumps = recorded("sqlite");
    let dumps = dumps.to_str().unwrap();
    let (text, status) = said(&mut plimsoll(&["compare", dumps, "--json", "--addresses"]));
    assert_eq!(status, 0, "{text}");
    assert!(
        text.contains("left out: it was written as the process ended"),
        "{text}"
    );
    let json = text
        .split_once('{')
        .map(|(_, json)| format!("{{{json}"))
        .unwrap();
    let end = json.rfind('}').unwrap();
    let json: serde_json::Value = serde_json::from_str(&json[..=end]).unwrap();
    assert_fits_the_schema(&json);
    assert_eq!(json["dumps"].as_array().unwrap().len(), 5);
    let laws: Vec<(&str, &str)> = json["stacks"].as_array().unwrap()[..3]
        .iter()
        .map(|stack| {
            let word = |key: &str| stack[key].as_str().unwrap_or("-");
            (word("law"), word("goes_on"))
        })
        .collect();
    assert_eq!(
        laws,
        [
            // Pages of the second table, which came late and goes on to the end.
            ("filling", "perhaps"),
            // Those of the first, which was full by then.
            ("filling", "no"),
            // One large buffer: that it came before the others is chance.
            ("-", "no"),
        ]
    );
}

/// What programs are told to expect.
pub(crate) fn assert_fits_the_schema(json: &serde_json::Value) {
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../heap/schema/series-v1.schema.json"
    );
    let schema = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let errors = schema.iter_errors(json).map(|err| err.to_string());
    let errors: Vec<String> = errors.collect();
    assert!(errors.is_empty(), "{errors:?}");
}
