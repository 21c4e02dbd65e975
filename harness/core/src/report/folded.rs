//! `growth.folded`: the growth between *before* and *after*, for every tool that draws folded
//! stacks.
//!
//! ```text
//! lru_churn::fill;lru::LruCache::put 6291456
//! flush_batch;alloc_buffer -4096
//! ```
//!
//! A line has the frames root first, then a space and the bytes gained. A stack that shrank
//! has a minus, and flame graph tools skip it. The format has no escapes, so characters that
//! it cannot represent in a name are replaced.

use super::Report;
use crate::SmallMap;
use crate::text::escape;

/// Returns one line for each stack, in the order of their names.
pub fn render(report: &Report) -> String {
    let mut lines: SmallMap<Vec<String>, i128> = SmallMap::default();
    for growth in &report.growth {
        let names = growth.stack.frames().iter().map(|name| frame(name));
        let bytes = i128::from(growth.after.bytes) - i128::from(growth.before.bytes);
        // Stacks whose names differ only in replaced characters become one stack.
        *lines.or_default(names.collect()) += bytes;
    }
    let lines = lines.into_iter();
    let lines = lines.filter(|(names, bytes)| *bytes != 0 && !names.is_empty());
    lines
        .map(|(names, bytes)| format!("{} {bytes}\n", names.join(";")))
        .collect()
}

/// Returns a name that no reader of folded stacks can take for anything else: no `;`, no line
/// break, and no number at its end that could be read as a count.
fn frame(name: &str) -> String {
    // The collapsers of flame graph tools write `:` here as well.
    let name = escape::terminal(name).replace(';', ":");
    let name = name.trim();
    let count = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let stem = name.trim_end_matches(count);
    match stem.strip_suffix(' ') {
        // `# ` starts a comment.
        _ if name.starts_with("# ") => format!("#_{}", &name[2..]),
        Some(stem) if name.len() > stem.len() + 1 => {
            format!("{}_{}", stem.trim_end(), &name[stem.len() + 1..])
        }
        _ if name.is_empty() => "[unknown]".to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn names_cannot_pass_for_counts_or_stacks() {
        assert_eq!(frame("a::b"), "a::b");
        assert_eq!(frame("[u8; 8]"), "[u8: 8]");
        assert_eq!(frame("a\nb"), r"a\nb");
        assert_eq!(frame("a 12"), "a_12");
        assert_eq!(frame("a  1.5"), "a_1.5");
        assert_eq!(frame("a 1 2"), "a 1_2");
        assert_eq!(frame("  a "), "a");
        assert_eq!(frame("# a"), "#_a");
        assert_eq!(frame("v2"), "v2");
        assert_eq!(frame(" "), "[unknown]");
    }
}
