//! A repository whose commits say in one file what measuring them comes to, and
//! a cargo that believes it. What is tested is everything around the measuring.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{CheckOutcome, Compared, Finding, Report, json};
use plimsoll_core::{Tally, layout};
use serde_json::Value;

use crate::git::{command, everything, git, init, write};
use crate::project::{self, Ran, check, failure, finding, growth, rate, sample, say};

/// What `state` in a commit may say.
pub(crate) const UNUSABLE: [(&str, &str); 9] = [
    ("no-project", "no test"),
    ("lockfile", "dependencies not resolved"),
    ("unbuildable", "does not build"),
    ("no-scenario", "no scenario"),
    ("hung", "hangs"),
    ("failed", "workload failed"),
    ("no-report", "other harness"),
    ("broken", "broken measurement"),
    ("newer", "other harness"),
];

/// What each commit has, besides its `state`.
const PROJECT: [(&str, &str); 5] = [
    (
        "Cargo.toml",
        "[package]\nname = 'demo'\nversion = '0.0.0'\n",
    ),
    ("Cargo.lock", "version = 4\n"),
    ("src/lib.rs", ""),
    ("tests/leaks.rs", "// churn\n"),
    (".gitignore", "target\n"),
];

/// Of the one scenario there is, without the working tree's test.
pub(crate) const ASKED: &str = "--scenario churn --overlay never";

/// Who holds what `put` allocates.
pub(crate) const HELD: &str = "held by a HashMap<u64, Arc<Session>> (filled in store::open at \
                               src/store.rs:9), and that by the static app::SESSIONS";

