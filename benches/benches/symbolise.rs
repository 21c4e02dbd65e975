//! Symbolising: from addresses to functions, files and lines. The addresses are of this
//! benchmark, the only program that is sure to exist with its debug information.

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_core::Avma;
use plimsoll_core::dump::HeapDump;
use plimsoll_symbols::{MappedFile, Options, symbolize};

/// Distinct addresses of growing stacks: of one leak, and of a program with many leaks.
const SIZES: [usize; 2] = [100, 2_000];

fn symbolise(criterion: &mut Criterion) {
    let Some((mappings, code)) = own_mappings() else {
        // Without `/proc`, plimsoll cannot measure either.
        return;
    };
    let mut group = criterion.benchmark_group("symbolise");
    group.sample_size(10);
    for size in SIZES {
        let addresses = addresses(&code, size);
        group.throughput(Throughput::Elements(addresses.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| symbolize(&mappings, black_box(&addresses), &Options::default()));
        });
    }
    group.finish();

    let here = BTreeSet::from([Avma(own_address() + 1)]);
    let table = symbolize(&mappings, &here, &Options::default());
    let frames = table.frames.values().flatten();
    let names: Vec<&str> = frames.map(|frame| frame.function.as_str()).collect();
    assert!(
        names.contains(&"symbolise::own_mappings"),
        "this program does not find itself: {names:?}"
    );
}

/// Returns the address of the function that is looked up. The look-up uses the next byte,
/// because addresses on stacks are return addresses, which are behind the call.
fn own_address() -> u64 {
    own_mappings as *const () as u64
}

/// Returns the mappings of this process, and the mapping of its own code.
///
/// Never inlined, because its address is looked up.
#[inline(never)]
fn own_mappings() -> Option<(Vec<MappedFile>, MappedFile)> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let text = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
    let dump = HeapDump::parse(text.as_bytes()).expect("a dump without stacks");
    let mappings: Vec<MappedFile> = dump.maps()?.mappings.iter().map(MappedFile::from).collect();
    let here = own_address();
    let is_here = |mapping: &&MappedFile| (mapping.start..mapping.end).contains(&here);
    let code = mappings.iter().find(is_here)?.clone();
    Some((mappings, code))
}

/// Returns `count` addresses, spread evenly over the program's code.
fn addresses(code: &MappedFile, count: usize) -> BTreeSet<Avma> {
    let step = ((code.end - code.start) / count as u64).max(1);
    (0..count as u64)
        .map(|index| Avma(code.start + 1 + index * step))
        .collect()
}

criterion_group!(benches, symbolise);
criterion_main!(benches);
