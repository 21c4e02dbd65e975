//! Edits the text of a baseline, and keeps what people wrote in it.

use std::collections::BTreeSet;

use toml_edit::{ArrayOfTables, DocumentMut, Item, RawString, Table, TableLike, Value};

use super::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, BaselineError, Date, MAX_RATE,
    MeasuredWith, PatternFrame, StackPattern, absorb, round_up,
};
use super::{frames, parse};
use crate::growth::Unit;
use crate::toml::quoted;
use crate::{Per, Rate, Resource, SmallMap, to_f64};

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
/// per something else, or if the result could not be read: a rate that is no number, a frame that a file cannot name, more
/// than the limits allow.
pub fn update(existing: Option<&str>, accepted: &Acceptance) -> Result<String, BaselineError> {
    let measured = accepted.measured.as_ref();
    let per = measured.map_or(&Per::Iteration, |measured| &measured.per);
    let text = &existing.map_or_else(|| new_file(per), str::to_owned);
    let written = parse::read(text.as_bytes())?;
    if measured.is_some() {
        Baseline::parse(text.as_bytes())?.check_per(per)?;
    }
    let mut document: DocumentMut = text
        .parse()
        .map_err(|err: toml_edit::TomlError| BaselineError::new(None, "not TOML", err.message()))?;

    if let Some(measured) = measured {
        set_measured(&mut document, measured)?;
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
        let Some(table) = tables(&mut document).get_mut(*first) else {
            continue;
        };
        if let Some(array) = table.get_mut("stack").and_then(Item::as_array_mut) {
            frames::rewrite(array, to);
        }
        // Other allowances that add up to this one would have the old stack twice.
        if !others.is_empty() {
            let mut allowance = written.allowances[*first].clone();
            for other in others {
                absorb(&mut allowance, written.allowances[*other].clone());
            }
            set_allowance(table, &allowance);
            doubled.extend(others.iter().map(|other| (*other, *first)));
        }
    }
    let removed = removed.iter().filter_map(|subject| at.get(subject));
    let mut gone: BTreeSet<usize> = removed.flatten().copied().collect();
    hand_on_comments(&mut document, &gone);
    space_out(&mut document);
    for accepted in agreed {
        match at.get(&accepted.allowance.subject).map(Vec::as_slice) {
            None | Some([]) => add(&mut document, &accepted.allowance, &at),
            Some([first, others @ ..]) => {
                if let Some(table) = tables(&mut document).get_mut(*first) {
                    if accepted.expired && accepted.allowance.expires.is_none() {
                        table.remove("expires");
                    }
                    set_allowance(table, &accepted.allowance);
                }
                // The others would add to what is accepted now.
                doubled.extend(others.iter().map(|other| (*other, *first)));
            }
        }
    }
    gone.extend(doubled.iter().map(|(index, _)| *index));
    keep_words(&mut document, doubled);
    for index in gone.into_iter().rev() {
        drop(tables(&mut document).remove(index));
    }

    let mut updated = document.to_string();
    if has_crlf_alone(text) {
        // The parser reads both line ends, and keeps neither.
        updated = updated.replace("\r\n", "\n").replace('\n', "\r\n");
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

fn set_measured(document: &mut DocumentMut, measured: &MeasuredWith) -> Result<(), BaselineError> {
    let root = document.as_table_mut();
    if !root.contains_key("measured") {
        let mut table = Table::new();
        // This puts the table before the first `[[allow]]` of a file that had no `[measured]`.
        table.set_position(Some(0));
        root.insert("measured", Item::Table(table));
    }
    let Some(table) = root.get_mut("measured").and_then(Item::as_table_like_mut) else {
        return Ok(()); // `read` has refused it.
    };
    if let Some(test) = &measured.test {
        set(table, "test", test.into());
    }
    let texts = [
        ("per", measured.per.as_str()),
        ("target", &measured.target),
        ("profile", &measured.profile),
        ("toolchain", &measured.toolchain),
        ("jemalloc", &measured.jemalloc),
    ];
    let is_of_test = measured.per.is_iteration();
    let is_said = |(key, text): &(&str, &str)| match is_of_test {
        true => *key != "per",
        false => !text.is_empty(),
    };
    let mut is_other = is_of_test && table.remove("per").is_some();
    for (key, text) in texts.into_iter().filter(is_said) {
        is_other |= set(table, key, Value::from(text));
    }
    let interval = count("sample-interval", measured.sample_interval)?;
    is_other |= set(table, "sample-interval", interval);
    // Iterations differ from run to run, and must not be the only reason for a merge conflict
    // between two branches.
    if is_other || !table.contains_key("iterations") {
        let iterations = count("iterations", measured.iterations)?;
        set(table, "iterations", iterations);
    }
    Ok(())
}

fn count(key: &str, count: u64) -> Result<Value, BaselineError> {
    let whole = i64::try_from(count).map(Value::from);
    whole.map_err(|_| BaselineError::of_value(key, "a 63-bit number", &count.to_string()))
}

/// Returns the `[[allow]]` tables; makes an empty list if there are none.
fn tables(document: &mut DocumentMut) -> &mut ArrayOfTables {
    let item = document.as_table_mut().entry("allow");
    let item = item.or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match item {
        Item::ArrayOfTables(tables) => tables,
        _ => unreachable!("`read` has refused it"),
    }
}

/// Adds an allowance to a document whose tables are spaced out, see [`space_out`]. `at` has
/// the places of the file's allowances among its tables.
fn add(
    document: &mut DocumentMut,
    allowance: &Allowance,
    at: &SmallMap<AllowanceSubject, Vec<usize>>,
) {
    let mut table = Table::new();
    match &allowance.subject {
        AllowanceSubject::Stack(pattern) => {
            set(&mut table, "stack", frames::written(pattern).into());
        }
        AllowanceSubject::Resource(resource) => {
            set(&mut table, "resource", resource.as_str().into());
        }
    }
    set_allowance(&mut table, allowance);
    let all = at.iter();
    let greater = all.filter(|(subject, _)| *subject > allowance.subject);
    let greater = greater.flat_map(|(_, at)| at);
    let positions = greater.filter_map(|index| tables(document).get(*index)?.position());
    if let Some(before) = positions.min() {
        // Tables with the same position are written in the order of the list.
        table.set_position(Some(before - 1));
        tables(document).push(table);
        return;
    }
    // Comments at the end of the file stay before the table that is added.
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    if !trailing.trim().is_empty() {
        let end = if trailing.ends_with('\n') { "" } else { "\n" };
        table.decor_mut().set_prefix(format!("{trailing}{end}\n"));
        document.set_trailing("");
    }
    // This puts it behind `[measured]`, even if no other allowance is left.
    table.set_position(Some(isize::MAX));
    tables(document).push(table);
}

/// Doubles all positions, which leaves room for one more right before each table.
fn space_out(document: &mut DocumentMut) {
    for (_, item) in document.iter_mut() {
        let tables: Vec<&mut Table> = match item {
            Item::Table(table) => vec![table],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            _ => Vec::new(),
        };
        for table in tables {
            let twice = table.position().map(|position| position.saturating_mul(2));
            table.set_position(twice);
        }
    }
}

fn set_allowance(table: &mut Table, allowance: &Allowance) {
    let (law, bytes_law) = (allowance.law, allowance.bytes_law);
    let unit = allowance.subject.resource().map(Resource::unit);
    if unit != Some(Unit::Bytes) {
        set(table, "objects", allowance.rate.objects.into());
    }
    if unit != Some(Unit::Objects) {
        set(table, "bytes", allowance.rate.bytes.into());
    }
    set(table, "law", law.as_str().into());
    // An existing key may have a comment, so it stays.
    if bytes_law != law || table.contains_key("bytes-law") {
        set(table, "bytes-law", bytes_law.as_str().into());
    }
    for (key, words) in [("reason", &allowance.reason), ("issue", &allowance.issue)] {
        if let Some(words) = words {
            set(table, key, words.into());
        }
    }
    if let Some(expires) = allowance.expires {
        set_expires(table, expires);
    }
}

fn set_expires(table: &mut Table, date: Date) {
    // The date is written as a TOML date, or as a string if a person wrote a string.
    let text = date.to_string();
    let date = match table.get("expires").is_some_and(Item::is_str) {
        true => None,
        false => text.parse::<toml_edit::Datetime>().ok(),
    };
    set(table, "expires", date.map_or(text.into(), Value::from));
}

/// Sets a key if its value differs, and keeps the comment that follows it. Returns whether the
/// value differed.
fn set(table: &mut dyn TableLike, key: &str, mut value: Value) -> bool {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        None => drop(table.insert(key, Item::Value(value))),
        Some(written) if same(written, &value) => return false,
        Some(written) => {
            *value.decor_mut() = written.decor().clone();
            *written = value;
        }
    }
    true
}

/// Returns whether two values mean the same, however they are written.
fn same(written: &Value, value: &Value) -> bool {
    match (written, value) {
        (Value::String(one), Value::String(two)) => one.value() == two.value(),
        (Value::Integer(one), Value::Integer(two)) => one.value() == two.value(),
        (Value::Float(one), Value::Float(two)) => one.value().total_cmp(two.value()).is_eq(),
        (Value::Integer(one), Value::Float(two)) => {
            u64::try_from(*one.value()).is_ok_and(|one| to_f64(one).total_cmp(two.value()).is_eq())
        }
        (Value::Datetime(one), Value::Datetime(two)) => one.value() == two.value(),
        _ => false,
    }
}

/// Moves comments and words out of allowances that are now part of another one. `doubled` has
/// pairs of an allowance's place and the place of that other one. Comments go above the other
/// one. Its reason and issue are set if it has none.
fn keep_words(document: &mut DocumentMut, mut doubled: Vec<(usize, usize)>) {
    doubled.sort_unstable();
    for (index, first) in &doubled {
        let tables = tables(document);
        let Some(table) = tables.get(*index).cloned() else {
            continue;
        };
        let Some(first) = tables.get_mut(*first) else {
            continue;
        };
        for key in ["reason", "issue"] {
            if let (None, Some(item)) = (first.get(key), table.get(key)) {
                let words = item.as_str().unwrap_or_default().to_owned();
                set(first, key, words.into());
            }
        }
        let above = first.decor().prefix().and_then(RawString::as_str);
        let prefix = format!("{}{}", above.unwrap_or("\n"), comments(&table));
        first.decor_mut().set_prefix(prefix);
    }
}

/// Moves the comments above an allowance that is removed to what follows it. The comment right
/// above the allowance, and comments inside it, are removed with it.
fn hand_on_comments(document: &mut DocumentMut, gone: &BTreeSet<usize>) {
    for index in gone.iter().rev() {
        let Some(table) = tables(document).get(*index) else {
            continue;
        };
        let position = table.position();
        let Some(comments) = apart(prefix(table)) else {
            continue;
        };
        let joined = |rest: &str| match rest.starts_with('\n') || rest.is_empty() {
            true => format!("{comments}{rest}"),
            // Without the empty line, the comment would belong to the following table.
            false => format!("{comments}\n{rest}"),
        };
        match following(document, position, gone) {
            Some(next) => {
                // A header follows, even if nothing is above it.
                let rest = Some(prefix(next)).filter(|rest| !rest.is_empty());
                let prefix = joined(rest.unwrap_or("\n"));
                next.decor_mut().set_prefix(prefix);
            }
            None => {
                let trailing = joined(document.trailing().as_str().unwrap_or_default());
                document.set_trailing(trailing);
            }
        }
    }
}

/// Returns the first table after a position that is not removed.
fn following<'a>(
    document: &'a mut DocumentMut,
    position: Option<isize>,
    gone: &BTreeSet<usize>,
) -> Option<&'a mut Table> {
    let mut after = Vec::new();
    for (key, item) in document.iter_mut() {
        match item {
            Item::Table(table) => after.push(table),
            Item::ArrayOfTables(tables) if key == "allow" => {
                let tables = tables.iter_mut().enumerate();
                let kept = tables.filter(|(index, _)| !gone.contains(index));
                after.extend(kept.map(|(_, table)| table));
            }
            _ => {}
        }
    }
    after.retain(|table| table.position() > position);
    after.into_iter().min_by_key(|table| table.position())
}

