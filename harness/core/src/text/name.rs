//! The names that a scenario can have.

/// The longest name of a scenario, in bytes.
pub const MAX_SCENARIO_NAME: usize = 100;

/// Tells whether a scenario can have a name.
///
/// A name has ASCII letters and digits, `_`, `-`, `.` and `:` (for `http::parse`), at most
/// [`MAX_SCENARIO_NAME`] of them. It does not begin with a dot, which would hide its files,
/// nor with a dash, which a command line takes for an option.
pub fn valid_scenario_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    (1..=MAX_SCENARIO_NAME).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_names() {
        let (long, too_long) = ("x".repeat(100), "x".repeat(101));
        for name in [
            "a",
            "lru_churn",
            "http::parse",
            "v1.2-beta",
            "_x",
            ":",
            &long,
        ] {
            assert!(valid_scenario_name(name), "{name}");
        }
        let wrong = "|.|..|.hidden|-flag|a/b|a b|ä|a+b|a\n|";
        for name in wrong.split('|').chain([too_long.as_str()]) {
            assert!(!valid_scenario_name(name), "{name}");
        }
    }
}
