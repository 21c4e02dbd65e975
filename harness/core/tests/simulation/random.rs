//! Random numbers that are the same on every machine.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

/// Up to this mean, draws are exact; above it they are normal, corrected for
/// skewness.
const EXACT_MEAN: f64 = 64.0;

/// Up to so many objects are drawn one by one where each draw changes the next.
/// Of more, so few are marked or so many are left that it does not matter.
const EXACT_DRAWS: u64 = 256;

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Above 0, up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Between two limits, each magnitude as likely as any other.
    pub(crate) fn magnitude(&mut self, least: f64, greatest: f64) -> f64 {
        least * (greatest / least).powf(self.unit())
    }

    /// Any of a few, each as likely as any other.
    pub(crate) fn one_of<T: Copy>(&mut self, few: &[T]) -> T {
        few[self.below(few.len() as u64) as usize]
    }

    /// True in one of two cases.
    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Mean 0, variance 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The greatest of so many normal deviates, within 0.001 where it is above
    /// the mean (Abramowitz and Stegun, 26.2.23).
    pub(crate) fn greatest_normal(&mut self, draws: f64) -> f64 {
        let above = (-(self.unit().ln() / draws).exp_m1()).max(f64::MIN_POSITIVE);
        if above > 0.5 {
            return 0.0;
        }
        let t = (-2.0 * above.ln()).sqrt();
        let over = 2.515_517 + t * (0.802_853 + t * 0.010_328);
        t - over / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
    }

    /// By a normal deviate, with the first correction for skewness (Cornish and
    /// Fisher).
    fn skewed(&mut self, mean: f64, deviation: f64, skewness: f64) -> f64 {
        let z = self.normal();
        mean + deviation * (z + skewness * (z * z - 1.0) / 6.0)
    }

    pub(crate) fn poisson(&mut self, mean: f64) -> u64 {
        if mean > EXACT_MEAN {
            let deviation = mean.sqrt();
            return self
                .skewed(mean, deviation, 1.0 / deviation)
                .round()
                .max(0.0) as u64;
        }
        let end = (-mean).exp();
        let mut product = self.unit();
        let mut count = 0;
        while product > end {
            product *= self.unit();
            count += 1;
        }
        count
    }

    pub(crate) fn binomial(&mut self, n: u64, p: f64) -> u64 {
        if p >= 1.0 || n == 0 {
            return n;
        }
        if p <= 0.0 {
            return 0;
        }
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        let mean = n as f64 * p;
        if mean > EXACT_MEAN {
            let deviation = (mean * (1.0 - p)).sqrt();
            let drawn = self.skewed(mean, deviation, (1.0 - 2.0 * p) / deviation);
            return (drawn.round().max(0.0) as u64).min(n);
        }
        // The gaps between successes are geometric.
        let ln_failure = (-p).ln_1p();
        let (mut at, mut count) = (0.0, 0);
        loop {
            at += (self.unit().ln() / ln_failure).floor() + 1.0;
            if at > n as f64 {
                return count;
            }
            count += 1;
        }
    }

    /// How many of `draws` objects are marked, where `marked` of `total` are.
    pub(crate) fn hypergeometric(&mut self, draws: u64, marked: u64, total: u64) -> u64 {
        if draws == 0 || marked == 0 {
            return 0;
        }
        if marked >= total || draws >= total {
            return draws.min(marked);
        }
        if draws > total / 2 {
            return marked - self.hypergeometric(total - draws, marked, total);
        }
        if marked > total / 2 {
            return draws - self.hypergeometric(draws, total - marked, total);
        }
        let (draws, marked) = (draws.min(marked), draws.max(marked));
        if draws <= EXACT_DRAWS {
            return (0..draws).fold(0, |count, drawn| {
                count + u64::from(self.below(total - drawn) < marked - count)
            });
        }
        let share = marked as f64 / total as f64;
        let mean = draws as f64 * share;
        if mean <= EXACT_MEAN {
            return self.binomial(draws, share);
        }
        let not_drawn = 1.0 - draws as f64 / total as f64;
        let deviation = (mean * (1.0 - share) * not_drawn).sqrt();
        let skewness = (1.0 - 2.0 * share) * (2.0 * not_drawn - 1.0) / deviation;
        let drawn = self.skewed(mean, deviation, skewness);
        (drawn.round().max(0.0) as u64).min(draws)
    }
}
