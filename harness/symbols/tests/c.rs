//! C programs and libraries: addresses that differ from file offsets, libraries
//! with and without symbols, files that are not what they were.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_core::Avma;
use plimsoll_symbols::{MappedFile, Options, build_id, symbolize};
use support::{Bench, Process, summary};

const HIDDEN: &str = "\
keep library.c:8
hidden library.c:14
";
const EXPORTED: &str = "fixture_exported library.c:26\n";

/// The program with its library in one file.
fn program(bench: &Bench, flags: &[&str]) -> Process {
    let program = bench.cc("program", &[flags, &["main.c", "library.c"]].concat());
    bench.start(&program)
}

/// The program with `libfixture.so.1`.
fn with_library(bench: &Bench, flags: &[&str]) -> Process {
    let program = build_with_library(bench, flags);
    bench.start(&program)
}

fn build_with_library(bench: &Bench, flags: &[&str]) -> std::path::PathBuf {
    let shared = [
        "-shared",
        "-fPIC",
        "-Wl,-soname,libfixture.so.1",
        "library.c",
    ];
    bench.cc("libfixture.so.1", &[flags, &shared].concat());
    bench.cc("program", &["main.c", "libfixture.so.1"])
}

#[track_caller]
fn check_full(process: &Process) {
    let table = process.symbolize();
    assert_eq!(process.shown(&table, "hidden"), HIDDEN);
    assert_eq!(process.shown(&table, "exported"), EXPORTED);
    assert_eq!(summary(&table), "without debug info 0, unresolved 0\n");
}

#[test]
fn position_independent() {
    check_full(&program(&Bench::new(), &["-g", "-fPIE", "-pie"]));
}

#[test]
fn at_a_fixed_address() {
    check_full(&program(&Bench::new(), &["-g", "-fno-pie", "-no-pie"]));
}

#[test]
fn shared_library() {
    check_full(&with_library(&Bench::new(), &["-g"]));
}

#[test]
fn shared_library_whose_addresses_are_not_its_offsets() {
    check_full(&with_library(
        &Bench::new(),
        &["-g", "-Wl,-Ttext-segment=0x200000"],
    ));
}

#[test]
fn symbol_table_only() {
    let bench = Bench::new();
    let process = with_library(&bench, &["-g0"]);
    let table = process.symbolize();
    assert_eq!(process.shown(&table, "hidden"), "hidden\n");
    assert_eq!(process.shown(&table, "exported"), "fixture_exported\n");
    assert_eq!(
        summary(&table),
        "without debug info 2, unresolved 0\n\
         libfixture.so.1 has no debug information: names from its symbol table\n"
    );
}

#[test]
fn stripped_library_has_what_it_exports() {
    for flags in [&["-s"][..], &["-s", "-Wl,-Ttext-segment=0x200000"]] {
        let bench = Bench::new();
        let process = with_library(&bench, flags);
        let table = process.symbolize();
        let relative = process.addresses["hidden"].0 - process.start_of("libfixture.so.1");
        assert_eq!(
            process.shown(&table, "hidden"),
            format!("libfixture.so.1+{relative:#x}\n")
        );
        assert_eq!(process.shown(&table, "exported"), "fixture_exported\n");
        assert_eq!(
            summary(&table),
            "without debug info 1, unresolved 1\n\
             libfixture.so.1 has no debug information: names from its symbol table\n"
        );
    }
}

#[test]
fn stripped_program() {
    for flags in [&["-s", "-fPIE", "-pie"][..], &["-s", "-fno-pie", "-no-pie"]] {
        let bench = Bench::new();
        let process = program(&bench, flags);
        let table = process.symbolize();
        for label in ["hidden", "exported"] {
            let relative = process.addresses[label].0 - process.start_of("program");
            assert_eq!(
                process.shown(&table, label),
                format!("program+{relative:#x}\n")
            );
        }
        assert_eq!(
            summary(&table),
            "without debug info 0, unresolved 2\n\
             program has no debug information: these addresses have no names\n"
        );
    }
}

