//! Finds the crate and the modules of a function from its source file.
//!
//! With `debug = "line-tables-only"`, an inlined function has a name without a path. Then only
//! its file tells which crate it belongs to:
//!
//! ```text
//! from_owner   …/registry/src/index…/bytes-1.10.0/src/bytes.rs    bytes::bytes::from_owner
//! push         /rustc/0123…/library/alloc/src/vec/mod.rs          alloc::vec::push
//! fill         src/cache.rs                                       case::cache::fill
//! ```
//!
//! A path below `src/` does not name a local crate. Other functions in that folder with
//! complete names do. If nothing else does, the file of a target, such as `tests/leaks.rs`,
//! names the crate, and [`Normalization::own`] that of the measured package.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Normalization, normalize_frame};
use crate::SmallMap;
use crate::SourceFrame;

/// The crates of the harness. They are in a test, and nothing of the workload needs them.
pub(crate) const HARNESS: [&str; 6] = [
    "plimsoll",
    "plimsoll_core",
    "plimsoll_front",
    "plimsoll_subject",
    "plimsoll_symbols",
    "plimsoll_unwind",
];

/// The names of the drop-in that benchmarks are built with. Nobody measures criterion itself.
const DROPIN: [&str; 2] = ["criterion", "codspeed_criterion_compat"];

/// Returns whether a crate is the harness's own.
pub(super) fn is_of_harness(krate: &str) -> bool {
    HARNESS.contains(&krate) || DROPIN.contains(&krate)
}

/// The crate that the sources in each folder belong to.
#[derive(Debug)]
pub(super) struct Crates {
    by_folder: BTreeMap<String, String>,
    workspace_root: Option<String>,
}

impl Crates {
    /// Decides by the complete names that are most frequent in each folder.
    pub(super) fn of<'a>(
        frames: impl Iterator<Item = &'a SourceFrame>,
        normalization: &Normalization,
    ) -> Crates {
        let mut crates = Crates {
            by_folder: normalization.own.iter().cloned().collect(),
            workspace_root: normalization.workspace_root.clone(),
        };
        let mut votes: SmallMap<String, SmallMap<String, usize>> = SmallMap::default();
        for source in frames {
            let file = source.file.as_deref().map(|file| crates.inner(file));
            let place = file.as_deref().and_then(Place::of);
            let Some(place) = place.filter(|place| place.known_crate().is_none()) else {
                continue;
            };
            let name = normalize_frame(&source.function);
            if let Some(krate) = crate_of(&name).filter(|_| !is_pathless(&name)) {
                let of_folder = votes.or_default(place.folder.to_owned());
                *of_folder.or_default(krate.to_owned()) += 1;
            }
        }
        for (folder, of_folder) in votes {
            // Among equal counts, the first crate by name wins. What the harness's macros expand to
            // belongs to the crate that uses them, and to the harness's files.
            let of_folder = of_folder.into_iter().rev();
            let most = of_folder.max_by_key(|(krate, votes)| (is_of_harness(krate), *votes));
            let decided = most.map(|(krate, _)| (folder, krate));
            crates.by_folder.extend(decided);
        }
        crates
    }

    /// Returns a path without the folders that a workspace, a package or the standard library only
    /// happens to be in. A project has the same names in `~/src/project` as elsewhere.
    fn inner(&self, file: &str) -> String {
        let file = without_detours(file);
        let inner = below_root(&file, self.workspace_root.as_deref());
        inner.unwrap_or_else(|| file.into_owned())
    }

    /// Returns the name with the path that its file gives it. A name that has a path stays as
    /// it is.
    pub(super) fn qualify(&self, name: String, file: Option<&str>) -> String {
        let file = file.filter(|_| is_pathless(&name));
        let file = file.map(|file| self.inner(file));
        let Some(place) = file.as_deref().and_then(Place::of) else {
            return name;
        };
        let known = place
            .known_crate()
            .or_else(|| self.by_folder.get(place.folder).cloned())
            .or_else(|| place.target());
        let Some(krate) = known else { return name };
        let mut path = krate.clone();
        for (index, module) in place.modules().enumerate() {
            // `tests/leaks.rs` is the crate `leaks` itself; `src/leaks.rs` is a module.
            if index > 0 || module != krate || place.folder.ends_with("src") {
                path.push_str("::");
                path.push_str(&module);
            }
        }
        path + "::" + &name
    }
}

/// Returns whether a name does not say which crate it is from.
fn is_pathless(name: &str) -> bool {
    name.starts_with("{{") || !(name.contains("::") || name.starts_with(['<', '[']))
}

