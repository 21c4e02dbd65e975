//! Many dumps of one process: how fast each stack grows, and by which law.
//!
//! The files are read twice: first for the addresses of all of them, so that names are looked up
//! once; then for the levels of their stacks. Only the first and the last profile stay in memory.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_core::ages::{Birth, Fate, Generation, judge};
use plimsoll_core::dump::{Estimate, SampleInterval};
use plimsoll_core::growth::{FEWEST_DUMPS, GoesOn, Trend, Unit};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, signed_objects};
use plimsoll_core::text::escape;
use plimsoll_core::{Alive, Law, Stays, Tally, to_f64};
use plimsoll_profile::{Measure, NameId, Names, Values};
use serde_json::{Value, json};

use crate::args::{CommonArgs, CompareArgs};
use crate::dumps::{self, Files, Per};
use crate::gate::Gate;
use crate::load::{self, Loaded};
use crate::output::{Heap, emit, measure, signed, view};
use crate::source::Source;
use crate::spaces::Spaces;
use crate::text;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::progress::Progress;
use plimsoll_desk::status::Refused;

/// The version of the JSON format.
const VERSION: u64 = 1;
/// How many frames of a stack the table shows, those nearest to the allocation. If the
/// allocator has no names, some of them are its own.
const FRAMES: usize = 6;

/// What is asked of the dumps.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) common: &'a CommonArgs,
    pub(super) drop_negative: bool,
    pub(super) fail_on: &'a [Gate],
}

/// Runs `compare DIR` and `compare --series A B C`.
pub(super) fn compare(args: &CompareArgs, out: &mut Out) -> anyhow::Result<()> {
    let files = match args.series {
        true => {
            let paths = [&args.before].into_iter().chain(&args.after);
            dumps::named(paths.chain(&args.later).map(Into::into).collect())
        }
        false if Path::new(&args.before).is_dir() => {
            dumps::in_folder(args.before.as_ref(), args.pid)?
        }
        false => {
            return Err(Refused::usage(
                "expected two profiles, or one folder with dumps of a process",
            ));
        }
    };
    let paths: Vec<&Path> = files.paths.iter().map(PathBuf::as_path).collect();
    args.common.output.check(&paths)?;
    let asked = Asked {
        common: &args.common,
        drop_negative: args.drop_negative,
        fail_on: &args.fail_on,
    };
    let series = Series::of(&files, asked, out)?;
    series.output(None, out)?;
    series.heap().check(asked.fail_on)
}

/// The growth of every stack over the dumps.
pub(super) struct Series<'a> {
    asked: Asked<'a>,
    at: Vec<u64>,
    per: Per,
    paths: Vec<String>,
    measure: Measure,
    first: Loaded,
    last: Loaded,
    /// Whether no dump has any object, as if the profiler was not active.
    is_empty: bool,
    /// The sum of all stacks.
    total: Stack,
    /// The stacks that grew. Those that keep growing come first, then those that gained most.
    stacks: Vec<Stack>,
}

/// One stack over all dumps.
struct Stack {
    /// The names of its frames, leaf first.
    names: Vec<String>,
    levels: Vec<f64>,
    /// The growth. Absent if there are too few dumps.
    trend: Option<Trend>,
    /// What becomes of its objects. Absent if the first or the last dump has no births.
    fate: Option<Fate>,
}

impl Stack {
    fn gain(&self) -> f64 {
        let last = self.levels.last().copied().unwrap_or_default();
        last - self.levels.first().copied().unwrap_or_default()
    }
}

/// The levels of a stack while the dumps are read, and their random part.
#[derive(Default)]
pub(super) struct Levels {
    series: plimsoll_core::Series,
    /// For objects and for bytes, the largest variance of all dumps, for each unit, if objects
    /// come and go at random.
    at_random: [f64; 2],
    /// The same if all dumps have the same objects, of which only some were sampled.
    same: [f64; 2],
    /// The survivors of each birth, if the last dump has births.
    born: BTreeMap<Birth, Generation>,
}

/// The births in which the first and the last dump of a process were taken.
#[derive(Clone, Copy)]
pub(super) struct Uptime {
    first: Birth,
    last: Birth,
}

