//! `--format json` against its schema.

use jsonschema::{Registry, Validator};
use plimsoll_core::judge::Verdict;
use serde_json::{Value, json};

use crate::project::{Project, regressed, report};
use crate::{RATE, hostile, left, one_of_each};

const JOINED: &str = include_str!("../../../report/schema/joined-v1.schema.json");
const REPORT: &str = include_str!("../../../core/schema/report-v2.schema.json");
const REPORT_1: &str = include_str!("../../../core/schema/report-v1.schema.json");

/// With each schema where it stands in the sources: one refers to the other.
fn with_validator<T>(with: impl FnOnce(&Validator) -> T) -> T {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let registry = Registry::new()
        .add("file:///core/schema/report-v2.schema.json", parse(REPORT))
        .unwrap()
        .add("file:///core/schema/report-v1.schema.json", parse(REPORT_1))
        .unwrap();
    let registry = registry.prepare().unwrap();
    let schema = parse(JOINED);
    let options = jsonschema::options()
        .with_registry(&registry)
        .with_base_uri("file:///report/schema/joined-v1.schema.json");
    with(&options.build(&schema).unwrap())
}

fn errors(value: &Value) -> Vec<String> {
    with_validator(|validator| {
        let errors = validator.iter_errors(value);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    })
}

fn written(project: &Project) -> Value {
    let ran = project.plimsoll(&["report", "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn what_is_written_is_valid() {
    for reports in [
        one_of_each(),
        vec![hostile()],
        vec![report("r1", "lru_churn", Verdict::Within)],
    ] {
        let joined = written(&left(&reports));
        assert_eq!(errors(&joined), [""; 0]);
    }
}

/// A joined file that an older plimsoll wrote.
#[test]
fn reports_of_format_1_are_valid() {
    let project = left(&[regressed("r1", "lru_churn", "main fill put", RATE)]);
    let mut joined = written(&project);
    let report = &mut joined["scenarios"][0]["report"];
    report["version"] = json!(1);
    let finding = report["findings"][0].as_object_mut().unwrap();
    finding.retain(|key, _| !["objects_law", "bytes_law", "survivors"].contains(&key.as_str()));
    assert_eq!(errors(&joined), [""; 0]);
    project.write("joined.json", &joined.to_string());
    let ran = project.plimsoll(&["report", "joined.json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_is_cut_is_valid() {
    let long = "x".repeat(4_000);
    let mut one = regressed("r1", "lru_churn", &format!("main {long}"), RATE);
    one.notes = vec![long; 900];
    one.findings[0].rate.bytes = f64::INFINITY;
    let joined = written(&left(&[one]));
    assert_eq!(errors(&joined), [""; 0]);
    let report = &joined["scenarios"][0]["report"];
    assert_eq!(
        report["findings"][0]["frames"][0]["function"],
        "x".repeat(512)
    );
    let notes = report["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 100);
    assert_eq!(notes[99], "too long for a report, left out: notes");
}

#[test]
fn the_schema_is_as_strict_as_the_parser() {
    let project = left(&one_of_each());
    let whole = written(&project);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = whole.clone();
        change(&mut file);
        project.write("joined.json", &file.to_string());
        let ran = project.plimsoll(&["report", "joined.json"]);
        assert_eq!(ran.status, Some(5), "{ran}");
        assert_ne!(errors(&file), [""; 0], "{file}");
    };
    let last = whole["scenarios"].as_array().unwrap().len() - 1;
    refused(&|file| file["version"] = json!(2));
    refused(&|file| file["more"] = json!(1));
    refused(&|file| file["scenarios"][0]["more"] = json!(1));
    refused(&|file| file["scenarios"][0]["report"]["more"] = json!(1));
    refused(&|file| drop(file.as_object_mut().unwrap().remove("source")));
    refused(&|file| file["verdict"] = json!("fine"));
    refused(&|file| file["scenarios"][0]["verdict"] = json!("no result"));
    refused(&|file| file["scenarios"][last]["verdict"] = json!("within"));
    refused(&|file| file["scenarios"][last]["problem"] = json!(null));
    refused(&|file| file["scenarios"][0]["package"] = json!("p".repeat(513)));
    refused(&|file| file["runs"][0] = json!("r".repeat(513)));
    refused(&|file| file["scenarios"] = json!(vec![file["scenarios"][last].clone(); 1_001]));
    refused(&|file| file["scenarios"][0]["report"]["run"]["scenarios"] = json!(["a"]));
    refused(&|file| file["scenarios"][1]["report"]["findings"][0]["rate"]["bytes"] = json!(1e17));
    refused(&|file| file["scenarios"][1]["report"]["notes"] = json!(vec!["n"; 101]));
    refused(&|file| {
        file["scenarios"][1]["report"]["findings"][0]["frames"][0]["function"] =
            json!("f".repeat(513));
    });
}
