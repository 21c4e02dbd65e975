//! `plimsoll comment`: one run's reports, where a pull request is read.
//!
//! The job's summary, notes at lines, a check run, one comment, pictures in it:
//! in that order, each whatever became of those before it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use plimsoll_core::judge::Verdict;

use crate::args::{CommentArgs, GitHubArgs, ImageHost, OnPostError, Part, TargetArgs, When};
use plimsoll_bot::api::{Api, Mode, Patience};
use plimsoll_bot::check::{CheckRun, Checked, Conclusion, MAX_ANNOTATIONS};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::event::{self, Event};
use plimsoll_bot::images::{self, Pictures};
use plimsoll_bot::marker::{Marker, State};
use plimsoll_bot::names::Key;
use plimsoll_bot::problem::Problem;
use plimsoll_bot::sticky::{Posted, Sticky};
use plimsoll_bot::target::{self, ChangedFile, Known, Named, Nothing, Target};
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project;
use plimsoll_desk::status::Refused;
use plimsoll_report::annotations::{self, Annotation, Files};
use plimsoll_report::input::{self, Reader, Unread};
use plimsoll_report::joined::{Joined, NoResult, Source};
use plimsoll_report::render::markdown;
use plimsoll_report::render::picture::{self, Theme};
use plimsoll_report::render::{self, Context, Image};
use plimsoll_report::touched;
use plimsoll_text::hash::fnv;

/// What a job's summary page takes.
const MAX_STEP_SUMMARY: u64 = 1024 * 1024;
/// Pictures in one comment: as many as are open in it, at most.
const MAX_PICTURES: usize = 5;
const RECIPE: &str = "docs/ci.md, \"Two workflows, with forks\"";

/// What there is to say: a run's reports, or why there are none.
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

/// Everything that is posted, and where.
struct Bot<'a> {
    args: &'a CommentArgs,
    environment: Environment,
    api: Option<Api>,
    target: Target,
    outcome: Outcome,
    marker: Marker,
    context: Context,
    /// The files of the pull request, where they could be asked for.
    changed: Option<BTreeSet<String>>,
    /// The folder of the workspace in the repository.
    prefix: String,
}

/// In the job that measured, or one behind it, with a token of its own.
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
            // A fork's token reads; every request would be refused.
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
                        summarize(args, &environment, &outcome, &context, out).unwrap_or_else(
                            |err| out.warning(&format!("the job's summary: {err:#}")),
                        );
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
        match &joined.source {
            Some(source) => {
                if let Some(reason) = differs(&target, source) {
                    out.warning(&format!("the report is not of this run: {reason}"));
                    outcome = Err(reason);
                }
            }
            None => joined.source = Some(self::source(&target, project::prefix_in_repository())),
        }
    }
    // Wherever it was measured: what ran was the fork's.
    let untrusted = privileged || target.fork;
    Ok(Some(Bot::new(
        args,
        environment,
        api,
        target,
        outcome,
        untrusted,
    )))
}

/// In a job that may write, started by the end of one that ran the pull
/// request's code: nothing that code said is believed.
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
        .with_context(|| no_token("to find the pull request"))
        .map_err(|err| Refused::usage(err.to_string()))?;
    let named = named(&args.target);
    let found = target::of_workflow_run(run, &named, &environment, &api);
    let targets = match found {
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
    Ok(Some(Bot::new(
        args,
        environment,
        Some(api),
        target,
        outcome,
        true,
    )))
}

/// Of several pull requests with one head, that which the report is of.
pub(crate) fn choose(mut targets: Vec<Target>, outcome: Outcome, out: &Out) -> (Target, Outcome) {
    targets.sort_by_key(|target| target.pull_request);
    if targets[0].fork_is_gone {
        return (targets.swap_remove(0), Err(NoResult::ForkGone));
    }
    let joined = match outcome {
        Ok(joined) => joined,
        Err(none) => return (targets.swap_remove(0), Err(none)),
    };
    let Some(source) = &joined.source else {
        return (targets.swap_remove(0), Err(NoResult::NoSource));
    };
    let differs: Vec<Option<NoResult>> = targets
        .iter()
        .map(|target| differs(target, source))
        .collect();
    match differs.iter().position(Option::is_none) {
        Some(index) => (targets.swap_remove(index), Ok(joined)),
        None => {
            let reason = differs.first().copied().flatten();
            let reason = reason.unwrap_or(NoResult::OtherRun);
            out.warning(&format!("the report is not of this run: {reason}"));
            (targets.swap_remove(0), Err(reason))
        }
    }
}

