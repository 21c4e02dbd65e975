//! `--format sarif` against the standard's schema and against GitHub's limits.

use insta::assert_snapshot;
use jsonschema::Validator;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use serde_json::{Value, json};

use crate::project::{Project, finding, report};
use crate::{RATE, assert_clean, frames, hostile, left, one_of_each};

fn validator() -> Validator {
    let schema = include_str!("sarif-2.1.0.schema.json");
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    // Its pattern for a language has a bracket too many, which some regular
    // expressions take and others refuse. We name no language.
    for of in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][of]["properties"]["language"];
        assert!(language["pattern"].take().is_string());
        *language = json!({ "type": "string" });
    }
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap()
}

/// The log of what is in a project, valid by the schema and within the limits.
#[track_caller]
fn log(project: &Project, args: &[&str]) -> Value {
    let all = [&["report", "--format", "sarif"], args].concat();
    let ran = project.plimsoll(&all);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        project.plimsoll(&all).stdout,
        ran.stdout,
        "not the same again"
    );
    assert!(ran.stdout.len() < 10_000_000, "{} bytes", ran.stdout.len());
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let errors: Vec<String> = validator()
        .iter_errors(&log)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
    let results = results(&log);
    assert!(results.len() <= 5_000);
    for result in results {
        assert_eq!(array(&result["locations"]).len(), 1);
        let stacks = result.get("stacks").map_or(&[][..], |stacks| array(stacks));
        let frames: usize = stacks.iter().map(|one| array(&one["frames"]).len()).sum();
        let related = result
            .get("relatedLocations")
            .map_or(0, |all| array(all).len());
        assert!(1 + frames + related <= 1_000);
        let rule = &log["runs"][0]["tool"]["driver"]["rules"]
            [usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
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

fn fingerprints(log: &Value) -> Vec<String> {
    let all = results(log).iter().map(|result| {
        let fingerprints = &result["partialFingerprints"];
        // The one that GitHub compares is the same.
        assert_eq!(
            fingerprints["plimsollStack/v1"],
            fingerprints["primaryLocationLineHash"]
        );
        text(&fingerprints["plimsollStack/v1"]).to_owned()
    });
    all.collect()
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let valid = |log: Value| validator().is_valid(&log);
    let tool = json!({ "driver": { "name": "plimsoll" } });
    assert!(valid(
        json!({ "version": "2.1.0", "runs": [{ "tool": tool }] })
    ));
    assert!(!valid(
        json!({ "version": "2.1.0", "runs": [{ "tools": tool }] })
    ));
    let uri = |uri: &str| {
        let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri } } });
        let result = json!({ "message": { "text": "a" }, "locations": [place] });
        json!({ "version": "2.1.0", "runs": [{ "tool": tool, "results": [result] }] })
    };
    assert!(valid(uri("src/a%20b.rs")));
    assert!(!valid(uri("src/a b.rs")));
}

