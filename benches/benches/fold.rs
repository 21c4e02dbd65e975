//! Folding: from addresses with names to folded stacks.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_benches::{SIZES, stacks, symbols};
use plimsoll_core::fold::{Folder, Normalization};

fn fold(criterion: &mut Criterion) {
    let normalization = Normalization::default();
    let table = symbols();
    let mut group = criterion.benchmark_group("fold");
    group.sample_size(20);
    for size in SIZES {
        let stacks = stacks(size);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                // As in the front, each address is looked up and normalised once.
                let folder = Folder::new(black_box(&table), &normalization);
                let frames = stacks
                    .iter()
                    .map(|stack| folder.fold(stack).trace.frames.len());
                frames.sum::<usize>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fold);
criterion_main!(benches);
