//! A job of a workflow: a checkout with reports, an event, and the real binary.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::process::{Command, Stdio};

use plimsoll_core::Rate;
use plimsoll_core::report::{Report, json as report_json};
use plimsoll_report::input::{self, Reader};
use plimsoll_report::joined;
use serde_json::{Value, json};

use crate::project::{CERTIFICATES, PLIMSOLL, Project, Ran, rate, regressed, within};
use crate::server::Server;
use crate::server::http::Request;
use crate::server::state::{State, TOKEN, zip_of};

/// The run id of a job whose own workflow measures.
pub(crate) const RUN: u64 = 500;

/// That of a run of a fork's pull request.
pub(crate) const FORKS_RUN: u64 = 600;

pub(crate) struct Job {
    server: Server,
    pub(crate) project: Project,
    env: BTreeMap<String, String>,
}

/// A stack of the pull request's own code, leaf last.
pub(crate) const STACK: &str = "main http::serve http::parse_headers";

pub(crate) const RATE: Rate = rate(1.0, 48.0);

/// One scenario that grows, one that does not.
pub(crate) fn red() -> [Report; 2] {
    [
        regressed("r1", "http::echo", STACK, RATE),
        within("r1", "lru_churn"),
    ]
}

/// Neither grows.
pub(crate) fn green() -> [Report; 2] {
    ["http::echo", "lru_churn"].map(|name| within("r1", name))
}

/// What a comment says.
pub(crate) fn text(comment: &Value) -> &str {
    comment["body"].as_str().unwrap()
}

/// Returns what `plimsoll report --format json` writes of them, without the names of their files.
pub(crate) fn joined(reports: &[Report]) -> Value {
    let parts = reports.iter().map(|report| {
        let text = report_json::to_string(report);
        let part = input::parse(text.as_bytes(), Reader::Bot).unwrap();
        (String::new(), part)
    });
    let joined = joined::merge(parts.collect()).joined;
    serde_json::from_str(&joined::json::to_string(&joined)).unwrap()
}

impl Deref for Job {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Job {
    /// Of a `pull_request` event from a branch of the same repository.
    pub(crate) fn new() -> Self {
        Self::on(Server::start())
    }

    /// The same, with these as the newest run's reports.
    pub(crate) fn of(reports: &[Report]) -> Self {
        let job = Self::new();
        job.leave(reports);
        job
    }

    pub(crate) fn on(server: Server) -> Self {
        let project = Project::new();
        project.write("summary.md", "");
        // Where the checkout begins.
        project.write(".git/HEAD", "ref: refs/heads/main\n");
        let path = |name: &str| project.path(name).to_string_lossy().into_owned();
        let (url, summary, workspace) = (server.url(), path("summary.md"), path(""));
        let env = [
            ("GITHUB_ACTIONS", "true"),
            ("CI", "true"),
            ("GITHUB_API_URL", &url),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "octo/demo"),
            ("GITHUB_RUN_ID", &RUN.to_string()),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_SHA", &"5".repeat(40)),
            ("GITHUB_STEP_SUMMARY", &summary),
            ("GITHUB_WORKSPACE", &workspace),
            ("GITHUB_TOKEN", TOKEN),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut job = Job {
            server,
            project,
            env: env.into(),
        };
        job.state().add_run(7, RUN, 2);
        job.event_of("pull_request", |state| state.pull_request_event(7));
        job
    }

    /// Of a `workflow_run` event after [`FORKS_RUN`], a run of a fork's pull request 8.
    pub(crate) fn after_fork() -> Self {
        let mut job = Self::new();
        job.state().with_fork().add_run(8, FORKS_RUN, 1);
        job.finished(json!({}));
        job
    }

    /// Of a `workflow_run` event after that run came out so.
    pub(crate) fn finished(&mut self, facts: Value) {
        self.event_of("workflow_run", |state| {
            let run = state.runs.get_mut(&FORKS_RUN).unwrap();
            let facts = facts.as_object().unwrap().clone();
            run.as_object_mut().unwrap().extend(facts);
            state.workflow_run_event(FORKS_RUN)
        });
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.env.remove(name);
        self
    }

    pub(crate) fn event(&mut self, name: &str, payload: &Value) {
        self.project.write("event.json", &payload.to_string());
        let path = self.project.path("event.json");
        self.set("GITHUB_EVENT_NAME", name);
        self.set("GITHUB_EVENT_PATH", &path.to_string_lossy());
    }

    /// The same, of what the server has.
    pub(crate) fn event_of(&mut self, name: &str, of: impl FnOnce(&mut State) -> Value) {
        let payload = of(&mut self.state());
        self.event(name, &payload);
    }

    /// Leaves these as the newest run's.
    pub(crate) fn leave(&self, reports: &[Report]) -> &Self {
        for report in reports {
            self.project.leave(report, 0);
        }
        self
    }

    /// Runs a command line of the binary, and checks what has to hold whatever happens:
    /// the token is in nothing that is printed or sent, GitHub's description was kept, and
    /// there is at most one comment of ours for a key.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_in("", line)
    }

    /// From a folder below.
    pub(crate) fn run_in(&self, dir: &str, line: &str) -> Ran {
        let args: Vec<&str> = line.split_whitespace().collect();
        let ran = self.program(PLIMSOLL, dir, &args, &BTreeMap::new());
        self.check(&ran);
        self.assert_clean();
        ran
    }

