//! `plimsoll show --ages`: the stacks of one dump, by how surely they leak.

mod flamegraph;
mod json;
mod page;
mod place;
mod text;

use std::collections::{BTreeMap, HashMap};

use plimsoll_core::Rate;
use plimsoll_core::ages::{Birth, Fate, Generation, Judgement, judge};
use plimsoll_core::blame::Blame;
use plimsoll_core::report::units::{duration, signed_bytes, signed_objects};
use plimsoll_desk::atomic::write_output;
use plimsoll_desk::out::Out;
use plimsoll_profile::{Measure, NameId, Names};

use self::place::Places;
use crate::args::ShowArgs;
use crate::climb::Process;
use crate::load::{Loaded, load_births};
use crate::output::{emit, measure, view};
use crate::source::Source;

pub(crate) fn show(args: &ShowArgs, out: &mut Out) -> anyhow::Result<()> {
    let common = &args.common;
    let source = Source::of(&args.dump, &common.http)?;
    common.output.check_with(&source.files(), &args.html)?;
    let [loaded] = load_births([&source], &common.symbols, out)?;
    let ages = Ages::of(&loaded, args)?;
    if let Some(path) = &common.output.flamegraph {
        write_output(path, ages.flamegraph()?)?;
    }
    if let Some(path) = &args.html {
        write_output(path, ages.page(common.output.top))?;
    }
    let has_files = args.html.is_some() || common.output.is_of_files();
    let printed = match (common.output.json, common.output.text) {
        (true, _) => ages.json(),
        (false, false) if has_files && common.output.output.is_none() => return Ok(()),
        _ => ages.text(common.output.top, out.columns()),
    };
    emit(&common.output, out, |to| to.write_all(printed.as_bytes()))
}

/// The stacks of a dump with their births.
struct Ages<'a> {
    name: &'a str,
    measure: Measure,
    /// The youngest birth of all stacks. The dump was taken in it.
    youngest: Birth,
    /// Those that leak come first, then those that may.
    stacks: Vec<Stack>,
}

/// What is alive of each birth.
type Survivors = BTreeMap<Birth, Generation>;

struct Stack {
    /// The names of its frames, leaf first.
    names: Vec<String>,
    /// The place to blame. `None` for a stack without frames.
    blame: Option<Blame>,
    born: Survivors,
    alive: Generation,
    judged: Judgement,
}

impl<'a> Ages<'a> {
    fn of(loaded: &'a Loaded, args: &ShowArgs) -> anyhow::Result<Ages<'a>> {
        let what = &args.common.what;
        let measure = measure(what, &[loaded])?;
        let Some(youngest) = loaded.births.iter().flatten().max().copied() else {
            return Err(without_births(loaded));
        };
        let mut names = Names::default();
        let view = view(loaded, what, &mut names);
        let places = Places::of(&loaded.profile);
        // The first of the records that differ only by their birth, and what they add up to.
        let mut by_stack: HashMap<Box<[NameId]>, (usize, Survivors)> = HashMap::new();
        for number in view.stacks() {
            let (birth, generation) = loaded.born(number, view.values(number));
            let stack = view.leaf_first(number).collect();
            let (_, born) = by_stack.entry(stack).or_insert((number, Survivors::new()));
            *born.entry(birth).or_default() += generation;
        }
        let stacks = by_stack.into_iter().map(|(stack, (number, born))| {
            let stack = stack.iter().map(|name| names.get(*name).to_owned());
            let mut alive = Generation::default();
            born.values().for_each(|generation| alive += *generation);
            Stack {
                names: stack.collect(),
                blame: places.blame(number),
                judged: judge(&born, youngest),
                born,
                alive,
            }
        });
        let mut stacks: Vec<Stack> = stacks.filter(|stack| stack.live(measure) > 0.0).collect();
        stacks.sort_by(|one, two| {
            one.judged
                .fate
                .cmp(&two.judged.fate)
                .then_with(|| two.weight(measure).total_cmp(&one.weight(measure)))
                .then_with(|| two.live(measure).total_cmp(&one.live(measure)))
                .then_with(|| one.names.cmp(&two.names))
        });
        Ok(Ages {
            name: &loaded.name,
            measure,
            youngest,
            stacks,
        })
    }

    fn are(&self, fate: Fate) -> impl Iterator<Item = &Stack> {
        let is = move |stack: &&Stack| stack.judged.fate == fate;
        self.stacks.iter().filter(is)
    }

    fn title(&self) -> String {
        format!(
            "{} of {} by birth; up for {} to {}",
            crate::output::what(self.measure),
            self.name,
            duration(self.youngest.start()),
            duration(self.youngest.end())
        )
    }
}

impl Stack {
    fn live(&self, measure: Measure) -> f64 {
        match measure.is_space() {
            true => self.alive.alive.bytes,
            false => self.alive.alive.objects,
        }
    }

