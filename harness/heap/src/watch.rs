//! `plimsoll watch`: takes dumps of a server over time, and judges them.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::judge::Verdict;
use plimsoll_profile::Profile;
use plimsoll_profile::read;

use crate::args::{ScenarioArgs, WatchArgs};
use crate::climb::{Climb, Dump, Pace, Plan, World};
use crate::dumps::Files;
use crate::load::{hinted, without_objects};
use crate::memory::Limit;
use crate::metrics::{self, Counter};
use crate::scenario::{Broke, Scenario};
use crate::series::{Asked, Series};
use crate::servers::Server;
use crate::source::Served;
use plimsoll_desk::beside::{self, Beside};
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::Out;
use plimsoll_desk::progress::{Progress, about};
use plimsoll_desk::status::{ExitStatus, Refused};

/// How often a pause is interrupted, to update the progress and to check for Ctrl-C.
const PERIOD: Duration = Duration::from_millis(50);

/// How long a server may take until it answers.
const LONGEST_START: Duration = Duration::from_secs(120);

/// How long a server may outlive a load that failed because the server did.
const AFTER_LOAD: Duration = Duration::from_secs(1);

pub fn watch(args: &WatchArgs, out: &mut Out) -> anyhow::Result<()> {
    if args.common.http.from == Some(Server::Risingwave) {
        return Err(Refused::usage(
            "expected a server that can be asked for a dump\n  hint: RisingWave puts its dumps \
             into a folder; to judge them, run `plimsoll compare DIR`",
        ));
    }
    if args.length.is_zero() {
        return Err(Refused::usage("expected a time to watch (--for)"));
    }
    let pace = match (&args.per, args.every) {
        (Some(counter), _) => Pace::Counter(counter.to_string()),
        (None, Some(every)) if every.is_zero() || every > args.length => {
            return Err(Refused::usage(
                "expected the time between dumps (--every) to be at most the whole time (--for)",
            ));
        }
        (None, Some(every)) => Pace::Every(every),
        (None, None) => Pace::Ladder,
    };
    args.common.output.check(&[])?;
    let scenario = match args.scenario.scenario {
        None => None,
        Some(_) => {
            let per = args
                .per
                .as_ref()
                .map_or("second".to_owned(), Counter::to_string);
            let scenario = Scenario::prepare(&args.scenario, per.parse()?)?;
            if let Some(problem) = scenario.problem() {
                let symbols = &args.common.symbols;
                return scenario.conclude(
                    &Files::default(),
                    symbols,
                    Some(&problem),
                    Vec::new(),
                    out,
                );
            }
            Some(scenario)
        }
    };
    let served = Served::of(&args.url, args.common.http.from, &args.common.http)?;
    let counter = match &args.per {
        None => None,
        Some(counter) => {
            let beside = || served.beside("/metrics");
            let address = args.metrics.clone().or_else(beside);
            let address = address.context("expected an address")?;
            let metrics = Served::of(&address, None, &args.common.http)?;
            Some((metrics, counter))
        }
    };
    let interrupt = Interrupt::listen().context("Ctrl-C cannot be listened for")?;
    let temporary;
    let folder = match &args.out {
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| plimsoll_desk::project::shown(folder))?;
            folder.as_path()
        }
        None => {
            temporary = tempfile::tempdir().context("no temporary folder")?;
            temporary.path()
        }
    };
    let name = served.name();
    let check = |profile: &Profile| {
        let measure = args.common.what.measure();
        let mut gates = args.fail_on.iter();
        gates.try_for_each(|gate| gate.check(&name, profile, measure))
    };
    let plan = Plan {
        name: name.clone(),
        pace,
        length: args.length,
        folder,
        check: &check,
    };
    let mut real = Real {
        limit: args.common.symbols.limit(),
        served,
        counter,
        folder,
        is_dumped: false,
        interrupt,
        start: Instant::now(),
        progress: Progress::new(),
        notes: Vec::new(),
        server: None,
        load: None,
        out,
    };
    let started = match &scenario {
        Some(scenario) => real.start_all(&args.scenario, scenario)?,
        None => Ok(()),
    };
    real.start = Instant::now();
    let climbed = match started {
        Ok(()) => Climb::new(plan, &mut real).run().map(Ok),
        Err(broke) => Ok(Err(broke)),
    };
    if let Some(scenario) = scenario {
        let broke = real.broke();
        if broke.is_none()
            && real
                .load
                .as_mut()
                .is_some_and(|load| load.ended().is_some())
        {
            let after = about(real.now());
            real.note(&format!(
                "the load ended after {after}; the dumps until then are judged"
            ));
        }
        let mut notes = real.end_all();
        let (mut files, broke) = match climbed {
            Ok(Ok(files)) => (files, broke),
            Ok(Err(broke)) => (Files::default(), Some(broke)),
            Err(err) if broke.is_some() || status_of(&err) == Some(ExitStatus::NoVerdict) => {
                let why = err.to_string();
                notes.extend(why.lines().map(|line| line.trim().to_owned()));
                (Files::default(), broke)
            }
            Err(err) => return Err(err),
        };
        files.server = args.out.is_none().then_some(name);
        return scenario.conclude(&files, &args.common.symbols, broke.as_ref(), notes, out);
    }
    drop(real);
    let mut files = climbed?.unwrap_or_default();

    let asked = Asked {
        common: &args.common,
        drop_negative: false,
        fail_on: &args.fail_on,
    };
    if files.paths.len() < 2 {
        let dumps = files.paths.len();
        return Err(Refused::with_status(
            ExitStatus::NoVerdict,
            format!("inconclusive: expected two dumps of {name} or more, found {dumps}"),
        ));
    }
    files.server = args.out.is_none().then(|| name.clone());
    let series = Series::of(&files, asked, out)?;
    let mut verdict = series.verdict(args.allow);
    let holding = series.heap().holding(asked.fail_on);
    if !holding.is_empty() {
        verdict = (Verdict::Regressed, holding);
    }
    series.output(Some(&verdict), out)?;
    let said = format!("{}: {}", verdict.0.as_str(), verdict.1);
    match ExitStatus::from(verdict.0) {
        ExitStatus::Passed => {
            out.note(&said);
            Ok(())
        }
        status => Err(Refused::with_status(status, said)),
    }
}

