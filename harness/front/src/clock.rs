//! Tells growth with time from growth with iterations, by an experiment at the top of a ladder.
//!
//! On a ladder, growth once a second looks like growth once in a number of iterations. The
//! experiment has two stretches. In the *slow* one, few iterations are spread over as much time as
//! the clock needs to show. In the *fast* one, which follows if the slow one excludes the clock, the
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
//!
//! Where most objects go, levels vary by chance. There an event is an object that stays: of the
//! octave before the last, what is alive at the last rung; of the slow stretch, what is alive after
//! the fast one, which then follows in any case. Memory outside the allocator comes in events of
//! the most bytes of which its levels are multiples, give or take [`OUTSIDE_NOISE`].

use std::time::{Duration, Instant};

use plimsoll_core::dump::SampleInterval;
use plimsoll_core::growth::Unit;
use plimsoll_core::judge::{Observed, Verdict};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use plimsoll_core::report::{Clock, Finding, Subject, Survivors};
use plimsoll_core::{Rate, Tally, to_f64, to_u64};

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

/// Iterations of a slow stretch for each addition by the clock. Code that looks at the clock can
/// only do so in an iteration.
const LOOKS: f64 = 2.0;

/// How many times slower than on the ladder iterations are in a slow stretch, at least.
const SLOWER: f64 = 8.0;

/// The fewest iterations of a slow stretch.
const FEWEST: u64 = 3;

/// The least that is added outside the allocator, in bytes.
const PAGE: u64 = 4_096;

/// Bytes by which memory outside the allocator varies, whatever a workload does.
const OUTSIDE_NOISE: f64 = 262_144.0;

/// The most events that are told apart outside the allocator.
const MOST_EVENTS: u64 = 4_096;

/// Bytes per second up to which a buffer that doubles may be a list to which the clock adds.
const LIST_PER_SECOND: f64 = 1_024.0;

/// Bytes per iteration from which a buffer that doubles is a list to which iterations add.
const LIST_PER_ITERATION: f64 = 4.0;

/// How many times the smallest share of a list the largest one is, at most, in bytes for each of its
/// objects. A list doubles, and its objects are counted only at rungs.
const SHARES: f64 = 3.0;

/// The fewest objects of which a list's share is taken.
const IN_LIST: u64 = 16;

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

/// The last octaves of a ladder.
#[derive(Debug)]
pub(crate) struct Octaves {
    last: Stretch,
    /// The one before the last. `None` if the ladder is too short.
    aged: Option<Stretch>,
    interval: SampleInterval,
    /// How many of the objects that stay were born at once.
    born_at_once: Vec<(Subject, u64)>,
}

/// How one finding grew in an octave.
#[derive(Clone, Copy, Debug)]
struct Events {
    octave: Stretch,
    gained: Tally,
    /// What each event adds, in the finding's unit.
    at_once: f64,
    number: f64,
    /// How many additions there may have been: an event that can be told may be several.
    additions: f64,
    /// Whether objects count if they were born in the octave and stay. Otherwise the level counts.
    by_birth: bool,
}

impl Octaves {
    /// Returns the last octaves of a ladder, from the times at which its rungs were reached, and
    /// what was observed and found.
    pub(crate) fn last(
        reached: &[Instant],
        observed: &Observed,
        findings: &[Finding],
    ) -> Option<Octaves> {
        let rungs = &observed.iterations;
        let octave = |last: usize| {
            let first = last.checked_sub(RUNGS_PER_OCTAVE)?;
            Some(Stretch {
                iterations: rungs[last] - rungs[first],
                time: reached[last].saturating_duration_since(reached[first]),
            })
        };
        let last = rungs.len().min(reached.len()).checked_sub(1)?;
        let aged = last.checked_sub(RUNGS_PER_OCTAVE).and_then(octave);
        Some(Octaves {
            last: octave(last)?,
            aged,
            interval: observed.interval,
            born_at_once: findings
                .iter()
                .map(|finding| {
                    (
                        finding.subject.clone(),
                        born_at_once(&finding.subject, observed),
                    )
                })
                .collect(),
        })
    }