    /// Returns the number by which stacks of one fate are ordered: leaks by their rate, and
    /// others by what they may be.
    fn weight(&self, measure: Measure) -> f64 {
        match self.judged.fate {
            Fate::Leaks if measure.is_space() => self.judged.rate.bytes,
            Fate::Leaks => self.judged.rate.objects,
            Fate::Unsure => self.judged.sureness,
            _ => self.live(measure),
        }
    }

    /// Returns the percentage of the objects born in the first half of the uptime, without its
    /// start, that is alive. `None`
    /// if the dump does not count what was ever born.
    fn kept(&self) -> Option<f64> {
        let [_, _, oldest, old, ..] = &self.judged.spans;
        let ever = oldest.born.ever + old.born.ever;
        let alive = oldest.born.alive.objects + old.born.alive.objects;
        (ever > 0.0).then(|| 100.0 * alive / ever)
    }
}

/// Returns `+1.25 ± 0.04 objects, +1.2 KiB ± 40 B per second`.
fn rate(judged: &Judgement) -> String {
    let Rate { objects, bytes } = judged.rate;
    let error = judged.error;
    format!(
        "{} ± {} objects, {} ± {} per second",
        signed_objects(objects),
        plimsoll_core::report::units::objects(error.objects),
        signed_bytes(bytes),
        plimsoll_core::report::units::bytes(error.bytes)
    )
}

/// Returns a note if the births of two dumps that are compared cannot be those of one process. A
/// comparison adds up all births, so it stays right, but it is no growth over time.
pub(crate) fn compared(before: &Loaded, after: &Loaded) -> Option<String> {
    let born = [before, after].map(|loaded| !loaded.births.is_empty());
    let (with, without) = match born {
        [false, false] => return None,
        [true, true] => {
            return are_of_two_processes(before, after).then(|| {
                format!(
                    "{} and {} are of two processes, or the second is the earlier dump: what \
                     grew is a difference, and no growth over time\n  hint: `plimsoll show \
                     --ages` judges each dump by itself",
                    before.name, after.name
                )
            });
        }
        [true, false] => (before, after),
        [false, true] => (after, before),
    };
    let name = &without.name;
    Some(match without.profile.has_unnamed_births() {
        true => format!(
            "{name}: its births have no names, so none of its stacks are equal to those of {}\n  \
             hint: give its program with --exe FILE; if it was stripped, give the file before it \
             was",
            with.name
        ),
        false => format!(
            "{name} has no births: objects of all births are compared\n  hint: `plimsoll show \
             --ages` judges {} by itself",
            with.name
        ),
    })
}

/// Tells whether two dumps with births are surely not of one process, in this order. The files of
/// another process are mapped elsewhere; and in one process, no more objects can be alive of a
/// time that was over.
fn are_of_two_processes(before: &Loaded, after: &Loaded) -> bool {
    if Process::of(&after.profile).is_another(&Process::of(&before.profile)) {
        return true;
    }
    let alive = |loaded: &Loaded| {
        let mut alive: BTreeMap<Birth, u64> = BTreeMap::new();
        for ((_, counts), birth) in loaded.profile.stacks().zip(&loaded.births) {
            if let Some(birth) = birth {
                *alive.entry(*birth).or_default() += counts.inuse.objects;
            }
        }
        alive
    };
    // Other formats have estimates, which depend on what else is alive.
    let are_counts = [before, after].map(|loaded| loaded.profile.scaled_by.is_some());
    let (known, alive) = (alive(before), alive(after));
    // The youngest birth was not over. A thread may have read its clock for the one before.
    let over = known.keys().next_back().map_or(0, |birth| birth.number());
    let has_more = |(birth, alive): (&Birth, &u64)| {
        birth.number() + 1 < over && *alive > known.get(birth).copied().unwrap_or_default()
    };
    are_counts == [true, true] && alive.iter().any(has_more)
}

fn without_births(loaded: &Loaded) -> anyhow::Error {
    let name = &loaded.name;
    match loaded.profile.has_unnamed_births() {
        true => anyhow::anyhow!(
            "{name}: expected births with the name of their function, found only their addresses\n  \
             hint: the names of the program are missing: give the program with --exe FILE; if it \
             was stripped, give the file before it was"
        ),
        false => anyhow::anyhow!(
            "{name}: expected stacks with births, found none\n  \
             hint: the program has to link `plimsoll-ages`, and to call \
             `plimsoll_ages::install()` first in `main`, without PLIMSOLL_AGES=off; a pprof \
             profile needs the addresses of its frames"
        ),
    }
}
