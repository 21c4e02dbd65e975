//! How long plimsoll thinks about dumps, addresses and levels that are made here.

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_benches::{POLICY, SIZES, baseline, dump_text, observed, stacks, symbols};
use plimsoll_core::dump::HeapDump;
use plimsoll_core::fold::{Folder, Normalization};
use plimsoll_core::judge::{Verdict, judge};
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_profile::read::{Limits, read};
use plimsoll_profile::write::flamegraph;
use plimsoll_profile::{Calls, Filter, Frames, Granularity, Measure, Names, Table, View};
use plimsoll_symbols::{MappedFile, Options, symbolize};

/// Measures `think` for each number of stacks, with what `make` makes of it.
fn for_sizes<M, T>(
    criterion: &mut Criterion,
    name: &str,
    make: impl Fn(usize) -> M,
    think: impl Fn(&M) -> T,
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    for size in SIZES {
        let made = make(size);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| think(black_box(&made)));
        });
    }
    group.finish();
}

/// From the text of a dump to records.
fn parse(criterion: &mut Criterion) {
    let text = |size| dump_text(&stacks(size));
    for_sizes(criterion, "parse", text, |text| {
        let dump = HeapDump::parse(text.as_bytes()).expect("a dump");
        assert_eq!(dump.totals().map(|totals| totals.inuse), Some(dump.inuse()));
        dump
    });
}

/// From addresses with names to folded stacks.
fn fold(criterion: &mut Criterion) {
    let (table, normalization) = (symbols(), Normalization::default());
    for_sizes(criterion, "fold", stacks, |stacks| {
        // As in the front, each address is looked up and normalised once.
        let folder = Folder::new(&table, &normalization);
        let frames = stacks
            .iter()
            .map(|stack| folder.fold(stack).trace.frames.len());
        frames.sum::<usize>()
    });
}

/// From levels over a ladder, and a baseline, to a verdict.
fn verdict(criterion: &mut Criterion) {
    let baseline = baseline();
    for_sizes(criterion, "judge", observed, |observed| {
        let assessment = judge(observed, &baseline, &POLICY);
        assert_eq!(assessment.verdict, Verdict::Regressed);
        assessment
    });
}

/// What `plimsoll show` does with a dump, except reading programs and printing.
fn show(criterion: &mut Criterion) {
    let symbols = symbols();
    let text = |size| dump_text(&stacks(size));
    for (name, draws) in [("show", false), ("show, flame graph", true)] {
        let shown = |text: &String| shown(text, &symbols, draws);
        for_sizes(criterion, name, text, shown);
    }
}

fn shown(text: &str, symbols: &SymbolTable, draws: bool) -> usize {
    let mut profile = read(&mut text.as_bytes(), Limits::default()).expect("a dump");
    let named = profile.name(|address| symbols.get(address).to_vec());
    named.expect("few names");
    let (filter, mut names) = (Filter::default(), Names::default());
    let (granularity, frames) = (Granularity::Functions, Frames::Folded);
    let view = View::new(&profile, granularity, frames, &filter, &mut names);
    if !draws {
        let table = Table::of(&view, Measure::InuseSpace, false, &names);
        return table.rows.len();
    }
    let calls = Calls::of(&view);
    let gains = calls.gains(Measure::InuseSpace, false);
    let svg = flamegraph(&calls, &gains, false, &names, "heap", "live", "bytes");
    svg.expect("a picture").len()
}

/// From addresses to functions, files and lines. The addresses are of this benchmark, the only
/// program that is sure to exist with its debug information.
fn symbolise(criterion: &mut Criterion) {
    let maps = fs::read_to_string("/proc/self/maps").expect("this is Linux");
    let text = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
    let dump = HeapDump::parse(text.as_bytes()).expect("a dump without stacks");
    let maps = dump.maps().expect("it has mappings");
    let mappings: Vec<MappedFile> = maps.mappings.iter().map(MappedFile::from).collect();
    // The next byte, because addresses on stacks are behind the call.
    let here = symbolise as *const () as u64 + 1;
    let is_here = |mapping: &&MappedFile| (mapping.start..mapping.end).contains(&here);
    let code = mappings.iter().find(is_here).expect("this is mapped");
    let found = |addresses: &BTreeSet<Avma>| symbolize(&mappings, addresses, &Options::default());

    let mut group = criterion.benchmark_group("symbolise");
    group.sample_size(10);
    // Distinct addresses of growing stacks: of one leak, and of a program with many leaks.
    for size in [100, 2_000] {
        // Spread evenly over the program's code.
        let step = ((code.end - code.start) / size).max(1);
        let addresses = (0..size).map(|index| Avma(code.start + 1 + index * step));
        let addresses: BTreeSet<Avma> = addresses.collect();
        group.throughput(Throughput::Elements(addresses.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| found(black_box(&addresses)));
        });
    }
    group.finish();

    let table = found(&BTreeSet::from([Avma(here)]));
    let mut frames = table.frames.values().flatten();
    let finds_itself = frames.any(|frame| frame.function == "think::symbolise");
    assert!(finds_itself, "{:?}", table.frames);
}

criterion_group!(benches, parse, fold, verdict, show, symbolise);
criterion_main!(benches);
