//! A registry of one crate, in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::a_project::CODE;
use crate::git::{commit_all, write};
use crate::project::Ran;

/// What the crate does in a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    Nothing,
    Leaks,
    NotBuild,
}

/// Makes a registry with the crate `leaky` in all its versions, `0.1.0` being the first; after it
/// comes `0.2.0`. Its index is in git: cargo fetches it, and keeps it in its cache. Returns what
/// cargo's configuration has of it.
pub(crate) fn registry(dir: &Path, releases: &[Does]) -> String {
    let (index, download) = (dir.join("index"), dir.join("download"));
    let numbered = (0..).zip(releases);
    let numbered = numbered.map(|(number, does)| (format!("0.1.{number}"), *does));
    // In the middle of them by its version, and for nobody who did not ask for it.
    let middle = ("0.1.4-rc.1".to_owned(), Does::NotBuild);
    let versions = numbered.chain([middle, ("0.2.0".to_owned(), Does::Nothing)]);
    let lines = versions.map(|(version, does)| release(&download.join(&version), &version, does));
    write(&index.join("le/ak/leaky"), &lines.collect::<String>());
    let download = download.display();
    let config = format!("{{\"dl\": \"file://{download}/{{version}}/crate\"}}\n");
    write(&index.join("config.json"), &config);
    commit_all(&index);
    let index = index.display();
    format!("[registries.made]\nindex = \"file://{index}\"\n")
}

/// Packs a release as the file `crate` of that folder, and says what its line in the index is.
fn release(dir: &Path, version: &str, does: Does) -> String {
    let package = dir.join(format!("leaky-{version}"));
    let manifest =
        format!("[package]\nname = \"leaky\"\nversion = \"{version}\"\nedition = \"2021\"\n");
    write(&package.join("Cargo.toml"), &manifest);
    let key = match does {
        Does::Nothing => "key % 8",
        Does::Leaks => "key",
        Does::NotBuild => "key.is_full()",
    };
    write(&package.join("src/lib.rs"), &CODE.replace("$key", key));
    let mut sh = Command::new("sh");
    sh.args(["-ec", "tar -czf crate leaky-*; sha256sum crate"]);
    let ran = Ran::of(&sh.current_dir(dir).output().unwrap()).has(0, &[]);
    let sum = ran.stdout.split(' ').next().unwrap();
    // cargo takes it where it is asked for by its version.
    let yanked = version == "0.1.3";
    format!(
        "{{\"name\":\"leaky\",\"vers\":\"{version}\",\"deps\":[],\"cksum\":\"{sum}\",\
         \"features\":{{}},\"yanked\":{yanked}}}\n"
    )
}

/// Takes out of cargo's home what it keeps of a registry that is gone.
#[derive(Debug)]
pub(crate) struct Kept([PathBuf; 3]);

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
        Kept(["src", "cache", "index"].map(|folder| registry.join(folder).join(name)))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for dir in &self.0 {
            let _ = fs::remove_dir_all(dir);
        }
    }
}
