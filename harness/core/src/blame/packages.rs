//! The packages of a workspace and their dependencies, as `Cargo.lock` has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use toml_edit::{Document, Item, Table};

/// The packages that a workspace is built from, by the names of their crates.
///
/// A package without a source is the reader's own: a member of the workspace, or one that is
/// named by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    own: BTreeSet<String>,
    foreign: BTreeSet<String>,
    /// What each crate needs.
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Packages {
    /// Reads the text of a `Cargo.lock`. A text that is none gives no packages: then only the
    /// paths of source files tell whose code a frame is.
    pub fn of_lockfile(text: &str) -> Packages {
        let mut packages = Packages::default();
        let Ok(document) = Document::parse(text) else {
            return packages;
        };
        let listed = document.get("package").and_then(Item::as_array_of_tables);
        for package in listed.into_iter().flatten() {
            packages.add(package);
        }
        packages
    }

    /// Adds a crate of the reader's own that `Cargo.lock` does not have, such as a test target.
    #[must_use]
    pub fn with_own(mut self, target: &str) -> Packages {
        self.own.insert(crate_name(target));
        self
    }

    fn add(&mut self, package: &Table) {
        let Some(name) = package.get("name").and_then(Item::as_str) else {
            return;
        };
        let dependencies = package.get("dependencies").and_then(Item::as_array);
        let needed = dependencies.into_iter().flatten().filter_map(|needed| {
            // `name`, `name version` or `name version (source)`
            needed.as_str()?.split(' ').next().map(crate_name)
        });
        let name = crate_name(name);
        self.needs.entry(name.clone()).or_default().extend(needed);
        match package.contains_key("source") {
            true => self.foreign.insert(name),
            false => self.own.insert(name),
        };
    }

    /// Returns whether a crate is the reader's own.
    pub(super) fn is_own(&self, krate: &str) -> bool {
        self.own.contains(krate)
    }

    /// Returns whether a crate is from a registry or a repository.
    pub(super) fn is_foreign(&self, krate: &str) -> bool {
        self.foreign.contains(krate)
    }

    /// Returns what a crate needs directly.
    fn needed_by(&self, krate: &str) -> impl Iterator<Item = &String> {
        self.needs.get(krate).into_iter().flatten()
    }

    /// Returns the reader's own dependency on the shortest way to a crate. `None` if it is the
    /// crate itself, or if no package needs the crate.
    pub(super) fn direct_that_needs(&self, krate: &str) -> Option<String> {
        let direct = self.own.iter().flat_map(|own| self.needed_by(own));
        let mut seen: BTreeSet<&str> = self.own.iter().map(String::as_str).collect();
        let mut queue: VecDeque<(&str, &str)> = VecDeque::new();
        queue.extend(direct.map(|direct| (direct.as_str(), direct.as_str())));
        while let Some((name, direct)) = queue.pop_front() {
            if name == krate {
                return (direct != krate).then(|| direct.to_owned());
            }
            if seen.insert(name) {
                queue.extend(self.needed_by(name).map(|needed| (needed.as_str(), direct)));
            }
        }
        None
    }
}

/// Returns the name of a package's crate, unless the package gives it another one.
fn crate_name(package: &str) -> String {
    package.replace('-', "_")
}
