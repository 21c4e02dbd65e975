use std::collections::BTreeMap;

use super::Birth;
use crate::dump::Estimate;
use crate::{Rate, Stays};

/// A stack leaks if its objects live for at least this share of the uptime, on average.
pub const MOST_OF_UPTIME: f64 = 1.0 / 6.0;

/// Standard deviations by which a count must exceed chance before a stack is called a leak: one
/// of a thousand stacks does so by chance.
const SURE: f64 = 3.1;
/// The same for what fails a check: one of 30,000 stacks.
const SURE_OF_ONE: f64 = 4.0;
/// The same for what nobody is woken up for, and for doubts about a leak.
const LIKELY: f64 = 1.64;
/// Fewest sampled survivors of a leak in its oldest span.
const FEWEST: f64 = 3.0;
/// Sampled survivors, in the two spans that are compared, that are enough for [`SURE`] if they
/// are kept evenly.
const ENOUGH: f64 = 16.0;
/// How many times as many objects may be born in one span as in another, per second. So much is
/// the traffic of a busy hour above that of a quiet one.
const TRAFFIC: f64 = 3.0;
/// The same for each object that was ever born, where these are counted.
const NO_TRAFFIC: f64 = 1.5;
/// Share of the objects that may be old while a stack counts as in use.
const FEW: f64 = 0.02;

/// Where each [`Span`] ends, as a share of the time before the youngest birth.
const ENDS: [f64; SPANS] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 0.5, 0.75, 1.0];
/// The spans by their place. The first may be set-up, beside anything else.
const EARLY: usize = 1;
const OLDEST: usize = 2;
const OLD: usize = 3;
const RECENT: usize = 4;
const YOUNG: usize = 5;
const SPANS: usize = 6;

/// The objects of a stack that were born in one step of the uptime.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Generation {
    /// Survivors: what is alive, as estimated from the samples.
    pub alive: Estimate,
    /// The variance of `alive`, if objects are born at random.
    pub variance: Estimate,
    /// The number of survivors that were sampled.
    pub sampled: f64,
    /// The number of objects that were sampled when they were born. Zero if the dump does not
    /// count what was ever allocated.
    pub ever_sampled: f64,
    /// The objects that were ever born, as estimated from the samples.
    pub ever: f64,
}

impl Generation {
    /// Returns the survivors on one stack, at addresses that are all the same.
    ///
    /// `probability` is that of an object to be sampled.
    pub fn of(alive: Estimate, ever: Estimate, probability: impl Fn(f64) -> f64) -> Generation {
        let chance = |estimate: Estimate| match estimate.objects > 0.0 {
            true => probability(estimate.bytes / estimate.objects),
            false => 1.0,
        };
        let seen = chance(alive).max(f64::MIN_POSITIVE);
        let size = match alive.objects > 0.0 {
            true => alive.bytes / alive.objects,
            false => 0.0,
        };
        let objects = alive.objects / seen;
        Generation {
            alive,
            variance: Estimate {
                objects,
                bytes: objects * size * size,
            },
            sampled: alive.objects * seen,
            ever_sampled: ever.objects * chance(ever),
            ever: ever.objects,
        }
    }
}

impl std::ops::AddAssign for Generation {
    fn add_assign(&mut self, other: Generation) {
        self.alive += other.alive;
        self.variance += other.variance;
        self.sampled += other.sampled;
        self.ever_sampled += other.ever_sampled;
        self.ever += other.ever;
    }
}

/// What becomes of the objects of a stack, in the order of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// They are kept, as many of each second.
    Leaks,
    /// They may be kept, but the program has not run for long enough to tell.
    Unsure,
    /// The older they are, the fewer are left: a cache, or sessions.
    ThinsOut,
    /// They are old: no more have been kept for a long time.
    SetUp,
    /// They are young: they are turned over.
    InUse,
    /// There are too few of them to tell.
    TooFew,
}

impl Fate {
    /// All fates but that of a leak.
    pub const OTHERS: [Fate; 5] = [
        Fate::Unsure,
        Fate::ThinsOut,
        Fate::SetUp,
        Fate::InUse,
        Fate::TooFew,
    ];

