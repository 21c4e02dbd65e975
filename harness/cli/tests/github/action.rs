//! The composite action: its `action.yml` is read, its conditions and variables are
//! worked out as the runner does, and its scripts run with the real binary.
//!
//! Only what `action.yml` uses is understood; anything else is a failing test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plimsoll_core::report::Report;

use crate::job::{Job, green, red};
use crate::project::{PLIMSOLL, Ran};
use crate::server::state::TOKEN;

type Map = BTreeMap<String, String>;

/// Programs that the scripts call, and no others: a runner has more, a desk less.
const PROGRAMS: &str =
    "bash cat chmod cp cut env git gzip head mkdir realpath rm sed sha256sum tar uname";

fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("../../.github/actions/plimsoll");
    folder.canonicalize().unwrap()
}

/// `name`, `id`, `if`, `run`, `uses`, `working-directory`, `shell`; and `env.NAME`, `with.NAME`.
type Step = Map;

fn scalar(text: &str) -> String {
    let text = text.trim();
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    let plain = || text.split(" # ").next().unwrap_or_default();
    let bare = inner('"').or_else(|| inner('\''));
    bare.unwrap_or_else(plain).to_owned()
}

/// The inputs' defaults, and the steps.
fn read_action() -> (Map, Vec<Step>) {
    let text = fs::read_to_string(folder().join("action.yml")).unwrap();
    let (mut inputs, mut steps) = (Map::new(), Vec::<Step>::new());
    // The keys that a line is below, and its own; each with its indent.
    let mut keys: Vec<(usize, &str)> = Vec::new();
    let is_text = |line: &&str| !line.is_empty() && !line.trim_start().starts_with('#');
    for line in text.lines().filter(is_text) {
        let text = line.trim_start_matches([' ', '-']);
        let indent = line.len() - text.len();
        keys.retain(|(other, _)| *other < indent);
        let Some((key, value)) = text.split_once(':') else {
            // More of a folded text.
            if let (Some(step), Some((_, key))) = (steps.last_mut(), keys.last()) {
                *step.get_mut(*key).unwrap() += &format!(" {text}");
            }
            continue;
        };
        keys.push((indent, key));
        if line.contains("- name:") {
            steps.push(Step::new());
        }
        let value = scalar(value).replace(">-", "");
        let path: Vec<&str> = keys.iter().map(|(_, key)| *key).collect();
        match &path[..] {
            ["runs", "steps", key @ ..] if !key.is_empty() => {
                steps.last_mut().unwrap().insert(key.join("."), value)
            }
            ["inputs", input] | ["inputs", input, "default"] => {
                inputs.insert((*input).to_owned(), value)
            }
            _ => None,
        };
    }
    assert!(steps.len() > 4 && inputs.len() > 10, "action.yml was read");
    (inputs, steps)
}

/// An expression of `a`, `a == 'b'`, `a != 'b'`, joined by `&&` and `||`.
fn evaluate(expression: &str, known: &Map) -> String {
    let atom = |text: &str| {
        let text = text.trim();
        let literal = text.strip_prefix('\'');
        let literal = literal.and_then(|text| text.strip_suffix('\''));
        match (literal, known.get(text)) {
            (Some(literal), _) => literal.to_owned(),
            (None, Some(value)) => value.clone(),
            // A step that did not run has no outputs.
            (None, None) if text.starts_with("steps.") => String::new(),
            (None, None) => panic!("what is `{text}`?"),
        }
    };
    let truth = |yes: bool| if yes { "true" } else { "" }.to_owned();
    let term = |text: &str| match (text.split_once("=="), text.split_once("!=")) {
        (Some((left, right)), _) => truth(atom(left) == atom(right)),
        (_, Some((left, right))) => truth(atom(left) != atom(right)),
        _ => atom(text),
    };
    let and = |one: String, other| if one.is_empty() { one } else { other };
    let or = |one: String, other| if one.is_empty() { other } else { one };
    let all = |text: &str| text.split("&&").map(term).reduce(and).unwrap();
    expression.split("||").map(all).reduce(or).unwrap()
}

fn template(text: &str, known: &Map) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").expect("an end");
        done.push_str(before);
        done.push_str(&evaluate(expression.trim(), known));
        rest = after;
    }
    done + rest
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/usr/bin/env bash\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

struct Action {
    job: Job,
    temp: tempfile::TempDir,
    inputs: Map,
}

/// What became of the steps that ran, by name.
#[derive(Default)]
struct Done {
    steps: BTreeMap<String, Ran>,
    uploads: Vec<(String, PathBuf)>,
    failed: bool,
}

