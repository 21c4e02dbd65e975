//! `plimsoll verify-fix`, of revisions and of reports.

use serde_json::json;

use crate::fake::{HELD, Repository, row};
use crate::project::set_time;

#[test]
fn two_revisions() {
    for line in [
        "bad good 0 | churn: fixed | put | +80 B | it fell by 100 %: every object was counted",
        "bad half 0 | and still grows | it fell by 90 %",
        "bad bad 1 | churn: not fixed: it grows as before | held by a HashMap<u64, Arc<Session>> | it fell by 0 %",
        "bad renamed 1 | churn: not fixed",
        "half bad 1 | churn: not fixed: it grows faster | it rose by 900 %",
        "bad other 0 | churn: fixed | but this grows, and did not before: ",
        "both other 0 | churn: fixed | but this grows faster than it did: …;log;push",
        "good bad 3 | nothing grew before that a change could fix",
        "bad unbuildable 3 | HEAD ( | cannot be measured | cannot find value | logs: ",
        "bad broken 3 | HEAD ( | cannot be measured | canary | logs: ",
    ] {
        let (states, status, parts) = row(line);
        let repository = Repository::history(&states);
        let before = repository.everything();
        repository.ask("verify-fix HEAD~1 HEAD").has(status, &parts);
        assert_eq!(repository.everything(), before, "{states:?}");
    }
}

#[test]
fn what_cannot_be_meant() {
    let repository = Repository::history(&["bad", "good"]);
    let mixed = "two revisions or two reports, found the path src and HEAD";
    for (sides, why) in [
        ("HEAD main", "nothing to compare"),
        ("HEAD nowhere", "there is no commit `nowhere`"),
        ("HEAD src", mixed),
    ] {
        repository
            .ask(&format!("verify-fix {sides}"))
            .has(2, &[why]);
    }
}

#[test]
fn what_was_measured_is_kept() {
    let repository = Repository::history(&["bad", "good"]);
    for _ in 0..2 {
        repository.ask("verify-fix HEAD~1 HEAD").has(0, &[]);
        assert_eq!(repository.builds(), 2);
    }
}

#[test]
fn reports_of_two_runs() {
    let repository = Repository::history(&["good"]);
    let of = |sides: [&str; 2], options: &str| {
        let [before, after] = sides.map(|name| format!("../templates/{name}"));
        repository.plimsoll(&format!("verify-fix {before} {after} {options}"))
    };
    let sides = ["bad", "good"];
    let value = of(sides, "--json").has(0, &[]).json();
    assert_eq!(value["result"], "fixed");
    assert_eq!(value["stack"], json!(["main", "store", "put"]));
    assert_eq!(value["before"]["rate"]["bytes"], 80.0);
    assert_eq!(value["fell_by"], 1.0);
    assert_eq!(value["holder"], HELD);
    let gone = &value["differences"][0];
    assert_eq!(gone["kind"], "gone");
    assert_eq!(gone["stack"], value["stack"]);
    assert_eq!(gone["before"], value["before"]["rate"]);

    of(["bad", "broken"], "").has(3, &["canary"]);
    of(["bad", "newer"], "").has(5, &[]);
    of(sides, "--scenario else").has(2, &["expected one of: churn"]);
    of(sides, "--stack nowhere").has(3, &[]);
}

#[test]
fn reports_of_several_tests() {
    let repository = Repository::history(&["good"]);
    for (name, state) in [("before", "bad"), ("after", "good")] {
        // `cargo test` makes a run of each test target.
        for (package, state, minute) in [("demo", state, 1), ("other", "good", 2)] {
            let template = repository.outer().join("templates").join(state);
            let text = std::fs::read_to_string(template).unwrap();
            let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
            report["run"]["id"] = package.into();
            report["run"]["package"] = package.into();
            let path = format!("{name}/{package}/leaks/churn/report.json");
            repository.write(&path, &report.to_string());
            set_time(&repository.top().join(path), minute);
        }
    }
    let all = "churn (demo, leaks), churn (other, leaks)";
    for (line, status, says) in [
        ("before after --package demo", 0, "churn: fixed"),
        ("after before", 2, &format!("--package or --test: {all}")),
        (
            "before after --package dmeo",
            2,
            &format!("expected one of: {all}"),
        ),
    ] {
        repository
            .plimsoll(&format!("verify-fix {line}"))
            .has(status, &[says]);
    }
}
