//! Judging: from levels over a ladder, and a baseline, to a verdict.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_benches::{POLICY, SIZES, baseline, observed};
use plimsoll_core::judge::judge;

fn verdict(criterion: &mut Criterion) {
    let baseline = baseline();
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10);
    for size in SIZES {
        let observed = observed(size);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| judge(black_box(&observed), &baseline, &POLICY));
        });
    }
    group.finish();
}

criterion_group!(benches, verdict);
criterion_main!(benches);
