//! `--format sarif` against the standard's schema and against GitHub's limits.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Finding, Report};
use serde_json::{Value, json};

use crate::project::{Project, RATE, finding, regressed, report, within};
use crate::schema::Schema;
use crate::{PUT, alone, assert_clean, frames, hostile, measured_on, one_of_each, written};

fn schema() -> Value {
    let schema = include_str!("sarif-2.1.0.schema.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    // Its pattern for a language has a bracket too many, which some regular
    // expressions take and others refuse. We name no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        assert!(language["pattern"].take().is_string());
        *language = json!({ "type": "string" });
    }
    schema
}

/// The log of what is in a project, valid by the schema and within the limits.
#[track_caller]
fn log(project: &Project, args: &[&str]) -> Value {
    let text = written(project, "sarif", args);
    assert!(text.len() < 10_000_000, "{} bytes", text.len());
    let log: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(Schema::of(&schema()).errors(&log), [""; 0]);
    let results = results(&log);
    assert!(results.len() <= 5_000);
    for result in results {
        assert_eq!(array(&result["locations"]).len(), 1);
        let all = |key: &str| result.get(key).map_or(&[][..], |all| array(all));
        let frames: usize = all("stacks")
            .iter()
            .map(|one| array(&one["frames"]).len())
            .sum();
        assert!(1 + frames + all("relatedLocations").len() <= 1_000);
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][index];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
    }
    log
}

/// That of one report.
#[track_caller]
fn log_of(report: Report) -> Value {
    log(&Project::with(&[alone(report)]), &[])
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

fn fingerprints(log: &Value) -> Vec<String> {
    let all = results(log).iter().map(|result| {
        let all = &result["partialFingerprints"];
        // The one that GitHub compares is the same.
        assert_eq!(all["plimsollStack/v1"], all["primaryLocationLineHash"]);
        text(&all["plimsollStack/v1"]).to_owned()
    });
    all.collect()
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let is_valid = |run: Value| {
        let log = json!({ "version": "2.1.0", "runs": [run] });
        Schema::of(&schema()).errors(&log).is_empty()
    };
    let tool = json!({ "driver": { "name": "plimsoll" } });
    assert!(is_valid(json!({ "tool": tool })));
    assert!(!is_valid(json!({ "tools": tool })));
    let uri = |uri: &str| {
        let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri } } });
        let result = json!({ "message": { "text": "a" }, "locations": [place] });
        json!({ "tool": tool, "results": [result] })
    };
    assert!(is_valid(uri("src/a%20b.rs")));
    assert!(!is_valid(uri("src/a b.rs")));
}

