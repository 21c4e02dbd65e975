//! The file format of the joined report, version 1. One job writes the file, and the next job
//! reads it.
//!
//! The format is stable, and `schema/joined-v1.schema.json` describes it. Each `report` in it
//! has the format of a scenario's report, except for the list of its target's scenarios: the
//! list is empty, because the file already has these names.
//!
//! The file may come with a pull request. So [`parse`] enforces limits of its own,
//! [`Limits::UNTRUSTED`], and [`to_string`] cuts to them: 512 bytes per string, 10,000 frames
//! per scenario, 1,000 scenarios, and 8 MiB in total. The smallest growth is left out first.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter::successors;

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::Report;
use plimsoll_core::report::json::{self as report, Limits, MAX_BYTES, ReportError, required};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Joined, Outcome, Scenario, Source, need, word};

/// The version that [`to_string`] writes.
const VERSION: u64 = 1;
/// The most scenarios of all targets together.
const MAX_SCENARIOS: usize = 1_000;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinedV1 {
    version: u64,
    plimsoll: String,
    runs: Vec<String>,
    #[serde(deserialize_with = "required")]
    source: Option<Source>,
    verdict: String,
    scenarios: Vec<ScenarioV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioV1 {
    package: String,
    target: String,
    scenario: String,
    #[serde(deserialize_with = "required")]
    platform: Option<String>,
    verdict: String,
    #[serde(deserialize_with = "required")]
    problem: Option<String>,
    #[serde(deserialize_with = "required")]
    report: Option<Box<RawValue>>,
}

/// Writes a joined report, cut to the limits of [`parse`].
///
/// If the text is still too long, the following are left out, in this order:
///
/// 1. the indentation
/// 2. more and more of each report
/// 3. whole reports, whose scenarios then have no result
pub fn to_string(joined: &Joined) -> String {
    to_string_within(joined, MAX_BYTES)
}

/// As [`to_string`], in at most this many bytes.
fn to_string_within(joined: &Joined, most: usize) -> String {
    let mut joined = with_few_scenarios(joined);
    let indented = Written::new(&joined, Limits::UNTRUSTED, Space::Indented);
    let text = write(&joined, &indented);
    if text.len() <= most {
        return text;
    }
    let all: Vec<Limits> = successors(Some(Limits::UNTRUSTED), |limits| limits.halved()).collect();
    let written = |limits: &Limits| Written::new(&joined, *limits, Space::None);
    // Tighter limits give a shorter text, so a binary search finds the loosest limits that
    // fit.
    let fits = |limits: &Limits| write(&joined, &written(limits)).len() <= most;
    let found = all.partition_point(|limits| !fits(limits));
    let written = written(all.get(found).unwrap_or(&all[all.len() - 1]));
    loop {
        let text = write(&joined, &written);
        let too_long = text.len().saturating_sub(most);
        // The names alone always fit: 1,000 scenarios of five short strings.
        if too_long == 0 || !leave_reports_out(joined.to_mut(), too_long, text.len(), most) {
            return text;
        }
    }
}

/// Keeps at most [`MAX_SCENARIOS`] scenarios: those that need a person most.
///
/// One scenario without a result stands for all that are left out, so a run that lost
/// scenarios is never green. The list of runs is cut to the same length.
fn with_few_scenarios(joined: &Joined) -> Cow<'_, Joined> {
    let mut few = Cow::Borrowed(joined);
    if joined.runs.len() > MAX_SCENARIOS {
        few.to_mut().runs.truncate(MAX_SCENARIOS);
    }
    if joined.scenarios.len() <= MAX_SCENARIOS {
        return few;
    }
    let mut order: Vec<usize> = (0..joined.scenarios.len()).collect();
    order.sort_by_key(|&at| (Reverse(need(joined.scenarios[at].verdict())), at));
    let (kept, left_out) = order.split_at(MAX_SCENARIOS - 1);
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    let kept = kept.into_iter().map(|at| joined.scenarios[at].clone());
    let mut scenarios: Vec<Scenario> = kept.collect();
    if let Some(&first) = left_out.iter().min() {
        scenarios.push(Scenario {
            outcome: Outcome::NoResult(format!(
                "it and {} more were left out: a joined report has at most {MAX_SCENARIOS} scenarios",
                left_out.len() - 1
            )),
            ..joined.scenarios[first].clone()
        });
    }
    few.to_mut().scenarios = scenarios;
    few
}

