//! JSON against a schema. No other file of these tests knows which crate checks it.

use serde_json::Value;

/// Where an instance is not as a schema has it, and why.
#[track_caller]
pub(crate) fn invalid(schema: &Value, instance: &Value) -> Vec<String> {
    let options = jsonschema::options().should_validate_formats(true);
    let schema = options.build(schema).expect("it is a schema");
    let errors = schema.iter_errors(instance);
    let errors = errors.map(|error| format!("{}: {error}", error.instance_path()));
    errors.collect()
}
