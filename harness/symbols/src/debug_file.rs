//! Finds debug information in separate files, where distributions and builds put it.
//!
//! ```text
//! DIR/.build-id/xx/yyyy.debug       by the build ID xxyyyy
//! DIR/xx/yyyy.debug                 where DIR is such a directory itself
//! DIR/xxyyyy/debuginfo              as debuginfod's clients keep it
//! DIR/name.debug, DIR/name          flat, if the build ID is the file's
//! name beside the file, in .debug/, in DIR, in DIR/<the file's directory>/   by .gnu_debuglink
//! ```
//!
//! `dwz` moves what several debug files have in common into another file, which
//! `.gnu_debugaltlink` names. A compiler may split debug information off: into a `.dwo` file
//! for each unit, which may be joined into a `.dwp` package.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use crate::BuildId;
use crate::bytes::Bytes;
use crate::dwarf::{Finder, Package, SectionSet, Sections, SplitOff};
use crate::image::Image;
use crate::sysroot;

/// Where to look for the files that belong to one file.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    /// The path of the file that was opened.
    pub(crate) opened: &'a Path,
    /// The path at which the process saw it.
    pub(crate) mapped: &'a Path,
    pub(crate) directories: &'a [PathBuf],
    pub(crate) sysroot: Option<&'a Path>,
}

/// A file that was found, and its path.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Bytes,
}

impl Places<'_> {
    /// Finds the debug file of an image. Skips files that belong to another image, as their
    /// build ID shows or, if one of the two has none, the checksum in the debug link.
    pub(crate) fn debug_file(&self, image: &Image<'_>) -> Option<FoundFile> {
        let by_id = image.build_id().and_then(|id| {
            let flat = self.directories.iter().flat_map(|directory| {
                self.names().flat_map(|name| {
                    let mut debug = name.to_owned();
                    debug.push(".debug");
                    [directory.join(debug), directory.join(name)]
                })
            });
            self.by_build_id(&id).or_else(|| {
                // A stripped copy has the same build ID, so the file must have debug
                // information too.
                let mut flat = flat;
                flat.find_map(|path| with_id(path, &id, has_debug_info))
            })
        });
        by_id.or_else(|| self.by_link(image))
    }

    /// Returns the names of the file.
    fn names(&self) -> impl Iterator<Item = &OsStr> {
        let names = [self.mapped, self.opened].map(Path::file_name);
        names.into_iter().flatten()
    }

    fn by_build_id(&self, id: &BuildId) -> Option<FoundFile> {
        let digits = id.to_string();
        let (first, rest) = digits.split_at_checked(2)?;
        let file = format!("{rest}.debug");
        self.directories.iter().find_map(|directory| {
            [
                directory.join(".build-id").join(first).join(&file),
                directory.join(first).join(&file),
                directory.join(&digits).join("debuginfo"),
            ]
            .into_iter()
            .find_map(|path| with_id(path, id, |_| true))
        })
    }

    fn by_link(&self, image: &Image<'_>) -> Option<FoundFile> {
        let (name, checksum) = image.object.gnu_debuglink().ok()??;
        let name = std::str::from_utf8(name).ok()?;
        // The link must be a plain name, which does not lead out of the directory.
        if name.is_empty() || name.contains('/') || name == ".." {
            return None;
        }
        let path = self.opened.canonicalize().ok()?;
        let beside = path.parent()?;
        let mut candidates = vec![beside.join(name), beside.join(".debug").join(name)];
        for directory in self.directories {
            for parent in [Some(beside), self.mapped.parent()].into_iter().flatten() {
                let absolute = parent.strip_prefix("/").unwrap_or(parent);
                candidates.push(directory.join(absolute).join(name));
            }
            candidates.push(directory.join(name));
        }
        // A debug link may name the file that contains it.
        candidates.retain(|candidate| *candidate != path);
        candidates.into_iter().find_map(|path| {
            let bytes = Bytes::open(&path).ok()?;
            let found = Image::parse(&bytes).ok()?.build_id();
            let own = match (found, image.build_id()) {
                (Some(found), Some(expected)) => found == expected,
                _ => crc32(&bytes) == checksum,
            };
            own.then_some(FoundFile { path, bytes })
        })
    }

    /// Finds the file to which `dwz` moved debug information of `image`. Returns its name, and
    /// the file if it is found.
    pub(crate) fn supplementary(
        &self,
        image: &Image<'_>,
        at: &Path,
    ) -> Option<(String, Option<FoundFile>)> {
        let (link, id) = image.object.gnu_debugaltlink().ok()??;
        let link = &*path_of(link);
        let name = link.file_name().unwrap_or_default().to_string_lossy();
        let found = BuildId::from_bytes(id).and_then(|id| {
            let mut candidates = Vec::new();
            if let Some(root) = self.sysroot {
                candidates.push(sysroot::resolve(root, link));
            }
            // The link may be relative to the file that contains it.
            let at = at.canonicalize().unwrap_or_else(|_| at.to_owned());
            candidates.push(at.parent().unwrap_or(Path::new("/")).join(link));
            candidates
                .into_iter()
                .find_map(|path| with_id(path, &id, |_| true))
                .or_else(|| self.by_build_id(&id))
        });
        Some((name.into_owned(), found))
    }

    /// Finds the `.dwp` package of the file, or of its debug file.
    pub(crate) fn package(&self, debug_file: Option<&Path>) -> Option<Bytes> {
        let package = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".dwp");
            PathBuf::from(name)
        };
        let real = self.opened.canonicalize().ok();
        let files = [Some(self.opened), real.as_deref(), debug_file];
        let mut candidates: Vec<PathBuf> = files.into_iter().flatten().map(package).collect();
        // `program.debug` has the package `program.dwp`.
        candidates.extend(debug_file.map(|path| path.with_extension("dwp")));
        for directory in self.directories {
            candidates.extend(self.names().map(|name| package(&directory.join(name))));
        }
        candidates.iter().find_map(|path| {
            let bytes = Bytes::open(path).ok()?;
            Image::parse(&bytes).is_ok().then_some(bytes)
        })
    }
}

