use std::fmt::Display;
use std::ops::Range;

use super::*;
use crate::dump::SampleInterval;
use crate::ladder::rung;
use crate::to_u64;

/// The growth of a level given by a function of the iterations done.
fn growth_to(rungs: usize, level: impl Fn(u64) -> Tally) -> Growth {
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let series = Series::new(iterations.iter().map(|n| level(*n)).collect());
    Growth::of(&iterations, &series)
}

fn tally(objects: u64, bytes: u64) -> Tally {
    Tally { objects, bytes }
}

/// One line: laws, rates, error, and what rises.
fn shown(growth: Growth) -> String {
    let one = |of: Quantity| {
        let error = Some(of.error).filter(|error| *error > 0.0);
        let error = error.map_or(String::new(), |error| format!(" ± {error:.4}"));
        let rising = if of.rising { " rising" } else { "" };
        format!("{} {:.4}{error}{rising}", of.law, of.rate)
    };
    let (objects, bytes) = (one(growth.objects), one(growth.bytes));
    format!("objects {objects}; bytes {bytes}")
}

/// Whether a level rises that is given by a function, wherever the ladder ends.
#[track_caller]
fn check(rungs: Range<usize>, rises: bool, name: impl Display, level: impl Fn(u64) -> Tally) {
    for rungs in rungs {
        let growth = growth_to(rungs, &level);
        let found = growth.is_rising();
        assert_eq!(found, rises, "{name}, {rungs} rungs: {growth:?}");
    }
}

fn objects_of(size: u64, objects: u64) -> Tally {
    tally(objects, objects * size)
}

#[test]
fn one_object_an_iteration_reads_one_at_every_end() {
    for rungs in 13..80 {
        let growth = growth_to(rungs, |n| tally(500 + n, 7_000 + 32 * n));
        let expected = "objects linear 1.0000 rising; bytes linear 32.0000 rising";
        assert_eq!(shown(growth), expected, "{rungs} rungs");
    }
}

#[test]
fn a_vec_only_pushed_to_rises_in_steps_wherever_the_ladder_ends() {
    let rates = (20..80).map(|rungs| {
        let growth = growth_to(rungs, |n| tally(1, n.next_power_of_two().max(4) * 8));
        assert!(growth.bytes.rising, "{rungs} rungs");
        assert_eq!(growth.bytes.law, Law::Stepped, "{rungs} rungs");
        assert!(!growth.objects.rising);
        growth.bytes.rate
    });
    let rates: Vec<f64> = rates.collect();
    let is_like_a_doubling = |rate: &f64| (8.0..=16.0).contains(rate);
    assert!(rates.iter().all(is_like_a_doubling), "{rates:?}");
    // Nor does the rate depend on where the ladder ended.
    let greatest = rates[10..40].iter().copied().fold(f64::MIN, f64::max);
    let least = rates[10..40].iter().copied().fold(f64::MAX, f64::min);
    assert!(greatest / least < 1.01, "{rates:?}");
}

#[test]
fn steps_that_jitter_about_a_rung_still_rise() {
    // A push in nine of ten iterations: the table doubles between rungs
    // here and on one there.
    for per_mille in [377_u64, 500, 707, 841, 900, 999, 1_001, 1_189, 2_000] {
        for rungs in 24..70 {
            let growth = growth_to(rungs, |n| {
                let pushes = n * per_mille / 1_000 + (n * 7_919 % 3);
                tally(1, pushes.next_power_of_two() * 16)
            });
            let rises = growth.bytes.rising;
            assert!(rises, "{per_mille}, {rungs} rungs: {growth:?}");
        }
    }
}

#[test]
fn slow_leaks_and_uneven_ones_rise() {
    check(41..42, true, "slow", |n| objects_of(32, n / 1_000));
    for rates in [[5, 3, 6], [3, 5, 6], [6, 6, 4], [4, 6, 7]] {
        // So many objects in ten iterations, by octave, the last first.
        check(41..42, true, format!("{rates:?}"), |n| {
            let octave = |from: u64, rate: u64| n.clamp(from, 2 * from).abs_diff(from) * rate;
            let [last, before, first] = rates;
            let before = octave(4_096, before) + octave(2_048, first);
            objects_of(64, (2_048 * 5 + octave(8_192, last) + before) / 10)
        });
    }
}

