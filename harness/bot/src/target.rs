//! What is to be commented on. It is found from the command line, the event and the API, and
//! never from a report.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::api::Api;
use crate::environment::Environment;
use crate::event::{Event, PullRequest, Repo, WorkflowRun};
use crate::names::{Repository, Sha};
use crate::problem::Problem;
use plimsoll_desk::status::Refused;

/// A commit of a repository, and the pull request whose last commit it is.
#[derive(Clone, Debug)]
pub struct Target {
    pub repository: Repository,
    pub pull_request: Option<u64>,
    /// Whether the pull request's commits are in another repository.
    pub fork: bool,
    /// Whether that repository was deleted.
    pub fork_is_gone: bool,
    pub head: Sha,
    pub base: Option<Sha>,
    /// The branch that the pull request is to be merged into.
    pub base_branch: Option<String>,
    /// The workflow run that measured, or 0 if the command was started by hand.
    pub run: u64,
    pub attempt: u64,
    pub event: String,
    /// The URL of the measuring run.
    pub job_url: Option<String>,
}

/// The workflow run that measured, see [`Target::run`].
struct Measuring {
    run: u64,
    attempt: u64,
    event: String,
}

impl Measuring {
    /// Returns the workflow run of this process.
    fn by(environment: &Environment) -> Measuring {
        Measuring {
            run: environment.run_id.unwrap_or(0),
            attempt: environment.run_attempt.unwrap_or(1),
            event: environment.event_name.clone().unwrap_or_default(),
        }
    }
}

impl Target {
    /// Returns the last commit of a pull request.
    fn of_pull(
        pull: &PullRequest,
        repository: Repository,
        by: Measuring,
        environment: &Environment,
    ) -> anyhow::Result<Target> {
        Ok(Target {
            job_url: run_url(environment, &repository, by.run, by.attempt),
            repository,
            pull_request: Some(pull.number),
            fork: pull.is_from_fork(),
            fork_is_gone: pull.head.repo.is_none(),
            head: sha("the pull request's head", &pull.head.sha)?,
            base: pull.base.sha.parse().ok(),
            base_branch: pull.base.branch.clone(),
            run: by.run,
            attempt: by.attempt,
            event: by.event,
        })
    }
}

/// What the command line names. It overrides the event.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub repository: Option<Repository>,
    pub pull_request: Option<u64>,
    pub head: Option<Sha>,
}

/// What is known of a target without asking GitHub.
#[derive(Debug)]
pub enum Known {
    Target(Box<Target>),
    /// A pull request. GitHub has to be asked for its head.
    PullRequest {
        repository: Repository,
        number: u64,
    },
}

/// Returns what the command line and the workflow's own event say of the target.
///
/// # Errors
///
/// If the event is a `workflow_run`, or if neither names a commit or pull request.
pub fn known(
    named: &Named,
    environment: &Environment,
    event: Option<&Event>,
) -> anyhow::Result<Known> {
    let repository = repository(named, environment)?;
    // Refused whatever the command line names: this job may write, and its report is the word
    // of the pull request's code.
    if let Some(Event::WorkflowRun(_)) = event {
        return Err(Refused::usage(
            "this `workflow_run` job may write, and follows a workflow that ran a pull request's \
             code\n  hint: add --untrusted",
        ));
    }
    if let (Some(number), None) = (named.pull_request, &named.head) {
        let of_event = match event {
            Some(Event::PullRequest(pull)) => pull.number == number,
            _ => false,
        };
        if !of_event {
            return Ok(Known::PullRequest { repository, number });
        }
    }
    let (pull_request, fork, head, base) = match event {
        Some(Event::PullRequest(pull)) => (
            Some(pull.number),
            pull.is_from_fork(),
            Some(pull.head.sha.clone()),
            Some(pull.base.sha.clone()),
        ),
        Some(Event::MergeGroup { head, base }) => (None, false, Some(head.clone()), base.clone()),
        Some(Event::Other { head, base }) => (None, false, head.clone(), base.clone()),
        Some(Event::WorkflowRun(_)) | None => (None, false, None, None),
    };
    let head = match (&named.head, head) {
        (Some(named), _) => named.clone(),
        (None, Some(head)) => sha("the event's head", &head)?,
        (None, None) => {
            return Err(Refused::usage(
                "no commit to report on\n  \
                 hint: name one with --sha, or a pull request with --pr",
            ));
        }
    };
    let base_of = event;
    let Measuring {
        run,
        attempt,
        event,
    } = Measuring::by(environment);
    let named_pull = named.pull_request.or(pull_request);
    Ok(Known::Target(Box::new(Target {
        job_url: run_url(environment, &repository, run, attempt),
        repository,
        fork: fork && named_pull == pull_request,
        fork_is_gone: false,
        pull_request: named_pull,
        head,
        // The first push of a branch has no base.
        base: base.and_then(|base| base.parse().ok()),
        base_branch: match base_of {
            Some(Event::PullRequest(pull)) => pull.base.branch.clone(),
            _ => None,
        },
        run,
        attempt,
        event,
    })))
}

