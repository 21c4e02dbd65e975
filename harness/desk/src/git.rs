//! The git commands that a bisection needs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, anyhow};

use crate::out::safe;

/// A folder in which git commands are run.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
}

/// A commit, by its full id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the abbreviated id, as people write it.
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(9)]
    }
}

impl std::fmt::Display for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What people want to know about a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub commit: Commit,
    pub author: String,
    /// The author's date, as `YYYY-MM-DD`.
    pub date: String,
    pub subject: String,
    /// Changed paths in the repository, with slashes. For a merge, compared with its first
    /// parent.
    pub files: Vec<String>,
}

impl Git {
    pub fn in_dir(dir: impl Into<PathBuf>) -> Git {
        Git { dir: dir.into() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new("git");
        command
            .args(["-c", "advice.detachedHead=false"])
            .args(["-c", "core.hooksPath=/dev/null"])
            // git's file monitor would be a process that outlives the worktree it watches.
            .args(["-c", "core.fsmonitor=false"])
            .args(["-c", "log.showSignature=false"])
            .args(args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0");
        // A hook or an alias that called this program sets these variables. They name the
        // user's checkout, which must not change.
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_COMMON_DIR",
            "GIT_PREFIX",
            "GIT_NAMESPACE",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs a git command, and returns its output even if it fails.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<Output> {
        self.command(args)
            .output()
            .context("`git` did not start\n  hint: install git, or put it into PATH")
    }

    /// Runs a git command, and returns its output without the trailing line end. Fails if git
    /// fails.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<String> {
        let output = self.run(args)?;
        if !output.status.success() {
            let args = args.iter().map(|arg| arg.as_ref().to_string_lossy());
            return Err(failed(&args.collect::<Vec<_>>().join(" "), &output.stderr));
        }
        Ok(line(&output.stdout))
    }

    /// Runs a git command, and returns its output without the trailing line end, or `None` if
    /// git fails.
    pub fn try_ask<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<Option<String>> {
        let output = self.run(args)?;
        Ok(output.status.success().then(|| line(&output.stdout)))
    }

    /// Returns the commit that a revision names, if there is one.
    pub fn commit(&self, revision: &str) -> anyhow::Result<Option<Commit>> {
        let named = format!("{revision}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet"];
        let args = [&args[..], &["--end-of-options", &named]].concat();
        Ok(self.try_ask(&args)?.map(Commit))
    }

    /// Makes a commit, on no branch, of the working tree: with every change, staged or not,
    /// and every file that is untracked and not ignored. The user's index does not change.
    /// `except` are folders of build output.
    ///
    /// The same content on the same commit gives the same snapshot. If nothing changed, the
    /// result is `HEAD`.
    pub fn snapshot(&self, except: &[PathBuf]) -> anyhow::Result<Commit> {
        let index = self.ask(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        let copy = tempfile::Builder::new().prefix("plimsoll-index").tempdir();
        let copy = copy.context("a folder for a copy of git's index")?;
        let (own, list) = (copy.path().join("index"), copy.path().join("list"));
        if Path::new(&index).exists() {
            // The copy also keeps what the index knows about unchanged files, so git need not
            // read them.
            std::fs::copy(&index, &own).context("a copy of git's index")?;
        }
        let with_copy = |args: &[&str], input: &[u8]| {
            let mut command = self.command(args);
            command.env("GIT_INDEX_FILE", &own);
            for who in ["AUTHOR", "COMMITTER"] {
                command
                    .env(format!("GIT_{who}_NAME"), "plimsoll")
                    .env(format!("GIT_{who}_EMAIL"), "plimsoll")
                    .env(format!("GIT_{who}_DATE"), "@0 +0000");
            }
            std::fs::write(&list, input).context("a list of files for git")?;
            let list = std::fs::File::open(&list).context("a list of files for git")?;
            let output = command
                .stdin(list)
                .output()
                .context("`git` did not start")?;
            match output.status.success() {
                true => Ok(output.stdout),
                false => Err(failed(&args.join(" "), &output.stderr)),
            }
        };
        with_copy(&["add", "--update"], b"")?;
        let mut others = vec!["ls-files", "--others", "--exclude-standard", "-z"];
        let except: Vec<String> = except
            .iter()
            .filter_map(|folder| folder.strip_prefix(&self.dir).ok()?.to_str())
            .map(|folder| format!("--exclude=/{folder}/"))
            .collect();
        others.extend(except.iter().map(String::as_str));
        let others = with_copy(&others, b"")?;
        // A name that ends in a slash is a nested repository.
        let files: Vec<u8> = others
            .split_inclusive(|byte| *byte == 0)
            .filter(|name| !name.ends_with(b"/\0"))
            .flatten()
            .copied()
            .collect();
        with_copy(&["update-index", "--add", "-z", "--stdin"], &files)?;
        let tree = line(&with_copy(&["write-tree"], b"")?);
        let head = self.commit("HEAD")?;
        if let Some(head) = &head
            && self.ask(&["rev-parse", &format!("{head}^{{tree}}")])? == tree
        {
            return Ok(head.clone());
        }
        let mut args = vec!["commit-tree", "-m", "the working tree", &tree];
        args.extend(head.iter().flat_map(|head| ["-p", head.as_str()]));
        Ok(Commit(line(&with_copy(&args, b"")?)))
    }

    /// Returns the submodules with changes that are not committed in them.
    pub fn changed_submodules(&self) -> anyhow::Result<Vec<String>> {
        let args = ["status", "--porcelain=v2", "--ignore-submodules=none"];
        let status = self.ask(&args)?;
        // In a line such as `1 .M S.M. …`, the third letter of the state stands for changed
        // files in the submodule.
        let changed = status.lines().filter_map(|line| {
            let mut parts = line.splitn(9, ' ');
            let state = parts.nth(2)?.as_bytes();
            let path = parts.nth(5)?;
            matches!(state, [b'S', _, b'M', _]).then(|| path.to_owned())
        });
        Ok(changed.collect())
    }

    /// Returns the best common ancestors of two commits.
    pub fn merge_bases(&self, one: &Commit, two: &Commit) -> anyhow::Result<Vec<Commit>> {
        let text = self.try_ask(&["merge-base", "--all", one.as_str(), two.as_str()])?;
        let lines = text.unwrap_or_default();
        Ok(lines.lines().map(|line| Commit(line.to_owned())).collect())
    }

    /// Returns the commits from `first` to `last`, without `first`: all commits that descend
    /// from the one and are ancestors of the other. With `first_parent`, only first parents of
    /// merges are followed.
    pub fn after(
        &self,
        first: &Commit,
        last: &Commit,
        first_parent: bool,
    ) -> anyhow::Result<Vec<Commit>> {
        let range = format!("{first}..{last}");
        let mut args = vec!["rev-list", "--ancestry-path", "--topo-order", "--reverse"];
        if first_parent {
            args.push("--first-parent");
        }
        args.push(&range);
        let ids = self.ask(&args)?;
        Ok(ids.lines().map(|id| Commit(id.to_owned())).collect())
    }

    pub fn is_shallow(&self) -> anyhow::Result<bool> {
        Ok(self.ask(&["rev-parse", "--is-shallow-repository"])? == "true")
    }

    pub fn subject(&self, commit: &Commit) -> anyhow::Result<String> {
        self.ask(&["show", "--no-patch", "--format=%s", commit.as_str()])
    }

    pub fn about(&self, commit: &Commit) -> anyhow::Result<About> {
        let show = ["show", "--no-patch", "--date=short"];
        let what = ["--format=%an%x00%ad%x00%s", commit.as_str()];
        let text = self.ask(&[&show[..], &what].concat())?;
        let mut parts = text.split('\0');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (author, date, subject) = (part(), part(), part());
        let diff = ["diff-tree", "-r", "-z", "-m", "--first-parent", "--root"];
        let names = ["--no-commit-id", "--name-only", "--no-renames"];
        let files = self.ask(&[&diff[..], &names, &[commit.as_str()]].concat())?;
        let files = files.split('\0').filter(|name| !name.is_empty());
        Ok(About {
            commit: commit.clone(),
            author,
            date,
            subject,
            files: files.map(str::to_owned).collect(),
        })
    }
}

/// Returns the error for a git command that failed.
fn failed(args: &str, said: &[u8]) -> anyhow::Error {
    let said = String::from_utf8_lossy(said);
    anyhow!("`git {}`: {}", safe(args), safe(said.trim()))
}

/// Returns what git printed, without the line end.
fn line(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).trim_end().to_owned()
}

/// An answer of `git bisect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This commit is to be tested.
    Test {
        commit: Commit,
        /// The most revisions that remain to be tested after this one.
        left: usize,
        /// About how many steps remain after this one.
        steps: usize,
    },
    Found(Commit),
    /// The first bad commit is one of these. Skipped commits cannot be told apart.
    OneOf(Vec<Commit>),
    /// The merge base of the two ends is bad. So the change is older, and the good end has
    /// undone it.
    BadMergeBase(Commit),
}

/// Whoever measures a commit checks it out anyway.
const NO_CHECKOUT: &str = "--no-checkout";

/// A `git bisect` session, which checks nothing out.
impl Git {
    pub fn bisect(
        &self,
        good: &Commit,
        bad: &Commit,
        first_parent: bool,
        paths: &[String],
    ) -> anyhow::Result<Step> {
        let mut args = vec!["bisect", "start", NO_CHECKOUT];
        if first_parent {
            args.push("--first-parent");
        }
        args.extend([bad.as_str(), good.as_str(), "--"]);
        args.extend(paths.iter().map(String::as_str));
        self.step(&args)
    }

