//! `cargo xtask gallery`: every output of twelve reports, to look at.
//!
//! ```text
//! cases ─► texts      docs/gallery/CASE.txt, docs/gallery.md    compared by a test
//!      └─► pictures   docs/gallery/CASE-KIND.png                made by Chromium
//! ```
//!
//! No test looks at a picture. A picture is made anew if the text of its case has changed, or
//! if its file is missing.

mod cases;
mod picture;
mod texts;
mod workload;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;

use self::cases::Case;

/// Renders twelve reports as comments, summaries, terminal texts and pages.
///
/// Writes their texts below `docs/gallery`, which a test compares, and their pictures if there
/// is a Chromium, or one that `PLIMSOLL_CHROMIUM` names. Debian's packages are `chromium`,
/// `pngquant` and `fonts-noto-color-emoji`.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Make all pictures anew, not only those whose text has changed.
    #[arg(long)]
    all: bool,
}

/// The command that renews what a test compares.
const RENEW: &str = "cargo xtask gallery";

/// Renews the texts, and the pictures that they belong to.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let mut out = io::stdout().lock();
    let cases = cases::all();
    let folder = docs().join("gallery");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let different = different(&cases);
    let is_old =
        |case: &&Case| args.all || different.iter().any(|(name, _)| *name == text_name(case));
    let pictures = |case: &Case| {
        let old = is_old(&case);
        let names = case.pictures.iter();
        let names = names.map(|picture| (picture_name(case, *picture), *picture));
        let wanted = names.filter(|(name, _)| old || !docs().join(name).exists());
        wanted.collect::<Vec<_>>()
    };
    let to_do: Vec<_> = cases.iter().map(|case| (case, pictures(case))).collect();
    let count: usize = to_do.iter().map(|(_, pictures)| pictures.len()).sum();
    let made = match count {
        0 => true,
        _ => picture::make(&to_do, &docs())?,
    };
    for name in stray(&cases) {
        fs::remove_file(docs().join(&name)).with_context(|| name.clone())?;
        writeln!(out, "removed docs/{name}")?;
    }
    for (name, text) in different {
        fs::write(docs().join(&name), text).with_context(|| name.clone())?;
        writeln!(out, "wrote docs/{name}")?;
    }
    match made {
        true => writeln!(out, "made {count} pictures")?,
        false => writeln!(
            out,
            "!!! {count} pictures are older than their texts: there is no Chromium. Install it \
             (Debian: `apt-get install chromium`) and run `{RENEW} --all`"
        )?,
    }
    Ok(true)
}

fn docs() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"))
}

fn text_name(case: &Case) -> String {
    format!("gallery/{}.txt", case.name)
}

fn picture_name(case: &Case, picture: cases::Picture) -> String {
    let (name, ..) = picture.about();
    format!("gallery/{}-{name}.png", case.name)
}

/// Returns the text of every file, by its name below `docs`.
fn texts(cases: &[Case]) -> BTreeMap<String, String> {
    let of_cases = cases.iter().map(|case| (text_name(case), texts::of(case)));
    let page = ("gallery.md".to_owned(), texts::gallery(cases));
    of_cases.chain([page]).collect()
}

/// Returns the texts whose file has another text.
fn different(cases: &[Case]) -> Vec<(String, String)> {
    let is_different = |(name, text): &(String, String)| {
        fs::read_to_string(docs().join(name)).ok().as_ref() != Some(text)
    };
    texts(cases).into_iter().filter(is_different).collect()
}

/// Returns the names of files that no case has.
fn stray(cases: &[Case]) -> Vec<String> {
    let pictures = |case: &Case| {
        let pictures = case.pictures.iter();
        let names = pictures.map(|picture| picture_name(case, *picture));
        names.chain([text_name(case)]).collect::<Vec<_>>()
    };
    let known: Vec<String> = cases.iter().flat_map(pictures).collect();
    let files = fs::read_dir(docs().join("gallery"))
        .into_iter()
        .flatten()
        .flatten();
    let names = files.map(|file| format!("gallery/{}", file.file_name().to_string_lossy()));
    let mut stray: Vec<String> = names.filter(|name| !known.contains(name)).collect();
    stray.sort();
    stray
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_gallery_shows_what_is_rendered() {
        let cases = cases::all();
        let mut wrong = String::new();
        for (name, text) in different(&cases) {
            let committed = fs::read_to_string(docs().join(&name)).unwrap_or_default();
            let lines = committed.lines().chain(std::iter::repeat("(nothing)"));
            let rendered = text.lines().chain(["(nothing)"]);
            let mut lines = lines.zip(rendered).zip(1..);
            let first = lines.find(|((committed, rendered), _)| committed != rendered);
            wrong += &format!("docs/{name}");
            if let Some(((committed, rendered), line)) = first {
                wrong += &format!(":{line}\n  committed: {committed}\n  rendered:  {rendered}");
            }
            wrong += "\n";
        }
        for name in stray(&cases) {
            wrong += &format!("docs/{name}: no report of the gallery has this file\n");
        }
        assert!(
            wrong.is_empty(),
            "the gallery is out of date; look at what changed with `{RENEW}`, then `git diff \
             docs`:\n{wrong}"
        );
    }
}
