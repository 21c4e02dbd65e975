//! Adds the packages that a test needs to a lockfile, in the versions of another lockfile.
//!
//! The packages of the old file stay, because they are the code under test. A dependency graph
//! has only one of several compatible versions, such as 1.2 and 1.9. So an added package uses
//! the version that is there. If that version is too old, it is raised, and the program says
//! so. A package that nothing needs does no harm: cargo prefers its version to a newer one,
//! and drops what is unused.
//!
//! cargo cannot do this. For a dependency that the lockfile lacks, it takes the newest
//! version, and raises every version in its way to the newest. Offline, it replaces old
//! versions by downloaded ones. `cargo update --precise` does not repair that: it changes one
//! package at a time, and leaves vendored sources as they are.

use std::collections::{BTreeMap, BTreeSet};

use cargo_lock::{Dependency as Edge, Lockfile, Package, SourceId};
use cargo_metadata::{Dependency, DependencyKind, Metadata};
use semver::Version;
use toml_edit::DocumentMut;

use plimsoll_desk::out::safe_line;

/// The packages of a lockfile.
#[derive(Debug)]
pub(super) struct Lock(Lockfile);

/// The version requirements of packages on their dependencies. A lockfile does not contain
/// them.
#[derive(Debug, Default)]
pub(super) struct Requirements(BTreeMap<(String, Version), Vec<Dependency>>);

impl Requirements {
    /// Reads the requirements from the output of `cargo metadata` with dependencies.
    pub(super) fn read(metadata: &Metadata) -> Requirements {
        let mut all: BTreeMap<_, Vec<Dependency>> = BTreeMap::new();
        for package in &metadata.packages {
            let of = (package.name.to_string(), package.version.clone());
            let counts = |one: &&Dependency| {
                package.source.is_none() || one.kind != DependencyKind::Development
            };
            let asked = package.dependencies.iter().filter(counts).cloned();
            all.entry(of).or_default().extend(asked);
        }
        Requirements(all)
    }

    /// Tells whether a package that depends on one version accepts another. Returns `None` if
    /// that is not known.
    fn allow(&self, package: &Package, on: &Edge, other: &Version) -> Option<bool> {
        let of = (package.name.to_string(), package.version.clone());
        // There may be several requirements for one name, with different versions or targets.
        let is_asked =
            |one: &&Dependency| one.name == on.name.as_str() && one.req.matches(&on.version);
        let mut asked = self.0.get(&of)?.iter().filter(is_asked).peekable();
        asked.peek()?;
        Some(asked.all(|one| one.req.matches(other)))
    }
}

/// The result of a merge.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) text: String,
    /// The packages that were raised to a newer version, as `name 1.2.0 to 1.9.0`.
    pub(super) raised: Vec<String>,
}

impl Lock {
    pub(super) fn parse(text: &str) -> Result<Lock, String> {
        // This parser says on one line what is wrong, and where.
        let document = text.parse::<DocumentMut>();
        document.map_err(|err| super::files::said(text, &err))?;
        let lock = text.parse().map_err(|err: cargo_lock::Error| {
            // The lines before the last show the source.
            safe_line(err.to_string().lines().last().unwrap_or_default())
        });
        lock.map(Lock)
    }

    /// Returns the packages that a package needs, in a form that is equal for equal packages.
    pub(super) fn reachable(&self, package: &str) -> Vec<String> {
        let needed = self.needed(package).into_iter();
        needed.map(|one| Edge::from(one).to_string()).collect()
    }

    /// Returns a package and everything that it needs.
    fn needed(&self, package: &str) -> BTreeSet<&Package> {
        let mut seen = BTreeSet::new();
        let first = member(&self.0.packages, package).map(|at| &self.0.packages[at]);
        let mut left: Vec<&Package> = Vec::from_iter(first);
        while let Some(one) = left.pop() {
            if seen.insert(one) {
                left.extend(one.dependencies.iter().filter_map(|on| self.find(on)));
            }
        }
        seen
    }

    fn find(&self, edge: &Edge) -> Option<&Package> {
        let is_it = |one: &&Package| {
            (&one.name, &one.version, &one.source) == (&edge.name, &edge.version, &edge.source)
        };
        self.0.packages.iter().find(is_it)
    }

    /// Adds to an old lockfile what a package of this one needs. `added` are the package's
    /// direct dependencies that its old manifest did not have.
    pub(super) fn merge_into(
        &self,
        old: &str,
        package: &str,
        added: &BTreeSet<String>,
        requirements: &Requirements,
    ) -> Result<Merged, String> {
        let Lock(mut lock) = Lock::parse(old)?;
        let mut merge = Merge {
            new: self,
            requirements,
            packages: std::mem::take(&mut lock.packages),
            left: Vec::new(),
            raised: BTreeMap::new(),
        };
        merge.run(package, added);
        let raised = merge.raised.iter().map(|(at, from)| {
            let now = &merge.packages[*at];
            format!("{} {from} to {}", now.name, now.version)
        });
        let raised = raised.collect();
        lock.packages = merge.packages;
        lock.packages.sort();
        let text = lock.to_string();
        Ok(Merged { text, raised })
    }
}

