//! Finds the functions of a unit, and the calls that were inlined into them.

use gimli::{Abbreviation, AttributeValue, UnitOffset};

use super::budget::{Budget, STEP};
use super::unit::RangeAttributes;
use super::{DwarfError, MAX_INLINED, Reader};

type Entries<'u, 'a> = gimli::EntriesRaw<'u, Reader<'a>>;

/// The function at an address, and the inlined calls there.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) entry: UnitOffset,
    /// Indices of [`Functions::calls`], from the outermost call to the innermost.
    pub(super) inlined: Vec<usize>,
}

/// A call that was inlined.
#[derive(Clone, Copy, Debug)]
pub(super) struct InlinedCall {
    pub(super) entry: UnitOffset,
    pub(super) file: Option<u64>,
    pub(super) line: u32,
}

pub(super) struct Functions {
    /// The function at each address that was asked for.
    pub(super) at: Vec<Option<Function>>,
    pub(super) calls: Vec<InlinedCall>,
}

impl Functions {
    /// Finds the functions at these addresses, which must be sorted.
    ///
    /// One pass finds the functions. Another one, over the functions that were found, finds the
    /// calls inlined in them. Neither recurses, because a file may be nested as deep as it is
    /// long.
    pub(super) fn find<'a>(
        dwarf: &gimli::Dwarf<Reader<'a>>,
        unit: &gimli::Unit<Reader<'a>>,
        svmas: &[u64],
        budget: &Budget,
    ) -> Result<Self, DwarfError> {
        let finder = Finder {
            dwarf,
            unit,
            svmas,
            budget,
        };
        let starts = finder.functions()?;

        let mut found = Functions {
            at: vec![None; svmas.len()],
            calls: Vec::new(),
        };
        let starts = starts.into_iter().enumerate();
        let starts = starts.filter_map(|(index, start)| Some((start?.1, index)));
        let mut functions: Vec<(UnitOffset, usize)> = starts.collect();
        for (entry, index) in &functions {
            found.at[*index] = Some(Function {
                entry: *entry,
                inlined: Vec::new(),
            });
        }
        functions.sort_unstable_by_key(|(entry, index)| (entry.0, *index));
        for of_one in functions.chunk_by(|a, b| a.0 == b.0) {
            finder.inlined(of_one, &mut found)?;
        }
        Ok(found)
    }
}

struct Finder<'f, 'a> {
    dwarf: &'f gimli::Dwarf<Reader<'a>>,
    unit: &'f gimli::Unit<Reader<'a>>,
    svmas: &'f [u64],
    budget: &'f Budget,
}

impl<'f, 'a> Finder<'f, 'a> {
    /// Returns the entries from an offset on, or all of them.
    fn entries(&self, from: Option<UnitOffset>) -> Result<Entries<'f, 'a>, gimli::Error> {
        self.unit.header.entries_raw(&self.unit.abbreviations, from)
    }

