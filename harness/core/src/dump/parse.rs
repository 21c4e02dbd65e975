//! Reads a dump line by line: only the current line has to be in memory. No line is copied or
//! checked for UTF-8 before it is parsed, except to quote it in an error.

use std::borrow::Cow;

use super::digits::{decimal, leading_hexadecimal};
use super::error::{DumpError, Found};
use super::interval::SampleInterval;
use super::maps::Maps;
use super::{HeapDump, MAX_FRAMES, Stack, totals};
use crate::{Avma, Counts, Tally};

/// The bytes of an address in a dump of a 64-bit program: ` 0x7f29096a2630`.
const BYTES_PER_FRAME: usize = 15;

pub(super) fn parse(bytes: &[u8]) -> Result<HeapDump, DumpError> {
    let mut frames = Vec::with_capacity(bytes.len() / BYTES_PER_FRAME);
    let mut stacks = Vec::new();
    let mut collect = |record: &[Avma], counts| {
        frames.extend_from_slice(record);
        stacks.push(Stack {
            end: frames.len(),
            counts,
        });
    };
    let mut reader = DumpReader::new();
    let rest = reader.lines(bytes, &mut collect)?;
    reader.end(rest, &mut collect)?;
    let rest = reader.finish(stacks.iter().map(|stack| stack.counts))?;
    Ok(HeapDump {
        sample_interval: rest.sample_interval,
        totals: rest.totals,
        frames,
        stacks,
        maps: rest.maps,
    })
}

/// Reads a dump that comes in pieces, and passes each stack on as soon as it is read.
///
/// ```
/// use plimsoll_core::dump::DumpReader;
///
/// let mut all = Vec::new();
/// let mut collect = |_: &[_], counts| all.push(counts);
/// let mut reader = DumpReader::new();
/// let text = b"heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1 0x2\n  t*: 1: 8 [0: 0]\n";
/// let rest = reader.lines(text, &mut collect)?;
/// reader.end(rest, &mut collect)?;
/// let end = reader.finish(all.iter().copied())?;
/// assert_eq!((all[0].inuse.bytes, end.totals), (8, Some(all[0])));
/// # Ok::<(), plimsoll_core::dump::DumpError>(())
/// ```
#[derive(Debug, Default)]
pub struct DumpReader {
    state: State,
    /// The number of lines before the dump, which do not belong to it.
    before: usize,
    /// The number of lines that were read, including those before the dump.
    line: usize,
    sample_interval: Option<SampleInterval>,
    totals: Option<Counts>,
    /// The line with the totals, for a quote in an error.
    second_line: Found,
    /// The frames of the stack that is being read.
    frames: Vec<Avma>,
    maps: Option<Maps>,
}

/// The content of a dump besides its stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpEnd {
    /// The mean number of bytes between two samples.
    pub sample_interval: SampleInterval,
    /// The counts of the process, as printed. `None` in dumps made by hand.
    pub totals: Option<Counts>,
    /// The process's mappings. `None` if the dump ends before them.
    pub maps: Option<Maps>,
}

/// What may come next in a dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// `heap_v2/524288`
    #[default]
    Header,
    /// The counts of the process. A dump that was made by hand may begin with its first stack.
    Process,
    /// The counts of a thread, with its name, or a stack.
    ThreadOfProcess,
    /// The counts of the stack on that line.
    Counts { stack: usize },
    /// The counts of a thread, or the next stack.
    ThreadOfStack,
    /// Nothing more, or the mappings.
    Blank,
    /// A mapping.
    Maps,
}

/// What is expected in the lines of a dump.
const HEADER: &str = "`heap_v2/` and a sample interval";
const TOTALS: &str = "the counts of the process, or a stack";
const COUNTS: &str = "counts such as `t*: 1: 8 [0: 0]`";
const ADDRESS: &str = "an address such as `0x1f` of at most 64 bits";
const END_OF_LINE: &str = "the end of the line";

fn counts_of(stack: usize) -> String {
    format!("counts for the stack on line {stack}")
}

impl DumpReader {
    /// Makes a reader that is at the beginning of a dump.
    pub fn new() -> Self {
        DumpReader::default()
    }

    /// Makes a reader for a dump after so many lines of other text, so that errors state the
    /// right line.
    pub fn after(lines: usize) -> Self {
        DumpReader {
            before: lines,
            line: lines,
            ..DumpReader::new()
        }
    }

