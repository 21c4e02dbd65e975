//! `cargo plimsoll …`: cargo finds a subcommand by the name of its program.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    plimsoll_cli::main()
}