impl Done {
    #[track_caller]
    fn step(&self, name: &str) -> &Ran {
        let ran = self.steps.get(name);
        ran.unwrap_or_else(|| panic!("`{name}` did not run"))
    }

    #[track_caller]
    fn ok(self) -> Self {
        for (name, ran) in &self.steps {
            assert_eq!(ran.status, Some(0), "{name}: {ran}");
        }
        self
    }

    fn uploaded(&self) -> Vec<&str> {
        self.uploads.iter().map(|(name, _)| name.as_str()).collect()
    }
}

impl Action {
    /// Where these reports were left.
    fn on(command: &str, reports: &[Report]) -> Self {
        Self::of(Job::of(reports), command)
    }

    /// With a program for `binary:` that starts the one of these tests. That has 200 MB,
    /// unoptimised: too many to copy or to pack for every test.
    fn of(mut job: Job, command: &str) -> Self {
        // A step has it where action.yml says so.
        job.unset("GITHUB_TOKEN");
        let mut action = Self {
            job,
            temp: tempfile::tempdir().unwrap(),
            inputs: read_action().0,
        };
        let program = action.program();
        fs::create_dir(program.parent().unwrap()).unwrap();
        write_program(&program, &format!("exec '{PLIMSOLL}' \"$@\""));
        action.give("command", command);
        action.give("binary", &program.to_string_lossy());
        fs::create_dir(action.fakes()).unwrap();
        let path = std::env::var("PATH").unwrap();
        for program in PROGRAMS.split(' ') {
            let mut found = path.split(':').map(|dir| Path::new(dir).join(program));
            if let Some(found) = found.find(|path| path.is_file()) {
                std::os::unix::fs::symlink(found, action.fakes().join(program)).unwrap();
            }
        }
        action
    }

    fn program(&self) -> PathBuf {
        self.temp.path().join("release/plimsoll")
    }

    /// Where all programs come from that the scripts may call.
    fn fakes(&self) -> PathBuf {
        self.temp.path().join("fakes")
    }

    fn fake(&self, name: &str, script: &str) -> &Self {
        let path = self.fakes().join(name);
        let _ = fs::remove_file(&path);
        write_program(&path, script);
        self
    }

    #[track_caller]
    fn give(&mut self, input: &str, value: &str) -> &mut Self {
        let known = self.inputs.insert(input.to_owned(), value.to_owned());
        assert!(known.is_some(), "action.yml has no input `{input}`");
        self
    }

