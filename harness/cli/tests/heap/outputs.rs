//! What is printed, and what is written.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;

use crate::schema::Schema;
use crate::{Folder, dump, folded, json, plimsoll, skipped};

const NAMES: &str = "\
--- symbol
0x000000000000000f hashbrown::raw::RawTable<T,A>::reserve_rehash
0x000000000000001f alloc::vec::Vec<T,A>::push
0x000000000000002f cache::Cache::put
0x000000000000003f http::parse
0x000000000000004f app::serve
0x000000000000005f app::main
---
--- heap
";

struct Two {
    folder: Folder,
    before: String,
    after: String,
}

impl Two {
    fn new() -> Two {
        let folder = Folder::new();
        let before = "100 4096000 0x10 0x20 0x30 0x50 0x60\n7 700000 0x20 0x40 0x50 0x60\n\
             2 2048 0x40 0x60";
        let after = "150 8192000 0x10 0x20 0x30 0x50 0x60\n5 500000 0x20 0x40 0x50 0x60\n\
             2 2048 0x40 0x60\n1 16 0x60";
        Two {
            before: folder.file("before.heap", format!("{NAMES}{}", dump(1, before))),
            after: folder.file("after.heap", format!("{NAMES}{}", dump(1, after))),
            folder,
        }
    }

    #[track_caller]
    fn show(&self, arguments: &[&str]) -> String {
        self.done(&[&["show"], arguments, &[&self.after]].concat())
    }

    #[track_caller]
    fn compare(&self, arguments: &[&str]) -> String {
        self.done(&[&["compare"], arguments, &[&self.before, &self.after]].concat())
    }

    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let text = plimsoll(arguments).done();
        text.replace(&self.folder.name(""), "")
    }
}

