//! The command lines of `show`, `compare` and `watch`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::UnknownArgumentValueParser;
use plimsoll_profile::{Filter, Granularity, Measure};
use regex::{Regex, RegexBuilder};

use crate::gate::Gate;
use crate::memory::Limit;
use crate::metrics::Counter;
use crate::servers::Server;
use plimsoll_desk::parse::duration;
use plimsoll_desk::project::shown;
use plimsoll_desk::status::Refused;

const SHOW_HELP: &str = "\
For example:
  plimsoll show jeprof.1234.0.f.heap
  plimsoll show --flamegraph live.svg --exe target/release/server server.heap
  plimsoll show http://localhost:6060/debug/pprof/heap
  plimsoll show --from greptimedb localhost:4000
  plimsoll show --ages server.heap

Exit status:
  0  done
  2  invalid arguments
  5  plimsoll's own failure: a profile that cannot be read, a file that cannot
     be written";

const COMPARE_HELP: &str = "\
For example:
  plimsoll compare before.heap after.heap
  plimsoll compare before.heap after.heap --flamegraph growth.svg
  plimsoll compare before.heap after.heap --fail-on 'growth > 1MiB'
  plimsoll compare before.heap --from tikv localhost:20180
  plimsoll compare /var/lib/server/dumps
  plimsoll compare --series jeprof.1234.*.heap

A condition of --fail-on is `stack growth`, `total growth` or `growth` (either),
then `>` or `>=`, and a limit: `1MiB`, `500 objects`, or `10%` of the earlier
size. Conditions joined by `and` have to hold together.

Exit status:
  0  done, and no condition of --fail-on holds
  1  a condition of --fail-on holds
  2  invalid arguments
  5  plimsoll's own failure: a profile that cannot be read, a file that cannot
     be written";

const WATCH_HELP: &str = "\
For example:
  plimsoll watch --from greptimedb localhost:4000 --for 1h
  plimsoll watch --from greptimedb localhost:4000 --for 10m \\
      --per greptime_servers_http_requests_total
  plimsoll watch http://localhost:6060/debug/pprof/heap --out dumps \\
      --flamegraph growth.svg

  plimsoll watch http://localhost:6060/debug/pprof/heap --for 10m \\
      --per http_requests_total --scenario checkout \\
      --start 'target/release/server' --load './drive.sh'

Ctrl-C ends the watch early; the dumps so far are evaluated.

Exit status:
  0  done, and no stack keeps growing
  1  a stack grows faster than --allow, or than its baseline allows, or a
     condition of --fail-on holds
  2  invalid arguments
  3  inconclusive: too few dumps, or growth that was slower towards the end;
     or the server of --start failed
  4  the load failed, or the baseline cannot be used
  5  plimsoll's own failure: the first dump failed, or the first look at the
     counter; a file that cannot be written";

/// The options that do not go with `--ages`.
const NOT_OF_AGES: [&str; 10] = [
    "tree",
    "folded",
    "dot",
    "pprof",
    "svg",
    "pdf",
    "cum",
    "alloc_space",
    "alloc_objects",
    "addresses",
];

/// Show the contents of a heap dump of any program
///
/// Reads jemalloc's format (`heap_v2`), with or without jeprof's symbol section, pprof's
/// protobuf format, and folded stacks; uncompressed, or compressed with gzip or zstd. Takes
/// function names from the programs and libraries that were mapped, and from their debug
/// information.
#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub struct ShowArgs {
    /// Profile: a file, an http or https address, or `-` for standard input
    #[arg(value_name = "DUMP")]
    pub dump: String,

    /// Show which stacks leak, by the births of their live objects; the program has to use
    /// `plimsoll-ages`
    #[arg(long, conflicts_with_all = NOT_OF_AGES)]
    pub ages: bool,

    /// With --ages, write a page with a chart of each stack to this file
    #[arg(long, value_name = "FILE.html", requires = "ages")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// Show what grew between two heap dumps
