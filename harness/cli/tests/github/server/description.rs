//! GitHub's OpenAPI description: which operation a request is, and what is wrong
//! with a request or an answer.
//!
//! `description.json` beside this folder is OpenAPI 3.0; `jsonschema` reads JSON
//! Schema. Between them: `nullable` becomes a type, and a schema that is to be
//! read gets the components beside it, where its `$ref`s point.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::http::{Request, decode};

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
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// A request's place in the description.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) method: String,
    pub(crate) template: String,
    /// Decoded.
    pub(crate) parameters: BTreeMap<String, String>,
}

/// Why a request has no place in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stranger {
    Path,
    /// There is something at this path, for these methods.
    Method(Vec<String>),
}

impl Description {
    /// The one that is committed, read once.
    pub(crate) fn get() -> &'static Self {
        static DESCRIPTION: OnceLock<Description> = OnceLock::new();
        DESCRIPTION.get_or_init(|| {
            let mut document = serde_json::from_str(include_str!("../description.json"))
                .expect("description.json to be JSON");
            for pointer in NULLS {
                let schema: &mut Value = Value::pointer_mut(&mut document, pointer)
                    .expect("what the description is wrong about to be in it");
                *schema = json!({"anyOf": [schema, {"type": "null"}]});
            }
            nullable(&mut document);
            Description {
                document,
                validators: Mutex::default(),
            }
        })
    }

    /// The operation of a path without the server's prefix. Where several paths
    /// match, the one with the most fixed segments is meant.
    pub(crate) fn operation(&self, method: &str, path: &str) -> Result<Operation, Stranger> {
        let method = method.to_ascii_lowercase();
        let paths = self.document["paths"].as_object().expect("paths");
        let mut found: Vec<_> = paths
            .iter()
            .filter_map(|(template, at)| Some((template, at, parameters(template, path)?)))
            .collect();
        found.sort_by_key(|(_, _, parameters)| parameters.len());
        if found.is_empty() {
            return Err(Stranger::Path);
        }
        let mut methods = Vec::new();
        for (template, at, parameters) in found {
            if at.get(&method).is_some() {
                return Ok(Operation {
                    method,
                    template: template.clone(),
                    parameters,
                });
            }
            methods.extend(at.as_object().expect("operations").keys().cloned());
        }
        Err(Stranger::Method(methods))
    }

    /// What is wrong with a request, by what the description says of its operation.
    pub(crate) fn request(&self, operation: &Operation, request: &Request) -> Wrong {
        let mut wrong = Wrong::default();
        let described = self.at(operation);
        let mut query: Vec<_> = request.query.iter().collect();
        let none = Vec::new();
        for parameter in described["parameters"].as_array().unwrap_or(&none) {
            let parameter = self.resolve(parameter);
            let name = parameter["name"].as_str().expect("a parameter's name");
            let given: Vec<&str> = match parameter["in"].as_str() {
                Some("path") => vec![&operation.parameters[name]],
                Some("query") => {
                    let (own, others) = query.into_iter().partition(|(key, _)| key == name);
                    query = others;
                    let own: Vec<&(String, String)> = own;
                    own.into_iter().map(|(_, value)| value.as_str()).collect()
                }
                place => panic!("{name}: a parameter in {place:?}"),
            };
            if given.is_empty() && parameter["required"] == json!(true) {
                wrong.url.push(format!("parameter {name}: missing"));
            }
            if given.len() > 1 {
                wrong
                    .url
                    .push(format!("parameter {name}: given {} times", given.len()));
            }
            for text in given {
                let schema = &parameter["schema"];
                let value = typed(schema, text);
                for message in self.errors(&format!("parameter {schema}"), schema, &value) {
                    wrong.url.push(format!("parameter {name}: {message}"));
                }
            }
        }
        for (name, _) in query {
            wrong.url.push(format!("parameter {name}: unknown"));
        }
        self.body(operation, &described["requestBody"], request, &mut wrong);
        wrong
    }

    fn body(&self, operation: &Operation, described: &Value, request: &Request, wrong: &mut Wrong) {
        let schema = &described["content"]["application/json"]["schema"];
        if schema.is_null() {
            if !request.body.is_empty() {
                wrong
                    .body
                    .push("a body, where none is described".to_owned());
            }
            return;
        }
        if request.body.is_empty() {
            if described["required"] == json!(true) {
                wrong.body.push("no body".to_owned());
            }
            return;
        }
        match serde_json::from_slice::<Value>(&request.body) {
            Err(err) => wrong.body.push(format!("a body that is not JSON: {err}")),
            Ok(body) => {
                let content = request.header("content-type").unwrap_or_default();
                if !content.starts_with("application/json") {
                    wrong
                        .url
                        .push(format!("header content-type: {content:?}, of a JSON body"));
                }
                let key = format!("{} {} body", operation.method, operation.template);
                wrong.body = self.errors(&key, schema, &body);
                unknown(schema, &body, "", &mut wrong.unknown);
            }
        }
    }

    /// What is wrong with an answer of this server itself.
    pub(crate) fn answer(&self, operation: &Operation, status: u16, body: &[u8]) -> Vec<String> {
        let described = &self.at(operation)["responses"][status.to_string()];
        if described.is_null() {
            // Errors that any operation may answer are not all written down.
            return match status {
                200..=299 => vec![format!("status {status}, which is not described")],
                _ => Vec::new(),
            };
        }
        let schema = &self.resolve(described)["content"]["application/json"]["schema"];
        if schema.is_null() {
            // An error says what it is about all the same.
            return match body {
                body if body.is_empty() || status >= 400 => Vec::new(),
                _ => vec![format!(
                    "a body with status {status}, where none is described"
                )],
            };
        }
        match serde_json::from_slice(body) {
            Err(err) => vec![format!("a body that is not JSON: {err}")],
            Ok(body) => {
                let key = format!("{} {} {status}", operation.method, operation.template);
                self.errors(&key, schema, &body)
            }
        }
    }

    fn at(&self, operation: &Operation) -> &Value {
        &self.document["paths"][&operation.template][&operation.method]
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self
                .document
                .pointer(reference.trim_start_matches('#'))
                .expect("a component that was extracted"),
            None => value,
        }
    }

    /// Each as `/where/it/is: what`, or `what` of the whole; validators are kept under `key`.
    fn errors(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let validator = {
            let mut validators = self.validators.lock().expect("no panic while compiling");
            match validators.get(key) {
                Some(validator) => Arc::clone(validator),
                None => {
                    let mut schema = schema.clone();
                    schema["components"] = self.document["components"].clone();
                    let validator = jsonschema::options()
                        .with_draft(Draft::Draft202012)
                        .should_validate_formats(true)
                        .build(&schema)
                        .expect("GitHub's schemas to be schemas");
                    let validator = Arc::new(validator);
                    validators.insert(key.to_owned(), Arc::clone(&validator));
                    validator
                }
            }
        };
        validator
            .iter_errors(value)
            .map(|error| {
                let message: String = error.to_string().chars().take(300).collect();
                match error.instance_path().as_str() {
                    "" => message,
                    path => format!("{path}: {message}"),
                }
            })
            .collect()
    }
}

