//! Brackets in the names of functions.
//!
//! Not every `>` closes: `fn(u8) -> u8` has an arrow, which legacy mangling
//! turns into ` .> `, and a constant argument may be `'>'`. Everything here looks
//! at each byte once and does not recurse.

/// The position of the `>` that closes the `<` at `open`.
pub(super) fn closing_angle(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let tokens = Tokens {
        text,
        position: open,
    };
    for (position, byte) in tokens {
        match byte {
            b'<' => depth += 1,
            b'>' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(position);
                }
            }
            _ => {}
        }
    }
    None
}

/// The first place, outside all brackets, where one of the patterns stands.
pub(super) fn find_outside(text: &str, pattern: &str) -> Option<usize> {
    outside(text)
        .find(|(position, _)| text[*position..].starts_with(pattern))
        .map(|(at, _)| at)
}

/// The bytes outside all brackets, with their positions; an opening bracket is
/// outside itself.
pub(super) fn outside(text: &str) -> impl Iterator<Item = (usize, u8)> + '_ {
    let mut depth = 0_usize;
    Tokens { text, position: 0 }.filter(move |(_, byte)| match byte {
        b'<' | b'(' | b'[' | b'{' => {
            depth += 1;
            depth == 1
        }
        b'>' | b')' | b']' | b'}' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    })
}

/// Bytes that mean something: arrows and quoted constants are passed over.
struct Tokens<'a> {
    text: &'a str,
    position: usize,
}

impl Iterator for Tokens<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        let bytes = self.text.as_bytes();
        loop {
            let position = self.position;
            let byte = *bytes.get(position)?;
            match byte {
                b'-' | b'.' if bytes.get(position + 1) == Some(&b'>') => self.position += 2,
                b'\'' => self.position += quoted(&self.text[position..]),
                // Only bytes at the start of a character may be sliced at.
                _ if !byte.is_ascii() => self.position += 1,
                _ => {
                    self.position += 1;
                    return Some((position, byte));
                }
            }
        }
    }
}

/// The length of the `'x'` or `'\u{1f}'` that a text begins with; of a lifetime,
/// only that of its quote.
fn quoted(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // An escape is short: a longer one is none.
            chars.next();
            chars
                .take(10)
                .find(|(_, char)| *char == '\'')
                .map_or(1, |(end, _)| end + 1)
        }
        Some(_) => match chars.next() {
            Some((end, '\'')) => end + 1,
            _ => 1,
        },
        None => 1,
    }
}
