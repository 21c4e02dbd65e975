//! Who holds the objects of a cause.

use crate::text::words::Words;

use super::Cause;
use crate::Frame;
use crate::blame::Blame;
use crate::fold::may_be_one;
use crate::holders::{ChainEnd, HolderLink, Holders, LinkKind};
use crate::report::units::count;
use crate::report::{Finding, Report};

/// The most places of allocation that are named.
const MAX_PLACES: usize = 3;

/// The objects per iteration below which a stack has no more of them: its growth is larger objects.
const MOVES: f64 = 0.001;

/// Containers that are made of many objects, and what these are called.
const PARTS: [(&str, &str); 5] = [
    ("BTreeMap", "nodes"),
    ("BTreeSet", "nodes"),
    ("DashMap", "shards"),
    ("LinkedList", "nodes"),
    ("LruCache", "nodes"),
];

/// A thing in a chain, told from others by its type and by where it is allocated.
#[derive(Clone, Copy, Debug)]
struct Thing<'a> {
    name: &'a str,
    blame: Option<&'a Blame>,
    /// Whether it was there before, and does not grow: where it is made, nothing is put into it.
    is_fixed: bool,
}

impl Thing<'_> {
    fn is(&self, other: &Thing<'_>) -> bool {
        let is_same_place = match (self.blame, other.blame) {
            (Some(one), Some(other)) => are_one(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.name == other.name && is_same_place
    }
}

/// Returns whether two places are the same functions. A function may have less of its name in one
/// of two runs.
fn are_one(one: &Blame, other: &Blame) -> bool {
    let is_one = |one: &Option<Frame>, other: &Option<Frame>| match (one, other) {
        (Some(one), Some(other)) => {
            let is_same_file = one.file == other.file;
            one.function == other.function
                || is_same_file && may_be_one(&one.function, &other.function)
        }
        (one, other) => one.is_none() && other.is_none(),
    };
    is_one(&one.at, &other.at) && is_one(&one.caller, &other.caller)
}

/// One thing in a picture of who holds what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is, with how many of them there are.
    pub what: Words,
    /// How many bytes these have. Zero where nobody counted.
    pub bytes: u64,
    /// Where its objects are allocated.
    pub place: Option<Words>,
}

impl HolderLink {
    fn thing(&self) -> Thing<'_> {
        Thing {
            name: self.name.as_deref().unwrap_or_default(),
            blame: self.blame.as_ref(),
            is_fixed: self.is_fixed,
        }
    }

    fn is_objects(&self) -> bool {
        matches!(self.kind, LinkKind::Objects | LinkKind::EndedTasks)
    }

    /// Returns whether a fix may change it: objects that hold most of the level below themselves. What
    /// holds the first of a list has no part in what is added to that.
    fn is_holder(&self) -> bool {
        self.is_objects() && self.holds >= self.of.div_ceil(2)
    }

    /// Returns whether it is a container: a few objects that hold many.
    fn is_container(&self) -> bool {
        self.is_holder() && self.count <= self.of / 4
    }
}

/// Returns the link that most depends on: a container, or the objects nearest to those that are
/// held. `None` if only the first of a list is held.
fn container(links: &[HolderLink]) -> Option<&HolderLink> {
    let mut objects = links.iter().filter(|link| link.is_holder());
    let container = objects.clone().find(|link| link.is_container());
    container.or_else(|| objects.next())
}

impl Finding {
    /// Returns where what a fix changes is allocated, if a line of the reader's own is known there:
    /// where a container is filled, or where an object is made that is lost.
    pub fn held_at(&self) -> Option<&Blame> {
        let pivot = self.pivot()?;
        let blame = match pivot.is_fixed {
            // What it holds is put into it where that is made.
            true => {
                let chain = &self.holders.as_ref()?.chain;
                let is_pivot = |link: &HolderLink| link.thing().is(&pivot);
                match chain.iter().position(is_pivot)?.checked_sub(1) {
                    Some(below) => chain[below].blame.as_ref(),
                    None => self.blame.as_ref(),
                }
            }
            false => pivot.blame,
        };
        blame.filter(|blame| blame.own_line().is_some())
    }

    /// Returns who holds its objects, as one sentence without a full stop. `None` if nobody knows.
    pub fn holder(&self, report: &Report) -> Option<Words> {
        Cause::of(report, self).holder(self, None)
    }

