//! Debug information that is spread over several files: split DWARF, and what
//! `dwz` moved out.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use plimsoll_symbols::Options;
use support::{Bench, Process, has, summary};

const HIDDEN: &str = "\
keep library.c:8
hidden library.c:14
";
const NO_NOTES: &str = "without debug info 0, unresolved 0\n";

fn searching(bench: &Bench) -> Options {
    Options {
        debug_directories: vec![bench.path("debug")],
        ..Options::default()
    }
}

#[track_caller]
fn resolved(process: &Process, options: &Options) -> String {
    let table = process.symbolize_with(options);
    process.shown(&table, "hidden") + &summary(&table)
}

/// The program, and the `.dwo` file of `library.c`.
fn split(bench: &Bench, flags: &[&str]) -> (Process, PathBuf) {
    for source in ["main", "library"] {
        let (object, source) = (format!("{source}.o"), format!("{source}.c"));
        let compile = ["-g", "-gsplit-dwarf", "-c", &source];
        bench.cc(&object, &[flags, &compile].concat());
    }
    let program = bench.cc("program", &["main.o", "library.o"]);
    (bench.start(&program), bench.path("library.dwo"))
}

#[test]
fn dwo_files() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let bench = Bench::new();
        let (process, dwo) = split(&bench, &[version]);
        let options = searching(&bench);
        let without = |but: &str| {
            format!(
                "hidden\nwithout debug info 2, unresolved 0\nsome debug information of program \
                 is in separate .dwo files, which {but}\n"
            )
        };
        let located = |text: &str| text.replace(" library.c:8", "");
        assert_eq!(
            located(&resolved(&process, &Options::default())),
            without("are not read"),
            "{version}"
        );
        let found = format!("{HIDDEN}{NO_NOTES}");
        assert_eq!(resolved(&process, &options), found, "{version}");

        // Elsewhere than where it was compiled.
        fs::create_dir(bench.path("debug")).unwrap();
        let moved = bench.path("debug/library.dwo");
        fs::rename(&dwo, &moved).unwrap();
        assert_eq!(resolved(&process, &options), found, "{version}");

        // Of another build.
        let other = Bench::new();
        let (_, other) = split(&other, &[version, "-O2"]);
        fs::copy(other, &dwo).unwrap();
        assert_eq!(resolved(&process, &options), found, "{version}");
        fs::remove_file(&moved).unwrap();
        assert_eq!(
            located(&resolved(&process, &options)),
            without("were not found"),
            "{version}"
        );
        fs::remove_file(&dwo).unwrap();
        assert_eq!(
            located(&resolved(&process, &options)),
            without("were not found"),
            "{version}"
        );
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
        let (process, dwo) = split(&bench, &[version]);
        bench.run(Command::new(tool).args(["-e", "program", "-o", "program.dwp"]));
        fs::remove_file(dwo).unwrap();
        let found = format!("{HIDDEN}{NO_NOTES}");
        let options = searching(&bench);
        assert_eq!(resolved(&process, &options), found, "{tool} {version}");

        fs::create_dir(bench.path("debug")).unwrap();
        fs::rename(bench.path("program.dwp"), bench.path("debug/program.dwp")).unwrap();
        assert_eq!(resolved(&process, &options), found, "{tool} {version}");

        // A damaged package costs names.
        let bytes = fs::read(bench.path("debug/program.dwp")).unwrap();
        for length in (1..bytes.len()).step_by(101) {
            fs::write(bench.path("debug/program.dwp"), &bytes[..length]).unwrap();
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
        let table = process.symbolize_with(&searching(&bench));
        assert_eq!(
            process.shown(&table, "in_closure"),
            "program::call program.rs:25\n\
             program::in_closure::{closure#0} program.rs:42\n\
             program::with::<program::in_closure::{closure#0}> program.rs:37\n\
             program::in_closure program.rs:42\n",
            "{split}"
        );
        assert_eq!(summary(&table), NO_NOTES, "{split}");
    }
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
    bench.run(Command::new("dwz").args(["-m", "common", "-M", "common", "program", "twin"]));
    let process = bench.start(&program);
    let options = searching(&bench);
    let found = format!("{HIDDEN}{NO_NOTES}");
    assert_eq!(resolved(&process, &options), found);

    let common = bench.path("common");
    let id = plimsoll_symbols::build_id(&common)
        .unwrap()
        .unwrap()
        .to_string();
    let debug = bench.path("debug/.build-id").join(&id[..2]);
    fs::create_dir_all(&debug).unwrap();
    fs::rename(&common, debug.join(format!("{}.debug", &id[2..]))).unwrap();
    assert_eq!(resolved(&process, &options), found);

    fs::remove_dir_all(bench.path("debug")).unwrap();
    let without = resolved(&process, &options);
    assert!(without.contains("hidden"), "{without}");
    assert!(
        without.ends_with("some debug information of program is in common, which was not found\n"),
        "{without}"
    );
}
