//! What a run goes by: `PLIMSOLL_*` variables before the scenario's own builder
//! before `plimsoll.toml` before the defaults.

use std::path::Path;
use std::time::Duration;

use super::plan::Plan;
use crate::scenario::{Inconclusive, Options};
use crate::subject::Unwinder;

/// What `plimsoll.toml` or the environment set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) budget: Option<Duration>,
    pub(crate) max_iterations: Option<u64>,
    pub(crate) threshold: Option<u64>,
    pub(crate) sample_interval: Option<u64>,
    pub(crate) settle: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) inconclusive: Option<Inconclusive>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) stale: Option<Stale>,
    pub(crate) keep_rungs: Option<bool>,
    pub(crate) spend_budget: Option<bool>,
    pub(crate) unwinder: Option<Unwinder>,
}

/// What an allowance that is no longer needed does to a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stale {
    /// It passes, and its report says so.
    #[default]
    Warn,
    /// It fails.
    Deny,
}

/// What one scenario is run with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effective {
    pub(crate) budget: Duration,
    pub(crate) max_iterations: u64,
    pub(crate) threshold: Option<u64>,
    /// How to profile, where that was not left to the front.
    pub(crate) plan: Option<Plan>,
    pub(crate) settle: Duration,
    pub(crate) timeout: Duration,
    pub(crate) inconclusive: Inconclusive,
    pub(crate) memory_limit: u64,
    pub(crate) stale: Stale,
    pub(crate) keep_rungs: bool,
    /// Whether a ladder is climbed that is too short for what has to be found.
    pub(crate) spend_budget: bool,
    pub(crate) unwinder: Unwinder,
}

const KEYS: [&str; 12] = [
    "budget",
    "inconclusive",
    "keep-rungs",
    "max-iterations",
    "memory-limit",
    "sample-interval",
    "settle",
    "spend-budget",
    "stale",
    "threshold",
    "timeout",
    "unwinder",
];

impl Settings {
    /// From `plimsoll.toml`'s text.
    ///
    /// # Errors
    ///
    /// A message that names the key: one that is not known, or whose value is
    /// not of its kind.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        let document: toml_edit::DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| error.to_string().trim_end().to_owned())?;
        let mut settings = Settings::default();
        for (key, item) in document.iter() {
            let Some(value) = item.as_value() else {
                return Err(unknown(key));
            };
            let text = match value {
                toml_edit::Value::String(text) => text.value().clone(),
                toml_edit::Value::Integer(number) => number.value().to_string(),
                toml_edit::Value::Boolean(flag) => flag.value().to_string(),
                _ => return Err(format!("`{key}`: expected a string, a number or a boolean")),
            };
            settings
                .set(key, &text)
                .map_err(|message| format!("`{key}`: {message}"))?;
        }
        Ok(settings)
    }

    /// From the environment: `PLIMSOLL_` and a key in capitals.
    ///
    /// # Errors
    ///
    /// A message that names the variable.
    pub(crate) fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for key in KEYS {
            let name = format!("PLIMSOLL_{}", key.replace('-', "_").to_uppercase());
            if let Some(value) = variable(&name).filter(|value| !value.is_empty()) {
                settings
                    .set(key, &value)
                    .map_err(|message| format!("{name}: {message}"))?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "budget" => self.budget = Some(duration(value)?),
            "settle" => self.settle = Some(duration(value)?),
            "timeout" => self.timeout = Some(duration(value)?),
            "max-iterations" => self.max_iterations = Some(positive(value)?),
            "threshold" => self.threshold = Some(positive(value)?),
            "sample-interval" => self.sample_interval = Some(positive(value)?),
            "memory-limit" => self.memory_limit = Some(size(value)?),
            "inconclusive" => {
                self.inconclusive = Some(match value {
                    "fail" => Inconclusive::Fail,
                    "warn" => Inconclusive::Warn,
                    _ => return Err(format!("expected `fail` or `warn`, found `{value}`")),
                });
            }
            "stale" => {
                self.stale = Some(match value {
                    "deny" => Stale::Deny,
                    "warn" => Stale::Warn,
                    _ => return Err(format!("expected `deny` or `warn`, found `{value}`")),
                });
            }
            "unwinder" => {
                let unwinder = Unwinder::from_word(value);
                self.unwinder = Some(unwinder.ok_or_else(|| {
                    format!("expected `plimsoll`, `libgcc` or `compare`\n  found `{value}`")
                })?);
            }
            "keep-rungs" => self.keep_rungs = Some(flag(value)?),
            "spend-budget" => self.spend_budget = Some(flag(value)?),
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// What a scenario is run with, given the settings file and the environment.
    ///
    /// # Errors
    ///
    /// A message, where a sample interval is asked for that jemalloc does not have.
    pub(crate) fn effective(
        file: &Settings,
        environment: &Settings,
        scenario: &Options,
        machine_memory: u64,
    ) -> Result<Effective, String> {
        macro_rules! first {
            ($field:ident) => {
                environment.$field.or(scenario.$field).or(file.$field)
            };
        }
        let plan = first!(sample_interval).map(Plan::fixed).transpose()?;
        let budget = first!(budget).unwrap_or(Duration::from_secs(10));
        Ok(Effective {
            budget,
            max_iterations: first!(max_iterations).unwrap_or(u64::MAX),
            threshold: first!(threshold),
            plan,
            settle: first!(settle).unwrap_or(Duration::from_millis(100)),
            timeout: first!(timeout).unwrap_or(
                budget
                    .saturating_mul(3)
                    .saturating_add(Duration::from_secs(60)),
            ),
            inconclusive: first!(inconclusive).unwrap_or_default(),
            memory_limit: environment
                .memory_limit
                .or(file.memory_limit)
                .unwrap_or(machine_memory),
            stale: environment.stale.or(file.stale).unwrap_or_default(),
            keep_rungs: environment.keep_rungs.or(file.keep_rungs).unwrap_or(false),
            spend_budget: environment
                .spend_budget
                .or(file.spend_budget)
                .unwrap_or(false),
            unwinder: environment.unwinder.or(file.unwinder).unwrap_or_default(),
        })
    }
}

/// Reads the settings file of a folder, if there is one.
pub(crate) fn read_file(path: &Path) -> Result<Settings, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            Settings::parse(&text).map_err(|message| format!("{}: {message}", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn unknown(key: &str) -> String {
    let nearest = KEYS
        .iter()
        .min_by_key(|known| (distance(key, known), **known));
    match nearest.filter(|known| distance(key, known) <= 3) {
        Some(known) => format!("there is no such setting\n  hint: `{known}`?"),
        None => format!(
            "there is no such setting\n  hint: one of {}",
            KEYS.join(", ")
        ),
    }
}

/// Insertions, removals and replacements from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("expected `true` or `false`, found `{value}`")),
    }
}

fn positive(value: &str) -> Result<u64, String> {
    match value.replace('_', "").parse::<u64>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!(
            "expected a whole number above zero, found `{value}`"
        )),
    }
}

