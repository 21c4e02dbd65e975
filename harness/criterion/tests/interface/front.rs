//! Plays the front: starts this binary as a subject, and speaks the protocol of
//! `docs/protocol.md` with it. The channel is the subject's standard output as well, so that what
//! the program prints stands between its answers.

use std::env;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{self, Command, Stdio};
use std::time::Duration;

/// How long a subject may take for a line.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs a program for its list, or for three iterations of one scenario: `measure NAME`.
///
/// Returns what the subject answered and how it ended, and among that what the program printed
/// before each answer.
pub(crate) fn run(program: &str, asked: &str) -> String {
    let commands = match asked.strip_prefix("measure ") {
        Some(scenario) => format!("setup {scenario}\nrun 1\nrun 2\nrun 3\nend\n"),
        None => "list\n".to_owned(),
    };
    let folder = tempfile::tempdir().unwrap();
    let progress = folder.path().join("progress");
    fs::write(&progress, [0; 16]).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(TIMEOUT)).unwrap();
    // It reads a command when it has answered the one before.
    ours.write_all(commands.as_bytes()).unwrap();
    let mut subject = Command::new(env::current_exe().unwrap())
        .args(["--plimsoll-subject", &process::id().to_string()])
        .arg(&progress)
        .arg("libgcc")
        .env(crate::PROGRAM, program)
        .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    let is_silent = ours.read_to_end(&mut said).is_err_and(|error| {
        // One that exits before it has read all commands resets the channel.
        error.kind() != std::io::ErrorKind::ConnectionReset
    });
    if is_silent {
        subject.kill().unwrap();
    }
    let output = subject.wait_with_output().unwrap();
    let said = String::from_utf8(said).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!is_silent, "no answer, after\n{said}{stderr}");
    let (greeting, said) = said.split_once("\nready\n").expect("a greeting");
    assert!(greeting.starts_with("plimsoll-subject 1\n"), "{greeting}");

    let mut told = String::new();
    for line in said.lines().map(str::trim_end) {
        match line.split_once(' ') {
            // It stands behind the name.
            Some(("title", title)) => told = format!("{} | {title}\n", told.trim_end()),
            Some(("failed", message)) => {
                // `panicked at FILE:LINE:COLUMN: MESSAGE`: the line changes with each edit.
                let panic = message.strip_prefix("panicked at ");
                told += &match panic.and_then(|panic| panic.split_once(": ")) {
                    Some((_, message)) => format!("panicked: {message}\n"),
                    None => format!("{line}\n"),
                };
            }
            _ => told += &format!("{line}\n"),
        }
    }
    told + &format!("{}\n", output.status)
}

/// Checks that each of these scenarios climbs to the end.
#[track_caller]
pub(crate) fn climbs<'a>(program: &str, scenarios: impl IntoIterator<Item = &'a str>) {
    for scenario in scenarios {
        let told = run(program, &format!("measure {scenario}"));
        let has_ended = told.ends_with("done 3\nexit status: 0\n");
        assert!(has_ended, "{scenario}: {told}");
    }
}
