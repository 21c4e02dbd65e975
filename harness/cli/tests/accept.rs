//! `plimsoll accept`, the real binary over reports made by hand.

mod project;

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Standing, Subject};
use plimsoll_core::{FoldedStack, Rate};

use project::{Project, finding, regressed, report};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};

fn leaky() -> Project {
    let project = Project::new();
    project.leave(&regressed("r1", "lru_churn", "main lru::fill", RATE), 0);
    project
}

#[test]
fn a_first_allowance() {
    let project = leaky();
    let args = [
        "accept",
        "lru_churn",
        "--reason",
        "the index",
        "--issue",
        "https://example.org/7",
    ];
    assert_snapshot!(project.plimsoll(&args), @r#"
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
      + reason = "the index"
      + issue = "https://example.org/7"
    lru_churn: accepted 1 allowance; commit the file
    --- 0
    "#);
    let written = project.read("baselines/lru_churn.toml");
    assert!(written.contains("reason = \"the index\""), "{written}");

    assert_snapshot!(project.plimsoll(&args), @"
    baselines/lru_churn.toml: has it all, nothing changes
    --- 0
    ");
    assert_eq!(project.read("baselines/lru_churn.toml"), written);
    // And nothing is left beside it.
    assert_eq!(
        std::fs::read_dir(project.path("baselines"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn what_people_wrote_stays() {
    let project = leaky();
    project.write(
        "baselines/lru_churn.toml",
        "# ours\nformat = 1\n\n[[allow]]\nstack = ['other'] # kept\nobjects = 1\nbytes = 8\n\
         law = 'linear'\n\n# why\n[[allow]]\nstack = ['main', 'lru::fill']\nlaw = 'linear'\n\
         objects = 0.5 # half\nbytes = 48\nreason = 'because'\n",
    );
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @r#"
    baselines/lru_churn.toml
        format = 1

      + [measured]
      + test = "demo/leaks"
      + target = "x86_64-unknown-linux-gnu"
      + profile = "debug"
      + toolchain = "rustc 1.95.0"
      + jemalloc = "5.3.0"
      + sample-interval = 1
      + iterations = 1024
      +
        [[allow]]
        stack = ['other'] # kept
      …
        stack = ['main', 'lru::fill']
        law = 'linear'
      - objects = 0.5 # half
      - bytes = 48
      + objects = 1.0 # half
      + bytes = 96.0
        reason = 'because'
    lru_churn: accepted 1 allowance; commit the file
    --- 0
    "#);
    assert_snapshot!(project.read("baselines/lru_churn.toml"), @r#"
    # ours
    format = 1

    [measured]
    test = "demo/leaks"
    target = "x86_64-unknown-linux-gnu"
    profile = "debug"
    toolchain = "rustc 1.95.0"
    jemalloc = "5.3.0"
    sample-interval = 1
    iterations = 1024

    [[allow]]
    stack = ['other'] # kept
    objects = 1
    bytes = 8
    law = 'linear'

    # why
    [[allow]]
    stack = ['main', 'lru::fill']
    law = 'linear'
    objects = 1.0 # half
    bytes = 96.0
    reason = 'because'
    "#);
}

#[test]
fn as_a_subcommand_of_cargo() {
    let project = leaky();
    let program = env!("CARGO_BIN_EXE_cargo-plimsoll");
    let ran = project.run(program, &["plimsoll", "accept", "lru_churn"], &[]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(project.exists("baselines/lru_churn.toml"));
}

#[test]
fn sites_and_resources() {
    let project = Project::new();
    let site = Subject::Site {
        frames: FoldedStack(vec!["a".to_owned(), "b".to_owned()]),
        stacks: 9,
    };
    let mut report = regressed("r1", "http::echo", "main x", RATE);
    report.findings = vec![
        Finding {
            subject: Subject::Descriptors,
            frames: Vec::new(),
            ..finding("", RATE)
        },
        Finding {
            subject: site,
            error: Rate {
                objects: 0.0,
                bytes: 0.01,
            },
            ..finding("a b", RATE)
        },
        Finding {
            standing: Standing::Allowed,
            verdict: Verdict::Within,
            ..finding("ok", RATE)
        },
    ];
    project.leave(&report, 0);
    let ran = project.plimsoll(&["accept", "http::echo"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let written = project.read("baselines/http++echo.toml");
    assert_snapshot!(written.split_once("[[allow]]").unwrap().1, @r#"

    stack = [
        "...",
        "a",
        "b",
    ]
    objects = 1.0
    bytes = 96.01
    law = "linear"

    [[allow]]
    resource = "descriptors"
    objects = 1.0
    law = "linear"
    "#);
}

#[test]
fn a_dry_run_writes_nothing() {
    let project = leaky();
    let ran = project.plimsoll_with(&["accept", "lru_churn", "--dry-run"], &[("CI", "true")]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout
            .ends_with("lru_churn: would accept 1 allowance\n"),
        "{ran}"
    );
    assert!(!project.exists("baselines"));
}

#[test]
fn not_under_ci() {
    let project = leaky();
    let ran = project.plimsoll_with(&["accept", "lru_churn"], &[("CI", "true")]);
    assert_snapshot!(ran, @"
    --- 2
    error: the variable CI is set: in CI nothing is accepted, because a person has to accept growth
      hint: run `cargo test --test leaks` and `plimsoll accept lru_churn` where you work, and commit what changes
    ");
    assert!(!project.exists("baselines"));
    for no_ci in ["", "false", "0"] {
        let ran = project.plimsoll_with(&["accept", "lru_churn"], &[("CI", no_ci)]);
        assert_eq!(ran.status, Some(0), "{ran}");
    }
}

#[test]
fn nothing_to_accept() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    lru_churn: nothing to accept, it is within
    --- 0
    ");
    assert!(!project.exists("baselines"));
}

#[test]
fn nothing_trustworthy() {
    let project = leaky();
    let refused = |verdict| {
        project.leave(&report("r1", "http::echo", verdict), 0);
        // One that could be accepted is named beside it: all or nothing.
        let ran = project.plimsoll(&["accept", "lru_churn", "http::echo"]);
        assert!(!project.exists("baselines"));
        ran
    };
    assert_snapshot!(refused(Verdict::Failed), @"
    --- 3
    error: http::echo: nothing was accepted: its workload failed, and what grew until then says little
      hint: mend the workload, and measure again
    ");
    assert_snapshot!(refused(Verdict::Broken), @"
    --- 4
    error: http::echo: nothing was accepted: its measurement cannot be trusted
      hint: `plimsoll report` says what was wrong; mend that, and measure again
    ");
    assert_snapshot!(refused(Verdict::Inconclusive), @"
    --- 3
    error: http::echo: nothing was accepted: its run was inconclusive: what it would take to pass is not known
      hint: give the scenario a larger budget, and measure again
    ");
}

#[test]
fn which_scenario() {
    let project = leaky();
    assert_snapshot!(project.plimsoll(&["accept", "lru_chrn"]), @"
    --- 2
    error: no scenario lru_chrn in the last run
      expected one of: http::echo, lru_churn
    ");
    assert_snapshot!(project.plimsoll(&["accept", "http::echo"]), @"
    --- 5
    error: http::echo has no result: it left no report in this run
      hint: measure it with `cargo test --test leaks -- http::echo`
    ");
    let ran = project.plimsoll(&["accept", "../../x"]);
    assert_eq!(ran.status, Some(2), "{ran}");
}

#[test]
fn which_test() {
    let project = leaky();
    assert_snapshot!(project.plimsoll(&["accept", "--package", "dmeo", "--test", "leaks"]), @"
    --- 5
    error: no report of the package dmeo, test target leaks
      expected one of: demo (test target leaks)
      hint: measure it first, with `cargo test --test leaks`
    ");
}

#[test]
fn words_that_say_nothing() {
    let project = leaky();
    for option in ["--reason", "--issue"] {
        let ran = project.plimsoll(&["accept", option, " "]);
        assert_eq!(ran.status, Some(2), "{ran}");
        assert!(
            ran.stderr
                .contains("expected some text; without the option, the text in the file stays"),
            "{ran}"
        );
    }
    assert!(!project.exists("baselines"));
}

#[test]
fn one_name_in_two_packages() {
    let project = leaky();
    let mut other = regressed("r2", "lru_churn", "main other", RATE);
    other.run.package = "other".to_owned();
    project.leave(&other, 1);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 2
    error: lru_churn is the name of more than one scenario
        demo (test target leaks)
        other (test target leaks)
      hint: choose one with --package
    ");
    // Nor can both be written into one file.
    let refused = project.plimsoll(&["accept"]);
    assert_eq!(refused.status, Some(2), "{refused}");
    std::fs::create_dir(project.path("other/baselines")).unwrap();
    let both = project.plimsoll(&["accept", "--dry-run"]);
    assert_eq!(both.status, Some(0), "{both}");
    for file in ["baselines/lru_churn.toml", "other/baselines/lru_churn.toml"] {
        assert!(both.stdout.contains(file), "{both}");
    }
    let ran = project.plimsoll(&["accept", "lru_churn", "--package", "other"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        project
            .read("other/baselines/lru_churn.toml")
            .contains("\"other\"")
    );
    assert!(!project.exists("baselines"));
}

#[test]
fn the_newest_run_of_each_target() {
    let project = leaky();
    let mut other = report("r2", "pool", Verdict::Within);
    other.run.target = "slow".to_owned();
    other.run.scenarios = vec!["pool".to_owned()];
    project.leave(&other, 5);
    let ran = project.plimsoll(&["accept", "--all"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout
            .contains("pool: nothing to accept, it is within\n"),
        "{ran}"
    );
    assert!(project.exists("baselines/lru_churn.toml"));
}

#[test]
fn all_that_have_something_to_accept() {
    let project = leaky();
    project.leave(&report("r1", "http::echo", Verdict::Broken), 0);
    let ran = project.plimsoll(&["accept"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_snapshot!(ran.stderr, @"warning: http::echo: left out: its measurement cannot be trusted");
    assert!(
        ran.stdout
            .ends_with("lru_churn: accepted 1 allowance; commit the file\n"),
        "{ran}"
    );
    // What was named is not left out.
    assert_eq!(project.plimsoll(&["accept", "--all"]).status, Some(4));

    let quiet = Project::new();
    quiet.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    assert_snapshot!(quiet.plimsoll(&["accept"]), @"
    nothing to accept in any scenario of the last run
    --- 0
    ");
    assert_snapshot!(quiet.plimsoll_with(&["accept"], &[("CI", "1")]), @"
    --- 2
    error: the variable CI is set: in CI nothing is accepted, because a person has to accept growth
      hint: run `cargo test --test leaks` and `plimsoll accept` where you work, and commit what changes
    ");
}

/// Who names no scenario accepts what is new, and says nothing anew of the rest.
#[test]
fn what_was_agreed_to_since_the_run_is_left_alone() {
    let project = leaky();
    let other = regressed("r1", "other", "main other::fill", RATE);
    project.leave(&other, 0);
    let first = [
        "accept",
        "lru_churn",
        "--reason",
        "A",
        "--expires",
        "2999-01-31",
    ];
    project.plimsoll(&first);
    let agreed = project.read("baselines/lru_churn.toml");
    let rest = project.plimsoll(&["accept", "--reason", "B", "--expires", "never"]);
    assert!(
        rest.stdout.contains("other: accepted 1 allowance"),
        "{rest}"
    );
    assert_eq!(project.read("baselines/lru_churn.toml"), agreed);
    assert!(project.read("baselines/other.toml").contains("\"B\""));
    let again = project.plimsoll(&["accept", "--reason", "C"]);
    assert_eq!(
        again.stdout, "nothing to accept in any scenario of the last run\n",
        "{again}"
    );
    // By its name, it is meant.
    project.plimsoll(&["accept", "lru_churn", "--reason", "C"]);
    assert!(project.read("baselines/lru_churn.toml").contains("\"C\""));
    // Another rate is new.
    let faster = Rate {
        bytes: 192.0,
        ..RATE
    };
    project.leave(&regressed("r1", "other", "main other::fill", faster), 0);
    let more = project.plimsoll(&["accept", "--reason", "D"]);
    assert!(
        more.stdout.contains("other: accepted 1 allowance"),
        "{more}"
    );
}

#[test]
fn a_name_that_another_package_has_and_does_not_need() {
    let project = leaky();
    let mut other = report("r2", "lru_churn", Verdict::Within);
    other.run.package = "other".to_owned();
    project.leave(&other, 1);
    let ran = project.plimsoll(&["accept"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(project.exists("baselines/lru_churn.toml"));
}

#[test]
fn what_another_test_of_that_name_uses_stays() {
    let project = Project::new();
    project.write("baselines/.keep", "");
    let allow = |stack: &str, rate: &str| {
        format!(
            "[[allow]]\nstack = ['{stack}']\nobjects = {rate}\nbytes = {rate}\nlaw = 'linear'\n"
        )
    };
    let file = format!(
        "format = 1\n{}{}",
        allow("main", "9.0"),
        allow("theirs", "9.0")
    );
    project.write("baselines/lru_churn.toml", &file);
    let found = |stack: &str, standing, rate: Rate| Finding {
        standing,
        allowed: Rate {
            objects: 9.0,
            bytes: 9.0,
        },
        verdict: Verdict::Within,
        ..finding(stack, rate)
    };
    let unused = |stack: &str| Finding {
        verdict: Verdict::Improved,
        levels: Vec::new(),
        ..found(stack, Standing::Stale, Rate::default())
    };
    let small = Rate {
        objects: 1.0,
        bytes: 1.0,
    };
    let leave = |package: &str, findings: Vec<Finding>| {
        let mut report = report(package, "lru_churn", Verdict::Improved);
        report.run.package = package.to_owned();
        report.findings = findings;
        project.leave(&report, 0);
    };
    let ours = || vec![found("main", Standing::Allowed, small), unused("theirs")];
    leave("demo", ours());
    // Of before there was that baseline.
    leave("other", Vec::new());
    let note = |what: &str| {
        format!(
            "note: lru_churn: the allowance of {what} stays: the scenario of that name of other \
             (test target leaks) has the same file, and may need it\n  \
             hint: a plimsoll.toml in the package's folder gives it baselines of its own\n"
        )
    };
    let ran = project.plimsoll(&["accept", "--lower", "--package", "demo"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(ran.stderr, note("theirs") + &note("main"));
    assert_eq!(project.read("baselines/lru_churn.toml"), file);

    leave(
        "other",
        vec![unused("main"), found("theirs", Standing::Allowed, small)],
    );
    let ran = project.plimsoll(&["accept", "--lower", "--package", "demo"]);
    assert_eq!(ran.stderr, note("theirs"));
    let written = project.read("baselines/lru_churn.toml");
    assert!(
        written.ends_with(&(allow("main", "1.0") + &allow("theirs", "9.0"))),
        "{written}"
    );

    leave("demo", ours());
    leave("other", vec![unused("main"), unused("theirs")]);
    let ran = project.plimsoll(&["accept", "--package", "demo"]);
    assert_eq!(ran.stderr, "");
    assert!(!project.read("baselines/lru_churn.toml").contains("theirs"));
}

#[test]
fn a_named_run_beside_a_report_that_cannot_be_read() {
    let project = leaky();
    project.write("target/plimsoll/other/leaks/lru_churn/report.json", "{");
    let ran = project.plimsoll(&["accept", "lru_churn"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(ran.stderr.contains("name a run with `--run r1`"), "{ran}");
    let ran = project.plimsoll(&["accept", "lru_churn", "--run", "r1"]);
    assert_eq!(ran.status, Some(0), "{ran}");
}

#[test]
fn a_reason_that_is_required() {
    let project = leaky();
    project.write("plimsoll.toml", "require-reason = true\n");
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 2
    error: lru_churn: an allowance has no reason
      expected one for lru::fill, as `require-reason = true` has it
      hint: give the reason with --reason
    ");
    assert!(!project.exists("baselines"));
    let ran = project.plimsoll(&["accept", "lru_churn", "--reason", "a pool"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    // The one that the file has by now will do.
    let ran = project.plimsoll(&["accept", "lru_churn"]);
    assert_eq!(ran.status, Some(0), "{ran}");
}

#[test]
fn an_older_run_is_not_taken_unasked() {
    let project = leaky();
    project.leave(&report("r2", "http::echo", Verdict::Within), 5);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 5
    error: lru_churn has no result: it left no report in this run
      hint: measure it with `cargo test --test leaks -- lru_churn`, or take an earlier run's with `--run r1`
    ");
    let ran = project.plimsoll(&["accept", "lru_churn", "--run", "r1"]);
    assert_eq!(ran.status, Some(0), "{ran}");
}

#[test]
fn expired() {
    let project = Project::new();
    project.write(
        "baselines/lru_churn.toml",
        "format = 1\n[[allow]]\nstack = ['main']\nobjects = 1.0\nbytes = 96.0\nlaw = 'linear'\n\
         expires = 2001-01-01\n",
    );
    let mut report = regressed("r1", "lru_churn", "main", RATE);
    report.findings[0].standing = Standing::Expired;
    report.findings[0].reason = Some("until the spring".to_owned());
    project.leave(&report, 0);
    // What it says to type is taken, with a day.
    let command = "cargo plimsoll accept lru_churn --expires YYYY-MM-DD";
    for format in ["text", "html"] {
        let shown = project.plimsoll(&["report", "--format", format]).stdout;
        assert!(shown.contains(command), "{shown}");
    }
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 2
    error: lru_churn: an allowance has expired
      its reason: until the spring
      hint: say until when it holds, with `--expires YYYY-MM-DD` or `--expires never`
    ");
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn", "--expires", "2020-02-30"]), @"
    --- 2
    error: invalid value '2020-02-30' for '--expires <DATE>': expected a day that is in the calendar, or `never`

    For more information, try '--help'.
    ");
    let ran = project.plimsoll(&["accept", "lru_churn", "--expires", "2002-01-01"]);
    assert_eq!(ran.status, Some(2), "{ran}");
    let ran = project.plimsoll(&["accept", "lru_churn", "--expires", "9999-01-01"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        project
            .read("baselines/lru_churn.toml")
            .ends_with("expires = 9999-01-01\n")
    );
    let ran = project.plimsoll(&["accept", "lru_churn", "--expires", "never"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(!project.read("baselines/lru_churn.toml").contains("expires"));
}

const AGREED: &str = "\
format = 1

# the old caller
[[allow]]
stack = [
    'main',
    'old', # calls it
    'lru::fill',
    'lru::put',
]
objects = 1.0
bytes = 96.0
law = 'linear'
reason = 'because'

# caches

# gone
[[allow]]
stack = ['...', 'cache::grow']
objects = 1.0
bytes = 96.0
law = 'linear'

[[allow]]
resource = 'threads'
objects = 1.0
law = 'linear'
expires = 2001-01-01
";

/// A stack that has another caller, and two allowances that nothing uses.
/// A project with allowances of a pattern and of threads, of which the pattern is used by
/// one stack, or by several.
fn patterned(finding: Finding) -> Project {
    let project = Project::new();
    project.write(
        "baselines/lru_churn.toml",
        "format = 1\n\n# all that is put\n[[allow]]\nstack = ['...', 'lru::put']\n\
         objects = 0.5\nbytes = 48.0\nlaw = 'linear'\nreason = 'the index'\n\
         expires = 2001-01-01\n\n[[allow]]\nresource = 'threads'\nobjects = 1.0\n\
         law = 'linear'\n",
    );
    let mut report = report("r1", "lru_churn", Verdict::Regressed);
    report.findings = vec![Finding {
        allowed: Rate {
            objects: 0.5,
            bytes: 48.0,
        },
        ..finding
    }];
    report.growth = ["one", "two"]
        .map(|caller| plimsoll_core::report::StackGrowth {
            stack: FoldedStack(vec![caller.to_owned(), "lru::put".to_owned()]),
            before: plimsoll_core::Tally::default(),
            after: plimsoll_core::Tally::default(),
            rate: RATE,
            error: None,
        })
        .to_vec();
    project.leave(&report, 0);
    project
}

#[test]
fn a_pattern_gets_the_new_rate() {
    let one = |standing| Finding {
        standing,
        ..finding("one lru::put", RATE)
    };
    let several = |standing| Finding {
        subject: Subject::Site {
            frames: FoldedStack(vec!["lru::put".to_owned()]),
            stacks: 2,
        },
        ..one(standing)
    };
    let accepted = |finding| {
        let project = patterned(finding);
        let ran = project.plimsoll(&["accept"]);
        assert_eq!(ran.status, Some(0), "{ran}");
        // By the same report again.
        let ran = project.plimsoll(&["accept"]);
        assert!(ran.stdout.contains("nothing changes"), "{ran}");
        let written = project.read("baselines/lru_churn.toml");
        written
            .split_once("# all that is put\n")
            .unwrap()
            .1
            .to_owned()
    };
    let of_one = accepted(one(Standing::Exceeded));
    assert_snapshot!(of_one, @"
    [[allow]]
    stack = ['...', 'lru::put']
    objects = 1.0
    bytes = 96.0
    law = 'linear'
    reason = 'the index'
    expires = 2001-01-01

    [[allow]]
    resource = 'threads'
    objects = 1.0
    law = 'linear'
    ");
    assert_eq!(accepted(several(Standing::Exceeded)), of_one);
    for finding in [one(Standing::Expired), several(Standing::Expired)] {
        let project = patterned(finding);
        let ran = project.plimsoll(&["accept", "--expires", "never", "--lower"]);
        assert_eq!(ran.status, Some(0), "{ran}");
        let written = project.read("baselines/lru_churn.toml");
        assert!(!written.contains("expires"), "{written}");
        assert_eq!(written.matches("[[allow]]").count(), 2, "{written}");
    }
    // A rate that a person has given it since then is theirs.
    let project = patterned(one(Standing::Exceeded));
    let file = project.read("baselines/lru_churn.toml");
    let file = file.replace("48.0", "4800.0");
    project.write("baselines/lru_churn.toml", &file);
    let ran = project.plimsoll(&["accept"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        project
            .read("baselines/lru_churn.toml")
            .contains("bytes = 4800.0"),
        "{ran}"
    );
}

#[test]
fn lower_and_expired_at_once() {
    let project = Project::new();
    project.write(
        "baselines/lru_churn.toml",
        "format = 1\n[[allow]]\nstack = ['main']\nobjects = 5.0\nbytes = 960.0\n\
         law = 'linear'\nexpires = 2001-01-01\n",
    );
    let mut report = regressed("r1", "lru_churn", "main", RATE);
    report.findings[0].standing = Standing::Expired;
    report.findings[0].allowed = Rate {
        objects: 5.0,
        bytes: 960.0,
    };
    project.leave(&report, 0);
    let ran = project.plimsoll(&["accept", "--lower", "--expires", "never"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let written = project.read("baselines/lru_churn.toml");
    assert!(
        written.contains("objects = 1.0\nbytes = 96.0\n"),
        "{written}"
    );
    assert!(
        ran.stdout
            .ends_with("lru_churn: accepted 1 allowance; commit the file\n"),
        "{ran}"
    );
}

fn settled(verdict: Verdict) -> plimsoll_core::report::Report {
    let unused = |subject, standing| Finding {
        verdict: Verdict::Improved,
        subject,
        frames: Vec::new(),
        rate: Rate::default(),
        standing,
        levels: Vec::new(),
        ..finding("", RATE)
    };
    let stack = |names: &str| FoldedStack(names.split(' ').map(str::to_owned).collect());
    let mut report = report("r1", "lru_churn", verdict);
    report.findings = vec![
        Finding {
            verdict: Verdict::Within,
            standing: Standing::Moved,
            moved_from: Some(stack("main old lru::fill lru::put")),
            ..finding("main new lru::fill lru::put", RATE)
        },
        unused(Subject::Stack(stack("... cache::grow")), Standing::Stale),
        unused(Subject::Threads, Standing::Expired),
    ];
    report
}

#[test]
fn moved_and_removed() {
    let project = Project::new();
    project.write("baselines/lru_churn.toml", AGREED);
    project.leave(&settled(Verdict::Improved), 0);
    let dry = project.plimsoll(&["accept", "lru_churn", "--dry-run"]);
    assert_eq!(project.read("baselines/lru_churn.toml"), AGREED);
    assert_snapshot!(dry.stdout.split_once("lru_churn: ").unwrap().1, @"
    would move lru::put from old to new
    lru_churn: would remove cache::grow, which no longer grows
    lru_churn: would remove threads, which no longer grows
    lru_churn: would move 1 allowance, remove 2
    ");
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @r#"
    baselines/lru_churn.toml
        stack = [
            'main',
      -     'old', # calls it
      +     "new", # calls it
            'lru::fill',
            'lru::put',
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
      - expires = 2001-01-01
    lru_churn: moved lru::put from old to new
    lru_churn: removed cache::grow, which no longer grows
    lru_churn: removed threads, which no longer grows
    lru_churn: moved 1 allowance, removed 2; commit the file
    --- 0
    "#);
    let written = project.read("baselines/lru_churn.toml");
    assert_snapshot!(written, @r#"
    format = 1

    # the old caller
    [[allow]]
    stack = [
        'main',
        "new", # calls it
        'lru::fill',
        'lru::put',
    ]
    objects = 1.0
    bytes = 96.0
    law = 'linear'
    reason = 'because'

    # caches
    "#);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    baselines/lru_churn.toml: has none of it any more, nothing changes
    --- 0
    ");
    let ran = project.plimsoll(&["accept", "lru_churn", "--reason", "another"]);
    assert_snapshot!(ran.stderr, @"
    note: no allowance was written, so --reason, --issue and --expires have no effect
      hint: edit the file
    ");
    assert_eq!(project.read("baselines/lru_churn.toml"), written);
}

#[test]
fn beside_growth() {
    let project = Project::new();
    project.write("baselines/lru_churn.toml", AGREED);
    let mut report = settled(Verdict::Regressed);
    report.findings.push(finding("main other", RATE));
    project.leave(&report, 0);
    // What goes may be what comes, by a name that nothing recognised.
    let words = "stack = ['...', 'cache::grow']\nreason = 'a cache'\nexpires = 2999-01-31";
    let written = AGREED.replace("stack = ['...', 'cache::grow']", words);
    project.write("baselines/lru_churn.toml", &written);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @r#"
    --- 2
    error: lru_churn: the allowance of cache::grow goes, and one of other is new: are they the same?
      its reason: a cache
      its last day: 2999-01-31
      hint: say of the new one what holds from now on, with `--reason "…"` and `--expires YYYY-MM-DD` or `--expires never`
    "#);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn", "--reason", "cache"]), @"
    --- 2
    error: lru_churn: the allowance of cache::grow goes, and one of other is new: are they the same?
      its last day: 2999-01-31
      hint: say of the new one what holds from now on, with `--expires YYYY-MM-DD` or `--expires never`
    ");
    let words = [
        "accept",
        "lru_churn",
        "--reason",
        "cache",
        "--expires",
        "never",
    ];
    let ran = project.plimsoll(&words);
    let last = ran.stdout.lines().last().unwrap();
    assert_snapshot!(last, @"lru_churn: accepted 1 allowance, moved 1, removed 2; commit the file");
}

#[test]
fn nothing_to_remove_from() {
    let project = Project::new();
    project.leave(&settled(Verdict::Improved), 0);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    baselines/lru_churn.toml: has none of it any more, nothing changes
    --- 0
    ");
    assert!(!project.exists("baselines"));
}

#[test]
fn a_baseline_that_cannot_be_read() {
    let project = leaky();
    project.write("baselines/lru_churn.toml", "format = 3\n");
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 5
    error: baselines/lru_churn.toml:1: written by a newer plimsoll
      expected format 1 or older, found 3
      hint: upgrade, or remove the file and re-record with `plimsoll accept lru_churn`
    ");
    project.write("baselines/lru_churn.toml", "format = 1\n[[alow]]\n");
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 5
    error: baselines/lru_churn.toml:2: unknown key `alow`
      expected one of `format`, `measured`, `allow`
      hint: did you mean `allow`?
    ");
    assert_eq!(
        project.read("baselines/lru_churn.toml"),
        "format = 1\n[[alow]]\n"
    );
}

#[cfg(unix)]
#[test]
fn modes_and_links() {
    use std::os::unix::fs::PermissionsExt;
    let project = leaky();
    let mode = || {
        project
            .path("baselines/lru_churn.toml")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
    };
    let ran = project.plimsoll(&["accept", "lru_churn"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    // As for any new file, so that others can read what is committed.
    assert_eq!(
        mode() & 0o777,
        project
            .path("Cargo.toml")
            .metadata()
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    );

    // A link in the place of a file is replaced, not written through.
    std::fs::rename(
        project.path("baselines/lru_churn.toml"),
        project.path("mine"),
    )
    .unwrap();
    std::os::unix::fs::symlink(
        project.path("mine"),
        project.path("baselines/lru_churn.toml"),
    )
    .unwrap();
    let mine = project.read("mine");
    let ran = project.plimsoll(&["accept", "lru_churn", "--reason", "new"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(project.read("mine"), mine);
    assert!(
        project
            .read("baselines/lru_churn.toml")
            .contains("reason = \"new\"")
    );
}

#[test]
fn a_package_of_elsewhere() {
    let project = Project::new();
    let mut report = regressed("r1", "lru_churn", "main", RATE);
    report.run.package = "elsewhere".to_owned();
    project.leave(&report, 0);
    assert_snapshot!(project.plimsoll(&["accept", "lru_churn"]), @"
    --- 2
    error: lru_churn is a scenario of the package elsewhere, which is not in this workspace
      hint: say where it is with --manifest-path
    ");
    // Beside one of this workspace, it is another's that has the same target directory.
    project.leave(&regressed("r2", "lru_churn", "main", RATE), 0);
    let ran = project.plimsoll(&["accept", "--dry-run"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran}");
    assert!(
        ran.stdout.contains("baselines/lru_churn.toml (new)"),
        "{ran}"
    );
    let named = project.plimsoll(&["accept", "--dry-run", "lru_churn"]);
    assert_eq!(named.stdout, ran.stdout);
    let asked = project.plimsoll(&["accept", "--dry-run", "--package", "elsewhere"]);
    assert!(asked.stderr.contains("not in this workspace"), "{asked}");
}
