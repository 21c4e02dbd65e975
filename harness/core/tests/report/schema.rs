//! The committed schema against what the writer emits.
//!
//! The validators on crates.io bring over 70 crates; the schema needs a dozen
//! keywords. This one knows those, and panics at any other.

use std::collections::BTreeSet;

use plimsoll_core::report::json::to_string;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::samples::{REPORT_1, any_report, failed, regressed, within};

const SCHEMA: &str = include_str!("../../schema/report-v2.schema.json");
const SCHEMA_1: &str = include_str!("../../schema/report-v1.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

fn value(report: &plimsoll_core::report::Report) -> Value {
    serde_json::from_str(&to_string(report)).expect("a report is JSON")
}

/// What is wrong with a value, in the words of the schema's keyword.
fn validate(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = schema.as_object().expect("a schema is an object");
    for (keyword, wants) in schema {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let path = wants.as_str().and_then(|path| path.strip_prefix('#'));
                let target = path
                    .and_then(|path| root.pointer(path))
                    .expect("refs lead somewhere");
                validate(root, target, value, at)?;
                true
            }
            "type" => match wants {
                Value::Array(types) => types.iter().any(|ty| is_of_type(value, ty)),
                ty => is_of_type(value, ty),
            },
            "const" => value == wants,
            "enum" => array(wants).contains(value),
            "anyOf" | "oneOf" => {
                let holds = |one: &&Value| validate(root, one, value, at).is_ok();
                let holding = array(wants).iter().filter(holds).count();
                holding == 1 || holding > 1 && keyword == "anyOf"
            }
            "properties" => {
                let wants = object(wants);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if let Some(wants) = wants.get(key) {
                        validate(root, wants, value, &format!("{at}/{key}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                assert_eq!(wants, &Value::Bool(false));
                let known = object(&schema["properties"]);
                value
                    .as_object()
                    .is_none_or(|value| value.keys().all(|key| known.contains_key(key)))
            }
            "required" => value.as_object().is_none_or(|value| {
                array(wants)
                    .iter()
                    .all(|key| key.as_str().is_some_and(|key| value.contains_key(key)))
            }),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(root, wants, item, &format!("{at}/{index}"))?;
                }
                true
            }
            "maxItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 <= number(wants)),
            "maxLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 <= number(wants)),
            "minimum" => value.as_u64().is_none_or(|value| value >= number(wants)),
            "maximum" => value.as_u64().is_none_or(|value| value <= number(wants)),
            other => panic!("a keyword that this validator does not know: {other}"),
        };
        if !holds {
            return Err(format!("{at}: {keyword}"));
        }
    }
    Ok(())
}

fn is_of_type(value: &Value, ty: &Value) -> bool {
    match ty.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64(),
        other => panic!("a type that this validator does not know: {other:?}"),
    }
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().expect("an array")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn valid(value: &Value) -> Result<(), String> {
    let schema = schema();
    validate(&schema, &schema, value, "")
}

#[test]
fn samples_are_valid() {
    for report in [within(), regressed(), failed()] {
        assert_eq!(valid(&value(&report)), Ok(()));
    }
    // Format 1 is as it was.
    let schema: Value = serde_json::from_str(SCHEMA_1).expect("the schema is JSON");
    let report: Value = serde_json::from_str(REPORT_1).expect("a report is JSON");
    assert_eq!(validate(&schema, &schema, &report, ""), Ok(()));
    assert_eq!(
        validate(&schema, &schema, &value(&regressed()), ""),
        Err("/findings/0: additionalProperties".to_owned())
    );
}

#[test]
fn invalid_reports_are_not() {
    for (path, to, error) in [
        ("/version", 1.into(), "/version: const"),
        ("/verdict", "fine".into(), "/verdict: enum"),
        ("/rungs/0/threads", 1.5.into(), "/rungs/0/threads: type"),
        ("/measured", 1.into(), "/measured: anyOf"),
        (
            "/findings/0/subject/stacks",
            1.into(),
            "/findings/0/subject: oneOf",
        ),
    ] {
        let mut report = value(&regressed());
        *report.pointer_mut(path).expect("the path leads somewhere") = to;
        assert_eq!(valid(&report), Err(error.to_owned()));
    }
    let mut report = value(&regressed());
    report["extra"] = Value::Null;
    assert_eq!(valid(&report), Err(": additionalProperties".to_owned()));
    let keys = report.as_object_mut().expect("an object");
    keys.retain(|key, _| key != "extra" && key != "notes");
    assert_eq!(valid(&report), Err(": required".to_owned()));
}

/// Every object of the schema requires all its keys, but for those that came
/// later, knows no others, and says what each is for.
#[test]
fn the_schema_is_strict_and_described() {
    fn visit(at: &str, schema: &Value) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object)
            && schema.get("type").is_some()
        {
            let required = array(&schema["required"]).iter().filter_map(Value::as_str);
            let came_later = |key: &str| {
                ["builder", "rarest"].contains(&key)
                    || key == "error" && at.ends_with("$defs/growth")
            };
            let keys = properties.keys().map(String::as_str);
            let keys: BTreeSet<&str> = keys.filter(|key| !came_later(key)).collect();
            assert_eq!(required.collect::<BTreeSet<_>>(), keys, "{at}");
            assert_eq!(schema["additionalProperties"], Value::Bool(false), "{at}");
            for (key, property) in properties {
                let described = property.get("description").or_else(|| property.get("$ref"));
                assert!(described.is_some(), "{at}/{key} has no description");
            }
        }
        match schema {
            Value::Object(keys) => {
                let keys = keys.iter();
                keys.for_each(|(key, value)| visit(&format!("{at}/{key}"), value));
            }
            Value::Array(items) => items.iter().for_each(|item| visit(at, item)),
            _ => {}
        }
    }
    visit("", &schema());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_report_is_valid(report in any_report()) {
        prop_assert_eq!(valid(&value(&report)), Ok(()));
    }
}
