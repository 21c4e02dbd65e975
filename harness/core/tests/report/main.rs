//! What reports look like: every output, through the door that users have.

mod json;
mod pictures;
mod samples;
mod schema;
mod text;
