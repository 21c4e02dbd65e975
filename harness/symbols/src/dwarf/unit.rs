//! Finds units: where each begins, what its root entry says, and which code belongs to it.

use std::sync::Arc;

use gimli::{AttributeValue, DebugInfoOffset, DebugLineOffset, DwLang, UnitType};

use super::budget::{Budget, STEP};
use super::{Attribute, DwarfError, Reader};

type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
type Header<'a> = gimli::UnitHeader<Reader<'a>>;
type Value<'a> = AttributeValue<Reader<'a>>;

/// The most units of a file. Chromium has some 30,000.
const MAX_UNITS: usize = 1 << 22;

/// The most ranges of a file. Chromium has a million functions, most of them in a range of
/// their own.
const MAX_RANGES: usize = 1 << 24;

/// The most bytes of one table of abbreviations. A program that is linked with optimisation has
/// one table for all units, of some hundred kilobytes.
const MAX_ABBREVIATIONS: usize = 4 << 20;

/// How many units are tried for one address. Several may claim it if a linker discarded
/// functions, which then seem to lie at 0.
const MAX_CLAIMS: usize = 64;

/// A unit without its line program, which is large and often not needed.
pub(super) struct Unit<'a> {
    pub(super) unit: gimli::Unit<Reader<'a>>,
    pub(super) language: Option<DwLang>,
    pub(super) line_program: Option<DebugLineOffset>,
    name: Option<Value<'a>>,
    directory: Option<Value<'a>>,
    dwo_name: Option<Value<'a>>,
    ranges: RangeAttributes<'a>,
}

impl<'a> Unit<'a> {
    /// Reads a unit with all abbreviations, which are needed to read every entry.
    pub(super) fn read(
        dwarf: &Dwarf<'a>,
        header: Header<'a>,
        budget: &Budget,
    ) -> Result<Self, DwarfError> {
        let table = abbreviations(dwarf, &header)?;
        let length = table_length(table);
        budget.spend(length)?;
        let mut unit = Self::with(dwarf, header, &table[..length])?;
        // The strings of the root entry are elsewhere in the file, and most units do not need
        // them.
        unit.unit.name = unit.text(dwarf, unit.name.as_ref(), budget)?;
        unit.unit.comp_dir = unit.text(dwarf, unit.directory.as_ref(), budget)?;
        Ok(unit)
    }

    /// Reads a unit with only the abbreviation of its root entry. Reading a whole table of
    /// abbreviations takes longer than anything else here, and most units do not need it.
    fn read_root(
        dwarf: &Dwarf<'a>,
        header: Header<'a>,
        budget: &Budget,
    ) -> Result<Self, DwarfError> {
        let table = abbreviations(dwarf, &header)?;
        let entries = header.range_from(header.root_offset()..)?;
        let (code, _) = uleb(entries.slice()).ok_or(gimli::Error::MissingUnitDie)?;
        let (declaration, walked) = declaration(table, code);
        budget.spend(walked + 1)?;
        let declaration = declaration.ok_or(gimli::Error::InvalidAbbreviationCode(code))?;
        Self::with(dwarf, header, &[declaration, &[0]].concat())
    }

