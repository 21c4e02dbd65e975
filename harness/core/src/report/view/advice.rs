//! What to do, in sentences that fit what was found, with the number that would be enough where
//! it can be known.

use crate::finding::{Finding, Subject};
use crate::growth::Unit;
use crate::holders::{ChainEnd, LinkKind};
use crate::judge::COARSEST_THRESHOLD;
use crate::rate::to_f64;
use crate::report::units::{count, duration, plural, size};
use crate::report::view::{are_by_clock, total};
use crate::report::{BuilderSetting, LadderEnd, Report};
use crate::{Law, Per};

/// Iterations a second of the service that growth is shown for.
const PER_SECOND: f64 = 1_000.0;

/// The longest time that growth is shown for. Most services start anew within a month, and
/// nobody plans for what slower growth does.
const A_MONTH: f64 = 30.0 * 24.0 * 3_600.0;

const GIB: f64 = 1_073_741_824.0;

impl Report {
    /// Returns the setting that would be enough: `a budget of about 60s`, or `` `max-iterations`
    /// of 16,000``.
    pub fn enough(&self) -> Option<String> {
        let BuilderSetting { key, value } = self.enough.as_ref()?;
        // These become plimsoll's own words, and the report may be of an attacker.
        let (number, unit) = match value.strip_suffix(['s', 'm', 'h']) {
            Some(number) => (number, &value[number.len()..]),
            None => (value.as_str(), ""),
        };
        let number: u64 = number.parse().ok()?;
        match (key.as_str(), unit) {
            ("budget", "s" | "m" | "h") => Some(format!("a budget of about {number}{unit}")),
            ("max-iterations", "") => Some(format!("`max-iterations` of {}", count(number))),
            _ => None,
        }
    }

    /// Returns what would give an inconclusive run a verdict, as fragments of sentences.
    pub fn advice(&self) -> Vec<String> {
        let setting = self.enough().map(|setting| setting + " would do");
        let unsure = self.unsure();
        if !unsure.is_empty() && are_by_clock(&unsure) {
            // Nothing that is done to the iterations would tell.
            return setting.into_iter().collect();
        }
        if !self.per.is_iteration() {
            return vec!["watch for longer (`--for`)".to_owned()];
        }
        let cheaper = match &self.measured {
            Some(measured) if measured.profile == "debug" => {
                "make an iteration cheaper, as `cargo test --release` or `opt-level = 1` does"
            }
            _ => "make an iteration cheaper",
        };
        let budget = match &setting {
            Some(setting) => format!("{setting}, or {cheaper}"),
            None => {
                format!("how much is enough cannot be predicted; try twice as much, or {cheaper}")
            }
        };
        let mut said: Vec<String> = Vec::new();
        match self.end {
            LadderEnd::Budget => {
                said.push(format!("the time budget was spent first: {budget}"));
            }
            LadderEnd::OutOfReach => said.push(format!(
                "the time budget is too small for that, and was not spent: {budget}"
            )),
            LadderEnd::Iterations => said.push(format!(
                "`max-iterations` was reached first: {}",
                setting.unwrap_or_else(|| "try twice as many".to_owned())
            )),
            LadderEnd::Memory => said.push(
                "the memory limit was reached first: raise `memory-limit`, or keep less alive in \
                 the scenario"
                    .to_owned(),
            ),
            LadderEnd::Threads => said.push(format!("{}: do they end?", self.end.why())),
            LadderEnd::Descriptors => said.push(format!("{}: are they closed?", self.end.why())),
            LadderEnd::Mappings => said.push(format!("{}: are they unmapped?", self.end.why())),
            LadderEnd::Settled | LadderEnd::Failure => said.extend(setting),
        }
        let may_be_steadier = unsure.iter().any(|one| one.law == Law::Fluctuating);
        let threshold = self.threshold;
        let may_be_coarser = threshold.iterations > COARSEST_THRESHOLD && !threshold.coarsened;
        let coarser = format!("a `threshold` below {}", count(threshold.iterations));
        said.extend(match (may_be_steadier, may_be_coarser) {
            (true, true) => Some(format!(
                "a steadier workload needs fewer iterations, and so does {coarser}"
            )),
            (true, false) => Some("a steadier workload needs fewer iterations".to_owned()),
            (false, true) => Some(format!("{coarser} needs fewer iterations")),
            (false, false) => None,
        });
        said
    }

    /// Returns that the threshold was coarsened, and what would find smaller growth. `None` if
    /// it was not, or if nobody needs to know: something larger is there.
    pub fn coarsened(&self) -> Option<String> {
        use crate::verdict::Verdict::{Improved, Inconclusive, Within};
        let matters = matches!(self.verdict, Within | Improved | Inconclusive);
        (self.threshold.coarsened && matters).then_some(())?;
        let said = match self.threshold.iterations {
            1 => "the threshold was coarsened to 1 object in every iteration".to_owned(),
            n => format!("the threshold was coarsened to 1 object in {}", count(n)),
        };
        let finer = "would find smaller growth";
        Some(match self.enough() {
            // What is enough for a verdict is among the advice.
            Some(setting) if self.verdict != Inconclusive => format!("{said}: {setting} {finer}"),
            _ => said,
        })
    }

