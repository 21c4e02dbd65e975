//! The table for people, within 80 columns.
//!
//! ```text
//!       case                             variant  expected  verdict         time
//! ok    bytes-owned-to-vec               leaky    regressed regressed     10.2 s
//!         +304 B  +1.00 objects  bytes::Bytes::from_owner
//! WRONG bytes-owned-to-vec               fixed    within    inconclusive  10.1 s
//! ```

use plimsoll_core::report::text::{self, Style};
use plimsoll_core::report::units::{plural, signed_bytes, signed_objects};
use plimsoll_core::text::escape::{cut_middle, cut_start};

use super::outcome::{Blamed, Outcome, blamed};

const WIDTH: usize = 80;
/// The most lines of a front's output that are shown if there is no report.
const MAX_OUTPUT_LINES: usize = 20;

pub(super) const HEAD: &str =
    "      case                             variant  expected  verdict         time\n";

/// Returns the row of one variant, with what it blames on the next line.
pub(super) fn row(outcome: &Outcome) -> String {
    let mark = outcome.wrong().map_or("ok", |_| "WRONG");
    let run = outcome.run.as_ref().ok();
    let mut row = format!(
        "{mark:<5} {:<32} {:<8} {:<9} {:<12} {:>5.1} s\n",
        cut_start(&outcome.job.case.id, 32),
        outcome.job.variant.as_str(),
        outcome.job.expected.verdict().as_str(),
        outcome.verdict(),
        run.map_or(outcome.build, |run| run.took).as_secs_f64(),
    );
    let report = run.and_then(|run| run.report.as_ref().ok());
    if let Some(blamed) = report.and_then(blamed) {
        row += &blame(&blamed);
    }
    if let Some(note) = &outcome.note {
        row += &format!("        note: {}\n", cut_middle(note, WIDTH - 14));
    }
    row
}

fn blame(blamed: &Blamed) -> String {
    let Blamed { what, rate, others } = blamed;
    let bytes = match rate.bytes {
        0.0 => String::new(),
        bytes => format!("{}  ", signed_bytes(bytes)),
    };
    let rate = format!("        {bytes}{} objects  ", signed_objects(rate.objects));
    let others = match others {
        0 => String::new(),
        n => format!(" (+ {n})"),
    };
    let room = WIDTH.saturating_sub(rate.chars().count() + others.chars().count());
    format!("{rate}{}{others}\n", cut_start(what, room))
}

/// Returns why each wrong row is wrong, with the output of its test.
pub(super) fn details(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        let Some(why) = outcome.wrong() else {
            continue;
        };
        let (id, variant) = (&outcome.job.case.id, outcome.job.variant.as_str());
        out += &format!("\nWRONG {id} {variant}: {why}\n");
        let run = match &outcome.run {
            Ok(run) => run,
            Err(said) => {
                out += &indented(said);
                continue;
            }
        };
        out += &match &run.report {
            Ok(report) => indented(&text::render(report, &Style::plain())),
            Err(_) => {
                let said = std::fs::read(&run.output).unwrap_or_default();
                indented(&last_lines(&String::from_utf8_lossy(&said)))
            }
        };
        out += &format!("  output: {}\n", run.output.display());
    }
    out
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(MAX_OUTPUT_LINES)..].join("\n")
}

/// Returns the last line: how many variants there are, and how many are wrong.
pub(super) fn summary(outcomes: &[Outcome], seconds: f64) -> String {
    let wrong = outcomes.iter().filter_map(Outcome::wrong);
    let right = match wrong.count() {
        0 => "all right".to_owned(),
        wrong => format!("{wrong} WRONG"),
    };
    let variants = plural(outcomes.len() as u64, "variant", "variants");
    format!("\n{variants}, {right} (release, {seconds:.0} s)\n")
}

fn indented(text: &str) -> String {
    let indented = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("  {line}\n"),
    };
    text.lines().map(indented).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plimsoll_core::judge::Verdict;

    use super::super::manifest::Expected;
    use super::super::outcome::tests::{outcome, ran};
    use super::*;

    fn zoo() -> [Outcome; 4] {
        let stacks: &[&[&str]] = &[&["bytes::Bytes::from_owner", "a"], &["b"]];
        let leaky = ran(Verdict::Regressed, stacks);
        let long = "tokio::runtime::io::registration_set::RegistrationSet::allocate::inner";
        let unsure = ran(Verdict::Inconclusive, &[&[long]]);
        let mut noted = outcome(Expected::Flag, "c", Ok(unsure));
        noted.note = Some("its lock file was left out: ours does not go with it".to_owned());
        [
            outcome(Expected::Flag, "from_owner", Ok(leaky)),
            outcome(Expected::Pass, "c", Ok(ran(Verdict::Within, &[]))),
            outcome(Expected::Pass, "c", Err("error: no such crate".to_owned())),
            noted,
        ]
    }

    #[test]
    fn rows_and_summary() {
        let zoo = zoo();
        let rows: String = zoo.iter().map(row).collect();
        let text = format!("{HEAD}{rows}{}", summary(&zoo, 61.4));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_snapshot!(text, @r"
              case                             variant  expected  verdict         time
        ok    bytes-owned-to-vec               leaky    regressed regressed     10.2 s
                +304 B  +1.00 objects  bytes::Bytes::from_owner (+ 1)
        ok    bytes-owned-to-vec               fixed    within    within        10.2 s
        WRONG bytes-owned-to-vec               fixed    within    not built      5.0 s
        WRONG bytes-owned-to-vec               leaky    regressed inconclusive  10.2 s
                +304 B  +1.00 objects  …gistration_set::RegistrationSet::allocate::inner
                note: its lock file was left out: ours does not go with it

        4 variants, 2 WRONG (release, 61 s)
        ");
    }

    #[test]
    fn details_of_what_is_wrong() {
        assert_snapshot!(details(&zoo()[2..3]), @r"

        WRONG bytes-owned-to-vec fixed: it does not build
          error: no such crate
        ");
        let details = details(&zoo());
        assert!(!details.contains("from_owner"), "{details}");
        assert!(details.contains("WRONG bytes-owned-to-vec leaky: expected regressed"));
    }
}