    fn with(dwarf: &Dwarf<'a>, header: Header<'a>, table: &[u8]) -> Result<Self, DwarfError> {
        let abbreviations = gimli::DebugAbbrev::new(table, gimli::RunTimeEndian::Little)
            .abbreviations(gimli::DebugAbbrevOffset(0))?;
        let encoding = header.encoding();
        let file = dwarf.file_type;
        let mut unit = gimli::Unit {
            abbreviations: Arc::new(abbreviations),
            name: None,
            comp_dir: None,
            low_pc: 0,
            str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
                encoding, file,
            ),
            addr_base: gimli::DebugAddrBase(0),
            loclists_base: gimli::DebugLocListsBase::default_for_encoding_and_file(encoding, file),
            rnglists_base: gimli::DebugRngListsBase::default_for_encoding_and_file(encoding, file),
            line_program: None,
            dwo_id: match header.type_() {
                UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
                _ => None,
            },
            header,
        };
        let root = unit
            .header
            .entry(&unit.abbreviations, header.root_offset())?;
        let (mut name, mut directory) = (None, None);
        let mut dwo_name = None;
        let mut ranges = RangeAttributes::default();
        let mut language = None;
        let mut line_program = None;
        for attribute in root.attrs() {
            let value = attribute.value();
            match (attribute.name(), &value) {
                (gimli::DW_AT_name, _) => name = Some(value),
                (gimli::DW_AT_comp_dir, _) => directory = Some(value),
                (gimli::DW_AT_language, AttributeValue::Language(found)) => language = Some(*found),
                (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(at)) => {
                    line_program = Some(*at);
                }
                (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                    unit.str_offsets_base = *base;
                }
                (
                    gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                    AttributeValue::DebugAddrBase(base),
                ) => unit.addr_base = *base,
                (
                    gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                    AttributeValue::DebugRngListsBase(base),
                ) => unit.rnglists_base = *base,
                (gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name, _) => dwo_name = Some(value),
                (gimli::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => {
                    unit.dwo_id = unit.dwo_id.or(Some(*id));
                }
                _ => ranges.take(attribute),
            }
        }
        if let Some(low) = &ranges.low
            && let Some(low) = dwarf.attr_address(&unit, *low)?
        {
            unit.low_pc = low;
        }
        Ok(Self {
            unit,
            language,
            line_program,
            name,
            directory,
            dwo_name,
            ranges,
        })
    }

    /// Returns the file with the rest of the unit, relative to the unit's directory.
    pub(super) fn dwo_name(
        &self,
        dwarf: &Dwarf<'a>,
        budget: &Budget,
    ) -> Result<Option<Reader<'a>>, DwarfError> {
        self.text(dwarf, self.dwo_name.as_ref(), budget)
    }

    fn text(
        &self,
        dwarf: &Dwarf<'a>,
        value: Option<&Value<'a>>,
        budget: &Budget,
    ) -> Result<Option<Reader<'a>>, DwarfError> {
        let text = value.and_then(|value| dwarf.attr_string(&self.unit, *value).ok());
        budget.spend(text.map_or(0, |text| text.len()))?;
        Ok(text)
    }

    pub(super) fn skeleton(&self) -> Skeleton {
        Skeleton {
            id: self.unit.dwo_id,
            low_pc: self.unit.low_pc,
            addr_base: self.unit.addr_base,
            rnglists_base: self.unit.rnglists_base,
        }
    }

    pub(super) fn take_from(&mut self, skeleton: Skeleton) {
        self.unit.low_pc = skeleton.low_pc;
        self.unit.addr_base = skeleton.addr_base;
        // Since DWARF 5, lists of ranges are split off as well.
        if self.unit.header.version() < 5 {
            self.unit.rnglists_base = skeleton.rnglists_base;
        }
    }
}

/// The values that a split-off unit takes from its skeleton, the part that stayed in the
/// program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skeleton {
    pub(super) id: Option<gimli::DwoId>,
    low_pc: u64,
    addr_base: gimli::DebugAddrBase,
    rnglists_base: gimli::DebugRngListsBase,
}

fn abbreviations<'a>(dwarf: &Dwarf<'a>, header: &Header<'a>) -> Result<&'a [u8], gimli::Error> {
    let section = gimli::Section::reader(&dwarf.debug_abbrev).slice();
    let table = section.get(header.debug_abbrev_offset().0..);
    let table = table.ok_or(gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(0)))?;
    Ok(&table[..table.len().min(MAX_ABBREVIATIONS)])
}

