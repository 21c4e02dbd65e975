//! The packages of a workspace and their dependencies, as `Cargo.lock` has them.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fold::HARNESS;

/// The packages that a workspace is built from, by the names of their crates.
///
/// A package without a source is the reader's own: a member of the workspace, or one that is
/// named by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packages {
    own: BTreeSet<String>,
    foreign: BTreeSet<String>,
    /// What each package needs. A package of which there are several versions is written with
    /// its version, `name version`, as in the file.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// The versions of each crate from elsewhere.
    versions: BTreeMap<String, BTreeSet<String>>,
}

impl Packages {
    /// Reads the text of a `Cargo.lock`. A text that is none gives no packages: then only the
    /// paths of source files tell whose code a frame is.
    pub fn of_lockfile(text: &str) -> Packages {
        let mut packages = Packages::default();
        let Ok(document) = DeTable::parse(text) else {
            return packages;
        };
        let listed = document.get_ref().get("package").map(Spanned::get_ref);
        for package in listed.and_then(DeValue::as_array).into_iter().flatten() {
            packages.add(package.get_ref());
        }
        packages
    }

    /// Adds a crate of the reader's own that `Cargo.lock` does not have, such as a test target.
    #[must_use]
    pub fn with_own(mut self, target: &str) -> Packages {
        self.own.insert(crate_name(target));
        self
    }

    fn add(&mut self, package: &DeValue) {
        let text = |key| package.get(key)?.get_ref().as_str();
        let (Some(name), version) = (text("name"), text("version").unwrap_or_default()) else {
            return;
        };
        let dependencies = package.get("dependencies").map(Spanned::get_ref);
        let dependencies = dependencies.and_then(DeValue::as_array).into_iter();
        let needed = dependencies.flatten().filter_map(|needed| {
            // `name`, `name version` or `name version (source)`
            let mut words = needed.get_ref().as_str()?.split(' ');
            let name = crate_name(words.next()?);
            Some(
                words
                    .next()
                    .map_or(name.clone(), |version| format!("{name} {version}")),
            )
        });
        let name = crate_name(name);
        let needed: BTreeSet<String> = needed.collect();
        // Whoever needs it writes it in one of these two ways.
        for key in [name.clone(), format!("{name} {version}")] {
            self.needs.entry(key).or_default().extend(needed.clone());
        }
        match package.get("source").is_some() {
            true => {
                let versions = self.versions.entry(name.clone()).or_default();
                versions.insert(version.to_owned());
                self.foreign.insert(name)
            }
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

    /// Returns whether one of the reader's own packages needs a crate directly.
    pub(super) fn is_needed_by_own(&self, krate: &str) -> bool {
        let mut direct = self.direct();
        direct.any(|needed| needed.split(' ').next() == Some(krate))
    }

    /// Returns the dependencies of the reader's own packages. A checkout of plimsoll is none of
    /// these.
    fn direct(&self) -> impl Iterator<Item = &str> {
        let own = self
            .own
            .iter()
            .filter(|own| !HARNESS.contains(&own.as_str()));
        let needed = own.flat_map(|own| self.needed_by(own)).map(String::as_str);
        needed.filter(|needed| !self.own.contains(*needed) && !HARNESS.contains(needed))
    }

    /// Returns what a package needs directly.
    fn needed_by(&self, package: &str) -> impl Iterator<Item = &String> {
        self.needs.get(package).into_iter().flatten()
    }

    /// Returns the reader's own dependency that needs a crate, directly or not. `None` if that is
    /// the crate itself, if several of them do, or if the crate has several versions and
    /// `version` is not known.
    pub(super) fn direct_that_needs(&self, krate: &str, version: Option<&str>) -> Option<String> {
        let versions = self.versions.get(krate)?;
        let only = versions.first().filter(|_| versions.len() == 1);
        let version = version.or(only.map(String::as_str))?;
        let with_version = format!("{krate} {version}");
        let is_it = |package: &str| package == krate || package == with_version;
        let direct: BTreeSet<&str> = self.direct().collect();
        if direct.iter().any(|direct| is_it(direct)) {
            return None;
        }
        let mut that_need = direct.into_iter().filter(|direct| {
            let mut seen = BTreeSet::from([*direct]);
            let mut queue = vec![*direct];
            while let Some(package) = queue.pop() {
                if is_it(package) {
                    return true;
                }
                let needed = self.needed_by(package).map(String::as_str);
                queue.extend(needed.filter(|needed| seen.insert(needed)));
            }
            false
        });
        let one = that_need.next().filter(|_| that_need.next().is_none())?;
        one.split(' ').next().map(str::to_owned)
    }
}

/// Returns the name of a package's crate, unless the package gives it another one.
fn crate_name(package: &str) -> String {
    package.replace('-', "_")
}
