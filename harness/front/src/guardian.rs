//! The guardian: a process that outlives a front that is killed, and then kills what the front
//! had started.
//!
//! A subject dies with the front, but processes that the *workload* started would stay. So the
//! front sends the process groups of its subjects to the guardian over a pipe. When the pipe
//! ends, the guardian kills the groups that are left, and every process that has the run's
//! [`Mark`] in its environment.

use std::io::{BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use crate::{order, sys};

/// The first argument of the guardian; the second is the run's mark.
const FLAG: &str = "--plimsoll-guardian";

/// The value of a variable that the processes of a workload inherit. It finds processes that
/// have left the workload's process group, as daemons do.
///
/// ```text
/// _PLIMSOLL_SUBJECT=RUN.        start of the value in all subjects of a run
/// _PLIMSOLL_SUBJECT=RUN.NUMBER. start of the value in one subject
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Mark(pub(crate) String);

impl Mark {
    pub(crate) const VARIABLE: &'static str = "_PLIMSOLL_SUBJECT";

    /// Returns a mark that no other run has. Runs in different containers may have the same
    /// process ID and see each other's processes, so the mark contains the time as well.
    fn of_this_run() -> Mark {
        let now = order::now().as_nanos();
        Mark(format!("{}-{now}.", std::process::id()))
    }

    fn of_subject(&self, number: u64) -> Mark {
        Mark(format!("{}{number}.", self.0))
    }

    /// Kills every process whose environment has this mark.
    ///
    /// The search is repeated, because such a process may start another one meanwhile.
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

/// Returns the processes that have a variable whose text, name and value, begins with `start`.
/// This process is left out.
fn processes_with(start: &[u8]) -> Vec<u32> {
    let has_it = |process: &u32| {
        // The environment of another user's process cannot be read. Such a process is not of
        // this run.
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

/// The front's handle of its guardian.
#[derive(Debug)]
pub(crate) struct Guardian {
    mark: Mark,
    /// Number of subjects so far.
    subjects: AtomicU64,
    pipe: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
}

impl Guardian {
    pub(crate) fn start() -> io::Result<Guardian> {
        let mark = Mark::of_this_run();
        let mut child = Command::new("/proc/self/exe")
            .args([FLAG, &mark.0])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the front's process group must not kill the guardian.
            .process_group(0)
            .spawn()?;
        Ok(Guardian {
            mark,
            subjects: AtomicU64::new(0),
            pipe: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
        })
    }

    /// Returns a mark for the environment of the next subject.
    pub(crate) fn mark(&self) -> Mark {
        let number = self.subjects.fetch_add(1, Ordering::Relaxed);
        self.mark.of_subject(number)
    }

    /// Makes the guardian kill a process group when the front ends.
    pub(crate) fn watch(&self, group: u32) {
        self.say(format_args!("+{group}\n"));
    }

    /// Tells the guardian that a process group is gone; its number may soon belong to another
    /// one.
    pub(crate) fn forget(&self, group: u32) {
        self.say(format_args!("-{group}\n"));
    }

    fn say(&self, line: std::fmt::Arguments<'_>) {
        if let Ok(mut pipe) = self.pipe.lock()
            && let Some(pipe) = pipe.as_mut()
        {
            // If the guardian was killed, the run goes on without one.
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

/// Runs this process as the guardian, if a front started it as one. Returns whether it did; then
/// the process has nothing else to do.
///
/// Every program that has a front calls this before anything else.
pub fn run_if_asked() -> bool {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some(FLAG) {
        return false;
    }
    let mark = words.next().map(Mark);
    let mut groups = Vec::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let number = |digits: &str| digits.parse::<u32>().ok();
        if let Some(group) = line.strip_prefix('+').and_then(number) {
            groups.push(group);
        } else if let Some(group) = line.strip_prefix('-').and_then(number) {
            groups.retain(|one| *one != group);
        }
    }
    for group in groups {
        sys::kill_group(group);
    }
    if let Some(mark) = mark {
        mark.kill();
    }
    true
}
