//! The command lines of `show` and `compare`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use plimsoll_profile::{Filter, Frames, Granularity, Measure};
use regex::{Regex, RegexBuilder};

use super::gate::Gate;
use super::servers::Server;
use crate::args::duration;
use crate::project::shown;
use crate::status::Refused;

const SHOW_HELP: &str = "\
For example:
  plimsoll show jeprof.1234.0.f.heap
  plimsoll show --flamegraph live.svg --exe target/release/server server.heap
  plimsoll show http://localhost:6060/debug/pprof/heap
  plimsoll show --from greptimedb localhost:4000

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

A condition of --fail-on is `growth` (of any stack, or of all together), `stack
growth` or `total growth`, then `>` or `>=` and a limit: `1MiB`, `500 objects`,
or `10%` of what was there before. Several in one, with `and`, have to hold
together.

Exit status:
  0  done, and no condition of --fail-on holds
  1  one does
  2  invalid arguments
  5  plimsoll's own failure: a profile that cannot be read, a file that cannot
     be written";

const WATCH_HELP: &str = "\
For example:
  plimsoll watch --from greptimedb localhost:4000 --every 60s --for 1h
  plimsoll watch http://localhost:6060/debug/pprof/heap --out dumps \\
      --flamegraph growth.svg

Ctrl-C ends it early: the dumps that were taken are judged.

Exit status:
  0  done, and no stack keeps growing
  1  one does, past --allow, or a condition of --fail-on holds
  2  invalid arguments
  3  inconclusive: too few dumps, or growth that was slower towards the end
  5  plimsoll's own failure: the first dump cannot be had, a file that cannot
     be written";

/// Shows what a heap dump of any program holds
///
/// Reads what jemalloc writes (`heap_v2`), also with the names that jeprof puts
/// before it, pprof's protobuf, and folded stacks; as they are, or compressed with
/// gzip or zstd. Names come from the programs and libraries that were mapped, and
/// from their debug information.
#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ShowArgs {
    /// The profile: a file, an address of http or https, or `-` for standard input
    #[arg(value_name = "DUMP")]
    pub(crate) dump: String,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) what: WhatArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// Shows what has grown from one heap dump to another
///
/// Stacks are compared by their functions' names, so that two builds of one
/// program can be: inlining, addresses and the standard library are left out of
/// it. Reads what `show` reads.
///
/// Of a folder with dumps of one process, as jemalloc writes them at intervals, and
/// of a --series, it shows how fast each stack grows, and by which law: whether it
/// goes on (linear, stepped), has stopped (filling), or goes up and down
/// (fluctuating).
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// The earlier profile: a file, an address of http or https, or `-` for standard
    /// input; or a folder with dumps of one process
    #[arg(value_name = "BEFORE|DIR")]
    pub(crate) before: String,

    /// The later one; with --from, the server's address
    #[arg(value_name = "AFTER")]
    pub(crate) after: Option<String>,

    /// More of them, with --series
    #[arg(value_name = "LATER", requires = "series")]
    pub(crate) later: Vec<String>,

    /// Takes the files for dumps at equal distances, ordered by the sequence numbers
    /// in their names where they have them, and says how fast each stack grows
    #[arg(long, conflicts_with = "from")]
    pub(crate) series: bool,

    /// The process whose dumps are taken, where a folder has those of several
    #[arg(long, value_name = "N", conflicts_with_all = ["series", "after"])]
    pub(crate) pid: Option<u64>,

    /// Fails where this holds: `growth > 1MiB`; several may be given
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_on: Vec<Gate>,

    /// Takes what shrank for unchanged
    #[arg(long, alias = "drop_negative")]
    pub(crate) drop_negative: bool,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) what: WhatArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// Watches whether a server keeps growing
///
/// Takes a heap profile of it at equal distances, and says of every stack how fast it
/// grows, and by which law. A stack that gains in the last third of the time what it
/// gained in the two before it keeps growing. A cache that is not full by then looks
/// the same: watch for longer, or say with --allow how much is meant.
///
/// A dump that cannot be had is noted and left out. Where the server was started
/// again, so is the watch, with the time that is left.
#[derive(Debug, Args)]
#[command(after_help = WATCH_HELP)]
pub(crate) struct WatchArgs {
    /// Where its heap profile is; with --from, the server's address
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// How far dumps are apart
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) every: Duration,

    /// How long to watch
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) length: Duration,

    /// Keeps the dumps there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// What any one stack may grow in an hour
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = super::gate::size)]
    pub(crate) allow: u64,

    /// Fails also where this holds from the first dump to the last: `growth > 1MiB`;
    /// several may be given
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_on: Vec<Gate>,

    #[command(flatten)]
    pub(crate) http: HttpArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    #[command(flatten)]
    pub(crate) what: WhatArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Servers")]
pub(crate) struct HttpArgs {
    /// The kind of server: asks it for its heap profile in its own way
    #[arg(long, value_enum, value_name = "SERVER")]
    pub(crate) from: Option<Server>,

    /// The longest transfer of one profile
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// A table of functions, the greatest first (the default)
    #[arg(long, group = "printed")]
    pub(crate) text: bool,

    /// The flame graph, as text
    #[arg(long, group = "printed")]
    pub(crate) tree: bool,

    /// Folded stacks, for other tools
    #[arg(long, group = "printed", alias = "collapsed")]
    pub(crate) folded: bool,

    /// For programs; versioned
    #[arg(long, group = "printed")]
    pub(crate) json: bool,

