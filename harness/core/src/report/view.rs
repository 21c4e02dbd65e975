//! The statements that every output makes about a scenario and about each finding.
//!
//! ```text
//! Report ─► outcome      the first statement: what happened, and how it was measured
//!        ─► selections   findings of one kind: growing, stale, unsure, …
//!        ─► accept       the command to run
//! Finding ─► amounts     +96 B ± 1 B, +1.00 objects
//!         ─► allowance, standing, place, over, moved
//!         ─► sentence    all of these in one sentence
//! ```
//!
//! An output decides where these statements go, and escapes what is quoted. It has no words of
//! its own for a fact, so no two outputs disagree, and a new output needs no words.

mod sum;

use std::borrow::Cow;

use plimsoll_text::escape::command_word;
use plimsoll_text::words::Words;

pub use self::sum::{Amount, Sum, counted, is_one, total};
use super::units::{bytes, count, objects, plural, size, visible_with_rarest};
use super::{
    BASELINE, Check, CheckOutcome, Failure, Finding, LadderEnd, Report, Standing, Subject,
};
use crate::Frame;
pub use crate::finding::each_stack_once;
use crate::verdict::Verdict;

/// The first statement about a scenario, in parts that each output puts together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// `2 stacks keep growing`. These words are plimsoll's.
    pub said: String,
    /// The failure of the workload, if there is one. This text is the report's.
    pub cause: Option<String>,
    /// `(65,536 iterations, exact)`. Empty if nothing was measured, or if `said` contains it.
    pub conditions: String,
}

impl Outcome {
    /// Returns one line in which nothing is escaped.
    pub fn plain(&self) -> String {
        let mut line = self.said.clone();
        if let Some(cause) = &self.cause {
            line += ": ";
            line += cause;
        }
        if !self.conditions.is_empty() {
            line += " ";
            line += &self.conditions;
        }
        line
    }
}

impl Report {
    /// Returns the first statement about the scenario.
    pub fn outcome(&self) -> Outcome {
        let conditions = self.conditions();
        let (said, cause) = match self.verdict {
            Verdict::Within => return self.within(),
            Verdict::Improved => {
                return Outcome {
                    said: are(self.stale().len().max(1), "is", "are") + " no longer needed",
                    conditions: conditions + &ended(self.end),
                    ..Outcome::default()
                };
            }
            Verdict::Inconclusive => match self.unsure().as_slice() {
                [] => ("too little was measured to tell".to_owned(), None),
                unsure => (unsure_words(unsure), None),
            },
            Verdict::Regressed => (self.regressed(), None),
            Verdict::Failed => match &self.failure {
                Some(failed) => (format!("failed {}", failed.at()), Some(failed.what.clone())),
                None => ("failed".to_owned(), None),
            },
            Verdict::Broken if self.lacks_baseline() => {
                ("its baseline cannot be used".to_owned(), None)
            }
            Verdict::Broken => ("the measurement cannot be trusted".to_owned(), None),
        };
        let conditions = match cause.is_some() || self.lacks_baseline() {
            true => String::new(),
            false => conditions,
        };
        Outcome {
            said,
            cause,
            conditions,
        }
    }

    fn within(&self) -> Outcome {
        let allowed = self.of(|finding| finding.standing != Standing::Stale);
        let grows = match allowed.as_slice() {
            [] => "nothing grows".to_owned(),
            allowed => allowance_words(allowed),
        };
        let sampled = self.sampled_every();
        let sampled = sampled.map_or(String::new(), |every| format!(" sampled every {every}"));
        let seen = self.seen();
        let seen = seen.map_or(String::new(), |seen| format!("; would have seen {seen}"));
        let iterations = plural(self.iterations(), "iteration", "iterations");
        Outcome {
            said: format!("{iterations}{sampled}, {grows}{seen}{}", ended(self.end)),
            ..Outcome::default()
        }
    }

