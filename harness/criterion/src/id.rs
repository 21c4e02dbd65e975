//! Ids of benchmarks inside a group.

use std::fmt::Display;

/// The id of a benchmark inside its group: a function, a parameter, or both.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct BenchmarkId {
    function: Option<String>,
    parameter: Option<String>,
}

impl BenchmarkId {
    /// Makes an id of a function's name and a parameter.
    pub fn new<S: Into<String>, P: Display>(function_name: S, parameter: P) -> BenchmarkId {
        BenchmarkId {
            function: Some(function_name.into()),
            parameter: Some(parameter.to_string()),
        }
    }

    /// Makes an id of a parameter alone, for a group that has one function.
    pub fn from_parameter<P: Display>(parameter: P) -> BenchmarkId {
        BenchmarkId {
            function: None,
            parameter: Some(parameter.to_string()),
        }
    }

    /// Returns criterion's full id, such as `group/function/parameter`.
    pub(crate) fn full(&self, group: Option<&str>) -> String {
        let parts = [group, self.function.as_deref(), self.parameter.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("/")
    }
}

mod private {
    use super::BenchmarkId;

    pub trait Sealed {}
    impl Sealed for BenchmarkId {}
    impl<S: Into<String>> Sealed for S {}
}

/// What a group accepts as an id: a [`BenchmarkId`], or the name of a function.
pub trait IntoBenchmarkId: private::Sealed {
    /// Makes the id.
    fn into_benchmark_id(self) -> BenchmarkId;
}

impl IntoBenchmarkId for BenchmarkId {
    fn into_benchmark_id(self) -> BenchmarkId {
        self
    }
}

impl<S: Into<String>> IntoBenchmarkId for S {
    fn into_benchmark_id(self) -> BenchmarkId {
        BenchmarkId {
            function: Some(self.into()),
            parameter: None,
        }
    }
}
