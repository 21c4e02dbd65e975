//! Who holds what grows, in words.

use plimsoll_core::Rate;
use plimsoll_core::blame::Blame;
use plimsoll_core::holders::{BackReference, ChainEnd, HolderLink, Holders, LinkKind};
use plimsoll_core::judge::Verdict;
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

/// Sessions at the end of such a chain.
fn ending(chain: Vec<HolderLink>, end: ChainEnd) -> Holders {
    Holders {
        chain,
        end,
        ..in_a_map()
    }
}

fn objects(name: &str, count: u64) -> HolderLink {
    link(LinkKind::Objects, name, count)
}

#[test]
fn every_end_has_its_words() {
    let back = BackReference {
        from: Some("Rc<Child>".to_owned()),
        to: Some("Arc<Session>".to_owned()),
    };
    let cycle = Holders {
        cycle: Some(back),
        ..ending(vec![objects("Rc<Child>", 100)], ChainEnd::Cycle)
    };
    let nameless = HolderLink {
        name: None,
        ..objects("", 1)
    };
    let of_c = HolderLink {
        blame: Some(blame("pcache_create", 30)),
        holds: 1,
        through: 99,
        ..nameless.clone()
    };
    let half = HolderLink {
        holds: 40,
        ..objects("HashMap<u64, u8>", 1)
    };
    let list = HolderLink {
        through: 60,
        ..half.clone()
    };
    let stack = link(LinkKind::Stack, "worker", 1);
    let local = link(LinkKind::ThreadLocal, "app::SEEN", 1);
    for (holders, words) in [
        (
            in_a_map(),
            "held by a HashMap<u64, Arc<Session>> (filled in store::open at src/store.rs:9), and that \
             by the static app::SESSIONS",
        ),
        (
            ending(vec![objects("Box<Page>", 50), of_c], ChainEnd::Deeper),
            "held by 50 Box<Page>, and those by an object of pcache_create, and so on",
        ),
        (
            ending(vec![nameless, local.clone()], ChainEnd::Root),
            "held by an object, and that by the thread-local app::SEEN",
        ),
        (
            ending(vec![half, local.clone()], ChainEnd::Root),
            "40 of 100 Arc<Session> are held by a HashMap<u64, u8>, and that by the thread-local app::SEEN",
        ),
        (
            ending(vec![list, local.clone()], ChainEnd::Root),
            "40 of 100 Arc<Session> are held by a HashMap<u64, u8>, and that by the thread-local app::SEEN; \
             through these, the others",
        ),
        (
            ending(
                vec![
                    objects("BTreeMap<u64, u8>", 40),
                    objects("buffer", 9),
                    local,
                ],
                ChainEnd::Root,
            ),
            "held by 40 nodes of BTreeMap<u64, u8>, those by 9 buffers, and those by the thread-local \
             app::SEEN",
        ),
        (
            ending(
                vec![
                    objects("Vec<u8>", 90),
                    objects("BTreeMap<u64, u8>", 20),
                    objects("BTreeMap<u64, u8>", 4),
                    objects("Arc<Registry>", 1),
                    link(LinkKind::Static, "app::ALL", 1),
                ],
                ChainEnd::Root,
            ),
            "held by 90 Vec<u8>, those by 20 nodes of BTreeMap<u64, u8>, those by an Arc<Registry>, and \
             that by the static app::ALL",
        ),
        (
            Holders {
                what: Some("DashMap<u64, u8>".to_owned()),
                of: 1,
                ..ending(
                    vec![
                        objects("DashMap<u64, u8>", 1),
                        link(LinkKind::Static, "app::ALL", 1),
                    ],
                    ChainEnd::Root,
                )
            },
            "a DashMap<u64, u8>, held by the static app::ALL",
        ),
        (
            ending(
                vec![
                    objects("Vec<u8>", 90),
                    objects("HashMap<u64, Vec<u8>>", 2),
                    objects("Box<Tenant>", 2),
                    objects("HashMap<u64, Box<Tenant>>", 1),
                    link(LinkKind::Static, "app::ALL", 1),
                ],
                ChainEnd::Root,
            ),
            "held by 90 Vec<u8>, those by 2 HashMap<u64, Vec<u8>>, and those, through 2 more, by the \
             static app::ALL",
        ),
        (
            ending(
                vec![link(LinkKind::EndedTasks, "a future of serve", 100)],
                ChainEnd::Deeper,
            ),
            "held by 100 tasks that have ended (a future of serve), and so on",
        ),
        (
            ending(vec![link(LinkKind::Tasks, "serve", 100)], ChainEnd::Root),
            "held by 100 tasks that have not ended (serve)",
        ),
        (
            ending(vec![objects("Box<Node>", 9)], ChainEnd::Deeper),
            "held by 9 Box<Node>, and so on",
        ),
        (
            ending(Vec::new(), ChainEnd::Lost),
            "lost: no other live object, static, thread-local or stack points to 100 of 100 Arc<Session>",
        ),
        (
            ending(vec![objects("Box<Node>", 9)], ChainEnd::Lost),
            "held by 9 Box<Node>, which are lost: no other live object, static, thread-local or stack \
             points to them",
        ),
        (
            cycle,
            "a cycle: 100 of 100 Arc<Session> are held by each other alone, and an Rc<Child> points back \
             to an Arc<Session>",
        ),
        (
            ending(vec![stack], ChainEnd::Unsure),
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
        let causes = report.causes(&[&report.findings[0]]);
        let lines: Vec<String> = causes[0].held().iter().map(|line| line.plain()).collect();
        // The place of a cause is where the map is filled, and is not said twice.
        let is_said = |line: &String| words.starts_with(line.split(',').next().unwrap_or_default());
        assert!(lines.iter().any(is_said), "{words:?} in {lines:#?}");
        let drawn = causes[0].chain_down();
        assert_eq!(drawn.last().unwrap().what.plain(), objects);
    }
}

/// Which findings are one entry: how many there are, and the place of the first.
#[test]
fn what_one_thing_holds_is_one_entry() {
    let other_map = Holders {
        chain: vec![HolderLink {
            blame: Some(blame("store::index", 30)),
            ..objects("HashMap<u64, Arc<Session>>", 1)
        }],
        ..in_a_map()
    };
    // The name of a session is held by the session, and that by the map.
    let name = Holders {
        what: Some("Vec<u8>".to_owned()),
        chain: [objects("Arc<Session>", 100)]
            .into_iter()
            .chain(in_a_map().chain)
            .collect(),
        ..in_a_map()
    };
    let lost = || ending(Vec::new(), ChainEnd::Lost);
    // One function makes the objects of both, and others put them into two maps.
    let report = of(vec![
        held("store::session", in_a_map()),
        held("store::session", other_map.clone()),
    ]);
    assert_eq!(
        report
            .causes(&report.findings.iter().collect::<Vec<_>>())
            .len(),
        2
    );
    // The container itself grows, too. Its function has less of its name in the first run.
    let grows = Holders {
        what: Some("HashMap<u64, Arc<Session>>".to_owned()),
        of: 1,
        objects: 1,
        ..ending(
            vec![link(LinkKind::Static, "app::SESSIONS", 1)],
            ChainEnd::Root,
        )
    };
    let report = of(vec![
        held("store::session", in_a_map()),
        held("open", grows),
    ]);
    assert_eq!(
        report
            .causes(&report.findings.iter().collect::<Vec<_>>())
            .len(),
        1
    );
    for (first, second, entries, place) in [
        (in_a_map(), name, 1, "store::open"),
        (in_a_map(), in_a_map(), 1, "store::open"),
        (in_a_map(), other_map, 2, "store::open"),
        (in_a_map(), lost(), 2, "store::open"),
        (lost(), lost(), 2, "store::session"),
    ] {
        let findings = vec![held("store::session", first), held("store::name", second)];
        let report = of(findings);
        let causes = report.causes(&report.findings.iter().collect::<Vec<_>>());
        assert_eq!(causes.len(), entries);
        let of_first = causes[0].place().unwrap().plain();
        assert!(of_first.starts_with(place), "{of_first}");
    }
}

/// A container that is filled in `store::open`.
fn filled(name: &str, count: u64) -> HolderLink {
    HolderLink {
        blame: Some(blame("store::open", 9)),
        ..objects(name, count)
    }
}

#[test]
fn the_place_is_what_a_fix_changes() {
    let state = || link(LinkKind::State, "", 1);
    let head = HolderLink {
        holds: 1,
        through: 99,
        ..filled("Box<Queue>", 1)
    };
    let tasks = |count| HolderLink {
        blame: Some(blame("store::spawn", 20)),
        ..link(LinkKind::Tasks, "a future of serve", count)
    };
    let one = Holders {
        of: 1,
        objects: 1,
        ..ending(vec![filled("Box<Store>", 1), state()], ChainEnd::Root)
    };
    for (holders, place) in [
        (
            ending(vec![filled("Vec<u8>", 1), state()], ChainEnd::Root),
            "store::open",
        ),
        // A list: what has its head was made long ago.
        (
            ending(vec![head.clone(), state()], ChainEnd::Root),
            "store::session",
        ),
        // What is in the nodes of a list.
        (
            ending(
                vec![filled("Box<Node>", 100), head, state()],
                ChainEnd::Root,
            ),
            "store::open",
        ),
        // The container itself, which grows.
        (one, "store::session"),
        // One task that works with them all, and as many tasks as objects.
        (
            ending(vec![filled("Vec<u8>", 1), tasks(1)], ChainEnd::Root),
            "store::open",
        ),
        (ending(vec![tasks(100)], ChainEnd::Root), "store::spawn"),
        (ending(vec![state()], ChainEnd::Root), "store::session"),
    ] {
        let report = of(vec![held("store::session", holders.clone())]);
        let causes = report.causes(&[&report.findings[0]]);
        let said = causes[0].place().unwrap().plain();
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
            ..ending(
                vec![link(LinkKind::Static, "app::SESSIONS", 1)],
                ChainEnd::Root,
            )
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
    let report = of(vec![held("store::session", weak)]);
    let causes = report.causes(&[&report.findings[0]]);
    let lines: Vec<String> = causes[0].held().iter().map(|line| line.plain()).collect();
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
        let list = objects("VecDeque<Arc<Session>>", 1);
        Holders {
            also: Some(HolderLink {
                blame: Some(of_list),
                ..list
            }),
            ..holders
        }
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
                ..ending(
                    vec![link(LinkKind::Static, "app::ORDER", 1)],
                    ChainEnd::Root,
                )
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
        let causes = report.causes(&report.findings.iter().collect::<Vec<_>>());
        let lines = causes[0].held().into_iter().map(|words| words.plain());
        (
            causes.len(),
            lines.skip(1).collect::<Vec<String>>().join("; "),
        )
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
        let chain = in_a_map().chain;
        let report = of(vec![held("session::new", ending(chain, end))]);
        report.may_be_filling(&[&report.findings[0]]).is_some()
    };
    assert!(fills(ChainEnd::Root) && fills(ChainEnd::Deeper) && fills(ChainEnd::Unsure));
    assert!(!fills(ChainEnd::Lost) && !fills(ChainEnd::Cycle));
}