    /// Returns the slow stretch that these findings need, within a limit. `None` if no finding
    /// needs one, or if the iterations cannot be slowed down within the limit.
    pub(crate) fn slow(&self, findings: &[Finding], limit: Duration) -> Option<Stretch> {
        let events: Vec<Events> = findings.iter().filter_map(|one| self.events(one)).collect();
        let time = events.iter().map(Events::slow).max()?;
        let each = self.last.time.div_f64(to_f64(self.last.iterations.max(1)));
        let least = each.mul_f64(SLOWER * to_f64(FEWEST));
        let time = time.min(limit).max(least);
        (least <= limit).then_some(())?;
        let looks = events
            .iter()
            .map(|one| LOOKS * one.additions * share(time, one.octave.time));
        let looks = looks.fold(0.0, f64::max);
        let slowest = to_f64(self.last.iterations) * share(time, self.last.time) / SLOWER;
        Some(Stretch {
            iterations: to_u64(looks.min(slowest)).max(FEWEST),
            time,
        })
    }

    /// Returns the fast stretch that these findings need after a slow one, within a limit. `None`
    /// if no finding needs one.
    pub(crate) fn fast<'a>(
        &self,
        findings: impl Iterator<Item = &'a Finding>,
        limit: Duration,
    ) -> Option<Stretch> {
        let returning = |one: &Finding| {
            let events = self.events(one)?;
            Some(share(events.octave.time, self.last.time) * RETURNING / events.number)
        };
        let octaves = findings.filter_map(returning).reduce(f64::max)?;
        let octaves = octaves.min(share(limit, self.last.time));
        Some(Stretch {
            iterations: to_u64(octaves * to_f64(self.last.iterations)).max(1),
            time: self.last.time.mul_f64(octaves),
        })
    }

    /// Returns the budget of a ladder whose experiment could tell, for a finding of which this one
    /// told nothing.
    pub(crate) fn enough(&self, finding: &Finding) -> Duration {
        let long = Duration::from_secs(Clock::LONG);
        match self.events(finding) {
            Some(events) => {
                let events = events.octave.time.mul_f64(ENOUGH / events.number);
                long.min(events.max(2 * self.last.time))
            }
            None => long,
        }
    }

    /// Returns whether a finding needs a fast stretch: the slow one excludes the clock, or what stays
    /// is told from what goes only after that.
    pub(crate) fn needs_fast(&self, finding: &Finding, slow: &Stretch, came: Tally) -> bool {
        self.events(finding).is_some_and(|before| {
            let came = before.count(finding, came);
            let share = share_of(slow.time, before.octave.time);
            before.by_birth || is_too_few(came, before.number, share)
        })
    }

    /// Returns whether objects of a finding count by birth: most of them go, and how many are alive
    /// at a time varies by chance.
    pub(crate) fn counts_births(&self, finding: &Finding) -> bool {
        self.events(finding).is_some_and(|events| events.by_birth)
    }

    /// Returns what the experiment tells of a finding, from what came in its slow and its fast
    /// stretch. `None` if no experiment can tell, or none needs to. `is_beside_clock` is as for
    /// [`told_without`](Self::told_without).
    pub(crate) fn told(
        &self,
        finding: &Finding,
        slow: (&Stretch, Tally),
        fast: Option<(&Stretch, Tally)>,
        is_beside_clock: bool,
    ) -> Option<Told> {
        let Some(before) = self.events(finding) else {
            return self.told_without(finding, is_beside_clock);
        };
        let by_iterations = |stretch: &Stretch| {
            let these = to_f64(stretch.iterations);
            these / (these + to_f64(before.octave.iterations))
        };
        let ((slow, came), all) = (slow, before.number);
        let came = before.count(finding, came);
        if before.by_birth && fast.is_none() {
            return None;
        }
        if came > 0.0 && is_too_many(came, all, by_iterations(slow)) {
            return Some(Told::Clock);
        }
        if !is_too_few(came, all, share_of(slow.time, before.octave.time)) {
            return Some(Told::Nothing);
        }
        let Some((fast, returned)) = fast else {
            return Some(Told::Iterations);
        };
        let returned = before.count(finding, returned);
        Some(match is_too_few(returned, all, by_iterations(fast)) {
            true => Told::Ended,
            false if returned == 0.0 => Told::Nothing,
            false => Told::Iterations,
        })
    }

    /// Returns what is told of a finding without any experiment: nothing, if the clock may have
    /// filled a buffer that doubles. `is_beside_clock` says whether other memory may grow with time:
    /// then that may be a list of it.
    pub(crate) fn told_without(&self, finding: &Finding, is_beside_clock: bool) -> Option<Told> {
        let [first, .., last] = last_octave(finding) else {
            return None;
        };
        let bytes = to_f64(last.bytes.saturating_sub(first.bytes));
        let per_second = bytes / self.last.time.as_secs_f64();
        let is_slow = (is_beside_clock || per_second < LIST_PER_SECOND)
            && bytes / to_f64(self.last.iterations.max(1)) < LIST_PER_ITERATION;
        (is_buffer(finding) && bytes > 0.0 && is_slow).then_some(Told::Nothing)
    }

    /// Returns the rate with time, over the octave and the slow stretch. `followed` is how long the
    /// ladder and the stretch took.
    pub(crate) fn clock(
        &self,
        finding: &Finding,
        (slow, came): (&Stretch, Tally),
        followed: Duration,
    ) -> Option<Clock> {
        let before = self.events(finding)?;
        let seconds = (before.octave.time + slow.time).as_secs_f64();
        let gained = before.gained.saturating_add(came);
        Some(Clock {
            per_second: Rate {
                objects: to_f64(gained.objects) / seconds,
                bytes: to_f64(gained.bytes) / seconds,
            },
            followed: followed.as_secs(),
        })
    }

    fn events(&self, finding: &Finding) -> Option<Events> {
        let [first, .., last] = last_octave(finding) else {
            return None;
        };
        let mostly_go = |octave: &&Survivors| match octave.allocated {
            Some(allocated) => 2 * octave.alive.objects < allocated,
            None => finding.stayed().is_some(),
        };
        let older = finding.survivors.split_last();
        let aged = older.and_then(|(_, older)| older.last());
        let stayed = aged
            .filter(|octave| octave.alive.objects > 0)
            .filter(mostly_go);
        let (octave, gained) = match stayed {
            Some(stayed) => (self.aged?, stayed.alive),
            None => (self.last, last.saturating_sub(*first)),
        };
        let by_birth = stayed.is_some();
        let at_once = self.at_once(finding, by_birth);
        let number = unit(finding).of(&gained) / at_once;
        let additions = match unit(finding) {
            Unit::Objects => gained.objects,
            Unit::Bytes => gained.bytes / PAGE,
        };
        (finding.verdict == Verdict::Regressed && number >= 1.0).then_some(Events {
            octave,
            gained,
            at_once,
            number,
            additions: to_f64(additions),
            by_birth,
        })
    }

    /// Returns how much comes at once, in the finding's unit.
    fn at_once(&self, finding: &Finding, by_birth: bool) -> f64 {
        let recent = finding.levels.len().saturating_sub(RUNGS_TO_RISE);
        let recent = &finding.levels[recent..];
        if unit(finding) == Unit::Bytes {
            return at_once_outside(recent);
        }
        let at_once = match by_birth {
            true => {
                let mut known = self.born_at_once.iter();
                let known = known.find(|(subject, _)| *subject == finding.subject);
                known.map(|(_, born)| *born)
            }
            false => {
                let step = |pair: &[Tally]| pair[0].objects.abs_diff(pair[1].objects);
                let steps = recent.windows(2).map(step);
                Some(steps.fold(0, greatest_common_divisor))
            }
        };
        let at_once = to_f64(at_once.unwrap_or(1).max(1));
        match (finding.subject.unit(), recent.last()) {
            // Each sampled object stands for so many.
            (None, Some(last)) if last.objects > 0 => {
                let size = to_f64(last.bytes) / to_f64(last.objects);
                at_once.max(1.0 / self.interval.probability(size).max(1e-12))
            }
            _ => at_once,
        }
    }
}