pub(crate) struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    /// Without a commit.
    pub(crate) fn new() -> Repository {
        let repository = Repository {
            dir: tempfile::tempdir().unwrap(),
        };
        init(&repository.top());
        repository.write_templates();
        repository.write_program("cargo", CARGO);
        repository.write_program("watch", WATCH);
        repository.write_program("leaks", LEAKS);
        for (path, text) in PROJECT {
            repository.write(path, text);
        }
        repository
    }

    /// One commit for each word: `c0`, `c1` and so on.
    pub(crate) fn history(states: &str) -> Repository {
        let repository = Repository::new();
        let mut stream = String::new();
        for (index, state) in states.split(' ').enumerate() {
            let (subject, at) = (format!("c{index}"), 1_700_000_000 + index * 3_600);
            stream += &format!(
                "commit refs/heads/main\ncommitter A <a@example.org> {at} +0000\ndata {}\n{subject}\n",
                subject.len()
            );
            let edited = ("src/edited.rs", &*format!("// {subject}\n"));
            let state = ("state", &*format!("{state}\n"));
            for (path, text) in PROJECT.into_iter().chain([edited, state]) {
                let length = text.len();
                stream += &format!("M 100644 inline {path}\ndata {length}\n{text}\n");
            }
        }
        let mut import = command(&repository.top(), "fast-import --quiet");
        let mut import = import.stdin(Stdio::piped()).spawn().unwrap();
        let stdin = import.stdin.take();
        stdin.unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        repository.git("reset --quiet --hard");
        repository
    }

    pub(crate) fn outer(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.top().join(path), text);
    }

    pub(crate) fn commit(&self, state: &str, subject: &str) {
        self.write("state", &format!("{state}\n"));
        self.write("src/edited.rs", &format!("// {subject}\n"));
        self.git("add --all");
        git(&self.top(), &format!("commit --quiet --message {subject}"));
    }

    /// The words of a command line, in which `c0` is the commit with that subject.
    fn words(&self, line: &str) -> Vec<String> {
        let is_subject = |word: &str| {
            let number = word.strip_prefix(['c', 'd']);
            number.is_some_and(|number| number.parse::<u8>().is_ok())
        };
        let word = |word: &str| match is_subject(word) {
            true => self.named(word),
            false => word.to_owned(),
        };
        line.split(' ').map(word).collect()
    }

    pub(crate) fn git(&self, line: &str) -> String {
        git(&self.top(), &self.words(line).join(" "))
    }

    /// The commit with that subject.
    pub(crate) fn named(&self, subject: &str) -> String {
        self.git(&format!("log --all --format=%H --grep=^{subject}$"))
    }

    /// Here, with the cargo that believes.
    pub(crate) fn with_tools<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        project::alone(command)
            .current_dir(self.top())
            .env("CARGO", self.path("cargo"))
            // It says nothing of its version, and is asked for it at each start. The real one would
            // take half of the time that these tests take.
            .env("RUSTC", self.path("cargo"))
            .env("TEMPLATES", self.path("templates"))
            .env("BUILDS", self.path("builds"))
            .env("HOME", self.outer())
            .env_remove("RUSTFLAGS")
            .stdin(Stdio::null())
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        self.with_tools(&mut command);
        say(&mut command, self.words(line).iter().map(String::as_str));
        command
    }

    /// A command line of `plimsoll`, with variables before it.
    pub(crate) fn plimsoll(&self, line: &str) -> Ran {
        Ran::of(&self.command(line).output().unwrap())
    }

    /// The same, about the scenario.
    pub(crate) fn ask(&self, line: &str) -> Ran {
        self.plimsoll(&format!("{line} {ASKED}"))
    }

    /// Starts a command line in a group of its own, as a terminal has it.
    pub(crate) fn start(&self, line: &str) -> Child {
        let mut command = self.command(line);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// `plimsoll bisect`, as JSON.
    pub(crate) fn bisect(&self, line: &str) -> (Ran, Value) {
        let ran = self.plimsoll(&format!("bisect --json {ASKED} {line}"));
        let value = ran.json();
        (ran, value)
    }

    /// The same, which ends with that status and result.
    #[track_caller]
    pub(crate) fn comes_to(&self, line: &str, status: i32, result: &str) -> Value {
        let (ran, value) = self.bisect(line);
        ran.has(status, &[]);
        assert_eq!(value["result"], result, "{value:#}");
        value
    }

    /// The same, which finds the commit with that subject.
    #[track_caller]
    pub(crate) fn finds(&self, line: &str, subject: &str) -> Value {
        let value = self.comes_to(line, 0, "found");
        let found = &value["first_bad"]["commit"];
        assert_eq!(*found, self.named(subject), "{value:#}");
        value
    }

    /// The same, which says why not.
    #[track_caller]
    pub(crate) fn refuses(&self, line: &str, status: i32, why: &str) {
        self.bisect(line).0.has(status, &[why]);
    }

    /// Each build that cargo was asked for: in which folder, and from which.
    pub(crate) fn built(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("builds")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn builds(&self) -> usize {
        self.built().len()
    }

    pub(crate) fn everything(&self) -> BTreeMap<String, String> {
        everything(&self.top())
    }

    fn write_templates(&self) {
        let dir = self.path("templates");
        fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, report: &Report| {
            fs::write(dir.join(name), json::to_string(report)).unwrap();
            let of_server = json::to_string(&of_server(report.clone()));
            fs::write(dir.join(format!("{name}.server")), of_server).unwrap();
        };
        let both = [("main log push", 1.0, 24.0), ("main store put", 1.0, 80.0)];
        for (name, grows) in [
            ("good", &[][..]),
            ("bad", &[("main store put", 1.0, 80.0)]),
            ("renamed", &[("main table put_new", 1.0, 80.0)]),
            ("half", &[("main store put", 0.1, 8.0)]),
            // In 65,536 iterations it is 26 objects, and 32 are told from none for sure.
            ("little", &[("main store put", 0.0004, 0.003)]),
            ("other", &[("main log push", 50.0, 4000.0)]),
            ("both", &both),
        ] {
            write(name, &report(grows));
        }
        let mut idle = of_server(report(&[]));
        for rung in &mut idle.rungs {
            rung.live = Tally::default();
        }
        fs::write(dir.join("idle.server"), json::to_string(&idle)).unwrap();
        let mut broken = report(&[]);
        broken.verdict = Verdict::Broken;
        let why = "expected 3 objects, found none";
        broken.checks = vec![check("canary", CheckOutcome::Failed, why)];
        write("broken", &broken);
        let what = [
            ("failed", "panicked: on purpose"),
            ("hung", "hung: no answer"),
        ];
        for (name, what) in what {
            let mut failed = report(&[]);
            failed.verdict = Verdict::Failed;
            failed.failure = failure(what, Some(3), "");
            write(name, &failed);
        }
        let version = format!("\"version\": {}", json::VERSION);
        let newer = json::to_string(&report(&[])).replacen(&version, "\"version\": 99", 1);
        fs::write(dir.join("newer"), newer).unwrap();
    }

    fn write_program(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A row of a table: the states of two revisions, a status, and what is said.
pub(crate) fn row(row: &str) -> ([&str; 2], i32, Vec<&str>) {
    let mut cells = row.split(" | ");
    let mut words = cells.next().unwrap().split(' ');
    let sides = [(); 2].map(|()| words.next().unwrap());
    let status = words.next().unwrap().parse().unwrap();
    (sides, status, cells.collect())
}

/// A history of so many commits, bad from that one on.
pub(crate) fn linear(commits: usize, first_bad: usize) -> Repository {
    let states = "good ".repeat(first_bad) + &"bad ".repeat(commits - first_bad);
    Repository::history(states.trim_end())
}

/// A report of `churn`, with these stacks growing.
fn report(grows: &[(&str, f64, f64)]) -> Report {
    let mut report = project::report("r1", "churn", Verdict::Within);
    report.run.scenarios = vec!["churn".to_owned()];
    let (before, after) = (8_192, 65_536);
    report.rungs[0].iterations = before;
    report.rungs[1].iterations = after;
    report.compared = Some(Compared { before, after });
    for &(stack, objects, bytes) in grows {
        let rate = rate(objects, bytes);
        report.verdict = Verdict::Regressed;
        report.findings.push(Finding {
            holders: stack.ends_with("put").then(sample::in_a_map),
            ..finding(stack, rate)
        });
        report.growth.push(growth(stack, rate));
    }
    report
}

/// The same of a server, by the requests that it answered.
fn of_server(mut report: Report) -> Report {
    report.run.target = layout::WATCH.to_owned();
    report.per = "http_requests_total".parse().unwrap();
    for rung in &mut report.rungs {
        rung.live.objects = 1;
    }
    report
}

/// What watches the server of a checkout: its `state` says what comes of it.
const WATCH: &str = r#"#!/bin/sh
echo "$CARGO_TARGET_DIR $PWD" >>"$BUILDS"
read -r state <state
case $state in
unbuildable)
    echo "error[E0425]: cannot find value" >&2
    exit 101
    ;;
slow)
    # As a watch, which ends its server first.
    (trap 'sleep 6; echo ended >"$BUILDS.ended"; exit 3' TERM; echo >"$BUILDS.watched"
        while true; do sleep 0.1; done)
    ;;
esac
# The usual folder, though cargo builds elsewhere.
dir=target/plimsoll/demo/watch/churn
mkdir -p "$dir"
case $state in
no-report) echo "error: the address is in use" >&2 ;;
by-seconds) sed 's/"http_requests_total"/"second"/' "$TEMPLATES/good.server" >"$dir/report.json" ;;
*) cp "$TEMPLATES/$state.server" "$dir/report.json" ;;
esac
[ "$PLIMSOLL_BASELINES" = optional ] || exit 4
exit 1
"#;