/// Reads a number of variable length (LEB128). Returns the number and its length in bytes.
#[inline]
fn uleb(bytes: &[u8]) -> Option<(u64, usize)> {
    // Nearly all numbers have one byte.
    if let Some(byte) = bytes.first()
        && *byte < 0x80
    {
        return Some((u64::from(*byte), 1));
    }
    let mut value = 0;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Reads the declaration of an abbreviation. Returns its code and its length in bytes, or
/// `None` at the end of the table.
fn next_declaration(table: &[u8]) -> Option<(u64, usize)> {
    let (code, mut at) = uleb(table)?;
    if code == 0 {
        return None;
    }
    at += uleb(table.get(at..)?)?.1 + 1;
    loop {
        let (name, length) = uleb(table.get(at..)?)?;
        at += length;
        let (form, length) = uleb(table.get(at..)?)?;
        at += length;
        if form == u64::from(gimli::DW_FORM_implicit_const.0) {
            at += uleb(table.get(at..)?)?.1;
        }
        if (name, form) == (0, 0) {
            return Some((code, at));
        }
    }
}

/// Returns the declaration with this code, and how many bytes were read to find it.
fn declaration(table: &[u8], wanted: u64) -> (Option<&[u8]>, usize) {
    let mut at = 0;
    while let Some((code, length)) = next_declaration(&table[at..]) {
        if code == wanted {
            return (Some(&table[at..at + length]), at + length);
        }
        at += length;
    }
    (None, at)
}

/// Returns the length of a table, with its end mark. The parser will refuse a damaged table.
fn table_length(table: &[u8]) -> usize {
    let mut at = 0;
    while let Some((_, length)) = next_declaration(&table[at..]) {
        at += length;
    }
    table.len().min(at + 10)
}

/// The attributes that say where an entry's code is.
#[derive(Debug, Default)]
pub(super) struct RangeAttributes<'a> {
    low: Option<Value<'a>>,
    high: Option<Value<'a>>,
    list: Option<Value<'a>>,
}

impl<'a> RangeAttributes<'a> {
    pub(super) fn take(&mut self, attribute: &Attribute<'a>) {
        let which = match attribute.name() {
            gimli::DW_AT_low_pc => &mut self.low,
            gimli::DW_AT_high_pc => &mut self.high,
            gimli::DW_AT_ranges => &mut self.list,
            _ => return,
        };
        *which = Some(attribute.value());
    }

    /// Calls `found` with the `begin` and `end` of each range that is not empty. Returns
    /// whether there was one.
    pub(super) fn each(
        &self,
        dwarf: &Dwarf<'a>,
        unit: &gimli::Unit<Reader<'a>>,
        budget: &Budget,
        mut found: impl FnMut(u64, u64) -> Result<(), DwarfError>,
    ) -> Result<bool, DwarfError> {
        if let Some(list) = &self.list
            && let Some(offset) = dwarf.attr_ranges_offset(unit, *list)?
        {
            let mut any = false;
            let mut list = dwarf.ranges(unit, offset)?;
            while let Some(range) = list.next()? {
                budget.spend(STEP)?;
                if range.begin < range.end {
                    any = true;
                    found(range.begin, range.end)?;
                }
            }
            return Ok(any);
        }
        let address = |value: &Option<Value<'a>>| match value {
            Some(AttributeValue::Addr(address)) => Ok(Some(*address)),
            Some(AttributeValue::DebugAddrIndex(index)) => dwarf.address(unit, *index).map(Some),
            _ => Ok(None),
        };
        let Some(low) = address(&self.low)? else {
            return Ok(false);
        };
        let high = match &self.high {
            // Code that a linker discarded may seem to lie at the highest address. Its end then
            // wraps around, and is before its beginning.
            Some(AttributeValue::Udata(size)) => Some(low.wrapping_add(*size)),
            high => address(high)?,
        };
        let range = high.filter(|high| low < *high);
        if let Some(high) = range {
            found(low, high)?;
        }
        Ok(range.is_some())
    }
}

/// All units except type units, in the order of the file.
pub(super) struct Units<'a> {
    pub(super) headers: Vec<Header<'a>>,
    /// Sorted by `end`.
    ranges: Vec<UnitRange>,
}

#[derive(Debug)]
struct UnitRange {
    begin: u64,
    end: u64,
    /// An index of `headers`.
    unit: usize,
    /// The smallest `begin` of this range and all ranges behind it.
    least: u64,
}

