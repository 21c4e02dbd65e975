//! Parses settings from a file or from the environment.

use std::ffi::OsString;

use toml::de::DeValue;

use super::keys::variable;
use super::{KEYS, Key, Kind, MAX_BYTES, Settings, SettingsError};
use super::{nearest_sample_interval, units};
use crate::SmallMap;
use crate::toml_file::{self, found, integer, line_at, meant, nearest, quoted};

/// The settings of one file, or of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    /// The settings as values.
    pub settings: Settings,
    entries: SmallMap<&'static str, Entry>,
}

/// The text of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its value, without quotes.
    pub text: String,
    /// The line of the key, counted from 1, if it is in a file.
    pub line: Option<usize>,
}

impl Layer {
    /// Parses the bytes of a `plimsoll.toml`.
    ///
    /// # Errors
    ///
    /// If the file is too large or not text. Otherwise at the first line that is not TOML, has
    /// a key that no setting has, or has a value that is not of the setting's kind.
    pub fn parse(bytes: &[u8]) -> Result<Layer, SettingsError> {
        if bytes.len() > MAX_BYTES {
            let message = format!("too large\n  expected at most {MAX_BYTES} bytes");
            return Err(SettingsError::new(None, message));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = line_at(bytes, error.valid_up_to());
            let message = "not a text file\n  expected UTF-8, found other bytes";
            SettingsError::new(Some(line), message)
        })?;
        let table = toml_file::parse(text).map_err(|error| {
            SettingsError::new(error.line, format!("not TOML\n  {}", error.message))
        })?;
        let mut layer = Layer::default();
        for (name, item) in toml_file::entries(&table) {
            let line = Some(line_at(bytes, name.span().start));
            let (name, item) = (name.get_ref(), item.get_ref());
            let wrong = |message| SettingsError::new(line, message);
            let key = Key::find(name).ok_or_else(|| wrong(unknown(name)))?;
            let shown = format!("`{name}`");
            let text = written_as(key.kind, item)
                .ok_or_else(|| wrong(unexpected(key, &shown, &found_for(key.kind, item))))?;
            let set = layer.set(key, &text, line);
            set.ok_or_else(|| wrong(unexpected(key, &shown, &format!("`{}`", quoted(&text)))))?;
        }
        Ok(layer)
    }

    /// Reads the settings in the environment. An empty variable counts as not set. Variables
    /// that are not settings are ignored, unless their name looks like a misspelt one.
    ///
    /// # Errors
    ///
    /// At the first variable, by name, whose value is not of the setting's kind or is not
    /// text, or whose name is misspelt.
    pub fn from_variables<Text: Into<OsString>>(
        variables: impl IntoIterator<Item = (Text, Text)>,
    ) -> Result<Layer, SettingsError> {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        Layer::from_texts(variables.collect())
    }

    fn from_texts(variables: Vec<(OsString, OsString)>) -> Result<Layer, SettingsError> {
        let mut by_name: SmallMap<String, OsString> = SmallMap::default();
        for (name, value) in variables {
            if let Ok(name) = name.into_string()
                && name.starts_with(PREFIX)
                && !value.is_empty()
            {
                by_name.insert(name, value);
            }
        }
        let mut layer = Layer::default();
        for (name, value) in by_name {
            let wrong = |message| SettingsError::new(None, message);
            let key = KEYS.iter().find(|key| key.variable() == name);
            if key.is_none() {
                misspelt(&name).map_err(wrong)?;
                if OTHERS.iter().all(|other| variable(other) != name) {
                    continue;
                }
            }
            let text = value.into_string().map_err(|_| {
                let expected = key.map_or("text".to_owned(), |key| key.kind.expected());
                wrong(unexpected_value(
                    &name,
                    &expected,
                    "bytes that are not UTF-8",
                ))
            })?;
            let Some(key) = key else { continue };
            let set = layer.set(key, &text, None);
            set.ok_or_else(|| wrong(unexpected(key, &name, &format!("`{}`", quoted(&text)))))?;
        }
        Ok(layer)
    }

    /// Returns the text of a setting, if this layer sets it.
    pub fn get(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key.name)
    }

    fn set(&mut self, key: &Key, text: &str, line: Option<usize>) -> Option<()> {
        (key.set)(&mut self.settings, text)?;
        let text = text.to_owned();
        self.entries.insert(key.name, Entry { text, line });
        Some(())
    }
}

/// The prefix of plimsoll's variables.
const PREFIX: &str = "PLIMSOLL_";

