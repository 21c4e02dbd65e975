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
    impl<T, E: std::fmt::Debug> Sealed for Result<T, E> {}
}

/// Type that one iteration may return: `()`, or a `Result<T, E>`. A value is dropped. An error
/// fails the test with its `Debug` text, as an error that `main` returns does.
#[diagnostic::on_unimplemented(
    message = "an iteration returns `()` or a `Result`, and this one a `{Self}`",
    note = "to drop what the last expression returns, put a semicolon behind it"
)]
pub trait Iteration: sealed::Sealed {
    #[doc(hidden)]
    fn outcome(self) -> Result<(), String>;
}

impl Iteration for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Debug> Iteration for Result<T, E> {
    fn outcome(self) -> Result<(), String> {
        self.map(drop).map_err(|error| format!("{error:?}"))
    }
}
