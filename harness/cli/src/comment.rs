//! `plimsoll comment`: posts the reports of one run to its pull request.
//!
//! It posts the job's summary, annotations at lines, a check run, a comment, and the pictures
//! in it. It posts each even if one of the others fails.

mod bot;
mod summary;

use anyhow::Context as _;

use crate::args::{CommentArgs, GitHubArgs, OnPostError, Part, TargetArgs};
use plimsoll_bot::api::{Api, Mode, Patience};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::event::{self, Event};
use plimsoll_bot::target::{self, Known, Named, Nothing, Target};
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project;
use plimsoll_desk::status::Refused;
use plimsoll_report::input::{self, Reader, Unread};
use plimsoll_report::joined::{Joined, NoResult, Source};
use plimsoll_report::render::Context;

use self::bot::Bot;
use self::summary::{say_in_summary, summarize};

const RECIPE: &str = "docs/ci.md, \"Two workflows, with forks\"";

/// The reports of a run, or the reason why there are none.
type Outcome = Result<Joined, NoResult>;

pub(crate) fn run(args: &CommentArgs, out: &mut Out) -> anyhow::Result<()> {
    let environment = Environment::of_this_process();
    out.on_runner(environment.actions);
    let event = event::read(&environment)?;
    let bot = match args.untrusted {
        true => untrusted(args, environment, event.as_ref(), out)?,
        false => trusted(args, environment, event.as_ref(), out)?,
    };
    bot.map_or(Ok(()), |bot| bot.post(out))
}

/// Prepares the posts in the job that measured, or in a later job with its own token.
fn trusted<'a>(
    args: &'a CommentArgs,
    mut environment: Environment,
    event: Option<&Event>,
    out: &mut Out,
) -> anyhow::Result<Option<Bot<'a>>> {
    let known = target::known(&named(&args.target), &environment, event)?;
    let privileged = environment.event_name.as_deref() == Some("pull_request_target");
    let mut api = None;
    let target = match known {
        Known::Target(target) => {
            // The token of a fork may only read, so every post would be refused.
            if !target.fork || privileged {
                api = connect(&args.target.github, args.dry_run, &mut environment)?;
            }
            *target
        }
        Known::PullRequest { repository, number } => {
            let asked = connect(&args.target.github, args.dry_run, &mut environment)?
                .with_context(|| no_token("to look the pull request up"))?;
            let target = match target::asked(repository, number, &environment, &asked) {
                Ok(target) => target,
                Err(err) if err.is::<Refused>() || args.on_post_error == OnPostError::Fail => {
                    return Err(err);
                }
                Err(err) => {
                    out.warning(&format!("nothing could be posted: {err:#}"));
                    let (outcome, context) = (read(args, out), Context::default());
                    if !args.skip.contains(&Part::Summary) {
                        summarize(args, &environment, &outcome, &context, out);
                        say_in_summary(args, &environment, "check run, comment", out);
                    }
                    return Ok(None);
                }
            };
            api = Some(asked);
            target
        }
    };
    if api.is_none() && !environment.actions {
        return Err(Refused::usage(no_token("to post anything")));
    }
    let mut outcome = read(args, out);
    if let Ok(joined) = &mut outcome {
        let source = joined
            .source
            .get_or_insert_with(|| self::source(&target, project::prefix_in_repository()));
        if let Some(reason) = differs(&target, source) {
            out.warning(&format!("the report is not of this run: {reason}"));
            outcome = Err(reason);
        }
    }
    // Wherever it was measured, the code that ran was the fork's.
    let untrusted = privileged || target.fork;
    let bot = Bot::new(args, environment, api, target, outcome, untrusted);
    Ok(Some(bot))
}

