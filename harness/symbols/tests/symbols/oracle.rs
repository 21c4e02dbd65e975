//! What `addr2line` says of every address, for programs that mean well.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{Bench, START, lookup};
use addr2line::gimli::{self, EndianSlice, RunTimeEndian};
use object::{Object, ObjectSection};
use plimsoll_core::Avma;

/// File and line of each frame, by each address of the code.
#[track_caller]
fn check(path: &Path) {
    let bytes = fs::read(path).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let sections = gimli::DwarfSections::load(|id| -> Result<_, object::Error> {
        match object.section_by_name(id.name()) {
            Some(section) => section.data(),
            None => Ok(&[][..]),
        }
    });
    let sections = sections.unwrap();
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, RunTimeEndian::Little));
    let context = addr2line::Context::from_dwarf(dwarf).unwrap();

    let text = object.section_by_name(".text").unwrap();
    let (offset, size) = text.file_range().unwrap();
    // Not all of a large one.
    let step = usize::try_from(size / 4_000 + 1).unwrap();
    let addresses: Vec<u64> = (0..size).step_by(step).collect();
    let avma = |at: u64| Avma(START + offset + at + 1);
    let wanted: BTreeSet<Avma> = addresses.iter().map(|at| avma(*at)).collect();
    let table = lookup(path, &wanted);
    let mut inlined = 0;
    for at in addresses {
        let lookup = context.find_frames(text.address() + at);
        let mut frames = lookup.skip_all_loads().unwrap();
        let mut expected = Vec::new();
        let mut named = false;
        while let Some(frame) = frames.next().unwrap() {
            named = frame.function.is_some();
            let location = frame.location.as_ref();
            let file = location.and_then(|place| place.file).map(str::to_owned);
            expected.push((file, location.and_then(|place| place.line)));
        }
        inlined += expected.len().saturating_sub(1);
        // Padding between functions has a line at most, and no name to show it by.
        if !named {
            continue;
        }
        let found = table.get(avma(at)).iter();
        let found: Vec<_> = found
            .map(|frame| (frame.file.clone(), frame.line))
            .collect();
        assert_eq!(found, expected, "{:#x}", text.address() + at);
    }
    assert!(inlined > 0, "nothing was inlined");
}

#[test]
fn c() {
    for flags in [
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf-5 -gdwarf64",
        "-g -O2 -flto -ffunction-sections -Wl,--gc-sections",
        "-g -fdebug-types-section",
        "-g1 -O3",
    ] {
        let arguments: Vec<&str> = flags.split(' ').chain(["main.c", "library.c"]).collect();
        check(&Bench::new().cc("program", &arguments));
    }
}

#[test]
fn cpp() {
    check(&Bench::new().cc("program", &["-g", "-O2", "program.cpp", "-lstdc++"]));
}

#[test]
fn rust() {
    for flags in [
        &["-Cdebuginfo=2"][..],
        &["-Cdebuginfo=line-tables-only"],
        &["-Cdebuginfo=1"],
        &["-Cdebuginfo=2", "-Zunstable-options", "-Zdwarf-version=5"],
    ] {
        check(&Bench::new().rustc(flags));
    }
}
