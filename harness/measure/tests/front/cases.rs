use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_core::Resource::{self, Descriptors, Outside, Threads};
use plimsoll_core::judge::Verdict::{self, Broken, Failed, Inconclusive, Regressed, Within};
use plimsoll_core::report::Subject;
use plimsoll_core::report::{Check, CheckOutcome, Finding, LadderEnd, Report, json};

use crate::PROGRAM;
use holders::*;
use outside::*;
use profiling::*;

mod holders;
mod outside;
mod profiling;

macro_rules! by_name {
    ($($test:ident),* $(,)?) => { &[$((stringify!($test), $test)),*] };
}

/// Every test, by its name.
pub(crate) const ALL: &[(&str, fn())] = by_name!(
    what_holds_each_kind_of_growth_is_named,
    where_holders_cannot_be_found_the_verdict_stands,
    a_leak_fails_with_its_stack_and_exact_rate,
    a_full_buffer_passes_and_is_quiet,
    what_one_cargo_runs_is_one_run,
    leaks_of_every_kind_fail_by_their_rates,
    threads_and_descriptors_are_findings,
    memory_outside_the_allocator_is_found_by_its_rate,
    mapped_files_are_found_by_their_number,
    what_cannot_be_told_is_said,
    what_keeps_nothing_is_green,
    a_workload_that_fails_says_how_and_where,
    a_subject_that_dies_fails_its_own_test,
    nothing_outlives_a_run,
    nothing_outlives_a_front_that_is_killed,
    output_is_capped_and_its_tail_shown,
    what_cannot_be_measured_is_broken,
    generated_code_ends_stacks_and_the_report_says_so,
    memory_ends_a_ladder_and_judges_it,
    a_sampled_leak_is_found_with_its_error,
    what_is_sampled_and_does_not_grow_is_within,
    what_is_too_much_for_memory_is_sampled,
    what_is_too_slow_to_profile_exactly_is_sampled,
    a_threshold_out_of_reach_is_not_waited_for,
    a_slow_beginning_is_not_the_pace,
    a_budget_that_is_too_short_by_half_is_overrun,
    threads_that_end_are_not_kept,
    threads_that_end_before_a_sample_are_told,
    a_clock_is_told_from_a_leak,
    both_unwinders_tell_when_objects_were_born,
    an_allowance_is_agreed_to_and_then_missed,
    a_baseline_of_a_scenario_that_is_gone_is_named,
    a_baseline_that_cannot_be_read_fails,
    settings_are_read_and_refused,
    a_packages_settings_go_before_its_workspaces,
    the_command_line_is_libtests,
    fail_fast_starts_nothing_more,
    isolation_off_runs_in_this_process,
    a_target_directory_that_is_read_only_says_so,
    nextest_lists_and_runs,
);

/// The default maximum of iterations in these tests. It is enough for each verdict.
const ITERATIONS: &str = "4000";
/// The default budget in these tests. Even a slow machine reaches [`ITERATIONS`] within it.
const BUDGET: &str = "60s";

/// A project of its own, with this program as its leak test.
struct Project {
    root: PathBuf,
    binary: PathBuf,
}

impl Project {
    #[track_caller]
    fn new(name: &str) -> Project {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let root = temporary.join("front").join(name);
        let _ = fs::remove_dir_all(&root);
        let deps = root.join("target/debug/deps");
        fs::create_dir_all(&deps).unwrap();
        fs::write(root.join("Cargo.lock"), "").unwrap();
        // Or it would be in the workspace around it.
        fs::write(root.join("Cargo.toml"), "[workspace]\n").unwrap();
        let binary = deps.join("leaks");
        let this = std::env::current_exe().unwrap();
        if fs::hard_link(&this, &binary).is_err() {
            fs::copy(&this, &binary).unwrap();
        }
        Project { root, binary }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env(PROGRAM, "1")
            .env("CARGO_MANIFEST_DIR", &self.root)
            .env("PLIMSOLL_BUDGET", BUDGET)
            .env("PLIMSOLL_MAX_ITERATIONS", ITERATIONS)
            .stdin(Stdio::null());
        let variables = "CI NEXTEST NEXTEST_RUN_ID RUST_TEST_THREADS NO_COLOR";
        for variable in variables.split(' ') {
            command.env_remove(variable);
        }
        command
    }

