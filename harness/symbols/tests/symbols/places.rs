//! Files that lie elsewhere by now, or are others by now: what a tool at the desk
//! meets, with a dump from another machine.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use crate::support::{Bench, HIDDEN, NO_NOTES, Process, has};
use plimsoll_symbols::{BuildId, Options};

const WITH_ID: [&str; 2] = ["-g", "-Wl,--build-id=0x0011"];

#[track_caller]
fn check_noted(process: &Process, options: &Options, note: &str) {
    let expected = format!("{HIDDEN}{NO_NOTES}{note}: its names may be wrong\n");
    assert_eq!(process.hidden(options), expected);
}

#[track_caller]
fn check_refused(process: &Process, options: &Options, note: &str) {
    let expected = format!("unresolved 2\n{note}: its addresses have no names\n");
    let said = process.hidden(options);
    assert!(said.ends_with(&expected), "{said}");
}

fn with_build_id(process: Process, id: &str) -> Process {
    process.each(|mapping| mapping.build_id = BuildId::parse(id))
}

fn exe(bench: &Bench, name: &str) -> Options {
    Options {
        exe: Some(bench.path(name)),
        ..Options::default()
    }
}

#[test]
fn the_program_elsewhere() {
    let bench = Bench::new();
    let process = bench.program(&["-g"]);
    bench.sh("mv program elsewhere");
    let options = exe(&bench, "elsewhere");
    process.assert_found(&options, "");
    // It was said which file to read, so it does not matter what became of the
    // other.
    let process = process.each(|mapping| {
        mapping.deleted = true;
        mapping.inode = Some(1);
    });
    process.assert_found(&options, "");
    // Its libraries are where they were.
    let process = bench.with_library(&["-g"]);
    process.assert_found(&exe(&bench, "nothing"), "");
}

#[test]
fn another_build() {
    let bench = Bench::new();
    let process = with_build_id(bench.program(&WITH_ID), "0022");
    let mut options = exe(&bench, "program");
    let other = "program is not the file that was mapped: expected build ID 0022, found 0011";
    check_refused(&process, &options, other);
    options.force = true;
    check_noted(&process, &options, other);
}

#[test]
fn deleted_and_there_again() {
    let bench = Bench::new();
    let process = bench.program(&WITH_ID).each(|it| it.deleted = true);
    let (refused, mut options) = ("program was deleted or replaced", Options::default());
    check_refused(&process, &options, refused);
    options.force = true;
    check_noted(&process, &options, refused);
    options.force = false;

    // A file with the same build ID is the same build.
    let process = with_build_id(process, "0011");
    process.assert_found(&options, "");
    let process = with_build_id(process, "0022");
    check_refused(&process, &options, refused);
    bench.sh("rm program");
    check_refused(&process, &options, refused);
}

#[test]
fn another_inode() {
    let bench = Bench::new();
    let options = Options::default();
    let process = bench.program(&WITH_ID);
    let inode = bench.path("program").metadata().unwrap().ino();
    let process = process.each(|mapping| mapping.inode = Some(inode));
    process.assert_found(&options, "");

    let process = process.each(|mapping| mapping.inode = Some(1));
    let note = format!(
        "program was replaced since, or is a copy: expected inode 1, found {inode}, and no build \
         ID is known"
    );
    check_noted(&process, &options, &note);
    // The build ID knows better.
    with_build_id(process, "0011").assert_found(&options, "");
}

#[test]
fn another_root() {
    let bench = Bench::new();
    let process = bench.with_library(&["-g"]);
    let library = bench.path("libfixture.so.1").canonicalize().unwrap();
    let root = bench.path("root");
    let inside = root.join(library.strip_prefix("/").unwrap());
    let options = Options {
        sysroot: Some(root.clone()),
        ..Options::default()
    };
    // Not this machine's instead.
    let missing = "libfixture.so.1 cannot be read: No such file or directory (os error 2)";
    check_refused(&process, &options, missing);
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::create_dir_all(root.join("store")).unwrap();
    fs::rename(&library, root.join("store/real.so")).unwrap();
    symlink("/store/real.so", &inside).unwrap();
    process.assert_found(&options, "");
}

/// By their build ID, or by a link to them.
#[test]
fn debug_files_in_any_layout() {
    let id = "-Wl,--build-id=0x00112233";
    for (id, debug, has_link) in [
        (id, "debug/00/112233.debug", false),
        (id, "debug/.build-id/00/112233.debug", false),
        (id, "debug/00112233/debuginfo", false),
        (id, "debug/libfixture.so.1.debug", false),
        (id, "debug/libfixture.so.1", false),
        (id, ".debug/libfixture.debug", true),
        ("-Wl,--build-id=none", "libfixture.debug", true),
        ("-Wl,--build-id=none", "debug/libfixture.debug", true),
    ] {
        let bench = Bench::new();
        let process = bench.with_library(&["-g", id]);
        fs::create_dir_all(bench.path(debug).parent().unwrap()).unwrap();
        let mut script = format!("objcopy --only-keep-debug $f {debug}; strip $f");
        if has_link {
            script += &format!("; objcopy --add-gnu-debuglink={debug} $f");
        }
        bench.sh(&format!("f=libfixture.so.1; {script}"));
        let options = Options {
            debug_directories: vec![bench.path("nothing"), bench.path("debug")],
            ..Options::default()
        };
        process.assert_found(&options, debug);
        let is_lost = |options: &Options| {
            let table = process.symbolize_with(options);
            assert_eq!(table.without_debug_info, 1, "{debug}");
        };
        // Debug files are read only if that was asked for.
        is_lost(&Options::default());
        // A stripped copy has the ID and nothing else.
        if debug == "debug/libfixture.so.1" {
            bench.sh("cp libfixture.so.1 debug");
            is_lost(&options);
        }
        // A file of another build is not taken.
        bench.cc(debug, &["-g", "-shared", "-fPIC", "library.c"]);
        is_lost(&options);
    }
}

#[test]
fn a_debug_link_under_another_root() {
    let bench = Bench::new();
    let process = bench.with_library(&["-g", "-Wl,--build-id=none"]);
    bench.sh("objcopy --only-keep-debug libfixture.so.1 fixture.debug
         objcopy --strip-all --add-gnu-debuglink=fixture.debug libfixture.so.1
         mkdir -p root$PWD debug$PWD
         mv libfixture.so.1 root$PWD
         mv fixture.debug debug$PWD");
    let options = Options {
        sysroot: Some(bench.path("root")),
        ..bench.searching()
    };
    process.assert_found(&options, "");
}

#[test]
fn a_symbol_table_that_is_compressed() {
    if !has("xz") {
        return;
    }
    let bench = Bench::new();
    let process = bench.program(&["-g"]);
    bench.sh("objcopy --only-keep-debug program debug
         objcopy --strip-debug debug mini
         xz mini
         objcopy -S --add-section .gnu_debugdata=mini.xz program");
    let said = process.hidden(&bench.searching());
    let offset = process.offset("hidden", "program");
    let expected = match cfg!(feature = "minidebuginfo") {
        true => {
            "hidden\nwithout debug info 2, unresolved 0\n\
             program has no debug information: names from its symbol table\n"
        }
        false => &format!(
            "{offset}without debug info 0, unresolved 2\n\
             the symbol table of program is in its section .gnu_debugdata, which this build does \
             not read\nprogram has no debug information: these addresses have no names\n"
        ),
    };
    assert_eq!(said, expected);
}
