//! plimsoll itself (`plimsoll-core`): a heap dump parsed and folded, and a series of levels
//! judged.
//!
//! What could leak: nothing should. The values of `plimsoll-core` own what they hold. A
//! service that watches its own heap with them parses one dump after another. The scenario
//! takes an error path as well: it parses half a dump, which is refused.
//!
//! Healthy: nothing lives longer than its iteration.

use anyhow::ensure;
use plimsoll::Scenario;
use plimsoll_core::dump::HeapDump;
use plimsoll_core::fold::{Folder, Normalization};
use plimsoll_core::growth::Growth;
use plimsoll_core::{Avma, Law, Series, SourceFrame, SymbolTable, Tally, ladder};

/// Parses a rung's dump, folds its stacks, and judges a series of levels.
pub fn plimsoll_dump() -> Scenario {
    Scenario::new("plimsoll_dump", || {
        let folder = Folder::new(&symbols(), &Normalization::default());
        let iterations: Vec<u64> = (0..24).map(ladder::rung).collect();
        move |i: u64| -> anyhow::Result<()> {
            let objects = i % 1_000 + 1;
            let text = dump(objects);
            let dump = HeapDump::parse(text.as_bytes())?;
            let live = dump.inuse().objects;
            ensure!(live == objects, "{live} objects live");
            for record in dump.records() {
                let folded = folder.fold(record.stack).stack;
                ensure!(!folded.frames().is_empty(), "an empty stack");
            }
            let cut = &text.as_bytes()[..text.len() / 2];
            ensure!(HeapDump::parse(cut).is_err(), "half a dump was read");

            let levels = iterations.iter().map(|&n| at(objects * n)).collect();
            let law = Growth::of(&iterations, &Series::new(levels)).law();
            ensure!(
                law == Law::Linear,
                "a leak of one object an iteration is {law:?}"
            );
            Ok(())
        }
    })
}

/// Returns the symbols of 0x1000 and 0x2000.
fn symbols() -> SymbolTable {
    let mut table = SymbolTable::default();
    for (address, function) in [(0x1000, "alloc::vec::Vec<u8>::push"), (0x2000, "app::fill")] {
        let frame = SourceFrame::named(function.to_owned());
        table.frames.insert(Avma(address), vec![frame]);
    }
    table
}

/// Returns a dump with so many live objects on the first of its two stacks.
fn dump(objects: u64) -> String {
    let counts = format!("{objects}: {} [{objects}: {}]", 32 * objects, 32 * objects);
    format!(
        "heap_v2/1\n  t*: {counts}\n@ 0x1000 0x2000\n  t*: {counts}\n\
         @ 0x1004 0x3000\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n"
    )
}

fn at(objects: u64) -> Tally {
    Tally {
        objects,
        bytes: 32 * objects,
    }
}
