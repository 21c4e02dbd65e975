//! Whether a stack whose levels are counts rises, and what leak would.
//!
//! Where levels never fall, they are growth, all of them, and only its shape is in
//! question. Where they fall, something comes and goes beside what may be kept:
//! then growth is what chance does not explain.

use super::contrast::{Contrast, RUNGS, rests_on_one_step, ups_and_downs};
use super::{
    HARDLY_LESS, Line, RISE, RISING_OCTAVES, is_net_growth, is_rising_in_phases, quantity_of,
    to_f64,
};
use crate::ladder::RUNGS_PER_OCTAVE;
use crate::series::LEAST_SIZE;

/// How many standard deviations the gain of the last octave must be.
const GAIN_DEVIATIONS: f64 = 5.5;

/// By how many it must exceed what bounded growth would leave of it.
const RISE_DEVIATIONS: f64 = 2.2;

/// How many standard deviations more make what is found here found in other
/// runs.
const SURE: f64 = 1.0;

/// Objects that a leak which is to be found makes by the last rung, at least.
const OBJECTS_TO_FIND: f64 = 16.0;

/// By how much a leak that was not found is raised, until it is; and how often.
const MORE: f64 = 1.189_207_115_002_721;
const TIMES: usize = 240;

/// How many objects levels may be off a straight line that flicker beside a leak.
const FLICKER: f64 = 2.0;

/// Objects that the last octave must gain, where what never falls is taken to be
/// dealt out by chance.
const FEW: f64 = 5.0;

/// How many say for sure that it is not new: some must have come three octaves
/// ago.
const MANY: f64 = 40.0;

/// What the last octave must gain of all that was gained before. A leak gains as
/// much; a cache that was full two octaves ago, a seventh at most.
const OF_ALL_BEFORE: f64 = 0.3;

/// By how many deviations of a count at random it may be less than that.
const AT_RANDOM: f64 = 3.3;

/// What it must gain of the octave before it. A leak gains twice as much.
const OF_ONE_BEFORE: f64 = 0.6;

/// What comes and goes at random: by how much one rung may be off, and one rung
/// from the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fluctuation {
    /// The variance of a level about growth.
    at_a_rung: f64,
    /// The variance of what came and went between two rungs.
    between: f64,
    /// What comes or goes at once.
    unit: f64,
    /// Whether nothing ever goes.
    is_none: bool,
}

impl Fluctuation {
    /// Of levels of objects of that size, at most.
    ///
    /// What comes and goes one by one does so at random: as much comes as goes,
    /// and the variance of both is their number. It shows where they live so long
    /// that neighbouring rungs see the same ones.
    pub(super) fn of(levels: &[f64], unit: f64) -> Fluctuation {
        let span = &levels[levels.len().saturating_sub(RUNGS)..];
        let falls: f64 = falls(span).sum();
        Fluctuation {
            at_a_rung: ups_and_downs(span),
            between: 2.0 * falls * unit / to_f64(span.len().max(2) as u64 - 1),
            unit,
            is_none: falls <= 0.0,
        }
    }

    /// Where other levels of the same objects fall, if these do not.
    pub(super) fn with(mut self, other: &Fluctuation) -> Fluctuation {
        self.is_none &= other.is_none;
        self
    }

    /// The greater of the two.
    fn max(self, other: &Fluctuation) -> Fluctuation {
        Fluctuation {
            at_a_rung: self.at_a_rung.max(other.at_a_rung),
            between: self.between.max(other.between),
            unit: self.unit,
            is_none: self.is_none && other.is_none,
        }
    }
}

fn falls(levels: &[f64]) -> impl Iterator<Item = f64> {
    levels.windows(2).map(|pair| (pair[0] - pair[1]).max(0.0))
}

/// Whether the gains of the last octaves rise, beyond what fluctuates.
///
/// What was not there before is at random as well, unless it comes so evenly that
/// only a few objects flicker beside it. A margin of so many deviations more is for
/// what another run would see.
pub(super) fn rises(
    iterations: &[f64],
    levels: &[f64],
    fluctuation: &Fluctuation,
    margin: f64,
) -> bool {
    let shaped = || is_rising_in_phases(levels) || is_even(levels, fluctuation.unit);
    if fluctuation.is_none && shaped() {
        return true;
    }
    let Some(from) = levels.len().checked_sub(RUNGS) else {
        return false;
    };
    let span = &levels[from..];
    let mut moved = [fluctuation.between; RUNGS];
    let is_beyond = |moved: &[f64; RUNGS]| is_beyond(span, moved, fluctuation.at_a_rung, margin);
    if !is_beyond(&moved) {
        return false;
    }
    if !fluctuation.is_none
        && fluctuation.unit <= 1.0
        && is_rising_in_phases(levels)
        && Line::through(iterations, levels).greatest <= FLICKER
    {
        return true;
    }
    for (moved, pair) in moved[1..].iter_mut().zip(span.windows(2)) {
        *moved += (pair[1] - pair[0]).abs() * fluctuation.unit;
    }
    is_beyond(&moved)
}

