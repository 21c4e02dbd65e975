//! A git repository of the proof's own.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[derive(Debug)]
pub(crate) struct Repository {
    dir: PathBuf,
}

/// What goes into one commit.
#[derive(Debug)]
pub(crate) struct Content {
    /// Which of the ones before it.
    pub(crate) parents: Vec<usize>,
    pub(crate) branch: String,
    pub(crate) subject: String,
    /// Paths and what is in them.
    pub(crate) files: Vec<(String, String)>,
}

/// What git's own bisection asked, and what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bisected {
    pub(crate) asked: Vec<String>,
    /// One, or those that cannot be told apart.
    pub(crate) found: Vec<String>,
}

/// Nobody's settings count, nor a hook's variables.
pub(crate) fn alone(command: &mut Command) -> &mut Command {
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
}

impl Repository {
    /// An empty one.
    pub(crate) fn new(dir: impl Into<PathBuf>, bare: bool) -> Repository {
        let repository = Repository { dir: dir.into() };
        std::fs::create_dir_all(&repository.dir).unwrap();
        let mut args = vec!["init", "--quiet", "--initial-branch=main"];
        args.extend(bare.then_some("--bare"));
        repository.git(&args);
        repository
    }

    pub(crate) fn clone_of(other: &Repository, dir: impl Into<PathBuf>) -> Repository {
        let repository = Repository { dir: dir.into() };
        let place = repository.dir.to_str().unwrap();
        other.git(&["clone", "--quiet", ".", place]);
        repository
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        alone(&mut command)
            .args(["-c", "advice.detachedHead=false", "-c", "gc.auto=0"])
            .args(args)
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .env("LC_ALL", "C")
            // Looking writes nothing.
            .env("GIT_OPTIONAL_LOCKS", "0");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Somebody")
                .env(format!("GIT_{who}_EMAIL"), "somebody@example.org");
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What it prints.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes the commits, an hour between each and the next, and says their ids.
    pub(crate) fn import(&self, commits: &[Content]) -> Vec<String> {
        let mut stream = String::new();
        for (index, commit) in commits.iter().enumerate() {
            let at = 1_700_000_000 + index * 3_600;
            let who = format!("Somebody <somebody@example.org> {at} +0000");
            let _ = writeln!(stream, "commit refs/heads/{}", commit.branch);
            let _ = writeln!(stream, "mark :{}", index + 1);
            let _ = writeln!(stream, "author {who}\ncommitter {who}");
            let _ = writeln!(stream, "data {}\n{}", commit.subject.len(), commit.subject);
            for (place, parent) in commit.parents.iter().enumerate() {
                let word = if place == 0 { "from" } else { "merge" };
                let _ = writeln!(stream, "{word} :{}", parent + 1);
            }
            stream += "deleteall\n";
            for (path, text) in &commit.files {
                let _ = writeln!(
                    stream,
                    "M 100644 inline {path}\ndata {}\n{text}",
                    text.len()
                );
            }
        }
        let marks = tempfile::NamedTempFile::new().unwrap();
        let marks_at = format!("--export-marks={}", marks.path().display());
        let mut child = self
            .command(&["fast-import", "--quiet", &marks_at])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(stream.as_bytes()).unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success(), "git fast-import");
        let mut ids = vec![String::new(); commits.len()];
        for line in std::fs::read_to_string(marks.path()).unwrap().lines() {
            let (mark, id) = line.split_once(' ').unwrap();
            let mark: usize = mark.trim_start_matches(':').parse().unwrap();
            id.clone_into(&mut ids[mark - 1]);
        }
        ids
    }

    /// Lets git search, with answers that are always right: `good`, `bad` or
    /// `skip`. Checks nothing out.
    pub(crate) fn bisected(
        &self,
        good: &str,
        bad: &str,
        answer: impl Fn(&str) -> &'static str,
    ) -> Bisected {
        let mut said = self.run(&["bisect", "start", "--no-checkout", bad, good]);
        let mut asked = Vec::new();
        loop {
            let text = String::from_utf8(said.stdout).unwrap();
            let found = found_in(&text);
            if !found.is_empty() {
                self.git(&["bisect", "reset"]);
                return Bisected { asked, found };
            }
            let id = self.git(&["rev-parse", "--verify", "BISECT_HEAD"]);
            let id = id.trim().to_owned();
            assert!(!asked.contains(&id), "{id} is asked about again: {text}");
            said = self.run(&["bisect", answer(&id), &id]);
            asked.push(id);
        }
    }
}

/// The first bad commit, or those that it is one of, in what `git bisect` prints.
pub(crate) fn found_in(text: &str) -> Vec<String> {
    let end = " is the first bad commit";
    if let Some(id) = text.lines().find_map(|line| line.strip_suffix(end)) {
        return vec![id.to_owned()];
    }
    if !text.contains("The first bad commit could be any of:") {
        return Vec::new();
    }
    let is_id = |line: &&str| line.len() == 40 && line.bytes().all(|b| b.is_ascii_hexdigit());
    text.lines().filter(is_id).map(str::to_owned).collect()
}