impl Uptime {
    /// Returns the uptime at dumps with these youngest births. `None` if the first or the last one
    /// has no births. If others have, there is a note.
    pub(super) fn at(youngest: &[Option<Birth>]) -> (Option<Uptime>, Option<String>) {
        if let (Some(&Some(first)), Some(&Some(last))) = (youngest.first(), youngest.last()) {
            return (Some(Uptime { first, last }), None);
        }
        let with = youngest.iter().flatten().count();
        let dumps = plural(youngest.len() as u64, "dump", "dumps");
        let note = format!(
            "births are in {with} of {dumps}, and the first and the last would be needed: growth is \
             judged by levels alone"
        );
        (None, (with > 0).then_some(note))
    }

    /// Returns what becomes of the objects with these births, and whose objects stay.
    fn judge(self, born: &BTreeMap<Birth, Generation>) -> (Fate, Option<Stays>) {
        let judged = judge(born, self.last);
        (judged.fate, judged.stays(self.first, self.last))
    }
}

/// The values of one stack in one dump, with their variances.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) alive: Alive,
    at_random: [f64; 2],
    same: [f64; 2],
}

impl Share {
    /// Estimates how many samples there were, and the variances.
    pub(super) fn of(values: Values, interval: SampleInterval) -> Share {
        let (objects, bytes) = (values.inuse.objects, values.inuse.bytes);
        if objects <= 0.0 {
            // Without a number of objects, each byte is one.
            let level = rounded(bytes, bytes);
            return Share {
                alive: Alive {
                    level,
                    counted: level,
                },
                ..Share::default()
            };
        }
        let size = bytes / objects;
        let seen = interval.probability(size);
        let variance = |unit: f64| objects * unit * unit / seen;
        let at_random = [variance(1.0), variance(size)];
        Share {
            alive: Alive {
                level: rounded(objects, bytes),
                counted: rounded(objects * seen, bytes * seen),
            },
            at_random,
            same: at_random.map(|variance| variance * (1.0 - seen)),
        }
    }

    pub(super) fn add(&mut self, other: Share) {
        self.alive += other.alive;
        for what in 0..2 {
            self.at_random[what] += other.at_random[what];
            self.same[what] += other.same[what];
        }
    }
}

fn rounded(objects: f64, bytes: f64) -> Tally {
    let (objects, bytes) = (objects.round(), bytes.round());
    Estimate { objects, bytes }.truncated()
}

impl Levels {
    pub(super) fn set(&mut self, dump: usize, interval: SampleInterval, share: Share) {
        self.series.add_estimated(dump, interval, share.alive);
        for (what, unit) in UNITS.into_iter().enumerate() {
            let level = unit.of(&share.alive.level);
            if level > 0.0 {
                let grain = |known: f64, variance: f64| known.max(variance / level);
                self.at_random[what] = grain(self.at_random[what], share.at_random[what]);
                self.same[what] = grain(self.same[what], share.same[what]);
            }
        }
    }

    /// Adds survivors, as the last dump has them.
    pub(super) fn add_born(&mut self, birth: Birth, generation: Generation) {
        *self.born.entry(birth).or_default() += generation;
    }

    /// Returns the levels of so many dumps, and what becomes of the objects. The latter is `None`
    /// without an uptime.
    pub(super) fn of_process(
        mut self,
        dumps: usize,
        uptime: Option<Uptime>,
    ) -> (plimsoll_core::Series, Option<Fate>) {
        self.series.extend_to(dumps);
        let levels = self.series.levels();
        // If the number of objects stays the same, they are the same objects, which become
        // larger.
        let is_same = levels
            .iter()
            .all(|level| level.objects == levels[0].objects);
        let grains = if is_same { self.same } else { self.at_random };
        let judged = uptime.map(|uptime| uptime.judge(&self.born));
        let stays = judged.and_then(|(_, stays)| stays);
        let series = self.series.of_process(grains).who_stay(stays);
        (series, judged.map(|(fate, _)| fate))
    }

    /// Returns the levels at these distances, and their growth.
    fn finish(
        self,
        at: &[u64],
        names: Vec<String>,
        is_space: bool,
        uptime: Option<Uptime>,
    ) -> Stack {
        let unit = UNITS[usize::from(is_space)];
        let (series, fate) = self.of_process(at.len(), uptime);
        Stack {
            names,
            fate,
            levels: series.levels().iter().map(|level| unit.of(level)).collect(),
            trend: Trend::of(at, &series, unit),
        }
    }
}

const UNITS: [Unit; 2] = [Unit::Objects, Unit::Bytes];

