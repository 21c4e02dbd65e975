//! Edits a baseline's text, so that what people wrote in it stays.

use std::collections::BTreeMap;

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, RawString, Table, TableLike, Value};

use super::error::quoted;
use super::parse;
use super::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, BaselineError, BaselineErrorKind,
    Date, MAX_RATE, MeasuredWith, PatternFrame, StackPattern, absorb, round_up,
};
use crate::Rate;
use crate::fold::normalize_frame;

const NEW_FILE: &str = "\
# What this scenario may grow per iteration, as agreed with `plimsoll accept`.
format = 1
";

/// The text of a baseline after `accepted` was agreed to.
///
/// `existing` is the file's text, if there is one. An allowance for exactly the
/// same subject takes the new rate and law where it stands; new ones follow at
/// the end, in the order of their subjects. Comments, order, reasons and the
/// layout of whatever does not change stay as they are. Rates are rounded by
/// [`round_up`]. The same again changes nothing.
///
/// # Errors
///
/// Where `existing` cannot be read (a file of a newer format is not written
/// over), or the result could not be: a rate that is no number, a frame that a
/// file cannot name, more than its limits allow.
pub fn update(existing: Option<&str>, accepted: &Acceptance) -> Result<String, BaselineError> {
    let text = existing.unwrap_or(NEW_FILE);
    let written = parse::read(text.as_bytes())?;
    let mut document: DocumentMut = text.parse().map_err(|err: toml_edit::TomlError| {
        BaselineError::new(None, BaselineErrorKind::Syntax(err.message().to_owned()))
    })?;

    if let Some(measured) = &accepted.measured {
        set_measured(&mut document, measured)?;
    }
    let mut at: BTreeMap<AllowanceSubject, Vec<usize>> = BTreeMap::new();
    for (index, allowance) in written.allowances.into_iter().enumerate() {
        at.entry(allowance.subject).or_default().push(index);
    }
    let mut doubled = Vec::new();
    for accepted in by_subject(&accepted.allowances)?.into_values() {
        match at.get(&accepted.allowance.subject).map(Vec::as_slice) {
            None | Some([]) => append(&mut document, &accepted.allowance),
            Some([first, others @ ..]) => {
                if let Some(table) = tables(&mut document).get_mut(*first) {
                    set_allowance(table, &accepted);
                }
                // They would add to what is agreed to now.
                doubled.extend(others.iter().map(|other| (*other, *first)));
            }
        }
    }
    remove_doubled(&mut document, doubled);

    let mut updated = document.to_string();
    if has_crlf_alone(text) {
        // The parser reads either and keeps neither.
        updated = updated.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    Baseline::parse(updated.as_bytes())?;
    Ok(updated)
}

/// One for each subject, with frames as [`crate::fold`] names them today and
/// rates as they will stand in the file.
fn by_subject(
    accepted: &[Accepted],
) -> Result<BTreeMap<AllowanceSubject, Accepted>, BaselineError> {
    let mut by_subject: BTreeMap<AllowanceSubject, Accepted> = BTreeMap::new();
    for accepted in accepted {
        let mut accepted = accepted.clone();
        accepted.allowance.subject = writable(accepted.allowance.subject)?;
        match by_subject.get_mut(&accepted.allowance.subject) {
            None => drop(by_subject.insert(accepted.allowance.subject.clone(), accepted)),
            Some(first) => {
                first.expired |= accepted.expired;
                absorb(&mut first.allowance, accepted.allowance);
            }
        }
    }
    for accepted in by_subject.values_mut() {
        let Rate { objects, bytes } = accepted.allowance.rate;
        accepted.allowance.rate = Rate {
            objects: rounded("objects", objects)?,
            bytes: rounded("bytes", bytes)?,
        };
    }
    Ok(by_subject)
}

fn writable(subject: AllowanceSubject) -> Result<AllowanceSubject, BaselineError> {
    let AllowanceSubject::Stack(pattern) = subject else {
        return Ok(subject);
    };
    let frames = pattern.frames().iter().map(|frame| match frame {
        PatternFrame::Any => Ok(PatternFrame::Any),
        // In a file it would be a run of frames, and allow more than was agreed.
        PatternFrame::Frame(name) if normalize_frame(name) == PatternFrame::ANY => {
            Err(unexpected("stack", "a frame's name", name))
        }
        PatternFrame::Frame(name) => Ok(PatternFrame::Frame(normalize_frame(name))),
    });
    Ok(AllowanceSubject::Stack(StackPattern::new(
        frames.collect::<Result<Vec<_>, _>>()?,
    )))
}

fn rounded(key: &str, rate: f64) -> Result<f64, BaselineError> {
    let expected = format!("a rate from 0 to {MAX_RATE:e}");
    round_up(rate).ok_or_else(|| unexpected(key, &expected, &format!("{rate:?}")))
}

fn unexpected(key: &str, expected: &str, found: &str) -> BaselineError {
    let (key, expected) = (key.to_owned(), expected.to_owned());
    let found = format!("`{}`", quoted(found));
    BaselineError::new(
        None,
        BaselineErrorKind::Unexpected {
            key,
            expected,
            found,
        },
    )
}

fn has_crlf_alone(text: &str) -> bool {
    let returns = text.matches("\r\n").count();
    returns > 0 && returns == text.matches('\n').count()
}

fn set_measured(document: &mut DocumentMut, measured: &MeasuredWith) -> Result<(), BaselineError> {
    let MeasuredWith {
        target,
        profile,
        toolchain,
        jemalloc,
        sample_interval,
        iterations,
    } = measured;
    let root = document.as_table_mut();
    if !root.contains_key("measured") {
        let mut table = Table::new();
        // Before the first `[[allow]]` of a file that had none of this.
        table.set_position(Some(0));
        root.insert("measured", Item::Table(table));
    }
    let Some(table) = root.get_mut("measured").and_then(Item::as_table_like_mut) else {
        return Ok(()); // `read` has refused it.
    };
    set(table, "target", target.as_str().into());
    set(table, "profile", profile.as_str().into());
    set(table, "toolchain", toolchain.as_str().into());
    set(table, "jemalloc", jemalloc.as_str().into());
    set(
        table,
        "sample-interval",
        count("sample-interval", *sample_interval)?,
    );
    set(table, "iterations", count("iterations", *iterations)?);
    Ok(())
}

fn count(key: &str, count: u64) -> Result<Value, BaselineError> {
    let whole = i64::try_from(count);
    whole
        .map(Value::from)
        .map_err(|_| unexpected(key, "a 63-bit number", &count.to_string()))
}

/// The tables `[[allow]]`, also where there are none yet.
fn tables(document: &mut DocumentMut) -> &mut ArrayOfTables {
    let item = document
        .as_table_mut()
        .entry("allow")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if !item.is_array_of_tables() {
        // `read` has refused it.
        *item = Item::ArrayOfTables(ArrayOfTables::new());
    }
    match item {
        Item::ArrayOfTables(tables) => tables,
        _ => unreachable!("it was just made one"),
    }
}

fn append(document: &mut DocumentMut, allowance: &Allowance) {
    let mut table = Table::new();
    match &allowance.subject {
        AllowanceSubject::Stack(pattern) => set(&mut table, "stack", stack(pattern).into()),
        AllowanceSubject::Threads | AllowanceSubject::Descriptors => {
            let word = allowance.subject.resource().unwrap_or_default();
            set(&mut table, "resource", word.into());
        }
    }
    set_allowance(
        &mut table,
        &Accepted {
            allowance: allowance.clone(),
            expired: false,
        },
    );
    // What stands at the end of the file stays before what is added.
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    if !trailing.trim().is_empty() {
        let gap = if trailing.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        table.decor_mut().set_prefix(format!("{trailing}{gap}"));
        document.set_trailing("");
    }
    tables(document).push(table);
}

/// One frame on each line, so that a change is one line of a diff.
fn stack(pattern: &StackPattern) -> Array {
    let mut array = Array::new();
    for frame in pattern.frames() {
        array.push_formatted(Value::from(frame.as_str()).decorated("\n    ", ""));
    }
    if !array.is_empty() {
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    array
}

fn set_allowance(table: &mut Table, accepted: &Accepted) {
    let Allowance {
        subject,
        rate,
        law,
        reason,
        issue,
        expires,
    } = &accepted.allowance;
    set(table, "objects", rate.objects.into());
    if subject.resource().is_none() {
        set(table, "bytes", rate.bytes.into());
    }
    set(table, "law", law.as_str().into());
    if let Some(reason) = reason {
        set(table, "reason", reason.as_str().into());
    }
    if let Some(issue) = issue {
        set(table, "issue", issue.as_str().into());
    }
    if accepted.expired && expires.is_none() {
        table.remove("expires");
    }
    if let Some(expires) = expires {
        set_expires(table, *expires);
    }
}

fn set_expires(table: &mut Table, date: Date) {
    // As a day of TOML's own, and as a string where a person wrote one.
    let written = table.get("expires").and_then(Item::as_value);
    if written.is_some_and(Value::is_str) {
        return set(table, "expires", date.to_string().into());
    }
    let date = toml_edit::Date {
        year: date.year(),
        month: date.month(),
        day: date.day(),
    };
    set(
        table,
        "expires",
        toml_edit::Datetime {
            date: Some(date),
            time: None,
            offset: None,
        }
        .into(),
    );
}

/// Sets a key where it differs, keeping the comment that follows it.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        None => drop(table.insert(key, Item::Value(value))),
        Some(written) if same(written, &value) => {}
        Some(written) => {
            *value.decor_mut() = written.decor().clone();
            *written = value;
        }
    }
}

