//! SARIF 2.1.0, as GitHub's code scanning reads it.
//!
//! The file has one run. It has a result for each cause of growth, whichever scenarios it is in;
//! for each allowance that is no longer needed or has expired; and for each scenario that failed,
//! was broken, or has no result. GitHub accepts no result without a place in the repository. The
//! place is the line to blame, or else the scenario's baseline.
//!
//! `baselineState` is left out: it compares a result with an earlier SARIF run, which GitHub
//! does by itself. How a result compares with *our* baseline is in `properties.standing`.
//!
//! GitHub has limits, which are constants here. If there are too many results, the worst are
//! kept, and a notification says how many were left out. The file does not say when or where
//! it was written.

mod message;
mod rules;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{AsciiSet, utf8_percent_encode};
use plimsoll_core::judge::Verdict;
use plimsoll_core::layout;
use plimsoll_core::report::units::{count, plural};
use plimsoll_core::report::view::total;
use plimsoll_core::report::{CheckOutcome, Finding, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Frame, Rate, Resource};
use serde_json::{Value, json};

use self::message::Message;
use self::rules::Rule;
use super::entries::entries;
use super::links;
use super::plain::{self, Place, clean_line};
use crate::joined::{Joined, Outcome, Scenario};
use plimsoll_core::text::hash::Fnv;

/// GitHub accepts 25,000 results of a run and shows the first 5,000.
const MAX_RESULTS: usize = 5_000;
/// GitHub accepts 10 MB after compression. plimsoll stays below that before compression, so
/// the text need not compress well.
const MAX_BYTES: usize = 9_500_000;
/// GitHub accepts 1,000 locations of a result and shows 100.
const MAX_FRAMES: usize = 100;
const MAX_RELATED: usize = 20;
/// The most characters of a function's name that is not within a sentence.
const MAX_NAME: usize = 500;

const ROOT: &str = "%SRCROOT%";
const LEFT_OUT: &str = "plimsoll/left-out";

/// One result, before it is known whether it fits.
struct Found<'a> {
    rule: Rule,
    scenario: &'a Scenario,
    finding: Option<&'a Finding>,
    /// The names of the scenarios in which it grows, the worst first, and the sum there.
    grows: Option<(Vec<&'a str>, Rate)>,
    message: Message,
    fingerprint: String,
}

pub fn render(joined: &Joined) -> String {
    let prefix = joined.source.as_ref().map_or("", |source| &source.prefix);
    let mut found = found(joined);
    let all = found.len();
    // The sort is stable: results of the same rule stay in the order of the report, which is
    // the same for the same run.
    found.sort_by_key(|found| Reverse(found.rule));
    found.truncate(MAX_RESULTS);
    let mut bytes = 0;
    let mut results = Vec::new();
    for found in &found {
        let result = found.result(joined, prefix);
        bytes += result.to_string().len() + 1;
        if bytes > MAX_BYTES {
            break;
        }
        results.push(result);
    }
    let left_out = all - results.len();
    let run = run(joined, results, left_out);
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    log.to_string() + "\n"
}

