//! The one comment: found, made, kept up to date, never doubled.
//!
//! Ours is one whose first line is our marker **and** that a bot of the expected
//! name wrote: whoever may comment can write the marker, and a token that may
//! write comments may edit anybody's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::api::{Api, Method};
use super::problem::Problem;
use super::target::Target;
use crate::render::Marker;

/// How long what was carried out in spite of an error takes to be seen.
const UNTIL_SEEN: Duration = Duration::from_secs(2);

/// Whose comments are ours, and where.
pub(crate) struct Sticky<'a> {
    pub(crate) api: &'a Api,
    pub(crate) target: &'a Target,
    pub(crate) number: u64,
    pub(crate) marker: &'a Marker,
    pub(crate) bot_login: &'a str,
}

#[derive(Clone, Debug, Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    user: Option<User>,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    #[serde(default)]
    login: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// What became of the comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    Created,
    /// By somebody of that login, whose comments are not looked for: the next run would make
    /// another.
    CreatedBy(String),
    Updated,
    /// It says already what it should.
    Unchanged,
    /// There is none, and there was no reason to make one.
    NotNeeded,
    /// It is of a newer run.
    Newer,
}

impl Sticky<'_> {
    /// Makes the comment say that, unless it is of a newer run.
    pub(crate) fn post(&self, body: &str, create: bool) -> Result<Posted, Problem> {
        let ours = self.ours()?;
        if !ours.is_empty() {
            return self.settle(&ours, body, true);
        }
        if !create {
            return Ok(Posted::NotNeeded);
        }
        self.create(body)
    }

    fn create(&self, body: &str) -> Result<Posted, Problem> {
        let mut last = Problem::Unreadable;
        for _ in 0..2 {
            match self.create_once(body) {
                Ok(made) => {
                    if self.api.is_dry_run() {
                        return Ok(Posted::Created);
                    }
                    if let Some(login) = made.user.as_ref().and_then(|user| user.login.as_ref())
                        && !self.is_by_us(&made)
                    {
                        return Ok(Posted::CreatedBy(login.clone()));
                    }
                    // Another run may have done the same meanwhile. That it
                    // cannot be looked up leaves a comment that stands.
                    let settled = self.ours().and_then(|ours| match ours.is_empty() {
                        true => Ok(Posted::Created),
                        false => self.settle(&ours, body, false),
                    });
                    return Ok(match settled {
                        Ok(Posted::Newer) => Posted::Newer,
                        _ => Posted::Created,
                    });
                }
                Err(problem) if problem.is_unsure() => {
                    last = problem;
                    self.api.sleep(UNTIL_SEEN);
                    let ours = self.ours()?;
                    if !ours.is_empty() {
                        return self.settle(&ours, body, false).map(|posted| match posted {
                            Posted::Unchanged => Posted::Created,
                            other => other,
                        });
                    }
                }
                Err(problem) => return Err(problem),
            }
        }
        Err(last)
    }

    fn create_once(&self, body: &str) -> Result<Comment, Problem> {
        let path = format!(
            "/repos/{}/issues/{}/comments",
            self.target.repository, self.number
        );
        self.api.create(&path, &json!({ "body": body }))
    }

    /// Our comments, the oldest first.
    fn ours(&self) -> Result<Vec<Comment>, Problem> {
        let path = format!(
            "/repos/{}/issues/{}/comments?per_page=100",
            self.target.repository, self.number
        );
        let mut comments: Vec<Comment> = self.api.list(&path)?;
        comments.retain(|comment| self.is_ours(comment));
        comments.sort_by_key(|comment| comment.id);
        // A page may repeat what the one before it ended with.
        comments.dedup_by_key(|comment| comment.id);
        Ok(comments)
    }

    fn is_ours(&self, comment: &Comment) -> bool {
        let first = comment.body.as_deref().and_then(|body| body.lines().next());
        self.is_by_us(comment)
            && first.is_some_and(|line| line.trim_end() == self.marker.first_line())
    }

    /// No person has a login with brackets; whoever gives a person's means that person.
    fn is_by_us(&self, comment: &Comment) -> bool {
        let Some(User {
            login: Some(login),
            kind,
        }) = &comment.user
        else {
            return false;
        };
        let is_bot = kind.as_deref() == Some("Bot");
        login.eq_ignore_ascii_case(self.bot_login) && (is_bot || !self.bot_login.ends_with("[bot]"))
    }

    /// Leaves one comment, the oldest, that says what the newest run says. Makes
    /// one where all have been deleted, if it may: a list that still has what
    /// was deleted must not make it begin again for ever.
    fn settle(&self, ours: &[Comment], body: &str, create: bool) -> Result<Posted, Problem> {
        let age = |comment: &Comment| run_of(comment.body.as_deref().unwrap_or_default());
        let own = (self.marker.run, self.marker.attempt);
        let newest = ours.iter().max_by_key(|comment| (age(comment), comment.id));
        let superseded = newest.filter(|comment| age(comment) > own);
        let body = match superseded {
            Some(newer) => newer.body.as_deref().unwrap_or_default(),
            None => body,
        };
        let (kept, doubles) = ours.split_first().ok_or(Problem::Unreadable)?;
        let same = kept.body.as_deref().is_some_and(|found| same(found, body));
        let mut posted = match (same, superseded.is_some()) {
            (_, true) => Posted::Newer,
            (true, false) => Posted::Unchanged,
            (false, false) => Posted::Updated,
        };
        if !same {
            let path = format!(
                "/repos/{}/issues/comments/{}",
                self.target.repository, kept.id
            );
            let changed: Result<Comment, Problem> =
                self.api
                    .change(Method::Patch, &path, &json!({ "body": body }));
            match changed {
                Ok(_) => {}
                // Somebody deleted it meanwhile.
                Err(Problem::NotFound | Problem::Gone) => match doubles.is_empty() {
                    true if superseded.is_none() && create => {
                        posted = self.create(body)?;
                    }
                    true if superseded.is_none() => return Err(Problem::NotFound),
                    true => {}
                    false => return self.settle(doubles, body, create),
                },
                Err(problem) => return Err(problem),
            }
        }
        for double in doubles {
            self.api.delete(&format!(
                "/repos/{}/issues/comments/{}",
                self.target.repository, double.id
            ))?;
        }
        Ok(posted)
    }
}

