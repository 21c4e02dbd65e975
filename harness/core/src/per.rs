//! What rates are per, and what a ladder counts.

use std::fmt;

use serde::Serialize;

/// The longest name of a counter, in bytes.
const MAX_NAME: usize = 200;

/// What rates are per. A test counts the iterations of a workload. A server is measured by time,
/// or by a counter that it publishes.
///
/// ```
/// use plimsoll_core::Per;
/// let requests: Per = "http_requests_total".parse().unwrap();
/// assert_eq!(requests.count(1_024), "1,024 http_requests");
/// assert_eq!(format!("per {}", requests.one()), "per http_request");
/// assert_eq!(Per::default().count(1), "1 iteration");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(try_from = "String", into = "String")]
pub enum Per {
    /// An iteration of a scenario.
    #[default]
    Iteration,
    /// A second of a server's time.
    Second,
    /// One more of a counter of a server, by its name in the Prometheus text format. The name may
    /// have labels: `http_requests_total{code="200"}`.
    Counter(Counter),
}

/// The name of a counter: letters, digits, `_` and `:`, as in the Prometheus text format; then
/// labels in braces, if there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter(String);

/// A name that is none of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCounter(String);

impl Per {
    /// Returns whether rates are per iteration.
    pub fn is_iteration(&self) -> bool {
        *self == Per::Iteration
    }

    /// Returns the noun for one: `iteration`, `second`, `http_request`.
    pub fn one(&self) -> &str {
        match self {
            Per::Iteration => "iteration",
            Per::Second => "second",
            Per::Counter(counter) => {
                let many = counter.many();
                let one = many.strip_suffix('s').filter(|one| !one.ends_with('s'));
                one.filter(|one| !one.is_empty()).unwrap_or(many)
            }
        }
    }

    /// Returns the noun for several: `iterations`, `seconds`, `http_requests`.
    pub fn many(&self) -> &str {
        match self {
            Per::Iteration => "iterations",
            Per::Second => "seconds",
            Per::Counter(counter) => counter.many(),
        }
    }

    /// Returns the word by which files name it: `iteration`, `second`, or the counter's name.
    pub fn as_str(&self) -> &str {
        match self {
            Per::Iteration | Per::Second => self.one(),
            Per::Counter(Counter(name)) => name,
        }
    }
}

impl Counter {
    fn many(&self) -> &str {
        let name = self.0.split('{').next().unwrap_or_default();
        name.strip_suffix("_total")
            .filter(|short| !short.is_empty())
            .unwrap_or(name)
    }
}

impl std::str::FromStr for Per {
    type Err = NoCounter;

    fn from_str(name: &str) -> Result<Per, NoCounter> {
        let (plain, labels) = match name.split_once('{') {
            Some((plain, labels)) => (plain, labels.strip_suffix('}')),
            None => (name, Some("")),
        };
        let is_first = |c: char| c.is_ascii_alphabetic() || "_:".contains(c);
        let is_next = |c: char| is_first(c) || c.is_ascii_digit();
        let is_plain = plain.starts_with(is_first) && plain.chars().all(is_next);
        let is_label = |c: char| c.is_ascii_graphic() || c == ' ';
        match name {
            "iteration" => Ok(Per::Iteration),
            "second" => Ok(Per::Second),
            _ if name.len() <= MAX_NAME
                && is_plain
                && labels.is_some_and(|labels| labels.chars().all(is_label)) =>
            {
                Ok(Per::Counter(Counter(name.to_owned())))
            }
            name => Err(NoCounter(name.chars().take(MAX_NAME).collect())),
        }
    }
}

impl TryFrom<String> for Per {
    type Error = NoCounter;

    fn try_from(name: String) -> Result<Per, NoCounter> {
        name.parse()
    }
}

impl From<Per> for String {
    fn from(per: Per) -> String {
        per.as_str().to_owned()
    }
}

impl fmt::Display for NoCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected the name of a counter (letters, digits, `_` and `:`), found {:?}",
            self.0
        )
    }
}

impl std::error::Error for NoCounter {}
