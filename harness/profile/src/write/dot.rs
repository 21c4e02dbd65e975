//! Writes a call graph in Graphviz's language.

use std::collections::{BTreeMap, BTreeSet};

use crate::calls::Calls;
use crate::table::Table;
use crate::view::{NameId, Names};

/// The most nodes that are drawn: those with the greatest values. As jeprof has it, and so are
/// the following.
const NODES: usize = 80;
/// The share of the total that a node must hold to be drawn.
const NODE_FRACTION: f64 = 0.005;
/// The share of the total that an edge must carry to be drawn.
const EDGE_FRACTION: f64 = 0.001;

/// Writes the call graph. `say` formats a number with its unit. In a recursive stack, a name
/// and an edge count once.
pub fn dot(
    calls: &Calls<'_>,
    gains: &[f64],
    names: &Names,
    title: &str,
    say: impl Fn(f64) -> String,
) -> String {
    let gaining = || gains.iter().enumerate().filter(|(_, gain)| **gain != 0.0);
    let total: f64 = gains.iter().map(|gain| gain.abs()).sum();
    let mut shown = Table::of_calls(calls, gains, true, names).rows;
    shown.retain(|row| row.cum.abs() >= NODE_FRACTION * total);
    shown.sort_by(|one, two| {
        let order = two.cum.abs().total_cmp(&one.cum.abs());
        order.then_with(|| names.get(one.name).cmp(names.get(two.name)))
    });
    shown.truncate(NODES);
    let drawn = shown.iter().map(|row| row.name);
    let numbers: BTreeMap<NameId, usize> = drawn.zip(1..).collect();

    // Only edges between drawn nodes: in all, there may be a hundred times as many.
    let mut edges: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (stack, gain) in gaining() {
        let frames = calls.root_first(stack).map(|name| numbers.get(&name));
        let pairs = frames.clone().zip(frames.skip(1));
        let drawn = pairs.filter_map(|(caller, callee)| Some((*caller?, *callee?)));
        for pair in drawn.collect::<BTreeSet<_>>() {
            *edges.entry(pair).or_default() += gain;
        }
    }

    let percent = |value: f64| match total > 0.0 {
        true => 100.0 * value / total,
        false => 0.0,
    };
    let mut out = String::from("digraph \"heap\" {\n");
    out.push_str("node [shape=box fontname=\"monospace\" style=filled fillcolor=\"#f8f8f8\"];\n");
    out.push_str(&format!(
        "legend [shape=note fontsize=16 label={}];\n",
        quoted(&format!("{title}\n{} in all", say(gains.iter().sum())))
    ));
    for (number, held) in (1..).zip(&shown) {
        let mut label = format!("{}\n{}", names.get(held.name), say(held.flat));
        label.push_str(&format!(" ({:.1} %)", percent(held.flat)));
        if (held.cum - held.flat).abs() > 0.0 {
            let (cum, percent) = (say(held.cum), percent(held.cum));
            label.push_str(&format!("\nof {cum} ({percent:.1} %)"));
        }
        // As in pprof, the area of a node shows its own value.
        let size = 8.0 + 24.0 * (percent(held.flat).abs() / 100.0).sqrt();
        out.push_str(&format!(
            "n{number} [label={} fontsize={size:.0} fillcolor=\"{}\"];\n",
            quoted(&label),
            color(held.cum, percent(held.cum)),
        ));
    }
    for ((from, to), gain) in edges {
        if gain.abs() < EDGE_FRACTION * total {
            continue;
        }
        let width = 1.0 + 5.0 * percent(gain).abs() / 100.0;
        out.push_str(&format!(
            "n{from} -> n{to} [label={} penwidth={width:.1}{}];\n",
            quoted(&say(gain)),
            if gain < 0.0 { " style=dashed" } else { "" }
        ));
    }
    out.push_str("}\n");
    out
}

/// Returns a colour from white to red for what is held or gained, and to blue for what was
/// lost.
fn color(value: f64, percent: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "at most 120")]
    #[expect(clippy::cast_sign_loss, reason = "an absolute value")]
    let shade = (percent.abs().min(100.0) * 1.2) as u8;
    let pale = 245 - shade;
    match value < 0.0 {
        true => format!("#{pale:02x}{pale:02x}f5"),
        false => format!("#f5{pale:02x}{pale:02x}"),
    }
}

/// Returns a text as a string of Graphviz's language: the two special characters are escaped,
/// lines are centred, and characters that a renderer may reject are replaced.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push_str("\\n");
        }
        let line = plimsoll_core::flamegraph::shown(line);
        for char in line.chars() {
            match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                char => out.push(char),
            }
        }
    }
    out + "\""
}
