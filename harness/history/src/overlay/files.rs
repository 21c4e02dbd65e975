//! Reads files within limits, and writes files, but never through a symbolic link.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use cargo_metadata::TargetKind;

use super::refused;
use plimsoll_desk::file;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::{self, shown};
use plimsoll_desk::status::Refused;

/// The largest manifest, in bytes: many times as large as the longest that exist.
const MANIFEST: usize = 4 << 20;
/// The largest lockfile, in bytes. One with 10,000 packages has about 3 MiB.
const LOCKFILE: usize = 32 << 20;

/// Limits of the files that are copied into a revision. They are held in memory, and written
/// for each revision.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 64 << 20;
const DEEPEST: usize = 32;
/// How many entries of a checkout are searched for packages.
const MOST_ENTRIES: usize = 1_000_000;

/// A file of the working tree that is to be copied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kept {
    /// The path from the package's folder. It contains `..` if the test is elsewhere.
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
    pub(super) executable: bool,
}

/// Returns the folder in which a package has its targets of a kind.
pub(super) fn folder_of(kind: &TargetKind) -> &'static str {
    match kind {
        TargetKind::Bench => "benches",
        _ => "tests",
    }
}

/// Reads a manifest, or says what is wrong with it.
pub(super) fn manifest(path: &Path) -> Result<String, String> {
    text(path, MANIFEST)
}

/// Reads a lockfile, or says what is wrong with it. Returns `None` if there is none.
pub(super) fn lockfile(path: &Path) -> Result<Option<String>, String> {
    match fs::symlink_metadata(path) {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(None),
        _ => text(path, LOCKFILE).map(Some),
    }
}

fn text(path: &Path, most: usize) -> Result<String, String> {
    let bytes = file::read(path, most).map_err(|err| format!("cannot be read: {err}"))?;
    if bytes.len() > most {
        return Err(format!("expected at most {} MiB, found more", most >> 20));
    }
    String::from_utf8(bytes).map_err(|err| {
        let before = &err.as_bytes()[..err.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        format!("line {line}: expected UTF-8, found something else")
    })
}

/// Collects files of the working tree. Fails if they exceed the limits.
pub(super) struct Collected<'a> {
    package_dir: &'a Path,
    /// The package's folder of tests, or of benches.
    tests: PathBuf,
    files: BTreeMap<PathBuf, Kept>,
    bytes: u64,
}

