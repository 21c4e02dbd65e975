//! Finds out how cargo would run programs: cargo starts this program in their place, which notes
//! the folder and the variables.
//!
//! cargo sets many variables for a program that it runs, some from configuration files. Only cargo
//! knows them all.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use plimsoll_desk::project::shown;

/// The first argument of the process that notes; the program follows.
const FLAG: &str = "--plimsoll-note";

/// The variable for the folder for notes.
const FOLDER: &str = "_PLIMSOLL_NOTES";

/// How cargo runs a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// Notes how cargo runs a program, if cargo started this process to find out. Returns the exit
/// status.
///
/// The tool calls this before anything else.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    (words.next()? == FLAG).then_some(())?;
    let folder = PathBuf::from(env::var_os(FOLDER)?);
    let note = Note {
        program: PathBuf::from(words.next()?),
        folder: env::current_dir().ok()?,
        variables: env::vars_os().collect(),
    };
    let name = format!("{}.note", std::process::id());
    Some(match fs::write(folder.join(name), note.bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// This program as cargo starts it in place of others.
pub(crate) struct InPlace {
    path: PathBuf,
    /// The folder of a link to it. cargo splits the runner's command line at spaces.
    _link: Option<tempfile::TempDir>,
}

impl InPlace {
    pub(crate) fn of_this_program() -> anyhow::Result<InPlace> {
        let path = env::current_exe().context("the path of this program")?;
        let is_plain = path
            .to_str()
            .is_some_and(|path| !path.contains(char::is_whitespace));
        if is_plain {
            return Ok(InPlace { path, _link: None });
        }
        let folder = tempfile::Builder::new().prefix("plimsoll-").tempdir()?;
        let link = folder.path().join("plimsoll");
        std::os::unix::fs::symlink(&path, &link).with_context(|| shown(&link))?;
        Ok(InPlace {
            path: link,
            _link: Some(folder),
        })
    }

    /// Returns the variables by which cargo starts it, and by which it knows the folder for notes.
    /// cargo's configuration may have a runner; a variable comes before that, whatever its type.
    pub(crate) fn variables(&self, host: &str, notes: &Path) -> [(String, OsString); 2] {
        let host = host.to_ascii_uppercase().replace(['-', '.'], "_");
        let mut runner = self.path.clone().into_os_string();
        runner.push(" ");
        runner.push(FLAG);
        [
            (format!("CARGO_TARGET_{host}_RUNNER"), runner),
            (FOLDER.to_owned(), notes.as_os_str().to_owned()),
        ]
    }
}

/// Reads all notes in a folder, in the order of programs.
pub(crate) fn read(folder: &Path) -> std::io::Result<Vec<Note>> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(folder)? {
        notes.extend(Note::parse(&fs::read(entry?.path())?));
    }
    notes.sort_by(|a, b| a.program.cmp(&b.program));
    Ok(notes)
}

impl Note {
    /// Texts that each end with a zero byte, which no path and no variable contains.
    fn bytes(&self) -> Vec<u8> {
        let Note {
            program,
            folder,
            variables,
        } = self;
        let variables = variables.iter().flat_map(|(name, value)| [name, value]);
        let texts = [program.as_os_str(), folder.as_os_str()].into_iter();
        let texts = texts.chain(variables.map(OsString::as_os_str));
        let mut bytes = Vec::new();
        for text in texts {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Note> {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let mut texts = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        Some(Note {
            program: text(texts.next()?).into(),
            folder: text(texts.next()?).into(),
            variables: std::iter::from_fn(|| Some((text(texts.next()?), text(texts.next()?))))
                .collect(),
        })
    }

    /// Returns the variables that cargo has set, beside those that this process has and those that
    /// were set for the note.
    pub(crate) fn set(&self) -> Vec<(OsString, OsString)> {
        let is_of_note = |name: &str| name == FOLDER || name.ends_with("_RUNNER");
        let is_new = |(name, value): &&(OsString, OsString)| {
            env::var_os(name).as_deref() != Some(value.as_os_str())
                && !name.to_str().is_some_and(is_of_note)
        };
        self.variables.iter().filter(is_new).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let note = Note {
            program: "/t/release/deps/parse-1f".into(),
            folder: "/w a/b".into(),
            variables: vec![
                ("A".into(), "1 = 2\n3".into()),
                ("EMPTY".into(), "".into()),
                ("B".into(), OsString::from_vec(vec![0xff])),
            ],
        };
        assert_eq!(Note::parse(&note.bytes()), Some(note));
        assert_eq!(Note::parse(b""), None);
    }
}