/// What a report that is passed on says of where it comes from.
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

/// The first thing by which a report is of another run, if it is.
fn differs(target: &Target, source: &Source) -> Option<NoResult> {
    if source.repository != target.repository.as_str() {
        Some(NoResult::OtherRepository)
    } else if source.pull_request != target.pull_request {
        Some(NoResult::OtherPullRequest)
    } else if source.head != target.head.as_str() {
        Some(NoResult::OtherHead)
    // A job that was not run again left its report in an earlier attempt.
    } else if source.run != target.run || source.attempt > target.attempt {
        Some(NoResult::OtherRun)
    } else {
        None
    }
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

/// A connection, where there is a token; a dry run does without.
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
    let base = environment
        .api_url
        .as_deref()
        .unwrap_or("https://api.github.com");
    let patience = Patience {
        timeout: args.timeout,
        max_wait: args.max_wait,
    };
    let mode = if dry_run { Mode::DryRun } else { Mode::Real };
    Api::new(base, token, patience, mode)
        .map(Some)
        .map_err(|err| Refused::usage(format!("{err:#}")))
}

/// Writes the job's summary.
fn summarize(
    args: &CommentArgs,
    environment: &Environment,
    outcome: &Outcome,
    context: &Context,
    out: &mut Out,
) -> anyhow::Result<()> {
    let context = Context {
        marker: None,
        ..context.clone()
    };
    let text = match outcome {
        Ok(joined) => markdown::summary(joined, &context),
        Err(none) => markdown::no_result(&context, *none),
    };
    let Some(path) = &environment.step_summary else {
        return Ok(());
    };
    if args.dry_run {
        let length = text.len();
        out.print(&format!("job summary: {length} bytes, not written\n"))?;
        return Ok(());
    }
    // What is over the limit takes with it what stood there before.
    let there = fs::metadata(path).map_or(0, |data| data.len());
    let fits = |text: &str| there + (text.len() as u64) < MAX_STEP_SUMMARY;
    let text = match fits(&text) {
        true => text,
        false => page(outcome, &context),
    };
    anyhow::ensure!(fits(&text), "it has no room left");
    append(path, &text)
}

/// That something could not be posted: who looks at the summary looks no further.
fn say_in_summary(args: &CommentArgs, environment: &Environment, what: &str, out: &Out) {
    if let Some(path) = environment.step_summary.as_ref().filter(|_| !args.dry_run) {
        let text = format!("> **Not posted: {what}.** The log of this step says why.\n");
        append(path, &text).unwrap_or_else(|err| out.warning(&format!("the summary: {err:#}")));
    }
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    Ok(())
}

fn page(outcome: &Outcome, context: &Context) -> String {
    match outcome {
        Ok(joined) => markdown::comment(joined, context),
        Err(none) => markdown::no_result(context, *none),
    }
}

fn state(outcome: &Outcome) -> State {
    State::of(outcome.as_ref().ok().and_then(Joined::verdict))
}

/// Tells the jobs of one run apart: by the ids of what they measured.
fn job(outcome: &Outcome) -> String {
    let ids = outcome.as_ref().map(|joined| joined.runs.join("\n"));
    format!("{:016x}", fnv(ids.unwrap_or_default().as_bytes()))
}

/// What is given as the report; that it cannot be read is something to say.
fn read(args: &CommentArgs, out: &Out) -> Outcome {
    match input::read(&args.report, args.run.as_deref(), Reader::Bot, out) {
        Ok(joined) => Ok(joined),
        Err(err) => {
            out.warning(&format!("{err:#}"));
            let unread = err.downcast_ref::<Unread>();
            Err(unread.map_or(NoResult::Missing, Unread::reason))
        }
    }
}

