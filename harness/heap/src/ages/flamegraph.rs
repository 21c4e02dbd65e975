//! A flame graph in which colour is age.

use std::collections::BTreeMap;

use anyhow::Context;
use plimsoll_core::ages::Birth;
use plimsoll_core::report::units::duration;
use plimsoll_profile::write;

use super::Ages;

/// Sums over the stacks that contain a frame, with the same callers.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    /// The value multiplied by the age in seconds.
    aged: f64,
}

impl Ages<'_> {
    /// Draws live memory. The colour of a frame is the mean age of what its callees and it hold,
    /// and its name says it as well.
    pub(super) fn flamegraph(&self) -> anyhow::Result<String> {
        // The dump was taken in the youngest birth.
        let now = middle(self.youngest);
        let mut frames: BTreeMap<Vec<&str>, Sum> = BTreeMap::new();
        for stack in &self.stacks {
            let born = stack.born.iter().map(|(birth, born)| {
                let value = match self.measure.is_space() {
                    true => born.alive.bytes,
                    false => born.alive.objects,
                };
                (value, value * (now - middle(*birth)))
            });
            let (value, aged) = born.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            let names: Vec<&str> = stack.names.iter().rev().map(String::as_str).collect();
            for depth in 1..=names.len() {
                let frame = frames.entry(names[..depth].to_vec()).or_default();
                frame.value += value;
                frame.aged += aged;
            }
        }
        let age = |names: &[&str]| match frames.get(names) {
            Some(sum) if sum.value > 0.0 => sum.aged / sum.value,
            _ => 0.0,
        };
        let stacks = self.stacks.iter().map(|stack| {
            let names: Vec<&str> = stack.names.iter().rev().map(String::as_str).collect();
            let aged = (1..=names.len()).map(|depth| {
                let age = age(&names[..depth]);
                let name = format!("{} ({})", names[depth - 1], duration(age));
                (name, age / now.max(f64::MIN_POSITIVE))
            });
            (aged.collect(), stack.live(self.measure))
        });
        let unit = match self.measure.is_space() {
            true => "bytes",
            false => "objects",
        };
        let subtitle = format!(
            "colour is the mean age, from yellow (just born) through orange (evenly from all of \
             the uptime) to violet ({}, since the start)",
            duration(now)
        );
        write::flamegraph_of_ages(&stacks.collect::<Vec<_>>(), &self.title(), &subtitle, unit)
            .context("the flame graph")
    }
}

fn middle(birth: Birth) -> f64 {
    f64::midpoint(birth.start(), birth.end())
}
