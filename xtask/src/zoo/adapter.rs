//! Writes the package that runs one case under plimsoll.
//!
//! ```text
//! <work>/<id>-<variant>/
//!   Cargo.toml        depends on the case and on plimsoll, by path
//!   Cargo.lock        the case's `adapter.lock`, to which cargo adds what is ours
//!   plimsoll.toml     empty: neither this repository's settings …
//!   baselines/        … nor its allowances are for the zoo
//!   tests/leaks.rs    the case's workload as a scenario
//! ```
//!
//! Nothing is written to the zoo. A file is written only if its content changes, so that cargo
//! rebuilds only what has changed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_core::layout;
use plimsoll_desk::file;
use toml::{Table, Value};

use super::manifest::{Case, Variant};

/// The folders of a zoo run.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The folder of the zoo, as an absolute path.
    pub(super) zoo: PathBuf,
    /// The folder of this repository's crate `plimsoll`.
    pub(super) plimsoll: PathBuf,
    /// The folder for the adapters.
    pub(super) work: PathBuf,
}

/// The package that runs one variant of a case.
#[derive(Clone, Debug)]
pub(super) struct Adapter {
    pub(super) dir: PathBuf,
    pub(super) package: String,
    pub(super) scenario: String,
}

/// The name of the test target in every adapter.
pub(super) const TEST: &str = "leaks";

/// Writes the adapter of one variant.
pub(super) fn write(places: &Places, case: &Case, variant: Variant) -> anyhow::Result<Adapter> {
    let name = format!("{}-{}", case.id, variant.as_str());
    let source = places.zoo.join(&case.dir).join(variant.as_str());
    let adapter = Adapter {
        dir: places.work.join(&name),
        package: format!("zoo-{name}"),
        scenario: case.id.clone(),
    };
    let depends_on = package_name(&source.join("Cargo.toml"))?;

    fs::create_dir_all(adapter.dir.join("tests"))
        .and_then(|()| fs::create_dir_all(adapter.dir.join(layout::BASELINES)))
        .with_context(|| adapter.dir.display().to_string())?;
    let manifest = manifest(&adapter, &depends_on, &source, &places.plimsoll)?;
    update(&adapter.dir.join("Cargo.toml"), &manifest)?;
    update(&adapter.dir.join(layout::SETTINGS), "")?;
    let test = test(&adapter.scenario);
    update(&adapter.dir.join("tests/leaks.rs"), &test)?;
    lock(&source.join("adapter.lock"), &adapter.dir)?;
    Ok(adapter)
}

fn package_name(manifest: &Path) -> anyhow::Result<String> {
    let at = || manifest.display().to_string();
    let text = fs::read_to_string(manifest).with_context(at)?;
    let document: Table = text.parse().with_context(at)?;
    let package = document.get("package");
    let name = package.and_then(|package| package.get("name")?.as_str());
    let name = name.with_context(|| format!("{}: expected `package.name`, found none", at()))?;
    Ok(name.to_owned())
}

