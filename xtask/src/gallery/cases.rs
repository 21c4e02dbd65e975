//! The twelve reports of the gallery.

use std::collections::BTreeMap;

use plimsoll_core::holders::{HolderLink, Holders, LinkKind};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::LadderEnd::{Budget, Settled};
use plimsoll_core::report::{CheckOutcome, Report, Standing};
use plimsoll_report::joined::{Joined, Outcome, Scenario, Source};
use plimsoll_report::render::base::Base;
use plimsoll_report::render::{Context, Image, Marker};

use crate::sample::{in_a_map, link};

use super::workload::{Frames, HEAD, Keeps, PACKAGE, TARGET, Workload, check, failed};

/// One report of the gallery.
pub(crate) struct Case {
    /// The beginning of the names of its files.
    pub(crate) name: &'static str,
    /// The sentence below its heading.
    pub(crate) about: &'static str,
    pub(crate) joined: Joined,
    pub(crate) pictures: &'static [Picture],
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    Comment,
    CommentDark,
    Summary,
    Page,
    PageDark,
    /// The page, 390 pixels wide.
    PageNarrow,
}
use Picture::{Comment, CommentDark, Page, PageDark, PageNarrow, Summary};

/// tokio's task cells are plumbing: the place to blame is below them.
const SPAWN: Frames<'_> = "
    tokio::runtime::task::core::Cell::new  tokio-1.48.0/src/runtime/task/core.rs:247
    tokio::runtime::task::raw::RawTask::new  tokio-1.48.0/src/runtime/task/raw.rs:165
    tokio::runtime::task::new_task  tokio-1.48.0/src/runtime/task/mod.rs:342
    tokio::runtime::task::unowned  tokio-1.48.0/src/runtime/task/mod.rs:389
    tokio::runtime::blocking::pool::Spawner::spawn_blocking_inner  tokio-1.48.0/src/runtime/blocking/pool.rs:398
    tokio::runtime::blocking::pool::Spawner::spawn_blocking  tokio-1.48.0/src/runtime/blocking/pool.rs:323
    tokio::task::blocking::spawn_blocking  tokio-1.48.0/src/task/blocking.rs:207
    storefront::jobs::start  src/jobs.rs:41
    storefront::jobs::enqueue  src/jobs.rs:23
    leaks::jobs_enqueue  tests/leaks.rs:18";
/// sqlite's allocation wrappers are plumbing, too.
const PREPARE: Frames<'_> = "
    sqlite3MemMalloc  sqlite3/sqlite3.c:26909
    mallocWithAlarm  sqlite3/sqlite3.c:31051
    sqlite3Malloc  sqlite3/sqlite3.c:31087
    sqlite3DbMallocRawNN  sqlite3/sqlite3.c:31421
    sqlite3VdbeMakeReady  sqlite3/sqlite3.c:88642
    sqlite3FinishCoding  sqlite3/sqlite3.c:124530
    sqlite3LockAndPrepare  sqlite3/sqlite3.c:145301
    sqlite3_prepare_v3  sqlite3/sqlite3.c:145409
    rusqlite::inner_connection::InnerConnection::prepare  rusqlite-0.38.0/src/inner_connection.rs:232
    rusqlite::Connection::prepare_with_flags  rusqlite-0.38.0/src/lib.rs:801
    storefront::orders::Store::find  src/orders.rs:88
    leaks::orders_find  tests/leaks.rs:31";
const PUT: Frames<'_> = "
    hashbrown::raw::RawTableInner::new_uninitialized  hashbrown-0.16.0/src/raw/mod.rs:1534
    hashbrown::raw::RawTable::reserve_rehash  hashbrown-0.16.0/src/raw/mod.rs:1033
    lru::LruCache::capturing_put  lru-0.18.1/src/lib.rs:412
    lru::LruCache::put  lru-0.18.1/src/lib.rs:353
    storefront::sessions::Sessions::touch  src/sessions.rs:57
    leaks::sessions_touch  tests/leaks.rs:44";
const AUDIT: Frames<'_> = "
    storefront::audit::Log::push  src/audit.rs:24
    storefront::jobs::start  src/jobs.rs:39
    storefront::jobs::enqueue  src/jobs.rs:23
    leaks::jobs_enqueue  tests/leaks.rs:18";
