//! Writes pprof's profile.proto, compressed with gzip, as `go tool pprof`, Speedscope and
//! Pyroscope read it.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::merged::Merged;
use crate::profile::{Location, LocationId, MappedObject, Measure, Profile, Values};
use crate::view::View;

/// Writes a profile, or the growth from an earlier profile to a later one.
///
/// The view decides which stacks are written and which of their frames are hidden. Apart from
/// that, everything recorded is written, without shortened names or cut stacks: locations with
/// addresses, inlined functions, lines, and the mappings with their build IDs.
///
/// There are always four sample types, in Go's order, because readers recognise a heap profile
/// by them. If the profile does not count one of them, its values are zeros, and a comment
/// says so.
///
/// Values are integers. Each value is rounded to the nearest. Truncation would lose half an
/// object for each stack, and half of all objects if each stack has one or two. If the two
/// profiles are swapped, values only change their sign. A sum of `n` stacks is off by at most
/// `n / 2`.
///
/// `comments` are shown above the profile. It has no time, so that equal profiles make equal
/// bytes.
///
/// Stacks of two profiles are equal if their locations are: equal functions and lines at equal
/// places in equal mappings, whatever the addresses of the mappings. Stacks that did not
/// change are left out. Values may be negative, as with pprof's own `-diff_base`.
///
/// # Errors
///
/// If `out` cannot be written to.
pub fn pprof(
    out: impl Write,
    before: Option<&View<'_>>,
    after: &View<'_>,
    comments: &[&str],
) -> io::Result<()> {
    // The values decide, not what the profile claims to count, so that a profile that is read
    // back is written the same way.
    let is_counted = |measure: &Measure| {
        let profiles = before.into_iter().chain([after]).map(View::profile);
        let mut values = profiles.flat_map(|profile| {
            let stacks = profile.stacks();
            stacks.map(|(_, counts)| profile.values(counts))
        });
        values.any(|values| values.get(*measure) != 0.0)
    };
    let missing: Vec<&str> = Measure::ALL
        .iter()
        .filter(|measure| !is_counted(measure))
        .map(|measure| measure.name())
        .collect();
    let comment = format!("nothing was counted in {}", missing.join(", "));

    let mut tables = Tables::default();
    // Comments are only for people. Their strings come first in the string table, so a file
    // that was cut short lacks strings that a program needs.
    let comments: Vec<u64> = comments
        .iter()
        .copied()
        .chain((!missing.is_empty()).then_some(comment.as_str()))
        .map(|comment| place(&mut tables.strings, comment))
        .collect();
    // pprof takes the first mapping for the program, so the mappings of the later profile come
    // first.
    let mut later = Side::of(after, &mut tables, &mut Known::default());
    let mut known = tables.known();
    let mut earlier = before.map(|view| Side::of(view, &mut tables, &mut known));
    let mut out = Packed::new(out);
    let mut message = Message::default();
    for measure in Measure::ALL {
        message.value_type(measure.name(), measure.unit(), &mut tables.strings);
        out.message(field::SAMPLE_TYPE, &mut message);
    }
    later.number(&mut tables);
    if let Some(earlier) = &mut earlier {
        earlier.number(&mut tables);
    }
    let mut sample = |side: &Side<'_, '_>, stack: usize, values: &[i64]| {
        message.packed(1, side.stack(stack).map(u64::from));
        message.packed(2, values.iter().map(|value| value.cast_unsigned()));
        out.message(field::SAMPLE, &mut message);
    };
    match &earlier {
        None => {
            for stack in later.stacks() {
                let values = after.values(stack);
                let values = rounded(|measure| values.get(measure));
                sample(&later, stack, &values);
            }
        }
        Some(earlier) => {
            let of_later = after.profile().len();
            let place = |added: usize| match added.checked_sub(of_later) {
                Some(stack) => (earlier, stack),
                None => (&later, added),
            };
            let mut merged = Merged::default();
            let earlier_stacks = earlier.stacks().map(|at| of_later + at);
            for added in later.stacks().chain(earlier_stacks) {
                merged.add(added, |added| {
                    let (side, stack) = place(added);
                    side.stack(stack)
                });
            }
            for stack in 0..merged.len() {
                let mut sums = [Values::default(), Values::default()];
                for added in merged.added(stack) {
                    let (side, stack) = place(added);
                    sums[usize::from(added < of_later)] += side.view.values(stack);
                }
                let [before, after] = sums;
                let gains = rounded(|measure| after.get(measure) - before.get(measure));
                if gains.iter().any(|gain| *gain != 0) {
                    let (side, stack) = place(merged.first(stack));
                    sample(side, stack, &gains);
                }
            }
        }
    }
    let interval = |view: &View<'_>| view.profile().sample_interval;
    let same = before.is_none_or(|before| interval(before) == interval(after));
    let period = interval(after).filter(|_| same);
    tables.write(&mut out);

    let strings = &mut tables.strings;
    message.value_type("space", "bytes", strings);
    out.message(field::PERIOD_TYPE, &mut message);
    let mut last = Message::default();
    last.number(field::PERIOD, period.map_or(0, |interval| interval.bytes()));
    for comment in &comments {
        last.number(field::COMMENT, *comment);
    }
    let place = place(strings, Measure::InuseSpace.name());
    last.number(field::DEFAULT_SAMPLE_TYPE, place);
    out.write(&last.0);
    for string in [""].iter().chain(&*strings) {
        out.bytes(field::STRING_TABLE, string.as_bytes());
    }
    out.finish()
}

