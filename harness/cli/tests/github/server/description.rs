//! GitHub's OpenAPI description: which operation a request is, and what is wrong with a request
//! or an answer.
//!
//! `description.json` beside this folder is OpenAPI 3.0; what checks it here reads JSON
//! Schema. Between them: `nullable` becomes a type, and a schema that is to be
//! read gets the components beside it, where its `$ref`s point. An answer may leave out what
//! nobody looks at.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Map, Value, json};

use super::http::{Request, decode};
use crate::schema::Schema;

/// What the description is wrong about: GitHub answers `null` there.
const NULLS: [&str; 4] = [
    // Of a fork that was deleted.
    "/components/schemas/workflow-run/properties/head_repository",
    "/components/schemas/pull-request/properties/head/properties/user",
    "/components/schemas/pull-request/properties/head/properties/repo",
    "/components/schemas/pull-request-simple/properties/head/properties/repo",
];

pub(crate) struct Description {
    document: Value,
    schemas: Mutex<HashMap<String, Arc<Schema>>>,
}

/// A request's place in the description.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) method: String,
    pub(crate) template: String,
    /// Decoded.
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Description {
    /// The one that is committed, read once.
    pub(crate) fn get() -> &'static Self {
        static DESCRIPTION: OnceLock<Description> = OnceLock::new();
        DESCRIPTION.get_or_init(|| {
            let text = include_str!("../description.json");
            let mut document: Value = serde_json::from_str(text).expect("description.json");
            for pointer in NULLS {
                let schema = document
                    .pointer_mut(pointer)
                    .expect("what is wrong to be there");
                *schema = json!({"anyOf": [schema, {"type": "null"}]});
            }
            nullable(&mut document);
            optional(&mut document["components"]);
            Description {
                document,
                schemas: Mutex::default(),
            }
        })
    }

    /// The operation of a path without the server's prefix, or why there is none.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Result<Operation, String> {
        let method = method.to_ascii_lowercase();
        let paths = self.document["paths"].as_object().expect("paths");
        let mut at = paths
            .iter()
            .filter_map(|(template, at)| Some((template, at, parameters(template, path)?)));
        match at.next() {
            None => Err("no such path in the description".to_owned()),
            Some((template, at, parameters)) if at.get(&method).is_some() => Ok(Operation {
                method,
                template: template.clone(),
                parameters,
            }),
            Some((_, at, _)) => {
                let methods: Vec<&String> = at.as_object().expect("operations").keys().collect();
                Err(format!("expected one of {methods:?} at this path"))
            }
        }
    }

    /// What is wrong with a request, by what the description says of its operation; and the first
    /// thing of its body for which GitHub refuses it.
    pub(crate) fn request(
        &self,
        operation: &Operation,
        request: &Request,
    ) -> (Vec<String>, Option<String>) {
        let mut wrong = Vec::new();
        let described = self.at(operation);
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<&Value> = parameters.map(|one| self.resolve(one)).collect();
        let given = operation
            .parameters
            .iter()
            .chain(request.query.iter().map(|(a, b)| (a, b)));
        for (name, text) in given {
            let Some(parameter) = parameters.iter().find(|one| one["name"] == name.as_str()) else {
                wrong.push(format!("parameter {name}: unknown"));
                continue;
            };
            let schema = &parameter["schema"];
            let value = match schema["type"] == "integer" {
                true => text
                    .parse::<i64>()
                    .map_or(json!(text), |number| json!(number)),
                false => json!(text),
            };
            for message in self.errors(&format!("parameter {schema}"), schema, &value) {
                wrong.push(format!("parameter {name}: {message}"));
            }
        }
        let refused = self.body(operation, &described["requestBody"], request, &mut wrong);
        wrong.extend(refused.first().cloned());
        (wrong, refused.into_iter().next())
    }

    fn body(
        &self,
        operation: &Operation,
        described: &Value,
        request: &Request,
        wrong: &mut Vec<String>,
    ) -> Vec<String> {
        let schema = &described["content"]["application/json"]["schema"];
        let said = |what: &str| vec![what.to_owned()];
        match (schema.is_null(), request.body.is_empty()) {
            (true, true) => return Vec::new(),
            (true, false) => return said("a body, where none is described"),
            (false, true) => return said("no body"),
            (false, false) => {}
        }
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return said("a body that is not JSON");
        };
        let content = request.header("content-type").unwrap_or_default();
        if !content.starts_with("application/json") {
            wrong.push(format!("header content-type: {content:?}, of a JSON body"));
        }
        unknown(schema, &body, "", wrong);
        let key = format!("{} {} body", operation.method, operation.template);
        self.errors(&key, schema, &body)
    }

    /// What is wrong with an answer of this server itself.
    pub(crate) fn check(&self, operation: &Operation, status: u16, body: &[u8]) -> Vec<String> {
        let schema = self.answered(operation, status);
        match (serde_json::from_slice(body), schema.is_null()) {
            (Ok(body), false) => {
                let key = format!("{} {} {status}", operation.method, operation.template);
                self.errors(&key, schema, &body)
            }
            // Not all errors are written down; what they say, hardly ever.
            _ if status >= 400 || (schema.is_null() && body.is_empty()) => Vec::new(),
            _ => vec![format!("the body of a {status} is not as described")],
        }
    }

    fn at(&self, operation: &Operation) -> &Value {
        &self.document["paths"][&operation.template][&operation.method]
    }

    fn answered(&self, operation: &Operation, status: u16) -> &Value {
        let answer = self.resolve(&self.at(operation)["responses"][status.to_string()]);
        &answer["content"]["application/json"]["schema"]
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                let found = self.document.pointer(reference.trim_start_matches('#'));
                found.expect("a component that was extracted")
            }
            None => value,
        }
    }

    /// Each as `/where/it/is: keyword: what`, or `keyword: what` of the whole; schemas are kept under
    /// `key`.
    fn errors(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let mut schemas = self.schemas.lock().expect("no panic while compiling");
        let ready = schemas.entry(key.to_owned()).or_insert_with(|| {
            let mut schema = schema.clone();
            schema["components"] = self.document["components"].clone();
            Arc::new(Schema::of(&schema))
        });
        let ready = Arc::clone(ready);
        drop(schemas);
        let errors = ready.errors(value).into_iter();
        errors
            .map(|error| error.trim_start_matches(": ").to_owned())
            .collect()
    }
}

