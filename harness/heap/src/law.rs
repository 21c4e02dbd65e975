//! The growth of one stack over dumps that were taken at equal distances.
//!
//! In a test, the iterations double from dump to dump, and plimsoll-core asks whether the gains
//! double with them. A server is dumped every minute, or by jemalloc after a certain amount of
//! allocation. To double that distance often enough would take days, and what the server did
//! before the first dump is not known. So the laws are those of plimsoll-core, but the question is
//! another: does a stack gain as much in the last third of the time as in each of the two thirds
//! before, on the mean? Seven tenths of that are enough.
//!
//! | law | the last third gains | goes on |
//! |---|---|---|
//! | linear | as much, along a straight line | yes |
//! | stepped | as much, in steps; or each step is half as large again as the one before | yes |
//! | filling | less, or nothing | no, or perhaps |
//! | fluctuating | less, or nothing; more than a quarter of all gains was lost | no, or perhaps |
//!
//! Only a gain beyond chance counts: it has to be four standard deviations. Objects that come and
//! go do so at random, and a sampled object stands for several. In simulated series of 4 to 60
//! dumps, stacks of 3,000 objects that live for up to a hundred dumps count as leaks in at most
//! 0.5 %, and a leak of 1,000 objects on such a stack is found in at least 95 %.

use plimsoll_core::Law;

/// Dumps without which a leak cannot be told from a cache that fills: one for each
/// end of the three thirds.
pub(super) const FEWEST: usize = 4;

/// How many deviations a gain must be. Of counts, that is 16 objects.
const GAIN_DEVIATIONS: f64 = 4.0;

/// How many an error holds.
const DEVIATIONS: f64 = 2.5;

/// What the last third must gain of what the two before it gained on the mean. That
/// is lost by what comes down to less than four fifths from third to third.
const GOES_ON: f64 = 0.7;

/// How far from a straight line a linear law may stray, as a share of the growth; as
/// in core.
const STRAIGHT: f64 = 0.08;

/// How much larger than the one before a step must be, where steps are ever larger. A
/// `Vec` doubles.
const LARGER: f64 = 1.5;

/// How much longer than between the last two steps one may wait for the next.
const PATIENCE: f64 = 2.5;

/// How much falls, as a share of what rises, in a level that is said to fluctuate.
const FALLS: f64 = 0.25;

/// Dumps of which it is unlikely that they are in order by chance.
const MANY: usize = 32;

/// What chance does to a level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chance {
    /// The variance of what comes or goes, for each unit of it.
    pub(super) grain: f64,
}

/// What one stack does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// Absent where what was gained may be chance.
    pub(super) law: Option<Law>,
    pub(super) goes_on: GoesOn,
    /// Per unit of distance; over all of it where it is straight, else over its last
    /// half.
    pub(super) rate: f64,
    /// How far the rate may be off.
    pub(super) error: f64,
    /// From the first dump to the last.
    pub(super) gain: f64,
}

/// Whether growth does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GoesOn {
    /// There is none, or it has stopped.
    No,
    /// There still was some, and less than before, or all at once.
    Unsure,
    Yes,
}

