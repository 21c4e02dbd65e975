//! What is judged: what falls under each allowance, every stack that has none, their
//! sites, and the resources; each with what is held against it.

use std::collections::{BTreeMap, BTreeSet};

use super::moved::{self, Move};
use super::{Observed, SAMPLED_ERRORS, SAMPLED_SLACK, Verdict};
use crate::baseline::{Allowance, AllowanceSubject, Baseline, Date};
use crate::dump::SampleInterval;
use crate::growth::Growth;
use crate::report::{Finding, Standing, Subject};
use crate::{FoldedStack, Law, Rate, Series, fold};

/// One thing that is judged.
pub(super) struct Measured<'a> {
    pub(super) of: Of<'a>,
    pub(super) series: Series,
    pub(super) growth: Growth,
    pub(super) agreed: Agreed<'a>,
}

pub(super) enum Of<'a> {
    Stack(&'a FoldedStack),
    /// All stacks that fall under one allowance.
    Allowed(Vec<&'a FoldedStack>),
    /// Stacks that use what was agreed to for others; the one that it was agreed to
    /// for, where one has moved.
    Moved(Vec<&'a FoldedStack>, Option<FoldedStack>),
    Site {
        site: FoldedStack,
        stacks: usize,
    },
    Threads,
    Descriptors,
}

/// The allowances that something falls under, with their places: none, mostly one;
/// several, where this build cannot tell their stacks apart.
#[derive(Default)]
pub(super) struct Agreed<'a>(pub(super) Vec<(usize, &'a Allowance)>);

impl<'a> Agreed<'a> {
    fn at(places: impl IntoIterator<Item = usize>, baseline: &'a Baseline) -> Self {
        let allowances = &baseline.allowances;
        Agreed(places.into_iter().map(|at| (at, &allowances[at])).collect())
    }

    /// What was agreed to.
    pub(super) fn rate(&self) -> Rate {
        self.sum(|allowance| allowance.rate)
    }

    /// What that carries.
    pub(super) fn carried(&self) -> Rate {
        self.sum(carried)
    }

    /// What is held against growth that was sampled so.
    pub(super) fn carried_at(&self, interval: SampleInterval) -> Rate {
        let carried = self.carried();
        if interval.is_exact() {
            return carried;
        }
        Rate {
            objects: (1.0 + SAMPLED_SLACK) * carried.objects,
            bytes: (1.0 + SAMPLED_SLACK) * carried.bytes,
        }
    }

    fn sum(&self, of: fn(&Allowance) -> Rate) -> Rate {
        let rates = self.0.iter().map(|(_, allowance)| of(allowance));
        rates.fold(Rate::default(), |sum, rate| sum + rate)
    }

    pub(super) fn is_expired(&self, today: Option<Date>) -> bool {
        let expires = self.0.iter().map(|(_, allowance)| allowance.expires);
        expires
            .flatten()
            .any(|day| today.is_some_and(|today| day < today))
    }

    pub(super) fn uses(&self, index: usize) -> bool {
        self.0.iter().any(|(used, _)| *used == index)
    }

    fn reason(&self) -> Option<String> {
        let mut reasons = self
            .0
            .iter()
            .filter_map(|(_, allowance)| allowance.reason.clone());
        reasons.next()
    }
}