    /// The graph of calls, in Graphviz's language
    #[arg(long, group = "printed")]
    pub(crate) dot: bool,

    /// Writes a flame graph; in place of the table, if nothing else is asked for
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) flamegraph: Option<PathBuf>,

    /// Writes pprof's format, for `go tool pprof`, Speedscope and Pyroscope
    #[arg(long, value_name = "FILE.pb.gz")]
    pub(crate) pprof: Option<PathBuf>,

    /// Writes the graph of calls, by Graphviz
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,

    /// The same as a page
    #[arg(long, value_name = "FILE.pdf")]
    pub(crate) pdf: Option<PathBuf>,

    /// Writes to that file what would be printed
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Rows of the table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) top: usize,

    /// Sorts the table by what functions hold with all that they call
    #[arg(long)]
    pub(crate) cum: bool,
}

impl OutputArgs {
    /// Whether nothing is asked for but files.
    pub(crate) fn is_of_files(&self) -> bool {
        let printed = self.text || self.tree || self.folded || self.json || self.dot;
        !printed && self.output.is_none() && (self.pprof.is_some() || self.has_pictures())
    }

    /// That each file that is written is one of its own: neither another one's nor a
    /// profile that is read, which would be gone.
    pub(crate) fn check(&self, read: &[&Path]) -> anyhow::Result<()> {
        let written = [
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
        for (option, path) in written {
            let Some((path, at)) = path.as_ref().and_then(|path| Some((path, place(path)?))) else {
                continue;
            };
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

    /// Whether something is drawn.
    pub(crate) fn has_pictures(&self) -> bool {
        let files = [&self.flamegraph, &self.svg, &self.pdf];
        files.into_iter().any(Option::is_some)
    }
}

/// Where a file is, or would be; nowhere, where it is no file: a device takes several.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(there) = path.canonicalize() {
        return there.is_file().then_some(there);
    }
    let folder = path.parent()?;
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let folder = folder.canonicalize();
    Some(folder.ok()?.join(path.file_name()?))
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub(crate) struct WhatArgs {
    /// Live bytes (the default)
    #[arg(long, group = "measure", alias = "inuse_space")]
    inuse_space: bool,

    /// Live objects
    #[arg(long, group = "measure", alias = "inuse_objects")]
    inuse_objects: bool,

    /// Bytes that were ever allocated: with jemalloc's `prof_accum`
    #[arg(long, group = "measure", alias = "alloc_space")]
    alloc_space: bool,

    /// Objects that were ever allocated
    #[arg(long, group = "measure", alias = "alloc_objects")]
    alloc_objects: bool,

    /// By functions (the default)
    #[arg(long, group = "granularity")]
    functions: bool,

    /// By lines of functions
    #[arg(long, group = "granularity")]
    lines: bool,

    /// By files
    #[arg(long, group = "granularity")]
    files: bool,

    /// By return addresses, every frame of them
    #[arg(long, group = "granularity")]
    addresses: bool,

    /// Every frame that was recorded, by its full name: the allocator's and the
    /// standard library's too
    #[arg(long)]
    all_frames: bool,

    /// Only stacks with a frame whose name, file and line, or address this fits
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
    pub(crate) fn measure(&self) -> Measure {
        match (self.inuse_objects, self.alloc_space, self.alloc_objects) {
            (true, ..) => Measure::InuseObjects,
            (_, true, _) => Measure::AllocSpace,
            (_, _, true) => Measure::AllocObjects,
            _ => Measure::InuseSpace,
        }
    }

    /// Whether the measure was asked for, and is not the default.
    pub(crate) fn measure_is_given(&self) -> bool {
        self.inuse_space || self.inuse_objects || self.alloc_space || self.alloc_objects
    }

    pub(crate) fn granularity(&self) -> Granularity {
        match (self.lines, self.files, self.addresses) {
            (true, ..) => Granularity::Lines,
            (_, true, _) => Granularity::Files,
            (_, _, true) => Granularity::Addresses,
            _ => Granularity::Functions,
        }
    }

    pub(crate) fn frames(&self) -> Frames {
        match self.all_frames {
            true => Frames::All,
            false => Frames::Folded,
        }
    }

    pub(crate) fn filter(&self) -> Filter {
        Filter {
            focus: self.focus.clone(),
            ignore: self.ignore.clone(),
            hide: self.hide.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Where names are from")]
pub(crate) struct SymbolArgs {
    /// The program that was running, where it is not where it was
    #[arg(long, value_name = "FILE")]
    pub(crate) exe: Option<PathBuf>,

    /// Where debug information lies in files of its own; several may be given
    ///
    /// By default /usr/lib/debug.
    #[arg(long, value_name = "DIR")]
    pub(crate) debug_dir: Vec<PathBuf>,

    /// Where the files of the machine lie that the dump is from: its root
    #[arg(long, value_name = "DIR")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Takes files that are not the ones that were mapped
    #[arg(long)]
    pub(crate) force: bool,

    /// The largest profile that is read, uncompressed
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = super::gate::size)]
    pub(crate) max_size: u64,
}

impl SymbolArgs {
    /// That what was named is there: without it names would be missing without a word
    /// of why.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (option, path) in [("--exe", &self.exe), ("--sysroot", &self.sysroot)] {
            if let Some(path) = path {
                let there = std::fs::metadata(path);
                there.with_context(|| format!("{option} {}", shown(path)))?;
            }
        }
        Ok(())
    }
}

fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(10 << 20)
        .build()
        .map_err(|err| format!("expected a regular expression: {err}"))
}
