//! Plays the front: starts this binary as a subject, and speaks the protocol of
//! `docs/protocol.md` with it.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{self, Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a subject may take for an answer, and to exit.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The iterations that a scenario is measured for.
const ITERATIONS: u64 = 3;

/// Runs a program for its list, or for the ladder of one scenario: `measure NAME`.
///
/// Returns what the subject answered, and among that what the program printed before each answer.
pub(crate) fn run(program: &str, asked: &str) -> String {
    let mut subject = Subject::start(program);
    subject.greeting();
    let expected = match asked.strip_prefix("measure ") {
        Some(scenario) => subject.measure(scenario),
        None => subject.list(),
    };
    subject.exit(expected)
}

/// Checks that each of these scenarios climbs to the end.
#[track_caller]
pub(crate) fn climbs<'a>(program: &str, scenarios: impl IntoIterator<Item = &'a str>) {
    for scenario in scenarios {
        let told = run(program, &format!("measure {scenario}"));
        let has_ended = told.ends_with("iteration 2: Ok(())\nend\n");
        assert!(has_ended, "{scenario}: {told}");
    }
}

struct Subject {
    process: Child,
    channel: BufReader<UnixStream>,
    /// Its standard output, from where the front has not read it yet.
    stdout: File,
    folder: TempDir,
    /// What [`run`] returns.
    told: String,
}

/// How a subject is expected to exit.
enum Expected {
    /// With a status of which nothing needs to be told.
    Status(i32),
    /// With status 0, because the front has said `end`.
    End,
    /// Not at all.
    Nothing,
}

impl Subject {
    fn start(program: &str) -> Subject {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        fs::write(path("progress"), [0; 16]).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(TIMEOUT)).unwrap();
        let process = Command::new(env::current_exe().unwrap())
            .args(["--plimsoll-subject", &process::id().to_string()])
            .arg(path("progress"))
            .arg("libgcc")
            .env(crate::PROGRAM, program)
            .stdin(OwnedFd::from(theirs))
            .stdout(File::create(path("stdout")).unwrap())
            .stderr(File::create(path("stderr")).unwrap())
            .spawn()
            .unwrap();
        Subject {
            process,
            channel: BufReader::new(ours),
            stdout: File::open(path("stdout")).unwrap(),
            folder,
            told: String::new(),
        }
    }

    fn greeting(&mut self) {
        let mut expected = "plimsoll-subject 1";
        loop {
            match self.answer() {
                None => self.give_up("no greeting"),
                Some(line) if line == "ready" => return,
                Some(line) => assert!(line.starts_with(expected), "{line}"),
            }
            expected = "";
        }
    }

    fn list(&mut self) -> Expected {
        let mut answer = self.ask("list");
        while let Some(line) = answer {
            match line.split_once(' ') {
                Some(("scenario", name)) => self.tell(&format!("scenario {name} | {name}")),
                Some(("title", title)) => {
                    let name = self.told.rfind('|').expect("a scenario");
                    self.told.truncate(name);
                    self.tell(&format!("| {title}"));
                }
                Some(("done", "0")) => {
                    self.tell("end of list");
                    return Expected::Status(0);
                }
                _ => return self.refused(&line),
            }
            answer = self.answer();
        }
        Expected::Nothing
    }

    fn measure(&mut self, scenario: &str) -> Expected {
        for done in 0..=ITERATIONS {
            let (command, means) = match done {
                0 => (format!("setup {scenario}"), "ready".to_owned()),
                _ => (
                    format!("run {done}"),
                    format!("iteration {}: Ok(())", done - 1),
                ),
            };
            match self.ask(&command) {
                Some(answer) if answer == format!("done {done}") => self.tell(&means),
                Some(answer) => return self.refused(&answer),
                None => return Expected::Nothing,
            }
        }
        match self.ask("end") {
            Some(answer) => self.refused(&answer),
            None => Expected::End,
        }
    }

    /// Tells an answer that is none of those that were hoped for.
    fn refused(&mut self, answer: &str) -> Expected {
        let Some(message) = answer.strip_prefix("failed ") else {
            self.give_up(answer);
        };
        // `panicked at FILE:LINE:COLUMN: MESSAGE`: the line changes with each edit.
        let panic = message.strip_prefix("panicked at ");
        match panic.and_then(|panic| panic.split_once(": ")) {
            Some((_, message)) => self.tell(&format!("panicked: {message}")),
            None => self.tell(&format!("failed: {message}")),
        }
        Expected::Status(101)
    }

    fn ask(&mut self, command: &str) -> Option<String> {
        // If the subject has ended, there is no answer either.
        let _ = self
            .channel
            .get_mut()
            .write_all(format!("{command}\n").as_bytes());
        self.answer()
    }

    /// Returns the next answer without spaces at its end, and tells what the program has printed
    /// before. Returns `None` if the subject has closed the channel.
    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.channel.read_line(&mut line) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                self.give_up("there is no answer")
            }
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        self.stdout.read_to_string(&mut self.told).unwrap();
        Some(line.trim_end().to_owned())
    }

    /// Waits until the subject has exited, and returns all that was told.
    fn exit(mut self, expected: Expected) -> String {
        let status = self.wait();
        self.stdout.read_to_string(&mut self.told).unwrap();
        match (expected, status.code()) {
            (Expected::Status(expected), Some(code)) if code == expected => {}
            (Expected::End, Some(0)) => self.tell("end"),
            _ => {
                self.tell(&status.to_string());
                self.told += &self.stderr();
            }
        }
        std::mem::take(&mut self.told)
    }

    fn wait(&mut self) -> ExitStatus {
        let since = Instant::now();
        while since.elapsed() < TIMEOUT {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.give_up("it does not exit")
    }

    fn tell(&mut self, line: &str) {
        self.told.push_str(line);
        self.told.push('\n');
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    fn give_up(&self, what: &str) -> ! {
        panic!("{what}, after\n{}{}", self.told, self.stderr());
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
