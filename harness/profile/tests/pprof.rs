//! pprof's format, read and written: what is written is read by us and with Datadog's types.

use std::io::Read as _;

use flate2::read::GzDecoder;
use insta::assert_snapshot;
use libdd_profiling_protobuf::prost_impls as proto;
use plimsoll_core::dump::{MAX_FRAMES, SampleInterval};
use plimsoll_core::{Avma, Counts, SourceFrame, Tally};
use plimsoll_profile::read::Limits;
use plimsoll_profile::write::pprof;
use plimsoll_profile::{
    Filter, Frames, Granularity, Location, LocationId, MappedObject, Measure, Names, Profile,
    ProfileBuilder, View,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proto::Message as _;
use regex::Regex;

fn read(mut bytes: &[u8]) -> Result<Profile, String> {
    plimsoll_profile::read(&mut bytes, Limits::default()).map_err(|why| why.to_string())
}

/// What was read, as text.
fn told(bytes: &[u8]) -> String {
    match read(bytes) {
        Ok(profile) => shown(&profile),
        Err(why) => format!("error: {why}"),
    }
}

fn shown(profile: &Profile) -> String {
    let names: Vec<&str> = profile.measures.iter().map(|m| m.name()).collect();
    let mut text = names.join(" ");
    if let Some(interval) = profile.sample_interval {
        text += &format!(", a sample each {} bytes", interval.bytes());
    }
    assert_eq!(profile.scaled_by, None, "estimates are not scaled again");
    for note in &profile.notes {
        text += &format!("\nnote: {note}");
    }
    for mapping in &profile.mappings {
        assert_eq!((mapping.executable, mapping.inode), (true, None));
        let (start, end, path) = (mapping.start, mapping.end, &mapping.path);
        text += &format!(
            "\n{start:#x}-{end:#x} at {:#x} of {path}",
            mapping.file_offset
        );
        let build_id = mapping.build_id.iter();
        text.extend(build_id.map(|build_id| format!(", {build_id}")));
        text += if mapping.deleted { ", deleted" } else { "" };
    }
    for (stack, Counts { inuse, alloc }) in profile.stacks() {
        text += &format!("\n{} in {} bytes", inuse.objects, inuse.bytes);
        text += &format!(", of {} in {}", alloc.objects, alloc.bytes);
        for id in stack {
            text += &format!("\n  {}", located(profile.location(*id)));
        }
    }
    text
}

fn located(location: &Location) -> String {
    let address = location.address.map(|address| address.to_string());
    let mut text = address.unwrap_or("-".to_owned());
    text.extend(location.mapping.map(|mapping| format!(" in {mapping}")));
    for frame in &location.frames {
        text += &format!(" {}", frame.function);
        text.extend(frame.file.iter().map(|file| format!(" {file}")));
        text.extend(frame.line.map(|line| format!(":{line}")));
    }
    text
}

fn view<'a>(profile: &'a Profile, filter: &Filter) -> View<'a> {
    let (by, names) = (Granularity::Functions, &mut Names::default());
    View::new(profile, by, Frames::All, filter, names)
}

fn packed(before: Option<&View<'_>>, after: &View<'_>, comments: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    pprof(&mut bytes, before, after, comments).unwrap();
    bytes
}

fn written(profile: &Profile) -> Vec<u8> {
    packed(None, &view(profile, &Filter::default()), &[])
}

fn compared(before: &Profile, after: &Profile) -> proto::Profile {
    let filter = Filter::default();
    let (before, after) = (view(before, &filter), view(after, &filter));
    decoded(&packed(Some(&before), &after, &[]))
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    unpacked
}

/// With somebody else's types.
fn decoded(bytes: &[u8]) -> proto::Profile {
    proto::Profile::decode(unpacked(bytes).as_slice()).unwrap()
}

