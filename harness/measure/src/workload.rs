//! What is run: a closure that sets up, and the one that it returns.

use std::fmt::Debug;

/// One iteration of a workload, given its number; an error fails the test.
pub(crate) type Workload = Box<dyn FnMut(u64) -> Result<(), String>>;

/// Sets a workload up, in the process that runs it.
pub(crate) type Setup = Box<dyn FnOnce() -> Workload>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E: std::fmt::Debug> Sealed for Result<(), E> {}
}

/// What one iteration may return: `()`, or a `Result<(), E>` whose error fails
/// the test with its `Debug` text, as an error returned from `main` does.
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
