//! Turns addresses in mapped ELF files into functions, files, lines and inlined frames.
//!
//! ```text
//! mappings  ── MappedFile ────┐   where each file lay in the measured process
//! addresses ── Avma ──────────┼─► symbolize ──► SymbolTable
//! files     ── read here ─────┘   DWARF, else a symbol table, else module+0x1234
//! ```
//!
//! An address has a value in each of four spaces. The values are often equal, which hides
//! mistakes:
//!
//! ```text
//! AVMA              in the process, as the dump prints it
//!   − mapping start + mapping's file offset
//! file offset       in the ELF file
//!   − p_offset + p_vaddr, of the PT_LOAD segment that holds it
//! SVMA              as DWARF and symbol tables write it
//!   − lowest p_vaddr, rounded down to its page
//! relative address  from where the image starts; what `module+0x1234` shows
//! ```
//!
//! Every address is taken for a return address, so the byte before it is looked up. The call is
//! there.
//!
//! Below the front, this is the only crate that reads files. It reads the files that the
//! mappings name and, if the caller asks for it ([`Options`]), their debug files or the same
//! files elsewhere. If a file cannot be used, the run goes on without its names: the
//! [`SymbolTable`](plimsoll_core::SymbolTable) gets a note, and the file's addresses count as
//! unresolved.
//!
//! ```
//! use std::collections::BTreeSet;
//!
//! use plimsoll_core::Avma;
//! use plimsoll_symbols::{Options, symbolize};
//!
//! // An address that is in no mapping has a name all the same.
//! let nowhere = Avma(0x1234);
//! let names = symbolize(&[], &BTreeSet::from([nowhere]), &Options::default());
//! assert_eq!(names.get(nowhere)[0].function, "[unmapped]");
//! ```
//!
//! # Another build
//!
//! Names from another build are wrong but look right. If a mapping has a build ID, a file with
//! another build ID is refused. jemalloc's own format has no build IDs in its mappings. Then a
//! file that was deleted or replaced while the process ran is refused, and a file with another
//! inode is read with a note ([`MappedFile::inode`]). Any other file is trusted. With
//! [`Options::force`], a file is read with a note instead of being refused.
//!
//! # Hostile files
//!
//! A file may come with a dump from anywhere, so its contents are not trusted. No recursion
//! depends on them. Work and memory are in proportion to the file's size, whatever refers to
//! what: whatever is read is paid for from a budget. This crate was once built on `addr2line`,
//! which recurses for each level of inlining; 20 kB of such levels overflow a stack.
//!
//! # Incomplete support
//!
//! Compressed sections need the feature `compressed`, Fedora's `.gnu_debugdata` needs
//! `minidebuginfo`. Without these features, a note says that such a section was found. Without
//! `cpp`, C++ names stay mangled.
//!
//! Not followed are references from one `.dwo` file to another, DWARF 5's `.debug_sup`, and
//! names of functions in type units. These names come from the symbol table. A debug file
//! without its program cannot be used, because it has no addresses to look up.
#![deny(unsafe_code)]

mod build_id;
mod bytes;
mod debug_file;
mod dwarf;
mod image;
mod mapping;
mod mini_debug_info;
mod name;
mod source;
mod symbol_index;
mod symbolize;
mod sysroot;
mod variables;

pub use build_id::BuildId;
pub use mapping::MappedFile;
pub use source::source_files;
pub use symbolize::{Options, build_ids, symbolize};
pub use variables::Variables;