#[test]
fn one_result_for_each_that_needs_a_person() {
    let log = log(&Project::with(&one_of_each()), &[]);
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
    let mut growth = one_of_each().swap_remove(1);
    growth.findings.truncate(1);
    let mut log = log_of(growth);
    let place = |uri: &str, line: u32| {
        let artifact = json!({ "uri": uri, "uriBaseId": "%SRCROOT%" });
        json!({ "artifactLocation": artifact, "region": { "startLine": line } })
    };
    let function = |path: &str, name: &str| {
        let kind = "function";
        json!([{ "fullyQualifiedName": path, "kind": kind, "name": name }])
    };
    let expected = json!({
        "level": "error",
        "locations": [{
            "logicalLocations": function("fill", "fill"),
            "physicalLocation": place("scenarios/src/lru%20churn.rs", 14),
        }],
        "message": {
            "markdown": "`growth`: keeps growing by **+96 B**, +1.00 objects per iteration \
                (allowed: 0 B) in `lru::LruCache::put` at `lru-0.18.1/src/lib.rs:212`; 1 GiB in \
                3.1 h at 1,000 iterations a second, after 1,024 iterations on \
                `x86_64-unknown-linux-gnu`. Fix it, or accept it: \
                `cargo plimsoll accept growth --reason \"…\"`. Measure it again: \
                `cargo test -p demo --test leaks -- --exact growth`",
            "text": "growth: keeps growing by +96 B, +1.00 objects per iteration (allowed: 0 B) \
                in lru::LruCache::put at lru-0.18.1/src/lib.rs:212; 1 GiB in 3.1 h at 1,000 \
                iterations a second, after 1,024 iterations on x86_64-unknown-linux-gnu. Fix it, \
                or accept it: cargo plimsoll accept growth --reason \"…\". Measure it again: \
                cargo test -p demo --test leaks -- --exact growth",
        },
        "partialFingerprints": {
            "plimsollStack/v1": "df99e78351538481:1",
            "primaryLocationLineHash": "df99e78351538481:1",
        },
        "properties": {
            "allowedBytesPerIteration": 0.0, "allowedObjectsPerIteration": 0.0,
            "bytesPerIteration": 96.0, "objectsPerIteration": 1.0,
            "iterations": 1024, "law": "linear", "verdict": "regressed", "standing": "new",
            "package": "demo", "target": "leaks", "scenario": "growth",
            "platform": "x86_64-unknown-linux-gnu",
        },
        "relatedLocations": [{
            "id": 1,
            "message": { "text": "called by main" },
            "physicalLocation": place("scenarios/src/main.rs", 3),
        }],
        "ruleId": "plimsoll/growth",
        "ruleIndex": 7,
        "stacks": [{
            "frames": [
                { "location": {
                    "logicalLocations": function("lru::LruCache::put", "put"),
                    "message": { "text": "lru-0.18.1/src/lib.rs:212" },
                } },
                { "location": {
                    "logicalLocations": function("fill", "fill"),
                    "physicalLocation": place("scenarios/src/lru%20churn.rs", 14),
                } },
                { "location": {
                    "logicalLocations": function("main", "main"),
                    "physicalLocation": place("scenarios/src/main.rs", 3),
                } },
            ],
            "message": { "text": "the stack that allocates, innermost call first" },
        }],
    });
    assert_eq!(results(&log)[0], expected);
    let run = &mut log["runs"][0];
    run["results"] = json!([]);
    run["tool"]["driver"]["rules"] = json!([]);
    let expected = json!({
        "automationDetails": { "id": "plimsoll/x86_64-unknown-linux-gnu/" },
        "columnKind": "unicodeCodePoints",
        "invocations": [{ "executionSuccessful": true }],
        "originalUriBaseIds": {
            "%SRCROOT%": { "description": { "text": "The root of the repository." } },
        },
        "results": [],
        "tool": { "driver": {
            "name": "plimsoll",
            "notifications": [{
                "id": "plimsoll/left-out",
                "shortDescription": { "text": "Results that found no room" },
            }],
            "rules": [],
            "semanticVersion": "0.1.0",
        } },
    });
    assert_eq!(*run, expected);
}

#[test]
fn a_broken_measurement_says_nothing_of_growth() {
    let mut broken = one_of_each().swap_remove(6);
    broken.findings.push(finding("main fill", RATE));
    let log = log_of(broken);
    assert_eq!(results(&log).len(), 1);
    assert_eq!(results(&log)[0]["ruleId"], "plimsoll/broken-measurement");
}

