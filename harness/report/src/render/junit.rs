//! JUnit XML, as Jenkins, GitLab and the actions that show test results read it.
//!
//! ```text
//! <testsuites>
//!   <testsuite>        one test target of a package on one platform
//!     <properties>     what it was measured with, and every rate
//!     <testcase>       one scenario
//!       <failure>      it grows, or nothing could be told
//!       <error>        it failed, its measurement broke, or it has no result
//!       <system-out>   the outcome in one line
//! ```
//!
//! A scenario without a result is an error and never `<skipped>`, because readers count
//! skipped tests as green. Rates are properties of the suite, because Jenkins' schema has no
//! properties in a test case. A report does not say how long a scenario took; `time="0"` is
//! for readers that compute with it.

use std::fmt::Write;

use plimsoll_core::Rate;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::text;

use super::plain::{self, clean, clean_line};
use crate::joined::{Joined, NO_RESULT, Outcome, Scenario};

/// The most characters of an attribute.
const MAX_ATTRIBUTE: usize = 500;
/// The most findings of a scenario whose rates are written: the first ones, which need a
/// person most. Readers keep every property in memory.
const MAX_RATES: usize = 20;

/// Returns the element of a test case that did not pass.
fn problem(scenario: &Scenario) -> Option<&'static str> {
    match scenario.verdict() {
        Some(Verdict::Within | Verdict::Improved) => None,
        Some(Verdict::Inconclusive | Verdict::Regressed) => Some("failure"),
        Some(Verdict::Failed | Verdict::Broken) | None => Some("error"),
    }
}

pub fn render(joined: &Joined) -> String {
    let mut page = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all: Vec<&Scenario> = joined.scenarios.iter().collect();
    let suites = suites(&all);
    let platforms = suites.iter().map(|suite| &suite[0].platform);
    let several = suites.len() > 1 && platforms.clone().any(|one| *one != suites[0][0].platform);
    page += "<testsuites name=\"plimsoll\"";
    totals(&mut page, &all);
    page += ">\n";
    for suite in &suites {
        render_suite(&mut page, joined, suite, several);
    }
    page += "</testsuites>\n";
    page
}

/// Groups scenarios by package, target and platform, in the order of their first occurrence.
fn suites<'a>(all: &[&'a Scenario]) -> Vec<Vec<&'a Scenario>> {
    let mut suites: Vec<Vec<&Scenario>> = Vec::new();
    for &scenario in all {
        let key = |of: &Scenario| {
            (of.package == scenario.package && of.target == scenario.target)
                && of.platform == scenario.platform
        };
        match suites.iter_mut().find(|suite| key(suite[0])) {
            Some(suite) => suite.push(scenario),
            None => suites.push(vec![scenario]),
        }
    }
    suites
}

fn totals(page: &mut String, scenarios: &[&Scenario]) {
    let problems = || scenarios.iter().filter_map(|one| problem(one));
    let count = |wanted| problems().filter(|found| *found == wanted).count();
    attribute(page, "tests", &scenarios.len().to_string());
    attribute(page, "failures", &count("failure").to_string());
    attribute(page, "errors", &count("error").to_string());
    attribute(page, "time", "0");
}

fn render_suite(page: &mut String, joined: &Joined, suite: &[&Scenario], several: bool) {
    let first = suite[0];
    let mut name = format!("{}/{}", first.package, first.target);
    // Readers split a class name at its dots.
    let mut class = format!("{}.{}", first.package, first.target);
    if several {
        let platform = first.platform.as_deref().unwrap_or("unknown platform");
        name += &format!(" ({platform})");
        class += &format!(".{platform}");
    }
    page.push_str("  <testsuite");
    attribute(page, "name", &name);
    totals(page, suite);
    attribute(page, "skipped", "0");
    page.push_str(">\n    <properties>\n");
    for (name, value) in properties(joined, suite) {
        page.push_str("      <property");
        attribute(page, "name", &name);
        attribute(page, "value", &value);
        page.push_str("/>\n");
    }
    page.push_str("    </properties>\n");
    let prefix = joined.source.as_ref().map_or("", |source| &source.prefix);
    for scenario in suite {
        render_case(page, scenario, &class, prefix);
    }
    page.push_str("  </testsuite>\n");
}

