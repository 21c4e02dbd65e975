//! `plimsoll report --explain`: which questions a verdict comes from, and the answers in
//! numbers. All of them stand in report.json.

use anyhow::bail;
use plimsoll_core::Tally;
use plimsoll_core::growth::Growth;
use plimsoll_core::judge::Verdict;
use plimsoll_core::ladder::RUNGS_PER_OCTAVE;
use plimsoll_core::report::text::{self, Style};
use plimsoll_core::report::units::{
    bytes, count, give_or_take, objects, plural, signed_bytes, signed_objects, span,
};
use plimsoll_core::report::{Finding, Report, Rung, Standing, Subject};

use crate::joined::Joined;
use crate::out::safe_line;

/// Rungs whose levels are shown: two octaves, which a verdict looks at most.
const RUNGS: usize = 2 * RUNGS_PER_OCTAVE + 1;

/// Explains every finding, or those of which the stack contains a text.
///
/// # Errors
///
/// If there are findings, and none has such a stack.
pub(super) fn explain(run: &Joined, part: &str, style: &Style) -> anyhow::Result<String> {
    let mut page = String::new();
    let mut names = Vec::new();
    for (scenario, title) in run.scenarios.iter().zip(run.titles()) {
        let Some(report) = scenario.report() else {
            continue;
        };
        for finding in &report.findings {
            let name = name(&finding.subject);
            if name.contains(part) {
                let block = text::finding(report, finding, style);
                let questions = questions(report, finding);
                page += &format!("{}\n\n{block}\n{questions}\n", safe_line(&title));
            }
            names.push(format!("  {}: {}\n", safe_line(&title), safe_line(&name)));
        }
    }
    match (names.is_empty(), page.is_empty()) {
        (true, _) => Ok("no scenario has a finding: there is nothing to explain\n".to_owned()),
        (false, false) => Ok(page),
        (false, true) => {
            names.sort();
            names.dedup();
            bail!(
                "no finding has a stack that contains `{}`\n  expected a part of one of:\n{}",
                safe_line(part),
                names.concat().trim_end()
            )
        }
    }
}

/// As `growth.folded` has it: root first.
fn name(subject: &Subject) -> String {
    match subject {
        Subject::Stack(stack) | Subject::Site { frames: stack, .. } => stack.to_string(),
        Subject::Threads => "threads".to_owned(),
        Subject::Descriptors => "file descriptors".to_owned(),
    }
}

fn questions(report: &Report, finding: &Finding) -> String {
    let mut page = String::new();
    let mut ask = |question: &str, answer: String| {
        if !answer.is_empty() {
            page += &format!("  {question}\n{answer}");
        }
    };
    let is_heap = matches!(finding.subject, Subject::Stack(_) | Subject::Site { .. });
    ask(
        "What was alive at the last rungs (dumps)?",
        levels(report, finding, is_heap),
    );
    ask(
        "Who stayed, by the octave (doubling of the iterations) of birth?",
        survivors(report, finding),
    );
    if !finding.is_unused() {
        ask(
            "How fast does it grow, per iteration?",
            rate(finding, is_heap),
        );
    }
    ask(
        "How much does the baseline allow, per iteration?",
        lines(&[format!(
            "{}: {}",
            both(finding.allowed.objects, finding.allowed.bytes, is_heap),
            standing(finding.standing)
        )]),
    );
    let threshold = report.threshold.iterations;
    let cut = Growth::cut(finding.allowed, threshold);
    ask(
        "From which rate on is it growth, per iteration?",
        lines(&[
            format!(
                "threshold: 1 object per {}{}",
                plural(threshold, "iteration", "iterations"),
                match report.threshold.coarsened {
                    true => ", which is coarser than was asked for",
                    false => "",
                }
            ),
            format!(
                "cut: what is allowed and half of the threshold, {}",
                both(cut.objects, cut.bytes, is_heap)
            ),
        ]),
    );
    ask(
        "What is the verdict?",
        lines(&[format!("{}: {}", finding.verdict, meaning(finding))]),
    );
    page
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn both(of_objects: f64, of_bytes: f64, is_heap: bool) -> String {
    match is_heap {
        true => format!("{} objects, {}", objects(of_objects), bytes(of_bytes)),
        false => objects(of_objects),
    }
}

fn levels(report: &Report, finding: &Finding, is_heap: bool) -> String {
    let levels = report.rungs.iter().zip(&finding.levels);
    let skipped = levels.len().saturating_sub(RUNGS);
    let levels = levels.skip(skipped);
    match is_heap {
        true => {
            let row = |(rung, level): (&Rung, &Tally)| {
                let bytes = size(level.bytes);
                [count(rung.iterations), count(level.objects), bytes]
            };
            table(
                ["iterations", "objects", "bytes"],
                levels.map(row).collect(),
            )
        }
        false => {
            let row =
                |(rung, level): (&Rung, &Tally)| [count(rung.iterations), count(level.objects)];
            table(["iterations", "number"], levels.map(row).collect())
        }
    }
}

fn survivors(report: &Report, finding: &Finding) -> String {
    let is_sampled = report.is_sampled();
    let about = |alive: u64| match is_sampled && alive > 0 {
        true => format!("about {}", count(alive)),
        false => count(alive),
    };
    let rows = finding.survivors.iter().map(|octave| {
        [
            span(octave.from, octave.to),
            octave.allocated.map_or("unknown".to_owned(), count),
            about(octave.alive.objects),
        ]
    });
    table(
        ["born in iterations", "allocated", "still alive"],
        rows.collect(),
    )
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn size(of_bytes: u64) -> String {
    bytes(of_bytes as f64)
}

/// Columns to the right, as numbers stand; nothing where there is no row.
fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut rows = rows;
    rows.insert(0, head.map(str::to_owned));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("  {cell:>width$}"));
        format!("  {}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}

fn rate(finding: &Finding, is_heap: bool) -> String {
    // Of an exact run the error is what the workload itself does.
    let error = |error: f64| (error > 0.0).then_some(error);
    let (rate, off) = (finding.rate, finding.error);
    let mut answers = vec![format!(
        "{}{}{}, {}",
        signed_objects(rate.objects),
        give_or_take(error(off.objects), objects),
        if is_heap { " objects" } else { "" },
        finding.objects_law,
    )];
    if is_heap {
        answers.push(format!(
            "{}{}, {}",
            signed_bytes(rate.bytes),
            give_or_take(error(off.bytes), bytes),
            finding.bytes_law,
        ));
    }
    lines(&answers)
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "the baseline does not have it",
        Standing::Allowed => "it grows within its allowance",
        Standing::Exceeded => "it grows past its allowance",
        Standing::Moved => "its allowance is that of another caller",
        Standing::Expired => "its allowance has expired",
        Standing::Stale => "it no longer uses its allowance",
    }
}

fn meaning(finding: &Finding) -> &'static str {
    match (finding.verdict, finding.standing) {
        (Verdict::Regressed, Standing::Expired) => "it needs an allowance that has expired",
        (Verdict::Regressed, _) => "it rose for three octaves, at a rate above the cut",
        (Verdict::Inconclusive, _) => "its rate may be above the cut, or below it",
        (Verdict::Improved, _) => "it no longer grows",
        (_, _) => "its rate is below the cut for all that can be told",
    }
}
