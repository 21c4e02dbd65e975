//! The flame graph as text, which every mail client can show.
//!
//! ```text
//! grew +50 B per iteration
//! 100 %     +50 B ████████ demo::main
//!                          › http::serve
//!  96 %     +48 B ███████▋ ├ http::parse_headers
//!                          │ › alloc::push
//!   4 %      +2 B ▎        └ log::Logger::log
//! ```
//!
//! If the profile is sampled, each number has its error beside it: `+48 B ± 3 B`. The root
//! comes first, and the widest branch comes first. A frame with one caller and one callee
//! stands below its caller, behind `›`. A run of frames that say little is one line: `… 26 frames
//! of tokio`. Frames on both sides of a fork are no part of a run, unless they are plumbing.
//!
//! If the graph does not fit, side branches list only the frames that tell most. Next, thin
//! branches are left out, and last the middle of chains. The widest path keeps its leaf.
//!
//! A *tower* is one of the two parts of the graph: the stacks that grew, or those that shrank.
//! A *chain* is a list of frames without branches.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::AddAssign;

use plimsoll_core::Rate;
use plimsoll_core::blame::is_plumbing;
use plimsoll_core::report::units::{self, give_or_take, plural, signed_bytes};
use plimsoll_core::report::view::collapse::{Collapse, Part, Telling, frames_of, parts};
use plimsoll_core::report::{Report, Subject};
use plimsoll_core::text::escape;

use plimsoll_core::text::sink::cut;

/// The most lines of the whole text.
const MAX_LINES: usize = 40;
/// The most columns of a line.
pub(super) const WIDTH: usize = 100;
/// The least share of a tower that a branch needs to be shown, in percent; thinner branches
/// are counted. The first value with which the tower fits is used.
const THINNEST: [u64; 6] = [2, 5, 10, 25, 50, 90];
/// The most lines of a chain on the widest path, and the weight in percent that a chain may
/// lose from its first frame to its last. The first pair with which the tower fits is used.
/// What a chain loses is not counted.
const CHAINS: [(usize, u128); 7] = [
    (usize::MAX, 0),
    (20, 0),
    (10, 0),
    (5, 0),
    (5, 2),
    (3, 5),
    (3, 20),
];
/// The most frames of one stack. jemalloc cuts stacks at 128 addresses, each of a few inlined
/// frames. The tree needs a limit of its own, because it is walked and dropped by recursion.
const MAX_DEPTH: usize = 500;
/// The columns of percentage, bytes and bar.
const GUTTER: usize = 26;
/// The columns of the error, if the profile is sampled.
const ERROR: usize = 12;
/// The most columns of indentation. Deeper branches are not told apart.
const MAX_INDENT: usize = 30;
/// Blocks that are 0 to 7 eighths of a character wide.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const BAR: usize = 8;

/// A frame, and all that it calls.
#[derive(Default)]
struct Node<'a> {
    callees: BTreeMap<&'a str, Node<'a>>,
    weight: Weight,
    /// The most that the frame tells in any of its stacks.
    telling: Telling,
}

/// A rate and its error, both as sums of several stacks.
#[derive(Clone, Copy, Default)]
struct Weight {
    /// In millionths of a byte per iteration: a sum of integers does not depend on their
    /// order.
    millionths: u128,
    /// The square of the error, in bytes per iteration. Errors are independent, so their
    /// squares add up.
    variance: f64,
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.millionths += other.millionths;
        self.variance += other.variance;
    }
}

/// A chain of frames with about the same weight, and the callees of its last frame.
struct Chain<'a> {
    names: Vec<&'a str>,
    telling: Vec<Telling>,
    weight: Weight,
    callees: Vec<Chain<'a>>,
    thin: Thin,
}

/// Callees that are too thin to be shown.
#[derive(Clone, Copy, Default)]
struct Thin {
    count: u64,
    weight: Weight,
}

struct Room<'a> {
    style: &'a Style<'a>,
    total: u128,
    grew: bool,
    /// The most lines of a chain on the widest path.
    chain: usize,
    /// The least that a listed frame of another chain tells.
    side: Telling,
    /// Whether branches that are too thin are counted.
    counts_thin: bool,
    lines: Vec<String>,
}

