//! Causes: findings that share the place to blame. Every output has one entry for each.

use std::cmp::Reverse;

use crate::text::words::Words;

use super::are_by_clock;
use super::evidence::no_rate;
use super::sum::{Amount, Sum};
use crate::blame::Origin;
use crate::rate::to_f64;
use crate::report::units::{count, duration, plural, span};
use crate::report::{Clock, Finding, Report, Standing, Subject, Survivors};
use crate::verdict::Verdict;
use crate::{Lacks, Law, Per};

/// The most functions that are named for one cause.
const MAX_PLACES: usize = 3;

/// Findings of one report that share the place to blame.
#[derive(Clone, Debug)]
pub struct Cause<'a> {
    /// The report of these findings.
    pub report: &'a Report,
    /// At least one finding, in the order of the report.
    pub findings: Vec<&'a Finding>,
}

/// Tells causes apart, also those of different scenarios: what kind of thing grows, and the
/// functions of the place to blame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CauseKey<'a>(Vec<&'a str>);

impl<'a> CauseKey<'a> {
    /// Returns the names that make up the key.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.clone().into_iter()
    }
}

impl Report {
    /// Groups findings by their cause: the worst first, then what rises steadily, and what gains
    /// most.
    pub fn causes<'a>(&'a self, findings: &[&'a Finding]) -> Vec<Cause<'a>> {
        let mut causes: Vec<Cause<'a>> = Vec::new();
        for &finding in findings {
            // It may be what several others share.
            let (same, others): (Vec<Cause<'a>>, _) =
                causes.into_iter().partition(|cause| cause.takes(finding));
            causes = others;
            let all = same.into_iter().flat_map(|cause| cause.findings);
            causes.push(Cause {
                report: self,
                findings: all.chain([finding]).collect(),
            });
        }
        for cause in &mut causes {
            cause.findings.sort_by_key(|one| place_among(findings, one));
        }
        // Equal ones are in the order of their first findings.
        causes.sort_by_key(|cause| {
            let first = cause.first();
            let gains = Reverse(cause.sum().rank());
            let rises = matches!(first.law, Law::Linear | Law::Stepped);
            let place = place_among(findings, first);
            (
                Reverse((first.verdict, rises)),
                first.is_unused(),
                gains,
                place,
            )
        });
        causes
    }
}

impl Finding {
    /// Returns the key of its cause. Lines are not part of it, because those of one function
    /// are not told apart in a stack either.
    pub fn cause(&self) -> CauseKey<'_> {
        // The first word keeps a function from being taken for a resource.
        let mut key = match (&self.subject, &self.blame) {
            (Subject::Resource(resource), _) => {
                // Mappings of another kind have another reason.
                let kind = self.mappings.first().into_iter();
                let kind = kind.flat_map(|of| [of.permissions.as_str(), of.name.as_str()]);
                std::iter::once(resource.many()).chain(kind).collect()
            }
            (_, Some(blame)) => {
                // Whatever a called function allocates is one leak.
                let caller = match (&blame.caller, &blame.origin) {
                    (Some(caller), _) => caller.function.as_str(),
                    (None, Some(Origin::Workload(name) | Origin::Setup(name))) => name,
                    (None, _) => "",
                };
                let called = blame.called.as_ref().filter(|_| !caller.is_empty());
                let function = called.or(blame.at.as_ref());
                vec![
                    "place",
                    caller,
                    function.map_or("", |frame| &frame.function),
                ]
            }
            (Subject::Stack(stack) | Subject::Site { frames: stack, .. }, None) => {
                let names = stack.frames().iter().map(String::as_str);
                std::iter::once("stack").chain(names).collect()
            }
        };
        // What comes with time is not mended where iterations leave something.
        key.extend(self.clock.map(|_| "clock"));
        CauseKey(key)
    }
}

impl<'a> Cause<'a> {
    /// Returns one finding as a cause of its own.
    pub fn of(report: &'a Report, finding: &'a Finding) -> Cause<'a> {
        let findings = vec![finding];
        Cause { report, findings }
    }

