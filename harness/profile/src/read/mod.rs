//! Reads profiles, whatever they are written in.
//!
//! | begins with | is |
//! |---|---|
//! | `1f 8b`, `28 b5 2f fd`, `5? 2a 4d 18` | gzip or zstd, and one of those below inside |
//! | `heap_v2/` | jemalloc's text, of 5.0 and later |
//! | `--- symbol` | the same with names, as `jeprof --raw` writes it |
//! | other text | folded stacks: `root;caller;leaf 123` |
//! | other bytes | pprof's protobuf |
//!
//! A profile may be by anyone. It is read in pieces, and what is kept of it takes
//! about as much memory as it does, at most [`Limits::bytes`]; lines, frames of a
//! stack and layers of compression have limits of their own. An error names the line
//! where there are lines, and says what was expected there.

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

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of the whole profile, uncompressed.
    pub bytes: u64,
}

impl Default for Limits {
    /// 4 GiB: dumps of the largest heaps have some hundred megabytes.
    fn default() -> Self {
        Limits { bytes: 4 << 30 }
    }
}

/// How many bytes one compressed byte may stand for. Text of addresses shrinks to a
/// tenth or a twentieth.
const MAX_RATIO: u64 = 200;
/// Up to where that is not asked.
const ANY_RATIO: u64 = 64 << 20;
/// Compression inside of compression: that of a server around that of a file.
const MAX_LAYERS: usize = 2;
/// Bytes that are looked at to tell text from protobuf.
const LOOKED_AT: usize = 4_096;
/// Bytes of a line. The longest that jemalloc can write has 65,536 addresses.
const MAX_LINE: usize = 2 << 20;

/// Why a profile cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// Its bytes cannot be had.
    Io(io::Error),
    /// There are none.
    Empty,
    /// It is larger than that.
    TooLarge(u64),
    /// It is compressed, and what should come out of it does not.
    Compressed {
        /// With what.
        with: &'static str,
        /// What went wrong.
        why: io::Error,
    },
    /// It grows to more than any profile does.
    Bomb,
    /// It is compressed, more often than somebody would.
    Layers,
    /// A line of it is longer than that.
    Line {
        /// From 1.
        line: usize,
    },
    /// Another kind of profile, or none at all.
    Unknown {
        /// What it looks like.
        found: String,
    },
    /// A line that should be another.
    Text {
        /// From 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// As jemalloc's text.
    Dump(DumpError),
    /// As pprof's protobuf.
    Pprof(PprofError),
    /// It names more places than can be told apart.
    TooManyLocations(TooManyLocations),
    /// Its stacks have more frames than a profile of its size has.
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

// What a cause has to say is said already, with where it is.
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
        // What `Limited` and `Unpacked` have to say.
        match why.downcast::<ReadError>() {
            Ok(said) => said,
            Err(why) => ReadError::Io(why),
        }
    }
}

/// Reads a profile of any of these kinds.
///
/// # Errors
///
/// If it is none, was cut short, or is larger than the limits.
pub fn read(input: &mut dyn BufRead, limits: Limits) -> Result<Profile, ReadError> {
    let mut input = Limited::new(input, limits.bytes);
    unpacked(&mut input, limits, 0)
}

/// What a beginning says.
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
    // What was looked at comes first.
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

/// Reads as much as tells what comes.
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
        // A server's answer, as a rule: that it is not authorised, or has no such page.
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

/// Whether it begins with a field: its number, which is not zero, and one of the ways in
/// which fields are written.
fn may_be_protobuf(beginning: &[u8]) -> bool {
    let first = beginning.first().copied().unwrap_or_default();
    first >> 3 > 0 && matches!(first & 7, 0 | 1 | 2 | 5)
}

/// The first bytes, for an error.
fn hexadecimal(beginning: &[u8]) -> String {
    let first = beginning.iter().take(8);
    let bytes: Vec<String> = first.map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

/// A frame of something else, as `pzstd` begins with one.
fn is_skipped_by_zstd(beginning: &[u8]) -> bool {
    matches!(beginning, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Protobuf has small numbers all over, as bytes that no text has.
fn is_text(beginning: &[u8]) -> bool {
    beginning
        .iter()
        .all(|byte| !byte.is_ascii_control() || matches!(byte, b'\n' | b'\r' | b'\t'))
}

/// A line, or its beginning, for an error.
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

/// Reads one line without its end into `line`; false at the end.
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

/// Fails where more comes than may.
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

/// Counts what was read.
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

/// What comes out of a decoder; an error where that is out of all proportion.
struct Unpacked<D> {
    decoder: D,
    with: &'static str,
    /// How much the decoder has read.
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
            // What the layer below has to say is said as it is.
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
