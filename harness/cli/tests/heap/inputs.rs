//! What is read, and from where.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use plimsoll_core::{Avma, Counts, Tally};
use plimsoll_profile::write::{About, pprof};
use plimsoll_profile::{
    Filter, Frames, Granularity, Location, MappedObject, Measure, Names, ProfileBuilder, View,
};

use crate::{Folder, dump, plimsoll, plimsoll_with, skipped};

fn folded(file: &str) -> String {
    plimsoll(&["show", "--folded", "--addresses", file]).done()
}

#[test]
fn what_it_is_tells_its_bytes_and_not_its_name() {
    let folder = Folder::new();
    let text = dump(1, "3 3072 0x10 0x20\n1 64 0x30 0x20");
    let expected = "0x20;0x10 3072\n0x20;0x30 64\n";
    let gzip = |content: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(content).unwrap();
        writer.finish().unwrap()
    };
    let zstd = |content: &[u8]| {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(content, CompressionLevel::Fastest)
    };
    let plain = text.as_bytes().to_vec();
    let with_returns = text.replace('\n', "\r\n").into_bytes();
    for (name, content) in [
        ("a.pb.gz", plain.clone()),
        ("b.svg", with_returns),
        ("c.heap", gzip(&plain)),
        ("d.txt", zstd(&plain)),
        ("e.zst", gzip(&zstd(&plain))),
    ] {
        assert_eq!(folded(&folder.file(name, &content)), expected, "{name}");
        let piped = plimsoll_with(&content, &["show", "--folded", "--addresses", "-"]);
        assert_eq!(piped.done(), expected, "{name} on standard input");
    }
    let stacks = "main;parse;push 4096\nmain;parse;push 4\n# a note\n\nmain 1\n";
    let file = folder.file("f.heap", stacks);
    assert_eq!(
        plimsoll(&["show", "--folded", &file]).done(),
        "main 1\nmain;parse;push 4100\n"
    );
}

/// As `pzstd` writes them, and `cat` puts them together.
#[test]
fn every_frame_of_zstd() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let folder = Folder::new();
    let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"other"].concat();
    let frames = [frame("main;a 100\nmain;"), frame("b 5\n")].concat();
    let whole = [&skipped[..], &frames, &skipped].concat();
    let folded = |content: &[u8]| plimsoll(&["show", "--folded", &folder.file("a", content)]);
    assert_eq!(folded(&whole).done(), "main;a 100\nmain;b 5\n");

    let mut other_sum = frames.clone();
    *other_sum.last_mut().unwrap() ^= 1;
    for (content, expected) in [
        (&[&frames[..], b"more"].concat()[..], "BadMagicNumber"),
        (&frames[..frames.len() - 6], "cannot be unpacked"),
        (&whole[..whole.len() - 2], "unexpected end of file"),
        (&other_sum, "its checksum is another one"),
    ] {
        let said = folded(content);
        assert_eq!((said.status, said.out.as_str()), (5, ""), "{expected}");
        assert!(said.err.contains(expected), "{}", said.err);
    }
}

/// A name may hold anything, and the line is one all the same.
#[test]
fn folded_stacks_from_an_editor() {
    let folder = Folder::new();
    let file = folder.file("a", "\u{feff}main;a 100\r\nmain;b 5\r\n".as_bytes());
    let shown = plimsoll(&["show", "--folded", &file]).done();
    assert_eq!(shown, "main;a 100\nmain;b 5\n");
}

#[test]
fn folded_stacks_with_control_characters() {
    let folder = Folder::new();
    let file = folder.file("a", b"main;\x1b[31mred\x00 7\nmain;\xff 5\n");
    let shown = plimsoll(&["show", "--folded", "--all-frames", &file]).done();
    assert_eq!(shown, "main;[31mred 7\nmain;\u{fffd} 5\n");
}