    /// Returns the word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Leaks => "leaks",
            Fate::Unsure => "unsure",
            Fate::ThinsOut => "thins out",
            Fate::SetUp => "set-up",
            Fate::InUse => "in use",
            Fate::TooFew => "too few",
        }
    }
}

/// What was born in a part of the uptime: the evidence for a [`Fate`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Span {
    /// The uptime at which the span starts, in seconds.
    pub start: f64,
    /// The uptime at which it ends.
    pub end: f64,
    /// What was born in it and is alive.
    pub born: Generation,
}

impl Span {
    fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// What one dump says of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What becomes of its objects.
    pub fate: Fate,
    /// Survivors for each second in which they were born, of the births that are half as old as
    /// the program. The rate of the leak, if it is one.
    pub rate: Rate,
    /// The standard error of the rate.
    pub error: Rate,
    /// How surely the stack leaks, in standard deviations of chance.
    pub sureness: f64,
    /// What was born in each part of the uptime, oldest first. The parts end at a 64th, a
    /// 16th, a quarter, a half, three quarters and all of the time before the youngest birth.
    pub spans: [Span; SPANS],
    /// The uptime in seconds at which another dump would tell more. Absent if this dump has told
    /// it.
    pub wait: Option<f64>,
}

impl Judgement {
    /// Returns whose objects stay, if this is sure enough to decide about the levels of many dumps.
    /// The first and the last of them were taken in these births. The last one was judged.
    ///
    /// A leak that began later has only young objects as well. So these say nothing unless the
    /// dumps reach over most of the uptime.
    pub fn stays(&self, first: Birth, last: Birth) -> Option<Stays> {
        match self.fate {
            Fate::Leaks if self.sureness >= SURE_OF_ONE => {
                // A dump may have been taken at any time of its birth.
                let middle = |birth: Birth| (birth.start() + birth.end()) / 2.0;
                let variance = |birth: Birth| (birth.end() - birth.start()).powi(2) / 12.0;
                let seconds = middle(last) - middle(first);
                let deviation = (variance(first) + variance(last)).sqrt();
                let error = |rate: f64, error: f64| (seconds * error).hypot(deviation * rate);
                let kept = self.rate.map(|rate| seconds * rate);
                Some(Stays::Evenly(kept, self.rate.zip(self.error, error)))
            }
            Fate::InUse | Fate::ThinsOut if first.end() <= ENDS[OLDEST] * last.start() => {
                Some(Stays::Young)
            }
            _ => None,
        }
    }
}

/// Judges a stack by its survivors of each birth.
///
/// `youngest` is the youngest birth of the whole dump. The dump was taken in it, so it is not
/// complete, and is left out.
pub fn judge(born: &BTreeMap<Birth, Generation>, youngest: Birth) -> Judgement {
    let asked = Asked::of(born, youngest);
    let fate = asked.fate();
    let (rate, error) = asked.rate();
    Judgement {
        fate,
        rate,
        error,
        sureness: asked.sureness(RECENT),
        spans: asked.spans,
        wait: (fate == Fate::Unsure).then(|| asked.wait()),
    }
}

/// The births of a stack, prepared for the questions about it.
struct Asked {
    /// The uptime at which the youngest birth starts: that of the dump, at least.
    uptime: f64,
    spans: [Span; SPANS],
    /// For each span, how much could be alive if everything was kept: born objects, or seconds.
    exposed: [f64; SPANS],
    /// The same if objects live for [`MOST_OF_UPTIME`] on average.
    exposed_to_death: [f64; SPANS],
    /// Whether `exposed` counts born objects.
    is_of_born: bool,
    /// The sampled survivors of the youngest birth, and its greatest length in seconds.
    youngest: f64,
    longest: f64,
}

