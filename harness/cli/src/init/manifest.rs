//! Additions to TOML files. The order and the comments of the files stay.

use std::path::Path;

use anyhow::{Context, bail};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::layout::LEAKS;

/// The source of the dependency `plimsoll`.
#[derive(Clone, Debug)]
pub(super) enum Library {
    Version(&'static str),
    Path(String),
}

impl Library {
    fn value(&self) -> Value {
        match self {
            Library::Version(version) => (*version).into(),
            Library::Path(path) => InlineTable::from_iter([("path", path)]).into(),
        }
    }

    /// Returns the drop-in for criterion of the same version, or in the same checkout.
    pub(super) fn dropin(&self) -> InlineTable {
        let mut table = InlineTable::from_iter([("package", "plimsoll-criterion")]);
        match self {
            Library::Version(version) => table.insert("version", (*version).into()),
            Library::Path(path) => {
                let beside = Path::new(path).with_file_name("criterion");
                table.insert("path", beside.to_string_lossy().into_owned().into())
            }
        };
        table
    }
}

fn parse(text: &str) -> anyhow::Result<DocumentMut> {
    text.parse::<DocumentMut>().context("is no TOML")
}

/// Returns the name of a manifest's package, if it has one.
pub(super) fn package_name(text: &str) -> Option<String> {
    let document = parse(text).ok()?;
    let name = document.get("package")?.get("name")?.as_str()?;
    Some(name.to_owned())
}

/// Returns the manifest of a package that has only the leak tests, with more lines for its
/// dependencies and more tables at its end.
pub(super) fn member(
    name: &str,
    edition: &str,
    library: &Library,
    tested: Option<(&str, String)>,
    (more_needs, more_tables): (&str, &str),
) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = format!(
        "[package]\nname = {}\nversion = \"0.0.0\"\nedition = {}\npublish = false\n\n\
         # For tests alone: `cargo build` does not build them.\n\
         [dev-dependencies]\nplimsoll = {}\n",
        quoted(name),
        quoted(edition),
        library.value()
    );
    if let Some((name, path)) = tested {
        text += &format!("{name} = {{ path = {} }}\n", quoted(&path));
    }
    text += more_needs;
    text += &format!("\n[[test]]\nname = \"{LEAKS}\"\nharness = false\n");
    text + more_tables
}

fn test_target() -> Table {
    let mut target = Table::new();
    target.insert("name", LEAKS.into());
    target.insert("harness", false.into());
    target.decor_mut().set_prefix("\n");
    target
}

/// Returns a package's manifest with the test target added.
pub(super) fn with_test(text: &str, library: &Library) -> anyhow::Result<String> {
    let mut document = parse(text)?;
    let dependencies = document
        .entry("dev-dependencies")
        .or_insert_with(toml_edit::table);
    let Some(dependencies) = dependencies.as_table_like_mut() else {
        bail!("`dev-dependencies` is no table");
    };
    if !dependencies.contains_key("plimsoll") {
        dependencies.insert("plimsoll", Item::Value(library.value()));
    }
    let tests = document.entry("test").or_insert_with(toml_edit::array);
    let Some(tests) = tests.as_array_of_tables_mut() else {
        bail!("`test` is no `[[test]]`");
    };
    let is_there = |table: &Table| table.get("name").and_then(Item::as_str) == Some(LEAKS);
    if !tests.iter().any(is_there) {
        tests.push(test_target());
    }
    Ok(document.to_string())
}

/// Returns the workspace's manifest with the member added, so that `cargo test --test leaks`
/// finds it.
pub(super) fn with_member(text: &str) -> anyhow::Result<String> {
    let mut document = parse(text)?;
    let is_package = document.contains_key("package");
    let workspace = document.entry("workspace").or_insert_with(toml_edit::table);
    let Some(workspace) = workspace.as_table_like_mut() else {
        bail!("`workspace` is no table");
    };
    let add = |array: &mut Array| {
        let is_there = array.iter().any(|name| name.as_str() == Some(LEAKS));
        if !is_there {
            push(array, LEAKS);
        }
    };
    match workspace.get_mut("members") {
        None => {
            workspace.insert("members", Item::Value(Array::from_iter([LEAKS]).into()));
        }
        Some(members) => add(members.as_array_mut().context("`members` is no list")?),
    }
    match workspace.get_mut("default-members") {
        Some(members) => {
            let members = members.as_array_mut();
            add(members.context("`default-members` is no list")?);
        }
        // Otherwise cargo would test only the package in the root.
        None if is_package => {
            let members = Array::from_iter([".", LEAKS]);
            workspace.insert("default-members", Item::Value(members.into()));
        }
        None => {}
    }
    Ok(document.to_string())
}

