//! Reads a dump line by line: only the current line has to be in memory. No line is copied or
//! checked for UTF-8 before it is parsed, except to quote it in an error.

use std::borrow::Cow;

use super::digits::{decimal, leading_hexadecimal};
use super::error::{DumpError, Found};
use super::interval::SampleInterval;
use super::maps::{Mapping, Maps};
use super::totals::Totals;
use super::{HeapDump, MAX_FRAMES, Stack};
use crate::{Avma, Counts, Tally};

/// The bytes of an address in a dump of a 64-bit program: ` 0x7f29096a2630`.
const BYTES_PER_FRAME: usize = 15;

/// Takes the parts of a dump, each as soon as it is read.
pub trait Parts {
    /// Takes a stack, leaf first, and its counts.
    fn stack(&mut self, stack: &[Avma], counts: Counts);

    /// Takes a mapping, or a line in its place that cannot be read.
    fn mapping(&mut self, mapping: Result<Mapping, &[u8]>);
}

/// All parts of a dump.
#[derive(Default)]
struct Whole {
    frames: Vec<Avma>,
    stacks: Vec<Stack>,
    maps: Maps,
}

impl Parts for Whole {
    fn stack(&mut self, stack: &[Avma], counts: Counts) {
        self.frames.extend_from_slice(stack);
        self.stacks.push(Stack {
            end: self.frames.len(),
            counts,
        });
    }

    fn mapping(&mut self, mapping: Result<Mapping, &[u8]>) {
        match mapping {
            Ok(mapping) => self.maps.mappings.push(mapping),
            Err(line) => {
                let line = String::from_utf8_lossy(line).into_owned();
                self.maps.unreadable.push(line);
            }
        }
    }
}

pub(super) fn parse(bytes: &[u8]) -> Result<HeapDump, DumpError> {
    let mut whole = Whole {
        frames: Vec::with_capacity(bytes.len() / BYTES_PER_FRAME),
        ..Whole::default()
    };
    let mut reader = DumpReader::new();
    let rest = reader.lines(bytes, &mut whole)?;
    let end = reader.end(rest, &mut whole)?;
    Ok(HeapDump {
        sample_interval: end.sample_interval,
        totals: end.totals,
        frames: whole.frames,
        stacks: whole.stacks,
        maps: end.has_maps.then_some(whole.maps),
    })
}

/// Reads a dump that comes in pieces. The reader itself keeps no more than one stack.
///
/// ```
/// use plimsoll_core::dump::{DumpReader, Mapping, Parts};
/// use plimsoll_core::{Avma, Counts};
///
/// #[derive(Default)]
/// struct Deepest(usize);
///
/// impl Parts for Deepest {
///     fn stack(&mut self, stack: &[Avma], _: Counts) {
///         self.0 = self.0.max(stack.len());
///     }
///     fn mapping(&mut self, _: Result<Mapping, &[u8]>) {}
/// }
///
/// let mut deepest = Deepest::default();
/// let mut reader = DumpReader::new();
/// let text = b"heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1 0x2\n  t*: 1: 8 [0: 0]\n";
/// let rest = reader.lines(text, &mut deepest)?;
/// let end = reader.end(rest, &mut deepest)?;
/// assert_eq!((deepest.0, end.has_maps), (2, false));
/// # Ok::<(), plimsoll_core::dump::DumpError>(())
/// ```
#[derive(Debug, Default)]
pub struct DumpReader {
    state: State,
    /// The number of lines before the dump, which do not belong to it.
    before: usize,
    /// The number of lines that were read, including those before the dump.
    line: usize,
    sample_interval: SampleInterval,
    totals: Option<Totals>,
    /// The line with the totals, for a quote in an error.
    second_line: Found,
    /// The frames of the stack that is being read.
    frames: Vec<Avma>,
}

