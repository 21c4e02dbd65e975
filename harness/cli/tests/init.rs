//! `plimsoll init`: from `cargo new` to a first verdict, and into projects that have
//! something already.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod built;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    /// What `cargo new` makes.
    fn with_package(name: &str, main: &str) -> Folder {
        let folder = Folder::new();
        folder.package("", name, main);
        folder
    }

    fn package(&self, dir: &str, name: &str, main: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n"
        );
        self.write(&format!("{dir}/Cargo.toml"), &manifest);
        self.write(&format!("{dir}/src/{main}.rs"), "pub fn main() {}\n");
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|err| panic!("{path}: {err}"))
    }

    fn init(&self, args: &[&str]) -> Said {
        self.init_in("", args)
    }

    fn init_in(&self, dir: &str, args: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .arg("init")
            .args(args)
            .current_dir(self.path(dir))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        Said::of(&command.output().unwrap())
    }

    /// Every file's content by its path.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let name = path.strip_prefix(self.0.path()).unwrap().to_owned();
                        files.insert(name, fs::read_to_string(path).unwrap());
                    }
                }
            }
        }
        files
    }
}

struct Said {
    status: i32,
    text: String,
}

impl Said {
    fn of(output: &Output) -> Said {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        Said {
            status: output.status.code().unwrap_or(-1),
            text: String::from_utf8(text).unwrap(),
        }
    }

    #[track_caller]
    fn has(&self, status: i32, parts: &[&str]) {
        assert_eq!(self.status, status, "{}", self.text);
        for part in parts {
            assert!(
                self.text.contains(part),
                "expected {part:?} in: {}",
                self.text
            );
        }
    }
}

fn harness() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../measure")
        .canonicalize()
        .unwrap()
}

