//! Writes one profile, or the growth between two, in each output format.

use std::io::{self, Write};

use anyhow::Context;
use plimsoll_core::report::units::{bytes, count, plural, size};
use plimsoll_core::report::view::collapse::Collapse;
use plimsoll_core::to_u64;
use plimsoll_profile::write::{self, Side};
use plimsoll_profile::{Calls, Frames, Granularity, Least, Measure, Names, Table, View};

use crate::args::{OutputArgs, WhatArgs};
use crate::gate::{Gate, Grown};
use crate::load::Loaded;
use crate::{graphviz, text};
use plimsoll_desk::atomic::{write_output, write_output_with};
use plimsoll_desk::out::Out;
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_report::render::tree;

/// How many nodes of the tree are considered for each printed line. If there are more, the
/// thinnest are added to their callers.
const WIDEST_FOR_A_LINE: usize = 100;

/// Prints the output, or writes it into the file of `--output`.
pub(crate) fn emit(
    args: &OutputArgs,
    out: &mut Out,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    match &args.output {
        Some(path) => write_output_with(path, write),
        None => Ok(out.print_with(write)?),
    }
}

/// Returns the measure that was asked for, or the only one that the profile has.
pub(crate) fn measure(args: &WhatArgs, sides: &[&Loaded]) -> anyhow::Result<Measure> {
    let asked = args.measure();
    for side in sides {
        let has = &side.profile.measures[..];
        // An empty profile has no values of any measure.
        if has.contains(&asked) || side.profile.is_empty() {
            continue;
        }
        if !args.measure_is_given()
            && let [only] = has
        {
            return Ok(*only);
        }
        let has: Vec<&str> = has.iter().map(|measure| measure.name()).collect();
        let hint = match asked {
            Measure::AllocObjects | Measure::AllocSpace => {
                "\n  hint: jemalloc counts all that was ever allocated with `prof_accum:true` alone"
            }
            _ => "",
        };
        return Err(Refused::usage(format!(
            "expected a profile with {asked}, found that {} has {}{hint}",
            side.name,
            has.join(", ")
        )));
    }
    Ok(asked)
}

pub(crate) fn view<'a>(loaded: &'a Loaded, what: &WhatArgs, names: &mut Names) -> View<'a> {
    let frames = match what.all_frames {
        true => Frames::All,
        false => Frames::Folded,
    };
    let (profile, filter) = (&loaded.profile, what.filter());
    View::new(profile, what.granularity(), frames, &filter, names)
}

/// Returns words for a measure, such as `live bytes`.
pub(crate) fn what(measure: Measure) -> &'static str {
    match measure {
        Measure::InuseSpace => "live bytes",
        Measure::InuseObjects => "live objects",
        Measure::AllocSpace => "bytes ever allocated",
        Measure::AllocObjects => "objects ever allocated",
    }
}

/// The content of the output: one profile, or the growth between two.
pub(crate) struct Heap<'a> {
    title: String,
    sides: Vec<&'a Loaded>,
    views: Vec<View<'a>>,
    names: Names,
    measure: Measure,
    drop_negative: bool,
    has_all_frames: bool,
}

impl<'a> Heap<'a> {
    /// Prepares one profile, or the growth from one to another.
    pub(crate) fn of(
        sides: Vec<&'a Loaded>,
        args: &WhatArgs,
        measure: Measure,
        drop_negative: bool,
    ) -> Self {
        let mut names = Names::default();
        let views = sides.iter().map(|side| view(side, args, &mut names));
        Heap {
            title: match sides.as_slice() {
                [before, after] => {
                    let (before, after) = (&before.name, &after.name);
                    format!("growth of {} from {before} to {after}", what(measure))
                }
                sides => format!("{} of {}", what(measure), sides[0].name),
            },
            views: views.collect(),
            sides,
            names,
            measure,
            drop_negative,
            has_all_frames: args.all_frames || args.granularity() == Granularity::Addresses,
        }
    }

    /// Fails if a condition holds, and names each that does.
    pub(crate) fn check(&self, conditions: &[Gate]) -> anyhow::Result<()> {
        match self.holding(conditions) {
            holding if holding.is_empty() => Ok(()),
            holding => Err(Refused::with_status(ExitStatus::Regressed, holding)),
        }
    }

