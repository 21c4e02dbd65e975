use plimsoll_core::baseline::Baseline;
use plimsoll_core::growth::Growth;
use plimsoll_core::judge::{Observed, Policy, judge};
use plimsoll_core::ladder::rung;
use plimsoll_core::{Series, Tally};

use super::*;
use crate::sample;

fn rate(objects: f64, bytes: f64) -> Rate {
    Rate { objects, bytes }
}

/// `bytes objects stack`, a line each.
pub(crate) fn climb(iterations: u64, text: &str) -> Climb {
    let mut climb = Climb {
        iterations,
        ..Climb::default()
    };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split(' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        let (bytes, objects) = (number(), number());
        let stack = folded(words.next().unwrap());
        climb.rates.insert(stack.clone(), rate(objects, bytes));
        climb.growing.insert(stack);
    }
    climb
}

fn folded(text: &str) -> FoldedStack {
    FoldedStack(text.split(';').map(str::to_owned).collect())
}

fn ends(good: &str, bad: &str) -> Result<Question, NoQuestion> {
    Question::between(&climb(16_384, good), &climb(100_000, bad), None)
}

/// What revisions answer to the question between two ends, a row each.
#[track_caller]
fn check(good: &str, bad: &str, revisions: &[(&str, &str)]) {
    let question = ends(good, bad).unwrap();
    for (text, expected) in revisions {
        let answer = match question.answer(&climb(1_024, text)) {
            Some(answer) if answer.moved.is_some() => "moved",
            Some(answer) if answer.is_bad => "bad",
            Some(_) => "good",
            None => "unclear",
        };
        assert_eq!(answer, *expected, "{text}");
    }
}

#[test]
fn the_stack_that_gained_most_is_asked_about() {
    let bad = "41 1 main;known\n24 1 main;small\n32 1 main;cache;insert";
    let question = ends("40 1 main;known", bad).unwrap();
    assert_eq!(question.stack, folded("main;cache;insert"));
    let others = question.others.iter();
    let others: Vec<String> = others.map(|(stack, _)| stack.to_string()).collect();
    assert_eq!(others, ["main;small", "main;known"]);
}

#[test]
fn no_question_without_a_difference() {
    assert_eq!(ends("", ""), Err(NoQuestion::NothingGrows));
    let same = ends("32 1 main;put", "32 1 main;put");
    assert_eq!(same, Err(NoQuestion::NoDifference));
    // A rate that fell is no difference either.
    let fallen = ends("64 1 main;put", "32 1 main;put");
    assert_eq!(fallen, Err(NoQuestion::NoDifference));
}

/// What a ladder of so many rungs says of one stack, by its objects and bytes.
fn climbed(rungs: usize, level: impl Fn(u64) -> (u64, u64)) -> Climb {
    let iterations: Vec<u64> = (0..rungs).map(rung).collect();
    let tally = |(objects, bytes)| Tally { objects, bytes };
    let levels: Vec<Tally> = iterations.iter().map(|n| tally(level(*n))).collect();
    let stack = folded("main;keep");
    let series = Series::new(levels.clone());
    let observed = Observed {
        stacks: [(stack.clone(), series.clone())].into(),
        iterations: iterations.clone(),
        ..Observed::default()
    };
    let found = judge(&observed, &Baseline::default(), &Policy::TOP);
    let mut report = sample::report("r1", "churn", found.verdict);
    report.rungs = iterations.iter().map(|n| sample::rung(*n)).collect();
    report.findings = found.findings;
    report.growth = vec![StackGrowth {
        stack,
        before: levels[rungs - 13],
        after: levels[rungs - 1],
        // As the front writes it.
        rate: Growth::of(&iterations, &series).rate(),
        error: None,
    }];
    Climb::of(&report)
}

#[test]
fn the_same_is_no_difference_wherever_ladders_end() {
    let list = |n: u64| (n.max(4).next_power_of_two() * 24).next_multiple_of(4_096);
    let shapes: [&dyn Fn(u64) -> (u64, u64); 4] = [
        &|n| (n, 96 * n),
        &|n| (1, list(n)),
        &|n| (1 + n, list(n) + 96 * n),
        &|n| (1 + n, list(n) + 1_024 * n),
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let half_more = |n| (3 * shape(n).0 / 2, 3 * shape(n).1 / 2);
        let both = |rungs| (climbed(rungs, shape), climbed(rungs, half_more));
        let climbs: Vec<(Climb, Climb)> = (44..64).map(both).collect();
        for (one, _) in &climbs {
            for (other, more) in &climbs {
                let ends = (number, one.iterations, other.iterations);
                let told = Question::between(one, other, None);
                assert_eq!(told, Err(NoQuestion::NoDifference), "{ends:?}");
                let told = Question::between(one, more, None);
                assert!(told.is_ok(), "{ends:?}: {told:?}");
            }
        }
    }
}

