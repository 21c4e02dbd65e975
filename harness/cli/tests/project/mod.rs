//! A cargo project in a temporary folder, with the reports of runs that never were.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{
    Check, CheckOutcome, Failure, Finding, Report, StackGrowth, Standing, Subject, json,
};
use plimsoll_core::{FoldedStack, Rate, Tally, layout};
use serde_json::Value;

mod ran;
#[path = "../../../core/tests/report/sample.rs"]
pub(crate) mod sample;

pub(crate) use self::ran::Ran;
pub(crate) use self::sample::finding;

pub(crate) const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");
pub(crate) const CARGO_PLIMSOLL: &str = env!("CARGO_BIN_EXE_cargo-plimsoll");
/// A variable that names a file with one certificate. At each start, cargo and the bot read all
/// certificates that they trust, and a system has more than a hundred. No test of a project uses
/// TLS.
pub(crate) const CERTIFICATES: (&str, &str) = (
    "SSL_CERT_FILE",
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/project/certificate.pem"),
);
/// The baseline of the scenario that most tests are about.
pub(crate) const BASELINE: &str = "baselines/lru_churn.toml";
pub(crate) const RATE: Rate = rate(1.0, 96.0);

/// What the tests themselves run under is not what they are about.
const NOT_OURS: &str =
    "CARGO_BUILD_TARGET_DIR CARGO_TARGET_DIR CI CLICOLOR_FORCE GIT NO_COLOR PLIMSOLL_ SSL_CERT_";

pub(crate) struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    pub(crate) fn empty() -> Self {
        Project {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Two packages: `demo` at the root of the workspace, `other` below it.
    pub(crate) fn new() -> Self {
        let project = Project::empty();
        project.package("", "demo", "lib");
        project.package("other", "other", "lib");
        project.append("Cargo.toml", "[workspace]\nmembers = [\"other\"]\n");
        project.write("Cargo.lock", "version = 3\n");
        project
    }

    /// The two packages, with reports that were left at the same time.
    pub(crate) fn with(reports: &[Report]) -> Self {
        let project = Project::new();
        for report in reports {
            project.leave(report, 0);
        }
        project
    }

    /// With an allowance of `main` that has expired and is needed again.
    pub(crate) fn expired(allowed: Rate) -> Self {
        let mut report = regressed("r1", "lru_churn", "main", RATE);
        report.findings[0].standing = Standing::Expired;
        report.findings[0].allowed = allowed;
        report.findings[0].reason = Some("until the spring".to_owned());
        let project = Project::with(&[report]);
        let baseline = "format = 1\n".to_owned() + &allow("'main'", allowed);
        project.write(BASELINE, &(baseline + "expires = 2001-01-01\n"));
        project
    }

    /// What `cargo new` makes; the source is `lib` or `main`.
    pub(crate) fn package(&self, dir: &str, name: &str, source: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n\
             [dependencies]\n"
        );
        self.write(&format!("{dir}/Cargo.toml"), &manifest);
        self.write(&format!("{dir}/src/{source}.rs"), "pub fn main() {}\n");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path.trim_start_matches('/'))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|err| panic!("{path}: {err}"))
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        self.write(path, &(self.read(path) + text));
    }

    /// Asserts that a file has this, and writes that in its place.
    #[track_caller]
    pub(crate) fn replace(&self, path: &str, this: &str, that: &str) {
        let text = self.read(path);
        assert!(text.contains(this), "expected {this:?} in: {text}");
        self.write(path, &text.replace(this, that));
    }

    /// Every file of a folder and those below it, by its path.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    files.insert(path, text);
                }
            }
        }
        files
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Leaves a report where a run would, so many minutes after the first.
    pub(crate) fn leave(&self, report: &Report, minute: u64) -> PathBuf {
        let (run, reports) = (&report.run, self.path("target/plimsoll"));
        let dir = layout::scenario_dir(&reports, &run.package, &run.target, &report.scenario);
        let path = dir.join(layout::REPORT);
        fs::create_dir_all(dir).unwrap();
        fs::write(&path, json::to_string(report)).unwrap();
        set_time(&path, minute);
        path
    }

    pub(crate) fn plimsoll(&self, args: &[&str]) -> Ran {
        self.run(PLIMSOLL, args, &[])
    }

    #[track_caller]
    pub(crate) fn ok(&self, line: &str) -> Ran {
        self.typed(line).has(0, &[])
    }

    /// Asserts how a command line ends, and what it prints.
    #[track_caller]
    pub(crate) fn says(&self, line: &str, status: i32, parts: &[&str]) -> Ran {
        self.typed(line).has(status, parts)
    }

    /// A command line of `plimsoll` as a shell has it, without quotes: `CI=1 accept lru_churn`.
    pub(crate) fn typed(&self, line: &str) -> Ran {
        self.typed_in("", line)
    }

    pub(crate) fn typed_in(&self, folder: &str, line: &str) -> Ran {
        let mut command = self.command(PLIMSOLL);
        say(command.current_dir(self.path(folder)), line.split(' '));
        self.ran(command.output().unwrap())
    }

    /// What each of these command lines says, below it.
    pub(crate) fn said(&self, lines: &[&str]) -> String {
        let said = lines
            .iter()
            .map(|line| format!("> {line}\n{}", self.typed(line)));
        said.collect()
    }

    pub(crate) fn run(&self, program: &str, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut command = self.command(program);
        command.args(args).envs(env.iter().copied());
        self.ran(command.output().unwrap())
    }

    /// A command line of git, on a day.
    #[track_caller]
    pub(crate) fn git(&self, line: &str, day: &str) {
        let words = "-c init.defaultBranch=work -c user.name=a -c user.email=a@example.org";
        let args: Vec<&str> = words.split(' ').chain(line.split(' ')).collect();
        let date = format!("{day}T12:00:00Z");
        let env = [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_DATE", &date),
        ];
        self.run("git", &args, &env).has(0, &[]);
    }

    /// A program in the project's folder.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        alone(&mut command).current_dir(self.path(""));
        command.envs([CERTIFICATES]);
        command
    }

    pub(crate) fn ran(&self, output: Output) -> Ran {
        // macOS has its temporary folders behind a link.
        let dir = self.dir.path().canonicalize().unwrap();
        Ran::of(&output).within(&dir).within(self.dir.path())
    }
}

