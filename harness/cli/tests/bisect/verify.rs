//! `plimsoll verify-fix`, of revisions and of reports.

use crate::fake::{ASKED, Repository};

fn verify(repository: &Repository, sides: [&str; 2], more: &[&str]) -> (i32, String) {
    let args = [&["verify-fix"], &sides[..], more].concat();
    let ran = repository.plimsoll(&args);
    (
        ran.status.unwrap_or(-1),
        format!("{}{}", ran.stdout, ran.stderr),
    )
}

#[test]
fn two_revisions() {
    for (states, status, parts) in [
        (
            ["bad", "good"],
            0,
            &[
                "churn: fixed",
                "put",
                "+80 B",
                "it fell by 100 %: every object was counted",
            ][..],
        ),
        (["bad", "half"], 0, &["and still grows", "it fell by 90 %"]),
        (
            ["bad", "bad"],
            1,
            &["churn: not fixed: it grows as before", "it fell by 0 %"],
        ),
        (["bad", "renamed"], 1, &["churn: not fixed"]),
        (
            ["half", "bad"],
            1,
            &["churn: not fixed: it grows faster", "it rose by 900 %"],
        ),
        (
            ["bad", "other"],
            0,
            &["churn: fixed", "but this grows, and did not before: "],
        ),
        (
            ["both", "other"],
            0,
            &[
                "churn: fixed",
                "but this grows faster than it did: …;log;push",
            ],
        ),
        (
            ["good", "bad"],
            3,
            &["nothing grew before that a change could fix"],
        ),
        (
            ["bad", "unbuildable"],
            3,
            &[
                "HEAD (",
                "cannot be measured",
                "cannot find value",
                "logs: ",
            ],
        ),
        (
            ["bad", "broken"],
            3,
            &["HEAD (", "cannot be measured", "canary", "logs: "],
        ),
    ] {
        let repository = Repository::history(&states);
        let before = repository.everything();
        let (found, text) = verify(&repository, ["HEAD~1", "HEAD"], &ASKED);
        assert_eq!(found, status, "{states:?}: {text}");
        for part in parts {
            assert!(
                text.contains(part),
                "{states:?}: expected {part:?} in: {text}"
            );
        }
        assert_eq!(repository.everything(), before, "{states:?}");
    }
}

#[test]
fn what_cannot_be_meant() {
    let repository = Repository::history(&["bad", "good"]);
    let refused = |sides, part: &str| {
        let (status, text) = verify(&repository, sides, &ASKED);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains(part), "expected {part:?} in: {text}");
    };
    refused(["HEAD", "main"], "nothing to compare");
    refused(["HEAD", "nowhere"], "there is no commit `nowhere`");
    refused(
        ["HEAD", "src"],
        "two revisions or two reports, found the path src and HEAD",
    );
}

#[test]
fn what_was_measured_is_kept() {
    let repository = Repository::history(&["bad", "good"]);
    let sides = ["HEAD~1", "HEAD"];
    assert_eq!(verify(&repository, sides, &ASKED).0, 0);
    let builds = repository.builds();
    assert_eq!(verify(&repository, sides, &ASKED).0, 0);
    assert_eq!((builds, repository.builds()), (2, 2));
}

#[test]
fn reports_of_two_runs() {
    let repository = Repository::history(&["good"]);
    let templates = repository.outer().join("templates");
    let path = |name: &str| templates.join(name).to_str().unwrap().to_owned();
    let (bad, good) = (path("bad"), path("good"));
    let (status, text) = verify(&repository, [&bad, &good], &["--json"]);
    assert_eq!(status, 0, "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["result"], "fixed");
    assert_eq!(value["stack"], serde_json::json!(["main", "store", "put"]));
    assert_eq!(value["before"]["rate"]["bytes"], 80.0);
    assert_eq!(value["fell_by"], 1.0);
    let gone = &value["differences"][0];
    assert_eq!(gone["kind"], "gone");
    assert_eq!(gone["stack"], value["stack"]);
    assert_eq!(gone["before"], value["before"]["rate"]);

    let (status, text) = verify(&repository, [&bad, &path("broken")], &[]);
    assert_eq!(status, 3, "{text}");
    assert!(text.contains("canary"), "{text}");
    let (status, text) = verify(&repository, [&bad, &path("newer")], &[]);
    assert_eq!(status, 5, "{text}");
    let (status, text) = verify(&repository, [&bad, &good], &["--scenario", "else"]);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("expected one of: churn"), "{text}");
    let (status, text) = verify(&repository, [&bad, &good], &["--stack", "nowhere"]);
    assert_eq!(status, 3, "{text}");
}

#[test]
fn reports_of_several_tests() {
    let repository = Repository::history(&["good"]);
    let templates = repository.outer().join("templates");
    let side = |name: &str, state: &str| {
        let dir = repository.outer().join(name);
        // `cargo test` makes a run of each test target.
        for (package, state, minute) in [("demo", state, 1), ("other", "good", 2)] {
            let dir = dir.join(package).join("leaks").join("churn");
            std::fs::create_dir_all(&dir).unwrap();
            let text = std::fs::read_to_string(templates.join(state)).unwrap();
            let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
            report["run"]["id"] = package.into();
            report["run"]["package"] = package.into();
            let path = dir.join("report.json");
            std::fs::write(&path, report.to_string()).unwrap();
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(minute);
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
        }
        dir.to_str().unwrap().to_owned()
    };
    let (bad, good) = (side("before", "bad"), side("after", "good"));
    let (status, text) = verify(&repository, [&bad, &good], &["--package", "demo"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("churn: fixed"), "{text}");
    let (status, text) = verify(&repository, [&good, &bad], &[]);
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("--package or --test: churn (demo, leaks), churn (other, leaks)"),
        "{text}"
    );
    let (status, text) = verify(&repository, [&bad, &good], &["--package", "dmeo"]);
    assert_eq!(status, 2, "{text}");
    assert!(
        text.contains("expected one of: churn (demo, leaks), churn (other, leaks)"),
        "{text}"
    );
}
