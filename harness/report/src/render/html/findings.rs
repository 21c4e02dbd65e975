//! What was found, with its stacks; and its sums for the table.

use plimsoll_core::Frame;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{count, plural, span};
use plimsoll_core::report::view::{Amount, Sum};
use plimsoll_core::report::{Finding, Report};
use plimsoll_text::words::{Word, Words};

use super::escape::text;
use super::plot::share;

/// Shown in full; the others fold behind a line that counts them.
const MOST_FINDINGS: usize = 3;
/// Twelve reach the caller's code; the others fold likewise.
const MOST_FRAMES: usize = 12;

/// What all findings that the verdict is about gain, and what they may, for the table.
pub(super) fn sums(report: &Report) -> (String, String) {
    if report.rungs.is_empty() {
        let unknown = "<span class=\"quiet\">unknown</span>".to_owned();
        return (unknown.clone(), unknown);
    }
    let telling = report.telling();
    let amounts = Sum::of(report, &telling).amounts();
    let none = || "<span class=\"quiet\">0 B</span>".to_owned();
    if amounts.is_empty() {
        return (none(), none());
    }
    let amounts = amounts.iter().enumerate().map(|(place, amount)| {
        let Amount { number, rest } = amount;
        match place {
            0 => format!("<b>{number}</b>{rest}"),
            _ => format!("<span class=\"also\">{number}{rest}</span>"),
        }
    });
    let allowed = Sum::allowed(&telling).short();
    (amounts.collect::<Vec<_>>().join(" "), allowed)
}

pub(super) fn write(page: &mut String, report: &Report, slug: &str) {
    if report.findings.is_empty() {
        return;
    }
    page.push_str(&format!(
        "<section class=\"findings\" aria-labelledby=\"{slug}~found\">\n\
         <h3 id=\"{slug}~found\">What was found</h3>\n<ol>\n"
    ));
    for finding in report.findings.iter().take(MOST_FINDINGS) {
        one(page, report, finding);
    }
    page.push_str("</ol>\n");
    let rest = report.findings.get(MOST_FINDINGS..).unwrap_or_default();
    if !rest.is_empty() {
        page.push_str(&format!(
            "<details class=\"rest\"><summary>{}</summary>\n<ol start=\"{}\">\n",
            plural(rest.len() as u64, "more finding", "more findings"),
            MOST_FINDINGS + 1,
        ));
        for finding in rest {
            one(page, report, finding);
        }
        page.push_str("</ol></details>\n");
    }
    page.push_str("</section>\n");
}

fn one(page: &mut String, report: &Report, finding: &Finding) {
    page.push_str(&format!(
        "<li class=\"finding {}\">\n<p class=\"rate\"><b>{}</b> {}</p>\n\
         <dl class=\"facts\"><div><dt>Allowed</dt><dd>{}</dd></div>\
         <div><dt>Standing</dt><dd>{}</dd></div>",
        super::class(Some(finding.verdict)),
        growth(report, finding),
        super::badge(Some(finding.verdict)),
        finding.allowance(),
        format_args!(
            "{}: {}",
            finding.standing.as_str(),
            finding.standing.meaning()
        ),
    ));
    if let Some(over) = finding.over() {
        page.push_str(&format!("<div><dt>Where</dt><dd>{over}</dd></div>"));
    }
    if let Some(moved) = finding.moved() {
        page.push_str(&format!(
            "<div><dt>Moved</dt><dd>{}</dd></div>",
            words(&moved)
        ));
    }
    if let Some(reason) = &finding.reason {
        page.push_str(&format!(
            "<div><dt>Accepted because</dt><dd>{}</dd></div>",
            text(reason)
        ));
    }
    page.push_str("</dl>\n");
    frames(page, &finding.frames());
    survivors(page, report, finding);
    page.push_str("</li>\n");
}

