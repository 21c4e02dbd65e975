use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const FIRST: u64 = 0x10_0000;
const APART: u64 = 0x4000;

fn object(address: u64, bytes: u64, group: u32) -> Object {
    Object {
        address,
        bytes,
        group,
        is_early: false,
    }
}

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
        for line in text.split(['\n', ';']).map(str::trim) {
            let numbers = if line.contains('#') { 100_u32 } else { 1 };
            for number in 0..numbers {
                let next = ((number + 1) % 100).to_string();
                let line = line.replace("#+1", &next).replace('#', &number.to_string());
                let ends: Vec<&str> = line.split("->").map(str::trim).collect();
                ends.iter().for_each(|end| heap.add(end));
                let pairs = ends
                    .windows(2)
                    .map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
                heap.references.extend(pairs);
            }
        }
        heap
    }

    fn add(&mut self, name: &str) {
        if name.is_empty() || name.starts_with(['<', '=']) {
            return;
        }
        let group = name.trim_end_matches(char::is_numeric).to_owned();
        let rank = self.groups.iter().position(|known| *known == group);
        let rank = rank.unwrap_or(self.groups.len());
        if rank == self.groups.len() {
            self.groups.push(group);
        }
        let address = FIRST + APART * self.objects.len() as u64;
        let object = (address, u32::try_from(rank).unwrap());
        self.objects.entry(name.to_owned()).or_insert(object);
    }

    fn root(name: &str) -> Root {
        match name {
            "<state>" => Root::State,
            "<stack>" => Root::Stack(0),
            "<mapped>" => Root::Mapped,
            _ => Root::Static(7),
        }
    }

    fn graph(&self) -> Graph {
        let objects = self.objects.values();
        let objects = objects.map(|(address, group)| object(*address, 64, *group));
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

    /// Says what a chain is, in a line: `1+99 of 100` are one and, through it, 99 more.
    fn said(&self, group: &str) -> String {
        let held = self.held(group);
        let name = |group: u32| self.groups[group as usize].clone();
        let holder = |link: &Link| match link.holder {
            Holder::Objects(group) => format!("{} {}", link.count, name(group)),
            Holder::Root(root) => format!("{root:?}"),
        };
        let links = held.links.iter().map(|link| {
            let through = Some(link.through).filter(|more| *more > 0);
            let through = through.map_or(String::new(), |more| format!("+{more}"));
            format!("{}{through} of {} by {}", link.holds, link.of, holder(link))
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
        let also = held.also.iter();
        let also = also.map(|link| format!("also {} by {}", link.holds, holder(link)));
        links
            .chain([end])
            .chain(also)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn unknown(_: u32) -> Traits {
    Traits::default()
}

/// What a heap is, the heap, and what is said of some of its groups.
#[test]
fn chains() {
    let mut wrong = String::new();
    for block in include_str!("tests/chains.txt").trim_end().split("\n\n") {
        let mut lines = block.lines();
        let (what, heap) = (lines.next().unwrap(), Heap::parse(lines.next().unwrap()));
        for (of, expected) in lines.map(|line| line.split_once(": ").unwrap()) {
            let said = heap.said(of);
            if said != expected {
                wrong += &format!("{what}\n{of}: {said}\n");
            }
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn a_word_is_a_reference_if_it_is_inside_an_object() {
    for far in [0x9000, 1 << 46] {
        let objects = [(0x5000, 8), (0x1000, 0x2001), (far, 0)];
        let objects = objects
            .map(|(address, bytes)| object(address, bytes, 0))
            .to_vec();
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
    for (strong, weak, expected) in [(0, 1, 1), (1, 1, 0), (0, 0, 0), (0, 1 << 40, 0)] {
        let mut scan = Scan::new(vec![object(0x1000, 64, 0)]);
        let words = [strong, weak, 0x1234_u64];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        scan.object(0, 0, &bytes);
        assert_eq!(scan.finish().unwrap().held(&[0], &unknown).weak, expected);
    }
}

/// Objects of up to six groups, references, and roots, as [`Heap::parse`] reads them.
fn any_heap() -> impl Strategy<Value = String> {
    let parts = (4_usize..40).prop_flat_map(|count| {
        let root = prop::sample::select(vec!["<state>", "<static>", "<mapped>", "<stack>"]);
        (
            prop::collection::vec(prop::char::range('a', 'f'), count),
            prop::collection::vec((0..count, 0..count), 0..120),
            prop::collection::vec((root, 0..count), 0..6),
        )
    });
    parts.prop_map(|(groups, references, roots)| {
        let name = |number: usize| format!("{}{number}", groups[number]);
        let objects = (0..groups.len()).map(|number| name(number) + "\n");
        let roots = roots
            .iter()
            .map(|(root, to)| format!("{root} -> {}\n", name(*to)));
        let references = references.iter();
        let references = references.map(|(from, to)| format!("{} -> {}\n", name(*from), name(*to)));
        objects.chain(roots).chain(references).collect()
    })
}

proptest! {
    #[test]
    fn every_chain_ends(heap in any_heap()) {
        let held = Heap::parse(&heap).held("a");
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
    fn addresses_decide_nothing(heap in any_heap(), step in 1_u64..100) {
        let mut heap = Heap::parse(&heap);
        let here = heap.held("a");
        // Another order: 101 is a prime.
        for (address, _) in heap.objects.values_mut() {
            *address = FIRST + (*address - FIRST) / APART * step % 101 * APART;
        }
        prop_assert_eq!(here, heap.held("a"));
    }

    /// A stale word on a stack changes nothing of what is held by something else.
    #[test]
    fn a_stale_word_makes_no_holder(heap in any_heap(), to in 0_usize..4) {
        let mut heap = Heap::parse(&heap);
        heap.references.retain(|(from, _)| !["<mapped>", "<stack>"].contains(&from.as_str()));
        let before = heap.held("a");
        let to = heap.objects.keys().nth(to).unwrap().clone();
        heap.references.push(("<stack>".to_owned(), to));
        let after = heap.held("a");
        let is_stack = |link: &Link| link.holder == Holder::Root(Root::Stack(0));
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
