//! Sums of several findings.

use crate::finding::each_stack_once;
use crate::growth::Unit;
use crate::report::units::{bytes, give_or_take, objects, plural, signed_bytes, signed_objects};
use crate::report::{Finding, Report, Subject};
use crate::{Rate, Resource};

/// A number, and the text that follows it: its error and its unit, after a space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number: `+96 B`, `+1.00`.
    pub number: String,
    /// The rest: ` ± 0.10 objects`.
    pub rest: String,
}

/// What several findings gain, or may gain, per iteration. Each byte counts once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// The sum of stacks and sites. Like the other sums, `None` if there are none.
    heap: Option<Rate>,
    /// In the order of [`Resource`].
    resources: [Option<Rate>; Resource::ALL.len()],
    /// The error of `heap`, if that is an estimate.
    error: Option<Rate>,
    /// Whether the numbers are written with a sign.
    is_gain: bool,
}

impl Sum {
    /// Returns what findings of a report gain, with the error if the profile was sampled.
    pub fn of(report: &Report, findings: &[&Finding]) -> Sum {
        Sum {
            error: report.error_of_total(findings),
            is_gain: true,
            ..Sum::by(findings, |finding| finding.rate)
        }
    }

    /// Returns what findings that grow with time gain per second.
    pub fn per_second(findings: &[&Finding]) -> Sum {
        Sum {
            is_gain: true,
            ..Sum::by(findings, |finding| {
                finding.clock.unwrap_or_default().per_second
            })
        }
    }

    /// Returns what the baseline allows them.
    pub fn allowed(findings: &[&Finding]) -> Sum {
        Sum::by(findings, |finding| finding.allowed)
    }

    fn by(findings: &[&Finding], rate: fn(&Finding) -> Rate) -> Sum {
        let sum = |findings: Vec<&Finding>| {
            let rates = findings.into_iter().map(rate);
            rates.reduce(|sum, rate| sum + rate)
        };
        let resource = |resource: Resource| {
            let of = findings.iter().copied();
            let of = of.filter(|finding| finding.subject == Subject::Resource(resource));
            sum(of.collect())
        };
        Sum {
            heap: sum(each_stack_once(findings)),
            resources: Resource::ALL.map(resource),
            ..Sum::default()
        }
    }

    /// Returns each number, the most telling one first. Empty if nothing is summed.
    pub fn amounts(&self) -> Vec<Amount> {
        let mut amounts = self.of_each_kind();
        if let Some(heap) = self.heap {
            let off = give_or_take(self.error.map(|error| error.objects), objects);
            let number = self.say(Unit::Objects, heap);
            let rest = off + " objects";
            amounts.insert(1, Amount { number, rest });
        }
        amounts
    }

    /// Returns the most telling number of each kind of memory and of each resource: `+48 B`,
    /// `+48 B and +1.00 threads`, or `0 B` if nothing is summed.
    pub fn short(&self) -> String {
        let each = self.of_each_kind().into_iter();
        let each: Vec<String> = each.map(|one| one.number + &one.rest).collect();
        listed(&each).unwrap_or_else(|| bytes(0.0))
    }

    /// Returns the bytes of the heap, and a number for each resource.
    fn of_each_kind(&self) -> Vec<Amount> {
        let heap = self.heap.map(|heap| Amount {
            number: self.say(Unit::Bytes, heap),
            rest: give_or_take(self.error.map(|error| error.bytes), bytes),
        });
        let resources = Resource::ALL.into_iter().zip(self.resources);
        let resources = resources.filter_map(|(resource, rate)| {
            Some(Amount {
                number: self.say(resource.unit(), rate?),
                rest: format!(" {}", resource.after_number()),
            })
        });
        heap.into_iter().chain(resources).collect()
    }

    fn say(&self, unit: Unit, rate: Rate) -> String {
        match (unit, self.is_gain) {
            (Unit::Bytes, true) => signed_bytes(rate.bytes),
            (Unit::Bytes, false) => bytes(rate.bytes),
            (Unit::Objects, true) => signed_objects(rate.objects),
            (Unit::Objects, false) if rate.objects == 0.0 => "0".to_owned(),
            (Unit::Objects, false) => objects(rate.objects),
        }
    }

    /// Returns the number by which sums are ordered: bytes per iteration. A thread or a file
    /// counts as much as an object of 8 bytes.
    pub fn weight(&self) -> f64 {
        let resources = self.resources.iter().flatten();
        let weigh = |rate: &Rate| rate.bytes + 8.0 * rate.objects;
        let weight = self.heap.unwrap_or_default().bytes + resources.map(weigh).sum::<f64>();
        if weight.is_finite() { weight } else { 0.0 }
    }

    /// Returns the weight in millionths. It is an integer, because no float decides an order.
    #[expect(clippy::cast_possible_truncation, reason = "cut to the range before")]
    pub fn rank(&self) -> i128 {
        (self.weight() * 1e6).clamp(-1e36, 1e36) as i128
    }
}

/// Returns the sum of a rate of all findings, with each stack counted once.
pub fn total(findings: &[&Finding], rate: impl Fn(&Finding) -> Rate) -> Rate {
    each_stack_once(findings)
        .iter()
        .fold(Rate::default(), |sum, finding| sum + rate(finding))
}

/// Returns `2 stacks and 1 allocation site`. `more` comes before each noun.
pub fn counted(findings: &[&Finding], more: &str) -> String {
    let is_site = |finding: &&&Finding| matches!(finding.subject, Subject::Site { .. });
    let sites = findings.iter().filter(is_site).count() as u64;
    let stacks = findings.iter().filter(|finding| finding.is_heap()).count() as u64 - sites;
    let mut parts = Vec::new();
    for (n, noun) in [(stacks, "stack"), (sites, "allocation site")] {
        if n > 0 {
            let noun = format!("{more}{noun}");
            parts.push(plural(n, &noun, &format!("{noun}s")));
        }
    }
    let resources = findings.iter().filter(|finding| !finding.is_heap());
    parts.extend(resources.map(|finding| finding.subject.name()));
    listed(&parts).unwrap_or_else(|| "nothing".to_owned())
}

/// Returns `a, b and c`. `None` if there are none.
fn listed(parts: &[String]) -> Option<String> {
    Some(match parts.split_last()? {
        (last, []) => last.clone(),
        (last, first) => format!("{} and {last}", first.join(", ")),
    })
}

/// Returns whether a sentence about all of them needs a verb in the singular.
pub fn is_one(findings: &[&Finding]) -> bool {
    matches!(findings, [finding] if finding.subject.unit() != Some(Unit::Objects))
}
