//! The place to blame for each stack of a dump, as in a report.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::fold::{Folder, Normalization, source_paths};
use plimsoll_core::layout::workspace_root;
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_profile::{LocationId, Profile};
use plimsoll_symbols::source_files;

/// Finds the places of the stacks of one profile.
pub(super) struct Places<'a> {
    profile: &'a Profile,
    stacks: Vec<&'a [LocationId]>,
    folder: Folder,
    packages: Packages,
    files: SourceFiles<'static>,
}

impl<'a> Places<'a> {
    pub(super) fn of(profile: &'a Profile) -> Places<'a> {
        // Without a workspace, only the paths of source files tell whose code a frame is.
        let mut packages = Packages::default();
        let mut normalization = Normalization::default();
        if let Some(root) = workspace() {
            let lockfile = fs::read_to_string(root.join("Cargo.lock"));
            packages = Packages::of_lockfile(&lockfile.unwrap_or_default());
            normalization.workspace_root = Some(root.to_string_lossy().into_owned());
        }
        // The number of a location stands for its address.
        let numbers = (0..).map(Avma);
        let frames = profile
            .locations
            .iter()
            .map(|location| location.frames.clone());
        let table = SymbolTable {
            frames: numbers.zip(frames).collect(),
            ..SymbolTable::default()
        };
        let frames = table.frames.values().flatten();
        Places {
            profile,
            stacks: profile.stacks().map(|(stack, _)| stack).collect(),
            folder: Folder::new(&table, &normalization),
            packages,
            files: source_files(source_paths(frames, &normalization)),
        }
    }

    /// Returns the place of a stack. `stack` is its index.
    pub(super) fn blame(&self, stack: usize) -> Option<Blame> {
        let ids = self.stacks.get(stack)?.iter();
        let named = ids.filter(|id| !self.profile.location(**id).frames.is_empty());
        let named: Vec<Avma> = named.map(|id| Avma(id.index() as u64)).collect();
        let trace = self.folder.fold(&named).trace;
        let blame = || Blame::of(&trace, "", &self.packages, &self.files);
        (!named.is_empty()).then(blame)?
    }
}

/// Returns the folder of the workspace that plimsoll runs in.
fn workspace() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let manifest = |dir: &Path| fs::read_to_string(dir.join("Cargo.toml")).ok();
    let package = here.ancestors().find(|dir| manifest(dir).is_some())?;
    Some(workspace_root(package, manifest))
}