///
/// Compares stacks by their function names, so that dumps of two builds can be compared;
/// ignores addresses, inlining and frames of the standard library. Reads the formats of `show`.
///
/// For a folder with the dumps of one process, as jemalloc writes them at intervals, and for a
/// --series of files, shows how fast each stack grows and by which law: it keeps growing
/// (linear, stepped), has stopped (filling), or goes up and down (fluctuating).
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// Earlier profile: a file, an http or https address, or `-` for standard input; or a
    /// folder with the dumps of one process
    #[arg(value_name = "BEFORE|DIR")]
    pub before: String,

    /// Later profile; with --from, the address of the server
    #[arg(value_name = "AFTER")]
    pub after: Option<String>,

    /// More profiles, with --series
    #[arg(value_name = "LATER", requires = "series")]
    pub later: Vec<String>,

    /// Treat the files as dumps taken at equal intervals, and show how fast each stack grows;
    /// the files are ordered by the sequence numbers in their names, if they have them
    #[arg(long, conflicts_with = "from")]
    pub series: bool,

    /// Process id, if a folder has dumps of several processes
    #[arg(long, value_name = "N", conflicts_with_all = ["series", "after"])]
    pub pid: Option<u64>,

    /// Fail if this condition holds: `growth > 1MiB`; may be repeated
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<Gate>,

    /// Count stacks that shrank as unchanged
    #[arg(long, alias = "drop_negative")]
    pub drop_negative: bool,

    #[arg(long = "ages", hide = true, num_args = 0, default_missing_value = "", value_parser = of_show())]
    ages: Option<String>,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// Watch whether a server keeps growing
///
/// Takes heap profiles over time, and shows how fast each stack grows and by which law. The
/// profiles are on a ladder: four to each doubling of the time, or of a counter that the server
/// publishes (--per); or at equal distances (--every).
///
/// A stack keeps growing if it gains about as much in the last third of the time as in the
/// two thirds before. A cache that is still filling looks the same: watch for longer, or allow the
/// growth with --allow.
///
/// If a dump fails, prints a note and continues without it. If the server restarts, starts
/// again with the remaining time.
#[derive(Debug, Args)]
#[command(after_help = WATCH_HELP)]
pub struct WatchArgs {
    /// Address of the heap profile; with --from, the address of the server
    #[arg(value_name = "URL")]
    pub url: String,

    /// Take dumps at equal distances, instead of on a ladder
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub every: Option<Duration>,

    /// Measure growth per unit of this counter of the server's metrics, such as
    /// `http_requests_total` or `http_requests_total{code="200"}`; sums series
    #[arg(long, value_name = "COUNTER", conflicts_with = "every")]
    pub per: Option<Counter>,

    /// Address of the server's metrics, in Prometheus's text format [default: /metrics at the
    /// host of URL]
    #[arg(long, value_name = "URL", requires = "per")]
    pub metrics: Option<String>,

    /// Total time to watch
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub length: Duration,

    /// Keep the dumps in this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Growth allowed per stack and hour; with --per, per unit of the counter
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = crate::gate::rate)]
    pub allow: f64,

    /// Also fail if this condition holds between the first dump and the last: `growth > 1MiB`;
    /// may be repeated
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Vec<Gate>,

    #[arg(long = "ages", hide = true, num_args = 0, default_missing_value = "", value_parser = of_show())]
    ages: Option<String>,

    #[command(flatten)]
    pub scenario: ScenarioArgs,

    #[command(flatten)]
    pub common: CommonArgs,
}

/// The options that choose what `watch` prints or allows, which a baseline and a report do for a
/// scenario.
const NOT_OF_SCENARIOS: [&str; 26] = [
    "allow",
    "fail_on",
    "text",
    "tree",
    "folded",
    "json",
    "dot",
    "flamegraph",
    "pprof",
    "svg",
    "pdf",
    "output",
    "top",
    "cum",
    "inuse_space",
    "inuse_objects",
    "alloc_space",
    "alloc_objects",
    "functions",
    "lines",
    "files",
    "addresses",
    "all_frames",
    "focus",
    "ignore",
    "hide",
];

/// A server that is judged by a baseline, as the scenarios of a test are.
#[derive(Debug, Args)]
#[command(next_help_heading = "A server as a scenario")]
pub struct ScenarioArgs {
    /// Judge the server by the baseline of this scenario, and write a report as a test does, for
    /// `report`, `accept` and `comment`
    #[arg(long, value_name = "NAME", conflicts_with_all = NOT_OF_SCENARIOS)]
    pub scenario: Option<String>,

    /// Package whose baselines are meant [default: that of the current folder]
    #[arg(long, short, value_name = "NAME", requires = "scenario")]
    pub package: Option<String>,

