//! Dumps in a folder, in the order in which they were written.
//!
//! jemalloc names its own dumps `PREFIX.PID.SEQ.KINDnumber.heap`. SEQ counts all dumps of a
//! process, so it gives their order. An alphabetical order would be wrong: it has `i10` before
//! `i9`.
//!
//! | KIND | the dump was written |
//! |---|---|
//! | `i` | after an interval of allocated bytes |
//! | `m` | on request |
//! | `u` | at a new peak |
//! | `f` | as the process ended |
//! | `t` | by `plimsoll watch`, so many milliseconds after its first |
//! | `c` | by `plimsoll watch`, when the counter that PREFIX names had risen by so much |
//!
//! RisingWave names its dumps by the time: `2026-08-21-16-35-49.auto.heap`, or `.manual.heap`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use plimsoll_core::baseline::Date;
use plimsoll_core::report::units::plural;
use plimsoll_desk::project::shown;
use plimsoll_desk::status::Refused;

const INTERVAL: char = 'i';
const FINAL: char = 'f';
pub(super) const TIMED: char = 't';
pub(super) const COUNTED: char = 'c';

/// The units of positions and of rates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Per {
    pub(super) word: String,
    /// How many positions there are in a unit of rates.
    pub(super) factor: f64,
    /// How many there are in a unit of the positions that programs are told.
    pub(super) scale: f64,
}

impl Per {
    /// The positions of dumps are in milliseconds.
    pub(super) fn hour() -> Per {
        Per {
            word: "hour".to_owned(),
            factor: 3_600_000.0,
            scale: 1_000.0,
        }
    }

    /// The positions of dumps are the values of a counter.
    pub(super) fn counter(word: String) -> Per {
        Per {
            word,
            factor: 1.0,
            scale: 1.0,
        }
    }
}

/// The positions of dumps are their numbers.
impl Default for Per {
    fn default() -> Per {
        Per::counter("dump".to_owned())
    }
}

/// The parts of a dump's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) prefix: String,
    pub(super) process: u64,
    pub(super) sequence: u64,
    /// The letter of its kind.
    pub(super) kind: char,
    /// The number among the dumps of its kind.
    pub(super) number: u64,
}

impl Named {
    pub(super) fn of(path: &Path) -> Option<Named> {
        let mut parts = stem(path)?.rsplit('.');
        let kind = parts.next()?;
        let sequence = parts.next()?.parse().ok()?;
        let process = parts.next()?.parse().ok()?;
        let mut prefix: Vec<&str> = parts.collect();
        prefix.reverse();
        let mut number = kind.chars();
        let kind = number.next()?;
        let number = match (kind, number.as_str()) {
            (FINAL, "") => 0,
            (INTERVAL | TIMED | COUNTED | 'm' | 'u', number) => number.parse().ok()?,
            _ => return None,
        };
        Some(Named {
            prefix: prefix.join("."),
            process,
            sequence,
            kind,
            number,
        })
    }
}

/// Returns the name of a dump without its ending.
fn stem(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let name = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(name);
    name.strip_suffix(".heap")
}

/// Returns the time in the name that RisingWave gives to a dump, in seconds. It is local time.
// Source: src/common/heap_profiling/src/profiler.rs
fn time(path: &Path) -> Option<u64> {
    let stem = stem(path)?;
    let time = stem
        .strip_suffix(".auto")
        .or_else(|| stem.strip_suffix(".manual"))?;
    let (day, clock) = time.split_at_checked(10)?;
    let clock = clock.strip_prefix('-')?.split('-').map(str::parse);
    let clock = clock.collect::<Result<Vec<u64>, _>>().ok()?;
    let &[hour @ 0..=23, minute @ 0..=59, second @ 0..=60] = clock.as_slice() else {
        return None;
    };
    let days = Date::new(1970, 1, 1)?.days_until(day.parse().ok()?);
    let days = u64::try_from(days).ok()?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Dumps of one process, in the order in which they were written.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) paths: Vec<PathBuf>,
    /// The time or position of each dump. Only differences between them have a meaning.
    pub(super) at: Vec<u64>,
    /// The unit of the positions.
    pub(super) per: Per,
    /// Notes for readers of the output.
    pub(super) notes: Vec<String>,
    /// The server that was dumped, if the files are temporary. It is named instead of the
    /// files.
    pub(super) server: Option<String>,
    /// Whether they have to be of one process, though their names have no process id.
    pub(super) of_one_process: bool,
}

