//! Reads profiles, and looks up the names of their addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use anyhow::Context;
use plimsoll_core::ages::{Birth, Generation};
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_profile::read::{self, ReadError};
use plimsoll_profile::{MappedObject, Profile, TooManyFrames, Values};
use plimsoll_symbols::{BuildId, MappedFile};

use crate::args::SymbolArgs;
use crate::memory::Limit;
use crate::servers::{self, Found, Server};
use crate::source::Source;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::progress::Progress;

/// A profile, and the name of its source.
pub(crate) struct Loaded {
    pub name: String,
    pub profile: Profile,
    /// The birth of each stack. Empty if stacks that differ only by their birth are one.
    pub births: Vec<Option<Birth>>,
}

impl Loaded {
    /// Takes the births out of a profile with names.
    pub(super) fn with_births(name: String, mut profile: Profile) -> Loaded {
        let births = profile.take_births();
        Loaded {
            name,
            profile,
            births,
        }
    }

    /// Returns the sample interval. If it is not known, estimates are used as they are.
    pub(super) fn interval(&self) -> SampleInterval {
        self.profile.sample_interval.unwrap_or_default()
    }

    /// Returns the birth of a stack, and what is left of it. What was allocated before births were
    /// written is older than everything else.
    pub(super) fn born(&self, stack: usize, values: Values) -> (Birth, Generation) {
        let birth = self.births.get(stack).copied().flatten();
        let seen = |size| self.interval().probability(size);
        let generation = Generation::of(values.inuse, values.alloc, seen);
        (birth.unwrap_or(Birth::FIRST), generation)
    }

    /// Puts stacks together that differ only by their birth.
    pub(super) fn put_together(mut self) -> Loaded {
        if !self.births.is_empty() {
            self.births = Vec::new();
            self.profile.merge();
        }
        self
    }
}

/// Reads profiles, and looks up the names of their addresses. Stacks that differ only by their
/// birth are one.
pub(crate) fn load<const N: usize>(
    sources: [&Source; N],
    args: &SymbolArgs,
    out: &mut Out,
) -> anyhow::Result<[Loaded; N]> {
    Ok(load_births(sources, args, out)?.map(Loaded::put_together))
}

/// The same, but stacks of different birth stay apart.
pub(crate) fn load_births<const N: usize>(
    sources: [&Source; N],
    args: &SymbolArgs,
    out: &mut Out,
) -> anyhow::Result<[Loaded; N]> {
    args.check()?;
    let mut progress = Progress::late();
    let mut loaded = Vec::with_capacity(N);
    for source in sources {
        let name = source.name();
        progress.doing(&format!("reading {name}"));
        let profile = read(source, args, &mut progress).with_context(|| name.clone())?;
        if let Source::Server(served) = source
            && let Some(note) = without_objects(&profile, served.server)
        {
            progress.clear();
            out.note(&format!("{name}: {note}"));
        }
        loaded.push((name, profile));
    }
    let notes = progress.during("looking up names", || symbolize(&mut loaded, args))?;
    progress.clear();
    for (name, profile) in &loaded {
        for note in &profile.notes {
            out.note(&format!("{name}: {}", safe_line(note)));
        }
    }
    for note in notes {
        out.note(&safe_line(&note));
    }
    let with_births = |(name, profile)| Loaded::with_births(name, profile);
    let loaded: Vec<Loaded> = loaded.into_iter().map(with_births).collect();
    loaded.try_into().ok().context("as many as were asked for")
}

/// Reads a profile. No names are looked up.
pub(super) fn read(
    source: &Source,
    args: &SymbolArgs,
    progress: &mut Progress,
) -> anyhow::Result<Profile> {
    let limit = args.limit();
    let from = |input: &mut dyn Read, progress: &mut Progress| {
        let mut input = BufReader::with_capacity(256 << 10, Watched { input, progress });
        read::read(&mut input as &mut dyn BufRead, limit.limits())
    };
    let profile = match source {
        Source::Stdin => from(&mut io::stdin().lock(), progress),
        Source::File(path) | Source::Kept { path, .. } => {
            let mut file = File::open(path).context("cannot be opened")?;
            if file.metadata().is_ok_and(|data| data.is_dir()) {
                anyhow::bail!("expected a heap profile, found a folder");
            }
            from(&mut file, progress)
        }
        Source::Server(served) => {
            let mut body = served.open(limit, None, &mut || progress.tick())?;
            let profile = from(&mut body, progress);
            let mut profile = profile.map_err(|err| hinted(err, served.server, limit))?;
            profile
                .notes
                .extend(without_objects(&profile, served.server));
            return Ok(profile);
        }
    };
    profile.map_err(|err| limited(err, limit))
}

/// Returns what to do if a server sent a profile without any objects.
pub(super) fn without_objects(profile: &Profile, server: Option<Server>) -> Option<String> {
    let hint = servers::hint(server, Found::NoObjects)?;
    profile
        .is_empty()
        .then(|| format!("the profile has no live objects: {hint}"))
}

