//! The plan: which files to create or change.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::Target;
use serde_json::Value;

use super::benches;
use super::layout::{LEAKS, Layout, dir_of};
use super::manifest::{self, Library};
use crate::args::InitArgs;
use plimsoll_desk::file;
use plimsoll_desk::git::Git;
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::shown;
use plimsoll_desk::status::Refused;

const TEST: &str = include_str!("templates/leaks.rs");
const BASELINES: &str = include_str!("templates/baselines.md");
const NEXTEST: &str = include_str!("templates/nextest.toml");

/// The filter in it.
const ONE_BINARY: &str = "binary(=leaks)";
const MEASURE_WORKFLOW: &str = include_str!("templates/leaks-measure.yml");
const COMMENT_WORKFLOW: &str = include_str!("templates/leaks-comment.yml");
const WORKFLOWS: [(&str, &str); 2] = [
    ("leaks-measure.yml", MEASURE_WORKFLOW),
    ("leaks-comment.yml", COMMENT_WORKFLOW),
];

/// The placeholder in the workflows if no action is named, as in docs/ci.md.
pub(super) const PLACEHOLDER: &str =
    "OWNER/plimsoll/.github/actions/plimsoll@0000000000000000000000000000000000000000 # v0.1.0";

/// The default branch in the templates.
const DEFAULT_BRANCH: &str = "branches: [main]";
/// The parts of the templates that are replaced: the command that measures, and the lines
/// beside which a step gets its folder.
const MEASURE: &str = "cargo test --locked --test leaks";
const RUNS: &str = "        run: ";
const REPORTS: &str = "          command: report\n";

/// A file that is created or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) before: Option<String>,
    pub(super) after: String,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) files: Vec<File>,
    /// Existing files with other content, which are left as they are.
    pub(super) left: Vec<PathBuf>,
}

impl Plan {
    pub(super) fn make(args: &InitArgs, layout: &Layout<'_>) -> anyhow::Result<Plan> {
        let mut plan = Plan::default();
        let library = match &args.path {
            None => Library::Version(env!("CARGO_PKG_VERSION")),
            Some(path) => Library::Path(absolute(path)?),
        };
        let manifest = layout.dir.join("Cargo.toml");
        let text = match layout.edition.as_str() {
            // In this edition, a dependency needs an `extern crate`.
            "2015" => TEST.replace("use plimsoll", "extern crate plimsoll;\n\nuse plimsoll"),
            _ => TEST.to_owned(),
        };
        let test = layout.dir.join("tests").join(format!("{LEAKS}.rs"));
        if layout.source.is_some() {
            // The project has the test already, however it is set up.
        } else if args.here {
            plan.change(&manifest, |text| manifest::with_test(text, &library))?;
            plan.create(test, &text)?;
        } else {
            let root = layout.workspace.join("Cargo.toml");
            plan.change(&root, manifest::with_member)?;
            let is_library = |target: &Target| target.is_lib() || target.is_rlib();
            let tested = layout
                .tested
                .filter(|one| one.targets.iter().any(is_library));
            let tested = tested.and_then(|tested| {
                let inside = dir_of(tested).strip_prefix(&layout.workspace).ok()?;
                let path = Path::new("..").join(inside).to_string_lossy().into_owned();
                Some((tested.name.as_str(), path.trim_end_matches('/').to_owned()))
            });
            let benches = match layout.tested {
                Some(tested) if !layout.benches.is_empty() => {
                    benches::of_member(tested, &layout.benches, &layout.dir, &library)
                }
                _ => benches::Additions::default(),
            };
            let member = manifest::member(
                &layout.name,
                &layout.edition,
                &library,
                tested,
                (&benches.needs, &benches.tables),
            );
            plan.create(manifest, &member)?;
            plan.create(test, &text)?;
        }
        let baselines = plimsoll_core::layout::baselines_dir(&layout.dir, |path| {
            // `Cargo.lock` marks the root of a workspace. It counts as existing, because cargo
            // will create it.
            path == layout.workspace.join("Cargo.lock") || path.exists()
        });
        if !baselines.exists() {
            plan.create(baselines.join("README.md"), BASELINES)?;
        }
        let nextest = layout.workspace.join(".config/nextest.toml");
        // The benches are tests of that package as well.
        let text = match layout.benches.is_empty() {
            true => NEXTEST.to_owned(),
            false => NEXTEST.replace(ONE_BINARY, &format!("package(={})", layout.name)),
        };
        match read(&nextest)? {
            None => plan.create(nextest, &text)?,
            Some(_) => plan.change(&nextest, |before| manifest::with_override(before, &text))?,
        }
        if !args.no_workflows {
            plan.workflows(args, layout)?;
        }
        Ok(plan)
    }

