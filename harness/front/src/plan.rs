//! How a scenario is profiled.

use plimsoll_core::Tally;
use plimsoll_core::dump::SampleInterval;
use plimsoll_core::settings::{MAX_SAMPLE_INTERVAL, nearest_sample_interval};
use plimsoll_core::to_f64;

/// The profiler's options in a subject. They must be set before the first thread starts,
/// because a thread draws its first sample with the interval at its start.
///
/// The default samples every allocation, and keeps no stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The logarithm to base 2 of the mean bytes between samples.
    pub(crate) lg_interval: u32,
    /// Whether jemalloc keeps the record of a stack when no object of it is live.
    ///
    /// If not, jemalloc forgets the stack with its last object, and learns it again with the
    /// next one. This is a third of the cost of exact profiling. But a profile that keeps
    /// stacks also keeps threads that have ended.
    pub(crate) keeps_stacks: bool,
    /// Whether no mapping has memory of both the allocator and the program. The kernel joins
    /// mappings that lie beside each other, if they are alike.
    pub(crate) parts_memory: bool,
    /// What earlier attempts showed about other plans.
    pub(crate) known: Known,
}

/// Results of attempts with other plans, so that no plan is tried twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Known {
    #[default]
    Nothing,
    /// An exact profile needs more memory than there is.
    ExactIsTooLarge,
    /// A sampled profile misses threads of the workload; see [`Plan::may_miss`].
    SampledMissesThreads,
}

/// How many mean sample intervals a thread may allocate before its first sample. One seed in
/// 3,000 draws more.
const FIRST_INTERVALS: u64 = 8;

/// The intervals that the front chooses from, as logarithms: 512 B, 4, 32 and 256 KiB.
const INTERVALS: [u32; 4] = [9, 12, 15, 18];

/// The objects that a subject leaks at one rung, on the stack of its canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canary {
    pub(crate) objects: u64,
    /// Bytes of each object.
    pub(crate) bytes: u64,
}

impl Plan {
    /// The plan that samples every allocation.
    pub(crate) const EXACT: Plan = Plan {
        lg_interval: 0,
        keeps_stacks: true,
        parts_memory: false,
        known: Known::Nothing,
    };

    /// Returns the plan for an interval that a setting asks for.
    ///
    /// # Errors
    ///
    /// A message, if the interval is not a power of two.
    pub(crate) fn fixed(interval: u64) -> Result<Plan, String> {
        if interval == 1 {
            return Ok(Self::EXACT);
        }
        let nearest = nearest_sample_interval(interval);
        if interval != nearest {
            return Err(format!(
                "a sample interval that jemalloc does not have\n  expected a power of two up to \
                 {MAX_SAMPLE_INTERVAL}, found {interval}\n  hint: {nearest}"
            ));
        }
        Ok(Self::sampled(interval.ilog2()))
    }

    /// Returns the plan with an interval of 2^`lg_interval` bytes.
    ///
    /// Stacks are not kept: few of them are sampled so often that learning them again costs
    /// much.
    pub(crate) fn sampled(lg_interval: u32) -> Plan {
        Plan {
            lg_interval,
            ..Plan::default()
        }
    }

    /// Returns the next plan that needs less memory, if this one needs too much.
    pub(crate) fn coarser(self) -> Option<Plan> {
        let lg_interval = INTERVALS.into_iter().find(|lg| *lg > self.lg_interval)?;
        Some(Plan {
            known: Known::ExactIsTooLarge,
            ..Self::sampled(lg_interval)
        })
    }

    /// Returns an exact plan, if a sampled one missed threads. Returns `None` if exact
    /// profiling was tried before.
    pub(crate) fn with_every_thread(self) -> Option<Plan> {
        (!self.is_exact() && self.known == Known::Nothing).then_some(Plan {
            known: Known::SampledMissesThreads,
            // There are threads that end, and a profile that keeps stacks would keep them.
            ..Self::default()
        })
    }

    /// Returns whether a sampled profile may still be chosen, if the plan is not set.
    pub(crate) fn may_be_sampled(self) -> bool {
        self.known != Known::SampledMissesThreads
    }

