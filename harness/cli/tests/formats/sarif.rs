//! `--format sarif` against the standard's schema and against GitHub's limits.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_report::joined::{Joined, Scenario, Source};
use plimsoll_report::render::sarif;
use serde_json::{Value, json};

use crate::project::{RATE, finding, regressed, report, stack, unused, within};
use crate::schema::Schema;
use crate::{HOSTILE, PUT, assert_clean, frames, joined, measured_on, one_of_each, with};

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let schema = include_str!("sarif-2.1.0.schema.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    // Its pattern for a language has a bracket too many, which some regular
    // expressions take and others refuse. We name no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        assert!(language["pattern"].take().is_string());
        *language = json!({ "type": "string" });
    }
    Schema::of(&schema)
});

#[track_caller]
fn rendered(joined: &Joined) -> Value {
    let text = sarif::render(joined);
    assert!(text.len() < 10_000_000, "{} bytes", text.len());
    serde_json::from_str(&text).unwrap()
}

/// The log, valid by the schema.
#[track_caller]
fn log(joined: &Joined) -> Value {
    let log = rendered(joined);
    assert_eq!(SCHEMA.errors(&log), [""; 0]);
    for result in results(&log) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][index];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
    }
    log
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn results(log: &Value) -> &[Value] {
    array(&log["runs"][0]["results"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Why something was left out.
fn notice(log: &Value) -> &str {
    let notices = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    text(&notices[0]["message"]["text"])
}

#[test]
fn one_result_for_each_that_needs_a_person() {
    let log = log(&one_of_each());
    let lines = results(&log).iter().map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = &place["artifactLocation"]["uri"];
        let [rule, level] = [&result["ruleId"], &result["level"]].map(text);
        let [uri, said] = [uri, &result["message"]["text"]].map(text);
        let line = &place["region"]["startLine"];
        format!("{level} {rule} {uri}:{line}\n  {said}")
    });
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    error plimsoll/broken-measurement baselines/broken.toml:1
      broken: the measurement cannot be trusted: canary: expected 64 objects, found 0, after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/workload-failed baselines/failed.toml:1
      failed: failed in iteration 4: panicked: <no> "route" & \[more\], after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/no-result baselines/lost.toml:1
      lost: no result, it did not pass: it left no report in this run
    error plimsoll/growth baselines/growth.toml:1
      growth: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B) in lru::LruCache::put at lru-0.18.1/src/lib.rs:212; 1 GiB in 3.1 h at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu, over 1,024 stacks of this allocation site. Fix it, or accept it again: cargo plimsoll accept growth --expires YYYY-MM-DD --reason "…". Measure it again: cargo test -p demo --test leaks -- --exact growth
    error plimsoll/growth scenarios/src/lru%20churn.rs:14
      growth: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B) in lru::LruCache::put at lru-0.18.1/src/lib.rs:212; 1 GiB in 3.1 h at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu. Fix it, or accept it again: cargo plimsoll accept growth --expires YYYY-MM-DD --reason "…". Measure it again: cargo test -p demo --test leaks -- --exact growth
    error plimsoll/expired-allowance src/lib.rs:7
      growth: keeps growing by +96 B, +1.00 objects per iteration (its allowance of 96 B, 1.00 objects has expired) in agreed at src/lib.rs:7; 1 GiB in 3.1 h at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu; accepted because \[until\](https://x) the rewrite. Fix it, or accept it again: cargo plimsoll accept growth --expires YYYY-MM-DD --reason "…". Measure it again: cargo test -p demo --test leaks -- --exact growth
    error plimsoll/thread-growth baselines/resources.toml:1
      resources: keeps growing by +1.00 threads per iteration (allowed: 0 threads); 1,000 threads in 1.0 s at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu. Fix it, or accept it: cargo plimsoll accept resources --reason "…". Measure it again: cargo test -p demo --test leaks -- --exact resources
    error plimsoll/descriptor-growth baselines/resources.toml:1
      resources: keeps growing by +1.00 file descriptors per iteration (allowed: 0 file descriptors); 1,024 file descriptors in 1.0 s at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu. Fix it, or accept it: cargo plimsoll accept resources --reason "…". Measure it again: cargo test -p demo --test leaks -- --exact resources
    warning plimsoll/inconclusive baselines/inconclusive.toml:1
      inconclusive: too little was measured to tell, after 1,024 iterations on x86_64-unknown-linux-gnu
    note plimsoll/stale-allowance baselines/improved.toml:1
      improved: an allowance of 96 B, 1.00 objects per iteration is no longer needed; in mended, after 1,024 iterations on x86_64-unknown-linux-gnu
    "#);
    let invocations = &log["runs"][0]["invocations"];
    assert_eq!(*invocations, json!([{ "executionSuccessful": false }]));
}

