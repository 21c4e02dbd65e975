//! Which frames of a stack are listed.

use std::ops::Range;

use insta::assert_snapshot;
use plimsoll_core::blame::{Blame, Packages, SourceFiles};
use plimsoll_core::fold::Trace;
use plimsoll_core::report::text::{self, Style};
use plimsoll_core::report::view::collapse::{Part, frames_of};
use plimsoll_core::report::{Finding, Report, Subject, json};
use plimsoll_core::{FoldedStack, Frame};
use proptest::prelude::*;

use crate::samples::{finding, regressed};

/// The 39 frames of tokio below which a task runs on a thread of the runtime, leaf first.
const WORKER: &str = include_str!("worker.txt");

const LOCK: &str = "
[[package]]\nname = \"jobs\"\ndependencies = [\"hyper\"]
[[package]]\nname = \"jobs-queue\"
[[package]]\nname = \"hyper\"\nsource = \"r\"
[[package]]\nname = \"h2\"\nsource = \"r\"
[[package]]\nname = \"libxml\"\nsource = \"r\"
[[package]]\nname = \"minijinja\"\nsource = \"r\"
[[package]]\nname = \"tokio\"\nsource = \"r\"";

/// Returns a report on one stack, leaf first: in each line a function and, after two spaces, its
/// place.
fn report(stack: &str) -> Report {
    let lines = stack.lines().map(str::trim).filter(|line| !line.is_empty());
    let frame = |line: &str| {
        let (function, place) = line.split_once("  ").unwrap_or((line, ""));
        let place = place.trim().rsplit_once(':');
        Frame {
            function: function.to_owned(),
            file: place.map(|(file, _)| file.to_owned()),
            line: place.and_then(|(_, line)| line.parse().ok()),
        }
    };
    let trace = Trace {
        frames: lines.map(frame).collect(),
        ..Trace::default()
    };
    let names = trace.frames.iter().rev();
    let names = names.map(|frame| frame.function.clone());
    let packages = Packages::of_lockfile(LOCK);
    let found = Finding {
        subject: Subject::Stack(FoldedStack(names.collect())),
        blame: Blame::of(&trace, "jobs", &packages, &SourceFiles::default()),
        frames: trace.frames,
        ..finding()
    };
    Report {
        own: packages.own_among(found.frames.iter()),
        findings: vec![found],
        ..regressed()
    }
}

/// Returns the stack as a terminal shows it.
#[track_caller]
fn listed(stack: &str) -> String {
    let report = report(stack);
    let text = text::finding(&report, &report.findings[0], &Style::plain());
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "longer than 80 columns: {line}");
    }
    let (_, stack) = text.split_once("(not in the baseline)\n").unwrap();
    stack.to_owned()
}

