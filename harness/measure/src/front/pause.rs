//! A pause at the top of a ladder, which tells growth with time from a leak.
//!
//! On a ladder, growth once a second looks like growth once in a number of iterations. In a
//! pause with very few iterations, growth with time goes on, and growth with iterations does
//! not.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::RUNGS_PER_OCTAVE;
use plimsoll_core::report::{Finding, Rung, Subject, units};
use plimsoll_core::{Avma, Resource, Tally};

use super::profile::Sources;

/// The longest pause.
const LONGEST: Duration = Duration::from_millis(3_500);

/// How many times growth with time should happen during a pause.
const TIMES: f64 = 3.2;

/// How many times are enough to call it growth with time.
const FEW: f64 = 2.5;

/// Iterations during a pause. Code that looks at the clock can only do so in an iteration.
pub(crate) const ITERATIONS: u64 = 3;

/// How many times as much a clock should add during a pause as a leak would in its iterations.
const CLEARLY: f64 = 4.0;

/// The last octave of a ladder in which something grew.
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
    /// Live objects of each stack.
    pub(crate) live: HashMap<Vec<Avma>, u64>,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
}

impl Octave {
    /// Returns the last octave of a ladder, from its rungs and the times at which they were
    /// reached.
    pub(crate) fn last(rungs: &[Rung], reached: &[Instant]) -> Option<Octave> {
        let last = rungs.len().min(reached.len()).checked_sub(1)?;
        let first = last.checked_sub(RUNGS_PER_OCTAVE)?;
        Some(Octave {
            iterations: rungs[last].iterations - rungs[first].iterations,
            time: reached[last].saturating_duration_since(reached[first]),
        })
    }

    /// Returns how long a pause must be for these findings. Returns `None` if no finding needs
    /// a pause, or if the pause would be too long.
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
    /// Returns a note for each finding that grows with time.
    pub(crate) fn notes(&self, findings: &[Finding], sources: &Sources) -> Vec<String> {
        let notes = findings.iter().filter_map(|finding| {
            let before = finding.levels.last()?.objects;
            let after = match &finding.subject {
                Subject::Resource(Resource::Threads) => self.threads,
                Subject::Resource(Resource::Descriptors) => self.descriptors,
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
        let by_iterations = times * to_f64(self.iterations) / to_f64(self.octave.iterations.max(1));
        // The number of objects that come and go varies by chance, whatever the clock does.
        let by_chance = match finding.stayed() {
            Some(_) => 3.0 * to_f64(before).sqrt(),
            None => 0.0,
        };
        came >= FEW.max(by_chance).max(CLEARLY * by_iterations)
    }
}

/// Returns how many times something grew in the last octave, if it looks like a leak of
/// objects.
fn times(finding: &Finding) -> Option<f64> {
    let [first, .., last] = last_octave(finding) else {
        return None;
    };
    let gained = to_f64(last.objects) - to_f64(first.objects);
    let is_leak = finding.verdict == Verdict::Regressed && gained > 0.0;
    is_leak.then_some(gained / to_f64(at_once(finding)))
}

/// Returns how many objects come at once: the greatest common divisor of all steps.
fn at_once(finding: &Finding) -> u64 {
    let steps = finding.levels.windows(2);
    let steps = steps.map(|pair| pair[0].objects.abs_diff(pair[1].objects));
    steps.fold(0, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

fn last_octave(finding: &Finding) -> &[Tally] {
    let levels = &finding.levels;
    &levels[levels.len().saturating_sub(RUNGS_PER_OCTAVE + 1)..]
}

/// Returns the times at which equal parts of a pause end, one for each iteration.
pub(crate) fn slices(pause: Duration) -> impl Iterator<Item = Instant> {
    let started = Instant::now();
    (1..=ITERATIONS).map(move |part| started + pause.mul_f64(to_f64(part) / to_f64(ITERATIONS)))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a process")]
fn to_f64(value: u64) -> f64 {
    value as f64
}
