//! The place to blame is right in every usual build, or the report says what is missing.
//!
//! By default, only the program itself is built in several ways, because all that it depends on
//! takes minutes. With `PLIMSOLL_TEST_PLACES=all`, everything is built, with the settings that
//! people have in their profiles; with names, such as `thin LTO,mold`, in these ways.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_core::blame::Origin;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, json};
use plimsoll_core::{Frame, Lacks};

use super::built::{build_as_all_do, shared};
use super::{RELEASE, cargo, executable, ran, without_variables, wrapper, write};

const LEAKS: &str = include_str!("places/leaks.rs");
const SCENARIOS: [&str; 3] = ["map", "task", "tls"];

/// Builds everything, in all ways or in those with these names.
const ALL: &str = "PLIMSOLL_TEST_PLACES";

/// What a report knows of the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The line of the workload.
    Line,
    /// That it is in the workload or which of its functions it is, and why the line is missing.
    Workload(Lacks),
    /// Only why nothing is known.
    Nothing(Lacks),
    /// Nothing is measured, and the test says so.
    Unmeasured,
}

use Known::{Line, Nothing, Unmeasured, Workload};

/// Names, flags for the program's own crate, and what is known then.
const OWN: [(&str, &str, Known); 4] = [
    ("none", "-Cdebuginfo=0", Workload(Lacks::DebugInfo)),
    ("stripped", "-Cstrip=symbols", Nothing(Lacks::Stripped)),
    (
        "unpacked",
        "-Cdebuginfo=line-tables-only -Csplit-debuginfo=unpacked",
        Line,
    ),
    (
        "packed",
        "-Cdebuginfo=line-tables-only -Csplit-debuginfo=packed",
        Line,
    ),
];

/// Names, cargo's variables for the release profile, flags for all crates, and what is known.
const EVERY: [(&str, &str, &str, Known); 19] = [
    ("dev", "", "", Line),
    ("release", "", "", Workload(Lacks::DebugInfo)),
    ("release with lines", LINES, "", Line),
    (
        "unpacked",
        "DEBUG=line-tables-only SPLIT_DEBUGINFO=unpacked",
        "",
        Line,
    ),
    (
        "packed",
        "DEBUG=line-tables-only SPLIT_DEBUGINFO=packed",
        "",
        Line,
    ),
    (
        "stripped of debug information",
        "DEBUG=line-tables-only STRIP=debuginfo",
        "",
        Workload(Lacks::Stripped),
    ),
    (
        "stripped of symbols",
        "STRIP=symbols",
        "",
        Nothing(Lacks::Stripped),
    ),
    ("thin LTO", "DEBUG=line-tables-only LTO=thin", "", Line),
    ("fat LTO", "DEBUG=line-tables-only LTO=fat", "", Line),
    (
        "one codegen unit",
        "DEBUG=line-tables-only CODEGEN_UNITS=1",
        "",
        Line,
    ),
    (
        "opt-level s",
        "DEBUG=line-tables-only OPT_LEVEL=s",
        "",
        Line,
    ),
    (
        "opt-level z",
        "DEBUG=line-tables-only OPT_LEVEL=z",
        "",
        Line,
    ),
    ("panic abort", LINES, "-Cpanic=abort", Line),
    ("bfd", LINES, "-Clink-arg=-fuse-ld=bfd", Line),
    ("lld", LINES, "-Clink-arg=-fuse-ld=lld", Line),
    ("mold", LINES, "-Clink-arg=-fuse-ld=mold", Line),
    (
        "crt-static",
        LINES,
        "-Ctarget-feature=+crt-static",
        Unmeasured,
    ),
    ("frame pointers", LINES, "-Cforce-frame-pointers=yes", Line),
    ("coverage", LINES, "-Cinstrument-coverage", Line),
];
const LINES: &str = "DEBUG=line-tables-only";