    /// Returns whether a profile may lack this many bytes because this many threads ended
    /// before their first sample.
    ///
    /// jemalloc draws a thread's first interval when the thread first allocates. The seed is
    /// the address of the thread's data (`tsd_prng_state_init` and `tsd_te_init` in tsd.c).
    /// Threads that follow each other have the same address, so all of them draw the same
    /// interval. If they end before it, none of them is sampled, however many there are.
    ///
    /// In 5.3.1 nothing gives a thread another seed:
    ///
    /// - `thread.prof.active` and `thread.prof.name` do not change the countdown. For threads
    ///   that exist, `prof.reset` does not change it either, and it discards the profile.
    /// - `thread.allocatedp` points to the count that the countdown is compared with, and
    ///   jemalloc(3) forbids changing it.
    /// - `experimental.hooks.thread_event` is called after every so many bytes of a thread, the
    ///   same number for the first call as for the others: after each allocation, or too late.
    ///   Even then the thread's first allocation is over. An allocation of the hook would draw
    ///   again, but from the same few numbers, because the seed decides the whole sequence.
    /// - `experimental.hooks.install` is also called after each allocation. It takes twice the
    ///   time, and can do no more.
    pub(crate) fn may_miss(self, threads: u64, bytes: u64) -> bool {
        let most = FIRST_INTERVALS.saturating_mul(self.interval().bytes());
        !self.is_exact() && bytes <= threads.saturating_mul(most)
    }

    /// Returns, for people, why [`may_miss`](Self::may_miss) is so, and what to do.
    pub(crate) fn why_threads_are_missed(self) -> String {
        let advice = match self.known {
            Known::ExactIsTooLarge => {
                "an exact profile takes more than the memory there is, so raise `memory-limit`"
            }
            _ => "set `sample-interval = 1`, which misses none",
        };
        format!(
            "a thread that ends before its first sample is in no sampled profile; {advice}, or \
             have the workload use threads again"
        )
    }

    /// Returns the canary that the subject leaks at each rung.
    pub(crate) fn canary(self) -> Canary {
        /// Bytes of an object in an exact profile.
        const BYTES: u64 = 48;
        let (objects, bytes) = match self.lg_interval {
            0 => (1, BYTES),
            lg => (8, BYTES.max(1 << lg.min(30))),
        };
        Canary { objects, bytes }
    }

    /// Returns why the objects found on the canary's stack are not those that `rungs` rungs
    /// have leaked, or `None` if they are.
    ///
    /// Each object was sampled or not, independently. The number found is wrong if it differs
    /// from the expected one by more than chance: six standard deviations of the binomial
    /// distribution and three objects. The three objects prevent false alarms at the first
    /// rungs, where there are few.
    pub(crate) fn canary_problem(self, found: Tally, rungs: u64) -> Option<String> {
        let Canary { objects, bytes } = self.canary();
        let objects = rungs * objects;
        let (leaked, seen) = (to_f64(objects), to_f64(found.objects));
        let probability = self.interval().probability(to_f64(bytes));
        let expected = leaked * probability;
        let by_chance = match self.is_exact() {
            true => 0.0,
            false => 6.0 * (expected * (1.0 - probability)).sqrt() + 3.0,
        };
        if (seen - expected).abs() <= by_chance && found.bytes == found.objects * bytes {
            return None;
        }
        let about = match self.is_exact() {
            true => String::new(),
            false => format!("{expected:.0} ± {by_chance:.0} of "),
        };
        Some(format!(
            "expected {about}{objects} objects of {} bytes on the canary's stack, found {} of {}",
            objects * bytes,
            found.objects,
            found.bytes
        ))
    }

    pub(crate) fn is_exact(self) -> bool {
        self.lg_interval == 0
    }

    pub(crate) fn interval(self) -> SampleInterval {
        SampleInterval::new(1 << self.lg_interval).unwrap_or_default()
    }

    /// Returns the plan as jemalloc's options.
    pub(crate) fn options(self) -> String {
        let (interval, keeps) = (self.lg_interval, self.keeps_stacks);
        format!("lg_prof_sample:{interval},prof_accum:{keeps}")
    }
}

