//! Runs cargo: what it builds, for which benches, and with what in criterion's place.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use cargo_metadata::{Message, Metadata};
use plimsoll_core::report::Runner;
use plimsoll_core::text::hash::fnv;
use plimsoll_desk::interrupt::{Ended, Interrupt};
use plimsoll_desk::out::{safe, safe_line};
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::{self, Project, shown};
use plimsoll_desk::status::Refused;
use toml_edit::{Document, Item, Value};

use crate::benches::{self, Bench, CRITERIONS, Harness};
use crate::lockfile::Kept;
use crate::note::{self, InPlace, Note};
use crate::sources::{self, Replaced};

/// The folder in the target directory for all that this crate makes.
const FOLDER: &str = "plimsoll-bench";

/// The registry that cargo's patches call `crates-io`.
const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

/// What a program with the drop-in has in it, followed by a space and the version of its protocol.
const MARK: &[u8] = b"plimsoll-subject";

/// What to build.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The manifest; by default that of the current folder.
    pub manifest: Option<PathBuf>,
    /// The packages; by default those that cargo takes.
    pub packages: Vec<String>,
    /// All packages of the workspace.
    pub workspace: bool,
    /// Packages to leave out of all.
    pub exclude: Vec<String>,
    /// The bench targets; by default all.
    pub benches: Vec<String>,
    /// Arguments for cargo that choose features.
    pub features: Vec<String>,
    /// Arguments for cargo that say whether it may use the network.
    pub network: Vec<String>,
    /// The folder in which cargo runs; by default the current one.
    pub folder: Option<PathBuf>,
    /// The target directory; by default the project's.
    pub target_dir: Option<PathBuf>,
    /// The file for cargo's messages; by default they go to standard error.
    pub log: Option<PathBuf>,
    /// How long one command of cargo may take; by default any time.
    pub timeout: Option<Duration>,
}

/// The benches that a build is about.
#[derive(Debug)]
pub struct Found {
    metadata: Metadata,
    /// All benches of the packages, by package and target.
    pub benches: Vec<Bench>,
}

/// A bench that was not built, and why.
#[derive(Clone, Debug)]
pub struct Unbuilt {
    /// The bench.
    pub bench: Bench,
    /// The reason, on one line.
    pub why: String,
    /// Whether it was built, and cannot be measured.
    pub is_built: bool,
}

/// A program that was built, and the bench that it is made of.
#[derive(Clone, Debug)]
pub struct Program {
    /// The bench.
    pub bench: Bench,
    /// The program, as a front takes it.
    pub program: plimsoll_front::Program,
}

/// An error: a command of cargo took longer than it may.
#[derive(Debug)]
pub struct TimedOut(Duration);

impl std::fmt::Display for TimedOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not within {} s", self.0.as_secs())
    }
}

impl std::error::Error for TimedOut {}

/// What came of a build.
#[derive(Debug, Default)]
pub struct Built {
    /// The programs that can be measured.
    pub programs: Vec<Program>,
    /// The benches that could not be built, or cannot be measured.
    pub unbuilt: Vec<Unbuilt>,
}

