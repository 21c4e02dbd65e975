//! Who holds the objects of a cause.

use plimsoll_text::words::Words;

use super::Cause;
use crate::Frame;
use crate::blame::Blame;
use crate::holders::{ChainEnd, HolderLink, Holders, LinkKind};
use crate::report::units::count;
use crate::report::{Finding, Report};

/// The most places of allocation that are named.
const MAX_PLACES: usize = 3;

/// A thing in a chain, told from others by its type and by where it is allocated.
#[derive(Clone, Copy, Debug)]
struct Thing<'a> {
    name: &'a str,
    blame: Option<&'a Blame>,
}

impl Thing<'_> {
    fn is(&self, other: &Thing<'_>) -> bool {
        let place = |blame: Option<&Blame>| {
            let function = |frame: &Option<Frame>| frame.as_ref().map(|one| one.function.clone());
            blame.map(|blame| (function(&blame.at), function(&blame.caller)))
        };
        self.name == other.name && place(self.blame) == place(other.blame)
    }
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
        }
    }

    fn is_objects(&self) -> bool {
        self.kind == LinkKind::Objects
    }

    /// Returns whether it is a container: a few objects that hold many.
    fn is_container(&self) -> bool {
        self.is_objects() && self.count <= self.of / 4
    }
}

/// Returns the links of a chain but for the box that the workload's own closure is in, which is
/// what the scenario has set up.
fn links(holders: &Holders) -> Vec<&HolderLink> {
    let is_workload = |link: &HolderLink, next: Option<&HolderLink>| {
        let is_closure = |name: &String| name.starts_with("Box<a closure");
        link.name.as_ref().is_some_and(is_closure)
            && next.is_some_and(|next| next.kind == LinkKind::State)
    };
    let chain = holders.chain.iter().enumerate();
    chain
        .filter(|(number, link)| !is_workload(link, holders.chain.get(number + 1)))
        .map(|(_, link)| link)
        .collect()
}

/// Returns the link that most depends on: a container, or the objects nearest to those that are
/// held.
fn container<'a>(links: &[&'a HolderLink]) -> Option<&'a HolderLink> {
    let mut objects = links.iter().filter(|link| link.is_objects());
    let container = objects.clone().find(|link| link.is_container());
    container.or_else(|| objects.next()).copied()
}

impl Finding {
    /// Returns where what a fix changes is allocated, if a line of the reader's own is known there:
    /// where a container is filled, or where an object is made that is lost.
    pub fn held_at(&self) -> Option<&Blame> {
        self.pivot()?.blame.filter(|blame| blame.has_line())
    }

    /// Returns who holds its objects, as one sentence without a full stop. `None` if nobody knows.
    pub fn holder(&self, report: &Report) -> Option<Words> {
        Cause::of(report, self).holder(self.holders.as_ref()?, None)
    }

