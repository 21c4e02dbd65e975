//! What was found out about code addresses, for every thread at once.
//!
//! A table that any number of threads read and write without waiting for each
//! other. An entry is two words that are not written together, so a reader may
//! see one of each of two rules. It is found out by what the first word holds: the
//! address, scrambled, and crossed with the rule (as Hyatt and Mann do for the
//! tables of chess programs, ICGA Journal 25(1), 2002). A mixed pair gives the
//! wanted address by chance alone, once in 2^64.

use std::sync::atomic::{AtomicU64, Ordering};

use super::rule::Rule;

/// Entries, 16 bytes each. A service has some hundred to a few thousand call
/// sites on the stacks of its allocations.
const ENTRIES: usize = 1 << 13;

struct Entry {
    check: AtomicU64,
    rule: AtomicU64,
}

static TABLE: [Entry; ENTRIES] = [const {
    Entry {
        check: AtomicU64::new(0),
        rule: AtomicU64::new(0),
    }
}; ENTRIES];

/// One address to one number, and back (Fibonacci hashing: 2^64 by the golden
/// ratio, which is odd).
#[inline]
fn scramble(address: u64) -> u64 {
    address.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn entry(scrambled: u64) -> &'static Entry {
    // The high bits depend on every bit of the address.
    #[expect(clippy::cast_possible_truncation, reason = "13 bits")]
    let index = (scrambled >> (64 - ENTRIES.trailing_zeros())) as usize;
    &TABLE[index]
}

/// The rule of an address, if it is there.
#[inline]
pub(super) fn get(address: u64) -> Option<Rule> {
    let scrambled = scramble(address);
    let entry = entry(scrambled);
    let rule = entry.rule.load(Ordering::Relaxed);
    let check = entry.check.load(Ordering::Relaxed);
    // No rule is zero, so an empty entry is none of the address that scrambles
    // to zero either.
    (check ^ rule == scrambled && rule != 0).then_some(Rule(rule))
}

/// Keeps the rule of an address, in place of another one's.
pub(super) fn put(address: u64, rule: Rule) {
    let scrambled = scramble(address);
    let entry = entry(scrambled);
    entry.rule.store(rule.0, Ordering::Relaxed);
    entry.check.store(scrambled ^ rule.0, Ordering::Relaxed);
}

/// Forgets everything: code may have gone, and other code have come.
pub(super) fn clear() {
    for entry in &TABLE {
        entry.check.store(0, Ordering::Relaxed);
        entry.rule.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_never_see_a_rule_of_another_address() {
        // Sixteen addresses of one entry, which fight for it; a rule that says which
        // of them it is of.
        let rule_of = |address: u64| {
            Rule::simple(
                false,
                8 * i64::try_from(address & 0xF_FFFF).unwrap(),
                None,
                Some(-8),
            )
        };
        let place = |address: u64| std::ptr::from_ref(entry(scramble(address)));
        let addresses: Vec<u64> = (0x5000_0000..)
            .filter(|address| place(*address) == place(0x5000_0000))
            .take(16)
            .collect();
        let fight = |seed: usize| {
            let mut hits = 0;
            for round in 0..200_000 {
                let address = addresses[(round / 3 * 31 + seed) % addresses.len()];
                match get(address) {
                    Some(rule) => {
                        assert_eq!(Some(rule), rule_of(address));
                        hits += 1;
                    }
                    None => put(address, rule_of(address).unwrap()),
                }
            }
            hits
        };
        let hits: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|seed| scope.spawn(move || fight(seed)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert!(hits > 0);
    }
}
