//! Limits of a report. Writing cuts a report to them; reading checks them.

#[cfg(feature = "reports")]
mod check;

use crate::blame::{Blame, Origin};
use crate::holders::MAX_LINKS;
use crate::outside::MOST_KINDS;
use crate::report::{Finding, Report, Subject};
use crate::{FoldedStack, Frame, Rate};

/// The most that a report may have of each part.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Settings that the scenario's builder sets.
    builder: usize,
    /// Bytes of every string except the failure's output.
    string: usize,
    /// Bytes of the failure's output.
    output: usize,
    /// Rungs, and also levels of a finding and octaves of birth, which are fewer.
    rungs: usize,
    findings: usize,
    /// Crates of the reader's own.
    own: usize,
    checks: usize,
    notes: usize,
    /// Frames of all findings together.
    finding_frames: usize,
    /// Frames of all stacks of `growth` together.
    growth_frames: usize,
    /// Frames of both.
    frames: usize,
    /// The greatest absolute value of a rate.
    rate: f64,
}

impl Limits {
    /// The limits of the format. A ladder of 64 octaves has 256 rungs.
    pub const FORMAT: Limits = Limits {
        builder: 100,
        string: 4_096,
        output: 64 * 1024,
        rungs: 512,
        findings: 1_000,
        own: 1_000,
        checks: 100,
        notes: 1_000,
        finding_frames: 10_000,
        growth_frames: 50_000,
        frames: 60_000,
        rate: f64::MAX,
    };

    /// The limits for a file that came with a pull request: less of everything that somebody
    /// else reads.
    pub const UNTRUSTED: Limits = Limits {
        string: 512,
        notes: 100,
        frames: 10_000,
        // About 35 times what an address space of 48 bits holds.
        rate: 1e16,
        ..Limits::FORMAT
    };

    /// Returns the longest string except a failure's output, in bytes.
    pub fn string(&self) -> usize {
        self.string
    }

    /// Returns these limits with every part that is not essential halved; strings keep at
    /// least 64 bytes. `None` if nothing is left to halve.
    pub fn halved(self) -> Option<Limits> {
        (self.string > 64 || self.frames > 0).then_some(Limits {
            string: (self.string / 2).max(64),
            output: self.output / 2,
            findings: self.findings / 2,
            own: self.own / 2,
            checks: self.checks / 2,
            notes: self.notes / 2,
            finding_frames: self.finding_frames / 2,
            growth_frames: self.growth_frames / 2,
            frames: self.frames / 2,
            ..self
        })
    }

    /// Returns the report without what exceeds the limits.
    ///
    /// The list of scenarios stays as it is. A reader that misses a scenario must be able to
    /// say so. So a list that is too long is refused on reading, and never cut silently.
    pub(super) fn cut(&self, report: &Report) -> Report {
        let mut cut = report.clone();
        let mut left_out = Vec::new();

        cut.rungs.truncate(self.rungs);
        if cut.rungs.len() < report.rungs.len() {
            left_out.push("rungs");
        }
        cut.findings.truncate(self.findings);
        let mut frames = 0_usize;
        cut.findings.retain(|finding| {
            frames = frames.saturating_add(frames_of(finding));
            frames <= self.finding_frames.min(self.frames)
        });
        if cut.findings.len() < report.findings.len() {
            left_out.push("findings");
        }
        cut.run.built_with.truncate(self.builder);
        for finding in &mut cut.findings {
            finding.levels.truncate(self.rungs);
            finding.survivors.truncate(self.rungs);
            finding.mappings.truncate(MOST_KINDS);
            if let Some(holders) = &mut finding.holders {
                holders.chain.truncate(MAX_LINKS);
            }
        }
        cut.own.truncate(self.own);
        if cut.own.len() < report.own.len() {
            left_out.push("crates");
        }
        cut.checks.truncate(self.checks);
        if cut.checks.len() < report.checks.len() {
            left_out.push("checks");
        }
        let of_findings = cut.findings.iter().map(frames_of).sum();
        let room = self.frames.saturating_sub(of_findings);
        if cut_growth(&mut cut, self.growth_frames.min(room)) {
            left_out.push("small growth");
        }
        each_rate(&mut cut, |rate| {
            rate.objects = finite(rate.objects, self.rate);
            rate.bytes = finite(rate.bytes, self.rate);
        });
        // A limit that is too large is one that is not known.
        cut.visible = cut.visible.map(|seen| seen.within(self.rate));
        each_string(&mut cut, &mut |what, text| match what {
            OUTPUT => truncate(text, self.output, true),
            _ => truncate(text, self.string, false),
        });
        if cut.notes.len() > self.notes {
            left_out.push("notes");
        }
        if !left_out.is_empty() {
            // One note is needed to say what is missing.
            cut.notes.truncate(self.notes.saturating_sub(1));
            let left_out = left_out.join(", ");
            let note = format!("too long for a report, left out: {left_out}");
            cut.notes.push(note);
        }
        cut
    }
}

/// Keeps the stacks that changed most, in their order. Returns whether stacks were left out.
fn cut_growth(report: &mut Report, most_frames: usize) -> bool {
    if frames_of_growth(report) <= most_frames {
        return false;
    }
    let mut order: Vec<usize> = (0..report.growth.len()).collect();
    order.sort_by_key(|&index| {
        let growth = &report.growth[index];
        std::cmp::Reverse(growth.after.bytes.abs_diff(growth.before.bytes))
    });
    let mut keep = vec![false; report.growth.len()];
    let mut frames = 0;
    for index in order {
        frames += report.growth[index].stack.0.len();
        if frames > most_frames {
            break;
        }
        keep[index] = true;
    }
    let mut keep = keep.into_iter();
    report.growth.retain(|_| keep.next().unwrap_or(false));
    true
}