fn status_of(err: &anyhow::Error) -> Option<ExitStatus> {
    err.downcast_ref::<Refused>().map(Refused::status)
}

/// The clock of this machine, and a server.
struct Real<'a> {
    served: Served,
    /// Where the counter is, and which it is.
    counter: Option<(Served, &'a Counter)>,
    /// The largest dump.
    limit: Limit,
    folder: &'a Path,
    /// Whether there was a dump.
    is_dumped: bool,
    interrupt: Interrupt,
    start: Instant,
    progress: Progress,
    /// What was noted so far.
    notes: Vec<String>,
    /// The server, if it was started here, and its load.
    server: Option<Beside>,
    load: Option<Beside>,
    out: &'a mut Out,
}

impl Real<'_> {
    /// Starts the server and waits until it answers, then starts its load, and waits until the
    /// counter is there: many servers have none before the first request.
    fn start_all(
        &mut self,
        args: &ScenarioArgs,
        scenario: &Scenario,
    ) -> anyhow::Result<Result<(), Broke>> {
        let [output, load_output] = scenario.outputs();
        let name = self.served.name();
        if let Some(line) = &args.start {
            if self.served.listens() {
                return Err(Refused::usage(format!(
                    "--start: something answers at {name} already\n  hint: stop it, or leave \
                     --start out"
                )));
            }
            let started = Beside::start(line, &output);
            self.server = Some(started.context("--start: the server cannot be started")?);
            let answered = self.wait_for(&format!("{name}: waits for an answer"), |real| {
                let tick = &mut || real.progress.tick();
                let mut body = real.served.open(real.limit, Some(&real.interrupt), tick)?;
                io::copy(&mut body, &mut io::sink())?;
                Ok(())
            });
            if let Err(broke) = answered? {
                return Ok(Err(broke));
            }
        }
        if let Some(line) = &args.load {
            let started = Beside::start(line, &load_output);
            self.load = Some(started.context("--load: the load cannot be started")?);
            if self.counter.is_some() {
                let doing = format!("{name}: waits for its counter");
                return self.wait_for(&doing, |real| real.counter().map(drop));
            }
        }
        Ok(Ok(()))
    }

    /// Waits until something is there. The inner error says what ended before.
    fn wait_for(
        &mut self,
        doing: &str,
        mut look: impl FnMut(&mut Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), Broke>> {
        self.progress.doing(doing);
        let since = Instant::now();
        loop {
            self.interrupt.check()?;
            if let Some(broke) = self.broke() {
                return Ok(Err(broke));
            }
            match look(self) {
                Ok(()) => return Ok(Ok(())),
                Err(err) if since.elapsed() > LONGEST_START => {
                    let limit = about(LONGEST_START);
                    let why = format!("the server was not ready within {limit}: {err:#}");
                    return Ok(Err(Broke::Server(why)));
                }
                Err(_) => std::thread::sleep(PERIOD),
            }
        }
    }

    /// Returns what ended the watch early, if it was the server or its load.
    fn broke(&mut self) -> Option<Broke> {
        let load = self.load.as_mut().and_then(Beside::ended);
        let has_failed = load.is_some_and(|status| !status.success());
        // A load fails if its server does, and may be seen to end first.
        let asked = Instant::now();
        let server = loop {
            let ended = self.server.as_mut().and_then(Beside::ended);
            if ended.is_some() || !has_failed || asked.elapsed() > AFTER_LOAD {
                break ended;
            }
            std::thread::sleep(PERIOD);
        };
        match (server, load) {
            (Some(status), _) => Some(Broke::Server(format!(
                "the server ended: {}",
                beside::how(status)
            ))),
            (None, Some(status)) if has_failed => Some(Broke::Load(format!(
                "the load ended early: {}",
                beside::how(status)
            ))),
            (None, _) => None,
        }
    }

    /// Ends the load and then the server. Returns what was noted.
    fn end_all(mut self) -> Vec<String> {
        for (running, what) in [
            (self.load.take(), "its load"),
            (self.server.take(), "the server"),
        ] {
            if let Some(running) = running {
                self.progress
                    .during(&format!("ends {what}"), || drop(running));
            }
        }
        self.progress.clear();
        self.notes
    }
}

