//! Tells growth with time from growth with iterations, by an experiment at the top of a ladder.
//!
//! On a ladder, growth once a second looks like growth once in a number of iterations. The
//! experiment has two stretches. In the *slow* one, few iterations are spread over as much time as
//! the clock needs to show. In the *fast* one, which only follows if growth stood still, the
//! iterations come as fast as on the ladder.
//!
//! ```text
//!               last octave       slow              fast
//!               N in T            n in t            n in t
//! a leak        ▁▂▃▄▅▆▇█          ████████          ▁▂▃▄▅▆▇█
//! a clock       ▁▂▃▄▅▆▇█          ▁▂▃▄▅▆▇█          (not needed)
//! a full table  ▁▂▃▄▅▆▇█          ████████          ████████
//! ```
//!
//! Growth comes in *events*: objects that are added at once. If events come at random at a steady
//! rate, and c of g + c events came in the stretch, then c is binomial: by the clock with the
//! share t / (T + t), by iterations with the share n / (N + n). A rate is *excluded* if so many
//! events, or so few, are less likely than [`CHANCE`]. Events that come regularly vary less, so
//! nothing is excluded too early.

use std::time::{Duration, Instant};

use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use plimsoll_core::report::{Clock, Finding, Rung, Survivors};
use plimsoll_core::{Rate, Tally};

/// How likely an observation must be if a rate is not to be excluded.
const CHANCE: f64 = 0.02;

/// The standard deviations that belong to [`CHANCE`] on one side.
const DEVIATIONS: f64 = 2.05;

/// The most events that are waited for in a slow stretch, if a tenth of the octave is enough for
/// them: more events make no decision surer.
const MANY: f64 = 30.0;

/// Events in an octave with which a slow stretch as long as the octave excludes the clock, with
/// some to spare.
const ENOUGH: f64 = 8.0;

/// Events that a fast stretch should have.
const RETURNING: f64 = 7.0;

/// Iterations of a slow stretch for each event by the clock. Code that looks at the clock can only
/// do so in an iteration.
const LOOKS: f64 = 2.0;

/// How many times slower than on the ladder iterations are in a slow stretch, at least.
const SLOWER: f64 = 8.0;

/// The fewest iterations of a slow stretch.
const FEWEST: u64 = 3;

/// Bytes per second up to which a buffer that doubles may be a list to which the clock adds.
const LIST_PER_SECOND: f64 = 1_024.0;

/// Bytes per iteration from which a buffer that doubles is a list to which iterations add.
const LIST_PER_ITERATION: f64 = 4.0;

/// Iterations, and the time that they take or took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) iterations: u64,
    pub(crate) time: Duration,
}

/// What an experiment tells of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It comes with iterations.
    Iterations,
    /// It comes with time.
    Clock,
    /// It came with one of them, and has ended.
    Ended,
    /// Neither is excluded.
    Nothing,
}

/// The last octave of a ladder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octave(Stretch);

/// How one finding grew in the last octave of its ladder.
#[derive(Clone, Copy, Debug)]
enum Grown {
    /// By this many events, each of so many objects.
    Events { number: f64, objects: f64 },
    /// By the bytes of a buffer that doubles, if the clock may have filled it.
    Buffer,
    /// So that no experiment can tell, or none needs to.
    Other,
}

impl Octave {
    /// Returns the last octave of a ladder, from its rungs and the times at which they were
    /// reached.
    pub(crate) fn last(rungs: &[Rung], reached: &[Instant]) -> Option<Octave> {
        let last = rungs.len().min(reached.len()).checked_sub(1)?;
        let first = last.checked_sub(RUNGS_PER_OCTAVE)?;
        Some(Octave(Stretch {
            iterations: rungs[last].iterations - rungs[first].iterations,
            time: reached[last].saturating_duration_since(reached[first]),
        }))
    }

    /// Returns the slow stretch that these findings need, within a limit. `None` if no finding
    /// needs one, or if the iterations cannot be slowed down within the limit.
    pub(crate) fn slow(&self, findings: &[Finding], limit: Duration) -> Option<Stretch> {
        let events: Vec<f64> = findings.iter().filter_map(|one| self.events(one)).collect();
        let (fewest, most) = (
            events.iter().copied().reduce(f64::min)?,
            events.iter().copied().reduce(f64::max)?,
        );
        let each = self.0.time.div_f64(to_f64(self.0.iterations.max(1)));
        let least = each.mul_f64(SLOWER * to_f64(FEWEST));
        // With no event in this time, the clock is excluded, with some to spare.
        let to_exclude = 1.05 * (CHANCE.powf(-1.0 / fewest) - 1.0);
        let octaves = to_exclude.max((MANY / fewest).min(0.1));
        let time = self.0.time.mul_f64(octaves.min(1e3)).min(limit).max(least);
        (least <= limit).then_some(())?;
        let share = share(time, self.0.time);
        let looks = LOOKS * most * share;
        let slowest = to_f64(self.0.iterations) * share / SLOWER;
        Some(Stretch {
            iterations: to_u64(looks.min(slowest)).max(FEWEST),
            time,
        })
    }