/// What is wrong with a request.
#[derive(Debug, Default)]
pub(crate) struct Wrong {
    /// In the path, the query, a header: GitHub overlooks most of it.
    pub(crate) url: Vec<String>,
    /// In the body: GitHub answers 422.
    pub(crate) body: Vec<String>,
    /// Keys of the body that GitHub overlooks.
    pub(crate) unknown: Vec<String>,
}

/// The values of a template's parameters, if `path` is one of its paths. A
/// reference's name, at a template's end, may go on over several segments.
fn parameters(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::new();
    let mut template = template.split('/').peekable();
    let mut path = path.split('/');
    while let Some(expected) = template.next() {
        let mut found = path.next()?.to_owned();
        let Some(name) = expected
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'))
        else {
            if expected != found {
                return None;
            }
            continue;
        };
        if name == "ref" && template.peek().is_none() {
            for segment in path.by_ref() {
                found += "/";
                found += segment;
            }
        }
        if found.is_empty() {
            return None;
        }
        parameters.insert(name.to_owned(), decode(&found));
    }
    path.next().is_none().then_some(parameters)
}

/// A parameter's text as the JSON value that its schema describes, or as the
/// string it is, which then does not fit.
fn typed(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer") => text
            .parse::<i64>()
            .map_or(json!(text), |number| json!(number)),
        Some("boolean") => text
            .parse::<bool>()
            .map_or(json!(text), |truth| json!(truth)),
        _ => json!(text),
    }
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