#[test]
fn compressed_sections() {
    for format in ["zlib", "zstd"] {
        let bench = Bench::new();
        let flag = format!("-Wl,--compress-debug-sections={format}");
        let process = with_library(&bench, &["-g", &flag]);
        if cfg!(feature = "compressed") {
            check_full(&process);
            continue;
        }
        let table = process.symbolize();
        assert_eq!(process.shown(&table, "hidden"), "hidden\n", "{format}");
        assert_eq!(
            summary(&table),
            "without debug info 2, unresolved 0\n\
             the debug information of libfixture.so.1 is compressed, which this build does not \
             read: names from its symbol table\n",
            "{format}"
        );
    }
}

/// `.zdebug_info` and so on, which without the feature are sections like any other.
#[cfg(feature = "compressed")]
#[test]
fn compressed_sections_by_name() {
    let bench = Bench::new();
    let flags = ["-g", "-Wl,--compress-debug-sections=zlib-gnu"];
    check_full(&with_library(&bench, &flags));
}

#[test]
fn cpp_names() {
    for flags in [&["-g"][..], &["-g0"]] {
        let bench = Bench::new();
        let program = bench.cc("program", &[flags, &["program.cpp", "-lstdc++"]].concat());
        let process = bench.start(&program);
        let table = process.symbolize();
        let name = if cfg!(feature = "cpp") {
            "store::Cache<int>::put(int, char const*)"
        } else {
            "_ZN5store5CacheIiE3putEiPKc"
        };
        let line = if flags == ["-g"] {
            " program.cpp:10"
        } else {
            ""
        };
        assert_eq!(process.shown(&table, "put"), format!("{name}{line}\n"));
    }
}

/// Every address by its offset, and this note.
#[track_caller]
fn check_unnamed(process: &Process, note: &str) {
    let table = process.symbolize();
    for label in ["hidden", "exported"] {
        let relative = process.addresses[label].0 - process.start_of("program");
        assert_eq!(
            process.shown(&table, label),
            format!("program+{relative:#x}\n")
        );
    }
    assert_eq!(
        summary(&table),
        format!("without debug info 0, unresolved 2\n{note}\n")
    );
}

#[test]
fn deleted_file() {
    let bench = Bench::new();
    let process = program(&bench, &["-g"]).each(|mapping| mapping.deleted = true);
    check_unnamed(
        &process,
        "program was deleted or replaced: its addresses have no names",
    );
}

#[test]
fn deleted_file_that_is_still_elsewhere() {
    let bench = Bench::new();
    let process = program(&bench, &["-g"]);
    let elsewhere = bench.path("elsewhere");
    fs::rename(bench.path("program"), &elsewhere).unwrap();
    check_full(&process.each(|mapping| {
        mapping.deleted = true;
        mapping.open = Some(elsewhere.clone());
    }));
}

#[test]
fn files_that_are_none() {
    let bench = Bench::new();
    let process = program(&bench, &["-g"]);
    let path = bench.path("program");

    fs::remove_file(&path).unwrap();
    check_unnamed(
        &process,
        "program cannot be read: No such file or directory (os error 2): \
         its addresses have no names",
    );

    let not_a_file = "program is not a regular file with contents: its addresses have no names";
    fs::create_dir(&path).unwrap();
    check_unnamed(&process, not_a_file);

    fs::remove_dir(&path).unwrap();
    fs::write(&path, "").unwrap();
    check_unnamed(&process, not_a_file);

    fs::remove_file(&path).unwrap();
    bench.run(Command::new("mkfifo").arg(&path));
    check_unnamed(&process, not_a_file);

    fs::remove_file(&path).unwrap();
    fs::write(&path, "#!/bin/sh\n").unwrap();
    check_unnamed(
        &process,
        "program is not a readable ELF file: Could not read file magic: \
         its addresses have no names",
    );
}

