//! Posts everything: the job's summary, annotations at lines, a check run, a comment, and the
//! pictures in it. They are posted in this order, each even if one before it failed.

use std::collections::BTreeSet;

use anyhow::Context as _;
use plimsoll_core::judge::Verdict;

use super::summary::{page, say_in_summary, summarize};
use super::{Outcome, RECIPE, no_token, print_calls};
use crate::args::{CommentArgs, ImageHost, OnPostError, Part, When};
use crate::base;
use plimsoll_bot::api::Api;
use plimsoll_bot::artifact::{self, Artifact};
use plimsoll_bot::check::{CheckRun, Checked, Conclusion, MAX_ANNOTATIONS};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::images::{self, Pictures};
use plimsoll_bot::marker::{Marker, State};
use plimsoll_bot::names::Key;
use plimsoll_bot::problem::Problem;
use plimsoll_bot::sticky::{Posted, Sticky};
use plimsoll_bot::target::{self, ChangedFile, Target};
use plimsoll_core::text::hash::fnv;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_report::annotations::{self, Annotation};
use plimsoll_report::archive;
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::Joined;
use plimsoll_report::render::base::Base;
use plimsoll_report::render::entries::{Kind, entries, worst_first};
use plimsoll_report::render::markdown;
use plimsoll_report::render::picture::{self, Theme};
use plimsoll_report::render::{self, Context, Image};
use plimsoll_report::touched;

/// The most pictures in one comment.
const MAX_PICTURES: usize = 5;

/// Everything that is posted, and its place.
pub(super) struct Bot<'a> {
    args: &'a CommentArgs,
    environment: Environment,
    api: Option<Api>,
    target: Target,
    outcome: Outcome,
    marker: Marker,
    context: Context,
    /// The files that the pull request changes; `None` if GitHub could not be asked.
    changed: Option<BTreeSet<String>>,
    /// The folder of the workspace in the repository.
    prefix: String,
}

