//! Comments on issues, which pull requests are.

use super::{Call, Handled, invalid, not_found, refusal};
use crate::server::http::Reply;

/// In characters.
const BODY: usize = 65_536;

pub(super) fn list(call: &Call<'_>) -> Handled {
    let issue = call.number("issue_number");
    if !call.state.pulls.contains_key(&issue) {
        return Err(not_found());
    }
    let since = call.request.query("since").unwrap_or_default();
    let comments = call.state.comments.values();
    let items = comments
        .filter(|comment| comment.issue == issue && comment.updated.as_str() >= since)
        .map(|comment| call.state.comment_json(comment))
        .collect();
    Ok(call.page(items))
}

pub(super) fn create(call: Call<'_>) -> Handled {
    let issue = call.number("issue_number");
    let Some(pull) = call.state.pulls.get(&issue) else {
        return Err(not_found());
    };
    if pull.locked {
        return Err(refusal(
            403,
            "Unable to create comment because issue is locked.",
        ));
    }
    let body = body(&call)?;
    let author = call.state.author.clone();
    let id = call.state.add_comment(issue, &body, Some(author));
    let json = call.state.comment_json(&call.state.comments[&id]);
    let url = json["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, &json).with("Location", url))
}

pub(super) fn update(call: Call<'_>) -> Handled {
    let id = call.number("comment_id");
    if !call.state.comments.contains_key(&id) {
        return Err(not_found());
    }
    let (body, now) = (body(&call)?, call.state.now());
    let comment = call
        .state
        .comments
        .get_mut(&id)
        .expect("it to be there still");
    comment.body = body;
    comment.updated = now;
    let comment = &call.state.comments[&id];
    Ok(Reply::json(200, &call.state.comment_json(comment)))
}

pub(super) fn delete(call: Call<'_>) -> Handled {
    match call.state.comments.remove(&call.number("comment_id")) {
        Some(_) => Ok(Reply::empty(204)),
        None => Err(not_found()),
    }
}

fn body(call: &Call<'_>) -> Result<String, Reply> {
    let body = call.body["body"].as_str().unwrap_or_default();
    let wrong = |message: &str| Err(invalid("IssueComment", "data", "unprocessable", message));
    if body.trim().is_empty() {
        return wrong("Body cannot be blank");
    }
    if body.chars().count() > BODY {
        return wrong("Body is too long (maximum is 65536 characters)");
    }
    Ok(body.to_owned())
}
