use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{CheckOutcome, LadderEnd, Report, Subject, json};

use crate::PROGRAM;

mod profiling;

/// Every test, by its name.
pub(crate) const ALL: &[(&str, fn())] = &[
    (
        "a_leak_fails_with_its_stack_and_exact_rate",
        a_leak_fails_with_its_stack_and_exact_rate,
    ),
    (
        "a_full_buffer_passes_and_is_quiet",
        a_full_buffer_passes_and_is_quiet,
    ),
    (
        "what_one_cargo_runs_is_one_run",
        what_one_cargo_runs_is_one_run,
    ),
    (
        "a_slow_leak_under_churn_fails",
        a_slow_leak_under_churn_fails,
    ),
    (
        "a_vec_only_pushed_to_fails_by_its_bytes",
        a_vec_only_pushed_to_fails_by_its_bytes,
    ),
    (
        "c_code_and_other_threads_are_seen",
        c_code_and_other_threads_are_seen,
    ),
    (
        "threads_and_descriptors_are_findings",
        threads_and_descriptors_are_findings,
    ),
    (
        "a_workload_that_fails_says_how_and_where",
        a_workload_that_fails_says_how_and_where,
    ),
    (
        "a_subject_that_dies_fails_its_own_test",
        a_subject_that_dies_fails_its_own_test,
    ),
    ("nothing_outlives_a_run", nothing_outlives_a_run),
    (
        "nothing_outlives_a_front_that_is_killed",
        nothing_outlives_a_front_that_is_killed,
    ),
    (
        "output_is_capped_and_its_tail_shown",
        output_is_capped_and_its_tail_shown,
    ),
    (
        "profiling_that_is_off_is_broken",
        profiling_that_is_off_is_broken,
    ),
    (
        "an_unwinder_that_finds_nothing_is_broken",
        an_unwinder_that_finds_nothing_is_broken,
    ),
    (
        "generated_code_ends_stacks_and_the_report_says_so",
        generated_code_ends_stacks_and_the_report_says_so,
    ),
    (
        "the_report_names_the_unwinder",
        the_report_names_the_unwinder,
    ),
    ("a_dump_cut_short_is_broken", a_dump_cut_short_is_broken),
    (
        "memory_outside_the_profile_is_broken",
        memory_outside_the_profile_is_broken,
    ),
    (
        "threads_that_are_joined_leave_nothing",
        threads_that_are_joined_leave_nothing,
    ),
    (
        "memory_ends_a_ladder_and_judges_it",
        memory_ends_a_ladder_and_judges_it,
    ),
    (
        "a_sampled_leak_is_found_with_its_error",
        profiling::a_sampled_leak_is_found_with_its_error,
    ),
    (
        "what_is_sampled_and_does_not_grow_is_within",
        profiling::what_is_sampled_and_does_not_grow_is_within,
    ),
    (
        "what_is_too_much_for_memory_is_sampled",
        profiling::what_is_too_much_for_memory_is_sampled,
    ),
    (
        "an_interval_that_was_asked_for_stays",
        profiling::an_interval_that_was_asked_for_stays,
    ),
    (
        "what_is_too_slow_to_profile_exactly_is_sampled",
        profiling::what_is_too_slow_to_profile_exactly_is_sampled,
    ),
    (
        "a_threshold_out_of_reach_is_not_waited_for",
        profiling::a_threshold_out_of_reach_is_not_waited_for,
    ),
    (
        "a_budget_that_is_too_short_by_half_is_overrun",
        profiling::a_budget_that_is_too_short_by_half_is_overrun,
    ),
    (
        "threads_that_end_are_not_kept",
        profiling::threads_that_end_are_not_kept,
    ),
    (
        "threads_that_end_before_a_sample_are_told",
        profiling::threads_that_end_before_a_sample_are_told,
    ),
    (
        "a_clock_is_told_from_a_leak",
        profiling::a_clock_is_told_from_a_leak,
    ),
    (
        "both_unwinders_tell_when_objects_were_born",
        profiling::both_unwinders_tell_when_objects_were_born,
    ),
    (
        "an_allowance_is_agreed_to_and_then_missed",
        an_allowance_is_agreed_to_and_then_missed,
    ),
    (
        "a_baseline_of_a_scenario_that_is_gone_is_named",
        a_baseline_of_a_scenario_that_is_gone_is_named,
    ),
    (
        "a_baseline_that_cannot_be_read_fails",
        a_baseline_that_cannot_be_read_fails,
    ),
    (
        "settings_are_read_and_refused",
        settings_are_read_and_refused,
    ),
    (
        "a_packages_settings_go_before_its_workspaces",
        a_packages_settings_go_before_its_workspaces,
    ),
    ("the_command_line_is_libtests", the_command_line_is_libtests),
    (
        "fail_fast_starts_nothing_more",
        fail_fast_starts_nothing_more,
    ),
    (
        "isolation_off_runs_in_this_process",
        isolation_off_runs_in_this_process,
    ),
    (
        "files_of_an_earlier_run_are_gone",
        files_of_an_earlier_run_are_gone,
    ),
    (
        "a_target_directory_that_is_read_only_says_so",
        a_target_directory_that_is_read_only_says_so,
    ),
    ("nextest_lists_and_runs", nextest_lists_and_runs),
];

/// A project of its own, with this program as its leak test.
struct Project {
    root: PathBuf,
    binary: PathBuf,
}

