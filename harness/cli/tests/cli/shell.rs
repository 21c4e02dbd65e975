//! `plimsoll completions` and `plimsoll man`, and what a shell makes of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::project::Project;

/// The commands, as the first page of the manual lists them.
const COMMANDS: [&str; 6] = [
    "show",
    "report",
    "accept",
    "bisect-run",
    "config",
    "completions",
];

/// The last of the words is being typed.
const OFFER: &str = "source plimsoll.bash || exit; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))\n\
    _plimsoll plimsoll \"${@: -1}\" \"${@: -2:1}\" && printf '%s\\n' \"${COMPREPLY[@]}\"";

#[test]
fn bash_completes_commands_and_options() {
    if Command::new("bash").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "!!! SKIPPED: bash is missing");
        return;
    }
    let project = Project::new();
    let script = project.typed("completions bash").stdout;
    project.write("plimsoll.bash", &script);
    for (line, offered) in [
        ("plimsoll con", "config\n"),
        ("plimsoll bisect-", "bisect-run\n"),
        ("plimsoll config s", "show\nschema\n"),
        ("plimsoll config show --eff", "--effective\n"),
        ("plimsoll report --format ju", "junit\n"),
    ] {
        let mut args = vec!["--noprofile", "--norc", "-c", OFFER, "bash"];
        args.extend(line.split(' '));
        let ran = project.run("bash", &args, &[]).has(0, &[]);
        assert_eq!(ran.stdout, offered, "{line}");
    }
}

#[test]
fn every_shell_knows_every_command() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = project.typed(&format!("completions {shell}"));
        assert_eq!(ran.has(0, &COMMANDS).stderr, "", "{shell}");
    }
    project.says("completions tcsh", 2, &["elvish"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let project = Project::new();
    let ran = project.typed("man --output share/man1");
    let files = project.files("share/man1").into_iter();
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut pages: BTreeMap<String, String> =
        files.map(|(path, text)| (name(path), text)).collect();
    let says = format!("{} manual pages in share/man1\n--- 0\n", pages.len());
    assert_eq!(ran.to_string(), says);
    let cargo = pages.remove("cargo-plimsoll.1");
    assert_eq!(cargo.as_deref(), Some(".so man1/plimsoll.1\n"));

    for (page, text) in &pages {
        let name = page.strip_suffix(".1").unwrap().replace('-', "\\-");
        assert!(text.contains(&format!("\n.SH NAME\n{name} \\- ")), "{text}");
    }
    // A page lists the pages of its commands.
    assert!(pages["plimsoll-config.1"].contains("\nplimsoll\\-config\\-show(1)\n"));
    for command in COMMANDS.into_iter().chain(["config-show"]) {
        let page = format!("plimsoll-{command}.1");
        assert!(pages.contains_key(&page), "{page}");
    }
}

#[test]
fn pages_that_cannot_be_written() {
    let project = Project::new();
    project.write("file", "");
    let says = ["cannot write file/man1/plimsoll.1"];
    project.says("man --output file/man1", 5, &says);
}
