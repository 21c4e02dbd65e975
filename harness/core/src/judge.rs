//! Makes a verdict from growth and a baseline. It is pure, and formats nothing.

mod moved;
mod outside;
mod subjects;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::{Allowance, AllowanceSubject, Baseline, Date};
use crate::dump::SampleInterval;
use crate::finding::{Finding, Standing, Subject};
use crate::growth::{FEWEST_DUMPS, Growth, Quantity, View};
use crate::rate::{to_f64, to_u64};
use crate::series::LEAST_SIZE;
pub use crate::verdict::Verdict;
use crate::verdict::{Rarest, Threshold, Visible};
use crate::{FoldedStack, Law, Rate, Resource, Series, SmallMap, Tally, fold};
pub use outside::DEFAULT_OUTSIDE;
use subjects::{Agreed, Measured, Of};

/// A measurement: the levels of stacks and resources over the rungs of one ladder.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Iterations done at each rung, in order.
    pub iterations: Vec<u64>,
    /// Every stack that moved. Stacks that are absent did not.
    pub stacks: BTreeMap<FoldedStack, Series>,
    /// Stacks whose leaf frame has its name from a symbol table only. Functions that were
    /// inlined into that frame are not among the frames.
    pub bare: BTreeSet<FoldedStack>,
    /// For stacks that end in a library's frames, the [innermost function](crate::fold::Trace::owner)
    /// that is not a library's.
    pub owners: BTreeMap<FoldedStack, String>,
    /// What the process has of each resource. A resource that is absent is not known.
    pub resources: BTreeMap<Resource, Series>,
    /// Mean bytes between samples of the profile.
    pub interval: SampleInterval,
    /// Whether the levels are of a [running process](Series::of_process). Then `iterations` has
    /// the positions of its dumps, and resources are not known.
    pub of_process: bool,
}

/// What a verdict depends on, besides the measurement and the baseline.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The growth to find: one object, or 8 bytes, in so many iterations. `None` means 1,000,
    /// or fewer if the ladder is too short for that.
    pub threshold: Option<u64>,
    /// The growth of memory outside the allocator to find, in bytes per iteration. `None` means
    /// [`DEFAULT_OUTSIDE`], or more if the ladder is too short for that.
    pub outside: Option<u64>,
    /// Whether time, iterations or memory are used up. Only then can a verdict be *regressed*:
    /// until it is full, a cache grows exactly as a leak does.
    pub at_top: bool,
    /// Iterations from which a verdict can be *regressed*; zero if the ladder did not end for
    /// lack of time. A buffer that fills looks like a leak until it is full, which takes
    /// longer on a slow machine.
    pub accuse_from: u64,
    /// The same for growth that [keeps no old objects](crate::growth::Quantity::is_anew).
    pub accuse_anew_from: u64,
    /// The coarsest that the default threshold may become, if time was too short. `None` if the
    /// ladder ended for lack of memory, threads or files, because such a run saw less than was
    /// asked for.
    pub coarsens_to: Option<u64>,
    /// The date by which allowances expire. `None` if none expires.
    pub today: Option<Date>,
}

impl Policy {
    /// At the top of a ladder, with nothing set: the default threshold may become the coarsest.
    pub const TOP: Policy = Policy {
        threshold: None,
        outside: None,
        at_top: true,
        accuse_from: 0,
        accuse_anew_from: 0,
        coarsens_to: Some(COARSEST_THRESHOLD),
        today: None,
    };
}

/// A verdict with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The greatest verdict of the findings, or *within*. At least *inconclusive* if the
    /// measurement was not conclusive.
    pub verdict: Verdict,
    /// The findings. Their frames have no source lines yet.
    pub findings: Vec<Finding>,
    /// The threshold that was used in the end.
    pub threshold: Threshold,
    /// The smallest growth that would have been seen. `None` if the measurement was not
    /// conclusive.
    pub visible: Option<Visible>,
    /// How rare large objects may be and still be seen. `None` if everything is sampled, or if
    /// the measurement was not conclusive.
    pub rarest: Option<Rarest>,
    /// How many times more the measurement leaves open than the wanted threshold allows, or,
    /// without a verdict, the coarsest that it may become. About as many times more iterations
    /// may be enough. Below 1 if nothing is left open.
    pub short_by: f64,
}