impl Project {
    #[track_caller]
    fn new(name: &str) -> Project {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("front")
            .join(name);
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

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(words)
            .env(PROGRAM, "1")
            .env("CARGO_MANIFEST_DIR", &self.root)
            .env("PLIMSOLL_BUDGET", "1s")
            .env_remove("CI")
            .env_remove("NEXTEST")
            .env_remove("NEXTEST_RUN_ID")
            .env_remove("RUST_TEST_THREADS")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Run {
        Run::of(self.command(words).output().unwrap())
    }

    fn run_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Run {
        Run::of(
            self.command(words)
                .envs(variables.iter().copied())
                .output()
                .unwrap(),
        )
    }

    fn folder(&self, scenario: &str) -> PathBuf {
        self.root
            .join("target/plimsoll/plimsoll/front")
            .join(scenario)
    }

    #[track_caller]
    fn report(&self, scenario: &str) -> Report {
        let path = self.folder(scenario).join("report.json");
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        json::parse(&bytes).unwrap()
    }
}

struct Run {
    passed: bool,
    status: Option<i32>,
    text: String,
}

impl Run {
    fn of(output: Output) -> Run {
        let mut text = String::from_utf8(output.stdout).unwrap();
        text.push_str(&String::from_utf8(output.stderr).unwrap());
        Run {
            passed: output.status.success(),
            status: output.status.code(),
            text,
        }
    }

    #[track_caller]
    fn fails_with(&self, parts: &[&str]) {
        assert_eq!(self.status, Some(101), "{}", self.text);
        self.has(parts);
    }

    #[track_caller]
    fn has(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text.contains(part), "no `{part}` in:\n{}", self.text);
        }
        for line in self.text.lines() {
            // A path of this machine has no place to be broken at.
            let is_of_here = line.contains("target/") || line.contains(env!("CARGO_TARGET_TMPDIR"));
            let is_ours = !is_of_here && !line.starts_with("test result:");
            assert!(
                line.chars().count() <= 80 || !is_ours,
                "over 80 columns: {line}"
            );
        }
    }
}

fn a_leak_fails_with_its_stack_and_exact_rate() {
    let project = Project::new("leak");
    let run = project.run(&["--exact", "leak"]);
    run.fails_with(&[
        "leak: 1 stack keeps growing",
        "+1.00 objects per iteration, linear",
        "+48 B",
        "tests/front/program.rs",
        "cargo plimsoll accept leak",
        "target/plimsoll/plimsoll/front/leak",
        "1,000 iterations a second",
    ]);
    let report = project.report("leak");
    assert_eq!(report.verdict, Verdict::Regressed);
    let [finding] = report.findings.as_slice() else {
        panic!("{:?}", report.findings)
    };
    assert!((finding.rate.objects - 1.0).abs() < 1e-9, "{finding:?}");
    assert!((finding.rate.bytes - 48.0).abs() < 1e-9, "{finding:?}");
    assert!(
        finding.frames[0].function.contains("program::leak"),
        "{finding:?}"
    );
    for file in [
        "before.heap",
        "after.heap",
        "growth.folded",
        "growth.svg",
        "baseline.toml.new",
    ] {
        assert!(project.folder("leak").join(file).exists(), "{file}");
    }
    let folded = fs::read_to_string(project.folder("leak").join("growth.folded")).unwrap();
    assert_eq!(folded.lines().count(), 1, "{folded}");
    assert!(!folded.contains("plimsoll::"), "{folded}");
}

/// As `cargo test` runs one test target after the other.
fn what_one_cargo_runs_is_one_run() {
    use std::os::unix::fs::PermissionsExt;

    let project = Project::new("one-run");
    let (cargo, first) = (project.root.join("cargo"), project.root.join("first.json"));
    let script =
        "#!/bin/sh\n\"$1\" --exact bounded && cp \"$2\" \"$3\" && \"$1\" --exact bounded\n";
    fs::write(&cargo, script).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&cargo);
    command
        .arg(&project.binary)
        .arg(project.folder("bounded").join("report.json"))
        .arg(&first)
        .stdin(Stdio::null());
    for (name, value) in project.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let run = Run::of(command.output().unwrap());
    assert!(run.passed, "{}", run.text);
    let first = json::parse(&fs::read(&first).unwrap()).unwrap().run.id;
    assert_eq!(first, project.report("bounded").run.id);

    assert!(project.run(&["--exact", "bounded"]).passed);
    let one = project.report("bounded").run.id;
    assert!(project.run(&["--exact", "bounded"]).passed);
    let other = project.report("bounded").run.id;
    assert!(one != other && one != first && other != first);
}

fn a_full_buffer_passes_and_is_quiet() {
    let project = Project::new("bounded");
    let run = project.run(&["--exact", "bounded"]);
    assert!(run.passed, "{}", run.text);
    assert!(!run.text.contains("iterations"), "{}", run.text);
    let loud = project.run_with(&["--exact", "bounded"], &[("PLIMSOLL_VERBOSE", "1")]);
    let line = "bounded: 16,384 iterations, nothing grows\n  would have seen 1 object per 1,000";
    assert!(loud.passed && loud.text.contains(line), "{}", loud.text);
    let explained = project.run_with(&["--exact", "bounded"], &[("PLIMSOLL_EXPLAIN", "threads")]);
    let lines = [
        "bounded, explained: `threads`",
        "gained in the last octave: 0 (at least 5)",
    ];
    let has_all = lines.iter().all(|line| explained.text.contains(line));
    assert!(explained.passed && has_all, "{}", explained.text);
    let report = project.report("bounded");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Within, LadderEnd::Settled)
    );
    assert!(
        report.findings.is_empty() && report.growth.is_empty(),
        "{report:?}"
    );
    assert!(
        report
            .checks
            .iter()
            .all(|check| check.outcome == CheckOutcome::Passed)
    );
    assert!(!project.folder("bounded").join("baseline.toml.new").exists());
}

