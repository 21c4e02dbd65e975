//! Reads what DWARF says about addresses.
//!
//! ```text
//! Units       which unit's code an address is in    every unit's root, once
//! Functions   its function and inlined calls        that unit's entries, once
//! Names       what those are called                 wherever they refer to
//! Lines       where they are written                that unit's line program, once
//! ```
//!
//! All addresses are looked up together, so each unit is read once for all of its addresses and
//! then released. Nothing recurses. All that is read is paid for from a [`Budget`], so whatever
//! a file claims, it costs at most a multiple of its size.

mod budget;
mod functions;
mod lines;
mod names;
mod unit;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId, UnitOffset};
use object::{CompressionFormat, Object, ObjectSection};

use budget::Budget;
use functions::{Function, Functions};
use lines::Lines;
use names::{Names, Origin};
use unit::{Skeleton, Unit, Units};

/// The most inlined frames at one address. Real programs have some tens; a file that claims
/// more than this is hostile.
const MAX_INLINED: usize = 1000;

/// The most bytes that a file's compressed sections may claim to contain. The largest programs
/// have less, and a machine has enough memory for it.
const MAX_UNCOMPRESSED: u64 = 4 << 30;

/// The most bytes that one compressed byte may stand for. Debug information usually shrinks to
/// a third, and its tables of zeros to a tenth. Deflate allows a thousand.
const MAX_RATIO: u64 = 50;

/// A section of at most this many bytes is not checked against [`MAX_RATIO`].
const ANY_UNCOMPRESSED: u64 = 16 << 20;

/// Why a file's DWARF cannot be used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DwarfError {
    /// The DWARF is compressed, and this build cannot decompress it.
    Compressed,
    /// The ELF file is damaged.
    Elf(object::Error),
    /// A compressed section claims to contain more than is allowed.
    TooLarge {
        /// In bytes.
        most: u64,
        found: u64,
    },
    /// Reading takes more time or memory than valid debug information of its size can need.
    TooMuch,
    /// The DWARF is damaged.
    Dwarf(gimli::Error),
}

impl fmt::Display for DwarfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DwarfError::Compressed => f.write_str("it is compressed"),
            DwarfError::Elf(err) => err.fmt(f),
            DwarfError::TooLarge { most, found } => write!(
                f,
                "expected a compressed section that holds at most {most} bytes, found one of {found}"
            ),
            DwarfError::TooMuch => f.write_str("it takes more work than its size can explain"),
            DwarfError::Dwarf(err) => err.fmt(f),
        }
    }
}

impl From<gimli::Error> for DwarfError {
    fn from(err: gimli::Error) -> Self {
        DwarfError::Dwarf(err)
    }
}

/// The bytes of the debug sections.
pub(crate) struct Sections<'data> {
    sections: DwarfSections<Cow<'data, [u8]>>,
    endian: RunTimeEndian,
    bytes: u64,
}

/// Which sections of a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionSet {
    /// `.debug_info` and so on.
    Whole,
    /// The sections that were split off: `.debug_info.dwo` and so on.
    SplitOff,
}

impl<'data> Sections<'data> {
    /// Loads the sections. Returns `None` for a file without debug information.
    pub(crate) fn load(
        object: &object::File<'data>,
        kind: SectionSet,
    ) -> Result<Option<Self>, DwarfError> {
        let name = |id: SectionId| match kind {
            SectionSet::Whole => Some(id.name()),
            SectionSet::SplitOff => id.dwo_name(),
        };
        let main = name(SectionId::DebugInfo).and_then(|name| object.section_by_name(name));
        if main.is_none_or(|section| section.size() == 0) {
            return Ok(None);
        }
        let mut loader = Loader::default();
        let sections = DwarfSections::load(|id| match id {
            // Variables and types, which are not needed here.
            SectionId::DebugLoc
            | SectionId::DebugLocLists
            | SectionId::DebugMacinfo
            | SectionId::DebugMacro
            | SectionId::DebugNames
            | SectionId::DebugTypes => Ok(Cow::Borrowed(&[][..])),
            id => loader.section(object, name(id)),
        })?;
        Ok(Some(Self {
            sections,
            endian: endian(object),
            bytes: loader.bytes,
        }))
    }

    fn borrow<'a>(&'a self, supplementary: Option<&'a Sections<'_>>) -> gimli::Dwarf<Reader<'a>> {
        let supplementary = supplementary.map(|supplementary| &supplementary.sections);
        self.sections
            .borrow_with_sup(supplementary, |bytes| EndianSlice::new(bytes, self.endian))
    }
}

/// The bytes of a `.dwp` package, which joins many `.dwo` files.
pub(crate) struct PackageSections<'data> {
    sections: gimli::DwarfPackageSections<Cow<'data, [u8]>>,
    endian: RunTimeEndian,
}

