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
//! A profile may come from anyone. It has at most [`Limits::bytes`]. Lines, frames of a stack and
//! layers of compression have limits of their own. Text is read in pieces, and what is kept of it
//! takes about as much memory as the text. pprof's protobuf is held as a whole while it is read,
//! and what is kept of it takes about twice as much again. An error says what was expected and,
//! for text, in which line.

mod folded;
mod heap;
mod pprof;
mod symbols;
mod zstd;

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use plimsoll_core::dump::DumpError;
use plimsoll_text::escape::is_hidden;

pub use pprof::PprofError;

use self::zstd::ZstdDecoder;
use crate::Profile;
use crate::profile::{TooManyFrames, TooManyLocations};

/// The limits of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest uncompressed profile, in bytes.
    pub bytes: u64,
}

impl Default for Limits {
    /// 4 GiB. Dumps of the largest heaps have a few hundred megabytes.
    fn default() -> Self {
        Limits { bytes: 4 << 30 }
    }
}

/// How many bytes one compressed byte may unpack to. Text of addresses shrinks to a tenth or a
/// twentieth.
const MAX_RATIO: u64 = 200;
/// The ratio is not checked up to this many unpacked bytes.
const ANY_RATIO: u64 = 64 << 20;
/// Layers of compression: a server's around a file's.
const MAX_LAYERS: usize = 2;
/// How many bytes are read to recognise the format.
const LOOKED_AT: usize = 4_096;
/// The longest line, in bytes. The longest line that jemalloc writes has 65,536 addresses.
const MAX_LINE: usize = 2 << 20;

/// Why a profile cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// Its bytes cannot be read.
    Io(io::Error),
    /// It is empty.
    Empty,
    /// It is larger than this many bytes.
    TooLarge(u64),
    /// Its compressed data cannot be unpacked.
    Compressed {
        /// The compression: `gzip` or `zstd`.
        with: &'static str,
        /// What went wrong.
        why: io::Error,
    },
    /// It unpacks to more than 200 times its size.
    Bomb,
    /// It is compressed more than twice.
    Layers,
    /// One of its lines is longer than 2 MiB.
    Line {
        /// The number of the line, from 1.
        line: usize,
    },
    /// It is another kind of profile, or no profile at all.
    Unknown {
        /// What the bytes look like.
        found: String,
    },
    /// A line is not what the format expects.
    Text {
        /// The number of the line, from 1.
        line: usize,
        /// What the line should be.
        expected: &'static str,
        /// What the line is.
        found: String,
    },
    /// It is not valid as jemalloc's text.
    Dump(DumpError),
    /// It is not valid as pprof's protobuf.
    Pprof(PprofError),
    /// It has more locations than there are numbers.
    TooManyLocations(TooManyLocations),
    /// Its stacks have more frames than a profile of its size can have.
    TooManyFrames(TooManyFrames),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(why) => why.fmt(f),
            ReadError::Empty => f.write_str("expected a heap profile, found nothing"),
            ReadError::TooLarge(bytes) => {
                write!(f, "expected a profile of at most {bytes} bytes, found more")
            }
            ReadError::Compressed { with, why } => {
                write!(f, "expected {with}, found what cannot be unpacked: {why}")
            }
            ReadError::Bomb => write!(
                f,
                "expected compressed data that grows to at most {MAX_RATIO} times its size, \
                 found more"
            ),
            ReadError::Layers => {
                write!(
                    f,
                    "expected at most {MAX_LAYERS} layers of compression, found more"
                )
            }
            ReadError::Line { line } => write!(
                f,
                "line {line}: expected at most {MAX_LINE} bytes in one line, found more"
            ),
            ReadError::Unknown { found } => write!(
                f,
                "expected a heap profile (jemalloc's `heap_v2/…`, pprof's protobuf, or folded \
                 stacks), found {found}"
            ),
            ReadError::Text {
                line,
                expected,
                found,
            } => write!(f, "line {line}: expected {expected}, found {found}"),
            ReadError::Dump(why) => why.fmt(f),
            ReadError::Pprof(why) => why.fmt(f),
            ReadError::TooManyLocations(why) => why.fmt(f),
            ReadError::TooManyFrames(why) => why.fmt(f),
        }
    }
}

// There is no `source`: the message of the cause, with its place, is part of `Display`.
impl std::error::Error for ReadError {}

impl From<DumpError> for ReadError {
    fn from(why: DumpError) -> Self {
        ReadError::Dump(why)
    }
}

impl From<PprofError> for ReadError {
    fn from(why: PprofError) -> Self {
        ReadError::Pprof(why)
    }
}

impl From<TooManyLocations> for ReadError {
    fn from(why: TooManyLocations) -> Self {
        ReadError::TooManyLocations(why)
    }
}

impl From<TooManyFrames> for ReadError {
    fn from(why: TooManyFrames) -> Self {
        ReadError::TooManyFrames(why)
    }
}

impl From<io::Error> for ReadError {
    fn from(why: io::Error) -> Self {
        // `Limited` and `Unpacked` wrap a `ReadError` in their `io::Error`.
        match why.downcast::<ReadError>() {
            Ok(said) => said,
            Err(why) => ReadError::Io(why),
        }
    }
}

/// Reads a profile in any of the formats of this module.
///
/// # Errors
///
/// If the bytes are not a profile, were cut short, or exceed a limit.
pub fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Profile, ReadError> {
    let mut input = Limited::new(input, limits.bytes);
    unpacked(&mut input, limits, 0)
}

