//! The same numbers as jeprof's.

use std::process::Command;

use crate::{Folder, plimsoll, skipped};

/// The numbers of folded stacks, without those that are nothing.
fn numbers(folded: &str) -> Vec<i64> {
    let last = |line: &str| line.rsplit_once(' ').unwrap().1.parse().unwrap();
    let mut numbers: Vec<i64> = folded.lines().map(last).filter(|n| *n != 0).collect();
    numbers.sort_unstable();
    numbers
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
__attribute__((noinline)) void same(int n) { for (int i = 0; i < n; i++) keep(40); __asm__(""); }
__attribute__((noinline)) void deep(int n) { if (n > 0) deep(n - 1); else keep(70000); __asm__(""); }
void *gone[4096];
int going;
__attribute__((noinline)) void shrinks(int n) { for (int i = 0; i < n; i++) gone[going++] = malloc(8 + 64 * (i % 9)); __asm__(""); }

static int dump(const char *name) { return mallctl("prof.dump", NULL, NULL, &name, sizeof name); }

int main(int argc, char **argv) {
    shrinks(400);
    grows(60);
    same(300);
    deep(20);
    if (dump(argv[1])) return 1;
    grows(90);
    deep(20);
    for (int i = 0; i < 250; i++) free(gone[i]);
    return dump(argv[2]);
}
"#;

/// Without symbols, jeprof is five times as fast. The numbers of addresses need no symbols.
const NAMELESS: &str = "--tools=nm:true,addr2line:true,objdump:objdump,c++filt:c++filt";

#[test]
fn of_stacks() {
    let without = |why: &str| skipped("jeprof's own answers", why);
    for tool in ["jeprof", "cc", "objdump"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return without(&format!("{tool} is missing (.ci/install)"));
        }
    }
    let folder = Folder::new();
    let (source, program) = (folder.file("leak.c", PROGRAM), folder.name("leak"));
    let built = Command::new("cc")
        .args(["-O1", "-fno-inline", "-fno-optimize-sibling-calls"])
        .args(["-o", &program, &source, "-ljemalloc"])
        .output()
        .unwrap();
    if !built.status.success() {
        let why = String::from_utf8_lossy(&built.stderr);
        return without(&format!("libjemalloc-dev is missing: {why}"));
    }
    let [before, after] = ["before", "after"].map(|name| folder.name(name));
    let ran = Command::new(&program)
        .args([&before, &after])
        .env("MALLOC_CONF", "prof:true,prof_accum:true,lg_prof_sample:9")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let is_there = folder.path("before").exists();
    assert!(is_there, "Debian's jemalloc has the profiler: {ran:?}");

    let base = format!("--base={before}");
    let (one, two) = (&[after.as_str()][..], &[&*before, &*after][..]);
    for (measure, dumps, drop) in [
        ("--inuse_space", one, ""),
        ("--inuse_space", two, ""),
        ("--inuse_space", two, "--drop_negative"),
        ("--inuse_objects", two, ""),
        ("--alloc_space", two, ""),
        ("--alloc_objects", one, ""),
    ] {
        let (command, base) = match dumps {
            [_] => ("show", ""),
            _ => ("compare", &*base),
        };
        let ours = [command, "--addresses", "--folded", measure, drop];
        let ours = [&ours, dumps].concat();
        let ours: Vec<&str> = ours.into_iter().filter(|word| !word.is_empty()).collect();
        let theirs = ["--collapsed", "--addresses", NAMELESS, measure, drop, base];
        let theirs = theirs.into_iter().filter(|word| !word.is_empty());
        let jeprof = Command::new("jeprof")
            .args(theirs.chain([&*program, &after]))
            .env("JEPROF_TMPDIR", folder.path(""))
            .output()
            .unwrap();
        assert!(jeprof.status.success(), "{jeprof:?}");
        let found = numbers(&plimsoll(&ours).done());
        let expected = numbers(&String::from_utf8(jeprof.stdout).unwrap());
        assert_eq!(found, expected, "{ours:?}");
        let shrank = found.iter().any(|number| *number < 0);
        let may_shrink = command == "compare" && drop.is_empty() && measure.contains("inuse");
        assert_eq!(shrank, may_shrink, "{ours:?}");
    }
}