fn a_slow_leak_under_churn_fails() {
    let project = Project::new("slow_leak");
    project
        .run(&["--exact", "slow_leak"])
        .fails_with(&["slow_leak: 1 stack keeps growing"]);
    let report = project.report("slow_leak");
    let rate = report.findings[0].rate;
    assert!((rate.objects - 0.001).abs() < 1e-4, "{rate:?}");
}

fn a_vec_only_pushed_to_fails_by_its_bytes() {
    let project = Project::new("pushed");
    project
        .run(&["--exact", "pushed"])
        .fails_with(&["pushed: 1 stack keeps growing", "stepped"]);
    let report = project.report("pushed");
    let finding = &report.findings[0];
    assert!((8.0..=16.0).contains(&finding.rate.bytes), "{finding:?}");
}

fn c_code_and_other_threads_are_seen() {
    let project = Project::new("c_and_threads");
    project.run(&["c_leak", "thread_side_leak"]).fails_with(&[
        "c_leak: 1 stack keeps growing",
        "thread_side_leak: 1 stack keeps growing",
        "+1.00 objects per iteration",
    ]);
    let name = |scenario: &str| {
        project.report(scenario).findings[0].frames[0]
            .function
            .clone()
    };
    assert!(
        name("c_leak").contains("program::c_leak"),
        "{}",
        name("c_leak")
    );
    assert!(name("thread_side_leak").contains("program::thread_side_leak"));
}

fn threads_and_descriptors_are_findings() {
    let project = Project::new("resources");
    project
        .run(&["thread_leak", "descriptor_leak", "--test-threads=1"])
        .fails_with(&["threads per iteration", "descriptors per iteration"]);
    for (scenario, subject, end) in [
        ("thread_leak", Subject::Threads, LadderEnd::Threads),
        (
            "descriptor_leak",
            Subject::Descriptors,
            LadderEnd::Descriptors,
        ),
    ] {
        let report = project.report(scenario);
        assert_eq!(report.verdict, Verdict::Regressed, "{report:?}");
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.subject == subject);
        let rate = finding.map(|finding| finding.rate.objects);
        assert!(
            rate.is_some_and(|rate| (rate - 1.0).abs() < 0.01),
            "{report:?}"
        );
        assert!(
            report.end == end || report.end == LadderEnd::Budget,
            "{scenario}: {:?}",
            report.end
        );
    }
}

fn a_workload_that_fails_says_how_and_where() {
    let project = Project::new("fails");
    let run = project.run(&["panics", "errs"]);
    run.fails_with(&[
        "tests/front/program.rs",
        "too many: 700",
        "returned an error: \"no more\"",
        "no server to be found",
        "panics_in_setup: failed setting up",
    ]);
    let report = project.report("panics");
    let failure = report.failure.as_ref().unwrap();
    assert_eq!(
        (report.verdict, failure.iteration),
        (Verdict::Failed, Some(700))
    );
    assert!(failure.output.contains("iteration 700"), "{failure:?}");
    assert_eq!(project.report("errs").failure.unwrap().iteration, Some(50));
    let run = project.run(&["drops_badly", "last_words"]);
    run.fails_with(&["SIGABRT", "dropped", "the last words"]);
    let run = project.run(&["no_descriptor_left"]);
    run.fails_with(&[
        "no_descriptor_left: failed in iteration 23: has ",
        "files open, as many as",
    ]);
    let run = project.run_with(&["drops_badly"], &[("DROP_PANICS", "1")]);
    run.fails_with(&["drops_badly: failed in iteration "]);
    let failure = project.report("drops_badly").failure.unwrap();
    let what = failure.what.replace('\n', " ");
    assert!(
        what.starts_with("dropping the workload panicked at ") && what.ends_with("not like this"),
        "{what}"
    );
    assert_eq!(project.report("drops_badly").verdict, Verdict::Failed);
    assert_eq!(
        project.report("panics_in_setup").failure.unwrap().iteration,
        None
    );
}

fn a_subject_that_dies_fails_its_own_test() {
    let project = Project::new("dies");
    let words = [
        "aborts",
        "segfaults",
        "killed",
        "exits",
        "hangs",
        "forks",
        "bounded",
    ];
    project.run(&words).fails_with(&[
        "killed by signal 6 (SIGABRT)",
        "killed by signal 11 (SIGSEGV)",
        "killed by signal 9 (SIGKILL)",
        "exited early, with status 3",
        "a process that the workload forked returned",
        "hung",
        "1 passed; 6 failed",
    ]);
    // What a fork left goes on while it is told of.
    for scenario in &words[..5] {
        let report = project.report(scenario);
        assert_eq!(report.verdict, Verdict::Failed);
        assert_eq!(report.failure.unwrap().iteration, Some(100), "{scenario}");
    }
    let set = |scenario: &str| {
        let settings = project.report(scenario).builder.into_iter();
        settings.map(|set| (set.key, set.value)).collect::<Vec<_>>()
    };
    assert_eq!(set("hangs"), [("timeout".to_owned(), "5s".to_owned())]);
    assert_eq!(set("bounded"), []);
}

