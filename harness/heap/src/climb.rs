//! Takes the dumps of a watch: when each is due, and what becomes of those that fail.
//!
//! Dumps are on a ladder of seconds or of a counter that the server publishes, or at equal
//! distances. The clock and the server are a [`World`], so tests need not wait.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use plimsoll_core::ladder::rung;
use plimsoll_core::report::units::{count, plural};
use plimsoll_core::to_f64;
use plimsoll_desk::progress::about;
use plimsoll_desk::status::{ExitStatus, Refused};
use plimsoll_profile::Profile;

use crate::dumps::{COUNTED, Files, Per, TIMED};

/// The last rung of a ladder of seconds. The first is due after a 64th of the time.
const LAST_RUNG: usize = 24;

/// The least and the greatest time between two looks at a counter.
const LOOKS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// The share of the whole time after which a server that does not answer is given up: a quarter.
const GIVEN_UP: u32 = 4;

/// How often a counter may fall.
const FALLS: u32 = 3;

/// The clock and the server.
pub(crate) trait World {
    /// Returns the time since the watch began.
    fn now(&self) -> Duration;

    /// Waits until that time. Returns whether the watch goes on.
    fn wait(&mut self, until: Duration, doing: &str) -> bool;

    /// Returns the value of the counter.
    fn counter(&mut self) -> anyhow::Result<u64>;

    fn dump(&mut self, doing: &str) -> anyhow::Result<Dump>;

    fn note(&mut self, note: &str);

    /// Tells whether something ended the watch: the user, the server or its load.
    fn is_over(&mut self) -> bool;
}

/// A dump that is not kept yet.
pub(crate) struct Dump {
    pub(crate) file: tempfile::NamedTempFile,
    pub(crate) profile: Profile,
    /// When the server took it.
    pub(crate) at: Duration,
}

/// When dumps are due.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// At equal distances.
    Every(Duration),
    /// Four times in each doubling of the time.
    Ladder,
    /// Four times in each doubling of this counter.
    Counter(String),
}

/// What a watch is to do.
pub(crate) struct Plan<'a> {
    /// The name of the server.
    pub(crate) name: String,
    pub(crate) pace: Pace,
    pub(crate) length: Duration,
    /// The folder that dumps are put into.
    pub(crate) folder: &'a Path,
    /// Checks that dumps have what is asked for.
    pub(crate) check: &'a dyn Fn(&Profile) -> anyhow::Result<()>,
}

/// A watch that is under way.
pub(crate) struct Climb<'a, W> {
    plan: Plan<'a>,
    world: &'a mut W,
    /// The process whose dumps are in `files`.
    process: Option<Process>,
    /// What stands for its number in the names of dumps.
    since: u64,
    files: Files,
    /// The position and the time of the first of them. Positions are milliseconds or the counter.
    base: (u64, Duration),
    /// When the next dump is due, after the first.
    due: u64,
    /// The counter when it was last read, and how often it fell.
    counter: u64,
    falls: u32,
    /// When the server last answered.
    answered: Duration,
    /// Whether the last request failed.
    fails: bool,
    /// The number of dumps that were taken, of all processes.
    taken: u64,
    missed: u64,
}

impl<'a, W: World> Climb<'a, W> {
    pub(crate) fn new(plan: Plan<'a>, world: &'a mut W) -> Self {
        Climb {
            plan,
            world,
            process: None,
            since: 0,
            files: Files::default(),
            base: (0, Duration::ZERO),
            due: 0,
            counter: 0,
            falls: 0,
            answered: Duration::ZERO,
            fails: false,
            taken: 0,
            missed: 0,
        }
    }