impl<'data> PackageSections<'data> {
    pub(crate) fn load(object: &object::File<'data>) -> Result<Self, DwarfError> {
        let mut loader = Loader::default();
        let sections =
            gimli::DwarfPackageSections::load(|id| loader.section(object, id.dwo_name()))?;
        Ok(Self {
            sections,
            endian: endian(object),
        })
    }

    pub(crate) fn package(&self) -> Result<Package<'_>, DwarfError> {
        let endian = self.endian;
        let package = self.sections.borrow(
            |bytes| EndianSlice::new(bytes, endian),
            EndianSlice::new(&[], endian),
        )?;
        Ok(Package(package))
    }
}

/// Finds split-off units by their ID.
pub(crate) struct Package<'a>(gimli::DwarfPackage<Reader<'a>>);

fn endian(object: &object::File<'_>) -> RunTimeEndian {
    match object.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    }
}

/// Reads the sections of one file.
#[derive(Debug, Default)]
struct Loader {
    bytes: u64,
    uncompressed: u64,
}

impl Loader {
    fn section<'data>(
        &mut self,
        object: &object::File<'data>,
        name: Option<&str>,
    ) -> Result<Cow<'data, [u8]>, DwarfError> {
        // For this name, object also finds the older `.zdebug_info`.
        let Some(section) = name.and_then(|name| object.section_by_name(name)) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let data = section.compressed_data().map_err(DwarfError::Elf)?;
        if data.format != CompressionFormat::None {
            if !cfg!(feature = "compressed") {
                return Err(DwarfError::Compressed);
            }
            let length = u64::try_from(data.data.len()).unwrap_or(u64::MAX);
            let left = MAX_UNCOMPRESSED.saturating_sub(self.uncompressed);
            let most = length.saturating_mul(MAX_RATIO).max(ANY_UNCOMPRESSED);
            let most = most.min(left);
            let found = data.uncompressed_size;
            if found > most {
                return Err(DwarfError::TooLarge { most, found });
            }
            self.uncompressed += found;
        }
        let bytes = data.decompress().map_err(DwarfError::Elf)?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        Ok(bytes)
    }
}

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;
type Attribute<'a> = gimli::Attribute<Reader<'a>>;

/// The debug information of a file; only the parts that are needed are read.
pub(crate) struct Dwarf<'a> {
    dwarf: gimli::Dwarf<Reader<'a>>,
    units: Units<'a>,
    supplementary: OnceCell<Option<Units<'a>>>,
    budget: Budget,
}

/// One function at an address, before its name is demangled.
#[derive(Clone, Debug)]
pub(crate) struct RawFrame {
    pub(crate) function: Option<RawFunction>,
    pub(crate) file: Option<Rc<str>>,
    pub(crate) line: Option<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct RawFunction {
    pub(crate) symbol: Rc<Symbol>,
    /// Whether the unit is written in C, where the bare name is the linkage name.
    pub(crate) is_c: bool,
}

/// The name of a function, shared by all its addresses.
#[derive(Debug)]
pub(crate) struct Symbol {
    /// The linkage name, or the bare name if there is none.
    pub(crate) name: Box<str>,
    /// The generic arguments behind the bare name, such as `<u64>`.
    pub(crate) arguments: Option<Box<str>>,
    shown: OnceCell<Box<str>>,
}

impl Symbol {
    fn new(name: &[u8], bare: &[u8]) -> Rc<Self> {
        let start = bare.iter().position(|byte| *byte == b'<');
        let arguments = start.map(|start| String::from_utf8_lossy(&bare[start..]).into());
        Rc::new(Self {
            name: String::from_utf8_lossy(name).into(),
            arguments: arguments.filter(|_| start != Some(0)),
            shown: OnceCell::new(),
        })
    }

    /// Returns the name as it is shown; it is demangled only once.
    pub(crate) fn shown(&self) -> &str {
        let shown = || crate::name::shown(&self.name).into();
        self.shown.get_or_init(shown)
    }
}

/// The frames that DWARF has for one address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    /// Leaf first; the physical function last.
    pub(crate) frames: Vec<RawFrame>,
    /// Whether another file has more frames, and was not found.
    pub(crate) split: bool,
}

/// A reference to a `.dwo` file.
#[derive(Debug)]
pub(crate) struct SplitOff<'a> {
    pub(crate) id: u64,
    pub(crate) directory: Option<&'a [u8]>,
    pub(crate) name: Option<&'a [u8]>,
}

/// Finds the debug information that was split off a program.
pub(crate) trait Finder {
    fn package(&self) -> Option<&Package<'_>>;

    /// Calls `is_it` with each file that may be the right one, until it returns true.
    fn files(&self, split_off: &SplitOff<'_>, is_it: &mut dyn FnMut(&Sections<'_>) -> bool);
}

