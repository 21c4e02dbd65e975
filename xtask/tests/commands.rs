//! Every chore says what it does. With this test, the program is built for `cargo test` with what
//! everything else is built with, and `.ci/run` needs no second build of it.

use std::process::Command;

fn help(command: &[&str]) -> String {
    let xtask = env!("CARGO_BIN_EXE_xtask");
    let output = Command::new(xtask).args(command).arg("--help").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_chore_has_a_help() {
    let all = help(&[]);
    let listed = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What a long line goes on with stands further right.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    assert!(names.contains(&"zoo"), "{all}");
    for name in names {
        assert!(help(&[name]).contains("Usage: cargo xtask"), "{name}");
    }
}