impl<'a> Bot<'a> {
    fn new(
        args: &'a CommentArgs,
        environment: Environment,
        api: Option<Api>,
        target: Target,
        outcome: Outcome,
        untrusted: bool,
    ) -> Self {
        let prefix = match &outcome {
            Ok(Joined {
                source: Some(source),
                ..
            }) => source.prefix.clone(),
            _ => String::new(),
        };
        let marker = Marker {
            key: args.key.as_str().to_owned(),
            run: target.run,
            attempt: target.attempt,
            sha: target.head.as_str().to_owned(),
            job: job(&outcome),
            state: state(&outcome),
        };
        Bot {
            args,
            context: Context {
                marker: Some(render::Marker {
                    lines: marker.lines(),
                    run: marker.run,
                    attempt: marker.attempt,
                }),
                head: Some(target.head.as_str().to_owned()),
                base: target.base.as_ref().map(|base| base.as_str().to_owned()),
                job_url: target.job_url.clone(),
                report_url: args.artifact_url.as_ref().map(|url| url.0.clone()),
                untrusted,
                ..Context::default()
            },
            environment,
            api,
            target,
            outcome,
            changed: None,
            marker,
            prefix,
        }
    }

    /// Which files the pull request changes: for notes, and for what it changes
    /// of its own measure.
    fn ask_for_changes(&mut self, out: &Out) {
        let (Some(api), Some(_)) = (&self.api, self.target.pull_request) else {
            return;
        };
        match target::changed_files(&self.target, api) {
            Ok(files) => {
                self.context.touched = touched::of(files.iter().flat_map(ChangedFile::names));
                self.context.touched_more = files.len() >= target::MAX_CHANGED_FILES;
                let removed = |status: &Option<String>| status.as_deref() == Some("removed");
                let names = files.into_iter().filter(|file| !removed(&file.status));
                self.changed = Some(names.map(|file| file.filename).collect());
            }
            Err(problem) => {
                self.context.touched_more = !api.is_dry_run();
                out.warning(&format!("the pull request's changed files: {problem}"));
            }
        }
    }

