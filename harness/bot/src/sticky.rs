//! The comment on a pull request: found, created, updated, and never doubled.
//!
//! A comment is plimsoll's if it begins with the marker **and** if the expected account wrote
//! it. The marker alone proves nothing: everybody who may comment can write it, and a token
//! that can write comments can edit those of everybody. Text that a person put before the
//! marker is kept.

use std::cell::Cell;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::api::Api;
use crate::event::{PullRequest, Repo};
use crate::marker::{Marker, State};
use crate::problem::Problem;
use crate::target::Target;

/// How long it takes until a comment is visible that was created in spite of an error.
const UNTIL_SEEN: Duration = Duration::from_secs(2);

/// The time that another run may need between looking and writing. The bot looks again as
/// often as [`LOOKS`] says, after such a pause each time.
const UNTIL_OTHERS_WROTE: Duration = Duration::from_secs(1);
const LOOKS: usize = 8;

/// The most characters of a comment.
const MAX_BODY: usize = 65_536;

/// The comment to post: its place, its marker and the account that writes it.
#[derive(Debug)]
pub struct Sticky<'a> {
    pub api: &'a Api,
    pub target: &'a Target,
    pub number: u64,
    pub marker: &'a Marker,
    pub bot_login: &'a str,
    /// Whether another job of the same run has written this comment.
    met_other_job: Cell<bool>,
}

#[derive(Clone, Debug, Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    user: Option<User>,
    /// The text that a person put before the marker.
    #[serde(skip)]
    typed: String,
}

impl Comment {
    fn body(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// Returns what the marker says.
    fn meta(&self) -> Meta {
        meta(self.body().strip_prefix(&self.typed).unwrap_or_default())
    }
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    #[serde(default)]
    login: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

impl User {
    /// Returns whether this is the account with that login.
    ///
    /// No person has a login with brackets, so a login that ends in `[bot]` must be a bot. Any
    /// other login matches whatever the type of the account.
    fn is(&self, login: &str) -> bool {
        let same = |found: &String| found.eq_ignore_ascii_case(login);
        let is_bot = self.kind.as_deref() == Some("Bot");
        self.login.as_ref().is_some_and(same) && (is_bot || !login.ends_with("[bot]"))
    }
}

/// The result of posting a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    Created,
    /// The comment was created, but its author has another login than the bot expected. The
    /// next run will not find this comment, and will create another one.
    CreatedBy(String),
    Updated,
    /// The comment already has this text.
    Unchanged,
    /// There is no comment, and there was no reason to create one.
    NotNeeded,
    /// The comment is of a newer run.
    Newer,
    /// The comment is of another job of the same run, whose result is worse.
    Worse,
}

impl<'a> Sticky<'a> {
    pub fn new(
        api: &'a Api,
        target: &'a Target,
        number: u64,
        marker: &'a Marker,
        bot_login: &'a str,
    ) -> Self {
        Sticky {
            api,
            target,
            number,
            marker,
            bot_login,
            met_other_job: Cell::default(),
        }
    }

    /// Returns whether another job of the same run has written this comment.
    pub fn met_other_job(&self) -> bool {
        self.met_other_job.get()
    }

    /// Gives the comment this text, unless it is of a newer run.
    ///
    /// An older run may have looked before this run wrote, and may write after it. So this run
    /// looks again after it has written, until the comment keeps its text.
    pub fn post(&self, body: &str, create: bool) -> Result<Posted, Problem> {
        let ours = self.ours()?;
        let posted = match ours.is_empty() {
            true if !create => return Ok(Posted::NotNeeded),
            true => self.create(body)?,
            false => self.settle(&ours, body, true)?,
        };
        for _ in 0..LOOKS {
            if !matches!(posted, Posted::Created | Posted::Updated) || self.api.is_dry_run() {
                break;
            }
            self.api
                .sleep(UNTIL_OTHERS_WROTE.min(self.api.timeout() / 10));
            // If the comment cannot be read again or is gone, the result stays as it is.
            let Ok(ours) = self.ours() else { break };
            match self.settle(&ours, body, false) {
                Ok(Posted::Updated) => {}
                Ok(other @ (Posted::Newer | Posted::Worse)) => return Ok(other),
                _ => break,
            }
        }
        Ok(posted)
    }

