use crate::calls::Calls;
use crate::profile::Measure;
use crate::view::{NameId, Names, View};

/// What stands on each name: by itself, and with all that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The greatest first, by what it holds itself; of equal ones, by what it holds
    /// with its callees, then by name.
    pub rows: Vec<Row>,
    /// Of all stacks.
    pub total: f64,
    /// How many those are.
    pub stacks: usize,
}

/// One name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its number.
    pub name: NameId,
    /// Of stacks with it as their leaf.
    pub flat: f64,
    /// Of stacks with it anywhere, each counted once however often it stands in it.
    pub cum: f64,
}

/// Sums by name.
struct Sums {
    rows: Vec<Row>,
    /// The last stack that had the name, from 1.
    seen: Vec<usize>,
    /// How many there were.
    stack: usize,
    total: f64,
}

impl Sums {
    fn new(names: &Names) -> Self {
        let row = |name| Row {
            name: NameId(name),
            flat: 0.0,
            cum: 0.0,
        };
        let names = u32::try_from(names.len()).unwrap_or(u32::MAX);
        Sums {
            rows: (0..names).map(row).collect(),
            seen: vec![0; names as usize],
            stack: 0,
            total: 0.0,
        }
    }

    /// Leaf first.
    fn add(&mut self, stack: impl Iterator<Item = NameId>, value: f64) {
        self.stack += 1;
        self.total += value;
        for (depth, name) in stack.enumerate() {
            let place = name.0 as usize;
            if depth == 0 {
                self.rows[place].flat += value;
            }
            if self.seen[place] != self.stack {
                self.seen[place] = self.stack;
                self.rows[place].cum += value;
            }
        }
    }

    fn table(self, names: &Names, by_cum: bool) -> Table {
        let mut rows = self.rows;
        let mut seen = self.seen.iter();
        rows.retain(|_| seen.next() != Some(&0));
        let key = |row: &Row| match by_cum {
            true => (row.cum.abs(), row.flat.abs()),
            false => (row.flat.abs(), row.cum.abs()),
        };
        rows.sort_by(|one, two| {
            let (a, b) = (key(one), key(two));
            b.0.total_cmp(&a.0)
                .then(b.1.total_cmp(&a.1))
                .then_with(|| names.get(one.name).cmp(names.get(two.name)))
        });
        Table {
            rows,
            total: self.total,
            stacks: self.stack,
        }
    }
}

impl Table {
    /// Of one profile, whose stacks need not be kept for that.
    pub fn of(view: &View<'_>, measure: Measure, by_cum: bool, names: &Names) -> Table {
        let mut sums = Sums::new(names);
        for stack in view.stacks() {
            sums.add(view.leaf_first(stack), view.values(stack).get(measure));
        }
        sums.table(names, by_cum)
    }

    /// Of merged stacks: what they hold, or, of two profiles, what they gained.
    pub fn of_calls(calls: &Calls<'_>, gains: &[f64], by_cum: bool, names: &Names) -> Table {
        let mut sums = Sums::new(names);
        for (stack, gain) in gains.iter().enumerate().filter(|(_, gain)| **gain != 0.0) {
            sums.add(calls.leaf_first(stack), *gain);
        }
        sums.table(names, by_cum)
    }
}