/// The fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const MAPPING: u64 = 3;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const PERIOD_TYPE: u64 = 11;
    pub(super) const PERIOD: u64 = 12;
    pub(super) const COMMENT: u64 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the largest there is, above that"
)]
fn rounded(value: impl Fn(Measure) -> f64) -> [i64; 4] {
    Measure::ALL.map(|measure| value(measure).round() as i64)
}

/// The tables that samples refer to, each entry once.
#[derive(Default)]
struct Tables<'a> {
    strings: Strings<'a>,
    mappings: Vec<Mapping<'a>>,
    /// The functions, as indices of name and file in the string table. Ids begin at 1.
    functions: IndexSet<(u64, u64), RandomState>,
    /// Ids begin at 1.
    locations: IndexSet<Place, RandomState>,
}

/// The string table, without the empty string that is its first.
type Strings<'a> = IndexSet<&'a str, RandomState>;

/// Returns the place of a string in the string table, and adds it if it is new.
fn place<'a>(strings: &mut Strings<'a>, string: &'a str) -> u64 {
    match string {
        "" => 0,
        _ => strings.insert_full(string).0 as u64 + 1,
    }
}

/// A location as it is written.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    /// The id of its mapping; 0 for none.
    mapping: u64,
    /// An address within the call; 0 for none.
    address: u64,
    /// The id of each function, and its line.
    lines: Box<[(u64, u32)]>,
}

/// A mapping, and what is known about the locations in it.
struct Mapping<'a> {
    object: &'a MappedObject,
    /// Whether all its locations have names. pprof looks up no names in such a mapping.
    has_functions: bool,
    has_files: bool,
    has_lines: bool,
    has_inlined: bool,
}

/// The key by which mappings of two processes are equal: the file's build ID or name, the
/// offset in the file, and the size. Mappings without a file are equal if they begin at the
/// same address and have the same size.
type Part<'a> = (&'a str, u64, u64);

/// The indices of mappings, by key. If a file was mapped repeatedly, there are several, in
/// reverse order.
type Known<'a> = HashMap<Part<'a>, Vec<usize>, RandomState>;

impl<'a> Tables<'a> {
    fn known(&self) -> Known<'a> {
        let mut known = Known::default();
        for (place, mapping) in self.mappings.iter().enumerate().rev() {
            known.entry(part(mapping.object)).or_default().push(place);
        }
        known
    }

    fn write(&mut self, out: &mut Packed<impl Write>) {
        let mut message = Message::default();
        for (id, mapping) in (1..).zip(&self.mappings) {
            let object = mapping.object;
            message.number(1, id);
            message.number(2, object.start);
            message.number(3, object.end);
            message.number(4, object.file_offset);
            message.number(5, place(&mut self.strings, &object.path));
            let build_id = object.build_id.as_deref().unwrap_or("");
            message.number(6, place(&mut self.strings, build_id));
            // If a location has no name, none of the four flags is set, so that other tools
            // look up names.
            let known = mapping.has_functions;
            message.number(7, known.into());
            message.number(8, (known && mapping.has_files).into());
            message.number(9, (known && mapping.has_lines).into());
            message.number(10, (known && mapping.has_inlined).into());
            out.message(field::MAPPING, &mut message);
        }
        let mut line = Message::default();
        for (id, place) in (1..).zip(&self.locations) {
            message.number(1, id);
            message.number(2, place.mapping);
            message.number(3, place.address);
            for (function, number) in &place.lines {
                line.number(1, *function);
                line.number(2, u64::from(*number));
                message.message(4, &mut line);
            }
            out.message(field::LOCATION, &mut message);
        }
        for (id, (name, file)) in (1..).zip(&self.functions) {
            message.number(1, id);
            message.number(2, *name);
            // There is no `system_name`. If it equals the name, pprof takes the name for C++
            // and shortens it, so that `<T as Trait>::f` becomes `::f`.
            message.number(4, *file);
            out.message(field::FUNCTION, &mut message);
        }
    }
}

