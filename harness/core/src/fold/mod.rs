//! Turns addresses into names that mean the same in the next build.
//!
//! ```text
//! 0x55d0c0de  <hashbrown::raw::RawTable<(u64, u8)>>::reserve_rehash     cut: std's own
//!             <std::collections::hash::map::HashMap<u64, u8>>::insert   cut: std
//! 0x55d0beef  <lru::LruCache<u64, u8>>::put::h0123456789abcdef          lru::LruCache::put
//! 0x55d0bead  tests::main::{closure#0}                                  tests::main::{{closure}}
//! 0x55d0bad0  plimsoll_subject::workload_iteration                     cut: harness, and callers
//! ```
//!
//! First, [`normalize_frame`] normalises each name. Then the stack loses these frames:
//!
//! - At the leaf: the allocator, and what is between it and the first frame that is not the
//!   standard library's.
//! - At the root: the harness and the start of the thread.
//! - Everywhere: the standard library's frames, and the shims through which closures are
//!   called. They come and go with inlining and with the compiler's version.
//!
//! Last, a run of one name becomes one frame, so that neither the depth of a recursion nor the
//! unresolved calls inside one library split a stack. A cycle of several functions stays as it
//! is.

mod alike;
mod classify;
mod contents;
#[cfg(feature = "reports")]
mod namer;
mod normalize;
mod qualify;
mod scan;

use std::collections::{BTreeMap, BTreeSet};

pub use alike::may_be_one;
pub(crate) use classify::{is_harness, is_of_std};
pub use contents::Contents;
#[cfg(feature = "reports")]
pub use namer::{FrameKind, Left, Namer, left};
pub use normalize::normalize_frame;
pub(crate) use qualify::{HARNESS, crate_of, package_of_file, version_of_file};
pub use qualify::{shortened, unversioned};

use crate::{Avma, FoldedStack, Frame, Lacks, SmallMap, SourceFrame, SymbolTable};
use classify::Kind;

/// What all folds of one run have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalization {
    /// The workspace's folder. Files below it are shown relative to it.
    pub workspace_root: Option<String>,
    /// The folder of the measured package's modules, relative to the workspace, and its crate. It is
    /// for functions that all are inlined, so that no name tells the crate.
    pub own: Option<(String, String)>,
}

/// A stack in the form for comparisons, and in the form for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The names only, root first.
    pub stack: FoldedStack,
    /// The same frames in this build.
    pub trace: Trace,
}

/// What one build tells of a folded stack. Nothing of it but the names identifies the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trace {
    /// The frames, leaf first.
    pub frames: Vec<Frame>,
    /// Where the stack begins. `None` if its frames do not tell.
    pub origin: Option<Origin>,
    /// Why lines are missing. `None` if nothing is missing that the program could tell.
    pub lacks: Option<Lacks>,
}

/// What is at the root of a stack, as far as the names there tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The setup of a scenario's workload.
    Setup,
    /// An iteration of a scenario's workload.
    Iteration,
    /// The start of a thread that is not the process's first one.
    Thread,
}

impl Trace {
    /// Returns the innermost function that is not of the standard library or of a package from a
    /// registry. `None` if that is the leaf, or if there is no such function.
    pub fn owner(&self) -> Option<&str> {
        let is_library = |frame: &Frame| {
            let file = frame.file.as_deref();
            is_of_std(&frame.function) || file.is_some_and(|file| version_of_file(file).is_some())
        };
        let own = self.frames.iter().position(|frame| !is_library(frame));
        own.filter(|own| *own > 0)
            .map(|own| self.frames[own].function.as_str())
    }

    /// Keeps the smaller one of two. If several places have the same name, any of them would
    /// do, but it must be the same in every run.
    pub fn or_smaller(&mut self, other: Trace) {
        if other < *self {
            *self = other;
        }
    }
}

/// Folds stacks whose addresses are in one table. Each address is processed once.
#[derive(Debug)]
pub struct Folder {
    frames: SmallMap<Avma, Vec<(Frame, Kind)>>,
    lacks: BTreeMap<Avma, Lacks>,
}

/// Stands for a stack that has only frames of the allocator.
const ALLOCATOR: &str = "[allocator]";
/// Stands for a stack without an address, because the unwinder found nothing.
const EMPTY: &str = "[empty]";
/// Stands for an address whose module is not known either.
pub(crate) const UNKNOWN: &str = "[unknown]";

