//! Checkouts into which a test cannot be copied, files that cannot be read, and what a digest
//! covers.

use insta::assert_snapshot;

use super::manifests::with_young_member;
use super::*;

/// Each case takes away what stands first, adds what stands next, and then says why not.
#[track_caller]
fn refuses(world: &World, at: At, cases: &[&str]) {
    for case in cases {
        let parts: Vec<&str> = case.split('|').map(|part| part.trim_matches(' ')).collect();
        if !parts[0].is_empty() {
            world.remove(&format!("old/{}", parts[0]));
        }
        if !parts[1].is_empty() {
            world.add(&format!("== old/{}", parts[1]));
        }
        assert_eq!(world.refused(at), parts[2]);
    }
}

#[test]
fn where_it_cannot_be_laid() {
    let world = with_young_member("[workspace]\nmembers = [\"core\"]\n");
    world.write("work/Cargo.lock", "version = 4\n");
    let cases = [
        "core | | the test needs the package `core` (crates/core), which is not there",
        "| one/Cargo.toml\npackage core 0.1.0\n== old/two/Cargo.toml\npackage core 0.1.0 | there are two packages `core`: in one and in two",
        "two | leaks/Cargo.toml + src/lib.rs\npackage other 0.1.0 | there is no package `leaks`, and in leaks is `other`",
        "leaks | leaks\na file | `leaks` is no folder there",
        "leaks | leaks/tests/leaks.rs/file\n | `leaks/tests/leaks.rs` is a folder there",
        "leaks | Cargo.toml\n[workspace]\nmembers = 'core' | its workspace has string as `members`, where cargo takes an array",
        "| Cargo.toml\n[workspace | there is no workspace that the package `leaks` could be a member of",
        "| Cargo.toml\n[workspace]\nmembers = ['one']\n== old/Cargo.lock\nversion = 3\n[[package] | Cargo.lock: line 2: unclosed array table, expected `]`",
    ];
    refuses(&world, ALONE, &cases);
}

