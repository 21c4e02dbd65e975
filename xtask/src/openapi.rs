//! Extracts from GitHub's description of its REST API what the pull request bot uses.
//!
//! ```text
//! api.github.com.json of npm's @octokit/openapi   13 MB
//!   ── the bot's operations, and the components they reach
//!   ── without prose, examples and `x-` extensions
//! harness/cli/tests/github/description.json       what the tests' server holds
//!                                                 requests and answers against
//! ```
//!
//! The extract depends only on its input: keys are sorted, and no date or path is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Map, Serializer, Value, json};

/// The operations that the bot calls. A request outside this list fails the bot's tests.
const OPERATIONS: [(&str, &str); 21] = [
    ("get", "/actions/artifacts"),
    ("get", "/actions/artifacts/{artifact_id}/{archive_format}"),
    ("get", "/actions/runs/{run_id}"),
    ("get", "/actions/runs/{run_id}/artifacts"),
    ("post", "/check-runs"),
    ("patch", "/check-runs/{check_run_id}"),
    ("get", "/commits/{ref}/check-runs"),
    ("post", "/git/blobs"),
    ("post", "/git/commits"),
    ("get", "/git/matching-refs/{ref}"),
    ("post", "/git/refs"),
    ("patch", "/git/refs/{ref}"),
    ("delete", "/git/refs/{ref}"),
    ("post", "/git/trees"),
    ("patch", "/issues/comments/{comment_id}"),
    ("delete", "/issues/comments/{comment_id}"),
    ("get", "/issues/{issue_number}/comments"),
    ("post", "/issues/{issue_number}/comments"),
    ("get", "/pulls"),
    ("get", "/pulls/{pull_number}"),
    ("get", "/pulls/{pull_number}/files"),
];

/// The beginning of every path above.
const REPOSITORY: &str = "/repos/{owner}/{repo}";

/// Keys whose values are texts for people. No validation reads them.
const PROSE: [&str; 8] = [
    "description",
    "example",
    "examples",
    "externalDocs",
    "operationId",
    "summary",
    "tags",
    "title",
];

/// Keys of maps whose own keys are names and not keywords: a comment's schema, for example,
/// has a property called `title`.
const NAMES: [&str; 7] = [
    "content",
    "headers",
    "parameters",
    "paths",
    "properties",
    "responses",
    "schemas",
];

/// Cuts GitHub's OpenAPI description to what the tests of the bot need
///
/// FILE is generated/api.github.com.json of the npm package @octokit/openapi.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// GitHub's description, not dereferenced
    file: PathBuf,

    /// Writes nothing, and fails where the committed extract differs
    #[arg(long)]
    check: bool,
}

/// Returns `false` if `--check` finds a difference.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let text = fs::read(&args.file).with_context(|| format!("reading {}", args.file.display()))?;
    let description: Value = serde_json::from_slice(&text)
        .with_context(|| format!("{}: not JSON", args.file.display()))?;
    let cut = extract(&description).with_context(|| args.file.display().to_string())?;
    let bytes = print(&cut)?;

    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/cli/tests/github/description.json");
    if !args.check {
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        return Ok(true);
    }
    let committed = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    if committed != bytes {
        let _ = writeln!(
            io::stderr(),
            "error: the committed description.json is not what {} gives\n  \
             hint: `cargo xtask openapi FILE` writes it; `git diff` shows what changes",
            args.file.display()
        );
        return Ok(false);
    }
    Ok(true)
}

/// Returns the operations, and every component that they reach.
fn extract(description: &Value) -> anyhow::Result<Value> {
    let version = description["info"]["version"]
        .as_str()
        .context("no info.version: expected the description that @octokit/openapi publishes")?;

    let mut paths = Map::new();
    let mut wanted = BTreeSet::new();
    for (method, rest) in OPERATIONS {
        let path = format!("{REPOSITORY}{rest}");
        let operation = &description["paths"][&path][method];
        if !operation.is_object() {
            bail!("no operation {method} {path}: expected it, since the bot calls it");
        }
        let operation = strip(operation, false);
        references(&operation, &mut wanted);
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        operations[method] = operation;
    }

    let mut components = json!({});
    let mut done = BTreeSet::new();
    while let Some(reference) = wanted.pop_first() {
        if !done.insert(reference.clone()) {
            continue;
        }
        let found = reference.strip_prefix("#/components/").and_then(|rest| {
            let (kind, name) = rest.split_once('/')?;
            Some((kind, name, description["components"][kind].get(name)?))
        });
        let Some((kind, name, component)) = found else {
            bail!("{reference}: expected a component of the description");
        };
        let component = strip(component, false);
        references(&component, &mut wanted);
        components[kind][name] = component;
    }

    Ok(sorted(&json!({
        "$source": {
            "package": "@octokit/openapi",
            "version": version,
            "file": "generated/api.github.com.json",
            "changes": "the operations that plimsoll's bot uses and the components they reach, \
                        without prose, examples and extensions",
            "made by": "cargo xtask openapi FILE",
            "licence": "MIT, see description-LICENSE beside this file",
        },
        "openapi": description["openapi"],
        "paths": paths,
        "components": components,
    })))
}

