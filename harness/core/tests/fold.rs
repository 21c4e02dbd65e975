//! Names that survive a rebuild, and stacks without what is nobody's fault.

use std::time::{Duration, Instant};

use plimsoll_core::fold::{Folder, Normalization, fold, normalize_frame, site};
use plimsoll_core::{Avma, FoldedStack, Lacks, SourceFrame, SymbolTable};
use proptest::prelude::*;

/// Every name of a real program, in both manglings.
#[test]
fn both_manglings() {
    let names = include_str!("symbols/rustc-1.95.txt");
    let mut stable = "";
    for line in names.lines().filter(|line| !line.starts_with('#')) {
        let mangled = ["legacy ", "v0     "].map(|mangling| line.strip_prefix(mangling));
        stable = if mangled == [None; 2] { line } else { stable };
        let name = mangled.into_iter().flatten().next().unwrap_or(line);
        assert_eq!(normalize_frame(name), stable, "of {name}");
    }
}

/// `name → stable name`, for what that program does not have.
#[test]
fn other_names() {
    let lines = include_str!("symbols/names.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, stable) = line.split_once(" → ").expect("a line has an arrow");
        assert_eq!(normalize_frame(name), stable, "of {name}");
        assert_eq!(normalize_frame(stable), stable);
    }
}

const ROOT: &str = "/home/me/src/project-1.2.3";

/// One address per line of a table, leaf first, with its inlined frames joined
/// by ` < `; each frame is `function` or `function @ file`.
fn table(stack: &str) -> (SymbolTable, Vec<Avma>) {
    let mut table = SymbolTable::default();
    let lines = stack.lines().map(str::trim).filter(|line| !line.is_empty());
    let addresses = lines.zip(0..).map(|(line, address)| {
        let frames = line.split(" < ").map(|frame| {
            let (function, file) = match frame.split_once(" @ ") {
                Some((function, file)) => (function, Some(file.to_owned())),
                None => (frame, None),
            };
            SourceFrame {
                function: function.to_owned(),
                line: file.as_ref().map(|_| 7),
                file,
                arguments: None,
            }
        });
        table.frames.insert(Avma(address), frames.collect());
        Avma(address)
    });
    let addresses = addresses.collect();
    (table, addresses)
}

