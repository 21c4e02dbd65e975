//! All that a report says of one scenario.

use plimsoll_core::report::units::{bytes, count, plural};
use plimsoll_core::report::view::each_stack_once;
use plimsoll_core::report::{CheckOutcome, Completeness, Failure, Report, Rung};
use plimsoll_text::escape::command_word;

use super::escape::{block, text};
use super::plot::{Plot, Series, Unit, figure, float};
use super::{capital, findings, flame};

pub(super) fn write(page: &mut String, report: &Report, slug: &str) {
    say(page, report);
    if let Some(failure) = &report.failure {
        failed(page, failure);
    }
    checks(page, report, |outcome| outcome == CheckOutcome::Failed);
    findings::write(page, report, slug);
    plots(page, report, slug);
    flame::write(page, report, slug);
    next(page, report, slug);
    how(page, report, slug);
}

fn say(page: &mut String, report: &Report) {
    page.push_str(&format!(
        "<p class=\"say\"><b>{}.</b> {}.</p>\n",
        capital(&text(&report.outcome().plain())),
        capital(findings::meaning(report.verdict)),
    ));
}

fn failed(page: &mut String, failure: &Failure) {
    page.push_str(&format!(
        "<section class=\"failure\"><h3>It failed {}</h3>\n<p>{}</p>\n",
        failure.at(),
        text(&failure.what)
    ));
    match failure.output.trim_end() {
        "" => page.push_str("<p class=\"quiet\">It printed nothing.</p>\n"),
        // Focus lets who has no mouse scroll it.
        output => page.push_str(&format!(
            "<p>The end of what it printed:</p>\n<pre tabindex=\"0\">{}</pre>\n",
            block(output)
        )),
    }
    page.push_str("</section>\n");
}

fn checks(page: &mut String, report: &Report, wanted: fn(CheckOutcome) -> bool) {
    let mut wanted = report
        .checks
        .iter()
        .filter(|check| wanted(check.outcome))
        .peekable();
    if wanted.peek().is_none() {
        return;
    }
    page.push_str("<ul class=\"checks\">\n");
    for check in wanted {
        let (class, outcome) = match check.outcome {
            CheckOutcome::Passed => ("v-within", "passed"),
            CheckOutcome::Unavailable => ("v-inconclusive", "unavailable"),
            CheckOutcome::Failed => ("v-broken", "failed"),
        };
        page.push_str(&format!(
            "<li><span class=\"badge {class}\">{outcome}</span> <b>{}</b> \
             <span class=\"pre\">{}</span></li>\n",
            text(&check.name),
            block(check.detail.trim_end()),
        ));
    }
    page.push_str("</ul>\n");
}

fn plots(page: &mut String, report: &Report, slug: &str) {
    let iterations: Vec<u64> = report.rungs.iter().map(|rung| rung.iterations).collect();
    if iterations.is_empty() {
        return;
    }
    let of = |value: fn(&Rung) -> u64| report.rungs.iter().map(value).collect::<Vec<u64>>();
    page.push_str(&format!(
        "<section class=\"levels\" aria-labelledby=\"{slug}~levels\">\n\
         <h3 id=\"{slug}~levels\">Growth over the iterations</h3>\n<div class=\"plots\">\n"
    ));
    let mut series = vec![Series {
        name: "live heap",
        values: of(|rung| rung.live.bytes),
    }];
    let held = held(report);
    if held.iter().any(|bytes| *bytes > 0) {
        series.push(Series {
            name: "held by what was found",
            values: held,
        });
    }
    let plot = |title, unit, series| Plot {
        title,
        iterations: &iterations,
        compared: report.compared,
        unit,
        series,
    };
    figure(page, &plot("Live heap", Unit::Bytes, series));
    let resources = [
        ("Threads", "threads", of(|rung| rung.threads)),
        (
            "File descriptors",
            "file descriptors",
            of(|rung| rung.descriptors),
        ),
    ];
    for (title, name, values) in resources {
        if values.first() < values.last() {
            let series = vec![Series { name, values }];
            figure(page, &plot(title, Unit::Count, series));
        }
    }
    page.push_str("</div>\n");
    rungs(page, report);
    page.push_str("</section>\n");
}

/// Bytes at every rung of what the verdict is about.
fn held(report: &Report) -> Vec<u64> {
    let mut sum = vec![0_u64; report.rungs.len()];
    for finding in each_stack_once(&report.telling()) {
        for (sum, level) in sum.iter_mut().zip(&finding.levels) {
            *sum = sum.saturating_add(level.bytes);
        }
    }
    sum
}

