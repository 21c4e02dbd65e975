//! Says in one place where births are recorded: `cfg(plimsoll_supported)`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(plimsoll_supported)");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, values: &[&str]| {
        std::env::var(name).is_ok_and(|value| values.contains(&value.as_str()))
    };
    if is("CARGO_CFG_TARGET_OS", &["linux"]) && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
    {
        println!("cargo::rustc-cfg=plimsoll_supported");
    }
}
