//! The texts that code scanning shows beside each alert. The ids of rules must not change:
//! GitHub closes an alert and opens a new one if the id of its rule changes.

use serde_json::{Value, json};

pub(super) struct Words {
    pub(super) id: &'static str,
    /// `error`, `warning` or `note`.
    pub(super) level: &'static str,
    /// How often an alert of the rule is right, as code scanning calls it. The value is for a
    /// run with exact counts.
    precision: &'static str,
    tags: &'static [&'static str],
    short: &'static str,
    full: &'static str,
    /// What the alert means.
    why: &'static str,
    /// What to do, in Markdown that can also be read as plain text.
    hints: &'static [&'static str],
}

const ACCEPT: &str = "If the growth is intended, run `cargo plimsoll accept SCENARIO --reason WHY`, \
                      and commit the baseline.";

/// Defines the rules: the name of each, and its words.
macro_rules! rules {
    ($($name:ident { $($words:tt)+ })+) => {
        /// A rule. The greater it is, the more it needs a person.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Rule {
            $($name,)+
        }

        impl Rule {
            /// All rules, in the order of the file's list.
            pub(super) const ALL: [Rule; [$(stringify!($name)),+].len()] = [$(Rule::$name),+];

            pub(super) fn words(self) -> Words {
                match self {
                    $(Rule::$name => Words { $($words)+ },)+
                }
            }
        }
    };
}

