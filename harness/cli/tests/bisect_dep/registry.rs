//! A registry of one crate, in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ran;

/// What a release does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Nothing,
    Leaks,
    NotBuild,
}

/// The crate in all its versions, `0.1.0` being the first; after it comes `0.2.0`.
#[derive(Debug)]
pub(crate) struct Registry {
    dir: PathBuf,
    /// As `[registries]` and `[source]` have it.
    pub(crate) config: String,
}

const NAME: &str = "leaky";

impl Registry {
    /// With an index in git, which cargo fetches and keeps in its cache.
    pub(crate) fn fetched(dir: &Path, releases: &[Does]) -> Registry {
        let index = dir.join("index");
        let download = dir.join("download");
        let path = |version: &str| download.join(version).join("crate");
        write(&index.join("le/ak").join(NAME), &packed(releases, path));
        let download = download.display();
        let config = format!("{{\"dl\": \"file://{download}/{{version}}/crate\"}}\n");
        write(&index.join("config.json"), &config);
        crate::commit_all(&index);
        let index = index.display();
        Registry {
            config: format!("[registries.made]\nindex = \"file://{index}\"\n"),
            dir: dir.to_owned(),
        }
    }

    /// A local registry, which stands in for one that is nowhere.
    pub(crate) fn local(dir: &Path, releases: &[Does]) -> Registry {
        let path = |version: &str| dir.join(format!("{NAME}-{version}.crate"));
        write(&dir.join("index/le/ak").join(NAME), &packed(releases, path));
        let nowhere = "https://made.invalid/index";
        Registry {
            config: format!(
                "[registries.made]\nindex = \"{nowhere}\"\n\n\
                 [source.made]\nregistry = \"{nowhere}\"\nreplace-with = \"here\"\n\n\
                 [source.here]\nlocal-registry = \"{}\"\n",
                dir.display()
            ),
            dir: dir.to_owned(),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Packs all releases, each where `path` says; their lines in the index.
fn packed(releases: &[Does], path: impl Fn(&str) -> PathBuf) -> String {
    let numbered = (0..)
        .zip(releases)
        .map(|(number, does)| (format!("0.1.{number}"), *does));
    let mut versions: Vec<(String, Does)> = numbered.collect();
    // In the middle of them by its version, and for nobody who did not ask for it.
    versions.push(("0.1.4-rc.1".to_owned(), Does::NotBuild));
    versions.push(("0.2.0".to_owned(), Does::Nothing));
    let lines = versions
        .iter()
        .map(|(version, does)| release(&path(version), version, *does));
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
    let mut tar = Command::new("tar");
    ran(tar
        .arg("-C")
        .arg(dir.path())
        .arg("-czf")
        .arg(path)
        .arg(&name));
    let sum = ran(Command::new("sha256sum").arg(path));
    let sum = sum.split(' ').next().unwrap().to_owned();
    format!(
        "{{\"name\":\"{NAME}\",\"vers\":\"{version}\",\"deps\":[],\"cksum\":\"{sum}\",\
         \"features\":{{}},\"yanked\":{}}}\n",
        // cargo takes it where it is asked for by its version.
        version == "0.1.2"
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
pub struct Pool {{
    kept: Vec<Box<[u8]>>,
}}

impl Pool {{
    /// Fills another buffer.
    pub fn fill(&mut self, with: u64) {{
        if {full} {{
            self.kept.clear();
        }}
        self.kept.push(with.to_le_bytes().repeat(6).into());
    }}
}}
"
    )
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
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

/// For a process that reads nothing.
pub(crate) fn silent(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null())
}
