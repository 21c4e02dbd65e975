//! Collects the dumps of one ladder, as a series of levels for each stack.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use plimsoll_core::blame::SourceFiles;
use plimsoll_core::dump::{HeapDump, Maps};
use plimsoll_core::fold::{self, Folder, Normalization, Trace};
use plimsoll_core::growth::Growth;
use plimsoll_core::judge::Observed;
use plimsoll_core::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE};
use plimsoll_core::outside::{GrownMappings, Kinds, Mapped};
use plimsoll_core::report::{Check, CheckOutcome, Completeness, Memory, Rung};
use plimsoll_core::{
    Avma, FoldedStack, Resource, Series, SmallMap, SymbolTable, Tally, birth, to_f64,
};
use plimsoll_symbols::MappedFile;

use crate::observe;
use crate::plan::{self, Plan};
use crate::policy::check;
use crate::protocol::{Greeting, Walks};

/// Bytes for each thread that may grow outside the profile before the profile counts as
/// incomplete. The caches of the process and its threads hold about this much.
const CACHED_PER_THREAD: u64 = 1 << 20;

/// The largest size class whose objects jemalloc calls small, in bytes. A sampled object gets pages
/// of its own, and for this class they are counted as an object of the next one
/// (`arena_prof_promote` in jemalloc's `arena.c`).
const LARGEST_SMALL: u64 = 14 << 10;

/// Bytes that jemalloc counts for a sampled object of that class beyond the bytes in the profile.
const BEYOND_LARGEST_SMALL: u64 = 2 << 10;

/// The most bytes between the start of one of the canary's functions and a return address into it.
const CANARY_EXTENT: u64 = 256;

/// The contents of all dumps of a ladder.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// The addresses of the canary's functions, leaf first.
    canary: [u64; 3],
    /// Bytes that a sampled small object adds to `stats.allocated`. Without this number,
    /// coverage cannot be checked.
    sampled_object: Option<u64>,
    bt_max: usize,
    plan: Plan,
    /// For each rung, the variance of its live bytes that comes from sampling.
    noise: Vec<f64>,
    /// The number of threads that the last dump lists.
    pub(crate) threads_listed: u64,
    /// Mean bytes of an allocation, over all allocations that the profile keeps.
    pub(crate) mean_object: Option<f64>,
    pub(crate) rungs: Vec<Rung>,
    stacks: HashMap<Vec<Avma>, Series>,
    maps: Maps,
    /// What was mapped at each rung.
    kinds: Vec<Kinds>,
    /// The number of mappings in the last dump.
    pub(crate) mapped: u64,
    pub(crate) completeness: Completeness,
    /// How walks of the stack have ended so far.
    pub(crate) walks: Walks,
    /// The number of threads that had started and ended when the last dump was taken.
    pub(crate) threads_ended: u64,
    /// The same number for each rung.
    ended_by_rung: Vec<u64>,
    symbols: SymbolTable,
    looked_up: BTreeSet<Avma>,
}

/// Growth that no stack accounts for.
#[derive(Clone, Copy, Debug)]
struct Outside {
    /// Bytes gained in the octaves that the verdict looks at.
    gained: u64,
    /// Bytes gained in an iteration.
    rate: f64,
    /// Whether this is more than caches and chance explain.
    is_too_much: bool,
}

/// What jemalloc says of its own memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocator {
    active: u64,
    metadata: u64,
    resident: u64,
    /// Zero if that cannot be told.
    mapped: u64,
}

impl Allocator {
    /// Reads the numbers that a subject answers. `None` if jemalloc says nothing.
    pub(crate) fn parse(number: &mut impl FnMut() -> Option<u64>) -> Option<Allocator> {
        let allocator = Allocator {
            active: number()?,
            metadata: number()?,
            resident: number()?,
            mapped: number()?,
        };
        (allocator.active > 0).then_some(allocator)
    }

    /// Returns the memory of a process that has this allocator and these mappings.
    fn memory(self, mapped: &Mapped) -> Memory {
        let is_told = self.mapped > 0 && !observe::never_overcommits();
        Memory {
            active: self.active,
            metadata: self.metadata,
            resident: self.resident,
            outside: is_told.then(|| mapped.outside(self.mapped)),
        }
    }
}

