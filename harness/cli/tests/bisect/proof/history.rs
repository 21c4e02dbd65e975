//! A history to be searched, from a seed: where it forks and merges, what each
//! commit changes, which one brings the leak, and which ones cannot be measured.
//!
//! Where commits that cannot be measured would only be met by luck, some are put
//! where git will ask: that is found out by letting git search a history of the
//! same shape with nothing in it.

use std::collections::BTreeSet;

use super::edits::Edit;
use super::helpers::HELPERS;
use super::random::Random;
use super::repository::{Bisected, Content, Repository};
use super::store::{Fault, Part, SCENARIOS, Store};

/// Seeds from this one on may have more than one answer.
pub(crate) const AMBIGUOUS_FROM: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) parents: Vec<usize>,
    pub(crate) branch: String,
    pub(crate) subject: String,
    pub(crate) store: Store,
    pub(crate) fault: Option<Fault>,
}

#[derive(Clone, Debug)]
pub(crate) struct History {
    /// The first is good, the last is bad.
    pub(crate) commits: Vec<Commit>,
    /// Brings the leak that is asked about.
    pub(crate) culprit: usize,
    pub(crate) part: Part,
    /// Brings the other one.
    pub(crate) second: usize,
    /// Which of `SCENARIOS`.
    pub(crate) scenario: usize,
    /// The other leak is the greater one, so the stack has to be named.
    pub(crate) named: bool,
    /// What git finds with answers that are always right.
    pub(crate) expected: Vec<usize>,
}

/// A commit without content.
#[derive(Clone, Debug)]
struct Node {
    parents: Vec<usize>,
    branch: String,
}

impl History {
    pub(crate) fn new(seed: u64) -> History {
        let mut random = Random::new(seed);
        let nodes = shape(&mut random);
        let merges: Vec<usize> = (0..nodes.len())
            .filter(|n| nodes[*n].parents.len() > 1)
            .collect();
        let ambiguous = seed >= AMBIGUOUS_FROM && random.chance(50);

        // One thing of note in a commit at most.
        let mut taken: BTreeSet<usize> = merges.into_iter().chain([0]).collect();
        let mut free = |random: &mut Random, side: Option<bool>| {
            let fits = |n: &usize| {
                side.is_none_or(|side| side == (nodes[*n].branch != "main")) && !taken.contains(n)
            };
            let among: Vec<usize> = (0..nodes.len()).filter(fits).collect();
            let node = *random.pick(&among);
            taken.insert(node);
            node
        };
        let on_side = random.chance(35);
        let culprit = free(&mut random, Some(on_side));
        let second = free(&mut random, None);
        let renamed = free(&mut random, None);
        let moved = free(&mut random, None);

        // Each part in turn.
        let part = Part::ALL[usize::try_from(seed % 4).unwrap()];
        let other = loop {
            let other = *random.pick(&Part::ALL);
            if other != part {
                break other;
            }
        };
        let named = random.chance(40);
        // One in 32 is less than any of them leaks that leaks every time. A map grows in
        // steps, of which a short climb shows too few if it is much slower.
        let seldom = if part == Part::Index { 2 } else { 8 };
        let (every, other_every) = match named {
            true => (*random.pick(&[1, seldom]), 1),
            false => (1, 32),
        };
        let moved_part = match random.chance(50) {
            true => part,
            false => *random.pick(&Part::ALL),
        };
        let given = |node: usize| match node {
            _ if node == culprit => Some(Edit::Leak { part, every }),
            _ if node == second => {
                let (part, every) = (other, other_every);
                Some(Edit::Leak { part, every })
            }
            _ if node == renamed => Some(Edit::RenameScenario),
            _ if node == moved => Some(Edit::RenameModule { part: moved_part }),
            _ => None,
        };
        let commits = edited(&mut random, &nodes, given);

        let mut history = History {
            commits,
            culprit,
            part,
            second,
            scenario: random.below(SCENARIOS.len()),
            named,
            expected: Vec::new(),
        };
        let skeleton = Skeleton::of(&nodes);
        history.put_faults(&mut random, &skeleton, ambiguous);
        history.expected = history.searched(&skeleton).1;
        history
    }

