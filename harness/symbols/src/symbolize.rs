use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use plimsoll_core::{Avma, Lacks, SmallMap, SourceFrame, SymbolTable};

use crate::BuildId;
use crate::bytes::{Bytes, ReadError};
use crate::debug_file::{Places, SplitOffFiles};
use crate::dwarf::{Dwarf, DwarfError, Frames, PackageSections, RawFrame, SectionSet, Sections};
use crate::image::Image;
use crate::mapping::{MappedFile, Mappings};
use crate::symbol_index::SymbolIndex;
use crate::sysroot;
use crate::{mini_debug_info, name};

/// Where to look for files. By default, only where the process saw them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The path at which the program is now. It is read in place of the first executable file
    /// among the mappings.
    pub exe: Option<PathBuf>,
    /// The directory that was `/` for the process. It is put before every mapped path, and
    /// symbolic links stay inside it. A file that is missing in it is not read from this
    /// machine instead.
    pub sysroot: Option<PathBuf>,
    /// Directories with separate debug files, such as `/usr/lib/debug`.
    ///
    /// If this is empty, no debug file is looked for, not even beside a file. Inlined frames
    /// are part of a stack's identity, and would otherwise depend on what a machine has
    /// installed. If not, each file's debug information is looked for by build ID and by debug
    /// link. Also looked for is what `dwz` moved out of the file.
    ///
    /// `.dwo` files and `.dwp` packages, in which a compiler puts debug information (split
    /// DWARF), are a part of the build. So they are always read: where the program says that
    /// they are, beside it, or in one of these directories.
    pub debug_directories: Vec<PathBuf>,
    /// Whether to read a file that is known to differ from the one that was mapped, with a
    /// note.
    pub force: bool,
    /// Whether frames have their [generic arguments](SourceFrame::arguments).
    pub arguments: bool,
}

/// Finds the functions and source lines at addresses of a process with these mappings. Every
/// address is a return address.
///
/// Each file is opened once, and closed before the next one. The result depends only on the
/// arguments and the contents of the files.
pub fn symbolize(
    mappings: &[MappedFile],
    addresses: &BTreeSet<Avma>,
    options: &Options,
) -> SymbolTable {
    let mut table = SymbolTable::default();
    let files_of = Files::new(mappings, options);
    let by_address = Mappings::new(mappings);
    let mut files: SmallMap<Source<'_>, Vec<(Avma, &MappedFile)>> = SmallMap::default();
    for &address in addresses {
        let Some(mapping) = by_address.of_call(address) else {
            unresolved(&mut table, address, "[unmapped]".to_owned());
            continue;
        };
        match mapping.special() {
            Some(name) => unresolved(&mut table, address, name),
            None => {
                let addresses = files.or_default(Source::of(mapping));
                addresses.push((address, mapping));
            }
        }
    }
    let mut refused: SmallMap<String, Vec<String>> = SmallMap::default();
    for (_, addresses) in files {
        let file = files_of.file(addresses[0].1);
        if let Err(why) = file.resolve(&addresses, &mut table) {
            for (address, mapping) in addresses {
                unresolved(&mut table, address, file.offset_name(address, mapping));
            }
            refused.or_default(why).push(file.name);
        }
    }
    for (why, files) in refused {
        table.note(refusal(&why, &files));
    }
    table
}

/// Says of some files why their addresses have no names.
fn refusal(why: &str, files: &[String]) -> String {
    if let [file] = files {
        return format!("{file} {why}: its addresses have no names");
    }
    let why = match why.split_once(' ') {
        Some(("was", what)) => format!("were {what}"),
        Some(("is", what)) => format!("are {what}"),
        _ => why.to_owned(),
    };
    format!("{} {why}: their addresses have no names", listed(files))
}

/// Lists the names of files: `a and b`, `a, b, c and 10 other files`.
fn listed(files: &[String]) -> String {
    const LISTED: usize = 3;
    match files {
        [most @ .., last] if most.len() <= LISTED => format!("{} and {last}", most.join(", ")),
        _ => {
            let (most, others) = files.split_at(LISTED);
            format!("{} and {} other files", most.join(", "), others.len())
        }
    }
}