/// Returns that the program does not allocate with jemalloc, if so.
pub(crate) fn allocator_problem(greeting: &Greeting) -> Option<&'static str> {
    (greeting.get("allocates") == "false").then_some(
        "the program declares a `#[global_allocator]` that is not jemalloc, such as mimalloc, and \
         the profiler sees nothing that it allocates",
    )
}

/// Returns why no stack of the subject can be walked, and what to do, or `None` if stacks can be
/// walked.
pub(crate) fn stack_problem(greeting: &Greeting) -> Option<&'static str> {
    (greeting.get("unwind-tables") == "false").then_some(
        "the program is built without unwind tables: expected `panic = \"unwind\"`, or \
         `-C force-unwind-tables=yes` in RUSTFLAGS",
    )
}

/// Returns why the profile would differ from the plan, and what to do, or `None` if it would
/// not.
pub(crate) fn profiling_problem(greeting: &Greeting, plan: Plan) -> Option<String> {
    if greeting.get("prof") != "true" {
        return Some(
            "profiling is off: expected jemalloc with `profiling` as the global allocator, and \
             `prof:true`"
                .to_owned(),
        );
    }
    if greeting.get("active") != "true" {
        return Some("profiling is not active: expected `prof_active:true`".to_owned());
    }
    let (planned, found) = (plan.lg_interval, greeting.get("lg-sample"));
    if found != planned.to_string() {
        return Some(format!(
            "another sample interval than was asked for: expected `lg_prof_sample:{planned}`, \
             found `lg_prof_sample:{found}`; set `sample-interval` for another one"
        ));
    }
    None
}

impl Profile {
    pub(crate) fn new(greeting: &Greeting, plan: Plan) -> Profile {
        let mut canary = [0; 3];
        for (address, text) in canary.iter_mut().zip(greeting.get("canary").split(',')) {
            *address = text.parse().unwrap_or(0);
        }
        Profile {
            canary,
            sampled_object: greeting.number("sampled-object"),
            bt_max: usize::try_from(greeting.number("frames").unwrap_or(128)).unwrap_or(128),
            plan,
            ..Profile::default()
        }
    }

    /// Adds the dump of the next rung.
    ///
    /// # Errors
    ///
    /// The check that failed, if the dump cannot be read or lacks the canary.
    pub(crate) fn add(
        &mut self,
        dump: &[u8],
        mut rung: Rung,
        allocator: Option<Allocator>,
    ) -> Result<(), Check> {
        let iterations = rung.iterations;
        let failed = |name: &str, problem: String| {
            let detail = format!("at {iterations} iterations: {problem}");
            check(name, CheckOutcome::Failed, detail)
        };
        let parsed = HeapDump::parse(dump).map_err(|error| failed("dump", error.to_string()))?;
        let Some(maps) = parsed.maps() else {
            let problem = "expected the mapped libraries at the end, found none: it was cut short";
            return Err(failed("dump", problem.to_owned()));
        };
        self.mapped = note_mappings(&mut rung, maps, allocator).all;
        let kinds = Kinds::of(maps, allocator.map_or(0, |allocator| allocator.mapped));
        self.maps = maps.clone();
        let index = self.rungs.len();
        let interval = self.plan.interval();
        let mut canaries = Tally::default();
        let mut allocated = Tally::default();
        let mut noise = 0.0;
        let stacks = parsed.without_births();
        for record in stacks.records() {
            if is_canary(&self.canary, record.stack) {
                canaries += record.counts.inuse;
                continue;
            }
            allocated += record.counts.alloc;
            let live = record.counts.inuse;
            let level = interval.level(live);
            rung.live += level.tally;
            noise += level.variance;
            // A profile that keeps stacks has no live objects on most of them.
            if live != Tally::default() && !self.stacks.contains_key(record.stack) {
                self.stacks.insert(record.stack.to_vec(), Series::default());
            }
        }
        let has_births = parsed.has_births();
        // In a sampled profile these would be counts of samples.
        let keeps_allocated = self.plan.keeps_stacks && self.plan.is_exact();
        for series in self.stacks.values_mut() {
            series.forget_allocated();
        }
        for record in parsed.records() {
            let live = record.counts.inuse;
            if live == Tally::default() && !keeps_allocated {
                continue;
            }
            let (stack, generation) = birth::split(record.stack);
            // Objects that were allocated before the hook was installed have no birth.
            let generation = generation.or(has_births.then_some(0));
            let mut series = self.stacks.get_mut(stack);
            if let (Some(series), Some(born)) = (series.as_deref_mut(), generation)
                && keeps_allocated
            {
                series.add_allocated(born, record.counts.alloc.objects);
            }
            if live == Tally::default() {
                continue;
            }
            match (series, generation) {
                (Some(series), Some(born)) => series.add_born(index, born, interval, live),
                (Some(series), None) => series.add_sampled(index, interval, live),
                // The canary's stack has no series.
                (None, _) => {}
            }
        }
        self.noise.push(noise);
        self.threads_listed = plan::threads_listed(dump);
        self.mean_object =
            (allocated.objects > 0).then(|| to_f64(allocated.bytes) / to_f64(allocated.objects));
        // A stack that is absent from the dump has level zero.
        for series in self.stacks.values_mut() {
            series.extend_to(index + 1);
        }
        self.completeness.stacks = stacks.records().len();
        self.completeness.zero_object_stacks = stacks.zero_object_stacks();
        // A stack's birth takes the place of one frame.
        let births = usize::from(has_births);
        let most_frames = self.bt_max.saturating_sub(births);
        self.completeness.truncated_stacks = stacks.stacks_cut_at(most_frames);
        if let Some(problem) = self.plan.canary_problem(canaries, index as u64 + 1) {
            return Err(failed("canary", problem));
        }
        self.rungs.push(rung);
        self.kinds.push(kinds);
        self.ended_by_rung.push(self.threads_ended);
        Ok(())
    }

