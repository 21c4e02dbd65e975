//! The conditions of `--fail-on 'growth > 1MiB'`.

use std::str::FromStr;

use plimsoll_core::report::units::{bytes, count, plural, signed_bytes};
use plimsoll_core::to_u64;
use plimsoll_profile::{Calls, Measure, Names, Profile};

use plimsoll_desk::out::safe_line;
use plimsoll_desk::status::Refused;

/// A condition on growth. All its parts must hold for one stack, or all for the total. If the
/// condition names both, each part must hold for the one that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    parts: Vec<Part>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    of: Of,
    /// Whether the limit itself already exceeds it, as with `>=`.
    or_equal: bool,
    limit: Limit,
}

/// The growth that a part is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// That of a stack, or the total.
    Any,
    Stack,
    Total,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Bytes(f64),
    Objects(f64),
    /// A share of the size before, in bytes.
    Percent(f64),
}

const EXPECTED: &str = "expected a condition such as `growth > 1MiB`, `stack growth >= 500 \
                        objects` or `total growth > 10% and growth > 1MiB`";

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(" and ").map(part).collect::<Option<Vec<Part>>>();
        Ok(Gate {
            parts: parts.ok_or(EXPECTED)?,
            text: text.trim().to_owned(),
        })
    }
}

fn part(text: &str) -> Option<Part> {
    let (subject, limit) = text.split_once('>')?;
    let words: Vec<&str> = subject.split_whitespace().collect();
    let of = match words.as_slice() {
        ["growth"] => Of::Any,
        ["stack", "growth"] => Of::Stack,
        ["total", "growth"] => Of::Total,
        _ => return None,
    };
    let (or_equal, limit) = match limit.strip_prefix('=') {
        Some(limit) => (true, limit.trim()),
        None => (false, limit.trim()),
    };
    let limit = if let Some(percent) = limit.strip_suffix('%') {
        Limit::Percent(number(percent)?)
    } else if let Some(objects) = limit
        .strip_suffix("objects")
        .or(limit.strip_suffix("object"))
    {
        Limit::Objects(number(objects)?)
    } else {
        Limit::Bytes(bytes_of(limit)?)
    };
    Some(Part {
        of,
        or_equal,
        limit,
    })
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    // A comma may only separate thousands: `1,5MiB` is not 15 MiB.
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut thousands = whole.split(',').skip(1);
    if fraction.contains(',') || thousands.any(|group| group.len() != 3) {
        return None;
    }
    let number: f64 = text.replace(['_', ','], "").parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// Parses a size such as `1MiB`, `500 kB` or `4096`.
fn bytes_of(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|char: char| char.is_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1_048_576.0,
        "g" | "gib" => 1_073_741_824.0,
        "t" | "tib" => 1_099_511_627_776.0,
        _ => return None,
    };
    number(digits).map(|number| number * unit)
}

/// Parses a size of the command line that may have a fraction.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    bytes_of(text).ok_or_else(|| "expected a size such as `4GiB` or `500MB`".to_owned())
}

/// Parses a size of the command line.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    Ok(to_u64(rate(text)?.min(1e18)))
}

/// Objects and bytes, before and after.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    before: [f64; 2],
    after: [f64; 2],
}

impl Change {
    fn gained(&self, what: usize) -> f64 {
        self.after[what] - self.before[what]
    }

    fn without_losses(&mut self) {
        for (after, before) in self.after.iter_mut().zip(self.before) {
            *after = after.max(before);
        }
    }
}

const OBJECTS: usize = 0;
const BYTES: usize = 1;

impl Limit {
    /// Returns the index of the quantity that it limits.
    fn of(self) -> usize {
        match self {
            Limit::Objects(_) => OBJECTS,
            Limit::Bytes(_) | Limit::Percent(_) => BYTES,
        }
    }

    fn measure(self, asked: Measure) -> Measure {
        measures(asked)[self.of()]
    }
}

impl Part {
    fn holds(&self, of: Of, change: &Change) -> bool {
        if self.of != Of::Any && self.of != of {
            return false;
        }
        let gained = change.gained(self.limit.of());
        let limit = match self.limit {
            Limit::Objects(limit) | Limit::Bytes(limit) => limit,
            Limit::Percent(limit) => change.before[BYTES].max(0.0) * limit / 100.0,
        };
        // A stack that did not grow exceeds no limit, not even 0.
        gained > 0.0 && (gained > limit || self.or_equal && gained >= limit)
    }
}

