//! `plimsoll …`
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    plimsoll_cli::main()
}
