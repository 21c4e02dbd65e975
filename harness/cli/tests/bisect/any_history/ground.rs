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
//!   beside/store/   the repository, of one seed after the other
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::history::{History, scenario};
use super::store::{Edits, Fault, files};
use crate::built::{build_as_all_do, shared, workspace};
use crate::git::{alone, everything_and_times, git, import, init};

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

impl Ground {
    /// Resolves and builds what the crate depends on, so that no revision's
    /// timeout has to allow for it.
    pub(crate) fn new() -> Ground {
        let ((dir, lock), workspace) = (shared(), workspace());
        let mut ground = Ground {
            dir,
            locked: fs::read_to_string(workspace.join("Cargo.lock")).unwrap(),
            _lock: lock,
        };
        let link = ground.dir.join("plimsoll");
        let _ = fs::remove_file(&link);
        symlink(&workspace, &link).unwrap();
        let first = ground.emptied("locked").join("store");
        for (path, text) in files(&Edits::new(), None, &ground.locked) {
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
        ground
    }

    fn target(&self) -> PathBuf {
        self.dir.join("target")
    }

    fn emptied(&self, name: &str) -> PathBuf {
        let dir = self.dir.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn cargo(&self, dir: &Path, args: &[&str]) {
        let output = build_as_all_do(&mut Command::new(cargo()))
            .args(args)
            .current_dir(dir)
            .env("CARGO_TARGET_DIR", self.target())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {args:?}: {said}");
    }

    /// What came of a seed, in a line, and each expectation that failed.
    pub(crate) fn prove(&self, seed: u64) -> (String, Vec<String>) {
        let history = History::new(seed);
        let place = self.emptied("beside").join("store");
        init(&place);
        let ids = import(&place, &history.contents(|one| one.files(&self.locked)));
        leave_work_undone(&place, &ids);
        let before = everything_and_times(&place);

        let started = Instant::now();
        let mut command = self.command(&place);
        // HEAD is the default.
        command.arg(&ids[0]).args((seed % 2 == 1).then_some("main"));
        command.args(["--scenario", scenario()]);
        if history.named {
            command.args(["--stack", history.part.function()]);
        }
        let output = command.output().unwrap();
        let took = started.elapsed().as_secs();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();

        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let mut check = Check {
            history: &history,
            ids: &ids,
            found: &found,
            wrong: Vec::new(),
        };
        check.same("what is the user's", everything_and_times(&place), before);
        check.same("what still runs", self.running(), Vec::new());
        check.answer(output.status.code());
        let skipped = check.tests();
        // Commits between the ends.
        let between = history.bad() - 1;
        let log2 = u64::from(usize::BITS - (between - 1).leading_zeros());
        let builds = found["builds"].as_u64().unwrap_or(0);
        let at_most = log2 + 2 * skipped + 3;
        check.same("few builds", (1..=at_most).contains(&builds), true);
        let mut wrong = check.wrong;
        if !wrong.is_empty() {
            wrong.push(format!("{}\nit said:\n{said}", history.summary()));
        }
        let expected = &history.expected;
        let line = format!(
            "seed {seed:>3}  {} commits  answer {expected:?}  \
             builds {builds:>2} of {at_most:>2}  skipped {skipped}  {took:>3} s",
            ids.len(),
        );
        (line, wrong)
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        build_as_all_do(alone(&mut command))
            .arg("bisect")
            .args(["--format", "json", "--budget", BUDGET, "--timeout", TIMEOUT])
            .arg("--target-dir")
            .arg(self.target())
            .current_dir(dir)
            .stdin(Stdio::null())
            .env("CARGO", cargo());
        command
    }

    /// Programs that were built here.
    fn running(&self) -> Vec<PathBuf> {
        // What was killed a moment ago may not be gone yet.
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let programs =
                processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
            let running: Vec<_> = programs.filter(|one| one.starts_with(&self.dir)).collect();
            if running.is_empty() || Instant::now() > patience {
                return running;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn cargo() -> OsString {
    // An absolute path, as cargo sets it for a test.
    std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into())
}

/// A checkout as people have it: something changed, something staged, something
/// new, and a bisection of their own under way.
fn leave_work_undone(dir: &Path, ids: &[String]) {
    git(dir, &["reset", "--quiet", "--hard", "main"]);
    fs::write(dir.join("src/notes.rs"), "// Not finished.\n").unwrap();
    fs::write(dir.join("staged.txt"), "staged\n").unwrap();
    git(dir, &["add", "staged.txt"]);
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    let (good, bad) = (&ids[0], &ids[ids.len() - 1]);
    git(dir, &["bisect", "start", "--no-checkout", bad, good]);
    git(dir, &["update-index", "-q", "--refresh"]);
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

    fn answer(&mut self, status: Option<i32>) {
        let (found, history) = (self.found, self.history);
        let first = &found["first_bad"];
        let name = |key: &str| found[key].as_str();
        self.same("`scenario`", name("scenario"), Some(scenario()));
        let ids = history.expected.iter().map(|at| self.ids[*at].as_str());
        let ids: BTreeSet<&str> = ids.collect();
        if ids.len() > 1 {
            self.same("the exit status", status, Some(3));
            self.same("`result`", name("result"), Some("one-of"));
            self.same("`first_bad`", first, &Value::Null);
            let listed = found["candidates"].as_array().into_iter().flatten();
            let listed = listed.filter_map(Value::as_str).collect();
            self.same("`candidates`", listed, ids);
            return;
        }
        self.same("the exit status", status, Some(0));
        self.same("`result`", name("result"), Some("found"));
        let commit = first["commit"].as_str();
        self.same("the answer", commit, ids.first().copied());
        let module = |at: usize| history.part.module(&history.commits[at].edits);
        let touched = serde_json::json!([format!("src/{}.rs", module(history.culprit))]);
        self.same("`files`", &first["files"], &touched);
        self.same("`in_stack`", first["in_stack"].as_bool(), Some(true));
        let stack = found["stack"].as_array().and_then(|stack| stack.last());
        let leaf = stack.and_then(Value::as_str).unwrap_or_default();
        let named = format!("{}::{}", module(history.bad()), history.part.function());
        if !leaf.contains(&named) {
            self.same("the stack's leaf", leaf, &named);
        }
        let bytes = |when: &str| first[when]["bytes"].as_f64().unwrap_or(0.0);
        let gained = bytes("after") - bytes("before");
        self.same("it grows faster after it", gained >= 0.5, true);
    }

    /// No commit was guessed. Says how many were skipped.
    fn tests(&mut self) -> u64 {
        let mut skipped = 0;
        for one in self.found["tested"].as_array().into_iter().flatten() {
            let commit = one["commit"].as_str().unwrap_or_default();
            let at = self.ids.iter().position(|id| id == commit).unwrap();
            let (answer, kind) = match self.history.commits[at].fault {
                Some(Fault::Hangs) => ("skip", Some("hangs")),
                Some(Fault::DoesNotBuild) => ("skip", Some("does not build")),
                None if self.history.has_the_leak(at) => ("bad", None),
                None => ("good", None),
            };
            skipped += u64::from(answer == "skip");
            let found = (one["answer"].as_str(), one["kind"].as_str());
            self.same(&format!("c{at}"), found, (Some(answer), kind));
            let cached = one["cached"].as_bool();
            self.same(&format!("`cached` of c{at}"), cached, Some(false));
        }
        skipped
    }
}