    /// Returns how many lines were read, including those before the dump.
    pub fn lines_read(&self) -> usize {
        self.line
    }

    /// Reads all whole lines of a piece, and returns the rest: the beginning of a line, which
    /// belongs before the next piece.
    ///
    /// # Errors
    ///
    /// The same as [`HeapDump::parse`].
    pub fn lines<'a>(
        &mut self,
        piece: &'a [u8],
        record: &mut impl FnMut(&[Avma], Counts),
    ) -> Result<&'a [u8], DumpError> {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            self.read(line.strip_suffix(b"\r").unwrap_or(line), record)?;
            rest = &rest[end + 1..];
        }
        Ok(rest)
    }

    /// Ends the dump with what is left of the last piece.
    ///
    /// # Errors
    ///
    /// If a dump cannot end here. A last line without an end was cut short, even if it can be
    /// parsed.
    pub fn end(
        &mut self,
        rest: &[u8],
        record: &mut impl FnMut(&[Avma], Counts),
    ) -> Result<(), DumpError> {
        if !rest.is_empty() {
            self.read(rest, record)?;
            return Err(DumpError::at(self.line, END_OF_LINE, Found::End));
        }
        let ends_early = |expected| Err(DumpError::at(self.line + 1, expected, Found::End));
        match self.state {
            State::Header => ends_early(HEADER.to_owned()),
            State::Process => ends_early(TOTALS.to_owned()),
            State::Counts { stack } => ends_early(counts_of(stack)),
            State::ThreadOfProcess | State::ThreadOfStack | State::Blank | State::Maps => Ok(()),
        }
    }

    /// Checks the totals against the counts of all stacks that were read.
    ///
    /// # Errors
    ///
    /// If they do not add up, or if not even the header was read.
    pub fn finish(
        self,
        counts: impl Iterator<Item = Counts> + Clone,
    ) -> Result<DumpEnd, DumpError> {
        let Some(sample_interval) = self.sample_interval else {
            return Err(DumpError::at(self.line + 1, HEADER, Found::End));
        };
        if let Some(totals) = self.totals {
            totals::check(sample_interval, totals, counts).map_err(
                |Tally { objects, bytes }| {
                    let expected = format!(
                        "totals that agree with the stacks, which add up to `{objects}: {bytes}`"
                    );
                    DumpError::at(self.before + 2, expected, self.second_line)
                },
            )?;
        }
        Ok(DumpEnd {
            sample_interval,
            totals: self.totals,
            maps: self.maps,
        })
    }

    fn read(
        &mut self,
        line: &[u8],
        record: &mut impl FnMut(&[Avma], Counts),
    ) -> Result<(), DumpError> {
        self.line += 1;
        let mut text = Text {
            whole: line,
            rest: line,
            line: self.line,
        };
        match self.state {
            State::Header => {
                self.sample_interval = Some(header(&mut text)?);
                self.state = State::Process;
            }
            State::Process if line.starts_with(b"@") => self.stack(&mut text)?,
            State::Process => {
                text.expect(b"  t*: ", TOTALS)?;
                self.totals = Some(counts(&mut text)?);
                text.end()?;
                self.second_line = text.found();
                self.state = State::ThreadOfProcess;
            }
            State::Counts { stack } => {
                if !text.eat(b"  t*: ") {
                    return Err(text.expected(counts_of(stack)));
                }
                let counts = counts(&mut text)?;
                text.end()?;
                record(&self.frames, counts);
                self.state = State::ThreadOfStack;
            }
            State::ThreadOfProcess if thread(&mut text)? => {
                // A thread's name may contain anything but a line feed.
                if !text.rest.starts_with(b" ") {
                    text.end()?;
                }
            }
            State::ThreadOfStack if thread(&mut text)? => text.end()?,
            State::ThreadOfProcess | State::ThreadOfStack if line.starts_with(b"@") => {
                self.stack(&mut text)?;
            }
            State::Maps => self.map(&text)?,
            State::ThreadOfProcess | State::ThreadOfStack | State::Blank => {
                if line.is_empty() {
                    self.state = State::Blank;
                } else if text.eat(b"MAPPED_LIBRARIES:") {
                    text.end()?;
                    self.maps = Some(Maps::default());
                    self.state = State::Maps;
                } else {
                    return Err(text.expected(match self.state {
                        State::Blank => "`MAPPED_LIBRARIES:` after an empty line",
                        _ => "a stack, counts of a thread, or `MAPPED_LIBRARIES:`",
                    }));
                }
            }
        }
        Ok(())
    }

    /// Parses `@ 0x7f29096a2630 0x7f29096a2d21`.
    fn stack(&mut self, text: &mut Text<'_>) -> Result<(), DumpError> {
        text.eat(b"@");
        self.frames.clear();
        while text.eat(b" ") {
            if self.frames.len() == MAX_FRAMES {
                return Err(text.expected(format!("at most {MAX_FRAMES} addresses")));
            }
            text.expect(b"0x", ADDRESS)?;
            let (address, length) = leading_hexadecimal(text.rest);
            let address = address.ok_or_else(|| text.expected(ADDRESS))?;
            text.rest = &text.rest[length..];
            self.frames.push(Avma(address));
        }
        if !text.rest.is_empty() {
            return Err(text.expected(ADDRESS));
        }
        self.state = State::Counts { stack: self.line };
        Ok(())
    }

    fn map(&mut self, text: &Text<'_>) -> Result<(), DumpError> {
        // The kernel prints no carriage returns. A stray one must not change what `Display`
        // prints, and neither may the `\r` of `\r\n`.
        let line = without_returns(text.whole);
        if line.contains(&0) {
            return Err(text.expected("a mapping"));
        }
        if let Some(maps) = self.maps.as_mut().filter(|_| !line.is_empty()) {
            maps.push(line);
        }
        Ok(())
    }
}

