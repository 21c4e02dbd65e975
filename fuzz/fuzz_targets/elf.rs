//! Any bytes are a file, its debug file, its package of split DWARF and what `dwz`
//! moved out of it: every address gets a frame, whatever they claim.
#![no_main]

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plimsoll_core::Avma;
use plimsoll_symbols::{MappedFile, Options, symbolize};
use tempfile::TempDir;

static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

fuzz_target!(|bytes: &[u8]| {
    let directory = DIRECTORY.path();
    let file = directory.join("file");
    for name in ["file", "file.debug", "file.dwp", "library.dwo"] {
        // Not in place: the bytes of the last time may still be mapped.
        let _ = fs::remove_file(directory.join(name));
        fs::write(directory.join(name), bytes).unwrap();
    }
    let start = 0x10_0000;
    let mapping = MappedFile {
        start,
        end: start + 0x10_0000,
        path: file,
        ..MappedFile::default()
    };
    let offsets = (1..0x4000).step_by(16).chain([0xf_ffff]);
    let addresses: BTreeSet<Avma> = offsets.map(|offset| Avma(start + offset)).collect();
    for debug_directories in [Vec::new(), vec![directory.to_owned()]] {
        let options = Options {
            debug_directories,
            ..Options::default()
        };
        let table = symbolize(std::slice::from_ref(&mapping), &addresses, &options);
        assert_eq!(table.frames.len(), addresses.len());
        assert!(table.frames.iter().all(|(_, frames)| !frames.is_empty()));
    }
});
