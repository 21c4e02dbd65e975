//! Edits the text of a baseline, and keeps what people wrote in it.

use std::collections::BTreeSet;

use toml::de::DeValue;

use super::text::{Draft, Place, Section, Sections, Value};
use super::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, BaselineError, MAX_RATE,
    MeasuredWith, PatternFrame, StackPattern, absorb, round_up,
};
use super::{frames, parse};
use crate::growth::Unit;
use crate::toml_file::{self, quoted};
use crate::{Per, Rate, Resource, SmallMap};

fn new_file(per: &Per) -> String {
    format!(
        "# What this scenario may grow per {}, as agreed with `plimsoll accept`.\nformat = 1\n",
        per.as_str()
    )
}

/// Returns the text of a baseline after `accepted` was accepted.
///
/// `existing` is the file's text, if there is a file. The edits are these:
///
/// - An allowance for exactly the same subject stays in its place and gets the new rate and
///   law.
/// - A new allowance is inserted before the first one with a greater subject. So two
///   allowances that are accepted on two branches rarely meet on one line.
/// - An allowance that moved stays in its place and gets the new stack, unless the file has an
///   allowance for that stack already.
/// - An allowance that is removed goes together with the comment right above it. The file
///   stays, even without any allowance.
///
/// Comments, order, reasons and the layout of everything else stay as they are. Rates are
/// rounded by [`round_up`]. The same update again changes nothing.
///
/// # Errors
///
/// If `existing` cannot be read (a file of a newer format is not overwritten), if its rates are
/// per something else, or if the result could not be read: a rate that is no number, a frame that
/// a file cannot name, more than the limits allow.
pub fn update(existing: Option<&str>, accepted: &Acceptance) -> Result<String, BaselineError> {
    let measured = accepted.measured.as_ref();
    let per = measured.map_or(&Per::Iteration, |measured| &measured.per);
    let before = existing.map_or_else(|| new_file(per), str::to_owned);
    let is_crlf = has_crlf_alone(&before);
    let mut text = before.replace("\r\n", "\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let written = parse::read(text.as_bytes())?;
    if measured.is_some() {
        Baseline::parse(text.as_bytes())?.check_per(per)?;
    }
    let document = toml_file::parse(&text)
        .map_err(|error| BaselineError::new(error.line, "not TOML", error.message))?;
    let mut sections = Sections::of(&text, &document);
    let mut draft = Draft::of(&text);

    if let Some(measured) = measured {
        set_measured(&mut draft, &mut sections, measured)?;
    }
    let mut at: SmallMap<AllowanceSubject, Vec<usize>> = SmallMap::default();
    for (index, allowance) in written.allowances.iter().enumerate() {
        let subject = allowance.subject.clone();
        at.or_default(subject).push(index);
    }
    let agreed = by_subject(&accepted.allowances)?;
    let (moved, removed) = settled(accepted, &agreed, &at)?;
    let mut doubled = Vec::new();
    for (from, to) in &moved {
        let Some([first, others @ ..]) = at.get(from).map(Vec::as_slice) else {
            continue;
        };
        let section = &mut sections.allowances[*first];
        if let Some(stack) = section.get("stack")
            && let Some(array) = stack.get_ref().as_array()
        {
            frames::rewrite(&mut draft, stack.span().start, array, to);
        }
        // Other allowances that add up to this one would have the old stack twice.
        if !others.is_empty() {
            let mut allowance = written.allowances[*first].clone();
            for other in others {
                absorb(&mut allowance, written.allowances[*other].clone());
            }
            set_allowance(&mut draft, section, &allowance);
            doubled.extend(others.iter().map(|other| (*other, *first)));
        }
    }
    for accepted in agreed {
        match at.get(&accepted.allowance.subject).map(Vec::as_slice) {
            None | Some([]) => add(&mut draft, &sections, &accepted.allowance, &at),
            Some([first, others @ ..]) => {
                let section = &mut sections.allowances[*first];
                if accepted.expired && accepted.allowance.expires.is_none() {
                    draft.unset(section, "expires");
                }
                set_allowance(&mut draft, section, &accepted.allowance);
                // The others would add to what is accepted now.
                doubled.extend(others.iter().map(|other| (*other, *first)));
            }
        }
    }
    doubled.sort_unstable();
    for (index, first) in doubled {
        keep_words(&mut draft, &mut sections.allowances, index, first);
        draft.remove(&sections.allowances[index]);
    }
    let removed = removed.iter().filter_map(|subject| at.get(subject));
    for index in removed.flatten() {
        draft.remove(&sections.allowances[*index]);
    }

    let Some(mut updated) = draft.finish() else {
        return Ok(before);
    };
    if is_crlf {
        updated = updated.replace('\n', "\r\n");
    }
    Baseline::parse(updated.as_bytes())?;
    Ok(updated)
}

/// Returns one accepted allowance for each subject, in the order of subjects. Frames are named as [`crate::fold`] names
/// them today, and rates are as they will be in the file.
fn by_subject(accepted: &[Accepted]) -> Result<Vec<Accepted>, BaselineError> {
    let mut by_subject: Vec<Accepted> = Vec::new();
    for accepted in accepted {
        let mut accepted = accepted.clone();
        accepted.allowance.subject = accepted.allowance.subject.as_named_today()?;
        if let AllowanceSubject::Stack(pattern) = &accepted.allowance.subject
            && let Some(program) = pattern.frames().iter().find(|frame| is_program(frame))
        {
            let detail = format!(
                "expected functions, found `{}`, which cargo calls otherwise in another build",
                quoted(program.as_str())
            );
            return Err(
                BaselineError::new(None, "a stack without names", detail).hint(
                    "the build was stripped: set `strip = false` in the profile in Cargo.toml, \
                     measure and accept again",
                ),
            );
        }
        let subject = &accepted.allowance.subject;
        match by_subject.binary_search_by(|one| one.allowance.subject.cmp(subject)) {
            Err(place) => by_subject.insert(place, accepted),
            Ok(place) => {
                let first = &mut by_subject[place];
                first.expired |= accepted.expired;
                absorb(&mut first.allowance, accepted.allowance);
            }
        }
    }
    for accepted in &mut by_subject {
        let Rate { objects, bytes } = accepted.allowance.rate;
        accepted.allowance.rate = Rate {
            objects: rounded("objects", objects)?,
            bytes: rounded("bytes", bytes)?,
        };
    }
    Ok(by_subject)
}

/// The stack that each subject gets instead of its own, in the order of subjects.
type Moves = Vec<(AllowanceSubject, StackPattern)>;

/// Returns what moves and what is removed. A move is left out in these cases, because
/// allowances would add up to more than anybody accepted:
///
/// - One of its ends is accepted on its own.
/// - One of its ends is the old end of one move and the new end of another.
/// - Its new end is in the file already, or is the new end of an earlier move.
fn settled(
    accepted: &Acceptance,
    agreed: &[Accepted],
    at: &SmallMap<AllowanceSubject, Vec<usize>>,
) -> Result<(Moves, BTreeSet<AllowanceSubject>), BaselineError> {
    let exact = |stack| AllowanceSubject::Stack(StackPattern::exact(stack)).as_named_today();
    let is_agreed = |subject: &AllowanceSubject| {
        let mut agreed = agreed.iter();
        agreed.any(|one| one.allowance.subject == *subject)
    };
    let mut moves = BTreeSet::new();
    for moved in &accepted.moved {
        moves.insert((exact(&moved.from)?, exact(&moved.to)?));
    }
    let (old, new): (BTreeSet<_>, BTreeSet<_>) = moves.iter().cloned().unzip();
    let mut taken = BTreeSet::new();
    let mut settled: Moves = Vec::new();
    for (from, to) in moves {
        let is_both = |end| old.contains(end) && new.contains(end);
        let is_apart = |end| !(is_agreed(end) || is_both(end));
        let is_possible = at.get(&from).is_some() && at.get(&to).is_none();
        let is_settled = settled.last().is_some_and(|(last, _)| *last == from);
        if !(is_possible && is_apart(&from) && is_apart(&to)) || is_settled {
            continue;
        }
        if let (true, AllowanceSubject::Stack(pattern)) = (taken.insert(to.clone()), to) {
            settled.push((from, pattern));
        }
    }
    let mut removed = BTreeSet::new();
    for subject in &accepted.removed {
        let subject = subject.as_named_today()?;
        if !is_agreed(&subject) && !old.contains(&subject) && !new.contains(&subject) {
            removed.insert(subject);
        }
    }
    Ok((settled, removed))
}

/// Returns whether the frame is a program built by cargo, such as `leaks-0d41d9de727c60ea`,
/// and not a function.
fn is_program(frame: &PatternFrame) -> bool {
    let hash = frame.as_str().rsplit_once('-').map_or("", |(_, hash)| hash);
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    hash.len() == 16 && hash.bytes().all(is_hex) && !frame.as_str().contains("::")
}

fn rounded(key: &str, rate: f64) -> Result<f64, BaselineError> {
    let expected = format!("a rate from 0 to {MAX_RATE:e}");
    round_up(rate).ok_or_else(|| BaselineError::of_value(key, &expected, &format!("{rate:?}")))
}

fn has_crlf_alone(text: &str) -> bool {
    let returns = text.matches("\r\n").count();
    returns > 0 && returns == text.matches('\n').count()
}

fn set_measured<'a>(
    draft: &mut Draft<'a>,
    sections: &mut Sections<'a>,
    measured: &MeasuredWith,
) -> Result<(), BaselineError> {
    let count = |key: &'static str, count: u64| {
        let whole = i64::try_from(count);
        let refused = |_| BaselineError::of_value(key, "a 63-bit number", &count.to_string());
        Ok((key, whole.map(Value::Count).map_err(refused)?))
    };
    let is_of_test = measured.per.is_iteration();
    let texts = [
        ("per", measured.per.as_str()),
        ("target", &measured.target),
        ("profile", &measured.profile),
        ("toolchain", &measured.toolchain),
        ("jemalloc", &measured.jemalloc),
    ];
    let is_said = |(key, text): &(&str, &str)| match is_of_test {
        true => *key != "per",
        false => !text.is_empty(),
    };
    let texts = texts.into_iter().filter(is_said);
    let mut values: Vec<(&'static str, Value)> =
        texts.map(|(key, text)| (key, Value::Text(text))).collect();
    values.push(count("sample-interval", measured.sample_interval)?);
    let iterations = count("iterations", measured.iterations)?;
    let test = measured.test.as_deref();
    let test = test.map(|test| ("test", Value::Text(test)));

    let Some(section) = &mut sections.measured else {
        let values = test.into_iter().chain(values).chain([iterations]);
        let table = table("[measured]", values);
        draft.insert(sections.root, Place::Table, table);
        return Ok(());
    };
    if let Some((key, test)) = test {
        draft.set(section, key, test);
    }
    let mut is_other = is_of_test && draft.unset(section, "per");
    for (key, value) in values {
        is_other |= draft.set(section, key, value);
    }
    // Iterations differ from run to run, and must not be the only reason for a merge conflict
    // between two branches.
    if is_other || !section.has("iterations") {
        draft.set(section, iterations.0, iterations.1);
    }
    Ok(())
}

