//! Walks the entries of a unit, and skips those that are not needed as fast as possible.
//!
//! Only a few of a unit's millions of entries are functions, but all entries must be read to
//! find them. Most attributes have a fixed size, so their sizes are added up once for each
//! abbreviation.

use gimli::UnitOffset;

use super::budget::Budget;
use super::unit::uleb;
use super::{DwarfError, Reader};

/// Plans for codes from here on are not kept. Compilers count from 1.
const MAX_PLANS: u64 = 1 << 16;

/// The kinds of entries that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Subprogram,
    InlinedSubroutine,
    Other,
}

/// What all entries of one abbreviation have in common.
#[derive(Debug)]
struct Plan {
    /// An entry, but for its offset.
    entry: Entry,
    steps: Vec<Step>,
}

/// How to skip attributes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Bytes(usize),
    /// A number of variable length (LEB128).
    Leb,
    /// A length, and as many bytes.
    Block,
    /// Bytes up to a zero.
    String,
    /// An attribute whose length only the parser knows; the parser skips it and all that
    /// follow.
    Parse,
}

/// An entry whose attributes were skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) offset: UnitOffset,
    pub(super) kind: EntryKind,
    pub(super) has_children: bool,
    /// Whether the entry says where its code is.
    pub(super) has_code: bool,
}

pub(super) struct Entries<'u, 'a> {
    unit: &'u gimli::Unit<Reader<'a>>,
    plans: Vec<Option<Plan>>,
    bytes: &'a [u8],
    /// The offset of `bytes` in the unit.
    start: usize,
    at: usize,
}

impl<'u, 'a> Entries<'u, 'a> {
    pub(super) fn new(
        unit: &'u gimli::Unit<Reader<'a>>,
        budget: &Budget,
    ) -> Result<Self, DwarfError> {
        let root = unit.header.root_offset();
        let bytes = unit.header.range_from(root..)?.slice();
        budget.spend(bytes.len())?;
        Ok(Self {
            unit,
            plans: Vec::new(),
            bytes,
            start: root.0,
            at: 0,
        })
    }

    pub(super) fn go_to(&mut self, offset: UnitOffset) {
        self.at = offset.0.saturating_sub(self.start);
    }

    /// Returns the offset of the next entry.
    pub(super) fn offset(&self) -> UnitOffset {
        UnitOffset(self.start + self.at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns the next function that has code, at any depth.
    pub(super) fn next_function(&mut self) -> Result<Option<Entry>, gimli::Error> {
        while !self.is_empty() {
            if let Some(entry) = self.next()?
                && entry.kind == EntryKind::Subprogram
                && entry.has_code
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Skips the next entry and returns it; `None` at the end of a list of children.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Entry>, gimli::Error> {
        let offset = self.offset();
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (code, length) = uleb(rest).ok_or_else(end)?;
        self.at += length;
        if code == 0 {
            return Ok(None);
        }
        let index = usize::try_from(code).unwrap_or(usize::MAX);
        let Some(Some(plan)) = self.plans.get(index) else {
            return self.first_of(code, offset).map(Some);
        };
        let entry = Entry {
            offset,
            ..plan.entry
        };
        self.at = self.over(&plan.steps, offset)?;
        Ok(Some(entry))
    }

    /// Does what `next` does, for an abbreviation that was not met before.
    #[cold]
    fn first_of(&mut self, code: u64, offset: UnitOffset) -> Result<Entry, gimli::Error> {
        let abbreviation = self.unit.abbreviations.get(code);
        let abbreviation = abbreviation.ok_or(gimli::Error::InvalidAbbreviationCode(code))?;
        let plan = Plan::new(abbreviation, self.unit);
        let entry = Entry {
            offset,
            ..plan.entry
        };
        self.at = self.over(&plan.steps, offset)?;
        if let Ok(index) = usize::try_from(code)
            && code < MAX_PLANS
        {
            if self.plans.len() <= index {
                self.plans.resize_with(index + 1, || None);
            }
            self.plans[index] = Some(plan);
        }
        Ok(entry)
    }

    /// Returns where the attributes of an entry end.
    #[inline]
    fn over(&self, steps: &[Step], entry: UnitOffset) -> Result<usize, gimli::Error> {
        let mut at = self.at;
        for step in steps {
            let rest = || self.bytes.get(at..).ok_or_else(end);
            let length = match step {
                Step::Bytes(length) => *length,
                Step::Leb => until(rest()?, |byte| byte & 0x80 == 0)?,
                Step::String => until(rest()?, |byte| byte == 0)?,
                Step::Block => {
                    let (size, length) = uleb(rest()?).ok_or_else(end)?;
                    let size = usize::try_from(size).map_err(|_| end())?;
                    size.checked_add(length).ok_or_else(end)?
                }
                Step::Parse => return self.parse(entry),
            };
            at = at.checked_add(length).ok_or_else(end)?;
        }
        Ok(at)
    }

    fn parse(&self, entry: UnitOffset) -> Result<usize, gimli::Error> {
        let unit = &self.unit;
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(entry))?;
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
        Ok(entries.next_offset().0.saturating_sub(self.start))
    }
}

impl Plan {
    fn new(abbreviation: &gimli::Abbreviation, unit: &gimli::Unit<Reader<'_>>) -> Self {
        let mut steps = Vec::new();
        let mut has_code = false;
        for attribute in abbreviation.attributes() {
            has_code |= matches!(attribute.name(), gimli::DW_AT_low_pc | gimli::DW_AT_ranges);
            let step = match (attribute.size(&unit.header), attribute.form()) {
                (Some(size), _) => Step::Bytes(size),
                (
                    None,
                    gimli::DW_FORM_udata
                    | gimli::DW_FORM_sdata
                    | gimli::DW_FORM_ref_udata
                    | gimli::DW_FORM_strx
                    | gimli::DW_FORM_addrx
                    | gimli::DW_FORM_loclistx
                    | gimli::DW_FORM_rnglistx
                    | gimli::DW_FORM_GNU_addr_index
                    | gimli::DW_FORM_GNU_str_index,
                ) => Step::Leb,
                (None, gimli::DW_FORM_exprloc | gimli::DW_FORM_block) => Step::Block,
                (None, gimli::DW_FORM_string) => Step::String,
                (None, _) => Step::Parse,
            };
            match (steps.last_mut(), step) {
                (Some(Step::Bytes(before)), Step::Bytes(size)) => {
                    *before = before.saturating_add(size);
                }
                _ => steps.push(step),
            }
        }
        Self {
            entry: Entry {
                offset: UnitOffset(0),
                kind: match abbreviation.tag() {
                    gimli::DW_TAG_subprogram => EntryKind::Subprogram,
                    gimli::DW_TAG_inlined_subroutine => EntryKind::InlinedSubroutine,
                    _ => EntryKind::Other,
                },
                has_children: abbreviation.has_children(),
                has_code,
            },
            steps,
        }
    }
}

/// Returns the number of bytes up to the first one that matches, this one included.
fn until(bytes: &[u8], last: impl Fn(u8) -> bool) -> Result<usize, gimli::Error> {
    let last = bytes.iter().position(|byte| last(*byte));
    last.map(|last| last + 1).ok_or_else(end)
}

fn end() -> gimli::Error {
    gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0))
}