/// A reader that writes what was read into a file.
struct Kept<'a, R> {
    from: &'a mut R,
    file: &'a mut fs::File,
}

impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.file.write_all(&into[..read])?;
        Ok(read)
    }
}

impl World for Real<'_> {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn wait(&mut self, until: Duration, doing: &str) -> bool {
        let left = until.saturating_sub(self.now());
        let doing = format!("{doing}; waits {}", about(left));
        self.progress.doing(&doing);
        loop {
            if self.is_over() {
                return false;
            }
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return true;
            }
            self.progress.tick();
            std::thread::sleep(left.min(PERIOD));
        }
    }

    fn is_over(&mut self) -> bool {
        let beside = [&mut self.server, &mut self.load];
        let mut beside = beside.into_iter().flatten();
        self.interrupt.check().is_err() || beside.any(|one| one.ended().is_some())
    }

    fn counter(&mut self) -> anyhow::Result<u64> {
        let (served, counter) = self.counter.as_ref().context("expected a counter")?;
        let read = || {
            let limit = self.limit.at_most(metrics::MOST);
            let interrupt = Some(&self.interrupt);
            let mut page = Vec::new();
            let mut body = served.open(limit, interrupt, &mut || ())?;
            body.read_to_end(&mut page)?;
            anyhow::Ok(counter.value(&String::from_utf8_lossy(&page))?)
        };
        read().with_context(|| served.name())
    }

    fn dump(&mut self, doing: &str) -> anyhow::Result<Dump> {
        self.progress.doing(doing);
        let asked = self.start.elapsed();
        let interrupt = Some(&self.interrupt);
        let tick = &mut || self.progress.tick();
        let mut body = self.served.open(self.limit, interrupt, tick)?;
        // The server took the dump between the request and the answer.
        let at = (asked + self.start.elapsed()) / 2;
        let mut file = tempfile::NamedTempFile::new_in(self.folder)
            .with_context(|| plimsoll_desk::project::shown(self.folder))?;
        // What is no profile is not kept.
        let kept = Kept {
            from: &mut body,
            file: file.as_file_mut(),
        };
        let profile = read::read(&mut io::BufReader::new(kept), self.limit.limits());
        let profile = profile.map_err(|err| hinted(err, self.served.server, self.limit))?;
        self.progress.clear();
        if !std::mem::replace(&mut self.is_dumped, true)
            && let Some(note) = without_objects(&profile, self.served.server)
        {
            self.note(&format!("{}: {note}", self.served.name()));
        }
        Ok(Dump { file, profile, at })
    }

    fn note(&mut self, note: &str) {
        self.progress.clear();
        self.out.note(note);
        self.notes.push(note.to_owned());
    }
}