impl Asked {
    fn of(born: &BTreeMap<Birth, Generation>, youngest: Birth) -> Asked {
        let uptime = youngest.start();
        let before = || born.range(..youngest).map(|(_, generation)| generation);
        let is_of_born = before().any(|generation| generation.ever_sampled > 0.0);
        let mut asked = Asked {
            uptime,
            spans: [Span::default(); SPANS],
            exposed: [0.0; SPANS],
            exposed_to_death: [0.0; SPANS],
            is_of_born,
            youngest: born.get(&youngest).map_or(0.0, |born| born.sampled),
            longest: youngest.end() - uptime,
        };
        for birth in (0..youngest.number()).filter_map(Birth::new) {
            let middle = (birth.start() + birth.end()) / 2.0;
            let place = ENDS.iter().position(|end| middle < end * uptime);
            let place = place.unwrap_or(YOUNG);
            let generation = born.get(&birth).copied().unwrap_or_default();
            let span = &mut asked.spans[place];
            if span.end == 0.0 {
                span.start = birth.start();
            }
            span.end = birth.end();
            span.born += generation;
            let exposed = match is_of_born {
                true => generation.ever_sampled,
                false => birth.end() - birth.start(),
            };
            let lived = (uptime - middle) / (MOST_OF_UPTIME * uptime);
            asked.exposed[place] += exposed;
            asked.exposed_to_death[place] += exposed * (-lived).exp();
        }
        asked
    }

    fn fate(&self) -> Fate {
        if self.leaks_beside(RECENT) || self.is_of_born && self.leaks_beside(OLD) {
            return Fate::Leaks;
        }
        // The youngest birth is not judged. But where nearly all is younger than a quarter of the
        // uptime, it does not matter how long that birth has lasted.
        let [start, early, oldest, old, recent, young] = self.spans.map(|span| span.born.sampled);
        let [at_start, of_early, of_oldest, of_old, of_recent, of_young] =
            self.spans.map(|span| span.seconds());
        let (aged, of_aged) = (oldest + old, of_oldest + of_old);
        let (since, of_since) = (recent + young, of_recent + of_young);
        let (before, of_before) = (start + early + aged, at_start + of_early + of_aged);
        if exceeds(before, since, TRAFFIC * of_before, of_since) >= LIKELY {
            return Fate::SetUp;
        }
        let is_young = exceeds(since, aged, TRAFFIC * of_since, of_aged) >= LIKELY
            || {
                let (youngest, of_youngest) = (young + self.youngest, of_young + self.longest);
                let (others, of_others) = (aged + recent, of_aged + of_recent);
                exceeds(youngest, others, TRAFFIC * of_youngest, of_others) >= LIKELY
            }
            || self.is_of_born && self.is_freed();
        match is_young {
            // A leak beside what is turned over, of which there is not enough yet.
            true if self.sureness(RECENT) >= LIKELY => Fate::Unsure,
            true if aged <= FEW * (before + since + self.youngest) => Fate::InUse,
            true => Fate::ThinsOut,
            false if before + since + self.youngest < 2.0 * FEWEST => Fate::TooFew,
            false => Fate::Unsure,
        }
    }

    /// Returns whether hardly any of the objects that were born in the last three spans is alive.
    fn is_freed(&self) -> bool {
        let spans = &self.spans[OLDEST..=RECENT];
        let sum = |of: fn(&Generation) -> f64| spans.iter().map(|span| of(&span.born)).sum();
        let (alive, ever): (f64, f64) = (sum(|born| born.sampled), sum(|born| born.ever_sampled));
        ever >= ENOUGH && alive <= FEW * ever
    }

    /// Returns whether the oldest objects are kept as those of a more recent span are.
    fn leaks_beside(&self, recent: usize) -> bool {
        let count = |place: usize| self.spans[place].born.sampled;
        let allowed = match self.is_of_born {
            true => NO_TRAFFIC,
            false => TRAFFIC,
        };
        // Whether the one span keeps less than the traffic explains of what the other keeps.
        let keeps_less = |one: usize, other: usize, exposed: &[f64; SPANS], allowed: f64| {
            let (one, of_one) = (count(one), exposed[one]);
            exceeds(count(other), one, allowed * exposed[other], of_one) > LIKELY
        };
        let seconds = self.spans.map(|span| span.seconds());
        // Entries of a cache that are always in use are kept as a leak is. But most of them were
        // born early, and ever fewer later.
        let is_hot = keeps_less(OLDEST, EARLY, &self.exposed, allowed);
        let thins = (OLDEST..recent).any(|old| keeps_less(old, recent, &self.exposed, allowed));
        let has_ended = (OLD..=YOUNG).any(|later| keeps_less(later, OLDEST, &seconds, TRAFFIC));
        count(OLDEST) >= FEWEST && self.sureness(recent) >= SURE && !thins && !has_ended && !is_hot
    }

