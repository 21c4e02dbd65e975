//! Many healthy workloads, and many leaks under the same churn, judged.
//!
//! Not a proof: a net for rules that would cry wolf, or would sleep.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "seconds and counts of a model, from positive numbers within its range"
)]

mod ages;
mod dumps;
mod model;
mod random;

use plimsoll_core::dump::SampleInterval;
use plimsoll_core::growth::{GoesOn, Growth};

use model::{GROWING, LEAKS, Profiled, SHAPES, Verdicts, simulate, simulate_growing};

/// Runs of each shape where profiles are exact and have births; elsewhere, a third of them.
const RUNS: u64 = 90;

/// Shapes of which at most 1 run in 100 may be inconclusive.
const CONCLUSIVE: [&str; 1] = ["turnover, lives up to 1/64"];

/// Shapes that may be taken for leaks in so many of 10,000 runs: many stacks at once, and buffers
/// that are as long as their longest message, which are sampled more often the longer they are.
const HARD: [(&str, u64); 2] = [
    ("twelve stacks", 5),
    ("buffers at their high-water mark", 150),
];

fn may_be_regressed(name: &str, runs: u64) -> u64 {
    let hard = HARD.iter().find(|(hard, _)| *hard == name);
    hard.map_or(0, |(_, most)| (most * runs).div_ceil(10_000))
}

/// How many leaks at twice the visible rate may be missed, beside turnover and elsewhere. By
/// levels alone, a leak is hardly told from the turnover of its own stack.
fn may_be_missed(name: &str, births: bool, runs: u64) -> u64 {
    let (beside_turnover, of_vec) = (name.contains("very stack"), name.contains("a `Vec`"));
    match (births, beside_turnover || name.contains("own names")) {
        (false, true) if of_vec => runs * 3 / 5,
        (false, true) => runs.div_ceil(4),
        _ if beside_turnover => runs.div_ceil(40),
        _ if of_vec => runs.div_ceil(100),
        _ => runs.div_ceil(500),
    }
}

/// Judges so many runs of every shape, and gives the verdicts on each kind of leak.
fn simulated(profiled: Profiled, runs: u64) -> [Verdicts; LEAKS.len()] {
    let (interval, births) = profiled;
    let mut leaks = [Verdicts::default(); LEAKS.len()];
    for (shape, (name, _)) in SHAPES.iter().enumerate() {
        // One run of twelve stacks is judged as long as twelve of the others.
        let runs = runs / if *name == "twelve stacks" { 3 } else { 1 };
        let outcome = simulate(shape, profiled, runs, 1);
        let run = format!("{name}, {} B: {outcome:?}", interval.bytes());
        let healthy = outcome.healthy;
        assert!(healthy.regressed <= may_be_regressed(name, runs), "{run}");
        let may_be_unclear = !births || !interval.is_exact() || !CONCLUSIVE.contains(name);
        let is_clear = 100 * healthy.inconclusive <= runs;
        assert!(may_be_unclear || is_clear, "{run}");
        for (sum, more) in leaks.iter_mut().zip(outcome.leaks) {
            sum.add(more);
        }
    }
    for (name, verdicts) in LEAKS.iter().zip(leaks) {
        let missed = verdicts.runs() - verdicts.regressed;
        let most = may_be_missed(name, births, verdicts.runs());
        assert!(missed <= most, "{name}, {profiled:?}: {verdicts:?}");
    }
    leaks
}

/// Births are known in a dump of ours, and levels alone in dumps of others.
#[test]
fn exact_profiles_are_judged_as_their_fluctuation_allows() {
    for (births, runs) in [(true, RUNS), (false, RUNS / 3)] {
        let leaks = simulated((SampleInterval::default(), births), runs);
        // There are no rare objects where all are seen.
        assert!(leaks.iter().filter(|leak| leak.runs() > runs / 2).count() >= LEAKS.len() - 1);
    }
}

#[test]
fn growth_that_leaves_nothing_old_behind_is_never_within() {
    for (shape, (name, _)) in GROWING.iter().enumerate() {
        let verdicts = simulate_growing(shape, SampleInterval::default(), RUNS, 1);
        assert_eq!(verdicts.within, 0, "{name}: {verdicts:?}");
    }
}

