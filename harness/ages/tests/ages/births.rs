//! Births in real dumps: this program runs itself with jemalloc's profiler and reads what comes of
//! it. The programs move their clock themselves, so nothing here waits.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use plimsoll_ages::testing::number;
use plimsoll_core::ages::Birth;
use plimsoll_core::dump::HeapDump;
use plimsoll_core::{Avma, SymbolTable};
use plimsoll_symbols::{MappedFile, Options, symbolize};

use crate::program::{self, GENERATION, OBJECTS};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Makes this program one of those in [`program`].
const PROGRAM: &str = "PLIMSOLL_TEST_PROGRAM";

const CASES: [(&str, fn()); 7] = [
    ("each_birth_has_its_interval", each_birth_has_its_interval),
    ("it_says_what_it_did", it_says_what_it_did),
    ("every_stack_has_one_birth", every_stack_has_one_birth),
    ("off_changes_nothing", off_changes_nothing),
    ("both_unwinders_find_the_same", both_unwinders_find_the_same),
    ("a_full_stack_keeps_its_leaf", a_full_stack_keeps_its_leaf),
    ("a_birth_of_the_harness_stays", a_birth_of_the_harness_stays),
];

pub(crate) fn main() -> ExitCode {
    if let Ok(name) = std::env::var(PROGRAM) {
        if std::env::var("PLIMSOLL_AGES").as_deref() == Ok("slow") {
            plimsoll_ages::testing::without_unwinder();
        }
        program::run(&name, &std::env::args().nth(1).unwrap());
        return ExitCode::SUCCESS;
    }
    let trials = CASES.map(|(name, case)| {
        Trial::test(name, move || {
            case();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// The name that tools show for a birth.
const NAME: &str = "plimsoll_ages::time_of_birth";

struct Ran {
    folder: tempfile::TempDir,
    said: String,
}

/// Runs a program with jemalloc's options, and `PLIMSOLL_AGES`. If the latter is `slow`, it is on
/// without the feature `unwinder`.
fn run(name: &str, options: &str, ages: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .arg(folder.path())
        .env(PROGRAM, name)
        .env("PLIMSOLL_AGES", ages)
        // Cargo decides whether jemalloc's names have a prefix.
        .env("MALLOC_CONF", options)
        .env("_RJEM_MALLOC_CONF", options)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    Ran { folder, said }
}

/// A dump, with the names of its frames.
struct Dump {
    dump: HeapDump,
    names: SymbolTable,
}

impl Ran {
    fn dump(&self, name: &str) -> Dump {
        let dump = std::fs::read(self.folder.path().join(name)).unwrap();
        let dump = HeapDump::parse(&dump).unwrap();
        let stacks = dump.records().flat_map(|record| record.stack);
        let names = names(&dump, stacks.copied().collect());
        Dump { dump, names }
    }
}

fn names(dump: &HeapDump, addresses: BTreeSet<Avma>) -> SymbolTable {
    let maps = &dump.maps().unwrap().mappings;
    let mappings: Vec<_> = maps.iter().map(MappedFile::from).collect();
    symbolize(&mappings, &addresses, &Options::default())
}

impl Dump {
    fn name(&self, address: Avma) -> &str {
        &self.names.get(address).last().unwrap().function
    }

    fn is_birth(&self, address: Avma) -> bool {
        self.name(address) == NAME
    }

    /// Returns the live objects of a function of [`program`], by birth. Checks that each stack
    /// has at most one birth, at its root.
    fn alive(&self, function: &str) -> BTreeMap<Option<u64>, u64> {
        let mut alive = BTreeMap::new();
        for record in self.dump.records() {
            let (last, rest) = record.stack.split_last().unwrap();
            assert!(!rest.iter().any(|frame| self.is_birth(*frame)));
            let frames = rest.iter().flat_map(|frame| self.names.get(*frame));
            let mut functions = frames.map(|frame| frame.function.as_str());
            let mut all = functions.clone();
            assert!(!all.any(|name| name.ends_with("ages::hook::hook")));
            if functions.any(|name| name.ends_with(&format!("program::{function}"))) {
                let birth = Birth::of(*last).filter(|_| self.is_birth(*last));
                let birth = birth.map(|birth| u64::from(birth.number()));
                *alive.entry(birth).or_default() += record.counts.inuse.objects;
            }
        }
        alive.retain(|_, objects| *objects > 0);
        alive
    }

    /// Returns the frames under which the most bytes are live, leaf first.
    fn largest(&self) -> &[Avma] {
        let records = self.dump.records();
        let largest = records.max_by_key(|record| record.counts.inuse.bytes);
        largest.unwrap().stack
    }
}

/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

/// Returns the uptime in milliseconds at which a birth begins, as readers compute it. `None`
/// from 2^64 on.
fn start(number: u64) -> Option<u64> {
    Birth::new(u16::try_from(number).ok()?).map(Birth::start_ms)
}

fn each_birth_has_its_interval() {
    // A word has room for 1,008 births.
    for birth in 0..=220 {
        assert_eq!(number(start(birth).unwrap()), birth);
        let end = start(birth + 1).map_or(u64::MAX, |end| end - 1);
        assert_eq!(number(end), birth);
    }
    assert_eq!(start(221), None);
}

fn it_says_what_it_did() {
    let [on, already] =
        ["from now on", "already"].map(|it| format!("heap profiles have times of birth {it}"));
    let not_profiled = "heap profiles have no times of birth: jemalloc's profiler was not enabled at start; \
                        start the program with MALLOC_CONF=prof:true, or _RJEM_MALLOC_CONF=prof:true if \
                        jemalloc's functions are prefixed";
    let off = "heap profiles have no times of birth: PLIMSOLL_AGES is `off`; to turn them on, unset \
               it and restart the program";
    for (options, ages, said) in [
        ("prof:true,prof_active:false", "on", [&*on, &*already]),
        ("prof:false", "on", [not_profiled; 2]),
        ("prof:true,prof_active:false", "off", [off; 2]),
    ] {
        let ran = run("install", options, ages);
        assert_eq!(ran.said.trim_end(), said.join("\n"), "{options}, {ages}");
    }
}

fn every_stack_has_one_birth() {
    for (interval, ages) in [(0, "on"), (16, "slow"), (19, "on")] {
        let options = format!("prof:true,lg_prof_sample:{interval}");
        let dump = run("births", &options, ages).dump("births.heap");
        let objects = OBJECTS as u64;
        let expected = [None, Some(number(HOUR)), Some(number(10 * HOUR))];
        let expected = expected.map(|birth| (birth, objects));
        assert_eq!(dump.alive("keep"), BTreeMap::from(expected), "{interval}");
        // The function has its 1,024 bytes, at a multiple of them.
        let mut roots = dump.dump.records().map(|record| record.stack.last());
        let birth = roots.find_map(|root| root.filter(|root| dump.is_birth(**root)));
        let begin = birth.unwrap().0 / 1_024 * 1_024;
        // The name of a return address is that of the byte before it.
        let edges = [begin, begin + 1, begin + 1_024, begin + 1_025].map(Avma);
        let names = names(&dump.dump, BTreeSet::from(edges));
        let is_in = edges.map(|edge| names.get(edge)[0].function == NAME);
        assert_eq!(is_in, [false, true, true, false]);
    }
}

/// Each line of the program is a stack, and who has walked it. It has compared them itself.
fn both_unwinders_find_the_same() {
    let ours = match cfg!(feature = "unwinder") {
        true => "plimsoll",
        false => "libgcc",
    };
    for (ages, ours) in [("on", ours), ("slow", "libgcc")] {
        let said = run("stacks", "prof:true,prof_active:false", ages).said;
        let mut lines = said.lines();
        let installed = "heap profiles have times of birth from now on";
        assert_eq!(lines.next(), Some(installed));
        for (stack, by) in [
            ("1 call", ours),
            ("200 calls", ours),
            ("on a thread", ours),
            ("through a library that was loaded later", "libgcc"),
            ("through another one in its place", "libgcc"),
        ] {
            assert_eq!(lines.next(), Some(&*format!("{stack}: {by}")), "{said}");
        }
    }
}

fn off_changes_nothing() {
    let ran = run("births", "prof:true,lg_prof_sample:0", "off");
    let alive = ran.dump("births.heap").alive("keep");
    assert_eq!(alive, BTreeMap::from([(None, 3 * OBJECTS as u64)]));
}

fn a_full_stack_keeps_its_leaf() {
    let ran = |limit: usize, ages| {
        let options = format!("prof:true,lg_prof_sample:16,prof_bt_max:{limit}");
        let dump = run("deep", &options, ages).dump("deep.heap");
        let names = dump.largest().iter().map(|frame| dump.name(*frame));
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    let birth = &[NAME.to_owned()];
    // All of its frames fit.
    let whole = ran(500, "off");
    // libgcc begins with the hook that it is called from.
    let skipped = usize::from(cfg!(feature = "unwinder"));
    for (ages, whole) in [("slow", &whole[..]), ("on", &whole[skipped..])] {
        for limit in [1, 2, 128, 500] {
            let expected = match limit {
                1 => whole[..1].to_vec(),
                500 => [whole, birth].concat(),
                _ => [&whole[..limit - 1], birth].concat(),
            };
            assert_eq!(ran(limit, ages), expected, "{limit} frames");
        }
    }
}

fn a_birth_of_the_harness_stays() {
    let ran = run("measured", "prof:true,lg_prof_sample:16", "on");
    let dump = ran.dump("measured.heap");
    let stack = dump.largest();
    assert_eq!((stack.len(), stack[1]), (2, Avma(GENERATION as u64)));
}
