//! Parsing dumps, and what they estimate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use plimsoll_core::dump::{DumpReader, HeapDump, MAX_FRAMES, Mapping, Maps, Parts, SampleInterval};
use plimsoll_core::{Avma, Counts, Tally};
use proptest::prelude::*;

fn parsed(dump: &str) -> String {
    match HeapDump::parse(dump.as_bytes()) {
        Ok(dump) => dump.to_string(),
        Err(err) => format!("error: {err}"),
    }
}

const SMALL: &str = "\
heap_v2/1
  t*: 3: 80 [4: 144]
  t0: 3: 80 [4: 144] main thread
  t7: 0: 0 [0: 0]
@ 0x10 0x20
  t*: 1: 64 [2: 128]
  t0: 1: 64 [2: 128]
@ 0x30
  t*: 2: 16 [2: 16]
  t0: 2: 16 [2: 16]

MAPPED_LIBRARIES:
00400000-00452000 r-xp 00001000 fe:00 173521                             /usr/bin/a program (deleted)
00e03000-00e24000 rw-p 00000000 00:00 0                                  [heap]
7f0000000000-7f0000001000 ---p 00000000 00:00 0
";

#[test]
fn printed_back() {
    let without_threads = |line: &&str| !line.starts_with("  t0") && !line.starts_with("  t7");
    let printed: Vec<&str> = SMALL.lines().filter(without_threads).collect();
    assert_eq!(parsed(SMALL), printed.join("\n") + "\n");
    assert_eq!(parsed(&SMALL.replace('\n', "\r\n")), parsed(SMALL));
}

#[test]
fn mappings() {
    let dump = HeapDump::parse(SMALL.as_bytes()).unwrap();
    let maps = dump.maps().unwrap();
    let seen = maps.mappings.iter().map(|mapping| {
        let execute = mapping.permissions.execute;
        (mapping.file(), mapping.is_deleted(), execute)
    });
    let program = (Some("/usr/bin/a program"), true, true);
    assert!(seen.eq([program, (None, false, false), (None, false, false)]));
    let program = maps.find(0x451fff).unwrap();
    let found = (program.offset, program.device, program.inode);
    assert_eq!(found, (0x1000, (0xfe, 0), 173_521));
    assert_eq!(maps.find(0x452000), None);
}

#[test]
fn map_lines_that_are_none_are_kept() {
    let unreadable = "build=/x\n2-1 r-xp 0 0:0 0 /x\n1-2 rwzp 0 0:0 0 /x\n\
                      0000000100000000-0000000100010000: /usr/lib/dyld";
    let header = "heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    let text = format!("{header}{unreadable}\n\n1-2 r-xp 0 0:0 0 /x\n");
    let dump = HeapDump::parse(text.as_bytes()).unwrap();
    assert_eq!(dump.maps().unwrap().unreadable.join("\n"), unreadable);
    assert_eq!(dump.maps().unwrap().mappings.len(), 1);
}

#[test]
fn without_mappings() {
    let dump = HeapDump::parse(b"heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n").unwrap();
    assert_eq!((dump.maps(), dump.totals()), (None, None));
    let dump = HeapDump::parse(b"heap_v2/1\n@\n  t*: 1: 8 [0: 0]\nMAPPED_LIBRARIES:\n").unwrap();
    assert!(dump.maps().unwrap().mappings.is_empty());
    assert_eq!(dump.records().next().unwrap().stack, []);
}

#[test]
fn other_formats() {
    assert_snapshot!(parsed(""), @"error: line 1: expected `heap_v2/` and a sample interval, found the end of the dump");
    assert_snapshot!(parsed("\n"), @"error: line 1: expected `heap_v2/` and a sample interval, found an empty line");
    assert_snapshot!(parsed("heap_v1/524288\n"), @"error: line 1: expected `heap_v2/` and a sample interval, found `heap_v1/524288`");
    assert_snapshot!(parsed("heap_v2/0\n"), @"error: line 1: expected `heap_v2/` and a sample interval, found `heap_v2/0`");
    assert_snapshot!(parsed("heap_v2/1x\n"), @"error: line 1: expected the end of the line, found `heap_v2/1x`");
    assert_snapshot!(parsed("\u{1f}\u{8b}\u{8}\u{0}\n"), @r"error: line 1: expected `heap_v2/` and a sample interval, found `\u{1f}\u{8b}\u{8}\u{0}`");
}