/// Returns the build ID of each mapping's file.
///
/// A build ID that the mapping has is returned as it is. Otherwise it is read from the file
/// that [`symbolize`] would read, unless that is known to be another file. Mappings that are
/// not executable are not read, because whole heaps may be mapped from files.
pub fn build_ids(mappings: &[MappedFile], options: &Options) -> Vec<Option<BuildId>> {
    let files = Files::new(mappings, options);
    let mut known: BTreeMap<Source<'_>, Option<BuildId>> = BTreeMap::new();
    let ids = mappings.iter().map(|mapping| {
        if !mapping.executable || mapping.special().is_some() {
            return mapping.build_id.clone();
        }
        let id = known.entry(Source::of(mapping));
        id.or_insert_with(|| files.file(mapping).build_id()).clone()
    });
    ids.collect()
}

fn unresolved(table: &mut SymbolTable, address: Avma, function: String) {
    table.unresolved += 1;
    table
        .frames
        .insert(address, vec![SourceFrame::named(function)]);
}

const DELETED: &str = "was deleted or replaced";

/// The properties that are equal for all mappings of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source<'a> {
    path: &'a Path,
    open: Option<&'a Path>,
    deleted: bool,
    build_id: Option<&'a BuildId>,
    inode: Option<u64>,
}

impl<'a> Source<'a> {
    fn of(mapping: &'a MappedFile) -> Self {
        Self {
            path: &mapping.path,
            open: mapping.open.as_deref(),
            deleted: mapping.deleted,
            build_id: mapping.build_id.as_ref(),
            inode: mapping.inode,
        }
    }
}

/// What is known of all files together.
struct Files<'a> {
    /// The path of the file that the caller has opened, else of the first executable file, else of
    /// the first file. An emulator's own file can be the first executable one.
    program: Option<&'a Path>,
    /// The addresses at which the first page of each file is mapped, by the file's path.
    first_pages: HashMap<&'a Path, Vec<u64>>,
    options: &'a Options,
}

impl<'a> Files<'a> {
    fn new(mappings: &'a [MappedFile], options: &'a Options) -> Self {
        let files = || mappings.iter().filter(|file| file.special().is_none());
        let program = files().find(|file| file.open.is_some());
        let program = program.or_else(|| files().find(|file| file.executable));
        let program = program.or_else(|| files().next());
        let mut first_pages = HashMap::<&Path, Vec<u64>>::new();
        for mapping in mappings.iter().filter(|mapping| mapping.file_offset == 0) {
            let pages = first_pages.entry(&mapping.path).or_default();
            pages.push(mapping.start);
        }
        Files {
            program: program.map(|file| file.path.as_path()),
            first_pages,
            options,
        }
    }

    fn file(&'a self, mapping: &'a MappedFile) -> File<'a> {
        File {
            source: Source::of(mapping),
            name: mapping.file_name(),
            files: self,
            options: self.options,
        }
    }
}

struct File<'a> {
    source: Source<'a>,
    name: String,
    files: &'a Files<'a>,
    options: &'a Options,
}