    /// Returns how many standard deviations the oldest survivors are above what would be left,
    /// beside those of a more recent span, of objects that live for [`MOST_OF_UPTIME`].
    fn sureness(&self, recent: usize) -> f64 {
        let count = |place: usize| self.spans[place].born.sampled;
        let allowed = match self.is_of_born {
            true => NO_TRAFFIC,
            false => TRAFFIC,
        };
        let [oldest, recent_left] = [OLDEST, recent].map(|place| self.exposed_to_death[place]);
        exceeds(count(OLDEST), count(recent), allowed * oldest, recent_left)
    }

    /// Returns the survivors for each second, of the births that are half as old as the program,
    /// and the standard error.
    fn rate(&self) -> (Rate, Rate) {
        let mut born = self.spans[OLDEST].born;
        born += self.spans[OLD].born;
        let seconds = self.spans[OLDEST].seconds() + self.spans[OLD].seconds();
        let per_second = |objects: f64, bytes: f64| match seconds > 0.0 {
            true => Rate {
                objects: objects / seconds,
                bytes: bytes / seconds,
            },
            false => Rate::default(),
        };
        (
            per_second(born.alive.objects, born.alive.bytes),
            per_second(born.variance.objects.sqrt(), born.variance.bytes.sqrt()),
        )
    }

    /// Returns an uptime at which a dump would have enough samples if objects are kept, or in
    /// which what is old now has had the time to go.
    fn wait(&self) -> f64 {
        let counted = self.spans[OLDEST].born.sampled + self.spans[RECENT].born.sampled;
        let longer = (ENOUGH / counted.max(1.0)).max(2.0);
        longer * self.uptime.max(Birth::new(8).map_or(0.0, Birth::start))
    }
}

