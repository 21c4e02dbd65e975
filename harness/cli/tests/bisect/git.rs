//! Repositories of the tests' own, whatever the user's settings are.

#![allow(dead_code, reason = "every test uses some of it")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What goes into one commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// Which of the ones before it.
    pub(crate) parents: Vec<usize>,
    pub(crate) branch: &'static str,
    pub(crate) subject: String,
    /// Paths and what is in them.
    pub(crate) files: Vec<(String, String)>,
}

/// Nobody's settings count: nor those of git and its hooks, nor what was set for this
/// test or for the leak tests of whoever runs it.
pub(crate) fn alone(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_ours = text.starts_with("PLIMSOLL_") || text.starts_with("GIT_");
        if is_ours || text == "CARGO_TARGET_DIR" {
            command.env_remove(&name);
        }
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    alone(&mut command)
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        // Looking writes nothing.
        .env("GIT_OPTIONAL_LOCKS", "0");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Somebody")
            .env(format!("GIT_{who}_EMAIL"), "somebody@example.org")
            .env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
    }
    command
}

pub(crate) fn try_git(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// What it prints.
#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().to_owned()
}

pub(crate) fn init(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    git(
        dir,
        &["init", "--quiet", "--initial-branch=main", "--template="],
    );
}

/// Makes the commits, an hour between each and the next, and says their ids.
pub(crate) fn import(dir: &Path, commits: &[Content]) -> Vec<String> {
    let mut stream = String::new();
    for (index, commit) in commits.iter().enumerate() {
        let at = 1_700_000_000 + index * 3_600;
        let (branch, subject) = (commit.branch, &commit.subject);
        let _ = writeln!(stream, "commit refs/heads/{branch}\nmark :{}", index + 1);
        let _ = writeln!(
            stream,
            "committer Somebody <somebody@example.org> {at} +0000"
        );
        let _ = writeln!(stream, "data {}\n{subject}", subject.len());
        for (place, parent) in commit.parents.iter().enumerate() {
            let word = if place == 0 { "from" } else { "merge" };
            let _ = writeln!(stream, "{word} :{}", parent + 1);
        }
        stream += "deleteall\n";
        for (path, text) in &commit.files {
            let length = text.len();
            let _ = writeln!(stream, "M 100644 inline {path}\ndata {length}\n{text}");
        }
    }
    let marks = tempfile::NamedTempFile::new().unwrap();
    let marks_at = format!("--export-marks={}", marks.path().display());
    let mut child = command(dir, &["fast-import", "--quiet", &marks_at])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stream.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success(), "git fast-import");
    let mut ids = vec![String::new(); commits.len()];
    for line in fs::read_to_string(marks.path()).unwrap().lines() {
        let (mark, id) = line.split_once(' ').unwrap();
        let mark: usize = mark.trim_start_matches(':').parse().unwrap();
        id.clone_into(&mut ids[mark - 1]);
    }
    ids
}

/// Everything of the user's that a bisection must leave as it was: what git says, and
/// what is beside the repository.
pub(crate) fn everything(top: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for args in [
        &["status", "--porcelain=v2", "--branch"][..],
        &["for-each-ref"],
        &["ls-files", "--stage"],
        &["bisect", "log"],
        &["worktree", "list", "--porcelain"],
        &["stash", "list"],
    ] {
        let said = String::from_utf8(try_git(top, args).stdout).unwrap();
        all.insert(format!("git {}", args.join(" ")), said);
    }
    all.insert("beside".to_owned(), names(top.parent().unwrap()));
    all
}

/// The same, with every file and its time.
pub(crate) fn everything_and_times(top: &Path) -> BTreeMap<String, String> {
    let mut all = everything(top);
    let mut left = vec![top.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            // What is built is kept there; and objects are not the user's to see.
            let is_ours = path == top.join("target") || path == top.join(".git/objects");
            if about.is_dir() && !is_ours {
                left.push(path);
            } else if about.is_file() {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                let time = about.modified().unwrap();
                all.insert(path.display().to_string(), format!("{time:?}\n{text}"));
            }
        }
    }
    all
}

pub(crate) fn names(dir: &Path) -> String {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("builds")).collect();
    names.sort();
    names.join(" ")
}
