//! What the overlay writes into lockfiles.

use insta::assert_snapshot;

use super::super::lock::{Lock, Requirements};
use super::manifests::with_young_member;
use super::*;

/// A dependency of the test alone, and what that needs.
const HELPED: &str = "== crate probe 1.0.0
    [dependencies]; help = '1'; base = '1'
    == crate help 1.0.0";
/// One that needs a newer `base` than the code.
const NEWER: &str = "== crate probe 1.0.0
    [dependencies]; base = '2'
    == crate base 2.0.0";

/// What cargo makes of that.
const TWO_BASES: &str = "base 1.0.0, base 2.0.0, code 1.0.0, probe 1.0.0";

/// An old project that was locked when there was less to depend on, and a test that
/// was locked afterwards.
fn locked(young: &str, dev: &str) -> World {
    let world = World::of(
        "== crate base 0.9.0 1.0.0
         == crate code 1.0.0
         [dependencies]; base = '1'
         == old/Cargo.toml + src/lib.rs
         package demo 0.1.0; [dependencies]; code = '1'
         == work/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dependencies]; code = '1'; [dev-dependencies]; $dev; test leaks",
    );
    world.edit("work/Cargo.toml", "$dev", dev);
    world.lock("old");
    world.add(young);
    world.lock("work");
    // Newer than anybody ever used.
    world.add(&young.replace(".0.0", ".9.0"));
    world
}

/// Lays it with what cargo knows of the working tree, and says what cargo makes of that.
#[track_caller]
fn lay(world: &World) -> String {
    let mut overlay = world.overlay(DEMO);
    overlay.learn(&world.metadata("work"));
    let laid = overlay.lay(&world.path("old")).unwrap();
    let raised = laid.iter().map(|one| format!("; raised {one}"));
    world.resolved("demo") + &raised.collect::<String>()
}

#[test]
fn nothing_newer_is_locked() {
    let world = locked(HELPED, "probe = '1'");
    // There are newer ones, by now also of what the code depends on.
    world.add("== crate base 1.5.0");
    let before = world.everything("old");
    let made = "base 1.0.0, code 1.0.0, help 1.0.0, probe 1.0.0";
    assert_eq!(lay(&world), made);
    assert_snapshot!(differences(&before, &world.everything("old")), @r#"
    ~ Cargo.lock
        +  "probe",
        + [[package]]; name = "help"; version = "1.0.0"; source = "registry+https://github.com/rust-lang/crates.io-index"; checksum = "0000000000000000000000000000000000000000000000008e61a391d6fab4cf"
        + [[package]]; name = "probe"; version = "1.0.0"; source = "registry+https://github.com/rust-lang/crates.io-index"; checksum = "000000000000000000000000000000000000000000000000c01a9c8c70674341"; dependencies = [;  "base",;  "help",; ]
    ~ Cargo.toml
        + [dev-dependencies]; probe = "1"
        + [[test]]; name = "leaks"; harness = false; path = "tests/leaks.rs"
    + tests/leaks.rs
    "#);
    world.cargo("old", &["metadata", "--format-version", "1", "--locked"]);

    // Without one, the newest is what cargo takes; then none is made.
    world.remove("old/Cargo.lock");
    let overlay = world.overlay(DEMO);
    overlay.lay(&world.path("old")).unwrap();
    assert!(!world.path("old/Cargo.lock").exists());
    assert!(world.resolved("demo").contains("probe 1.9.0"));
}

#[test]
fn two_versions_of_one_name() {
    let world = locked(NEWER, "probe = '1'");
    world.add("== crate base 1.5.0");
    let overlay = world.overlay(DEMO);
    overlay.lay(&world.path("old")).unwrap();
    let laid = world.read("old/Cargo.lock");
    assert_eq!(world.resolved("demo"), TWO_BASES);
    // As cargo writes it.
    assert_eq!(world.read("old/Cargo.lock"), laid);
}

#[test]
fn which_versions_are_taken() {
    // The old one is too old.
    let newer = "== crate probe 1.0.0
        [dependencies]; base = '1.2'
        == crate base 1.2.0
        [dependencies]; below = '1'
        == crate below 1.0.0";
    let raised = "base 1.2.0, below 1.0.0, code 1.0.0, probe 1.0.0; raised base 1.0.0 to 1.2.0";
    assert_eq!(lay(&locked(newer, "probe = '1'")), raised);
    // The old one will do.
    let either = "== crate probe 1.0.0
        [dependencies]; base = '>=0.9, <3'
        == crate base 2.0.0";
    // What the tests of another package need is nobody's need.
    let of_its_tests = "== crate probe 1.0.0
        [dependencies]; base = '1'; [dev-dependencies]; base = '1.2'
        == crate base 1.2.0";
    let old = "base 1.0.0, code 1.0.0, probe 1.0.0";
    let dev = "probe = '1'\nbase = '>=0.9, <3'";
    assert_eq!(lay(&locked(either, dev)), old);
    assert_eq!(lay(&locked(of_its_tests, "probe = '1'")), old);
}

#[test]
fn feature_that_needs_another_package() {
    let world = World::of(
        "== crate extra 1.0.0
         == crate base 1.0.0
         [dependencies]; extra = { version = '1', optional = true }
         == old/Cargo.toml + src/lib.rs
         package demo 0.1.0; [dependencies]; base = '1'
         == work/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dependencies]; base = '1'; [dev-dependencies]
         base = { version = '1', features = ['extra'] }; test leaks",
    );
    world.lock("old");
    world.lock("work");
    world.add("== crate extra 1.9.0");
    assert_eq!(lay(&world), "base 1.0.0, extra 1.0.0");
}

