//! What SARIF and JUnit share: clean text, which findings count, and the place of a finding in the
//! repository.

use plimsoll_core::Frame;
use plimsoll_core::fold::unversioned;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report};
use plimsoll_core::text::escape::is_hidden;

/// Returns text without control characters, except the line feed, and without characters that
/// reorder, hide or take no room.
///
/// No reader of a file could see or write these characters. They are dropped and not escaped,
/// because XML 1.0 has no way to write most of them.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter(|&c| c == '\n' || !is_hidden(c))
        .collect()
}

/// Returns text cleaned as by [`clean`], in one line of at most `most` characters.
pub(crate) fn clean_line(text: &str, most: usize) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    let mut chars = text.chars().filter(|&c| !is_hidden(c));
    let line: String = chars.by_ref().take(most).collect();
    match chars.next() {
        Some(_) => line + "…",
        None => line,
    }
}

/// Returns the findings that count: those of a broken measurement mean nothing.
pub(super) fn findings(report: &Report) -> &[Finding] {
    match report.verdict {
        Verdict::Broken => &[],
        _ => &report.findings,
    }
}

/// A line in a file of the repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path from the root of the repository, without `.` and `..`.
    pub path: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Returns the line to blame for a finding, if it is in the repository: the reader's own code
/// that a person of this repository can change.
pub fn blamed(finding: &Finding, prefix: &str) -> Option<Place> {
    blamed_frames(finding).find_map(|frame| place(frame, prefix))
}

/// Returns the frames whose lines may be the one to blame, the best first: what puts the objects
/// into what holds them, then what allocates them.
pub(crate) fn blamed_frames(finding: &Finding) -> impl Iterator<Item = &Frame> {
    let blames = [finding.held_at(), finding.blame.as_ref()];
    let blamed = blames
        .into_iter()
        .flatten()
        .filter_map(|blame| blame.caller.as_ref().or(blame.at.as_ref()));
    blamed.chain(&finding.frames)
}

/// Returns the place of a frame, if it is in the repository.
pub fn place(frame: &Frame, prefix: &str) -> Option<Place> {
    Some(Place {
        path: own_file(prefix, frame.file.as_deref()?)?,
        line: frame.line?.max(1),
    })
}

/// Returns the path of a frame's file from the root of the repository, if it is in there.
pub(super) fn own_file(prefix: &str, file: &str) -> Option<String> {
    let own = Some(file).filter(|file| !is_elsewhere(file))?;
    in_repository(prefix, own)
}

/// Returns a path in the workspace as a path from the root of the repository.
///
/// Returns `None` for a path that leaves the repository, or that could mean another file on
/// another system.
pub(crate) fn in_repository(prefix: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for path in [prefix, path] {
        if path.starts_with('/') || path.contains(['\\', ':']) || clean(path) != path {
            return None;
        }
        for name in path.split('/') {
            match name {
                "" | "." => {}
                // cargo writes `..` into the path of a package that is beside another.
                ".." => drop(names.pop()?),
                name if name.contains('\n') => return None,
                name => names.push(name),
            }
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// Returns whether a file belongs to a dependency or to the standard library. It decides by
/// the shortened paths of a report: `lru-0.18.1/src/lib.rs` from a registry,
/// `lru/8d63c4a/src/lib.rs` from git, `library/core/src/option.rs`.
///
/// The path of a path dependency outside the workspace looks like a file in the workspace, and
/// is taken for one.
fn is_elsewhere(file: &str) -> bool {
    let mut names = file.split('/');
    let (first, second) = (names.next().unwrap_or(""), names.next().unwrap_or(""));
    let std = ["alloc", "backtrace", "core", "proc_macro", "std", "test"];
    let commit = (7..=40).contains(&second.len())
        && second.bytes().all(|byte| byte.is_ascii_hexdigit())
        && second.bytes().any(|byte| byte.is_ascii_digit());
    first == "vendor"
        || first == "library" && std.contains(&second)
        || commit
        || file.split('/').any(|name| unversioned(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(file: &str, prefix: &str) -> String {
        let frame = Frame {
            function: "f".to_owned(),
            file: Some(file.to_owned()),
            line: Some(7),
        };
        place(&frame, prefix).map_or("elsewhere".to_owned(), |place| place.path)
    }

    #[test]
    fn files_of_the_workspace() {
        assert_eq!(placed("src/lib.rs", ""), "src/lib.rs");
        assert_eq!(placed("src/lib.rs", "sub/tool"), "sub/tool/src/lib.rs");
        assert_eq!(placed("leaky/../src/lib.rs", ""), "src/lib.rs");
        assert_eq!(placed("../shared/src/lib.rs", "work"), "shared/src/lib.rs");
        assert_eq!(placed("a-b/src/x-1.rs", ""), "a-b/src/x-1.rs");
        assert_eq!(placed("library/src/lib.rs", ""), "library/src/lib.rs");
        assert_eq!(
            placed("crates/feedface/src/lib.rs", ""),
            "crates/feedface/src/lib.rs"
        );
    }

    #[test]
    fn files_of_others() {
        for file in [
            "lru-0.18.1/src/lib.rs",
            "zip-2.0.0-pre.1/src/read.rs",
            "vendor/lru/src/lib.rs",
            "library/core/src/option.rs",
            "lru/8d63c4a/src/lib.rs",
            "/home/user/src/lib.rs",
            "../src/lib.rs",
            "src/../../lib.rs",
            "C:/lib.rs",
            "src\\lib.rs",
            "src/\u{202e}lib.rs",
            "src/\nlib.rs",
            ".",
            "",
        ] {
            assert_eq!(placed(file, ""), "elsewhere", "{file:?}");
        }
        assert_eq!(placed("src/lib.rs", "/etc"), "elsewhere");
        assert_eq!(placed("src/lib.rs", ".."), "elsewhere");
    }

    #[test]
    fn clean_text() {
        assert_eq!(
            clean("a\u{1b}[2J\r\nb\u{202e}\u{200b}\u{fffe}ü"),
            "a[2J\nbü"
        );
        assert_eq!(clean_line("a\nb\u{7}c", 9), "a bc");
        assert_eq!(clean_line("abcd", 3), "abc…");
    }
}