    /// Takes a dump at each rung that can be met. Returns those of the last process.
    ///
    /// # Errors
    /// The very first dump failed, or the first look at the counter: the address is wrong, or
    /// profiling is off. Or the counter is none.
    pub(crate) fn run(mut self) -> anyhow::Result<Files> {
        while self.pause()? {
            match self.take() {
                Ok((dump, position)) => {
                    (self.plan.check)(&dump.profile)?;
                    self.keep(dump, position);
                }
                Err(_) if self.world.is_over() => break,
                Err(err) if self.taken == 0 || err.is::<Refused>() => return Err(err),
                Err(err) => {
                    self.missed += 1;
                    self.fails = true;
                    self.note(&format!("a dump is missing: {err:#}"));
                    self.due = self.next(self.due.max(self.passed()));
                }
            }
        }
        if self.fails {
            let dumps = self.dumps();
            self.note(&format!(
                "its last answer was after {}; {dumps} until then are judged",
                about(self.answered)
            ));
        }
        if let Pace::Counter(counter) = &self.plan.pace
            && self.files.at.len() < 2
            && !self.fails
            && !self.world.is_over()
        {
            return Err(Refused::with_status(
                ExitStatus::NoVerdict,
                format!(
                    "inconclusive: {counter} rose by {} in {}, which is too little to measure by\n  \
                     hint: the server has to be in use while it is watched",
                    count(self.counter.saturating_sub(self.base.0)),
                    about(self.world.now().saturating_sub(self.base.1))
                ),
            ));
        }
        self.files.per = match self.plan.pace {
            Pace::Counter(counter) => Per::counter(counter),
            Pace::Every(_) | Pace::Ladder => Per::hour(),
        };
        Ok(self.files)
    }

    /// Waits for the next dump. Returns whether one is due.
    fn pause(&mut self) -> anyhow::Result<bool> {
        loop {
            let until = match self.next_step()? {
                Step::Dump => return Ok(true),
                Step::Wait(until) => until,
                Step::End => return Ok(false),
            };
            let missed = match self.missed {
                0 => String::new(),
                missed => format!(", {missed} missed"),
            };
            let dumps = plural(self.taken, "dump", "dumps");
            let name = &self.plan.name;
            if !self.world.wait(until, &format!("{name}: {dumps}{missed}")) {
                return Ok(false);
            }
        }
    }

    fn next_step(&mut self) -> anyhow::Result<Step> {
        let length = self.plan.length;
        let is_counted = matches!(self.plan.pace, Pace::Counter(_));
        let now = self.world.now();
        if self.fails && now > self.answered + length / GIVEN_UP {
            return Ok(Step::End);
        }
        if !is_counted {
            let until = self.base.1 + Duration::from_millis(self.due);
            return Ok(match until {
                until if until > length => Step::End,
                until if until > now => Step::Wait(until),
                _ => Step::Dump,
            });
        }
        if now >= length {
            return Ok(Step::End);
        }
        let is_read = self.due == 0 || self.look()?;
        if self.due == 0 {
            return Ok(Step::Dump);
        }
        // The first distance is what the counter gains in a 64th of the time.
        let passed = now.saturating_sub(self.base.1);
        let first = length.saturating_sub(self.base.1) / 64;
        let gained = self.counter.saturating_sub(self.base.0);
        let [least, most] = LOOKS;
        Ok(match is_read {
            true if passed < first => Step::Wait(now + (first - passed).min(most)),
            true if gained >= self.due => Step::Dump,
            // Half of the time that is left at this pace, so that the rung is not missed by far.
            true if gained > 0 => {
                let left = ratio(self.due - gained, gained) / 2.0 * passed.as_secs_f64();
                let left = Duration::from_secs_f64(left.min(most.as_secs_f64()));
                Step::Wait((now + left.max(least)).min(length))
            }
            _ => Step::Wait((now + first.clamp(least, most)).min(length)),
        })
    }

    /// Reads the counter. Returns whether it was there.
    fn look(&mut self) -> anyhow::Result<bool> {
        match self.counted() {
            Ok(_) => Ok(true),
            Err(err) if err.is::<Refused>() => Err(err),
            Err(err) => {
                if !std::mem::replace(&mut self.fails, true) {
                    self.note(&format!("the counter cannot be read: {err:#}"));
                }
                Ok(false)
            }
        }
    }

    /// Reads the counter. If it fell, the watch begins again.
    fn counted(&mut self) -> anyhow::Result<u64> {
        let counter = self.world.counter()?;
        self.answer();
        if counter < self.counter {
            self.falls += 1;
            let fell = format!(
                "{} fell from {} to {}",
                self.position(),
                count(self.counter),
                count(counter)
            );
            if self.falls == FALLS {
                return Err(Refused::with_status(
                    ExitStatus::NoVerdict,
                    format!(
                        "inconclusive: {}: {fell}, which was the third time\n  hint: --per takes a \
                         counter, which falls only when the server starts again",
                        self.plan.name
                    ),
                ));
            }
            self.begin_again(&format!("{fell}, as after a restart"));
            self.base = (counter, self.world.now());
        }
        self.counter = counter;
        Ok(counter)
    }