    /// Returns whether its objects and those of another finding are held by the same thing, or one
    /// holds the other.
    pub(super) fn shares_holder(&self, other: &Finding) -> bool {
        let (Some(pivot), Some(others)) = (self.pivot(), other.pivot()) else {
            return false;
        };
        let holds = |one: &Finding, own: Option<Thing<'_>>| {
            let chain = one.holders.iter().flat_map(links);
            let mut things = chain
                .filter(|link| link.is_objects())
                .map(HolderLink::thing);
            own.is_some_and(|own| things.any(|thing| thing.is(&own)))
        };
        pivot.is(&others) || holds(self, other.own()) || holds(other, self.own())
    }

    /// Returns what its objects are, as something that may hold others.
    fn own(&self) -> Option<Thing<'_>> {
        Some(Thing {
            name: self.holders.as_ref()?.what.as_deref().unwrap_or_default(),
            blame: self.blame.as_ref(),
        })
    }

    /// Returns what a fix changes: the container that is filled, or the object that is lost. `None`
    /// if nobody knows who holds its objects.
    fn pivot(&self) -> Option<Thing<'_>> {
        let holders = self.holders.as_ref()?;
        let own = self.own()?;
        let links = links(holders);
        let last = links.last();
        let mut objects = links.iter().filter(|link| link.is_objects());
        Some(match holders.end {
            ChainEnd::Root | ChainEnd::Deeper => {
                let last = last?;
                match last.kind == LinkKind::Tasks {
                    true if last.blame.is_none() => own,
                    true => last.thing(),
                    // What is one object is the container.
                    false if holders.of == 1 => own,
                    false => container(&links).unwrap_or(last).thing(),
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
        let Some(holders) = self.holders() else {
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
        lines.extend(self.holder(holders, self.place().as_ref()));
        lines.extend(to_do(holders.end).map(|what| Words::default().say(what)));
        lines
    }

    /// Returns the chain of holders from the end of it down to the objects, as a picture has it. Empty
    /// if nobody knows who holds them.
    pub fn chain_down(&self) -> Vec<Node> {
        let Some(holders) = self.holders() else {
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
        let above = links(holders).into_iter().rev().map(|link| Node {
            what: self.link(Words::default(), link),
            bytes: link.bytes,
            place: link.blame.as_ref().map(Blame::words),
        });
        let what = Words::default().say(format!("{} ", count(holders.objects)));
        let of_these = |one: &&&Finding| one.holders.as_ref() == Some(holders);
        let objects = Node {
            what: match &holders.what {
                Some(name) => what.quote(name),
                None => what.say("objects"),
            },
            bytes: 0,
            place: self
                .findings
                .iter()
                .find(of_these)
                .and_then(|one| one.blamed()),
        };
        end.into_iter().chain(above).chain([objects]).collect()
    }

    /// Returns the longest chain, which names most of what is together; of equal ones, that of the
    /// largest group.
    fn holders(&self) -> Option<&Holders> {
        let known = self.findings.iter().filter_map(|one| one.holders.as_ref());
        known.max_by_key(|one| (links(one).len(), one.of))
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

    /// Returns who holds its objects, as a sentence without a full stop. `shown` is the place that
    /// the reader sees already.
    fn holder(&self, holders: &Holders, shown: Option<&Words>) -> Option<Words> {
        let said = |text: String| Words::default().say(text);
        let chain = self.chain(holders, shown);
        match holders.end {
            ChainEnd::Root => chain,
            ChainEnd::Deeper => chain.map(|words| words.say(", and so on")),
            ChainEnd::Lost => {
                let what = "no live object, static, thread-local or stack";
                Some(match chain {
                    None => said(format!("lost: {what} points to {}", of(holders))),
                    Some(words) => words.say(format!(", which are lost: {what} points to them")),
                })
            }
            ChainEnd::Cycle => {
                let of = of(holders);
                let words = said(format!("a cycle: {of} are held by each other alone"));
                Some(match &holders.cycle {
                    Some(back) => {
                        let words = name(words.say(", and "), back.from.as_deref());
                        name(words.say(" points back to "), back.to.as_deref())
                    }
                    None => words,
                })
            }
            ChainEnd::Unsure => {
                let words = said(format!(
                    "lost, or nearly: to {}, only a word on ",
                    of(holders)
                ));
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
        let links = links(holders);
        let container = container(&links);
        let last = links.len().checked_sub(1)?;
        let is_container = |link: &HolderLink| container.is_some_and(|one| std::ptr::eq(one, link));
        // What has no name is between others.
        let shown = links.iter().enumerate().filter(|(number, link)| {
            !link.is_objects() || link.name.is_some() || is_container(link) || *number == last
        });
        let shown: Vec<&HolderLink> = shown.map(|(_, link)| *link).collect();
        let mut words = held_by(links.first()?);
        for (number, link) in shown.iter().enumerate() {
            if let Some(below) = number.checked_sub(1).map(|below| shown[below]) {
                let and = if number + 1 == shown.len() {
                    ", and "
                } else {
                    ", "
                };
                let those = if below.count > 1 { "those" } else { "that" };
                words = words.say(format!("{and}{those} by "));
            }
            words = self.link(words, link);
            if let Some(blame) = link.blame.as_ref().filter(|_| is_container(link))
                && place != Some(&blame.words())
            {
                let made = if link.count > 1 { "made" } else { "filled" };
                words = words
                    .say(format!(" ({made} in "))
                    .join(blame.words())
                    .say(")");
            }
        }
        Some(words)
    }

    fn link(&self, words: Words, link: &HolderLink) -> Words {
        let report: &Report = self.report;
        let named = |words: Words, what: &str, without: &str| match &link.name {
            Some(name) => words.say(format!("{what} ")).quote(name),
            None => words.say(without.to_owned()),
        };
        let many = |words: Words| words.say(format!("{} ", count(link.count)));
        match link.kind {
            LinkKind::Objects => match (link.count, &link.name) {
                (1, name) => self::name(words, name.as_deref()),
                (_, Some(name)) => many(words).quote(name),
                (_, None) => many(words).say("objects"),
            },
            LinkKind::Tasks => {
                let words = match link.count {
                    1 => words.say("a task that has not ended"),
                    _ => many(words).say("tasks that have not ended"),
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

/// Returns `1,000 of 1,000 objects`, or `the object`.
fn of(holders: &Holders) -> String {
    match (holders.objects, holders.of) {
        (1, 1) => "the object".to_owned(),
        (objects, of) => format!("{} of {} objects", count(objects), count(of)),
    }
}

/// Says how many of the objects the first holder holds.
fn held_by(first: &HolderLink) -> Words {
    let (holds, of) = (first.holds, first.of);
    Words::default().say(match holds >= of / 10 * 9 {
        true => "held by ".to_owned(),
        false => format!(
            "{} of {} are held by themselves, and the others by ",
            count(of.saturating_sub(holds)),
            count(of)
        ),
    })
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
