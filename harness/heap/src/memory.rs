//! The largest profile that is read: what `--max-size` says, or what fits into the memory that
//! this process may use.
//!
//! | where | what it says |
//! |---|---|
//! | `/proc/self/cgroup`, `mountinfo`, `memory.max` or `memory.limit_in_bytes` | the limits of this process's control group and of those above it, in both versions |
//! | `/proc/self/limits` | the largest address space (`ulimit -v`) |
//! | `/proc/meminfo` | the memory that is available on this machine |

use std::fmt;
use std::path::{Path, PathBuf};

use plimsoll_core::report::units::size;
use plimsoll_profile::read::Limits;

/// The share of the memory that a profile may have: a quarter. As much again is taken for its
/// names, and for what is shown of it.
const SHARE: u64 = 4;

/// The largest profile, and what decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) bytes: u64,
    by: By,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Option,
    /// What is read is no profile, and has a limit that nothing changes.
    Fixed,
    /// The largest for which no option is needed, on any machine.
    Default,
    /// The memory that there is, and what limits it.
    Memory(u64, &'static str),
}

impl Limit {
    /// Returns the limit that the user has set, or the default.
    pub(crate) fn of(max_size: Option<u64>) -> Limit {
        match max_size {
            Some(bytes) => Limit {
                bytes,
                by: By::Option,
            },
            None => Limit::by_memory(&|path| std::fs::read_to_string(path).ok()),
        }
    }

    /// Returns the default. `read` reads a file.
    fn by_memory(read: &dyn Fn(&Path) -> Option<String>) -> Limit {
        let most = Limits::default().bytes;
        match memory(read) {
            Some((memory, what)) if memory / SHARE < most => Limit {
                bytes: memory / SHARE,
                by: By::Memory(memory, what),
            },
            _ => Limit {
                bytes: most,
                by: By::Default,
            },
        }
    }

    /// Returns the smaller of this limit and one that no option changes.
    pub(crate) fn at_most(self, bytes: u64) -> Limit {
        let by = By::Fixed;
        match bytes < self.bytes {
            true => Limit { bytes, by },
            false => self,
        }
    }

    pub(crate) fn limits(self) -> Limits {
        Limits { bytes: self.bytes }
    }
}

/// Says where the limit is from, and how to set another.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = size(self.bytes);
        match self.by {
            By::Option => write!(f, "--max-size sets this limit, {limit}"),
            By::Fixed => write!(f, "the limit is {limit}"),
            By::Default => write!(f, "the limit is {limit}; --max-size sets another"),
            By::Memory(memory, what) => write!(
                f,
                "the limit is {limit}, a quarter of the {} that {what}; --max-size sets another",
                size(memory)
            ),
        }
    }
}

/// Returns how much memory this process may use, and what limits it. `None` where nothing says
/// so.
fn memory(read: &dyn Fn(&Path) -> Option<String>) -> Option<(u64, &'static str)> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| available(&text));
    let space = read(Path::new("/proc/self/limits")).and_then(|text| address_space(&text));
    [
        groups(read).map(|bytes| (bytes, "its control group may use")),
        space.map(|bytes| (bytes, "`ulimit -v` allows")),
        machine.map(|bytes| (bytes, "this machine has available")),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|(bytes, _)| *bytes)
}

/// Parses `MemAvailable:   24005952 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Parses `Max address space         2097152000           unlimited            bytes`.
fn address_space(limits: &str) -> Option<u64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the smallest limit of this process's control groups.
fn groups(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let own = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    let mounts = || mounts.lines().filter_map(Mount::of);
    // The lines are such as `0::/user.slice` and `4:memory:/docker/1f`.
    let own = own.lines().filter_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        let (mount, file) = match controllers {
            "" => (mounts().find(|mount| mount.kind == "cgroup2"), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                let is_memory = |mount: &Mount<'_>| {
                    mount.kind == "cgroup" && mount.options.split(',').any(|one| one == "memory")
                };
                (mounts().find(is_memory), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        Some((mount?, Path::new(path), file))
    });
    let limits = own.flat_map(|(mount, path, file)| {
        // A container may see only a part of the hierarchy. A group outside of that part counts
        // as the root of it.
        let inside = path.strip_prefix(mount.root).unwrap_or(Path::new(""));
        let inside: Vec<PathBuf> = inside.ancestors().map(|at| mount.at.join(at)).collect();
        // `max` is no number.
        let limit = |at: PathBuf| read(&at.join(file))?.trim().parse::<u64>().ok();
        inside.into_iter().filter_map(limit).collect::<Vec<u64>>()
    });
    limits.min()
}

/// A line of `mountinfo`.
struct Mount<'a> {
    /// The part of the file system that is mounted.
    root: &'a Path,
    at: &'a Path,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    /// Parses `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory`.
    fn of(line: &'a str) -> Option<Mount<'a>> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Mount {
            root: Path::new(mount.next()?),
            at: Path::new(mount.next()?),
            kind: system.next()?,
            options: system.nth(1)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate";
    const V1: &str = "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";

    /// Says the default of a machine with these files, and 3.8 GiB available.
    fn said(files: &[(&str, &str)]) -> String {
        let machine = [(
            "/proc/meminfo",
            "MemFree: 1 kB\nMemAvailable:    4000000 kB\n",
        )];
        let read = |path: &Path| {
            let mut all = files.iter().chain(&machine);
            let (_, text) = all.find(|(at, _)| Path::new(at) == path)?;
            Some((*text).to_owned())
        };
        Limit::by_memory(&read).to_string()
    }

    #[test]
    fn the_least_memory_decides() {
        assert_snapshot!(said(&[]), @"the limit is 977 MiB, a quarter of the 3.81 GiB that this machine has available; --max-size sets another");
        let limits = "Limit    Soft Limit   Hard Limit  Units\nMax address space         2097152000           unlimited            bytes\n";
        assert_snapshot!(said(&[("/proc/self/limits", limits)]), @"the limit is 500 MiB, a quarter of the 1.95 GiB that `ulimit -v` allows; --max-size sets another");
        let unlimited = limits.replace("2097152000", "unlimited");
        let much = [
            ("/proc/self/limits", &*unlimited),
            ("/proc/meminfo", "MemAvailable:    99000000 kB\n"),
        ];
        assert_snapshot!(said(&much), @"the limit is 1 GiB; --max-size sets another");
    }

    #[test]
    fn a_control_group_has_what_those_above_it_have() {
        let v2 = [
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/proc/self/mountinfo", V2),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "536870912\n"),
        ];
        assert_snapshot!(said(&v2), @"the limit is 128 MiB, a quarter of the 512 MiB that its control group may use; --max-size sets another");
        // In a container of Docker: its own group is the root that it sees.
        let groups = "4:cpu,memory:/docker/1f\n1:name=systemd:/\n0::/\n";
        let of = |limit| {
            said(&[
                ("/proc/self/cgroup", groups),
                ("/proc/self/mountinfo", V1),
                ("/sys/fs/cgroup/memory/memory.limit_in_bytes", limit),
            ])
        };
        assert_snapshot!(of("268435456\n"), @"the limit is 64 MiB, a quarter of the 256 MiB that its control group may use; --max-size sets another");
        assert_eq!(of("9223372036854771712\n"), said(&[]));
    }
}
