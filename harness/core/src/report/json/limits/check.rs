use super::{Limits, OUTPUT, each_rate, each_string, frames_of, frames_of_growth};
use crate::holders::MAX_LINKS;
use crate::outside::MOST_KINDS;
use crate::report::Report;
use crate::report::json::ReportError;

/// The most scenarios of a run.
const MAX_SCENARIOS: usize = 1_000;

impl Limits {
    /// Refuses a report that exceeds the limits.
    pub(in crate::report::json) fn check(&self, report: &Report) -> Result<(), ReportError> {
        let at_most = |what, limit, found| match found > limit {
            true => Err(ReportError::TooMany { what, limit, found }),
            false => Ok(()),
        };
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
        let mut checked = Ok(());
        // `each_string` visits by mutable reference. A copy of a report of at most 8 MiB costs
        // less than a second list of every string.
        each_string(&mut report.clone(), &mut |what, text| {
            let (of, limit) = match what == OUTPUT {
                true => ("bytes of output", self.output),
                false => ("bytes in a string", self.string),
            };
            if checked.is_ok() {
                checked = at_most(of, limit, text.len());
            }
        });
        checked?;
        let visible = report.visible.into_iter();
        let mut visible = visible
            .flat_map(|seen| [seen.objects, seen.bytes])
            .flatten();
        let mut in_range = visible.all(|limit| limit.abs() <= self.rate);
        each_rate(&mut report.clone(), |rate| {
            in_range &= rate.objects.abs() <= self.rate && rate.bytes.abs() <= self.rate;
        });
        match in_range {
            true => Ok(()),
            false => Err(ReportError::OutOfRange),
        }
    }
}
