//! Flame graphs on a branch of their own, so that a comment can show them.
//!
//! Each comment has a branch, `plimsoll-images/pr-7/KEY`, with one commit without a parent. A
//! new picture replaces the old one. The branch is deleted after the pull request is closed.
//! The URL of a picture contains the commit, so no cache between GitHub and the reader shows
//! an older picture.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::names::{Key, Sha};
use crate::problem::Problem;
use crate::target::Target;

/// The most bytes of one picture. GitHub accepts far more, but readers have to wait for it.
const MAX_PICTURE: usize = 1024 * 1024;
const BRANCHES: &str = "plimsoll-images";

/// The two versions of one flame graph: their SVG texts, or their URLs.
#[derive(Clone, Debug)]
pub struct Pictures {
    pub light: String,
    pub dark: String,
}

#[derive(Deserialize)]
struct Object {
    sha: String,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "ref")]
    name: String,
}

/// Commits the pictures and returns their URLs in the same order; `None` for a picture that is
/// too large.
pub fn publish(
    api: &Api,
    target: &Target,
    number: u64,
    key: &Key,
    server: &str,
    pictures: &[Pictures],
) -> Result<Vec<Option<Pictures>>, Problem> {
    let repository = &target.repository;
    let git = |what: &str| format!("/repos/{repository}/git/{what}");
    let fits = |picture: &Pictures| picture.light.len().max(picture.dark.len()) <= MAX_PICTURE;
    let pictures = || pictures.iter().enumerate();
    let mut entries = Vec::new();
    for (index, picture) in pictures().filter(|(_, picture)| fits(picture)) {
        for (theme, svg) in [("light", &picture.light), ("dark", &picture.dark)] {
            let body = json!({ "content": svg, "encoding": "utf-8" });
            // May be repeated: the same content is always the same object.
            let blob: Object = api.change(Method::POST, &git("blobs"), &body)?;
            entries.push(json!({
                "path": file_name(index, theme),
                "mode": "100644",
                "type": "blob",
                "sha": blob.sha,
            }));
        }
    }
    if entries.is_empty() {
        return Ok(pictures().map(|_| None).collect());
    }
    let tree: Object = api.change(Method::POST, &git("trees"), &json!({ "tree": entries }))?;
    let message = format!("Flame graphs of pull request #{number} at {}", target.head);
    let commit = json!({ "message": message, "tree": tree.sha, "parents": [] });
    let commit: Object = api.change(Method::POST, &git("commits"), &commit)?;
    point(api, target, number, key, &commit.sha)?;
    let commit: Sha = commit.sha.parse().map_err(|_| Problem::Unreadable)?;
    let address = |index: usize, theme: &str| {
        let file = file_name(index, theme);
        format!("{server}/{repository}/raw/{commit}/{file}")
    };
    let image = |(index, picture): (usize, &Pictures)| {
        fits(picture).then(|| Pictures {
            light: address(index, "light"),
            dark: address(index, "dark"),
        })
    };
    Ok(pictures().map(image).collect())
}

fn file_name(index: usize, theme: &str) -> String {
    format!("{}-{theme}.svg", index + 1)
}

/// Points the branch to the commit. Creates the branch if it does not exist.
fn point(api: &Api, target: &Target, number: u64, key: &Key, commit: &str) -> Result<(), Problem> {
    let repository = &target.repository;
    let branch = format!("heads/{BRANCHES}/pr-{number}/{}", key.as_str());
    let update = || {
        let path = format!("/repos/{repository}/git/refs/{branch}");
        let body = json!({ "sha": commit, "force": true });
        api.change::<Value>(Method::PATCH, &path, &body)
    };
    let create = || {
        let path = format!("/repos/{repository}/git/refs");
        let body = json!({ "ref": format!("refs/{branch}"), "sha": commit });
        // May be repeated: there cannot be two references of one name.
        api.change::<Value>(Method::POST, &path, &body)
    };
    let updated = match update() {
        // GitHub's answers if the branch does not exist.
        Err(Problem::NotFound | Problem::Refused { status: 422, .. }) => match create() {
            // It exists by now: the request succeeded in spite of an error, or another run
            // created the branch.
            Err(Problem::Refused { status: 422, .. }) => update(),
            created => created,
        },
        updated => updated,
    };
    updated.map(drop)
}

/// Deletes the branches of closed pull requests. Returns how many were deleted, and how many
/// are left.
pub fn prune(api: &Api, repository: &crate::names::Repository) -> Result<(usize, usize), Problem> {
    #[derive(Deserialize)]
    struct Pull {
        state: String,
    }
    let path = format!("/repos/{repository}/git/matching-refs/heads/{BRANCHES}/pr-");
    let branches: Vec<Reference> = api.list(&path)?;
    let (mut deleted, mut left) = (0, 0);
    let mut known: Option<(u64, bool)> = None;
    for branch in branches {
        let Some(number) = number_of(&branch.name) else {
            continue;
        };
        let closed = match known {
            Some((last, closed)) if last == number => closed,
            _ => match api.get::<Pull>(&format!("/repos/{repository}/pulls/{number}")) {
                Ok(pull) => pull.state == "closed",
                Err(Problem::NotFound) => false,
                Err(problem) => return Err(problem),
            },
        };
        known = Some((number, closed));
        if closed {
            let name = branch.name.trim_start_matches("refs/");
            api.delete(&format!("/repos/{repository}/git/refs/{name}"))?;
            deleted += 1;
        } else {
            left += 1;
        }
    }
    Ok((deleted, left))
}

/// Returns the number of the pull request in `refs/heads/plimsoll-images/pr-7/KEY`.
fn number_of(reference: &str) -> Option<u64> {
    let rest = reference.strip_prefix("refs/heads/")?;
    let rest = rest.strip_prefix(BRANCHES)?.strip_prefix("/pr-")?;
    let (number, key) = rest.split_once('/')?;
    key.parse::<Key>().ok()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_branches_of_ours_are_pruned() {
        for (branch, expected) in [
            ("plimsoll-images/pr-7/default", Some(7)),
            ("plimsoll-images/pr-7", None),
            ("plimsoll-images/pr-x/default", None),
            ("plimsoll-images/pr-7/../../main", None),
            ("main", None),
        ] {
            let found = number_of(&format!("refs/heads/{branch}"));
            assert_eq!(found, expected, "{branch}");
        }
    }
}
