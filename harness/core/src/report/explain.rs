//! Explains a verdict to a person who doubts it: the questions behind it, and the answers in
//! numbers.

use super::text;
use super::units::{bytes, count, give_or_take, objects, signed_bytes, signed_objects, size, span};
use super::{Finding, Report, Standing};
use crate::Rate;
use crate::growth::{Answer, Growth, Looked, Question, Unit, View, Wanted};
use crate::ladder::RUNGS_PER_OCTAVE;
use crate::rate::to_f64;
use crate::verdict::Verdict;

/// Rungs whose levels are shown: those of two octaves.
const RUNGS: usize = 2 * RUNGS_PER_OCTAVE + 1;

/// Returns the questions about a finding, with their answers. They come from the report alone,
/// or also from `views`, which [`judge::explain`](crate::judge::explain) returns.
pub fn explain(report: &Report, finding: &Finding, views: &[View], style: &text::Style) -> String {
    let mut page = text::finding(report, finding, style) + "\n";
    let mut ask = |question: &str, answer: String| {
        if !answer.is_empty() {
            page += &format!("  {question}\n{answer}");
        }
    };
    let levels = levels(report, finding);
    ask("What was alive at the last rungs (dumps)?", levels);
    let (one, many) = (report.per.one(), report.per.many());
    let born = format!("Who stayed, by the octave (doubling of the {many}) of birth?");
    ask(&born, survivors(report, finding));
    if !finding.is_unused() {
        let rate = rate(finding);
        ask(&format!("How fast does it grow, per {one}?"), rate);
    }
    for view in views {
        ask(&heading(view), answers(view, one));
    }
    let allowed = both(finding.allowed, finding);
    let allowed = lines(&[format!("{allowed}: {}", finding.standing.meaning())]);
    ask(
        &format!("How much does the baseline allow, per {one}?"),
        allowed,
    );
    let threshold = report.threshold.iterations;
    let coarser = match report.threshold.coarsened {
        true => ", which is coarser than was asked for",
        false => "",
    };
    let iterations = report.per.count(threshold);
    let (threshold, cut) = match (finding.subject.unit(), report.threshold.outside) {
        (Some(Unit::Bytes), Some(outside)) => {
            let mut cut = finding.allowed;
            cut.bytes += 0.5 * to_f64(outside);
            (size(outside), cut)
        }
        _ => (
            format!("1 object per {iterations}{coarser}"),
            Growth::cut(finding.allowed, threshold),
        ),
    };
    let cut = both(cut, finding);
    let limits = lines(&[
        format!("threshold: {threshold}"),
        format!("cut: what is allowed and half of the threshold, {cut}"),
    ]);
    ask(
        &format!("From which rate on is it growth, per {one}?"),
        limits,
    );
    let verdict = lines(&[format!("{}: {}", finding.verdict, meaning(finding))]);
    ask("What is the verdict?", verdict);
    page
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

/// Returns what is said of objects and of bytes. A resource has one of them.
fn of_each<T>(finding: &Finding, objects: T, bytes: T) -> Vec<T> {
    match finding.subject.unit() {
        None => vec![objects, bytes],
        Some(Unit::Objects) => vec![objects],
        Some(Unit::Bytes) => vec![bytes],
    }
}

fn both(rate: Rate, finding: &Finding) -> String {
    let unit = if finding.is_heap() { " objects" } else { "" };
    let in_objects = objects(rate.objects) + unit;
    of_each(finding, in_objects, bytes(rate.bytes)).join(", ")
}

fn levels(report: &Report, finding: &Finding) -> String {
    let levels = report.rungs.iter().zip(&finding.levels);
    let skipped = levels.len().saturating_sub(RUNGS);
    let levels = levels.skip(skipped);
    let rows = levels.map(|(rung, level)| {
        let mut row = of_each(finding, count(level.objects), size(level.bytes));
        row.insert(0, count(rung.iterations));
        row
    });
    let number = if finding.is_heap() {
        "objects"
    } else {
        "number"
    };
    let mut head = of_each(finding, number, "bytes");
    head.insert(0, report.per.many());
    table(&head, rows.collect())
}

fn survivors(report: &Report, finding: &Finding) -> String {
    let is_sampled = report.is_sampled();
    let about = |alive: u64| match is_sampled && alive > 0 {
        true => format!("about {}", count(alive)),
        false => count(alive),
    };
    let rows = finding.survivors.iter().map(|octave| {
        let allocated = octave.allocated.map_or("unknown".to_owned(), count);
        let alive = about(octave.alive.objects);
        vec![span(octave.from, octave.to), allocated, alive]
    });
    let born = format!("born in {}", report.per.many());
    let head = [born.as_str(), "allocated", "still alive"];
    table(&head, rows.collect())
}

fn heading(view: &View) -> String {
    let what = match view.of {
        Looked::Level => "the level, which never falls,".to_owned(),
        Looked::Kept(rungs) => format!("what has stayed for {} of the ladder", age(rungs)),
        Looked::Floor => "the least level since each rung".to_owned(),
        Looked::Octaves => "the mean level of an octave".to_owned(),
    };
    let unit = match view.unit {
        Unit::Objects => "objects",
        Unit::Bytes => "bytes",
    };
    format!("In {unit}: does {what} grow as a leak does?")
}

/// Returns which share of all iterations lies in so many rungs before the last. Four rungs are
/// a doubling.
fn age(rungs: usize) -> String {
    let octaves = f64::from(u32::try_from(rungs).unwrap_or(u32::MAX)) / 4.0;
    format!("{:.0} %", 100.0 * (1.0 - (-octaves).exp2()))
}

fn answers(view: &View, per: &str) -> String {
    let number = |value: f64| match view.unit {
        Unit::Objects if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Unit::Objects => objects(value),
        Unit::Bytes => bytes(value),
    };
    let mut said: Vec<String> = view.answers.iter().map(|one| said(one, number)).collect();
    let quantity = &view.quantity;
    let findable = match quantity.findable {
        rate if rate > 0.0 && rate.is_finite() => format!("; {} more would be found", number(rate)),
        _ => String::new(),
    };
    let most = match quantity.bound {
        rate if rate.is_finite() => format!("at most {} per {per}", number(rate)),
        _ => "at what rate at most is not known".to_owned(),
    };
    let not = if quantity.rising { "" } else { " not" };
    said.push(format!("so it does{not}: {most}{findable}"));
    lines(&said)
}

/// Returns a question, what was found, and the limit that a leak meets.
fn said(answer: &Answer, number: impl Fn(f64) -> String) -> String {
    let plain = |value: f64| format!("{value:.0}");
    let share = |value: f64| format!("{value:.2}");
    let octave = |back: usize| match back {
        0 => "the last octave".to_owned(),
        1 => "the octave before the last".to_owned(),
        _ => "the octave before that one".to_owned(),
    };
    let (question, shown): (String, &dyn Fn(f64) -> String) = match answer.question {
        Question::ObjectsRise => ("do objects grow so".to_owned(), &plain),
        Question::Gained => ("gained in the last octave".to_owned(), &number),
        Question::Died => ("died, of what had been kept".to_owned(), &number),
        Question::Doubles => ("phases of the ladder that double".to_owned(), &plain),
        Question::InPace => (
            "the greatest level per iteration, in least ones".to_owned(),
            &share,
        ),
        Question::GoesOn(back) => (format!("gained in {}", octave(back)), &number),
        Question::Steps(rungs) => (format!("rungs of {rungs} that gained something"), &plain),
        Question::Off(rungs) => (
            format!("off a line through {rungs} rungs, of what chance explains"),
            &share,
        ),
        Question::Younger(0) => ("stayed, of what is new".to_owned(), &number),
        Question::Younger(1) => ("stayed, of what is a rung old".to_owned(), &number),
        Question::Younger(rungs) => (format!("stayed, of what is {rungs} rungs old"), &number),
        Question::MeanGained(back) => (format!("mean gained in {}", octave(back)), &number),
        Question::GreatestStep => ("the greatest step".to_owned(), &number),
    };
    let limit = match answer.wanted {
        Wanted::AtMost(most) => format!("at most {}", shown(most)),
        Wanted::AtLeast(least) if least <= f64::MIN_POSITIVE => "more than 0".to_owned(),
        Wanted::AtLeast(least) => format!("at least {}", shown(least)),
    };
    let limit = match answer.question {
        Question::ObjectsRise => String::new(),
        _ => format!(": {} ({limit})", shown(answer.found)),
    };
    let mark = if answer.holds() { "yes" } else { "no" };
    format!("{mark:<3}  {question}{limit}")
}

/// Aligns columns to the right, as usual for numbers. Empty if there are no rows.
fn table(head: &[&str], mut rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    rows.insert(0, head.iter().map(ToString::to_string).collect());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = (0..head.len()).map(|column| width(column).unwrap_or(0));
    let widths: Vec<usize> = widths.collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("  {cell:>width$}"));
        format!("  {}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}

fn rate(finding: &Finding) -> String {
    // In an exact run, the error is the workload's own fluctuation.
    let error = |error: f64| (error > 0.0).then_some(error);
    let (rate, off) = (finding.rate, finding.error);
    let in_objects = format!(
        "{}{}{}, {}",
        signed_objects(rate.objects),
        give_or_take(error(off.objects), objects),
        if finding.is_heap() { " objects" } else { "" },
        finding.objects_law,
    );
    let in_bytes = format!(
        "{}{}, {}",
        signed_bytes(rate.bytes),
        give_or_take(error(off.bytes), bytes),
        finding.bytes_law,
    );
    lines(&of_each(finding, in_objects, in_bytes))
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
