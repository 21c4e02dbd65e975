//! Runs the routine of a benchmark: one iteration of the ladder is one call of the routine.
//!
//! The functions `workload_iteration` and `workload_setup` are markers, at which reports cut
//! stacks. Every call of the user's code goes through one of them, with at most one closure in
//! between.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem;
use std::pin::pin;

use plimsoll_subject::{Measure, workload_iteration};

use crate::BatchSize;
use crate::async_executor::AsyncExecutor;
use crate::measurement::{Measurement, WallTime};

/// Runs the routine of one benchmark.
///
/// The first call of one of its methods climbs the ladder, and returns when the front has seen
/// enough. Further calls in the same benchmark return at once, without calling the routine.
pub struct Bencher<'a, M: Measurement = WallTime> {
    measure: &'a mut Measure,
    iterated: bool,
    measurement: PhantomData<fn() -> M>,
}

impl<M: Measurement> fmt::Debug for Bencher<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bencher")
            .field("iterated", &self.iterated)
            .finish_non_exhaustive()
    }
}

impl<'a, M: Measurement> Bencher<'a, M> {
    pub(crate) fn new(measure: &'a mut Measure) -> Self {
        Bencher {
            measure,
            iterated: false,
            measurement: PhantomData,
        }
    }

    /// Returns whether the benchmark has called one of the methods.
    pub(crate) fn iterated(&self) -> bool {
        self.iterated
    }

    fn climb(&mut self, mut iteration: impl FnMut()) {
        if mem::replace(&mut self.iterated, true) {
            return;
        }
        self.measure.climb(|_| {
            iteration();
            Ok(())
        });
    }

    /// An iteration calls the routine once, and drops what it returns.
    pub fn iter<O, R: FnMut() -> O>(&mut self, mut routine: R) {
        self.climb(|| release(workload_iteration(&mut routine)));
    }

    /// An iteration calls the routine with 1 as the number of iterations.
    ///
    /// The measured value that the routine returns is dropped.
    pub fn iter_custom<R: FnMut(u64) -> M::Value>(&mut self, mut routine: R) {
        self.climb(|| release(workload_iteration(|| routine(1))));
    }

    /// Does the same as [`iter_batched`](Self::iter_batched).
    pub fn iter_with_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// Does the same as [`iter`](Self::iter).
    pub fn iter_with_large_drop<O, R: FnMut() -> O>(&mut self, routine: R) {
        self.iter(routine);
    }

    /// Does the same as [`iter_batched`](Self::iter_batched).
    pub fn iter_with_large_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// An iteration calls the setup and then the routine, and drops what the routine returns.
    ///
    /// There are no batches: every iteration has an input of its own.
    pub fn iter_batched<I, O, S: FnMut() -> I, R: FnMut(I) -> O>(
        &mut self,
        mut setup: S,
        mut routine: R,
        _: BatchSize,
    ) {
        self.climb(|| {
            let input = black_box(workload_iteration(&mut setup));
            release(workload_iteration(|| routine(input)));
        });
    }

    /// An iteration calls the setup and then the routine, and drops what the routine returns
    /// and then the input.
    ///
    /// There are no batches: every iteration has an input of its own.
    pub fn iter_batched_ref<I, O, S: FnMut() -> I, R: FnMut(&mut I) -> O>(
        &mut self,
        mut setup: S,
        mut routine: R,
        _: BatchSize,
    ) {
        self.climb(|| {
            let mut input = black_box(workload_iteration(&mut setup));
            release(workload_iteration(|| routine(&mut input)));
            release(input);
        });
    }

    /// Runs the routine's futures on an executor.
    pub fn to_async<'b, A: AsyncExecutor>(&'b mut self, runner: A) -> AsyncBencher<'a, 'b, A, M> {
        AsyncBencher { b: self, runner }
    }
}

/// Drops what an iteration made, as a part of the iteration.
fn release<O>(output: O) {
    workload_iteration(|| drop(black_box(output)));
}

/// Runs the asynchronous routine of one benchmark.
///
/// Its methods are those of [`Bencher`], except that the routine returns a future. The
/// executor blocks on each iteration anew.
pub struct AsyncBencher<'a, 'b, A: AsyncExecutor, M: Measurement = WallTime> {
    b: &'b mut Bencher<'a, M>,
    runner: A,
}

impl<A: AsyncExecutor, M: Measurement> fmt::Debug for AsyncBencher<'_, '_, A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncBencher")
            .field("b", &self.b)
            .finish_non_exhaustive()
    }
}

impl<A: AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    /// The executor is the user's choice, so it is a part of the iteration.
    fn climb(&mut self, mut iteration: impl FnMut(&A)) {
        let AsyncBencher { b, runner } = self;
        b.climb(|| workload_iteration(|| iteration(runner)));
    }

    /// An iteration awaits the routine's future, and drops what it returns.
    pub fn iter<O, R: FnMut() -> F, F: Future<Output = O>>(&mut self, mut routine: R) {
        self.climb(|runner| {
            runner.block_on(async { release(marked(workload_iteration(&mut routine)).await) });
        });
    }

    /// An iteration calls the routine with 1 as the number of iterations, and awaits its future.
    ///
    /// The measured value that the future returns is dropped.
    pub fn iter_custom<R: FnMut(u64) -> F, F: Future<Output = M::Value>>(
        &mut self,
        mut routine: R,
    ) {
        self.climb(|runner| {
            runner.block_on(async { release(marked(workload_iteration(|| routine(1))).await) });
        });
    }

    /// Does the same as [`iter_batched`](Self::iter_batched).
    pub fn iter_with_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// Does the same as [`iter`](Self::iter).
    pub fn iter_with_large_drop<O, R: FnMut() -> F, F: Future<Output = O>>(&mut self, routine: R) {
        self.iter(routine);
    }

    /// Does the same as [`iter_batched`](Self::iter_batched).
    pub fn iter_with_large_setup<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
        &mut self,
        setup: S,
        routine: R,
    ) {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// An iteration calls the setup, awaits the routine's future, and drops what it returns.
    pub fn iter_batched<I, O, S: FnMut() -> I, R: FnMut(I) -> F, F: Future<Output = O>>(
        &mut self,
        mut setup: S,
        mut routine: R,
        _: BatchSize,
    ) {
        self.climb(|runner| {
            runner.block_on(async {
                let input = black_box(workload_iteration(&mut setup));
                release(marked(workload_iteration(|| routine(input))).await);
            });
        });
    }

    /// An iteration calls the setup, awaits the routine's future, and drops what it returns
    /// and then the input.
    pub fn iter_batched_ref<I, O, S: FnMut() -> I, R: FnMut(&mut I) -> F, F: Future<Output = O>>(
        &mut self,
        mut setup: S,
        mut routine: R,
        _: BatchSize,
    ) {
        self.climb(|runner| {
            runner.block_on(async {
                let mut input = black_box(workload_iteration(&mut setup));
                release(marked(workload_iteration(|| routine(&mut input))).await);
                release(input);
            });
        });
    }
}

/// Marks each poll, so that a stack ends at the user's future and not inside the executor.
async fn marked<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| workload_iteration(|| future.as_mut().poll(context))).await
}