/// Whether two values mean the same, however they are written.
fn same(written: &Value, value: &Value) -> bool {
    match (written, value) {
        (Value::String(one), Value::String(two)) => one.value() == two.value(),
        (Value::Integer(one), Value::Integer(two)) => one.value() == two.value(),
        (Value::Float(one), Value::Float(two)) => one.value().total_cmp(two.value()).is_eq(),
        #[expect(
            clippy::cast_precision_loss,
            reason = "rates are below 2^53, where all are exact"
        )]
        (Value::Integer(one), Value::Float(two)) => {
            (*one.value() as f64).total_cmp(two.value()).is_eq()
        }
        (Value::Datetime(one), Value::Datetime(two)) => one.value() == two.value(),
        _ => false,
    }
}

/// Removes allowances that are in another one now, given as (index, index of
/// that other one). Their comments go above it, their words into it where it
/// has none.
fn remove_doubled(document: &mut DocumentMut, mut doubled: Vec<(usize, usize)>) {
    doubled.sort_unstable();
    let mut moved: BTreeMap<usize, String> = BTreeMap::new();
    for (index, first) in &doubled {
        let tables = tables(document);
        let Some(table) = tables.get(*index).cloned() else {
            continue;
        };
        moved.entry(*first).or_default().push_str(&comments(&table));
        let Some(first) = tables.get_mut(*first) else {
            continue;
        };
        for key in ["reason", "issue"] {
            if let (None, Some(item)) = (first.get(key), table.get(key)) {
                let words = item.as_str().unwrap_or_default().to_owned();
                set(first, key, words.into());
            }
        }
    }
    for (first, comments) in moved {
        if let Some(first) = tables(document).get_mut(first) {
            let above = first
                .decor()
                .prefix()
                .and_then(RawString::as_str)
                .unwrap_or("\n");
            let prefix = format!("{above}{comments}");
            first.decor_mut().set_prefix(prefix);
        }
    }
    for (index, _) in doubled.iter().rev() {
        drop(tables(document).remove(*index));
    }
}

/// Every comment of an allowance, on lines of their own.
fn comments(table: &Table) -> String {
    // As text: the document keeps comments in half a dozen places. Strings are
    // emptied, lest one of them have a line that looks like a comment.
    let mut table = table.clone();
    for (_, item) in table.iter_mut() {
        match item.as_value_mut() {
            Some(Value::Array(array)) => array.iter_mut().for_each(empty),
            Some(value) => empty(value),
            None => {}
        }
    }
    let above = table
        .decor()
        .prefix()
        .and_then(RawString::as_str)
        .unwrap_or_default();
    let beside = table
        .decor()
        .suffix()
        .and_then(RawString::as_str)
        .unwrap_or_default();
    let text = format!("{above}{beside}\n{table}");
    let comments = text
        .lines()
        .filter_map(|line| line.find('#').map(|at| &line[at..]));
    comments.flat_map(|comment| [comment, "\n"]).collect()
}

fn empty(value: &mut Value) {
    let decor = value.decor().clone();
    *value = Value::from("");
    *value.decor_mut() = decor;
}
