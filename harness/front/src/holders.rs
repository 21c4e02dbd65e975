//! Finds who holds what grows: runs the scenario once more, with a table of its objects, stops it
//! and reads its memory.
//!
//! This is done only if something is red, so a green run costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::fold::{self, Contents, Folder, Trace};
use plimsoll_core::holders::{
    BackReference, ChainEnd, End, Graph, Held, Holder, HolderLink, Holders, Link, LinkKind, Root,
    Storage, Traits,
};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;
use plimsoll_core::report::{self, Finding, Report};
use plimsoll_core::{Avma, FoldedStack, to_f64};

use crate::climb::Route;
use crate::guardian::Guardian;
use crate::observe;
use crate::plan::Plan;
use crate::process::{Answer, Subject};
use crate::profile::mapped_files;
use crate::program::Program;
use crate::protocol::Command;
use crate::stopped::{RootNames, Stopped, Words};

/// How many objects of each finding are to be looked at.
const WANTED: f64 = 500.0;

/// How long the iterations may take. They go on as long as twice as many fit into it.
const TIME: Duration = Duration::from_secs(2);

/// The fewest iterations.
const FEWEST: u64 = 64;

/// The most findings whose holders are looked for.
const MOST: usize = 64;

/// The parts of the iterations of which the objects of the first are left out: they may belong to
/// what is filled once.
const PARTS: u64 = 4;

/// How many return addresses, counted from the leaf, tell apart what has no type.
const NEAREST: usize = 6;

/// How long the subject may take to stop its threads.
const TO_STOP: Duration = Duration::from_secs(5);

/// What the search needs, besides the report.
pub(crate) struct Search<'a> {
    pub(crate) program: &'a Program,
    pub(crate) guardian: &'a Guardian,
    pub(crate) route: &'a Route<'a>,
}

/// What objects of one kind have in common: where they are allocated, and what they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    stack: FoldedStack,
    contents: Option<Contents>,
    /// Only if it is not known what they are: distances between the nearest return addresses, which
    /// are the same in every run of one build.
    calls: Vec<u64>,
}