    /// Returns `2 stacks keep growing, 1 allowance has expired`.
    fn regressed(&self) -> String {
        let (expired, mut growing) = (self.expired(), self.past());
        growing.retain(|finding| finding.standing != Standing::Expired);
        let mut parts = Vec::new();
        if !growing.is_empty() {
            let verb = if is_one(&growing) { "keeps" } else { "keep" };
            parts.push(format!("{} {verb} growing", counted(&growing, "")));
        }
        if !expired.is_empty() {
            parts.push(are(expired.len(), "has", "have") + " expired");
        }
        match parts.is_empty() {
            true => "regressed".to_owned(),
            false => parts.join(", "),
        }
    }

    /// Returns `(65,536 iterations, exact)`, or nothing if nothing was measured.
    fn conditions(&self) -> String {
        let mut parts = Vec::new();
        if let n @ 1.. = self.iterations() {
            parts.push(plural(n, "iteration", "iterations"));
        }
        match (self.sampled_every(), &self.measured) {
            (Some(every), _) => parts.push(format!("sampled every {every}")),
            (None, Some(_)) => parts.push("exact".to_owned()),
            (None, None) => {}
        }
        match parts.join(", ") {
            none if none.is_empty() => none,
            parts => format!("({parts})"),
        }
    }

    /// Returns the sample interval, such as `4 KiB`. `None` if every allocation was counted.
    pub fn sampled_every(&self) -> Option<String> {
        let measured = self.measured.as_ref().filter(|_| self.is_sampled())?;
        Some(size(measured.sample_interval))
    }

    /// Returns the iterations at the last rung.
    pub fn iterations(&self) -> u64 {
        self.rungs.last().map_or(0, |rung| rung.iterations)
    }

    /// Returns the smallest growth that the run would have seen.
    pub fn seen(&self) -> Option<String> {
        visible_with_rarest(self.visible?, self.rarest)
    }

    /// Returns why a sampled run was too short, and which length is enough.
    pub fn too_few_for_the_interval(&self) -> Option<String> {
        let needed = count(self.iterations_needed()?);
        let every = self.sampled_every()?;
        Some(format!(
            "sampled every {every}, that takes {needed} iterations: fewer leave too few samples \
             of small objects"
        ))
    }

    /// Returns the growth that the run has to find.
    pub fn to_be_found(&self) -> String {
        let iterations = plural(self.threshold.iterations, "iteration", "iterations");
        format!("1 object or 8 B per {iterations}")
    }