/// Finds the benches that a build is about.
///
/// # Errors
///
/// If there is no project, or if it does not have a package or bench that was named.
pub fn find(build: &Build) -> anyhow::Result<Found> {
    let metadata = match &build.folder {
        None => Project::metadata(build.manifest.as_deref())?,
        Some(folder) => {
            let args = ["--no-deps".as_ref()];
            let found = project::metadata(project::cargo().current_dir(folder), &args)?;
            found.map_err(|said| anyhow!("cargo cannot read the project: {}", safe(said.trim())))?
        }
    };
    let folder = match &build.folder {
        Some(folder) => folder.clone(),
        None => project::folder(build.manifest.as_deref())?,
    };
    let packages = benches::packages(
        &metadata,
        &build.packages,
        build.workspace,
        &build.exclude,
        &folder,
    );
    let packages = packages.map_err(|unknown| {
        let known: Vec<String> = metadata
            .workspace_packages()
            .iter()
            .map(|package| package.name.to_string())
            .collect();
        Refused::usage(format!(
            "`{}` is no package of this workspace\n  expected one of: {}",
            safe_line(&unknown),
            known.join(", ")
        ))
    })?;
    let mut benches = benches::of(packages);
    // A report has the name as the compiler has it.
    let is = |bench: &Bench, name: &str| bench.name.replace('-', "_") == name.replace('-', "_");
    if !build.benches.is_empty() {
        let unknown = build
            .benches
            .iter()
            .find(|name| benches.iter().all(|bench| !is(bench, name)));
        if let Some(unknown) = unknown {
            let known: BTreeSet<&str> = benches.iter().map(|bench| bench.name.as_str()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            return Err(Refused::usage(format!(
                "there is no bench `{}`\n  expected one of: {}",
                safe_line(unknown),
                known.join(", ")
            )));
        }
        benches.retain(|bench| build.benches.iter().any(|name| is(bench, name)));
    }
    Ok(Found { metadata, benches })
}

/// Builds the benches that may be criterion's, and finds out how cargo would run them.
///
/// cargo's own messages go to standard error. The project's lock file is as it was when this
/// returns.
///
/// # Errors
///
/// If nothing at all can be built, for a reason that is not in a bench, or if somebody asked this
/// process to end.
pub fn build(build: &Build, found: &Found, interrupt: &Interrupt) -> anyhow::Result<Built> {
    let wanted: Vec<&Bench> = found
        .benches
        .iter()
        .filter(|bench| bench.harness == Harness::Criterion)
        .collect();
    let mut built = Built::default();
    if wanted.is_empty() {
        return Ok(built);
    }
    let cargo = Cargo::prepare(build, found, interrupt)?;
    for (features, benches) in by_features(&wanted, !build.features.is_empty()) {
        cargo.build(features, &benches, &mut built)?;
    }
    cargo.kept.note_changed();
    Ok(built)
}

/// Groups benches by the features that they require, those that require none first. cargo takes
/// features for one package, so benches of different packages that require some are apart. If the
/// user chose features, all are in one group.
fn by_features<'a>(benches: &[&'a Bench], is_chosen: bool) -> Vec<(&'a [String], Vec<&'a Bench>)> {
    let mut groups: BTreeMap<(&[String], &str), Vec<&Bench>> = BTreeMap::new();
    for bench in benches {
        let required = bench.required_features.as_slice();
        let group = match is_chosen || required.is_empty() {
            true => (&[][..], ""),
            false => (required, bench.package.as_str()),
        };
        groups.entry(group).or_default().push(bench);
    }
    let groups = groups.into_iter();
    groups
        .map(|((features, _), benches)| (features, benches))
        .collect()
}

/// Waits until no other process builds in a folder. No other will, until the file that this returns
/// is closed.
fn wait_for(folder: &Path, interrupt: &Interrupt) -> anyhow::Result<fs::File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", shown(folder)))?;
    let path = folder.join("lock");
    let file = fs::File::create(&path).with_context(|| shown(&path))?;
    let mut progress = Progress::new();
    let mut said = false;
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        interrupt.check()?;
        if !said {
            said = true;
            progress.note(&format!("another process builds in {}", shown(folder)));
            progress.doing("waiting for it");
        }
        progress.tick();
        thread::sleep(Duration::from_millis(100));
    }
    // A file system without locks has no other process either, as far as can be told.
    Ok(file)
}

/// cargo, prepared to build with the drop-in.
struct Cargo<'a> {
    build: &'a Build,
    interrupt: &'a Interrupt,
    /// The folder for all that is made.
    folder: PathBuf,
    /// The folder in it for what is this project's alone.
    own: PathBuf,
    target_dir: PathBuf,
    /// Settings that put the drop-in in criterion's place.
    patches: Vec<String>,
    kept: Kept,
    /// Keeps other processes out of the folder, until the lock file is as it was.
    _alone: fs::File,
}

