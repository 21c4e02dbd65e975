//! Any text is a name: normalising it twice is normalising it once, and a stack
//! of such names folds to something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::fold::{Normalization, fold, normalize_frame};
use plimsoll_core::{Avma, SourceFrame, SymbolTable};

fuzz_target!(|text: &str| {
    let stable = normalize_frame(text);
    assert_eq!(normalize_frame(&stable), stable);

    let mut table = SymbolTable::default();
    let mut stack = Vec::new();
    for (address, line) in (0..).map(Avma).zip(text.lines().take(64)) {
        let (function, file) = match line.split_once(" @ ") {
            Some((function, file)) => (function, Some(file.to_owned())),
            None => (line, None),
        };
        let frame = SourceFrame {
            function: function.to_owned(),
            file,
            line: None,
            arguments: None,
        };
        table.frames.insert(address, vec![frame]);
        stack.push(address);
    }
    let folded = fold(&table, &stack, &Normalization::default());
    assert!(!folded.stack.frames().is_empty());
});
