//! What the levels of a finding show where a rate says nothing: how often something was there,
//! when it came, and how much longer a ladder would have to be.

use std::ops::RangeInclusive;

use crate::finding::{Finding, Subject};
use crate::growth::{Growth, Unit};
use crate::judge::supports;
use crate::ladder::{RUNGS_PER_OCTAVE, RUNGS_TO_RISE, rung};
use crate::report::Report;
use crate::report::units::{count, plural, size, span};
use crate::verdict::Verdict;
use crate::{Law, Per, Series, Tally};

/// The most rungs of a ladder. An iteration takes a nanosecond at least, so even fewer take
/// longer than a life.
const MOST_RUNGS: usize = 200;

/// Returns the words in place of a rate that is zero or below. `None` if it is not.
pub(super) fn no_rate(finding: &Finding) -> Option<&'static str> {
    let gains = finding.rate.objects > 0.0 || finding.rate.bytes > 0.0;
    (!gains && !finding.is_unused()).then_some("no steady growth")
}

impl Report {
    /// Returns what the levels of a finding show, if its rate does not say so: it is
    /// *inconclusive* and not steady, or its rate is zero.
    ///
    /// ```text
    /// 1 object of 2.5 KiB at 1 of 48 dumps, and none at the others
    /// one step of 53 KiB in iterations 3,445–4,096, flat since; 3 more octaves would tell …
    /// 12 to 40 objects, 1.2 KiB to 4 KiB, at the last 16 dumps
    /// ```
    pub fn evidence(&self, finding: &Finding) -> Option<String> {
        let is_unsteady = !matches!(finding.law, Law::Linear | Law::Stepped);
        let is_asked =
            finding.verdict == Verdict::Inconclusive && is_unsteady || no_rate(finding).is_some();
        let levels = Levels::of(self, finding).filter(|_| is_asked)?;
        let mut said = levels
            .steps()
            .or_else(|| levels.peaks())
            .or_else(|| levels.range())?;
        if let Some(octaves) = self.octaves_at_rest(finding) {
            let more = plural(octaves as u64, "more octave", "more octaves");
            let until = rung(levels.all.len() - 1 + octaves * RUNGS_PER_OCTAVE);
            let until = self.per.count(until);
            said += &format!("; {more} (up to {until}) would tell");
        }
        Some(said)
    }

    /// Returns how many octaves more would show that a finding whose level rests does not grow.
    /// `None` if it does not rest, or if the report does not have the whole ladder.
    pub fn octaves_at_rest(&self, finding: &Finding) -> Option<usize> {
        let rests = Levels::of(self, finding)?.is_at_rest();
        rests.then(|| self.octaves_to_tell(finding))?
    }

    /// Returns how many octaves more would show that a finding does not grow, if its level
    /// stayed as it is from now on.
    pub(super) fn octaves_to_tell(&self, finding: &Finding) -> Option<usize> {
        let rungs = self.rungs.len();
        let is_ladder = || (0..rungs).all(|at| self.rungs[at].iterations == rung(at));
        let is_whole = finding.levels.len() == rungs && rungs <= MOST_RUNGS && is_ladder();
        let level = *finding.levels.last().filter(|_| is_whole)?;
        let interval = self.interval()?;
        let threshold = self.threshold.iterations;
        let stays = |levels: &[Tally]| {
            let iterations: Vec<u64> = (0..levels.len()).map(rung).collect();
            let growth = Growth::of(&iterations, &Series::new(levels.to_vec()));
            growth.stays_within(finding.allowed, threshold)
        };
        // The report does not have what was counted in a sampled profile, nor which objects
        // died. If the verdict depends on these, the levels alone do not tell.
        let levels_tell = interval.is_exact() && !stays(&finding.levels);
        let more = (1..=RUNGS_TO_RISE).find(|more| {
            let mut levels = finding.levels.clone();
            levels.resize(rungs + more, level);
            // Once all levels that a verdict uses are the same, nothing is left to ask.
            let recent = &levels[levels.len().saturating_sub(RUNGS_TO_RISE)..];
            let is_flat = recent.iter().all(|one| *one == level);
            let is_long = supports(rung(levels.len() - 1), threshold, interval);
            is_long && (is_flat || levels_tell && stays(&levels))
        })?;
        Some(more.div_ceil(RUNGS_PER_OCTAVE))
    }
}

/// The levels of a finding, and the iterations at each.
struct Levels<'a> {
    all: Vec<(u64, Tally)>,
    per: &'a Per,
    finding: &'a Finding,
}