impl Folder {
    /// Names and classifies the frames of every address in the table.
    pub fn new(table: &SymbolTable, normalization: &Normalization) -> Folder {
        let crates = qualify::Crates::of(table.frames.values().flatten(), normalization);
        let mut frames = SmallMap::default();
        for (address, sources) in &table.frames {
            let sources = sources.iter();
            let named = sources.map(|source| named(source, &crates, normalization));
            frames.insert(*address, named.collect());
        }
        let lacks = table.lacks.clone();
        Folder { frames, lacks }
    }

    /// Folds a stack of return addresses, leaf first.
    ///
    /// Something is always left. If cutting would remove everything, what is left is the
    /// harness's frame nearest the leaf, or the frame nearest the leaf that is not the
    /// allocator's, or `[allocator]`. Of a stack without addresses, `[empty]` is left.
    pub fn fold(&self, stack: &[Avma]) -> Folded {
        let unresolved = [(unknown(UNKNOWN), Kind::Unresolved)];
        let at = |address: &Avma| match self.frames.get(address) {
            Some(frames) if !frames.is_empty() => frames.as_slice(),
            _ => &unresolved,
        };
        let all = stack
            .iter()
            .flat_map(|address| at(address).iter().map(move |frame| (address, frame)));
        let all: Vec<(&Avma, &(Frame, Kind))> = all.collect();
        let kinds = || all.iter().map(|(_, (_, kind))| *kind);
        let leaf = leaf_end(kinds());
        let root = root_start(kinds()).max(leaf);
        let mut frames: Vec<Frame> = Vec::new();
        for (_, (frame, kind)) in &all[leaf..root] {
            let last = frames.last().map(|last| &last.function);
            if is_shown(*kind) && last != Some(&frame.function) {
                frames.push(frame.clone());
            }
        }
        let is_all_cut = frames.is_empty();
        if is_all_cut {
            frames.push(match last_resort(kinds()) {
                Some(place) => all[place].1.0.clone(),
                None if all.is_empty() => unknown(EMPTY),
                None => unknown(ALLOCATOR),
            });
        }
        let named = all
            .iter()
            .map(|(_, (frame, kind))| (&*frame.function, *kind));
        // The workload's closure may be inlined into the marker, which calls it, and what a thread
        // runs into the standard library, of which nothing else is left.
        let marker = kinds().position(|kind| kind == Kind::Marker);
        let may_hide = match is_all_cut {
            true => &all[..marker.map_or(all.len(), |marker| marker + 1)],
            false => &all[leaf..marker.map_or(root, |marker| (marker + 1).max(leaf))],
        };
        let lacks = may_hide.iter().filter_map(|(address, (_, kind))| {
            let lacks = self.lacks.get(address)?;
            let counts = match kind {
                Kind::Allocator | Kind::Global | Kind::Harness => false,
                Kind::Std | Kind::Shim => is_all_cut,
                _ => true,
            };
            counts.then_some(*lacks)
        });
        let names = frames.iter().rev().map(|frame| frame.function.clone());
        Folded {
            stack: FoldedStack(names.collect()),
            trace: Trace {
                lacks: lacks.max(),
                origin: origin(named),
                frames,
            },
        }
    }

    /// Returns what the objects of a stack are, such as `HashMap<u64, Arc<Session>>`. `None` if its
    /// functions do not tell. `table` is the one that this was made from.
    pub fn container(&self, table: &SymbolTable, stack: &[Avma]) -> Option<Contents> {
        let functions = stack.iter().flat_map(|address| {
            let named = self.frames.get(address).map_or(&[][..], Vec::as_slice);
            named.iter().zip(table.get(*address))
        });
        let is_library = |frame: &Frame, kind: Kind| {
            matches!(
                kind,
                Kind::Allocator | Kind::Global | Kind::Std | Kind::Shim
            ) || contents::is_of_container(&frame.function)
        };
        let of_library = functions.take_while(|((frame, kind), _)| is_library(frame, *kind));
        let functions = of_library
            .map(|((frame, _), source)| (frame.function.as_str(), source.arguments.as_deref()));
        contents::container(functions)
    }
}