#[test]
fn names_that_a_dump_brings_along() {
    let folder = Folder::new();
    let text = dump(1, "3 3072 0x11 0x21\n1 64 0x31 0x21");
    let named = format!(
        "--- symbol\nbinary=/bin/x\n0x0000000000000010 leaf\n0x0000000000000020 outer--inlined\n\
         ---\n--- heap\n{text}"
    );
    let file = folder.file("raw.heap", named);
    let shown = plimsoll(&["show", "--folded", &file]).done();
    assert_eq!(shown, "outer;inlined;0x31 64\nouter;inlined;leaf 3072\n");
}

#[test]
fn mappings_of_a_mac() {
    let folder = Folder::new();
    let text = dump(1, "1 64 0x100000123 0x100000222");
    let file = folder.file(
        "mac.heap",
        format!("{text}0000000100000000-0000000100008000: /usr/bin/it\n"),
    );
    let shown = plimsoll(&["show", "--folded", &file]).done();
    assert_eq!(shown, "it+0x222;it+0x123 64\n");
}

#[test]
fn errors_name_the_file_the_line_and_what_was_expected() {
    let folder = Folder::new();
    let whole = dump(1, "3 3072 0x10 0x20");
    let cases: [(&str, Vec<u8>, &str); 9] = [
        (
            "empty",
            Vec::new(),
            "expected a heap profile, found nothing",
        ),
        (
            "cut",
            whole.as_bytes()[..40].to_vec(),
            "line 3: expected an address such as `0x1f` of at most 64 bits, found `@ 0x10 0x`",
        ),
        (
            "v1",
            b"heap_v1/1\n".to_vec(),
            "jemalloc's format of another version, `heap_v1/1`",
        ),
        (
            "html",
            b"<html>no</html>".to_vec(),
            "found `<html>no</html>`",
        ),
        (
            "elf",
            b"\x7fELF\x02\x01".to_vec(),
            "a program (ELF): name it with --exe",
        ),
        (
            "folded",
            b"a;b\n".to_vec(),
            "line 1: expected a stack and a number",
        ),
        (
            "gzip",
            vec![0x1f, 0x8b, 8, 0, 0],
            "expected gzip, found what cannot be unpacked",
        ),
        // Of a device, these would go on to the limit.
        (
            "zeros",
            vec![0; 9_000],
            "found the bytes `00 00 00 00 00 00 00 00`",
        ),
        (
            "tcmalloc",
            b"heap profile: 1: 2 [3: 4]\n".to_vec(),
            "gperftools' own format",
        ),
    ];
    for (name, content, expected) in cases {
        let file = folder.file(name, content);
        let said = plimsoll(&["show", &file]);
        assert_eq!(said.status, 5, "{name}");
        assert_eq!(said.out, "", "{name}");
        let message = said.err.strip_prefix("error: ").unwrap();
        assert!(
            message.starts_with(&file) && message.contains(expected),
            "{message}"
        );
    }
    for (path, expected) in [("none.heap", "cannot be opened"), (".", "found a folder")] {
        let said = plimsoll(&["show", &folder.name(path)]);
        assert!(
            said.status == 5 && said.err.contains(expected),
            "{}",
            said.err
        );
    }
}

#[test]
fn sizes_have_a_limit() {
    let folder = Folder::new();
    let file = folder.file("a.heap", dump(1, "3 3072 0x10 0x20"));
    let said = plimsoll(&["show", "--max-size", "50", &file]);
    assert!(
        said.err
            .contains("expected a profile of at most 50 bytes, found more"),
        "{}",
        said.err
    );
    // Two hundred megabytes of stacks in some hundred kilobytes.
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(b"heap_v2/1\n").unwrap();
    for _ in 0..2_000 {
        bomb.write_all("@ 0x1\n  t*: 1: 8 [0: 0]\n".repeat(4_000).as_bytes())
            .unwrap();
    }
    let said = plimsoll(&["show", &folder.file("bomb.heap", bomb.finish().unwrap())]);
    assert!(
        said.err.contains("grows to at most 200 times its size"),
        "{}",
        said.err
    );
}