/// Waits until a process is gone, or is a zombie that nobody has asked for.
fn is_gone(process: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        if status.is_empty() || status.contains("State:\tZ") {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn grandchildren_of(output: &str) -> Option<[String; 2]> {
    let line = output
        .lines()
        .find_map(|line| line.strip_prefix("grandchildren "))?;
    let (one, two) = line.split_once(' ')?;
    Some([one.to_owned(), two.to_owned()])
}

fn nothing_outlives_a_run() {
    let project = Project::new("grandchild");
    let run = project.run(&["--exact", "grandchild"]);
    assert!(run.passed, "{}", run.text);
    let output = fs::read_to_string(project.folder("grandchild").join("output.txt")).unwrap();
    for process in grandchildren_of(&output).expect("it printed its children") {
        assert!(is_gone(&process), "process {process} is still there");
    }
}

fn nothing_outlives_a_front_that_is_killed() {
    let project = Project::new("killed_front");
    let mut front = project
        .command(&["--exact", "grandchild"])
        .env("PLIMSOLL_BUDGET", "60s")
        .env("PLIMSOLL_THRESHOLD", "100000000")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = project.folder("grandchild").join("output.txt");
    let end = Instant::now() + Duration::from_secs(20);
    let processes = loop {
        let text = fs::read_to_string(&output).unwrap_or_default();
        if let (Some(processes), true) = (grandchildren_of(&text), text.ends_with('\n')) {
            break processes;
        }
        assert!(Instant::now() < end, "the workload never started");
        std::thread::sleep(Duration::from_millis(10));
    };
    front.kill().unwrap();
    front.wait().unwrap();
    for process in processes {
        assert!(is_gone(&process), "process {process} is still there");
    }
}

fn output_is_capped_and_its_tail_shown() {
    let project = Project::new("floods");
    let run = project.run_with(&["--exact", "floods"], &[("PLIMSOLL_BUDGET", "30s")]);
    assert_eq!(run.status, Some(101), "{}", run.text);
    assert!(run.text.contains("enough"), "{}", run.text);
    let report = project.report("floods");
    assert!(report.failure.unwrap().output.contains("the last line"));
    let length = fs::metadata(project.folder("floods").join("output.txt"))
        .unwrap()
        .len();
    assert!(length < 32 << 20, "{length} bytes of output were kept");
}

#[track_caller]
fn is_broken_by(project: &Project, scenario: &str, variables: &[(&str, &str)], check: &str) {
    let run = project.run_with(&["--exact", scenario], variables);
    assert_eq!(run.status, Some(101), "{}", run.text);
    let report = project.report(scenario);
    assert_eq!(report.verdict, Verdict::Broken, "{}", run.text);
    let failed: Vec<&str> = report
        .checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Failed)
        .map(|check| check.name.as_str())
        .collect();
    assert_eq!(failed, [check], "{}", run.text);
}

fn profiling_that_is_off_is_broken() {
    let project = Project::new("profiling_off");
    for options in ["prof:false", "prof_active:false", "lg_prof_sample:19"] {
        let variables = [("PLIMSOLL_MALLOC_CONF", options)];
        is_broken_by(&project, "bounded", &variables, "profiling");
    }
}

fn an_unwinder_that_finds_nothing_is_broken() {
    is_broken_by(&Project::new("blind"), "blind", &[], "canary");
}

fn generated_code_ends_stacks_and_the_report_says_so() {
    let project = Project::new("generated");
    let run = project.run(&["--exact", "generated"]);
    run.fails_with(&["generated: 1 stack keeps growing"]);
    let report = project.report("generated");
    let note = report
        .notes
        .iter()
        .find_map(|note| note.strip_prefix("the stacks of "))
        .and_then(|note| note.strip_suffix(" allocations end at code without unwind information"));
    let walks: u64 = note
        .and_then(|walks| walks.parse().ok())
        .unwrap_or_else(|| panic!("{:?}", report.notes));
    let iterations = report.rungs.last().map_or(0, |rung| rung.iterations);
    assert!(
        iterations > 0 && walks >= iterations,
        "{walks} of {iterations}"
    );
    // libgcc's ends there too.
    let variables = [("PLIMSOLL_UNWINDER", "compare")];
    project.run_with(&["--exact", "generated"], &variables);
    let report = project.report("generated");
    let compared = report.checks.iter().find(|check| check.name == "unwinder");
    let outcome = compared.map(|check| check.outcome);
    assert_eq!(outcome, Some(CheckOutcome::Passed), "{compared:?}");
}

fn the_report_names_the_unwinder() {
    let project = Project::new("unwinder");
    for (variables, name) in [
        (&[][..], "plimsoll"),
        (&[("PLIMSOLL_UNWINDER", "libgcc")][..], "libgcc"),
    ] {
        let run = project.run_with(&["--exact", "leak"], variables);
        run.fails_with(&["leak: 1 stack keeps growing"]);
        let text = fs::read_to_string(project.folder("leak").join("report.json")).unwrap();
        let unwinder = format!("\"unwinder\": \"{name}\"");
        assert!(text.contains(&unwinder), "no {unwinder} in {text}");
        let report = project.report("leak");
        assert!(report.notes.is_empty(), "{:?}", report.notes);
    }
}

fn a_dump_cut_short_is_broken() {
    is_broken_by(&Project::new("cuts_dumps"), "cuts_dumps", &[], "dump");
}

fn memory_outside_the_profile_is_broken() {
    is_broken_by(&Project::new("outside"), "outside", &[], "coverage");
}

fn threads_that_are_joined_leave_nothing() {
    let project = Project::new("joins");
    let run = project.run_with(&["--exact", "joins"], &[("PLIMSOLL_BUDGET", "5s")]);
    assert!(run.passed, "{}", run.text);
}

fn memory_ends_a_ladder_and_judges_it() {
    let project = Project::new("memory");
    let variables = [
        ("PLIMSOLL_MEMORY_LIMIT", "64MiB"),
        ("PLIMSOLL_BUDGET", "20s"),
    ];
    project
        .run_with(&["--exact", "leak"], &variables)
        .fails_with(&["1 stack keeps growing"]);
    let report = project.report("leak");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Regressed, LadderEnd::Memory)
    );
}