impl<'a> Collected<'a> {
    pub(super) fn new(package_dir: &'a Path, kind: &TargetKind) -> Self {
        Collected {
            package_dir,
            tests: package_dir.join(folder_of(kind)),
            files: BTreeMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn into_files(self) -> Vec<Kept> {
        self.files.into_values().collect()
    }

    /// Adds everything in a folder except build output and git repositories. Nested packages
    /// are added only if `nested` is set or if they are below `tests`.
    pub(super) fn folder(&mut self, dir: &Path, nested: bool) -> anyhow::Result<()> {
        let mut dirs = vec![(dir.to_owned(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            let failed = || format!("cannot read {}", shown(&dir));
            for entry in fs::read_dir(&dir).with_context(failed)? {
                let entry = entry.with_context(failed)?;
                let (path, kind) = (entry.path(), entry.file_type().with_context(failed)?);
                if kind.is_file() {
                    self.file(&path)?;
                } else if kind.is_dir() && !is_left_out(&path, dir == self.package_dir) {
                    // A package in there belongs to the test.
                    let in_tests = path.starts_with(&self.tests);
                    if !nested && !in_tests && path.join("Cargo.toml").exists() {
                        continue;
                    }
                    if depth == DEEPEST {
                        return Err(too_much(&path, &format!("{DEEPEST} levels of folders")));
                    }
                    dirs.push((path, depth + 1));
                }
            }
        }
        Ok(())
    }

    pub(super) fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        let failed = || format!("cannot read {}", shown(path));
        let file = fs::File::open(path).with_context(failed)?;
        let about = file.metadata().with_context(failed)?;
        let left = MOST_BYTES - self.bytes;
        let mut content = Vec::new();
        let read = file.take(left + 1).read_to_end(&mut content);
        read.with_context(failed)?;
        if content.len() as u64 > left {
            return Err(too_much(path, &format!("{} MiB", MOST_BYTES >> 20)));
        }
        if self.files.len() == MOST_FILES {
            return Err(too_much(path, "10,000 files"));
        }
        self.bytes += content.len() as u64;
        let kept = Kept {
            path: relative(self.package_dir, path),
            content,
            executable: is_executable(&about),
        };
        self.files.insert(kept.path.clone(), kept);
        Ok(())
    }
}

fn too_much(at: &Path, most: &str) -> anyhow::Error {
    Refused::usage(format!(
        "the test's files are too large to copy into other revisions\n  \
         expected at most {most}, found more at {}\n  \
         hint: move what the test does not read, or add `--overlay never`",
        shown(at)
    ))
}

/// Tells whether a folder is left out: cargo's build output, or git's data.
fn is_left_out(path: &Path, in_package_dir: bool) -> bool {
    match path.file_name().and_then(|name| name.to_str()) {
        Some(".git") => true,
        // Elsewhere, `target` may be the folder of a module or of a package.
        Some("target") => in_package_dir || path.join("CACHEDIR.TAG").exists(),
        _ => false,
    }
}

#[cfg(unix)]
fn is_executable(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    about.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_about: &fs::Metadata) -> bool {
    false
}

/// Returns the folders of a checkout that have a manifest, relative to its top.
pub(super) fn folders_with_manifest(top: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut dirs = vec![(PathBuf::new(), 0)];
    let mut entries = 0;
    while let Some((dir, depth)) = dirs.pop() {
        let here = top.join(&dir);
        let failed = || format!("cannot read {}", shown(&here));
        for entry in fs::read_dir(&here).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            entries += 1;
            if entries > MOST_ENTRIES {
                anyhow::bail!(
                    "{}: expected at most {MOST_ENTRIES} files and folders, found more",
                    shown(top)
                );
            }
            let kind = entry.file_type().with_context(failed)?;
            let path = dir.join(entry.file_name());
            if kind.is_dir() && depth < DEEPEST && !is_left_out(&entry.path(), false) {
                dirs.push((path, depth + 1));
            } else if !kind.is_dir() && entry.file_name() == "Cargo.toml" {
                found.push(dir.clone());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Checks that a file can be written in a checkout: its path leads only through folders, so
/// the file is not outside of the checkout.
pub(super) fn check(top: &Path, path: &Path) -> anyhow::Result<()> {
    let mut full = top.to_owned();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(refused(format!(
                "`{}` is outside of the repository",
                printed(path)
            )));
        };
        full.push(name);
        let is_last = parts.peek().is_none();
        // A symbolic link counts as a file here, because what it points to must not change.
        match fs::symlink_metadata(&full) {
            Ok(about) if about.is_dir() == is_last => {
                let inner = printed(full.strip_prefix(top).unwrap_or(&full));
                let found = if is_last { "a folder" } else { "no folder" };
                return Err(refused(format!("`{inner}` is {found} there")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file of a checkout. The path must have passed [`check`].
pub(super) fn write(
    top: &Path,
    path: &Path,
    content: &[u8],
    executable: bool,
) -> anyhow::Result<()> {
    let full = top.join(path);
    let failed = || format!("cannot write {}", shown(&full));
    if let Some(dir) = full.parent() {
        fs::create_dir_all(dir).with_context(failed)?;
    }
    // If the file is a symbolic link, the link is replaced, and not the file that it points
    // to.
    match fs::remove_file(&full) {
        Err(err) if err.kind() != ErrorKind::NotFound => return Err(err).with_context(failed),
        _ => {}
    }
    fs::write(&full, content).with_context(failed)?;
    if executable {
        make_executable(&full).with_context(failed)?;
    }
    Ok(())
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Returns the path from a folder to a file or folder. Both are absolute or both are relative
/// to the same place, and neither contains `..`.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let both = from.iter().zip(&to);
    let common = both.take_while(|(one, other)| one == other).count();
    let up = from[common..].iter().map(|_| Component::ParentDir);
    up.chain(to[common..].iter().copied()).collect()
}

/// Returns a path with slashes, as manifests have it.
pub(super) fn with_slashes(path: &Path) -> String {
    let text = project::with_slashes(path);
    match path.is_absolute() {
        // The root is one of the parts, so joining doubled its slash.
        true => text.replacen("//", "/", 1),
        false if text.is_empty() => ".".to_owned(),
        false => text,
    }
}

/// Returns a path in the repository, for messages.
pub(super) fn printed(path: &Path) -> String {
    safe_line(&with_slashes(path))
}

/// Returns a parser's error on one line.
pub(super) fn said(text: &str, err: &toml_edit::TomlError) -> String {
    let before = err.span().and_then(|span| text.get(..span.start));
    let line = before.unwrap_or_default().matches('\n').count() + 1;
    format!("line {line}: {}", safe_line(err.message()))
}
