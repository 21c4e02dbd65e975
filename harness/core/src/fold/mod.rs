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

mod classify;
mod normalize;
mod qualify;
mod scan;

use std::collections::BTreeMap;

pub use normalize::normalize_frame;

use crate::{Avma, FoldedStack, Frame, SymbolTable};
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
        let crates = qualify::Crates::of(table);
        let frames = table
            .iter()
            .map(|(address, sources)| {
                let frames = sources
                    .iter()
                    .map(|source| {
                        let (function, kind) = classify::name(source, &crates);
                        let root = normalization.workspace_root.as_deref();
                        let file = source.file.as_deref();
                        let file = file.map(|file| qualify::shortened(file, root));
                        (
                            Frame {
                                function,
                                file,
                                line: source.line,
                            },
                            kind,
                        )
                    })
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
        let unknown = [(unknown(UNKNOWN), Kind::Other)];
        let all: Vec<&(Frame, Kind)> = stack
            .iter()
            .flat_map(|address| match self.frames.get(address) {
                Some(frames) if !frames.is_empty() => frames.as_slice(),
                _ => &unknown,
            })
            .collect();

        let leaf = leaf_end(&all);
        let root = root_start(&all).max(leaf);
        let mut frames: Vec<Frame> = Vec::new();
        for (frame, kind) in &all[leaf..root] {
            let repeated = frames
                .last()
                .is_some_and(|last| last.function == frame.function);
            if !matches!(kind, Kind::Shim | Kind::Std) && !repeated {
                frames.push(frame.clone());
            }
        }
        if frames.is_empty() {
            frames.push(last_resort(&all));
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

/// How many frames the allocator and the standard library take at the leaf.
fn leaf_end(frames: &[&(Frame, Kind)]) -> usize {
    let mut end = 0;
    while let Some((_, kind)) = frames.get(end) {
        let internal = match kind {
            Kind::Allocator | Kind::Std | Kind::Shim => true,
            // Of std's maps, or of somebody's own: their caller knows.
            Kind::Hashbrown => {
                let caller = frames[end..]
                    .iter()
                    .find(|(_, kind)| *kind != Kind::Hashbrown);
                caller.is_some_and(|(_, kind)| *kind == Kind::Std)
            }
            Kind::Marker | Kind::Harness | Kind::Start | Kind::Other => false,
        };
        if !internal {
            break;
        }
        end += 1;
    }
    end
}

/// Where the harness and the start of the thread begin.
fn root_start(frames: &[&(Frame, Kind)]) -> usize {
    // Nothing above the workload is the workload's, whatever called it.
    let marker = frames.iter().position(|(_, kind)| *kind == Kind::Marker);
    let mut start = marker.unwrap_or(frames.len());
    while let Some((_, kind)) = start.checked_sub(1).map(|before| frames[before]) {
        match kind {
            Kind::Harness | Kind::Start | Kind::Std | Kind::Shim => start -= 1,
            Kind::Marker | Kind::Allocator | Kind::Hashbrown | Kind::Other => break,
        }
    }
    start
}

fn last_resort(frames: &[&(Frame, Kind)]) -> Frame {
    let harness = frames
        .iter()
        .find(|(_, kind)| matches!(kind, Kind::Harness | Kind::Marker));
    let named = || frames.iter().find(|(_, kind)| *kind != Kind::Allocator);
    match harness.or_else(named) {
        Some((frame, _)) => frame.clone(),
        None if frames.is_empty() => unknown(EMPTY),
        None => unknown(ALLOCATOR),
    }
}

fn unknown(name: &str) -> Frame {
    Frame {
        function: name.to_owned(),
        file: None,
        line: None,
    }
}
