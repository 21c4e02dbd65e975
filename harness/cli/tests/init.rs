//! `plimsoll init`, in projects that have something already. A first verdict in a project is in
//! `bisect/a_project.rs`.

mod project;

use std::path::Path;

use insta::assert_snapshot;

use project::Project;

const MEASURE: &str = ".github/workflows/leaks-measure.yml";
const NEXTEST: &str = ".config/nextest.toml";
const NOTHING: &[&str] = &["nothing to do"];

/// A package alone.
fn demo() -> Project {
    let project = Project::empty();
    project.package("", "demo", "lib");
    project
}

/// The package `demo`, and another one below it.
fn with_part(name: &str) -> Project {
    let project = demo();
    project.package("part", name, "lib");
    project.append("Cargo.toml", "[workspace]\nmembers = [\"part\"]\n");
    project
}

/// The packages `a` and `b`, in a workspace that is no package.
fn two() -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", TWO);
    project.package("a", "a", "lib");
    project.package("b", "b", "lib");
    project
}

const TWO: &str = "# ours\n[workspace]\nresolver = \"2\"\n\
    members = [\n    # the core\n    \"a\",\n    \"b\", # last\n]\n";

#[test]
fn benches_become_tests_of_the_same_files() {
    let project = demo();
    project.append(
        "Cargo.toml",
        "itoa = { version = \"1\", default-features = false }\n\n[dev-dependencies]\n\
         crit = { package = \"criterion\", version = \"0.5\", features = [\"async_tokio\"] }\n\
         part = { path = \"part\" }\n\n[target.'cfg(unix)'.dev-dependencies]\nlibc = \"0.2\"\n\n\
         [[bench]]\nname = \"codec\"\nharness = false\n\
         required-features = [\"std\", \"unstable\", \"itoa/no-panic\"]\n\n[[bench]]\nname = \"other\"\n\n\
         [features]\ndefault = [\"all\"]\nall = [\"std\"]\nstd = []\nunstable = []\n\n\
         [workspace]\nmembers = [\"part\"]\n",
    );
    project.package("part", "part", "lib");
    for name in ["codec", "other"] {
        project.write(&format!("benches/{name}.rs"), "fn main() {}\n");
    }
    let says = [
        "note: demo has benchmarks of criterion: codec\n",
        "now measure with `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --release -p demo-leaks`",
    ];
    let shown = project.says("init --dry-run --no-benches", 0, &[]);
    assert!(
        !shown.stdout.contains("plimsoll-criterion"),
        "{}",
        shown.stdout
    );
    project.says("init --yes", 0, &says);
    let manifest = project.read("leaks/Cargo.toml");
    let (_, needs) = manifest.split_once("[dev-dependencies]\n").unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let needs = needs.replace(version, "VERSION");
    assert_snapshot!(needs, @r#"
    plimsoll = "VERSION"
    demo = { path = ".." }
    crit = { package = "plimsoll-criterion", version = "VERSION", features = ["async_tokio"] }
    itoa = { version = "^1", default-features = false }
    part = { path = "../part" }

    [[test]]
    name = "leaks"
    harness = false

    [[test]]
    name = "codec"
    path = "../benches/codec.rs"
    harness = false
    required-features = ["unstable"]

    # Without them, as in `cargo bench`, benches that require them are left out.
    [features]
    unstable = ["demo/unstable"]

    [target."cfg(unix)".dev-dependencies]
    libc = { version = "^0.2" }

    # Where the benches find their files.
    [package.metadata.plimsoll]
    directory = ".."
    "#);
    assert!(project.read(NEXTEST).contains("\"package(=demo-leaks)\""));
    let measures = "run: CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo test --locked --release \
                    --no-fail-fast -p demo-leaks\n";
    assert!(project.read(MEASURE).contains(measures));
    // cargo takes it as it is.
    project.says("init --yes --package demo", 0, NOTHING);
}

#[test]
fn what_is_written_is_shown_before() {
    let project = demo();
    let files = project.files("");
    let shown = [
        "Cargo.toml\n",
        "  + members = [\"leaks\"]\n",
        "leaks/Cargo.toml (new)\n",
        "leaks/tests/leaks.rs (new)\n",
        "baselines/README.md (new)\n",
        ".config/nextest.toml (new)\n",
        ".github/workflows/leaks-measure.yml (new)\n",
        "nothing was written\n",
    ];
    project.says("init --dry-run", 0, &shown);
    project.says("init", 2, &["not a terminal", "--yes"]);
    assert_eq!(project.files(""), files);
    // A second time there is nothing to write, so nobody is asked.
    project.says("init --yes", 0, &["written"]);
    project.write("leaks/tests/leaks.rs", "// ours\n");
    let files = project.files("");
    project.says("init", 0, NOTHING);
    project.says("init --yes", 0, NOTHING);
    assert_eq!(project.files(""), files);
}

#[cfg(unix)]
#[test]
fn on_a_terminal_it_asks() {
    use std::io::Write;
    for (answer, says) in [("Yes", "written; now"), ("no", "nothing was written\n")] {
        let project = demo();
        let (mut keyboard, side) = project::terminal();
        // It waits there for whoever reads.
        writeln!(keyboard, "{answer}").unwrap();
        let mut init = project.command(project::PLIMSOLL);
        let ran = project.ran(init.arg("init").stdin(side).output().unwrap());
        ran.has(0, &["write this? [y/N] ", says]);
    }
}

#[test]
fn the_member_tests_the_library() {
    let project = demo();
    let before = project.read("Cargo.toml");
    project.ok("init --yes --no-workflows");
    // It is nothing but tests, so that `bisect` takes it to revisions that do not have it.
    assert!(!project.exists("leaks/src"));
    assert_snapshot!(project.read("leaks/Cargo.toml"), @r#"
    [package]
    name = "demo-leaks"
    version = "0.0.0"
    edition = "2021"
    publish = false

    # For tests alone: `cargo build` does not build them.
    [dev-dependencies]
    plimsoll = "0.1.0"
    demo = { path = ".." }

    [[test]]
    name = "leaks"
    harness = false
    "#);
    let root = project.read("Cargo.toml");
    assert_snapshot!(root.strip_prefix(&before).unwrap(), @r#"

    [workspace]
    members = ["leaks"]
    default-members = [".", "leaks"]
    "#);
    assert!(!project.exists(".github"));
    // Of a program, nothing can be taken.
    let program = Project::empty();
    program.package("", "demo", "main");
    program.ok("init --yes");
    assert!(!program.read("leaks/Cargo.toml").contains("path"));
}

#[test]
fn a_workspace_keeps_its_order_and_comments() {
    let project = two();
    let measure = ["now measure with `cargo test -p b-leaks --test leaks`"];
    project.typed_in("b", "init --yes").has(0, &measure);
    let measure = ["measure with `cargo test --test leaks`", NOTHING[0]];
    project.says("init --yes", 0, &measure);
    let with_leaks = TWO.replace("# last\n", "# last\n    \"leaks\",\n");
    assert_eq!(project.read("Cargo.toml"), with_leaks);
    let member = project.read("leaks/Cargo.toml");
    assert!(member.contains("name = \"b-leaks\""), "{member}");
    assert!(member.contains("b = { path = \"../b\" }"), "{member}");
}

#[test]
fn which_package_is_meant() {
    let none = ["cargo knows of no project here"];
    Project::empty().says("init --yes", 5, &none);
    // From the root nobody is.
    let project = two();
    project.says("init --here --yes", 2, &["--package"]);
    project.says("init --package c", 2, &["expected one of: a, b"]);
    let none = "depend on no package";
    project.says("init --dry-run", 0, &[none]);
    let shown = project.says("init --package a --dry-run", 0, &["a-leaks"]);
    shown.lacks(&[none]);
    // The manifest that is named says it.
    for folder in ["", "../b/"] {
        let line = format!("init --here --dry-run --manifest-path {folder}Cargo.toml");
        let changed = folder.trim_start_matches("../").to_owned() + "Cargo.toml\n";
        let says = [&changed, "harness = false"];
        project.typed_in("a", &line).has(0, &says);
    }
}

#[test]
fn lines_end_as_they_did() {
    let project = demo();
    project.replace("Cargo.toml", "\n", "\r\n");
    project.write(NEXTEST, "# ours\r\n[profile.default]\r\nretries = 2\r\n");
    let before = ["Cargo.toml", NEXTEST].map(|path| (path, project.read(path)));
    project.says("init --yes", 0, &["written"]);
    for (path, before) in before {
        let after = project.read(path);
        assert!(after.starts_with(&before), "{after:?}");
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
    }
    project.says("init --yes", 0, NOTHING);
}

#[test]
fn into_the_package_itself() {
    let project = demo();
    let before = project.read("Cargo.toml");
    let measure = ["cargo test --test leaks"];
    project.says("init --here --yes", 0, &measure);
    let after = project.read("Cargo.toml");
    assert_snapshot!(after.strip_prefix(&before).unwrap(), @r#"

    [dev-dependencies]
    plimsoll = "0.1.0"

    [[test]]
    name = "leaks"
    harness = false
    "#);
    assert!(project.read("tests/leaks.rs").contains("plimsoll::main!"));
    assert!(!project.exists("leaks"));
    project.says("init --here --yes", 0, NOTHING);
}

/// Which has to be told of a crate; a package of ours has one.
#[test]
fn packages_without_an_edition() {
    let (told, newer) = ("+ extern crate plimsoll;\n", "+ edition = \"2018\"\n");
    for (line, has, lacks) in [
        ("init --dry-run --here", told, newer),
        ("init --dry-run", newer, told),
    ] {
        let project = demo();
        project.replace("Cargo.toml", "edition = \"2021\"\n", "");
        project.says(line, 0, &[has]).lacks(&[lacks]);
    }
}

#[test]
fn where_jemalloc_cannot_be_built() {
    let hint = "hint: set CARGO_TARGET_DIR";
    let project = demo();
    project.typed("init --dry-run").lacks(&[hint]);
    project.write(".cargo/config.toml", "build.target-dir = \"a b\"\n");
    let says = ["jemalloc cannot be built in ", hint];
    project.says("init --dry-run", 0, &says);
}

#[test]
fn the_workflows_branch_is_the_remotes() {
    let head = "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin";
    let (trunk, odd) = (format!("{head}/trunk"), format!("{head}/a]b"));
    let master = ["init", "commit --allow-empty -m a", "branch master"];
    for (commands, branch) in [
        (&[][..], "main"),
        (&["init", &trunk], "trunk"),
        (&master, "master"),
        (&["init", &odd], "main"),
    ] {
        let project = demo();
        for command in commands {
            project.git(command, "2001-01-01");
        }
        let line = format!(" branches: [{branch}]\n");
        project.says("init --dry-run", 0, &[&line]);
    }
}

#[test]
fn what_is_there_is_not_replaced() {
    let project = demo();
    project.write("tests/leaks.rs", "fn main() {}\n");
    project.write(MEASURE, "name: Ours\n");
    project.write("baselines/window.toml", "format = 1\n");
    // Cargo finds a test there by itself: it is one that is there.
    let says = [
        "leaks-measure.yml is there, and stays as it is",
        "leaks.rs exists, but does not call `plimsoll::main!`",
    ];
    let said = project.says("init --here --yes", 0, &says);
    said.lacks(&["cargo test"]);
    assert_eq!(project.read("tests/leaks.rs"), "fn main() {}\n");
    assert_eq!(project.read(MEASURE), "name: Ours\n");
    assert!(!project.exists("baselines/README.md"));

    let project = demo();
    project.package("leaks", "leaks", "lib");
    let says = ["is a package that is not in this workspace", "--here"];
    project.says("init --yes", 5, &says);
}

/// A project that somebody else wrote may have a folder lead anywhere.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    for link in ["leaks", ".github", ".config"] {
        let project = demo();
        let files = project.files("");
        let elsewhere = Project::empty();
        std::os::unix::fs::symlink(elsewhere.path(""), project.path(link)).unwrap();
        project.says("init --yes", 5, &[link, "a symbolic link"]);
        assert_eq!(elsewhere.files("").len(), 0, "{link}");
        std::fs::remove_file(project.path(link)).unwrap();
        assert_eq!(project.files(""), files, "{link}");
    }
}

#[test]
fn workflows_name_the_action() {
    let project = demo();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let line = format!("init --dry-run --action somebody/plimsoll@{commit}");
    let uses = format!("uses: somebody/plimsoll/.github/actions/plimsoll@{commit} # v0.1.0\n");
    project.says(&line, 0, &[&uses]).lacks(&["OWNER"]);

    let says = ["OWNER/plimsoll", "--action"];
    project.says("init --yes", 0, &says);
    project.says("init --action x", 2, &["40 digits"]);
}

#[test]
fn a_lockfile_that_git_ignores() {
    for (ignored, command) in [
        ("Cargo.lock\n", "run: cargo test --test leaks\n"),
        ("", "run: cargo test --locked --test leaks\n"),
    ] {
        let project = demo();
        project.git("init --quiet", "2001-01-01");
        project.write(".gitignore", ignored);
        project.ok("init --yes");
        let workflow = project.read(MEASURE);
        assert!(workflow.contains(command), "{workflow}");
    }
}

#[test]
fn workflows_measure_where_the_project_is() {
    let project = Project::empty();
    project.write(".git/HEAD", "");
    project.package("my rust/demo", "demo", "lib");
    project.typed_in("my rust/demo", "init --yes").has(0, &[]);
    let text = project.read(MEASURE);
    let is_about_it = |line: &&str| line.contains("working-directory") || line.contains("run:");
    let lines: Vec<&str> = text.lines().filter(is_about_it).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    working-directory: "my rust/demo"
    run: cargo test --locked --test leaks
      working-directory: "my rust/demo"
    "#);
    let again = project.typed_in("my rust/demo", "init --yes");
    again.has(0, NOTHING);
}

/// Cargo tests the package at the root alone, unless it is told otherwise.
#[test]
fn what_is_said_to_measure_finds_the_test() {
    let project = with_part("part");
    let from_root = "measure with `cargo test -p part --test leaks`";
    let from_part = "measure with `cargo test --test leaks`";
    for (folder, says) in [
        ("", ["written", from_root]),
        ("", ["nothing to do", from_root]),
        ("part", ["nothing to do", from_part]),
    ] {
        let said = project.typed_in(folder, "init --here --package part --yes");
        said.has(0, &says);
    }
    let text = project.read(MEASURE);
    let run = "        run: cargo test --locked -p part --test leaks\n";
    assert!(text.contains(run), "{text}");
}

#[test]
fn the_path_is_of_the_library() {
    let project = demo();
    let files = project.files("");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = root.join("harness/measure/Cargo.toml");
    for (path, found) in [
        (root.to_str().unwrap(), "no package"),
        (".", "that of demo"),
        (manifest.to_str().unwrap(), "no package"),
    ] {
        let says = [found, "hint: in a checkout it is harness/measure"];
        let ran = project.plimsoll(&["init", "--yes", "--path", path]);
        ran.has(2, &says);
    }
    assert_eq!(project.files(""), files);
}

#[test]
fn a_package_may_have_its_name_already() {
    let project = with_part("demo-leaks");
    project.says("init --yes", 0, &["demo-leaks-2"]);
    project.says("init --yes", 0, NOTHING);
}

/// Cargo would read it no more, and nobody could so much as ask again.
#[cfg(unix)]
#[test]
fn no_project_is_left_broken() {
    // Every folder is a member: that of the baselines too.
    let project = Project::empty();
    let workspace = "[workspace]\nresolver = \"2\"\nmembers = [\"*\"]\n";
    project.write("Cargo.toml", workspace);
    project.package("a", "a", "lib");
    let files = project.files("");
    let says = ["nothing was written", "referenced via `*`", "--dry-run"];
    project.says("init --yes", 5, &says);
    assert_eq!(project.files(""), files);
    assert!(!project.exists("leaks") && !project.exists("baselines"));
}
