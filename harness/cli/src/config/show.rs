//! As text, which is itself a `plimsoll.toml`, and for programs.

use plimsoll_core::settings::{Fallback, KEYS, Key, Kind};
use serde_json::{Value, json};

use super::{Found, Origin, Owner};

pub(super) fn text(found: &Found, effective: bool) -> String {
    let mut text = match &found.package {
        Some(package) => format!("# settings of the package {package}\n"),
        None => "# settings of the workspace\n".to_owned(),
    };
    let width = found.files.iter().map(|file| file.shown.chars().count());
    let width = width.max().unwrap_or(0);
    for file in &found.files {
        let of = match file.of {
            Owner::Package => "the package's",
            Owner::Workspace => "the workspace's",
        };
        text += &format!("#   {:width$}  {of}\n", file.shown);
    }
    if found.files.is_empty() {
        text += "#   no plimsoll.toml\n";
    }
    text.push('\n');
    let rows: Vec<(String, String)> = KEYS
        .iter()
        .filter_map(|key| row(found, key, effective))
        .collect();
    let width = rows.iter().map(|(setting, _)| setting.chars().count());
    let width = width.max().unwrap_or(0);
    for (setting, origin) in &rows {
        text += &format!("{setting:width$}  # {origin}\n");
    }
    if rows.is_empty() {
        text += "# nothing is set\n";
    }
    text + "\n" + &about_builders()
}

/// A setting and where it is from; the defaults only where all is asked for.
fn row(found: &Found, key: &Key, effective: bool) -> Option<(String, String)> {
    let set = found.set(key);
    if let Some((_, value)) = set.first() {
        let origins: Vec<String> = set.iter().map(|(origin, _)| origin.shown()).collect();
        let setting = format!("{} = {}", key.name, value_of(key.kind, value));
        return Some((setting, origins.join(", before ")));
    }
    let fallback = match key.fallback {
        Fallback::Value(value) => {
            let setting = format!("{} = {}", key.name, value_of(key.kind, value));
            (setting, "default".to_owned())
        }
        // No value that a file could have.
        Fallback::Words(words) => (
            format!("# {}", key.name),
            format!("default: {}", words.replace('`', "")),
        ),
    };
    effective.then_some(fallback)
}

impl Origin<'_> {
    fn shown(&self) -> String {
        match self {
            Origin::Variable(name) => name.clone(),
            Origin::File(file, line) => format!("{}:{line}", file.shown),
        }
    }

    fn json(&self) -> Value {
        match self {
            Origin::Variable(name) => json!({ "kind": "variable", "name": name }),
            Origin::File(file, line) => {
                json!({ "kind": "file", "path": file.shown, "line": line })
            }
        }
    }
}

/// What is not seen here, and stands between the variables and the files.
fn about_builders() -> String {
    let names: Vec<&str> = KEYS
        .iter()
        .filter(|key| key.builder.is_some())
        .map(|key| key.name)
        .collect();
    let lines: Vec<String> = names.chunks(4).map(|line| line.join(", ")).collect();
    format!(
        "# what a scenario's own builder sets goes before the files, and after variables:\n\
         #   {}\n",
        lines.join(",\n#   ")
    )
}

/// A value as JSON and TOML have it: of what a setting can be, both write the same.
fn value_of(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Flag => matches!(text, "true" | "1").into(),
        Kind::Count | Kind::SampleInterval => {
            let number = text.replace('_', "").parse::<u64>();
            number.map_or(Value::Null, Value::from)
        }
        Kind::Time | Kind::Size | Kind::Word(_) => text.into(),
    }
}

pub(super) fn json(found: &Found, effective: bool) -> String {
    let files: Vec<Value> = found
        .files
        .iter()
        .map(|file| {
            let of = match file.of {
                Owner::Package => "package",
                Owner::Workspace => "workspace",
            };
            json!({ "path": file.shown, "of": of })
        })
        .collect();
    let settings: Vec<Value> = KEYS
        .iter()
        .filter_map(|key| setting(found, key, effective))
        .collect();
    let shown = json!({
        "version": 1,
        "package": found.package,
        "files": files,
        "settings": settings,
    });
    format!("{shown:#}\n")
}

fn setting(found: &Found, key: &Key, effective: bool) -> Option<Value> {
    let set = found.set(key);
    let fallback = match key.fallback {
        Fallback::Value(value) => value_of(key.kind, value),
        Fallback::Words(_) => Value::Null,
    };
    let (value, origin) = match set.first() {
        Some((origin, value)) => (value_of(key.kind, value), origin.json()),
        None if effective => (fallback, json!({ "kind": "default" })),
        None => return None,
    };
    let overridden: Vec<Value> = set
        .iter()
        .skip(1)
        .map(|(origin, _)| origin.json())
        .collect();
    let (Fallback::Value(default) | Fallback::Words(default)) = key.fallback;
    Some(json!({
        "key": key.name,
        "value": value,
        "origin": origin,
        "overridden": overridden,
        "default": default.replace('`', ""),
        "variable": key.variable(),
        "builder": key.builder,
    }))
}