/// The growth that conditions are checked against.
#[derive(Clone, Copy, Debug)]
pub struct Grown<'a> {
    pub calls: &'a Calls<'a>,
    pub names: &'a Names,
    /// The measure that was asked for. It decides between live memory and all that was ever
    /// allocated.
    pub measure: Measure,
    /// Whether stacks that shrank count as unchanged.
    pub drop_negative: bool,
}

/// Returns the measures of objects and bytes: of live memory, or of all that was ever
/// allocated.
fn measures(asked: Measure) -> [Measure; 2] {
    match asked {
        Measure::AllocObjects | Measure::AllocSpace => [Measure::AllocObjects, Measure::AllocSpace],
        _ => [Measure::InuseObjects, Measure::InuseSpace],
    }
}

impl Gate {
    /// Checks that a profile counts what the condition is about. Otherwise the condition could
    /// never hold.
    pub fn check(&self, name: &str, profile: &Profile, asked: Measure) -> anyhow::Result<()> {
        let has = &profile.measures[..];
        let mut wanted = self.parts.iter().map(|part| part.limit.measure(asked));
        match wanted.find(|wanted| !has.contains(wanted)) {
            Some(wanted) if !profile.is_empty() => {
                let has: Vec<&str> = has.iter().map(|measure| measure.name()).collect();
                Err(Refused::usage(format!(
                    "--fail-on '{}': expected a profile with {wanted}, found that {name} has {}",
                    self.text,
                    has.join(", ")
                )))
            }
            _ => Ok(()),
        }
    }

    /// Tells whether the condition holds for a stack. If it names both stack and total, its
    /// parts for the total are checked against the total: one growth is never both, so the
    /// condition could never hold.
    fn holds_of_stack(&self, stack: &Change, total: &Change) -> bool {
        let names = |of: Of| self.parts.iter().any(|part| part.of == of);
        let is_of_both = names(Of::Stack) && names(Of::Total);
        let mut parts = self.parts.iter();
        parts.all(|part| part.holds(Of::Stack, stack) || is_of_both && part.holds(Of::Total, total))
    }

    /// Returns a message if the condition holds. It names the stack that grew most.
    pub fn holds(&self, grown: Grown<'_>) -> Option<String> {
        let Grown { calls, names, .. } = grown;
        let measures = measures(grown.measure);
        let change_at = |place: usize| {
            let held = calls.held(place);
            let mut change = Change {
                before: measures.map(|measure| held.before.get(measure)),
                after: measures.map(|measure| held.after.get(measure)),
            };
            if grown.drop_negative {
                change.without_losses();
            }
            change
        };
        let changes = || (0..calls.len()).map(|place| (place, change_at(place)));
        let mut total = Change::default();
        for (_, change) in changes() {
            for what in [OBJECTS, BYTES] {
                total.before[what] += change.before[what];
                total.after[what] += change.after[what];
            }
        }
        let mut worst: Option<(usize, Change)> = None;
        let mut stacks = 0;
        for (place, change) in changes().filter(|(_, one)| self.holds_of_stack(one, &total)) {
            stacks += 1;
            let gained = |one: &Change| (one.gained(BYTES), one.gained(OBJECTS));
            if worst.is_none_or(|(_, known)| gained(&change) > gained(&known)) {
                worst = Some((place, change));
            }
        }
        if let Some((place, change)) = worst {
            let leaf_first = calls.leaf_first(place).map(|name| names.get(name));
            let mut stack: Vec<&str> = leaf_first.take(3).collect();
            stack.reverse();
            let more = match stacks - 1 {
                0 => String::new(),
                more => format!(", and {}", plural(more, "other stack", "other stacks")),
            };
            return Some(format!(
                "{}: {} of {}{more}",
                self.text,
                said(&change),
                safe_line(&stack.join(";"))
            ));
        }
        let holds = self.parts.iter().all(|part| part.holds(Of::Total, &total));
        holds.then(|| format!("{}: {} in all", self.text, said(&total)))
    }
}

/// Formats a change, such as `+1.5 MiB, +300 objects, from 4 MiB`. Objects are left out if
/// none were counted.
fn said(change: &Change) -> String {
    let gained = signed_bytes(change.gained(BYTES));
    let from = bytes(change.before[BYTES]);
    if change.before[OBJECTS] == 0.0 && change.after[OBJECTS] == 0.0 {
        return format!("{gained}, from {from}");
    }
    let objects = to_u64(change.gained(OBJECTS).abs().round());
    let sign = match change.gained(OBJECTS) {
        ..0.0 => '-',
        _ => '+',
    };
    format!("{gained}, {sign}{} objects, from {from}", count(objects))
}
