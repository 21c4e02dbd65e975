//! `plimsoll report --format html` as a person uses it: the real page in a real
//! Chromium.

mod browser;
#[path = "../project/mod.rs"]
mod project;

use plimsoll_core::Tally;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{CheckOutcome, Compared, Report, Rung, StackGrowth};
use serde_json::{Value, json};

use browser::Browser;
use project::{Project, check, failure, finding, rate, report, sample, within};

const NAMES: [&str; 5] = ["lru_churn", "http::echo", "alpha", "flaky", "never_ran"];

fn tally(objects: u64, bytes: u64) -> Tally {
    Tally { objects, bytes }
}

fn growth(names: &str, before: u64, after: u64) -> StackGrowth {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let gained = after as f64 - before as f64;
    StackGrowth {
        before: tally(1, before),
        after: tally(1, after),
        ..project::growth(names, rate(1.0, gained / 512.0))
    }
}

fn of_this(mut report: Report) -> Report {
    report.run.scenarios = NAMES.iter().map(|name| (*name).to_owned()).collect();
    report
}

/// One that grows, with a tower that shrinks beside it.
fn echo() -> Report {
    let mut report = of_this(report("r1", "http::echo", Verdict::Regressed));
    let (before, after) = (512, 1024);
    report.compared = Some(Compared { before, after });
    let rungs = (0..11_u32).map(|octave| Rung {
        iterations: 1 << octave,
        live: tally(1 << octave, 96 << octave),
        threads: u64::from(octave),
        ..sample::rung(0)
    });
    report.rungs = rungs.collect();
    let mut found = finding("main serve parse_headers", rate(1.0, 96.0));
    found.levels = report.rungs.iter().map(|rung| rung.live).collect();
    let mut agreed = finding("main serve cache", rate(1.0, 8.0));
    agreed.verdict = Verdict::Within;
    agreed.reason = Some("a cache that fills".to_owned());
    report.findings = vec![found, agreed];
    report.growth = vec![
        growth("main serve parse_headers", 1_024, 50_176),
        growth("main serve cache", 512, 4_608),
        growth("main log_buffer", 9_216, 1_024),
    ];
    let detail = "41 of 41 objects found on their stack";
    report.checks = vec![check("canary", CheckOutcome::Passed, detail)];
    report.notes.push("a note for people".to_owned());
    report
}

/// The page of these reports, or of the run, where it lies.
fn written(project: &Project, reports: &str) -> String {
    let report = format!("report {reports} --format html --output page.html");
    project.ok(&report);
    let page = project.path("page.html").canonicalize().unwrap();
    format!("file://{}", page.display())
}

fn usual() -> Project {
    let alpha = of_this(report("r1", "alpha", Verdict::Inconclusive));
    let churn = of_this(within("r1", "lru_churn"));
    let mut flaky = of_this(report("r1", "flaky", Verdict::Failed));
    let output = "first line\n\u{1b}[31mlast line\u{1b}[0m\n";
    flaky.failure = failure("panicked: connection refused", Some(3), output);
    Project::with(&[churn, alpha, flaky, echo()])
}

/// The usual page, its address, and a browser that is at that fragment of it.
fn opened(fragment: &str) -> Option<(Browser, String, Project)> {
    let mut browser = Browser::start()?;
    let project = usual();
    let url = written(&project, "");
    browser.go(&format!("{url}{fragment}"));
    Some((browser, url, project))
}

/// The names of the rows that can be seen, from above.
const SHOWN: &str = "[...document.querySelectorAll('tbody.scenario')]\
    .filter(body => body.offsetHeight > 0).map(body => body.querySelector('.name').textContent)";
/// By how much the page can be scrolled to the side.
const BESIDE: &str = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
/// What is cut off there all the same.
const BEYOND: &str = "[...document.querySelectorAll('body *')].filter(one => \
    !one.closest('.scroll, svg, .c-trend, .c-allowed, .skip') \
    && one.getBoundingClientRect().right > innerWidth + 0.5).map(one => one.outerHTML)";
const FOCUSED: &str = "document.activeElement.getAttribute('aria-label') \
    || document.activeElement.textContent || document.activeElement.id";

/// Asserts that the page requested nothing else, and that the console would show nothing: no error,
/// no warning, nothing that the policy refused.
#[track_caller]
fn is_quiet(browser: &mut Browser, url: &str) {
    let requests = browser.seen(&["Network.requestWillBeSent"]);
    let urls = requests
        .iter()
        .map(|event| &event["params"]["request"]["url"]);
    assert_eq!(urls.collect::<Vec<_>>(), [url]);
    let complaints = browser.seen(&[
        "Runtime.exceptionThrown",
        "Runtime.consoleAPICalled",
        "Log.entryAdded",
        "Page.javascriptDialogOpening",
    ]);
    assert_eq!(complaints, [Value::Null; 0]);
}

