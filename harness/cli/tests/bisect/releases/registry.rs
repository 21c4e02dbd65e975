//! A registry of one crate, in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git::{commit_all, write};
use crate::project::Ran;

/// What a release does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Nothing,
    Leaks,
    NotBuild,
}

const NAME: &str = "leaky";

/// Makes a registry with the crate in all its versions, `0.1.0` being the first; after it comes
/// `0.2.0`. Its index is in git: cargo fetches it, and keeps it in its cache. Returns what cargo's
/// configuration has of it.
pub(crate) fn registry(dir: &Path, releases: &[Does]) -> String {
    let (index, download) = (dir.join("index"), dir.join("download"));
    let lines = packed(releases, &download);
    write(&index.join("le/ak").join(NAME), &lines);
    let download = download.display();
    let config = format!("{{\"dl\": \"file://{download}/{{version}}/crate\"}}\n");
    write(&index.join("config.json"), &config);
    commit_all(&index);
    format!(
        "[registries.made]\nindex = \"file://{}\"\n",
        index.display()
    )
}

/// Packs all releases. Returns their lines in the index.
fn packed(releases: &[Does], download: &Path) -> String {
    let numbered = (0..)
        .zip(releases)
        .map(|(number, does)| (format!("0.1.{number}"), *does));
    let mut versions: Vec<(String, Does)> = numbered.collect();
    // In the middle of them by its version, and for nobody who did not ask for it.
    versions.push(("0.1.4-rc.1".to_owned(), Does::NotBuild));
    versions.push(("0.2.0".to_owned(), Does::Nothing));
    let lines = versions.iter().map(|(version, does)| {
        let path = download.join(version).join("crate");
        release(&path, version, *does)
    });
    lines.collect()
}

/// Packs a release, and says what its line in the index is.
fn release(path: &Path, version: &str, does: Does) -> String {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("{NAME}-{version}");
    let package = dir.path().join(&name);
    let head = format!("[package]\nname = \"{NAME}\"\nversion = \"{version}\"\n");
    write(
        &package.join("Cargo.toml"),
        &(head + "edition = \"2021\"\n"),
    );
    write(&package.join("src/lib.rs"), &source(does));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let ran = |command: &mut Command| Ran::of(&command.output().unwrap()).has(0, &[]).stdout;
    let mut tar = Command::new("tar");
    ran(tar.current_dir(dir.path()).arg("-czf").arg(path).arg(&name));
    let sum = ran(Command::new("sha256sum").arg(path));
    let sum = sum.split(' ').next().unwrap();
    format!(
        "{{\"name\":\"{NAME}\",\"vers\":\"{version}\",\"deps\":[],\"cksum\":\"{sum}\",\
         \"features\":{{}},\"yanked\":{}}}\n",
        // cargo takes it where it is asked for by its version.
        version == "0.1.3"
    )
}

fn source(does: Does) -> String {
    let full = match does {
        Does::Nothing => "self.kept.len() == 32",
        Does::Leaks => "self.kept.len() == usize::MAX",
        Does::NotBuild => "self.kept.is_full()",
    };
    format!(
        "//! Buffers.

/// Buffers that were used last.
#[derive(Debug, Default)]
pub struct Cache {{
    kept: Vec<Box<[u8]>>,
}}

impl Cache {{
    /// Fills another buffer.
    pub fn put(&mut self, with: u64) {{
        if {full} {{
            self.kept.clear();
        }}
        self.kept.push(with.to_le_bytes().repeat(6).into());
    }}
}}
"
    )
}

/// Takes out of cargo's home what it keeps of a registry that is gone.
#[derive(Debug)]
pub(crate) struct Kept(Vec<PathBuf>);

impl Kept {
    /// By the manifest of one of its packages:
    /// `CARGO_HOME/registry/src/NAME/PACKAGE/Cargo.toml`.
    pub(crate) fn of(manifest: &Path) -> Kept {
        let name = manifest.ancestors().nth(2).unwrap();
        let registry = name.parent().unwrap().parent().unwrap();
        assert!(registry.ends_with("registry"), "{}", manifest.display());
        let name = name.file_name().unwrap();
        // Of a registry with a host it would begin with that.
        assert!(name.to_str().unwrap().starts_with('-'), "{name:?}");
        let folders = ["src", "cache", "index"];
        Kept(
            folders
                .map(|folder| registry.join(folder).join(name))
                .into(),
        )
    }

    pub(crate) fn remove(&self) {
        for dir in &self.0 {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.remove();
    }
}
