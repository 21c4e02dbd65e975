//! Git's own objects, as far as a file on a branch needs them.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Call, Handled, invalid, not_found, refusal};
use crate::server::http::Reply;
use crate::server::state::{State, hash};
use crate::server::view::node;

pub(super) fn blob(call: Call<'_>) -> Handled {
    let content = call.body["content"].as_str().unwrap_or_default();
    let bytes = match call.body["encoding"].as_str() {
        None | Some("utf-8") => content.as_bytes().to_vec(),
        Some("base64") => decoded(content)
            .ok_or_else(|| invalid("Blob", "content", "invalid", "content is not valid Base64"))?,
        Some(other) => {
            return Err(refusal(
                422,
                &format!("encoding \"{other}\" is not supported"),
            ));
        }
    };
    let sha = call.state.add_blob(bytes);
    let url = format!("{}/git/blobs/{sha}", call.state.at(&call.state.repository));
    Ok(Reply::json(201, &json!({"sha": sha, "url": url})))
}

pub(super) fn tree(call: Call<'_>) -> Handled {
    let Call { state, body, .. } = call;
    let mut tree = match body["base_tree"].as_str() {
        None => BTreeMap::new(),
        Some(sha) => {
            // A commit stands for its tree.
            let sha = state
                .git
                .commits
                .get(sha)
                .map_or(sha, |commit| &commit.tree);
            let base = state.git.trees.get(sha).cloned();
            base.ok_or_else(|| refusal(422, "base_tree is not a valid tree oid"))?
        }
    };
    for entry in body["tree"].as_array().into_iter().flatten() {
        let text = |key: &str| entry[key].as_str();
        let path = text("path").unwrap_or_default();
        if path.is_empty() || path.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            return Err(refusal(
                422,
                "tree.path contains a malformed path component",
            ));
        }
        if entry.get("sha") == Some(&Value::Null) {
            tree.remove(path);
            continue;
        }
        let sha = match (text("sha"), text("content")) {
            (Some(_), Some(_)) | (None, None) => {
                return Err(refusal(422, "Must supply either tree.sha or tree.content"));
            }
            (Some(sha), None) if state.git.blobs.contains_key(sha) => sha.to_owned(),
            (Some(sha), None) => {
                return Err(refusal(422, &format!("tree.sha {sha} is not a valid blob")));
            }
            (None, Some(content)) => state.add_blob(content.as_bytes().to_vec()),
        };
        let mode = text("mode").unwrap_or("100644").to_owned();
        tree.insert(path.to_owned(), (mode, sha));
    }
    if tree.is_empty() {
        return Err(refusal(422, "Invalid tree info"));
    }
    let sha = state.add_tree(tree);
    Ok(Reply::json(201, &tree_json(state, &sha)))
}

/// With folders as trees: GitHub shows one level.
fn tree_json(state: &State, sha: &str) -> Value {
    let at = state.at(&state.repository);
    let mut folders = BTreeSet::new();
    let mut entries = Vec::new();
    for (path, (mode, blob)) in &state.git.trees[sha] {
        match path.split_once('/') {
            Some((folder, _)) if !folders.insert(folder) => {}
            Some((folder, _)) => {
                let below = hash(&[sha.as_bytes(), folder.as_bytes()]);
                entries.push(json!({
                    "path": folder,
                    "mode": "040000",
                    "type": "tree",
                    "sha": below,
                    "url": format!("{at}/git/trees/{below}"),
                }));
            }
            None => entries.push(json!({
                "path": path,
                "mode": mode,
                "type": "blob",
                "sha": blob,
                "size": state.git.blobs[blob].len(),
                "url": format!("{at}/git/blobs/{blob}"),
            })),
        }
    }
    json!({
        "sha": sha,
        "url": format!("{at}/git/trees/{sha}"),
        "tree": entries,
        "truncated": false,
    })
}