/// Whether an octave's gain, on the mean of four phases, is beyond the deviation of
/// what moves, and clearly more than three octaves ago.
fn is_beyond(levels: &[f64], moved: &[f64; RUNGS], at_a_rung: f64, margin: f64) -> bool {
    let gains: [Contrast; RISING_OCTAVES] = std::array::from_fn(Contrast::gain);
    let beyond = |contrast: &Contrast, deviations: f64| {
        let variance = contrast.variance(moved, at_a_rung);
        contrast.of(levels) > (deviations + margin) * variance.sqrt()
    };
    let rise = gains[0].less(RISE * RISE, &gains[RISING_OCTAVES - 1]);
    let hardly_less = |pair: &[Contrast]| beyond(&pair[0].less(HARDLY_LESS, &pair[1]), 0.0);
    beyond(&gains[0], GAIN_DEVIATIONS)
        && beyond(&rise, RISE_DEVIATIONS)
        && gains.iter().all(|gain| beyond(gain, 0.0))
        && gains.windows(2).all(hardly_less)
        && is_net_growth(levels, margin)
        && !rests_on_one_step(levels)
}

/// Whether levels that never fall gain as much in the last octave as in all before
/// it, as far as can be told of a few objects that come at random: a phase may gain
/// nothing of those.
fn is_even(levels: &[f64], unit: f64) -> bool {
    let Some(from) = levels.len().checked_sub(RUNGS) else {
        return false;
    };
    let last = levels.len() - 1;
    let before = last - RUNGS_PER_OCTAVE;
    let (gained, until) = (levels[last] - levels[before], levels[before] - levels[0]);
    let span = &levels[from..];
    let gains: [f64; RISING_OCTAVES] =
        std::array::from_fn(|octave| Contrast::gain(octave).of(span));
    gained >= FEW * unit
        && gained >= OF_ALL_BEFORE * until
        && until - gained <= AT_RANDOM * (unit * (until + gained)).sqrt()
        && gains[0] >= OF_ONE_BEFORE * gains[1]
        && gains[1] > 0.0
        && (gains[2] > 0.0 || gained < MANY * unit)
        && !rests_on_one_step(span)
}

/// The least rate of a leak on top of these levels that would be found.
pub(super) fn findable(iterations: &[f64], levels: &[f64], fluctuation: &Fluctuation) -> f64 {
    let last = levels.len() - 1;
    let span = &levels[levels.len().saturating_sub(RUNGS)..];
    if fluctuation.is_none && span[0] >= span[span.len() - 1] {
        // Nothing moves.
        return 0.0;
    }
    let Some(from) = levels.len().checked_sub(RUNGS) else {
        return match fluctuation.is_none {
            true => 0.0,
            false => f64::INFINITY,
        };
    };
    let mut rate = OBJECTS_TO_FIND / iterations[last];
    if !fluctuation.is_none {
        let gain = Contrast::gain(0);
        let variance = gain.variance(&[fluctuation.between; RUNGS], fluctuation.at_a_rung);
        let wanted = (GAIN_DEVIATIONS + SURE) * variance.sqrt() - gain.of(span);
        rate = rate.max(wanted / gain.of(&iterations[from..]));
    }
    // What never falls is told by its shape alone, which chance bends: a deviation
    // more of it comes early. Where it is of larger objects, their number tells.
    let early = |rate: f64, n: f64| match fluctuation.is_none {
        true => (fluctuation.unit.min(LEAST_SIZE) * rate * n * (1.0 - n / iterations[last])).sqrt(),
        false => 0.0,
    };
    let mut with = levels.to_vec();
    for _ in 0..TIMES {
        for ((with, level), n) in with.iter_mut().zip(levels).zip(iterations) {
            *with = level + rate * n + early(rate, *n);
        }
        // Growth may hide what comes and goes, and may show it.
        let seen = Fluctuation::of(&with, fluctuation.unit);
        if rises(iterations, &with, &seen, 0.0)
            && rises(iterations, &with, &seen.max(fluctuation), SURE)
        {
            let found = quantity_of(iterations, &with, true);
            // The cut of growth at a threshold is a quarter of twice that.
            if found.rate - found.error > 0.25 * rate {
                return rate;
            }
        }
        rate *= MORE;
    }
    f64::INFINITY
}