#[test]
fn what_samples_say_has_its_error() {
    let sampled = |text: &str, error: f64| {
        let mut climb = climb(16_384, text);
        climb.is_sampled = true;
        let stacks = climb.rates.keys().filter(|stack| !is_resource(stack));
        let error = rate(error, 10.0 * error);
        climb.errors = stacks.map(|it| (it.clone(), error)).collect();
        climb
    };
    let two_of_a_group = "400 4 a;x;cache;insert\n400 4 b;x;cache;insert";
    let bad = sampled(&format!("{two_of_a_group}\n300 3 main;small"), 0.3);
    let question = Question::between(&climb(16_384, "8 1 main;small"), &bad, None).unwrap();
    assert_eq!(question.good.error, None);
    let close = |one: f64, two: f64| (one - two).abs() < 1e-9;
    // The root of the sum of their squares.
    let error = question.bad.error.unwrap();
    assert!(close(error.objects, 0.3 * f64::sqrt(2.0)), "{error:?}");
    let [(_, gained)] = question.others.as_slice() else {
        panic!("{:?}", question.others);
    };
    assert!(close(gained.rate.bytes, 292.0) && close(gained.error.unwrap().bytes, 3.0));

    let answer = question.answer(&sampled("800 8 main;x;cache;insert", 0.5));
    let bad = answer.filter(|answer| answer.is_bad).unwrap();
    assert_eq!(
        crate::show::rate(bad.rate),
        "+800 B ± 5 B, 8.00 ± 0.50 objects"
    );
    // An error that reaches across is no answer.
    let across = sampled("800 8 main;x;cache;insert", 80.0);
    assert_eq!(question.answer(&across), None);
    // Threads are counted, whatever is sampled.
    let threads = sampled("0 1 [threads]", 0.5);
    assert_eq!(threads.gain(threads.rate_where(|_| true)).error, None);
    // And every object, in an exact profile.
    let exact = climb(16_384, two_of_a_group);
    assert_eq!(exact.gain(exact.rate_where(|_| true)).error, None);
}

#[test]
fn either_end_may_be_the_bad_one() {
    let either = |first: &str, last: &str| {
        let (first, last) = (climb(16_384, first), climb(16_384, last));
        let asked = Question::of_either(&first, &last, None);
        asked.map(|(question, change)| (question.stack.to_string(), change))
    };
    let put = || "main;put".to_owned();
    assert_eq!(either("", "32 1 main;put"), Ok((put(), Change::Brought)));
    assert_eq!(either("32 1 main;put", ""), Ok((put(), Change::Fixed)));
    // Of two that differ, the one that weighs more.
    let light = "16 1 main;push";
    assert_eq!(either(light, "32 1 main;put"), Ok((put(), Change::Brought)));
    assert_eq!(either("32 1 main;put", light), Ok((put(), Change::Fixed)));
    assert_eq!(either("", ""), Err(NoQuestion::NothingGrows));
    assert_eq!(either(light, light), Err(NoQuestion::NoDifference));
}

#[test]
fn a_revision_is_held_against_the_good_rate() {
    let revisions = [
        ("", "good"),
        ("80 1 main;store;put", "bad"),
        // Another caller, the same leaf.
        ("80 1 other;main;store;put", "bad"),
        // The first of two steps.
        ("16 1 main;store;put", "bad"),
        // More than at the bad end.
        ("800 10 main;store;put", "bad"),
        // A second leak is none of it.
        ("4000 50 main;log;push", "good"),
        // One tenth is where it begins, and a quarter around that is no answer.
        ("8 0.1 main;store;put", "unclear"),
        ("5 0.05 main;store;put", "good"),
        // Shrinking.
        ("-80 -1 main;store;put", "good"),
    ];
    check("", "80 1 main;store;put", &revisions);
}

#[test]
fn the_same_growth_under_another_name_has_moved() {
    let revisions = [
        ("80 1 main;table;put_new", "moved"),
        // Something that neither end has, and as much: who can tell?
        ("60 1 main;table;put_new", "unclear"),
        ("1 0.01 main;table;put_new", "good"),
        // It is at the bad end as well: another one.
        ("80 1 main;log;push", "good"),
    ];
    check("", "80 1 main;store;put\n24 1 main;log;push", &revisions);
    // Threads and stacks are not each other under another name.
    let revisions = [
        ("24 1 main;put", "good"),
        ("0 1 [threads]", "bad"),
        ("0 1 [descriptors]", "good"),
    ];
    check("", "0 1 [threads]", &revisions);
}

#[test]
fn a_module_that_is_renamed_changes_nothing() {
    let bad = "28 0 run;store::Store::put;store::journal::Log::append\n\
               90 2 run;store::Store::put;store::pages::Cache::put";
    let asked = ends("", bad).unwrap().stack;
    assert_eq!(asked.frames()[2], "store::pages::Cache::put");
    let revisions = [
        // Whatever its rate is on a short climb.
        (
            "150 3 run;store::Store::put;store::cache::Cache::put",
            "bad",
        ),
        ("1 0 run;store::Store::put;store::cache::Cache::put", "good"),
        // The second leak, before its module was called so.
        ("90 2 run;store::Store::put;store::log::Log::append", "good"),
    ];
    check("", bad, &revisions);
    // At the good end, too.
    let renamed = "90 2 run;store::Store::put;store::cache::Cache::put";
    let question = ends(renamed, bad).unwrap();
    assert_eq!(question.stack.frames()[2], "store::journal::Log::append");
}

