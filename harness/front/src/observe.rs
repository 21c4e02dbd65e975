//! What the kernel says about a subject, read from `/proc/PID` (proc(5)), and the machine's
//! limits.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::sys;

/// Descriptors of a subject that belong to the harness: its end of the channel.
const OWN_DESCRIPTORS: u64 = 1;

/// Returns the resident set in bytes, or zero if the process is gone.
pub(crate) fn resident(process: u32) -> u64 {
    let pages = number(&format!("/proc/{process}/statm"), second_word);
    pages.map_or(0, |pages| pages.saturating_mul(sys::page_size()))
}

/// Reads the number that `find` finds in a file.
fn number(file: &str, find: fn(&str) -> Option<&str>) -> Option<u64> {
    find(&fs::read_to_string(file).ok()?)?.trim().parse().ok()
}

fn second_word(text: &str) -> Option<&str> {
    text.split_whitespace().nth(1)
}

/// Returns how many threads the process has.
pub(crate) fn threads(process: u32) -> u64 {
    entries(&format!("/proc/{process}/task"))
}

/// Returns how many descriptors the workload has open.
pub(crate) fn descriptors(process: u32) -> u64 {
    entries(&format!("/proc/{process}/fd")).saturating_sub(OWN_DESCRIPTORS)
}

/// Returns whether the process can open no more files.
pub(crate) fn has_no_descriptor_left(process: u32) -> bool {
    entries(&format!("/proc/{process}/fd")) >= descriptor_limit(process)
}

fn entries(folder: &str) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| entries.count() as u64)
}

/// Waits until all threads but the first rest for two milliseconds, or until `limit` has
/// passed. The first thread waits for a command.
///
/// A thread rests if it does not run, is not ready to run, and has used no processor time.
pub(crate) fn settle(process: u32, limit: Duration) {
    let started = Instant::now();
    let mut before = run_times(process);
    let mut quiet = 0;
    while before.len() > 1 && quiet < 2 && started.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(1));
        let now = run_times(process);
        let is_quiet = now == before && !is_busy(process);
        quiet = if is_quiet { quiet + 1 } else { 0 };
        before = now;
    }
}

/// Returns whether a thread other than the first runs, or waits for a core or a disk. A
/// thread's run time alone is not enough, because the kernel updates it only now and then.
fn is_busy(process: u32) -> bool {
    let first = process.to_string();
    tasks(process)
        .filter(|task| task.file_name() != *first)
        .filter_map(|task| fs::read_to_string(task.path().join("stat")).ok())
        // The line is "tid (name) state …", and a name may contain brackets.
        .filter_map(|stat| Some(stat.rsplit_once(") ")?.1.starts_with(['R', 'D'])))
        .any(|busy| busy)
}

fn tasks(process: u32) -> impl Iterator<Item = fs::DirEntry> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    tasks.into_iter().flatten().flatten()
}

/// Returns the nanoseconds that each thread has run, as text.
fn run_times(process: u32) -> BTreeMap<String, String> {
    tasks(process)
        .map(|task| {
            // The file has "run time, waiting time, times run". If the kernel has no scheduler
            // statistics, the `stat` file shows changes too.
            let times = fs::read_to_string(task.path().join("schedstat"))
                .or_else(|_| fs::read_to_string(task.path().join("stat")))
                .unwrap_or_default();
            (task.file_name().to_string_lossy().into_owned(), times)
        })
        .collect()
}

/// Returns how long the process's first thread, which runs the iterations, has waited for a
/// processor so far; zero if the kernel has no scheduler statistics.
pub(crate) fn waited(process: u32) -> Duration {
    // "run time, waiting time, times run", in nanoseconds.
    let waiting = number(&format!("/proc/{process}/schedstat"), second_word);
    Duration::from_nanos(waiting.unwrap_or(0))
}

/// Returns a subject's default memory limit in bytes: half of the machine's or container's
/// memory, divided by the number of cores, but at most 2 GiB.
///
/// The limit does not depend on what else runs, so that a ladder ends where it ended before.
pub(crate) fn memory_limit() -> u64 {
    const MOST: u64 = 2 << 30;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |all: u64| all / 2 / (cores as u64);
    // The limit of a container is that of cgroup v2, as seen inside the container.
    let container = number("/sys/fs/cgroup/memory.max", |text| text.lines().next());
    let known = [machine_memory(), container].into_iter().flatten();
    known.map(share).fold(MOST, u64::min)
}

fn machine_memory() -> Option<u64> {
    let kibibytes = number("/proc/meminfo", |text| {
        let mut lines = text.lines();
        let total = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.trim().strip_suffix("kB")
    });
    kibibytes?.checked_mul(1_024)
}

/// Returns the most threads that a subject may have: half of the container's limit, but at most
/// 4,096.
pub(crate) fn thread_limit() -> u64 {
    const MOST: u64 = 4_096;
    let limit = number("/sys/fs/cgroup/pids.max", |text| text.lines().next());
    limit.map_or(MOST, |limit| MOST.min(limit / 2))
}

/// Returns the most mappings that a process may have.
pub(crate) fn mapping_limit() -> u64 {
    let limit = number("/proc/sys/vm/max_map_count", |text| text.lines().next());
    limit.unwrap_or(65_530)
}

/// Returns whether the kernel never overcommits memory. Then jemalloc reserves memory before it
/// makes it accessible, and mappings do not tell its memory from that of others.
pub(crate) fn never_overcommits() -> bool {
    number("/proc/sys/vm/overcommit_memory", |text| text.lines().next()) == Some(2)
}

/// Returns the most files that the process may have open: its soft limit, or 1,024 if unknown.
pub(crate) fn descriptor_limit(process: u32) -> u64 {
    let limit = number(&format!("/proc/{process}/limits"), |text| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("Max open files"))?;
        line.split_whitespace().nth(3)
    });
    limit.unwrap_or(1_024)
}
