use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use foldhash::fast::RandomState;
use plimsoll_core::dump::{Estimate, SampleInterval};
use plimsoll_core::{Avma, Counts, SourceFrame, Tally};

/// A heap profile: stacks of locations, with what was counted on each.
///
/// Compact, for dumps of a million stacks: locations are kept once, and a stack is a
/// run of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    scaled_by: Option<SampleInterval>,
    sample_interval: Option<SampleInterval>,
    measures: Vec<Measure>,
    locations: Vec<Location>,
    mappings: Vec<MappedObject>,
    /// The locations of every stack, leaf first, one after the other.
    frames: Vec<LocationId>,
    stacks: Vec<Stack>,
    /// What was ever allocated on each; shorter, where that is nothing.
    alloc: Vec<Tally>,
    notes: Vec<String>,
}

/// Functions of one location: itself, and a thousand that were inlined into one another there, as
/// many as are looked up. Real ones reach some tens; a file that claims more is lying.
pub(crate) const MAX_FUNCTIONS: usize = 1_001;

/// Frames that all stacks of any profile may have together.
const ANY_FRAMES: usize = 2 << 20;

/// And so many more for each location on a stack. Programs that inline most have two or three.
const FRAMES_OF_ONE: usize = 8;

/// A location's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub(crate) u32);

/// A stack as it is stored: its frames begin where the one before ends.
#[derive(Clone, Debug, PartialEq)]
struct Stack {
    end: usize,
    inuse: Tally,
}

/// One place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// A return address; absent where the profile has names alone.
    pub address: Option<Avma>,
    /// Its place among the profile's mappings, where the profile says it; where not, it
    /// is the mapping with the address.
    pub mapping: Option<usize>,
    /// Functions, leaf first: several where calls were inlined. Empty until names are
    /// looked up.
    pub frames: Vec<SourceFrame>,
}

/// A file that was mapped into the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedObject {
    /// The first address.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Where in the file it begins, in bytes.
    pub file_offset: u64,
    /// As the process saw it, without a ` (deleted)` after it; a name in brackets for
    /// what is no file, nothing for anonymous memory.
    pub path: String,
    /// Whether the file was gone when the profile was written.
    pub deleted: bool,
    /// Of the file, in hexadecimal, where the profile has it.
    pub build_id: Option<String>,
    /// Whether it may be run: the first such file is the program.
    pub executable: bool,
    /// The file's inode, where the profile has it.
    pub inode: Option<u64>,
}

/// What is counted, by pprof's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// All that were ever allocated. In jemalloc, with `prof_accum`.
    AllocObjects,
    /// Their bytes.
    AllocSpace,
    /// Those that are live.
    InuseObjects,
    /// Their bytes.
    InuseSpace,
}

/// One stack's estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    /// What is live.
    pub inuse: Estimate,
    /// What was ever allocated.
    pub alloc: Estimate,
}

impl Measure {
    /// In the order in which Go writes them.
    pub const ALL: [Measure; 4] = [
        Measure::AllocObjects,
        Measure::AllocSpace,
        Measure::InuseObjects,
        Measure::InuseSpace,
    ];

    /// Whether bytes are counted, not objects.
    pub fn is_space(self) -> bool {
        matches!(self, Measure::AllocSpace | Measure::InuseSpace)
    }

    /// `inuse_space`, as pprof calls it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::AllocObjects => "alloc_objects",
            Measure::AllocSpace => "alloc_space",
            Measure::InuseObjects => "inuse_objects",
            Measure::InuseSpace => "inuse_space",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Values {
    /// One of the four.
    pub fn get(&self, measure: Measure) -> f64 {
        match measure {
            Measure::AllocObjects => self.alloc.objects,
            Measure::AllocSpace => self.alloc.bytes,
            Measure::InuseObjects => self.inuse.objects,
            Measure::InuseSpace => self.inuse.bytes,
        }
    }
}

impl std::ops::AddAssign for Values {
    fn add_assign(&mut self, other: Values) {
        self.inuse += other.inuse;
        self.alloc += other.alloc;
    }
}

impl Profile {
    /// The mean number of bytes between two samples, where the profile says it.
    pub fn sample_interval(&self) -> Option<SampleInterval> {
        self.sample_interval
    }

