//! What is read, and from where.

use std::fs;
use std::io::Write;
use std::process::Command;

use flate2::{Compression, write::GzEncoder};
use insta::assert_snapshot;
use plimsoll_profile::MappedObject;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::json;

use crate::ran::Ran;
use crate::{Folder, dump, folded, packed, plimsoll};

fn zstd(content: &[u8]) -> Vec<u8> {
    compress_to_vec(content, CompressionLevel::Fastest)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(content).unwrap();
    writer.finish().unwrap()
}

#[test]
fn what_it_is_tells_its_bytes_and_not_its_name() {
    let folder = Folder::new();
    let text = dump(1, "3 3072 0x10 0x20\n1 64 0x30 0x20");
    let expected = "0x20;0x10 3072\n0x20;0x30 64\n";
    let pipe = r#"cat "$1" | "$0" show --folded --addresses -"#;
    let plain = text.as_bytes().to_vec();
    let with_returns = text.replace('\n', "\r\n").into_bytes();
    for (name, content) in [
        ("a.pb.gz", plain.clone()),
        ("b.svg", with_returns),
        ("c.heap", gzip(&plain)),
        ("d.txt", zstd(&plain)),
        ("e.zst", gzip(&zstd(&plain))),
    ] {
        let file = folder.file(name, &content);
        assert_eq!(folded(&["--addresses", &file]), expected, "{name}");
        let tool = env!("CARGO_BIN_EXE_plimsoll");
        let piped = Command::new("sh").args(["-c", pipe, tool, &file]).output();
        assert_eq!(Ran::of(&piped.unwrap()).done(), expected, "{name} piped");
    }
}

/// As `pzstd` writes them, and `cat` puts them together.
#[test]
fn every_frame_of_zstd() {
    let folder = Folder::new();
    let frame = |text: &str| zstd(text.as_bytes());
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"other"].concat();
    let frames = [frame("main;a 100\nmain;"), frame("b 5\n")].concat();
    let whole = [&skipped[..], &frames, &skipped].concat();
    let show = |content: &[u8]| plimsoll(&["show", "--folded", &folder.file("a", content)]);
    assert_eq!(show(&whole).done(), "main;a 100\nmain;b 5\n");

    let mut other_sum = frames.clone();
    *other_sum.last_mut().unwrap() ^= 1;
    for (content, expected) in [
        (&[&frames[..], b"more"].concat()[..], "BadMagicNumber"),
        (&frames[..frames.len() - 6], "cannot be unpacked"),
        (&whole[..whole.len() - 2], "unexpected end of file"),
        (&other_sum, "its checksum is another one"),
    ] {
        show(content).fails(5, expected);
    }
}

/// A name may hold anything, and the line is one all the same.
#[test]
fn folded_stacks() {
    let folder = Folder::new();
    let shown = |content: &[u8]| {
        let file = folder.file("a.heap", content);
        folded(&["--all-frames", &file]).replace('\n', ", ")
    };
    assert_snapshot!(shown(b"main;parse;push 4096\nmain;parse;push 4\n# a note\n\nmain 1\n"), @"main 1, main;parse;push 4100,");
    let of_an_editor = "\u{feff}# a note\r\nmain;a 100\r\nmain;b 5\r\n";
    assert_snapshot!(shown(of_an_editor.as_bytes()), @"main;a 100, main;b 5,");
    assert_snapshot!(shown(b"main;\x1b[31mred\x00 7\nmain;\xff 5\n"), @"main;[31mred 7, main;� 5,");
}

#[test]
fn names_that_a_dump_brings_along() {
    let folder = Folder::new();
    let text = dump(1, "3 3072 0x11 0x21\n1 64 0x31 0x21");
    let named = format!(
        "--- symbol\nbinary=/bin/x\n0x0000000000000010 leaf\n0x0000000000000020 outer--inlined\n\
         ---\n--- heap\n{text}"
    );
    let shown = folded(&[&folder.file("raw.heap", named)]);
    assert_eq!(shown, "outer;inlined;0x31 64\nouter;inlined;leaf 3072\n");
}

#[test]
fn mappings_of_a_mac() {
    let folder = Folder::new();
    let text = dump(1, "1 64 0x100000123 0x100000222");
    let map = "0000000100000000-0000000100008000: /usr/bin/it\n";
    let shown = folded(&[&folder.file("mac.heap", text + map)]);
    assert_eq!(shown, "it+0x222;it+0x123 64\n");
}

