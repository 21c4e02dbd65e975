//! The page of `plimsoll --help`. It is written here, because clap cannot group commands.

/// The commands, with the name of a group before its first, and one or two commands on a line. Whoever adds a command to
/// `Command` adds it here too. The page has as many lines as a terminal.
const COMMANDS: [(&str, &str, &str); 18] = [
    ("Every day", "bench, run", "measure benchmarks; any program"),
    ("", "report", "prints the results of the last run"),
    ("", "accept", "accepts intended growth"),
    ("", "review", "accepts findings one at a time"),
    ("", "baseline", "lists and checks accepted growth"),
    (
        "When a test fails",
        "check",
        "compares with another revision",
    ),
    ("", "bisect", "finds the commit or release to blame"),
    ("", "bisect-run", "decides on one commit, for git itself"),
    ("", "verify-fix", "checks whether growth is fixed"),
    (
        "Any program's heap",
        "show",
        "shows the contents of a heap dump",
    ),
    ("", "compare", "shows what grew between two dumps"),
    ("", "watch", "shows which stacks keep growing"),
    ("In CI", "comment", "posts the results to the pull request"),
    ("", "merge", "combines the reports of shards"),
    ("", "fetch, prune-images", "for forks; for old flame graphs"),
    (
        "Setting up",
        "init",
        "sets up leak tests in a cargo project",
    ),
    ("", "config", "shows the settings, and where each is set"),
    ("", "completions, man", "for shells; manual pages"),
];

/// Returns the page as a help template for clap.
pub(crate) fn template() -> String {
    let mut page = "Finds heap growth in Rust programs, and keeps a record of accepted growth.\n\n\
                    {usage-heading} {usage}\n\n"
        .to_owned();
    for (group, command, purpose) in COMMANDS {
        page += &format!("{group:<19}{command:<20}{purpose}\n");
    }
    page + "\nOptions: -h, --help; -V, --version. COMMAND --help explains a command."
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::command::Cli;

    #[test]
    fn every_command_is_in_it_once() {
        let lines = COMMANDS.iter();
        let mut listed: Vec<&str> = lines.flat_map(|(_, all, _)| all.split(", ")).collect();
        listed.sort_unstable();
        let cli = Cli::command();
        let mut known: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    /// clap wraps wider lines, without their indentation.
    #[test]
    fn what_closes_a_page_is_not_wrapped() {
        fn check(command: &clap::Command) {
            let closing = command.get_after_help().map(ToString::to_string);
            for line in closing.unwrap_or_default().lines() {
                let width = line.chars().count();
                assert!(width <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn it_fits_a_screen() {
        for page in [
            Cli::command().render_help(),
            Cli::command().render_long_help(),
        ] {
            let page = page.to_string();
            assert!(page.lines().count() <= 24, "{page}");
            for line in page.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
            for (_, command, purpose) in COMMANDS {
                let line = format!("{command:<20}{purpose}\n");
                assert!(page.contains(&line), "{page}");
            }
            assert!(page.contains("Usage: plimsoll <COMMAND>\n"), "{page}");
        }
    }
}
