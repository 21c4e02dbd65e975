//! A process that outlives a front which is killed, to kill what that had
//! started.
//!
//! A subject dies with the front by itself, but what the *workload* started
//! would stay. So the front tells the guardian its subjects' process groups
//! over a pipe; when the pipe ends, the guardian kills those that are left, and
//! whatever has the run's [`Mark`] in its environment.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{fs, io};

use crate::sys;

/// The guardian's first argument; the second is the run's mark.
pub(crate) const FLAG: &str = "--plimsoll-guardian";

/// A variable that what a workload starts inherits: by it is found what has left the
/// workload's process group, as a daemon does.
///
/// ```text
/// _PLIMSOLL_SUBJECT=RUN.        of every subject of a run
/// _PLIMSOLL_SUBJECT=RUN.NUMBER. of one
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) const VARIABLE: &'static str = "_PLIMSOLL_SUBJECT";

    /// That no other run has, nor one in another container whose processes are seen here.
    fn of_this_run() -> Mark {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        Mark(format!("{}-{now}.", std::process::id()))
    }

    fn of_subject(&self, number: u64) -> Mark {
        Mark(format!("{}{number}.", self.0))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// Kills every process that was started with it, or from one that was. What such a
    /// process starts meanwhile is found by looking again.
    pub(crate) fn kill(&self) {
        const TIMES: usize = 8;
        let start = format!("{}={}", Self::VARIABLE, self.0);
        for _ in 0..TIMES {
            let marked = processes_with(start.as_bytes());
            if marked.is_empty() {
                break;
            }
            marked.into_iter().for_each(sys::kill);
        }
    }
}

/// The processes, without this one, in whose environment a variable starts so.
fn processes_with(start: &[u8]) -> Vec<u32> {
    let has_it = |process: &u32| {
        // Another user's is none of ours.
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable.starts_with(start))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| *process != std::process::id())
        .filter(has_it)
        .collect()
}

/// The front's hold on its guardian.
#[derive(Debug)]
pub(crate) struct Guardian {
    mark: Mark,
    /// Subjects so far.
    subjects: AtomicU64,
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
}

impl Guardian {
    pub(crate) fn start() -> io::Result<Guardian> {
        let mark = Mark::of_this_run();
        let mut child = Command::new("/proc/self/exe")
            .args([FLAG, mark.value()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What kills the front's group spares the guardian.
            .process_group(0)
            .spawn()?;
        Ok(Guardian {
            mark,
            subjects: AtomicU64::new(0),
            pipe: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
        })
    }

    /// For the next subject's environment.
    pub(crate) fn mark(&self) -> Mark {
        let number = self.subjects.fetch_add(1, Ordering::Relaxed);
        self.mark.of_subject(number)
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
    if let Some(mark) = std::env::args().nth(2) {
        Mark(mark).kill();
    }
    ExitCode::SUCCESS
}