/// Adds a name to a list in the style of the list: on a line of its own if the other entries
/// have one.
fn push(array: &mut Array, name: &str) {
    let indent = array
        .iter()
        .last()
        .and_then(|last| last.decor().prefix())
        .and_then(|prefix| prefix.as_str())
        .and_then(|prefix| Some(prefix.rsplit_once('\n')?.1.to_owned()));
    // The text behind the last entry, if no comma follows the entry.
    let suffix = array.iter_mut().last().map(|last| {
        let suffix = last.decor().suffix().and_then(|suffix| suffix.as_str());
        let suffix = suffix.unwrap_or_default().to_owned();
        last.decor_mut().set_suffix("");
        suffix
    });
    let trailing = array.trailing().as_str().unwrap_or_default();
    let trailing = suffix.unwrap_or_default() + trailing;
    array.set_trailing(&trailing);
    // A comment behind the last entry stays behind that entry.
    let comment = trailing
        .split_once('\n')
        .filter(|(comment, _)| comment.contains('#'));
    array.push(name);
    let (Some(indent), Some(last)) = (indent, array.iter_mut().last()) else {
        return;
    };
    let behind = comment.map_or("", |(comment, _)| comment);
    last.decor_mut().set_prefix(format!("{behind}\n{indent}"));
    if let Some((_, rest)) = comment {
        array.set_trailing(format!("\n{rest}"));
    }
    // Usual if each entry has a line of its own.
    array.set_trailing_comma(true);
}

/// Returns nextest's configuration with the override added at the end.
pub(super) fn with_override(text: &str, addition: &str) -> anyhow::Result<String> {
    let mut document = parse(text)?;
    let groups = document.get_mut("test-groups");
    let (before, addition) = match groups.and_then(Item::as_table_like_mut) {
        Some(groups) if groups.contains_key(LEAKS) => return Ok(text.to_owned()),
        // The header of a table may stand only once in a file.
        Some(groups) => {
            let group = InlineTable::from_iter([("max-threads", 1)]);
            groups.insert(LEAKS, Item::Value(group.into()));
            let overrides = addition.split_once("\n\n");
            let overrides = overrides.map_or(addition, |(_, overrides)| overrides);
            (document.to_string(), overrides)
        }
        None => (text.to_owned(), addition),
    };
    let joined = format!("{}\n\n{addition}", before.trim_end_matches('\n'));
    // The existing text may not allow any table below it.
    if parse(&joined).is_err() {
        bail!(
            "the override for the leak tests cannot be added to it\n  \
             expected `[[profile.default.overrides]]` to be possible below what is there\n  \
             hint: add a test group `{LEAKS}` of one thread by hand, and an override for \
             `binary(={LEAKS})` that is in it: then the file is left as it is"
        );
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(list: &str) -> String {
        let with = with_member(&format!("[workspace]\nmembers = {list}\n")).unwrap();
        with.replace("[workspace]\nmembers = ", "")
    }

    #[test]
    fn lists_are_added_to_as_they_are_written() {
        for (list, expected) in [
            ("[]", "[\"leaks\"]\n"),
            ("[\"a\"]", "[\"a\", \"leaks\"]\n"),
            ("[ \"a\" ]", "[ \"a\", \"leaks\" ]\n"),
            ("[\n  \"a\"\n]", "[\n  \"a\",\n  \"leaks\",\n]\n"),
            ("[\n  \"a\",\n]", "[\n  \"a\",\n  \"leaks\",\n]\n"),
            (
                "[\n  \"a\" # last\n]",
                "[\n  \"a\", # last\n  \"leaks\",\n]\n",
            ),
            (
                "[\n  \"a\", # last\n]",
                "[\n  \"a\", # last\n  \"leaks\",\n]\n",
            ),
        ] {
            assert_eq!(members(list), expected, "{list}");
        }
    }

    #[test]
    fn what_nextest_knows_already_stays() {
        let addition = include_str!("templates/nextest.toml");
        let ours =
            "# ours\n[profile.default]\nretries = 2\n\n[test-groups]\nours = { max-threads = 2 }\n";
        let added = with_override(ours, addition).unwrap();
        insta::assert_snapshot!(added.strip_prefix(ours).unwrap(), @r#"
        leaks = { max-threads = 1 }

        [[profile.default.overrides]]
        filter = "binary(=leaks)"
        test-group = "leaks"
        # A leak that is there in every other run is there.
        retries = 0
        "#);
        assert_eq!(with_override(&added, addition).unwrap(), added);

        let inline = "profile = { default = { retries = 2 } }\n";
        let refused = with_override(inline, addition).unwrap_err().to_string();
        assert!(refused.contains("cannot be added"), "{refused}");
        assert!(refused.contains("hint: add a test group"), "{refused}");
        // What the hint says to add.
        let by_hand = "test-groups = { leaks = { max-threads = 1 } }\n".to_owned() + inline;
        assert_eq!(with_override(&by_hand, addition).unwrap(), by_hand);
    }
}