    /// Returns the mappings of a resource that became more in the octaves that the verdict looks
    /// at. Empty for a resource that is not mapped.
    pub(crate) fn grown_mappings(&self, resource: Resource) -> Vec<GrownMappings> {
        let before = self.before().and_then(|before| self.kinds.get(before));
        let ends = before.zip(self.kinds.last()).zip(resource.counts());
        let grown = ends.map(|((before, last), counts)| last.grown_since(before, counts));
        grown.unwrap_or_default()
    }

    /// Returns the iterations at each rung.
    pub(crate) fn iterations(&self) -> Vec<u64> {
        self.rungs.iter().map(|rung| rung.iterations).collect()
    }

    /// Returns the index of the first rung of the octaves that the verdict looks at.
    pub(crate) fn before(&self) -> Option<usize> {
        let last = self.rungs.len().checked_sub(1)?;
        Some(last.saturating_sub(3 * RUNGS_PER_OCTAVE))
    }

    /// Folds every stack that moved in the last rungs, and looks up the names that folding
    /// needs.
    pub(crate) fn observe(&mut self, normalization: &Normalization) -> (Observed, Sources) {
        let stacks = self.stacks.iter();
        let moved: Vec<_> = stacks.filter(|(_, series)| self.moves(series)).collect();
        let before = self.looked_up.len();
        for (stack, _) in &moved {
            self.looked_up.extend(*stack);
        }
        if self.looked_up.len() > before {
            let files = mapped_files(&self.maps);
            let options = plimsoll_symbols::Options::default();
            self.symbols = plimsoll_symbols::symbolize(&files, &self.looked_up, &options);
        }
        self.completeness.addresses = self.looked_up.len();
        self.completeness.without_debug_info = self.symbols.without_debug_info;
        self.completeness.unresolved = self.symbols.unresolved;

        let folder = Folder::new(&self.symbols, normalization);
        let mut stacks: BTreeMap<FoldedStack, Series> = BTreeMap::new();
        let mut traces: BTreeMap<FoldedStack, Trace> = BTreeMap::new();
        let mut bare: BTreeSet<FoldedStack> = BTreeSet::new();
        let mut owners: BTreeMap<FoldedStack, String> = BTreeMap::new();
        for (stack, series) in moved {
            let folded = folder.fold(stack);
            let leaf = folded.trace.frames.first();
            if leaf.is_some_and(|leaf| leaf.file.is_none()) {
                bare.insert(folded.stack.clone());
            }
            if let Some(owner) = folded.trace.owner() {
                owners.insert(folded.stack.clone(), owner.to_owned());
            }
            let trace = traces.entry(folded.stack.clone());
            trace
                .or_insert_with(|| folded.trace.clone())
                .or_smaller(folded.trace);
            stacks.entry(folded.stack).or_default().merge(series);
        }
        let mut resources = BTreeMap::new();
        for one in Resource::ALL {
            resources.extend(series_of(&self.rungs, one).map(|series| (one, series)));
        }
        let observed = Observed {
            iterations: self.iterations(),
            interval: self.plan.interval(),
            stacks,
            bare,
            owners,
            of_process: false,
            resources,
        };
        let sources = Sources {
            traces,
            notes: self.symbols.notes.clone(),
        };
        (observed, sources)
    }

