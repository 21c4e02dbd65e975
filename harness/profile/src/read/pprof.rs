//! Reads pprof's profile.proto, after decompression.
//!
//! ```text
//! Profile ─┬─ sample_type    what a sample's values are: inuse_space in bytes
//!          ├─ sample ─────── location ids, leaf first, and values
//!          ├─ location ┬──── an address, in a mapping
//!          │           └──── lines: functions that were inlined, leaf first
//!          ├─ mapping        of a file, with its build ID
//!          ├─ function       a name, a file
//!          └─ string_table   all text; the others have places in it
//! ```
//!
//! Tables may come after the records that refer to them, as in Go's profiles. So the reader
//! keeps the whole profile in memory, and walks it four times: for the strings, for the tables
//! that refer to strings, for the locations, and for the samples. Before that, it checks each
//! field as it comes, so that other bytes are refused early.
//!
//! The result takes about twice as much memory again. Of a hostile profile it may take twenty
//! times as much, but no more than the limit: a line of four bytes may name a function with a
//! name of a megabyte, so lines have a limit of their own.
//!
//! Labels, comments, times and the frames that pprof would drop are not read.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read};

use foldhash::fast::RandomState;
use plimsoll_core::dump::{MAX_FRAMES, SampleInterval};
use plimsoll_core::{Avma, Counts, SourceFrame, Tally};

use super::{Limits, ReadError};
use crate::Profile;
use crate::profile::{
    Location, LocationId, MAX_FUNCTIONS, MappedObject, Measure, ProfileBuilder, Values,
};
use wire::{Field, Message};

mod wire;

/// The memory that lines and mappings, with the names that they repeat, may take for each byte
/// of the profile. In the profile of a large program, with names of two hundred bytes, they
/// take seven.
const NAMED_RATIO: usize = 12;
/// The memory, in bytes, that lines and mappings may take in any profile, in addition.
const ANY_NAMED: usize = 64 << 20;
/// The largest field of a profile. A sample of 65,536 locations has half a megabyte.
const MAX_FIELD: usize = 16 << 20;
/// How many bytes are read at once.
const PIECE: u64 = 64 << 10;
/// How many sample types an error or a note lists at most.
const LISTED: usize = 8;

/// The names that profilers give to the four measures. Of several sample types with the same
/// measure, the first counts.
const SAMPLE_TYPES: [(&str, Measure); 16] = [
    // Go, jemalloc_pprof, and pprof when it converts text. Datadog writes hyphens.
    ("alloc_objects", Measure::AllocObjects),
    ("alloc_space", Measure::AllocSpace),
    ("inuse_objects", Measure::InuseObjects),
    ("inuse_space", Measure::InuseSpace),
    // tcmalloc and V8, and pprof when it converts text that counts only live objects.
    ("objects", Measure::InuseObjects),
    ("space", Measure::InuseSpace),
    // tcmalloc, for the time between two points.
    ("allocated_objects", Measure::AllocObjects),
    ("allocated_space", Measure::AllocSpace),
    // Datadog.
    ("alloc_samples", Measure::AllocObjects),
    ("alloc_size", Measure::AllocSpace),
    ("heap_live_samples", Measure::InuseObjects),
    ("heap_live_size", Measure::InuseSpace),
    // heapprofd, of Android and Perfetto.
    ("Total malloc count", Measure::AllocObjects),
    ("Total malloc size", Measure::AllocSpace),
    ("Unreleased malloc count", Measure::InuseObjects),
    ("Unreleased malloc size", Measure::InuseSpace),
];

/// Why bytes cannot be read as a heap profile in pprof's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PprofError {
    /// They are not valid protobuf of this kind, or contradict themselves.
    #[error("pprof's protobuf, byte {offset}, {field}: expected {expected}, found {found}")]
    Malformed {
        /// The offset, counted from the first byte after decompression.
        offset: usize,
        /// The message or field, as profile.proto calls it.
        field: &'static str,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// They are a profile, but not of a heap. These are its sample types.
    #[error(
        "expected the sample types of a heap profile (`inuse_space` in bytes, `inuse_objects`, \
         `alloc_space`, `alloc_objects`, or other profilers' names of them), found {}",
        if .0.is_empty() { "none".to_owned() } else { .0.join(", ") }
    )]
    NoHeap(Vec<String>),
    /// They take more than this many bytes of memory.
    #[error("expected a profile that takes at most {0} bytes of memory, found more")]
    Memory(u64),
}