#[test]
fn a_result_in_full() {
    let all = one_of_each();
    let mut growth = all.scenarios[1].report().unwrap().clone();
    growth.findings.truncate(1);
    let log = log(&joined(growth));
    let result = &results(&log)[0];
    let keys = ["properties", "locations", "relatedLocations"];
    let keys = keys.map(|key| format!("{key} {}", result[key]));
    let frames = array(&result["stacks"][0]["frames"]).iter();
    let frames = frames.map(|frame| format!("frame {}", frame["location"]));
    let lines: Vec<String> = keys.into_iter().chain(frames).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    properties {"allowedBytesPerIteration":0.0,"allowedObjectsPerIteration":0.0,"bytesPerIteration":96.0,"iterations":1024,"law":"linear","objectsPerIteration":1.0,"package":"demo","platform":"x86_64-unknown-linux-gnu","scenario":"growth","standing":"new","target":"leaks","verdict":"regressed"}
    locations [{"logicalLocations":[{"fullyQualifiedName":"fill","kind":"function","name":"fill"}],"physicalLocation":{"artifactLocation":{"uri":"scenarios/src/lru%20churn.rs","uriBaseId":"%SRCROOT%"},"region":{"startLine":14}}}]
    relatedLocations [{"id":1,"message":{"text":"called by main"},"physicalLocation":{"artifactLocation":{"uri":"scenarios/src/main.rs","uriBaseId":"%SRCROOT%"},"region":{"startLine":3}}}]
    frame {"logicalLocations":[{"fullyQualifiedName":"lru::LruCache::put","kind":"function","name":"put"}],"message":{"text":"lru-0.18.1/src/lib.rs:212"}}
    frame {"logicalLocations":[{"fullyQualifiedName":"fill","kind":"function","name":"fill"}],"physicalLocation":{"artifactLocation":{"uri":"scenarios/src/lru%20churn.rs","uriBaseId":"%SRCROOT%"},"region":{"startLine":14}}}
    frame {"logicalLocations":[{"fullyQualifiedName":"main","kind":"function","name":"main"}],"physicalLocation":{"artifactLocation":{"uri":"scenarios/src/main.rs","uriBaseId":"%SRCROOT%"},"region":{"startLine":3}}}
    "#);
    let run = &log["runs"][0];
    assert_eq!(run["invocations"], json!([{ "executionSuccessful": true }]));
    assert_eq!(run["columnKind"], "unicodeCodePoints");
}