    /// Returns whether a stack's level changes where a verdict looks. [`observe`](Self::observe)
    /// leaves out all others.
    fn moves(&self, series: &Series) -> bool {
        let from = self.rungs.len().saturating_sub(RUNGS_TO_RISE);
        let moves = |levels: &[Tally]| levels.windows(2).any(|two| two[0] != two[1]);
        moves(&series.levels()[from..]) || series.counted().get(from..).is_some_and(moves)
    }

    /// Returns what a dump after the ladder has on the stacks that were looked up, by folded stack
    /// and generation. All is in generation 0 if births are not known.
    pub(crate) fn fold(
        &self,
        dump: &HeapDump,
        normalization: &Normalization,
    ) -> SmallMap<FoldedStack, SmallMap<usize, Tally>> {
        let folder = Folder::new(&self.symbols, normalization);
        let mut alive: SmallMap<FoldedStack, SmallMap<usize, Tally>> = SmallMap::default();
        for record in dump.records() {
            let (stack, generation) = birth::split(record.stack);
            let is_known = stack.iter().all(|one| self.looked_up.contains(one));
            // Its addresses may all be in other stacks that were looked up.
            let is_left_out = || self.stacks.get(stack).is_some_and(|one| !self.moves(one));
            if is_known && record.counts.inuse != Tally::default() && !is_left_out() {
                let of = alive.or_default(folder.fold(stack).stack);
                let level = self.plan.interval().level(record.counts.inuse);
                *of.or_default(generation.unwrap_or(0)) += level.tally;
            }
        }
        alive
    }

    /// Returns the source files of the frames that were looked up.
    pub(crate) fn source_files(&self, normalization: &Normalization) -> SourceFiles<'static> {
        plimsoll_symbols::source_files(fold::source_paths(
            self.symbols.frames.values().flatten(),
            normalization,
        ))
    }

    /// Checks that jemalloc's own count does not grow faster than the profile.
    pub(crate) fn coverage(&self) -> Check {
        let Some(outside) = self.outside() else {
            let why = "`stats.allocated` cannot be read".to_owned();
            return check("coverage", CheckOutcome::Unavailable, why);
        };
        let (gained, rate) = (outside.gained, outside.rate);
        if !outside.is_too_much {
            let detail =
                format!("{gained} bytes of growth outside the profile, within what caches hold");
            return check("coverage", CheckOutcome::Passed, detail);
        }
        let grows = format!("memory grows outside the profile by {rate:.2} bytes an iteration");
        let detail = match self.short_threads() {
            Some(threads) => format!(
                "{grows}, while {threads} threads started and ended: {}",
                self.plan.why_threads_are_missed()
            ),
            None => format!("{grows}: jemalloc counts {gained} bytes more than the stacks do"),
        };
        check("coverage", CheckOutcome::Failed, detail)
    }

    /// Returns why nothing is said of memory outside the allocator. `None` if it is measured.
    pub(crate) fn outside_is_unknown(&self) -> Option<Check> {
        let known = |rung: &Rung| rung.resource(Resource::Outside).is_some();
        let why = match observe::never_overcommits() {
            true => {
                "the kernel never overcommits memory (`vm.overcommit_memory=2`), so jemalloc reserves \
                 memory before it uses it, and mappings do not tell its memory from that of others"
            }
            false => {
                "jemalloc does not say what it has mapped: its statistics cannot be read, or its \
                 allocator of huge pages is on (`hpa:true`)"
            }
        };
        let is_known = self.rungs.iter().all(known);
        (!is_known).then(|| check("outside", CheckOutcome::Unavailable, why.to_owned()))
    }

    /// Returns how many threads have started and ended in the verdict's octaves, if the profile
    /// is incomplete because they ended before their first sample.
    pub(crate) fn short_threads(&self) -> Option<u64> {
        let outside = self.outside().filter(|outside| outside.is_too_much)?;
        let before = self.ended_by_rung.get(self.before()?)?;
        let threads = self.ended_by_rung.last()?.saturating_sub(*before);
        let may_miss = self.plan.may_miss(threads, outside.gained);
        may_miss.then_some(threads)
    }

    /// Returns the growth that no stack accounts for. Returns `None` if jemalloc's own count is
    /// unknown.
    fn outside(&self) -> Option<Outside> {
        let sampled_object = self.sampled_object?;
        // The most that the profile explains. In an exact profile: all live bytes, and for
        // every live object what jemalloc adds to a small one. In a sampled profile: the
        // estimate of the live bytes, and the canaries so far. In both, what jemalloc adds
        // to the largest small objects: as many as the live bytes can be.
        let canary = self.plan.canary();
        let outside: Vec<i128> = self
            .rungs
            .iter()
            .zip(1_u64..)
            .map(|(rung, rungs)| {
                let canaries = rungs * canary.objects * canary.bytes;
                let of_samples = match self.plan.is_exact() {
                    true => i128::from(sampled_object) * i128::from(rung.live.objects),
                    false => i128::from(canaries),
                };
                let largest = rung.live.objects.min(rung.live.bytes / LARGEST_SMALL);
                let of_largest = i128::from(largest * BEYOND_LARGEST_SMALL);
                let explained = i128::from(rung.live.bytes) + of_samples + of_largest;
                i128::from(rung.allocated.unwrap_or(0)) - explained
            })
            .collect();
        let least = outside.iter().copied().min().unwrap_or(0);
        // Each byte counts as an object. Growth in bytes would need the number of objects,
        // which is not known here.
        let levels = outside.iter().map(|level| Tally {
            objects: u64::try_from(level - least).unwrap_or(u64::MAX),
            bytes: 0,
        });
        let series = Series::new(levels.collect());
        let growth = Growth::of(&self.iterations(), &series).objects;
        let threads = self.rungs.last().map_or(1, |rung| rung.threads);
        let before = self.before().unwrap_or(0);
        let levels = series.levels();
        let gained = levels.last().zip(levels.get(before));
        let gained = gained.map_or(0, |(last, first)| {
            last.objects.saturating_sub(first.objects)
        });
        // Estimates have a random error. A difference of more than six standard deviations is
        // not chance.
        let noise = [self.noise.last(), self.noise.get(before)];
        let by_chance = 6.0 * noise.into_iter().flatten().sum::<f64>().sqrt();
        Some(Outside {
            gained,
            rate: growth.rate,
            is_too_much: growth.rising
                && to_f64(gained) > to_f64(CACHED_PER_THREAD * threads) + by_chance,
        })
    }
}

