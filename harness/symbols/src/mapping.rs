use std::path::PathBuf;

use plimsoll_core::Avma;
use plimsoll_core::dump::Mapping;

use crate::BuildId;

/// One line of `/proc/PID/maps`, as a heap dump carries it, and where its file
/// can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// First address, an AVMA.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Where in the file the mapping starts.
    pub file_offset: u64,
    /// As the process saw it, without a ` (deleted)` after it. Empty for
    /// anonymous memory; `[vdso]` and its like for the kernel's own.
    pub path: PathBuf,
    /// Whether the file was gone from `path` when the mappings were listed:
    /// what is there now is another file, and is left alone.
    pub deleted: bool,
    /// Where to read the file, if not at `path`. Believed over `deleted`.
    pub open: Option<PathBuf>,
    /// The build ID that the process mapped, where it is known: a file with
    /// another one is refused.
    pub build_id: Option<BuildId>,
    /// Whether it may be run: the first such file is the program, which
    /// [`Options::exe`](crate::Options::exe) stands for.
    pub executable: bool,
    /// The inode that the process mapped. Without a build ID it is what is
    /// left to tell that `path` is another file by now, which is noted.
    /// `None`: not compared. A copy on another machine has another inode as a
    /// rule, and on an overlay file system a file may have two.
    pub inode: Option<u64>,
}

/// The file is read where the process saw it, whatever its build ID and inode.
impl From<&Mapping> for MappedFile {
    fn from(mapping: &Mapping) -> Self {
        // What is not a file is told apart by its name.
        let path = mapping.file().unwrap_or(&mapping.path);
        Self {
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.offset,
            // The one character that the kernel escapes in a path.
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
    /// Without a file behind it, what its addresses are called.
    pub(crate) fn special(&self) -> Option<String> {
        let path = self.path.to_string_lossy();
        if path.is_empty() || path.starts_with("//anon") || path.starts_with("/memfd:") {
            Some("[anonymous]".to_owned())
        } else if path.starts_with('[') {
            // `[anon:name]` is the process's own words: names of no interest.
            let known = ["[vdso]", "[vsyscall]", "[heap]", "[stack]"];
            let name = known.into_iter().find(|known| *known == path);
            Some(name.unwrap_or("[anonymous]").to_owned())
        } else {
            None
        }
    }

    /// The name that notes and unresolved frames show: the file's own, because
    /// its directory differs by machine.
    pub(crate) fn file_name(&self) -> String {
        match self.path.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => self.path.to_string_lossy().into_owned(),
        }
    }
}

/// The mappings by address.
#[derive(Debug)]
pub(crate) struct Mappings<'a>(Vec<&'a MappedFile>);

impl<'a> Mappings<'a> {
    pub(crate) fn new(mappings: &'a [MappedFile]) -> Self {
        let mut sorted: Vec<&MappedFile> = mappings.iter().collect();
        // Stable, so that of two mappings with one start the later line counts.
        sorted.sort_by_key(|mapping| mapping.start);
        Self(sorted)
    }

    /// The mapping in which the call before this return address stands.
    pub(crate) fn of_call(&self, address: Avma) -> Option<&'a MappedFile> {
        let call = address.0.checked_sub(1)?;
        let after = self.0.partition_point(|mapping| mapping.start <= call);
        let mapping = *self.0[..after].last()?;
        (call < mapping.end).then_some(mapping)
    }
}