pub fn repository(named: &Named, environment: &Environment) -> anyhow::Result<Repository> {
    match (&named.repository, &environment.repository) {
        (Some(named), _) => Ok(named.clone()),
        (None, Some(text)) => text.parse().map_err(|err| {
            Refused::usage(format!(
                "GITHUB_REPOSITORY: {err}, found `{}`",
                plimsoll_desk::out::safe_line(text)
            ))
        }),
        (None, None) => Err(Refused::usage(
            "this is not a GitHub Actions job, and no repository was named\n  \
             needs: GITHUB_TOKEN in the environment, --repo OWNER/NAME, and --pr N or --sha COMMIT; \
             for another GitHub than github.com, GITHUB_API_URL\n  \
             hint: `plimsoll report --format markdown` prints the comment without posting it, and \
             --dry-run what would be posted",
        )),
    }
}

/// Asks GitHub for the pull request that the command line names.
pub fn asked(
    repository: Repository,
    number: u64,
    environment: &Environment,
    api: &Api,
) -> anyhow::Result<Target> {
    let pull: PullRequest = api
        .get(&format!("/repos/{repository}/pulls/{number}"))
        .map_err(|problem| anyhow::anyhow!("pull request {number} of {repository}: {problem}"))?;
    Target::of_pull(&pull, repository, Measuring::by(environment), environment)
}

/// The reason why nothing is to be posted.
#[derive(Debug)]
pub enum Nothing {
    /// The workflow run was not started by a pull request.
    OtherEvent(String),
    /// The commit is not the head of an open pull request any more.
    MovedOn,
}

/// Returns the open pull requests of the workflow run that ended: those that come from its
/// branch and have its commit as their head.
///
/// The event itself lists no pull requests of a fork. The API's list for a commit does not
/// have them either.
pub fn of_workflow_run(
    run: &WorkflowRun,
    named: &Named,
    environment: &Environment,
    api: &Api,
) -> anyhow::Result<Result<Vec<Target>, Nothing>> {
    let repository = repository(named, environment)?;
    if run.event != "pull_request" {
        return Ok(Err(Nothing::OtherEvent(run.event.clone())));
    }
    let head = sha("the event's head", &run.head_sha)?;
    let open = |query: &str| -> anyhow::Result<Vec<PullRequest>> {
        let path = format!("/repos/{repository}/pulls?state=open{query}&per_page=100");
        let mut pulls: Vec<PullRequest> = api
            .list(&path)
            .map_err(|problem| anyhow::anyhow!("the pull requests of that branch: {problem}"))?;
        pulls.retain(|pull| {
            let is_named = named
                .pull_request
                .is_none_or(|number| number == pull.number);
            is_named && pull.head.sha == head.as_str()
        });
        Ok(pulls)
    };
    let mut pulls = Vec::new();
    if let (Some(from), Some(branch)) = (&run.head_repository, &run.head_branch) {
        let from_name: Repository = from
            .full_name
            .parse()
            .map_err(|err| Refused::usage(format!("the event's head repository: {err}")))?;
        let branch = percent_encoded(&format!("{}:{branch}", from_name.owner()));
        pulls = open(&format!("&head={branch}"))?;
        let is_from = |repo: &Repo| repo.id == from.id;
        pulls.retain(|pull| pull.head.repo.as_ref().is_some_and(is_from));
    }
    if pulls.is_empty() {
        // A deleted fork has no name to search for, but its pull request may still be open.
        pulls = open("")?;
        pulls.retain(|pull| pull.head.repo.is_none());
    }
    let targets = pulls.iter().map(|pull| {
        let by = Measuring {
            run: run.id,
            attempt: run.run_attempt,
            event: run.event.clone(),
        };
        Target::of_pull(pull, repository.clone(), by, environment)
    });
    let targets = targets.collect::<anyhow::Result<Vec<Target>>>()?;
    Ok(match targets.is_empty() {
        true => Err(Nothing::MovedOn),
        false => Ok(targets),
    })
}