    /// Returns whether its objects and those of another finding are held by the same thing, or one
    /// holds the other.
    pub(super) fn shares_holder(&self, other: &Finding) -> bool {
        let (Some(pivot), Some(others)) = (self.pivot(), other.pivot()) else {
            return false;
        };
        let holds = |one: &Finding, own: Option<Thing<'_>>| {
            let chain = one.holders.iter().flat_map(|one| &one.chain);
            let also = one.holders.iter().filter_map(|one| one.also.as_ref());
            let mut things = chain
                .chain(also)
                .filter(|link| link.is_objects())
                .map(HolderLink::thing);
            own.is_some_and(|own| things.any(|thing| thing.is(&own)))
        };
        let also = |one: &Finding, pivot: &Thing<'_>| {
            let also = one.holders.iter().find_map(|one| one.also.as_ref());
            also.is_some_and(|also| also.thing().is(pivot))
        };
        pivot.is(&others)
            || holds(self, other.own())
            || holds(other, self.own())
            || also(self, &others)
            || also(other, &pivot)
    }

    /// Returns whether its growth is larger objects, and not more of them.
    pub fn grows_by_size(&self) -> bool {
        self.rate.objects < MOVES && self.rate.bytes > 0.0
    }

    /// Returns whether its objects are containers that grow: they are allocated anew, and no more of
    /// them stay.
    fn is_container(&self, holders: &Holders) -> bool {
        holders.of == 1 || self.grows_by_size()
    }

    /// Returns whether it is known that its objects and those of another finding are put into
    /// different containers, by different functions.
    pub(super) fn has_other_holder(&self, other: &Finding) -> bool {
        fn filled(one: &Finding) -> Option<&Blame> {
            let holders = one.holders.as_ref()?;
            let is_held = matches!(holders.end, ChainEnd::Root | ChainEnd::Deeper);
            container(&holders.chain)
                .filter(|_| is_held)?
                .blame
                .as_ref()
        }
        let both = filled(self).zip(filled(other));
        both.is_some_and(|(own, others)| !are_one(own, others)) && !self.shares_holder(other)
    }

    /// Returns what its objects are, as something that may hold others.
    fn own(&self) -> Option<Thing<'_>> {
        Some(Thing {
            name: self.holders.as_ref()?.what.as_deref().unwrap_or_default(),
            blame: self.blame.as_ref(),
            is_fixed: false,
        })
    }

    /// Returns what a fix changes: the container that is filled, or the object that is lost. `None`
    /// if nobody knows who holds its objects.
    fn pivot(&self) -> Option<Thing<'_>> {
        let holders = self.holders.as_ref()?;
        let own = self.own()?;
        let links = &holders.chain;
        let last = links.last();
        let mut objects = links.iter().filter(|link| link.is_objects());
        Some(match holders.end {
            ChainEnd::Root | ChainEnd::Deeper if self.is_container(holders) => own,
            ChainEnd::Root | ChainEnd::Deeper => {
                let last = last?;
                // A task that has many of the objects works with them. As many tasks as objects
                // are what grows.
                let is_tasks = last.kind == LinkKind::Tasks && last.count > holders.objects / 4;
                match container(links) {
                    _ if is_tasks && last.blame.is_some() => last.thing(),
                    _ if is_tasks => own,
                    container => container.map_or(own, HolderLink::thing),
                }
            }
            ChainEnd::Lost | ChainEnd::Unsure => {
                objects.next_back().map_or(own, |link| link.thing())
            }
            // Each object of a cycle holds the others.
            ChainEnd::Cycle => {
                let all = std::iter::once(own).chain(objects.map(|link| link.thing()));
                all.min_by_key(|thing| thing.name).unwrap_or(own)
            }
        })
    }
}