/// Returns the value without texts for people. `names` says that the keys of this map are not
/// keywords.
fn strip(value: &Value, names: bool) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| names || !(PROSE.contains(&key.as_str()) || key.starts_with("x-")))
            .map(|(key, value)| {
                let names = !names && NAMES.contains(&key.as_str());
                (key.clone(), strip(value, names))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| strip(item, false)).collect(),
        other => other.clone(),
    }
}

fn references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                into.insert(reference.clone());
            }
            map.values().for_each(|value| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

/// Sorts the keys of all maps, whatever kind of map serde_json was built with.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries: BTreeMap<_, _> = map.iter().collect();
            let sorted = |(key, value): (&String, &Value)| (key.clone(), sorted(value));
            entries.into_iter().map(sorted).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Prints one value on each line, so that the diff to a newer description can be read.
fn print(value: &Value) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    value.serialize(&mut serializer)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a description in which every operation answers with a reference to `a`.
    fn description() -> Value {
        let mut paths = json!({});
        for (method, rest) in OPERATIONS {
            paths[format!("{REPOSITORY}{rest}")][method] = json!({
                "summary": "prose",
                "responses": {"200": {"$ref": "#/components/responses/a"}},
            });
        }
        paths["/other"]["get"] = json!({"responses": {}});
        json!({
            "openapi": "3.0.3",
            "info": {"version": "1.2.3"},
            "paths": paths,
            "components": {
                "responses": {
                    "a": {"description": "prose", "schema": {"$ref": "#/components/schemas/b"}},
                },
                "schemas": {
                    "b": {
                        "x-extension": 1,
                        "title": "prose",
                        "properties": {
                            "title": {"type": "string", "example": "prose"},
                            "next": {"$ref": "#/components/schemas/b"},
                        },
                    },
                    "unreached": {},
                },
            },
        })
    }

    #[test]
    fn only_what_is_reached_and_without_prose() {
        let cut = extract(&description()).unwrap();
        insta::assert_snapshot!(cut["components"], @r##"{"responses":{"a":{"schema":{"$ref":"#/components/schemas/b"}}},"schemas":{"b":{"properties":{"next":{"$ref":"#/components/schemas/b"},"title":{"type":"string"}}}}}"##);
        assert_eq!(cut["$source"]["version"], "1.2.3");
        assert!(cut["paths"].get("/other").is_none());
        let printed = String::from_utf8(print(&cut).unwrap()).unwrap();
        assert!(!printed.contains("\"prose\""));
    }

    #[test]
    fn the_order_of_the_input_does_not_show() {
        let mut turned = description();
        let paths = turned["paths"].as_object().unwrap().clone();
        let paths: Map<String, Value> = paths.into_iter().rev().collect();
        turned["paths"] = Value::Object(paths);
        let (turned, straight) = (extract(&turned).unwrap(), extract(&description()).unwrap());
        assert_eq!(print(&turned).unwrap(), print(&straight).unwrap());
    }

    #[test]
    fn an_operation_that_is_gone_is_named() {
        let mut without = description();
        without["paths"][format!("{REPOSITORY}/pulls")] = json!({});
        let err = extract(&without).unwrap_err();
        insta::assert_snapshot!(err, @"no operation get /repos/{owner}/{repo}/pulls: expected it, since the bot calls it");
    }

    #[test]
    fn a_reference_to_nothing_is_named() {
        let mut without = description();
        without["components"]["schemas"] = json!({});
        let err = extract(&without).unwrap_err();
        insta::assert_snapshot!(err, @"#/components/schemas/b: expected a component of the description");
    }
}
