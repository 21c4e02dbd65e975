//! Random numbers that are the same on every machine.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

/// Up to this mean, draws are exact; above it they are normal, corrected for
/// skewness.
const EXACT_MEAN: f64 = 64.0;

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

    /// Mean 0, variance 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
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
}
