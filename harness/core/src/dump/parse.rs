//! One pass over the bytes: no line is split off, copied or checked for UTF-8
//! before it is understood, except to quote it in an error.

use super::error::{DumpError, Expected, Found};
use super::interval::SampleInterval;
use super::maps::Maps;
use super::{HeapDump, MAX_FRAMES, Stack, totals};
use crate::{Avma, Counts, Tally};

/// What an address takes in a dump of a 64-bit program: ` 0x7f29096a2630`.
const BYTES_PER_FRAME: usize = 15;

pub(super) fn parse(bytes: &[u8]) -> Result<HeapDump, DumpError> {
    let mut text = Text {
        bytes,
        position: 0,
        line: 1,
    };
    let sample_interval = header(&mut text)?;
    let totals = process(&mut text)?;

    let mut frames = Vec::with_capacity(bytes.len() / BYTES_PER_FRAME);
    let mut stacks = Vec::new();
    while text.eat(b"@") {
        stack_frames(&mut text, &mut frames)?;
        let line = text.line;
        text.next_line()?;
        let counts = stack_counts(&mut text, line)?;
        stacks.push(Stack {
            end: frames.len(),
            counts,
        });
    }
    let maps = maps(&mut text)?;

    if let Some(totals) = totals {
        totals::check(sample_interval, totals, &stacks).map_err(|sum| {
            let found = Text {
                bytes,
                position: 0,
                line: 1,
            }
            .second_line();
            DumpError::at(2, Expected::TotalsOfStacks { stacks: sum }, found)
        })?;
    }
    Ok(HeapDump {
        sample_interval,
        totals,
        frames,
        stacks,
        maps,
    })
}

/// `heap_v2/524288`
fn header(text: &mut Text<'_>) -> Result<SampleInterval, DumpError> {
    if !text.eat(b"heap_v2/") {
        return Err(text.expected(Expected::Header));
    }
    let interval = text.decimal(Expected::Header)?;
    let interval = SampleInterval::new(interval).ok_or_else(|| text.expected(Expected::Header))?;
    text.next_line()?;
    Ok(interval)
}

/// The process's line and its threads'. A dump that was made by hand may begin
/// with its first stack; one that ends here was cut.
fn process(text: &mut Text<'_>) -> Result<Option<Counts>, DumpError> {
    if text.starts_with(b"@") {
        return Ok(None);
    }
    if !text.eat(b"  t*: ") {
        return Err(text.expected(Expected::Totals));
    }
    let totals = counts(text)?;
    text.next_line()?;
    while thread(text)? {
        // A thread's name may hold anything but the end of a line.
        if text.starts_with(b" ") {
            text.skip_line();
        }
        text.next_line()?;
    }
    Ok(Some(totals))
}

/// ` 0x7f29096a2630 0x7f29096a2d21`, up to the end of the line.
fn stack_frames(text: &mut Text<'_>, frames: &mut Vec<Avma>) -> Result<(), DumpError> {
    let start = frames.len();
    while text.eat(b" ") {
        if frames.len() - start == MAX_FRAMES {
            return Err(text.expected(Expected::FewerFrames));
        }
        if !text.eat(b"0x") {
            return Err(text.expected(Expected::Address));
        }
        let (address, length) = leading_hexadecimal(&text.bytes[text.position..]);
        let Some(address) = address else {
            return Err(text.expected(Expected::Address));
        };
        text.position += length;
        frames.push(Avma(address));
    }
    if !text.at_line_end() {
        return Err(text.expected(Expected::Address));
    }
    Ok(())
}

/// The line of counts that follows a stack, and its threads'.
fn stack_counts(text: &mut Text<'_>, stack: usize) -> Result<Counts, DumpError> {
    if !text.eat(b"  t*: ") {
        return Err(text.expected(Expected::Counts { stack }));
    }
    let counts = counts(text)?;
    text.next_line()?;
    while thread(text)? {
        text.next_line()?;
    }
    Ok(counts)
}

/// `  t12: 1: 8 [0: 0]`, if the line is one.
fn thread(text: &mut Text<'_>) -> Result<bool, DumpError> {
    if !text.starts_with(b"  t") || text.starts_with(b"  t*") {
        return Ok(false);
    }
    text.position += b"  t".len();
    text.decimal(Expected::CountsForm)?;
    text.expect(b": ")?;
    counts(text)?;
    Ok(true)
}

/// `3: 2048 [9: 4096]`
fn counts(text: &mut Text<'_>) -> Result<Counts, DumpError> {
    let inuse = tally(text)?;
    text.expect(b" [")?;
    let alloc = tally(text)?;
    text.expect(b"]")?;
    Ok(Counts { inuse, alloc })
}