impl<'a> Cargo<'a> {
    fn prepare(build: &'a Build, found: &Found, interrupt: &'a Interrupt) -> anyhow::Result<Self> {
        let metadata = &found.metadata;
        let target_dir = build.target_dir.as_deref();
        let target_dir = target_dir.unwrap_or(metadata.target_directory.as_std_path());
        let folder = target_dir.join(FOLDER);
        let workspace_root = metadata.workspace_root.as_std_path();
        let lockfile = workspace_root.join("Cargo.lock");
        // Several projects may have one target directory.
        let of_project = fnv(workspace_root.as_os_str().as_encoded_bytes());
        let own = folder.join(format!("project-{of_project:016x}"));
        let alone = wait_for(&folder, interrupt)?;
        let manifests = metadata.workspace_packages().into_iter();
        let manifests = manifests.map(|package| package.manifest_path.as_std_path());
        let root = workspace_root.join("Cargo.toml");
        let kept = Kept::keep(&lockfile, manifests.chain([root.as_path()]), &own)?;
        let mut cargo = Cargo {
            build,
            interrupt,
            folder,
            own,
            target_dir: target_dir.to_owned(),
            patches: Vec::new(),
            kept,
            _alone: alone,
        };
        let text = cargo
            .kept
            .prepare(|| cargo.update_lockfile(lockfile.exists()))?;
        let features = benches::criterion_features(metadata.workspace_packages());
        for (source, replaced) in replaced(&text) {
            let dropin = cargo.folder.join("dropin");
            sources::write(&dropin, &replaced, &features)?;
            let path = dropin.join(replaced.folder());
            cargo.patches.extend(patch(&source, &replaced, &path)?);
        }
        if cargo.patches.is_empty() {
            bail!(
                "no package of this workspace gets criterion from a registry or a repository, so \
                 nothing can take its place"
            );
        }
        Ok(cargo)
    }

    /// Lets cargo add what the manifests need to the lock file, or make it.
    fn update_lockfile(&self, is_there: bool) -> anyhow::Result<()> {
        let update = || {
            let mut command = self.cargo("update");
            command.args(["--workspace", "--quiet"]);
            command.stdout(Stdio::null());
            command
        };
        // Mostly nothing is missing, so nothing has to be asked of the registry.
        let mut offline = update();
        offline.arg("--offline").stderr(Stdio::null());
        if is_there && self.succeeds(&mut offline)? || self.run(&mut update())? {
            return Ok(());
        }
        bail!("cargo cannot choose dependencies; its messages say why");
    }

