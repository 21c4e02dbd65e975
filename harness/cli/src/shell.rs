//! Files made from the command line itself: completions for shells, and manual pages.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use plimsoll_desk::out::Out;
use plimsoll_desk::{atomic, project};

const NAME: &str = "plimsoll";

const COMPLETIONS_HELP: &str = "\
For example:
  plimsoll completions bash \\
    > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish

Exit status:
  0  done
  2  invalid arguments";

const MAN_HELP: &str = "\
For example:
  plimsoll man --output ~/.local/share/man/man1

Exit status:
  0  done
  2  invalid arguments
  5  a page cannot be written";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Write manual pages, one for each command
#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArgs {
    /// Folder to write them to; created if missing
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut cli: Command,
    out: &mut Out,
) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, NAME, &mut script);
    Ok(out.print(&String::from_utf8(script)?)?)
}

pub(crate) fn man(args: &ManArgs, mut cli: Command, out: &mut Out) -> anyhow::Result<()> {
    cli.build();
    let mut pages = Vec::new();
    add_pages(&cli, NAME, &mut pages)?;
    // `man cargo-plimsoll` shows the same page.
    pages.push((
        format!("cargo-{NAME}.1"),
        format!(".so man1/{NAME}.1\n").into_bytes(),
    ));
    for (name, page) in &pages {
        atomic::write(&args.output.join(name), page)?;
    }
    let folder = project::shown(&args.output);
    Ok(out.print(&format!("{} manual pages in {folder}\n", pages.len()))?)
}

/// Adds the page of a command and of its subcommands.
fn add_pages(
    command: &Command,
    name: &str,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> anyhow::Result<()> {
    let mut page = Vec::new();
    Man::new(command.clone())
        .title(name)
        .section("1")
        .source(format!("{NAME} {}", env!("CARGO_PKG_VERSION")))
        .manual(NAME)
        .render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for below in command.get_subcommands() {
        add_pages(below, &format!("{name}-{}", below.get_name()), pages)?;
    }
    Ok(())
}
