//! Allowances as another build has their stacks.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Stacks, as `main;put 1 32`, with what they gain in an iteration; `*` before one says
/// that its names are from a symbol table alone. Functions of `rt` are a library's.
fn seen(stacks: &str) -> Observed {
    let mut observed = Observed {
        iterations: (0..41).map(rung).collect(),
        ..Observed::default()
    };
    for (names, objects, bytes) in rates(stacks) {
        let stack = folded(names.trim_start_matches('*'));
        if names.starts_with('*') {
            observed.bare.insert(stack.clone());
        }
        let own = |name: &&String| !name.starts_with("rt::");
        if let Some(owner) = stack.frames().iter().rfind(own)
            && owner != stack.leaf()
        {
            observed.owners.insert(stack.clone(), owner.clone());
        }
        let all = observed.stacks.entry(stack).or_default();
        all.merge(&series(41, |n| (n * objects, n * bytes)));
    }
    observed
}

fn rates(stacks: &str) -> impl Iterator<Item = (&str, u64, u64)> {
    let lines = stacks.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(|line| {
        let mut words = line.rsplitn(3, ' ');
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let (bytes, objects) = (number(), number());
        (words.next().unwrap(), objects, bytes)
    })
}

fn agreed(stacks: &str) -> Baseline {
    let mut text = "format = 1\n".to_owned();
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (stack, objects, bytes) in rates(stacks) {
        let sum = sums.entry(stack).or_default();
        *sum = (sum.0 + objects, sum.1 + bytes);
    }
    for (stack, (objects, bytes)) in sums {
        let frames: Vec<&str> = stack.split(';').collect();
        text += &format!(
            "[[allow]]\nstack = {frames:?}\nobjects = {objects}.0\nbytes = {bytes}.0\n\
             law = \"linear\"\n"
        );
    }
    Baseline::parse(text.as_bytes()).unwrap()
}

/// What becomes of stacks that grow, where others were accepted.
#[track_caller]
fn held(allowances: &str, stacks: &str) -> String {
    shown(&judge(&seen(stacks), &agreed(allowances), &TOP))
}

#[track_caller]
fn verdict(allowances: &str, stacks: &str) -> Verdict {
    judge(&seen(stacks), &agreed(allowances), &TOP).verdict
}

#[test]
fn a_library_that_others_call_as_well_is_no_place() {
    let agreed = "t::all;a::serve;rt::spawn;rt::bind;rt::task 1 48";
    for (stack, expected) in [
        (
            "t::all;rt::run;a::connect;rt::spawn;rt::bind;rt::task 1 48",
            Verdict::Regressed,
        ),
        (
            "t::all;rt::run;a::listen;a::serve;rt::spawn;rt::bind;rt::task 1 48",
            Verdict::Within,
        ),
        (
            "t::all;rt::run;a::serve;rt::start;rt::spawn;rt::bind;rt::task 1 40",
            Verdict::Within,
        ),
        (
            "t::all;a::answer;rt::spawn;rt::bind;rt::task 1 48",
            Verdict::Within,
        ),
    ] {
        assert_eq!(verdict(agreed, stack), expected, "{stack}");
    }
}