impl<'a> Dwarf<'a> {
    pub(crate) fn new(
        sections: &'a Sections<'_>,
        supplementary: Option<&'a Sections<'_>>,
    ) -> Result<Self, DwarfError> {
        let dwarf = sections.borrow(supplementary);
        let others = supplementary.map_or(0, |sections| sections.bytes);
        let budget = Budget::of(sections.bytes.saturating_add(others));
        let units = Units::new(&dwarf, &budget, |unit| match unit.line_program {
            Some(program) => lines::sequences(&dwarf, &unit.unit, program, &budget),
            None => Ok(Vec::new()),
        })?;
        Ok(Self {
            dwarf,
            units,
            supplementary: OnceCell::new(),
            budget,
        })
    }

    /// Returns whether all debug information is that of Rust's standard library, which every
    /// Rust program has even if it was built without debug information.
    pub(crate) fn is_only_of_std(&self) -> bool {
        unit::are_of_std(&self.dwarf, &self.units, &self.budget)
    }

    /// Returns the frames of the instructions at these addresses, which must be sorted and
    /// distinct.
    pub(crate) fn frames(
        &self,
        svmas: &[u64],
        finder: &dyn Finder,
        arguments: bool,
    ) -> Vec<Result<Frames, DwarfError>> {
        let mut found: Vec<Result<Frames, DwarfError>> = vec![Ok(Frames::default()); svmas.len()];
        let own = Origin {
            dwarf: &self.dwarf,
            units: Some(&self.units),
            budget: &self.budget,
            arguments,
        };
        let supplementary = self.dwarf.sup().and_then(|dwarf| {
            let units = || Units::without_ranges(dwarf).ok();
            let units = Some(self.supplementary.get_or_init(units).as_ref()?);
            Some(Origin {
                dwarf,
                units,
                ..own
            })
        });
        let mut names = Names::new(own, supplementary);
        // Most addresses belong to the first unit that claims them. The others are tried with
        // the next unit.
        let mut asking: Vec<usize> = (0..svmas.len()).collect();
        let mut nth = 0;
        while !asking.is_empty() {
            let mut by_unit: Vec<(usize, usize)> = Vec::with_capacity(asking.len());
            for index in asking.drain(..) {
                match self.units.claiming(svmas[index], nth, &self.budget) {
                    Ok(Some(unit)) => by_unit.push((unit, index)),
                    Ok(None) => {}
                    Err(err) => found[index] = Err(err),
                }
            }
            by_unit.sort_unstable();
            for of_one in by_unit.chunk_by(|a, b| a.0 == b.0) {
                let here: Vec<u64> = of_one.iter().map(|(_, index)| svmas[*index]).collect();
                let mut said = Said {
                    frames: vec![Ok(Vec::new()); here.len()],
                    split: false,
                    arguments,
                };
                let result = self.in_unit(of_one[0].0, &here, &mut names, finder, &mut said);
                for ((_, index), frames) in of_one.iter().zip(said.frames) {
                    match (result, frames) {
                        (Err(err), _) | (Ok(()), Err(err)) => found[*index] = Err(err),
                        (Ok(()), Ok(frames)) => {
                            let split =
                                said.split || found[*index].as_ref().is_ok_and(|found| found.split);
                            if frames.is_empty() {
                                asking.push(*index);
                            }
                            found[*index] = Ok(Frames { frames, split });
                        }
                    }
                }
            }
            nth += 1;
        }
        found
    }

    fn in_unit<'f>(
        &'f self,
        index: usize,
        svmas: &[u64],
        names: &mut Names<'f, 'a>,
        finder: &dyn Finder,
        said: &mut Said,
    ) -> Result<(), DwarfError> {
        let budget = &self.budget;
        let unit = Unit::read(&self.dwarf, self.units.headers[index], budget)?;
        let mut lines = Lines::find(&self.dwarf, &unit.unit, unit.line_program, svmas, budget)?;
        if let Some(id) = unit.unit.dwo_id {
            let split_off = SplitOff {
                id: id.0,
                directory: unit.unit.comp_dir.map(|directory| directory.slice()),
                name: unit.dwo_name(&self.dwarf, budget)?.map(|name| name.slice()),
            };
            match self.split_off(unit.skeleton(), &split_off, finder, svmas, &mut lines, said) {
                Some(result) => return result,
                None => said.split = true,
            }
        }
        let functions = Functions::find(&self.dwarf, &unit.unit, svmas, budget)?;
        said.collect(&unit, &functions, &mut lines, names, budget);
        Ok(())
    }

    /// Finds frames in the split-off part of a unit. Returns `None` if that part is not found.
    fn split_off(
        &self,
        skeleton: Skeleton,
        split_off: &SplitOff<'_>,
        finder: &dyn Finder,
        svmas: &[u64],
        lines: &mut Lines<'_, '_>,
        said: &mut Said,
    ) -> Option<Result<(), DwarfError>> {
        let budget = &self.budget;
        if let Some(Package(package)) = finder.package() {
            match package.find_cu(gimli::DwoId(split_off.id), &self.dwarf) {
                Ok(None) => {}
                Ok(Some(dwarf)) => {
                    return in_split_off(&dwarf, skeleton, svmas, lines, said, budget);
                }
                Err(err) => return Some(Err(err.into())),
            }
        }
        let mut result = None;
        finder.files(split_off, &mut |sections| {
            let mut dwarf = sections.borrow(None);
            dwarf.make_dwo(&self.dwarf);
            result = in_split_off(&dwarf, skeleton, svmas, lines, said, budget);
            result.is_some()
        });
        result
    }
}

