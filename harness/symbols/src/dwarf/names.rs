//! Finds the names of functions, which are often in another entry, unit or file.

use std::collections::HashMap;
use std::rc::Rc;

use gimli::{AttributeValue, DebugInfoOffset, UnitOffset};

use super::budget::Budget;
use super::unit::{Unit, Units};
use super::{DwarfError, Reader, Symbol};

/// The most references that are followed: from an inlined call to its function, to the
/// declaration in a class, and so on. Real programs need three steps; a cycle would never end.
const MAX_STEPS: usize = 16;

/// How many units that others refer to are kept open.
const MAX_OPEN: usize = 256;

/// A file of debug information in which references are followed.
#[derive(Clone, Copy)]
pub(super) struct Origin<'f, 'a> {
    pub(super) dwarf: &'f gimli::Dwarf<Reader<'a>>,
    /// Absent for a `.dwo` file, whose only unit refers only to itself.
    pub(super) units: Option<&'f Units<'a>>,
    pub(super) budget: &'f Budget,
    /// Whether generic arguments are wanted.
    pub(super) arguments: bool,
}

type Reading<'a> = gimli::Unit<Reader<'a>>;

/// The name of a function, if it has one.
type Named = Result<Option<Rc<Symbol>>, DwarfError>;

/// The names in one file, and in its supplementary file.
pub(super) struct Names<'f, 'a> {
    own: Origin<'f, 'a>,
    supplementary: Option<Origin<'f, 'a>>,
    open: HashMap<(bool, usize), Rc<Unit<'a>>>,
    /// The names found so far. The key says whether the entry is in the supplementary file, and
    /// its offset.
    known: HashMap<(bool, usize), Option<Rc<Symbol>>>,
}

impl<'f, 'a> Names<'f, 'a> {
    pub(super) fn new(own: Origin<'f, 'a>, supplementary: Option<Origin<'f, 'a>>) -> Self {
        Self {
            own,
            supplementary,
            open: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Returns the linkage name of an entry's function, or its bare name if there is none.
    pub(super) fn of(&mut self, unit: &Reading<'a>, entry: UnitOffset) -> Named {
        self.resolve(unit, false, entry, MAX_STEPS)
    }

    fn resolve(
        &mut self,
        unit: &Reading<'a>,
        supplementary: bool,
        entry: UnitOffset,
        steps: usize,
    ) -> Named {
        let place = entry.to_debug_info_offset(&unit.header);
        let place = place.map(|offset| (supplementary, offset.0));
        if let Some(known) = place.and_then(|place| self.known.get(&place)) {
            return Ok(known.clone());
        }
        let name = self.read(unit, supplementary, entry, steps)?;
        if let Some(place) = place {
            self.known.insert(place, name.clone());
        }
        Ok(name)
    }

    fn read(
        &mut self,
        unit: &Reading<'a>,
        supplementary: bool,
        entry: UnitOffset,
        steps: usize,
    ) -> Named {
        let Some(file) = self.file(supplementary) else {
            return Ok(None);
        };
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(entry))?;
        let Some(abbreviation) = entries.read_abbreviation()? else {
            return Ok(None);
        };
        let (mut linkage, mut bare, mut origin) = (None, None, None);
        for attribute in abbreviation.attributes() {
            let attribute = entries.read_attribute(*attribute)?;
            match attribute.name() {
                gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                    linkage = linkage.or(file.dwarf.attr_string(unit, attribute.value()).ok());
                }
                gimli::DW_AT_name => {
                    bare = bare.or(file.dwarf.attr_string(unit, attribute.value()).ok());
                }
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                    origin = Some(attribute.value());
                }
                _ => {}
            }
        }
        let text: Option<Reader<'a>> = linkage.or(bare);
        if let Some(text) = text {
            let bare = bare.filter(|_| file.arguments).unwrap_or_default();
            file.budget.spend(text.len().saturating_add(bare.len()))?;
            return Ok(Some(Symbol::new(text.slice(), bare.slice())));
        }
        let Some(steps) = steps.checked_sub(1) else {
            return Ok(None);
        };
        match origin {
            Some(AttributeValue::UnitRef(entry)) => self.resolve(unit, supplementary, entry, steps),
            Some(AttributeValue::DebugInfoRef(offset)) => self.far(supplementary, offset, steps),
            Some(AttributeValue::DebugInfoRefSup(offset)) => self.far(true, offset, steps),
            _ => Ok(None),
        }
    }

    /// Follows a reference to another unit, which may be in the supplementary file.
    fn far(&mut self, supplementary: bool, offset: DebugInfoOffset, steps: usize) -> Named {
        let Some(&Origin {
            dwarf,
            units: Some(units),
            budget,
            ..
        }) = self.file(supplementary)
        else {
            return Ok(None);
        };
        let Some(index) = units.holding(offset) else {
            return Ok(None);
        };
        let unit = match self.open.get(&(supplementary, index)) {
            Some(unit) => Rc::clone(unit),
            None => {
                let unit = Rc::new(Unit::read(dwarf, units.headers[index], budget)?);
                if self.open.len() == MAX_OPEN {
                    self.open.clear();
                }
                self.open.insert((supplementary, index), Rc::clone(&unit));
                unit
            }
        };
        match offset.to_unit_offset(&unit.unit.header) {
            Some(entry) => self.resolve(&unit.unit, supplementary, entry, steps),
            None => Ok(None),
        }
    }

    fn file(&self, supplementary: bool) -> Option<&Origin<'f, 'a>> {
        match supplementary {
            true => self.supplementary.as_ref(),
            false => Some(&self.own),
        }
    }
}
