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

impl JoinedV1 {
    /// Returns every string that is cut as it is written, and checked as it is read.
    fn strings(&mut self) -> Vec<&mut String> {
        let mut all = vec![&mut self.plimsoll];
        all.extend(&mut self.runs);
        if let Some(of) = &mut self.source {
            all.extend([
                &mut of.repository,
                &mut of.event,
                &mut of.head,
                &mut of.prefix,
            ]);
            all.extend(&mut of.base);
        }
        for one in &mut self.scenarios {
            all.extend([&mut one.package, &mut one.target, &mut one.scenario]);
            all.extend(one.platform.iter_mut().chain(&mut one.problem));
        }
        all
    }
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
    let indented = Written::new(&joined, Limits::UNTRUSTED, true);
    let text = write(&joined, &indented);
    if text.len() <= most {
        return text;
    }
    let all: Vec<Limits> = successors(Some(Limits::UNTRUSTED), |limits| limits.halved()).collect();
    let written = |limits: &Limits| Written::new(&joined, *limits, false);
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

/// The reports as they go into the file, each at the index of its scenario. Reports are nearly
/// all of the file, so they are serialised once, however often the rest is written.
struct Written {
    limits: Limits,
    /// Whether there is whitespace between the tokens of the file.
    is_indented: bool,
    reports: Vec<Option<Box<RawValue>>>,
}

impl Written {
    fn new(joined: &Joined, limits: Limits, is_indented: bool) -> Written {
        let reports = joined.scenarios.iter().map(|scenario| {
            let report = scenario.report()?;
            let text = match is_indented {
                // Indented to its place in the file. Strings do not change, because a line
                // feed in a JSON string is an escape.
                true => report::to_string_within(&unlisted(report), &limits)
                    .trim_end()
                    .replace('\n', "\n      "),
                false => report::to_line_within(&unlisted(report), &limits),
            };
            #[expect(clippy::expect_used, reason = "a report's own format is JSON")]
            Some(RawValue::from_string(text).expect("a report is JSON"))
        });
        Written {
            limits,
            is_indented,
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
    let scenarios = joined.scenarios.iter().zip(&written.reports);
    let scenarios = scenarios.map(|(scenario, report)| scenario_v1(scenario, report.as_deref()));
    let mut file = JoinedV1 {
        version: VERSION,
        plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
        runs: joined.runs.clone(),
        source: joined.source.clone(),
        verdict: word(joined.verdict()).to_owned(),
        scenarios: scenarios.collect(),
    };
    // Names are cut to the same length as in the reports, because `parse` requires that they
    // are equal.
    for text in file.strings() {
        written.limits.truncate(text);
    }
    let text = match written.is_indented {
        true => serde_json::to_string_pretty(&file),
        false => serde_json::to_string(&file),
    };
    #[expect(
        clippy::expect_used,
        reason = "string keys and finite floats always serialise"
    )]
    let text = text.expect("plain data serialises");
    text + "\n"
}

fn scenario_v1(scenario: &Scenario, report: Option<&RawValue>) -> ScenarioV1 {
    let (problem, report) = match &scenario.outcome {
        Outcome::NoResult(why) => (Some(why.clone()), None),
        Outcome::Report(_) => (None, report.map(RawValue::to_owned)),
    };
    ScenarioV1 {
        package: scenario.package.clone(),
        target: scenario.target.clone(),
        scenario: scenario.name.clone(),
        platform: scenario.platform.clone(),
        verdict: word(scenario.verdict()).to_owned(),
        problem,
        report,
    }
}

/// Parses a joined report.
///
/// # Errors
///
/// On anything that [`to_string`] would not have written.
pub fn parse(bytes: &[u8]) -> Result<Joined, ReportError> {
    report::check_start(bytes, VERSION, "1")?;
    let mut file: JoinedV1 = report::from_slice(bytes)?;
    ReportError::at_most("scenarios", MAX_SCENARIOS, file.scenarios.len())?;
    ReportError::at_most("runs", MAX_SCENARIOS, file.runs.len())?;
    let limit = Limits::UNTRUSTED.string();
    for text in file.strings() {
        ReportError::at_most("bytes in a string", limit, text.len())?;
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
    let value = ReportError::value;
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
        expected => Err(ReportError::value("verdict", expected, "another")),
    }
}

#[cfg(test)]
mod tests;