impl Search<'_> {
    /// Adds the holders to the findings of a report that grow, and to others that somebody asked
    /// for; or a note why they are not known.
    /// Reading the memory may take `to_read`.
    pub(crate) fn add_to<'a>(
        &self,
        report: &'a mut Report,
        others: impl Iterator<Item = &'a mut Finding>,
        to_read: Duration,
    ) {
        let iterations = report.rungs.last().map_or(0, |rung| rung.iterations);
        let growing = report
            .findings
            .iter_mut()
            .filter(|finding| finding.verdict >= Verdict::Regressed);
        let has_objects =
            |finding: &&mut Finding| finding.subject.stack().is_some() && !finding.is_unused();
        let asked = growing.chain(others).filter(has_objects).take(MOST);
        let mut asked: Vec<&mut Finding> = asked.collect();
        if asked.is_empty() || iterations == 0 {
            return;
        }
        let found = self.find(&mut asked, (iterations, to_read));
        let unknown = asked.iter().filter(|finding| finding.holders.is_none());
        let unknown = unknown.count() as u64;
        let note = match found {
            Ok(0) if unknown == 0 => return,
            Ok(0) => {
                let stacks = plural(unknown, "stack", "stacks");
                format!("who holds the objects of {stacks} is not known: the second run had none")
            }
            Ok(running) => {
                let threads = plural(running, "thread", "threads");
                format!("{threads} did not stop, so nobody knows what their stacks hold")
            }
            Err(why) => format!("who holds it is not known: {why}"),
        };
        report.notes.push(note);
    }

    /// Returns how many threads did not stop.
    fn find(&self, findings: &mut [&mut Finding], limits: (u64, Duration)) -> Result<u64, String> {
        let folder = self.route.folder.join(".holders");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let found = self.look(findings, limits, &folder);
        let _ = fs::remove_dir_all(&folder);
        found
    }

    fn look(
        &self,
        findings: &mut [&mut Finding],
        (iterations, to_read): (u64, Duration),
        folder: &Path,
    ) -> Result<u64, String> {
        let plan = Plan {
            parts_memory: true,
            ..Plan::default()
        };
        let settings = self.route.terms.settings;
        let setup = (plan, settings.unwinder);
        let mut subject = Subject::start(self.program, folder, true, setup, self.guardian)
            .map_err(|error| format!("the subject cannot be started again: {error}"))?;
        let greeting = subject.greeting(settings.timeout);
        let greeting = greeting.map_err(|answer| said(&answer))?;
        if greeting.get("objects") != "true" {
            return Err(
                "the program's `plimsoll-subject` is older: update it with `cargo update -p \
                 plimsoll-subject`"
                    .to_owned(),
            );
        }
        self.ask(&mut subject, &Command::Objects)?;
        self.ask(
            &mut subject,
            &Command::SetUp(self.route.scenario.to_owned()),
        )?;
        let needed = findings.iter().map(|finding| {
            let each = finding.rate.objects.max(1e-9);
            WANTED / each * to_f64(PARTS) / to_f64(PARTS - 1)
        });
        let needed = needed.fold(0.0, f64::max);
        let mut until = FEWEST;
        while to_f64(until) < needed && until < iterations {
            until *= 2;
        }
        let until = until.min(iterations);
        let started = Instant::now();
        let mut done = 0;
        while done < until && started.elapsed() * 2 < TIME {
            // A slow iteration must not take the time of many.
            done = (done * 2).clamp(1, until);
            self.ask(&mut subject, &Command::Run(done))?;
        }
        observe::settle(subject.process(), settings.settle);
        let (numbers, files) = subject.stop(TO_STOP)?;
        let stopped = Stopped::read(subject.process(), &numbers, files)?;
        let has_ended = || subject.has_ended();
        self.answer(findings, (&stopped, done, to_read), has_ended)?;
        Ok(stopped.running)
    }

    fn ask(&self, subject: &mut Subject<'_>, command: &Command) -> Result<(), String> {
        let settings = self.route.terms.settings;
        match subject.ask(command, settings.timeout, settings.memory_limit) {
            Answer::Line(line) if line.starts_with("done") => Ok(()),
            Answer::Line(line) => {
                let why = line
                    .strip_prefix("unable ")
                    .or(line.strip_prefix("failed "));
                Err(why.unwrap_or(&line).to_owned())
            }
            answer => Err(said(&answer)),
        }
    }

    /// Finds the holders in the memory of the stopped subject.
    fn answer(
        &self,
        findings: &mut [&mut Finding],
        (stopped, done, to_read): (&Stopped, u64, Duration),
        has_ended: impl FnOnce() -> bool,
    ) -> Result<(), String> {
        if stopped.left_out > 0 {
            return Err(format!(
                "{} objects are too many for the table that the subject keeps",
                stopped.left_out + stopped.objects.len() as u64
            ));
        }
        let files = mapped_files(&stopped.maps);
        let mut addresses: BTreeSet<Avma> = BTreeSet::new();
        addresses.extend(stopped.stacks.iter().flatten());
        let options = plimsoll_symbols::Options {
            arguments: true,
            ..plimsoll_symbols::Options::default()
        };
        let symbols = plimsoll_symbols::symbolize(&files, &addresses, &options);
        let folder = Folder::new(&symbols, self.route.normalization);
        let mut traces: BTreeMap<Kind, Trace> = BTreeMap::new();
        let kinds = stopped.stacks.iter().map(|stack| {
            let folded = folder.fold(stack);
            let contents = folder.container(&symbols, stack);
            let nearest = stack.iter().take(NEAREST);
            let first = stack.first().map_or(0, |first| first.0);
            let calls = nearest.map(|call| call.0.wrapping_sub(first));
            let kind = Kind {
                stack: folded.stack,
                calls: calls.filter(|_| contents.is_none()).collect(),
                contents,
            };
            let trace = traces.entry(kind.clone());
            trace
                .or_insert_with(|| folded.trace.clone())
                .or_smaller(folded.trace);
            kind
        });
        let kinds: Vec<Kind> = kinds.collect();
        let of_rank: Vec<&Kind> = traces.keys().collect();
        let ranks = kinds.iter().map(|kind| {
            let rank = of_rank.binary_search(&kind).unwrap_or(0);
            u32::try_from(rank).unwrap_or(u32::MAX)
        });
        let ranks: Vec<u32> = ranks.collect();
        let groups = stopped.objects.iter().map(|live| ranks[live.stack]);
        let groups: Vec<u32> = groups.collect();
        let words = of_rank.iter().map(|kind| {
            let is_of_harness = || {
                let trace = traces.get(*kind);
                trace.is_some_and(|trace| trace.frames.is_empty())
            };
            match &kind.contents {
                Some(Contents::Container(name)) if name.starts_with("Box<a closure") => {
                    Words::OfState
                }
                Some(contents) if contents.has_no_references() => Words::NoReferences,
                Some(contents) => storage(contents).map_or(Words::Any, Words::InUse),
                None if is_of_harness() => Words::OfState,
                _ => Words::Any,
            }
        });
        let words: Vec<Words> = words.collect();
        let words_of = |group: u32| words.get(group as usize).copied().unwrap_or(Words::Any);
        let (scan, roots) = stopped.scan(&groups, &words_of, (done, to_read))?;
        // The memory of a process that has ended is empty, and all would be lost.
        if has_ended() {
            return Err("the subject ended while its memory was read".to_owned());
        }
        let graph = scan.finish().ok_or("there are too many references")?;
        let sources = plimsoll_symbols::source_files(fold::source_paths(
            symbols.frames.values().flatten(),
            self.route.normalization,
        ));
        let names = Names {
            kinds: &of_rank,
            traces: &traces,
            roots: &roots,
            scenario: self.route.scenario,
            packages: &self.route.place.packages(),
            sources: &sources,
        };
        let of_rust = |group: u32| {
            let kind = names.kind(group);
            let leaf = kind.and_then(|kind| kind.stack.frames().last());
            // A function of C has no path, and is no address.
            leaf.is_none_or(|leaf| {
                leaf.contains("::")
                    || !leaf.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            })
        };
        let traits = |group: u32| match names.kind(group).and_then(|kind| kind.contents.as_ref()) {
            Some(Contents::Container(name)) => {
                let is_counted = is_counted(name);
                Traits {
                    is_counted,
                    may_be_counted: false,
                    is_container: !is_counted && !name.starts_with("Box"),
                    has_weak: name.contains("Weak<"),
                }
            }
            _ => Traits {
                may_be_counted: of_rust(group),
                ..Traits::default()
            },
        };
        let mut is_missing = false;
        for finding in findings {
            let accused = accused(finding, stopped, &groups, &of_rank, done, &graph);
            if let Some(first) = accused.first() {
                let group = graph.objects()[*first].group;
                // A function that allocates in several lines has one stack. The line that is told is
                // that of these objects. A run that meets more code knows more names as well.
                if let Some((kind, trace)) = names.trace(group)
                    && let report::Subject::Stack(stack) = &finding.subject
                    && let Some(blame) = names.blame(trace)
                {
                    finding.blame = Some(blame);
                    if *stack == kind.stack {
                        finding.frames.clone_from(&trace.frames);
                    }
                }
                let holders = names.told(&graph.held(&accused, &traits), group);
                // Whatever points there may be on a stack or in memory that was not read.
                let is_whole = stopped.running == 0 && roots.are_all;
                let is_told = is_whole || holders.end == ChainEnd::Root;
                is_missing |= !is_told && !roots.are_all;
                finding.holders = is_told.then_some(holders);
            }
        }
        match is_missing {
            true => Err("there is too much memory to be searched".to_owned()),
            false => Ok(()),
        }
    }
}

