//! What reports look like: every output, through the door that users have.

mod collapse;
mod ends;
mod explained;
mod held;
mod json;
#[path = "../schema/mod.rs"]
mod json_schema;
mod messages;
mod needs;
mod pictures;
mod sample;
mod samples;
mod schema;
mod text;