/// Removes `share / of` of the reports, those that need a person least, because the file may have
/// `most` bytes. Returns whether there was a report to remove.
fn leave_reports_out(joined: &mut Joined, share: usize, of: usize, most: usize) -> bool {
    let with_report = |at: &usize| joined.scenarios[*at].report().is_some();
    let mut order: Vec<usize> = (0..joined.scenarios.len()).filter(with_report).collect();
    order.sort_by_key(|&at| (need(joined.scenarios[at].verdict()), Reverse(at)));
    for &at in &order[..(order.len() * share).div_ceil(of)] {
        let why = format!("its report does not fit into the {most} bytes of all");
        joined.scenarios[at].outcome = Outcome::NoResult(why);
    }
    !order.is_empty()
}

/// The whitespace between the tokens of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Indented,
    None,
}

/// The reports as they go into the file, each at the index of its scenario. Reports are nearly
/// all of the file, so they are serialised once, however often the rest is written.
struct Written {
    limits: Limits,
    space: Space,
    reports: Vec<Option<Box<RawValue>>>,
}

impl Written {
    fn new(joined: &Joined, limits: Limits, space: Space) -> Written {
        let reports = joined.scenarios.iter().map(|scenario| {
            let report = scenario.report()?;
            let text = match space {
                // Indented to its place in the file. Strings do not change, because a line
                // feed in a JSON string is an escape.
                Space::Indented => report::to_string_within(&unlisted(report), &limits)
                    .trim_end()
                    .replace('\n', "\n      "),
                Space::None => report::to_line_within(&unlisted(report), &limits),
            };
            #[expect(clippy::expect_used, reason = "a report's own format is JSON")]
            Some(RawValue::from_string(text).expect("a report is JSON"))
        });
        Written {
            limits,
            space,
            reports: reports.collect(),
        }
    }
}

/// Returns the report without the list of its target's scenarios, which the file already has.
fn unlisted(report: &Report) -> Report {
    let mut report = report.clone();
    report.run.scenarios = Vec::new();
    report.run.selected = None;
    report
}

fn write(joined: &Joined, written: &Written) -> String {
    let cut = |text: &str| cut(text, &written.limits);
    let scenarios = joined.scenarios.iter().zip(&written.reports);
    let scenarios = scenarios
        .map(|(scenario, report)| scenario_v1(scenario, report.as_deref(), &written.limits));
    let file = JoinedV1 {
        version: VERSION,
        plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
        runs: joined.runs.iter().map(|run| cut(run)).collect(),
        source: joined.source.as_ref().map(|source| Source {
            repository: cut(&source.repository),
            event: cut(&source.event),
            head: cut(&source.head),
            base: source.base.as_deref().map(cut),
            prefix: cut(&source.prefix),
            ..*source
        }),
        verdict: word(joined.verdict()).to_owned(),
        scenarios: scenarios.collect(),
    };
    let text = match written.space {
        Space::Indented => serde_json::to_string_pretty(&file),
        Space::None => serde_json::to_string(&file),
    };
    #[expect(
        clippy::expect_used,
        reason = "string keys and finite floats always serialise"
    )]
    let text = text.expect("plain data serialises");
    text + "\n"
}

fn scenario_v1(scenario: &Scenario, report: Option<&RawValue>, limits: &Limits) -> ScenarioV1 {
    // Cut to the same length as the names in the report, because `parse` requires that they
    // are equal.
    let cut = |text: &str| cut(text, limits);
    let (problem, report) = match &scenario.outcome {
        Outcome::NoResult(why) => (Some(cut(why)), None),
        Outcome::Report(_) => (None, report.map(RawValue::to_owned)),
    };
    ScenarioV1 {
        package: cut(&scenario.package),
        target: cut(&scenario.target),
        scenario: cut(&scenario.name),
        platform: scenario.platform.as_deref().map(cut),
        verdict: word(scenario.verdict()).to_owned(),
        problem,
        report,
    }
}

