//! Measures the scenarios of programs, and says what came of all of them.

use std::time::Duration;

use anyhow::Context;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Runner;
use plimsoll_core::settings::Settings;
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, safe};
use plimsoll_desk::progress::Progress;
use plimsoll_desk::project::{self, shown};
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_dropin::{Bench, Harness, Unbuilt};
use plimsoll_front::{Program, Tests};

use super::args::ScenarioArgs;
use super::{BenchArgs, RunArgs};

/// Builds the benchmarks of a project, and measures them.
pub(crate) fn bench(args: &BenchArgs, out: &mut Out) -> anyhow::Result<()> {
    let build = args.build();
    let found = plimsoll_dropin::find(&build)?;
    if found.benches.is_empty() {
        return Err(Refused::with_status(
            ExitStatus::NoVerdict,
            "there are no benches here\n  \
             expected `[[bench]]` with `harness = false` in Cargo.toml, and criterion\n  \
             hint: `cargo plimsoll init` sets up leak tests",
        ));
    }
    let interrupt = Interrupt::listen()?;
    let built = plimsoll_dropin::build(&build, &found, &interrupt)?;
    let left_out = left_out(&found.benches, &built.unbuilt);
    for line in &left_out {
        out.warning(line);
    }
    if built.programs.is_empty() {
        return Err(Refused::with_status(
            ExitStatus::NoVerdict,
            "no benchmark can be measured; the reasons are above",
        ));
    }
    end_when_asked(interrupt);
    let mut all = Totals::default();
    for built in &built.programs {
        if !args.scenarios.list {
            let file = project::shown(&built.bench.file);
            out.print(&format!("\n{}, {file}\n", built.bench.package))?;
        }
        match tests(built.program.clone(), &args.scenarios) {
            Ok(tests) => all.measure(tests.as_benchmarks(), &args.scenarios, out),
            // The other benches can be measured all the same.
            Err(err) => {
                out.error(&format!("{err:#}"));
                all.unlisted += 1;
            }
        }
    }
    all.end(&args.scenarios, built.programs.len(), out)
}

/// Measures the scenarios of a program.
pub(crate) fn run(args: &RunArgs, out: &mut Out) -> anyhow::Result<()> {
    let path = &args.program;
    if !path.is_file() {
        return Err(Refused::usage(format!(
            "{}: expected a program",
            shown(path)
        )));
    }
    let path = std::path::absolute(path).context("the current folder")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let target = args.target.clone().unwrap_or_else(|| name.into_owned());
    let program = Program {
        name: None,
        package: args.package.clone(),
        target,
        manifest_dir: project::folder(args.project.manifest_path.as_deref())?,
        target_dir: args.target_dir.clone(),
        directory: None,
        variables: Vec::new(),
        runner: Runner::Other,
        path,
    };
    let mut tests = tests(program, &args.scenarios)?;
    if args.benchmarks {
        tests = tests.as_benchmarks();
    }
    let mut all = Totals::default();
    all.measure(tests, &args.scenarios, out);
    all.end(&args.scenarios, 1, out)
}

/// Asks a program for its scenarios.
fn tests(program: Program, args: &ScenarioArgs) -> anyhow::Result<Tests> {
    let mut progress = Progress::late();
    progress.doing(&format!("{}: listing its scenarios", program.target));
    let scenarios = plimsoll_front::scenarios(&program);
    progress.clear();
    let shown = shown(&program.path);
    let scenarios = scenarios.map_err(|why| {
        Refused::with_status(ExitStatus::OwnFailure, format!("{shown}: {}", safe(&why)))
    })?;
    let set = Settings {
        budget: args.budget,
        threshold: args.threshold.map(std::num::NonZero::get),
        ..Settings::default()
    };
    Ok(Tests::new(program, scenarios).with_settings(set))
}

/// Ends this process at Ctrl-C. The guardian of a run ends what the run has started.
fn end_when_asked(interrupt: Interrupt) {
    std::thread::spawn(move || {
        while interrupt.check().is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let status: u8 = ExitStatus::Interrupted.code();
        std::process::exit(status.into());
    });
}

/// Returns a line for each bench that is not measured, with the reason and what to do.
fn left_out(benches: &[Bench], unbuilt: &[Unbuilt]) -> Vec<String> {
    let others = benches.iter().filter_map(|bench| {
        let why = match bench.harness {
            Harness::Criterion => return None,
            Harness::Divan => {
                "divan runs it, whose interface is its own: write a scenario that calls the same \
                 function"
            }
            Harness::Libtest => {
                "the compiler's harness runs it: write a scenario that calls the same function, or \
                 use criterion with `harness = false`"
            }
            Harness::Other => {
                "neither criterion nor divan runs it: write a scenario that calls the same function"
            }
        };
        Some(format!("{bench} is left out: {why}"))
    });
    let unbuilt = unbuilt.iter();
    let unbuilt = unbuilt.map(|Unbuilt { bench, why, .. }| format!("{bench} is left out: {why}"));
    others.chain(unbuilt).collect()
}

/// What came of all programs.
#[derive(Debug, Default)]
struct Totals {
    verdicts: Vec<Verdict>,
    /// Programs that could not list their benchmarks.
    unlisted: usize,
    /// Whether a front says so. It may have measured nothing, or settings may be strict.
    has_failed: bool,
}

impl Totals {
    fn measure(&mut self, tests: Tests, args: &ScenarioArgs, out: &Out) {
        // In the process of a test, that is: this tool has no workload.
        let in_process = |_| {
            out.error("PLIMSOLL_ISOLATION=off is for tests that `cargo test` runs");
            1
        };
        let ran = tests.run(args.words(), in_process);
        self.verdicts.extend(ran.verdicts.values());
        self.has_failed |= ran.status != 0;
    }

    /// Says what came of all, if there are several programs, and returns it as an error if a
    /// scenario failed.
    fn end(&self, args: &ScenarioArgs, programs: usize, out: &mut Out) -> anyhow::Result<()> {
        if programs > 1 && !args.list {
            out.print(&format!("\n{}\n", self.summary()))?;
        }
        let unlisted = (self.unlisted > 0).then_some(Verdict::Failed);
        match self.verdicts.iter().copied().chain(unlisted).max() {
            // Whether that fails, the settings say.
            Some(Verdict::Inconclusive) if !self.has_failed => Ok(()),
            Some(verdict) if verdict > Verdict::Improved => Err(Refused::quiet(verdict.into())),
            _ if self.has_failed => Err(Refused::quiet(ExitStatus::OwnFailure)),
            _ => Ok(()),
        }
    }

    fn summary(&self) -> String {
        let count = |verdict| {
            self.verdicts
                .iter()
                .filter(|found| **found == verdict)
                .count()
        };
        let mut parts = Vec::new();
        for verdict in [
            Verdict::Regressed,
            Verdict::Broken,
            Verdict::Failed,
            Verdict::Inconclusive,
            Verdict::Improved,
            Verdict::Within,
        ] {
            match count(verdict) {
                0 => {}
                number => parts.push(format!("{number} {verdict:?}").to_lowercase()),
            }
        }
        let summary = format!("{} benchmarks: {}", self.verdicts.len(), parts.join(", "));
        match self.unlisted {
            0 => summary,
            1 => format!("{summary}; 1 program lists none, as said above"),
            several => format!("{summary}; {several} programs list none, as said above"),
        }
    }
}
