//! The job's summary page.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::Outcome;
use crate::args::CommentArgs;
use plimsoll_bot::environment::Environment;
use plimsoll_desk::out::Out;
use plimsoll_report::joined::Joined;
use plimsoll_report::render::Context;
use plimsoll_report::render::markdown;

/// The most bytes of a job's summary page.
const MAX_STEP_SUMMARY: u64 = 1024 * 1024;

/// Writes the job's summary. A failure becomes a warning.
pub(super) fn summarize(
    args: &CommentArgs,
    environment: &Environment,
    outcome: &Outcome,
    context: &Context,
    out: &mut Out,
) {
    let Some(path) = &environment.step_summary else {
        return;
    };
    write(path, args.dry_run, outcome, context, out)
        .unwrap_or_else(|err| out.warning(&format!("the job's summary: {err:#}")));
}

fn write(
    path: &Path,
    dry_run: bool,
    outcome: &Outcome,
    context: &Context,
    out: &mut Out,
) -> anyhow::Result<()> {
    let context = Context {
        marker: None,
        ..context.clone()
    };
    let text = page(outcome, &context, markdown::summary);
    if dry_run {
        let length = text.len();
        out.print(&format!("job summary: {length} bytes, not written\n"))?;
        return Ok(());
    }
    // GitHub drops a page that is too long, including what other steps wrote before.
    let there = fs::metadata(path).map_or(0, |data| data.len());
    let fits = |text: &str| there + (text.len() as u64) < MAX_STEP_SUMMARY;
    let text = match fits(&text) {
        true => text,
        false => page(outcome, &context, markdown::comment),
    };
    anyhow::ensure!(fits(&text), "it has no room left");
    append(path, &text)
}

/// Adds to the summary what could not be posted. People who read the summary do not look any
/// further.
pub(super) fn say_in_summary(args: &CommentArgs, environment: &Environment, what: &str, out: &Out) {
    if let Some(path) = environment.step_summary.as_ref().filter(|_| !args.dry_run) {
        let text = format!("> **Not posted: {what}.** The log of this step says why.\n");
        append(path, &text).unwrap_or_else(|err| out.warning(&format!("the summary: {err:#}")));
    }
}

pub(super) fn page(
    outcome: &Outcome,
    context: &Context,
    whole: fn(&Joined, &Context) -> String,
) -> String {
    match outcome {
        Ok(joined) => whole(joined, context),
        Err(none) => markdown::no_result(context, *none),
    }
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    Ok(())
}
