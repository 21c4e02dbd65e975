//! What was found, with its stacks; and its sums for the table.

use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{
    bytes, count, give_or_take, objects, plural, signed_bytes, signed_objects, span,
};
use plimsoll_core::report::{Finding, Report, Standing, Subject};
use plimsoll_core::{FoldedStack, Frame, Rate};

use super::escape::text;
use super::plot::share;

/// Shown in full; the others fold behind a line that counts them.
const MOST_FINDINGS: usize = 3;
/// Twelve reach the caller's code; the others fold likewise.
const MOST_FRAMES: usize = 12;

/// What all findings that the verdict is about come to.
#[derive(Debug, Default)]
pub(super) struct Sums {
    rate: Rate,
    allowed: Rate,
    threads: f64,
    descriptors: f64,
    findings: usize,
    measured: bool,
    /// Of the rate, where it is an estimate.
    error: Option<Rate>,
}

pub(super) fn sums(report: &Report) -> Sums {
    let mut sums = Sums {
        measured: !report.rungs.is_empty(),
        error: report.error_of_total(&telling(report)),
        ..Sums::default()
    };
    for finding in telling(report) {
        sums.findings += 1;
        match finding.subject {
            Subject::Stack(_) | Subject::Site { .. } => {
                sums.rate = sums.rate + finding.rate;
                sums.allowed = sums.allowed + finding.allowed;
            }
            Subject::Threads => sums.threads += finding.rate.objects,
            Subject::Descriptors => sums.descriptors += finding.rate.objects,
        }
    }
    sums
}

/// The findings that need a person most, each stack once: not where the sum of
/// its allocation site has it already.
pub(super) fn telling(report: &Report) -> Vec<&Finding> {
    let worst = report.findings.iter().map(|finding| finding.verdict).max();
    let worst: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|finding| Some(finding.verdict) == worst && !finding.is_unused())
        .collect();
    let sites: Vec<&FoldedStack> = worst
        .iter()
        .filter_map(|finding| match &finding.subject {
            Subject::Site { frames, .. } => Some(frames),
            _ => None,
        })
        .collect();
    let counted = |finding: &&Finding| match &finding.subject {
        Subject::Stack(stack) => !sites.iter().any(|site| stack.0.ends_with(&site.0)),
        _ => true,
    };
    worst.iter().copied().filter(counted).collect()
}

impl Sums {
    /// What the table sorts by: bytes, and a thread or a file for as much as one
    /// object of 8 bytes.
    pub(super) fn weight(&self) -> f64 {
        let weight = self.rate.bytes + 8.0 * (self.threads + self.descriptors);
        if weight.is_finite() { weight } else { 0.0 }
    }

    pub(super) fn rate(&self) -> String {
        let mut parts = Vec::new();
        if self.rate != Rate::default() {
            parts.push(format!(
                "<b>{}</b>{} <span class=\"also\">{}{} objects</span>",
                signed_bytes(self.rate.bytes),
                give_or_take(self.error.map(|error| error.bytes), bytes),
                signed_objects(self.rate.objects),
                give_or_take(self.error.map(|error| error.objects), objects),
            ));
        }
        for (rate, what) in [(self.threads, "threads"), (self.descriptors, "descriptors")] {
            if rate != 0.0 {
                parts.push(format!("<b>{}</b> {what}", signed_objects(rate)));
            }
        }
        match (parts.is_empty(), self.measured) {
            (false, _) => parts.join("<br>"),
            (true, true) => "<span class=\"quiet\">0 B</span>".to_owned(),
            (true, false) => "<span class=\"quiet\">unknown</span>".to_owned(),
        }
    }