#[track_caller]
fn folded(stack: &str) -> String {
    let (table, addresses) = table(stack);
    let root = Normalization {
        workspace_root: Some(ROOT.to_owned()),
        own: Some(("own/src".to_owned(), "own".to_owned())),
    };
    let folded = fold(&table, &addresses, &root);
    let names = folded
        .trace
        .frames
        .iter()
        .rev()
        .map(|frame| &frame.function);
    assert!(names.eq(folded.stack.frames()));
    let lines = folded.trace.frames.iter().map(|frame| match &frame.file {
        Some(file) => format!("{} @ {file}", frame.function),
        None => frame.function.clone(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A name of each stack, its addresses, leaf first, and the frames that are left.
#[test]
fn stacks() {
    let mut wrong = String::new();
    for block in include_str!("symbols/stacks.txt").trim_end().split("\n\n") {
        let (name, block) = block.split_once('\n').unwrap();
        let (expected, stack): (Vec<&str>, Vec<&str>) =
            block.lines().partition(|line| line.starts_with("= "));
        let found = folded(&stack.join("\n")).replace('\n', "\n= ");
        if format!("= {found}") != expected.join("\n") {
            wrong += &format!("{name}\n= {found}\n");
        }
    }
    assert_eq!(wrong, "");
    let unresolved = Folder::new(&SymbolTable::default(), &Normalization::default());
    assert_eq!(
        unresolved.fold(&[Avma(1), Avma(2)]).stack.to_string(),
        "[unknown]"
    );
}

/// What is inlined into a frame without debug information is not known. That matters where the
/// workload or what a thread runs may be inlined.
#[test]
fn lines_that_are_missing() {
    let lacks = |stack: &str, without: &[u64]| {
        let (mut table, addresses) = table(stack);
        let without = without.iter();
        let of_stack = without.map(|address| (Avma(*address), Lacks::DebugInfo));
        table.lacks = of_stack.collect();
        let folded = fold(&table, &addresses, &Normalization::default());
        folded.trace.lacks
    };
    let own = "malloc\nalloc::vec::Vec<T>::push\ncase::fill\nplimsoll_subject::ladder";
    assert_eq!(lacks(own, &[2]), Some(Lacks::DebugInfo));
    assert_eq!(lacks(own, &[0, 1, 3]), None);
    let marker = "malloc\nplimsoll_subject::workload_iteration\nplimsoll_subject::ladder";
    assert_eq!(lacks(marker, &[1]), Some(Lacks::DebugInfo));
    assert_eq!(lacks(marker, &[0, 2]), None);
    let thread = "malloc\nalloc::vec::Vec<T>::push\n\
                  std::sys::backtrace::__rust_begin_short_backtrace\nstart_thread";
    assert_eq!(lacks(thread, &[2]), Some(Lacks::DebugInfo));
    assert_eq!(lacks(thread, &[0]), None);
}

/// What becomes of the first frame of a stack: its name, and the file that people are shown.
#[test]
fn crates_and_files() {
    let cases = [
        "a::f @ /c/registry/src/index-1949/lru-0.18.1/src/lib.rs => a::f @ lru-0.18.1/src/lib.rs",
        "a::f @ /c/git/checkouts/lru-rs-0a1b2c/1f2e3d4/src/lib.rs => a::f @ lru-rs/1f2e3d4/src/lib.rs",
        "a::f @ /home/me/src/project-1.2.3/src/main.rs => a::f @ src/main.rs",
        "a::f @ /home/me/projects/x/y/src/main.rs => a::f @ x/y/src/main.rs",
        "a::f @ src/main.rs => a::f @ src/main.rs",
        "std::f @ /rustc/5980/library/std/src/rt.rs => std::f @ library/std/src/rt.rs",
        "f<T> @ /r/foo-bar-1.2.3-rc.1/src/a/mod.rs => foo_bar::a::f @ foo-bar-1.2.3-rc.1/src/a/mod.rs",
        "{closure_env#0} @ /r/foo-2-1.2.3+b/src/a/b.rs => foo_2::a::b::{{closure}} @ foo-2-1.2.3+b/src/a/b.rs",
        "f @ src/a.rs < case::main @ src/main.rs => case::a::f @ src/a.rs",
        "f @ tests/leaks.rs < leaks::main @ tests/leaks.rs => leaks::f @ tests/leaks.rs",
        "f @ src/a.rs => f @ src/a.rs",
        // Wherever the workspace is, and with packages below `src`.
        "f @ /home/me/src/project-1.2.3/src/a.rs < case::main @ /home/me/src/project-1.2.3/src/main.rs \
         => case::a::f @ src/a.rs",
        "f @ /home/me/src/project-1.2.3/tests/a.rs => a::f @ tests/a.rs",
        "f @ /c/src/cargo/registry/src/index/lru-0.18.1/src/a.rs => lru::a::f @ lru-0.18.1/src/a.rs",
        "f @ src/query/src/a.rs < query::g @ src/query/src/lib.rs < case::main @ src/main.rs \
         => query::a::f @ src/query/src/a.rs",
        "f @ src/tests/a.rs < case::main @ src/main.rs => case::tests::a::f @ src/tests/a.rs",
        "f @ own/src/a.rs => own::a::f @ own/src/a.rs",
        "f @ own/src/a.rs < lib::g @ own/src/lib.rs => lib::a::f @ own/src/a.rs",
        "f @ tests/a-b.rs => a_b::f @ tests/a-b.rs",
        "f @ tests/a/main.rs => a::f @ tests/a/main.rs",
        "f @ tests/a/b.rs => f @ tests/a/b.rs",
        "f @ /r/foo-1.2.3/src/a.c => f @ r/foo-1.2.3/src/a.c",
        "f @ /r/foo-1.2.3/src/a.h => f @ r/foo-1.2.3/src/a.h",
    ];
    for case in cases {
        let (frames, expected) = case.split_once(" => ").unwrap();
        assert_eq!(folded(frames).lines().next(), Some(expected), "{frames}");
    }
}

#[test]
fn sites() {
    let stack = |frames: &[&str]| FoldedStack(frames.iter().map(ToString::to_string).collect());
    assert_eq!(site(&stack(&["main", "a::f"])), stack(&["a::f"]));
    assert_eq!(site(&stack(&[])), stack(&[]));
}

#[test]
fn hostile_names_take_linear_time() {
    let length = 100_000;
    let units = "<|>|<a as |<(|<dyn |a<b>::|::<impl |{|{{closure}}|[a]|$1|a$a|&'a |'<|operator|.cold|::h|é<|<_ as b>::";
    for unit in units.split('|') {
        let name = unit.repeat(length / unit.len());
        let start = Instant::now();
        let stable = normalize_frame(&name);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(20), "{unit} took {took:?}");
        assert_eq!(normalize_frame(&stable).len(), stable.len(), "{unit}");
    }
    let nested = |open: &str, middle, close: &str, times| {
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    normalize_frame(&(nested("<a::B<", "a", ">>", 50_000) + "::f"));
    normalize_frame(&nested("<", "a::b", " as c>", 400_000));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Soups of what names are made of.
    #[test]
    fn normalizing_twice_is_normalizing_once(
        name in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "::", "a", "B", " as ", " for ", "impl ", "dyn ", "fn(", "&", "&mut ", "'a ", "*const ",
            "(", ")", "[", "]", ", ", " -> ", ".> ", "{", "}", "{{closure}}", "{closure#3}", "#0", "{shim:vtable#0}",
            "closure$0", "impl$3", "$", "[1f2e]", "::h0123456789abcdef", ".llvm.12", ".cold", "@@V_1.0", "+0x1f", "'<'",
            ";", "\n", " ", "é", "operator", "for<'a> ", "+", "<<", "_",
        ]), 0..24),
    ) {
        let stable = normalize_frame(&name.concat());
        prop_assert_eq!(normalize_frame(&stable), stable);
    }

    #[test]
    fn any_text_is_a_name(name in any::<String>()) {
        let stable = normalize_frame(&name);
        prop_assert_eq!(normalize_frame(&stable), stable);
    }

    /// Reading a folded stack back applies the same rules, and changes nothing.
    #[test]
    fn folding_twice_is_folding_once(
        frames in prop::collection::vec(prop::sample::select(vec![
            "malloc", "alloc::vec::Vec<T>::push", "case::f::{closure#0}", "case::f", "f @ src/a.rs", "hashbrown::x",
            "core::ops::function::FnOnce::call_once", "plimsoll_subject::workload_iteration", "plimsoll::x", "main",
            "libx.so.1+0x10", "<case::A as std::io::Read>::read @ /rustc/1/library/std/src/io/mod.rs",
        ]), 0..12),
    ) {
        let (table, addresses) = table(&frames.join("\n"));
        let folded = fold(&table, &addresses, &Normalization::default());
        prop_assert!(!folded.stack.frames().is_empty());
        for frame in folded.stack.frames() {
            prop_assert_eq!(&normalize_frame(frame), frame);
        }
    }
}
