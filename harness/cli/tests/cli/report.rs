//! `plimsoll report`, the real binary over reports made by hand.

use insta::assert_snapshot;
use plimsoll_core::Resource;
use plimsoll_core::Tally;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, Standing, Subject, Survivors, text};

use crate::project::{
    self, CARGO_PLIMSOLL, Project, RATE, Ran, of_test, rate, regressed, sample, set_time, within,
};

/// The lines that begin a scenario, or say something of the run.
fn heads(ran: &Ran) -> String {
    let lines = ran.stdout.lines();
    let heads = lines.filter(|line| !line.is_empty() && !line.starts_with(' '));
    heads.collect::<Vec<_>>().join("\n")
}

#[test]
fn one_run_together() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let echo = regressed("r1", "http::echo", "main echo", RATE);
    project.leave(&echo, 1);
    let ran = project.ok("report");
    assert_snapshot!(heads(&ran), @r#"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    http::echo: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B)
    2 scenarios: 1 within, 1 regressed (run r1)
    "#);
    let in_full = text::render(&echo, &text::Style::plain());
    ran.has(0, &[&format!("\n\n{in_full}\n2 scenarios")]);
    project.leave(&within("r1", "idle"), 2);
    project.write("lru_churn/mod.rs", "");
    let lines = [
        "report lru_churn",
        "report idle target/plimsoll lru_churn",
        "report lru",
        "report ./lru_churn",
    ];
    assert_snapshot!(project.said(&lines), @"
    > report lru_churn
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent

    1 scenario: 1 within (run r1)
    --- 0
    > report idle target/plimsoll lru_churn
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    idle: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent

    2 scenarios: 2 within (run r1)
    --- 0
    > report lru
    --- 2
    error: no scenario lru in the last run, and no such file or folder
      expected one of: http::echo, idle, lru_churn
    > report ./lru_churn
    --- 5
    error: no reports in ./lru_churn
      hint: measure first, with `cargo test --test leaks`
    ");
}

#[test]
fn what_is_within_and_remarkable_is_not_one_line() {
    let mut large = regressed("r1", "http::echo", "main echo", RATE);
    large.verdict = Verdict::Within;
    large.findings[0].verdict = Verdict::Within;
    large.findings[0].standing = Standing::Allowed;
    large.findings[0].allowed = rate(3.0, 200.0);
    large.notes = vec!["the allowance of echo is larger".to_owned()];
    let says = ["\n  note: the allowance of echo is larger\n"];
    Project::with(&[large]).says("report", 0, &says);
}

#[test]
fn a_verdict_is_explained() {
    let mut grows = regressed("r1", "lru_churn", "main lru::fill lru::put", RATE);
    grows.rungs = [256, 512, 1_024].map(sample::rung).to_vec();
    let finding = &mut grows.findings[0];
    let tally = |objects| Tally {
        objects,
        bytes: 96 * objects,
    };
    finding.levels = [1_256, 1_512, 2_024].map(tally).into();
    let born = |(from, allocated, alive)| Survivors {
        from,
        to: 256.max(2 * from),
        allocated: Some(allocated),
        alive: tally(alive),
    };
    let octaves = [(0, 2_256, 1_256), (256, 1_256, 256), (512, 1_512, 512)];
    finding.survivors = octaves.map(born).into();
    let mut threads = finding.clone();
    threads.subject = Subject::Resource(Resource::Threads);
    threads.frames = Vec::new();
    threads.survivors = Vec::new();
    threads.verdict = Verdict::Inconclusive;
    threads.error.objects = 0.25;
    grows.findings.push(threads);
    let project = Project::with(&[grows]);
    let explained = project.ok("report --explain").stdout;
    let (stack, threads) = explained.split_once("\n\nlru_churn\n").unwrap();
    let (_, stack) = stack.split_once("What was alive").unwrap();
    assert_snapshot!(stack, @"
     at the last rungs (dumps)?
        iterations  objects    bytes
               256    1,256  118 KiB
               512    1,512  142 KiB
             1,024    2,024  190 KiB
      Who stayed, by the octave (doubling of the iterations) of birth?
        born in iterations  allocated  still alive
                     1–256      2,256        1,256
                   257–512      1,256          256
                 513–1,024      1,512          512
      How fast does it grow, per iteration?
        +1.00 objects, linear
        +96 B, linear
      How much does the baseline allow, per iteration?
        0.00 objects, 0 B: not in the baseline
      From which rate on is it growth, per iteration?
        threshold: 1 object per 1,000 iterations
        cut: what is allowed and half of the threshold, 0.00050 objects, 0.004 B
      What is the verdict?
        regressed: it rose for three octaves, at a rate above the cut
    ");
    for said in [
        "iterations  number\n           256   1,256\n",
        "    +1.00 ± 0.25, linear\n",
        "half of the threshold, 0.00050\n",
        "    inconclusive: its rate may be above the cut, or below it\n",
    ] {
        assert!(threads.contains(said), "{said}: {threads}");
    }
    project
        .says("report --explain=lru::put", 0, &["lru::fill"])
        .lacks(&["threads"]);
    let says = ["'--explain[=<PART>]' cannot be used with '--format <FORMAT>'"];
    let json = project.typed("report --explain --format json");
    json.has(2, &says);
    assert_snapshot!(project.typed("report --explain=nothing"), @"
    --- 5
    error: no finding has a stack that contains `nothing`
      expected a part of one of:
      lru_churn: main;lru::fill;lru::put
      lru_churn: threads
      hint: `PLIMSOLL_EXPLAIN=PART` around `cargo test` explains what passed, too
    ");
    let nothing = "no scenario has a finding: there is nothing to explain\n";
    let quiet = Project::with(&[within("r1", "lru_churn")]);
    assert_eq!(quiet.ok("report --explain").stdout, nothing);
}

#[test]
fn the_newest_run_alone() {
    let project = Project::with(&[within("old", "lru_churn")]);
    project.leave(&within("new", "http::echo"), 1);
    assert_snapshot!(project.said(&["report", "report --run none"]), @"
    > report
    http::echo: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    lru_churn: no result, it left no report in this run

    2 scenarios: 1 within, 1 no result (run new)
    --- 0
    note: 1 report of other runs left out
    > report --run none
    --- 5
    error: target/plimsoll: no report of run none
      runs that left reports: new, old
    ");
    let says = ["2 scenarios: 1 within, 1 no result (run old)"];
    project.says("report --run old", 0, &says);
    // As old as each other, the last id is taken.
    let project = Project::with(&[within("b", "lru_churn"), within("a", "http::echo")]);
    project.says("report", 0, &["(run b)"]);
}

#[test]
fn what_a_filter_left_out_is_shown_of_an_older_run() {
    let listed = |mut report: Report| {
        let names = "lru_churn http::echo slow".split(' ');
        report.run.scenarios = names.map(str::to_owned).collect();
        report
    };
    let grows = listed(regressed("old", "http::echo", "main echo", RATE));
    let project = Project::with(&[listed(within("oldest", "lru_churn")), grows]);
    let mut new = listed(within("new", "slow"));
    // A run that does not say what it selected may have lost the others.
    project.leave(&new, 1);
    let lost = "2 no result (run new)";
    project.says("report", 0, &[lost]);
    new.run.selected = Some(vec!["slow".to_owned()]);
    project.leave(&new, 2);
    assert_snapshot!(heads(&project.ok("report")), @"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent (run oldest, older than this run)
    http::echo: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B) in echo at src/lib.rs:7 (1,024 iterations, every allocation counted) (run old, older than this run)
    slow: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    3 scenarios: 1 within, 2 of older runs (run new)
    ");
    let in_full = "(run old, older than this run)\nhttp::echo: keeps growing";
    project.says("report --all", 0, &[in_full]);
    project.says("report --run new", 0, &[lost]);
    let json = project.ok("report --format json").json();
    assert_eq!(json["verdict"], "no result");
    assert_eq!(
        json["scenarios"][1]["problem"],
        "a filter left it out of this run; in the older run old it was regressed"
    );
    // What was selected has no result, whatever it was before.
    new.run.selected = Some(vec!["slow".to_owned(), "lru_churn".to_owned()]);
    project.leave(&new, 3);
    let says = "lru_churn: no result, it left no report in this run";
    project.says("report", 0, &[says, "1 of older runs"]);
}

#[test]
fn several_targets_in_a_stable_order() {
    let tests = [("other", "leaks"), ("demo", "slow"), ("demo", "leaks")];
    let reports =
        tests.map(|(package, target)| of_test(package, target, within("r1", "http::echo")));
    let joined = Project::with(&reports).ok("report --format json").json();
    let scenarios = joined["scenarios"].as_array().unwrap().iter();
    let said = scenarios.map(|one| {
        let keys = ["package", "target", "scenario", "verdict"];
        keys.map(|key| one[key].as_str().unwrap()).join(" ")
    });
    assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @"
    demo leaks lru_churn no result
    demo leaks http::echo within
    demo slow lru_churn no result
    demo slow http::echo within
    other leaks lru_churn no result
    other leaks http::echo within
    ");
}

#[test]
fn one_scenario_alone() {
    let project = Project::new();
    let path = project.leave(&regressed("r1", "lru_churn", "main echo", RATE), 0);
    // A person who names one file asks for that scenario, and for no other.
    let ran = project.plimsoll(&["report", path.to_str().unwrap()]);
    assert!(ran.stdout.starts_with("lru_churn: keeps growing"), "{ran}");
    ran.has(0, &["\n1 scenario: 1 regressed (run r1)\n--- 0\n"]);
}

#[test]
fn a_joined_report_is_as_good_as_its_folder() {
    let project = Project::with(&[regressed("r1", "lru_churn", "main echo", RATE)]);
    let ran = project.typed("report --format json --output joined.json");
    assert_eq!(ran.to_string(), "--- 0\n");
    for format in ["text", "json", "sarif", "junit"] {
        let of = |path: &str| project.typed(&format!("report {path} --format {format}"));
        let all = of("").has(0, &[]);
        assert_eq!(of("joined.json").to_string(), all.to_string(), "{format}");
    }
}

#[test]
fn growth_is_compared_with_a_run_of_the_base() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    project.leave(&regressed("r1", "http::echo", "main echo", RATE), 1);
    project.ok("report --format json --output main.json");
    project.leave(&regressed("r1", "lru_churn", "main put", RATE), 2);
    let ran = project.ok("report --base-report main.json");
    let (_, compared) = ran.stdout.split_once("(run r1)\n").unwrap();
    assert_snapshot!(compared, @"
    compared with main
      lru_churn, in put at src/lib.rs:7: New in this pull request.
      http::echo, in echo at src/lib.rs:7: Already on main.
    ");
}

#[test]
fn the_output_takes_the_place_of_a_file() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    project.write("out.txt", &"long ".repeat(1_000));
    let shown = project.typed("report").stdout;
    for path in ["out.txt", "new/out.txt"] {
        let ran = project.typed(&format!("report -o {path}"));
        assert_eq!(ran.to_string(), "--- 0\n");
        assert_eq!(project.read(path), shown);
    }
    project.says("report -o out.txt/out.txt", 5, &["out.txt"]);
    // What could not be read leaves nothing behind.
    project.says("report missing -o new.txt", 2, &[]);
    assert!(!project.exists("new.txt"));
}

#[test]
fn a_folder_and_a_file_stand_beside_each_other() {
    let on = |run: &str, platform: &str| {
        let mut one = within(run, "lru_churn");
        one.measured.as_mut().unwrap().target = platform.to_owned();
        Project::with(&[one])
    };
    let project = on("p1", "x86_64");
    let other = on("p2", "aarch64").ok("report --format json").stdout;
    project.write("other.json", &other);
    // What the one has measured is no result of the other.
    let both = ["4 scenarios: 2 within, 2 no result (runs p1, p2)"];
    project.says("report target/plimsoll other.json", 0, &both);
}

#[test]
fn what_is_no_report() {
    let project = Project::new();
    project.write("empty.json", "");
    project.write("folder/readme", "");
    let lines = ["report empty.json", "report", "report folder"];
    assert_snapshot!(project.said(&lines), @"
    > report empty.json
    --- 5
    error: empty.json cannot be read as a report: line 1, column 0: EOF while parsing a value
    > report
    --- 5
    error: no reports in target/plimsoll: there is no such file or folder
      hint: measure first, with `cargo test --test leaks`
    > report folder
    --- 5
    error: no reports in folder
      hint: measure first, with `cargo test --test leaks`
    ");
    // One that cannot be read is not passed over for one that can.
    project.leave(&within("r1", "lru_churn"), 0);
    let ran = project.typed("report target/plimsoll empty.json");
    assert_eq!(ran.has(5, &[]).stdout, "");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let project = Project::new();
    let path = project.leave(&within("r1", "lru_churn"), 0);
    symlink(&path, project.path("link.json")).unwrap();
    assert_snapshot!(project.typed("report link.json"), @"
    --- 5
    error: link.json is not a regular file
    ");
    let dir = path.parent().unwrap();
    std::fs::rename(dir, project.path("elsewhere")).unwrap();
    symlink(project.path("elsewhere"), dir).unwrap();
    project.says("report", 5, &[]);
}

#[test]
fn a_folder_from_elsewhere() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let (reports, shard) = (project.path("target/plimsoll"), project.path("shard 1"));
    std::fs::rename(&reports, &shard).unwrap();
    project.ok("report .");
    // Without a project around it, `target/plimsoll` is where one would look.
    std::fs::remove_file(project.path("Cargo.toml")).unwrap();
    std::fs::rename(shard, reports).unwrap();
    project.ok("report");
}

#[test]
fn an_unreadable_report_is_no_result() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let path = project.leave(&within("r1", "http::echo"), 1);
    std::fs::write(&path, "{\"version\": 1, \u{1b}[2J").unwrap();
    let says = ["http::echo: no result, its report cannot be read: "];
    project.says("report", 0, &says).lacks(&["\u{1b}"]);
}

#[test]
fn an_unreadable_report_of_an_unknown_run_is_not_passed_over() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let path = "target/plimsoll/other/leaks/x/report.json";
    project.write(path, "{\"version\": 3}");
    set_time(&project.path(path), 1);
    assert_snapshot!(project.typed("report"), @"
    --- 5
    error: target/plimsoll/other/leaks/x/report.json: written by a newer plimsoll: expected format 2 or older, found 3
      it is newer than every report that can be read
      hint: measure again with `cargo test --test leaks`, or name a run with `--run r1`
    ");
    // It was there before: not this run's.
    set_time(&project.path(path), 0);
    let ran = project.ok("report");
    let warning = format!("warning: {path}: ");
    assert!(ran.stderr.starts_with(&warning), "{ran}");
}

#[test]
fn colours_where_they_are_wanted() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    for (variables, has_colours) in [
        ("", false),
        ("CLICOLOR_FORCE=1", true),
        ("CLICOLOR_FORCE=1 NO_COLOR=1", false),
    ] {
        let ran = project.typed(&format!("{variables} report"));
        assert_eq!(ran.stdout.contains('\u{1b}'), has_colours, "{ran}");
    }
}

/// `plimsoll report`, whose standard output that is.
#[cfg(unix)]
fn printed_to(project: &Project, to: impl Into<std::process::Stdio>) -> Ran {
    let mut command = project.command(project::PLIMSOLL);
    let output = command.arg("report").stdout(to).output();
    project.ran(output.unwrap())
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    printed_to(&project, writer).has(0, &[]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let project = Project::with(&[within("r1", "lru_churn")]);
    let shown = project.typed("report").stdout;
    let to = |output: &str, redirect: &str| {
        let script = format!("\"$0\" report --output {output} {redirect}");
        project
            .run("sh", &["-c", &script, project::PLIMSOLL], &[])
            .has(0, &[]);
    };
    project.run("mkfifo", &["pipe"], &[]).has(0, &[]);
    to("pipe", "& cat pipe > read; wait $!");
    assert_eq!(project.read("read"), shown);
    let kind = std::fs::symlink_metadata(project.path("pipe")).unwrap();
    assert!(kind.file_type().is_fifo());
    // Standard output by name, where a failure of this test cannot replace it.
    to("/proc/self/fd/1", "| cat > piped");
    assert_eq!(project.read("piped"), shown);
    project.write("file", "before\n");
    to("/proc/self/fd/1", ">> file");
    assert_eq!(project.read("file"), format!("before\n{shown}"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_to_be_one() {
    let project = Project::with(&[within("r1", "lru_churn")]);
    let full = std::fs::File::options().write(true).open("/dev/full");
    assert_snapshot!(printed_to(&project, full.unwrap()), @"
    --- 5
    error: cannot write to standard output: No space left on device (os error 28)
    ");
}

#[test]
fn usage() {
    let project = Project::new();
    for (line, status) in [("", 2), ("--help", 0), ("report --format xml", 2)] {
        project.says(line, status, &[]);
    }
    let similar = ["unrecognized subcommand 'repot'", "'accept', 'report'"];
    project.says("repot", 2, &similar);
    // It has no --pr and no --sha, and no comment to print.
    let needs = ["  needs: GITHUB_TOKEN in the environment, and --repo OWNER/NAME; for another"];
    project.says("prune-images", 2, &needs);
    let usage = ["Usage: cargo plimsoll report [OPTIONS] [SCENARIO|DIR|FILE]..."];
    let args = ["plimsoll", "report", "-h"];
    project.run(CARGO_PLIMSOLL, &args, &[]).has(0, &usage);
}
