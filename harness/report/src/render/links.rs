//! Addresses of source lines on GitHub.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use plimsoll_core::text::sink::url;

use super::plain;
use crate::joined::{Joined, Source};

/// What stands for itself in a path, beside letters and digits.
pub(super) const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Where the sources of the measured commit can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// `https://github.com/owner/name/blob/<commit>`.
    base: Option<String>,
    /// The folder of the workspace in the repository.
    prefix: String,
}

impl Links {
    /// Returns the links to a report's commit, on a server such as `https://github.com`. They
    /// lead nowhere if the report does not say what it measured.
    pub fn of(joined: &Joined, server: Option<&str>) -> Links {
        let Some(source) = &joined.source else {
            return Links::default();
        };
        let server = server.unwrap_or("https://github.com");
        let of = repository(source).zip(commit(source));
        let base = of.map(|(repository, commit)| format!("{server}/{repository}/blob/{commit}"));
        Links {
            base,
            prefix: source.prefix.clone(),
        }
    }

    /// Returns the address of a line, if its file is in the repository.
    pub fn line(&self, file: &str, line: Option<u32>) -> Option<String> {
        let base = self.base.as_ref()?;
        let path = plain::own_file(&self.prefix, file)?;
        let path = utf8_percent_encode(&path, PATH);
        let line = line.map_or(String::new(), |line| format!("#L{line}"));
        url(&format!("{base}/{path}{line}"))
    }
}

/// Returns `owner/name` of a report's repository, if it may stand in an address.
pub(super) fn repository(source: &Source) -> Option<&str> {
    let is_name = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        !part.is_empty() && part.bytes().all(allowed) && !part.starts_with('.')
    };
    let (owner, name) = source.repository.split_once('/')?;
    (is_name(owner) && is_name(name)).then_some(&source.repository)
}

/// Returns a report's commit, if it is one.
pub(super) fn commit(source: &Source) -> Option<&str> {
    let head = &source.head;
    let is_hex = head.bytes().all(|byte| byte.is_ascii_hexdigit());
    ((7..=64).contains(&head.len()) && is_hex).then_some(head)
}