/// How numbers are written, and how wide a line may be.
struct Style<'a> {
    width: usize,
    /// The words behind a sum.
    per: &'a str,
    /// Whether errors are shown.
    is_sampled: bool,
    /// Which frames are listed. `None` lists all.
    collapse: Option<&'a Collapse<'a>>,
    say: &'a dyn Fn(f64) -> String,
}

/// Which parts of a tower are shown.
#[derive(Clone, Copy)]
struct Least {
    /// The least weight of a branch.
    weight: u128,
    /// The weight that a chain may lose, in percent.
    loss: u128,
}

/// Returns both towers, or `None` if nothing grew and nothing shrank. The text belongs into a
/// fenced block, because it is not escaped for markdown.
pub(super) fn render(report: &Report) -> Option<String> {
    of_report(report, MAX_LINES, WIDTH)
}

/// Returns both towers in at most `most` lines of `width` columns.
pub fn of_report(report: &Report, most: usize, width: usize) -> Option<String> {
    let per = format!(" per {}", report.per.one());
    let collapse = report.collapse();
    let style = Style {
        width,
        per: &per,
        is_sampled: report.is_sampled(),
        collapse: Some(&collapse),
        say: &signed_bytes,
    };
    let towers = towers(&stacks(report), true, most, &style);
    (!towers.is_empty()).then(|| towers.join("\n\n"))
}

/// Returns the towers of any stacks, which are root first and have the amount that each holds
/// or has gained. `say` writes a number with its unit; if the numbers are growth, also with
/// its sign.
///
/// Without `collapse`, every frame is listed.
pub fn of_stacks(
    stacks: &[(Vec<String>, f64)],
    is_growth: bool,
    collapse: Option<&Collapse<'_>>,
    most: usize,
    width: usize,
    say: &dyn Fn(f64) -> String,
) -> String {
    let style = Style {
        width,
        per: "",
        is_sampled: false,
        collapse,
        say,
    };
    let weighed = stacks.iter().map(|(frames, value)| Weighed {
        frames,
        rate: *value,
        error: 0.0,
    });
    let weighed: Vec<Weighed<'_>> = weighed.collect();
    match towers(&weighed, is_growth, most, &style) {
        towers if towers.is_empty() && is_growth => "nothing grew and nothing shrank".to_owned(),
        towers if towers.is_empty() => "nothing is there".to_owned(),
        towers => towers.join("\n\n"),
    }
}

/// Returns the towers of what grew and of what shrank, in that order.
fn towers(stacks: &[Weighed<'_>], is_growth: bool, most: usize, style: &Style<'_>) -> Vec<String> {
    let tower = |grew| tower(stacks, grew, style.collapse);
    let (grew, shrank) = (tower(true), tower(false));
    let most = match (grew.weight.millionths, shrank.weight.millionths) {
        (0, _) | (_, 0) => [most, most],
        // People seldom look for stacks that shrank, so these get a quarter of the lines.
        _ => [most - most / 4 - 1, most / 4],
    };
    let towers = [(grew, true), (shrank, false)].into_iter().zip(most);
    towers
        .filter(|((tower, _), _)| tower.weight.millionths > 0)
        .map(|((tower, grew), most)| {
            let word = match (is_growth, grew) {
                (false, true) => "",
                (_, true) => "grew ",
                (_, false) => "shrank ",
            };
            drawn(&tower, grew, word, most, style)
        })
        .collect()
}

/// Returns the share of all growth that the widest stack has, in percent; `None` if nothing
/// grew.
pub(super) fn share_of_widest(report: &Report) -> Option<u64> {
    let stacks = stacks(report).into_iter();
    // A report may have the same stack more than once.
    let mut merged: BTreeMap<&[String], u128> = BTreeMap::new();
    for stack in stacks.filter(|stack| stack.rate > 0.0) {
        *merged.entry(stack.frames).or_default() += millionths(stack.rate);
    }
    let total: u128 = merged.values().sum();
    let widest = merged.values().max()?;
    (total > 0).then(|| percent(*widest, total))
}

/// Returns the stack that grew most, leaf first: its listed frames, and what runs of others are.
pub(super) fn widest(report: &Report) -> Option<Vec<String>> {
    let stacks = stacks(report).into_iter();
    let grew = stacks.filter(|stack| stack.rate > 0.0 && !stack.frames.is_empty());
    let widest = grew.max_by_key(|stack| (millionths(stack.rate), Reverse(stack.frames)))?;
    let names: Vec<&str> = widest.frames.iter().rev().map(String::as_str).collect();
    Some(report.collapse().said(&names))
}

/// What one stack gains, in bytes per iteration.
struct Weighed<'a> {
    frames: &'a [String],
    rate: f64,
    /// The error of the rate; zero if the rate is exact.
    error: f64,
}

