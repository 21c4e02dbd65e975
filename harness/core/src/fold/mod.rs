//! Turns addresses into names that mean the same in the next build.
//!
//! ```text
//! 0x55d0c0de  <hashbrown::raw::RawTable<(u64, u8)>>::reserve_rehash     cut: std's own
//!             <std::collections::hash::map::HashMap<u64, u8>>::insert   cut: std
//! 0x55d0beef  <lru::LruCache<u64, u8>>::put::h0123456789abcdef          lru::LruCache::put
//! 0x55d0bead  tests::main::{closure#0}                                  tests::main::{{closure}}
//! 0x55d0bad0  plimsoll::subject::workload_iteration                     cut: the harness, and its callers
//! ```
//!
//! First each name is normalised, by [`normalize_frame`]. Then the stack loses,
//! from the leaf, the allocator and what stands between it and the first frame of
//! somebody's crate; from the root, the harness and the start of the thread; and
//! everywhere the standard library's frames and the shims through which closures
//! are called, because they come and go with inlining and with the compiler's
//! version. Last, a run of one name becomes one frame, so that
//! neither the depth of a recursion nor the unresolved calls inside one library
//! split a stack. A cycle of several functions is left as it is.

mod alike;
mod classify;
mod normalize;
mod qualify;
mod scan;

use std::collections::BTreeMap;

pub(crate) use alike::may_be_one;
pub use normalize::normalize_frame;

use crate::{Avma, FoldedStack, Frame, SourceFrame, SymbolTable};
use classify::Kind;

/// What every fold of one run has in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalization {
    /// The workspace's folder: files below it are shown relative to it.
    pub workspace_root: Option<String>,
}

/// A stack as it is compared, and as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Names only, root first.
    pub stack: FoldedStack,
    /// The same frames, leaf first: the first is the one to blame.
    pub frames: Vec<Frame>,
}

/// Folds stacks whose addresses are in one table; each address is worked out once.
#[derive(Debug)]
pub struct Folder {
    frames: BTreeMap<Avma, Vec<(Frame, Kind)>>,
}

/// A stack that is nothing but allocator.
const ALLOCATOR: &str = "[allocator]";
/// A stack without an address: the unwinder found nothing.
const EMPTY: &str = "[empty]";
/// An address of which not even the module is known.
pub(crate) const UNKNOWN: &str = "[unknown]";

impl Folder {
    /// Works out every address of the table.
    pub fn new(table: &SymbolTable, normalization: &Normalization) -> Folder {
        let sources = table.iter().flat_map(|(_, sources)| sources);
        let crates = qualify::Crates::of(sources);
        let frames = table
            .iter()
            .map(|(address, sources)| {
                let frames = sources
                    .iter()
                    .map(|source| named(source, &crates, normalization))
                    .collect();
                (address, frames)
            })
            .collect();
        Folder { frames }
    }

    /// Folds a stack of return addresses, leaf first.
    ///
    /// Something is always left. Where cutting would take all of it, that is the
    /// harness's frame nearest the leaf, or the leaf-most frame that is not the
    /// allocator's, or `[allocator]`; of a stack without addresses, `[empty]`.
    pub fn fold(&self, stack: &[Avma]) -> Folded {
        let unresolved = [(unknown(UNKNOWN), Kind::Other)];
        let all: Vec<&(Frame, Kind)> = stack
            .iter()
            .flat_map(|address| match self.frames.get(address) {
                Some(frames) if !frames.is_empty() => frames.as_slice(),
                _ => &unresolved,
            })
            .collect();

        let kinds = || all.iter().map(|(_, kind)| *kind);
        let leaf = leaf_end(kinds());
        let root = root_start(kinds()).max(leaf);
        let mut frames: Vec<Frame> = Vec::new();
        for (frame, kind) in &all[leaf..root] {
            let repeated = frames
                .last()
                .is_some_and(|last| last.function == frame.function);
            if is_shown(*kind) && !repeated {
                frames.push(frame.clone());
            }
        }
        if frames.is_empty() {
            frames.push(match last_resort(kinds()) {
                Some(place) => all[place].0.clone(),
                None => unknown(nothing(all.len())),
            });
        }
        let stack = frames
            .iter()
            .rev()
            .map(|frame| frame.function.clone())
            .collect();
        Folded {
            stack: FoldedStack(stack),
            frames,
        }
    }
}

/// Folds one stack; for many of one table, keep a [`Folder`].
pub fn fold(table: &SymbolTable, stack: &[Avma], normalization: &Normalization) -> Folded {
    Folder::new(table, normalization).fold(stack)
}

/// The allocation site of a folded stack: its leaf-most frame.
pub fn site(stack: &FoldedStack) -> FoldedStack {
    FoldedStack(stack.0.last().into_iter().cloned().collect())
}