#[test]
fn lockfile_of_the_first_format() {
    let world = locked(NEWER, "probe = '1'");
    let mut lock: cargo_lock::Lockfile = world.read("old/Cargo.lock").parse().unwrap();
    lock.version = cargo_lock::ResolveVersion::V1;
    // The checksums stand apart from the packages.
    world.write("old/Cargo.lock", &lock.to_string());
    assert_eq!(lay(&world), TWO_BASES);
}

#[test]
fn young_member_is_locked() {
    let world = with_young_member("[workspace]\nresolver = \"2\"\nmembers = [\"core\"]\n");
    world.add("== crate probe 1.0.0");
    world.lock("old");
    world.edit("work/leaks/Cargo.toml", "[lints]", "probe = '1'\n\n[lints]");
    world.lock("work");
    world.add("== crate probe 1.1.0");
    world.overlay(ALONE).lay(&world.path("old")).unwrap();
    let made = "core 0.0.7 in old/core, probe 1.0.0";
    assert_eq!(world.resolved("leaks"), made);
}

#[test]
fn lockfile_stays_where_nothing_was_added() {
    let world = locked(HELPED, "probe = '1'");
    world.publish("probe", "1.9.5", "");
    world.edit("old/Cargo.toml", "code = '1'", "code = '1'\nprobe = '1'");
    world.lock("old");
    let before = world.read("old/Cargo.lock");
    world.overlay(DEMO).lay(&world.path("old")).unwrap();
    assert_eq!(world.read("old/Cargo.lock"), before);
}

/// A lockfile of packages, one a line: `name version source: what it depends on, …`.
fn lockfile(packages: &str) -> String {
    let mut text = String::from(
        "# This file is automatically @generated by Cargo.\n\
         # It is not intended for manual editing.\nversion = 4\n",
    );
    let packages = packages.replace("HERE", "registry+https://here.example/");
    let packages = packages.replace("AWAY", "registry+https://away.example/");
    for line in packages.lines().map(str::trim) {
        let (package, dependencies) = line.split_once(": ").unwrap_or((line, ""));
        text += "\n[[package]]\n";
        for (key, part) in ["name", "version", "source"].iter().zip(package.split(' ')) {
            text += &format!("{key} = \"{part}\"\n");
        }
        if !dependencies.is_empty() {
            let names = dependencies.replace(", ", "\",\n \"");
            text += &format!("dependencies = [\n \"{names}\",\n]\n");
        }
    }
    text
}

/// What becomes of an old lockfile and a new one, by the names that the manifest adds.
#[test]
fn merged() {
    for (old, new, added, kept) in [
        // The old version stays if it is of git, or of a registry whose requirements are not known.
        (
            "base 0.1.0 git+https://example.com/base#1111
             demo 0.1.0: base
             old 1.0.0 HERE",
            "base 0.2.0 git+https://example.com/base#2222
             demo 0.1.0: base, probe
             old 1.2.0 HERE
             probe 1.0.0 HERE: base, old",
            &["probe"][..],
            &[("0.2.0", "0.1.0"), ("#2222", "#1111"), ("1.2.0", "1.0.0")][..],
        ),
        // One version comes from two sources.
        (
            "base 1.0.0 HERE
             code 1.0.0 HERE: base
             demo 0.1.0: code",
            "base 1.0.0 AWAY
             base 1.0.0 HERE
             code 1.0.0 HERE: base 1.0.0 (HERE)
             demo 0.1.0: code, base 1.0.0 (AWAY), folder
             folder 0.1.0: demo, base 1.0.0 (HERE)",
            &["base", "folder"],
            &[],
        ),
    ] {
        let new = lockfile(new);
        let lock = Lock::parse(&new).unwrap();
        let added = added.iter().map(|name| (*name).to_owned()).collect();
        let merged = lock.merge_into(&lockfile(old), "demo", &added, &Requirements::default());
        // The new lockfile gets the versions of the old one.
        let kept = kept.iter();
        let expected = kept.fold(new.clone(), |text, (new, old)| text.replace(new, old));
        assert_eq!(merged.unwrap().text, expected);
    }
}
