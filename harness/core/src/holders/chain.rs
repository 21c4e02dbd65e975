//! From accused objects up to a root: groups of holders, one level after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Edge, Graph, Reach, Way, distance};
use super::{MAX_LINKS, Object, Root, Traits};

/// The share of the accused that must be unreachable for all of them to count as lost, and that a
/// group must hold to be a holder: more than stale words ever do.
const MOST: f64 = 0.5;

/// Who holds a group of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// How many objects were asked about.
    pub asked: u64,
    /// The holders, from the objects upward.
    pub links: Vec<Link>,
    /// Another container that holds the objects of some level as well, and that the chain does not
    /// lead through. Or the stack of a thread that has the last object as well, if a `Weak` is among
    /// what points to that: nobody knows which of them has it.
    pub also: Option<Link>,
    /// What is above the last of them.
    pub end: End,
    /// How many of the objects are allocations of an `Arc` or `Rc` whose strong count is zero, by
    /// their first two words. Only the caller knows whether they are such allocations.
    pub weak: u64,
    /// How many of them are tasks of tokio that have ended, by their first word. The same holds.
    pub ended: u64,
}

/// One level of holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What holds the objects of the level below.
    pub holder: Holder,
    /// How many objects of the level below this one holds itself. The others hold each other.
    pub holds: u64,
    /// How many more of them these lead to, through objects of the level below.
    pub through: u64,
    /// How many objects the level below has.
    pub of: u64,
    /// How many objects or roots the holder is.
    pub count: u64,
    /// Whether it is one object, which was there when the first iteration had ended.
    pub is_fixed: bool,
    /// The bytes of these objects.
    pub bytes: u64,
    /// How many of them are tasks of tokio that have ended, by their first word.
    pub ended: u64,
}

/// What a link is. Of two that hold as much, the smaller one is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A root.
    Root(Root),
    /// Objects of a group.
    Objects(u32),
}

/// How a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a root, which is the last link.
    Root,
    /// Nothing points to what is last.
    Lost {
        /// How many of the objects that were asked about nothing leads to.
        of_asked: u64,
    },
    /// What is last is only held by what it holds itself.
    Cycle {
        /// How many of the objects that were asked about are held by nothing but cycles.
        of_asked: u64,
        /// The group that points back to another one.
        from: u32,
        /// The group that it points to.
        to: u32,
    },
    /// Only stacks of threads lead there, by words that may be stale.
    Unsure {
        /// How many of the objects that were asked about only stacks lead to.
        of_asked: u64,
    },
    /// There are more levels.
    Deeper,
}

/// Who may hold the objects of one level.
#[derive(Debug, Default)]
struct Candidate {
    /// How the best of them is reached.
    way: Option<Way>,
    holds: BTreeSet<usize>,
    holders: BTreeSet<usize>,
    /// Others of the group that hold some, and that nothing but the level leads to.
    inside: BTreeSet<usize>,
}

/// Who holds most of a level.
#[derive(Debug)]
struct Best {
    holder: Holder,
    candidate: Candidate,
    /// Containers that hold as good as all of it as well, or most of what that does not.
    others: BTreeMap<Holder, Candidate>,
}