/// The growth of so many objects of 32 bytes at the last rungs, the last of
/// which is that of so many iterations; before them there was the first.
fn growth_of(last: u64, objects: &[u64]) -> Growth {
    let iterations: Vec<u64> = (0..).map(rung).take_while(|n| *n <= last).collect();
    let mut levels = vec![objects[0]; iterations.len() - objects.len()];
    levels.extend(objects);
    let series = Series::new(levels.iter().map(|n| tally(*n, 32 * n)).collect());
    Growth::of(&iterations, &series)
}

#[test]
fn a_few_objects_at_random_rise_if_they_stay() {
    for case in [
        "filling 0 0 1 0 2 1 3",
        "fluctuating 0 0 0 0 1 0 2 2 2 5 7 6 6 8 7 9 13",
        // Two bursts.
        "fluctuating 13 12 11 10 13 12 13 16 22 22 31 36 49 50 54 49 51",
        // Never seen to fall, and full all the same.
        "filling 1 1 1 1 2 2 2 2 3 3 3 3 3 4 4 4 4",
        // New peaks.
        "filling 54 64 74 87 101 112 123 125 132 133 144 144 149 163 186 195 196",
        // Fewer than five in the last octave, by ones and by threes.
        "filling 0 0 0 0 1 1 2 2 3 4 4 5 6 7 8 9 10",
        "filling 0 0 0 0 3 3 6 6 9 12 12 15 18 21 24 27 30",
        // A line of few, after something was filled.
        "filling 0 40 70 90 100 101 102 103 104 105 106 108 109 111 113 115 118",
        // Steps that grow by two fifths, and steps that double where octaves end at one rung alone.
        "filling 10 10 24 24 24 24 44 44 44 44 72 72 72 72 111 111 111",
        "filling 8 8 8 8 8 8 8 8 13 22 22 22 22 22 22 22 39",
        "stepped 0 0 0 1 1 1 3 3 4 6 8 9 13 15 19 20 27",
        "stepped 1 2 2 2 3 3 6 8 8 9 9 12 12 17 20 26 29",
    ] {
        let (law, objects) = case.split_once(' ').unwrap();
        let objects: Vec<u64> = objects.split(' ').map(|n| n.parse().unwrap()).collect();
        let growth = growth_of(16_384, &objects);
        let rises = law == "stepped";
        let found = (growth.objects.law.to_string(), growth.objects.rising);
        assert_eq!(found, (law.to_owned(), rises), "{objects:?}: {growth:?}");
        assert_eq!(growth.is_rising(), rises, "{objects:?}: {growth:?}");
    }
}

/// Of so many bytes, which grows when it is full, by this share.
fn list_of(bytes: u64, share: f64) -> u64 {
    let mut room = 32;
    while room < bytes {
        room += to_u64(to_f64(room) * share).max(1);
    }
    room
}

#[test]
fn a_list_rises_if_it_grows_by_half_or_doubles() {
    for share in [0.5, 0.6, 1.0] {
        for rungs in 32..56 {
            for each in [1.0, 8.0, 100.0 / 3.0] {
                let pushed = |n: u64| to_u64(each * to_f64(n));
                let grows = growth_to(rungs, |n| tally(1, list_of(pushed(n), share)));
                assert!(grows.bytes.rising, "{share} {rungs} {each}: {grows:?}");
                // It is full for an octave; or its content grows as the root of the iterations.
                let most = pushed(rung(rungs - 6));
                let full = growth_to(rungs, |n| tally(1, list_of(pushed(n).min(most), share)));
                assert!(!full.bytes.rising, "{share} {rungs} {each}: {full:?}");
                let root = |n: u64| list_of(to_u64(to_f64(pushed(n)).sqrt() * 64.0), share);
                let slower = growth_to(rungs, |n| tally(1, root(n)));
                assert!(!slower.bytes.rising, "{share} {rungs} {each}: {slower:?}");
            }
        }
    }
}

#[test]
fn a_slow_leak_rises_beside_an_object_that_flickers() {
    for flickers in [|n: u64| n * 7_919 % 5 % 2, |n: u64| n * 7_919 % 7 / 6] {
        let growth = growth_to(41, |n| objects_of(32, n / 500 + flickers(n)));
        assert!(growth.objects.rising, "{growth:?}");
        // At twice the threshold of one in 1,000.
        let healthy = growth_to(41, |n| objects_of(32, flickers(n)));
        assert!(healthy.objects.findable <= 0.002, "{healthy:?}");
    }
}

