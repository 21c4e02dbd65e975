//! The reader's own crates, for those who know names alone.

use std::collections::BTreeSet;

use super::{Owner, Packages, owner};
use crate::Frame;
use crate::fold::crate_of;

impl Packages {
    /// Returns the crates of the reader's own code among those of these frames, in the order of
    /// their names. A function without a path stands for itself.
    pub fn own_among<'a>(&self, frames: impl Iterator<Item = &'a Frame>) -> Vec<String> {
        let own = frames.filter(|frame| owner(frame, self) == Owner::Reader);
        let names = own.map(|frame| crate_of(&frame.function).unwrap_or(&frame.function));
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().map(str::to_owned).collect()
    }
}
