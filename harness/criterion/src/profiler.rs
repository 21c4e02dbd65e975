//! Profilers, which are accepted and never called.

use std::path::Path;

/// Profiles a benchmark. Plimsoll calls none of its methods.
pub trait Profiler {
    /// Called by criterion before a profiled benchmark.
    fn start_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);

    /// Called by criterion after a profiled benchmark.
    fn stop_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);
}

/// Does nothing. It stands for a profiler outside of the process.
#[derive(Debug)]
pub struct ExternalProfiler;

impl Profiler for ExternalProfiler {
    fn start_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {}

    fn stop_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {}
}