fn frames_of(finding: &Finding) -> usize {
    let stacks = finding
        .subject
        .stack()
        .into_iter()
        .chain(&finding.moved_from);
    finding.frames.len() + stacks.map(|stack| stack.0.len()).sum::<usize>()
}

fn frames_of_growth(report: &Report) -> usize {
    let stacks = report.growth.iter().map(|growth| &growth.stack);
    stacks.map(|stack| stack.0.len()).sum()
}

/// Returns a number that JSON can have: NaN becomes zero, and other values are limited to
/// `most`.
fn finite(value: f64, most: f64) -> f64 {
    match value.is_nan() {
        true => 0.0,
        false => value.clamp(-most, most),
    }
}

/// Cuts a text at the boundary of a character. Of the output, the end is kept.
fn truncate(text: &mut String, limit: usize, keep_end: bool) {
    if text.len() <= limit {
        return;
    }
    if keep_end {
        let start = text.len() - limit;
        let start = (start..=text.len()).find(|&at| text.is_char_boundary(at));
        text.drain(..start.unwrap_or(0));
    } else {
        let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
    }
}

/// The name that [`each_string`] passes for the one string that may be long.
const OUTPUT: &str = "output";

/// Visits every string of a report.
fn each_string(report: &mut Report, visit: &mut dyn FnMut(&'static str, &mut String)) {
    let stack = |visit: &mut dyn FnMut(&'static str, &mut String), stack: &mut FoldedStack| {
        for name in &mut stack.0 {
            visit("function", name);
        }
    };
    let run = &mut report.run;
    visit("id", &mut run.id);
    if let Some(commit) = &mut run.commit {
        visit("commit", commit);
    }
    visit("package", &mut run.package);
    visit("target", &mut run.target);
    let selected = run.selected.iter_mut().flatten();
    for scenario in run.scenarios.iter_mut().chain(selected) {
        visit("scenarios", scenario);
    }
    for variable in &mut run.built_with {
        visit("built_with", variable);
    }
    if let Some(benchmark) = &mut run.benchmark {
        visit("benchmark", benchmark);
    }
    visit("plimsoll", &mut run.plimsoll);
    visit("files", &mut run.files);
    visit("baseline", &mut run.baseline);
    visit("scenario", &mut report.scenario);
    if let Some(measured) = &mut report.measured {
        visit("target", &mut measured.target);
        visit("profile", &mut measured.profile);
        visit("toolchain", &mut measured.toolchain);
        visit("jemalloc", &mut measured.jemalloc);
        visit("unwinder", &mut measured.unwinder);
    }
    for setting in report.builder.iter_mut().chain(&mut report.enough) {
        visit("key", &mut setting.key);
        visit("value", &mut setting.value);
    }
    for krate in &mut report.own {
        visit("crate", krate);
    }
    for finding in &mut report.findings {
        match &mut finding.subject {
            Subject::Stack(frames) | Subject::Site { frames, .. } => stack(visit, frames),
            Subject::Resource(_) => {}
        }
        for grown in &mut finding.mappings {
            visit("permissions", &mut grown.permissions);
            visit("name", &mut grown.name);
        }
        let mut frames: Vec<&mut Frame> = finding.frames.iter_mut().collect();
        let mut blames: Vec<&mut Blame> = finding.blame.iter_mut().collect();
        if let Some(holders) = &mut finding.holders {
            holders.what.iter_mut().for_each(|name| visit("name", name));
            for link in holders.chain.iter_mut().chain(&mut holders.also) {
                link.name.iter_mut().for_each(|name| visit("name", name));
                blames.extend(&mut link.blame);
            }
            if let Some(back) = &mut holders.cycle {
                for name in [&mut back.from, &mut back.to].into_iter().flatten() {
                    visit("name", name);
                }
            }
        }
        for blame in blames {
            let crates = [&mut blame.thread_of, &mut blame.needed_by];
            for krate in crates.into_iter().flatten() {
                visit("crate", krate);
            }
            if let Some(Origin::Workload(name) | Origin::Setup(name)) = &mut blame.origin {
                visit("scenario", name);
            }
            let places = [
                &mut blame.at,
                &mut blame.called,
                &mut blame.caller,
                &mut blame.by,
            ];
            frames.extend(places.into_iter().flatten());
        }
        for frame in frames {
            visit("function", &mut frame.function);
            if let Some(file) = &mut frame.file {
                visit("file", file);
            }
        }
        if let Some(from) = &mut finding.moved_from {
            stack(visit, from);
        }
        if let Some(reason) = &mut finding.reason {
            visit("reason", reason);
        }
    }
    for check in &mut report.checks {
        visit("name", &mut check.name);
        visit("detail", &mut check.detail);
    }
    if let Some(failure) = &mut report.failure {
        visit("what", &mut failure.what);
        visit(OUTPUT, &mut failure.output);
    }
    for note in &mut report.notes {
        visit("notes", note);
    }
    for growth in &mut report.growth {
        stack(visit, &mut growth.stack);
    }
}

/// Returns the bytes of all strings together, before they are escaped.
pub(super) fn string_bytes(report: &Report) -> usize {
    let mut sum = 0_usize;
    each_string(&mut report.clone(), &mut |_, text| sum += text.len());
    sum
}

fn each_rate(report: &mut Report, mut visit: impl FnMut(&mut Rate)) {
    for finding in &mut report.findings {
        visit(&mut finding.rate);
        visit(&mut finding.error);
        visit(&mut finding.allowed);
        let clock = finding.clock.as_mut();
        clock.map(|clock| &mut clock.per_second).map(&mut visit);
    }
    for growth in &mut report.growth {
        visit(&mut growth.rate);
        growth.error.iter_mut().for_each(&mut visit);
    }
}
