//! Writes folded stacks, one a line: `root;caller;leaf 4096`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_core::text::escape::is_hidden;

use crate::calls::Calls;
use crate::view::Names;

/// Writes one line for each stack, ordered by names, frame by frame.
///
/// Numbers are truncated to integers, as in jeprof. A stack that shrank has a negative number,
/// which flame graph tools skip. Stacks with the number 0 are left out.
///
/// # Errors
///
/// If `out` cannot be written to.
pub fn folded(
    out: &mut dyn Write,
    calls: &Calls<'_>,
    gains: &[f64],
    names: &Names,
) -> io::Result<()> {
    // The format has no escapes, so different names may become equal.
    let mut ranks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, name) in names.all().enumerate() {
        ranks.entry(frame(name)).or_default().push(number);
    }
    let mut rank_of = vec![0; names.all().len()];
    for (rank, numbers) in ranks.values().enumerate() {
        for number in numbers {
            rank_of[*number] = rank;
        }
    }
    let frames: Vec<String> = ranks.into_keys().collect();
    let ranks = |stack: &usize| {
        let names = calls.root_first(*stack);
        names.map(|name| rank_of[name.0 as usize])
    };

    let mut stacks: Vec<usize> = (0..calls.len()).filter(|at| gains[*at] != 0.0).collect();
    // The sort is stable, because a sum of floats depends on their order.
    stacks.sort_by(|one, two| ranks(one).cmp(ranks(two)));
    for equal in stacks.chunk_by(|one, two| ranks(one).eq(ranks(two))) {
        let gain: f64 = equal.iter().map(|stack| gains[*stack]).sum();
        if gain.trunc() == 0.0 {
            continue;
        }
        for (depth, rank) in ranks(&equal[0]).enumerate() {
            let between = if depth == 0 { "" } else { ";" };
            write!(out, "{between}{}", frames[rank])?;
        }
        writeln!(out, " {:.0}", gain.trunc())?;
    }
    Ok(())
}

/// Returns a name without characters that end a frame or a line. It is trimmed, and `[unknown]`
/// if nothing is left.
fn frame(name: &str) -> String {
    let safe = name.chars().map(|char| match char {
        ';' => ':',
        char if is_hidden(char) => ' ',
        char => char,
    });
    let safe: String = safe.collect();
    match safe.trim() {
        "" => "[unknown]".to_owned(),
        safe => safe.to_owned(),
    }
}
