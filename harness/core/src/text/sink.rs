//! One function for each place that text from other people goes to.
//!
//! | place | function |
//! |---|---|
//! | markdown, in a line | [`code_span`] |
//! | markdown, a cell of a table | [`table_code_span`] |
//! | markdown, several lines | [`fenced`] |
//! | HTML in markdown | [`html_text`], [`html_attribute`] |
//! | an address in either | [`url`] |
//! | a runner's command | [`workflow_command_data`], [`workflow_command_property`] |
//! | a runner's log | [`log`] |
//! | a field of an API that shows plain text | [`plain_line`] |
//!
//! GitHub turns `@user`, `#1`, `GH-1`, `owner/name#1`, commits and addresses into links, and
//! `:shortcodes:` into pictures, everywhere except in code. So names are only written in code
//! spans, fences and `<code>`. There is no function for HTML comments, because nothing
//! untrusted belongs there.

use super::escape;

/// The zero-width space splits `@user` for programs that look for mentions even in code.
const AFTER_AT: &str = "@\u{200b}";
/// What is written for an empty name.
const UNNAMED: &str = "(no name)";

/// Returns one line of visible text, with at most `room` columns. Line breaks and tabs become
/// spaces. Other controls, and characters that hide or reorder text, are removed. The middle
/// of a longer line is cut out.
fn line(text: &str, room: usize) -> String {
    let spaced: String = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    let line = cut(escape::xml(&spaced).trim(), room);
    match line.trim() {
        "" => UNNAMED.to_owned(),
        line => line.to_owned(),
    }
}

/// Cuts the middle out of text that takes more than `room` columns. Accents, which take no
/// column of their own, stay, unless the result would have more than `2 * room` characters.
pub fn cut(text: &str, room: usize) -> String {
    let cut = escape::cut_middle(text, room);
    if cut.chars().count() <= 2 * room {
        return cut;
    }
    let takes_room = |c: &char| escape::columns(c.encode_utf8(&mut [0; 4])) > 0;
    let bare: String = text.chars().filter(takes_room).collect();
    escape::cut_middle(&bare, room)
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// Returns a code span. Its content takes at most `room` columns.
pub fn code_span(text: &str, room: usize) -> String {
    span(line(text, room))
}

/// Returns a code span for a cell of a table. In a cell, a `|` must be escaped even in code.
/// See [`code_span`].
pub fn table_code_span(text: &str, room: usize) -> String {
    // Without the zero-width space, a backslash before the bar would escape the backslash that
    // is added.
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

/// Returns a fenced block of plain text. Every line is cut to `room` columns.
pub fn fenced(text: &str, room: usize) -> String {
    let lines: Vec<String> = lines(text, room);
    let text = lines.join("\n");
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}text\n{text}\n{fence}")
}

/// Splits text into the lines of a block. Indentation stays, and controls are removed.
fn lines(text: &str, room: usize) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let breaks = [
        '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
    ];
    let lines = text.split(breaks).map(|line| {
        // Colours are removed first. If only their control character were removed, `[31m`
        // would stay.
        let colorless = escape::without_colors(line).replace('\t', "    ");
        let line = escape::xml(&colorless);
        cut(line.trim_end(), room)
    });
    lines.collect()
}

/// Returns text for the content of an HTML element. GitHub still looks for mentions in it, so
/// a name stands in `<code>`.
pub fn html_text(text: &str, room: usize) -> String {
    escape::markup(&line(text, room)).replace('@', AFTER_AT)
}

/// Returns the value of an attribute. The caller writes the double quotes around it.
pub fn html_attribute(text: &str, room: usize) -> String {
    escape::markup(&line(text, room))
}

/// Returns an address of ours, for a link or an attribute. Returns `None` if its scheme is not
/// http or https, if it is longer than 2,000 bytes, or if it contains a character that an
/// address cannot.
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
            // A parenthesis would end the target of a markdown link.
            '(' => url.push_str("%28"),
            ')' => url.push_str("%29"),
            _ => return None,
        }
    }
    Some(url.replace('&', "&amp;"))
}

/// Returns the message of a runner's command, `::error::MESSAGE`. Line feeds are kept.
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

/// Returns a property of a runner's command, as in `::error file=PROPERTY::`.
pub fn workflow_command_property(text: &str, room: usize) -> String {
    workflow_command_data(&line(text, room), room)
        .replace(':', "%3A")
        .replace(',', "%2C")
}

/// Returns text for a log that a runner reads for commands. Neither a `::` at the start of a
/// line nor a `##[` anywhere survives. A runner takes a carriage return for the end of a line.
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

/// Returns lines, for a place that shows text as it is.
pub fn plain_text(text: &str, room: usize) -> String {
    lines(text, room).join("\n")
}

/// Returns one line, for a place that shows text as it is.
pub fn plain_line(text: &str, room: usize) -> String {
    line(text, room)
}

#[cfg(test)]
mod tests;
