//! Reports at the desk and in CI: read, joined, and made into text, markdown, HTML, SARIF and JUnit. Nothing here prints or talks to a network.
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "an inner crate of the tool: a name that says it all has no sentence beside it"
)]

pub mod annotations;
pub mod archive;
pub mod input;
pub mod joined;
pub mod render;
pub mod reports;
pub mod touched;
