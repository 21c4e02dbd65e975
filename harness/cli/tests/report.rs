//! `plimsoll report`, the real binary over reports made by hand.

mod project;

use insta::assert_snapshot;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Rung, Standing, Subject, Survivors};
use plimsoll_core::{Rate, Tally};

use project::{Project, regressed, report, set_time};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 96.0,
};

#[test]
fn one_run_together() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    project.leave(&regressed("r1", "http::echo", "main echo", RATE), 1);
    assert_snapshot!(project.plimsoll(&["report"]), @"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent

    http::echo: 1 stack keeps growing (1,024 iterations, exact)

      +96 B  +1.00 objects per iteration, linear     allowed 0 B     new
        echo                                          src/lib.rs:7
        └ main                                        src/lib.rs:7

      at 1,000 iterations a second: 1 GiB in 3.1 h
      a cache larger than the ladder reached looks like this too: make it smaller in
      the scenario, or raise the budget

      files: target/plimsoll/demo/leaks/http::echo/
      if this is intended: cargo plimsoll accept http::echo

    2 scenarios: 1 within, 1 regressed (run r1)
    --- 0
    ");
}

#[test]
fn what_can_be_done_about_an_allowance() {
    let project = Project::new();
    let mut stale = regressed("r1", "lru_churn", "main old::fill", RATE);
    stale.verdict = Verdict::Improved;
    stale.findings[0] = Finding {
        verdict: Verdict::Improved,
        frames: Vec::new(),
        rate: Rate::default(),
        allowed: RATE,
        standing: Standing::Stale,
        levels: Vec::new(),
        ..stale.findings[0].clone()
    };
    project.leave(&stale, 0);
    let mut large = regressed("r1", "http::echo", "main echo", RATE);
    large.verdict = Verdict::Within;
    large.findings[0].verdict = Verdict::Within;
    large.findings[0].standing = Standing::Allowed;
    large.findings[0].allowed.bytes = 200.0;
    large.findings[0].allowed.objects = 3.0;
    large.notes = vec!["the allowance of echo is larger".to_owned()];
    project.leave(&large, 0);
    assert_snapshot!(project.plimsoll(&["report"]), @"
    lru_churn: 1 allowance is no longer needed (1,024 iterations, exact); the budget
      was spent

      no longer grows                              allowed 96 B, 1.00 objects  stale
        old::fill
        └ main

      files: target/plimsoll/demo/leaks/lru_churn/
      to remove what is stale: cargo plimsoll accept lru_churn
      it stands in: baselines/lru_churn.toml

    http::echo: 1,024 iterations, 1 stack grows within its allowance; would have
      seen 1 object per 1,000 iterations; the budget was spent
      note: the allowance of echo is larger

    2 scenarios: 1 within, 1 improved (run r1)
    --- 0
    ");
}

#[test]
fn a_verdict_is_explained() {
    let project = Project::new();
    let mut grows = regressed("r1", "lru_churn", "main lru::fill lru::put", RATE);
    grows.rungs = (0..3)
        .map(|octave| Rung {
            iterations: 256 << octave,
            ..grows.rungs[0].clone()
        })
        .collect();
    let finding = &mut grows.findings[0];
    let tally = |objects| Tally {
        objects,
        bytes: 96 * objects,
    };
    finding.levels = vec![tally(1_256), tally(1_512), tally(2_024)];
    let born = |from, to, allocated, alive| Survivors {
        from,
        to,
        allocated: Some(allocated),
        alive: tally(alive),
    };
    finding.survivors = vec![
        born(0, 256, 2_256, 1_256),
        born(256, 512, 1_256, 256),
        born(512, 1_024, 1_512, 512),
    ];
    let mut threads = finding.clone();
    threads.subject = Subject::Threads;
    threads.frames = Vec::new();
    threads.survivors = Vec::new();
    threads.verdict = Verdict::Inconclusive;
    threads.error.objects = 0.25;
    grows.findings.push(threads);
    project.leave(&grows, 0);
    assert_snapshot!(project.plimsoll(&["report", "--explain"]), @"
    lru_churn

      +96 B  +1.00 objects per iteration, linear     allowed 0 B     new
        lru::put                                      src/lib.rs:7
        └ lru::fill                                   src/lib.rs:7
          └ main                                      src/lib.rs:7
        born in iterations 257–512: 1,256 allocated, 256 alive at 1,024

      What was alive at the last rungs (dumps)?
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

    lru_churn

      +1.00 threads per iteration, linear            allowed 0       new

      What was alive at the last rungs (dumps)?
        iterations  number
               256   1,256
               512   1,512
             1,024   2,024
      How fast does it grow, per iteration?
        +1.00 ± 0.25, linear
      How much does the baseline allow, per iteration?
        0.00: not in the baseline
      From which rate on is it growth, per iteration?
        threshold: 1 object per 1,000 iterations
        cut: what is allowed and half of the threshold, 0.00050
      What is the verdict?
        inconclusive: its rate may be above the cut, or below it

    --- 0
    ");
    let part = project.plimsoll(&["report", "--explain=lru::put"]);
    assert!(part.stdout.contains("lru::fill"), "{part}");
    assert!(!part.stdout.contains("threads"), "{part}");
    assert_snapshot!(project.plimsoll(&["report", "--explain=nothing"]), @"
    --- 5
    error: no finding has a stack that contains `nothing`
      expected a part of one of:
      lru_churn: main;lru::fill;lru::put
      lru_churn: threads
      hint: `PLIMSOLL_EXPLAIN=PART` around `cargo test` explains what passed, too
    ");
    assert_snapshot!(project.plimsoll(&["report", "--explain", "--format", "json"]), @"
    --- 2
    error: the argument '--explain[=<PART>]' cannot be used with '--format <FORMAT>'

    Usage: plimsoll report --explain[=<PART>] [DIR|FILE]...

    For more information, try '--help'.
    ");
}

#[test]
fn without_findings_nothing_is_explained() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    assert_snapshot!(project.plimsoll(&["report", "--explain"]), @"
    no scenario has a finding: there is nothing to explain
    --- 0
    ");
}

#[test]
fn what_left_no_report_has_no_result() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    assert_snapshot!(project.plimsoll(&["report"]), @"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    http::echo: no result, it left no report in this run

    2 scenarios: 1 within, 1 no result (run r1)
    --- 0
    ");
}

#[test]
fn the_newest_run_alone() {
    let project = Project::new();
    project.leave(&report("old", "lru_churn", Verdict::Within), 0);
    project.leave(&report("new", "http::echo", Verdict::Within), 1);
    assert_snapshot!(project.plimsoll(&["report"]), @"
    lru_churn: no result, it left no report in this run
    http::echo: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent

    2 scenarios: 1 within, 1 no result (run new)
    --- 0
    note: 1 report of other runs left out
    ");
    assert_snapshot!(project.plimsoll(&["report", "--run", "old"]), @"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    http::echo: no result, it left no report in this run

    2 scenarios: 1 within, 1 no result (run old)
    --- 0
    note: 1 report of other runs left out
    ");
    assert_snapshot!(project.plimsoll(&["report", "--run", "none"]), @"
    --- 5
    error: target/plimsoll: no report of run none
      runs that left reports: new, old
    ");
}

#[test]
fn as_old_as_each_other_the_last_id_is_taken() {
    let project = Project::new();
    project.leave(&report("b", "lru_churn", Verdict::Within), 0);
    project.leave(&report("a", "http::echo", Verdict::Within), 0);
    let ran = project.plimsoll(&["report"]);
    assert!(ran.stdout.contains("(run b)"), "{ran}");
}

#[test]
fn json() {
    let project = Project::new();
    let path = project.leave(&regressed("r1", "lru_churn", "main fill", RATE), 0);
    let ran = project.plimsoll(&["report", "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let joined: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let one = std::fs::read(path).unwrap();
    let mut one: serde_json::Value = serde_json::from_slice(&one).unwrap();
    // The joined report has the list itself.
    one["run"]["scenarios"] = serde_json::json!([]);
    assert_eq!(joined["scenarios"][0]["report"], one);
    let (head, rest) = ran.stdout.split_once("\"report\": {").unwrap();
    let (_, tail) = rest.split_once("\n      }\n    },").unwrap();
    assert_snapshot!(format!("{head}…{tail}"), @r#"
    {
      "version": 1,
      "plimsoll": "0.1.0",
      "runs": [
        "r1"
      ],
      "source": null,
      "verdict": "regressed",
      "scenarios": [
        {
          "package": "demo",
          "target": "leaks",
          "scenario": "lru_churn",
          "platform": "x86_64-unknown-linux-gnu",
          "verdict": "regressed",
          "problem": null,
          …
        {
          "package": "demo",
          "target": "leaks",
          "scenario": "http::echo",
          "platform": "x86_64-unknown-linux-gnu",
          "verdict": "no result",
          "problem": "it left no report in this run",
          "report": null
        }
      ]
    }
    "#);
}

#[test]
fn json_of_what_has_no_result_is_not_green() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let ran = project.plimsoll(&["report", "--format", "json"]);
    assert!(
        ran.stdout.contains("\n  \"verdict\": \"no result\","),
        "{ran}"
    );
    project.leave(&report("r1", "http::echo", Verdict::Improved), 0);
    let ran = project.plimsoll(&["report", "--format", "json"]);
    assert!(
        ran.stdout.contains("\n  \"verdict\": \"improved\","),
        "{ran}"
    );
}

#[test]
fn several_targets_in_a_stable_order() {
    let project = Project::new();
    for (package, target) in [("other", "leaks"), ("demo", "slow"), ("demo", "leaks")] {
        let mut report = report("r1", "http::echo", Verdict::Within);
        report.run.package = package.to_owned();
        report.run.target = target.to_owned();
        project.leave(&report, 0);
    }
    let ran = project.plimsoll(&["report", "--format", "json"]);
    let joined: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let scenarios = joined["scenarios"].as_array().unwrap().iter();
    let order = scenarios.map(|one| {
        let word = |key: &str| one[key].as_str().unwrap().to_owned();
        [
            word("package"),
            word("target"),
            word("scenario"),
            word("verdict"),
        ]
        .join(" ")
    });
    assert_snapshot!(order.collect::<Vec<_>>().join("\n"), @"
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
    let ran = project.plimsoll(&["report", path.to_str().unwrap()]);
    // A person who names one file asks for that scenario, and for no other.
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stdout.starts_with("lru_churn: 1 stack keeps growing"),
        "{ran}"
    );
    assert!(
        ran.stdout.ends_with("\n1 scenario: 1 regressed (run r1)\n"),
        "{ran}"
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_joined_report_is_as_good_as_its_folder() {
    let project = Project::new();
    project.leave(&regressed("r1", "lru_churn", "main echo", RATE), 0);
    for format in ["text", "json", "sarif", "junit"] {
        let all = project.plimsoll(&["report", "--format", format]);
        assert_eq!(all.status, Some(0), "{all}");
        let ran = project.plimsoll(&["report", "--format", "json", "--output", "joined.json"]);
        assert_eq!(ran.to_string(), "--- 0\n");
        let read = project.plimsoll(&["report", "joined.json", "--format", format]);
        assert_eq!(read.to_string(), all.to_string(), "{format}");
    }
}

#[test]
fn the_output_takes_the_place_of_a_file() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    project.write("out.txt", &"long ".repeat(1_000));
    let shown = project.plimsoll(&["report"]);
    let ran = project.plimsoll(&["report", "-o", "out.txt"]);
    assert_eq!(ran.to_string(), "--- 0\n");
    assert_eq!(project.read("out.txt"), shown.stdout);
    let ran = project.plimsoll(&["report", "-o", "new/out.txt"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(project.read("new/out.txt"), shown.stdout);
    let ran = project.plimsoll(&["report", "-o", "out.txt/out.txt"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(ran.stderr.contains("out.txt"), "{ran}");
    // What could not be read leaves nothing behind.
    let ran = project.plimsoll(&["report", "missing", "-o", "new.txt"]);
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(!project.exists("new.txt"));
}

/// A joined report in a file, of one run of one scenario on one platform.
fn shard(project: &Project, run: &str, platform: &str, scenario: &str, verdict: Verdict) -> String {
    let elsewhere = Project::new();
    let mut one = report(run, scenario, verdict);
    one.measured.as_mut().unwrap().target = platform.to_owned();
    elsewhere.leave(&one, 0);
    let ran = elsewhere.plimsoll(&["report", "--format", "json"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let file = format!("{run}.json");
    project.write(&file, &ran.stdout);
    file
}

#[test]
fn shards_complete_each_other() {
    let project = Project::new();
    let one = shard(&project, "s1", "x86_64", "lru_churn", Verdict::Within);
    let other = shard(&project, "s2", "x86_64", "http::echo", Verdict::Within);
    let ran = project.plimsoll(&["report", &one, &other]);
    assert_snapshot!(ran, @"
    lru_churn: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent
    http::echo: 1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent

    2 scenarios: 2 within (runs s1, s2)
    --- 0
    ");
    // Their order does not matter.
    assert_eq!(
        project.plimsoll(&["report", &other, &one]).to_string(),
        ran.to_string()
    );
}

#[test]
fn platforms_stand_beside_each_other() {
    let project = Project::new();
    let one = shard(&project, "p1", "x86_64", "lru_churn", Verdict::Within);
    let other = shard(&project, "p2", "aarch64", "lru_churn", Verdict::Within);
    let json = project.plimsoll(&["report", &one, &other, "--format", "json"]);
    let joined: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let word = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap().to_owned();
    let scenarios = joined["scenarios"].as_array().unwrap().iter();
    let scenarios = scenarios.map(|one| {
        ["scenario", "platform", "verdict"]
            .map(|key| word(one, key))
            .join(" ")
    });
    // What the one has measured is no result of the other.
    assert_snapshot!(scenarios.collect::<Vec<_>>().join("\n"), @"
    lru_churn x86_64 within
    http::echo x86_64 no result
    lru_churn aarch64 within
    http::echo aarch64 no result
    ");
    assert_eq!(joined["verdict"], "no result");
    assert_eq!(joined["runs"], serde_json::json!(["p1", "p2"]));
}

#[test]
fn a_folder_and_a_file_together() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let file = shard(
        &project,
        "r2",
        "x86_64-unknown-linux-gnu",
        "http::echo",
        Verdict::Broken,
    );
    let ran = project.plimsoll(&["report", "target/plimsoll", &file]);
    assert_eq!(ran.status, Some(0), "{ran}");
    let last = ran.stdout.lines().last().unwrap();
    assert_snapshot!(last, @"2 scenarios: 1 within, 1 broken (runs r1, r2)");
}

#[test]
fn a_file_that_is_no_report() {
    let project = Project::new();
    project.write("empty.json", "");
    project.write("other.json", "{\"version\": 1}");
    project.write("newer.json", "{\"version\": 2, \"runs\": []}");
    project.write("cut.json", "{\"version\": 1, \"runs\": [\"r1\"");
    assert_snapshot!(project.plimsoll(&["report", "empty.json"]), @"
    --- 5
    error: empty.json cannot be read as a report: line 1, column 0: EOF while parsing a value
    ");
    assert_snapshot!(project.plimsoll(&["report", "other.json"]), @"
    --- 5
    error: other.json cannot be read as a report: line 1, column 14: missing field `run`
    ");
    assert_snapshot!(project.plimsoll(&["report", "newer.json"]), @"
    --- 5
    error: newer.json cannot be read as a report: written by a newer plimsoll: expected format 1 or older, found 2
    ");
    assert_snapshot!(project.plimsoll(&["report", "cut.json"]), @"
    --- 5
    error: cut.json cannot be read as a report: line 1, column 28: EOF while parsing a list
    ");
    assert_snapshot!(project.plimsoll(&["report", "missing.json"]), @"
    --- 5
    error: no reports in missing.json: there is no such file or folder
      hint: measure first, with `cargo test --test leaks`
    ");
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    // One that cannot be read is not passed over for one that can.
    let ran = project.plimsoll(&["report", "target/plimsoll", "empty.json"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(5), ""), "{ran}");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let project = Project::new();
    let path = project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    std::os::unix::fs::symlink(path, project.path("link.json")).unwrap();
    assert_snapshot!(project.plimsoll(&["report", "link.json"]), @"
    --- 5
    error: link.json is not a regular file
    ");
}

#[test]
fn without_reports() {
    let project = Project::new();
    assert_snapshot!(project.plimsoll(&["report"]), @"
    --- 5
    error: no reports in target/plimsoll: there is no such file or folder
      hint: measure first, with `cargo test --test leaks`
    ");
    std::fs::create_dir_all(project.path("target/plimsoll")).unwrap();
    assert_snapshot!(project.plimsoll(&["report"]), @"
    --- 5
    error: no reports in target/plimsoll
      hint: measure first, with `cargo test --test leaks`
    ");
}

#[test]
fn a_folder_from_elsewhere() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    std::fs::rename(project.path("target/plimsoll"), project.path("shard 1")).unwrap();
    let ran = project.plimsoll(&["report", "."]);
    assert_eq!(ran.status, Some(0), "{ran}");
    // Without a project around it, `target/plimsoll` is where one would look.
    std::fs::remove_file(project.path("Cargo.toml")).unwrap();
    std::fs::rename(project.path("shard 1"), project.path("target/plimsoll")).unwrap();
    let ran = project.plimsoll(&["report"]);
    assert_eq!(ran.status, Some(0), "{ran}");
}

#[test]
fn an_unreadable_report_is_no_result() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let path = project.leave(&report("r1", "http::echo", Verdict::Within), 1);
    std::fs::write(&path, "{\"version\": 1, \u{1b}[2J").unwrap();
    let ran = project.plimsoll(&["report"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(!ran.to_string().contains('\u{1b}'), "{ran}");
    assert!(
        ran.stdout
            .contains("http::echo: no result, its report cannot be read: "),
        "{ran}"
    );
}

#[test]
fn an_unreadable_report_of_an_unknown_run_is_not_passed_over() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    project.write(
        "target/plimsoll/other/leaks/x/report.json",
        "{\"version\": 3}",
    );
    let path = project.path("target/plimsoll/other/leaks/x/report.json");
    set_time(&path, 1);
    assert_snapshot!(project.plimsoll(&["report"]), @"
    --- 5
    error: target/plimsoll/other/leaks/x/report.json: written by a newer plimsoll: expected format 2 or older, found 3
      it is newer than every report that can be read
      hint: measure again with `cargo test --test leaks`, or name a run with `--run r1`
    ");
    // It was there before: not this run's.
    set_time(&path, 0);
    let ran = project.plimsoll(&["report"]);
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(
        ran.stderr
            .starts_with("warning: target/plimsoll/other/leaks/x/report.json: "),
        "{ran}"
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let project = Project::new();
    let path = project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let dir = path.parent().unwrap();
    std::fs::rename(dir, project.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(project.path("elsewhere"), dir).unwrap();
    let ran = project.plimsoll(&["report"]);
    assert_eq!(ran.status, Some(5), "{ran}");
}

#[test]
fn colours_where_they_are_wanted() {
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let colored = |env: &[(&str, &str)]| {
        project
            .plimsoll_with(&["report"], env)
            .stdout
            .contains('\u{1b}')
    };
    assert!(!colored(&[]));
    assert!(colored(&[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("report")
        .arg(project.path("target"))
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    use std::process::Command;
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let shown = project.plimsoll(&["report"]).stdout;
    let to = |output: &str, redirect: &str| {
        let status = Command::new("sh")
            .args(["-c", &format!("\"$0\" report --output {output} {redirect}")])
            .arg(env!("CARGO_BIN_EXE_plimsoll"))
            .current_dir(project.path(""))
            .status();
        assert!(status.unwrap().success(), "{output}");
    };
    let status = Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(status.unwrap().success());
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
    let project = Project::new();
    project.leave(&report("r1", "lru_churn", Verdict::Within), 0);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("report")
        .current_dir(project.path(""))
        .stdout(
            std::fs::File::options()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot write to standard output: No space left on device (os error 28)\n"
    );
}

#[test]
fn usage() {
    let project = Project::new();
    assert_eq!(project.plimsoll(&[]).status, Some(2));
    assert_eq!(project.plimsoll(&["--help"]).status, Some(0));
    assert_eq!(
        project.plimsoll(&["report", "--format", "xml"]).status,
        Some(2)
    );
    assert_snapshot!(project.plimsoll(&["repot"]), @"
    --- 2
    error: unrecognized subcommand 'repot'

      tip: some similar subcommands exist: 'accept', 'report'

    Usage: plimsoll <COMMAND>

    For more information, try '--help'.
    ");
    let cargo = project.run(
        env!("CARGO_BIN_EXE_cargo-plimsoll"),
        &["plimsoll", "report", "-h"],
        &[],
    );
    assert!(
        cargo
            .stdout
            .contains("Usage: cargo plimsoll report [OPTIONS] [DIR|FILE]..."),
        "{cargo}"
    );
}

#[test]
fn pictures_of_no_repository() {
    let project = Project::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("prune-images")
        .current_dir(project.path(""))
        .env_remove("GITHUB_REPOSITORY")
        .env_remove("GITHUB_TOKEN")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    // It has no --pr and no --sha, and no comment to print.
    assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"
    error: this is not a GitHub Actions job, and no repository was named
      needs: GITHUB_TOKEN in the environment, and --repo OWNER/NAME; for another GitHub than github.com, GITHUB_API_URL
    ");
}
