//! What was built for these tests, for the projects that they build.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the proof of bisect and others build the same harness, in `target`, one at a time:
/// until the lock is dropped.
pub(crate) fn shared() -> (PathBuf, File) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bisect-proof");
    // Where a target directory exists already, as a mounted one does, cargo does not mark it.
    fs::create_dir_all(dir.join("target")).unwrap();
    let lock = File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    (dir, lock)
}

/// The root of this repository.
#[allow(dead_code, reason = "`bench` and `builds` do not need it")]
pub(crate) fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// Has cargo link the jemalloc that is in this very program, whose build takes a
/// minute, where it is known which that is; and build the harness as every such project does,
/// which is then built once.
pub(crate) fn build_as_all_do(command: &mut Command) -> &mut Command {
    command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    // What tikv-jemalloc-sys takes in place of a build of its own.
    const INSTEAD: &str = "JEMALLOC_OVERRIDE";
    match jemalloc().filter(|_| env::var_os(INSTEAD).is_none()) {
        Some(library) => command.env(INSTEAD, library),
        None => command,
    }
}

fn jemalloc() -> Option<PathBuf> {
    // target/debug/deps/test-0123456789abcdef
    let program = env::current_exe().ok()?;
    let builds = program.parent()?.parent()?.join("build");
    let packages = builds.read_dir().ok()?.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("tikv-jemalloc-sys-")
    });
    let libraries = packages.map(|package| package.path().join("out/lib/libjemalloc_pic.a"));
    let mut libraries = libraries.filter(|library| library.exists());
    let library = libraries.next()?;
    // Of several, some may have been built otherwise.
    libraries.next().is_none().then_some(library)
}