/// Which run a comment is of; the oldest there can be where it does not say.
fn run_of(body: &str) -> (u64, u64) {
    #[derive(Deserialize)]
    struct Meta {
        run: u64,
        attempt: u64,
    }
    let line = body.lines().nth(1).unwrap_or_default().trim();
    let meta = line
        .strip_prefix("<!-- plimsoll:meta ")
        .and_then(|rest| rest.strip_suffix(" -->"));
    let meta = meta.and_then(|meta| serde_json::from_str::<Meta>(meta).ok());
    meta.map_or((0, 0), |meta| (meta.run, meta.attempt))
}

/// As the server gives it back: with other line ends, and cut at its end.
fn same(found: &str, wanted: &str) -> bool {
    found.replace("\r\n", "\n").trim_end() == wanted.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_in_a_comment() {
        let of = |line: &str| run_of(&format!("<!-- plimsoll:v1 key=default -->\n{line}\nx"));
        assert_eq!(
            of("<!-- plimsoll:meta {\"run\":7,\"attempt\":2,\"sha\":\"abc\"} -->"),
            (7, 2)
        );
        assert_eq!(
            of("<!-- plimsoll:meta {\"run\":7,\"attempt\":2,\"sha\":\"abc\"} -->\r"),
            (7, 2)
        );
        assert_eq!(of("<!-- plimsoll:meta {\"run\":-1} -->"), (0, 0));
        assert_eq!(of("anything"), (0, 0));
        assert_eq!(run_of(""), (0, 0));
    }
}
