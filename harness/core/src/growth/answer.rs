//! What was asked of a stack, and what the answers were, in numbers: the verdict's reasons, for a
//! person who doubts it.

use super::{Quantity, Unit};

/// One way to look at a stack, and what was asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether objects are counted, or bytes.
    pub unit: Unit,
    /// What is looked at.
    pub of: Looked,
    /// The answers, in the order of the questions, until the last one that was needed.
    pub answers: Vec<Answer>,
    /// What they come to.
    pub quantity: Quantity,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The level, which never falls.
    Level,
    /// What is alive at the last rung, by its birth, of which the youngest so many rungs are
    /// left out.
    Kept(usize),
    /// The least level since each rung, where births are not known.
    Floor,
    /// The mean level of each octave.
    Octaves,
}

/// One answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The number that answers it.
    pub found: f64,
    /// The least that a leak has.
    pub least: f64,
    /// The most that it has; infinite, where there is none.
    pub most: f64,
}

/// What is asked. The numbers of its answer are in the unit of the view where that is said, and
/// without one elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether objects rise, for bytes: what stayed takes more objects for more bytes.
    ObjectsRise,
    /// What the last octave gained, in the view's unit.
    Gained,
    /// The same, for a line through fewer rungs.
    GainedMany,
    /// How much of what was kept until then died in the last two octaves, in the view's unit.
    Died,
    /// How many of the ways to cut the ladder into octaves have each gain twice the one before.
    Doubles,
    /// What the octave gained that ends so many octaves before the last rung, in the view's
    /// unit; it is held against what the one before it gained.
    GoesOn(usize),
    /// How many of the last so many rungs gained something.
    Steps(usize),
    /// How far the furthest of the last so many rungs is from a straight line, as a share of
    /// what chance explains.
    Off(usize),
    /// What stayed of those that are younger by so many rungs, with what chance explains, in
    /// the view's unit; it is held against what stayed of the older ones.
    Younger(usize),
    /// What the mean of the octave gained that ends so many octaves before the last rung, in the
    /// view's unit; it is held against the noise, or against what the one before it gained.
    MeanGained(usize),
    /// The greatest step between two rungs, in the view's unit; it is held against the growth of
    /// four octaves.
    GreatestStep,
}

impl Answer {
    pub(super) fn at_least(question: Question, found: f64, least: f64) -> Answer {
        Answer {
            question,
            found,
            least,
            most: f64::INFINITY,
        }
    }

    pub(super) fn at_most(question: Question, found: f64, most: f64) -> Answer {
        Answer {
            question,
            found,
            least: f64::NEG_INFINITY,
            most,
        }
    }

    /// Whether it is what a leak would answer.
    pub fn holds(&self) -> bool {
        self.least <= self.found && self.found <= self.most
    }
}
