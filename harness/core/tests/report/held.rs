//! Who holds what grows, in words.

use plimsoll_core::Rate;
use plimsoll_core::blame::Blame;
use plimsoll_core::holders::{BackReference, ChainEnd, HolderLink, Holders, LinkKind};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::Cause;
use plimsoll_core::report::{Finding, Report};

use crate::sample::{blame, finding, in_a_map, link, report};

const RATE: Rate = Rate {
    objects: 1.0,
    bytes: 48.0,
};

/// What grows at that place, and is held like this.
fn held(function: &str, holders: Holders) -> Finding {
    Finding {
        blame: Some(blame(function, 12)),
        holders: Some(holders),
        ..finding(&format!("main {function}"), RATE)
    }
}

fn of(findings: Vec<Finding>) -> Report {
    Report {
        findings,
        ..report("r1", "open", Verdict::Regressed)
    }
}

/// Sessions at the end of such a chain, see [`parsed`].
fn ending(links: &str, end: ChainEnd) -> Holders {
    Holders {
        chain: links
            .split(" < ")
            .filter(|one| !one.is_empty())
            .map(parsed)
            .collect(),
        end,
        ..in_a_map()
    }
}

/// A link as text: its kind, or how many objects it is; its name; the place that fills it. What it
/// holds may follow the number, and what that leads to: `1:40+60 Box<Node> @ store::open:9`.
fn parsed(text: &str) -> HolderLink {
    let (text, place) = text.split_once(" @ ").unwrap_or((text, ""));
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    let (kind, through) = kind.split_once('+').unwrap_or((kind, "0"));
    let (kind, holds) = kind.split_once(':').unwrap_or((kind, "100"));
    let number = |text: &str| text.parse().expect("a number");
    let of_tasks = |kind: LinkKind, count: &str| link(kind, name, number(count));
    let link = match kind {
        "static" => link(LinkKind::Static, name, 1),
        "local" => link(LinkKind::ThreadLocal, name, 1),
        "stack" => link(LinkKind::Stack, name, 1),
        "state" => link(LinkKind::State, name, 1),
        kind => match (kind.strip_suffix('t'), kind.strip_suffix('e')) {
            (Some(count), _) => of_tasks(LinkKind::Tasks, count),
            (_, Some(count)) => of_tasks(LinkKind::EndedTasks, count),
            _ => of_tasks(LinkKind::Objects, kind),
        },
    };
    let place = place.rsplit_once(':');
    let line = |line: &str| line.parse().expect("a line");
    HolderLink {
        name: link.name.filter(|name| !name.is_empty()),
        holds: number(holds),
        through: number(through),
        blame: place.map(|(function, number)| blame(function, line(number))),
        ..link
    }
}