    /// Returns the findings for which `wanted` is true, in their order.
    pub fn of(&self, wanted: impl Fn(&Finding) -> bool) -> Vec<&Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| wanted(finding)).collect()
    }

    /// Returns the findings that exceed their allowance, including expired allowances that
    /// nothing uses.
    pub fn past(&self) -> Vec<&Finding> {
        self.of(|finding| finding.verdict >= Verdict::Regressed)
    }

    /// Returns the findings that exceed their allowance and grow.
    pub fn growing(&self) -> Vec<&Finding> {
        self.of(|finding| finding.verdict >= Verdict::Regressed && !finding.is_unused())
    }

    /// Returns the findings about expired allowances, used or not.
    pub fn expired(&self) -> Vec<&Finding> {
        let mut past = self.past();
        past.retain(|finding| finding.standing == Standing::Expired);
        past
    }

    /// Returns whether nothing is wrong except that allowances have expired.
    pub fn is_only_expired(&self) -> bool {
        let past = self.past();
        !past.is_empty() && past.len() == self.expired().len()
    }

    /// Returns the findings about allowances that nothing uses any more and that have not
    /// expired.
    pub fn stale(&self) -> Vec<&Finding> {
        self.of(|finding| finding.standing == Standing::Stale)
    }

    /// Returns the findings that may or may not be growing.
    pub fn unsure(&self) -> Vec<&Finding> {
        self.of(|finding| finding.verdict == Verdict::Inconclusive)
    }

    /// Returns the findings with the worst verdict, without those about unused allowances.
    pub fn telling(&self) -> Vec<&Finding> {
        let worst = self.findings.iter().map(|finding| finding.verdict).max();
        self.of(|finding| Some(finding.verdict) == worst && !finding.is_unused())
    }

    /// Returns the checks with this outcome.
    pub fn checks(&self, outcome: CheckOutcome) -> impl Iterator<Item = &Check> {
        let checks = self.checks.iter();
        checks.filter(move |check| check.outcome == outcome)
    }

    /// Returns whether nothing was measured because the baseline cannot be used.
    pub fn lacks_baseline(&self) -> bool {
        let mut failed = self.checks(CheckOutcome::Failed);
        failed.any(|check| check.name == BASELINE)
    }

    /// Returns what to do about growth or about a stale allowance: why, and the command,
    /// without the options that name a package or a reason. `None` if there is nothing to
    /// accept. Also `None` if no scenario can have this name, because a pasted command must
    /// not contain foreign text.
    pub fn accept(&self) -> Option<(&'static str, String)> {
        let command = format!("cargo plimsoll accept {}", command_word(&self.scenario)?);
        match self.verdict {
            Verdict::Regressed if self.past().iter().all(|finding| finding.is_unused()) => {
                Some(("to remove what has expired", command))
            }
            Verdict::Regressed if self.has_lapsed() => {
                Some(("if this is intended", command + " --expires YYYY-MM-DD"))
            }
            Verdict::Regressed => Some(("if this is intended", command)),
            Verdict::Improved => Some(("to remove what is stale", command)),
            _ => None,
        }
    }

    /// Returns the sentence about one finding, without a full stop.
    pub fn sentence(&self, finding: &Finding) -> Words {
        let allowed = finding.allowance();
        let mut words = if finding.is_unused() {
            let words = Words::default().say("an allowance of ").stress(allowed);
            words.say(match finding.standing {
                Standing::Expired => " per iteration has expired, and nothing uses it",
                _ => " per iteration is no longer needed",
            })
        } else {
            let mut amounts = self.amounts(finding).into_iter();
            let first = amounts.next().unwrap_or_default();
            let first = Words::default().stress(first.number).say(first.rest);
            let words = amounts.fold(first, |words, amount| {
                words.say(format!(", {}{}", amount.number, amount.rest))
            });
            words.say(format!(
                " per iteration, {}; allowed: {allowed} ({})",
                finding.law,
                finding.standing.meaning()
            ))
        };
        if let Some(place) = finding.blamed() {
            words = words.say("; in ").join(place);
        }
        if let Some(over) = finding.over() {
            words = words.say(", ").say(over);
        }
        if let Some(reason) = &finding.reason {
            words = words.say("; accepted because ").quote(reason);
        }
        words
    }

    /// Returns the growth of a finding, such as `+96 B, +1.00 objects per iteration, linear`.
    /// `between` separates the amounts.
    pub fn growth_of(&self, finding: &Finding, between: &str) -> String {
        if finding.is_unused() {
            return "no longer grows".to_owned();
        }
        let amounts = self.amounts(finding).into_iter();
        let amounts: Vec<String> = amounts.map(|one| one.number + &one.rest).collect();
        format!("{} per iteration, {}", amounts.join(between), finding.law)
    }

    /// Returns what a finding gains per iteration, with the error if the profile was sampled.
    pub fn amounts(&self, finding: &Finding) -> Vec<Amount> {
        Sum::of(self, &[finding]).amounts()
    }
}