impl Graph {
    /// Finds who holds these objects, which are given by their numbers.
    /// `traits` has what is known of a group.
    pub fn held(&self, accused: &[usize], traits: &dyn Fn(u32) -> Traits) -> Held {
        let mut seen = vec![false; self.objects.len()];
        let mut level: BTreeSet<usize> = BTreeSet::new();
        for &object in accused {
            if let Some(seen) = seen.get_mut(object) {
                *seen = true;
                level.insert(object);
            }
        }
        let asked: Vec<usize> = level.iter().copied().collect();
        let weak = |object: &&usize| {
            let [strong, weak] = self.first_words(**object);
            strong == 0 && weak > 0 && weak < 1 << 32
        };
        let mut held = Held {
            asked: asked.len() as u64,
            weak: asked.iter().filter(weak).count() as u64,
            ended: self.ended(&asked),
            links: Vec::new(),
            also: None,
            end: End::Deeper,
        };
        let reach = self.reached_at_all();
        let with = |wanted: Reach| {
            let with = asked.iter().filter(|one| reach[**one].reach == wanted);
            with.count() as u64
        };
        let is_most = |reach: &Reach| with(*reach) as f64 > MOST * asked.len() as f64;
        // What the objects are that the chain is made of. Stale words make a few of the others
        // reachable, or a few of these unreachable. Where no kind is most of them, nobody can say
        // which words are stale.
        let wanted = [Reach::Certain, Reach::Stack, Reach::Not];
        let wanted = wanted.into_iter().find(is_most).unwrap_or(Reach::Stack);
        level.retain(|object| reach[*object].reach == wanted);
        while !level.is_empty() && held.links.len() < MAX_LINKS {
            let all = (reach, wanted, traits);
            let Some(best) = self.holder_of(&mut level, &mut seen, all) else {
                let of_these = asked.iter().copied();
                let of_these = of_these.filter(|one| reach[*one].reach == wanted);
                let of_these: Vec<usize> = of_these.collect();
                held.end = self.end(&of_these, &seen, wanted, traits);
                return held;
            };
            let (link, objects) = self.link(&best.holder, &best.candidate, &level, &seen);
            if held.also.is_none() && wanted == Reach::Certain {
                held.also = self.also(&best, &objects, &level, &seen);
            }
            held.links.push(link);
            if objects.is_empty() {
                let stack = self.stack_of_counted(&level, traits);
                held.also = held.also.or(stack.filter(|_| wanted == Reach::Certain));
                let is_sure = |link: &Link| link.holds * 2 >= link.of;
                held.end = match wanted == Reach::Stack && !held.links.iter().all(is_sure) {
                    true => End::Unsure {
                        of_asked: with(Reach::Stack),
                    },
                    false => End::Root,
                };
                return held;
            }
            for object in &objects {
                seen[*object] = true;
            }
            level = objects;
        }
        held
    }

    /// Returns a link of a chain, and its objects.
    fn link(
        &self,
        holder: &Holder,
        candidate: &Candidate,
        level: &BTreeSet<usize>,
        seen: &[bool],
    ) -> (Link, BTreeSet<usize>) {
        let (count, objects) = match holder {
            Holder::Objects(_) => {
                let objects = self.needed(candidate, level);
                (objects.len(), objects)
            }
            Holder::Root(_) => (candidate.holders.len(), BTreeSet::new()),
        };
        let bytes = objects.iter().map(|one| self.objects[*one].bytes);
        let link = Link {
            holder: *holder,
            holds: candidate.holds.len() as u64,
            through: self.through(holder, candidate, level, seen),
            of: level.len() as u64,
            count: count as u64,
            is_fixed: objects.len() == 1 && objects.iter().all(|one| self.objects[*one].is_early),
            bytes: bytes.sum(),
            ended: self.ended(&objects),
        };
        (link, objects)
    }

    /// Returns the stack that points to an `Arc` or `Rc` which is counted once, and has a `Weak`.
    fn stack_of_counted(
        &self,
        level: &BTreeSet<usize>,
        traits: &dyn Fn(u32) -> Traits,
    ) -> Option<Link> {
        let one = *level.first().filter(|_| level.len() == 1)?;
        let [strong, weak] = self.first_words(one);
        // All that count have one `Weak` together.
        if strong != 1 || weak < 2 || !traits(self.objects[one].group).is_counted {
            return None;
        }
        let roots = self.references_to(one).iter();
        let roots = roots.filter_map(|edge| Some(self.roots[edge.from.number().err()?]));
        let stack = roots.filter(|root| matches!(root, Root::Stack(_))).min()?;
        Some(Link {
            holder: Holder::Root(stack),
            holds: 1,
            through: 0,
            of: 1,
            count: 1,
            is_fixed: false,
            bytes: 0,
            ended: 0,
        })
    }

