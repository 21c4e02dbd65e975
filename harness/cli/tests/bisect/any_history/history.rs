//! A history to be searched, from a seed: where it forks and merges, what each
//! commit changes, which one brings the leak, and which ones cannot be measured.
//!
//! Where commits that cannot be measured would only be met by luck, some are put
//! where git will ask: that is found out by letting git search a history of the
//! same shape with nothing in it.

use std::collections::BTreeSet;
use std::fs;

use super::store::{Edit, Edits, Fault, Part, SCENARIO, files};
use crate::git::{Content, git, import, init, try_git};

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    parents: Vec<usize>,
    pub(crate) branch: &'static str,
    /// All up to it.
    pub(crate) edits: Edits,
    pub(crate) fault: Option<Fault>,
}

#[derive(Debug)]
pub(crate) struct History {
    /// The first is good, the last is bad.
    pub(crate) commits: Vec<Commit>,
    /// Brings the leak that is asked about.
    pub(crate) culprit: usize,
    pub(crate) part: Part,
    leak: Edit,
    /// The other leak is the greater one, so the stack has to be named.
    pub(crate) named: bool,
    /// What git finds with answers that are always right.
    pub(crate) expected: Vec<usize>,
    /// What it asks about until then.
    pub(crate) asked: Vec<usize>,
}

/// A history of the same shape, with nothing in it.
struct Skeleton {
    dir: tempfile::TempDir,
    ids: Vec<String>,
}

/// SplitMix64: the same numbers from the same seed, wherever it runs.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % end as u64).unwrap()
    }

    /// True so many times in a hundred.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of those, and no longer there.
    fn take(&mut self, from: &mut BTreeSet<usize>, fits: impl Fn(usize) -> bool) -> usize {
        let among: Vec<usize> = from.iter().copied().filter(|one| fits(*one)).collect();
        let taken = among[self.below(among.len())];
        from.remove(&taken);
        taken
    }
}

impl History {
    pub(crate) fn new(seed: u64) -> History {
        let mut random = Random(seed);
        let mut commits = shape(&mut random);
        let is_plain = |at: &usize| commits[*at].parents.len() == 1;
        let mut free: BTreeSet<usize> = (0..commits.len()).filter(is_plain).collect();

        // Each part in turn.
        let part = Part::ALL[usize::try_from(seed % 3).unwrap()];
        let other = Part::ALL[(usize::try_from(seed % 3).unwrap() + 1 + random.below(2)) % 3];
        let named = random.chance(40);
        // One in 32 is less than any of them leaks that leaks every time. A map grows in
        // steps, of which a short climb shows too few if it is much slower.
        let seldom = if part == Part::Index { 2 } else { 8 };
        let (every, other_every) = match named {
            true => (if random.chance(50) { 1 } else { seldom }, 1),
            false => (1, 32),
        };
        let moved = if random.chance(50) { part } else { other };
        let leak = Edit::Leak(part, every);
        let branch = if random.chance(35) { "side" } else { "main" };
        let culprit = random.take(&mut free, |at| commits[at].branch == branch);
        let mut edits: Vec<Edit> = (0..commits.len()).map(Edit::Note).collect();
        edits[culprit] = leak;
        for edit in [
            Edit::Leak(other, other_every),
            Edit::RenameScenario,
            Edit::RenameModule(moved),
        ] {
            edits[random.take(&mut free, |_| true)] = edit;
        }
        for at in 0..commits.len() {
            let parents = commits[at].parents.clone();
            let before = parents.iter().flat_map(|one| commits[*one].edits.clone());
            commits[at].edits = before.chain([edits[at]]).collect();
        }

        let mut history = History {
            commits,
            culprit,
            part,
            leak,
            named,
            expected: Vec::new(),
            asked: Vec::new(),
        };
        let dir = tempfile::tempdir().unwrap();
        init(dir.path());
        let ids = import(dir.path(), &history.contents(|_| Vec::new()));
        let skeleton = Skeleton { dir, ids };
        history.put_faults(&mut random, &skeleton);
        (history.asked, history.expected) = history.searched(&skeleton);
        history
    }

    pub(crate) fn bad(&self) -> usize {
        self.commits.len() - 1
    }

    pub(crate) fn has_the_leak(&self, commit: usize) -> bool {
        self.commits[commit].edits.contains(&self.leak)
    }

    pub(crate) fn contents(
        &self,
        files: impl Fn(&Commit) -> Vec<(String, String)>,
    ) -> Vec<Content> {
        let content = |(at, commit): (usize, &Commit)| Content {
            parents: commit.parents.clone(),
            branch: commit.branch,
            subject: format!("c{at}"),
            files: files(commit),
        };
        self.commits.iter().enumerate().map(content).collect()
    }

