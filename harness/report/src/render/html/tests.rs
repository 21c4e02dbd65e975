use plimsoll_core::Tally;
use plimsoll_core::report::{Memory, Survivors, text};

use super::*;
use crate::joined::{Scenario, Source};
use crate::render::fixtures::{self, lost};

fn html_of(joined: &Joined) -> String {
    render(joined, &Context::default())
}

/// A report with next to nothing in it: a test fills in what it needs.
fn measured(name: &str, verdict: Verdict) -> Scenario {
    let mut report = fixtures::report(name, verdict);
    (report.measured, report.visible, report.rungs) = (None, None, Vec::new());
    fixtures::joined(vec![report]).scenarios.remove(0)
}

fn between<'a>(page: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let parts = page.split(start).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(end)?.0))
        .collect()
}

#[test]
fn each_missing_result_has_its_own_reason() {
    let mut all = Joined::of_run("r1", ["a", "b", "c"].map(lost));
    all.scenarios[1].outcome = Outcome::NoResult("it is damaged".to_owned());
    let page = html_of(&all);
    let title = between(&page, "<title>", "</title>");
    assert_eq!(title, ["no result: leak report of 3 scenarios"]);
    let said = "no result: it left no report in this run in a, c; it is damaged in b. \
                What has no result did not pass.";
    assert_eq!(
        between(&page, "<p class=\"first\">", "</p>")[0].trim(),
        said
    );
}

/// The whole text says what resident memory is made of, as the page does. The page and the usual
/// text, which does not, are in the gallery.
#[test]
fn resident_memory_is_divided() {
    let mut report = fixtures::report("a", Verdict::Within);
    let page = html_of(&fixtures::joined(vec![report.clone()]));
    assert!(!page.contains("<b>Resident memory</b>"));
    report.measured.as_mut().unwrap().sample_interval = 4_096;
    for rung in &mut report.rungs {
        (rung.resident, rung.allocated) = (120 << 20, Some(60 << 20));
        rung.memory = Some(Memory {
            active: 70 << 20,
            metadata: 12 << 20,
            resident: 112 << 20,
            outside: Some(5 << 20),
        });
    }
    let mut style = text::Style::plain();
    style.all = true;
    let text = text::render(&report, &style);
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = "60 MiB live, 40 MiB in pages that jemalloc keeps, 12 MiB for the profile";
    assert!(words.join(" ").contains(said), "{text}");
}

#[test]
fn who_stayed_stands_with_each_finding() {
    let mut report = fixtures::regressed("lru", &[("main put", 48.0)]);
    let none = html_of(&fixtures::joined(vec![report.clone()]));
    assert!(!none.contains("Who stayed"), "{none}");
    let born = |from, allocated, objects| Survivors {
        from,
        to: 2 * from,
        allocated,
        alive: Tally { objects, bytes: 48 },
    };
    let octaves = [born(2_048, Some(2_048), 513), born(4_096, None, u64::MAX)];
    report.findings[0].survivors = octaves.into();
    let page = html_of(&fixtures::joined(vec![report.clone()]));
    assert_eq!(between(&page, "rungs stayed\"", ">"), [" open"]);
    assert!(page.contains("still alive after 8,192 iterations"));
    let rows = between(&page, "<th scope=\"row\">2,049–4,096</th>", "</tr>");
    let row = "<td>2,048</td><td>513</td><td class=\"share\"><svg";
    assert!(rows[0].starts_with(row), "{rows:?}");
    assert_eq!(between(rows[0], "class=\"part\" width=\"", "\""), ["25.0%"]);
    assert!(page.contains("<td>unknown</td><td>18,446,744,073,709,551,615</td>"));
    // Where nothing goes, it is folded.
    for octave in &mut report.findings[0].survivors {
        octave.allocated = Some(octave.alive.objects);
    }
    let page = html_of(&fixtures::joined(vec![report]));
    assert_eq!(between(&page, "rungs stayed\"", ">"), [""]);
}

#[test]
fn a_run_without_scenarios_is_not_green() {
    let page = html_of(&Joined::of_run("r1", []));
    assert!(page.contains("No result, no scenario was measured"));
    assert!(page.contains("<h1 class=\"v-none\">"));
}

#[test]
fn every_scenario_has_its_own_address() {
    let names = ["a b", "a-b", "a<b", "~~"];
    let page = html_of(&Joined::of_run("r1", names.map(lost)));
    let ids = between(&page, "class=\"scenario v-none\" id=\"", "\"");
    assert_eq!(ids, ["a-b", "a-b-2", "a-b-3", "scenario"]);
}

#[test]
fn nothing_but_our_style_and_script_can_do_anything() {
    let mut scenario = measured("a", Verdict::Within);
    let evil = "</style></script><script>x</script><p onclick='x' style=\"x\">";
    if let Outcome::Report(report) = &mut scenario.outcome {
        report.notes.push(evil.to_owned());
        let mut growth = fixtures::growth("", f64::NAN);
        growth.stack.0 = vec![evil.to_owned()];
        growth.rate.bytes = f64::INFINITY;
        report.growth.push(growth);
    }
    let page = html_of(&Joined::of_run("r1", [scenario, lost(evil)]));
    let scripts = between(&page, "<script", ">");
    assert_eq!(scripts, ["", " type=\"application/json\""]);
    for (tag, times) in [("</script", 2), ("<style", 1), ("</style", 1)] {
        assert_eq!(page.matches(tag).count(), times, "{tag}");
    }
    let body = page.split_once("<body>").unwrap().1;
    for tag in between(body, "<", ">") {
        assert!(!tag.contains(" on") && !tag.contains(" style"), "<{tag}>");
    }
    // What the policy names is what is there.
    let policy = between(&page, "script-src 'sha256-", "'");
    let script = page.split_once("<script>").unwrap().1;
    let script = script.split_once("</script>").unwrap().0;
    assert_eq!(by_digest(script), format!("'sha256-{}'", policy[0]));
    let data = between(&page, "<script type=\"application/json\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(data[0]).unwrap();
    assert_eq!(data["names"][0], evil);
    assert_eq!(data["stacks"][0], serde_json::json!([[0], 0, 0, 0.0]));
}

#[test]
fn the_source_is_text_and_no_link() {
    let mut joined = Joined::of_run("r1", [measured("a", Verdict::Within)]);
    joined.source = Some(Source {
        repository: "o/<r>".to_owned(),
        prefix: "crates\u{202e}".to_owned(),
        ..fixtures::source()
    });
    let page = html_of(&joined);
    assert!(page.contains("<dt>Repository</dt><dd><code>o/&lt;r&gt;</code></dd>"));
    assert!(page.contains(r"<dt>Folder</dt><dd><code>crates\u{202e}</code></dd>"));
    assert!(!page.contains("http://") && !page.contains("https://"));
}
