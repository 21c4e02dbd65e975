//! A whole service under load: axum with sessions, a cache of pages, SQLite and a heap endpoint.

use std::env;
use std::fs;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_scenarios::{Loses, load, serve};
use tempfile::TempDir;

use crate::fake::Fake;
use crate::{given_time, interrupt, own_port, plimsoll, said, says};

/// Makes a process of these tests the service, `healthy` or `leaking`, or its load of so many
/// requests.
const MODE: &str = "PLIMSOLL_TEST_SERVICE";

/// The address that it listens at, or sends requests to.
const ADDRESS: &str = "PLIMSOLL_TEST_ADDRESS";

/// No test: what a process started by one does.
#[test]
fn served() {
    let Ok(mode) = env::var(MODE) else { return };
    let address = env::var(ADDRESS).unwrap();
    match &*mode {
        "leaking" => serve(Loses::Sessions, &address).unwrap(),
        "healthy" => serve(Loses::Nothing, &address).unwrap(),
        requests => {
            // At most a thousand a second.
            for first in (0..requests.parse().unwrap()).step_by(1_000) {
                let begun = Instant::now();
                load(address.parse().unwrap(), first..first + 1_000).unwrap();
                thread::sleep(Duration::from_secs(1).saturating_sub(begun.elapsed()));
            }
        }
    }
}

/// A cargo project whose server is the service, at a port of its own.
struct Project {
    folder: TempDir,
    port: u16,
}

impl Project {
    /// With a port of that number.
    fn new(number: u32) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"shop\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.path().join("lib.rs"), "").unwrap();
        let port = own_port(number);
        Project { folder, port }
    }

    fn plimsoll(&self, arguments: &[&str]) -> Command {
        let mut command = plimsoll(arguments);
        command.current_dir(self.folder.path());
        for name in ["PATH", "CARGO"] {
            command.env(name, env::var_os(name).unwrap_or_default());
        }
        command
    }

    /// Runs a command line, which succeeds.
    #[track_caller]
    fn says(&self, line: &str, expected: &[&str]) {
        let words: Vec<&str> = line.split(' ').collect();
        says(&mut self.plimsoll(&words), 0, expected);
    }

    /// Starts the service and its load, and watches it as a scenario.
    fn watch(&self, start: &str, load: &str, options: &[&str]) -> Command {
        let url = format!("http://127.0.0.1:{}/debug/pprof/heap", self.port);
        let scenario = ["watch", &url, "--scenario", "checkout"];
        let beside = ["--start", start, "--load", load];
        self.plimsoll(&[&scenario, &beside, options].concat())
    }

    /// The same by so many requests. Dumps are kept in a folder of that name.
    fn watch_requests(&self, mode: &str, requests: &str) -> Command {
        let (start, load) = (self.line(mode), self.line(requests));
        let time = format!("{}s", requests.parse::<u32>().unwrap() / 200);
        let per = ["--per", "http_requests_total", "--for", &time];
        self.watch(&start, &load, &[&per[..], &["--out", requests]].concat())
    }

    /// The command line of the service or of its load.
    fn line(&self, mode: &str) -> String {
        let conf = match mode {
            "healthy" | "leaking" => "prof:true,lg_prof_sample:0",
            _ => "prof:false",
        };
        format!(
            "exec env MALLOC_CONF={conf} {MODE}={mode} {ADDRESS}=127.0.0.1:{} '{}' \
             --exact service::served --nocapture",
            self.port,
            env::current_exe().unwrap().display()
        )
    }

    /// Asks the last dump that was kept for the ages of its objects.
    fn ages(&self, requests: &str) -> String {
        let dumps = fs::read_dir(self.folder.path().join(requests)).unwrap();
        let dumps = dumps.map(|dump| dump.unwrap().path());
        let newest = dumps.max_by_key(|dump| dump.metadata().unwrap().modified().unwrap());
        let newest = newest.unwrap();
        let mut show = plimsoll(&["show", "--ages", newest.to_str().unwrap()]);
        says(&mut show, 0, &[]).stdout
    }

    /// Tells whether nobody listens there any more.
    fn is_gone(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_err()
    }
}