impl LadderEnd {
    /// Returns why the ladder ended.
    pub fn why(self) -> &'static str {
        match self {
            LadderEnd::Settled => "nothing grows, and enough was seen to say so",
            LadderEnd::Budget => "the budget was spent",
            LadderEnd::OutOfReach => "the budget is too small",
            LadderEnd::Iterations => "`max-iterations` was reached",
            LadderEnd::Memory => "the memory limit was reached",
            LadderEnd::Threads => "the subject had as many threads as it may have",
            LadderEnd::Descriptors => "the subject had as many open files as it may have",
            LadderEnd::Failure => "the workload or the measurement failed",
        }
    }

    /// Returns whether growth ended the ladder.
    pub fn is_by_growth(self) -> bool {
        matches!(
            self,
            LadderEnd::Memory | LadderEnd::Threads | LadderEnd::Descriptors
        )
    }

    /// Returns what would give an inconclusive run a verdict, if its ladder ended this way.
    pub fn advice(self) -> &'static str {
        match self {
            LadderEnd::Budget => {
                "the time budget was spent first: raise it, or make an iteration cheaper"
            }
            LadderEnd::OutOfReach => {
                "the time budget is too small for that, and was not spent: raise it, or make an \
                 iteration cheaper"
            }
            LadderEnd::Iterations => "`max_iterations` was reached first: raise it",
            LadderEnd::Memory => {
                "the memory limit was reached first: raise it, or keep less alive in the scenario"
            }
            LadderEnd::Threads => "the subject had as many threads as it may have: do they end?",
            LadderEnd::Descriptors => {
                "the subject had as many open files as it may have: are they closed?"
            }
            LadderEnd::Settled | LadderEnd::Failure => "raise the budget",
        }
    }
}

impl Failure {
    /// Returns `in iteration 7`, or `setting up`.
    pub fn at(&self) -> String {
        match self.iteration {
            Some(iteration) => format!("in iteration {}", count(iteration)),
            None => "setting up".to_owned(),
        }
    }
}

impl Check {
    /// Returns what to do if this check failed.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.name.as_str() {
            "profiling" => {
                "look for `prof:false` in PLIMSOLL_MALLOC_CONF, and for a jemalloc that was built \
                 without its `profiling` feature"
            }
            "canary" => {
                "allocations do not all reach the profile: is another allocator installed, or \
                 does the workload turn `prof.active` off?"
            }
            "coverage" => {
                "memory grows that no stack accounts for: another arena, another copy of \
                 jemalloc, threads of a sampled profile that end before their first sample, or \
                 threads that jemalloc was told not to profile"
            }
            "unwinder" => "stacks cannot be walked; the notes say which unwinder was tried",
            BASELINE => "nothing was measured: fix the file, or restore its last version",
            "dump" | "dumps" => {
                "a dump could not be read: is the disk full, or was the subject killed?"
            }
            _ => return None,
        })
    }
}

impl Standing {
    /// Returns the meaning of its word.
    pub fn meaning(self) -> &'static str {
        match self {
            Standing::New => "not in the baseline",
            Standing::Allowed => "within its allowance",
            Standing::Exceeded => "past its allowance",
            Standing::Moved => "its allowance is for another caller",
            Standing::Expired => "its allowance has expired",
            Standing::Stale => "its allowance is no longer needed",
        }
    }
}

impl Finding {
    /// Returns whether its levels are objects and bytes of the heap, and not threads or files.
    pub fn is_heap(&self) -> bool {
        self.subject.stack().is_some()
    }

    /// Returns what the baseline allows per iteration: `96 B, 1.00 objects`, or `1.00` for
    /// threads.
    pub fn allowance(&self) -> String {
        let allowed = self.allowed;
        match self.is_heap() {
            false if allowed.objects == 0.0 => "0".to_owned(),
            false => objects(allowed.objects),
            true if allowed.objects == 0.0 => bytes(allowed.bytes),
            true => {
                let (bytes, objects) = (bytes(allowed.bytes), objects(allowed.objects));
                format!("{bytes}, {objects} objects")
            }
        }
    }

