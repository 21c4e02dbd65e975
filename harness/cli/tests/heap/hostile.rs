//! Profiles by somebody who means harm.

use std::fs;

use plimsoll_core::text::escape::is_hidden;
use plimsoll_profile::MappedObject;

use crate::{Folder, dump, packed, plimsoll};

/// Names that are markup, commands to a terminal, or nothing.
const NAMES: [&str; 10] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "a\u{202e}b",
    "\u{ad}\u{34f}\u{17b4}\u{180b}\u{200b}\u{3164}\u{fe0f}\u{1d173}\u{e0041}",
    "]]>",
    "\\\" ]; evil [label=\"x",
    "&amp;lt;",
    "\u{0}",
];

#[test]
fn names_stay_text() {
    let folder = Folder::new();
    let mut symbols = String::from("--- symbol\n");
    let mut stacks = String::new();
    for (number, name) in NAMES.iter().enumerate() {
        let at = 16 * (number + 1);
        symbols.push_str(&format!("{at:#x} {name}\n"));
        stacks.push_str(&format!("1 4096 {:#x} {:#x}\n", at + 1, 17));
    }
    let text = format!("{symbols}---\n--- heap\n{}", dump(1, &stacks));
    let file = folder.file("a.heap", text);
    let svg = folder.name("a.svg");
    for (output, frames) in [
        ("--text", "--lines"),
        ("--tree", "--addresses"),
        ("--folded", "--functions"),
        ("--json", "--addresses"),
        ("--dot", "--all-frames"),
    ] {
        let printed = plimsoll(&["show", output, frames, "--flamegraph", &svg, &file]).done();
        let is_bad = |char: char| char != '\n' && is_hidden(char);
        // Of what a program reads, only what ends a line may not be there.
        let is_bad_data = |char: char| char != '\n' && char.is_control();
        match output {
            "--json" => assert!(!printed.contains(is_bad_data), "{printed:?}"),
            _ => assert!(!printed.contains(is_bad), "{output}: {printed:?}"),
        }
        // What ends a string is escaped, and a `;` is no frame's.
        let escaped = r#"\\\" ]"#;
        assert!(output != "--dot" || printed.contains(escaped), "{printed}");
        let picture = fs::read_to_string(&svg).unwrap();
        assert!(!picture.contains(is_bad), "{picture}");
        for markup in ["<script>alert", "<img"] {
            assert!(!picture.contains(markup), "{picture}");
        }
    }
}

#[test]
fn absurd_counts() {
    let folder = Folder::new();
    let most = u64::MAX;
    let one = "  t*: 1: 8 [0: 0]\n";
    for text in [
        format!("heap_v2/1\n@ 0x1\n  t*: {most}: {most} [{most}: {most}]\n"),
        "heap_v2/1\n@ 0x1\n  t*: 0: 5 [7: 0]\n".to_owned(),
        format!("heap_v2/{most}\n@ 0x1\n{one}"),
        format!("heap_v2/1\n@\n{one}"),
    ] {
        let file = folder.file("a.heap", &text);
        for output in ["--text", "--tree", "--folded", "--json", "--dot"] {
            let said = plimsoll(&["show", output, &file]);
            said.has(0, &["the dump has no mappings"])
                .lacks(&["NaN", "null,\n"]);
        }
    }
}

/// A database may have mapped as many files as the kernel lets it, 65,530.
#[test]
fn many_mappings_take_linear_time() {
    let folder = Folder::new();
    let files = [0x7f00_0000_0000_u64, 0x7fff_0000_0000].map(|start| {
        let mut maps = String::new();
        let mut stacks = String::new();
        for number in 0..30_000_u64 {
            let at = start + 0x2000 * number;
            let end = at + 0x1000;
            maps += &format!("{at:x}-{end:x} r--p 0 08:01 {number} /none/{number}.sst\n");
            if number % 10 == 0 {
                stacks += &format!("1 8 {:#x}\n", at + 16);
            }
        }
        folder.file(&format!("{start}"), dump(1, &stacks) + &maps)
    });
    let started = std::time::Instant::now();
    let [one, two] = &files;
    plimsoll(&["compare", one, two]).done();
    plimsoll(&["compare", "--series", one, two]).done();
    // It was minutes, for each pair of mappings some work.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// pprof's format lets a mapping end before it begins.
#[test]
fn mappings_that_lie() {
    let folder = Folder::new();
    let all = [(0x2000, 0x1000), (0, u64::MAX), (u64::MAX - 16, u64::MAX)].map(|(start, end)| {
        let mapping = MappedObject {
            start,
            end,
            path: "/none/it".to_owned(),
            executable: true,
            ..MappedObject::default()
        };
        let name = format!("{start:x}-{end:x}");
        folder.file(&name, packed(mapping, start.saturating_add(9)))
    });
    let [one, two, three] = &all;
    for (before, after) in [(one, two), (two, three), (three, one)] {
        plimsoll(&["compare", before, after]).done();
        plimsoll(&["compare", "--series", before, after]).done();
    }
}
