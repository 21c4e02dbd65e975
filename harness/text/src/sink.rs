//! The one way for other people's text into each output.
//!
//! | place | function |
//! |---|---|
//! | markdown, in a line | [`code_span`] |
//! | markdown, a cell of a table | [`table_code_span`] |
//! | markdown, several lines | [`fenced`] |
//! | HTML in markdown | [`html_code`], [`html_text`], [`html_attribute`] |
//! | an address in either | [`url`] |
//! | a runner's command | [`workflow_command_data`], [`workflow_command_property`] |
//! | a runner's log | [`log`] |
//! | a field of an API that shows plain text | [`plain_line`] |
//!
//! GitHub makes links of `@user`, `#1`, `GH-1`, `owner/name#1`, commits and
//! addresses, and pictures of `:shortcodes:`, everywhere but in code. So names
//! stand in code spans, fences and `<code>` alone. No function here is for HTML
//! comments: nothing untrusted belongs there.

use crate::escape;

/// Splits `@user` for whatever looks for mentions without looking for code.
const AFTER_AT: &str = "@\u{200b}";
/// What stands for a name of nothing.
const UNNAMED: &str = "(no name)";

/// One line of what can be seen: line breaks and tabs become spaces, other
/// controls and what hides or reorders text goes; at most `room` columns, of
/// which the middle is cut.
fn line(text: &str, room: usize) -> String {
    let spaced: String = text
        .chars()
        .map(|c| match c {
            '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
            c if c.is_whitespace() => ' ',
            c => c,
        })
        .collect();
    let line = cut(escape::xml(&spaced).trim(), room);
    match line.trim() {
        "" => UNNAMED.to_owned(),
        line => line.to_owned(),
    }
}

/// Cuts the middle out of what takes more than `room` columns. Accents that take
/// none of their own stay, but for heaps of them.
pub fn cut(text: &str, room: usize) -> String {
    let cut = escape::cut_middle(text, room);
    if cut.chars().count() <= 2 * room {
        return cut;
    }
    let takes_room = |c: &char| escape::columns(c.encode_utf8(&mut [0; 4])) > 0;
    let bare: String = text.chars().filter(takes_room).collect();
    escape::cut_middle(&bare, room)
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// A code span, of at most `room` columns without its fences.
pub fn code_span(text: &str, room: usize) -> String {
    span(line(text, room))
}

/// As [`code_span`], in a cell of a table, where a `|` ends the cell even in
/// code.
pub fn table_code_span(text: &str, room: usize) -> String {
    // A backslash of the text would take the one before the bar for its own.
    let text = line(text, room).replace("\\|", "\\\u{200b}|");
    span(text.replace('|', "\\|"))
}

fn span(text: String) -> String {
    let text = text.replace('@', AFTER_AT);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = match text.starts_with('`') || text.ends_with('`') {
        true => " ",
        false => "",
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A fenced block of plain text. Every line is cut to `room` columns.
pub fn fenced(text: &str, room: usize) -> String {
    let lines: Vec<String> = lines(text, room);
    let text = lines.join("\n");
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}text\n{text}\n{fence}")
}

/// The lines of a block: indentation stays, controls go.
fn lines(text: &str, room: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let breaks = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    let lines = text.split(breaks).map(|line| {
        // Of them, what is left when the control goes would stand there as `[31m`.
        let colorless = escape::without_colors(line).replace('\t', "    ");
        let line = escape::xml(&colorless);
        cut(line.trim_end(), room)
    });
    lines.collect()
}

/// Text between tags. GitHub still looks for mentions in it: a name goes
/// through [`html_code`].
pub fn html_text(text: &str, room: usize) -> String {
    escape::markup(&line(text, room)).replace('@', AFTER_AT)
}

/// `<code>…</code>`, where markdown is not read, as in `<summary>`.
pub fn html_code(text: &str, room: usize) -> String {
    format!("<code>{}</code>", html_text(text, room))
}

/// The value of an attribute, to be put between double quotes.
pub fn html_attribute(text: &str, room: usize) -> String {
    escape::markup(&line(text, room))
}

/// An address of ours, for a link or an attribute; absent where it is not of
/// http, or holds what an address cannot.
pub fn url(text: &str) -> Option<String> {
    let web = ["https://", "http://"];
    let host = web.iter().find_map(|scheme| text.strip_prefix(scheme))?;
    if host.is_empty() || text.len() > 2_000 {
        return None;
    }
    let mut url = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || "-._~:/?#[]@!$*+,;=%&".contains(c) => url.push(c),
            // They would end a link's target.
            '(' => url.push_str("%28"),
            ')' => url.push_str("%29"),
            _ => return None,
        }
    }
    Some(url.replace('&', "&amp;"))
}

/// The message of a runner's command, `::error::MESSAGE`. Line feeds stay lines.
pub fn workflow_command_data(text: &str, room: usize) -> String {
    let lines: Vec<String> = lines(text, room)
        .iter()
        .map(|line| no_command(line))
        .collect();
    let text = lines.join("\n");
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a runner's command, `::error file=PROPERTY::`.
pub fn workflow_command_property(text: &str, room: usize) -> String {
    workflow_command_data(&line(text, room), room)
        .replace(':', "%3A")
        .replace(',', "%2C")
}

/// A log that a runner reads for commands: neither `::` at the start of a line
/// nor `##[` anywhere in one survives. To a runner a carriage return ends a line.
pub fn log(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<String> = text.split(['\n', '\r']).map(no_command).collect();
    lines.join("\n")
}

fn no_command(line: &str) -> String {
    let line = line.replace("##[", "# #[");
    let start = line.len() - line.trim_start().len();
    match line[start..].starts_with("::") {
        true => format!("{}: {}", &line[..start], &line[start + 1..]),
        false => line,
    }
}

/// Lines, for a place that shows text as it is.
pub fn plain_text(text: &str, room: usize) -> String {
    lines(text, room).join("\n")
}

/// One line, for a place that shows text as it is.
pub fn plain_line(text: &str, room: usize) -> String {
    line(text, room)
}

#[cfg(test)]
mod tests;
