//! Reads a counter from a server's metrics, in Prometheus's text format.
//!
//! ```text
//! # TYPE http_requests_total counter
//! http_requests_total{method="get",code="200"} 1027 1395066363000
//! ```
//!
//! A line is a name, labels if there are any, a number and perhaps a time. Lines that are
//! something else are skipped.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use plimsoll_core::text::sink::cut;
use plimsoll_core::to_u64;
use plimsoll_desk::out::safe_line;

/// The largest page of metrics that is read, in bytes.
pub(crate) const MOST: u64 = 64 << 20;

/// Labels with their values.
type Labels = Vec<(String, String)>;

/// How many names are suggested where a counter is missing.
const SUGGESTED: usize = 3;

/// The counter that growth is measured by: the sum of all series with this name and labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    pub(crate) name: String,
    labels: Labels,
}

/// Why a page of metrics has no value of a counter.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    /// The page has no metrics. This is its first line.
    NoMetrics(String),
    Missing {
        counter: String,
        /// The names that resemble it.
        close: Vec<String>,
    },
    /// There are series of this name, with other labels.
    OtherLabels {
        counter: String,
        series: String,
    },
    NoCount {
        series: String,
        value: String,
    },
}

impl FromStr for Counter {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match series(text.trim()) {
            Some((name, labels, "")) => Ok(Counter {
                name: name.to_owned(),
                labels,
            }),
            _ => Err("expected a counter such as `http_requests_total` or \
                 `http_requests_total{code=\"200\"}`"),
        }
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let labels: Vec<String> = self
            .labels
            .iter()
            .map(|(label, value)| format!("{label}={value:?}"))
            .collect();
        match labels.is_empty() {
            true => Ok(()),
            false => write!(f, "{{{}}}", labels.join(",")),
        }
    }
}

impl Counter {
    /// Returns the value of the counter on a page of metrics.
    pub(crate) fn value(&self, page: &str) -> Result<u64, Problem> {
        let mut names = BTreeSet::new();
        let mut sum = None;
        let mut other = None;
        for line in page.lines().map(str::trim) {
            let Some((name, labels, value)) = series(line) else {
                continue;
            };
            let Some(value) = value.split_whitespace().next() else {
                continue;
            };
            let Ok(number) = value.parse::<f64>() else {
                continue;
            };
            names.insert(name);
            if name != self.name {
                continue;
            }
            let series = cut(&safe_line(line), 200);
            if !self.labels.iter().all(|label| labels.contains(label)) {
                other.get_or_insert(series);
            } else if number.is_finite() && number >= 0.0 {
                *sum.get_or_insert(0.0) += number;
            } else {
                let value = value.to_owned();
                return Err(Problem::NoCount { series, value });
            }
        }
        let counter = self.to_string();
        match (sum, other) {
            (Some(sum), _) => Ok(to_u64(sum)),
            (None, Some(series)) => Err(Problem::OtherLabels { counter, series }),
            (None, None) if names.is_empty() => {
                let mut lines = page.lines().map(str::trim);
                let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
                Err(Problem::NoMetrics(safe_line(first)))
            }
            (None, None) => Err(Problem::Missing {
                counter,
                close: close(&self.name, &names),
            }),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoMetrics(line) => {
                let found = match line.is_empty() {
                    true => "nothing".to_owned(),
                    false => format!("`{}`", cut(line, 80)),
                };
                write!(
                    f,
                    "expected metrics in Prometheus's text format, found {found}\n  hint: \
                     --metrics takes the address of the server's metrics"
                )
            }
            Problem::Missing { counter, close } => {
                write!(
                    f,
                    "expected the counter `{counter}`, found no series of that name"
                )?;
                match close.is_empty() {
                    true => Ok(()),
                    false => write!(f, "\n  hint: did you mean `{}`?", close.join("`, `")),
                }
            }
            Problem::OtherLabels { counter, series } => write!(
                f,
                "expected the counter `{counter}`, found other labels: `{series}`"
            ),
            Problem::NoCount { series, value } => write!(
                f,
                "expected a count of `{series}`, found `{value}`\n  hint: --per takes a counter, \
                 which only ever rises"
            ),
        }
    }
}