    /// The scenario's new name.
    pub(crate) fn scenario_name(&self) -> &'static str {
        SCENARIOS[self.scenario][1]
    }

    pub(crate) fn bad(&self) -> usize {
        self.commits.len() - 1
    }

    pub(crate) fn has_the_leak(&self, commit: usize) -> bool {
        self.comes_after(commit, self.culprit)
    }

    /// Whether one is the other, or a descendant of it.
    fn comes_after(&self, commit: usize, other: usize) -> bool {
        commit == other
            || self.commits[commit]
                .parents
                .iter()
                .any(|parent| *parent >= other && self.comes_after(*parent, other))
    }

    pub(crate) fn contents(&self, lock: &str) -> Vec<Content> {
        let content = |commit: &Commit| Content {
            parents: commit.parents.clone(),
            branch: commit.branch.clone(),
            subject: commit.subject.clone(),
            files: commit
                .store
                .files(commit.fault, self.scenario, lock)
                .into_iter()
                .collect(),
        };
        self.commits.iter().map(content).collect()
    }

    fn put_faults(&mut self, random: &mut Random, skeleton: &Skeleton, ambiguous: bool) {
        let mut whole: BTreeSet<usize> = [0, self.bad(), self.culprit].into();
        let before = self.commits[self.culprit].parents.clone();
        let wanted = random.within(2..=5);
        let mut broken = 0;
        if ambiguous && !before.contains(&0) {
            // Nothing tells the culprit from these.
            for parent in &before {
                self.break_one(random, *parent);
                broken += 1;
            }
        }
        whole.extend(before);

        // A scenario that hangs costs its timeout: where git asks, three times in four.
        let at = self.place(random, skeleton, &whole, 75);
        self.commits[at].fault = Some(Fault::Hangs);
        let follows = |n: &usize| self.commits[*n].parents == [at] && !whole.contains(n);
        let next = (at + 1..self.commits.len()).find(follows);
        if let Some(next) = next.filter(|_| random.chance(50)) {
            self.commits[next].fault = Some(Fault::Hangs);
        }
        while broken < wanted {
            let at = self.place(random, skeleton, &whole, 40);
            self.break_one(random, at);
            broken += 1;
        }
    }

    fn break_one(&mut self, random: &mut Random, at: usize) {
        let way = random.below(Fault::WAYS_NOT_TO_BUILD);
        self.commits[at].fault = Some(Fault::DoesNotBuild(way));
    }

    /// A commit without a fault; so many times in a hundred one that git asks about.
    fn place(
        &self,
        random: &mut Random,
        skeleton: &Skeleton,
        whole: &BTreeSet<usize>,
        asked: usize,
    ) -> usize {
        let may = |n: &usize| !whole.contains(n) && self.commits[*n].fault.is_none();
        if random.chance(asked) {
            let asked: Vec<usize> = self.searched(skeleton).0.into_iter().filter(may).collect();
            if !asked.is_empty() {
                return *random.pick(&asked);
            }
        }
        let any: Vec<usize> = (0..self.commits.len()).filter(may).collect();
        *random.pick(&any)
    }

    /// What git asks about, and what it finds.
    fn searched(&self, skeleton: &Skeleton) -> (Vec<usize>, Vec<usize>) {
        let index = |id: &str| skeleton.ids.iter().position(|one| one == id).unwrap();
        let answer = |id: &str| match index(id) {
            n if self.commits[n].fault.is_some() => "skip",
            n if self.has_the_leak(n) => "bad",
            _ => "good",
        };
        let Bisected { asked, found } =
            skeleton
                .repository
                .bisected(&skeleton.ids[0], &skeleton.ids[self.bad()], answer);
        let indices = |ids: Vec<String>| ids.iter().map(|id| index(id)).collect();
        let (asked, mut found): (Vec<usize>, Vec<usize>) = (indices(asked), indices(found));
        found.sort_unstable();
        (asked, found)
    }
}

