//! The place of a project's leak tests.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::bail;
use cargo_metadata::{Metadata, Package};
use plimsoll_dropin::{Bench, Harness};

use crate::args::InitArgs;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project;
use plimsoll_desk::status::Refused;

/// The name of the member's folder and of the test target.
pub(super) const LEAKS: &str = "leaks";

/// What a stack says of optimised code.
const LINES: &str = "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only";

#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) workspace: PathBuf,
    /// The package that is tested, if it is known.
    pub(super) tested: Option<&'a Package>,
    /// The package that has the test, or will have it.
    pub(super) name: String,
    pub(super) edition: String,
    pub(super) dir: PathBuf,
    /// The source of the test target, if it exists already.
    pub(super) source: Option<PathBuf>,
    /// Whether cargo finds the test from the workspace's root without `-p`.
    is_found_in_root: bool,
    /// Whether cargo finds the test from the current folder without `-p`.
    is_found_here: bool,
    /// The benches that the package of leak tests takes over: it is a new one, and criterion
    /// runs them.
    pub(super) benches: Vec<Bench>,
}

impl<'a> Layout<'a> {
    pub(super) fn find(args: &InitArgs, metadata: &'a Metadata) -> anyhow::Result<Layout<'a>> {
        let workspace = metadata.workspace_root.clone().into_std_path_buf();
        let defaults = &metadata.workspace_default_members;
        // Whether cargo selects a package in the workspace's root if none is named.
        let is_default = |one: &Package| defaults.is_missing() || defaults.contains(&one.id);
        let packages = &metadata.packages;
        let tested = tested(args, packages)?;
        // cargo selects the package of the current folder, or in the root the default members.
        let current = env::current_dir().unwrap_or_default();
        let around = current
            .ancestors()
            .find(|dir| *dir == workspace || packages.iter().any(|one| dir_of(one) == *dir))
            .filter(|dir| *dir != workspace);
        let is_found_from = |dir: &Path, is_default: bool| match around {
            Some(around) => around == dir,
            None => is_default,
        };
        if args.here {
            let Some(tested) = tested else {
                return Err(Refused::usage(
                    "--here puts the test into a package, and there are several\n  \
                     hint: say which one with --package, or go into its folder",
                ));
            };
            return Ok(Layout {
                name: tested.name.to_string(),
                edition: tested.edition.to_string(),
                dir: dir_of(tested).to_owned(),
                source: leaks_of(tested),
                is_found_in_root: is_default(tested),
                is_found_here: is_found_from(dir_of(tested), is_default(tested)),
                benches: Vec::new(),
                tested: Some(tested),
                workspace,
            });
        }
        let dir = workspace.join(LEAKS);
        let member = packages.iter().find(|package| dir_of(package) == dir);
        if let Some(member) = member {
            if leaks_of(member).is_none() {
                bail!(
                    "{LEAKS}/ is the package {}, which has no test target `{LEAKS}`\n  \
                     hint: --here puts the test into the package that it tests",
                    safe_line(&member.name)
                );
            }
        } else if dir.join("Cargo.toml").exists() {
            bail!(
                "{LEAKS}/ is a package that is not in this workspace\n  \
                 hint: --here puts the test into the package that it tests"
            );
        }
        // A new member becomes a default member.
        let is_default = member.is_none_or(is_default);
        let base = tested.map(|package| package.name.to_string());
        let base = base.or_else(|| {
            let name = workspace.file_name()?.to_string_lossy();
            let plain = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
            let starts = name.starts_with(|char: char| char.is_ascii_alphabetic());
            (starts && name.chars().all(plain)).then(|| name.into_owned())
        });
        Ok(Layout {
            name: match (member, base) {
                (Some(member), _) => member.name.to_string(),
                (None, base) => free_name(&base.unwrap_or("project".to_owned()), packages),
            },
            // At least 2018, in which the code is written. A newer one than the project's would
            // make cargo warn of the resolver of a workspace that names none.
            edition: match tested {
                Some(tested) => Some(tested.edition.as_str()),
                None => packages.iter().map(|one| one.edition.as_str()).max(),
            }
            .unwrap_or("2024")
            .max("2018")
            .to_owned(),
            source: member.and_then(leaks_of),
            is_found_in_root: is_default,
            is_found_here: is_found_from(&dir, is_default),
            benches: match (member, tested) {
                (None, Some(tested)) if !args.no_benches => plimsoll_dropin::benches_of([tested])
                    .into_iter()
                    .filter(|bench| bench.harness == Harness::Criterion)
                    .collect(),
                _ => Vec::new(),
            },
            dir,
            tested,
            workspace,
        })
    }

    /// Returns the command that measures, run in the current folder.
    pub(super) fn command(&self) -> String {
        let named = self.named(self.is_found_here);
        match self.benches.is_empty() {
            true => format!("cargo test {named}--test {LEAKS}"),
            false => format!("{LINES} cargo test --release -p {}", safe_line(&self.name)),
        }
    }

    /// Returns the command that measures in a workflow, run in the workspace's root.
    pub(super) fn locked_command(&self) -> String {
        if !self.benches.is_empty() {
            let name = safe_line(&self.name);
            return format!("{LINES} cargo test --locked --release --no-fail-fast -p {name}");
        }
        let named = self.named(self.is_found_in_root);
        format!("cargo test --locked {named}--test {LEAKS}")
    }

    fn named(&self, is_found: bool) -> String {
        match is_found {
            true => String::new(),
            false => format!("-p {} ", safe_line(&self.name)),
        }
    }
}

/// Returns a name that no package has yet. Names in a workspace are unique.
fn free_name(base: &str, packages: &[Package]) -> String {
    let is_free = |name: &String| packages.iter().all(|package| package.name.as_str() != name);
    let first = format!("{base}-{LEAKS}");
    let others = (2..).map(|number| format!("{first}-{number}"));
    let mut names = std::iter::once(first.clone()).chain(others);
    names.find(is_free).unwrap_or(first)
}

pub(super) fn dir_of(package: &Package) -> &Path {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest)
}

/// Returns the source of a package's test target [`LEAKS`], if it has one.
fn leaks_of(package: &Package) -> Option<PathBuf> {
    let mut targets = package.targets.iter();
    let leaks = targets.find(|target| target.name == LEAKS && target.is_test())?;
    Some(leaks.src_path.clone().into())
}

/// Returns the package to test: the named one, the one of this folder, or the only one.
fn tested<'a>(args: &InitArgs, packages: &'a [Package]) -> anyhow::Result<Option<&'a Package>> {
    if let Some(name) = &args.package {
        let found = packages
            .iter()
            .find(|package| package.name.as_str() == name);
        let found = found.ok_or_else(|| {
            let names = packages.iter().map(|package| safe_line(&package.name));
            Refused::usage(format!(
                "there is no package {}\n  expected one of: {}",
                safe_line(name),
                names.collect::<Vec<_>>().join(", ")
            ))
        });
        return found.map(Some);
    }
    // A package that has the leak tests is not the tested package, except with `--here`.
    let own = packages
        .iter()
        .filter(|one| leaks_of(one).is_none() || args.here);
    let own: Vec<&Package> = own.collect();
    let here = project::folder(args.project.manifest_path.as_deref()).ok();
    let mut folders = here.iter().flat_map(|here| here.ancestors());
    let around = folders.find_map(|dir| own.iter().find(|package| dir_of(package) == dir));
    let only = match own.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    Ok(around.or(only).copied())
}