const REGEX: Frames<'_> = "
    regex_automata::meta::strategy::Core::create_cache  regex-automata-0.4.13/src/meta/strategy.rs:636
    regex_automata::util::pool::inner::Pool::get_slow  regex-automata-0.4.13/src/util/pool.rs:607
    regex_automata::meta::regex::Regex::search_captures_with  regex-automata-0.4.13/src/meta/regex.rs:1910
    regex::regex::string::Regex::captures_at  regex-1.12.2/src/regex/string.rs:1131
    storefront::search::Query::parse  src/search.rs:112
    leaks::search_parse  tests/leaks.rs:52";
const POOL: Frames<'_> = "
    hyper_util::client::legacy::pool::PoolInner::put  hyper-util-0.1.19/src/client/legacy/pool.rs:385
    hyper_util::client::legacy::pool::Pool::pooled  hyper-util-0.1.19/src/client/legacy/pool.rs:261
    hyper_util::client::legacy::client::Client::send_request  hyper-util-0.1.19/src/client/legacy/client.rs:337
    storefront::webhooks::notify  src/webhooks.rs:70
    leaks::webhooks_notify  tests/leaks.rs:63";
const MAIL: Frames<'_> = "
    storefront::mail::Outbox::deliver  src/mail.rs:33
    leaks::mail_deliver  tests/leaks.rs:75";

/// Returns a workload that keeps nothing, and settles early.
fn quiet(name: impl Into<String>) -> Workload {
    Workload::new(name).ladder(41, Settled)
}

/// Returns reports on which nothing grows.
fn green() -> Vec<Report> {
    QUIET.map(|name| quiet(name).report()).into()
}

/// Returns these reports and those on which nothing grows.
fn beside_green(mut reports: Vec<Report>) -> Joined {
    reports.extend(green());
    joined(reports)
}

const QUIET: [&str; 5] = [
    "cart::checkout",
    "catalog::render",
    "login::password",
    "mail::receipt",
    "search::suggest",
];

fn spawns(name: impl Into<String>) -> Workload {
    Workload::new(name)
        .stack(SPAWN, 256, Keeps::All(1.0))
        .stack(AUDIT, 64, Keeps::List(1.0))
        .stack(PUT, 96, Keeps::UpTo(1.0, 4_000))
}

fn joined(reports: Vec<Report>) -> Joined {
    Joined {
        source: Some(Source {
            repository: "acme/storefront".to_owned(),
            event: "pull_request".to_owned(),
            run: 17_203_489_541,
            attempt: 1,
            pull_request: Some(482),
            head: HEAD.to_owned(),
            base: Some(BASE.to_owned()),
            prefix: String::new(),
        }),
        ..Joined::of_run("f3a9c2", reports.into_iter().map(Scenario::from))
    }
}

/// Adds scenarios that left no report.
fn without_result(mut joined: Joined, names: &[&str], why: &str) -> Joined {
    let without = |name: &&str| Scenario::without_result(PACKAGE, TARGET, name, why);
    joined.scenarios.extend(names.iter().map(without));
    joined.name_platforms();
    joined
}

/// Returns the same run of the base: what is accepted grows as accepted, and nothing else does.
fn before(case: &Joined) -> Joined {
    let mut joined = case.clone();
    for scenario in &mut joined.scenarios {
        if let Outcome::Report(report) = &mut scenario.outcome {
            report.verdict = Verdict::Within;
            report
                .findings
                .retain(|finding| finding.standing == Standing::Exceeded);
            for finding in &mut report.findings {
                finding.rate = finding.allowed;
                finding.verdict = Verdict::Within;
            }
        }
    }
    if let Some(source) = &mut joined.source {
        source.head = BASE.to_owned();
    }
    joined
}

const BASE: &str = "9f31c02b7d5e48a6f1c3d90b2e7a6458cd01fe37";

/// The address below which a comment finds its images.
pub(crate) const IMAGES: &str = "https://raw.githubusercontent.com/acme/storefront/images/";

