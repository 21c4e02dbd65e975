//! The subjects of a verdict, each with the allowances that it is compared with. A subject
//! here is anything that is judged: the stacks under each allowance, every stack without an
//! allowance, the sites of these stacks (a site is all stacks that end in one function), and
//! the resources.

use std::collections::BTreeSet;

use super::outside::{self, Outside};
use super::{Observed, Policy, SAMPLED_ERRORS, SAMPLED_SLACK, Verdict};
use crate::baseline::{Allowance, AllowanceSubject, Baseline, Date};
use crate::dump::SampleInterval;
use crate::finding::{Finding, Standing, Subject, Survivors};
use crate::growth::{Growth, Quantity, Unit};
use crate::ladder::RUNGS_PER_OCTAVE;
use crate::{FoldedStack, Law, Rate, Resource, Series, SmallMap, Tally, fold};

/// One subject: something that is judged.
pub(super) struct Measured<'a> {
    pub(super) of: Of<'a>,
    /// Iterations at each rung.
    pub(super) iterations: &'a [u64],
    pub(super) series: Series,
    pub(super) growth: Growth,
    pub(super) agreed: Agreed<'a>,
    /// The terms of memory outside the allocator, if it is that.
    pub(super) outside: Option<Outside>,
}

pub(super) enum Of<'a> {
    Stack(&'a FoldedStack),
    /// All stacks that fall under one allowance.
    Allowed(Vec<&'a FoldedStack>),
    /// Stacks that use what was accepted for others. If they are one stack that has moved,
    /// also the stack that was accepted.
    Moved(Vec<&'a FoldedStack>, Option<FoldedStack>),
    Site {
        site: FoldedStack,
        stacks: usize,
    },
    Resource(Resource),
}

/// Stacks that use allowances of other stacks.
#[derive(Debug)]
pub(super) struct Move<'a> {
    /// The stacks, in order.
    pub(super) stacks: Vec<&'a FoldedStack>,
    /// The places of the allowances in the baseline, in its order.
    pub(super) allowances: Vec<usize>,
    /// Whether it is one stack and one allowance, and the stack has lost no frames with their
    /// names.
    pub(super) is_whole: bool,
}

impl Move<'_> {
    /// Returns the stack that was accepted, if the stack that grows may take its place in the
    /// file.
    fn from(&self, baseline: &Baseline) -> Option<FoldedStack> {
        let index = self.allowances.first().filter(|_| self.is_whole)?;
        match &baseline.allowances[*index].subject {
            AllowanceSubject::Stack(old) => Some(old.shown()),
            AllowanceSubject::Resource(_) => None,
        }
    }
}

/// The allowances that a subject falls under, with their places in the baseline. Mostly there
/// is none or one. There are several if this build cannot tell their stacks apart.
#[derive(Default)]
pub(super) struct Agreed<'a>(pub(super) Vec<(usize, &'a Allowance)>);

impl<'a> Agreed<'a> {
    fn at(places: impl IntoIterator<Item = usize>, baseline: &'a Baseline) -> Self {
        let allowances = &baseline.allowances;
        Agreed(places.into_iter().map(|at| (at, &allowances[at])).collect())
    }

    /// Returns the accepted rate.
    pub(super) fn rate(&self) -> Rate {
        self.sum(|allowance| allowance.rate)
    }

    /// Returns the rate that the allowances carry, see [`carried`].
    pub(super) fn carried(&self) -> Rate {
        self.sum(carried)
    }

    /// Returns the rate with which growth at this sample interval is compared. In a sampled
    /// profile it has [`SAMPLED_SLACK`] on top.
    pub(super) fn carried_at(&self, interval: SampleInterval) -> Rate {
        let carried = self.carried();
        if interval.is_exact() {
            return carried;
        }
        carried.map(|rate| (1.0 + SAMPLED_SLACK) * rate)
    }

    fn sum(&self, of: fn(&Allowance) -> Rate) -> Rate {
        let rates = self.0.iter().map(|(_, allowance)| of(allowance));
        rates.fold(Rate::default(), |sum, rate| sum + rate)
    }

