//! A leak test of well-behaved and of misbehaving scenarios: what the tests run.

mod healthy;
mod holders;
mod maps;

use std::collections::VecDeque;
use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use plimsoll::Scenario;

/// Keeps one object of 40 bytes in every iteration.
fn leak(_: u64) {
    std::mem::forget(black_box(vec![1_u8; 40]));
}

fn bounded() -> Scenario {
    Scenario::new("bounded", || {
        let mut recent = VecDeque::new();
        move |_i: u64| {
            recent.push_back(vec![0_u8; 64]);
            if recent.len() > 500 {
                recent.pop_front();
            }
        }
    })
}

/// One object in 1,000 iterations, under a churn of a hundred times as much.
fn slow_leak(i: u64) {
    drop(black_box(vec![1_u8; 64]));
    if i % 1_000 == 999 {
        std::mem::forget(black_box(vec![1_u8; 32]));
    }
}

/// Keeps something every ten milliseconds, whatever the iterations. It is made in each of them, or
/// only where it is kept.
fn by_the_clock<T: 'static>(name: &'static str, each_makes: bool, make: fn() -> T) -> Scenario {
    Scenario::new(name, move || {
        let started = Instant::now();
        let mut kept = Vec::with_capacity(10_000);
        move |_i: u64| {
            let is_due = (kept.len() as u128) < started.elapsed().as_millis() / 10;
            let made = (is_due || each_makes).then(|| black_box(make()));
            kept.extend(made.filter(|_| is_due));
            std::thread::sleep(Duration::from_micros(100));
        }
    })
}

/// Keeps an object every twenty milliseconds, in a thread of its own.
fn ticks() -> Scenario {
    Scenario::new("ticks", || {
        std::thread::spawn(|| {
            loop {
                std::mem::forget(black_box(vec![1_u8; 48]));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        |_i: u64| std::thread::sleep(Duration::from_micros(200))
    })
}

/// In C's allocator, which no global allocator of Rust's sees. The size is the largest that
/// jemalloc calls small: for such a sampled object it counts more than the profile.
fn c_leak(_: u64) {
    // SAFETY: malloc(3) takes a size; what it answers is not touched.
    black_box(unsafe { libc::malloc(14 << 10) });
}

fn thread_leak(_: u64) {
    std::thread::spawn(hangs);
}

fn descriptor_leak(_: u64) -> std::io::Result<()> {
    std::fs::File::open("/dev/null").map(std::mem::forget)
}

/// Opens as many files as it may, and does not say so.
fn no_descriptor_left() -> Scenario {
    Scenario::new("no_descriptor_left", || {
        let mut held = Vec::new();
        move |i: u64| {
            if i == 20 {
                // SAFETY: the limit is valid for the call.
                unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &at_most(256)) };
                held.extend(std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()));
            }
        }
    })
}

fn panics(i: u64) {
    println!("iteration {i}");
    assert!(i < 700, "too many: {i}");
}

/// An error whose `Debug` text is that of `anyhow`, with `RUST_BACKTRACE=1`.
struct Traced;

impl std::fmt::Debug for Traced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no answer\n\nCaused by:\n    channel closed\n\nStack backtrace:\n")?;
        (0..100).try_for_each(|frame| writeln!(f, "  {frame}: jobs::frame_{frame}"))
    }
}

/// Says its last words without ending the line.
fn errs(i: u64) -> Result<(), Traced> {
    if i < 50 {
        return Ok(());
    }
    print!("the last words");
    Err(Traced)
}

fn panics_in_setup() -> Scenario {
    Scenario::new("panics_in_setup", || {
        if black_box(true) {
            panic!("no server to be found");
        }
        |_i: u64| {}
    })
}

/// Something happens in the hundredth iteration.
fn in_100(name: &'static str, something: fn()) -> Scenario {
    Scenario::new(name, move || {
        move |i: u64| {
            if i == 100 {
                something();
            }
        }
    })
}

fn is_killed() {
    // SAFETY: raise(3) takes a number.
    unsafe { libc::raise(libc::SIGKILL) };
}

fn hangs() {
    std::thread::sleep(Duration::from_secs(3_600));
}

