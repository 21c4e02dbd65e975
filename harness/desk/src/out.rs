use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use plimsoll_core::text::escape;

use plimsoll_core::text::sink;

/// Standard output and standard error.
///
/// A reader that closes the pipe early (`plimsoll report | head`) is not a failure: the rest
/// is not printed, and the work continues.
#[derive(Debug)]
pub struct Out {
    color: bool,
    error_color: bool,
    closed: bool,
    /// Whether a runner of GitHub Actions reads the output and obeys commands in it.
    runner: bool,
}

/// The longest message of a runner's command, in columns.
const LONGEST_COMMAND: usize = 4_000;

#[derive(Clone, Copy, Debug)]
pub enum Paint {
    Bold,
    Green,
    Red,
    Yellow,
}

/// Tells whether an answer that was typed means yes.
pub fn is_yes(answer: &str) -> bool {
    let answer = answer.trim();
    answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes")
}

impl Default for Out {
    fn default() -> Self {
        Self::new()
    }
}

impl Out {
    pub fn new() -> Self {
        Out {
            color: wants_color(io::stdout().is_terminal()),
            error_color: wants_color(io::stderr().is_terminal()),
            closed: false,
            runner: false,
        }
    }

    /// Sets whether a runner reads the output. If it does, only [`command`](Self::command)
    /// prints text that the runner obeys.
    pub fn on_runner(&mut self, runner: bool) {
        self.runner = runner;
    }

    /// Prints a command for the runner, unchanged.
    pub fn command(&mut self, line: &str) -> io::Result<()> {
        self.write(&format!("{line}\n"))
    }

    /// Prints text of others. A runner is told to obey no command in it.
    pub fn quote(&mut self, text: &str) -> io::Result<()> {
        if !self.runner {
            return self.write(text);
        }
        // The word is random, so the author of the text cannot have known the word that ends
        // it.
        let random = || RandomState::new().build_hasher().finish();
        let word = format!("{:016x}{:016x}", random(), random());
        self.write(&format!(
            "::stop-commands::{word}\n{}\n::{word}::\n",
            sink::log(text).trim_end()
        ))
    }

    /// Tells whether standard output is to have colours.
    pub fn color(&self) -> bool {
        self.color
    }

    /// Returns the width of the terminal, if standard output is one.
    pub fn columns(&self) -> Option<usize> {
        #[cfg(unix)]
        if io::stdout().is_terminal() {
            let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
            return (size.ws_col > 0).then_some(usize::from(size.ws_col));
        }
        None
    }

    /// Colours a text, if standard output is to have colours.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.color, paint, text)
    }

    pub fn print(&mut self, text: &str) -> io::Result<()> {
        match self.runner {
            true => self.write(&sink::log(text)),
            false => self.write(text),
        }
    }

    /// Prints output that is too long to be held in memory.
    pub fn print_with(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.runner {
            return self.write_with(write);
        }
        let mut text = Vec::new();
        write(&mut text)?;
        self.print(&String::from_utf8_lossy(&text))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.write_with(|stdout| stdout.write_all(text.as_bytes()))
    }

    fn write_with(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = BufWriter::new(io::stdout().lock());
        match write(&mut stdout).and_then(|()| stdout.flush()) {
            Err(err) if err.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(err) => Err(io::Error::new(
                err.kind(),
                format!("cannot write to standard output: {err}"),
            )),
            Ok(()) => Ok(()),
        }
    }

    pub fn error(&self, message: &str) {
        self.message(Paint::Red, "error", message);
    }

    /// Prints a warning. On a runner, the warning also stands on the page of the workflow run,
    /// where it is seen without opening the log.
    pub fn warning(&self, message: &str) {
        if self.runner {
            let data = sink::workflow_command_data(message, LONGEST_COMMAND);
            let _ = writeln!(io::stderr(), "::warning title=plimsoll::{data}");
            return;
        }
        self.message(Paint::Yellow, "warning", message);
    }

    pub fn note(&self, message: &str) {
        self.message(Paint::Bold, "note", message);
    }

    fn message(&self, paint: Paint, word: &str, message: &str) {
        let message = match self.runner {
            true => &sink::log(message),
            false => message,
        };
        let word = painted(self.error_color, paint, &format!("{word}:"));
        // Not `eprintln!`, which panics if standard error is closed.
        let _ = writeln!(io::stderr(), "{word} {message}");
    }
}

/// Follows <https://no-color.org> and <https://bixense.com/clicolors>.
fn wants_color(terminal: bool) -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced =
        env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_set("NO_COLOR") && (forced || terminal && !dumb)
}

fn painted(color: bool, paint: Paint, text: &str) -> String {
    if !color {
        return text.to_owned();
    }
    let code = match paint {
        Paint::Bold => "1",
        Paint::Green => "32",
        Paint::Red => "1;31",
        Paint::Yellow => "33",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Escapes text of several lines for a terminal.
pub fn safe(text: &str) -> String {
    escape::terminal_lines(text)
}

/// Escapes one line for a terminal, and cuts it to 200 characters.
pub fn safe_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let cut = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    escape::terminal(&cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(safe("a\n\u{1b}[31mb\t\u{202e}ü"), "a\nb  \\u{202e}ü");
        assert_eq!(safe_line("a\nb"), "a\\nb");
        assert_eq!(safe_line(&"ä".repeat(300)), format!("{}…", "ä".repeat(200)));
    }

    #[test]
    fn a_yes_in_any_case_is_one() {
        assert!(["y\n", "Yes\n", " YES \n"].into_iter().all(is_yes));
        assert!(!["yess\n", "no\n", "\n", ""].into_iter().any(is_yes));
    }
}
