//! Reads the releases of a package from cargo's index of its registry.
//!
//! ```text
//! CARGO_HOME/registry/src/index.crates.io-1949cf8c6b5b557f/moka-0.12.8/Cargo.toml
//! CARGO_HOME/registry/index/index.crates.io-1949cf8c6b5b557f/.cache/mo/ka/moka
//! ```
//!
//! cargo gives the two folders the same name, which depends on the source that it really asks:
//! a mirror of crates.io has another name. So the path of the package's manifest tells which
//! index to read. tame-index reads it.
//!
//! A local registry is a folder that `[source]` in cargo's configuration names. It contains
//! its own index. To find the folder, tame-index reads only one configuration file and follows
//! only one replacement. cargo merges all its files and follows every replacement, so this
//! module reads the configuration itself.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, bail};
use semver::Version;
use serde::Deserialize;
use tame_index::flock::{FileLock, LockOptions};
use tame_index::index::{ComboIndexCache, LocalRegistry, SparseIndex};
use tame_index::{
    CRATES_IO_INDEX as CRATES_IO, IndexLocation, IndexPath, KrateName, Path, PathBuf,
};
use toml_edit::{DocumentMut, Item};

use super::Published;

/// The longest chain of sources that replace one another.
const MOST_REPLACED: usize = 16;

/// The keys of a release that are needed. Not every registry writes all the other keys that
/// tame-index expects.
#[derive(Deserialize)]
struct Record {
    vers: String,
    #[serde(default)]
    yanked: Option<bool>,
}

/// Returns all releases of a package. `source` and `manifest` are as `cargo metadata` reports
/// them.
pub(super) fn releases(
    name: &str,
    source: &str,
    manifest: &Path,
    workspace: &Path,
) -> anyhow::Result<Vec<Published>> {
    // The folders are NAME-VERSION, the source, `src`, `registry`, and cargo's home.
    let folders: Vec<&Path> = manifest.ancestors().skip(2).take(4).collect();
    let &[sources, src, registry, home] = folders.as_slice() else {
        bail!("{manifest} is in no folder of a registry");
    };
    if !src.ends_with("src") || !registry.ends_with("registry") {
        bail!("it is taken from {sources}, which has no index");
    }
    let cached = registry
        .join("index")
        .join(sources.file_name().unwrap_or_default());
    let index = if cached.is_dir() {
        // A cached git index has the same format. The address of the index is only used to
        // find the folder, which is known.
        let root = IndexPath::Exact(cached);
        SparseIndex::new(IndexLocation {
            root,
            ..IndexLocation::default()
        })?
        .into()
    } else if let Some(local) = local_registry(source, workspace, home) {
        ComboIndexCache::LocalRegistry({
            let opened = LocalRegistry::open(local.clone(), false);
            opened.with_context(|| local.to_string())?
        })
    } else {
        bail!("there is no {cached}");
    };
    let krate = KrateName::try_from(name)?;
    let path = index.cache_path(krate);
    let lock = LockOptions::cargo_package_lock(Some(home.to_owned()))?.shared();
    // Some file systems have no locks.
    let lock = lock.lock(|_| None).unwrap_or_else(|_| FileLock::unlocked());
    let Some(entry) = index.cached_krate(krate, &lock)? else {
        bail!("there is no {path}");
    };
    let mut all = Vec::new();
    for release in entry.iter().with_context(|| path.to_string())? {
        let (_, json) = release.raw();
        // A local registry may have blank lines.
        if json.trim_ascii().is_empty() {
            continue;
        }
        let record: Record = serde_json::from_slice(json).with_context(|| path.to_string())?;
        // The version is from before registries checked versions. cargo cannot select it,
        // either.
        if let Ok(version) = Version::parse(&record.vers) {
            let yanked = record.yanked == Some(true);
            all.push(Published { version, yanked });
        }
    }
    Ok(all)
}

