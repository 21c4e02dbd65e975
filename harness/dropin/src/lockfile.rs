//! Keeps a project's `Cargo.lock` as it was, while cargo builds the project with other packages.

use std::fs::{self, File, FileTimes};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use plimsoll_core::text::hash::Fnv;
use plimsoll_desk::project::shown;

use crate::sources::BUILD;

/// The lock file as the project has it.
const OURS: &str = "Cargo.lock.project";
/// Says that the project has no lock file.
const NONE: &str = "Cargo.lock.none";
/// The lock file as cargo needs it without the drop-in.
const BASE: &str = "Cargo.lock.base";
/// The lock file as cargo has it when it builds with the drop-in.
const THEIRS: &str = "Cargo.lock.dropin";
/// Says what the last two were made of.
const MADE_OF: &str = "Cargo.lock.made-of";

/// A lock file that is put back when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    /// What the project has; absent if there is no lock file.
    original: Option<(Vec<u8>, SystemTime)>,
    /// The folder for copies of it.
    folder: PathBuf,
    /// A hash of the lock file, and of the manifests that it is for.
    made_of: String,
}

impl Kept {
    /// Keeps the lock file at a path. `folder` is for copies of it: of the one that is put back, for
    /// the case that this process is killed, and of the one that cargo needs, for the next run.
    ///
    /// # Errors
    ///
    /// If the lock file cannot be read or written.
    pub(crate) fn keep<'a>(
        path: &Path,
        manifests: impl Iterator<Item = &'a Path>,
        folder: &Path,
    ) -> anyhow::Result<Kept> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", shown(folder)))?;
        restore_after_kill(path, folder)?;
        check_writable(path)?;
        let original = match read(path) {
            Ok(found) => Some(found),
            Err(err) if err.kind() == ErrorKind::NotFound => None,
            Err(err) => return Err(err).with_context(|| shown(path)),
        };
        let mut made_of = Fnv::default();
        made_of.part(original.as_ref().map_or(&b""[..], |(bytes, _)| bytes));
        for manifest in manifests {
            made_of.part(fs::read(manifest).with_context(|| shown(manifest))?);
        }
        let kept = Kept {
            path: path.to_owned(),
            original,
            folder: folder.to_owned(),
            made_of: format!("{:016x}", made_of.finish()),
        };
        kept.note_original().with_context(|| shown(folder))?;
        Ok(kept)
    }

    /// Writes down what the project has.
    fn note_original(&self) -> io::Result<()> {
        let (ours, none) = (self.folder.join(OURS), self.folder.join(NONE));
        match &self.original {
            Some((bytes, _)) => {
                fs::write(ours, bytes)?;
                remove(&none)
            }
            None => {
                fs::write(none, "")?;
                remove(&ours)
            }
        }
    }

    /// Gives cargo the lock file that it needs, as far as it is known, and returns the text that
    /// this has without the drop-in. If the manifests or the lock file have changed since the last
    /// run, `update` brings the lock file up to date.
    pub(crate) fn prepare(
        &self,
        update: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<String> {
        let copy = |name: &str| self.folder.join(name);
        let made_of = fs::read_to_string(copy(MADE_OF));
        if made_of.is_ok_and(|known| known == self.made_of)
            && let (Ok(base), Ok(theirs)) = (fs::read_to_string(copy(BASE)), fs::read(copy(THEIRS)))
        {
            // cargo resolves nothing anew.
            fs::write(&self.path, theirs).with_context(|| shown(&self.path))?;
            return Ok(base);
        }
        remove(&copy(MADE_OF)).with_context(|| shown(&self.folder))?;
        update()?;
        let base = fs::read(&self.path).with_context(|| shown(&self.path))?;
        fs::write(copy(BASE), &base).with_context(|| shown(&self.folder))?;
        Ok(String::from_utf8_lossy(&base).into_owned())
    }

    /// Keeps the lock file that cargo has made, for the next run. To be called when cargo has built
    /// with it.
    pub(crate) fn note_changed(&self) {
        // Without these, the next run makes them anew.
        if fs::copy(&self.path, self.folder.join(THEIRS)).is_ok() {
            let _ = fs::write(self.folder.join(MADE_OF), &self.made_of);
        }
    }

    fn put_back(&self) -> io::Result<()> {
        let Some((bytes, modified)) = &self.original else {
            return remove(&self.path);
        };
        if fs::read(&self.path).is_ok_and(|there| there == *bytes) {
            return Ok(());
        }
        fs::write(&self.path, bytes)?;
        let file = File::options().append(true).open(&self.path)?;
        file.set_times(FileTimes::new().set_modified(*modified))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // The copy stays, and the next run tries again.
        let _ = self.put_back();
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> io::Result<(Vec<u8>, SystemTime)> {
    Ok((fs::read(path)?, fs::metadata(path)?.modified()?))
}

/// Puts back what the project had, if an earlier run was killed before it could.
fn restore_after_kill(path: &Path, folder: &Path) -> anyhow::Result<()> {
    let has_dropin = |lockfile: &[u8]| {
        let end = format!("{BUILD}\"\n");
        let end = end.as_bytes();
        lockfile.windows(end.len()).any(|part| part == end)
    };
    // Whoever has changed the lock file since then wants it as it is.
    if !fs::read(path).is_ok_and(|there| has_dropin(&there)) {
        return Ok(());
    }
    let done = match fs::read(folder.join(OURS)) {
        Ok(ours) if !has_dropin(&ours) => fs::write(path, ours),
        Err(_) if folder.join(NONE).exists() => fs::remove_file(path),
        _ => Ok(()),
    };
    done.with_context(|| format!("cannot put {} back", shown(path)))
}

/// Checks that cargo can write the lock file.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let there = File::options().append(true).open(path);
    let tried = match there {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path);
            tempfile::Builder::new()
                .prefix(".plimsoll-")
                .tempfile_in(folder)
                .map(drop)
        }
        opened => opened.map(drop),
    };
    tried.map_err(|err| {
        let shown = shown(path);
        anyhow!(
            "{shown} cannot be written: {err}\n  \
             cargo writes it while it builds with the drop-in, and plimsoll puts it back\n  \
             hint: copy the project to a folder that can be written to"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project's lock file, and the one that cargo makes of it.
    const PROJECT: &str =
        "version = 4\n\n[[package]]\nname = \"plimsoll-subject\"\nversion = \"0.1.0\"\n";
    const DROPIN: &str =
        "version = 4\n\n[[package]]\nname = \"plimsoll-subject\"\nversion = \"0.1.0+dropin\"\n";

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Project {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("Cargo.toml"), "").unwrap();
            Project(folder)
        }

        fn lockfile(&self) -> PathBuf {
            self.0.path().join("Cargo.lock")
        }

        fn keep(&self) -> Kept {
            let manifest = self.0.path().join("Cargo.toml");
            let folder = self.0.path().join("folder");
            Kept::keep(&self.lockfile(), [manifest.as_path()].into_iter(), &folder).unwrap()
        }

        fn write(&self, text: &str) {
            fs::write(self.lockfile(), text).unwrap();
        }

        fn text(&self) -> Option<String> {
            fs::read_to_string(self.lockfile()).ok()
        }

        /// A whole run, in which cargo leaves the project's lock file alone or makes one. Returns
        /// what cargo was given.
        fn run(&self) -> Option<String> {
            let kept = self.keep();
            let base = kept.prepare(|| {
                if self.text().is_none() {
                    self.write(PROJECT);
                }
                Ok(())
            });
            assert_eq!(base.unwrap(), PROJECT);
            let given = self.text();
            self.write(DROPIN);
            kept.note_changed();
            given
        }
    }

    #[test]
    fn a_lock_file_is_put_back() {
        let project = Project::new();
        project.write(PROJECT);
        let modified = || {
            let about = fs::metadata(project.lockfile()).unwrap();
            about.modified().unwrap()
        };
        let before = modified();
        assert_eq!(project.run().as_deref(), Some(PROJECT));
        assert_eq!(project.text().as_deref(), Some(PROJECT));
        assert_eq!(modified(), before);
        // The next run begins with what cargo made, unless the manifest has changed since.
        assert_eq!(project.run().as_deref(), Some(DROPIN));
        fs::write(project.0.path().join("Cargo.toml"), "[package]\n").unwrap();
        assert_eq!(project.run().as_deref(), Some(PROJECT));
        // Or the lock file has.
        project.write("version = 3\n");
        let kept = project.keep();
        assert_eq!(kept.prepare(|| Ok(())).unwrap(), "version = 3\n");
        drop(kept);
        assert_eq!(project.text().as_deref(), Some("version = 3\n"));
    }

    #[test]
    fn a_project_without_one_has_none_afterwards() {
        let project = Project::new();
        assert_eq!(project.run().as_deref(), Some(PROJECT));
        assert_eq!(project.text(), None);
        assert_eq!(project.run().as_deref(), Some(DROPIN));
        assert_eq!(project.text(), None);
    }

    #[test]
    fn what_a_killed_run_left_is_put_back() {
        for before in [Some(PROJECT), None] {
            let project = Project::new();
            before.inspect(|text| project.write(text));
            std::mem::forget(project.keep());
            project.write(DROPIN);
            drop(project.keep());
            assert_eq!(project.text().as_deref(), before);
        }
    }
}
