//! `cargo plimsoll bench` in a project that knows nothing of it, and `plimsoll run`.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod built;
mod project;

use std::fs;
use std::path::PathBuf;

use project::{PLIMSOLL, Project, Ran};

/// The dependency has another name, which cargo allows.
const MANIFEST: &str = "
[features]
slow = []

[dev-dependencies]
crit = { package = \"criterion\", version = \"0.8\", default-features = false }
";

const CODEC: &str = "use crit::{BenchmarkId, Criterion, criterion_group, criterion_main};

const TABLE: &[u8] = include_bytes!(\"../data/table\");

fn codec(c: &mut Criterion) {
    println!(\"around\");
    // As in a bench that cargo runs.
    let text = std::fs::read(\"data/table\").unwrap();
    let dir = std::env::var(\"CARGO_MANIFEST_DIR\").unwrap();
    assert!(std::path::Path::new(&dir).join(\"data/table\").exists());
    assert_eq!(std::env::var(\"FROM_CONFIGURATION\").as_deref(), Ok(\"yes\"));
    assert_eq!(std::io::stdin().lines().count(), 0);
    let mut group = c.benchmark_group(\"encode\");
    for n in [2_u64, 8] {
        group.bench_with_input(BenchmarkId::new(\"words\", n), &n, |b, n| {
            b.iter(|| vec![*n; text.len() + TABLE.len()])
        });
    }
    group.bench_function(\"8 KiB\", |b| b.iter(|| vec![1_u8; 8 << 10]));
    group.finish();
    c.bench_function(\"same\", |b| b.iter(|| 1));
    c.bench_function(\"same\", |b| b.iter(|| 2));
}

fn keeps(c: &mut Criterion) {
    c.bench_function(\"keeps/push\", |b| {
        let mut kept = Vec::new();
        b.iter(|| kept.push(Box::new([1_u64; 4])));
    });
    c.bench_function(\"fails\", |b| {
        let mut n = 0;
        b.iter(|| {
            n += 1;
            assert!(n < 20, \"no more\");
        });
    });
}

criterion_group!(benches, codec, keeps);
criterion_main!(benches);
";

const COUNTING: &str = "use std::alloc::{GlobalAlloc, Layout, System};

use crit::Criterion;

struct Counting;

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn main() {
    let mut c = Criterion::default().configure_from_args();
    c.bench_function(\"leaks\", |b| b.iter(|| Box::leak(crit::black_box(vec![1_u8; 64]).into_boxed_slice())));
}
";

/// Projects have few iterations: what leaks here does so in each.
const FEW: &str = "PLIMSOLL_MAX_ITERATIONS=2000";

/// A bench that does this, with criterion by that name.
fn small(criterion: &str, body: &str) -> String {
    format!(
        "use {criterion}::{{Criterion, criterion_group, criterion_main}};\n\
         fn f(c: &mut Criterion) {{ {body} }}\n\
         criterion_group!(benches, f);\ncriterion_main!(benches);\n"
    )
}

/// Gives a project the versions of this repository, so that all build the same. What cargo does
/// not need there, it removes before it builds anything.
fn lock_versions(project: &Project, folder: &str) {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    fs::copy(ours, project.path(folder).join("Cargo.lock")).unwrap();
    let mut cargo = project.command("cargo");
    let tree = cargo.args(["tree", "--offline"]);
    let tree = tree.current_dir(project.path(folder)).output();
    project.ran(tree.unwrap()).has(0, &[]);
}

struct Demo {
    project: Project,
    target: PathBuf,
    /// One at a time: what is built is shared.
    _lock: fs::File,
}

impl Demo {
    fn new() -> Demo {
        let (shared, lock) = built::shared();
        let project = Project::empty();
        project.package("", "demo", "lib");
        project.append("Cargo.toml", MANIFEST);
        project.write("data/table", "words\n");
        project.write(
            ".cargo/config.toml",
            "[env]\nFROM_CONFIGURATION = \"yes\"\n\n[net]\noffline = true\n",
        );
        let needs = small("crit", "c.bench_function(\"needs\", |b| b.iter(|| 1));");
        let early = small("crit", "let _ = c; panic!(\"no database\")");
        for (name, text, more) in [
            ("my-codec", CODEC, ""),
            ("counting", COUNTING, ""),
            ("needs", &needs, "required-features = [\"slow\"]\n"),
            ("early", &early, ""),
            ("broken", "fn main() { nothing() }\n", ""),
            ("own", "fn main() {}\n", ""),
        ] {
            project.write(&format!("benches/{name}.rs"), text);
            let entry = format!("\n[[bench]]\nname = \"{name}\"\nharness = false\n{more}");
            project.append("Cargo.toml", &entry);
        }
        project.write("benches/libtest.rs", "#![feature(test)]\n");
        lock_versions(&project, "");
        Demo {
            project,
            target: shared.join("target"),
            _lock: lock,
        }
    }

    fn bench(&self, line: &str) -> Ran {
        let mut command = self.project.command(PLIMSOLL);
        built::build_as_all_do(&mut command).env("CARGO_TARGET_DIR", &self.target);
        project::say(&mut command, line.split(' '));
        self.project.ran(command.output().unwrap())
    }
}

/// One test: what is built takes longer than all that is tried.
#[test]
fn benchmarks_are_measured_as_they_are() {
    let demo = Demo::new();
    let path = demo.project.path("Cargo.lock");
    let modified = || fs::metadata(&path).unwrap().modified().unwrap();
    let (files, before) = (demo.project.files(""), modified());
    let listed = demo.bench("bench --list --bench my-codec").has(0, &[]);
    assert_eq!(
        listed.stdout,
        "encode::words::2: test\nencode::words::8: test\nencode::8_KiB-489a878e: test\n\
         same: test\nsame.2: test\nkeeps::push: test\nfails: test\n"
    );

    let line = format!("{FEW} bench");
    demo.bench(&line)
        .has(
            3,
            &[
                "warning: broken of demo is left out: it does not build; if it needs a feature, \
                 choose it with `--features`\n",
                "warning: libtest of demo is left out: the compiler's harness runs it",
                "warning: own of demo is left out: its `main` does not use criterion\n",
                "test encode::8_KiB-489a878e ... ok\n",
                "test needs ... ok\n",
                // What one program does stops no other.
                "exited early, with status 101, before it listed its scenarios\n",
                "no database\n",
                // criterion's own name, and what a benchmark may do on purpose.
                "\nkeeps/push: keeps growing by +",
                "+1.00 objects per iteration (allowed: 0 B)\n  in my_codec::keeps::{{closure}} at \
                 benches/my-codec.rs:28\n",
                "the benchmark itself may keep this on purpose",
                "measure it again: cargo plimsoll bench -p demo --bench my_codec --exact \\\n    \
                 keeps::push\n",
                // The allocator is not to blame.
                "in counting::main::{{closure}} at benches/counting.rs:21\n",
                "fails: failed in iteration 19: panicked at benches/my-codec.rs:34:13: no more\n",
                "\n9 benchmarks: 2 regressed, 1 failed, 6 within; 1 program lists none, as said above\n",
            ],
        )
        .lacks(&["PLIMSOLL_ISOLATION"]);
    // Nothing is left in the project, and its lock file is as it was.
    assert_eq!(demo.project.files(""), files);
    assert_eq!(modified(), before);

    // What is accepted is green, and a second run builds nothing.
    demo.bench("accept keeps::push --reason one-Vec")
        .has(0, &["baselines/keeps++push.toml"]);
    let line = format!("{FEW} bench --bench my_codec keeps/push");
    let passed = ["1 passed; 0 failed; 0 ignored; 0 measured; 6 filtered out"];
    demo.bench(&line).has(0, &passed).lacks(&["Compiling"]);
}

#[test]
fn a_bisection_takes_a_younger_bench_along() {
    let (shared, _lock) = built::shared();
    let project = Project::empty();
    project.write(".cargo/config.toml", "[net]\noffline = true\n");
    // A dependency of the drop-in has that name too.
    project.package("demo", "paste", "lib");
    project.write("demo/.gitignore", "/target\nCargo.lock\n");
    let git = |words: &str, day: u32| {
        project.git(&format!("-C demo {words}"), &format!("2026-01-0{day}"));
    };
    let commit = |day: u32| {
        git("add .", day);
        git(&format!("commit --quiet -m day-{day}"), day);
    };
    let open = |with: &str| {
        let body = format!("{with}(std::hint::black_box(Box::new([0_u64; 4])));");
        project.write("demo/src/lib.rs", &format!("pub fn open() {{ {body} }}\n"));
    };
    git("init --quiet", 1);
    open("drop");
    commit(1);
    open("Box::leak");
    commit(2);
    project.append(
        "demo/Cargo.toml",
        "\n[dev-dependencies]\ncriterion = { version = \"0.8\", default-features = false }\n\n\
         [[bench]]\nname = \"speed\"\nharness = false\n",
    );
    let open = "c.bench_function(\"open\", |b| b.iter(paste::open));";
    project.write("demo/benches/speed.rs", &small("criterion", open));
    commit(3);
    lock_versions(&project, "demo");
    let mut command = project.command(PLIMSOLL);
    built::build_as_all_do(&mut command);
    let line = format!("{FEW} bisect HEAD~2 --bench speed --scenario open --target-dir");
    project::say(&mut command, line.split(' '));
    command.arg(shared.join("target"));
    command.current_dir(project.path("demo"));
    let said = project.ran(command.output().unwrap());
    said.has(0, &["day-2"]);
    project.git("-C demo diff --exit-code", "2026-01-04");
}

#[test]
fn what_cannot_be_is_refused() {
    let demo = Demo::new();
    let all = "broken, counting, early, libtest, my-codec, needs, own";
    let no_package = "`nope` is no package of this workspace";
    let left_out = "broken of demo is left out";
    let says = |line, status, parts: &[&str]| demo.bench(line).has(status, parts);
    says("bench --bench nope", 2, &["there is no bench `nope`", all]);
    says("bench -p nope", 2, &[no_package, "demo"]);
    let none = ["error[E0425]", left_out, "no benchmark can be measured"];
    says("bench --bench broken", 3, &none);
    says("run /bin/true", 5, &["before it listed its scenarios"]);
    says("run nothing", 2, &["nothing: expected a program"]);
    let project = Project::empty();
    project.package("", "demo", "lib");
    let says = ["there are no benches here", "cargo plimsoll init"];
    project.says("bench", 3, &says);
}
