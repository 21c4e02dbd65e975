//! `plimsoll accept`, the real binary over reports made by hand.

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_core::{Law, Resource};

use crate::project::{
    BASELINE, Project, RATE, allow, finding, growth, of_test, rate, regressed, report, sample,
    site, stack, unused, within,
};

const ACCEPTED: &str = "lru_churn: accepted 1 allowance; commit the file\n";

fn leaky() -> Project {
    Project::with(&[regressed("r1", "lru_churn", "main lru::fill", RATE)])
}

#[test]
fn a_first_allowance() {
    let mut report = regressed("r1", "lru_churn", "main lru::fill", RATE);
    report.findings[0].holders = Some(sample::in_a_map());
    let project = Project::with(&[report]);
    let accept = "accept lru_churn --reason index --issue https://example.org/7";
    assert_snapshot!(project.said(&[accept, accept]), @r#"
    > accept lru_churn --reason index --issue https://example.org/7
    baselines/lru_churn.toml (new)
      + # What this scenario may grow per iteration, as agreed with `plimsoll accept`.
      + format = 1
      +
      + [measured]
      + test = "demo/leaks"
      + target = "x86_64-unknown-linux-gnu"
      + profile = "debug"
      + toolchain = "rustc 1.95.0"
      + jemalloc = "5.3.0"
      + sample-interval = 1
      + iterations = 1024
      +
      + [[allow]]
      + stack = [
      +     "main",
      +     "lru::fill",
      + ]
      + objects = 1.0
      + bytes = 96.0
      + law = "linear"
      + reason = "index"
      + issue = "https://example.org/7"
    lru_churn: lru::fill: held by a HashMap<u64, Arc<Session>> (filled in store::open at src/store.rs:9), and that by the static app::SESSIONS
    lru_churn: accepted 1 allowance; commit the file
    --- 0
    > accept lru_churn --reason index --issue https://example.org/7
    baselines/lru_churn.toml: already has it, nothing changes
    --- 0
    "#);
    assert_eq!(project.files("baselines").len(), 1);
}

#[test]
fn sites_and_resources() {
    let mut report = regressed("r1", "http::echo", "fd", RATE);
    report.findings[0].subject = Subject::Resource(Resource::Descriptors);
    let mut pair = finding("a b", RATE);
    pair.subject = site("a b", 9);
    pair.error = rate(0.0, 0.01);
    report.findings.push(pair);
    let project = Project::with(&[report]);
    project.ok("accept http::echo");
    let written = project.read("baselines/http++echo.toml");
    for part in [
        "\"...\",\n    \"a\",\n    \"b\",\n]\nobjects = 1.0\nbytes = 96.01\n",
        "]]\nresource = \"descriptors\"\nobjects = 1.0\nlaw = \"linear\"\n",
    ] {
        assert!(written.contains(part), "{written}");
    }
}

#[test]
fn nothing_is_accepted_in_ci() {
    let project = leaky();
    assert_snapshot!(project.typed("CI=true accept lru_churn"), @"
    --- 2
    error: the variable CI is set: in CI nothing is accepted, because a person has to accept growth
      hint: run `cargo test --test leaks` and `plimsoll accept lru_churn` where you work, and commit what changes
    ");
    let hint = " and `plimsoll accept` where you work";
    project.says("CI=1 accept", 2, &[hint]);
    let dry = ["lru_churn: would accept 1 allowance\n--- 0\n"];
    project.says("CI=true accept lru_churn --dry-run", 0, &dry);
    assert!(!project.exists("baselines"));
    for no_ci in ["CI=", "CI=false", "CI=0"] {
        project.ok(&format!("{no_ci} accept lru_churn"));
    }
}

#[test]
fn what_cannot_be_trusted_is_not_accepted() {
    let project = leaky();
    let verdicts = [Verdict::Failed, Verdict::Broken, Verdict::Inconclusive];
    let refused = verdicts.map(|verdict| {
        project.leave(&report("r1", "http::echo", verdict), 0);
        // One that could be accepted is named beside it: all or nothing.
        project.typed("accept lru_churn http::echo").to_string()
    });
    assert_snapshot!(refused.concat(), @"
    --- 3
    error: http::echo: nothing was accepted: its workload failed, and growth up to a failure says little
      hint: fix the workload, and measure again
    --- 4
    error: http::echo: nothing was accepted: its measurement cannot be trusted
      hint: `plimsoll report` says what was wrong; fix that, and measure again
    --- 3
    error: http::echo: nothing was accepted: its run was inconclusive, so the allowance that it needs is not known
      hint: give the scenario a larger budget, and measure again
    ");
    assert!(!project.exists("baselines"));
    // What was not named is left out; with --all it is named.
    project.says("accept --all", 3, &[]);
    assert_snapshot!(project.typed("accept --dry-run").stderr, @"warning: http::echo: left out: its run was inconclusive, so the allowance that it needs is not known");
    project.says("accept", 0, &[ACCEPTED]);
}

#[test]
fn which_scenario_and_which_test() {
    let project = leaky();
    let none = "accept --package dmeo --test leaks";
    assert_snapshot!(project.said(&["accept lru_chrn", "accept http::echo", none]), @"
    > accept lru_chrn
    --- 2
    error: no scenario lru_chrn in the last run
      expected one of: http::echo, lru_churn
    > accept http::echo
    --- 5
    error: http::echo has no result: it left no report in this run
      hint: measure it with `cargo test --test leaks -- http::echo`
    > accept --package dmeo --test leaks
    --- 5
    error: no report of the package dmeo, test target leaks
      expected one of: demo (test target leaks)
      hint: measure it first, with `cargo test --test leaks`
    ");
    let name = ["no scenario can have that name"];
    project.says("accept ../../x", 2, &name);
}

#[test]
fn one_name_in_two_packages() {
    let project = leaky();
    let other = regressed("r2", "lru_churn", "main other", RATE);
    let other = of_test("other", "leaks", other);
    project.leave(&other, 1);
    assert_snapshot!(project.typed("accept lru_churn"), @"
    --- 2
    error: lru_churn is the name of more than one scenario
        demo (test target leaks)
        other (test target leaks)
      hint: choose one with --package
    ");
    // Nor can both be written into one file, unless one needs nothing.
    project.says("accept", 2, &[]);
    project.leave(&of_test("other", "leaks", within("r2", "lru_churn")), 1);
    let dry = ["lru_churn: would accept 1 allowance"];
    project.says("accept --dry-run", 0, &dry);
    project.leave(&other, 1);
    project.write("other/baselines/.keep", "");
    let files = ["baselines/lru_churn.toml", "other/baselines/lru_churn.toml"];
    project.says("accept --dry-run", 0, &files);
    project.ok("accept lru_churn --package other");
    assert!(project.read(files[1]).contains("\"other\""));
    assert!(!project.exists("baselines"));
}

#[test]
fn the_newest_run_of_each_target_counts() {
    let project = leaky();
    let mut other = of_test("demo", "slow", within("r2", "pool"));
    other.run.scenarios = vec!["pool".to_owned()];
    project.leave(&other, 5);
    let says = ["pool: nothing to accept", "lru_churn: accepted"];
    project.says("accept --all", 0, &says);
}

/// Who names no scenario accepts what is new, and says nothing anew of the rest.
#[test]
fn what_was_accepted_since_the_run_is_left_alone() {
    let project = leaky();
    let leave = |rate| project.leave(&regressed("r1", "other", "main other::fill", rate), 0);
    leave(RATE);
    project.typed("accept lru_churn --reason A --expires 2999-01-31");
    let agreed = project.read(BASELINE);
    let accepted = ["other: accepted 1 allowance"];
    project.says("accept --reason B --expires never", 0, &accepted);
    assert_eq!(project.read(BASELINE), agreed);
    assert!(project.read("baselines/other.toml").contains("\"B\""));
    let nothing = ["nothing to accept in any scenario of the last run\n"];
    project.says("accept --reason C", 0, &nothing);
    // By its name, it is meant.
    project.typed("accept lru_churn --reason C");
    assert!(project.read(BASELINE).contains("\"C\""));
    // Another rate is new.
    leave(rate(1.0, 192.0));
    project.says("accept --reason D", 0, &accepted);
}

#[test]
fn what_another_test_of_that_name_uses_stays() {
    let project = Project::new();
    let file = |ours: f64| {
        let ours = allow("'main'", rate(ours, ours));
        format!("format = 1\n{ours}{}", allow("'theirs'", rate(9.0, 9.0)))
    };
    project.write(BASELINE, &file(9.0));
    let used = |names: &str| Finding {
        verdict: Verdict::Within,
        standing: Standing::Allowed,
        ..finding(names, rate(1.0, 1.0))
    };
    let gone = |names: &str| unused(Subject::Stack(stack(names)), Standing::Stale);
    let leave = |package: &str, findings: &[Finding]| {
        let mut report = report(package, "lru_churn", Verdict::Improved);
        report.findings = findings.to_vec();
        project.leave(&of_test(package, "leaks", report), 0);
    };
    let note = |what: &str| {
        format!(
            "note: lru_churn: the allowance of {what} stays, because the scenario of the same \
             name in other (test target leaks) uses the same file and may need it\n  \
             hint: a plimsoll.toml in the package's folder gives it baselines of its own\n"
        )
    };
    let lower = "accept --lower --package demo";
    leave("demo", &[used("main"), gone("theirs")]);
    // Of before there was that baseline.
    leave("other", &[]);
    let said = project.ok(lower).stderr;
    assert_eq!(said, note("theirs") + &note("main"));
    assert_eq!(project.read(BASELINE), file(9.0));

    leave("other", &[gone("main"), used("theirs")]);
    assert_eq!(project.typed(lower).stderr, note("theirs"));
    let written = project.read(BASELINE);
    let (_, allowances) = written.split_once("[[allow]]").unwrap();
    assert_eq!(allowances, file(1.0).split_once("[[allow]]").unwrap().1);

    leave("demo", &[used("main"), gone("theirs")]);
    leave("other", &[gone("main"), gone("theirs")]);
    assert_eq!(project.typed("accept --package demo").stderr, "");
    assert!(!project.read(BASELINE).contains("theirs"));
}

#[test]
fn a_named_run_is_taken_beside_a_report_that_cannot_be_read() {
    let project = leaky();
    project.write("target/plimsoll/other/leaks/lru_churn/report.json", "{");
    project.says("accept lru_churn", 5, &["name a run with `--run r1`"]);
    project.ok("accept lru_churn --run r1");
}

#[test]
fn a_reason_that_is_required() {
    let project = leaky();
    project.write("plimsoll.toml", "require-reason = true\n");
    assert_snapshot!(project.typed("accept lru_churn"), @"
    --- 2
    error: lru_churn: an allowance has no reason
      `require-reason = true` needs one for lru::fill
      hint: give the reason with --reason
    ");
    let says = ["expected some text; without the option, the text in the file stays"];
    for option in ["--reason", "--issue"] {
        project.plimsoll(&["accept", option, " "]).has(2, &says);
    }
    assert!(!project.exists("baselines"));
    project.ok("accept lru_churn --reason pool");
    // The one that the file has by now will do.
    project.ok("accept lru_churn");
}

#[test]
fn an_older_run_is_not_taken_unasked() {
    let project = leaky();
    project.leave(&within("r2", "http::echo"), 5);
    let says = ["-- lru_churn`, or take an earlier run's with `--run r1`\n"];
    project.says("accept lru_churn", 5, &says);
    project.ok("accept lru_churn --run r1");
}

#[test]
fn an_expired_allowance_needs_another_day() {
    let project = Project::expired(RATE);
    assert_snapshot!(project.typed("accept lru_churn"), @"
    --- 2
    error: lru_churn: an allowance has expired
      its reason: until the spring
      hint: set its new last day with `--expires YYYY-MM-DD`, or use `--expires never`
    ");
    let no_day = ["expected a day that is in the calendar, or `never`"];
    project.says("accept lru_churn --expires 2020-02-30", 2, &no_day);
    let over = ["2002-01-01 is over"];
    project.says("accept lru_churn --expires 2002-01-01", 2, &over);
    project.ok("accept lru_churn --expires 9999-01-01");
    assert!(project.read(BASELINE).ends_with("expires = 9999-01-01\n"));
    project.ok("accept lru_churn --expires never");
    assert!(!project.read(BASELINE).contains("expires"));
}

#[test]
fn lower_and_expired_at_once() {
    let project = Project::expired(rate(5.0, 960.0));
    project.says("accept --lower --expires never", 0, &[ACCEPTED]);
    let written = project.read(BASELINE);
    let needed = "objects = 1.0\nbytes = 96.0\n";
    assert!(written.contains(needed), "{written}");
}

/// Allowances of a pattern and of threads, of which the pattern is used by one stack, or by two.
fn patterned(subject: Subject, standing: Standing) -> Project {
    let mut report = report("r1", "lru_churn", Verdict::Regressed);
    report.findings = vec![Finding {
        subject,
        standing,
        allowed: rate(0.5, 48.0),
        ..finding("one lru::put", RATE)
    }];
    report.growth = ["one lru::put", "two lru::put"]
        .map(|names| growth(names, RATE))
        .to_vec();
    let project = Project::with(&[report]);
    let pattern = allow("'...', 'lru::put'", rate(0.5, 48.0));
    let threads = "[[allow]]\nresource = 'threads'\nobjects = 1.0\nlaw = 'linear'\n";
    project.write(
        BASELINE,
        &format!("format = 1\n\n# put\n{pattern}expires = 2001-01-01\n\n{threads}"),
    );
    project
}

#[test]
fn a_pattern_gets_the_new_rate() {
    let one = || Subject::Stack(stack("one lru::put"));
    let several = || site("lru::put", 2);
    for subject in [one(), several()] {
        let project = patterned(subject, Standing::Exceeded);
        let before = project.read(BASELINE);
        project.ok("accept");
        // By the same report again.
        project.says("accept", 0, &["nothing changes"]);
        let rate = before.replace("0.5", "1.0").replace("48.0", "96.0");
        let (_, expected) = rate.split_once("# put").unwrap();
        assert!(project.read(BASELINE).ends_with(expected));
    }
    for subject in [one(), several()] {
        let project = patterned(subject, Standing::Expired);
        project.ok("accept --expires never --lower");
        let written = project.read(BASELINE);
        assert!(!written.contains("expires"), "{written}");
        assert_eq!(written.matches("[[allow]]").count(), 2, "{written}");
    }
    // A rate that a person has given it since then is theirs.
    let project = patterned(one(), Standing::Exceeded);
    project.replace(BASELINE, "48.0", "4800.0");
    project.ok("accept");
    assert!(project.read(BASELINE).contains("bytes = 4800.0"));
}

/// One cause with four stacks, a fifth that grows too little to be found, and another leak.
fn one_cause() -> Project {
    let mut report = report("r1", "lru_churn", Verdict::Regressed);
    let stacks = ["put", "grow", "wake", "spawn"].map(|leaf| format!("main app::serve {leaf}"));
    let findings = stacks.iter().map(|names| finding(names, RATE));
    report.findings = findings.chain([finding("main app::log", RATE)]).collect();
    report.findings[1].rate = rate(0.0, 96.0);
    report.findings[1].law = Law::Stepped;
    report.findings[1].bytes_law = Law::Stepped;
    let grown = stacks.iter().map(|names| growth(names, RATE));
    let seldom = growth("main app::serve read", rate(0.01, 2.0));
    let shrunk = growth("main app::serve write", rate(-0.5, -8.0));
    let other = growth("main app::log", RATE);
    report.growth = grown.chain([seldom, shrunk, other]).collect();
    Project::with(&[report])
}

#[test]
fn one_allowance_for_one_cause() {
    let project = one_cause();
    let each = project.says(
        "accept lru_churn --reason each",
        0,
        &["accepted 5 allowances"],
    );
    assert_snapshot!(each.stderr, @r#"
    note: lru_churn: growth of one cause can have one allowance
        5 stacks pass through main
        4 stacks pass through app::serve
      hint: plimsoll accept lru_churn --through FUNCTION --reason "…"
    "#);
    let accept = "accept lru_churn --through serve --reason";
    let lost = "accept lru_churn --through serve";
    assert_snapshot!(project.said(&[lost, &format!("{accept} all"), &format!("{accept} all")]), @r#"
    > accept lru_churn --through serve
    --- 2
    error: lru_churn: the allowance of grow would be removed and one of app::serve added: they may be the same growth
      its reason: each
      hint: repeat this for the new allowance, with `--reason "…"`
    > accept lru_churn --through serve --reason all
    baselines/lru_churn.toml
        [[allow]]
        stack = [
      -     "main",
      -     "app::log",
      - ]
      - objects = 1.0
      - bytes = 96.0
      - law = "linear"
      - reason = "each"
      -
      - [[allow]]
      - stack = [
      -     "main",
      +     "...",
            "app::serve",
      -     "grow",
      +     "...",
        ]
      - objects = 0.0
      - bytes = 96.0
      - law = "stepped"
      - reason = "each"
      -
      - [[allow]]
      - stack = [
      -     "main",
      -     "app::serve",
      -     "put",
      - ]
      - objects = 1.0
      - bytes = 96.0
      + objects = 4.01
      + bytes = 386.0
        law = "linear"
      - reason = "each"
      -
      - [[allow]]
      - stack = [
      -     "main",
      -     "app::serve",
      -     "spawn",
      - ]
      - objects = 1.0
      - bytes = 96.0
      - law = "linear"
      - reason = "each"
      + bytes-law = "stepped"
      + reason = "all"

        [[allow]]
        stack = [
            "main",
      -     "app::serve",
      -     "wake",
      +     "app::log",
        ]
        objects = 1.0
    lru_churn: accepted 1 allowance, removed 4; commit the file
    --- 0
    > accept lru_churn --through serve --reason all
    baselines/lru_churn.toml: already has it, nothing changes
    --- 0
    "#);
    project.says("accept lru_churn", 0, &["nothing changes"]);
    let written = project.read(BASELINE);
    assert_eq!(written.matches("[[allow]]").count(), 2, "{written}");
    // The other leak can have its own reason, and what is allowed is not accepted again.
    let project = one_cause();
    project.ok(&format!("{accept} all"));
    let one = ["accepted 1 allowance"];
    project.says("accept lru_churn --reason other", 0, &one);
    let nothing = ["lru_churn: nothing to accept, the baseline allows what grew: measure again"];
    project.says("accept --all", 0, &nothing);
}

#[test]
fn which_function_is_meant() {
    let project = one_cause();
    let all = ["accept lru_churn --through=rve", "accept --through serve"];
    assert_snapshot!(project.said(&all), @"
    > accept lru_churn --through=rve
    --- 2
    error: lru_churn: nothing to accept passes through rve
      expected a name such as
        main
        app::serve
        grow
        put
        spawn
    > accept --through serve
    --- 2
    error: the following required arguments were not provided:
      <SCENARIO>...

    Usage: plimsoll accept --through <FUNCTION> <SCENARIO>...

    For more information, try '--help'.
    ");
    assert!(!project.exists("baselines"));
    project.leave(&within("r1", "lru_churn"), 0);
    let nothing = ["lru_churn: nothing to accept, it is within"];
    project.says("accept lru_churn --through serve", 0, &nothing);
}

/// Allowances of a stack, of a pattern and of threads.
fn agreed() -> String {
    let put = allow("'main', 'old', 'lru::fill', 'lru::put'", RATE);
    let cache = allow("'...', 'cache::grow'", RATE);
    let threads = "[[allow]]\nresource = 'threads'\nobjects = 1.0\nlaw = 'linear'\n";
    format!("format = 1\n\n{put}reason = 'because'\n\n# caches\n\n# gone\n{cache}\n{threads}")
}

/// A stack that has another caller, and two allowances that nothing uses.
fn settled(verdict: Verdict) -> Report {
    let cache = Subject::Stack(stack("... cache::grow"));
    let mut report = report("r1", "lru_churn", verdict);
    report.findings = vec![
        Finding {
            verdict: Verdict::Within,
            standing: Standing::Moved,
            moved_from: Some(stack("main old lru::fill lru::put")),
            ..finding("main new lru::fill lru::put", RATE)
        },
        unused(cache, Standing::Stale),
        unused(Subject::Resource(Resource::Threads), Standing::Expired),
    ];
    report
}

#[test]
fn moved_and_removed() {
    let project = Project::with(&[settled(Verdict::Improved)]);
    // Nothing to remove from.
    let gone = "baselines/lru_churn.toml: no longer has it, nothing changes\n";
    project.says("accept lru_churn", 0, &[gone]);
    assert!(!project.exists("baselines"));
    project.write(BASELINE, &agreed());
    let dry = [
        "lru_churn: would remove threads, which no longer grows\n",
        "lru_churn: would move 1 allowance, remove 2\n",
    ];
    project.says("accept lru_churn --dry-run", 0, &dry);
    assert_eq!(project.read(BASELINE), agreed());
    assert_snapshot!(project.typed("accept lru_churn"), @r#"
    baselines/lru_churn.toml

        [[allow]]
      - stack = ['main', 'old', 'lru::fill', 'lru::put']
      + stack = ['main', "new", 'lru::fill', 'lru::put']
        objects = 1.0
        bytes = 96.0
      …

        # caches
      -
      - # gone
      - [[allow]]
      - stack = ['...', 'cache::grow']
      - objects = 1.0
      - bytes = 96.0
      - law = 'linear'
      -
      - [[allow]]
      - resource = 'threads'
      - objects = 1.0
      - law = 'linear'
    lru_churn: moved lru::put from old to new
    lru_churn: removed cache::grow, which no longer grows
    lru_churn: removed threads, which no longer grows
    lru_churn: moved 1 allowance, removed 2; commit the file
    --- 0
    "#);
    project.says("accept lru_churn", 0, &[gone]);
    let words = project.typed("accept lru_churn --reason another");
    assert_snapshot!(words.stderr, @"
    note: no allowance was written, so --reason, --issue and --expires have no effect
      hint: edit the file
    ");
}

#[test]
fn what_goes_beside_growth_may_be_the_same() {
    let mut report = settled(Verdict::Regressed);
    report.findings.push(finding("main other", RATE));
    let project = Project::with(&[report]);
    let words = "stack = ['...', 'cache::grow']\nreason = 'a cache'\nexpires = 2999-01-31";
    let written = agreed().replace("stack = ['...', 'cache::grow']", words);
    project.write(BASELINE, &written);
    assert_snapshot!(project.typed("accept lru_churn"), @r#"
    --- 2
    error: lru_churn: the allowance of cache::grow would be removed and one of other added: they may be the same growth
      its reason: a cache
      its last day: 2999-01-31
      hint: repeat this for the new allowance, with `--reason "…"` and `--expires YYYY-MM-DD` or `--expires never`
    "#);
    let says = [
        "growth\n  its last day: 2999-01-31\n",
        "allowance, with `--expires YYYY-MM-DD` or",
    ];
    project.says("accept lru_churn --reason cache", 2, &says);
    let done = ["lru_churn: accepted 1 allowance, moved 1, removed 2; commit the file\n"];
    project.says("accept lru_churn --reason cache --expires never", 0, &done);
}

#[test]
fn a_baseline_that_cannot_be_read_stays() {
    let project = leaky();
    let typo = "format = 1\n[[alow]]\n";
    project.write(BASELINE, typo);
    let says = ["lru_churn.toml:2: unknown key `alow`\n"];
    project.says("accept lru_churn", 5, &says);
    assert_eq!(project.read(BASELINE), typo);
}

#[cfg(unix)]
#[test]
fn modes_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = leaky();
    let mode = |path| project.path(path).metadata().unwrap().permissions().mode() & 0o777;
    project.ok("accept lru_churn");
    // As for any new file, so that others can read what is committed.
    assert_eq!(mode(BASELINE), mode("Cargo.toml"));

    // A link in the place of a file is replaced, not written through.
    std::fs::rename(project.path(BASELINE), project.path("mine")).unwrap();
    symlink(project.path("mine"), project.path(BASELINE)).unwrap();
    let mine = project.read("mine");
    project.ok("accept lru_churn --reason new");
    assert_eq!(project.read("mine"), mine);
    assert!(project.read(BASELINE).contains("reason = \"new\""));
}

#[test]
fn a_package_of_elsewhere_is_left_to_it() {
    let elsewhere = regressed("r1", "lru_churn", "main", RATE);
    let project = Project::with(&[of_test("elsewhere", "leaks", elsewhere)]);
    assert_snapshot!(project.typed("accept lru_churn"), @"
    --- 2
    error: lru_churn is a scenario of the package elsewhere, which is not in this workspace
      hint: say where it is with --manifest-path
    ");
    // Beside one of this workspace, it is another's that has the same target directory.
    project.leave(&regressed("r2", "lru_churn", "main", RATE), 0);
    let new = ["baselines/lru_churn.toml (new)"];
    let all = project.says("accept --dry-run", 0, &new);
    assert_eq!(all.stderr, "");
    let named = project.typed("accept --dry-run lru_churn");
    assert_eq!(named.stdout, all.stdout);
    let says = ["not in this workspace"];
    project.says("accept --dry-run --package elsewhere", 2, &says);
}
