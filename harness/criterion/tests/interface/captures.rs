//! What happens to what the function of a measured benchmark has captured.

use crate::front;

mod benches {
    use criterion::{
        Benchmark, BenchmarkId, Criterion, ParameterizedBenchmark, criterion_group, criterion_main,
    };

    // What is captured may be a folder, which is to be removed.
    use crate::session::Loud;

    fn functions(c: &mut Criterion) {
        let kept = Loud("of a function");
        c.bench_function("function", move |b| b.iter(|| size_of_val(&kept)));
        let kept = Loud("of a function with an input");
        let id = BenchmarkId::new("with_input", 1);
        c.bench_with_input(id, &1, move |b, _| b.iter(|| size_of_val(&kept)));
    }

    fn groups(c: &mut Criterion) {
        let mut group = c.benchmark_group("group");
        let kept = Loud("of a function");
        group.bench_function("function", move |b| b.iter(|| size_of_val(&kept)));
        let kept = Loud("of a function with an input");
        group.bench_with_input("with_input", "", move |b, _| b.iter(|| size_of_val(&kept)));
        group.finish();
    }

    fn definitions(c: &mut Criterion) {
        let kept = Loud("of a function");
        let benchmark = Benchmark::new("function", move |b| b.iter(|| size_of_val(&kept)));
        let benchmark = benchmark.with_function("second", |b| b.iter(|| 1));
        c.bench("definition", benchmark);
        let kept = Loud("of a function with a parameter");
        let benchmark = ParameterizedBenchmark::new(
            "parameterized",
            move |b, _| b.iter(|| size_of_val(&kept)),
            vec![Loud("a parameter")],
        );
        let benchmark = benchmark.with_function("second", |b, _| b.iter(|| 1));
        c.bench("definition", benchmark);
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
