//! Runs the scenarios of a program as tests: what libtest-mimic does, and what it does not.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use libtest_mimic::{Completion, Failed, Trial};
use plimsoll_core::baseline::{Baseline, Date};
use plimsoll_core::fold::Normalization;
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;
use plimsoll_core::report::{Finding, Report, Run, text};
use plimsoll_core::settings::{Layer, Settings, Stale};
use plimsoll_core::text::escape;

use crate::agreed::Agreed;
use crate::arguments::Arguments;
use crate::climb::{Attempt, Route, climb};
use crate::coarse::Coarse;
use crate::guardian::Guardian;
use crate::holders::Search;
use crate::isolation::InProcess;
use crate::place::Place;
use crate::plan::Plan;
use crate::policy::{Enough, Terms};
use crate::print::{FAILED, complain, say};
use crate::process::Subject;
use crate::program::{Program, Scenario};
use crate::settings::Effective;
use crate::{agreed, arguments, coarse, isolation, observe, order, outcome, settings, sys};

/// The scenarios of a program, and how they are measured.
#[derive(Debug)]
pub struct Tests {
    program: Program,
    scenarios: Vec<Scenario>,
    /// Settings before all others.
    set: Settings,
    are_benchmarks: bool,
}

impl Tests {
    /// Returns the scenarios of a program as tests.
    pub fn new(program: Program, scenarios: Vec<Scenario>) -> Tests {
        Tests {
            program,
            scenarios,
            set: Settings::default(),
            are_benchmarks: false,
        }
    }

    /// Makes settings that have precedence over all others.
    pub fn with_settings(self, set: Settings) -> Tests {
        Tests { set, ..self }
    }

    /// Takes the scenarios for benchmarks. Nobody wrote them for this, there may be hundreds, and an
    /// iteration may take seconds: the threshold may become as coarse as one object in every
    /// iteration, a ladder on which nothing grows takes a third of the budget, and an inconclusive
    /// verdict only warns.
    pub fn as_benchmarks(self) -> Tests {
        Tests {
            are_benchmarks: true,
            ..self
        }
    }

