//! A program as it was written for criterion 0.3, with all that 0.4 removed.

use crate::front;

mod benches {
    #![allow(deprecated, reason = "as benchmarks of that time are written")]

    use std::path::Path;

    use criterion::profiler::Profiler;
    use criterion::*;

    fn add(a: u64, b: u64) -> u64 {
        a + b
    }

    fn functions(c: &mut Criterion) {
        let one = Fun::new("one", |b, i| b.iter(|| add(*i, 1)));
        let two = Fun::new("two", |b: &mut Bencher, i: &u64| b.iter(|| add(*i, 2)));
        c.bench_functions("functions", vec![one, two], 20);
        let alone = Fun::new("alone", |b, _: &()| b.iter(|| 1));
        c.bench_functions("alone", vec![alone], ());
        let zeros = |b: &mut Bencher, size: &&usize| b.iter(|| vec![0_u8; **size]);
        c.bench_function_over_inputs("over_inputs", zeros, &[1_usize, 1024]);
        let name = String::from("a String");
        c.bench_function(&name, |b| b.iter(|| black_box(1)));
    }

    fn definitions(c: &mut Criterion) {
        c.bench(
            "definition",
            with_statistics!(Benchmark::new("first", |b| b.iter(|| 1)))
                .with_function(String::from("second"), |b| b.iter_with_setup(|| 1, |i| i))
                .sampling_mode(SamplingMode::Flat)
                .plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic))
                .throughput(Throughput::Bytes(1)),
        )
        .bench(
            "parameters",
            ParameterizedBenchmark::new("f", |b, i| b.iter(|| add(*i, 1)), vec![1_u64, 2])
                .with_function("g", |b, i| b.iter_with_large_setup(|| *i, |i| add(i, 1)))
                .sample_size(2)
                .plot_config(PlotConfiguration::default())
                .throughput(|i| Throughput::Elements(*i)),
        )
        .bench(
            "parameter",
            ParameterizedBenchmark::new("f", |b, i: &&str| b.iter(|| i.len()), vec!["a"])
                .with_function("g", |b, i| b.iter_with_large_drop(|| i.to_string())),
        );
    }

    struct Sampler;

    impl Profiler for Sampler {
        fn start_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {
            unreachable!("criterion would call it");
        }
        fn stop_profiling(&mut self, _benchmark_id: &str, _benchmark_dir: &Path) {
            unreachable!("criterion would call it");
        }
    }

    fn settings() -> Criterion {
        with_statistics!(Criterion::default().with_profiler(Sampler))
            .with_plots()
            .without_plots()
            .save_baseline("before".to_owned())
            .with_filter("nothing")
            .output_directory(Path::new("target"))
    }

    criterion_group!(plain, functions);
    criterion_group! {
        name = configured;
        config = settings();
        targets = definitions,
    }
    criterion_main!(plain, configured);

    pub(crate) fn program() {
        main();
    }
}

pub(crate) use benches::program;

tests!(ids_are_those_of_criterion_0_3, each_can_be_measured);

fn ids_are_those_of_criterion_0_3() {
    assert_eq!(
        front::run("interface_03", "list"),
        "scenario functions::one | functions/one
scenario functions::two | functions/two
scenario alone
scenario over_inputs::1 | over_inputs/1
scenario over_inputs::1024 | over_inputs/1024
scenario a_String-7a7a0bfa | a String
scenario definition::first | definition/first
scenario definition::second | definition/second
scenario parameters::f::1 | parameters/f/1
scenario parameters::f::2 | parameters/f/2
scenario parameters::g::1 | parameters/g/1
scenario parameters::g::2 | parameters/g/2
scenario parameter::f | parameter/f
scenario parameter::g | parameter/g
done 0
exit status: 0
"
    );
}

fn each_can_be_measured() {
    let all = "functions::two alone definition::second parameters::g::2";
    front::climbs("interface_03", all.split(' '));
}