/// How many more threads a profile may list than the process has. A workload may end a thread
/// now and then; one that starts threads in its iterations has sixteen of them by the first
/// rung.
const ENDED_THREADS: u64 = 8;

/// The last rung, in iterations, at which a plan may be given up. Later, starting again costs
/// more than going on.
const LAST_CHANCE: u64 = 64;

/// Returns whether a profile that keeps stacks fills with threads that have ended.
pub(crate) fn fills_with_threads(plan: Plan, iterations: u64, listed: u64, live: u64) -> bool {
    plan.keeps_stacks && iterations <= LAST_CHANCE && listed > live.saturating_add(ENDED_THREADS)
}

/// Counts the threads that the head of a dump lists.
pub(crate) fn threads_listed(dump: &[u8]) -> u64 {
    let lines = dump.split(|byte| *byte == b'\n');
    let head = lines.take_while(|line| !line.starts_with(b"@"));
    let is_thread = |line: &&[u8]| matches!(line.trim_ascii_start(), [b't', b'0'..=b'9', ..]);
    head.filter(is_thread).count() as u64
}

/// Timings of a workload that is too slow for an exact profile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pilot {
    /// Seconds per iteration, with an exact profile and without a profile.
    pub(crate) exact: f64,
    pub(crate) inactive: f64,
    /// Mean bytes of its allocations.
    pub(crate) object: f64,
}

impl Pilot {
    /// Returns the plan with the smallest interval at which an iteration takes at most
    /// `seconds`.
    pub(crate) fn plan_for(self, seconds: f64) -> Option<Plan> {
        // A sampled allocation is as slow as in an exact profile, all others are as fast as
        // without one.
        let share = (seconds - self.inactive) / (self.exact - self.inactive).max(1e-12);
        let sampled = |lg: &u32| Plan::sampled(*lg).interval().probability(self.object);
        let lg_interval = INTERVALS.into_iter().find(|lg| sampled(lg) <= share)?;
        Some(Plan::sampled(lg_interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_in_the_head_alone() {
        let dump = b"heap_v2/1\n  t*: 3: 48 [9: 96]\n  t0: 2: 32 [8: 80]\n  t7: 1: 16 [1: 16]\n\
                     @ 0x1 0x2\n  t*: 3: 48 [9: 96]\n  t0: 2: 32 [8: 80]\n";
        assert_eq!(threads_listed(dump), 2);
        assert_eq!(threads_listed(b""), 0);
    }

    #[test]
    fn a_pilot_takes_the_smallest_interval_that_is_fast_enough() {
        let pilot = Pilot {
            exact: 1.0,
            inactive: 0.1,
            object: 64.0,
        };
        let chosen = |seconds| pilot.plan_for(seconds).map(|plan| plan.lg_interval);
        assert_eq!(chosen(0.5), Some(9));
        assert_eq!(chosen(0.15), Some(12));
        assert_eq!(chosen(0.1005), Some(18));
        assert_eq!(chosen(0.09), None);
    }

    #[test]
    fn threads_are_missed_by_their_first_interval_alone() {
        let plan = Plan::sampled(9);
        assert!(plan.may_miss(10, 10 * 8 * 512));
        assert!(!plan.may_miss(10, 10 * 8 * 512 + 1));
        assert!(!plan.may_miss(0, 1));
        assert!(!Plan::EXACT.may_miss(1_000, 1));
    }

    #[test]
    fn an_exact_profile_is_tried_once() {
        let exact = Plan::sampled(12).with_every_thread().unwrap();
        assert!(exact.is_exact() && !exact.keeps_stacks && !exact.may_be_sampled());
        assert_eq!(exact.with_every_thread(), None);
        // Exact profiling took too much memory before.
        let sampled = Plan::EXACT.coarser().unwrap();
        assert!(sampled.may_be_sampled());
        assert_eq!(sampled.with_every_thread(), None);
        assert_eq!(sampled.coarser().unwrap().with_every_thread(), None);
        let why = sampled.why_threads_are_missed();
        assert!(why.contains("raise `memory-limit`"), "{why}");
    }

    #[test]
    fn options_are_jemallocs() {
        assert_eq!(Plan::EXACT.options(), "lg_prof_sample:0,prof_accum:true");
    }
}
