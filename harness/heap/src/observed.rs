//! What the dumps of a server show, as a verdict needs it: the levels of every folded stack.

use std::collections::{BTreeMap, HashMap};

use plimsoll_core::ages::{Birth, Generation};
use plimsoll_core::blame::SourceFiles;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::fold::{self, Folder, Normalization, Trace};
use plimsoll_core::judge::Observed;
use plimsoll_core::report::{Completeness, Rung};
use plimsoll_core::{Avma, FoldedStack, SourceFrame, SymbolTable};
use plimsoll_profile::Profile;
use plimsoll_symbols::source_files;

use crate::args::SymbolArgs;
use crate::dumps::Files;
use crate::series::{Levels, Share, Uptime};
use crate::source::Source;
use crate::spaces::Spaces;
use plimsoll_desk::progress::Progress;

/// The levels, and what is said of them.
pub(super) struct Seen {
    pub(super) observed: Observed,
    pub(super) rungs: Vec<Rung>,
    pub(super) traces: BTreeMap<FoldedStack, Trace>,
    pub(super) files: SourceFiles<'static>,
    pub(super) completeness: Completeness,
    /// The sum of all stacks.
    pub(super) total: plimsoll_core::Series,
    pub(super) notes: Vec<String>,
}

/// Numbers lists of frames. A number stands for an address: one process may have loaded two
/// libraries at one address, one after the other.
#[derive(Default)]
struct Numbers(HashMap<Vec<SourceFrame>, Avma>);

impl Numbers {
    fn of(&mut self, profile: &Profile) -> Vec<Avma> {
        let locations = profile.locations.iter();
        let number = |frames: &Vec<SourceFrame>| match self.0.get(frames) {
            Some(number) => *number,
            None => {
                let number = Avma(self.0.len() as u64);
                self.0.insert(frames.clone(), number);
                number
            }
        };
        locations
            .map(|location| &location.frames)
            .map(number)
            .collect()
    }

    fn table(self) -> SymbolTable {
        let frames = self.0.into_iter().map(|(frames, number)| (number, frames));
        SymbolTable {
            frames: frames.collect(),
            ..SymbolTable::default()
        }
    }
}

/// Reads dumps at these positions.
pub(super) fn observe(
    files: &Files,
    positions: Vec<u64>,
    symbols: &SymbolArgs,
    normalization: &Normalization,
) -> anyhow::Result<Seen> {
    let sources = Source::of_files(files);
    let mut progress = Progress::late();
    let spaces = Spaces::of(&sources, symbols, &mut progress)?;
    let mut numbers = Numbers::default();
    let mut shares: BTreeMap<Vec<Avma>, Vec<(usize, Share)>> = BTreeMap::new();
    let mut rungs = Vec::with_capacity(positions.len());
    let mut born: BTreeMap<Vec<Avma>, Vec<(Birth, Generation)>> = BTreeMap::new();
    let mut youngest = Vec::with_capacity(positions.len());
    let mut total = Levels::default();
    let mut completeness = Completeness::default();
    let mut coarsest = SampleInterval::default();
    for (dump, (source, position)) in sources.iter().zip(&positions).enumerate() {
        let loaded = spaces.load(dump, source, symbols, &mut progress)?;
        youngest.push(loaded.births.iter().flatten().max().copied());
        let interval = loaded.interval();
        if dump + 1 == positions.len() && !loaded.births.is_empty() {
            let profile = &loaded.profile;
            let of_location = numbers.of(profile);
            for (number, (locations, counts)) in profile.stacks().enumerate() {
                let stack = locations.iter().map(|id| of_location[id.index()]).collect();
                let levels: &mut Vec<_> = born.entry(stack).or_default();
                levels.push(loaded.born(number, profile.values(counts)));
            }
        }
        let profile = &loaded.put_together().profile;
        coarsest = coarsest.max(interval);
        let of_location = numbers.of(profile);
        let mut whole = Share::default();
        completeness = Completeness {
            stacks: profile.len(),
            ..Completeness::default()
        };
        for (locations, counts) in profile.stacks() {
            let share = Share::of(profile.values(counts), interval);
            completeness.zero_object_stacks += usize::from(counts.inuse.objects == 0);
            whole.add(share);
            let stack = locations.iter().map(|id| of_location[id.index()]).collect();
            shares.entry(stack).or_default().push((dump, share));
        }
        total.set(dump, interval, whole);
        rungs.push(Rung {
            iterations: *position,
            live: whole.alive.level,
            ..Rung::default()
        });
    }
    progress.clear();
    let table = numbers.table();
    let folder = Folder::new(&table, normalization);
    let mut traces: BTreeMap<FoldedStack, Trace> = BTreeMap::new();
    let mut by_stack: BTreeMap<FoldedStack, (BTreeMap<usize, Share>, Levels)> = BTreeMap::new();
    for (stack, shares) in shares {
        let folded = folder.fold(&stack);
        let trace = traces.entry(folded.stack.clone());
        trace
            .or_insert_with(|| folded.trace.clone())
            .or_smaller(folded.trace);
        let (of_dumps, levels) = by_stack.entry(folded.stack).or_default();
        for (dump, share) in shares {
            of_dumps.entry(dump).or_default().add(share);
        }
        for (birth, generation) in born.remove(&stack).into_iter().flatten() {
            levels.add_born(birth, generation);
        }
    }
    let (uptime, note) = Uptime::at(&youngest);
    let stacks = by_stack.into_iter().map(|(stack, (shares, mut levels))| {
        for (dump, share) in shares {
            levels.set(dump, coarsest, share);
        }
        (stack, levels.of_process(positions.len(), uptime).0)
    });
    let observed = Observed {
        stacks: stacks.collect(),
        bare: traces
            .iter()
            .filter(|(_, trace)| trace.frames.first().is_some_and(|leaf| leaf.file.is_none()))
            .map(|(stack, _)| stack.clone())
            .collect(),
        owners: traces
            .iter()
            .filter_map(|(stack, trace)| Some((stack.clone(), trace.owner()?.to_owned())))
            .collect(),
        iterations: positions,
        interval: coarsest,
        of_process: true,
        ..Observed::default()
    };
    let (total, _) = total.of_process(observed.iterations.len(), None);
    Ok(Seen {
        observed,
        rungs,
        traces,
        files: source_files(fold::source_paths(
            table.frames.values().flatten(),
            normalization,
        )),
        completeness,
        total,
        notes: spaces.notes.into_iter().chain(note).collect(),
    })
}
