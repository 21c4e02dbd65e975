//! The command lines of `bench` and `run`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_desk::parse::duration;

use crate::args::ProjectArgs;

const BENCH_HELP: &str = "\
Examples:
  cargo plimsoll bench
  cargo plimsoll bench -p my-crate --bench parse small
  cargo plimsoll bench --exact parse::small --budget 60s

An iteration is one call of the routine that is given to `Bencher::iter`. The
build is cargo's own, with the profile `bench`, into target/plimsoll-bench.
Cargo.toml does not change, and Cargo.lock is as before afterwards.
Variables are those of `cargo test --test leaks`: docs/settings.md.

Exit status:
  0    done: nothing grows past what the baselines allow. Warnings name benches
       that were left out, and benchmarks that were measured too little
  1    a benchmark grows
  2    invalid arguments
  3    no benchmark can be measured: there is none, or it does not build; or one
       failed
  4    a measurement is broken
  5    plimsoll's own failure
  130  stopped by Ctrl-C
Of several, the greatest of 1, 3 and 4.";

const RUN_HELP: &str = "\
Examples:
  plimsoll run target/release/deps/parse-1f2e3d4c5b6a7980
  plimsoll run ./server --list

Exit status:
  0    done: nothing grows past what the baselines allow
  1    a scenario grows
  2    invalid arguments
  3    a scenario failed, or there is none
  4    a measurement is broken
  5    plimsoll's own failure: the program speaks no protocol that is known";

/// Measure the criterion benchmarks of a project for leaks
///
/// Builds the benchmarks with a crate in criterion's place in which every benchmark is a scenario,
/// and measures each of them. The project does not change.
#[derive(Debug, Args)]
#[command(after_help = BENCH_HELP)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) scenarios: ScenarioArgs,

    /// Package whose benches are measured; by default those that cargo would take
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,

    /// All packages of the workspace
    #[arg(long, visible_alias = "all", conflicts_with = "package")]
    workspace: bool,

    /// Package to leave out
    #[arg(long, value_name = "NAME", requires = "workspace")]
    exclude: Vec<String>,

    /// Bench target; by default all
    #[arg(long, value_name = "NAME")]
    bench: Vec<String>,

    /// Features to build with; by default the package's own, and those that a bench requires
    #[arg(long, short = 'F', value_name = "FEATURES")]
    features: Vec<String>,

    /// Build with all features
    #[arg(long)]
    all_features: bool,

    /// Build without the default features
    #[arg(long)]
    no_default_features: bool,

    /// Do not use the network
    #[arg(long)]
    offline: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

/// Measure the scenarios of a program that was built with plimsoll
///
/// The program is a leak test, a benchmark that `cargo plimsoll bench` has built, or any other
/// program that speaks plimsoll's protocol (docs/protocol.md).
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// Program to start for each scenario
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: PathBuf,

    #[command(flatten)]
    pub(crate) scenarios: ScenarioArgs,

    /// Package that the files of the run are called after
    #[arg(long, value_name = "NAME", default_value = "programs")]
    pub(crate) package: String,

    /// Target that the files of the run are called after; by default the program's name
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    /// Target directory for the files of the run; by default the one that the program is in
    #[arg(long, value_name = "DIR")]
    pub(crate) target_dir: Option<PathBuf>,

    /// Take the scenarios for benchmarks: nobody wrote them to be measured
    #[arg(long, hide = true)]
    pub(crate) benchmarks: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

/// Which scenarios are measured, and how.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// Parts of names; by default all scenarios are measured
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,

    /// Take filters as whole names
    #[arg(long)]
    pub(crate) exact: bool,

    /// Leave out names with this part
    #[arg(long, value_name = "FILTER")]
    pub(crate) skip: Vec<String>,

    /// Print the names of scenarios, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// Measure ignored scenarios as well
    #[arg(long)]
    pub(crate) include_ignored: bool,

    /// Scenarios measured at a time; by default one for every core
    #[arg(long, short, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Time for the ladder of one scenario; by default 10s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) budget: Option<Duration>,

    /// Leak to find: one object in this many iterations; by default 1000, or what the budget allows
    #[arg(long, value_name = "ITERATIONS")]
    pub(crate) threshold: Option<NonZeroU64>,

    /// Do not capture what scenarios print, and say what each passing one could have found
    #[arg(long, visible_alias = "nocapture")]
    pub(crate) no_capture: bool,

    /// Start no other scenario after one has failed
    #[arg(long)]
    pub(crate) fail_fast: bool,
}

/// Returns the flags that are set.
#[cfg(target_os = "linux")]
fn set(flags: &[(bool, &str)]) -> Vec<String> {
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, flag)| (*flag).to_owned()).collect()
}

#[cfg(target_os = "linux")]
impl ScenarioArgs {
    /// Returns the command line of libtest that means the same.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = set(&[
            (self.exact, "--exact"),
            (self.list, "--list"),
            (self.include_ignored, "--include-ignored"),
            (self.no_capture, "--no-capture"),
            (self.fail_fast, "--fail-fast"),
        ]);
        words.extend(self.skip.iter().map(|skip| format!("--skip={skip}")));
        words.extend(self.jobs.map(|jobs| format!("--test-threads={jobs}")));
        words.push("--".to_owned());
        words.extend(self.filters.iter().cloned());
        words
    }
}

#[cfg(target_os = "linux")]
impl BenchArgs {
    /// Returns what to build.
    pub(crate) fn build(&self) -> plimsoll_dropin::Build {
        let mut features: Vec<String> = Vec::new();
        for chosen in &self.features {
            features.extend(["--features".to_owned(), chosen.clone()]);
        }
        features.extend(set(&[
            (self.all_features, "--all-features"),
            (self.no_default_features, "--no-default-features"),
        ]));
        plimsoll_dropin::Build {
            manifest: self.project.manifest_path.clone(),
            packages: self.package.clone(),
            workspace: self.workspace,
            exclude: self.exclude.clone(),
            benches: self.bench.clone(),
            features,
            network: set(&[(self.offline, "--offline")]),
            ..plimsoll_dropin::Build::default()
        }
    }
}
