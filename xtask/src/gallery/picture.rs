//! The pictures of the gallery, by a Chromium without a window.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use comrak::{Options, markdown_to_html};
use plimsoll_report::render::picture::{Theme, svg};
use plimsoll_report::render::{html, markdown};
use serde_json::json;

use self::browser::Browser;
use super::cases::{Case, IMAGES, Picture, context};

#[path = "../../../harness/cli/tests/html/browser.rs"]
#[expect(dead_code, reason = "tests press keys, too")]
#[allow(unreachable_pub, reason = "a test has it as its own")]
mod browser;

/// Where a picture is cut.
const MOST_HEIGHT: u32 = 1_600;

const GITHUB: &str = include_str!("github.css");

impl Picture {
    /// Returns the end of its file's name, its caption, and its width in pixels.
    pub(super) fn about(self) -> (&'static str, &'static str, u32) {
        match self {
            Picture::Comment => ("comment", "The comment", 860),
            Picture::CommentDark => ("comment-dark", "The comment, in dark", 860),
            Picture::Summary => ("summary", "The summary of the job", 1_012),
            Picture::Page => ("page", "The page", 1_200),
            Picture::PageDark => ("page-dark", "The page, in dark", 1_200),
            Picture::PageNarrow => ("page-390", "The page, 390 pixels wide", 390),
        }
    }

    fn is_dark(self) -> bool {
        matches!(self, Picture::CommentDark | Picture::PageDark)
    }

    /// Returns the document that a browser shows. It finds images in `folder`.
    fn document(self, case: &Case, folder: &Path) -> anyhow::Result<String> {
        let scenarios = case.joined.scenarios.iter().enumerate();
        let reports = scenarios.filter_map(|(at, scenario)| Some((at, scenario.report()?)));
        let images: BTreeMap<usize, _> = reports
            .filter_map(|(at, report)| {
                Some((at, (svg(report, Theme::Light)?, svg(report, Theme::Dark)?)))
            })
            .collect();
        let context = context(&case.joined, images.keys().copied());
        let (text, head) = match self {
            Picture::Comment | Picture::CommentDark => (
                markdown::comment(&case.joined, &context),
                "<header><b>github-actions</b> <i>bot</i> commented on this pull request</header>",
            ),
            Picture::Summary => (
                markdown::summary(&case.joined, &context),
                "<header><b>measure</b> summary</header>",
            ),
            Picture::Page | Picture::PageDark | Picture::PageNarrow => {
                return Ok(html::render(&case.joined, &context));
            }
        };
        for (at, (light, dark)) in images {
            for (theme, image) in [("light", light), ("dark", dark)] {
                fs::write(folder.join(format!("{at}-{theme}.svg")), image)?;
            }
        }
        let mut options = Options::default();
        options.extension.table = true;
        options.extension.strikethrough = true;
        options.extension.autolink = true;
        options.extension.tasklist = true;
        options.render.r#unsafe = true;
        let body = markdown_to_html(&text, &options).replace(IMAGES, "");
        Ok(format!(
            "<!DOCTYPE html><meta charset=utf-8><meta name=color-scheme content=\"light dark\">\
             <style>{GITHUB}</style><main>{head}<article>{body}</article></main>"
        ))
    }
}

/// Makes these pictures below `docs`. Returns whether there is a browser.
pub(super) fn make(to_do: &[(&Case, Vec<(String, Picture)>)], docs: &Path) -> anyhow::Result<bool> {
    let Some(mut browser) = Browser::start() else {
        return Ok(false);
    };
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.html");
    let mut files = Vec::new();
    for (case, pictures) in to_do {
        for (name, picture) in pictures {
            fs::write(&page, picture.document(case, folder.path())?)?;
            let url = format!("file://{}", page.display());
            let png = shot(&mut browser, *picture, &url);
            let file = docs.join(name);
            fs::write(&file, png?).with_context(|| file.display().to_string())?;
            files.push(file);
        }
    }
    let smaller = Command::new("pngquant")
        .args(["--force", "--ext=.png", "--strip", "--speed=1", "--"])
        .args(&files)
        .status();
    let mut err = io::stderr();
    if !smaller.is_ok_and(|status| status.success()) {
        writeln!(
            err,
            "!!! the pictures are twice as large as they need be: there is no pngquant"
        )?;
    }
    let emoji = Command::new("fc-list").arg(":color=true").output();
    if !emoji.is_ok_and(|fonts| !fonts.stdout.is_empty()) {
        writeln!(
            err,
            "!!! verdicts are empty boxes in the pictures: there is no font with emoji"
        )?;
    }
    Ok(true)
}

/// Returns the picture of a document, as PNG.
fn shot(browser: &mut Browser, picture: Picture, url: &str) -> anyhow::Result<Vec<u8>> {
    let (_, _, width) = picture.about();
    let scheme = if picture.is_dark() { "dark" } else { "light" };
    let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
    browser.call("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
    browser.call("Emulation.setEmulatedMedia", json!({ "features": scheme }));
    browser.size(width, 900);
    // A change of the fragment alone would load nothing.
    browser.go("about:blank");
    browser.go(url);
    let height = browser.eval("Math.ceil(document.documentElement.getBoundingClientRect().height)");
    let height = height
        .as_u64()
        .and_then(|height| u32::try_from(height).ok());
    let height = height.unwrap_or(MOST_HEIGHT).min(MOST_HEIGHT);
    browser.size(width, height);
    browser.eval("document.activeElement.blur(); scrollTo(0, 0)");
    let png = browser.call("Page.captureScreenshot", json!({ "format": "png" }));
    let png = png["data"].as_str().unwrap_or_default();
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, png)
        .context("Chromium's picture")
}
