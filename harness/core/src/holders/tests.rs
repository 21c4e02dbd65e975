use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const SIZE: u64 = 64;

/// A heap that is written down: `a b` are objects, `a -> b` is a reference.
///
/// An object is a group's name and its number: `session7`. Numbers on both sides of an arrow may be
/// `#`, which stands for 0 to 99. A word that is a number is written as `a -> =1`.
#[derive(Default)]
struct Heap {
    groups: Vec<String>,
    objects: BTreeMap<String, (u64, u32)>,
    references: Vec<(String, String)>,
}

impl Heap {
    fn parse(text: &str) -> Heap {
        let mut heap = Heap::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let numbers = if line.contains('#') { 100 } else { 1 };
            for number in 0..numbers {
                let number: i32 = number;
                let line = line
                    .replace("#+1", &((number + 1) % 100).to_string())
                    .replace('#', &number.to_string());
                let ends: Vec<&str> = line.split("->").map(str::trim).collect();
                for end in &ends {
                    heap.add(end);
                }
                for pair in ends.windows(2) {
                    heap.references
                        .push((pair[0].to_owned(), pair[1].to_owned()));
                }
            }
        }
        heap
    }

    fn add(&mut self, name: &str) {
        if name.starts_with(['<', '=']) {
            return;
        }
        let group = name.trim_end_matches(char::is_numeric).to_owned();
        let rank = match self.groups.iter().position(|known| *known == group) {
            Some(rank) => rank,
            None => {
                self.groups.push(group);
                self.groups.len() - 1
            }
        };
        let address = 0x10_0000 + 0x4000 * self.objects.len() as u64;
        let object = (address, u32::try_from(rank).unwrap());
        self.objects.entry(name.to_owned()).or_insert(object);
    }

    fn root(name: &str) -> Root {
        match name {
            "<state>" => Root::State,
            "<stack>" => Root::Stack(0),
            _ => Root::Static(7),
        }
    }

    fn graph(&self) -> Graph {
        let objects = self.objects.values().map(|(address, group)| Object {
            address: *address,
            bytes: SIZE,
            group: *group,
            is_early: false,
        });
        let mut scan = Scan::new(objects.collect());
        let mut memory: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (from, to) in &self.references {
            // Into the middle, as a pointer behind the counts of an `Arc`.
            let to = match to.strip_prefix('=') {
                Some(number) => number.parse().unwrap(),
                None => self.objects[to].0 + 16,
            };
            match self.objects.get(from) {
                Some((from, _)) => memory.entry(*from).or_default().push(to),
                None => {
                    let mut found = None;
                    scan.each(&to.to_ne_bytes(), |_, word| found = Some(word));
                    scan.word(Heap::root(from), found.unwrap());
                }
            }
        }
        for (number, object) in scan.objects().to_vec().into_iter().enumerate() {
            let words = memory.get(&object.address).cloned().unwrap_or_default();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            scan.object(number, 0, &bytes);
        }
        scan.finish().unwrap()
    }

    fn held(&self, group: &str) -> Held {
        let graph = self.graph();
        let of_group = |object: &Object| self.groups[object.group as usize] == group;
        let numbers = (0..).zip(graph.objects()).filter(|(_, one)| of_group(one));
        let numbers: Vec<usize> = numbers.map(|(number, _)| number).collect();
        graph.held(&numbers, &|group| self.traits(group))
    }

    /// By names such as `map_weak`, `rc` and `vec`.
    fn traits(&self, group: u32) -> Traits {
        let name = &self.groups[group as usize];
        Traits {
            is_counted: name.starts_with("rc"),
            may_be_counted: name.starts_with("any"),
            is_container: name.starts_with("vec"),
            has_weak: name.ends_with("_weak"),
        }
    }

    /// Says what a chain is, in a line.
    fn said(&self, group: &str) -> String {
        let held = self.held(group);
        let name = |group: u32| self.groups[group as usize].clone();
        let links = held.links.iter().map(|link| {
            let holder = match link.holder {
                Holder::Objects(group) => format!("{} {}", link.count, name(group)),
                Holder::Root(root) => format!("{root:?}"),
            };
            format!("{} of {} by {holder}", link.holds, link.of)
        });
        let end = match held.end {
            End::Root => "root".to_owned(),
            End::Lost { of_asked } => format!("lost {of_asked}"),
            End::Cycle { of_asked, from, to } => {
                let (from, to) = (name(from), name(to));
                format!("cycle {of_asked} by {from} to {to}")
            }
            End::Unsure { of_asked } => format!("unsure {of_asked}"),
            End::Deeper => "deeper".to_owned(),
        };
        links.chain([end]).collect::<Vec<_>>().join(", ")
    }
}

