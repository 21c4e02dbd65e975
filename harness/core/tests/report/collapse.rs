//! Which frames of a stack are listed.

use std::ops::Range;

use plimsoll_core::blame::Blame;
use plimsoll_core::report::view::collapse::{Part, frames_of};
use proptest::prelude::*;

use crate::samples::blamed;

/// The 39 frames of tokio below which a task runs on a thread of the runtime, leaf first.
const WORKER: &str = include_str!("worker.txt");

/// Stacks, leaf first, and their frames as listed. `WORKER` stands for a worker thread's frames,
/// and `f*3` for `f0 f1 f2`.
#[test]
fn stacks_are_listed() {
    let mut wrong = String::new();
    for block in include_str!("listed.txt").trim_end().split("\n\n") {
        let [what, stack, expected] = block.lines().collect::<Vec<_>>()[..] else {
            panic!("{block}");
        };
        let words = stack
            .split(' ')
            .flat_map(|word| match word.split_once('*') {
                _ if word == "WORKER" => WORKER.lines().map(str::to_owned).collect(),
                Some((name, times)) => (0..times.parse().unwrap())
                    .map(|n: u32| format!("{name}{n}"))
                    .collect(),
                None => vec![word.to_owned()],
            });
        let stack: Vec<String> = words.collect();
        let mut report = blamed(&stack.iter().map(String::as_str).collect::<Vec<_>>(), None);
        if what == "# a thread of a dependency" {
            report.own = vec!["jobs".to_owned()];
        }
        let frames = report.findings[0].frames.iter();
        let names: Vec<&str> = frames.map(|frame| frame.function.as_str()).collect();
        let said = report.collapse().said(&names).join(", ");
        if said != expected {
            wrong += &format!("{what}\n{said}\n");
        }
    }
    assert_eq!(wrong, "");
}

#[test]
fn what_a_run_is() {
    for (names, said) in [
        ("a::f a::g", "2 frames of a"),
        ("a::f b::f <b::T>::g", "3 frames of b and a"),
        ("qsort a::f malloc", "3 frames of C and a"),
        ("[unknown] [stack]", "2 frames"),
        (
            "a::f b::f c::f d::f",
            "4 frames of a, b, c and 1 more crate",
        ),
        (
            "d::f a::f b::f c::f d::f e::f",
            "6 frames of d, a, b and 2 more crates",
        ),
    ] {
        assert_eq!(frames_of(&names.split(' ').collect::<Vec<_>>()), said);
    }
}

fn any_stack() -> impl Strategy<Value = Vec<&'static str>> {
    let names = [
        "jobs::start",
        "jobs_queue::keep",
        "<jobs::Job as core::future::future::Future>::poll",
        "callback",
        "hyper::a",
        "h2::b",
        "tokio::runtime::task::raw::poll",
        "tokio::task::spawn::spawn",
        "hashbrown::map::HashMap::insert",
        "sqlite3Malloc",
        "qsort",
        "[unknown]",
    ];
    prop::collection::vec(prop::sample::select(names.to_vec()), 0..40)
}

proptest! {
    #[test]
    fn what_matters_is_listed_and_the_rest_is_counted(
        names in any_stack(),
        knows in any::<bool>(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut report = blamed(&names, None);
        let own = ["jobs", "jobs_queue", "callback"].map(str::to_owned);
        report.own = if knows { own.to_vec() } else { Vec::new() };
        let at = report.findings[0].blame.as_mut();
        if let Some(at) = at.and_then(|blame| blame.at.as_mut()) {
            at.function = names[place.index(names.len())].to_owned();
        }
        let is_needed = |name: &str| {
            let is_own = knows && (name.contains("jobs") || name == "callback");
            let blame = report.findings[0].blame.iter();
            let mut blamed = blame.flat_map(Blame::frames);
            is_own || blamed.any(|frame| frame.function == name)
        };
        let mut next = 0;
        let mut last: Option<Range<usize>> = None;
        for part in report.collapse().parts(&names) {
            match part {
                Part::Frame(at) => {
                    prop_assert_eq!(at, next);
                    last = None;
                    next += 1;
                }
                Part::Run(run) => {
                    prop_assert_eq!(run.start, next);
                    prop_assert!(run.len() > 1);
                    // Two runs side by side are one.
                    prop_assert_eq!(last, None);
                    for name in &names[run.clone()] {
                        prop_assert!(!is_needed(name), "{} is needed", name);
                    }
                    next = run.end;
                    last = Some(run);
                }
            }
        }
        prop_assert_eq!(next, names.len());
    }
}
