//! Judges the growth of one stack over dumps that were taken at equal intervals.
//!
//! In a test, the iterations double from dump to dump, and plimsoll-core asks whether the
//! gains double with them. A server is dumped every minute, or by jemalloc after a certain
//! amount of allocation. To double that interval often enough would take days, and it is not
//! known what the server did before the first dump. So the laws are those of plimsoll-core,
//! but the question is another: does a stack gain as much in the last third of the time as in
//! each of the two thirds before, on average? Seven tenths of that are enough.
//!
//! | law | the last third gains | goes on |
//! |---|---|---|
//! | linear | as much, along a straight line | yes |
//! | stepped | as much, in steps; or each step is half as large again as the one before | yes |
//! | filling | less, or nothing | no, or perhaps |
//! | fluctuating | less, or nothing; more than a quarter of all gains was lost | no, or perhaps |
//!
//! Only a gain that is not due to chance counts: it must be at least four standard deviations.
//! Objects that come and go do so at random, and a sampled object stands for several. In
//! simulated series of 4 to 60 dumps, at most 0.5 % of stacks without a leak count as leaks,
//! if they have 3,000 objects that live for up to a hundred dumps. A leak of 1,000 objects on
//! such a stack is found in at least 95 %.

use plimsoll_core::Law;

/// The fewest dumps with which a leak can be told from a cache that fills: the ends of the
/// three thirds.
pub(super) const FEWEST: usize = 4;

/// The least gain that counts, in standard deviations. For counts of objects, that is 16
/// objects.
const GAIN_DEVIATIONS: f64 = 4.0;

/// The width of an error, in standard deviations.
const DEVIATIONS: f64 = 2.5;

/// What the last third must gain, as a share of the average of the two thirds before it. A
/// gain that falls to less than four fifths from third to third is not enough.
const GOES_ON: f64 = 0.7;

/// The largest distance of a linear law from a straight line, as a share of the growth. The
/// same as in plimsoll-core.
const STRAIGHT: f64 = 0.08;

/// By what factor each step must exceed the one before, if steps become larger. A `Vec`
/// doubles.
const LARGER: f64 = 1.5;

/// How long the next step may take, as a multiple of the time between the last two steps.
const PATIENCE: f64 = 2.5;

/// The share of the rises that must fall for a level to be called fluctuating.
const FALLS: f64 = 0.25;

/// The number of dumps from which on it is unlikely that levels are in order by chance.
const MANY: usize = 32;

/// The growth of one stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// The law. Absent if the gain may be due to chance.
    pub(super) law: Option<Law>,
    pub(super) goes_on: GoesOn,
    /// The gain per unit of distance: over all dumps if the law is linear, otherwise over
    /// their last half.
    pub(super) rate: f64,
    /// The error of the rate.
    pub(super) error: f64,
    /// The gain from the first dump to the last.
    pub(super) gain: f64,
}

/// Whether a growth continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GoesOn {
    /// There is no growth, or it has stopped.
    No,
    /// There was growth until the end, but less than before, or all at once.
    Unsure,
    Yes,
}

