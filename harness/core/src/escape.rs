//! The one way for other people's text to reach a terminal or a picture.
//!
//! Names, panic messages and output come from the code under review. They must
//! not move the cursor, change a colour, reorder what stands beside them
//! (bidirectional controls) or hide (zero-width characters).

use crate::layout::valid_scenario_name;

/// Makes text safe to print within one line of a terminal: escape sequences of
/// the CSI kind (colours) are dropped, every other control, bidirectional or
/// invisible character is shown as an escape, `\n` and `\u{202e}`.
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = after_csi(rest) {
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\t' => out.push_str("  "),
            '\u{a0}' => out.push(' '),
            c if is_control(c) || is_invisible(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// What follows a "control sequence introducer" sequence at the start of the
/// text: `ESC [`, parameters, one final byte.
fn after_csi(text: &str) -> Option<&str> {
    let body = text
        .strip_prefix("\u{1b}[")
        .or_else(|| text.strip_prefix('\u{9b}'))?;
    let end = body.find(|c: char| !(' '..='?').contains(&c))?;
    let last = body[end..].chars().next()?;
    ('@'..='~').contains(&last).then(|| &body[end + 1..])
}

/// C0, DEL and C1, and the two separators that some terminals break lines at.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Characters that reorder, hide or take no room where that is not seen.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Drops what XML 1.0 has no way to write, and what would reorder or hide the
/// text around it.
pub fn xml(text: &str) -> String {
    text.chars()
        .filter(|&c| !is_control(c) && !is_invisible(c) && !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .collect()
}

/// Columns that text takes in a terminal. Roughly: an unsure character counts
/// as wide, because a line that is too short harms nobody.
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

/// Cuts the middle out of text that takes more than `room` columns. The end is
/// kept longer than the start: a path's last names say more than its first.
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
pub(crate) fn cut_start(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    match room {
        0 => String::new(),
        _ => format!("…{}", end_of(text, room - 1)),
    }
}

/// The longest start of the text that takes at most `room` columns.
pub(crate) fn start_of(text: &str, room: usize) -> &str {
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

/// A word of a command that a person may paste into a shell; absent where no scenario and no
/// package can have that name. Quoted, it could still pass for an option.
pub fn command_word(word: &str) -> Option<&str> {
    valid_scenario_name(word).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_text_cannot_steer_the_terminal() {
        assert_eq!(terminal("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(terminal("\u{1b}]0;title\u{7}"), r"\u{1b}]0;title\u{7}");
        assert_eq!(terminal("a\r\nb\tc"), r"a\r\nb  c");
        assert_eq!(terminal("\u{9b}2Jx\u{85}"), r"x\u{85}");
        assert_eq!(
            terminal("user\u{202e}nimda\u{200b}"),
            r"user\u{202e}nimda\u{200b}"
        );
        assert_eq!(terminal("\u{1b}[31"), r"\u{1b}[31");
        assert_eq!(terminal("zażółć 漢字"), "zażółć 漢字");
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
        for no in [
            "",
            "-p",
            "--config=x",
            "a b",
            "a; rm -rf ~",
            "$(x)",
            "`x`",
            "it's",
            "é",
        ] {
            assert_eq!(command_word(no), None, "{no}");
        }
    }
}