/// Returns the growth of every stack. If a report lists none, returns the growth of its
/// findings. Sites stand for their stacks only if no stack is a finding.
fn stacks<'a>(report: &'a Report) -> Vec<Weighed<'a>> {
    let weighed = |frames, rate: Rate, error: Option<Rate>| Weighed {
        frames,
        rate: rate.bytes,
        error: error.map_or(0.0, |error| error.bytes),
    };
    let found = |is_site: bool| {
        let findings = report.findings.iter();
        let findings =
            findings.filter(move |one| matches!(one.subject, Subject::Site { .. }) == is_site);
        findings.filter_map(move |one| {
            let frames = one.subject.stack()?.frames();
            Some(weighed(frames, one.rate, report.error_of(one)))
        })
    };
    let growth = report.growth.iter();
    let growth = growth.map(|one| weighed(one.stack.frames(), one.rate, one.error));
    let some = |mut stacks: Vec<Weighed<'a>>| {
        stacks.retain(|stack| millionths(stack.rate) > 0);
        Some(stacks).filter(|stacks| !stacks.is_empty())
    };
    some(growth.collect())
        .or_else(|| some(found(false).collect()))
        .or_else(|| some(found(true).collect()))
        .unwrap_or_default()
}

#[expect(clippy::cast_possible_truncation, reason = "cut to the range before")]
#[expect(clippy::cast_sign_loss, reason = "an absolute value")]
fn millionths(rate: f64) -> u128 {
    if !rate.is_finite() {
        return 0;
    }
    // A sum of 60,000 such numbers is far below the greatest `u128`.
    (rate.abs() * 1e6).round().min(1e30) as u128
}

fn tower<'a>(stacks: &[Weighed<'a>], grew: bool, collapse: Option<&Collapse<'_>>) -> Node<'a> {
    let mut root = Node::default();
    for stack in stacks {
        if (stack.rate > 0.0) != grew {
            continue;
        }
        let frames = stack.frames;
        let weight = Weight {
            millionths: millionths(stack.rate),
            variance: stack.error * stack.error,
        };
        root.weight += weight;
        let leaf_first: Vec<&str> = frames.iter().rev().map(String::as_str).collect();
        let telling = match collapse {
            Some(collapse) => collapse.telling(&leaf_first),
            None => vec![Telling::Most; frames.len()],
        };
        let too_many = frames.len().saturating_sub(MAX_DEPTH);
        let top = MAX_DEPTH / 5;
        let names = frames.iter().zip(telling.into_iter().rev()).enumerate();
        let mut node = &mut root;
        for (depth, (name, telling)) in names {
            // The root end says where a stack starts, and the leaf end what it allocates for,
            // so the frames between them are left out.
            let (name, telling) = match too_many {
                0 => (name.as_str(), telling),
                _ if depth == top => ("[…]", Telling::Most),
                n if (top..=top + n).contains(&depth) => continue,
                _ => (name.as_str(), telling),
            };
            node = node.callees.entry(name).or_default();
            node.weight += weight;
            node.telling = node.telling.max(telling);
        }
    }
    root
}

