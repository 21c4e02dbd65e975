//! The same numbers as jeprof's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Folder, plimsoll, shared, skipped};

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
        for entry in fs::read_dir(dumps.join(program).join("jeprof")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let Some(stem) = name.strip_suffix(".addresses.folded") else {
                continue;
            };
            let dump = |name: &str| {
                let path = dumps.join(program).join(name);
                path.to_str().unwrap().to_owned()
            };
            let ours = match stem.strip_prefix("base-i0-to-f") {
                None => plimsoll(&[
                    "show",
                    "--addresses",
                    "--folded",
                    &dump(&format!("{stem}.heap")),
                ]),
                Some(drop) => {
                    let (before, after) = ("s12.25400.0.i0.heap", "s12.25400.1.f.heap");
                    let (before, after) = (dump(before), dump(after));
                    let mut arguments = vec!["compare", "--addresses", "--folded"];
                    arguments.extend((!drop.is_empty()).then_some("--drop-negative"));
                    arguments.extend([before.as_str(), after.as_str()]);
                    plimsoll(&arguments)
                }
            };
            let jeprofs = fs::read_to_string(&path).unwrap();
            assert_eq!(
                numbers(&ours.done()),
                numbers(&jeprofs),
                "{}",
                path.display()
            );
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
        for tool in ["jeprof", "cc", "nm", "addr2line", "objdump"] {
            if Command::new(tool).arg("--version").output().is_err() {
                skipped(
                    "jeprof's own answers",
                    &format!("{tool} is missing (.ci/install)"),
                );
                return None;
            }
        }
        let folder = Folder::new();
        let source = folder.file("leak.c", PROGRAM);
        let program = folder.name("leak");
        let built = Command::new("cc")
            .args([
                "-g",
                "-O1",
                "-fno-inline",
                "-fno-optimize-sibling-calls",
                "-o",
                &program,
            ])
            .args([&source, "-ljemalloc"])
            .output()
            .unwrap();
        if !built.status.success() {
            let why = String::from_utf8_lossy(&built.stderr).into_owned();
            skipped(
                "jeprof's own answers",
                &format!("libjemalloc-dev is missing: {why}"),
            );
            return None;
        }
        Some(Bench { folder, program })
    }

    /// The dumps before and after.
    fn run(&self, interval: u32) -> (String, String) {
        let (before, after) = (
            self.folder.name("before.heap"),
            self.folder.name("after.heap"),
        );
        let options = format!("prof:true,prof_accum:true,lg_prof_sample:{interval}");
        let ran = Command::new(&self.program)
            .args([&before, &after])
            .env("MALLOC_CONF", options)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        assert!(
            Path::new(&before).exists(),
            "Debian's jemalloc has the profiler: {ran:?}"
        );
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

#[test]
fn of_stacks() {
    let Some(bench) = Bench::new() else { return };
    for interval in [0, 9] {
        let (before, after) = bench.run(interval);
        for [theirs, ours] in MEASURES {
            let one = ["--collapsed", "--addresses", theirs, &bench.program, &after];
            assert_eq!(
                numbers(&plimsoll(&["show", "--addresses", "--folded", ours, &after]).done()),
                numbers(&bench.jeprof(&one)),
                "{theirs}, 2^{interval}"
            );
            for drop in [None, Some(["--drop_negative", "--drop-negative"])] {
                let base = format!("--base={before}");
                let mut jeprof = vec!["--collapsed", "--addresses", theirs, &base];
                jeprof.extend(drop.map(|[theirs, _]| theirs));
                jeprof.extend([bench.program.as_str(), &after]);
                let mut compare = vec!["compare", "--addresses", "--folded", ours];
                compare.extend(drop.map(|[_, ours]| ours));
                compare.extend([before.as_str(), &after]);
                let found = numbers(&plimsoll(&compare).done());
                assert_eq!(
                    found,
                    numbers(&bench.jeprof(&jeprof)),
                    "{compare:?}, 2^{interval}"
                );
                let shrank = found.iter().any(|number| *number < 0);
                assert_eq!(
                    shrank,
                    drop.is_none() && ours.starts_with("--inuse"),
                    "{compare:?}"
                );
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
    let leaves: Vec<&str> = folded
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap().0.rsplit(';').nth(1).unwrap())
        .collect();
    for grew in ["grows", "fresh", "deep"] {
        assert!(leaves.contains(&grew), "{grew}: {folded}");
    }
    assert!(!leaves.contains(&"same"), "{folded}");
}

/// jeprof's table: flat and cumulative bytes by function.
fn jeprofs_table(text: &str) -> (i64, BTreeMap<String, [i64; 2]>) {
    let mut lines = text.lines();
    let total = lines.next().unwrap();
    let total = total
        .strip_prefix("Total: ")
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
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
    for (jeprof, ours) in [
        (
            vec!["--text", "--show_bytes", &bench.program, &after],
            vec!["show", "--json", "--all-frames", &after],
        ),
        (
            vec!["--text", "--show_bytes", &base, &bench.program, &after],
            vec!["compare", "--json", "--all-frames", &before, &after],
        ),
    ] {
        let (total, table) = jeprofs_table(&bench.jeprof(&jeprof));
        let json: serde_json::Value = serde_json::from_str(&plimsoll(&ours).done()).unwrap();
        let value = |of: &serde_json::Value, plain: &str| match ours[0] {
            "show" => of[plain]["inuse_space"].as_f64().unwrap(),
            _ => of["growth"].as_f64().unwrap(),
        };
        let ours_total = match ours[0] {
            "show" => json["total"]["inuse_space"].as_f64().unwrap(),
            _ => json["total"]["growth"].as_f64().unwrap(),
        };
        // jeprof adds in the order of a hash, so the last digit may differ.
        let is_close = |one: f64, two: i64| (one - two as f64).abs() < 2.0;
        assert!(is_close(ours_total, total), "{ours_total} {total}");
        for function in [
            "keep", "grows", "fresh", "same", "deep", "vanishes", "shrinks", "main",
        ] {
            let (mut flat, mut cum) = (0.0, 0.0);
            for stack in json["stacks"].as_array().unwrap() {
                let names: Vec<&str> = stack["stack"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap())
                    .collect();
                let value = value(stack, "values");
                let inner = names.iter().rev().find(|name| !is_allocators(name));
                if inner == Some(&function) {
                    flat += value;
                }
                if names.contains(&function) {
                    cum += value;
                }
            }
            let [theirs_flat, theirs_cum] = table.get(function).copied().unwrap_or_default();
            let is_nothing = matches!(
                (ours[0], function),
                ("compare", "same") | ("show", "vanishes")
            );
            assert_eq!(cum == 0.0, is_nothing, "{function}: {cum}");
            assert!(
                is_close(flat, theirs_flat),
                "{function}: {flat} {theirs_flat}"
            );
            assert!(is_close(cum, theirs_cum), "{function}: {cum} {theirs_cum}");
        }
    }
}

/// What jeprof takes off the leaf where it has the name.
fn is_allocators(name: &str) -> bool {
    name == "malloc" || name.starts_with("libjemalloc.so")
}