fn cut(text: &str, limits: &Limits) -> String {
    let end = (0..=limits.string().min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    text[..end.unwrap_or(0)].to_owned()
}

/// Parses a joined report.
///
/// # Errors
///
/// On anything that [`to_string`] would not have written.
pub fn parse(bytes: &[u8]) -> Result<Joined, ReportError> {
    report::check_size(bytes)?;
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|err| syntax(&err))?;
    if head.version > VERSION {
        return Err(ReportError::Newer {
            expected: VERSION,
            found: head.version,
        });
    }
    if head.version < VERSION {
        return Err(value("version", "1", head.version));
    }
    let file: JoinedV1 = serde_json::from_slice(bytes).map_err(|err| syntax(&err))?;
    at_most("scenarios", MAX_SCENARIOS, file.scenarios.len())?;
    at_most("runs", MAX_SCENARIOS, file.runs.len())?;
    for run in &file.runs {
        check_string(run)?;
    }
    check_string(&file.plimsoll)?;
    if let Some(of) = &file.source {
        let strings = [&of.repository, &of.event, &of.head, &of.prefix];
        for text in strings.into_iter().chain(&of.base) {
            check_string(text)?;
        }
    }
    let scenarios = file.scenarios.into_iter().map(scenario);
    let joined = Joined {
        source: file.source,
        scenarios: scenarios.collect::<Result<_, _>>()?,
        runs: file.runs,
    };
    check_verdict(&file.verdict, joined.verdict())?;
    Ok(joined)
}

fn scenario(file: ScenarioV1) -> Result<Scenario, ReportError> {
    let strings = [&file.package, &file.target, &file.scenario].into_iter();
    for text in strings.chain(&file.platform).chain(&file.problem) {
        check_string(text)?;
    }
    let outcome = match (file.report, file.problem) {
        (Some(raw), None) => {
            let report = report::parse_within(raw.get().as_bytes(), &Limits::UNTRUSTED)?;
            let of = [&report.run.package, &report.run.target, &report.scenario];
            if of != [&file.package, &file.target, &file.scenario] {
                let expected = "the package, target and scenario of its entry";
                return Err(value("report", expected, "another's"));
            }
            if !report.run.scenarios.is_empty() {
                return Err(value("scenarios", "an empty list in a report", "names"));
            }
            Outcome::Report(Box::new(report))
        }
        (None, Some(why)) => Outcome::NoResult(why),
        _ => return Err(value("problem", "either it or a report", "both or neither")),
    };
    let scenario = Scenario {
        package: file.package,
        target: file.target,
        name: file.scenario,
        platform: file.platform,
        outcome,
        older: None,
    };
    check_verdict(&file.verdict, scenario.verdict())?;
    Ok(scenario)
}

fn check_verdict(found: &str, verdict: Option<Verdict>) -> Result<(), ReportError> {
    match word(verdict) {
        expected if found == expected => Ok(()),
        expected => Err(value("verdict", expected, "another")),
    }
}

fn at_most(what: &'static str, limit: usize, found: usize) -> Result<(), ReportError> {
    match found > limit {
        true => Err(ReportError::TooMany { what, limit, found }),
        false => Ok(()),
    }
}

fn check_string(text: &str) -> Result<(), ReportError> {
    at_most("bytes in a string", Limits::UNTRUSTED.string(), text.len())
}

fn syntax(error: &serde_json::Error) -> ReportError {
    let mut message = error.to_string();
    if let Some(place) = message.rfind(" at line ") {
        message.truncate(place);
    }
    ReportError::Syntax {
        line: error.line(),
        column: error.column(),
        // The message quotes text from the file.
        message: plimsoll_desk::out::safe_line(&message),
    }
}

fn value(at: &'static str, expected: &str, found: impl ToString) -> ReportError {
    ReportError::Value {
        at,
        expected: expected.to_owned(),
        found: found.to_string(),
    }
}

#[cfg(test)]
mod tests;