/// A number with its unit.
fn quantity<'a>(value: &'a str, what: &str) -> Result<(f64, &'a str), String> {
    let expected = || format!("expected {what}\n  found `{value}`");
    let split = value
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(expected)?;
    let number: f64 = value[..split].trim().parse().map_err(|_| expected())?;
    if number.is_finite() && number > 0.0 {
        Ok((number, &value[split..]))
    } else {
        Err(expected())
    }
}

fn duration(value: &str) -> Result<Duration, String> {
    const WHAT: &str = "a time such as `500ms`, `10s` or `2m`";
    let (number, unit) = quantity(value, WHAT)?;
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(format!("expected {WHAT}\n  found `{value}`")),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and finite, and a float saturates"
)]
fn size(value: &str) -> Result<u64, String> {
    const WHAT: &str = "a size such as `512MiB` or `2GiB`";
    let (number, unit) = quantity(value, WHAT)?;
    let bytes = match unit {
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(format!("expected {WHAT}\n  found `{value}`")),
    };
    Ok((number * bytes) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_sets_what_it_names() {
        let settings = Settings::parse(
            "budget = \"2s\"\nthreshold = 10_000\ninconclusive = \"warn\"\nmemory-limit = \"1.5GiB\"\n",
        )
        .unwrap();
        assert_eq!(settings.budget, Some(Duration::from_secs(2)));
        assert_eq!(settings.threshold, Some(10_000));
        assert_eq!(settings.inconclusive, Some(Inconclusive::Warn));
        assert_eq!(settings.memory_limit, Some(1_610_612_736));
    }

    #[test]
    fn errors_name_the_key_and_what_was_expected() {
        let refused = |text: &str| Settings::parse(text).unwrap_err();
        assert_eq!(
            refused("bugdet = \"2s\""),
            "`bugdet`: there is no such setting\n  hint: `budget`?"
        );
        assert_eq!(
            refused("budget = 10"),
            "`budget`: expected a time such as `500ms`, `10s` or `2m`\n  found `10`"
        );
        assert_eq!(
            refused("threshold = 0"),
            "`threshold`: expected a whole number above zero, found `0`"
        );
        assert_eq!(
            refused("stale = \"no\""),
            "`stale`: expected `deny` or `warn`, found `no`"
        );
        assert!(refused("[budget]").contains("hint"));
    }

    #[test]
    fn a_variable_beats_the_scenario_and_that_the_file() {
        let seconds = |n| Some(Duration::from_secs(n));
        let with = |variable: Option<&str>, scenario: Option<Duration>, file: &str| {
            let environment = Settings::from_environment(|name| {
                variable
                    .filter(|_| name == "PLIMSOLL_BUDGET")
                    .map(str::to_owned)
            });
            let options = Options {
                budget: scenario,
                ..Options::default()
            };
            Settings::effective(
                &Settings::parse(file).unwrap(),
                &environment.unwrap(),
                &options,
                1,
            )
            .unwrap()
            .budget
        };
        assert_eq!(
            with(Some("3s"), seconds(2), "budget = \"1s\""),
            Duration::from_secs(3)
        );
        assert_eq!(
            with(None, seconds(2), "budget = \"1s\""),
            Duration::from_secs(2)
        );
        assert_eq!(with(None, None, "budget = \"1s\""), Duration::from_secs(1));
        assert_eq!(with(None, None, ""), Duration::from_secs(10));
    }

    #[test]
    fn a_sample_interval_is_a_power_of_two() {
        let settings = Settings::default();
        let with = |interval: u64| {
            let options = Options {
                sample_interval: Some(interval),
                ..Options::default()
            };
            Settings::effective(&settings, &settings, &options, 1)
        };
        assert_eq!(with(512).unwrap().plan.unwrap().lg_interval, 9);
        assert_eq!(with(1).unwrap().plan.unwrap().lg_interval, 0);
        assert_eq!(
            with(500).unwrap_err(),
            "a sample interval that jemalloc does not have\n  expected a power of two up to \
             1073741824, found 500\n  hint: 512"
        );
        assert!(with(1 << 31).is_err());
        assert_eq!(
            Settings::effective(&settings, &settings, &Options::default(), 1)
                .unwrap()
                .plan,
            None
        );
    }
}
