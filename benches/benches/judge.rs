//! Judging: from levels over a ladder, and a baseline, to a verdict.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_benches::{SIZES, baseline, observed};
use plimsoll_core::judge::{Policy, judge};

fn verdict(criterion: &mut Criterion) {
    let baseline = baseline();
    let policy = Policy {
        threshold: Some(1_000),
        at_top: true,
        accuse_from: 0,
        may_coarsen: true,
        today: None,
    };
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10);
    for size in SIZES {
        let observed = observed(size);
        group.throughput(Throughput::Elements(size as u64));
        group.bench_with_input(
            BenchmarkId::from_parameter(size),
            &observed,
            |bencher, observed| {
                bencher.iter(|| judge(black_box(observed), &baseline, &policy));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, verdict);
criterion_main!(benches);
