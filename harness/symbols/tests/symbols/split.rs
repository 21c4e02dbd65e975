//! Debug information that is spread over several files: split DWARF, and what
//! `dwz` moved out.

use std::fs;

use crate::support::{Bench, NO_NOTES, Process, has};
use plimsoll_symbols::Options;

/// The symbol's name, and no line: that may be of a function that was inlined into it.
#[track_caller]
fn check_lost(process: &Process, options: &Options, case: &str) {
    let expected = "hidden\nwithout debug info 2, unresolved 0\nsome debug information of program \
                    is in separate .dwo files, which were not found\n";
    assert_eq!(process.hidden(options), expected, "{case}");
}

/// The program; the `.dwo` file of `library.c` is beside it.
fn split(bench: &Bench, flags: &[&str]) -> Process {
    for source in ["main", "library"] {
        let (object, source) = (format!("{source}.o"), format!("{source}.c"));
        let compile = ["-g", "-gsplit-dwarf", "-c", &source];
        bench.cc(&object, &[flags, &compile].concat());
    }
    bench.start(&bench.cc("program", &["main.o", "library.o"]))
}

#[test]
fn dwo_files() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let bench = Bench::new();
        let process = split(&bench, &[version]);
        let options = bench.searching();
        process.assert_found(&Options::default(), version);
        process.assert_found(&options, version);

        // Elsewhere than where it was compiled.
        bench.sh("mkdir debug; mv library.dwo debug");
        check_lost(&process, &Options::default(), version);
        process.assert_found(&options, version);

        // Of another build.
        let other = Bench::new();
        split(&other, &[version, "-O2"]);
        fs::copy(other.path("library.dwo"), bench.path("library.dwo")).unwrap();
        process.assert_found(&options, version);
        for script in ["rm debug/library.dwo", "rm library.dwo"] {
            bench.sh(script);
            check_lost(&process, &options, version);
        }
    }
}

#[test]
fn dwp_packages() {
    for (tool, version) in [
        ("dwp", "-gdwarf-4"),
        ("llvm-dwp", "-gdwarf-4"),
        ("llvm-dwp", "-gdwarf-5"),
    ] {
        if !has(tool) {
            continue;
        }
        let bench = Bench::new();
        let process = split(&bench, &[version]);
        let options = bench.searching();
        let make = format!("{tool} -e program -o program.dwp; rm library.dwo");
        for script in [&make, "mkdir debug; mv program.dwp debug"] {
            bench.sh(script);
            process.assert_found(&options, &format!("{tool} {version}"));
        }

        // A damaged package costs names.
        let package = bench.path("debug/program.dwp");
        let bytes = fs::read(&package).unwrap();
        for length in (1..bytes.len()).step_by(101) {
            fs::write(&package, &bytes[..length]).unwrap();
            assert_eq!(process.symbolize_with(&options).unresolved, 0, "{length}");
        }
    }
}

#[test]
fn rust() {
    for split in ["packed", "unpacked"] {
        let bench = Bench::new();
        let option = format!("-Csplit-debuginfo={split}");
        let program = bench.rustc(&["-Cdebuginfo=2", &option, "-Csymbol-mangling-version=v0"]);
        let process = bench.start(&program);
        let frames = "program::call program.rs:25\n\
             program::in_closure::{closure#0} program.rs:42\n\
             program::with::<program::in_closure::{closure#0}> program.rs:37\n\
             program::in_closure program.rs:42\n";
        let said = process.resolved(&Options::default(), &["in_closure"]);
        assert_eq!(said, format!("{frames}{NO_NOTES}"), "{split}");
    }
}

/// Line tables have no entry for a function into which nothing was inlined.
#[test]
fn a_line_without_an_entry() {
    let flags = ["-Cdebuginfo=line-tables-only", "-Copt-level=0"];
    let said = |split: &str, remove: &str| {
        let bench = Bench::new();
        let program = bench.rustc(&[&flags[..], &[split]].concat());
        let process = bench.start(&program);
        bench.sh(remove);
        process.resolved(&Options::default(), &["plain_name"])
    };
    let known = format!("plain_name program.rs:49\n{NO_NOTES}");
    for split in ["off", "packed", "unpacked"] {
        let option = format!("-Csplit-debuginfo={split}");
        assert_eq!(said(&option, ""), known, "{split}");
    }
    let lost = "plain_name\nwithout debug info 3, unresolved 0\nsome debug information of program \
                is in separate .dwo files, which were not found\n";
    assert_eq!(said("-Csplit-debuginfo=unpacked", "rm *.dwo"), lost);
}

#[test]
fn what_dwz_moved_out() {
    if !has("dwz") {
        return;
    }
    let bench = Bench::new();
    let flags = ["-g", "-Wl,--build-id=sha1", "main.c", "library.c"];
    let program = bench.cc("program", &flags);
    bench.cc("twin", &[&["-DTWIN"][..], &flags].concat());
    bench.sh("dwz -m common -M common program twin");
    let process = bench.start(&program);
    let options = bench.searching();
    process.assert_found(&options, "beside it");

    let id = bench.build_id("common").unwrap().to_string();
    let (first, rest) = id.split_at(2);
    let folder = format!("debug/.build-id/{first}");
    let script = format!("mkdir -p {folder}; mv common {folder}/{rest}.debug");
    bench.sh(&script);
    process.assert_found(&options, "by its ID");

    bench.sh("rm -r debug");
    let without = process.hidden(&options);
    assert!(without.contains("hidden"), "{without}");
    let said = "some debug information of program is in common, which was not found\n";
    assert!(without.ends_with(said), "{without}");
}
