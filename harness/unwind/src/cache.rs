//! Caches the rules of code addresses, for all threads.
//!
//! Any number of threads read and write this table without waiting for each other. An entry is
//! two words that are not written together, so a reader may see one word of each of two rules.
//! The first word reveals that: it is the scrambled address, XORed with the rule (as Hyatt and
//! Mann do for the tables of chess programs, ICGA Journal 25(1), 2002). A mixed pair matches
//! the wanted address only by chance, once in 2^64.

use std::sync::atomic::{AtomicU64, Ordering};

use super::machine;
use super::rule::Rule;

/// The number of sets. A set has four entries, in one cache line.
///
/// A service has some hundred to a few thousand call sites on the stacks of its allocations. If
/// two of them evicted each other again and again, they would cost more than all the others.
const SETS: usize = 1 << LG_SETS;
const LG_SETS: u32 = 13;
const WAYS: usize = 4;

#[repr(C)]
struct Entry {
    check: AtomicU64,
    rule: AtomicU64,
}

#[repr(C, align(64))]
struct Set([Entry; WAYS]);

static TABLE: [Set; SETS] = [const {
    Set([const {
        Entry {
            check: AtomicU64::new(0),
            rule: AtomicU64::new(0),
        }
    }; WAYS])
}; SETS];

/// Maps an address to a number; no two addresses have the same one (Fibonacci hashing: 2^64
/// divided by the golden ratio, which is odd).
#[inline(always)]
pub(super) fn scramble(address: u64) -> u64 {
    address.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn set(scrambled: u64) -> &'static Set {
    // The high bits depend on every bit of the address.
    let index = (scrambled >> (64 - LG_SETS)) as usize;
    &TABLE[index]
}

impl Entry {
    fn rule_of(&self, scrambled: u64) -> Option<Rule> {
        let rule = self.rule.load(Ordering::Relaxed);
        let check = self.check.load(Ordering::Relaxed);
        // No rule is zero. So an empty entry does not match the address that scrambles to zero.
        (check ^ rule == scrambled && rule != 0).then_some(Rule(rule))
    }

    fn is_empty(&self) -> bool {
        self.rule.load(Ordering::Relaxed) == 0
    }
}

/// Returns the rule of an address, if it is cached.
pub(super) fn get(address: u64) -> Option<Rule> {
    let scrambled = scramble(address);
    let entries = &set(scrambled).0;
    entries.iter().find_map(|entry| entry.rule_of(scrambled))
}

/// Returns the rule of a scrambled address as a word; zero, which is no rule, if it is not
/// cached.
///
/// Does the same as [`get`], in the [plain](super::quick) style.
#[inline(always)]
pub(super) fn word(scrambled: u64) -> u64 {
    let set = &raw const TABLE as u64 + (scrambled >> (64 - LG_SETS)) * 64;
    let mut entry = set;
    while entry != set + 64 {
        // SAFETY: this is one of the entries, because the index has as many bits as there are
        // sets. Each word is read by one instruction, like a relaxed load of its atomic.
        let (check, rule) = unsafe { (machine::load(entry), machine::load(entry + 8)) };
        if check ^ rule == scrambled {
            return rule;
        }
        entry += 16;
    }
    0
}

/// Caches the rule of an address. If the set is full, another address's rule is replaced.
pub(super) fn put(address: u64, rule: Rule) {
    let scrambled = scramble(address);
    let entries = &set(scrambled).0;
    let entry = entries
        .iter()
        .find(|entry| entry.is_empty() || entry.rule_of(scrambled).is_some())
        // Any entry will do; these bits have not chosen the set.
        .unwrap_or(&entries[(scrambled >> 32) as usize % WAYS]);
    entry.rule.store(rule.0, Ordering::Relaxed);
    entry.check.store(scrambled ^ rule.0, Ordering::Relaxed);
}

/// Forgets all rules: other code may be at these addresses now.
pub(super) fn clear() {
    for entry in TABLE.iter().flat_map(|set| &set.0) {
        entry.check.store(0, Ordering::Relaxed);
        entry.rule.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_say_the_same() {
        let address = 0x7654_3210;
        let rule = Rule::simple(true, 64, None, Some(-8)).unwrap();
        put(address, rule);
        let scrambled = scramble(address);
        assert_eq!(word(scrambled), rule.0);
        assert_eq!(get(address), Some(rule));
        let another = scramble(address + 1);
        assert_eq!((word(another), get(address + 1)), (0, None));
    }

    #[test]
    fn four_addresses_of_one_set_stay() {
        let (addresses, rules) = of_one_set(0x4000_0000, 5);
        for (address, rule) in addresses.iter().zip(&rules) {
            put(*address, *rule);
        }
        let stay = addresses
            .iter()
            .zip(&rules)
            .filter(|(address, rule)| get(**address) == Some(**rule));
        assert_eq!(stay.count(), 4);
    }

    /// Returns addresses that share one set, and for each of them a different rule.
    fn of_one_set(from: u64, count: usize) -> (Vec<u64>, Vec<Rule>) {
        let place = |address: u64| std::ptr::from_ref(set(scramble(address)));
        let addresses: Vec<u64> = (from..)
            .filter(|address| place(*address) == place(from))
            .take(count)
            .collect();
        let rules = addresses.iter().map(|address| {
            let distinct = i64::try_from(address & 0xF_FFFF).unwrap();
            Rule::simple(false, 8 * distinct, None, Some(-8)).unwrap()
        });
        let rules = rules.collect();
        (addresses, rules)
    }

    #[test]
    fn threads_never_see_a_rule_of_another_address() {
        let (addresses, rules) = of_one_set(0x5000_0000, 16);
        let fight = |seed: usize| {
            let mut hits = 0;
            for round in 0..200_000 {
                let which = (round / 3 * 31 + seed) % addresses.len();
                let (address, rule) = (addresses[which], rules[which]);
                match get(address) {
                    Some(found) => {
                        assert_eq!(found, rule);
                        hits += 1;
                    }
                    None => put(address, rule),
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