impl Measured<'_> {
    /// What is held against the growth.
    pub(super) fn carried(&self) -> Rate {
        self.agreed.carried_at(self.series.interval())
    }

    /// How many of its errors growth must be past that.
    pub(super) fn errors(&self) -> f64 {
        match (self.series.interval().is_exact(), self.agreed.0.is_empty()) {
            (true, _) => 1.0,
            (false, false) => SAMPLED_ERRORS,
            // That it rises is told by how many samples came.
            (false, true) => 0.0,
        }
    }

    /// What to say of it: nothing, where nothing was agreed and nothing grows.
    pub(super) fn finding(
        &self,
        verdict: Verdict,
        threshold: u64,
        today: Option<Date>,
    ) -> Option<Finding> {
        let expired = self.agreed.is_expired(today);
        let grows = !self.growth.stays_within(Rate::default(), threshold);
        let (verdict, standing) = match (!self.agreed.0.is_empty(), verdict) {
            (true, _) if expired && grows => (Verdict::Regressed, Standing::Expired),
            (true, Verdict::Within) if grows => (Verdict::Within, self.of.within()),
            (_, Verdict::Within) => return None,
            (true, verdict) => (verdict, Standing::Exceeded),
            (false, verdict) => (verdict, Standing::New),
        };
        Some(Finding {
            verdict,
            subject: self.of.subject()?,
            frames: Vec::new(),
            rate: self.growth.rate(),
            error: self.growth.error(),
            law: self.growth.law(),
            objects_law: self.growth.objects.law,
            bytes_law: bytes_law(&self.growth),
            allowed: self.agreed.rate(),
            standing,
            moved_from: match &self.of {
                Of::Moved(_, from) if standing == Standing::Moved => from.clone(),
                _ => None,
            },
            reason: self.agreed.reason(),
            levels: self.series.levels().to_vec(),
        })
    }
}

/// How bytes grow, where that is not how objects do.
fn bytes_law(growth: &Growth) -> Law {
    match growth.law() == Law::Linear && growth.has_bytes_in_steps() {
        true => Law::Stepped,
        false => growth.law(),
    }
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
            Of::Threads => Subject::Threads,
            Of::Descriptors => Subject::Descriptors,
        })
    }
}

/// What an allowance carries.
///
/// That is its rate, but for stepped growth: a step that fell just behind a rung
/// in the one run may fall just before it in the next, or the ladder may end
/// elsewhere, and the next rung is a quarter of an octave further.
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

/// Everything that is judged. What has moved falls under the allowances that it uses,
/// and not to its site.
pub(super) fn of<'a>(
    observed: &'a Observed,
    baseline: &'a Baseline,
    moves: &[Move<'a>],
) -> Vec<Measured<'a>> {
    let mut under: BTreeMap<usize, (Series, Vec<&FoldedStack>)> = BTreeMap::new();
    let mut sites: BTreeMap<FoldedStack, (Series, usize)> = BTreeMap::new();
    let mut subjects = Vec::new();
    let measured = |of, series: Series, agreed| Measured {
        of,
        growth: Growth::of(&observed.iterations, &series),
        series,
        agreed,
    };
    let moved_stacks = moves.iter().flat_map(|one| one.stacks.iter().copied());
    let moved_stacks: BTreeSet<&FoldedStack> = moved_stacks.collect();
    for (stack, series) in &observed.stacks {
        if let Some(index) = baseline.allowance_of(stack) {
            let (sum, stacks) = under.entry(index).or_default();
            sum.merge(series);
            stacks.push(stack);
        } else if !moved_stacks.contains(stack) {
            let (sum, stacks) = sites.entry(fold::site(stack)).or_default();
            sum.merge(series);
            *stacks += 1;
            subjects.push(measured(
                Of::Stack(stack),
                series.clone(),
                Agreed::default(),
            ));
        }
    }
    for (index, (series, stacks)) in under {
        let agreed = Agreed::at([index], baseline);
        subjects.push(measured(Of::Allowed(stacks), series, agreed));
    }
    for one in moves {
        let parts = one.stacks.iter().map(|stack| &observed.stacks[*stack]);
        let (series, growth) = moved::together(&observed.iterations, parts);
        subjects.push(Measured {
            of: Of::Moved(one.stacks.clone(), one.from(baseline)),
            series,
            growth,
            agreed: Agreed::at(one.allowances.iter().copied(), baseline),
        });
    }
    for (site, (series, stacks)) in sites {
        if stacks > 1 {
            subjects.push(measured(
                Of::Site { site, stacks },
                series,
                Agreed::default(),
            ));
        }
    }
    for (of, series, subject) in [
        (Of::Threads, &observed.threads, AllowanceSubject::Threads),
        (
            Of::Descriptors,
            &observed.descriptors,
            AllowanceSubject::Descriptors,
        ),
    ] {
        let allowances = &baseline.allowances;
        let allowance = allowances.iter().position(|allow| allow.subject == subject);
        subjects.push(measured(
            of,
            series.clone(),
            Agreed::at(allowance, baseline),
        ));
    }
    subjects
}
