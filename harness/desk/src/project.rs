//! What cargo knows of the project.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use plimsoll_core::layout;
use serde_json::Value;

use crate::out::safe;

#[derive(Debug)]
pub struct Project {
    target_dir: PathBuf,
    workspace_root: PathBuf,
    /// Of each package of the workspace, by its name.
    manifest_dirs: BTreeMap<String, PathBuf>,
    tests: Vec<TestTarget>,
}

/// A test target of a package.
#[derive(Debug)]
struct TestTarget {
    package: String,
    name: String,
    source: PathBuf,
}

const UNEXPECTED: &str = "`cargo metadata` printed something else than expected";

impl Project {
    /// Asks cargo, which resolves, fetches and builds nothing for it.
    pub fn find(manifest: Option<&Path>) -> anyhow::Result<Project> {
        Self::parse(&Self::metadata(manifest)?).context(UNEXPECTED)
    }

    /// What cargo says of the workspace's own packages.
    pub fn metadata(manifest: Option<&Path>) -> anyhow::Result<Value> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        command
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stdin(Stdio::null());
        if let Some(path) = manifest {
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
        serde_json::from_slice(&output.stdout).context(UNEXPECTED)
    }

    fn parse(metadata: &Value) -> anyhow::Result<Project> {
        let target_dir = metadata["target_directory"]
            .as_str()
            .context("no target directory")?;
        let workspace_root = metadata["workspace_root"]
            .as_str()
            .context("no workspace root")?;
        let mut manifest_dirs = BTreeMap::new();
        let mut tests = Vec::new();
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
            for target in package["targets"].as_array().context("no targets")? {
                let kinds = target["kind"].as_array().context("a target of no kind")?;
                if kinds.iter().any(|kind| kind == "test") {
                    let text = |key: &str| target[key].as_str().map(str::to_owned);
                    tests.push(TestTarget {
                        package: name.to_owned(),
                        name: text("name").context("a target without a name")?,
                        source: text("src_path").context("a target without a path")?.into(),
                    });
                }
            }
        }
        Ok(Project {
            target_dir: target_dir.into(),
            workspace_root: workspace_root.into(),
            manifest_dirs,
            tests,
        })
    }

    /// Where the runs leave their reports.
    pub fn reports_dir(&self) -> PathBuf {
        layout::reports_dir(&self.target_dir)
    }

    /// The folder of the workspace.
    pub fn workspace_root(&self) -> &Path {
        &self.workspace_root
    }

    /// The workspace's packages, by their names.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.manifest_dirs.keys().map(String::as_str)
    }

    /// The folder of a package; absent for a package of elsewhere.
    pub fn package_dir(&self, package: &str) -> Option<&Path> {
        self.manifest_dirs.get(package).map(PathBuf::as_path)
    }

    /// The package that a folder is in: of the nearest folder upwards that is one's.
    pub fn package_at(&self, folder: &Path) -> Option<&str> {
        let around = self
            .manifest_dirs
            .iter()
            .filter(|(_, dir)| folder.starts_with(dir));
        let nearest = around.max_by_key(|(_, dir)| dir.components().count());
        nearest.map(|(name, _)| name.as_str())
    }

    /// Where a package's baselines are; absent for a package of elsewhere.
    pub fn baselines_dir(&self, package: &str) -> Option<PathBuf> {
        let manifest_dir = self.manifest_dirs.get(package)?;
        Some(layout::baselines_dir(manifest_dir, |path| path.exists()))
    }

    /// Every folder of baselines, with the packages that have theirs there.
    pub fn baselines_dirs(&self) -> BTreeMap<PathBuf, Vec<String>> {
        let mut dirs: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for package in self.manifest_dirs.keys() {
            if let Some(dir) = self.baselines_dir(package) {
                dirs.entry(dir).or_default().push(package.clone());
            }
        }
        dirs
    }

    /// The test targets of a package that are made by `plimsoll::main!`, by the
    /// names that a run has of them.
    pub fn leak_tests(&self, package: &str) -> Vec<String> {
        let tests = self.tests.iter().filter(|test| test.package == package);
        tests
            .filter(|test| is_leak_test(&test.source))
            .map(|test| test.name.replace('-', "_"))
            .collect()
    }

    /// A path from the workspace's root, with slashes, where it is below it.
    pub fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.workspace_root).unwrap_or(path);
        let names = below
            .components()
            .map(|name| name.as_os_str().to_string_lossy());
        match below.is_absolute() {
            true => below.to_string_lossy().into_owned(),
            false => names.collect::<Vec<_>>().join("/"),
        }
    }
}

/// The folder of the workspace in its repository, with slashes: `""` where it is
/// the repository's root, or where there is no repository.
///
/// Files in a report are relative to the one, a pull request's to the other.
pub fn prefix_in_repository() -> String {
    let Ok(project) = Project::find(None) else {
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

/// Whether a test target with that source is made by `plimsoll::main!`.
pub fn is_leak_test(source: &Path) -> bool {
    // Of its root alone: that is where the macro has to stand.
    let source = fs::read_to_string(source);
    source.is_ok_and(|text| text.contains("plimsoll::main!"))
}

/// The folder that is meant: of the manifest that was named, or the current one. Written
/// as cargo writes the folders of packages, so that they can be compared.
pub fn folder(manifest: Option<&Path>) -> io::Result<PathBuf> {
    let Some(manifest) = manifest else {
        return env::current_dir();
    };
    let manifest = std::path::absolute(manifest)?;
    let mut folder = PathBuf::new();
    for part in manifest.parent().into_iter().flat_map(Path::components) {
        match part {
            Component::ParentDir => {
                folder.pop();
            }
            part => folder.push(part),
        }
    }
    Ok(folder)
}

/// A path for people: from here, where it is below.
pub fn shown(path: &Path) -> String {
    let here = env::current_dir().ok();
    let relative = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok())
        .filter(|relative| !relative.as_os_str().is_empty())
        .unwrap_or(path);
    safe(&relative.to_string_lossy())
}