impl Levels<'_> {
    /// Returns `None` if there are not two levels.
    fn of<'a>(report: &'a Report, finding: &'a Finding) -> Option<Levels<'a>> {
        let iterations = report.rungs.iter().map(|rung| rung.iterations);
        let all: Vec<(u64, Tally)> = iterations.zip(finding.levels.iter().copied()).collect();
        (all.len() > 1).then_some(Levels {
            all,
            per: &report.per,
            finding,
        })
    }

    /// Returns the levels that a verdict uses.
    fn recent(&self) -> &[(u64, Tally)] {
        &self.all[self.all.len().saturating_sub(RUNGS_TO_RISE)..]
    }

    /// Returns the level that most of the recent rungs have, the lowest if there are several.
    fn usual(&self) -> Tally {
        let mut levels: Vec<Tally> = self.recent().iter().map(|(_, level)| *level).collect();
        levels.sort_unstable();
        let same = levels.chunk_by(|one, other| one == other);
        // Of equals, `max_by_key` takes the last one.
        let most = same.rev().max_by_key(|same| same.len());
        most.map_or(Tally::default(), |most| most[0])
    }

    /// Returns whether the last level is one that may stay.
    fn is_at_rest(&self) -> bool {
        let (last, before) = (
            self.all[self.all.len() - 1].1,
            self.all[self.all.len() - 2].1,
        );
        last == before || last == self.usual()
    }

    /// Describes levels that never fall, and rise at some rungs.
    fn steps(&self) -> Option<String> {
        let steps = || self.recent().windows(2).map(|pair| (pair[0], pair[1]));
        let falls = |before: Tally, after: Tally| {
            after.objects < before.objects || after.bytes < before.bytes
        };
        if steps().any(|((_, before), (_, after))| falls(before, after)) {
            return None;
        }
        let rises = || steps().filter(|((_, before), (_, after))| before != after);
        let ((from, before), (to, after)) = rises().next_back()?;
        let step = after.saturating_sub(before);
        let step = match (self.finding.is_heap(), step.objects) {
            (true, objects @ 1..) => {
                format!(
                    "{} ({})",
                    size(step.bytes),
                    plural(objects, "object", "objects")
                )
            }
            _ => self.amount(step),
        };
        let how_many = match rises().count() {
            1 => "one step of".to_owned(),
            n => format!("{n} steps, the last of"),
        };
        let since = match self.all.last() {
            Some((last, _)) if *last > to => ", flat since",
            _ => "",
        };
        Some(format!(
            "{how_many} {step} in {} {}{since}",
            self.per.many(),
            span(from, to)
        ))
    }

    /// Describes levels that are above the usual level at a few rungs.
    fn peaks(&self) -> Option<String> {
        let usual = self.usual();
        let others = |levels: &[(u64, Tally)]| {
            let others = levels.iter().filter(|(_, level)| *level != usual);
            others.map(|(_, level)| *level).collect::<Vec<_>>()
        };
        let recent = others(self.recent());
        let is_above = |level: &Tally| level.objects >= usual.objects && level.bytes >= usual.bytes;
        // With more of them, none is the usual level.
        let are_few = 4 * recent.len() <= self.recent().len();
        if recent.is_empty() || !are_few || !recent.iter().all(is_above) {
            return None;
        }
        let highest = recent
            .iter()
            .max_by_key(|level| (level.bytes, level.objects))?;
        let up_to = match recent.iter().all(|level| level == highest) {
            true => "",
            false => "up to ",
        };
        let amount = self.amount(highest.saturating_sub(usual));
        let at = match others(&self.all).len() == recent.len() {
            true => format!("{} of {} dumps", recent.len(), self.all.len()),
            false => format!("{} of the last {} dumps", recent.len(), self.recent().len()),
        };
        Some(match usual == Tally::default() {
            true => format!("{up_to}{amount} at {at}, and none at the others"),
            false => format!("{up_to}{amount} more at {at} than at the others"),
        })
    }

    /// Describes any other levels by the lowest and the highest.
    fn range(&self) -> Option<String> {
        let between = |of: fn(&Tally) -> u64| -> Option<RangeInclusive<u64>> {
            let levels = || self.recent().iter().map(|(_, level)| of(level));
            Some(levels().min()?..=levels().max()?)
        };
        let say = |range: &RangeInclusive<u64>, say: fn(u64) -> String| {
            let (from, to) = (say(*range.start()), say(*range.end()));
            match from == to {
                true => from,
                false => format!("{from} to {to}"),
            }
        };
        let (objects, bytes) = (
            between(|level| level.objects)?,
            between(|level| level.bytes)?,
        );
        if objects.start() == objects.end() && bytes.start() == bytes.end() {
            return None;
        }
        let (one, many) = self.unit();
        let noun = if *objects.end() == 1 { one } else { many };
        let (of_objects, bytes) = (
            format!("{} {noun}", say(&objects, count)),
            say(&bytes, size),
        );
        let range = match self.finding.subject.unit() {
            None => format!("{of_objects}, {bytes},"),
            Some(Unit::Objects) => of_objects,
            Some(Unit::Bytes) => bytes,
        };
        Some(format!("{range} at the last {} dumps", self.recent().len()))
    }

    fn unit(&self) -> (&'static str, &'static str) {
        match self.finding.subject {
            Subject::Resource(resource) => (resource.one(), resource.many()),
            Subject::Stack(_) | Subject::Site { .. } => ("object", "objects"),
        }
    }

    fn amount(&self, of: Tally) -> String {
        let (one, many) = self.unit();
        match (self.finding.is_heap(), of.objects) {
            (false, 0) => size(of.bytes),
            (false, n) => plural(n, one, many),
            (true, 0) => size(of.bytes),
            (true, 1) => format!("1 object of {}", size(of.bytes)),
            (true, n) => format!("{} ({})", plural(n, one, many), size(of.bytes)),
        }
    }
}
