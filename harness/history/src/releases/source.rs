//! Where cargo has the index of the registry that a package came from.
//!
//! ```text
//! CARGO_HOME/registry/src/index.crates.io-1949cf8c6b5b557f/moka-0.12.8/Cargo.toml
//! CARGO_HOME/registry/index/index.crates.io-1949cf8c6b5b557f/.cache/mo/ka/moka
//! ```
//!
//! cargo gives both folders the same name, which comes from the source that it really asks: a
//! mirror of crates.io has another name. So the path of the package's manifest tells which index
//! to read. The newest index would only be a guess.
//!
//! A local registry is a folder that `[source]` in cargo's configuration names. It contains its
//! own index. cargo unpacks its packages into a folder of `registry/src`, although the cache has
//! no index of that name.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item};

/// A source may stand in for one that stands in for one.
const MOST_REPLACED: usize = 16;
/// No configuration is larger.
const MOST_BYTES: u64 = 4 << 20;

/// The file about one package.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Index {
    Cached(PathBuf),
    Local(PathBuf),
}

/// By the package's source and manifest, as `cargo metadata` names them.
pub(super) fn find(
    name: &str,
    source: &str,
    manifest: &Path,
    workspace: &Path,
) -> Result<Index, String> {
    let nowhere = |why: &str| Err(format!("cargo has no index for {name}: {why}"));
    // NAME-VERSION, the source, `src`, `registry`, and cargo's home.
    let folders: Vec<&Path> = manifest.ancestors().skip(2).take(4).collect();
    let &[sources, src, registry, home] = folders.as_slice() else {
        return nowhere("it is in no folder of a registry");
    };
    let is = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
    if !is(src, "src") || !is(registry, "registry") {
        return nowhere(&format!("it is taken from {}", sources.display()));
    }
    let inside = inside(name);
    let index = registry
        .join("index")
        .join(sources.file_name().unwrap_or_default());
    if index.is_dir() {
        return Ok(Index::Cached(index.join(".cache").join(inside)));
    }
    match local_registry(source, workspace, home) {
        Some(local) => Ok(Index::Local(local.join("index").join(inside))),
        None => nowhere(&format!("there is no {}", index.display())),
    }
}

/// A package's file in any index.
fn inside(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    let letters: Vec<char> = name.chars().collect();
    let part = |range: std::ops::Range<usize>| letters[range].iter().collect::<String>();
    match letters.len() {
        0 => PathBuf::new(),
        1 => PathBuf::from("1").join(name),
        2 => PathBuf::from("2").join(name),
        3 => PathBuf::from("3").join(part(0..1)).join(name),
        _ => PathBuf::from(part(0..2)).join(part(2..4)).join(name),
    }
}

/// The folder of the local registry that stands in for a source, if one does.
fn local_registry(source: &str, workspace: &Path, home: &Path) -> Option<PathBuf> {
    let configs = configs(workspace, home);
    let url = source.strip_prefix("registry+").unwrap_or(source);
    let mut name = match url {
        "https://github.com/rust-lang/crates.io-index" => "crates-io".to_owned(),
        url => configs.iter().find_map(|config| config.named(url))?,
    };
    let value = |name: &str, key: &str| {
        let found = |config: &Config| {
            let value = config.source(name)?.get(key)?.as_str()?;
            Some((config.base.clone(), value.to_owned()))
        };
        // The nearest one that says it.
        configs.iter().find_map(found)
    };
    for _ in 0..MOST_REPLACED {
        match value(&name, "replace-with") {
            Some((_, other)) => name = other,
            None => {
                let (base, folder) = value(&name, "local-registry")?;
                return Some(base.join(folder));
            }
        }
    }
    None
}

/// A file of cargo's configuration.
struct Config {
    /// What its paths are relative to.
    base: PathBuf,
    content: DocumentMut,
}

impl Config {
    fn source(&self, name: &str) -> Option<&Item> {
        self.content.get("source")?.get(name)
    }

    /// What it calls the registry with that address.
    fn named(&self, url: &str) -> Option<String> {
        let called = |table: &str, key: &str| {
            let entries = self.content.get(table)?.as_table_like()?;
            let (name, _) = entries.iter().find(|(_, entry)| {
                let value = entry.get(key).and_then(Item::as_str);
                value.is_some_and(|value| value == url)
            })?;
            Some(name.to_owned())
        };
        called("source", "registry").or_else(|| called("registries", "index"))
    }
}