/// What it forks goes on as if it were the workload.
fn forks() {
    // SAFETY: the child returns, and does nothing that could need a lock; the other
    // waits for its end.
    unsafe {
        let child = libc::fork();
        if child > 0 {
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
}

/// Lets no file grow beyond what the first dumps need.
fn cuts_dumps() {
    // SAFETY: signal(2) and setrlimit(2) with valid arguments.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &at_most(4_096));
    }
}

fn at_most(limit: u64) -> libc::rlimit {
    libc::rlimit {
        rlim_cur: limit,
        rlim_max: limit,
    }
}

/// Leaves processes behind that hold the output open, one of them in a session of its own.
fn grandchild() -> Scenario {
    Scenario::new("grandchild", || {
        let mut daemon = std::process::Command::new("sleep");
        // SAFETY: setsid(2) takes nothing, and may be called in a forked child.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut daemon, || {
                libc::setsid();
                Ok(())
            });
        }
        let children = [&mut std::process::Command::new("sleep"), &mut daemon]
            .map(|sleep| sleep.arg("3600").spawn().expect("sleep"));
        let ids = children.each_ref().map(std::process::Child::id);
        println!("grandchildren {} {}", ids[0], ids[1]);
        let mut children = Some(children);
        move |i: u64| {
            if i == 1_000 {
                std::mem::forget(children.take());
            }
        }
    })
}

/// Prints more than a pipe or a disk should have to hold.
fn floods() -> Scenario {
    Scenario::new("floods", || {
        let line = "x".repeat(4_000);
        move |i: u64| {
            println!("{line}");
            if i == 10_000 {
                println!("the last line");
                panic!("enough");
            }
        }
    })
}

/// An unwinder that finds no frame.
fn blind() -> Scenario {
    extern "C" fn nothing(_: *mut *mut c_void, frames: *mut u32, _: u32) {
        // SAFETY: jemalloc passes a pointer to the number of frames it has.
        unsafe { *frames = 0 };
    }
    type Hook = extern "C" fn(*mut *mut c_void, *mut u32, u32);
    Scenario::new("blind", || {
        // SAFETY: jemalloc documents this name as a writable pointer to a
        // function of this type.
        unsafe {
            tikv_jemalloc_ctl::raw::write(b"experimental.hooks.prof_backtrace\0", nothing as Hook)
        }
        .expect("jemalloc has the hook");
        |_i: u64| {}
    })
}

// Calls its argument, and says nothing of its frame: there is no unwind information.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl plimsoll_test_call; plimsoll_test_call: sub rsp, 8; call rdi; add rsp, 8; ret"
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl plimsoll_test_call; plimsoll_test_call: stp x29, x30, [sp, -16]!; blr x0; ldp x29, x30, [sp], 16; ret"
);
unsafe extern "C" {
    fn plimsoll_test_call(then: extern "C" fn());
}

/// Allocates under code that nothing is known of, as a just-in-time compiler makes it.
fn generated(_: u64) {
    extern "C" fn allocate() {
        std::mem::forget(black_box(vec![1_u8; 40]));
    }
    // SAFETY: the instructions are such a function.
    unsafe { plimsoll_test_call(allocate) };
}

/// Starts a thread that leaks three objects of 64 bytes and ends, mostly before its first
/// sample.
fn leaks_in_a_thread() {
    let leak = || (0..3).for_each(|_| std::mem::forget(black_box(Box::new([1_u8; 64]))));
    std::thread::spawn(leak).join().expect("it does not panic");
}

/// Holds what cannot be dropped.
fn drops_badly() -> Scenario {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            let panics = std::env::var_os("PLIMSOLL_TEST_PANIC").is_some();
            assert!(!panics, "not like this");
            std::process::abort();
        }
    }
    Scenario::new("drops_badly", || {
        let bad = Bad;
        move |_i: u64| {
            black_box(&bad);
        }
    })
}

/// Keeps 256 bytes in each iteration, beside more objects than an exact profile has memory for, a
/// page each.
fn leaks_beside_much() -> Scenario {
    Scenario::new("leaks_beside_much", || {
        let held: Vec<Box<[u8; 64]>> = (0..60_000).map(|_| Box::new([0; 64])).collect();
        move |_i: u64| {
            black_box(&held);
            std::mem::forget(black_box(Box::new([0_u8; 256])));
        }
    })
}

