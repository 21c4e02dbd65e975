//! Finds the functions in the text of a Rust source file, and what they are methods of.
//!
//! This is no parser: it knows comments, literals and brackets, and reads what is before each
//! `{`. Text that is no Rust gives wrong functions or none.

use std::ops::RangeInclusive;

/// A function in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// The modules inside the file and the type or trait around it, outermost first.
    pub(super) path: Vec<String>,
    /// From the line of its first attribute or word to that of its `}`, counted from 1.
    pub(super) lines: RangeInclusive<u32>,
}

/// What is before a `{`.
enum Block {
    Function(String),
    /// The name of a module, or of the type or trait whose methods are inside. `None` if it has no
    /// name, such as a tuple.
    Named(Option<String>),
    Other,
}

/// What is read of an item before its `{` or `;`.
#[derive(Default)]
struct Item<'a> {
    tokens: Vec<Token<'a>>,
    /// Round and square brackets that are open.
    brackets: usize,
    /// The line of the first token.
    line: Option<u32>,
}

/// A `{` without its `}`.
struct Open<'a> {
    block: Block,
    line: u32,
    /// The item around it.
    outer: Item<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Mark(char),
}

/// Returns the functions of a source file in the order in which they start.
pub(super) fn functions(text: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut item = Item::default();
    for (token, line) in tokens(text) {
        match token {
            Token::Mark('{') => open.push(Open {
                block: block(&item.tokens),
                line: item.line.unwrap_or(line),
                outer: std::mem::take(&mut item),
            }),
            Token::Mark('}') => {
                let Some(closed) = open.pop() else { continue };
                if let Block::Function(name) = closed.block
                    && let Some(path) = path(&open)
                {
                    found.push(Function {
                        name,
                        path,
                        lines: closed.line..=line,
                    });
                }
                // Inside of brackets, it is a part of the item around it.
                item = match closed.outer.brackets {
                    0 => Item::default(),
                    _ => closed.outer,
                };
            }
            Token::Mark(';') if item.brackets == 0 => item = Item::default(),
            token => {
                match token {
                    Token::Mark('(' | '[') => item.brackets += 1,
                    Token::Mark(')' | ']') => item.brackets = item.brackets.saturating_sub(1),
                    _ => {}
                }
                item.line.get_or_insert(line);
                item.tokens.push(token);
            }
        }
    }
    // Stable: of those that start on one line, the inner ones were closed first.
    found.reverse();
    found.sort_by_key(|function| *function.lines.start());
    found
}

