//! Files that lie elsewhere by now, or are others by now: what a tool at the desk
//! meets, with a dump from another machine.

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use plimsoll_symbols::{BuildId, Options, build_id};
use support::{Bench, Process, has, summary};

const HIDDEN: &str = "\
keep library.c:8
hidden library.c:14
";
const NO_NOTES: &str = "without debug info 0, unresolved 0\n";

fn program(bench: &Bench, flags: &[&str]) -> Process {
    let program = bench.cc("program", &[flags, &["-g", "main.c", "library.c"]].concat());
    bench.start(&program)
}

fn with_library(bench: &Bench, flags: &[&str]) -> Process {
    let shared = ["-g", "-shared", "-fPIC", "-Wl,-soname,libfixture.so.1"];
    bench.cc(
        "libfixture.so.1",
        &[flags, &shared, &["library.c"]].concat(),
    );
    bench.start(&bench.cc("program", &["main.c", "libfixture.so.1"]))
}

/// The frames of the hidden function, and all that is said.
#[track_caller]
fn resolved(process: &Process, options: &Options) -> String {
    let table = process.symbolize_with(options);
    process.shown(&table, "hidden") + &summary(&table)
}

#[track_caller]
fn check_found(process: &Process, options: &Options) {
    assert_eq!(resolved(process, options), format!("{HIDDEN}{NO_NOTES}"));
}

fn with_build_id(process: Process, id: &BuildId) -> Process {
    process.each(|mapping| mapping.build_id = Some(id.clone()))
}

#[test]
fn the_program_elsewhere() {
    let bench = Bench::new();
    let process = program(&bench, &[]);
    let elsewhere = bench.path("elsewhere");
    fs::rename(bench.path("program"), &elsewhere).unwrap();
    let options = Options {
        exe: Some(elsewhere),
        ..Options::default()
    };
    check_found(&process, &options);
    // It was said which file to read, so it does not matter what became of the
    // other.
    check_found(
        &process.each(|mapping| {
            mapping.deleted = true;
            mapping.inode = Some(1);
        }),
        &options,
    );
}

#[test]
fn the_program_is_not_its_libraries() {
    let bench = Bench::new();
    let process = with_library(&bench, &[]);
    let options = Options {
        exe: Some(bench.path("nothing")),
        ..Options::default()
    };
    check_found(&process, &options);
}

#[test]
fn another_build() {
    let bench = Bench::new();
    let process = program(&bench, &["-Wl,--build-id=0x0011"]);
    let process = with_build_id(process, &"0022".parse().unwrap());
    let mut options = Options {
        exe: Some(bench.path("program")),
        ..Options::default()
    };
    let other = "program is not the file that was mapped: expected build ID 0022, found 0011";
    assert!(resolved(&process, &options).ends_with(&format!(
        "unresolved 2\n{other}: its addresses have no names\n"
    )));
    options.force = true;
    assert_eq!(
        resolved(&process, &options),
        format!("{HIDDEN}{NO_NOTES}{other}: its names may be wrong\n")
    );
}

#[test]
fn deleted_and_there_again() {
    let bench = Bench::new();
    let process = program(&bench, &["-Wl,--build-id=0x0011"]);
    let process = process.each(|mapping| mapping.deleted = true);
    let refused = "unresolved 2\nprogram was deleted or replaced: its addresses have no names\n";
    assert!(resolved(&process, &Options::default()).ends_with(refused));
    let force = Options {
        force: true,
        ..Options::default()
    };
    assert_eq!(
        resolved(&process, &force),
        format!("{HIDDEN}{NO_NOTES}program was deleted or replaced: its names may be wrong\n")
    );

    // A file with the same build ID is the same build.
    let process = with_build_id(process, &"0011".parse().unwrap());
    check_found(&process, &Options::default());
    let process = with_build_id(process, &"0022".parse().unwrap());
    assert!(resolved(&process, &Options::default()).ends_with(refused));
    fs::remove_file(bench.path("program")).unwrap();
    assert!(resolved(&process, &Options::default()).ends_with(refused));
}

#[test]
fn another_inode() {
    let bench = Bench::new();
    let process = program(&bench, &["-Wl,--build-id=0x0011"]);
    let inode = bench.path("program").metadata().unwrap().ino();
    let process = process.each(|mapping| mapping.inode = Some(inode));
    check_found(&process, &Options::default());

    let process = process.each(|mapping| mapping.inode = Some(1));
    assert_eq!(
        resolved(&process, &Options::default()),
        format!(
            "{HIDDEN}{NO_NOTES}program was replaced since, or is a copy: expected inode 1, \
             found {inode}, and no build ID is known: its names may be wrong\n"
        )
    );
    // The build ID knows better.
    let process = with_build_id(process, &"0011".parse().unwrap());
    check_found(&process, &Options::default());
}

