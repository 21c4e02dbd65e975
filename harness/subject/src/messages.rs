//! Texts about workloads that fail, on one line each.

use std::io::Write;
use std::sync::Mutex;

/// Where the workload panicked; the message comes with the panic itself.
static PANIC_LOCATION: Mutex<Option<String>> = Mutex::new(None);

/// Makes panics note where they happen, and passes them on as `show` does.
pub(crate) fn note_panics(show: fn(&dyn Fn())) {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let (Ok(mut location), Some(found)) = (PANIC_LOCATION.try_lock(), panic.location()) {
            *location = Some(found.to_string());
        }
        show(&|| previous(panic));
    }));
}

/// Returns the line about an error that an iteration returned. What does not fit into a line,
/// such as a backtrace, is printed as it is.
pub(crate) fn returned(error: &str) -> String {
    let line = one_line(error);
    if line != error {
        // An error means that the workload has closed its own stderr.
        let _ = writeln!(std::io::stderr(), "returned an error: {error}");
    }
    format!("returned an error: {line}")
}

/// Returns the message of an error or a panic on one line, without its backtrace. Of an error
/// of `anyhow` or `eyre`, the causes follow.
fn one_line(message: &str) -> String {
    /// A longer message is not prose, so only its first line is.
    const MOST_LINES: usize = 4;
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !begins_backtrace(line)).collect();
    let causes = lines.iter().position(|line| *line == "Caused by:");
    match (causes, lines.as_slice()) {
        (_, []) => String::new(),
        (Some(at), [first, ..]) => {
            let causes = lines[at + 1..].iter().map(|cause| without_number(cause));
            let chain: Vec<&str> = std::iter::once(*first).chain(causes).collect();
            chain.join(": ")
        }
        (None, [first, rest @ ..]) => match rest.len() < MOST_LINES {
            true => lines.join(" "),
            false => (*first).to_owned(),
        },
    }
}

/// Returns whether a line is the heading of a backtrace, as `anyhow`, `eyre` and others write
/// it, or of the place that `eyre` adds.
fn begins_backtrace(line: &str) -> bool {
    let heading = line.trim_matches(['━', ' ', ':']).to_lowercase();
    matches!(
        heading.as_str(),
        "stack backtrace" | "backtrace" | "location"
    )
}

/// Returns a cause without its number in the list: `0: no such file`.
fn without_number(cause: &str) -> &str {
    match cause.split_once(": ") {
        Some((number, cause)) if number.parse::<u32>().is_ok() => cause,
        _ => cause,
    }
}

pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a value that is no text");
    let location = PANIC_LOCATION.lock().ok();
    match location.and_then(|mut location| location.take()) {
        Some(location) => format!("panicked at {location}: {}", one_line(text)),
        None => format!("panicked: {}", one_line(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        for (message, expected) in [
            ("\"no more\"", "\"no more\""),
            ("", ""),
            (
                "channel closed\n\nStack backtrace:\n   0: anyhow::error\n             at src/a.rs:1",
                "channel closed",
            ),
            (
                "no config\n\nCaused by:\n    0: cannot read x\n    1: no such file\n\n\
                 Stack backtrace:\n   0: anyhow::error",
                "no config: cannot read x: no such file",
            ),
            (
                "no config\n\nCaused by:\n    no such file\n\nLocation:\n    src/a.rs:1:2",
                "no config: no such file",
            ),
            (
                "called `Result::unwrap()` on an `Err` value: closed\n\n\
                 ━━━━ BACKTRACE ━━━━\n   0: x",
                "called `Result::unwrap()` on an `Err` value: closed",
            ),
            (
                "assertion `left == right` failed\n  left: 1\n right: 2",
                "assertion `left == right` failed left: 1 right: 2",
            ),
            ("Many {\n a: 1,\n b: 2,\n c: 3,\n}", "Many {"),
        ] {
            assert_eq!(one_line(message), expected, "{message:?}");
        }
    }
}