/// Parses `heap_v2/524288`.
fn header(text: &mut Text<'_>) -> Result<SampleInterval, DumpError> {
    text.expect(b"heap_v2/", HEADER)?;
    let interval = text.decimal(HEADER)?;
    let interval = SampleInterval::new(interval).ok_or_else(|| text.expected(HEADER))?;
    text.end()?;
    Ok(interval)
}

/// Reads `  t12: 1: 8 [0: 0]`. Returns whether the line is one of a thread.
fn thread(text: &mut Text<'_>) -> Result<bool, DumpError> {
    if !text.rest.starts_with(b"  t") || text.rest.starts_with(b"  t*") {
        return Ok(false);
    }
    text.eat(b"  t");
    text.decimal(COUNTS)?;
    text.expect(b": ", COUNTS)?;
    counts(text)?;
    Ok(true)
}

/// Parses `3: 2048 [9: 4096]`.
fn counts(text: &mut Text<'_>) -> Result<Counts, DumpError> {
    let inuse = tally(text)?;
    text.expect(b" [", COUNTS)?;
    let alloc = tally(text)?;
    text.expect(b"]", COUNTS)?;
    Ok(Counts { inuse, alloc })
}

/// Parses `3: 2048`.
fn tally(text: &mut Text<'_>) -> Result<Tally, DumpError> {
    let objects = text.decimal(COUNTS)?;
    text.expect(b": ", COUNTS)?;
    let bytes = text.decimal(COUNTS)?;
    Ok(Tally { objects, bytes })
}

fn without_returns(line: &[u8]) -> &[u8] {
    let last = line.iter().rposition(|byte| *byte != b'\r');
    &line[..last.map_or(0, |last| last + 1)]
}

/// A line without its end, and the part of it that is still to be read.
struct Text<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    line: usize,
}

impl Text<'_> {
    fn eat(&mut self, prefix: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &[u8], expected: &'static str) -> Result<(), DumpError> {
        match self.eat(prefix) {
            true => Ok(()),
            false => Err(self.expected(expected)),
        }
    }

    fn end(&self) -> Result<(), DumpError> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(self.expected(END_OF_LINE)),
        }
    }

    fn decimal(&mut self, expected: &'static str) -> Result<u64, DumpError> {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(length.count());
        if digits.is_empty() {
            return Err(self.expected(expected));
        }
        let number = decimal(digits);
        let number = number.ok_or_else(|| self.expected("a number of at most 64 bits"))?;
        self.rest = rest;
        Ok(number)
    }

    #[cold]
    fn expected(&self, expected: impl Into<Cow<'static, str>>) -> DumpError {
        DumpError::at(self.line, expected, self.found())
    }

    /// Quotes the whole line.
    fn found(&self) -> Found {
        Found::line(without_returns(self.whole))
    }
}