/// Returns by how many standard deviations a count exceeds what another one explains, if both
/// are random and expected to be in proportion to their exposures. Negative if it is below.
///
/// It is the signed root of the likelihood ratio, which is right for small counts as well.
fn exceeds(one: f64, other: f64, exposed: f64, exposed_other: f64) -> f64 {
    let both = one + other;
    let expected = exposed / (exposed + exposed_other);
    // Without any exposure nothing is expected, and nothing is told.
    if both <= 0.0 || !(expected > 0.0 && expected < 1.0) {
        return 0.0;
    }
    let term = |count: f64, expected: f64| match count > 0.0 {
        true => count * (count / (both * expected)).ln(),
        false => 0.0,
    };
    let ratio = term(one, expected) + term(other, 1.0 - expected);
    let deviations = (2.0 * ratio.max(0.0)).sqrt();
    match one >= both * expected {
        true => deviations,
        false => -deviations,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn survivors(objects: f64, ever: f64) -> Generation {
        let estimate = |objects: f64| Estimate {
            objects,
            bytes: 96.0 * objects,
        };
        Generation::of(estimate(objects), estimate(ever), |_| 1.0)
    }

    fn births(to: u16) -> impl Iterator<Item = Birth> {
        (0..to).filter_map(Birth::new)
    }

    /// Objects for each birth before the youngest, by its length in seconds and its age as a share
    /// of the uptime.
    fn born(objects: impl Fn(f64, f64) -> f64) -> BTreeMap<Birth, Generation> {
        let uptime = Birth(52).start();
        let of = |birth: Birth| {
            let length = birth.end() - birth.start();
            let age = 1.0 - (birth.start() + length / 2.0) / uptime;
            (birth, survivors(objects(length, age), 0.0))
        };
        births(52).map(of).collect()
    }

    #[test]
    fn each_shape_has_its_fate() {
        let cases: [(&str, BTreeMap<Birth, Generation>); 8] = [
            ("leaks 0.5 ± 0.0167", born(|length, _| length / 2.0)),
            (
                "leaks 0.5 ± 0.0167",
                born(|length, age| length / 2.0 + if age < 0.2 { 900.0 } else { 0.0 }),
            ),
            ("unsure 0.005 ± 0.0017", born(|length, _| length / 200.0)),
            (
                "thins out 0.0085 ± 0.0022",
                born(|length, age| length * (-age / 0.14).exp()),
            ),
            (
                "in use 0.0 ± 0.0",
                born(|length, age| if age < 0.3 { length } else { 0.0 }),
            ),
            (
                "set-up 0.0 ± 0.0",
                born(|_, age| if age > 0.999 { 9.0 } else { 0.0 }),
            ),
            (
                "set-up 0.0 ± 0.0",
                BTreeMap::from([(Birth(3), survivors(9.0, 0.0))]),
            ),
            (
                "in use 0.0 ± 0.0",
                BTreeMap::from([(Birth(52), survivors(9.0, 0.0))]),
            ),
        ];
        for (expected, born) in cases {
            let judged = judge(&born, Birth(52));
            let found = format!(
                "{} {:?} ± {:?}",
                judged.fate.as_str(),
                (judged.rate.objects * 1e4).round() / 1e4,
                (judged.error.objects * 1e4).round() / 1e4
            );
            assert_eq!(found, expected, "{judged:?}");
            assert_eq!(judged.wait.is_some(), judged.fate == Fate::Unsure);
            // The first dump was taken soon after the start, or late.
            let found = [36, 48].map(|first| match judged.stays(Birth(first), Birth(52))? {
                Stays::Evenly(kept, error) => {
                    let [objects, error] = [kept.objects, error.objects].map(f64::round);
                    Some(format!("{objects} ± {error}"))
                }
                Stays::Young => Some("young".to_owned()),
            });
            let stays = match judged.fate {
                Fate::Leaks => ["2160 ± 165", "1152 ± 170"].map(Some),
                Fate::ThinsOut | Fate::InUse => [Some("young"), None],
                _ => [None; 2],
            };
            assert_eq!(found.each_ref().map(Option::as_deref), stays, "{judged:?}");
        }
    }

    #[test]
    fn where_the_born_are_counted_traffic_decides_nothing() {
        // Two and a half times as busy in the first quarter, and half of the objects are kept.
        let uptime = Birth(52).start();
        let of = |birth: Birth, kept: f64| {
            let busy = if birth.start() < uptime / 4.0 {
                0.25
            } else {
                0.1
            };
            let ever = busy * (birth.end() - birth.start());
            (birth, survivors((kept * ever).round(), ever))
        };
        let leak: BTreeMap<_, _> = births(52).map(|birth| of(birth, 0.5)).collect();
        let mut freed = leak.clone();
        for generation in freed.values_mut() {
            generation.alive = Estimate::default();
            generation.sampled = 0.0;
        }
        assert_eq!(judge(&freed, Birth(52)).fate, Fate::InUse);
        assert_eq!(judge(&leak, Birth(52)).fate, Fate::Leaks);
    }

    proptest! {
        #[test]
        fn any_counts_are_judged(
            counts in prop::collection::btree_map(0..=220_u16, (0.0..1e12_f64, 0.0..1e12_f64), 0..60),
            youngest in 0..=220_u16,
        ) {
            let born = counts.into_iter().filter(|(birth, _)| *birth <= youngest);
            let born = born.map(|(birth, (alive, more))| (Birth(birth), survivors(alive, alive + more)));
            let judged = judge(&born.collect(), Birth(youngest));
            let numbers = [
                judged.rate.objects,
                judged.rate.bytes,
                judged.error.objects,
                judged.error.bytes,
                judged.sureness,
                judged.wait.unwrap_or_default(),
            ];
            prop_assert!(numbers.iter().all(|number| number.is_finite()), "{judged:?}");
        }
    }
}
