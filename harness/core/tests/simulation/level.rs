//! How births and levels go with the iterations.

use std::f64::consts::TAU;

use super::Random;

/// The way from one rung to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(super) before: u64,
    pub(super) n: u64,
}

impl Step {
    pub(super) fn passed(self) -> f64 {
        (self.n - self.before) as f64
    }

    /// Whether that iteration is on the way.
    pub(super) fn passes(self, at: u64) -> bool {
        self.before < at && at <= self.n
    }

    /// Whether a multiple of that is on the way.
    pub(super) fn crosses(self, every: u64) -> bool {
        self.n / every.max(1) != self.before / every.max(1)
    }

    /// Without the iterations up to that one.
    pub(super) fn after(self, from: u64) -> Step {
        Step {
            before: self.before.saturating_sub(from),
            n: self.n.saturating_sub(from),
        }
    }
}

/// How evenly objects come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    Even,
    Random,
    /// All that came in so many iterations at once; the phase is a share of them.
    Bursts {
        every: f64,
        phase: f64,
    },
}

impl Pace {
    /// How many come on the way, at a rate per iteration.
    pub(super) fn came(self, rate: f64, random: &mut Random, step: Step) -> u64 {
        let even = |n: u64| match self {
            Pace::Bursts { every, phase } => {
                ((n as f64 / every + phase).floor() * every * rate) as u64
            }
            Pace::Even | Pace::Random => (n as f64 * rate) as u64,
        };
        match self {
            Pace::Random => random.poisson(step.passed() * rate),
            Pace::Even | Pace::Bursts { .. } => even(step.n) - even(step.before),
        }
    }
}

/// How many objects of a bounded place are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Capacity(u64),
    /// Poisson; it forgets itself in so many iterations.
    Wander {
        mean: f64,
        memory: f64,
    },
    /// What waits for a reader that is hardly faster than the writer.
    Geometric {
        mean: f64,
    },
    /// Up to so many and back in a period, from a share of it on.
    Triangle {
        most: f64,
        period: f64,
        phase: f64,
    },
    /// The sum of two waves, up to so many.
    Waves {
        most: f64,
        periods: [f64; 2],
        phase: f64,
    },
    /// So many more an iteration, and a Poisson number with that mean.
    Growing {
        rate: f64,
        noise: f64,
    },
}

impl Level {
    pub(super) fn at(self, random: &mut Random, step: Step, before: u64) -> u64 {
        let n = step.n as f64;
        let level = match self {
            Level::Capacity(objects) => return objects,
            Level::Wander { mean, memory } => {
                let stays = (-step.passed() / memory).exp();
                let stayed = random.binomial(before, stays);
                return stayed + random.poisson(mean * (1.0 - stays));
            }
            Level::Geometric { mean } => -mean * random.unit().ln(),
            Level::Triangle {
                most,
                period,
                phase,
            } => most * (2.0 * (n / period + phase).fract() - 1.0).abs(),
            Level::Waves {
                most,
                periods,
                phase,
            } => {
                let waves = periods.map(|period| ((n / period + phase) * TAU).sin());
                most * (2.0 + waves[0] + waves[1]) / 4.0
            }
            Level::Growing { rate, noise } => rate * n + random.poisson(noise) as f64,
        };
        level.round() as u64
    }
}

/// Births per iteration that change with the iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Births {
    /// Up and down by a share of the mean, in so many iterations.
    Swing {
        mean: f64,
        share: f64,
        period: f64,
        phase: f64,
    },
    /// So many in the n-th iteration for each of the n.
    Rising(f64),
}

impl Births {
    /// How many of those born on the way are left at its end on the mean, where
    /// each lives for so long.
    pub(super) fn left(self, step: Step, life: f64) -> f64 {
        let survives = (-step.passed() / life).exp();
        match self {
            Births::Swing {
                mean,
                share,
                period,
                phase,
            } => {
                let speed = TAU / period;
                // The integral of exp(−(n − t)/L)·sin(ωt + φ), from where t is 0.
                let swung = |t: u64| {
                    let (sin, cos) = (speed * t as f64 + phase * TAU).sin_cos();
                    (sin - speed * life * cos) / (1.0 + (speed * life).powi(2))
                };
                let swung = swung(step.n) - swung(step.before) * survives;
                mean * life * (1.0 - survives + share * swung)
            }
            Births::Rising(per_iteration) => {
                let risen = |t: u64| t as f64 - life;
                per_iteration * life * (risen(step.n) - risen(step.before) * survives)
            }
        }
    }
}
