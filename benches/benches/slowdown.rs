//! The slowdown of a workload by measuring it, in CPU time. It is the median of pairs of runs
//! that alternate, because machines are shared.
//!
//! ```text
//! cargo bench -p plimsoll-benches --bench slowdown             11 pairs of a second
//! cargo bench -p plimsoll-benches --bench slowdown -- --pairs 21 --seconds 2 ages
//! ```
//!
//! The last argument selects comparisons by a part of their name. A pair is a run of each of two
//! modes, of at least the given CPU seconds. The table has the median of the pairs' factors and
//! their quartiles. The workload is in `benches/src/workload.rs`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table for people"
)]

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Output, Stdio};

use plimsoll_benches::cpu_seconds as spent;

/// A way to run the workload: the options of jemalloc, and who walks stacks.
#[derive(Clone, Copy)]
struct Mode {
    options: &'static str,
    by: By,
}

#[derive(Clone, Copy)]
enum By {
    /// The harness of `plimsoll`, with this unwinder.
    Harness(&'static str),
    /// A server with this value of `PLIMSOLL_AGES`, with libgcc's unwinder or plimsoll's.
    Server(&'static str, &'static str),
    /// dhat-rs.
    Dhat,
    /// A subject that is told what to do by the protocol, with or without its table of objects.
    Subject { objects: bool },
}

const INACTIVE: Mode = harness("prof:true,prof_active:false", "plimsoll");

/// The name in the table, the usual mode, and the one that may be slower.
const COMPARED: [(&str, Mode, Mode); 16] = [
    ("exact", INACTIVE, harness(EXACT, "plimsoll")),
    ("exact, with the table", subject(false), subject(true)),
    (
        "exact, libgcc's unwinder",
        INACTIVE,
        harness(EXACT, "libgcc"),
    ),
    (
        "512 B sampled",
        INACTIVE,
        harness("lg_prof_sample:9", "plimsoll"),
    ),
    (
        "4 KiB sampled",
        INACTIVE,
        harness("lg_prof_sample:12", "plimsoll"),
    ),
    (
        "64 KiB sampled",
        INACTIVE,
        harness("lg_prof_sample:16", "plimsoll"),
    ),
    (
        "dhat-rs",
        INACTIVE,
        Mode {
            options: "",
            by: By::Dhat,
        },
    ),
    ages("ages, 4 KiB sampled", "lg_prof_sample:12"),
    ages("ages, 64 KiB sampled", "lg_prof_sample:16"),
    ages("ages, 512 KiB sampled", "lg_prof_sample:19"),
    sampled("server, libgcc, 4 KiB", "lg_prof_sample:12", "libgcc"),
    sampled("server, libgcc, 64 KiB", "lg_prof_sample:16", "libgcc"),
    sampled("server, libgcc, 512 KiB", "lg_prof_sample:19", "libgcc"),
    sampled("server, unwinder, 4 KiB", "lg_prof_sample:12", "plimsoll"),
    sampled("server, unwinder, 64 KiB", "lg_prof_sample:16", "plimsoll"),
    sampled("server, unwinder, 512 KiB", "lg_prof_sample:19", "plimsoll"),
];

const EXACT: &str = "lg_prof_sample:0,prof_accum:true";

const fn harness(options: &'static str, unwinder: &'static str) -> Mode {
    Mode {
        options,
        by: By::Harness(unwinder),
    }
}

const fn subject(objects: bool) -> Mode {
    Mode {
        options: "lg_prof_sample:0,prof_accum:false",
        by: By::Subject { objects },
    }
}

/// A server with births, against one that is not profiled.
const fn sampled(
    name: &'static str,
    options: &'static str,
    unwinder: &'static str,
) -> (&'static str, Mode, Mode) {
    let inactive = Mode {
        options: "prof:true,prof_active:false",
        by: By::Server("off", "libgcc"),
    };
    let by = By::Server("on", unwinder);
    (name, inactive, Mode { options, by })
}

/// A server with births, against the same without.
const fn ages(name: &'static str, options: &'static str) -> (&'static str, Mode, Mode) {
    let [without, with] = [By::Server("off", "libgcc"), By::Server("on", "libgcc")];
    (
        name,
        Mode {
            options,
            by: without,
        },
        Mode { options, by: with },
    )
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str, otherwise: f64| {
        let position = words.iter().position(|word| word == flag);
        position
            .and_then(|position| words.get(position + 1)?.parse().ok())
            .unwrap_or(otherwise)
    };
    // `cargo bench -- --test` only checks that the benchmark still runs.
    let (pairs, seconds) = if words.iter().any(|word| word == "--test") {
        (1, 0.02)
    } else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count from the command line"
        )]
        let pairs = number("--pairs", 11.0).max(1.0) as usize;
        (pairs, number("--seconds", 1.0))
    };
    // Cargo adds `--bench` at the end.
    let is_part = |word: &&String| !word.starts_with("--") && word.parse::<f64>().is_err();
    let part = words.iter().rfind(is_part);
    match measure(part.map_or("", String::as_str), pairs, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(part: &str, pairs: usize, seconds: f64) -> Result<(), String> {
    println!("{pairs} pairs, {seconds} CPU seconds each\n");
    println!("{:26} {:>8} {:>8} {:>8}", "", "median", "25 %", "75 %");
    for (name, base, slow) in COMPARED {
        if !name.contains(part) {
            continue;
        }
        // `enough_iterations` tries each count, so the runs are long enough even if the first
        // try was slow to start.
        let [base, slow] = [(name, base), (name, slow)];
        let of_base = enough_iterations(base, seconds)?;
        let of_slow = enough_iterations(slow, seconds)?;
        let mut factors = Vec::new();
        for pair in 0..pairs {
            // The order alternates, so that a drift of the machine's speed favours neither.
            let (base, slow) = if pair % 2 == 0 {
                let base = seconds_per_iteration(base, of_base)?;
                (base, seconds_per_iteration(slow, of_slow)?)
            } else {
                let slow = seconds_per_iteration(slow, of_slow)?;
                (seconds_per_iteration(base, of_base)?, slow)
            };
            factors.push(slow / base);
        }
        factors.sort_by(f64::total_cmp);
        let at = |share: usize| factors[(factors.len() - 1) * share / 4];
        println!("{name:26} {:>7.3}× {:>7.3}× {:>7.3}×", at(2), at(1), at(3));
    }
    Ok(())
}

/// Returns a number of iterations that takes at least this many CPU seconds.
fn enough_iterations(mode: (&str, Mode), seconds: f64) -> Result<u64, String> {
    let mut iterations = 500_u64;
    loop {
        let took = cpu_seconds(mode, iterations)?;
        if took >= seconds {
            return Ok(iterations);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate, of a few millions at most"
        )]
        let next = (iterations as f64 * (1.2 * seconds / took.max(1e-3)).min(100.0)) as u64;
        iterations = next.max(iterations + 1);
    }
}