fn unknown(_: u32) -> Traits {
    Traits::default()
}

#[test]
fn chains() {
    for (what, heap, of, expected) in [
        (
            "a map whose entries are not removed",
            "<state> -> closure -> table\n table -> session#\n session# -> name#",
            "session",
            "100 of 100 by 1 table, 1 of 1 by 1 closure, 1 of 1 by State, root",
        ),
        (
            "what its entries hold",
            "<state> -> closure -> table\n table -> session#\n session# -> name#",
            "name",
            "100 of 100 by 100 session, 100 of 100 by 1 table, 1 of 1 by 1 closure, 1 of 1 by \
             State, root",
        ),
        (
            "forgotten",
            "<state> -> closure\n session#",
            "session",
            "lost 100",
        ),
        (
            "what a forgotten object holds",
            "<state> -> closure\n session# -> name#",
            "name",
            "100 of 100 by 100 session, lost 100",
        ),
        ("a forgotten list", "node# -> node#+1\n", "node", "lost 100"),
        (
            "a list whose head is older than what is asked for",
            "<static> -> cache -> old\n old -> node0\n node# -> node#+1",
            "node",
            "1 of 100 by 1 old, 1 of 1 by 1 cache, 1 of 1 by Static(7), root",
        ),
        (
            "a tree of one group, of which a static has the first",
            "<static> -> map -> node0\n node0 -> node#\n node# -> value#",
            "value",
            "100 of 100 by 100 node, 1 of 100 by 1 map, 1 of 1 by Static(7), root",
        ),
        (
            "cycles of two",
            "rc_parent# -> rc_child#\n rc_child# -> rc_parent#",
            "rc_child",
            "100 of 100 by 100 rc_parent, cycle 100 by rc_parent to rc_child",
        ),
        (
            "objects that point to themselves",
            "rc# -> rc#",
            "rc",
            "cycle 100 by rc to rc",
        ),
        (
            "objects of which nobody knows whether they are counted",
            "any# -> rest#\n rest# -> any#",
            "any",
            "100 of 100 by 100 rest, cycle 100 by rest to any",
        ),
        (
            "the same, and they point to themselves",
            "any# -> any#",
            "any",
            "lost 100",
        ),
        (
            "a list whose entries have tasks, and old words that lead to a few of these",
            "<state> -> head -> entry0\n entry# -> entry#+1\n entry# -> task#\n task# -> entry#\n \
             <state> -> queue -> task1\n queue -> task2",
            "entry",
            "1 of 100 by 1 head, 1 of 1 by State, root",
        ),
        (
            "objects that nothing counts, and that point to themselves",
            "node# -> node#",
            "node",
            "lost 100",
        ),
        (
            "a list with a head in a static, and a table",
            "<static> -> cache -> table\n cache -> entry0\n table -> entry#\n entry# -> entry#+1",
            "entry",
            "100 of 100 by 1 table, 1 of 1 by 1 cache, 1 of 1 by Static(7), root",
        ),
        (
            "a list with a head alone",
            "<static> -> entry0\n entry# -> entry#+1",
            "entry",
            "1 of 100 by Static(7), root",
        ),
        (
            "the stack of a thread that holds a container",
            "<stack> -> buffer\n buffer -> session#",
            "session",
            "100 of 100 by 1 buffer, 1 of 1 by Stack(0), root",
        ),
        (
            "a forgotten list that a stale word points to",
            "<stack> -> node0\n node# -> node#+1",
            "node",
            "1 of 100 by Stack(0), unsure 100",
        ),
        (
            "forgotten, and a stale word points to one",
            "<stack> -> session7\n session#",
            "session",
            "lost 99",
        ),
        (
            "a few of them are in use elsewhere",
            "<state> -> table\n table -> session#\n <static> -> other\n other -> session3",
            "session",
            "100 of 100 by 1 table, 1 of 1 by State, root",
        ),
        (
            "a child that points to its parent is no holder",
            "<state> -> table\n table -> parent#\n parent# -> child#\n child# -> parent#",
            "parent",
            "100 of 100 by 1 table, 1 of 1 by State, root",
        ),
        (
            "a static before a stack that points to the same",
            "<stack> -> table\n <static> -> table\n table -> session#",
            "session",
            "100 of 100 by 1 table, 1 of 1 by Static(7), root",
        ),
        (
            "a static with one word that is left over, and a state with several",
            "<static> -> shared\n <state> -> shared\n <state> -> shared\n shared -> session#",
            "session",
            "100 of 100 by 1 shared, 1 of 1 by State, root",
        ),
        (
            "a map of `Weak`s beside the owner",
            "<state> -> map_weak\n map_weak -> session#\n <state> -> vec\n vec -> session#",
            "session",
            "100 of 100 by 1 vec, 1 of 1 by State, root",
        ),
        (
            "a map of `Weak`s, and a few that are in use",
            "<state> -> map_weak\n map_weak -> session#\n <state> -> vec\n vec -> session7",
            "session",
            "100 of 100 by 1 map_weak, 1 of 1 by State, root",
        ),
        (
            "a map that is empty by now, and the one that has it all",
            "<state> -> map1\n map1 -> session#\n <state> -> map2\n map2 -> session7",
            "session",
            "100 of 100 by 1 map, 1 of 1 by State, root",
        ),
        (
            "maps with a part each",
            "<state> -> map1\n map1 -> session1\n <state> -> map2\n map2 -> session2",
            "session",
            "2 of 2 by 2 map, 2 of 2 by State, root",
        ),
        (
            "parents that have vectors of children",
            "rc_parent# -> vec_children#\n vec_children# -> rc_child#\n rc_child# -> rc_parent#",
            "rc_child",
            "100 of 100 by 100 vec_children, 100 of 100 by 100 rc_parent, cycle 100 by rc_child to \
             rc_parent",
        ),
    ] {
        assert_eq!(Heap::parse(heap).said(of), expected, "{what}");
    }
}

