use std::fmt;

use super::digits::{decimal, hexadecimal};

/// The mappings of the process, as `/proc/self/maps` listed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maps {
    /// The mappings in the order of the file, which is that of the addresses.
    pub mappings: Vec<Mapping>,
    /// Lines that are not mappings, verbatim. They are kept, because an unreadable mapping
    /// costs names but never counts. The report says how many there are.
    pub unreadable: Vec<String>,
}

/// One mapping of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first address of the mapping.
    pub start: u64,
    /// The first address behind the mapping.
    pub end: u64,
    /// Its permissions.
    pub permissions: Permissions,
    /// The offset in the file at which the mapping begins, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
    /// The path as printed: a path, with ` (deleted)` if the file is gone and `\012` for a
    /// line feed; a name in brackets; or nothing. Bytes that are not UTF-8 are replaced, so
    /// such a file cannot be found again.
    pub path: String,
}

/// The permissions of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// It may be read.
    pub read: bool,
    /// It may be written.
    pub write: bool,
    /// It may be run.
    pub execute: bool,
    /// Other processes see what is written.
    pub shared: bool,
}

const DELETED: &str = " (deleted)";

impl Maps {
    /// Reads the text of `/proc/PID/maps`.
    pub fn parse(text: &[u8]) -> Maps {
        let mut maps = Maps::default();
        for line in text.split(|byte| *byte == b'\n') {
            match Mapping::parse(line) {
                Some(mapping) => maps.mappings.push(mapping),
                None if line.is_empty() => {}
                None => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    maps.unreadable.push(line);
                }
            }
        }
        maps
    }

    /// Returns the mapping of an address. This is a linear search; build an index for many
    /// addresses.
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        self.mappings
            .iter()
            .find(|mapping| (mapping.start..mapping.end).contains(&address))
    }
}

impl Mapping {
    /// Returns the path of the mapped file, without the note that it was deleted. `None` for
    /// anonymous memory and for `[heap]`, `[stack]`, `[vdso]` and the like.
    pub fn file(&self) -> Option<&str> {
        let path = self.path.strip_suffix(DELETED).unwrap_or(&self.path);
        path.starts_with('/').then_some(path)
    }

    /// Returns whether the mapped file was gone, or replaced, when the dump was written.
    pub fn is_deleted(&self) -> bool {
        self.path.starts_with('/') && self.path.ends_with(DELETED)
    }

    /// Reads `7f00-8f00 r-xp 00001000 fe:00 1234    /usr/lib/libc.so.6`.
    pub(super) fn parse(line: &[u8]) -> Option<Mapping> {
        let (range, rest) = word(line)?;
        let (permissions, rest) = word(rest)?;
        let (offset, rest) = word(rest)?;
        let (device, rest) = word(rest)?;
        let (inode, rest) = word(rest)?;
        let (start, end) = split(range, b'-')?;
        let (major, minor) = split(device, b':')?;
        let (start, end) = (hexadecimal(start)?, hexadecimal(end)?);
        (start < end).then_some(Mapping {
            start,
            end,
            permissions: Permissions::parse(permissions)?,
            offset: hexadecimal(offset)?,
            device: (
                u32::try_from(hexadecimal(major)?).ok()?,
                u32::try_from(hexadecimal(minor)?).ok()?,
            ),
            inode: decimal(inode)?,
            path: String::from_utf8_lossy(spaces_cut(rest)).into_owned(),
        })
    }
}

impl Permissions {
    fn parse(word: &[u8]) -> Option<Self> {
        let flag = |byte: u8, set: u8| match byte {
            b'-' => Some(false),
            byte if byte == set => Some(true),
            _ => None,
        };
        let [read, write, execute, kind] = *word else {
            return None;
        };
        Some(Permissions {
            read: flag(read, b'r')?,
            write: flag(write, b'w')?,
            execute: flag(execute, b'x')?,
            shared: match kind {
                b'p' => false,
                b's' => true,
                _ => return None,
            },
        })
    }
}

/// Returns the first word of a line, and the text after it.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = spaces_cut(line);
    let end = line.iter().position(|byte| *byte == b' ');
    let end = end.unwrap_or(line.len());
    (end > 0).then(|| line.split_at(end))
}

fn spaces_cut(line: &[u8]) -> &[u8] {
    let spaces = line.iter().take_while(|byte| **byte == b' ');
    &line[spaces.count()..]
}

fn split(word: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let middle = word.iter().position(|byte| *byte == at)?;
    Some((&word[..middle], &word[middle + 1..]))
}

impl fmt::Display for Maps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mapping in &self.mappings {
            writeln!(f, "{mapping}")?;
        }
        for line in &self.unreadable {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// Prints the mapping as the kernel does, with the path in column 74.
impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.device;
        let numbers = format!(
            "{:08x}-{:08x} {} {:08x} {major:02x}:{minor:02x} {}",
            self.start, self.end, self.permissions, self.offset, self.inode
        );
        if self.path.is_empty() {
            f.write_str(&numbers)
        } else {
            write!(f, "{numbers:<72} {}", self.path)
        }
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = |set: bool, letter: &'static str| if set { letter } else { "-" };
        f.write_str(flag(self.read, "r"))?;
        f.write_str(flag(self.write, "w"))?;
        f.write_str(flag(self.execute, "x"))?;
        f.write_str(if self.shared { "s" } else { "p" })
    }
}
