//! Parses the text that jemalloc writes for `prof.dump`.
//!
//! ```text
//! heap_v2/524288              mean bytes between samples
//!   t*: 1: 1024 [1: 1024]     the process: live objects: bytes [ever: bytes]
//!   t0: 1: 1024 [1: 1024] main    a thread, with its name if it has one
//! @ 0x55d0c0de 0x55d0beef     a stack of return addresses, leaf first
//!   t*: 1: 1024 [1: 1024]     the stack, over all threads
//!   t0: 1: 1024 [1: 1024]
//!
//! MAPPED_LIBRARIES:           /proc/self/maps, verbatim
//! ```
//!
//! Counts stay as printed; [`SampleInterval::unbias`] turns them into estimates. The form of
//! per-thread lines is checked, and the lines are dropped, because the threads of a stack need
//! not add up to the stack (see below). `heap_v1` and gperftools' `heap profile:` are errors.
//!
//! # How a cut dump is detected
//!
//! A dump that was cut short must never pass for a smaller heap. These are errors: a last line
//! without its end, a stack without counts, and totals that the stacks do not add up to. A
//! dump that ends before `MAPPED_LIBRARIES:` may come from a program that cannot read its own
//! mappings. [`HeapDump::maps`] is `None` then, and the caller decides.
//!
//! # Totals
//!
//! In jemalloc up to 5.2, and with `prof_unbias:false`, the counts of the process are the
//! plain sum of the stacks' counts. From 5.3 on, jemalloc keeps estimates and sums *those*.
//! For each sum it prints two integers from which jeprof's formula gives the sum back
//! (`prof_do_unbias` in `prof_data.c`). These integers do not add up, at a large interval not
//! even nearly, but the estimates do. So either the integers must agree, or the estimates must
//! agree within the rounding of the printed integers. At an interval of 1 this check finds any
//! missing stack. The larger the interval, the less does one small stack stand out from the
//! rounding of all the others.
//!
//! For the same reason, counts at interval 1 are only nearly exact by default: of 10,000 live
//! objects of 8 bytes jemalloc prints 9,997. With `prof_unbias:false` they are exact.

mod births;
mod digits;
mod error;
mod interval;
mod maps;
mod parse;
mod totals;

use std::fmt;

pub use error::DumpError;
pub use interval::{Estimate, Level, SampleInterval};
pub use maps::{Mapping, Maps, Permissions};
pub use parse::{DumpEnd, DumpReader, Parts};

use crate::{Avma, Counts, Tally};

/// The most frames that a stack may have.
///
/// jemalloc's own `prof_bt_max` is 128 unless it is told otherwise. A line with
/// millions of addresses is an attack, or not a dump.
pub const MAX_FRAMES: usize = 65_536;

/// One dump, with its counts as printed and its records in the file's order.
///
/// `Display` prints the dump as jemalloc would, without the lines of threads. Parsing that
/// text gives an equal value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapDump {
    sample_interval: SampleInterval,
    totals: Option<Counts>,
    /// The frames of every stack, one stack after the other. For a million stacks, a `Vec`
    /// each would cost more than the rest of parsing.
    frames: Vec<Avma>,
    stacks: Vec<Stack>,
    maps: Option<Maps>,
}

/// A record as it is stored. Its frames begin where those of the record before it end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stack {
    end: usize,
    counts: Counts,
}

/// One stack of a dump and its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Return addresses, leaf first. Empty if the unwinder found nothing.
    pub stack: &'a [Avma],
    /// The counts, as printed.
    pub counts: Counts,
}

impl HeapDump {
    /// Reads a dump.
    ///
    /// Lines may end in `\r\n`. If a stack occurs twice, there are two records. jemalloc
    /// writes each stack once, and code that adds up by stack handles both.
    ///
    /// # Errors
    ///
    /// If the text is anything that jemalloc does not write, including a dump that was cut
    /// short. The caller has to limit the size of the dump. The result of a dump by jemalloc
    /// takes less memory than the text, and at worst a few times as much.
    pub fn parse(bytes: &[u8]) -> Result<HeapDump, DumpError> {
        parse::parse(bytes)
    }

    /// Returns the mean number of bytes between two samples.
    pub fn sample_interval(&self) -> SampleInterval {
        self.sample_interval
    }

    /// Returns the counts of the process, as printed. `None` in dumps made by hand.
    ///
    /// This is not the sum of the records, see the [module's page](crate::dump).
    pub fn totals(&self) -> Option<Counts> {
        self.totals
    }

    /// Returns every record, in the file's order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        let mut start = 0;
        self.stacks.iter().map(move |stack| {
            let frames = &self.frames[start..stack.end];
            start = stack.end;
            Record {
                stack: frames,
                counts: stack.counts,
            }
        })
    }

    /// Returns the live objects and bytes of all records, as printed.
    pub fn inuse(&self) -> Tally {
        let inuse = self.stacks.iter().map(|stack| stack.counts.inuse);
        inuse.fold(Tally::default(), Tally::saturating_add)
    }

    /// Returns the process's mappings. `None` if the dump ends before them. For a dump that
    /// plimsoll itself made, this means that the dump was cut.
    pub fn maps(&self) -> Option<&Maps> {
        self.maps.as_ref()
    }

    /// Returns how many records have no live object. `prof_accum` keeps such records.
    pub fn zero_object_stacks(&self) -> usize {
        let stacks = self.stacks.iter();
        stacks
            .filter(|stack| stack.counts.inuse.objects == 0)
            .count()
    }

    /// Returns how many stacks have as many frames as `prof_bt_max` allows. Their root is
    /// missing.
    pub fn stacks_cut_at(&self, prof_bt_max: usize) -> usize {
        let records = self.records();
        records
            .filter(|record| record.stack.len() >= prof_bt_max)
            .count()
    }
}

impl fmt::Display for HeapDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "heap_v2/{}", self.sample_interval)?;
        if let Some(totals) = self.totals {
            write_counts(f, totals)?;
        }
        for record in self.records() {
            f.write_str("@")?;
            for address in record.stack {
                write!(f, " {address}")?;
            }
            f.write_str("\n")?;
            write_counts(f, record.counts)?;
        }
        match &self.maps {
            Some(maps) => write!(f, "\nMAPPED_LIBRARIES:\n{maps}"),
            None => Ok(()),
        }
    }
}

fn write_counts(f: &mut fmt::Formatter<'_>, Counts { inuse, alloc }: Counts) -> fmt::Result {
    writeln!(
        f,
        "  t*: {}: {} [{}: {}]",
        inuse.objects, inuse.bytes, alloc.objects, alloc.bytes
    )
}