#[test]
fn what_is_not_held_itself_is_held_through_the_others_or_not_at_all() {
    for (heap, through) in [
        ("<state> -> node0\n node# -> node#+1", 99),
        (
            "<state> -> table\n table -> node0\n table -> node1\n other -> node2",
            0,
        ),
    ] {
        let held = Heap::parse(heap).held("node");
        assert_eq!(held.links[0].through, through, "{heap}");
    }
}

#[test]
fn a_word_is_a_reference_if_it_is_inside_an_object() {
    let object = |address, bytes| Object {
        address,
        bytes,
        group: 0,
        is_early: false,
    };
    for far in [0x9000, 1 << 46] {
        let objects = vec![object(0x5000, 8), object(0x1000, 0x2001), object(far, 0)];
        let held_by = |word: u64| {
            let mut scan = Scan::new(objects.clone());
            scan.word(Root::State, word);
            let graph = scan.finish().unwrap();
            let all = 0..graph.objects().len();
            let mut held = all.filter(|one| !graph.references_to(*one).is_empty());
            held.next().map(|one| graph.objects()[one].address)
        };
        for (word, expected) in [
            (0, None),
            (0xfff, None),
            (0x1000, Some(0x1000)),
            (0x2fff, Some(0x1000)),
            (0x3000, Some(0x1000)),
            (0x3001, None),
            (0x4fff, None),
            (0x5007, Some(0x5000)),
            (0x5008, None),
            (far, Some(far)),
            (far + 1, None),
            (u64::MAX, None),
        ] {
            assert_eq!(held_by(word), expected, "{word:#x} {far:#x}");
        }
    }
}

