//! Which object or root points to which object.

use std::sync::OnceLock;

use super::{Object, Root};

/// Where a reference is: in an object, or in a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source(u32);

impl Source {
    /// Marks the numbers of roots.
    const ROOT: u32 = 1 << 31;

    pub(super) fn object(number: usize) -> Source {
        Source(u32::try_from(number).unwrap_or(0) & !Self::ROOT)
    }

    pub(super) fn root(number: usize) -> Source {
        Source(u32::try_from(number).unwrap_or(0) | Self::ROOT)
    }

    /// Returns the object's number, or the root's as an error.
    pub(super) fn number(self) -> Result<usize, usize> {
        match self.0 & Self::ROOT {
            0 => Ok(self.0 as usize),
            _ => Err((self.0 & !Self::ROOT) as usize),
        }
    }
}

/// A reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: Source,
    /// The number of the word in the object.
    pub(super) at: u32,
    /// The object that it points to.
    pub(super) to: u32,
}

/// All references between objects, and from roots to them.
#[derive(Debug)]
pub struct Graph {
    pub(super) objects: Vec<Object>,
    first_words: Vec<[u64; 2]>,
    pub(super) roots: Vec<Root>,
    /// Sorted by their targets.
    edges: Vec<Edge>,
    /// For each object, where the references to it begin in `edges`; and the end.
    into: Vec<u32>,
    /// For each object, where its references begin in `targets`; and the end.
    out_of: Vec<u32>,
    targets: Vec<u32>,
    reached: OnceLock<Vec<Way>>,
}

/// How an object is reached from the roots, and how far it is from them: the better way is the lesser
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    pub(super) reach: Reach,
    /// The objects between, and what [`distance`] adds.
    pub(super) steps: u32,
}

/// Returns how far what a root points to is from the reader's own code, in steps of objects: what the
/// scenario has is nearest, and thread-locals are mostly a runtime's.
pub(super) fn distance(root: Root) -> u32 {
    match root {
        Root::State => 0,
        Root::Static(_) => 2,
        _ => 3,
    }
}

/// How an object is reached from the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// From a root whose words are in use.
    Certain,
    /// Only by words that may be stale, such as those on the stack of a thread.
    Stack,
    /// Not at all.
    Not,
}

impl Graph {
    pub(super) fn new(
        objects: Vec<Object>,
        first_words: Vec<[u64; 2]>,
        roots: Vec<Root>,
        mut edges: Vec<Edge>,
    ) -> Graph {
        edges.sort_unstable_by_key(|edge| (edge.to, edge.from, edge.at));
        let into = starts(edges.iter().map(|edge| edge.to), objects.len());
        let mut between: Vec<(u32, u32)> = edges
            .iter()
            .filter_map(|edge| Some((u32::try_from(edge.from.number().ok()?).ok()?, edge.to)))
            .collect();
        between.sort_unstable();
        between.dedup();
        let out_of = starts(between.iter().map(|(from, _)| *from), objects.len());
        let targets = between.into_iter().map(|(_, to)| to).collect();
        Graph {
            objects,
            first_words,
            roots,
            edges,
            into,
            out_of,
            targets,
            reached: OnceLock::new(),
        }
    }

    /// Returns how each object is reached from the roots.
    pub(super) fn reached_at_all(&self) -> &[Way] {
        let barred = || vec![false; self.objects.len()];
        self.reached.get_or_init(|| self.reached(&barred()))
    }

    /// Returns all references.
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the objects, sorted by address.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the first two words of an object: the counts of an `Arc` or `Rc`.
    pub(super) fn first_words(&self, object: usize) -> [u64; 2] {
        self.first_words.get(object).copied().unwrap_or_default()
    }

    /// Returns the references to an object.
    pub(super) fn references_to(&self, object: usize) -> &[Edge] {
        &self.edges[self.into[object] as usize..self.into[object + 1] as usize]
    }

    /// Returns the objects that an object points to.
    pub(super) fn out_of(&self, object: usize) -> impl Iterator<Item = usize> {
        let range = self.out_of[object] as usize..self.out_of[object + 1] as usize;
        self.targets[range].iter().map(|to| *to as usize)
    }

    /// Returns how each object is reached from the roots, if no path leads through a barred one.
    /// Barred objects are reached, if something points to them that is reached.
    pub(super) fn reached(&self, barred: &[bool]) -> Vec<Way> {
        let not = Way {
            reach: Reach::Not,
            steps: u32::MAX,
        };
        let mut reached = vec![not; self.objects.len()];
        for reach in [Reach::Certain, Reach::Stack] {
            // What is so many steps away, by the number of steps.
            let mut away: Vec<Vec<usize>> = Vec::new();
            for edge in &self.edges {
                if let Err(number) = edge.from.number()
                    && let root = self.roots[number]
                    && root.is_certain() == (reach == Reach::Certain)
                {
                    let steps = distance(root) as usize;
                    away.resize_with(away.len().max(steps + 1), Vec::new);
                    away[steps].push(edge.to as usize);
                }
            }
            let mut steps = 0;
            while steps < away.len() {
                let mut next = Vec::new();
                for object in std::mem::take(&mut away[steps]) {
                    if reached[object].reach != Reach::Not {
                        continue;
                    }
                    reached[object] = Way {
                        reach,
                        steps: u32::try_from(steps).unwrap_or(u32::MAX),
                    };
                    if !barred[object] {
                        next.extend(self.out_of(object));
                    }
                }
                steps += 1;
                match away.get_mut(steps) {
                    Some(away) => away.append(&mut next),
                    None if next.is_empty() => {}
                    None => away.push(next),
                }
            }
        }
        reached
    }
}

/// Returns for each of `count` keys where its entries begin among sorted ones, and where they end.
fn starts(keys: impl Iterator<Item = u32>, count: usize) -> Vec<u32> {
    let mut starts = vec![0_u32; count + 1];
    for key in keys {
        starts[key as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    starts
}