fn an_allowance_is_agreed_to_and_then_missed() {
    let project = Project::new("allowance");
    project
        .run(&["--exact", "leak"])
        .fails_with(&["keeps growing"]);
    let new = fs::read_to_string(project.folder("leak").join("baseline.toml.new")).unwrap();
    let baselines = project.root.join("baselines");
    fs::create_dir_all(&baselines).unwrap();
    fs::write(baselines.join("leak.toml"), &new).unwrap();

    let run = project.run(&["--exact", "leak"]);
    assert!(run.passed, "{}", run.text);
    let report = project.report("leak");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Within, LadderEnd::Settled)
    );
    assert!(new.contains("test = \"plimsoll/front\""), "{new}");

    assert!(!project.folder("leak").join("baseline.toml.new").exists());

    let called = new.replacen("    \"", "    \"another_caller\",\n    \"", 1);
    fs::write(baselines.join("leak.toml"), called).unwrap();
    let run = project.run(&["--exact", "leak"]);
    assert!(
        run.passed && run.text.contains("now stands under another caller"),
        "{}",
        run.text
    );
    let moved = fs::read_to_string(project.folder("leak").join("baseline.toml.new")).unwrap();
    assert_eq!(moved, new);

    fs::write(
        baselines.join("leak.toml"),
        new.replace("bytes = 48.0", "bytes = 47.0"),
    )
    .unwrap();
    project
        .run(&["--exact", "leak"])
        .fails_with(&["allowed 47"]);

    // More than is needed is a remark, and nothing else.
    let twice = new.replace("objects = 1.0", "objects = 2.5");
    fs::write(
        baselines.join("leak.toml"),
        twice.replace("bytes = 48.0", "bytes = 120.0"),
    )
    .unwrap();
    let run = project.run(&["--exact", "leak"]);
    let said = run.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "more than twice what it needs: 120 B and 2.50 objects per iteration in",
        "found 48 B and 1.00 objects",
    ] {
        assert!(run.passed && said.contains(part), "{}", run.text);
    }
    assert_eq!(project.report("leak").verdict, Verdict::Within);

    fs::write(baselines.join("bounded.toml"), &new).unwrap();
    let run = project.run(&["--exact", "bounded"]);
    assert!(run.passed && run.text.contains("no longer"), "{}", run.text);
    let removed = fs::read_to_string(project.folder("bounded").join("baseline.toml.new")).unwrap();
    assert_eq!(
        removed.trim_end(),
        new.split("[[allow]]").next().unwrap().trim_end()
    );
    let denied = project.run_with(&["--exact", "bounded"], &[("PLIMSOLL_STALE", "deny")]);
    denied.fails_with(&["no longer"]);

    let expired = new.replace("law = \"linear\"", "law = \"linear\"\nexpires = 2020-01-01");
    fs::write(baselines.join("leak.toml"), expired).unwrap();
    project.run(&["--exact", "leak"]).fails_with(&["expired"]);
}

fn a_baseline_of_a_scenario_that_is_gone_is_named() {
    let project = Project::new("left_behind");
    let baselines = project.root.join("baselines");
    fs::create_dir_all(&baselines).unwrap();
    let of_test = |test: &str| {
        format!(
            "format = 1\n[measured]\n{test}target = 'x'\nprofile = 'debug'\ntoolchain = 'r'\n\
             jemalloc = '5.3.1'\nsample-interval = 1\niterations = 64\n"
        )
    };
    for (name, text) in [
        ("gone", of_test("test = 'plimsoll/front'\n")),
        ("bounded", of_test("test = 'plimsoll/front'\n")),
        ("others", of_test("test = 'plimsoll/leaks'\n")),
        ("a\u{1b}[31mb", of_test("test = 'plimsoll/front'\n")),
        ("unknown", of_test("")),
        ("unreadable", "format = 1\nx = 1\n".to_owned()),
    ] {
        fs::write(baselines.join(format!("{name}.toml")), text).unwrap();
    }
    // Nothing is measured so.
    let words = ["--ignored", "--fail-fast"];
    let said =
        |level: &str| format!("{level}: baselines/gone.toml belongs to no scenario of this test");
    let warned = project.run(&words);
    warned.has(&[&said("warning"), "`git rm`"]);
    assert!(warned.passed, "{}", warned.text);
    let counted = warned.text.matches("to no scenario").count();
    assert_eq!(counted, 2, "{}", warned.text);
    assert!(!warned.text.contains('\u{1b}'), "{:?}", warned.text);
    let denied = project.run_with(&words, &[("PLIMSOLL_STALE", "deny")]);
    denied.fails_with(&[&said("error")]);
    // Who asks for some scenarios hears of those.
    let some = project.run(&["--skip", "bounded", "--ignored"]);
    assert!(!some.text.contains("to no scenario"), "{}", some.text);
}