#[test]
fn objects_that_overlap_and_none_at_all() {
    let object = |address, bytes, group| Object {
        is_early: false,
        address,
        bytes,
        group,
    };
    let scan = Scan::new(vec![object(8, 16, 0), object(16, 8, 1), object(24, 8, 2)]);
    assert_eq!(scan.objects(), [object(8, 16, 0), object(24, 8, 2)]);
    let graph = Scan::new(Vec::new()).finish().unwrap();
    assert_eq!(graph.held(&[0, 7], &unknown).end, End::Deeper);
    let high = object(u64::MAX - 7, 64, 0);
    let mut scan = Scan::new(vec![high]);
    scan.word(Root::State, u64::MAX - 1);
    assert_eq!(scan.finish().unwrap().held(&[0], &unknown).end, End::Root);
}

#[test]
fn an_arc_that_only_weak_references_keep() {
    let object = Object {
        address: 0x1000,
        bytes: 64,
        group: 0,
        is_early: false,
    };
    for (strong, weak, expected) in [(0, 1, 1), (1, 1, 0), (0, 0, 0), (0, 1 << 40, 0)] {
        let mut scan = Scan::new(vec![object]);
        let words = [strong, weak, 0x1234_u64];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        scan.object(0, 0, &bytes);
        assert_eq!(scan.finish().unwrap().held(&[0], &unknown).weak, expected);
    }
}

/// The group of each object, references as pairs of objects, and roots as a kind and an object.
type AnyHeap = (Vec<u32>, Vec<(usize, usize)>, Vec<(u8, usize)>);

fn any_heap() -> impl Strategy<Value = AnyHeap> {
    (4_usize..40).prop_flat_map(|count| {
        (
            prop::collection::vec(0_u32..6, count),
            prop::collection::vec((0..count, 0..count), 0..120),
            prop::collection::vec((0_u8..4, 0..count), 0..6),
        )
    })
}

/// Asks for group 0. `place` says where an object is.
fn ask(
    groups: &[u32],
    references: &[(usize, usize)],
    roots: &[(u8, usize)],
    place: impl Fn(usize) -> u64,
) -> Held {
    let address = |number: usize| 0x10_0000 + 0x4000 * place(number);
    let objects = groups.iter().enumerate().map(|(number, group)| Object {
        address: address(number),
        bytes: 1024,
        group: *group,
        is_early: false,
    });
    let mut scan = Scan::new(objects.collect());
    for (kind, to) in roots {
        let root = [Root::State, Root::Static(3), Root::Mapped, Root::Stack(1)];
        scan.word(root[usize::from(*kind)], address(*to));
    }
    for (number, object) in scan.objects().to_vec().into_iter().enumerate() {
        let from = (0..groups.len()).find(|one| address(*one) == object.address);
        let of = references.iter().filter(|(one, _)| Some(*one) == from);
        let bytes: Vec<u8> = of.flat_map(|(_, to)| address(*to).to_ne_bytes()).collect();
        scan.object(number, 0, &bytes);
    }
    let graph = scan.finish().unwrap();
    let asked = (0..).zip(graph.objects()).filter(|(_, one)| one.group == 0);
    let asked: Vec<usize> = asked.map(|(number, _)| number).collect();
    graph.held(&asked, &unknown)
}