// Sorted by how much each needs a person, least first.
rules! {
    StaleAllowance {
        id: "plimsoll/stale-allowance",
        level: "note",
        precision: "high",
        tags: &["maintainability", "baseline"],
        short: "An allowance that is no longer needed",
        full: "A baseline allows growth that no longer happens. If the leak came back, nobody \
         would see it.",
        why: "The stack of this allowance no longer grows.",
        hints: &[
            "To remove the allowance, run `cargo plimsoll accept SCENARIO`, and commit the \
             baseline.",
        ],
    }
    Inconclusive {
        id: "plimsoll/inconclusive",
        level: "warning",
        precision: "medium",
        tags: &["reliability", "measurement"],
        short: "A measurement without an answer",
        full: "The run of a scenario was too short to tell growth from noise: the scenario may \
         leak or not.",
        why: "Too little was measured to tell growth from noise.",
        hints: &[
            "Raise the scenario's budget, or make an iteration shorter.",
            "Remove from the workload what differs from iteration to iteration.",
        ],
    }
    MappingGrowth {
        id: "plimsoll/mapping-growth",
        level: "error",
        precision: "high",
        tags: &["reliability", "memory", "external/cwe/cwe-772"],
        short: "Mapped files that keep growing in number",
        full: "A scenario has more mappings of files with every iteration than its baseline allows.",
        why: "Files that an iteration of the scenario maps stay mapped.",
        hints: &[
            "Find the owner that is not dropped, or the mapping that was made with `mmap` and is \
             never given to `munmap`.",
            ACCEPT,
        ],
    }
    DescriptorGrowth {
        id: "plimsoll/descriptor-growth",
        level: "error",
        precision: "high",
        tags: &["reliability", "descriptors", "external/cwe/cwe-775"],
        short: "Open file descriptors that keep growing in number",
        full: "A scenario has more open file descriptors with every iteration than its baseline \
         allows.",
        why: "Files or sockets that an iteration of the scenario opens stay open.",
        hints: &[
            "Find the owner that is not dropped, or the descriptor that was made raw and is not \
             closed.",
            ACCEPT,
        ],
    }
    ThreadGrowth {
        id: "plimsoll/thread-growth",
        level: "error",
        precision: "high",
        tags: &["reliability", "threads", "external/cwe/cwe-772"],
        short: "Threads that keep growing in number",
        full: "A scenario has more threads with every iteration than its baseline allows.",
        why: "Threads that an iteration of the scenario starts do not end with it.",
        hints: &[
            "Join them, or tell them to stop: a worker whose channel is never closed waits for \
             ever.",
            ACCEPT,
        ],
    }
    OutsideGrowth {
        id: "plimsoll/outside-growth",
        level: "error",
        precision: "high",
        tags: &["reliability", "memory", "external/cwe/cwe-401"],
        short: "Memory outside the allocator that keeps growing",
        full: "A scenario maps more memory with every iteration than its baseline allows, and \
         Rust's allocator does not manage that memory.",
        why: "Memory that an iteration of the scenario maps stays mapped.",
        hints: &[
            "Find the mapping that is made with `mmap` and never given to `munmap`.",
            "A C library with an allocator of its own leaks there: look for objects of that \
             library that are not freed.",
            ACCEPT,
        ],
    }
    ExpiredAllowance {
        id: "plimsoll/expired-allowance",
        level: "error",
        precision: "very-high",
        tags: &["reliability", "maintainability", "baseline"],
        short: "An allowance that has expired",
        full: "A baseline allows growth until a day that has passed.",
        why: "The growth was accepted until a day that has passed.",
        hints: &[
            "Fix the leak, and remove the allowance.",
            "Or accept the growth again: `cargo plimsoll accept SCENARIO --expires DATE`.",
        ],
    }
    Growth {
        id: "plimsoll/growth",
        level: "error",
        precision: "high",
        tags: &["reliability", "memory", "external/cwe/cwe-401"],
        short: "Memory that keeps growing",
        full: "A call stack holds more memory with every iteration of its scenario than its \
         baseline allows.",
        why: "The memory that this stack allocates in one iteration is still alive in the next \
         ones.",
        hints: &[
            "Find the owner: a collection that is only pushed to, a cache without a limit, a cycle \
             of reference counts, a forgotten task.",
            "A cache that was not full by the end of the run looks the same. Make it smaller in \
             the scenario, or raise the scenario's budget.",
            ACCEPT,
        ],
    }
    NoResult {
        id: "plimsoll/no-result",
        level: "error",
        precision: "very-high",
        tags: &["reliability", "measurement"],
        short: "A scenario without a result",
        full: "A test target lists this scenario, and the run has no report of it. A missing \
         report never counts as \"no leaks\".",
        why: "The scenario left no report that can be read.",
        hints: &[
            "A filter excluded it, or the test ended before the scenario ran.",
            "A job of the matrix was lost, or its report was not merged.",
        ],
    }
    WorkloadFailed {
        id: "plimsoll/workload-failed",
        level: "error",
        precision: "very-high",
        tags: &["reliability", "correctness"],
        short: "A workload that failed",
        full: "The workload of a scenario panicked, was killed or hung, so its growth is not known.",
        why: "The workload itself failed.",
        hints: &["Run it again alone: `cargo test --test leaks SCENARIO`."],
    }
    BrokenMeasurement {
        id: "plimsoll/broken-measurement",
        level: "error",
        precision: "very-high",
        tags: &["reliability", "measurement"],
        short: "A measurement that cannot be trusted",
        full: "A check of the measurement itself failed, so neither growth nor its absence is \
         known.",
        why: "plimsoll plants a leak of its own and looks for it, among other checks, and one of \
         them failed.",
        hints: &[
            "The text of the failing test says what was expected, what was found and what to do.",
        ],
    }
}

impl Rule {
    pub(super) fn descriptor(self) -> Value {
        let words = self.words();
        let severity = match words.level {
            "note" => "recommendation",
            level => level,
        };
        let help = format!("{}\n\n- {}", words.why, words.hints.join("\n- "));
        json!({
            "id": words.id,
            "name": format!("{self:?}"),
            "shortDescription": { "text": words.short },
            "fullDescription": { "text": words.full },
            "help": { "text": help, "markdown": help },
            "defaultConfiguration": { "level": words.level },
            "properties": {
                "tags": words.tags,
                "precision": words.precision,
                "problem.severity": severity,
            },
        })
    }
}