/// Returns how the elements of these objects are stored, if they are a container's of the standard
/// library or of `hashbrown` that has free room.
fn storage(contents: &Contents) -> Option<Storage> {
    let Contents::Container(name) = contents else {
        return None;
    };
    match name.split_once('<')?.0 {
        "HashMap" | "HashSet" | "HashTable" | "RawTable" => Some(Storage::Table),
        "Vec" | "VecDeque" | "BinaryHeap" => Some(Storage::Elements),
        _ => None,
    }
}

/// Returns the numbers of the objects of a finding that are looked at: those of its kind that has
/// most objects which were allocated lately.
fn accused(
    finding: &Finding,
    stopped: &Stopped,
    groups: &[u32],
    kinds: &[&Kind],
    done: u64,
    graph: &Graph,
) -> Vec<usize> {
    // For each kind, its objects that are young, all of them, and the bytes of the largest.
    let mut by_kind: Vec<(Vec<u64>, Vec<u64>, u64)> = Vec::new();
    by_kind.resize_with(kinds.len(), Default::default);
    let is_asked = {
        let exact = |kind: &&Kind| finding.subject.covers(&kind.stack);
        let has_exact = kinds.iter().any(exact);
        let asked = kinds.iter().map(|kind| match has_exact {
            true => exact(kind),
            false => finding
                .subject
                .stack()
                .is_some_and(|one| may_be_one(one, &kind.stack)),
        });
        asked.collect::<Vec<bool>>()
    };
    for (live, group) in stopped.objects.iter().zip(groups) {
        if is_asked[*group as usize] {
            let (young, all, bytes) = &mut by_kind[*group as usize];
            all.push(live.address);
            *bytes = live.bytes.max(*bytes);
            if live.iteration >= done / PARTS {
                young.push(live.address);
            }
        }
    }
    let most = by_kind.into_iter().max_by_key(|(young, all, bytes)| {
        // What grows by its bytes alone is a large object beside others.
        let count = match finding.grows_by_size() {
            true => 0,
            false => young.len(),
        };
        (count, *bytes, all.len())
    });
    let Some((young, all, _)) = most else {
        return Vec::new();
    };
    // What grows by its bytes alone is one object, which was allocated anew.
    let addresses = if young.is_empty() { all } else { young };
    let objects = graph.objects();
    let numbers = addresses.iter().filter_map(|address| {
        objects
            .binary_search_by_key(address, |one| one.address)
            .ok()
    });
    numbers.collect()
}