/// Names frames one by one, for whoever folds more stacks than fit into memory by
/// their names.
#[derive(Debug)]
pub struct Namer(qualify::Crates);

/// What a frame is, for the cutting of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameKind(Kind);

impl Namer {
    /// Of the same profile, all frames: they say which crates' sources lie where.
    pub fn new<'a>(frames: impl Iterator<Item = &'a SourceFrame>) -> Namer {
        Namer(qualify::Crates::of(frames))
    }

    /// A frame with its stable name and its file's short one, and what it is.
    pub fn name(&self, source: &SourceFrame) -> (Frame, FrameKind) {
        let (frame, kind) = named(source, &self.0, &Normalization::default());
        (frame, FrameKind(kind))
    }
}

fn named(
    source: &SourceFrame,
    crates: &qualify::Crates,
    normalization: &Normalization,
) -> (Frame, Kind) {
    let (function, kind) = classify::name(source, crates);
    let root = normalization.workspace_root.as_deref();
    let file = source.file.as_deref();
    let frame = Frame {
        function,
        file: file.map(|file| qualify::shortened(file, root)),
        line: source.line,
    };
    (frame, kind)
}

impl FrameKind {
    /// Of a frame that is somebody's: it is never cut.
    pub const OTHER: FrameKind = FrameKind(Kind::Other);

    /// Whether it is the allocator's own.
    pub fn is_allocator(self) -> bool {
        self.0 == Kind::Allocator
    }

    /// Whether it stands in a folded stack. Those that start a program of Rust do not: a
    /// baseline's stacks begin behind them, and they differ from build to build.
    pub fn is_shown(self) -> bool {
        is_shown(self.0) && self.0 != Kind::RustStart
    }
}

/// What is left of a stack where the allocator is cut from its leaf, and everywhere the
/// standard library; the root stays. Places are counted from the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// From here on those that [are shown](FrameKind::is_shown), each name once where it
    /// calls itself.
    From(usize),
    /// One alone: cutting would take all.
    One(usize),
    /// None, not even that.
    Nothing,
}

/// What is left of a stack, leaf first. As [`Folder::fold`], but for the root.
pub fn left(stack: impl Iterator<Item = FrameKind> + Clone) -> Left {
    let end = leaf_end(stack.clone().map(|kind| kind.0));
    if stack.clone().skip(end).any(FrameKind::is_shown) {
        return Left::From(end);
    }
    last_resort(stack.map(|kind| kind.0)).map_or(Left::Nothing, Left::One)
}

/// Whether it stands in a folded stack.
fn is_shown(kind: Kind) -> bool {
    !matches!(kind, Kind::Shim | Kind::Std)
}

/// How many frames the allocator and the standard library take at the leaf.
fn leaf_end(kinds: impl Iterator<Item = Kind> + Clone) -> usize {
    let mut end = 0;
    let mut rest = kinds;
    while let Some(kind) = rest.next() {
        let internal = match kind {
            Kind::Allocator | Kind::Std | Kind::Shim => true,
            // Of std's maps, or of somebody's own: their caller knows.
            Kind::Hashbrown => {
                let caller = rest.clone().find(|kind| *kind != Kind::Hashbrown);
                caller.is_some_and(|kind| kind == Kind::Std)
            }
            Kind::Marker | Kind::Harness | Kind::Start | Kind::RustStart | Kind::Other => false,
        };
        if !internal {
            break;
        }
        end += 1;
    }
    end
}

/// Where the harness and the start of the thread begin.
fn root_start(kinds: impl DoubleEndedIterator<Item = Kind> + ExactSizeIterator + Clone) -> usize {
    // Nothing above the workload is the workload's, whatever called it.
    let marker = kinds.clone().position(|kind| kind == Kind::Marker);
    let start = marker.unwrap_or(kinds.len());
    let of_ours = kinds.take(start).rev().take_while(|kind| match kind {
        Kind::Harness | Kind::Start | Kind::RustStart | Kind::Std | Kind::Shim => true,
        Kind::Marker | Kind::Allocator | Kind::Hashbrown | Kind::Other => false,
    });
    start - of_ours.count()
}

/// What is left where cutting would take all: a frame's place, if there is one.
fn last_resort(kinds: impl Iterator<Item = Kind> + Clone) -> Option<usize> {
    let is_ours = |kind| matches!(kind, Kind::Harness | Kind::Marker);
    let harness = kinds.clone().position(is_ours);
    harness.or_else(|| kinds.clone().position(|kind| kind != Kind::Allocator))
}

/// A stack of which nothing is left, by how many frames it had.
fn nothing(frames: usize) -> &'static str {
    match frames {
        0 => EMPTY,
        _ => ALLOCATOR,
    }
}

fn unknown(name: &str) -> Frame {
    Frame {
        function: name.to_owned(),
        file: None,
        line: None,
    }
}
