//! The workload of a scenario: the closure that sets it up, and the closure that is one
//! iteration.

use std::fmt::Debug;

/// One iteration of a workload. It takes the iteration's number; an error fails the test.
pub(crate) type Workload = Box<dyn FnMut(u64) -> Result<(), String>>;

/// Sets a workload up, in the process that runs it.
pub(crate) type Setup = Box<dyn FnOnce() -> Workload>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E: std::fmt::Debug> Sealed for Result<(), E> {}
}

/// Type that one iteration may return: `()`, or a `Result<(), E>`. An error fails the test with
/// its `Debug` text, as an error that `main` returns does.
pub trait Iteration: sealed::Sealed {
    #[doc(hidden)]
    fn outcome(self) -> Result<(), String>;
}

impl Iteration for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Debug> Iteration for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|error| format!("{error:?}"))
    }
}