/// What somebody else reads in it.
fn told_by_prost(profile: &proto::Profile) -> String {
    let string = |place: i64| profile.string_table[usize::try_from(place).unwrap()].as_str();
    let value_type =
        |value: &proto::ValueType| format!("{}/{}", string(value.r#type), string(value.unit));
    let types: Vec<String> = profile.sample_types.iter().map(value_type).collect();
    let mut text = format!(
        "{}, {} by default, every {} {}",
        types.join(" "),
        string(profile.default_sample_type),
        profile.period,
        profile.period_type.as_ref().map(value_type).unwrap(),
    );
    for of in &profile.mappings {
        let (id, start, end, offset) = (of.id, of.memory_start, of.memory_limit, of.file_offset);
        let (file, build_id) = (string(of.filename), string(of.build_id));
        text += &format!("\n{id}: {start:#x}-{end:#x} at {offset:#x} of {file}, {build_id:?}");
        // Functions, files, lines, inlined functions.
        let has = [
            of.has_functions,
            of.has_filenames,
            of.has_line_numbers,
            of.has_inline_frames,
        ];
        text += &format!(", has {has:?}");
    }
    for sample in &profile.samples {
        text += &format!("\n{:?}", sample.values);
        for id in &sample.location_ids {
            let mut locations = profile.locations.iter();
            let location = locations.find(|known| known.id == *id).unwrap();
            text += &format!("\n  {:#x} in {}", location.address, location.mapping_id);
            for line in &location.lines {
                let mut functions = profile.functions.iter();
                let function = functions.find(|known| known.id == line.function_id);
                let function = function.unwrap();
                let (name, file) = (string(function.name), string(function.filename));
                text += &format!(" {name} {file}:{}", line.line);
            }
        }
    }
    let comments = profile.comment.iter();
    text.extend(comments.map(|comment| format!("\n# {}", string(*comment))));
    text
}

/// A field of bytes: a string, a message, or packed numbers.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut len = bytes.len();
    while len >= 0x80 {
        out.push(u8::try_from(len % 0x80).unwrap() | 0x80);
        len /= 0x80;
    }
    out.push(u8::try_from(len).unwrap());
    out.extend_from_slice(bytes);
    out
}

fn hex(digits: &str) -> Vec<u8> {
    let byte = |digits| u8::from_str_radix(digits, 16).unwrap();
    digits.split(' ').map(byte).collect()
}

/// Sample types, with their names and units as the first strings.
fn of_types(types: &[(&str, &str)]) -> Vec<u8> {
    let places = (1..).step_by(2).take(types.len());
    let places = places.map(|at| field(1, &[0x08, at, 0x10, at + 1]));
    let strings = types.iter().flat_map(|(name, unit)| [*name, *unit]);
    let strings = [""].into_iter().chain(strings);
    let strings = strings.map(|string| field(6, string.as_bytes()));
    places.chain(strings).flatten().collect()
}

/// A profile of one sample type with its strings, and what comes after them.
fn inuse_space(rest: &[Vec<u8>]) -> Vec<u8> {
    let types = of_types(&[("inuse_space", "bytes")]);
    [types, field(6, b"f"), field(6, b"f.rs"), rest.concat()].concat()
}

fn held(objects: u64, bytes: u64) -> Counts {
    Counts {
        inuse: Tally { objects, bytes },
        alloc: Tally::default(),
    }
}

fn program(start: u64) -> MappedObject {
    MappedObject {
        start,
        end: start + 0x8000,
        file_offset: 0x1000,
        path: "/srv/app".to_owned(),
        build_id: Some("8f3a12".to_owned()),
        executable: true,
        ..MappedObject::default()
    }
}

/// A program at `start`, in which nothing is allocated yet.
fn started(start: u64) -> ProfileBuilder {
    let mut builder = ProfileBuilder::new(&Measure::ALL[2..]);
    builder.profile.mappings.push(program(start));
    builder
}

/// An address, with its frames as `function file:line`, joined by ` < `.
fn at(builder: &mut ProfileBuilder, address: u64, frames: &str) -> LocationId {
    let frames = frames.split(" < ").filter_map(|frame| {
        let (function, place) = frame.rsplit_once(' ')?;
        let (file, line) = place.split_once(':')?;
        Some(SourceFrame {
            function: function.to_owned(),
            file: Some(file.to_owned()),
            line: line.parse().ok(),
            arguments: None,
        })
    });
    let location = Location {
        address: Some(Avma(address)),
        frames: frames.collect(),
        ..Location::default()
    };
    builder.push(location).unwrap()
}

const PUSH: &str = "<T as app::Push>::push src/push.rs:7";
const FILL: &str = "app::inlined src/fill.rs:9 < app::fill src/fill.rs:30";
const MAIN: &str = "app::main src/main.rs:2";

/// A program at `start` with three stacks, called from libc, which has no names. The
/// second stack's leaf has an inlined function. One mapping has data.
fn app(start: u64) -> Profile {
    let mut builder = started(start);
    builder.profile.sample_interval = SampleInterval::new(524_288);
    builder.profile.mappings.push(MappedObject {
        start: start + 0x10_0000,
        end: start + 0x11_0000,
        path: "/lib/libc.so.6".to_owned(),
        ..MappedObject::default()
    });
    builder.profile.mappings.push(MappedObject {
        executable: false,
        ..program(start + 0x20_0000)
    });
    let mut at = |offset: u64, frames| at(&mut builder, start + offset, frames);
    let (push, fill, main) = (at(0x10, PUSH), at(0x20, FILL), at(0x30, MAIN));
    let start_main = at(0x10_0040, "");
    builder.stack([push, main, start_main], held(3, 3_000));
    builder.stack([fill, main, start_main], held(1, 64));
    builder.stack([start_main], held(2, 32));
    builder.profile
}

#[test]
fn by_hand() {
    let strings = "|objects|count|space|bytes|leaf|leaf.rs|caller|/bin/a (deleted)|C0FFEE";
    let strings = strings.split('|').map(|string| field(6, string.as_bytes()));
    let message = |number, digits: &str| field(number, &hex(digits));
    // Samples, locations and functions stand before the strings that they need.
    let bytes = [
        message(1, "08 01 10 02"), // objects in count
        message(1, "08 03 10 04"), // space in bytes
        // Locations packed, values not; a label that nobody asked for.
        message(2, "0a 02 01 07 10 05 10 f4 03 1a 02 08 03"),
        // This one has the values first, and an id that is an address.
        message(2, "12 02 01 09 08 90 80 a8 02"),
        message(2, "12 02 00 00"), // no location
        // 0x1000 to 0x2000
        message(3, "08 01 10 80 20 18 80 40 28 08 30 09"),
        // 0x1010, with two lines; 0x1020, with none; 0x1030, with a function that has no name, and
        // a line of -1
        message(
            4,
            "08 01 10 01 18 90 20 22 04 08 01 10 03 22 04 08 02 10 28",
        ),
        message(4, "08 07 10 01 18 a0 20"),
        message(
            4,
            "08 90 80 a8 02 10 01 18 b0 20 22 04 08 03 10 04 22 0d 08 01 10 ff ff ff ff ff ff ff ff ff 01",
        ),
        message(5, "08 01 10 05 18 05 20 06 28 01"),
        message(5, "08 02 18 07"),            // by its system name alone
        message(5, "08 03 20 06"),            // by none
        hex("a1 01 01 02 03 04 05 06 07 08"), // an unknown field of eight bytes
        message(11, "08 03 10 04"),
        hex("60 80 80 20"), // every 524,288 bytes
        strings.collect::<Vec<_>>().concat(),
    ];
    assert_snapshot!(told(&bytes.concat()), @r"
    inuse_objects inuse_space, a sample each 524288 bytes
    0x1000-0x2000 at 0x0 of /bin/a, c0ffee, deleted
    5 in 500 bytes, of 0 in 0
      0x1011 in 0 leaf leaf.rs:3 caller:40
      0x1021 in 0
    1 in 9 bytes, of 0 in 0
      0x1031 in 0 leaf leaf.rs
    0 in 0 bytes, of 0 in 0
    ");
}

#[test]
fn sample_types() {
    let told = |sample_types: &[(&str, &str)]| crate::told(&of_types(sample_types));
    assert_snapshot!(told(&[("inuse_space", "bytes")]), @"inuse_space");
    assert_snapshot!(told(&[("objects", "count"), ("space", "bytes")]), @"inuse_objects inuse_space");
    assert_snapshot!(told(&[("inuse-space", "bytes"), ("alloc-size", "bytes"), ("heap-live-samples", "count")]), @"alloc_space inuse_objects inuse_space");
    assert_snapshot!(told(&[("space", "bytes"), ("resident_space", "bytes"), ("inuse_space", "bytes")]), @r"
    inuse_space
    note: sample types that are not read: `resident_space` in `bytes`, `inuse_space` in `bytes`
    ");
    assert_snapshot!(told(&[("Total malloc size", "bytes"), ("Unreleased malloc size", "bytes")]), @"alloc_space inuse_space");
    assert_snapshot!(told(&[("samples", "count"), ("cpu", "nanoseconds")]), @"error: expected the sample types of a heap profile (`inuse_space` in bytes, `inuse_objects`, `alloc_space`, `alloc_objects`, or other profilers' names of them), found `samples` in `count`, `cpu` in `nanoseconds`");
    assert_snapshot!(told(&[]), @"error: expected the sample types of a heap profile (`inuse_space` in bytes, `inuse_objects`, `alloc_space`, `alloc_objects`, or other profilers' names of them), found none");
}

#[test]
fn contradictions() {
    let location = field(4, &[0x08, 1, 0x18, 0x10]);
    let told = |rest: &[Vec<u8>]| told(&inuse_space(rest));
    assert_snapshot!(told(&[location.clone(), field(2, &[0x08, 1])]), @"error: pprof's protobuf, byte 45, Sample.value: expected one for each sample type, found 0 for 1");
    assert_snapshot!(told(&[location.clone(), field(2, &[0x08, 1, 0x12, 2, 5, 6])]), @"error: pprof's protobuf, byte 50, Sample.value: expected one for each sample type, found more");
    assert_snapshot!(told(&[location.clone(), field(2, &[0x08, 2, 0x10, 5])]), @"error: pprof's protobuf, byte 46, Sample.location_id: expected the id of something in the profile, found 2");
    assert_snapshot!(told(&[location.clone(), location.clone()]), @"error: pprof's protobuf, byte 45, Location.id: expected an id that is not zero, once, found 1 again");
    assert_snapshot!(told(&[field(4, &[0x18, 0x10])]), @"error: pprof's protobuf, byte 39, Location.id: expected an id that is not zero, once, found none");
    assert_snapshot!(told(&[field(4, &[0x08, 1, 0x10, 6])]), @"error: pprof's protobuf, byte 42, Location.mapping_id: expected the id of something in the profile, found 6");
    assert_snapshot!(told(&[field(4, &[0x08, 1, 0x22, 2, 0x08, 6])]), @"error: pprof's protobuf, byte 44, Line.function_id: expected the id of something in the profile, found 6");
    assert_snapshot!(told(&[field(5, &[0x08, 1, 0x10, 5])]), @"error: pprof's protobuf, byte 42, Function.name: expected a place in the string table, found 5 of 5");
    assert_snapshot!(told(&[field(5, &[0x08, 1, 0x12, 1, b'f'])]), @"error: pprof's protobuf, byte 43, Function.name: expected a varint, found bytes");
    assert_snapshot!(
        told(&[location.clone(), field(2, &[0x08, 1, 0x10, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])]),
        @"error: pprof's protobuf, byte 48, Sample.value: expected what a heap holds, found -5: a difference of two profiles"
    );
    assert_snapshot!(crate::told(&[field(1, &[0x08, 1, 0x10, 2]), field(6, b"x")].concat()), @"error: pprof's protobuf, byte 8, Profile.string_table: expected an empty string first, found 1 bytes");
    assert_snapshot!(crate::told(&field(1, &[0x08, 1, 0x10, 2])), @"error: pprof's protobuf, byte 3, ValueType.type: expected a place in the string table, found 1 of 0");
}

#[test]
fn broken_bytes() {
    let told = |rest: &[u8]| told(&inuse_space(&[rest.to_vec()]));
    assert_snapshot!(told(&[0x12, 0x7f, 1]), @"error: pprof's protobuf, byte 39, Profile: expected as many bytes as are announced, found 1 of 127");
    assert_snapshot!(told(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), @"error: pprof's protobuf, byte 48, Profile: expected a field of at most 16 MiB, found 18446744073709551615 bytes");
    assert_snapshot!(told(&[0x60, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), @"error: pprof's protobuf, byte 38, Profile: expected a varint of at most 64 bits, found more bits");
    assert_snapshot!(told(&[0x60, 0x80]), @"error: pprof's protobuf, byte 38, Profile: expected a varint of at most 64 bits, found the end");
    assert_snapshot!(told(&[0x60]), @"error: pprof's protobuf, byte 38, Profile: expected a varint of at most 64 bits, found the end");
    assert_snapshot!(told(&[0x00, 0x01]), @"error: pprof's protobuf, byte 37, Profile: expected a field's number, found 0");
    assert_snapshot!(told(&[0x13, 0x14]), @"error: pprof's protobuf, byte 37, Profile: expected a varint, a fixed number or bytes, found wire type 3 in field 2");
    assert_snapshot!(told(&[0x65, 1, 2, 3, 4]), @"error: pprof's protobuf, byte 38, Profile.period: expected a varint, found a fixed number");
    assert_snapshot!(told(&[0x10, 1]), @"error: pprof's protobuf, byte 38, Profile.sample: expected bytes, found a varint");
}

#[test]
fn cut_short_or_with_a_flipped_bit() {
    let whole = unpacked(&written(&app(0x55_0000_0000)));
    // Of its first byte alone, nobody could tell.
    for end in 2..whole.len() {
        if let Ok(profile) = read(&whole[..end]) {
            panic!("{end} bytes are a profile:\n{}", shown(&profile));
        }
    }
    let mut readable = 0;
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        readable += usize::from(read(&flipped).is_ok());
    }
    // Names and numbers are as good as before; the rest holds the profile together.
    assert!(readable > 0 && readable < whole.len() * 8, "{readable}");
}

#[test]
fn endless_stack() {
    let stack = |len| {
        let sample = [field(1, &vec![1; len]), field(2, &[5])].concat();
        inuse_space(&[field(4, &[0x08, 1]), field(2, &sample)])
    };
    assert_eq!(read(&stack(MAX_FRAMES)).unwrap().len(), 1);
    assert_snapshot!(told(&stack(10_000_000)), @"error: pprof's protobuf, byte 65587, Sample.location_id: expected at most 65536 locations in a sample, found more");
}

/// A long name that each line of four bytes repeats.
#[test]
fn repeated_names() {
    let name = vec![b'n'; 1 << 20];
    let lines = [0x22, 2, 0x08, 1].repeat(1_000);
    let location = [&[0x08, 1], lines.as_slice()].concat();
    let bytes = inuse_space(&[
        field(6, &name),
        field(5, &[0x08, 1, 0x10, 5]),
        field(4, &location),
    ]);
    assert_snapshot!(told(&bytes), @"error: pprof's protobuf, byte 1048934, Profile: expected lines and mappings that take at most twelve times as much as the profile, found more");
}

/// What a few bytes say once for each time that a stack has them.
#[test]
fn repeated_frames() {
    let inlined = |lines: usize, times: usize, samples: usize| {
        let location = [&[0x08, 1], [0x22, 2, 0x08, 1].repeat(lines).as_slice()].concat();
        let sample = [field(1, &vec![1; times]), field(2, &[5])].concat();
        let named = [field(5, &[0x08, 1, 0x10, 3]), field(4, &location)];
        inuse_space(&[named.to_vec(), vec![field(2, &sample); samples]].concat())
    };
    assert_eq!(read(&inlined(1_001, 1, 1)).unwrap().len(), 1);
    assert_snapshot!(told(&inlined(1_002, 1, 1)), @"error: pprof's protobuf, byte 4054, Location.line: expected at most 1001 lines in a location, found more");
    // As deep as recursion goes, in as many lines as real programs have.
    assert_eq!(read(&inlined(8, MAX_FRAMES, 9)).unwrap().len(), 9);
    assert_eq!(read(&inlined(1_000, 2_097, 1)).unwrap().len(), 1);
    assert_snapshot!(told(&inlined(1_000, 2_200, 1)), @"error: expected stacks with at most 2114752 frames in all, inlined ones included, found 2200000");
    assert_snapshot!(told(&inlined(40, MAX_FRAMES, 2)), @"error: expected stacks with at most 3145728 frames in all, inlined ones included, found 5242880");
}

/// The same of what `jeprof --raw` writes.
#[test]
fn repeated_names_of_an_address() {
    let raw = |names: usize, times: usize| {
        format!(
            "--- symbol\n0x1000 {}\n---\n--- heap\nheap_v2/512\n  t*: 1: 8 [0: 0]\n@{}\n  t*: 1: 8 [0: 0]\n",
            vec!["f"; names].join("--"),
            " 0x1001".repeat(times),
        )
    };
    assert_eq!(read(raw(1_000, 2_097).as_bytes()).unwrap().len(), 1);
    assert_snapshot!(told(raw(1_002, 1).as_bytes()), @"error: line 2: expected at most 1001 functions at one address, found more");
    assert_snapshot!(told(raw(1_000, 2_200).as_bytes()), @"error: expected stacks with at most 2114752 frames in all, inlined ones included, found 2200000");
}

#[test]
fn as_others_read_it() {
    let profile = app(0x55_0000_0000);
    let bytes = packed(None, &view(&profile, &Filter::default()), &["app at noon"]);
    // gzip without a name or a time.
    assert_eq!(&bytes[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    let decoded = decoded(&bytes);
    assert_eq!(decoded.time_nanos, 0);
    assert_eq!((decoded.drop_frames, decoded.keep_frames), (0, 0));
    let mut functions = decoded.functions.iter();
    assert!(functions.all(|function| function.system_name == 0));
    assert_snapshot!(told_by_prost(&decoded), @r#"
    alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes, inuse_space by default, every 524288 space/bytes
    1: 0x5500000000-0x5500008000 at 0x1000 of /srv/app, "8f3a12", has [true, true, true, true]
    2: 0x5500100000-0x5500110000 at 0x0 of /lib/libc.so.6, "", has [false, false, false, false]
    [0, 0, 3, 3000]
      0x550000000f in 1 <T as app::Push>::push src/push.rs:7
      0x550000002f in 1 app::main src/main.rs:2
      0x550010003f in 2
    [0, 0, 1, 64]
      0x550000001f in 1 app::inlined src/fill.rs:9 app::fill src/fill.rs:30
      0x550000002f in 1 app::main src/main.rs:2
      0x550010003f in 2
    [0, 0, 2, 32]
      0x550010003f in 2
    # app at noon
    # nothing was counted in alloc_objects, alloc_space
    "#);
}

#[test]
fn filtered() {
    // Of one of the stacks nothing is left.
    let hide = Regex::new("app::(inlined|main)|5500100040").unwrap();
    let filter = Filter {
        hide: Some(hide),
        ..Filter::default()
    };
    let profile = app(0x55_0000_0000);
    assert_snapshot!(told(&packed(None, &view(&profile, &filter), &[])), @r"
    inuse_objects inuse_space, a sample each 524288 bytes
    0x5500000000-0x5500008000 at 0x1000 of /srv/app, 8f3a12
    0x5500100000-0x5500110000 at 0x0 of /lib/libc.so.6
    3 in 3000 bytes, of 0 in 0
      0x5500000010 in 0 <T as app::Push>::push src/push.rs:7
    1 in 64 bytes, of 0 in 0
      0x5500000020 in 0 app::fill src/fill.rs:30
    ");
}

/// The later process has its program elsewhere, and code of its own.
#[test]
fn difference() {
    let before = app(0x55_0000_0000);
    let mut builder = started(0x7f_0000_0000);
    let mut at = |offset: u64, frames| at(&mut builder, 0x7f_0000_0000 + offset, frames);
    let (grown, main) = (at(0x20, FILL), at(0x30, MAIN));
    let new = at(0x60, "app::new src/new.rs:1");
    builder.stack([grown, main], held(9, 900));
    builder.stack([new, main], held(1, 10));
    let after = builder.profile;

    assert_snapshot!(told_by_prost(&compared(&before, &after)), @r#"
    alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes, inuse_space by default, every 0 space/bytes
    1: 0x7f00000000-0x7f00008000 at 0x1000 of /srv/app, "8f3a12", has [true, true, true, true]
    2: 0x5500100000-0x5500110000 at 0x0 of /lib/libc.so.6, "", has [false, false, false, false]
    [0, 0, 9, 900]
      0x7f0000001f in 1 app::inlined src/fill.rs:9 app::fill src/fill.rs:30
      0x7f0000002f in 1 app::main src/main.rs:2
    [0, 0, 1, 10]
      0x7f0000005f in 1 app::new src/new.rs:1
      0x7f0000002f in 1 app::main src/main.rs:2
    [0, 0, -3, -3000]
      0x7f0000000f in 1 <T as app::Push>::push src/push.rs:7
      0x7f0000002f in 1 app::main src/main.rs:2
      0x550010003f in 2
    [0, 0, -1, -64]
      0x7f0000001f in 1 app::inlined src/fill.rs:9 app::fill src/fill.rs:30
      0x7f0000002f in 1 app::main src/main.rs:2
      0x550010003f in 2
    [0, 0, -2, -32]
      0x550010003f in 2
    # nothing was counted in alloc_objects, alloc_space
    "#);
    assert_eq!(compared(&before, &before).period, 524_288);
    assert_eq!(compared(&after, &before).period, 0);
}

#[test]
fn estimates_are_rounded() {
    let mut builder = ProfileBuilder::new(&Measure::ALL[2..]);
    builder.profile.scaled_by = SampleInterval::new(100);
    builder.profile.sample_interval = builder.profile.scaled_by;
    let leaf = builder.address(Avma(0x1000)).unwrap();
    // 1 / (1 − exp(−1)) is 1.58.
    builder.stack([leaf], held(1, 100));
    assert_snapshot!(told(&written(&builder.profile)), @r"
    inuse_objects inuse_space, a sample each 100 bytes
    2 in 158 bytes, of 0 in 0
      0x1000
    ");
}

prop_compose! {
    fn any_frame()(
        function in "[a-z<>: ]{1,12}",
        file in proptest::option::of("[a-z/.]{1,12}"),
        line in proptest::option::of(1..=u32::MAX),
    ) -> SourceFrame {
        SourceFrame { function, file, line, arguments: None }
    }
}

fn any_tally() -> impl Strategy<Value = Tally> {
    // What a double holds.
    let number = prop_oneof![0..9_u64, 0..1_u64 << 53];
    (number.clone(), number).prop_map(|(objects, bytes)| Tally { objects, bytes })
}

/// Locations, each in one or two of the mappings, which may overlap, or in none, and
/// stacks of them.
fn any_profile() -> impl Strategy<Value = Profile> {
    let path = "(/[a-z]{1,8})?";
    let build_id = proptest::option::of("[0-9a-f]{2,40}");
    let mapping = (path, build_id, any::<u32>(), 0..0x1_8000_u64);
    let address = proptest::option::of(1..0x9_0000_u64);
    let location = (address, vec(any_frame(), 0..4));
    let locations = vec(any::<prop::sample::Index>(), 0..9);
    let stack = (locations, any_tally(), any_tally());
    (vec(mapping, 0..5), vec(location, 1..20), vec(stack, 0..30)).prop_map(
        |(mappings, locations, stacks)| {
            let mut builder = ProfileBuilder::new(&Measure::ALL);
            for ((path, build_id, offset, len), start) in mappings.into_iter().zip(1..) {
                builder.profile.mappings.push(MappedObject {
                    start: start << 16,
                    end: (start << 16) + len,
                    file_offset: offset.into(),
                    path,
                    build_id,
                    executable: true,
                    ..MappedObject::default()
                });
            }
            let mut push = |(address, frames): (Option<u64>, Vec<SourceFrame>)| {
                let location = Location {
                    // The zero before the first is no address there.
                    address: address.map(|address| Avma(address + 1)),
                    frames,
                    ..Location::default()
                };
                builder.push(location).unwrap()
            };
            let ids: Vec<LocationId> = locations.into_iter().map(&mut push).collect();
            // Live objects alone are counted where nothing else is: so it is read.
            let nothing = Tally::default();
            if stacks.iter().all(|(_, _, alloc)| *alloc == nothing)
                && stacks.iter().any(|(_, inuse, _)| *inuse != nothing)
            {
                builder.profile.measures = Measure::ALL[2..].to_vec();
            }
            for (stack, inuse, alloc) in stacks {
                let stack = stack.iter().map(|index| *index.get(&ids));
                builder.stack(stack, Counts { inuse, alloc });
            }
            builder.profile
        },
    )
}

/// A stack's locations, and the mappings that they are in.
type Resolved = Vec<(Location, Option<MappedObject>)>;

/// Every stack, whatever the numbers of its locations are.
fn resolved(profile: &Profile) -> Vec<(Resolved, Counts)> {
    let one = |id: &LocationId| {
        let mut location = profile.location(*id).clone();
        let (call, mut mappings) = (location.address, profile.mappings.iter());
        let is_of = |m: &&MappedObject| call.is_some_and(|Avma(at)| m.start < at && at <= m.end);
        let mapping = match location.mapping.take() {
            Some(mapping) => Some(&profile.mappings[mapping]),
            None => mappings.find(is_of),
        };
        (location, mapping.cloned())
    };
    let stacks = profile.stacks();
    let stacks = stacks.map(|(stack, counts)| (stack.iter().map(one).collect(), counts));
    stacks.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn comes_back(profile in any_profile()) {
        let bytes = written(&profile);
        let back = read(&bytes).unwrap();
        prop_assert_eq!(resolved(&back), resolved(&profile));
        prop_assert_eq!(&back.measures, &profile.measures);
        prop_assert_eq!(written(&back), bytes);
    }

    #[test]
    fn back_is_minus_there(before in any_profile(), after in any_profile()) {
        prop_assert_eq!(compared(&before, &before).samples, []);
        let sorted = |profile: proto::Profile, sign: i64| {
            let values = |sample: proto::Sample| sample.values.iter().map(|n| sign * n).collect();
            let mut values: Vec<Vec<i64>> = profile.samples.into_iter().map(values).collect();
            values.sort();
            values
        };
        let (there, back) = (compared(&before, &after), compared(&after, &before));
        prop_assert_eq!(sorted(there, 1), sorted(back, -1));
    }
}

/// Found by the fuzzer: it was read as `;\t\t\u{1};` with a number.
#[test]
fn a_field_that_ends_as_a_folded_stack_does() {
    assert!(read(b"\xa2\x06\x00;\t\t\x01;\t0").is_err());
}
