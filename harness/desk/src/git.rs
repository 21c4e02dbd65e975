//! The git commands that a bisection needs.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

use crate::out::safe;

/// A folder that git is run in.
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

    /// As people write it.
    pub fn short(&self) -> &str {
        &self.0[..self.0.len().min(9)]
    }
}

impl std::fmt::Display for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What people want to know of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub commit: Commit,
    pub author: String,
    /// The author's date, as `YYYY-MM-DD`.
    pub date: String,
    pub subject: String,
    /// Paths in the repository, with slashes; of a merge, against its first
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
            .args([
                "-c",
                "advice.detachedHead=false",
                "-c",
                "core.hooksPath=/dev/null",
                // A process that would outlive the worktree that it watches.
                "-c",
                "core.fsmonitor=false",
                "-c",
                "log.showSignature=false",
            ])
            .args(args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0");
        // Of a hook or an alias that this was called from: they name the user's
        // checkout, which is not to be touched.
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

    /// Whatever comes of it.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<Output> {
        self.command(args)
            .output()
            .context("`git` did not start\n  hint: install git, or put it into PATH")
    }

    /// What it prints, without the line's end.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<String> {
        let output = self.run(args)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = safe(said.trim());
            let asked: Vec<_> = args
                .iter()
                .map(|arg| arg.as_ref().to_string_lossy())
                .collect();
            bail!("`git {}`: {said}", safe(&asked.join(" ")));
        }
        Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned())
    }

    /// What it prints; absent where it fails.
    pub fn try_ask<S: AsRef<OsStr>>(&self, args: &[S]) -> anyhow::Result<Option<String>> {
        let output = self.run(args)?;
        let text = String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned();
        Ok(output.status.success().then_some(text))
    }

    /// The commit that a revision names, if any.
    pub fn commit(&self, revision: &str) -> anyhow::Result<Option<Commit>> {
        let named = format!("{revision}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &named,
        ];
        Ok(self.try_ask(&args)?.map(Commit))
    }

    /// What is checked out, as a commit that no branch has: with every change, staged or
    /// not, and every file that git does not know and is not told to ignore. The user's
    /// index stays as it is. `except` are folders of files that are built.
    ///
    /// The same content on the same commit is the same snapshot.
    pub fn snapshot(&self, except: &[&Path]) -> anyhow::Result<Commit> {
        let index = self.ask(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        let copy = tempfile::Builder::new().prefix("plimsoll-index").tempdir();
        let copy = copy.context("a folder for a copy of git's index")?;
        let own = copy.path().join("index");
        if Path::new(&index).exists() {
            // Also what it knows of files that did not change.
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
            printed(&mut command, args, input)
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
        // A folder in the list is a repository of its own.
        let files: Vec<u8> = others
            .split_inclusive(|byte| *byte == 0)
            .filter(|name| !name.ends_with(b"/\0"))
            .flatten()
            .copied()
            .collect();
        with_copy(&["update-index", "--add", "-z", "--stdin"], &files)?;
        let line = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let tree = line(with_copy(&["write-tree"], b"")?);
        let head = self.commit("HEAD")?;
        if let Some(head) = &head
            && self.ask(&["rev-parse", &format!("{head}^{{tree}}")])? == tree
        {
            return Ok(head.clone());
        }
        let mut args = vec!["commit-tree", "-m", "the working tree", &tree];
        args.extend(head.iter().flat_map(|head| ["-p", head.as_str()]));
        Ok(Commit(line(with_copy(&args, b"")?)))
    }

    /// Submodules with changes that are in no commit of theirs.
    pub fn changed_submodules(&self) -> anyhow::Result<Vec<String>> {
        let args = ["status", "--porcelain=v2", "--ignore-submodules=none"];
        let status = self.ask(&args)?;
        // `1 .M S.M. …`: of its state the third letter is for its files.
        let changed = status.lines().filter_map(|line| {
            let mut parts = line.splitn(9, ' ');
            let state = parts.nth(2)?.as_bytes();
            let path = parts.nth(5)?;
            matches!(state, [b'S', _, b'M', _]).then(|| path.to_owned())
        });
        Ok(changed.collect())
    }

    /// The best common ancestors.
    pub fn merge_bases(&self, one: &Commit, two: &Commit) -> anyhow::Result<Vec<Commit>> {
        let text = self.try_ask(&["merge-base", "--all", one.as_str(), two.as_str()])?;
        let lines = text.unwrap_or_default();
        Ok(lines.lines().map(|line| Commit(line.to_owned())).collect())
    }

    /// The commits from `first` to `last`, without the first: all that come after the one and
    /// before the other, or of every merge only the first parent.
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

    pub fn about(&self, commit: &Commit) -> anyhow::Result<About> {
        let text = self.ask(&[
            "show",
            "--no-patch",
            "--date=short",
            "--format=%an%x00%ad%x00%s",
            commit.as_str(),
        ])?;
        let mut parts = text.split('\0');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        let (author, date, subject) = (part(), part(), part());
        let files = self.ask(&[
            "diff-tree",
            "-r",
            "-z",
            "-m",
            "--first-parent",
            "--root",
            "--no-commit-id",
            "--name-only",
            "--no-renames",
            commit.as_str(),
        ])?;
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

/// What a command prints that reads `input`.
fn printed(command: &mut Command, args: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut git = command.spawn().context("`git` did not start")?;
    // It prints nothing before it has read all.
    let mut stdin = git.stdin.take().context("git's standard input")?;
    let written = stdin.write_all(input);
    drop(stdin);
    let output = git.wait_with_output().context("`git`")?;
    if !output.status.success() || written.is_err() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`git {}`: {}", safe(&args.join(" ")), safe(said.trim()));
    }
    Ok(output.stdout)
}

/// What git's own bisection answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This is checked out, to be told about.
    Test {
        commit: Commit,
        /// Revisions to be tested after it, at most.
        left: usize,
        /// Steps after it, about.
        steps: usize,
    },
    Found(Commit),
    /// It is one of these; those that were skipped cannot be told apart.
    OneOf(Vec<Commit>),
    /// The common ancestor of the two ends is bad: what is searched for came
    /// before it, and the good end is rid of it.
    BadMergeBase(Commit),
}

/// git's own bisection, in a worktree that it may check out in.
#[derive(Debug)]
pub struct Bisection {
    git: Git,
}

impl Bisection {
    pub fn start(
        git: &Git,
        good: &Commit,
        bad: &Commit,
        first_parent: bool,
        paths: &[String],
    ) -> anyhow::Result<(Bisection, Step)> {
        let mut args = vec!["bisect", "start"];
        if first_parent {
            args.push("--first-parent");
        }
        args.extend([bad.as_str(), good.as_str(), "--"]);
        args.extend(paths.iter().map(String::as_str));
        let bisection = Bisection { git: git.clone() };
        let step = bisection.step(&args)?;
        Ok((bisection, step))
    }

    pub fn good(&self, commit: &Commit) -> anyhow::Result<Step> {
        self.step(&["bisect", "good", commit.as_str()])
    }

    pub fn bad(&self, commit: &Commit) -> anyhow::Result<Step> {
        self.step(&["bisect", "bad", commit.as_str()])
    }

    pub fn skip(&self, commit: &Commit) -> anyhow::Result<Step> {
        self.step(&["bisect", "skip", commit.as_str()])
    }

    /// What `git bisect replay` takes.
    pub fn log(&self) -> anyhow::Result<String> {
        Ok(self.git.ask(&["bisect", "log"])? + "\n")
    }

    fn step(&self, args: &[&str]) -> anyhow::Result<Step> {
        // Left over from laying a scenario over the last one.
        self.git.ask(&["reset", "--quiet", "--hard"])?;
        self.git.ask(&["clean", "--quiet", "-ffdx"])?;
        let output = self.git.run(args)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complained = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = format!("{said}\n{complained}");
        if let Some(line) = all.lines().find(|line| line.starts_with("Bisecting: ")) {
            let numbers: Vec<usize> = line
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            let commit = self.git.commit("HEAD")?.context("nothing is checked out")?;
            return Ok(Step::Test {
                commit,
                left: numbers.first().copied().unwrap_or(0),
                steps: numbers.get(1).copied().unwrap_or(0),
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
        if let Some(rest) = all
            .lines()
            .find_map(|line| line.strip_prefix("The merge base "))
            && let Some(id) = rest.split(' ').next().filter(|id| is_id(id))
        {
            return Ok(Step::BadMergeBase(Commit(id.to_owned())));
        }
        bail!("`git {}`: {}", safe(&args.join(" ")), safe(all.trim()))
    }
}
