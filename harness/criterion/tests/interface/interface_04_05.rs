//! A program as it was written for criterion 0.4 and 0.5: groups and custom measurements.

use crate::front;

mod benches {
    use std::time::{Duration, Instant};

    use criterion::measurement::{Measurement, ValueFormatter, WallTime};
    use criterion::{
        AxisScale, BatchSize, Bencher, BenchmarkFilter, BenchmarkGroup, BenchmarkId, Criterion,
        PlotConfiguration, PlottingBackend, SamplingMode, Throughput, black_box,
    };

    struct Halves;

    impl ValueFormatter for Halves {
        fn format_value(&self, value: f64) -> String {
            format!("{value} s/2")
        }
        fn format_throughput(&self, throughput: &Throughput, value: f64) -> String {
            WallTime.formatter().format_throughput(throughput, value)
        }
        fn scale_values(&self, ns: f64, values: &mut [f64]) -> &'static str {
            WallTime.formatter().scale_values(ns, values)
        }
        fn scale_throughputs(&self, ns: f64, of: &Throughput, all: &mut [f64]) -> &'static str {
            WallTime.formatter().scale_throughputs(ns, of, all)
        }
        fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
            WallTime.formatter().scale_for_machines(values)
        }
    }

    struct HalfSeconds;

    impl Measurement for HalfSeconds {
        type Intermediate = Instant;
        type Value = u128;

        fn start(&self) -> Self::Intermediate {
            unreachable!("criterion would call it");
        }
        fn end(&self, i: Self::Intermediate) -> Self::Value {
            i.elapsed().as_nanos()
        }
        fn add(&self, v1: &Self::Value, v2: &Self::Value) -> Self::Value {
            v1 + v2
        }
        fn zero(&self) -> Self::Value {
            0
        }
        fn to_f64(&self, value: &Self::Value) -> f64 {
            *value as f64
        }
        fn formatter(&self) -> &dyn ValueFormatter {
            &Halves
        }
    }

    fn halves() -> Criterion<HalfSeconds> {
        Criterion::default().with_measurement(HalfSeconds)
    }

    fn measured(c: &mut Criterion<HalfSeconds>) {
        c.bench_function("custom", |b| b.iter_custom(|n| 2 * u128::from(n)));
    }

    fn any_measurement<M: Measurement + 'static>(c: &mut Criterion<M>) {
        c.bench_function("any", |b: &mut Bencher<'_, M>| b.iter(|| black_box(1)));
    }

    fn setters<M: Measurement>(group: &mut BenchmarkGroup<'_, M>) {
        with_statistics!(group)
            .plot_config(PlotConfiguration::default().summary_scale(AxisScale::Linear))
            .throughput(Throughput::BytesDecimal(1))
            .sampling_mode(SamplingMode::Linear);
    }

    fn groups(c: &mut Criterion) {
        let mut group = c.benchmark_group(format!("group {}", 1));
        setters(&mut group);
        group.bench_function("iter", |b| b.iter(Vec::<u8>::new));
        group.bench_function(String::from("string"), |b| b.iter_with_setup(|| 1, |i| i));
        group.bench_function(BenchmarkId::new("id", 1), |b| b.iter_with_large_drop(|| 1));
        group.bench_with_input(BenchmarkId::from_parameter("p"), "unsized", |b, i| {
            b.iter_batched(|| i.to_owned(), |i| i, BatchSize::LargeInput)
        });
        group.bench_with_input("input", &[1, 2][..], |b, i| {
            b.iter_batched_ref(|| i.to_vec(), |i| i.push(3), BatchSize::PerIteration)
        });
        for size in [
            BatchSize::NumBatches(2),
            BatchSize::NumIterations(2),
            BatchSize::SmallInput,
        ] {
            let id = BenchmarkId::from_parameter(format!("{size:?}"));
            group.bench_function(id, |b| b.iter_batched(|| (), |()| (), size));
        }
        group.finish();
    }

    fn settings() -> Criterion {
        let criterion = Criterion::default()
            .plotting_backend(PlottingBackend::Plotters)
            .plotting_backend(PlottingBackend::None)
            .retain_baseline("before".into(), false)
            .with_output_color(true)
            .profile_time(Some(Duration::from_secs(1)))
            .with_benchmark_filter(BenchmarkFilter::AcceptAll)
            .with_benchmark_filter(BenchmarkFilter::Exact(String::from("none")))
            .with_benchmark_filter(BenchmarkFilter::Regex("a compiled pattern"))
            .configure_from_args();
        assert!(!criterion.can_plot());
        criterion
    }

    criterion_group!(name = custom; config = halves(); targets = measured, any_measurement);
    criterion_group!(name = grouped; config = settings(); targets = groups, any_measurement);
    criterion_main!(custom, grouped);

    pub(crate) fn program() {
        main();
    }
}

pub(crate) use benches::program;

tests!(
    ids_are_those_of_criterion,
    a_custom_measurement_measures_nothing
);

fn ids_are_those_of_criterion() {
    assert_eq!(
        front::run("interface_04_05", "list"),
        "scenario custom
scenario any
scenario group_1::iter-3bd392c7 | group 1/iter
scenario group_1::string-1ac559a0 | group 1/string
scenario group_1::id::1-93bd3f9c | group 1/id/1
scenario group_1::p-d40ef505 | group 1/p
scenario group_1::input-9727ab99 | group 1/input
scenario group_1::NumBatches_2_-a17cc637 | group 1/NumBatches(2)
scenario group_1::NumIterations_2_-df722cf4 | group 1/NumIterations(2)
scenario group_1::SmallInput-500dd7ca | group 1/SmallInput
scenario any.2 | any #2
done 0
exit status: 0
"
    );
}

fn a_custom_measurement_measures_nothing() {
    front::climbs("interface_04_05", ["custom", "any", "any.2"]);
}
