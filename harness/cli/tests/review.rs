//! `plimsoll review`, the real binary on a terminal of its own.
#![cfg(unix)]

mod project;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, StackGrowth, Standing};
use plimsoll_core::{FoldedStack, Rate, Tally};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use project::{Project, finding, regressed, report};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};
/// Longer than any machine takes to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A review that is under way, and the terminal's other end.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    /// What of that was waited for.
    read: usize,
}

impl Terminal {
    fn open(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        let end = |side: &OwnedFd| Stdio::from(side.try_clone().unwrap());
        let child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .arg("review")
            .args(args)
            .current_dir(project.path("."))
            .env_remove("CI")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_BUILD_TARGET_DIR")
            .env("NO_COLOR", "1")
            .envs(env.iter().copied())
            .stdin(end(&side))
            .stdout(end(&side))
            .stderr(end(&side))
            .spawn()
            .unwrap();
        let keyboard = File::from(keyboard);
        let mut screen = keyboard.try_clone().unwrap();
        let (send, receive) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4_096];
            // An error is how a terminal says that nobody is left on it.
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal {
            child,
            keyboard,
            screen: receive,
            seen: String::new(),
            read: 0,
        }
    }

    /// Waits for a prompt, and types a line.
    #[track_caller]
    fn answer(&mut self, prompt: &str, line: &str) {
        self.expect(prompt);
        self.keyboard.write_all(line.as_bytes()).unwrap();
        self.keyboard.write_all(b"\n").unwrap();
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        let started = Instant::now();
        loop {
            if let Some(at) = self.seen[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            assert!(started.elapsed() < PATIENCE, "no `{text}`:\n{}", self.seen);
            assert!(self.more(), "it ended before `{text}`:\n{}", self.seen);
        }
    }

    /// Whether there may be more to come.
    fn more(&mut self) -> bool {
        match self.screen.recv_timeout(Duration::from_secs(1)) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).replace('\r', "");
                self.seen.push_str(&text);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// How it ended, and all that was on the screen.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        let started = Instant::now();
        while self.more() && started.elapsed() < PATIENCE {}
        (status, self.seen)
    }
}

const AGREED: &str = "\
format = 1

# pools
[[allow]]
stack = ['main', 'old::pool'] # the first
objects = 1.0
bytes = 8.0
law = 'linear'
";

/// Two stacks that grow, an allowance that nothing uses, and another scenario.
fn grown() -> Project {
    let project = Project::new();
    project.write("baselines/lru_churn.toml", AGREED);
    let mut one = regressed("r1", "lru_churn", "main lru::fill lru::put", RATE);
    let grew = |frames: &str| StackGrowth {
        stack: FoldedStack(frames.split(' ').map(str::to_owned).collect()),
        before: Tally::default(),
        after: Tally {
            objects: 1_024,
            bytes: 98_304,
        },
        rate: RATE,
        error: None,
    };
    one.growth = vec![grew("main lru::fill lru::put"), grew("main index::add")];
    one.findings.push(finding("main index::add", RATE));
    one.findings.push(Finding {
        verdict: Verdict::Improved,
        frames: Vec::new(),
        rate: Rate::default(),
        standing: Standing::Stale,
        levels: Vec::new(),
        ..finding("main old::pool", RATE)
    });
    project.leave(&one, 0);
    project.leave(&regressed("r1", "http::echo", "main echo", RATE), 0);
    project
}

const CHOICE: &str = "?] ";

