//! A process that outlives a front which is killed, to kill what that had
//! started.
//!
//! A subject dies with the front by itself, but what the *workload* started
//! would stay. So the front tells the guardian its subjects' process groups
//! over a pipe; when the pipe ends, the guardian kills those that are left.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Mutex;

use crate::sys;

/// The guardian's only argument.
pub(crate) const FLAG: &str = "--plimsoll-guardian";

/// The front's hold on its guardian.
#[derive(Debug)]
pub(crate) struct Guardian {
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
}

impl Guardian {
    pub(crate) fn start() -> std::io::Result<Guardian> {
        let mut child = Command::new("/proc/self/exe")
            .arg(FLAG)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What kills the front's group spares the guardian.
            .process_group(0)
            .spawn()?;
        Ok(Guardian {
            pipe: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
        })
    }

    /// A group that must not outlive the front.
    pub(crate) fn watch(&self, group: u32) {
        self.say(format_args!("+{group}\n"));
    }

    /// A group that is gone; its number may be another's soon.
    pub(crate) fn forget(&self, group: u32) {
        self.say(format_args!("-{group}\n"));
    }

    fn say(&self, line: std::fmt::Arguments<'_>) {
        let Ok(mut pipe) = self.pipe.lock() else {
            return;
        };
        if let Some(pipe) = pipe.as_mut() {
            // A guardian that was killed guards nothing; the run goes on.
            let _ = pipe.write_all(line.to_string().as_bytes());
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        if let Ok(mut pipe) = self.pipe.lock() {
            pipe.take();
        }
        if let Ok(mut child) = self.child.lock() {
            let _ = child.wait();
        }
    }
}

/// Runs as the guardian.
pub(crate) fn run() -> ExitCode {
    let mut groups = BTreeSet::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let number = |digits: &str| digits.parse::<u32>().ok();
        if let Some(group) = line.strip_prefix('+').and_then(number) {
            groups.insert(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(number) {
            groups.remove(&group);
        }
    }
    for group in groups {
        sys::kill_group(group);
    }
    ExitCode::SUCCESS
}
