//! The texts of a case: what its outputs say, for a diff.

use plimsoll_core::report::text::{self, Style};
use plimsoll_core::text::hash::fnv;
use plimsoll_report::joined::Scenario;
use plimsoll_report::render::{html, markdown};

use super::cases::{Case, context};
use super::picture_name;

/// The most lines of one output. What is left out is counted, and named by its hash.
const MOST_LINES: usize = 300;

/// Returns the four outputs of a case.
pub(super) fn of(case: &Case) -> String {
    let context = context(&case.joined, std::iter::empty());
    let comment = markdown::comment(&case.joined, &context);
    let summary = markdown::summary(&case.joined, &context);
    let without_marker = |text: &str| text.replacen("<!-- plimsoll -->\n\n", "", 1);
    let summary = match summary == without_marker(&comment) {
        true => "The same as the comment, without its first line.\n".to_owned(),
        false => summary,
    };
    let reports = case.joined.scenarios.iter().filter_map(Scenario::report);
    let terminal = reports.map(|report| text::render(report, &Style::plain()));
    let terminal = terminal.collect::<Vec<_>>().join("\n");
    let page = visible(&html::render(&case.joined, &context));
    let parts = [
        ("comment", comment),
        ("summary", summary),
        ("terminal, 80 columns", terminal),
        ("page, without its pictures", page),
    ];
    let parts = parts.map(|(name, text)| format!("======== {name} ========\n\n{}", cut(&text)));
    parts.join("\n")
}

fn cut(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let Some(more) = lines.len().checked_sub(MOST_LINES + 1) else {
        return lines.join("\n") + "\n";
    };
    let (shown, rest) = lines.split_at(MOST_LINES);
    let hash = fnv(rest.join("\n").as_bytes());
    format!(
        "{}\n… and {} more lines ({hash:016x})\n",
        shown.join("\n"),
        more + 1
    )
}

/// Returns the text that a reader of a page sees or hears, with every fold open.
fn visible(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((text, tag)) = rest.split_once('<') {
        out += text;
        let Some((tag, after)) = tag.split_once('>') else {
            break;
        };
        rest = after;
        let name = tag.split([' ', '/']).find(|name| !name.is_empty());
        match name.unwrap_or_default() {
            // Neither text nor, like the titles of a plot's dots, worth a line each.
            name @ ("style" | "script" | "title") => {
                let end = format!("</{name}>");
                rest = rest.split_once(&end).map_or("", |(_, rest)| rest);
            }
            // Raw numbers, in a row for each rung.
            "table" if out.ends_with("\n") && tag == "table" => {
                let (table, after) = rest.split_once("</table>").unwrap_or((rest, ""));
                let rows = table.matches("<tr").count() - 1;
                out += &format!("[table of {rows} rows]\n");
                rest = after;
            }
            "svg" => {
                let label = tag
                    .split_once("aria-label=\"")
                    .and_then(|(_, label)| label.split_once('"'));
                if let Some((label, _)) = label {
                    out += &format!("\n[{label}]\n");
                }
            }
            "td" | "th" if tag.starts_with('/') => out += " | ",
            "dt" if tag.starts_with('/') => out += ": ",
            "b" | "a" | "code" | "span" | "i" | "kbd" | "input" | "label" | "td" | "th" | "dt"
            | "dd" | "rect" | "circle" | "line" | "polyline" | "text" => {}
            _ => out.push('\n'),
        }
    }
    out += rest;
    let out = out
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&");
    let lines = out
        .lines()
        .map(|line| line.trim().trim_end_matches(" |").to_owned() + "\n");
    lines.filter(|line| line != "\n").collect()
}

/// Returns the page that shows all pictures.
pub(super) fn gallery(cases: &[Case]) -> String {
    let mut page = "\
# Gallery

What twelve reports look like: as a comment on a pull request, as the summary of a job, and as the
page that `plimsoll report --format html` writes, in light, in dark, and 390 pixels wide. The
workloads are made up. plimsoll judges them as it judges what it measures.

`cargo xtask gallery` makes this page, its pictures (with Debian's `chromium`) and the texts beside
them. A test fails if an output no longer has the text that is here.
"
    .to_owned();
    for case in cases {
        let (name, about) = (case.name, case.about);
        let heading = name.replace('-', " ");
        page += &format!(
            "\n## {}{}\n\n{about} [All of its texts](gallery/{name}.txt).\n",
            heading[..1].to_uppercase(),
            &heading[1..]
        );
        for picture in case.pictures {
            let (file, (_, caption, _)) = (picture_name(case, *picture), picture.about());
            page += &format!("\n![{caption}]({file})\n");
        }
    }
    page
}