impl<'a> Bot<'a> {
    pub(super) fn new(
        args: &'a CommentArgs,
        environment: Environment,
        api: Option<Api>,
        target: Target,
        outcome: Outcome,
        untrusted: bool,
    ) -> Self {
        let source = outcome
            .as_ref()
            .ok()
            .and_then(|joined| joined.source.as_ref());
        let prefix = source.map_or_else(String::new, |source| source.prefix.clone());
        let marker = Marker {
            key: args.key.clone(),
            run: target.run,
            attempt: target.attempt,
            sha: target.head.clone(),
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
                report_url: args.artifact_url.clone(),
                untrusted,
                server: Some(target::server_url(&environment).to_owned()),
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

    /// Asks which files the pull request changes. Annotations may only point to these, and the
    /// comment lists those that decide the pull request's own result.
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

    /// Reads the report of the base, from a file or from its run's artifact. If there is none,
    /// the comment says so.
    fn look_at_base(&mut self, out: &Out) {
        let grows = |joined: &Joined| {
            let mut entries = entries(joined).into_iter();
            entries.any(|entry| entry.kind == Kind::Grows)
        };
        if !self.outcome.as_ref().is_ok_and(grows) {
            return;
        }
        let base = match (&self.args.base_report, &self.args.base_artifact) {
            (Some(path), _) => base::read(path, Reader::Bot, out),
            (None, Some(name)) => self.fetch_base(name),
            (None, None) => return,
        };
        match base {
            Ok(base) => self.context.main = Some(base),
            Err(err) => out.note(&format!("not compared with the base branch: {err:#}")),
        }
    }

    fn fetch_base(&self, name: &str) -> anyhow::Result<Base> {
        let api = self.api.as_ref().filter(|api| !api.is_dry_run());
        let api = api.context("GitHub is not asked without a token, or with --dry-run")?;
        let branch = self.target.base_branch.as_ref();
        let branch = branch.context("the event names no base branch")?;
        let artifact = artifact::of_branch(api, &self.target, branch, name)
            .map_err(|problem| anyhow::anyhow!("the artifact {name}: {problem}"))?;
        let bytes = match artifact {
            Artifact::Bytes(bytes) => bytes,
            Artifact::Missing => anyhow::bail!("no run of it has left an artifact {name}-1"),
            Artifact::Expired => anyhow::bail!("its artifact {name}-1 has expired"),
            Artifact::TooLong => anyhow::bail!("its artifact {name}-1 is longer than any report"),
        };
        let bytes = archive::open(bytes).map_err(|reason| anyhow::anyhow!("{}", reason.text()))?;
        Ok(Base {
            branch: branch.clone(),
            joined: input::parse(&bytes, Reader::Bot)?,
        })
    }

    pub(super) fn post(mut self, out: &mut Out) -> anyhow::Result<()> {
        let mut failed = Vec::new();
        self.look_at_base(out);
        if self.wants(Part::Summary) {
            let Bot {
                environment,
                outcome,
                context,
                ..
            } = &self;
            summarize(self.args, environment, outcome, context, out);
        }
        // Only now, so that the summary does not wait for the network.
        self.ask_for_changes(out);
        let annotations = self.annotations();
        let in_check = match &self.api {
            Some(api) if self.wants(Part::Check) => {
                self.check(api, &annotations, out, &mut failed)?
            }
            _ => false,
        };
        if self.wants(Part::Annotations) && self.environment.actions && !self.args.untrusted {
            // Annotations that the check run shows at their lines are not repeated.
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
            // Nothing that is left needs a token.
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

    /// Returns the text of the comment. Without `marked`, it has no marker, for places where
    /// the bot never looks for it.
    fn page(&self, marked: bool) -> String {
        let mut context = self.context.clone();
        if !marked {
            context.marker = None;
        }
        page(&self.outcome, &context, markdown::comment)
    }

    /// Returns the annotations of every scenario that needs a person, worst first.
    fn annotations(&self) -> Vec<Annotation> {
        let Ok(joined) = &self.outcome else {
            return Vec::new();
        };
        let has_file = |path: &str| match (&self.changed, &self.environment.workspace) {
            (Some(changed), _) => changed.contains(path),
            // In a privileged job, the checkout is not the code that was measured.
            (None, Some(root)) if !self.args.untrusted => root.join(path).is_file(),
            (None, _) => false,
        };
        let main = self.context.main.as_ref();
        annotations::of(joined, &self.prefix, &has_file, main)
    }

    /// Posts the check run. Returns whether the annotations at lines are in it.
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
                self.complain("check run", &problem, out, failed);
                return Ok(false);
            }
        };
        if !self.args.dry_run {
            out.print(&format!("check run: {done}, on {}\n", self.target.head))?;
        }
        Ok(stands)
    }

    fn sticky<'b>(&'b self, api: &'b Api, number: u64) -> Sticky<'b> {
        let login = &self.args.bot_login;
        Sticky::new(api, &self.target, number, &self.marker, login)
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
            // Only the code under review says that nothing grows. If it may have changed files
            // that decide its own result, people have to see that.
            When::OnGrowth => {
                state(&self.outcome) != State::Green || self.context.may_measure_itself()
            }
        };
        let sticky = self.sticky(api, number);
        let posted = sticky.post(&self.page(true), create);
        if sticky.met_other_job() {
            out.warning(&one_key(&self.args.key, "comment"));
        }
        let posted = match posted {
            Ok(posted) => posted,
            Err(problem) => {
                self.complain("comment", &problem, out, failed);
                return Ok(None);
            }
        };
        if let Posted::CreatedBy(login) = &posted {
            let login = safe_line(login);
            out.warning(&format!(
                "the comment was made by `{login}`, but comments by `{}` are looked for: each run \
                 will post another one\n  hint: --bot-login '{login}'",
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
            let repository = &self.target.repository;
            out.print(&format!("comment: {done}, on {repository}#{number}\n"))?;
        }
        Ok(Some(posted))
    }

    /// Publishes the flame graphs of the worst scenarios. Returns their URLs, each with the
    /// index of its scenario.
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
        let mut worst = worst_first(joined);
        worst.retain(|&index| joined.scenarios[index].verdict() > Some(Verdict::Improved));
        let drawn = worst.into_iter().filter_map(|index| {
            let report = joined.scenarios[index].report()?;
            let light = picture::svg(report, Theme::Light)?;
            let dark = picture::svg(report, Theme::Dark)?;
            Some((index, Pictures { light, dark }))
        });
        let (places, pictures): (Vec<usize>, Vec<_>) = drawn.take(MAX_PICTURES).unzip();
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
                self.complain("flame graphs", &problem, out, failed);
                Vec::new()
            }
        }
    }

    /// Updates the existing comment, so that it shows the pictures.
    fn embed(&self, api: &Api, number: u64, out: &Out, failed: &mut Vec<&'static str>) {
        let posted = self.sticky(api, number).post(&self.page(true), false);
        if let Err(problem) = posted {
            self.complain("flame graphs in the comment", &problem, out, failed);
        }
    }

    fn complain(
        &self,
        what: &'static str,
        problem: &Problem,
        out: &Out,
        failed: &mut Vec<&'static str>,
    ) {
        failed.push(what.trim_end_matches(" in the comment"));
        let mut text = format!("the {what} could not be posted: {problem}");
        if matches!(problem, Problem::Forbidden { .. }) && self.target.fork {
            text.push_str(&format!(
                "\n  the pull request comes from a fork, whose token may not write: see {RECIPE}"
            ));
        }
        out.warning(&text);
    }
}

fn state(outcome: &Outcome) -> State {
    State::of(outcome.as_ref().ok().and_then(Joined::verdict))
}

/// Returns a hash of the ids of what a job measured. It tells the jobs of one run apart.
fn job(outcome: &Outcome) -> String {
    let ids = outcome.as_ref().map(|joined| joined.runs.join("\n"));
    format!("{:016x}", fnv(ids.unwrap_or_default().as_bytes()))
}

/// Returns the warning that two jobs of one run post to the same place.
fn one_key(key: &Key, what: &str) -> String {
    let key = key.as_str();
    format!(
        "another job of this run has posted its {what} under the same key `{key}`; the worse of \
         the two is kept\n  hint: give each job its own key, such as --key linux"
    )
}