#[test]
fn search_filter_and_sort() {
    let Some((mut browser, url, _project)) = opened("") else {
        return;
    };
    // Who needs a person most, first.
    let all = ["flaky", "http::echo", "alpha", "never_ran", "lru_churn"];
    browser.is(SHOWN, all);

    browser.press("/");
    browser.is("document.activeElement.id", "~search");
    // By a function of its stacks.
    browser.type_text("parse_head");
    browser.is(SHOWN, ["http::echo"]);
    let status = "document.querySelector('[role=status]').textContent";
    browser.is(status, "1 of 5 scenarios shown");
    browser.type_text("zzz");
    browser.is(SHOWN, json!([]));
    browser.is("document.getElementById('~none').checkVisibility()", true);
    browser.press("Escape");
    browser.is(SHOWN, all);

    let filter = "[...document.querySelectorAll('button.filter')]\
        .find(button => button.textContent.startsWith('regressed'))";
    browser.eval(&format!("{filter}.click()"));
    browser.is(SHOWN, ["http::echo"]);
    browser.is(&format!("{filter}.getAttribute('aria-pressed')"), "true");
    browser.eval(&format!("{filter}.click()"));
    browser.is(SHOWN, all);

    let sorts = "[...document.querySelectorAll('th[aria-sort]')]\
        .map(head => [head.dataset.sort, head.getAttribute('aria-sort')])";
    for (key, order, first) in [
        ("name", "ascending", "alpha"),
        ("name", "descending", "never_ran"),
        ("rate", "descending", "http::echo"),
        ("level", "descending", "http::echo"),
    ] {
        browser.click(&format!("th[data-sort={key}] button"));
        browser.is(sorts, json!([[key, order]]));
        browser.is(&format!("{SHOWN}[0]"), first);
    }
    browser.click("th[data-sort=verdict] button");
    browser.is(SHOWN, all);
    browser.click("th[data-sort=name] button");
    browser.is(
        SHOWN,
        ["alpha", "flaky", "http::echo", "lru_churn", "never_ran"],
    );
    is_quiet(&mut browser, &url);
}

/// Presses Tab until what has the focus says so.
#[track_caller]
fn tab_to(browser: &mut Browser, wanted: &str) {
    let mut seen = Vec::new();
    for _ in 0..60 {
        browser.press("Tab");
        let focused = browser.text(FOCUSED);
        if focused.starts_with(wanted) {
            return;
        }
        seen.push(focused);
    }
    panic!("no Tab leads to {wanted:?}, only to {seen:?}");
}

#[test]
fn a_walk_by_keyboard_alone() {
    let Some((mut browser, url, _project)) = opened("") else {
        return;
    };
    browser.press("Tab");
    browser.is(FOCUSED, "Skip to the scenarios");
    // First the link in what to look at, then the button of the row.
    tab_to(&mut browser, "http::echo");
    tab_to(&mut browser, "http::echo");
    let expanded = "document.activeElement.getAttribute('aria-expanded')";
    browser.is(expanded, "true");
    for open in ["false", "true"] {
        browser.press("Enter");
        browser.is(expanded, open);
    }
    browser.is("location.hash", "#http::echo");

    // One tab stop for the whole picture; the root has it at first.
    tab_to(&mut browser, "grew +104 B, shrank -16 B per iteration");
    let outline = "getComputedStyle(document.activeElement).boxShadow";
    assert_ne!(browser.text(outline), "none");
    browser.press("ArrowDown");
    browser.is(FOCUSED, "grew: +104 B per iteration, 100.0 % of what grew");
    browser.press("ArrowRight");
    let shrank = "shrank: -16 B per iteration, 100.0 % of what shrank";
    browser.is(FOCUSED, shrank);
    for key in ["ArrowLeft", "ArrowDown", "ArrowDown", "ArrowDown"] {
        browser.press(key);
    }
    let leaf = "parse_headers: +96 B per iteration, 92.3 % of what grew";
    browser.is(FOCUSED, leaf);
    browser.is(
        "document.querySelector('tbody.open .told').textContent",
        leaf,
    );

    let width = "document.activeElement.getBoundingClientRect().width";
    let cells = "document.querySelectorAll('tbody.open .cell').length";
    let narrow = browser.eval(width);
    browser.is(cells, 9);
    browser.press("Enter");
    browser.is(FOCUSED, leaf);
    let wide = browser.eval(width);
    assert!(wide.as_f64() > narrow.as_f64(), "{narrow} {wide}");
    // The way down to it, and itself.
    browser.is(cells, 5);
    browser.press("Escape");
    browser.is(cells, 9);
    assert!(browser.text(FOCUSED).starts_with("grew +104 B"));

    // Search within the picture, from the picture.
    browser.press("/");
    browser.type_text("cache");
    let found = "document.querySelector('tbody.open .found').textContent";
    browser.is(found, "1 frame matches: 6.7 % of what is shown");
    let marked = "[...document.querySelectorAll('.cell.match')].map(cell => cell.ariaLabel)";
    browser.is(marked, ["cache: +8 B per iteration, 7.7 % of what grew"]);
    is_quiet(&mut browser, &url);
}