/// Returns the manifest. The package is a workspace of its own, although it lies below this
/// repository's workspace.
fn manifest(
    adapter: &Adapter,
    depends_on: &str,
    case: &Path,
    plimsoll: &Path,
) -> anyhow::Result<String> {
    let quoted = |text: &str| Value::from(text).to_string();
    Ok(format!(
        "\
[package]
name = {}
version = \"0.0.0\"
edition = \"2024\"
publish = false

[[test]]
name = \"{TEST}\"
harness = false

[dependencies]
case = {{ package = {}, path = {} }}
plimsoll = {{ path = {} }}

[profile.release]
debug = \"line-tables-only\"

[workspace]
members = [\".\"]
resolver = \"3\"
",
        quoted(&adapter.package),
        quoted(depends_on),
        quoted(text(case)?),
        quoted(text(plimsoll)?),
    ))
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .with_context(|| format!("{}: a manifest needs UTF-8", path.display()))
}

fn test(scenario: &str) -> String {
    format!(
        "\
use plimsoll::Scenario;

fn scenario() -> Scenario {{
    Scenario::new({scenario:?}, || {{
        case::setup();
        |i: u64| case::iteration(i)
    }})
}}

plimsoll::main!(scenario());
"
    )
}

/// Writes the case's lock file, unless the existing one was made from it.
fn lock(measured: &Path, dir: &Path) -> anyhow::Result<()> {
    let (ours, made_from) = (dir.join("Cargo.lock"), dir.join("adapter.lock"));
    let text = file::if_there(fs::read_to_string(measured));
    let Some(text) = text.with_context(|| measured.display().to_string())? else {
        return Ok(());
    };
    let same = fs::read_to_string(&made_from).is_ok_and(|before| before == text);
    if !(same && ours.exists()) {
        update(&ours, &text)?;
        update(&made_from, &text)?;
    }
    Ok(())
}

fn update(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|before| before == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::manifest::Expected;
    use super::*;

    fn zoo() -> (tempfile::TempDir, Places, Case) {
        let dir = tempfile::tempdir().unwrap();
        let places = Places {
            zoo: dir.path().join("zoo"),
            plimsoll: "/repository/harness/measure".into(),
            work: dir.path().join("work"),
        };
        let case = Case {
            id: "a-b".to_owned(),
            dir: "cases/a-b".into(),
            culprit: Some("a::b".to_owned()),
            variants: vec![Variant::Leaky],
            expect: [(Variant::Leaky, Expected::Flag)].into(),
        };
        let source = places.zoo.join("cases/a-b/leaky");
        fs::create_dir_all(&source).unwrap();
        fs::write(
            source.join("Cargo.toml"),
            "[package]\nname = \"a-b-leaky\"\n",
        )
        .unwrap();
        fs::write(source.join("adapter.lock"), "version = 4\n").unwrap();
        (dir, places, case)
    }

    #[test]
    fn a_package_of_its_own() {
        let (dir, places, case) = zoo();
        let adapter = write(&places, &case, Variant::Leaky).unwrap();
        let read = |name: &str| fs::read_to_string(adapter.dir.join(name)).unwrap();
        let root = dir.path().to_str().unwrap();
        assert_snapshot!(read("Cargo.toml").replace(root, ""), @r#"
        [package]
        name = "zoo-a-b-leaky"
        version = "0.0.0"
        edition = "2024"
        publish = false

        [[test]]
        name = "leaks"
        harness = false

        [dependencies]
        case = { package = "a-b-leaky", path = "/zoo/cases/a-b/leaky" }
        plimsoll = { path = "/repository/harness/measure" }

        [profile.release]
        debug = "line-tables-only"

        [workspace]
        members = ["."]
        resolver = "3"
        "#);
        assert_snapshot!(read("tests/leaks.rs"), @r#"
        use plimsoll::Scenario;

        fn scenario() -> Scenario {
            Scenario::new("a-b", || {
                case::setup();
                |i: u64| case::iteration(i)
            })
        }

        plimsoll::main!(scenario());
        "#);
        assert_eq!(read("Cargo.lock"), "version = 4\n");
    }

    #[test]
    fn what_cargo_added_to_the_lock_stays_until_the_case_has_another() {
        let (_dir, places, case) = zoo();
        let adapter = write(&places, &case, Variant::Leaky).unwrap();
        let ours = adapter.dir.join("Cargo.lock");
        let theirs = places.zoo.join("cases/a-b/leaky/adapter.lock");
        for (changed, text) in [
            (&ours, "version = 4\n# and ours\n"),
            (&theirs, "version = 4\n# newer\n"),
        ] {
            fs::write(changed, text).unwrap();
            write(&places, &case, Variant::Leaky).unwrap();
            assert_eq!(fs::read_to_string(&ours).unwrap(), text);
        }
    }

    #[test]
    fn a_case_that_is_not_there() {
        let (_dir, places, case) = zoo();
        assert!(write(&places, &case, Variant::Fixed).is_err());
    }
}
