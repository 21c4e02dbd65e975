use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use plimsoll_core::dump::{Estimate, SampleInterval};
use plimsoll_core::{Avma, Counts, SourceFrame, Tally, to_f64};

/// A heap profile: stacks of locations, with the counts of each stack.
///
/// The representation is compact, for dumps of a million stacks: each location is stored once,
/// and a stack is a run of location numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The sample interval by which counts are scaled to estimates. Absent if the counts are
    /// estimates already, as in pprof's format.
    pub scaled_by: Option<SampleInterval>,
    /// The mean number of bytes between two samples, if the profile says it.
    pub sample_interval: Option<SampleInterval>,
    /// What the profile counts.
    pub measures: Vec<Measure>,
    /// All locations, in the order of their numbers.
    pub locations: Vec<Location>,
    /// The mappings of the process.
    pub mappings: Vec<MappedObject>,
    /// The locations of all stacks, one stack after the other, each leaf first.
    frames: Vec<LocationId>,
    stacks: Vec<Stack>,
    /// Everything that was ever allocated, by stack. Shorter than `stacks` if the last stacks
    /// have none.
    alloc: Vec<Tally>,
    /// What a reader of the profile should know, one sentence fragment each.
    pub notes: Vec<String>,
}

/// The most functions that one location may have: its own, and a thousand that were inlined
/// into one another there, as many as are looked up. Real locations have a few dozen at most.
/// A file that claims more is lying.
pub(crate) const MAX_FUNCTIONS: usize = 1_001;

/// The number of frames, over all stacks, that a profile of any size may have.
const ANY_FRAMES: usize = 2 << 20;

/// The additional frames allowed for each location on a stack. Programs that inline a lot have
/// two or three.
const FRAMES_OF_ONE: usize = 8;

/// The number of a location in its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub(crate) u32);

impl LocationId {
    /// Returns the index of the location in [`Profile::locations`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stack as it is stored. Its frames begin where those of the stack before it end.
#[derive(Clone, Debug, PartialEq)]
struct Stack {
    end: usize,
    inuse: Tally,
}

/// One place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The return address. Absent if the profile has only names.
    pub address: Option<Avma>,
    /// The index of the mapping in [`Profile::mappings`], if the profile says it. If absent,
    /// it is the mapping that contains the address.
    pub mapping: Option<usize>,
    /// The functions, leaf first. There are several if calls were inlined, and none before
    /// names are looked up.
    pub frames: Vec<SourceFrame>,
}

/// A file that was mapped into the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedObject {
    /// The first address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Offset in the file at which the mapping begins, in bytes.
    pub file_offset: u64,
    /// The path as the process saw it, without a trailing ` (deleted)`. A name in brackets if
    /// the mapping is of no file, and empty for anonymous memory.
    pub path: String,
    /// Whether the file was gone when the profile was written.
    pub deleted: bool,
    /// The file's build ID, in hexadecimal, if the profile has it.
    pub build_id: Option<String>,
    /// Whether the mapping is executable. The first executable file is the program.
    pub executable: bool,
    /// The file's inode, if the profile has it.
    pub inode: Option<u64>,
}

/// What a profile counts, by pprof's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// All objects that were ever allocated. jemalloc counts them with `prof_accum`.
    AllocObjects,
    /// The bytes of all objects that were ever allocated.
    AllocSpace,
    /// The live objects.
    InuseObjects,
    /// The bytes of the live objects.
    InuseSpace,
}

/// The estimates of one stack.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    /// The live objects and bytes.
    pub inuse: Estimate,
    /// All objects and bytes that were ever allocated.
    pub alloc: Estimate,
}

impl Measure {
    /// All measures, in the order in which Go writes them.
    pub const ALL: [Measure; 4] = [
        Measure::AllocObjects,
        Measure::AllocSpace,
        Measure::InuseObjects,
        Measure::InuseSpace,
    ];

    /// Tells whether the measure counts bytes, not objects.
    pub fn is_space(self) -> bool {
        matches!(self, Measure::AllocSpace | Measure::InuseSpace)
    }