#[test]
fn errors_name_the_file_the_line_and_what_was_expected() {
    let folder = Folder::new();
    let whole = dump(1, "3 3072 0x10 0x20");
    let other = "jemalloc's format of another version, `heap_v1/1`";
    let unpacked = "expected gzip, found what cannot be unpacked";
    let cut = "line 3: expected an address such as `0x1f` of at most 64 bits, found `@ 0x10 0x`";
    for (content, expected) in [
        (&b""[..], "expected a heap profile, found nothing"),
        (&whole.as_bytes()[..40], cut),
        (b"heap_v1/1\n", other),
        (b"<html>no</html>", "found `<html>no</html>`"),
        (b"\x7fELF\x02\x01", "a program (ELF): name it with --exe"),
        (b"\x1f\x8b\x08\0\0", unpacked),
        (b"heap profile: 1: 2 [3: 4]\n", "gperftools' own format"),
    ] {
        let file = folder.file("a", content);
        let said = plimsoll(&["show", &file]);
        let begins = said.stderr.starts_with(&format!("error: {file}"));
        assert!(begins, "{said}");
        said.fails(5, expected);
    }
    for (path, expected) in [("none.heap", "cannot be opened"), (".", "found a folder")] {
        plimsoll(&["show", &folder.name(path)]).fails(5, expected);
    }
}

#[test]
fn sizes_have_a_limit() {
    let folder = Folder::new();
    let file = folder.file("a.heap", dump(1, "3 3072 0x10 0x20"));
    let said = plimsoll(&["show", "--max-size", "50", &file]);
    let hint = "expected a profile of at most 50 bytes, found more\n  hint: --max-size sets this";
    said.fails(5, hint);
    // 68 megabytes of comments in some kilobytes.
    let comment = gzip(format!("#{}\n", " ".repeat(1_000_000)).as_bytes());
    let bomb = [gzip(b"a;b 1\n"), comment.repeat(68)].concat();
    let said = plimsoll(&["show", &folder.file("bomb.heap", bomb)]);
    said.fails(5, "grows to at most 200 times its size");
}

