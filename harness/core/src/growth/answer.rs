//! The reasons for a verdict on growth, in numbers: the questions about a stack and the
//! answers, for a person who doubts the verdict.

use super::{Quantity, Unit};

/// One way to look at a stack, with its questions and answers.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Whether objects or bytes are counted.
    pub unit: Unit,
    /// The levels that the questions are about.
    pub of: Looked,
    /// The answers in the order of the questions, up to the last one that was needed.
    pub answers: Vec<Answer>,
    /// The result.
    pub quantity: Quantity,
}

/// The levels that the questions of a [`View`] are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The level, which never falls.
    Level,
    /// Survivors: what is alive at the last rung, by birth. The number says how many of the
    /// youngest generations are left out.
    Kept(usize),
    /// The lowest level at or after each rung; used if births are not known.
    Floor,
    /// The mean level of each octave.
    Octaves,
}

/// The answer to one question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// The number that answers it.
    pub found: f64,
    /// The numbers that a leak would give.
    pub wanted: Wanted,
}

/// The numbers that a leak would give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// This number, or a greater one.
    AtLeast(f64),
    /// This number, or a smaller one.
    AtMost(f64),
}

/// A question. The numbers of its answer are in the unit of the view if the question says so.
/// Otherwise they have no unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether objects rise. Asked about bytes, because survivors gain bytes only if they gain
    /// objects.
    ObjectsRise,
    /// The gain of the last octave, in the view's unit. A line through fewer rungs requires more.
    Gained,
    /// How much of the old objects died in the last two octaves, in the view's unit.
    Died,
    /// The number of ways to cut the ladder into octaves in which each octave gained about
    /// twice as much as the one before.
    Doubles,
    /// How many times the least level per iteration the greatest one is.
    InPace,
    /// The gain of the octave that ends this many octaves before the last rung, in the view's
    /// unit. It is compared with the gain of the octave before.
    GoesOn(usize),
    /// How many of the last rungs gained something. The number says how many rungs are looked
    /// at.
    Steps(usize),
    /// How far the furthest of the last rungs is from a straight line, as a share of what
    /// bursts and chance explain. The number says how many rungs are looked at.
    Off(usize),
    /// What stayed of the objects that were born after the survivors and up to this many rungs
    /// before the last, plus what chance explains, in the view's unit. It is compared with
    /// half of the rate of the survivors.
    Younger(usize),
    /// The gain of the mean level of the octave that ends this many octaves before the last
    /// rung, in the view's unit. It is compared with the noise, or with the gain of an octave
    /// before.
    MeanGained(usize),
    /// The greatest step between two rungs, in the view's unit. It is compared with the growth
    /// over four octaves.
    GreatestStep,
}

impl Answer {
    pub(super) fn at_least(question: Question, found: f64, least: f64) -> Answer {
        Answer {
            question,
            found,
            wanted: Wanted::AtLeast(least),
        }
    }

    pub(super) fn at_most(question: Question, found: f64, most: f64) -> Answer {
        Answer {
            question,
            found,
            wanted: Wanted::AtMost(most),
        }
    }

    /// Returns whether a leak would give this answer.
    pub fn holds(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(least) => least <= self.found,
            Wanted::AtMost(most) => self.found <= most,
        }
    }
}
