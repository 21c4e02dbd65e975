//! The slowdown of a workload by measuring it, in CPU time. It is the median of pairs of runs
//! that alternate, because machines are shared.
//!
//! ```text
//! cargo bench -p plimsoll-benches --bench slowdown             11 pairs of a second
//! cargo bench -p plimsoll-benches --bench slowdown -- --pairs 21 --seconds 2
//! ```
//!
//! A pair is a run with inactive profiling and a run that is measured, each of at least the
//! given CPU seconds. The table has the median of the pairs' factors and their quartiles. The
//! workload is in `benches/src/workload.rs`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a table for people"
)]

use std::process::{Command, ExitCode, Stdio};

use plimsoll_benches::cpu_seconds as spent;

/// A way to measure: its name in the table, and jemalloc's options and unwinder. Without these,
/// dhat-rs measures.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    jemalloc: Option<(&'static str, &'static str)>,
}

const INACTIVE: Mode = jemalloc(
    "profiling inactive",
    "prof:true,prof_active:false",
    "plimsoll",
);

const MODES: [Mode; 6] = [
    jemalloc("exact", "lg_prof_sample:0,prof_accum:true", "plimsoll"),
    jemalloc(
        "exact, libgcc's unwinder",
        "lg_prof_sample:0,prof_accum:true",
        "libgcc",
    ),
    jemalloc("512 B sampled", "lg_prof_sample:9", "plimsoll"),
    jemalloc("4 KiB sampled", "lg_prof_sample:12", "plimsoll"),
    jemalloc("64 KiB sampled", "lg_prof_sample:16", "plimsoll"),
    Mode {
        name: "dhat-rs",
        jemalloc: None,
    },
];

const fn jemalloc(name: &'static str, options: &'static str, unwinder: &'static str) -> Mode {
    Mode {
        name,
        jemalloc: Some((options, unwinder)),
    }
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
    match measure(pairs, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(pairs: usize, seconds: f64) -> Result<(), String> {
    println!("{pairs} pairs, {seconds} CPU seconds each\n");
    println!("{:26} {:>8} {:>8} {:>8}", "", "median", "25 %", "75 %");
    for mode in MODES {
        // `enough_iterations` tries each count, so the runs are long enough even if the first
        // try was slow to start.
        let inactive = enough_iterations(INACTIVE, seconds)?;
        let measured = enough_iterations(mode, seconds)?;
        let mut factors = Vec::new();
        for pair in 0..pairs {
            // The order alternates, so that a drift of the machine's speed favours neither.
            let (base, slow) = if pair % 2 == 0 {
                let base = seconds_per_iteration(INACTIVE, inactive)?;
                (base, seconds_per_iteration(mode, measured)?)
            } else {
                let slow = seconds_per_iteration(mode, measured)?;
                (seconds_per_iteration(INACTIVE, inactive)?, slow)
            };
            factors.push(slow / base);
        }
        factors.sort_by(f64::total_cmp);
        let at = |share: usize| factors[(factors.len() - 1) * share / 4];
        println!(
            "{:26} {:>7.2}× {:>7.2}× {:>7.2}×",
            mode.name,
            at(2),
            at(1),
            at(3)
        );
    }
    Ok(())
}

/// Returns a number of iterations that takes at least this many CPU seconds.
fn enough_iterations(mode: Mode, seconds: f64) -> Result<u64, String> {
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

fn seconds_per_iteration(mode: Mode, iterations: u64) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss, reason = "a few millions at most")]
    Ok(cpu_seconds(mode, iterations)? / iterations as f64)
}

/// Returns the CPU seconds of the program, including those of the kernel for it.
fn cpu_seconds(mode: Mode, iterations: u64) -> Result<f64, String> {
    let mut command = match mode.jemalloc {
        Some((options, unwinder)) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_workload"));
            let options = format!("{options},prof_unbias:false");
            let options = match options.contains("prof:") {
                true => options,
                false => format!("prof:true,prof_active:true,{options}"),
            };
            command
                .args(["--exact", "everything"])
                .env("PLIMSOLL_ISOLATION", "off")
                .env("PLIMSOLL_MAX_ITERATIONS", iterations.to_string())
                .env("PLIMSOLL_BUDGET", "1h")
                .env("PLIMSOLL_UNWINDER", unwinder)
                .env("MALLOC_CONF", &options)
                .env("_RJEM_MALLOC_CONF", &options)
                // In CI, the front refuses `PLIMSOLL_ISOLATION=off`, because such a run gives
                // no verdict.
                .env_remove("CI");
            command
        }
        None => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_workload-dhat"));
            command.arg(iterations.to_string());
            command
        }
    };
    let before = spent(libc::RUSAGE_CHILDREN);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", mode.name))?;
    let took = spent(libc::RUSAGE_CHILDREN) - before;
    if output.status.success() {
        Ok(took)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{}: {}\n{said}", mode.name, output.status))
    }
}