    pub(super) fn is_expired(&self, today: Option<Date>) -> bool {
        let mut expires = self.0.iter().filter_map(|(_, allowance)| allowance.expires);
        today.is_some_and(|today| expires.any(|day| day < today))
    }

    pub(super) fn uses(&self, index: usize) -> bool {
        self.0.iter().any(|(used, _)| *used == index)
    }

    fn reason(&self) -> Option<String> {
        let mut allowances = self.0.iter();
        allowances.find_map(|(_, allowance)| allowance.reason.clone())
    }
}

impl Measured<'_> {
    /// Returns the rate with which the growth is compared.
    pub(super) fn carried(&self) -> Rate {
        self.agreed.carried_at(self.series.interval())
    }

    pub(super) fn stays_within(&self, threshold: u64) -> bool {
        self.stays_within_rate(self.carried(), threshold)
    }

    fn stays_within_rate(&self, carried: Rate, threshold: u64) -> bool {
        match &self.outside {
            Some(outside) => outside.stays_within(&self.growth, carried),
            None => self.growth.stays_within(carried, threshold),
        }
    }

    /// Returns whether it would not be within without an allowance.
    pub(super) fn grows(&self, threshold: u64) -> bool {
        !self.stays_within_rate(Rate::default(), threshold)
    }

    /// Returns whether it rises, and its rate less `errors` times its error is above the cut.
    /// `may_be_anew` says whether growth counts that keeps no old objects.
    pub(super) fn exceeds(
        &self,
        carried: Rate,
        threshold: u64,
        errors: f64,
        may_be_anew: bool,
    ) -> bool {
        match &self.outside {
            Some(outside) => outside.exceeds(&self.growth, carried, may_be_anew),
            None => self.growth.exceeds(carried, threshold, errors, may_be_anew),
        }
    }

    /// Returns what is left open, as a multiple of what would be within.
    pub(super) fn short_by(&self, threshold: u64) -> f64 {
        let carried = self.carried();
        match &self.outside {
            Some(outside) => outside.short_by(&self.growth, carried),
            None => self.growth.short_by(carried, threshold),
        }
    }

    /// Returns the threshold of memory outside the allocator, if it is that.
    pub(super) fn outside_threshold(&self) -> Option<u64> {
        self.outside.as_ref().map(|outside| outside.threshold)
    }

    /// Returns by how many of its errors the growth must exceed that rate.
    pub(super) fn errors(&self) -> f64 {
        match (self.series.interval().is_exact(), self.agreed.0.is_empty()) {
            (true, _) => 1.0,
            (false, false) => SAMPLED_ERRORS,
            // The number of samples has already decided whether it rises.
            (false, true) => 0.0,
        }
    }

    /// Returns the finding. `None` if the subject is within and uses no allowance.
    pub(super) fn finding(
        &self,
        verdict: Verdict,
        threshold: u64,
        today: Option<Date>,
    ) -> Option<Finding> {
        let explained = self.explained(verdict, threshold, today)?;
        let is_quiet = matches!(
            (explained.verdict, explained.standing),
            (Verdict::Within, Standing::New | Standing::Stale)
        );
        (!is_quiet).then_some(explained)
    }

    /// The same, but also if the subject is within and uses no allowance.
    pub(super) fn explained(
        &self,
        verdict: Verdict,
        threshold: u64,
        today: Option<Date>,
    ) -> Option<Finding> {
        let expired = self.agreed.is_expired(today);
        let grows = self.grows(threshold);
        let (verdict, standing) = match (!self.agreed.0.is_empty(), verdict) {
            (true, _) if expired && grows => (Verdict::Regressed, Standing::Expired),
            (true, Verdict::Within) if grows => (Verdict::Within, self.of.within()),
            (true, Verdict::Within) => (Verdict::Within, Standing::Stale),
            (true, verdict) => (verdict, Standing::Exceeded),
            (false, verdict) => (verdict, Standing::New),
        };
        Some(Finding {
            verdict,
            subject: self.of.subject()?,
            frames: Vec::new(),
            blame: None,
            lacks: None,
            clock: None,
            rate: self.shown(self.growth.rate()),
            error: self.shown(self.growth.error()),
            law: self.growth.law(),
            objects_law: match self.outside {
                Some(_) => self.growth.law(),
                None => self.growth.objects.law,
            },
            bytes_law: match self.outside {
                Some(_) => self.growth.law(),
                None => bytes_law(&self.growth),
            },
            allowed: self.agreed.rate(),
            standing,
            moved_from: match &self.of {
                Of::Moved(_, from) if standing == Standing::Moved => from.clone(),
                _ => None,
            },
            reason: self.agreed.reason(),
            levels: self.levels(),
            survivors: survivors(self.iterations, &self.series),
            mappings: Vec::new(),
            holders: None,
        })
    }
}