fn sha(what: &str, text: &str) -> anyhow::Result<Sha> {
    text.parse().map_err(|err| {
        Refused::usage(format!(
            "{what}: {err}, found `{}`",
            plimsoll_desk::out::safe_line(text)
        ))
    })
}

/// Returns the URL of a workflow run. `None` if there is none.
fn run_url(
    environment: &Environment,
    repository: &Repository,
    run: u64,
    attempt: u64,
) -> Option<String> {
    let server = server_url(environment);
    (run > 0).then(|| format!("{server}/{repository}/actions/runs/{run}/attempts/{attempt}"))
}

/// Returns the URL of GitHub's website, without a slash at its end.
pub fn server_url(environment: &Environment) -> &str {
    let url = environment.server_url.as_deref();
    let plain = |url: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:/[]_".contains(&byte);
        (url.starts_with("https://") || url.starts_with("http://")) && url.bytes().all(allowed)
    };
    url.filter(plain)
        .unwrap_or("https://github.com")
        .trim_end_matches('/')
}

/// Percent-encodes a value for the query of a URL.
pub(crate) fn percent_encoded(text: &str) -> String {
    const VALUE: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'_')
        .remove(b'.')
        .remove(b'~');
    utf8_percent_encode(text, VALUE).to_string()
}

/// The most files of a pull request that GitHub lists. It does not say whether there are more.
pub const MAX_CHANGED_FILES: usize = 3_000;

/// A file that a pull request changes.
#[derive(Clone, Debug, Deserialize)]
pub struct ChangedFile {
    pub filename: String,
    #[serde(default)]
    pub previous_filename: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
}

impl ChangedFile {
    /// Returns the file's current name and its previous one, if it has one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let before = self.previous_filename.as_deref();
        std::iter::once(self.filename.as_str()).chain(before)
    }
}