impl File<'_> {
    /// Names every address, or returns why it named none: what the file "was" or "is" or cannot.
    fn resolve(
        &self,
        addresses: &[(Avma, &MappedFile)],
        table: &mut SymbolTable,
    ) -> Result<(), String> {
        let unnamed = |err: ReadError| err.to_string();
        let (path, _) = self.path();
        let replaced = self.is_replaced();
        if replaced && self.source.build_id.is_none() && !self.options.force {
            return Err(DELETED.to_owned());
        }
        let bytes = Bytes::open(&path).map_err(|err| match err {
            ReadError::Io(_) if replaced => DELETED.to_owned(),
            err => unnamed(err),
        })?;
        let image = Image::parse(&bytes).map_err(unnamed)?;
        self.check_build(&image, &bytes, table)?;

        let places = Places {
            opened: &path,
            mapped: self.source.path,
            directories: &self.options.debug_directories,
            sysroot: self.options.sysroot.as_deref(),
        };
        let elsewhere = !places.directories.is_empty();
        let own_sections = Sections::load(&image.object, SectionSet::Whole);
        let debug_file = (elsewhere && matches!(own_sections, Ok(None)))
            .then(|| places.debug_file(&image))
            .flatten();
        let debug_image = debug_file.as_ref();
        let debug_image = debug_image.and_then(|file| Image::parse(&file.bytes).ok());
        // A debug file also has the symbol table.
        let (names_image, sections) = match &debug_image {
            Some(debug) => (debug, Sections::load(&debug.object, SectionSet::Whole)),
            None => (&image, own_sections),
        };
        let debug_path = debug_file.as_ref().map(|file| file.path.as_path());
        let supplementary = elsewhere
            .then(|| places.supplementary(names_image, debug_path.unwrap_or(&path)))
            .flatten();
        if let Some((other, None)) = &supplementary {
            table.note(format!(
                "some debug information of {} is in {other}, which was not found",
                self.name
            ));
        }
        let supplementary = supplementary.and_then(|(_, found)| found);
        let supplementary = supplementary.as_ref().and_then(|found| {
            let image = Image::parse(&found.bytes).ok()?;
            Sections::load(&image.object, SectionSet::Whole).ok()?
        });
        let dwarf = self.dwarf(&sections, supplementary.as_ref(), table);
        let had_debug_info = !matches!(sections, Ok(None));

        let svma_of = |address: Avma, mapping: &MappedFile| {
            image.svma((address.0 - mapping.start - 1).wrapping_add(mapping.file_offset))
        };
        let svmas = addresses.iter();
        let svmas = svmas.filter_map(|(address, mapping)| svma_of(*address, mapping));
        let mut svmas: Vec<u64> = svmas.collect();
        svmas.sort_unstable();
        svmas.dedup();
        let package = places.package(debug_path);
        let package = package.as_ref().and_then(|bytes| {
            let image = Image::parse(bytes).ok()?;
            PackageSections::load(&image.object).ok()
        });
        let split_off = SplitOffFiles {
            places: &places,
            package: package.as_ref().and_then(|package| package.package().ok()),
        };
        let frames = dwarf
            .as_ref()
            .map(|dwarf| dwarf.frames(&svmas, &split_off, self.options.arguments));
        let is_mini = mini_debug_info::is_in(names_image);
        let mini = is_mini.then(|| mini_debug_info::unpack(names_image));
        let mini = mini.flatten();
        let names = Names {
            image: names_image,
            svmas: &svmas,
            mini: mini.as_deref().and_then(|mini| Image::parse(mini).ok()),
            symbols: OnceCell::new(),
        };

        let mut named = false;
        // Whoever builds the program can have it built otherwise.
        let is_program = self.files.program == Some(self.source.path);
        for (address, mapping) in addresses {
            let Some(svma) = svma_of(*address, mapping) else {
                unresolved(table, *address, self.offset_name(*address, mapping));
                continue;
            };
            let frames = frames.as_ref().and_then(|frames| {
                let index = svmas.binary_search(&svma).ok()?;
                Some(&frames[index])
            });
            match names.lookup(svma, frames) {
                Lookup::Full(frames) => {
                    table.frames.insert(*address, frames);
                }
                Lookup::Symbol(frame, trouble) => {
                    named = true;
                    table.without_debug_info += 1;
                    let lacks = match trouble {
                        None => Some(Lacks::DebugInfo),
                        Some(Trouble::Split) => Some(Lacks::SplitFiles),
                        Some(Trouble::Damaged(_)) => None,
                    };
                    // A library in C that is linked to the program is built by others.
                    let lacks = lacks.filter(|_| is_program && is_rust(&frame.function));
                    table.lacks.extend(lacks.map(|lacks| (*address, lacks)));
                    table.frames.insert(*address, vec![frame]);
                    self.note_trouble(trouble, table);
                }
                Lookup::Nothing(trouble) => {
                    if is_program {
                        table.lacks.insert(*address, Lacks::Stripped);
                    }
                    let at = image.relative(svma.wrapping_add(1));
                    unresolved(table, *address, format!("{}+{at:#x}", self.name));
                    self.note_trouble(trouble, table);
                }
            }
        }
        if elsewhere && is_mini && names.mini.is_none() {
            self.note_mini(table);
        }
        let only_of_std = || named && dwarf.as_ref().is_some_and(Dwarf::is_only_of_std);
        if !had_debug_info || only_of_std() {
            self.note_no_debug_info(had_debug_info, named, table);
        }
        Ok(())
    }

    /// Checks that the file is the one that was mapped, as far as anything tells.
    fn check_build(
        &self,
        image: &Image<'_>,
        bytes: &Bytes,
        table: &mut SymbolTable,
    ) -> Result<(), String> {
        let replaced = self.is_replaced();
        match self.other_build(image) {
            Some(other) if self.options.force => {
                table.note(format!("{} {other}: its names may be wrong", self.name));
            }
            Some(_) if replaced => return Err(DELETED.to_owned()),
            Some(other) => return Err(other),
            None if self.source.build_id.is_some() => {}
            None if replaced => {
                table.note(format!("{} {DELETED}: its names may be wrong", self.name));
            }
            // The caller chose this file, or another root, so another inode is expected.
            None if self.path().1 || self.options.sysroot.is_some() => {}
            None => {
                if let Some(inode) = self.source.inode
                    && bytes.inode != Some(inode)
                {
                    let found = bytes.inode.map(|inode| inode.to_string());
                    table.note(format!(
                        "{} was replaced since, or is a copy: expected inode {inode}, found {}, \
                         and no build ID is known: its names may be wrong",
                        self.name,
                        found.as_deref().unwrap_or("none")
                    ));
                }
            }
        }
        Ok(())
    }

    /// Reads debug information, and notes why it cannot be read.
    fn dwarf<'s>(
        &self,
        sections: &'s Result<Option<Sections>, DwarfError>,
        supplementary: Option<&'s Sections>,
        table: &mut SymbolTable,
    ) -> Option<Dwarf<'s>> {
        let dwarf = match sections {
            Ok(sections) => Dwarf::new(sections.as_ref()?, supplementary),
            Err(err) => Err(*err),
        };
        let name = &self.name;
        let note = match dwarf {
            Ok(dwarf) => return Some(dwarf),
            Err(DwarfError::Compressed) => format!(
                "the debug information of {name} is compressed, which this build does not read: \
                 names from its symbol table"
            ),
            Err(err) => self.damaged(&err),
        };
        table.note(note);
        None
    }

    fn note_mini(&self, table: &mut SymbolTable) {
        let (name, section) = (&self.name, mini_debug_info::SECTION);
        let but = match cfg!(feature = "minidebuginfo") {
            true => "is damaged",
            false => "this build does not read",
        };
        table.note(format!(
            "the symbol table of {name} is in its section {section}, which {but}"
        ));
    }

    fn note_no_debug_info(&self, has_std: bool, named: bool, table: &mut SymbolTable) {
        let name = &self.name;
        let but = match has_std {
            true => " but the standard library's",
            false => "",
        };
        let instead = match named {
            true => "names from its symbol table",
            false => "these addresses have no names",
        };
        table.note(format!("{name} has no debug information{but}: {instead}"));
    }

    /// Returns whether another file is at the path now. A build ID may show that it is a copy.
    fn is_replaced(&self) -> bool {
        self.source.deleted && !self.path().1
    }

    fn build_id(&self) -> Option<BuildId> {
        if let Some(known) = self.source.build_id {
            return Some(known.clone());
        }
        if self.is_replaced() {
            return None;
        }
        let (path, given) = self.path();
        let bytes = Bytes::open(&path).ok()?;
        let is_copy = given || self.options.sysroot.is_some();
        let is_it = is_copy
            || self
                .source
                .inode
                .is_none_or(|inode| bytes.inode == Some(inode));
        Image::parse(&bytes).ok().filter(|_| is_it)?.build_id()
    }

    /// Returns where to read the file, and whether the caller has chosen this path for it.
    fn path(&self) -> (PathBuf, bool) {
        let Source { path, open, .. } = self.source;
        match (open, &self.options.exe, &self.options.sysroot) {
            (Some(open), _, _) => (open.to_owned(), true),
            (None, Some(exe), _) if self.files.program == Some(path) => (exe.clone(), true),
            (None, _, Some(root)) => (sysroot::resolve(root, path), false),
            (None, _, None) => (path.to_owned(), false),
        }
    }

    /// Returns a message if the build ID shows that this is not the file that was mapped.
    fn other_build(&self, image: &Image<'_>) -> Option<String> {
        let expected = self.source.build_id?;
        let found = image.build_id();
        if found.as_ref() == Some(expected) {
            return None;
        }
        let found = found.map_or_else(|| "none".to_owned(), |id| id.to_string());
        Some(format!(
            "is not the file that was mapped: expected build ID {expected}, found {found}"
        ))
    }

    fn damaged(&self, err: &DwarfError) -> String {
        let name = &self.name;
        format!("some debug information of {name} cannot be read: {err}")
    }

    fn note_trouble(&self, trouble: Option<Trouble>, table: &mut SymbolTable) {
        let name = &self.name;
        let note = match trouble {
            None => return,
            Some(Trouble::Damaged(err)) => self.damaged(&err),
            Some(Trouble::Split) => format!(
                "some debug information of {name} is in separate .dwo files, which were not found"
            ),
        };
        table.note(note);
    }

    /// Returns `module+0x1234`, computed from the mappings alone.
    fn offset_name(&self, address: Avma, mapping: &MappedFile) -> String {
        // The distance is from the file's first page. A library that is loaded twice has two of
        // them; then the nearer one counts.
        let starts = self.files.first_pages.get(self.source.path);
        let starts = starts.into_iter().flatten().copied();
        let start = starts.filter(|start| *start <= address.0).max();
        let start = start.unwrap_or(mapping.start.saturating_sub(mapping.file_offset));
        format!("{}+{:#x}", self.name, address.0 - start)
    }
}

