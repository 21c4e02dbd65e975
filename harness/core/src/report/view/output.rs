//! The part of a workload's output that is shown: its beginning, its panic and its end.

use std::fmt;

use crate::report::units::plural;

/// Lines of the beginning, and of the end, that are shown whatever else is.
const ENDS: usize = 5;

/// A line of the output, or a run of lines that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excerpt<'a> {
    /// A line without its line feed.
    Line(&'a str),
    /// So many lines are left out here.
    LeftOut(usize),
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Excerpt::Line(line) => f.write_str(line),
            Excerpt::LeftOut(n) => {
                let lines = plural(*n as u64, "line left out", "lines left out");
                write!(f, "… {lines}")
            }
        }
    }
}

/// Returns the shown lines of an output as one text.
pub fn shortened(output: &str, most: usize) -> String {
    let parts = excerpt(output, most).into_iter();
    parts
        .map(|part| part.to_string())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns at most `most` lines of an output, and where lines are left out. The message of a
/// panic or an error and the frames below it say more than the end, which belongs to the runtime.
pub(crate) fn excerpt(output: &str, most: usize) -> Vec<Excerpt<'_>> {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let n = lines.len();
    let most = most.max(2 * ENDS);
    let panic = cause(&lines);
    let middle = panic.unwrap_or(n).min(n.saturating_sub(most - ENDS));
    let middle = middle..middle.saturating_add(most - 2 * ENDS).min(n);
    let is_shown =
        |place: usize| n <= most || place < ENDS || place + ENDS >= n || middle.contains(&place);
    let mut shown = Vec::new();
    for (place, line) in lines.into_iter().enumerate() {
        match (is_shown(place), shown.last_mut()) {
            (true, _) => shown.push(Excerpt::Line(line)),
            (false, Some(Excerpt::LeftOut(n))) => *n += 1,
            (false, _) => shown.push(Excerpt::LeftOut(1)),
        }
    }
    shown
}

/// Returns the line at which the message of the last panic begins. If that panic is core's, over
/// one that may not go on, it is the line of the one that began it.
fn cause(lines: &[&str]) -> Option<usize> {
    let panics = (0..lines.len()).filter(|at| is_panic(lines[*at]));
    let panics: Vec<usize> = panics.collect();
    let last = *panics.last()?;
    let before = match lines.get(last + 1).copied() {
        // After the first panic, a destructor's own.
        Some("panic in a destructor during cleanup") => 2,
        Some("panic in a function that cannot unwind") => 1,
        _ => 0,
    };
    panics.iter().rev().nth(before).or(panics.first()).copied()
}

/// Returns whether a line begins the message of a panic, or of an error that an iteration
/// returned.
fn is_panic(line: &str) -> bool {
    line.contains("panicked at ") || line.starts_with("returned an error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str, most: usize) -> String {
        let parts = excerpt(output, most).into_iter().map(|part| match part {
            Excerpt::Line(line) => line.to_owned(),
            Excerpt::LeftOut(n) => format!("({n})"),
        });
        parts.collect::<Vec<_>>().join(" ")
    }

    fn lines(range: std::ops::Range<usize>) -> String {
        range.map(|n| format!("{n}\n")).collect()
    }

    #[test]
    fn beginning_panic_and_end() {
        assert_eq!(shown("", 12), "");
        assert_eq!(shown(&lines(0..12), 12), "0 1 2 3 4 5 6 7 8 9 10 11");
        assert_eq!(
            shown(&lines(0..30), 12),
            "0 1 2 3 4 (18) 23 24 25 26 27 28 29"
        );
        let panic = lines(0..9) + "it panicked at a\n" + &lines(10..30);
        assert_eq!(
            shown(&panic, 12),
            "0 1 2 3 4 (4) it panicked at a 10 (14) 25 26 27 28 29"
        );
        // Two panics at once: the first is the cause.
        let first = "it panicked at a\ncause\n".to_owned() + &lines(0..20);
        let second = "it panicked at b\nguard\n".to_owned() + &lines(20..40);
        let third = "it panicked at c\npanic in a destructor during cleanup\n";
        let all = lines(0..9) + &first + &second + third + &lines(40..60);
        let seen = shown(&all, 14);
        assert!(seen.contains("(4) it panicked at a cause 0 1 ("), "{seen}");
        let extern_c = third.replace("destructor during cleanup", "function that cannot unwind");
        let all = lines(0..9) + &first + &extern_c + &lines(40..60);
        let seen = shown(&all, 14);
        assert!(seen.contains("(4) it panicked at a cause 0 1 ("), "{seen}");
        let early = "it panicked at a\n".to_owned() + &lines(1..30);
        assert_eq!(
            shown(&early, 12),
            "it panicked at a 1 2 3 4 (20) 25 26 27 28 29"
        );
        let late = lines(0..29) + "it panicked at a\n";
        assert_eq!(
            shown(&late, 12),
            "0 1 2 3 4 (18) 23 24 25 26 27 28 it panicked at a"
        );
    }
}