/// Returns the files that the subject has mapped.
///
/// The front runs the same program, so the program is read as `/proc/self/exe`. A build in the
/// meantime then changes nothing.
pub(crate) fn mapped_files(maps: &Maps) -> Vec<MappedFile> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref();
    let file = |mapping| {
        let mut file = MappedFile::from(mapping);
        if program.is_some_and(|program| is_same(program, &file)) {
            file.open = Some("/proc/self/exe".into());
        }
        file
    };
    maps.mappings.iter().map(file).collect()
}

fn is_same(program: &Path, file: &MappedFile) -> bool {
    program == file.path
        || file.deleted
            && program
                .to_string_lossy()
                .strip_suffix(" (deleted)")
                .is_some_and(|program| Path::new(program) == file.path)
}

/// Where the frames of folded stacks are in the source of this build.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) traces: BTreeMap<FoldedStack, Trace>,
    /// Remarks on how names were found.
    pub(crate) notes: Vec<String>,
}

/// Notes what a dump's mappings say about the subject.
pub(crate) fn note_mappings(rung: &mut Rung, maps: &Maps, allocator: Option<Allocator>) -> Mapped {
    let mapped = Mapped::of(maps);
    rung.mappings = Some(mapped.files);
    rung.memory = allocator.map(|allocator| allocator.memory(&mapped));
    mapped
}

/// Returns the levels of a resource. `None` if they are not known.
fn series_of(rungs: &[Rung], resource: Resource) -> Option<Series> {
    let levels = rungs.iter().map(|rung| rung.resource(resource));
    Some(Series::new(levels.collect::<Option<Vec<_>>>()?))
}

