//! `plimsoll watch`: takes dumps of a server over time, and judges them.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;
use plimsoll_profile::Profile;
use plimsoll_profile::read::{self, Limits};

use crate::args::WatchArgs;
use crate::climb::{Climb, Dump, Pace, Plan, World};
use crate::load::hinted;
use crate::metrics::{self, Counter};
use crate::series::{Asked, Series};
use crate::servers::Server;
use crate::source::Served;
use plimsoll_desk::interrupt::Interrupt;
use plimsoll_desk::out::Out;
use plimsoll_desk::progress::{Progress, about};
use plimsoll_desk::status::{ExitStatus, Refused};

/// How often a pause is interrupted, to update the progress and to check for Ctrl-C.
const PERIOD: Duration = Duration::from_millis(50);

pub fn watch(args: &WatchArgs, out: &mut Out) -> anyhow::Result<()> {
    if args.common.http.from == Some(Server::Risingwave) {
        return Err(Refused::usage(
            "expected a server that can be asked for a dump\n  hint: RisingWave's lie in a \
             folder: plimsoll compare --series FILE…",
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
    let real = Real {
        most: args.common.symbols.max_size,
        served,
        counter,
        folder,
        interrupt,
        start: Instant::now(),
        progress: Progress::new(),
        out,
    };
    let mut files = Climb::new(plan, real).run()?;

    let asked = Asked {
        common: &args.common,
        drop_negative: false,
        fail_on: &args.fail_on,
    };
    if files.paths.len() < 2 {
        let dumps = plural(files.paths.len() as u64, "dump", "dumps");
        return Err(Refused::with_status(
            ExitStatus::NoVerdict,
            format!("inconclusive: {dumps} of {name} show no growth"),
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

/// The clock of this machine, and a server.
struct Real<'a> {
    served: Served,
    /// Where the counter is, and which it is.
    counter: Option<(Served, &'a Counter)>,
    /// The largest dump, in bytes.
    most: u64,
    folder: &'a Path,
    interrupt: Interrupt,
    start: Instant,
    progress: Progress,
    out: &'a mut Out,
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

    fn is_over(&self) -> bool {
        self.interrupt.check().is_err()
    }

    fn counter(&mut self) -> anyhow::Result<u64> {
        let (served, counter) = self.counter.as_ref().context("expected a counter")?;
        let read = || {
            let (most, interrupt) = (self.most.min(metrics::MOST), Some(&self.interrupt));
            let mut page = Vec::new();
            let mut body = served.open(most, interrupt, &mut || ())?;
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
        let mut body = self.served.open(self.most, interrupt, tick)?;
        // The server took the dump between the request and the answer.
        let at = (asked + self.start.elapsed()) / 2;
        let mut file = tempfile::NamedTempFile::new_in(self.folder)
            .with_context(|| plimsoll_desk::project::shown(self.folder))?;
        io::copy(&mut body, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let limits = Limits { bytes: self.most };
        let mut input = io::BufReader::new(file.as_file());
        let profile = read::read(&mut input, limits);
        let profile = profile.map_err(|err| hinted(err, self.served.server))?;
        self.progress.clear();
        Ok(Dump { file, profile, at })
    }

    fn note(&mut self, note: &str) {
        self.progress.clear();
        self.out.note(note);
    }
}
