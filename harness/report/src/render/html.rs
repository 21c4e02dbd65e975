//! One page for the browser, with everything in it: no other file, no network.
//!
//! ```text
//! Joined ──► words, table, stacks, plots    markup, readable without JavaScript
//!        └─► stacks of each flame graph     JSON in the page, drawn by flame.js
//! ```
//!
//! The script turns what is there into something to search, sort, fold and zoom;
//! it makes text and no markup. The policy in the page's head lets that one
//! script and that one style work, by their digests, and nothing else.

mod detail;
mod escape;
mod findings;
mod flame;
mod plot;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::{bytes, plural};
use plimsoll_core::report::view::Sum;
use sha2::{Digest, Sha256};

use super::markdown;
use crate::joined::{Joined, NO_RESULT, Outcome, Scenario, Source, need, word};
use escape::text;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = concat!(
    include_str!("html/page.js"),
    include_str!("html/flame.js"),
    include_str!("html/graph.js"),
);

/// The whole page.
pub fn render(joined: &Joined) -> String {
    let mut page = String::new();
    head(&mut page, joined);
    page.push_str(
        "<body>\n<a class=\"skip\" href=\"#~scenarios\">Skip to the scenarios</a>\n\
         <header class=\"top\">\n",
    );
    headline(&mut page, joined);
    source(&mut page, joined);
    page.push_str("</header>\n<main id=\"~scenarios\" tabindex=\"-1\">\n<h2>Scenarios</h2>\n");
    tools(&mut page, joined);
    table(&mut page, joined);
    page.push_str("</main>\n");
    page.push_str(&format!(
        "<footer>plimsoll {}. Rates are per iteration of a scenario's workload. This page loads \
         nothing from anywhere.</footer>\n</body>\n</html>\n",
        text(env!("CARGO_PKG_VERSION")),
    ));
    page
}

fn head(page: &mut String, joined: &Joined) {
    // The default forbids everything that no line here allows: images, fonts, requests,
    // frames, forms, another base. Trusted types forbid the script itself to
    // make markup out of text.
    page.push_str(&format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src {}; style-src {}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}: leak report of {}</title>\n<style>{STYLE}</style>\n<script>{SCRIPT}</script>\n\
         </head>\n",
        by_digest(SCRIPT),
        by_digest(STYLE),
        word(joined.verdict()),
        scenarios(joined.scenarios.len()),
    ));
}

/// What the content security policy calls our own style or script.
fn by_digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Every verdict that occurs, the one that needs a person most first.
fn counts(joined: &Joined) -> Vec<(Option<Verdict>, usize)> {
    let mut counts = joined.counts();
    counts.sort_by_key(|(verdict, _)| Reverse(need(*verdict)));
    counts
}

fn scenarios(count: usize) -> String {
    plural(count as u64, "scenario", "scenarios")
}

fn headline(page: &mut String, joined: &Joined) {
    let all = joined.scenarios.len();
    let these = |count: usize, one: &str, many: &str| {
        let verb = if count == 1 { one } else { many };
        match all {
            1 => format!("The scenario {one}"),
            _ => format!("{count} of {} {verb}", scenarios(all)),
        }
    };
    let verdict = joined.verdict();
    let count = joined.count(verdict);
    let words = match verdict {
        None if all == 0 => "There are no scenarios".to_owned(),
        None => these(count, "has no result", "have no result"),
        Some(Verdict::Within) => "Nothing grows past what was agreed to".to_owned(),
        Some(Verdict::Improved) => these(
            count,
            "has an allowance that it no longer needs",
            "have allowances that they no longer need",
        ),
        Some(Verdict::Inconclusive) => these(
            count,
            "cannot be told from its own fluctuation",
            "cannot be told from their own fluctuation",
        ),
        Some(Verdict::Regressed) => these(count, "keeps growing", "keep growing"),
        Some(Verdict::Failed) => these(count, "failed", "failed"),
        Some(Verdict::Broken) => these(
            count,
            "has a measurement that cannot be trusted",
            "have measurements that cannot be trusted",
        ),
    };
    let counts: Vec<String> = counts(joined)
        .into_iter()
        .map(|(verdict, count)| {
            let class = class(verdict);
            let word = word(verdict);
            format!("<li class=\"{class}\"><b>{count}</b> {word}</li>")
        })
        .collect();
    page.push_str(&format!(
        "<p class=\"kind\">Leak report</p>\n\
         <h1 class=\"{}\">{} <span class=\"what\">{words}</span></h1>\n\
         <ul class=\"counts\" aria-label=\"Scenarios by verdict\">{}</ul>\n",
        class(verdict),
        badge(verdict),
        counts.join(""),
    ));
}