/// The threshold if none is set: one object in so many iterations.
pub const DEFAULT_THRESHOLD: u64 = 1_000;

/// The coarsest threshold that the default may become.
pub const COARSEST_THRESHOLD: u64 = 10;

/// The default threshold and what it may coarsen to, in iterations per object.
const THRESHOLDS: [u64; 4] = [DEFAULT_THRESHOLD, 100, COARSEST_THRESHOLD, 1];

/// Objects that growth at a threshold must make by the last rung. With fewer, the ladder is
/// too short for that threshold.
pub const OBJECTS_AT_TOP: u64 = 16;

/// Bytes that count as much as one object: the least that an object takes in jemalloc.
pub const BYTES_PER_OBJECT: f64 = 8.0;

/// Share by which a sampled run extends an allowance. The accepted rate is an estimate, and so
/// is the rate that is compared with it.
const SAMPLED_SLACK: f64 = 0.25;

/// Number of errors by which growth must exceed what a sampled allowance carries. An error is
/// 2.5 standard deviations, and one error was added to the rate when it was accepted.
/// Together, 2.5 and 1.5 times 2.5 are 4.4 standard deviations of the difference of two
/// estimates, besides the slack.
const SAMPLED_ERRORS: f64 = 1.5;

/// Returns whether so many iterations are enough for a threshold.
pub(crate) fn supports(iterations: u64, threshold: u64, interval: SampleInterval) -> bool {
    iterations >= iterations_for(threshold, interval)
}

/// Returns the iterations in which growth at the threshold makes [`OBJECTS_AT_TOP`] objects.
/// In a sampled profile, it makes as many samples, even if its objects are the smallest that
/// there are.
fn iterations_for(threshold: u64, interval: SampleInterval) -> u64 {
    let samples = to_f64(OBJECTS_AT_TOP) * to_f64(threshold) / interval.probability(LEAST_SIZE);
    to_u64(samples.ceil())
}

/// Returns the iterations that a ladder must reach before it may end early. With as many, a
/// quiet workload is *within* at that threshold. `None` is the default threshold.
///
/// ```
/// use plimsoll_core::dump::SampleInterval;
/// use plimsoll_core::judge::iterations_to_settle;
/// let every = |bytes| SampleInterval::new(bytes).unwrap();
/// assert_eq!(iterations_to_settle(None, every(1)), 16_000);
/// assert_eq!(iterations_to_settle(Some(10), every(512)), 10_321);
/// ```
pub fn iterations_to_settle(threshold: Option<u64>, interval: SampleInterval) -> u64 {
    iterations_for(threshold.unwrap_or(THRESHOLDS[0]), interval)
}

/// Returns the iterations that a ladder must reach to be conclusive at its top: those for the
/// threshold that was set, or for the `coarsest` that the default may become.
pub fn iterations_to_conclude(
    threshold: Option<u64>,
    coarsest: u64,
    interval: SampleInterval,
) -> u64 {
    iterations_for(threshold.unwrap_or(coarsest), interval)
}

/// Returns the iterations from which a ladder that ran out of time may be *regressed*: those
/// for the threshold that was set, or else for 1 in 100. With fewer, a buffer of a few hundred
/// entries is still filling.
pub fn iterations_to_accuse(threshold: Option<u64>) -> u64 {
    let exact = SampleInterval::default();
    iterations_for(threshold.unwrap_or(THRESHOLDS[1]), exact)
}

/// Judges a measurement by the project's baseline.
///
/// Every stack, every allocation site over its stacks, and every resource is compared with its
/// cut: its allowance plus half the threshold.
///
/// - It is *within* if the upper bounds of its rates are below the cut, and growth at twice
///   the threshold would have been found.
/// - It is *regressed* if it rose for three octaves, and its rate less its error is above the
///   cut. (In a sampled profile without an allowance, its rate counts.) Only the top of the
///   ladder can be *regressed*.
pub fn judge(observed: &Observed, baseline: &Baseline, policy: &Policy) -> Assessment {
    Judged::of(observed, baseline, policy).assessment(observed, baseline, policy.today)
}