    pub(super) fn allowed(&self) -> String {
        match self.findings {
            _ if !self.measured => "<span class=\"quiet\">unknown</span>".to_owned(),
            0 => "<span class=\"quiet\">0 B</span>".to_owned(),
            _ => bytes(self.allowed.bytes),
        }
    }
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
        growth(finding, report.error_of(finding)),
        super::badge(Some(finding.verdict)),
        allowance(finding),
        standing(finding.standing),
    ));
    if let Subject::Site { stacks, .. } = finding.subject {
        page.push_str(&format!(
            "<div><dt>Where</dt><dd>over {} of one allocation site</dd></div>",
            plural(stacks as u64, "stack", "stacks")
        ));
    }
    if let (Subject::Stack(new), Some(old)) = (&finding.subject, &finding.moved_from) {
        let caller = |stack: &FoldedStack, from: &FoldedStack| {
            let name = stack.caller_apart_from(from);
            name.map_or("no caller".to_owned(), |name| {
                format!("<code>{}</code>", text(name))
            })
        };
        page.push_str(&format!(
            "<div><dt>Moved</dt><dd>from {} to {}</dd></div>",
            caller(old, new),
            caller(new, old),
        ));
    }
    if let Some(reason) = &finding.reason {
        page.push_str(&format!(
            "<div><dt>Agreed, because</dt><dd>{}</dd></div>",
            text(reason)
        ));
    }
    page.push_str("</dl>\n");
    let named;
    let shown: &[Frame] = if finding.frames.is_empty() {
        named = names(&finding.subject);
        &named
    } else {
        &finding.frames
    };
    frames(page, shown);
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
        let place = match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!("{}:{line}", text(file)),
            (Some(file), None) => text(file),
            (None, _) => "no source line".to_owned(),
        };
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

/// The names of a stack that nobody looked up the lines of, leaf first.
fn names(subject: &Subject) -> Vec<Frame> {
    let (Subject::Stack(stack) | Subject::Site { frames: stack, .. }) = subject else {
        return Vec::new();
    };
    let names = stack.frames().iter().rev();
    names
        .map(|name| Frame {
            function: name.clone(),
            file: None,
            line: None,
        })
        .collect()
}

/// `+96 B ± 0.5 B, +1.00 objects per iteration, linear`
fn growth(finding: &Finding, error: Option<Rate>) -> String {
    if finding.is_unused() {
        return "no longer grows".to_owned();
    }
    let rate = finding.rate;
    let what = match finding.subject {
        Subject::Stack(_) | Subject::Site { .. } => "objects",
        Subject::Threads => "threads",
        Subject::Descriptors => "file descriptors",
    };
    let counted = format!(
        "{}{} {what} per iteration, {}",
        signed_objects(rate.objects),
        give_or_take(error.map(|error| error.objects), objects),
        finding.law
    );
    match finding.subject {
        Subject::Stack(_) | Subject::Site { .. } => format!(
            "{}{}, {counted}",
            signed_bytes(rate.bytes),
            give_or_take(error.map(|error| error.bytes), bytes)
        ),
        Subject::Threads | Subject::Descriptors => counted,
    }
}

fn allowance(finding: &Finding) -> String {
    let Rate {
        objects: count,
        bytes: size,
    } = finding.allowed;
    match finding.subject {
        Subject::Threads | Subject::Descriptors if count == 0.0 => "nothing".to_owned(),
        Subject::Threads | Subject::Descriptors => format!("{} per iteration", objects(count)),
        _ if count == 0.0 => bytes(size),
        _ => format!("{}, {} objects per iteration", bytes(size), objects(count)),
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::New => "new: the baseline has nothing of it",
        Standing::Allowed => "allowed: within what the baseline has for it",
        Standing::Exceeded => "exceeded: past what the baseline has for it",
        Standing::Moved => "moved: the baseline has it under another caller",
        Standing::Expired => "expired: the baseline allowed it until a day that has passed",
        Standing::Stale => "stale: the baseline allows it, and it no longer grows",
    }
}

/// One verdict, in words.
pub(super) fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Within => "within: nothing grows past what was agreed to",
        Verdict::Improved => "improved: what was agreed to is no longer needed",
        Verdict::Inconclusive => "inconclusive: its growth cannot be told from its fluctuation",
        Verdict::Regressed => "regressed: it grows past what was agreed to",
        Verdict::Failed => "failed: the workload itself failed",
        Verdict::Broken => "broken: the measurement cannot be trusted",
    }
}