    fn position(&self) -> &str {
        match &self.plan.pace {
            Pace::Counter(counter) => counter,
            Pace::Every(_) | Pace::Ladder => "time",
        }
    }

    /// Takes a dump. Returns it with its position.
    fn take(&mut self) -> anyhow::Result<(Dump, u64)> {
        let doing = format!("{}: dump {}", self.plan.name, self.taken + 1);
        let Pace::Counter(_) = self.plan.pace else {
            let dump = self.dump(&doing)?;
            let at = millis(dump.at);
            return Ok((dump, at));
        };
        let before = self.counted()?;
        let dump = self.dump(&doing)?;
        let after = self.counted()?;
        Ok((dump, after - after.saturating_sub(before) / 2))
    }

    fn dump(&mut self, doing: &str) -> anyhow::Result<Dump> {
        let dump = self.world.dump(doing);
        // A note has the name already.
        dump.map_err(|err| match self.taken {
            0 => err.context(self.plan.name.clone()),
            _ => err,
        })
    }

    fn keep(&mut self, dump: Dump, position: u64) {
        self.answer();
        let process = Process::of(&dump.profile);
        if let Some(known) = &self.process
            && process.is_another(known)
        {
            self.begin_again("restarted since the last dump");
        }
        let number = self.files.paths.len() as u64;
        if number == 0 {
            self.base = (position, dump.at);
        }
        let at = position - self.base.0;
        if self.process.is_none() {
            // Dumps of two processes must not have one name.
            self.since = process.since.max(self.since + 1);
            self.process = Some(process);
        }
        let (prefix, kind) = match &self.plan.pace {
            Pace::Counter(counter) => (counter.replace(|c| !is_word(c), "_"), COUNTED),
            Pace::Every(_) | Pace::Ladder => ("watch".to_owned(), TIMED),
        };
        let name = format!("{prefix}.{}.{number}.{kind}{at}.heap", self.since);
        let path = self.plan.folder.join(name);
        match persist(dump.file, &path) {
            Ok(()) => {
                self.files.paths.push(path);
                self.files.at.push(at);
                self.taken += 1;
            }
            Err(err) => {
                self.missed += 1;
                self.note(&format!("a dump cannot be kept: {err}"));
            }
        }
        self.due = self.next(self.passed().max(at));
    }

    /// Forgets the dumps so far.
    fn begin_again(&mut self, why: &str) {
        let dumps = self.dumps();
        self.note(&format!(
            "{why}; {dumps} of the previous process are left out"
        ));
        self.files = Files::default();
        self.process = None;
        self.due = 0;
    }

    /// Returns the milliseconds since the first dump; 0 where a counter has the positions.
    fn passed(&self) -> u64 {
        match self.plan.pace {
            Pace::Counter(_) => 0,
            Pace::Every(_) | Pace::Ladder => millis(self.world.now().saturating_sub(self.base.1)),
        }
    }

    /// Returns the first rung after a position. One that is nearer than half a step is skipped.
    fn next(&self, after: u64) -> u64 {
        let whole = millis(self.plan.length.saturating_sub(self.base.1)).max(1);
        let whole = u128::from(whole);
        let rung = |k: usize| match self.plan.pace {
            Pace::Counter(_) => rung(k),
            _ => {
                let at = whole * u128::from(rung(k)) / u128::from(rung(LAST_RUNG));
                u64::try_from(at).unwrap_or(u64::MAX)
            }
        };
        if let Pace::Every(every) = self.plan.pace {
            let every = millis(every).max(1);
            return (after / every + 1) * every;
        }
        let least = after.saturating_add(after / 12 + 1);
        (0..)
            .map(rung)
            .find(|rung| *rung >= least)
            .unwrap_or(u64::MAX)
    }

    fn answer(&mut self) {
        self.answered = self.world.now();
        self.fails = false;
    }

    fn note(&mut self, note: &str) {
        self.world.note(&format!("{}: {note}", self.plan.name));
    }

