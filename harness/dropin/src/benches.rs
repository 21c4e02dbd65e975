//! Finds the benchmarks of a project, and which harness runs each.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use cargo_metadata::{Package, Target};
use toml_edit::{Document, Item};
#[cfg(target_os = "linux")]
use {
    cargo_metadata::{DependencyKind, Metadata},
    std::path::Path,
};

/// Packages that have criterion's interface.
pub const CRITERIONS: [&str; 2] = ["criterion", "codspeed-criterion-compat"];

/// The harness of a bench target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harness {
    /// criterion, or a crate with its interface.
    Criterion,
    /// divan.
    Divan,
    /// The compiler's own, with `#[bench]`, which is unstable.
    Libtest,
    /// A `main` of its own, without criterion.
    Other,
}

/// A bench target of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// The package.
    pub package: String,
    /// cargo's ID of the package.
    pub(crate) id: String,
    /// The folder of the package's manifest.
    pub manifest_dir: PathBuf,
    /// The name of the target.
    pub name: String,
    /// The root file of the target.
    pub file: PathBuf,
    /// The harness that its source names.
    pub harness: Harness,
    /// The features without which cargo does not build it.
    pub required_features: Vec<String>,
}

/// Returns the benches of these packages, in the order of packages and targets.
pub fn of<'a>(packages: impl IntoIterator<Item = &'a Package>) -> Vec<Bench> {
    let mut benches = Vec::new();
    for package in packages {
        let manifest_dir: PathBuf = package
            .manifest_path
            .parent()
            .map_or_else(PathBuf::new, Into::into);
        let manifest = fs::read_to_string(&package.manifest_path).unwrap_or_default();
        let own_main = own_main(&manifest);
        for target in package.targets.iter().filter(|target| target.is_bench()) {
            let harness = match own_main.contains(target.name.as_str()) {
                false => Harness::Libtest,
                true => harness(package, target),
            };
            benches.push(Bench {
                package: package.name.to_string(),
                id: package.id.repr.clone(),
                manifest_dir: manifest_dir.clone(),
                name: target.name.clone(),
                file: target.src_path.clone().into(),
                harness,
                required_features: target.required_features.clone(),
            });
        }
    }
    benches
}

/// Returns the bench targets that have `harness = false` in a manifest.
fn own_main(manifest: &str) -> BTreeSet<String> {
    let Ok(manifest) = Document::parse(manifest) else {
        return BTreeSet::new();
    };
    let benches = manifest.get("bench").and_then(Item::as_array_of_tables);
    let benches = benches.into_iter().flatten();
    let own = benches.filter(|bench| {
        let harness = bench.get("harness").and_then(Item::as_bool);
        harness == Some(false)
    });
    let names = own.filter_map(|bench| bench.get("name")?.as_str().map(str::to_owned));
    names.collect()
}

/// Returns the harness of a target that has a `main` of its own, as the target's root file and the
/// package's dependencies tell. Whether it is criterion shows in the end when the target is built.
fn harness(package: &Package, target: &Target) -> Harness {
    let source = fs::read_to_string(&target.src_path).unwrap_or_default();
    let needs = |name: &str| {
        let mut needs = package.dependencies.iter();
        needs.any(|need| need.name == name)
    };
    let may_be_criterion = CRITERIONS.into_iter().any(needs);
    if needs("divan") && (source.contains("divan::") || !may_be_criterion) {
        return Harness::Divan;
    }
    match may_be_criterion && !has_other_main(&source) {
        true => Harness::Criterion,
        false => Harness::Other,
    }
}

/// Returns whether a bench's root file calls the `main!` of another harness, as of iai, and never
/// names criterion.
fn has_other_main(source: &str) -> bool {
    source.contains("::main!") && !source.to_ascii_lowercase().contains("criterion")
}

/// Returns the features of criterion that packages ask for.
#[cfg(target_os = "linux")]
pub(crate) fn criterion_features<'a>(
    packages: impl IntoIterator<Item = &'a Package>,
) -> BTreeSet<String> {
    let needs = packages
        .into_iter()
        .flat_map(|package| &package.dependencies);
    let needs = needs.filter(|need| {
        CRITERIONS.contains(&need.name.as_str()) && need.kind != DependencyKind::Build
    });
    needs
        .flat_map(|need| need.features.iter().cloned())
        .collect()
}

/// Returns the packages that cargo means: the named ones, all, or those of a folder.
///
/// # Errors
///
/// The name of a package that the workspace does not have.
#[cfg(target_os = "linux")]
pub(crate) fn packages<'a>(
    metadata: &'a Metadata,
    named: &[String],
    all: bool,
    exclude: &[String],
    folder: &Path,
) -> Result<Vec<&'a Package>, String> {
    let members = metadata.workspace_packages();
    let find = |name: &str| members.iter().find(|package| package.name == name).copied();
    if let Some(unknown) = named
        .iter()
        .chain(exclude)
        .find(|name| find(name).is_none())
    {
        return Err(unknown.clone());
    }
    if !named.is_empty() {
        return Ok(members
            .iter()
            .filter(|package| named.iter().any(|name| package.name == name.as_str()))
            .copied()
            .collect());
    }
    if all {
        return Ok(members
            .iter()
            .filter(|package| exclude.iter().all(|name| package.name != name.as_str()))
            .copied()
            .collect());
    }
    let manifest = folder
        .ancestors()
        .map(|dir| dir.join("Cargo.toml"))
        .find(|manifest| manifest.exists());
    let of_folder = |package: &&&Package| {
        let root = metadata.workspace_root.join("Cargo.toml");
        let manifest = manifest.as_deref();
        manifest == Some(package.manifest_path.as_std_path()) && package.manifest_path != root
    };
    if let Some(package) = members.iter().find(of_folder) {
        return Ok(vec![package]);
    }
    Ok(metadata.workspace_default_packages())
}

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.package)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_harness_is_told_from_criterion() {
        assert!(has_other_main("fn a() {}\niai::main!(a);\n"));
        assert!(!has_other_main("fn main() { shared::benches() }\n"));
        assert!(!has_other_main(
            "use criterion::Criterion;\nshared::main!(a);\n"
        ));
    }

    #[test]
    fn a_bench_with_a_main_of_its_own_says_so() {
        let manifest = "[[bench]]\nname = \"a\"\nharness = false\n[[bench]]\nname = \"b\"\n\
                        [[bench]]\nname = \"c\"\nharness = true\n[[test]]\nname = \"d\"\nharness = false\n";
        assert_eq!(own_main(manifest), BTreeSet::from(["a".to_owned()]));
        assert_eq!(own_main("no manifest ["), BTreeSet::new());
    }
}
