//! The same numbers as jeprof's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Folder, folded, json, plimsoll, shared, skipped};

/// The numbers of folded stacks, without those that are nothing.
fn numbers(folded: &str) -> Vec<i64> {
    let last = |line: &str| line.rsplit_once(' ').unwrap().1.parse().unwrap();
    let mut numbers: Vec<i64> = folded.lines().map(last).filter(|n| *n != 0).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn of_dumps_that_others_made() {
    let Some(dumps) = shared() else {
        return skipped(
            "jeprof's answers to real dumps",
            "../shared/dumps is missing",
        );
    };
    let mut compared = 0;
    for program in ["git", "redis", "sqlite"] {
        let dumps = dumps.join(program);
        let dump = |name: &str| dumps.join(name).to_str().unwrap().to_owned();
        for entry in fs::read_dir(dumps.join("jeprof")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some(stem) = name.strip_suffix(".addresses.folded") else {
                continue;
            };
            let (one, before) = (dump(&format!("{stem}.heap")), dump("s12.25400.0.i0.heap"));
            let after = dump("s12.25400.1.f.heap");
            let arguments = match stem.strip_prefix("base-i0-to-f") {
                None => &["show", one.as_str()][..],
                Some("") => &["compare", &before, &after],
                Some(_) => &["compare", "--drop-negative", &before, &after],
            };
            let ours = plimsoll(&[arguments, &["--addresses", "--folded"]].concat()).done();
            let jeprofs = fs::read_to_string(&path).unwrap();
            assert_eq!(numbers(&ours), numbers(&jeprofs), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 14, "only {compared} answers are there");
}

/// Grows, shrinks and gives back on stacks of its own, and dumps twice. Two objects of
/// each size, so that what a sample stands for differs from stack to stack.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <jemalloc/jemalloc.h>

// Not static: what nobody can read is not allocated.
void *kept[4096];
int count;
__attribute__((noinline)) void keep(size_t size) { kept[count] = malloc(size); memset(kept[count++], 1, size); }
__attribute__((noinline)) void grows(int n) { for (int i = 0; i < n; i++) keep(100 + 13 * i); __asm__(""); }
__attribute__((noinline)) void fresh(int n) { for (int i = 0; i < n; i++) keep(5000); __asm__(""); }
__attribute__((noinline)) void same(int n) { for (int i = 0; i < n; i++) keep(40); __asm__(""); }
__attribute__((noinline)) void deep(int n) { if (n > 0) deep(n - 1); else keep(70000); __asm__(""); }
void *gone[4096];
int going;
__attribute__((noinline)) void vanishes(int n) { for (int i = 0; i < n; i++) gone[going++] = malloc(777); __asm__(""); }
__attribute__((noinline)) void shrinks(int n) { for (int i = 0; i < n; i++) gone[going++] = malloc(8 + 64 * (i % 9)); __asm__(""); }

static int dump(const char *name) { return mallctl("prof.dump", NULL, NULL, &name, sizeof name); }

int main(int argc, char **argv) {
    vanishes(50);
    int from = going;
    shrinks(400);
    grows(60);
    same(300);
    deep(20);
    if (dump(argv[1])) return 1;
    grows(90);
    fresh(30);
    deep(20);
    for (int i = 0; i < from + 250; i++) free(gone[i]);
    return dump(argv[2]);
}
"#;

struct Bench {
    folder: Folder,
    program: String,
}

impl Bench {
    /// The program; none where it cannot be built, or nothing can be compared with it.
    fn new() -> Option<Bench> {
        let without = |why: &str| skipped("jeprof's own answers", why);
        for tool in ["jeprof", "cc", "nm", "addr2line", "objdump"] {
            if Command::new(tool).arg("--version").output().is_err() {
                without(&format!("{tool} is missing (.ci/install)"));
                return None;
            }
        }
        let folder = Folder::new();
        let source = folder.file("leak.c", PROGRAM);
        let program = folder.name("leak");
        let built = Command::new("cc")
            .args(["-g", "-O1", "-fno-inline", "-fno-optimize-sibling-calls"])
            .args(["-o", &program, &source, "-ljemalloc"])
            .output()
            .unwrap();
        if !built.status.success() {
            let why = String::from_utf8_lossy(&built.stderr);
            without(&format!("libjemalloc-dev is missing: {why}"));
            return None;
        }
        Some(Bench { folder, program })
    }

    /// The dumps before and after.
    fn run(&self, interval: u32) -> (String, String) {
        let [before, after] = ["before", "after"].map(|name| self.folder.name(name));
        let options = format!("prof:true,prof_accum:true,lg_prof_sample:{interval}");
        let ran = Command::new(&self.program)
            .args([&before, &after])
            .env("MALLOC_CONF", options)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let is_there = Path::new(&before).exists();
        assert!(is_there, "Debian's jemalloc has the profiler: {ran:?}");
        (before, after)
    }

    fn jeprof(&self, arguments: &[&str]) -> String {
        let output = Command::new("jeprof")
            .args(arguments)
            .env("JEPROF_TMPDIR", self.folder.0.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

const MEASURES: [[&str; 2]; 4] = [
    ["--inuse_space", "--inuse-space"],
    ["--inuse_objects", "--inuse-objects"],
    ["--alloc_space", "--alloc-space"],
    ["--alloc_objects", "--alloc-objects"],
];

/// Without symbols, jeprof is five times as fast. The numbers of addresses need no symbols.
const NAMELESS: &str = "--tools=nm:true,addr2line:true,objdump:objdump,c++filt:c++filt";

#[test]
fn of_stacks() {
    let Some(bench) = Bench::new() else { return };
    for interval in [0, 9] {
        let (before, after) = bench.run(interval);
        for [theirs, ours] in MEASURES {
            let asked = ["--collapsed", "--addresses", NAMELESS, theirs];
            let found = numbers(&folded(&["--addresses", ours, &after]));
            let one = [&asked[..], &[&bench.program, &after]].concat();
            let expected = numbers(&bench.jeprof(&one));
            assert_eq!(found, expected, "{theirs}, 2^{interval}");
            let base = format!("--base={before}");
            for drop in [&[][..], &["--drop_negative"]] {
                let of_two = [drop, &[&base, &bench.program, &after]].concat();
                let of_two = [&asked[..], &of_two].concat();
                let drops: Vec<String> = drop.iter().map(|drop| drop.replace('_', "-")).collect();
                let mut compare = vec!["compare", "--addresses", "--folded", ours, &before, &after];
                compare.extend(drops.iter().map(String::as_str));
                let found = numbers(&plimsoll(&compare).done());
                let expected = numbers(&bench.jeprof(&of_two));
                assert_eq!(found, expected, "{compare:?}, 2^{interval}");
                let shrank = found.iter().any(|number| *number < 0);
                let may_shrink = drop.is_empty() && ours.starts_with("--inuse");
                assert_eq!(shrank, may_shrink, "{compare:?}");
            }
        }
    }
}

#[test]
fn of_two_processes() {
    let Some(bench) = Bench::new() else { return };
    let (before, _) = bench.run(0);
    let kept = bench.folder.name("kept.heap");
    fs::rename(before, &kept).unwrap();
    // Loaded elsewhere, with the same functions.
    let (_, after) = bench.run(0);
    let folded = plimsoll(&["compare", "--folded", &kept, &after]).done();
    let leaf = |line: &'_ str| line.rsplit(';').nth(1).unwrap().to_owned();
    let leaves: Vec<String> = folded.lines().map(leaf).collect();
    let grew = |name: &str| leaves.iter().any(|leaf| leaf == name);
    for name in ["grows", "fresh", "deep"] {
        assert!(grew(name), "{name}: {folded}");
    }
    assert!(!grew("same"), "{folded}");
}

/// jeprof's table: flat and cumulative bytes by function.
fn jeprofs_table(text: &str) -> (i64, BTreeMap<String, [i64; 2]>) {
    let mut lines = text.lines();
    let total = lines.next().unwrap().strip_prefix("Total: ").unwrap();
    let total = total.split(' ').next().unwrap();
    let rows = lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words[5].to_owned();
        (name, [words[0].parse().unwrap(), words[3].parse().unwrap()])
    });
    (total.parse().unwrap(), rows.collect())
}

#[test]
fn of_functions_and_in_total() {
    let Some(bench) = Bench::new() else { return };
    let (before, after) = bench.run(9);
    let base = format!("--base={before}");
    let text = ["--text", "--show_bytes"];
    let of_two = [&text[..], &[&base]].concat();
    for (jeprof, ours, nothing) in [
        (&text[..], &["show", &after][..], "vanishes"),
        (&of_two, &["compare", &before, &after], "same"),
    ] {
        let jeprof = [jeprof, &[&bench.program, &after]].concat();
        let (total, table) = jeprofs_table(&bench.jeprof(&jeprof));
        let json = json(&plimsoll(&[ours, &["--json", "--all-frames"]].concat()).done());
        let number = |of: &Value, key: &str| of[key].as_f64().unwrap();
        // jeprof adds in the order of a hash, so the last digit may differ.
        let is_close = |one: f64, two: i64| (one - two as f64).abs() < 2.0;
        let of_all = match ours[0] {
            "show" => number(&json["total"], "inuse_space"),
            _ => number(&json["total"], "growth"),
        };
        assert!(is_close(of_all, total), "{of_all} {total}");
        let functions = "keep grows fresh same deep vanishes shrinks main";
        for function in functions.split(' ') {
            let (mut flat, mut cum) = (0.0, 0.0);
            for stack in json["stacks"].as_array().unwrap() {
                let names = stack["stack"].as_array().unwrap().iter();
                let names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
                let value = match ours[0] {
                    "show" => number(&stack["values"], "inuse_space"),
                    _ => number(stack, "growth"),
                };
                let inner = names.iter().rev().find(|name| !is_allocators(name));
                if inner == Some(&function) {
                    flat += value;
                }
                if names.contains(&function) {
                    cum += value;
                }
            }
            let theirs = table.get(function).copied().unwrap_or_default();
            assert_eq!(cum == 0.0, function == nothing, "{function}: {cum}");
            let is_theirs = is_close(flat, theirs[0]) && is_close(cum, theirs[1]);
            assert!(is_theirs, "{function}: {flat} {cum} {theirs:?}");
        }
    }
}

/// What jeprof takes off the leaf where it has the name.
fn is_allocators(name: &str) -> bool {
    name == "malloc" || name.starts_with("libjemalloc.so")
}
