//! No module of any crate needs itself by way of others: each can be read with those below.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules that each module names.
type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

#[test]
fn no_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let src = folder.unwrap().path().join("src");
        let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
        let uses = uses(&src, &lib);
        if src.ends_with("core/src") {
            assert!(uses["judge"].contains("finding"), "{uses:?}");
            assert!(uses["finding"].contains("frame"), "{uses:?}");
        }
        let circle = uses.keys().find_map(|module| circle(&uses, &[module]));
        found.extend(circle.map(|circle| format!("{}: {circle}", src.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Of a crate in that folder, with that `lib.rs`.
fn uses<'a>(src: &Path, lib: &'a str) -> Uses<'a> {
    let modules = || declared(lib);
    // What has a name at the crate's root, by the module that it is from.
    let mut home: BTreeMap<&str, &str> = modules().map(|module| (module, module)).collect();
    for (module, names) in lib
        .split(';')
        .filter_map(|item| item.trim().strip_prefix("pub use ")?.split_once("::"))
    {
        if home.contains_key(module) {
            home.extend(names.split(not_a_word).map(|name| (name, module)));
        }
    }
    let uses = modules().map(|module| {
        let code = code(&src.join(module)) + &code(&src.join(format!("{module}.rs")));
        let used = named(&code).filter_map(|name| home.get(name).copied());
        (module, used.filter(|used| *used != module).collect())
    });
    uses.collect()
}

#[test]
fn a_report_does_not_know_what_renders_it() {
    let report = code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/mod.rs"));
    let called = declared(&report).find(|module| report.contains(&format!("{module}::")));
    assert_eq!(called, None);
}

fn declared(code: &str) -> impl Iterator<Item = &str> {
    let declared = code
        .lines()
        .filter_map(|line| line.strip_suffix(';')?.split_once("mod "));
    declared.map(|(_, module)| module)
}

/// A way from the last module of a path back to one that is on it.
fn circle<'a>(uses: &Uses<'a>, path: &[&'a str]) -> Option<String> {
    uses[path.last()?].iter().find_map(|next| {
        let longer = [path, &[next]].concat();
        match path.iter().position(|module| module == next) {
            Some(from) => Some(longer[from..].join(" → ")),
            None => circle(uses, &longer),
        }
    })
}

/// What follows `crate::`: a word, or the first words of those in braces.
fn named(code: &str) -> impl Iterator<Item = &str> {
    let paths = code.split("crate::").skip(1).flat_map(|path| {
        let path = path.split(';').next().unwrap_or_default();
        let most = if path.starts_with('{') { usize::MAX } else { 1 };
        path.trim_start_matches('{').split(',').take(most)
    });
    paths.filter_map(|path| path.trim().split(not_a_word).next())
}

fn not_a_word(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// A file, or all files of a folder, without comments and tests; empty if there is neither.
fn code(path: &Path) -> String {
    if path.file_stem().is_some_and(|name| name == "tests") {
        return String::new();
    }
    if let Ok(folder) = fs::read_dir(path) {
        return folder.map(|file| code(&file.unwrap().path())).collect();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text
        .lines()
        .take_while(|line| !line.contains("#[cfg(test)]"));
    let code: Vec<&str> = lines
        .filter(|line| !line.trim().starts_with("//"))
        .collect();
    code.join("\n")
}