/// Adds a hint to the error, if a server sent something else than a profile, or too much.
pub(super) fn hinted(err: ReadError, server: Option<Server>, limit: Limit) -> anyhow::Error {
    match servers::hint(server, Found::NoProfile(&err)) {
        Some(hint) => anyhow::anyhow!("{err}\n  hint: {hint}"),
        None => limited(err, limit),
    }
}

/// Adds a hint to the error, if it is about the limit.
fn limited(err: ReadError, limit: Limit) -> anyhow::Error {
    match err {
        ReadError::TooLarge(_) | ReadError::Memory(_) => {
            anyhow::anyhow!("{err}\n  hint: {limit}")
        }
        err => err.into(),
    }
}

/// A reader that updates the progress.
struct Watched<'a> {
    input: &'a mut dyn Read,
    progress: &'a mut Progress,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.progress.tick();
        self.input.read(into)
    }
}

/// Looks up the names of addresses that have none. Returns notes for readers of the output.
fn symbolize(
    loaded: &mut [(String, Profile)],
    args: &SymbolArgs,
) -> anyhow::Result<BTreeSet<String>> {
    let asked = loaded.iter().map(|(_, profile)| Asked::of(profile));
    let answers = Answers::of(asked.collect(), args);
    for (process, (name, profile)) in loaded.iter_mut().enumerate() {
        let named = answers.name(process, profile);
        named.with_context(|| name.clone())?;
        identify(profile, args);
    }
    Ok(answers.notes())
}

/// The names that were found for several processes.
pub(super) struct Answers {
    asked: Vec<Asked>,
    tables: Vec<SymbolTable>,
}

impl Answers {
    pub(super) fn of(mut asked: Vec<Asked>, args: &SymbolArgs) -> Answers {
        // Files that several processes have mapped are looked up once, at the addresses of the
        // first.
        if let Some((first, others)) = asked.split_first_mut() {
            for other in others {
                other.move_into(first);
            }
        }
        let names = |asked: &mut Asked| names(asked, args).unwrap_or_default();
        Answers {
            tables: asked.iter_mut().map(names).collect(),
            asked,
        }
    }

    /// Adds the names to a profile of a process.
    pub(super) fn name(&self, process: usize, profile: &mut Profile) -> Result<(), TooManyFrames> {
        let (asked, own) = (&self.asked[process], &self.tables[process]);
        profile.name(|address| match asked.moved.get(&address) {
            Some(moved) => self.tables[0].get(*moved).to_vec(),
            None => own.get(address).to_vec(),
        })
    }

    /// Returns notes for readers of the output.
    pub(super) fn notes(&self) -> BTreeSet<String> {
        let notes = self.tables.iter().flat_map(|table| &table.notes);
        notes.cloned().collect()
    }
}

/// Returns the addresses without names.
pub(super) fn unnamed(profile: &Profile) -> impl Iterator<Item = Avma> {
    profile
        .locations
        .iter()
        .filter(|location| location.frames.is_empty())
        .filter_map(|location| location.address)
}

/// Looks up names in the mapped files, if there are any. A hostile dump may have a million
/// mappings, so they are moved out of `asked` and not copied.
fn names(asked: &mut Asked, args: &SymbolArgs) -> Option<SymbolTable> {
    let mappings = std::mem::take(&mut asked.mappings);
    if asked.addresses.is_empty() || mappings.is_empty() {
        return None;
    }
    let mapped = |mapping| self::mapped(mapping, args);
    let mappings: Vec<MappedFile> = mappings.into_iter().map(mapped).collect();
    let table = plimsoll_symbols::symbolize(&mappings, &asked.addresses, &options(args));
    Some(table)
}

/// Sets the build IDs of mappings. jemalloc's text has none, and whoever reads the profile on
/// another machine needs them.
pub(super) fn identify(profile: &mut Profile, args: &SymbolArgs) {
    let addresses = profile.locations.iter();
    let addresses = addresses.filter_map(|location| location.address);
    let needed = needed(&profile.mappings, addresses);
    let mappings = needed.iter().map(|at| profile.mappings[*at].clone());
    let mappings: Vec<MappedFile> = mappings.map(|mapping| mapped(mapping, args)).collect();
    let ids = plimsoll_symbols::build_ids(&mappings, &options(args));
    let mut ids: BTreeMap<usize, _> = needed.into_iter().zip(ids).collect();
    let all = 0..profile.mappings.len();
    profile.identify(all.map(|at| Some(ids.remove(&at)??.to_string())));
}