#[test]
fn every_end_has_its_words() {
    use ChainEnd::{Cycle, Deeper, Lost, Root, Unsure};

    let shards = Holders {
        what: Some("DashMap<u64, u8>".to_owned()),
        of: 1,
        ..ending("1 DashMap<u64, u8> < static app::ALL", Root)
    };
    let cycle = Holders {
        cycle: Some(BackReference {
            from: Some("Rc<Child>".to_owned()),
            to: Some("Arc<Session>".to_owned()),
        }),
        ..ending("100 Rc<Child>", Cycle)
    };
    for (holders, words) in [
        (
            in_a_map(),
            "held by a HashMap<u64, Arc<Session>> (filled in store::open at src/store.rs:9), and that \
             by the static app::SESSIONS",
        ),
        (
            ending("50 Box<Page> < 1:1+99 @ pcache_create:30", Deeper),
            "held by 50 Box<Page>, and those by an object of pcache_create, and so on",
        ),
        (
            ending("1 < local app::SEEN", Root),
            "held by an object, and that by the thread-local app::SEEN",
        ),
        (
            ending("1:40 HashMap<u64, u8> < local app::SEEN", Root),
            "40 of 100 Arc<Session> are held by a HashMap<u64, u8>, and that by the thread-local app::SEEN",
        ),
        (
            ending("1:40+60 HashMap<u64, u8> < local app::SEEN", Root),
            "40 of 100 Arc<Session> are held by a HashMap<u64, u8>, and that by the thread-local app::SEEN; \
             through these, the others",
        ),
        (
            ending("40 BTreeMap<u64, u8> < 9 buffer < local app::SEEN", Root),
            "held by 40 nodes of BTreeMap<u64, u8>, those by 9 buffers, and those by the thread-local \
             app::SEEN",
        ),
        (
            ending(
                "90 Vec<u8> < 20 BTreeMap<u64, u8> < 4 BTreeMap<u64, u8> < 1 Arc<Registry> < static app::ALL",
                Root,
            ),
            "held by 90 Vec<u8>, those by 20 nodes of BTreeMap<u64, u8>, those by an Arc<Registry>, and \
             that by the static app::ALL",
        ),
        (shards, "a DashMap<u64, u8>, held by the static app::ALL"),
        (
            ending(
                "90 Vec<u8> < 2 HashMap<u64, Vec<u8>> < 2 Box<Tenant> < 1 HashMap<u64, Box<Tenant>> < static app::ALL",
                Root,
            ),
            "held by 90 Vec<u8>, those by 2 HashMap<u64, Vec<u8>>, and those, through 2 more, by the \
             static app::ALL",
        ),
        (
            ending("100e a future of serve", Deeper),
            "held by 100 tasks that have ended (a future of serve), and so on",
        ),
        (
            ending("100t serve", Root),
            "held by 100 tasks that have not ended (serve)",
        ),
        (
            ending("9 Box<Node>", Deeper),
            "held by 9 Box<Node>, and so on",
        ),
        (
            ending("", Lost),
            "lost: no other live object, static, thread-local or stack points to 100 of 100 Arc<Session>",
        ),
        (
            ending("9 Box<Node>", Lost),
            "held by 9 Box<Node>, which are lost: no other live object, static, thread-local or stack \
             points to them",
        ),
        (
            cycle,
            "a cycle: 100 of 100 Arc<Session> are held by each other alone, and an Rc<Child> points back \
             to an Arc<Session>",
        ),
        (
            ending("stack worker", Unsure),
            "lost, or nearly: to 100 of 100 Arc<Session>, only a word on the stack of the thread worker \
             leads, which may be left over from an earlier call",
        ),
    ] {
        let objects = match holders.of {
            1 => "100 shards of DashMap<u64, u8>",
            _ => "100 Arc<Session>",
        };
        let report = of(vec![held("store::session", holders)]);
        let said = report.findings[0].holder(&report).unwrap();
        assert_eq!(said.plain(), words);
        // The place of a cause is where the map is filled, and is not said twice.
        let lines = lines(&report);
        let is_said = |line: &String| words.starts_with(line.split(',').next().unwrap_or_default());
        assert!(lines.iter().any(is_said), "{words:?} in {lines:#?}");
        let drawn = causes(&report)[0].chain_down();
        assert_eq!(drawn.last().unwrap().what.plain(), objects);
    }
}

/// The entries of all findings.
fn causes(report: &Report) -> Vec<Cause<'_>> {
    report.causes(&report.findings.iter().collect::<Vec<_>>())
}

/// What is said of who holds the first of them.
fn lines(report: &Report) -> Vec<String> {
    let held = causes(report)[0].held();
    held.iter().map(|line| line.plain()).collect()
}

/// Which findings are one entry: how many there are, and the place of the first.
#[test]
fn what_one_thing_holds_is_one_entry() {
    let root = ChainEnd::Root;
    let map = "1 HashMap<u64, Arc<Session>> @ store::open:9 < static app::SESSIONS";
    let other_map = ending("1 HashMap<u64, Arc<Session>> @ store::index:30", root);
    // The name of a session is held by the session, and that by the map.
    let name = Holders {
        what: Some("Vec<u8>".to_owned()),
        ..ending(&format!("100 Arc<Session> < {map}"), root)
    };
    let lost = || ending("", ChainEnd::Lost);
    // The container itself grows, too. Its function has less of its name in the first run.
    let grows = Holders {
        what: Some("HashMap<u64, Arc<Session>>".to_owned()),
        of: 1,
        objects: 1,
        ..ending("static app::SESSIONS", root)
    };
    // One function makes the objects of both maps, and others put them there.
    for (place, holders, entries) in [("store::session", other_map.clone(), 2), ("open", grows, 1)]
    {
        let first = held("store::session", in_a_map());
        let report = of(vec![first, held(place, holders)]);
        assert_eq!(causes(&report).len(), entries, "{place}");
    }
    for (first, second, entries, place) in [
        (in_a_map(), name, 1, "store::open"),
        (in_a_map(), in_a_map(), 1, "store::open"),
        (in_a_map(), other_map, 2, "store::open"),
        (in_a_map(), lost(), 2, "store::open"),
        (lost(), lost(), 2, "store::session"),
    ] {
        let findings = vec![held("store::session", first), held("store::name", second)];
        let report = of(findings);
        let causes = causes(&report);
        assert_eq!(causes.len(), entries);
        let of_first = causes[0].place().unwrap().plain();
        assert!(of_first.starts_with(place), "{of_first}");
    }
}