    /// Returns the fast stretch that these findings need after a slow one, within a limit. `None`
    /// if no finding needs one.
    pub(crate) fn fast<'a>(
        &self,
        stands: impl Iterator<Item = &'a Finding>,
        limit: Duration,
    ) -> Option<Stretch> {
        let fewest = stands.filter_map(|one| self.events(one)).reduce(f64::min)?;
        let octaves = (RETURNING / fewest).min(share(limit, self.0.time));
        Some(Stretch {
            iterations: to_u64(octaves * to_f64(self.0.iterations)).max(1),
            time: self.0.time.mul_f64(octaves),
        })
    }

    /// Returns the budget of a ladder whose experiment could tell, for a finding of which this one
    /// told nothing.
    pub(crate) fn enough(&self, finding: &Finding) -> Duration {
        let long = Duration::from_secs(Clock::LONG);
        match self.events(finding) {
            Some(events) => long.min(self.0.time.mul_f64((ENOUGH / events).max(2.0))),
            None => long,
        }
    }

    /// Returns whether a finding stood still in a slow stretch, although the clock would have
    /// shown.
    pub(crate) fn stands_still(&self, finding: &Finding, slow: &Stretch, level: Tally) -> bool {
        self.came(finding, level).is_some_and(|(before, came)| {
            came == 0.0 && is_too_few(came, before, share_of(slow.time, self.0.time))
        })
    }

    /// Returns what the experiment tells of a finding. `level` is that after the slow stretch;
    /// `fast` is the fast stretch and the level after it. `None` if no experiment can tell, or
    /// none needs to.
    pub(crate) fn told(
        &self,
        finding: &Finding,
        slow: &Stretch,
        level: Tally,
        fast: Option<(&Stretch, Tally)>,
    ) -> Option<Told> {
        let Some((before, came)) = self.came(finding, level) else {
            return self.told_without(finding);
        };
        let by_iterations = |stretch: &Stretch| {
            let (these, before) = (to_f64(stretch.iterations), to_f64(self.0.iterations));
            these / (these + before)
        };
        if came > 0.0 && is_too_many(came, before, by_iterations(slow)) {
            return Some(Told::Clock);
        }
        if !is_too_few(came, before, share_of(slow.time, self.0.time)) {
            return Some(Told::Nothing);
        }
        let (0.0, Some((fast, after))) = (came, fast) else {
            return Some(Told::Iterations);
        };
        let (_, returned) = self.came(finding, after)?;
        Some(match is_too_few(returned, before, by_iterations(fast)) {
            true => Told::Ended,
            false if returned == 0.0 => Told::Nothing,
            false => Told::Iterations,
        })
    }

    /// Returns what is told of a finding without any experiment.
    pub(crate) fn told_without(&self, finding: &Finding) -> Option<Told> {
        matches!(self.grown(finding), Grown::Buffer).then_some(Told::Nothing)
    }

    /// Returns the rate with time, over the last octave and the slow stretch. `followed` is how
    /// long the ladder and the stretch took.
    pub(crate) fn clock(
        &self,
        finding: &Finding,
        slow: &Stretch,
        level: Tally,
        followed: Duration,
    ) -> Clock {
        let seconds = (self.0.time + slow.time).as_secs_f64();
        let [first, .., _] = last_octave(finding) else {
            return Clock::default();
        };
        let of = |of: fn(&Tally) -> u64| (to_f64(of(&level)) - to_f64(of(first))) / seconds;
        Clock {
            per_second: Rate {
                objects: of(|level| level.objects),
                bytes: of(|level| level.bytes),
            },
            followed: followed.as_secs(),
        }
    }

    /// Returns the events of the last octave, and those that came after it.
    fn came(&self, finding: &Finding, level: Tally) -> Option<(f64, f64)> {
        let Grown::Events { number, objects } = self.grown(finding) else {
            return None;
        };
        let before = finding.levels.last()?.objects;
        let came = to_f64(level.objects.saturating_sub(before)) / objects;
        Some((number, came.floor()))
    }

    fn events(&self, finding: &Finding) -> Option<f64> {
        match self.grown(finding) {
            Grown::Events { number, .. } => Some(number),
            Grown::Buffer | Grown::Other => None,
        }
    }

    fn grown(&self, finding: &Finding) -> Grown {
        let [first, .., last] = last_octave(finding) else {
            return Grown::Other;
        };
        if finding.verdict != Verdict::Regressed {
            return Grown::Other;
        }
        let objects = last.objects.saturating_sub(first.objects);
        if objects > 0 {
            // The number of objects that come and go varies by chance, whatever the clock does.
            // If most of them go, less than that counts as no event.
            let mostly_go = |octave: &&Survivors| {
                octave
                    .allocated
                    .is_none_or(|all| 2 * octave.alive.objects < all)
            };
            let by_chance = match finding.stayed().filter(mostly_go) {
                Some(_) => 3.0 * to_f64(last.objects).sqrt(),
                None => 0.0,
            };
            let at_once = to_f64(at_once(finding)).max(by_chance);
            let number = to_f64(objects) / at_once;
            return match number >= 1.0 {
                true => Grown::Events {
                    number,
                    objects: at_once,
                },
                false => Grown::Other,
            };
        }
        let bytes = to_f64(last.bytes.saturating_sub(first.bytes));
        let is_slow = bytes / self.0.time.as_secs_f64() < LIST_PER_SECOND
            && bytes / to_f64(self.0.iterations.max(1)) < LIST_PER_ITERATION;
        match bytes > 0.0 && is_slow {
            true => Grown::Buffer,
            false => Grown::Other,
        }
    }
}