    /// The interval by which counts become estimates; absent where they are estimates
    /// already, as those of pprof's format.
    pub fn scaled_by(&self) -> Option<SampleInterval> {
        self.scaled_by
    }

    /// What the profile counts.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// How many stacks there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Every stack in the file's order, its locations leaf first, and its counts as
    /// printed.
    pub fn stacks(&self) -> impl ExactSizeIterator<Item = (&[LocationId], Counts)> {
        (0..self.len()).map(|stack| (self.stack(stack), self.counts(stack)))
    }

    fn counts(&self, stack: usize) -> Counts {
        Counts {
            inuse: self.stacks[stack].inuse,
            alloc: self.alloc.get(stack).copied().unwrap_or_default(),
        }
    }

    /// The locations of one, leaf first, by its place among them.
    pub(crate) fn stack(&self, stack: usize) -> &[LocationId] {
        let before = stack.checked_sub(1);
        let start = before.map_or(0, |before| self.stacks[before].end);
        &self.frames[start..self.stacks[stack].end]
    }

    /// What stands behind counts: for jemalloc's, by jeprof's formula, see
    /// [`SampleInterval::unbias`].
    pub fn values(&self, counts: Counts) -> Values {
        let estimate = |tally: Tally| match self.scaled_by {
            _ if tally == Tally::default() => Estimate::default(),
            Some(interval) => interval.unbias(tally),
            None => as_printed(tally),
        };
        Values {
            inuse: estimate(counts.inuse),
            alloc: estimate(counts.alloc),
        }
    }

    /// The same of one stack, by its place among all.
    pub(crate) fn values_of(&self, stack: usize) -> Values {
        self.values(self.counts(stack))
    }

    /// All locations, by their numbers.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// All with their numbers.
    pub(crate) fn numbered_locations(&self) -> impl Iterator<Item = (LocationId, &Location)> {
        (0..).map(LocationId).zip(&self.locations)
    }

    /// One of them.
    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.0 as usize]
    }

    /// The process's mappings.
    pub fn mappings(&self) -> &[MappedObject] {
        &self.mappings
    }

    /// Gives build IDs, in hexadecimal, to mappings that have none.
    pub fn identify(&mut self, ids: impl IntoIterator<Item = Option<String>>) {
        for (mapping, id) in self.mappings.iter_mut().zip(ids) {
            mapping.build_id = mapping.build_id.take().or(id);
        }
    }

    /// What a reader should know, a sentence fragment each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Gives names to locations that have an address and no frames yet.
    ///
    /// # Errors
    ///
    /// If stacks have too many frames then, inlined ones included.
    pub fn name(&mut self, frames: impl Fn(Avma) -> Vec<SourceFrame>) -> Result<(), TooManyFrames> {
        for location in &mut self.locations {
            if let (Some(address), true) = (location.address, location.frames.is_empty()) {
                location.frames = frames(address);
            }
        }
        self.check()
    }

    /// Whether whoever goes through the frames of all stacks comes to an end: a stack may have
    /// one location 65,536 times, with a thousand frames each time.
    pub(crate) fn check(&self) -> Result<(), TooManyFrames> {
        let most = ANY_FRAMES.saturating_add(self.frames.len().saturating_mul(FRAMES_OF_ONE));
        if self
            .locations
            .iter()
            .all(|location| location.frames.len() <= FRAMES_OF_ONE)
        {
            return Ok(());
        }
        let of_location = |id: &LocationId| self.location(*id).frames.len();
        let found = self
            .frames
            .iter()
            .map(of_location)
            .fold(0, usize::saturating_add);
        match found <= most {
            true => Ok(()),
            false => Err(TooManyFrames { most, found }),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "as jeprof has it, above 2^53")]
fn as_printed(tally: Tally) -> Estimate {
    Estimate {
        objects: tally.objects as f64,
        bytes: tally.bytes as f64,
    }
}

/// Collects a [`Profile`].
#[derive(Debug)]
pub struct ProfileBuilder {
    profile: Profile,
    by_address: HashMap<Avma, LocationId, RandomState>,
    by_frames: HashMap<Vec<SourceFrame>, LocationId, RandomState>,
}

/// More locations than there can be numbers of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLocations;

impl fmt::Display for TooManyLocations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected fewer than 4,294,967,295 places in the program, found more")
    }
}

impl std::error::Error for TooManyLocations {}