    /// Measures the scenarios as libtest's command line `words` asks.
    ///
    /// If `PLIMSOLL_ISOLATION=off` asks for one scenario in the process of the test itself,
    /// `in_process` runs it.
    pub fn run(
        self,
        words: impl IntoIterator<Item = String>,
        in_process: impl FnOnce(InProcess) -> u8,
    ) -> Ran {
        let ended = |status| Ran {
            status,
            verdicts: BTreeMap::new(),
        };
        match Front::prepare(self, words) {
            Ok(Some(front)) => Arc::new(front).run(in_process),
            Ok(None) => {
                say(arguments::HELP);
                ended(0)
            }
            Err(message) => {
                complain(&format!("error: {message}"));
                ended(FAILED)
            }
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// libtest's exit status.
    pub status: u8,
    /// The verdict of each scenario that was measured, by name.
    pub verdicts: BTreeMap<String, Verdict>,
}

/// Breaks a line of more than 80 characters at `; `. The part that begins with `would`, the
/// detection limit, always starts a new line.
fn within_80_columns(line: &str) -> String {
    if line.chars().count() <= 80 {
        return line.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    let fits =
        |line: &str, part: &str| line.chars().count() + part.trim_end().chars().count() <= 80;
    for part in line.split_inclusive("; ") {
        match lines.last_mut() {
            Some(last) if !part.starts_with("would") && fits(last, part) => last.push_str(part),
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part.to_owned()),
        }
    }
    let ends = lines.iter().map(|line| line.trim_end_matches([';', ' ']));
    ends.map(broken_at_a_space).collect::<Vec<_>>().join("\n")
}

/// Breaks a line of more than 80 characters at a space.
fn broken_at_a_space(line: &str) -> String {
    let end = line.char_indices().nth(80).map(|(at, _)| at);
    match end.and_then(|end| line[..end].rfind(' ')) {
        Some(at) => format!("{}\n    {}", &line[..at], &line[at + 1..]),
        None => line.to_owned(),
    }
}

/// Returns whether a variable has the value `unusual`. Unset and empty count as usual.
///
/// # Errors
///
/// A message, if the variable has another value.
fn is_unusual(name: &str, unusual: &str, usual: &[&str]) -> Result<bool, String> {
    match std::env::var(name).unwrap_or_default().as_str() {
        value if value == unusual => Ok(true),
        value if value.is_empty() || usual.contains(&value) => Ok(false),
        other => Err(format!(
            "{name}: expected `{unusual}` or `{}`, found `{other}`",
            usual[0]
        )),
    }
}

/// Returns how long the search for holders may read, or `None` if it is switched off.
fn time_to_find_holders() -> Result<Option<Duration>, String> {
    const USUAL: Duration = Duration::from_secs(5);
    match std::env::var("PLIMSOLL_HOLDERS")
        .unwrap_or_default()
        .as_str()
    {
        "off" => Ok(None),
        "" | "on" => Ok(Some(USUAL)),
        set => plimsoll_core::settings::time(set).map(Some).ok_or_else(|| {
            format!("PLIMSOLL_HOLDERS: expected `on`, `off` or a time such as `10s`, found `{set}`")
        }),
    }
}

/// The scenarios, the settings, and what all trials share.
struct Front {
    program: Program,
    place: Place,
    scenarios: Vec<Scenario>,
    arguments: Arguments,
    effective: BTreeMap<String, Effective>,
    /// What a stale baseline does, for the test as a whole.
    stale: Stale,
    isolated: bool,
    are_benchmarks: bool,
    /// Those that a filter selects.
    selected: Vec<String>,
    /// Whether the report says which were selected. Under nextest each process runs one scenario
    /// and does not know of the others.
    says_selected: bool,
    normalization: Normalization,
    guardian: OnceLock<Guardian>,
    /// A part of a name: stacks whose names contain it are explained.
    explain: Option<String>,
    captures: bool,
    color: bool,
    /// Whether a baseline that cannot be used counts as an empty one.
    baselines_optional: bool,
    /// How long the search for who holds what grows may read. `None` if nobody wants to know.
    to_find_holders: Option<Duration>,
    failed: AtomicBool,
    outcomes: Mutex<Outcomes>,
}

/// What came of the scenarios so far.
#[derive(Default)]
struct Outcomes {
    /// Messages of passing scenarios, by scenario.
    said: BTreeMap<String, String>,
    /// Scenarios that passed with a coarser threshold than the default.
    coarse: Vec<Coarse>,
    verdicts: BTreeMap<String, Verdict>,
}

impl Front {
    /// Returns `None` if the command line asks for help.
    fn prepare(
        tests: Tests,
        words: impl IntoIterator<Item = String>,
    ) -> Result<Option<Front>, String> {
        let Tests {
            program, scenarios, ..
        } = tests;
        let variable = |name: &str| std::env::var(name).ok();
        let mut arguments = Arguments::parse(words, variable)?;
        if arguments.help {
            return Ok(None);
        }
        layout::check_scenario_names(scenarios.iter().map(|scenario| scenario.name.as_str()))?;
        let place = Place::find(&program);
        let files = settings::read_files(&place)?;
        let environment = Layer::from_variables(std::env::vars_os());
        let environment = environment.map_err(|error| error.to_string())?.settings;
        let memory = observe::memory_limit();
        let mut effective = BTreeMap::new();
        let mut selected = Vec::new();
        for scenario in &scenarios {
            let builder = &scenario.settings;
            let set = tests.set.or(&environment).or(builder).or(&files);
            let settings = Effective::of(&set, memory)
                .map_err(|message| format!("{}: {message}", scenario.name))?;
            let settings = match tests.are_benchmarks {
                true => settings.of_benchmark(&set),
                false => settings,
            };
            effective.insert(scenario.name.clone(), settings.with_builder(builder));
            if arguments.selects(&scenario.name, scenario.title.as_ref()) {
                selected.push(scenario.name.clone());
            }
        }
        let is_on = |name: &str| variable(name).is_some_and(|value| !["", "0"].contains(&&*value));
        let mimic = &mut arguments.mimic;
        mimic.show_output |= is_on("PLIMSOLL_VERBOSE");
        Ok(Some(Front {
            isolated: is_unusual("PLIMSOLL_ISOLATION", "off", &["on", "process"])?,
            baselines_optional: is_unusual("PLIMSOLL_BASELINES", "optional", &["required"])?,
            to_find_holders: time_to_find_holders()?,
            color: match mimic.color {
                Some(libtest_mimic::ColorSetting::Always) => true,
                Some(libtest_mimic::ColorSetting::Never) => false,
                _ => std::io::stdout().is_terminal() && !is_on("NO_COLOR"),
            },
            normalization: Normalization {
                workspace_root: Some(place.workspace.display().to_string()),
                own: Some((
                    place.relative(&program.manifest_dir.join("src")),
                    program.package.replace('-', "_"),
                )),
            },
            program,
            are_benchmarks: tests.are_benchmarks,
            says_selected: selected.len() < scenarios.len() && !is_on("NEXTEST"),
            scenarios,
            selected,
            place,
            guardian: OnceLock::new(),
            explain: variable("PLIMSOLL_EXPLAIN").filter(|part| !part.is_empty()),
            // nextest passes `--nocapture` to every test. Captured output is in the report as
            // well, and it is shown if a test fails.
            captures: !mimic.nocapture || is_on("NEXTEST"),
            arguments,
            effective,
            stale: environment.or(&files).stale.unwrap_or_default(),
            failed: AtomicBool::new(false),
            outcomes: Mutex::default(),
        }))
    }

    fn run(self: &Arc<Self>, in_process: impl FnOnce(InProcess) -> u8) -> Ran {
        let mut mimic = self.arguments.mimic.clone();
        if self.isolated && !mimic.list {
            let chosen = isolation::chosen(&self.selected, &self.effective);
            return Ran {
                status: chosen.map_or_else(|status| status, in_process),
                verdicts: BTreeMap::new(),
            };
        }
        if !mimic.list {
            // What does not come to its turn must not leave a report of an older run.
            let folders = self.selected.iter().map(|name| self.place.scenario(name));
            folders.for_each(|folder| outcome::forget_report(&folder));
        }
        let mut trials: Vec<Trial> = self.scenarios.iter().map(|one| self.trial(one)).collect();
        // libtest-mimic takes only one filter. It can skip any number of tests by name; its
        // count of tests that were filtered out is then right as well.
        let names = trials.iter().map(|trial| trial.name().to_owned());
        mimic.skip = names.filter(|name| !self.selected.contains(name)).collect();
        mimic.exact = !mimic.skip.is_empty();
        if let Some(seed) = self.arguments.shuffle {
            let seed = seed.unwrap_or_else(order::clock_seed);
            if !mimic.list && mimic.format != Some(libtest_mimic::FormatSetting::Json) {
                say(&format!(
                    "note: shuffled; `--shuffle-seed {seed}` repeats this order"
                ));
            }
            order::shuffle(&mut trials, seed);
        }
        let mut conclusion = libtest_mimic::run(&mimic, trials);
        let mut outcomes = self.outcomes();
        // After libtest-mimic has printed its lines, in the order of the list.
        for scenario in &self.scenarios {
            if let Some(line) = outcomes.said.get(&scenario.name) {
                complain(line);
            }
        }
        if let Some(said) = coarse::said(&mut outcomes.coarse) {
            complain(&said);
        }
        if self.arguments.selects_all()
            && self.reports_orphaned_baselines()
            && self.stale == Stale::Deny
        {
            conclusion.num_failed += 1;
        }
        Ran {
            status: if conclusion.has_failed() { FAILED } else { 0 },
            verdicts: std::mem::take(&mut outcomes.verdicts),
        }
    }

    fn outcomes(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints which baselines belong to scenarios that this test no longer has. Returns whether
    /// there are any.
    fn reports_orphaned_baselines(&self) -> bool {
        let orphaned = agreed::orphaned(&self.place, &self.run_of(""));
        for file in &orphaned {
            let level = match self.stale {
                Stale::Warn => "warning",
                Stale::Deny => "error",
            };
            complain(&format!(
                "{level}: {} belongs to no scenario of this test any more\n  \
                 hint: rename the file to the scenario's new name, or `git rm` it",
                escape::terminal(file)
            ));
        }
        !orphaned.is_empty()
    }

    fn trial(self: &Arc<Self>, scenario: &Scenario) -> Trial {
        let name = scenario.name.clone();
        let front = Arc::clone(self);
        // libtest-mimic shows no reason if its own flag ignores a test.
        let mimic = &self.arguments.mimic;
        let is_asked_for = mimic.ignored || mimic.include_ignored;
        let ignored = scenario.ignored.clone().filter(|_| !is_asked_for);
        let flagged = scenario.ignored.is_some() && (is_asked_for || mimic.list);
        Trial::ignorable_test(name.clone(), move || {
            if let Some(reason) = ignored {
                return Ok(Completion::ignored_with(reason));
            }
            if front.arguments.fail_fast && front.failed.load(Ordering::Relaxed) {
                let why = "not started: another test has failed";
                return Ok(Completion::ignored_with(why));
            }
            let outcome = front.measure(&name, &front.effective[&name]);
            if outcome.is_err() {
                front.failed.store(true, Ordering::Relaxed);
            }
            outcome.map(|()| Completion::Completed)
        })
        .with_ignored_flag(flagged)
    }

    /// Measures one scenario and writes its report. Returns an error if the test fails.
    fn measure(&self, name: &str, settings: &Effective) -> Result<(), Failed> {
        let folder = self.place.scenario(name);
        let problem = |what: String| Failed::from(format!("{name}: plimsoll: {what}"));
        let unwritable = |error: io::Error| problem(format!("{}: {error}", folder.display()));
        let _lock = outcome::clear(&folder).map_err(unwritable)?;
        let run = self.run_of(name);
        let (baseline, baseline_text) = match self.agreed(name, settings) {
            Ok(read) => read,
            Err(detail) => {
                let report = outcome::without_baseline(run, name, settings, detail);
                outcome::write(&report, &folder, None).map_err(problem)?;
                return self.conclude(&report, settings, "", "");
            }
        };
        let mut route = Route {
            scenario: name,
            folder: &folder,
            terms: Terms {
                settings,
                plan: settings.plan.unwrap_or(Plan::EXACT),
            },
            baseline: &baseline,
            normalization: &self.normalization,
            place: &self.place,
            today: Date::from_unix_seconds(order::now().as_secs()),
        };
        let mut why = Vec::new();
        let mut enough: Option<Enough> = None;
        let (climb, output) = loop {
            let mut subject = Subject::start(
                &self.program,
                &folder,
                self.captures,
                (route.terms.plan, settings.unwinder),
                self.guardian()?,
            )
            .map_err(|error| problem(format!("the subject cannot be started: {error}")))?;
            match climb(&mut subject, &route) {
                Attempt::Climbed(mut climb) => {
                    let failed_at_the_end = subject.end();
                    if climb.failure.is_none() && climb.broken.is_none() {
                        climb.failure = failed_at_the_end;
                    }
                    // Keep the suggestion that needs less time.
                    if let Some(before) = enough
                        && climb.enough.is_none_or(|now| before.time < now.time)
                    {
                        climb.enough = enough;
                    }
                    break (*climb, subject.output_tail());
                }
                Attempt::Again(again) => {
                    route.terms.plan = again.plan;
                    why.extend(again.why);
                    enough = enough.or(again.enough);
                }
            }
            drop(subject);
            outcome::forget_rungs(&folder).map_err(unwritable)?;
        };
        outcome::keep_dumps(&climb, &route).map_err(unwritable)?;
        let part = self.explain.as_deref();
        let mut judged = outcome::report(climb, &route, run, name, why, part);
        let search = Search {
            program: &self.program,
            guardian: self.guardian()?,
            route: &route,
        };
        if let Some(time) = self.to_find_holders {
            let explained = judged.explained.iter_mut().map(|(finding, _)| finding);
            search.add_to(&mut judged.report, explained, time);
        }
        let explained = outcome::explain(&judged, part);
        let report = judged.report;
        self.outcomes().coarse.extend(Coarse::of(&report));
        outcome::write(&report, &folder, baseline_text.as_deref()).map_err(problem)?;
        let verdict = (name.to_owned(), report.verdict);
        self.outcomes().verdicts.extend([verdict]);
        self.conclude(&report, settings, &output, &explained)
    }

    /// Returns the run that a scenario's report belongs to.
    fn run_of(&self, name: &str) -> Run {
        let mut scenarios = self.scenarios.iter();
        let title = scenarios
            .find(|one| one.name == name)
            .and_then(|one| one.title.clone());
        Run {
            scenarios: self.scenarios.iter().map(|one| one.name.clone()).collect(),
            selected: self.says_selected.then(|| self.selected.clone()),
            benchmark: self
                .are_benchmarks
                .then(|| title.unwrap_or_else(|| name.to_owned())),
            ..self.place.run(name)
        }
    }

    fn agreed(&self, name: &str, settings: &Effective) -> Result<Agreed, String> {
        match agreed::read(&self.place, name, settings) {
            // An empty baseline allows no growth, which is stricter than any other baseline.
            Err(_) if self.baselines_optional => Ok((Baseline::default(), None)),
            agreed => agreed,
        }
    }

    fn guardian(&self) -> Result<&Guardian, Failed> {
        if let Some(guardian) = self.guardian.get() {
            return Ok(guardian);
        }
        let guardian = Guardian::start()
            .map_err(|error| Failed::from(format!("plimsoll: no guardian: {error}")))?;
        // Two trials may get here at once. The second guardian is then dropped, and ends at
        // once.
        Ok(self.guardian.get_or_init(|| guardian))
    }

    fn conclude(
        &self,
        report: &Report,
        settings: &Effective,
        output: &str,
        explained: &str,
    ) -> Result<(), Failed> {
        let style = text::Style::of(sys::columns(), self.color);
        if !report.verdict.passes(settings.stale, settings.inconclusive) {
            let page = text::render(report, &style);
            return Err(format!("\n{}{explained}", page.trim_end()).into());
        }
        let is_remarkable = report.findings.iter().any(Finding::is_remarkable);
        let quiet = report.verdict == Verdict::Within && !is_remarkable;
        let mimic = &self.arguments.mimic;
        let mut said = String::new();
        if !quiet {
            // A remark on a passing scenario is printed even if nobody asks for output.
            said = text::render(report, &style).trim_end().to_owned();
        } else if mimic.nocapture || mimic.show_output {
            said = within_80_columns(text::one_line(report).trim_end());
        }
        if mimic.show_output && !output.is_empty() {
            said = format!("{said}\n---- {} printed ----\n{output}", report.scenario);
        }
        said += explained.trim_end();
        if !said.is_empty() {
            self.outcomes().said.insert(report.scenario.clone(), said);
        }
        Ok(())
    }
}
