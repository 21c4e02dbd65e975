//! A report and a finding with nothing special in them: a test changes what it is about.
//! The tests of other packages have them from here, too.

use plimsoll_core::blame::Blame;
use plimsoll_core::holders::{ChainEnd, HolderLink, Holders, LinkKind};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{
    Finding, LadderEnd, Measured, Report, Run, Rung, Standing, Subject, Visible,
};
use plimsoll_core::{FoldedStack, Frame, Law, Rate, Tally};

/// Of the package `demo` and its test `leaks`: two rungs, and no finding.
pub(crate) fn report(run: &str, scenario: &str, verdict: Verdict) -> Report {
    let run = Run {
        id: run.to_owned(),
        commit: None,
        package: "demo".to_owned(),
        target: "leaks".to_owned(),
        scenarios: Vec::new(),
        selected: None,
        built_with: Vec::new(),
        benchmark: None,
        runner: plimsoll_core::report::Runner::Test,
        plimsoll: "0.1.0".to_owned(),
        files: format!("target/plimsoll/demo/leaks/{scenario}"),
        baseline: format!("baselines/{scenario}.toml"),
    };
    Report {
        verdict,
        measured: Some(Measured {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            profile: "debug".to_owned(),
            toolchain: "rustc 1.95.0".to_owned(),
            jemalloc: "5.3.0".to_owned(),
            sample_interval: 1,
            unwinder: "framehop".to_owned(),
        }),
        rungs: [512, 1_024].map(rung).to_vec(),
        end: LadderEnd::Budget,
        visible: Some(Visible {
            objects: Some(0.001),
            bytes: Some(0.008),
        }),
        ..Report::unmeasured(run, scenario, Some(1_000))
    }
}

/// Ten live objects, after so many iterations.
pub(crate) fn rung(iterations: u64) -> Rung {
    Rung {
        iterations,
        live: Tally {
            objects: 10,
            bytes: 1_000,
        },
        allocated: Some(1_000),
        threads: 1,
        descriptors: 3,
        resident: 1 << 20,
        ..Rung::default()
    }
}

/// A new stack that keeps growing; its names, root first, have a space between two.
pub(crate) fn finding(stack: &str, rate: Rate) -> Finding {
    let names: Vec<String> = stack.split(' ').map(str::to_owned).collect();
    let frames = names.iter().rev().map(|name| Frame {
        function: name.clone(),
        file: Some("src/lib.rs".to_owned()),
        line: Some(7),
    });
    Finding {
        verdict: Verdict::Regressed,
        frames: frames.collect(),
        blame: None,
        lacks: None,
        clock: None,
        subject: Subject::Stack(FoldedStack(names)),
        rate,
        error: Rate::default(),
        law: Law::Linear,
        objects_law: Law::Linear,
        bytes_law: Law::Linear,
        allowed: Rate::default(),
        standing: Standing::New,
        moved_from: None,
        reason: None,
        levels: vec![Tally::default(); 2],
        survivors: Vec::new(),
        mappings: Vec::new(),
        holders: None,
    }
}

/// A place to blame: a function, in this line of `src/store.rs`.
pub(crate) fn blame(function: &str, line: u32) -> Blame {
    Blame {
        at: Some(Frame {
            function: function.to_owned(),
            file: Some("src/store.rs".to_owned()),
            line: Some(line),
        }),
        ..Blame::default()
    }
}

/// A thing that holds all of a hundred objects.
pub(crate) fn link(kind: LinkKind, name: &str, count: u64) -> HolderLink {
    HolderLink {
        kind,
        name: Some(name.to_owned()),
        blame: None,
        count,
        bytes: 0,
        is_fixed: false,
        holds: 100,
        through: 0,
        of: 100,
    }
}

/// Sessions in a map that `store::open` fills, of a static.
pub(crate) fn in_a_map() -> Holders {
    let map = HolderLink {
        blame: Some(blame("store::open", 9)),
        bytes: 4096,
        ..link(LinkKind::Objects, "HashMap<u64, Arc<Session>>", 1)
    };
    Holders {
        what: Some("Arc<Session>".to_owned()),
        of: 100,
        objects: 100,
        weak: 0,
        chain: vec![map, link(LinkKind::Static, "app::SESSIONS", 1)],
        end: ChainEnd::Root,
        also: None,
        cycle: None,
    }
}
