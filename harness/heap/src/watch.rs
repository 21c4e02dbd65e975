//! `plimsoll watch`: takes dumps of a server at equal intervals, and judges them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::units::plural;
use plimsoll_profile::Profile;
use plimsoll_profile::read::{self, Limits};

use crate::args::WatchArgs;
use crate::dumps::Files;
use crate::load::hinted;
use crate::series::{Asked, Per, Series};
use crate::servers::Server;
use crate::source::Served;
use plimsoll_desk::interrupt::{Interrupt, Interrupted};
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
    if args.every.is_zero() || args.every > args.length {
        return Err(Refused::usage(
            "expected the time between dumps (--every) to be at most the whole time (--for)",
        ));
    }
    args.common.output.check(&[])?;
    let served = Served::of(&args.url, args.common.http.from, &args.common.http)?;
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
    let mut watch = Watch {
        args,
        name: served.name(),
        served,
        folder,
        interrupt,
        process: None,
        files: Files::default(),
        taken: 0,
        missed: 0,
    };
    watch.climb(out)?;

    let asked = Asked {
        common: &args.common,
        drop_negative: false,
        fail_on: &args.fail_on,
    };
    if watch.files.paths.len() < 2 {
        let dumps = plural(watch.files.paths.len() as u64, "dump", "dumps");
        return Err(Refused::with_status(
            ExitStatus::NoVerdict,
            format!("inconclusive: {dumps} of {} show no growth", watch.name),
        ));
    }
    watch.files.server = args.out.is_none().then(|| watch.name.clone());
    let series = Series::of(&watch.files, Per::HOUR, asked, out)?;
    #[expect(clippy::cast_precision_loss, reason = "bytes")]
    let mut verdict = series.verdict(args.allow as f64);
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

struct Watch<'a> {
    args: &'a WatchArgs,
    served: Served,
    name: String,
    folder: &'a Path,
    interrupt: Interrupt,
    /// The process whose dumps are in `files`.
    process: Option<Process>,
    files: Files,
    /// The number of dumps that were taken, of all processes.
    taken: u64,
    missed: u64,
}

