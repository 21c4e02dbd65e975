//! Finds the functions of a unit, and the calls that were inlined into them.

use super::budget::{Budget, STEP};
use super::entries::{Entries, EntryKind};
use super::unit::RangeAttributes;
use super::{DwarfError, MAX_INLINED, Reader};
use gimli::{AttributeValue, UnitOffset};

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
        let mut finder = Finder {
            dwarf,
            unit,
            svmas,
            budget,
            entry: gimli::DebuggingInformationEntry::null(),
        };
        let mut entries = Entries::new(unit, budget)?;
        let starts = finder.functions(&mut entries)?;

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
            finder.inlined(&mut entries, of_one, &mut found)?;
        }
        Ok(found)
    }
}

struct Finder<'f, 'a> {
    dwarf: &'f gimli::Dwarf<Reader<'a>>,
    unit: &'f gimli::Unit<Reader<'a>>,
    svmas: &'f [u64],
    budget: &'f Budget,
    /// Reused for each entry that is read.
    entry: gimli::DebuggingInformationEntry<Reader<'a>>,
}

impl<'a> Finder<'_, 'a> {
    /// Returns the function at each address, and where the function begins.
    ///
    /// Functions that a linker discarded seem to lie at 0, and may reach over others. So the
    /// function that begins nearest to an address counts.
    fn functions(
        &mut self,
        entries: &mut Entries<'_, 'a>,
    ) -> Result<Vec<Option<(u64, UnitOffset)>>, DwarfError> {
        let mut starts: Vec<Option<(u64, UnitOffset)>> = vec![None; self.svmas.len()];
        let (budget, svmas) = (self.budget, self.svmas);
        while let Some(entry) = entries.next_function()? {
            self.read(entry.offset)?;
            self.ranges(|begin, end| {
                let first = svmas.partition_point(|svma| *svma < begin);
                for (start, svma) in starts[first..].iter_mut().zip(&svmas[first..]) {
                    if *svma >= end {
                        break;
                    }
                    budget.spend(STEP)?;
                    if start.is_none_or(|(nearest, _)| nearest < begin) {
                        *start = Some((begin, entry.offset));
                    }
                }
                Ok(())
            })?;
        }
        Ok(starts)
    }

    /// Adds the inlined calls at the addresses of one function.
    fn inlined(
        &mut self,
        entries: &mut Entries<'_, 'a>,
        function: &[(UnitOffset, usize)],
        found: &mut Functions,
    ) -> Result<(), DwarfError> {
        entries.go_to(function[0].0);
        let start = entries.offset();
        if !entries.next()?.is_some_and(|entry| entry.has_children) {
            return Ok(());
        }
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
            let Some(entry) = entries.next()? else {
                depth -= 1;
                continue;
            };
            let here = depth;
            depth += usize::from(entry.has_children);
            if here > boring {
                continue;
            }
            boring = usize::MAX;
            while around.last().is_some_and(|call| *call >= here) {
                around.pop();
            }
            match entry.kind {
                EntryKind::Other => {}
                EntryKind::Subprogram => boring = here,
                EntryKind::InlinedSubroutine => {
                    let level = around.len();
                    let call = found.calls.len();
                    let mut holds = false;
                    if entry.has_code && level < MAX_INLINED {
                        self.read(entry.offset)?;
                        self.ranges(|begin, end| {
                            let from = first + svmas.partition_point(|svma| *svma < begin);
                            let to = first + svmas.partition_point(|svma| *svma < end);
                            for at in &mut found.at[from..to] {
                                budget.spend(STEP)?;
                                if let Some(at) = at
                                    && at.entry == start
                                    && at.inlined.len() == level
                                {
                                    at.inlined.push(call);
                                    holds = true;
                                }
                            }
                            Ok(())
                        })?;
                    }
                    if holds {
                        found.calls.push(self.call(entry.offset));
                        around.push(here);
                    } else {
                        boring = here;
                    }
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, offset: UnitOffset) -> Result<(), DwarfError> {
        let unit = self.unit;
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(offset))?;
        entries.read_entry(&mut self.entry)?;
        Ok(())
    }

    /// Calls `found` with each range of the entry that was read last.
    fn ranges(
        &self,
        mut found: impl FnMut(u64, u64) -> Result<(), DwarfError>,
    ) -> Result<(), DwarfError> {
        let mut ranges = RangeAttributes::default();
        for attribute in self.entry.attrs() {
            ranges.take(attribute);
        }
        ranges.each(self.dwarf, self.unit, self.budget, &mut found)?;
        Ok(())
    }

    /// Returns the call from the entry that was read last.
    fn call(&self, entry: UnitOffset) -> InlinedCall {
        let mut call = InlinedCall {
            entry,
            file: None,
            line: 0,
        };
        for attribute in self.entry.attrs() {
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
                _ => {}
            }
        }
        call
    }
}
