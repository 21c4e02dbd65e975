//! The output of `list` and `show` as text.

use plimsoll_core::baseline::AllowanceSubject;
use plimsoll_core::report::units::{bytes, give_or_take, plural};
use plimsoll_core::{Per, Rate, to_f64};

use super::shelf::{Content, Entry, Filed, Level, Problem, Shelf};
use plimsoll_desk::out::{Out, Paint, safe, safe_line};
use plimsoll_desk::project::shown;

/// Lists every allowance by the leaf of its stack.
pub(super) fn list(shelf: &Shelf, out: &Out) -> String {
    let mut page = pages(shelf, |entry| {
        let frames = match &entry.allowance.subject {
            AllowanceSubject::Stack(pattern) => {
                let n = pattern.frames().len() as u64;
                format!(" ({})", plural(n, "frame", "frames"))
            }
            AllowanceSubject::Resource(_) => String::new(),
        };
        format!("  {}{frames}\n", out.paint(Paint::Bold, &entry.subject()))
    });
    page += &summary(shelf, &[]);
    page
}

/// Shows every allowance with all of its frames, leaf first.
pub(super) fn show(shelf: &Shelf, out: &Out) -> String {
    pages(shelf, |entry| {
        let AllowanceSubject::Stack(pattern) = &entry.allowance.subject else {
            return format!("  {}\n", out.paint(Paint::Bold, &entry.subject()));
        };
        let frames = pattern.frames().iter().rev().enumerate();
        frames
            .map(|(depth, frame)| match depth {
                0 => format!("  {}\n", out.paint(Paint::Bold, &safe(frame.as_str()))),
                _ => format!("    └ {}\n", safe(frame.as_str())),
            })
            .collect()
    })
}

fn pages(shelf: &Shelf, head: impl Fn(&Entry) -> String) -> String {
    let mut page = String::new();
    for file in shelf.files() {
        match &file.content {
            // `refuse_unreadable` prints the reason as an error.
            Err(_) => page += &format!("{}: cannot be read\n\n", shown(&file.path)),
            Ok(content) => {
                page += &title(file, content);
                for entry in &content.entries {
                    page += &head(entry);
                    page += &about(entry, content, shelf);
                }
                page.push('\n');
            }
        }
    }
    page
}

fn title(file: &Filed, content: &Content) -> String {
    let n = content.entries.len() as u64;
    let measured = content.measured.as_ref().map(|measured| {
        let sampled = match measured.sample_interval {
            0 | 1 => "exact".to_owned(),
            interval => format!("sampled every {}", bytes(to_f64(interval))),
        };
        let iterations = measured.per.count(measured.iterations);
        let profile = match measured.profile.as_str() {
            "" => String::new(),
            profile => safe_line(profile) + ", ",
        };
        format!(" ({profile}{iterations}, {sampled})")
    });
    let measured = measured.unwrap_or_default();
    format!(
        "{}: {}{measured}\n",
        shown(&file.path),
        plural(n, "allowance", "allowances")
    )
}

fn about(entry: &Entry, content: &Content, shelf: &Shelf) -> String {
    let allowance = &entry.allowance;
    let measured = content.measured.as_ref();
    let per = measured.map_or(&Per::Iteration, |measured| &measured.per);
    let mut lines = vec![format!(
        "allows {} per {}, {}",
        entry.said(allowance.rate),
        per.one(),
        allowance.law
    )];
    lines.push(match entry.need {
        None => "needs: unknown, no result of it in the newest run".to_owned(),
        Some(need) if need.is_none() => "needs nothing any more".to_owned(),
        Some(need) => {
            let is_exact = need.error == Rate::default();
            let off = (!is_exact).then_some(need.error.bytes);
            let needs = entry.said(need.rate);
            format!("needs {needs}{}", give_or_take(off, bytes))
        }
    });
    let reason = allowance
        .reason
        .as_deref()
        .map_or("none".to_owned(), safe_line);
    lines.push(format!("reason: {reason}"));
    let issue = allowance.issue.as_deref().map(safe_line);
    lines.extend(issue.map(|issue| format!("issue: {issue}")));
    if let (Some(last), Some(days)) = (allowance.expires, entry.days_left(shelf.today)) {
        lines.push(match days {
            ..0 => format!("expired: its last day was {last}"),
            _ => format!("expires: {last}, in {}", number_of_days(days)),
        });
    }
    lines.push(match entry.changed {
        None => "age: unknown, not committed".to_owned(),
        Some(day) => {
            let age = number_of_days(day.days_until(shelf.today).max(0));
            format!("age: {age}, unchanged since {day}")
        }
    });
    lines.iter().map(|line| format!("    {line}\n")).collect()
}

fn number_of_days(days: i64) -> String {
    plural(days.unsigned_abs(), "day", "days")
}

/// Returns a summary such as `2 baselines, 3 allowances: 1 error, 2 warnings`.
pub(super) fn summary(shelf: &Shelf, problems: &[Problem]) -> String {
    let files = shelf.files().count() as u64;
    let contents = shelf.files().filter_map(|file| file.content.as_ref().ok());
    let allowances: usize = contents.map(|content| content.entries.len()).sum();
    let of = |level: Level| {
        let found = problems.iter().filter(|problem| problem.level == level);
        let n = found.count() as u64;
        let word = level.as_str();
        (n > 0).then(|| plural(n, word, &format!("{word}s")))
    };
    let found = [Level::Error, Level::Warning].into_iter().filter_map(of);
    let found: Vec<String> = found.collect();
    let found = match found.is_empty() {
        true => String::new(),
        false => format!(": {}", found.join(", ")),
    };
    format!(
        "{}, {}{found}\n",
        plural(files, "baseline", "baselines"),
        plural(allowances as u64, "allowance", "allowances")
    )
}