#[test]
fn one_result_for_each_that_needs_a_person() {
    let log = log(&left(&one_of_each()), &[]);
    let lines = results(&log).iter().map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let [rule, level, uri, said] = [
            text(&result["ruleId"]),
            text(&result["level"]),
            text(&place["artifactLocation"]["uri"]),
            text(&result["message"]["text"]),
        ];
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
    error plimsoll/growth scenarios/src/lru%20churn.rs:14
      growth: keeps growing by +96 B, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in lru::LruCache::put at lru-0.18.1/src/lib.rs:212, after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/growth baselines/growth.toml:1
      growth: keeps growing by +96 B, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in lru::LruCache::put at lru-0.18.1/src/lib.rs:212, over 1,024 stacks of this allocation site, after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/expired-allowance src/lib.rs:7
      growth: keeps growing by +96 B, +1.00 objects per iteration, linear; allowed: 96 B, 1.00 objects (its allowance has expired); in agreed at src/lib.rs:7; accepted because \[until\](https://x) the rewrite, after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/thread-growth baselines/resources.toml:1
      resources: keeps growing by +1.00 threads per iteration, linear; allowed: 0 (not in the baseline), after 1,024 iterations on x86_64-unknown-linux-gnu
    error plimsoll/descriptor-growth baselines/resources.toml:1
      resources: keeps growing by +1.00 file descriptors per iteration, linear; allowed: 0 (not in the baseline), after 1,024 iterations on x86_64-unknown-linux-gnu
    warning plimsoll/inconclusive src/lib.rs:7
      growth: may be growing by +96 B, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in unsure at src/lib.rs:7, after 1,024 iterations on x86_64-unknown-linux-gnu
    warning plimsoll/inconclusive baselines/inconclusive.toml:1
      inconclusive: too little was measured to tell, after 1,024 iterations on x86_64-unknown-linux-gnu
    note plimsoll/stale-allowance baselines/improved.toml:1
      improved: an allowance of 96 B, 1.00 objects per iteration is no longer needed; in mended, after 1,024 iterations on x86_64-unknown-linux-gnu
    "#);
    assert_eq!(
        log["runs"][0]["invocations"],
        json!([{ "executionSuccessful": false }])
    );
}

#[test]
fn a_result_in_full() {
    let mut growth = one_of_each().swap_remove(1);
    growth.findings.truncate(1);
    growth.run.scenarios = vec!["growth".to_owned()];
    let log = log(&left(&[growth]), &[]);
    assert_snapshot!(serde_json::to_string_pretty(&results(&log)[0]).unwrap(), @r#"
    {
      "level": "error",
      "locations": [
        {
          "logicalLocations": [
            {
              "fullyQualifiedName": "fill",
              "kind": "function",
              "name": "fill"
            }
          ],
          "physicalLocation": {
            "artifactLocation": {
              "uri": "scenarios/src/lru%20churn.rs",
              "uriBaseId": "%SRCROOT%"
            },
            "region": {
              "startLine": 14
            }
          }
        }
      ],
      "message": {
        "markdown": "`growth`: keeps growing by **+96 B**, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in `lru::LruCache::put` at `lru-0.18.1/src/lib.rs:212`, after 1,024 iterations on `x86_64-unknown-linux-gnu`",
        "text": "growth: keeps growing by +96 B, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in lru::LruCache::put at lru-0.18.1/src/lib.rs:212, after 1,024 iterations on x86_64-unknown-linux-gnu"
      },
      "partialFingerprints": {
        "plimsollStack/v1": "f889357c45e4b074:1",
        "primaryLocationLineHash": "f889357c45e4b074:1"
      },
      "properties": {
        "allowedBytesPerIteration": 0.0,
        "allowedObjectsPerIteration": 0.0,
        "bytesPerIteration": 96.0,
        "iterations": 1024,
        "law": "linear",
        "objectsPerIteration": 1.0,
        "package": "demo",
        "platform": "x86_64-unknown-linux-gnu",
        "scenario": "growth",
        "standing": "new",
        "target": "leaks",
        "verdict": "regressed"
      },
      "relatedLocations": [
        {
          "id": 1,
          "message": {
            "text": "called by main"
          },
          "physicalLocation": {
            "artifactLocation": {
              "uri": "scenarios/src/main.rs",
              "uriBaseId": "%SRCROOT%"
            },
            "region": {
              "startLine": 3
            }
          }
        }
      ],
      "ruleId": "plimsoll/growth",
      "ruleIndex": 5,
      "stacks": [
        {
          "frames": [
            {
              "location": {
                "logicalLocations": [
                  {
                    "fullyQualifiedName": "lru::LruCache::put",
                    "kind": "function",
                    "name": "put"
                  }
                ],
                "message": {
                  "text": "lru-0.18.1/src/lib.rs:212"
                }
              }
            },
            {
              "location": {
                "logicalLocations": [
                  {
                    "fullyQualifiedName": "fill",
                    "kind": "function",
                    "name": "fill"
                  }
                ],
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "scenarios/src/lru%20churn.rs",
                    "uriBaseId": "%SRCROOT%"
                  },
                  "region": {
                    "startLine": 14
                  }
                }
              }
            },
            {
              "location": {
                "logicalLocations": [
                  {
                    "fullyQualifiedName": "main",
                    "kind": "function",
                    "name": "main"
                  }
                ],
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "scenarios/src/main.rs",
                    "uriBaseId": "%SRCROOT%"
                  },
                  "region": {
                    "startLine": 3
                  }
                }
              }
            }
          ],
          "message": {
            "text": "the stack that allocates, innermost call first"
          }
        }
      ]
    }
    "#);
    let mut run = log["runs"][0].clone();
    run["results"] = json!([]);
    run["tool"]["driver"]["rules"] = json!([]);
    assert_snapshot!(serde_json::to_string_pretty(&run).unwrap(), @r#"
    {
      "automationDetails": {
        "id": "plimsoll/x86_64-unknown-linux-gnu/"
      },
      "columnKind": "unicodeCodePoints",
      "invocations": [
        {
          "executionSuccessful": true
        }
      ],
      "originalUriBaseIds": {
        "%SRCROOT%": {
          "description": {
            "text": "The root of the repository."
          }
        }
      },
      "results": [],
      "tool": {
        "driver": {
          "name": "plimsoll",
          "notifications": [
            {
              "id": "plimsoll/left-out",
              "shortDescription": {
                "text": "Results that found no room"
              }
            }
          ],
          "rules": [],
          "semanticVersion": "0.1.0"
        }
      }
    }
    "#);
}

