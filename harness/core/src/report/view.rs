//! The statements that every output makes about a scenario, its causes and its findings.
//!
//! ```text
//! Report ─► outcome      the first statement: the verdict with its number, and the place
//!        ─► selections   findings of one kind: growing, stale, unsure, …
//!        ─► causes       findings that share the place to blame
//!        ─► accept, again  the commands to run
//! Cause  ─► gains, allowed, place, means, course
//! Finding ─► allowance, standing, blamed, over, moved
//! frames  ─► collapse     which are listed, and which are only counted
//! ```
//!
//! Every output has the same order: verdict and number; place; what it means; what to do; how
//! to measure it again; then stacks and pictures.
//!
//! An output decides where these statements go, and escapes what is quoted. It has no words of
//! its own for a fact, so no two outputs disagree, and a new output needs no words.

mod advice;
mod cause;
pub mod collapse;
mod command;
mod evidence;
mod held;
mod memory;
mod output;
mod sum;

use std::borrow::Cow;

use crate::text::words::Words;

pub use self::cause::{Cause, CauseKey};
pub use self::command::{Step, measure_again};
pub use self::held::Node;
pub use self::memory::Resident;
pub use self::output::shortened;
pub(crate) use self::output::{Excerpt, excerpt};
pub use self::sum::{Amount, Sum, counted, is_one, total};
use super::units::{bytes, count, objects, plural, size, visible_with_rarest};
use super::{BASELINE, Check, CheckOutcome, Finding, LOAD, LadderEnd, Report, Standing, Subject};
use crate::blame::{Blame, Origin};
pub use crate::finding::each_stack_once;
use crate::growth::Unit;
use crate::judge::DEFAULT_OUTSIDE;
use crate::verdict::Verdict;
use crate::{FoldedStack, Frame, Law, Per, Resource};

/// The first statement about a scenario, in parts that each output puts together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// `keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B)`.
    pub said: Words,
    /// `lru::put, called from fill at src/lru.rs:14`, if one cause is to blame.
    pub place: Option<Words>,
    /// `(65,536 iterations, every allocation counted)`. Empty if nothing was measured, or if
    /// `said` contains it.
    pub conditions: String,
}

impl Outcome {
    /// Returns one sentence without a full stop.
    pub fn sentence(&self) -> Words {
        let mut words = self.said.clone();
        if let Some(place) = &self.place {
            words = words.say(" in ").join(place.clone());
        }
        if !self.conditions.is_empty() {
            words = words.say(format!(" {}", self.conditions));
        }
        words
    }
}

impl Report {
    /// Returns the first statement about the scenario.
    pub fn outcome(&self) -> Outcome {
        let said = |words: String| Words::default().say(words);
        let alone = |said: Words| Outcome {
            said,
            ..Outcome::default()
        };
        let mut place = None;
        let words = match self.verdict {
            Verdict::Within => return alone(said(self.within())),
            Verdict::Improved => {
                let are = are(self.stale().len().max(1), "is", "are");
                said(format!("{are} no longer needed{}", ended(self.end)))
            }
            Verdict::Inconclusive => {
                let unsure = self.unsure();
                let by_clock = unsure.iter().copied().filter(|one| one.clock.is_some());
                let by_clock: Vec<&Finding> = by_clock.collect();
                let told = if by_clock.is_empty() {
                    &unsure
                } else {
                    &by_clock
                };
                if let [cause] = self.causes(told).as_slice() {
                    place = cause.place();
                }
                match unsure.as_slice() {
                    [] => said("too little was measured to tell".to_owned()),
                    _ if !by_clock.is_empty() => self.with_time(&by_clock),
                    unsure => said(unsure_words(unsure)),
                }
            }
            Verdict::Regressed => {
                if let [cause] = self.causes(&self.growing()).as_slice() {
                    place = cause.place();
                }
                self.regressed()
            }
            Verdict::Failed => {
                let at = self.failed_at().unwrap_or_default();
                let words = said(format!("failed {at}").trim_end().to_owned());
                let words = match &self.failure {
                    Some(failure) => words.say(": ").quote(&failure.what),
                    None => words,
                };
                return alone(match self.growing().as_slice() {
                    [] => words,
                    growing => words.say(format!("; until then {}", keeps(growing, "kept"))),
                });
            }
            Verdict::Broken if self.lacks_baseline() => {
                return alone(said("its baseline cannot be used".to_owned()));
            }
            Verdict::Broken => said("the measurement cannot be trusted".to_owned()),
        };
        Outcome {
            said: words,
            place,
            conditions: self.conditions(),
        }
    }