/// Folds one stack. For many stacks of one table, keep a [`Folder`].
pub fn fold(table: &SymbolTable, stack: &[Avma], normalization: &Normalization) -> Folded {
    Folder::new(table, normalization).fold(stack)
}

/// Returns the paths of source files as the debug information has them, by the short path that is
/// in a [`Frame`].
pub fn source_paths<'a>(
    frames: impl Iterator<Item = &'a SourceFrame>,
    normalization: &Normalization,
) -> BTreeMap<String, String> {
    let root = normalization.workspace_root.as_deref();
    let files: BTreeSet<&str> = frames.filter_map(|frame| frame.file.as_deref()).collect();
    let mut paths = BTreeMap::new();
    for file in files {
        paths.insert(qualify::shortened(file, root), file.to_owned());
    }
    paths
}

/// Returns the allocation site of a folded stack: its leaf frame.
pub fn site(stack: &FoldedStack) -> FoldedStack {
    FoldedStack(stack.0.last().into_iter().cloned().collect())
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

/// Returns where a stack begins, which is given leaf first.
fn origin<'a>(mut stack: impl Iterator<Item = (&'a str, Kind)> + Clone) -> Option<Origin> {
    let mut rest = stack.clone();
    // Nothing above the marker says anything about the workload, whatever called it.
    if let Some((name, _)) = rest.find(|(_, kind)| *kind == Kind::Marker) {
        return Some(match name == classify::SETUP {
            true => Origin::Setup,
            false => Origin::Iteration,
        });
    }
    let starts = |(name, kind)| classify::starts_a_thread(name, kind);
    stack.any(starts).then_some(Origin::Thread)
}

/// Returns whether a frame of this kind is shown in a folded stack.
fn is_shown(kind: Kind) -> bool {
    !matches!(kind, Kind::Shim | Kind::Std)
}

/// Returns how many frames of the allocator and the standard library are at the leaf.
fn leaf_end(kinds: impl Iterator<Item = Kind> + Clone) -> usize {
    // A program's own allocator may count, and pass on to another one.
    let mut end = kinds
        .clone()
        .take_while(|kind| *kind != Kind::Marker)
        .position(|kind| kind == Kind::Global)
        .map_or(0, |global| global + 1);
    let mut rest = kinds.skip(end);
    while let Some(kind) = rest.next() {
        let internal = match kind {
            Kind::Allocator | Kind::Global | Kind::Std | Kind::Shim => true,
            // These frames may belong to std's maps or to somebody's own use of hashbrown. The
            // caller decides.
            Kind::Hashbrown => {
                let caller = rest.clone().find(|kind| *kind != Kind::Hashbrown);
                caller == Some(Kind::Std)
            }
            // Of a stripped allocator, the functions that it exports still have names.
            Kind::Unresolved => {
                let caller = rest.clone().find(|kind| *kind != Kind::Unresolved);
                matches!(caller, Some(Kind::Allocator | Kind::Global))
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

/// Returns the place where the harness and the start of the thread begin.
fn root_start(kinds: impl DoubleEndedIterator<Item = Kind> + ExactSizeIterator + Clone) -> usize {
    // No frame above the marker belongs to the workload, whatever called it.
    let marker = kinds.clone().position(|kind| kind == Kind::Marker);
    let start = marker.unwrap_or(kinds.len());
    let of_ours = kinds.take(start).rev().take_while(|kind| match kind {
        Kind::Harness | Kind::Start | Kind::RustStart | Kind::Std | Kind::Shim => true,
        Kind::Marker
        | Kind::Allocator
        | Kind::Global
        | Kind::Hashbrown
        | Kind::Unresolved
        | Kind::Other => false,
    });
    start - of_ours.count()
}

/// Returns the place of the frame that is left if cutting would remove everything, if there is
/// one.
fn last_resort(kinds: impl Iterator<Item = Kind> + Clone) -> Option<usize> {
    let is_ours = |kind| matches!(kind, Kind::Harness | Kind::Marker);
    let harness = kinds.clone().position(is_ours);
    harness.or_else(|| {
        kinds
            .clone()
            .position(|kind| !matches!(kind, Kind::Allocator | Kind::Global))
    })
}

fn unknown(name: &str) -> Frame {
    Frame {
        function: name.to_owned(),
        ..Frame::default()
    }
}
