//! Handles Ctrl-C, and ends the processes that were started.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The longest pause between two checks of a child process.
const PERIOD: Duration = Duration::from_millis(20);
/// How long a process that was asked to end may take.
const GRACE: Duration = Duration::from_secs(5);
/// The same for a command that may have to end processes of its own, which have that time.
const LONG_GRACE: Duration = Duration::from_secs(15);

/// Whether somebody asked this process to end.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

/// An error: a signal asked this process to end, and the work that was under way has ended.
#[derive(Debug)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Interrupted {}

/// How a child process ended.
#[derive(Debug)]
pub enum Ended {
    Exited(ExitStatus),
    TimedOut,
}

impl Interrupt {
    /// Catches SIGINT, SIGTERM and, on Unix, SIGHUP: from now on they do not end this process at
    /// once.
    pub fn listen() -> io::Result<Interrupt> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            #[cfg(unix)]
            signal_hook::consts::SIGHUP,
        ] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Interrupt(flag))
    }

    pub fn check(&self) -> Result<(), Interrupted> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Interrupted),
            false => Ok(()),
        }
    }

    /// Runs a command until it ends, until the timeout, or until an interrupt. In the last two
    /// cases, all processes of its group are ended, too.
    pub fn run(
        &self,
        command: &mut Command,
        timeout: Duration,
        mut meanwhile: impl FnMut(),
    ) -> anyhow::Result<Ended> {
        self.check()?;
        let mut child = in_own_group(command).spawn()?;
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Ended::Exited(status));
            }
            if self.check().is_err() {
                end_within(&mut child, LONG_GRACE);
                return Err(Interrupted.into());
            }
            if started.elapsed() > timeout {
                end_within(&mut child, LONG_GRACE);
                return Ok(Ended::TimedOut);
            }
            meanwhile();
            // A short pause at first: most commands of git end within milliseconds.
            std::thread::sleep(PERIOD.min(started.elapsed() / 4));
        }
    }
}

/// Gives a command a process group of its own, so that the whole group can be ended.
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

/// Ends a child process and its group. It asks them to end, waits, and then kills them.
pub(crate) fn end(child: &mut Child) {
    end_within(child, GRACE);
}

fn end_within(child: &mut Child, grace: Duration) {
    signal(child, false);
    let asked = Instant::now();
    while asked.elapsed() < grace {
        // A shell ends at once, and what it started may still be writing its files.
        let is_there = matches!(child.try_wait(), Ok(None)) || has_group(child);
        if !is_there {
            break;
        }
        std::thread::sleep(PERIOD);
    }
    signal(child, true);
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(unix)]
fn group(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Tells whether a process of the child's group still runs.
#[cfg(unix)]
fn has_group(child: &Child) -> bool {
    group(child).is_some_and(|group| test_kill_process_group(group).is_ok())
}

#[cfg(not(unix))]
fn has_group(_: &Child) -> bool {
    false
}

#[cfg(unix)]
fn signal(child: &Child, at_once: bool) {
    let signal = if at_once { Signal::KILL } else { Signal::TERM };
    if let Some(group) = group(child) {
        let _ = kill_process_group(group, signal);
    }
}

#[cfg(not(unix))]
fn signal(_: &Child, _: bool) {}