    fn post(mut self, out: &mut Out) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        if self.wants(Part::Summary) {
            self.summarize(out)
                .unwrap_or_else(|err| out.warning(&format!("the job's summary: {err:#}")));
        }
        // Only now: what needs no network does not wait for it.
        self.ask_for_changes(out);
        let annotations = self.annotations();
        let in_check = match &self.api {
            Some(api) if self.wants(Part::Check) => {
                self.check(api, &annotations, out, &mut failed)?
            }
            _ => false,
        };
        if self.wants(Part::Annotations) && self.environment.actions && !self.args.untrusted {
            // What stands at a line of the check run already is not said again.
            let of_runner = annotations.iter();
            let of_runner = of_runner.filter(|one| !in_check || one.place.is_none());
            let lines = annotations::commands(of_runner);
            if self.args.dry_run && !lines.is_empty() {
                out.quote(&(lines.join("\n") + "\n"))?;
            } else {
                for line in lines {
                    out.command(&line)?;
                }
            }
        }
        if let Some(api) = &self.api {
            if let Some(number) = self.target.pull_request
                && self.wants(Part::Comment)
            {
                let posted = self.comment(api, number, out, &mut failed)?;
                let shown = matches!(
                    posted,
                    Some(Posted::Created | Posted::Updated | Posted::Unchanged)
                );
                if shown && self.args.image == ImageHost::Branch {
                    let images = self.publish(api, number, out, &mut failed);
                    if !images.is_empty() {
                        self.context.images = images.into_iter().collect();
                        self.embed(api, number, out, &mut failed);
                    }
                }
            }
            print_calls(api, out)?;
        } else if !self.wants(Part::Check) && !self.wants(Part::Comment) {
            // What is left needs no token, and was not refused one.
        } else if self.target.fork {
            out.print(&format!(
                "nothing posted: the pull request comes from a fork, whose token may not write \
                 (see {RECIPE})\n"
            ))?;
        } else {
            out.warning(&no_token("to post a check run and a comment"));
            failed.push("no token");
        }
        if failed.is_empty() {
            return Ok(());
        }
        let failed = failed.join(", ");
        if self.wants(Part::Summary) {
            say_in_summary(self.args, &self.environment, &failed, out);
        }
        match self.args.on_post_error {
            OnPostError::Fail => anyhow::bail!("not everything could be posted: {failed}"),
            OnPostError::Warn => Ok(()),
        }
    }

    fn wants(&self, part: Part) -> bool {
        !self.args.skip.contains(&part)
    }

    /// The comment, without what makes it recognisable where nothing looks for it.
    fn page(&self, marked: bool) -> String {
        let mut context = self.context.clone();
        if !marked {
            context.marker = None;
        }
        page(&self.outcome, &context)
    }

    fn summarize(&self, out: &mut Out) -> anyhow::Result<()> {
        summarize(
            self.args,
            &self.environment,
            &self.outcome,
            &self.context,
            out,
        )
    }

    /// For every scenario that needs a person, the worst first.
    fn annotations(&self) -> Vec<Annotation> {
        let Ok(joined) = &self.outcome else {
            return Vec::new();
        };
        let files = match (&self.changed, &self.environment.workspace) {
            (Some(changed), _) => Files::Changed(changed),
            // What is checked out beside a privileged job is not what was measured.
            (None, Some(root)) if !self.args.untrusted => Files::CheckedOut(root),
            (None, _) => Files::None,
        };
        annotations::of(joined, &self.prefix, &files)
    }

    /// Whether the notes at lines stand in it.
    fn check(
        &self,
        api: &Api,
        annotations: &[Annotation],
        out: &mut Out,
        failed: &mut Vec<&'static str>,
    ) -> anyhow::Result<bool> {
        let key = &self.args.key;
        let name = match (&self.args.check_name, key.is_default()) {
            (Some(name), _) => name.clone(),
            (None, true) => "plimsoll".to_owned(),
            (None, false) => format!("plimsoll ({})", key.as_str()),
        };
        let title = match &self.outcome {
            Ok(joined) => markdown::headline(joined),
            Err(none) => none.headline(),
        };
        let placed: Vec<serde_json::Value> = annotations
            .iter()
            .filter(|annotation| annotation.place.is_some())
            .take(MAX_ANNOTATIONS)
            .map(Annotation::as_json)
            .collect();
        let check = CheckRun {
            api,
            target: &self.target,
            name: &name,
            key: key.as_str(),
            job: &job(&self.outcome),
            conclusion: Conclusion::of(state(&self.outcome), self.context.untrusted),
            title: &title,
            summary: &self.page(false),
            annotations: &placed,
        };
        let posted = check.post();
        let stands = matches!(posted, Ok(Checked::Created | Checked::Updated));
        let done = match posted {
            Ok(Checked::Created) => "made",
            Ok(Checked::Updated) => "brought up to date",
            Ok(Checked::Newer) => "left alone, it is of a newer run",
            Ok(Checked::OtherJob { is_worse }) => {
                out.warning(&one_key(key, "check run"));
                match is_worse {
                    true => "left alone, it is of a job of this run that came out worse",
                    false => "brought up to date",
                }
            }
            Ok(Checked::OtherPullRequest(number)) => {
                out.warning(&format!(
                    "no check run: pull request {number} has the same head commit and a failed \
                     check run, which this one would hide"
                ));
                return Ok(false);
            }
            Ok(Checked::NoCommit) => {
                out.warning(&format!(
                    "no check run: GitHub does not know the commit {}; a force-push may have \
                     removed it",
                    self.target.head
                ));
                return Ok(false);
            }
            Err(problem) => {
                self.complain("the check run", &problem, out);
                failed.push("check run");
                return Ok(false);
            }
        };
        if !self.args.dry_run {
            out.print(&format!("check run: {done}, on {}\n", self.target.head))?;
        }
        Ok(stands)
    }

    fn sticky<'b>(&'b self, api: &'b Api, number: u64) -> Sticky<'b> {
        Sticky::new(
            api,
            &self.target,
            number,
            &self.marker,
            &self.args.bot_login,
        )
    }

    fn comment(
        &self,
        api: &Api,
        number: u64,
        out: &mut Out,
        failed: &mut Vec<&'static str>,
    ) -> anyhow::Result<Option<Posted>> {
        let create = match self.args.when {
            When::Never => return Ok(None),
            When::Always => true,
            // That nothing grows is the word of the code under review: what that changes of its
            // own measure is for people to see.
            When::OnGrowth => {
                state(&self.outcome) != State::Green || self.context.may_measure_itself()
            }
        };
        let sticky = self.sticky(api, number);
        let posted = sticky.post(&self.page(true), create);
        if sticky.met_other_job() {
            out.warning(&one_key(&self.args.key, "comment"));
        }
        let place = format!("{}#{number}", self.target.repository);
        match posted {
            Ok(posted) => {
                if let Posted::CreatedBy(login) = &posted {
                    let login = safe_line(login);
                    out.warning(&format!(
                        "the comment was made by `{login}`, but comments by `{}` are looked for: \
                         each run will post another one\n  hint: --bot-login '{login}'",
                        self.args.bot_login
                    ));
                }
                let done = match posted {
                    Posted::Created | Posted::CreatedBy(_) => "made",
                    Posted::Updated => "brought up to date",
                    Posted::Unchanged => "says so already",
                    Posted::NotNeeded => "none, as nothing needs a person (--when)",
                    Posted::Newer => "left alone, it is of a newer run",
                    Posted::Worse => "left alone, it is of a job of this run that came out worse",
                };
                if !self.args.dry_run {
                    out.print(&format!("comment: {done}, on {place}\n"))?;
                }
                Ok(Some(posted))
            }
            Err(problem) => {
                self.complain("the comment", &problem, out);
                failed.push("comment");
                Ok(None)
            }
        }
    }

    /// The worst scenarios' flame graphs, by their place in the report.
    fn publish(
        &self,
        api: &Api,
        number: u64,
        out: &Out,
        failed: &mut Vec<&'static str>,
    ) -> Vec<(usize, Image)> {
        let Ok(joined) = &self.outcome else {
            return Vec::new();
        };
        let mut worst: Vec<usize> = (0..joined.scenarios.len())
            .filter(|&index| joined.scenarios[index].verdict() > Some(Verdict::Improved))
            .collect();
        worst.sort_by_key(|&index| std::cmp::Reverse(joined.scenarios[index].verdict()));
        let mut places = Vec::new();
        let mut pictures = Vec::new();
        for index in worst {
            let Some(report) = joined.scenarios[index].report() else {
                continue;
            };
            if let (Some(light), Some(dark)) = (
                picture::svg(report, Theme::Light),
                picture::svg(report, Theme::Dark),
            ) {
                places.push(index);
                pictures.push(Pictures { light, dark });
            }
            if pictures.len() == MAX_PICTURES {
                break;
            }
        }
        if pictures.is_empty() {
            return Vec::new();
        }
        let server = target::server_url(&self.environment);
        let key = &self.args.key;
        match images::publish(api, &self.target, number, key, server, &pictures) {
            Ok(images) => {
                let placed = places.into_iter().zip(images);
                placed
                    .filter_map(|(place, image)| {
                        let Pictures { light, dark } = image?;
                        Some((place, Image { light, dark }))
                    })
                    .collect()
            }
            Err(problem) => {
                self.complain("the flame graphs", &problem, out);
                failed.push("flame graphs");
                Vec::new()
            }
        }
    }

    /// Shows the pictures in the comment that stands.
    fn embed(&self, api: &Api, number: u64, out: &Out, failed: &mut Vec<&'static str>) {
        let posted = self.sticky(api, number).post(&self.page(true), false);
        if let Err(problem) = posted {
            self.complain("the flame graphs in the comment", &problem, out);
            failed.push("flame graphs");
        }
    }

    fn complain(&self, what: &str, problem: &Problem, out: &Out) {
        let mut text = format!("{what} could not be posted: {problem}");
        if matches!(problem, Problem::Forbidden { .. }) && self.target.fork {
            text.push_str(&format!(
                "\n  the pull request comes from a fork, whose token may not write: see {RECIPE}"
            ));
        }
        out.warning(&text);
    }
}

