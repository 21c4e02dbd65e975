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

use std::process::{Command, ExitCode, Stdio};

/// A way to run the workload.
#[derive(Clone, Copy)]
struct Mode {
    /// Options of jemalloc.
    options: &'static str,
    /// Who walks stacks, plimsoll or libgcc.
    unwinder: &'static str,
    /// In a server, with this value of `PLIMSOLL_AGES`. Otherwise in the harness of `plimsoll`.
    ages: Option<&'static str>,
}

/// Returns the comparisons: the name in the table, the usual mode, and the one that may be slower.
fn comparisons() -> Vec<(String, Mode, Mode)> {
    const INACTIVE: &str = "prof:true,prof_active:false";
    const EXACT: &str = "lg_prof_sample:0,prof_accum:true";
    let mode = |options, unwinder, ages| Mode {
        options,
        unwinder,
        ages,
    };
    let harness = |options, unwinder| mode(options, unwinder, None);
    let server = |options, unwinder, ages| mode(options, unwinder, Some(ages));
    let inactive = harness(INACTIVE, "plimsoll");
    let mut all = vec![
        ("exact".to_owned(), inactive, harness(EXACT, "plimsoll")),
        (
            "exact, libgcc's unwinder".to_owned(),
            inactive,
            harness(EXACT, "libgcc"),
        ),
    ];
    let (small, medium) = (
        ("4 KiB", "lg_prof_sample:12"),
        ("64 KiB", "lg_prof_sample:16"),
    );
    for (interval, options) in [("512 B", "lg_prof_sample:9"), small, medium] {
        let sampled = harness(options, "plimsoll");
        all.push((format!("{interval} sampled"), inactive, sampled));
    }
    for (interval, options) in [small, medium, ("512 KiB", "lg_prof_sample:19")] {
        let [without, with] = ["off", "on"].map(|ages| server(options, "libgcc", ages));
        all.push((format!("ages, {interval} sampled"), without, with));
        let inactive = server(INACTIVE, "libgcc", "off");
        all.push((format!("server, libgcc, {interval}"), inactive, with));
        let faster = server(options, "plimsoll", "on");
        all.push((format!("server, unwinder, {interval}"), inactive, faster));
    }
    all
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
    for (name, base, slow) in comparisons() {
        if !name.contains(part) {
            continue;
        }
        let explain = |error: String| format!("{name}: {error}");
        // `enough_iterations` tries each count, so the runs are long enough even if the first
        // try was slow to start.
        let of_base = enough_iterations(base, seconds).map_err(explain)?;
        let of_slow = enough_iterations(slow, seconds).map_err(explain)?;
        let mut factors = Vec::new();
        for pair in 0..pairs {
            // The order alternates, so that a drift of the machine's speed favours neither.
            let mut both = [(base, of_base), (slow, of_slow)];
            both.rotate_left(pair % 2);
            let mut took = [0.0; 2];
            for (took, (mode, iterations)) in took.iter_mut().zip(both) {
                #[expect(clippy::cast_precision_loss, reason = "a few millions at most")]
                let each = cpu_seconds(mode, iterations).map_err(explain)? / iterations as f64;
                *took = each;
            }
            took.rotate_left(pair % 2);
            factors.push(took[1] / took[0]);
        }
        factors.sort_by(f64::total_cmp);
        let at = |share: usize| factors[(factors.len() - 1) * share / 4];
        println!("{name:26} {:>7.3}× {:>7.3}× {:>7.3}×", at(2), at(1), at(3));
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

/// Returns the CPU seconds of the program, including those of the kernel for it.
fn cpu_seconds(mode: Mode, iterations: u64) -> Result<f64, String> {
    let mut options = format!("{},prof_unbias:false", mode.options);
    if !options.contains("prof:") {
        options = format!("prof:true,prof_active:true,{options}");
    }
    let mut command;
    if let Some(ages) = mode.ages {
        command = Command::new(env!("CARGO_BIN_EXE_workload-ages"));
        command
            .args([&iterations.to_string(), mode.unwinder])
            .env("PLIMSOLL_AGES", ages);
    } else {
        command = Command::new(env!("CARGO_BIN_EXE_workload"));
        command
            .args(["--exact", "everything"])
            .env("PLIMSOLL_ISOLATION", "off")
            .env("PLIMSOLL_MAX_ITERATIONS", iterations.to_string())
            .env("PLIMSOLL_BUDGET", "1h")
            .env("PLIMSOLL_UNWINDER", mode.unwinder)
            // In CI, the front refuses `PLIMSOLL_ISOLATION=off`, because such a run gives no
            // verdict.
            .env_remove("CI");
    }
    command
        .env("MALLOC_CONF", &options)
        .env("_RJEM_MALLOC_CONF", &options)
        .stdin(Stdio::null());
    let before = of_children();
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(of_children() - before);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{said}", output.status))
}

/// Returns the CPU seconds of all processes that were started here and have ended.
fn of_children() -> f64 {
    // SAFETY: all fields of `rusage` are integers, for which zeros are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a valid `rusage`, which nobody else reads or writes during the call.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    #[expect(clippy::cast_precision_loss, reason = "some seconds")]
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
