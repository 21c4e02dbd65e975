//! GitHub's OpenAPI description: which operation a request is, and what is wrong with a request
//! or an answer.
//!
//! `description.json` beside this folder is OpenAPI 3.0; what checks it here reads JSON
//! Schema. Between them: `nullable` becomes a type, and a schema that is to be
//! read gets the components beside it, where its `$ref`s point. An answer may leave out what
//! nobody looks at.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};

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
    schemas: Mutex<HashMap<String, Schema>>,
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
                let schema = document.pointer_mut(pointer);
                schema.expect("what is wrong to be there")["nullable"] = json!(true);
            }
            to_json_schema(&mut document["paths"], false);
            to_json_schema(&mut document["components"], true);
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
        let described = &self.document["paths"][&operation.template][&operation.method];
        let parameters = described["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<&Value> = parameters.map(|one| self.resolve(one)).collect();
        let query = request.query.iter().map(|(name, text)| (name, text));
        for (name, text) in operation.parameters.iter().chain(query) {
            let Some(parameter) = parameters.iter().find(|one| one["name"] == name.as_str()) else {
                wrong.push(format!("parameter {name}: unknown"));
                continue;
            };
            let schema = &parameter["schema"];
            let number = text.parse::<i64>().ok();
            let number = number.filter(|_| schema["type"] == "integer");
            let value = number.map_or(json!(text), |number| json!(number));
            let errors = self.errors(&format!("parameter {schema}"), schema, &value);
            let errors = errors.iter();
            wrong.extend(errors.map(|what| format!("parameter {name}: {what}")));
        }
        let schema = &described["requestBody"]["content"]["application/json"]["schema"];
        let body = serde_json::from_slice::<Value>(&request.body);
        let refused = match (schema.is_null(), request.body.is_empty(), body) {
            (true, true, _) => None,
            (true, false, _) => Some("a body, where none is described".to_owned()),
            (false, true, _) => Some("no body".to_owned()),
            (false, false, Err(_)) => Some("a body that is not JSON".to_owned()),
            (false, false, Ok(body)) => {
                let content = request.header("content-type").unwrap_or_default();
                if !content.starts_with("application/json") {
                    wrong.push(format!("header content-type: {content:?}, of a JSON body"));
                }
                unknown(schema, &body, "", &mut wrong);
                let key = format!("{} {} body", operation.method, operation.template);
                self.errors(&key, schema, &body).into_iter().next()
            }
        };
        wrong.extend(refused.clone());
        (wrong, refused)
    }

    /// What is wrong with an answer of this server itself.
    pub(crate) fn check(&self, operation: &Operation, status: u16, body: &[u8]) -> Vec<String> {
        let Operation {
            method, template, ..
        } = operation;
        let answers = &self.document["paths"][template][method]["responses"];
        let answer = self.resolve(&answers[status.to_string()]);
        let schema = &answer["content"]["application/json"]["schema"];
        match (serde_json::from_slice(body), schema.is_null()) {
            (Ok(body), false) => {
                self.errors(&format!("{method} {template} {status}"), schema, &body)
            }
            // Not all errors are written down; what they say, hardly ever.
            _ if status >= 400 || (schema.is_null() && body.is_empty()) => Vec::new(),
            _ => vec![format!("the body of a {status} is not as described")],
        }
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        value["$ref"].as_str().map_or(value, |reference| {
            let found = self.document.pointer(reference.trim_start_matches('#'));
            found.expect("a component that was extracted")
        })
    }

    /// Each as `/where/it/is: keyword: what`, or `keyword: what` of the whole; schemas are kept under
    /// `key`.
    fn errors(&self, key: &str, schema: &Value, value: &Value) -> Vec<String> {
        let mut schemas = self.schemas.lock().expect("no panic while compiling");
        let ready = schemas.entry(key.to_owned()).or_insert_with(|| {
            let mut schema = schema.clone();
            schema["components"] = self.document["components"].clone();
            Schema::of(&schema)
        });
        let errors = ready.errors(value).into_iter();
        errors
            .map(|error| error.trim_start_matches(": ").to_owned())
            .collect()
    }
}

/// The values of a template's parameters, if `path` is one of its paths. A
/// reference's name, at a template's end, may go on over several segments.
fn parameters(template: &str, path: &str) -> Option<BTreeMap<String, String>> {
    let expected: Vec<&str> = template.split('/').collect();
    let most = match template.ends_with("/{ref}") {
        true => expected.len(),
        false => usize::MAX,
    };
    let found: Vec<&str> = path.splitn(most, '/').collect();
    let mut parameters = BTreeMap::new();
    for (expected, found) in expected.iter().zip(&found) {
        match expected.strip_prefix('{') {
            Some(name) => {
                parameters.insert(name.trim_end_matches('}').to_owned(), decode(found));
            }
            None if expected == found => {}
            None => return None,
        }
    }
    (expected.len() == found.len()).then_some(parameters)
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

/// OpenAPI 3.0's `nullable`, as JSON Schema says it; and, of what is `optional`, nothing that is
/// required.
fn to_json_schema(value: &mut Value, optional: bool) {
    match value {
        Value::Array(items) => {
            for item in items {
                to_json_schema(item, optional);
            }
        }
        Value::Object(map) => {
            map.retain(|key, value| !(optional && key == "required" && value.is_array()));
            for value in map.values_mut() {
                to_json_schema(value, optional);
            }
            if map.remove("nullable") == Some(json!(true)) {
                *value = json!({"anyOf": [value.take(), {"type": "null"}]});
            }
        }
        _ => {}
    }
}
