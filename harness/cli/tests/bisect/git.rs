//! Repositories of the tests' own, whatever the user's settings are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::project;

/// Nobody's settings count: nor those of git and its hooks, nor what was set for this
/// test or for the leak tests of whoever runs it.
pub(crate) fn alone(command: &mut Command) -> &mut Command {
    project::alone(command)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
}

pub(crate) fn command(dir: &Path, line: &str) -> Command {
    let mut command = Command::new("git");
    alone(&mut command)
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(line.split(' '))
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

fn try_git(dir: &Path, line: &str) -> Output {
    command(dir, line).output().unwrap()
}

/// What a command line prints, in which no word has a space.
#[track_caller]
pub(crate) fn git(dir: &Path, line: &str) -> String {
    let output = try_git(dir, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {line}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().to_owned()
}

pub(crate) fn init(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    git(dir, "init --quiet --initial-branch=main --template=");
}

/// Makes a repository of all files in a folder.
pub(crate) fn commit_all(dir: &Path) {
    init(dir);
    git(dir, "add .");
    git(dir, "commit --quiet -m all");
}

/// Writes a file, and makes the folders that it is in.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Everything of the user's that a bisection must leave as it was: what git says, and
/// what is beside the repository.
pub(crate) fn everything(top: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in [
        "status --porcelain=v2 --branch",
        "for-each-ref",
        "ls-files --stage",
        "bisect log",
        "worktree list --porcelain",
        "stash list",
    ] {
        let said = String::from_utf8(try_git(top, line).stdout).unwrap();
        all.insert(format!("git {line}"), said);
    }
    all.insert("beside".to_owned(), names(top.parent().unwrap()));
    all
}

pub(crate) fn names(dir: &Path) -> String {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("builds")).collect();
    names.sort();
    names.join(" ")
}
