//! `plimsoll verify-fix`: tells whether a growth rate fell from one measurement to another.
//!
//! ```text
//! two revisions, or two folders ─► [Side; 2] ─► verified: pure ─► text, JSON
//! ```

use std::path::Path;

use anyhow::bail;
use plimsoll_core::judge::Verdict;
use plimsoll_core::{FoldedStack, Rate};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::VerifyFixArgs;
use crate::decide::{Climb, Gain, NoQuestion, Pattern, Question};
use crate::differences::{self, Difference, Kind};
use crate::measure::unusable;
use crate::revision::Revision;
use crate::session::{STOPPED_HERE, Session};
use crate::setup::{bench, home, interruptible, known, overlay, subject, worktree};
use crate::show;
use crate::sides::{self, Side};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::{Out, Paint, safe_line};
use plimsoll_desk::project::shown;
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::input;
use plimsoll_report::joined::Scenario;

const VERSION: u64 = 1;

/// The width of a rate's error, in standard deviations.
const DEVIATIONS: f64 = 2.5;

/// The largest error, as a share of the rate before, with which the answer is that the rate
/// did not fall. With a larger error, the answer is unclear.
const CLEAR: f64 = 0.5;

pub fn run(args: &VerifyFixArgs, out: &mut Out) -> anyhow::Result<()> {
    let sides = interruptible(STOPPED_HERE, |interrupt| sides(args, interrupt, out))?;
    let [before, after] = &sides;
    note_differences(before, after, out);
    let verified = verify(&sides, args);
    let text = match args.comparison.json {
        true => format!("{:#}\n", as_json(&sides, &verified)),
        false => as_text(&sides, &verified, out),
    };
    out.print(&text)?;
    match verified.outcome {
        Outcome::Fixed | Outcome::Fell => Ok(()),
        Outcome::NotFallen => Err(Refused::quiet(ExitStatus::Regressed)),
        Outcome::Unclear | Outcome::NothingGrew => Err(Refused::quiet(ExitStatus::NoVerdict)),
    }
}

fn verify([before, after]: &[Side; 2], args: &VerifyFixArgs) -> Verified {
    Verified::of(&before.climb(), &after.climb(), args.stack.stack.as_ref())
}

fn sides(args: &VerifyFixArgs, interrupt: &Interrupt, out: &mut Out) -> anyhow::Result<[Side; 2]> {
    let is_path = |name: &str| Path::new(name).exists();
    match (is_path(&args.before), is_path(&args.after)) {
        (true, true) => of_reports(args, out),
        (false, false) => of_revisions(args, interrupt),
        (is_before, _) => {
            let (path, other) = match is_before {
                true => (&args.before, &args.after),
                false => (&args.after, &args.before),
            };
            Err(Refused::usage(format!(
                "expected two revisions or two reports, found the path {} and {}, which is none",
                safe_line(path),
                safe_line(other)
            )))
        }
    }
}

/// Measures both revisions in turns, and again for longer if the answer is unclear.
fn of_revisions(args: &VerifyFixArgs, interrupt: &Interrupt) -> anyhow::Result<[Side; 2]> {
    let home = home(args.comparison.bench.manifest_path.as_deref())?;
    let session = Session {
        bad: Some(args.before.clone()),
        scenario: args.scenario.clone(),
        stack: args.stack.stack.clone(),
        ..Session::of(&args.comparison.bench, args.after.clone())?
    };
    let subject = subject(&session, &home)?;
    let git = &home.git;
    let (before, after) = (known(git, &args.before)?, known(git, &args.after)?);
    if before == after {
        return Err(Refused::usage(format!(
            "both are {}: there is nothing to compare",
            before.short()
        )));
    }
    let laid_over = overlay(&home, &subject, &session)?;
    let worktree = worktree(git, &before, args.comparison.remove_stale)?;
    let mut bench = bench(&home, &session, &subject, laid_over, worktree, interrupt)?;
    let logs = shown(&bench.tools.logs);
    let revisions = [&before, &after].map(Revision::from);
    let names = [&args.before, &args.after];
    let name = |place: usize| {
        let (name, commit) = (safe_line(names[place]), revisions[place].short());
        format!("{name} ({commit})")
    };
    let two = [(name(0), &revisions[0]), (name(1), &revisions[1])];
    let is_enough = |sides: &[Side; 2]| verify(sides, args).outcome != Outcome::Unclear;
    let sides = sides::in_turns(&mut bench, two, is_enough)?.map_err(|(place, why)| {
        let name = name(place);
        let text = format!("{name} cannot be measured: {why}\n  logs: {logs}");
        Refused::with_status(ExitStatus::NoVerdict, text)
    })?;
    bench.tools.progress.clear();
    Ok(sides)
}

