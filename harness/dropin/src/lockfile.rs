//! Keeps a project's `Cargo.lock` as it was, while cargo builds the project with other packages.

use std::fs::{self, File, FileTimes};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use plimsoll_desk::project::shown;

/// The lock file as the project has it.
const OURS: &str = "Cargo.lock.project";
/// Says that the project has no lock file.
const NONE: &str = "Cargo.lock.none";
/// The lock file that cargo makes for a project that has none.
const MADE: &str = "Cargo.lock.made";
/// The lock file as cargo has it when it builds with the drop-in.
const THEIRS: &str = "Cargo.lock.dropin";

/// A lock file that is put back when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    /// What the project has; absent if there is no lock file.
    original: Option<(Vec<u8>, SystemTime)>,
    /// The folder for copies of it.
    folder: PathBuf,
}

impl Kept {
    /// Keeps the lock file at a path. `folder` is for copies of it: of the one that is put back, for
    /// the case that this process is killed, and of the one that cargo needs, for the next run.
    ///
    /// # Errors
    ///
    /// If the lock file cannot be read or written.
    pub(crate) fn keep(path: &Path, folder: &Path) -> anyhow::Result<Kept> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", shown(folder)))?;
        restore_after_kill(path, folder)?;
        check_writable(path)?;
        let original = match read(path) {
            Ok(found) => Some(found),
            Err(err) if err.kind() == ErrorKind::NotFound => None,
            Err(err) => return Err(err).with_context(|| shown(path)),
        };
        let ours = original.as_ref().map(|(bytes, _)| bytes.as_slice());
        let is_known = match ours {
            Some(ours) => fs::read(folder.join(OURS)).is_ok_and(|known| known == ours),
            None => folder.join(NONE).exists(),
        };
        let kept = Kept {
            path: path.to_owned(),
            original,
            folder: folder.to_owned(),
        };
        if is_known {
            // What cargo made of it in an earlier run: cargo resolves nothing anew.
            if let Ok(theirs) = fs::read(folder.join(THEIRS)) {
                fs::write(path, theirs).with_context(|| shown(path))?;
            }
        } else {
            kept.note().with_context(|| shown(folder))?;
        }
        Ok(kept)
    }

    /// Writes down what the project has.
    fn note(&self) -> io::Result<()> {
        for name in [THEIRS, OURS, NONE, MADE] {
            match fs::remove_file(self.folder.join(name)) {
                Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
                _ => {}
            }
        }
        match &self.original {
            Some((bytes, _)) => fs::write(self.folder.join(OURS), bytes),
            None => fs::write(self.folder.join(NONE), ""),
        }
    }

    /// Returns the text of the lock file as it is without the drop-in. `make` makes it, if the
    /// project has none.
    pub(crate) fn without_dropin(
        &self,
        make: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<String> {
        if let Some((bytes, _)) = &self.original {
            return Ok(String::from_utf8_lossy(bytes).into_owned());
        }
        let made = self.folder.join(MADE);
        if !made.exists() {
            make()?;
            fs::copy(&self.path, &made).with_context(|| shown(&self.path))?;
        }
        fs::read_to_string(&made).with_context(|| shown(&made))
    }

    /// Keeps the lock file that cargo has made, for the next run. To be called after every
    /// command that may have changed it.
    pub(crate) fn note_changed(&self) {
        // Without it, cargo makes it anew.
        let _ = fs::copy(&self.path, self.folder.join(THEIRS));
    }

    fn put_back(&self) -> io::Result<()> {
        let Some((bytes, modified)) = &self.original else {
            return match fs::remove_file(&self.path) {
                Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
                _ => Ok(()),
            };
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

fn read(path: &Path) -> io::Result<(Vec<u8>, SystemTime)> {
    Ok((fs::read(path)?, fs::metadata(path)?.modified()?))
}

/// Puts back what the project had, if an earlier run was killed before it could.
fn restore_after_kill(path: &Path, folder: &Path) -> anyhow::Result<()> {
    let has_dropin = |lockfile: &[u8]| {
        let name = b"\nname = \"plimsoll-subject\"\n";
        lockfile.windows(name.len()).any(|part| part == name)
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
    const PROJECT: &str = "version = 4\n";
    const DROPIN: &str = "version = 4\n\n[[package]]\nname = \"plimsoll-subject\"\n";

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Project {
            Project(tempfile::tempdir().unwrap())
        }

        fn lockfile(&self) -> PathBuf {
            self.0.path().join("Cargo.lock")
        }

        fn keep(&self) -> Kept {
            Kept::keep(&self.lockfile(), &self.0.path().join("folder")).unwrap()
        }

        fn write(&self, text: &str) {
            fs::write(self.lockfile(), text).unwrap();
        }

        fn text(&self) -> Option<String> {
            fs::read_to_string(self.lockfile()).ok()
        }
    }

    #[test]
    fn a_lock_file_is_put_back() {
        let project = Project::new();
        project.write(PROJECT);
        let modified = fs::metadata(project.lockfile())
            .unwrap()
            .modified()
            .unwrap();
        let kept = project.keep();
        project.write(DROPIN);
        kept.note_changed();
        drop(kept);
        assert_eq!(project.text().as_deref(), Some(PROJECT));
        let now = fs::metadata(project.lockfile())
            .unwrap()
            .modified()
            .unwrap();
        assert_eq!(now, modified);
        // The next run begins with what cargo made.
        let kept = project.keep();
        assert_eq!(project.text().as_deref(), Some(DROPIN));
        let base = kept.without_dropin(|| unreachable!("there is one"));
        assert_eq!(base.unwrap(), PROJECT);
        drop(kept);
        // Unless the project has changed since.
        project.write("version = 3\n");
        let kept = project.keep();
        assert_eq!(project.text().as_deref(), Some("version = 3\n"));
        drop(kept);
    }

    #[test]
    fn a_project_without_one_has_none_afterwards() {
        let project = Project::new();
        for _ in 0..2 {
            let kept = project.keep();
            let base = kept.without_dropin(|| {
                project.write(PROJECT);
                Ok(())
            });
            assert_eq!(base.unwrap(), PROJECT);
            project.write(DROPIN);
            kept.note_changed();
            drop(kept);
            assert_eq!(project.text(), None);
        }
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