    fn dumps(&self) -> String {
        plural(self.files.paths.len() as u64, "dump", "dumps")
    }
}

/// What a watch does next.
enum Step {
    Dump,
    Wait(Duration),
    End,
}

fn ratio(part: u64, of: u64) -> f64 {
    to_f64(part) / to_f64(of)
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::fs::Permissions;
        use std::os::unix::fs::PermissionsExt;
        // Only their owner can read temporary files. A dump gets the permissions of ordinary
        // files.
        file.as_file()
            .set_permissions(Permissions::from_mode(0o644))?;
    }
    let kept = file.persist_noclobber(path);
    kept.map(drop).map_err(|err| err.error)
}

/// The properties by which one process is told from another.
pub(crate) struct Process {
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
    pub(crate) fn of(profile: &Profile) -> Process {
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
    pub(crate) fn is_another(&self, known: &Process) -> bool {
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use insta::assert_snapshot;
    use plimsoll_profile::read::{Limits, read};

    use super::*;

    /// A server by what it answers at a millisecond: the counter, and the bytes of one stack.
    struct Script<'a> {
        now: Duration,
        counter: &'a dyn Fn(u64) -> anyhow::Result<u64>,
        bytes: &'a dyn Fn(u64) -> anyhow::Result<u64>,
        said: &'a mut Vec<String>,
    }

    impl World for Script<'_> {
        fn now(&self) -> Duration {
            self.now
        }

        fn wait(&mut self, until: Duration, _: &str) -> bool {
            assert!(until > self.now, "no time passes");
            self.now = until;
            true
        }

        fn is_over(&mut self) -> bool {
            false
        }

        fn counter(&mut self) -> anyhow::Result<u64> {
            (self.counter)(millis(self.now))
        }

        fn dump(&mut self, _: &str) -> anyhow::Result<Dump> {
            let at = self.now;
            // A dump takes a second.
            self.now += Duration::from_secs(1);
            let bytes = (self.bytes)(millis(at))?;
            let mut file = tempfile::NamedTempFile::new()?;
            let text = format!("main;leak {bytes}\n");
            file.write_all(text.as_bytes())?;
            let profile = read(&mut text.as_bytes(), Limits::default())?;
            Ok(Dump { file, profile, at })
        }

        fn note(&mut self, note: &str) {
            self.said.push(note.to_owned());
        }
    }