/// Returns the text of a new table.
fn table<'a>(header: &str, values: impl IntoIterator<Item = (&'static str, Value<'a>)>) -> String {
    let values = values.into_iter();
    let lines: String = values
        .map(|(key, value)| format!("{key} = {}\n", value.written()))
        .collect();
    format!("\n{header}\n{lines}")
}

/// Adds an allowance. `at` has the places of the file's allowances among its tables.
fn add(
    draft: &mut Draft,
    sections: &Sections,
    allowance: &Allowance,
    at: &SmallMap<AllowanceSubject, Vec<usize>>,
) {
    let subject = match &allowance.subject {
        AllowanceSubject::Stack(pattern) => format!("stack = {}", frames::written(pattern)),
        AllowanceSubject::Resource(resource) => {
            format!("resource = {}", Value::Text(resource.as_str()).written())
        }
    };
    let values = values(allowance, allowance.bytes_law != allowance.law);
    let table = table(&format!("[[allow]]\n{subject}"), values);
    let all = at.iter();
    let greater = all.filter(|(subject, _)| *subject > allowance.subject);
    let greater = greater.flat_map(|(_, at)| at);
    let greater = greater.map(|index| &sections.allowances[*index]);
    let end = sections.end();
    let place = match greater.min_by_key(|section| section.header) {
        Some(next) => next.above,
        // Comments at the end of the file stay before the table that is added.
        None if !draft.text[end..].trim().is_empty() => draft.text.len(),
        None => end,
    };
    draft.insert(place, Place::Table, table);
}

