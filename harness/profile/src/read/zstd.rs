//! Reads zstd: frames one after the other, as `pzstd` and `cat` make them, and skippable
//! frames, which hold no data of the stream.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A reader of the data in all frames.
pub(super) struct ZstdDecoder<R> {
    input: R,
    frame: FrameDecoder,
    is_inside: bool,
}

impl<R: BufRead> ZstdDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        ZstdDecoder {
            input,
            frame: FrameDecoder::new(),
            is_inside: false,
        }
    }

    /// Begins the next frame. Returns false at the end of the input.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.input) {
                Ok(()) => {
                    self.is_inside = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length.into())?,
                Err(why) => return Err(io::Error::other(why)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(length), &mut io::sink())?;
        match skipped == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Compares the data of the frame with the frame's checksum, if it has one.
    fn end(&mut self) -> io::Result<()> {
        self.is_inside = false;
        let said = self.frame.get_checksum_from_data();
        match said.is_none() || said == self.frame.get_calculated_checksum() {
            true => Ok(()),
            false => Err(io::Error::other("its checksum is another one")),
        }
    }
}

impl<R: BufRead> Read for ZstdDecoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                let a_block = BlockDecodingStrategy::UptoBlocks(1);
                self.frame
                    .decode_blocks(&mut self.input, a_block)
                    .map_err(io::Error::other)?;
            }
            match self.frame.read(into)? {
                0 => self.end()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}
