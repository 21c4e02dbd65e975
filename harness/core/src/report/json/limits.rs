//! Limits of a report. Writing cuts a report to them; reading checks them.

#[cfg(feature = "reports")]
mod check;

use crate::blame::{Blame, Origin};
use crate::holders::MAX_LINKS;
use crate::outside::MOST_KINDS;
use crate::report::{Finding, Report, Subject};
use crate::{Frame, Rate};

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

    /// Cuts a string to its limit, at the boundary of a character.
    pub fn truncate(&self, text: &mut String) {
        let mut ends = (0..=self.string.min(text.len())).rev();
        let end = ends.find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or(0));
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
        cut.rungs.truncate(self.rungs);
        cut.findings.truncate(self.findings);
        let mut frames = 0_usize;
        cut.findings.retain(|finding| {
            frames = frames.saturating_add(frames_of(finding));
            frames <= self.finding_frames.min(self.frames)
        });
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
        cut.checks.truncate(self.checks);
        let of_findings = cut.findings.iter().map(frames_of).sum();
        let room = self.frames.saturating_sub(of_findings);
        cut_growth(&mut cut, self.growth_frames.min(room));
        for rate in rates(&mut cut) {
            *rate = rate.map(|part| finite(part, self.rate));
        }
        // A limit that is too large is one that is not known.
        cut.visible = cut.visible.map(|seen| seen.within(self.rate));
        for text in strings(&mut cut) {
            self.truncate(text);
        }
        if let Some(failure) = &mut cut.failure {
            keep_end(&mut failure.output, self.output);
        }
        let lists = [
            ("rungs", cut.rungs.len() < report.rungs.len()),
            ("findings", cut.findings.len() < report.findings.len()),
            ("crates", cut.own.len() < report.own.len()),
            ("checks", cut.checks.len() < report.checks.len()),
            ("small growth", cut.growth.len() < report.growth.len()),
            ("notes", cut.notes.len() > self.notes),
        ];
        let left_out = lists.iter().filter(|(_, is_shorter)| *is_shorter);
        let left_out: Vec<&str> = left_out.map(|(what, _)| *what).collect();
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

/// Keeps the stacks that changed most, in their order.
fn cut_growth(report: &mut Report, most_frames: usize) {
    if frames_of_growth(report) <= most_frames {
        return;
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

/// Cuts a text at the boundary of a character, and keeps its end.
fn keep_end(text: &mut String, limit: usize) {
    let start = text.len().saturating_sub(limit);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at));
    text.drain(..start.unwrap_or(0));
}

/// Returns every string of a report but the failure's output, which is the one that may be long.
fn strings(report: &mut Report) -> Vec<&mut String> {
    let run = &mut report.run;
    let mut all = vec![
        &mut report.scenario,
        &mut run.id,
        &mut run.package,
        &mut run.target,
        &mut run.plimsoll,
        &mut run.files,
        &mut run.baseline,
    ];
    all.extend(run.commit.iter_mut().chain(&mut run.benchmark));
    all.extend(&mut run.scenarios);
    all.extend(run.selected.iter_mut().flatten());
    all.extend(&mut run.built_with);
    if let Some(measured) = &mut report.measured {
        all.extend([
            &mut measured.target,
            &mut measured.profile,
            &mut measured.toolchain,
            &mut measured.jemalloc,
            &mut measured.unwinder,
        ]);
    }
    for setting in report.builder.iter_mut().chain(&mut report.enough) {
        all.extend([&mut setting.key, &mut setting.value]);
    }
    all.extend(&mut report.own);
    for finding in &mut report.findings {
        if let Subject::Stack(frames) | Subject::Site { frames, .. } = &mut finding.subject {
            all.extend(&mut frames.0);
        }
        for grown in &mut finding.mappings {
            all.extend([&mut grown.permissions, &mut grown.name]);
        }
        let mut blames: Vec<&mut Blame> = finding.blame.iter_mut().collect();
        if let Some(holders) = &mut finding.holders {
            all.extend(&mut holders.what);
            for link in holders.chain.iter_mut().chain(&mut holders.also) {
                all.extend(&mut link.name);
                blames.extend(&mut link.blame);
            }
            if let Some(back) = &mut holders.cycle {
                all.extend(back.from.iter_mut().chain(&mut back.to));
            }
        }
        let mut frames: Vec<&mut Frame> = finding.frames.iter_mut().collect();
        for blame in blames {
            all.extend(blame.thread_of.iter_mut().chain(&mut blame.needed_by));
            if let Some(Origin::Workload(name) | Origin::Setup(name)) = &mut blame.origin {
                all.push(name);
            }
            frames.extend(blame.at.iter_mut().chain(&mut blame.called));
            frames.extend(blame.caller.iter_mut().chain(&mut blame.by));
        }
        for frame in frames {
            all.push(&mut frame.function);
            all.extend(&mut frame.file);
        }
        all.extend(finding.moved_from.iter_mut().flat_map(|stack| &mut stack.0));
        all.extend(&mut finding.reason);
    }
    for check in &mut report.checks {
        all.extend([&mut check.name, &mut check.detail]);
    }
    all.extend(report.failure.iter_mut().map(|failure| &mut failure.what));
    all.extend(&mut report.notes);
    all.extend(
        report
            .growth
            .iter_mut()
            .flat_map(|growth| &mut growth.stack.0),
    );
    all
}

/// Returns every rate of a report.
fn rates(report: &mut Report) -> Vec<&mut Rate> {
    let mut all = Vec::new();
    for finding in &mut report.findings {
        all.extend([&mut finding.rate, &mut finding.error, &mut finding.allowed]);
        all.extend(finding.clock.iter_mut().map(|clock| &mut clock.per_second));
    }
    for growth in &mut report.growth {
        all.push(&mut growth.rate);
        all.extend(&mut growth.error);
    }
    all
}

/// Returns the bytes of all strings together, before they are escaped.
pub(super) fn string_bytes(report: &Report) -> usize {
    let output = report
        .failure
        .as_ref()
        .map_or(0, |failure| failure.output.len());
    let strings = strings(&mut report.clone())
        .into_iter()
        .map(|text| text.len())
        .sum::<usize>();
    strings + output
}