fn is_rust(function: &str) -> bool {
    function.contains("::") || function.starts_with('<')
}

/// Why the debug information has no answer for an address although it should.
#[derive(Debug)]
enum Trouble {
    Damaged(DwarfError),
    Split,
}

#[derive(Debug)]
enum Lookup {
    Full(Vec<SourceFrame>),
    Symbol(SourceFrame, Option<Trouble>),
    Nothing(Option<Trouble>),
}

/// The names in one file.
struct Names<'a, 'data> {
    image: &'a Image<'data>,
    /// The addresses that are looked up, sorted.
    svmas: &'a [u64],
    mini: Option<Image<'data>>,
    /// Made on demand, because DWARF with linkage names rarely needs it.
    symbols: OnceCell<SymbolIndex<'data>>,
}

impl Names<'_, '_> {
    fn lookup(&self, svma: u64, frames: Option<&Result<Frames, DwarfError>>) -> Lookup {
        let (frames, trouble) = match frames {
            None => (&[][..], None),
            Some(Ok(found)) => (&found.frames[..], found.split.then_some(Trouble::Split)),
            Some(Err(err)) => (&[][..], Some(Trouble::Damaged(*err))),
        };
        let physical = frames.split_last();
        if let Some((physical, inlined)) = physical
            && let Some(function) = &physical.function
        {
            // With `debug = "line-tables-only"`, DWARF says `push` where the symbol table says
            // `alloc::vec::Vec<T>::push`.
            let symbol = &function.symbol;
            let full = match function.is_c || name::is_mangled(&symbol.name) {
                true => None,
                false => self.symbol(svma, Some(&symbol.name)),
            };
            let full = full.unwrap_or_else(|| symbol.shown().to_owned());
            let inlined = inlined.iter().map(|frame| {
                let function = frame.function.as_ref();
                let function = function.map_or("[inlined]", |function| function.symbol.shown());
                at_source(function.to_owned(), frame)
            });
            return Lookup::Full(inlined.chain([at_source(full, physical)]).collect());
        }
        match (self.symbol(svma, None), physical) {
            // Nothing was inlined here.
            (Some(function), Some((line, []))) => Lookup::Full(vec![at_source(function, line)]),
            (Some(function), _) => Lookup::Symbol(SourceFrame::named(function), trouble),
            (None, _) => Lookup::Nothing(trouble),
        }
    }

