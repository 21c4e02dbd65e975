//! `plimsoll fetch`: downloads the report that the run of another workflow left.

use crate::args::FetchArgs;
use crate::comment::{choose, connect, named, no_token, said};
use plimsoll_bot::artifact::{self, Artifact};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::event::{self, Event};
use plimsoll_bot::target;
use plimsoll_desk::out::Out;
use plimsoll_desk::status::Refused;
use plimsoll_desk::{atomic, project};
use plimsoll_report::archive;
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined::{self, NoResult};

pub(crate) fn run(args: &FetchArgs, out: &mut Out) -> anyhow::Result<()> {
    let mut environment = Environment::of_this_process();
    out.on_runner(environment.actions);
    let Some(Event::WorkflowRun(run)) = event::read(&environment)? else {
        return Err(Refused::usage(
            "this is not a `workflow_run` event, which names the run whose report to fetch",
        ));
    };
    let Some(api) = connect(&args.target.github, false, &mut environment)? else {
        return Err(Refused::usage(no_token("to fetch a report")));
    };
    let targets = match target::of_workflow_run(&run, &named(&args.target), &environment, &api)? {
        Ok(targets) => targets,
        Err(nothing) => {
            out.note(&said(&nothing));
            return Ok(());
        }
    };
    // If the run succeeded, a job without an artifact was not run again, and its earlier
    // artifact still holds. In any other run, the job may have failed before it left one.
    let or_earlier = run.conclusion.as_deref() == Some("success");
    let artifact = match artifact::fetch(&api, &targets[0], &args.artifact, or_earlier) {
        Ok(artifact) => artifact,
        Err(problem) => {
            atomic::write_output(&args.output, NoResult::NotFetched.to_file())?;
            anyhow::bail!("the report's artifact: {problem}");
        }
    };
    let bytes = match artifact {
        Artifact::Bytes(bytes) => archive::open(bytes),
        Artifact::Missing => Err(NoResult::Missing),
        Artifact::Expired => Err(NoResult::Expired),
        Artifact::TooLong => Err(NoResult::TooLong),
    };
    let outcome = bytes.and_then(|bytes| {
        input::parse(&bytes, Reader::Bot).map_err(|err| {
            out.warning(&format!("the report cannot be read: {err}"));
            NoResult::of(&err)
        })
    });
    let (_, outcome) = choose(targets, outcome, out);
    let text = match &outcome {
        Ok(joined) => joined::json::to_string(joined),
        Err(reason) => {
            out.warning(&format!("no report was fetched: {reason}"));
            reason.to_file()
        }
    };
    atomic::write_output(&args.output, &text)?;
    out.print(&format!("report: {}\n", project::shown(&args.output)))?;
    Ok(())
}
