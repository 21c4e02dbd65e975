use super::{Limits, frames_of, frames_of_growth, rates, strings};
use crate::holders::MAX_LINKS;
use crate::outside::MOST_KINDS;
use crate::report::Report;
use crate::report::json::ReportError;

/// The most scenarios of a run.
const MAX_SCENARIOS: usize = 1_000;

impl Limits {
    /// Refuses a report that exceeds the limits.
    pub(in crate::report::json) fn check(&self, report: &Report) -> Result<(), ReportError> {
        let at_most = ReportError::at_most;
        at_most("scenarios", MAX_SCENARIOS, report.run.scenarios.len())?;
        let selected = report.run.selected.as_ref().map_or(0, Vec::len);
        at_most("scenarios", MAX_SCENARIOS, selected)?;
        at_most("settings", self.builder, report.builder.len())?;
        at_most("settings", self.builder, report.run.built_with.len())?;
        at_most("rungs", self.rungs, report.rungs.len())?;
        at_most("findings", self.findings, report.findings.len())?;
        at_most("crates", self.own, report.own.len())?;
        at_most("checks", self.checks, report.checks.len())?;
        at_most("notes", self.notes, report.notes.len())?;
        let in_findings: usize = report.findings.iter().map(frames_of).sum();
        at_most("frames in findings", self.finding_frames, in_findings)?;
        let in_growth = frames_of_growth(report);
        at_most("frames in growth", self.growth_frames, in_growth)?;
        at_most("frames", self.frames, in_findings + in_growth)?;
        for finding in &report.findings {
            at_most("levels", self.rungs, finding.levels.len())?;
            at_most("survivors", self.rungs, finding.survivors.len())?;
            at_most("mappings", MOST_KINDS, finding.mappings.len())?;
            let links = finding.holders.as_ref().map_or(0, |one| one.chain.len());
            at_most("holders", MAX_LINKS, links)?;
        }
        // What may be cut is listed by mutable reference. A copy of a report of at most 8 MiB costs
        // less than a second list.
        let mut copy = report.clone();
        for text in strings(&mut copy) {
            at_most("bytes in a string", self.string, text.len())?;
        }
        let output = report
            .failure
            .as_ref()
            .map_or(0, |failure| failure.output.len());
        at_most("bytes of output", self.output, output)?;
        let visible = report.visible.into_iter();
        let visible = visible
            .flat_map(|seen| [seen.objects, seen.bytes])
            .flatten();
        let rates = rates(&mut copy).into_iter();
        let mut all = rates
            .flat_map(|rate| [rate.objects, rate.bytes])
            .chain(visible);
        match all.all(|rate| rate.abs() <= self.rate) {
            true => Ok(()),
            false => Err(ReportError::OutOfRange),
        }
    }
}
