use std::fs::{self, File, Permissions};
use std::io::Write;
use std::path::Path;

use anyhow::Context;

/// Replaces a file's content so that who reads it, now or after a crash, finds
/// the old or the new.
pub(crate) fn write(path: &Path, content: &str) -> anyhow::Result<()> {
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
    file.write_all(content.as_bytes()).with_context(failed)?;
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
