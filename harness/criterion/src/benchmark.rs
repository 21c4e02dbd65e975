//! The part of criterion 0.3's interface that 0.4 removed: benchmarks without groups.

use std::fmt::{self, Debug};

use crate::measurement::{Measurement, WallTime};
use crate::settings::{accept, group_settings};
use crate::{Bencher, Criterion, Throughput, session};

type Function<T, M> = Box<dyn FnMut(&mut Bencher<'_, M>, &T)>;

struct Routine<T, M: Measurement> {
    id: String,
    function: Function<T, M>,
}

impl<T, M: Measurement> Debug for Routine<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routine")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl<T, M: Measurement> Routine<T, M> {
    fn new<F>(id: impl Into<String>, function: F) -> Routine<T, M>
    where
        F: FnMut(&mut Bencher<'_, M>, &T) + 'static,
    {
        Routine {
            id: id.into(),
            function: Box::new(function),
        }
    }

    /// Returns the id as 0.3 does: the only routine of a group adds no part if it has the group's
    /// name.
    fn full_id(&self, group: &str, alone: bool) -> String {
        if alone && self.id == group {
            return group.to_owned();
        }
        format!("{group}/{}", self.id)
    }
}

/// A function with a name, for [`Criterion::bench_functions`].
#[derive(Debug)]
pub struct Fun<I: Debug, M: Measurement + 'static = WallTime>(Routine<I, M>);

impl<I: Debug + 'static, M: Measurement> Fun<I, M> {
    /// Names the function.
    pub fn new<F>(name: &str, f: F) -> Fun<I, M>
    where
        F: FnMut(&mut Bencher<'_, M>, &I) + 'static,
    {
        Fun(Routine::new(name, f))
    }
}

/// Benchmarks that [`Criterion::bench`] runs.
pub trait BenchmarkDefinition<M: Measurement = WallTime>: Sized {
    #[doc(hidden)]
    fn run(self, group_id: &str, c: &mut Criterion<M>);
}

/// Functions without an input.
#[derive(Debug)]
pub struct Benchmark<M: Measurement = WallTime>(ParameterizedBenchmark<(), M>);

impl<M: Measurement + 'static> Benchmark<M> {
    group_settings!(self: Self);
    accept! { self: Self;
        "reports give growth per iteration": throughput(Throughput);
    }

    /// Makes a benchmark of one function.
    pub fn new<S, F>(id: S, mut f: F) -> Benchmark<M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>) + 'static,
    {
        Benchmark(ParameterizedBenchmark::new(id, move |b, ()| f(b), [()]))
    }

    /// Adds a function.
    pub fn with_function<S, F>(self, id: S, mut f: F) -> Benchmark<M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>) + 'static,
    {
        Benchmark(self.0.with_function(id, move |b, ()| f(b)))
    }
}

impl<M: Measurement + 'static> BenchmarkDefinition<M> for Benchmark<M> {
    fn run(self, group_id: &str, c: &mut Criterion<M>) {
        self.0.run(group_id, c);
    }
}

/// Functions that all get the same inputs, one after the other.
#[derive(Debug)]
pub struct ParameterizedBenchmark<T: Debug, M: Measurement = WallTime> {
    routines: Vec<Routine<T, M>>,
    parameters: Vec<T>,
}

impl<T: Debug + 'static, M: Measurement + 'static> ParameterizedBenchmark<T, M> {
    group_settings!(self: Self);

    /// Makes a benchmark of one function and its inputs.
    pub fn new<S, F, I>(id: S, f: F, parameters: I) -> ParameterizedBenchmark<T, M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>, &T) + 'static,
        I: IntoIterator<Item = T>,
    {
        ParameterizedBenchmark {
            routines: vec![Routine::new(id, f)],
            parameters: parameters.into_iter().collect(),
        }
    }

    /// Adds a function.
    pub fn with_function<S, F>(mut self, id: S, f: F) -> ParameterizedBenchmark<T, M>
    where
        S: Into<String>,
        F: FnMut(&mut Bencher<'_, M>, &T) + 'static,
    {
        self.routines.push(Routine::new(id, f));
        self
    }

    /// Means nothing here: reports give growth per iteration.
    pub fn throughput<F>(self, _: F) -> ParameterizedBenchmark<T, M>
    where
        F: Fn(&T) -> Throughput + 'static,
    {
        self
    }
}

impl<T, M> BenchmarkDefinition<M> for ParameterizedBenchmark<T, M>
where
    T: Debug + 'static,
    M: Measurement + 'static,
{
    fn run(self, group_id: &str, c: &mut Criterion<M>) {
        c.used = true;
        let (routines, parameters) = (self.routines, self.parameters);
        let alone = routines.len() == 1;
        for mut routine in routines {
            let function = routine.full_id(group_id, alone);
            for (at, parameter) in parameters.iter().enumerate() {
                // As 0.3 does: a parameter that is alone is no part of the id.
                let id = match parameters.len() {
                    1 => function.clone(),
                    _ => format!("{function}/{parameter:?}"),
                };
                if let Some(measure) = session::next(&id) {
                    session::run(measure, move |b| (routine.function)(b, &parameters[at]));
                }
            }
        }
    }
}

impl<M: Measurement + 'static> Criterion<M> {
    /// Names a benchmark for each input.
    pub fn bench_function_over_inputs<I, F>(
        &mut self,
        id: &str,
        f: F,
        inputs: I,
    ) -> &mut Criterion<M>
    where
        I: IntoIterator,
        I::Item: Debug + 'static,
        F: FnMut(&mut Bencher<'_, M>, &I::Item) + 'static,
    {
        self.bench(id, ParameterizedBenchmark::new(id, f, inputs))
    }

    /// Names a benchmark for each function. All get the same input.
    pub fn bench_functions<I>(
        &mut self,
        id: &str,
        funs: Vec<Fun<I, M>>,
        input: I,
    ) -> &mut Criterion<M>
    where
        I: Debug + 'static,
    {
        let benchmark = ParameterizedBenchmark {
            routines: funs.into_iter().map(|fun| fun.0).collect(),
            parameters: vec![input],
        };
        self.bench(id, benchmark)
    }

    /// Names the benchmarks of a definition.
    pub fn bench<B: BenchmarkDefinition<M>>(
        &mut self,
        group_id: &str,
        benchmark: B,
    ) -> &mut Criterion<M> {
        benchmark.run(group_id, self);
        self
    }
}