/// The content of a dump besides its stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpEnd {
    /// The mean number of bytes between two samples.
    pub sample_interval: SampleInterval,
    /// The counts of the process, as printed. `None` in dumps made by hand.
    pub totals: Option<Counts>,
    /// Whether the dump has mappings. If not, it ends before them.
    pub has_maps: bool,
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
        parts: &mut impl Parts,
    ) -> Result<&'a [u8], DumpError> {
        let mut rest = piece;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            self.read(line.strip_suffix(b"\r").unwrap_or(line), parts)?;
            rest = &rest[end + 1..];
        }
        Ok(rest)
    }

    /// Ends the dump with what is left of the last piece.
    ///
    /// # Errors
    ///
    /// If a dump cannot end here, or if the stacks do not add up to the totals. A last line
    /// without an end was cut short, even if it can be parsed.
    pub fn end(mut self, rest: &[u8], parts: &mut impl Parts) -> Result<DumpEnd, DumpError> {
        if !rest.is_empty() {
            self.read(rest, parts)?;
            return Err(DumpError::at(self.line, END_OF_LINE, Found::End));
        }
        let ends_early = |expected| Err(DumpError::at(self.line + 1, expected, Found::End));
        match self.state {
            State::Header => ends_early(HEADER.to_owned()),
            State::Process => ends_early(TOTALS.to_owned()),
            State::Counts { stack } => ends_early(counts_of(stack)),
            State::ThreadOfProcess | State::ThreadOfStack | State::Blank | State::Maps => {
                if let Some(totals) = &self.totals {
                    let agree = totals.check();
                    agree.map_err(|sum| self.other_totals("which add up to", sum))?;
                }
                Ok(DumpEnd {
                    sample_interval: self.sample_interval,
                    totals: self.totals.map(|totals| totals.printed),
                    has_maps: self.state == State::Maps,
                })
            }
        }
    }

    fn other_totals(&self, add_up: &str, sum: Tally) -> DumpError {
        let Tally { objects, bytes } = sum;
        let expected = format!("totals that agree with the stacks, {add_up} `{objects}: {bytes}`");
        DumpError::at(self.before + 2, expected, self.second_line.clone())
    }

    fn read(&mut self, line: &[u8], parts: &mut impl Parts) -> Result<(), DumpError> {
        self.line += 1;
        let mut text = Text {
            whole: line,
            rest: line,
            line: self.line,
        };
        match self.state {
            State::Header => {
                self.sample_interval = header(&mut text)?;
                self.state = State::Process;
            }
            State::Process if line.starts_with(b"@") => self.stack(&mut text)?,
            State::Process => {
                text.expect(b"  t*: ", TOTALS)?;
                let printed = counts(&mut text)?;
                text.end()?;
                self.totals = Some(Totals::new(self.sample_interval, printed));
                self.second_line = text.found();
                self.state = State::ThreadOfProcess;
            }
            State::Counts { stack } => {
                if !text.eat(b"  t*: ") {
                    return Err(text.expected(counts_of(stack)));
                }
                let counts = counts(&mut text)?;
                text.end()?;
                // A dump without an end is known by its totals.
                let more = self
                    .totals
                    .as_mut()
                    .map_or(Ok(()), |totals| totals.add(counts));
                let line = self.line;
                more.map_err(|sum| {
                    self.other_totals(&format!("which add up to more by line {line}:"), sum)
                })?;
                parts.stack(&self.frames, counts);
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
            State::Maps => map(&text, parts)?,
            State::ThreadOfProcess | State::ThreadOfStack | State::Blank => {
                if line.is_empty() {
                    self.state = State::Blank;
                } else if text.eat(b"MAPPED_LIBRARIES:") {
                    text.end()?;
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
}

/// Parses `heap_v2/524288`.
fn header(text: &mut Text<'_>) -> Result<SampleInterval, DumpError> {
    text.expect(b"heap_v2/", HEADER)?;
    let interval = text.decimal(HEADER)?;
    let interval = SampleInterval::new(interval).ok_or_else(|| text.expected(HEADER))?;
    text.end()?;
    Ok(interval)
}

fn map(text: &Text<'_>, parts: &mut impl Parts) -> Result<(), DumpError> {
    // The kernel prints no carriage returns. A stray one must not change what `Display`
    // prints, and neither may the `\r` of `\r\n`.
    let line = without_returns(text.whole);
    if line.contains(&0) {
        return Err(text.expected("a mapping"));
    }
    if !line.is_empty() {
        parts.mapping(Mapping::parse(line).ok_or(line));
    }
    Ok(())
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