/// Reads the reports that two runs left.
fn of_reports(args: &VerifyFixArgs, out: &Out) -> anyhow::Result<[Side; 2]> {
    let read = |path: &String| input::read_each_target(Path::new(path), out);
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let bench = &args.comparison.bench;
    let is = |asked: &Option<String>, found: &str| asked.as_ref().is_none_or(|one| one == found);
    let wanted = |scenario: &&Scenario| {
        is(&bench.package, &scenario.package) && is(&bench.test, &scenario.target)
    };
    let scenario = chosen(args, &before, &wanted)?;
    let side = |name: &String, scenarios: &[Scenario]| {
        let name = safe_line(name);
        let id = |one: &Scenario| [&one.name, &one.package, &one.target].map(String::clone);
        let mut found = scenarios.iter().filter(|one| id(one) == id(scenario));
        let (Some(found), None) = (found.next(), found.next()) else {
            let names = names(&[scenario]);
            bail!("{name}: expected one result of {names}, found none or several");
        };
        let shown = safe_line(&found.name);
        let Some(report) = found.report().cloned() else {
            bail!("{name}: {shown} has no result");
        };
        if let Some(why) = unusable(&report) {
            let text = format!("{name}: {shown}: {why}");
            return Err(Refused::with_status(ExitStatus::NoVerdict, text));
        }
        Ok(Side { name, report })
    };
    Ok([side(&args.before, &before)?, side(&args.after, &after)?])
}

/// Returns the scenario that was named, the one that regressed, or the only one.
fn chosen<'a>(
    args: &VerifyFixArgs,
    before: &'a [Scenario],
    wanted: &dyn Fn(&&Scenario) -> bool,
) -> anyhow::Result<&'a Scenario> {
    let is_named = |one: &&Scenario| args.scenario.as_ref().is_none_or(|name| one.name == *name);
    let is_regressed = |one: &&Scenario| one.verdict() == Some(Verdict::Regressed);
    let named = before.iter().filter(wanted).filter(is_named);
    let mut named: Vec<&Scenario> = named.collect();
    if args.scenario.is_none() && named.iter().any(is_regressed) {
        named.retain(is_regressed);
    }
    match named.as_slice() {
        [one] => Ok(one),
        [] => Err(Refused::usage(format!(
            "{} has no such scenario\n  expected one of: {}",
            safe_line(&args.before),
            names(&before.iter().collect::<Vec<_>>())
        ))),
        several => Err(Refused::usage(format!(
            "which scenario? Name it with --scenario, --package or --test: {}",
            names(several)
        ))),
    }
}

