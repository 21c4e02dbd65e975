//! The settings as text that is itself a `plimsoll.toml`, and as JSON for programs.

use plimsoll_core::report::BuilderSetting;
use plimsoll_core::settings::{Fallback, KEYS, Key, Kind};
use serde_json::{Map, Value, json};

use super::{Found, Origin};
use plimsoll_desk::out::safe_line;

pub(super) fn text(found: &Found, effective: bool) -> String {
    let mut text = match &found.package {
        Some(package) => format!("# settings of the package {package}\n"),
        None => "# settings of the workspace\n".to_owned(),
    };
    let width = found.files.iter().map(|file| file.shown.chars().count());
    let width = width.max().unwrap_or(0);
    for file in &found.files {
        text += &format!("#   {:width$}  the {}'s\n", file.shown, file.of);
    }
    if found.files.is_empty() {
        text += "#   no plimsoll.toml\n";
    }
    text.push('\n');
    let rows = KEYS.iter().filter_map(|key| row(found, key, effective));
    let rows: Vec<(String, String)> = rows.collect();
    let width = rows.iter().map(|(setting, _)| setting.chars().count());
    let width = width.max().unwrap_or(0);
    for (setting, origin) in &rows {
        text += &format!("{setting:width$}  # {origin}\n");
    }
    if rows.is_empty() {
        text += "# nothing is set\n";
    }
    text + "\n" + &builders(found)
}

/// Returns a setting and its origin. A setting that is not set is included only if `effective`
/// is set.
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
        // The default is no value that a file could have.
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

/// Returns what builders set. Their settings come after variables and before files.
fn builders(found: &Found) -> String {
    let Some(builders) = &found.builders else {
        return about_builders();
    };
    if builders.is_empty() {
        return "# in the last run, no scenario's builder set anything\n".to_owned();
    }
    let mut text =
        "# settings of scenarios' builders in the last run; they override the files, and\n\
                    # variables override them:\n"
            .to_owned();
    for report in builders {
        let (scenario, test) = (safe_line(&report.scenario), safe_line(&report.run.target));
        text += &format!("#   {scenario} (test target {test})\n");
        for setting in &report.builder {
            let line = safe_line(&format!("{} = {}", setting.key, builder_value(setting)));
            let variable = Key::find(&setting.key).filter(|key| found.variables.get(key).is_some());
            let unless = variable.map_or_else(String::new, |key| {
                format!("  # not used: {} overrides it", key.variable())
            });
            text += &format!("#     {line}{unless}\n");
        }
    }
    text
}

/// Returns the same section for a project without reports.
fn about_builders() -> String {
    let keys = KEYS.iter().filter(|key| key.builder.is_some());
    let names: Vec<&str> = keys.map(|key| key.name).collect();
    let lines: Vec<String> = names.chunks(4).map(|line| line.join(", ")).collect();
    format!(
        "# settings of a scenario's builder override the files, and variables override them;\n\
         # a run shows them here:\n\
         #   {}\n",
        lines.join(",\n#   ")
    )
}

/// Returns a value as JSON. TOML writes every value of a setting in the same way.
pub(super) fn value_of(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Flag => matches!(text, "true" | "1").into(),
        Kind::Count | Kind::SampleInterval => {
            let number = text.replace('_', "").parse::<u64>();
            number.map_or(Value::Null, Value::from)
        }
        Kind::Time | Kind::Size | Kind::Word(_) => text.into(),
    }
}

/// Returns the value that a builder sets, even if this version does not know the key.
fn builder_value(setting: &BuilderSetting) -> Value {
    let kind = Key::find(&setting.key).map_or(Kind::Word(&[]), |key| key.kind);
    value_of(kind, &setting.value)
}

pub(super) fn json(found: &Found, effective: bool) -> String {
    let files = found.files.iter();
    let files = files.map(|file| json!({ "path": file.shown, "of": file.of }));
    let settings = KEYS.iter().filter_map(|key| setting(found, key, effective));
    let builders = found.builders.as_ref().map(|builders| {
        let builders = builders.iter().map(|report| {
            let settings = report.builder.iter();
            let settings = settings.map(|one| (one.key.clone(), builder_value(one)));
            let settings: Map<String, Value> = settings.collect();
            let (test, scenario) = (&report.run.target, &report.scenario);
            json!({ "test": test, "scenario": scenario, "settings": settings })
        });
        builders.collect::<Vec<Value>>()
    });
    let shown = json!({
        "version": 1,
        "package": found.package,
        "files": files.collect::<Vec<Value>>(),
        "settings": settings.collect::<Vec<Value>>(),
        "builders": builders,
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
    let overridden = set.iter().skip(1).map(|(origin, _)| origin.json());
    let (Fallback::Value(default) | Fallback::Words(default)) = key.fallback;
    Some(json!({
        "key": key.name,
        "value": value,
        "origin": origin,
        "overridden": overridden.collect::<Vec<Value>>(),
        "default": default.replace('`', ""),
        "variable": key.variable(),
        "builder": key.builder,
    }))
}