impl<'a> Series<'a> {
    pub(super) fn of(files: &Files, asked: Asked<'a>, out: &mut Out) -> anyhow::Result<Self> {
        let CommonArgs { what, symbols, .. } = asked.common;
        if matches!(what.measure(), Measure::AllocObjects | Measure::AllocSpace) {
            return Err(Refused::usage(
                "expected a measure of live memory: what was ever allocated always grows",
            ));
        }
        symbols.check()?;
        for note in &files.notes {
            out.note(note);
        }
        let sources = Source::of_files(files);
        let [first, .., _] = sources.as_slice() else {
            return Err(Refused::usage(format!(
                "expected two dumps at least, found {}",
                sources.len()
            )));
        };
        let mut progress = Progress::late();
        let spaces = Spaces::of(&sources, symbols, &mut progress)?;
        if files.of_one_process {
            spaces.check_process(&sources)?;
        }
        for note in &spaces.notes {
            progress.clear();
            out.note(&safe_line(note));
        }
        let first = spaces.load(0, first, symbols, &mut progress)?;
        let measure = measure(what, &[&first])?;
        for gate in asked.fail_on {
            gate.check(&first.name, &first.profile, measure)?;
        }
        let mut names = Names::default();
        let mut total = Levels::default();
        let mut by_stack: HashMap<Box<[NameId]>, Levels> = HashMap::new();
        let mut last = None;
        let mut is_empty = true;
        let mut youngest = Vec::with_capacity(sources.len());
        for (dump, source) in sources.iter().enumerate() {
            let loaded = spaces.load(dump, source, symbols, &mut progress)?;
            youngest.push(loaded.births.iter().flatten().max().copied());
            if dump + 1 == sources.len() && !loaded.births.is_empty() {
                let view = view(&loaded, what, &mut names);
                for number in view.stacks() {
                    let (birth, generation) = loaded.born(number, view.values(number));
                    let levels = by_stack.entry(view.leaf_first(number).collect());
                    levels.or_default().add_born(birth, generation);
                }
            }
            let loaded = loaded.put_together();
            let mut shares: HashMap<Box<[NameId]>, Share> = HashMap::new();
            let mut whole = Share::default();
            is_empty &= loaded.profile.is_empty();
            let interval = loaded.interval();
            let view = view(&loaded, what, &mut names);
            // Births make many records of one stack, so only a new stack is allocated.
            let mut stack: Vec<NameId> = Vec::new();
            for number in view.stacks() {
                let share = Share::of(view.values(number), interval);
                whole.add(share);
                stack.clear();
                stack.extend(view.leaf_first(number));
                match shares.get_mut(stack.as_slice()) {
                    Some(known) => known.add(share),
                    None => {
                        shares.insert(stack.as_slice().into(), share);
                    }
                }
            }
            total.set(dump, interval, whole);
            for (stack, share) in shares {
                by_stack
                    .entry(stack)
                    .or_default()
                    .set(dump, interval, share);
            }
            last = Some(loaded);
        }
        progress.clear();
        let last = last.context("there is one dump at least")?;
        let (mut first, mut last) = (first.put_together(), last);
        let (uptime, note) = Uptime::at(&youngest);
        if let Some(note) = note {
            out.note(&note);
        }
        for end in [&mut first, &mut last] {
            load::identify(&mut end.profile, symbols);
        }

        let is_space = measure.is_space();
        let stacks = by_stack.into_iter().map(|(stack, levels)| {
            let stack = stack.iter().map(|name| names.get(*name).to_owned());
            levels.finish(&files.at, stack.collect(), is_space, uptime)
        });
        let mut stacks: Vec<Stack> = stacks.filter(|stack| stack.gain() > 0.0).collect();
        let goes_on = |stack: &Stack| stack.trend.map(|trend| trend.goes_on);
        stacks.sort_by(|one, two| {
            goes_on(two)
                .cmp(&goes_on(one))
                .then_with(|| two.gain().total_cmp(&one.gain()))
                .then_with(|| one.names.cmp(&two.names))
        });
        Ok(Series {
            asked,
            at: files.at.clone(),
            per: files.per.clone(),
            paths: sources.iter().map(Source::name).collect(),
            measure,
            last,
            first,
            is_empty,
            total: total.finish(&files.at, Vec::new(), is_space, None),
            stacks,
        })
    }

    /// Returns the rate per hour or per dump, and its error.
    fn rate(&self, trend: &Trend) -> (f64, f64) {
        let factor = self.per.factor;
        (trend.rate * factor, trend.error * factor)
    }

    fn are(&self, goes_on: GoesOn) -> impl Iterator<Item = &Stack> {
        let is = move |trend: Trend| trend.goes_on == goes_on;
        self.stacks
            .iter()
            .filter(move |stack| stack.trend.is_some_and(is))
    }

