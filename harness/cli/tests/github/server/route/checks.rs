//! Check runs, and their annotations, which add up.

use serde_json::Value;

use super::{Call, Handled, invalid, not_found, refusal};
use crate::server::http::Reply;
use crate::server::state::CheckRun;

/// In characters. The description limits `summary` and `text` and not this one.
const TITLE: usize = 255;

/// In bytes, of an annotation's message and of its details.
const MESSAGE: usize = 64 * 1024;

pub(super) fn list(call: &Call<'_>) -> Handled {
    let at = call.text("ref");
    let branch = call.state.git.refs.get(&format!("refs/heads/{at}"));
    let sha = branch.map_or(at, |sha| sha).to_owned();
    if !call.state.knows_commit(&sha) {
        return Err(refusal(422, &format!("No commit found for SHA: {at}")));
    }
    let name = call.request.query("check_name");
    let status = call.request.query("status");
    let of = |check: &&CheckRun| {
        check.head_sha == sha
            && name.is_none_or(|name| check.name == name)
            && status.is_none_or(|status| check.status == status)
    };
    let all = call.request.query("filter") == Some("all");
    let matching: Vec<_> = call.state.checks.values().filter(of).collect();
    let latest = |check: &&&CheckRun| {
        all || !matching
            .iter()
            .any(|other| other.name == check.name && other.id > check.id)
    };
    let items = matching
        .iter()
        .filter(latest)
        .map(|check| call.state.check_json(check));
    Ok(call.page_in("check_runs", items.collect()))
}

pub(super) fn create(call: Call<'_>) -> Handled {
    let sha = call.body["head_sha"].as_str().unwrap_or_default();
    if !call.state.knows_commit(sha) {
        return Err(refusal(422, &format!("No commit found for SHA: {sha}")));
    }
    let mut check = CheckRun {
        head_sha: sha.to_owned(),
        status: "queued".to_owned(),
        ..CheckRun::default()
    };
    apply(&mut check, &call)?;
    check.id = call.state.id();
    let json = call.state.check_json(&check);
    call.state.checks.insert(check.id, check);
    Ok(Reply::json(201, &json))
}

pub(super) fn update(call: Call<'_>) -> Handled {
    let Some(check) = call.state.checks.get(&call.number("check_run_id")) else {
        return Err(not_found());
    };
    let mut check = check.clone();
    apply(&mut check, &call)?;
    let json = call.state.check_json(&check);
    call.state.checks.insert(check.id, check);
    Ok(Reply::json(200, &json))
}

/// What the request says, over what there was; nothing of it where any is wrong.
fn apply(check: &mut CheckRun, call: &Call<'_>) -> Result<(), Reply> {
    let body = &call.body;
    let text = |key: &str| body[key].as_str().map(str::to_owned);
    let set = |to: &mut Option<String>, key: &str| {
        if let Some(value) = text(key) {
            *to = Some(value);
        }
    };
    if let Some(name) = text("name") {
        check.name = name;
    }
    if check.name.trim().is_empty() {
        return Err(wrong("name", "name cannot be blank"));
    }
    set(&mut check.details_url, "details_url");
    set(&mut check.external_id, "external_id");
    set(&mut check.completed, "completed_at");
    set(&mut check.conclusion, "conclusion");
    if let Some(url) = &check.details_url
        && !url.starts_with("https://")
        && !url.starts_with("http://")
    {
        return Err(wrong(
            "details_url",
            "details_url must use http or https scheme",
        ));
    }
    match text("status") {
        Some(status) => check.status = status,
        // A conclusion ends a run, whatever its status was.
        None if body["conclusion"].is_string() => check.status = "completed".to_owned(),
        None => {}
    }
    if check.status == "completed" && check.conclusion.is_none() {
        return Err(wrong(
            "conclusion",
            "conclusion is required when status is completed",
        ));
    }
    let now = call.state.today();
    check.started = text("started_at").unwrap_or(match check.started.as_str() {
        "" => now.clone(),
        started => started.to_owned(),
    });
    if check.status == "completed" {
        check.completed.get_or_insert(now);
    }

    let output = &body["output"];
    if output.is_null() {
        return Ok(());
    }
    for (key, to) in [
        ("title", &mut check.title),
        ("summary", &mut check.summary),
        ("text", &mut check.text),
    ] {
        if let Some(value) = output[key].as_str() {
            *to = Some(value.to_owned());
        }
    }
    if check
        .title
        .as_ref()
        .is_some_and(|title| title.chars().count() > TITLE)
    {
        return Err(wrong(
            "output.title",
            "title is too long (maximum is 255 characters)",
        ));
    }
    for annotation in output["annotations"].as_array().into_iter().flatten() {
        sound(annotation)?;
        check.annotations.push(annotation.clone());
    }
    Ok(())
}

fn sound(annotation: &Value) -> Result<(), Reply> {
    let text = |key: &str| annotation[key].as_str().unwrap_or_default();
    let number = |key: &str| annotation[key].as_i64();
    let (start, end) = (number("start_line"), number("end_line"));
    let columns = (number("start_column"), number("end_column"));
    let message = match () {
        () if text("path").is_empty() => "path cannot be blank",
        () if text("path").starts_with('/') => "path must be relative to the repository",
        () if text("path").split('/').any(|part| part == "..") => {
            "path must not leave the repository"
        }
        () if start < Some(1) => "start_line must be greater than 0",
        () if end < start => "end_line must not be before start_line",
        () if start != end && columns != (None, None) => {
            "start_column and end_column are allowed only where start_line equals end_line"
        }
        () if columns.0.is_some_and(|column| column < 1) => "start_column must be greater than 0",
        () if columns.1.is_some() && columns.1 < columns.0 => {
            "end_column must not be before start_column"
        }
        () if text("message").is_empty() => "message cannot be blank",
        () if text("message").len() > MESSAGE => "message is too long (maximum is 64 KB)",
        () if text("raw_details").len() > MESSAGE => "raw_details is too long (maximum is 64 KB)",
        () if text("title").chars().count() > TITLE => {
            "title is too long (maximum is 255 characters)"
        }
        () => return Ok(()),
    };
    Err(wrong("annotations", message))
}

fn wrong(field: &str, message: &str) -> Reply {
    invalid("CheckRun", field, "custom", message)
}