/// Returns the indices of the mappings that tell names at these addresses: those in which they
/// lie, where the files of these begin, and the program. A dump may have a million others.
fn needed(mappings: &[MappedObject], addresses: impl Iterator<Item = Avma>) -> BTreeSet<usize> {
    let mut sorted: Vec<usize> = (0..mappings.len()).collect();
    sorted.sort_by_key(|at| mappings[*at].start);
    let of_call = |address: Avma| {
        let call = address.0.checked_sub(1)?;
        let after = sorted.partition_point(|at| mappings[*at].start <= call);
        let at = *sorted[..after].last()?;
        (call < mappings[at].end).then_some(at)
    };
    let used: BTreeSet<usize> = addresses.filter_map(of_call).collect();
    let paths = used.iter().map(|at| mappings[*at].path.as_str());
    let paths: BTreeSet<&str> = paths.collect();
    let begins = |at: &usize| {
        let mapping = &mappings[*at];
        mapping.file_offset == 0 && paths.contains(mapping.path.as_str())
    };
    let files = || (0..mappings.len()).filter(|at| is_file(&mappings[*at]));
    let program = files().find(|at| mappings[*at].executable);
    let program = program.or_else(|| files().next());
    let begins = (0..mappings.len()).filter(begins);
    begins.chain(program).chain(used.iter().copied()).collect()
}

fn is_file(mapping: &MappedObject) -> bool {
    let path = &mapping.path;
    path.starts_with('/') && !path.starts_with("//anon") && !path.starts_with("/memfd:")
}

fn options(args: &SymbolArgs) -> plimsoll_symbols::Options {
    let debug_directories = match args.debug_dir.as_slice() {
        // If the files of the dump's machine are at hand, its debug information is among them.
        [] => vec![match &args.sysroot {
            Some(root) => root.join("usr/lib/debug"),
            None => "/usr/lib/debug".into(),
        }],
        given => given.to_vec(),
    };
    plimsoll_symbols::Options {
        exe: args.exe.clone(),
        sysroot: args.sysroot.clone(),
        debug_directories,
        force: args.force,
        arguments: false,
    }
}

/// The mappings and addresses of one process that are looked up.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) mappings: Vec<MappedObject>,
    pub(super) addresses: BTreeSet<Avma>,
    /// For addresses in files that the first process has mapped, too, the address there.
    moved: BTreeMap<Avma, Avma>,
}

impl Asked {
    fn of(profile: &Profile) -> Asked {
        let needed = needed(&profile.mappings, unnamed(profile)).into_iter();
        Asked {
            mappings: needed.map(|at| profile.mappings[at].clone()).collect(),
            addresses: unnamed(profile).collect(),
            moved: BTreeMap::new(),
        }
    }

    /// Moves the addresses that the first process can answer to it.
    fn move_into(&mut self, first: &mut Asked) {
        let is_same = |one: &MappedObject, two: &MappedObject| {
            let at_home = |mapping: &MappedObject| MappedObject {
                start: 0,
                end: mapping.end.wrapping_sub(mapping.start),
                ..mapping.clone()
            };
            at_home(one) == at_home(two)
        };
        // There may be tens of thousands of mappings, so each is compared only with those that
        // have the same key.
        let key = |mapping: &MappedObject| {
            let length = mapping.end.wrapping_sub(mapping.start);
            let (offset, inode) = (mapping.file_offset, mapping.inode);
            (offset, length, inode, mapping.path.clone())
        };
        let is_file = |mapping: &&MappedObject| mapping.path.starts_with('/');
        let mut there: HashMap<_, Vec<&MappedObject>> = HashMap::new();
        for mapping in first.mappings.iter().filter(is_file) {
            there.entry(key(mapping)).or_default().push(mapping);
        }
        let mut theirs = self.mappings.clone();
        theirs.sort_by_key(|mapping| mapping.start);
        let ours = theirs.iter().map(|one| {
            let mut alike = there.get(&key(one))?.iter();
            let same = alike.find(|two| is_same(one, two));
            same.map(|same| same.start)
        });
        let ours: Vec<Option<u64>> = ours.collect();
        self.addresses.retain(|address| {
            // A call may be the last instruction of a mapping. Then its return address is
            // behind the mapping.
            let call = address.0.wrapping_sub(1);
            let place = theirs.partition_point(|mapping| mapping.start <= call);
            let Some(place) = place.checked_sub(1) else {
                return true;
            };
            match ours[place].filter(|_| call < theirs[place].end) {
                Some(start) => {
                    let moved = Avma((address.0 - theirs[place].start).wrapping_add(start));
                    first.addresses.insert(moved);
                    self.moved.insert(*address, moved);
                    false
                }
                None => true,
            }
        });
    }
}

fn mapped(mapping: MappedObject, args: &SymbolArgs) -> MappedFile {
    MappedFile {
        start: mapping.start,
        end: mapping.end,
        file_offset: mapping.file_offset,
        path: mapping.path.into(),
        deleted: mapping.deleted,
        open: None,
        build_id: mapping.build_id.as_deref().and_then(BuildId::parse),
        executable: mapping.executable,
        // The inode of another machine's file means nothing here.
        inode: mapping.inode.filter(|_| args.sysroot.is_none()),
    }
}
