//! The rules for allowances. This module decides, and prints nothing.

use plimsoll_core::baseline::{Allowance, is_twice_the_need, round_up};
use plimsoll_core::growth::Unit;
use plimsoll_core::judge::Verdict;
use plimsoll_core::{Rate, Resource};

use super::shelf::{Content, Entry, Filed, Folder, Level, Problem, Shelf};
use plimsoll_desk::out::safe_line;
use plimsoll_desk::project::shown;

/// Checks all baselines. The problems are in the order of the files and of their contents.
pub(super) fn check(shelf: &Shelf, name: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in &shelf.folders {
        for file in &folder.files {
            let at = At { file, name };
            match &file.content {
                Err(problem) => problems.push(problem.clone()),
                Ok(content) => {
                    problems.extend(at.of_no_scenario(folder));
                    problems.extend(at.of_several(folder, content));
                    for entry in &content.entries {
                        let found = [
                            at.expired(entry, shelf),
                            at.without_reason(entry, folder),
                            at.not_needed(entry, content),
                            at.more_than_needed(entry),
                        ];
                        problems.extend(found.into_iter().flatten());
                    }
                }
            }
        }
    }
    problems
}

/// The file of a problem, and the name by which this program was called.
#[derive(Clone, Copy)]
struct At<'a> {
    file: &'a Filed,
    name: &'a str,
}

impl At<'_> {
    fn problem(
        self,
        level: Level,
        rule: &'static str,
        line: Option<usize>,
        what: &str,
        more: &[String],
    ) -> Problem {
        let path = shown(&self.file.path);
        let place = line.map_or(path.clone(), |line| format!("{path}:{line}"));
        let mut message = format!("{place}: {what}");
        for line in more {
            message += &format!("\n  {line}");
        }
        Problem {
            level,
            rule,
            file: self.file.relative.clone(),
            line,
            message,
        }
    }

    fn accept(self) -> String {
        format!("{} accept {}", self.name, self.file.scenario)
    }

    fn of_no_scenario(self, folder: &Folder) -> Option<Problem> {
        let scenario = &self.file.scenario;
        if folder.scenarios.is_empty() || folder.scenarios.contains_key(scenario) {
            return None;
        }
        let (level, why) = match folder.unmeasured.as_slice() {
            [] => {
                let path = shown(&self.file.path);
                let why =
                    format!("hint: `git rm {path}`, or give the file the scenario's new name");
                (Level::Error, why)
            }
            tests => {
                let tests = safe_line(&tests.join(", "));
                let why = format!("hint: one of these tests may have it; measure them: {tests}");
                (Level::Warning, why)
            }
        };
        let names = folder.scenarios.keys().map(|name| safe_line(name));
        let names: Vec<String> = names.collect();
        let expected = format!("expected one of {}", safe_line(&names.join(", ")));
        let what = format!("no measured test has a scenario `{scenario}`");
        Some(self.problem(level, "no-scenario", None, &what, &[expected, why]))
    }

    fn of_several(self, folder: &Folder, content: &Content) -> Option<Problem> {
        let scenario = &self.file.scenario;
        let tests = folder.scenarios.get(scenario)?;
        if tests.len() < 2 || content.entries.is_empty() {
            return None;
        }
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        let tests = safe_line(&tests.join(" and in "));
        let what =
            "several tests share this file, and an allowance that one needs is stale for another";
        let found = format!("a scenario `{scenario}` is in {tests}");
        let hint = "hint: rename one, or give its package a plimsoll.toml, and so baselines of \
                    its own"
            .to_owned();
        Some(self.problem(Level::Warning, "shared", None, what, &[found, hint]))
    }

    fn expired(self, entry: &Entry, shelf: &Shelf) -> Option<Problem> {
        let Allowance {
            reason, expires, ..
        } = &entry.allowance;
        let last = expires.filter(|_| entry.days_left(shelf.today).is_some_and(|days| days < 0))?;
        let today = shelf.today;
        let mut more = vec![format!("its last day was {last}, and today is {today}")];
        let reason = reason.as_deref().map(safe_line);
        more.extend(reason.map(|reason| format!("its reason: {reason}")));
        more.push(format!(
            "hint: fix the growth, or accept it again after a run: `{} --expires YYYY-MM-DD`",
            self.accept()
        ));
        let what = format!("the allowance of {} has expired", entry.subject());
        Some(self.problem(Level::Error, "expired", Some(entry.line()), &what, &more))
    }

    fn without_reason(self, entry: &Entry, folder: &Folder) -> Option<Problem> {
        if entry.allowance.has_reason() {
            return None;
        }
        let (level, why) = match folder.require_reason {
            true => (Level::Error, "`require-reason = true` needs one"),
            false => (
                Level::Warning,
                "a reviewer cannot know why this growth is accepted",
            ),
        };
        let what = format!("the allowance of {} has no reason", entry.subject());
        let hint = "hint: write `reason = \"…\"` below it".to_owned();
        Some(self.problem(
            level,
            "no-reason",
            Some(entry.line()),
            &what,
            &[why.to_owned(), hint],
        ))
    }

    fn not_needed(self, entry: &Entry, content: &Content) -> Option<Problem> {
        entry.need.filter(|need| need.is_none())?;
        let command = match content.verdict {
            // `accept` would also accept the growth of the regression.
            Some(Verdict::Regressed) => format!("{} review {}", self.name, self.file.scenario),
            _ => self.accept(),
        };
        let what = format!("the allowance of {} is no longer needed", entry.subject());
        let hint = format!("hint: remove it with `{command}`");
        Some(self.problem(Level::Warning, "stale", Some(entry.line()), &what, &[hint]))
    }

    fn more_than_needed(self, entry: &Entry) -> Option<Problem> {
        let allowed = entry.allowance.rate;
        let need = entry.need.filter(|need| !need.is_none())?;
        if !is_twice_the_need(allowed, need) {
            return None;
        }
        let needed = need.rate + need.error;
        let of = entry.subject();
        let what = format!("the allowance of {of} is more than twice what it needs");
        let (allows, needs) = (entry.said(allowed), entry.said(needed));
        let found = format!("it allows {allows}, the newest run needed {needs}");
        let (enough, accept) = (written(entry, needed), self.accept());
        let hint = format!("hint: `{enough}` is enough; `{accept} --lower` writes it");
        let (line, rule) = (Some(entry.line()), "larger-than-needed");
        Some(self.problem(Level::Warning, rule, line, &what, &[found, hint]))
    }
}

/// Returns the rate as a baseline file would have it.
fn written(entry: &Entry, needed: Rate) -> String {
    let rounded = |rate: f64| round_up(rate.max(0.0)).unwrap_or(rate);
    let objects = format!("objects = {:?}", rounded(needed.objects));
    let bytes = format!("bytes = {:?}", rounded(needed.bytes));
    match entry.allowance.subject.resource().map(Resource::unit) {
        Some(Unit::Objects) => objects,
        Some(Unit::Bytes) => bytes,
        None => format!("{objects}`, `{bytes}"),
    }
}