pub(super) fn commit(call: Call<'_>) -> Handled {
    let Call { state, body, .. } = call;
    let tree = body["tree"].as_str().unwrap_or_default();
    if !state.git.trees.contains_key(tree) {
        return Err(refusal(422, "Tree SHA does not exist"));
    }
    let parents = body["parents"].as_array().into_iter().flatten();
    let parents: Vec<_> = parents
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if !parents
        .iter()
        .all(|parent| state.git.commits.contains_key(parent))
    {
        return Err(refusal(
            422,
            "Parent SHA does not exist or is not a commit object",
        ));
    }
    let message = body["message"].as_str().unwrap_or_default();
    let sha = state.add_commit(message, tree, &parents);
    let now = state.now();
    let who = |key: &str| {
        let given = &body[key];
        json!({
            "name": given["name"].as_str().unwrap_or("github-actions[bot]"),
            "email": given["email"]
                .as_str()
                .unwrap_or("41898282+github-actions[bot]@users.noreply.github.com"),
            "date": given["date"].as_str().unwrap_or(&now),
        })
    };
    let at = state.at(&state.repository);
    let page = format!("https://github.com/{}/commit", state.repository.full_name());
    let parent = |sha: &String| {
        json!({
            "sha": sha,
            "url": format!("{at}/git/commits/{sha}"),
            "html_url": format!("{page}/{sha}"),
        })
    };
    let json = json!({
        "sha": sha,
        "node_id": node("C", 1),
        "url": format!("{at}/git/commits/{sha}"),
        "html_url": format!("{page}/{sha}"),
        "author": who("author"),
        "committer": who("committer"),
        "tree": {"sha": tree, "url": format!("{at}/git/trees/{tree}")},
        "message": message,
        "parents": parents.iter().map(parent).collect::<Vec<_>>(),
        "verification": {
            "verified": false,
            "reason": "unsigned",
            "signature": null,
            "payload": null,
            "verified_at": null,
        },
    });
    Ok(Reply::json(201, &json))
}

pub(super) fn create_ref(call: Call<'_>) -> Handled {
    let Call { state, body, .. } = call;
    let name = body["ref"].as_str().unwrap_or_default();
    let sha = body["sha"].as_str().unwrap_or_default();
    if !name.starts_with("refs/") || name.matches('/').count() < 2 {
        return Err(refusal(
            422,
            "Reference name must start with 'refs/' and have two slashes",
        ));
    }
    if state.git.refs.contains_key(name) {
        return Err(refusal(422, "Reference already exists"));
    }
    if !state.git.commits.contains_key(sha) {
        return Err(refusal(422, "Object does not exist"));
    }
    state.git.refs.insert(name.to_owned(), sha.to_owned());
    Ok(Reply::json(201, &state.ref_json(name, sha)))
}

pub(super) fn get_ref(call: &Call<'_>) -> Handled {
    let name = format!("refs/{}", call.text("ref"));
    let sha = call.state.git.refs.get(&name).ok_or_else(not_found)?;
    Ok(Reply::json(200, &call.state.ref_json(&name, sha)))
}

/// All that begin so, whole names or not.
pub(super) fn matching_refs(call: &Call<'_>) -> Handled {
    let start = format!("refs/{}", call.text("ref"));
    let refs = call
        .state
        .git
        .refs
        .iter()
        .filter(|(name, _)| name.starts_with(&start));
    let refs: Vec<_> = refs
        .map(|(name, sha)| call.state.ref_json(name, sha))
        .collect();
    Ok(Reply::json(200, &json!(refs)))
}

pub(super) fn update_ref(call: Call<'_>) -> Handled {
    let name = format!("refs/{}", call.text("ref"));
    let Call { state, body, .. } = call;
    let Some(old) = state.git.refs.get(&name) else {
        return Err(refusal(422, "Reference does not exist"));
    };
    let sha = body["sha"].as_str().unwrap_or_default();
    if !state.git.commits.contains_key(sha) {
        return Err(refusal(422, "Object does not exist"));
    }
    if body["force"] != json!(true) && !state.is_behind(old, sha) {
        return Err(refusal(422, "Update is not a fast forward"));
    }
    state.git.refs.insert(name.clone(), sha.to_owned());
    Ok(Reply::json(200, &state.ref_json(&name, sha)))
}

pub(super) fn delete_ref(call: Call<'_>) -> Handled {
    let name = format!("refs/{}", call.text("ref"));
    match call.state.git.refs.remove(&name) {
        Some(_) => Ok(Reply::empty(204)),
        None => Err(refusal(422, "Reference does not exist")),
    }
}

/// GitHub overlooks the ends of lines within.
fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.replace(['\r', '\n'], "")).ok()
}