/// Returns what the bot knows of the pull request, with an image for each of these scenarios.
pub(crate) fn context(case: &Joined, images: impl Iterator<Item = usize>) -> Context {
    let image = |at: usize| Image {
        light: format!("{IMAGES}{at}-light.svg"),
        dark: format!("{IMAGES}{at}-dark.svg"),
    };
    let job = "https://github.com/acme/storefront/actions/runs/17203489541/job/48794120077";
    Context {
        marker: Some(Marker {
            lines: "<!-- plimsoll -->".to_owned(),
            run: 17_203_489_541,
            attempt: 1,
        }),
        head: Some(HEAD.to_owned()),
        base: Some(BASE.to_owned()),
        job_url: Some(job.to_owned()),
        report_url: Some(
            "https://github.com/acme/storefront/actions/runs/17203489541/artifacts/3840127"
                .to_owned(),
        ),
        images: images.map(|at| (at, image(at))).collect::<BTreeMap<_, _>>(),
        main: Some(Base {
            branch: "main".to_owned(),
            joined: before(case),
        }),
        ..Context::default()
    }
}

/// Returns all cases, in the order of the gallery.
pub(crate) fn all() -> Vec<Case> {
    vec![
        Case {
            name: "all-green",
            about: "Nothing grows: one line.",
            joined: all_green(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "one-red",
            about: "One scenario keeps a finished job for each iteration, and the list that names it.",
            joined: one_red(),
            pictures: &[Comment, CommentDark, Summary, Page, PageDark, PageNarrow],
        },
        Case {
            name: "one-cause",
            about: "Forty scenarios that call the same function, which leaks.",
            joined: one_cause(),
            pictures: &[Comment, Summary, Page, PageNarrow],
        },
        Case {
            name: "failed-and-red",
            about: "One scenario panics after it has leaked, and another one leaks.",
            joined: failed_and_red(),
            pictures: &[Comment, Page, PageDark],
        },
        Case {
            name: "missing",
            about: "The job was cancelled: three scenarios left no report.",
            joined: missing(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "broken",
            about: "One measurement cannot be trusted, one baseline cannot be read, and one \
                    workload was measured for too short a time.",
            joined: broken(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "improved",
            about: "Two leaks were fixed: the baseline still allows them.",
            joined: improved(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "sampled",
            about: "One allocation in 4 KiB was sampled, so every number has its error.",
            joined: sampled(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "resources",
            about: "For each iteration, one scenario leaves a thread behind, one an open file, and one \
                    an instance of WebAssembly with its memory.",
            joined: resources(),
            pictures: &[Comment, Page, PageNarrow],
        },
        Case {
            name: "accepted-grew",
            about: "A leak that was accepted grew to twice as much, and another allowance expired.",
            joined: accepted_grew(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "hostile-names",
            about: "Names that try to be markup, links, commands and whole lines.",
            joined: hostile_names(),
            pictures: &[Comment, Page],
        },
        Case {
            name: "thousand",
            about: "A thousand scenarios: twelve leak, three fail, and three are inconclusive.",
            joined: thousand(),
            pictures: &[Comment, Summary, Page],
        },
    ]
}

fn all_green() -> Joined {
    let mut reports = green();
    let agreed = Workload::new("sessions::touch")
        .stack(PUT, 48, Keeps::All(1.0))
        .baseline(&allow(PUT_ROOT, 1.0, 48.0, MIDNIGHT));
    reports.push(agreed.report());
    joined(reports)
}

fn one_red() -> Joined {
    let mut reports = green();
    let mut red = spawns("jobs::enqueue").report();
    let handles = "Vec<JoinHandle<()>>";
    let list = red.findings.iter().find(|one| one.name().contains("audit"));
    let list = HolderLink {
        blame: list.and_then(|list| list.blame.clone()),
        bytes: 16 << 10,
        ..link(LinkKind::Objects, handles, 1)
    };
    let state = || link(LinkKind::State, "", 1);
    for finding in &mut red.findings {
        let (what, of, chain) = match finding.name().contains("audit") {
            true => (handles, 1, vec![state()]),
            false => ("a closure of start", 100, vec![list.clone(), state()]),
        };
        finding.holders = Some(Holders {
            what: Some(what.to_owned()),
            of,
            objects: of,
            chain,
            ..in_a_map()
        });
    }
    reports.insert(2, red);
    joined(reports)
}

fn one_cause() -> Joined {
    let names = (0..40).map(|at| format!("api::{}", ROUTES[at % 10].to_owned() + VERBS[at / 10]));
    let reports = names.zip(1_u32..).map(|(name, at)| {
        let frames = SPAWN.replace("jobs_enqueue", &name.replace("::", "_"));
        let own = format!("leaks.rs:{}", 60 + 9 * at);
        let frames = frames.replace("leaks.rs:18", &own);
        let per = f64::from(1 + at % 3);
        let workload = Workload::new(name).stack(&frames, 256, Keeps::All(per));
        workload.report()
    });
    joined(reports.chain(green()).collect())
}

const ROUTES: [&str; 10] = [
    "cart", "orders", "items", "users", "prices", "stock", "carriers", "invoices", "refunds",
    "coupons",
];
const VERBS: [&str; 4] = ["_get", "_list", "_post", "_delete"];

const FEED: &str = "storefront::import::insert  src/import.rs:61
    storefront::import::feed  src/import.rs:90";

fn failed_and_red() -> Joined {
    let feed = PREPARE
        .replace("storefront::orders::Store::find  src/orders.rs:88", FEED)
        .replace("leaks::orders_find", "leaks::import_feed");
    let grown = Workload::new("import::feed")
        .stack(&feed, 1_024, Keeps::All(1.0))
        .ladder(42, Budget);
    let output = "\
importing 1,000 articles of feed.xml
importing 1,000 articles of feed.xml

thread 'main' panicked at src/import.rs:94:38:
called `Result::unwrap()` on an `Err` value: SqliteFailure(Error { code: OutOfMemory, \
extended_code: 7 }, Some(\"out of memory\"))
stack backtrace:
   0: __rustc::rust_begin_unwind
   1: core::panicking::panic_fmt
   2: core::result::unwrap_failed
   3: storefront::import::feed
   4: leaks::import_feed
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
";
    let what = "panicked: called `Result::unwrap()` on an `Err` value: SqliteFailure(Error { \
                code: OutOfMemory, extended_code: 7 }, Some(\"out of memory\"))";
    beside_green(vec![
        failed(grown.report(), what, output),
        Workload::new("orders::find")
            .stack(PREPARE, 1_024, Keeps::All(1.0))
            .stack(REGEX, 3_584, Keeps::Share(0.25, 0.5))
            .report(),
    ])
}

fn missing() -> Joined {
    let names = ["orders::find", "sessions::touch", "webhooks::notify"];
    without_result(joined(green()), &names, "it left no report in this run")
}

fn broken() -> Joined {
    let mut canary = Workload::new("orders::find")
        .stack(PREPARE, 1_024, Keeps::All(1.0))
        .ladder(30, Budget)
        .report();
    canary.verdict = plimsoll_core::judge::Verdict::Broken;
    (canary.visible, canary.rarest) = (None, None);
    canary.checks = vec![check(
        "canary",
        CheckOutcome::Failed,
        "expected 30 objects on the canary's stack\nfound 0",
    )];
    let mut unread = quiet("sessions::touch").report();
    unread.verdict = plimsoll_core::judge::Verdict::Broken;
    (unread.visible, unread.rarest, unread.measured) = (None, None, None);
    (unread.rungs, unread.findings, unread.growth) = (Vec::new(), Vec::new(), Vec::new());
    unread.compared = None;
    unread.end = plimsoll_core::report::LadderEnd::Failure;
    unread.checks = vec![check(
        plimsoll_core::report::BASELINE,
        CheckOutcome::Failed,
        "baselines/sessions++touch.toml: written by a newer plimsoll\nexpected format 1 or older, \
         found 2",
    )];
    let short = Workload::new("webhooks::notify")
        .stack(POOL, 10_240, Keeps::Recent(12))
        .ladder(13, Budget);
    beside_green(vec![canary, unread, short.report()])
}

fn improved() -> Joined {
    let fixed = quiet("orders::find")
        .baseline(&(allow(FIND, 1.0, 1_024.0, KNOWN) + &allow("leaks::gone", 2.0, 192.0, "")));
    let mut reports = green();
    reports.push(fixed.report());
    joined(reports)
}

const KNOWN: &str = "reason = \"statements are kept until the connection is closed\"\n";
const MIDNIGHT: &str = "reason = \"sessions end at midnight\"\n";
const UNTIL_REPLACED: &str =
    "reason = \"until the connection pool is replaced\"\nexpires = 2026-02-01\n";
const FOR_EACH_HOST: &str = "reason = \"one entry for each host\"\n";
const PUT_ROOT: &str = "storefront::sessions::Sessions::touch\", \"...";
const FIND: &str = "storefront::orders::Store::find\", \"...";
const NOTIFY: &str = "storefront::webhooks::notify\", \"...";

/// Returns an entry of a baseline.
fn allow(stack: &str, objects: f64, bytes: f64, more: &str) -> String {
    format!(
        "\n[[allow]]\nstack = [\"...\", \"{stack}\"]\nobjects = {objects:?}\nbytes = {bytes:?}\n\
         law = \"linear\"\n{more}"
    )
}

fn sampled() -> Joined {
    let red = Workload::new("orders::find")
        .stack(PREPARE, 1_024, Keeps::All(1.0))
        .stack(REGEX, 3_584, Keeps::Share(1.0, 0.125))
        .stack(PUT, 48, Keeps::Recent(400))
        .sampled(4_096)
        .ladder(57, Budget);
    let mut reports = vec![red.report()];
    for name in QUIET {
        let quiet = Workload::new(name).stack(PUT, 48, Keeps::Recent(400));
        reports.push(quiet.sampled(4_096).ladder(65, Budget).report());
    }
    joined(reports)
}

fn resources() -> Joined {
    let threads = Workload::new("mail::deliver")
        .resources(1.0, 0.0)
        .stack(MAIL, 192, Keeps::All(1.0))
        .ladder(33, plimsoll_core::report::LadderEnd::Threads);
    let files = Workload::new("export::csv")
        .resources(0.0, 1.0)
        .ladder(33, plimsoll_core::report::LadderEnd::Descriptors);
    let memory = Workload::new("wasm::instances")
        .outside(65_536.0)
        .ladder(41, plimsoll_core::report::LadderEnd::Memory);
    beside_green(vec![threads.report(), files.report(), memory.report()])
}

fn accepted_grew() -> Joined {
    let doubled = Workload::new("sessions::touch")
        .stack(PUT, 96, Keeps::All(1.0))
        .baseline(&allow(PUT_ROOT, 1.0, 48.0, MIDNIGHT));
    let expired = Workload::new("orders::find")
        .stack(PREPARE, 1_024, Keeps::All(1.0))
        .baseline(&allow(FIND, 1.0, 1_024.0, UNTIL_REPLACED));
    let within = Workload::new("webhooks::notify")
        .stack(POOL, 10_240, Keeps::All(0.01))
        .baseline(&allow(NOTIFY, 0.01, 103.0, FOR_EACH_HOST));
    beside_green(vec![doubled.report(), expired.report(), within.report()])
}

fn hostile_names() -> Joined {
    const EVIL: Frames<'_> = "
        </code></details><h1>merged</h1>  src/<img src=x onerror=alert(1)>.rs:1
        [click me](javascript:alert(1))  src/`a`.rs:2
        @octocat closes #1 | a | b |  ../../../../etc/passwd:3
        storefront::\u{202e}gnirts::\u{1b}[31mred\u{1b}[0m  src/lib.rs:4
        leaks::```\u{a0}fence  tests/leaks.rs:5";
    let long = "a".repeat(400);
    let names = [
        "a; rm -rf ~",
        "</summary><script>alert(1)</script>",
        "**bold** | [x](https://example.org) | `code",
        "\u{202e}txet\u{1b}[2J\nnew line",
        &long,
    ];
    let reports = names.iter().zip(1_u32..).map(|(name, at)| {
        let workload = Workload::new(*name).stack(EVIL, 64, Keeps::All(f64::from(at)));
        let mut report = workload.report();
        report.notes = vec![format!("a note of {name}\n::error::x")];
        report
    });
    without_result(
        joined(reports.collect()),
        &["--help", "<!-- plimsoll -->"],
        "<b>no</b> `report`\n\n# of *any* kind",
    )
}

fn thousand() -> Joined {
    let causes: [(Frames<'_>, u64); 4] =
        [(SPAWN, 256), (PREPARE, 1_024), (POOL, 10_240), (PUT, 96)];
    let reports = (0..1_000_usize).map(|at| {
        let name = format!("{}::case_{at:03}", ROUTES[at % 10]);
        let (frames, size) = causes[at % 4];
        match at {
            at if at % 83 == 7 => {
                let workload = Workload::new(name).stack(frames, size, Keeps::All(1.0));
                workload.report()
            }
            at if at % 400 == 111 => {
                let what = "killed by signal 11 (SIGSEGV)";
                failed(quiet(name).ladder(20, Budget).report(), what, "")
            }
            at if at % 333 == 50 => {
                let workload = Workload::new(name).stack(frames, size, Keeps::Recent(9));
                workload.ladder(13, Budget).report()
            }
            _ => quiet(name).report(),
        }
    });
    joined(reports.collect())
}
