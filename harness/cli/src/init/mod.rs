//! `plimsoll init`: adds leak tests to a cargo project.
//!
//! ```text
//! cargo metadata ─► Layout          where the test goes, which crate it tests
//! files ──────────► plan ─► Files   what each is, and is to become
//!                             │ a diff; on a terminal, a question
//!                             ▼
//!                          written, each at once or not at all
//! ```
//!
//! Existing content is kept: a file that plimsoll would create stays as it is if it exists,
//! and a manifest keeps its order and comments.

mod benches;
mod layout;
mod manifest;
mod plan;

use std::cmp::Reverse;
use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use self::layout::Layout;
use self::plan::{File, PLACEHOLDER, Plan};
use crate::args::InitArgs;
use plimsoll_desk::out::{Out, Paint, is_yes};
use plimsoll_desk::project::{self, Project, shown};
use plimsoll_desk::status::Refused;
use plimsoll_desk::{atomic, diff};

pub(crate) fn run(args: &InitArgs, out: &mut Out) -> anyhow::Result<()> {
    let metadata = Project::metadata(args.project.manifest_path.as_deref())?;
    let layout = Layout::find(args, &metadata)?;
    let target_dir = &metadata.target_directory;
    if target_dir.as_str().contains(char::is_whitespace) {
        out.note(&format!(
            "jemalloc cannot be built in {}, because the path contains a space\n  \
             hint: set CARGO_TARGET_DIR to a path without spaces",
            shown(target_dir.as_std_path())
        ));
    }
    let plan = Plan::make(args, &layout)?;
    for left in &plan.left {
        out.note(&format!("{} is there, and stays as it is", shown(left)));
    }
    let source = layout.source.as_deref();
    let foreign = source.filter(|source| !project::is_leak_test(source));
    if let Some(source) = foreign {
        out.note(&format!(
            "{} exists, but does not call `plimsoll::main!`\n  \
             hint: rename the file and run init again, or add the call by hand",
            shown(source)
        ));
    }
    if layout.tested.is_none() && !plan.files.is_empty() {
        out.note(
            "the leak tests depend on no package of this workspace\n  \
             hint: name the one that they test with `-p`, or add it to their Cargo.toml",
        );
    }
    if let (false, Some(tested)) = (layout.benches.is_empty(), layout.tested) {
        let names: Vec<&str> = layout.benches.iter().map(|bench| &*bench.name).collect();
        out.note(&format!(
            "{} has benchmarks of criterion: {}\n  they become tests of the same files, in {}\n  \
             hint: for scenarios alone, run init with --no-benches; `cargo plimsoll bench` \
             measures the benchmarks without any change",
            tested.name,
            names.join(", "),
            layout.name
        ));
    }
    let then = |before: &str| match foreign {
        None => format!("{before}measure with `{}`", layout.command()),
        Some(_) => String::new(),
    };
    if plan.files.is_empty() {
        out.print(&format!("nothing to do{}\n", then(": ")))?;
        return Ok(());
    }
    for file in &plan.files {
        let root = plan::repository(&layout.workspace);
        if let Some(link) = link_below(root, &file.path) {
            bail!(
                "{} is to be written through {}, a symbolic link\n  \
                 hint: put a folder or a file in its place, or write by hand what --dry-run shows \
                 without it",
                shown(&file.path),
                shown(link)
            );
        }
    }
    for file in &plan.files {
        out.print(&show(file, out))?;
    }
    if args.dry_run || !is_agreed(args, out)? {
        out.print("nothing was written\n")?;
        return Ok(());
    }
    write(&plan.files, args)?;
    out.print(&format!("written{}\n", then("; now ")))?;
    if plan.writes(PLACEHOLDER) {
        out.note(
            "the workflows name the action `OWNER/plimsoll`: give it and the commit of its \
             release with --action, or write them in place of it",
        );
    }
    Ok(())
}

/// Returns the outermost part of a path below the root that is a symbolic link. Whoever wrote
/// the project may have made it lead anywhere.
fn link_below<'a>(root: &Path, path: &'a Path) -> Option<&'a Path> {
    let below = path.ancestors().take_while(|part| *part != root);
    below.filter(|part| part.is_symlink()).last()
}

/// Writes all files or none. cargo refuses a project whose manifest names a member that does
/// not exist, so a half-written project could not even run `init` again.
fn write(files: &[File], args: &InitArgs) -> anyhow::Result<()> {
    // Inner folders first: they have to be removed in this order.
    let mut folders: Vec<&Path> = files
        .iter()
        .flat_map(|file| file.path.ancestors().skip(1))
        .filter(|dir| !dir.exists())
        .collect();
    folders.sort_by_key(|dir| Reverse(dir.components().count()));
    let mut written = Vec::new();
    let done = files.iter().try_for_each(|file| {
        atomic::write(&file.path, &file.after)?;
        written.push(file);
        Ok(())
    });
    let done = done.and_then(|()| {
        let metadata = Project::metadata(args.project.manifest_path.as_deref());
        metadata.map(drop).map_err(|err| {
            anyhow!(
                "with what was to be written, {err:#}\n  \
                 hint: nothing was written; --dry-run shows what it would be"
            )
        })
    });
    if done.is_ok() {
        return Ok(());
    }
    for file in written {
        match &file.before {
            Some(before) => atomic::write(&file.path, before)?,
            None => fs::remove_file(&file.path)
                .with_context(|| format!("cannot remove {}", shown(&file.path)))?,
        }
    }
    for folder in folders {
        // This removes only empty folders. Other files in a folder belong to somebody else.
        let _ = fs::remove_dir(folder);
    }
    done
}

fn show(file: &File, out: &Out) -> String {
    let new = if file.before.is_none() { " (new)" } else { "" };
    let head = out.paint(Paint::Bold, &format!("{}{new}", shown(&file.path)));
    let before = file.before.as_deref().unwrap_or_default();
    format!("{head}\n{}\n", diff::render(before, &file.after, out))
}

/// Returns whether to write. Asks the user, unless `--yes` is given.
///
/// # Errors
///
/// If there is no terminal to ask on.
fn is_agreed(args: &InitArgs, out: &mut Out) -> anyhow::Result<bool> {
    if args.yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Err(Refused::usage(
            "cannot ask: standard input is not a terminal\n  \
             hint: --yes writes without asking, --dry-run writes nothing",
        ));
    }
    out.print("write this? [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}