/// Returns whether a stack contains the canary's functions, in the order of their calls.
fn is_canary(functions: &[u64; 3], stack: &[Avma]) -> bool {
    let mut wanted = functions.iter().peekable();
    for Avma(address) in stack {
        wanted.next_if(|&&start| start != 0 && *address > start && address - start < CANARY_EXTENT);
    }
    wanted.peek().is_none()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Born;

    use super::*;

    /// A greeting with these lines beside the canary's.
    fn greeting(lines: &[&str]) -> Greeting {
        let mut greeting = Greeting::default();
        greeting.add("canary 1048576,2097152,3145728");
        lines.iter().for_each(|line| greeting.add(line));
        greeting
    }

    const CANARY: &str = "0x100010 0x200010 0x300010";

    /// A dump of the given canaries, and of stacks with their live objects of 64 bytes each.
    fn dump(plan: Plan, canaries: &[(&str, u64)], stacks: &[(&str, u64)]) -> String {
        use std::fmt::Write as _;

        let mut text = format!("heap_v2/{}\n", plan.interval());
        let mut record = |stack: &str, objects: u64, bytes: u64| {
            let _ = write!(
                text,
                "@ {stack}\n  t*: {objects}: {bytes} [9: {}]\n",
                9 * 64
            );
        };
        for (stack, objects) in stacks {
            record(stack, *objects, objects * 64);
        }
        for (word, objects) in canaries {
            let bytes = plan.canary().bytes;
            record(&format!("{CANARY}{word}"), *objects, objects * bytes);
        }
        text.push_str("\nMAPPED_LIBRARIES:\n");
        text
    }

    fn rung(iterations: u64) -> Rung {
        Rung {
            iterations,
            threads: 1,
            descriptors: 3,
            ..Rung::default()
        }
    }

    fn objects(counts: &[Tally]) -> Vec<u64> {
        counts.iter().map(|tally| tally.objects).collect()
    }

    /// A stack's leaf, its live objects at each rung, and these by birth.
    type Expected<'a> = (u64, &'a [u64], &'a [&'a [(usize, u64)]]);

    #[test]
    fn a_program_without_unwind_tables_is_told_so() {
        let problem = |line| stack_problem(&greeting(&[line]));
        assert!(
            problem("unwind-tables false")
                .unwrap()
                .contains("force-unwind-tables=yes")
        );
        assert_eq!(problem("unwind-tables true"), None);
    }

    #[test]
    fn births_are_known_where_stacks_tell_them() {
        let greeting = greeting(&["frames 3"]);
        for plan in [Plan::EXACT, Plan::sampled(9)] {
            let mut profile = Profile::new(&greeting, plan);
            // About the number that is sampled of eight objects of 512 bytes.
            let canary = if plan.is_exact() { 1 } else { 5 };
            let canaries = [(" 0x1000", canary), (" 0x1001", canary)];
            let stacks = [("0x10 0x20 0x1000", 5), ("0x30 0x1000", 0), ("0x50", 7)];
            let first = dump(plan, &canaries[..1], &stacks);
            let stacks = [
                ("0x10 0x20 0x1001", 4),
                ("0x10 0x20 0x1000", 2),
                ("0x30 0x1000", 0),
                ("0x30 0x1001", 0),
                ("0x40 0x1000", 0),
                ("0x40 0x1001", 1),
                ("0x50", 6),
                ("0x60 0x1001", 3),
                ("0x60", 2),
            ];
            let second = dump(plan, &canaries, &stacks);
            let third = dump(plan, &[("", 3 * canary)], &[("0x10 0x20", 1)]);
            profile.add(first.as_bytes(), rung(16), None).unwrap();
            profile.add(second.as_bytes(), rung(19), None).unwrap();
            let found = profile.completeness;
            assert_eq!((found.stacks, found.zero_object_stacks), (6, 1));
            // The canary's stack has one frame too many as well.
            assert_eq!(found.truncated_stacks, 2);
            let allocated = profile.stacks.iter();
            let allocated = allocated.map(|(stack, series)| (stack[0].0, series.allocated()));
            let mut allocated: Vec<_> = allocated.collect();
            allocated.sort();
            let expected: [(u64, &[(usize, u64)]); 4] = match plan.is_exact() {
                true => [
                    (0x10, &[(0, 9), (1, 9)]),
                    (0x40, &[(0, 9), (1, 9)]),
                    (0x50, &[(0, 9)]),
                    (0x60, &[(0, 9), (1, 9)]),
                ],
                false => [(0x10, &[]), (0x40, &[]), (0x50, &[]), (0x60, &[])],
            };
            assert_eq!(allocated, expected);
            profile.add(third.as_bytes(), rung(23), None).unwrap();
            assert_eq!(profile.completeness.truncated_stacks, 1);

            let mut stacks: Vec<_> = profile.stacks.iter().collect();
            stacks.sort_by_key(|(stack, _)| *stack);
            let expected: [Expected<'_>; 4] = [
                (0x10, &[5, 6, 1], &[&[(0, 5)], &[(0, 2), (1, 4)], &[]]),
                (0x40, &[0, 1, 0], &[&[], &[(1, 1)], &[]]),
                // Allocated before the hook was installed.
                (0x50, &[7, 6, 0], &[&[(0, 7)], &[(0, 6)], &[]]),
                (0x60, &[0, 5, 0], &[&[], &[(0, 2), (1, 3)], &[]]),
            ];
            assert_eq!(stacks.len(), expected.len());
            for ((stack, series), (leaf, live, born)) in stacks.into_iter().zip(expected) {
                assert_eq!(stack[0], Avma(leaf));
                let counted = match plan.is_exact() {
                    true => series.levels(),
                    false => series.counted(),
                };
                assert_eq!(objects(counted), live, "{stack:?}");
                let survivors = (0..3).map(|rung| {
                    let survivors = series.survivors(rung).iter();
                    let of = |born: &Born| (born.generation, born.alive.counted.objects);
                    survivors.map(of).collect::<Vec<_>>()
                });
                assert_eq!(survivors.collect::<Vec<_>>(), born, "{stack:?}");
            }
        }
    }

    #[test]
    fn growth_outside_is_of_threads_if_enough_of_them_end() {
        let coverage = |plan: Plan, threads_each: u64| {
            let mut profile = Profile::new(&greeting(&["sampled-object 0"]), plan);
            for (n, iterations) in (1..).zip((0..24).map(plimsoll_core::ladder::rung)) {
                let canaries = n * if plan.is_exact() { 1 } else { 5 };
                let text = dump(plan, &[("", canaries)], &[]);
                profile.threads_ended = threads_each * iterations;
                let rung = Rung {
                    allocated: Some((10 << 20) + 9_000 * iterations),
                    ..rung(iterations)
                };
                profile.add(text.as_bytes(), rung, None).unwrap();
            }
            let check = profile.coverage();
            assert_eq!(check.outcome, CheckOutcome::Failed);
            let told = "threads started and ended: a thread that ends";
            let is_told = check.detail.contains(told);
            assert_eq!(profile.short_threads().is_some(), is_told);
            is_told
        };
        // A thread may allocate up to 4 KiB before its first sample.
        assert!(coverage(Plan::sampled(9), 3));
        assert!(!coverage(Plan::sampled(9), 2));
        assert!(!coverage(Plan::sampled(9), 0));
        assert!(coverage(Plan::sampled(12), 1));
        assert!(!coverage(Plan::EXACT, 3));
    }

    #[test]
    fn what_never_changes_is_left_out_after_the_ladder_as_well() {
        let mut profile = Profile::new(&greeting(&[]), Plan::EXACT);
        let stacks = |grows| [("0x10 0x20", grows), ("0x20 0x10", 1)];
        for n in 1..=3 {
            let text = dump(Plan::EXACT, &[("", n)], &stacks(n));
            profile.add(text.as_bytes(), rung(16 * n), None).unwrap();
        }
        profile.observe(&Normalization::default());
        let after = dump(Plan::EXACT, &[("", 4)], &stacks(5));
        let after = HeapDump::parse(after.as_bytes()).unwrap();
        let alive = profile.fold(&after, &Normalization::default());
        let objects = alive.iter().flat_map(|(_, born)| born.iter());
        assert_eq!(objects.map(|(_, alive)| alive.objects).sum::<u64>(), 5);
    }

    /// The number of records that a stack has must not change the level of a rung.
    #[test]
    fn levels_are_estimated_by_stack() {
        let plan = Plan::sampled(9);
        let live = |stacks: &[(&str, u64)]| {
            let mut profile = Profile::new(&greeting(&[]), plan);
            let text = dump(plan, &[("", 5)], stacks);
            profile.add(text.as_bytes(), rung(16), None).unwrap();
            (profile.rungs[0].live, profile.noise)
        };
        let by_birth = live(&[("0x10 0x1000", 1), ("0x10 0x1001", 1), ("0x10 0x1002", 1)]);
        assert_eq!(by_birth, live(&[("0x10", 3)]));
    }
}
