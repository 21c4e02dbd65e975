//! The subject's end of the protocol: lines of text over a socket.

use std::ffi::CString;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use crate::sys;

/// The longest line, in bytes: a word and a path.
pub(crate) const MAX_LINE: usize = 8 << 10;

/// A command from the front.
#[derive(Debug)]
pub(crate) enum Command {
    /// List the scenarios.
    List,
    /// Set the workload of this scenario up.
    SetUp(String),
    /// Run the workload until it has done this many iterations in total.
    Run(u64),
    /// Switch the profiler on or off.
    Profile(bool),
    /// Dump the heap to a file.
    Dump(CString),
    /// Keep a table of the objects that are alive.
    Objects,
    /// Stop all threads for ever, and let the front read this process's memory.
    Stop,
    /// Drop the workload, and exit.
    End,
}

impl Command {
    fn parse(line: &str) -> Option<Command> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "list" => Some(Command::List),
            "setup" => Some(Command::SetUp(rest.to_owned())),
            "run" => rest.parse().ok().map(Command::Run),
            "profile" => Some(Command::Profile(rest == "on")),
            "dump" => CString::new(rest).ok().map(Command::Dump),
            "objects" => Some(Command::Objects),
            "stop" => Some(Command::Stop),
            "end" => Some(Command::End),
            _ => None,
        }
    }
}

/// The socket. Reading and writing do not allocate, except for the texts in commands.
#[derive(Debug)]
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

    /// Reads the next command. Returns `None` if the front is gone or the line is not a
    /// command.
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

    /// Writes an answer, as one line. Control characters become spaces, and a line that is too
    /// long is cut.
    pub(crate) fn answer(&mut self, answer: fmt::Arguments<'_>) -> io::Result<()> {
        self.stream.write_all(Line::of(answer).bytes())
    }

    /// Writes an answer, and sends open files with it.
    pub(crate) fn answer_with(
        &mut self,
        answer: fmt::Arguments<'_>,
        files: [&File; 2],
    ) -> io::Result<()> {
        let line = Line::of(answer);
        let files = files.map(File::as_raw_fd);
        sys::send_with_files(self.stream.as_raw_fd(), line.bytes(), files)
    }
}

struct Line {
    bytes: [u8; MAX_LINE],
    length: usize,
}

impl Line {
    fn of(answer: fmt::Arguments<'_>) -> Line {
        let mut line = Line {
            bytes: [0; MAX_LINE],
            length: 0,
        };
        // The only error is a full line; the line is cut then.
        let _ = line.write_fmt(answer);
        line.bytes[line.length] = b'\n';
        line
    }

    /// Returns the line, with its newline.
    fn bytes(&self) -> &[u8] {
        &self.bytes[..=self.length]
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let character = match character.is_control() {
                true => ' ',
                false => character,
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
