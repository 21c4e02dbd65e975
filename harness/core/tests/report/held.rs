//! Who holds what grows, in words.

use plimsoll_core::blame::Blame;
use plimsoll_core::holders::{BackReference, ChainEnd, HolderLink, Holders, LinkKind};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::view::Cause;
use plimsoll_core::report::{Finding, Report};

use crate::sample::{blame, finding, in_a_map, link, report};
use crate::samples::rate_of;

/// What grows at that place, and is held like this.
fn held(function: &str, holders: Holders) -> Finding {
    Finding {
        blame: Some(blame(function, 12)),
        holders: Some(holders),
        ..finding(&format!("main {function}"), rate_of(1.0, 48.0))
    }
}

fn of(findings: Vec<Finding>) -> Report {
    Report {
        findings,
        ..report("r1", "open", Verdict::Regressed)
    }
}

/// Sessions at the end of a chain of links, see [`parsed`], from which a word may follow: `lost`.
fn chain(text: &str) -> Holders {
    let links: Vec<&str> = text.split(" < ").collect();
    let (end, links) = match links.split_last() {
        Some((&"cycle", links)) => (ChainEnd::Cycle, links),
        Some((&"deeper", links)) => (ChainEnd::Deeper, links),
        Some((&"lost", links)) => (ChainEnd::Lost, links),
        Some((&"unsure", links)) => (ChainEnd::Unsure, links),
        _ => (ChainEnd::Root, links.as_slice()),
    };
    let back = BackReference {
        from: Some("Rc<Child>".to_owned()),
        to: Some("Arc<Session>".to_owned()),
    };
    Holders {
        chain: links.iter().map(|text| parsed(text)).collect(),
        end,
        cycle: (end == ChainEnd::Cycle).then_some(back),
        ..in_a_map()
    }
}

/// Containers that grow, and who holds them.
fn containers(what: &str, of: u64, text: &str) -> Holders {
    Holders {
        what: Some(what.to_owned()),
        of,
        objects: of,
        ..chain(text)
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
    let kinds = [
        ("static", LinkKind::Static),
        ("local", LinkKind::ThreadLocal),
        ("stack", LinkKind::Stack),
        ("state", LinkKind::State),
        ("t", LinkKind::Tasks),
        ("e", LinkKind::EndedTasks),
        ("", LinkKind::Objects),
    ];
    let of = |(word, of): (&str, LinkKind)| Some((kind.strip_suffix(word)?, of));
    let (count, kind) = kinds.into_iter().find_map(of).expect("a kind");
    let link = link(kind, name, count.parse().unwrap_or(1));
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

/// Chains, and what is said of each.
#[test]
fn every_end_has_its_words() {
    let shards = Holders {
        objects: 100,
        ..containers(
            "DashMap<u64, u8>",
            1,
            "1 DashMap<u64, u8> < static app::ALL",
        )
    };
    let of_static = |of| containers("Vec<u64>", of, "static app::SESSIONS");
    let rows = include_str!("held.txt").trim_end().split("\n\n");
    let rows = rows.map(|row| row.split_once('\n').unwrap());
    let rows = rows.map(|(text, words)| (chain(text), "100 Arc<Session>", words));
    for (holders, objects, words) in rows.chain([
        (
            shards,
            "100 shards of DashMap<u64, u8>",
            "a DashMap<u64, u8>, held by the static app::ALL",
        ),
        (
            of_static(1),
            "1 Vec<u64>",
            "a Vec<u64>, held by the static app::SESSIONS",
        ),
        (
            of_static(8),
            "8 Vec<u64>",
            "8 Vec<u64>, held by the static app::SESSIONS",
        ),
    ]) {
        // A container grows without further objects.
        let objects_grow = holders.of == 100;
        let may_be_cache = !matches!(holders.end, ChainEnd::Lost | ChainEnd::Cycle);
        let mut finding = held("store::session", holders);
        finding.rate.objects = if objects_grow { 1.0 } else { 0.0 };
        let report = of(vec![finding]);
        let said = report.findings[0].holder(&report).unwrap();
        assert_eq!(said.plain(), words);
        let is_filling = report.may_be_filling(&[&report.findings[0]]).is_some();
        assert_eq!(is_filling, may_be_cache, "{words}");
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
    let map = || chain("1 HashMap<u64, Arc<Session>> @ store::open:9 < static app::SESSIONS");
    let other_map = || chain("1 HashMap<u64, Arc<Session>> @ store::index:30");
    let lost = || chain("lost");
    // The name of a session is held by the session, and that by the map.
    let name = Holders {
        what: Some("Vec<u8>".to_owned()),
        chain: [vec![parsed("100 Arc<Session>")], map().chain].concat(),
        ..map()
    };
    // The container itself grows, too. Its function has less of its name in the first run.
    let grows = containers("HashMap<u64, Arc<Session>>", 1, "static app::SESSIONS");
    for (first, function, second, entries, place) in [
        (map(), "open", grows, 1, "store::open"),
        // One function makes the objects of both maps, and others put them there.
        (map(), "store::session", other_map(), 2, "store::open"),
        (map(), "store::name", name, 1, "store::open"),
        (map(), "store::name", map(), 1, "store::open"),
        (map(), "store::name", other_map(), 2, "store::open"),
        (map(), "store::name", lost(), 2, "store::open"),
        (lost(), "store::name", lost(), 2, "store::session"),
    ] {
        let report = of(vec![held("store::session", first), held(function, second)]);
        let causes = causes(&report);
        assert_eq!(causes.len(), entries, "{function}");
        let of_first = causes[0].place().unwrap().plain();
        assert!(of_first.starts_with(place), "{of_first}");
    }
}

#[test]
fn the_place_is_what_a_fix_changes() {
    // This is the container itself, which grows.
    let one = containers("Arc<Session>", 1, "1 Box<Store> @ store::open:9 < state");
    let rows = [
        ("1 Vec<u8> @ store::open:9 < state", "store::open"),
        // A list: what has its head was made long ago.
        (
            "1:1+99 Box<Queue> @ store::open:9 < state",
            "store::session",
        ),
        // What is in the nodes of a list.
        (
            "100 Box<Node> @ store::open:9 < 1:1+99 Box<Queue> @ store::open:9 < state",
            "store::open",
        ),
        // One task that works with them all, and as many tasks as objects.
        (
            "1 Vec<u8> @ store::open:9 < 1t a future of serve @ store::spawn:20",
            "store::open",
        ),
        ("100t a future of serve @ store::spawn:20", "store::spawn"),
        ("state", "store::session"),
    ]
    .map(|(text, place)| (chain(text), place));
    for (holders, place) in rows.into_iter().chain([(one, "store::session")]) {
        let report = of(vec![held("store::session", holders)]);
        let said = causes(&report)[0].place().unwrap().plain();
        assert!(said.starts_with(place), "{said}: {report:?}");
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
    let list = containers("VecDeque<Arc<Session>>", 1, "static app::ORDER");
    let mut grows = held("store::open_list", list);
    (grows.rate.objects, grows.rate.bytes) = (0.0, 8.0);
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
