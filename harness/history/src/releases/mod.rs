//! The releases of a dependency that a bisection searches.
//!
//! ```text
//! 0.12.0..0.12.8      ─► index ─► those between, by cargo's own index
//! 0.12.0,0.12.1,…     ──────────► these
//! ```
//!
//! cargo has no command that lists the published releases. To ask the registry would need a
//! network, a token, and a rule for every kind of registry. The index that cargo has fetched to
//! resolve the dependency has the answer.

mod index;

use std::collections::BTreeSet;
use std::str::FromStr;

use cargo_metadata::{Package, camino::Utf8Path};
use semver::Version;

use plimsoll_desk::out::safe_line;

/// More versions than anybody lists, and far more than are worth searching.
const MOST: usize = 10_000;

/// The versions that the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All published versions in a range, lower end first.
    Between(Version, Version),
    /// A list of versions, in ascending order.
    These(Vec<Version>),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = |text: &str| {
            Version::parse(text.trim()).map_err(|err| {
                let found = safe_line(text.trim());
                format!("expected a whole version such as `0.12.3`, found `{found}`: {err}")
            })
        };
        // A version never contains two dots in a row.
        if let Some((from, to)) = text.split_once("..") {
            let (from, to) = (version(from)?, version(to)?);
            return match from.cmp_precedence(&to) {
                std::cmp::Ordering::Less => Ok(Asked::Between(from, to)),
                std::cmp::Ordering::Greater => Ok(Asked::Between(to, from)),
                std::cmp::Ordering::Equal => Err(format!(
                    "both ends are {from}: there is nothing between them"
                )),
            };
        }
        if !text.contains(',') {
            return Err(
                "expected a range of versions such as `0.12.0..0.12.8`, or several with `,` \
                 between"
                    .to_owned(),
            );
        }
        let these: Result<BTreeSet<Version>, String> = text.split(',').map(version).collect();
        let these: Vec<Version> = these?.into_iter().collect();
        match these.len() {
            0 | 1 => Err("expected two versions or more, found one".to_owned()),
            2..=MOST => Ok(Asked::These(these)),
            more => Err(format!("expected {MOST} versions at most, found {more}")),
        }
    }
}

/// A release, as its registry lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub version: Version,
    pub yanked: bool,
}

/// Returns all releases of a package, lowest first, from cargo's index of its registry.
///
/// `workspace` is the folder in which `cargo metadata` reported the package.
pub(crate) fn published(package: &Package, workspace: &Utf8Path) -> anyhow::Result<Vec<Published>> {
    let source = package.source.as_ref().map_or("", |source| &source.repr);
    let mut all = index::releases(&package.name, source, &package.manifest_path, workspace)?;
    all.sort_by(|one, two| one.version.cmp(&two.version));
    all.dedup_by(|one, two| one.version == two.version);
    Ok(all)
}