#[test]
fn cut_short() {
    let whole = "heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1\n  t*: 1: 8 [0: 0]\n";
    assert_snapshot!(parsed(&whole[..10]), @"error: line 2: expected the counts of the process, or a stack, found the end of the dump");
    assert_snapshot!(parsed(&whole[..28]), @"error: line 2: expected totals that agree with the stacks, which add up to `0: 0`, found `t*: 1: 8 [0: 0]`");
    assert_snapshot!(parsed(&whole[..33]), @"error: line 3: expected the end of the line, found the end of the dump");
    assert_snapshot!(parsed(&whole[..34]), @"error: line 4: expected counts for the stack on line 3, found the end of the dump");
    assert_snapshot!(parsed(&whole[..47]), @"error: line 4: expected counts such as `t*: 1: 8 [0: 0]`, found `t*: 1: 8 [0`");
    assert_snapshot!(parsed(&whole[..51]), @"error: line 4: expected the end of the line, found the end of the dump");
    assert_snapshot!(parsed("heap_v2/1\n@ 0x1\n@ 0x2\n"), @"error: line 3: expected counts for the stack on line 2, found `@ 0x2`");
}

#[derive(Debug, Default, PartialEq)]
struct Read(Vec<(Vec<Avma>, Counts)>, Maps);
impl Parts for Read {
    fn stack(&mut self, stack: &[Avma], counts: Counts) {
        self.0.push((stack.to_vec(), counts));
    }
    fn mapping(&mut self, mapping: Result<Mapping, &[u8]>) {
        self.1.mappings.push(mapping.unwrap());
    }
}

#[test]
fn pieces_are_read_as_the_whole() {
    let whole = "heap_v2/1\r\n  t*: 3: 40 [5: 80]\n  t0: 3: 40 [5: 80] a name\n@ 0x1 0x2\r\n  t*: 1: 8 [1: 8]\n\
        @\n  t*: 2: 32 [4: 72]\n\nMAPPED_LIBRARIES:\n1000-2000 r-xp 00000000 00:00 0 /bin/x\n";
    let cut = "heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n@ 0x1";
    let wrong = "heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n@ zzz\n";
    for text in [whole, cut, wrong] {
        let expected = HeapDump::parse(text.as_bytes()).map(|dump| {
            let records = dump
                .records()
                .map(|record| (record.stack.to_vec(), record.counts));
            let maps = dump.maps().cloned();
            (
                dump.totals(),
                maps.is_some(),
                Read(records.collect(), maps.unwrap_or_default()),
            )
        });
        for first in 0..=text.len() {
            let mut parts = Read::default();
            let mut reader = DumpReader::new();
            let (one, two) = text.as_bytes().split_at(first);
            let end = reader.lines(one, &mut parts).and_then(|rest| {
                let two = [rest, two].concat();
                let rest = reader.lines(&two, &mut parts)?;
                reader.end(rest, &mut parts)
            });
            let found = end.map(|end| (end.totals, end.has_maps, parts));
            assert_eq!(found, expected, "{first} bytes of {text:?}");
        }
    }
}

/// An endless dump is known before its end, which never comes.
#[test]
fn stacks_beyond_the_totals() {
    let said = |interval: u32| {
        let mut text = format!("heap_v2/{interval}\n  t*: 3: 3072 [0: 0]\n");
        for _ in 0..100 {
            text += "@ 0x1\n  t*: 1: 1024 [0: 0]\n";
        }
        let read = DumpReader::new().lines(text.as_bytes(), &mut Read::default());
        read.unwrap_err().to_string()
    };
    assert_snapshot!(said(1), @"line 2: expected totals that agree with the stacks, which add up to more by line 10: `4: 4096`, found `t*: 3: 3072 [0: 0]`");
    // The integers are rounded, and one object of 1 KiB stands for 500 or so.
    assert_snapshot!(said(524_288), @"line 2: expected totals that agree with the stacks, which add up to more by line 16: `7: 7168`, found `t*: 3: 3072 [0: 0]`");
}

