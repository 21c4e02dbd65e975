//! Addresses to functions, files and lines, of the one program that is sure to
//! be there with its debug information: this benchmark.

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_core::Avma;
use plimsoll_core::dump::HeapDump;
use plimsoll_symbols::{MappedFile, Options, symbolize};

/// Distinct addresses of growing stacks: of one leak, and of a very leaky program.
const SIZES: [usize; 2] = [100, 2_000];

fn symbolise(criterion: &mut Criterion) {
    let Some((mappings, code)) = own_mappings() else {
        // No `/proc`: nothing is measured there either.
        return;
    };
    let mut group = criterion.benchmark_group("symbolise");
    group.sample_size(10);
    for size in SIZES {
        let addresses = addresses(&code, size);
        group.throughput(Throughput::Elements(addresses.len() as u64));
        group.bench_with_input(
            BenchmarkId::from_parameter(size),
            &addresses,
            |bencher, addresses| {
                bencher.iter(|| symbolize(&mappings, black_box(addresses), &Options::default()));
            },
        );
    }
    group.finish();

    let here = BTreeSet::from([Avma(own_address() + 1)]);
    let table = symbolize(&mappings, &here, &Options::default());
    let names: Vec<&str> = table
        .iter()
        .flat_map(|(_, frames)| frames)
        .map(|frame| frame.function.as_str())
        .collect();
    assert!(
        names.contains(&"symbolise::own_mappings"),
        "this program does not find itself: {names:?}"
    );
}

/// Where this program's code has the function that is looked up: what a call at
/// its start would return to is one byte behind.
fn own_address() -> u64 {
    own_mappings as *const () as u64
}

/// Where this process's files lie, and the mapping that holds its own code.
///
/// Out of line, since its address is looked up.
#[inline(never)]
fn own_mappings() -> Option<(Vec<MappedFile>, MappedFile)> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let text = format!("heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n{maps}");
    let dump = HeapDump::parse(text.as_bytes()).expect("a dump without stacks");
    let mappings: Vec<MappedFile> = dump.maps()?.mappings.iter().map(MappedFile::from).collect();
    let here = own_address();
    let code = mappings
        .iter()
        .find(|mapping| (mapping.start..mapping.end).contains(&here))?;
    let code = code.clone();
    Some((mappings, code))
}

/// So many addresses, evenly over the program's code.
fn addresses(code: &MappedFile, count: usize) -> BTreeSet<Avma> {
    let step = ((code.end - code.start) / count as u64).max(1);
    (0..count as u64)
        .map(|index| Avma(code.start + 1 + index * step))
        .collect()
}

criterion_group!(benches, symbolise);
criterion_main!(benches);