    /// Start the server with this command line of `sh`, wait until URL answers, and end it with
    /// all that it started
    #[arg(long, value_name = "COMMAND", requires = "scenario")]
    pub start: Option<String>,

    /// Run this command line beside the watch, once the server answers; the watch ends when it
    /// does
    #[arg(long, value_name = "COMMAND", requires = "scenario")]
    pub load: Option<String>,
}

/// How profiles are read and shown.
#[derive(Debug, Args)]
pub struct CommonArgs {
    #[command(flatten)]
    pub http: HttpArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub what: WhatArgs,

    #[command(flatten)]
    pub symbols: SymbolArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub struct HttpArgs {
    /// Server type; selects the endpoint of its heap profile
    #[arg(long, value_enum, value_name = "SERVER")]
    pub from: Option<Server>,

    /// Longest download of one profile
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print a table of functions, largest first (default)
    #[arg(long, group = "printed")]
    pub text: bool,

    /// Print the flame graph as text
    #[arg(long, group = "printed")]
    pub tree: bool,

    /// Print folded stacks, for other tools
    #[arg(long, group = "printed", alias = "collapsed")]
    pub folded: bool,

    /// Print JSON; versioned
    #[arg(long, group = "printed")]
    pub json: bool,

    /// Print the call graph in Graphviz's language
    #[arg(long, group = "printed")]
    pub dot: bool,

    /// Write a flame graph to this file; prints no table unless it is requested
    #[arg(long, value_name = "FILE.svg")]
    pub flamegraph: Option<PathBuf>,

    /// Write pprof's format to this file, for `go tool pprof`, Speedscope and Pyroscope
    #[arg(long, value_name = "FILE.pb.gz")]
    pub pprof: Option<PathBuf>,

    /// Draw the call graph to this SVG file; needs Graphviz
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,

    /// Draw the call graph to this PDF file; needs Graphviz
    #[arg(long, value_name = "FILE.pdf")]
    pub pdf: Option<PathBuf>,

    /// Write the output to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Rows of the table; 0 prints all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,

    /// Sort the table by cumulative size, of each function with its callees
    #[arg(long)]
    pub cum: bool,
}

impl OutputArgs {
    /// Tells whether only files are to be written, and nothing printed.
    pub fn is_of_files(&self) -> bool {
        let printed = self.text || self.tree || self.folded || self.json || self.dot;
        !printed && self.output.is_none() && (self.pprof.is_some() || self.has_pictures())
    }

    /// Checks that no two options write the same file, and that none writes a profile that is
    /// read. That profile would be lost.
    pub fn check(&self, read: &[&Path]) -> anyhow::Result<()> {
        self.check_with(read, &None)
    }

    /// The same, if a page is written as well.
    pub fn check_with(&self, read: &[&Path], page: &Option<PathBuf>) -> anyhow::Result<()> {
        let written = [
            ("--html", page),
            ("--flamegraph", &self.flamegraph),
            ("--pprof", &self.pprof),
            ("--svg", &self.svg),
            ("--pdf", &self.pdf),
            ("--output", &self.output),
        ];
        let mut others: Vec<(PathBuf, &str)> = read
            .iter()
            .filter_map(|path| Some((place(path)?, "the profile that is read")))
            .collect();
        let places = written.into_iter().filter_map(|(option, path)| {
            let path = path.as_ref()?;
            Some((option, path, place(path)?))
        });
        for (option, path, at) in places {
            if let Some((_, other)) = others.iter().find(|(other, _)| *other == at) {
                return Err(Refused::usage(format!(
                    "{option} {}: expected a file of its own, found {other}\n  \
                     hint: `{option}` takes the file to write, and replaces it",
                    shown(path)
                )));
            }
            others.push((at, "that of another option"));
        }
        Ok(())
    }