/// The values of a template's parameters, if `path` is one of its paths. A
/// reference's name, at a template's end, may go on over several segments.
fn parameters(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let (template, path) = match template.strip_suffix("/{ref}") {
        // As many slashes as the template has; the reference has the rest.
        Some(start) => {
            let (at, _) = path.match_indices('/').nth(start.matches('/').count())?;
            let found = parameters(start, &path[..at])?;
            let name = ("ref".to_owned(), decode(&path[at + 1..]));
            return Some(found.into_iter().chain([name]).collect());
        }
        None => (template.split('/'), path.split('/')),
    };
    let (template, path): (Vec<&str>, Vec<&str>) = (template.collect(), path.collect());
    let name = |part: &&str| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned());
    let mut parameters = BTreeMap::new();
    for (expected, found) in template.iter().zip(&path) {
        match name(expected) {
            Some(name) => drop(parameters.insert(name, decode(found))),
            None if expected == found => {}
            None => return None,
        }
    }
    (template.len() == path.len()).then_some(parameters)
}

/// Keys that the description does not know. It does not forbid them; a key that is
/// misspelt does nothing, silently.
fn unknown(schema: &Value, value: &Value, at: &str, into: &mut Vec<String>) {
    if let (Some(known), Some(keys)) = (schema["properties"].as_object(), value.as_object()) {
        for (key, value) in keys {
            match known.get(key) {
                Some(schema) => unknown(schema, value, &format!("{at}/{key}"), into),
                None => into.push(format!("{at}/{key}: unknown")),
            }
        }
    }
    for (index, value) in value.as_array().into_iter().flatten().enumerate() {
        unknown(&schema["items"], value, &format!("{at}/{index}"), into);
    }
}

/// Without what is required of it.
fn optional(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(optional),
        Value::Object(map) => {
            map.retain(|key, value| key != "required" || !value.is_array());
            map.values_mut().for_each(optional);
        }
        _ => {}
    }
}

/// OpenAPI 3.0's `nullable`, as JSON Schema says it.
fn nullable(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(nullable),
        Value::Object(map) => {
            map.values_mut().for_each(nullable);
            if map.get("nullable") == Some(&json!(true)) {
                map.remove("nullable");
                allow_null(map);
            }
        }
        _ => {}
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    match schema.get_mut("type") {
        Some(of @ Value::String(_)) => *of = json!([of, "null"]),
        _ => {
            let inner = Value::Object(std::mem::take(schema));
            schema.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
            return;
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}
