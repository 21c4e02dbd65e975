//! Names that survive a rebuild, and stacks without what is nobody's fault.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
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

const ROOT: &str = "/home/me/project";

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

/// A package whose `Cargo.toml` says where its sources are: beside it.
#[test]
fn a_package_without_a_folder_for_sources() {
    assert_snapshot!(folded("
        new @ /c/registry/src/index-1949/markup5ever-0.8.1/rcdom.rs < parse @ /c/registry/src/index-1949/markup5ever-0.8.1/lib.rs < case::read @ /home/me/project/src/lib.rs
    "), @"
    markup5ever::rcdom::new @ markup5ever-0.8.1/rcdom.rs
    markup5ever::parse @ markup5ever-0.8.1/lib.rs
    case::read @ src/lib.rs
    ");
}

/// A release build with `debug = "line-tables-only"`: what is inlined has no path. What the harness's
/// macro expands to is in the harness's file.
#[test]
fn release_stack() {
    assert_snapshot!(folded("
        prof_backtrace_impl
        _rjem_je_prof_tctx_create
        _rjem_malloc
        alloc @ /rustc/5980/library/alloc/src/alloc.rs < alloc_impl @ /rustc/5980/library/alloc/src/alloc.rs < {impl#0}::allocate @ /rustc/5980/library/alloc/src/alloc.rs < new<bytes::bytes::Owned<case::Frame>> @ /rustc/5980/library/alloc/src/boxed.rs < from_owner<case::Frame> @ /home/me/.cargo/registry/src/index-0123456789abcdef/bytes-1.10.0/src/bytes.rs < fill @ /home/me/project/src/cache.rs < case::iteration @ /home/me/project/src/lib.rs
        call_mut<(u64), case::f::{closure_env#0}> @ /rustc/5980/library/core/src/ops/function.rs < {closure#0}<u64> @ /home/me/project/harness/measure/src/scenario.rs < plimsoll_subject::workload_iteration @ /home/me/project/harness/measure/src/subject.rs
        plimsoll_subject::ladder @ /home/me/project/harness/measure/src/subject.rs
        leaks::main::{closure#0} @ /home/me/project/harness/measure/src/lib.rs < leaks::main @ /home/me/project/harness/measure/src/lib.rs
        leaks::main @ /home/me/project/harness/measure/src/lib.rs
        std::sys::backtrace::__rust_begin_short_backtrace
        std::rt::lang_start::{{closure}}
        main
        __libc_start_call_main
        __libc_start_main
        _start
    "), @"
    bytes::bytes::from_owner @ bytes-1.10.0/src/bytes.rs
    case::cache::fill @ src/cache.rs
    case::iteration @ src/lib.rs
    ");
}

/// The same where all of the iteration is inlined into the harness: the closure is
/// named by its file, and what calls the global allocator by that of its declaration.
#[test]
fn an_inlined_iteration() {
    assert_snapshot!(folded("
        malloc
        __rust_alloc @ /home/me/project/harness/measure/src/lib.rs < alloc @ /rustc/5980/library/alloc/src/alloc.rs < {impl#0}::allocate @ /rustc/5980/library/alloc/src/alloc.rs < new<u64> @ /rustc/5980/library/alloc/src/boxed.rs < {closure#0} @ tests/leaks.rs < plimsoll_subject::workload_iteration @ /home/me/project/harness/measure/src/subject.rs
        plimsoll_subject::ladder @ /home/me/project/harness/measure/src/subject.rs
    "), @"leaks::{{closure}} @ tests/leaks.rs");
}

/// Legacy mangling, symbol tables only.
#[test]
fn debug_stack_without_files() {
    assert_snapshot!(folded("
        <tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc
        __rust_alloc
        alloc::alloc::Global::alloc_impl
        <alloc::alloc::Global as core::alloc::Allocator>::allocate
        hashbrown::raw::RawTable<T,A>::reserve_rehash
        hashbrown::map::HashMap<K,V,S,A>::insert
        std::collections::hash::map::HashMap<K,V,S>::insert
        lru::LruCache<K,V,S>::capturing_put::h0123456789abcdef
        lru::LruCache<K,V,S>::put
        core::ops::function::FnOnce::call_once{{vtable.shim}}
        case::fill::{{closure}}
        case::fill
        case::fill
        core::iter::traits::iterator::Iterator::for_each
        case::main
        core::ops::function::FnOnce::call_once
        std::sys::backtrace::__rust_begin_short_backtrace
        <alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once
        std::sys::thread::unix::Thread::new::thread_start
        libc.so.6+0x94ac2
        libc.so.6+0x12684f
    "), @"
    lru::LruCache::capturing_put
    lru::LruCache::put
    case::fill::{{closure}}
    case::fill
    case::main
    ");
}

/// As Debian has it, whose std is mangled in v0 and has no debug information.
#[test]
fn methods_of_slices_without_a_file_are_the_standard_librarys() {
    let stack = "
        malloc
        <u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>
        <[u8]>::to_vec_in::<alloc::alloc::Global>
        <[u8] as demo::Twice>::twice @ /home/me/project/src/lib.rs";
    assert_snapshot!(folded(stack), @"<[_] as demo::Twice>::twice @ src/lib.rs");
}

/// The same stack as v0 has it.
#[test]
fn a_stack_in_either_mangling() {
    let in_legacy = "
        malloc
        alloc::vec::Vec<T,A>::push @ /rustc/5980/library/alloc/src/vec/mod.rs
        case::Cache<T>::fill::{{closure}} @ src/lib.rs
        core::iter::traits::iterator::Iterator::for_each @ /rustc/5980/library/core/src/iter/traits/iterator.rs
        <case::Cache<T> as case::Fill<U>>::fill::h0123456789abcdef @ src/lib.rs";
    let in_v0 = "
        malloc
        <alloc::vec::Vec<u8>>::push @ /rustc/1970/library/alloc/src/vec/mod.rs
        <case[1f2e3d]::Cache<u8>>::fill::{closure#3} @ src/lib.rs
        <core::slice::iter::Iter<u8> as core::iter::traits::iterator::Iterator>::for_each::<<case::Cache<u8>>::fill::{closure#3}> @ /rustc/1970/library/core/src/iter/traits/iterator.rs
        <case::Cache<u8> as case::Fill<u16>>::fill @ src/lib.rs";
    assert_eq!(folded(in_legacy), folded(in_v0));
}

#[test]
fn hashbrown_of_std_and_of_ones_own() {
    assert_snapshot!(folded("
        malloc
        reserve_rehash<u64> @ /rust/deps/hashbrown-0.15.2/src/raw/mod.rs < case::grow @ src/lib.rs
    "), @"case::grow @ src/lib.rs");
    assert_snapshot!(folded("
        malloc
        reserve_rehash<u64> @ /c/registry/src/i/hashbrown-0.15.2/src/raw/mod.rs < insert<u64> @ /c/registry/src/i/hashbrown-0.15.2/src/map.rs < case::grow @ src/lib.rs
    "), @"
    hashbrown::map::insert @ hashbrown-0.15.2/src/map.rs
    case::grow @ src/lib.rs
    ");
    assert_snapshot!(folded("
        malloc
        <allocator_api2::stable::alloc::global::Global as allocator_api2::stable::alloc::Allocator>::allocate
        hashbrown::raw::RawTableInner::new_uninitialized
        hashbrown::raw::RawTable<T,A>::reserve_rehash
        hashbrown::map::HashMap<K,V,S,A>::insert
        case::grow
    "), @"
    hashbrown::map::HashMap::insert
    case::grow
    ");
}

/// C libraries, stripped or not, and Rust functions with names like C's.
#[test]
fn other_languages() {
    assert_snapshot!(folded("
        calloc
        sqlite3MemMalloc.part.0
        libfoo.so.6+0x1234
        libfoo.so.6+0x5678
        std::vector<int, std::allocator<int> >::push_back(int const&)
        prof_start @ src/lib.rs < case::main @ src/lib.rs
        main
        libc.so.6+0x2724a
    "), @"
    sqlite3MemMalloc
    libfoo.so.6
    case::prof_start @ src/lib.rs
    case::main @ src/lib.rs
    ");
}

/// The library that allocated need not be where its dump is read.
#[test]
fn an_allocator_without_names() {
    assert_snapshot!(folded("
        libjemalloc-531-libgcc.so+0xb9b13
        alloc::raw_vec::finish_grow @ library/alloc/src/raw_vec.rs
        case::fill @ src/lib.rs
        main
    "), @"case::fill @ src/lib.rs");
    // Linked to the program, which is stripped, but exports what C calls.
    assert_snapshot!(folded("case+0xb9b13\ncase+0xb9c00\nmalloc\ncase+0x1234\ncase+0x1250"), @"case");
    assert_snapshot!(folded("case+0xb9b13\nmalloc\nlibz.so.1+0x12\ncase::fill"), @"
    libz.so.1
    case::fill
    ");
    assert_snapshot!(folded("libz.so.1+0x12\ncase::fill\nmalloc"), @"
    libz.so.1
    case::fill
    malloc
    ");
    // Recursion of any depth.
    assert_eq!(
        folded("malloc\na::f\na::g"),
        folded("malloc\na::f\na::f\na::f\na::g")
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

#[test]
fn something_is_always_left() {
    assert_snapshot!(folded(""), @"[empty]");
    assert_snapshot!(folded("malloc\nje_malloc"), @"[allocator]");
    assert_snapshot!(folded("malloc\nalloc::vec::Vec<T>::push\nstart_thread\nclone3"), @"alloc::vec::Vec::push");
    assert_snapshot!(folded("malloc\nalloc::vec::Vec<T>::push\nplimsoll::canary::leak\nplimsoll_subject::ladder"), @"plimsoll::canary::leak");
    let unresolved = Folder::new(&SymbolTable::default(), &Normalization::default());
    assert_snapshot!(unresolved.fold(&[Avma(1), Avma(2)]).stack, @"[unknown]");
}

/// What becomes of the first frame of a stack: its name, and the file that people are shown.
#[test]
fn crates_and_files() {
    let cases = [
        "a::f @ /c/registry/src/index-1949/lru-0.18.1/src/lib.rs => a::f @ lru-0.18.1/src/lib.rs",
        "a::f @ /c/git/checkouts/lru-rs-0a1b2c/1f2e3d4/src/lib.rs => a::f @ lru-rs/1f2e3d4/src/lib.rs",
        "a::f @ /home/me/project/src/main.rs => a::f @ src/main.rs",
        "a::f @ /home/me/projects/x/y/src/main.rs => a::f @ x/y/src/main.rs",
        "a::f @ src/main.rs => a::f @ src/main.rs",
        "std::f @ /rustc/5980/library/std/src/rt.rs => std::f @ library/std/src/rt.rs",
        "f<T> @ /r/foo-bar-1.2.3-rc.1/src/a/mod.rs => foo_bar::a::f @ foo-bar-1.2.3-rc.1/src/a/mod.rs",
        "{closure_env#0} @ /r/foo-2-1.2.3+b/src/a/b.rs => foo_2::a::b::{{closure}} @ foo-2-1.2.3+b/src/a/b.rs",
        "f @ src/a.rs < case::main @ src/main.rs => case::a::f @ src/a.rs",
        "f @ tests/leaks.rs < leaks::main @ tests/leaks.rs => leaks::f @ tests/leaks.rs",
        "f @ src/a.rs => f @ src/a.rs",
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
    let length = 300_000;
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
