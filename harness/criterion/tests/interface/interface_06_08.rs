//! A program as it is written for criterion 0.6 to 0.8.

use crate::front;

mod benches {
    use std::hint::black_box;

    use criterion::{
        AxisScale, Baseline, BenchmarkId, Criterion, PlotConfiguration, SamplingMode, Throughput,
        criterion_group, criterion_main,
    };

    fn throughputs(c: &mut Criterion) {
        let mut group = c.benchmark_group("throughput");
        group.plot_config(PlotConfiguration::default().summary_scale(AxisScale::default()));
        group.sampling_mode(SamplingMode::default());
        let (elements, bytes) = (1, 1);
        for throughput in [
            Throughput::Bits(1),
            Throughput::Bytes(bytes),
            Throughput::BytesDecimal(bytes),
            Throughput::Elements(elements),
            Throughput::ElementsAndBytes { elements, bytes },
        ] {
            // Since 0.8 a match that names all variants needs no wildcard.
            let unit = match throughput {
                Throughput::Bits(_) => "bits",
                Throughput::Bytes(_) | Throughput::BytesDecimal(_) => "bytes",
                Throughput::Elements(_) => "elements",
                Throughput::ElementsAndBytes { .. } => "both",
            };
            group.throughput(throughput.clone());
            group.bench_with_input(BenchmarkId::new("unit", unit), &throughput, |b, i| {
                b.iter(|| black_box(i.clone()))
            });
        }
    }

    fn baselines(_: &mut Criterion) {
        use Baseline::{CompareLenient, CompareStrict, Discard, Save};
        assert_eq!([CompareLenient, CompareStrict, Save, Discard].len(), 4);
    }

    criterion_group!(benches, throughputs, baselines);
    criterion_main! {
        benches,
    }

    /// The test framework of the crate `criterion-macro` calls this.
    pub(crate) fn program() {
        criterion::runner(&[&benches, &main]);
    }
}

pub(crate) use benches::program;

tests!(both_ways_to_run);

fn both_ways_to_run() {
    let told = front::run("interface_06_08", "list");
    let first = "scenario throughput::unit::bits | throughput/unit/bits\n";
    assert!(told.starts_with(first), "{told}");
    let last = "throughput/unit/both #2\ndone 0\nexit status: 0\n";
    assert!(told.ends_with(last), "{told}");
    front::climbs("interface_06_08", ["throughput::unit::both"]);
}