fn run(joined: &Joined, results: Vec<Value>, left_out: usize) -> Value {
    let mut driver = json!({
        "name": "plimsoll",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": Rule::ALL.map(Rule::descriptor),
        "notifications": [{
            "id": LEFT_OUT,
            "shortDescription": { "text": "Results that found no room" },
        }],
    });
    let repository = env!("CARGO_PKG_REPOSITORY");
    if !repository.is_empty() {
        driver["informationUri"] = json!(repository);
    }
    let trusted = joined.scenarios.iter().all(|scenario| {
        let verdict = scenario.verdict();
        verdict.is_some_and(|verdict| verdict != Verdict::Broken)
    });
    let mut invocation = json!({ "executionSuccessful": trusted });
    if left_out > 0 {
        let more = plural(left_out as u64, "result", "results");
        let most = count(MAX_RESULTS as u64);
        invocation["toolExecutionNotifications"] = json!([{
            "descriptor": { "id": LEFT_OUT, "index": 0 },
            "level": "warning",
            "message": { "text": format!(
                "left out: {more} that need a person least; code scanning shows {most}, and \
                 takes 10 MB"
            ) },
        }]);
    }
    let mut run = json!({
        "tool": { "driver": driver },
        "automationDetails": { "id": category(joined) },
        "invocations": [invocation],
        "originalUriBaseIds": {
            ROOT: { "description": { "text": "The root of the repository." } },
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    if let Some(provenance) = provenance(joined) {
        run["versionControlProvenance"] = json!([provenance]);
    }
    run
}

/// Returns GitHub's category of the upload. An upload replaces the one before it in the same
/// category, and GitHub closes the alerts that it lacks.
///
/// So the category must be the same from run to run, and must differ between uploads of one
/// run, such as those of a matrix. Platforms meet both conditions. If the category changed
/// with the scenarios or targets, old alerts would stay open for ever. Shards of one platform
/// are joined before they are uploaded.
fn category(joined: &Joined) -> String {
    let is_word = |c: &char| c.is_ascii_alphanumeric() || "_-.".contains(*c);
    let word = |platform: &str| platform.chars().filter(is_word).take(100).collect();
    let platforms = joined.scenarios.iter().map(|one| one.platform.as_deref());
    let mut platforms: BTreeSet<String> = platforms.flatten().map(word).collect();
    platforms.remove("");
    let platforms = Vec::from_iter(platforms).join("+");
    match platforms.as_str() {
        "" => "plimsoll/".to_owned(),
        some => format!("plimsoll/{some}/"),
    }
}

/// Returns the repository and the commit. The host is GitHub's own, because a report names no
/// other.
fn provenance(joined: &Joined) -> Option<Value> {
    let source = joined.source.as_ref()?;
    let repository = links::repository(source)?;
    let mut provenance = json!({
        "repositoryUri": format!("https://github.com/{repository}"),
        "mappedTo": { "uriBaseId": ROOT },
    });
    if let Some(head) = links::commit(source) {
        provenance["revisionId"] = json!(head);
    }
    Some(provenance)
}

/// Returns everything that needs a person: causes of growth, then what is said of scenarios.
fn found(joined: &Joined) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    let mut add = |rule, scenario, finding, grows, message| {
        all.push(Found {
            rule,
            scenario,
            finding,
            grows,
            message,
            fingerprint: String::new(),
        });
    };
    let titles = joined.titles();
    for entry in entries(joined) {
        let worst = entry.worst();
        let Some(cause) = &worst.cause else {
            continue;
        };
        let first = cause.first();
        let Some(rule) = rule(first) else {
            continue;
        };
        let names = entry.members.iter();
        let names = names.map(|member| member.scenario.name.as_str());
        let grows = (names.collect(), total(&cause.findings, |one| one.rate));
        let message = message::entry(joined, &titles, &entry);
        add(rule, worst.scenario, Some(first), Some(grows), message);
    }
    for scenario in &joined.scenarios {
        let report = match &scenario.outcome {
            Outcome::NoResult(why) => {
                let message = message::no_result(scenario, why);
                add(Rule::NoResult, scenario, None, None, message);
                continue;
            }
            Outcome::Report(report) => report,
        };
        let findings = plain::findings(report).iter();
        for finding in findings.filter(|finding| finding.is_unused()) {
            if let Some(rule) = rule(finding) {
                let message = message::unused(scenario, report, finding);
                add(rule, scenario, Some(finding), None, message);
            }
        }
        let has_none = |wanted| report.findings.iter().all(|one| one.verdict < wanted);
        let whole = match report.verdict {
            Verdict::Failed => Some(Rule::WorkloadFailed),
            Verdict::Broken => Some(Rule::BrokenMeasurement),
            // A verdict without a finding still needs a result.
            Verdict::Regressed if has_none(Verdict::Inconclusive) => Some(Rule::Growth),
            Verdict::Inconclusive if has_none(Verdict::Inconclusive) => Some(Rule::Inconclusive),
            _ => None,
        };
        if let Some(rule) = whole {
            let check = report.checks(CheckOutcome::Failed).next();
            let message = message::scenario(scenario, report, check);
            add(rule, scenario, None, None, message);
        }
    }
    // Counted in the order of the report, before sorting, so that a changed rate cannot swap
    // the numbers of two results with the same hash.
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for found in &mut all {
        let hash = found.hash();
        let count = seen.entry(hash).or_default();
        *count += 1;
        found.fingerprint = format!("{hash:016x}:{count}");
    }
    all
}

fn rule(finding: &Finding) -> Option<Rule> {
    match (finding.verdict, finding.standing, &finding.subject) {
        (_, Standing::Stale, _) => Some(Rule::StaleAllowance),
        (Verdict::Within | Verdict::Improved, ..) => None,
        (_, Standing::Expired, _) => Some(Rule::ExpiredAllowance),
        (Verdict::Inconclusive, ..) => Some(Rule::Inconclusive),
        (_, _, Subject::Stack(_) | Subject::Site { .. }) => Some(Rule::Growth),
        (_, _, Subject::Resource(resource)) => Some(match resource {
            Resource::Threads => Rule::ThreadGrowth,
            Resource::Descriptors => Rule::DescriptorGrowth,
            Resource::Mappings => Rule::MappingGrowth,
            Resource::Outside => Rule::OutsideGrowth,
        }),
    }
}

impl Found<'_> {
    /// Returns a hash that is the same from run to run: of what grows for which reason; or of
    /// package, target, scenario, and the folded names of the stack.
    ///
    /// It leaves out file and line, which change with every edit, the rate, which changes with
    /// every run, and platform, toolchain and paths of a machine. Results of two platforms,
    /// for example, have the same hash. The number behind the colon of the fingerprint tells
    /// them apart, as in GitHub's own fingerprints.
    fn hash(&self) -> u64 {
        let mut hash = Fnv::default();
        if let (Some(finding), Some(_)) = (self.finding, &self.grows) {
            // A further scenario that shows the same leak does not make another one of it.
            hash.part("cause");
            finding.cause().names().for_each(|name| hash.part(name));
            return hash.finish();
        }
        let scenario = self.scenario;
        for part in [&scenario.package, &scenario.target, &scenario.name] {
            hash.part(part);
        }
        match self.finding {
            None => hash.part(self.rule.words().id),
            Some(finding) => {
                hash.part("unused");
                let names = finding.subject.stack().map(FoldedStack::frames);
                names.into_iter().flatten().for_each(|name| hash.part(name));
            }
        }
        hash.finish()
    }

    fn result(&self, joined: &Joined, prefix: &str) -> Value {
        let report = self.scenario.report();
        let place = self
            .finding
            .and_then(|finding| plain::blamed(finding, prefix))
            .unwrap_or_else(|| fallback(joined, self.scenario, prefix));
        let frames = self.finding.map(Finding::frames).unwrap_or_default();
        let at = |frame: &&Frame| plain::place(frame, prefix).as_ref() == Some(&place);
        let logical = match frames.iter().find(at).or(frames.first()) {
            Some(frame) => logical(frame),
            None => json!({
                "name": clean_line(&self.scenario.name, MAX_NAME),
                "kind": "scenario",
            }),
        };
        let rule = self.rule.words();
        let mut result = json!({
            "ruleId": rule.id,
            "ruleIndex": self.rule as usize,
            "level": rule.level,
            "message": { "text": self.message.text, "markdown": self.message.markdown },
            "locations": [{
                "physicalLocation": physical(&place),
                "logicalLocations": [logical],
            }],
            // GitHub compares only the first fingerprint. Without it, GitHub makes one from
            // the text of the line. That is the same for two scenarios that blame one line,
            // and changes when somebody edits the line.
            "partialFingerprints": {
                "primaryLocationLineHash": self.fingerprint,
                "plimsollStack/v1": self.fingerprint,
            },
            "properties": self.properties(report),
        });
        if !frames.is_empty() {
            result["stacks"] = json!([stack(&frames, prefix)]);
            let related = self.related(&frames, &place, prefix);
            if !related.is_empty() {
                result["relatedLocations"] = json!(related);
            }
        }
        result
    }

    /// Returns the other frames in the workspace, and the baseline if the finding has an
    /// allowance.
    fn related(&self, frames: &[Frame], place: &Place, prefix: &str) -> Vec<Value> {
        let mut seen = BTreeSet::from([place.clone()]);
        let mut related: Vec<(Place, String)> = Vec::new();
        let holders = self.finding.and_then(|finding| finding.holders.as_ref());
        let links = holders
            .iter()
            .flat_map(|holders| holders.chain.iter().chain(&holders.also));
        let holders = links.filter_map(|link| {
            let name = message::name(link.name.as_deref()?);
            let blame = link.blame.as_ref()?;
            let frame = blame.caller.as_ref().or(blame.at.as_ref())?;
            Some((frame, format!("allocates {name}, which holds it")))
        });
        let frames = frames.iter().enumerate().map(|(number, frame)| {
            let does = if number == 0 {
                "allocated in"
            } else {
                "called by"
            };
            (frame, format!("{does} {}", message::name(&frame.function)))
        });
        for (frame, text) in holders.chain(frames) {
            if let Some(place) = plain::place(frame, prefix)
                && related.len() < MAX_RELATED - 1
                && seen.insert(place.clone())
            {
                related.push((place, text));
            }
        }
        let standing = self.finding.map(|finding| finding.standing);
        let path = self.scenario.report().map(|report| &report.run.baseline);
        let path = path.and_then(|path| plain::in_repository(prefix, path));
        let baseline = path.map(|path| Place { path, line: 1 });
        if let Some(place) = baseline
            && standing != Some(Standing::New)
            && seen.insert(place.clone())
        {
            related.push((place, "the baseline".to_owned()));
        }
        let location = |(id, (place, text)): (usize, &(Place, String))| {
            json!({
                "id": id,
                "physicalLocation": physical(place),
                "message": { "text": text },
            })
        };
        (1..).zip(&related).map(location).collect()
    }

    fn properties(&self, report: Option<&Report>) -> Value {
        let scenario = self.scenario;
        let mut properties = json!({
            "package": clean_line(&scenario.package, MAX_NAME),
            "target": clean_line(&scenario.target, MAX_NAME),
            "scenario": clean_line(&scenario.name, MAX_NAME),
            "platform": scenario.platform.as_deref().map(|text| clean_line(text, MAX_NAME)),
            "verdict": crate::joined::word(scenario.verdict()),
        });
        if let Some(rung) = report.and_then(|report| report.rungs.last()) {
            properties["iterations"] = json!(rung.iterations);
        }
        if let Some((scenarios, _)) = &self.grows
            && scenarios.len() > 1
        {
            let names = scenarios.iter().map(|name| clean_line(name, MAX_NAME));
            properties["scenarios"] = json!(names.collect::<Vec<_>>());
        }
        if let Some(finding) = self.finding {
            let rate = self.grows.as_ref().map_or(finding.rate, |(_, rate)| *rate);
            // Of a thread or a file there are no bytes, and none are summed.
            let rate = if finding.is_heap() {
                rate
            } else {
                finding.rate
            };
            properties["objectsPerIteration"] = json!(rate.objects);
            properties["bytesPerIteration"] = json!(rate.bytes);
            properties["allowedObjectsPerIteration"] = json!(finding.allowed.objects);
            properties["allowedBytesPerIteration"] = json!(finding.allowed.bytes);
            if let Some(error) = report.and_then(|report| report.error_of(finding)) {
                properties["objectsPerIterationError"] = json!(error.objects);
                properties["bytesPerIterationError"] = json!(error.bytes);
            }
            properties["law"] = json!(finding.law);
            properties["standing"] = json!(finding.standing);
        }
        properties
    }
}

/// Returns the place of a result without a frame in the workspace: the scenario's baseline,
/// which need not exist. If the scenario left no report, its baseline is assumed to be beside
/// the baseline of another scenario.
fn fallback(joined: &Joined, scenario: &Scenario, prefix: &str) -> Place {
    let own = scenario.report().map(|report| report.run.baseline.clone());
    let beside = || {
        let mut siblings = joined.reports().map(|report| report.run.baseline.as_str());
        let folder = siblings
            .find_map(|path| path.rsplit_once('/'))
            .map_or(layout::BASELINES, |(folder, _)| folder);
        let file = layout::scenario_file_name(&scenario.name).replace('/', "+");
        format!("{folder}/{file}.toml")
    };
    let path = plain::in_repository(prefix, &own.unwrap_or_else(beside));
    let path = path.or_else(|| plain::in_repository(prefix, layout::SETTINGS));
    Place {
        path: path.unwrap_or_else(|| layout::SETTINGS.to_owned()),
        line: 1,
    }
}

fn stack(frames: &[Frame], prefix: &str) -> Value {
    let shown = frames.iter().take(MAX_FRAMES).map(|frame| {
        let mut location = json!({ "logicalLocations": [logical(frame)] });
        if let Some(place) = plain::place(frame, prefix) {
            location["physicalLocation"] = physical(&place);
        } else if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let text = format!("{}:{line}", clean_line(file, MAX_NAME));
            location["message"] = json!({ "text": message::escape(&text) });
        }
        json!({ "location": location })
    });
    let shown: Vec<Value> = shown.collect();
    let mut text = "the stack that allocates, innermost call first".to_owned();
    if let more @ 1.. = frames.len().saturating_sub(MAX_FRAMES) {
        let more = plural(more as u64, "frame", "frames");
        text += &format!(", without {more} further out");
    }
    json!({ "message": { "text": text }, "frames": shown })
}

fn logical(frame: &Frame) -> Value {
    let full = clean_line(&frame.function, MAX_NAME);
    let short = full.rsplit("::").next().unwrap_or(&full);
    json!({ "name": short, "fullyQualifiedName": full, "kind": "function" })
}

fn physical(place: &Place) -> Value {
    json!({
        "artifactLocation": { "uri": uri(&place.path), "uriBaseId": ROOT },
        "region": { "startLine": place.line },
    })
}

/// Returns a path as a relative URI. All characters that cannot stand in a path are
/// percent-encoded.
fn uri(path: &str) -> String {
    const PATH: &AsciiSet = &links::PATH.remove(b'+').remove(b'@').remove(b',');
    utf8_percent_encode(path, PATH).to_string()
}