/// Three commands: `cargo new`, `plimsoll init`, `cargo test --test leaks`.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[test]
fn from_a_new_project_to_a_first_verdict() {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PLIMSOLL_") {
                cargo.env_remove(name);
            }
        }
        cargo
    };
    let folder = Folder::new();
    let made = cargo()
        .args(["new", "--quiet", "--lib", "--vcs", "none", "demo"])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    Said::of(&made).has(0, &[]);

    let harness = harness();
    let args = ["--yes", "--path", harness.to_str().unwrap()];
    folder
        .init_in("demo", &args)
        .has(0, &["demo-leaks", "cargo test --test leaks"]);

    // The versions of this repository, which have been fetched.
    let lock = harness.join("../../Cargo.lock");
    fs::copy(lock, folder.path("demo/Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("init");
    let mut measure = cargo();
    built::link_our_jemalloc(&mut measure)
        .args(["test", "--offline", "--test", "leaks"])
        .current_dir(folder.path("demo"))
        .env("CARGO_TARGET_DIR", target);
    Said::of(&measure.output().unwrap()).has(0, &["test window ... ok", "1 passed; 0 failed"]);
    // Others' tests do not build the harness for it.
    let mut tree = cargo();
    tree.args(["tree", "--offline", "-p", "demo", "-e", "all"])
        .current_dir(folder.path("demo"));
    let tree = Said::of(&tree.output().unwrap());
    tree.has(0, &["demo v0.1.0"]);
    assert!(!tree.text.contains("jemalloc"), "{}", tree.text);
}

#[test]
fn a_second_time_nothing_is_done() {
    let folder = Folder::with_package("demo", "lib");
    folder.init(&["--yes"]).has(0, &["written"]);
    let files = folder.files();
    folder.init(&["--yes"]).has(0, &["nothing to do"]);
    // Nor where nobody is there to be asked.
    folder.init(&[]).has(0, &["nothing to do"]);
    assert_eq!(folder.files(), files);

    folder.write("leaks/tests/leaks.rs", "// ours\n");
    folder.init(&["--yes"]).has(0, &["nothing to do"]);
    assert_eq!(folder.read("leaks/tests/leaks.rs"), "// ours\n");
}

#[test]
fn what_is_written_is_shown_before() {
    let folder = Folder::with_package("demo", "lib");
    let files = folder.files();
    let dry = folder.init(&["--dry-run"]);
    dry.has(
        0,
        &[
            "Cargo.toml\n",
            "  + members = [\"leaks\"]\n",
            "leaks/Cargo.toml (new)\n",
            "leaks/tests/leaks.rs (new)\n",
            "baselines/README.md (new)\n",
            ".config/nextest.toml (new)\n",
            ".github/workflows/leaks-measure.yml (new)\n",
            "nothing was written\n",
        ],
    );
    assert_eq!(folder.files(), files);
    folder.init(&[]).has(2, &["not a terminal", "--yes"]);
    assert_eq!(folder.files(), files);
}

#[cfg(unix)]
#[test]
fn a_yes_in_any_case_is_one() {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    for (answer, says) in [
        ("y", "written; now"),
        ("Yes", "written; now"),
        (" YES ", "written; now"),
        ("yess", "nothing was written\n"),
        ("no", "nothing was written\n"),
        ("", "nothing was written\n"),
    ] {
        let folder = Folder::with_package("demo", "lib");
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        // It waits there for whoever reads.
        rustix::io::write(&keyboard, format!("{answer}\n").as_bytes()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["init", "--path"])
            .arg(harness())
            .current_dir(folder.path(""))
            .stdin(side)
            .output()
            .unwrap();
        Said::of(&output).has(0, &["write this? [y/N] ", says]);
    }
}

#[test]
fn the_member_tests_the_library() {
    let folder = Folder::with_package("demo", "lib");
    folder.init(&["--yes", "--no-workflows"]).has(0, &[]);
    // It is nothing but tests, so that `bisect` takes it to revisions that do not have it.
    assert!(!folder.path("leaks/src").exists());
    insta::assert_snapshot!(folder.read("leaks/Cargo.toml"), @r#"
    [package]
    name = "demo-leaks"
    version = "0.0.0"
    edition = "2021"
    publish = false

    # For tests alone: who builds the workspace does not build them.
    [dev-dependencies]
    plimsoll = "0.1.0"
    demo = { path = ".." }

    [[test]]
    name = "leaks"
    harness = false
    "#);
    insta::assert_snapshot!(folder.read("Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"

    [dependencies]

    [workspace]
    members = ["leaks"]
    default-members = [".", "leaks"]
    "#);
    assert!(!folder.path(".github").exists());
    // Of a program, nothing can be taken.
    let program = Folder::with_package("demo", "main");
    program.init(&["--yes"]).has(0, &[]);
    assert!(!program.read("leaks/Cargo.toml").contains("path"));
}

#[test]
fn a_workspace_keeps_its_order_and_comments() {
    let folder = Folder::new();
    let root = "# ours\n[workspace]\nresolver = \"2\"\nmembers = [\n    # the core\n    \"a\",\n    \"b\", # last\n]\n";
    folder.write("Cargo.toml", root);
    folder.package("a", "a", "lib");
    folder.package("b", "b", "lib");
    folder.init_in("b", &["--yes"]).has(
        0,
        &["now measure with `cargo test -p b-leaks --test leaks`"],
    );
    folder
        .init(&["--yes"])
        .has(0, &["measure with `cargo test --test leaks`"]);
    insta::assert_snapshot!(folder.read("Cargo.toml"), @r#"
    # ours
    [workspace]
    resolver = "2"
    members = [
        # the core
        "a",
        "b", # last
        "leaks",
    ]
    "#);
    let member = folder.read("leaks/Cargo.toml");
    assert!(member.contains("name = \"b-leaks\""), "{member}");
    assert!(member.contains("b = { path = \"../b\" }"), "{member}");
    folder.init(&["--yes"]).has(0, &["nothing to do"]);
    // From the root nobody is meant.
    let folder = Folder::new();
    folder.write("Cargo.toml", root);
    folder.package("a", "a", "lib");
    folder.package("b", "b", "lib");
    folder.init(&["--here", "--yes"]).has(2, &["--package"]);
    folder
        .init(&["--package", "c"])
        .has(2, &["expected one of: a, b"]);
    folder
        .init(&["--package", "a", "--yes"])
        .has(0, &["a-leaks"]);
}

#[test]
fn the_manifest_that_is_named_says_which_package() {
    let folder = Folder::new();
    folder.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"a\", \"b\"]\n",
    );
    folder.package("a", "a", "lib");
    folder.package("b", "b", "lib");
    for (manifest, changed) in [
        ("Cargo.toml", "Cargo.toml"),
        ("../b/Cargo.toml", "b/Cargo.toml"),
    ] {
        let said = folder.init_in("a", &["--here", "--dry-run", "--manifest-path", manifest]);
        said.has(0, &[&format!("{changed}\n"), "harness = false"]);
    }
}

#[test]
fn lines_end_as_they_did() {
    let folder = Folder::with_package("demo", "lib");
    let nextest = "# ours\r\n[profile.default]\r\nretries = 2\r\n";
    folder.write(".config/nextest.toml", nextest);
    let manifest = folder.read("Cargo.toml").replace('\n', "\r\n");
    folder.write("Cargo.toml", &manifest);
    folder.init(&["--yes"]).has(0, &["written"]);
    for (path, before) in [
        ("Cargo.toml", manifest.as_str()),
        (".config/nextest.toml", nextest),
    ] {
        let after = folder.read(path);
        assert!(after.starts_with(before), "{after:?}");
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
    }
    folder.init(&["--yes"]).has(0, &["nothing to do"]);
}

#[test]
fn into_the_package_itself() {
    let folder = Folder::with_package("demo", "lib");
    folder
        .init(&["--here", "--yes"])
        .has(0, &["cargo test --test leaks"]);
    insta::assert_snapshot!(folder.read("Cargo.toml"), @r#"
    [package]
    name = "demo"
    version = "0.1.0"
    edition = "2021"

    [dependencies]

    [dev-dependencies]
    plimsoll = "0.1.0"

    [[test]]
    name = "leaks"
    harness = false
    "#);
    assert!(folder.read("tests/leaks.rs").contains("plimsoll::main!"));
    assert!(!folder.path("leaks").exists());
    folder.init(&["--here", "--yes"]).has(0, &["nothing to do"]);
}

/// Which has to be told of a crate; a package of ours has one.
#[test]
fn packages_without_an_edition() {
    let manifest = |folder: &Folder| {
        folder
            .read("Cargo.toml")
            .replace("edition = \"2021\"\n", "")
    };
    let folder = Folder::with_package("demo", "lib");
    folder.write("Cargo.toml", &manifest(&folder));
    let said = folder.init(&["--yes", "--here"]);
    said.has(0, &["+ extern crate plimsoll;\n"]);

    let folder = Folder::with_package("demo", "lib");
    folder.write("Cargo.toml", &manifest(&folder));
    let said = folder.init(&["--yes"]);
    said.has(0, &["+ edition = \"2021\"\n"]);
    assert!(!said.text.contains("extern crate"), "{}", said.text);
}

#[test]
fn where_jemalloc_cannot_be_built() {
    let said = |folder: &Folder| folder.init(&["--yes", "--no-workflows"]);
    let hint = "hint: set CARGO_TARGET_DIR";
    let folder = Folder::with_package("demo", "lib");
    assert!(!said(&folder).text.contains(hint));
    let folder = Folder::with_package("demo", "lib");
    folder.write(".cargo/config.toml", "build.target-dir = \"a b\"\n");
    said(&folder).has(0, &["jemalloc cannot be built in ", hint]);
}

#[test]
fn the_workflows_branch_is_the_remotes() {
    let branch = |commands: &[&[&str]]| {
        let folder = Folder::with_package("demo", "lib");
        for words in commands {
            let git = Command::new("git")
                .args(["-c", "init.defaultBranch=work"])
                .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
                .args(*words)
                .current_dir(folder.path(""))
                .output()
                .unwrap();
            assert!(git.status.success(), "{git:?}");
        }
        folder.init(&["--yes"]).has(0, &[]);
        let text = folder.read(".github/workflows/leaks-measure.yml");
        let line = text.lines().find(|line| line.contains("branches:"));
        line.unwrap().trim().to_owned()
    };
    let head = "refs/remotes/origin/HEAD";
    let trunk = ["symbolic-ref", head, "refs/remotes/origin/trunk"];
    assert_eq!(branch(&[]), "branches: [main]");
    assert_eq!(branch(&[&["init"], &trunk]), "branches: [trunk]");
    let odd = ["symbolic-ref", head, "refs/remotes/origin/a]b"];
    let commit = ["commit", "--allow-empty", "-m", "a"];
    let master: &[&[&str]] = &[&["init"], &commit, &["branch", "master"]];
    assert_eq!(branch(master), "branches: [master]");
    assert_eq!(branch(&[&["init"], &odd]), "branches: [main]");
}

#[test]
fn what_is_there_is_not_replaced() {
    let folder = Folder::with_package("demo", "lib");
    folder.write("tests/leaks.rs", "fn main() {}\n");
    folder.write(".github/workflows/leaks-measure.yml", "name: Ours\n");
    folder.write("baselines/window.toml", "format = 1\n");
    let said = folder.init(&["--here", "--yes"]);
    // Cargo finds a test there by itself: it is one that is there.
    said.has(
        0,
        &[
            "leaks-measure.yml is there, and stays as it is",
            "leaks.rs exists, but does not call `plimsoll::main!`",
        ],
    );
    assert!(!said.text.contains("cargo test"), "{}", said.text);
    assert_eq!(folder.read("tests/leaks.rs"), "fn main() {}\n");
    assert_eq!(
        folder.read(".github/workflows/leaks-measure.yml"),
        "name: Ours\n"
    );
    assert!(!folder.path("baselines/README.md").exists());

    let folder = Folder::with_package("demo", "lib");
    folder.package("leaks", "leaks", "lib");
    folder
        .init(&["--yes"])
        .has(5, &["is a package that is not in this workspace", "--here"]);
}

/// A project that somebody else wrote may have a folder lead anywhere.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    for link in ["leaks", ".github", ".config"] {
        let folder = Folder::with_package("demo", "lib");
        let files = folder.files();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path(link)).unwrap();
        folder.init(&["--yes"]).has(5, &[link, "a symbolic link"]);
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "{link}");
        fs::remove_file(folder.path(link)).unwrap();
        assert_eq!(folder.files(), files, "{link}");
    }
}

#[test]
fn what_nextest_knows_already_stays() {
    let folder = Folder::with_package("demo", "lib");
    folder.write(
        ".config/nextest.toml",
        "# ours\n[profile.default]\nretries = 2\n\n[test-groups]\ndatabase = { max-threads = 2 }\n",
    );
    folder.init(&["--yes"]).has(0, &[]);
    insta::assert_snapshot!(folder.read(".config/nextest.toml"), @r#"
    # ours
    [profile.default]
    retries = 2

    [test-groups]
    database = { max-threads = 2 }
    leaks = { max-threads = 1 }

    [[profile.default.overrides]]
    filter = "binary(=leaks)"
    test-group = "leaks"
    # A leak that is there in every other run is there.
    retries = 0
    "#);
    folder.init(&["--yes"]).has(0, &["nothing to do"]);

    let folder = Folder::with_package("demo", "lib");
    folder.write(
        ".config/nextest.toml",
        "profile = { default = { retries = 2 } }\n",
    );
    folder.init(&["--yes"]).has(
        5,
        &["nextest.toml", "cannot be added", "hint: add a test group"],
    );
    assert!(!folder.path("leaks").exists());
    // As it is said.
    folder.write(
        ".config/nextest.toml",
        "test-groups = { leaks = { max-threads = 1 } }\n\
         profile = { default = { overrides = [{ filter = \"binary(=leaks)\", test-group = \"leaks\" }] } }\n",
    );
    folder.init(&["--yes"]).has(0, &["written"]);
}

#[test]
fn workflows_name_the_action() {
    let folder = Folder::with_package("demo", "lib");
    folder.write(".git/HEAD", "");
    folder.write("deep/x", "");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let action = format!("somebody/plimsoll@{commit}");
    let said = folder.init(&["--yes", "--action", &action]);
    said.has(0, &[]);
    assert!(!said.text.contains("OWNER"), "{}", said.text);
    let text = folder.read(".github/workflows/leaks-comment.yml");
    let uses = format!("uses: somebody/plimsoll/.github/actions/plimsoll@{commit} # v0.1.0\n");
    assert!(text.contains(&uses), "{text}");

    let folder = Folder::with_package("demo", "lib");
    folder
        .init(&["--yes"])
        .has(0, &["OWNER/plimsoll", "--action"]);
    folder.init(&["--action", "x"]).has(2, &["40 digits"]);
}

#[test]
fn a_lockfile_that_git_ignores() {
    let git = |folder: &Folder, args: &[&str]| {
        let status = Command::new("git")
            .args(args)
            .current_dir(folder.path(""))
            .env_remove("GIT_DIR")
            .status();
        assert!(status.unwrap().success());
    };
    let note = "git ignores Cargo.lock";
    let folder = Folder::with_package("demo", "lib");
    git(&folder, &["init", "--quiet"]);
    folder.write(".gitignore", "Cargo.lock\n");
    folder.init(&["--yes"]).has(0, &[note, "`--locked`"]);

    let folder = Folder::with_package("demo", "lib");
    git(&folder, &["init", "--quiet"]);
    folder.write(".gitignore", "Cargo.lock\n");
    let said = folder.init(&["--yes", "--no-workflows"]);
    assert!(!said.text.contains(note), "{}", said.text);

    let folder = Folder::with_package("demo", "lib");
    git(&folder, &["init", "--quiet"]);
    let said = folder.init(&["--yes"]);
    assert!(!said.text.contains(note), "{}", said.text);
}

#[test]
fn workflows_measure_where_the_project_is() {
    let folder = Folder::new();
    folder.write(".git/HEAD", "");
    folder.package("my rust/demo", "demo", "lib");
    folder.init_in("my rust/demo", &["--yes"]).has(0, &[]);
    let text = folder.read(".github/workflows/leaks-measure.yml");
    insta::assert_snapshot!(text.split_once("    steps:\n").unwrap().1, @r#"
          - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
            with:
              persist-credentials: false
          - name: Measure
            timeout-minutes: 45
            working-directory: "my rust/demo"
            run: cargo test --locked --test leaks
          - name: Report
            if: ${{ !cancelled() }}
            uses: OWNER/plimsoll/.github/actions/plimsoll@0000000000000000000000000000000000000000 # v0.1.0
            with:
              command: report
              working-directory: "my rust/demo"
    "#);
    folder
        .init_in("my rust/demo", &["--yes"])
        .has(0, &["nothing to do"]);
}

/// Cargo tests the package at the root alone, unless it is told otherwise.
#[test]
fn what_is_said_to_measure_finds_the_test() {
    let folder = Folder::with_package("demo", "lib");
    folder.package("part", "part", "lib");
    let manifest = folder.read("Cargo.toml") + "[workspace]\nmembers = [\"part\"]\n";
    folder.write("Cargo.toml", &manifest);
    let from_root = "measure with `cargo test -p part --test leaks`";
    let here = ["--here", "--package", "part", "--yes"];
    folder.init(&here).has(0, &["written", from_root]);
    folder.init(&here).has(0, &["nothing to do", from_root]);
    folder
        .init_in("part", &here)
        .has(0, &["measure with `cargo test --test leaks`"]);
    let text = folder.read(".github/workflows/leaks-measure.yml");
    let run = "        run: cargo test --locked -p part --test leaks\n";
    assert!(text.contains(run), "{text}");
}

#[test]
fn the_path_is_of_the_library() {
    let folder = Folder::with_package("demo", "lib");
    let files = folder.files();
    let harness = harness();
    let checkout = harness.join("../..");
    let other = folder.path("");
    for (path, found) in [
        (&checkout, "no package"),
        (&other, "that of demo"),
        (&harness.join("Cargo.toml"), "no package"),
    ] {
        folder
            .init(&["--yes", "--path", path.to_str().unwrap()])
            .has(2, &[found, "hint: in a checkout it is harness/measure"]);
    }
    assert_eq!(folder.files(), files);
}

#[test]
fn a_package_may_have_its_name_already() {
    let folder = Folder::with_package("demo", "lib");
    folder.package("part", "demo-leaks", "lib");
    let manifest = folder.read("Cargo.toml") + "[workspace]\nmembers = [\"part\"]\n";
    folder.write("Cargo.toml", &manifest);
    folder.init(&["--yes"]).has(0, &["demo-leaks-2"]);
    folder.init(&["--yes"]).has(0, &["nothing to do"]);
}

/// Cargo would read it no more, and nobody could so much as ask again.
#[cfg(unix)]
#[test]
fn no_project_is_left_broken() {
    // Every folder is a member: that of the baselines too.
    let folder = Folder::new();
    folder.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"*\"]\n",
    );
    folder.package("a", "a", "lib");
    let files = folder.files();
    let said = folder.init(&["--yes"]);
    said.has(
        5,
        &["nothing was written", "referenced via `*`", "--dry-run"],
    );
    assert_eq!(folder.files(), files);
    assert!(!folder.path("leaks").exists() && !folder.path("baselines").exists());
}

#[test]
fn no_project_no_init() {
    let folder = Folder::new();
    folder
        .init(&["--yes"])
        .has(5, &["cargo knows of no project here"]);
    let folder = Folder::with_package("demo", "lib");
    folder.write("Cargo.toml", "[package\n");
    folder.init(&["--yes"]).has(5, &[]);
}
