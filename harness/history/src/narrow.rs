//! Narrows a row of candidates down to the place where the answer changes. Pure.
//!
//! ```text
//! first  .  .  x  .  .  .  last       the two ends are known, `x` gives no answer
//!              └─ whichever is asked next, each answer leaves half of them
//! ```

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask this candidate.
    Ask(usize),
    /// The first candidate that answers like the last one. The one before it answers like the
    /// first.
    Found(usize),
    /// The change is at one of these. All but the last of them gave no answer.
    OneOf(RangeInclusive<usize>),
}

/// A row of candidates. They are named by their indices.
#[derive(Clone, Debug)]
pub(crate) struct Narrow {
    /// The last candidate known to answer like the first.
    low: usize,
    /// The first candidate known to answer like the last.
    high: usize,
    silent: BTreeSet<usize>,
}

impl Narrow {
    /// Creates a row of this many candidates, of which the first and the last differ.
    pub(crate) fn new(candidates: usize) -> Narrow {
        Narrow {
            low: 0,
            high: candidates.saturating_sub(1),
            silent: BTreeSet::new(),
        }
    }

    /// Returns the candidates that can still be asked.
    fn unasked(&self) -> Vec<usize> {
        (self.low + 1..self.high)
            .filter(|at| !self.silent.contains(at))
            .collect()
    }

    /// Returns how many candidates can be asked, and about how many need to be.
    pub(crate) fn left(&self) -> (usize, usize) {
        let unasked = self.unasked().len();
        let steps = (unasked + 1).next_power_of_two().trailing_zeros();
        (unasked, steps as usize)
    }

    /// Returns the next candidate to ask, or the result.
    ///
    /// If the answer may change at `n` places, there are ⌈log2 n⌉ questions, and one more for
    /// each candidate that gives no answer.
    pub(crate) fn next(&self) -> Next {
        let unasked = self.unasked();
        if unasked.is_empty() {
            return match self.high - self.low {
                0 | 1 => Next::Found(self.high),
                _ => Next::OneOf(self.low + 1..=self.high),
            };
        }
        // As many candidates are left on the one side as on the other. Any other choice breaks
        // the promise for some positions of the candidates that give no answer.
        Next::Ask(unasked[unasked.len() / 2])
    }

    /// Adds whether a candidate answers like the first, or else like the last; `None` if it gives
    /// no answer.
    pub(crate) fn tell(&mut self, candidate: usize, is_as_first: Option<bool>) {
        match is_as_first {
            Some(true) => self.low = self.low.max(candidate),
            Some(false) => self.high = self.high.min(candidate),
            None => {
                self.silent.insert(candidate);
            }
        }
    }
}