/// Returns the path of what is inside these blocks. `None` if a type there has no name.
fn path(open: &[Open<'_>]) -> Option<Vec<String>> {
    let mut path = Vec::new();
    for open in open {
        match &open.block {
            // Its methods and modules do not belong to the function.
            Block::Function(_) => path.clear(),
            Block::Named(name) => path.push(name.clone()?),
            Block::Other => {}
        }
    }
    Some(path)
}

/// Reads what is before a `{`.
fn block(item: &[Token<'_>]) -> Block {
    let mut depth = 0_usize;
    for (at, token) in item.iter().enumerate() {
        match token {
            Token::Mark('(' | '[') => depth += 1,
            Token::Mark(')' | ']') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 => {
                let rest = &item[at + 1..];
                let name = match rest.first() {
                    Some(Token::Word(name)) => Some((*name).to_owned()),
                    _ => None,
                };
                match (*word, name) {
                    ("fn", Some(name)) => return Block::Function(name),
                    ("mod" | "trait", name) => return Block::Named(name),
                    ("impl", _) => return Block::Named(implemented(rest)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Block::Other
}

/// Returns the name of the type that an `impl` is for. If that is the impl's own parameter, it is
/// the trait's name.
fn implemented(rest: &[Token<'_>]) -> Option<String> {
    let mut parameters = &rest[..0];
    let mut rest = rest;
    if rest.first() == Some(&Token::Mark('<')) {
        (parameters, rest) = rest.split_at(angles(rest));
    }
    let mut of_trait = None;
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            Token::Mark('<') => at += angles(&rest[at..]),
            // `for<'a> Fn(&'a u8)` is no type's name.
            Token::Word("for") if rest.get(at + 1) != Some(&Token::Mark('<')) => {
                of_trait = Some(&rest[..at]);
                rest = &rest[at + 1..];
                at = 0;
            }
            Token::Word("where") => {
                rest = &rest[..at];
            }
            _ => at += 1,
        }
    }
    let name = type_name(rest)?;
    match of_trait {
        Some(of_trait) if parameters.contains(&Token::Word(name)) => type_name(of_trait),
        _ => Some(name),
    }
    .map(str::to_owned)
}

/// Returns the last word of a type's path, without its arguments. `None` for a type that is no
/// path.
fn type_name<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let mut name = None;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Mark('&' | '*' | '!') | Token::Word("mut" | "dyn" | "const") => at += 1,
            Token::Word("for") if tokens.get(at + 1) == Some(&Token::Mark('<')) => {
                at += 1 + angles(&tokens[at + 1..]);
            }
            Token::Mark(':') => at += 1,
            Token::Word(word) => {
                name = Some(*word);
                at += 1;
            }
            // Its arguments, of a function or of a type, or the next bound.
            Token::Mark('<' | '(' | '+') if name.is_some() => break,
            _ => return None,
        }
    }
    name
}

/// Returns the number of tokens from `<` to its `>`.
fn angles(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('<') => depth += 1,
            // The arrow of `Fn() -> T`.
            Token::Mark('>') if at > 0 && tokens[at - 1] == Token::Mark('-') => {}
            Token::Mark('>') => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Splits a file into words and marks, each with its line. Comments, literals of texts and
/// lifetimes are left out.
fn tokens(text: &str) -> impl Iterator<Item = (Token<'_>, u32)> {
    let mut rest = text;
    let mut line = 1_u32;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let (end, token) = match skipped(rest, first) {
                Some(end) => (end, None),
                None if is_word(first) => {
                    let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
                    (end, Some(Token::Word(&rest[..end])))
                }
                None => (first.len_utf8(), Some(Token::Mark(first))),
            };
            let (read, after) = rest.split_at(end);
            let at = line;
            let lines = read.bytes().filter(|byte| *byte == b'\n').count();
            line = line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            rest = after;
            if let Some(token) = token {
                return Some((token, at));
            }
        }
    })
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Returns the length of what means nothing here, if the text starts with it.
fn skipped(text: &str, first: char) -> Option<usize> {
    let until = |end: &str, from: usize| text[from..].find(end).map(|at| from + at + end.len());
    match first {
        _ if first.is_whitespace() => Some(first.len_utf8()),
        '/' if text.starts_with("//") => Some(text.find('\n').unwrap_or(text.len())),
        '/' if text.starts_with("/*") => Some(comment(text)),
        '"' => Some(string(text, 0)),
        'r' | 'b' | 'c' => {
            let prefix = text.find(|char| !matches!(char, 'r' | 'b' | 'c'))?;
            let hashes = text[prefix..]
                .bytes()
                .take_while(|byte| *byte == b'#')
                .count();
            let quote = prefix + hashes;
            match text.as_bytes().get(quote)? {
                b'"' if text[..prefix].contains('r') => {
                    let end = format!("\"{}", "#".repeat(hashes));
                    Some(until(&end, quote + 1).unwrap_or(text.len()))
                }
                b'"' if hashes == 0 => Some(string(text, quote)),
                b'\'' if hashes == 0 => Some(quote + quoted(&text[quote..])),
                _ => None,
            }
        }
        '\'' => Some(quoted(text)),
        _ => None,
    }
}

/// Returns the length of a comment that may contain others.
fn comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(next) = text[at..].find(['/', '*']) {
        at += next;
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => {
                (depth, at) = (depth.saturating_sub(1), at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns where a string ends that opens at `quote`.
fn string(text: &str, quote: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(quote + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character such as `'{'`, or of the mark of a lifetime.
fn quoted(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // The escaped character may be a quotation mark itself.
            let end = chars
                .nth(1)
                .and_then(|(at, _)| text[at..].find('\'').map(|end| at + end));
            end.map_or(1, |end| end + 1)
        }
        Some((_, char)) if char != '\'' => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::functions;

    proptest! {
        /// Any text gives functions that are in it.
        #[test]
        fn any_text(parts in proptest::collection::vec(
            "fn |impl |for |<|>|\\{|\\}|\\(|\\)|;|'|\"|\\\\|r#|/\\*|\\*/|//|\n|é|a|b",
            0..60,
        )) {
            let text = parts.concat();
            let lines = u32::try_from(text.split('\n').count()).expect("a short text");
            let found = functions(&text);
            for function in &found {
                prop_assert!(*function.lines.start() >= 1 && *function.lines.end() <= lines);
                prop_assert!(text.contains(&function.name));
            }
            prop_assert!(found.is_sorted_by_key(|function| *function.lines.start()));
        }
    }
}
