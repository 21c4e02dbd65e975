//! `compare --fail-on`.

use crate::{Folder, dump, plimsoll};

#[test]
fn conditions() {
    let folder = Folder::new();
    let before = dump(1, "10 10000 0x10 0x20\n10 90000 0x30 0x20");
    let after = dump(1, "30 30000 0x10 0x20\n4 72000 0x30 0x20\n5 500 0x40 0x20");
    let (before, after) = (folder.file("before", before), folder.file("after", after));
    for (condition, status) in [
        // One stack gained 20,000 bytes and 20 objects, another 500; in all 2,500 and 19.
        ("growth > 1 KiB", 1),
        ("growth > 20000", 0),
        ("growth > 19,999", 1),
        ("growth >= 20000", 1),
        ("stack growth > 19KiB and stack growth > 21kB", 0),
        ("total growth > 2499B", 1),
        ("total growth > 2500", 0),
        ("total growth > 18 objects", 1),
        ("total growth > 19 objects", 0),
        ("stack growth > 19 objects", 1),
        ("total growth > 2%", 1),
        ("total growth > 3%", 0),
        // Of a stack that was not there before, any growth is too much.
        ("stack growth > 1000%", 1),
        ("stack growth > 150% and stack growth > 10 objects", 1),
        ("stack growth > 250% and stack growth > 10 objects", 0),
        // Each of its own.
        ("stack growth > 19kB and total growth > 2kB", 1),
        ("stack growth > 21kB and total growth > 2kB", 0),
        ("total growth > 3kB and stack growth > 19kB", 0),
        ("growth > 1 TiB", 0),
    ] {
        let said = plimsoll(&["compare", "--fail-on", condition, &before, &after]);
        let said = said.has(status, &["stacks grew by 20 KiB"]);
        assert_eq!(said.stderr.contains(condition), status == 1, "{said}");
    }
    let [first, second] = ["growth > 1GiB", "growth > 1B"].map(|gate| ["--fail-on", gate]);
    let both = [&["compare", &before, &after], &first[..], &second].concat();
    plimsoll(&both).has(1, &[]).lacks(&["1GiB"]);
    let nothing = plimsoll(&["compare", "--fail-on", "growth >= 0", &before, &before]);
    nothing.has(0, &["nothing grew and nothing shrank"]);
}

/// A gate that cannot close is worse than none.
#[test]
fn what_is_not_counted_cannot_be_a_condition() {
    let folder = Folder::new();
    let before = folder.file("before", "a;b 100\n");
    let after = folder.file("after", "a;b 900\na;c 50\n");
    let gate = "growth > 100 objects";
    let why = "'growth > 100 objects': expected a profile with inuse_objects, found that";
    for kind in [&[][..], &["--series"]] {
        let all = [&["compare", &before, &after, "--fail-on", gate], kind].concat();
        plimsoll(&all).fails(2, why);
    }
    let said = plimsoll(&["compare", &before, &after, "--fail-on", "growth > 1"]);
    said.has(1, &["growth > 1: +800 B, from 100 B of a;b"]);
    // Before the first sample there is nothing, whatever will be counted.
    let none = folder.file("none", dump(1, ""));
    plimsoll(&["compare", "--alloc-space", &none, &none]).done();
}

#[test]
fn what_shrank_may_be_left_out() {
    let folder = Folder::new();
    let before = folder.file("before", "a 100\nb 100\n");
    let after = folder.file("after", "a 180\nb 50\n");
    let total = ["compare", &before, &after, "--fail-on", "total growth > 50"];
    plimsoll(&total).done();
    let said = plimsoll(&[&total[..], &["--drop-negative"]].concat());
    said.has(1, &["+80 B, from 200 B in all"]);
}

#[test]
fn what_is_no_condition() {
    for condition in [
        "",
        "growth",
        "growth > ",
        "growth < 1",
        "leak > 1MiB",
        "growth > -1",
        "growth > 1 MB/s",
        // Not 15.
        "growth > 1,5MiB",
        "growth > 1.5,000",
        "growth > 10,00 objects",
    ] {
        let said = plimsoll(&["compare", "--fail-on", condition, "a", "b"]);
        said.fails(2, "expected a condition such as `growth > 1MiB`");
    }
}