/// `3: 2048`
fn tally(text: &mut Text<'_>) -> Result<Tally, DumpError> {
    let objects = text.decimal(Expected::CountsForm)?;
    text.expect(b": ")?;
    let bytes = text.decimal(Expected::CountsForm)?;
    Ok(Tally { objects, bytes })
}

/// What follows the last stack.
fn maps(text: &mut Text<'_>) -> Result<Option<Maps>, DumpError> {
    let mut separated = false;
    while !text.at_end() && text.at_line_end() {
        text.next_line()?;
        separated = true;
    }
    if text.at_end() {
        return Ok(None);
    }
    if !text.eat(b"MAPPED_LIBRARIES:") {
        let expected = if separated {
            Expected::Maps
        } else {
            Expected::Record
        };
        return Err(text.expected(expected));
    }
    text.next_line()?;
    let mut maps = Maps::default();
    while !text.at_end() {
        let start = text.position;
        text.skip_line();
        // The kernel prints none; a stray one must not change what is printed
        // back, nor may the `\r` of `\r\n`.
        let line = without_returns(&text.bytes[start..text.position]);
        if line.contains(&0) {
            text.position = start;
            return Err(text.expected(Expected::MapLine));
        }
        if !line.is_empty() {
            maps.push(line);
        }
        text.next_line()?;
    }
    Ok(Some(maps))
}

fn without_returns(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .rposition(|byte| *byte != b'\r')
        .map_or(0, |last| last + 1);
    &line[..end]
}

/// A position in the dump and its line.
struct Text<'a> {
    bytes: &'a [u8],
    position: usize,
    line: usize,
}

impl<'a> Text<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    fn starts_with(&self, prefix: &[u8]) -> bool {
        self.rest().starts_with(prefix)
    }

    fn eat(&mut self, prefix: &[u8]) -> bool {
        let found = self.starts_with(prefix);
        if found {
            self.position += prefix.len();
        }
        found
    }

    fn expect(&mut self, punctuation: &[u8]) -> Result<(), DumpError> {
        if self.eat(punctuation) {
            Ok(())
        } else {
            Err(self.expected(Expected::CountsForm))
        }
    }

    fn at_end(&self) -> bool {
        self.position == self.bytes.len()
    }

    fn at_line_end(&self) -> bool {
        self.starts_with(b"\n") || self.starts_with(b"\r\n")
    }

    /// Goes on to the next line. A last line without an end was cut short, even
    /// if what stands there reads well.
    fn next_line(&mut self) -> Result<(), DumpError> {
        if self.eat(b"\n") || self.eat(b"\r\n") {
            self.line += 1;
            Ok(())
        } else {
            let found = if self.at_end() {
                Found::End
            } else {
                self.found()
            };
            Err(DumpError::at(self.line, Expected::EndOfLine, found))
        }
    }

    /// Up to the end of the line, before `\n` or `\r\n`.
    fn skip_line(&mut self) {
        let rest = self.rest();
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        let returned = length < rest.len() && rest[..length].ends_with(b"\r");
        self.position += length - usize::from(returned);
    }

    fn decimal(&mut self, otherwise: Expected) -> Result<u64, DumpError> {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return Err(self.expected(otherwise));
        }
        let number = decimal(&rest[..length]).ok_or_else(|| self.expected(Expected::Number))?;
        self.position += length;
        Ok(number)
    }

    #[cold]
    fn expected(&self, expected: Expected) -> DumpError {
        DumpError::at(self.line, expected, self.found())
    }

    /// The whole line of the position, or the end.
    fn found(&self) -> Found {
        let start = self.bytes[..self.position]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let line = &self.bytes[start..];
        if line.is_empty() {
            return Found::End;
        }
        let end = line
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(line.len());
        Found::line(without_returns(&line[..end]))
    }

    fn second_line(mut self) -> Found {
        self.skip_line();
        // It was parsed before, so it is there.
        if self.next_line().is_ok() {
            self.found()
        } else {
            Found::End
        }
    }
}

/// A number of decimal digits; `None` where it does not fit.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A number of hexadecimal digits and nothing else.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let (number, length) = leading_hexadecimal(digits);
    number.filter(|_| length == digits.len())
}

/// The hexadecimal digits that a text begins with, and how many those are;
/// `None` where there is none, or more than fit.
fn leading_hexadecimal(text: &[u8]) -> (Option<u64>, usize) {
    let mut number = 0_u64;
    let mut length = 0;
    for byte in text {
        let digit = DIGITS[usize::from(*byte)];
        if digit == NO_DIGIT {
            break;
        }
        if number >> 60 != 0 {
            return (None, length);
        }
        number = number << 4 | u64::from(digit);
        length += 1;
    }
    ((length > 0).then_some(number), length)
}

const NO_DIGIT: u8 = 0xff;

/// The value of each byte as a hexadecimal digit. A dump is mostly addresses.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0_u8;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
