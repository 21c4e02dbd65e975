//! Processes that run beside this one, such as a server and its load.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::interrupt;

/// A command line that runs in a process group of its own. It is ended, with all processes of the
/// group, when this is dropped.
#[derive(Debug)]
pub struct Beside {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Beside {
    /// Starts a command line with `sh`. What it prints goes to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or if there is no `sh`.
    pub fn start(line: &str, output: &Path) -> io::Result<Beside> {
        let out = File::create(output)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out);
        let child = interrupt::in_own_group(&mut command).spawn()?;
        Ok(Beside { child, ended: None })
    }

    /// Returns how it ended, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // What it started may still run, even if it has ended itself.
        interrupt::end(&mut self.child);
    }
}

/// Says how a process ended: `exit status 101`, `killed by signal 11`.
pub fn how(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}