    /// Returns the place to blame, down to the line of the reader's own code. `None` for a
    /// resource.
    ///
    /// ```text
    /// jobs::push at src/jobs.rs:7
    /// tokio::task::spawn::spawn, called from jobs::start at src/jobs.rs:41
    /// minijinja::vm::build_macro, through minijinja::Template::render, called from …
    /// want::new at want-0.3.1/src/lib.rs:8, in a thread of want, which hyper needs
    /// ```
    pub fn blamed(&self) -> Option<Words> {
        let at = |words: Words, function: &str, place: Option<String>| {
            let words = words.quote(function);
            match place {
                Some(place) => words.say(" at ").quote(place),
                None => words,
            }
        };
        let Some(blame) = &self.blame else {
            let (function, place) = self.place()?;
            return Some(at(Words::default(), function, place));
        };
        let place = blame.at.place().filter(|_| blame.caller.is_none());
        let mut words = at(Words::default(), &blame.at.function, place);
        if let Some(called) = &blame.called {
            words = words.say(", through ").quote(&called.function);
        }
        if let Some(caller) = &blame.caller {
            words = at(
                words.say(", called from "),
                &caller.function,
                caller.place(),
            );
        }
        if let Some(krate) = &blame.thread_of {
            words = words.say(", in a thread of ").quote(krate);
        }
        if let Some(krate) = &blame.needed_by {
            words = words.say(", which ").quote(krate).say(" needs");
        }
        Some(words)
    }

    /// Returns the function to blame and its line, which are text of the report. `None` for a
    /// resource.
    pub fn place(&self) -> Option<(&str, Option<String>)> {
        if let Some(blame) = &self.blame {
            return Some((&blame.at.function, blame.at.place()));
        }
        if let Some(frame) = self.frames.first() {
            return Some((&frame.function, frame.place()));
        }
        let leaf = self.subject.stack()?.leaf();
        (!leaf.is_empty()).then_some((leaf, None))
    }

    /// Returns the function to blame, or the resource.
    pub fn name(&self) -> &str {
        match self.subject {
            Subject::Threads => "threads",
            Subject::Descriptors => "file descriptors",
            _ => self.place().map_or("", |(function, _)| function),
        }
    }

    /// Returns its frames, leaf first. For an allowance that nothing uses, these are the
    /// frames of the baseline, without lines.
    pub fn frames(&self) -> Cow<'_, [Frame]> {
        match self.subject.stack() {
            Some(stack) if self.frames.is_empty() => {
                let names = stack.frames().iter().rev();
                let frame = |name: &String| Frame {
                    function: name.clone(),
                    file: None,
                    line: None,
                };
                Cow::Owned(names.map(frame).collect())
            }
            _ => Cow::Borrowed(&self.frames),
        }
    }

    /// Returns over how many stacks it is a sum.
    pub fn over(&self) -> Option<String> {
        let Subject::Site { stacks, .. } = self.subject else {
            return None;
        };
        let stacks = plural(stacks as u64, "stack", "stacks");
        Some(format!("over {stacks} of this allocation site"))
    }

    /// Returns where its allowance moved from, and where to.
    pub fn moved(&self) -> Option<Words> {
        let (Subject::Stack(new), Some(old)) = (&self.subject, &self.moved_from) else {
            return None;
        };
        let caller = |words: Words, name: Option<&str>| match name {
            Some(name) => words.quote(name),
            None => words.say("no caller"),
        };
        let words = Words::default().quote(new.leaf()).say(" moved from ");
        let words = caller(words, old.caller_apart_from(new)).say(" to ");
        Some(caller(words, new.caller_apart_from(old)))
    }
}

/// Returns `2 allowances are`.
pub(super) fn are(n: usize, one: &str, many: &str) -> String {
    let verb = if n == 1 { one } else { many };
    format!("{} {verb}", plural(n as u64, "allowance", "allowances"))
}

/// Returns `2 stacks grow within their allowances`.
pub(super) fn allowance_words(findings: &[&Finding]) -> String {
    let counted = counted(findings, "");
    match is_one(findings) {
        true => format!("{counted} grows within its allowance"),
        false => format!("{counted} grow within their allowances"),
    }
}

/// Returns `2 stacks cannot be told from their own fluctuation`.
pub(super) fn unsure_words(findings: &[&Finding]) -> String {
    let their = if is_one(findings) { "its" } else { "their" };
    let counted = counted(findings, "");
    format!("{counted} cannot be told from {their} own fluctuation")
}

/// Returns why the ladder ended, unless enough was seen or something failed.
fn ended(end: LadderEnd) -> String {
    match end {
        LadderEnd::Settled | LadderEnd::Failure => String::new(),
        end => format!("; {}", end.why()),
    }
}
