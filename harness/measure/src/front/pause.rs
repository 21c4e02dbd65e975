//! A pause at the top of a ladder, which tells a clock from a leak.
//!
//! On a ladder what comes once a second looks like what comes once in so many iterations. In a
//! pause with hardly an iteration the one goes on, and the other does not.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::RUNGS_PER_OCTAVE;
use plimsoll_core::report::{Finding, LadderEnd, Rung, Subject, units};
use plimsoll_core::{Avma, Tally};

use super::profile::Sources;

/// How long a pause is at most.
const LONGEST: Duration = Duration::from_millis(3_500);

/// How often a clock should bring something in it.
const TIMES: f64 = 3.2;

/// How often is enough to say so.
const FEW: f64 = 2.5;

/// How many iterations are run in it: what looks at the clock needs one to do so.
pub(crate) const ITERATIONS: u64 = 3;

/// How much more a clock should bring in it than a leak would in those.
const CLEARLY: f64 = 4.0;

/// The last octave of a ladder that something grew in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octave {
    iterations: u64,
    time: Duration,
}

/// A pause, and what was alive after it.
#[derive(Debug)]
pub(crate) struct Paused {
    pub(crate) octave: Octave,
    pub(crate) iterations: u64,
    pub(crate) time: Duration,
    /// By stack.
    pub(crate) live: HashMap<Vec<Avma>, u64>,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Octave {
    /// The last one of a ladder, of which each rung was reached then.
    pub(crate) fn last(rungs: &[Rung], reached: &[Instant]) -> Option<Octave> {
        let last = rungs.len().min(reached.len()).checked_sub(1)?;
        let first = last.checked_sub(RUNGS_PER_OCTAVE)?;
        Some(Octave {
            iterations: rungs[last].iterations - rungs[first].iterations,
            time: reached[last].saturating_duration_since(reached[first]),
        })
    }

    /// How long a pause has to be for what was found; nothing where there is no need of one, or
    /// where it would be too long.
    pub(crate) fn pause(&self, findings: &[Finding]) -> Option<Duration> {
        let times = findings.iter().filter_map(times);
        let fewest = times.reduce(f64::min)?;
        let each = self.time.div_f64(to_f64(self.iterations.max(1)));
        let least = each.mul_f64(CLEARLY * to_f64(ITERATIONS));
        let wanted = self.time.mul_f64(TIMES / fewest).min(LONGEST);
        (least <= LONGEST).then_some(wanted.max(least))
    }
}

impl Paused {
    /// What to say of what was found.
    pub(crate) fn notes(&self, findings: &[Finding], sources: &Sources) -> Vec<String> {
        let notes = findings.iter().filter_map(|finding| {
            let before = finding.levels.last()?.objects;
            let after = match &finding.subject {
                Subject::Threads => self.threads,
                Subject::Descriptors => self.descriptors,
                Subject::Stack(_) | Subject::Site { .. } => sources.after_pause(&finding.subject),
            };
            self.is_by_clock(finding, before, after).then(|| {
                let what = match &finding.subject {
                    Subject::Stack(stack) | Subject::Site { frames: stack, .. } => {
                        stack.leaf().to_owned()
                    }
                    resource => resource.name(),
                };
                let came = after.saturating_sub(before);
                format!(
                    "{what} grows with time, not with iterations: by {} in {:.1} s with {} \
                     iterations, {} per second. What the clock fills up to a bound is full after a \
                     longer `budget`; a leak in the background is not",
                    units::count(came),
                    self.time.as_secs_f64(),
                    self.iterations,
                    units::objects(to_f64(came) / self.time.as_secs_f64()),
                )
            })
        });
        notes.collect()
    }

    fn is_by_clock(&self, finding: &Finding, before: u64, after: u64) -> bool {
        let Some(times) = times(finding) else {
            return false;
        };
        let came = to_f64(after.saturating_sub(before)) / to_f64(at_once(finding));
        let by_time = times * self.time.as_secs_f64() / self.octave.time.as_secs_f64();
        let by_iterations = times * to_f64(self.iterations) / to_f64(self.octave.iterations.max(1));
        // What comes and goes is there or not, whatever the clock says.
        let by_chance = match finding.stayed() {
            Some(_) => 3.0 * to_f64(before).sqrt(),
            None => 0.0,
        };
        came >= FEW
            .max(0.5 * by_time)
            .max(by_chance)
            .max(CLEARLY * by_iterations)
    }
}

/// How often something came in the last octave, where it is taken for a leak of objects.
fn times(finding: &Finding) -> Option<f64> {
    let [first, .., last] = last_octave(finding) else {
        return None;
    };
    let gained = to_f64(last.objects) - to_f64(first.objects);
    let is_leak = finding.verdict == Verdict::Regressed && gained > 0.0;
    is_leak.then_some(gained / to_f64(at_once(finding)))
}

/// How many objects come at once: what divides every step.
fn at_once(finding: &Finding) -> u64 {
    let steps = finding.levels.windows(2);
    let steps = steps.map(|pair| pair[0].objects.abs_diff(pair[1].objects));
    steps.fold(0, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

fn last_octave(finding: &Finding) -> &[Tally] {
    let levels = &finding.levels;
    &levels[levels.len().saturating_sub(RUNGS_PER_OCTAVE + 1)..]
}

/// Whether a ladder that ended so may be followed by a pause.
pub(crate) fn may_follow(end: LadderEnd) -> bool {
    match end {
        LadderEnd::Budget | LadderEnd::Iterations => true,
        LadderEnd::Settled
        | LadderEnd::OutOfReach
        | LadderEnd::Memory
        | LadderEnd::Threads
        | LadderEnd::Descriptors
        | LadderEnd::Failure => false,
    }
}

/// When so much of a pause is over.
pub(crate) fn slices(pause: Duration) -> impl Iterator<Item = Instant> {
    let started = Instant::now();
    (1..=ITERATIONS).map(move |part| started + pause.mul_f64(to_f64(part) / to_f64(ITERATIONS)))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a process")]
fn to_f64(value: u64) -> f64 {
    value as f64
}