#[test]
fn line_tables_alone_in_a_release_build() {
    let debug = "
        t::all::{{closure}} 1 48
        t::all::{{closure}};a::b::Page::new;a::b::copy 1 32
        t::all::{{closure}};a::serve::{{closure}};a::read::{{closure}} 1 80
        t::all::{{closure}};a::Keep::some;<a::Hole as a::Keep>::keep 1 32";
    let release = "
        t::{{closure}} 1 48
        t::{{closure}};a::b::new;a::b::copy 1 32
        t::{{closure}};a::{{closure}} 1 80
        t::{{closure}};<a::Hole as a::Keep>::keep 1 32";
    assert_snapshot!(held(debug, release), @"
    within, 1 per 1000
    within Moved: t::{{closure}};a::{{closure}} 1.00 objects 80.00 B linear, from t::all::{{closure}};a::serve::{{closure}};a::read::{{closure}}
    within Moved: t::{{closure}} 1.00 objects 48.00 B linear, from t::all::{{closure}}
    within Moved: t::{{closure}};<a::Hole as a::Keep>::keep 1.00 objects 32.00 B linear, from t::all::{{closure}};a::Keep::some;<a::Hole as a::Keep>::keep
    within Moved: t::{{closure}};a::b::new;a::b::copy 1.00 objects 32.00 B linear, from t::all::{{closure}};a::b::Page::new;a::b::copy
    ");
    assert_eq!(verdict(release, debug), Verdict::Within);
}

#[test]
fn a_moved_stack_settles_before_the_top() {
    let assessment = judge(&seen("b;c;d 1 32"), &agreed("a;b;c;d 1 32"), &EARLY);
    assert_eq!(assessment.verdict, Verdict::Within, "{assessment:#?}");
}

fn noisy(per_ten: u64, most: u64, size: u64) -> Series {
    series(41, |n| {
        let objects = n * per_ten / 10 + n * 7_919 % most;
        (objects, objects * size)
    })
}

/// The rate counts, and not what it may be less by its error.
#[test]
fn a_moved_stack_that_grows_faster_is_another_leak() {
    let mut observed = seen("x;b;c;d 0 0");
    let stack = folded("x;b;c;d");
    observed.stacks = BTreeMap::from([(stack, noisy(21, 2_500, 32))]);
    // Too many objects, and too many bytes.
    for allowance in ["2 80", "3 64"] {
        let agreed = agreed(&format!("a;b;c;d {allowance}"));
        let judged = judge(&observed, &agreed, &TOP);
        assert_eq!(judged.verdict, Verdict::Regressed, "{allowance}");
        let new = &judged.findings[0];
        assert_eq!(new.standing, Standing::New, "{allowance}");
        assert!(new.rate.objects > 2.01 && new.rate.bytes > 64.1, "{new:#?}");
        let least = new.rate.objects - new.error.objects;
        assert!(least < 2.0 && least * 32.0 < 64.0, "{new:#?}");
    }
}

#[test]
fn rates_and_errors_of_stacks_add_up() {
    let iterations: Vec<u64> = (0..41).map(rung).collect();
    let parts = [noisy(10, 5, 32), noisy(20, 7, 64)];
    let (_, sum) = Growth::together(&iterations, parts.iter());
    let [one, other] = parts.map(|part| Growth::of(&iterations, &part));
    assert!(one.objects.error > 0.0 && other.objects.error > 0.0);
    for of in [
        |growth: &Growth| growth.objects,
        |growth: &Growth| growth.bytes,
    ] {
        let numbers = |of: Quantity| [of.rate, of.error, of.bound, of.findable];
        let (one, other, sum) = (numbers(of(&one)), numbers(of(&other)), numbers(of(&sum)));
        for ((one, other), sum) in one.iter().zip(other).zip(sum) {
            assert_eq!(format!("{:?}", one + other), format!("{sum:?}"));
        }
    }
}

/// Judges stacks, of which there is one in a line, where one was accepted.
#[track_caller]
fn check(old: &str, expected: Verdict, all_new: &[&str]) {
    for new in all_new {
        assert_eq!(verdict(old, new), expected, "{new} in place of {old}");
    }
}

/// Where names say less, the rate has to say more.
#[test]
fn another_rate_or_leaf_is_another_leak() {
    let old = "main;a::T::put;a::T::add 2 64";
    check(old, Verdict::Within, &["main;a::put;a::add 2 64"]);
    for rate in ["2 96", "4 128", "3 64", "1 64", "1 32", "2 48"] {
        check(
            old,
            Verdict::Regressed,
            &[&format!("main;a::put;a::add {rate}")],
        );
    }
    // Three equal frames say more: less of the same leak is no other one.
    check("a;b;c;d 2 64", Verdict::Within, &["x;b;c;d 1 32"]);
    let others = [
        "main;a::fill 1 32",
        "main 1 32",
        "main;a::load;a::add 1 32",
        "main;a::fill;a::put;a::add 1 32",
    ];
    check("main;a::fill;a::put 1 32", Verdict::Regressed, &others);
    // An allowance for all that is leaked in `main` itself is none for what it calls.
    check("main 1 32", Verdict::Regressed, &["main;a::put 1 32"]);
}

/// One frame, or one name in several of them.
#[test]
fn what_was_renamed_is_the_same_leak() {
    for (old, new) in [
        ("main;a::fill;a::put", "main;a::fill;a::add"),
        ("main;a::fill;a::put", "main;a::load;a::put"),
        ("main;a::put", "main;a::add"),
        ("main;a::put", "top;a::put"),
        ("t::all::{{closure}}", "t::some::{{closure}}"),
        (
            "t::all::{{closure}};t::all::{{closure}}::{{closure}};v::push",
            "t::some::{{closure}};t::some::{{closure}}::{{closure}};v::push",
        ),
    ] {
        let moved = held(&format!("{old} 2 64"), &format!("{new} 2 64"));
        let expected = format!(
            "within, 1 per 1000 | within Moved: {new} 2.00 objects 64.00 B linear, from {old}"
        );
        assert_eq!(moved.trim_end(), expected);
        for rate in ["1 32", "2 96", "3 64"] {
            let new = format!("{new} {rate}");
            check(&format!("{old} 2 64"), Verdict::Regressed, &[&new]);
        }
    }
    // What is there as before has its own allowance.
    assert_snapshot!(held("main;a::x;a::put 1 32\nmain;a::y;a::put 1 32",
        "main;a::y;a::put 1 32\nmain;a::z;a::put 1 32"), @"
        within, 1 per 1000
        within Allowed: main;a::y;a::put 1.00 objects 32.00 B linear
        within Moved: main;a::z;a::put 1.00 objects 32.00 B linear, from main;a::x;a::put
        ");
}

#[test]
fn symbols_alone() {
    let debug = "
        main;a::fill;a::put 1 32
        main;a::hoard 3 96
        main;b::T::insert 2 64";
    assert_snapshot!(held(debug, "*main;a::fill 1 32\n*main 2 64\n*main;a::hoard 3 96"), @"
    within, 1 per 1000
    within Allowed: main;a::hoard 3.00 objects 96.00 B linear
    within Moved: main 2.00 objects 64.00 B linear
    within Moved: main;a::fill 1.00 objects 32.00 B linear
    ");
    // Two objects in three are inlined, and what is left is ours.
    assert_snapshot!(
        held(debug, "*a::hoard 1 32\n*plimsoll_subject::workload_iteration 5 160"), @"within, 1 per 1000 | within Moved: 2 stacks at a::hoard 6.00 objects 192.00 B linear");
    let more = [
        "*a::hoard 1 32\n*plimsoll_subject::workload_iteration 6 192",
        "*a::hoard 1 32\n*plimsoll_subject::workload_iteration 4 128",
        "*a::hoard 1 32\n*plimsoll_subject::workload_iteration 5 160\n*b::add 1 32",
        // It has debug information, so what it calls would be named.
        "*a::hoard 1 32\nmain 5 160",
    ];
    check(debug, Verdict::Regressed, &more);
}

#[test]
fn one_stack_in_place_of_two_and_two_in_place_of_one() {
    let two = "main;<a::B as a::F>::f 1 32\nmain;<a::C as a::F>::f 1 64";
    let one = "main;a::f 2 96";
    assert_snapshot!(held(two, one), @"within, 1 per 1000 | within Moved: main;a::f 2.00 objects 96.00 B linear");
    assert_snapshot!(held(one, two), @"within, 1 per 1000 | within Moved: 2 stacks at <a::B as a::F>::f 2.00 objects 96.00 B linear");
    assert_eq!(verdict(two, "main;a::f 3 128"), Verdict::Regressed);
    // Neither uses the allowance twice.
    let both = "main;<a::B as a::F>::f 2 96\nmain;<a::C as a::F>::f 2 96";
    assert_eq!(verdict(one, both), Verdict::Regressed);
}

#[test]
fn the_nearest_stack_has_the_allowance() {
    let new = "main;b::put 1 32\nmain;a::fill;b::put 1 32";
    assert_snapshot!(held("main;a::fill;b::T::put 1 32", new), @"
    regressed, 1 per 1000
    regressed New: main;b::put 1.00 objects 32.00 B linear
    within Moved: main;a::fill;b::put 1.00 objects 32.00 B linear, from main;a::fill;b::T::put
    ");
}

/// Stacks of few names, so that many may be one another.
fn stacks() -> impl Strategy<Value = Vec<(String, u64)>> {
    let names = "m a::T::f a::f f <a::T_as_b::U>::f b::U::f b::g".split(' ');
    let names: Vec<String> = names.map(|name| name.replace('_', " ")).collect();
    let frame = prop::sample::select(names);
    let stack = prop::collection::vec(frame, 1..5).prop_map(|frames| frames.join(";"));
    let bare = any::<bool>().prop_map(|bare| if bare { "*" } else { "" });
    let line = (bare, stack, 1..4_u64);
    let line = line.prop_map(|(bare, stack, rate)| (format!("{bare}{stack}"), rate));
    prop::collection::vec(line, 0..6)
}

fn lines(stacks: &[(String, u64)], times: u64) -> String {
    let line = |(stack, rate): &(String, u64)| {
        format!("{stack} {0} {1}\n", rate * times, rate * times * 16)
    };
    stacks.iter().map(line).collect()
}

proptest! {
    /// What may grow in all is what was accepted in all, whoever is taken for whom.
    #[test]
    fn no_allowance_is_used_twice(old in stacks(), new in stacks()) {
        let without_marks = lines(&old, 1).replace('*', "");
        let (observed, baseline) = (seen(&lines(&new, 1)), agreed(&without_marks));
        let assessment = judge(&observed, &baseline, &TOP);
        let grown: u64 = observed.stacks.values().map(|series| series.levels()[40].objects).sum();
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let grown = grown as f64 / observed.iterations[40] as f64;
        let allowed: f64 = baseline.allowances.iter().map(|allow| allow.rate.objects).sum();
        if assessment.verdict <= Verdict::Improved {
            prop_assert!(grown <= allowed + 0.01, "{} of {}: {}", grown, allowed, shown(&assessment));
        }
        // Nor is one to be had twice at the price of one.
        if !observed.stacks.is_empty() {
            let old = lines(&new, 1).replace('*', "");
            let twice = judge(&seen(&lines(&new, 2)), &agreed(&old), &TOP);
            prop_assert_eq!(twice.verdict, Verdict::Regressed, "{}", shown(&twice));
        }
    }

    /// A build that has the very stacks that were accepted is within, whatever else
    /// they might be taken for; and one leak more is one too many.
    #[test]
    fn one_leak_more_is_one_too_many(old in stacks()) {
        let allowances = lines(&old, 1).replace('*', "");
        let observed = seen(&allowances);
        let written = observed.stacks.iter().map(|(stack, series)| {
            let rate = series.levels()[40].objects / observed.iterations[40];
            (stack.to_string(), rate)
        });
        let written: Vec<(String, u64)> = written.collect();
        let baseline = agreed(&lines(&written, 1));
        prop_assert_eq!(judge(&observed, &baseline, &TOP).verdict, Verdict::Within);
        let more = format!("{allowances}m;a::T::f;new::leak 1 16\n");
        prop_assert_eq!(judge(&seen(&more), &baseline, &TOP).verdict, Verdict::Regressed);
    }
}