/// Returns the keys of an allowance that are not its subject, in their order.
fn values(allowance: &Allowance, has_bytes_law: bool) -> Vec<(&'static str, Value<'_>)> {
    let unit = allowance.subject.resource().map(Resource::unit);
    let text = |text: &'static str| Some(Value::Text(text));
    let Rate { objects, bytes } = allowance.rate;
    let values = [
        (
            "objects",
            (unit != Some(Unit::Bytes)).then_some(Value::Number(objects)),
        ),
        (
            "bytes",
            (unit != Some(Unit::Objects)).then_some(Value::Number(bytes)),
        ),
        ("law", text(allowance.law.as_str())),
        (
            "bytes-law",
            text(allowance.bytes_law.as_str()).filter(|_| has_bytes_law),
        ),
        ("reason", allowance.reason.as_deref().map(Value::Text)),
        ("issue", allowance.issue.as_deref().map(Value::Text)),
        ("expires", allowance.expires.map(Value::Day)),
    ];
    let values = values.into_iter();
    values
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

fn set_allowance<'a>(draft: &mut Draft<'a>, section: &mut Section<'a>, allowance: &Allowance) {
    // An existing key may have a comment, so it stays.
    let has_bytes_law = allowance.bytes_law != allowance.law || section.has("bytes-law");
    for (key, value) in values(allowance, has_bytes_law) {
        let written = section.get(key).map(|item| item.get_ref());
        match (value, written) {
            // The date is written as a TOML date, or as a string if a person wrote a string.
            (Value::Day(day), Some(DeValue::String(_))) => {
                draft.set(section, key, Value::Text(&day.to_string()))
            }
            _ => draft.set(section, key, value),
        };
    }
}

/// Moves comments and words out of an allowance that is now part of another one. Comments go above
/// the other one. Its reason and issue are set if it has none.
fn keep_words<'a>(draft: &mut Draft<'a>, sections: &mut [Section<'a>], index: usize, first: usize) {
    for key in ["reason", "issue"] {
        let words = sections[index].get(key);
        let words = words.and_then(|item| item.get_ref().as_str());
        if let (false, Some(words)) = (sections[first].has(key), words) {
            draft.set(&mut sections[first], key, Value::Text(words));
        }
    }
    let comments = sections[index].comments(draft.text);
    draft.insert(sections[first].header, Place::Above, comments);
}