fn drawn(tower: &Node<'_>, grew: bool, word: &str, most: usize, style: &Style<'_>) -> String {
    let total = tower.weight.millionths;
    let (sum, error) = (style.say(total, grew), style.error(tower.weight.variance));
    let head = format!("{word}{sum}{error}{}", style.per);
    let most = most.max(2) - 1;
    let mut lines = Vec::new();
    let whole = (CHAINS[0], THINNEST[0], Telling::Some);
    let tries = CHAINS.into_iter().flat_map(|chain| {
        let thinnest = THINNEST.into_iter();
        thinnest.map(move |percent| (chain, percent, Telling::Most))
    });
    for ((chain, loss), percent, side) in std::iter::once(whole).chain(tries) {
        let least = Least {
            weight: total * u128::from(percent) / 100,
            loss,
        };
        let (roots, thin) = callees(tower, least);
        let mut room = Room {
            style,
            total,
            grew,
            chain,
            side,
            counts_thin: loss == 0,
            lines: Vec::new(),
        };
        room.branches(&roots, thin, None, true);
        lines = room.lines;
        if lines.len() <= most {
            break;
        }
    }
    if lines.len() > most {
        // Only one path is left, and its leaf is the last line.
        let (start, end) = (most / 3, most - most / 3 - 1);
        let left_out = lines.len() - start - end;
        let end = lines.split_off(lines.len() - end);
        lines.truncate(start);
        lines.push(format!("… {}", plural(left_out as u64, "line", "lines")));
        lines.extend(end);
    }
    format!("{head}\n{}", lines.join("\n"))
}

/// Returns the callees that are wide enough, widest first, and the sum of those that are not.
fn callees<'a>(node: &Node<'a>, least: Least) -> (Vec<Chain<'a>>, Thin) {
    let mut all: Vec<(&&'a str, &Node<'a>)> = node.callees.iter().collect();
    // The sort is stable, so equal weights stay in the order of their names.
    all.sort_by_key(|(_, node)| Reverse(node.weight.millionths));
    let mut shown = Vec::new();
    let mut thin = Thin::default();
    for (place, (name, callee)) in all.into_iter().enumerate() {
        // The widest is always shown.
        if place == 0 || callee.weight.millionths >= least.weight {
            shown.push(chain(name, callee, least));
        } else {
            thin.count += 1;
            thin.weight += callee.weight;
        }
    }
    (shown, thin)
}

fn chain<'a>(name: &'a str, mut node: &Node<'a>, least: Least) -> Chain<'a> {
    let weight = node.weight;
    let mut telling = vec![node.telling];
    let of = |callee: &Node<'_>| callee.weight.millionths;
    let mut names = vec![name];
    let light = weight.millionths - weight.millionths * least.loss / 100;
    loop {
        let widest = node.callees.iter().max_by_key(|(_, callee)| of(callee));
        let Some((name, callee)) = widest.filter(|(_, callee)| of(callee) >= light) else {
            break;
        };
        let wide = node.callees.values();
        let wide = wide.filter(|callee| least.loss == 0 || of(callee) >= least.weight);
        if wide.count() > 1 {
            break;
        }
        names.push(name);
        telling.push(callee.telling);
        node = callee;
    }
    let (callees, thin) = callees(node, least);
    Chain {
        names,
        telling,
        weight,
        callees,
        thin,
    }
}

impl Chain<'_> {
    /// Returns its parts, with the frames that tell at least so much. Where there is room, frames
    /// at a fork are listed as well: the first of a branch, and the last before branches.
    fn parts(&self, least: Telling, is_branch: bool) -> Vec<Part> {
        let last = self.names.len() - 1;
        let has_branches = !self.callees.is_empty() || self.thin.count > 0;
        let is_at_fork = |at| at == 0 && is_branch || at == last && has_branches;
        let has_room = least < Telling::Most;
        let frames = self.names.iter().zip(&self.telling).enumerate();
        parts(frames.map(|(at, (name, telling))| {
            *telling >= least || has_room && is_at_fork(at) && !is_plumbing(name)
        }))
    }
}

