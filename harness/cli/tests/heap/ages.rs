//! Births of objects: put together everywhere, and asked by `show --ages`.

use std::fs;

use insta::assert_snapshot;
use plimsoll_core::ages::Birth;

use crate::schema::Schema;
use crate::{Folder, dump, json, plimsoll};

/// The dump of a server; see its README.
const SERVER: &str = include_str!("../dumps/ages/server.6h.heap");

/// The addresses of births in the function that starts at 0x10400, and others.
const NAMES: &str = "\
--- symbol
0x000000000000002f cache::Cache::put
0x000000000000005f app::main
0x0000000000010412 plimsoll_ages::time_of_birth
0x0000000000010443 plimsoll_ages::time_of_birth::h0123456789abcdef
0x0000000000010448 plimsoll_ages::time_of_birth<0000000000010400>
---
--- heap
";

/// The same heap with births in its stacks, and without.
fn pair() -> [String; 2] {
    let born = "1 2048 0x30 0x60 0x10413\n3 4096 0x30 0x60 0x10444\n1 16 0x60\n\
        1 1024 0x30 0x60\n4 64 0x60 0x10449";
    let plain = "5 7168 0x30 0x60\n5 80 0x60";
    [born, plain].map(|stacks| format!("{NAMES}{}", dump(512, stacks)))
}

#[test]
fn stacks_that_differ_by_birth_are_one() {
    let folder = Folder::new();
    let smaller = format!("{NAMES}{}", dump(512, "1 512 0x30 0x60 0x10413"));
    let before = folder.file("before.heap", smaller);
    let [with, without] = pair().map(|dump| {
        let after = folder.file("after.heap", dump);
        let commands = [
            &["show", "--json", &after][..],
            &["show", "--addresses", "--folded", &after],
            &["compare", &before, &after],
            &["compare", "--series", "--folded", &before, &after],
        ];
        commands.map(|command| plimsoll(command).done())
    });
    assert_eq!(with, without);
    assert!(!with.concat().contains("time_of_birth"), "{with:?}");
}

