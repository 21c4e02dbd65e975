//! Reads profiles in every supported format.
//!
//! | begins with | is |
//! |---|---|
//! | `1f 8b`, `28 b5 2f fd`, `5? 2a 4d 18` | gzip or zstd, and one of those below inside |
//! | `heap_v2/` | jemalloc's text, of 5.0 and later |
//! | `--- symbol` | the same with names, as `jeprof --raw` writes it |
//! | other text | folded stacks: `root;caller;leaf 123` |
//! | other bytes | pprof's protobuf |
//!
//! A profile may come from anyone, and may have no end. It has at most [`Limits::bytes`], and the
//! reader takes no more memory than that for it. Lines, frames of a stack and layers of
//! compression have limits of their own. Text is read in pieces, and what is kept of jemalloc's
//! takes less than half as much memory as the text. pprof's protobuf is held as a whole while it
//! is read, and what is kept of it takes about twice as much again. Input that is no profile is
//! refused at its first line or field that is none. An error says what was expected and, for
//! text, in which line.

mod folded;
mod heap;
mod pprof;
mod symbols;
mod zstd;

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use plimsoll_core::dump::DumpError;
use plimsoll_core::text::escape;

pub use pprof::PprofError;

use self::zstd::ZstdDecoder;
use crate::Profile;
use crate::profile::{TooManyFrames, TooManyLocations};

/// The limits of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest uncompressed profile, in bytes, and the most memory to take for it.
    pub bytes: u64,
}

impl Default for Limits {
    /// 1 GiB. Dumps of the largest heaps have a few hundred megabytes.
    fn default() -> Self {
        Limits { bytes: 1 << 30 }
    }
}

/// How many bytes one compressed byte may unpack to. Text of addresses shrinks to a tenth or a
/// twentieth.
const MAX_RATIO: u64 = 200;
/// The ratio is not checked up to this many unpacked bytes.
const ANY_RATIO: u64 = 64 << 20;
/// Bytes of the buffers before and behind a decoder.
const BUFFER: usize = 64 << 10;
/// Layers of compression: a server's around a file's.
const MAX_LAYERS: usize = 2;
/// How many bytes are read to recognise the format.
const LOOKED_AT: usize = 4_096;
/// The longest line, in bytes. The longest line that jemalloc writes has 65,536 addresses.
const MAX_LINE: usize = 2 << 20;

