//! Parsing: from the text of a dump to records.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_benches::{SIZES, dump_text, stacks};
use plimsoll_core::dump::HeapDump;

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    group.sample_size(20);
    for size in SIZES {
        let text = dump_text(&stacks(size));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &text, |bencher, text| {
            bencher.iter(|| HeapDump::parse(black_box(text.as_bytes())).expect("a dump"));
        });
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
