//! C programs and libraries: addresses that differ from file offsets, libraries
//! with and without symbols, files that are not what they were.

use crate::support::{Bench, HIDDEN, NO_NOTES, Process};
use plimsoll_core::Avma;
use plimsoll_symbols::{BuildId, MappedFile, Options, symbolize};

#[track_caller]
fn said(process: &Process) -> String {
    process.resolved(&Options::default(), &["hidden", "exported"])
}

#[track_caller]
fn check_full(process: &Process) {
    let exported = "fixture_exported library.c:26\n";
    assert_eq!(said(process), format!("{HIDDEN}{exported}{NO_NOTES}"));
}

/// Every address by its offset, and this note.
#[track_caller]
fn check_unnamed(process: &Process, note: &str) {
    let [hidden, exported] = ["hidden", "exported"].map(|label| process.offset(label, "program"));
    let summary = format!("without debug info 0, unresolved 2\n{note}\n");
    assert_eq!(said(process), hidden + &exported + &summary);
}

/// A program may be position-independent or not, and mapped at the offsets of the file or elsewhere.
/// The order of the mappings changes nothing.
#[test]
fn names_and_lines_wherever_code_is() {
    for flags in [["-g", "-fPIE", "-pie"], ["-g", "-fno-pie", "-no-pie"]] {
        check_full(&Bench::new().program(&flags));
    }
    for flags in [&["-g"][..], &["-g", "-Wl,-Ttext-segment=0x200000"]] {
        let bench = Bench::new();
        let mut process = bench.with_library(flags);
        check_full(&process);
        process.mappings.reverse();
        check_full(&process);
    }
}

const BY_SYMBOLS: &str = "libfixture.so.1 has no debug information: names from its symbol table";

#[test]
fn names_of_a_symbol_table() {
    for (flags, has_hidden) in [
        (&["-g0"][..], true),
        // What is stripped has what it exports.
        (&["-s"], false),
        (&["-s", "-Wl,-Ttext-segment=0x200000"], false),
    ] {
        let bench = Bench::new();
        let process = bench.with_library(flags);
        let offset = process.offset("hidden", "libfixture.so.1");
        let (hidden, counts) = match has_hidden {
            true => ("hidden\n", "2, unresolved 0"),
            false => (&*offset, "1, unresolved 1"),
        };
        let expected =
            format!("{hidden}fixture_exported\nwithout debug info {counts}\n{BY_SYMBOLS}\n");
        assert_eq!(said(&process), expected);
    }
}

#[test]
fn stripped_program() {
    for flags in [["-s", "-fPIE", "-pie"], ["-s", "-fno-pie", "-no-pie"]] {
        let note = "program has no debug information: these addresses have no names";
        check_unnamed(&Bench::new().program(&flags), note);
    }
}

#[test]
fn compressed_sections() {
    // The last is `.zdebug_info` and so on, which without the feature are sections like any other.
    let formats = ["zlib", "zstd", "zlib-gnu"];
    let is_read = cfg!(feature = "compressed");
    for format in &formats[..2 + usize::from(is_read)] {
        let bench = Bench::new();
        let flag = format!("-Wl,--compress-debug-sections={format}");
        let process = bench.with_library(&["-g", &flag]);
        if is_read {
            check_full(&process);
            continue;
        }
        let expected = "hidden\nwithout debug info 2, unresolved 0\n\
             the debug information of libfixture.so.1 is compressed, which this build does not \
             read: names from its symbol table\n";
        assert_eq!(process.hidden(&Options::default()), expected, "{format}");
    }
}

#[test]
fn cpp_names() {
    for (flag, line) in [("-g", " program.cpp:10"), ("-g0", "")] {
        let bench = Bench::new();
        let program = bench.cc("program", &[flag, "program.cpp", "-lstdc++"]);
        let process = bench.start(&program);
        let name = match cfg!(feature = "cpp") {
            true => "store::Cache<int>::put(int, char const*)",
            false => "_ZN5store5CacheIiE3putEiPKc",
        };
        let put = process.shown(&process.symbolize(), "put");
        assert_eq!(put, format!("{name}{line}\n"));
    }
}

#[test]
fn a_deleted_file_that_is_still_elsewhere() {
    let bench = Bench::new();
    let process = bench.program(&["-g"]).each(|it| it.deleted = true);
    bench.sh("mv program elsewhere");
    let elsewhere = bench.path("elsewhere");
    check_full(&process.each(|mapping| mapping.open = Some(elsewhere.clone())));
}

#[test]
fn files_that_are_none() {
    let bench = Bench::new();
    let process = bench.program(&["-g"]);
    let missing = "cannot be read: No such file or directory (os error 2)";
    let not_a_file = "is not a regular file with contents";
    let no_elf = "is not a readable ELF file: Could not read file magic";
    for (script, why) in [
        ("rm program", missing),
        ("mkdir program", not_a_file),
        ("rmdir program; touch program", not_a_file),
        ("rm program; mkfifo program", not_a_file),
        ("rm program; echo '#!/bin/sh' > program", no_elf),
    ] {
        bench.sh(script);
        let note = format!("program {why}: its addresses have no names");
        check_unnamed(&process, &note);
    }
}

#[test]
fn build_ids() {
    let bench = Bench::new();
    let process = bench.program(&["-g", "-Wl,--build-id=0x00112233aabb"]);
    let found = bench.build_id("program");
    assert_eq!(found.as_ref().unwrap().to_string(), "00112233aabb");
    check_full(&process.each(|mapping| mapping.build_id = found.clone()));

    let process = bench.program(&["-Wl,--build-id=none"]);
    assert_eq!(bench.build_id("program"), None);
    let other = process.each(|mapping| mapping.build_id = BuildId::parse("0011"));
    let why = "program is not the file that was mapped: expected build ID 0011, found none: its \
               addresses have no names";
    check_unnamed(&other, why);
}

#[test]
fn memory_without_a_file() {
    let mappings = [
        (0x5000, "[vdso]"),
        (0x1000, ""),
        (0x3000, "[anon:.bss]"),
        (0x7000, "[stack:123]"),
    ];
    let mappings = mappings.map(|(start, path)| MappedFile {
        start,
        end: start + 0x1000,
        path: path.into(),
        ..MappedFile::default()
    });
    // A return address belongs to the call before it.
    let expected = [
        (0, "[unmapped]"),
        (1, "[unmapped]"),
        (0x1000, "[unmapped]"),
        (0x1001, "[anonymous]"),
        (0x2000, "[anonymous]"),
        (0x2001, "[unmapped]"),
        (0x3800, "[anonymous]"),
        (0x5001, "[vdso]"),
        (0x7001, "[anonymous]"),
        (u64::MAX, "[unmapped]"),
    ];
    let addresses = expected.map(|(address, _)| Avma(address)).into();
    let table = symbolize(&mappings, &addresses, &Options::default());
    let found = table
        .frames
        .iter()
        .map(|(address, frames)| (address.0, frames[0].function.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(table.unresolved, expected.len());
}