struct Merge<'a> {
    new: &'a Lock,
    requirements: &'a Requirements,
    /// The packages of the old lockfile, followed by the added ones.
    packages: Vec<Package>,
    /// The packages whose dependencies are not merged yet: the index in `packages`, the
    /// package in `new`, and whether the test needs it.
    left: Vec<(usize, &'a Package, bool)>,
    /// The versions that were raised, by index in `packages`.
    raised: BTreeMap<usize, Version>,
}

impl<'a> Merge<'a> {
    fn run(&mut self, package: &str, added: &BTreeSet<String>) {
        let Some(new) = member(&self.new.0.packages, package) else {
            return;
        };
        let new = &self.new.0.packages[new];
        let at = match member(&self.packages, package) {
            Some(at) => at,
            None => self.add(new, true),
        };
        self.left.clear();
        for on in &new.dependencies {
            if added.contains(on.name.as_str()) {
                let on = self.choose(new, on, true);
                if !self.packages[at].dependencies.contains(&on) {
                    self.packages[at].dependencies.push(on);
                }
            }
        }
        self.settle();
        // A feature that was off before may need more packages. They are added without a
        // dependency on them: if cargo needs them, it prefers these versions to newer ones.
        for one in self.new.needed(package) {
            let is_there = |other: &Package| {
                other.name == one.name && is_same_place(other, one) && excludes(other, one)
            };
            if one.source.is_some() && !self.packages.iter().any(is_there) {
                self.add(one, false);
                self.settle();
            }
        }
    }

    /// Merges the dependencies of the packages that were added.
    fn settle(&mut self) {
        while let Some((at, new, needed)) = self.left.pop() {
            let of_now = new.dependencies.iter();
            self.packages[at].dependencies =
                of_now.map(|on| self.choose(new, on, needed)).collect();
        }
    }

    fn add(&mut self, new: &'a Package, needed: bool) -> usize {
        let at = self.packages.len();
        self.packages.push(Package {
            dependencies: Vec::new(),
            ..new.clone()
        });
        self.left.push((at, new, needed));
        at
    }

    /// Returns the package to use for a dependency of the working tree's lockfile.
    fn choose(&mut self, package: &Package, on: &Edge, needed: bool) -> Edge {
        let Some(wanted) = self.new.find(on) else {
            return on.clone();
        };
        let candidates = self.packages.iter().enumerate();
        let candidates =
            candidates.filter(|(_, one)| one.name == wanted.name && is_same_place(one, wanted));
        let excluding = candidates.clone().find(|(_, one)| excludes(one, wanted));
        if let Some((_, one)) = excluding
            && (!is_of_registry(wanted) || one.version == wanted.version)
        {
            return one.into();
        }
        let fits = candidates.filter(|(_, one)| {
            let allowed = self.requirements.allow(package, on, &one.version);
            allowed.unwrap_or_else(|| excludes(one, wanted))
        });
        if let Some((_, one)) = fits.max_by_key(|(_, one)| &one.version) {
            return one.into();
        }
        match excluding.map(|(at, one)| (at, Edge::from(one))) {
            Some((at, old)) if needed && old.version < wanted.version => {
                let packages = self.packages.iter_mut();
                let edges = packages.flat_map(|one| &mut one.dependencies);
                edges
                    .filter(|edge| **edge == old)
                    .for_each(|edge| *edge = on.clone());
                self.raised.entry(at).or_insert(old.version);
                self.packages[at] = wanted.clone();
                self.left.push((at, wanted, true));
                on.clone()
            }
            // The old version is in the way and cannot be raised. cargo will explain the
            // conflict.
            Some((_, old)) => old,
            None => {
                self.add(wanted, needed);
                on.clone()
            }
        }
    }
}

/// Returns the index of a package of the workspace.
fn member(packages: &[Package], name: &str) -> Option<usize> {
    let is_it = |one: &Package| one.name.as_str() == name && one.source.is_none();
    packages.iter().position(is_it)
}

/// Tells whether two packages come from the same source. The revision of a git source is part
/// of the version here, not of the source.
fn is_same_place(one: &Package, other: &Package) -> bool {
    match (&one.source, &other.source) {
        (Some(one), Some(other)) => (one.kind(), one.url()) == (other.kind(), other.url()),
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn is_of_registry(package: &Package) -> bool {
    package.source.as_ref().is_some_and(SourceId::is_registry)
}

/// Tells whether a dependency graph can have only one of two versions of a package.
fn excludes(one: &Package, other: &Package) -> bool {
    let range = |version: &Version| match (version.major, version.minor, version.patch) {
        (0, 0, patch) => (0, 0, patch),
        (0, minor, _) => (0, minor, 0),
        (major, _, _) => (major, 0, 0),
    };
    !is_of_registry(one) || range(&one.version) == range(&other.version)
}
