use std::path::PathBuf;

use plimsoll_core::Avma;
use plimsoll_core::dump::Mapping;

use crate::BuildId;

/// One line of `/proc/PID/maps`, as a heap dump contains it, and where to read its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// The first address, an AVMA.
    pub start: u64,
    /// The address behind the last one.
    pub end: u64,
    /// The offset in the file at which the mapping starts.
    pub file_offset: u64,
    /// The path as the process saw it, without ` (deleted)` at its end. Empty for anonymous
    /// memory; `[vdso]` and similar names for the kernel's own mappings.
    pub path: PathBuf,
    /// Whether the file was gone from `path` when the mappings were listed. Then another file
    /// is at `path` now, and it is not read.
    pub deleted: bool,
    /// Where to read the file, if not at `path`. It is read even if `deleted` is set.
    pub open: Option<PathBuf>,
    /// The build ID of the mapped file, if it is known. A file with another build ID is
    /// refused.
    pub build_id: Option<BuildId>,
    /// Whether the mapping is executable. The first such file is the program, which
    /// [`Options::exe`](crate::Options::exe) replaces.
    pub executable: bool,
    /// The inode of the mapped file. Without a build ID, only the inode shows that `path` is
    /// another file by now; a note says so.
    ///
    /// `None` means that it is not compared. A copy on another machine usually has another
    /// inode, and on an overlay file system a file may have two.
    pub inode: Option<u64>,
}

/// Makes a mapping whose file is read where the process saw it, whatever its build ID and
/// inode.
impl From<&Mapping> for MappedFile {
    fn from(mapping: &Mapping) -> Self {
        // A mapping that is not of a file is recognised by its name.
        let path = mapping.file().unwrap_or(&mapping.path);
        Self {
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.offset,
            // The newline is the only character that the kernel escapes in a path.
            path: path.replace("\\012", "\n").into(),
            deleted: mapping.is_deleted(),
            open: None,
            build_id: None,
            executable: mapping.permissions.execute,
            inode: None,
        }
    }
}

impl MappedFile {
    /// Returns the name for all addresses of a mapping that is not of a file.
    pub(crate) fn special(&self) -> Option<String> {
        let path = self.path.to_string_lossy();
        if !path.starts_with('[')
            && !path.is_empty()
            && !path.starts_with("//anon")
            && !path.starts_with("/memfd:")
        {
            return None;
        }
        // The process itself chooses the text of `[anon:name]`, which is not needed here.
        let known = ["[vdso]", "[vsyscall]", "[heap]", "[stack]"];
        let name = known.into_iter().find(|known| *known == path);
        Some(name.unwrap_or("[anonymous]").to_owned())
    }

    /// Returns the name that notes and unresolved frames show: the file name without its
    /// directory, because the directory differs between machines.
    pub(crate) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }
}

/// The mappings, sorted by address.
#[derive(Debug)]
pub(crate) struct Mappings<'a>(Vec<&'a MappedFile>);

impl<'a> Mappings<'a> {
    pub(crate) fn new(mappings: &'a [MappedFile]) -> Self {
        let mut sorted: Vec<&MappedFile> = mappings.iter().collect();
        // The sort is stable, so of two mappings with the same start the later line counts.
        sorted.sort_by_key(|mapping| mapping.start);
        Self(sorted)
    }

    /// Returns the mapping of the call before a return address.
    pub(crate) fn of_call(&self, address: Avma) -> Option<&'a MappedFile> {
        let call = address.0.checked_sub(1)?;
        let after = self.0.partition_point(|mapping| mapping.start <= call);
        let mapping = *self.0[..after].last()?;
        (call < mapping.end).then_some(mapping)
    }
}