#[test]
fn unreadable_lines() {
    let after = |line: &str| parsed(&format!("heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n{line}"));
    assert_snapshot!(after("  t*: 1: 8 [0: 0]\n"), @"error: line 4: expected a stack, counts of a thread, or `MAPPED_LIBRARIES:`, found `t*: 1: 8 [0: 0]`");
    assert_snapshot!(after("  t0: 1: 8 [0: 0] name\n"), @"error: line 4: expected the end of the line, found `t0: 1: 8 [0: 0] name`");
    assert_snapshot!(after("\n@ 0x1\n"), @"error: line 5: expected `MAPPED_LIBRARIES:` after an empty line, found `@ 0x1`");
    assert_snapshot!(after("@ 1234\n"), @"error: line 4: expected an address such as `0x1f` of at most 64 bits, found `@ 1234`");
    assert_snapshot!(after("@ 0x\n"), @"error: line 4: expected an address such as `0x1f` of at most 64 bits, found `@ 0x`");
    assert_snapshot!(after("@ 0x12345678123456780\n"), @"error: line 4: expected an address such as `0x1f` of at most 64 bits, found `@ 0x12345678123456780`");
    assert_snapshot!(after("@ 0x1\n  t*: 18446744073709551616: 8 [0: 0]\n"), @"error: line 5: expected a number of at most 64 bits, found `t*: 18446744073709551616: 8 [0: 0]`");
    assert_snapshot!(after("@ 0x1\n  t*: -1: 8 [0: 0]\n"), @"error: line 5: expected counts such as `t*: 1: 8 [0: 0]`, found `t*: -1: 8 [0: 0]`");
    assert_snapshot!(after("\nMAPPED_LIBRARIES:\n\0\0\0\n"), @r"error: line 6: expected a mapping, found `\u{0}\u{0}\u{0}`");
    assert_snapshot!(after("MAPPED\u{1b}[31m\n"), @r"error: line 4: expected a stack, counts of a thread, or `MAPPED_LIBRARIES:`, found `MAPPED\u{1b}[31m`");
}

#[test]
fn too_many_frames() {
    let dump = |frames| format!("heap_v2/1\n@{}\n  t*: 1: 8 [0: 0]\n", " 0x1".repeat(frames));
    assert!(HeapDump::parse(dump(MAX_FRAMES).as_bytes()).is_ok());
    assert_snapshot!(parsed(&dump(MAX_FRAMES + 1)), @"error: line 2: expected at most 65536 addresses, found `@ 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x…`");
}

/// What jemalloc 5.3 prints with `prof_unbias` for 10,000 objects of 8 bytes on one
/// stack and 10,000 of 16 on another: the integers of the process are not the
/// sums of the stacks'.
#[test]
fn totals_of_estimates() {
    let dump = |totals, second| {
        let first = "@ 0x1\n  t*: 9997: 79973 [0: 0]\n";
        parsed(&format!(
            "heap_v2/1\n  t*: {totals} [0: 0]\n{first}@ 0x2\n  t*: {second} [0: 0]\n"
        ))
    };
    assert!(dump("20000: 239999", "10000: 160000").starts_with("heap_v2"));
    assert!(dump("19997: 239973", "10000: 160000").starts_with("heap_v2"));
    assert_snapshot!(dump("20000: 239999", "9997: 159952"), @"error: line 2: expected totals that agree with the stacks, which add up to `19994: 239925`, found `t*: 20000: 239999 [0: 0]`");
}

fn tally_of(objects: u64, bytes: u64) -> Tally {
    Tally { objects, bytes }
}