impl Measured<'_> {
    /// Returns a rate as people and files have it: memory outside the allocator has bytes and no
    /// objects.
    fn shown(&self, rate: Rate) -> Rate {
        let is_heap = self.outside.is_none();
        let objects = if is_heap { rate.objects } else { 0.0 };
        Rate { objects, ..rate }
    }

    /// The same of the levels.
    fn levels(&self) -> Vec<Tally> {
        let mut levels = self.series.levels().to_vec();
        if self.outside.is_some() {
            levels.iter_mut().for_each(|level| level.objects = 0);
        }
        levels
    }
}

/// Returns the law of the bytes. It differs from the law of the growth if only bytes come in
/// steps.
fn bytes_law(growth: &Growth) -> Law {
    match growth.law() == Law::Linear && growth.has_bytes_in_steps() {
        true => Law::Stepped,
        false => growth.law(),
    }
}

/// Returns what is alive at the last rung, by the octave of birth.
///
/// Octaves are counted back from the last rung. The first one also holds the objects of the
/// setup, and up to three rungs that are no octave of their own.
fn survivors(iterations: &[u64], series: &Series) -> Vec<Survivors> {
    let rungs = iterations.len().min(series.levels().len());
    let Some(last) = rungs.checked_sub(1).filter(|_| series.has_births()) else {
        return Vec::new();
    };
    let first = match last / RUNGS_PER_OCTAVE {
        0 => last,
        octaves => last - (octaves - 1) * RUNGS_PER_OCTAVE,
    };
    let mut octaves: Vec<Survivors> = (first..=last)
        .step_by(RUNGS_PER_OCTAVE)
        .map(|end| Survivors {
            from: match end {
                end if end == first => 0,
                end => iterations[end - RUNGS_PER_OCTAVE],
            },
            to: iterations[end],
            allocated: (!series.allocated().is_empty()).then_some(0),
            alive: Tally::default(),
        })
        .collect();
    let octave_of = |generation: usize| {
        let after = generation.min(last).saturating_sub(first);
        after.div_ceil(RUNGS_PER_OCTAVE)
    };
    for born in series.survivors(last) {
        octaves[octave_of(born.generation)].alive += born.alive.level;
    }
    for (generation, objects) in series.allocated() {
        let allocated = &mut octaves[octave_of(*generation)].allocated;
        *allocated = allocated.map(|sum| sum.saturating_add(*objects));
    }
    octaves
}

impl Of<'_> {
    fn within(&self) -> Standing {
        match self {
            Of::Moved(..) => Standing::Moved,
            _ => Standing::Allowed,
        }
    }

    fn subject(&self) -> Option<Subject> {
        Some(match self {
            Of::Stack(stack) => Subject::Stack((*stack).clone()),
            Of::Allowed(stacks) | Of::Moved(stacks, _) => match stacks.as_slice() {
                [stack] => Subject::Stack((*stack).clone()),
                several => Subject::Site {
                    frames: fold::site(several.first()?),
                    stacks: several.len(),
                },
            },
            Of::Site { site, stacks } => Subject::Site {
                frames: site.clone(),
                stacks: *stacks,
            },
            Of::Resource(resource) => Subject::Resource(*resource),
        })
    }
}