/// Formats names such as `lru_churn (demo, leaks)`.
fn names(scenarios: &[&Scenario]) -> String {
    let names = scenarios.iter().map(|one| {
        let (name, package) = (safe_line(&one.name), safe_line(&one.package));
        format!("{name} ({package}, {})", safe_line(&one.target))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Prints differences between the two runs that may be the reason instead of the fix.
fn note_differences(before: &Side, after: &Side, out: &Out) {
    let (Some(one), Some(two)) = (&before.report.measured, &after.report.measured) else {
        return;
    };
    for (what, one, two) in [
        ("the target", &one.target, &two.target),
        ("the profile", &one.profile, &two.profile),
        ("the toolchain", &one.toolchain, &two.toolchain),
        ("jemalloc", &one.jemalloc, &two.jemalloc),
    ] {
        if one != two {
            let (one, two) = (safe_line(one), safe_line(two));
            out.note(&format!("{what} was {one} before, and {two} after"));
        }
    }
}

/// The result of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    /// The rate fell, and no stack of the group still grows.
    Fixed,
    /// The rate fell, and the group still grows.
    Fell,
    #[serde(rename = "not fallen")]
    NotFallen,
    /// The errors are too large for an answer.
    Unclear,
    #[default]
    #[serde(rename = "nothing grew")]
    NothingGrew,
}

#[derive(Debug, Default)]
struct Verified {
    outcome: Outcome,
    /// The stack; absent if nothing grew.
    stack: Option<FoldedStack>,
    before: Gain,
    after: Gain,
    /// The share of the rate that was lost: 1 if all of it, and negative if the rate rose.
    share: f64,
    /// The lost rate in standard deviations. Absent if every object was counted and nothing
    /// varies.
    deviations: Option<f64>,
    /// Who holds the objects of the stack, as long as it grows.
    holder: Option<String>,
    /// Whether it grows faster now, by more than the errors explain.
    rose: bool,
    /// The fastest other stack that grows now, and did not before or not as fast.
    new: Option<Difference>,
}

impl Verified {
    fn of(before: &Climb, after: &Climb, pattern: Option<&Pattern>) -> Verified {
        let mut worse = differences::between(before, after);
        worse.retain(|difference| difference.kind.is_worse());
        // Compared with an empty climb, everything that grew before makes a question.
        let nothing = Climb::default();
        let asked = match Question::between(after, before, pattern) {
            Ok(question) => Ok((question, true)),
            Err(NoQuestion::NothingGrows) => Err(Outcome::NothingGrew),
            // The growth before may be no more than its error. Then the answer is unclear.
            Err(NoQuestion::NoDifference) => Question::between(&nothing, before, pattern)
                .map(|question| (question, false))
                .map_err(|_| Outcome::Unclear),
        };
        let (question, fell) = match asked {
            Ok(asked) => asked,
            Err(outcome) => {
                return Verified {
                    outcome,
                    new: worse.into_iter().next(),
                    ..Verified::default()
                };
            }
        };
        let (b, b_error) = question.rate_and_error(before);
        let (a, a_error) = question.rate_and_error(after);
        let of = |rate: Rate| match question.quantities.bytes {
            true => rate.bytes,
            false => rate.objects,
        };
        let (lost, error) = (of(b) - of(a), of(b_error).hypot(of(a_error)));
        let outcome = if fell && question.grows_in(after) {
            Outcome::Fell
        } else if fell {
            Outcome::Fixed
        } else if error > CLEAR * of(b) {
            Outcome::Unclear
        } else {
            Outcome::NotFallen
        };
        Verified {
            outcome,
            before: question.rate(before),
            after: question.rate(after),
            share: if of(b) > 0.0 { lost / of(b) } else { 0.0 },
            deviations: (error > 0.0).then(|| lost * DEVIATIONS / error),
            holder: [after, before]
                .into_iter()
                .find_map(|climb| climb.holder(&question.stack))
                .map(str::to_owned),
            rose: worse.iter().any(|one| question.holds(&one.stack)),
            new: worse.into_iter().find(|one| !question.holds(&one.stack)),
            stack: Some(question.stack),
        }
    }
}

fn as_text(sides: &[Side; 2], verified: &Verified, out: &Out) -> String {
    let [before, after] = sides;
    let name = safe_line(&before.report.scenario);
    let (paint, what) = match verified.outcome {
        Outcome::Fixed => (Paint::Green, "fixed: it grows no more"),
        Outcome::Fell => (Paint::Yellow, "it grows more slowly, and still grows"),
        Outcome::NotFallen if verified.rose => (Paint::Red, "not fixed: it grows faster"),
        Outcome::NotFallen => (Paint::Red, "not fixed: it grows as before"),
        Outcome::Unclear => (
            Paint::Yellow,
            "inconclusive: the two rates cannot be told apart",
        ),
        Outcome::NothingGrew => (Paint::Yellow, "nothing grew before that a change could fix"),
    };
    let mut text = format!("{name}: {}\n", out.paint(paint, what));
    if let Some(stack) = &verified.stack {
        text += &format!("\n  {}\n", safe_line(&show::leaf(stack)));
        if let Some(holder) = &verified.holder {
            text += &format!("  {}\n", safe_line(holder));
        }
        let width = before.name.chars().count().max(after.name.chars().count());
        for (word, side, gain) in [
            ("before", before, verified.before),
            ("after ", after, verified.after),
        ] {
            let (rate, per) = (show::rate(gain), &side.report.per);
            let counted = per.count(side.report.iterations());
            text += &format!("  {word}  {:width$}  {rate}  ({counted})\n", side.name);
        }
        text += &format!("\n  {}\n", how_surely(verified));
    }
    if verified.outcome == Outcome::Unclear {
        text += match before.report.per.is_iteration() {
            true => {
                "  hint: measure for longer with --budget 60s, or with a smaller sample interval\n"
            }
            false => {
                "  hint: watch for longer, with more requests, or with a smaller sample interval\n"
            }
        };
    }
    if let Some(new) = &verified.new {
        let what = match new.kind {
            Kind::New => "grows, and did not before",
            _ => "grows faster than it did",
        };
        text += &format!(
            "\n  but this {what}: {}  {}\n",
            safe_line(&show::leaf(&new.stack)),
            show::rate(new.after)
        );
        if let Some(holder) = &new.holder {
            text += &format!("    {}\n", safe_line(holder));
        }
    }
    text
}

/// Formats the result, such as `it fell by 97 %: 41.0 standard deviations`.
fn how_surely(verified: &Verified) -> String {
    let percent = 100.0 * verified.share.abs();
    let way = if verified.share < 0.0 { "rose" } else { "fell" };
    let surely = match verified.deviations {
        None => "every object was counted, and nothing fluctuates".to_owned(),
        Some(deviations) => match deviations.abs() {
            100.0.. => "more than 100 standard deviations".to_owned(),
            few => format!("{few:.1} standard deviations"),
        },
    };
    format!("it {way} by {percent:.0} %: {surely}")
}

fn as_json(sides: &[Side; 2], verified: &Verified) -> Value {
    let [before, after] = sides;
    json!({
        "version": VERSION,
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "package": before.report.run.package,
        "target": before.report.run.target,
        "scenario": before.report.scenario,
        "result": verified.outcome,
        "stack": verified.stack,
        "holder": verified.holder,
        "before": before.as_json(verified.before),
        "after": after.as_json(verified.after),
        "fell_by": verified.stack.as_ref().map(|_| verified.share),
        "deviations": verified.deviations,
        "new": verified.new.as_ref().map(|new| json!({ "stack": new.stack, "rate": new.after })),
        "differences": differences::between(&before.climb(), &after.climb()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A climb on which these stacks grow by this many bytes, with this error. Objects have 80
    /// bytes.
    fn climb(grows: &[(&str, f64)], error: f64) -> Climb {
        let mut climb = Climb {
            iterations: 65_536,
            ..Climb::default()
        };
        for (stack, bytes) in grows {
            let stack = FoldedStack(stack.split(';').map(str::to_owned).collect());
            let rate = |bytes: f64| Rate {
                objects: bytes / 80.0,
                bytes,
            };
            climb.rates.insert(stack.clone(), rate(*bytes));
            climb.errors.insert(stack.clone(), rate(error));
            if *bytes > 1.0 {
                climb.growing.insert(stack);
            }
        }
        climb
    }

    const LEAK: &[(&str, f64)] = &[("main;put", 80.0)];

    #[track_caller]
    fn check(before: &[(&str, f64)], after: &[(&str, f64)], error: f64, of: Outcome) -> Verified {
        let verified = Verified::of(&climb(before, error), &climb(after, error), None);
        assert_eq!(verified.outcome, of, "{verified:?}");
        verified
    }

    #[test]
    fn what_fell() {
        let fixed = check(LEAK, &[], 0.0, Outcome::Fixed);
        assert_eq!((fixed.share, fixed.deviations), (1.0, None));
        let fell = check(LEAK, &[("main;put", 20.0)], 4.0, Outcome::Fell);
        assert!((fell.share - 0.75).abs() < 1e-9);
        // The rate fell by 60. The combined error is 5.66, which is 2.5 standard deviations.
        assert!((fell.deviations.unwrap() - 26.5).abs() < 0.1, "{fell:?}");
    }

    #[test]
    fn what_did_not() {
        check(LEAK, LEAK, 0.0, Outcome::NotFallen);
        let more = check(LEAK, &[("main;put", 160.0)], 1.0, Outcome::NotFallen);
        assert!(more.share < 0.0);
        // The function was renamed.
        check(LEAK, &[("main;store", 80.0)], 0.0, Outcome::NotFallen);
    }

    #[test]
    fn what_cannot_be_told() {
        check(LEAK, &[("main;put", 70.0)], 60.0, Outcome::Unclear);
        check(&[], LEAK, 0.0, Outcome::NothingGrew);
        check(&[], &[], 0.0, Outcome::NothingGrew);
    }

    #[test]
    fn what_is_new() {
        let verified = check(LEAK, &[("main;log;push", 4_000.0)], 0.0, Outcome::Fixed);
        let new = verified.new.unwrap().stack;
        assert_eq!(new.frames(), ["main", "log", "push"]);
    }
}