#[test]
fn another_root() {
    let bench = Bench::new();
    let process = with_library(&bench, &[]);
    let library = bench.path("libfixture.so.1").canonicalize().unwrap();
    let root = bench.path("root");
    let inside = root.join(library.strip_prefix("/").unwrap());
    let options = Options {
        sysroot: Some(root.clone()),
        ..Options::default()
    };
    // Not this machine's instead.
    assert!(resolved(&process, &options).ends_with(
        "unresolved 2\nlibfixture.so.1 cannot be read: No such file or directory \
             (os error 2): its addresses have no names\n"
    ));
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::create_dir_all(root.join("store")).unwrap();
    fs::rename(&library, root.join("store/real.so")).unwrap();
    symlink("/store/real.so", &inside).unwrap();
    check_found(&process, &options);
}

#[test]
fn debug_files_in_any_layout() {
    for name in [
        "00/112233.debug",
        ".build-id/00/112233.debug",
        "00112233/debuginfo",
        "libfixture.so.1.debug",
        "libfixture.so.1",
    ] {
        let bench = Bench::new();
        let process = with_library(&bench, &["-Wl,--build-id=0x00112233"]);
        let library = bench.path("libfixture.so.1");
        let debug = bench.path("debug").join(name);
        fs::create_dir_all(debug.parent().unwrap()).unwrap();
        fs::copy(&library, &debug).unwrap();
        bench.run(Command::new("strip").arg(&library));
        let options = Options {
            debug_directories: vec![bench.path("nothing"), bench.path("debug")],
            ..Options::default()
        };
        check_found(&process, &options);

        // A stripped copy has the ID and nothing else.
        if name == "libfixture.so.1" {
            fs::copy(&library, &debug).unwrap();
            assert_eq!(process.symbolize_with(&options).without_debug_info, 1);
        }
        bench.cc("other.so", &["-g", "-shared", "-fPIC", "library.c"]);
        fs::rename(bench.path("other.so"), &debug).unwrap();
        assert_eq!(process.symbolize_with(&options).without_debug_info, 1);
    }
}

#[test]
fn a_debug_link_under_another_root() {
    let bench = Bench::new();
    let process = with_library(&bench, &["-Wl,--build-id=none"]);
    let library = bench.path("libfixture.so.1");
    let debug = bench.path("fixture.debug");
    bench.run(
        Command::new("objcopy")
            .arg("--only-keep-debug")
            .args([&library, &debug]),
    );
    bench.run(
        Command::new("objcopy")
            .args(["--strip-all", "--add-gnu-debuglink=fixture.debug"])
            .arg(&library),
    );
    let inside = |root: &str, path: &Path| bench.path(root).join(path.strip_prefix("/").unwrap());
    for (from, to) in [
        (&library, inside("root", &library)),
        (&debug, inside("debug", &debug)),
    ] {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(from, to).unwrap();
    }
    let options = Options {
        sysroot: Some(bench.path("root")),
        debug_directories: vec![bench.path("debug")],
        ..Options::default()
    };
    check_found(&process, &options);
}

#[test]
fn the_build_id_of_a_dump_that_has_one() {
    let bench = Bench::new();
    let process = program(&bench, &["-Wl,--build-id=sha1"]);
    let id = build_id(&bench.path("program"))
        .unwrap()
        .expect("asked for");
    check_found(&with_build_id(process, &id), &Options::default());
}

#[test]
fn a_symbol_table_that_is_compressed() {
    if !has("xz") {
        return;
    }
    let bench = Bench::new();
    let process = program(&bench, &[]);
    let tool = |tool: &str, arguments: &[&str]| bench.run(Command::new(tool).args(arguments));
    tool("objcopy", &["--only-keep-debug", "program", "debug"]);
    tool("objcopy", &["--strip-debug", "debug", "mini"]);
    tool("xz", &["mini"]);
    tool(
        "objcopy",
        &["-S", "--add-section", ".gnu_debugdata=mini.xz", "program"],
    );
    let options = Options {
        debug_directories: vec![bench.path("nothing")],
        ..Options::default()
    };
    let table = process.symbolize_with(&options);
    if cfg!(feature = "minidebuginfo") {
        assert_eq!(process.shown(&table, "hidden"), "hidden\n");
        assert_eq!(
            summary(&table),
            "without debug info 2, unresolved 0\n\
             program has no debug information: names from its symbol table\n"
        );
    } else {
        assert_eq!(
            summary(&table),
            "without debug info 0, unresolved 2\n\
             the symbol table of program is in its section .gnu_debugdata, which this build does \
             not read\nprogram has no debug information: these addresses have no names\n"
        );
    }
}
