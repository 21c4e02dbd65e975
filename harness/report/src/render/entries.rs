//! What needs a person: one entry for each cause, whichever scenarios it is in.
//!
//! ```text
//! Joined ─► entries   the worst first, each with its scenarios, the worst first
//! Entry  ─► title     🔴 +96 B, +1.00 objects per iteration (allowed: 0 B) in 10 scenarios
//!        ─► place, means, steps, again
//! ```
//!
//! A failed scenario has an entry for its failure, and its growth counts among the causes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::view::{Cause, Step, Sum, measure_again};
use plimsoll_core::report::{CheckOutcome, Report, Standing};
use plimsoll_core::text::escape::command_word;
use plimsoll_core::text::words::Words;

use crate::joined::{Joined, Outcome, Scenario, need};

/// The most scenarios that one command names. The commands of further scenarios look alike.
const MAX_NAMED: usize = 40;

/// The kind of an entry. Kinds are in the order in which entries are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The measurement cannot be trusted.
    Broken,
    /// The workload failed.
    Failed,
    /// Something grows past its allowance.
    Grows,
    /// Allowances have expired, and nothing uses them.
    Expired,
    /// The run could not tell whether something grows.
    Unsure,
    /// No report was left.
    NoResult,
}

/// One thing that needs a person.
#[derive(Debug)]
pub struct Entry<'a> {
    pub kind: Kind,
    /// At least one scenario, the worst first.
    pub members: Vec<Member<'a>>,
}

/// A scenario of an entry.
#[derive(Debug)]
pub struct Member<'a> {
    /// The index of the scenario.
    pub place: usize,
    pub scenario: &'a Scenario,
    /// What grows; `None` if the entry is about the whole scenario.
    pub cause: Option<Cause<'a>>,
}

/// Returns the index of every scenario, the one that needs a person most first. Of scenarios
/// with the same verdict, the one that grows most comes first.
pub fn worst_first(joined: &Joined) -> Vec<usize> {
    let mut order: Vec<usize> = (0..joined.scenarios.len()).collect();
    order.sort_by_cached_key(|&place| {
        let scenario = &joined.scenarios[place];
        let growth = |report: &Report| Sum::of(report, &report.growing()).rank();
        let growth = scenario.report().map_or(0, growth);
        (Reverse((need(scenario.verdict()), growth)), place)
    });
    order
}

/// Returns the entries, the one that needs a person most first.
pub fn entries(joined: &Joined) -> Vec<Entry<'_>> {
    let mut all: BTreeMap<(Kind, Vec<String>), Vec<Member<'_>>> = BTreeMap::new();
    for place in worst_first(joined) {
        let scenario = &joined.scenarios[place];
        for (kind, key, cause) in of_scenario(scenario) {
            let members = all.entry((kind, key)).or_default();
            members.push(Member {
                place,
                scenario,
                cause,
            });
        }
    }
    let entry = |((kind, _), members)| Entry { kind, members };
    let mut entries: Vec<Entry<'_>> = all.into_iter().map(entry).collect();
    for entry in &mut entries {
        // Stable: equal ones stay in the order of scenarios.
        entry.members.sort_by_key(|member| Reverse(member.weight()));
    }
    entries.sort_by_key(|entry| {
        let first = &entry.members[0];
        (entry.kind, Reverse(first.weight()), first.place)
    });
    entries
}