    /// Returns a command of cargo for the project.
    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = project::cargo();
        command.arg(subcommand).args(&self.build.network);
        if let Some(manifest) = &self.build.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        if let Some(folder) = &self.build.folder {
            command.current_dir(folder);
        }
        project::without_package(&mut command);
        command
    }

    fn run(&self, command: &mut Command) -> anyhow::Result<bool> {
        if let Some(log) = &self.build.log {
            let log = fs::OpenOptions::new().create(true).append(true).open(log);
            command.stderr(log.context("the build's log")?);
        }
        self.succeeds(command)
    }

    fn succeeds(&self, command: &mut Command) -> anyhow::Result<bool> {
        let timeout = self.build.timeout.unwrap_or(Duration::MAX);
        match self.interrupt.run(command, timeout, || {})? {
            Ended::Exited(status) => Ok(status.success()),
            Ended::TimedOut => Err(TimedOut(timeout).into()),
        }
    }

    /// Returns a command of cargo for these benches, with these features beside those that were
    /// chosen.
    fn bench(&self, subcommand: &str, features: &[String], benches: &[&Bench]) -> Command {
        let mut command = self.cargo(subcommand);
        // A name may be that of a dependency too, in another version.
        let packages: BTreeSet<&str> = benches.iter().map(|bench| bench.id.as_str()).collect();
        for package in packages {
            command.args(["--package", package]);
        }
        let names: BTreeSet<&str> = benches.iter().map(|bench| bench.name.as_str()).collect();
        for name in names {
            command.args(["--bench", name]);
        }
        command.args(&self.build.features);
        if !features.is_empty() {
            command.args(["--features", &features.join(",")]);
        }
        for setting in &self.patches {
            command.args(["--config", setting]);
        }
        command
            .arg("--target-dir")
            .arg(self.folder.join("target"))
            // What a stack says: functions and lines.
            .args(["--config", "profile.bench.debug='line-tables-only'"])
            .args(["--config", "profile.bench.strip='none'"])
            // A package that denies warnings does not build with newer compilers, unless it is a
            // dependency, whose lints cargo caps as well.
            .args(["--config", "build.rustflags=['--cap-lints=warn']"])
            .args(["--config", "profile.bench.split-debuginfo='off'"])
            .args(["--message-format", "json-render-diagnostics"]);
        command
    }

    /// Builds benches that need the same features.
    fn build(
        &self,
        features: &[String],
        benches: &[&Bench],
        built: &mut Built,
    ) -> anyhow::Result<()> {
        // As `cargo bench --no-run`, except that a bench that does not build stops no other.
        let mut command = self.bench("build", features, benches);
        command.args(["--profile", "bench", "--keep-going"]);
        let programs = self.messages(&mut command)?;
        let why = match self.build.features.is_empty() {
            true => "it does not build; if it needs a feature, choose it with `--features`",
            false => "it does not build",
        };
        let mut there = Vec::new();
        for bench in benches {
            let key = (bench.id.clone(), bench.name.clone());
            match programs.get(&key) {
                Some(program) => there.push((*bench, program)),
                None => built.unbuilt.push(Unbuilt {
                    bench: (*bench).clone(),
                    why: why.to_owned(),
                    is_built: false,
                }),
            }
        }
        if there.is_empty() {
            // Others may need other features.
            return Ok(());
        }
        self.note(features, &there, built)
    }

    /// Asks cargo how it would run programs.
    fn note(
        &self,
        features: &[String],
        there: &[(&Bench, &PathBuf)],
        built: &mut Built,
    ) -> anyhow::Result<()> {
        let notes = self.own.join("notes");
        let _ = fs::remove_dir_all(&notes);
        fs::create_dir_all(&notes).with_context(|| format!("cannot make {}", shown(&notes)))?;
        let benches: Vec<&Bench> = there.iter().map(|(bench, _)| *bench).collect();
        let mut command = self.bench("bench", features, &benches);
        let in_place = InPlace::of_this_program()?;
        command.arg("--quiet").arg("--no-fail-fast");
        command.envs(in_place.variables(&host()?, &notes));
        self.messages(&mut command)?;
        let noted = note::read(&notes).with_context(|| shown(&notes))?;
        let _ = fs::remove_dir_all(&notes);
        for (bench, path) in there {
            let note = noted.iter().find(|note| note.program == **path);
            match program(bench, path, note, &self.target_dir) {
                Ok(program) => built.programs.push(program),
                Err(why) => built.unbuilt.push(Unbuilt {
                    bench: (*bench).clone(),
                    why,
                    is_built: true,
                }),
            }
        }
        Ok(())
    }

    /// Runs cargo. Returns the programs that it built, by package and target.
    fn messages(
        &self,
        command: &mut Command,
    ) -> anyhow::Result<BTreeMap<(String, String), PathBuf>> {
        let path = self.own.join("messages.json");
        let output = fs::File::create(&path).with_context(|| shown(&path))?;
        self.run(command.stdout(output))?;
        let messages = fs::File::open(&path).with_context(|| shown(&path))?;
        let mut programs = BTreeMap::new();
        for message in Message::parse_stream(BufReader::new(messages)) {
            let Ok(Message::CompilerArtifact(artifact)) = message else {
                continue;
            };
            if let (true, Some(program)) = (artifact.target.is_bench(), artifact.executable) {
                let key = (artifact.package_id.repr, artifact.target.name);
                programs.insert(key, program.into());
            }
        }
        let _ = fs::remove_file(&path);
        Ok(programs)
    }
}

/// Returns the target that cargo builds for if nobody names one.
fn host() -> anyhow::Result<String> {
    let said = project::cargo().arg("-vV").output();
    let said = said.context("`cargo -vV` did not start")?.stdout;
    let said = String::from_utf8_lossy(&said);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`cargo -vV` names no host")?.to_owned())
}

/// Returns a program as a front takes it.
///
/// # Errors
///
/// Why it cannot be measured.
fn program(
    bench: &Bench,
    path: &Path,
    note: Option<&Note>,
    target_dir: &Path,
) -> Result<Program, String> {
    match has_mark(path) {
        Ok(true) => {}
        Ok(false) => return Err("its `main` does not use criterion".to_owned()),
        Err(err) => return Err(format!("{}: {err}", path.display())),
    }
    let (directory, variables) = match note {
        Some(note) => (note.folder.clone(), note.set()),
        // Without the note: what every program needs.
        None => {
            let variable = OsString::from("CARGO_MANIFEST_DIR");
            let dir = bench.manifest_dir.clone();
            (dir.clone(), vec![(variable, dir.into_os_string())])
        }
    };
    Ok(Program {
        bench: bench.clone(),
        program: plimsoll_front::Program {
            path: path.to_owned(),
            name: None,
            package: bench.package.clone(),
            target: bench.name.replace('-', "_"),
            manifest_dir: bench.manifest_dir.clone(),
            target_dir: Some(target_dir.to_owned()),
            directory: Some(directory),
            variables,
            runner: Runner::Bench,
        },
    })
}

