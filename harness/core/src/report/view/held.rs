//! Who holds the objects of a cause.

use plimsoll_text::words::Words;

use super::Cause;
use crate::holders::{ChainEnd, HolderLink, Holders, LinkKind};
use crate::report::Report;
use crate::report::units::count;

impl Cause<'_> {
    /// Returns who holds its objects, and what to do: one to three sentences without full stops.
    /// Empty if nobody knows.
    pub fn held(&self) -> Vec<Words> {
        let known = self.findings.iter().filter_map(|one| one.holders.as_ref());
        // The largest group says most.
        let most = known.reduce(|a, b| if b.of > a.of { b } else { a });
        most.map_or_else(Vec::new, |holders| said(self.report, holders))
    }
}

fn said(report: &Report, holders: &Holders) -> Vec<Words> {
    let mut lines = Vec::new();
    if holders.weak > holders.of / 2 {
        lines.push(Words::default().say(
            "only a `Weak` keeps the memory: the value is dropped, and the allocation stays until \
             the last `Weak` goes",
        ));
    }
    let chain = chain(report, holders);
    match holders.end {
        ChainEnd::Root => lines.extend(chain),
        ChainEnd::Deeper => lines.extend(chain.map(|words| words.say(", and so on"))),
        ChainEnd::Lost => {
            let of = of(holders);
            let what = "no live object, static, thread-local or stack";
            lines.push(match chain {
                None => Words::default().say(format!("lost: {what} points to {of}")),
                Some(words) => words.say(format!(", and that is lost: {what} points to it")),
            });
            lines.push(Words::default().say(
                "look for `mem::forget`, `into_raw` or `leak` without its counterpart, or a missed \
                 `free`",
            ));
        }
        ChainEnd::Cycle => {
            let of = of(holders);
            let words = Words::default().say(format!("a cycle: {of} are held by nothing but "));
            lines.push(words.say("themselves and each other"));
            if let Some(back) = &holders.cycle {
                let name = |words: Words, name: &Option<String>| match name {
                    Some(name) => words.quote(name),
                    None => words.say("an object"),
                };
                let words = name(Words::default(), &back.from).say(" points back to ");
                let words = name(words, &back.to);
                lines.push(words.say(": a `Weak` in that place cuts the cycle"));
            }
        }
        ChainEnd::Unsure => {
            let of = of(holders);
            let words =
                Words::default().say(format!("lost, as far as can be told: to {of}, only "));
            let words = words.say("a word on ");
            let words = match holders.chain.last() {
                Some(last) => root(report, words, last),
                None => words.say("a stack"),
            };
            lines.push(words.say(" leads, which may be left over"));
        }
    }
    lines
}

/// Returns `1,000 of 1,000 objects`, or `the object`.
fn of(holders: &Holders) -> String {
    match (holders.objects, holders.of) {
        (1, 1) => "the object".to_owned(),
        (objects, of) => format!("{} of {} objects", count(objects), count(of)),
    }
}

/// Returns `held by a HashMap<u64, Arc<Session>>, which App::open fills at src/app.rs:13, and that
/// by the static app::SESSIONS`.
fn chain(report: &Report, holders: &Holders) -> Option<Words> {
    let first = holders.chain.first()?;
    // A container is a few objects that hold many.
    let is_container =
        |link: &&HolderLink| link.kind == LinkKind::Objects && link.count <= link.of / 4;
    let only = |link: &&HolderLink| link.kind == LinkKind::Objects;
    let container = holders.chain.iter().position(|link| is_container(&link));
    let container = container.or_else(|| holders.chain.iter().position(|link| only(&link)));
    let last = holders.chain.len() - 1;
    let mut words = Words::default();
    let mut is_first = true;
    let mut are_many = false;
    for (number, link) in holders.chain.iter().enumerate() {
        let is_named = link.kind != LinkKind::Objects || link.name.is_some();
        // What has no name is between others, and the workload's own closure is what was set up.
        let next = holders.chain.get(number + 1);
        let is_workload = number > 0
            && next.is_some_and(|next| next.kind == LinkKind::State)
            && link
                .name
                .as_ref()
                .is_some_and(|name| name.starts_with("Box<a closure"));
        if !is_named && Some(number) != container && number != last || is_workload {
            continue;
        }
        words = match (is_first, are_many) {
            (true, _) => held_by(words, first),
            (false, true) => words.say(", and those by "),
            (false, false) => words.say(", and that by "),
        };
        is_first = false;
        are_many = link.count > 1;
        words = root(report, words, link);
        if Some(number) == container
            && let Some(blame) = &link.blame
        {
            let made = if are_many {
                ", made in "
            } else {
                ", filled in "
            };
            words = words.say(made).join(blame.words());
        }
    }
    Some(words)
}

/// Says how many of the objects the first holder holds.
fn held_by(words: Words, first: &HolderLink) -> Words {
    let (holds, of) = (first.holds, first.of);
    match holds >= of / 10 * 9 {
        true => words.say("held by "),
        false => words.say(format!(
            "{} of {} are held by themselves, and the others by ",
            count(of.saturating_sub(holds)),
            count(of)
        )),
    }
}

fn objects(words: Words, link: &HolderLink) -> Words {
    match (link.count, &link.name) {
        (1, Some(name)) => words.say("a ").quote(name),
        (1, None) => words.say("an object"),
        (n, Some(name)) => words.say(format!("{} ", count(n))).quote(name),
        (n, None) => words.say(format!("{} objects", count(n))),
    }
}

fn root(report: &Report, words: Words, link: &HolderLink) -> Words {
    let named = |words: Words, what: &str, without: &str| match &link.name {
        Some(name) => words.say(format!("{what} ")).quote(name),
        None => words.say(without.to_owned()),
    };
    match link.kind {
        LinkKind::Objects => objects(words, link),
        LinkKind::Tasks => {
            let words = words.say(match link.count {
                1 => "a task that has not ended".to_owned(),
                n => format!("{} tasks that have not ended", count(n)),
            });
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
