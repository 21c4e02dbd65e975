//! Stores the arguments of a bisection until it has an answer, for `--resume`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_metadata::TargetKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::args::{BenchArgs, BisectArgs, WhenToOverlay};
use crate::decide::Pattern;
use plimsoll_desk::atomic;
use plimsoll_desk::git::{Commit, Git};
use plimsoll_desk::status::Refused;

const VERSION: u64 = 1;

/// The message after Ctrl-C.
pub(crate) const STOPPED: &str = "stopped; what was measured is kept\n  \
     hint: `plimsoll bisect --resume` goes on from there";
/// The message after Ctrl-C in a command without `--resume`. When it is started again, it uses
/// the measurements in the cache.
pub(crate) const STOPPED_HERE: &str = "stopped; what was measured is kept";

/// A scenario of a test of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub package: String,
    pub target: String,
    pub scenario: String,
}

/// A command that builds a server and watches it as a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// What `sh -c` runs.
    pub command: String,
    /// The folder in the repository in which it runs.
    pub folder: PathBuf,
}

/// Everything on which the answer depends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    /// The format of the file.
    pub version: u64,
    /// The good commit. With `dep`, the versions to search.
    pub good: String,
    /// The bad commit; absent for the checked-out one. With `dep`, the commit at which
    /// releases are measured.
    pub bad: Option<String>,
    /// The dependency whose releases are searched instead of commits.
    pub dep: Option<String>,
    pub scenario: Option<String>,
    pub package: Option<String>,
    pub test: Option<String>,
    /// Whether that is a bench target.
    #[serde(default)]
    pub bench: bool,
    pub stack: Option<Pattern>,
    pub overlay: WhenToOverlay,
    pub first_parent: bool,
    pub release: bool,
    #[serde(rename = "budget_ms", with = "milliseconds")]
    pub budget: Duration,
    #[serde(rename = "timeout_ms", with = "milliseconds")]
    pub timeout: Duration,
    pub paths: Vec<String>,
    /// The command that measures a server, instead of a test.
    pub watch: Option<Watch>,
    /// The folder in which cargo builds, if it is not the usual one. It changes no answer.
    #[serde(skip)]
    pub target_dir: Option<PathBuf>,
}

mod milliseconds {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

impl Session {
    /// Returns which kind of target has the scenario.
    pub(crate) fn kind(&self) -> &'static TargetKind {
        match self.bench {
            true => &TargetKind::Bench,
            false => &TargetKind::Test,
        }
    }

    /// Returns a session for any scenario, with a commit as its good end.
    pub(crate) fn of(args: &BenchArgs, good: String) -> anyhow::Result<Session> {
        let watch = args.watch.as_ref().map(|command| {
            let here = args.manifest_path.as_deref().and_then(Path::parent);
            let here = here.filter(|dir| !dir.as_os_str().is_empty());
            let here = Git::in_dir(here.unwrap_or(Path::new(".")));
            anyhow::Ok(Watch {
                command: command.clone(),
                folder: prefix(&here)?.into(),
            })
        });
        Ok(Session {
            version: VERSION,
            good,
            bad: None,
            dep: None,
            scenario: None,
            package: args.package.clone(),
            test: args.test.clone().or_else(|| args.bench.clone()),
            bench: args.bench.is_some(),
            stack: None,
            overlay: match &args.watch {
                None => args.overlay,
                Some(_) => WhenToOverlay::Never,
            },
            first_parent: false,
            release: args.release,
            budget: args.budget,
            timeout: args.timeout,
            paths: Vec::new(),
            watch: watch.transpose()?,
            target_dir: args.target_dir.clone(),
        })
    }

    /// Returns the session that the command line asks for, or with `--resume` the one that was
    /// stopped.
    pub(crate) fn choose(args: &BisectArgs, folder: &Path) -> anyhow::Result<Session> {
        if args.resume {
            return Ok(Session {
                target_dir: args.bench.target_dir.clone(),
                ..Session::stopped(folder)?
            });
        }
        let Some(good) = &args.good else {
            return Err(Refused::usage(match args.dep {
                Some(_) => "the versions are missing: `0.12.0..0.12.8`",
                None => "GOOD is missing: a commit that was good",
            }));
        };
        Ok(Session {
            bad: args.bad.clone(),
            dep: args.dep.clone(),
            scenario: args.scenario.clone(),
            stack: args.stack.stack.clone(),
            first_parent: args.first_parent,
            paths: from_top(&args.paths)?,
            ..Session::of(&args.bench, good.clone())?
        })
    }

    /// Replaces names by what they stand for now, because HEAD may be another commit when the
    /// session is resumed.
    pub(crate) fn with(self, subject: &Subject, good: &Commit, bad: &Commit) -> Session {
        Session {
            good: match self.dep {
                Some(_) => self.good,
                None => good.as_str().to_owned(),
            },
            bad: Some(bad.as_str().to_owned()),
            scenario: Some(subject.scenario.clone()),
            package: Some(subject.package.clone()),
            test: Some(subject.target.clone()),
            ..self
        }
    }

    fn stopped(folder: &Path) -> anyhow::Result<Session> {
        let nothing = || Refused::usage("--resume: no bisection of this project was stopped");
        let text = fs::read_to_string(file(folder)).map_err(|_| nothing())?;
        let stopped: Session = serde_json::from_str(&text).map_err(|_| nothing())?;
        match stopped.version {
            VERSION => Ok(stopped),
            _ => Err(nothing()),
        }
    }

    pub(crate) fn keep(&self, folder: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        atomic::write(&file(folder), &text)
    }

    /// Removes the stored session, because the bisection has its answer.
    pub(crate) fn forget(folder: &Path) {
        let _ = fs::remove_file(file(folder));
    }
}

/// Returns paths relative to the top of the repository. The given ones are relative to the
/// current folder.
fn from_top(paths: &[String]) -> anyhow::Result<Vec<String>> {
    let prefix = prefix(&Git::in_dir("."))?;
    let from_top = |path: &String| match path.starts_with(':') {
        // This is git's pathspec notation, which says itself where it begins.
        true => path.clone(),
        false => format!("{prefix}{}", path.strip_prefix("./").unwrap_or(path)),
    };
    Ok(paths.iter().map(from_top).collect())
}

/// Returns a folder's path in its repository, with a slash at its end if it is not the top.
fn prefix(folder: &Git) -> anyhow::Result<String> {
    let prefix = folder.try_ask(&["rev-parse", "--show-prefix"])?;
    Ok(prefix.unwrap_or_default())
}

fn file(folder: &Path) -> PathBuf {
    folder.join("stopped.json")
}