/// Returns the rate that an allowance carries.
///
/// This is its rate. For stepped growth it is a quarter of an octave more. A step that fell
/// just behind a rung in one run may fall just before it in the next run, or the ladder may
/// end elsewhere, and the next rung is a quarter of an octave further.
fn carried(allowance: &Allowance) -> Rate {
    let quarter = 2_f64.sqrt().sqrt();
    let carried = |law: Law, rate: f64| match law {
        Law::Stepped => quarter * rate,
        Law::Linear | Law::Filling | Law::Fluctuating => rate,
    };
    Rate {
        objects: carried(allowance.law, allowance.rate.objects),
        bytes: carried(allowance.bytes_law, allowance.rate.bytes),
    }
}

/// Returns everything that is judged. A stack that has moved is judged under the allowances
/// that it uses, and is not part of its site.
pub(super) fn of<'a>(
    observed: &'a Observed,
    baseline: &'a Baseline,
    moves: &[Move<'a>],
    policy: &Policy,
) -> Vec<Measured<'a>> {
    let mut under: Vec<(Series, Vec<&FoldedStack>)> = Vec::new();
    under.resize_with(baseline.allowances.len(), Default::default);
    let mut sites: SmallMap<FoldedStack, Vec<(&Series, Growth)>> = SmallMap::default();
    let mut subjects = Vec::new();
    let measured = |of, series: Series, agreed| Measured {
        of,
        iterations: &observed.iterations,
        growth: Growth::of(&observed.iterations, &series),
        series,
        agreed,
        outside: None,
    };
    let moved_stacks = moves.iter().flat_map(|one| one.stacks.iter().copied());
    let moved_stacks: BTreeSet<&FoldedStack> = moved_stacks.collect();
    for (stack, series) in &observed.stacks {
        if let Some(index) = baseline.allowance_of(stack) {
            let (sum, stacks) = &mut under[index];
            sum.merge(series);
            stacks.push(stack);
        } else if !moved_stacks.contains(stack) {
            let site = sites.or_default(fold::site(stack));
            let stack = measured(Of::Stack(stack), series.clone(), Agreed::default());
            site.push((series, stack.growth));
            subjects.push(stack);
        }
    }
    for (index, (series, stacks)) in under.into_iter().enumerate() {
        if !stacks.is_empty() {
            let agreed = Agreed::at([index], baseline);
            subjects.push(measured(Of::Allowed(stacks), series, agreed));
        }
    }
    for one in moves {
        let parts = one.stacks.iter().map(|stack| &observed.stacks[*stack]);
        let (series, growth) = Growth::together(&observed.iterations, parts);
        subjects.push(Measured {
            of: Of::Moved(one.stacks.clone(), one.from(baseline)),
            iterations: &observed.iterations,
            series,
            growth,
            agreed: Agreed::at(one.allowances.iter().copied(), baseline),
            outside: None,
        });
    }
    for (site, parts) in sites {
        if let stacks @ 2.. = parts.len() {
            let of = Of::Site { site, stacks };
            let mut site = measured(of, sum(parts.iter()), Agreed::default());
            site.growth = spread(&observed.iterations, site.growth, &parts);
            subjects.push(site);
        }
    }
    for (resource, series) in &observed.resources {
        let subject = AllowanceSubject::Resource(*resource);
        let mut allowances = baseline.allowances.iter();
        let allowance = allowances.position(|allowance| allowance.subject == subject);
        let agreed = Agreed::at(allowance, baseline);
        let of = Of::Resource(*resource);
        subjects.push(match resource.unit() {
            Unit::Objects => measured(of, series.clone(), agreed),
            Unit::Bytes => {
                let threads = observed.resources.get(&Resource::Threads);
                let threads = threads.map(|series| Growth::of(&observed.iterations, series));
                let last = observed.iterations.last().copied().unwrap_or(0);
                let memory = measured(of, outside::in_pieces(series), agreed);
                Measured {
                    growth: Outside::growth(memory.growth),
                    outside: Some(Outside::of(last, policy, threads.as_ref())),
                    ..memory
                }
            }
        });
    }
    subjects
}

