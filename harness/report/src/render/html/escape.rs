//! Quoted text in the page. No text can become markup, because [`maud`] escapes all of it.
//! This module makes hidden characters visible and long names short.

use plimsoll_core::text::escape::{terminal, terminal_lines};
use plimsoll_core::text::sink::cut;
use serde::Serialize;

/// The most columns of a line. A longer name says nothing more, and costs everybody who
/// scrolls.
const LONGEST: usize = 500;

/// Returns text in one line, for an element, an attribute, or a string of the page's data.
pub(super) fn line(text: &str) -> String {
    cut(&terminal(text), LONGEST)
}

/// Returns text for a `<pre>`. Line feeds stay, and nothing is cut.
pub(super) fn block(text: &str) -> String {
    terminal_lines(text)
}

/// Returns data for a `<script type="application/json">`. Such an element ends at the first
/// `</script`, even within a string, and HTML has no escapes inside it.
pub(super) fn json(data: &impl Serialize) -> String {
    #[expect(
        clippy::expect_used,
        reason = "string keys and finite floats always serialise"
    )]
    let text = serde_json::to_string(data).expect("plain data serialises");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // In JSON, all of these can stand only in strings.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns the id of a scenario in the page, which links use and nothing else. It has only
/// ASCII letters, digits and `_ - . :`, so a usual scenario's name is its own id. All other
/// ids of the page begin or end with `~`, so they are never a scenario's.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().take(120) {
        match c {
            c if c.is_ascii_alphanumeric() || "_-.:".contains(c) => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    match slug.trim_end_matches('-') {
        "" => "scenario".to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(
            line("user\u{202e}nimda\u{200b}\u{0}"),
            r"user\u{202e}nimda\u{200b}\u{0}"
        );
        assert_eq!(line("\u{1b}[31mred\u{1b}[0m\r\nx"), r"red\r\nx");
        assert_eq!(line("\u{1b}]0;title\u{7}"), r"\u{1b}]0;title\u{7}");
        assert_eq!(block("a\r\n\u{1b}[1mb\u{1b}[0m\rc\td"), "a\nb\\rc  d");
        assert_eq!(line("zażółć 漢字"), "zażółć 漢字");
    }

    #[test]
    fn length_is_bounded_where_it_is_no_text_to_read() {
        let long = "ä".repeat(200) + &"z".repeat(400);
        let shown = line(&long);
        assert_eq!(shown.chars().count(), LONGEST);
        assert!(shown.starts_with("ää") && shown.contains('…') && shown.ends_with("zz"));
        assert_eq!(block(&long), long);
    }

    #[test]
    fn data_cannot_end_its_element() {
        let data = ["</script><!--", "a&b", "\u{2028}\u{2029}", "\"\\"];
        let written = json(&data);
        assert_eq!(
            written,
            r#"["\u003c/script\u003e\u003c!--","a\u0026b","\u2028\u2029","\"\\"]"#
        );
        let read: Vec<String> = serde_json::from_str(&written).unwrap();
        assert_eq!(read, data);
        assert_eq!(line("a\u{202e}<b"), "a\\u{202e}<b");
    }

    #[test]
    fn a_scenarios_name_is_its_address() {
        assert_eq!(slug("http::parse_headers"), "http::parse_headers");
        assert_eq!(slug("a (demo, x86_64)"), "a-demo-x86_64");
        assert_eq!(slug("<img src=x>"), "img-src-x");
        assert_eq!(slug("~漢字"), "scenario");
    }
}