    fn within(&self) -> String {
        let allowed = self.of(|finding| finding.standing != Standing::Stale);
        let grows = match allowed.as_slice() {
            [] => "nothing grows".to_owned(),
            allowed => allowance_words(allowed),
        };
        let sampled = self.sampled_every();
        let sampled = sampled.map_or(String::new(), |every| format!(" sampled every {every}"));
        let seen = self.seen();
        let seen = seen.map_or(String::new(), |seen| format!("; would have seen {seen}"));
        let iterations = self.per.count(self.iterations());
        format!("{iterations}{sampled}, {grows}{seen}{}", ended(self.end))
    }

    /// Returns `keeps growing by +96 B per iteration (allowed: 0 B)`, or for several causes
    /// `2 stacks keep growing, +1.2 KiB per iteration together`; and how many allowances have
    /// expired that nothing uses any more.
    fn regressed(&self) -> Words {
        let growing = self.growing();
        let causes = self.causes(&growing);
        let words = match causes.as_slice() {
            [] => None,
            [cause] => Some(
                Words::default()
                    .say(if cause.has_rate() {
                        "keeps growing by "
                    } else {
                        "keeps growing: "
                    })
                    .join(cause.gains())
                    .say(format!(" ({})", cause.allowed())),
            ),
            _ => {
                let words = Words::default().say(format!("{}, ", keeps(&growing, "keep")));
                Some(words.join(self.together(&growing)))
            }
        };
        let unused = self.past().len() - growing.len();
        let expired = (unused > 0).then(|| are(unused, "has", "have") + " expired");
        match (words, expired) {
            (Some(words), Some(expired)) => words.say(format!(", {expired}")),
            (Some(words), None) => words,
            (None, Some(expired)) => Words::default().say(expired),
            (None, None) => Words::default().say("regressed"),
        }
    }

    /// Returns `+96 B per iteration together`; per second, where it grows with time.
    fn together(&self, growing: &[&Finding]) -> Words {
        let is_by_clock = |finding: &&Finding| finding.clock.is_some();
        let (by_clock, by_iterations): (Vec<_>, Vec<_>) =
            growing.iter().copied().partition(is_by_clock);
        let by_iterations = (
            &by_iterations,
            Sum::of(self, &by_iterations),
            self.per.one(),
        );
        let by_clock = (&by_clock, Sum::per_second(&by_clock), Per::Second.one());
        let mut words = Words::default();
        for (findings, sum, per) in [by_iterations, by_clock] {
            if findings.is_empty() {
                continue;
            }
            if words != Words::default() {
                words = words.say(", and ");
            }
            words = words.stress(sum.short()).say(format!(" per {per}"));
        }
        words.say(" together")
    }

    /// Returns what is said first of growth with time of which nobody knows whether it ends.
    fn with_time(&self, unsure: &[&Finding]) -> Words {
        let words = match self.causes(unsure).as_slice() {
            [cause] => Words::default().say("grows by ").join(cause.gains()),
            _ => {
                let grow = if is_one(unsure) { "grows" } else { "grow" };
                let words = Words::default().say(format!("{} {grow} by ", counted(unsure, "")));
                words.join(self.together(unsure))
            }
        };
        words.say("; it was not followed for long enough to tell whether that ends")
    }

    /// Returns `(65,536 iterations, every allocation counted)`, or nothing if nothing was
    /// measured.
    fn conditions(&self) -> String {
        match (self.iterations(), &self.measured) {
            (0, _) | (_, None) => String::new(),
            (n, Some(_)) => {
                let iterations = self.per.count(n);
                format!("({iterations}, {})", self.counting())
            }
        }
    }

