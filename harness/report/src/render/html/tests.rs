use insta::assert_snapshot;
use plimsoll_core::Resource;
use plimsoll_core::report::{Memory, Report, Standing, Subject, Survivors, text};
use plimsoll_core::{Rate, Tally};

use super::*;
use crate::joined::{Scenario, Source};
use crate::render::fixtures;

fn html_of(joined: &Joined) -> String {
    render(joined, &Context::default())
}

fn none(name: &str) -> Scenario {
    let why = "it left no report in this run".to_owned();
    Scenario {
        outcome: Outcome::NoResult(why),
        ..measured(name, Verdict::Within)
    }
}

fn joined(scenarios: Vec<Scenario>) -> Joined {
    Joined {
        scenarios,
        ..fixtures::joined(Vec::new())
    }
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
fn the_worst_stands_first_and_the_same_is_the_same() {
    let scenarios = || {
        use Verdict::{Broken, Inconclusive, Regressed, Within};
        let others = [
            ("c", Broken),
            ("d", Regressed),
            ("e", Within),
            ("f", Inconclusive),
        ];
        let others = others.map(|(name, verdict)| measured(name, verdict));
        [measured("a", Within), none("b")]
            .into_iter()
            .chain(others)
            .collect()
    };
    let page = html_of(&joined(scenarios()));
    let order = between(&page, "<a class=\"name\" href=\"#", "\"");
    assert_eq!(order, ["c", "d", "f", "b", "a", "e"]);
    assert_eq!(html_of(&joined(scenarios())), page);
    let title = between(&page, "<title>", "</title>");
    assert_eq!(title, ["broken: leak report of 6 scenarios"]);
}

#[test]
fn each_missing_result_has_its_own_reason() {
    let mut all = joined(["a", "b", "c"].map(none).into());
    let entry = |all: &Joined| {
        let page = html_of(all);
        between(&page, "<p class=\"first\">", "</p>")[0]
            .trim()
            .to_owned()
    };
    let one = "no result: it left no report in this run. What has no result did not pass.";
    assert_eq!(entry(&all), one);
    all.scenarios[1].outcome = Outcome::NoResult("it is damaged".to_owned());
    let two = "no result: it left no report in this run in a, c; it is damaged in b. \
               What has no result did not pass.";
    assert_eq!(entry(&all), two);
}

#[test]
fn what_grows_most_stands_first_of_one_verdict() {
    let page = html_of(&fixtures::joined(vec![
        fixtures::regressed("slow", &[("main put", 1.0)]),
        fixtures::regressed("fast", &[("main put", 100.0)]),
        fixtures::report("a", Verdict::Within),
    ]));
    let order = between(&page, "<a class=\"name\" href=\"#", "\"");
    assert_eq!(order, ["fast", "slow", "a"]);
}

/// The cells of a report's row: what it gains, what it may gain, and its level.
fn cells(report: Report) -> [String; 3] {
    let page = html_of(&fixtures::joined(vec![report]));
    ["rate", "allowed", "level"].map(|column| {
        let start = format!("<td role=\"cell\" class=\"c-{column}\">");
        let cell = between(&page, &start, "</td>")[0];
        let parts = cell
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect()
    })
}

/// Where jemalloc said what it holds, the page says what resident memory is made of.
#[test]
fn resident_memory_is_divided() {
    let mut report = fixtures::report("a", Verdict::Within);
    report.measured.as_mut().unwrap().sample_interval = 4_096;
    for rung in &mut report.rungs {
        rung.resident = 120 << 20;
        rung.allocated = Some(60 << 20);
        rung.memory = Some(Memory {
            active: 70 << 20,
            metadata: 12 << 20,
            resident: 112 << 20,
            outside: Some(5 << 20),
        });
    }
    let page = html_of(&fixtures::joined(vec![report.clone()]));
    assert!(page.contains("<b>Resident memory</b>"), "{page}");
    let said = "120 MiB resident: 60 MiB live, 40 MiB in pages that jemalloc keeps, 12 MiB for the \
                profile and jemalloc itself, 8 MiB outside of jemalloc";
    assert!(page.contains(said), "{page}");
    let in_text = |all| {
        let text = text::render(
            &report,
            &text::Style {
                all,
                ..text::Style::plain()
            },
        );
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").contains(said)
    };
    assert_eq!([false, true].map(in_text), [false, true]);
    report.rungs[0].memory = None;
    let page = html_of(&fixtures::joined(vec![report]));
    assert!(!page.contains("<b>Resident memory</b>"));
}

#[test]
fn cells_are_about_what_grew_in_its_own_unit() {
    let red = || fixtures::regressed("a", &[("main put", 48.0)]);
    let heap = ["+48 B +1.00 objects", "0 B", "24 KiB → 384 KiB"];
    assert_eq!(cells(red()), heap);
    let mut files = red();
    files.findings[0].subject = Subject::Resource(Resource::Descriptors);
    let descriptors = [
        "+1.00 file descriptors",
        "0 file descriptors",
        "512 → 8,192 file descriptors",
    ];
    assert_eq!(cells(files.clone()), descriptors);
    let page = html_of(&fixtures::joined(vec![files]));
    let plots = between(&page, "<figcaption><b>", "</b>");
    assert_eq!(plots, ["File descriptors", "Live heap"]);

    let mut outside = red();
    outside.findings[0].subject = Subject::Resource(Resource::Outside);
    let memory = [
        "+48 B outside the allocator",
        "0 B outside the allocator",
        "24 KiB → 384 KiB outside the allocator",
    ];
    assert_eq!(cells(outside), memory);

    let within = fixtures::report("a", Verdict::Within);
    assert_eq!(cells(within), ["–", "–", "–"]);
    let mut unmeasured = fixtures::report("a", Verdict::Failed);
    unmeasured.rungs.clear();
    assert_eq!(cells(unmeasured), ["unknown", "unknown", "–"]);
    let mut improved = red();
    improved.verdict = Verdict::Improved;
    let unused = &mut improved.findings[0];
    (unused.verdict, unused.standing) = (Verdict::Improved, Standing::Stale);
    (unused.allowed, unused.rate) = (unused.rate, Rate::default());
    unused.levels.clear();
    assert_eq!(cells(improved), ["no longer", "48 B", "–"]);
}

#[test]
fn who_stayed_stands_with_each_finding() {
    let mut report = fixtures::regressed("lru", &[("main put", 48.0)]);
    let none = html_of(&fixtures::joined(vec![report.clone()]));
    assert!(!none.contains("Who stayed"), "{none}");
    let born = |from, to, allocated, objects| Survivors {
        from,
        to,
        allocated,
        alive: Tally { objects, bytes: 48 },
    };
    let finding = &mut report.findings[0];
    finding.survivors = vec![
        born(0, 2_048, Some(2_048), 512),
        born(2_048, 4_096, Some(2_048), 513),
        born(4_096, 8_192, None, u64::MAX),
    ];
    let page = html_of(&fixtures::joined(vec![report.clone()]));
    assert_eq!(between(&page, "rungs stayed\"", ">"), [" open"]);
    assert!(
        page.contains("still alive after 8,192 iterations"),
        "{page}"
    );
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
fn who_holds_it_is_drawn_from_the_root_down() {
    let mut bad = fixtures::regressed("open", &[("demo::main lru::put", 48.0)]);
    bad.findings[0].holders = Some(fixtures::sample::in_a_map());
    bad.findings[0].blame = Some(fixtures::sample::blame("store::session", 12));
    let page = html_of(&fixtures::joined(vec![bad]));
    let chain = between(&page, "<ol class=\"chain\"", "</ol>")[0];
    let things = between(chain, "<li>", "</li>");
    assert_snapshot!(things.join("\n"), @r#"
    the static <code>app::SESSIONS</code>
    a <code>HashMap&lt;u64, Arc&lt;Session&gt;&gt;</code><span class="quiet"> 4 KiB</span><span class="place"><code>store::open</code> at <code>src/store.rs:9</code></span>
    100 <code>Arc&lt;Session&gt;</code><span class="place"><code>store::session</code> at <code>src/store.rs:12</code></span>
    "#);
}

#[test]
fn a_run_without_scenarios_is_not_green() {
    let page = html_of(&joined(Vec::new()));
    assert!(page.contains("No result, no scenario was measured"));
    assert!(page.contains("<h1 class=\"v-none\">"));
    let page = html_of(&joined(vec![measured("a", Verdict::Within), none("b")]));
    assert!(page.contains("1 of 2 scenarios has no result"));
}

#[test]
fn every_scenario_has_its_own_address() {
    let page = html_of(&joined(["a b", "a-b", "a<b", "~~"].map(none).into()));
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
    let page = html_of(&joined(vec![scenario, none(evil)]));
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
    let of_nothing = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";
    assert_eq!(by_digest(""), of_nothing);
    assert_eq!(by_digest(script), format!("'sha256-{}'", policy[0]));
    let data = between(&page, "<script type=\"application/json\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(data[0]).unwrap();
    assert_eq!(data["names"][0], evil);
    assert_eq!(data["stacks"][0], serde_json::json!([[0], 0, 0, 0.0]));
}

#[test]
fn names_that_no_scenario_can_have_are_in_no_command() {
    let mut scenario = measured("a", Verdict::Regressed);
    let page = html_of(&joined(vec![scenario.clone()]));
    assert!(page.contains("cargo plimsoll accept a<"));
    assert!(page.contains("cargo test -p demo --test leaks -- --exact a<"));
    if let Outcome::Report(report) = &mut scenario.outcome {
        "a; rm -rf ~".clone_into(&mut report.scenario);
    }
    assert!(!html_of(&joined(vec![scenario])).contains("cargo "));
}

#[test]
fn the_source_is_text_and_no_link() {
    let mut joined = joined(vec![measured("a", Verdict::Within)]);
    joined.source = Some(Source {
        repository: "o/<r>".to_owned(),
        event: "pull_request".to_owned(),
        run: 7,
        attempt: 2,
        pull_request: Some(41),
        head: "2bc8970".to_owned(),
        base: Some("9f31c02".to_owned()),
        prefix: "crates\u{202e}".to_owned(),
    });
    let page = html_of(&joined);
    for (name, value) in [
        ("Repository", "<code>o/&lt;r&gt;</code>"),
        ("Pull request", "#41"),
        ("Head", "<code>2bc8970</code>"),
        ("Base", "<code>9f31c02</code>"),
        ("Workflow run", "7, attempt 2, on pull_request"),
        ("Folder", r"<code>crates\u{202e}</code>"),
        ("Run", "<code>r1</code>"),
    ] {
        let fact = format!("<dt>{name}</dt><dd>{value}</dd>");
        assert!(page.contains(&fact), "{fact}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
}
