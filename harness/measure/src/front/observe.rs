//! What the kernel says of a subject, read from `/proc/PID` (proc(5)).

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::sys;

/// Descriptors of a subject that are the harness's: its end of the channel.
const OWN_DESCRIPTORS: u64 = 1;

/// The resident set in bytes; zero where the process is gone.
pub(crate) fn resident(process: u32) -> u64 {
    fs::read_to_string(format!("/proc/{process}/statm"))
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .map_or(0, |pages| pages.saturating_mul(sys::page_size()))
}

/// How many threads the process has.
pub(crate) fn threads(process: u32) -> u64 {
    entries(&format!("/proc/{process}/task"))
}

/// How many descriptors the workload has open.
pub(crate) fn descriptors(process: u32) -> u64 {
    entries(&format!("/proc/{process}/fd")).saturating_sub(OWN_DESCRIPTORS)
}

/// Whether the process can open nothing more.
pub(crate) fn has_no_descriptor_left(process: u32) -> bool {
    entries(&format!("/proc/{process}/fd")) >= descriptor_limit(process)
}

fn entries(folder: &str) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| entries.count() as u64)
}

/// Waits until no thread but the first one, which waits for us, runs, wants to
/// run or has run for two milliseconds, or until time is up.
pub(crate) fn settle(process: u32, limit: Duration) {
    let started = Instant::now();
    let mut before = run_times(process);
    let mut quiet = 0;
    while before.len() > 1 && quiet < 2 && started.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(1));
        let now = run_times(process);
        quiet = if now == before && !is_busy(process) {
            quiet + 1
        } else {
            0
        };
        before = now;
    }
}

/// Whether a thread but the first runs, or waits for a core or for a disk. Its
/// run time alone does not tell: that is brought up to date only now and then.
fn is_busy(process: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return false;
    };
    let first = process.to_string();
    tasks
        .flatten()
        .filter(|task| task.file_name() != *first)
        .filter_map(|task| fs::read_to_string(task.path().join("stat")).ok())
        // "tid (name) state …": a name may hold brackets.
        .filter_map(|stat| {
            stat.rsplit_once(") ")
                .map(|(_, rest)| rest.starts_with(['R', 'D']))
        })
        .any(|busy| busy)
}

/// By thread, the nanoseconds it has run.
fn run_times(process: u32) -> BTreeMap<String, String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return BTreeMap::new();
    };
    tasks
        .flatten()
        .map(|task| {
            // "run time, waiting time, times run"; without scheduler statistics
            // the thread's state does.
            let times = fs::read_to_string(task.path().join("schedstat"))
                .or_else(|_| fs::read_to_string(task.path().join("stat")))
                .unwrap_or_default();
            (task.file_name().to_string_lossy().into_owned(), times)
        })
        .collect()
}

/// How long the process's first thread, which iterates, has waited for a processor so far;
/// nothing where the kernel keeps no scheduler statistics.
pub(crate) fn waited(process: u32) -> Duration {
    // "run time, waiting time, times run", in nanoseconds.
    let times = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap_or_default();
    let waiting = times.split_whitespace().nth(1);
    Duration::from_nanos(waiting.and_then(|time| time.parse().ok()).unwrap_or(0))
}

/// The memory that a subject may have unless a setting says otherwise: 2 GiB, or
/// a core's share of half of what the machine has where that is less. The same
/// whatever else runs, so that a ladder ends where it ended before.
pub(crate) fn memory_limit() -> u64 {
    const MOST: u64 = 2 << 30;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |all: u64| all / 2 / (cores as u64);
    [machine_memory(), cgroup_limit()]
        .into_iter()
        .flatten()
        .map(share)
        .fold(MOST, u64::min)
}

fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1_024)
}

/// Of a container (cgroup v2, as the process itself sees it).
fn cgroup_limit() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The most threads that the machine lets one user or process have, as far as
/// it says so.
pub(crate) fn thread_limit() -> u64 {
    const MOST: u64 = 4_096;
    let cgroup = fs::read_to_string("/sys/fs/cgroup/pids.max").ok();
    let limit = cgroup.and_then(|text| text.trim().parse::<u64>().ok());
    limit.map_or(MOST, |limit| MOST.min(limit / 2))
}

/// The most files that the process may have open.
pub(crate) fn descriptor_limit(process: u32) -> u64 {
    fs::read_to_string(format!("/proc/{process}/limits"))
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find(|line| line.starts_with("Max open files"))?;
            line.split_whitespace().nth(3)?.parse().ok()
        })
        .unwrap_or(1_024)
}