impl PprofError {
    fn malformed(
        offset: usize,
        field: &'static str,
        expected: &'static str,
        found: impl Into<String>,
    ) -> PprofError {
        PprofError::Malformed {
            offset,
            field,
            expected,
            found: found.into(),
        }
    }
}

pub(super) fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Profile, ReadError> {
    let bytes = whole(input, limits)?;
    let mut room = Room::of(bytes.len(), limits)?;
    let profile = Message::at(&bytes, 0);
    let strings = Strings::read(profile, &mut room)?;
    let tables = Tables::read(profile, &strings, &mut room)?;
    let columns = Columns::of(&tables.sample_types)?;

    let mut builder = ProfileBuilder::new(&columns.measures());
    builder.profile.sample_interval = tables.sample_interval();
    if !columns.others.is_empty() {
        let note = format!(
            "sample types that are not read: {}",
            columns.others.join(", ")
        );
        builder.profile.notes.push(note);
    }
    for mapping in &tables.mappings {
        builder.mapping(mapping.object(&mut room)?);
    }
    let locations = locations(profile, &tables, &mut room, &mut builder)?;
    samples(profile, &columns, &locations, &mut room, &mut builder)?;
    let mut profile = builder.profile;
    // Profilers that count only live objects also write Go's four sample types.
    let counts = |tally: fn(Counts) -> Tally| {
        let mut stacks = profile.stacks();
        stacks.any(|(_, counts)| tally(counts) != Tally::default())
    };
    if counts(|counts| counts.inuse) && !counts(|counts| counts.alloc) {
        let live = &Measure::ALL[2..];
        profile.measures.retain(|measure| live.contains(measure));
    }
    profile.check()?;
    Ok(profile)
}

/// Reads the bytes of a profile, up to the first field that is none.
fn whole(input: &mut dyn BufRead, limits: Limits) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    // The offset of the first field that was not checked.
    let mut next = 0;
    // What each field takes in the tables, at least.
    let mut tables = 0;
    loop {
        let read = (&mut *input).take(PIECE).read_to_end(&mut bytes)?;
        while let Some(rest) = bytes.get(next..) {
            let Some((offset, len)) = Message::at(rest, next).start()? else {
                break;
            };
            tables += size_of::<&[u8]>();
            let is_few = usize::try_from(len).ok().filter(|len| *len <= MAX_FIELD);
            next = offset
                + is_few.ok_or_else(|| {
                    let expected = "a field of at most 16 MiB";
                    PprofError::malformed(offset, "Profile", expected, format!("{len} bytes"))
                })?;
        }
        limits.check(bytes.len() + tables)?;
        if read == 0 {
            return Ok(bytes);
        }
    }
}

/// Calls `read` with every field of a message.
fn each<'a>(
    mut message: Message<'a>,
    mut read: impl FnMut(Field<'a>) -> Result<(), PprofError>,
) -> Result<(), PprofError> {
    while let Some(field) = message.field()? {
        read(field)?;
    }
    Ok(())
}

/// The string table.
struct Strings<'a>(Vec<&'a [u8]>);

impl<'a> Strings<'a> {
    fn read(profile: Message<'a>, room: &mut Room) -> Result<Self, PprofError> {
        const NAME: &str = "Profile.string_table";
        let mut strings = Vec::new();
        each(profile, |field| {
            if field.number == 6 {
                let string = field.bytes(NAME)?;
                // A field that is left out refers to the first string.
                if strings.is_empty() && !string.is_empty() {
                    let found = format!("{} bytes", string.len());
                    return Err(field.malformed(NAME, "an empty string first", found));
                }
                room.store::<&[u8]>(1)?;
                strings.push(string);
            }
            Ok(())
        })?;
        Ok(Strings(strings))
    }

