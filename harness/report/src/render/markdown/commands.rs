//! The commands to type: how to reproduce a result, and how to accept it.

use plimsoll_core::judge::Verdict;

use super::{View, summary_line};
use crate::joined::Scenario;
use crate::render::{cargo_profile, cargo_target};
use plimsoll_text::escape::command_word;
use plimsoll_text::sink::fenced;

/// The most scenarios whose commands are shown. The commands of further scenarios look alike.
const MAX_COMMANDS: usize = 10;
/// More columns than any command has; a name has at most 100 characters.
const WIDTH: usize = 600;

/// Returns the block of commands. `None` if all scenarios are green, or if no name can be
/// typed safely.
pub(super) fn block(view: &View<'_>) -> Option<String> {
    let open: Vec<usize> = view.open().take(MAX_COMMANDS).collect();
    let scenarios = || open.iter().map(|&place| &view.joined.scenarios[place]);
    let reproduce: Vec<String> = scenarios().filter_map(|one| test(view, one)).collect();
    let accept = |scenario: &Scenario| {
        let report = scenario.report()?;
        let command = accept(view, scenario).filter(|_| report.verdict == Verdict::Regressed)?;
        // An expired allowance can be accepted again only with a date.
        let expires = match report.expired().is_empty() {
            true => "",
            false => " --expires YYYY-MM-DD",
        };
        Some(format!("{command}{expires} --reason \"why it may grow\""))
    };
    let accept: Vec<String> = scenarios().filter_map(accept).collect();
    if reproduce.is_empty() && accept.is_empty() {
        return None;
    }
    let title = match accept.is_empty() {
        true => "Reproduce",
        false => "Reproduce, or accept this growth",
    };
    let mut text = format!("<details>{}\n", summary_line(title));
    if !reproduce.is_empty() {
        text.push_str(&format!("\n{}\n", fenced(&reproduce.join("\n"), WIDTH)));
    }
    if !accept.is_empty() {
        text.push_str(&format!(
            "\nIf this growth is intended, accept it after that run, and commit the baseline \
             that it changes:\n\n{}\n",
            fenced(&accept.join("\n"), WIDTH)
        ));
    }
    text.push_str("\n</details>");
    Some(text)
}

/// Returns the command that accepts a scenario's growth, or removes the allowances that it no
/// longer needs. `None` if a name cannot be typed safely.
pub(super) fn accept(view: &View<'_>, scenario: &Scenario) -> Option<String> {
    let name = command_word(&scenario.name)?;
    let mut command = format!("cargo plimsoll accept {name}");
    let same = |other: &&Scenario| other.name == scenario.name;
    let namesakes = || view.joined.scenarios.iter().filter(same);
    if namesakes().any(|other| other.package != scenario.package) {
        command.push_str(&format!(" --package {}", command_word(&scenario.package)?));
    }
    if namesakes().any(|other| other.target != scenario.target) {
        command.push_str(&format!(" --test {}", command_word(&scenario.target)?));
    }
    Some(command)
}

fn test(view: &View<'_>, scenario: &Scenario) -> Option<String> {
    let profile = scenario.report().map_or("", cargo_profile);
    let mut command = format!("cargo test{profile}");
    let others = &view.joined.scenarios;
    if others.iter().any(|other| other.package != scenario.package) {
        command.push_str(&format!(" --package {}", command_word(&scenario.package)?));
    }
    Some(format!(
        "{command} --test {} -- {} --exact",
        cargo_target(command_word(&scenario.target)?),
        command_word(&scenario.name)?
    ))
}