    /// Tells whether any pictures are to be drawn.
    pub fn has_pictures(&self) -> bool {
        let files = [&self.flamegraph, &self.svg, &self.pdf];
        files.into_iter().any(Option::is_some)
    }
}

/// Returns the real path of a file, also if it does not exist yet. Returns `None` for a
/// device, which several options may share.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(there) = path.canonicalize() {
        return there.is_file().then_some(there);
    }
    let folder = path.parent()?;
    let is_here = folder.as_os_str().is_empty();
    let folder = if is_here { Path::new(".") } else { folder };
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub struct WhatArgs {
    /// Show live bytes (default)
    #[arg(long, group = "measure", alias = "inuse_space")]
    inuse_space: bool,

    /// Show live objects
    #[arg(long, group = "measure", alias = "inuse_objects")]
    inuse_objects: bool,

    /// Show all bytes ever allocated; needs jemalloc's `prof_accum`
    #[arg(long, group = "measure", alias = "alloc_space")]
    alloc_space: bool,

    /// Show all objects ever allocated; needs jemalloc's `prof_accum`
    #[arg(long, group = "measure", alias = "alloc_objects")]
    alloc_objects: bool,

    /// Group by function (default)
    #[arg(long, group = "granularity")]
    functions: bool,

    /// Group by line
    #[arg(long, group = "granularity")]
    lines: bool,

    /// Group by file
    #[arg(long, group = "granularity")]
    files: bool,

    /// Group by return address; shows every frame
    #[arg(long, group = "granularity")]
    addresses: bool,

    /// Show every recorded frame with its full name, also frames of the allocator and the
    /// standard library
    #[arg(long)]
    pub all_frames: bool,

    /// Keep only stacks with a matching frame; matches names, file and line, and addresses
    #[arg(long, value_name = "REGEX", value_parser = pattern)]
    focus: Option<Regex>,

    /// Drop stacks that contain a matching frame
    #[arg(long, value_name = "REGEX", value_parser = pattern)]
    ignore: Option<Regex>,

    /// Remove matching frames from stacks
    #[arg(long, value_name = "REGEX", value_parser = pattern, alias = "exclude")]
    hide: Option<Regex>,
}

impl WhatArgs {
    pub fn measure(&self) -> Measure {
        match (self.inuse_objects, self.alloc_space, self.alloc_objects) {
            (true, ..) => Measure::InuseObjects,
            (_, true, _) => Measure::AllocSpace,
            (_, _, true) => Measure::AllocObjects,
            _ => Measure::InuseSpace,
        }
    }

    /// Tells whether the measure was chosen explicitly.
    pub fn measure_is_given(&self) -> bool {
        self.inuse_space || self.inuse_objects || self.alloc_space || self.alloc_objects
    }

    pub fn granularity(&self) -> Granularity {
        match (self.lines, self.files, self.addresses) {
            (true, ..) => Granularity::Lines,
            (_, true, _) => Granularity::Files,
            (_, _, true) => Granularity::Addresses,
            _ => Granularity::Functions,
        }
    }

    pub fn filter(&self) -> Filter {
        Filter {
            focus: self.focus.clone(),
            ignore: self.ignore.clone(),
            hide: self.hide.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Where names are from")]
pub struct SymbolArgs {
    /// Path of the profiled program, if it has moved
    #[arg(long, value_name = "FILE")]
    pub exe: Option<PathBuf>,

    /// Folder with separate debug information; may be repeated
    ///
    /// By default /usr/lib/debug.
    #[arg(long, value_name = "DIR")]
    pub debug_dir: Vec<PathBuf>,

    /// Root folder of the profiled machine's files
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,

    /// Use files even if they are not the ones that were mapped
    #[arg(long)]
    pub force: bool,

    /// Largest profile to read, uncompressed
    ///
    /// By default 1 GiB, or a quarter of the memory that plimsoll may use, if that is less.
    #[arg(long, value_name = "SIZE", value_parser = crate::gate::size)]
    pub max_size: Option<u64>,
}

impl SymbolArgs {
    /// Returns the largest profile to read.
    pub(crate) fn limit(&self) -> Limit {
        Limit::of(self.max_size)
    }

    /// Checks that the named files exist. Otherwise names would be missing without an
    /// explanation.
    pub fn check(&self) -> anyhow::Result<()> {
        for (option, path) in [("--exe", &self.exe), ("--sysroot", &self.sysroot)] {
            if let Some(path) = path {
                let there = std::fs::metadata(path);
                there.with_context(|| format!("{option} {}", shown(path)))?;
            }
        }
        Ok(())
    }
}

/// Refuses `--ages` where it is not understood.
fn of_show() -> UnknownArgumentValueParser {
    UnknownArgumentValueParser::suggest("`--ages` is of `plimsoll show`, which asks one dump")
}

fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(10 << 20)
        .build()
        .map_err(|err| format!("expected a regular expression: {err}"))
}