    /// Returns the string whose index is the value of a field.
    fn at(&self, field: &Field<'_>, name: &'static str) -> Result<&'a [u8], PprofError> {
        let place = field.varint(name)?;
        let string = usize::try_from(place).ok().and_then(|at| self.0.get(at));
        string.copied().ok_or_else(|| {
            let found = format!("{place} of {}", self.0.len());
            field.malformed(name, "a place in the string table", found)
        })
    }
}

/// The type and unit of a sample's value.
#[derive(Clone, Copy, Debug, Default)]
struct ValueType<'a> {
    name: &'a [u8],
    unit: &'a [u8],
}

impl<'a> ValueType<'a> {
    fn read(
        field: &Field<'a>,
        name: &'static str,
        strings: &Strings<'a>,
    ) -> Result<Self, PprofError> {
        let mut value = ValueType::default();
        each(field.message(name)?, |field| {
            match field.number {
                1 => value.name = strings.at(&field, "ValueType.type")?,
                2 => value.unit = strings.at(&field, "ValueType.unit")?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(value)
    }

    fn measure(&self) -> Option<Measure> {
        let name = String::from_utf8_lossy(self.name).replace('-', "_");
        let known = SAMPLE_TYPES.iter().find(|(known, _)| *known == name);
        let (_, measure) = known?;
        (self.unit == measure.unit().as_bytes()).then_some(*measure)
    }
}

impl fmt::Display for ValueType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = (super::quoted(self.name), super::quoted(self.unit));
        write!(f, "{name} in {unit}")
    }
}

/// The parts of a function that frames need.
#[derive(Clone, Copy, Debug, Default)]
struct Function<'a> {
    name: &'a [u8],
    file: &'a [u8],
}

/// A mapping, with its strings as they are in the profile.
#[derive(Clone, Copy, Debug, Default)]
struct Mapping<'a> {
    offset: usize,
    start: u64,
    end: u64,
    file_offset: u64,
    file: &'a [u8],
    build_id: &'a [u8],
}

impl Mapping<'_> {
    fn object(&self, room: &mut Room) -> Result<MappedObject, PprofError> {
        room.take::<MappedObject>(self.file.len() + self.build_id.len(), self.offset)?;
        let path = String::from_utf8_lossy(self.file);
        let (path, deleted) = match path.strip_suffix(" (deleted)") {
            Some(path) => (path, true),
            None => (&*path, false),
        };
        // Some build IDs do not come from an ELF note: Go's linker, for example, has
        // identifiers of its own.
        let is_hex = !self.build_id.is_empty() && self.build_id.iter().all(u8::is_ascii_hexdigit);
        let build_id = is_hex.then(|| String::from_utf8_lossy(self.build_id).to_lowercase());
        Ok(MappedObject {
            start: self.start,
            end: self.end,
            file_offset: self.file_offset,
            path: path.to_owned(),
            deleted,
            build_id,
            // Profiles do not list mappings that are not executable.
            executable: true,
            inode: None,
        })
    }
}

/// Budgets of memory.
struct Room {
    /// The bytes that are left for lines and mappings.
    named: usize,
    /// The bytes that are left for everything.
    all: u64,
    limits: Limits,
}

impl Room {
    /// Returns the budgets of a profile with so many bytes.
    fn of(bytes: usize, limits: Limits) -> Result<Self, PprofError> {
        let mut room = Room {
            named: bytes.saturating_mul(NAMED_RATIO).saturating_add(ANY_NAMED),
            all: limits.bytes,
            limits,
        };
        room.store::<u8>(bytes)?;
        Ok(room)
    }

    /// Takes the memory of so many items.
    fn store<T>(&mut self, items: usize) -> Result<(), PprofError> {
        let left = self.all.checked_sub((items * size_of::<T>()) as u64);
        self.all = left.ok_or(PprofError::Memory(self.limits.bytes))?;
        Ok(())
    }