    /// Tells whether a stack grows faster than `allowed`, and gives the reason.
    pub(super) fn verdict(&self, allowed: f64) -> (Verdict, String) {
        let dumps = plural(self.at.len() as u64, "dump", "dumps");
        if self.is_empty {
            let why = format!("{dumps} have no live objects: nothing was measured");
            return (Verdict::Inconclusive, why);
        }
        if self.at.len() < FEWEST_DUMPS {
            let why = format!(
                "{dumps} are too few to tell a leak from a cache that fills: {FEWEST_DUMPS} are needed"
            );
            return (Verdict::Inconclusive, why);
        }
        let rate = |stack: &Stack| stack.trend.map(|trend| self.rate(&trend));
        let is_past =
            |stack: &&Stack| rate(stack).is_some_and(|(rate, error)| rate - error > allowed);
        let may_be_past =
            |stack: &&Stack| rate(stack).is_some_and(|(rate, error)| rate + error > allowed);
        let going_on: Vec<&Stack> = self.are(GoesOn::Yes).filter(is_past).collect();
        if let Some(fastest) = going_on.first() {
            let stacks = plural(going_on.len() as u64, "stack keeps", "stacks keep");
            let line = safe_line(&self.line(fastest));
            let why = format!("{stacks} growing over {dumps}, {line}");
            return (Verdict::Regressed, why);
        }
        let unsure = self
            .are(GoesOn::Perhaps)
            .chain(self.are(GoesOn::Yes))
            .filter(may_be_past)
            .count();
        if unsure > 0 {
            let stacks = plural(unsure as u64, "stack has", "stacks have");
            let why = format!(
                "{stacks} grown until the end of {dumps}, but slower than before or all at once: \
                 more dumps are needed to tell"
            );
            return (Verdict::Inconclusive, why);
        }
        // If a leak is spread over many stacks, none of them alone may grow visibly.
        let total = self.total.trend;
        if total.is_some_and(|trend| trend.goes_on == GoesOn::Yes) && may_be_past(&&self.total) {
            let line = self.line(&self.total);
            let why = format!(
                "all stacks together keep growing over {dumps}, {line}, and none of them alone does"
            );
            return (Verdict::Inconclusive, why);
        }
        let why = format!("no stack keeps growing over {dumps}");
        (Verdict::Within, why)
    }

    /// Formats the growth of a stack, such as `+1.5 MiB per hour, linear: caller;leaf`.
    fn line(&self, stack: &Stack) -> String {
        let Some(trend) = &stack.trend else {
            return String::new();
        };
        let (rate, _) = self.rate(trend);
        let place = match stack.names.is_empty() {
            true => String::new(),
            false => format!(": {}", shortened(&stack.names)),
        };
        format!(
            "{} per {}, {}{place}",
            self.say_rate(rate),
            self.per.word,
            trend.law.map_or("by chance", Law::as_str)
        )
    }

    fn say(&self, value: f64) -> String {
        signed(self.measure, value)
    }

    /// The same for a rate, which may be a part of an object.
    fn say_rate(&self, rate: f64) -> String {
        match self.measure.is_space() {
            true => self.say(rate),
            false => signed_objects(rate),
        }
    }