/// Returns the crate of a normalised name. For `<a::B as c::D>::f` this is the crate of the
/// type, or that of the trait if the type has no path.
pub(crate) fn crate_of(name: &str) -> Option<&str> {
    let first = |path: &str| -> Option<usize> { path.find("::").filter(|end| *end > 0) };
    let Some(inner) = name.strip_prefix('<') else {
        return first(name)
            .map(|end| &name[..end])
            .filter(|krate| is_identifier(krate));
    };
    let (implementor, implemented) = match inner.split_once(" as ") {
        Some((implementor, rest)) => (implementor, Some(rest)),
        None => (inner.split('>').next()?, None),
    };
    let implementor = implementor.strip_prefix("dyn ").unwrap_or(implementor);
    if implementor.starts_with('<') {
        return crate_of(implementor);
    }
    [Some(implementor), implemented]
        .into_iter()
        .flatten()
        .filter_map(|path| first(path).map(|end| &path[..end]))
        .find(|krate| is_identifier(krate))
}

pub(super) fn is_identifier(word: &str) -> bool {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    !word.is_empty() && word.chars().all(is_word)
}

/// The place of a Rust source file.
struct Place<'a> {
    /// The path of the folder that contains its crate's modules.
    folder: &'a str,
    /// The path from that folder, without `.rs`.
    inside: &'a str,
}

/// Folders that contain the root file of a crate.
const ROOTS: [&str; 4] = ["src", "tests", "benches", "examples"];

impl<'a> Place<'a> {
    fn of(file: &'a str) -> Option<Place<'a>> {
        let path = file.strip_suffix(".rs")?;
        let mut end = 0;
        let mut folder = None;
        let mut package = None;
        let mut is_in_src = false;
        for component in path.split('/') {
            let after = end + component.len();
            let is_root = ROOTS.contains(&component) && !is_sources_of_sources(&path[..end]);
            // No other folder below `src` is a crate's root, as in `src/tests/…`, but a `src` is, as in
            // `src/query/src/…`.
            let is_below = is_in_src && component != "src";
            if is_root && !is_below && after < path.len() {
                folder = Some(after);
                is_in_src |= component == "src";
            }
            if package.is_none() && unversioned(component).is_some() {
                package = Some(after);
            }
            end = after + 1;
        }
        // A few packages have their sources beside `Cargo.toml`.
        let folder = folder.or(package.filter(|end| *end < path.len()))?;
        Some(Place {
            folder: &path[..folder],
            inside: &path[folder + 1..],
        })
    }

    /// Returns the crate that the folder's own name says: `bytes-1.10.0/src`,
    /// `library/alloc/src`.
    fn known_crate(&self) -> Option<String> {
        let components = self.folder.rsplit('/');
        let mut components = components.skip_while(|component| ROOTS.contains(component));
        let package = components.next()?;
        let name = match unversioned(package) {
            Some(name) => name,
            None if components.next() == Some("library") => package,
            None => return None,
        };
        Some(name.replace('-', "_"))
    }

    /// Returns the crate of `tests/leaks.rs` or `tests/leaks/main.rs`, by cargo's rule.
    fn target(&self) -> Option<String> {
        let target = match self.inside.split_once('/') {
            None => self.inside,
            Some((folder, "main")) => folder,
            Some(_) => return None,
        };
        (!self.folder.ends_with("src")).then(|| target.replace('-', "_"))
    }

    fn modules(&self) -> impl Iterator<Item = String> {
        let mut modules: Vec<&str> = self.inside.split('/').collect();
        if let Some("mod") | Some("lib") | Some("main") = modules.last().copied() {
            modules.pop();
        }
        modules.into_iter().map(|module| module.replace('-', "_"))
    }
}

/// Returns whether a `src` in this folder contains packages and is not a crate's, as `/usr/src/`.
fn is_sources_of_sources(before: &str) -> bool {
    before == "/usr/" || before == "/usr/local/" || before == "/"
}

/// Returns a name such as `foo-bar-1.2.3-rc.1` without its version. `None` if it has no
/// version.
pub fn unversioned(package: &str) -> Option<&str> {
    Some(with_version(package)?.0)
}

/// Returns the name and the version.
fn with_version(package: &str) -> Option<(&str, &str)> {
    let is_digit = |char: char| char.is_ascii_digit();
    let is_number = |number: &str| !number.is_empty() && number.chars().all(is_digit);
    let is_version = |version: &str| match version.splitn(3, '.').collect::<Vec<_>>()[..] {
        [major, minor, patch] => {
            is_number(major) && is_number(minor) && patch.starts_with(is_digit)
        }
        _ => false,
    };
    let mut parts = package
        .match_indices('-')
        .map(|(at, _)| package.split_at(at));
    let found = parts.find(|(name, version)| !name.is_empty() && is_version(&version[1..]));
    found.map(|(name, version)| (name, &version[1..]))
}

/// Returns the crate of the package whose folder a shortened path begins with, if its name has
/// a version: `bytes` for `bytes-1.10.0/src/lib.rs`.
pub(crate) fn package_of_file(file: &str) -> Option<String> {
    let (package, _) = file.split_once('/')?;
    unversioned(package).map(|name| name.replace('-', "_"))
}

/// Returns the version of that package.
pub(crate) fn version_of_file(file: &str) -> Option<&str> {
    let (package, _) = file.split_once('/')?;
    with_version(package).map(|(_, version)| version)
}

/// Returns whether a file belongs to the standard library, including its own hashbrown.
pub(super) fn is_std_file(file: &str) -> bool {
    let library = file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/");
    library && file.contains("/library/") || file.starts_with("/rust/deps/")
}

/// Returns a short path for people: of a file in cargo's or the compiler's folders from the
/// package's folder on, in the workspace from its root on, and of any other absolute path the last
/// four names.
pub fn shortened(file: &str, workspace_root: Option<&str>) -> String {
    let file = &*without_detours(file);
    let last_four = || {
        let (at, _) = file.rmatch_indices('/').nth(3)?;
        file.starts_with('/').then(|| file[at + 1..].to_owned())
    };
    below_root(file, workspace_root)
        .or_else(last_four)
        .unwrap_or_else(|| file.to_owned())
}

/// Returns the path from a package's folder on, or from the root of the workspace.
fn below_root(file: &str, workspace_root: Option<&str>) -> Option<String> {
    let in_workspace = || {
        let root = workspace_root?.trim_end_matches('/');
        let below = file.strip_prefix(root).filter(|_| !root.is_empty())?;
        below.strip_prefix('/').map(str::to_owned)
    };
    package_path(file).or_else(in_workspace)
}

/// Returns a path without `folder/../`, which debug information has of `#[path = "../x.rs"]`. A
/// `..` without a folder before it stays.
fn without_detours(file: &str) -> Cow<'_, str> {
    if !file.contains("/../") {
        return Cow::Borrowed(file);
    }
    let mut names: Vec<&str> = Vec::new();
    for name in file.split('/') {
        let is_folder = names
            .last()
            .is_some_and(|last| !matches!(*last, "" | "." | ".."));
        match name {
            ".." if is_folder => drop(names.pop()),
            _ => names.push(name),
        }
    }
    Cow::Owned(names.join("/"))
}

