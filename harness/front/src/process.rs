//! Starts a subject, talks to it, and kills everything that is left of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use plimsoll_core::layout;
use plimsoll_core::report::Failure;
use plimsoll_core::settings::Unwinder;

use crate::guardian::{Guardian, Mark};
use crate::observe;
use crate::plan::Plan;
use crate::program::Program;
use crate::protocol::{CONFIGURATION, Command, FLAG, Greeting, MAX_LINE, PROGRESS_BYTES};
use crate::sys;

/// Interval between looks at a working subject.
const TICK: Duration = Duration::from_millis(10);

/// The size in bytes at which a subject's output file is cut.
const OUTPUT_LIMIT: u64 = 4 << 20;

/// Bytes of output that are kept when it is cut, and shown when a test fails. A backtrace takes
/// about ten thousand, and a panic in a destructor has three.
const OUTPUT_TAIL: u64 = 64 << 10;

/// How long dropping a workload may take.
const DROP_LIMIT: Duration = Duration::from_secs(2);

/// jemalloc's options in every subject; [`Plan`] adds more. `prof_unbias` is off: with it
/// jemalloc prints estimates, but the front needs the counts.
const PROFILING: &str = "prof:true,prof_active:true,prof_thread_active_init:true,\
prof_unbias:false,prof_gdump:false,prof_final:false,prof_leak:false,lg_prof_interval:-1";

/// A process that runs one scenario's workload.
pub(crate) struct Subject<'a> {
    child: Child,
    guardian: &'a Guardian,
    mark: Mark,
    stream: UnixStream,
    /// What the subject has said and nobody has read.
    said: Vec<u8>,
    output: PathBuf,
    captured: bool,
    progress: File,
    started: Instant,
    reaped: bool,
}

/// The outcome of a command.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The line that the subject answered.
    Line(String),
    /// The program is no subject, or one of another version, for this reason.
    Foreign(String),
    /// The subject has ended.
    Exited(ExitStatus),
    /// It did not answer in time.
    TimedOut,
    /// The subject closed the channel, and still runs.
    Closed,
    /// The subject has more memory resident than its limit.
    OutOfMemory,
    /// A process that the workload forked returned into the harness.
    Forked,
}