/// Why a profile cannot be read.
//
// There is no `source`: the message of the cause, with its place, is part of `Display`.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Its bytes cannot be read.
    #[error("{0}")]
    Io(io::Error),
    /// It is empty.
    #[error("expected a heap profile, found nothing")]
    Empty,
    /// It is larger than this many bytes.
    #[error("expected a profile of at most {0} bytes, found more")]
    TooLarge(u64),
    /// It takes more than this many bytes of memory.
    #[error("expected a profile that takes at most {0} bytes of memory, found more")]
    Memory(u64),
    /// Its compressed data cannot be unpacked.
    #[error("expected {with}, found what cannot be unpacked: {why}")]
    Compressed {
        /// The compression: `gzip` or `zstd`.
        with: &'static str,
        /// What went wrong.
        why: io::Error,
    },
    /// It unpacks to more than 200 times its size.
    #[error(
        "expected compressed data that grows to at most {MAX_RATIO} times its size, found more"
    )]
    Bomb,
    /// It is compressed more than twice.
    #[error("expected at most {MAX_LAYERS} layers of compression, found more")]
    Layers,
    /// This line, counted from 1, is longer than 2 MiB.
    #[error("line {0}: expected at most {MAX_LINE} bytes in one line, found more")]
    Line(usize),
    /// It is another kind of profile, or no profile at all: what the bytes look like.
    #[error(
        "expected a heap profile (jemalloc's `heap_v2/…`, pprof's protobuf, or folded stacks), \
         found {0}"
    )]
    Unknown(String),
    /// It is a picture of a profile.
    #[error(
        "expected a heap profile, found a picture (SVG)\n  hint: a server sends the profile itself \
         without `output=flamegraph` or `jeprof=true` in the address"
    )]
    Picture,
    /// A line is not what the format expects.
    #[error("line {line}: expected {expected}, found {found}")]
    Text {
        /// The number of the line, from 1.
        line: usize,
        /// What the line should be.
        expected: &'static str,
        /// What the line is.
        found: String,
    },
    /// It is not valid as jemalloc's text.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// It is not valid as pprof's protobuf.
    #[error(transparent)]
    Pprof(PprofError),
    /// It has more locations than there are numbers.
    #[error(transparent)]
    TooManyLocations(#[from] TooManyLocations),
    /// Its stacks have more frames than a profile of its size can have.
    #[error(transparent)]
    TooManyFrames(#[from] TooManyFrames),
}

impl ReadError {
    fn text(line: usize, expected: &'static str, found: String) -> ReadError {
        ReadError::Text {
            line,
            expected,
            found,
        }
    }
}

impl From<PprofError> for ReadError {
    fn from(why: PprofError) -> Self {
        match why {
            PprofError::Memory(limit) => ReadError::Memory(limit),
            why => ReadError::Pprof(why),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(why: io::Error) -> Self {
        // `Unpacked` wraps a `ReadError` in its `io::Error`.
        why.downcast().unwrap_or_else(ReadError::Io)
    }
}

/// Reads a profile in any of the formats of this module.
///
/// # Errors
///
/// If the bytes are not a profile, were cut short, or exceed a limit.
pub fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Profile, ReadError> {
    limited(input, limits, 0)
}

/// Reads at most one byte more than the limit, and fails if there is that byte.
fn limited(input: &mut dyn BufRead, limits: Limits, layers: usize) -> Result<Profile, ReadError> {
    let mut input = input.take(limits.bytes.saturating_add(1));
    let read = unpacked(&mut input, limits, layers);
    match input.limit() {
        0 => Err(ReadError::TooLarge(limits.bytes)),
        _ => read,
    }
}

impl Limits {
    /// Fails if this much memory is too much.
    fn check(self, memory: usize) -> Result<(), ReadError> {
        match memory as u64 > self.bytes {
            true => Err(ReadError::Memory(self.bytes)),
            false => Ok(()),
        }
    }
}

/// A format, as told by the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Zstd,
    Heap,
    Symbols,
    Folded,
    Pprof,
}

fn unpacked(input: &mut dyn BufRead, limits: Limits, layers: usize) -> Result<Profile, ReadError> {
    let mut beginning = Vec::new();
    let kind = kind(input, &mut beginning)?;
    // The bytes that were read to recognise the format are part of the profile.
    let mut whole = io::Cursor::new(&beginning).chain(input);
    match kind {
        Format::Gzip | Format::Zstd if layers == MAX_LAYERS => Err(ReadError::Layers),
        Format::Gzip | Format::Zstd => {
            let count = Cell::new(0);
            let packed = Counted {
                input: &mut whole,
                count: &count,
            };
            let packed = BufReader::with_capacity(BUFFER, packed);
            let (with, decoder): (_, Box<dyn Read>) = match kind {
                Format::Gzip => ("gzip", Box::new(MultiGzDecoder::new(packed))),
                _ => ("zstd", Box::new(ZstdDecoder::new(packed))),
            };
            let unpacked = Unpacked {
                decoder,
                with,
                packed: &count,
                count: 0,
            };
            let mut unpacked = BufReader::with_capacity(BUFFER, unpacked);
            limited(&mut unpacked, limits, layers + 1)
        }
        Format::Heap => heap::read(&mut whole, None, limits),
        Format::Symbols => {
            let symbols = symbols::read(&mut whole, limits)?;
            heap::read(&mut whole, Some(&symbols), limits)
        }
        Format::Folded => folded::read(&mut whole, limits),
        Format::Pprof => pprof::read(&mut whole, limits),
    }
}

/// Reads enough of the input to recognise its format. The bytes are left in `beginning`.
fn kind(input: &mut dyn BufRead, beginning: &mut Vec<u8>) -> Result<Format, ReadError> {
    let mut input = input.take(LOOKED_AT as u64);
    input.read_to_end(beginning)?;
    let is = |magic: &[u8]| beginning.starts_with(magic);
    let text = || quoted(first_line(beginning));
    let found = if beginning.is_empty() {
        return Err(ReadError::Empty);
    } else if is(&[0x1f, 0x8b]) {
        return Ok(Format::Gzip);
    } else if is(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skipped_by_zstd(beginning) {
        return Ok(Format::Zstd);
    } else if is(b"heap_v2/") {
        return Ok(Format::Heap);
    } else if is(b"--- symbol") || is(b"---symbol") {
        return Ok(Format::Symbols);
    } else if is(b"heap_v") {
        format!("jemalloc's format of another version, {}", text())
    } else if is(b"heap profile:") {
        "gperftools' own format, `heap profile:`".to_owned()
    } else if is(b"\x7fELF") {
        "a program (ELF): name it with --exe".to_owned()
    } else if is(b"<") && beginning.windows(4).any(|four| four == b"<svg") {
        return Err(ReadError::Picture);
    } else if is(b"<") || is(b"{") {
        // Mostly a server's answer: the request is not authorised, or there is no such page.
        text()
    } else if is_text(beginning) || folded::is_line(first_line(beginning)) {
        return Ok(Format::Folded);
    } else if may_be_protobuf(beginning) {
        return Ok(Format::Pprof);
    } else {
        format!("the bytes `{}`", hexadecimal(beginning))
    };
    Err(ReadError::Unknown(found))
}

fn first_line(beginning: &[u8]) -> &[u8] {
    let mut lines = beginning.split(|byte| *byte == b'\n');
    lines.next().unwrap_or_default()
}

/// Tells whether the bytes begin with a protobuf field: a field number above zero, and a wire
/// type that is in use.
fn may_be_protobuf(beginning: &[u8]) -> bool {
    let first = beginning.first().copied().unwrap_or_default();
    first >> 3 > 0 && matches!(first & 7, 0 | 1 | 2 | 5)
}

/// Returns the first 8 bytes in hexadecimal, for an error message.
fn hexadecimal(beginning: &[u8]) -> String {
    let first = beginning.iter().take(8);
    let bytes: Vec<String> = first.map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

/// Tells whether the bytes begin with a skippable zstd frame, as `pzstd` writes.
fn is_skipped_by_zstd(beginning: &[u8]) -> bool {
    matches!(beginning, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Tells whether the bytes may be text. Protobuf has small numbers everywhere: control
/// characters that no text contains.
fn is_text(beginning: &[u8]) -> bool {
    beginning
        .iter()
        .all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t'))
}

/// Quotes a line, or its beginning, for an error message.
fn quoted(line: &[u8]) -> String {
    const MOST: usize = 80;
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * MOST)]);
    let text = text.trim();
    if text.is_empty() {
        return "an empty line".to_owned();
    }
    format!("`{}`", escape::quoted(text, MOST))
}

/// Reads one line, without its line end, into `line`. Returns false at the end of the input.
fn next_line(
    input: &mut dyn BufRead,
    line: &mut Vec<u8>,
    number: &mut usize,
) -> Result<bool, ReadError> {
    line.clear();
    *number += 1;
    let mut limited = (&mut *input).take(MAX_LINE as u64 + 1);
    limited.read_until(b'\n', line)?;
    if line.len() > MAX_LINE {
        return Err(ReadError::Line(*number));
    }
    if line.is_empty() {
        return Ok(false);
    }
    for end in [b'\n', b'\r'] {
        if line.last() == Some(&end) {
            line.pop();
        }
    }
    Ok(true)
}

/// A reader that counts the bytes that were read.
struct Counted<'c, R> {
    input: R,
    count: &'c Cell<u64>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// The output of a decoder. Fails if the output is out of proportion to the input.
struct Unpacked<'c, D> {
    decoder: D,
    with: &'static str,
    /// How many bytes the decoder has read.
    packed: &'c Cell<u64>,
    count: u64,
}

impl<D: Read> Read for Unpacked<'_, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let with = self.with;
        let read = self.decoder.read(into).map_err(|why| {
            // An error of the layer below is passed on unchanged.
            let why = why.downcast();
            io::Error::other(why.unwrap_or_else(|why| ReadError::Compressed { with, why }))
        })?;
        self.count += read as u64;
        if self.count > ANY_RATIO && self.count / MAX_RATIO > self.packed.get() {
            return Err(io::Error::other(ReadError::Bomb));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use insta::assert_snapshot;

    use super::*;

    const LIMIT: u64 = 8 << 20;

    /// Reads an input without an end, which begins with `beginning` and goes on with what `next`
    /// appends. Returns the error, and how many MiB were read until then, rounded up.
    fn endless(beginning: &str, mut next: impl FnMut(u64, &mut Vec<u8>)) -> String {
        let count = Cell::new(0);
        let mut text = beginning.as_bytes().to_vec();
        let mut number = 0;
        let input = std::iter::from_fn(|| {
            while text.len() < BUFFER {
                next(number, &mut text);
                number += 1;
            }
            Some(io::Cursor::new(std::mem::take(&mut text)))
        });
        let mut pieces = Pieces(input, io::Cursor::default());
        let input = Counted {
            input: &mut pieces,
            count: &count,
        };
        let mut input = BufReader::with_capacity(BUFFER, input);
        let err = read(&mut input, Limits { bytes: LIMIT }).unwrap_err();
        format!("{err}, after {} MiB", count.get().div_ceil(1 << 20))
    }

    struct Pieces<I>(I, io::Cursor<Vec<u8>>);

    impl<I: Iterator<Item = io::Cursor<Vec<u8>>>> Read for Pieces<I> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.1.get_ref().len() as u64 == self.1.position() {
                self.1 = self.0.next().unwrap_or_default();
            }
            self.1.read(into)
        }
    }

    #[test]
    fn what_is_no_profile_is_refused_early() {
        let same = |text: &'static str| move |_, to: &mut Vec<u8>| to.extend(text.as_bytes());
        let header = "heap_v2/1\n  t*: 1: 8 [0: 0]\n";
        assert_snapshot!(endless(header, same(header)), @"line 3: expected a stack, counts of a thread, or `MAPPED_LIBRARIES:`, found `heap_v2/1`, after 1 MiB");
        assert_snapshot!(endless(header, same("@ 0x1\n  t*: 1: 8 [0: 0]\n")), @"line 2: expected totals that agree with the stacks, which add up to more by line 6: `2: 16`, found `t*: 1: 8 [0: 0]`, after 1 MiB");
        assert_snapshot!(endless("heap_v2/1\n@ 0x1", same(" 0x2")), @"line 2: expected at most 2097152 bytes in one line, found more, after 3 MiB");
        assert_snapshot!(endless("--- symbol\n", same("binary=/bin/x")), @"line 2: expected at most 2097152 bytes in one line, found more, after 3 MiB");
        assert_snapshot!(endless("", same("abcdefgh")), @"line 1: expected at most 2097152 bytes in one line, found more, after 3 MiB");
        assert_snapshot!(endless("", same("a;b\n")), @"line 1: expected a stack and a number, such as `main;parse;push 4096`, found `a;b`, after 1 MiB");
        assert_snapshot!(endless("", same("\n# a comment\n")), @"line 322640: expected a stack and a number, such as `main;parse;push 4096`, found only empty lines and comments so far, after 3 MiB");
        assert_snapshot!(endless("", same("\0")), @"expected a heap profile (jemalloc's `heap_v2/…`, pprof's protobuf, or folded stacks), found the bytes `00 00 00 00 00 00 00 00`, after 1 MiB");
        // Numbers of a linear congruential generator, of which the upper bits are random.
        let mut random = 1_u64;
        let random = endless("\n", |_, to| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            to.extend(&random.to_be_bytes()[..4]);
        });
        assert_snapshot!(random, @"pprof's protobuf, byte 95, Profile: expected a field's number, found 0, after 1 MiB");
    }

    /// Each takes more memory than its text, as long as nothing else limits it.
    #[test]
    fn a_profile_takes_no_more_memory_than_the_limit() {
        let line = |before: &'static str, after: &'static str| {
            move |number: u64, to: &mut Vec<u8>| {
                to.extend(format!("{before}{number:x}{after}\n").as_bytes());
            }
        };
        let addresses = line("@ 0x", "\n  t*: 0: 0 [0: 0]");
        assert_snapshot!(endless("heap_v2/1\n", addresses), @"expected a profile that takes at most 8388608 bytes of memory, found more, after 3 MiB");
        let stacks = |_, to: &mut Vec<u8>| to.extend(b"@\n  t*: 1: 8 [1: 8]\n");
        assert_snapshot!(endless("heap_v2/1\n", stacks), @"expected a profile that takes at most 8388608 bytes of memory, found more, after 5 MiB");
        let mappings = line("1-2 r-xp 0 0:0 0 /", "");
        let header = "heap_v2/1\n@ 0x1\n  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n";
        assert_snapshot!(endless(header, mappings), @"expected a profile that takes at most 8388608 bytes of memory, found more, after 2 MiB");
        assert_snapshot!(endless("--- symbol\n", line("0x", " a")), @"expected a profile that takes at most 8388608 bytes of memory, found more, after 1 MiB");
        assert_snapshot!(endless("", line("f", " 1")), @"expected a profile that takes at most 8388608 bytes of memory, found more, after 1 MiB");
        let sample_types = [0x0a, 0].repeat(1 << 20);
        let read = read(&mut sample_types.as_slice(), Limits { bytes: LIMIT });
        assert_snapshot!(read.unwrap_err(), @"expected a profile that takes at most 8388608 bytes of memory, found more");
    }
}