impl Cause<'_> {
    /// Returns who holds its objects, and what to do: sentences without full stops. Empty if nobody
    /// knows.
    pub fn held(&self) -> Vec<Words> {
        let Some((finding, holders)) = self.known() else {
            return Vec::new();
        };
        let mut lines: Vec<Words> = self.allocated().into_iter().collect();
        let weak = self.findings.iter().filter_map(|one| one.holders.as_ref());
        if weak.clone().any(|one| one.weak > one.of / 2) {
            lines.push(Words::default().say(
                "only a `Weak` keeps the memory: the value is dropped, and the allocation stays \
                 until the last `Weak` goes",
            ));
        }
        lines.extend(self.holder(finding, self.place().as_ref()));
        lines.extend(self.also(holders));
        lines.extend(to_do(holders.end).map(|what| Words::default().say(what)));
        lines
    }

    /// Returns the chain of holders from the end of it down to the objects, as a picture has it. Empty
    /// if nobody knows who holds them.
    pub fn chain_down(&self) -> Vec<Node> {
        let Some((finding, holders)) = self.known() else {
            return Vec::new();
        };
        let said = |text: &str| Node {
            what: Words::default().say(text),
            bytes: 0,
            place: None,
        };
        let back = holders.cycle.as_ref().and_then(|back| back.from.clone());
        let end = match holders.end {
            ChainEnd::Root => None,
            ChainEnd::Lost => Some(said("nothing")),
            ChainEnd::Cycle => Some(Node {
                what: match back {
                    Some(from) => Words::default().quote(from).say(", again"),
                    None => Words::default().say("they themselves"),
                },
                ..said("")
            }),
            ChainEnd::Unsure => Some(said("perhaps nothing")),
            ChainEnd::Deeper => Some(said("more")),
        };
        let links = holders.chain.iter().rev().zip(0..);
        let above = links.map(|(link, number)| {
            let what = self.link(Words::default(), link);
            Node {
                what: match number {
                    0 => self.or_stack(what, holders),
                    _ => what,
                },
                bytes: link.bytes,
                place: link.blame.as_ref().map(Blame::words),
            }
        });
        let number = Words::default().say(format!("{} ", count(holders.objects)));
        let objects = Node {
            what: several(number, holders.what.as_deref()),
            bytes: 0,
            place: finding.blamed(),
        };
        end.into_iter().chain(above).chain([objects]).collect()
    }

    /// Returns the finding with the longest chain, which names most of what is together, but none that
    /// is a small part of the growth; of equal ones, that of the largest group.
    fn known(&self) -> Option<(&Finding, &Holders)> {
        let known = self.findings.iter();
        let known = known.filter_map(|one| Some((*one, one.holders.as_ref()?)));
        let known: Vec<(&Finding, &Holders)> = known.collect();
        let most = known.iter().map(|(one, _)| one.rate.bytes);
        let most = most.fold(0.0, f64::max);
        let large = known
            .into_iter()
            .filter(|(one, _)| one.rate.bytes * 4.0 >= most);
        large.max_by_key(|(_, holders)| (holders.chain.len(), holders.of))
    }

    /// Returns where its objects are allocated, if the place is where they are held.
    fn allocated(&self) -> Option<Words> {
        self.findings.iter().find_map(|one| one.held_at())?;
        let place = self.place()?;
        let blames = self.findings.iter().filter_map(|one| one.blame.as_ref());
        let mut places: Vec<Words> = Vec::new();
        for words in blames.map(Blame::words) {
            if words != place && !places.contains(&words) {
                places.push(words);
            }
        }
        let (shown, rest) = places.split_at(places.len().min(MAX_PLACES));
        let (last, first) = shown.split_last()?;
        let mut words = Words::default().say("allocated in ");
        for place in first {
            words = words.join(place.clone()).say(", in ");
        }
        words = words.join(last.clone());
        Some(match rest.len() {
            0 => words,
            more => words.say(format!(", and in {} more", count(more as u64))),
        })
    }

    /// Returns who holds the objects of a finding, as a sentence without a full stop. `shown` is the
    /// place that the reader sees already.
    fn holder(&self, finding: &Finding, shown: Option<&Words>) -> Option<Words> {
        let holders = finding.holders.as_ref()?;
        let said = |text: String| Words::default().say(text);
        let chain = self.chain(holders, shown);
        match holders.end {
            ChainEnd::Root if holders.what.is_some() && finding.is_container(holders) => {
                let words = things(Words::default(), holders.of, holders.what.as_deref());
                Some(words.say(", ").join(chain?))
            }
            ChainEnd::Root => chain,
            ChainEnd::Deeper => chain.map(|words| words.say(", and so on")),
            ChainEnd::Lost => {
                let what = "no other live object, static, thread-local or stack";
                Some(match chain {
                    None => of(said(format!("lost: {what} points to ")), holders),
                    Some(words) => words.say(format!(", which are lost: {what} points to them")),
                })
            }
            ChainEnd::Cycle => {
                let words = of(Words::default().say("a cycle: "), holders);
                let words = words.say(" are held by each other alone");
                Some(match &holders.cycle {
                    Some(back) => {
                        let words = name(words.say(", and "), back.from.as_deref());
                        name(words.say(" points back to "), back.to.as_deref())
                    }
                    None => words,
                })
            }
            ChainEnd::Unsure => {
                let words = of(Words::default().say("lost, or nearly: to "), holders);
                let words = words.say(", only a word on ");
                let words = match holders.chain.last() {
                    Some(last) => self.link(words, last),
                    None => words.say("a stack"),
                };
                Some(words.say(" leads, which may be left over from an earlier call"))
            }
        }
    }

    /// Returns `held by 768 Arc<Session>, those by a HashMap<u64, Arc<Session>>, and that by the
    /// static app::SESSIONS`.
    fn chain(&self, holders: &Holders, place: Option<&Words>) -> Option<Words> {
        let links = &holders.chain;
        let container = container(links);
        let last = links.len().checked_sub(1)?;
        let is_container = |link: &HolderLink| container.is_some_and(|one| std::ptr::eq(one, link));
        // What has no name is between others, and a container may have several levels of parts.
        let is_same = |number: usize, link: &HolderLink| {
            let below = number.checked_sub(1).map(|below| &links[below].name);
            let has_parts = |name: &String| parts_of(name).is_some();
            link.name.as_ref().is_some_and(has_parts)
                && *below.unwrap_or(&holders.what) == link.name
        };
        let shown = links.iter().enumerate().filter(|(number, link)| {
            let is_named = !link.is_objects() || link.name.is_some() || is_container(link);
            *number == last || is_named && !is_same(*number, link)
        });
        let mut shown: Vec<&HolderLink> = shown.map(|(_, link)| link).collect();
        // What is above the container is only counted, if it is much.
        let first = shown.iter().position(|link| is_container(link));
        let first = first.map_or(1, |container| container + 1).max(2);
        let between = (shown.len() - 1).saturating_sub(first);
        if between > 1 {
            shown.drain(first..first + between);
        }
        let (mut words, others) = held_by(links.first()?, holders.what.as_deref());
        for (number, link) in shown.iter().enumerate() {
            if let Some(below) = number.checked_sub(1).map(|below| shown[below]) {
                let is_last = number + 1 == shown.len();
                let and = if is_last { ", and " } else { ", " };
                let those = if below.count > 1 { "those" } else { "that" };
                let through = match is_last && between > 1 {
                    true => format!(", through {} more,", count(between as u64)),
                    false => String::new(),
                };
                words = words.say(format!("{and}{those}{through} by "));
            }
            words = self.link(words, link);
            let Some(blame) = &link.blame else { continue };
            let is_shown = place == Some(&blame.words());
            if !is_container(link) || is_shown {
                // What has no type is told by the function that allocates it, as all of C's.
                let function = blame.at.as_ref().filter(|_| link.name.is_none());
                words = match function {
                    Some(at) => words.say(" of ").quote(&at.function),
                    None => words,
                };
            } else {
                let is_filled = link.count == 1
                    && !link.is_fixed
                    && link.name.as_deref().is_some_and(has_elements);
                let made = if is_filled { "filled" } else { "made" };
                words = words
                    .say(format!(" ({made} in "))
                    .join(blame.words())
                    .say(")");
            }
        }
        words = self.or_stack(words, holders);
        Some(others.into_iter().fold(words, Words::say))
    }

    /// Adds the stack that may be the root in place of the one that is told.
    fn or_stack(&self, words: Words, holders: &Holders) -> Words {
        match &holders.also {
            Some(stack) if stack.kind == LinkKind::Stack => self
                .link(words.say(" or "), stack)
                .say(" (one of them may have only a ")
                .quote("Weak")
                .say(")"),
            _ => words,
        }
    }

    /// Returns another container that has to let go as well, if the reader's own code fills it.
    fn also(&self, holders: &Holders) -> Option<Words> {
        let link = holders.also.as_ref()?;
        let blame = link.blame.as_ref()?;
        let line = blame.own_line()?;
        let links = &holders.chain;
        let of_chain = container(links).and_then(|link| link.blame.as_ref()?.own_line());
        // Two that one call of a dependency fills are parts of one of its own.
        if of_chain == Some(line) && blame.caller.is_some() {
            return None;
        }
        let held = match link.holds >= link.of / 10 * 9 {
            true => "also held by ".to_owned(),
            false => format!("{} of {} are held by ", count(link.holds), count(link.of)),
        };
        let words = self.link(Words::default().say(held), link);
        let made = if link.is_fixed { "made" } else { "filled" };
        Some(words.say(format!(", {made} in ")).join(blame.words()))
    }

    fn link(&self, words: Words, link: &HolderLink) -> Words {
        let report: &Report = self.report;
        let named = |words: Words, what: &str, without: &str| match &link.name {
            Some(name) => words.say(format!("{what} ")).quote(name),
            None => words.say(without.to_owned()),
        };
        match link.kind {
            LinkKind::Objects => things(words, link.count, link.name.as_deref()),
            LinkKind::Tasks | LinkKind::EndedTasks => {
                let not = if link.kind == LinkKind::Tasks {
                    "not "
                } else {
                    ""
                };
                let words = match link.count {
                    1 => words.say(format!("a task that has {not}ended")),
                    many => words.say(format!("{} tasks that have {not}ended", count(many))),
                };
                match &link.name {
                    Some(name) => words.say(" (").quote(name).say(")"),
                    None => words,
                }
            }
            LinkKind::State => words.say(match report.run.benchmark {
                Some(_) => "what the benchmark's function has",
                None => "what the scenario has set up",
            }),
            LinkKind::Static => named(words, "the static", "a static"),
            LinkKind::ThreadLocal => named(words, "the thread-local", "a thread-local"),
            LinkKind::Mapped => words.say("memory outside the allocator"),
            LinkKind::Stack => named(words, "the stack of the thread", "the stack of a thread"),
        }
    }
}

