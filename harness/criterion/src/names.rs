//! Names scenarios after benchmarks.
//!
//! ```text
//! group/function/8        criterion's id of the benchmark
//! group::function::8      the scenario's name
//!
//! Größe/8 KiB             an id that a name cannot hold as it stands
//! Gr__e::8_KiB-23438b7b   the scenario's name: cleaned, with a hash of the id
//! ```
//!
//! A name depends on its own id alone, so that it stays when another benchmark is added.
//! The exception is an id that occurs twice: the second one gets `.2`, the third one `.3`.

use std::collections::HashSet;

/// The length of a name, in bytes.
const LONGEST: usize = 100;

/// Returns the scenario's name for criterion's id of a benchmark.
pub(crate) fn name(id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 8);
    for (at, char) in id.char_indices() {
        match char {
            '/' => name.push_str("::"),
            '.' | '-' if at == 0 => name.push('_'),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | ':' | '-' => name.push(char),
            _ => name.push('_'),
        }
    }
    // A name from which the id can be read back belongs to no other id.
    if !name.is_empty() && name.len() <= LONGEST && name.replace("::", "/") == id {
        return name;
    }
    extended(&name, &format!("-{:08x}", hash(id)))
}

/// Returns the name with the suffix, cut before the suffix if it would be too long.
fn extended(name: &str, suffix: &str) -> String {
    let name = match name {
        "" => "_",
        name => &name[..name.len().min(LONGEST - suffix.len())],
    };
    format!("{name}{suffix}")
}

/// Returns FNV-1a of 64 bits, folded to 32.
///
/// Names stand in files for years, and the standard library's hashes may change.
fn hash(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
    u32::from_be_bytes([a ^ e, b ^ f, c ^ g, d ^ h])
}

/// The benchmarks that the program has run so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashSet<String>,
    titles: HashSet<String>,
}

/// What plimsoll calls a benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// What the scenario is called in files and commands; see [`name`].
    pub(crate) name: String,
    /// What criterion calls the benchmark: its id, with ` #2` if the id occurred before.
    pub(crate) title: String,
}

impl Names {
    /// Names the next benchmark of the program.
    pub(crate) fn next(&mut self, id: &str) -> Named {
        let name = name(id);
        Named {
            name: unused(&mut self.names, &name, |n| {
                extended(&name, &format!(".{n}"))
            }),
            title: unused(&mut self.titles, id, |n| format!("{id} #{n}")),
        }
    }
}

/// Marks the first unused name as used, and returns that name.
fn unused(used: &mut HashSet<String>, first: &str, nth: impl Fn(usize) -> String) -> String {
    let mut name = first.to_owned();
    let mut n = 1;
    while !used.insert(name.clone()) {
        n += 1;
        name = nth(n);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ids() {
        let long = "x".repeat(101);
        let table = [
            ("fib", "fib"),
            ("group/fib/20", "group::fib::20"),
            ("map.insert/1.5-2", "map.insert::1.5-2"),
            ("a:b", "a:b"),
            ("a/:b", "a:::b"),
            ("/a", "::a"),
            // The id cannot be read back from the name.
            ("a:/b", "a:::b-c43cb5ed"),
            ("a::b", "a::b-c5ff63fc"),
            ("from elem/8", "from_elem::8-48b90b41"),
            ("Größe/8 KiB", "Gr__e::8_KiB-23438b7b"),
            (".hidden", "_hidden-e5e365c5"),
            ("-flag", "_flag-41f2cae7"),
            ("", "_-4fd0bfc1"),
            (&long, &format!("{}-796f2992", "x".repeat(91))),
            (&long[1..], &long[1..]),
        ];
        for (id, expected) in table {
            assert_eq!(name(id), expected, "of {id:?}");
        }
    }

    #[test]
    fn an_id_that_occurs_twice() {
        let mut names = Names::default();
        let mut next = |id| {
            let Named { name, title } = names.next(id);
            format!("{name} | {title}")
        };
        assert_eq!(next("a/b"), "a::b | a/b");
        assert_eq!(next("a/b"), "a::b.2 | a/b #2");
        assert_eq!(next("a/b"), "a::b.3 | a/b #3");
        assert_eq!(next("a/b.2"), "a::b.2.2 | a/b.2");
        assert_eq!(next("a/b #2"), "a::b__2-28f94d43 | a/b #2 #2");
        let long = "x".repeat(100);
        assert_eq!(next(&long), format!("{long} | {long}"));
        assert_eq!(next(&long), format!("{}.2 | {long} #2", &long[2..]));
    }

    /// Ids of parts that are likely to clash; a simple generator, so that every run is the same.
    #[test]
    fn names_are_valid_and_unique() {
        let parts = [
            "a",
            "b",
            "/",
            "::",
            ":",
            " ",
            "é",
            ".",
            "-",
            "_",
            "2",
            "abcdefghijklm",
        ];
        let mut state = 1_u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(state >> 33).expect("31 bits") % below
        };
        let mut names = Names::default();
        let mut pure = std::collections::HashMap::new();
        for _ in 0..5_000 {
            let id: String = (0..random(14))
                .map(|_| parts[random(parts.len())])
                .collect();
            let first = name(&id);
            assert_eq!(
                *pure.entry(first.clone()).or_insert_with(|| id.clone()),
                id,
                "{first}"
            );
            // `next` panics nowhere, and gives no name twice; `unused` sees to it.
            for name in [first, names.next(&id).name] {
                assert!(!name.is_empty() && name.len() <= LONGEST, "{id:?}: {name}");
                assert!(!name.starts_with(['.', '-']), "{id:?}: {name}");
                let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
                assert!(name.bytes().all(allowed), "{id:?}: {name}");
            }
        }
        assert_eq!(names.names.len(), 5_000);
        assert_eq!(names.titles.len(), 5_000);
    }
}