/// Returns every stack, site and resource as a finding, with the questions about its growth. Subjects about which nothing is found are among them.
pub fn explain(
    observed: &Observed,
    baseline: &Baseline,
    policy: &Policy,
) -> Vec<(Finding, Vec<View>)> {
    let judged = Judged::of(observed, baseline, policy);
    let explained = judged.subjects.iter().filter_map(|subject| {
        let verdict = judged.verdict_of(subject);
        let finding = subject.explained(verdict, judged.threshold, policy.today)?;
        Some((finding, Growth::views(subject.iterations, &subject.series)))
    });
    explained.collect()
}

/// Everything that is judged, and the thresholds that apply.
struct Judged<'a> {
    subjects: Vec<Measured<'a>>,
    /// The places of the allowances that moved stacks use.
    taken: BTreeSet<usize>,
    /// Whether the ladder is long enough for *regressed*.
    may_accuse: bool,
    may_accuse_anew: bool,
    /// The threshold that was wanted: the one that was set, or the default.
    wanted: u64,
    /// The finest threshold that the ladder was long enough for, or the coarsest of all.
    finest: u64,
    /// The finest threshold at which every subject is decided, if there is one.
    conclusive: Option<u64>,
    /// `conclusive`, or the coarsest threshold.
    threshold: u64,
    /// The threshold that is reported.
    looked_for: u64,
}