#[test]
fn where_it_cannot_be_laid_beside_code() {
    let world = World::of(
        "== work/demo/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; test leaks; required-features = ['slow', 'x/y']; [features]
         slow = []
         == work/Cargo.toml
         [workspace]; members = ['demo']",
    );
    let cases = [
        "| | there is no package `demo`",
        "| demo/Cargo.toml\npackage was 0.1.0 | there is no package `demo` (`was` is in demo)",
        "| demo/Cargo.toml\npackage demo 0.1.0 | the test requires the feature `slow`, which its package does not have",
        "| demo/Cargo.toml\npackage demo 0.1.0\n[test]\nname = 'x'\n[features]\nslow = [] | its manifest has table as `test`, where cargo takes an array of tables",
    ];
    refuses(&world, demo_in("demo"), &cases);
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::of(
        "== work/Cargo.toml + src/lib.rs tests/leaks.rs tests/run.sh
         package demo 0.1.0; test leaks
         == old/Cargo.toml + src/lib.rs
         package demo 0.1.0; test leaks
         == outside/leaks.rs
         mine",
    );
    let script = fs::Permissions::from_mode(0o755);
    fs::set_permissions(world.path("work/tests/run.sh"), script).unwrap();
    symlink(world.path("outside"), world.path("work/tests/link")).unwrap();
    symlink(world.path("outside"), world.path("old/tests")).unwrap();
    assert_eq!(world.refused(DEMO), "`tests` is no folder there");

    fs::remove_file(world.path("old/tests")).unwrap();
    fs::create_dir(world.path("old/tests")).unwrap();
    let link = world.path("old/tests/leaks.rs");
    symlink(world.path("outside/leaks.rs"), link).unwrap();
    assert_snapshot!(world.laid(DEMO), @r#"
    ~ Cargo.toml
        + path = "tests/leaks.rs"
    ~ tests/leaks.rs
    + tests/run.sh
    cargo:
    "#);
    assert_eq!(world.read("old/tests/leaks.rs"), LEAKS);
    assert_eq!(world.read("outside/leaks.rs"), "mine\n");
    let mode = |path: &str| fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o111;
    assert_ne!(mode("old/tests/run.sh"), 0);
    assert_eq!(mode("old/tests/leaks.rs"), 0);
}

/// Why a test is not read.
fn unread(world: &World, file: &'static str) -> String {
    let err = world.try_overlay(At { file, ..DEMO }).unwrap_err();
    let (repository, dir) = (world.path("work"), world.path(""));
    format!("{err:#}")
        .replace(repository.to_str().unwrap(), "<repository>")
        .replace(dir.to_str().unwrap(), "<dir>/")
}

#[test]
fn too_much_is_refused() {
    let world = World::of(
        "== work/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; test leaks",
    );
    let refused = || unread(&world, DEMO.file);
    let large = fs::File::create(world.path("work/tests/large")).unwrap();
    large.set_len(65 << 20).unwrap();
    assert_snapshot!(refused(), @"
    the test's files are too large to copy into other revisions
      expected at most 64 MiB, found more at <repository>/tests/large
      hint: move what the test does not read, or add `--overlay never`
    ");
    world.remove("work/tests/large");

    world.write(&("work/tests/".to_owned() + &"d/".repeat(40) + "file"), "");
    assert!(refused().contains("expected at most 32 levels of folders, found more at "));
    world.remove("work/tests/d");

    for number in 0..10_000 {
        fs::write(world.path("work/tests").join(number.to_string()), "").unwrap();
    }
    assert!(refused().contains("expected at most 10,000 files, found more at "));
}

#[test]
fn what_cannot_be_read_is_named() {
    let world = World::of("== work/Cargo.toml + tests/leaks.rs\n[package]\nname = demo");
    let refused = || unread(&world, "tests/leaks.rs");
    assert_snapshot!(refused(), @"<repository>/Cargo.toml: line 2: string values must be quoted, expected literal string");
    world.add("== work/Cargo.toml\npackage demo 0.1.0");
    world.write("work/Cargo.lock", "version = 4\n[[package]]\nname = \n");
    assert_snapshot!(refused(), @"<repository>/Cargo.lock: line 3: string values must be quoted, expected literal string");
    fs::write(world.path("work/Cargo.lock"), b"version = 4\n\xff").unwrap();
    assert_snapshot!(refused(), @"<repository>/Cargo.lock: line 2: expected UTF-8, found something else");
    let large = fs::File::create(world.path("work/Cargo.lock")).unwrap();
    large.set_len(33 << 20).unwrap();
    assert_snapshot!(refused(), @"<repository>/Cargo.lock: expected at most 32 MiB, found more");

    world.write("outside/leaks.rs", LEAKS);
    world.remove("work/Cargo.lock");
    assert_snapshot!(unread(&world, "../outside/leaks.rs"), @"
    <dir>/outside/leaks.rs is outside of the repository <repository>, so no other revision can have it
      hint: add `--overlay never`
    ");
}

#[test]
fn digest_is_of_what_is_laid() {
    let world = World::of(
        "== crate probe 1.0.0
         [dependencies]; help = '1'
         == crate help 1.0.0
         == work/Cargo.toml + src/lib.rs tests/leaks.rs
         package demo 0.1.0; [dev-dependencies]; probe = '1'; test leaks",
    );
    world.lock("work");
    let metadata = world.metadata("work");
    let digest = || world.overlay(DEMO).digest();
    let first = digest();
    world.write("work/src/lib.rs", "// new\n");
    world.write("work/README.md", "new");
    assert_eq!(first, digest());

    let mut digests = vec![first];
    let mut differs = |what: &str, digest: u64| {
        assert!(!digests.contains(&digest), "{what}");
        digests.push(digest);
    };
    world.write("work/tests/leaks.rs", "fn main() { }\n");
    differs("the test", digest());
    world.write("work/tests/data", "");
    differs("a file beside it", digest());
    fs::rename(world.path("work/tests/data"), world.path("work/tests/date")).unwrap();
    differs("its name", digest());
    world.edit(
        "work/Cargo.lock",
        "\"help\"\nversion = \"1.0.0\"",
        "\"help\"\nversion = \"1.0.1\"",
    );
    differs("what is locked", digest());
    world.edit("work/Cargo.toml", "harness = false", "harness = true");
    differs("the manifest", digest());
    let mut overlay = world.overlay(DEMO);
    overlay.learn(&metadata);
    differs("what cargo knows", overlay.digest());
}
