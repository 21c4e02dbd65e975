//! cargo's metadata of the project.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use cargo_metadata::{Metadata, Package, Target, TargetKind};
use plimsoll_core::layout;

use crate::out::{safe, safe_line};
use crate::status::Refused;

/// The packages of a workspace.
#[derive(Debug)]
pub struct Project {
    metadata: Metadata,
    /// The folder of each package of the workspace, by package name.
    manifest_dirs: BTreeMap<String, PathBuf>,
}

/// Returns a command for the `cargo` that started this program, or else for the one in the
/// search path. It has no standard input.
pub fn cargo() -> Command {
    let given = env::var_os("CARGO").filter(|path| !path.is_empty());
    let mut command = Command::new(given.unwrap_or_else(|| "cargo".into()));
    command.stdin(Stdio::null());
    command
}

/// Removes the variables that the `cargo` that started this program may have set for another
/// package.
pub fn without_package(command: &mut Command) -> &mut Command {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs `cargo metadata` with these arguments. Returns the metadata, or else cargo's error
/// message.
pub fn metadata(cargo: &mut Command, args: &[&OsStr]) -> anyhow::Result<Result<Metadata, String>> {
    let output = cargo
        .args(["metadata", "--format-version", "1"])
        .args(args)
        .output()
        .with_context(|| format!("`{} metadata` did not start", cargo.get_program().display()))?;
    Ok(match output.status.success() {
        true => Ok(read(&output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    })
}

/// Parses the output of `cargo metadata --format-version 1`.
pub fn read(metadata: &[u8]) -> anyhow::Result<Metadata> {
    serde_json::from_slice(metadata)
        .context("`cargo metadata` printed something else than expected")
}

impl Project {
    /// Asks cargo for the packages of the workspace. cargo resolves, fetches and builds
    /// nothing for it.
    pub fn find(manifest: Option<&Path>) -> anyhow::Result<Project> {
        Ok(Self::of(Self::metadata(manifest)?))
    }

    /// Returns cargo's metadata of the workspace's own packages.
    pub fn metadata(manifest: Option<&Path>) -> anyhow::Result<Metadata> {
        let mut args = vec![OsStr::new("--no-deps")];
        if let Some(path) = manifest {
            args.extend(["--manifest-path".as_ref(), path.as_os_str()]);
        }
        match metadata(&mut cargo(), &args)? {
            Ok(metadata) => Ok(metadata),
            Err(said) => {
                let said = said.trim().trim_start_matches("error: ");
                bail!("cargo knows of no project here: {}", safe(said))
            }
        }
    }

    /// Does the same as [`Project::find`], with the folder and the environment of the command
    /// `cargo`. Returns the project, or else cargo's error message.
    pub fn ask(cargo: &mut Command) -> anyhow::Result<Result<Project, String>> {
        Ok(metadata(cargo, &["--no-deps".as_ref()])?.map(Self::of))
    }

    fn of(metadata: Metadata) -> Project {
        let dir = |package: &Package| {
            let dir = package.manifest_path.parent()?;
            Some((package.name.to_string(), dir.into()))
        };
        Project {
            manifest_dirs: metadata.packages.iter().filter_map(dir).collect(),
            metadata,
        }
    }

    fn package(&self, name: &str) -> Option<&Package> {
        let mut packages = self.metadata.packages.iter();
        packages.find(|package| package.name == name)
    }

    /// Returns cargo's target folder.
    pub fn target_dir(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// Returns every target of a kind, with its package.
    pub fn targets(&self, kind: &TargetKind) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.packages.iter().flat_map(move |package| {
            let of_kind = package
                .targets
                .iter()
                .filter(|target| target.kind.contains(kind));
            of_kind.map(|target| (package.name.as_str(), target.name.as_str()))
        })
    }

    /// Returns the source file of a package's target, a test for example.
    pub fn target_file(&self, package: &str, kind: &TargetKind, target: &str) -> Option<&Path> {
        let mut targets = self.package(package)?.targets.iter();
        let one = targets.find(|one| one.name == target && one.kind.contains(kind))?;
        Some(one.src_path.as_std_path())
    }

    /// Tells whether a package has targets other than those of a kind and a build script.
    pub fn has_other_targets(&self, package: &str, kind: &TargetKind) -> bool {
        let is_other = |target: &Target| !target.kind.contains(kind) && !target.is_custom_build();
        self.package(package)
            .is_some_and(|package| package.targets.iter().any(is_other))
    }

    /// Returns the folder in which runs write their reports.
    pub fn reports_dir(&self) -> PathBuf {
        layout::reports_dir(self.target_dir())
    }

    /// Returns the root folder of the workspace.
    pub fn workspace_root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    /// Returns the names of the workspace's packages, in order.
    pub fn packages(&self) -> impl Iterator<Item = &str> {
        self.manifest_dirs.keys().map(String::as_str)
    }

    /// Returns the folder of a package, or `None` if the package is not in the workspace.
    pub fn package_dir(&self, package: &str) -> Option<&Path> {
        self.manifest_dirs.get(package).map(PathBuf::as_path)
    }

    /// Returns how cargo tells a package of the workspace from all others: a dependency may have its
    /// name.
    pub fn package_id(&self, package: &str) -> Option<&str> {
        Some(&self.package(package)?.id.repr)
    }

    /// Returns the package that contains a folder: the one with the innermost package folder.
    pub fn package_at(&self, folder: &Path) -> Option<&str> {
        let around = self.manifest_dirs.iter();
        let around = around.filter(|(_, dir)| folder.starts_with(dir));
        let nearest = around.max_by_key(|(_, dir)| dir.components().count());
        nearest.map(|(name, _)| name.as_str())
    }

    /// Returns the package that a command means: the one that is named, the only one, or that of
    /// the current folder.
    pub fn package_meant(&self, named: Option<&str>) -> anyhow::Result<String> {
        let names: Vec<&str> = self.packages().collect();
        let here = std::env::current_dir()?;
        let found = match (named, names.as_slice()) {
            (Some(name), _) => names.iter().find(|known| **known == name).copied(),
            (None, [only]) => Some(*only),
            (None, _) => self.package_at(&here),
        };
        found.map(str::to_owned).ok_or_else(|| {
            let problem = match named {
                Some(name) => format!("`{}` is no package of this workspace", safe_line(name)),
                None => "no package is in this folder".to_owned(),
            };
            let names = names.join(", ");
            Refused::usage(format!(
                "{problem}\n  hint: --package names one whose baselines are meant: {names}"
            ))
        })
    }

    /// Returns the folder of a package's baselines, or `None` if the package is not in the
    /// workspace.
    pub fn baselines_dir(&self, package: &str) -> Option<PathBuf> {
        let manifest_dir = self.manifest_dirs.get(package)?;
        Some(layout::baselines_dir(manifest_dir, |path| path.exists()))
    }

    /// Returns every folder of baselines, with the packages that use it.
    pub fn baselines_dirs(&self) -> BTreeMap<PathBuf, Vec<String>> {
        let mut dirs: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
        for package in self.manifest_dirs.keys() {
            if let Some(dir) = self.baselines_dir(package) {
                dirs.entry(dir).or_default().push(package.clone());
            }
        }
        dirs
    }

    /// Returns the test targets of a package that use `plimsoll::main!`, by their names in a
    /// run: with underscores for dashes.
    pub fn leak_tests(&self, package: &str) -> Vec<String> {
        let package = self.package(package).into_iter();
        let targets = package.flat_map(|package| &package.targets);
        targets
            .filter(|target| target.is_test() && is_leak_test(target.src_path.as_std_path()))
            .map(|target| target.name.replace('-', "_"))
            .collect()
    }

    /// Returns a path relative to the root of the workspace, with slashes. A path elsewhere
    /// stays as it is.
    pub fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.workspace_root()).unwrap_or(path);
        match below.is_absolute() {
            true => below.to_string_lossy().into_owned(),
            false => with_slashes(below),
        }
    }
}

/// Returns the folder of the workspace in its repository, with slashes. It is `""` if the
/// workspace is at the root of the repository, or if there is no repository.
///
/// Paths in a report are relative to the workspace. Paths in a pull request are relative to
/// the repository.
pub fn prefix_in_repository() -> String {
    let Ok(project) = Project::find(None) else {
        return String::new();
    };
    let root = project.workspace_root();
    let repository = root.ancestors().find(|dir| dir.join(".git").exists());
    let prefix = repository.and_then(|repository| root.strip_prefix(repository).ok());
    prefix.map_or_else(String::new, with_slashes)
}

/// Tells whether a test target with this source uses `plimsoll::main!`.
pub fn is_leak_test(source: &Path) -> bool {
    // Only the root file of the target is read, because the macro must be there.
    let source = fs::read_to_string(source);
    source.is_ok_and(|text| text.contains("plimsoll::main!"))
}

/// Returns the folder of the given manifest, or else the current folder. It is written as
/// cargo writes the folders of packages, so that they can be compared.
pub fn folder(manifest: Option<&Path>) -> io::Result<PathBuf> {
    let Some(manifest) = manifest else {
        return env::current_dir();
    };
    let manifest = std::path::absolute(manifest)?;
    Ok(plain(manifest.parent().unwrap_or(&manifest)))
}

/// Removes `.` from a path, and each `..` that follows a name or the root.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.has_root() || plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the names in a path, with slashes between.
pub fn with_slashes(path: &Path) -> String {
    let names = path.components();
    let names = names.map(|name| name.as_os_str().to_string_lossy());
    names.collect::<Vec<_>>().join("/")
}

/// Returns a path for messages: relative to the current folder, if it is in it.
pub fn shown(path: &Path) -> String {
    let here = env::current_dir().ok();
    let relative = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok())
        .filter(|relative| !relative.as_os_str().is_empty())
        .unwrap_or(path);
    safe(&relative.to_string_lossy())
}
