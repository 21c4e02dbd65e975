use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use plimsoll_text::escape;

use plimsoll_text::sink;

/// Standard output and standard error.
///
/// A reader that goes away (`plimsoll report | head`) is no failure: what is
/// left is not printed, and the work goes on.
#[derive(Debug)]
pub struct Out {
    color: bool,
    error_color: bool,
    closed: bool,
    /// Whether a runner of GitHub Actions reads all that is printed for commands.
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

/// Whether what was typed agrees.
pub fn is_yes(answer: &str) -> bool {
    let answer = answer.trim();
    ["y", "yes"]
        .iter()
        .any(|yes| answer.eq_ignore_ascii_case(yes))
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

    /// From here on, nothing but [`command`](Self::command) prints what a runner
    /// would obey.
    pub fn on_runner(&mut self, runner: bool) {
        self.runner = runner;
    }

    /// Prints a command for the runner, as it is.
    pub fn command(&mut self, line: &str) -> io::Result<()> {
        self.write(&format!("{line}\n"))
    }

    /// Prints text of others, of which a runner is told to obey nothing.
    pub fn quote(&mut self, text: &str) -> io::Result<()> {
        if !self.runner {
            return self.write(text);
        }
        // Whoever wrote the text cannot have known the word that ends it.
        let word = format!(
            "{:016x}{:016x}",
            RandomState::new().build_hasher().finish(),
            RandomState::new().build_hasher().finish()
        );
        self.write(&format!(
            "::stop-commands::{word}\n{}\n::{word}::\n",
            sink::log(text).trim_end()
        ))
    }

    /// Whether standard output is to have colours.
    pub fn color(&self) -> bool {
        self.color
    }

    /// How wide the terminal is that standard output is, if it is one.
    pub fn columns(&self) -> Option<usize> {
        #[cfg(unix)]
        if io::stdout().is_terminal() {
            let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
            return (size.ws_col > 0).then_some(usize::from(size.ws_col));
        }
        None
    }

    /// In a colour, if standard output is to have them.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
        painted(self.color, paint, text)
    }

    pub fn print(&mut self, text: &str) -> io::Result<()> {
        match self.runner {
            true => self.write(&sink::log(text)),
            false => self.write(text),
        }
    }

    /// Prints what is too long to be kept as a whole.
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

    /// Where a runner reads it, the warning stands on the run's page, whoever looks at the log.
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
        // Not `eprintln!`, which panics where standard error is closed.
        let _ = writeln!(io::stderr(), "{word} {message}");
    }
}

/// As <https://no-color.org> and <https://bixense.com/clicolors> have it.
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

/// Several lines of somebody's, for a terminal.
pub fn safe(text: &str) -> String {
    escape::terminal_lines(text)
}

/// Of one line, and of bearable length.
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
}