#[test]
fn places_are_right_or_say_what_is_missing() {
    let (shared, _lock) = shared();
    let dir = shared.with_file_name("builds").join("places");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = package.canonicalize().unwrap();
    write(&dir.join("src/lib.rs"), "");
    write(&dir.join("tests/leaks.rs"), LEAKS);
    let manifest = format!(
        "[package]\nname = \"places\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nplimsoll = {{ path = {package:?} }}\n\
         tokio = {{ version = \"1\", default-features = false, \
         features = [\"rt-multi-thread\", \"sync\"] }}\n\n\
         [[test]]\nname = \"leaks\"\nharness = false\n\n[workspace]\n"
    );
    write(&dir.join("Cargo.toml"), &manifest);
    fs::copy(package.join("../../Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    ran(build(&dir, &shared).args(["update", "--quiet", "--workspace", "--offline"]));
    let (mut wrong, mut skipped) = (Vec::new(), Vec::new());
    if let Ok(asked) = std::env::var(ALL) {
        let asked: Vec<&str> = asked.split(',').collect();
        let is_asked = |name: &str| asked == ["all"] || asked.contains(&name);
        let unknown = |asked: &&&str| !EVERY.iter().any(|(name, ..)| name == *asked);
        let unknown: Vec<&&str> = asked.iter().filter(unknown).collect();
        assert!(
            asked == ["all"] || unknown.is_empty(),
            "no build is named {unknown:?}"
        );
        // Procedural macros are built once.
        let target = dir.join("target");
        for (name, settings, flags, known) in EVERY.into_iter().filter(|(name, ..)| is_asked(name))
        {
            if !links(flags) {
                skipped.push(name);
                continue;
            }
            let mut command = test(&dir, &target);
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
            wrong.extend(measured(&dir, name, command, &set, known));
        }
        // Some gigabytes.
        fs::remove_dir_all(target).unwrap();
    } else {
        for (name, flags, known) in OWN {
            let mut command = test(&dir, &shared.join("target"));
            let wrapper = wrapper(&dir, name, &format!("{RELEASE} {flags}"));
            command.env("CARGO_INCREMENTAL", "0");
            command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
            wrong.extend(measured(&dir, name, command, &[], known));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(skipped.is_empty(), "`.ci/install builds`: {skipped:?}");
}

fn build(dir: &Path, target: &Path) -> Command {
    let mut command = Command::new(cargo());
    build_as_all_do(&mut command)
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", target)
        .stdin(Stdio::null());
    command
}

fn test(dir: &Path, target: &Path) -> Command {
    let mut command = build(dir, target);
    command.args([
        "test",
        "--no-run",
        "--offline",
        "--message-format=json",
        "--test",
        "leaks",
    ]);
    command
}

/// Returns whether there is the linker that these flags ask for.
fn links(flags: &str) -> bool {
    let Some((_, linker)) = flags.split_once("-fuse-ld=") else {
        return true;
    };
    let mut version = Command::new(format!("ld.{linker}"));
    version
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
}

/// Builds the program and runs it with the variables that cargo would pass on. Returns what is not
/// as expected.
#[expect(clippy::print_stdout, reason = "each build takes a minute or more")]
fn measured(
    dir: &Path,
    build: &str,
    mut command: Command,
    settings: &[(String, &str)],
    known: Known,
) -> Vec<String> {
    // In its place, because its debug information may be beside it.
    let program = executable(&ran(&mut command));
    let mut run = Command::new(&program);
    without_variables(&mut run);
    let output = run
        .current_dir(dir)
        .envs(settings.iter().cloned())
        .env("CARGO_MANIFEST_DIR", dir)
        .env("PLIMSOLL_BUDGET", "60s")
        // An emulator has memory of its own.
        .env("PLIMSOLL_OUTSIDE", "1GiB")
        .env("PLIMSOLL_MAX_ITERATIONS", "2000")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut wrong = Vec::new();
    if known == Unmeasured {
        let said = String::from_utf8_lossy(&output.stdout);
        let reason = "in programs linked to glibc dynamically";
        if !output.status.success() || said.matches(reason).count() != SCENARIOS.len() {
            wrong.push(format!("{build}: {said}"));
        }
        return wrong;
    }
    for scenario in SCENARIOS {
        let report = report(&program, scenario);
        let problems = problems(&report, scenario, known);
        println!("{build}, {scenario}: {}", described(&report));
        wrong.extend(
            problems
                .iter()
                .map(|problem| format!("{build}, {scenario}: {problem}")),
        );
    }
    if !wrong.is_empty() {
        wrong.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    wrong
}

fn report(program: &Path, scenario: &str) -> Report {
    let mut folders = program.ancestors();
    let found: Option<PathBuf> = folders.find_map(|folder| {
        let path = folder
            .join("plimsoll/places/leaks")
            .join(scenario)
            .join("report.json");
        path.exists().then_some(path)
    });
    json::parse(&fs::read(found.unwrap()).unwrap()).unwrap()
}

fn described(report: &Report) -> String {
    let growing = report
        .findings
        .iter()
        .filter(|one| one.verdict == Verdict::Regressed);
    let place = |finding: &Finding| {
        let place = finding.blamed().map(|place| place.plain());
        format!("{} ({:?})", place.unwrap_or_default(), finding.lacks)
    };
    growing.map(place).collect::<Vec<_>>().join("; ")
}

/// Returns what is wrong with a report.
fn problems(report: &Report, scenario: &str, known: Known) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |is_right: bool, problem: String| {
        if !is_right {
            problems.push(problem);
        }
    };
    check(
        report.verdict == Verdict::Regressed,
        format!("{:?}", report.verdict),
    );
    let walked = report.completeness.truncated_stacks == 0;
    let said = report.notes.iter().any(|note| note.contains("stacks"));
    check(
        walked && !said,
        format!("{:?} {:?}", report.completeness, report.notes),
    );
    let growing = report
        .findings
        .iter()
        .filter(|one| one.verdict == Verdict::Regressed);
    for finding in growing {
        let text = format!("{:#?}", finding.blame);
        let Some(blame) = &finding.blame else {
            check(false, "no place".to_owned());
            continue;
        };
        let mut named = blame.frames();
        check(
            !named.any(|frame| frame.function.starts_with("plimsoll::")),
            text.clone(),
        );
        // All of them are on the first thread.
        check(
            blame.thread_of.is_none() && blame.needed_by.is_none(),
            text.clone(),
        );
        let is_own = |file: Option<&str>| file == Some("tests/leaks.rs");
        for frame in blame.frames().chain(&finding.frames) {
            let is_ours = frame.function.contains("leaks::");
            check(
                !is_own(frame.file.as_deref()) || is_ours,
                format!("{frame:?}"),
            );
        }
        let of_workload = blame.origin == Some(Origin::Workload(scenario.to_owned()));
        let own = blame.caller.as_ref().or(blame.at.as_ref());
        let is_of_workload = |own: &Frame| own.function.starts_with(&format!("leaks::{scenario}"));
        let own = own.filter(|own| is_of_workload(own));
        let line = own.filter(|own| is_own(own.file.as_deref()));
        let line = line.and_then(|own| own.line);
        let found = match (finding.lacks, line) {
            (None, Some(line)) if lines_of(scenario).contains(&line) => Some(Line),
            (Some(lacks), None) if of_workload || own.is_some() => Some(Workload(lacks)),
            (Some(lacks), None) => Some(Nothing(lacks)),
            _ => None,
        };
        check(
            found == Some(known),
            format!("{found:?} {:?} {text}", finding.lacks),
        );
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