    /// Gives git the answer for a commit: `good`, `bad` or `skip`.
    pub fn bisect_mark(&self, commit: &Commit, answer: &str) -> anyhow::Result<Step> {
        self.step(&["bisect", answer, commit.as_str()])
    }

    /// Returns the log, in the format that `git bisect replay` reads. A replay checks out the
    /// commit that is left to test.
    pub fn bisect_log(&self) -> anyhow::Result<String> {
        let log = self.ask(&["bisect", "log"])? + "\n";
        Ok(log.replace(&format!("bisect start '{NO_CHECKOUT}'"), "bisect start"))
    }

    fn step(&self, args: &[&str]) -> anyhow::Result<Step> {
        let output = self.run(args)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = format!("{said}\n{complained}");
        if let Some(line) = all.lines().find(|line| line.starts_with("Bisecting: ")) {
            let words = line.split(|c: char| !c.is_ascii_digit());
            let mut numbers = words.filter_map(|number| number.parse().ok());
            return Ok(Step::Test {
                commit: self.commit("BISECT_HEAD")?.context("git names no commit")?,
                left: numbers.next().unwrap_or(0),
                steps: numbers.next().unwrap_or(0),
            });
        }
        let is_id = |word: &str| word.len() >= 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let ends = " is the first bad commit";
        if let Some(id) = all.lines().find_map(|line| line.strip_suffix(ends))
            && is_id(id)
        {
            return Ok(Step::Found(Commit(id.to_owned())));
        }
        if all.contains("The first bad commit could be any of:") {
            let ids = all.lines().filter(|line| is_id(line));
            return Ok(Step::OneOf(ids.map(|id| Commit(id.to_owned())).collect()));
        }
        let start = "The merge base ";
        if let Some(rest) = all.lines().find_map(|line| line.strip_prefix(start))
            && let Some(id) = rest.split(' ').next().filter(|id| is_id(id))
        {
            return Ok(Step::BadMergeBase(Commit(id.to_owned())));
        }
        Err(failed(&args.join(" "), all.as_bytes()))
    }
}