/// Of levels at increasing distances. None where there are too few.
pub(super) fn growth(at: &[f64], levels: &[f64], chance: Chance) -> Option<Growth> {
    let dumps = at.len().min(levels.len());
    if dumps < FEWEST {
        return None;
    }
    let (at, levels) = (&at[..dumps], &levels[..dumps]);
    let last = dumps - 1;
    let noise = Noise::of(levels, chance);
    let gain = levels[last] - levels[0];
    let is_growth = noise.is_gain(levels, 0, last);
    let [second, third] = thirds(at);
    let rate = |from: usize, to: usize| (levels[to] - levels[from]) / (at[to] - at[from]);

    let is_even = [(0, second), (second, third), (third, last)]
        .iter()
        .all(|(from, to)| levels[*to] > levels[*from])
        && rate(third, last) >= GOES_ON * rate(0, third);
    let goes_on = if !is_growth {
        GoesOn::No
    } else if is_even || noise.is_still() && grows_in_larger_steps(at, levels) {
        GoesOn::Yes
    } else if noise.is_more(levels, third, last) {
        GoesOn::Unsure
    } else {
        GoesOn::No
    };

    let line = Line::through(at, levels);
    let off = DEVIATIONS * noise.of_gain(gain / 2.0, 1);
    let straight = line.farthest <= STRAIGHT * gain.abs() + off;
    let law = match goes_on {
        GoesOn::Yes if straight => Some(Law::Linear),
        GoesOn::Yes => Some(Law::Stepped),
        _ if fluctuates(levels) => Some(Law::Fluctuating),
        _ => is_growth.then_some(Law::Filling),
    };
    let half = nearest(at, at[0] + (at[last] - at[0]) / 2.0).clamp(1, last - 1);
    let (rate, from) = match law {
        Some(Law::Linear) => (line.slope, 0),
        _ => (rate(half, last), half),
    };
    Some(Growth {
        law,
        goes_on,
        rate,
        error: DEVIATIONS * noise.of_gain(levels[last] - levels[from], last - from)
            / (at[last] - at[from]),
        gain,
    })
}

/// The dumps that are nearest to one third and two thirds of the way; three thirds
/// that are not empty.
fn thirds(at: &[f64]) -> [usize; 2] {
    let last = at.len() - 1;
    let third = (at[last] - at[0]) / 3.0;
    let second = nearest(at, at[0] + third).clamp(1, last - 2);
    let third = nearest(at, at[0] + 2.0 * third).clamp(second + 1, last - 1);
    [second, third]
}

fn nearest(at: &[f64], to: f64) -> usize {
    let off = |dump: &usize| (at[*dump] - to).abs();
    (0..at.len())
        .min_by(|one, two| off(one).total_cmp(&off(two)))
        .unwrap_or_default()
}

/// What is chance in the difference of two levels.
struct Noise {
    grain: f64,
    /// The variance that one step adds: what falls is no growth, and as much of what
    /// rises is none.
    step: f64,
    /// The variance of a level, if everything in it comes and goes.
    level: f64,
    /// Whether levels may be in order by chance, so that nothing falls.
    is_short: bool,
}

impl Noise {
    #[expect(clippy::cast_precision_loss, reason = "numbers of dumps")]
    fn of(levels: &[f64], chance: Chance) -> Noise {
        let falls = steps(levels).map(|step| step.min(0.0).powi(2)).sum::<f64>();
        Noise {
            grain: chance.grain,
            step: falls / (levels.len() - 1) as f64,
            level: chance.grain * levels.iter().copied().fold(0.0, f64::max),
            is_short: levels.len() < MANY,
        }
    }

    /// The deviation of what was gained over so many steps.
    #[expect(clippy::cast_precision_loss, reason = "numbers of dumps")]
    fn of_gain(&self, gain: f64, steps: usize) -> f64 {
        // What lives long adds up from step to step, to no more than all that is there.
        let by_steps = (self.step * steps as f64).min(self.level).max(self.step);
        let by_level = match self.is_short {
            true => self.level / 2.0,
            false => 0.0,
        };
        (2.0 * by_steps.max(by_level) + self.grain * gain.abs()).sqrt()
    }

    fn is_gain(&self, levels: &[f64], from: usize, to: usize) -> bool {
        let gain = levels[to] - levels[from];
        gain > 0.0 && gain >= GAIN_DEVIATIONS * self.of_gain(gain, to - from)
    }

    /// As [`is_gain`](Self::is_gain), where doubt is enough.
    fn is_more(&self, levels: &[f64], from: usize, to: usize) -> bool {
        let gain = levels[to] - levels[from];
        gain > 0.0 && gain >= DEVIATIONS * self.of_gain(gain, to - from)
    }

    /// Whether nothing comes and goes.
    fn is_still(&self) -> bool {
        self.step <= 0.0
    }
}

fn steps(levels: &[f64]) -> impl Iterator<Item = f64> {
    levels.windows(2).map(|two| two[1] - two[0])
}

