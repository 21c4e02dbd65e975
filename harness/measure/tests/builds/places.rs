//! The place to blame is right in every usual build, or the report says what is missing.
//!
//! By default, only the program itself is built in several ways, because all that it depends on
//! takes minutes. With `PLIMSOLL_TEST_PLACES=all`, everything is built, with the settings that
//! people have in their profiles; with names, such as `thin LTO,mold`, in these ways.

use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_core::blame::Origin;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, json};

use super::{Ground, RELEASE, executable, ran};

const LEAKS: &str = include_str!("places/leaks.rs");
const SCENARIOS: [&str; 3] = ["map", "task", "tls"];
const TOKIO: &str = "[dependencies]\ntokio = { version = \"1\", default-features = false, \
                     features = [\"rt-multi-thread\", \"sync\"] }\n";

/// Builds everything, in all ways or in those with these names.
const ALL: &str = "PLIMSOLL_TEST_PLACES";

/// Names, flags for the program's own crate, and what a report knows of the place: the line, that
/// it is in the workload or in which of its functions, or nothing; and what is missing.
const OWN: &str = "\
none | -Cdebuginfo=0 | workload DebugInfo
stripped | -Cstrip=symbols | nothing Stripped
unpacked | -Cdebuginfo=line-tables-only -Csplit-debuginfo=unpacked | line
packed | -Cdebuginfo=line-tables-only -Csplit-debuginfo=packed | line";

/// Names, cargo's variables for the release profile, flags for all crates, and what is known.
const EVERY: &str = include_str!("places/every.txt");

fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    let rows = table.lines().map(|row| row.split('|').map(str::trim));
    rows.map(|row| row.collect::<Vec<_>>().try_into().unwrap())
}