#[test]
fn a_task_on_a_thread_of_tokio() {
    let own = "
        jobs_queue::keep  jobs-queue/src/lib.rs:14
        jobs::handle::{{closure}}  src/main.rs:41
        jobs::start::{{closure}}::{{closure}}  src/main.rs:23
    ";
    assert_snapshot!(listed(&format!("{own}{WORKER}")), @"
    jobs_queue::keep                              jobs-queue/src/lib.rs:14
    └ jobs::handle::{{closure}}                   src/main.rs:41
      └ jobs::start::{{closure}}::{{closure}}     src/main.rs:23
        └ … 39 frames of tokio
    ");
}

#[test]
fn plumbing_on_both_sides() {
    let spawn = "
        tokio::runtime::task::core::Cell::new  tokio-1.54.1/src/runtime/task/core.rs:247
        tokio::runtime::task::raw::RawTask::new  tokio-1.54.1/src/runtime/task/raw.rs:165
        tokio::task::spawn::spawn  tokio-1.54.1/src/task/spawn.rs:174
        jobs::start::{{closure}}  src/main.rs:23
        tokio::runtime::runtime::Runtime::block_on  tokio-1.54.1/src/runtime/runtime.rs:340
        jobs::main  src/main.rs:9
    ";
    // A single frame takes no less room as a number.
    assert_snapshot!(listed(spawn), @"
    … 2 frames of tokio
    └ tokio::task::spawn::spawn               tokio-1.54.1/src/task/spawn.rs:174
      └ jobs::start::{{closure}}                  src/main.rs:23
        └ tokio::runtime::runtime::Runtime::block_on
            tokio-1.54.1/src/runtime/runtime.rs:340
          └ jobs::main                            src/main.rs:9
    ");
}

#[test]
fn dependencies_between_the_readers_code_and_what_is_blamed() {
    let render = "
        minijinja::vm::closure_object::Closure::new  minijinja-2.5.0/src/vm/closure_object.rs:31
        minijinja::vm::Vm::prepare  minijinja-2.5.0/src/vm/mod.rs:8
        minijinja::vm::Vm::eval_impl  minijinja-2.5.0/src/vm/mod.rs:412
        minijinja::vm::Vm::eval_state  minijinja-2.5.0/src/vm/mod.rs:96
        minijinja::vm::Vm::eval  minijinja-2.5.0/src/vm/mod.rs:71
        minijinja::template::Template::_eval  minijinja-2.5.0/src/template.rs:214
        minijinja::template::Template::render  minijinja-2.5.0/src/template.rs:87
        jobs::page  src/page.rs:12
        hyper::server::call  hyper-1.9.0/src/server.rs:7
        hyper::server::dispatch  hyper-1.9.0/src/server.rs:7
        h2::server::poll  h2-0.4.0/src/server.rs:7
        hyper::server::poll  hyper-1.9.0/src/server.rs:7
        jobs::main  src/main.rs:9
    ";
    assert_snapshot!(listed(render), @"
    minijinja::vm::closure_object::Closure::new
      minijinja-2.5.0/src/vm/closure_object.rs:31
    └ minijinja::vm::Vm::prepare                 minijinja-2.5.0/src/vm/mod.rs:8
      └ … 3 frames of minijinja
        └ minijinja::template::Template::_eval
            minijinja-2.5.0/src/template.rs:214
          └ minijinja::template::Template::render
              minijinja-2.5.0/src/template.rs:87
            └ jobs::page                          src/page.rs:12
              └ hyper::server::call               hyper-1.9.0/src/server.rs:7
                └ … 2 frames of h2 and hyper
                  └ hyper::server::poll           hyper-1.9.0/src/server.rs:7
                    └ jobs::main                  src/main.rs:9
    ");
}

#[test]
fn c_below_the_readers_code() {
    let inner: String = (0..14).map(|n| format!("xmlParse{n}\n")).collect();
    let rust = "
        libxml::parser::Parser::parse_string  libxml-0.3.1/src/parser.rs:280
        jobs::load  src/load.rs:31
    ";
    assert_snapshot!(listed(&format!("xmlStrndup\n{inner}xmlReadMemory\n{rust}")), @"
    xmlStrndup
    └ xmlParse0
      └ … 12 frames of C
        └ xmlParse13
          └ xmlReadMemory
            └ libxml::parser::Parser::parse_string
                libxml-0.3.1/src/parser.rs:280
              └ jobs::load                        src/load.rs:31
    ");
    // A thread of a library: nobody knows which of its functions matter.
    let thread = "xmlStrndup\nxmlParse\nxmlRead\nworker\nstart";
    assert_snapshot!(listed(thread), @"
    xmlStrndup
    └ xmlParse
      └ xmlRead
        └ worker
          └ start
    ");
}

#[test]
fn nothing_but_plumbing() {
    assert_snapshot!(listed(WORKER), @"
    tokio::runtime::task::core::Core::poll::{{closure}}
      tokio-1.54.1/src/runtime/task/core.rs:380
    └ … 23 frames of tokio
      └ tokio::runtime::task::core::Core::poll::{{closure}}
          tokio-1.54.1/src/runtime/task/core.rs:380
        └ … 13 frames of tokio
          └ tokio::runtime::blocking::pool::Spawner::spawn_thread::{{closure}}
              tokio-1.54.1/src/runtime/blocking/pool.rs:525
    ");
}

#[test]
fn without_debug_information() {
    let names = WORKER.lines().filter_map(|line| line.split("  ").next());
    let names: Vec<&str> = names.collect();
    let names = names.join("\n");
    assert_snapshot!(listed(&format!("h2::hpack::Table::insert\njobs::start\n{names}")), @"
    h2::hpack::Table::insert
    └ jobs::start
      └ … 39 frames of tokio
    ");
}

#[test]
fn a_thread_of_a_dependency_beside_the_readers_code() {
    let inner: String = (0..6).map(|n| format!("hyper::f{n}\n")).collect();
    let stack = format!("h2::hpack::Table::insert\nh2::proto::recv\n{inner}{WORKER}");
    let mut two = report(&stack);
    two.own = vec!["jobs".to_owned()];
    let names: Vec<&str> = stack
        .lines()
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_snapshot!(two.collapse().said(&names).join("\n"), @"
    h2::hpack::Table::insert
    h2::proto::recv
    4 frames of hyper
    hyper::f4
    hyper::f5
    39 frames of tokio
    ");
}

#[test]
fn what_a_run_is() {
    let said = |names: &str| frames_of(&names.split(' ').collect::<Vec<_>>());
    assert_eq!(said("a::f a::g"), "2 frames of a");
    assert_eq!(said("a::f b::f <b::T>::g"), "3 frames of b and a");
    assert_eq!(said("qsort a::f malloc"), "3 frames of C and a");
    assert_eq!(said("[unknown] [stack]"), "2 frames");
    assert_eq!(
        said("a::f b::f c::f d::f"),
        "4 frames of a, b, c and 1 more crate"
    );
    assert_eq!(
        said("d::f a::f b::f c::f d::f e::f"),
        "6 frames of d, a, b and 2 more crates"
    );
}

#[test]
fn a_report_keeps_every_frame() {
    let report = report(&format!("jobs::handle  src/main.rs:41\n{WORKER}"));
    let written = json::to_string(&report);
    assert_eq!(json::parse(written.as_bytes()), Ok(report));
    for frame in WORKER.lines().filter_map(|line| line.split("  ").next()) {
        assert!(written.contains(frame), "{frame}");
    }
}

fn any_stack() -> impl Strategy<Value = Vec<&'static str>> {
    let names = [
        "jobs::start",
        "jobs_queue::keep",
        "<jobs::Job as core::future::future::Future>::poll",
        "callback",
        "hyper::a",
        "h2::b",
        "tokio::runtime::task::raw::poll",
        "tokio::task::spawn::spawn",
        "hashbrown::map::HashMap::insert",
        "sqlite3Malloc",
        "qsort",
        "[unknown]",
    ];
    prop::collection::vec(prop::sample::select(names.to_vec()), 0..40)
}

proptest! {
    #[test]
    fn what_matters_is_listed_and_the_rest_is_counted(
        names in any_stack(),
        knows in any::<bool>(),
        blamed in any::<prop::sample::Index>(),
    ) {
        let mut report = report(&names.join("\n"));
        let own = ["jobs", "jobs_queue", "callback"].map(str::to_owned);
        report.own = if knows { own.to_vec() } else { Vec::new() };
        let at = report.findings[0].blame.as_mut();
        if let Some(at) = at.and_then(|blame| blame.at.as_mut()) {
            at.function = names[blamed.index(names.len())].to_owned();
        }
        let is_needed = |name: &str| {
            let is_own = knows && (name.contains("jobs") || name == "callback");
            let blame = report.findings[0].blame.iter();
            let mut blamed = blame.flat_map(Blame::frames);
            is_own || blamed.any(|frame| frame.function == name)
        };
        let mut next = 0;
        let mut last: Option<Range<usize>> = None;
        for part in report.collapse().parts(&names) {
            match part {
                Part::Frame(at) => {
                    prop_assert_eq!(at, next);
                    last = None;
                    next += 1;
                }
                Part::Run(run) => {
                    prop_assert_eq!(run.start, next);
                    prop_assert!(run.len() > 1);
                    // Two runs side by side are one.
                    prop_assert_eq!(last, None);
                    for name in &names[run.clone()] {
                        prop_assert!(!is_needed(name), "{} is needed", name);
                    }
                    next = run.end;
                    last = Some(run);
                }
            }
        }
        prop_assert_eq!(next, names.len());
    }
}