    /// Returns the run and its attempt. A comment that is posted by hand counts as newer than
    /// any run.
    fn age(&self) -> (u64, u64) {
        match self.marker.run {
            0 => (u64::MAX, 0),
            run => (run, self.marker.attempt),
        }
    }

    fn create(&self, body: &str) -> Result<Posted, Problem> {
        let mut last = Problem::Unreadable;
        for _ in 0..2 {
            let made = self.api.create(&self.comments(), &json!({ "body": body }));
            match made {
                Ok(made) => {
                    let is_expected = self.is_by_us(&made) || self.api.is_dry_run();
                    let login = made.user.and_then(|user| user.login);
                    return Ok(match login.filter(|_| !is_expected) {
                        Some(login) => Posted::CreatedBy(login),
                        None => Posted::Created,
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

    /// Returns the path of the pull request's comments.
    fn comments(&self) -> String {
        let repository = &self.target.repository;
        format!("/repos/{repository}/issues/{}/comments", self.number)
    }

    fn path(&self, comment: &Comment) -> String {
        let repository = &self.target.repository;
        format!("/repos/{repository}/issues/comments/{}", comment.id)
    }

    /// Returns plimsoll's comments, the oldest first.
    fn ours(&self) -> Result<Vec<Comment>, Problem> {
        let path = format!("{}?per_page=100", self.comments());
        let mut comments: Vec<Comment> = self.api.list(&path)?;
        comments.retain(|comment| self.is_by_us(comment));
        let (mut ours, mut edited) = (Vec::new(), Vec::new());
        for mut comment in comments {
            let Some(typed) = before(&self.marker.first_line(), comment.body()) else {
                continue;
            };
            comment.typed = typed.to_owned();
            match comment.typed.is_empty() {
                true if self.is_believed(&comment)? => ours.push(comment),
                true => {}
                false => edited.push(comment),
            }
        }
        // Another workflow of the same bot may quote a comment, and the quoted marker also
        // names a real run. So a comment with text before the marker counts only if there is
        // none without such text.
        for comment in edited {
            if ours.iter().all(|ours| !ours.typed.is_empty())
                && self.is_of_a_run(&comment.meta())?
            {
                ours.push(comment);
            }
        }
        ours.sort_by_key(|comment| comment.id);
        // A page may repeat the last entries of the page before.
        ours.dedup_by_key(|comment| comment.id);
        Ok(ours)
    }

    /// Returns whether to believe a comment that says that it is of a newer run: there must be
    /// such a run of this pull request.
    ///
    /// Other workflows write as the same bot. They may quote text that somebody made up to
    /// keep the bot from posting.
    fn is_believed(&self, comment: &Comment) -> Result<bool, Problem> {
        let meta = comment.meta();
        match meta.age() <= self.age() {
            true => Ok(true),
            false => self.is_of_a_run(&meta),
        }
    }

    /// Returns whether the pull request has such a run.
    fn is_of_a_run(&self, meta: &Meta) -> Result<bool, Problem> {
        let at = format!("/repos/{}", self.target.repository);
        let run: Run = match self.api.get(&format!("{at}/actions/runs/{}", meta.run)) {
            Ok(run) => run,
            Err(Problem::NotFound) => return Ok(false),
            // The repository is private, and the token lacks `actions: read`. Everybody who
            // may comment there is known, so the comment is believed.
            Err(Problem::Forbidden { .. }) => return Ok(true),
            Err(problem) => return Err(problem),
        };
        let pull: PullRequest = self.api.get(&format!("{at}/pulls/{}", self.number))?;
        let id = |repo: Option<Repo>| repo.map(|repo| repo.id);
        Ok(run.run_attempt >= meta.attempt
            && run.head_sha == meta.sha
            && run.head_branch == pull.head.branch
            && id(run.head_repository) == id(pull.head.repo))
    }

    fn is_by_us(&self, comment: &Comment) -> bool {
        let user = comment.user.as_ref();
        user.is_some_and(|user| user.is(self.bot_login))
    }

    /// Updates the oldest comment to the text of the newest run, and deletes the others.
    ///
    /// If all comments have been deleted meanwhile, creates a new one if `create` is set.
    /// GitHub's list may still have deleted comments, so without this condition `post` could
    /// repeat for ever.
    fn settle(&self, ours: &[Comment], body: &str, create: bool) -> Result<Posted, Problem> {
        let newest = ours.iter().max_by_key(|comment| {
            let meta = comment.meta();
            (meta.age(), meta.state, comment.id)
        });
        let prior = newest.map(|newest| (newest.meta(), newest));
        let superseded = prior.and_then(|(prior, comment)| {
            let other_job =
                prior.age() == self.age() && prior.job.as_ref() != Some(&self.marker.job);
            let met = other_job && prior.job.is_some() && self.marker.run > 0;
            self.met_other_job.set(met || self.met_other_job.get());
            match met {
                true => (prior.state > Some(self.marker.state)).then_some((Posted::Worse, comment)),
                false => (prior.age() > self.age()).then_some((Posted::Newer, comment)),
            }
        });
        let (kept, doubles) = ours.split_first().ok_or(Problem::Unreadable)?;
        let new = match &superseded {
            Some((_, newer)) => newer.body().to_owned(),
            None => behind(&kept.typed, body),
        };
        let same = kept.body.as_deref().is_some_and(|found| same(found, &new));
        let is_superseded = superseded.is_some();
        let mut posted = match (same, superseded) {
            (_, Some((by, _))) => by,
            (true, None) => Posted::Unchanged,
            (false, None) => Posted::Updated,
        };
        if !same {
            let (path, changed) = (self.path(kept), json!({ "body": new }));
            match self.api.change::<Comment>(Method::PATCH, &path, &changed) {
                Ok(_) => {}
                // Somebody deleted the comment meanwhile.
                Err(Problem::NotFound | Problem::Gone) => match doubles.is_empty() {
                    false => return self.settle(doubles, body, create),
                    true if is_superseded => {}
                    true if create => posted = self.create(body)?,
                    true => return Err(Problem::NotFound),
                },
                Err(problem) => return Err(problem),
            }
        }
        for double in doubles {
            self.api.delete(&self.path(double))?;
        }
        Ok(posted)
    }
}

/// A workflow run, as the API describes it.
#[derive(Debug, Deserialize)]
struct Run {
    head_sha: String,
    #[serde(default)]
    run_attempt: u64,
    #[serde(default)]
    head_branch: Option<String>,
    #[serde(default)]
    head_repository: Option<Repo>,
}

/// The content of a comment's second line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Meta {
    run: u64,
    attempt: u64,
    #[serde(default)]
    sha: String,
    #[serde(default)]
    job: Option<String>,
    #[serde(default)]
    state: Option<State>,
}

impl Meta {
    fn age(&self) -> (u64, u64) {
        (self.run, self.attempt)
    }
}

/// Returns the content of the second line. A comment without one counts as older than any run.
fn meta(body: &str) -> Meta {
    let line = body.lines().nth(1).unwrap_or_default().trim();
    let meta = line
        .strip_prefix("<!-- plimsoll:meta ")
        .and_then(|rest| rest.strip_suffix(" -->"));
    let meta = meta.and_then(|meta| serde_json::from_str(meta).ok());
    meta.unwrap_or_default()
}

/// Returns the text before the first line of plimsoll's comment, which is usually empty;
/// `None` if there is no such line. If the text is not empty, the second line must follow.
fn before<'b>(first: &str, body: &'b str) -> Option<&'b str> {
    body.match_indices(first).find_map(|(at, _)| {
        let (typed, ours) = body.split_at(at);
        let is_line = ours.lines().next()?.trim_end() == first;
        let is_ours = typed.is_empty() || meta(ours) != Meta::default();
        (is_line && is_ours).then_some(typed)
    })
}

/// Returns a comment's text with a person's text before it. If both are too long together, the
/// person's text is dropped.
fn behind(typed: &str, body: &str) -> String {
    let between = match typed.is_empty() || typed.ends_with('\n') {
        true => "",
        false => "\n\n",
    };
    let whole = format!("{typed}{between}{body}");
    match whole.encode_utf16().count() <= MAX_BODY {
        true => whole,
        false => body.to_owned(),
    }
}

/// Returns whether two texts are equal for the server, which changes line ends and removes
/// white space at the end.
fn same(found: &str, wanted: &str) -> bool {
    let with_our_ends = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    with_our_ends(found) == with_our_ends(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_in_a_comment() {
        let of = |line: &str| meta(&format!("<!-- plimsoll:v1 key=default -->\n{line}\nx")).age();
        let line = "<!-- plimsoll:meta {\"run\":7,\"attempt\":2,\"sha\":\"abc\"} -->";
        assert_eq!([of(line), of(&format!("{line}\r"))], [(7, 2); 2]);
        assert_eq!(of("<!-- plimsoll:meta {\"run\":-1} -->"), (0, 0));
        assert_eq!(of("anything"), (0, 0));
        assert_eq!(meta("").age(), (0, 0));
    }

    #[test]
    fn whose_comment_it_is() {
        let user = |login: Option<&str>, kind: Option<&str>| User {
            login: login.map(str::to_owned),
            kind: kind.map(str::to_owned),
        };
        let bot = "github-actions[bot]";
        for (login, kind, wanted, ours) in [
            (Some(bot), Some("Bot"), bot, true),
            (Some("GitHub-Actions[bot]"), Some("Bot"), bot, true),
            // GitHub has no such account.
            (Some(bot), Some("User"), bot, false),
            (Some(bot), None, bot, false),
            (Some("other[bot]"), Some("Bot"), bot, false),
            (Some("mallory"), Some("User"), bot, false),
            (None, Some("Bot"), bot, false),
            (Some("ferris"), Some("User"), "ferris", true),
            (Some("mallory"), Some("User"), "ferris", false),
        ] {
            assert_eq!(user(login, kind).is(wanted), ours, "{login:?} {kind:?}");
        }
    }

    #[test]
    fn what_stands_before_the_marker() {
        let first = "<!-- plimsoll:v1 key=default -->";
        let second = "<!-- plimsoll:meta {\"run\":7,\"attempt\":1} -->";
        let of = |body: &str| before(first, body).map(str::to_owned);
        let nothing = Some(String::new());
        assert_eq!(of(first), nothing);
        assert_eq!(of(&format!("{first}\r\nold")), nothing);
        assert_eq!(of(&format!("{first} and more")), None);
        assert_eq!(of("<!-- plimsoll:v1 key=linux -->"), None);
        // Behind other text, the marker needs the second line.
        let typed = |typed: &str| of(&format!("{typed}{first}\n{second}\n"));
        assert_eq!(typed("See #12: ").as_deref(), Some("See #12: "));
        assert_eq!(typed("See #12.\n\n").as_deref(), Some("See #12.\n\n"));
        assert_eq!(of(&format!("You wrote: {first}\nold")), None);
        let quoted = format!("> {first}\n> {second}");
        assert_eq!(of(&quoted), None);
        // Only the second occurrence is the marker.
        let twice = format!("{first} is what I see:\n{first}\n{second}");
        let before = format!("{first} is what I see:\n");
        assert_eq!(of(&twice), Some(before));
    }

    #[test]
    fn what_a_person_has_typed_stays_where_both_find_room() {
        assert_eq!(behind("", "ours"), "ours");
        assert_eq!(behind("typed", "ours"), "typed\n\nours");
        assert_eq!(behind("typed\n", "ours"), "typed\nours");
        // Counted in UTF-16, as GitHub may count.
        let most = "\u{1f534}".repeat((MAX_BODY - 6) / 2);
        assert_eq!(behind("typed\n", &most), format!("typed\n{most}"));
        assert_eq!(behind("typed!\n", &most), most);
    }

    #[test]
    fn line_ends_make_no_other_text() {
        assert!(same("a\r\nb\n", "a\nb"));
        assert!(!same("a\nb", "a\n b"));
    }
}
