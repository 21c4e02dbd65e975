//! A separate worktree, which is removed when its owner is dropped.

use std::cell::RefCell;
use std::env;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use plimsoll_core::text::hash::fnv;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::project::shown;
use plimsoll_desk::status::Refused;

/// A worktree that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Worktree {
    repository: Git,
    git: Git,
    /// The commit that was checked out last.
    commit: RefCell<Option<Commit>>,
    /// Held while the worktree is in use.
    _lock: Lock,
}

/// A lock file that reserves the place of the worktree. It is removed when the lock is
/// dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock. Returns `None` if another process holds it.
    fn take(path: PathBuf) -> io::Result<Option<Lock>> {
        loop {
            let file = File::create(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(err)) => return Err(err),
            }
            // The last holder may have removed the file after it was opened here and before it
            // was locked.
            #[cfg(unix)]
            let is_there = {
                use std::os::unix::fs::MetadataExt;
                let there = fs::symlink_metadata(&path).map(|data| data.ino());
                there.is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there))
            };
            #[cfg(not(unix))]
            let is_there = true;
            if is_there {
                return Ok(Some(Lock { path, _file: file }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Worktree {
    /// Returns the folder for a repository's worktree.
    ///
    /// The folder is the same every time, so that cargo recognises what it has built. It is
    /// beside the repository, so that relative paths out of it lead to the same files. If
    /// other users could create or replace that folder, it is in the user's cache folder
    /// instead, because cargo runs code from it.
    pub(crate) fn path(repository: &Git) -> anyhow::Result<PathBuf> {
        let top = repository.dir();
        let name = top.file_name().unwrap_or_default().to_string_lossy();
        let hidden = format!(".{name}.plimsoll-bisect");
        let beside = top.parent().map(|parent| parent.join(&hidden));
        if let Some(beside) = beside.filter(|beside| is_safe(beside, top)) {
            return Ok(beside);
        }
        let hash = fnv(top.as_os_str().as_encoded_bytes());
        let cached = user_cache().map(|cache| cache.join(format!("plimsoll/{hidden}-{hash:016x}")));
        if let Some(cached) = &cached {
            make_private(cached.parent().unwrap_or(cached), true)?;
        }
        let safe = cached.filter(|cached| is_safe(cached, top));
        safe.ok_or_else(|| {
            Refused::usage(
                "expected a place for a worktree that no other user can write to: beside the \
                 repository, or in $XDG_CACHE_HOME (by default ~/.cache). Found none",
            )
        })
    }

    /// Takes the lock of the place, or fails with a message that says it is in use.
    pub(crate) fn claim(repository: &Git, path: &Path) -> anyhow::Result<Lock> {
        let common =
            repository.ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let lock = Path::new(&common).join("plimsoll-bisect.lock");
        let taken = Lock::take(lock.clone());
        let taken = taken.with_context(|| format!("cannot use {}", shown(&lock)))?;
        taken.ok_or_else(|| {
            let path = shown(path);
            Refused::usage(format!(
                "another bisection of this repository is running, in {path}"
            ))
        })
    }

    /// Removes a worktree that a killed process left behind.
    pub(crate) fn remove_stale(repository: &Git, path: &Path) -> anyhow::Result<()> {
        let path_text = path.to_string_lossy();
        let _ = repository.run(&["worktree", "remove", "--force", "--force", &path_text])?;
        // If git does not know the worktree, or files of it are missing, it is only a folder.
        if path.exists() {
            fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", shown(path)))?;
            repository.ask(&["worktree", "prune"])?;
        }
        Ok(())
    }

    pub(crate) fn add(
        repository: &Git,
        path: &Path,
        commit: &Commit,
        lock: Lock,
    ) -> anyhow::Result<Worktree> {
        let worktree = Worktree {
            repository: repository.clone(),
            git: Git::in_dir(path),
            commit: RefCell::new(None),
            _lock: lock,
        };
        let path_text = path.to_string_lossy();
        make_private(path, false)?;
        // `--force`: somebody may have removed the folder, which git still lists as a worktree.
        let add = ["worktree", "add", "--quiet", "--force", "--detach"];
        repository.ask(&[&add[..], &[&path_text, commit.as_str()]].concat())?;
        if !path.join(".git").exists() {
            bail!("git made no worktree in {}", shown(path));
        }
        Ok(worktree)
    }

    /// Returns git in this worktree, for all but checking out.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn path_of(&self) -> &Path {
        self.git.dir()
    }

    /// Checks out a commit, and removes all other files.
    pub(crate) fn check_out(&self, commit: &Commit) -> anyhow::Result<()> {
        self.commit.take();
        let check_out = ["checkout", "--quiet", "--force", "--detach"];
        self.git
            .ask(&[&check_out[..], &[commit.as_str()]].concat())?;
        self.git.ask(&["clean", "--quiet", "-ffdx"])?;
        self.commit.replace(Some(commit.clone()));
        Ok(())
    }

    /// Tells whether this commit was checked out last.
    pub(crate) fn has(&self, commit: &Commit) -> bool {
        self.commit.borrow().as_ref() == Some(commit)
    }

    /// Updates the submodules to the commit's. Returns git's message if that fails.
    pub(crate) fn submodules(&self) -> anyhow::Result<Result<(), String>> {
        if !self.path_of().join(".gitmodules").exists() {
            return Ok(Ok(()));
        }
        let command = "submodule --quiet update --init --recursive --force";
        let args: Vec<&str> = command.split(' ').collect();
        let output = self.git.run(&args)?;
        Ok(match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        })
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        let _ = Worktree::remove_stale(&self.repository, self.git.dir());
    }
}

/// Returns the folder in which a user's programs keep files that can be made again.
fn user_cache() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// Creates a folder that no other user can read. Fails if it exists, unless that is `allowed`.
fn make_private(dir: &Path, allowed: bool) -> anyhow::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let made = builder.recursive(allowed).create(dir);
    made.with_context(|| format!("cannot make {}", shown(dir)))
}

/// Tells whether no other user can create a folder at this path before us, or replace it. The
/// path must be free, or a folder of ours.
#[cfg(unix)]
fn is_safe(path: &Path, repository: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let Some(parent) = path.parent() else {
        return false;
    };
    // The owner of a new file shows which user we are.
    let probe = tempfile::Builder::new()
        .prefix(".plimsoll-")
        .tempfile_in(parent);
    let us = probe.and_then(|probe| probe.as_file().metadata());
    let (Ok(us), Ok(parent), Ok(repository)) = (us, parent.metadata(), repository.metadata())
    else {
        return false;
    };
    // A user's private group has the same number as the user.
    let is_of_others =
        parent.mode() & 0o002 != 0 || parent.mode() & 0o020 != 0 && parent.gid() != parent.uid();
    // In a sticky folder, only the owner of an entry can remove it.
    let is_kept = !is_of_others || parent.mode() & STICKY != 0;
    let is_trusted = [us.uid(), 0, repository.uid()].contains(&parent.uid());
    let is_free_or_ours = match path.symlink_metadata() {
        Ok(there) => there.is_dir() && there.uid() == us.uid(),
        Err(err) => err.kind() == io::ErrorKind::NotFound,
    };
    is_kept && is_trusted && is_free_or_ours
}

#[cfg(not(unix))]
fn is_safe(path: &Path, _repository: &Path) -> bool {
    let parent = path.parent();
    parent.is_some_and(|parent| {
        let mut probe = tempfile::Builder::new();
        probe.prefix(".plimsoll-").tempfile_in(parent).is_ok()
    })
}