impl<'a> Judged<'a> {
    fn of(observed: &'a Observed, baseline: &'a Baseline, policy: &Policy) -> Judged<'a> {
        let last = observed.iterations.last().copied().unwrap_or(0);
        let wanted = policy.threshold.unwrap_or(THRESHOLDS[0]);
        let looked_for: Vec<u64> = match policy.threshold {
            Some(set) => vec![set],
            None if policy.at_top && !observed.of_process => {
                let coarsest = policy.coarsens_to.unwrap_or(COARSEST_THRESHOLD);
                let thresholds = THRESHOLDS.into_iter();
                thresholds.filter(|one| *one >= coarsest).collect()
            }
            None => vec![wanted],
        };
        let is_supported =
            |threshold: &u64| observed.of_process || supports(last, *threshold, observed.interval);
        let supported: Vec<u64> = looked_for.iter().copied().filter(is_supported).collect();
        let coarsest = looked_for[looked_for.len() - 1];
        let finest = supported.first().copied().unwrap_or(coarsest);
        let (subjects, taken) = judged(observed, baseline, finest, policy);
        let mut judged = Judged {
            subjects,
            taken,
            may_accuse: policy.at_top && last >= policy.accuse_from,
            may_accuse_anew: last >= policy.accuse_anew_from,
            wanted,
            finest,
            conclusive: None,
            threshold: coarsest,
            looked_for: coarsest,
        };
        let settled = |threshold: &u64| {
            let mut subjects = judged.subjects.iter();
            subjects.all(|one| judged.is_regressed(one) || one.stays_within(*threshold))
        };
        let is_fine = |threshold: &u64| policy.coarsens_to.is_some() || *threshold >= wanted;
        let is_long = !observed.of_process || observed.iterations.len() >= FEWEST_DUMPS;
        judged.conclusive = supported
            .into_iter()
            .find(settled)
            .filter(|threshold| is_long && is_fine(threshold));
        judged.threshold = judged.conclusive.unwrap_or(coarsest);
        judged.looked_for = match policy.coarsens_to {
            Some(_) => judged.threshold,
            None => wanted,
        };
        judged
    }

    fn is_regressed(&self, subject: &Measured<'_>) -> bool {
        let (carried, errors) = (subject.carried(), subject.errors());
        let may_be_anew = self.may_accuse_anew;
        self.may_accuse && subject.exceeds(carried, self.finest, errors, may_be_anew)
    }

    fn verdict_of(&self, subject: &Measured<'_>) -> Verdict {
        match self.is_regressed(subject) {
            true => Verdict::Regressed,
            false if self.conclusive.is_some() => Verdict::Within,
            false if subject.stays_within(self.threshold) => Verdict::Within,
            false => Verdict::Inconclusive,
        }
    }

    fn short_by(&self) -> f64 {
        let subjects = self.subjects.iter();
        let undecided = subjects.filter(|subject| !self.is_regressed(subject));
        let threshold = match self.conclusive {
            Some(_) => self.wanted,
            None => self.looked_for,
        };
        let each = undecided.map(|one| one.short_by(threshold));
        each.fold(0.0, f64::max)
    }

    fn assessment(
        &self,
        observed: &Observed,
        baseline: &Baseline,
        today: Option<Date>,
    ) -> Assessment {
        let last = observed.iterations.last().copied().unwrap_or(0);
        let mut findings: Vec<Finding> = Vec::new();
        let mut found_at: SmallMap<FoldedStack, Verdict> = SmallMap::default();
        for subject in &self.subjects {
            let verdict = self.verdict_of(subject);
            match &subject.of {
                Of::Stack(stack) if verdict > Verdict::Within => {
                    let at_site = found_at.or_insert(fold::site(stack), verdict);
                    *at_site = verdict.max(*at_site);
                }
                // A stack of this site has the same verdict or a worse one, so the site says
                // nothing new.
                Of::Site { site, .. } if found_at.get(site) >= Some(&verdict) => continue,
                _ => {}
            }
            findings.extend(subject.finding(verdict, self.threshold, today));
        }
        let idle = idle_allowances(baseline, &self.subjects, self.threshold);
        for index in idle {
            let allowance = &baseline.allowances[index];
            let expired = Agreed(vec![(index, allowance)]).is_expired(today);
            if !self.taken.contains(&index) && (expired || self.conclusive.is_some()) {
                findings.push(unused(allowance, expired));
            }
        }
        findings.sort_by(|a, b| order(a).cmp(&order(b)));
        let least = match self.conclusive {
            Some(_) => Verdict::Within,
            None => Verdict::Inconclusive,
        };
        let verdicts = findings.iter().map(|finding| finding.verdict);
        let verdict = verdicts.fold(least, Verdict::max);
        let heap = self.subjects.iter().filter(|one| one.outside.is_none());
        let findable = heap.map(|one| one.growth.objects.findable);
        let any_size = 0.5 * findable.fold(0.0, f64::max);
        let visible = self.conclusive.map(|_| match observed.of_process {
            true => visible_of_process(observed, &self.subjects),
            false => visible_at(&self.subjects, self.threshold, any_size, verdict),
        });
        Assessment {
            verdict,
            findings,
            threshold: Threshold {
                iterations: self.looked_for,
                coarsened: self.looked_for < self.wanted,
                outside: self.subjects.iter().find_map(Measured::outside_threshold),
            },
            visible,
            short_by: self.short_by(),
            rarest: visible
                .filter(|_| !observed.of_process)
                .and_then(|visible| rarest(visible, any_size, last, observed.interval)),
        }
    }
}

/// Returns the key by which findings are ordered: the worst verdict first; an allowance that
/// nothing uses after what was measured; then what is surest, and what grew most.
fn order(finding: &Finding) -> impl Ord {
    let grown = |of: fn(&Tally) -> u64| {
        let first = finding.levels.first().map_or(0, of);
        let last = finding.levels.last().map_or(0, of);
        i128::from(last) - i128::from(first)
    };
    (
        Reverse(finding.verdict),
        finding.is_unused(),
        finding.law,
        finding.law != Law::Linear && finding.falls(),
        Reverse((grown(|level| level.bytes), grown(|level| level.objects))),
        &finding.subject,
    )
}