/// Names of plimsoll's variables that are not settings, spelt like keys.
const OTHERS: [&str; 8] = [
    "baselines",
    "explain",
    "http-password",
    "http-token",
    "http-user",
    "isolation",
    "malloc-conf",
    "verbose",
];

/// Checks that a variable that is not a setting is not a misspelt name of another one.
fn misspelt(name: &str) -> Result<(), String> {
    let known = || KEYS.iter().map(|key| key.name).chain(OTHERS);
    let found = name.trim_start_matches(PREFIX).to_lowercase();
    let found = found.replace('_', "-");
    match meant(&found, known()) {
        // A name that is right except for its case or punctuation has no effect either.
        Some(nearest) if variable(nearest) != name => Err(format!(
            "{}: there is no such variable\n  hint: {}?",
            quoted(name),
            variable(nearest)
        )),
        _ => Ok(()),
    }
}

/// Returns the text of a value, if its TOML type fits the kind.
fn written_as(kind: Kind, value: &DeValue) -> Option<String> {
    match (kind, value) {
        (Kind::Time | Kind::Size | Kind::Word(_), DeValue::String(text)) => Some(text.to_string()),
        (Kind::Count | Kind::SampleInterval, DeValue::Integer(_)) => {
            integer(value).map(|number| number.to_string())
        }
        (Kind::Flag, DeValue::Boolean(flag)) => Some(flag.to_string()),
        _ => None,
    }
}

/// Describes a value of another TOML type. `"10"` is shown as a string, because it is not a
/// number.
fn found_for(kind: Kind, value: &DeValue) -> String {
    match (kind, value.as_str()) {
        (Kind::Count | Kind::SampleInterval | Kind::Flag, Some(text)) => {
            format!("the string `{}`", quoted(text))
        }
        _ => found(value),
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(nearest) => format!("`{nearest}`?"),
        None => {
            // Six names fit on a line of a terminal.
            let lines: Vec<String> = names.chunks(6).map(|line| line.join(", ")).collect();
            format!("one of {}", lines.join(",\n    "))
        }
    };
    format!(
        "`{}`: there is no such setting\n  hint: {hint}",
        quoted(name)
    )
}

/// Says that a setting has a value that it cannot have. `name` is its key between backticks
/// if it is in a file, or its variable.
fn unexpected(key: &Key, name: &str, found: &str) -> String {
    let message = unexpected_value(name, &key.kind.expected(), found);
    match units::count(found.trim_matches('`')).filter(|_| key.kind == Kind::SampleInterval) {
        Some(bytes) => format!("{message}\n  hint: {}", nearest_sample_interval(bytes)),
        None => message,
    }
}

