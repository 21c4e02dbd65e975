//! What the standard library allocates, and small functions that are inlined.

use std::collections::HashMap;

#[derive(Default)]
pub struct Cache {
    entries: HashMap<u64, [u64; 4]>,
}

impl Cache {
    #[inline]
    pub fn put(&mut self, key: u64) {
        self.entries.insert(key, [key; 4]);
    }
}

#[inline]
pub fn copy_of(bytes: &[u8]) -> Box<[u8]> {
    bytes.into()
}

pub struct Page {
    pub bytes: Box<[u8]>,
}

impl Page {
    #[inline]
    pub fn new(bytes: &[u8]) -> Page {
        Page {
            bytes: copy_of(bytes),
        }
    }
}
