//! The server that the bot's tests rest on: does it answer, refuse and fail as it
//! is said to?

mod client;
mod faults;
mod limits;
mod rest;

use serde_json::{Value, json};

use crate::server::Server;

use client::{Answer, Client};

const REPO: &str = "/repos/octo/demo";
const COMMENTS: &str = "/repos/octo/demo/issues/7/comments";

/// One call on a new server, and what was said.
#[track_caller]
fn said(method: &str, path: &str, body: &Value) -> String {
    Client::of(&Server::start())
        .send(method, path, Some(body))
        .said()
}

fn post(client: &mut Client, path: &str, body: &Value) -> Answer {
    client.send("POST", path, Some(body))
}

fn head_sha(server: &Server) -> String {
    server.state().pulls[&7].head.sha.clone()
}

fn comment(text: &str) -> Value {
    json!({ "body": text })
}
