//! Workflow runs and their artifacts, which lie elsewhere.

use super::{Call, Handled, not_found, refusal};
use crate::server::http::Reply;

pub(super) fn run(call: &Call<'_>) -> Handled {
    let run = call
        .state
        .runs
        .get(&call.number("run_id"))
        .ok_or_else(not_found)?;
    let mut json = call.state.run_json(run);
    if call.request.query("exclude_pull_requests") == Some("true") {
        json["pull_requests"] = serde_json::json!([]);
    }
    Ok(Reply::json(200, &json))
}

pub(super) fn artifacts(call: &Call<'_>) -> Handled {
    let run = call.number("run_id");
    if !call.state.runs.contains_key(&run) {
        return Err(not_found());
    }
    let name = call.request.query("name");
    let artifacts =
        call.state.artifacts.values().filter(|artifact| {
            artifact.run == run && name.is_none_or(|name| artifact.name == name)
        });
    let mut items: Vec<_> = artifacts
        .map(|artifact| call.state.artifact_json(artifact))
        .collect();
    if call.request.query("direction") != Some("asc") {
        items.reverse();
    }
    Ok(call.page_in("artifacts", items))
}

/// Sends the client to the storage, whose address is the permission.
pub(super) fn download(call: &Call<'_>) -> Handled {
    let artifact = call.state.artifacts.get(&call.number("artifact_id"));
    let artifact = artifact.ok_or_else(not_found)?;
    if call.text("archive_format") != "zip" {
        return Err(not_found());
    }
    if artifact.expired {
        return Err(refusal(410, "Artifact has expired"));
    }
    let url = format!(
        "{}/storage/{}?sig=signed%2Fby",
        call.state.storage, artifact.id
    );
    Ok(Reply::empty(302).with("Location", url))
}