#[test]
fn one_finding_at_a_time() {
    let project = grown();
    let mut terminal = Terminal::open(&project, &[], &[]);
    terminal.answer(CHOICE, "r");
    terminal.answer("grow: ", "a cache, by design");
    terminal.answer(CHOICE, "a");
    terminal.answer(CHOICE, "s");
    terminal.answer(CHOICE, "a");
    terminal.expect("4 of 4: http::echo");
    // Nothing is written before the last answer.
    assert_eq!(project.read("baselines/lru_churn.toml"), AGREED);
    terminal.answer(CHOICE, "s");
    let (status, seen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{seen}");
    let (first, rest) = seen.split_once("2 of 4").unwrap();
    assert_snapshot!(first, @"
    1 of 4: lru_churn
      grew +192 B per iteration
      100 %    +192 B ████████ main
       50 %     +96 B ████     ├ index::add
       50 %     +96 B ████     └ lru::fill
                                 › lru::put

      +96 B  +1.00 objects per iteration, linear     allowed 0 B     new
        lru::put                                      src/lib.rs:7
        └ lru::fill                                   src/lib.rs:7
          └ main                                      src/lib.rs:7

    allow this growth? [a,s,r,i,e,q,?] r
    why it may grow: a cache, by design
    allow this growth? [a,s,r,i,e,q,?] a
    ");
    let (_, third) = rest.split_once("3 of 4").unwrap();
    let (third, _) = third.split_once("4 of 4").unwrap();
    assert_snapshot!(third, @": lru_churn
  no longer grows                                allowed 0 B     stale
    old::pool
    └ main

take the allowance out? [a,s,q,?] a
");
    assert!(
        seen.ends_with("lru_churn: accepted 1 allowance, removed 1; commit the file\n"),
        "{seen}"
    );
    let written = project.read("baselines/lru_churn.toml");
    let (above, allowance) = written.split_once("[[allow]]").unwrap();
    assert!(above.contains("[measured]"), "{written}");
    assert_snapshot!(allowance, @r#"

    stack = [
        "main",
        "lru::fill",
        "lru::put",
    ]
    objects = 1.0
    bytes = 96.0
    law = "linear"
    reason = "a cache, by design"
    "#);
    assert!(
        !written.contains("index::add") && !written.contains("old::pool"),
        "{written}"
    );
    assert!(!project.exists("baselines/http++echo.toml"));

    // What was accepted since the run is not asked about again.
    let mut terminal = Terminal::open(&project, &["lru_churn", "--dry-run"], &[("CI", "1")]);
    terminal.answer("1 of 1: lru_churn", "a");
    let (status, seen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{seen}");
    assert!(
        seen.ends_with("lru_churn: would accept 1 allowance\n"),
        "{seen}"
    );
    assert_eq!(project.read("baselines/lru_churn.toml"), written);
}

#[test]
fn quitting_asks() {
    let project = grown();
    for (answer, is_written) in [("n", false), ("y", true)] {
        let mut terminal = Terminal::open(&project, &[], &[]);
        terminal.answer(CHOICE, "a");
        terminal.answer(CHOICE, "q");
        terminal.answer("[y,n] ", answer);
        let (status, seen) = terminal.end();
        assert_eq!(status.code(), Some(0), "{seen}");
        let written = project.read("baselines/lru_churn.toml");
        assert_eq!(written != AGREED, is_written, "{seen}");
    }
}

#[test]
fn what_ends_it_leaves_all_as_it_was() {
    let project = grown();
    let mut terminal = Terminal::open(&project, &[], &[]);
    terminal.answer(CHOICE, "a");
    terminal.expect(CHOICE);
    // The end of the input, as Ctrl-D types it.
    terminal.keyboard.write_all(&[4]).unwrap();
    let (status, seen) = terminal.end();
    assert_eq!(status.code(), Some(130), "{seen}");
    assert!(
        seen.contains("error: nothing was written: the input ended"),
        "{seen}"
    );
    assert_eq!(project.read("baselines/lru_churn.toml"), AGREED);

    let mut terminal = Terminal::open(&project, &[], &[]);
    terminal.answer(CHOICE, "a");
    terminal.expect(CHOICE);
    // Whoever runs the tests in the background may have Ctrl-C ignored.
    let pid = Pid::from_child(&terminal.child);
    kill_process(pid, Signal::TERM).unwrap();
    let (status, seen) = terminal.end();
    assert!(!status.success(), "{seen}");
    assert_eq!(project.read("baselines/lru_churn.toml"), AGREED);
    let left = std::fs::read_dir(project.path("baselines"))
        .unwrap()
        .count();
    assert_eq!(left, 1);
}

#[test]
fn a_reason_that_is_required() {
    let project = grown();
    project.write("plimsoll.toml", "require-reason = true\n");
    let mut terminal = Terminal::open(&project, &["http::echo"], &[]);
    terminal.answer(CHOICE, "a");
    terminal.expect("plimsoll.toml has `require-reason = true`");
    terminal.answer("grow: ", "it \u{1b}[A echoes");
    terminal.expect("expected one line of text");
    terminal.answer("grow: ", "it echoes");
    terminal.answer(CHOICE, "a");
    let (status, seen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{seen}");
    assert!(
        project
            .read("baselines/http++echo.toml")
            .contains("reason = \"it echoes\"")
    );
}

#[test]
fn an_allowance_that_has_expired() {
    let project = Project::new();
    let mut expired: Report = regressed("r1", "lru_churn", "main", RATE);
    expired.findings[0].standing = Standing::Expired;
    project.write(
        "baselines/lru_churn.toml",
        "format = 1\n[[allow]]\nstack = ['main']\nobjects = 1.0\nbytes = 96.0\nlaw = 'linear'\n\
         expires = 2001-01-01\n",
    );
    project.leave(&expired, 0);
    let mut terminal = Terminal::open(&project, &[], &[]);
    terminal.answer(CHOICE, "a");
    terminal.answer("never): ", "9999-01-01");
    terminal.answer(CHOICE, "a");
    let (status, seen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{seen}");
    assert!(
        project
            .read("baselines/lru_churn.toml")
            .ends_with("expires = 9999-01-01\n")
    );
}

#[test]
fn without_a_terminal() {
    let project = grown();
    assert_snapshot!(project.plimsoll(&["review", "lru_churn"]), @"
    --- 2
    error: cannot ask: there is no terminal
      expected standard input and output to be a terminal
      hint: `plimsoll accept lru_churn --dry-run` shows what can be accepted, `plimsoll accept lru_churn` accepts all of it
    ");
    assert_snapshot!(project.plimsoll_with(&["review"], &[("CI", "true")]), @"
    --- 2
    error: the variable CI is set: in CI nothing is accepted, because a person has to accept growth
      hint: run `cargo test --test leaks` and `plimsoll review` where you work, and commit what changes
    ");
}

#[test]
fn nothing_to_review() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let (status, seen) = Terminal::open(&project, &[], &[]).end();
    assert_eq!(
        (status.code(), seen.as_str()),
        (Some(0), "nothing to accept in the last run\n")
    );
}
