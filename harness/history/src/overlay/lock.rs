//! Adds the packages that a test needs to a lockfile, in the versions of another lockfile.
//!
//! ```toml
//! [[package]]
//! name = "lru"
//! version = "0.12.5"
//! source = "registry+https://github.com/rust-lang/crates.io-index"
//! checksum = "…"
//! dependencies = ["hashbrown 0.15.2"]   # the version where there are several
//! ```
//!
//! What the old file has stays, because it is the code under test. Of compatible versions (1.2 and
//! 1.9), a dependency graph has at most one. So an added package depends on the version of the old
//! file. Only if that version is too old for it does the newer one replace it, and this is
//! reported. Packages that nothing needs do no harm: cargo prefers their versions to any newer
//! ones, and drops those that it does not use.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{Dependency, DependencyKind, Metadata};
use semver::Version;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

/// The packages of a lockfile.
#[derive(Debug)]
pub(super) struct Lock {
    packages: Vec<Package>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: String,
    version: String,
    /// Absent where it is a folder.
    source: Option<String>,
    checksum: Option<String>,
    /// Where they are in the list of packages.
    dependencies: Vec<usize>,
}

/// What packages ask of their dependencies, which no lockfile says.
#[derive(Debug, Default)]
pub(super) struct Requirements(BTreeMap<(String, String), Vec<Dependency>>);

impl Requirements {
    /// From what `cargo metadata` prints, which was told to resolve.
    pub(super) fn read(metadata: &Metadata) -> Requirements {
        let mut all: BTreeMap<_, Vec<Dependency>> = BTreeMap::new();
        for package in &metadata.packages {
            let of = (package.name.to_string(), package.version.to_string());
            let counts = |one: &&Dependency| {
                package.source.is_none() || one.kind != DependencyKind::Development
            };
            let asked = package.dependencies.iter().filter(counts).cloned();
            all.entry(of).or_default().extend(asked);
        }
        Requirements(all)
    }

    /// Whether a package that depends on one version could do with another;
    /// nothing where that is not known.
    fn allow(&self, package: &Package, on: &Package, other: &Version) -> Option<bool> {
        let asked = self
            .0
            .get(&(package.name.clone(), package.version.clone()))?;
        let now = on.version()?;
        // There may be several for one name, of different versions or targets.
        let mut asked = asked
            .iter()
            .filter(|one| one.name == on.name && one.req.matches(&now))
            .peekable();
        asked.peek()?;
        Some(asked.all(|one| one.req.matches(other)))
    }
}

/// What became of a lockfile.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) text: String,
    /// Packages that had to give way to a newer version, as `name 1.2.0 to 1.9.0`.
    pub(super) raised: Vec<String>,
}

impl Package {
    fn version(&self) -> Option<Version> {
        Version::parse(&self.version).ok()
    }

    /// One place that versions come from. A git revision is a version of its own.
    fn comes_from(&self) -> Option<&str> {
        let source = self.source.as_deref()?;
        Some(source.split('#').next().unwrap_or(source))
    }

    fn is_git(&self) -> bool {
        self.source
            .as_deref()
            .is_some_and(|source| source.starts_with("git+"))
    }

    /// Of two versions of a package, whether a graph can have one of them only.
    fn excludes(&self, other: &Package) -> bool {
        if self.source.is_none() || self.is_git() {
            return true;
        }
        let range = |version: Version| match (version.major, version.minor, version.patch) {
            (0, 0, patch) => (0, 0, patch),
            (0, minor, _) => (0, minor, 0),
            (major, _, _) => (major, 0, 0),
        };
        match (self.version(), other.version()) {
            (Some(one), Some(other)) => range(one) == range(other),
            _ => self.version == other.version,
        }
    }
}

impl Lock {
    pub(super) fn parse(text: &str) -> Result<Lock, String> {
        let document: DocumentMut = text.parse().map_err(|err| super::files::said(text, &err))?;
        let tables = document.get("package").and_then(Item::as_array_of_tables);
        let tables: Vec<_> = tables.into_iter().flatten().collect();
        let mut packages: Vec<Package> = tables.iter().map(|table| package(table)).collect();
        for (at, table) in tables.iter().enumerate() {
            let named = names(table);
            packages[at].dependencies = named.filter_map(|name| find(&packages, name)).collect();
        }
        Ok(Lock { packages })
    }