    /// Returns another container that holds what a container holds, if neither leads to the other.
    fn also(
        &self,
        best: &Best,
        objects: &BTreeSet<usize>,
        level: &BTreeSet<usize>,
        seen: &[bool],
    ) -> Option<Link> {
        let reach_without = |objects: &BTreeSet<usize>| {
            let mut seen = seen.to_vec();
            for object in objects {
                seen[*object] = true;
            }
            self.reached(&seen)
        };
        let are_few = |objects: &BTreeSet<usize>| objects.len() * 4 <= level.len();
        let all_reached = |reach: &[Way], objects: &BTreeSet<usize>| {
            objects
                .iter()
                .all(|one| reach[*one].reach == Reach::Certain)
        };
        if objects.is_empty() || !are_few(objects) {
            return None;
        }
        let reach = reach_without(objects);
        best.others.iter().find_map(|(holder, candidate)| {
            let (link, others) = self.link(holder, candidate, level, seen);
            let is_another = are_few(&others)
                && all_reached(&reach, &others)
                && all_reached(&reach_without(&others), objects);
            is_another.then_some(link)
        })
    }

    /// Returns how many of these objects are tasks of tokio that have ended, if they are tasks: their
    /// first word is their state, and the second bit of it says so (`COMPLETE` in its state.rs).
    fn ended<'a>(&self, objects: impl IntoIterator<Item = &'a usize>) -> u64 {
        const STATES: u64 = 0b111;
        const COMPLETE: u64 = 0b010;
        let objects = objects.into_iter();
        let ended = objects.filter(|one| self.first_words(**one)[0] & STATES == COMPLETE);
        ended.count() as u64
    }

    /// Returns those of the holders that nothing of what they hold can do without: an empty map has
    /// words that are left over, and all of them lead to what another map has.
    fn needed(&self, candidate: &Candidate, level: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut held: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &object in &candidate.holds {
            let sources = self.references_to(object).iter();
            let sources = sources.filter_map(|edge| edge.from.number().ok());
            for holder in sources.filter(|one| candidate.holders.contains(one)) {
                held.entry(holder).or_default().insert(object);
            }
        }
        let mut most: BTreeMap<usize, usize> = level.iter().map(|object| (*object, 0)).collect();
        for objects in held.values() {
            for object in objects {
                let most = most.entry(*object).or_default();
                *most = objects.len().max(*most);
            }
        }
        held.retain(|_, objects| objects.iter().any(|one| most[one] == objects.len()));
        held.into_keys().collect()
    }

    /// Returns how many objects of a level those that are held lead to, as the first of a list does. The
    /// first may be of the level's groups alone.
    fn through(
        &self,
        holder: &Holder,
        candidate: &Candidate,
        level: &BTreeSet<usize>,
        seen: &[bool],
    ) -> u64 {
        if candidate.holds.len() == level.len() {
            return 0;
        }
        let is_root = matches!(holder, Holder::Root(_));
        let is_of_these = |edge: &&Edge| match edge.from.number() {
            Ok(number) => !is_root && candidate.holders.contains(&number),
            Err(number) => is_root && candidate.holders.contains(&number),
        };
        let held = self.edges().iter().filter(is_of_these);
        let held = held.map(|edge| edge.to as usize).filter(|to| seen[*to]);
        let mut next: Vec<usize> = held.collect();
        let mut reached: BTreeSet<usize> = next.iter().copied().collect();
        while let Some(object) = next.pop() {
            let new = self.out_of(object).filter(|to| seen[*to]);
            next.extend(new.filter(|to| reached.insert(*to)));
        }
        let others = level.difference(&candidate.holds);
        others.filter(|one| reached.contains(one)).count() as u64
    }

    /// Returns the group or the root that holds most of a level.
    ///
    /// Objects of one group may be a list or a tree, of which only the first is held from outside.
    /// So no group holds itself, and if nothing holds most of the level, all of its groups is asked
    /// for.
    fn holder_of(
        &self,
        level: &mut BTreeSet<usize>,
        seen: &mut [bool],
        (reach, wanted, traits): (&[Way], Reach, &dyn Fn(u32) -> Traits),
    ) -> Option<Best> {
        let groups = level
            .iter()
            .map(|object| self.objects[*object].group as usize);
        let groups: BTreeSet<usize> = groups.collect();
        let all = self.objects.iter().enumerate();
        let all = all.filter(|(_, object)| groups.contains(&(object.group as usize)));
        let all: BTreeSet<usize> = all.map(|(number, _)| number).collect();
        for object in &all {
            seen[*object] = true;
        }
        let all: BTreeSet<usize> = all
            .into_iter()
            .filter(|one| reach[*one].reach == wanted)
            .collect();
        let best = self.best(level, seen, wanted, traits);
        if best
            .as_ref()
            .is_some_and(|best| best.candidate.holds.len() * 2 >= level.len())
        {
            return best;
        }
        match self.best(&all, seen, wanted, traits) {
            Some(of_all) if best.is_none() => {
                *level = all;
                Some(of_all)
            }
            _ => best,
        }
    }

    /// Returns the group or the root that holds most of a level, from outside of what was seen.
    fn best(
        &self,
        level: &BTreeSet<usize>,
        seen: &[bool],
        wanted: Reach,
        traits: &dyn Fn(u32) -> Traits,
    ) -> Option<Best> {
        let reach = self.reached(seen);
        let mut candidates: BTreeMap<Holder, Candidate> = BTreeMap::new();
        for &object in level {
            for edge in self.references_to(object) {
                let (holder, number, way) = match edge.from.number() {
                    Ok(number) if seen[number] => continue,
                    Ok(number) => {
                        let group = self.objects[number].group;
                        let Way { reach, steps } = reach[number];
                        let steps = steps.saturating_add(1);
                        (Holder::Objects(group), number, Way { reach, steps })
                    }
                    Err(number) => {
                        let root = self.roots[number];
                        let reach = match root.is_certain() {
                            true => Reach::Certain,
                            false => Reach::Stack,
                        };
                        let steps = distance(root);
                        (Holder::Root(root), number, Way { reach, steps })
                    }
                };
                let candidate = candidates.entry(holder).or_default();
                if way.reach > wanted {
                    candidate.inside.insert(number);
                    continue;
                }
                let best = candidate.way.get_or_insert(way);
                *best = way.min(*best);
                candidate.holds.insert(object);
                candidate.holders.insert(number);
            }
        }
        candidates.retain(|_, one| !one.holders.is_empty());
        let best = candidates.iter().min_by_key(|(holder, one)| {
            let (is_weak, count) = match holder {
                Holder::Objects(group) => (traits(*group).has_weak, one.holders.len()),
                // A root is one thing, however many words lead from it.
                Holder::Root(_) => (false, 1),
            };
            // Who has a `Weak` keeps nothing, if somebody else has about as many.
            let holds = one.holds.len() * if is_weak { 1 } else { 2 };
            let way = one.way.map(|way| (way.reach, way.steps));
            let (reach, steps) = way.unzip();
            // If most of a group is part of the level, words that are left over lead to the rest.
            let is_inside = one.inside.len() > one.holders.len();
            (reach, is_inside, Reverse(holds), count, steps)
        });
        let holder = *best?.0;
        let candidate = candidates.remove(&holder)?;
        // Ones that hold as good as all of it as well, or most of what this one does not.
        let rest = level.difference(&candidate.holds);
        let rest: BTreeSet<usize> = rest.copied().collect();
        let may_be_another = |holder: &Holder, one: &Candidate| match holder {
            Holder::Objects(group) => {
                let traits = traits(*group);
                let of_rest = one.holds.intersection(&rest).count();
                let has_all = one.holds.len() * 10 >= level.len() * 9;
                let has_rest = rest.len() * 10 >= level.len() && of_rest * 2 >= rest.len();
                traits.is_container && !traits.has_weak && (has_all || has_rest)
            }
            Holder::Root(_) => false,
        };
        candidates.retain(|holder, one| may_be_another(holder, one));
        Some(Best {
            holder,
            candidate,
            others: candidates,
        })
    }

    /// Tells apart what nothing points to, what is a cycle, and what only a stack points to.
    fn end(
        &self,
        asked: &[usize],
        seen: &[bool],
        wanted: Reach,
        traits: &dyn Fn(u32) -> Traits,
    ) -> End {
        if wanted != Reach::Not {
            // Whatever is reached has something that points to it from outside, or is a root's.
            return End::Deeper;
        }
        // Take away what nothing points to, again and again; what is left is in cycles, or held
        // by them.
        let mut pointed: Vec<usize> = vec![0; self.objects.len()];
        let inside = (0..self.objects.len()).filter(|one| seen[*one]);
        let inside: Vec<usize> = inside.collect();
        for &object in &inside {
            let sources = self.references_to(object).iter();
            let sources = sources.filter_map(|edge| edge.from.number().ok());
            let sources: BTreeSet<usize> = sources.filter(|one| seen[*one]).collect();
            pointed[object] = sources.len();
        }
        let mut gone = vec![false; self.objects.len()];
        let free = inside.iter().copied();
        let mut free: Vec<usize> = free.filter(|one| pointed[*one] == 0).collect();
        while let Some(object) = free.pop() {
            gone[object] = true;
            for to in self.out_of(object) {
                if seen[to] && pointed[to] > 0 {
                    pointed[to] -= 1;
                    if pointed[to] == 0 {
                        free.push(to);
                    }
                }
            }
        }
        let lost = asked.iter().filter(|one| gone[**one]).count() as u64;
        let cyclic = asked.len() as u64 - lost;
        if lost >= cyclic {
            return End::Lost { of_asked: lost };
        }
        // The reference that most objects of the cycles have.
        let mut back: BTreeMap<(u32, u32, u32), BTreeSet<usize>> = BTreeMap::new();
        for &object in inside.iter().filter(|one| !gone[**one]) {
            for edge in self.references_to(object) {
                if let Ok(from) = edge.from.number()
                    && seen[from]
                    && !gone[from]
                    && self.is_around(from, object, seen)
                {
                    let Object { group, .. } = self.objects[from];
                    let to = self.objects[object].group;
                    back.entry((group, edge.at, to)).or_default().insert(from);
                }
            }
        }
        // Of those, one that can be a `Weak`, and that no container has: its elements are its own.
        // Objects that nothing counts, such as the nodes of a tree in C, are lost together.
        let can_be_weak = |((from, _, to), _): &(&(u32, u32, u32), _)| {
            let traits = traits(*to);
            traits.is_counted || traits.may_be_counted && from != to
        };
        let back = back.iter().filter(can_be_weak);
        let most = back.min_by_key(|((from, _, _), sources)| {
            (traits(*from).is_container, Reverse(sources.len()))
        });
        match most {
            Some((&(from, _, to), _)) => End::Cycle {
                of_asked: cyclic,
                from,
                to,
            },
            None => End::Lost {
                of_asked: lost + cyclic,
            },
        }
    }

    /// Returns whether a reference is part of a cycle of at most three objects, or may be one of a
    /// longer cycle.
    fn is_around(&self, from: usize, to: usize, seen: &[bool]) -> bool {
        const NEAR: usize = 64;
        let mut next = vec![to];
        let mut visited = BTreeSet::from([to]);
        while let Some(object) = next.pop() {
            if object == from {
                return true;
            }
            if visited.len() > NEAR {
                return true;
            }
            next.extend(
                self.out_of(object)
                    .filter(|to| seen[*to] && visited.insert(*to)),
            );
        }
        false
    }
}
