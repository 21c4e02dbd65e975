//! Reads a zoo's `cases.toml`.
//!
//! ```toml
//! [[case]]
//! id = "bytes-owned-to-vec"
//! dir = "cases/bytes-owned-to-vec"        # in the zoo's folder
//! variants = ["leaky", "fixed"]           # folders in `dir`, a package each
//! expect = { leaky = "flag", fixed = "pass" }
//! culprit = "from_owner"                  # only where something is to be flagged
//! ```
//!
//! Unknown keys are ignored: they are for people, and there will be more of them. The keys
//! above are read strictly, so that a misspelt case does not count as a right one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout::valid_scenario_name;
use serde::Deserialize;

#[derive(Deserialize)]
struct Manifest {
    case: Vec<Case>,
}

/// One case: a workload, and the versions of a crate to run it on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    /// The path in the zoo's folder.
    pub(super) dir: PathBuf,
    /// Text in a function of the place to blame.
    pub(super) culprit: Option<String>,
    pub(super) variants: Vec<Variant>,
    pub(super) expect: BTreeMap<Variant, Expected>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Variant {
    Leaky,
    Fixed,
    Innocent,
}

impl Variant {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Variant::Leaky => "leaky",
            Variant::Fixed => "fixed",
            Variant::Innocent => "innocent",
        }
    }
}

/// The result that the manifest expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expected {
    Flag,
    Pass,
}

impl Expected {
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Expected::Flag => Verdict::Regressed,
            Expected::Pass => Verdict::Within,
        }
    }
}

/// Parses every case, in the manifest's order.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Case>> {
    let Manifest { case: cases } = toml::from_str(text)?;
    ensure!(
        !cases.is_empty(),
        "expected a list of `[[case]]`, found none"
    );
    let mut ids = BTreeSet::new();
    for case in &cases {
        case.check()
            .with_context(|| format!("case `{}`", case.id))?;
        ensure!(ids.insert(&case.id), "two cases have the id `{}`", case.id);
    }
    Ok(cases)
}

impl Case {
    fn check(&self) -> anyhow::Result<()> {
        // The id becomes a scenario, and part of the name of a package and of a folder.
        let is_legal = valid_scenario_name(&self.id) && !self.id.contains(['.', ':']);
        ensure!(
            is_legal,
            "expected an id of `A-Z a-z 0-9 - _`, without a dash first"
        );
        let dir = self.dir.display();
        ensure!(
            inside(&self.dir),
            "expected a folder in the zoo, found `{dir}`"
        );
        ensure!(!self.variants.is_empty(), "expected `variants`, found none");
        let mut known = BTreeSet::new();
        for variant in &self.variants {
            let name = variant.as_str();
            ensure!(known.insert(variant), "`{name}` stands there twice");
            let expected = self.expect.get(variant);
            let expected =
                expected.with_context(|| format!("expected flag or pass for `{name}`"))?;
            let has_culprit = self.culprit.as_ref().is_some_and(|text| !text.is_empty());
            let is_whole = *expected == Expected::Pass || has_culprit;
            ensure!(
                is_whole,
                "`{name}` is to be flagged: expected a `culprit`, found none"
            );
        }
        Ok(())
    }
}

fn inside(dir: &Path) -> bool {
    let mut components = dir.components().peekable();
    components.peek().is_some()
        && components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAK: &str = "\
[[case]]
id = \"a-b\"
dir = \"cases/a-b\"
culprit = \"a::b\"
variants = [\"leaky\", \"fixed\"]
expect = { leaky = \"flag\", fixed = \"pass\" }
mood = [\"unknown\", { keys = \"pass\" }]
";

    #[test]
    fn cases_and_controls() {
        let control = "[[case]]\nid = \"ctl\"\ndir = \"controls/ctl\"\n\
                       variants = [\"innocent\"]\nexpect = { innocent = \"pass\" }\n";
        let cases = parse(&format!("version = 7\n{LEAK}{control}")).unwrap();
        let leak = Case {
            id: "a-b".to_owned(),
            dir: "cases/a-b".into(),
            culprit: Some("a::b".to_owned()),
            variants: vec![Variant::Leaky, Variant::Fixed],
            expect: [
                (Variant::Leaky, Expected::Flag),
                (Variant::Fixed, Expected::Pass),
            ]
            .into(),
        };
        assert_eq!(cases[0], leak);
        assert_eq!((cases[1].id.as_str(), cases.len()), ("ctl", 2));
    }

    #[test]
    fn what_is_needed_is_read_strictly() {
        for (this, that, expected) in [
            (LEAK, "", "missing field `case`"),
            (LEAK, "case = []\n", "expected a list of `[[case]]`"),
            ("a-b\"\ndir", "a/b\"\ndir", "case `a/b`: expected an id of"),
            ("a-b\"\ndir", "-b\"\ndir", "case `-b`: expected an id of"),
            (
                "cases/a-b",
                "../a-b",
                "expected a folder in the zoo, found `../a-b`",
            ),
            (
                "culprit = \"a::b\"",
                "suspect = 1",
                "`leaky` is to be flagged: expected a `culprit`",
            ),
            ("a::b", "", "`leaky` is to be flagged: expected a `culprit`"),
            ("\"fixed\"", "\"fxed\"", "line 5, column 22\n"),
            ("\"fixed\"", "\"leaky\"", "`leaky` stands there twice"),
            (
                "[\"leaky\", \"fixed\"]",
                "[]",
                "expected `variants`, found none",
            ),
            (
                "\"flag\"",
                "\"fail\"",
                "unknown variant `fail`, expected `flag` or `pass`",
            ),
            (
                "fixed =",
                "innocent =",
                "case `a-b`: expected flag or pass for `fixed`",
            ),
            ("\"cases/a-b\"", "1", "line 3, column 7\n"),
            (
                "[[case]]",
                &format!("{LEAK}[[case]]"),
                "two cases have the id `a-b`",
            ),
        ] {
            let found = parse(&LEAK.replace(this, that)).unwrap_err();
            let found = format!("{found:#}");
            assert!(found.contains(expected), "{this} {that}: {found}");
        }
    }
}
