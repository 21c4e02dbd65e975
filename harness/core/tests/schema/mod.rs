//! JSON against a schema. No other file of the tests knows which crate checks it.

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;

/// A schema that is ready to check values.
pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    #[track_caller]
    pub(crate) fn of(schema: &Value) -> Schema {
        const PLACE: &str = "file:///schema.json";
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        let added = compiler.add_resource(PLACE, schema.clone());
        added.expect("a place for the schema");
        let mut schemas = Schemas::new();
        let index = compiler.compile(PLACE, &mut schemas);
        let index = index.unwrap_or_else(|error| panic!("no schema: {error:#}"));
        Schema { schemas, index }
    }

    /// Where a value is not as the schema has it, the keyword that says so, and why:
    /// `/rungs/0/threads: type: want integer, but got number`.
    pub(crate) fn errors(&self, value: &Value) -> Vec<String> {
        let mut said = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.index) {
            say(&error, &mut said);
        }
        said
    }
}

fn say(error: &ValidationError<'_, '_>, said: &mut Vec<String>) {
    match &error.kind {
        // What these say is in their causes.
        ErrorKind::Schema { .. }
        | ErrorKind::Group
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf => error.causes.iter().for_each(|cause| say(cause, said)),
        kind => {
            let keyword = kind.keyword_path().map_or("", |path| path.keyword);
            said.push(format!("{}: {keyword}: {kind}", error.instance_location));
        }
    }
}
