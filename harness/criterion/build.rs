//! Tells the crate which version of criterion it stands in for.
//!
//! Between two versions, enums gained variants and one method gained a parameter. Benchmarks
//! match such an enum without a wildcard, so a union of all versions would not compile them.
//! A front builds this crate as package `criterion`, in the version that the user locked.
//! Under its own name, the crate is the newest version, with what 0.3 alone has.

use std::env;

/// The minor versions at which the interface changed.
const CHANGES: [u32; 3] = [4, 7, 8];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(with_0_3)");
    let minor = stands_in_for();
    if minor.is_none_or(|minor| minor < 4) {
        println!("cargo:rustc-cfg=with_0_3");
    }
    for change in CHANGES {
        println!("cargo:rustc-check-cfg=cfg(since_0_{change})");
        if minor.is_none_or(|minor| minor >= change) {
            println!("cargo:rustc-cfg=since_0_{change}");
        }
    }
}

/// Returns 5 for criterion 0.5.1, and `None` if no version is named.
fn stands_in_for() -> Option<u32> {
    let package = |variable| env::var(variable).ok();
    if package("CARGO_PKG_NAME")? != "criterion" || package("CARGO_PKG_VERSION_MAJOR")? != "0" {
        return None;
    }
    package("CARGO_PKG_VERSION_MINOR")?.parse().ok()
}