#[test]
fn rules_help() {
    let log = log(&joined(within("r1", "lru_churn")));
    let rules = array(&log["runs"][0]["tool"]["driver"]["rules"]).iter();
    let rules = rules.map(|rule| {
        let properties = &rule["properties"];
        assert!(array(&properties["tags"]).len() <= 10);
        let words = ["problem.severity", "precision"].map(|key| text(&properties[key]));
        format!("{} {}", text(&rule["id"]), words.join(" "))
    });
    assert_snapshot!(rules.collect::<Vec<_>>().join("\n"), @"
    plimsoll/stale-allowance recommendation high
    plimsoll/inconclusive warning medium
    plimsoll/mapping-growth error high
    plimsoll/descriptor-growth error high
    plimsoll/thread-growth error high
    plimsoll/outside-growth error high
    plimsoll/expired-allowance error very-high
    plimsoll/growth error high
    plimsoll/no-result error very-high
    plimsoll/workload-failed error very-high
    plimsoll/broken-measurement error very-high
    ");
}

/// One regressed scenario, changed, by its fingerprint.
fn fingerprint(change: impl FnOnce(&mut Report)) -> String {
    let mut one = regressed("r1", "lru_churn", "main fill", RATE);
    change(&mut one);
    let log = log(&joined(one));
    assert_eq!(results(&log).len(), 1);
    let all = &results(&log)[0]["partialFingerprints"];
    // The one that GitHub compares is the same.
    assert_eq!(all["plimsollStack/v1"], all["primaryLocationLineHash"]);
    text(&all["plimsollStack/v1"]).to_owned()
}

#[test]
fn a_fingerprint_is_of_what_grows() {
    let first = fingerprint(|_| {});
    // The promise itself: another value would close and open every alert.
    assert_snapshot!(first, @"d59409596df9517e:1");
    let same = fingerprint(|report| {
        let frame = &mut report.findings[0].frames[0];
        (frame.line, frame.file) = (Some(70), Some("src/other.rs".to_owned()));
        report.findings[0].rate.bytes = 1e6;
        report.rungs.truncate(1);
        let measured = report.measured.as_mut().unwrap();
        let run = &mut report.run;
        // A further scenario shows the same leak.
        for text in [
            &mut measured.target,
            &mut measured.toolchain,
            &mut run.id,
            &mut run.package,
            &mut run.target,
            &mut report.scenario,
        ] {
            *text = "other".to_owned();
        }
    });
    assert_eq!(same, first);
    let others: [fn(&mut Report); 2] = [
        |report| report.findings = vec![finding("main fill put", RATE)],
        // The same letters, cut elsewhere.
        |report| report.findings = vec![finding("mainf ill", RATE)],
    ];
    let all: BTreeSet<String> = others.into_iter().map(fingerprint).chain([first]).collect();
    assert_eq!(all.len(), 3, "{all:?}");
}

#[test]
fn scenarios_with_one_cause_are_one_result() {
    let all = run_of(3, |n| {
        let bytes = [1.0, 100.0, 10.0][n];
        vec![finding("main fill", Rate { bytes, ..RATE })]
    });
    let log = log(&all);
    assert_eq!(results(&log).len(), 1);
    let one = &results(&log)[0];
    let of = |key: &str| &one["properties"][key];
    assert_eq!(*of("scenarios"), json!(["s1", "s2", "s0"]));
    assert_eq!(
        [of("scenario"), of("bytesPerIteration")],
        [&json!("s1"), &json!(100.0)]
    );
    let said = text(&one["message"]["text"]);
    let start =
        "3 scenarios, most in s1: keep growing by up to +100 B, +1.00 objects per iteration";
    assert!(said.starts_with(start), "{said}");
    assert!(
        said.contains("cargo plimsoll accept s1 s2 s0 --reason"),
        "{said}"
    );
}

/// A run of so many regressed scenarios, with the findings that each has.
fn run_of(scenarios: usize, findings: impl Fn(usize) -> Vec<Finding>) -> Joined {
    let reports = (0..scenarios).map(|number| {
        let mut report = report("r1", &format!("s{number}"), Verdict::Regressed);
        report.findings = findings(number);
        report
    });
    Joined::of_run("r1", reports.map(Scenario::from))
}

#[test]
fn the_worst_5000_are_kept() {
    let mut improved = report("r1", "improved", Verdict::Improved);
    let stale = |name| unused(Subject::Stack(stack(name)), Standing::Stale);
    improved.findings = ["main a", "main b"].map(stale).into();
    let mut all = joined(improved);
    let lost = |n| Scenario::without_result("demo", "leaks", &format!("s{n}"), "lost");
    all.scenarios.extend((0..5_000).map(lost));
    let log = rendered(&all);
    assert_eq!(results(&log).len(), 5_000);
    let is_lost = |one: &Value| one["ruleId"] == "plimsoll/no-result";
    assert!(results(&log).iter().all(is_lost));
    assert_snapshot!(notice(&log), @"left out: 2 results that need a person least; code scanning shows 5,000, and takes 10 MB");
}

#[test]
fn as_many_results_as_an_upload_takes() {
    let stack = |of: usize| (0..100).map(move |n| format!("{n}{}{of}", "f".repeat(400)));
    let long = |of: usize| finding(&stack(of).collect::<Vec<_>>().join(" "), RATE);
    let findings = |scenario: usize| (0..40).map(|n| long(40 * scenario + n)).collect();
    let log = rendered(&run_of(3, findings));
    let kept = results(&log).len();
    assert!((50..120).contains(&kept), "{kept}");
    let left_out = format!("left out: {} results", 120 - kept);
    assert!(notice(&log).starts_with(&left_out), "{}", notice(&log));
}

#[test]
fn a_deep_stack_is_cut() {
    let names: Vec<String> = (0..4_000).map(|n| format!("f{n}")).collect();
    let mut deep = regressed("r1", "deep", &names.join(" "), RATE);
    for (line, frame) in (1..).zip(&mut deep.findings[0].frames) {
        frame.line = Some(line);
    }
    let log = log(&joined(deep));
    let stack = &results(&log)[0]["stacks"][0];
    assert_eq!(array(&stack["frames"]).len(), 100);
    assert_eq!(array(&results(&log)[0]["relatedLocations"]).len(), 19);
    assert_snapshot!(text(&stack["message"]["text"]), @"the stack that allocates, innermost call first, without 3,900 frames further out");
}

#[test]
fn hostile_text_stays_text() {
    let log = log(&joined(with(HOSTILE)));
    assert_clean(&log.to_string().replace("\\n", ""));
    let result = &results(&log)[0];
    // Neither file is in the repository, nor is the baseline.
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, "plimsoll.toml");
    assert_snapshot!(text(&result["message"]["text"]), @r#"a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B) in a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü at a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü:1; 1 GiB in 3.1 h at 1,000 iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu; accepted because a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü"#);
    assert_snapshot!(text(&result["message"]["markdown"]), @r#"`` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü ``: keeps growing by **+96 B**, +1.00 objects per iteration (allowed: 0 B) in `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü `` at `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü:1 ``; 1 GiB in 3.1 h at 1,000 iterations a second, after 1,024 iterations on `x86_64-unknown-linux-gnu`; accepted because `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü ``"#);
}

#[test]
fn the_repository_around_the_workspace() {
    let mut growth = regressed("r1", "growth", "main put", RATE);
    growth.findings[0].frames = frames(&[PUT, ("main", "src/main.rs", 3)]);
    let mut joined = joined(growth);
    let lost = Scenario::without_result("demo", "leaks", "lost", "why");
    joined.scenarios.push(lost);
    let mut with_source = |repository: &str, head: &str, prefix: &str| {
        joined.source = Some(Source {
            repository: repository.to_owned(),
            event: "pull_request".to_owned(),
            run: 1,
            attempt: 1,
            pull_request: Some(7),
            head: head.to_owned(),
            base: None,
            prefix: prefix.to_owned(),
        });
        log(&joined)
    };
    let uris = |log: &Value| {
        let uris = results(log).iter().map(|result| {
            let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
            assert_eq!(place["uriBaseId"], "%SRCROOT%");
            text(&place["uri"]).to_owned()
        });
        uris.collect::<Vec<_>>()
    };
    let one = with_source("owner/name", "2bc8970", "sub/tool");
    let files = ["sub/tool/baselines/lost.toml", "sub/tool/src/main.rs"];
    assert_eq!(uris(&one), files);
    let expected = json!([{
        "repositoryUri": "https://github.com/owner/name", "revisionId": "2bc8970",
        "mappedTo": { "uriBaseId": "%SRCROOT%" },
    }]);
    assert_eq!(one["runs"][0]["versionControlProvenance"], expected);
    let hostile = with_source("owner/name/../../x?y", "HEAD", "../..");
    assert_eq!(uris(&hostile), ["plimsoll.toml"; 2]);
    assert_eq!(hostile["runs"][0].get("versionControlProvenance"), None);
    let branch = with_source("owner/name", "main; rm", "");
    let provenance = &branch["runs"][0]["versionControlProvenance"][0];
    assert_eq!(provenance.get("revisionId"), None);
}

#[test]
fn a_category_for_each_platform() {
    for (platforms, expected) in [
        (&["aarch64-unknown"][..], "plimsoll/aarch64-unknown/"),
        (&["x86_64", "aarch64"], "plimsoll/aarch64+x86_64/"),
        (&["../x/\u{202e}y z"], "plimsoll/..xyz/"),
    ] {
        let log = log(&measured_on(platforms));
        assert_eq!(log["runs"][0]["automationDetails"]["id"], expected);
    }
}