/// A million mappings took 15 seconds, because each of their files was looked for.
#[test]
fn only_files_with_addresses_are_looked_for() {
    let folder = Folder::new();
    let mut text = dump(1, "1 64 0x7f0000001100\n1 32 0x7f0000002100");
    for file in 1..50 {
        let start = 0x7f00_0000_0000_u64 + 0x1000 * file;
        let end = start + 0x1000;
        text += &format!("{start:x}-{end:x} r-xp 00000000 fe:00 {file} /gone/lib{file}.so\n");
    }
    let said = plimsoll(&["show", "--folded", &folder.file("a.heap", text)]);
    assert_snapshot!(said, @"
    lib1.so+0x100 64
    lib2.so+0x100 32
    --- 0
    note: lib1.so and lib2.so cannot be read: No such file or directory (os error 2): their addresses have no names
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn the_default_limit_fits_the_memory() {
    let folder = Folder::new();
    let file = folder.file("a.heap", "heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n");
    let endless = r#"(cat "$1"; yes "$(tail -n 2 "$1")") | (ulimit -v 131072; "$0" show -)"#;
    let tool = env!("CARGO_BIN_EXE_plimsoll");
    let mut sh = Command::new("sh");
    let said = sh.args(["-c", endless, tool, &file]).output();
    let why = "the limit is 32 MiB, a quarter of the 128 MiB that `ulimit -v`";
    Ran::of(&said.unwrap()).fails(5, why);
}

/// A program with a function to be found in it.
struct Program {
    folder: Folder,
    path: String,
    /// Where `leak_here` is in the file.
    at: u64,
    /// The page of the file with its code.
    page: u64,
}

impl Program {
    fn new() -> Program {
        let folder = Folder::new();
        let code =
            "int leak_here(int a) { return a + 1; }\nint main(void) { return leak_here(-1); }\n";
        let (source, path) = (folder.file("program.c", code), folder.name("program"));
        let mut cc = Command::new("cc");
        cc.args(["-g", "-O0", "-Wl,--build-id=0x00112233"]);
        assert!(cc.args(["-o", &path, &source]).status().unwrap().success());
        let symbols = Command::new("nm").arg(&path).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let line = symbols.lines().find(|line| line.ends_with(" leak_here"));
        let address = line.unwrap().split(' ').next().unwrap();
        let at = u64::from_str_radix(address, 16).unwrap();
        let page = at & !0xfff;
        Program {
            folder,
            path,
            at,
            page,
        }
    }

    /// A dump of so many objects of the function, whose page is mapped at `start` from that
    /// file.
    fn dump(&self, name: &str, objects: u64, start: u64, (inode, path): (u64, &str)) -> String {
        let address = start + (self.at - self.page) + 4;
        let text = dump(1, &format!("{objects} {} {address:#x}", 64 * objects));
        self.folder.file(name, text + &self.map(start, inode, path))
    }

    fn map(&self, start: u64, inode: u64, path: &str) -> String {
        let (end, page) = (start + 0x1000, self.page);
        format!("{start:x}-{end:x} r-xp {page:08x} 08:01 {inode} {path}\n")
    }
}

/// Where code is loaded.
const START: u64 = 0x5555_5555_5000;
const NAMED: &str = "leak_here 64\n";

#[test]
fn files_that_lie_elsewhere_now() {
    let program = Program::new();
    let file = program.dump("a.heap", 1, START, (77, "/gone/bin/program"));
    let said = plimsoll(&["show", "--folded", &file]);
    let said = said.has(0, &["program cannot be read"]);
    assert!(said.stdout.starts_with("program+0x"), "{said}");

    assert_eq!(folded(&["--exe", &program.path, &file]), NAMED);
    let root = program.folder.path("root");
    fs::create_dir_all(root.join("gone/bin")).unwrap();
    fs::copy(&program.path, root.join("gone/bin/program")).unwrap();
    assert_eq!(folded(&["--sysroot", root.to_str().unwrap(), &file]), NAMED);
    let line = folded(&["--lines", "--exe", &program.path, &file]);
    assert!(line.contains("program.c:1 64"), "{line}");
}

/// jemalloc's text has none; the file that was mapped has.
#[cfg(unix)]
#[test]
fn build_ids_for_pprof() {
    use flate2::read::GzDecoder;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    let program = Program::new();
    let inode = fs::metadata(&program.path).unwrap().ino();
    // Another file's build ID would be a lie.
    for (inode, is_it) in [(inode, true), (inode + 1, false)] {
        let file = program.dump("a.heap", 1, program.page, (inode, &program.path));
        let path = program.folder.name("a.pb.gz");
        plimsoll(&["show", "--pprof", &path, &file]).done();
        let (written, mut unpacked) = (fs::read(&path).unwrap(), Vec::new());
        let mut reader = GzDecoder::new(&written[..]);
        reader.read_to_end(&mut unpacked).unwrap();
        let has_it = String::from_utf8_lossy(&unpacked).contains("00112233");
        assert_eq!(has_it, is_it, "{inode}");
    }
}

#[test]
fn files_that_were_named_have_to_be_there() {
    let folder = Folder::new();
    let file = folder.file("a.heap", dump(1, "1 64 0x10"));
    for option in ["--exe", "--sysroot"] {
        let path = folder.name("none");
        let why = format!("{option} {path}: No such file");
        plimsoll(&["show", &file, option, &path]).fails(5, &why);
        plimsoll(&["compare", "--series", &file, &file, option, &path]).fails(5, &why);
    }
}

/// Each is loaded where the kernel has put it, and grows by a function of its own.
#[test]
fn a_series_of_several_processes() {
    let program = Program::new();
    // Overlapping, so that an address is one place here and another there.
    let start = |run: u64| 0x5555_5555_0000 + 0x10 * run;
    let dump = |run| program.dump(&format!("{run}.heap"), run, start(run), (0, &program.path));
    let dumps = [1, 2, 3, 4].map(dump);
    let dumps = dumps.each_ref().map(String::as_str);
    let compare = [&["compare", "--json", "--series"], &dumps[..]].concat();
    let json = plimsoll(&compare).has(0, &[]).json();
    let stacks = json["stacks"].as_array().unwrap();
    assert_eq!(stacks.len(), 1, "{json}");
    assert_eq!(stacks[0]["stack"], json!(["leak_here"]));
    assert_eq!(stacks[0]["levels"], json!([64.0, 128.0, 192.0, 256.0]));
    let two = plimsoll(&["compare", "--folded", dumps[0], dumps[3]]);
    assert_eq!(two.done(), "leak_here 192\n");
}

/// What was loaded in between has its names, also where something else is by the end.
#[test]
fn a_series_that_loads_and_unloads() {
    let program = Program::new();
    let first = program.dump("1.heap", 1, START, (0, &program.path));
    for map in [String::new(), program.map(START, 0, "/gone/other.so")] {
        let last = program.folder.file("2.heap", dump(1, "1 8 0x10") + &map);
        let shown = plimsoll(&["compare", "--folded", "--series", &first, &last]).done();
        assert_eq!(shown, "[unmapped] 8\nleak_here -64\n");
    }
}

#[test]
fn a_file_of_another_build_is_refused() {
    let program = Program::new();
    let mapping = MappedObject {
        start: program.page,
        end: program.page + 0x1000,
        file_offset: program.page,
        path: program.path.clone(),
        build_id: Some("0123456789abcdef".to_owned()),
        ..MappedObject::default()
    };
    let packed = packed(mapping, program.at + 4);
    let file = program.folder.file("a.pb.gz", packed);
    let said = plimsoll(&["show", "--folded", &file]);
    let expected = "expected build ID 0123456789abcdef, found 00112233:";
    let said = said.has(0, &[expected]);
    assert!(said.stdout.starts_with("program+0x"), "{said}");
    let said = plimsoll(&["show", "--folded", "--force", &file]);
    said.has(0, &[NAMED, "its names may be wrong"]);
}
