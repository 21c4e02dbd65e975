//! No module of any crate needs itself by way of its siblings, at any depth: each can be read with
//! those below.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path from the crate's root, which has none.
type Module = Vec<String>;

/// The modules of a crate, with their code.
type Crate = BTreeMap<Module, String>;

/// What each of some siblings needs of the others.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let src = folder.unwrap().path().join("src");
        let mut all = Crate::new();
        read(&src, &[], &mut all);
        if src.ends_with("core/src") {
            let uses = uses(&all, &[]);
            assert!(uses["judge"].contains("finding"), "{uses:?}");
            assert!(uses["finding"].contains("frame"), "{uses:?}");
            let uses = self::uses(&all, &["dump".to_owned()]);
            assert!(uses["parse"].contains("maps"), "{uses:?}");
        }
        for parent in all.keys() {
            let uses = uses(&all, parent);
            let circle = uses.keys().find_map(|one| circle(&uses, &[one]));
            let at = parent.join("::");
            found.extend(circle.map(|circle| format!("{}: {at}: {circle}", src.display())));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Reads the modules of a folder, without comments and tests.
fn read(folder: &Path, at: &[String], all: &mut Crate) {
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut module = at.to_vec();
        match &*name {
            "tests" => continue,
            "lib" | "main" | "mod" => {}
            _ => module.push(name),
        }
        if path.is_dir() {
            read(&path, &module, all);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines();
            let lines = lines.take_while(|line| !line.contains("#[cfg(test)]"));
            let code = lines.filter(|line| !line.trim().starts_with("//"));
            let code: Vec<&str> = code.collect();
            *all.entry(module).or_default() += &code.join("\n");
        }
    }
}

/// What the modules below a parent need of one another.
fn uses(all: &Crate, parent: &[String]) -> Uses {
    let code = &all[parent];
    let mut uses: Uses = declared(code)
        .map(|one| (one.to_owned(), BTreeSet::new()))
        .collect();
    // What has a name in the parent, by the module that it is from.
    let mut home: BTreeMap<String, String> =
        uses.keys().map(|one| (one.clone(), one.clone())).collect();
    for part in code.split("use ").skip(1) {
        for path in tree(part).0 {
            let path = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(&path);
            if let [module, .., name] = path
                && uses.contains_key(module)
            {
                home.insert(name.clone(), module.clone());
            }
        }
    }
    let below = all.iter().filter_map(|(module, code)| {
        let [own, ..] = module.strip_prefix(parent)? else {
            return None;
        };
        Some((own, module, code))
    });
    for (own, module, code) in below {
        let named = named(module, code).into_iter();
        let named = named.filter_map(|path| home.get(path.strip_prefix(parent)?.first()?));
        let others: Vec<&String> = named.filter(|other| *other != own).collect();
        if let Some(uses) = uses.get_mut(own) {
            uses.extend(others.into_iter().cloned());
        }
    }
    uses
}

fn declared(code: &str) -> impl Iterator<Item = &str> {
    let declared = code
        .lines()
        .filter_map(|line| line.strip_suffix(';')?.split_once("mod "));
    declared.map(|(_, module)| module)
}

/// A way from the last module of a path back to one that is on it.
fn circle(uses: &Uses, path: &[&str]) -> Option<String> {
    uses[*path.last()?].iter().find_map(|next| {
        let longer = [path, &[next]].concat();
        match path.iter().position(|module| module == next) {
            Some(from) => Some(longer[from..].join(" → ")),
            None => circle(uses, &longer),
        }
    })
}

/// Every path of a module's code that begins with `crate` or `super`, from the crate's root on.
fn named(module: &[String], code: &str) -> Vec<Module> {
    let mut named = Vec::new();
    for word in ["crate::", "super::"] {
        for (at, _) in code.match_indices(word) {
            // The first of several `super`, and no end of a longer word.
            if code[..at].ends_with(|c: char| c == ':' || c == '_' || c.is_alphanumeric()) {
                continue;
            }
            for path in tree(&code[at..]).0 {
                let supers = path.iter().take_while(|part| *part == "super").count();
                let from = match supers {
                    0 => 0,
                    _ => module.len().saturating_sub(supers),
                };
                named.push([&module[..from], &path[supers.max(1)..]].concat());
            }
        }
    }
    named
}

/// The paths of a tree as in `use a::{b, c::d};`, and the text behind it.
fn tree(text: &str) -> (Vec<Module>, &str) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        loop {
            let (paths, behind) = tree(rest);
            all.extend(paths);
            let behind = behind.trim_start();
            match behind.strip_prefix(',') {
                Some(next) => rest = next,
                None => return (all, behind.strip_prefix('}').unwrap_or(behind)),
            }
        }
    }
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.is_empty() {
        return (Vec::new(), rest);
    }
    let (mut paths, behind) = rest.strip_prefix("::").map_or((Vec::new(), rest), tree);
    if paths.is_empty() {
        paths.push(Module::new());
    }
    paths
        .iter_mut()
        .for_each(|path| path.insert(0, word.to_owned()));
    (paths, behind)
}
