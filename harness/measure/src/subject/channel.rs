//! The words between front and subject: a line each way, over a socket pair.

use std::ffi::CString;
use std::fmt::{self, Write as _};
use std::io::{self, Read, Write as _};
use std::os::unix::net::UnixStream;

/// The longest line, in bytes: a path, and a word before it.
pub(crate) const MAX_LINE: usize = 8 << 10;

/// What the front wants.
#[derive(Debug)]
pub(crate) enum Command {
    /// Set the workload up.
    SetUp,
    /// Run it up to that many iterations in all.
    Run(u64),
    /// Switch the profiler on or off.
    Profile(bool),
    /// Dump the heap to a file.
    Dump(CString),
    /// Drop the workload, and exit.
    End,
}

impl Command {
    fn parse(line: &str) -> Option<Command> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "setup" => Some(Command::SetUp),
            "run" => rest.parse().ok().map(Command::Run),
            "profile" => Some(Command::Profile(rest == "on")),
            "dump" => CString::new(rest).ok().map(Command::Dump),
            "end" => Some(Command::End),
            _ => None,
        }
    }
}

/// As the front sends it.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::SetUp => f.write_str("setup"),
            Command::Run(iterations) => write!(f, "run {iterations}"),
            Command::Profile(on) => write!(f, "profile {}", if *on { "on" } else { "off" }),
            Command::Dump(path) => write!(f, "dump {}", path.to_string_lossy()),
            Command::End => f.write_str("end"),
        }
    }
}

/// The subject's end: neither reads nor writes allocate.
pub(crate) struct Channel {
    stream: UnixStream,
    line: [u8; MAX_LINE],
}

impl Channel {
    pub(crate) fn new(stream: UnixStream) -> Channel {
        Channel {
            stream,
            line: [0; MAX_LINE],
        }
    }

    /// The next command; none where the front is gone or speaks otherwise.
    pub(crate) fn command(&mut self) -> Option<Command> {
        let mut length = 0;
        loop {
            let byte = self.line.get_mut(length..=length)?;
            match self.stream.read(byte) {
                Ok(0) => return None,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) => length += 1,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Command::parse(std::str::from_utf8(&self.line[..length]).ok()?)
    }

    /// Answers with one line; control characters become spaces, and what is too
    /// long is cut.
    pub(crate) fn answer(&mut self, answer: fmt::Arguments<'_>) -> io::Result<()> {
        let mut line = Line {
            bytes: [0; MAX_LINE],
            length: 0,
        };
        // A line that is full is cut, which is no failure.
        let _ = line.write_fmt(answer);
        line.bytes[line.length] = b'\n';
        self.stream.write_all(&line.bytes[..=line.length])
    }
}

struct Line {
    bytes: [u8; MAX_LINE],
    length: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let character = if character.is_control() {
                ' '
            } else {
                character
            };
            let end = self.length + character.len_utf8();
            if end >= MAX_LINE {
                return Err(fmt::Error);
            }
            character.encode_utf8(&mut self.bytes[self.length..end]);
            self.length = end;
        }
        Ok(())
    }
}