    /// What a package needs, in a form that is the same for the same packages.
    pub(super) fn reachable(&self, package: &str) -> Vec<String> {
        let is_it = |one: &Package| one.name == package && one.source.is_none();
        let mut seen = BTreeSet::new();
        let mut left: Vec<usize> = self.packages.iter().position(is_it).into_iter().collect();
        while let Some(at) = left.pop() {
            if seen.insert(at) {
                left.extend(&self.packages[at].dependencies);
            }
        }
        let packages = seen.into_iter().map(|at| &self.packages[at]);
        packages
            .map(|one| format!("{} {} {:?}", one.name, one.version, one.source))
            .collect()
    }

    /// Adds to an old lockfile what a package of this one needs; of its own
    /// dependencies, `added` are those that its old manifest did not have.
    pub(super) fn merge_into(
        &self,
        old: &str,
        package: &str,
        added: &BTreeSet<String>,
        requirements: &Requirements,
    ) -> Result<Merged, String> {
        let lock = Lock::parse(old)?;
        let mut merge = Merge {
            new: &self.packages,
            requirements,
            packages: lock.packages,
            left: Vec::new(),
            raised: BTreeMap::new(),
        };
        merge.run(package, added);
        let mut document: DocumentMut = old.parse().map_err(|err| super::files::said(old, &err))?;
        merge.write(&mut document)?;
        let raised = merge.raised.iter().map(|(at, from)| {
            let now = &merge.packages[*at];
            format!("{} {from} to {}", now.name, now.version)
        });
        Ok(Merged {
            text: document.to_string(),
            raised: raised.collect(),
        })
    }
}

struct Merge<'a> {
    new: &'a [Package],
    requirements: &'a Requirements,
    /// The old ones, and after them what was added.
    packages: Vec<Package>,
    /// Of those whose dependencies are to be found yet: where they are in
    /// `packages` and in `new`, and whether the test needs them.
    left: Vec<(usize, usize, bool)>,
    /// The version that gave way, by the place in `packages`.
    raised: BTreeMap<usize, String>,
}

