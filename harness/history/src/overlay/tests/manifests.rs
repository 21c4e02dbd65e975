//! What the overlay writes into manifests.

use insta::assert_snapshot;

use super::*;

#[test]
fn young_test_in_an_old_package() {
    let world = World::of(
        "== crate probe 1.0.0
         == crate unix-only 1.0.0
         == crate unused 1.0.0
         == work/Cargo.toml + tests/target/debug/large tests/target/CACHEDIR.TAG
         package demo 0.1.0; [dependencies]; unused = '1'; [dev-dependencies]
         probe = '1'   # of the test; [target.'cfg(unix)'.dev-dependencies]; unix-only = '1'
         test leaks
         == work/src/lib.rs
         pub fn new_code() {}
         == work/tests/leaks.rs
         mod common;; fn main() { common::hello() }
         == work/tests/common/mod.rs
         pub fn hello() {}
         == old/Cargo.toml + src/lib.rs
         # The demo, as it was.; [package]; name = 'demo'   # its name; version = '0.0.1'
         edition = '2018'

         # Nothing yet.; [features]

         [profile.dev]; # For speed.; opt-level = 1",
    );
    assert_snapshot!(world.laid(DEMO), @r#"
    ~ Cargo.toml
        + [dev-dependencies]; probe = "1"
        + [target."cfg(unix)".dev-dependencies]; unix-only = "1"
        + [[test]]; name = "leaks"; harness = false; path = "tests/leaks.rs"; edition = "2021"
    + tests/common/mod.rs
    + tests/leaks.rs
    cargo: probe 1.0.0, unix-only 1.0.0
    "#);
    world.builds("demo");
}

#[test]
fn young_bench_in_an_old_package() {
    let world = World::of(
        "== crate criterion 1.0.0
         == work/Cargo.toml + src/lib.rs tests/own.rs benches/data/input.txt
         package demo 0.1.0; [dev-dependencies]; criterion = '1'
         [[bench]]; name = 'speed'; harness = false
         == work/benches/speed.rs
         fn main() {}
         == old/Cargo.toml + src/lib.rs tests/own.rs benches/old.rs
         package demo 0.0.1",
    );
    let speed = At {
        file: "benches/speed.rs",
        ..DEMO
    };
    assert_snapshot!(world.laid(speed), @r#"
    ~ Cargo.toml
        + [dev-dependencies]; criterion = "1"
        + [[bench]]; name = 'speed'; harness = false; path = "benches/speed.rs"
    + benches/data/input.txt
    + benches/speed.rs
    cargo: criterion 1.0.0
    "#);
}

#[test]
fn older_test_without_the_scenario() {
    let world = World::of(
        "== crate had 1.0.0 2.0.0
         [features]; fast = []; slow = []
         == crate code 1.0.0 2.0.0
         [features]; fast = []
         == crate choice 1.0.0 2.0.0
         == work/Cargo.toml + src/lib.rs
         package demo 0.1.0; [dependencies]; code = '2'; choice = '2'; [dev-dependencies]
         had = { version = '2', features = ['fast', 'slow'] }
         code = { version = '2', features = ['fast'] }; choice = '2'; test leaks
         == work/tests/leaks.rs
         mod common;; fn main() { common::hello() }
         == work/tests/common/mod.rs
         pub fn hello() {}
         == old/Cargo.toml + src/lib.rs tests/old.rs tests/common.rs
         package demo 0.1.0; [dependencies]; code = '1'
         choice = { version = '1', optional = true }

         [dev-dependencies]; had = { version = '1', features = ['slow'] } # of old

         # The leaks.; [[test]]; name = 'leaks'; path = 'tests/old.rs'
         required-features = ['choice']",
    );
    assert_snapshot!(world.laid(DEMO), @r#"
    - tests/common.rs
    ~ Cargo.toml
        - had = { version = '1', features = ['slow'] } # of old
        - name = 'leaks'; path = 'tests/old.rs'; required-features = ['choice']
        + had = { version = '1', features = ['slow', "fast"] } # of old; code = { version = "1", features = ["fast"] }; choice = { version = '1' }
        + name = "leaks"; path = "tests/leaks.rs"; harness = false
    + tests/common/mod.rs
    + tests/leaks.rs
    cargo: choice 1.0.0, code 1.0.0, had 1.0.0
    "#);
    world.builds("demo");
}

/// A workspace with `core`, and a package for its tests in the working tree alone.
pub(super) fn with_young_member(old_root: &str) -> World {
    let world = World::of(
        "== work/Cargo.toml
         [workspace]; resolver = '2'; members = ['crates/*', 'leaks']; [workspace.package]
         edition = '2024'; license = 'MIT'; readme = 'README.md'; [workspace.lints.rust]
         unused = 'deny'
         == work/crates/core/Cargo.toml + src/lib.rs
         package core 0.1.0
         == work/leaks/Cargo.toml + tests/leaks.rs tests/data/huge.txt target/debug/large
         [package]; name = 'leaks'; version = '0.1.0'; edition.workspace = true
         license.workspace = true; readme.workspace = true

         # What is measured.; [dependencies]
         core = { path = '../crates/core', version = '0.1' } # here

         [lints]; workspace = true

         [[test]]; name = 'leaks'; harness = false
         == work/leaks/nested/Cargo.toml
         package nested 0.1.0
         == old/core/Cargo.toml + src/lib.rs
         package core 0.0.7",
    );
    world.write("old/Cargo.toml", old_root);
    world
}

#[test]
fn young_member() {
    let world = with_young_member(
        "[workspace]\nresolver = \"2\"\n# All of them.\nmembers = [\n    \"core\", # the code\n]\n",
    );
    assert_snapshot!(world.laid(ALONE), @r#"
    ~ Cargo.toml
        +     "leaks",
    + leaks/Cargo.toml
        + [package]; name = 'leaks'; version = '0.1.0'; edition = '2024'; license = 'MIT'
        + # What is measured.; [dependencies]; core = { path = "../core" } # here
        + [[test]]; name = 'leaks'; harness = false
    + leaks/tests/data/huge.txt
    + leaks/tests/leaks.rs
    cargo: core 0.0.7 in old/core
    "#);
    // Over the same once more: nothing is there twice.
    world.laid(ALONE);
    assert_snapshot!(world.laid(ALONE), @"cargo: core 0.0.7 in old/core");
}

#[test]
fn young_member_of_any_workspace() {
    for row in [
        // A pattern has it already.
        "[workspace]; members = ['*'] | [workspace]; members = ['*']",
        "[workspace] | [workspace]; members = [\"leaks\"]",
        "[workspace]; members = ['core']; exclude = ['leaks', 'x'] | \
         [workspace]; members = [\"leaks\", 'core']; exclude = [ 'x']",
        // What is named counts more than what is left out.
        "[workspace]; members = ['*']; exclude = ['./leaks/'] | \
         [workspace]; members = [\"leaks\", '*']; exclude = []",
        "[package]; name = 'core'; # end | \
         [package]; name = 'core'; ; [workspace]; members = [\"leaks\"]; # end",
    ] {
        let text = row.replace("; ", "\n");
        let (root, expected) = text.split_once(" | ").unwrap();
        let world = with_young_member(&format!("{root}\n"));
        if root.starts_with("[package]") {
            world.remove("old/core");
            world.write("old/src/lib.rs", "");
        }
        let laid = world.laid(ALONE);
        assert_eq!(world.read("old/Cargo.toml").trim_end(), expected, "{row}");
        assert!(laid.contains("cargo: core 0.0."), "{row}: {laid}");
    }
}

#[test]
fn member_that_has_a_workspace_of_its_own() {
    let world = with_young_member("[workspace]\nmembers = [\"core\"]\nexclude = [\"leaks\"]\n");
    world.add(
        "== work/leaks/Cargo.toml
         package leaks 0.1.0; [dependencies]; core = { path = '../crates/core' }; test leaks
         == work/leaks/Cargo.lock
         version = 3",
    );
    let own = At {
        root: "leaks",
        ..ALONE
    };
    let before = world.everything("old");
    world.overlay(own).lay(&world.path("old")).unwrap();
    assert_snapshot!(differences(&before, &world.everything("old")), @r#"
    + leaks/Cargo.lock
        + version = 3
    + leaks/Cargo.toml
        + [package]; name = "leaks"; version = "0.1.0"; edition = "2021"; [dependencies]; core = { path = "../core" }
        + [[test]]; name = "leaks"; harness = false
        + [workspace]
    + leaks/tests/data/huge.txt
    + leaks/tests/leaks.rs
    "#);
    let metadata = world.metadata("old/leaks");
    assert_eq!(metadata.packages.len(), 2);
}

#[test]
fn member_that_has_moved() {
    let world = World::of(
        "== work/Cargo.toml
         [workspace]; resolver = '2'; members = ['crates/*']
         == work/crates/demo/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dev-dependencies]; help = { path = '../help' }
         demo = { path = '.', features = ['slow'] }; [features]; slow = []; test leaks
         == work/crates/help/Cargo.toml
         package help 0.1.0
         == old/Cargo.toml
         [workspace]; resolver = '2'; members = ['demo', 'tools/help']
         == old/demo/Cargo.toml + src/lib.rs
         package demo 0.1.0; [features]; slow = []
         == old/demo/tests/data/demo/Cargo.toml
         package demo 0.1.0
         == old/demo/tests/data/bad/Cargo.toml
         [package
         == old/tools/help/Cargo.toml + src/lib.rs
         package help 0.1.0",
    );
    let at = demo_in("crates/demo");
    assert_snapshot!(world.laid(at), @r#"
    ~ demo/Cargo.toml
        + [dev-dependencies]; help = { path = "../tools/help" }; demo = { path = ".", features = ["slow"] }
        + [[test]]; name = "leaks"; harness = false; path = "tests/leaks.rs"
    + demo/tests/leaks.rs
    cargo: help 0.1.0 in old/tools/help
    "#);
}

#[test]
fn test_package_of_the_revision_keeps_what_it_depends_on() {
    let world = World::of(
        "== crate measured 1.0.0 2.0.0
         == crate young 1.0.0 2.0.0
         == work/Cargo.toml
         [workspace]; resolver = '2'; members = ['leaks']
         == work/leaks/Cargo.toml + tests/leaks.rs tests/young.rs data.txt
         [package]; name = 'leaks'; version = '0.1.0'; edition = '2024'; [dependencies]
         measured = '2'; young = '2'; test leaks
         == old/Cargo.toml
         [workspace]; resolver = '2'; members = ['tests']
         == old/tests/Cargo.toml
         package leaks 0.1.0; [dependencies]; measured = '1'; test leaks
         == old/tests/tests/leaks.rs
         old",
    );
    assert_snapshot!(world.laid(ALONE), @r#"
    ~ tests/Cargo.toml
        + young = "2"
        + path = "tests/leaks.rs"; edition = "2024"
    + tests/data.txt
    ~ tests/tests/leaks.rs
    + tests/tests/young.rs
    cargo: measured 1.0.0, young 2.0.0
    "#);
}

/// The code had it without its default features, and the test asks for them.
#[test]
fn default_features() {
    for row in [
        "[dependencies]; WITHOUT | + [dev-dependencies]; had = { version = '1', WITH }",
        "[dev-dependencies]; WITHOUT | - WITHOUT | + had = { version = '1', WITH }",
        "[dependencies]; had = '1'",
        "[dependencies]; had.workspace = true; [workspace.dependencies]; WITHOUT | \
         + [dev-dependencies]; had = { workspace = true, WITH }",
    ] {
        let without = "had = { version = '1', default-features = false }";
        let row = row.replace("WITHOUT", without);
        let row = row.replace("WITH", "default-features = true");
        let mut cells = row.split(" | ");
        let world = World::of(
            "== crate had 1.0.0
             [features]; default = ['fast']; fast = []
             == work/Cargo.toml + src/lib.rs tests/leaks.rs
             package demo 0.1.0; [dev-dependencies]; had = '1'; test leaks",
        );
        let old = "== old/Cargo.toml + src/lib.rs\npackage demo 0.1.0\n";
        world.add(&(old.to_owned() + cells.next().unwrap()));
        let laid = world.laid(DEMO);
        let is_of_it = |line: &&str| line.contains("had ") || line.contains("dep");
        let lines = laid.lines().map(str::trim).filter(is_of_it);
        let expected = cells.chain(["cargo: had 1.0.0"]);
        assert_eq!(Vec::from_iter(lines), Vec::from_iter(expected));
    }
}

#[test]
fn dependency_of_the_workspace() {
    let world = World::of(
        "== crate had 1.0.0 2.0.0
         [features]; fast = []
         == crate young 1.0.0 2.0.0
         [features]; fast = []; slow = []
         == work/Cargo.toml
         [workspace]; resolver = '2'; members = ['demo', 'help']; [workspace.dependencies]
         had = { version = '2', features = ['fast'] }
         young = { version = '2', default-features = false, features = ['fast'] }
         helper = { path = 'help', version = '9', package = 'help' }
         == work/demo/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dev-dependencies]; had.workspace = true; helper.workspace = true
         young = { workspace = true, features = ['slow'] }; test leaks
         == work/help/Cargo.toml + src/lib.rs
         package help 9.0.0
         == old/Cargo.toml
         [workspace]; resolver = '2'; members = ['demo', 'old-help']; [workspace.dependencies]
         had = '1'
         == old/demo/Cargo.toml + src/lib.rs
         package demo 0.1.0
         == old/old-help/Cargo.toml + src/lib.rs
         package help 0.1.0",
    );
    let at = demo_in("demo");
    assert_snapshot!(world.laid(at), @r#"
    ~ demo/Cargo.toml
        + [dev-dependencies]; had = { workspace = true, features = ["fast"] }; helper = { path = "../old-help", package = 'help' }; young = { version = '2', default-features = false, features = ["fast", "slow"] }
        + [[test]]; name = "leaks"; harness = false; path = "tests/leaks.rs"
    + demo/tests/leaks.rs
    cargo: had 1.0.0, help 0.1.0 in old/old-help, young 2.0.0
    "#);

    // The same for a package that the revision does not have.
    world.remove("work/demo/src");
    world.remove("old/demo");
    world.add("== old/Cargo.toml\n[workspace]; resolver = '2'; members = ['old-help']");
    let alone = At {
        others: false,
        ..at
    };
    assert_snapshot!(world.laid(alone), @r#"
    ~ Cargo.toml
        - members = ['old-help']
        + members = ["demo", 'old-help']
    + demo/Cargo.toml
        + [package]; name = "demo"; version = "0.1.0"; edition = "2021"; [dev-dependencies]; had = { version = '2', features = ["fast"] }; helper = { path = "../old-help", package = 'help' }; young = { version = '2', default-features = false, features = ["fast", "slow"] }
        + [[test]]; name = "leaks"; harness = false
    + demo/tests/leaks.rs
    cargo: had 2.0.0, help 0.1.0 in old/old-help, young 2.0.0
    "#);
}

#[test]
fn dependency_outside_of_the_repository() {
    // One level deeper: a path from the manifest would not hold.
    let world = World::of(
        "== outside/harness/Cargo.toml + src/lib.rs
         package harness 0.1.0
         == outside/patched/Cargo.toml + src/lib.rs
         package patched 0.1.0
         == crate code 1.0.0
         == work/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dependencies]; code = '1'; [dev-dependencies]
         harness = { path = '../outside/harness', version = '0.1' }; patched = '0.1'; test leaks
         [patch.crates-io]; patched = { path = '../outside/patched' }
         code = { path = '../outside/code' }
         == old/Cargo.toml
         [workspace]; members = ['demo']
         == old/demo/Cargo.toml + src/lib.rs
         package demo 0.1.0; [dependencies]; code = '1'",
    );
    assert_snapshot!(world.laid(DEMO), @r#"
    ~ Cargo.toml
        + [patch.crates-io]; patched = { path = "<dir>/outside/patched" }
    ~ demo/Cargo.toml
        + [dev-dependencies]; harness = { path = "<dir>/outside/harness", version = '0.1' }; patched = "0.1"
        + [[test]]; name = "leaks"; harness = false; path = "tests/leaks.rs"
    + demo/tests/leaks.rs
    cargo: code 1.0.0, harness 0.1.0 in outside/harness, patched 0.1.0 in outside/patched
    "#);
}

#[test]
fn test_elsewhere_in_the_repository() {
    let world = World::of(
        "== work/demo/Cargo.toml + src/lib.rs
         package demo 0.1.0; [[test]]; name = 'leaks'; path = '../checks/leaks.rs'
         harness = false
         == work/Cargo.toml + checks/leaks.rs
         [workspace]; members = ['demo']
         == old/Cargo.toml
         [workspace]; members = ['a/demo']
         == old/a/demo/Cargo.toml + src/lib.rs
         package demo 0.1.0",
    );
    let at = At {
        file: "../checks/leaks.rs",
        ..demo_in("demo")
    };
    assert_snapshot!(world.laid(at), @r#"
    + a/checks/leaks.rs
    ~ a/demo/Cargo.toml
        + [[test]]; name = 'leaks'; path = "../checks/leaks.rs"; harness = false
    cargo:
    "#);
    assert_eq!(world.read("old/a/checks/leaks.rs"), LEAKS);

    // Where that would be outside.
    world.remove("old/a");
    world.add("== old/Cargo.toml + src/lib.rs\npackage demo 0.1.0");
    assert_snapshot!(world.refused(at), @"`../checks/leaks.rs` is outside of the repository");
}
