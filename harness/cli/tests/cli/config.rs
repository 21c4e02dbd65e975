//! `plimsoll config`: the real binary over projects with settings, the schema over files,
//! and the docs over the table of settings.

use std::sync::LazyLock;

use insta::assert_snapshot;
use plimsoll_core::report::BuilderSetting;
use plimsoll_core::settings::{Fallback, KEYS, Layer};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::project::{PLIMSOLL, Project, within};
use crate::schema::Schema;

const DOCS: &str = include_str!("../../../../docs/settings.md");
const SCHEMA: &str = include_str!("../../../core/schema/plimsoll-toml-v1.schema.json");

fn with_two_files() -> Project {
    let project = Project::new();
    let workspace = "# ours\nbudget = \"20s\"\nstale = \"deny\"\n";
    project.write("plimsoll.toml", workspace);
    let package = "budget = \"5s\"\n\nthreshold = 10_000\n";
    project.write("other/plimsoll.toml", package);
    project
}

#[test]
fn each_setting_with_where_it_is_from() {
    let project = with_two_files();
    let variables = "PLIMSOLL_THRESHOLD=5_00 PLIMSOLL_KEEP_RUNGS=1";
    let shown = project.typed(&format!("{variables} config show --package other"));
    assert_snapshot!(shown, @r#"
    # settings of the package other
    #   other/plimsoll.toml  the package's
    #   plimsoll.toml        the workspace's

    budget = "5s"      # other/plimsoll.toml:1, before plimsoll.toml:2
    threshold = 500    # PLIMSOLL_THRESHOLD, before other/plimsoll.toml:3
    stale = "deny"     # plimsoll.toml:3
    keep-rungs = true  # PLIMSOLL_KEEP_RUNGS

    # settings of a scenario's builder override the files, and variables override them;
    # a run shows them here:
    #   budget, max-iterations, threshold, outside,
    #   settle, timeout, inconclusive, sample-interval
    --- 0
    "#);
}

#[test]
fn an_empty_path_of_cargo_is_none() {
    let project = with_two_files();
    let shown = project.typed("CARGO= config show").stdout;
    assert_eq!(shown, project.typed("config show").stdout);
    assert!(shown.contains("budget = \"20s\""), "{shown}");
}

#[test]
fn all_settings_with_their_defaults() {
    let shown = with_two_files().typed("config show --effective");
    let (settings, _) = shown
        .stdout
        .split_once("\n# settings of a scenario")
        .unwrap();
    let lines: Vec<&str> = settings.lines().collect();
    assert_eq!(lines.len(), 3 + KEYS.len());
    assert_snapshot!(lines[..8].join("\n"), @r#"
    # settings of the package demo
    #   plimsoll.toml  the workspace's

    budget = "20s"          # plimsoll.toml:2
    # max-iterations        # default: none
    # threshold             # default: 1,000, coarser for slow iterations
    # outside               # default: 64B, more for short ladders
    settle = "100ms"        # default
    "#);
    // What is shown can be taken for a file.
    let layer = Layer::parse(shown.stdout.as_bytes()).unwrap();
    let budget = std::time::Duration::from_secs(20);
    assert_eq!(layer.settings.budget, Some(budget));
    assert_eq!(layer.settings.threshold, None);
}

#[test]
fn what_builders_set() {
    let project = with_two_files();
    project.leave(&within("r1", "http::echo"), 0);
    let nothing = "\n# in the last run, no scenario's builder set anything\n";
    project.says("config show", 0, &[nothing]);
    let mut churn = within("r1", "lru_churn");
    let set = |key: &str, value: &str| BuilderSetting {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    churn.builder = vec![
        set("budget", "20s"),
        set("threshold", "100"),
        set("later", "a\u{1b}"),
    ];
    project.leave(&churn, 0);
    let show = "PLIMSOLL_THRESHOLD=500 config show";
    assert_snapshot!(project.typed(show), @r#"
    # settings of the package demo
    #   plimsoll.toml  the workspace's

    budget = "20s"   # plimsoll.toml:2
    threshold = 500  # PLIMSOLL_THRESHOLD
    stale = "deny"   # plimsoll.toml:3

    # settings of scenarios' builders in the last run; they override the files, and
    # variables override them:
    #   lru_churn (test target leaks)
    #     budget = "20s"
    #     threshold = 100  # not used: PLIMSOLL_THRESHOLD overrides it
    #     later = "a\u001b"
    --- 0
    "#);
    let shown = project.typed(&format!("{show} --json")).json();
    let settings = json!({ "budget": "20s", "threshold": 100, "later": "a\u{1b}" });
    let builder = json!({ "test": "leaks", "scenario": "lru_churn", "settings": settings });
    assert_eq!(shown["builders"], json!([builder]));
    // Of another package nothing is known.
    project.says("config show --package other", 0, &["a run shows them here"]);
    let head = "# settings of the package demo\n#   no plimsoll.toml\n\n# nothing is set\n\n# settings of a";
    Project::new().typed("config show").has(0, &[head]);
}

#[test]
fn for_programs() {
    let show = |line: &str| with_two_files().ok(line).json();
    let shown = show("PLIMSOLL_BUDGET=1s config show --json --manifest-path other/Cargo.toml");
    assert_eq!(shown["package"], "other");
    let [files, settings] = ["files", "settings"].map(|key| shown[key].as_array().unwrap());
    let lines: Vec<String> = files.iter().chain(settings).map(Value::to_string).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    {"of":"package","path":"other/plimsoll.toml"}
    {"of":"workspace","path":"plimsoll.toml"}
    {"builder":".budget(Duration)","default":"10s","key":"budget","origin":{"kind":"variable","name":"PLIMSOLL_BUDGET"},"overridden":[{"kind":"file","line":1,"path":"other/plimsoll.toml"},{"kind":"file","line":2,"path":"plimsoll.toml"}],"value":"1s","variable":"PLIMSOLL_BUDGET"}
    {"builder":".threshold(u64)","default":"1,000, coarser for slow iterations","key":"threshold","origin":{"kind":"file","line":3,"path":"other/plimsoll.toml"},"overridden":[],"value":10000,"variable":"PLIMSOLL_THRESHOLD"}
    {"builder":null,"default":"warn","key":"stale","origin":{"kind":"file","line":3,"path":"plimsoll.toml"},"overridden":[],"value":"deny","variable":"PLIMSOLL_STALE"}
    "#);
    let all = show("config show --json --effective");
    assert_eq!(all["settings"].as_array().unwrap().len(), KEYS.len());
    assert_eq!(all["settings"][1]["value"], Value::Null);
    assert_eq!(all["settings"][1]["origin"], json!({ "kind": "default" }));
}

#[test]
fn the_package_is_that_of_the_folder() {
    let project = with_two_files();
    // And of the manifest that was named, whichever way there.
    for (folder, options, package) in [
        ("other/src", "", "other"),
        ("src", "", "demo"),
        ("", "--manifest-path other/Cargo.toml", "other"),
        ("", "--manifest-path other/../other/Cargo.toml", "other"),
        ("", "--manifest-path other/../src/../Cargo.toml", "demo"),
    ] {
        let head = format!("# settings of the package {package}\n");
        let shown = project.typed_in(folder, &format!("config show {options}"));
        shown.has(0, &[&head]);
    }

    // In a root that is no package, the workspace's alone.
    project.write("Cargo.toml", "[workspace]\nmembers = [\"other\"]\n");
    let head = ["# settings of the workspace\n#   plimsoll.toml"];
    project.says("config show", 0, &head).lacks(&["other/"]);
}

#[test]
fn what_cannot_be_read() {
    let project = with_two_files();
    let typo = "stale = \"deny\"\nbugdet = \"2s\"\n";
    project.write("other/plimsoll.toml", typo);
    // The other package has nothing to do with it.
    project.ok("config show");
    let says = ["plimsoll.toml:2: `bugdet`: there is no such setting\n  hint: `budget`?\n"];
    project.says("config show -p other", 5, &says);
    let says = ["error: `nope` is no package of this workspace\n  hint: one of demo, other\n"];
    project.says("config show -p nope", 2, &says);
    let says = ["expected `warn` or `deny`\n  found `no\\u{1b}`\n"];
    project.says("PLIMSOLL_STALE=no\u{1b} config show", 2, &says);
    project.write("plimsoll.toml", "\"\\u001b[31m\" = 1\n");
    project
        .says("config show", 5, &["plimsoll.toml:1: "])
        .lacks(&["\u{1b}"]);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let project = Project::new();
    project.write("baselines/lru_churn.toml", "format = 1\n");
    let odd = OsStr::from_bytes(b"de\xffny");
    for line in [["config", "show"], ["baseline", "check"]] {
        let mut command = project.command(PLIMSOLL);
        let output = command.args(line).env("PLIMSOLL_STALE", odd).output();
        let error = "--- 2\nerror: PLIMSOLL_STALE: unexpected value\n  \
             expected `warn` or `deny`\n  found bytes that are not UTF-8\n";
        assert_eq!(project.ran(output.unwrap()).to_string(), error);
    }
}

#[test]
fn the_schema_is_printed() {
    let printed = Project::new().ok("config schema").stdout;
    let hint = "plimsoll config schema > harness/core/schema/plimsoll-toml-v1.schema.json";
    assert!(printed == SCHEMA, "hint: {hint}\n{printed}");
}

/// What the schema has against a file.
fn refused(file: &str) -> Vec<String> {
    static PARSED: LazyLock<Schema> =
        LazyLock::new(|| Schema::of(&serde_json::from_str(SCHEMA).unwrap()));
    // TOML and JSON have the same types for every setting.
    PARSED.errors(&toml::from_str(file).unwrap())
}

#[test]
fn the_schema_takes_what_is_read_and_refuses_what_is_not() {
    let file = "budget = \"10s\"\nthreshold = 1_000\nstale = \"deny\"\ntimeout = \"1.5 h\"\n\
        settle = \"0.5s\"\nmax-iterations = 1\nmemory-limit = \"512MiB\"\nkeep-rungs = true\n\
        inconclusive = \"warn\"\nunwinder = \"compare\"\nsample-interval = 4096\n";
    assert!(Layer::parse(file.as_bytes()).is_ok(), "{file}");
    assert_eq!(refused(file), [""; 0], "{file}");
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
        assert_ne!(refused(file), [""; 0], "{file}");
    }
}

#[test]
fn the_docs_have_every_setting() {
    let mut table =
        "| key | variable | builder | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for key in &KEYS {
        let call = key.builder.map(|call| format!(" `{call}`"));
        let builder = call.unwrap_or_default();
        let default = match key.fallback {
            Fallback::Value(value) => format!("`{value}`"),
            Fallback::Words(words) => words.to_owned(),
        };
        let (name, variable, doc) = (key.name, key.variable(), key.doc);
        table += &format!("| `{name}` | `{variable}` |{builder} | {default} | {doc} |\n");
    }
    assert!(DOCS.contains(&(table.clone() + "\n")), "{table}");
}

#[test]
fn files_in_the_docs_are_read() {
    let blocks = DOCS.split("```toml\n").skip(1);
    let files: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
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
        if toml::from_str::<Value>(&file).is_ok() && refused(&file).is_empty() {
            prop_assert!(Layer::parse(file.as_bytes()).is_ok(), "{}", file);
        }
    }
}
