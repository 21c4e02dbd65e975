use crate::Tally;

/// The level of one stack (or site, or resource) at every rung of a ladder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    levels: Vec<Tally>,
}

impl Series {
    /// From the level at each rung, in the ladder's order.
    pub fn new(levels: Vec<Tally>) -> Self {
        Self { levels }
    }

    /// The level at each rung.
    pub fn levels(&self) -> &[Tally] {
        &self.levels
    }

    /// Whether no rung differs from the first.
    pub fn is_flat(&self) -> bool {
        self.levels.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Sets the level at a rung; rungs that are skipped are at zero.
    pub fn set(&mut self, rung: usize, level: Tally) {
        if self.levels.len() <= rung {
            self.levels.resize(rung + 1, Tally::default());
        }
        self.levels[rung] = level;
    }

    /// Adds to the level at a rung; rungs that are skipped are at zero.
    pub fn add(&mut self, rung: usize, more: Tally) {
        let level = self.levels.get(rung).copied().unwrap_or_default();
        self.set(rung, level.saturating_add(more));
    }

    /// Puts rungs that are missing at zero, so that there are so many.
    pub fn extend_to(&mut self, rungs: usize) {
        if self.levels.len() < rungs {
            self.levels.resize(rungs, Tally::default());
        }
    }

    /// Adds another series, rung by rung.
    pub fn merge(&mut self, other: &Series) {
        self.extend_to(other.levels.len());
        for (level, more) in self.levels.iter_mut().zip(&other.levels) {
            *level += *more;
        }
    }
}
