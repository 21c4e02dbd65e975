//! The workload under dhat-rs. The argument is the number of iterations.

use plimsoll_benches::workload::workload;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() {
    let iterations = std::env::args().nth(1).and_then(|n| n.parse::<u64>().ok());
    let profiler = dhat::Profiler::builder().testing().build();
    let mut iterate = workload();
    for i in 0..iterations.unwrap_or(1_000) {
        iterate(i);
    }
    // In testing mode, the profiler writes no file when it is dropped.
    drop(profiler);
}