    /// Returns what growth means for a service that runs for a long time: `1 GiB in 3.1 h at
    /// 1,000 iterations a second`. `None` if it takes more than a month, or if nothing grows in
    /// proportion to the iterations.
    pub fn in_service(&self, growing: &[&Finding]) -> Option<String> {
        let mut parts = Vec::new();
        let is_by_clock = are_by_clock(growing);
        let (per_second, at) = match self.per {
            _ if is_by_clock => (1.0, String::new()),
            Per::Second => (1.0, String::new()),
            Per::Iteration | Per::Counter(_) => (
                PER_SECOND,
                format!(" at 1,000 {} a second", self.per.many()),
            ),
        };
        let mut add = |n: f64, what: &str, rate: f64| {
            let seconds = n / (rate * per_second);
            if rate > 0.0 && seconds <= A_MONTH {
                parts.push(format!("{what} in {}", duration(seconds)));
            }
        };
        let mut steady = growing.to_vec();
        steady.retain(|finding| is_steady(finding) && finding.clock.is_some() == is_by_clock);
        let rate = |finding: &Finding| match finding.clock {
            Some(clock) => clock.per_second,
            None => finding.rate,
        };
        add(GIB, "1 GiB", total(&steady, rate).bytes);
        for finding in steady {
            if let Subject::Resource(resource) = finding.subject {
                let n = resource.a_lot();
                let rate = rate(finding);
                let (what, rate) = match resource.unit() {
                    Unit::Objects => {
                        let what = plural(n, resource.one(), resource.many());
                        (what, rate.objects)
                    }
                    Unit::Bytes => {
                        let what = format!("{} {}", size(n), resource.after_number());
                        (what, rate.bytes)
                    }
                };
                add(to_f64(n), &what, rate);
            }
        }
        let parts = parts.join(", ");
        (!parts.is_empty()).then(|| parts + &at)
    }

    /// Returns how to tell growth from a cache that is not full yet. `None` if no cache grows
    /// like this.
    pub fn may_be_filling(&self, growing: &[&Finding]) -> Option<String> {
        let mut growing = growing.iter().copied();
        // A cache is held.
        let is_held = |one: &Finding| {
            let end = one.holders.as_ref().map(|holders| holders.end);
            !matches!(end, Some(ChainEnd::Lost | ChainEnd::Cycle))
        };
        let may_fill =
            |one: &&Finding| one.is_heap() && is_steady(one) && one.clock.is_none() && is_held(one);
        let cached = growing.find(may_fill)?;
        let level = cached.levels.last().copied().unwrap_or_default();
        // A table in which many objects are kept grows in steps, by few objects.
        let of_more_than = match cached.rate.objects > 0.0 && cached.law == Law::Linear {
            _ if level.bytes == 0 => String::new(),
            true => format!(
                " of more than {}",
                plural(level.objects, "object", "objects")
            ),
            false => format!(" of more than {}", size(level.bytes)),
        };
        let raise = match self.end {
            _ if !self.per.is_iteration() => Some("watch for longer (`--for`)"),
            LadderEnd::Budget | LadderEnd::OutOfReach => Some("raise the budget"),
            LadderEnd::Iterations => Some("raise `max-iterations`"),
            LadderEnd::Memory => Some("raise `memory-limit`"),
            _ => None,
        };
        let times = self.octaves_to_tell(cached).map(|octaves| 1_u64 << octaves);
        let raise = raise.map(|raise| match times {
            Some(times) => {
                let many = self.per.many();
                format!("{raise} to reach {times} times the {many} that fill it")
            }
            None => format!("{raise} until it is full"),
        });
        // What hardly grows is a table inside of some library.
        let smaller = self
            .in_service(&[cached])
            .filter(|_| self.per.is_iteration())
            .map(|_| "make it smaller in the scenario");
        let smaller = smaller.map(str::to_owned);
        let advice: Vec<String> = smaller.into_iter().chain(raise).collect();
        let holders = cached.holders.as_ref();
        let last = holders.and_then(|holders| holders.chain.last());
        // One task may hold a cache.
        if last.is_some_and(|last| last.kind == LinkKind::Tasks && last.count > 1) {
            return Some(LATE_TASKS.to_owned());
        }
        (!advice.is_empty()).then(|| {
            let advice = advice.join(", or ");
            let cache = format!("a cache{of_more_than} looks like this too: {advice}");
            let is_of_state = last.is_none_or(|last| last.kind == LinkKind::State);
            match self.run.benchmark {
                Some(_) if is_of_state => format!("{ON_PURPOSE}; {cache}"),
                _ => cache,
            }
        })
    }
}

/// What is said of tasks that have not ended.
const LATE_TASKS: &str = "tasks that end after the run look like this too, such as those that wait \
                          for a timeout: wait in an iteration for their end, or make the time shorter";

/// What is said of a benchmark that grows.
const ON_PURPOSE: &str = "the benchmark itself may keep this on purpose, as in a `Vec` outside of \
                          `b.iter`: then accept it";

/// Returns whether a finding grows in proportion to the iterations.
fn is_steady(finding: &Finding) -> bool {
    matches!(finding.law, Law::Linear | Law::Stepped) && !finding.is_unused()
}