#[test]
fn the_place_is_what_a_fix_changes() {
    let all = |links| ending(links, ChainEnd::Root);
    let one = Holders {
        of: 1,
        objects: 1,
        ..all("1 Box<Store> @ store::open:9 < state")
    };
    for (holders, place) in [
        (all("1 Vec<u8> @ store::open:9 < state"), "store::open"),
        // A list: what has its head was made long ago.
        (
            all("1:1+99 Box<Queue> @ store::open:9 < state"),
            "store::session",
        ),
        // What is in the nodes of a list.
        (
            all("100 Box<Node> @ store::open:9 < 1:1+99 Box<Queue> @ store::open:9 < state"),
            "store::open",
        ),
        // The container itself, which grows.
        (one, "store::session"),
        // One task that works with them all, and as many tasks as objects.
        (
            all("1 Vec<u8> @ store::open:9 < 1t a future of serve @ store::spawn:20"),
            "store::open",
        ),
        (
            all("100t a future of serve @ store::spawn:20"),
            "store::spawn",
        ),
        (all("state"), "store::session"),
    ] {
        let report = of(vec![held("store::session", holders.clone())]);
        let said = causes(&report)[0].place().unwrap().plain();
        assert!(said.starts_with(place), "{said} for {holders:#?}");
    }
}

#[test]
fn a_container_that_grows_has_its_name() {
    for (of_these, words) in [
        (1, "a Vec<u64>, held by the static app::SESSIONS"),
        (8, "8 Vec<u64>, held by the static app::SESSIONS"),
    ] {
        let holders = Holders {
            what: Some("Vec<u64>".to_owned()),
            of: of_these,
            objects: of_these,
            ..ending("static app::SESSIONS", ChainEnd::Root)
        };
        let mut finding = held("store::session", holders);
        finding.rate.objects = 0.0;
        let report = of(vec![finding]);
        let said = report.findings[0].holder(&report).unwrap();
        assert_eq!(said.plain(), words);
    }
}

#[test]
fn only_a_weak_is_said_first() {
    let weak = Holders {
        weak: 100,
        ..in_a_map()
    };
    let lines = lines(&of(vec![held("store::session", weak)]));
    assert!(lines[1].starts_with("only a `Weak` keeps"), "{lines:#?}");
}

#[test]
fn both_containers_have_to_let_go() {
    let cached = |line| {
        let caller = blame("store::open", line).at;
        Blame {
            caller,
            ..blame("cache::Cache::insert", 300)
        }
    };
    let in_both = |of_map: Blame, of_list: Blame| {
        let mut holders = in_a_map();
        holders.chain[0].blame = Some(of_map);
        holders.also = Some(HolderLink {
            blame: Some(of_list),
            ..parsed("1 VecDeque<Arc<Session>>")
        });
        holders
    };
    // The list grows by itself.
    let grows = Finding {
        rate: Rate {
            objects: 0.0,
            bytes: 8.0,
        },
        ..held(
            "store::open_list",
            Holders {
                what: Some("VecDeque<Arc<Session>>".to_owned()),
                of: 1,
                objects: 1,
                ..ending("static app::ORDER", ChainEnd::Root)
            },
        )
    };
    let said = |of_map: Blame, of_list: Blame| {
        let growing = Finding {
            blame: Some(of_list.clone()),
            ..grows.clone()
        };
        let report = of(vec![
            held("session::new", in_both(of_map, of_list)),
            growing,
        ]);
        (causes(&report).len(), lines(&report)[1..].join("; "))
    };
    let map = "held by a HashMap<u64, Arc<Session>>, and that by the static app::SESSIONS";
    let also = "; also held by a VecDeque<Arc<Session>>, filled in store::open at src/store.rs:15";
    let filled = |line| blame("store::open", line);
    assert_eq!(said(filled(9), filled(15)), (1, format!("{map}{also}")));
    // As parts of one cache, which is filled by one call.
    assert_eq!(said(cached(9), cached(9)), (1, map.to_owned()));
}

#[test]
fn what_nothing_holds_is_no_cache_that_fills() {
    let fills = |end| {
        let holders = Holders { end, ..in_a_map() };
        let report = of(vec![held("session::new", holders)]);
        report.may_be_filling(&[&report.findings[0]]).is_some()
    };
    assert!(fills(ChainEnd::Root) && fills(ChainEnd::Deeper) && fills(ChainEnd::Unsure));
    assert!(!fills(ChainEnd::Lost) && !fills(ChainEnd::Cycle));
}