fn part(mapping: &MappedObject) -> Part<'_> {
    let size = mapping.end.wrapping_sub(mapping.start);
    match mapping.build_id.as_deref().unwrap_or(&mapping.path) {
        "" => ("", mapping.start, size),
        file => (file, mapping.file_offset, size),
    }
}

/// One of the two profiles.
struct Side<'v, 'a> {
    view: &'v View<'a>,
    /// For each location that a wanted stack contains, the index of its mapping in this
    /// profile, if it has one.
    of_location: Vec<Option<Option<usize>>>,
    /// For each mapping of this profile, its index among the written mappings, if it is
    /// written.
    written: Vec<Option<usize>>,
    /// The id of every location. Empty until [`Side::number`] assigns them.
    ids: Vec<u32>,
}

/// The id of a hidden location. Real ids begin at 1.
const HIDDEN: u32 = 0;

impl<'v, 'a> Side<'v, 'a> {
    /// Prepares a profile. Adds its mappings to `tables`, except those that `known` contains.
    fn of(view: &'v View<'a>, tables: &mut Tables<'a>, known: &mut Known<'a>) -> Self {
        let profile = view.profile();
        let ranges = Ranges::of(profile);
        let mapping = |location: &Location| {
            let said = location.mapping.filter(|at| *at < profile.mappings.len());
            said.or_else(|| ranges.at(call(location)?))
        };
        let mut of_location = vec![None; profile.locations.len()];
        for (stack, _) in profile.stacks().filter(|(stack, _)| view.wants(stack)) {
            for id in stack {
                of_location[id.0 as usize].get_or_insert_with(|| mapping(profile.location(*id)));
            }
        }
        let mut used = vec![false; profile.mappings.len()];
        for mapping in of_location.iter().flatten().flatten() {
            used[*mapping] = true;
        }
        // Mappings without a location are left out. Most of them hold data.
        let mut write = |(object, used): (&'a MappedObject, bool)| {
            used.then(|| {
                let there = known.get_mut(&part(object)).and_then(Vec::pop);
                there.unwrap_or_else(|| {
                    tables.mappings.push(Mapping {
                        object,
                        has_functions: true,
                        has_files: false,
                        has_lines: false,
                        has_inlined: false,
                    });
                    tables.mappings.len() - 1
                })
            })
        };
        let mappings = profile.mappings.iter().zip(used);
        let written = mappings.map(&mut write).collect();
        Side {
            view,
            of_location,
            written,
            ids: Vec::new(),
        }
    }

    /// Assigns ids to the locations of all wanted stacks.
    fn number(&mut self, tables: &mut Tables<'a>) {
        let profile = self.view.profile();
        let mut ids = vec![None; profile.locations.len()];
        for (locations, _) in profile.stacks().filter(|(stack, _)| self.view.wants(stack)) {
            for id in locations {
                let known = &mut ids[id.0 as usize];
                known.get_or_insert_with(|| self.location(*id, tables).unwrap_or(HIDDEN));
            }
        }
        let ids = ids.into_iter().map(|id| id.unwrap_or(HIDDEN));
        self.ids = ids.collect();
    }

    /// Returns the indices of all stacks that are wanted and not hidden completely.
    fn stacks(&self) -> impl Iterator<Item = usize> {
        let stacks = self.view.profile().stacks().enumerate();
        let shown = stacks.filter(|(number, (stack, _))| {
            let is_hidden = || !stack.is_empty() && self.stack(*number).next().is_none();
            self.view.wants(stack) && !is_hidden()
        });
        shown.map(|(number, _)| number)
    }

    /// Returns the location ids of a stack, leaf first.
    fn stack(&self, stack: usize) -> impl Iterator<Item = u32> {
        let locations = self.view.profile().stack(stack).iter();
        let ids = locations.map(|location| self.ids[location.0 as usize]);
        ids.filter(|id| *id != HIDDEN)
    }