/// Returns what to do, where it is not the reader's own rules that say when something ends.
fn to_do(end: ChainEnd) -> Option<&'static str> {
    match end {
        ChainEnd::Lost => Some(
            "look for `mem::forget`, `into_raw` or `leak` without its counterpart, or a missed \
             `free`",
        ),
        ChainEnd::Cycle => Some("a `Weak` for the reference back cuts the cycle"),
        ChainEnd::Root | ChainEnd::Deeper | ChainEnd::Unsure => None,
    }
}

/// Adds `1,000 of 1,000 Arc<Session>`, or `the object`.
fn of(words: Words, holders: &Holders) -> Words {
    match (holders.objects, holders.of) {
        (1, 1) => words.say("the object"),
        (objects, of) => {
            let words = words.say(format!("{} of {} ", count(objects), count(of)));
            several(words, holders.what.as_deref())
        }
    }
}

/// Says how many of the objects the first holder holds, and what is said of the others behind the
/// chain.
fn held_by(first: &HolderLink, what: Option<&str>) -> (Words, Option<&'static str>) {
    let (holds, of) = (first.holds, first.of);
    let is_nearly_all = |objects: u64| objects >= of / 10 * 9;
    if is_nearly_all(holds) {
        return (Words::default().say("held by "), None);
    }
    let words = Words::default().say(format!("{} of {}", count(holds), count(of)));
    let words = match what {
        Some(_) => several(words.say(" "), what),
        None => words,
    };
    let is = if holds == 1 { "is" } else { "are" };
    let words = words.say(format!(" {is} held by "));
    let others = is_nearly_all(holds.saturating_add(first.through));
    let others = others.then_some(match holds {
        1 => "; through it, the others",
        _ => "; through these, the others",
    });
    (words, others)
}

