//! What cargo knows of the project.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use plimsoll_core::layout;
use serde_json::Value;

use crate::args::ProjectArgs;
use crate::out::safe;

#[derive(Debug)]
pub(crate) struct Project {
    target_dir: PathBuf,
    workspace_root: PathBuf,
    /// Of each package of the workspace, by its name.
    manifest_dirs: BTreeMap<String, PathBuf>,
}

impl Project {
    /// Asks cargo, which resolves, fetches and builds nothing for it.
    pub(crate) fn find(args: &ProjectArgs) -> anyhow::Result<Project> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        command
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stdin(Stdio::null());
        if let Some(path) = &args.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        let output = command
            .output()
            .with_context(|| format!("`{} metadata` did not start", cargo.to_string_lossy()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().trim_start_matches("error: ");
            bail!("cargo knows of no project here: {}", safe(said));
        }
        Self::parse(&output.stdout).context("`cargo metadata` printed something else than expected")
    }

    fn parse(metadata: &[u8]) -> anyhow::Result<Project> {
        let metadata: Value = serde_json::from_slice(metadata)?;
        let target_dir = metadata["target_directory"]
            .as_str()
            .context("no target directory")?;
        let workspace_root = metadata["workspace_root"]
            .as_str()
            .context("no workspace root")?;
        let mut manifest_dirs = BTreeMap::new();
        for package in metadata["packages"].as_array().context("no packages")? {
            let name = package["name"]
                .as_str()
                .context("a package without a name")?;
            let manifest = package["manifest_path"]
                .as_str()
                .context("a package without a path")?;
            let dir = Path::new(manifest)
                .parent()
                .context("a manifest without a folder")?;
            manifest_dirs.insert(name.to_owned(), dir.to_owned());
        }
        Ok(Project {
            target_dir: target_dir.into(),
            workspace_root: workspace_root.into(),
            manifest_dirs,
        })
    }

    /// Where the runs leave their reports.
    pub(crate) fn reports_dir(&self) -> PathBuf {
        layout::reports_dir(&self.target_dir)
    }

    /// Where a package's baselines are; absent for a package of elsewhere.
    pub(crate) fn baselines_dir(&self, package: &str) -> Option<PathBuf> {
        let manifest_dir = self.manifest_dirs.get(package)?;
        Some(layout::baselines_dir(manifest_dir, |path| path.exists()))
    }
}

/// The folder of the workspace in its repository, with slashes: `""` where it is
/// the repository's root, or where there is no repository.
///
/// Files in a report are relative to the one, a pull request's to the other.
pub(crate) fn prefix_in_repository() -> String {
    let args = ProjectArgs {
        manifest_path: None,
    };
    let Ok(project) = Project::find(&args) else {
        return String::new();
    };
    let root = &project.workspace_root;
    let repository = root.ancestors().find(|dir| dir.join(".git").exists());
    let prefix = repository.and_then(|repository| root.strip_prefix(repository).ok());
    let names = prefix.into_iter().flat_map(Path::components);
    let names: Vec<_> = names
        .map(|name| name.as_os_str().to_string_lossy().into_owned())
        .collect();
    names.join("/")
}

/// A path for people: from here, where it is below.
pub(crate) fn shown(path: &Path) -> String {
    let here = env::current_dir().ok();
    let relative = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path);
    safe(&relative.to_string_lossy())
}