/// More frames on all stacks together, inlined ones included, than a profile of its size has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyFrames {
    most: usize,
    found: usize,
}

impl fmt::Display for TooManyFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooManyFrames { most, found } = self;
        write!(
            f,
            "expected stacks with at most {most} frames in all, inlined ones included, \
             found {found}"
        )
    }
}

impl std::error::Error for TooManyFrames {}

impl ProfileBuilder {
    /// One that counts these.
    pub fn new(measures: &[Measure]) -> Self {
        ProfileBuilder {
            profile: Profile {
                scaled_by: None,
                sample_interval: None,
                measures: measures.to_vec(),
                locations: Vec::new(),
                mappings: Vec::new(),
                frames: Vec::new(),
                stacks: Vec::new(),
                alloc: Vec::new(),
                notes: Vec::new(),
            },
            by_address: HashMap::default(),
            by_frames: HashMap::default(),
        }
    }

    /// The location of an address, a new one where there was none.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub fn address(&mut self, address: Avma) -> Result<LocationId, TooManyLocations> {
        match self.by_address.entry(address) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(new) => {
                let id = LocationId::of(self.profile.locations.len())?;
                self.profile.locations.push(Location {
                    address: Some(address),
                    ..Location::default()
                });
                Ok(*new.insert(id))
            }
        }
    }

    /// The location with these frames and no address, a new one where there was none.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub fn frames(&mut self, frames: Vec<SourceFrame>) -> Result<LocationId, TooManyLocations> {
        if let Some(known) = self.by_frames.get(&frames) {
            return Ok(*known);
        }
        let id = self.push(Location {
            frames: frames.clone(),
            ..Location::default()
        })?;
        self.by_frames.insert(frames, id);
        Ok(id)
    }

    /// A new location, whatever there is.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub fn push(&mut self, location: Location) -> Result<LocationId, TooManyLocations> {
        let id = LocationId::of(self.profile.locations.len())?;
        self.profile.locations.push(location);
        Ok(id)
    }

    /// A stack, leaf first, with its counts as printed.
    pub fn stack(&mut self, frames: impl IntoIterator<Item = LocationId>, counts: Counts) {
        let profile = &mut self.profile;
        if counts.alloc != Tally::default() {
            profile.alloc.resize(profile.stacks.len(), Tally::default());
            profile.alloc.push(counts.alloc);
        }
        profile.frames.extend(frames);
        profile.stacks.push(Stack {
            end: profile.frames.len(),
            inuse: counts.inuse,
        });
    }

    /// The counts of all stacks so far.
    pub fn counts(&self) -> impl Iterator<Item = Counts> + Clone {
        (0..self.profile.len()).map(|stack| self.profile.counts(stack))
    }

    /// That counts are of samples, and become estimates by this interval.
    pub fn scale_by(&mut self, interval: SampleInterval) -> &mut Self {
        self.profile.scaled_by = Some(interval);
        self.sampled_by(interval)
    }

    /// That counts are estimates, of samples by this interval.
    pub fn sampled_by(&mut self, interval: SampleInterval) -> &mut Self {
        self.profile.sample_interval = Some(interval);
        self
    }

    /// What is counted.
    pub fn measures(&mut self, measures: &[Measure]) -> &mut Self {
        self.profile.measures = measures.to_vec();
        self
    }

    /// A mapping of the process.
    pub fn mapping(&mut self, mapping: MappedObject) -> &mut Self {
        self.profile.mappings.push(mapping);
        self
    }

    /// What a reader should know, once.
    pub fn note(&mut self, note: String) -> &mut Self {
        if !self.profile.notes.contains(&note) {
            self.profile.notes.push(note);
        }
        self
    }

    /// Gives the locations of addresses their names.
    ///
    /// # Errors
    ///
    /// As [`Profile::name`].
    pub fn name(&mut self, frames: impl Fn(Avma) -> Vec<SourceFrame>) -> Result<(), TooManyFrames> {
        self.profile.name(frames)
    }

    /// The finished profile.
    pub fn build(self) -> Profile {
        self.profile
    }
}

impl LocationId {
    fn of(place: usize) -> Result<LocationId, TooManyLocations> {
        match u32::try_from(place) {
            Ok(place) if place < u32::MAX => Ok(LocationId(place)),
            _ => Err(TooManyLocations),
        }
    }
}