/// A program with a function to be found in it: its path, where that is in the file,
/// and its code's first page there.
fn program(folder: &Folder) -> Option<(String, u64)> {
    let source = folder.file(
        "program.c",
        "int leak_here(int a) { return a + 1; }\nint main(void) { return leak_here(-1); }\n",
    );
    let program = folder.name("program");
    let built = Command::new("cc")
        .args(["-g", "-O0", "-Wl,--build-id", "-o", &program, &source])
        .status();
    let symbols = Command::new("nm").arg(&program).output();
    let (Ok(true), Ok(symbols)) = (built.map(|status| status.success()), symbols) else {
        skipped("names from files", "cc or nm is missing");
        return None;
    };
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let line = symbols.lines().find(|line| line.ends_with(" leak_here"));
    let address = line.unwrap().split(' ').next().unwrap();
    Some((program, u64::from_str_radix(address, 16).unwrap()))
}

#[test]
fn files_that_lie_elsewhere_now() {
    let folder = Folder::new();
    let Some((program, at)) = program(&folder) else {
        return;
    };
    let (page, start) = (at & !0xfff, 0x5555_5555_5000_u64);
    let text = dump(1, &format!("1 64 {:#x}", start + (at - page) + 4));
    let maps = format!(
        "{start:x}-{:x} r-xp {page:08x} 08:01 77 /gone/bin/program\n",
        start + 0x1000
    );
    let file = folder.file("a.heap", text + &maps);
    let said = plimsoll(&["show", "--folded", &file]);
    assert!(said.out.starts_with("program+0x"), "{}", said.out);
    assert!(said.err.contains("program cannot be read"), "{}", said.err);

    let named = "leak_here 64\n";
    assert_eq!(
        plimsoll(&["show", "--folded", "--exe", &program, &file]).done(),
        named
    );
    fs::create_dir_all(folder.path("root/gone/bin")).unwrap();
    fs::copy(&program, folder.path("root/gone/bin/program")).unwrap();
    let root = folder.name("root");
    assert_eq!(
        plimsoll(&["show", "--folded", "--sysroot", &root, &file]).done(),
        named
    );
    let line = plimsoll(&["show", "--folded", "--lines", "--exe", &program, &file]).done();
    assert!(line.contains("program.c:1 64"), "{line}");
}

/// jemalloc's text has none; the file that was mapped has.
#[test]
fn build_ids_for_pprof() {
    let folder = Folder::new();
    let Some((program, at)) = program(&folder) else {
        return;
    };
    let note = Command::new("readelf").args(["-n", &program]).output();
    let note = String::from_utf8(note.unwrap().stdout).unwrap();
    let id = note.split("Build ID: ").nth(1).unwrap();
    let id = id.lines().next().unwrap().trim().to_owned();
    let page = at & !0xfff;
    let inode = fs::metadata(&program).unwrap().ino();
    // Another file's build ID would be a lie.
    for (inode, is_it) in [(inode, true), (inode + 1, false)] {
        let text = dump(1, &format!("1 64 {:#x}", at + 4));
        let end = page + 0x1000;
        let maps = format!("{page:x}-{end:x} r-xp {page:08x} 08:01 {inode} {program}\n");
        let file = folder.file("a.heap", text + &maps);
        let path = folder.name("a.pb.gz");
        plimsoll(&["show", "--pprof", &path, &file]).done();
        let written = fs::read(&path).unwrap();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(written.as_slice())
            .read_to_end(&mut unpacked)
            .unwrap();
        let has_it = String::from_utf8_lossy(&unpacked).contains(&id);
        assert_eq!(has_it, is_it, "{id}");
    }
}

#[test]
fn files_that_were_named_have_to_be_there() {
    let folder = Folder::new();
    let file = folder.file("a.heap", dump(1, "1 64 0x10"));
    for option in ["--exe", "--sysroot"] {
        let path = folder.name("none");
        for arguments in [
            &["show", &file, option, &path][..],
            &["compare", "--series", &file, &file, option, &path],
        ] {
            let said = plimsoll(arguments);
            let expected = format!("{option} {path}: No such file");
            assert_eq!(said.status, 5, "{}", said.err);
            assert!(said.err.contains(&expected), "{}", said.err);
        }
    }
}

