//! One baseline holds for every build of a program: it is recorded in a debug build,
//! and held against others.
//!
//! ```text
//! tests/builds/leaky/             the program's sources
//! target/tmp/bisect-proof/target  where it is built: what it depends on, once
//! target/tmp/builds/leaky/        the program, with its baseline and its reports
//! target/tmp/builds/BUILD         a script that calls rustc with the flags in its name
//! ```
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

#[path = "../../../cli/tests/built/mod.rs"]
mod built;
mod places;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;

use plimsoll_core::baseline::{self, Acceptance, Baseline};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, Standing, json};

use built::{build_as_all_do, shared};

const SOURCES: &[(&str, &str)] = &[
    ("src/lib.rs", include_str!("leaky/src/lib.rs")),
    ("src/cache.rs", include_str!("leaky/src/cache.rs")),
    ("src/keep.rs", include_str!("leaky/src/keep.rs")),
    ("src/tasks.rs", include_str!("leaky/src/tasks.rs")),
    ("tests/leaks.rs", include_str!("leaky/tests/leaks.rs")),
    ("shelf/src/lib.rs", include_str!("leaky/shelf/src/lib.rs")),
    (
        "shelf/src/boards.rs",
        include_str!("leaky/shelf/src/boards.rs"),
    ),
    (
        "shelf/Cargo.toml",
        "[package]\nname = \"shelf\"\nversion = \"0.0.0\"\nedition = \"2024\"\n",
    ),
];

/// What rustc is told of the program and of the crate that it depends on, behind the flags of
/// its kind, which the name begins with: `lto` is optimised at link time with what it depends
/// on; the others have that as a debug build has it. The baseline is recorded in the first.
const BUILDS: &str = "\
debug -Cdebuginfo=2
debug-v0 -Cdebuginfo=2 -Csymbol-mangling-version=v0
release-limited -Cdebuginfo=1
release-lines -Cdebuginfo=line-tables-only
release-lines-v0 -Cdebuginfo=line-tables-only -Csymbol-mangling-version=v0
release-one-unit -Cdebuginfo=2 -Ccodegen-units=1 -Csymbol-mangling-version=v0
release-small-lines -Cdebuginfo=line-tables-only -Copt-level=s -Cforce-frame-pointers=yes
release-symbols -Cdebuginfo=0
lto";

/// Names of builds, the first of all among them, or `all`. Everything is built once more for `lto`,
/// and the others differ little, so without it a few are made.
const SOME_BUILDS: &str = "PLIMSOLL_TEST_BUILDS";
const A_FEW: &str = "debug release-lines-v0 release-symbols";

const RELEASE: &str = "-Copt-level=3 -Cdebug-assertions=off -Coverflow-checks=off";

/// What is optimised at link time has to be built for it, all of it. rustc 1.95 crashes
/// over crates that are not optimised at all. Said for packages and not for the profile, a
/// level would be that of procedural macros too, which take longest.
const MANIFEST: &str = "[dependencies]\nshelf = { path = \"shelf\" }\n\n[profile.lto]\n\
     inherits = \"release\"\nopt-level = 1\nlto = \"fat\"\ndebug = \"line-tables-only\"\n";

/// A package with leak tests, and where it is built.
struct Ground {
    dir: PathBuf,
    target: PathBuf,
    /// What is built here, others build too.
    _lock: File,
}

impl Ground {
    fn new(name: &str, sources: &[(&str, &str)], manifest: &str) -> Ground {
        let (shared, lock) = shared();
        let dir = shared.with_file_name("builds").join(name);
        // Removes the results of an earlier run. The sources stay, because cargo builds again
        // if their times change.
        for name in ["baselines", "target"] {
            let _ = fs::remove_dir_all(dir.join(name));
        }
        for (path, text) in sources {
            write(&dir.join(path), text);
        }
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = package.canonicalize().unwrap();
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [dev-dependencies]\nplimsoll = {{ path = {package:?} }}\n\n\
             [[test]]\nname = \"leaks\"\nharness = false\n\n[workspace]\n\n{manifest}"
        );
        write(&dir.join("Cargo.toml"), &manifest);
        let tag = "Signature: 8a477f597d28d172789f06886806bc55\n";
        write(&dir.join("target/CACHEDIR.TAG"), tag);
        // The versions of this repository, which have been fetched.
        fs::copy(package.join("../../Cargo.lock"), dir.join("Cargo.lock")).unwrap();
        let ground = Ground {
            dir,
            target: shared.join("target"),
            _lock: lock,
        };
        // Leaves out what is not needed here, and changes nothing else.
        ran(ground.cargo(&["update", "--quiet", "--workspace", "--offline"]));
        ground
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        build_as_all_do(&mut command)
            .args(args)
            .current_dir(&self.dir)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdin(Stdio::null());
        command
    }

    /// Builds the program.
    fn test(&self) -> Command {
        let args = ["test", "--no-run", "--offline", "--message-format=json"];
        let mut command = self.cargo(&args);
        command.args(["--test", "leaks"]);
        command
    }

    /// Builds the program with these flags behind cargo's own, by a script that calls rustc with
    /// them. cargo keeps one build for each path of a wrapper, so the path contains the flags.
    fn test_with(&self, name: &str, flags: &str) -> Command {
        let wrapper = self.dir.with_file_name(format!("{name} {flags}"));
        write(&wrapper, &format!("#!/bin/sh\nexec \"$@\" {flags}\n"));
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = self.test();
        command
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTC_WORKSPACE_WRAPPER", &wrapper);
        command
    }

    /// The program, where the next build does not replace it, and below a folder that is
    /// marked as cargo's: reports go there.
    fn build(&self, name: &str, flags: &str) -> PathBuf {
        let program = self.dir.join(format!("target/{name}-leaks"));
        let profile = if name == "lto" { "lto" } else { "test" };
        let is_debug = name.starts_with("debug");
        let flags = format!("{} {flags}", if is_debug { "" } else { RELEASE });
        let mut command = self.test_with(name, &flags);
        let output = ran(command.args(["--profile", profile]));
        fs::copy(executable(&output), &program).unwrap();
        program
    }

    /// The program, without what was set for this test, as the folder of its package, or for the
    /// leak tests of whoever runs it.
    fn leaks(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PLIMSOLL_") || text.starts_with("CARGO_") {
                command.env_remove(&name);
            }
        }
        command
            .current_dir(&self.dir)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            .env("PLIMSOLL_BUDGET", "60s")
            // An emulator has memory of its own.
            .env("PLIMSOLL_OUTSIDE", "1GiB")
            // Each leak is of whole objects per iteration, so that few are enough.
            .env("PLIMSOLL_MAX_ITERATIONS", "2000")
            .stdin(Stdio::null());
        command
    }

    /// What a run finds, where that is what the test says.
    #[track_caller]
    fn measure(&self, program: &Path, leaky: &str) -> Report {
        let output = self.leaks(program).env("LEAKY", leaky).output().unwrap();
        let path = "target/plimsoll/leaky/leaks/all/report.json";
        let report = json::parse(&fs::read(self.dir.join(path)).unwrap()).unwrap();
        let passes = report.verdict == Verdict::Within;
        assert_eq!(output.status.success(), passes, "{output:?}");
        report
    }

    fn accept(&self, report: &Report) {
        let text = baseline::update(None, &Acceptance::of(report, &Baseline::default())).unwrap();
        write(&self.dir.join("baselines/all.toml"), &text);
    }
}

