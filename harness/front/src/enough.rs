//! Predicts which setting would have been enough: for a verdict, if a run has none, or for the
//! default threshold, if it passed at a coarser one.

use std::time::Duration;

use plimsoll_core::judge::{self, Verdict};
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, rung};
use plimsoll_core::report::{BuilderSetting, LadderEnd, Report, units};
use plimsoll_core::{to_f64, to_u64};

use crate::climb::Climb;
use crate::policy::{Enough, Terms};

/// A prediction of more iterations is none.
const MOST: f64 = 1e12;

/// Share of iterations on top of an estimate.
const SPARE: f64 = 1.25;

/// A ladder that would have been long enough.
struct Needed {
    iterations: u64,
    time: Duration,
    /// Why so many, if the report does not say it elsewhere.
    why: Option<String>,
}

/// Returns the setting, and a note on it. `short_by` says how many times the error must shrink:
/// it shrinks at best in proportion to the iterations. `to_tell` is the budget that tells growth
/// with time from growth with iterations.
pub(super) fn enough(
    report: &Report,
    climb: &Climb,
    terms: &Terms<'_>,
    short_by: f64,
    to_tell: Option<Duration>,
) -> (Option<BuilderSetting>, Option<String>) {
    let needed = match (report.verdict, to_tell) {
        (Verdict::Inconclusive, Some(time)) => Some(Needed {
            iterations: 0,
            time,
            why: None,
        }),
        (Verdict::Inconclusive, None) => for_a_verdict(report, climb, terms, short_by),
        (Verdict::Within | Verdict::Improved, _) if report.threshold.coarsened => {
            for_the_default(report, climb, terms, short_by)
        }
        _ => None,
    };
    let Some(needed) = needed else {
        return (None, None);
    };
    let setting = |key: &str, value: String| BuilderSetting {
        key: key.to_owned(),
        value,
    };
    let settings = terms.settings;
    match report.end {
        LadderEnd::Iterations if needed.iterations > settings.max_iterations => {
            let iterations = needed.iterations.to_string();
            (Some(setting("max-iterations", iterations)), None)
        }
        LadderEnd::Budget | LadderEnd::OutOfReach if needed.time > settings.time_if_quiet() => {
            (Some(setting("budget", budget(needed.time))), needed.why)
        }
        _ => (None, None),
    }
}

fn for_a_verdict(
    report: &Report,
    climb: &Climb,
    terms: &Terms<'_>,
    short_by: f64,
) -> Option<Needed> {
    let reached = report.iterations();
    let is_ahead = |enough: &Enough| enough.plan != terms.plan || reached < enough.iterations;
    if let Some(enough) = climb.enough.filter(is_ahead) {
        let profiled = match enough.plan == terms.plan {
            true => "",
            false => " of an exact profile",
        };
        let iterations = units::count(enough.iterations);
        return Some(Needed {
            iterations: enough.iterations,
            time: enough.time,
            why: Some(format!("{iterations} iterations{profiled} would be enough")),
        });
    }
    let to_accuse = terms.accuse_from(LadderEnd::Budget, climb.accused_at);
    let (iterations, why) = match reached < to_accuse {
        true => {
            let iterations = units::count(to_accuse);
            let why = format!(
                "{iterations} iterations are needed to tell a leak from a buffer that is filling"
            );
            (to_accuse, Some(why))
        }
        false => (estimate(report, short_by)?, None),
    };
    let time = climb.pace.until(iterations)?;
    Some(Needed {
        iterations,
        time,
        why,
    })
}

/// Returns after how many iterations the findings without a verdict would have one, if it can
/// be predicted: those whose level rests, if it goes on to rest; the others, if chance does not
/// change.
fn estimate(report: &Report, short_by: f64) -> Option<u64> {
    let unsure = report.unsure();
    let octaves = unsure.iter().map(|finding| report.octaves_at_rest(finding));
    let octaves: Option<Vec<usize>> = octaves.collect();
    match octaves.and_then(|octaves| octaves.into_iter().max()) {
        Some(octaves) => Some(rung(report.rungs.len() - 1 + octaves * RUNGS_PER_OCTAVE)),
        // Less than an octave more would show nothing new.
        None => Some(times(report, short_by)?.max(2 * report.iterations())),
    }
}

fn for_the_default(
    report: &Report,
    climb: &Climb,
    terms: &Terms<'_>,
    short_by: f64,
) -> Option<Needed> {
    let least = judge::iterations_to_settle(None, terms.plan.interval());
    let iterations = least.max(times(report, short_by)?);
    // With a spare time of a nanosecond, the budget is never one that was not enough.
    let spent = terms.settings.time_if_quiet() + Duration::from_nanos(1);
    Some(Needed {
        iterations,
        time: climb.pace.until(iterations)?.max(spent),
        why: None,
    })
}

/// Returns so many times the iterations of the report, and some to spare.
fn times(report: &Report, short_by: f64) -> Option<u64> {
    let iterations = SPARE * to_f64(report.iterations()) * short_by;
    (iterations < MOST).then_some(to_u64(iterations))
}

/// Formats a budget as it is set: a fifth more than the time that was predicted, because
/// machines differ, and rounded up.
fn budget(time: Duration) -> String {
    let seconds = (1.2 * time.as_secs_f64()).ceil();
    match seconds {
        ..120.0 => format!("{seconds:.0}s"),
        ..7_200.0 => format!("{:.0}m", (seconds / 60.0).ceil()),
        _ => format!("{:.0}h", (seconds / 3_600.0).ceil()),
    }
}