/// Returns a path such as `lru-0.18.1/src/lib.rs` for a file in cargo's or the compiler's
/// folders.
fn package_path(file: &str) -> Option<String> {
    let in_folder = |rest: &str| Some(rest.split_once('/')?.1.to_owned());
    if let Some((_, rest)) = file.split_once("/registry/src/") {
        return in_folder(rest);
    }
    if let Some((_, rest)) = file.split_once("/git/checkouts/") {
        // The name of the repository's folder ends in a hash.
        let (repository, path) = rest.split_once('/')?;
        let name = repository.rsplit_once('-').map(|(name, _)| name);
        return Some(format!("{}/{path}", name.unwrap_or(repository)));
    }
    if let Some(rest) = file.strip_prefix("/rustc/") {
        return in_folder(rest);
    }
    if let Some((_, rest)) = file.split_once("/lib/rustlib/src/rust/") {
        return Some(rest.to_owned());
    }
    file.strip_prefix("/rust/deps/").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_detours() {
        for (file, short) in [
            ("/w/leaky/../src/lib.rs", "src/lib.rs"),
            ("/w/src/a/b/../../lib.rs", "src/lib.rs"),
            ("src/../src/x.rs", "src/x.rs"),
            ("../../x/../lib.rs", "../../lib.rs"),
            ("/../lib.rs", "/../lib.rs"),
            ("a..b/../lib.rs", "lib.rs"),
            (
                "/rustc/0123/library/core/src/../../simd/src/lib.rs",
                "library/simd/src/lib.rs",
            ),
        ] {
            assert_eq!(shortened(file, Some("/w")), short, "{file}");
        }
    }
}
