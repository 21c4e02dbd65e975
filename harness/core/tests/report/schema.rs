//! The committed schema against what the writer emits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use plimsoll_core::report::Report;
use plimsoll_core::report::json::{parse, to_string};
use proptest::prelude::*;
use serde_json::Value;

use crate::json_schema::Schema;
use crate::samples::{REPORT_1, SCHEMA, any_file, any_report, regressed};

const SCHEMA_1: &str = include_str!("../../schema/report-v1.schema.json");

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("it is JSON")
}

fn value(report: &Report) -> Value {
    parsed(&to_string(report))
}

/// Where a value is not as a schema has it, and the keyword that says so.
fn validate(schema: &Schema, value: &Value) -> Result<(), String> {
    let errors = schema.errors(value);
    let first = errors.first().map(|error| error.splitn(3, ": ").take(2));
    first.map_or(Ok(()), |first| Err(first.collect::<Vec<_>>().join(": ")))
}

/// Format 1 is as it was.
#[test]
fn format_1_has_its_own_schema() {
    let schema = Schema::of(&parsed(SCHEMA_1));
    assert_eq!(validate(&schema, &parsed(REPORT_1)), Ok(()));
    let refused = Err("/findings/0: additionalProperty".to_owned());
    assert_eq!(validate(&schema, &value(&regressed())), refused);
}

/// Keys that later versions of the format have added.
const CAME_LATER: &str = "builder per rarest own enough blame lacks clock by origin selected built_with \
    benchmark runner mappings memory holders cycle also is_fixed";

/// Every object of the schema requires all its keys, but for those that came
/// later, knows no others, and says what each is for.
#[test]
fn the_schema_is_strict_and_described() {
    for (at, schema) in objects(String::new(), &SCHEMA) {
        let properties = schema["properties"].as_object();
        let Some(properties) = properties.filter(|_| schema.get("type").is_some()) else {
            continue;
        };
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str);
        let came_later = |key: &str| {
            CAME_LATER.split(' ').any(|later| later == key)
                || key == "error" && at.ends_with("$defs/growth")
                || key == "outside" && at.ends_with("$defs/threshold")
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
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is written is valid, and is read as it was. Whatever is damaged is refused, or is
    /// another report, and never panics.
    #[test]
    fn reading_gives_what_was_written(
        report in any_report(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        static SCHEMA_2: LazyLock<Schema> = LazyLock::new(|| Schema::of(&SCHEMA));
        prop_assert_eq!(validate(&SCHEMA_2, &value(&report)), Ok(()));
        let mut bytes = to_string(&report).into_bytes();
        prop_assert_eq!(parse(&bytes), Ok(report));
        let at = at.index(bytes.len());
        bytes[at] = with;
        let _ = parse(&bytes);
        let _ = parse(&bytes[..at]);
    }

    /// What reads a report knows the keys that the schema has, and no others.
    #[test]
    fn the_types_have_the_keys_of_the_schema(file in any_file()) {
        let schemas = SCHEMA["$defs"].as_object().expect("definitions").values();
        let cycle = &SCHEMA["$defs"]["holders"]["properties"]["cycle"];
        let keys = |schema: &Value| -> BTreeSet<String> {
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let known: BTreeSet<_> = schemas.chain([&*SCHEMA, cycle]).map(keys).collect();
        // This has one of each kind.
        let kind = |place: &str| place.replace(|c: char| c.is_ascii_digit(), "");
        let places = objects(String::new(), &file).into_iter().map(|(at, _)| (kind(&at), at));
        let places: BTreeMap<String, String> = places.collect();
        for place in places.values().filter(|place| !place.ends_with("/origin")) {
            let mut file = file.clone();
            file.pointer_mut(place).expect("it is there")["?"] = Value::Null;
            let error = serde_json::from_value::<Report>(file).unwrap_err().to_string();
            // Unknown field `?`, expected one of `id`, `commit`, …
            let listed = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
            prop_assert!(known.contains(&listed), "{place}: {error}");
        }
    }
}

/// Returns every object in a value, and where it is.
fn objects(at: String, value: &Value) -> Vec<(String, &Value)> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries.iter().map(|(key, of)| (key.clone(), of)).collect(),
        Value::Array(items) => (0..).map(|n: u32| n.to_string()).zip(items).collect(),
        _ => Vec::new(),
    };
    let parts = parts.into_iter();
    let inner = parts.flat_map(|(key, of)| objects(format!("{at}/{key}"), of));
    let inner: Vec<_> = inner.collect();
    let own = value.is_object().then_some((at, value));
    own.into_iter().chain(inner).collect()
}
