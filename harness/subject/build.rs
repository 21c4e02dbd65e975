//! Says in one place where plimsoll measures: `cfg(plimsoll_supported)`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(plimsoll_supported)");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, values: &[&str]| {
        std::env::var(name).is_ok_and(|value| values.contains(&value.as_str()))
    };
    // With musl, jemalloc follows frame pointers, and its profiler crashes where there are none. In a
    // program that is linked to glibc statically, glibc allocates before the unwinder can find the
    // program's own frames, and jemalloc's profiler aborts there.
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    if !is_static
        && is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
    {
        println!("cargo::rustc-cfg=plimsoll_supported");
    }
    let target = std::env::var("TARGET").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=PLIMSOLL_TARGET={target}");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc)
        .arg("--version")
        .output()
        .ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().map_or("unknown", str::trim);
    println!("cargo::rustc-env=PLIMSOLL_TOOLCHAIN={version}");
}