#[test]
fn build_ids() {
    let bench = Bench::new();
    let process = program(&bench, &["-g", "-Wl,--build-id=0x00112233aabb"]);
    let found = build_id(&bench.path("program"))
        .unwrap()
        .expect("one was asked for");
    assert_eq!(found.to_string(), "00112233aabb");

    let process = process.each(|mapping| mapping.build_id = Some(found.clone()));
    check_full(&process);
    let process = process.each(|mapping| mapping.build_id = Some("0011".parse().unwrap()));
    check_unnamed(
        &process,
        "program is not the file that was mapped: expected build ID 0011, found 00112233aabb: \
         its addresses have no names",
    );

    let process = program(&bench, &["-Wl,--build-id=none"])
        .each(|mapping| mapping.build_id = Some("0011".parse().unwrap()));
    assert_eq!(build_id(&bench.path("program")).unwrap(), None);
    check_unnamed(
        &process,
        "program is not the file that was mapped: expected build ID 0011, found none: \
         its addresses have no names",
    );
}

/// Splits the library's debug information off, to `debug`.
fn split(bench: &Bench, debug: &Path) {
    fs::create_dir_all(debug.parent().unwrap()).unwrap();
    let library = bench.path("libfixture.so.1");
    bench.run(
        Command::new("objcopy")
            .arg("--only-keep-debug")
            .args([&library, debug]),
    );
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(debug);
    bench.run(
        Command::new("objcopy")
            .arg("--strip-all")
            .arg(link)
            .arg(&library),
    );
}

#[test]
fn separate_debug_file() {
    for (id, debug) in [
        (
            "-Wl,--build-id=0x00112233aabb",
            "debug/.build-id/00/112233aabb.debug",
        ),
        ("-Wl,--build-id=0x00112233aabb", ".debug/libfixture.debug"),
        ("-Wl,--build-id=none", "libfixture.debug"),
    ] {
        let bench = Bench::new();
        let program = build_with_library(&bench, &["-g", id]);
        split(&bench, &bench.path(debug));
        let process = bench.start(&program);
        let options = Options {
            debug_directories: vec![bench.path("debug")],
            ..Options::default()
        };

        let table = process.symbolize_with(&options);
        assert_eq!(process.shown(&table, "hidden"), HIDDEN, "{debug}");
        assert_eq!(
            summary(&table),
            "without debug info 0, unresolved 0\n",
            "{debug}"
        );

        // Only where it was asked for.
        assert_eq!(process.symbolize().without_debug_info, 1, "{debug}");

        // And not where it is of another build.
        bench.cc(
            "other",
            &["-g", "-Wl,--build-id=0x0011", "main.c", "library.c"],
        );
        fs::rename(bench.path("other"), bench.path(debug)).unwrap();
        assert_eq!(
            process.symbolize_with(&options).without_debug_info,
            1,
            "{debug}"
        );
    }
}

#[test]
fn memory_without_a_file() {
    let mapping = |start, path: &str| MappedFile {
        start,
        end: start + 0x1000,
        path: path.into(),
        ..MappedFile::default()
    };
    let mappings = [
        mapping(0x5000, "[vdso]"),
        mapping(0x1000, ""),
        mapping(0x3000, "[anon:.bss]"),
        mapping(0x7000, "[stack:123]"),
    ];
    // A return address belongs to the call before it.
    let addresses = [
        0,
        1,
        0x1000,
        0x1001,
        0x2000,
        0x2001,
        0x3800,
        0x5001,
        0x7001,
        u64::MAX,
    ];
    let table = symbolize(&mappings, &addresses.map(Avma).into(), &Options::default());
    let lines = table
        .iter()
        .map(|(address, frames)| format!("{address} {}\n", frames[0].function));
    assert_eq!(
        lines.collect::<String>(),
        "0x0 [unmapped]\n\
         0x1 [unmapped]\n\
         0x1000 [unmapped]\n\
         0x1001 [anonymous]\n\
         0x2000 [anonymous]\n\
         0x2001 [unmapped]\n\
         0x3800 [anonymous]\n\
         0x5001 [vdso]\n\
         0x7001 [anonymous]\n\
         0xffffffffffffffff [unmapped]\n"
    );
    assert_eq!(table.unresolved, addresses.len());
}

#[test]
fn the_order_of_mappings_changes_nothing() {
    let bench = Bench::new();
    let process = with_library(&bench, &["-g"]);
    let expected = process.symbolize();
    let mut mappings = process.mappings.clone();
    mappings.reverse();
    assert_eq!(
        symbolize(&mappings, &process.wanted(), &Options::default()),
        expected
    );
}