    /// Returns the function at each address, and where the function begins.
    ///
    /// Functions that a linker discarded seem to lie at 0, and may reach over others. So the
    /// function that begins nearest to an address counts.
    fn functions(&self) -> Result<Vec<Option<(u64, UnitOffset)>>, DwarfError> {
        let mut starts: Vec<Option<(u64, UnitOffset)>> = vec![None; self.svmas.len()];
        let (budget, svmas) = (self.budget, self.svmas);
        budget.spend(
            self.unit
                .header
                .range_from(self.unit.header.root_offset()..)?
                .len(),
        )?;
        let mut entries = self.entries(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if abbreviation.tag() != gimli::DW_TAG_subprogram || !has_code(abbreviation) {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let (ranges, _) = self.read(&mut entries, abbreviation, offset)?;
            ranges.each(self.dwarf, self.unit, budget, |begin, end| {
                let first = svmas.partition_point(|svma| *svma < begin);
                for (start, svma) in starts[first..].iter_mut().zip(&svmas[first..]) {
                    if *svma >= end {
                        break;
                    }
                    budget.spend(STEP)?;
                    if start.is_none_or(|(nearest, _)| nearest < begin) {
                        *start = Some((begin, offset));
                    }
                }
                Ok(())
            })?;
        }
        Ok(starts)
    }

    /// Adds the inlined calls at the addresses of one function.
    fn inlined(
        &self,
        function: &[(UnitOffset, usize)],
        found: &mut Functions,
    ) -> Result<(), DwarfError> {
        let start = function[0].0;
        let mut entries = self.entries(Some(start))?;
        let own = entries.read_abbreviation()?;
        let Some(own) = own.filter(|own| own.has_children()) else {
            return Ok(());
        };
        entries.skip_attributes(own.attributes())?;
        let (first, last) = (function[0].1, function[function.len() - 1].1);
        let (budget, svmas) = (self.budget, &self.svmas[first..=last]);
        // The depth of the next entry in the function.
        let mut depth = 1_usize;
        // The depths of the inlined calls around the next entry. Each of these calls contains
        // at least one of the addresses.
        let mut around: Vec<usize> = Vec::new();
        // Entries deeper than this are skipped.
        let mut boring = usize::MAX;
        while depth > 0 && !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                depth -= 1;
                continue;
            };
            let here = depth;
            depth += usize::from(abbreviation.has_children());
            if here > boring {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            boring = usize::MAX;
            while around.last().is_some_and(|call| *call >= here) {
                around.pop();
            }
            let level = around.len();
            let is_call = abbreviation.tag() == gimli::DW_TAG_inlined_subroutine;
            let mut holds = false;
            if is_call && has_code(abbreviation) && level < MAX_INLINED {
                let (ranges, call) = self.read(&mut entries, abbreviation, offset)?;
                let number = found.calls.len();
                ranges.each(self.dwarf, self.unit, budget, |begin, end| {
                    let from = first + svmas.partition_point(|svma| *svma < begin);
                    let to = first + svmas.partition_point(|svma| *svma < end);
                    for at in &mut found.at[from..to] {
                        budget.spend(STEP)?;
                        if let Some(at) = at
                            && at.entry == start
                            && at.inlined.len() == level
                        {
                            at.inlined.push(number);
                            holds = true;
                        }
                    }
                    Ok(())
                })?;
                if holds {
                    found.calls.push(call);
                    around.push(here);
                }
            } else {
                entries.skip_attributes(abbreviation.attributes())?;
            }
            if !holds && (is_call || abbreviation.tag() == gimli::DW_TAG_subprogram) {
                boring = here;
            }
        }
        Ok(())
    }

    /// Reads where an entry's code is, and where it was called if it is an inlined call. Its
    /// abbreviation was read before.
    fn read(
        &self,
        entries: &mut Entries<'f, 'a>,
        abbreviation: &Abbreviation,
        entry: UnitOffset,
    ) -> Result<(RangeAttributes<'a>, InlinedCall), gimli::Error> {
        let mut ranges = RangeAttributes::default();
        let mut call = InlinedCall {
            entry,
            file: None,
            line: 0,
        };
        for attribute in abbreviation.attributes() {
            let attribute = entries.read_attribute(*attribute)?;
            match (attribute.name(), attribute.value()) {
                // Before DWARF 5, 0 means that there is no file.
                (gimli::DW_AT_call_file, AttributeValue::FileIndex(file))
                    if file > 0 || self.unit.header.version() >= 5 =>
                {
                    call.file = Some(file);
                }
                (gimli::DW_AT_call_line, line) => {
                    let line = line.udata_value().and_then(|line| u32::try_from(line).ok());
                    call.line = line.unwrap_or(0);
                }
                _ => ranges.take(&attribute),
            }
        }
        Ok((ranges, call))
    }
}

/// Returns whether the entries with an abbreviation say where their code is.
fn has_code(abbreviation: &Abbreviation) -> bool {
    let mut attributes = abbreviation.attributes().iter();
    attributes.any(|one| matches!(one.name(), gimli::DW_AT_low_pc | gimli::DW_AT_ranges))
}