impl<'a> Subject<'a> {
    /// Starts a program as a subject; its files are in `folder`.
    pub(crate) fn start(
        program: &Program,
        folder: &Path,
        capture: bool,
        (plan, unwinder): (Plan, Unwinder),
        guardian: &'a Guardian,
    ) -> io::Result<Subject<'a>> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(TICK))?;
        let progress_path = folder.join(".progress");
        let progress = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&progress_path)?;
        progress.set_len(PROGRESS_BYTES)?;
        let output = folder.join(layout::OUTPUT);
        // The output is opened for appending, so that it can be cut while the subject writes to
        // it.
        fs::write(&output, "")?;
        let appended = || OpenOptions::new().append(true).open(&output);
        let mut configuration = format!("{PROFILING},{}", plan.options());
        if plan.parts_memory {
            // Mappings with other flags are not joined. jemalloc sets none if the system has the
            // same mode for all memory.
            let modes = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
            let is_never = modes.is_ok_and(|modes| modes.contains("[never]"));
            let mode = if is_never { "always" } else { "never" };
            configuration.push_str(&format!(",thp:{mode}"));
        }
        if let Some(more) = std::env::var_os("PLIMSOLL_MALLOC_CONF") {
            configuration.push(',');
            configuration.push_str(&more.to_string_lossy());
        }
        let mark = guardian.mark();
        let mut process = program.command();
        process
            .args([FLAG, &std::process::id().to_string()])
            .arg(&progress_path)
            .arg(unwinder.as_str())
            .envs(CONFIGURATION.map(|variable| (variable, &configuration)))
            .env(Mark::VARIABLE, &mark.0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .process_group(0);
        if capture {
            process.stdout(appended()?).stderr(appended()?);
        }
        let child = process.spawn()?;
        guardian.watch(child.id());
        Ok(Subject {
            child,
            guardian,
            mark,
            stream: ours,
            said: Vec::new(),
            output,
            captured: capture,
            progress,
            started: Instant::now(),
            reaped: false,
        })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Time since the subject was started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Iterations that the subject has done.
    pub(crate) fn iterations(&self) -> u64 {
        self.progress().0
    }

    /// Reads the iterations done, and the number of forked processes that returned into the
    /// harness.
    fn progress(&self) -> (u64, u64) {
        let number = |at| {
            let mut bytes = [0; 8];
            let read = self.progress.read_exact_at(&mut bytes, at);
            read.map_or(0, |()| u64::from_ne_bytes(bytes))
        };
        (number(0), number(8))
    }

    /// Sends a command, and waits for the answer.
    ///
    /// Kills the subject if it is older than `timeout`, or has more than `memory` bytes
    /// resident.
    pub(crate) fn ask(&mut self, command: &Command, timeout: Duration, memory: u64) -> Answer {
        let line = format!("{command}\n");
        if self.stream.write_all(line.as_bytes()).is_err() {
            return self.gone();
        }
        let mut answer = self.wait(timeout, memory);
        if self.progress().1 > 0 {
            self.reap();
            answer = Answer::Forked;
        }
        // Many short rungs print as much as a long one, and `wait` may not look during a short
        // one.
        self.cut_output();
        answer
    }

    /// Waits for what the subject says of itself after its start.
    ///
    /// # Errors
    ///
    /// What came instead; [`Answer::Foreign`] if the program speaks no protocol that is known.
    pub(crate) fn greeting(&mut self, timeout: Duration) -> Result<Greeting, Answer> {
        let mut greeting = Greeting::default();
        let line = |subject: &mut Self| match subject.wait(timeout, u64::MAX) {
            Answer::Line(line) => Ok(line),
            other => Err(other),
        };
        Greeting::check_hello(&line(self)?).map_err(Answer::Foreign)?;
        loop {
            let line = line(self)?;
            if line.trim_end() == Greeting::END {
                return Ok(greeting);
            }
            greeting.add(&line);
        }
    }

    /// Returns whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Has the subject stop all of its threads, and returns what it answers, with its memory and its
    /// mappings.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(crate) fn stop(&mut self, timeout: Duration) -> Result<(String, [File; 2]), String> {
        let gone = |error: io::Error| format!("the subject does not answer: {error}");
        let line = format!("{}\n", Command::Stop);
        self.stream.write_all(line.as_bytes()).map_err(gone)?;
        let end = Instant::now() + timeout;
        let (mut said, mut files) = (Vec::new(), None);
        while !said.ends_with(b"\n") && said.len() <= MAX_LINE {
            let mut part = [0; MAX_LINE];
            match sys::receive_with_files(self.stream.as_raw_fd(), &mut part) {
                Ok((0, _)) => return Err("the subject has ended".to_owned()),
                Ok((read, new)) => {
                    said.extend_from_slice(&part[..read]);
                    files = new.or(files);
                }
                Err(error) if is_none_yet(&error) && Instant::now() < end => {}
                Err(error) => return Err(gone(error)),
            }
        }
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        match (said.strip_prefix("stopped "), files) {
            (Some(numbers), Some(files)) => {
                // Whoever did not stop in time stops now.
                sys::pause(self.process());
                Ok((numbers.to_owned(), files))
            }
            (_, _) => Err(said.strip_prefix("unable ").unwrap_or(&said).to_owned()),
        }
    }

    /// Takes the next line of what the subject has said.
    fn line(&mut self) -> Option<String> {
        let end = self.said.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.said.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Waits for a line, with the limits of [`Self::ask`].
    pub(crate) fn wait(&mut self, timeout: Duration, memory: u64) -> Answer {
        let mut buffer = [0; MAX_LINE];
        let mut looked = Instant::now();
        loop {
            if let Some(line) = self.line() {
                return Answer::Line(line);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.gone(),
                Ok(read) => {
                    self.said.extend_from_slice(&buffer[..read]);
                    if self.said.len() > 2 * MAX_LINE {
                        return self.gone();
                    }
                }
                Err(error) if is_none_yet(&error) => {
                    // The end of the channel cannot show that the subject has ended: a process
                    // that the workload forked may hold the channel open.
                    if let Ok(Some(status)) = self.child.try_wait() {
                        self.reap();
                        return Answer::Exited(status);
                    }
                }
                Err(_) => return self.gone(),
            }
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                self.cut_output();
                // A subject that is busy reads no commands, so it cannot be stopped in a
                // gentler way. Another moment may take another gigabyte.
                if observe::resident(self.process()) > memory {
                    self.reap();
                    return Answer::OutOfMemory;
                }
                if self.age() > timeout {
                    self.reap();
                    return Answer::TimedOut;
                }
            }
        }
    }

    /// Waits for the end of a process that closed the channel, and kills it if it does not end.
    fn gone(&mut self) -> Answer {
        let status = self.wait_for_end();
        self.reap();
        status.map_or(Answer::Closed, Answer::Exited)
    }

    /// Waits until the process has ended, or [`DROP_LIMIT`] has passed.
    fn wait_for_end(&mut self) -> Option<ExitStatus> {
        let end = Instant::now() + DROP_LIMIT;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended.ok().flatten(),
            }
        }
    }

    /// Lets the subject drop its workload and exit. Returns how that failed, if it did.
    pub(crate) fn end(&mut self) -> Option<Failure> {
        let end = format!("{}\n", Command::End);
        if self.reaped || self.stream.write_all(end.as_bytes()).is_err() {
            return None;
        }
        let Some(status) = self.wait_for_end() else {
            // A slow drop is no failure: there may be much to free.
            self.reap();
            return None;
        };
        let said = self.said_last();
        self.reap();
        let panic = said.as_deref();
        let panic = panic.and_then(|said| said.strip_prefix("failed "));
        (!status.success()).then(|| Failure {
            what: match panic {
                Some(panic) => format!("dropping the workload {panic}"),
                None => format!("{}, while the workload was dropped", ending(status)),
            },
            iteration: Some(self.iterations()),
            output: self.output_tail(),
        })
    }

    /// Reads the answer that an ended process wrote without being asked, if there is one.
    fn said_last(&mut self) -> Option<String> {
        let mut said = Vec::new();
        // Processes that the workload started may hold the channel open, so the end may never
        // come.
        let _ = self.stream.set_nonblocking(true);
        let mut stream = (&mut self.stream).take(MAX_LINE as u64);
        let _ = stream.read_to_end(&mut said);
        self.said.extend(said);
        self.line()
    }

    /// Kills what is left of the subject, and all processes that its workload started.
    fn reap(&mut self) {
        if self.reaped {
            return;
        }
        self.reaped = true;
        sys::kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.mark.kill();
        self.guardian.forget(self.child.id());
        if let Some(folder) = self.output.parent() {
            let _ = fs::remove_file(folder.join(".progress"));
        }
    }

    /// Returns the end of the subject's output; empty if it was not captured.
    pub(crate) fn output_tail(&self) -> String {
        if !self.captured {
            return String::new();
        }
        let tail = read_tail(&self.output).unwrap_or_default();
        // What stands for a byte that is no text is longer than the byte.
        let text = String::from_utf8_lossy(&tail);
        let mut starts = text.len().saturating_sub(tail.len())..=text.len();
        let start = starts.find(|at| text.is_char_boundary(*at));
        text[start.unwrap_or(0)..].trim_end().to_owned()
    }

    fn cut_output(&self) {
        let long = fs::metadata(&self.output).is_ok_and(|file| file.len() > OUTPUT_LIMIT);
        if !self.captured || !long {
            return;
        }
        if let Ok(tail) = read_tail(&self.output)
            && let Ok(mut file) = OpenOptions::new().append(true).open(&self.output)
        {
            let _ = file.set_len(0);
            let _ = file.write_all(b"[plimsoll: output over 4 MiB was cut here]\n");
            let _ = file.write_all(&tail);
        }
    }
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        self.reap();
    }
}

/// Returns whether reading from the socket only found nothing yet.
fn is_none_yet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};

    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn read_tail(output: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(output)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_TAIL)))?;
    let mut tail = Vec::new();
    file.take(OUTPUT_TAIL).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Describes for people how a process ended.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(libc::SIGKILL), _) => {
            "killed by signal 9 (SIGKILL), as the kernel does when memory runs out".to_owned()
        }
        (Some(signal), _) => format!("killed by signal {signal} ({})", sys::signal_name(signal)),
        (None, Some(code)) => format!("exited early, with status {code}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// Returns the command that dumps to a path.
///
/// # Errors
///
/// If the path cannot be sent in a line of text.
pub(crate) fn dump_command(path: &Path) -> io::Result<Command> {
    // A newline ends a command, and the channel carries UTF-8.
    match path.to_str() {
        Some(path) if path.len() <= MAX_LINE / 2 && !path.contains('\n') => {
            Ok(Command::Dump(path.to_owned()))
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            "the path is too long, or has a newline or bytes that are not UTF-8 in it",
        )),
    }
}