fn source(page: &mut String, joined: &Joined) {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let code = |value: &str| format!("<code>{}</code>", text(value));
    if let Some(source) = &joined.source {
        let Source {
            repository,
            event,
            run,
            attempt,
            pull_request,
            head,
            base,
            prefix,
        } = source;
        rows.push(("Repository", code(repository)));
        if let Some(number) = pull_request {
            rows.push(("Pull request", format!("#{number}")));
        }
        rows.push(("Head", code(head)));
        if let Some(base) = base {
            rows.push(("Base", code(base)));
        }
        let event = text(event);
        rows.push((
            "Workflow run",
            format!("{run}, attempt {attempt}, on {event}"),
        ));
        if !prefix.is_empty() {
            rows.push(("Folder", code(prefix)));
        }
    } else {
        let reports = joined.scenarios.iter().filter_map(Scenario::report);
        let commits: BTreeSet<&str> = reports
            .filter_map(|report| report.run.commit.as_deref())
            .collect();
        if let Some(codes) = list(commits.into_iter()) {
            rows.push(("Commit", codes));
        }
    }
    if let Some(codes) = list(joined.runs.iter().map(String::as_str)) {
        let one = joined.runs.len() == 1;
        rows.push((if one { "Run" } else { "Runs" }, codes));
    }
    let platforms = joined.scenarios.iter().map(|of| of.platform.as_deref());
    let platforms: BTreeSet<&str> = platforms.flatten().collect();
    if let Some(codes) = list(platforms.into_iter()) {
        rows.push(("Measured on", codes));
    }
    page.push_str("<dl class=\"facts source\">\n");
    for (name, value) in rows {
        page.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    page.push_str("</dl>\n");
}

/// A few, and how many more there are.
fn list<'a>(all: impl Iterator<Item = &'a str>) -> Option<String> {
    const MOST: usize = 5;
    let all: Vec<String> = all
        .map(|one| format!("<code>{}</code>", text(one)))
        .collect();
    let more = all.len().saturating_sub(MOST);
    let mut shown = all.iter().take(MOST).cloned().collect::<Vec<_>>();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// What the script makes work; without it, there is nothing to see.
fn tools(page: &mut String, joined: &Joined) {
    let mut filters = String::new();
    for (verdict, count) in counts(joined) {
        filters.push_str(&format!(
            "<button type=\"button\" class=\"filter {}\" aria-pressed=\"false\" \
             data-verdict=\"{}\">{} <span class=\"n\">{count}</span></button>",
            class(verdict),
            need(verdict),
            word(verdict),
        ));
    }
    page.push_str(&format!(
        "<div class=\"tools\" role=\"search\" aria-label=\"Scenarios\">\n\
         <label class=\"search\"><span>Search</span> <input type=\"search\" id=\"~search\" \
         placeholder=\"scenario, package, function\" autocomplete=\"off\" spellcheck=\"false\" \
         aria-keyshortcuts=\"/\"> <kbd>/</kbd></label>\n\
         <div class=\"filters\" role=\"group\" aria-label=\"Only those that are\">{filters}</div>\n\
         <p class=\"shown\" id=\"~shown\" role=\"status\"></p>\n\
         <button type=\"button\" class=\"theme\" id=\"~theme\">Theme: system</button>\n</div>\n"
    ));
}

fn table(page: &mut String, joined: &Joined) {
    let titles = joined.titles();
    page.push_str(
        "<table class=\"scenarios\" role=\"table\">\n<caption class=\"quiet\">Every scenario of the run, the one \
         that needs a person most first. Each has its details below its row.</caption>\n\
         <thead role=\"rowgroup\"><tr role=\"row\">\
         <th scope=\"col\" role=\"columnheader\" class=\"c-verdict\" data-sort=\"verdict\" aria-sort=\"descending\">Verdict</th>\
         <th scope=\"col\" role=\"columnheader\" class=\"c-name\" data-sort=\"name\">Scenario</th>\
         <th scope=\"col\" role=\"columnheader\" class=\"c-rate\" data-sort=\"rate\">Grows by</th>\
         <th scope=\"col\" role=\"columnheader\" class=\"c-allowed\">Allowed</th>\
         <th scope=\"col\" role=\"columnheader\" class=\"c-live\" data-sort=\"live\">Live heap</th>\
         <th scope=\"col\" role=\"columnheader\" class=\"c-trend\">Trend</th>\
         </tr></thead>\n",
    );
    let mut slugs = BTreeSet::new();
    for at in markdown::worst_first(joined) {
        let slug = unique(&mut slugs, escape::slug(&titles[at]));
        row(page, &joined.scenarios[at], &titles[at], &slug);
    }
    page.push_str(
        "</table>\n<p class=\"none\" id=\"~none\" hidden>No scenario is like that.</p>\n",
    );
}

/// The same address twice would lead to the first alone.
fn unique(taken: &mut BTreeSet<String>, slug: String) -> String {
    let again = (2_usize..).map(|n| format!("{slug}-{n}"));
    let mut free = std::iter::once(slug.clone()).chain(again);
    // Of more names than are taken, one is free.
    let found = free.find(|slug| !taken.contains(slug)).unwrap_or(slug);
    taken.insert(found.clone());
    found
}

fn row(page: &mut String, scenario: &Scenario, title: &str, slug: &str) {
    let verdict = scenario.verdict();
    let report = scenario.report();
    let unknown = || "<span class=\"quiet\">unknown</span>".to_owned();
    let (grows, allowed) = report.map_or_else(|| (unknown(), unknown()), findings::sums);
    let weight = report.map_or(0.0, |report| Sum::of(report, &report.telling()).weight());
    let rungs = scenario.report().map_or(&[][..], |report| &report.rungs);
    let (live, last) = match (rungs.first(), rungs.last()) {
        (Some(first), Some(last)) => (
            format!(
                "{} → {}",
                bytes(plot::float(first.live.bytes)),
                bytes(plot::float(last.live.bytes))
            ),
            last.live.bytes,
        ),
        _ => ("<span class=\"quiet\">not measured</span>".to_owned(), 0),
    };
    let place = [&scenario.package, &scenario.target];
    let place = place.map(|name| text(name)).join(" / ");
    page.push_str(&format!(
        "<tbody role=\"rowgroup\" class=\"scenario {}\" id=\"{slug}\" data-verdict=\"{}\" data-rate=\"{}\" \
         data-live=\"{last}\">\n<tr class=\"row\" role=\"row\"><td role=\"cell\" class=\"c-verdict\">{}</td>\
         <th scope=\"row\" role=\"rowheader\" class=\"c-name\"><a class=\"name\" href=\"#{slug}\">{}</a>\
         <span class=\"place\">{place}</span></th>\
         <td role=\"cell\" class=\"c-rate\">{}</td><td role=\"cell\" class=\"c-allowed\">{}</td>\
         <td role=\"cell\" class=\"c-live\">{live}</td><td role=\"cell\" class=\"c-trend\">{}</td></tr>\n\
         <tr class=\"detail\" role=\"row\" id=\"{slug}~detail\"><td role=\"cell\" colspan=\"6\">\n",
        class(verdict),
        need(verdict),
        weight,
        badge(verdict),
        text(title),
        grows,
        allowed,
        plot::spark(rungs),
    ));
    match &scenario.outcome {
        Outcome::Report(report) => detail::write(page, report, slug),
        Outcome::NoResult(why) => page.push_str(&format!(
            "<p class=\"say\">{}: {}. What has no result did not pass.</p>\n",
            capital(NO_RESULT),
            text(why)
        )),
    }
    page.push_str("</td></tr>\n</tbody>\n");
}

fn class(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Within) => "v-within",
        Some(Verdict::Improved) => "v-improved",
        None => "v-none",
        Some(Verdict::Inconclusive) => "v-inconclusive",
        Some(Verdict::Regressed) => "v-regressed",
        Some(Verdict::Failed) => "v-failed",
        Some(Verdict::Broken) => "v-broken",
    }
}

fn badge(verdict: Option<Verdict>) -> String {
    format!(
        "<span class=\"badge {}\">{}</span>",
        class(verdict),
        word(verdict)
    )
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
