//! Parsers for values that several commands take.

use std::time::Duration;

use plimsoll_core::layout::valid_scenario_name;

/// Parses a time such as `30s`, `2m` or `500ms`, at most a day. A number without a unit is
/// seconds.
///
/// # Errors
/// A message that says what was expected.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_alphabetic()).len());
    let seconds = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number
        .trim()
        .parse::<f64>()
        .map_or(f64::NAN, |n| n * seconds);
    // GitHub gives a job less than a day.
    match (0.0..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("expected a time such as `30s`, `2m` or `500ms`, at most a day".to_owned()),
    }
}

/// Parses the name of a scenario.
///
/// # Errors
/// A message that says what was expected.
pub fn scenario(name: &str) -> Result<String, String> {
    if valid_scenario_name(name) {
        return Ok(name.to_owned());
    }
    Err(
        "no scenario can have that name: expected 1 to 100 of `A-Z a-z 0-9 _ - . :`, \
         neither a dot nor a dash first"
            .to_owned(),
    )
}
