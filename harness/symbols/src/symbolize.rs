use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use plimsoll_core::{Avma, SourceFrame, SymbolTable, SymbolTableBuilder};

use crate::BuildId;
use crate::bytes::{Bytes, ReadError};
use crate::debug_file;
use crate::dwarf::{Dwarf, DwarfError, RawFrame, Sections};
use crate::image::Image;
use crate::mapping::{MappedFile, Mappings};
use crate::name;
use crate::symbol_index::SymbolIndex;

/// Where else to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where debug information lies in files of its own, as in
    /// `/usr/lib/debug`. Empty: none is looked for, not even beside a file,
    /// since inlined frames are part of a stack's identity and would come and
    /// go with what a machine has installed.
    pub debug_directories: Vec<PathBuf>,
}

/// Finds what stands at each address, a return address, of a process with
/// these mappings.
///
/// Each file is opened once and closed before the next; the result depends on
/// nothing but the arguments and the files' contents.
pub fn symbolize(
    mappings: &[MappedFile],
    addresses: &BTreeSet<Avma>,
    options: &Options,
) -> SymbolTable {
    let mut table = SymbolTableBuilder::new();
    let by_address = Mappings::new(mappings);
    let mut files: BTreeMap<Source<'_>, Vec<(Avma, &MappedFile)>> = BTreeMap::new();
    for &address in addresses {
        let Some(mapping) = by_address.of_call(address) else {
            unresolved(&mut table, address, "[unmapped]".to_owned());
            continue;
        };
        match mapping.special() {
            Some(name) => unresolved(&mut table, address, name),
            None => files
                .entry(Source::of(mapping))
                .or_default()
                .push((address, mapping)),
        }
    }
    for (source, addresses) in files {
        let file = File {
            source,
            name: addresses[0].1.file_name(),
            mappings,
        };
        if let Err(note) = file.resolve(&addresses, options, &mut table) {
            table.note(note);
            for (address, mapping) in addresses {
                unresolved(&mut table, address, file.offset_name(address, mapping));
            }
        }
    }
    table.build()
}

fn unresolved(table: &mut SymbolTableBuilder, address: Avma, function: String) {
    table.count_unresolved();
    table.insert(
        address,
        vec![SourceFrame {
            function,
            file: None,
            line: None,
        }],
    );
}

/// What makes two mappings mappings of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source<'a> {
    path: &'a Path,
    open: Option<&'a Path>,
    deleted: bool,
    build_id: Option<&'a BuildId>,
}

impl<'a> Source<'a> {
    fn of(mapping: &'a MappedFile) -> Self {
        Self {
            path: &mapping.path,
            open: mapping.open.as_deref(),
            deleted: mapping.deleted,
            build_id: mapping.build_id.as_ref(),
        }
    }
}

#[derive(Debug)]
struct File<'a> {
    source: Source<'a>,
    name: String,
    mappings: &'a [MappedFile],
}

