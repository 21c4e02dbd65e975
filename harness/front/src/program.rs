//! A program that can be measured, and its scenarios.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use plimsoll_core::layout;
use plimsoll_core::report::Runner;
use plimsoll_core::settings::Settings;

/// A program whose scenarios are measured.
#[derive(Clone, Debug)]
pub struct Program {
    /// What is started as the subject.
    pub path: PathBuf,
    /// The name that the subject is started by, if that is not its path.
    pub name: Option<OsString>,
    /// The package that it belongs to, as cargo names it.
    pub package: String,
    /// Its target in that package, as rustc names the crate.
    pub target: String,
    /// The folder of the package's manifest.
    pub manifest_dir: PathBuf,
    /// cargo's target directory. Without it, it is the one that the path is in.
    pub target_dir: Option<PathBuf>,
    /// The folder in which subjects start. Without it, it is that of the front.
    pub directory: Option<PathBuf>,
    /// Variables of subjects, beside those that the front has.
    pub variables: Vec<(OsString, OsString)>,
    /// The command that built it.
    pub runner: Runner,
}

impl Program {
    /// Returns the program of this process: a test that is its own subject.
    ///
    /// `manifest_dir` is where the package was when the test was built.
    pub fn of_this_process(package: &str, target: &str, manifest_dir: &str) -> Program {
        // cargo and nextest set this variable to where the package is now. The program may have
        // been built on another machine.
        let manifest_dir =
            std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(manifest_dir));
        Program {
            path: PathBuf::from("/proc/self/exe"),
            name: std::env::args_os().next(),
            package: package.to_owned(),
            target: target.to_owned(),
            manifest_dir: PathBuf::from(manifest_dir),
            target_dir: None,
            directory: None,
            variables: Vec::new(),
            runner: Runner::Test,
        }
    }

    /// Returns the program of this process: a test of benchmarks. cargo says which package it is of;
    /// its target is in the name of its file.
    ///
    /// The benchmarks may be files of another package, and need the files beside them. Then the
    /// manifest names its folder, as `cargo plimsoll init` writes it:
    ///
    /// ```toml
    /// [package.metadata.plimsoll]
    /// directory = ".."
    /// ```
    pub fn of_benchmarks() -> Program {
        let path = std::env::current_exe().unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let target = match stem.rsplit_once('-') {
            Some((name, hash)) if hash.len() == 16 => name,
            _ => &stem,
        };
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| target.to_owned());
        let mut program = Program::of_this_process(&package, target, ".");
        let manifest = std::fs::read_to_string(program.manifest_dir.join("Cargo.toml"));
        if let Some(directory) = layout::directory_of_benches(&manifest.unwrap_or_default()) {
            let directory = program.manifest_dir.join(directory);
            let directory = directory.canonicalize().unwrap_or(directory);
            let variable = OsString::from("CARGO_MANIFEST_DIR");
            program.variables = vec![(variable, directory.clone().into())];
            program.directory = Some(directory);
        }
        program
    }

    /// Returns the command that starts the program.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if let Some(name) = &self.name {
            std::os::unix::process::CommandExt::arg0(&mut command, name);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A scenario of a program.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The name, by which files are called and the program knows the scenario.
    pub name: String,
    /// What people call it, if that is not its name.
    pub title: Option<String>,
    /// The settings that the program makes for it.
    pub settings: Settings,
    /// Why it is ignored, if it is.
    pub ignored: Option<String>,
}