fn render_case(page: &mut String, scenario: &Scenario, class: &str, prefix: &str) {
    page.push_str("    <testcase");
    attribute(page, "classname", class);
    attribute(page, "name", &scenario.name);
    attribute(page, "time", "0");
    let findings = scenario.report().map(plain::findings);
    let mut findings = findings.into_iter().flatten();
    // The first finding that grows needs a person most.
    let place = findings.find_map(|finding| {
        plain::blamed(finding, prefix).filter(|_| finding.verdict >= Verdict::Inconclusive)
    });
    if let Some(place) = place {
        attribute(page, "file", &place.path);
        attribute(page, "line", &place.line.to_string());
    }
    page.push_str(">\n");
    let (word, line, block) = match &scenario.outcome {
        Outcome::NoResult(why) => (NO_RESULT, format!("{NO_RESULT}, {why}"), why.clone()),
        Outcome::Report(report) => (
            report.verdict.as_str(),
            report.outcome().sentence().plain(),
            text::render(report, &text::Style::plain()),
        ),
    };
    let Some(element) = problem(scenario) else {
        page.push_str("      <system-out>");
        escape(page, &clean(&line), false);
        page.push_str("</system-out>\n    </testcase>\n");
        return;
    };
    let _ = write!(page, "      <{element}");
    attribute(page, "message", &line);
    attribute(page, "type", word);
    page.push('>');
    escape(page, clean(&block).trim_end(), false);
    let _ = write!(page, "</{element}>\n    </testcase>\n");
}

/// Returns what all scenarios of a suite have in common, and the rates of each scenario.
fn properties(joined: &Joined, suite: &[&Scenario]) -> Vec<(String, String)> {
    let mut properties = Vec::new();
    let mut add = |name: String, value: String| properties.push((name, value));
    for run in &joined.runs {
        add("run".to_owned(), run.clone());
    }
    if let Some(source) = &joined.source {
        add("commit".to_owned(), source.head.clone());
    }
    if let Some(platform) = &suite[0].platform {
        add("platform".to_owned(), platform.clone());
    }
    let mut reports = suite.iter().filter_map(|scenario| scenario.report());
    if let Some(measured) = reports.find_map(|report| report.measured.as_ref()) {
        for (name, known) in [
            ("profile", &measured.profile),
            ("toolchain", &measured.toolchain),
            ("jemalloc", &measured.jemalloc),
        ] {
            if !known.is_empty() {
                add(name.to_owned(), known.clone());
            }
        }
    }
    for scenario in suite {
        let Some(report) = scenario.report() else {
            continue;
        };
        let per = report.per.as_str();
        let of = |what: &str| format!("{}.{what}", scenario.name);
        if let Some(rung) = report.rungs.last() {
            add(of("iterations"), rung.iterations.to_string());
        }
        for (number, finding) in plain::findings(report).iter().take(MAX_RATES).enumerate() {
            let of = |what: &str| of(&format!("{}.{what}", number + 1));
            add(of("grows"), finding.name().to_owned());
            add(of("verdict"), finding.verdict.to_string());
            let mut add_rate = |before: &str, after: &str, Rate { objects, bytes }: Rate| {
                for (unit, rate) in [("objects", objects), ("bytes", bytes)] {
                    let name = of(&format!("{before}{unit}_per_{per}{after}"));
                    add(name, rate.to_string());
                }
            };
            add_rate("", "", finding.rate);
            if let Some(error) = report.error_of(finding) {
                add_rate("", "_error", error);
            }
            add_rate("allowed_", "", finding.allowed);
        }
    }
    properties
}

fn attribute(page: &mut String, name: &str, value: &str) {
    let _ = write!(page, " {name}=\"");
    escape(page, &clean_line(value, MAX_ATTRIBUTE), true);
    page.push('"');
}

/// Escapes text. All text gets into the page through this function, after [`clean`] has
/// removed what XML cannot hold.
fn escape(page: &mut String, text: &str, quotes: bool) {
    for char in text.chars() {
        match char {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            // XML requires this only at the end of `]]>`.
            '>' => page.push_str("&gt;"),
            '"' if quotes => page.push_str("&quot;"),
            char => page.push(char),
        }
    }
}
