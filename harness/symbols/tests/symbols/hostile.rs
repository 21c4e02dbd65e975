//! Damaged files cost names, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use crate::support::{Bench, START, lookup};
use object::{Object, ObjectSection, ObjectSymbol};
use plimsoll_core::Avma;

/// Where its functions are mapped then.
fn code(bytes: &[u8]) -> Range<u64> {
    let object = object::File::parse(bytes).expect("the fixture is well");
    let text = object.section_by_name(".text").expect("it has code");
    let (start, size) = text.file_range().expect("its code is in the file");
    START + start..START + start + size
}

/// Every fourth byte of the fixture's functions, and some around them.
fn addresses(bytes: &[u8]) -> BTreeSet<Avma> {
    let Range { start, end } = code(bytes);
    (start..end + 64).step_by(4).map(Avma).collect()
}

fn fixture(bench: &Bench) -> Vec<u8> {
    let library = bench.cc("libfixture.so.1", &["-g", "-shared", "-fPIC", "library.c"]);
    fs::read(library).expect("the fixture was built")
}

#[test]
fn flipped_bits() {
    let bench = Bench::new();
    let bytes = fixture(&bench);
    let addresses = addresses(&bytes);
    let path = bench.path("flipped.so");
    fs::write(&path, &bytes).unwrap();
    let healthy = lookup(&path, &addresses);
    assert!(healthy.unresolved < addresses.len());

    // Half of the damage goes to what tells names from lines.
    let object = object::File::parse(&*bytes).expect("the fixture is well");
    let sections = object.sections().filter(|section| {
        let name = section.name().unwrap();
        name.contains("debug") || name.contains("sym")
    });
    let ranges = sections.filter_map(|section| section.file_range());
    let telling: Vec<u64> = ranges
        .flat_map(|(start, size)| start..start + size)
        .collect();
    let all: Vec<u64> = (0..).take(bytes.len()).collect();
    assert!(object.symbols().any(|symbol| symbol.name() == Ok("hidden")));

    // The upper bits of a linear congruential generator are random enough to spread flips.
    let mut seed = 0x504c_494d_u64;
    let mut random = |below: usize| {
        let next = seed.wrapping_mul(6_364_136_223_846_793_005);
        seed = next.wrapping_add(1);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut changed = 0;
    for round in 0..600 {
        let mut damaged = bytes.clone();
        for _ in 0..=round % 4 {
            let places = [&all, &telling][random(2)];
            let at = usize::try_from(places[random(places.len())]).unwrap();
            damaged[at] ^= 1 << random(8);
        }
        fs::write(&path, &damaged).unwrap();
        let table = lookup(&path, &addresses);
        assert_eq!(table.frames.len(), addresses.len(), "round {round}");
        let mut all = table.frames.iter();
        assert!(all.all(|(_, frames)| !frames.is_empty()), "round {round}");
        changed += usize::from(table != healthy);
    }
    // The damage reached what it was meant for.
    assert!(changed > 100, "{changed}");
}

#[test]
fn cut_short() {
    let bench = Bench::new();
    let bytes = fixture(&bench);
    let addresses = addresses(&bytes);
    let path = bench.path("short.so");
    for length in (1..bytes.len()).step_by(61) {
        fs::write(&path, &bytes[..length]).unwrap();
        let found = lookup(&path, &addresses).frames.len();
        assert_eq!(found, addresses.len(), "{length} bytes");
    }
}

/// A library whose debug information is written by hand: `main` follows the head
/// of a unit that claims the code of `fixture`, `more` is for other sections.
fn crafted(bench: &Bench, main: &str, more: &str, flags: &[&str]) -> std::path::PathBuf {
    // tag, children, attribute and form, ...: 1 unit, 2 function, 3 inlined call,
    // 4 block, 5 function of many ranges, 6 function by its origin, 7 unit with
    // nothing but a line program.
    let source = format!(
        r#"
        .text
        .globl fixture
        .type fixture, @function
fixture: .fill 64, 1, 0x90
        ret
        .size fixture, . - fixture
        .section .debug_abbrev, "", @progbits
        .byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0
        .byte 2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0
        .byte 3, 0x1d, 1, 0x11, 0x01, 0x12, 0x06, 0, 0
        .byte 4, 0x0b, 1, 0, 0
        .byte 5, 0x2e, 0, 0x55, 0x17, 0, 0
        .byte 6, 0x2e, 0, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0, 0
        .byte 7, 0x11, 0, 0x10, 0x17, 0, 0
        .byte 0
        .section .debug_info, "", @progbits
        .macro unit
        .long 2f - 1f
1:      .short 4
        .long 0
        .byte 8
        .endm
        .macro code number
        .byte \number
        .quad fixture
        .long 65
        .endm
        .macro function
        .byte 2
        .asciz "claimed"
        .quad fixture
        .long 65
        .endm
        unit
unit0 = 1b - 4
        code 1
        {main}
        .byte 0
2:
        {more}
        "#
    );
    fs::write(bench.path("crafted.S"), source).unwrap();
    let flags = [&["-shared", "-nostdlib", "crafted.S"], flags].concat();
    bench.cc("crafted.so", &flags)
}

/// How many frames an address in the one function of a crafted library has, and what is said
/// of its debug information.
#[track_caller]
fn check(flags: &[&str], main: &str, more: &str, (count, why): (usize, &str)) {
    let bench = Bench::new();
    let path = crafted(&bench, main, more, flags);
    let address = Avma(code(&fs::read(&path).unwrap()).start + 8);
    let table = lookup(&path, &BTreeSet::from([address]));
    let frames = table.get(address);
    let note = "some debug information of crafted.so cannot be read: ";
    let notes = table
        .notes
        .iter()
        .map(|said| said.strip_prefix(note).unwrap_or(said));
    let said = notes.collect::<Vec<_>>().join("\n");
    assert_eq!((frames.len(), said.as_str()), (count, why), "{main}");
    assert_eq!(frames[count - 1].function, "fixture");
}

const TOO_MUCH: &str = "it takes more work than its size can explain";

#[test]
fn nested_as_deep_as_the_file_is_long_or_the_same_over_and_over() {
    let ranges = ".section .debug_ranges, \"\", @progbits\n .rept 20000\n .quad 1, 2\n .endr\n \
                  .quad 0, 0";
    let of_ranges = ".rept 20000\n .byte 5\n .long 0\n .endr";
    // A line program of many rows, and many units that have no other ranges.
    let units = ".rept 20000\n unit\n .byte 7\n .long 0\n 2:\n .endr\n \
                 .section .debug_line, \"\", @progbits\n .long 2f - 1f\n 1: .short 4\n \
                 .long 4f - 3f\n 3: .byte 1, 1, 1, 0, 1, 1, 0, 0\n 4:\n .fill 1000000, 1, 1\n 2:";
    let around = ".macro code6 origin\n .byte 6\n .long \\origin - unit0\n .quad fixture\n \
                  .long 65\n .endm\n again: code6 again\n";
    let inlined = "function\n .rept 100000\n code 3\n .endr";
    for (main, more, expected) in [
        // Every inlined call holds the address.
        (inlined, "", (1_001, "")),
        ("function\n .fill 1000000, 1, 4", "", (1, "")),
        (".rept 50000\n function\n .endr", "", (1, "")),
        (of_ranges, ranges, (1, TOO_MUCH)),
        ("", units, (1, TOO_MUCH)),
        // This name is its own origin.
        (around, "", (1, "")),
    ] {
        check(&[], main, more, expected);
    }
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_a_thousandfold() {
    let zlib = ["-Wl,--compress-debug-sections=zlib"];
    let too_large = "expected a compressed section that holds at most 16777216 bytes, found one of \
                     20971566";
    // Debug information of some megabytes may be as repetitive as it likes.
    for (bytes, why) in [(4 << 20, ""), (20 << 20, too_large)] {
        let nothing = format!("function\n .fill {bytes}, 1, 4");
        check(&zlib, &nothing, "", (1, why));
    }
}