    /// Runs what the runner would.
    fn run(&self) -> Done {
        let temp = |name: &str| self.temp.path().join(name);
        let known = [
            ("always()", "true"),
            ("github.token", TOKEN),
            ("github.run_attempt", "1"),
            ("github.action_repository", "plim/soll"),
        ];
        let mut known = Map::from(known.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (name, value) in &self.inputs {
            let value = template(value, &known);
            known.insert(format!("inputs.{name}"), value);
        }
        let mut done = Done::default();
        for step in read_action().1 {
            let key = |name: &str| step.get(name).map_or("", String::as_str);
            let condition = key("if");
            if done.failed && !condition.contains("always()") {
                continue;
            }
            if !condition.is_empty() && evaluate(condition, &known).is_empty() {
                continue;
            }
            // The keys below `env` or `with`.
            let map = |start: &str| -> Map {
                let below = step.iter().filter_map(|(key, value)| {
                    Some((key.strip_prefix(start)?.to_owned(), template(value, &known)))
                });
                below.collect()
            };
            let id = key("id");
            if key("uses").starts_with("actions/upload-artifact@") {
                let with = map("with.");
                let path = PathBuf::from(&with["path"]);
                let name = match with.get("archive").map(String::as_str) {
                    Some("false") => path.file_name().unwrap().to_string_lossy().into_owned(),
                    _ => with["name"].clone(),
                };
                assert!(path.is_file(), "{name}: nothing at {}", path.display());
                let address = format!("https://github.com/octo/demo/actions/runs/500/{name}");
                known.insert(format!("steps.{id}.outputs.artifact-url"), address);
                done.uploads.push((name, path));
                continue;
            }
            let mut env = map("env.");
            fs::write(temp("output"), "").unwrap();
            for (name, path) in [
                ("RUNNER_TEMP", self.temp.path().to_owned()),
                ("GITHUB_OUTPUT", temp("output")),
                ("GITHUB_ACTION_PATH", folder()),
                ("PATH", self.fakes()),
                ("FAKES", self.fakes()),
            ] {
                env.insert(name.to_owned(), path.to_string_lossy().into_owned());
            }
            assert_eq!(key("shell"), "bash");
            let dir = template(key("working-directory"), &known);
            let args = ["--noprofile", "--norc", "-eo", "pipefail", "-c", key("run")];
            let bash = self.fakes().join("bash");
            let ran = self.job.program(&bash.to_string_lossy(), &dir, &args, &env);
            self.job.check(&ran);
            self.job.assert_clean();
            let failed = ran.status != Some(0);
            done.failed |= failed;
            let outcome = if failed { "failure" } else { "success" };
            known.insert(format!("steps.{id}.outcome"), outcome.to_owned());
            for line in fs::read_to_string(temp("output")).unwrap().lines() {
                let (name, value) = line.split_once('=').expect("name=value");
                let known_outputs = ["report", "upload", "html"];
                assert!(known_outputs.contains(&name), "an output: {line}");
                known.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
            done.steps.insert(key("name").to_owned(), ran);
        }
        done
    }

    /// An action that has to install a release, and what stands in for the release,
    /// its digest with it.
    fn installing() -> (Self, String) {
        let mut action = Self::on("report", &green());
        action.give("binary", "");
        action.fake(
            "curl",
            "printf '%s\\n' \"$@\" >\"$FAKES/curl.args\"\n\
             [[ -f $FAKES/archive ]] || exit 22\n\
             while (($#)); do [[ $1 != --output ]] || cp \"$FAKES/archive\" \"$2\"; shift; done",
        );
        action.fake("uname", "echo Linux x86_64");
        let script = "tar -czf archive -C ../release plimsoll && sha256sum archive";
        let mut bash = std::process::Command::new("bash");
        let bash = bash.args(["-c", script]).current_dir(action.fakes());
        let digest = String::from_utf8(bash.output().unwrap().stdout).unwrap();
        let digest = digest.split(' ').next().unwrap().to_owned();
        assert_eq!(digest.len(), 64, "{digest}");
        (action, digest)
    }

    fn said(&self, name: &str) -> String {
        fs::read_to_string(self.fakes().join(name)).unwrap_or_default()
    }

    /// The same, of an action that is given each of these; afterwards, what it was given before.
    #[track_caller]
    fn refuses_each(&mut self, input: &str, values: &[&str], why: &str) {
        let before = self.inputs[input].clone();
        for value in values {
            self.give(input, value);
            self.refuses(why);
        }
        self.give(input, &before);
    }

    /// That nothing was installed, for this reason.
    #[track_caller]
    fn refuses(&self, why: &str) {
        let done = self.run();
        let ran = done.step("Install plimsoll");
        assert_eq!(ran.status, Some(1), "{ran}");
        ran.prints("::error title=plimsoll::");
        ran.prints(why);
        assert_eq!(done.steps.len(), 1, "nothing runs without the program");
        let binary = self.temp.path().join("plimsoll/bin/plimsoll");
        assert!(!binary.exists(), "it was put in place all the same");
    }
}

#[test]
fn every_variable_of_a_script_is_given_by_its_step() {
    for step in read_action().1 {
        // What is uploaded has no script.
        let Some((_, script)) = step.get("run").and_then(|run| run.split_once('/')) else {
            continue;
        };
        let script = script.trim_matches('"');
        let text = fs::read_to_string(folder().join(script)).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        let ends = |char: char| !char.is_ascii_alphanumeric() && char != '_';
        let words = code.flat_map(|line| line.split(ends));
        let inputs = |name: &&str| name.starts_with("INPUT_");
        let read: BTreeSet<&str> = words.filter(inputs).collect();
        let given = step.keys().filter_map(|key| key.strip_prefix("env."));
        let given: BTreeSet<&str> = given.filter(inputs).collect();
        assert_eq!(read, given, "{script}");
    }
}

#[test]
fn comment_says_it_everywhere_and_leads_to_the_page() {
    let action = Action::on("comment", &red());
    let done = action.run().ok();
    let both = ["plimsoll-report-1", "plimsoll-report-1.html"];
    assert_eq!(done.uploaded(), both);
    // `fetch` looks for that name in the archive.
    assert_eq!(done.uploads[0].1.file_name().unwrap(), "report.json");
    action.job.says(&["runs/500/plimsoll-report-1.html"]);
    assert!(action.job.summary().contains("http::echo"));
    assert_eq!(action.job.checks(), 1);
}

#[test]
fn report_asks_for_nothing_and_warns_of_nothing() {
    for (event, strict) in [("push", ""), ("push", "fail"), ("pull_request", "")] {
        let mut action = Action::on("report", &red());
        action.give("on-post-error", strict);
        action.job.event_of(event, |state| match event {
            "push" => state.push_event(),
            _ => state.with_fork().pull_request_event(8),
        });
        let done = action.run().ok();
        let ran = done.step("Comment");
        ran.prints("::error ");
        for no in ["GITHUB_TOKEN", "warning", "nothing posted"] {
            assert!(!ran.to_string().contains(no), "{no}: {ran}");
        }
        assert_eq!(action.job.log(), [""; 0]);
        assert!(action.job.summary().contains("http::echo"));
        assert_eq!(done.uploads.len(), 2);
    }
}

#[test]
fn what_report_uploads_is_what_fetch_and_comment_takes() {
    let job = Job::after_fork();
    job.upload("leaks-1", &job.passed_on(&red()));
    let mut action = Action::of(job, "fetch-and-comment");
    action.give("artifact-name", "leaks");
    // The report is not uploaded again.
    assert_eq!(action.run().ok().uploaded(), ["leaks-1.html"]);
    action.job.says(&["keep", "own code"]);
}

#[test]
fn a_report_that_is_not_there_is_said_not_to_be() {
    for (command, job) in [
        ("comment", Job::new()),
        ("fetch-and-comment", Job::after_fork()),
    ] {
        let action = Action::of(job, command);
        let done = action.run();
        // Fetching has done its work; measuring has not.
        assert_eq!(done.failed, command == "comment");
        assert_eq!(done.step("Comment").status, Some(0));
        assert!(done.uploads.is_empty());
        action.job.says(&["no result"]);
    }
}

#[test]
fn an_earlier_report_of_the_job_is_not_taken_for_this_one() {
    let mut action = Action::on("comment", &green());
    action.run().ok();
    let done = action.give("report", "no such folder").run();
    assert!(done.failed && done.uploads.is_empty());
    action.job.says(&["no result"]);
}

/// In the place of plimsoll is a program that says what it is given.
#[test]
fn inputs_are_words_and_never_code() {
    let waits = "max-wait timeout";
    let all = "key when check-name image bot-login on-post-error artifact-url max-wait timeout";
    for (command, step, inputs) in [
        ("comment", "Comment", all),
        ("fetch-and-comment", "Report", waits),
        ("prune-images", "Prune images", waits),
    ] {
        let mut action = Action::on(command, &[]);
        write_program(&action.program(), "printf '<%s>' \"$@\"");
        let hostile = |input| format!("--{input} \"'`touch pwned`$(touch pwned);touch pwned");
        for input in inputs.split(' ') {
            action.give(input, &hostile(input));
        }
        action.give("skip", " annotations,\n  summary\n");
        // Folders are taken as they are, also one that looks like an option.
        action.give("report", "\n--output=pwned\ntwo words\n$(touch pwned)\n*\n");
        let done = action.run().ok();
        for input in inputs.split(' ') {
            let word = format!("<--{input}={}>", hostile(input));
            done.step(step).prints(&word);
        }
        if command == "comment" {
            let skipped = "<--skip=annotations><--skip=summary>";
            done.step("Comment").prints(skipped);
            let folders = "<--><--output=pwned><two words><$(touch pwned)><*>";
            done.step("Report").prints(folders);
        }
        assert_eq!(done.steps.len(), if step == "Prune images" { 2 } else { 3 });
        assert!(!action.job.project.exists("pwned"));
    }
}

#[test]
fn names_that_become_files_and_commands_that_there_are_not() {
    let names = ["", ".", "-x", "a b", "../x", "a/b", "x\nhtml=/", "$(id)"];
    let names = names.map(|name| ("artifact-name", name));
    let commands = ["", "coment", "prune", "report\n"].map(|command| ("command", command));
    for (input, value) in names.into_iter().chain(commands) {
        let mut action = Action::on("report", &green());
        let done = action.give(input, value).run();
        let ran = done.step("Report");
        assert_eq!(ran.status, Some(1), "{input} {value}: {ran}");
        ran.prints("::error title=plimsoll::");
        assert!(done.failed && done.uploads.is_empty() && action.job.log().is_empty());
    }
}

#[test]
fn a_binary_has_to_be_one() {
    let mut action = Action::on("report", &[]);
    let (no_file, no_program) = ("binary: expected a file", "binary: expected a program");
    action.refuses_each("binary", &["target/no such file", "src"], no_file);
    action.refuses_each("binary", &["Cargo.toml"], no_program);
    // The same one twice in a job.
    action.job.leave(&green());
    action.give("binary", PLIMSOLL).run().ok();
    let installed = action.temp.path().join("plimsoll/bin/plimsoll");
    action.give("binary", &installed.to_string_lossy());
    action.run().ok();
}

#[test]
fn a_release_is_unpacked_only_with_a_digest_or_an_attestation() {
    let (mut action, digest) = Action::installing();
    action.refuses("nothing to check the archive with");
    let zeros = "0".repeat(64);
    // Not by its beginning, and not as a pattern.
    let others = [&*zeros, &digest[..63], "* ?????"];
    action.refuses_each("sha256", &others, "none of those in `sha256`");
    let listed = format!("{zeros}\n {}", digest.to_uppercase());
    action.give("sha256", &listed).run().ok();
    let asked = action.said("curl.args");
    let version = env!("CARGO_PKG_VERSION");
    let address = format!(
        "https://github.com/plim/soll/releases/download/v{version}/\
         plimsoll-x86_64-unknown-linux-gnu.tar.gz"
    );
    assert!(asked.lines().any(|line| line == address), "{asked}");
    assert!(asked.contains("--proto\n=https\n"), "{asked}");
}

#[test]
fn an_attestation_is_verified_against_repository_workflow_and_tag() {
    let (mut action, digest) = Action::installing();
    action.fake("gh", "printf '%s\\n' \"$@\" >\"$FAKES/gh.args\"; exit 1");
    // A digest that fits does not make up for it.
    action.refuses_each("sha256", &["", &digest], "attestation cannot be verified");
    let version = env!("CARGO_PKG_VERSION");
    let asked = action.said("gh.args").replace('\n', " ");
    for part in [
        "attestation verify",
        "--repo plim/soll ",
        "--signer-workflow plim/soll/.github/workflows/release.yml ",
        &format!("--source-ref refs/tags/v{version} "),
        "--deny-self-hosted-runners",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    action.fake("gh", "[[ -n $GH_TOKEN ]]");
    action.give("sha256", "").run().ok();
    // Of a mirror there is no attestation.
    action.give("releases", "https://mirror.example/plimsoll/");
    let binary = action.temp.path().join("plimsoll/bin/plimsoll");
    fs::remove_file(binary).unwrap();
    action.refuses("nothing to check the archive with");
    action.give("sha256", &digest).run().ok();
    let asked = action.said("curl.args");
    let address = format!("https://mirror.example/plimsoll/v{version}/");
    assert!(asked.contains(&address), "{asked}");
}

#[test]
fn what_cannot_be_installed_is_said() {
    let (mut action, digest) = Action::installing();
    action.give("sha256", &digest);
    let versions = ["v0.1.0", "0.1", "../../x", "0.1.0\nx", "$(id)", "-1.0.0"];
    let addresses = ["--config=/etc/passwd", "http://mirror.example"];
    let no_address = "releases: expected an https address";
    let way = "install: expected release or source";
    action.refuses_each("version", &versions, "version: expected one such as 0.1.0");
    action.refuses_each("releases", &addresses, no_address);
    for platform in ["Darwin arm64", "Linux riscv64"] {
        action.fake("uname", &format!("echo {platform}"));
        action.refuses(&format!("no release for {platform}"));
    }
    action.fake("uname", "echo Linux x86_64");
    action.refuses_each("install", &["nightly"], way);
    fs::remove_file(action.fakes().join("archive")).unwrap();
    action.refuses("cannot be downloaded");
}

#[test]
fn building_from_source_has_no_token() {
    let (mut action, _) = Action::installing();
    action.fake(
        "cargo",
        "env >\"$FAKES/cargo.env\"; printf '%s\\n' \"$@\" >\"$FAKES/cargo.args\"\n\
         cp \"$FAKES/../release/plimsoll\" \"$RUNNER_TEMP/plimsoll/bin/plimsoll\"",
    );
    action.give("install", "source").run().ok();
    // Build scripts of dependencies see it.
    assert!(!action.said("cargo.env").contains(TOKEN));
    let asked = action.said("cargo.args");
    assert!(asked.contains("--locked\n"), "{asked}");
    let (_, path) = asked.split_once("--path\n").unwrap();
    let path = path.lines().next().unwrap();
    assert!(Path::new(path).join("Cargo.toml").is_file(), "{path}");
}