fn seconds_per_iteration(mode: (&str, Mode), iterations: u64) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss, reason = "a few millions at most")]
    Ok(cpu_seconds(mode, iterations)? / iterations as f64)
}

/// Returns the CPU seconds of the program, including those of the kernel for it.
fn cpu_seconds((name, mode): (&str, Mode), iterations: u64) -> Result<f64, String> {
    let mut options = format!("{},prof_unbias:false", mode.options);
    if !options.contains("prof:") {
        options = format!("prof:true,prof_active:true,{options}");
    }
    let mut command = match mode.by {
        By::Harness(unwinder) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_workload"));
            command
                .args(["--exact", "everything"])
                .env("PLIMSOLL_ISOLATION", "off")
                .env("PLIMSOLL_MAX_ITERATIONS", iterations.to_string())
                .env("PLIMSOLL_BUDGET", "1h")
                .env("PLIMSOLL_UNWINDER", unwinder)
                // In CI, the front refuses `PLIMSOLL_ISOLATION=off`, because such a run gives
                // no verdict.
                .env_remove("CI");
            command
        }
        By::Server(ages, unwinder) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_workload-ages"));
            command
                .args([&iterations.to_string(), unwinder])
                .env("PLIMSOLL_AGES", ages);
            command
        }
        By::Subject { .. } => Command::new(env!("CARGO_BIN_EXE_workload")),
        By::Dhat => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_workload-dhat"));
            command.arg(iterations.to_string());
            command
        }
    };
    let before = spent(libc::RUSAGE_CHILDREN);
    command
        .env("MALLOC_CONF", &options)
        .env("_RJEM_MALLOC_CONF", &options);
    let output = match mode.by {
        By::Subject { objects } => by_protocol(&mut command, objects, iterations),
        _ => command.stdin(Stdio::null()).output(),
    };
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let took = spent(libc::RUSAGE_CHILDREN) - before;
    if output.status.success() {
        Ok(took)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{name}: {}\n{said}", output.status))
    }
}

/// Runs a subject as a front does; `docs/protocol.md` has the protocol.
fn by_protocol(command: &mut Command, objects: bool, iterations: u64) -> io::Result<Output> {
    let progress = std::env::temp_dir().join(format!("plimsoll-{}", std::process::id()));
    fs::write(&progress, [0; 16])?;
    let (mut ours, theirs) = UnixStream::pair()?;
    command
        .args(["--plimsoll-subject", &std::process::id().to_string()])
        .arg(&progress)
        .arg("plimsoll")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let child = command.spawn()?;
    // Or the end of the subject would not end what it says.
    command.stdin(Stdio::null());
    let objects = if objects { "objects\n" } else { "" };
    ours.write_all(format!("{objects}setup everything\nrun {iterations}\nend\n").as_bytes())?;
    let output = child.wait_with_output();
    fs::remove_file(progress)?;
    output
}