    fn workflows(&mut self, args: &InitArgs, layout: &Layout<'_>) -> anyhow::Result<()> {
        // GitHub reads only the workflows in the repository's root.
        let root = repository(&layout.workspace);
        let below = layout.workspace.strip_prefix(root).unwrap_or(Path::new(""));
        let dir = root.join(".github/workflows");
        let branch = default_branch(root);
        let command = match ignores_lockfile(&layout.workspace) {
            true => layout.locked_command().replace(" --locked", ""),
            false => layout.locked_command(),
        };
        for (name, text) in WORKFLOWS {
            let text = match &args.action {
                Some(action) => text.replace(PLACEHOLDER, action),
                None => text.to_owned(),
            };
            let text = text.replace(MEASURE, &command);
            let text = text.replace(DEFAULT_BRANCH, &format!("branches: [{branch}]"));
            let text = in_folder(text, &below.to_string_lossy());
            self.create(dir.join(name), &text)?;
        }
        Ok(())
    }

    /// Plans a file of plimsoll's, unless a file with this path exists.
    fn create(&mut self, path: PathBuf, text: &str) -> anyhow::Result<()> {
        match read(&path)? {
            None => self.files.push(File {
                path,
                before: None,
                after: text.to_owned(),
            }),
            Some(there) if there == text => {}
            Some(_) => self.left.push(path),
        }
        Ok(())
    }

    /// Plans additions to a file of the project.
    fn change(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&str) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let before = read(path)?.unwrap_or_default();
        let plain = before.replace("\r\n", "\n");
        let after = edit(&plain).with_context(|| shown(path))?;
        if after != plain {
            // Keeps the line ends of the file.
            let after = match before.contains("\r\n") {
                true => after.replace('\n', "\r\n"),
                false => after,
            };
            self.files.push(File {
                path: path.to_owned(),
                before: Some(before),
                after,
            });
        }
        Ok(())
    }

    /// Returns whether a file is written that has this text.
    pub(super) fn writes(&self, text: &str) -> bool {
        self.files.iter().any(|file| file.after.contains(text))
    }
}

/// Reads a file, if it exists.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let text = file::if_there(fs::read_to_string(path));
    text.with_context(|| format!("cannot read {}", shown(path)))
}

/// Returns the remote's default branch, or else the local `main` or `master`.
fn default_branch(root: &Path) -> String {
    let git = Git::in_dir(root);
    let ask = |words: &[&str]| git.try_ask(words).ok().flatten();
    let remotes = || {
        let head = ask(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"])?;
        Some(head.strip_prefix("origin/")?.to_owned())
    };
    let has = |branch: &str| {
        let name = format!("refs/heads/{branch}");
        ask(&["show-ref", "--verify", &name]).is_some()
    };
    // A branch name that YAML might need quoted is not used; a person has to write it.
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._/-".contains(char);
    let branch = remotes().filter(|branch| branch.chars().all(is_plain));
    branch.unwrap_or_else(|| match !has("main") && has("master") {
        true => "master".to_owned(),
        false => "main".to_owned(),
    })
}

/// Returns the root of the repository that contains a workspace, or the workspace itself if
/// there is none.
pub(super) fn repository(workspace: &Path) -> &Path {
    let mut around = workspace.ancestors();
    around
        .find(|dir| dir.join(".git").exists())
        .unwrap_or(workspace)
}

/// Returns a workflow whose steps run in a folder of the repository.
fn in_folder(workflow: String, folder: &str) -> String {
    if folder.is_empty() {
        return workflow;
    }
    // A string that is quoted for JSON is also quoted for YAML.
    let setting = format!("working-directory: {}\n", Value::from(folder));
    workflow
        .replace(RUNS, &format!("        {setting}{RUNS}"))
        .replace(REPORTS, &format!("{REPORTS}          {setting}"))
}

/// Returns the absolute path of the library's folder. Refuses other folders, such as the root
/// of a checkout.
fn absolute(path: &Path) -> anyhow::Result<String> {
    let found = path.canonicalize();
    let found = found.with_context(|| format!("--path {}", shown(path)))?;
    let manifest = match found.is_dir() {
        true => read(&found.join("Cargo.toml"))?,
        false => None,
    };
    let name = manifest.as_deref().and_then(manifest::package_name);
    if name.as_deref() != Some("plimsoll") {
        let found = match name {
            Some(name) => format!("that of {}", safe_line(&name)),
            None => "no package".to_owned(),
        };
        return Err(Refused::usage(format!(
            "--path {}: expected the folder of the package plimsoll, found {found}\n  \
             hint: in a checkout it is harness/measure",
            shown(path)
        )));
    }
    Ok(found.to_string_lossy().into_owned())
}

/// Returns whether git ignores `Cargo.lock`. Without git or a repository, nothing is ignored.
fn ignores_lockfile(workspace: &Path) -> bool {
    let output = Git::in_dir(workspace).run(&["check-ignore", "--quiet", "Cargo.lock"]);
    output.is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workflows are also in the documentation, where they are linted.
    #[test]
    fn workflows_are_those_of_the_documentation() {
        let page = include_str!("../../../../docs/ci.md");
        for (name, text) in WORKFLOWS {
            let block = format!("```yaml .github/workflows/{name}\n{text}```\n");
            assert!(page.contains(&block), "{name}");
            assert!(text.contains(PLACEHOLDER), "{name}");
        }
    }
}