fn a_baseline_that_cannot_be_read_fails() {
    let project = Project::new("bad_baseline");
    fs::create_dir_all(project.root.join("baselines")).unwrap();
    let file = project.root.join("baselines/bounded.toml");
    fs::write(&file, "format = 99\n").unwrap();
    // Where a line is broken depends on where this repository is.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let says = |run: &Run, parts: &[&str]| {
        run.fails_with(&[]);
        for part in parts {
            assert!(
                flat(&run.text).contains(part),
                "no `{part}` in:\n{}",
                run.text
            );
        }
    };
    let run = project.run(&["--exact", "bounded"]);
    says(
        &run,
        &[
            "bounded: its baseline cannot be used",
            "baselines/bounded.toml:1: written by a newer plimsoll",
            "expected format 1 or older, found 99",
            "hint: upgrade, or remove the file",
            "target/plimsoll/plimsoll/front/bounded/",
        ],
    );
    fs::write(&file, "format = 1\nallowance = 3\n").unwrap();
    let run = project.run(&["--exact", "bounded"]);
    says(
        &run,
        &[
            "baselines/bounded.toml:2: unknown key `allowance`",
            "expected one of `format`, `measured`, `allow`",
            "nothing was measured: fix the file",
        ],
    );
    assert!(!run.text.contains("reproduce"), "{}", run.text);
    let report = project.report("bounded");
    assert_eq!(
        (report.verdict, report.end),
        (Verdict::Broken, LadderEnd::Failure)
    );
    let [check] = report.checks.as_slice() else {
        panic!("{:?}", report.checks)
    };
    assert_eq!(
        (check.name.as_str(), check.outcome),
        ("baseline", CheckOutcome::Failed)
    );
    assert!(
        check.detail.contains("baselines/bounded.toml:2: "),
        "{check:?}"
    );
    assert!(report.rungs.is_empty() && report.findings.is_empty());
    assert!(!project.folder("bounded").join("baseline.toml.new").exists());

    fs::write(&file, b"format = 1 # \xff\n").unwrap();
    says(
        &project.run(&["--exact", "bounded"]),
        &["bounded.toml:1: not a text file"],
    );
    // Nothing may grow then, and nothing does.
    let optional = [("PLIMSOLL_BASELINES", "optional")];
    let run = project.run_with(&["--exact", "bounded"], &optional);
    assert!(run.passed, "{}", run.text);
    let run = project.run_with(&["--exact", "leak"], &optional);
    run.fails_with(&["keeps growing"]);
    let run = project.run_with(&["bounded"], &[("PLIMSOLL_BASELINES", "no")]);
    run.fails_with(&["expected `optional` or `required`, found `no`"]);

    let threads = "format = 1\n[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";
    fs::write(&file, threads).unwrap();
    assert!(project.run(&["--exact", "bounded"]).passed);
    fs::write(
        project.root.join("plimsoll.toml"),
        "require-reason = true\n",
    )
    .unwrap();
    let run = project.run(&["--exact", "bounded"]);
    says(
        &run,
        &[
            "bounded: its baseline cannot be used",
            "baselines/bounded.toml:2: an allowance has no reason",
            "expected one, as `require-reason = true` has it",
        ],
    );
    fs::write(&file, format!("{threads}reason = 'a pool'\n")).unwrap();
    assert!(project.run(&["--exact", "bounded"]).passed);

    // What was accepted in another profile, at another sample interval, holds here.
    let measured = "[measured]\ntarget = 'x'\nprofile = 'release'\ntoolchain = 'x'\n\
        jemalloc = '5.3.0'\nsample-interval = 512\niterations = 64\n";
    let allow = "stack = ['a', 'b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n";
    let text = format!("format = 1\n{measured}[[allow]]\nreason = 'x'\n{allow}");
    fs::write(&file, text).unwrap();
    let run = project.run(&["--exact", "bounded"]);
    assert!(run.passed, "{}", run.text);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    says(
        &project.run(&["--exact", "bounded"]),
        &["baselines/bounded.toml: expected a file, found a folder"],
    );
    fs::remove_dir(&file).unwrap();
    pipe(&file);
    says(
        &project.run(&["--exact", "bounded"]),
        &["baselines/bounded.toml: expected a file, found a pipe"],
    );
    assert_eq!(project.report("bounded").verdict, Verdict::Broken);
}