impl Stretch {
    /// Returns the times from its beginning, and the iterations, at which its parts end.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Duration, u64)> {
        // A part takes a millisecond at least: waiting for a shorter time is not exact.
        let most = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        let (time, iterations) = (self.time, self.iterations);
        let parts = iterations.min(most).max(1);
        (1..=parts).map(move |part| {
            let share = to_f64(part) / to_f64(parts);
            let done = u128::from(iterations) * u128::from(part) / u128::from(parts);
            (time.mul_f64(share), u64::try_from(done).unwrap_or(u64::MAX))
        })
    }
}

/// Returns how many times as long as another time.
fn share(time: Duration, of: Duration) -> f64 {
    time.as_secs_f64() / of.as_secs_f64().max(1e-9)
}

/// Returns the share that a time has of itself and another one.
fn share_of(time: Duration, other: Duration) -> f64 {
    time.as_secs_f64() / (time + other).as_secs_f64().max(1e-9)
}

/// Returns whether so few events, after `before` of them, are too few for a rate by which each
/// event would come in the stretch with this probability.
fn is_too_few(came: f64, before: f64, share: f64) -> bool {
    tail(came, before + came, share, true) < CHANCE
}

/// The same for too many.
fn is_too_many(came: f64, before: f64, share: f64) -> bool {
    tail(came, before + came, share, false) < CHANCE
}

/// Returns the probability of at most, or at least, this many of all events, if each has this
/// probability.
fn tail(events: f64, all: f64, share: f64, is_lower: bool) -> f64 {
    let share = share.clamp(0.0, 1.0);
    let (mean, rest) = (all * share, 1.0 - share);
    let deviation = (mean * rest).sqrt();
    if mean > 100.0 {
        // Far from its ends, a binomial distribution is a normal one.
        let away = match is_lower {
            true => (mean - events) / deviation,
            false => (events - mean) / deviation,
        };
        return if away > DEVIATIONS { 0.0 } else { 1.0 };
    }
    // The probability of none, and from there of one more each time.
    let mut one = (all * (-share).ln_1p()).exp();
    let (mut below, mut at) = (0.0, 0.0);
    while at < events {
        below += one;
        one *= (all - at) / (at + 1.0) * (share / rest.max(1e-12));
        at += 1.0;
    }
    match is_lower {
        true => below + one,
        false => 1.0 - below,
    }
}

/// Returns how many objects come at once: the greatest common divisor of the recent steps.
fn at_once(finding: &Finding) -> u64 {
    let recent = finding.levels.len().saturating_sub(RUNGS_TO_RISE);
    let steps = finding.levels[recent..].windows(2);
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

#[expect(clippy::cast_precision_loss, reason = "counts of a process")]
fn to_f64(value: u64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and a cast to the nearest that fits"
)]
fn to_u64(value: f64) -> u64 {
    value as u64
}
