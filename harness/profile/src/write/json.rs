//! Writes JSON for programs. docs/show.md and a schema describe it.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::{Map, Value, json};

use crate::calls::{Calls, Held};
use crate::profile::{Measure, Profile, Values};
use crate::view::Names;

/// The version of the JSON format.
const VERSION: u64 = 1;

/// One of the profiles.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Where the profile is from.
    pub name: &'a str,
    /// The profile.
    pub profile: &'a Profile,
}

/// Writes every stack, root first, with its values. For two profiles, writes the values in
/// both, and the growth.
///
/// Stacks are ordered by `measure`, greatest first, then by name. `plimsoll` is the version of
/// the program.
///
/// # Errors
///
/// If `out` cannot be written to.
pub fn json(
    out: &mut dyn Write,
    sides: &[Side<'_>],
    calls: &Calls<'_>,
    gains: &[f64],
    measure: Measure,
    names: &Names,
    plimsoll: &str,
) -> io::Result<()> {
    let is_growth = sides.len() > 1;
    let mut measures = Measure::ALL.to_vec();
    let counts = |side: &Side<'_>, measure: &Measure| side.profile.measures.contains(measure);
    measures.retain(|measure| sides.iter().any(|side| counts(side, measure)));
    let values = |values: &Values| -> Value {
        let all = measures.iter().map(|measure| {
            let number = values.get(*measure);
            (measure.name().to_owned(), json!(number))
        });
        Value::Object(all.collect::<Map<_, _>>())
    };

    // Stacks without any value in either profile are left out.
    let mut total = (Values::default(), Values::default());
    let mut stacks: Vec<u32> = Vec::new();
    for (number, stack) in (0..).zip(0..calls.len()) {
        let held = calls.held(stack);
        if held != Held::default() {
            stacks.push(number);
            total.0 += held.before;
            total.1 += held.after;
        }
    }
    // The names are not collected: if many stacks have equal values, the sort asks for each
    // name many times.
    let leaf_first = |stack: u32| calls.leaf_first(stack as usize).map(|name| names.get(name));
    let gain_of = |stack: u32| gains[stack as usize];
    stacks.sort_by(|one, two| {
        let wider = gain_of(*two).abs().total_cmp(&gain_of(*one).abs());
        wider.then_with(|| leaf_first(*one).cmp(leaf_first(*two)))
    });
    let stack = |stack: &u32| {
        let number = *stack as usize;
        let root_first = calls.root_first(number).map(|name| names.get(name));
        let (names, held) = (root_first.collect::<Vec<&str>>(), calls.held(number));
        match is_growth {
            true => json!({
                "stack": names,
                "before": values(&held.before),
                "after": values(&held.after),
                "growth": gain_of(*stack),
            }),
            false => json!({ "stack": names, "values": values(&held.after) }),
        }
    };
    let profile = |side: &Side<'_>| {
        json!({
            "name": side.name,
            "sample_interval": side.profile.sample_interval.map(|interval| interval.bytes()),
            "stacks": side.profile.len(),
            "notes": side.profile.notes,
        })
    };
    let whole = Whole {
        kind: if is_growth { "growth" } else { "heap" },
        measure: measure.name(),
        plimsoll,
        profiles: sides.iter().map(profile).collect(),
        stacks: &Each(&stacks, stack),
        total: match is_growth {
            true => json!({
                "before": values(&total.0),
                "after": values(&total.1),
                "growth": gains.iter().sum::<f64>(),
            }),
            false => values(&total.1),
        },
        version: VERSION,
    };
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    writeln!(out)
}

/// The whole document. Its fields are in alphabetical order, as the keys of all objects.
#[derive(Serialize)]
struct Whole<'a, S> {
    kind: &'a str,
    measure: &'a str,
    plimsoll: &'a str,
    profiles: Vec<Value>,
    stacks: &'a S,
    total: Value,
    version: u64,
}

/// A list that is made into JSON item by item while it is written, because there may be a
/// million items.
struct Each<'a, T, F>(&'a [T], F);

impl<T, F: Fn(&T) -> Value> Serialize for Each<'_, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}