/// Who stayed, by the octave of birth. Open where objects come and go: there it is what
/// the verdict comes from.
fn survivors(page: &mut String, report: &Report, finding: &Finding) {
    if finding.survivors.is_empty() {
        return;
    }
    let open = if finding.stayed().is_some() {
        " open"
    } else {
        ""
    };
    let about = if report.is_sampled() { "about " } else { "" };
    let end = report.rungs.last().map_or(0, |rung| rung.iterations);
    page.push_str(&format!(
        "<details class=\"rungs stayed\"{open}><summary>Who stayed</summary>\n\
         <p>Objects still alive after {}, by the octave (a doubling of the iterations) in which \
         they were born. A leak keeps the same share of every octave. Where objects come and go, \
         only the last octaves have any left.</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Survivors by octave of \
         birth\"><table>\n<thead><tr><th scope=\"col\">Born in iterations</th>\
         <th scope=\"col\">Allocated</th><th scope=\"col\">Still alive</th>\
         <th scope=\"col\">Share</th></tr></thead>\n<tbody>\n",
        plural(end, "iteration", "iterations"),
    ));
    for octave in &finding.survivors {
        let alive = octave.alive.objects;
        let (allocated, share) = match octave.allocated {
            Some(objects) => (count(objects), share(alive, objects)),
            None => ("unknown".to_owned(), String::new()),
        };
        page.push_str(&format!(
            "<tr><th scope=\"row\">{}</th><td>{allocated}</td><td>{about}{}</td>\
             <td class=\"share\">{share}</td></tr>\n",
            span(octave.from, octave.to),
            count(alive),
        ));
    }
    page.push_str("</tbody>\n</table></div></details>\n");
}

fn frames(page: &mut String, frames: &[Frame]) {
    let item = |page: &mut String, frame: &Frame| {
        let place = frame.place();
        let place = place.map_or("no source line".to_owned(), |place| text(&place));
        page.push_str(&format!(
            "<li><code class=\"fn\">{}</code> <span class=\"at\">{place}</span></li>\n",
            text(&frame.function)
        ));
    };
    if frames.is_empty() {
        return;
    }
    page.push_str("<ol class=\"frames\" aria-label=\"Stack, innermost call first\">\n");
    for frame in frames.iter().take(MOST_FRAMES) {
        item(page, frame);
    }
    page.push_str("</ol>\n");
    let rest = frames.get(MOST_FRAMES..).unwrap_or_default();
    if !rest.is_empty() {
        page.push_str(&format!(
            "<details class=\"rest\"><summary>{}</summary>\n<ol class=\"frames\" start=\"{}\">\n",
            plural(rest.len() as u64, "more frame", "more frames"),
            MOST_FRAMES + 1,
        ));
        for frame in rest {
            item(page, frame);
        }
        page.push_str("</ol></details>\n");
    }
}

/// `+96 B ± 0.5 B, +1.00 objects per iteration, linear`
fn growth(report: &Report, finding: &Finding) -> String {
    if finding.is_unused() {
        return "no longer grows".to_owned();
    }
    let amounts = report.amounts(finding).into_iter();
    let amounts: Vec<String> = amounts.map(|one| one.number + &one.rest).collect();
    format!("{} per iteration, {}", amounts.join(", "), finding.law)
}

/// A sentence, with what it quotes as code.
fn words(words: &Words) -> String {
    words.write(|word| match word {
        Word::Said(said) => text(said),
        Word::Stressed(said) => format!("<b>{}</b>", text(said)),
        Word::Quoted(quoted) => format!("<code>{}</code>", text(quoted)),
    })
}

/// One verdict, in words.
pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Within => "within: nothing grows past its allowance",
        Verdict::Improved => "improved: an allowance is no longer needed",
        Verdict::Inconclusive => "inconclusive: its growth cannot be told from its fluctuation",
        Verdict::Regressed => "regressed: it grows past its allowance",
        Verdict::Failed => "failed: the workload itself failed",
        Verdict::Broken => "broken: the measurement cannot be trusted",
    }
}