/// Returns the counts of each stack, with equal stacks added up.
fn by_stack(dump: &HeapDump) -> BTreeMap<&[Avma], Counts> {
    let mut stacks: BTreeMap<&[Avma], Counts> = BTreeMap::new();
    for record in dump.records() {
        *stacks.entry(record.stack).or_default() += record.counts;
    }
    stacks
}

#[test]
fn counted_for_the_report() {
    let stacks =
        "@ 0x1 0x2\n  t*: 0: 0 [1: 8]\n@ 0x1\n  t*: 1: 8 [1: 8]\n@ 0x1\n  t*: 2: 24 [2: 24]\n";
    let dump = HeapDump::parse(format!("heap_v2/1\n{stacks}").as_bytes()).unwrap();
    assert_eq!(dump.zero_object_stacks(), 1);
    assert_eq!((dump.stacks_cut_at(2), dump.stacks_cut_at(3)), (1, 0));
    assert_eq!(dump.inuse(), tally_of(3, 32));
    assert_eq!(by_stack(&dump)[&[Avma(1)][..]].alloc, tally_of(3, 32));
}

#[test]
fn no_estimate_is_nan() {
    let counts = [0, 1, u64::MAX].map(|n| [0, 1, u64::MAX].map(|m| (n, m)));
    for interval in [1, 524_288, u64::MAX] {
        let interval = SampleInterval::new(interval).unwrap();
        for (objects, bytes) in counts.concat() {
            let estimate = interval.unbias(tally_of(objects, bytes));
            assert!(estimate.objects.is_finite() && estimate.bytes.is_finite());
        }
    }
}

fn recorded() -> Vec<PathBuf> {
    let files = |folder: PathBuf| {
        fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
    };
    let cases = files(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps"));
    let all = cases.filter(|case| case.is_dir()).flat_map(files);
    let is_dump = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "heap");
    let mut dumps: Vec<PathBuf> = all.filter(is_dump).collect();
    dumps.sort();
    assert!(!dumps.is_empty());
    dumps
}

/// The estimates of every stack as jeprof's formula gives them in Perl's and
/// Python's doubles, printed to six places.
#[test]
fn recorded_dumps_agree_with_their_values() {
    for path in recorded() {
        let name = path.display();
        let dump = HeapDump::parse(&fs::read(&path).unwrap()).unwrap();
        let again = HeapDump::parse(dump.to_string().as_bytes());
        assert_eq!(again.as_ref(), Ok(&dump), "{name} printed back");
        assert_eq!(dump.maps().unwrap().unreadable, [""; 0], "{name}");
        let stacks = by_stack(&dump);
        let ours = stacks.iter().map(|(stack, counts)| {
            let Tally { objects, bytes } = counts.inuse;
            let estimate = dump.sample_interval().unbias(counts.inuse);
            let stack: Vec<String> = stack.iter().map(Avma::to_string).collect();
            let (of_objects, of_bytes) = (estimate.objects, estimate.bytes);
            let numbers = format!("{objects}\t{bytes}\t{of_objects:.6}\t{of_bytes:.6}");
            format!("{numbers}\t{}", stack.join(" "))
        });
        let values = fs::read_to_string(path.with_extension("tsv")).unwrap();
        let theirs = values.lines().filter(|line| !line.starts_with('#'));
        let mut ours: Vec<String> = ours.collect();
        let mut theirs: Vec<&str> = theirs.collect();
        ours.sort();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{name}");
    }
}