    /// Returns whether a finding has this cause: the same place to blame, or the same holder.
    fn takes(&self, finding: &Finding) -> bool {
        let key = finding.cause();
        self.findings.iter().any(|other| {
            let are_alike = other.clock.is_some() == finding.clock.is_some();
            let is_same_place = other.cause() == key && !other.has_other_holder(finding);
            is_same_place || are_alike && other.shares_holder(finding)
        })
    }

    /// Returns whether it has this finding.
    pub fn has(&self, finding: &Finding) -> bool {
        self.findings.iter().any(|own| std::ptr::eq(*own, finding))
    }

    /// Returns the finding that the report lists first.
    pub fn first(&self) -> &'a Finding {
        self.findings[0]
    }

    /// Returns what tells this cause from others.
    pub fn key(&self) -> CauseKey<'a> {
        self.first().cause()
    }

    /// Returns what its findings gain together.
    pub fn sum(&self) -> Sum {
        Sum::of(self.report, &self.findings)
    }

    /// Returns whether it gains something in every iteration, on average.
    pub fn has_rate(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| no_rate(finding).is_none())
    }

    /// Returns whether all of it grows with time, and not with iterations.
    pub fn is_by_clock(&self) -> bool {
        are_by_clock(&self.findings)
    }

    /// Returns `+96 B, +1.00 objects per iteration`, with the first number stressed. Of growth
    /// with time, these are per second.
    pub fn gains(&self) -> Words {
        if let (false, Some(none)) = (self.has_rate(), no_rate(self.first())) {
            return Words::default().say(none);
        }
        let (sum, per) = match self.is_by_clock() {
            true => (Sum::per_second(&self.findings), Per::Second.one()),
            false => (self.sum(), self.report.per.one()),
        };
        let mut amounts = sum.amounts().into_iter();
        let Amount { number, rest } = amounts.next().unwrap_or_default();
        let words = Words::default().stress(number).say(rest);
        let words = amounts.fold(words, |words, Amount { number, rest }| {
            words.say(format!(", {number}{rest}"))
        });
        words.say(format!(" per {per}"))
    }

    /// Returns what the baseline allows: `allowed: 96 B, 1.00 objects`, or that the allowance
    /// has expired.
    pub fn allowed(&self) -> String {
        let amounts = Sum::allowed(&self.findings).amounts();
        // Of nothing, the objects need not be said.
        let is_nothing = self.findings.iter().all(|one| one.allowed.objects == 0.0);
        let shown = if is_nothing { 1 } else { amounts.len() };
        let amounts = amounts.into_iter().take(shown);
        let allowed: Vec<String> = amounts.map(|one| one.number + &one.rest).collect();
        let allowed = allowed.join(", ");
        let is_expired = |finding: &&Finding| finding.standing == Standing::Expired;
        match self.findings.iter().any(is_expired) {
            true => format!("its allowance of {allowed} has expired"),
            false => format!("allowed: {allowed}"),
        }
    }

    /// Returns the place to blame: `lru::put, called from fill at src/lru.rs:14`. If the
    /// function that was called allocates in several others, the first of these are named.
    /// `None` for a resource.
    ///
    /// If it is known what a fix changes, that is the place: where a container is filled.
    pub fn place(&self) -> Option<Words> {
        if let Some(held) = self.findings.iter().find_map(|one| one.held_at()) {
            return Some(held.words());
        }
        let blames = || self.findings.iter().filter_map(|one| one.blame.as_ref());
        let mut names: Vec<&str> = Vec::new();
        for at in blames().filter_map(|blame| blame.at.as_ref()) {
            if !names.contains(&at.function.as_str()) {
                names.push(&at.function);
            }
        }
        let through = blames().find(|blame| blame.called.is_some());
        let (Some(blame), 2..) = (through.or(blames().next()), names.len()) else {
            return self.first().blamed();
        };
        // The function that was called may also allocate itself. It is the place if that is most.
        let called = blame.called.as_ref().map(|called| &*called.function);
        if called == names.first().copied() {
            return self.first().blamed();
        }
        names.retain(|name| called != Some(*name));
        let (shown, rest) = names.split_at(names.len().min(MAX_PLACES));
        let mut words = Words::default();
        for (number, name) in shown.iter().enumerate() {
            words = match (number, rest.is_empty() && number + 1 == shown.len()) {
                (0, _) => words,
                (_, true) => words.say(" and "),
                (_, false) => words.say(", "),
            };
            words = words.quote(*name);
        }
        if !rest.is_empty() {
            let functions = plural(rest.len() as u64, "more function", "more functions");
            words = words.say(format!(" and {functions}"));
        }
        Some(words.join(blame.led_there()))
    }

    /// Returns more facts, each as a sentence fragment: why the place has no lines, how soon a
    /// service runs out of something, who stayed, and what was seen if there is no rate.
    pub fn means(&self) -> Vec<String> {
        let is_sure = self.first().verdict >= Verdict::Regressed;
        let time = self.report.in_service(&self.findings);
        let time = time.filter(|_| is_sure).into_iter();
        let seen = self.report.evidence(self.first());
        let stayed = self.findings.iter().find_map(|one| one.stayed());
        let stayed = stayed.map(|octave| stayed_words(self.report, octave));
        let seen = seen.or_else(|| self.with_time());
        let lacking = self.lacking().into_iter();
        let mapped = self.findings.iter().filter_map(|one| one.grown_mappings());
        let all = lacking.chain(time).chain(seen).chain(stayed);
        all.chain(mapped).collect()
    }

    /// Returns why lines are missing in the place, and how to get them. `None` if none are, or if
    /// the program could not tell more.
    fn lacking(&self) -> Option<String> {
        let lacks = self.findings.iter().filter_map(|one| one.lacks).max()?;
        let why = match lacks {
            Lacks::SplitFiles => "the `.dwo` files of the program were not found",
            Lacks::DebugInfo => "the program has no debug information",
            Lacks::Stripped => "the program is stripped",
        };
        let how = match self.report.again() {
            Some(_) => "; the command that measures it again gives them",
            None => "",
        };
        Some(format!("lines are missing: {why}{how}"))
    }

    /// Returns how long growth with time was followed, and what else looks like it.
    fn with_time(&self) -> Option<String> {
        let clock = self.first().clock.filter(|_| self.is_by_clock())?;
        let followed = duration(to_f64(clock.followed));
        let forgets = match clock.is_long() {
            true => "for longer".to_owned(),
            false => format!("for up to {}", duration(to_f64(Clock::LONG))),
        };
        Some(format!(
            "it grows with time, not with iterations, and was followed for {followed}; a table \
             that keeps its entries {forgets} looks like this too"
        ))
    }

    /// Returns how the growth goes: `linear over 65,536 iterations, every allocation counted`. No
    /// allocation is counted of a resource.
    pub fn course(&self) -> String {
        let law = self.first().law;
        let iterations = self.report.per.count(self.report.iterations());
        let course = format!("{law} over {iterations}");
        match self.first().is_heap() {
            true => format!("{course}, {}", self.report.counting()),
            false => course,
        }
    }
}

/// Returns the place of a finding among others.
fn place_among(findings: &[&Finding], finding: &Finding) -> usize {
    let is_it = |one: &&Finding| std::ptr::eq(*one, finding);
    findings.iter().position(is_it).unwrap_or(usize::MAX)
}

/// Returns `born in iterations 8,193–16,384: 8,192 allocated, 82 alive at 65,536`.
fn stayed_words(report: &Report, octave: &Survivors) -> String {
    let about = if report.is_sampled() { "about " } else { "" };
    let allocated = match octave.allocated {
        Some(objects) => format!("{} allocated, ", count(objects)),
        None => String::new(),
    };
    let alive = match octave.alive.objects {
        0 => "none".to_owned(),
        objects => format!("{about}{}", count(objects)),
    };
    format!(
        "born in {} {}: {allocated}{alive} alive at {}",
        report.per.many(),
        span(octave.from, octave.to),
        count(report.iterations())
    )
}
