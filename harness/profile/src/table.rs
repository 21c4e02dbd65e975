use crate::calls::Calls;
use crate::profile::Measure;
use crate::view::{NameId, Names, View};

/// The value of each name: on its own, and with all that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The rows, greatest first: by `flat`, then by `cum`, then by name. With `by_cum`, by
    /// `cum` first, then by `flat`.
    pub rows: Vec<Row>,
    /// The sum of all stacks.
    pub total: f64,
    /// The number of stacks that were added.
    pub stacks: usize,
}

/// One name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The number of the name in [`Names`].
    pub name: NameId,
    /// The sum of the stacks that have the name as their leaf.
    pub flat: f64,
    /// The sum of the stacks that contain the name. A stack that contains it repeatedly counts
    /// once.
    pub cum: f64,
}

/// Sums by name.
struct Sums {
    rows: Vec<Row>,
    /// For each name, the last stack that contained it, counted from 1.
    seen: Vec<usize>,
    /// The number of stacks so far.
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
        let names = u32::try_from(names.all().len()).unwrap_or(u32::MAX);
        Sums {
            rows: (0..names).map(row).collect(),
            seen: vec![0; names as usize],
            stack: 0,
            total: 0.0,
        }
    }

    /// Adds a stack. Its names are leaf first.
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
    /// Makes the table of one profile. Its stacks need not be merged first.
    pub fn of(view: &View<'_>, measure: Measure, by_cum: bool, names: &Names) -> Table {
        let mut sums = Sums::new(names);
        for stack in view.stacks() {
            sums.add(view.leaf_first(stack), view.values(stack).get(measure));
        }
        sums.table(names, by_cum)
    }

    /// Makes the table of merged stacks: of the values of one profile, or of the gains between
    /// two. Stacks with a gain of 0 do not count.
    pub fn of_calls(calls: &Calls<'_>, gains: &[f64], by_cum: bool, names: &Names) -> Table {
        let mut sums = Sums::new(names);
        for (stack, gain) in gains.iter().enumerate().filter(|(_, gain)| **gain != 0.0) {
            sums.add(calls.leaf_first(stack), *gain);
        }
        sums.table(names, by_cum)
    }
}
