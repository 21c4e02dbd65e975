//! Debug information in a file of its own, as distributions install it.
//!
//! ```text
//! DIR/.build-id/xx/yyyy.debug       by the build ID xxyyyy
//! name beside the file, in .debug/, in DIR/<the file's directory>/   by .gnu_debuglink
//! ```

use std::path::{Path, PathBuf};

use object::Object;

use crate::bytes::Bytes;
use crate::image::Image;

/// The debug file of an image. A file that is not the image's own is passed
/// over: by build ID, or by the link's checksum where there is no ID.
pub(crate) fn find(image: &Image<'_>, path: &Path, directories: &[PathBuf]) -> Option<Bytes> {
    by_build_id(image, directories).or_else(|| by_link(image, path, directories))
}

fn by_build_id(image: &Image<'_>, directories: &[PathBuf]) -> Option<Bytes> {
    let id = image.build_id()?;
    let digits = id.to_string();
    let (first, rest) = digits.split_at_checked(2)?;
    directories.iter().find_map(|directory| {
        let path = directory
            .join(".build-id")
            .join(first)
            .join(format!("{rest}.debug"));
        let bytes = Bytes::open(&path).ok()?;
        let found = Image::parse(&bytes).ok()?.build_id();
        (found.as_ref() == Some(&id)).then_some(bytes)
    })
}

fn by_link(image: &Image<'_>, path: &Path, directories: &[PathBuf]) -> Option<Bytes> {
    let (name, checksum) = image.object.gnu_debuglink().ok()??;
    let name = std::str::from_utf8(name).ok()?;
    // A name, not a way out of the directory.
    if name.is_empty() || name.contains('/') || name == ".." {
        return None;
    }
    let path = path.canonicalize().ok()?;
    let beside = path.parent()?;
    let mut candidates = vec![beside.join(name), beside.join(".debug").join(name)];
    let absolute = beside.strip_prefix("/").unwrap_or(beside);
    candidates.extend(
        directories
            .iter()
            .map(|directory| directory.join(absolute).join(name)),
    );
    candidates.into_iter().find_map(|candidate| {
        // A link may name the file that holds it.
        if candidate == path {
            return None;
        }
        let bytes = Bytes::open(&candidate).ok()?;
        let found = Image::parse(&bytes).ok()?.build_id();
        let own = match (found, image.build_id()) {
            (Some(found), Some(expected)) => found == expected,
            _ => crc32(&bytes) == checksum,
        };
        own.then_some(bytes)
    })
}

/// The checksum of `.gnu_debuglink`: CRC-32 as zlib and Ethernet have it.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0_u32; 256];
        let mut index = 0;
        let mut seed = 0_u32;
        while index < 256 {
            let mut value = seed;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    0xedb8_8320 ^ (value >> 1)
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index] = value;
            index += 1;
            seed += 1;
        }
        table
    };
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        let [low, ..] = sum.to_le_bytes();
        TABLE[usize::from(low ^ byte)] ^ (sum >> 8)
    });
    !sum
}

#[cfg(test)]
mod tests {
    #[test]
    fn crc32_check_value() {
        // The check value that every catalogue of CRCs gives for CRC-32.
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
