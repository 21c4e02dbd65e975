//! `plimsoll review`, the real binary on a terminal of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use plimsoll_core::report::{Standing, Subject};
use rustix::process::{Pid, Signal, kill_process};

use crate::project::{
    self, BASELINE, PLIMSOLL, Project, RATE, finding, growth, regressed, stack, unused, within,
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
    /// A command line of `plimsoll`.
    fn open(project: &Project, line: &str) -> Terminal {
        let (keyboard, side) = project::terminal();
        let end = || Stdio::from(side.try_clone().unwrap());
        let mut command = project.command(PLIMSOLL);
        project::say(command.env("NO_COLOR", "1"), line.split(' '));
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
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

    /// The same, of one choice after the other.
    #[track_caller]
    fn choose(&mut self, letters: &[&str]) {
        for letter in letters {
            self.answer("?] ", letter);
        }
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

    /// Asserts how it ended, and gives all that was on the screen.
    #[track_caller]
    fn end(mut self, status: Option<i32>) -> String {
        let ended = self.child.wait().unwrap();
        let started = Instant::now();
        while self.more() && started.elapsed() < PATIENCE {}
        assert_eq!(ended.code(), status, "{}", self.seen);
        self.seen
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
    let stacks = ["main lru::fill lru::put", "main index::add"];
    let mut one = regressed("r1", "lru_churn", stacks[0], RATE);
    one.growth = stacks.map(|names| growth(names, RATE)).to_vec();
    one.findings.push(finding(stacks[1], RATE));
    let pool = Subject::Stack(stack("main old::pool"));
    one.findings.push(unused(pool, Standing::Stale));
    let project = Project::with(&[one, regressed("r1", "http::echo", "main echo", RATE)]);
    project.write(BASELINE, AGREED);
    project
}

#[test]
fn one_finding_at_a_time() {
    let project = grown();
    let mut terminal = Terminal::open(&project, "review");
    terminal.choose(&["r"]);
    terminal.answer("grow: ", "a cache, by design");
    terminal.choose(&["a", "s", "a"]);
    terminal.expect("4 of 4: http::echo");
    // Nothing is written before the last answer.
    assert_eq!(project.read(BASELINE), AGREED);
    terminal.choose(&["s"]);
    let seen = terminal.end(Some(0));
    let (first, rest) = seen.split_once("2 of 4").unwrap();
    let (tree, finding) = first.split_once("\n\n").unwrap();
    assert!(tree.ends_with("› lru::put"), "{tree}");
    let (_, asked) = finding.trim_end().rsplit_once("\n\n").unwrap();
    assert_snapshot!(asked, @"
    allow this growth? [a,s,r,i,e,q,?] r
    why it may grow: a cache, by design
    allow this growth? [a,s,r,i,e,q,?] a
    ");
    let (_, third) = rest.split_once("3 of 4: lru_churn\n").unwrap();
    let (third, last) = third.split_once("4 of 4").unwrap();
    assert_snapshot!(third, @"
      an allowance of 0 B per iteration is no longer needed
        old::pool
        └ main

    take the allowance out? [a,s,q,?] a
    ");
    let done = "lru_churn: accepted 1 allowance, removed 1; commit the file\n";
    assert!(last.ends_with(done), "{seen}");
    let written = project.read(BASELINE);
    assert_eq!(written.matches("[[allow]]").count(), 1, "{written}");
    for part in [
        "[measured]\n",
        "    \"lru::put\",\n",
        "reason = \"a cache, by design\"\n",
    ] {
        assert!(written.contains(part), "{written}");
    }
    assert!(!project.exists("baselines/http++echo.toml"));

    // What was accepted since the run is not asked about again.
    let mut terminal = Terminal::open(&project, "CI=1 review lru_churn --dry-run");
    terminal.answer("1 of 1: lru_churn", "a");
    let seen = terminal.end(Some(0));
    let done = "lru_churn: would accept 1 allowance\n";
    assert!(seen.ends_with(done), "{seen}");
    assert_eq!(project.read(BASELINE), written);
}

#[test]
fn quitting_asks() {
    let project = grown();
    for (answer, is_written) in [("n", false), ("y", true)] {
        let mut terminal = Terminal::open(&project, "review");
        terminal.choose(&["a", "q"]);
        terminal.answer("[y,n] ", answer);
        let seen = terminal.end(Some(0));
        let written = project.read(BASELINE);
        assert_eq!(written != AGREED, is_written, "{seen}");
    }
}

#[test]
fn what_ends_it_leaves_all_as_it_was() {
    let project = grown();
    let mut terminal = Terminal::open(&project, "review");
    terminal.choose(&["a"]);
    terminal.expect("?] ");
    // The end of the input, as Ctrl-D types it.
    terminal.keyboard.write_all(&[4]).unwrap();
    let seen = terminal.end(Some(130));
    let ended = "error: nothing was written: the input ended";
    assert!(seen.contains(ended), "{seen}");
    assert_eq!(project.read(BASELINE), AGREED);

    let mut terminal = Terminal::open(&project, "review");
    terminal.choose(&["a"]);
    terminal.expect("?] ");
    // Whoever runs the tests in the background may have Ctrl-C ignored.
    let pid = Pid::from_child(&terminal.child);
    kill_process(pid, Signal::TERM).unwrap();
    // By the signal, with no status of its own.
    terminal.end(None);
    assert_eq!(project.read(BASELINE), AGREED);
    assert_eq!(project.files("baselines").len(), 1);
}

#[test]
fn what_has_expired_and_needs_a_reason() {
    let project = Project::expired(RATE);
    project.write("plimsoll.toml", "require-reason = true\n");
    let mut terminal = Terminal::open(&project, "review");
    terminal.choose(&["a"]);
    terminal.answer("never): ", "9999-01-01");
    terminal.choose(&["a"]);
    terminal.expect("plimsoll.toml has `require-reason = true`");
    terminal.answer("grow: ", "it echoes");
    terminal.choose(&["a"]);
    terminal.end(Some(0));
    let written = project.read(BASELINE);
    for line in ["reason = \"it echoes\"\n", "expires = 9999-01-01\n"] {
        assert!(written.contains(line), "{written}");
    }
}

#[test]
fn without_a_terminal() {
    let project = grown();
    assert_snapshot!(project.typed("review lru_churn"), @"
    --- 2
    error: cannot ask: there is no terminal
      expected standard input and output to be a terminal
      hint: `plimsoll accept lru_churn --dry-run` shows what can be accepted, `plimsoll accept lru_churn` accepts all of it
    ");
    project.says(
        "CI=true review",
        2,
        &["and `plimsoll review` where you work"],
    );
}

#[test]
fn nothing_to_review() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let seen = Terminal::open(&project, "review").end(Some(0));
    assert_eq!(seen, "nothing to accept in the last run\n");
}