/// The growth of a stack on which some objects stay, and others are new at every rung.
fn growth_beside_turnover(
    rungs: usize,
    stays: impl Fn(u64) -> u64,
    comes_and_goes: impl Fn(u64) -> u64,
) -> Growth {
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let mut kept = Vec::new();
    let mut alive = Vec::new();
    for n in &iterations {
        kept.push(stays(*n) - kept.iter().sum::<u64>());
        let mut now = kept.clone();
        *now.last_mut().unwrap() += comes_and_goes(*n);
        alive.push(now.iter().map(|n| tally(*n, 32 * n)).collect());
    }
    let series = Series::of_births(SampleInterval::default(), &alive);
    Growth::of(&iterations, &series)
}

/// Anything up to so many.
fn noise(n: u64, most: u64) -> u64 {
    (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % (most + 1)
}

#[test]
fn one_in_a_thousand_that_stays_is_found_beside_any_turnover() {
    for most in [1, 3, 40, 1_000, 100_000] {
        for rungs in [41, 49, 57] {
            let of = |stays: fn(u64) -> u64| {
                growth_beside_turnover(rungs, stays, |n| noise(n, most)).objects
            };
            let healthy = of(|_| 0);
            let is_still = !healthy.rising && healthy.bound < 0.000_5;
            assert!(is_still, "{most}, {rungs} rungs: {healthy:?}");
            let leak = of(|n| n / 500);
            assert!(leak.rising, "{most}, {rungs} rungs: {leak:?}");
            assert!((leak.rate - 0.002).abs() < 0.000_3, "{most}: {leak:?}");
        }
    }
}

#[test]
fn of_what_comes_and_goes_the_largest_does_not_count() {
    // Two objects of 16 bytes, and then two such and one of 968.
    let alive = [vec![tally(2, 32)], vec![tally(0, 0), tally(3, 1_000)]];
    let series = Series::of_births(SampleInterval::default(), &alive);
    let variances = kept::Kept::of(&series, 2).variances(Unit::Bytes, |_| 0..2);
    assert_eq!(format!("{variances:?}"), "[256.0, 512.0]");
}

/// Of four levels, two are about the nearest that never fall: 2, and each is 1 off.
#[test]
fn ups_and_downs_are_counted_where_levels_fall() {
    for (levels, expected) in [([1.0, 3.0, 1.0, 5.0], "2.0"), ([1.0, 2.0, 3.0, 5.0], "0.0")] {
        let variance = levels::ups_and_downs(&levels);
        assert_eq!(format!("{variance:?}"), expected);
    }
}

#[test]
fn growth_that_leaves_nothing_old_is_found_where_it_beats_the_turnover() {
    // A list that is cloned, with one object more in each iteration.
    for most in [0, 40, 1_000] {
        let growth = growth_beside_turnover(49, |_| 0, |n| n + noise(n, most));
        assert!(growth.objects.rising, "{most}: {growth:?}");
        let healthy = growth_beside_turnover(49, |_| 0, |n| 1_000 + noise(n, most));
        assert!(!healthy.is_rising(), "{most}: {healthy:?}");
    }
}

#[test]
fn caches_that_filled_an_octave_ago_and_sawteeth_do_not_rise() {
    let reaching = |n: u64| (0..).find(|k| rung(*k) >= n).unwrap();
    for full_at in [100_u64, 700, 1_000, 1_500, 2_000] {
        let enough = (reaching(2 * full_at) + 1).max(13);
        let level = |n: u64| objects_of(48, n.min(full_at));
        check(enough..60, false, format!("full at {full_at}"), level);
    }
    for period in [3_u64, 7, 64, 100, 1_300, 4_096] {
        let enough = reaching(4 * period) + 13;
        let level = |n| objects_of(16, n % period);
        check(enough..80, false, format!("period {period}"), level);
    }
}

#[test]
fn bytes_without_objects_swell_and_batches_do_not() {
    assert!(growth_to(41, |n| tally(1, n.next_power_of_two())).objects_swell);
    assert!(!growth_to(41, |n| objects_of(16, n % 1_300)).objects_swell);
    assert!(!growth_to(41, |_| tally(5, 500)).objects_swell);
}

#[test]
fn a_flat_level_is_flat() {
    let growth = shown(growth_to(41, |_| tally(5, 500)));
    assert_eq!(growth, "objects filling 0.0000; bytes filling 0.0000");
}

#[test]
fn a_short_ladder_says_nothing() {
    for rungs in 0..5 {
        assert_eq!(growth_to(rungs, |n| tally(n, n)).rate(), Rate::default());
    }
}
