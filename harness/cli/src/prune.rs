//! `plimsoll prune-images`: deletes the pictures of closed pull requests.

use crate::args::PruneArgs;
use crate::comment::{connect, no_token, print_calls};
use plimsoll_bot::environment::Environment;
use plimsoll_bot::images;
use plimsoll_bot::target::{self, Named};
use plimsoll_desk::out::Out;
use plimsoll_desk::status::Refused;

pub(crate) fn run(args: &PruneArgs, out: &mut Out) -> anyhow::Result<()> {
    let mut environment = Environment::of_this_process();
    out.on_runner(environment.actions);
    let named = Named {
        repository: args.github.repo.clone(),
        ..Named::default()
    };
    if named.repository.is_none() && environment.repository.is_none() {
        return Err(Refused::usage(
            "this is not a GitHub Actions job, and no repository was named\n  \
             needs: GITHUB_TOKEN in the environment, and --repo OWNER/NAME; for another GitHub \
             than github.com, GITHUB_API_URL",
        ));
    }
    let repository = target::repository(&named, &environment)?;
    let has_token = environment.token.is_some();
    let api = connect(&args.github, args.dry_run, &mut environment)?.filter(|_| has_token);
    let api = api.ok_or_else(|| Refused::usage(no_token("to list and delete branches")))?;
    let (deleted, left) = images::prune(&api, &repository)
        .map_err(|problem| anyhow::anyhow!("the branches of pictures: {problem}"))?;
    print_calls(&api, out)?;
    let done = match args.dry_run {
        true => "would be deleted",
        false => "deleted",
    };
    out.print(&format!(
        "branches of pictures: {deleted} {done}, {left} of open pull requests\n"
    ))?;
    Ok(())
}
