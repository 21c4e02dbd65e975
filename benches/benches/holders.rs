//! Who holds what: reading words, beside copying them, and following references upward.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use plimsoll_core::holders::{Graph, Object, Root, Scan, Traits};

/// Bytes of each object.
const BYTES: usize = 256;

/// The distance of two objects: in an exact profile, each has pages of its own.
const APART: u64 = 0x4000;

fn address(number: u64) -> u64 {
    0x7f00_0000_0000 + number * APART
}

/// Objects, and what they contain: mostly numbers, and in two of 32 words the addresses of others:
/// one that was allocated next, as the name of a session, and one that may be anywhere, as in a map.
fn objects(count: u64) -> (Vec<Object>, Vec<u8>) {
    let objects = (0..count).map(|number| Object {
        address: address(number),
        bytes: BYTES as u64,
        group: u32::try_from(number % 7).unwrap_or(0),
        is_early: false,
    });
    let words = (0..count * BYTES as u64 / 8).map(|word| {
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match word % 32 {
            0 => address((word / 32 + 1) % count) + 16,
            9 => address(mixed % count) + 16,
            _ => mixed >> (word % 48),
        }
    });
    (
        objects.collect(),
        words.flat_map(u64::to_ne_bytes).collect(),
    )
}

fn scanned(objects: &[Object], memory: &[u8]) -> Scan {
    let mut scan = Scan::new(objects.to_vec());
    for (number, object) in memory.chunks(BYTES).enumerate() {
        scan.object(number, 0, object);
    }
    scan.word(Root::State, address(0));
    scan
}

fn scan(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    group.sample_size(10);
    let (objects, memory) = objects(100_000);
    group.throughput(Throughput::Bytes(memory.len() as u64));
    group.bench_function("memcpy", |bencher| {
        let mut copy = vec![0; memory.len()];
        bencher.iter(|| copy.copy_from_slice(black_box(&memory)));
    });
    group.bench_function("words", |bencher| {
        let empty = || Scan::new(objects.clone());
        let read = |mut scan: Scan| {
            for (number, object) in memory.chunks(BYTES).enumerate() {
                scan.object(number, 0, black_box(object));
            }
            scan
        };
        bencher.iter_batched(empty, read, BatchSize::LargeInput);
    });
    group.finish();
}

fn held(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("held");
    group.sample_size(10);
    for count in [1_000, 100_000] {
        let (objects, memory) = objects(count);
        group.throughput(Throughput::Elements(count));
        group.bench_function(BenchmarkId::new("graph", count), |bencher| {
            let read = || scanned(&objects, &memory);
            bencher.iter_batched(read, Scan::finish, BatchSize::LargeInput);
        });
        let graph: Graph = scanned(&objects, &memory).finish().expect("few references");
        let accused = graph.objects().iter().enumerate();
        let accused = accused.filter(|(_, object)| object.group == 3);
        let accused: Vec<usize> = accused.map(|(number, _)| number).collect();
        group.bench_function(BenchmarkId::new("chain", count), |bencher| {
            bencher.iter(|| graph.held(black_box(&accused), &|_| Traits::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, scan, held);
criterion_main!(benches);