/// Returns whether a program has the drop-in in it.
fn has_mark(path: &Path) -> std::io::Result<bool> {
    let parts = BufReader::new(fs::File::open(path)?).split(b' ');
    for part in parts {
        if part?.ends_with(MARK) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the packages with criterion's interface that a lock file has from elsewhere, each with
/// its source.
fn replaced(lockfile: &str) -> BTreeSet<(String, Replaced)> {
    let Ok(lockfile) = Document::parse(lockfile) else {
        return BTreeSet::new();
    };
    let packages = lockfile.get("package").and_then(Item::as_array_of_tables);
    let text = |item: Option<&Item>| Some(item?.as_str()?.to_owned());
    let found = packages.into_iter().flatten().filter_map(|package| {
        let replaced = Replaced {
            name: text(package.get("name"))?,
            version: text(package.get("version"))?,
        };
        let is_criterion = CRITERIONS.contains(&replaced.name.as_str());
        let source = text(package.get("source")).filter(|_| is_criterion)?;
        Some((source, replaced))
    });
    found.collect()
}

/// Returns cargo's settings that put a folder in a package's place.
fn patch(source: &str, replaced: &Replaced, path: &Path) -> anyhow::Result<[String; 2]> {
    let source = match CRATES_IO.contains(&source) {
        true => "crates-io".to_owned(),
        false => {
            let url = source.split_once('+').map_or(source, |(_, url)| url);
            let url = url.split(['?', '#']).next().unwrap_or(url);
            Value::from(url).to_string()
        }
    };
    // Several versions may be there, so the key is not the name alone.
    let key = format!("{}-{}", replaced.name, replaced.version).replace(['.', '+'], "_");
    let path = path.to_str().context("expected paths in UTF-8")?;
    Ok([
        format!("patch.{source}.{key}.package='{}'", replaced.name),
        format!("patch.{source}.{key}.path={}", Value::from(path)),
    ])
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_process_builds_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::listen().unwrap();
        let folder = dir.path().join("plimsoll-bench");
        let first = wait_for(&folder, &interrupt).unwrap();
        thread::scope(|scope| {
            let (done, second) = mpsc::channel();
            let (folder, interrupt) = (&folder, &interrupt);
            scope.spawn(move || {
                let got = wait_for(folder, interrupt).map(drop);
                done.send(got).unwrap();
            });
            second.recv_timeout(Duration::from_millis(300)).unwrap_err();
            drop(first);
            second.recv().unwrap().unwrap();
        });
    }

    #[test]
    fn what_a_lock_file_has_of_criterion() {
        let lockfile = "[[package]]\nname = \"criterion\"\nversion = \"0.5.1\"\n\
            source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
            [[package]]\nname = \"criterion\"\nversion = \"0.3.6\"\n\
            source = \"git+https://example.com/criterion?branch=main#1f2e\"\n\
            [[package]]\nname = \"criterion\"\nversion = \"0.9.0\"\n\
            [[package]]\nname = \"criterion-plot\"\nversion = \"0.5.0\"\n\
            source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        let mut settings = Vec::new();
        for (source, replaced) in replaced(lockfile) {
            let path = Path::new("/t/dropin").join(replaced.folder());
            settings.extend(patch(&source, &replaced, &path).unwrap());
        }
        insta::assert_snapshot!(settings.join("\n"), @r#"
        patch."https://example.com/criterion".criterion-0_3_6.package='criterion'
        patch."https://example.com/criterion".criterion-0_3_6.path="/t/dropin/criterion-0.3.6"
        patch.crates-io.criterion-0_5_1.package='criterion'
        patch.crates-io.criterion-0_5_1.path="/t/dropin/criterion-0.5.1"
        "#);
    }
}
