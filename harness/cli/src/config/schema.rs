//! Writes a JSON schema of `plimsoll.toml`, for editors and other programs that check files.
//!
//! It uses only keywords that mean the same from draft 4 to draft 7, because an editor for
//! TOML may know any of these drafts.

use serde_json::{Map, Value, json};

use super::show::value_of;
use plimsoll_core::settings::{Fallback, KEYS, Key, Kind, MAX_SAMPLE_INTERVAL};

/// A number above zero, as a regular expression that every engine understands.
const NUMBER: &str = "(0*[1-9][0-9]*([.][0-9]+)?|0+[.]0*[1-9][0-9]*)";

/// Returns the schema's text.
///
/// [`Layer::parse`](plimsoll_core::settings::Layer::parse) accepts every file that the schema accepts, except
/// numbers that are zero or infinite in the base unit.
pub(super) fn schema() -> String {
    let properties: Map<String, Value> = KEYS
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "plimsoll.toml",
        "description": "What a run of leak tests goes by, where neither a PLIMSOLL_* variable \
                        nor the scenario's own builder says otherwise.",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    format!("{schema:#}\n")
}

fn property(key: &Key) -> Value {
    let mut property = match key.kind {
        Kind::Time => json!({
            "type": "string",
            "pattern": format!("^{NUMBER} ?(ms|s|m|min|h)$"),
        }),
        Kind::Size => json!({
            "type": "string",
            "pattern": format!("^{NUMBER} ?(KiB|MiB|GiB|kB|MB|GB)$"),
        }),
        Kind::Count => json!({ "type": "integer", "minimum": 1 }),
        Kind::SampleInterval => {
            let powers = (0..=MAX_SAMPLE_INTERVAL.ilog2()).map(|lg| 1_u64 << lg);
            json!({ "type": "integer", "enum": powers.collect::<Vec<u64>>() })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
    };
    let fallback = match key.fallback {
        Fallback::Value(value) => {
            property["default"] = value_of(key.kind, value);
            format!("`{value}`")
        }
        Fallback::Words(words) => words.to_owned(),
    };
    property["description"] = format!("{}; default: {fallback}", key.doc).into();
    property
}