/// Returns the smallest growth that would have been seen, whatever stack it is on and whatever
/// else that stack does.
fn visible_at(
    subjects: &[Measured<'_>],
    threshold: u64,
    any_size: f64,
    verdict: Verdict,
) -> Visible {
    let per_iteration = any_size.max(1.0 / to_f64(threshold));
    let slack = slack(subjects);
    // What was looked for outside of the allocator has a threshold of its own.
    let heap = subjects.iter().filter(|one| one.outside.is_none());
    let open = heap.map(|subject| {
        let bytes = &subject.growth.bytes;
        let findable = bytes.findable.max(bytes.findable_anew);
        findable.max(bytes.bound - subject.carried().bytes)
    });
    let open = open.filter(|_| verdict <= Verdict::Improved);
    let of_small = BYTES_PER_OBJECT * per_iteration;
    let bytes = open.fold(of_small, f64::max);
    let objects = per_iteration;
    Visible::from(Rate { objects, bytes } + slack)
}

/// Returns the most that an allowance carries beyond what it allows.
fn slack(subjects: &[Measured<'_>]) -> Rate {
    let heap = subjects.iter().filter(|one| one.outside.is_none());
    heap.fold(Rate::default(), |most, subject| {
        let beyond = subject
            .carried()
            .zip(subject.agreed.rate(), std::ops::Sub::sub);
        most.zip(beyond, f64::max)
    })
}

/// Returns the smallest growth of a running process that would have been seen, on the stacks that
/// are there and on another. It is in bytes: objects differ in size, and the larger they are, the
/// fewer are needed.
fn visible_of_process(observed: &Observed, subjects: &[Measured<'_>]) -> Visible {
    let seen = observed.interval.probability(LEAST_SIZE);
    let another = Series::new(vec![Tally::default(); observed.iterations.len()])
        .of_process([1.0 / seen, LEAST_SIZE / seen]);
    let another = Growth::of(&observed.iterations, &another);
    let all = subjects.iter().map(|one| &one.growth).chain([&another]);
    let limits = all.map(|one| one.bytes.findable_anew);
    let limit = limits.fold(0.0, f64::max);
    Visible::from(Rate {
        objects: 0.0,
        bytes: limit + slack(subjects).bytes,
    })
}

/// Returns how rare objects of an interval's size, or larger ones, may be and still leave
/// enough samples. `None` if everything is sampled.
fn rarest(
    visible: Visible,
    any_size: f64,
    iterations: u64,
    interval: SampleInterval,
) -> Option<Rarest> {
    (!interval.is_exact()).then_some(())?;
    let size = to_f64(interval.bytes());
    let probability = interval.probability(size);
    let enough = to_f64(OBJECTS_AT_TOP) / (probability * to_f64(iterations));
    let beside_others = any_size * interval.probability(LEAST_SIZE) / probability;
    let objects = visible.objects?;
    let rate = objects.min(BYTES_PER_OBJECT * objects / size);
    let rate = rate.max(enough).max(beside_others);
    let iterations = to_u64(1.0 / rate);
    (iterations > 0).then_some(Rarest {
        bytes: interval.bytes(),
        iterations,
    })
}

impl Growth {
    /// Returns the cut: the rate above which growth exceeds what was accepted. This is the
    /// allowed rate plus half the threshold.
    pub fn cut(allowed: Rate, threshold: u64) -> Rate {
        let objects = 0.5 / to_f64(threshold);
        let bytes = BYTES_PER_OBJECT * objects;
        allowed + Rate { objects, bytes }
    }

    /// Returns whether the growth rises, and its rate less `errors` times its error is above
    /// the cut.
    /// `may_be_anew` says whether growth counts that keeps no old objects.
    fn exceeds(&self, allowed: Rate, threshold: u64, errors: f64, may_be_anew: bool) -> bool {
        let cut = Self::cut(allowed, threshold);
        let counts = |q: &Quantity| q.rising && (may_be_anew || !q.is_anew);
        let exceeds = |q: &Quantity, cut: f64| counts(q) && q.rate - errors * q.error > cut;
        exceeds(&self.objects, cut.objects) || exceeds(&self.bytes, cut.bytes)
    }

    /// Returns what is left open, as a multiple of what would be *within*.
    fn short_by(&self, allowed: Rate, threshold: u64) -> f64 {
        if self.stays_within(allowed, threshold) {
            return 0.0;
        }
        let cut = Self::cut(allowed, threshold);
        let findable = self.objects.findable / (2.0 / to_f64(threshold));
        let of_objects = (self.objects.bound / cut.objects).max(findable);
        match self.objects_swell || self.bytes.rising {
            true => of_objects.max(self.bytes.bound / cut.bytes),
            false => of_objects,
        }
    }

    /// Returns whether the upper bound of each rate is below the cut, nothing rises without an
    /// allowance, and growth at twice the threshold would have been found.
    ///
    /// If objects did not become larger, bytes grow only with objects, and need no bound of
    /// their own.
    pub(crate) fn stays_within(&self, allowed: Rate, threshold: u64) -> bool {
        let cut = Self::cut(allowed, threshold);
        // Chance may hide growth. So growth at twice the threshold must be enough to be found.
        let twice = 2.0 / to_f64(threshold);
        let may_rise = allowed != Rate::default();
        let stays = |q: &Quantity, cut: f64| (!q.rising || may_rise) && q.bound < cut;
        stays(&self.objects, cut.objects)
            && self.objects.findable <= twice
            && (stays(&self.bytes, cut.bytes) || !self.objects_swell && !self.bytes.rising)
    }
}

/// Returns everything that is judged, and the places of the allowances that moved stacks use.
/// Moved stacks are judged under those allowances.
fn judged<'a>(
    observed: &'a Observed,
    baseline: &'a Baseline,
    threshold: u64,
    policy: &Policy,
) -> (Vec<Measured<'a>>, BTreeSet<usize>) {
    let own = subjects::of(observed, baseline, &[], policy);
    let idle = idle_allowances(baseline, &own, threshold);
    let moves = moved::find(observed, baseline, &own, &idle, threshold, policy);
    if moves.is_empty() {
        return (own, BTreeSet::new());
    }
    let taken = moves.iter().flat_map(|one| one.allowances.iter().copied());
    let all = subjects::of(observed, baseline, &moves, policy);
    (all, taken.collect())
}

/// Returns the places of the allowances whose stack, or resource, does not grow in this run.
fn idle_allowances(
    baseline: &Baseline,
    subjects: &[Measured<'_>],
    threshold: u64,
) -> BTreeSet<usize> {
    // At a coarse threshold, slow growth stays within the cut. It still counts as growth if it
    // may be half of what was accepted.
    let is_half = |bound: f64, rate: f64| rate > 0.0 && bound >= 0.5 * rate;
    let grows = |index: usize| {
        subjects.iter().any(|subject| {
            let (growth, rate) = (&subject.growth, baseline.allowances[index].rate);
            // A process may grow by what its dumps do not show.
            let unseen = match subject.series.grains() {
                Some(_) => growth.bytes.findable_anew,
                None => 0.0,
            };
            subject.agreed.uses(index)
                && (subject.grows(threshold)
                    || is_half(growth.objects.bound, rate.objects)
                    || is_half(growth.bytes.bound.max(unseen), rate.bytes))
        })
    };
    (0..baseline.allowances.len())
        .filter(|index| !grows(*index))
        .collect()
}

/// Returns the finding about an allowance that nothing uses any more.
fn unused(allowance: &Allowance, expired: bool) -> Finding {
    let (verdict, standing) = match expired {
        true => (Verdict::Regressed, Standing::Expired),
        false => (Verdict::Improved, Standing::Stale),
    };
    Finding {
        verdict,
        subject: match &allowance.subject {
            AllowanceSubject::Stack(pattern) => Subject::Stack(pattern.shown()),
            AllowanceSubject::Resource(resource) => Subject::Resource(*resource),
        },
        frames: Vec::new(),
        blame: None,
        lacks: None,
        clock: None,
        rate: Rate::default(),
        error: Rate::default(),
        law: allowance.law,
        objects_law: allowance.law,
        bytes_law: allowance.bytes_law,
        allowed: allowance.rate,
        standing,
        moved_from: None,
        reason: allowance.reason.clone(),
        levels: Vec::new(),
        survivors: Vec::new(),
        mappings: Vec::new(),
        holders: None,
    }
}

#[cfg(test)]
mod tests;
