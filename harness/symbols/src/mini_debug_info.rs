//! Reads the symbol table that Fedora leaves in stripped files: an ELF file, compressed with
//! xz, in the section `.gnu_debugdata`.
//!
//! ```text
//! stream header   12 bytes, of which the 8th says how long checksums are
//! block header    its size, a filter, LZMA2's dictionary
//! block           LZMA2, to a multiple of 4 bytes, and a checksum
//! index           a zero in the place of a block header
//! ```
//!
//! Checksums are not checked. A damaged symbol table costs names, with or without that check.

use object::{Object, ObjectSymbolTable};

use crate::image::Image;

pub(crate) const SECTION: &str = ".gnu_debugdata";

/// Returns whether a file has this section instead of a symbol table.
pub(crate) fn is_in(image: &Image<'_>) -> bool {
    let symbols = image.object.symbol_table();
    symbols.is_none_or(|symbols| symbols.symbols().next().is_none())
        && image.object.section_by_name(SECTION).is_some()
}

/// Unpacks the ELF file in the section. Returns `None` if it cannot be read.
#[cfg(feature = "minidebuginfo")]
pub(crate) fn unpack(image: &Image<'_>) -> Option<Vec<u8>> {
    use object::ObjectSection;

    xz(image.object.section_by_name(SECTION)?.data().ok()?)
}

#[cfg(not(feature = "minidebuginfo"))]
pub(crate) fn unpack(_: &Image<'_>) -> Option<Vec<u8>> {
    None
}

/// More bytes than the symbols of any program take.
#[cfg(feature = "minidebuginfo")]
const MAX_BYTES: u64 = 256 << 20;

/// `xz -9` needs 64 MiB to unpack.
#[cfg(feature = "minidebuginfo")]
const MAX_MEMORY_KIB: u32 = 65 << 10;

#[cfg(feature = "minidebuginfo")]
fn xz(stream: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read;

    let header = stream.get(..12)?;
    if !header.starts_with(b"\xfd7zXZ\0") {
        return None;
    }
    let checksum = [0, 4, 8, 16, 32, 64][usize::from(header[7] & 0xf).div_ceil(3)];
    let mut unpacked = Vec::new();
    let mut at = 12;
    while *stream.get(at)? != 0 {
        let size = (usize::from(stream[at]) + 1) * 4;
        let dictionary = dictionary(stream.get(at..at + size)?)?;
        at += size;
        let mut rest = stream.get(at..)?;
        let before = rest.len();
        let limit = MAX_MEMORY_KIB;
        let reader = lzma_rust2::Lzma2Reader::new_mem_limit(&mut rest, dictionary, limit, None);
        let left = MAX_BYTES - u64::try_from(unpacked.len()).ok()?;
        let length = reader.ok()?.take(left).read_to_end(&mut unpacked).ok()?;
        if u64::try_from(length).ok()? == left {
            return None;
        }
        at += (before - rest.len()).next_multiple_of(4) + checksum;
    }
    Some(unpacked)
}

/// Returns the size of the dictionary, from the header of a block. LZMA2 must be its only
/// filter.
#[cfg(feature = "minidebuginfo")]
fn dictionary(header: &[u8]) -> Option<u32> {
    const SIZES: u8 = 0xc0;
    let flags = *header.get(1)?;
    if flags & !SIZES != 0 {
        return None;
    }
    let mut at = 2;
    // Skips the block's packed and unpacked sizes, if they are there.
    for _ in 0..(flags & SIZES).count_ones() {
        at += header.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
    }
    let [0x21, 1, size] = *header.get(at..at + 3)? else {
        return None;
    };
    let size = u32::from(size);
    (size < 40).then(|| (2 | (size & 1)) << (size / 2 + 11))
}

#[cfg(all(test, feature = "minidebuginfo"))]
mod tests {
    use super::xz;

    /// `printf hello | xz --check=crc32`
    const HELLO: &[u8] =
        b"\xfd7zXZ\0\0\x01\x69\x22\xde\x36\x02\0\x21\x01\x16\0\0\0\x74\x2f\xe5\xa3\
        \x01\0\x04hello\0\0\0\0\x86\xa6\x10\x36\0";

    #[test]
    fn any_bytes() {
        assert_eq!(xz(HELLO).as_deref(), Some(&b"hello"[..]));
        for end in 0..HELLO.len() {
            assert_eq!(xz(&HELLO[..end]), None, "{end}");
        }
        for index in 0..HELLO.len() {
            for bit in 0..8 {
                let mut damaged = HELLO.to_vec();
                damaged[index] ^= 1 << bit;
                let _ = xz(&damaged);
            }
        }
    }
}
