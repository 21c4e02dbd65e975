//! Functions that the crate is given over time, each with more than one body.

pub(crate) struct Helper {
    pub(crate) name: &'static str,
    pub(crate) docs: [&'static str; 2],
    /// `$a` is a local.
    pub(crate) bodies: [&'static str; 2],
    pub(crate) locals: [&'static str; 3],
    /// A number that comes of it; `$f` is its path.
    pub(crate) call: &'static str,
}

/// Where they may be.
pub(crate) const MODULES: [&str; 5] = ["text", "numbers", "codec", "samples", "paths"];

pub(crate) const HELPERS: [Helper; 18] = [
    Helper {
        name: "checksum",
        docs: ["A sum of the bytes.", "A sum that equal texts share."],
        bodies: [
            "pub fn checksum(text: &str) -> u32 {
    let mut $a = 0_u32;
    for byte in text.bytes() {
        $a = $a.rotate_left(5) ^ u32::from(byte);
    }
    $a
}
",
            "pub fn checksum(text: &str) -> u32 {
    text.bytes()
        .fold(0_u32, |$a, byte| $a.rotate_left(5) ^ u32::from(byte))
}
",
        ],
        locals: ["sum", "state", "hash"],
        call: "u64::from($f(\"store\"))",
    },
    Helper {
        name: "words",
        docs: [
            "How many words there are.",
            "Words, with white space between.",
        ],
        bodies: [
            "pub fn words(text: &str) -> usize {
    let $a = text.split_whitespace();
    $a.count()
}
",
            "pub fn words(text: &str) -> usize {
    let mut $a = 0;
    for word in text.split(' ') {
        $a += usize::from(!word.is_empty());
    }
    $a
}
",
        ],
        locals: ["found", "counted", "all"],
        call: "$f(\"a small store\") as u64",
    },
    Helper {
        name: "is_stop_word",
        docs: [
            "Whether nobody searches for it.",
            "Words too common to be kept.",
        ],
        bodies: [
            "pub fn is_stop_word(word: &str) -> bool {
    let $a = [\"a\", \"an\", \"of\", \"the\"];
    $a.contains(&word)
}
",
            "pub fn is_stop_word(word: &str) -> bool {
    let $a = word.trim();
    matches!($a, \"a\" | \"an\" | \"of\" | \"the\" | \"to\")
}
",
        ],
        locals: ["common", "skipped", "stop"],
        call: "u64::from($f(\"the\"))",
    },
    Helper {
        name: "median",
        docs: ["The one in the middle.", "As many are below it as above."],
        bodies: [
            "pub fn median(samples: &[u64]) -> Option<u64> {
    let mut $a = samples.to_vec();
    $a.sort_unstable();
    $a.get($a.len() / 2).copied()
}
",
            "pub fn median(samples: &[u64]) -> Option<u64> {
    let mut $a = samples.to_vec();
    let middle = $a.len() / 2;
    if $a.is_empty() {
        return None;
    }
    Some(*$a.select_nth_unstable(middle).1)
}
",
        ],
        locals: ["sorted", "ordered", "values"],
        call: "$f(&[3, 1, 2]).unwrap_or(0)",
    },
    Helper {
        name: "mean",
        docs: [
            "The mean, rounded down.",
            "What each would be if all were alike.",
        ],
        bodies: [
            "pub fn mean(samples: &[u64]) -> u64 {
    let $a: u64 = samples.iter().sum();
    $a / (samples.len() as u64).max(1)
}
",
            "pub fn mean(samples: &[u64]) -> u64 {
    let mut $a = 0_u64;
    for sample in samples {
        $a = $a.saturating_add(*sample);
    }
    $a.checked_div(samples.len() as u64).unwrap_or(0)
}
",
        ],
        locals: ["sum", "total", "whole"],
        call: "$f(&[1, 2, 6])",
    },
    Helper {
        name: "digits",
        docs: ["Digits of a number.", "How wide a number is in print."],
        bodies: [
            "pub fn digits(number: u64) -> u32 {
    let mut $a = 1;
    let mut rest = number / 10;
    while rest > 0 {
        $a += 1;
        rest /= 10;
    }
    $a
}
",
            "pub fn digits(number: u64) -> u32 {
    let $a = number.checked_ilog10();
    $a.map_or(1, |log| log + 1)
}
",
        ],
        locals: ["width", "columns", "places"],
        call: "u64::from($f(1_000))",
    },
    Helper {
        name: "hex",
        docs: [
            "A number as people read it.",
            "Sixteen digits, the first ones first.",
        ],
        bodies: [
            "pub fn hex(number: u64) -> String {
    let $a = format!(\"{number:016x}\");
    $a
}
",
            "pub fn hex(number: u64) -> String {
    let mut $a = String::with_capacity(16);
    for shift in (0..16).rev() {
        let digit = (number >> (shift * 4)) & 0xf;
        $a.push(char::from_digit(digit as u32, 16).unwrap_or('0'));
    }
    $a
}
",
        ],
        locals: ["text", "shown", "digits"],
        call: "$f(255).len() as u64",
    },
    Helper {
        name: "parse_pair",
        docs: [
            "Two numbers, as `3:4`.",
            "What stands before and after a colon.",
        ],
        bodies: [
            "pub fn parse_pair(text: &str) -> Option<(u64, u64)> {
    let ($a, second) = text.split_once(':')?;
    Some(($a.parse().ok()?, second.parse().ok()?))
}
",
            "pub fn parse_pair(text: &str) -> Option<(u64, u64)> {
    let mut $a = text.splitn(2, ':').map(str::trim);
    let first = $a.next()?.parse().ok()?;
    Some((first, $a.next()?.parse().ok()?))
}
",
        ],
        locals: ["one", "left", "head"],
        call: "$f(\"3:4\").map_or(0, |pair| pair.0)",
    },
    Helper {
        name: "round_up",
        docs: [
            "The next multiple.",
            "Up to a multiple; there itself where it is one.",
        ],
        bodies: [
            "pub fn round_up(number: u64, to: u64) -> u64 {
    let $a = number % to;
    if $a == 0 { number } else { number + to - $a }
}
",
            "pub fn round_up(number: u64, to: u64) -> u64 {
    let $a = number.div_ceil(to);
    $a * to
}
",
        ],
        locals: ["rest", "over", "part"],
        call: "$f(13, 8)",
    },
    Helper {
        name: "gcd",
        docs: ["The greatest common divisor.", "What divides both."],
        bodies: [
            "pub fn gcd(one: u64, other: u64) -> u64 {
    let ($a, mut rest) = (one, other);
    let mut divisor = $a;
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    divisor
}
",
            "pub fn gcd(one: u64, other: u64) -> u64 {
    let $a = other;
    if $a == 0 { one } else { gcd($a, one % $a) }
}
",
        ],
        locals: ["start", "step", "seen"],
        call: "$f(12, 18)",
    },
    Helper {
        name: "common_prefix",
        docs: [
            "Bytes that both begin with.",
            "How long two texts are the same.",
        ],
        bodies: [
            "pub fn common_prefix(one: &str, other: &str) -> usize {
    let $a = one.bytes().zip(other.bytes());
    $a.take_while(|(left, right)| left == right).count()
}
",
            "pub fn common_prefix(one: &str, other: &str) -> usize {
    let mut $a = 0;
    let (one, other) = (one.as_bytes(), other.as_bytes());
    while $a < one.len().min(other.len()) && one[$a] == other[$a] {
        $a += 1;
    }
    $a
}
",
        ],
        locals: ["pairs", "same", "both"],
        call: "$f(\"store\", \"stone\") as u64",
    },
    Helper {
        name: "escape",
        docs: [
            "A text within quotes.",
            "With a backslash where one is needed.",
        ],
        bodies: [
            "pub fn escape(text: &str) -> String {
    let $a = text.replace('\\\\', \"\\\\\\\\\");
    $a.replace('\"', \"\\\\\\\"\")
}
",
            "pub fn escape(text: &str) -> String {
    let mut $a = String::new();
    for c in text.chars() {
        if c == '\\\\' || c == '\"' {
            $a.push('\\\\');
        }
        $a.push(c);
    }
    $a
}
",
        ],
        locals: ["escaped", "safe", "quoted"],
        call: "$f(\"a\\\"b\").len() as u64",
    },
    Helper {
        name: "spread",
        docs: ["From the least to the greatest.", "How far they lie apart."],
        bodies: [
            "pub fn spread(samples: &[u64]) -> u64 {
    let $a = samples.iter().min().copied().unwrap_or(0);
    samples.iter().max().map_or(0, |most| most - $a)
}
",
            "pub fn spread(samples: &[u64]) -> u64 {
    let mut $a = u64::MAX;
    let mut most = 0;
    for sample in samples {
        $a = $a.min(*sample);
        most = most.max(*sample);
    }
    most.saturating_sub($a)
}
",
        ],
        locals: ["least", "low", "lowest"],
        call: "$f(&[5, 2, 9])",
    },
    Helper {
        name: "rising",
        docs: [
            "Whether each is above the last.",
            "Whether they only go up.",
        ],
        bodies: [
            "pub fn rising(samples: &[u64]) -> bool {
    let mut $a = samples.windows(2);
    $a.all(|pair| pair[0] < pair[1])
}
",
            "pub fn rising(samples: &[u64]) -> bool {
    let mut $a = None;
    for sample in samples {
        if $a.is_some_and(|before| before >= *sample) {
            return false;
        }
        $a = Some(*sample);
    }
    true
}
",
        ],
        locals: ["steps", "last", "so_far"],
        call: "u64::from($f(&[1, 2, 3]))",
    },
    Helper {
        name: "zigzag",
        docs: [
            "Small numbers for small ones of either sign.",
            "Signs in the lowest bit.",
        ],
        bodies: [
            "pub fn zigzag(number: i64) -> u64 {
    let $a = number << 1;
    ($a ^ (number >> 63)) as u64
}
",
            "pub fn zigzag(number: i64) -> u64 {
    let $a = number.unsigned_abs();
    if number < 0 { 2 * $a - 1 } else { 2 * $a }
}
",
        ],
        locals: ["twice", "size", "wide"],
        call: "$f(-3)",
    },
    Helper {
        name: "varint_len",
        docs: [
            "Bytes of a number, seven bits in each.",
            "What a number takes in a file.",
        ],
        bodies: [
            "pub fn varint_len(number: u64) -> usize {
    let mut $a = 1;
    let mut rest = number >> 7;
    while rest > 0 {
        $a += 1;
        rest >>= 7;
    }
    $a
}
",
            "pub fn varint_len(number: u64) -> usize {
    let $a = 64 - (number | 1).leading_zeros() as usize;
    $a.div_ceil(7)
}
",
        ],
        locals: ["bytes", "len", "taken"],
        call: "$f(300) as u64",
    },
    Helper {
        name: "initials",
        docs: [
            "The first letter of each word.",
            "A short name for a long one.",
        ],
        bodies: [
            "pub fn initials(text: &str) -> String {
    let $a = text.split_whitespace();
    $a.filter_map(|word| word.chars().next()).collect()
}
",
            "pub fn initials(text: &str) -> String {
    let mut $a = String::new();
    for word in text.split_whitespace() {
        $a.extend(word.chars().next());
    }
    $a
}
",
        ],
        locals: ["letters", "short", "name"],
        call: "$f(\"a small store\").len() as u64",
    },
    Helper {
        name: "depth",
        docs: ["Folders above it.", "How deep a path lies."],
        bodies: [
            "pub fn depth(path: &str) -> usize {
    let $a = path.trim_matches('/');
    $a.matches('/').count()
}
",
            "pub fn depth(path: &str) -> usize {
    let $a = path.split('/').filter(|name| !name.is_empty());
    $a.count().saturating_sub(1)
}
",
        ],
        locals: ["inner", "names", "trimmed"],
        call: "$f(\"/a/b/c\") as u64",
    },
];
