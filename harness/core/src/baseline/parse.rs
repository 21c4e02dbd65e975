//! Parses a file's bytes into its allowances, one for each `[[allow]]`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::RangeInclusive;

use toml::de::{DeTable, DeValue};

use super::{
    Allowance, AllowanceSubject, BaselineError, Date, FORMAT, MAX_ALLOWANCES, MAX_BYTES,
    MAX_FRAME_BYTES, MAX_FRAMES, MAX_RATE, MeasuredWith, PatternFrame, StackPattern,
};
use crate::growth::Unit;
use crate::toml_file::{self, Item, float, found, integer, line_at, nearest, quoted};
use crate::{Law, Per, Rate, Resource, to_f64};

const ROOT_KEYS: &[&str] = &["format", "measured", "allow"];
const MEASURED_KEYS: &[&str] = &[
    "test",
    "per",
    "target",
    "profile",
    "toolchain",
    "jemalloc",
    "sample-interval",
    "iterations",
];
const ALLOW_KEYS: &[&str] = &[
    "stack",
    "resource",
    "objects",
    "bytes",
    "law",
    "bytes-law",
    "reason",
    "issue",
    "expires",
];

/// The most values in a file: one for each 32 bytes that a file can have, as much as a frame
/// with its indentation takes. Without this limit, many values of a few bytes each would make
/// the parser take gigabytes.
const MAX_VALUES: usize = MAX_BYTES / 32;

/// The content of a file as it is written: one allowance for each `[[allow]]`. Equal ones are
/// not merged.
pub(super) struct Written {
    pub(super) measured: Option<MeasuredWith>,
    pub(super) allowances: Vec<Allowance>,
    /// The lines of each allowance, from its header to its last key, counted from 1.
    pub(super) lines: Vec<RangeInclusive<usize>>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Written, BaselineError> {
    if bytes.len() > MAX_BYTES {
        return Err(BaselineError::too_many(
            None,
            "bytes",
            MAX_BYTES,
            bytes.len(),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|err| {
        let line = Some(line_at(bytes, err.valid_up_to()));
        BaselineError::new(line, "not a text file", "expected UTF-8, found other bytes")
    })?;
    // Each value, table and part of a dotted key needs one of these bytes, and takes a few
    // hundred bytes of memory.
    let values = bytes
        .iter()
        .filter(|byte| matches!(byte, b',' | b'=' | b'[' | b'.'))
        .count();
    if values > MAX_VALUES {
        return Err(BaselineError::too_many(None, "values", MAX_VALUES, values));
    }
    let document = toml_file::parse(text).map_err(|error| {
        if let conflict @ Some(_) = conflict(text) {
            let detail = "expected a baseline, found git's conflict markers";
            return BaselineError::new(conflict, "a merge conflict", detail).hint(
                "keep each `[[allow]]` of both sides once, or take one side and run \
                 `plimsoll accept SCENARIO`",
            );
        }
        BaselineError::new(error.line, "not TOML", error.message)
    })?;

    let lines = Lines::of(bytes);
    let root = Reader {
        text,
        lines: &lines,
        table: &document,
        header: None,
        name: "the file",
    };
    // The format is checked first, because a newer format may have any other key.
    root.check_format()?;
    root.check_keys(ROOT_KEYS)?;
    let (allowances, lines) = root.allowances()?.into_iter().unzip();
    Ok(Written {
        measured: root.measured()?,
        allowances,
        lines,
    })
}

/// Returns the line of git's first conflict marker, counted from 1.
fn conflict(text: &str) -> Option<usize> {
    let is_marker = |line: &str| {
        ["<<<<<<< ", "||||||| ", ">>>>>>> "]
            .iter()
            .any(|marker| line.starts_with(marker))
    };
    text.lines().position(is_marker).map(|index| index + 1)
}

/// The offsets at which lines start. A file may have a million lines, and as many values.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &[u8]) -> Self {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self(ends.map(|(offset, _)| offset + 1).collect())
    }

    /// Returns the line of an offset, counted from 1.
    fn at(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|start| *start <= offset)
    }
}

