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
//! mappings name, and, where the caller asks for it, their debug files. A file
//! that cannot be used costs names, never the run: it becomes a note in the
//! [`SymbolTable`](plimsoll_core::SymbolTable) and its addresses are counted as
//! unresolved.
//!
//! # Incomplete support
//!
//! Not read: split DWARF (`.dwo`, `.dwp`), and, without the feature
//! `compressed`, compressed sections; both are noted where they are met. What
//! `dwz` moved to a `.gnu_debugaltlink` file is missing silently: such names
//! come from the symbol table. Files are expected to be damaged, but not built
//! to attack: `addr2line` recurses once for each level of inlining.
#![deny(unsafe_code)]

mod build_id;
mod bytes;
mod debug_file;
mod dwarf;
mod image;
mod mapping;
mod name;
mod symbol_index;
mod symbolize;

pub use build_id::{BuildId, build_id};
pub use bytes::ReadError;
pub use mapping::MappedFile;
pub use symbolize::{Options, symbolize};