/// Returns the first candidate for which `can` is true, if `can` is true for all after it.
/// Otherwise returns one for which `can` is true and which is the first, or follows one for
/// which it is false. Returns `None` if `can` is false for the last.
///
/// The search steps out, each step twice as long as the one before, and then halves the last
/// interval. So a candidate near the start is found soon.
pub(crate) fn first_that<E>(
    candidates: usize,
    mut can: impl FnMut(usize) -> Result<bool, E>,
) -> Result<Option<usize>, E> {
    let (mut low, mut at, mut step) = (0, 0, 1);
    if candidates == 0 {
        return Ok(None);
    }
    while !can(at)? {
        low = at + 1;
        if low == candidates {
            return Ok(None);
        }
        at = (at + step).min(candidates - 1);
        step *= 2;
    }
    let mut high = at;
    while low < high {
        let middle = low.midpoint(high);
        match can(middle)? {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(Some(high))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the result for these answers, and the candidates that were asked.
    #[track_caller]
    fn narrowed(says: &[Option<bool>]) -> (Next, Vec<usize>) {
        let mut narrow = Narrow::new(says.len());
        let mut asked = Vec::new();
        loop {
            match narrow.next() {
                Next::Ask(at) => {
                    assert!(!asked.contains(&at), "{at} is asked again: {asked:?}");
                    asked.push(at);
                    narrow.tell(at, says[at]);
                }
                done => return (done, asked),
            }
        }
    }

    /// Parses a row such as `f.x.l`: `f` answers like the first, `l` like the last, and
    /// anything else gives no answer.
    fn row(text: &str) -> Vec<Option<bool>> {
        let says = |letter| match letter {
            'f' => Some(true),
            'l' => Some(false),
            _ => None,
        };
        text.chars().map(says).collect()
    }

    #[test]
    fn the_middle_is_asked_first() {
        assert_eq!(narrowed(&row("fl")), (Next::Found(1), vec![]));
        assert_eq!(
            narrowed(&row("ffffffflll")),
            (Next::Found(7), vec![5, 7, 6])
        );
        assert_eq!(narrowed(&row("fllllllll")), (Next::Found(1), vec![4, 2, 1]));
    }

    #[test]
    fn what_says_nothing_is_told_apart_where_it_can_be() {
        assert_eq!(narrowed(&row("fxffl")).0, Next::Found(4));
        assert_eq!(narrowed(&row("fxxxl")).0, Next::OneOf(1..=4));
        assert_eq!(narrowed(&row("ffxll")).0, Next::OneOf(2..=3));
    }

    proptest! {
        #[test]
        fn the_first_that_can_is_found_soon(can in proptest::collection::vec(proptest::bool::ANY, 0..80)) {
            let mut asked = Vec::new();
            let found = first_that(can.len(), |at| {
                asked.push(at);
                Ok::<bool, ()>(can[at])
            });
            match found.unwrap() {
                None => prop_assert!(!can.last().copied().unwrap_or(false)),
                Some(at) => prop_assert!(can[at] && (at == 0 || !can[at - 1])),
            }
        }

        #[test]
        fn few_are_asked(cannot in 0..2_000_usize, can in 0..2_000_usize) {
            let mut asked = 0;
            let found = first_that(cannot + can, |at| {
                asked += 1;
                Ok::<bool, ()>(at >= cannot)
            });
            prop_assert_eq!(found.unwrap(), (can > 0).then_some(cannot));
            prop_assert!(asked <= 2 + 2 * (cannot + 1).ilog2(), "{}", asked);
        }
    }

    /// Rows in which the answer changes once, with and without candidates that give no answer.
    fn rows() -> impl Strategy<Value = Vec<Option<bool>>> {
        let of = |count: usize| {
            let silent = proptest::collection::vec(proptest::bool::weighted(0.3), count);
            (1..count, silent, proptest::bool::ANY)
        };
        (2_usize..150)
            .prop_flat_map(of)
            .prop_map(|(change, silent, some_silent)| {
                let count = silent.len();
                let says = |(at, silent)| match at {
                    0 => Some(true),
                    _ if at + 1 == count => Some(false),
                    _ if silent && some_silent => None,
                    _ if at < change => Some(true),
                    _ => Some(false),
                };
                silent.into_iter().enumerate().map(says).collect()
            })
    }

    proptest! {
        #[test]
        fn the_change_is_found_in_few_steps(says in rows()) {
            let last_as_first = says.iter().rposition(|one| *one == Some(true)).unwrap();
            let first_as_last = says.iter().position(|one| *one == Some(false)).unwrap();
            let (next, asked) = narrowed(&says);
            let expected = match first_as_last - last_as_first {
                1 => Next::Found(first_as_last),
                _ => Next::OneOf(last_as_first + 1..=first_as_last),
            };
            prop_assert_eq!(next, expected);
            let silent = asked.iter().filter(|at| says[**at].is_none()).count();
            // ⌈log2 n⌉ questions for n places at which the answer may change.
            let places = says.len() - 1;
            let log2 = places.next_power_of_two().trailing_zeros() as usize;
            prop_assert!(asked.len() <= log2 + silent, "{:?}", asked);
        }

        #[test]
        fn what_is_found_is_a_change(says in proptest::collection::vec(
            prop_oneof![Just(Some(true)), Just(Some(false)), Just(None)], 0..60
        )) {
            let mut row = vec![Some(true)];
            row.extend(says);
            row.push(Some(false));
            let (before, after, between) = match narrowed(&row).0 {
                Next::Found(at) => (at - 1, at, 0..0),
                Next::OneOf(range) => (range.start() - 1, *range.end(), *range.start()..*range.end()),
                Next::Ask(_) => unreachable!(),
            };
            prop_assert_eq!(row[before], Some(true));
            prop_assert_eq!(row[after], Some(false));
            prop_assert!(row[between].iter().all(Option::is_none));
        }
    }
}