/// A format, as told by the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
        Kind::Gzip | Kind::Zstd if layers == MAX_LAYERS => Err(ReadError::Layers),
        Kind::Gzip => {
            let counted = Counted::new(&mut whole);
            let mut counted = BufReader::with_capacity(64 << 10, counted);
            let decoder = MultiGzDecoder::new(&mut counted);
            inner(
                Unpacked::new(decoder, "gzip", |decoder| decoder.get_ref().get_ref().count),
                limits,
                layers,
            )
        }
        Kind::Zstd => {
            let counted = Counted::new(&mut whole);
            let counted = BufReader::with_capacity(64 << 10, counted);
            inner(
                Unpacked::new(ZstdDecoder::new(counted), "zstd", |decoder| {
                    decoder.get_ref().get_ref().count
                }),
                limits,
                layers,
            )
        }
        Kind::Heap => heap::read(&mut whole, None),
        Kind::Symbols => symbols::read(&mut whole),
        Kind::Folded => folded::read(&mut whole),
        Kind::Pprof => pprof::read(&mut whole),
    }
}

fn inner(unpacked: impl Read, limits: Limits, layers: usize) -> Result<Profile, ReadError> {
    let mut unpacked = BufReader::with_capacity(64 << 10, unpacked);
    let mut limited = Limited::new(&mut unpacked, limits.bytes);
    self::unpacked(&mut limited, limits, layers + 1)
}

/// Reads enough of the input to recognise its format. The bytes are left in `beginning`.
fn kind(input: &mut dyn BufRead, beginning: &mut Vec<u8>) -> Result<Kind, ReadError> {
    let mut input = input.take(LOOKED_AT as u64);
    input.read_to_end(beginning)?;
    let is = |magic: &[u8]| beginning.starts_with(magic);
    let text = || quoted(first_line(beginning));
    if beginning.is_empty() {
        Err(ReadError::Empty)
    } else if is(&[0x1f, 0x8b]) {
        Ok(Kind::Gzip)
    } else if is(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skipped_by_zstd(beginning) {
        Ok(Kind::Zstd)
    } else if is(b"heap_v2/") {
        Ok(Kind::Heap)
    } else if is(b"--- symbol") || is(b"---symbol") {
        Ok(Kind::Symbols)
    } else if is(b"heap_v") {
        Err(ReadError::Unknown {
            found: format!("jemalloc's format of another version, {}", text()),
        })
    } else if is(b"heap profile:") {
        Err(ReadError::Unknown {
            found: "gperftools' own format, `heap profile:`".to_owned(),
        })
    } else if is(b"\x7fELF") {
        Err(ReadError::Unknown {
            found: "a program (ELF): name it with --exe".to_owned(),
        })
    } else if is(b"<") || is(b"{") {
        // Mostly a server's answer: the request is not authorised, or there is no such page.
        Err(ReadError::Unknown { found: text() })
    } else if is_text(beginning) || folded::is_line(first_line(beginning)) {
        Ok(Kind::Folded)
    } else if may_be_protobuf(beginning) {
        Ok(Kind::Pprof)
    } else {
        Err(ReadError::Unknown {
            found: format!("the bytes `{}`", hexadecimal(beginning)),
        })
    }
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
    let mut quoted = String::from("`");
    for char in text.chars().take(MOST) {
        match is_hidden(char) {
            true => quoted.extend(char.escape_default()),
            false => quoted.push(char),
        }
    }
    if text.chars().nth(MOST).is_some() {
        quoted.push('…');
    }
    quoted + "`"
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
        return Err(ReadError::Line { line: *number });
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

/// A reader that fails if the input is longer than the limit.
struct Limited<'a> {
    input: &'a mut dyn BufRead,
    left: u64,
    limit: u64,
}

impl<'a> Limited<'a> {
    fn new(input: &'a mut dyn BufRead, limit: u64) -> Self {
        Limited {
            input,
            left: limit,
            limit,
        }
    }
}

impl Read for Limited<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other(ReadError::TooLarge(self.limit)))?;
        Ok(read)
    }
}

impl BufRead for Limited<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 && !self.input.fill_buf()?.is_empty() {
            return Err(io::Error::other(ReadError::TooLarge(self.limit)));
        }
        let filled = self.input.fill_buf()?;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        Ok(&filled[..filled.len().min(most)])
    }

    fn consume(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.left = self.left.saturating_sub(bytes as u64);
    }
}

/// A reader that counts the bytes that were read.
struct Counted<R> {
    input: R,
    count: u64,
}

impl<R> Counted<R> {
    fn new(input: R) -> Self {
        Counted { input, count: 0 }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.count += read as u64;
        Ok(read)
    }
}

/// The output of a decoder. Fails if the output is out of proportion to the input.
struct Unpacked<D> {
    decoder: D,
    with: &'static str,
    /// Returns how many bytes the decoder has read.
    packed: fn(&D) -> u64,
    count: u64,
}

impl<D> Unpacked<D> {
    fn new(decoder: D, with: &'static str, packed: fn(&D) -> u64) -> Self {
        Unpacked {
            decoder,
            with,
            packed,
            count: 0,
        }
    }
}

impl<D: Read> Read for Unpacked<D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(into).map_err(|why| {
            // An error of the layer below is passed on unchanged.
            match why.downcast::<ReadError>() {
                Ok(said) => io::Error::other(said),
                Err(why) => io::Error::other(ReadError::Compressed {
                    with: self.with,
                    why,
                }),
            }
        })?;
        self.count += read as u64;
        let packed = (self.packed)(&self.decoder);
        if self.count > ANY_RATIO && self.count / MAX_RATIO > packed {
            return Err(io::Error::other(ReadError::Bomb));
        }
        Ok(read)
    }
}
