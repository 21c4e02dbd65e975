//! `list --json` and `check --json`, format 1: `schema/baselines-v1.schema.json`.

use plimsoll_core::Resource;
use plimsoll_core::baseline::{AllowanceSubject, MeasuredWith};
use serde_json::{Value, json};

use super::shelf::{Content, Entry, Filed, Level, Problem, Shelf};

const VERSION: u64 = 1;

pub(super) fn list(shelf: &Shelf) -> String {
    written(whole(shelf))
}

pub(super) fn check(shelf: &Shelf, problems: &[Problem]) -> String {
    let mut whole = whole(shelf);
    whole["passed"] = json!(problems.iter().all(|problem| problem.level != Level::Error));
    whole["problems"] = problems.iter().map(problem).collect();
    written(whole)
}

fn written(value: Value) -> String {
    format!("{value:#}\n")
}

fn whole(shelf: &Shelf) -> Value {
    json!({
        "version": VERSION,
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "today": shelf.today.to_string(),
        "baselines": shelf.files().map(|file| baseline(file, shelf)).collect::<Vec<_>>(),
    })
}

fn baseline(file: &Filed, shelf: &Shelf) -> Value {
    let content = file.content.as_ref();
    let measured = content.ok().and_then(|content| content.measured.as_ref());
    let allowances = |content: &Content| -> Value {
        let entries = content.entries.iter();
        entries.map(|entry| allowance(entry, shelf)).collect()
    };
    json!({
        "file": file.relative,
        "scenario": file.scenario,
        "problem": content.err().map(|problem| &problem.message),
        "measured": measured.map(measured_with),
        "allowances": content.map_or_else(|_| json!([]), allowances),
    })
}

fn measured_with(measured: &MeasuredWith) -> Value {
    let mut value = json!({
        "target": measured.target,
        "profile": measured.profile,
        "toolchain": measured.toolchain,
        "jemalloc": measured.jemalloc,
        "sample_interval": measured.sample_interval,
        "iterations": measured.iterations,
    });
    if !measured.per.is_iteration() {
        value["per"] = json!(measured.per);
    }
    value
}

fn allowance(entry: &Entry, shelf: &Shelf) -> Value {
    let allowance = &entry.allowance;
    let stack = match &allowance.subject {
        AllowanceSubject::Stack(pattern) => Some(pattern.shown().0),
        AllowanceSubject::Resource(_) => None,
    };
    json!({
        "line": entry.line(),
        "stack": stack,
        "resource": allowance.subject.resource().map(Resource::as_str),
        "rate": allowance.rate,
        "law": allowance.law.as_str(),
        "reason": allowance.reason,
        "issue": allowance.issue,
        "expires": allowance.expires.map(|day| day.to_string()),
        "days_left": entry.days_left(shelf.today),
        "changed": entry.changed.map(|day| day.to_string()),
        "age_in_days": entry.changed.map(|day| day.days_until(shelf.today).max(0)),
        "need": entry.need.map(|need| json!({
            "rate": need.rate,
            "error": need.error,
        })),
    })
}

fn problem(problem: &Problem) -> Value {
    json!({
        "level": problem.level.as_str(),
        "rule": problem.rule,
        "file": problem.file,
        "line": problem.line,
        "message": problem.message,
    })
}