impl Events {
    /// Returns how long a slow stretch must take to exclude the clock.
    fn slow(&self) -> Duration {
        // One event may come with an iteration.
        let excludes = |octaves: &f64| is_too_few(1.0, self.number, octaves / (1.0 + octaves));
        let mut octaves = std::iter::successors(Some(0.05), |octaves| Some(1.05 * octaves));
        let octaves = octaves.find(|octaves| *octaves > 1e3 || excludes(octaves));
        let octaves = octaves.unwrap_or(1e3).max((MANY / self.number).min(0.1));
        self.octave.time.mul_f64(octaves)
    }

    /// Returns how many whole events have added this.
    fn count(&self, finding: &Finding, came: Tally) -> f64 {
        (unit(finding).of(&came) / self.at_once).floor()
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

/// Returns the unit in which a finding is counted: that of a resource, or objects.
fn unit(finding: &Finding) -> Unit {
    finding.subject.unit().unwrap_or(Unit::Objects)
}

/// Returns how many of the objects that stay were born at once: what their numbers in the two octaves
/// before the last have in common, by generation.
fn born_at_once(subject: &Subject, observed: &Observed) -> u64 {
    let last = observed.iterations.len().saturating_sub(1);
    let aged = last.saturating_sub(3 * RUNGS_PER_OCTAVE)..=last.saturating_sub(RUNGS_PER_OCTAVE);
    let stacks = observed.stacks.iter();
    let stacks = stacks.filter(|(stack, _)| subject.covers(stack));
    let mut born = vec![0; last + 1];
    for one in stacks.flat_map(|(_, series)| series.survivors(last)) {
        if let Some(born) = born.get_mut(one.generation) {
            *born += one.alive.level.objects;
        }
    }
    let aged = born[aged].iter().copied();
    aged.fold(0, greatest_common_divisor)
}

/// Returns how many bytes come at once outside the allocator: the most of which every level has a
/// whole number beyond the first one, give or take what varies.
fn at_once_outside(levels: &[Tally]) -> f64 {
    let first = levels.first().map_or(0, |first| first.bytes);
    let gains = levels.iter().map(|level| level.bytes.saturating_sub(first));
    let gains: Vec<f64> = gains.map(to_f64).collect();
    let all = gains.last().copied().unwrap_or(0.0);
    let most = (1..MOST_EVENTS).map(|parts| all / to_f64(parts));
    let mut most = most.take_while(|most| *most > 2.0 * OUTSIDE_NOISE);
    let is_whole = |gain: &f64, most: f64| {
        let rest = gain % most;
        rest.min(most - rest) <= OUTSIDE_NOISE
    };
    let fits = most.find(|most| gains.iter().all(|gain| is_whole(gain, *most)));
    fits.unwrap_or((all / to_f64(MOST_EVENTS)).max(OUTSIDE_NOISE))
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => greatest_common_divisor(b, a % b),
    }
}

/// Returns whether a finding may be the buffer of a list that has what another finding allocates: it
/// doubled, and at each rung of two octaves and more it was as long as the objects of the other one
/// needed, at their most so far.
pub(crate) fn may_list(finding: &Finding, of: &Finding) -> bool {
    if !is_buffer(finding) || finding.subject == of.subject {
        return false;
    }
    let mut most = 0;
    let shares = finding.levels.iter().zip(&of.levels);
    let shares = shares.filter_map(|(list, of)| {
        most = most.max(of.objects);
        (most >= IN_LIST).then(|| to_f64(list.bytes) / to_f64(most))
    });
    let shares: Vec<f64> = shares.collect();
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = shares.iter().copied().fold(0.0, f64::max);
    shares.len() > 2 * RUNGS_PER_OCTAVE && greatest <= SHARES * least
}

/// Returns whether a finding may be a buffer that doubles: its bytes grow, and its objects do not.
fn is_buffer(finding: &Finding) -> bool {
    let octave = last_octave(finding);
    let objects = |level: Option<&Tally>| level.map(|level| level.objects);
    finding.verdict == Verdict::Regressed
        && finding.subject.unit().is_none()
        && objects(octave.last()) <= objects(octave.first())
}

fn last_octave(finding: &Finding) -> &[Tally] {
    let levels = &finding.levels;
    &levels[levels.len().saturating_sub(RUNGS_PER_OCTAVE + 1)..]
}