#[test]
fn a_broken_measurement_says_nothing_of_growth() {
    let mut broken = one_of_each().swap_remove(6);
    broken.run.scenarios = vec!["broken".to_owned()];
    broken.findings.push(finding("main fill", RATE));
    let log = log(&left(&[broken]), &[]);
    let [only] = results(&log) else {
        panic!("{log}")
    };
    assert_eq!(only["ruleId"], "plimsoll/broken-measurement");
}

#[test]
fn rules_help() {
    let log = log(&left(&[report("r1", "lru_churn", Verdict::Within)]), &[]);
    let rules = array(&log["runs"][0]["tool"]["driver"]["rules"]).iter();
    let rules = rules.map(|rule| {
        for key in ["shortDescription", "fullDescription", "help"] {
            assert!(!text(&rule[key]["text"]).is_empty());
        }
        assert!(!text(&rule["help"]["markdown"]).is_empty());
        let properties = &rule["properties"];
        assert!(array(&properties["tags"]).len() <= 10);
        let [id, severity, precision] = [
            &rule["id"],
            &properties["problem.severity"],
            &properties["precision"],
        ]
        .map(text);
        format!("{id} {severity} {precision}")
    });
    assert_snapshot!(rules.collect::<Vec<_>>().join("\n"), @"
    plimsoll/stale-allowance recommendation high
    plimsoll/inconclusive warning medium
    plimsoll/descriptor-growth error high
    plimsoll/thread-growth error high
    plimsoll/expired-allowance error very-high
    plimsoll/growth error high
    plimsoll/no-result error very-high
    plimsoll/workload-failed error very-high
    plimsoll/broken-measurement error very-high
    ");
}

#[test]
fn a_run_without_growth_has_no_results() {
    let mut within = report("r1", "lru_churn", Verdict::Within);
    within.run.scenarios.truncate(1);
    let log = log(&left(&[within]), &[]);
    assert_eq!(results(&log), [Value::Null; 0]);
    assert_eq!(
        log["runs"][0]["invocations"],
        json!([{ "executionSuccessful": true }])
    );
}

/// One regressed scenario, changed, by its fingerprint.
fn fingerprint(change: impl FnOnce(&mut Report)) -> String {
    let mut one = report("r1", "lru_churn", Verdict::Regressed);
    one.run.scenarios.truncate(1);
    one.findings.push(finding("main fill", RATE));
    change(&mut one);
    one.run.scenarios = vec![one.scenario.clone()];
    let [only] = fingerprints(&log(&left(&[one]), &[])).try_into().unwrap();
    only
}

#[test]
fn a_fingerprint_is_of_what_grows() {
    let first = fingerprint(|_| {});
    // The promise itself: another value would close and open every alert.
    assert_snapshot!(first, @"271188964a685e7f:1");
    let same: [fn(&mut Report); 6] = [
        |report| report.findings[0].frames[0].line = Some(70),
        |report| report.findings[0].frames[0].file = Some("src/other.rs".to_owned()),
        |report| report.findings[0].rate.bytes = 1e6,
        |report| report.run.id = "r2".to_owned(),
        |report| report.rungs.truncate(1),
        |report| {
            let measured = report.measured.as_mut().unwrap();
            measured.target = "aarch64-unknown-linux-gnu".to_owned();
            measured.toolchain = "rustc 2.0.0".to_owned();
        },
    ];
    for change in same {
        assert_eq!(fingerprint(change), first);
    }
    let others: [fn(&mut Report); 5] = [
        |report| report.scenario = "other".to_owned(),
        |report| report.run.package = "other".to_owned(),
        |report| report.run.target = "other".to_owned(),
        |report| report.findings = vec![finding("main fill put", RATE)],
        // The same letters, cut elsewhere.
        |report| report.findings = vec![finding("mainf ill", RATE)],
    ];
    let mut all = vec![first];
    all.extend(others.map(fingerprint));
    let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "{all:?}");
}

