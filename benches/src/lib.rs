//! Inputs for the benchmarks. They are generated and not recorded, so they can have any size,
//! and they have the same bytes on every machine.
//!
//! The inputs have the proportions of a real server's dump: stacks of 12 to 40 frames that
//! share their roots, with a few thousand distinct addresses.

pub mod workload;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_core::baseline::Baseline;
use plimsoll_core::judge::{Observed, Policy};
use plimsoll_core::ladder::rung;
use plimsoll_core::{Avma, FoldedStack, Resource, Series, SourceFrame, SymbolTable, Tally};

/// The number of stacks in a dump of a 200 MB server, and in a large dump.
pub const SIZES: [usize; 2] = [1_100, 100_000];

/// The address at which the generated program's code begins, and the distance between two
/// calls.
const TEXT: u64 = 0x5555_5555_0000;
const CALL_BYTES: u64 = 16;
/// The number of distinct return addresses. As in real programs, there are many more stacks
/// than addresses.
const ADDRESSES: u64 = 4_096;

/// A pseudo-random sequence (splitmix64). It makes the same input everywhere, without a
/// dependency.
#[derive(Clone, Debug)]
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Returns `count` stacks of return addresses, leaf first.
pub fn stacks(count: usize) -> Vec<Vec<Avma>> {
    let mut sequence = Sequence(1);
    let address = |call: u64| Avma(TEXT + CALL_BYTES * call);
    (0..count)
        .map(|_| {
            let depth = 12 + sequence.below(29);
            // The nearer a frame is to the root, the fewer functions it can be in.
            (0..depth)
                .map(|frame| address(sequence.below((ADDRESSES >> (frame / 4)).max(1))))
                .collect()
        })
        .collect()
}

/// Returns a dump with these stacks as jemalloc writes it at sample interval 1, with its
/// mappings.
pub fn dump_text(stacks: &[Vec<Avma>]) -> String {
    let mut sequence = Sequence(2);
    let mut count = || {
        let objects = 1 + sequence.below(1_000);
        (objects, objects * 16 * (1 + sequence.below(64)))
    };
    let counts: Vec<(u64, u64)> = stacks.iter().map(|_| count()).collect();
    let objects: u64 = counts.iter().map(|(objects, _)| objects).sum();
    let bytes: u64 = counts.iter().map(|(_, bytes)| bytes).sum();
    let tally = |objects, bytes| {
        format!("\n  t*: {objects}: {bytes} [0: 0]\n  t0: {objects}: {bytes} [0: 0]\n")
    };
    let mut text = format!("heap_v2/1{}", tally(objects, bytes));
    for (stack, (objects, bytes)) in stacks.iter().zip(counts) {
        text.push('@');
        for address in stack {
            let _ = write!(text, " {address}");
        }
        text += &tally(objects, bytes);
    }
    let end = TEXT + CALL_BYTES * ADDRESSES;
    let mapping = format!("{TEXT:012x}-{end:012x} r-xp 00001000 08:01 77 /usr/bin/server");
    let _ = write!(text, "\nMAPPED_LIBRARIES:\n{mapping}\n");
    text
}

/// Returns the symbols of the addresses of [`stacks`]. Names are as a compiler writes them,
/// and every fourth address has an inlined caller.
pub fn symbols() -> SymbolTable {
    let mut table = SymbolTable::default();
    for call in 0..ADDRESSES {
        let module = call % 97;
        let frame = |function: String| SourceFrame {
            function,
            file: Some(format!("/src/server-1.2.3/src/module_{module}.rs")),
            line: u32::try_from(call % 900 + 1).ok(),
            arguments: None,
        };
        let (item, layer) = (call % 64, call % 31);
        let name = match call % 6 {
            0 => "<alloc::raw_vec::RawVec<u8, alloc::alloc::Global>>::grow_one".to_owned(),
            1 => "<hashbrown::raw::RawTable<(u64, alloc::string::String)>>::reserve_rehash"
                .to_owned(),
            2 => format!("server::module_{module}::handle::{{closure#{}}}", call % 3),
            3 => format!("<server::Layer{layer} as tower_service::Service<http::Request>>::call"),
            4 => format!("server::module_{module}::Cache<u64, [u8; {item}]>::put"),
            _ => format!("tokio::runtime::task_{}::poll::h{call:016x}", call % 53),
        };
        let mut frames = vec![frame(name)];
        if call % 4 == 0 {
            frames.push(frame(format!("server::module_{}::outer", call % 89)));
        }
        table.frames.insert(Avma(TEXT + CALL_BYTES * call), frames);
    }
    table
}

/// Returns levels of `stacks` stacks over a ladder of up to 16,384 iterations. Of each hundred
/// stacks, one leaks, nine fill a cache, and the rest fluctuate.
pub fn observed(stacks: usize) -> Observed {
    let iterations: Vec<u64> = (0..=40).map(rung).collect();
    let mut sequence = Sequence(3);
    let mut series = |stack: usize| {
        let levels = iterations.iter().map(|n| {
            let objects = match stack % 100 {
                0 => *n,
                1..10 => (*n).min(500),
                _ => 100 + sequence.below(16),
            };
            Tally {
                objects,
                bytes: objects * 48,
            }
        });
        Series::new(levels.collect())
    };
    let stacks: BTreeMap<FoldedStack, Series> = (0..stacks)
        .map(|stack| {
            let name = |frame: usize| format!("server::module_{}::f{frame}", stack % (1 << frame));
            let mut frames: Vec<String> = (0..16).map(name).collect();
            frames.push(format!("server::site_{stack}"));
            (FoldedStack(frames), series(stack))
        })
        .collect();
    let steady = |objects| Series::new(vec![Tally { objects, bytes: 0 }; iterations.len()]);
    Observed {
        resources: BTreeMap::from([
            (Resource::Threads, steady(4)),
            (Resource::Descriptors, steady(12)),
        ]),
        iterations,
        stacks,
        ..Observed::default()
    }
}

/// The policy of a test that looks for one object in 1,000 iterations.
pub const POLICY: Policy = Policy {
    threshold: Some(1_000),
    ..Policy::TOP
};

/// Returns a baseline of twenty allowances. Half of the patterns begin with `...`.
///
/// # Panics
///
/// Never fails: the text is made here.
pub fn baseline() -> Baseline {
    let mut text = "format = 1\n".to_owned();
    for site in (0..2_000).step_by(100) {
        let stack = match site % 200 {
            0 => format!("[\"...\", \"server::site_{site}\"]"),
            _ => format!("[\"server\", \"...\", \"server::site_{site}\"]"),
        };
        let _ = write!(
            text,
            "\n[[allow]]\nstack = {stack}\nobjects = 1.0\nbytes = 48.0\nlaw = \"linear\"\n"
        );
    }
    Baseline::parse(text.as_bytes()).expect("a baseline of format 1")
}
