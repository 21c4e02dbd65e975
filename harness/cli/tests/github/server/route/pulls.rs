//! Pull requests, their files, and those of a commit.

use super::{Call, Handled, not_found, refusal};
use crate::server::state::Pull;

/// GitHub lists no more.
const FILES: usize = 3_000;

pub(super) fn list(call: &Call<'_>) -> Handled {
    let query = |name: &str| call.request.query(name);
    let state = query("state").unwrap_or("open");
    // `head` without an owner is overlooked, and all pull requests come back.
    let head = query("head").and_then(|head| head.split_once(':'));
    let matches = |pull: &&Pull| {
        let owner = pull
            .head
            .repository
            .as_ref()
            .map(|repository| repository.owner.login.as_str());
        (state == "all" || pull.open == (state == "open"))
            && head.is_none_or(|(login, branch)| {
                owner.is_some_and(|owner| owner.eq_ignore_ascii_case(login))
                    && pull.head.name == branch
            })
            && query("base").is_none_or(|base| pull.base.name == base)
    };
    let mut pulls: Vec<_> = call.state.pulls.values().filter(matches).collect();
    // By creation, the newest first; any other order sorts the same here.
    if query("direction") != Some("asc") {
        pulls.reverse();
    }
    Ok(call.page(
        pulls
            .into_iter()
            .map(|pull| call.state.pull_simple(pull))
            .collect(),
    ))
}

pub(super) fn get(call: &Call<'_>) -> Handled {
    let pull = found(call)?;
    Ok(crate::server::http::Reply::json(
        200,
        &call.state.pull_json(pull),
    ))
}

pub(super) fn files(call: &Call<'_>) -> Handled {
    let pull = found(call)?;
    let files = pull.files.iter().take(FILES);
    Ok(call.page(
        files
            .map(|file| call.state.file_json(file, &pull.head.sha))
            .collect(),
    ))
}

pub(super) fn of_commit(call: &Call<'_>) -> Handled {
    let sha = call.text("commit_sha");
    if !call.state.knows_commit(sha) {
        return Err(refusal(422, &format!("No commit found for SHA: {sha}")));
    }
    let pulls = call.state.pulls_of(sha);
    Ok(call.page(pulls.map(|pull| call.state.pull_simple(pull)).collect()))
}

fn found<'a>(call: &'a Call<'_>) -> Result<&'a Pull, crate::server::http::Reply> {
    call.state
        .pulls
        .get(&call.number("pull_number"))
        .ok_or_else(not_found)
}