proptest! {
    #[test]
    fn every_chain_ends((groups, references, roots) in any_heap()) {
        let held = ask(&groups, &references, &roots, |one| one as u64);
        let is_root = matches!(held.links.last(), Some(Link { holder: Holder::Root(_), .. }));
        match held.end {
            End::Root | End::Unsure { .. } => prop_assert!(is_root),
            _ => prop_assert!(!is_root),
        }
        for link in &held.links {
            prop_assert!(link.holds > 0 && link.holds <= link.of, "{link:?}");
        }
    }

    #[test]
    fn addresses_decide_nothing((groups, references, roots) in any_heap(), step in 1_u64..100) {
        let here = ask(&groups, &references, &roots, |one| one as u64);
        // Another order: 101 is a prime.
        let there = ask(&groups, &references, &roots, |one| one as u64 * step % 101);
        prop_assert_eq!(here, there);
    }

    /// A stale word on a stack changes nothing of what is held by something else.
    #[test]
    fn a_stale_word_makes_no_holder((groups, references, roots) in any_heap(), to in 0_usize..4) {
        let mut roots = roots;
        roots.retain(|(kind, _)| *kind < 2);
        let before = ask(&groups, &references, &roots, |one| one as u64);
        roots.push((3, to));
        let after = ask(&groups, &references, &roots, |one| one as u64);
        let is_stack = |link: &Link| link.holder == Holder::Root(Root::Stack(1));
        match (before.end, after.end) {
            (End::Root, _) => prop_assert_eq!(before, after),
            // The stack is a holder only if it leads to most of them, by a container of theirs.
            (_, End::Root) if after.links.iter().any(is_stack) => {
                for link in &after.links {
                    prop_assert!(link.holds * 2 >= link.of, "{after:?}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn another_container_is_told_if_neither_leads_to_the_other() {
    let also = |text: &str| {
        let heap = Heap::parse(text);
        let held = heap.held("session");
        held.also.map(|link| match link.holder {
            Holder::Objects(group) => (heap.groups[group as usize].clone(), link.count, link.holds),
            Holder::Root(root) => panic!("{root:?}"),
        })
    };
    let both = "
        <state> -> vec_a0 -> session#
        <static> -> vec_b0 -> session#
    ";
    assert_eq!(also(both), Some(("vec_b".to_owned(), 1, 100)));
    // One of these is enough, as in a cache that has its entries twice.
    assert_eq!(
        also("<state> -> vec_a0 -> session#\nvec_a0 -> vec_b0 -> session#"),
        None
    );
    // What nothing leads to keeps nothing.
    assert_eq!(
        also("<state> -> vec_a0 -> session#\nvec_b0 -> session#"),
        None
    );
    // The others are in another one.
    let half = "<state> -> vec_a0 -> session1\n<state> -> vec_b0 -> session2\nvec_a0 -> session3\nvec_a0 -> \
                session4\nvec_a0 -> session5";
    assert_eq!(also(half), Some(("vec_b".to_owned(), 1, 1)));
    // One of them is not all, and a box for each is no container of many.
    let half = "<state> -> vec_a0 -> session#\n<state> -> vec_b0 -> session1 -> other1";
    assert_eq!(also(half), None);
    let boxes = "<state> -> vec_a0 -> session#\n<state> -> vec_c0 -> vec_b# -> session#";
    assert_eq!(also(boxes), None);
}

#[test]
fn a_stack_is_told_if_the_other_may_have_a_weak() {
    let also = |strong: u64, weak: u64, of: &str| {
        let text = format!(
            "{of}0 -> ={strong}\n{of}0 -> ={weak}\n{of}0 -> vec0 -> session#\n<state> -> {of}0\n\
             <stack> -> {of}0"
        );
        Heap::parse(&text).held("session").also
    };
    let stack = also(1, 2, "rc").map(|link| link.holder);
    assert_eq!(stack, Some(Holder::Root(Root::Stack(0))));
    // No `Weak`, counted twice, and no counts.
    for (strong, weak, of) in [(1, 1, "rc"), (2, 2, "rc"), (1, 2, "box")] {
        assert_eq!(also(strong, weak, of), None, "{strong} {weak} {of}");
    }
}

#[test]
fn what_is_nearest_to_the_scenarios_state_is_told_of_equals() {
    let told = |text: &str| Heap::parse(text).said("session");
    let app = "<state> -> app0 -> vec0 -> session#";
    let of_app = "100 of 100 by 1 vec, 1 of 1 by 1 app, 1 of 1 by State, root";
    // A buffer with a word that is left over, and a runtime's thread-local or static.
    for other in ["app0 -> a0 -> b0 -> vec0", "<static> -> vec0"] {
        assert_eq!(told(&format!("{app}\n{other}")), of_app, "{other}");
    }
}