/// All that cargo reads, the nearest first. One that cannot be read says nothing
/// here: cargo itself has said so.
fn configs(workspace: &Path, home: &Path) -> Vec<Config> {
    let folders = workspace.ancestors().map(|dir| dir.join(".cargo"));
    let folders = folders.chain([home.to_owned()]);
    let read = |folder: PathBuf| {
        // The older name goes first where there are both.
        let path = ["config", "config.toml"]
            .map(|name| folder.join(name))
            .into_iter()
            .find(|path| path.is_file())?;
        let is_small = fs::metadata(&path).is_ok_and(|data| data.len() <= MOST_BYTES);
        let text = is_small.then(|| fs::read_to_string(&path).ok())??;
        Some(Config {
            base: folder.parent()?.to_owned(),
            content: text.parse().ok()?,
        })
    };
    folders.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World(tempfile::TempDir);

    impl World {
        fn new() -> World {
            World(tempfile::tempdir().unwrap())
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// As from the project's folder, with paths from the world's.
        fn found(&self, source: &str, manifest: &str) -> String {
            let workspace = self.path("work/project");
            let found = match find("Leaky", source, &self.path(manifest), &workspace) {
                Ok(Index::Cached(path)) => format!("cached {}", path.display()),
                Ok(Index::Local(path)) => format!("local {}", path.display()),
                Err(why) => format!("error: {why}"),
            };
            found.replace(&format!("{}/", self.0.path().display()), "")
        }
    }

    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
    const MANIFEST: &str = "home/registry/src/made-1/leaky-0.1.0/Cargo.toml";

    #[test]
    fn places_in_an_index() {
        let places = ["a", "ab", "abc", "abcd", "Moka", "serde_json"].map(inside);
        let places = places.map(|path| path.display().to_string());
        assert_eq!(
            places,
            [
                "1/a",
                "2/ab",
                "3/a/abc",
                "ab/cd/abcd",
                "mo/ka/moka",
                "se/rd/serde_json"
            ]
        );
    }

    #[test]
    fn the_index_of_the_same_name() {
        let world = World::new();
        world.write("home/registry/index/made-2/.cache/le/ak/leaky", "");
        world.write("home/registry/index/made-1/.cache/le/ak/leaky", "");
        assert_eq!(
            world.found(CRATES_IO, MANIFEST),
            "cached home/registry/index/made-1/.cache/le/ak/leaky"
        );
    }

    #[test]
    fn no_index() {
        let world = World::new();
        world.write("home/registry/index/made-2/.cache/le/ak/leaky", "");
        assert_eq!(
            world.found(CRATES_IO, MANIFEST),
            "error: cargo has no index for Leaky: there is no home/registry/index/made-1"
        );
        assert_eq!(
            world.found(CRATES_IO, "work/project/vendor/leaky/Cargo.toml"),
            "error: cargo has no index for Leaky: it is taken from work/project/vendor"
        );
    }

    #[test]
    fn a_local_registry_by_the_nearest_configuration() {
        let world = World::new();
        world.write(
            "home/config.toml",
            "[source.crates-io]\nreplace-with = 'mirror'\n[source.here]\nlocal-registry = 'far'\n",
        );
        world.write(
            "work/.cargo/config.toml",
            "[source.mirror]\nreplace-with = 'here'\n",
        );
        assert_eq!(
            world.found(CRATES_IO, MANIFEST),
            "local far/index/le/ak/leaky"
        );
        world.write(
            "work/project/.cargo/config",
            "[source.here]\nlocal-registry = 'near'\n",
        );
        assert_eq!(
            world.found(CRATES_IO, MANIFEST),
            "local work/project/near/index/le/ak/leaky"
        );
    }

    #[test]
    fn a_local_registry_for_another_one() {
        for url in ["https://made.example/index", "sparse+https://made.example/"] {
            let named = format!("[source.made]\nregistry = '{url}'\nreplace-with = 'here'\n");
            let listed = format!(
                "[registries.made]\nindex = '{url}'\n[source.made]\nreplace-with = 'here'\n"
            );
            let source = match url.starts_with("sparse+") {
                true => url.to_owned(),
                false => format!("registry+{url}"),
            };
            for text in [named, listed] {
                let world = World::new();
                let here = "[source.here]\nlocal-registry = '/srv/registry'\n";
                world.write("work/project/.cargo/config.toml", &(text + here));
                assert_eq!(
                    world.found(&source, MANIFEST),
                    "local /srv/registry/index/le/ak/leaky"
                );
                assert!(world.found(CRATES_IO, MANIFEST).starts_with("error: "));
            }
        }
    }

    #[test]
    fn sources_that_stand_in_for_each_other() {
        let world = World::new();
        world.write(
            "work/.cargo/config.toml",
            "[source]\ncrates-io.replace-with = 'a'\na.replace-with = 'crates-io'\n",
        );
        world.write("work/project/.cargo/config.toml", "[source\n");
        assert_eq!(
            world.found(CRATES_IO, MANIFEST),
            "error: cargo has no index for Leaky: there is no home/registry/index/made-1"
        );
    }
}