impl File<'_> {
    /// Names every address, or says why it named none.
    fn resolve(
        &self,
        addresses: &[(Avma, &MappedFile)],
        options: &Options,
        table: &mut SymbolTableBuilder,
    ) -> Result<(), String> {
        let unnamed = |err: ReadError| format!("{} {err}: its addresses have no names", self.name);
        let path = match self.source.open {
            Some(path) => path,
            None if self.source.deleted => {
                let name = &self.name;
                return Err(format!(
                    "{name} was deleted or replaced: its addresses have no names"
                ));
            }
            None => self.source.path,
        };
        let bytes = Bytes::open(path).map_err(unnamed)?;
        let image = Image::parse(&bytes).map_err(unnamed)?;
        self.check_build_id(&image)?;

        let own_sections = Sections::load(&image.object);
        let elsewhere = matches!(own_sections, Ok(None)) && !options.debug_directories.is_empty();
        let debug_bytes = elsewhere
            .then(|| debug_file::find(&image, path, &options.debug_directories))
            .flatten();
        let debug_image = debug_bytes
            .as_deref()
            .and_then(|bytes| Image::parse(bytes).ok());
        // A debug file has the symbol table as well.
        let (names_image, sections) = match &debug_image {
            Some(debug) => (debug, Sections::load(&debug.object)),
            None => (&image, own_sections),
        };
        let dwarf = match &sections {
            Ok(None) => Ok(None),
            Ok(Some(sections)) => Dwarf::new(sections).map(Some),
            Err(DwarfError::Compressed) => {
                table.note(format!(
                    "the debug information of {} is compressed, which this build does not read: \
                     names from its symbol table",
                    self.name
                ));
                Ok(None)
            }
            Err(_) => Ok(None),
        };
        if let Some(err) = sections.as_ref().err().or(dwarf.as_ref().err())
            && !matches!(err, DwarfError::Compressed)
        {
            table.note(self.damaged(err));
        }
        let had_debug_info = !matches!(sections, Ok(None));
        let names = Names {
            image: names_image,
            dwarf: dwarf.ok().flatten(),
            symbols: OnceCell::new(),
        };

        let mut named = false;
        for (address, mapping) in addresses {
            let call = (address.0 - mapping.start - 1).wrapping_add(mapping.file_offset);
            let Some(svma) = image.svma(call) else {
                unresolved(table, *address, self.offset_name(*address, mapping));
                continue;
            };
            match names.lookup(svma) {
                Lookup::Full(frames) => {
                    table.insert(*address, frames);
                }
                Lookup::Symbol(frame, trouble) => {
                    named = true;
                    table.count_without_debug_info();
                    table.insert(*address, vec![frame]);
                    self.note_trouble(trouble, table);
                }
                Lookup::Nothing(trouble) => {
                    let at = image.relative(svma.wrapping_add(1));
                    unresolved(table, *address, format!("{}+{at:#x}", self.name));
                    self.note_trouble(trouble, table);
                }
            }
        }
        let only_of_std = || named && names.dwarf.as_ref().is_some_and(Dwarf::is_only_of_std);
        if !had_debug_info || only_of_std() {
            let but = if had_debug_info {
                " but the standard library's"
            } else {
                ""
            };
            let instead = if named {
                "names from its symbol table"
            } else {
                "these addresses have no names"
            };
            table.note(format!(
                "{} has no debug information{but}: {instead}",
                self.name
            ));
        }
        Ok(())
    }

    fn check_build_id(&self, image: &Image<'_>) -> Result<(), String> {
        let Some(expected) = self.source.build_id else {
            return Ok(());
        };
        let found = image.build_id();
        if found.as_ref() == Some(expected) {
            return Ok(());
        }
        let found = found.map_or_else(|| "none".to_owned(), |id| id.to_string());
        Err(format!(
            "{} is not the file that was mapped: expected build ID {expected}, found {found}: \
             its addresses have no names",
            self.name
        ))
    }

    fn damaged(&self, err: &DwarfError) -> String {
        format!(
            "some debug information of {} cannot be read: {err}",
            self.name
        )
    }

    fn note_trouble(&self, trouble: Option<Trouble>, table: &mut SymbolTableBuilder) {
        match trouble {
            None => {}
            Some(Trouble::Damaged(err)) => {
                table.note(self.damaged(&err));
            }
            Some(Trouble::Split) => {
                table.note(format!(
                    "some debug information of {} is in separate .dwo files, which are not read",
                    self.name
                ));
            }
        }
    }

    /// `module+0x1234`, from the mappings alone.
    fn offset_name(&self, address: Avma, mapping: &MappedFile) -> String {
        // The first page of the file; of a library that is loaded twice, the
        // nearer one.
        let starts = self.mappings.iter().filter(|other| {
            other.path == mapping.path && other.file_offset == 0 && other.start <= address.0
        });
        let start = starts.map(|other| other.start).max();
        let start = start.unwrap_or(mapping.start.saturating_sub(mapping.file_offset));
        format!("{}+{:#x}", self.name, address.0 - start)
    }
}

/// Why the debug information had no answer, where it should have had one.
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

/// All that one file says of its addresses.
struct Names<'a, 'data> {
    image: &'a Image<'data>,
    dwarf: Option<Dwarf<'a>>,
    /// Rarely asked where there is DWARF with linkage names.
    symbols: OnceCell<SymbolIndex<'data>>,
}

impl Names<'_, '_> {
    fn lookup(&self, svma: u64) -> Lookup {
        let mut trouble = None;
        let mut frames = match self.dwarf.as_ref().map(|dwarf| dwarf.frames(svma)) {
            None => Vec::new(),
            Some(Ok(found)) => {
                trouble = found.split.then_some(Trouble::Split);
                found.frames
            }
            Some(Err(err)) => {
                trouble = Some(Trouble::Damaged(err));
                Vec::new()
            }
        };
        let physical = frames.pop();
        match physical {
            Some(RawFrame {
                function: Some(function),
                file,
                line,
            }) => {
                // With `debug = "line-tables-only"` DWARF has `push` where the
                // symbol table has `alloc::vec::Vec<T>::push`.
                let is_linkage_name = function.is_c || name::is_mangled(&function.symbol);
                let full = if is_linkage_name {
                    None
                } else {
                    self.symbol(svma, Some(&function.symbol))
                };
                let full = full.unwrap_or_else(|| name::shown(&function.symbol));
                let mut frames: Vec<SourceFrame> = frames.into_iter().map(shown).collect();
                frames.push(SourceFrame {
                    function: full,
                    file,
                    line,
                });
                Lookup::Full(frames)
            }
            // Code of a unit whose functions are elsewhere: at least a line.
            other => match self.symbol(svma, None) {
                Some(function) => {
                    let (file, line) = other.map_or((None, None), |frame| (frame.file, frame.line));
                    Lookup::Symbol(
                        SourceFrame {
                            function,
                            file,
                            line,
                        },
                        trouble,
                    )
                }
                None => Lookup::Nothing(trouble),
            },
        }
    }

    fn symbol(&self, svma: u64, bare: Option<&str>) -> Option<String> {
        self.symbols
            .get_or_init(|| self.image.symbols())
            .find(svma, bare)
    }
}

fn shown(frame: RawFrame) -> SourceFrame {
    let function = frame
        .function
        .map_or_else(|| "[inlined]".to_owned(), |f| name::shown(&f.symbol));
    SourceFrame {
        function,
        file: frame.file,
        line: frame.line,
    }
}
