//! The page of `plimsoll --help`: clap has no groups for commands.

/// The commands by the day they are needed, one or two on a line with what they are for:
/// what is added to `Command` is added here, and the page has as many lines as a terminal.
const GROUPS: &[(&str, &[(&str, &str)])] = &[
    (
        "Every day",
        &[
            ("report", "what the last run of the tests found"),
            ("accept", "agrees to growth that is meant"),
            ("review", "the same, one finding at a time"),
            ("baseline", "shows and checks what was agreed to"),
        ],
    ),
    (
        "When it is red",
        &[
            ("check", "compares with another revision"),
            ("bisect", "the commit or release that brought it"),
            ("bisect-run", "the same, for `git bisect run`"),
            ("verify-fix", "whether a growth fell, and how surely"),
        ],
    ),
    (
        "Any program's heap",
        &[
            ("show", "what a dump holds"),
            ("compare", "what grew from one dump to another"),
            ("watch", "which stacks keep growing in a server"),
        ],
    ),
    (
        "In CI",
        &[
            ("comment", "says on a pull request what a run found"),
            ("merge", "makes one report of a run's shards"),
            ("fetch, prune-images", "a fork's report; old flame graphs"),
        ],
    ),
    (
        "Setting up",
        &[
            ("init", "sets a cargo project up for leak tests"),
            ("config", "the settings, and where each is from"),
            ("completions, man", "for shells; manual pages"),
        ],
    ),
];

/// For clap.
pub(crate) fn template() -> String {
    let mut page = "Says what keeps growing, and keeps what was agreed to.\n\n\
                    {usage-heading} {usage}\n\n"
        .to_owned();
    for (group, commands) in GROUPS {
        let groups = std::iter::once(*group).chain(std::iter::repeat(""));
        for (group, (command, purpose)) in groups.zip(*commands) {
            page += &format!("{group:<19}{command:<20}{purpose}\n");
        }
    }
    page + "\nOptions: -h, --help; -V, --version. After a command, --help says all of it."
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_it_once() {
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, commands)| commands.iter().flat_map(|(all, _)| all.split(", ")))
            .collect();
        listed.sort_unstable();
        let cli = Cli::command();
        let mut known: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    /// What is wider is wrapped, without its indentation.
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
            for (_, commands) in GROUPS {
                for (command, purpose) in *commands {
                    assert!(
                        page.contains(&format!("{command:<20}{purpose}\n")),
                        "{page}"
                    );
                }
            }
            assert!(page.contains("Usage: plimsoll <COMMAND>\n"), "{page}");
        }
    }
}
