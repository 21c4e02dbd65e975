//! `plimsoll config`: the real binary over projects with settings, the schema over files,
//! and the docs over the table of settings.

mod project;

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use jsonschema::Validator;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::BuilderSetting;
use plimsoll_core::settings::{Fallback, KEYS, Key, Layer};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use project::{Project, Ran, report};

const SCHEMA: &str = include_str!("../../core/schema/plimsoll-toml-v1.schema.json");

/// With these variables, and with no other that would set something.
fn config(project: &Project, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let names: Vec<String> = KEYS.iter().map(Key::variable).collect();
    let mut all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    all.extend(variables);
    let args: Vec<&str> = ["config"].iter().chain(args).copied().collect();
    project.plimsoll_with(&args, &all)
}

fn with_two_files() -> Project {
    let project = Project::new();
    project.write(
        "plimsoll.toml",
        "# ours\nbudget = \"20s\"\nstale = \"deny\"\n",
    );
    project.write(
        "other/plimsoll.toml",
        "budget = \"5s\"\n\nthreshold = 10_000\n",
    );
    project
}

#[test]
fn each_setting_with_where_it_is_from() {
    let project = with_two_files();
    let variables = [("PLIMSOLL_THRESHOLD", "5_00"), ("PLIMSOLL_KEEP_RUNGS", "1")];
    let shown = config(&project, &["show", "--package", "other"], &variables);
    assert_snapshot!(shown, @r#"
    # settings of the package other
    #   other/plimsoll.toml  the package's
    #   plimsoll.toml        the workspace's

    budget = "5s"      # other/plimsoll.toml:1, before plimsoll.toml:2
    threshold = 500    # PLIMSOLL_THRESHOLD, before other/plimsoll.toml:3
    stale = "deny"     # plimsoll.toml:3
    keep-rungs = true  # PLIMSOLL_KEEP_RUNGS

    # what a scenario's own builder sets goes before the files, and after variables;
    # after a run it is shown here:
    #   budget, max-iterations, threshold, settle,
    #   timeout, inconclusive, sample-interval
    --- 0
    "#);
}

#[test]
fn all_settings_with_their_defaults() {
    let shown = config(&with_two_files(), &["show", "--effective"], &[]);
    assert_snapshot!(shown, @r#"
    # settings of the package demo
    #   plimsoll.toml  the workspace's

    budget = "20s"          # plimsoll.toml:2
    # max-iterations        # default: none
    # threshold             # default: 1,000, coarser for slow iterations
    settle = "100ms"        # default
    # timeout               # default: 60s and three budgets
    inconclusive = "fail"   # default
    # memory-limit          # default: 2GiB, or memory / cores / 2 if that is less
    stale = "deny"          # plimsoll.toml:3
    require-reason = false  # default
    keep-rungs = false      # default
    spend-budget = false    # default
    # sample-interval       # default: 1, or what time and memory allow
    unwinder = "plimsoll"   # default

    # what a scenario's own builder sets goes before the files, and after variables;
    # after a run it is shown here:
    #   budget, max-iterations, threshold, settle,
    #   timeout, inconclusive, sample-interval
    --- 0
    "#);
    // What is shown can be taken for a file.
    let layer = Layer::parse(shown.stdout.as_bytes()).unwrap();
    assert_eq!(
        layer.settings.budget,
        Some(std::time::Duration::from_secs(20))
    );
    assert_eq!(layer.settings.threshold, None);
}

#[test]
fn what_builders_set() {
    let project = with_two_files();
    project.leave(&report("r1", "http::echo", Verdict::Within), 0);
    let variables = [("PLIMSOLL_THRESHOLD", "500")];
    let nothing = config(&project, &["show"], &variables);
    assert!(
        nothing
            .stdout
            .ends_with("\n# no scenario's own builder sets anything, as of their last run\n"),
        "{nothing}"
    );
    let mut churn = report("r1", "lru_churn", Verdict::Within);
    let set = |(key, value): (&str, &str)| BuilderSetting {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    churn.builder = [
        ("budget", "20s"),
        ("threshold", "100"),
        ("later", "a\u{1b}"),
    ]
    .map(set)
    .to_vec();
    project.leave(&churn, 0);
    assert_snapshot!(config(&project, &["show"], &variables), @r#"
    # settings of the package demo
    #   plimsoll.toml  the workspace's

    budget = "20s"   # plimsoll.toml:2
    threshold = 500  # PLIMSOLL_THRESHOLD
    stale = "deny"   # plimsoll.toml:3

    # scenarios' own builders, as of their last run, go before the files, and after
    # variables:
    #   lru_churn (test target leaks)
    #     budget = "20s"
    #     threshold = 100  # not used: PLIMSOLL_THRESHOLD goes before
    #     later = "a\u001b"
    --- 0
    "#);
    let shown = config(&project, &["show", "--json"], &variables);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        shown["builders"],
        json!([{
            "test": "leaks",
            "scenario": "lru_churn",
            "settings": { "budget": "20s", "threshold": 100, "later": "a\u{1b}" },
        }])
    );
    // Of another package nothing is known.
    let other = config(&project, &["show", "--package", "other"], &[]);
    assert!(
        other.stdout.contains("after a run it is shown here"),
        "{other}"
    );
}

#[test]
fn nothing_is_set() {
    assert_snapshot!(config(&Project::new(), &["show"], &[]), @"
    # settings of the package demo
    #   no plimsoll.toml

    # nothing is set

    # what a scenario's own builder sets goes before the files, and after variables;
    # after a run it is shown here:
    #   budget, max-iterations, threshold, settle,
    #   timeout, inconclusive, sample-interval
    --- 0
    ");
}

#[test]
fn for_programs() {
    let variables = [("PLIMSOLL_BUDGET", "1s")];
    let args = ["show", "--json", "--manifest-path", "other/Cargo.toml"];
    let ran = config(&with_two_files(), &args, &variables);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let file = |path: &str, line: u64| json!({ "kind": "file", "path": path, "line": line });
    assert_eq!(
        shown,
        json!({
            "version": 1,
            "package": "other",
            "files": [
                { "path": "other/plimsoll.toml", "of": "package" },
                { "path": "plimsoll.toml", "of": "workspace" },
            ],
            "settings": [
                {
                    "key": "budget",
                    "value": "1s",
                    "origin": { "kind": "variable", "name": "PLIMSOLL_BUDGET" },
                    "overridden": [file("other/plimsoll.toml", 1), file("plimsoll.toml", 2)],
                    "default": "10s",
                    "variable": "PLIMSOLL_BUDGET",
                    "builder": ".budget(Duration)",
                },
                {
                    "key": "threshold",
                    "value": 10_000,
                    "origin": file("other/plimsoll.toml", 3),
                    "overridden": [],
                    "default": "1,000, coarser for slow iterations",
                    "variable": "PLIMSOLL_THRESHOLD",
                    "builder": ".threshold(u64)",
                },
                {
                    "key": "stale",
                    "value": "deny",
                    "origin": file("plimsoll.toml", 3),
                    "overridden": [],
                    "default": "warn",
                    "variable": "PLIMSOLL_STALE",
                    "builder": null,
                },
            ],
            "builders": null,
        })
    );
    let all = config(&with_two_files(), &["show", "--json", "--effective"], &[]);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all["settings"].as_array().unwrap().len(), KEYS.len());
    assert_eq!(all["settings"][1]["value"], Value::Null);
    assert_eq!(all["settings"][1]["origin"], json!({ "kind": "default" }));
}

#[test]
fn the_package_is_that_of_the_folder() {
    let project = with_two_files();
    let shown = |folder: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["config", "show"])
            .current_dir(project.path(folder))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(shown("other/src").starts_with("# settings of the package other\n"));
    assert!(shown("src").starts_with("# settings of the package demo\n"));

    // And of the manifest that was named, whichever way there.
    for (manifest, package) in [
        ("other/Cargo.toml", "other"),
        ("other/../other/Cargo.toml", "other"),
        ("other/src/../../src/../Cargo.toml", "demo"),
    ] {
        let ran = config(&project, &["show", "--manifest-path", manifest], &[]);
        let head = format!("# settings of the package {package}\n");
        assert!(ran.stdout.starts_with(&head), "{manifest}: {ran}");
    }

    // In a root that is no package, the workspace's alone.
    project.write("Cargo.toml", "[workspace]\nmembers = [\"other\"]\n");
    let root = shown("");
    assert!(
        root.starts_with("# settings of the workspace\n#   plimsoll.toml"),
        "{root}"
    );
    assert!(!root.contains("other/"), "{root}");
}

#[test]
fn what_cannot_be_read() {
    let project = with_two_files();
    project.write("other/plimsoll.toml", "stale = \"deny\"\nbugdet = \"2s\"\n");
    // The other package has nothing to do with it.
    assert_eq!(config(&project, &["show"], &[]).status, Some(0));
    assert_snapshot!(config(&project, &["show", "-p", "other"], &[]), @"
    --- 5
    error: other/plimsoll.toml:2: `bugdet`: there is no such setting
      hint: `budget`?
    ");
    project.write("plimsoll.toml", "budget = 10\n");
    assert_snapshot!(config(&project, &["show"], &[]), @"
    --- 5
    error: plimsoll.toml:1: `budget`: unexpected value
      expected a time such as `500ms`, `10s` or `2m`
      found `10`
    ");
    project.write("plimsoll.toml", "\"\\u001b[31m\" = 1\n");
    let hostile = config(&project, &["show"], &[]);
    assert!(!hostile.stderr.contains('\u{1b}'), "{hostile}");
    assert_snapshot!(config(&Project::new(), &["show"], &[("PLIMSOLL_STALE", "no\u{1b}")]), @r"
    --- 2
    error: PLIMSOLL_STALE: unexpected value
      expected `warn` or `deny`
      found `no\u{1b}`
    ");
    assert_snapshot!(config(&project, &["show", "-p", "nope"], &[]), @"
    --- 2
    error: `nope` is no package of this workspace
      hint: one of demo, other
    ");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let project = Project::new();
    project.write("baselines/lru_churn.toml", "format = 1\n");
    for command in [["config", "show"], ["baseline", "check"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(command)
            .current_dir(project.path("."))
            .env("PLIMSOLL_STALE", OsStr::from_bytes(b"de\xffny"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "error: PLIMSOLL_STALE: unexpected value\n  expected `warn` or `deny`\n  \
             found bytes that are not UTF-8\n"
        );
    }
}

#[test]
fn the_schema_is_printed() {
    let ran = config(&Project::new(), &["schema"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), SCHEMA));
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// A file as the schema sees it: of what settings can be, TOML and JSON have the same.
fn as_json(file: &str) -> Value {
    let document: toml_edit::DocumentMut = file.parse().unwrap();
    let value = |item: &toml_edit::Item| match item.as_value() {
        Some(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Some(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Some(toml_edit::Value::Boolean(flag)) => (*flag.value()).into(),
        _ => json!([]),
    };
    let settings: Map<String, Value> = document
        .iter()
        .map(|(key, item)| (key.to_owned(), value(item)))
        .collect();
    settings.into()
}

#[test]
fn the_schema_takes_what_is_read_and_refuses_what_is_not() {
    let validator = validator();
    for file in [
        "",
        "budget = \"10s\"\nthreshold = 1_000\nstale = \"deny\"\n",
        "timeout = \"1.5 h\"\nsettle = \"0.5s\"\nmax-iterations = 1\n",
        "memory-limit = \"512MiB\"\nkeep-rungs = true\nspend-budget = false\n",
        "inconclusive = \"warn\"\nunwinder = \"compare\"\nsample-interval = 4096\n",
    ] {
        assert!(Layer::parse(file.as_bytes()).is_ok(), "{file}");
        assert!(validator.is_valid(&as_json(file)), "{file}");
    }
    for file in [
        "bugdet = \"10s\"\n",
        "budget = 10\n",
        "budget = \"10\"\n",
        "budget = \"0s\"\n",
        "budget = \"-1s\"\n",
        "budget = \"1s \"\n",
        "settle = [\"1s\"]\n",
        "memory-limit = \"2gb\"\n",
        "threshold = 0\n",
        "threshold = \"10\"\n",
        "keep-rungs = 1\n",
        "stale = \"fail\"\n",
        "sample-interval = 500\n",
        "[budget]\n",
    ] {
        assert!(Layer::parse(file.as_bytes()).is_err(), "{file}");
        assert!(!validator.is_valid(&as_json(file)), "{file}");
    }
}

#[test]
fn the_docs_have_every_setting() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = fs::read_to_string(page).unwrap();
    let mut table =
        "| key | variable | builder | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for key in &KEYS {
        let builder = key
            .builder
            .map_or(String::new(), |call| format!(" `{call}`"));
        let default = match key.fallback {
            Fallback::Value(value) => format!("`{value}`"),
            Fallback::Words(words) => words.to_owned(),
        };
        table += &format!(
            "| `{}` | `{}` |{builder} | {default} | {} |\n",
            key.name,
            key.variable(),
            key.doc
        );
    }
    assert!(page.contains(&(table.clone() + "\n")), "{table}");
}

#[test]
fn files_in_the_docs_are_read() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = fs::read_to_string(page).unwrap();
    let files: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        Layer::parse(file.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{file}"));
    }
}

proptest! {
    /// What an editor lets pass, a run reads.
    #[test]
    fn what_the_schema_takes_is_read(
        key in 0..KEYS.len(),
        value in "(\"[0-9]{0,3}[.]?[0-9]{0,3} ?(s|ms|min|h|KiB|GB|x)\"|-?[0-9]{1,6}|true|\"warn\"|\"fail\")",
    ) {
        // Leading zeros are no TOML.
        let file = format!("{} = {value}\n", KEYS[key].name);
        if file.parse::<toml_edit::DocumentMut>().is_ok() && validator().is_valid(&as_json(&file)) {
            prop_assert!(Layer::parse(file.as_bytes()).is_ok(), "{}", file);
        }
    }
}