/// Returns the growth of levels at increasing distances. Returns `None` if there are too few
/// dumps. `grain` is the variance of the objects that come or go, for each unit of them.
pub(super) fn growth(at: &[f64], levels: &[f64], grain: f64) -> Option<Growth> {
    let dumps = at.len().min(levels.len());
    if dumps < FEWEST {
        return None;
    }
    let (at, levels) = (&at[..dumps], &levels[..dumps]);
    let last = dumps - 1;
    let noise = Noise::of(levels, grain);
    let gain = levels[last] - levels[0];
    let is_growth = noise.is_gain(levels, 0, last, GAIN_DEVIATIONS);
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
    // For doubt, a lower limit is enough.
    } else if noise.is_gain(levels, third, last, DEVIATIONS) {
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

/// Returns the dumps that are nearest to one third and two thirds of the time. No third is
/// empty.
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

/// The random part of the difference between two levels.
struct Noise {
    grain: f64,
    /// The variance that one step adds, estimated from the falls. A fall is not growth, and
    /// rises of the same size are not growth, either.
    step: f64,
    /// The variance of a level, if all its objects come and go.
    level: f64,
    /// Whether there are so few levels that they may be in ascending order by chance. Then
    /// nothing falls.
    is_short: bool,
}

impl Noise {
    #[expect(clippy::cast_precision_loss, reason = "numbers of dumps")]
    fn of(levels: &[f64], grain: f64) -> Noise {
        let falls = steps(levels).map(|step| step.min(0.0).powi(2)).sum::<f64>();
        Noise {
            grain,
            step: falls / (levels.len() - 1) as f64,
            level: grain * levels.iter().copied().fold(0.0, f64::max),
            is_short: levels.len() < MANY,
        }
    }

    /// Returns the standard deviation of a gain over this many steps.
    #[expect(clippy::cast_precision_loss, reason = "numbers of dumps")]
    fn of_gain(&self, gain: f64, steps: usize) -> f64 {
        // Objects that live long add variance from step to step, but never more than the whole
        // level has.
        let by_steps = (self.step * steps as f64).min(self.level).max(self.step);
        let by_level = match self.is_short {
            true => self.level / 2.0,
            false => 0.0,
        };
        (2.0 * by_steps.max(by_level) + self.grain * gain.abs()).sqrt()
    }

    /// Tells whether a level rose by at least this many standard deviations.
    fn is_gain(&self, levels: &[f64], from: usize, to: usize, deviations: f64) -> bool {
        let gain = levels[to] - levels[from];
        gain > 0.0 && gain >= deviations * self.of_gain(gain, to - from)
    }

    /// Tells whether nothing ever falls.
    fn is_still(&self) -> bool {
        self.step <= 0.0
    }
}

fn steps(levels: &[f64]) -> impl Iterator<Item = f64> {
    levels.windows(2).map(|two| two[1] - two[0])
}

/// Tells whether there are at least three steps, each larger than the one before, and the next
/// is not overdue.
fn grows_in_larger_steps(at: &[f64], levels: &[f64]) -> bool {
    let rises = at[1..].iter().copied().zip(steps(levels));
    let rises: Vec<(f64, f64)> = rises.filter(|(_, step)| *step > 0.0).collect();
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

impl GoesOn {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            GoesOn::Yes => "yes",
            GoesOn::Unsure => "perhaps",
            GoesOn::No => "no",
        }
    }
}

/// The straight line through all levels, by least squares.
struct Line {
    slope: f64,
    /// The largest distance of a level from the line.
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

    /// The law and continuation for this many objects of 100 bytes at dumps 0, 1, 2, …
    fn of(dumps: u32, objects: impl Fn(f64) -> f64) -> String {
        let at: Vec<f64> = (0..dumps).map(f64::from).collect();
        let levels: Vec<f64> = at.iter().map(|at| 100.0 * objects(*at).floor()).collect();
        match growth(&at, &levels, 100.0) {
            None => "too few".to_owned(),
            Some(growth) => {
                let law = growth.law.map_or("chance", Law::as_str);
                format!("{law} {:?}", growth.goes_on)
            }
        }
    }

    /// Numbers that look random, and are the same every time.
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
        let growth = growth(&at, &levels, 0.0).unwrap();
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
        // Four levels are in order by chance once in 24 orders.
        let in_order = |at: f64| 10_000.0 + 60.0 * at;
        assert_eq!(of(4, in_order), "chance No");
        assert_eq!(of(20, in_order), "linear Yes");
    }

    #[test]
    fn too_few() {
        assert_eq!(of(3, |at| 1_000.0 * at), "too few");
    }

    /// Normally distributed random numbers, the same every time.
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

        /// Returns how many of these objects are chosen, each with probability `share`.
        fn of(&mut self, objects: f64, share: f64) -> f64 {
            let deviation = (objects * share * (1.0 - share)).sqrt();
            (objects * share + deviation * self.normal()).round()
        }
    }

    /// Returns how many of 2,000 stacks are said to keep growing. Each has `mean` objects on
    /// average, which live for `life` dumps, and leaks `leak` objects per dump besides.
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
            growth(&at, &levels, 1.0).unwrap().goes_on == GoesOn::Yes
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
        let growth = growth(&at, &levels, 0.0).unwrap();
        assert!((growth.rate - 250.0).abs() < 1e-6, "{growth:?}");
        assert!(growth.error.abs() < 1e-6, "{growth:?}");
    }
}