/// Cargo, as far as a bisection asks it: the checkout's file `state` says what
/// comes of it. Each process costs more time than the rest of the script, so it starts few.
const CARGO: &str = r#"#!/bin/sh
[ ! -f state ] || read -r state <state
[ ! -f sub/state ] || read -r state <sub/state
target=${CARGO_TARGET_DIR:-$PWD/target}
complain() {
    echo "$1" >&2
    exit 101
}
case $1 in
metadata)
    [ "$state" != no-project ] || complain "error: could not find Cargo.toml"
    if [ "$state" = slow-metadata ]; then
        echo >"$BUILDS.metadata"
        exec sleep 100
    fi
    leaks=',{"name": "leaks", "kind": ["test"], "src_path": "'$PWD'/tests/leaks.rs"}'
    [ "$state" = young ] && leaks=
    echo '{"version": 1, "workspace_root": "'$PWD'", "target_directory": "'$target'",
"resolve": null, "workspace_members": ["demo"], "packages": [{"name": "demo",
"version": "0.0.0", "id": "demo", "dependencies": [], "features": {},
"manifest_path": "'$PWD'/Cargo.toml", "targets": [
{"name": "demo", "kind": ["lib"], "src_path": "'$PWD'/src/lib.rs"}'$leaks']}]}'
    ;;
fetch)
    [ "$state" != lockfile ] || complain "error: failed to select a version for the requirement
required by package \`demo\`"
    ;;
test)
    echo "$target $PWD" >>"$BUILDS"
    [ -f Cargo.lock ] || complain "error: other versions than in the working tree"
    case $state in
    older)
        # Its test has the scenario if the working tree's was copied over it.
        read -r test <tests/leaks.rs
        state=no-scenario
        [ "$test" != "// churn" ] || state=good
        ;;
    young) complain "error: no test target named \`leaks\` in \`demo\` package" ;;
    unbuildable) complain "error[E0425]: cannot find value" ;;
    full) complain "error: could not write output: No space left on device (os error 28)" ;;
    killed) complain "error: could not compile \`demo\` (test)
process didn't exit successfully: \`rustc\` (signal: 9, SIGKILL: kill)" ;;
    esac
    if [ "$state" = slow ]; then
        # A process of its own, with a path by which it is found.
        sh -c 'sleep 1000; :' "$BUILDS"
    fi
    program=$target/debug/deps/leaks-fake
    [ -d "${program%/*}" ] || mkdir -p "${program%/*}"
    rm -f "$program"
    printf '#!/bin/sh\nstate=%s\ntarget="%s"\n. "%s/../leaks"\n' \
        "$state" "$target" "$TEMPLATES" >"$program"
    chmod +x "$program"
    printf '{"reason": "compiler-artifact", "target": {"name": "leaks"}, '
    printf '"profile": {"test": true}, "executable": "%s"}\n' "$program"
    ;;
esac
"#;

/// The test that the script [`CARGO`] builds. Its build sets `state` and `target`; the test leaves
/// the report of that state below that folder.
const LEAKS: &str = r#"if [ "$1" = --list ]; then
    [ "$state" = no-scenario ] || echo "churn: test"
    exit 0
fi
[ "$state" != endless ] || exec sleep 1000
dir=$target/bisect/plimsoll/demo/leaks/churn
[ -d "$dir" ] || mkdir -p "$dir"
template=$state
if [ "$state" = late ]; then
    template=good
    [ -n "$PLIMSOLL_MAX_ITERATIONS" ] || template=bad
fi
if [ "$state" = unfit-baseline ]; then
    template=broken
    [ "$PLIMSOLL_BASELINES" != optional ] || template=bad
fi
[ "$state" = no-report ] || cp "$TEMPLATES/$template" "$dir/report.json"
exit 101
"#;