/// Returns the releases from one version to another, including both. Fails if one of them was
/// not published.
///
/// Pre-releases are left out unless an end is one. A version requirement does not admit them,
/// so each would be skipped.
pub(crate) fn between(
    all: &[Published],
    from: &Version,
    to: &Version,
) -> Result<Vec<Published>, String> {
    for end in [from, to] {
        // The part of a version after `+` does not distinguish releases, and nobody writes it on
        // the command line.
        if !all
            .iter()
            .any(|one| one.version.cmp_precedence(end).is_eq())
        {
            let known = match (all.first(), all.last()) {
                (Some(first), Some(last)) => {
                    let (first, last) = (&first.version, &last.version);
                    format!("{} are published, from {first} to {last}", all.len())
                }
                _ => "none is published".to_owned(),
            };
            return Err(format!("there is no release {end}: {known}"));
        }
    }
    let with_pre = !from.pre.is_empty() || !to.pre.is_empty();
    let within = |one: &&Published| {
        one.version.cmp_precedence(from).is_ge()
            && one.version.cmp_precedence(to).is_le()
            && (with_pre || one.version.pre.is_empty())
    };
    Ok(all.iter().filter(within).cloned().collect())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[track_caller]
    fn asked(text: &str) -> String {
        match text.parse() {
            Ok(Asked::Between(from, to)) => format!("from {from} to {to}"),
            Ok(Asked::These(these)) => {
                let these: Vec<String> = these.iter().map(Version::to_string).collect();
                these.join(" ")
            }
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn ranges() {
        assert_snapshot!(asked("0.12.0..0.12.8"), @"from 0.12.0 to 0.12.8");
        assert_snapshot!(asked("0.12.10..0.12.8"), @"from 0.12.8 to 0.12.10");
        assert_snapshot!(asked("1.0.0-rc.2..1.0.0"), @"from 1.0.0-rc.2 to 1.0.0");
        assert_snapshot!(asked("1.0.0..1.0.0+win"), @"error: both ends are 1.0.0: there is nothing between them");
        assert_snapshot!(asked("0.12..0.13.0"), @"error: expected a whole version such as `0.12.3`, found `0.12`: unexpected end of input while parsing minor version number");
        assert_snapshot!(asked("..0.13.0"), @"error: expected a whole version such as `0.12.3`, found ``: empty string, expected a semver version");
        assert_snapshot!(asked("v1.0.0..v1.0.1"), @"error: expected a whole version such as `0.12.3`, found `v1.0.0`: unexpected character 'v' while parsing major version number");
    }

    #[test]
    fn lists() {
        assert_snapshot!(asked("0.12.10, 0.12.8,0.12.9"), @"0.12.8 0.12.9 0.12.10");
        assert_snapshot!(asked("1.0.0,1.0.0-rc.10,1.0.0-rc.9,1.0.0-alpha"), @"1.0.0-alpha 1.0.0-rc.9 1.0.0-rc.10 1.0.0");
        assert_snapshot!(asked("1.0.0,1.0.0"), @"error: expected two versions or more, found one");
        assert_snapshot!(asked("1.0.0,"), @"error: expected a whole version such as `0.12.3`, found ``: empty string, expected a semver version");
        assert_snapshot!(asked("v1"), @"error: expected a range of versions such as `0.12.0..0.12.8`, or several with `,` between");
    }

    #[track_caller]
    fn chosen(all: &[&str], from: &str, to: &str) -> String {
        let all: Vec<Published> = all
            .iter()
            .map(|version| Published {
                version: version.parse().unwrap(),
                yanked: false,
            })
            .collect();
        match between(&all, &from.parse().unwrap(), &to.parse().unwrap()) {
            Ok(chosen) => {
                let chosen = chosen.iter().map(|one| one.version.to_string());
                chosen.collect::<Vec<String>>().join(" ")
            }
            Err(why) => format!("error: {why}"),
        }
    }

    #[test]
    fn both_ends_have_to_be_there() {
        let all = ["0.1.0", "0.1.1", "0.1.2", "0.2.0"];
        assert_snapshot!(chosen(&all, "0.1.0", "0.1.2"), @"0.1.0 0.1.1 0.1.2");
        assert_snapshot!(chosen(&all, "0.1.1", "0.2.0"), @"0.1.1 0.1.2 0.2.0");
        assert_snapshot!(chosen(&all, "0.1.0", "0.1.3"), @"error: there is no release 0.1.3: 4 are published, from 0.1.0 to 0.2.0");
        assert_snapshot!(chosen(&[], "0.1.0", "0.1.3"), @"error: there is no release 0.1.0: none is published");
    }

    #[test]
    fn pre_releases_only_where_an_end_is_one() {
        let all = [
            "1.0.0-rc.1",
            "1.0.0-rc.2",
            "1.0.0",
            "1.1.0-rc.1",
            "1.1.0+win",
        ];
        assert_snapshot!(chosen(&all, "1.0.0", "1.1.0"), @"1.0.0 1.1.0+win");
        assert_snapshot!(chosen(&all, "1.0.0-rc.2", "1.1.0"), @"1.0.0-rc.2 1.0.0 1.1.0-rc.1 1.1.0+win");
    }
}