    /// Adds a location to `tables` and returns its id. Returns `None` if it is hidden
    /// completely.
    fn location(&self, id: LocationId, tables: &mut Tables<'a>) -> Option<u32> {
        let location = self.view.profile().location(id);
        let mut lines = Vec::with_capacity(location.frames.len());
        for (number, frame) in location.frames.iter().enumerate() {
            if self.view.hides(id, number) {
                continue;
            }
            let name = place(&mut tables.strings, &frame.function);
            let file = place(&mut tables.strings, frame.file.as_deref().unwrap_or(""));
            let (function, _) = tables.functions.insert_full((name, file));
            lines.push((function as u64 + 1, frame.line.unwrap_or(0)));
        }
        if lines.is_empty() && self.view.hides(id, 0) {
            return None;
        }
        let mut address = call(location).unwrap_or(0);
        let mapping = self.of_location[id.0 as usize].flatten().and_then(|from| {
            let to = self.written[from]?;
            let start = self.view.profile().mappings[from].start;
            let mapping = &mut tables.mappings[to];
            if address != 0 {
                let moved = mapping.object.start.wrapping_sub(start);
                address = address.wrapping_add(moved);
            }
            mapping.has_functions &= !lines.is_empty();
            mapping.has_files |= location.frames.iter().any(|frame| frame.file.is_some());
            mapping.has_lines |= lines.iter().any(|(_, line)| *line > 0);
            mapping.has_inlined |= lines.len() > 1;
            Some(to as u64 + 1)
        });
        let (place, _) = tables.locations.insert_full(Place {
            mapping: mapping.unwrap_or(0),
            address,
            lines: lines.into(),
        });
        // Each of the two profiles has fewer than `u32::MAX` locations.
        Some(u32::try_from(place + 1).unwrap_or(u32::MAX))
    }
}

/// Returns the address that pprof uses, which lies within the call.
fn call(location: &Location) -> Option<u64> {
    location.address?.0.checked_sub(1)
}

/// Mappings by their addresses.
struct Ranges {
    /// The mappings by their first address: this address, the greatest end of it and all
    /// before it, and its index in the profile.
    sorted: Vec<(u64, u64, usize)>,
}

impl Ranges {
    fn of(profile: &Profile) -> Self {
        let ranges = profile.mappings.iter().enumerate();
        let mut sorted: Vec<(u64, u64, usize)> = ranges
            .map(|(place, mapping)| (mapping.start, mapping.end, place))
            .collect();
        sorted.sort_unstable();
        let mut greatest = 0;
        for (_, end, _) in &mut sorted {
            greatest = greatest.max(*end);
            *end = greatest;
        }
        Ranges { sorted }
    }

    /// Returns the mapping that contains an address. If several overlap, it is the one that
    /// begins first; so the result does not depend on which of the others are written.
    fn at(&self, address: u64) -> Option<usize> {
        let ended = self.sorted.partition_point(|(_, end, _)| *end <= address);
        let (start, _, place) = self.sorted.get(ended)?;
        (*start <= address).then_some(*place)
    }
}

/// A protobuf message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    /// Writes a number field. A field that is absent means 0, so 0 is not written.
    fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn packed(&mut self, field: u64, numbers: impl Iterator<Item = u64>) {
        let mut packed = Message::default();
        for number in numbers {
            packed.varint(number);
        }
        if !packed.0.is_empty() {
            self.message(field, &mut packed);
        }
    }

    /// Writes a message field, and empties `message`.
    fn message(&mut self, field: u64, message: &mut Message) {
        self.head(field, message.0.len());
        self.0.append(&mut message.0);
    }

    fn head(&mut self, field: u64, len: usize) {
        self.varint(field << 3 | 2);
        self.varint(len as u64);
    }

    fn value_type<'a>(&mut self, name: &'a str, unit: &'a str, strings: &mut Strings<'a>) {
        self.number(1, place(strings, name));
        self.number(2, place(strings, unit));
    }
}

/// The compressed output. The gzip header has no file name and no time, so that equal profiles
/// make equal bytes.
struct Packed<W: Write> {
    gzip: GzEncoder<W>,
    /// The first error. Nothing is written after it.
    written: io::Result<()>,
}

impl<W: Write> Packed<W> {
    fn new(out: W) -> Self {
        Packed {
            gzip: GzEncoder::new(out, Compression::new(LEVEL)),
            written: Ok(()),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.written.is_ok() {
            self.written = self.gzip.write_all(bytes);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        let mut head = Message::default();
        head.head(field, bytes.len());
        self.write(&head.0);
        self.write(bytes);
    }

    /// Writes a message field, and empties `message`.
    fn message(&mut self, field: u64, message: &mut Message) {
        self.bytes(field, &message.0);
        message.0.clear();
    }

    fn finish(self) -> io::Result<()> {
        self.written?;
        self.gzip.finish()?.flush()
    }
}

/// The gzip level. Level 6 takes half as long again and saves only a fiftieth.
const LEVEL: u32 = 3;