#[test]
fn one_baseline_for_every_build() {
    let ground = Ground::new("leaky", SOURCES, MANIFEST);
    let asked = std::env::var(SOME_BUILDS).unwrap_or_else(|_| A_FEW.to_owned());
    let asked: Vec<&str> = asked.split(' ').collect();
    let (built, programs) = mpsc::channel();
    std::thread::scope(|scope| {
        let (ground, asked) = (&ground, &asked);
        scope.spawn(move || {
            for build in BUILDS.lines() {
                let (name, flags) = build.split_once(' ').unwrap_or((build, ""));
                if asked == &["all"] || asked.contains(&name) {
                    built.send((name, ground.build(name, flags))).unwrap();
                }
            }
        });
        for (number, (name, program)) in programs.iter().enumerate() {
            if number == 0 {
                ground.accept(&ground.measure(&program, ""));
            }
            holds(ground, name, &program);
        }
    });
}

/// What was accepted is within; one leak more, or twice as much, is too much.
#[track_caller]
fn holds(ground: &Ground, name: &str, program: &Path) {
    let report = ground.measure(program, "");
    let said = format!("{name}:\n{:#?}", report.findings);
    assert_eq!(report.verdict, Verdict::Within, "{said}");
    let moved = of(&report, Standing::Moved);
    match name {
        "debug" => assert_eq!(moved, 0, "{said}"),
        // A method that the trait provides.
        "debug-v0" => assert_eq!(moved, 1, "{said}"),
        // None, or what ends with a call.
        "release-limited" | "release-one-unit" => assert!(moved <= 1, "{said}"),
        // The iteration is inlined into ours, and its name is another everywhere.
        _ => assert_eq!(moved, report.findings.len(), "{said}"),
    }

    if name != "release-symbols" {
        let findings = report.findings.iter();
        let mut blamed = findings.filter_map(|found| found.blame.as_ref()?.at.as_ref());
        // Inlined, it has no type in line tables, but in the source.
        let is_put = blamed.any(|at| at.function == "leaky::cache::Cache::put");
        assert!(is_put, "{said}");
    }

    let report = ground.measure(program, "further");
    let said = format!("{name}, one leak more:\n{:#?}", report.findings);
    assert_eq!(report.verdict, Verdict::Regressed, "{said}");
    if name != "release-symbols" {
        // And it is the only one that is blamed.
        assert_eq!(of(&report, Standing::New), 1, "{said}");
        assert_eq!(report.findings.len(), 10, "{said}");
        let blamed = format!("{:?}", report.findings[0].subject);
        assert!(blamed.contains("leaks::extra"), "{said}");
    }

    let report = ground.measure(program, "twice");
    let said = format!("{name}, twice as much:\n{:#?}", report.findings);
    assert_eq!(report.verdict, Verdict::Regressed, "{said}");
    assert_eq!(of(&report, Standing::Moved), 0, "{said}");
    assert_eq!(of(&report, Standing::Allowed), 0, "{said}");
}

fn of(report: &Report, standing: Standing) -> usize {
    let findings = report.findings.iter();
    findings.filter(|found| found.standing == standing).count()
}

/// Returns the program that cargo has built, by its messages.
fn executable(output: &Output) -> PathBuf {
    let messages = String::from_utf8_lossy(&output.stdout);
    let built = messages.rsplit_once("\"executable\":\"");
    let (built, _) = built.unwrap().1.split_once('"').unwrap();
    built.into()
}

#[track_caller]
fn ran(mut command: impl std::borrow::BorrowMut<Command>) -> Output {
    let output = command.borrow_mut().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output
}

/// Writes a file, unless it has that text already: cargo builds again if its time changes.
fn write(path: &Path, text: &str) {
    if fs::read(path).is_ok_and(|found| found == text.as_bytes()) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn cargo() -> OsString {
    // An absolute path, as cargo sets it for a test.
    std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into())
}