    pub(crate) fn check(&self, ran: &Ran) {
        let all = ran.to_string() + &self.summary();
        assert!(!all.contains(TOKEN), "the token was printed:\n{all}");
        for request in self.requests() {
            let body = String::from_utf8_lossy(&request.body);
            assert!(!body.contains(TOKEN), "the token was sent: {body}");
        }
        for line in ran.stdout.lines().chain(ran.stderr.lines()) {
            let command = line.trim_start().starts_with("::") || line.contains("##[");
            let ours = ["::error ", "::warning ", "::stop-commands::"];
            let ends = line.len() == 36 && line.ends_with("::");
            let is_ours = ends || ours.iter().any(|ours| line.starts_with(ours));
            assert!(!command || is_ours, "a command: {line}");
            let errors = line.matches("::error").count();
            assert!(!command || errors < 2, "two commands: {line}");
        }
    }

    /// Runs some program of the job, with variables of its step.
    pub(crate) fn program(
        &self,
        program: &str,
        dir: &str,
        args: &[&str],
        step: &BTreeMap<String, String>,
    ) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project.path(dir));
        command.env_clear().stdin(Stdio::null());
        let kept = ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "CARGO"];
        command.envs(std::env::vars_os().filter(|(name, _)| kept.iter().any(|kept| name == kept)));
        command.envs([CERTIFICATES]).envs(&self.env).envs(step);
        let output = command.output().unwrap();
        self.project.ran(output)
    }

    /// `comment` on the reports that were left, with a patience for tests: it succeeds.
    #[track_caller]
    pub(crate) fn comment(&self, more: &str) -> Ran {
        self.comment_ends(0, more)
    }

    /// The same, with this status.
    #[track_caller]
    pub(crate) fn comment_ends(&self, status: i32, more: &str) -> Ran {
        let line = format!("comment --report target/plimsoll --timeout 2s {more}");
        self.run(&line).ends(status)
    }

    pub(crate) fn summary(&self) -> String {
        self.project.read("summary.md")
    }

    /// Every comment that a bot wrote.
    pub(crate) fn ours(&self) -> Vec<Value> {
        let mut all: Vec<Value> = self.state().comments.values().cloned().collect();
        all.retain(|comment| comment["user"]["type"] == "Bot");
        all
    }

    /// The one comment.
    #[track_caller]
    pub(crate) fn the_comment(&self) -> Value {
        let ours = self.ours();
        assert_eq!(ours.len(), 1, "{ours:#?}");
        ours[0].clone()
    }

    /// Asserts that the one comment says all of these. Returns its text.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) -> String {
        let body = text(&self.the_comment()).to_owned();
        for word in words {
            assert!(body.contains(word), "expected `{word}`: {body}");
        }
        body
    }

    /// The check run that GitHub shows.
    #[track_caller]
    pub(crate) fn the_check(&self) -> Value {
        let last = self.state().checks.values().next_back().cloned();
        last.expect("a check run")
    }

    /// Asserts that the check run has this conclusion.
    #[track_caller]
    pub(crate) fn concludes(&self, conclusion: &str) {
        assert_eq!(self.the_check()["conclusion"], conclusion);
    }

    /// The annotations of the only check run.
    pub(crate) fn annotations(&self) -> Vec<Value> {
        let all = self.state().annotations.clone();
        all.into_values().flatten().collect()
    }

    pub(crate) fn checks(&self) -> usize {
        self.state().checks.len()
    }

    /// `METHOD path` of every request.
    pub(crate) fn log(&self) -> Vec<String> {
        self.requests().iter().map(Request::line).collect()
    }

    /// Asserts how often a kind of request was made.
    #[track_caller]
    pub(crate) fn asked(&self, method: &str, path: &str, times: usize) {
        let (count, log) = (self.count(method, path), self.log());
        assert_eq!(count, times, "{method} {path}: {log:#?}");
    }

    /// How often a kind of request was made.
    pub(crate) fn count(&self, method: &str, path: &str) -> usize {
        let mut all = self.requests();
        all.retain(|request| request.method == method && request.path.contains(path));
        all.len()
    }

    /// The report that [`FORKS_RUN`] would hand on.
    pub(crate) fn passed_on(&self, reports: &[Report]) -> Value {
        let mut joined = joined(reports);
        let pull = &self.state().pulls[&8];
        joined["source"] = json!({
            "repository": "octo/demo",
            "event": "pull_request",
            "run": FORKS_RUN,
            "attempt": 1,
            "pull_request": 8,
            "head": pull["head"]["sha"],
            "base": pull["base"]["sha"],
            "prefix": "",
        });
        joined
    }

    /// Leaves a report as an artifact of that run.
    pub(crate) fn upload(&self, name: &str, report: &Value) {
        self.upload_of(FORKS_RUN, "topic", name, report);
    }

    /// The same for any run of a branch.
    pub(crate) fn upload_of(&self, run: u64, branch: &str, name: &str, report: &Value) {
        let zip = zip_of(&[("report.json", report.to_string().as_bytes())]);
        self.state().add_artifact(run, branch, name, zip);
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ends(self, status: i32) -> Self {
        self.has(status, &[])
    }

    #[track_caller]
    pub(crate) fn prints(&self, words: &str) -> &Self {
        assert!(self.stdout.contains(words), "expected `{words}`: {self}");
        self
    }

    /// On the standard error.
    #[track_caller]
    pub(crate) fn warns(&self, words: &str) -> &Self {
        assert!(self.stderr.contains(words), "expected `{words}`: {self}");
        self
    }
}