/// One table of the document, and where it is in the file.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    lines: &'a Lines,
    table: &'a DeTable<'a>,
    /// The line of the table's header.
    header: Option<usize>,
    name: &'static str,
}

impl<'a> Reader<'a> {
    /// Returns the line of a key, or of the table's header if it does not have the key.
    fn line_of(&self, key: &str) -> Option<usize> {
        let written = self.table.get_key_value(key);
        let line = written.map(|(key, _)| self.lines.at(key.span().start));
        line.or(self.header)
    }

    fn get(&self, key: &str) -> Option<&'a DeValue<'a>> {
        self.table.get(key).map(Item::get_ref)
    }

    /// Returns a table that has a header of its own. Other ways to write one are TOML as well,
    /// but their diffs are hard to read, and nothing could be added on a line of its own.
    fn table<'b>(&self, item: &'b Item<'b>) -> Option<(&'b DeTable<'b>, usize)> {
        let start = item.span().start;
        let has_header = self.text[start..].starts_with('[');
        let table = item.get_ref().as_table().filter(|_| has_header);
        table.map(|table| (table, self.lines.at(start)))
    }

    fn required(&self, key: &str) -> Result<&'a DeValue<'a>, BaselineError> {
        self.get(key).ok_or_else(|| {
            let headline = format!("`{key}` is missing");
            let detail = format!("expected it in {}, found none", self.name);
            BaselineError::new(self.header, headline, detail)
        })
    }

    fn unexpected(&self, key: &str, value: &DeValue, expected: &str) -> BaselineError {
        BaselineError::unexpected(self.line_of(key), key, expected, found(value))
    }

    fn check_keys(&self, known: &'static [&'static str]) -> Result<(), BaselineError> {
        let mut keys = toml_file::entries(self.table).into_iter();
        let unknown = keys.find(|(key, _)| !known.contains(&key.get_ref().as_ref()));
        let Some((key, _)) = unknown else {
            return Ok(());
        };
        let key = key.get_ref();
        let headline = format!("unknown key `{}`", quoted(key));
        let detail = format!("expected one of `{}`", known.join("`, `"));
        let error = BaselineError::new(self.line_of(key), headline, detail);
        Err(match nearest(key, known.iter().copied()) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error,
        })
    }

    fn check_format(&self) -> Result<(), BaselineError> {
        let item = self.required("format")?;
        match integer(item) {
            Some(format) if format > FORMAT => {
                Err(BaselineError::newer(self.line_of("format"), format))
            }
            Some(FORMAT) => Ok(()),
            _ => Err(self.unexpected("format", item, &format!("a format from 1 to {FORMAT}"))),
        }
    }

    fn measured(&self) -> Result<Option<MeasuredWith>, BaselineError> {
        let Some(item) = self.table.get("measured") else {
            return Ok(None);
        };
        let (table, header) = self
            .table(item)
            .ok_or_else(|| self.unexpected("measured", item.get_ref(), "a header `[measured]`"))?;
        let measured = Reader {
            table,
            header: Some(header),
            name: "[measured]",
            ..*self
        };
        measured.check_keys(MEASURED_KEYS)?;
        let per = measured.per()?;
        let build = |key: &str| match measured.optional_string(key)? {
            None if !per.is_iteration() => Ok(String::new()),
            _ => measured.string(key),
        };
        Ok(Some(MeasuredWith {
            test: measured.optional_string("test")?,
            target: build("target")?,
            profile: build("profile")?,
            toolchain: build("toolchain")?,
            jemalloc: build("jemalloc")?,
            per,
            sample_interval: measured.sample_interval()?,
            iterations: measured.count("iterations")?,
        }))
    }

    fn per(&self) -> Result<Per, BaselineError> {
        let Some(item) = self.get("per") else {
            return Ok(Per::Iteration);
        };
        let per = item.as_str().and_then(|name| name.parse().ok());
        per.ok_or_else(|| self.unexpected("per", item, "`second`, or the name of a counter"))
    }

    /// Returns the allowances, each with its lines.
    fn allowances(&self) -> Result<Vec<(Allowance, RangeInclusive<usize>)>, BaselineError> {
        let Some(item) = self.get("allow") else {
            return Ok(Vec::new());
        };
        let tables = item.as_array().filter(|tables| !tables.is_empty());
        let tables: Option<Vec<_>> =
            tables.and_then(|tables| tables.iter().map(|item| self.table(item)).collect());
        let tables = tables.ok_or_else(|| self.unexpected("allow", item, "tables `[[allow]]`"))?;
        if tables.len() > MAX_ALLOWANCES {
            let found = tables.len();
            return Err(BaselineError::too_many(
                None,
                "allowances",
                MAX_ALLOWANCES,
                found,
            ));
        }
        // Frames are compared as they are written. Stacks that only a newer rule for names
        // makes equal add up instead.
        let mut before: BTreeMap<(Vec<&str>, Option<&str>), usize> = BTreeMap::new();
        let placed = |(table, header): (&'a DeTable<'a>, usize)| {
            let allow = Reader {
                table,
                header: Some(header),
                name: "[[allow]]",
                ..*self
            };
            let (allowance, lines) = (allow.allowance()?, allow.lines_from(header));
            let frames = allow.get("stack").and_then(DeValue::as_array);
            let resource = allow.get("resource").and_then(DeValue::as_str);
            let frames = frames.into_iter().flatten();
            let frames = frames.filter_map(|frame| frame.get_ref().as_str());
            match before.entry((frames.collect(), resource)) {
                Entry::Vacant(entry) => drop(entry.insert(*lines.start())),
                Entry::Occupied(entry) => {
                    let detail = format!(
                        "expected one `[[allow]]` for each stack or resource, found the same on \
                         line {}",
                        entry.get()
                    );
                    let twice = BaselineError::new(Some(*lines.start()), "allowed twice", detail);
                    let hint = "keep one of the two, with the rate that both together may have";
                    return Err(twice.hint(hint));
                }
            }
            Ok((allowance, lines))
        };
        tables.into_iter().map(placed).collect()
    }

    /// Returns the lines of the table, from its header to its last value.
    fn lines_from(&self, header: usize) -> RangeInclusive<usize> {
        let ends = self.table.values().map(|item| item.span().end);
        let last = ends.map(|end| self.lines.at(end.saturating_sub(1)));
        header..=last.fold(header, usize::max)
    }

    fn allowance(&self) -> Result<Allowance, BaselineError> {
        self.check_keys(ALLOW_KEYS)?;
        let subject = self.subject()?;
        let (objects, bytes) = match subject
            .resource()
            .map(|resource| (resource, resource.unit()))
        {
            None => (self.rate("objects")?, self.rate("bytes")?),
            Some((resource, Unit::Objects)) => {
                self.no_rate("bytes", resource)?;
                (self.rate("objects")?, 0.0)
            }
            Some((resource, Unit::Bytes)) => {
                self.no_rate("objects", resource)?;
                (0.0, self.rate("bytes")?)
            }
        };
        let law = self.law_in("law", self.required("law")?)?;
        let bytes_law = self.get("bytes-law");
        Ok(Allowance {
            subject,
            rate: Rate { objects, bytes },
            law,
            bytes_law: bytes_law.map_or(Ok(law), |item| self.law_in("bytes-law", item))?,
            reason: self.optional_string("reason")?,
            issue: self.optional_string("issue")?,
            expires: self.expires()?,
        })
    }

    /// Checks that a rate is absent, because a resource does not have it.
    fn no_rate(&self, key: &str, resource: Resource) -> Result<(), BaselineError> {
        match self.get(key) {
            None => Ok(()),
            Some(item) => {
                let expected = format!("no {key} beside the resource `{resource}`");
                Err(self.unexpected(key, item, &expected))
            }
        }
    }

    fn subject(&self) -> Result<AllowanceSubject, BaselineError> {
        match (self.get("stack"), self.get("resource")) {
            (None, Some(resource)) => resource
                .as_str()
                .and_then(Resource::from_word)
                .map(AllowanceSubject::Resource)
                .ok_or_else(|| {
                    self.unexpected(
                        "resource",
                        resource,
                        "`threads`, `descriptors`, `mappings` or `outside`",
                    )
                }),
            (Some(_), Some(resource)) => {
                Err(self.unexpected("resource", resource, "either `stack` or `resource`"))
            }
            (_, None) => {
                let stack = self.pattern(self.required("stack")?)?;
                Ok(AllowanceSubject::Stack(stack))
            }
        }
    }

    fn pattern(&self, item: &DeValue) -> Result<StackPattern, BaselineError> {
        let array = item
            .as_array()
            .ok_or_else(|| self.unexpected("stack", item, "an array of frames"))?;
        if array.len() > MAX_FRAMES {
            let (line, found) = (self.line_of("stack"), array.len());
            return Err(BaselineError::too_many(line, "frames", MAX_FRAMES, found));
        }
        let frames = array.iter().map(|value| self.frame(value));
        let pattern = StackPattern::new(frames.collect::<Result<Vec<_>, _>>()?);
        if pattern.frames() == [PatternFrame::Any] {
            let (line, found) = (self.line_of("stack"), "a pattern for everything");
            let expected = "a frame beside `\"...\"`";
            return Err(BaselineError::unexpected(
                line,
                "stack",
                expected,
                found.to_owned(),
            ));
        }
        Ok(pattern)
    }

    fn frame(&self, item: &Item) -> Result<PatternFrame, BaselineError> {
        let line = Some(self.lines.at(item.span().start));
        match item.get_ref().as_str() {
            None => {
                let found = found(item.get_ref());
                Err(BaselineError::unexpected(
                    line,
                    "stack",
                    "a frame's name",
                    found,
                ))
            }
            Some(name) if name.len() > MAX_FRAME_BYTES => {
                let (of, found) = ("bytes in a frame", name.len());
                Err(BaselineError::too_many(line, of, MAX_FRAME_BYTES, found))
            }
            Some(name) => Ok(PatternFrame::read(name)),
        }
    }

    /// Returns a rate that is not negative and not above [`MAX_RATE`], and so neither NaN nor
    /// infinite.
    fn rate(&self, key: &str) -> Result<f64, BaselineError> {
        let item = self.required(key)?;
        let whole = integer(item).and_then(|whole| u64::try_from(whole).ok());
        match float(item).or(whole.map(to_f64)) {
            Some(rate) if (0.0..=MAX_RATE).contains(&rate) => Ok(rate.abs()),
            _ => Err(self.unexpected(key, item, &format!("a rate from 0 to {MAX_RATE:e}"))),
        }
    }

    fn law_in(&self, key: &str, item: &DeValue) -> Result<Law, BaselineError> {
        item.as_str().and_then(Law::from_word).ok_or_else(|| {
            self.unexpected(key, item, "`linear`, `stepped`, `filling` or `fluctuating`")
        })
    }

    fn expires(&self) -> Result<Option<Date>, BaselineError> {
        let Some(item) = self.get("expires") else {
            return Ok(None);
        };
        // TOML's own dates are written in the same way.
        let written = item.as_datetime().map(ToString::to_string);
        let text = item.as_str().or(written.as_deref());
        let date = text.and_then(|text| text.parse().ok());
        let expected = "a day of the calendar as `YYYY-MM-DD`";
        date.map(Some)
            .ok_or_else(|| self.unexpected("expires", item, expected))
    }

    fn string(&self, key: &str) -> Result<String, BaselineError> {
        let item = self.required(key)?;
        let string = item.as_str().map(str::to_owned);
        string.ok_or_else(|| self.unexpected(key, item, "a string"))
    }

    fn optional_string(&self, key: &str) -> Result<Option<String>, BaselineError> {
        self.get(key).map(|_| self.string(key)).transpose()
    }

    fn sample_interval(&self) -> Result<u64, BaselineError> {
        const KEY: &str = "sample-interval";
        match self.count(KEY)? {
            // No profile has this interval, so nobody knows what the rates are.
            0 => Err(self.unexpected(KEY, self.required(KEY)?, "1, which is exact, or more")),
            interval => Ok(interval),
        }
    }

    fn count(&self, key: &str) -> Result<u64, BaselineError> {
        let item = self.required(key)?;
        let count = integer(item).and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| self.unexpected(key, item, "a whole number, zero or more"))
    }
}