    /// Returns pprof's name of the unit.
    pub(crate) fn unit(self) -> &'static str {
        if self.is_space() { "bytes" } else { "count" }
    }

    /// Returns pprof's name of the measure, such as `inuse_space`.
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
    /// Returns the value of one measure.
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
    /// Returns the number of stacks.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Tells whether the profile has no stacks.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Returns every stack in the file's order: its locations, leaf first, and its counts as
    /// printed.
    pub fn stacks(&self) -> impl ExactSizeIterator<Item = (&[LocationId], Counts)> + Clone {
        (0..self.len()).map(|stack| (self.stack(stack), self.counts(stack)))
    }

    /// Replaces the stacks by those that `of` makes of each: its locations and its counts.
    pub(crate) fn with_stacks(
        &mut self,
        stacks: impl IntoIterator<Item = usize>,
        of: impl Fn(&Profile, usize) -> (&[LocationId], Counts),
    ) {
        let mut builder = ProfileBuilder::default();
        for stack in stacks {
            let (frames, counts) = of(self, stack);
            builder.stack(frames.iter().copied(), counts);
        }
        let Profile {
            frames,
            stacks,
            alloc,
            ..
        } = builder.profile;
        (self.frames, self.stacks, self.alloc) = (frames, stacks, alloc);
    }

    pub(crate) fn counts(&self, stack: usize) -> Counts {
        Counts {
            inuse: self.stacks[stack].inuse,
            alloc: self.alloc.get(stack).copied().unwrap_or_default(),
        }
    }

    /// Returns the locations of a stack, leaf first. `stack` is its index.
    pub(crate) fn stack(&self, stack: usize) -> &[LocationId] {
        let before = stack.checked_sub(1);
        let start = before.map_or(0, |before| self.stacks[before].end);
        &self.frames[start..self.stacks[stack].end]
    }

    /// Scales counts to estimates. Counts of jemalloc are scaled by jeprof's formula, see
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

    /// Returns the estimates of a stack. `stack` is its index.
    pub(crate) fn values_of(&self, stack: usize) -> Values {
        self.values(self.counts(stack))
    }

    /// Returns the location with a number.
    pub fn location(&self, id: LocationId) -> &Location {
        &self.locations[id.0 as usize]
    }

    /// Sets the build IDs, in hexadecimal, of mappings that have none. `ids` has one item for
    /// each mapping, in the order of [`Profile::mappings`].
    pub fn identify(&mut self, ids: impl IntoIterator<Item = Option<String>>) {
        for (mapping, id) in self.mappings.iter_mut().zip(ids) {
            mapping.build_id = mapping.build_id.take().or(id);
        }
    }

    /// Sets the frames of each location that has an address and no frames yet.
    ///
    /// # Errors
    ///
    /// If all stacks then have too many frames together, inlined ones included.
    pub fn name(&mut self, frames: impl Fn(Avma) -> Vec<SourceFrame>) -> Result<(), TooManyFrames> {
        for location in &mut self.locations {
            if let (Some(address), true) = (location.address, location.frames.is_empty()) {
                location.frames = frames(address);
            }
        }
        self.check()
    }

    /// Checks that walking the frames of all stacks ends in reasonable time. One stack may
    /// name the same location 65,536 times, with a thousand frames each time.
    pub(crate) fn check(&self) -> Result<(), TooManyFrames> {
        let most = ANY_FRAMES.saturating_add(self.frames.len().saturating_mul(FRAMES_OF_ONE));
        let few = |location: &Location| location.frames.len() <= FRAMES_OF_ONE;
        if self.locations.iter().all(few) {
            return Ok(());
        }
        let frames = self.frames.iter().map(|id| self.location(*id).frames.len());
        let found = frames.fold(0, usize::saturating_add);
        match found <= most {
            true => Ok(()),
            false => Err(TooManyFrames { most, found }),
        }
    }
}

