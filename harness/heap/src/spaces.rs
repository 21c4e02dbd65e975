//! The names of a series. Dumps that have the same files at the same addresses share one *space*,
//! and the names of a space are looked up once for all of its dumps.
//!
//! Dumps of one process share a space, except for files that were loaded and unloaded in between.
//! Dumps of several processes, or of several builds, may have any file at any address.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use plimsoll_profile::{MappedObject, Profile};

use crate::args::SymbolArgs;
use crate::climb::Process;
use crate::load::{self, Answers, Asked, Loaded};
use crate::source::Source;
use plimsoll_desk::progress::Progress;
use plimsoll_desk::status::Refused;

/// The names of all addresses of all dumps.
pub(super) struct Spaces {
    /// For each dump, the index of its space in the answers.
    of_dump: Vec<usize>,
    /// The first dump of each process, as far as dumps tell.
    of_process: Vec<usize>,
    answers: Answers,
    /// Notes for readers of the output.
    pub(super) notes: BTreeSet<String>,
}

impl Spaces {
    /// Reads all dumps, and looks up the names of their addresses.
    pub(super) fn of(
        sources: &[Source],
        args: &SymbolArgs,
        progress: &mut Progress,
    ) -> anyhow::Result<Spaces> {
        let mut spaces: Vec<Space> = Vec::new();
        let mut of_dump = Vec::with_capacity(sources.len());
        let mut notes = BTreeSet::new();
        let mut later: Option<Process> = None;
        let mut of_process = vec![0];
        // In reverse order: a library that is loaded usually stays, so the last dump has the
        // most.
        for (number, source) in sources.iter().enumerate().rev() {
            progress.doing(&format!("reading {}", source.name()));
            let profile = load::read(source, args, progress).with_context(|| source.name())?;
            notes.extend(profile.notes.iter().cloned());
            let process = Process::of(&profile);
            if later.is_some_and(|later| later.is_another(&process)) {
                of_process.insert(1, number + 1);
            }
            later = Some(process);
            let place = spaces.iter().position(|space| space.suits(&profile));
            let place = place.unwrap_or_else(|| {
                spaces.push(Space::default());
                spaces.len() - 1
            });
            spaces[place].add(&profile);
            of_dump.push(place);
        }
        of_dump.reverse();
        progress.doing("looking up names");
        let answers = Answers::of(spaces.into_iter().map(|space| space.asked).collect(), args);
        notes.extend(answers.notes());
        Ok(Spaces {
            of_dump,
            of_process,
            answers,
            notes,
        })
    }

    /// Checks that all dumps may be of one process.
    pub(super) fn check_process(&self, sources: &[Source]) -> anyhow::Result<()> {
        if self.of_process.len() < 2 {
            return Ok(());
        }
        let first = self.of_process.iter().map(|dump| sources[*dump].name());
        Err(Refused::usage(format!(
            "expected dumps of one process, found those of {}; the first of each are: {}\n  hint: \
             --series takes the files of one process",
            self.of_process.len(),
            first.collect::<Vec<_>>().join(", ")
        )))
    }

    /// Reads a dump again, and adds the names. Stacks of different birth stay apart.
    pub(super) fn load(
        &self,
        dump: usize,
        source: &Source,
        args: &SymbolArgs,
        progress: &mut Progress,
    ) -> anyhow::Result<Loaded> {
        let name = source.name();
        progress.doing(&format!("reading {name}"));
        let mut profile = load::read(source, args, progress).with_context(|| name.clone())?;
        let named = self.answers.name(self.of_dump[dump], &mut profile);
        named.with_context(|| name.clone())?;
        Ok(Loaded::with_births(name, profile))
    }
}

/// The mappings and addresses of several dumps that share a space.
#[derive(Default)]
struct Space {
    asked: Asked,
    /// For each mapping, its start, its end, and its index in `asked`. Mappings do not
    /// overlap.
    ranges: BTreeMap<u64, (u64, usize)>,
}

impl Space {
    /// Tells whether a dump can share this space: each mapping of its code is the same here,
    /// or nothing is mapped there.
    fn suits(&self, profile: &Profile) -> bool {
        let code = profile.mappings.iter().filter(|mapping| is_code(mapping));
        code.into_iter()
            .all(|mapping| match self.overlapping(mapping) {
                Some(known) => is_same(mapping, known),
                None => true,
            })
    }

    fn add(&mut self, profile: &Profile) {
        for mapping in &profile.mappings {
            if mapping.start < mapping.end && self.overlapping(mapping).is_none() {
                let place = self.asked.mappings.len();
                self.ranges.insert(mapping.start, (mapping.end, place));
                self.asked.mappings.push(mapping.clone());
            }
        }
        self.asked.addresses.extend(load::unnamed(profile));
    }

    fn overlapping(&self, mapping: &MappedObject) -> Option<&MappedObject> {
        let (_, (end, place)) = self.ranges.range(..mapping.end).next_back()?;
        (*end > mapping.start).then(|| &self.asked.mappings[*place])
    }
}

fn is_code(mapping: &MappedObject) -> bool {
    mapping.executable && mapping.path.starts_with('/')
}

/// Tells whether two mappings are the same part of the same file at the same address. The file
/// may have been deleted in between.
fn is_same(one: &MappedObject, two: &MappedObject) -> bool {
    let alive = |mapping: &MappedObject| MappedObject {
        deleted: false,
        ..mapping.clone()
    };
    alive(one) == alive(two)
}
