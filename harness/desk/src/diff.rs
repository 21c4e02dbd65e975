use similar::{ChangeTag, TextDiff};

use crate::out::{Out, Paint, safe};

/// Returns a unified diff of two texts, with two lines of context and without a header.
pub fn render(before: &str, after: &str, out: &Out) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for (index, group) in diff.grouped_ops(2).iter().enumerate() {
        if index > 0 {
            text.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = safe(change.value().trim_end_matches(['\n', '\r']));
            let line = match change.tag() {
                ChangeTag::Equal => format!("    {line}"),
                ChangeTag::Delete => out.paint(Paint::Red, &format!("  - {line}")),
                ChangeTag::Insert => out.paint(Paint::Green, &format!("  + {line}")),
            };
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}
