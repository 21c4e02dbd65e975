//! The commands that outputs tell people to run. A name that no scenario or package can have is
//! in no command, because people paste commands into a shell.

use std::collections::BTreeMap;

use crate::text::escape::command_word;

use crate::Lacks;
use crate::report::{Report, Runner, Standing};
use crate::verdict::Verdict;

/// What to do, and the command for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// A fragment without a colon: `fix it, or accept it`.
    pub to: &'static str,
    /// The whole command.
    pub command: String,
}

/// Returns the command that measures a scenario again, alone, built with cargo's `profile` and
/// the variables in `built_with`. If the program lacks something, the command builds it with that.
pub fn measure_again(
    package: &str,
    target: &str,
    scenario: &str,
    profile: &str,
    built_with: &[String],
    lacks: Option<Lacks>,
) -> Option<String> {
    let option = match profile {
        "debug" => String::new(),
        "release" => " --release".to_owned(),
        other => format!(" --profile {}", command_word(other)?),
    };
    let profile = if profile == "debug" { "dev" } else { profile };
    let profile = profile.to_ascii_uppercase().replace('-', "_");
    let set: &[&str] = match lacks {
        None => &[],
        Some(Lacks::SplitFiles) => &["SPLIT_DEBUGINFO=off"],
        Some(Lacks::DebugInfo) => &["DEBUG=line-tables-only"],
        Some(Lacks::Stripped) => &["DEBUG=line-tables-only", "STRIP=none"],
    };
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in built_with.iter().filter_map(|set| set.split_once('=')) {
        if let (Some(name), Some(value)) = (command_word(name), command_word(value)) {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
    for (name, value) in set.iter().filter_map(|set| set.split_once('=')) {
        variables.insert(format!("CARGO_PROFILE_{profile}_{name}"), value.to_owned());
    }
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| format!("{name}={value} "));
    Some(format!(
        "{}cargo test{option} -p {} --test {} -- --exact {}",
        variables.collect::<String>(),
        command_word(package)?,
        target_pattern(command_word(target)?),
        command_word(scenario)?
    ))
}

/// Returns the command that measures a benchmark again, alone.
fn measure_benchmark_again(package: &str, target: &str, scenario: &str) -> Option<String> {
    Some(format!(
        "cargo plimsoll bench -p {} --bench {} --exact {}",
        command_word(package)?,
        command_word(target)?,
        command_word(scenario)?
    ))
}

/// Returns a pattern for `cargo test --test` that selects a target by the compiler's name,
/// which is the name that a run knows. That name has `_` where the target's own name may have
/// `-`, so each `_` becomes the wildcard `?`.
fn target_pattern(target: &str) -> String {
    match target.contains('_') {
        true => format!("'{}'", target.replace('_', "?")),
        false => target.to_owned(),
    }
}

impl Report {
    /// Returns the command that measures this scenario again, alone. `None` for a server, or for a
    /// program that was given by its path: only whoever started that knows what it was.
    pub fn again(&self) -> Option<String> {
        self.per.is_iteration().then_some(())?;
        let measured = self.measured.as_ref();
        let profile = measured.map_or("debug", |measured| &measured.profile);
        let lacks = self
            .findings
            .iter()
            .filter_map(|finding| finding.lacks)
            .max();
        let run = &self.run;
        let (package, target, with) = (&run.package, &run.target, &run.built_with);
        let name = &self.scenario;
        match run.runner {
            Runner::Test => measure_again(package, target, name, profile, with, lacks),
            Runner::Bench => measure_benchmark_again(package, target, name),
            Runner::Other => None,
        }
    }

    /// Returns the command that accepts growth, or removes allowances that nothing uses.
    /// `None` if there is nothing to accept. `options` are added behind the scenario's name.
    pub fn accept(&self, options: &str) -> Option<Step> {
        let name = command_word(&self.scenario)?;
        let reason = " --reason \"…\"";
        let past = self.past();
        let (to, more) = match self.verdict {
            Verdict::Improved => ("to remove what is no longer needed", String::new()),
            Verdict::Regressed if past.iter().all(|finding| finding.is_unused()) => {
                ("to remove what has expired", String::new())
            }
            // Whoever accepts it again must give a new date.
            Verdict::Regressed if self.has_lapsed() => (
                "fix it, or accept it again",
                format!(" --expires YYYY-MM-DD{reason}"),
            ),
            Verdict::Regressed => ("fix it, or accept it", reason.to_owned()),
            _ => return None,
        };
        let command = format!("cargo plimsoll accept {name}{options}{more}");
        Some(Step { to, command })
    }

    /// Returns whether something grows under an allowance that has expired.
    fn has_lapsed(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.standing == Standing::Expired && !finding.is_unused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_built_again_as_it_was() {
        let command = |profile, built_with: &[&str], lacks| {
            let built_with: Vec<String> = built_with.iter().map(|one| (*one).to_owned()).collect();
            measure_again("a", "b", "c", profile, &built_with, lacks).unwrap()
        };
        let test = |profile: &str| format!("cargo test{profile} -p a --test b -- --exact c");
        assert_eq!(command("debug", &[], None), test(""));
        let set = [
            "CARGO_PROFILE_RELEASE_DEBUG=1",
            "CARGO_PROFILE_RELEASE_LTO=fat",
        ];
        let release = test(" --release");
        assert_eq!(
            command("release", &set, None),
            format!("{} {} {release}", set[0], set[1])
        );
        assert_eq!(
            command("release", &set, Some(Lacks::SplitFiles)),
            format!(
                "{} {} CARGO_PROFILE_RELEASE_SPLIT_DEBUGINFO=off {release}",
                set[0], set[1]
            )
        );
        assert_eq!(
            command(
                "release",
                &["CARGO_PROFILE_RELEASE_DEBUG=0"],
                Some(Lacks::DebugInfo)
            ),
            format!("CARGO_PROFILE_RELEASE_DEBUG=line-tables-only {release}")
        );
        // What a shell would not take as one word is left out.
        assert_eq!(
            command("release", &["CARGO_PROFILE_RELEASE_DEBUG=$(x)", "x"], None),
            release
        );
    }
}