/// Returns whether a type is made of elements that are put into it.
fn has_elements(name: &str) -> bool {
    !["Arc", "Rc", "Box"].iter().any(|one| name.starts_with(one))
}

/// Adds how many things of a type these are.
fn things(words: Words, number: u64, name: Option<&str>) -> Words {
    match number {
        1 => self::name(words, name),
        _ => several(words.say(format!("{} ", count(number))), name),
    }
}

/// Adds what several things of a type are called.
fn several(words: Words, name: Option<&str>) -> Words {
    match name {
        Some("buffer") => words.say("buffers"),
        Some(name) => match parts_of(name) {
            Some(parts) => words.say(format!("{parts} of ")).quote(name),
            None => words.quote(name),
        },
        None => words.say("objects"),
    }
}

/// Returns what the objects are called that a container is made of. `None` if it is one object.
fn parts_of(name: &str) -> Option<&'static str> {
    let parts = PARTS.iter().find(|(of, _)| name.starts_with(of));
    parts.map(|(_, parts)| *parts)
}

/// Adds the name of a type with its article.
fn name(words: Words, name: Option<&str>) -> Words {
    match name {
        Some(name) if name.starts_with(['A', 'E', 'I', 'O', 'U']) || name.starts_with("Rc<") => {
            words.say("an ").quote(name)
        }
        Some(name) => words.say("a ").quote(name),
        None => words.say("an object"),
    }
}