#[test]
fn rules_help() {
    let log = log_of(within("r1", "lru_churn"));
    let rules = array(&log["runs"][0]["tool"]["driver"]["rules"]).iter();
    let rules = rules.map(|rule| {
        for text_of in ["/shortDescription/text", "/fullDescription/text"] {
            assert_ne!(text(rule.pointer(text_of).unwrap()), "");
        }
        assert_ne!(text(&rule["help"]["text"]), "");
        assert_ne!(text(&rule["help"]["markdown"]), "");
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

#[test]
fn a_run_without_growth_has_no_results() {
    let log = log_of(within("r1", "lru_churn"));
    assert_eq!(results(&log), [Value::Null; 0]);
    let invocations = &log["runs"][0]["invocations"];
    assert_eq!(*invocations, json!([{ "executionSuccessful": true }]));
}

/// One regressed scenario, changed, by its fingerprint.
fn fingerprint(change: impl FnOnce(&mut Report)) -> String {
    let mut one = regressed("r1", "lru_churn", "main fill", RATE);
    change(&mut one);
    let [only] = fingerprints(&log_of(one)).try_into().unwrap();
    only
}

#[test]
fn a_fingerprint_is_of_what_grows() {
    let first = fingerprint(|_| {});
    // The promise itself: another value would close and open every alert.
    assert_snapshot!(first, @"d59409596df9517e:1");
    let same: [fn(&mut Report); 7] = [
        |report| report.findings[0].frames[0].line = Some(70),
        |report| report.findings[0].frames[0].file = Some("src/other.rs".to_owned()),
        |report| report.findings[0].rate.bytes = 1e6,
        |report| report.run.id = "r2".to_owned(),
        |report| report.rungs.truncate(1),
        |report| report.measured.as_mut().unwrap().target = "aarch64".to_owned(),
        |report| report.measured.as_mut().unwrap().toolchain = "rustc 2".to_owned(),
    ];
    for change in same {
        assert_eq!(fingerprint(change), first);
    }
    // A further scenario shows the same leak.
    let same: [fn(&mut Report); 3] = [
        |report| report.scenario = "other".to_owned(),
        |report| report.run.package = "other".to_owned(),
        |report| report.run.target = "other".to_owned(),
    ];
    for change in same {
        assert_eq!(fingerprint(change), first);
    }
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
    let log = log(&all, &[]);
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
fn run_of(scenarios: usize, findings: impl Fn(usize) -> Vec<Finding>) -> Project {
    let names: Vec<String> = (0..scenarios).map(|number| format!("s{number}")).collect();
    let reports = names.iter().enumerate().map(|(number, name)| {
        let mut report = report("r1", name, Verdict::Regressed);
        report.run.scenarios.clone_from(&names);
        report.findings = findings(number);
        let worst = report.findings.iter().map(|finding| finding.verdict).max();
        report.verdict = worst.unwrap_or(Verdict::Within);
        report
    });
    Project::with(&reports.collect::<Vec<_>>())
}

#[test]
fn the_worst_5000_are_kept() {
    let many = run_of(6, |scenario| {
        let one = |n: usize| Finding {
            verdict: [Verdict::Inconclusive, Verdict::Regressed][scenario.min(1)],
            ..finding(&format!("s{scenario} f{n}"), RATE)
        };
        (0..1_000).map(one).collect()
    });
    let log = log(&many, &[]);
    assert_eq!(results(&log).len(), 5_000);
    let is_growth = |one: &Value| one["ruleId"] == "plimsoll/growth";
    assert!(results(&log).iter().all(is_growth));
    assert_snapshot!(notice(&log), @"left out: 1,000 results that need a person least; code scanning shows 5,000, and takes 10 MB");
}

#[test]
fn as_many_results_as_an_upload_takes() {
    let stack = |of: usize| (0..100).map(move |n| format!("{n}{}{of}", "f".repeat(400)));
    let long = |of: usize| finding(&stack(of).collect::<Vec<_>>().join(" "), RATE);
    let findings = |scenario: usize| (0..40).map(|n| long(40 * scenario + n)).collect();
    let log = log(&run_of(4, findings), &[]);
    let kept = results(&log).len();
    assert!((50..160).contains(&kept), "{kept}");
    let left_out = format!("left out: {} results", 160 - kept);
    assert!(notice(&log).starts_with(&left_out), "{}", notice(&log));
}

#[test]
fn a_deep_stack_is_cut() {
    let names: Vec<String> = (0..4_000).map(|n| format!("f{n}")).collect();
    let mut deep = regressed("r1", "deep", &names.join(" "), RATE);
    for (line, frame) in (1..).zip(&mut deep.findings[0].frames) {
        frame.line = Some(line);
    }
    let log = log_of(deep);
    let stack = &results(&log)[0]["stacks"][0];
    assert_eq!(array(&stack["frames"]).len(), 100);
    assert_snapshot!(text(&stack["message"]["text"]), @"the stack that allocates, innermost call first, without 3,900 frames further out");
}

#[test]
fn hostile_text_stays_text() {
    let log = log_of(hostile());
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
    growth.run.scenarios = vec!["growth".to_owned(), "lost".to_owned()];
    growth.findings[0].frames = frames(&[PUT, ("main", "src/main.rs", 3)]);
    let project = Project::with(&[growth]);
    let mut joined: Value = serde_json::from_str(&written(&project, "json", &[])).unwrap();
    let mut with_source = |repository: &str, head: &str, prefix: &str| {
        joined["source"] = json!({
            "repository": repository, "event": "pull_request", "run": 1, "attempt": 1,
            "pull_request": 7, "head": head, "base": null, "prefix": prefix,
        });
        project.write("joined.json", &joined.to_string());
        log(&project, &["joined.json"])
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
    let category = |platform: &str, others: &[&str]| {
        let log = log(&Project::with(&[measured_on(platform, "r1")]), others);
        text(&log["runs"][0]["automationDetails"]["id"]).to_owned()
    };
    let one = category("aarch64-unknown", &[]);
    assert_eq!(one, "plimsoll/aarch64-unknown/");
    let intel = Project::with(&[measured_on("x86_64-unknown", "r2")]);
    let other = intel.path("target/plimsoll").display().to_string();
    let both = category("aarch64-unknown", &["target/plimsoll", &other]);
    assert_eq!(both, "plimsoll/aarch64-unknown+x86_64-unknown/");
    assert_eq!(category("../x/\u{202e}y z", &[]), "plimsoll/..xyz/");
}