    fn symbol(&self, svma: u64, bare: Option<&str>) -> Option<String> {
        let mini = self.mini.as_ref().map(|mini| &mini.object);
        let symbols = self
            .symbols
            .get_or_init(|| self.image.symbols(mini, self.svmas));
        symbols.find(svma, bare)
    }
}

fn at_source(function: String, frame: &RawFrame) -> SourceFrame {
    let symbol = frame.function.as_ref().map(|function| &function.symbol);
    SourceFrame {
        function,
        file: frame.file.as_deref().map(str::to_owned),
        line: frame.line,
        arguments: symbol.and_then(|symbol| symbol.arguments.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_refused_for_one_reason_are_one_note() {
        let said = |why: &str, files: usize| {
            let names: Vec<String> = (0..files).map(|file| format!("lib{file}.so")).collect();
            refusal(why, &names)
        };
        let one = "lib0.so was deleted or replaced: its addresses have no names";
        assert_eq!(said(DELETED, 1), one);
        let two = "lib0.so and lib1.so were deleted or replaced: their addresses have no names";
        assert_eq!(said(DELETED, 2), two);
        let four = "lib0.so, lib1.so, lib2.so and lib3.so cannot be read: why: their addresses have \
                    no names";
        assert_eq!(said("cannot be read: why", 4), four);
        let many = "lib0.so, lib1.so, lib2.so and 10 other files are not a readable ELF file: \
                    their addresses have no names";
        assert_eq!(said("is not a readable ELF file", 13), many);
    }
}