/// What nobody writes to: whoever opens it waits.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn settings_are_read_and_refused() {
    let project = Project::new("settings");
    let file = project.root.join("plimsoll.toml");
    pipe(&file);
    let said = "error: plimsoll.toml: expected a file, found a pipe";
    project.run(&["--exact", "bounded"]).fails_with(&[said]);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "threshold = 100\n").unwrap();
    assert!(project.run(&["--exact", "bounded"]).passed);
    assert_eq!(project.report("bounded").threshold.iterations, 100);
    fs::write(&file, "treshold = 100\n").unwrap();
    project
        .run(&["--exact", "bounded"])
        .fails_with(&["error: plimsoll.toml:1: `treshold`", "hint: `threshold`?"]);
    fs::remove_file(&file).unwrap();
    // It is not the budget that was too short.
    let hasty = [
        ("PLIMSOLL_BUDGET", "60s"),
        ("PLIMSOLL_TIMEOUT", "2s"),
        ("PLIMSOLL_THRESHOLD", "1000000000"),
        ("PLIMSOLL_SPEND_BUDGET", "true"),
    ];
    project
        .run_with(&["--exact", "bounded"], &hasty)
        .fails_with(&["note: the timeout of 2s leaves less time than the budget"]);
    // As long as can be said, for a budget without end.
    let endless = [("PLIMSOLL_BUDGET", "5000000000000000h")];
    let run = project.run_with(&["--exact", "bounded"], &endless);
    assert!(run.passed, "{}", run.text);
    let refused = |name, value| project.run_with(&["bounded"], &[(name, value)]);
    let no_text = std::ffi::OsStr::from_bytes(b"o\xffff");
    for name in ["PLIMSOLL_STALE", "PLIMSOLL_ISOLATION"] {
        let mut command = project.command(&["bounded"]);
        let run = Run::of(command.env(name, no_text).output().unwrap());
        run.fails_with(&[name, "found bytes that are not UTF-8"]);
    }
    refused("PLIMSOLL_BUDGET", "ten").fails_with(&["PLIMSOLL_BUDGET", "`10s`"]);
    refused("PLIMSOLL_SAMPLE_INTERVAL", "500").fails_with(&["a power of two", "hint: 512"]);
    refused("PLIMSOLL_UNWINDER", "gdb").fails_with(&["`plimsoll`, `libgcc` or `compare`"]);
    let warned = project.run_with(
        &["--exact", "bounded"],
        &[
            ("PLIMSOLL_THRESHOLD", "1000000000"),
            ("PLIMSOLL_INCONCLUSIVE", "warn"),
        ],
    );
    assert!(warned.passed, "{}", warned.text);
    assert_eq!(project.report("bounded").verdict, Verdict::Inconclusive);
    let failed = project.run_with(
        &["--exact", "bounded"],
        &[("PLIMSOLL_THRESHOLD", "1000000000")],
    );
    failed.fails_with(&["bounded"]);
}

fn a_packages_settings_go_before_its_workspaces() {
    let project = Project::new("settings_of_two");
    let package = project.root.join("crates/a");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
    // As it is left behind when a package moves into a workspace.
    fs::write(package.join("Cargo.lock"), "").unwrap();
    let run = |variables: &[(&str, &str)]| {
        let mut command = project.command(&["--exact", "bounded"]);
        let command = command.env("CARGO_MANIFEST_DIR", &package);
        Run::of(command.envs(variables.iter().copied()).output().unwrap())
    };
    let threshold = || project.report("bounded").threshold.iterations;
    let workspaces = "threshold = 100\ninconclusive = \"warn\"\n";
    fs::write(project.root.join("plimsoll.toml"), workspaces).unwrap();
    assert!(run(&[]).passed);
    assert_eq!(threshold(), 100);

    // The package's before the workspace's, and that for what the package leaves open.
    fs::write(package.join("plimsoll.toml"), "threshold = 1_000_000_000\n").unwrap();
    let warned = run(&[]);
    assert!(warned.passed, "{}", warned.text);
    assert_eq!(project.report("bounded").verdict, Verdict::Inconclusive);
    assert_eq!(threshold(), 1_000_000_000);
    assert!(run(&[("PLIMSOLL_THRESHOLD", "50")]).passed);
    assert_eq!(threshold(), 50);

    // Paths are the workspace's, and a file of its own marks the package's baselines.
    let baseline = project.report("bounded").run.baseline;
    assert_eq!(baseline, "crates/a/baselines/bounded.toml");
    fs::write(package.join("plimsoll.toml"), "\n\nbudget = 10\n").unwrap();
    run(&[]).fails_with(&[
        "error: crates/a/plimsoll.toml:3: `budget`: unexpected value",
        "found `10`",
    ]);
}