    fn put_faults(&mut self, random: &mut Random, skeleton: &Skeleton) {
        let before = self.commits[self.culprit].parents[0];
        let mut whole = BTreeSet::from([0, before, self.culprit, self.bad()]);
        if before != 0 && random.chance(25) {
            // Nothing tells the culprit from it.
            self.commits[before].fault = Some(Fault::DoesNotBuild);
        }
        let mut faults = vec![Fault::Hangs];
        faults.resize(3 + random.below(3), Fault::DoesNotBuild);
        for fault in faults {
            // Where git asks, three times in four.
            let mut asked: BTreeSet<usize> = self.searched(skeleton).0.into_iter().collect();
            asked.retain(|at| !whole.contains(at));
            if asked.is_empty() || !random.chance(75) {
                asked = (0..self.commits.len()).collect();
            }
            let at = random.take(&mut asked, |at| !whole.contains(&at));
            whole.insert(at);
            self.commits[at].fault = Some(fault);
        }
    }

    /// What git asks about, and what it finds: one, or those that cannot be told apart.
    fn searched(&self, skeleton: &Skeleton) -> (Vec<usize>, Vec<usize>) {
        let (dir, ids) = (skeleton.dir.path(), &skeleton.ids);
        let index = |id: &str| ids.iter().position(|one| one == id).unwrap();
        let (bad, mut asked) = (&ids[self.bad()], Vec::new());
        let mut said = git(dir, &["bisect", "start", "--no-checkout", bad, &ids[0]]);
        loop {
            let end = " is the first bad commit";
            if let Some(id) = said.lines().find_map(|line| line.strip_suffix(end)) {
                return (asked, vec![index(id)]);
            }
            let id = fs::read_to_string(dir.join(".git/BISECT_HEAD")).unwrap();
            let at = index(id.trim());
            assert!(!asked.contains(&at), "{at} is asked about again: {said}");
            asked.push(at);
            let answer = match self.commits[at].fault {
                Some(_) => "skip",
                None if self.has_the_leak(at) => "bad",
                None => "good",
            };
            let output = try_git(dir, &["bisect", answer]);
            said = String::from_utf8(output.stdout).unwrap();
            if said.contains("The first bad commit could be any of:") {
                let ids = said.lines().filter(|line| ids.iter().any(|id| id == line));
                let found: BTreeSet<usize> = ids.map(index).collect();
                return (asked, found.into_iter().collect());
            }
        }
    }

    /// What is where, for whoever has to find out what went wrong.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!("{:?} leaks from c{} on", self.part, self.culprit);
        for (at, commit) in self.commits.iter().enumerate() {
            let edits = commit.edits.iter().filter(|edit| {
                let parents = commit.parents.iter();
                !matches!(edit, Edit::Note(_))
                    && parents
                        .clone()
                        .all(|one| !self.commits[*one].edits.contains(edit))
            });
            let edits: Vec<&Edit> = edits.collect();
            let fault = commit.fault;
            text += &format!("\n  c{at} {:?} {edits:?} {fault:?}", commit.parents);
        }
        text
    }
}

/// The scenario's new name.
pub(crate) fn scenario() -> &'static str {
    SCENARIO[1]
}

impl Commit {
    pub(crate) fn files(&self, lock: &str) -> Vec<(String, String)> {
        files(&self.edits, self.fault, lock)
    }
}

/// 32 to 48 commits, with a side branch that is merged.
fn shape(random: &mut Random) -> Vec<Commit> {
    let len = 32 + random.below(17);
    let fork = 1 + random.below(len / 2);
    let (mut side, mut main) = (3 + random.below(6), 1 + random.below(6));
    let mut commits: Vec<Commit> = Vec::new();
    let add = |commits: &mut Vec<Commit>, parents: &[usize], branch| {
        commits.push(Commit {
            parents: parents.to_vec(),
            branch,
            edits: Edits::new(),
            fault: None,
        });
        commits.len() - 1
    };
    let mut head = add(&mut commits, &[], "main");
    while head < fork {
        head = add(&mut commits, &[head], "main");
    }
    let mut tip = head;
    while side + main > 0 {
        if random.below(side + main) < side {
            tip = add(&mut commits, &[tip], "side");
            side -= 1;
        } else {
            head = add(&mut commits, &[head], "main");
            main -= 1;
        }
    }
    head = add(&mut commits, &[head, tip], "main");
    while commits.len() < len {
        head = add(&mut commits, &[head], "main");
    }
    commits
}