/// A history of the same shape, with nothing in it.
struct Skeleton {
    repository: Repository,
    ids: Vec<String>,
    _dir: tempfile::TempDir,
}

impl Skeleton {
    fn of(nodes: &[Node]) -> Skeleton {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::new(dir.path(), true);
        let content = |(index, node): (usize, &Node)| Content {
            parents: node.parents.clone(),
            branch: node.branch.clone(),
            subject: index.to_string(),
            files: Vec::new(),
        };
        let contents: Vec<Content> = nodes.iter().enumerate().map(content).collect();
        let ids = repository.import(&contents);
        Skeleton {
            repository,
            ids,
            _dir: dir,
        }
    }
}

/// 64 to 90 commits, with one side branch that is merged or two.
fn shape(random: &mut Random) -> Vec<Node> {
    let len = random.within(64..=90);
    let merges = if random.chance(40) { 2 } else { 1 };
    let sides: Vec<(usize, usize)> = (0..merges)
        .map(|_| (random.within(3..=8), random.within(1..=8)))
        .collect();
    // Commits before, between and after: at least one each, the rest at random.
    let beside: usize = sides.iter().map(|(side, main)| side + main + 1).sum();
    let mut gaps = vec![1; merges + 1];
    for _ in 0..len - 1 - beside - gaps.len() {
        let gap = random.below(gaps.len());
        gaps[gap] += 1;
    }
    let mut nodes = Vec::new();
    let add = |nodes: &mut Vec<Node>, parents: &[usize], branch: &str| {
        nodes.push(Node {
            parents: parents.to_vec(),
            branch: branch.to_owned(),
        });
        nodes.len() - 1
    };
    let mut head = add(&mut nodes, &[], "main");
    for (which, gap) in gaps.iter().enumerate() {
        for _ in 0..*gap {
            head = add(&mut nodes, &[head], "main");
        }
        let Some((mut side, mut main)) = sides.get(which).copied() else {
            continue;
        };
        let branch = format!("side-{}", which + 1);
        let mut tip = head;
        while side + main > 0 {
            if random.below(side + main) < side {
                tip = add(&mut nodes, &[tip], &branch);
                side -= 1;
            } else {
                head = add(&mut nodes, &[head], "main");
                main -= 1;
            }
        }
        head = add(&mut nodes, &[head, tip], "main");
    }
    assert_eq!(nodes.len(), len);
    nodes
}

/// Every node with an edit: the one that it was given, or any.
fn edited(
    random: &mut Random,
    nodes: &[Node],
    given: impl Fn(usize) -> Option<Edit>,
) -> Vec<Commit> {
    let mut fresh: Vec<usize> = (0..HELPERS.len()).collect();
    let mut commits: Vec<Commit> = Vec::new();
    // Of the nodes, in their order.
    let mut edits: Vec<Option<Edit>> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let mut store = match node.parents.first() {
            Some(parent) => commits[*parent].store.clone(),
            None => Store::first(),
        };
        let (subject, edit) = match node.parents[..] {
            [] => ("a small store".to_owned(), None),
            [_] => {
                let edit = given(index).unwrap_or_else(|| Edit::pick(random, &store, &mut fresh));
                edit.make(&mut store);
                (edit.subject(), Some(edit))
            }
            _ => {
                let branch = &nodes[node.parents[1]].branch;
                for (other, edit) in edits.iter().enumerate() {
                    if let Some(edit) = edit.as_ref().filter(|_| nodes[other].branch == *branch) {
                        edit.make(&mut store);
                    }
                }
                (format!("merge {branch}"), None)
            }
        };
        commits.push(Commit {
            parents: node.parents.clone(),
            branch: node.branch.clone(),
            subject,
            store,
            fault: None,
        });
        edits.push(edit);
    }
    commits
}