impl Watch<'_> {
    /// Takes a dump at each time that can be met.
    fn climb(&mut self, out: &mut Out) -> anyhow::Result<()> {
        let start = Instant::now();
        let mut progress = Progress::new();
        let mut rung = 0;
        loop {
            let due = self.args.every.saturating_mul(rung);
            if due > self.args.length || self.pause(start + due, &mut progress).is_err() {
                return Ok(());
            }
            let dump = self.dump(&mut progress);
            progress.clear();
            match dump {
                Ok(dump) => {
                    self.check(&dump.profile)?;
                    self.keep(dump, start, out);
                }
                Err(_) if self.interrupt.check().is_err() => return Ok(()),
                // If the very first dump fails, the address is wrong or profiling is off.
                Err(err) if self.taken == 0 => return Err(err.context(self.name.clone())),
                Err(err) => {
                    self.missed += 1;
                    out.note(&format!("{}: a dump is missing: {err:#}", self.name));
                }
            }
            // If a dump took longer than the interval, the dumps that are overdue are skipped.
            let passed = start.elapsed().as_nanos() / self.args.every.as_nanos().max(1);
            rung = (rung + 1).max(u32::try_from(passed).unwrap_or(u32::MAX));
        }
    }

    /// Checks that the conditions can be judged from such dumps, now and not only after an
    /// hour.
    fn check(&self, profile: &Profile) -> anyhow::Result<()> {
        let measure = self.args.common.what.measure();
        for gate in &self.args.fail_on {
            gate.check(&self.name, profile, measure)?;
        }
        Ok(())
    }

    fn pause(&self, until: Instant, progress: &mut Progress) -> Result<(), Interrupted> {
        let missed = match self.missed {
            0 => String::new(),
            missed => format!(", {missed} missed"),
        };
        let dumps = plural(self.taken, "dump", "dumps");
        progress.doing(&format!(
            "{}: {dumps}{missed}; the next in {}",
            self.name,
            about(until.saturating_duration_since(Instant::now()))
        ));
        loop {
            self.interrupt.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            progress.tick();
            std::thread::sleep(left.min(PERIOD));
        }
    }

    fn dump(&self, progress: &mut Progress) -> anyhow::Result<Dump> {
        progress.doing(&format!("{}: dump {}", self.name, self.taken + 1));
        let most = self.args.common.symbols.max_size;
        let asked = Instant::now();
        let interrupt = Some(&self.interrupt);
        let mut body = self.served.open(most, interrupt, &mut || progress.tick())?;
        // The server took the dump between the request and the answer.
        let at = asked + asked.elapsed() / 2;
        let mut file = tempfile::NamedTempFile::new_in(self.folder)
            .with_context(|| plimsoll_desk::project::shown(self.folder))?;
        io::copy(&mut body, &mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let limits = Limits { bytes: most };
        let mut input = io::BufReader::new(file.as_file());
        let profile = read::read(&mut input, limits);
        let profile = profile.map_err(|err| hinted(err, self.served.server))?;
        Ok(Dump { file, profile, at })
    }

    fn keep(&mut self, dump: Dump, start: Instant, out: &mut Out) {
        let process = Process::of(&dump.profile);
        if let Some(known) = &self.process
            && process.is_another(known)
        {
            out.note(&format!(
                "{}: restarted since the last dump; {} of the previous process are left out",
                self.name,
                plural(self.files.paths.len() as u64, "dump", "dumps")
            ));
            self.files = Files::default();
            self.process = None;
        }
        let process = self.process.get_or_insert(process);
        let number = self.files.paths.len();
        // The name follows jemalloc's scheme, so that `compare DIR` finds the order.
        let name = format!("watch.{}.{number}.m{number}.heap", process.since);
        match persist(dump.file, &self.folder.join(name)) {
            Ok(path) => {
                self.files.paths.push(path);
                let at = (dump.at - start).as_millis();
                self.files.at.push(u64::try_from(at).unwrap_or(u64::MAX));
                self.taken += 1;
            }
            Err(err) => {
                self.missed += 1;
                out.note(&format!("{}: a dump cannot be kept: {err}", self.name));
            }
        }
    }
}

/// A dump that is not kept yet.
struct Dump {
    file: tempfile::NamedTempFile,
    profile: Profile,
    at: Instant,
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> io::Result<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Only their owner can read temporary files. A dump gets the permissions of ordinary
        // files.
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist_noclobber(path).map_err(|err| err.error)?;
    Ok(path.to_owned())
}

/// The properties by which one process is told from another.
struct Process {
    /// The time of the first dump, in seconds after 1970. It is used instead of the process
    /// id, which dumps do not contain.
    since: u64,
    /// The first address of each mapped file. The kernel chooses new addresses for each
    /// process.
    files: BTreeMap<String, u64>,
    /// The objects that were ever allocated, if the profile counts them.
    ever: f64,
}

impl Process {
    fn of(profile: &Profile) -> Process {
        let mut files = BTreeMap::new();
        for mapping in &profile.mappings {
            if mapping.path.starts_with('/') {
                let first = files.entry(mapping.path.clone()).or_insert(mapping.start);
                *first = mapping.start.min(*first);
            }
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Process {
            since: now.unwrap_or_default().as_secs(),
            files,
            ever: profile
                .stacks()
                .map(|(_, counts)| profile.values(counts).alloc.objects)
                .sum(),
        }
    }

    /// Tells whether this is not the known process.
    fn is_another(&self, known: &Process) -> bool {
        let both = self.files.iter().filter_map(|(path, start)| {
            let known = known.files.get(path)?;
            Some(start != known)
        });
        let moved: Vec<bool> = both.collect();
        let moves = moved.iter().filter(|moved| **moved).count();
        // A plugin may have been loaded again at another address. The number of objects ever
        // allocated never falls within a process.
        moves > moved.len() / 2 || self.ever < known.ever
    }
}