fn in_split_off<'x>(
    dwarf: &gimli::Dwarf<Reader<'x>>,
    skeleton: Skeleton,
    svmas: &[u64],
    lines: &mut Lines<'_, '_>,
    said: &mut Said,
    budget: &Budget,
) -> Option<Result<(), DwarfError>> {
    // Type units may come first.
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(mut unit) = Unit::read(dwarf, header, budget) else {
            return None;
        };
        if unit.unit.dwo_id != skeleton.id {
            continue;
        }
        if let Some(id) = skeleton.id {
            budget.extend(id.0, header.length_including_self());
        }
        unit.take_from(skeleton);
        let functions = match Functions::find(dwarf, &unit.unit, svmas, budget) {
            Ok(functions) => functions,
            Err(err) => return Some(Err(err)),
        };
        let own = Origin {
            dwarf,
            units: None,
            budget,
            arguments: said.arguments,
        };
        said.collect(&unit, &functions, lines, &mut Names::new(own, None), budget);
        return Some(Ok(()));
    }
    None
}

const C: [gimli::DwLang; 5] = [
    gimli::DW_LANG_C,
    gimli::DW_LANG_C89,
    gimli::DW_LANG_C99,
    gimli::DW_LANG_C11,
    gimli::DW_LANG_C17,
];

/// The frames that one unit has for some addresses.
struct Said {
    frames: Vec<Result<Vec<RawFrame>, DwarfError>>,
    split: bool,
    /// Whether generic arguments are wanted.
    arguments: bool,
}

impl Said {
    fn collect<'a>(
        &mut self,
        unit: &Unit<'a>,
        functions: &Functions,
        lines: &mut Lines<'_, '_>,
        names: &mut Names<'_, 'a>,
        budget: &Budget,
    ) {
        let is_c = unit.language.is_some_and(|language| C.contains(&language));
        let mut name = |entry| -> Result<Option<RawFunction>, DwarfError> {
            let symbol = names.of(&unit.unit, entry)?;
            Ok(symbol.map(|symbol| RawFunction { symbol, is_c }))
        };
        // Debug information that has only line tables has entries for functions into which others
        // were inlined, and for no others. So a line that no entry has is the symbol's own, unless
        // the entries are in another file.
        let is_own = !self.split;
        for (index, (at, said)) in functions.at.iter().zip(&mut self.frames).enumerate() {
            let location = lines.location(index);
            *said = match at {
                Some(at) => frames(at, functions, location, lines, &mut name, budget),
                None => Ok(Vec::from_iter(location.filter(|_| is_own).map(
                    |(file, line)| RawFrame {
                        function: None,
                        file,
                        line,
                    },
                ))),
            };
        }
    }
}

/// Returns the frames at one address, leaf first.
fn frames(
    at: &Function,
    functions: &Functions,
    location: Option<(Option<Rc<str>>, Option<u32>)>,
    lines: &mut Lines<'_, '_>,
    mut name: impl FnMut(UnitOffset) -> Result<Option<RawFunction>, DwarfError>,
    budget: &Budget,
) -> Result<Vec<RawFrame>, DwarfError> {
    let mut frames = Vec::with_capacity(at.inlined.len() + 1);
    let (mut file, mut line) = location.unwrap_or_default();
    for call in at.inlined.iter().rev() {
        let call = functions.calls[*call];
        let function = name(call.entry)?;
        frames.push(RawFrame {
            function,
            file,
            line,
        });
        file = call.file.and_then(|file| lines.file(file));
        line = (call.line != 0).then_some(call.line);
    }
    let function = name(at.entry)?;
    frames.push(RawFrame {
        function,
        file,
        line,
    });
    // The strings are kept for each address, although they were read only once.
    for frame in &frames {
        let name = frame.function.as_ref().map_or(0, |f| f.symbol.name.len());
        let file = frame.file.as_ref().map_or(0, |file| file.len());
        budget.spend(name + file)?;
    }
    Ok(frames)
}
