//! What was built for these tests, for the projects that they build.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Has cargo link the jemalloc that is in this very program, whose build takes a
/// minute, where it is known which that is.
pub(crate) fn link_our_jemalloc(command: &mut Command) -> &mut Command {
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
