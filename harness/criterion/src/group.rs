//! Groups of benchmarks.

use crate::id::IntoBenchmarkId;
use crate::measurement::Measurement;
use crate::settings::{accept, group_settings};
use crate::{Bencher, Criterion, Throughput, session};

/// Benchmarks whose ids begin with one name.
#[derive(Debug)]
pub struct BenchmarkGroup<'a, M: Measurement> {
    criterion: &'a mut Criterion<M>,
    name: String,
}

impl<'a, M: Measurement> BenchmarkGroup<'a, M> {
    pub(crate) fn new(criterion: &'a mut Criterion<M>, name: String) -> Self {
        BenchmarkGroup { criterion, name }
    }

    group_settings!(self: &mut Self);
    accept! { self: &mut Self;
        "reports give growth per iteration": throughput(Throughput);
    }

    /// Names a benchmark of the group.
    pub fn bench_function<ID: IntoBenchmarkId, F>(&mut self, id: ID, f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        self.criterion.used = true;
        session::benchmark(&id.into_benchmark_id().full(Some(&self.name)), f);
        self
    }

    /// Names a benchmark of the group, whose function gets an input.
    pub fn bench_with_input<ID: IntoBenchmarkId, F, I>(
        &mut self,
        id: ID,
        input: &I,
        mut f: F,
    ) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
        I: ?Sized,
    {
        self.bench_function(id, move |b| f(b, input))
    }

    /// Ends the group, which has nothing left to do.
    pub fn finish(self) {}
}