/// Returns the folder of the local registry that replaces a source, if there is one.
fn local_registry(source: &str, workspace: &Path, home: &Path) -> Option<PathBuf> {
    let settings = settings(workspace, home);
    let url = source.strip_prefix("registry+").unwrap_or(source);
    let names = |setting: &(&[String; 3], &Setting)| {
        let ([table, _, key], setting) = setting;
        let key = (table.as_str(), key.as_str());
        setting.value == url && [("source", "registry"), ("registries", "index")].contains(&key)
    };
    let mut name = match url {
        CRATES_IO => "crates-io",
        // In reverse order, `source` comes before `registries`.
        _ => &settings.iter().rev().find(names)?.0[1],
    };
    let of = |key: &str, name: &str| settings.get(&["source", name, key].map(str::to_owned));
    for _ in 0..MOST_REPLACED {
        match of("replace-with", name) {
            Some(other) => name = &other.value,
            None => {
                let folder = of("local-registry", name)?;
                return Some(folder.base.join(&folder.value));
            }
        }
    }
    None
}

/// A string of cargo's configuration.
struct Setting {
    value: String,
    /// The folder to which a path in it is relative.
    base: PathBuf,
}

/// Returns the strings of `[source.NAME]` and `[registries.NAME]`, by table, name and key. The
/// nearest file that has a key counts. A file that cannot be read is ignored, because cargo
/// has reported it.
fn settings(workspace: &Path, home: &Path) -> BTreeMap<[String; 3], Setting> {
    let folders = workspace.ancestors().map(|dir| dir.join(".cargo"));
    let mut all = BTreeMap::new();
    for folder in folders.chain([home.to_owned()]) {
        // If both files exist, cargo reads the one with the older name.
        let mut paths = ["config", "config.toml"]
            .into_iter()
            .map(|name| folder.join(name));
        let text = paths.find_map(|path| fs::read_to_string(path).ok());
        let content = text.and_then(|text| text.parse::<DocumentMut>().ok());
        let (Some(content), Some(base)) = (content, folder.parent()) else {
            continue;
        };
        for table in ["source", "registries"] {
            for (name, entry) in entries(content.get(table)) {
                for (key, value) in entries(Some(entry)) {
                    let Some(value) = value.as_str().map(str::to_owned) else {
                        continue;
                    };
                    let base = base.to_owned();
                    all.entry([table, name, key].map(str::to_owned))
                        .or_insert(Setting { value, base });
                }
            }
        }
    }
    all
}