/// Prepares the posts in a job that may write, and that was started by the end of a run of the
/// pull request's code. Nothing that this code says is believed.
fn untrusted<'a>(
    args: &'a CommentArgs,
    mut environment: Environment,
    event: Option<&Event>,
    out: &mut Out,
) -> anyhow::Result<Option<Bot<'a>>> {
    let Some(Event::WorkflowRun(run)) = event else {
        return Err(Refused::usage(
            "--untrusted needs a `workflow_run` event, which names the run that measured\n  \
             hint: in the job that measures, leave --untrusted out",
        ));
    };
    if let Some(dir) = args.report.iter().find(|path| path.is_dir()) {
        return Err(Refused::usage(format!(
            "--untrusted takes a file that `plimsoll fetch` or `plimsoll report --format json` \
             wrote: {} is a folder",
            project::shown(dir)
        )));
    }
    let api = connect(&args.target.github, args.dry_run, &mut environment)?
        .ok_or_else(|| Refused::usage(no_token("to find the pull request")))?;
    let named = named(&args.target);
    let targets = match target::of_workflow_run(run, &named, &environment, &api) {
        Err(err) if err.is::<Refused>() || args.on_post_error == OnPostError::Fail => {
            return Err(err);
        }
        Err(err) => {
            out.warning(&format!("nothing could be posted: {err:#}"));
            return Ok(None);
        }
        Ok(Ok(targets)) => targets,
        Ok(Err(nothing)) => {
            out.note(&said(&nothing));
            return Ok(None);
        }
    };
    let outcome = read(args, out).map_err(|none| match (none, run.was_cut_short()) {
        (NoResult::Missing, true) => NoResult::Cancelled,
        (none, _) => none,
    });
    let (target, outcome) = choose(targets, outcome, out);
    let bot = Bot::new(args, environment, Some(api), target, outcome, true);
    Ok(Some(bot))
}

/// Of several pull requests with the same head, chooses the one that the report is of.
pub(crate) fn choose(mut targets: Vec<Target>, outcome: Outcome, out: &Out) -> (Target, Outcome) {
    targets.sort_by_key(|target| target.pull_request);
    if targets[0].fork_is_gone {
        return (targets.swap_remove(0), Err(NoResult::ForkGone));
    }
    let source = outcome.as_ref().map(|joined| joined.source.as_ref());
    let source = match source.map_err(|none| *none) {
        Ok(Some(source)) => source,
        Ok(None) => return (targets.swap_remove(0), Err(NoResult::NoSource)),
        Err(none) => return (targets.swap_remove(0), Err(none)),
    };
    let is_of = |target: &Target| differs(target, source).is_none();
    if let Some(index) = targets.iter().position(is_of) {
        return (targets.swap_remove(index), outcome);
    }
    let reason = differs(&targets[0], source).unwrap_or(NoResult::OtherRun);
    out.warning(&format!("the report is not of this run: {reason}"));
    (targets.swap_remove(0), Err(reason))
}

/// Returns the origin of a report, for a report that is passed on to another job.
pub(crate) fn source(target: &Target, prefix: String) -> Source {
    Source {
        repository: target.repository.as_str().to_owned(),
        event: target.event.clone(),
        run: target.run,
        attempt: target.attempt,
        pull_request: target.pull_request,
        head: target.head.as_str().to_owned(),
        base: target.base.as_ref().map(|base| base.as_str().to_owned()),
        prefix,
    }
}

/// Returns the first difference between a report's origin and the target, if there is one.
fn differs(target: &Target, source: &Source) -> Option<NoResult> {
    let differences = [
        (
            source.repository != target.repository.as_str(),
            NoResult::OtherRepository,
        ),
        (
            source.pull_request != target.pull_request,
            NoResult::OtherPullRequest,
        ),
        (source.head != target.head.as_str(), NoResult::OtherHead),
        (source.run != target.run, NoResult::OtherRun),
        // The attempt may be earlier, if the measuring job was not run again.
        (source.attempt > target.attempt, NoResult::OtherRun),
    ];
    let mut differences = differences.into_iter();
    differences.find_map(|(differs, what)| differs.then_some(what))
}

pub(crate) fn said(nothing: &Nothing) -> String {
    match nothing {
        Nothing::OtherEvent(event) => format!(
            "the finished run was started by `{}`: only runs started by `pull_request` have a \
             pull request to comment on",
            safe_line(event)
        ),
        Nothing::MovedOn => "no open pull request ends with the commit that was measured: it was \
                             closed, or has moved on and will be measured again"
            .to_owned(),
    }
}