/// Returns the dumps in a folder: those of the given process, or else those of the only
/// process with several dumps.
pub(super) fn in_folder(folder: &Path, process: Option<u64>) -> anyhow::Result<Files> {
    let mut by_process: BTreeMap<u64, Vec<(Named, PathBuf)>> = BTreeMap::new();
    let mut by_time = Vec::new();
    for path in files(folder)? {
        if let Some(named) = Named::of(&path) {
            let dumps = by_process.entry(named.process).or_default();
            dumps.push((named, path));
        } else if time(&path).is_some() {
            by_time.push(path);
        }
    }
    if by_process.is_empty() && process.is_none() && !by_time.is_empty() {
        return Ok(Files {
            of_one_process: true,
            ..named(by_time)
        });
    }
    let found = by_process.iter();
    let found = found.map(|(process, dumps)| format!("{process} ({})", dumps.len()));
    let found = found.collect::<Vec<_>>().join(", ");
    if by_process.is_empty() {
        return Err(Refused::usage(format!(
            "{}: expected dumps named `PREFIX.PID.SEQ.iN.heap`, found none\n  hint: --series \
             takes files of any name, in the order given",
            shown(folder)
        )));
    }
    let several = by_process.iter().filter(|(_, dumps)| dumps.len() > 1);
    let several: Vec<u64> = several.map(|(process, _)| *process).collect();
    // If several processes have several dumps, the numbers of dumps do not tell which process
    // is meant.
    let chosen = match (process, several.as_slice()) {
        (None, [only]) => Some(*only),
        _ => process,
    };
    let Some((process, dumps)) = chosen.and_then(|process| by_process.remove_entry(&process))
    else {
        return Err(Refused::usage(format!(
            "{}: expected dumps of one process, found those of {}\n  hint: --pid takes one of them",
            shown(folder),
            found
        )));
    };
    let mut files = in_order(dumps);
    let folder = shown(folder);
    if !by_process.is_empty() {
        files.notes.push(format!(
            "{folder}: has dumps of {found}; those of {process} are taken"
        ));
    }
    if !by_time.is_empty() {
        let dumps = plural(by_time.len() as u64, "dump is", "dumps are");
        files.notes.push(format!(
            "{folder}: {dumps} left out, because their names have no process id"
        ));
    }
    Ok(files)
}

/// Orders the given dumps. If all names say that they are of one process, or all have a time,
/// they are ordered by their names, otherwise they stay in the given order.
pub(super) fn named(mut paths: Vec<PathBuf>) -> Files {
    let times: Option<Vec<u64>> = paths.iter().map(|path| time(path)).collect();
    if let Some(mut times) = times {
        paths.sort_by_cached_key(|path| (time(path), path.clone()));
        times.sort_unstable();
        let first = times.first().copied().unwrap_or_default();
        if times.is_sorted_by(|one, two| one < two) {
            return Files {
                paths,
                at: times.iter().map(|time| (time - first) * 1_000).collect(),
                per: Per::hour(),
                ..Files::default()
            };
        }
    }
    let names: Option<Vec<Named>> = paths.iter().map(|path| Named::of(path)).collect();
    match names {
        Some(names) if names.windows(2).all(|two| two[0].process == two[1].process) => {
            in_order(names.into_iter().zip(paths).collect())
        }
        _ => Files {
            at: counted(paths.len()),
            paths,
            ..Files::default()
        },
    }
}

fn in_order(mut dumps: Vec<(Named, PathBuf)>) -> Files {
    let mut notes = Vec::new();
    dumps.sort_by_key(|(named, _)| named.sequence);
    // When a process ends, it has already freed what it kept while it ran.
    if dumps.len() > 2
        && let Some(last) = dumps.pop_if(|(named, _)| named.kind == FINAL)
    {
        notes.push(format!(
            "{}: left out: it was written as the process ended",
            shown(&last.1)
        ));
    }
    let prefix = dumps.first().map_or("", |(named, _)| named.prefix.as_str());
    let are = |kind: char| {
        let mut dumps = dumps.iter();
        dumps.all(|(named, _)| named.kind == kind && named.prefix == prefix)
    };
    // Some dumps may have been deleted. The others keep their distances.
    let numbers: Vec<u64> = dumps.iter().map(|(named, _)| named.number).collect();
    let per = match () {
        () if !numbers.is_sorted_by(|one, two| one < two) => None,
        () if are(TIMED) => Some(Per::hour()),
        () if are(COUNTED) => Some(Per::counter(prefix.to_owned())),
        () if are(INTERVAL) => Some(Per::default()),
        () => None,
    };
    let at = match per {
        Some(_) => numbers,
        None => counted(dumps.len()),
    };
    Files {
        paths: dumps.into_iter().map(|(_, path)| path).collect(),
        at,
        per: per.unwrap_or_default(),
        notes,
        ..Files::default()
    }
}