fn the_command_line_is_libtests() {
    let project = Project::new("command_line");
    let names = |words: &[&str]| -> Vec<String> {
        let run = project.run(words);
        assert!(run.passed, "{}", run.text);
        let test = |line: &str| line.strip_suffix(": test").map(str::to_owned);
        run.text.lines().filter_map(test).collect()
    };
    let all = names(&["--list", "--format", "terse"]);
    assert_eq!(
        (all.len(), all[0].as_str(), all[28].as_str()),
        (36, "leak", "left_out")
    );
    assert_eq!(
        names(&["--list", "--format", "terse", "--ignored"]),
        ["left_out"]
    );
    assert_eq!(
        names(&["--list", "--exact", "leak", "bounded"]),
        ["leak", "bounded"]
    );
    assert_eq!(
        names(&["--list", "c_", "bound", "--skip", "leak"]),
        ["bounded"]
    );
    let json = project.run(&["--list", "--format", "json", "bounded"]);
    assert!(json.passed, "{}", json.text);

    let ignored = project.run(&["left_out"]);
    assert!(
        ignored.passed && ignored.text.contains("1 ignored") && ignored.text.contains("a day"),
        "{}",
        ignored.text
    );
    let run = project.run(&["left_out", "--include-ignored", "--no-capture"]);
    assert!(
        run.passed && run.text.contains("left_out: 16,384 iterations"),
        "{}",
        run.text
    );
    let json = project.run(&["--format", "json", "-Z", "unstable-options", "bounded"]);
    assert!(
        json.passed && json.text.contains("\"event\""),
        "{}",
        json.text
    );
    let filtered = project.run(&["--exact", "bounded", "joins", "--skip", "joins"]);
    assert!(
        filtered.text.contains("35 filtered out"),
        "{}",
        filtered.text
    );

    project
        .run(&["--nonsense"])
        .fails_with(&["error: Unrecognized option: 'nonsense'"]);
    let help = project.run(&["--help"]);
    assert!(
        help.passed && help.text.contains("--shuffle-seed"),
        "{}",
        help.text
    );
    let order = |seed: &str| names(&["--list", "--shuffle-seed", seed]);
    assert_eq!(order("7"), order("7"));
    assert_ne!(order("7"), order("8"));
    let mut sorted = order("7");
    sorted.sort();
    let mut expected = all;
    expected.sort();
    assert_eq!(sorted, expected);
    let nothing = project.run(&["no_such_scenario"]);
    assert!(
        nothing.passed && nothing.text.contains("0 passed"),
        "{}",
        nothing.text
    );
}

fn fail_fast_starts_nothing_more() {
    let project = Project::new("fail_fast");
    let words = ["--fail-fast", "--test-threads=1", "exits", "hangs"];
    project.run(&words).fails_with(&["1 failed", "1 ignored"]);
    assert!(!project.folder("hangs").exists());
}

fn isolation_off_runs_in_this_process() {
    let project = Project::new("isolation");
    let ci = [("PLIMSOLL_ISOLATION", "off"), ("CI", "true")];
    project
        .run_with(&["--exact", "bounded"], &ci)
        .fails_with(&["measures nothing", "CI is set"]);
    let off = [
        ("PLIMSOLL_ISOLATION", "off"),
        ("PLIMSOLL_MAX_ITERATIONS", "50"),
    ];
    let run = project.run_with(&["--exact", "bounded"], &off);
    assert!(
        run.passed && run.text.contains("50 iterations ran"),
        "{}",
        run.text
    );
    project
        .run_with(&[], &off)
        .fails_with(&["hint: add `-- --exact NAME`"]);
}

fn files_of_an_earlier_run_are_gone() {
    let project = Project::new("earlier");
    project.run(&["--exact", "leak"]).fails_with(&[]);
    assert!(project.folder("leak").join("baseline.toml.new").exists());
    let variables = [("PLIMSOLL_MALLOC_CONF", "prof:false")];
    project
        .run_with(&["--exact", "leak"], &variables)
        .fails_with(&[]);
    assert!(!project.folder("leak").join("baseline.toml.new").exists());
    assert!(!project.folder("leak").join("after.heap").exists());
    assert_eq!(project.report("leak").verdict, Verdict::Broken);
}

fn a_target_directory_that_is_read_only_says_so() {
    // What nobody may write to, root may; a file where a folder should be stops
    // both.
    let project = Project::new("read_only");
    fs::write(project.root.join("target/plimsoll"), "").unwrap();
    let run = project.run(&["--exact", "bounded"]);
    assert_eq!(run.status, Some(101));
    assert!(run.text.contains("target/plimsoll"), "{}", run.text);
}

fn nextest_lists_and_runs() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let nextest = |words: &[&str]| {
        let mut command = Command::new(&cargo);
        command
            // With the features of the whole workspace, as `cargo test` has built it.
            .args(["nextest", "run", "--workspace", "--test", "front"])
            .args(words)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env(PROGRAM, "1")
            .env("PLIMSOLL_BUDGET", "1s")
            // Else a nextest that runs this test gives its own to the inner one.
            .env_remove("NEXTEST_RUN_ID")
            .env_remove("NEXTEST")
            .stdin(Stdio::null());
        let run = Run::of(command.output().unwrap());
        // It ran in this repository's target directory, where only the reports
        // of its own scenarios belong.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let _ = fs::remove_dir_all(target.join("plimsoll/plimsoll/front"));
        run
    };
    let installed = Command::new(&cargo).args(["nextest", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED nextest_lists_and_runs: cargo-nextest is not installed");
        return;
    }
    let run = nextest(&["-E", "test(=bounded) + test(=joins)"]);
    assert!(run.passed, "{}", run.text);
    assert!(run.text.contains("2 tests run: 2 passed"), "{}", run.text);
    let run = nextest(&[
        "--no-fail-fast",
        "-E",
        "test(=bounded) + test(=leak) + test(=exits)",
    ]);
    assert_eq!(run.status, Some(100), "{}", run.text);
    assert!(
        run.text.contains("3 tests run: 1 passed, 2 failed"),
        "{}",
        run.text
    );
    assert!(
        run.text.contains("leak: 1 stack keeps growing"),
        "{}",
        run.text
    );
}
