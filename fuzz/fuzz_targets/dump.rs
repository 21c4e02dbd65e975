//! Any bytes are a dump or an error; what is parsed is printed and parsed back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::dump::HeapDump;

fuzz_target!(|bytes: &[u8]| {
    let Ok(dump) = HeapDump::parse(bytes) else {
        return;
    };
    assert_eq!(
        HeapDump::parse(dump.to_string().as_bytes()).as_ref(),
        Ok(&dump)
    );
    for record in dump.records() {
        let estimate = dump.sample_interval().unbias(record.counts.inuse);
        assert!(estimate.objects.is_finite() && estimate.bytes.is_finite());
    }
});