impl std::error::Error for Problem {}

/// Splits a series into its name, its labels and what follows.
fn series(text: &str) -> Option<(&str, Labels, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut labels = Labels::new();
    let Some(mut rest) = rest.trim_start().strip_prefix('{') else {
        return Some((name, labels, rest.trim()));
    };
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((name, labels, after.trim()));
        }
        let (label, quoted) = rest.split_once('=')?;
        let mut value = String::new();
        let mut chars = quoted.trim_start().strip_prefix('"')?.chars();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => value.push(match chars.next()? {
                    'n' => '\n',
                    other => other,
                }),
                other => value.push(other),
            }
        }
        labels.push((label.trim().to_owned(), value));
        rest = chars.as_str();
    }
}

/// Returns the names that share most words with this one.
fn close(name: &str, names: &BTreeSet<&str>) -> Vec<String> {
    let words = |name: &str| -> BTreeSet<String> {
        let words = name.split(['_', ':']).filter(|word| *word != "total");
        let alike = |word: &str| word.trim_end_matches('s').to_ascii_lowercase();
        words.map(alike).collect()
    };
    let asked = words(name);
    let mut close: Vec<(usize, usize, &str)> = names
        .iter()
        .filter_map(|name| {
            let words = words(name);
            let shared = asked.intersection(&words).count();
            (shared > 0).then_some((asked.len() - shared, words.len() - shared, *name))
        })
        .collect();
    close.sort_unstable();
    let close = close.into_iter().take(SUGGESTED);
    close.map(|(_, _, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"
# HELP http_requests_total Requests, by "code".
# TYPE http_requests_total counter
http_requests_total{method="get",code="200"} 1027 1395066363000
http_requests_total { method = "post" , code="400", } 3.0e0
http_request_seconds_count 12
http_request_seconds_sum 0.5 # {trace="a"} 0.5
path_total{path="C:\\DIR\\\"a}\n"} 7
broken_total NaN
up 1
"#;

    #[test]
    fn counters() {
        let value = |counter: &str| {
            let counter: Counter = counter.parse().unwrap();
            let found = counter.value(PAGE);
            found.map_or_else(|why| why.to_string(), |value| value.to_string())
        };
        let counters = [
            "http_requests_total",
            r#"http_requests_total{code="200"}"#,
            r#"http_requests_total{code="400",method="post"}"#,
            "http_request_seconds_sum",
            r#"path_total{path="C:\\DIR\\\"a}\n"}"#,
            r#"http_requests_total{code="500"}"#,
            "http_request_total",
            "queries",
            "broken_total",
        ];
        insta::assert_snapshot!(counters.map(value).join("\n"), @r#"
        1030
        1027
        3
        0
        7
        expected the counter `http_requests_total{code="500"}`, found other labels: `http_requests_total{method="get",code="200"} 1027 1395066363000`
        expected the counter `http_request_total`, found no series of that name
          hint: did you mean `http_requests_total`, `http_request_seconds_count`, `http_request_seconds_sum`?
        expected the counter `queries`, found no series of that name
        expected a count of `broken_total NaN`, found `NaN`
          hint: --per takes a counter, which only ever rises
        "#);
    }

    #[test]
    fn pages_without_metrics() {
        let counter: Counter = "up".parse().unwrap();
        for (page, line) in [
            ("", ""),
            ("\n<!DOCTYPE html>\n<p>up 1</p>", "<!DOCTYPE html>"),
            ("{\"status\":\"ok\"}", "{\"status\":\"ok\"}"),
        ] {
            let found = counter.value(page);
            assert_eq!(found, Err(Problem::NoMetrics(line.to_owned())));
        }
    }

    #[test]
    fn no_counters() {
        for text in [
            "",
            "9_total",
            "up{",
            "up{a=b}",
            "up{a=\"b}",
            "up 1",
            "rate(up[1m])",
        ] {
            assert!(text.parse::<Counter>().is_err(), "{text}");
        }
    }
}