/// A path as a file of debug information has it.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStrExt;

    Cow::Borrowed(Path::new(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> Cow<'_, Path> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(PathBuf::from(text)),
    }
}

fn with_id(path: PathBuf, id: &BuildId, suits: impl Fn(&Image<'_>) -> bool) -> Option<FoundFile> {
    let bytes = Bytes::open(&path).ok()?;
    let image = Image::parse(&bytes).ok()?;
    let own = image.build_id().as_ref() == Some(id) && suits(&image);
    own.then_some(FoundFile { path, bytes })
}

fn has_debug_info(image: &Image<'_>) -> bool {
    let section = image.object.section_by_name(".debug_info");
    section.is_some_and(|section| section.size() > 0)
}

/// Finds the debug information that was split off one file.
pub(crate) struct SplitOffFiles<'a> {
    pub(crate) places: &'a Places<'a>,
    pub(crate) package: Option<Package<'a>>,
}

impl Finder for SplitOffFiles<'_> {
    fn package(&self) -> Option<&Package<'_>> {
        self.package.as_ref()
    }

    fn files(&self, split_off: &SplitOff<'_>, is_it: &mut dyn FnMut(&Sections<'_>) -> bool) {
        let Some(name) = split_off.name else {
            return;
        };
        let name = &*path_of(name);
        let directory = path_of(split_off.directory.unwrap_or_default());
        let built = directory.join(name);
        let mut candidates = Vec::new();
        if let Some(root) = self.places.sysroot {
            candidates.push(sysroot::resolve(root, &built));
        }
        // A relative path would depend on the current directory.
        if built.is_absolute() {
            candidates.push(built);
        }
        let real = self.places.opened.canonicalize();
        let real = real.unwrap_or_else(|_| self.places.opened.to_owned());
        let beside = [self.places.opened, &real].map(Path::parent);
        let directories = self.places.directories.iter().map(PathBuf::as_path);
        for directory in beside.into_iter().flatten().chain(directories) {
            if name.is_relative() {
                candidates.push(directory.join(name));
            }
            candidates.extend(name.file_name().map(|file| directory.join(file)));
        }
        candidates.dedup();
        for path in candidates {
            if let Ok(bytes) = Bytes::open(&path)
                && let Ok(image) = Image::parse(&bytes)
                && let Ok(Some(sections)) = Sections::load(&image.object, SectionSet::SplitOff)
                && is_it(&sections)
            {
                return;
            }
        }
    }
}

/// Computes the checksum of `.gnu_debuglink`: CRC-32 as in zlib and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|index| {
        let seed = u32::try_from(index).unwrap_or(0);
        (0..8).fold(seed, |value, _| (value >> 1) ^ (0xedb8_8320 * (value & 1)))
    });
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        let [low, ..] = sum.to_le_bytes();
        table[usize::from(low ^ byte)] ^ (sum >> 8)
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