fn unexpected_value(name: &str, expected: &str, found: &str) -> String {
    format!("{name}: unexpected value\n  expected {expected}\n  found {found}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::settings::{Fallback, Inconclusive};

    /// The lines of an error as one.
    fn one_line(error: &str) -> String {
        error.replace("\n  ", " | ")
    }

    /// Returns what a file sets, each setting with its line, or what is wrong with it.
    #[track_caller]
    fn read(file: impl AsRef<[u8]>) -> String {
        let layer = match Layer::parse(file.as_ref()) {
            Ok(layer) => layer,
            Err(error) => return one_line(&error.explain("plimsoll.toml")),
        };
        let set = KEYS.iter().filter_map(|key| {
            let Entry { line, text } = layer.get(key)?;
            Some(format!("{}: {} is {text}\n", line.unwrap(), key.name))
        });
        set.collect()
    }

    #[test]
    fn a_file_sets_what_it_names() {
        let file = "# ours\nbudget = \"2s\"\nthreshold = 10_000\n\ninconclusive = \"warn\"\n\
                    'keep-rungs' = true\nmemory-limit = \"1.5GiB\"\nsample-interval = 0x200\n";
        assert_snapshot!(read(file), @"
        2: budget is 2s
        3: threshold is 10000
        5: inconclusive is warn
        7: memory-limit is 1.5GiB
        6: keep-rungs is true
        8: sample-interval is 512
        ");
        let settings = Layer::parse(file.as_bytes()).unwrap().settings;
        assert_eq!(settings.budget, Some(Duration::from_secs(2)));
        assert_eq!(settings.threshold, Some(10_000));
        assert_eq!(settings.inconclusive, Some(Inconclusive::Warn));
        assert_eq!(settings.memory_limit, Some(1_610_612_736));
        assert_eq!(settings.keep_rungs, Some(true));
        assert_eq!(settings.stale, None);
    }

    #[test]
    fn keys_that_no_setting_has() {
        assert_snapshot!(read("stale = \"deny\"\nbugdet = \"2s\"\n"), @"plimsoll.toml:2: `bugdet`: there is no such setting | hint: `budget`?");
        assert_snapshot!(read("[treshold]\nx = 1\n"), @"plimsoll.toml:1: `treshold`: there is no such setting | hint: `threshold`?");
        assert_snapshot!(read("\"\\u001b[31m\" = 1"), @r"plimsoll.toml:1: `\u{1b}[31m`: there is no such setting | hint: one of budget, max-iterations, threshold, outside, settle, timeout, |   inconclusive, memory-limit, stale, require-reason, keep-rungs, spend-budget, |   sample-interval, unwinder");
    }

    #[test]
    fn values_of_another_kind() {
        let time = "a time such as `500ms`, `10s` or `2m`";
        let count = "a whole number above zero";
        let size = "a size such as `512MiB` or `2GiB`";
        let power = "a power of two up to 1073741824";
        for (line, expected, found) in [
            ("budget = 10", time, "`10`"),
            ("budget = {}", time, "a table"),
            ("memory-limit = \"2 gigs\"", size, "`2 gigs`"),
            ("threshold = 0", count, "`0`"),
            ("threshold = \"10\"", count, "the string `10`"),
            ("sample-interval = 500", power, "`500` | hint: 512"),
            (
                "unwinder = \"gdb\"",
                "`plimsoll`, `libgcc` or `compare`",
                "`gdb`",
            ),
            ("keep-rungs = 1", "`true` or `false`", "`1`"),
        ] {
            let (key, _) = line.split_once(' ').unwrap();
            let place = format!("plimsoll.toml:2: `{key}`: unexpected value");
            let error = format!("{place} | expected {expected} | found {found}");
            assert_eq!(read(format!("\n{line}")), error);
        }
    }

    #[test]
    fn what_is_no_settings_file() {
        assert_snapshot!(read("budget ="), @"plimsoll.toml:1: not TOML | string values must be quoted, expected literal string");
        assert_snapshot!(read("stale = \"deny\"\nstale = \"warn\""), @"plimsoll.toml:2: not TOML | duplicate key");
        assert_snapshot!(read(b"# \xff"), @"plimsoll.toml:1: not a text file | expected UTF-8, found other bytes");
        assert_snapshot!(read(" ".repeat(MAX_BYTES + 1)), @"plimsoll.toml: too large | expected at most 65536 bytes");
    }

    #[test]
    fn variables() {
        let with = |name: &'static str, text: &'static str| {
            let set = Layer::from_variables([(name.to_owned(), text.to_owned())]);
            set.map(|layer| layer.settings)
        };
        let iterations = with("PLIMSOLL_MAX_ITERATIONS", "1_000").unwrap();
        assert_eq!(iterations.max_iterations, Some(1_000));
        let keep = with("PLIMSOLL_KEEP_RUNGS", "1").unwrap();
        assert_eq!(keep.keep_rungs, Some(true));
        assert_eq!(with("PLIMSOLL_BUDGET", "").unwrap(), Settings::default());
        assert_snapshot!(one_line(&with("PLIMSOLL_BUDGET", "ten\n").unwrap_err().to_string()), @r"PLIMSOLL_BUDGET: unexpected value | expected a time such as `500ms`, `10s` or `2m` | found `ten\n`");
        assert_snapshot!(one_line(&with("PLIMSOLL_SAMPLE_INTERVAL", "500").unwrap_err().to_string()), @"PLIMSOLL_SAMPLE_INTERVAL: unexpected value | expected a power of two up to 1073741824 | found `500` | hint: 512");
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_no_text() {
        use std::os::unix::ffi::OsStringExt;

        let with = |name: &str| {
            let value = OsString::from_vec(b"de\xffny".to_vec());
            Layer::from_variables([(OsString::from(name), value)])
        };
        for (name, expected) in [
            ("PLIMSOLL_STALE", "`warn` or `deny`"),
            ("PLIMSOLL_ISOLATION", "text"),
        ] {
            let found = "found bytes that are not UTF-8";
            let error = format!("{name}: unexpected value\n  expected {expected}\n  {found}");
            assert_eq!(with(name).unwrap_err().to_string(), error);
        }
        assert_snapshot!(one_line(&with("PLIMSOLL_STAL").unwrap_err().to_string()), @"PLIMSOLL_STAL: there is no such variable | hint: PLIMSOLL_STALE?");
        // A variable of somebody else.
        assert_eq!(with("PLIMSOLL_SHA").unwrap(), Layer::default());
    }

    #[test]
    fn misspelt_variables() {
        let with = |name: &str| Layer::from_variables([(name.to_owned(), "1".to_owned())]);
        for (found, nearest) in [
            ("PLIMSOLL_BUGDET", "PLIMSOLL_BUDGET"),
            ("PLIMSOLL_KEEPRUNGS", "PLIMSOLL_KEEP_RUNGS"),
            ("PLIMSOLL_STAL", "PLIMSOLL_STALE"),
            ("PLIMSOLL_STLAE", "PLIMSOLL_STALE"),
            ("PLIMSOLL_TSALE", "PLIMSOLL_STALE"),
            ("PLIMSOLL_BASELINE", "PLIMSOLL_BASELINES"),
            ("PLIMSOLL_Budget", "PLIMSOLL_BUDGET"),
            ("PLIMSOLL_keep-rungs", "PLIMSOLL_KEEP_RUNGS"),
            ("PLIMSOLL_verbose", "PLIMSOLL_VERBOSE"),
        ] {
            let error = with(found).unwrap_err().to_string();
            let expected = format!("{found}: there is no such variable\n  hint: {nearest}?");
            assert_eq!(error, expected);
        }
        // Variables of plimsoll that are not settings, and variables of somebody else.
        let others = "VERBOSE HTTP_TOKEN SHA TLASE RELEASE ".split(' ');
        let others = others.map(|name| format!("PLIMSOLL_{name}"));
        for name in others.chain(["BUGDET".to_owned()]) {
            assert_eq!(with(&name).unwrap(), Layer::default(), "{name}");
        }
    }

    /// Returns each default that is a value, as if the environment had set it.
    fn fallbacks() -> Layer {
        let written = KEYS.iter().filter_map(|key| match key.fallback {
            Fallback::Value(value) => Some((key.variable(), value.to_owned())),
            Fallback::Words(_) => None,
        });
        Layer::from_variables(written).unwrap()
    }

    #[test]
    fn every_setting_sets_its_own() {
        for key in &KEYS {
            assert!(std::ptr::eq(Key::find(key.name).unwrap().name, key.name));
            let text = match key.kind {
                Kind::Time => "7s",
                Kind::Size => "7MiB",
                Kind::Count => "7",
                Kind::SampleInterval => "8",
                Kind::Flag => "true",
                Kind::Word(words) => words[1],
            };
            let layer = Layer::from_variables([(key.variable(), text.to_owned())]);
            let settings = layer.unwrap().settings;
            // Only the field with the same name is set.
            let lines = format!("{settings:#?}");
            let set = lines.lines().filter(|line| line.contains(": Some("));
            let set: Vec<&str> = set.map(str::trim).collect();
            let field = format!("{}: ", key.name.replace('-', "_"));
            let is_alone = set.len() == 1 && set[0].starts_with(&field);
            assert!(is_alone, "{key:?}: {set:?}");
            let of_builder = key.builder.map(|_| (key.name, text.to_owned()));
            assert_eq!(settings.of_builder(), Vec::from_iter(of_builder));
            let both = settings.or(&fallbacks().settings);
            assert_eq!(both.or(&settings), both);
        }
    }

    #[test]
    fn the_one_before_goes_first() {
        let file = |text: &str| Layer::parse(text.as_bytes()).unwrap().settings;
        let package = file("budget = \"1s\"");
        let workspace = file("budget = \"2s\"\nthreshold = 7");
        let both = package.or(&workspace);
        assert_eq!(both.budget, Some(Duration::from_secs(1)));
        assert_eq!(both.threshold, Some(7));
        assert_eq!(Settings::default().or(&both), both);
    }

    proptest! {
        #[test]
        fn no_text_is_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Layer::parse(&bytes);
        }

        #[test]
        fn near_settings_files(
            key in "(budget|stale|threshold|keep-rungs|x)",
            value in "(\"[0-9.]{0,4}(s|ms|GiB|deny)\"|[-0-9_.]{1,5}|true|\\[\\]|\\{\\})",
        ) {
            let file = format!("\n{key} = {value}\n");
            if let Err(error) = Layer::parse(file.as_bytes()) {
                prop_assert_eq!(error.line(), Some(2));
            }
        }
    }
}