fn entries(item: Option<&Item>) -> impl Iterator<Item = (&str, &Item)> {
    let table = item.and_then(Item::as_table_like);
    table.into_iter().flat_map(|table| table.iter())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    /// cargo's home and a project's folder.
    struct World(tempfile::TempDir);

    const MANIFEST: &str = "home/registry/src/made-1/leaky-0.1.0/Cargo.toml";
    /// An index file as cargo 1.95 writes it, with one of its checksums.
    const CACHED: &str = "\x03\x02\0\0\0ad388ceaa753fbad5f958ddc4983d6c338928388\0\
        0.1.0\0{\"name\":\"leaky\",\"vers\":\"0.1.0\",\"deps\":[],\
        \"cksum\":\"340b0aa27786573ef1f973fd1356 47ad\",\"features\":{},\"yanked\":false}\0\
        0.1.1\0{\"name\":\"leaky\",\"vers\":\"0.1.1\",\"deps\":[{\"name\":\"log\",\"req\":\"^0.4\"}],\
        \"features\":{\"default\":[]},\"yanked\":true,\"rust_version\":\"1.60\",\"v\":2}\0\
        0.2.0-rc.1\0{\"name\": \"leaky\", \"vers\": \"0.2.0-rc.1\"}\0";
    /// An index with a blank line and an invalid version.
    const LOCAL: &str = "{\"name\":\"leaky\",\"vers\":\"0.1\"}\r\n\n\
        {\"name\":\"Leaky\",\"vers\":\"0.1.1\",\"yanked\":null}\n";

    impl World {
        fn of(files: &[(&str, &str)]) -> World {
            let world = World(tempfile::tempdir().unwrap());
            for (path, text) in files {
                let path = world.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            world
        }

        fn path(&self, path: &str) -> PathBuf {
            Path::from_path(self.0.path()).unwrap().join(path)
        }

        /// Returns the releases as they are found from the project's folder. Paths are
        /// relative to the world's.
        fn releases(&self, manifest: &str) -> String {
            let source = format!("registry+{CRATES_IO}");
            let workspace = self.path("work/project");
            let found = match releases("Leaky", &source, &self.path(manifest), &workspace) {
                Ok(all) => {
                    let words = all.iter().map(|one| match one.yanked {
                        true => format!("{} (yanked)", one.version),
                        false => one.version.to_string(),
                    });
                    words.collect::<Vec<String>>().join(" ")
                }
                Err(why) => format!("error: {why:#}"),
            };
            found.replace(self.path("").as_str(), "")
        }

        fn local(&self, source: &str) -> String {
            let found = local_registry(source, &self.path("work/project"), &self.path("home"));
            found.map_or("none".to_owned(), |path| {
                path.as_str().replace(self.path("").as_str(), "")
            })
        }
    }

    #[test]
    fn the_cache_of_the_same_name() {
        let world = World::of(&[
            ("home/registry/index/made-2/.cache/le/ak/leaky", ""),
            ("home/registry/index/made-1/.cache/le/ak/leaky", CACHED),
        ]);
        assert_snapshot!(world.releases(MANIFEST), @"0.1.0 0.1.1 (yanked) 0.2.0-rc.1");
        assert_snapshot!(world.releases("home/registry/src/made-2/leaky-0.1.0/Cargo.toml"), @"error: home/registry/index/made-2/.cache/le/ak/leaky: cache error: the cache entry is malformed");
        assert_snapshot!(world.releases("home/registry/src/made-3/leaky-0.1.0/Cargo.toml"), @"error: there is no home/registry/index/made-3");
        assert_snapshot!(world.releases("work/project/vendor/leaky/Cargo.toml"), @"error: it is taken from work/project/vendor, which has no index");
    }

    #[test]
    fn a_local_registry_by_the_nearest_configuration() {
        let far =
            "[source.crates-io]\nreplace-with = 'mirror'\n[source.here]\nlocal-registry = 'far'";
        let mirror = "[source.mirror]\nreplace-with = 'here'";
        let near = "[source.here]\nlocal-registry = 'near'";
        let mut files = vec![
            ("far/index/le/ak/leaky", LOCAL),
            ("home/config.toml", far),
            ("work/.cargo/config.toml", mirror),
        ];
        assert_snapshot!(World::of(&files).releases(MANIFEST), @"0.1.1");
        files.push(("work/project/.cargo/config", near));
        assert_snapshot!(World::of(&files).releases(MANIFEST), @"error: work/project/near: I/O error: No such file or directory (os error 2)");
    }

    #[test]
    fn a_local_registry_for_another_one() {
        let here = "[source.here]\nlocal-registry = '/srv/registry'\n";
        for url in ["https://made.example/index", "sparse+https://made.example/"] {
            let named = format!("[source.made]\nregistry = '{url}'\nreplace-with = 'here'\n");
            let listed = format!(
                "[registries.made]\nindex = '{url}'\n[source.made]\nreplace-with = 'here'\n"
            );
            for text in [named, listed] {
                let world = World::of(&[("work/project/.cargo/config.toml", &(text + here))]);
                assert_eq!(world.local(url), "/srv/registry");
                assert_eq!(world.local(&format!("registry+{url}")), "/srv/registry");
                assert_eq!(world.local(CRATES_IO), "none");
            }
        }
    }

    #[test]
    fn sources_that_stand_in_for_each_other() {
        let circle = "[source]\ncrates-io.replace-with = 'a'\na.replace-with = 'crates-io'\n";
        let world = World::of(&[
            ("work/.cargo/config.toml", circle),
            ("work/project/.cargo/config.toml", "[source\n"),
        ]);
        assert_eq!(world.local(CRATES_IO), "none");
    }
}
