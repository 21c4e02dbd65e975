//! The handle by which a program names its benchmarks.

use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use crate::measurement::{Measurement, WallTime};
use crate::profiler::Profiler;
use crate::settings::{accept, settings};
use crate::{Bencher, BenchmarkFilter, BenchmarkGroup, BenchmarkId, PlottingBackend, session};

/// Names benchmarks, each of which is a leak scenario.
///
/// A program may have several. All belong to the one session of the process.
#[derive(Debug)]
pub struct Criterion<M: Measurement = WallTime> {
    /// Whether this handle has named a benchmark.
    pub(crate) used: bool,
    measurement: PhantomData<fn() -> M>,
}

impl Default for Criterion {
    /// Begins the session, if this is the first `Criterion` of the process.
    fn default() -> Criterion {
        session::begin();
        Criterion {
            used: false,
            measurement: PhantomData,
        }
    }
}

impl<M: Measurement> Criterion<M> {
    settings!(self: Self);
    accept! { self: Self;
        "nothing is plotted": plotting_backend(PlottingBackend), with_plots(), without_plots();
        "nothing is profiled": profile_time(Option<Duration>);
        "the front filters": with_benchmark_filter(BenchmarkFilter);
        "the front has a directory of its own": output_directory(&Path);
        "the front has baselines of its own": save_baseline(String);
        "the front prints": with_output_color(bool);
        "the front reads the command line": configure_from_args();
    }
    #[cfg(since_0_4)]
    accept! { self: Self; "the front has baselines of its own": retain_baseline(String, bool); }
    #[cfg(not(since_0_4))]
    accept! { self: Self; "the front has baselines of its own": retain_baseline(String); }

    /// Means nothing here: the front filters.
    pub fn with_filter<S: Into<String>>(self, _: S) -> Criterion<M> {
        self
    }

    /// Means nothing here: the profiler is dropped.
    pub fn with_profiler<P: Profiler + 'static>(self, _: P) -> Criterion<M> {
        self
    }

    /// Changes the type that `Bencher::iter_custom` returns. The measurement itself is dropped.
    pub fn with_measurement<M2: Measurement>(self, _: M2) -> Criterion<M2> {
        Criterion {
            used: self.used,
            measurement: PhantomData,
        }
    }

    /// Returns `false`: nothing is plotted.
    pub fn can_plot(&self) -> bool {
        false
    }

    /// Ends the session and the process, unless this `Criterion` has named a benchmark.
    ///
    /// `criterion_main!` calls this on a new `Criterion` when all groups have returned, and so
    /// does a `main` that was written after its example. Where a program calls this on a
    /// `Criterion` that it has used, more groups may follow, and the session ends with `main`.
    #[doc(hidden)]
    pub fn final_summary(&self) {
        if !self.used {
            session::end();
        }
    }

    /// Makes a group, whose name is the first part of the ids of its benchmarks.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        BenchmarkGroup::new(self, group_name.into())
    }
}

impl<M: Measurement + 'static> Criterion<M> {
    /// Names a benchmark outside of any group.
    pub fn bench_function<F>(&mut self, id: &str, f: F) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        self.used = true;
        session::benchmark(id, f);
        self
    }

    /// Names a benchmark outside of any group, whose function gets an input.
    pub fn bench_with_input<F, I>(
        &mut self,
        id: BenchmarkId,
        input: &I,
        mut f: F,
    ) -> &mut Criterion<M>
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        self.used = true;
        session::benchmark(&id.full(None), move |b| f(b, input));
        self
    }
}
