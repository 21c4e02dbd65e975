//! Shows on standard error what the command is doing.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Prints lines that stay and, on a terminal, one line below them that changes.
#[derive(Debug)]
pub struct Progress {
    terminal: bool,
    doing: String,
    since: Instant,
    shown: Option<Instant>,
    /// The changing line is not shown before a task has taken this long.
    from: Duration,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    pub fn new() -> Progress {
        Progress {
            terminal: io::stderr().is_terminal(),
            doing: String::new(),
            since: Instant::now(),
            shown: None,
            from: Duration::ZERO,
        }
    }

    /// Returns a `Progress` that shows nothing about tasks that take less than a second.
    pub fn late() -> Progress {
        let mut progress = Progress::new();
        progress.from = Duration::from_secs(1);
        progress
    }

    /// Prints a line that stays.
    pub fn note(&mut self, line: &str) {
        self.clear();
        // If standard error is closed, the failure cannot be reported anywhere.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Sets the task that is under way.
    pub fn doing(&mut self, what: &str) {
        self.doing = what.to_owned();
        self.since = Instant::now();
        self.tick();
    }

    /// Shows the task that is under way, and how long it has taken.
    pub fn tick(&mut self) {
        let recent = |shown: Instant| shown.elapsed() < Duration::from_millis(500);
        let is_early = self.since.elapsed() < self.from;
        if !self.terminal || is_early || self.doing.is_empty() || self.shown.is_some_and(recent) {
            return;
        }
        self.shown = Some(Instant::now());
        let seconds = self.since.elapsed().as_secs();
        let text = format!("{} … {seconds} s", self.doing);
        let text: String = text.chars().take(78).collect();
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
        let _ = io::stderr().flush();
    }

    /// Runs a task that does not report its own progress.
    pub fn during<T>(&mut self, what: &str, work: impl FnOnce() -> T) -> T {
        self.doing(what);
        if !self.terminal {
            return work();
        }
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let pause = Duration::from_millis(250);
                while wait.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    self.tick();
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    pub fn clear(&mut self) {
        if self.terminal && self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
            let _ = io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Formats a duration for people: `40 s`, `3 min`, `1 h 20 min`.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..90 => format!("{} s", seconds.max(1)),
        90..5400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
