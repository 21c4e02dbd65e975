//! The interface of criterion 0.3 to 0.8, in which every benchmark is a leak scenario.
//!
//! Nothing is timed. `cargo plimsoll bench` builds benchmarks against this crate instead of
//! criterion, without a change to them, and measures what each routine leaves on the heap. An
//! iteration is one call of the routine.
//!
//! When the function of the measured benchmark has returned, the process drops that function and
//! exits. Variables of the functions that called it are not dropped.
//!
//! # What each item does here
//!
//! "Nothing" means: accepted, and of no effect.
//!
//! | item | here |
//! |---|---|
//! | `Criterion::default` | begins the session with the front |
//! | `bench_function`, `bench_with_input`, `bench_functions`, `bench_function_over_inputs`, `bench` | list the benchmark, or run it if the front asked for it |
//! | `benchmark_group`, [`BenchmarkId`] | name benchmarks as criterion does |
//! | `Benchmark`, `ParameterizedBenchmark`, `BenchmarkDefinition`, `Fun` | as in 0.3; missing if this crate stands in for 0.4 or newer |
//! | `Bencher::iter`, `iter_with_large_drop` | an iteration calls the routine, and drops its output |
//! | `Bencher::iter_batched`, `iter_batched_ref`, `iter_with_setup`, `iter_with_large_setup` | an iteration calls the setup and the routine, and drops all |
//! | `Bencher::iter_custom` | an iteration calls the routine with 1, and drops its output |
//! | `Bencher::to_async`, [`AsyncBencher`] | an iteration blocks on one future |
//! | `Bencher`: a second call in one benchmark | nothing |
//! | [`async_executor`] | as in criterion; `FuturesExecutor` needs no crate `futures` |
//! | [`criterion_group!`], [`criterion_main!`], `runner` | as in criterion |
//! | `Criterion::final_summary` | ends the process, if this `Criterion` named no benchmark |
//! | `Criterion::with_measurement`, [`measurement`] | the type of `iter_custom`'s output; no method is called |
//! | `Criterion::with_profiler`, [`profiler`] | nothing; no method is called |
//! | `sample_size`, `warm_up_time`, `measurement_time`, `nresamples`, `noise_threshold`, `confidence_level`, `significance_level` | nothing, and no panic for small values |
//! | `throughput`, [`Throughput`], `sampling_mode`, [`SamplingMode`], [`BatchSize`] | nothing |
//! | `plotting_backend`, `with_plots`, `without_plots`, `plot_config`, [`PlotConfiguration`], [`AxisScale`], [`PlottingBackend`] | nothing |
//! | `can_plot` | returns `false` |
//! | `save_baseline`, `retain_baseline`, [`Baseline`] | nothing |
//! | `with_filter`, `with_benchmark_filter`, [`BenchmarkFilter`] | nothing; the front filters |
//! | `configure_from_args`, `with_output_color`, `output_directory`, `profile_time` | nothing |
//! | [`black_box`] | the standard library's |
//!
//! Three things differ between versions: the variants of [`Throughput`], the parameters of
//! `retain_baseline`, and what 0.3 alone has. The build script chooses them by the version
//! of the package `criterion`.
#![forbid(unsafe_code)]

pub mod async_executor;
mod bencher;
#[cfg(with_0_3)]
mod benchmark;
mod criterion;
#[cfg(all(feature = "front", target_os = "linux"))]
mod front;
mod group;
mod id;
mod macros;
pub mod measurement;
mod names;
pub mod profiler;
mod session;
mod settings;

pub use std::hint::black_box;

pub use crate::bencher::{AsyncBencher, Bencher};
#[cfg(with_0_3)]
pub use crate::benchmark::{Benchmark, BenchmarkDefinition, Fun, ParameterizedBenchmark};
pub use crate::criterion::Criterion;
pub use crate::group::BenchmarkGroup;
pub use crate::id::BenchmarkId;
#[doc(hidden)]
pub use crate::macros::runner;
pub use crate::settings::{
    AxisScale, Baseline, BatchSize, BenchmarkFilter, PlotConfiguration, PlottingBackend,
    SamplingMode, Throughput,
};
