//! `--dep`: measures releases of a dependency, at one commit.
//!
//! ```text
//! HEAD, the working tree's test laid over it, Cargo.lock made exact
//!   └─ for each release: that Cargo.lock, `cargo update --precise`, build, ladder
//! ```
//!
//! All of this happens in the worktree. The user's Cargo.lock may be read, and is never
//! written.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;
use cargo_metadata::{Metadata, Package, camino::Utf8Path};
use semver::Version;

use crate::bench::{Bench, Dependency};
use crate::measure::settled;
use crate::releases::{self, Asked, Published};
use crate::revision::Revision;
use plimsoll_desk::git::Commit;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::{self, shown};
use plimsoll_desk::status::{ExitStatus, Refused};

/// The name of the logs.
const NAME: &str = "releases";

/// Returns the releases to search at the commit `at`, lowest first, and prepares the bench for
/// them.
pub(super) fn prepare(
    bench: &mut Bench,
    dep: &str,
    asked: &Asked,
    at: &Commit,
) -> anyhow::Result<Vec<Revision>> {
    let unusable = |why: &dyn fmt::Display| {
        let text = format!("{} cannot be measured: {why}", at.short());
        Refused::with_status(ExitStatus::Stop, text)
    };
    let checked_out = bench.check_out(&Revision::from(at));
    let project = settled(checked_out.and_then(|_| bench.project()))?;
    let project = project.map_err(|why| unusable(&why))?;
    let dir = project.workspace_root();
    let lockfile = dir.join("Cargo.lock");
    if !lockfile.exists() && bench.lockfile.exists() {
        // No commit has a Cargo.lock, but all other dependencies are to stay as they are now.
        fs::copy(&bench.lockfile, &lockfile).context("the lockfile")?;
    }
    // Not `--locked`: the overlay may need more than the commit's Cargo.lock has. If there is
    // no Cargo.lock, it is made once here, and not again for each release.
    let args = ["metadata", "--format-version", "1"];
    let metadata = run(bench, dir, &args)?.map_err(|why| unusable(&why))?;
    let metadata = project::read(metadata.as_bytes())?;
    let text = fs::read_to_string(&lockfile)
        .with_context(|| format!("cannot read {}", shown(&lockfile)))?;

    let spec = spec(bench, dir, dep)?;
    let package = find(&metadata, &spec).ok_or_else(|| {
        Refused::usage(format!(
            "`{dep}` is not from a registry: {spec}\n  \
             hint: where it is from git, or is patched, bisect its own repository"
        ))
    })?;
    bench
        .tools
        .progress
        .doing(&format!("releases of {}", package.name));
    let chosen = match asked {
        Asked::These(these) => {
            let listed = |version: &Version| Published {
                version: version.clone(),
                yanked: false,
            };
            these.iter().map(listed).collect()
        }
        Asked::Between(from, to) => {
            // cargo asks the registry for new releases, and keeps them in its index.
            let args = ["update", "--package", &spec, "--dry-run"];
            run(bench, dir, &args)?.map_err(|why| {
                let text = format!("the registry was not asked for releases of {dep}: {why}");
                Refused::with_status(ExitStatus::Stop, text + &by_hand(dep, from, to))
            })?;
            between(package, from, to, &metadata.workspace_root)?
        }
    };
    let yanked = chosen.iter().filter(|one| one.yanked);
    bench.dependency = Some(Dependency {
        spec,
        yanked: yanked.map(|one| one.version.to_string()).collect(),
        lockfile: text.clone(),
    });
    // A measurement with another Cargo.lock is another measurement.
    bench.cache = bench.cache.of(&text);
    let revisions = chosen.into_iter().map(|one| Revision::Release {
        commit: at.clone(),
        name: package.name.to_string(),
        version: one.version,
    });
    Ok(revisions.collect())
}

fn run(bench: &mut Bench, dir: &Path, args: &[&str]) -> anyhow::Result<Result<String, String>> {
    bench.tools.cargo_run(dir, args, NAME)
}

/// Returns cargo's package ID specification of the dependency, which matches only this
/// package.
fn spec(bench: &mut Bench, dir: &Path, dep: &str) -> anyhow::Result<String> {
    let printed = bench.tools.cargo_ask(dir, &["pkgid", "--", dep])?;
    printed.map(|spec| spec.trim().to_owned()).map_err(|said| {
        // If several packages match, cargo lists them in the notation that `--dep` accepts.
        let lines = said.lines().map(|line| safe_line(line.trim()));
        let several: Vec<String> = lines
            .filter(|line| line.contains('@') && !line.contains(' '))
            .collect();
        Refused::usage(match several.first() {
            Some(one) => format!(
                "there are several versions of `{dep}` in Cargo.lock\n  {}\n  \
                 hint: name one, as `--dep {one}`",
                several.join("\n  ")
            ),
            None => format!("`{dep}` is no dependency: Cargo.lock does not have it"),
        })
    })
}

/// Returns the package of a specification, which has the form `SOURCE#NAME@VERSION`, or
/// `SOURCE/NAME#VERSION` if the source ends in the name. Returns `None` if it is not from a
/// registry.
fn find<'a>(metadata: &'a Metadata, spec: &str) -> Option<&'a Package> {
    let package = metadata.packages.iter().find(|one| one.id.repr == spec)?;
    let source = &package.source.as_ref()?.repr;
    let is_registry = source.starts_with("registry+") || source.starts_with("sparse+");
    is_registry.then_some(package)
}

fn between(
    package: &Package,
    from: &Version,
    to: &Version,
    workspace: &Utf8Path,
) -> anyhow::Result<Vec<Published>> {
    let name = package.name.as_str();
    let all = releases::published(package, workspace).map_err(|why| {
        let why = safe_line(&format!("{why:#}"));
        let text = format!("the releases of {name} are not known: {why}");
        Refused::with_status(ExitStatus::Stop, text + &by_hand(name, from, to))
    })?;
    releases::between(&all, from, to).map_err(|why| Refused::usage(format!("{name}: {why}")))
}

fn by_hand(name: &str, from: &Version, to: &Version) -> String {
    format!(
        "\n  hint: name them yourself, with commas between: \
         `plimsoll bisect --dep {name} {from},…,{to}`"
    )
}
