//! `plimsoll review`: accepts findings one at a time.
//!
//! ```text
//! newest reports ──► one Item for each finding ──► Session ──► a Change for each file
//!                                                   ▲   │
//!                                       lines typed ┘   └ what to print
//! ```
//!
//! It reads and prints plain lines, so it works over ssh and in the terminal of an editor. It
//! writes nothing before the last answer: if it is ended earlier, no file has changed.

mod session;

use std::io::{self, BufRead, IsTerminal, Read};

use plimsoll_core::baseline::Acceptance;
use plimsoll_core::report::{Report, Standing, text};

use crate::accept::{BaselineFile, Change, Chosen, Which, choose, refuse_under_ci};
use crate::args::ReviewArgs;
use plimsoll_desk::out::{Out, Paint, safe, safe_line};
use plimsoll_desk::project::Project;
use plimsoll_desk::settings;
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::render::tree;
use session::{Item, Kind, Next, Session};

/// The most lines of a scenario's flame graph. More lines would push the finding off the
/// screen.
const TREE_LINES: usize = 16;
/// The most bytes of one answer: the longest line that a terminal passes on.
const LONGEST_ANSWER: u64 = 4_096;

/// A finding, the report of its scenario, and what accepting it changes.
struct Found<'a> {
    report: &'a Report,
    acceptance: Acceptance,
    shown: String,
}

pub(crate) fn run(args: &ReviewArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    let scenarios = args.chosen.scenarios.join(" ");
    let command = |what: &str| format!("{name} {what} {scenarios}").trim_end().to_owned();
    refuse_under_ci(args.dry_run, &command("review"))?;
    refuse_without_terminal(&command("accept"))?;
    let project = Project::find(args.chosen.project.manifest_path.as_deref())?;
    let chosen = choose(&args.chosen, Which::Named, &project, out)?;
    let columns = out.columns().map(|columns| columns.min(100));
    let style = text::Style::of(columns, out.color());
    let (mut found, mut items) = (Vec::new(), Vec::new());
    let is_due = |chosen: &&Chosen| Acceptance::is_due(&chosen.report);
    for chosen in chosen.iter().filter(is_due) {
        let report = &chosen.report;
        let baseline = BaselineFile::of(report, &project)?.baseline;
        for finding in &report.findings {
            let mut acceptance = Acceptance::of_finding(report, finding, &baseline);
            chosen.leave_to_others(&mut acceptance, &baseline, out);
            if acceptance.is_empty() {
                continue;
            }
            let change = Change::of(report, &acceptance, &project)?;
            // Somebody has accepted it since that run.
            if change.is_nothing() {
                continue;
            }
            items.push(Item {
                kind: Kind::of(&acceptance),
                has_expired: finding.standing == Standing::Expired,
                lacks_reason: change.lacks_reason(),
                words: Default::default(),
                is_accepted: false,
            });
            found.push(Found {
                report,
                acceptance,
                shown: text::finding(report, finding, &style),
            });
        }
    }
    if found.is_empty() {
        return Ok(out.print("nothing to accept in the last run\n")?);
    }
    let session = ask(
        Session::new(items, settings::today()?),
        &found,
        style.width,
        out,
    )?;
    let changes = changes(&session, &found, &project)?;
    if changes.is_empty() {
        out.print("nothing was accepted, no file changes\n")?;
    }
    for change in &changes {
        change.make(args.dry_run, out)?;
    }
    Ok(())
}

fn refuse_without_terminal(accept: &str) -> anyhow::Result<()> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Refused::usage(format!(
        "cannot ask: there is no terminal\n  \
         expected standard input and output to be a terminal\n  \
         hint: `{accept} --dry-run` shows what can be accepted, `{accept}` accepts all of it"
    )))
}

/// Asks until everything is decided. If the input ends before, nothing is accepted.
fn ask(
    mut session: Session,
    found: &[Found<'_>],
    width: usize,
    out: &mut Out,
) -> anyhow::Result<Session> {
    let mut stdin = io::stdin().lock();
    let mut shown = None;
    loop {
        let at = session.at();
        if shown != Some(at) {
            let before = at.checked_sub(1).map(|before| &found[before]);
            out.print(&page(&found[at], before, (at, found.len()), width, out))?;
            shown = Some(at);
        }
        out.print(&format!("{} ", out.paint(Paint::Bold, &session.prompt())))?;
        let Some(line) = line(&mut stdin)? else {
            out.print("\n")?;
            return Err(Refused::with_status(
                ExitStatus::Interrupted,
                "nothing was written: the input ended before the last answer",
            ));
        };
        match session.answer(&line) {
            Next::Say(text) => out.print(&format!("  {text}\n"))?,
            Next::Ask => {}
            Next::Done => return Ok(session),
        }
    }
}

/// Reads one typed line without its line end; `None` at the end of the input.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    input.take(LONGEST_ANSWER).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    // Invalid bytes become characters that no answer may have.
    Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
}

/// Returns the page of a finding. The flame graph of a scenario is above its first finding.
fn page(
    found: &Found<'_>,
    before: Option<&Found<'_>>,
    (at, all): (usize, usize),
    width: usize,
    out: &Out,
) -> String {
    let report = found.report;
    let title = format!("{} of {all}: {}", at + 1, safe_line(&report.scenario));
    let mut page = format!("\n{}\n", out.paint(Paint::Bold, &title));
    if before.is_none_or(|before| !std::ptr::eq(before.report, report)) {
        let tree = tree::of_report(report, TREE_LINES, width.saturating_sub(2));
        for line in tree.iter().flat_map(|tree| tree.lines()) {
            page += &format!("  {}\n", safe(line));
        }
        page += if tree.is_some() { "\n" } else { "" };
    }
    page + found.shown.trim_start_matches('\n') + "\n"
}

/// Returns one change for each scenario of which a finding was accepted.
fn changes(
    session: &Session,
    found: &[Found<'_>],
    project: &Project,
) -> anyhow::Result<Vec<Change>> {
    let mut accepted: Vec<(&Report, Acceptance)> = Vec::new();
    let decided = session.items().iter().zip(found);
    for (item, found) in decided.filter(|(item, _)| item.is_accepted) {
        let mut acceptance = found.acceptance.clone();
        item.words.write(&mut acceptance);
        match accepted.last_mut() {
            Some((report, all)) if std::ptr::eq(*report, found.report) => all.add(acceptance),
            _ => accepted.push((found.report, acceptance)),
        }
    }
    let changes = accepted.iter().map(|(report, acceptance)| {
        let change = Change::of(report, acceptance, project)?;
        change.refuse_without_reason()?;
        Ok(change)
    });
    changes.collect()
}
