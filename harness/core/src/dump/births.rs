//! Dumps whose stacks say when their objects were born.

use std::collections::HashMap;

use super::{HeapDump, Stack};
use crate::{Avma, birth};

impl HeapDump {
    /// Returns whether any stack says when its objects were [born](crate::birth).
    pub fn has_births(&self) -> bool {
        self.records()
            .any(|record| birth::split(record.stack).1.is_some())
    }

    /// Returns the same heap without births, for tools that take every word of a stack for an
    /// address. The result is what jemalloc writes if nobody adds births.
    ///
    /// Stacks that differ only in their birth are added up, in the place of the first of them.
    /// So are equal stacks. The totals stay the same.
    pub fn without_births(&self) -> HeapDump {
        let mut merged = HeapDump {
            sample_interval: self.sample_interval,
            totals: self.totals,
            frames: Vec::new(),
            stacks: Vec::new(),
            maps: self.maps.clone(),
        };
        let mut places: HashMap<&[Avma], usize> = HashMap::new();
        for record in self.records() {
            let (stack, _) = birth::split(record.stack);
            let place = *places.entry(stack).or_insert_with(|| {
                merged.frames.extend_from_slice(stack);
                merged.stacks.push(Stack {
                    end: merged.frames.len(),
                    counts: Default::default(),
                });
                merged.stacks.len() - 1
            });
            merged.stacks[place].counts += record.counts;
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(dump: &str) -> (bool, String) {
        let dump = HeapDump::parse(dump.as_bytes()).unwrap();
        let without = dump.without_births();
        assert_eq!(without.without_births(), without);
        assert!(!without.has_births());
        assert_eq!(
            HeapDump::parse(without.to_string().as_bytes()).unwrap(),
            without
        );
        (dump.has_births(), without.to_string())
    }

    #[test]
    fn stacks_are_put_together_where_the_first_of_them_stands() {
        let dump = "heap_v2/1\n  t*: 6: 96 [16: 256]\n\
             @ 0x30 0x1002\n  t*: 0: 0 [4: 64]\n\
             @ 0x10 0x20 0x1000\n  t*: 2: 32 [5: 80]\n\
             @ 0x30\n  t*: 1: 16 [1: 16]\n\
             @ 0x10 0x20 0x13ff\n  t*: 3: 48 [6: 96]\n\
             \nMAPPED_LIBRARIES:\n00400000-00452000 r-xp 00001000 fe:00 1 /a\n";
        let without = "heap_v2/1\n  t*: 6: 96 [16: 256]\n\
             @ 0x30\n  t*: 1: 16 [5: 80]\n\
             @ 0x10 0x20\n  t*: 5: 80 [11: 176]\n\
             \nMAPPED_LIBRARIES:\n";
        let (had_births, text) = merged(dump);
        assert!(had_births && text.starts_with(without), "{text}");
        assert!(text.ends_with("/a\n"), "{text}");
    }

    #[test]
    fn a_dump_without_births_stays_as_it_is() {
        // The words are no generations: one is below the first, and one above the last.
        let dump = "heap_v2/1\n@ 0x10 0xfff\n  t*: 1: 16 [1: 16]\n@ 0x10 0x1400\n  t*: 1: 16 [1: 16]\n@\n  t*: 2: 32 [2: 32]\n";
        assert_eq!(merged(dump), (false, dump.to_owned()));
    }
}