/// The full size is `cargo xtask simulate`; its tables are in
/// `docs/how-it-measures.md`.
#[test]
fn sampled_profiles_are_judged_as_their_error_allows() {
    for bytes in [512, 65_536] {
        let leaks = simulated((SampleInterval::new(bytes).unwrap(), true), RUNS / 3);
        for (name, leak) in LEAKS.iter().zip(leaks) {
            assert!(leak.runs() > RUNS / 6, "{name}, {bytes} B: {leak:?}");
        }
    }
}

/// What at most so many of 1,000 healthy stacks may be taken for a leak, where it is more than 5:
/// part of a swing is a straight line, and a burst in the last of a few dumps is a gain.
fn may_go_on(name: &str, dumps: usize) -> u64 {
    match (name, dumps) {
        ("a daily swing", 4..=12) => 250,
        ("a daily swing", _) => 30,
        ("bursts" | "one step", 4) => 30,
        ("one step", _) => 20,
        _ => 5,
    }
}

/// The full size is `cargo xtask simulate`; `docs/watch.md` has a part of its table.
#[test]
fn dumps_of_a_running_process_are_judged_as_chance_allows() {
    let shapes = |shapes: &'static [dumps::Shape]| {
        let of = |shape| dumps::DUMPS.into_iter().map(move |dumps| (shape, dumps));
        shapes.iter().copied().flat_map(of)
    };
    for (shape, dumps) in shapes(&dumps::HEALTHY) {
        let said = dumps::simulate(shape, dumps, 1_000, 1);
        let most = may_go_on(shape.0, dumps);
        assert!(said[2] <= most, "{}, {dumps} dumps: {said:?}", shape.0);
    }
    for (shape, dumps) in shapes(&dumps::LEAKING) {
        let least = match shape.0 {
            "1,000 objects, alone" | "1,000, beside 3,000 for 100" => 990,
            "1,000, beside 3,000 for 30" => 950,
            "1,000, beside 3,000 for 5" => 920,
            "1,000, beside 3,000 for 0.2 dumps" => 830,
            "30, alone" if matches!(dumps, 4..=12) => 250,
            "30, alone" => 800,
            // Of these, as many are found as the table says.
            _ => continue,
        };
        let said = dumps::simulate(shape, dumps, 1_000, 1);
        assert!(said[2] >= least, "{}, {dumps} dumps: {said:?}", shape.0);
    }
}

/// Of 200 stacks of a shape that also leak as much as would have been seen, how many go on
/// growing.
fn found_at_limit(shape: dumps::Shape, dumps: usize) -> usize {
    let mut random = random::Random(1 ^ (dumps as u64) << 32 ^ (shape.0.len() as u64) << 40);
    let found = (0..200).filter(|_| {
        let mut stack = dumps::drawn(shape, &mut random, dumps);
        let limit = Growth::of(&stack.at, &stack.series()).objects.findable_anew;
        let at: Vec<f64> = stack.at.iter().map(|at| *at as f64).collect();
        let counted = limit * at[at.len() - 1] / stack.grain();
        let leak = dumps::Does::Leaks(counted).run(&mut random, &at);
        for (level, more) in stack.counted.iter_mut().zip(leak) {
            level.objects += more;
            level.bytes += dumps::SIZE * more;
        }
        stack.goes_on() == Some(GoesOn::Yes)
    });
    found.count()
}

#[test]
fn growth_that_would_have_been_seen_is_seen() {
    let nothing = ("nothing else", &[][..]);
    let sampled = ("nothing else, sampled", &[dumps::Does::Sampled][..]);
    let turnover = dumps::HEALTHY.into_iter().take(5);
    for shape in [nothing, sampled].into_iter().chain(turnover) {
        for dumps in dumps::DUMPS {
            let found = found_at_limit(shape, dumps);
            let least = if matches!(dumps, 4..=6) { 150 } else { 160 };
            assert!(found >= least, "{}, {dumps} dumps: {found} of 200", shape.0);
        }
    }
}
