//! Reads reports from folders and files.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use plimsoll_core::report::Report;
use plimsoll_core::report::json::{self as report, Limits, MAX_BYTES, ReportError};

use crate::archive;
use crate::joined::{self, Joined, NoResult, Scenario, Source};
use crate::reports::Reports;
use plimsoll_desk::file;
use plimsoll_desk::out::Out;
use plimsoll_desk::project::shown;

/// The kind of reader: whose files they are, and what they are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A person who reads their own files. A single report is shown alone.
    Desk,
    /// The bot, which reads files made by the code under review. Its limits are tighter. A
    /// scenario that a report lists, but that has no report itself, has no result.
    Bot,
    /// A person who joins shards. A scenario that a report lists, but that has no report in
    /// any shard, has no result.
    Shards,
}

impl Reader {
    fn limits(self) -> Limits {
        match self {
            Reader::Desk | Reader::Shards => Limits::FORMAT,
            Reader::Bot => Limits::UNTRUSTED,
        }
    }
}

/// The error for a file that is not a report. Its reason may be shown in public.
#[derive(Debug)]
pub struct Unread {
    reason: NoResult,
    message: String,
}

impl Unread {
    pub fn reason(&self) -> NoResult {
        self.reason
    }

    fn error(reason: NoResult, message: String) -> anyhow::Error {
        anyhow::Error::new(Unread { reason, message })
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unread {}

/// Reads folders and files, and joins the reports in them.
///
/// `run` selects a run in each folder; `None` selects the newest.
///
/// # Errors
///
/// If a path holds no readable report, or if the bot is given reports of different changes.
pub fn read(
    paths: &[PathBuf],
    run: Option<&str>,
    reader: Reader,
    out: &Out,
) -> anyhow::Result<Joined> {
    let mut parts = Vec::new();
    for path in paths {
        parts.push(read_one(path, run, reader, out)?);
    }
    if reader == Reader::Bot {
        of_one_change(&parts)?;
    }
    Ok(match <[Joined; 1]>::try_from(parts) {
        Ok([only]) => only,
        Err(several) => {
            let parts = several.into_iter().map(|part| (String::new(), part));
            joined::merge(parts.collect()).joined
        }
    })
}

/// Reads the reports that one shard left. Returns `None` for a folder without reports: no test
/// fell to this shard.
pub fn read_shard(path: &Path, out: &Out) -> anyhow::Result<Option<Joined>> {
    if path.is_dir() && Reports::collect(path)?.is_empty() {
        return Ok(None);
    }
    read_one(path, None, Reader::Shards, out).map(Some)
}

/// Refuses reports of different changes. The joined report keeps only one source, so the bot
/// could check only that one.
fn of_one_change(parts: &[Joined]) -> anyhow::Result<()> {
    let mut sources = parts.iter().filter_map(|part| part.source.as_ref());
    let Some(first) = sources.next() else {
        return Ok(());
    };
    let change = |of: &Source| {
        (
            of.run,
            of.pull_request,
            of.repository.clone(),
            of.head.clone(),
        )
    };
    if sources.all(|other| change(other) == change(first)) {
        return Ok(());
    }
    let message = "the reports are of different runs".to_owned();
    Err(Unread::error(NoResult::OtherRun, message))
}

fn read_one(path: &Path, run: Option<&str>, reader: Reader, out: &Out) -> anyhow::Result<Joined> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    if path.is_dir() && !(is_link && reader == Reader::Bot) {
        return read_dir(path, run, reader, out);
    }
    if fs::symlink_metadata(path).is_err() {
        bail!(
            "no reports in {}: there is no such file or folder\n  \
             hint: measure first, with `cargo test --test leaks`",
            shown(path)
        );
    }
    let cannot = |reason, why: &str| {
        let message = format!("{} cannot be read as a report: {why}", shown(path));
        Unread::error(reason, message)
    };
    let bytes = archive::open(read_capped(path)?);
    let bytes = bytes.map_err(|reason| cannot(reason, "it is an archive without one"))?;
    if let Some(reason) = NoResult::from_file(&bytes) {
        let message = format!("{} says why there is no report: {reason}", shown(path));
        return Err(Unread::error(reason, message));
    }
    parse(&bytes, reader).map_err(|err| cannot(NoResult::of(&err), &err.to_string()))
}

/// Reads the scenarios of a folder or file of a person.
///
/// Of a folder, it reads the newest run of each test target, because the last `cargo test` may
/// have run only one target.
pub fn read_each_target(path: &Path, out: &Out) -> anyhow::Result<Vec<Scenario>> {
    if !path.is_dir() {
        return Ok(read_one(path, None, Reader::Desk, out)?.scenarios);
    }
    let reports = Reports::collect(path)?;
    let scenarios = reports.run_of_each_target(None)?;
    reports.problems().for_each(|problem| out.warning(&problem));
    Ok(scenarios)
}

fn read_dir(dir: &Path, run: Option<&str>, reader: Reader, out: &Out) -> anyhow::Result<Joined> {
    let reports = Reports::collect(dir)?;
    let is_asked_for = run.is_some();
    let mut run = reports.run(run)?;
    if reader == Reader::Desk && !is_asked_for {
        reports.add_older(&mut run);
    }
    reports.problems().for_each(|problem| out.warning(&problem));
    if run.left_out > 0 {
        let (n, s) = (run.left_out, if run.left_out == 1 { "" } else { "s" });
        out.note(&format!("{n} report{s} of other runs left out"));
    }
    Ok(run.joined)
}

/// Reads a regular file, up to one byte more than a report may have; the parser refuses a file
/// with that byte.
///
/// Does not follow a symbolic link: whoever made the report also made the link, and it could
/// lead to a file that only this process may read.
fn read_capped(path: &Path) -> anyhow::Result<Vec<u8>> {
    let failed = || format!("cannot read {}", shown(path));
    let kind = fs::symlink_metadata(path).with_context(failed)?.file_type();
    if !kind.is_file() {
        let message = format!("{} is not a regular file", shown(path));
        return Err(Unread::error(NoResult::NotAFile, message));
    }
    file::read(path, MAX_BYTES).with_context(failed)
}

/// Parses a joined report or a scenario's report, whichever the bytes hold.
pub fn parse(bytes: &[u8], reader: Reader) -> Result<Joined, ReportError> {
    match joined::json::parse(bytes) {
        Ok(joined) => Ok(joined),
        Err(err) => match report::parse_within(bytes, &reader.limits()) {
            Ok(report) => Ok(of_one(report, reader)),
            Err(other) => Err(likelier(bytes, err, other)),
        },
    }
}

/// Returns the error of the format that the file seems to have.
fn likelier(bytes: &[u8], joined: ReportError, report: ReportError) -> ReportError {
    // Every joined report begins with the key `runs`. A scenario's report has no such key.
    let start = &bytes[..bytes.len().min(4096)];
    let is_joined = start.windows(6).any(|window| window == b"\"runs\"");
    if is_joined { joined } else { report }
}

/// Makes a joined report from the report of one scenario.
fn of_one(report: Report, reader: Reader) -> Joined {
    let run = report.run.clone();
    let mut names = match reader {
        Reader::Desk => Vec::new(),
        Reader::Bot | Reader::Shards => run.scenarios.clone(),
    };
    if !names.contains(&report.scenario) {
        names.push(report.scenario.clone());
    }
    let name = report.scenario.clone();
    let mut report = Some(report);
    let without = |name: &str| {
        let why = "its report was not given";
        Scenario::without_result(&run.package, &run.target, name, why)
    };
    let scenarios = names.iter().map(|listed| {
        let report = report.take_if(|_| *listed == name);
        report.map_or_else(|| without(listed), Scenario::from)
    });
    Joined::of_run(&run.id, scenarios)
}
