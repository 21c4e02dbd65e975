//! The place to blame for each stack of a dump, as in a report.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_core::Frame;
use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::fold::{
    FrameKind, Left, Namer, Normalization, Trace, left, origin_of, source_paths,
};
use plimsoll_core::layout::workspace_root;
use plimsoll_profile::{LocationId, Profile};
use plimsoll_symbols::source_files;

/// Finds the places of the stacks of one profile.
pub(super) struct Places<'a> {
    profile: &'a Profile,
    stacks: Vec<&'a [LocationId]>,
    namer: Namer,
    packages: Packages,
    files: SourceFiles<'static>,
    /// The frames of each location that was asked for, leaf first.
    known: HashMap<LocationId, Vec<(Frame, FrameKind)>>,
}

impl<'a> Places<'a> {
    pub(super) fn of(profile: &'a Profile) -> Places<'a> {
        let stacks: Vec<&[LocationId]> = profile.stacks().map(|(stack, _)| stack).collect();
        let locations = stacks.iter().copied().flatten();
        let frames = locations.flat_map(|id| &profile.location(*id).frames);
        // Without a workspace, only the paths of source files tell whose code a frame is.
        let mut packages = Packages::default();
        let mut normalization = Normalization::default();
        if let Some(root) = workspace() {
            let lockfile = fs::read_to_string(root.join("Cargo.lock"));
            packages = Packages::of_lockfile(&lockfile.unwrap_or_default());
            normalization.workspace_root = Some(root.to_string_lossy().into_owned());
        }
        Places {
            files: source_files(source_paths(frames.clone(), &normalization)),
            namer: Namer::new(frames, normalization),
            profile,
            stacks,
            packages,
            known: HashMap::new(),
        }
    }

    /// Returns the place of a stack. `stack` is its index.
    pub(super) fn blame(&mut self, stack: usize) -> Option<Blame> {
        let ids = *self.stacks.get(stack)?;
        let mut frames: Vec<(Frame, FrameKind)> = Vec::new();
        for id in ids {
            let named = self.known.entry(*id).or_insert_with(|| {
                let frames = self.profile.location(*id).frames.iter();
                frames.map(|frame| self.namer.name(frame)).collect()
            });
            frames.extend(named.iter().cloned());
        }
        let origin = origin_of(frames.iter());
        let kinds = frames.iter().map(|(_, kind)| *kind);
        let frames: Vec<Frame> = match left(kinds) {
            Left::From(place) => {
                let shown = frames.drain(place..).filter(|(_, kind)| kind.is_shown());
                shown.map(|(frame, _)| frame).collect()
            }
            Left::One(place) => vec![frames.swap_remove(place).0],
            Left::Nothing => Vec::new(),
        };
        let trace = Trace {
            frames,
            origin,
            lacks: None,
        };
        Blame::of(&trace, "", &self.packages, &self.files)
    }
}

/// Returns the folder of the workspace that plimsoll runs in.
fn workspace() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let manifest = |dir: &Path| fs::read_to_string(dir.join("Cargo.toml")).ok();
    let package = here.ancestors().find(|dir| manifest(dir).is_some())?;
    Some(workspace_root(package, manifest))
}