/// Each is loaded where the kernel has put it, and grows by a function of its own.
#[test]
fn a_series_of_several_processes() {
    let folder = Folder::new();
    let Some((program, at)) = program(&folder) else {
        return;
    };
    let page = at & !0xfff;
    let dumps: Vec<String> = (1..=4_u64)
        .map(|run| {
            // Overlapping, so that an address is one place here and another there.
            let start = 0x5555_5555_0000 + 0x10 * run;
            let text = dump(
                1,
                &format!("{run} {} {:#x}", 64 * run, start + (at - page) + 4),
            );
            let maps = format!(
                "{start:x}-{:x} r-xp {page:08x} 08:01 0 {program}\n",
                start + 0x1000
            );
            folder.file(&format!("{run}.heap"), text + &maps)
        })
        .collect();
    let mut arguments = vec!["compare", "--json", "--series"];
    arguments.extend(dumps.iter().map(String::as_str));
    let said = plimsoll(&arguments);
    let json: serde_json::Value = serde_json::from_str(&said.done()).unwrap();
    let stacks = json["stacks"].as_array().unwrap();
    assert_eq!(stacks.len(), 1, "{json}");
    assert_eq!(stacks[0]["stack"], serde_json::json!(["leak_here"]));
    assert_eq!(
        stacks[0]["levels"],
        serde_json::json!([64.0, 128.0, 192.0, 256.0])
    );
}

/// What was loaded in between has its names, also where something else is by the end.
#[test]
fn a_series_that_loads_and_unloads() {
    let folder = Folder::new();
    let Some((program, at)) = program(&folder) else {
        return;
    };
    let (page, start) = (at & !0xfff, 0x5555_5555_0000_u64);
    let stack = format!("1 64 {:#x}", start + (at - page) + 4);
    let map = |path: &str| {
        let end = start + 0x1000;
        format!("{start:x}-{end:x} r-xp {page:08x} 08:01 0 {path}\n")
    };
    let first = folder.file("1.heap", dump(1, &stack) + &map(&program));
    let unloaded = dump(1, "1 8 0x10");
    for last in [unloaded.clone(), unloaded + &map("/gone/other.so")] {
        let last = folder.file("2.heap", last);
        let shown = plimsoll(&["compare", "--folded", "--series", &first, &last]).done();
        assert_eq!(shown, "[unmapped] 8\nleak_here -64\n");
    }
}

#[test]
fn a_file_of_another_build_is_refused() {
    let folder = Folder::new();
    let Some((program, at)) = program(&folder) else {
        return;
    };
    let mut builder = ProfileBuilder::new(&[Measure::InuseObjects, Measure::InuseSpace]);
    builder.mapping(MappedObject {
        start: at & !0xfff,
        end: (at & !0xfff) + 0x1000,
        file_offset: at & !0xfff,
        path: program,
        build_id: Some("0123456789abcdef".to_owned()),
        ..MappedObject::default()
    });
    let location = Location {
        address: Some(Avma(at + 4)),
        mapping: Some(0),
        ..Location::default()
    };
    let location = builder.push(location).unwrap();
    let inuse = Tally {
        objects: 1,
        bytes: 64,
    };
    let alloc = Tally::default();
    builder.stack([location], Counts { inuse, alloc });
    let profile = builder.build();
    let mut names = Names::default();
    let (granularity, frames) = (Granularity::Functions, Frames::All);
    let view = View::new(
        &profile,
        granularity,
        frames,
        &Filter::default(),
        &mut names,
    );
    let mut packed = Vec::new();
    pprof(&mut packed, None, &view, &About::default()).unwrap();
    let file = folder.file("a.pb.gz", packed);

    let said = plimsoll(&["show", "--folded", &file]);
    assert!(said.out.starts_with("program+0x"), "{}", said.out);
    let both = said
        .err
        .split_once("expected build ID 0123456789abcdef, found ");
    let found = both.map(|(_, found)| found.split(':').next().unwrap().len());
    assert_eq!(found, Some(40), "{}", said.err);
    let said = plimsoll(&["show", "--folded", "--force", &file]);
    assert_eq!(said.out, "leak_here 64\n", "{}", said.err);
    assert!(said.err.contains("its names may be wrong"), "{}", said.err);
}
