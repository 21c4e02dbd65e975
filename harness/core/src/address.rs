use std::fmt;

/// An address in the virtual memory of the measured process, as the dump
/// prints it ("actual virtual memory address").
///
/// On a stack it is a *return* address: it points behind the call, so the call
/// itself is found at the address minus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Avma(pub u64);

impl fmt::Display for Avma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
