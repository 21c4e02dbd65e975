//! Addresses of mapped ELF files to function, file, line and inlined frames.
//!
//! ```text
//! mappings  ── MappedFile ────┐   where each file lay in the measured process
//! addresses ── Avma ──────────┼─► symbolize ──► SymbolTable
//! files     ── read here ─────┘   DWARF, else a symbol table, else module+0x1234
//! ```
//!
//! An address goes through three spaces, which are equal often enough to hide
//! a mistake:
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
//! Every address is taken for a return address and looked up one byte before,
//! where the call is.
//!
//! This is the one crate below the front that reads files: those that the
//! mappings name, and, where the caller asks for it ([`Options`]), their debug
//! files, or the same files elsewhere. A file that cannot be used costs names,
//! never the run: it becomes a note in the
//! [`SymbolTable`](plimsoll_core::SymbolTable) and its addresses are counted as
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
//! Names from another build are wrong and look right. Where a mapping has a build
//! ID, a file with another one is refused. jemalloc's own format has none in its
//! mappings; then a file that was deleted or replaced while the process ran is
//! refused, one with another inode is read and noted
//! ([`MappedFile::inode`]), and anything else is believed. [`Options::force`]
//! turns a refusal into a note.
//!
//! # Hostile files
//!
//! A file may come with a dump from anywhere, so it is expected to lie. Nothing
//! recurses by what it says, and it pays for what is read: work and memory are in
//! proportion to its size, whatever refers to what. `addr2line`, which this was
//! built on, recurses once for each level of inlining, and 20 kB of those are more
//! than a stack takes.
//!
//! # Incomplete support
//!
//! Without the feature `compressed`, compressed sections are not read, without
//! `minidebuginfo` Fedora's `.gnu_debugdata`, and without `cpp` C++ names stay
//! mangled; the first two are noted where they are met. A `.dwo` file's references
//! to others of its kind, DWARF 5's own `.debug_sup` and names of functions in type
//! units are not followed: such names come from the symbol table. A debug file
//! without its program has no addresses to be found by.
#![deny(unsafe_code)]

mod build_id;
mod bytes;
mod debug_file;
mod dwarf;
mod image;
mod mapping;
mod mini_debug_info;
mod name;
mod symbol_index;
mod symbolize;
mod sysroot;

pub use build_id::BuildId;
pub use bytes::ReadError;
pub use image::build_id;
pub use mapping::MappedFile;
pub use symbolize::{Options, build_ids, symbolize};
