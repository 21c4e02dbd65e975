//! What the crate offers where nothing can be measured: types without values.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;

use crate::Listed;

/// What the front asked this process for.
#[derive(Debug)]
pub enum Asked {
    /// All scenarios are to be listed.
    List(List),
    /// One scenario is to be measured.
    Measure(Measure),
}

/// Returns `None`: no front starts a program on this platform.
pub fn asked() -> Option<Asked> {
    None
}

/// Does nothing on this platform.
///
/// # Errors
///
/// Never.
pub fn walk_as_measured() -> Result<(), String> {
    Ok(())
}

/// A list of scenarios.
#[derive(Debug)]
pub struct List(Infallible);

impl List {
    /// Adds a scenario.
    pub fn add(&mut self, _scenario: &Listed<'_>) {
        match self.0 {}
    }

    /// Ends the list and the process.
    pub fn end(self) -> ! {
        match self.0 {}
    }
}

/// The measurement of one scenario.
#[derive(Debug)]
pub struct Measure(Infallible);

impl Measure {
    /// Returns the name of the scenario to measure.
    pub fn scenario(&self) -> &str {
        match self.0 {}
    }

    /// Sets the workload up.
    pub fn set_up<T>(&mut self, _setup: impl FnOnce() -> T) -> T {
        match self.0 {}
    }

    /// Runs iterations as the front asks.
    pub fn climb(&mut self, _iteration: impl FnMut(u64) -> Result<(), String>) {
        match self.0 {}
    }

    /// Ends the process.
    pub fn end(self) -> ! {
        match self.0 {}
    }

    /// Drops the workload and ends the process.
    pub fn end_with(self, _drop: impl FnOnce()) -> ! {
        match self.0 {}
    }

    /// Says that the workload failed, and ends the process.
    pub fn fail(self, _message: fmt::Arguments<'_>) -> ! {
        match self.0 {}
    }

    /// Says that the workload panicked, and ends the process.
    pub fn panicked(self, _panic: Box<dyn Any + Send>) -> ! {
        match self.0 {}
    }
}
