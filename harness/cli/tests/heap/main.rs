//! `plimsoll show` and `plimsoll compare`, as somebody types them.

mod gates;
mod hostile;
mod inputs;
mod jeprof;
mod outputs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What one call came to.
struct Said {
    status: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(output: &Output) -> Said {
        Said {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    fn done(self) -> String {
        assert_eq!(self.status, 0, "{}", self.err);
        self.out
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn plimsoll(arguments: &[&str]) -> Said {
    Said::of(&command(arguments).output().unwrap())
}

/// The same, with something on standard input.
fn plimsoll_with(input: &[u8], arguments: &[&str]) -> Said {
    use std::io::Write;
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said::of(&output)
}

/// A folder with files in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file's path, with that in it.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// A dump with these stacks: `objects bytes address…`, a line each.
fn dump(interval: u64, stacks: &str) -> String {
    let (mut objects, mut bytes, mut body) = (0, 0, String::new());
    for line in stacks
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let mut words = line.split(' ');
        let mut number = || -> u64 { words.next().unwrap().parse().unwrap() };
        let (one, two) = (number(), number());
        objects += one;
        bytes += two;
        let addresses: Vec<&str> = words.collect();
        body.push_str(&format!(
            "@ {}\n  t*: {one}: {two} [0: 0]\n  t0: {one}: {two} [0: 0]\n",
            addresses.join(" ")
        ));
    }
    format!("heap_v2/{interval}\n  t*: {objects}: {bytes} [0: 0]\n{body}\nMAPPED_LIBRARIES:\n")
}

/// What other repositories of this project share, where it lies beside this one.
fn shared() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dumps");
    path.is_dir().then_some(path)
}

/// Says loudly that something was not tested.
fn skipped(what: &str, why: &str) {
    use std::io::Write;
    // Not `eprintln!`, which is shown of tests that fail.
    let _ = writeln!(std::io::stderr(), "!!! SKIPPED: {what}: {why}");
}
