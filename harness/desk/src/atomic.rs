use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

/// Writes text into a file, which is replaced atomically. A path that is not a file (a pipe or
/// a device, such as `/dev/stdout`) is written to in place, and `-` is standard output.
///
/// Replacing a device would remove it for every process of the machine.
pub fn write_output(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    write_output_with(path, |file| file.write_all(content.as_ref()))
}

/// Writes output that is too long to be held in memory, see [`write_output`].
pub fn write_output_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return write_to(io::stdout().lock(), write).context("cannot write to standard output");
    }
    if !is_device(path) {
        return write_with(path, write);
    }
    let failed = || format!("cannot write to {}", crate::project::shown(path));
    // Standard output may be a file that already has content.
    let file = OpenOptions::new().append(true).open(path);
    write_to(file.with_context(failed)?, write).with_context(failed)
}

/// A closed pipe is not an error: its reader has seen enough.
fn write_to(
    to: impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    match write(&mut to).and_then(|()| to.flush()) {
        Err(err) if err.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Tells whether a path names something that a file must not replace. A link itself is
/// replaced, as in [`write`], except for the system's own, such as `/dev/stdout`.
fn is_device(path: &Path) -> bool {
    let Ok(kind) = fs::symlink_metadata(path).map(|data| data.file_type()) else {
        return false;
    };
    match kind.is_symlink() {
        true => ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir)),
        false => !kind.is_file() && !kind.is_dir(),
    }
}

/// Replaces the content of a file atomically: a reader finds either the old or the new
/// content, even after a crash.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    write_with(path, |file| file.write_all(content.as_ref()))
}

fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let failed = || format!("cannot write {}", crate::project::shown(path));
    fs::create_dir_all(dir).with_context(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut builder = tempfile::Builder::new();
    // The name is hidden and does not end like a baseline, in case the file is left behind.
    let (prefix, suffix) = (format!(".{name}."), ".tmp");
    let permissions = permissions(path);
    builder.prefix(&prefix).suffix(suffix);
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    // A rename is atomic only within one file system, so the temporary file is in the same
    // folder.
    let mut file = builder.tempfile_in(dir).with_context(failed)?;
    let mut buffer = BufWriter::new(&mut file);
    write(&mut buffer)
        .and_then(|()| buffer.flush())
        .with_context(failed)?;
    drop(buffer);
    file.as_file().sync_all().with_context(failed)?;
    let kept = file.persist(path).map_err(|err| err.error);
    kept.with_context(failed)?;
    // The rename is on disk once the folder is. Some systems cannot open a folder. There, the
    // old file may come back after a crash.
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
    Ok(())
}

/// Returns the permissions of the existing file, or those of any new file. By default, only
/// their owner can read temporary files.
fn permissions(path: &Path) -> Option<Permissions> {
    if let Ok(metadata) = fs::metadata(path) {
        return Some(metadata.permissions());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    // The test only asks about devices and never writes to them. As root, a wrong answer would
    // replace a device of the machine.
    #[test]
    fn devices_are_told_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let link = dir.path().join("link");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for device in ["/dev/null", "/dev/stdout", "/dev/fd/1"] {
            assert!(is_device(Path::new(device)), "{device}");
        }
        for replaced in [&file, &link, dir.path(), &dir.path().join("none")] {
            assert!(!is_device(replaced), "{}", replaced.display());
        }
    }
}
