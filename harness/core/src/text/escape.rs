//! Escapes text of other people for terminals and pictures.
//!
//! Names, panic messages and output come from the code under review. They must not move the
//! cursor, change a colour, reorder the text around them (bidirectional controls) or be
//! invisible (zero-width characters).

use super::name::valid_scenario_name;

/// Returns text that stays within one line of a terminal or a page. CSI escape sequences
/// (colours) are removed. Every other [hidden](is_hidden) character is shown as an escape,
/// such as `\n` or `\u{202e}`.
pub fn terminal(text: &str) -> String {
    visible(text, false)
}

/// Returns text of several lines for a terminal, see [`terminal`]. Line ends are kept.
pub fn terminal_lines(text: &str) -> String {
    visible(text, true)
}

fn visible(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = after_csi(rest) {
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' if lines => out.push('\n'),
            // The line ends of Windows are not shown as escapes.
            '\r' if lines && rest.starts_with('\n') => {}
            '\t' => out.push_str("  "),
            '\u{a0}' => out.push(' '),
            c if is_hidden(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Removes CSI escape sequences, and keeps everything else.
pub fn without_colors(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = after_csi(rest).unwrap_or_else(|| {
            out.push(c);
            &rest[c.len_utf8()..]
        });
    }
    out
}

/// Returns what follows a CSI ("control sequence introducer") sequence at the start of the
/// text: `ESC [`, parameters, one final byte. Returns `None` if there is no such sequence.
fn after_csi(text: &str) -> Option<&str> {
    let body = text
        .strip_prefix("\u{1b}[")
        .or_else(|| text.strip_prefix('\u{9b}'))?;
    let end = body.find(|c: char| !(' '..='?').contains(&c))?;
    let last = body[end..].chars().next()?;
    ('@'..='~').contains(&last).then(|| &body[end + 1..])
}

/// Tells whether a character must not be shown as it is: controls (C0, DEL and C1), line and
/// paragraph separators, and characters that reorder or hide text, or take no room unnoticed.
///
/// Besides controls, these are Unicode's `Default_Ignorable_Code_Point`, its noncharacters,
/// and its invisible format characters (annotations, musical and hieroglyphic formatting).
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Removes [hidden](is_hidden) characters, most of which XML cannot represent.
pub fn xml(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// Escapes text for the content of an element, or for a quoted attribute, in HTML and XML.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Returns how many columns a text takes in a terminal. The result is approximate: a character
/// of unknown width counts as wide, because a line that is too short does no harm.
pub fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

fn char_columns(c: char) -> usize {
    match c {
        '\0'..='\u{2ff}' => 1,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' => 0,
        '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' => 0,
        '\u{1100}'..='\u{11ff}' | '\u{231a}'..='\u{23ff}' | '\u{25fd}'..='\u{27bf}' => 2,
        '\u{2b00}'..='\u{2bff}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' => 2,
        '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' => 2,
        '\u{ff00}'..='\u{ffef}' | '\u{12000}'..='\u{1ffff}' | '\u{20000}'..='\u{3ffff}' => 2,
        _ => 1,
    }
}

/// Cuts the middle out of text that takes more than `room` columns. More is kept of the end
/// than of the start, because a path's last names say more than its first.
pub fn cut_middle(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let head = (room - 1) * 2 / 5;
    format!("{}…{}", start_of(text, head), end_of(text, room - 1 - head))
}

/// Cuts the start off text that takes more than `room` columns.
pub fn cut_start(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    match room {
        0 => String::new(),
        _ => format!("…{}", end_of(text, room - 1)),
    }
}

/// Quotes text for a message: at most so many characters, of which hidden ones are shown as
/// escapes.
pub fn quoted(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (index, c) in text.chars().take(most + 1).enumerate() {
        match c {
            _ if index == most => out.push('…'),
            c if is_hidden(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Returns the longest start of a text that takes at most `room` columns.
pub fn start_of(text: &str, room: usize) -> &str {
    let mut taken = 0;
    for (index, c) in text.char_indices() {
        taken += char_columns(c);
        if taken > room {
            return &text[..index];
        }
    }
    text
}

fn end_of(text: &str, room: usize) -> &str {
    let mut taken = 0;
    for (index, c) in text.char_indices().rev() {
        taken += char_columns(c);
        if taken > room {
            return &text[index + c.len_utf8()..];
        }
    }
    text
}

/// Returns a word for a command that a person may paste into a shell. Returns `None` if it
/// cannot be the name of a scenario or a package. Quoting would not be enough: a quoted word
/// could still be an option.
pub fn command_word(word: &str) -> Option<&str> {
    valid_scenario_name(word).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_text_cannot_steer_the_terminal() {
        for (text, safe) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}", r"\u{1b}]0;title\u{7}"),
            ("a\r\nb\tc", r"a\r\nb  c"),
            ("\u{9b}2Jx\u{85}", r"x\u{85}"),
            ("user\u{202e}nimda\u{200b}", r"user\u{202e}nimda\u{200b}"),
            ("\u{1b}[31", r"\u{1b}[31"),
            ("zażółć 漢字", "zażółć 漢字"),
        ] {
            assert_eq!(terminal(text), safe);
        }
        let lines = terminal_lines("a\r\n\u{1b}[31mb\tc\n\u{202e}ü\r");
        assert_eq!(lines, "a\nb  c\n\\u{202e}ü\\r");
        let plain = without_colors("\u{1b}[1;31mred\u{1b}[0m\u{1b}");
        assert_eq!(plain, "red\u{1b}");
    }

    /// Compares `is_hidden` with Unicode's properties of every character, as `escape_debug` of
    /// Rust knows them. `escape_debug` escapes every character that cannot be printed, and
    /// some more.
    #[test]
    fn what_is_hidden_is_not_printable() {
        let is_escaped = |c: char| c.escape_debug().count() > 1;
        for c in (char::MIN..=char::MAX).filter(|c| is_hidden(*c)) {
            // Unicode counts fillers of Hangul as letters, and variation selectors as marks.
            let is_filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}');
            let is_joined = matches!(u32::from(c), 0x34f | 0x17b4..=0x17b5 | 0x180b..=0x180f
                | 0xfe00..=0xfe0f | 0x13430..=0x1345f | 0xe0100..=0xe01ef);
            let is_known = is_escaped(c) || is_filler || is_joined;
            assert!(is_known, "{}", c.escape_unicode());
        }
        let visible = "aé漢😀 \u{301}\u{a0}\u{600}";
        assert!(!visible.contains(is_hidden));
    }

    #[test]
    fn cuts_keep_to_their_room() {
        assert_eq!(cut_middle("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut_middle("abcdefghijk", 6), "ab…ijk");
        assert_eq!(cut_middle("漢字漢字漢字", 5), "…字");
        assert_eq!(cut_start("a/b/c/lib.rs", 8), "…/lib.rs");
        for room in 0..12 {
            assert!(columns(&cut_middle("漢a字b漢c字d", room)) <= room);
            assert!(columns(&cut_start("漢a字b漢c字d", room)) <= room);
        }
    }

    #[test]
    fn a_word_of_a_command_is_a_name() {
        assert_eq!(command_word("http::parse"), Some("http::parse"));
        for no in "|-p|--config=x|a b|a; rm -rf ~|$(x)|`x`|it's|é".split('|') {
            assert_eq!(command_word(no), None, "{no}");
        }
    }
}