/// Takes from a command what the tests themselves run under.
pub(crate) fn alone(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if NOT_OURS.split(' ').any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Adds the words of a command line, and the variables among them.
pub(crate) fn say<'a>(command: &mut Command, words: impl Iterator<Item = &'a str>) {
    let is_variable = |word: &str| word.starts_with(|char: char| char.is_ascii_uppercase());
    for word in words.filter(|word| !word.is_empty()) {
        match word.split_once('=').filter(|_| is_variable(word)) {
            Some((name, value)) => command.env(name, value),
            None => command.arg(word),
        };
    }
}

/// A terminal: the end of the keyboard and the screen, and that of a program.
#[cfg(unix)]
pub(crate) fn terminal() -> (fs::File, fs::File) {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (keyboard.into(), side.into())
}

pub(crate) fn set_time(path: &Path, minute: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + 60 * minute);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

/// A report of a run of `demo`'s test target `leaks`, with two scenarios.
pub(crate) fn report(run: &str, scenario: &str, verdict: Verdict) -> Report {
    let mut report = sample::report(run, scenario, verdict);
    report.run.scenarios = vec!["lru_churn".to_owned(), "http::echo".to_owned()];
    report
}

/// One that found a stack to grow.
pub(crate) fn regressed(run: &str, scenario: &str, stack: &str, rate: Rate) -> Report {
    let mut report = report(run, scenario, Verdict::Regressed);
    report.findings.push(finding(stack, rate));
    report
}

pub(crate) fn within(run: &str, scenario: &str) -> Report {
    report(run, scenario, Verdict::Within)
}

pub(crate) fn of_test(package: &str, target: &str, mut report: Report) -> Report {
    report.run.package = package.to_owned();
    report.run.target = target.to_owned();
    report
}

pub(crate) fn failure(what: &str, iteration: Option<u64>, output: &str) -> Option<Failure> {
    Some(Failure {
        what: what.to_owned(),
        iteration,
        output: output.to_owned(),
    })
}

pub(crate) fn check(name: &str, outcome: CheckOutcome, detail: &str) -> Check {
    Check {
        name: name.to_owned(),
        outcome,
        detail: detail.to_owned(),
    }
}

/// What is left of an allowance that nothing uses.
pub(crate) fn unused(subject: Subject, standing: Standing) -> Finding {
    Finding {
        verdict: Verdict::Improved,
        subject,
        frames: Vec::new(),
        standing,
        levels: Vec::new(),
        ..finding("", Rate::default())
    }
}

/// Frames, root first, with a space between two.
pub(crate) fn stack(names: &str) -> FoldedStack {
    FoldedStack(names.split(' ').map(str::to_owned).collect())
}

pub(crate) fn site(names: &str, stacks: usize) -> Subject {
    let frames = stack(names);
    Subject::Site { frames, stacks }
}

pub(crate) const fn rate(objects: f64, bytes: f64) -> Rate {
    Rate { objects, bytes }
}

/// A stack that grew by that much in a hundred iterations.
pub(crate) fn growth(names: &str, rate: Rate) -> StackGrowth {
    StackGrowth {
        stack: stack(names),
        before: Tally::default(),
        after: Tally {
            objects: 100,
            bytes: 9_600,
        },
        rate,
        error: None,
    }
}

/// An allowance in a baseline, of frames as they are written there.
pub(crate) fn allow(frames: &str, rate: Rate) -> String {
    let Rate { objects, bytes } = rate;
    format!(
        "[[allow]]\nstack = [{frames}]\nobjects = {objects:?}\nbytes = {bytes:?}\nlaw = 'linear'\n"
    )
}

/// The places of strings that may be any text in a report's JSON: all but the words of the format.
pub(crate) fn free_strings(report: &Report) -> Vec<String> {
    let value = serde_json::from_str(&json::to_string(report)).unwrap();
    let mut places = places(&value, Value::is_string);
    places.retain(|place| {
        let poisoned = poisoned(report, std::slice::from_ref(place), "any text");
        json::parse(poisoned.to_string().as_bytes()).is_ok()
    });
    assert!(places.len() >= 30, "{places:?}");
    places
}

/// The places of all values of a kind.
pub(crate) fn places(value: &Value, is_it: fn(&Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), value)];
    while let Some((place, value)) = left.pop() {
        match value {
            Value::Array(all) => {
                let all = all.iter().enumerate();
                left.extend(all.map(|(index, value)| (format!("{place}/{index}"), value)));
            }
            Value::Object(all) => {
                let all = all.iter();
                left.extend(all.map(|(key, value)| (format!("{place}/{key}"), value)));
            }
            value if is_it(value) => found.push(place),
            _ => {}
        }
    }
    found
}

/// A report as JSON, with that text in each of those places.
pub(crate) fn poisoned(report: &Report, places: &[String], with: &str) -> Value {
    let mut value: Value = serde_json::from_str(&json::to_string(report)).unwrap();
    for place in places {
        *value.pointer_mut(place).unwrap() = with.into();
    }
    value
}