/// Returns what one scenario adds to the entries: each with its kind, and with what makes it
/// the same entry as that of another scenario.
fn of_scenario(scenario: &Scenario) -> Vec<(Kind, Vec<String>, Option<Cause<'_>>)> {
    let report = match &scenario.outcome {
        Outcome::NoResult(_) => return vec![(Kind::NoResult, Vec::new(), None)],
        Outcome::Report(report) => report,
    };
    let causes = |kind, findings: &[_]| {
        let causes = report.causes(findings).into_iter();
        let keyed = causes.map(move |cause| {
            let key = cause.key().names().map(str::to_owned).collect();
            (kind, key, Some(cause))
        });
        keyed.collect::<Vec<_>>()
    };
    let alone = |kind| (kind, vec![scenario.name.clone()], None);
    match report.verdict {
        Verdict::Within | Verdict::Improved => Vec::new(),
        Verdict::Broken => {
            let failed = report.checks(CheckOutcome::Failed);
            let checks = failed.flat_map(|check| [check.name.clone(), check.detail.clone()]);
            vec![(Kind::Broken, checks.collect(), None)]
        }
        Verdict::Failed => {
            let what = report.failure.as_ref().map(|failure| failure.what.clone());
            let mut all = vec![(Kind::Failed, what.into_iter().collect(), None)];
            all.extend(causes(Kind::Grows, &report.growing()));
            all
        }
        Verdict::Regressed => {
            let mut all = causes(Kind::Grows, &report.growing());
            if report.past().iter().any(|finding| finding.is_unused()) {
                all.push((Kind::Expired, Vec::new(), None));
            }
            if all.is_empty() {
                all.push(alone(Kind::Grows));
            }
            all
        }
        Verdict::Inconclusive => match report.unsure().as_slice() {
            [] => vec![alone(Kind::Unsure)],
            unsure => causes(Kind::Unsure, unsure),
        },
    }
}

impl<'a> Member<'a> {
    /// Returns the report, if there is one.
    pub fn report(&self) -> Option<&'a Report> {
        self.scenario.report()
    }

    /// Returns what entries and members are ordered by, in millionths of a byte per iteration.
    fn weight(&self) -> i128 {
        self.cause.as_ref().map_or(0, |cause| cause.sum().rank())
    }
}