/// That two jobs of one run write at one place.
fn one_key(key: &Key, what: &str) -> String {
    let key = key.as_str();
    format!(
        "another job of this run has posted its {what} under the same key `{key}`; the worse of \
         the two is kept\n  hint: give each job its own key, such as --key linux"
    )
}

/// What a dry run would have written, to be read and not to be obeyed.
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
            run: 500,
            attempt: 2,
            event: "pull_request".to_owned(),
            job_url: None,
        };
        let differs = |change: fn(&mut Source)| {
            let mut source = source(&target, String::new());
            change(&mut source);
            differs(&target, &source)
        };
        assert_eq!(differs(|_| {}), None);
        // A job that was not run again.
        assert_eq!(differs(|source| source.attempt = 1), None);
        assert_eq!(
            differs(|source| source.attempt = 3),
            Some(NoResult::OtherRun)
        );
        assert_eq!(differs(|source| source.run = 1), Some(NoResult::OtherRun));
        assert_eq!(
            differs(|source| source.head = "b".repeat(40)),
            Some(NoResult::OtherHead)
        );
        let pull = Some(NoResult::OtherPullRequest);
        assert_eq!(differs(|source| source.pull_request = Some(7)), pull);
        assert_eq!(differs(|source| source.pull_request = None), pull);
        assert_eq!(
            differs(|source| source.repository = "octo/other".to_owned()),
            Some(NoResult::OtherRepository)
        );
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
