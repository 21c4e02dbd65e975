//! Compares what grows with a run of the base: the report of the commit that a pull request is
//! to be merged into, or of a commit of the default branch before it.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::Cause;
use plimsoll_core::text::words::Words;

use super::entries::{Entry, Kind, Member};
use crate::joined::{Joined, Scenario};

/// The part of its present rate that growth must have had on the base to be the same growth.
/// Rates that depend on timing differ by a few percent from run to run.
const SAME: f64 = 0.8;

/// A run of the base.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// The name of the branch, `main` for example.
    pub branch: String,
    /// The report of the run.
    pub joined: Joined,
}

/// How growth compares with that on the base.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Since {
    /// The base was measured, and this did not grow.
    New,
    /// It grew as much.
    Before,
    /// It grew by this, which is less.
    Faster(String),
    /// The base has no verdict on this scenario.
    Unknown,
}

impl Base {
    /// Returns the base as a part of a sentence.
    pub fn named(&self) -> Words {
        let named = Words::default().say("compared with ").quote(&self.branch);
        match self.commit() {
            Some(commit) => named.say(" at ").quote(commit),
            None => named,
        }
    }

    /// Returns the first digits of the commit that was measured.
    fn commit(&self) -> Option<&str> {
        let source = self.joined.source.as_ref();
        let source = source.map(|source| source.head.as_str());
        let commit = source.or_else(|| self.joined.commits().next())?;
        let is_hex = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| &commit[..commit.len().min(7)])
    }

    /// Returns how an entry compares with the base, as a sentence. `None` if nothing grows.
    pub fn since(&self, entry: &Entry<'_>) -> Option<Words> {
        (entry.kind == Kind::Grows).then_some(())?;
        let since: Vec<Since> = entry.members.iter().map(|one| self.of(one)).collect();
        let new = since.iter().filter(|one| **one == Since::New).count();
        let known = since.iter().filter(|one| **one != Since::Unknown).count();
        let on = |words: &str| Words::default().say(words).quote(&self.branch);
        let words = match (since.as_slice(), new, known) {
            (_, _, 0) => on("Not measured on "),
            (_, new, known) if new == known => Words::default().say("New in this pull request"),
            ([Since::Faster(was)], ..) => {
                let there = format!(", but slower there: {was}");
                on("Already on ").say(there)
            }
            (_, 0, _) => on("Already on "),
            _ => on("Already on ").say(format!(" in {} of {known} scenarios", known - new)),
        };
        Some(words.say("."))
    }

    fn of(&self, member: &Member<'_>) -> Since {
        let Some(cause) = &member.cause else {
            return Since::Unknown;
        };
        let is_same = |other: &&Scenario| {
            let platforms = other
                .platform
                .as_ref()
                .zip(member.scenario.platform.as_ref());
            other.name == member.scenario.name
                && other.package == member.scenario.package
                && other.target == member.scenario.target
                && platforms.is_none_or(|(one, other)| one == other)
        };
        let there = self.joined.scenarios.iter().find(is_same);
        let Some(report) = there.and_then(Scenario::report) else {
            return Since::Unknown;
        };
        let keys: Vec<_> = cause.findings.iter().map(|one| one.cause()).collect();
        let findings = report.of(|finding| {
            keys.contains(&finding.cause())
                && finding.verdict != Verdict::Inconclusive
                && !finding.is_unused()
        });
        let before = (!findings.is_empty()).then_some(Cause { report, findings });
        match (before, report.verdict) {
            (Some(before), _) if is_as_fast(&before, cause) => Since::Before,
            (Some(before), _) => {
                Since::Faster(format!("{} per {}", before.sum().short(), report.per.one()))
            }
            // Whatever did not end with a verdict may have missed it.
            (None, Verdict::Within | Verdict::Improved | Verdict::Regressed) => Since::New,
            (None, _) => Since::Unknown,
        }
    }
}

/// Returns whether growth was about as fast before as it is now.
fn is_as_fast(before: &Cause<'_>, now: &Cause<'_>) -> bool {
    before.sum().weight() >= SAME * now.sum().weight()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::entries::entries;
    use crate::render::fixtures::{joined, regressed, report};
    use plimsoll_core::report::Report;

    /// Returns what is said of a leak of 100 B in these scenarios, after these reports.
    fn since(now: &[&str], before: Vec<Report>) -> String {
        let leak = |name: &&str| regressed(name, &[("main put", 100.0)]);
        let now = joined(now.iter().map(leak).collect());
        let base = Base {
            branch: "main".to_owned(),
            joined: joined(before),
        };
        let since = base.since(&entries(&now)[0]);
        since.map_or(String::new(), |since| since.plain())
    }

    #[test]
    fn growth_is_new_or_was_there() {
        let leaks = |bytes| regressed("a", &[("main put", bytes)]);
        let other = regressed("a", &[("main get", 100.0)]);
        let [within, unsure, broken] =
            [Verdict::Within, Verdict::Inconclusive, Verdict::Broken].map(|one| report("a", one));
        for (before, said) in [
            (vec![within.clone()], "New in this pull request."),
            (vec![other], "New in this pull request."),
            (vec![leaks(99.0)], "Already on main."),
            (vec![leaks(400.0)], "Already on main."),
            (
                vec![leaks(50.0)],
                "Already on main, but slower there: +50 B per iteration.",
            ),
            // Nothing is known of it.
            (vec![unsure], "Not measured on main."),
            (vec![broken], "Not measured on main."),
            (vec![report("b", Verdict::Within)], "Not measured on main."),
            (Vec::new(), "Not measured on main."),
        ] {
            assert_eq!(since(&["a"], before), said);
        }
        let both = |b| vec![leaks(100.0), report("b", b)];
        let one = "Already on main in 1 of 2 scenarios.";
        assert_eq!(since(&["a", "b"], both(Verdict::Within)), one);
        assert_eq!(
            since(&["a", "b"], both(Verdict::Broken)),
            "Already on main."
        );
    }
}