fn counted(dumps: usize) -> Vec<u64> {
    (0..dumps as u64).collect()
}

/// Returns the dump that was written last.
pub(super) fn newest(folder: &Path) -> anyhow::Result<PathBuf> {
    let is_dump = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut endings = [".heap", ".heap.gz", ".heap.zst"].iter();
        endings.any(|ending| name.ends_with(ending))
    };
    let written = |path: PathBuf| Some((fs::metadata(&path).ok()?.modified().ok()?, path));
    files(folder)?
        .into_iter()
        .filter(is_dump)
        .filter_map(written)
        .max()
        .map(|(_, path)| path)
        .with_context(|| format!("{}: no file ends in `.heap`", shown(folder)))
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = || shown(folder).to_string();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &Files) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        files.paths.iter().map(name).collect()
    }

    #[test]
    fn names_say_when() {
        let named = |name: &str| {
            let named = Named::of(Path::new(name))?;
            Some((named.process, named.sequence, named.kind, named.number))
        };
        let node = named("compute-node.266187.116.i115.heap");
        assert_eq!(node, Some((266_187, 116, INTERVAL, 115)));
        assert_eq!(named("jeprof.1.0.f.heap"), Some((1, 0, FINAL, 0)));
        assert_eq!(named("a.b.7.3.u2.heap.gz"), Some((7, 3, 'u', 2)));
        assert_eq!(named("jeprof.1.0.x1.heap"), None);
        assert_eq!(named("2025-01-01-00-00-00.manual.heap"), None);
        assert_eq!(named("jeprof.1.0.é.heap"), None);
    }

    #[test]
    fn ten_comes_after_nine() {
        let paths = ["j.1.10.i10.heap", "j.1.9.i9.heap", "j.1.11.f.heap"];
        let files = super::named(paths.iter().map(PathBuf::from).collect());
        assert_eq!(names(&files), ["j.1.9.i9.heap", "j.1.10.i10.heap"]);
        assert_eq!(files.at, [9, 10]);
        assert_eq!(files.notes.len(), 1);
    }

    #[test]
    fn names_of_risingwave_have_times() {
        let of = |name: &str| time(Path::new(name));
        let seconds = |one: &str, two: &str| of(two).unwrap() - of(one).unwrap();
        let newyear = "2025-01-01-00-00-00.auto.heap";
        assert_eq!(seconds("2024-12-31-23-59-59.manual.heap", newyear), 1);
        // A leap year.
        let days = seconds("2024-01-01-00-00-00.auto.heap.gz", newyear) / 86_400;
        assert_eq!(days, 366);
        for name in [
            "2025-01-01-00-00-00.auto.heap.collapsed",
            "2025-01-01-00-00-00.heap",
            "2025-13-01-00-00-00.auto.heap",
            "2025-01-01-00-00.auto.heap",
            "99999999999999999999-01-01-00-00-00.auto.heap",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn of_several_processes_one_has_to_be_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["j.1.0.i0.heap", "j.1.1.i1.heap", "j.22.0.i0.heap", "other"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let only = in_folder(folder.path(), None).unwrap();
        assert_eq!(names(&only), ["j.1.0.i0.heap", "j.1.1.i1.heap"]);
        assert_eq!(only.notes.len(), 1);
        fs::write(folder.path().join("j.22.1.i1.heap"), "").unwrap();
        let several = in_folder(folder.path(), None).unwrap_err().to_string();
        assert!(several.contains("1 (2), 22 (2)"), "{several}");
        let one = in_folder(folder.path(), Some(1)).unwrap();
        assert_eq!(names(&one), ["j.1.0.i0.heap", "j.1.1.i1.heap"]);
        assert!(in_folder(folder.path(), Some(3)).is_err());
    }
}
