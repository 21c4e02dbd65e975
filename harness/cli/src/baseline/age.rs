//! The age of lines in a file, from `git blame`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::Path;

use plimsoll_core::baseline::Date;

use plimsoll_desk::git::Git;

/// The day of each line's commit, by the line's number from 1. A line that is not committed
/// has none, and neither has a line outside a repository.
#[derive(Debug, Default)]
pub(super) struct Ages(BTreeMap<usize, Date>);

impl Ages {
    pub(super) fn of(file: &Path) -> Ages {
        let (Some(dir), Some(name)) = (file.parent(), file.file_name()) else {
            return Ages::default();
        };
        let git = Git::in_dir(dir);
        let Ok(is_shallow) = git.is_shallow() else {
            return Ages::default();
        };
        let args = ["blame", "--line-porcelain", "--"].map(OsStr::new);
        match git.run(&[&args[..], &[name]].concat()) {
            Ok(output) if output.status.success() => Ages(parse(&output.stdout, is_shallow)),
            _ => Ages::default(),
        }
    }

    /// Returns the newest day of some lines, if the days of all of them are known.
    pub(super) fn newest(&self, lines: &[RangeInclusive<usize>]) -> Option<Date> {
        let lines = lines.iter().cloned().flatten();
        let days = lines
            .map(|line| self.0.get(&line))
            .collect::<Option<Vec<&Date>>>()?;
        days.into_iter().max().copied()
    }
}

/// Parses the output of `git blame --line-porcelain`. In a shallow clone, lines of a boundary
/// commit have no day, because they may be older.
fn parse(porcelain: &[u8], is_shallow: bool) -> BTreeMap<usize, Date> {
    let text = String::from_utf8_lossy(porcelain);
    let mut days = BTreeMap::new();
    let (mut number, mut day) = (None, None);
    for line in text.lines() {
        let mut words = line.split(' ');
        match (words.next().unwrap_or_default(), words.next()) {
            // The line of the file itself is the last of its own.
            (word, _) if word.starts_with('\t') => days.extend(number.zip(day)),
            ("committer-time", Some(seconds)) => {
                day = seconds.parse().ok().and_then(Date::from_unix_seconds);
            }
            ("boundary", None) if is_shallow => day = None,
            (id, Some(_)) if is_commit(id) => {
                let is_committed = id.bytes().any(|byte| byte != b'0');
                let word = words.next().filter(|_| is_committed);
                number = word.and_then(|number| number.parse().ok());
            }
            _ => {}
        }
    }
    days
}

fn is_commit(word: &str) -> bool {
    word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn blamed() -> String {
        let none = "0".repeat(40);
        format!(
            "{ONE} 1 1 2\nauthor a\ncommitter-time 951782400\nsummary {TWO} 9 9\nboundary\n\
             filename x.toml\n\tformat = 1\n{ONE} 2 2\ncommitter-time 951782400\nboundary\n\
             \tcommitter-time 0\n\
             {TWO} 7 3 1\ncommitter-time 1735689600\n\tx\n\
             {none} 4 4 1\ncommitter-time 1735689600\n\ty\n"
        )
    }

    #[test]
    fn of_lines() {
        let ages = Ages(parse(blamed().as_bytes(), false));
        let newest =
            |lines: &[RangeInclusive<usize>]| ages.newest(lines).map(|day| day.to_string());
        assert_eq!(newest(&[1..=2]).as_deref(), Some("2000-02-29"));
        assert_eq!(newest(&[1..=1, 3..=3]).as_deref(), Some("2025-01-01"));
        assert_eq!(newest(&[3..=4]), None);
        assert_eq!(newest(&[3..=3, 9..=9]), None);
    }

    #[test]
    fn of_a_shallow_clone() {
        let ages = Ages(parse(blamed().as_bytes(), true));
        assert_eq!(ages.newest(&[1..=1]), None);
        assert!(ages.newest(&[3..=3]).is_some());
    }
}