pub(crate) fn named(args: &TargetArgs) -> Named {
    Named {
        repository: args.github.repo.clone(),
        pull_request: args.pr,
        head: args.sha.clone(),
    }
}

pub(crate) fn no_token(what: &str) -> String {
    format!(
        "GITHUB_TOKEN is needed {what}, and is not set\n  \
         hint: in a workflow, give the step `env: {{ GITHUB_TOKEN: ${{{{ github.token }}}} }}`"
    )
}

/// Connects to GitHub if there is a token. A dry run needs none.
pub(crate) fn connect(
    args: &GitHubArgs,
    dry_run: bool,
    environment: &mut Environment,
) -> anyhow::Result<Option<Api>> {
    let token = environment.token.take();
    if token.is_none() && !dry_run {
        return Ok(None);
    }
    if token.as_ref().is_some_and(|token| !token.is_plain()) {
        return Err(Refused::usage(
            "GITHUB_TOKEN is not a token: it contains a space, a line break or a character that \
             is not ASCII",
        ));
    }
    let base = environment.api_url.as_deref();
    let base = base.unwrap_or("https://api.github.com");
    let patience = Patience {
        timeout: args.timeout,
        max_wait: args.max_wait,
    };
    let mode = if dry_run { Mode::DryRun } else { Mode::Real };
    Api::new(base, token, patience, mode)
        .map(Some)
        .map_err(|err| Refused::usage(format!("{err:#}")))
}

/// Reads the given reports. If they cannot be read, this becomes the outcome.
fn read(args: &CommentArgs, out: &Out) -> Outcome {
    let joined = input::read(&args.report, args.run.as_deref(), Reader::Bot, out);
    joined.map_err(|err| {
        out.warning(&format!("{err:#}"));
        let unread = err.downcast_ref::<Unread>();
        unread.map_or(NoResult::Missing, Unread::reason)
    })
}

/// Prints what a dry run would have sent. The text is quoted, so a runner takes nothing in it
/// for a command.
pub(crate) fn print_calls(api: &Api, out: &mut Out) -> anyhow::Result<()> {
    let mut text = String::new();
    for call in api.calls() {
        text.push_str(&format!("{} {}\n", call.method.as_str(), call.path));
        if let Some(body) = &call.body {
            let body = serde_json::to_string_pretty(body).context("a request's body")?;
            text.push_str(&format!("{body}\n"));
        }
    }
    if !text.is_empty() {
        out.quote(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report decides neither where it is posted nor what it is of.
    #[test]
    fn a_report_is_of_its_own_run() {
        let sha = "a".repeat(40);
        let target = Target {
            repository: "octo/demo".parse().unwrap(),
            pull_request: Some(8),
            fork: true,
            fork_is_gone: false,
            head: sha.parse().unwrap(),
            base: None,
            base_branch: None,
            run: 500,
            attempt: 2,
            event: "pull_request".to_owned(),
            job_url: None,
        };
        type Change = fn(&mut Source);
        let (pull, run) = (NoResult::OtherPullRequest, NoResult::OtherRun);
        let rows: [(Change, Option<NoResult>); 8] = [
            (|_| {}, None),
            // The measuring job was not run again.
            (|source| source.attempt = 1, None),
            (|source| source.attempt = 3, Some(run)),
            (|source| source.run = 1, Some(run)),
            (
                |source| source.head = "b".repeat(40),
                Some(NoResult::OtherHead),
            ),
            (|source| source.pull_request = Some(7), Some(pull)),
            (|source| source.pull_request = None, Some(pull)),
            (
                |source| source.repository += "-other",
                Some(NoResult::OtherRepository),
            ),
        ];
        for (row, (change, expected)) in rows.into_iter().enumerate() {
            let mut source = source(&target, String::new());
            change(&mut source);
            assert_eq!(differs(&target, &source), expected, "row {row}");
        }
    }

    #[test]
    fn the_recipe_is_where_it_is_said_to_be() {
        let (path, heading) = RECIPE.split_once(", ").unwrap();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let page = std::fs::read_to_string(format!("{root}{path}")).unwrap();
        let heading = format!("## {}", heading.trim_matches('"'));
        assert!(page.lines().any(|line| line == heading), "{heading}");
    }
}