#[test]
fn a_leak_is_named_beside_a_cache_and_a_set_up() {
    let folder = Folder::new();
    let server = folder.file("server.heap", SERVER);
    let (page, picture) = (folder.name("ages.html"), folder.name("ages.svg"));
    let show = |more: &[&str]| {
        let said = plimsoll(&[&["show", "--ages", &server], more].concat()).done();
        said.replace(&folder.name(""), "")
    };
    assert_snapshot!(show(&["--top", "3"]), @"
    live bytes of server.heap by birth; up for 5.7 h to 6.8 h
    1 stack leaks 10.6 B per second; 1 set-up, 1 in use, 7 too few

    leaks      +0.017 ± 0.0014 objects, +10.6 B ± 0.87 B per second
               in ages::program::log_in
               …;main;ages::main;ages::program::run;ages::program::server;ages::program::Server::answer;ages::program::log_in
               0 s ·······▅▄▄▄▄▄▄▄▄│█ 5.7 h
    set-up     7.81 KiB, 500 objects
               in ages::program::set_up::{{closure}}
               …;main;ages::main;ages::program::run;ages::program::server;ages::program::set_up;ages::program::set_up::{{closure}}
               0 s █···············│· 5.7 h
    in use     7.81 MiB, 4,000 objects
               in ages::program::render
               …;main;ages::main;ages::program::run;ages::program::server;ages::program::Server::answer;ages::program::render
               0 s ···············▇│█ 5.7 h
    … 7 stacks more: --top 0 shows all

    leaks: as many of each second stay   thins out: fewer old than young (a cache)
    set-up: all old   in use: all young   unsure, too few: too little to tell
    A bar is a doubling of the uptime, from the start to the dump; the last, after
    the line, is not complete. A step of the bars is a factor of two.
    ");

    let schema = json(include_str!("../../../heap/schema/ages-v1.schema.json"));
    let mut found = json(&show(&["--json"]));
    assert_eq!(Schema::of(&schema).errors(&found), [""; 0]);
    let leak = &found["stacks"][0];
    // A hundredth of 100 sessions a minute.
    let rate = leak["rate"]["objects"].as_f64().unwrap();
    assert!((rate - 1.0 / 60.0).abs() < 0.000_5, "{rate}");
    assert_eq!(leak["births"][0]["birth"], 27);
    assert_eq!(leak["blame"]["text"], "ages::program::log_in");
    found["stacks"][0]["fate"] = "grows".into();
    assert_ne!(Schema::of(&schema).errors(&found), [""; 0]);

    assert_eq!(show(&["--html", &page, "--flamegraph", &picture]), "");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("<p>in ages::program::log_in</p>"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("://"));
    let picture = fs::read_to_string(&picture).unwrap();
    let title = "ages::program::render (36 min)";
    assert!(picture.contains(title), "{picture}");
}

#[test]
fn what_cannot_be_asked_says_what_to_do() {
    let folder = Folder::new();
    let born = folder.file("born.heap", &pair()[0]);
    let plain = folder.file("plain.heap", &pair()[1]);
    let unnamed = dump(1, "1 16 0x30 0x10413\n1 16 0x30 0x10444");
    let unnamed = folder.file("unnamed.heap", unnamed);
    let of_show = "`--ages` is of `plimsoll show`";
    let profile = "found the profile that is read";
    let linked = "has to link `plimsoll-ages`";
    let named = "give the program with --exe FILE";
    for (arguments, status, why) in [
        (&["show", "--ages", &plain][..], 5, linked),
        (&["show", "--ages", &unnamed], 5, named),
        (&["show", "--html", "page.html", &born], 2, "--ages"),
        (&["show", "--ages", &born, "--html", &born], 2, profile),
        (&["compare", "--ages", &born, &born], 2, of_show),
        (&["watch", "--ages", "localhost"], 2, of_show),
    ] {
        plimsoll(arguments).fails(status, why);
    }
}

#[test]
fn births_of_two_dumps_that_are_compared() {
    let folder = Folder::new();
    let [born, plain] = pair();
    // Of births 3 and 52, with births up to 57.
    let later = "1 2048 0x30 0x60 0x10413\n9 4096 0x30 0x60 0x10449";
    let reborn = "2 4096 0x30 0x60 0x10413\n9 4096 0x30 0x60 0x10449";
    let dumps = [
        ("born", born),
        ("plain", plain),
        ("later", format!("{NAMES}{}", dump(512, later))),
        ("reborn", format!("{NAMES}{}", dump(512, reborn))),
        ("unnamed", dump(512, "1 16 0x30 0x10413\n1 16 0x30 0x10444")),
    ];
    for (name, dump) in dumps {
        folder.file(name, &dump);
    }
    let two = "are of two processes, or the second is the earlier dump";
    for (before, after, note) in [
        ("born", "born", ""),
        ("born", "later", ""),
        ("plain", "plain", ""),
        ("born", "reborn", two),
        ("later", "born", two),
        ("born", "plain", "plain has no births"),
        ("plain", "born", "plain has no births"),
        ("born", "unnamed", "unnamed: its births have no names"),
    ] {
        let [one, other] = [before, after].map(|name| folder.name(name));
        let said = plimsoll(&["compare", &one, &other]);
        let has_note = said.stderr.contains("births") || said.stderr.contains("processes");
        assert_eq!(has_note, !note.is_empty(), "{before} {after}: {said}");
        said.has(0, &[note]);
    }
}

/// A leak is lost in the ups and downs of a level. The births of the last dump tell it.
#[test]
fn a_series_asks_the_births_of_its_last_dump() {
    let folder = Folder::new();
    let word = |birth: u16| format!("{:#x}", 0x10410 + u64::from(birth));
    let start = |birth: u16| Birth::new(birth).map(Birth::start_ms);
    let named = (0x1040f..=0x10443).map(|at| format!("{at:#018x} plimsoll_ages::time_of_birth\n"));
    let (end, named) = ("---\n--- heap", named.collect::<String>());
    let names = NAMES.replace(end, &(named + end));
    let line =
        |objects: u64, birth: &str| format!("{objects} {} 0x30 0x60 {birth}\n", 4_096 * objects);
    let dumps = (0..13_u64).map(|number| {
        let swings = 9_000 + 2_000 * (number * 7 % 5) + 100 * number;
        let stacks = match number {
            // One object in eight seconds has stayed, and all others are young.
            12 => {
                let stays = (0..51).map(|birth| {
                    let [start, end] = [birth, birth + 1].map(|birth| start(birth).unwrap());
                    line((end - start).div_ceil(8_000), &word(birth))
                });
                stays.collect::<String>() + &line(swings, &word(51))
            }
            0 => line(swings, &word(0)),
            _ => line(swings, ""),
        };
        let text = format!("{names}{}", dump(512, &stacks));
        folder.file(&format!("{number:02}.heap"), text)
    });
    let dumps: Vec<String> = dumps.collect();
    let dumps: Vec<&str> = dumps.iter().map(String::as_str).collect();
    let series = |option, dumps: &[&str]| {
        let said = plimsoll(&[&["compare", "--series", option], dumps].concat());
        said.has(0, &[]).within(folder.0.path())
    };
    assert_snapshot!(series("--inuse-objects", &dumps), @"
    live objects over 13 dumps from DIR/00.heap to DIR/12.heap
    +9,671 in all; of the stacks that gained: 1 keeps growing, 0 perhaps, 0 not

    gained       per dump     law  goes on  births  stack
    +9,671  +40.01 ± 8.12  linear      yes   leaks  app::main;cache::Cache::put
    --- 0
    ");
    assert_snapshot!(series("--inuse-objects", &dumps[..12]), @"
    live objects over 12 dumps from DIR/00.heap to DIR/11.heap
    +5,102 in all; of the stacks that gained: 0 keep growing, 0 perhaps, 1 not

    gained            per dump          law  goes on  stack
    +5,102  +767.00 ± 2,097.37  fluctuating       no  app::main;cache::Cache::put
    --- 0
    note: births are in 1 of 12 dumps, and the first and the last would be needed: growth is judged by levels alone
    ");
    let printed = series("--json", &dumps).json();
    let schema = json(include_str!("../../../heap/schema/series-v1.schema.json"));
    assert_eq!(Schema::of(&schema).errors(&printed), [""; 0]);
    let stack = &printed["stacks"][0];
    assert_eq!(stack["births"], "leaks");
    assert_eq!(stack["goes_on"], "yes");
}