    /// Returns the growth from the first dump to the last.
    pub(super) fn heap(&self) -> Heap<'_> {
        let Asked {
            common,
            drop_negative,
            ..
        } = self.asked;
        let sides = vec![&self.first, &self.last];
        Heap::of(sides, &common.what, self.measure, drop_negative)
    }

    /// Writes the output. Pictures show the growth from the first dump to the last. The text
    /// and the JSON contain the laws.
    pub(super) fn output(
        &self,
        verdict: Option<&(Verdict, String)>,
        out: &mut Out,
    ) -> anyhow::Result<()> {
        let args = &self.asked.common.output;
        let heap = self.heap();
        if args.tree || args.folded || args.dot {
            return heap.output(args, out);
        }
        heap.packed(args)?;
        if args.has_pictures() {
            let calls = heap.calls();
            let gains = calls.gains(self.measure, self.asked.drop_negative);
            heap.pictures(args, &calls, &gains)?;
        }
        if args.is_of_files() {
            return Ok(());
        }
        let printed = match args.json {
            true => self.json(verdict),
            false => self.table(args.top, out.columns()),
        };
        emit(args, out, |to| to.write_all(printed.as_bytes()))
    }

    fn table(&self, top: usize, columns: Option<usize>) -> String {
        let mut lines = vec![format!(
            "{} over {} from {} to {}",
            crate::output::what(self.measure),
            plural(self.at.len() as u64, "dump", "dumps"),
            self.first.name,
            self.last.name
        )];
        lines.push(self.sum());
        lines.push(String::new());
        let most = text::most(top, self.stacks.len());
        let per = format!("per {}", self.per.word);
        let births = self.stacks.iter().any(|stack| stack.fate.is_some());
        let births = if births { "births" } else { "" };
        let head = ["gained", per.as_str(), "law", "goes on", births].map(str::to_owned);
        let mut rows = vec![(head, "stack".to_owned())];
        for stack in &self.stacks[..most] {
            let gained = self.say(stack.gain());
            let fate = stack.fate.map_or("", Fate::as_str).to_owned();
            let cells = match &stack.trend {
                Some(trend) => {
                    let (rate, error) = self.rate(trend);
                    let error = match error < 0.005 * rate.abs() {
                        true => String::new(),
                        false => format!(" ± {}", self.say_rate(error).trim_start_matches('+')),
                    };
                    [
                        gained,
                        format!("{}{error}", self.say_rate(rate)),
                        trend.law.map_or("-", Law::as_str).to_owned(),
                        trend.goes_on.as_str().to_owned(),
                        fate,
                    ]
                }
                None => [gained, "-".to_owned(), "-".to_owned(), "-".to_owned(), fate],
            };
            rows.push((cells, escape::terminal(&shortened(&stack.names))));
        }
        lines.extend(text::laid_out(&rows, columns));
        lines.extend(text::more(self.stacks.len() - most, "stack", "stacks"));
        lines.join("\n") + "\n"
    }

    /// Formats the summary, such as
    /// `+3 MiB in all; of the stacks that gained: 3 keep growing, 1 perhaps, …`.
    fn sum(&self) -> String {
        let in_all = self.say(self.total.gain());
        if self.is_empty {
            return "the dumps have no live objects: nothing was measured".to_owned();
        }
        if self.at.len() < FEWEST_DUMPS {
            return format!(
                "{in_all} in all; too few dumps to tell a leak from a cache that fills: {FEWEST_DUMPS} \
                 are needed"
            );
        }
        let [yes, unsure, no] = [GoesOn::Yes, GoesOn::Perhaps, GoesOn::No]
            .map(|goes_on| self.are(goes_on).count() as u64);
        format!(
            "{in_all} in all; of the stacks that gained: {} growing, {} perhaps, {} not",
            plural(yes, "keeps", "keep"),
            count(unsure),
            count(no)
        )
    }

    fn json(&self, verdict: Option<&(Verdict, String)>) -> String {
        let stack = |stack: &Stack| {
            let trend = stack.trend.as_ref();
            let rates = trend.map(|trend| self.rate(trend));
            json!({
                "stack": stack.names.iter().rev().collect::<Vec<_>>(),
                "law": trend.and_then(|trend| trend.law).map(Law::as_str),
                "goes_on": trend.map(|trend| trend.goes_on.as_str()),
                "births": stack.fate.map(Fate::as_str),
                "rate": rates.map(|(rate, _)| rate),
                "error": rates.map(|(_, error)| error),
                "growth": stack.gain(),
                "levels": stack.levels,
            })
        };
        let dumps = self.paths.iter().zip(&self.at);
        let dumps =
            dumps.map(|(name, at)| json!({ "name": name, "at": to_f64(*at) / self.per.scale }));
        let mut whole = json!({
            "version": VERSION,
            "plimsoll": env!("CARGO_PKG_VERSION"),
            "kind": "series",
            "measure": self.measure.name(),
            "per": self.per.word,
            "dumps": dumps.collect::<Vec<Value>>(),
            "total": stack(&self.total),
            "stacks": self.stacks.iter().map(stack).collect::<Vec<_>>(),
        });
        if let Some((verdict, why)) = verdict {
            whole["verdict"] = json!(verdict.as_str());
            whole["reason"] = json!(why);
        }
        format!("{whole:#}\n")
    }
}

/// Returns the frames nearest to the allocation, root first.
pub(super) fn shortened(names: &[String]) -> String {
    let mut nearest: Vec<&str> = names.iter().take(FRAMES).map(String::as_str).collect();
    if names.len() > FRAMES {
        nearest.push("…");
    }
    nearest.reverse();
    nearest.join(";")
}