/// Returns whether two stacks are one, with the names of runs that met different code: what else is
/// in a profile may tell the module of an inlined function.
fn may_be_one(one: &FoldedStack, other: &FoldedStack) -> bool {
    let (one, other) = (one.frames(), other.frames());
    let mut both = one.iter().zip(other);
    one.len() == other.len() && both.all(|(one, other)| fold::may_be_one(one, other))
}

/// What is needed to say what a chain is.
struct Names<'a> {
    kinds: &'a [&'a Kind],
    traces: &'a BTreeMap<Kind, Trace>,
    roots: &'a RootNames,
    scenario: &'a str,
    packages: &'a Packages,
    sources: &'a SourceFiles<'a>,
}

impl Names<'_> {
    fn kind(&self, group: u32) -> Option<&Kind> {
        self.kinds.get(usize::try_from(group).ok()?).copied()
    }

    fn trace(&self, group: u32) -> Option<(&Kind, &Trace)> {
        let kind = self.kind(group)?;
        Some((kind, self.traces.get(kind)?))
    }

    fn blame(&self, trace: &Trace) -> Option<Blame> {
        Blame::of(trace, self.scenario, self.packages, self.sources)
    }

    /// Returns what a report says of a chain from the objects of a group.
    fn told(&self, held: &Held, group: u32) -> Holders {
        let contents = |group: u32| self.kind(group).and_then(|kind| kind.contents.as_ref());
        let is_task = |group: u32, ended: u64, of: u64| {
            matches!(contents(group), Some(Contents::Task(_))) && ended < of.div_ceil(2)
        };
        let name = |group: u32| {
            contents(group).map(|contents| match contents {
                Contents::Container(name) | Contents::Task(name) => name.clone(),
            })
        };
        let first = held.links.first().map_or(held.asked, |link| link.of);
        let what = name(group);
        // Of anything else, the first two words mean something else.
        let mut holders = Holders {
            weak: held.weak * u64::from(what.as_deref().is_some_and(is_counted)),
            what,
            of: held.asked,
            objects: first,
            chain: Vec::new(),
            also: held.also.as_ref().map(|link| self.link(link)),
            end: ChainEnd::Root,
            cycle: None,
        };
        // The runtime has a task until it ends, whatever else points to it.
        if is_task(group, held.ended, held.asked) {
            holders.objects = held.asked;
            // A container of their handles, or of what they wait for.
            let has_most = |link: &&Link| link.holds * 2 >= link.of;
            let links = held.links.iter().take_while(has_most);
            let mut links = links.map(|link| self.link(link));
            let handles = links.find(|link| link.count * 4 <= held.asked);
            let handles = handles.filter(|link| link.kind == LinkKind::Objects);
            holders.also = handles.or(holders.also);
            holders.chain.push(HolderLink {
                kind: LinkKind::Tasks,
                name: name(group),
                blame: None,
                count: held.asked,
                bytes: 0,
                is_fixed: false,
                holds: held.asked,
                through: 0,
                of: held.asked,
            });
            return holders;
        }
        for link in &held.links {
            holders.chain.push(self.link(link));
            if let Holder::Objects(group) = link.holder
                && is_task(group, link.ended, link.count)
            {
                return holders;
            }
        }
        match held.end {
            End::Root => {}
            End::Deeper => holders.end = ChainEnd::Deeper,
            End::Lost { of_asked } => (holders.end, holders.objects) = (ChainEnd::Lost, of_asked),
            End::Unsure { of_asked } => {
                (holders.end, holders.objects) = (ChainEnd::Unsure, of_asked);
            }
            End::Cycle { of_asked, from, to } => {
                (holders.end, holders.objects) = (ChainEnd::Cycle, of_asked);
                holders.cycle = Some(BackReference {
                    from: name(from),
                    to: name(to),
                });
            }
        }
        holders
    }

    fn link(&self, link: &Link) -> HolderLink {
        let (kind, name, blame) = match link.holder {
            Holder::Root(root) => {
                let kind = match root {
                    Root::State => LinkKind::State,
                    Root::Static(_) => LinkKind::Static,
                    Root::ThreadLocal(_) | Root::Unnamed(_) => LinkKind::ThreadLocal,
                    Root::Mapped => LinkKind::Mapped,
                    Root::Stack(_) => LinkKind::Stack,
                };
                (kind, self.roots.name(root).map(str::to_owned), None)
            }
            Holder::Objects(group) => {
                let known = self.trace(group);
                let blame = known.and_then(|(_, trace)| self.blame(trace));
                match known.and_then(|(kind, _)| kind.contents.clone()) {
                    Some(Contents::Task(name)) if link.ended < link.count.div_ceil(2) => {
                        (LinkKind::Tasks, Some(name), blame)
                    }
                    Some(Contents::Task(name)) => (LinkKind::EndedTasks, Some(name), blame),
                    Some(Contents::Container(name)) => (LinkKind::Objects, Some(name), blame),
                    None => (LinkKind::Objects, None, blame),
                }
            }
        };
        HolderLink {
            kind,
            name,
            blame,
            count: link.count,
            bytes: link.bytes,
            is_fixed: link.is_fixed,
            holds: link.holds,
            through: link.through,
            of: link.of,
        }
    }
}

/// Returns whether a type is an `Arc` or an `Rc`.
fn is_counted(name: &str) -> bool {
    matches!(name.split('<').next(), Some("Arc" | "Rc"))
}

/// Says why there is no answer.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::Line(line) => line.clone(),
        Answer::Foreign(what) => what.clone(),
        Answer::Exited(status) => crate::process::ending(*status),
        Answer::TimedOut => "it took too long to run again".to_owned(),
        Answer::Closed => "the subject closed the channel".to_owned(),
        Answer::OutOfMemory => "it needs more than the memory limit".to_owned(),
        Answer::Forked => "a process that the workload forked came back".to_owned(),
    }
}
