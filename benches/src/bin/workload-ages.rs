//! The workload in a server whose profiles have births, unless `PLIMSOLL_AGES` is `off`. The
//! arguments are the number of iterations, and `libgcc` to walk stacks without the feature
//! `unwinder`.

use plimsoll_benches::workload::workload;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    if std::env::args().nth(2).as_deref() == Some("libgcc") {
        plimsoll_ages::testing::without_unwinder();
    }
    plimsoll_ages::install();
    let iterations = std::env::args().nth(1).and_then(|n| n.parse::<u64>().ok());
    let mut iterate = workload();
    for i in 0..iterations.unwrap_or(1_000) {
        iterate(i);
    }
}