#[test]
fn a_function_that_is_renamed_between_the_ends_is_no_difference() {
    let (good, bad) = ("90 2 run;Cache::put", "90 2 run;Cache::insert");
    assert_eq!(ends(good, bad), Err(NoQuestion::NoDifference));
    // Whoever asks about it by name knows better.
    let (good, bad) = (climb(16_384, good), climb(100_000, bad));
    let pattern: Pattern = "insert".parse().unwrap();
    assert!(Question::between(&good, &bad, Some(&pattern)).is_ok());
    // Other growth there does not count. If it is about as much, the answer names it.
    for (good, named) in [("9 1 run;Log::push", 0), ("75 2 run;Cache::put", 1)] {
        let question = ends(good, "90 2 run;Cache::insert").unwrap();
        assert_eq!(question.replacements.len(), named, "{good}");
    }
}

#[test]
fn a_function_that_has_another_caller_at_one_end_is_the_same() {
    let (before, after) = (
        "40 1 run;send;Pool::put",
        "64 1 run;send;try_send;Pool::put",
    );
    let question = ends(before, after).unwrap();
    assert_eq!(question.good.rate, rate(1.0, 40.0));
    let revisions = [(before, "good"), (after, "bad"), ("", "good")];
    check(before, after, &revisions);
    // What was fixed is the difference.
    let fixed = Question::of_either(&climb(16_384, after), &climb(16_384, before), None);
    let (question, change) = fixed.unwrap();
    assert_eq!(
        (question.good.rate, change),
        (rate(1.0, 40.0), Change::Fixed)
    );
    let same = "64 1 run;send;Pool::put";
    assert_eq!(ends(same, after), Err(NoQuestion::NoDifference));
    // So much less is another growth, and so is one that both ends have.
    for other in ["8 1 run;send;Pool::put", "40 1 run;send;Pool::take"] {
        assert_eq!(
            ends(other, after).unwrap().good.rate,
            Rate::default(),
            "{other}"
        );
    }
    let both = format!("{before}\n{after}");
    assert_eq!(ends(before, &both).unwrap().good.rate, Rate::default());
}

#[test]
fn a_function_that_is_inlined_at_one_end_is_the_same() {
    // Line tables say the module of an inlined method, and not its type.
    let good = "24000 250 main;task::Builder::spawn;raw::allocate";
    let bad = "20000 250 main;task::spawn;raw::allocate";
    assert!(ends(good, bad).is_err());
    let more = "80000 1000 main;task::spawn;raw::allocate";
    let half = "22000 250 main;task::Builder::spawn;raw::allocate";
    check(good, more, &[(half, "good"), (bad, "good")]);
    // Another method of that name is another function.
    let of = |name: &str| folded(&format!("main;task::{name};raw::allocate"));
    assert!(!Group::of(&of("Other::spawn")).holds(&of("Builder::spawn")));
}

#[test]
fn a_climb_that_is_too_short_for_the_growth_says_nothing() {
    let bad = "0.08 0.01 main;put";
    // A slow revision gets no farther than this within the budget.
    let revisions = [("", "unclear"), (bad, "unclear"), ("8 1 main;put", "bad")];
    check("", bad, &revisions);
    let question = ends("", bad).unwrap();
    assert!(!question.shows_in(&climb(1_024, "")));
    let long = climb(65_536, "");
    assert!(question.shows_in(&long));
    assert!(question.answer(&long).is_some_and(|answer| !answer.is_bad));
}

#[test]
fn a_growth_in_bytes_alone() {
    let (good, bad) = ("8 0 main;push", "72 0 main;push");
    check(good, bad, &[(good, "good"), (bad, "bad")]);
    let quantities = ends(good, bad).unwrap().quantities;
    assert!(quantities.bytes && !quantities.objects);
}

#[test]
fn patterns() {
    for (pattern, stack, expected) in [
        ("put", "main;store::put;grow", true),
        ("main;put", "main;store::put;grow", true),
        ("main;grow", "main;store::put;grow", false),
        ("main;...;grow", "main;store::put;grow", true),
        ("main;...;put", "main;put", true),
        ("put;main", "main;store::put;grow", false),
        ("a;b", "a;a;b", true),
        ("a;b;c;d", "a;b;c", false),
    ] {
        let fits = pattern.parse::<Pattern>().unwrap().fits(&folded(stack));
        assert_eq!(fits, expected, "{pattern}: {stack}");
    }
    for text in ["", ";", "a;;b", "...", "...;..."] {
        assert!(text.parse::<Pattern>().is_err(), "{text}");
    }
}
