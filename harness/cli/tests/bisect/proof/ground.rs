//! Lets `plimsoll bisect` search a history, and looks at everything that comes of
//! it.
//!
//! ```text
//! target/tmp/bisect-proof/
//!   lock            one proof at a time
//!   plimsoll        a link to this repository, for the crate's Cargo.toml
//!   locked/store/   the crate at its first commit, to have its Cargo.lock and its
//!                   dependencies from
//!   target/         --target-dir, of all seeds
//!   tools/cargo     cargo, which notes what it is called for
//!   beside/store/   the repository, of one seed after the other
//!   replayed/       a clone of it
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::history::History;
use super::repository::{Repository, alone, found_in};
use super::store::{Fault, SCENARIOS, Store};
use crate::built::link_our_jemalloc;

/// The longest climb.
const BUDGET: &str = "2s";
/// The longest build, and how long it takes to see that a scenario hangs.
const TIMEOUT: &str = "20s";

/// Where all seeds are tried, one after the other.
#[derive(Debug)]
pub(crate) struct Ground {
    dir: PathBuf,
    /// The crate's Cargo.lock.
    locked: String,
    _lock: File,
}

/// What came of one seed.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(crate) seed: u64,
    pub(crate) commits: usize,
    pub(crate) culprit: String,
    pub(crate) answer: String,
    pub(crate) builds: usize,
    pub(crate) at_most: usize,
    pub(crate) skipped: usize,
    pub(crate) took: Duration,
    /// Each expectation that failed.
    pub(crate) wrong: Vec<String>,
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "seed {:>3}  {} commits  culprit {}  answer {}  builds {:>2} of {:>2}  skipped {}  {:>3} s",
            self.seed,
            self.commits,
            self.culprit,
            self.answer,
            self.builds,
            self.at_most,
            self.skipped,
            self.took.as_secs()
        )?;
        for wrong in &self.wrong {
            write!(f, "\n    {}", wrong.replace('\n', "\n    "))?;
        }
        Ok(())
    }
}

