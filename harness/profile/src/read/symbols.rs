//! The names that `jeprof --raw` writes before a dump.
//!
//! ```text
//! --- symbol
//! binary=/usr/bin/redis-server
//! 0x0000564ffdf94006 zmalloc
//! 0x0000564ffdf8572a createClient--acceptCommonHandler    a caller, then what was inlined into it
//! ---
//! --- heap
//! heap_v2/524288
//! ```
//!
//! jeprof subtracts one from the return addresses of callers before it looks them up, and
//! writes the addresses that it looked up. The dump that follows keeps the addresses that
//! jemalloc wrote.

use std::collections::BTreeMap;
use std::io::BufRead;

use plimsoll_core::{Avma, SourceFrame};

use super::{Limits, ReadError, next_line, quoted};
use crate::profile::MAX_FUNCTIONS;

/// Names by address.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    names: BTreeMap<u64, Vec<String>>,
    /// The number of lines before the dump.
    pub(super) lines: usize,
    /// About how many bytes of memory the names take.
    pub(super) memory: usize,
}

impl Symbols {
    /// Returns the functions of a return address, leaf first. Empty if the address has no
    /// names.
    pub(super) fn of(&self, address: Avma) -> Vec<SourceFrame> {
        let before = address.0.checked_sub(1);
        let names = before.and_then(|call| self.names.get(&call));
        let names = names.or_else(|| self.names.get(&address.0));
        let frame = |name: &String| SourceFrame::named(name.clone());
        names.into_iter().flatten().rev().map(frame).collect()
    }
}

pub(super) fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Symbols, ReadError> {
    let mut symbols = Symbols::default();
    let mut line = Vec::new();
    let mut number = 0;
    let expected = "an address and its function's name, or `---`";
    next_line(input, &mut line, &mut number)?;
    loop {
        if !next_line(input, &mut line, &mut number)? {
            let found = "the end of the file".to_owned();
            return Err(ReadError::text(number, expected, found));
        }
        if line.starts_with(b"---") {
            break;
        }
        if line.starts_with(b"binary=") {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let (address, names) = text.split_once(' ').unwrap_or((&text, ""));
        let digits = address.strip_prefix("0x");
        let Some(address) = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) else {
            return Err(ReadError::text(number, expected, quoted(&line)));
        };
        // jeprof writes the address itself if it found no name.
        let is_name = |name: &&str| !name.is_empty() && !name.starts_with("0x");
        let names: Vec<String> = names
            .split("--")
            .filter(is_name)
            .take(MAX_FUNCTIONS + 1)
            .map(str::to_owned)
            .collect();
        if names.len() > MAX_FUNCTIONS {
            let expected = "at most 1001 functions at one address";
            return Err(ReadError::text(number, expected, "more".to_owned()));
        }
        if !names.is_empty() {
            // A map of this size has room for half as many again.
            let entry = size_of::<(u64, Vec<String>)>() * 3 / 2;
            symbols.memory += entry + names.len() * size_of::<String>() + text.len();
            symbols.names.insert(address, names);
            limits.check(symbols.memory)?;
        }
    }
    // The list of names ends with `---`, then `--- heap`; or directly with `--- heap`.
    let said = !line.starts_with(b"--- heap");
    if said && (!next_line(input, &mut line, &mut number)? || !line.starts_with(b"--- heap")) {
        let expected = "`--- heap` after the names";
        return Err(ReadError::text(number, expected, quoted(&line)));
    }
    symbols.lines = number;
    Ok(symbols)
}
