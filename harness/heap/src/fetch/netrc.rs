//! Passwords by host, as curl and ftp read them.
//!
//! ```text
//! machine db.example.com login reader password "s3 cret"
//! default login anonymous password guest
//! ```
//!
//! The first entry of the host or of `default` counts; if a login is given, the first of them with
//! that login. `macdef` up to an empty line, `account`, and lines that begin with `#` are skipped.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use anyhow::Context;

use plimsoll_desk::project::shown;
use plimsoll_desk::status::Refused;

/// The most bytes that are read. The limit is curl's.
const MAX_SIZE: u64 = 128 << 10;

/// A login and its password. It is not `Debug`, so that no message can contain it.
#[derive(Clone, Default)]
pub(super) struct Entry {
    pub(super) login: String,
    pub(super) password: String,
}

/// Returns the entry for a host. Fails if a file that was named does not exist. The default
/// file need not exist.
pub(super) fn entry(
    path: &Path,
    is_named: bool,
    host: &str,
    login: Option<&str>,
) -> anyhow::Result<Option<Entry>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == ErrorKind::NotFound && !is_named => return Ok(None),
        Err(err) => return Err(err).with_context(|| shown(path).to_string()),
    };
    let mut text = Vec::new();
    file.by_ref()
        .take(MAX_SIZE)
        .read_to_end(&mut text)
        .with_context(|| shown(path).to_string())?;
    let entry = find(&String::from_utf8_lossy(&text), host, login);
    if entry.is_some() && is_open_to_others(&file).unwrap_or(true) {
        // If others can read the file, they may also be able to write it.
        return Err(Refused::usage(format!(
            "{}: expected a file that its owner alone can read, found that others can\n  hint: \
             chmod 600",
            shown(path)
        )));
    }
    Ok(entry)
}

/// Tells whether users outside of the file's group can use it. A group may share a secret.
#[cfg(unix)]
fn is_open_to_others(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &File) -> io::Result<bool> {
    Ok(false)
}

fn find(text: &str, host: &str, login: Option<&str>) -> Option<Entry> {
    let mut entry: Option<Entry> = None;
    let fits = |entry: &Entry| login.is_none_or(|login| entry.login == login);
    let mut words = Words { rest: text };
    while let Some(word) = words.next() {
        match word.as_str() {
            "machine" | "default" => {
                if let Some(found) = entry.take_if(|entry| fits(entry)) {
                    return Some(found);
                }
                let is_of_host = word == "default"
                    || words
                        .next()
                        .is_some_and(|name| name.eq_ignore_ascii_case(host));
                entry = is_of_host.then(Entry::default);
            }
            "macdef" => words.skip_macro(),
            "login" | "password" | "account" => {
                let value = words.next().unwrap_or_default();
                match (word.as_str(), &mut entry) {
                    ("login", Some(entry)) => entry.login = value,
                    ("password", Some(entry)) => entry.password = value,
                    _ => (),
                }
            }
            _ => (),
        }
    }
    entry.filter(fits)
}

/// An iterator over words that are separated by white space, or quoted.
struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    fn skip_macro(&mut self) {
        self.rest = match self.rest.split_once("\n\n") {
            Some((_, rest)) => rest,
            None => "",
        };
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        while self.rest.starts_with('#') {
            let rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            self.rest = rest.trim_start();
        }
        if self.rest.is_empty() {
            return None;
        }
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find(char::is_whitespace);
            let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            return Some(word.to_owned());
        };
        let mut word = String::new();
        let mut chars = quoted.chars();
        while let Some(char) = chars.next() {
            match char {
                '"' => break,
                '\\' => word.extend(chars.next().map(|escaped| match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    other => other,
                })),
                other => word.push(other),
            }
        }
        self.rest = chars.as_str();
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# machine db.example.com login wrong password wrong
machine other.example.com
    login other password secret
macdef init
machine db.example.com login macro password macro

machine db.example.com login reader account a password \"with \\\"quotes\\\" and spaces\"
machine db.example.com login writer password pen
default login anonymous password guest";

    #[track_caller]
    fn check(host: &str, login: Option<&str>, expected: Option<(&str, &str)>) {
        let found = find(FILE, host, login).map(|entry| (entry.login, entry.password));
        let expected = expected.map(|(login, password)| (login.to_owned(), password.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn entries() {
        let reader = ("reader", "with \"quotes\" and spaces");
        check("DB.example.com", None, Some(reader));
        check("db.example.com", Some("writer"), Some(("writer", "pen")));
        check("other.example.com", None, Some(("other", "secret")));
        check("else.example.com", None, Some(("anonymous", "guest")));
        check("else.example.com", Some("writer"), None);
    }

    #[test]
    fn what_is_cut_short_is_no_panic() {
        for end in 0..FILE.len() {
            let _ = find(&FILE[..end], "db.example.com", None);
        }
    }
}