/// Returns every file that the target's pull request changes. Without a pull request, the list
/// is empty.
pub fn changed_files(target: &Target, api: &Api) -> Result<Vec<ChangedFile>, Problem> {
    match target.pull_request {
        None => Ok(Vec::new()),
        Some(number) => api.list(&format!(
            "/repos/{}/pulls/{number}/files?per_page=100",
            target.repository
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn pull_event(head_repository: u64) -> Event {
        let side = |id: u64| json!({"sha": HEAD, "repo": {"id": id}});
        let pull = json!({"number": 7, "head": side(head_repository), "base": side(1)});
        Event::PullRequest(PullRequest::deserialize(pull).unwrap())
    }

    fn run_event() -> Event {
        let run = json!({
            "id": 5, "event": "pull_request", "head_sha": HEAD, "head_branch": "topic",
            "head_repository": null,
        });
        Event::WorkflowRun(Box::new(WorkflowRun::deserialize(run).unwrap()))
    }

    fn named(pull_request: Option<u64>, head: Option<&str>) -> Named {
        Named {
            repository: None,
            pull_request,
            head: head.map(|head| head.parse().unwrap()),
        }
    }

    fn environment(run_id: Option<u64>) -> Environment {
        Environment {
            repository: Some("octo/demo".to_owned()),
            run_id,
            ..Environment::default()
        }
    }

    /// Returns what is known of a job, in words.
    fn said(pull_request: Option<u64>, head: Option<&str>, event: Option<&Event>) -> String {
        let (named, environment) = (named(pull_request, head), environment(Some(500)));
        match known(&named, &environment, event) {
            Err(err) => format!("error: {}", err.to_string().lines().next().unwrap()),
            Ok(Known::PullRequest { repository, number }) => format!("asks {repository}#{number}"),
            Ok(Known::Target(target)) => {
                assert_eq!((target.run, target.attempt), (500, 1));
                let fork = if target.fork { " of a fork" } else { "" };
                let head = &target.head.as_str()[..4];
                format!("{:?} at {head}{fork}", target.pull_request)
            }
        }
    }

    #[test]
    fn what_is_known_without_asking() {
        let (own, fork) = (pull_event(1), pull_event(2));
        let other = |head: Option<&str>| Event::Other {
            head: head.map(str::to_owned),
            base: None,
        };
        let (push, none) = (other(Some(HEAD)), other(None));
        let (head, base) = (HEAD.to_owned(), None);
        let queue = Event::MergeGroup { head, base };
        let named = "b".repeat(40);
        let named = Some(named.as_str());
        let run = run_event();
        let (not_known, asks) = ("error: no commit to report on", "asks octo/demo#8");
        let refused = "error: this `workflow_run` job may write, and follows a workflow that ran a \
                       pull request's code";
        let (one, fork_of_one) = ("Some(7) at aaaa", "Some(7) at aaaa of a fork");
        for (pull_request, head, event, expected) in [
            (None, None, Some(&own), one),
            (None, None, Some(&fork), fork_of_one),
            (Some(7), None, Some(&fork), fork_of_one),
            // GitHub has to be asked for the head of pull request 8.
            (Some(8), None, Some(&fork), asks),
            (Some(8), None, Some(&push), asks),
            (Some(8), None, None, asks),
            (Some(8), named, Some(&fork), "Some(8) at bbbb"),
            (None, named, Some(&own), "Some(7) at bbbb"),
            (None, None, Some(&push), "None at aaaa"),
            (None, None, Some(&queue), "None at aaaa"),
            (None, None, Some(&none), not_known),
            (None, None, None, not_known),
            // Refused whatever is named, because the report is the word of the pull request's
            // code.
            (Some(8), named, Some(&run), refused),
        ] {
            assert_eq!(said(pull_request, head, event), expected);
        }
    }

    /// A comment that is posted by hand has no run to link to.
    #[test]
    fn where_the_run_can_be_seen() {
        let url = "https://github.com/octo/demo/actions/runs/500/attempts/1";
        for (run_id, address) in [(Some(500), Some(url)), (None, None)] {
            let (named, environment) = (named(None, Some(HEAD)), environment(run_id));
            let Ok(Known::Target(target)) = known(&named, &environment, None) else {
                panic!("the commit is named");
            };
            assert_eq!(target.job_url.as_deref(), address);
        }
    }

    #[test]
    fn addresses_are_built_from_what_is_plain() {
        let server = |url: &str| {
            let environment = Environment {
                server_url: Some(url.to_owned()),
                ..Environment::default()
            };
            server_url(&environment).to_owned()
        };
        assert_eq!(server("https://git.example/"), "https://git.example");
        for text in ["javascript:alert(1)", "https://a)[x](", "git.example"] {
            assert_eq!(server(text), "https://github.com", "{text}");
        }
        let encoded = percent_encoded("octo:a b/c-d_e.f~é");
        assert_eq!(encoded, "octo%3Aa%20b%2Fc-d_e.f~%C3%A9");
    }
}