impl<'a> Entry<'a> {
    /// Returns the scenario that is worst.
    pub fn worst(&self) -> &Member<'a> {
        &self.members[0]
    }

    /// Returns what grows in the worst scenario.
    pub fn cause(&self) -> Option<&Cause<'a>> {
        self.worst().cause.as_ref()
    }

    /// Returns the verdict that the entry stands for.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.kind {
            Kind::Broken => Some(Verdict::Broken),
            Kind::Failed => Some(Verdict::Failed),
            Kind::Grows | Kind::Expired => Some(Verdict::Regressed),
            Kind::Unsure => Some(Verdict::Inconclusive),
            Kind::NoResult => None,
        }
    }

    /// Returns the scenarios as part of a sentence: `jobs`, or `10 scenarios, most in jobs`.
    pub fn scenarios(&self, titles: &[String]) -> Words {
        let worst = &titles[self.worst().place];
        let words = Words::default();
        match self.members.len() {
            1 => words.quote(worst),
            n => {
                let words = words.say(plural(n as u64, "scenario", "scenarios"));
                match self.differ() {
                    true => words.say(", most in ").quote(worst),
                    false => words,
                }
            }
        }
    }

    /// Returns whether its scenarios gain different amounts.
    pub fn differ(&self) -> bool {
        let rates = self.members.iter().map(|member| {
            let cause = member.cause.as_ref();
            cause.map(|cause| cause.gains().plain())
        });
        let mut rates = rates.peekable();
        let first = rates.peek().cloned().flatten();
        rates.any(|rate| rate != first)
    }

    /// Returns the first statement: `+96 B, +1.00 objects per iteration (allowed: 0 B)`, or
    /// what happened to the worst scenario.
    pub fn title(&self) -> Words {
        let report = self.worst().report();
        match (self.kind, self.cause(), report) {
            (Kind::Grows, Some(cause), _) => self.grows(cause),
            (Kind::Unsure, Some(cause), _) => {
                let by = if cause.has_rate() { "may grow by " } else { "" };
                let words = Words::default().say(by).join(cause.gains());
                words.say(format!(" ({})", cause.allowed()))
            }
            (Kind::Expired, ..) => {
                let findings = self.members.iter().filter_map(Member::report);
                let unused = findings
                    .flat_map(Report::past)
                    .filter(|one| one.standing == Standing::Expired && one.is_unused());
                let n = unused.count() as u64;
                let allowances = plural(n, "allowance has", "allowances have");
                let them = if n == 1 { "it" } else { "them" };
                Words::default().say(format!("{allowances} expired, and nothing uses {them}"))
            }
            (.., Some(report)) => {
                let words = report.outcome().said;
                let check = report.checks(CheckOutcome::Failed).next();
                match check.filter(|_| self.kind == Kind::Broken) {
                    Some(check) => words.say(": the check ").quote(&check.name).say(" failed"),
                    None => words,
                }
            }
            (.., None) => Words::default().say("no result"),
        }
    }

    /// Returns the reasons why scenarios have no result, in the order in which they first occur,
    /// each with its scenarios.
    pub fn reasons(&self) -> Vec<(&'a str, Vec<&Member<'a>>)> {
        let mut reasons: Vec<(&str, Vec<&Member<'_>>)> = Vec::new();
        for member in &self.members {
            let Outcome::NoResult(why) = &member.scenario.outcome else {
                continue;
            };
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, members)) => members.push(member),
                None => reasons.push((why, vec![member])),
            }
        }
        reasons
    }

    /// Returns what a cause gains, at most in one of its scenarios.
    pub fn grows(&self, cause: &Cause<'_>) -> Words {
        let up_to = if self.differ() { "up to " } else { "" };
        let words = Words::default().say(up_to).join(cause.gains());
        words.say(format!(" ({})", cause.allowed()))
    }

    /// Returns what the growth means: for a service, by who stayed, and how exact it is.
    pub fn means(&self) -> Vec<String> {
        let Some(cause) = self.cause() else {
            return Vec::new();
        };
        let sampled = cause.report.sampled_every().map(|every| {
            format!("estimated from one sample every {every}; the number behind ± is the error")
        });
        cause.means().into_iter().chain(sampled).collect()
    }

    /// Returns why the growth may be that of a cache.
    pub fn filling(&self) -> Option<String> {
        let cause = self.cause().filter(|_| self.kind == Kind::Grows)?;
        cause.report.may_be_filling(&cause.findings)
    }

    /// Returns what to do, in order.
    pub fn steps(&self, joined: &Joined) -> Vec<Step> {
        let again = self.again().filter(|_| self.kind != Kind::Expired);
        let again = again.map(|command| Step {
            to: "measure it again",
            command,
        });
        self.accept(joined).into_iter().chain(again).collect()
    }

    /// Returns how to accept its growth, or to remove what has expired, with one command for all
    /// of its scenarios.
    pub fn accept(&self, joined: &Joined) -> Option<Step> {
        let mut steps = self.members.iter().filter_map(|member| {
            let step = member
                .report()?
                .accept(&options(joined, member.scenario)?)?;
            Some((member.scenario.name.as_str(), step))
        });
        let (first, mut step) = steps.next()?;
        // The scenario's name stands once in each command, behind the same words.
        let head = format!("cargo plimsoll accept {first}");
        let rest = step.command.strip_prefix(&head)?.to_owned();
        let mut names = vec![first];
        for (name, other) in steps {
            let head = format!("cargo plimsoll accept {name}");
            let is_alike = other.command.strip_prefix(&head) == Some(&rest);
            // The same scenario on another platform has the same baseline.
            if is_alike && names.len() < MAX_NAMED && !names.contains(&name) {
                names.push(name);
            }
        }
        let names = names.join(" ");
        step.command = format!("cargo plimsoll accept {names}{rest}");
        Some(step)
    }

    /// Returns the command that measures the worst scenario again.
    pub fn again(&self) -> Option<String> {
        let scenario = self.worst().scenario;
        match scenario.report() {
            Some(report) => report.again(),
            None => {
                let (package, target) = (&scenario.package, &scenario.target);
                measure_again(package, target, &scenario.name, "debug", &[], None)
            }
        }
    }
}

/// Returns the options that tell a scenario from others of the same name. `None` if a name
/// cannot be typed safely.
pub fn options(joined: &Joined, scenario: &Scenario) -> Option<String> {
    let same = |other: &&Scenario| other.name == scenario.name;
    let namesakes = || joined.scenarios.iter().filter(same);
    let mut options = String::new();
    if namesakes().any(|other| other.package != scenario.package) {
        options += &format!(" --package {}", command_word(&scenario.package)?);
    }
    if namesakes().any(|other| other.target != scenario.target) {
        options += &format!(" --test {}", command_word(&scenario.target)?);
    }
    Some(options)
}