/// At an interval of 1 a stack that is missing is always seen; at a larger one it
/// may hide in the rounding of the others, if it is small.
#[test]
fn recorded_dumps_without_one_stack() {
    let mut seen = String::new();
    for path in recorded() {
        let text = fs::read_to_string(&path).unwrap();
        let maps = text.find("\nMAPPED_LIBRARIES").unwrap();
        let starts: Vec<usize> = text.match_indices("\n@").map(|(at, _)| at + 1).collect();
        let cuts = (0..starts.len()).filter(|stack| {
            let end = starts.get(stack + 1).map_or(maps, |end| *end);
            let without = format!("{}{}", &text[..starts[*stack]], &text[end..]);
            HeapDump::parse(without.as_bytes()).is_err()
        });
        let cuts = cuts.count();
        let name = path.file_stem().unwrap().to_str().unwrap();
        seen += &format!("{name}: {cuts} of {}\n", starts.len());
    }
    assert_snapshot!(seen, @"
    s0.12924.0.f: 16 of 16
    s19.12956.0.f: 1 of 1
    s19.12957.0.f: 2 of 5
    s12.25400.1.f: 21 of 79
    s9.12810.4.i4: 7 of 62
    s9.12810.5.f: 6 of 7
    ");
}

/// Cut at any byte, a dump is an error, or has all of its stacks: what may be
/// missing then are mappings, and that they are all missing is seen.
#[test]
fn truncated_at_every_byte() {
    let git = fs::read(&recorded()[0]).unwrap();
    for whole in [SMALL.as_bytes(), &git] {
        let expected = HeapDump::parse(whole).unwrap();
        for length in 0..whole.len() {
            if let Ok(cut) = HeapDump::parse(&whole[..length]) {
                assert!(cut.records().eq(expected.records()), "cut at byte {length}");
                assert_eq!(cut.totals(), expected.totals());
                assert!(cut != expected || whole[length..].iter().all(u8::is_ascii_whitespace));
            }
        }
    }
}

fn tally() -> impl Strategy<Value = Tally> {
    (0..1_000_u64, 0..1_000_000_u64).prop_map(|(objects, bytes)| tally_of(objects, bytes))
}

fn records() -> impl Strategy<Value = Vec<(Vec<u64>, Counts)>> {
    let counts = (tally(), tally()).prop_map(|(inuse, alloc)| Counts { inuse, alloc });
    prop::collection::vec((prop::collection::vec(any::<u64>(), 0..8), counts), 0..20)
}

fn written(interval: u64, records: &[(Vec<u64>, Counts)], tail: &str) -> String {
    let line = |Counts { inuse, alloc }: &Counts| {
        let inuse = format!("{}: {}", inuse.objects, inuse.bytes);
        format!("  t*: {inuse} [{}: {}]\n", alloc.objects, alloc.bytes)
    };
    let mut totals = Counts::default();
    let mut stacks = String::new();
    for (stack, counts) in records {
        totals.inuse += counts.inuse;
        totals.alloc += counts.alloc;
        let addresses = stack.iter().map(|address| format!(" {address:#x}"));
        let addresses: String = addresses.collect();
        stacks += &format!("@{addresses}\n{}", line(counts));
    }
    format!("heap_v2/{interval}\n{}{stacks}{tail}", line(&totals))
}

proptest! {
    #[test]
    fn printing_is_parsed_back(
        interval in 1..u64::MAX,
        records in records(),
        maps in prop::option::of("[ -~\u{e9}\r]{0,20}(\n[0-9a-f]{1,9}-[0-9a-f]{9,12} r-xp 0 0:0 1 [ -~]{0,30})?"),
    ) {
        let tail = maps.map_or(String::new(), |lines| format!("\nMAPPED_LIBRARIES:\n{lines}\n"));
        let dump = HeapDump::parse(written(interval, &records, &tail).as_bytes()).unwrap();
        prop_assert_eq!(HeapDump::parse(dump.to_string().as_bytes()), Ok(dump));
    }

    #[test]
    fn bytes_that_are_no_dump(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..SMALL.len()) {
        let _ = HeapDump::parse(&bytes);
        let mut damaged = SMALL.as_bytes().to_vec();
        damaged.splice(at..(at + bytes.len()).min(SMALL.len()), bytes);
        if let Ok(dump) = HeapDump::parse(&damaged) {
            prop_assert_eq!(HeapDump::parse(dump.to_string().as_bytes()), Ok(dump));
        }
    }
}
