//! Any bytes are a report or an error, under either limits; and what was read is
//! written so that it is read again, as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::report::json::{Limits, parse, parse_within, to_string, to_string_within};
use plimsoll_core::report::{flamegraph, folded, text};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::UNTRUSTED;
    if let Ok(report) = parse_within(bytes, &limits) {
        let written = to_string_within(&report, &limits);
        assert_eq!(
            parse_within(written.as_bytes(), &limits).as_ref(),
            Ok(&report)
        );
    }
    if let Ok(report) = parse(bytes) {
        assert_eq!(parse(to_string(&report).as_bytes()).as_ref(), Ok(&report));
        // None of them may panic, whatever the numbers are.
        let _ = text::render(&report, &text::Style::plain());
        let _ = folded::render(&report);
        let _ = flamegraph::render(&report);
    }
});
