//! Damaged files cost names, and nothing else.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSymbol};
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_symbols::{MappedFile, Options, symbolize};
use support::Bench;

/// Deterministic, and enough to spread flips: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit).expect("less than a limit that fits")
    }
}

/// As if the file were mapped whole at a fixed address.
fn lookup(path: &Path, addresses: &BTreeSet<Avma>) -> SymbolTable {
    let mapping = MappedFile {
        start: 0x10_0000,
        end: 0x20_0000,
        path: path.into(),
        ..MappedFile::default()
    };
    symbolize(&[mapping], addresses, &Options::default())
}

/// Every fourth byte of the fixture's functions, and some around them.
fn addresses(bytes: &[u8]) -> BTreeSet<Avma> {
    let object = object::File::parse(bytes).expect("the fixture is well");
    let text = object
        .section_by_name(".text")
        .and_then(|text| text.file_range());
    let (start, size) = text.expect("the fixture has code");
    (start..start + size + 64)
        .step_by(4)
        .map(|offset| Avma(0x10_0000 + offset))
        .collect()
}

fn fixture(bench: &Bench) -> Vec<u8> {
    let library = bench.cc("libfixture.so.1", &["-g", "-shared", "-fPIC", "library.c"]);
    fs::read(library).expect("the fixture was built")
}

#[test]
fn flipped_bits() {
    let bench = Bench::new();
    let bytes = fixture(&bench);
    let addresses = addresses(&bytes);
    let path = bench.path("flipped.so");
    fs::write(&path, &bytes).unwrap();
    let healthy = lookup(&path, &addresses);
    assert!(healthy.unresolved < addresses.len());

    // Half of the damage goes to what tells names from lines.
    let object = object::File::parse(&*bytes).expect("the fixture is well");
    let telling: Vec<(u64, u64)> = object
        .sections()
        .filter(|section| {
            section
                .name()
                .is_ok_and(|name| name.contains("debug") || name.contains("sym"))
        })
        .filter_map(|section| section.file_range())
        .filter(|(_, size)| *size > 0)
        .collect();
    assert!(object.symbols().any(|symbol| symbol.name() == Ok("hidden")));

    let mut random = Random(0x504c_494d);
    let mut changed = 0;
    for round in 0..600 {
        let mut damaged = bytes.clone();
        for _ in 0..=round % 4 {
            let at = if random.below(2) == 0 {
                random.below(bytes.len() as u64)
            } else {
                let (start, size) = telling[random.below(telling.len() as u64)];
                usize::try_from(start).unwrap() + random.below(size)
            };
            damaged[at] ^= 1 << random.below(8);
        }
        fs::write(&path, &damaged).unwrap();
        let table = lookup(&path, &addresses);
        assert_eq!(table.iter().count(), addresses.len(), "round {round}");
        assert!(
            table.iter().all(|(_, frames)| !frames.is_empty()),
            "round {round}"
        );
        changed += usize::from(table != healthy);
    }
    // The damage reached what it was meant for.
    assert!(changed > 100, "{changed}");
}

#[test]
fn cut_short() {
    let bench = Bench::new();
    let bytes = fixture(&bench);
    let addresses = addresses(&bytes);
    let path = bench.path("short.so");
    for length in (1..bytes.len()).step_by(61) {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(
            lookup(&path, &addresses).iter().count(),
            addresses.len(),
            "{length} bytes"
        );
    }
}