fn rungs(page: &mut String, report: &Report) {
    page.push_str(&format!(
        "<details class=\"rungs\"><summary>As a table: {}</summary>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Levels at each rung\">\
         <table>\n<thead><tr><th scope=\"col\">Iterations</th><th scope=\"col\">Live heap</th>\
         <th scope=\"col\">Objects</th><th scope=\"col\">Allocated</th><th scope=\"col\">Threads</th>\
         <th scope=\"col\">Descriptors</th><th scope=\"col\">Resident</th></tr></thead>\n<tbody>\n",
        plural(report.rungs.len() as u64, "rung", "rungs")
    ));
    let size = |value| bytes(float(value));
    for rung in &report.rungs {
        let mark = match report.compared {
            Some(of) if of.before == rung.iterations => " <i>before</i>",
            Some(of) if of.after == rung.iterations => " <i>after</i>",
            _ => "",
        };
        page.push_str(&format!(
            "<tr><th scope=\"row\">{}{mark}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>\n",
            count(rung.iterations),
            size(rung.live.bytes),
            count(rung.live.objects),
            rung.allocated.map_or("unknown".to_owned(), size),
            count(rung.threads),
            count(rung.descriptors),
            size(rung.resident),
        ));
    }
    page.push_str("</tbody></table></div></details>\n");
}

/// What to type. Names that no scenario and no package can have are in no
/// command: what is to be pasted into a shell is ours.
fn next(page: &mut String, report: &Report, slug: &str) {
    let Some(name) = command_word(&report.scenario) else {
        return;
    };
    let mut commands = Vec::new();
    let run = &report.run;
    if let (Some(package), Some(target)) = (command_word(&run.package), command_word(&run.target)) {
        let target = crate::render::cargo_target(target);
        let release = crate::render::cargo_profile(report);
        commands.push((
            "to measure it again, alone",
            format!("cargo test{release} -p {package} --test {target} -- --exact {name}"),
        ));
    }
    if let Some((why, command)) = report.accept() {
        commands.push((why, command));
    }
    if commands.is_empty() {
        return;
    }
    page.push_str(&format!(
        "<section class=\"next\" aria-labelledby=\"{slug}~next\">\n\
         <h3 id=\"{slug}~next\">What to do</h3>\n"
    ));
    for (what, command) in commands {
        page.push_str(&format!(
            "<p>{}:</p>\n<pre class=\"command\" tabindex=\"0\">{}</pre>\n",
            capital(what),
            block(&command)
        ));
    }
    page.push_str("</section>\n");
}

/// What the result rests on.
fn how(page: &mut String, report: &Report, slug: &str) {
    page.push_str(&format!(
        "<section class=\"how\" aria-labelledby=\"{slug}~how\">\n\
         <h3 id=\"{slug}~how\">How it was measured</h3>\n<dl class=\"facts\">\n"
    ));
    let mut fact = |name: &str, value: String| {
        page.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    };
    let coarsened = match report.threshold.coarsened {
        true => ", coarser than asked for: a longer budget may see smaller leaks",
        false => "",
    };
    fact("To be found", report.to_be_found() + coarsened);
    if let Some(seen) = report.seen() {
        fact("Would have been seen", seen);
    }
    fact("The ladder ended because", report.end.why().to_owned());
    if let Some(measured) = &report.measured {
        let interval = match report.sampled_every() {
            Some(every) => format!("sampled every {every}"),
            None => "every allocation".to_owned(),
        };
        fact("Profile", interval);
        fact(
            "Build",
            format!("{}, {}", text(&measured.profile), text(&measured.toolchain)),
        );
        fact("Platform", text(&measured.target));
        fact("jemalloc", text(&measured.jemalloc));
        fact("Unwinder", text(&measured.unwinder));
    }
    fact("Completeness", complete(&report.completeness));
    fact("Run", format!("<code>{}</code>", text(&report.run.id)));
    if let Some(commit) = &report.run.commit {
        fact("Commit", format!("<code>{}</code>", text(commit)));
    }
    fact("plimsoll", text(&report.run.plimsoll));
    let files = [
        ("Files", &report.run.files),
        ("Baseline", &report.run.baseline),
    ];
    for (name, path) in files {
        if !path.is_empty() {
            fact(name, format!("<code>{}</code>", text(path)));
        }
    }
    page.push_str("</dl>\n");
    checks(page, report, |outcome| outcome != CheckOutcome::Failed);
    if !report.notes.is_empty() {
        page.push_str("<h4>Notes</h4>\n<ul class=\"notes\">\n");
        for note in &report.notes {
            page.push_str(&format!("<li>{}</li>\n", text(note)));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</section>\n");
}

fn complete(of: &Completeness) -> String {
    let number = |value: usize| count(value as u64);
    let mut parts = vec![plural(of.stacks as u64, "stack", "stacks")];
    for (value, what) in [
        (of.zero_object_stacks, "without a live object"),
        (of.truncated_stacks, "cut at jemalloc's limit of frames"),
    ] {
        if value > 0 {
            parts.push(format!("{} {what}", number(value)));
        }
    }
    let mut text = parts.join(", ");
    if of.addresses > 0 {
        let mut names = vec![plural(
            of.addresses as u64,
            "address that grew",
            "addresses that grew",
        )];
        for (value, what) in [
            (of.without_debug_info, "named by a symbol table alone"),
            (of.unresolved, "without a name"),
        ] {
            if value > 0 {
                names.push(format!("{} {what}", number(value)));
            }
        }
        text.push_str("; ");
        text.push_str(&names.join(", "));
    }
    text
}
