//! Any bytes are a `plimsoll.toml` or an error that is text for a terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_core::settings::{KEYS, Layer};

fuzz_target!(|bytes: &[u8]| {
    match Layer::parse(bytes) {
        Ok(layer) => {
            for key in &KEYS {
                let entry = layer.get(key);
                assert!(entry.is_none_or(|entry| entry.line.is_some()), "{key:?}");
            }
        }
        Err(error) => {
            let said = error.explain("plimsoll.toml");
            assert!(!said.replace('\n', "").contains(char::is_control), "{said}");
        }
    }
});