/// As jeprof has it, above 2^53 too.
fn as_printed(tally: Tally) -> Estimate {
    Estimate {
        objects: to_f64(tally.objects),
        bytes: to_f64(tally.bytes),
    }
}

/// Collects a [`Profile`].
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    /// The profile so far.
    pub profile: Profile,
    by_address: HashMap<Avma, LocationId, RandomState>,
    by_frames: HashMap<Vec<SourceFrame>, LocationId, RandomState>,
    /// The bytes of all names and paths, with what it takes to store them.
    texts: usize,
}

/// An error: the profile has more locations than there are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected fewer than 4,294,967,295 places in the program, found more")]
pub struct TooManyLocations;

/// An error: all stacks together have more frames, inlined ones included, than a profile of
/// this size can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected stacks with at most {most} frames in all, inlined ones included, found {found}")]
pub struct TooManyFrames {
    most: usize,
    found: usize,
}

/// Returns about how many bytes the frames of a location take. An allocator adds a header to each
/// text, and rounds its size up.
fn texts(frames: &[SourceFrame]) -> usize {
    let text =
        |frame: &SourceFrame| frame.function.len() + frame.file.as_ref().map_or(0, String::len);
    let of_allocator = 2 * 24 * frames.len();
    size_of_val(frames) + of_allocator + frames.iter().map(text).sum::<usize>()
}

impl ProfileBuilder {
    /// Creates a builder for a profile that counts `measures`.
    pub fn new(measures: &[Measure]) -> Self {
        let mut builder = ProfileBuilder::default();
        builder.profile.measures = measures.to_vec();
        builder
    }

    /// Returns the location of an address, and adds it if there is none.
    ///
    /// # Errors
    ///
    /// If there are too many locations.
    pub fn address(&mut self, address: Avma) -> Result<LocationId, TooManyLocations> {
        if let Some(known) = self.by_address.get(&address) {
            return Ok(*known);
        }
        let id = self.push(Location {
            address: Some(address),
            ..Location::default()
        })?;
        self.by_address.insert(address, id);
        Ok(id)
    }

    /// Returns the location that has these frames and no address, and adds it if there is
    /// none.
    ///
    /// # Errors
    ///
    /// If there are too many locations.
    pub fn frames(&mut self, frames: Vec<SourceFrame>) -> Result<LocationId, TooManyLocations> {
        if let Some(known) = self.by_frames.get(&frames) {
            return Ok(*known);
        }
        let id = self.push(Location {
            frames: frames.clone(),
            ..Location::default()
        })?;
        // The key has the same names once more.
        self.texts += texts(&frames) + size_of::<(Vec<SourceFrame>, LocationId)>();
        self.by_frames.insert(frames, id);
        Ok(id)
    }

    /// Adds a location, even if there is an equal one.
    ///
    /// # Errors
    ///
    /// If there are too many locations.
    pub fn push(&mut self, location: Location) -> Result<LocationId, TooManyLocations> {
        let id = match u32::try_from(self.profile.locations.len()) {
            Ok(place) if place < u32::MAX => LocationId(place),
            _ => return Err(TooManyLocations),
        };
        self.texts += texts(&location.frames);
        self.profile.locations.push(location);
        Ok(id)
    }

    /// Adds a mapping.
    pub(crate) fn mapping(&mut self, mapping: MappedObject) {
        self.texts += mapping.path.len() + mapping.build_id.as_ref().map_or(0, String::len);
        self.profile.mappings.push(mapping);
    }

    /// Returns about how many bytes of memory this takes.
    pub(crate) fn memory(&self) -> usize {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        let profile = &self.profile;
        // Entries of a map lie anywhere in it, so all of it is in memory, with a byte for each.
        let by_address = self.by_address.capacity() * (size_of::<(Avma, LocationId)>() + 1);
        let stacks = of(&profile.frames) + of(&profile.stacks) + of(&profile.alloc);
        stacks + of(&profile.locations) + of(&profile.mappings) + by_address + self.texts
    }

    /// Adds a stack: its locations, leaf first, and its counts as printed.
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
}