impl Ground {
    /// Resolves and builds what the crate depends on, so that no revision's
    /// timeout has to allow for it.
    pub(crate) fn new() -> Ground {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bisect-proof");
        fs::create_dir_all(&dir).unwrap();
        let lock = File::create(dir.join("lock")).unwrap();
        lock.lock().unwrap();
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = workspace.canonicalize().unwrap();
        let mut ground = Ground {
            dir,
            locked: fs::read_to_string(workspace.join("Cargo.lock")).unwrap(),
            _lock: lock,
        };
        let link = ground.dir.join("plimsoll");
        let _ = fs::remove_file(&link);
        symlink(&workspace, &link).unwrap();
        let first = ground.emptied("locked").join("store");
        for (path, text) in Store::first().files(None, 0, &ground.locked) {
            let path = first.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        // Leaves out what is not needed here, and changes nothing else.
        ground.cargo(&first, &["update", "--quiet", "--workspace", "--offline"]);
        ground.locked = fs::read_to_string(first.join("Cargo.lock")).unwrap();
        ground.cargo(
            &first,
            &["test", "--quiet", "--no-run", "--locked", "--test", "leaks"],
        );
        ground.write_tool();
        ground
    }

    fn target(&self) -> PathBuf {
        self.dir.join("target")
    }

    fn calls(&self) -> PathBuf {
        self.dir.join("tools/calls")
    }

    fn emptied(&self, name: &str) -> PathBuf {
        let dir = self.dir.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn cargo(&self, dir: &Path, args: &[&str]) {
        let output = link_our_jemalloc(&mut Command::new(cargo()))
            .args(args)
            .current_dir(dir)
            .env("CARGO_TARGET_DIR", self.target())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {args:?}: {said}");
    }

    /// Builds are counted by whoever is asked for them.
    fn write_tool(&self) {
        let dir = self.emptied("tools");
        let quoted = |path: &Path| format!("'{}'", path.to_str().unwrap().replace('\'', r"'\''"));
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >>{}\nexec {} \"$@\"\n",
            quoted(&self.calls()),
            quoted(Path::new(&cargo()))
        );
        let tool = dir.join("cargo");
        fs::write(&tool, text).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// How often something was built since the last time.
    fn builds(&self) -> usize {
        let calls = fs::read_to_string(self.calls()).unwrap_or_default();
        let _ = fs::remove_file(self.calls());
        let builds = |line: &&str| {
            let mut words = line.split(' ');
            words.any(|word| ["build", "test", "rustc", "run", "check", "bench"].contains(&word))
        };
        calls.lines().filter(builds).count()
    }

    pub(crate) fn prove(&self, seed: u64) -> Proof {
        let history = History::new(seed);
        let place = self.emptied("beside").join("store");
        let repository = Repository::new(&place, false);
        let ids = repository.import(&history.contents(&self.locked));
        let bad = history.bad();
        leave_work_undone(&repository, &ids);
        let before = Seen::of(&repository);

        let started = Instant::now();
        let mut command = self.command(&place);
        // HEAD is the default.
        command
            .args([&ids[0]])
            .args((seed % 2 == 1).then_some("main"));
        command.args(["--scenario", history.scenario_name()]);
        if history.named {
            command.args(["--stack", history.part.function()]);
        }
        let output = command.output().unwrap();
        let took = started.elapsed();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();

        let mut wrong = before.differences(&Seen::of(&repository));
        wrong.extend(self.left_behind(&place));
        let built = self.builds();
        let found: Value = match serde_json::from_slice(&output.stdout) {
            Ok(found) => found,
            Err(err) => {
                wrong.push(format!("what it printed is no JSON: {err}"));
                Value::Null
            }
        };
        let mut check = Check {
            history: &history,
            ids: &ids,
            found: &found,
            wrong,
        };
        let answer = check.answer();
        check.tests();
        check.log(&self.emptied("replayed"), &repository);
        check.same(
            "the exit status",
            output.status.code(),
            match history.expected[..] {
                [_] => Some(0),
                _ => Some(3),
            },
        );
        let skipped = check.tested("skip").len();
        // Commits between the ends.
        let between = bad - 1;
        let log2 = usize::try_from(usize::BITS - (between - 1).leading_zeros()).unwrap();
        let at_most = log2 + 2 * skipped + 3;
        check.same("`builds`", found["builds"].as_u64(), Some(built as u64));
        if built > at_most || built == 0 {
            let why = format!("{built} builds, where {at_most} are the most there may be");
            check.wrong.push(why);
        }
        let mut wrong = check.wrong;
        if !wrong.is_empty() {
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(40)..].join("\n");
            wrong.push(format!("{}\nit said:\n{last}", history.summary(&ids)));
        }
        let short = |index: usize| ids[index][..9].to_owned();
        Proof {
            seed,
            commits: ids.len(),
            culprit: short(history.culprit),
            answer,
            builds: built,
            at_most,
            skipped,
            took,
            wrong,
        }
    }

    fn command(&self, dir: &Path) -> Command {
        let tools = self.dir.join("tools");
        let old = std::env::var_os("PATH").unwrap_or_default();
        let paths: Vec<PathBuf> = std::iter::once(tools.clone())
            .chain(std::env::split_paths(&old))
            .collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        // What was set for this test, or for the leak tests of whoever runs it.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PLIMSOLL_") || text == "CARGO_TARGET_DIR" {
                command.env_remove(&name);
            }
        }
        link_our_jemalloc(alone(&mut command))
            .arg("bisect")
            .args(["--format", "json", "--budget", BUDGET, "--timeout", TIMEOUT])
            .arg("--target-dir")
            .arg(self.target())
            .current_dir(dir)
            .stdin(Stdio::null())
            .env("CARGO", tools.join("cargo"))
            .env("PATH", std::env::join_paths(paths).unwrap());
        command
    }

    /// Folders and processes.
    fn left_behind(&self, place: &Path) -> Vec<String> {
        let mut left = Vec::new();
        for entry in fs::read_dir(place.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path != place {
                left.push(format!("{} was left behind", path.display()));
            }
        }
        // What was killed a moment ago may not be gone yet.
        let patience = Instant::now() + Duration::from_secs(5);
        let mut running = self.running();
        while !running.is_empty() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(50));
            running = self.running();
        }
        let still = |program: &PathBuf| format!("{} still runs", program.display());
        left.extend(running.iter().map(still));
        left
    }

    /// Programs that were built here.
    fn running(&self) -> Vec<PathBuf> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|process| fs::read_link(process.path().join("exe")).ok())
            .filter(|program| program.starts_with(&self.dir))
            .collect()
    }
}

