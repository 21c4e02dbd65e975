//! `plimsoll verify-fix`, of revisions and of reports.

use serde_json::json;

use crate::fake::{HELD, Repository, row};
use crate::project::set_time;

#[test]
fn two_revisions() {
    let repository = Repository::history("bad good");
    let before = repository.everything();
    for _ in 0..2 {
        let ran = repository.ask("verify-fix HEAD~1 HEAD");
        ran.has(0, &["churn: fixed"]);
        // What was measured is kept.
        assert_eq!(repository.builds(), 2);
    }
    assert_eq!(repository.everything(), before);
    for (state, why) in [("unbuildable", "cannot find value"), ("broken", "canary")] {
        let repository = Repository::history(&format!("bad {state}"));
        let parts = ["HEAD (", "cannot be measured", why, "logs: "];
        repository.ask("verify-fix HEAD~1 HEAD").has(3, &parts);
    }
    let mixed = "two revisions or two reports, found the path src and HEAD";
    let refused = |after: &str| repository.ask(&format!("verify-fix HEAD {after}"));
    refused("main").has(2, &["nothing to compare"]);
    refused("nowhere").has(2, &["there is no commit `nowhere`"]);
    refused("src").has(2, &[mixed]);
}

#[test]
fn reports_of_two_runs() {
    let repository = Repository::new();
    let of = |sides: [&str; 2], options: &str| {
        let [before, after] = sides.map(|name| format!("../templates/{name}"));
        repository.plimsoll(&format!("verify-fix {before} {after} {options}"))
    };
    for line in [
        "bad good 0 | churn: fixed | put | +80 B | it fell by 100 %: every object was counted",
        "bad half 0 | and still grows | it fell by 90 %",
        "bad bad 1 | churn: not fixed: it grows as before | held by a HashMap<u64, Arc<Session>> | it fell by 0 %",
        "half bad 1 | churn: not fixed: it grows faster | it rose by 900 %",
        "bad other 0 | churn: fixed | but this grows, and did not before: ",
        "both other 0 | churn: fixed | but this grows faster than it did: …;log;push",
        "good bad 3 | nothing grew before that a change could fix",
        "bad broken 3 | canary",
        "bad newer 5",
    ] {
        let (sides, status, parts) = row(line);
        of(sides, "").has(status, &parts);
    }
    let sides = ["bad", "good"];
    of(sides, "--scenario else").has(2, &["expected one of: churn"]);
    of(sides, "--stack nowhere").has(3, &[]);
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
}

#[test]
fn reports_of_several_tests() {
    let repository = Repository::new();
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
    let verify = |line: &str| repository.plimsoll(&format!("verify-fix {line}"));
    verify("before after --package demo").has(0, &["churn: fixed"]);
    verify("after before").has(2, &["--package or --test: ", all]);
    verify("before after --package dmeo").has(2, &["expected one of: ", all]);
}
