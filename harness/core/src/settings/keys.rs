//! The settings, one row each.

use super::units::{count, flag, sample_interval, size, time};
use super::{Inconclusive, MAX_SAMPLE_INTERVAL, Settings, Stale, Unwinder};

/// One setting.
#[derive(Debug)]
pub struct Key {
    /// The name in `plimsoll.toml`.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// The default.
    pub fallback: Fallback,
    /// The call on a scenario's builder, if there is one.
    pub builder: Option<&'static str>,
    /// The meaning, in one line of markdown.
    pub doc: &'static str,
    /// Sets a value; `None` if the text is not of this kind.
    pub(super) set: fn(&mut Settings, &str) -> Option<()>,
}

/// The kind of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number and a unit of time.
    Time,
    /// A number and a unit of memory.
    Size,
    /// A whole number above zero.
    Count,
    /// Mean bytes between samples.
    SampleInterval,
    /// `true` or `false`.
    Flag,
    /// One of some words.
    Word(&'static [&'static str]),
}

/// The default of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// A value that could also be written in a file.
    Value(&'static str),
    /// A description in markdown, because no value expresses the default.
    Words(&'static str),
}

impl Key {
    /// Returns the setting with that name.
    pub fn find(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Returns the environment variable that overrides every file: `PLIMSOLL_` and the key in
    /// capitals.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// Returns the name of a key's variable.
pub(super) fn variable(key: &str) -> String {
    format!("PLIMSOLL_{}", key.replace('-', "_").to_uppercase())
}

fn set<T>(setting: &mut Option<T>, value: Option<T>) -> Option<()> {
    *setting = Some(value?);
    Some(())
}

impl Kind {
    /// Returns the possible values, for a message.
    pub(super) fn expected(self) -> String {
        match self {
            Kind::Time => "a time such as `500ms`, `10s` or `2m`".to_owned(),
            Kind::Size => "a size such as `512MiB` or `2GiB`".to_owned(),
            Kind::Count => "a whole number above zero".to_owned(),
            Kind::SampleInterval => format!("a power of two up to {MAX_SAMPLE_INTERVAL}"),
            Kind::Flag => "`true` or `false`".to_owned(),
            Kind::Word(words) => match words.split_last() {
                Some((last, rest)) => format!("`{}` or `{last}`", rest.join("`, `")),
                None => "nothing".to_owned(),
            },
        }
    }
}

/// All settings, in the order of docs/settings.md.
pub static KEYS: [Key; 14] = [
    Key {
        name: "budget",
        kind: Kind::Time,
        fallback: Fallback::Value("10s"),
        builder: Some(".budget(Duration)"),
        doc: "time for the ladder, without set-up. Up to twice as long if something \
              grows, and up to three times as long if the verdict would be inconclusive",
        set: |settings, text| set(&mut settings.budget, time(text)),
    },
    Key {
        name: "max-iterations",
        kind: Kind::Count,
        fallback: Fallback::Words("none"),
        builder: Some(".max_iterations(u64)"),
        doc: "most iterations of any rung",
        set: |settings, text| set(&mut settings.max_iterations, count(text)),
    },
    Key {
        name: "threshold",
        kind: Kind::Count,
        fallback: Fallback::Words("1,000, coarser for slow iterations"),
        builder: Some(".threshold(u64)"),
        doc: "the growth to find: one object, or 8 bytes, in so many iterations; \
              never coarsened once set",
        set: |settings, text| set(&mut settings.threshold, count(text)),
    },
    Key {
        name: "outside",
        kind: Kind::Size,
        fallback: Fallback::Words("`64B`, more for short ladders"),
        builder: Some(".outside(u64)"),
        doc: "the growth of memory outside the allocator to find, per iteration; never \
              coarsened once set",
        set: |settings, text| set(&mut settings.outside, size(text)),
    },
    Key {
        name: "settle",
        kind: Kind::Time,
        fallback: Fallback::Value("100ms"),
        builder: Some(".settle(Duration)"),
        doc: "longest wait for background threads to become idle before a dump",
        set: |settings, text| set(&mut settings.settle, time(text)),
    },
    Key {
        name: "timeout",
        kind: Kind::Time,
        fallback: Fallback::Words("`60s` and three budgets"),
        builder: Some(".timeout(Duration)"),
        doc: "longest time for the scenario, including set-up; after that it counts as \
              hung",
        set: |settings, text| set(&mut settings.timeout, time(text)),
    },
    Key {
        name: "inconclusive",
        kind: Kind::Word(Inconclusive::WORDS),
        fallback: Fallback::Value("fail"),
        builder: Some(".inconclusive(Inconclusive)"),
        doc: "`warn`: an inconclusive scenario passes",
        set: |settings, text| set(&mut settings.inconclusive, Inconclusive::from_word(text)),
    },
    Key {
        name: "memory-limit",
        kind: Kind::Size,
        fallback: Fallback::Words("`2GiB`, or memory / cores / 2 if that is less"),
        builder: None,
        doc: "resident set at which the ladder ends and is judged",
        set: |settings, text| set(&mut settings.memory_limit, size(text)),
    },
    Key {
        name: "stale",
        kind: Kind::Word(Stale::WORDS),
        fallback: Fallback::Value("warn"),
        builder: None,
        doc: "`deny`: an allowance that is no longer needed, or a baseline without its \
              scenario, fails the test",
        set: |settings, text| set(&mut settings.stale, Stale::from_word(text)),
    },
    Key {
        name: "require-reason",
        kind: Kind::Flag,
        fallback: Fallback::Value("false"),
        builder: None,
        doc: "`true`: an allowance without a reason fails the test, and `plimsoll \
              baseline check`",
        set: |settings, text| set(&mut settings.require_reason, flag(text)),
    },
    Key {
        name: "keep-rungs",
        kind: Kind::Flag,
        fallback: Fallback::Value("false"),
        builder: None,
        doc: "keeps the dump of every rung",
        set: |settings, text| set(&mut settings.keep_rungs, flag(text)),
    },
    Key {
        name: "spend-budget",
        kind: Kind::Flag,
        fallback: Fallback::Value("false"),
        builder: None,
        doc: "uses exactly the budget: keeps measuring even if the threshold cannot be reached, \
              and never exceeds it; `bisect` sets it",
        set: |settings, text| set(&mut settings.spend_budget, flag(text)),
    },
    Key {
        name: "sample-interval",
        kind: Kind::SampleInterval,
        fallback: Fallback::Words("1, or what time and memory allow"),
        builder: Some(".sample_interval(u64)"),
        doc: "mean bytes between samples, a power of two; never changed once set",
        set: |settings, text| set(&mut settings.sample_interval, sample_interval(text)),
    },
    Key {
        name: "unwinder",
        kind: Kind::Word(Unwinder::WORDS),
        fallback: Fallback::Value("plimsoll"),
        builder: None,
        doc: "what walks the stacks: plimsoll's unwinder, or `libgcc`, the one that \
              jemalloc was built with; with `compare`, both, and a difference makes the \
              scenario *broken*",
        set: |settings, text| set(&mut settings.unwinder, Unwinder::from_word(text)),
    },
];
