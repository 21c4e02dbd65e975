//! Makes a table of the sources in `sources`, which link to those of the drop-in and of the crates
//! that it needs.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("sources");
    let mut table = String::from("&[\n");
    add(&root, &root, &mut table);
    table += "]\n";
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("sources.rs"), table).expect("the folder can be written");
}

/// Adds the files below a folder, by their paths from the root, in order.
fn add(root: &Path, folder: &Path, table: &mut String) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).expect("the sources can be read");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(root, &path, table);
            continue;
        }
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.strip_prefix(root).expect("below the root");
        // No file of ours has a backslash or a quote in its name.
        let _ = writeln!(
            table,
            "    ({:?}, include_str!({:?})),",
            name.display().to_string(),
            path
        );
    }
}