#[test]
fn tables() {
    let two = Two::new();
    assert_snapshot!(two.show(&[]), @"
    live bytes of after.heap
    8.29 MiB on 4 stacks

        flat  flat%    sum%       cum    cum%  function
    7.81 MiB  94.2%   94.2%  7.81 MiB   94.2%  cache::Cache::put
     490 KiB   5.8%  100.0%   490 KiB    5.8%  http::parse
        16 B   0.0%  100.0%  8.29 MiB  100.0%  app::main
         0 B   0.0%  100.0%  8.29 MiB  100.0%  app::serve
    ");
    assert_snapshot!(two.show(&["--top", "2", "--cum", "--inuse-objects"]), @"
    live objects of after.heap
    158 on 4 stacks

    flat  flat%  sum%  cum    cum%  function
       1   0.6%  0.6%  158  100.0%  app::main
       0   0.0%  0.6%  155   98.1%  app::serve
    … 2 rows more: --top 0 shows all
    ");
    assert_snapshot!(two.compare(&[]), @"
    growth of live bytes from before.heap to after.heap
    2 stacks grew by 3.91 MiB, 1 stack shrank by 195 KiB: +3.72 MiB in all

         flat   flat%    sum%        cum    cum%  function
    +3.91 MiB  105.1%  105.1%  +3.91 MiB  105.1%  cache::Cache::put
     -195 KiB   -5.1%  100.0%   -195 KiB   -5.1%  http::parse
        +16 B    0.0%  100.0%  +3.72 MiB  100.0%  app::main
          0 B    0.0%  100.0%  +3.72 MiB  100.0%  app::serve
    ");
    let grown = two.compare(&["--drop-negative"]);
    let is_left_out = !grown.contains("http::parse");
    let said = "\n2 stacks grew by 3.91 MiB: +3.91 MiB in all\n";
    assert!(is_left_out && grown.contains(said), "{grown}");
}

#[test]
fn trees() {
    let two = Two::new();
    assert_snapshot!(two.show(&["--tree"]), @"
    live bytes of after.heap

    8.29 MiB
    100 %  8.29 MiB ████████ app::main
     99 %  8.29 MiB ███████▉ ├ app::serve
     94 %  7.81 MiB ███████▌ │ ├ cache::Cache::put
      6 %   488 KiB ▍        │ └ http::parse
      1 %     2 KiB ▏        └ … 1 thinner branch
    ");
    // What each of the two looks like is tested beside the code of the report.
    let grown = two.compare(&["--tree"]);
    for head in ["\n\ngrew +3.91 MiB\n", "\n\nshrank -195 KiB\n"] {
        assert!(grown.contains(head), "{grown}");
    }
}

#[test]
fn folded_stacks() {
    let two = Two::new();
    assert_snapshot!(two.show(&["--folded"]), @"
    app::main 16
    app::main;app::serve;cache::Cache::put 8192000
    app::main;app::serve;http::parse 500000
    app::main;http::parse 2048
    ");
    assert_snapshot!(two.compare(&["--folded", "--inuse-objects"]), @"
    app::main 1
    app::main;app::serve;cache::Cache::put 50
    app::main;app::serve;http::parse -2
    ");
    assert_snapshot!(two.show(&["--folded", "--addresses"]), @"
    0x60 app::main 16
    0x60 app::main;0x40 http::parse 2048
    0x60 app::main;0x50 app::serve;0x30 cache::Cache::put;0x20 alloc::vec::Vec<T,A>::push;0x10 hashbrown::raw::RawTable<T,A>::reserve_rehash 8192000
    0x60 app::main;0x50 app::serve;0x40 http::parse;0x20 alloc::vec::Vec<T,A>::push 500000
    ");
}

#[test]
fn patterns_choose_stacks_and_frames() {
    let two = Two::new();
    let shown = |option, pattern| two.show(&["--folded", option, pattern]).replace('\n', ", ");
    assert_snapshot!(shown("--focus", "^http::"), @"app::main;app::serve;http::parse 500000, app::main;http::parse 2048, ");
    assert_snapshot!(shown("--focus", "0x0000000000000030"), @"app::main;app::serve;cache::Cache::put 8192000, ");
    assert_snapshot!(shown("--ignore", "serve"), @"app::main 16, app::main;http::parse 2048, ");
    assert_snapshot!(shown("--hide", "^app::"), @"cache::Cache::put 8192000, http::parse 502048, ");
    // The standard library's frames are not shown, but they are there.
    assert_snapshot!(shown("--ignore", "reserve_rehash"), @"app::main 16, app::main;app::serve;http::parse 500000, app::main;http::parse 2048, ");
    let said = plimsoll(&["show", "--focus", "(", &two.after]);
    said.fails(2, "expected a regular expression");
}

/// As in jeprof: `malloc` is on every stack, and says nothing of any.
#[test]
fn patterns_do_not_fit_the_allocator() {
    let folder = Folder::new();
    let text = "a_file.c;reallocate;malloc 5\nreads;malloc 7\n";
    let file = folder.file("a.folded", text);
    let shown = |arguments: &[&str]| folded(&[arguments, &[file.as_str()]].concat());
    let (both, one) = ("a_file.c;reallocate 5\nreads 7\n", "reads 7\n");
    assert_eq!(shown(&["--ignore", "^malloc"]), both);
    assert_eq!(shown(&["--focus", "^malloc"]), "");
    assert_eq!(shown(&["--ignore", "alloc"]), one);
    // Where it is shown it is a frame as any other.
    assert_eq!(shown(&["--all-frames", "--focus", "^malloc"]), text);
}

/// Whether the standard library's start of a thread is inlined depends on the build.
#[test]
fn threads_of_two_builds() {
    let folder = Folder::new();
    let debug = "start_thread;std::panicking::catch_unwind;__rust_try;app::work 5\n";
    let release = "start_thread;std::panicking::catch_unwind;app::work 5\n";
    let (debug, release) = (folder.file("a", debug), folder.file("b", release));
    let grown = plimsoll(&["compare", "--folded", &debug, &release]).done();
    assert_eq!(grown, "");
    assert_eq!(folded(&[&debug]), "start_thread;app::work 5\n");
}

#[test]
fn json_says_everything() {
    let two = Two::new();
    let grown = json(&two.compare(&["--json"]));
    let live = json(&two.show(&["--json"]));
    assert_eq!(grown["version"], 1);
    assert_eq!(grown["kind"], "growth");
    assert_eq!(grown["measure"], "inuse_space");
    let growth = grown["total"]["growth"].as_f64().unwrap();
    assert!((growth - 3_896_016.0).abs() < 1.0, "{growth}");
    assert_eq!(grown["profiles"][1]["sample_interval"], 1);
    let first = &grown["stacks"][0];
    let stack = ["app::main", "app::serve", "cache::Cache::put"];
    assert_eq!(first["stack"], json!(stack));
    assert_eq!(first["before"]["inuse_objects"], 100.0);
    assert_eq!(first["growth"], 4_096_000.0);
    let schema = json(include_str!("../../../heap/schema/heap-v1.schema.json"));
    for json in [&grown, &live] {
        assert_eq!(Schema::of(&schema).errors(json), [""; 0]);
    }
    let mut wrong = live;
    wrong["stacks"][0]["stack"] = "a".into();
    assert_ne!(Schema::of(&schema).errors(&wrong), [""; 0]);
}

#[test]
fn flame_graphs() {
    let two = Two::new();
    let path = two.folder.name("live.svg");
    // Nothing is printed where a file is all that is asked for.
    assert_eq!(two.show(&["--flamegraph", &path]), "");
    let live = fs::read_to_string(&path).unwrap();
    let put = "<title>cache::Cache::put (8,192,000 bytes, 94.23%)</title>";
    assert!(live.contains(put) && !live.contains("grew"), "{live}");

    let live = live.replace(&two.folder.name(""), "");
    assert!(two.show(&["--flamegraph", "-"]) == live, "{live}");
    assert_eq!(two.show(&["--output", "-"]), two.show(&[]));
    let printed = two.compare(&["--text", "--flamegraph", &path]);
    assert!(printed.contains("grew by"), "{printed}");
    let svg = fs::read_to_string(&path).unwrap();
    for part in [
        "<title>grew (4,096,016 bytes, 95.34%)</title>",
        "<title>shrank (200,000 bytes, 4.66%)</title>",
        "growth of live bytes from",
    ] {
        assert!(svg.contains(part), "{svg}");
    }
}

/// What is written can be read again, and is what was recorded.
#[test]
fn for_pprof() {
    let two = Two::new();
    let path = two.folder.name("live.pb.gz");
    assert_eq!(two.show(&["--pprof", &path]), "");
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&[0x1f, 0x8b]));
    assert_eq!(folded(&[&path]), two.show(&["--folded"]));
    assert_eq!(two.show(&["--pprof", &path]), "");
    let again = fs::read(&path).unwrap();
    assert_eq!(again, bytes, "the same dump, the same bytes");
    // What one has gained on another is no profile, for us.
    assert_eq!(two.compare(&["--pprof", &path]), "");
    plimsoll(&["show", &path]).fails(5, "a difference of two profiles\n");
}

#[test]
fn graphs_of_calls() {
    let two = Two::new();
    let dot = two.compare(&["--dot"]);
    assert!(dot.starts_with("digraph ") && dot.ends_with("}\n"), "{dot}");
    let put = "cache::Cache::put\\n+3.91 MiB (95.3 %)";
    assert!(dot.contains(put), "{dot}");
    let (svg, pdf) = (two.folder.name("a.svg"), two.folder.name("a.pdf"));
    if Command::new("dot").arg("-V").output().is_err() {
        plimsoll(&["show", "--svg", &svg, &two.after]).fails(5, "install graphviz");
        return skipped("pictures by Graphviz", "`dot` is missing (.ci/install)");
    }
    assert_eq!(two.compare(&["--svg", &svg, "--pdf", &pdf]), "");
    let svg = fs::read_to_string(svg).unwrap();
    for part in ["<svg", "cache::Cache::put"] {
        assert!(svg.contains(part), "{svg}");
    }
    assert!(fs::read(pdf).unwrap().starts_with(b"%PDF"));
}

#[test]
fn measures_that_are_not_there() {
    let two = Two::new();
    let said = plimsoll(&["show", "--alloc-space", &two.after]);
    said.fails(2, "`prof_accum:true`");
    let folded = two.folder.file("a.folded", "a;b 5\n");
    plimsoll(&["show", "--inuse-objects", &folded]).fails(2, "has inuse_space");
}

/// A profile in the place of the file to be written is soon typed, and is gone then.
#[test]
fn no_profile_is_written_over() {
    let folder = Folder::new();
    let (a, b) = (folder.file("a", "x;y 10\n"), folder.file("b", "x;y 30\n"));
    let new = folder.name("new");
    let around = folder.0.path().file_name().unwrap().to_str().unwrap();
    let around = folder.name(&format!("../{around}/a"));
    for arguments in [
        &["show", "--flamegraph", &a, &a][..],
        &["show", &a, "--output", &around],
        &["compare", &a, &b, "--pprof", &b],
        &["compare", "--series", &a, &b, &b, "-o", &a],
        &["show", &a, "--flamegraph", &new, "--output", &new],
    ] {
        plimsoll(arguments).fails(2, "expected a file of its own");
    }
    assert_eq!(fs::read_to_string(&a).unwrap(), "x;y 10\n");
    assert_eq!(fs::read_to_string(&b).unwrap(), "x;y 30\n");
    assert!(!folder.path("new").exists());
    // What is there already is replaced, and a device takes all.
    let old = folder.file("old", "");
    plimsoll(&["show", &a, "--output", &old]).done();
    plimsoll(&["show", &a, "--pprof", "/dev/null", "--output", "/dev/null"]).done();
}

/// Which is not the same as none.
#[test]
fn stacks_too_narrow_for_a_picture() {
    let folder = Folder::new();
    let stacks: String = (0..3_000).map(|root| format!("f{root};g 10\n")).collect();
    let thin = folder.file("thin", stacks);
    let none = folder.file("none", dump(1, ""));
    let flames = ["--flamegraph", "-"];
    let picture = |arguments: &[&str]| plimsoll(&[arguments, &flames].concat()).done();
    let why = "every stack is too narrow to be drawn";
    for arguments in [&["show", &thin][..], &["compare", &none, &thin]] {
        let svg = picture(arguments);
        assert!(svg.contains(why), "{svg}");
    }
    let svg = picture(&["show", &none]);
    assert!(svg.contains("nothing is there"), "{svg}");
}