    /// The leak test with a command line, and with variables as `NAME=value NAME=value`, for
    /// `PLIMSOLL_NAME`.
    fn leaks(&self, words: &[&str], set: &str) -> Command {
        let mut command = self.command(&self.binary);
        for variable in set.split_whitespace() {
            let (name, value) = variable.split_once('=').unwrap();
            command.env(format!("PLIMSOLL_{name}"), value);
        }
        command.args(words);
        command
    }

    fn run(&self, words: &[&str], set: &str) -> Run {
        Run::of(&mut self.leaks(words, set))
    }

    fn exact(&self, scenario: &str, set: &str) -> Run {
        self.run(&["--exact", scenario], set)
    }

    #[track_caller]
    fn passes(&self, scenario: &str, set: &str, said: &str) -> Report {
        self.exact(scenario, set).passes(said);
        self.report(scenario)
    }

    #[track_caller]
    fn fails(&self, scenario: &str, set: &str, said: &str) -> Report {
        self.exact(scenario, set).fails(said);
        self.report(scenario)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file that a run of the scenario writes.
    fn file(&self, scenario: &str, name: &str) -> PathBuf {
        let reports = self.root.join("target/plimsoll/plimsoll/front");
        reports.join(scenario).join(name)
    }

    #[track_caller]
    fn read(&self, scenario: &str, name: &str) -> String {
        let path = self.file(scenario, name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    #[track_caller]
    fn report(&self, scenario: &str) -> Report {
        json::parse(self.read(scenario, "report.json").as_bytes()).unwrap()
    }
}

struct Run {
    status: Option<i32>,
    text: String,
}

impl Run {
    fn of(command: &mut Command) -> Run {
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        Run {
            status: output.status.code(),
            text: String::from_utf8(text).unwrap(),
        }
    }

    #[track_caller]
    fn passes(&self, said: &str) {
        self.ends_with(0, said);
    }

    #[track_caller]
    fn fails(&self, said: &str) {
        self.ends_with(101, said);
    }

    /// Every line of what is said must be there, wherever it is broken into lines.
    #[track_caller]
    fn ends_with(&self, status: i32, said: &str) {
        assert_eq!(self.status, Some(status), "{}", self.text);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words(&self.text);
        for line in said.lines() {
            let is_there = text.contains(&words(line));
            assert!(is_there, "no `{line}` in:\n{}", self.text);
        }
        for line in self.text.lines() {
            // A path of this machine has no place to be broken at.
            let is_of_here = line.contains("target/") || line.contains(env!("CARGO_TARGET_TMPDIR"));
            let is_ours = !is_of_here && !line.starts_with("test result:");
            let columns = line.chars().count();
            assert!(columns <= 80 || !is_ours, "over 80 columns: {line}");
        }
    }
}

fn ended(report: &Report) -> (Verdict, LadderEnd) {
    (report.verdict, report.end)
}

/// The finding of a resource.
fn of(report: &Report, resource: Resource) -> Option<&Finding> {
    let mut findings = report.findings.iter();
    findings.find(|finding| finding.subject == Subject::Resource(resource))
}

#[track_caller]
fn check<'a>(report: &'a Report, name: &str) -> &'a Check {
    let mut checks = report.checks.iter();
    checks.find(|check| check.name == name).unwrap()
}

#[track_caller]
fn only_finding(report: &Report) -> &Finding {
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    &report.findings[0]
}

fn a_leak_fails_with_its_stack_and_exact_rate() {
    let project = Project::new("leak");
    let said = "leak: keeps growing by +48 B, +1.00 objects per iteration (allowed: 0 B)
        linear over
        tests/front/program.rs
        cargo plimsoll accept leak
        target/plimsoll/plimsoll/front/leak
        1,000 iterations a second";
    let report = project.fails("leak", "", said);
    assert_eq!(report.verdict, Regressed);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let finding = only_finding(&report);
    assert!((finding.rate.objects - 1.0).abs() < 1e-9, "{finding:?}");
    assert!((finding.rate.bytes - 48.0).abs() < 1e-9, "{finding:?}");
    let leaf = &finding.frames[0].function;
    assert!(leaf.contains("program::leak"), "{leaf}");
    for file in "before.heap after.heap growth.svg baseline.toml.new".split(' ') {
        assert!(project.file("leak", file).exists(), "{file}");
    }
    let folded = project.read("leak", "growth.folded");
    assert_eq!(folded.lines().count(), 1, "{folded}");
    assert!(!folded.contains("plimsoll::"), "{folded}");
}

/// As `cargo test` runs one test target after the other.
fn what_one_cargo_runs_is_one_run() {
    let project = Project::new("one-run");
    let (cargo, first) = (project.root.join("cargo"), project.root.join("first.json"));
    let script = "#!/bin/sh\n\"$1\" --exact errs; cp \"$2\" \"$3\"; \"$1\" --exact errs\n";
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let report = project.file("errs", "report.json");
    let args = [&project.binary, &report, &first];
    Run::of(project.command(&cargo).args(args)).fails("");
    let first = json::parse(&fs::read(&first).unwrap()).unwrap().run.id;
    assert_eq!(first, project.report("errs").run.id);

    let [one, other] = [(); 2].map(|()| project.fails("errs", "", "").run.id);
    assert!(one != other && one != first && other != first);
}

fn a_full_buffer_passes_and_is_quiet() {
    let project = Project::new("bounded");
    let all = "MAX_ITERATIONS=40000";
    // It ends by itself; only where all is slow does it need more than a moment.
    let run = project.exact("bounded", all);
    run.passes("");
    assert!(!run.text.contains("iterations"), "{}", run.text);
    // Too long for one line.
    let said = "bounded: 16,384 iterations, nothing grows
        would have seen 1 object per 1,000
        or 1 MiB per iteration outside the allocator
        bounded, explained: `threads`
        gained in the last octave: 0 (at least 5)";
    let set = format!("{all} VERBOSE=1 OUTSIDE=1MiB EXPLAIN=threads");
    let report = project.passes("bounded", &set, said);
    assert_eq!(ended(&report), (Within, LadderEnd::Settled));
    assert_eq!(report.threshold.outside, Some(1 << 20));
    assert!(
        report.findings.is_empty() && report.growth.is_empty(),
        "{report:?}"
    );
    let mut checks = report.checks.iter();
    assert!(checks.all(|check| check.outcome == CheckOutcome::Passed));
    assert!(!project.file("bounded", "baseline.toml.new").exists());
    // What holds it is told if somebody asks.
    let said = "held by a VecDeque<Vec<u8>>, and that by what the scenario has set up";
    project.passes("bounded", "EXPLAIN=bounded THRESHOLD=100", said);
}

/// A slow leak beside churn, and a leak in C code.
fn leaks_of_every_kind_fail_by_their_rates() {
    let project = Project::new("kinds");
    for (scenario, at_most, objects, bytes) in [
        ("slow_leak", 40_000, 0.0009..=0.0011, 0.02..=0.04),
        ("c_leak", 4_096, 0.99..=1.01, 14_300.0..=14_400.0),
    ] {
        let set = format!("MAX_ITERATIONS={at_most}");
        let said = format!("{scenario}: keeps growing by\nlinear");
        let report = project.fails(scenario, &set, &said);
        let rate = report.findings[0].rate;
        let is_right = objects.contains(&rate.objects) && bytes.contains(&rate.bytes);
        assert!(is_right, "{rate:?}");
        let leaf = &report.findings[0].frames[0].function;
        assert!(leaf.contains(&format!("program::{scenario}")), "{leaf}");
    }
}

fn threads_and_descriptors_are_findings() {
    let project = Project::new("resources");
    for (scenario, resource, end) in [
        ("thread_leak", Threads, LadderEnd::Threads),
        ("descriptor_leak", Descriptors, LadderEnd::Descriptors),
    ] {
        let said = scenario.replace("_leak", "s per iteration");
        let report = project.fails(scenario, "MAX_ITERATIONS=40000", &said);
        assert_eq!(report.verdict, Regressed, "{report:?}");
        let finding = of(&report, resource).unwrap();
        assert!((finding.rate.objects - 1.0).abs() < 0.01, "{finding:?}");
        let ends = [end, LadderEnd::Budget];
        assert!(ends.contains(&report.end), "{scenario}: {report:?}");
    }
    // Stacks of threads that stay are not found twice.
    let report = project.report("thread_leak");
    assert!(of(&report, Outside).is_none(), "{report:?}");
    let levels = report.rungs.iter().map(|rung| rung.memory?.outside);
    let levels: Vec<u64> = levels.map(Option::unwrap).collect();
    let last = levels[levels.len() - 1];
    assert!(last > levels[0] + (64 << 20), "{levels:?}");
}

fn a_workload_that_fails_says_how_and_where() {
    let project = Project::new("fails");
    let in_setup = "panics_in_setup: failed setting up\nno server to be found";
    // The backtrace is in the output, from its beginning on.
    let traced = "the last words\nreturned an error: no answer: channel closed\n\
                  │ Stack backtrace:\n│   0: jobs::frame_0";
    let full = "no_descriptor_left: failed in iteration 23: has\nfiles open, as many as";
    for (scenario, iteration, said) in [
        ("panics", Some(700), "tests/front/program.rs\ntoo many: 700"),
        ("errs", Some(50), traced),
        ("panics_in_setup", None, in_setup),
        ("no_descriptor_left", Some(23), full),
    ] {
        let report = project.fails(scenario, "", said);
        assert_eq!(report.verdict, Failed, "{scenario}");
        assert_eq!(report.failure.unwrap().iteration, iteration, "{scenario}");
    }
    let output = project.report("panics").failure.unwrap().output;
    assert!(output.contains("iteration 700"), "{output}");

    project.fails("drops_badly", "", "SIGABRT\ndropped");
    let said = "drops_badly: failed in iteration";
    let report = project.fails("drops_badly", "TEST_PANIC=1", said);
    assert_eq!(report.verdict, Failed);
    let what = report.failure.unwrap().what;
    let how = "dropping the workload panicked at ";
    assert!(what.starts_with(how), "{what}");
    assert!(what.ends_with("not like this"), "{what}");
}

fn a_subject_that_dies_fails_its_own_test() {
    let project = Project::new("dies");
    let words = "aborts killed exits hangs forks bounded";
    let words: Vec<&str> = words.split(' ').collect();
    let said = "killed by signal 6 (SIGABRT)
        killed by signal 9 (SIGKILL)
        exited early, with status 3
        a process that the workload forked returned
        hung
        1 passed; 5 failed";
    project.run(&words, "").fails(said);
    // What a fork left goes on while it is told of.
    for scenario in &words[..4] {
        let report = project.report(scenario);
        assert_eq!(report.verdict, Failed);
        assert_eq!(report.failure.unwrap().iteration, Some(100), "{scenario}");
    }
    let set = |scenario: &str| {
        let settings = project.report(scenario).builder.into_iter();
        settings.map(|set| (set.key, set.value)).collect::<Vec<_>>()
    };
    assert_eq!(set("hangs"), [("timeout".to_owned(), "5s".to_owned())]);
    assert_eq!(set("bounded"), []);
}

fn wait<T>(find: impl Fn() -> Option<T>) -> Option<T> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let found = find();
        if found.is_some() || Instant::now() > end {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process is gone, or is a zombie that nobody has asked for.
#[track_caller]
fn are_gone(processes: [String; 2]) {
    for process in processes {
        let status = format!("/proc/{process}/status");
        let is_gone = || {
            let status = fs::read_to_string(&status).unwrap_or_default();
            (status.is_empty() || status.contains("State:\tZ")).then_some(())
        };
        let gone = wait(is_gone);
        assert!(gone.is_some(), "process {process} is still there");
    }
}

fn grandchildren_of(project: &Project) -> Option<[String; 2]> {
    let output = fs::read_to_string(project.file("grandchild", "output.txt")).ok()?;
    let line = output
        .split_inclusive('\n')
        .find_map(|line| line.strip_prefix("grandchildren "))?;
    let (one, two) = line.strip_suffix('\n')?.split_once(' ')?;
    Some([one.to_owned(), two.to_owned()])
}

fn nothing_outlives_a_run() {
    let project = Project::new("grandchild");
    project.passes("grandchild", "", "");
    are_gone(grandchildren_of(&project).expect("it printed its children"));
}

fn nothing_outlives_a_front_that_is_killed() {
    let project = Project::new("killed_front");
    let goes_on = "MAX_ITERATIONS=1000000000 THRESHOLD=100000000";
    let mut command = project.leaks(&["--exact", "grandchild"], goes_on);
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut front = command.spawn().unwrap();
    let processes = wait(|| grandchildren_of(&project));
    front.kill().unwrap();
    front.wait().unwrap();
    are_gone(processes.expect("the workload never started"));
}

fn output_is_capped_and_its_tail_shown() {
    let project = Project::new("floods");
    let report = project.fails("floods", "MAX_ITERATIONS=40000", "enough");
    assert!(report.failure.unwrap().output.contains("the last line"));
    let output = project.file("floods", "output.txt");
    let length = fs::metadata(output).unwrap().len();
    assert!(length < 32 << 20, "{length} bytes of output were kept");
}

/// With the one check that fails.
fn what_cannot_be_measured_is_broken() {
    let project = Project::new("broken");
    for (scenario, set, check) in [
        ("bounded", "MALLOC_CONF=prof_active:false", "profiling"),
        ("bounded", "MALLOC_CONF=lg_prof_sample:19", "profiling"),
        // An unwinder that finds nothing.
        ("blind", "", "canary"),
        // A dump that is cut short.
        ("cuts_dumps", "", "dump"),
    ] {
        let report = project.fails(scenario, set, "");
        assert_eq!(report.verdict, Broken, "{scenario} {set}");
        assert_eq!(failed(&report), [check], "{scenario} {set}");
    }
}

/// The checks that failed.
fn failed(report: &Report) -> Vec<&str> {
    let failed = report.checks.iter();
    let failed = failed.filter(|check| check.outcome == CheckOutcome::Failed);
    failed.map(|check| check.name.as_str()).collect()
}

fn generated_code_ends_stacks_and_the_report_says_so() {
    let project = Project::new("generated");
    let report = project.fails("generated", "UNWINDER=compare", "keeps growing by");
    let walks = report.notes.iter().find_map(|note| {
        let walks = note.strip_prefix("the stacks of ")?;
        let walks = walks.strip_suffix(" allocations end at code without unwind information");
        walks?.parse::<u64>().ok()
    });
    let iterations = report.rungs.last().map(|rung| rung.iterations);
    assert!(iterations > Some(0), "{report:?}");
    assert!(walks >= iterations, "{iterations:?}: {:?}", report.notes);
    // libgcc's ends there too.
    let compared = check(&report, "unwinder");
    assert_eq!(compared.outcome, CheckOutcome::Passed, "{compared:?}");
}

fn memory_ends_a_ladder_and_judges_it() {
    let set = "MEMORY_LIMIT=64MiB MAX_ITERATIONS=1000000000";
    let report = Project::new("memory").fails("leak", set, "keeps growing by");
    assert_eq!(ended(&report), (Regressed, LadderEnd::Memory));
}

fn an_allowance_is_agreed_to_and_then_missed() {
    let project = Project::new("allowance");
    project.fails("leak", "", "keeps growing");
    let new = project.read("leak", "baseline.toml.new");
    assert!(new.contains("test = \"plimsoll/front\""), "{new}");
    let agree = |text: &str| project.write("baselines/leak.toml", text);
    agree(&new);
    assert_eq!(project.passes("leak", "", "").verdict, Within);
    assert!(!project.file("leak", "baseline.toml.new").exists());

    agree(&new.replace("bytes = 48.0", "bytes = 47.0"));
    project.fails("leak", "", "allowed: 47 B");

    // More than is needed is a remark, and nothing else.
    let twice = new.replace("objects = 1.0", "objects = 2.5");
    agree(&twice.replace("bytes = 48.0", "bytes = 120.0"));
    let said = "more than twice what it needs: 120 B and 2.50 objects per iteration in
        found 48 B and 1.00 objects";
    assert_eq!(project.passes("leak", "", said).verdict, Within);

    agree(&new.replace("law = \"linear\"", "law = \"linear\"\nexpires = 2020-01-01"));
    project.fails("leak", "", "expired");

    project.write("baselines/bounded.toml", &new);
    project.passes("bounded", "", "no longer");
    let removed = project.read("bounded", "baseline.toml.new");
    let kept = new.split("[[allow]]").next().unwrap();
    assert_eq!(removed.trim_end(), kept.trim_end());
    project.fails("bounded", "STALE=deny", "no longer");
}

fn a_baseline_of_a_scenario_that_is_gone_is_named() {
    let project = Project::new("left_behind");
    let measured = "target = 'x'\nprofile = 'debug'\ntoolchain = 'r'\njemalloc = '5.3.1'\n\
                    sample-interval = 1\niterations = 64\n";
    for (name, text) in [
        ("gone", "[measured]\ntest = 'plimsoll/front'"),
        ("bounded", "[measured]\ntest = 'plimsoll/front'"),
        ("others", "[measured]\ntest = 'plimsoll/leaks'"),
        ("a\u{1b}[31mb", "[measured]\ntest = 'plimsoll/front'"),
        ("unknown", "[measured]"),
        ("unreadable", "x = 1\n[measured]"),
    ] {
        let text = format!("format = 1\n{text}\n{measured}");
        project.write(&format!("baselines/{name}.toml"), text);
    }
    // Nothing is measured so.
    let words = ["--ignored", "--fail-fast"];
    let said = "baselines/gone.toml belongs to no scenario of this test";
    let warned = project.run(&words, "");
    warned.passes(&format!("warning: {said}\n`git rm`"));
    let counted = warned.text.matches("to no scenario").count();
    assert_eq!(counted, 2, "{}", warned.text);
    assert!(!warned.text.contains('\u{1b}'), "{:?}", warned.text);
    let denied = project.run(&words, "STALE=deny");
    denied.fails(&format!("error: {said}"));
    // Who asks for some scenarios hears of those.
    let some = project.run(&["--skip", "bounded", "--ignored"], "");
    assert!(!some.text.contains("to no scenario"), "{}", some.text);
}

fn a_baseline_that_cannot_be_read_fails() {
    let project = Project::new("bad_baseline");
    let is = |text: &[u8]| project.write("baselines/bounded.toml", text);
    is(b"format = 1\nallowance = 3\n");
    let run = project.exact("bounded", "");
    let said = "bounded: its baseline cannot be used
        baselines/bounded.toml:2: unknown key `allowance`
        expected one of `format`, `measured`, `allow`
        nothing was measured: fix the file
        target/plimsoll/plimsoll/front/bounded/";
    run.fails(said);
    assert!(!run.text.contains("reproduce"), "{}", run.text);
    let report = project.report("bounded");
    assert_eq!(ended(&report), (Broken, LadderEnd::Failure));
    assert_eq!(
        (failed(&report), report.checks.len()),
        (vec!["baseline"], 1)
    );
    let detail = &check(&report, "baseline").detail;
    assert!(detail.contains("baselines/bounded.toml:2: "), "{detail}");
    assert!(report.rungs.is_empty() && report.findings.is_empty());
    assert!(!project.file("bounded", "baseline.toml.new").exists());

    is(b"format = 1 # \xff\n");
    project.fails("bounded", "", "bounded.toml:1: not a text file");
    // Nothing may grow then.
    project.fails("leak", "BASELINES=optional", "keeps growing");
    let said = "expected `optional` or `required`, found `no`";
    project.run(&["bounded"], "BASELINES=no").fails(said);

    let threads = "format = 1\n[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";
    is(threads.as_bytes());
    project.write("plimsoll.toml", "require-reason = true\n");
    let said = "bounded: its baseline cannot be used
        baselines/bounded.toml:2: an allowance has no reason
        expected one, as `require-reason = true` has it";
    project.fails("bounded", "", said);
    is(format!("{threads}reason = 'a pool'\n").as_bytes());
    project.passes("bounded", "", "");

    let file = project.root.join("baselines/bounded.toml");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let said = "baselines/bounded.toml: expected a file, found a folder";
    let after = project.file("bounded", "after.heap");
    assert!(after.exists());
    project.fails("bounded", "", said);
    assert!(!after.exists(), "a file of an earlier run");
}

fn settings_are_read_and_refused() {
    let project = Project::new("settings");
    let file = project.root.join("plimsoll.toml");
    // Nobody writes to it: whoever opens it waits.
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    let said = "error: plimsoll.toml: expected a file, found a pipe";
    project.exact("bounded", "").fails(said);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "threshold = 100\n").unwrap();
    assert_eq!(project.passes("bounded", "", "").threshold.iterations, 100);
    fs::remove_file(&file).unwrap();
    // It is not the budget that was too short. The scenario sleeps, so it is hardly slower on a busy
    // machine, and its ladder ends before the timeout, except where the machine itself pauses.
    let ends_before = |timeout: &&str| {
        let hasty = format!(
            "MAX_ITERATIONS=1000000000 TIMEOUT={timeout} THRESHOLD=1000000000 SPEND_BUDGET=true"
        );
        let run = project.exact("is_slow", &hasty);
        let note = format!("the timeout of {timeout} leaves less time than the budget");
        let notes = project.report("is_slow").notes;
        run.status == Some(101) && notes.iter().any(|said| said.contains(&note))
    };
    assert!(["2s", "4s", "8s", "16s"].iter().any(ends_before));
    // As long as can be said, for a budget without end.
    project.passes("bounded", "BUDGET=5000000000000000h", "");
    for name in ["PLIMSOLL_STALE", "PLIMSOLL_ISOLATION"] {
        let no_text = std::ffi::OsStr::from_bytes(b"o\xffff");
        let run = Run::of(project.leaks(&["bounded"], "").env(name, no_text));
        run.fails(&format!("{name}\nfound bytes that are not UTF-8"));
    }
    for (set, said) in [
        ("BUDGET=ten", "PLIMSOLL_BUDGET\n`10s`"),
        ("THRESHOLD=1000000000", "bounded"),
    ] {
        project.exact("bounded", set).fails(said);
    }
    let report = project.passes("bounded", "THRESHOLD=1000000000 INCONCLUSIVE=warn", "");
    assert_eq!(report.verdict, Inconclusive);
}

fn a_packages_settings_go_before_its_workspaces() {
    let project = Project::new("settings_of_two");
    project.write("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");
    // As it is left behind when a package moves into a workspace.
    project.write("crates/a/Cargo.lock", "");
    let run = |set: &str| {
        let mut command = project.leaks(&["--exact", "bounded"], set);
        Run::of(command.env("CARGO_MANIFEST_DIR", project.root.join("crates/a")))
    };
    let passes_with = |set: &str| {
        run(set).passes("");
        let report = project.report("bounded");
        (report.verdict, report.threshold.iterations)
    };
    let workspaces = "threshold = 100\ninconclusive = \"warn\"\n";
    project.write("plimsoll.toml", workspaces);
    assert_eq!(passes_with(""), (Within, 100));

    // The package's before the workspace's, and that for what the package leaves open.
    project.write("crates/a/plimsoll.toml", "threshold = 1_000_000_000\n");
    assert_eq!(passes_with(""), (Inconclusive, 1_000_000_000));
    assert_eq!(passes_with("THRESHOLD=50"), (Within, 50));

    // Paths are the workspace's, and a file of its own marks the package's baselines.
    let baseline = project.report("bounded").run.baseline;
    assert_eq!(baseline, "crates/a/baselines/bounded.toml");
    project.write("crates/a/plimsoll.toml", "\n\nbudget = 10\n");
    run("").fails("error: crates/a/plimsoll.toml:3: `budget`: unexpected value\nfound `10`");
}

fn the_command_line_is_libtests() {
    let project = Project::new("command_line");
    let names = |words: &[&str]| -> Vec<String> {
        let run = project.run(&[&["--list", "--format", "terse"], words].concat(), "");
        run.passes("");
        let test = |line: &str| line.strip_suffix(": test").map(str::to_owned);
        run.text.lines().filter_map(test).collect()
    };
    let all = names(&[]);
    assert_eq!(all[0], "leak");
    assert!(all.iter().any(|name| name == "left_out"), "{all:?}");
    assert_eq!(names(&["--ignored"]), ["left_out"]);
    let order = |seed: &str| names(&["--shuffle-seed", seed]);
    assert_eq!(order("7"), order("7"));
    assert_ne!(order("7"), order("8"));
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(order("7")), sorted(all));