/// As where the first iterations connect, or fill a pool.
fn starts_slowly(i: u64) {
    std::thread::sleep(Duration::from_millis(if i < 8 { 100 } else { 1 }));
}

fn is_slow(_: u64) {
    std::thread::sleep(Duration::from_millis(5));
}

/// Far more allocations in an iteration than an exact profile has time for.
fn allocates_much(_: u64) {
    for _ in 0..20_000 {
        black_box(Box::new([0_u8; 32]));
    }
}

/// Keeps an object of every iteration on a stack that is deeper than jemalloc keeps, and
/// dumps the heap while it runs to a rung.
fn keeps_deep_down() -> Scenario {
    #[inline(never)]
    fn deeper(calls: usize) {
        match calls {
            0 => std::mem::forget(black_box(vec![1_u8; 40])),
            _ => deeper(calls - 1),
        }
        // Not the last thing that it does: it would be a jump.
        black_box(calls);
    }
    Scenario::new("keeps_deep_down", || {
        let path = std::env::var("PLIMSOLL_TEST_DUMP").unwrap_or_default();
        // Whoever looks for holders runs it a second time.
        let is_there = std::path::Path::new(&path).exists();
        let path = std::ffi::CString::new(path).expect("a path");
        move |i: u64| {
            deeper(200);
            if i == 99 && !path.is_empty() && !is_there {
                // SAFETY: jemalloc(3) lists this name as writable, of type `const char *`;
                // the string outlives the call.
                unsafe { tikv_jemalloc_ctl::raw::write(b"prof.dump\0", path.as_ptr()) }
                    .expect("the folder is there");
            }
        }
    })
}

plimsoll::main!(
    Scenario::new("leak", || leak),
    bounded(),
    Scenario::new("slow_leak", || slow_leak),
    Scenario::new("c_leak", || c_leak),
    Scenario::new("thread_leak", || thread_leak),
    Scenario::new("descriptor_leak", || descriptor_leak),
    Scenario::new("panics", || panics),
    Scenario::new("errs", || errs),
    panics_in_setup(),
    in_100("aborts", || std::process::abort()),
    in_100("killed", is_killed),
    in_100("forks", forks),
    in_100("exits", || std::process::exit(3)),
    in_100("hangs", hangs).timeout(Duration::from_secs(5)),
    grandchild(),
    floods(),
    blind(),
    Scenario::new("generated", || generated),
    in_100("cuts_dumps", cuts_dumps),
    Scenario::new("short_threads", || |_i: u64| leaks_in_a_thread()),
    drops_badly(),
    Scenario::new("left_out", || |_i: u64| {}).ignore("takes a day"),
    leaks_beside_much(),
    Scenario::new("starts_slowly", || starts_slowly),
    Scenario::new("is_slow", || is_slow),
    Scenario::new("allocates_much", || allocates_much),
    keeps_deep_down(),
    by_the_clock("by_the_clock", false, || vec![1_u8; 48]),
    by_the_clock("by_the_clock_beside_what_goes", true, || vec![1_u8; 48]),
    by_the_clock("maps_by_the_clock", false, || maps::Map::memory(1 << 20)),
    ticks(),
    no_descriptor_left(),
    Scenario::new("maps_pages", || maps::maps_pages),
    Scenario::new("maps_memfd", || maps::maps_memfd),
    Scenario::new("glibc_leak", || maps::glibc_leak),
    Scenario::new("grows_reserved", maps::grows_reserved),
);

/// Runs the leak test: of the scenarios above, of workloads that keep nothing, of those whose objects
/// are held by something, or of those for which it is hard to find holders.
pub(crate) fn run() -> std::process::ExitCode {
    match std::env::var(crate::PROGRAM).as_deref() {
        Ok("healthy") => run_all(healthy::all),
        Ok("holders") => run_all(holders::all),
        Ok("hostile") => run_all(holders::hostile),
        _ => main(),
    }
}

/// Runs other scenarios as a leak test of their own.
fn run_all(all: fn() -> Vec<Scenario>) -> std::process::ExitCode {
    let target = plimsoll::__private::Target {
        package: env!("CARGO_PKG_NAME"),
        name: env!("CARGO_CRATE_NAME"),
        manifest_dir: env!("CARGO_MANIFEST_DIR"),
    };
    plimsoll::__private::main(&target, all)
}
