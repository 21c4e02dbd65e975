//! Asks a program for its scenarios.

use std::fs;
use std::time::Duration;

use plimsoll_core::settings::{Layer, Settings, Unwinder};

use crate::guardian::Guardian;
use crate::place::Place;
use crate::plan::Plan;
use crate::process::{Answer, Subject, ending};
use crate::program::{Program, Scenario};
use crate::protocol::Command;

/// How long a program may take to list its scenarios: code around benchmarks runs meanwhile.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The sample interval meanwhile, as a logarithm to base 2.
const COARSE: u32 = 30;

/// Returns the scenarios of a program, in its order.
///
/// What the program prints meanwhile is not shown, unless it fails.
///
/// # Errors
///
/// A message of a few lines, if the program speaks no protocol that is known, ends early, or does
/// not answer within ten minutes.
pub fn scenarios(program: &Program) -> Result<Vec<Scenario>, String> {
    let folder = Place::find(program).listing();
    let unusable = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(unusable)?;
    let guardian = Guardian::start().map_err(|error| format!("no guardian: {error}"))?;
    // Nothing is measured, and code around benchmarks may allocate much.
    let how = (Plan::sampled(COARSE), Unwinder::Libgcc);
    let listed = match Subject::start(program, &folder, true, how, &guardian) {
        Ok(mut subject) => listed(&mut subject).map_err(|answer| {
            let what = what(answer);
            let printed = subject.output_tail();
            match printed.is_empty() {
                true => what,
                false => format!("{what}\n---- it printed ----\n{printed}"),
            }
        }),
        Err(error) => Err(format!(
            "{} cannot be started: {error}",
            program.path.display()
        )),
    };
    let _ = fs::remove_dir_all(&folder);
    listed
}

fn listed(subject: &mut Subject<'_>) -> Result<Vec<Scenario>, Answer> {
    subject.greeting(TIMEOUT)?;
    let mut scenarios: Vec<Scenario> = Vec::new();
    let mut answer = subject.ask(&Command::List, TIMEOUT, u64::MAX);
    loop {
        let line = match answer {
            Answer::Line(line) => line,
            // A program with a `main` of its own may end without a word.
            Answer::Exited(status) if status.success() => return Ok(scenarios),
            other => return Err(other),
        };
        let (key, value) = line.split_once(' ').unwrap_or((&line, ""));
        match (key, scenarios.last_mut()) {
            ("done", _) => return Ok(scenarios),
            ("failed", _) => return Err(Answer::Line(line)),
            ("scenario", _) => scenarios.push(Scenario {
                name: value.to_owned(),
                ..Scenario::default()
            }),
            ("title", Some(scenario)) => scenario.title = Some(value.to_owned()),
            ("ignored", Some(scenario)) => scenario.ignored = Some(value.to_owned()),
            ("set", Some(scenario)) => set(&mut scenario.settings, value),
            // A newer subject may say more.
            _ => {}
        }
        answer = subject.wait(TIMEOUT, u64::MAX);
    }
}

/// Makes a setting, `KEY VALUE` as a settings file has it. Ignores what no front knows.
fn set(settings: &mut Settings, setting: &str) {
    let (key, value) = setting.split_once(' ').unwrap_or((setting, ""));
    let variable = format!("PLIMSOLL_{}", key.to_ascii_uppercase().replace('-', "_"));
    if let Ok(layer) = Layer::from_variables([(variable, value.to_owned())]) {
        *settings = settings.or(&layer.settings);
    }
}

/// Says what came instead of a list.
fn what(answer: Answer) -> String {
    match answer {
        Answer::Line(line) => line.strip_prefix("failed ").unwrap_or(&line).to_owned(),
        Answer::Foreign(what) => what,
        Answer::Exited(status) => format!("{}, before it listed its scenarios", ending(status)),
        Answer::TimedOut => format!("listed no scenarios within {} s", TIMEOUT.as_secs()),
        Answer::Closed | Answer::OutOfMemory | Answer::Forked => {
            "closed the channel before it listed its scenarios".to_owned()
        }
    }
}