    /// Takes the memory of a `T`, and of names with this many bytes together.
    fn take<T>(&mut self, names: usize, offset: usize) -> Result<(), PprofError> {
        self.store::<T>(1)?;
        self.store::<u8>(names)?;
        let left = self.named.checked_sub(size_of::<T>() + names);
        self.named = left.ok_or_else(|| {
            let expected =
                "lines and mappings that take at most twelve times as much as the profile";
            PprofError::malformed(offset, "Profile", expected, "more")
        })?;
        Ok(())
    }
}

/// The tables that locations and samples refer to.
#[derive(Default)]
struct Tables<'a> {
    sample_types: Vec<ValueType<'a>>,
    functions: Vec<Function<'a>>,
    function_ids: Ids,
    mappings: Vec<Mapping<'a>>,
    mapping_ids: Ids,
    period: u64,
    period_type: ValueType<'a>,
}

impl<'a> Tables<'a> {
    fn read(
        profile: Message<'a>,
        strings: &Strings<'a>,
        room: &mut Room,
    ) -> Result<Self, PprofError> {
        let mut tables = Tables::default();
        each(profile, |field| {
            match field.number {
                1 => {
                    room.store::<ValueType<'_>>(1)?;
                    let read = ValueType::read(&field, "Profile.sample_type", strings)?;
                    tables.sample_types.push(read);
                }
                3 => {
                    room.store::<(Mapping<'_>, Id)>(1)?;
                    tables.mapping(&field, strings)?;
                }
                5 => {
                    room.store::<(Function<'_>, Id)>(1)?;
                    tables.function(&field, strings)?;
                }
                11 => {
                    tables.period_type = ValueType::read(&field, "Profile.period_type", strings)?;
                }
                12 => tables.period = field.varint("Profile.period")?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(tables)
    }

    fn mapping(&mut self, field: &Field<'a>, strings: &Strings<'a>) -> Result<(), PprofError> {
        let mut id = 0;
        let mut mapping = Mapping {
            offset: field.offset,
            ..Mapping::default()
        };
        each(field.message("Profile.mapping")?, |field| {
            match field.number {
                1 => id = field.varint("Mapping.id")?,
                2 => mapping.start = field.varint("Mapping.memory_start")?,
                3 => mapping.end = field.varint("Mapping.memory_limit")?,
                4 => mapping.file_offset = field.varint("Mapping.file_offset")?,
                5 => mapping.file = strings.at(&field, "Mapping.filename")?,
                6 => mapping.build_id = strings.at(&field, "Mapping.build_id")?,
                _ => {}
            }
            Ok(())
        })?;
        self.mapping_ids.add(id, field.offset, "Mapping.id")?;
        self.mappings.push(mapping);
        Ok(())
    }

    fn function(&mut self, field: &Field<'a>, strings: &Strings<'a>) -> Result<(), PprofError> {
        let mut id = 0;
        let mut function = Function::default();
        let mut system_name: &[u8] = &[];
        each(field.message("Profile.function")?, |field| {
            match field.number {
                1 => id = field.varint("Function.id")?,
                2 => function.name = strings.at(&field, "Function.name")?,
                3 => system_name = strings.at(&field, "Function.system_name")?,
                4 => function.file = strings.at(&field, "Function.filename")?,
                _ => {}
            }
            Ok(())
        })?;
        if function.name.is_empty() {
            function.name = system_name;
        }
        self.function_ids.add(id, field.offset, "Function.id")?;
        self.functions.push(function);
        Ok(())
    }

    fn sample_interval(&self) -> Option<SampleInterval> {
        let is_bytes = self.period_type.unit == b"bytes" && self.period.cast_signed() > 0;
        SampleInterval::new(self.period).filter(|_| is_bytes)
    }
}

/// The indices of the entries of a table, by their ids. In most profiles ids count from 1, so
/// the index is the id minus 1. Some profilers use addresses as ids.
#[derive(Default)]
struct Ids {
    ids: Vec<u64>,
    /// The indices of ids that are not their index plus 1.
    others: HashMap<u64, usize, RandomState>,
}

/// What an id takes in [`Ids`], if it is not its index plus 1: there, and twice in the map, which
/// is half empty.
type Id = [u64; 5];

impl Ids {
    fn add(&mut self, id: u64, offset: usize, name: &'static str) -> Result<(), PprofError> {
        let otherwise =
            |found| PprofError::malformed(offset, name, "an id that is not zero, once", found);
        if id == 0 {
            return Err(otherwise("none".to_owned()));
        }
        if self.get(id).is_some() {
            return Err(otherwise(format!("{id} again")));
        }
        let place = self.ids.len();
        if place as u64 + 1 != id {
            self.others.insert(id, place);
        }
        self.ids.push(id);
        Ok(())
    }

    fn get(&self, id: u64) -> Option<usize> {
        let place = usize::try_from(id.checked_sub(1)?).ok()?;
        match self.ids.get(place) {
            Some(there) if *there == id => Some(place),
            _ => self.others.get(&id).copied(),
        }
    }

    /// Returns the index of the entry that a field refers to.
    fn find(&self, id: u64, offset: usize, name: &'static str) -> Result<usize, PprofError> {
        self.get(id).ok_or_else(|| {
            let expected = "the id of something in the profile";
            PprofError::malformed(offset, name, expected, id.to_string())
        })
    }
}

/// Which value of a sample belongs to which measure.
struct Columns {
    places: [Option<usize>; Measure::ALL.len()],
    /// The number of values of a sample.
    len: usize,
    /// The sample types that are not read.
    others: Vec<String>,
}

impl Columns {
    fn of(sample_types: &[ValueType<'_>]) -> Result<Self, PprofError> {
        let mut columns = Columns {
            places: [None; Measure::ALL.len()],
            len: sample_types.len(),
            others: Vec::new(),
        };
        for (place, value) in sample_types.iter().enumerate() {
            match value.measure() {
                Some(measure) if columns.places[measure as usize].is_none() => {
                    columns.places[measure as usize] = Some(place);
                }
                _ if columns.others.len() < LISTED => columns.others.push(value.to_string()),
                _ => {}
            }
        }
        if columns.measures().is_empty() {
            return Err(PprofError::NoHeap(columns.others));
        }
        Ok(columns)
    }

    fn measures(&self) -> Vec<Measure> {
        let mut measures = Measure::ALL.to_vec();
        measures.retain(|measure| self.places[*measure as usize].is_some());
        measures
    }

    fn counts(&self, values: &[u64]) -> Counts {
        let value = |measure| self.places[measure as usize].map_or(0, |place| values[place]);
        Counts {
            inuse: Tally {
                objects: value(Measure::InuseObjects),
                bytes: value(Measure::InuseSpace),
            },
            alloc: Tally {
                objects: value(Measure::AllocObjects),
                bytes: value(Measure::AllocSpace),
            },
        }
    }
}

/// The locations, by the indices of their ids.
struct Locations {
    ids: Ids,
    locations: Vec<LocationId>,
}

fn locations(
    profile: Message<'_>,
    tables: &Tables<'_>,
    room: &mut Room,
    builder: &mut ProfileBuilder,
) -> Result<Locations, ReadError> {
    let mut read = Locations {
        ids: Ids::default(),
        locations: Vec::new(),
    };
    let mut profile = profile;
    while let Some(field) = profile.field()? {
        if field.number != 4 {
            continue;
        }
        let mut id = 0;
        let mut location = Location::default();
        each(field.message("Profile.location")?, |field| {
            match field.number {
                1 => id = field.varint("Location.id")?,
                2 => location.mapping = mapping(&field, tables)?,
                3 => location.address = return_address(field.varint("Location.address")?),
                4 if location.frames.len() == MAX_FUNCTIONS => {
                    let expected = "at most 1001 lines in a location";
                    return Err(field.malformed("Location.line", expected, "more"));
                }
                4 => location.frames.extend(frame(&field, tables, room)?),
                _ => {}
            }
            Ok(())
        })?;
        room.store::<(Location, LocationId, Id)>(1)?;
        read.ids.add(id, field.offset, "Location.id")?;
        read.locations.push(builder.push(location)?);
    }
    Ok(read)
}

fn mapping(field: &Field<'_>, tables: &Tables<'_>) -> Result<Option<usize>, PprofError> {
    const NAME: &str = "Location.mapping_id";
    match field.varint(NAME)? {
        0 => Ok(None),
        id => tables.mapping_ids.find(id, field.offset, NAME).map(Some),
    }
}

/// Returns the return address of a call.
///
/// In pprof's format, a location's address lies within the call: Go, tcmalloc, jemalloc_pprof
/// and pprof's own converters subtract one from each return address, and pprof looks up the
/// result as it is. [`Location::address`] is a return address, from which one is subtracted at
/// the lookup, so this function adds one. pprof does not subtract one from the leaf of a
/// converted text profile; adding one here makes the lookup hit the same address as pprof's.
fn return_address(call: u64) -> Option<Avma> {
    (call != 0).then(|| Avma(call.saturating_add(1)))
}

/// Reads a line of a location. Returns `None` if its function has no name.
fn frame(
    field: &Field<'_>,
    tables: &Tables<'_>,
    room: &mut Room,
) -> Result<Option<SourceFrame>, PprofError> {
    const NAME: &str = "Line.function_id";
    let mut function = Function::default();
    let mut line = 0;
    each(field.message("Location.line")?, |field| {
        match field.number {
            1 => {
                let id = field.varint(NAME)?;
                let place = tables.function_ids.find(id, field.offset, NAME)?;
                function = tables.functions[place];
            }
            2 => line = field.varint("Line.line")?,
            _ => {}
        }
        Ok(())
    })?;
    if function.name.is_empty() {
        return Ok(None);
    }
    room.take::<SourceFrame>(function.name.len() + function.file.len(), field.offset)?;
    let owned = |text| String::from_utf8_lossy(text).into_owned();
    Ok(Some(SourceFrame {
        function: owned(function.name),
        file: (!function.file.is_empty()).then(|| owned(function.file)),
        // An unknown line is 0 or -1.
        line: u32::try_from(line).ok().filter(|line| *line > 0),
        arguments: None,
    }))
}

fn samples(
    profile: Message<'_>,
    columns: &Columns,
    locations: &Locations,
    room: &mut Room,
    builder: &mut ProfileBuilder,
) -> Result<(), PprofError> {
    let mut stack = Vec::new();
    let mut values = Vec::new();
    each(profile, |field| {
        if field.number != 2 {
            return Ok(());
        }
        stack.clear();
        values.clear();
        each(field.message("Profile.sample")?, |field| {
            match field.number {
                1 => sample_locations(&field, locations, &mut stack)?,
                2 => sample_values(&field, columns, &mut values)?,
                _ => {}
            }
            Ok(())
        })?;
        if values.len() != columns.len {
            let found = format!("{} for {}", values.len(), columns.len);
            return Err(field.malformed("Sample.value", "one for each sample type", found));
        }
        room.store::<LocationId>(stack.len())?;
        room.store::<Values>(1)?;
        builder.stack(stack.iter().copied(), columns.counts(&values));
        Ok(())
    })
}

fn sample_locations(
    field: &Field<'_>,
    locations: &Locations,
    stack: &mut Vec<LocationId>,
) -> Result<(), PprofError> {
    const NAME: &str = "Sample.location_id";
    field.varints(NAME, |id, offset| {
        if stack.len() == MAX_FRAMES {
            let expected = "at most 65536 locations in a sample";
            return Err(PprofError::malformed(offset, NAME, expected, "more"));
        }
        let place = locations.ids.find(id, offset, NAME)?;
        stack.push(locations.locations[place]);
        Ok(())
    })
}

fn sample_values(
    field: &Field<'_>,
    columns: &Columns,
    values: &mut Vec<u64>,
) -> Result<(), PprofError> {
    const NAME: &str = "Sample.value";
    field.varints(NAME, |value, offset| {
        if values.len() == columns.len {
            let expected = "one for each sample type";
            return Err(PprofError::malformed(offset, NAME, expected, "more"));
        }
        let signed = value.cast_signed();
        if signed < 0 && columns.places.contains(&Some(values.len())) {
            let found = format!("{signed}: a difference of two profiles");
            return Err(PprofError::malformed(
                offset,
                NAME,
                "what a heap holds",
                found,
            ));
        }
        values.push(value);
        Ok(())
    })
}