#[test]
fn equal_ones_are_told_apart_whatever_their_rates() {
    let of = |one: f64, other: f64| {
        let mut report = report("r1", "lru_churn", Verdict::Regressed);
        report.run.scenarios.truncate(1);
        for bytes in [one, other] {
            report
                .findings
                .push(finding("main fill", plimsoll_core::Rate { bytes, ..RATE }));
        }
        let mut all = fingerprints(&log(&left(&[report]), &[]));
        all.sort();
        all
    };
    let all = of(1.0, 2.0);
    assert_eq!(all, of(2.0, 1.0));
    let (one, other) = (all[0].strip_suffix(":1"), all[1].strip_suffix(":2"));
    assert_eq!(one, other);
    assert!(one.is_some());
}

#[test]
fn the_worst_5000_are_kept() {
    let names: Vec<String> = (0..6).map(|number| format!("s{number}")).collect();
    let reports = names.iter().map(|name| {
        let mut report = report("r1", name, Verdict::Regressed);
        report.run.scenarios.clone_from(&names);
        report.findings = (0..1_000)
            .map(|n| finding(&format!("f{n}"), RATE))
            .collect();
        if name == "s0" {
            for finding in &mut report.findings {
                finding.verdict = Verdict::Inconclusive;
            }
        }
        report
    });
    let log = log(&left(&reports.collect::<Vec<_>>()), &[]);
    assert_eq!(results(&log).len(), 5_000);
    assert!(
        results(&log)
            .iter()
            .all(|one| one["ruleId"] == "plimsoll/growth")
    );
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_snapshot!(text(&note["message"]["text"]), @"left out: 1,000 results that need a person least; code scanning shows 5,000, and takes 10 MB");
}

#[test]
fn as_many_results_as_an_upload_takes() {
    let names: Vec<String> = (0..4).map(|number| format!("s{number}")).collect();
    let reports = names.iter().map(|name| {
        let mut report = report("r1", name, Verdict::Regressed);
        report.run.scenarios.clone_from(&names);
        let stack = (0..100).map(|n| format!("{n}{}", "f".repeat(400)));
        let stack = stack.collect::<Vec<_>>().join(" ");
        report.findings = vec![finding(&stack, RATE); 40];
        report
    });
    let log = log(&left(&reports.collect::<Vec<_>>()), &[]);
    let kept = results(&log).len();
    assert!((50..160).contains(&kept), "{kept}");
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    let left_out = format!("left out: {} results", 160 - kept);
    assert!(
        text(&note["message"]["text"]).starts_with(&left_out),
        "{note}"
    );
}