impl Room<'_> {
    /// Writes the branches of a frame, or of the tower itself, whose branches have no
    /// indentation.
    fn branches(&mut self, chains: &[Chain<'_>], thin: Thin, indent: Option<&str>, widest: bool) {
        for (place, chain) in chains.iter().enumerate() {
            let last = place + 1 == chains.len() && (thin.count == 0 || !self.counts_thin);
            let (branch, below) = match (indent, last) {
                (None, _) => ("", ""),
                (_, true) => ("└ ", "  "),
                (_, false) => ("├ ", "│ "),
            };
            let indent = indent.unwrap_or_default();
            self.chain(chain, indent, branch, below, widest && place == 0);
        }
        if thin.count > 0 && self.counts_thin {
            let branches = plural(thin.count, "thinner branch", "thinner branches");
            let text = format!("… {branches}");
            let start = indent.map_or(String::new(), |indent| format!("{indent}└ "));
            self.line(Some(thin.weight), &start, &text);
        }
    }

    fn chain(&mut self, chain: &Chain<'_>, indent: &str, branch: &str, below: &str, widest: bool) {
        let start = format!("{indent}{branch}");
        let mut inner = format!("{indent}{below}");
        if escape::columns(&inner) > MAX_INDENT {
            inner.truncate(indent.len());
        }
        let (most, least) = match widest {
            true => (self.chain, Telling::Some),
            false => (usize::MAX, self.side),
        };
        let mut parts = chain.parts(least, !branch.is_empty());
        if parts.len() > most {
            // One of the lines says how many frames are left out.
            let (head, tail) = ((most / 3).max(1), most - most / 3 - 1);
            let cut = head..parts.len() - tail;
            let frames = |part: &Part| match part {
                Part::Frame(at) => *at..at + 1,
                Part::Run(run) => run.clone(),
            };
            let left_out = frames(&parts[cut.start]).start..frames(&parts[cut.end - 1]).end;
            parts.splice(cut, [Part::Run(left_out)]);
        }
        for (place, part) in parts.into_iter().enumerate() {
            let (mark, text) = match part {
                Part::Frame(at) => ("› ", chain.names[at].to_owned()),
                Part::Run(run) => ("", format!("… {}", frames_of(&chain.names[run]))),
            };
            match place {
                0 => self.line(Some(chain.weight), &start, &text),
                _ => self.line(None, &format!("{inner}{mark}"), &text),
            }
        }
        self.branches(&chain.callees, chain.thin, Some(&inner), widest);
    }

    fn line(&mut self, weight: Option<Weight>, indent: &str, name: &str) {
        let error = if self.style.is_sampled { ERROR } else { 0 };
        let gutter = match weight {
            Some(weight) => format!(
                "{:>3} % {:>9}{:<error$} {:<BAR$} ",
                percent(weight.millionths, self.total),
                self.style.say(weight.millionths, self.grew),
                self.style.error(weight.variance),
                bar(weight.millionths, self.total),
            ),
            None => " ".repeat(3 + 3 + 9 + error + 1 + BAR + 1),
        };
        let name = escape::xml(name);
        let name = match name.trim() {
            "" => "[unknown]",
            name => name,
        };
        let gutter_and_indent = GUTTER + error + escape::columns(indent);
        let room = self.style.width.saturating_sub(gutter_and_indent).max(10);
        let line = format!("{gutter}{indent}{}", cut(name, room));
        self.lines.push(line.trim_end().to_owned());
    }
}

/// Returns the rounded percentage. A part is never rounded to 0 % or to 100 %.
fn percent(weight: u128, total: u128) -> u64 {
    let rounded = (weight * 200 + total) / (total * 2).max(1);
    let percent = match rounded {
        0 if weight > 0 => 1,
        100 if weight < total => 99,
        percent => percent,
    };
    u64::try_from(percent).unwrap_or(100)
}

fn bar(weight: u128, total: u128) -> String {
    let eighths = weight * (BAR as u128) * 8 / total.max(1);
    let eighths = usize::try_from(eighths).unwrap_or(0).clamp(1, BAR * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

impl Style<'_> {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn say(&self, weight: u128, grew: bool) -> String {
        let value = weight as f64 / 1e6;
        (self.say)(if grew { value } else { -value })
    }

    fn error(&self, variance: f64) -> String {
        give_or_take(self.is_sampled.then(|| variance.sqrt()), units::bytes)
    }
}

#[cfg(test)]
mod tests;