#[test]
fn plots_and_pictures_have_several_views() {
    // A link to the one scenario opens it.
    let Some((mut browser, url, _project)) = opened("#http::echo") else {
        return;
    };
    let open = "[...document.querySelectorAll('tbody.open')].map(body => body.id)";
    browser.is(open, ["http::echo"]);
    // Rungs at 1, 2, 4, … 1,024 iterations: half of the way is one rung, or five octaves.
    let at = |iterations: u32| {
        format!(
            "document.querySelector('tbody.open circle[data-at=\"{iterations}\"]').attributes.cx.value"
        )
    };
    let turn = "Math.round(document.querySelector('tbody.open .line').points.getItem(9).x)";
    browser.is(&at(512), "50.00%");
    browser.is(turn, 500);
    browser.click("tbody.open .scale");
    browser.is(&at(32), "50.00%");
    browser.is(&at(512), "90.00%");
    browser.is(turn, 900);
    browser.click("tbody.open .scale");
    browser.is(&at(512), "50.00%");

    let total = "document.querySelector('tbody.open .total').textContent";
    let growth = "grew +104 B, shrank -16 B per iteration";
    browser.is(total, growth);
    for (view, says) in [
        ("before", "10.5 KiB live before in the stacks that changed"),
        ("after", "54.5 KiB live after in the stacks that changed"),
        ("growth", growth),
    ] {
        browser.click(&format!("tbody.open input[value={view}]"));
        browser.is(total, says);
    }
    browser.eval("location.hash = '#alpha'");
    browser.eval("new Promise(done => setTimeout(done, 50))");
    browser.is(open, ["http::echo", "alpha"]);
    is_quiet(&mut browser, &url);
}

#[test]
fn light_dark_and_narrow() {
    let Some((mut browser, url, _project)) = opened("#http::echo") else {
        return;
    };
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.is(ground, "rgb(255, 255, 255)");
    let dark = json!({ "name": "prefers-color-scheme", "value": "dark" });
    browser.call("Emulation.setEmulatedMedia", json!({ "features": [dark] }));
    browser.is(ground, "rgb(16, 19, 24)");
    browser.is(LOW_CONTRAST, json!([]));
    browser.eval("document.getElementById('~theme').click()");
    browser.is(ground, "rgb(255, 255, 255)");
    browser.is(LOW_CONTRAST, json!([]));

    for width in [360, 800] {
        browser.size(width, 800);
        browser.is(BESIDE, 0);
        browser.is(BEYOND, json!([]));
    }
    is_quiet(&mut browser, &url);
}

/// All text that is not 4.5 times as light or as dark as what it stands on.
const LOW_CONTRAST: &str = r"(() => {
    const rgb = color => color.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => {
        const [x, y, z] = [r, g, b].map(c => c / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const ground = one => {
        for (; one; one = one.parentElement) {
            const [r, g, b, a = 1] = rgb(getComputedStyle(one).backgroundColor);
            if (a > 0) return [r, g, b];
        }
    };
    const low = new Set();
    for (const one of document.body.querySelectorAll('*')) {
        const own = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !one.checkVisibility() || one.closest('svg, script, :disabled')) continue;
        const [a, b] = [light(rgb(getComputedStyle(one).color)), light(ground(one))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) low.add(`${one.className} ${ratio.toFixed(2)} ${one.textContent.slice(0, 40)}`);
    }
    return [...low];
})()";