fn cargo() -> OsString {
    // An absolute path, as cargo sets it for a test.
    std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into())
}

/// A checkout as people have it: something changed, something staged, something
/// new, and a bisection of their own under way.
fn leave_work_undone(repository: &Repository, ids: &[String]) {
    let dir = repository.dir();
    repository.git(&["reset", "--quiet", "--hard", "main"]);
    fs::write(dir.join("README.md"), "# store\n\nNot finished.\n").unwrap();
    fs::write(dir.join("staged.txt"), "staged\n").unwrap();
    repository.git(&["add", "staged.txt"]);
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    let (good, bad) = (&ids[0], &ids[ids.len() - 1]);
    repository.git(&["bisect", "start", "--no-checkout", bad, good]);
    repository.git(&["update-index", "-q", "--refresh"]);
}

/// All of a repository that a bisection must not touch.
#[derive(Debug, PartialEq)]
struct Seen(BTreeMap<String, Vec<u8>>);

impl Seen {
    fn of(repository: &Repository) -> Seen {
        let mut seen = BTreeMap::new();
        for args in [
            &["rev-parse", "HEAD"][..],
            &["status", "--porcelain=v2", "--branch"],
            &["for-each-ref"],
            &["bisect", "log"],
            &["worktree", "list", "--porcelain"],
            &["stash", "list"],
        ] {
            seen.insert(
                format!("git {}", args.join(" ")),
                repository.git(args).into_bytes(),
            );
        }
        let dir = repository.dir();
        let git = fs::read_dir(dir.join(".git")).unwrap();
        for entry in fs::read_dir(dir).unwrap().chain(git) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            // What is built is kept there; and objects are not the user's to see.
            if name != ".git" && name != "target" && name != "objects" {
                see(&path, dir, &mut seen);
            }
        }
        Seen(seen)
    }

    fn differences(&self, other: &Seen) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let text = |bytes: Option<&Vec<u8>>| {
            bytes.map_or("not there".to_owned(), |bytes| {
                String::from_utf8_lossy(bytes).chars().take(500).collect()
            })
        };
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .map(|name| {
                let (was, is) = (text(self.0.get(name)), text(other.0.get(name)));
                format!("{name} was touched: from\n{was}\nto\n{is}")
            })
            .collect()
    }
}

/// Every file there, and when it was written.
fn see(path: &Path, top: &Path, seen: &mut BTreeMap<String, Vec<u8>>) {
    let meta = fs::symlink_metadata(path).unwrap();
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            see(&entry.unwrap().path(), top, seen);
        }
        return;
    }
    let name = path.strip_prefix(top).unwrap().display().to_string();
    let modified = meta.modified().unwrap();
    seen.insert(
        format!("{name}: its time"),
        format!("{modified:?}").into_bytes(),
    );
    seen.insert(name, fs::read(path).unwrap());
}