    /// What is noted in so many seconds, and the positions of the dumps that are left.
    fn watched(
        pace: Pace,
        seconds: u64,
        counter: &dyn Fn(u64) -> anyhow::Result<u64>,
        bytes: &dyn Fn(u64) -> anyhow::Result<u64>,
    ) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        let mut world = Script {
            now: Duration::ZERO,
            counter,
            bytes,
            said: &mut said,
        };
        let plan = Plan {
            name: "server".to_owned(),
            pace,
            length: Duration::from_secs(seconds),
            folder: folder.path(),
            check: &|_| Ok(()),
        };
        let files = Climb::new(plan, &mut world).run();
        said.push(match files {
            Ok(files) => {
                let at: Vec<String> = files.at.iter().map(u64::to_string).collect();
                let kept = crate::dumps::named(files.paths);
                assert_eq!((&kept.at, &kept.per), (&files.at, &files.per));
                let (count, word, at) = (at.len(), &files.per.word, at.join(" "));
                format!("{count} dumps, per {word}: {at}")
            }
            Err(err) => format!("error: {err:#}"),
        });
        said.join("\n")
    }

    fn requests() -> Pace {
        Pace::Counter("http_requests_total".to_owned())
    }

    fn works(_: u64) -> anyhow::Result<u64> {
        Ok(1)
    }

    /// A request in so many milliseconds.
    fn steady(every: u64) -> impl Fn(u64) -> anyhow::Result<u64> {
        move |at| Ok(at / every)
    }

    #[test]
    fn rungs_of_time() {
        let all = [
            watched(Pace::Ladder, 3_600, &works, &works),
            // The first rungs are nearer than a dump takes.
            watched(Pace::Ladder, 60, &works, &works),
            watched(Pace::Every(Duration::from_secs(60)), 300, &works, &works),
        ];
        assert_snapshot!(all.join("\n"), @"
        26 dumps, per hour: 0 56250 66796 80859 94921 112500 133593 158203 189843 225000 267187 319921 379687 450000 534375 636328 755859 900000 1068750 1272656 1515234 1800000 2141015 2545312 3026953 3600000
        16 dumps, per hour: 0 1113 2636 4453 6328 8906 12597 15000 17812 21210 25253 30000 35683 42421 50449 60000
        6 dumps, per hour: 0 60000 120000 180000 240000 300000
        ");
    }

    #[test]
    fn rungs_of_a_counter() {
        let bursts = |at: u64| Ok((5_000 * (at / 200_000)).max(7));
        let all = [
            watched(requests(), 600, &steady(1), &works),
            watched(requests(), 600, &steady(2_000), &works),
            watched(requests(), 1_000, &bursts, &works),
        ];
        assert_snapshot!(all.join("\n"), @"
        25 dumps, per http_requests_total: 0 9375 12100 14346 16910 20068 23722 28061 33346 39519 46854 55695 66097 78444 93250 110720 131622 156438 185935 220997 262669 312312 371305 441432 524874
        18 dumps, per http_requests_total: 0 16 19 23 27 32 38 45 54 64 76 91 108 128 152 181 215 256
        5 dumps, per http_requests_total: 0 4993 9993 14993 19993
        ");
    }

    #[test]
    fn what_goes_wrong() {
        let refused = || anyhow::anyhow!("connection refused");
        let dies = |at: u64| match at {
            300_000.. => Err(refused()),
            _ => Ok(at / 1_000),
        };
        let is_away = |at: u64| match at {
            200_000..260_000 => Err(refused()),
            _ => Ok(1),
        };
        let restarts = |at: u64| Ok(at.checked_sub(100_000).unwrap_or(at) / 1_000);
        let gauge = |at: u64| Ok(at / 100 % 300);
        let all = [
            watched(requests(), 600, &|_| Err(refused()), &works),
            watched(Pace::Ladder, 600, &works, &|_| Err(refused())),
            watched(Pace::Ladder, 600, &works, &dies),
            watched(Pace::Ladder, 600, &works, &is_away),
            watched(requests(), 600, &dies, &dies),
            watched(requests(), 600, &steady(u64::MAX), &works),
            watched(requests(), 600, &steady(100_000), &works),
            watched(requests(), 600, &restarts, &works),
            watched(requests(), 600, &gauge, &works),
        ];
        assert_snapshot!(all.join("\n\n"), @"
        error: connection refused

        error: server: connection refused

        server: a dump is missing: connection refused
        server: a dump is missing: connection refused
        server: its last answer was after 4 min; 20 dumps until then are judged
        20 dumps, per hour: 0 9375 13476 15820 18750 22265 26367 31640 37500 44531 53320 63281 75000 89062 106054 125976 150000 178125 212109 252539

        server: a dump is missing: connection refused
        server: a dump is missing: connection refused
        23 dumps, per hour: 0 9375 13476 15820 18750 22265 26367 31640 37500 44531 53320 63281 75000 89062 106054 125976 150000 178125 300000 356835 424218 504492 600000

        server: the counter cannot be read: connection refused
        server: its last answer was after 5 min; 18 dumps until then are judged
        18 dumps, per http_requests_total: 0 17 20 24 28 33 39 46 55 65 77 92 109 129 153 182 216 257

        error: inconclusive: http_requests_total rose by 0 in 10 min, which is too little to measure by
          hint: the server has to be in use while it is watched

        error: inconclusive: http_requests_total rose by 5 in 10 min, which is too little to measure by
          hint: the server has to be in use while it is watched

        server: http_requests_total fell from 98 to 3, as after a restart; 12 dumps of the previous process are left out
        21 dumps, per http_requests_total: 0 17 20 24 28 33 39 46 55 65 77 92 109 129 153 182 216 257 305 363 432

        server: http_requests_total fell from 291 to 0, as after a restart; 8 dumps of the previous process are left out
        server: http_requests_total fell from 291 to 0, as after a restart; 8 dumps of the previous process are left out
        error: inconclusive: server: http_requests_total fell from 291 to 0, which was the third time
          hint: --per takes a counter, which falls only when the server starts again
        ");
    }
}