/// Returns the comments above a table that an empty line separates from it.
fn apart(prefix: &str) -> Option<String> {
    // After the last line feed comes the indentation of the header.
    let lines: Vec<&str> = prefix[..prefix.rfind('\n')?].split('\n').collect();
    let is_comment = |line: &&str| line.trim_start().starts_with('#');
    let end = lines.iter().rposition(|line| !is_comment(line))?;
    let comments = lines[..end].join("\n");
    let comments = comments.trim_end();
    (!comments.trim_start().is_empty()).then(|| format!("{comments}\n"))
}

fn prefix(table: &Table) -> &str {
    frames::text(table.decor().prefix())
}

/// Returns every comment of an allowance, each on a line of its own.
fn comments(table: &Table) -> String {
    // This works on the text, because the document keeps comments in half a dozen places.
    // Strings are emptied first, because a string may contain a line that looks like a
    // comment.
    let mut table = table.clone();
    for (_, item) in table.iter_mut() {
        match item.as_value_mut() {
            Some(Value::Array(array)) => array.iter_mut().for_each(empty),
            Some(value) => empty(value),
            None => {}
        }
    }
    let (above, beside) = (prefix(&table), frames::text(table.decor().suffix()));
    let text = format!("{above}{beside}\n{table}");
    let comments = text
        .lines()
        .filter_map(|line| Some(&line[line.find('#')?..]));
    comments.flat_map(|comment| [comment, "\n"]).collect()
}

fn empty(value: &mut Value) {
    let decor = value.decor().clone();
    *value = Value::from("");
    *value.decor_mut() = decor;
}