#[test]
fn a_healthy_service_is_started_driven_and_within() {
    let project = Project::new(0);
    let told = given_time(["5000", "10000", "20000"], 0, |requests| {
        project.watch_requests("healthy", requests)
    });
    let nothing = " http_requests, nothing grows; would have seen ";
    told.has(0, &["checkout: ", nothing]);
    assert!(project.is_gone());
    project.says("report", &["1 scenario: 1 within"]);
}

/// Whatever ends a watch, nothing that it started goes on.
#[test]
fn what_ends_a_watch_is_told_apart() {
    let project = Project::new(1);
    let service = project.line("healthy");
    let dies = format!("(sleep 1; kill -9 0) & {service}");
    let no_route = "load: the load ended early: exit status 5\n    no route";
    let no_database = "failed setting up: the server ended: exit status 7";
    let killed = "the server ended: killed by signal 9";
    // Names would take a second each time, and none is asked for.
    let options = ["--for", "20m", "--sysroot", "."];
    for (start, load, status, expected) in [
        ("echo no database; exit 7", "true", 3, no_database),
        (&dies, &project.line("1000000"), 3, killed),
        (&service, "echo no route; exit 5", 4, no_route),
        (&service, "sleep 1", 3, "the load ended after "),
    ] {
        let mut watch = project.watch(start, load, &options);
        says(&mut watch, status, &[expected]);
        assert!(project.is_gone(), "{start}");
    }
    // The load tells when to interrupt the watch.
    let told = project.folder.path().join("told");
    let load = format!("touch '{}'; sleep 1000", told.display());
    let mut watch = project.watch(&service, &load, &options);
    let watch = watch.stderr(Stdio::null()).stdout(Stdio::null());
    let mut watch = watch.spawn().unwrap();
    while !told.exists() {
        let ended = watch.try_wait().unwrap();
        assert!(ended.is_none(), "it ended before its load began: {ended:?}");
        thread::sleep(Duration::from_millis(10));
    }
    interrupt(&watch);
    assert_eq!(watch.wait().unwrap().code(), Some(3), "too few dumps");
    assert!(project.is_gone());
}

/// A session is lost in one of a hundred requests, on the stack on which up to eight come and go.
#[test]
fn a_lost_session_is_named_by_requests_and_by_its_age() {
    let project = Project::new(2);
    let watch = |requests| {
        let told = said(&mut project.watch_requests("leaking", requests));
        (told, project.ages(requests))
    };
    let (mut told, mut aged) = watch("9000");
    for requests in ["18000", "36000"] {
        if told.status != Some(1) || !aged.contains("\nleaks ") {
            (told, aged) = watch(requests);
        }
    }
    let text = told.has(1, &["objects per http_request"]).stdout;
    let place = text.split("\n  in ").nth(1).unwrap_or_default();
    let blamed = "plimsoll_scenarios::http_service::Service::open_session";
    assert!(place.starts_with(blamed), "{text}");
    let leak = aged.split("\nleaks ").nth(1).unwrap_or_default();
    let blamed = "open_session at scenarios/src/http_service.rs:";
    assert!(leak.contains(blamed), "{aged}");
    project.says("report --format markdown", &["open_session"]);
    project.says("accept checkout --reason test", &[]);
    let baseline = fs::read_to_string(project.folder.path().join("baselines/checkout.toml"));
    let (baseline, per) = (baseline.unwrap(), "per = \"http_requests_total\"");
    assert!(baseline.contains(per), "{baseline}");

    // Without --per, growth is measured by the second.
    let server = Fake::with("200 OK", "", "main;cache 50000\n");
    let by_seconds = ["watch", &server.url("/"), "--scenario", "checkout"];
    let mut by_seconds = project.plimsoll(&[&by_seconds[..], &["--for", "2s"]].concat());
    let units = "expected allowances per second, found allowances per http_requests_total";
    says(&mut by_seconds, 4, &[units]);
    let said = said(by_seconds.env("PLIMSOLL_BASELINES", "optional"));
    let is_judged = said.status != Some(4) && said.stdout.starts_with("checkout: ");
    assert!(is_judged, "{said}");
}
