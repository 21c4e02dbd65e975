//! Any bytes are a baseline or an error. What was read takes one allowance more, and the
//! same again changes nothing; and all that it allows can be taken out of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::baseline::{
    Acceptance, Accepted, Allowance, AllowanceSubject, Baseline, StackPattern, update,
};
use plimsoll_core::{FoldedStack, Law, Rate};

fuzz_target!(|bytes: &[u8]| {
    let Ok(baseline) = Baseline::parse(bytes) else {
        return;
    };
    let text = std::str::from_utf8(bytes).expect("TOML is text");
    let stack = FoldedStack(vec!["a".to_owned(), "b".to_owned()]);
    let subject = AllowanceSubject::Stack(StackPattern::exact(&stack));
    let further = Acceptance {
        allowances: vec![Accepted {
            allowance: Allowance {
                subject: subject.clone(),
                rate: Rate {
                    objects: 1.0,
                    bytes: 48.0,
                },
                law: Law::Linear,
                bytes_law: Law::Stepped,
                reason: None,
                issue: None,
                expires: None,
            },
            expired: false,
        }],
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