    for (words, said) in [
        ("--list --format json bounded", "bounded: test"),
        ("left_out", "1 ignored\na day"),
        (
            "left_out --include-ignored --no-capture",
            "3,444 iterations",
        ),
        ("--help", "--shuffle-seed"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        project.run(&words, "").passes(said);
    }
    let json = project.run(&["--format", "json", "-Zunstable-options", "left_out"], "");
    assert!(json.text.contains("\"event\""), "{}", json.text);
    assert_eq!(json.status, Some(0));
    let said = "error: Unrecognized option: 'nonsense'";
    project.run(&["--nonsense"], "").fails(said);
}

fn fail_fast_starts_nothing_more() {
    let project = Project::new("fail_fast");
    for scenario in ["hangs", "leak"] {
        let path = format!("target/plimsoll/plimsoll/front/{scenario}/report.json");
        project.write(&path, "of an older run");
    }
    let words = ["--fail-fast", "--test-threads=1", "exits", "hangs"];
    project.run(&words, "").fails("1 failed\n1 ignored");
    assert!(!project.file("hangs", "output.txt").exists());
    // An older report must not stand for what was selected.
    assert!(!project.file("hangs", "report.json").exists());
    assert!(project.file("leak", "report.json").exists());
    let selected = project.report("exits").run.selected;
    assert_eq!(selected, Some(vec!["exits".to_owned(), "hangs".to_owned()]));
}

fn isolation_off_runs_in_this_process() {
    let project = Project::new("isolation");
    let mut in_ci = project.leaks(&["--exact", "bounded"], "ISOLATION=off");
    Run::of(in_ci.env("CI", "true")).fails("measures nothing\nCI is set");
    let off = "ISOLATION=off MAX_ITERATIONS=50";
    project.exact("bounded", off).passes("50 iterations ran");
    project.run(&[], off).fails("hint: add `-- --exact NAME`");
}

fn a_target_directory_that_is_read_only_says_so() {
    // What nobody may write to, root may; a file where a folder should be stops
    // both.
    let project = Project::new("read_only");
    project.write("target/plimsoll", "");
    project.exact("bounded", "").fails("target/plimsoll");
}

fn nextest_lists_and_runs() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let installed = Command::new(&cargo).args(["nextest", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED nextest_lists_and_runs: cargo-nextest is not installed");
        return;
    }
    let mut command = Command::new(&cargo);
    command
        // With the features of the whole workspace, as `cargo test` has built it.
        .args(["nextest", "run", "--workspace", "--test", "front"])
        .args(["--no-fail-fast", "-E"])
        .arg("test(=bounded) + test(=leak) + test(=exits)")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env(PROGRAM, "1")
        .env("PLIMSOLL_BUDGET", "1s")
        // Else a nextest that runs this test gives its own to the inner one.
        .env_remove("NEXTEST_RUN_ID")
        .env_remove("NEXTEST")
        .stdin(Stdio::null());
    let run = Run::of(&mut command);
    // It ran in this repository's target directory, where only the reports
    // of its own scenarios belong.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let _ = fs::remove_dir_all(target.join("plimsoll/plimsoll/front"));
    assert_eq!(run.status, Some(100), "{}", run.text);
    for said in ["3 tests run: 1 passed, 2 failed", "leak: keeps growing by"] {
        assert!(run.text.contains(said), "{}", run.text);
    }
}
