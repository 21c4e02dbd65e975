//! `plimsoll completions` and `plimsoll man`, and what a shell makes of them.

mod project;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::Command;

use project::Project;

/// The commands, as the first page of the manual lists them.
const COMMANDS: &[&str] = &[
    "show",
    "report",
    "accept",
    "bisect-run",
    "config",
    "completions",
];

/// What bash offers after these words, the last of which is being typed.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let (last, rest) = words.split_last().unwrap();
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-c"])
        .arg(
            "source \"$1\" || exit; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))\n\
             _plimsoll plimsoll \"${@: -1}\" \"${@: -2:1}\" && printf '%s\\n' \"${COMPREPLY[@]}\"",
        )
        .args(["bash", script])
        .args(rest)
        .arg(last)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let offered = String::from_utf8(output.stdout).unwrap();
    offered.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    if Command::new("bash").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "!!! SKIPPED: bash is missing");
        return;
    }
    let project = Project::new();
    let script = project.plimsoll(&["completions", "bash"]).stdout;
    project.write("plimsoll.bash", &script);
    let script = project.path("plimsoll.bash").display().to_string();
    assert_eq!(offered(&script, &["plimsoll", "con"]), ["config"]);
    assert_eq!(offered(&script, &["plimsoll", "bisect-"]), ["bisect-run"]);
    assert_eq!(
        offered(&script, &["plimsoll", "config", "s"]),
        ["show", "schema"]
    );
    assert_eq!(
        offered(&script, &["plimsoll", "config", "show", "--eff"]),
        ["--effective"]
    );
    assert_eq!(
        offered(&script, &["plimsoll", "report", "--format", "ju"]),
        ["junit"]
    );
}

#[test]
fn every_shell_knows_every_command() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = project.plimsoll(&["completions", shell]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for command in COMMANDS {
            assert!(ran.stdout.contains(command), "{shell} has no {command}");
        }
    }
    let other = project.plimsoll(&["completions", "tcsh"]);
    assert_eq!(other.status, Some(2), "{other}");
    assert!(other.stderr.contains("elvish"), "{other}");
}

#[test]
fn every_command_has_a_manual_page() {
    let project = Project::new();
    let ran = project.plimsoll(&["man", "--output", "share/man1"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let mut pages: BTreeSet<String> = fs::read_dir(project.path("share/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        ran.stdout,
        format!("{} manual pages in share/man1\n", pages.len())
    );
    assert!(pages.remove("cargo-plimsoll.1"));
    assert_eq!(
        project.read("share/man1/cargo-plimsoll.1"),
        ".so man1/plimsoll.1\n"
    );

    let mut listed = BTreeSet::from(["plimsoll.1".to_owned()]);
    for page in &pages {
        let text = project.read(&format!("share/man1/{page}"));
        check(page, &text);
        listed.extend(below(&text));
    }
    // Each page is listed on another, and each that is listed is there.
    assert_eq!(listed, pages);
    for command in COMMANDS {
        assert!(
            pages.contains(&format!("plimsoll-{command}.1")),
            "{command}"
        );
    }
}

/// The head of a page, and that none of its text is taken for a request.
fn check(page: &str, text: &str) {
    let name = page.strip_suffix(".1").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let head = format!(".TH {name} 1  \"plimsoll {version}\" plimsoll");
    assert!(text.lines().any(|line| line == head), "{page}: {text}");
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
        assert!(
            text.contains(&format!("\n.SH {section}\n")),
            "{page}: {section}"
        );
    }
    let escaped = name.replace('-', "\\-");
    assert!(
        text.contains(&format!("\n.SH NAME\n{escaped} \\- ")),
        "{page}: {text}"
    );
    let known = [
        ".ie", ".el", ".TH", ".SH", ".TP", ".PP", ".RS", ".RE", ".br", ".IP",
    ];
    for line in text.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split_whitespace().next().unwrap();
        assert!(known.contains(&request), "{page}: {line}");
    }
}

/// The pages that a page lists as those of its commands.
fn below(text: &str) -> Vec<String> {
    let list = text.split(".SH SUBCOMMANDS\n").nth(1).unwrap_or_default();
    let list = list.split("\n.SH ").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| line.strip_suffix("(1)"));
    names.map(|name| name.replace("\\-", "-") + ".1").collect()
}

#[test]
fn pages_that_cannot_be_written() {
    let project = Project::new();
    project.write("file", "");
    let ran = project.plimsoll(&["man", "--output", "file/man1"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(
        ran.stderr.contains("cannot write file/man1/plimsoll.1"),
        "{ran}"
    );
}