impl Merge<'_> {
    fn run(&mut self, package: &str, added: &BTreeSet<String>) {
        let is_it = |one: &Package| one.name == package && one.source.is_none();
        let Some(new) = self.new.iter().position(is_it) else {
            return;
        };
        let at = match self.packages.iter().position(is_it) {
            Some(at) => at,
            None => self.add(new, true),
        };
        self.left.clear();
        let of_now = self.new[new].dependencies.clone();
        for on in of_now {
            if added.contains(&self.new[on].name) {
                let on = self.choose(new, on, true);
                let dependencies = &mut self.packages[at].dependencies;
                if !dependencies.contains(&on) {
                    dependencies.push(on);
                }
            }
        }
        self.settle();
        // Whatever more it needs because a feature is on that was not: cargo finds
        // these versions before newer ones, if it looks for them.
        let mut seen = BTreeSet::new();
        let mut reached = vec![new];
        while let Some(at) = reached.pop() {
            if seen.insert(at) {
                reached.extend(&self.new[at].dependencies);
            }
        }
        for at in seen {
            let one = &self.new[at];
            let is_there = |other: &Package| {
                other.name == one.name
                    && other.comes_from() == one.comes_from()
                    && other.excludes(one)
            };
            if one.source.is_some() && !self.packages.iter().any(is_there) {
                self.add(at, false);
                self.settle();
            }
        }
    }

    /// Finds the dependencies of what was added.
    fn settle(&mut self) {
        while let Some((at, new, needed)) = self.left.pop() {
            let of_now = self.new[new].dependencies.clone();
            let found = of_now
                .into_iter()
                .map(|on| self.choose(new, on, needed))
                .collect();
            self.packages[at].dependencies = found;
        }
    }

    fn add(&mut self, new: usize, needed: bool) -> usize {
        let at = self.packages.len();
        self.packages.push(Package {
            dependencies: Vec::new(),
            ..self.new[new].clone()
        });
        self.left.push((at, new, needed));
        at
    }

    /// The package that stands for a dependency of the working tree's lockfile.
    fn choose(&mut self, package: usize, on: usize, needed: bool) -> usize {
        let wanted = &self.new[on];
        let candidates: Vec<usize> = (0..self.packages.len())
            .filter(|at| {
                let one = &self.packages[*at];
                one.name == wanted.name && one.comes_from() == wanted.comes_from()
            })
            .collect();
        let excluding = candidates
            .iter()
            .copied()
            .find(|at| self.packages[*at].excludes(wanted));
        if let Some(at) = excluding
            && (wanted.source.is_none()
                || wanted.is_git()
                || self.packages[at].version == wanted.version)
        {
            return at;
        }
        let allowed = |at: &usize| {
            let one = &self.packages[*at];
            let version = one.version()?;
            let allowed = self
                .requirements
                .allow(&self.new[package], wanted, &version);
            Some(allowed.unwrap_or_else(|| one.excludes(wanted)))
        };
        let fits = candidates
            .iter()
            .copied()
            .filter(|at| allowed(at) == Some(true));
        if let Some(at) = fits.max_by_key(|at| self.packages[*at].version()) {
            return at;
        }
        match excluding {
            Some(at) if needed && self.packages[at].version() < wanted.version() => {
                let from = self.packages[at].version.clone();
                self.raised.entry(at).or_insert(from);
                self.packages[at] = Package {
                    dependencies: Vec::new(),
                    ..wanted.clone()
                };
                self.left.push((at, on, true));
                at
            }
            // Cargo says why that cannot be.
            Some(at) => at,
            None => self.add(on, needed),
        }
    }

    fn write(&self, document: &mut DocumentMut) -> Result<(), String> {
        let item = document
            .entry("package")
            .or_insert_with(|| ArrayOfTables::new().into());
        let Some(tables) = item.as_array_of_tables_mut() else {
            return Err("expected `[[package]]`, found something else".to_owned());
        };
        let old = tables.len();
        for (at, package) in self.packages.iter().enumerate() {
            if let Some(table) = tables.get_mut(at) {
                if self.raised.contains_key(&at) {
                    put(table, package);
                }
                self.write_dependencies(at, table);
            }
        }
        for (at, package) in self.packages.iter().enumerate().skip(old) {
            let mut table = Table::new();
            put(&mut table, package);
            self.write_dependencies(at, &mut table);
            tables.push(table);
        }
        Ok(())
    }

    /// Names that have become ambiguous get their version, as cargo writes them.
    fn write_dependencies(&self, at: usize, table: &mut Table) {
        let wanted = &self.packages[at].dependencies;
        let named: Vec<_> = names(table)
            .map(|name| find(&self.packages, name))
            .collect();
        if named.iter().flatten().eq(wanted) && named.len() == wanted.len() {
            return;
        }
        let mut list = Array::new();
        for name in wanted.iter().map(|at| self.name(*at)) {
            let mut name = Value::from(name);
            name.decor_mut().set_prefix("\n ");
            list.push_formatted(name);
        }
        list.set_trailing("\n");
        list.set_trailing_comma(true);
        match wanted.is_empty() {
            true => table.remove("dependencies"),
            false => table.insert("dependencies", value(list)),
        };
    }

    fn name(&self, at: usize) -> String {
        let one = &self.packages[at];
        let same = self.packages.iter().filter(|other| other.name == one.name);
        let same: Vec<_> = same.collect();
        let of_version = same
            .iter()
            .filter(|other| other.version == one.version)
            .count();
        match (&one.source, same.len(), of_version) {
            (_, 1, _) => one.name.clone(),
            (Some(source), _, 2..) => format!("{} {} ({source})", one.name, one.version),
            _ => format!("{} {}", one.name, one.version),
        }
    }
}

fn package(table: &Table) -> Package {
    let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    Package {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        source: text("source"),
        checksum: text("checksum"),
        dependencies: Vec::new(),
    }
}

fn put(table: &mut Table, package: &Package) {
    table.insert("name", value(&package.name));
    table.insert("version", value(&package.version));
    for (key, text) in [("source", &package.source), ("checksum", &package.checksum)] {
        match text {
            Some(text) => table.insert(key, value(text)),
            None => table.remove(key),
        };
    }
}

fn names(table: &Table) -> impl Iterator<Item = &str> {
    let list = table.get("dependencies").and_then(Item::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// The package that a dependency's text names: `name`, `name version` or `name
/// version (source)`.
fn find(packages: &[Package], text: &str) -> Option<usize> {
    let mut parts = text.splitn(3, ' ');
    let name = parts.next()?;
    let version = parts.next();
    let source = parts.next().map(|source| source.trim_matches(['(', ')']));
    let mut found = packages.iter().enumerate().filter(|(_, one)| {
        one.name == name
            && version.is_none_or(|version| one.version == version)
            && source.is_none_or(|source| one.source.as_deref() == Some(source))
    });
    let first = found.next()?.0;
    let Some((second, _)) = found.next() else {
        return Some(first);
    };
    // A folder has no source that could be named.
    let mut all = [first, second].into_iter().chain(found.map(|(at, _)| at));
    all.find(|at| version.is_some() && packages[*at].source.is_none())
}