/// What the command said, held against what is so.
struct Check<'a> {
    history: &'a History,
    ids: &'a [String],
    found: &'a Value,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, found: T, expected: T) {
        if found != expected {
            self.wrong
                .push(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    }

    fn index(&self, id: &str) -> Option<usize> {
        self.ids.iter().position(|one| one == id)
    }

    /// The commit that it names, shortened.
    fn answer(&mut self) -> String {
        let (found, history) = (self.found, self.history);
        let first = &found["first_bad"];
        self.same("`version`", found["version"].as_u64(), Some(1));
        self.same("`package`", found["package"].as_str(), Some("store"));
        self.same("`target`", found["target"].as_str(), Some("leaks"));
        self.same(
            "`scenario`",
            found["scenario"].as_str(),
            Some(history.scenario_name()),
        );
        let ids: Vec<&str> = history
            .expected
            .iter()
            .map(|n| self.ids[*n].as_str())
            .collect();
        let [expected] = ids[..] else {
            self.same("`result`", found["result"].as_str(), Some("one-of"));
            self.same("`first_bad`", first, &Value::Null);
            let listed = found["candidates"].as_array().into_iter().flatten();
            let listed: BTreeSet<&str> = listed.filter_map(Value::as_str).collect();
            self.same("`candidates`", &listed, &ids.iter().copied().collect());
            return format!("one of {}", listed.len());
        };
        self.same("`result`", found["result"].as_str(), Some("found"));
        self.same("the answer", first["commit"].as_str(), Some(expected));
        if first["commit"] == expected {
            let module = |n: usize| {
                let state = &history.commits[n].store.parts[&history.part];
                history.part.modules()[state.module]
            };
            let touched = vec![format!("src/{}.rs", module(history.culprit))];
            let files = first["files"].as_array().into_iter().flatten();
            let files: Vec<String> = files.map(|f| f.as_str().unwrap().to_owned()).collect();
            self.same("`files`", files, touched);
            self.same("`in_stack`", first["in_stack"].as_bool(), Some(true));
            let subject = history.commits[history.culprit].subject.as_str();
            self.same("`subject`", first["subject"].as_str(), Some(subject));
            let last = found["stack"]
                .as_array()
                .and_then(|stack| stack.last()?.as_str());
            let leaf = last.unwrap_or_default().to_owned();
            let named = format!("{}::{}", module(history.bad()), history.part.function());
            if !leaf.contains(&named) {
                self.same("the stack's leaf", leaf, named);
            }
            let bytes = |when: &str| first[when]["bytes"].as_f64().unwrap_or(0.0);
            if bytes("after") - bytes("before") < 0.5 {
                let rates = format!("{} to {}", first["before"], first["after"]);
                self.wrong
                    .push(format!("it grows no faster after it: from {rates}"));
            }
        }
        let named = first["commit"]
            .as_str()
            .map_or("none", |id| &id[..9.min(id.len())]);
        named.to_owned()
    }

    fn tested(&self, answer: &str) -> Vec<&Value> {
        let tested = self.found["tested"].as_array().into_iter().flatten();
        tested.filter(|one| one["answer"] == answer).collect()
    }

    /// No commit was guessed.
    fn tests(&mut self) {
        let history = self.history;
        for one in self.found["tested"].as_array().into_iter().flatten() {
            let Some(index) = self.index(one["commit"].as_str().unwrap_or_default()) else {
                self.wrong
                    .push(format!("there is no commit like this: {one}"));
                continue;
            };
            let (answer, kind) = match history.commits[index].fault {
                Some(Fault::Hangs) => ("skip", Some("hangs")),
                Some(Fault::DoesNotBuild(_)) => ("skip", Some("does not build")),
                None if history.has_the_leak(index) => ("bad", None),
                None => ("good", None),
            };
            let found = (one["answer"].as_str(), one["kind"].as_str());
            let short = &self.ids[index][..9];
            self.same(
                &format!("commit {index}, {short}"),
                found,
                (Some(answer), kind),
            );
            self.same(
                &format!("`cached` of {index}"),
                one["cached"].as_bool(),
                Some(false),
            );
        }
    }

    /// git comes to the same answer by the log.
    fn log(&mut self, dir: &Path, repository: &Repository) {
        let clone = Repository::clone_of(repository, dir.join("store"));
        let log = dir.join("log");
        fs::write(&log, self.found["log"].as_str().unwrap_or_default()).unwrap();
        let output = clone.run(&["bisect", "replay", log.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout);
        let replayed: Option<BTreeSet<usize>> =
            found_in(&said).iter().map(|id| self.index(id)).collect();
        let expected = self.history.expected.iter().copied().collect();
        self.same("what git says of the log", replayed, Some(expected));
    }
}

impl History {
    /// What is where, for whoever has to find out what went wrong.
    fn summary(&self, ids: &[String]) -> String {
        let mut text = format!(
            "{:?} leaks from {} on, {}; the other leak is from {} on; the scenario was {}",
            self.part,
            self.culprit,
            if self.named {
                "and is named"
            } else {
                "and is the greatest"
            },
            self.second,
            SCENARIOS[self.scenario][0],
        );
        for (index, commit) in self.commits.iter().enumerate() {
            let fault = commit
                .fault
                .map_or(String::new(), |fault| format!(" {fault:?}"));
            let (id, parents) = (&ids[index][..9], &commit.parents);
            text += &format!("\n  {index:>2} {id} {parents:?} {}{fault}", commit.subject);
        }
        text
    }
}
