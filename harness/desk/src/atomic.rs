use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

/// Writes what was asked for into a file, which is replaced, or into what is no
/// file: a pipe, a device, standard output under its name, or as `-`.
///
/// Replacing those would take them from every process of the machine.
pub fn write_output(path: &Path, content: &str) -> anyhow::Result<()> {
    write_output_bytes(path, content.as_bytes())
}

/// The same of what is no text.
pub fn write_output_bytes(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    write_output_with(path, |file| file.write_all(content))
}

/// The same of what is too long to be kept as a whole.
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
    // Standard output may be a file that has something in it already.
    let file = OpenOptions::new()
        .append(true)
        .open(path)
        .with_context(failed)?;
    write_to(file, write).with_context(failed)
}

/// Whoever reads a pipe may have seen enough.
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

/// Whether a path names something that cannot be replaced by a file. A link is
/// itself replaced, as in [`write`], but for the system's own: `/dev/stdout`.
fn is_device(path: &Path) -> bool {
    let Ok(kind) = fs::symlink_metadata(path).map(|data| data.file_type()) else {
        return false;
    };
    match kind.is_symlink() {
        true => ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir)),
        false => !kind.is_file() && !kind.is_dir(),
    }
}

/// Replaces a file's content so that who reads it, now or after a crash, finds
/// the old or the new.
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
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut builder = tempfile::Builder::new();
    // Hidden, and with an ending that is no baseline's, should it be left over.
    let (prefix, suffix) = (format!(".{name}."), ".tmp");
    let permissions = permissions(path);
    builder.prefix(&prefix).suffix(suffix);
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    // In the same folder: only within one file system is a rename atomic.
    let mut file = builder.tempfile_in(dir).with_context(failed)?;
    let mut buffer = BufWriter::new(&mut file);
    write(&mut buffer)
        .and_then(|()| buffer.flush())
        .with_context(failed)?;
    drop(buffer);
    file.as_file().sync_all().with_context(failed)?;
    file.persist(path)
        .map_err(|err| err.error)
        .with_context(failed)?;
    // The rename itself is on disk once the folder is. Not everywhere can a
    // folder be opened; where it cannot, the old file may come back after a crash.
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
    Ok(())
}

/// Those of the file that is there, or what any new file gets: temporary files
/// are otherwise nobody else's to read.
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

    // By the question alone: as root, a wrong answer would cost the machine one.
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