#[test]
fn a_deep_stack_is_cut() {
    let mut deep = report("r1", "deep", Verdict::Regressed);
    deep.run.scenarios = vec!["deep".to_owned()];
    let names: Vec<String> = (0..4_000).map(|n| format!("f{n}")).collect();
    let mut one = finding(&names.join(" "), RATE);
    for (line, frame) in (1..).zip(&mut one.frames) {
        frame.line = Some(line);
    }
    deep.findings.push(one);
    let log = log(&left(&[deep]), &[]);
    let stack = &results(&log)[0]["stacks"][0];
    assert_eq!(array(&stack["frames"]).len(), 100);
    assert_snapshot!(text(&stack["message"]["text"]), @"the stack that allocates, innermost call first, without 3,900 frames further out");
}

#[test]
fn hostile_text_stays_text() {
    let project = left(&[hostile()]);
    let log = log(&project, &[]);
    assert_clean(&log.to_string().replace("\\n", ""));
    let result = &results(&log)[0];
    // Neither file is in the repository, nor is the baseline.
    let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, "plimsoll.toml");
    assert_snapshot!(text(&result["message"]["text"]), @r#"a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü: keeps growing by +96 B, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü at a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü:1; accepted because a\[31mb<x y='z'>"&amp;\]\]>`|\\\[c\](https://x)  {0}ü, after 1,024 iterations on x86_64-unknown-linux-gnu"#);
    assert_snapshot!(text(&result["message"]["markdown"]), @r#"`` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü ``: keeps growing by **+96 B**, +1.00 objects per iteration, linear; allowed: 0 B (not in the baseline); in `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü `` at `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü:1 ``; accepted because `` a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü ``, after 1,024 iterations on `x86_64-unknown-linux-gnu`"#);
}

#[test]
fn the_repository_around_the_workspace() {
    let mut growth = report("r1", "growth", Verdict::Regressed);
    growth.run.scenarios = vec!["growth".to_owned(), "lost".to_owned()];
    let mut one = finding("main put", RATE);
    one.frames = frames(&[
        ("put", "lru-0.18.1/src/lib.rs", 9),
        ("main", "src/main.rs", 3),
    ]);
    growth.findings.push(one);
    let project = left(&[growth]);
    let written = project.plimsoll(&["report", "--format", "json", "--output", "joined.json"]);
    assert_eq!(written.status, Some(0), "{written}");
    let mut joined: Value = serde_json::from_str(&project.read("joined.json")).unwrap();
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
    assert_eq!(
        uris(&one),
        ["sub/tool/baselines/lost.toml", "sub/tool/src/main.rs"]
    );
    assert_eq!(
        one["runs"][0]["versionControlProvenance"],
        json!([{
            "repositoryUri": "https://github.com/owner/name",
            "revisionId": "2bc8970",
            "mappedTo": { "uriBaseId": "%SRCROOT%" },
        }])
    );
    let hostile = with_source("owner/name/../../x?y", "HEAD", "../..");
    assert_eq!(uris(&hostile), ["plimsoll.toml"; 2]);
    assert_eq!(hostile["runs"][0].get("versionControlProvenance"), None);
    let branch = with_source("owner/name", "main; rm", "");
    let provenance = &branch["runs"][0]["versionControlProvenance"][0];
    assert_eq!(provenance.get("revisionId"), None);
}

#[test]
fn a_category_for_each_platform() {
    let on = |target: &str, run: &str| {
        let mut one = report(run, "lru_churn", Verdict::Within);
        one.measured.as_mut().unwrap().target = target.to_owned();
        left(&[one])
    };
    let category = |log: &Value| text(&log["runs"][0]["automationDetails"]["id"]).to_owned();
    let arm = on("aarch64-unknown-linux-gnu", "r1");
    assert_eq!(
        category(&log(&arm, &[])),
        "plimsoll/aarch64-unknown-linux-gnu/"
    );
    let intel = on("x86_64-unknown-linux-gnu", "r2");
    let other = intel.path("target/plimsoll").display().to_string();
    let both = log(&arm, &["target/plimsoll", &other]);
    assert_eq!(
        category(&both),
        "plimsoll/aarch64-unknown-linux-gnu+x86_64-unknown-linux-gnu/"
    );
    let odd = on("../x/\u{202e}y z", "r1");
    assert_eq!(category(&log(&odd, &[])), "plimsoll/..xyz/");
}
