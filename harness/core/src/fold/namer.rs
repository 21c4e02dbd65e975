//! Names and folds frames one by one, for profiles of any program.

use super::classify::Kind;
use super::{Normalization, is_shown, last_resort, leaf_end, named, qualify};
use crate::{Frame, SourceFrame};

/// Names frames one by one, for code that folds more stacks than fit into memory with their
/// names.
#[derive(Debug)]
pub struct Namer {
    crates: qualify::Crates,
    normalization: Normalization,
}

/// What a frame is. This decides whether it is cut from a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameKind(Kind);

impl Namer {
    /// Makes a namer from all frames of one profile. The frames say which crates' sources are
    /// in which folder.
    pub fn new<'a>(
        frames: impl Iterator<Item = &'a SourceFrame>,
        normalization: Normalization,
    ) -> Namer {
        Namer {
            crates: qualify::Crates::of(frames, &normalization),
            normalization,
        }
    }

    /// Returns a frame with its stable name and the short form of its file, and what the frame
    /// is.
    pub fn name(&self, source: &SourceFrame) -> (Frame, FrameKind) {
        let (frame, kind) = named(source, &self.crates, &self.normalization);
        (frame, FrameKind(kind))
    }
}

impl FrameKind {
    /// The kind of a frame that is never cut.
    pub const OTHER: FrameKind = FrameKind(Kind::Other);

    /// Returns whether the frame is the allocator's own.
    pub fn is_allocator(self) -> bool {
        matches!(self.0, Kind::Allocator | Kind::Global)
    }

    /// Returns whether the frame is shown in a folded stack. Frames that start a Rust program
    /// are not: a baseline's stacks begin behind them, and they differ from build to build.
    pub fn is_shown(self) -> bool {
        is_shown(self.0) && self.0 != Kind::RustStart
    }
}

/// What is left of a stack after the allocator is cut from its leaf, and the standard library
/// everywhere. The root is not cut. Places are counted from the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// From this place on, the frames that [are shown](FrameKind::is_shown). A run of one name
    /// counts once.
    From(usize),
    /// Only the frame at this place, because cutting would remove everything.
    One(usize),
    /// No frame at all.
    Nothing,
}

/// Returns what is left of a stack, which is given leaf first. The same as [`Folder::fold`](super::Folder::fold),
/// but without cutting the root.
pub fn left(stack: impl Iterator<Item = FrameKind> + Clone) -> Left {
    let end = leaf_end(stack.clone().map(|kind| kind.0));
    if stack.clone().skip(end).any(FrameKind::is_shown) {
        return Left::From(end);
    }
    last_resort(stack.map(|kind| kind.0)).map_or(Left::Nothing, Left::One)
}
