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

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;
use clap::ValueEnum;
use plimsoll_core::judge::Verdict;
use toml_edit::{Document, Item, Table, TableLike};

/// One case: a workload, and the versions of a crate to run it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) id: String,
    /// The path in the zoo's folder.
    pub(super) dir: PathBuf,
    /// Text in a function of the place to blame.
    pub(super) culprit: Option<String>,
    pub(super) variants: Vec<(Variant, Expected)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let reader = Reader { text };
    let document = Document::parse(text)
        .map_err(|err| reader.error(err.span(), &err.message().trim().replace('\n', ", ")))?;
    let Some(cases) = document.get("case").and_then(Item::as_array_of_tables) else {
        return Err(reader.error(None, "expected a list of `[[case]]`, found none"));
    };
    let mut ids = BTreeSet::new();
    let mut all = Vec::new();
    for table in cases {
        let case = reader.case(table)?;
        if !ids.insert(case.id.clone()) {
            let message = format!("two cases have the id `{}`", case.id);
            return Err(reader.error(table.span(), &message));
        }
        all.push(case);
    }
    Ok(all)
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn case(&self, table: &Table) -> anyhow::Result<Case> {
        let id = self.string(table, "id")?;
        // The id becomes part of the name of a package and of a folder.
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if id.is_empty() || id.len() > 80 || !id.bytes().all(legal) {
            let message = format!("expected an id of 1 to 80 of `A-Z a-z 0-9 - _`, found `{id}`");
            return Err(self.error(span(table, "id"), &message));
        }
        let dir = PathBuf::from(self.string(table, "dir")?);
        if !inside(&dir) {
            let message = format!("expected a folder in the zoo, found `{}`", dir.display());
            return Err(self.error(span(table, "dir"), &message));
        }
        let culprit = match table.get("culprit") {
            None => None,
            Some(_) => Some(self.string(table, "culprit")?).filter(|text| !text.is_empty()),
        };
        let variants = self.variants(table)?;
        let mut expected = variants.iter().map(|(_, expected)| expected);
        if expected.any(|one| *one == Expected::Flag) && culprit.is_none() {
            let message = format!("`{id}` is to be flagged: expected a `culprit`, found none");
            return Err(self.error(table.span(), &message));
        }
        Ok(Case {
            id,
            dir,
            culprit,
            variants,
        })
    }

    fn variants(&self, table: &Table) -> anyhow::Result<Vec<(Variant, Expected)>> {
        let at = span(table, "variants").or(table.span());
        let names = table.get("variants").and_then(Item::as_array);
        let names = names.and_then(|names| names.iter().map(|name| name.as_str()).collect());
        let names: Option<Vec<&str>> = names;
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            return Err(self.error(at, "expected `variants`, a list of names"));
        };
        let Some(expect) = table.get("expect").and_then(Item::as_table_like) else {
            return Err(self.error(table.span(), "expected `expect`, a table"));
        };
        let mut variants: Vec<(Variant, Expected)> = Vec::new();
        for name in names {
            let Ok(variant) = Variant::from_str(name, false) else {
                let message = format!("expected leaky, fixed or innocent, found `{name}`");
                return Err(self.error(at, &message));
            };
            if variants.iter().any(|(other, _)| *other == variant) {
                return Err(self.error(at, &format!("`{name}` stands there twice")));
            }
            variants.push((variant, self.expected(table, expect, name)?));
        }
        Ok(variants)
    }

    fn expected(
        &self,
        table: &Table,
        expect: &dyn TableLike,
        variant: &str,
    ) -> anyhow::Result<Expected> {
        match expect.get(variant).and_then(Item::as_str) {
            Some("flag") => Ok(Expected::Flag),
            Some("pass") => Ok(Expected::Pass),
            other => {
                let found = other.map_or("none".to_owned(), |found| format!("`{found}`"));
                let message = format!("expected flag or pass for `{variant}`, found {found}");
                Err(self.error(span(table, "expect"), &message))
            }
        }
    }

    fn string(&self, table: &Table, key: &str) -> anyhow::Result<String> {
        match table.get(key) {
            Some(item) => item.as_str().map(str::to_owned).ok_or_else(|| {
                let message = format!("`{key}`: expected text, found {}", item.type_name());
                self.error(item.span(), &message)
            }),
            None => Err(self.error(table.span(), &format!("expected `{key}`, found none"))),
        }
    }

    fn error(&self, span: Option<Range<usize>>, message: &str) -> anyhow::Error {
        let before = self
            .text
            .as_bytes()
            .iter()
            .take(span.unwrap_or_default().start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        anyhow!("line {line}: {message}")
    }
}

fn span(table: &Table, key: &str) -> Option<Range<usize>> {
    table.get(key).and_then(Item::span)
}

fn inside(dir: &Path) -> bool {
    let mut components = dir.components().peekable();
    components.peek().is_some()
        && components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[track_caller]
    fn parsed(text: &str) -> String {
        let case = |case: &Case| {
            let variants: Vec<String> = case
                .variants
                .iter()
                .map(|(variant, expected)| format!("{} {expected:?}", variant.as_str()))
                .collect();
            let culprit = case.culprit.as_deref().unwrap_or("nobody");
            format!(
                "{} in {}: {}; {culprit}",
                case.id,
                case.dir.display(),
                variants.join(", ")
            )
        };
        match parse(text) {
            Ok(cases) => cases.iter().map(case).collect::<Vec<_>>().join("\n"),
            Err(err) => format!("error: {err}"),
        }
    }

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
        let control = "\
[[case]]
id = \"ctl\"
dir = \"controls/ctl\"
variants = [\"innocent\"]
expect = { innocent = \"pass\" }
";
        assert_snapshot!(parsed(&format!("version = 7\n{LEAK}{control}")), @r"
        a-b in cases/a-b: leaky Flag, fixed Pass; a::b
        ctl in controls/ctl: innocent Pass; nobody
        ");
    }

    #[test]
    fn what_is_needed_is_read_strictly() {
        assert_snapshot!(parsed(""), @"error: line 1: expected a list of `[[case]]`, found none");
        assert_snapshot!(parsed("a = \n[[case]]\n"),
            @"error: line 1: string values must be quoted, expected literal string");
        assert_snapshot!(parsed(&LEAK.replace("a-b\"\ndir", "a/b\"\ndir")),
            @"error: line 2: expected an id of 1 to 80 of `A-Z a-z 0-9 - _`, found `a/b`");
        assert_snapshot!(parsed(&LEAK.replace("cases/a-b", "../a-b")),
            @"error: line 3: expected a folder in the zoo, found `../a-b`");
        assert_snapshot!(parsed(&LEAK.replace("culprit", "suspect")),
            @"error: line 1: `a-b` is to be flagged: expected a `culprit`, found none");
        assert_snapshot!(parsed(&LEAK.replace("\"fixed\"", "\"fxed\"")),
            @"error: line 5: expected leaky, fixed or innocent, found `fxed`");
        assert_snapshot!(parsed(&LEAK.replace("\"flag\"", "\"fail\"")),
            @"error: line 6: expected flag or pass for `leaky`, found `fail`");
        assert_snapshot!(parsed(&LEAK.replace("fixed =", "innocent =")),
            @"error: line 6: expected flag or pass for `fixed`, found none");
        assert_snapshot!(parsed(&LEAK.replace("\"cases/a-b\"", "1")),
            @"error: line 3: `dir`: expected text, found integer");
        assert_snapshot!(parsed(&format!("{LEAK}{LEAK}")),
            @"error: line 8: two cases have the id `a-b`");
    }
}
