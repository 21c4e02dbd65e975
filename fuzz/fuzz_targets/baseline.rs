//! Any bytes are a baseline or an error. What was read takes one allowance more, and the
//! same again changes nothing; and all that it allows can be taken out of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::baseline::{Acceptance, Accepted, Baseline, update};

const FURTHER: &[u8] = b"format = 1

[[allow]]
stack = [\"a\", \"b\"]
objects = 1.0
bytes = 48.0
law = \"linear\"
";

fuzz_target!(|bytes: &[u8]| {
    let Ok(baseline) = Baseline::parse(bytes) else {
        return;
    };
    let text = std::str::from_utf8(bytes).expect("TOML is text");
    let [allowance] = Baseline::parse(FURTHER)
        .expect("a baseline")
        .allowances
        .try_into()
        .expect("one allowance");
    let subject = allowance.subject.clone();
    let expired = false;
    let further = Acceptance {
        allowances: vec![Accepted { allowance, expired }],
        ..Acceptance::default()
    };
    // A file may have as many as it may.
    if let Ok(once) = update(Some(text), &further) {
        let read = Baseline::parse(once.as_bytes()).expect("what we wrote");
        assert!(read.get(&subject).is_some());
        assert_eq!(update(Some(&once), &further).as_ref(), Ok(&once));
    }

    let subjects = baseline.allowances.iter().map(|one| one.subject.clone());
    let none = Acceptance {
        removed: subjects.collect(),
        ..Acceptance::default()
    };
    let emptied = update(Some(text), &none).expect("nothing new is in it");
    let emptied = Baseline::parse(emptied.as_bytes()).expect("what we wrote");
    assert!(emptied.allowances.is_empty());
});