#[test]
fn all_that_matters_without_a_script() {
    let Some((mut browser, url, _project)) = opened("") else {
        return;
    };
    let no_script = json!({ "value": true });
    browser.call("Emulation.setScriptExecutionDisabled", no_script);
    browser.go(&url);
    let text = browser.text("document.body.innerText");
    // One of each part of the page: the gallery has all of its texts.
    for wanted in [
        "1 of 5 scenarios failed, 1 keeps growing by +96 B",
        "+96 B, +1.00 objects per iteration, linear",
        "parse_headers src/lib.rs:7",
        "Growth over the iterations",
        "What it printed",
        "41 of 41 objects found on their stack",
        "cargo plimsoll accept http::echo",
        "it left no report in this run",
    ] {
        assert!(text.contains(wanted), "{wanted:?} is not in:\n{text}");
    }
    let lines = "[...document.querySelectorAll('svg.plot polyline')]\
        .filter(line => line.getBoundingClientRect().width > 100).length";
    assert!(browser.eval(lines).as_u64() >= Some(3), "{lines}");
    // What only a script can do does not stand around.
    let tools = "[...document.querySelectorAll('.tools, .graph')]\
        .filter(one => one.checkVisibility()).length";
    browser.is(tools, 0);
    is_quiet(&mut browser, &url);
}

#[test]
fn a_hostile_report_does_nothing() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let evil = "</script><script>window.pwned=1</script><!--<img src=x onerror=\"window.pwned=1\">\
                '\"><svg onload=window.pwned=1>\u{202e}txt\u{200b}\u{2028}javascript:alert(1)";
    let project = Project::new();
    let mut report = echo();
    report.failure = failure("panicked", None, "output");
    let mut report = project::poisoned(&report, &project::free_strings(&report), evil);
    report["growth"][1]["stack"] = json!(vec!["deep"; 3_000]);
    report["growth"][2]["stack"] = json!([evil, "__proto__", "x".repeat(500)]);
    project.write("report.json", &report.to_string());
    let url = written(&project, "report.json");
    let page = project.read("page.html");
    for hidden in ['\u{202e}', '\u{200b}', '\u{2028}'] {
        assert!(!page.contains(hidden), "{hidden:?}");
    }

    browser.size(360, 800);
    browser.go(&url);
    let closed = "button.name[aria-expanded=false]";
    browser.eval(&format!(
        "for (const button of document.querySelectorAll('{closed}')) button.click()"
    ));
    let cells = "document.querySelectorAll('.cell').length";
    assert!(browser.eval(cells).as_u64() > Some(500), "{cells}");
    browser.click(".cell.grew");
    let shown = "[...document.querySelectorAll('button.name')].map(button => button.textContent)";
    let shown = browser.eval(shown).to_string();
    let hidden = r"onload=window.pwned=1>\\u{202e}txt";
    assert!(shown.contains(hidden), "{shown}");
    browser.is("typeof window.pwned", "undefined");
    let made = "document.querySelectorAll('img, script:not([type]), a[href]:not([href^=\"#\"]), \
        iframe, [onload], [onerror]').length";
    // Our own script, once.
    browser.is(made, 1);
    browser.is(BEYOND, json!([]));
    browser.is(BESIDE, 0);
    is_quiet(&mut browser, &url);

    // Were there a hole, the policy would stop what came through.
    browser.eval(
        "(() => { const script = document.createElement('script'); \
         try { script.text = 'window.pwned = 2'; } catch {} document.body.append(script); \
         try { document.body.insertAdjacentHTML('beforeend', '<img src=x>'); } catch {} \
         const image = document.createElement('img'); image.src = 'https://example.invalid/'; \
         document.body.append(image); return new Promise(done => { image.onerror = done; }); })()",
    );
    browser.is("typeof window.pwned", "undefined");
    browser.is("document.images.length", 1);
    let refused = browser.seen(&["Network.loadingFailed"]);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0]["params"]["blockedReason"], "csp");
}

#[test]
fn no_frame_of_a_wide_picture_is_too_thin_to_see() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    // About 10,000 frames.
    let frame = |n: usize, depth: usize| format!("f{}_{depth}", n % (depth * 100 + 1));
    let stack = |n| (0..10).map(|depth| frame(n, depth)).collect::<Vec<_>>();
    let stacks = (0..1_000).map(|n| stack(n).join(" ")).zip(0..);
    let mut report = echo();
    let growth = stacks.map(|(stack, n)| growth(&stack, n, n * 7 + 512));
    report.growth = growth.collect();
    let project = Project::with(&[report]);
    browser.go(&written(&project, ""));
    // The scenario that grows is open.
    let thin = "[...document.querySelectorAll('.open .cell')]\
        .filter(cell => cell.getBoundingClientRect().width < 0.9).length";
    let cells = "document.querySelectorAll('.open .cell').length";
    browser.is(thin, 0);
    let cells = browser.eval(cells).as_u64().unwrap();
    assert!((100..9_000).contains(&cells), "{cells}");
}
