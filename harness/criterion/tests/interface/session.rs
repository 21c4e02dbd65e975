//! What the front sees of a program with a `main` of its own.

use std::process::Command;

use crate::front;

/// A program as a stranger writes it.
mod benches {
    use std::io::{self, Write};

    use criterion::measurement::WallTime;
    use criterion::{BatchSize, Bencher, BenchmarkGroup, BenchmarkId, Criterion, criterion_group};

    pub(crate) fn say(text: &str) {
        writeln!(io::stdout(), "{text}").expect("the front reads");
    }

    #[derive(Debug)]
    pub(crate) struct Loud(pub(crate) &'static str);

    impl Drop for Loud {
        fn drop(&mut self) {
            say(&format!("drop {}", self.0));
        }
    }

    fn order(c: &mut Criterion) {
        say("group");
        let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group("order");
        group.bench_function("iter", |b| {
            let _kept = Loud("kept");
            b.iter(|| Loud("output"));
            say("after");
            b.iter(|| say("a second ladder"));
        });
        let setup = || {
            say("setup");
            Loud("input")
        };
        group.bench_function("batched", |b| {
            b.iter_batched(
                setup,
                |input| {
                    say("routine");
                    input
                },
                BatchSize::SmallInput,
            )
        });
        group.bench_function("batched_ref", |b| {
            b.iter_batched_ref(setup, |_| Loud("output"), BatchSize::NumBatches(0))
        });
        group.bench_with_input("custom", "a str", |b, input| {
            b.iter_custom(|iterations| {
                say(&format!("{iterations} of {input}"));
                std::time::Duration::ZERO
            })
        });
        group.finish();
    }

    fn on_a_thread(b: &mut Bencher) {
        std::thread::scope(|scope| scope.spawn(|| b.iter(|| 1)).join()).unwrap();
    }

    fn failures(c: &mut Criterion) {
        c.bench_function("panics", |b| b.iter(|| panic!("a bug")));
        c.bench_function("panics before", |_| panic!("a missing file"));
        c.bench_function("panics_after", |b| {
            b.iter(|| 1);
            panic!("a missing output");
        });
        c.bench_function("panics_on_a_thread", |b| {
            b.iter(|| std::thread::spawn(|| panic!("a bug")).join().unwrap())
        });
        c.bench_function("panics_on_a_scoped_thread", |b| {
            b.iter(|| std::thread::scope(|scope| drop(scope.spawn(|| panic!("a bug")))))
        });
        c.bench_function("panics_unseen", |b| {
            b.iter(|| {
                let thread = std::thread::spawn(|| panic!("a bug"));
                while !thread.is_finished() {
                    std::thread::yield_now();
                }
            })
        });
        c.bench_function("panics_where_it_iterates", |b| {
            std::thread::scope(|scope| scope.spawn(|| b.iter(|| panic!("a bug"))).join()).unwrap()
        });
        c.bench_function("exits", |b| b.iter(|| std::process::exit(0)));
        c.bench_function("idle", |_| ());
        c.bench_function("on a thread", on_a_thread);
    }

    fn twice(c: &mut Criterion) {
        for place in ["first", "second"] {
            let id = BenchmarkId::new("twice", 1.5);
            c.bench_with_input(id, &place, |b, place| b.iter(|| say(place)));
        }
    }

    criterion_group!(benches, order, failures);

    pub(crate) fn main() {
        benches();
        let mut criterion = Criterion::default().configure_from_args();
        twice(&mut criterion);
        criterion.final_summary();
        criterion.bench_function("after_a_summary", |b| b.iter(|| 1));
        Criterion::default().configure_from_args().final_summary();
        say("the end of main");
    }
}

pub(crate) use benches::{Loud, main as program, say};

tests!(
    a_list_calls_no_benchmark,
    each_iteration_calls_the_routine_once,
    what_a_benchmark_does_is_told,
    without_a_front
);

fn a_list_calls_no_benchmark() {
    let names = "order::iter | order/iter
        order::batched | order/batched
        order::batched_ref | order/batched_ref
        order::custom | order/custom
        panics
        panics_before-a9b570d3 | panics before
        panics_after
        panics_on_a_thread
        panics_on_a_scoped_thread
        panics_unseen
        panics_where_it_iterates
        exits
        idle
        on_a_thread-9b48cf2e | on a thread
        twice::1.5 | twice/1.5
        twice::1.5.2 | twice/1.5 #2
        after_a_summary";
    let names = names
        .lines()
        .map(|line| format!("scenario {}\n", line.trim()));
    let expected = format!(
        "group\n{}done 0\nexit status: 0\n",
        names.collect::<String>()
    );
    assert_eq!(front::run("session", "list"), expected);
}

fn each_iteration_calls_the_routine_once() {
    for (scenario, before) in [
        ("order::batched", "setup|routine|drop input"),
        ("order::batched_ref", "setup|drop output|drop input"),
        ("order::custom", "1 of a str"),
        // One of two with the same id.
        ("twice::1.5.2", "second"),
    ] {
        let told = front::run("session", &format!("measure {scenario}")).replace('\n', "|");
        let iterations = told.matches(&format!("{before}|done")).count();
        assert_eq!(iterations, 3, "{told}");
    }
}

/// Lines after `group` and before the exit status, with `|` between. `CLIMBED` are those of a
/// benchmark that prints nothing.
fn what_a_benchmark_does_is_told() {
    let climbed = "done 0|done 1|done 2|done 3";
    let idle = "failed the benchmark's function does not call Bencher::iter or one of its kin";
    let unwrapped = "done 0|panicked: called `Result::unwrap()` on an `Err` value: Any { .. }";
    let scoped = "done 0|panicked: a scoped thread panicked";
    // The output is dropped in each iteration, and a second ladder is none.
    let order = "done 0|drop output|done 1|drop output|done 2|drop output|done 3|after|drop kept";
    for (scenario, status, expected) in [
        ("order::iter", 0, order),
        ("panics", 101, "done 0|panicked: a bug"),
        ("panics_before-a9b570d3", 101, "panicked: a missing file"),
        ("panics_after", 101, "CLIMBED|panicked: a missing output"),
        ("idle", 101, idle),
        ("none", 101, "failed there is no benchmark of this name"),
        ("on_a_thread-9b48cf2e", 0, "CLIMBED"),
        // A panic fails the benchmark if the thread that called `iter` hears of it.
        ("panics_on_a_thread", 101, unwrapped),
        ("panics_on_a_scoped_thread", 101, scoped),
        ("panics_unseen", 0, "CLIMBED"),
        ("panics_where_it_iterates", 101, "done 0|panicked: a bug"),
        // The front cannot take it for the end: not all is done.
        ("exits", 0, "done 0"),
    ] {
        let told = front::run("session", &format!("measure {scenario}"));
        let expected = format!("group|{expected}|exit status: {status}|");
        let expected = expected.replace("CLIMBED", climbed);
        assert_eq!(told.replace('\n', "|"), expected, "{scenario}");
    }
}

/// As `cargo test` runs the program, or somebody does by hand.
fn without_a_front() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.env(crate::PROGRAM, "session");
    let output = program.arg("--list").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if cfg!(feature = "front") {
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(stdout.contains("order::iter: test\n"), "{stdout}");
    } else {
        assert_eq!(output.status.code(), Some(2));
        let hint = "hint: run `plimsoll run PROGRAM`";
        assert!(stderr.contains(hint), "{stderr}");
    }
}
