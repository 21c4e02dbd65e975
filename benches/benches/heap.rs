//! The CPU time of `plimsoll show` and `compare` for dumps of every size, for a table and for
//! a flame graph. If jeprof is installed, its CPU time for the same dumps stands beside them.
//!
//! ```text
//! cargo bench -p plimsoll-benches --bench heap
//! cargo bench -p plimsoll-benches --bench heap -- --exe target/debug/plimsoll
//! ```
//!
//! `--exe` is the program whose functions are on the stacks of the first row. It should have
//! debug information, and the larger it is the better. The default is this benchmark itself.
//! The times of plimsoll are the median of five runs in this process. jeprof runs once.
//! Without `--all`, it does not run on dumps that take it minutes.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table for people"
)]

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::BufReader;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use plimsoll_benches::{cpu_seconds, dump_of, dump_text, stacks};
use plimsoll_core::Avma;
use plimsoll_profile::read::{Limits, read};
use plimsoll_profile::write::flamegraph;
use plimsoll_profile::{Calls, Filter, Frames, Granularity, Measure, Names, Profile, Table, View};
use plimsoll_symbols::{MappedFile, Options, symbolize};

/// jeprof gets only dumps of fewer bytes, unless `--all` is given.
const FOR_JEPROF: u64 = 5 << 20;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let at = words.iter().position(|word| word == "--exe");
    let exe = match at.and_then(|at| words.get(at + 1)) {
        Some(exe) => PathBuf::from(exe),
        None => std::env::current_exe().unwrap_or_default(),
    };
    match measure(&exe, has("--test"), has("--all")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(exe: &Path, is_test: bool, all: bool) -> Answer<()> {
    let folder = std::env::temp_dir().join(format!("plimsoll-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let done = measure_in(&folder, exe, is_test, all);
    // If this fails, the system removes the folder later.
    let _ = fs::remove_dir_all(&folder);
    done
}

fn measure_in(folder: &Path, exe: &Path, is_test: bool, all: bool) -> Answer<()> {
    let exe = exe
        .canonicalize()
        .map_err(|err| format!("{}: {err}", exe.display()))?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map(|()| path)
    };
    let small = if is_test { 100 } else { 1 };
    let bytes = fs::metadata(&exe)?.len();
    println!("{} has {} MB\n", exe.display(), bytes / 1_000_000);
    println!(
        "{:28} {:>7} {:>10} {:>11} {:>9}",
        "", "MB", "table", "flame graph", "jeprof"
    );
    let code = code(&exe).ok_or_else(|| format!("{} is no ELF program", exe.display()))?;
    let pair = [
        write("before.heap", dump_of(&exe, code.clone(), 1_100 / small, 1))?,
        write("after.heap", dump_of(&exe, code, 1_100 / small, 2))?,
    ];
    row("a pair of 1,100 stacks", &pair, &exe, is_test, all)?;
    for (name, count) in [
        ("8,500 stacks", 8_500),
        ("222,000 stacks", 222_000),
        ("1,000,000 stacks", 1_000_000),
    ] {
        let dump = write("one.heap", dump_text(&stacks(count / small)))?;
        row(name, &[dump], &exe, is_test, all)?;
    }
    Ok(())
}

/// Returns the range of a 64-bit program's code in its file: the loaded segment that is
/// executable (ELF-64 Object File Format, "Program Header").
fn code(exe: &Path) -> Option<Range<u64>> {
    let bytes = fs::read(exe).ok()?;
    let number = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        let digits = bytes.iter().rev();
        Some(digits.fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let first = usize::try_from(number(32, 8)?).ok()?;
    let count = usize::try_from(number(56, 2)?).ok()?;
    (0..count).find_map(|index| {
        let header = first + 56 * index;
        let is_code = number(header, 4)? == 1 && number(header + 4, 4)? & 1 == 1;
        let start = number(header + 8, 8)?;
        is_code.then_some(start..start + number(header + 32, 8)?)
    })
}

fn row(name: &str, dumps: &[PathBuf], exe: &Path, is_test: bool, all: bool) -> Answer<()> {
    let size = |path: &PathBuf| fs::metadata(path).map_or(0, |data| data.len());
    let bytes: u64 = dumps.iter().map(size).sum();
    let times = |draws: bool| {
        let mut times = Vec::new();
        for _ in 0..if is_test { 1 } else { 5 } {
            let before = cpu_seconds(libc::RUSAGE_SELF);
            black_box(think(dumps, draws)?);
            times.push(cpu_seconds(libc::RUSAGE_SELF) - before);
        }
        times.sort_by(f64::total_cmp);
        Answer::Ok(times[times.len() / 2])
    };
    let (table, picture) = (times(false)?, times(true)?);
    let asks = !is_test && (all || bytes < FOR_JEPROF);
    let jeprof = match asks.then(|| jeprof(dumps, exe)).flatten() {
        Some(seconds) => format!("{seconds:.2} s"),
        None => "-".to_owned(),
    };
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let megabytes = bytes as f64 / 1e6;
    println!("{name:28} {megabytes:>7.1} {table:>8.3} s {picture:>9.3} s {jeprof:>9}");
    Ok(())
}

/// Does everything that the tool does for a table or for a flame graph, except printing.
fn think(dumps: &[PathBuf], draws: bool) -> Answer<usize> {
    let profiles: Answer<Vec<Profile>> = dumps.iter().map(|dump| load(dump)).collect();
    let mut profiles = profiles?;
    name(&mut profiles);
    let mut names = Names::default();
    let filter = Filter::default();
    let mut views = Vec::new();
    for profile in &profiles {
        let (granularity, frames) = (Granularity::Functions, Frames::Folded);
        views.push(View::new(profile, granularity, frames, &filter, &mut names));
    }
    if draws {
        let (calls, is_growth) = match views.as_slice() {
            [before, after] => (Calls::between(before, after), true),
            views => (Calls::of(&views[0]), false),
        };
        let gains = calls.gains(Measure::InuseSpace, false);
        let svg = flamegraph(&calls, &gains, is_growth, &names, "heap", "live", "bytes");
        return Ok(svg?.len());
    }
    let table = match views.as_slice() {
        [before, after] => {
            let calls = Calls::between(before, after);
            let gains = calls.gains(Measure::InuseSpace, false);
            Table::of_calls(&calls, &gains, false, &names)
        }
        views => Table::of(&views[0], Measure::InuseSpace, false, &names),
    };
    Ok(table.rows.len())
}

fn load(path: &Path) -> Answer<Profile> {
    let mut file = BufReader::with_capacity(256 << 10, fs::File::open(path)?);
    Ok(read(&mut file, Limits::default())?)
}

/// Names the addresses. Both processes have the program at the same addresses, so each address
/// is looked up once. The tool does the same in this case.
fn name(profiles: &mut [Profile]) {
    let locations = profiles.iter().flat_map(|profile| &profile.locations);
    let addresses: BTreeSet<Avma> = locations.filter_map(|location| location.address).collect();
    let mapped = |mapping: &plimsoll_profile::MappedObject| MappedFile {
        start: mapping.start,
        end: mapping.end,
        file_offset: mapping.file_offset,
        path: mapping.path.clone().into(),
        ..MappedFile::default()
    };
    let mappings = profiles
        .iter()
        .flat_map(|profile| &profile.mappings)
        .map(mapped);
    let mappings: Vec<MappedFile> = mappings.take(1).collect();
    let table = symbolize(&mappings, &addresses, &Options::default());
    for profile in profiles {
        profile.name(|address| table.get(address).to_vec()).unwrap();
    }
}

/// Returns the CPU seconds that jeprof takes. `None` if it is not installed, or if it fails.
fn jeprof(dumps: &[PathBuf], exe: &Path) -> Option<f64> {
    let before = cpu_seconds(libc::RUSAGE_CHILDREN);
    let mut command = Command::new("jeprof");
    command.arg("--text");
    let dump = match dumps {
        [base, dump] => {
            command.arg(format!("--base={}", base.display()));
            dump
        }
        dumps => dumps.first()?,
    };
    let done = command
        .args([exe, dump])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    done.success()
        .then(|| cpu_seconds(libc::RUSAGE_CHILDREN) - before)
}
