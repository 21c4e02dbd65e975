//! What happens to what the function of a measured benchmark has captured.

use crate::front;

mod benches {
    use std::io::{self, Write};

    use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

    /// For example a folder, which is to be removed.
    #[derive(Debug)]
    struct Loud(&'static str);

    impl Drop for Loud {
        fn drop(&mut self) {
            writeln!(io::stdout(), "drop {}", self.0).expect("the front reads");
        }
    }

    impl Loud {
        fn length(&self) -> usize {
            self.0.len()
        }
    }

    fn functions(c: &mut Criterion) {
        let kept = Loud("of a function");
        c.bench_function("function", move |b| b.iter(|| kept.length()));
        let kept = Loud("of a function with an input");
        c.bench_with_input(BenchmarkId::new("with_input", 1), &1, move |b, _| {
            b.iter(|| kept.length())
        });
    }

    fn groups(c: &mut Criterion) {
        let mut group = c.benchmark_group("group");
        let kept = Loud("of a function");
        group.bench_function("function", move |b| b.iter(|| kept.length()));
        let kept = Loud("of a function with an input");
        group.bench_with_input("with_input", "", move |b, _| b.iter(|| kept.length()));
        group.finish();
    }

    fn definitions(c: &mut Criterion) {
        use criterion::{Benchmark, ParameterizedBenchmark};
        let kept = Loud("of a function");
        let benchmark = Benchmark::new("function", move |b| b.iter(|| kept.length()));
        c.bench(
            "definition",
            benchmark.with_function("second", |b| b.iter(|| 1)),
        );
        let kept = Loud("of a function with a parameter");
        let benchmark = ParameterizedBenchmark::new(
            "parameterized",
            move |b, _| b.iter(|| kept.length()),
            vec![Loud("a parameter")],
        );
        c.bench(
            "definition",
            benchmark.with_function("second", |b, _| b.iter(|| 1)),
        );
    }

    criterion_group!(benches, functions, groups, definitions);
    criterion_main!(benches);

    pub(crate) fn program() {
        main();
    }
}

pub(crate) use benches::program;

tests!(it_is_dropped);

fn it_is_dropped() {
    for (scenario, dropped) in [
        ("function", "drop of a function\n"),
        ("with_input::1", "drop of a function with an input\n"),
        ("group::function", "drop of a function\n"),
        ("group::with_input", "drop of a function with an input\n"),
        ("definition::function", "drop of a function\n"),
        (
            "definition::parameterized",
            "drop of a function with a parameter\ndrop a parameter\n",
        ),
    ] {
        let told = front::run("captures", &format!("measure {scenario}"));
        let ended = format!("done 3\n{dropped}exit status: 0\n");
        assert!(told.ends_with(&ended), "{scenario}: {told}");
    }
}
