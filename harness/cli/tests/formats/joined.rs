//! `--format json` against its schema.

use serde_json::{Value, json};

use crate::project::{Project, RATE, regressed, within};
use crate::schema::Schema;
use crate::{hostile, one_of_each, written};

const JOINED: &str = include_str!("../../../report/schema/joined-v1.schema.json");
const REPORT: &str = include_str!("../../../core/schema/report-v2.schema.json");
const REPORT_1: &str = include_str!("../../../core/schema/report-v1.schema.json");

/// With each schema where it stands in the sources: one refers to the others.
fn schema() -> Value {
    let of = |id: &str, text: &str| {
        let mut schema: Value = serde_json::from_str(text).unwrap();
        schema["$id"] = format!("file:///{id}.schema.json").into();
        schema
    };
    let mut joined = of("report/schema/joined-v1", JOINED);
    joined["$defs"]["v1"] = of("core/schema/report-v1", REPORT_1);
    joined["$defs"]["v2"] = of("core/schema/report-v2", REPORT);
    joined
}

fn errors(value: &Value) -> Vec<String> {
    Schema::of(&schema()).errors(value)
}

/// What is written of a project, valid.
#[track_caller]
fn joined(project: &Project) -> Value {
    let joined = serde_json::from_str(&written(project, "json", &[])).unwrap();
    assert_eq!(errors(&joined), [""; 0]);
    joined
}

#[test]
fn what_is_written_is_valid() {
    joined(&Project::with(&one_of_each()));
    joined(&Project::with(&[hostile()]));
    joined(&Project::with(&[within("r1", "lru_churn")]));
}

/// A joined file that an older plimsoll wrote.
#[test]
fn reports_of_format_1_are_valid() {
    let project = Project::with(&[regressed("r1", "lru_churn", "main fill put", RATE)]);
    let mut joined = joined(&project);
    let report = &mut joined["scenarios"][0]["report"];
    report["version"] = json!(1);
    let finding = report["findings"][0].as_object_mut().unwrap();
    finding.retain(|key, _| !["objects_law", "bytes_law", "survivors"].contains(&key.as_str()));
    assert_eq!(errors(&joined), [""; 0]);
    project.write("joined.json", &joined.to_string());
    written(&project, "text", &["joined.json"]);
}

#[test]
fn the_schema_is_as_strict_as_the_parser() {
    let project = Project::with(&one_of_each());
    let whole = joined(&project);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = whole.clone();
        change(&mut file);
        project.write("joined.json", &file.to_string());
        let ran = project.plimsoll(&["report", "joined.json"]);
        assert_eq!(ran.status, Some(5), "{ran}");
        assert_ne!(errors(&file), [""; 0], "{file}");
    };
    let lost = whole["scenarios"][7].clone();
    let function = "/scenarios/1/report/findings/0/frames/0/function";
    for (place, value) in [
        ("/version", json!(2)),
        ("/more", json!(1)),
        ("/verdict", json!("fine")),
        ("/scenarios", json!(vec![lost; 1_001])),
        ("/runs", json!(["r".repeat(513)])),
        ("/scenarios/0/more", json!(1)),
        ("/scenarios/0/verdict", json!("no result")),
        ("/scenarios/0/package", json!("p".repeat(513))),
        ("/scenarios/0/report/more", json!(1)),
        ("/scenarios/0/report/run/scenarios", json!(["a"])),
        ("/scenarios/1/report/notes", json!(vec!["n"; 101])),
        ("/scenarios/1/report/findings/0/rate/bytes", json!(1e17)),
        (function, json!("f".repeat(513))),
        ("/scenarios/7/verdict", json!("within")),
        ("/scenarios/7/problem", json!(null)),
    ] {
        let (object, key) = place.rsplit_once('/').unwrap();
        refused(&|file| file.pointer_mut(object).unwrap()[key] = value.clone());
    }
    refused(&|file| drop(file.as_object_mut().unwrap().remove("source")));
}