    /// Returns how allocations were counted.
    pub fn counting(&self) -> String {
        match self.sampled_every() {
            Some(every) => format!("estimated from one sample every {every}"),
            None => "every allocation counted".to_owned(),
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

    /// Returns the smallest growth that the run would have seen; outside the allocator too, if that
    /// is another growth than by default.
    pub fn seen(&self) -> Option<String> {
        let on_heap = visible_with_rarest(self.visible?, self.rarest, &self.per)?;
        let outside = self.seen_outside();
        let outside = outside.filter(|_| self.threshold.outside != Some(DEFAULT_OUTSIDE));
        Some(match outside {
            Some(outside) => format!("{on_heap}, or {outside}"),
            None => on_heap,
        })
    }

    /// Returns the smallest growth outside the allocator that the run would have seen.
    fn seen_outside(&self) -> Option<String> {
        let (least, per) = (size(self.threshold.outside?), self.per.one());
        Some(format!("{least} per {per} outside the allocator"))
    }

    /// Returns why a sampled run was too short, and which length is enough.
    pub fn too_few_for_the_interval(&self) -> Option<String> {
        let needed = count(self.iterations_needed()?);
        let every = self.sampled_every()?;
        Some(format!(
            "sampled every {every}, that takes {needed} {}: fewer leave too few samples of small \
             objects",
            self.per.many()
        ))
    }

    /// Returns the growth that the run has to find. `None` for a server, of which a dump shows
    /// what it shows, and if all that is not decided grows with time.
    pub fn to_be_found(&self) -> Option<String> {
        let iterations = match self.threshold.iterations {
            1 => self.per.one().to_owned(),
            several => self.per.count(several),
        };
        let unsure = self.unsure();
        let is_by_clock = !unsure.is_empty() && are_by_clock(&unsure);
        let is_asked = self.per.is_iteration() && !is_by_clock;
        let is_outside = |one: &&Finding| one.subject == Subject::Resource(Resource::Outside);
        let outside = unsure.iter().any(is_outside).then(|| self.seen_outside());
        let outside = outside.flatten();
        let outside = outside.map_or(String::new(), |least| format!(", and {least}"));
        is_asked.then(|| format!("1 object or 8 B per {iterations}{outside}"))
    }

    /// Returns `in iteration 7`, or `setting up`; nothing if the run did not fail.
    pub fn failed_at(&self) -> Option<String> {
        Some(match self.failure.as_ref()?.iteration {
            Some(n) if self.per.is_iteration() => format!("in iteration {}", count(n)),
            Some(n) => format!("after {}", self.per.count(n)),
            None => "setting up".to_owned(),
        })
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

    /// Returns the findings that exceed their allowance and grow, whether or not the workload
    /// failed later.
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
    pub(crate) fn lacks_baseline(&self) -> bool {
        let mut failed = self.checks(CheckOutcome::Failed);
        failed.any(|check| check.name == BASELINE)
    }

    /// Returns the sentence about one finding, without a full stop.
    pub fn sentence(&self, finding: &Finding) -> Words {
        let mut words = match finding.is_unused() {
            true => finding.unused(&self.per),
            false => {
                let gains = Cause::of(self, finding).gains();
                gains.say(format!(
                    ", {}; allowed: {} ({})",
                    finding.law,
                    finding.allowance(),
                    finding.standing.meaning()
                ))
            }
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
    pub fn growth_of(&self, finding: &Finding) -> String {
        if finding.is_unused() {
            return "no longer grows".to_owned();
        }
        let gains = Cause::of(self, finding).gains();
        format!("{}, {}", gains.plain(), finding.law)
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
            LadderEnd::Threads => "the next rung could need more threads than the subject may have",
            LadderEnd::Descriptors => {
                "the next rung could need more open files than the subject may have"
            }
            LadderEnd::Mappings => {
                "the next rung could need more mappings than the subject may have"
            }
            LadderEnd::Failure => "the workload or the measurement failed",
        }
    }

    /// Returns whether growth ended the ladder.
    pub fn is_by_growth(self) -> bool {
        matches!(
            self,
            LadderEnd::Memory | LadderEnd::Threads | LadderEnd::Descriptors | LadderEnd::Mappings
        )
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
            "allocator" => {
                "leave the other allocator out of what is measured: put its `#[global_allocator]` \
                 behind a feature"
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
            LOAD => {
                "without its load, a server shows no growth: make the command run until it is ended"
            }
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
    /// Returns whether its levels are objects and bytes of the heap, and not of a resource.
    pub fn is_heap(&self) -> bool {
        self.subject.stack().is_some()
    }

    /// Returns what the baseline allows per iteration: `96 B, 1.00 objects`, or `1.00` for
    /// threads.
    pub fn allowance(&self) -> String {
        let allowed = self.allowed;
        if self.subject.unit() == Some(Unit::Bytes) {
            return bytes(allowed.bytes);
        }
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

    /// Returns what is said of an allowance that nothing uses.
    pub fn unused(&self, per: &Per) -> Words {
        let words = Words::default().say("an allowance of ");
        let words = words
            .stress(self.allowance())
            .say(format!(" per {} ", per.one()));
        words.say(match self.standing {
            Standing::Expired => "has expired, and nothing uses it",
            _ => "is no longer needed",
        })
    }

    /// Returns the place to blame, down to the line of the reader's own code. `None` for a
    /// resource.
    ///
    /// ```text
    /// jobs::push at src/jobs.rs:7
    /// tokio::task::spawn::spawn, called from jobs::start at src/jobs.rs:41
    /// minijinja::vm::build_macro, through minijinja::Template::render, called from …
    /// tokio::task::spawn::spawn, called from the workload `pages`
    /// want::new at want-0.3.1/src/lib.rs:8, in a thread of want, which hyper needs
    /// ```
    pub fn blamed(&self) -> Option<Words> {
        let Some(blame) = &self.blame else {
            return match self.frames.first() {
                Some(frame) => Some(at_line(Words::default(), frame)),
                None if self.is_heap() && !self.name().is_empty() => {
                    Some(Words::default().quote(self.name()))
                }
                None => None,
            };
        };
        Some(blame.words())
    }

    /// Returns the function to blame, or the resource.
    pub fn name(&self) -> &str {
        let leaf = || self.subject.stack().map_or("", FoldedStack::leaf);
        match (&self.subject, &self.blame, self.frames.first()) {
            (Subject::Resource(resource), ..) => resource.many(),
            (_, Some(blame), _) => match (&blame.at, &blame.origin) {
                (Some(at), _) => &at.function,
                (None, Some(Origin::Workload(_))) => "the workload",
                (None, Some(Origin::Setup(_))) => "the setup",
                (None, _) => UNKNOWN_FUNCTION,
            },
            (_, None, Some(frame)) => &frame.function,
            (_, None, None) => leaf(),
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
                    ..Frame::default()
                };
                Cow::Owned(names.map(frame).collect())
            }
            _ => Cow::Borrowed(&self.frames),
        }
    }

    /// Returns which of its [frames](Self::frames) is to blame.
    pub fn place_of_blamed(&self) -> Option<usize> {
        let frames = self.frames();
        match &self.blame {
            Some(blame) => {
                let at = blame.at.as_ref()?;
                let mut frames = frames.iter();
                frames.position(|frame| Blame::is_frame(at, frame))
            }
            None => (!frames.is_empty()).then_some(0),
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

impl Blame {
    /// Returns the place to blame, as [`Finding::blamed`] does.
    pub fn words(&self) -> Words {
        let words = Words::default();
        let at = match (&self.at, &self.caller) {
            (Some(at), Some(_)) => words.quote(&at.function),
            (Some(at), None) => at_line(words, at),
            (None, _) => match self.workload() {
                Some(workload) if self.called.is_none() => return workload,
                _ => words.say(UNKNOWN_FUNCTION),
            },
        };
        at.join(self.led_there())
    }

    /// Returns the workload in which the stack begins, if no frame is the reader's own: `the
    /// workload `pages``. A thread is only named if nothing else is.
    fn workload(&self) -> Option<Words> {
        let words = Words::default();
        match self.origin.as_ref()? {
            Origin::Thread if self.at.is_none() => {
                Some(words.say("a thread that the workload started"))
            }
            Origin::Workload(name) => Some(words.say("the workload ").name(name)),
            Origin::Setup(name) => Some(words.say("the setup of the workload ").name(name)),
            Origin::Thread => None,
        }
    }

    /// Returns how the reader's own code led to what is blamed: `, through
    /// minijinja::Template::render, called from pages::index at src/pages.rs:12`.
    fn led_there(&self) -> Words {
        let mut words = Words::default();
        if let Some(by) = &self.by {
            words = words.say(", called by ").quote(&by.function);
        }
        if let Some(called) = &self.called {
            words = words.say(", through ").quote(&called.function);
        }
        if let Some(caller) = &self.caller {
            words = at_line(words.say(", called from "), caller);
        }
        if let Some(workload) = self.workload() {
            words = words.say(", called from ").join(workload);
        }
        if let Some(krate) = &self.thread_of {
            words = words.say(", in a thread of ").quote(krate);
        }
        if let Some(krate) = &self.needed_by {
            words = words.say(", which ").quote(krate).say(" needs");
        }
        words
    }
}

/// Said of a stack in which no function is known.
const UNKNOWN_FUNCTION: &str = "a function that is not known";

/// Adds a function and its line.
fn at_line(words: Words, frame: &Frame) -> Words {
    let words = words.quote(&frame.function);
    match &frame.file {
        Some(file) => words.say(" at ").line(file, frame.line),
        None => words,
    }
}

/// Returns `2 stacks keep growing`. `verb` is in the plural.
fn keeps(findings: &[&Finding], verb: &str) -> String {
    let verb = match (is_one(findings), verb) {
        (true, "keep") => "keeps",
        _ => verb,
    };
    format!("{} {verb} growing", counted(findings, ""))
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

/// Returns `2 stacks cannot be told from their own fluctuation`, if they fluctuate.
pub(super) fn unsure_words(findings: &[&Finding]) -> String {
    let is_one = is_one(findings);
    let counted = counted(findings, "");
    if findings
        .iter()
        .any(|finding| finding.law != Law::Fluctuating)
    {
        let keep = if is_one { "keeps" } else { "keep" };
        return format!("too little was measured to tell whether {counted} {keep} growing");
    }
    let their = if is_one { "its" } else { "their" };
    format!("{counted} cannot be told from {their} own fluctuation")
}

/// Returns whether all of them grow with time, and not with iterations.
pub(super) fn are_by_clock(findings: &[&Finding]) -> bool {
    findings.iter().all(|finding| finding.clock.is_some())
}

/// Returns why the ladder ended, unless enough was seen or something failed.
fn ended(end: LadderEnd) -> String {
    match end {
        LadderEnd::Settled | LadderEnd::Failure => String::new(),
        end => format!("; {}", end.why()),
    }
}
