//! The texts that code scanning shows beside each alert. The ids of rules must not change:
//! GitHub closes an alert and opens a new one if the id of its rule changes.

use serde_json::{Value, json};

/// A rule. The variants are sorted by how much each needs a person, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    StaleAllowance,
    Inconclusive,
    DescriptorGrowth,
    ThreadGrowth,
    ExpiredAllowance,
    Growth,
    NoResult,
    WorkloadFailed,
    BrokenMeasurement,
}

struct Words {
    id: &'static str,
    /// `error`, `warning` or `note`.
    level: &'static str,
    /// How often an alert of the rule is right, as code scanning calls it. The value is for a
    /// run with exact counts.
    precision: &'static str,
    tags: &'static [&'static str],
    short: &'static str,
    full: &'static str,
    /// Markdown that can also be read as plain text.
    help: &'static str,
}

impl Rule {
    pub(super) const ALL: [Rule; 9] = [
        Rule::StaleAllowance,
        Rule::Inconclusive,
        Rule::DescriptorGrowth,
        Rule::ThreadGrowth,
        Rule::ExpiredAllowance,
        Rule::Growth,
        Rule::NoResult,
        Rule::WorkloadFailed,
        Rule::BrokenMeasurement,
    ];

    pub(super) fn id(self) -> &'static str {
        self.words().id
    }

    pub(super) fn level(self) -> &'static str {
        self.words().level
    }

    /// Returns the index in [`Rule::ALL`], which is also the index in the file's list.
    pub(super) fn index(self) -> usize {
        self as usize
    }

    pub(super) fn descriptor(self) -> Value {
        let words = self.words();
        let severity = match words.level {
            "error" => "error",
            "warning" => "warning",
            _ => "recommendation",
        };
        json!({
            "id": words.id,
            "name": format!("{self:?}"),
            "shortDescription": { "text": words.short },
            "fullDescription": { "text": words.full },
            "help": { "text": words.help, "markdown": words.help },
            "defaultConfiguration": { "level": words.level },
            "properties": {
                "tags": words.tags,
                "precision": words.precision,
                "problem.severity": severity,
            },
        })
    }

    fn words(self) -> Words {
        match self {
            Rule::Growth => Words {
                id: "plimsoll/growth",
                level: "error",
                precision: "high",
                tags: &["reliability", "memory", "external/cwe/cwe-401"],
                short: "Memory that keeps growing",
                full: "A call stack holds more memory with every iteration of its scenario \
                       than its baseline allows.",
                help: "What this stack allocates in an iteration of the scenario stays alive in \
                       the next ones.\n\n\
                       - Find out who keeps it: a collection that is only pushed to, a cache \
                       without a limit, a cycle of reference counts, a forgotten task.\n\
                       - A cache that is larger than the ladder reached looks the same. Make it \
                       smaller in the scenario, or raise the scenario's budget.\n\
                       - If the growth is meant, run `cargo plimsoll accept SCENARIO`, say why \
                       with `--reason`, and commit the baseline.",
            },
            Rule::ThreadGrowth => Words {
                id: "plimsoll/thread-growth",
                level: "error",
                precision: "high",
                tags: &["reliability", "threads", "external/cwe/cwe-772"],
                short: "Threads that keep growing in number",
                full: "A scenario has more threads with every iteration than its baseline allows.",
                help: "Threads that an iteration of the scenario starts do not end with it.\n\n\
                       - Join them, or tell them to stop: a worker whose channel is never closed \
                       waits for ever.\n\
                       - If the growth is meant, run `cargo plimsoll accept SCENARIO`, say why \
                       with `--reason`, and commit the baseline.",
            },
            Rule::DescriptorGrowth => Words {
                id: "plimsoll/descriptor-growth",
                level: "error",
                precision: "high",
                tags: &["reliability", "descriptors", "external/cwe/cwe-775"],
                short: "Open file descriptors that keep growing in number",
                full: "A scenario has more open file descriptors with every iteration than its \
                       baseline allows.",
                help: "Files or sockets that an iteration of the scenario opens stay open.\n\n\
                       - Find the owner that is not dropped, or the descriptor that was made raw \
                       and is not closed.\n\
                       - If the growth is meant, run `cargo plimsoll accept SCENARIO`, say why \
                       with `--reason`, and commit the baseline.",
            },
            Rule::ExpiredAllowance => Words {
                id: "plimsoll/expired-allowance",
                level: "error",
                precision: "very-high",
                tags: &["reliability", "maintainability", "baseline"],
                short: "An allowance that has expired",
                full: "A baseline allows growth until a day that has passed.",
                help: "The growth was agreed to for a time, and the time is over.\n\n\
                       - Mend the leak, and take the allowance out.\n\
                       - Or agree to it anew: `cargo plimsoll accept SCENARIO --expires DATE`.",
            },
            Rule::StaleAllowance => Words {
                id: "plimsoll/stale-allowance",
                level: "note",
                precision: "high",
                tags: &["maintainability", "baseline"],
                short: "An allowance that nothing uses any more",
                full: "A baseline allows growth that no longer happens, and would let it come \
                       back unseen.",
                help: "What this allowance is for no longer grows.\n\n\
                       - Take it out with `cargo plimsoll accept SCENARIO`, and commit the \
                       baseline: the leak cannot come back unseen then.",
            },
            Rule::Inconclusive => Words {
                id: "plimsoll/inconclusive",
                level: "warning",
                precision: "medium",
                tags: &["reliability", "measurement"],
                short: "A measurement that says neither yes nor no",
                full: "A scenario's budget was spent before its noise was beaten: it may leak or not.",
                help: "Too little was measured to tell growth from noise.\n\n\
                       - Raise the scenario's budget, or make an iteration shorter.\n\
                       - Take out of the workload what differs from iteration to iteration.",
            },
            Rule::NoResult => Words {
                id: "plimsoll/no-result",
                level: "error",
                precision: "very-high",
                tags: &["reliability", "measurement"],
                short: "A scenario without a result",
                full: "A test target lists this scenario, and the run has no report of it: it did \
                       not pass.",
                help: "The scenario left no report that can be read.\n\n\
                       - It was filtered out, or the test was ended before it came to it.\n\
                       - A job of the matrix was lost, or its report was not joined.",
            },
            Rule::WorkloadFailed => Words {
                id: "plimsoll/workload-failed",
                level: "error",
                precision: "very-high",
                tags: &["reliability", "correctness"],
                short: "A workload that failed",
                full: "The workload of a scenario panicked, was killed or hung, so nothing can be \
                       said of its growth.",
                help: "The workload itself failed.\n\n\
                       - Run it again alone: `cargo test --test leaks SCENARIO`.",
            },
            Rule::BrokenMeasurement => Words {
                id: "plimsoll/broken-measurement",
                level: "error",
                precision: "very-high",
                tags: &["reliability", "measurement"],
                short: "A measurement that cannot be trusted",
                full: "A check that guards the measurement failed: what the run says of growth, \
                       or that there is none, means nothing.",
                help: "plimsoll plants a leak of its own and looks for it, among other checks, \
                       and one of them failed.\n\n\
                       - The text of the failing test says what was expected, what was found and \
                       what to do.",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rules_are_in_order_and_distinct() {
        for (index, rule) in Rule::ALL.into_iter().enumerate() {
            assert_eq!(rule.index(), index);
            assert!(rule.words().tags.len() <= 20, "{}", rule.id());
        }
        assert!(Rule::ALL.is_sorted());
        let ids: BTreeSet<&str> = Rule::ALL.into_iter().map(Rule::id).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
    }
}