/// Returns the growth of a site, which is spread over its stacks. If one stack gained more
/// than all others together in the last octave, and does not rise alone, the site rises only
/// if the others rise without it: a few pools that each reach a new peak are no leak.
///
/// This is asked of stepped growth only. In growth that is a straight line, stacks may take
/// turns.
fn spread(iterations: &[u64], mut site: Growth, parts: &[(&Series, Growth)]) -> Growth {
    for unit in [Unit::Objects, Unit::Bytes] {
        let Quantity { rising, law, .. } = *site.of_unit(unit);
        let gained = |(series, _): &(&Series, Growth)| {
            let at = |before: usize| series.levels().iter().rev().nth(before);
            let of = |level: Option<&Tally>| level.map_or(0.0, |level| unit.of(level));
            of(at(0)) - of(at(RUNGS_PER_OCTAVE))
        };
        let of_all: f64 = parts.iter().map(gained).sum();
        let by_gain = |one: &usize, two: &usize| {
            let (one, two) = (gained(&parts[*one]), gained(&parts[*two]));
            one.total_cmp(&two)
        };
        let Some(most) = (0..parts.len()).max_by(by_gain) else {
            continue;
        };
        let (_, mut alone) = parts[most];
        let is_most = 2.0 * gained(&parts[most]) > of_all;
        if rising && law == Law::Stepped && is_most && !alone.of_unit(unit).rising {
            let (before, after) = (&parts[..most], &parts[most + 1..]);
            let mut others = Growth::of(iterations, &sum(before.iter().chain(after)));
            let Quantity {
                rising, is_anew, ..
            } = *others.of_unit(unit);
            let site = site.of_unit(unit);
            (site.rising, site.is_anew) = (rising, is_anew);
        }
    }
    site
}

fn sum<'a>(parts: impl Iterator<Item = &'a (&'a Series, Growth)>) -> Series {
    let mut sum = Series::default();
    for (series, _) in parts {
        sum.merge(series);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::rung;

    /// Returns from, to, allocated and alive of each octave, for a series in which k + 1
    /// objects of generation k are left, of ten times as many.
    fn octaves(rungs: usize, keeps_allocated: bool) -> Vec<(u64, u64, Option<u64>, u64)> {
        let of = |generation: usize| Tally {
            objects: generation as u64 + 1,
            bytes: 32,
        };
        let alive: Vec<Vec<Tally>> = (0..rungs)
            .map(|rung| (0..=rung).map(of).collect())
            .collect();
        let mut series = Series::of_births(SampleInterval::default(), &alive);
        for generation in (0..rungs).filter(|_| keeps_allocated) {
            series.add_allocated(generation, 10 * of(generation).objects);
        }
        let iterations: Vec<u64> = (0..rungs).map(rung).collect();
        let octaves = survivors(&iterations, &series);
        let of = |one: &Survivors| (one.from, one.to, one.allocated, one.alive.objects);
        octaves.iter().map(of).collect()
    }

    #[test]
    fn survivors_by_octave_of_birth() {
        assert_eq!(octaves(0, true), []);
        assert_eq!(octaves(1, true), [(0, 16, Some(10), 1)]);
        assert_eq!(octaves(4, true), [(0, 27, Some(100), 10)]);
        assert_eq!(octaves(5, true), [(0, 32, Some(150), 15)]);
        assert_eq!(octaves(8, true), [(0, 54, Some(360), 36)]);
        let two = [(0, 32, Some(150), 15), (32, 64, Some(300), 30)];
        assert_eq!(octaves(9, true), two);
        let two = [(0, 38, None, 21), (38, 76, None, 34)];
        assert_eq!(octaves(10, false), two);
        let flat = Series::new(vec![Tally::default(); 9]);
        assert_eq!(survivors(&[1; 9], &flat), []);
    }
}