#[test]
fn places_are_right_or_say_what_is_missing() {
    let sources = [("src/lib.rs", ""), ("tests/leaks.rs", LEAKS)];
    let mut ground = Ground::new("places", &sources, TOKIO);
    let (mut wrong, mut skipped) = (Vec::new(), Vec::new());
    if let Ok(asked) = std::env::var(ALL) {
        let asked: Vec<&str> = asked.split(',').collect();
        let is_asked = |name: &str| asked == ["all"] || asked.contains(&name);
        let known = rows(EVERY).filter(|[name, _, _, _]| is_asked(name));
        let known: Vec<[&str; 4]> = known.collect();
        let is_known = asked == ["all"] || asked.len() == known.len();
        assert!(is_known, "some build has no such name: {asked:?}");
        // Procedural macros are built once.
        ground.target = ground.dir.join("target");
        for [name, settings, flags, known] in known {
            if !links(flags) {
                skipped.push(name);
                continue;
            }
            let mut command = ground.test();
            let set = settings.split(' ').filter_map(|set| set.split_once('='));
            let set = set.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value));
            let set: Vec<(String, &str)> = set.collect();
            if name != "dev" {
                command.arg("--release").envs(set.iter().cloned());
            }
            if !flags.is_empty() {
                // Not for procedural macros.
                command.args(["--target", &host()]).env("RUSTFLAGS", flags);
            }
            wrong.extend(measured(&ground, name, command, &set, known));
        }
        // Some gigabytes.
        fs::remove_dir_all(&ground.target).unwrap();
    } else {
        for [name, flags, known] in rows(OWN) {
            let command = ground.test_with(name, &format!("{RELEASE} {flags}"));
            wrong.extend(measured(&ground, name, command, &[], known));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(skipped.is_empty(), "`.ci/install builds`: {skipped:?}");
}

/// Returns whether there is the linker that these flags ask for.
fn links(flags: &str) -> bool {
    let Some((_, linker)) = flags.split_once("-fuse-ld=") else {
        return true;
    };
    let mut version = Command::new(format!("ld.{linker}"));
    let version = version.arg("--version").stdout(Stdio::null());
    version.status().is_ok()
}

/// Builds the program and runs it with the variables that cargo would pass on. Returns what is not
/// as expected.
fn measured(
    ground: &Ground,
    build: &str,
    mut command: Command,
    settings: &[(String, &str)],
    known: &str,
) -> Vec<String> {
    // In its place, because its debug information may be beside it.
    let program = executable(&ran(&mut command));
    let mut run = ground.leaks(&program);
    let output = run.envs(settings.iter().cloned()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    if known == "unmeasured" {
        let reason = "in programs linked to glibc dynamically";
        let is_said = said.matches(reason).count() == SCENARIOS.len();
        let is_right = output.status.success() && is_said;
        return (!is_right)
            .then(|| format!("{build}: {said}"))
            .into_iter()
            .collect();
    }
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        let report = report(&program, scenario);
        let problems = problems(&report, scenario, known).into_iter();
        wrong.extend(problems.map(|problem| format!("{build}, {scenario}: {problem}")));
    }
    if !wrong.is_empty() {
        wrong.push(said.into_owned());
    }
    wrong
}

fn report(program: &Path, scenario: &str) -> Report {
    let path = format!("plimsoll/places/leaks/{scenario}/report.json");
    let mut found = program.ancestors().map(|folder| folder.join(&path));
    let found = found.find(|path| path.exists()).unwrap();
    json::parse(&fs::read(found).unwrap()).unwrap()
}

/// Returns what is wrong with a report.
fn problems(report: &Report, scenario: &str, known: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |is_right: bool, problem: String| {
        problems.extend((!is_right).then_some(problem));
    };
    let verdict = report.verdict;
    check(verdict == Verdict::Regressed, format!("{verdict:?}"));
    let (walked, notes) = (&report.completeness, &report.notes);
    let is_whole =
        walked.truncated_stacks == 0 && !notes.iter().any(|note| note.contains("stacks"));
    check(is_whole, format!("{walked:?} {notes:?}"));
    let findings = report.findings.iter();
    for finding in findings.filter(|one| one.verdict == Verdict::Regressed) {
        let text = format!("{:#?}", finding.blame);
        let Some(blame) = &finding.blame else {
            check(false, "no place".to_owned());
            continue;
        };
        let mut named = blame.frames();
        let is_of_harness = named.any(|frame| frame.function.starts_with("plimsoll::"));
        // All of them are on the first thread.
        let is_on_first = blame.thread_of.is_none() && blame.needed_by.is_none();
        check(!is_of_harness && is_on_first, text.clone());
        let is_own = |file: Option<&str>| file == Some("tests/leaks.rs");
        for frame in blame.frames().chain(&finding.frames) {
            let is_ours = frame.function.contains("leaks::");
            let is_right = !is_own(frame.file.as_deref()) || is_ours;
            check(is_right, format!("{frame:?}"));
        }
        let of_workload = blame.origin == Some(Origin::Workload(scenario.to_owned()));
        let own = blame.caller.as_ref().or(blame.at.as_ref());
        let own = own.filter(|own| own.function.starts_with(&format!("leaks::{scenario}")));
        let line = own.filter(|own| is_own(own.file.as_deref()));
        let found = match (finding.lacks, line.and_then(|own| own.line)) {
            (None, Some(line)) if lines_of(scenario).contains(&line) => "line".to_owned(),
            (Some(lacks), None) if of_workload || own.is_some() => format!("workload {lacks:?}"),
            (Some(lacks), None) => format!("nothing {lacks:?}"),
            other => format!("{other:?}"),
        };
        check(found == known, format!("{found} {text}"));
    }
    problems
}

/// Returns the lines of the function that makes a scenario.
fn lines_of(scenario: &str) -> RangeInclusive<u32> {
    let lines = || LEAKS.lines().zip(1..);
    let start = lines().find(|(line, _)| line.starts_with(&format!("fn {scenario}()")));
    let start = start.unwrap().1;
    let end = lines().find(|(line, number)| *number > start && *line == "}");
    start..=end.unwrap().1
}

/// Returns the target that rustc builds for.
fn host() -> String {
    let said = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}