impl<'a> Units<'a> {
    /// Reads only the headers.
    pub(super) fn without_ranges(dwarf: &Dwarf<'a>) -> Result<Self, DwarfError> {
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            match header.type_() {
                UnitType::Type { .. } | UnitType::SplitType { .. } => {}
                _ if headers.len() == MAX_UNITS => return Err(DwarfError::TooMuch),
                _ => headers.push(header),
            }
        }
        Ok(Self {
            headers,
            ranges: Vec::new(),
        })
    }

    pub(super) fn new(
        dwarf: &Dwarf<'a>,
        budget: &Budget,
        line_ranges: impl Fn(&Unit<'a>) -> Result<Vec<(u64, u64)>, DwarfError>,
    ) -> Result<Self, DwarfError> {
        let mut units = Self::without_ranges(dwarf)?;
        let mut arange_sets = Vec::new();
        let mut sets = dwarf.debug_aranges.headers();
        while let Some(set) = sets.next()? {
            arange_sets.push((set.debug_info_offset(), set.offset()));
        }
        arange_sets.sort_unstable_by_key(|set| set.0.0);

        let mut ranges: Vec<UnitRange> = Vec::new();
        for (index, header) in units.headers.iter().enumerate() {
            // Partial units exist only to be referred to.
            if header.type_() == UnitType::Partial {
                continue;
            }
            // A damaged unit costs only its own names.
            let Ok(unit) = Unit::read_root(dwarf, *header, budget) else {
                budget.spend(STEP)?;
                continue;
            };
            let mut push = |begin, end| {
                if ranges.len() == MAX_RANGES {
                    return Err(DwarfError::TooMuch);
                }
                ranges.push(UnitRange {
                    begin,
                    end,
                    unit: index,
                    least: 0,
                });
                Ok(())
            };
            // A unit's own list is complete more often than the table of all units. Other
            // attributes are not used first, because the table knows holes that they do not
            // show.
            let mut found = false;
            if unit.ranges.list.is_none()
                && let Some(offset) = header.debug_info_offset()
            {
                let first = arange_sets.partition_point(|set| set.0.0 < offset.0);
                let sets = arange_sets[first..].iter();
                for (_, set) in sets.take_while(|set| set.0 == offset) {
                    let mut entries = dwarf.debug_aranges.header(*set)?.entries();
                    while let Some(entry) = entries.next().transpose() {
                        budget.spend(STEP)?;
                        // An entry for a variable at the end of the addresses is an error, but
                        // no reason to stop.
                        let Ok(entry) = entry else { continue };
                        if entry.length() != 0 {
                            found = true;
                            push(entry.range().begin, entry.range().end)?;
                        }
                    }
                }
            }
            if !found {
                found = unit.ranges.each(dwarf, &unit.unit, budget, &mut push)?;
            }
            if !found {
                // A line program that cannot be read has no ranges.
                for (begin, end) in line_ranges(&unit).unwrap_or_default() {
                    push(begin, end)?;
                }
            }
        }
        ranges.sort_unstable_by_key(|range| (range.end, range.unit));
        let mut least = u64::MAX;
        for range in ranges.iter_mut().rev() {
            least = least.min(range.begin);
            range.least = least;
        }
        units.ranges = ranges;
        Ok(units)
    }

    /// Returns the `nth` of the units that claim an address.
    pub(super) fn claiming(
        &self,
        svma: u64,
        nth: usize,
        budget: &Budget,
    ) -> Result<Option<usize>, DwarfError> {
        if nth >= MAX_CLAIMS {
            return Ok(None);
        }
        let first = self.ranges.partition_point(|range| range.end <= svma);
        let mut claims = 0;
        for range in &self.ranges[first..] {
            if svma < range.least {
                break;
            }
            budget.spend(STEP)?;
            if range.begin <= svma {
                if claims == nth {
                    return Ok(Some(range.unit));
                }
                claims += 1;
            }
        }
        Ok(None)
    }

    /// Returns the unit that contains an entry.
    pub(super) fn holding(&self, offset: DebugInfoOffset) -> Option<usize> {
        let start = |header: &Header<'a>| header.debug_info_offset().map(|offset| offset.0);
        let is_before = |header: &Header<'a>| start(header) <= Some(offset.0);
        self.headers.partition_point(is_before).checked_sub(1)
    }
}

/// Returns whether all units are those of Rust's standard library.
pub(super) fn are_of_std<'a>(dwarf: &Dwarf<'a>, units: &Units<'a>, budget: &Budget) -> bool {
    // rustc's own build remaps the folders of the distributed library and of the crates in it
    // to these.
    let of_std = |directory: &[u8]| {
        directory.starts_with(b"/rustc/") || directory.starts_with(b"/rust/deps/")
    };
    units.headers.iter().all(|header| {
        let directory = Unit::read_root(dwarf, *header, budget)
            .and_then(|unit| unit.text(dwarf, unit.directory.as_ref(), budget));
        directory.is_ok_and(|directory| directory.is_some_and(|name| of_std(name.slice())))
    })
}