/// Whether there are three steps at least, each larger than the one before, and the
/// next is not overdue.
fn grows_in_larger_steps(at: &[f64], levels: &[f64]) -> bool {
    let rises: Vec<(f64, f64)> = at[1..]
        .iter()
        .copied()
        .zip(steps(levels))
        .filter(|(_, step)| *step > 0.0)
        .collect();
    let [.., before, last] = rises.as_slice() else {
        return false;
    };
    let since = at[at.len() - 1] - last.0;
    rises.len() >= 3
        && rises.windows(2).all(|two| two[1].1 >= LARGER * two[0].1)
        && since <= PATIENCE * (last.0 - before.0)
}

fn fluctuates(levels: &[f64]) -> bool {
    let rises: f64 = steps(levels).map(|step| step.max(0.0)).sum();
    let falls: f64 = steps(levels).map(|step| -step.min(0.0)).sum();
    falls > FALLS * rises
}

/// The straight line through all levels, by least squares.
struct Line {
    slope: f64,
    /// How far the level that is farthest from it is.
    farthest: f64,
}

impl Line {
    #[expect(clippy::cast_precision_loss, reason = "numbers of dumps")]
    fn through(at: &[f64], levels: &[f64]) -> Line {
        let count = at.len() as f64;
        let mean_at = at.iter().sum::<f64>() / count;
        let mean_level = levels.iter().sum::<f64>() / count;
        let points = || at.iter().zip(levels);
        let covariance: f64 = points()
            .map(|(at, level)| (at - mean_at) * (level - mean_level))
            .sum();
        let variance: f64 = at.iter().map(|at| (at - mean_at).powi(2)).sum();
        let slope = covariance / variance;
        let farthest = points()
            .map(|(at, level)| (level - mean_level - slope * (at - mean_at)).abs())
            .fold(0.0, f64::max);
        Line { slope, farthest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of objects of 100 bytes each, at dumps 0, 1, 2, …
    fn of(dumps: u32, objects: impl Fn(f64) -> f64) -> String {
        let at: Vec<f64> = (0..dumps).map(f64::from).collect();
        let levels: Vec<f64> = at.iter().map(|at| 100.0 * objects(*at).floor()).collect();
        match growth(&at, &levels, Chance { grain: 100.0 }) {
            None => "too few".to_owned(),
            Some(growth) => {
                let law = growth.law.map_or("chance", Law::as_str);
                format!("{law} {:?}", growth.goes_on)
            }
        }
    }

    /// Numbers that look like chance, the same every time.
    fn chance(at: f64) -> f64 {
        (at * 12.9898).sin() * 43_758.547 % 1.0
    }

    #[test]
    fn a_leak() {
        for dumps in [4, 5, 9, 13, 60] {
            assert_eq!(
                of(dumps, |at| 5_000.0 + 600.0 * at),
                "linear Yes",
                "{dumps}"
            );
        }
    }

    #[test]
    fn a_leak_beside_what_comes_and_goes() {
        let leak = |at: f64| 10_000.0 + 300.0 * at + 200.0 * chance(at);
        assert_eq!(of(30, leak), "linear Yes");
    }

    #[test]
    fn a_cache_that_fills() {
        for dumps in [9, 13, 60] {
            let last = f64::from(dumps - 1);
            let full_halfway = |at: f64| 20_000.0 * (2.0 * at / last).min(1.0);
            assert_eq!(of(dumps, full_halfway), "filling No", "{dumps}");
            let ever_slower = |at: f64| 50_000.0 * (1.0 - (-3.0 * at / last).exp());
            assert_eq!(of(dumps, ever_slower), "filling Unsure", "{dumps}");
        }
        assert_eq!(of(5, |at| 8_000.0 * at.min(2.0)), "filling No");
    }

    #[test]
    fn a_vec_that_is_only_pushed_to() {
        let at: Vec<f64> = (0..24).map(f64::from).collect();
        let doubled = |at: f64| 4_096.0 * 2_f64.powf((1.0 + at).log2().floor());
        let levels: Vec<f64> = at.iter().map(|at| doubled(*at)).collect();
        let growth = growth(&at, &levels, Chance::default()).unwrap();
        assert_eq!(growth.law, Some(Law::Stepped));
        assert_eq!(growth.goes_on, GoesOn::Yes);
    }

    #[test]
    fn one_step_is_no_leak_yet() {
        let step = |from: f64| move |at: f64| if at < from { 0.0 } else { 9_000.0 };
        assert_eq!(of(20, step(3.0)), "filling No");
        assert_eq!(of(20, step(18.0)), "filling Unsure");
    }

    #[test]
    fn what_goes_up_and_down() {
        for dumps in [4, 6, 20, 60] {
            let level = |at: f64| 10_000.0 + 400.0 * chance(at);
            assert_eq!(of(dumps, level), "fluctuating No", "{dumps}");
        }
        let sawtooth = |at: f64| 1_000.0 * (at % 7.0);
        assert_eq!(of(40, sawtooth), "fluctuating No");
    }

    #[test]
    fn few_objects_are_chance() {
        assert_eq!(of(4, |at| at), "chance No");
        // Levels in order, of which there are 24 of four.
        let in_order = |at: f64| 10_000.0 + 60.0 * at;
        assert_eq!(of(4, in_order), "chance No");
        assert_eq!(of(20, in_order), "linear Yes");
    }

    #[test]
    fn too_few() {
        assert_eq!(of(3, |at| 1_000.0 * at), "too few");
    }

    /// Normally distributed, the same every time.
    struct Random(u64);

    impl Random {
        fn normal(&mut self) -> f64 {
            let uniform = |random: &mut Random| {
                random.0 ^= random.0 << 13;
                random.0 ^= random.0 >> 7;
                random.0 ^= random.0 << 17;
                (random.0 >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform(self)).sum::<f64>() - 6.0
        }

        /// How many of so many, each with that probability.
        fn of(&mut self, objects: f64, share: f64) -> f64 {
            let deviation = (objects * share * (1.0 - share)).sqrt();
            (objects * share + deviation * self.normal()).round()
        }
    }

    /// How many of 2,000 stacks are said to keep growing, whose objects live for so
    /// many dumps and are `mean` on the mean, and which leak beside that.
    fn said_to_grow(dumps: usize, mean: f64, life: f64, leak: f64) -> usize {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let stays = (-1.0 / life).exp();
        let at: Vec<f64> = (0..dumps).map(|dump| dump as f64).collect();
        let mut one = || {
            let mut there = mean;
            let mut leaked = 0.0;
            let mut levels = Vec::new();
            for _ in 0..dumps {
                let come = mean * (1.0 - stays);
                there = random.of(there, stays) + (come + come.sqrt() * random.normal()).round();
                leaked += (leak + leak.sqrt() * random.normal()).round();
                levels.push(there + leaked);
            }
            growth(&at, &levels, Chance { grain: 1.0 }).unwrap().goes_on == GoesOn::Yes
        };
        (0..2_000).filter(|_| one()).count()
    }

    #[test]
    fn chance_seldom_passes_for_a_leak() {
        for dumps in [4, 9, 16, 31, 32, 60] {
            for life in [0.2, 5.0, 30.0, 100.0] {
                let grow = said_to_grow(dumps, 3_000.0, life, 0.0);
                assert!(grow <= 10, "{dumps} dumps, {life}: {grow}");
            }
            let leak = 1_000.0 / dumps as f64;
            let grow = said_to_grow(dumps, 3_000.0, 100.0, leak);
            assert!(grow >= 1_900, "{dumps} dumps: {grow}");
        }
    }

    #[test]
    fn a_rate_is_what_it_gains() {
        let at: Vec<f64> = (0..10).map(|n| f64::from(n) * 60.0).collect();
        let levels: Vec<f64> = at.iter().map(|at| 1e6 + 250.0 * at).collect();
        let growth = growth(&at, &levels, Chance::default()).unwrap();
        assert!((growth.rate - 250.0).abs() < 1e-6, "{growth:?}");
        assert!(growth.error.abs() < 1e-6, "{growth:?}");
    }
}
