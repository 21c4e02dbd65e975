//! The reasons why a request failed.

use std::fmt;
use std::time::Duration;

use crate::environment::Token;

/// The most characters of a message of GitHub that is shown.
const LONGEST: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// 401: GitHub does not accept the token.
    Rejected,
    /// 403: the token lacks a permission.
    Forbidden {
        /// The permission that is needed, in GitHub's words.
        needs: Option<String>,
        message: String,
    },
    /// 403 or 429: there were too many requests, and waiting would take too long.
    Limited { wait: Duration },
    /// The conversation is locked and accepts no comments.
    Locked,
    /// 404: it does not exist, or the token may not see it.
    NotFound,
    /// 410: it existed before.
    Gone,
    /// 422, or another answer that says that the request is wrong.
    Refused { status: u16, message: String },
    /// 5xx: the server failed.
    Server { status: u16 },
    /// There was no connection, or it broke before the answer was complete.
    Unreachable { why: String },
    /// There was no answer in time.
    TimedOut { after: Duration },
    /// The answer is not in the expected format.
    Unreadable,
    /// A redirect to another host, too many redirects, or a second redirect of a write.
    Redirected,
}

impl Problem {
    /// Returns whether the server may have carried out the request in spite of the error.
    pub fn is_unsure(&self) -> bool {
        matches!(
            self,
            Problem::Server { .. }
                | Problem::Unreachable { .. }
                | Problem::TimedOut { .. }
                | Problem::Unreadable
        )
    }
}

/// Returns GitHub's message, fit to be shown: in one line, cut, and without the token. Other
/// answers, such as the HTML page of a proxy, are not shown.
pub fn message(body: &[u8], token: Option<&Token>) -> String {
    #[derive(serde::Deserialize)]
    struct Error {
        message: String,
        #[serde(default)]
        errors: Vec<serde_json::Value>,
    }
    let Ok(error) = serde_json::from_slice::<Error>(body) else {
        return "no message".to_owned();
    };
    let mut text = error.message;
    for more in error.errors.iter().take(3) {
        let more = match more {
            serde_json::Value::String(text) => text.clone(),
            other => match other["message"].as_str() {
                Some(text) => text.to_owned(),
                None => continue,
            },
        };
        text = format!("{text}: {more}");
    }
    if let Some(token) = token {
        text = token.scrub(&text);
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    plimsoll_desk::out::safe(&text).replace('\n', " ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Rejected => f.write_str(
                "GitHub rejected the token (401)\n  \
                 hint: set GITHUB_TOKEN to `${{ github.token }}` in the step's `env`",
            ),
            Problem::Forbidden {
                needs: Some(needs), ..
            } => {
                f.write_str(
                    "the token may not do that (403)\n  hint: add to the job:\n    permissions:",
                )?;
                for permission in one_set(needs) {
                    write!(f, "\n      {permission}")?;
                }
                Ok(())
            }
            Problem::Forbidden {
                needs: None,
                message,
            } => write!(f, "the token may not do that (403): {message}"),
            Problem::Limited { wait } => write!(
                f,
                "GitHub's rate limit asks to wait for {} s, longer than --max-wait allows",
                wait.as_secs_f64().ceil()
            ),
            Problem::Locked => f.write_str("the conversation is locked"),
            Problem::NotFound => {
                f.write_str("not found (404): it is not there, or the token may not see it")
            }
            Problem::Gone => f.write_str("it is gone (410)"),
            Problem::Refused { status, message } => write!(f, "refused ({status}): {message}"),
            Problem::Server { status } => write!(f, "GitHub failed ({status})"),
            Problem::Unreachable { why } => write!(f, "GitHub cannot be reached: {why}"),
            Problem::TimedOut { after } => {
                write!(f, "no answer within {} s", after.as_secs_f64())
            }
            Problem::Unreadable => f.write_str("the answer was not what GitHub answers"),
            Problem::Redirected => {
                f.write_str("redirected to where the token does not belong, or too often")
            }
        }
    }
}

/// Returns one set of permissions as a workflow spells it.
///
/// GitHub lists several sets, each of which is enough: `issues=write; pull_requests=write`.
/// The set with pull requests is preferred.
fn one_set(needs: &str) -> Vec<String> {
    let mut sets = needs.split(';');
    let first = sets.clone().next().unwrap_or_default();
    let set = sets
        .find(|set| set.contains("pull_requests"))
        .unwrap_or(first);
    let permissions = set.split(',').map(str::trim);
    permissions
        .map(|permission| permission.replace('_', "-").replace('=', ": "))
        .collect()
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_github_says_is_one_short_line() {
        let said = |body: &str| message(body.as_bytes(), None);
        assert_eq!(said("<html>"), "no message");
        assert_eq!(said(r#"{"message": "a\nb"}"#), "a b");
        let errors = r#"{"message": "m", "errors": ["a", {"message": "b"}, {"code": "c"}, "d"]}"#;
        assert_eq!(said(errors), "m: a: b");
        let long = |count: usize| format!("{{\"message\": \"{}\"}}", "é".repeat(count));
        assert_eq!(said(&long(300)), "é".repeat(300));
        assert_eq!(said(&long(301)), "é".repeat(300) + "…");
    }

    #[test]
    fn one_permission_that_would_do() {
        assert_eq!(one_set("checks=write"), ["checks: write"]);
        let either = one_set("issues=write; pull_requests=write");
        assert_eq!(either, ["pull-requests: write"]);
        let both = one_set("actions=read,contents=read; x=y");
        assert_eq!(both, ["actions: read", "contents: read"]);
    }
}