    /// Returns a line for each condition that holds.
    pub(crate) fn holding(&self, conditions: &[Gate]) -> String {
        if conditions.is_empty() {
            return String::new();
        }
        let grown = Grown {
            calls: &self.calls(),
            names: &self.names,
            measure: self.measure,
            drop_negative: self.drop_negative,
        };
        let holding = conditions.iter().filter_map(|gate| gate.holds(grown));
        holding.collect::<Vec<String>>().join("\n")
    }

    fn is_growth(&self) -> bool {
        self.sides.len() > 1
    }

    pub(crate) fn calls(&self) -> Calls<'_> {
        match self.views.as_slice() {
            [before, after] => Calls::between(before, after),
            views => Calls::of(&views[0]),
        }
    }

    /// Formats a value for people. A growth has a sign.
    fn say(&self, value: f64) -> String {
        match self.is_growth() || value < 0.0 {
            true => signed(self.measure, value),
            false => unsigned(self.measure, value),
        }
    }

    pub(crate) fn output(&self, args: &OutputArgs, out: &mut Out) -> anyhow::Result<()> {
        self.packed(args)?;
        let is_table = !(args.tree || args.folded || args.json || args.dot);
        let prints = !args.is_of_files();
        // The table of one profile needs no merged stacks, of which there may be many.
        let needs_calls = args.has_pictures() || prints && (!is_table || self.is_growth());
        let calls = needs_calls.then(|| self.calls());
        let gains = calls
            .as_ref()
            .map(|calls| calls.gains(self.measure, self.drop_negative));
        let merged = calls.as_ref().zip(gains.as_deref());

        if let Some((calls, gains)) = merged {
            self.pictures(args, calls, gains)?;
        }
        if !prints {
            return Ok(());
        }
        let printed = match merged {
            Some((calls, gains)) if args.folded => {
                return emit(args, out, |to| write::folded(to, calls, gains, &self.names));
            }
            Some((calls, gains)) if args.json => {
                return emit(args, out, |to| self.json(to, calls, gains));
            }
            Some((calls, gains)) if args.dot => self.dot(calls, gains),
            Some((calls, gains)) if args.tree => self.tree(calls, gains, out, args),
            _ => self.table(args, merged, out),
        };
        emit(args, out, |to| to.write_all(printed.as_bytes()))
    }

    /// Writes pprof's format, if it was asked for.
    pub(crate) fn packed(&self, args: &OutputArgs) -> anyhow::Result<()> {
        match &args.pprof {
            Some(path) => write_output_with(path, |file| self.pprof(file)),
            None => Ok(()),
        }
    }

    /// Draws the pictures that were asked for.
    pub(crate) fn pictures(
        &self,
        args: &OutputArgs,
        calls: &Calls<'_>,
        gains: &[f64],
    ) -> anyhow::Result<()> {
        if let Some(path) = &args.flamegraph {
            let unit = match self.measure.is_space() {
                true => "bytes",
                false => "objects",
            };
            let total: f64 = gains.iter().sum();
            let svg = write::flamegraph(
                calls,
                gains,
                self.is_growth(),
                &self.names,
                &self.title,
                &self.say(total),
                unit,
            )
            .context("the flame graph")?;
            write_output(path, svg)?;
        }
        for (path, format) in [(&args.svg, "svg"), (&args.pdf, "pdf")] {
            if let Some(path) = path {
                write_output(path, graphviz::draw(&self.dot(calls, gains), format)?)?;
            }
        }
        Ok(())
    }

    fn pprof(&self, to: &mut dyn Write) -> io::Result<()> {
        let comments = [self.title.as_str()];
        match self.views.as_slice() {
            [before, after] => write::pprof(to, Some(before), after, &comments),
            views => write::pprof(to, None, &views[0], &comments),
        }
    }

    fn dot(&self, calls: &Calls<'_>, gains: &[f64]) -> String {
        let say = |value: f64| self.say(value);
        write::dot(calls, gains, &self.names, &self.title, say)
    }

    fn json(&self, to: &mut dyn Write, calls: &Calls<'_>, gains: &[f64]) -> io::Result<()> {
        let side = |side: &&'a Loaded| Side {
            name: &side.name,
            profile: &side.profile,
        };
        let sides: Vec<Side<'_>> = self.sides.iter().map(side).collect();
        let version = env!("CARGO_PKG_VERSION");
        let measure = self.measure;
        write::json(to, &sides, calls, gains, measure, &self.names, version)
    }

    fn tree(&self, calls: &Calls<'_>, gains: &[f64], out: &Out, args: &OutputArgs) -> String {
        let lines = match args.top {
            0 => usize::MAX,
            top => top,
        };
        let least = Least::Widest(lines.saturating_mul(WIDEST_FOR_A_LINE));
        let mut stacks: Vec<(Vec<String>, f64)> = Vec::new();
        for sign in [1.0, -1.0] {
            for (stack, gain) in calls.wide(gains, sign, least) {
                let names = stack.iter().map(|name| self.names.get(*name).to_owned());
                stacks.push((names.collect(), sign * gain));
            }
        }
        // Whose crates they are is not known.
        let plumbing = Collapse::default();
        let drawn = tree::of_stacks(
            &stacks,
            self.is_growth(),
            (!self.has_all_frames).then_some(&plumbing),
            lines,
            out.columns().unwrap_or(100),
            &|value| self.say(value),
        );
        format!("{}\n\n{drawn}\n", self.title)
    }

    fn table(&self, args: &OutputArgs, merged: Option<(&Calls<'_>, &[f64])>, out: &Out) -> String {
        let merged = merged.filter(|_| self.is_growth());
        let table = match merged {
            Some((calls, gains)) => Table::of_calls(calls, gains, args.cum, &self.names),
            None => Table::of(&self.views[0], self.measure, args.cum, &self.names),
        };
        let mut lines = vec![self.title.clone(), self.sum(&table, merged)];
        lines.push(String::new());
        lines.extend(text::table(
            &table,
            args.top,
            out.columns(),
            &self.names,
            |value| self.say(value),
        ));
        lines.join("\n") + "\n"
    }

    /// Returns a line with the total and, if the profile was sampled, the sample interval.
    fn sum(&self, table: &Table, merged: Option<(&Calls<'_>, &[f64])>) -> String {
        let stacks = |n: usize| plural(n as u64, "stack", "stacks");
        let mut sum = match merged {
            Some((_, gains)) => {
                let side = |wanted: fn(&f64) -> bool| {
                    let gains = || gains.iter().copied().filter(wanted);
                    (gains().sum::<f64>(), gains().count())
                };
                let (grew, growing) = side(|gain| *gain > 0.0);
                let (shrank, shrinking) = side(|gain| *gain < 0.0);
                let mut parts = Vec::new();
                if growing > 0 {
                    let grew = unsigned(self.measure, grew);
                    parts.push(format!("{} grew by {grew}", stacks(growing)));
                }
                if shrinking > 0 {
                    let shrank = unsigned(self.measure, shrank);
                    parts.push(format!("{} shrank by {shrank}", stacks(shrinking)));
                }
                match parts.is_empty() {
                    true => "nothing grew and nothing shrank".to_owned(),
                    false => format!("{}: {} in all", parts.join(", "), self.say(table.total)),
                }
            }
            None => format!("{} on {}", self.say(table.total), stacks(table.stacks)),
        };
        let sampled = self.sides.iter().filter_map(|side| {
            let interval = side.profile.sample_interval?;
            (!interval.is_exact()).then(|| interval.bytes())
        });
        if let Some(interval) = sampled.max() {
            let interval = size(interval);
            sum.push_str(&format!("; estimated, of one sample every {interval}"));
        }
        sum
    }
}

/// Formats a value for people, with a sign unless it is zero.
pub(crate) fn signed(measure: Measure, value: f64) -> String {
    let size = unsigned(measure, value);
    match value {
        _ if matches!(size.as_str(), "0 B" | "0") => size,
        value if value < 0.0 => format!("-{size}"),
        _ => format!("+{size}"),
    }
}

/// Formats a value for people, without a sign.
fn unsigned(measure: Measure, value: f64) -> String {
    if measure.is_space() {
        return bytes(value.abs());
    }
    count(to_u64(value.abs().round()))
}
