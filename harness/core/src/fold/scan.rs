//! Finds brackets in the names of functions.
//!
//! Not every `>` is a bracket. `fn(u8) -> u8` has an arrow, which legacy mangling turns into
//! ` .> `, and a constant argument may be `'>'`. The functions here look at each byte once and
//! do not recurse.

/// Returns the position of the `>` that closes the `<` at `open`.
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

/// Returns the position behind the bracket that is open at the start of a text, of any kind, and
/// the text's length if it stays open.
pub(super) fn closing(text: &str) -> usize {
    let mut depth = 1_usize;
    let mut tokens = Tokens { text, position: 0 };
    let end = tokens.find(|(_, byte)| {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(text.len(), |(position, _)| position)
}

/// Returns the first position of a pattern outside all brackets.
pub(super) fn find_outside(text: &str, pattern: &str) -> Option<usize> {
    outside(text)
        .find(|(position, _)| text[*position..].starts_with(pattern))
        .map(|(at, _)| at)
}

/// Returns the bytes outside all brackets, with their positions. An opening bracket counts as
/// outside of itself.
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

/// Bytes that have a meaning here. Arrows and quoted constants are skipped.
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
                // A text can be sliced only at the start of a character.
                _ if !byte.is_ascii() => self.position += 1,
                _ => {
                    self.position += 1;
                    return Some((position, byte));
                }
            }
        }
    }
}

/// Returns the length of the `'x'` or `'\u{1f}'` at the beginning of a text. For a lifetime,
/// only the length of its quote.
fn quoted(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            // An escape is short; anything longer is not one.
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
