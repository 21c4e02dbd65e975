//! `bench` and `run`: measure programs that are subjects, with the front of this tool.

mod args;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
pub(crate) use measure::{bench, run};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{bench, run};

pub(crate) use args::{BenchArgs, RunArgs};

/// Where nothing can be measured.
#[cfg(not(target_os = "linux"))]
mod unsupported {
    use plimsoll_desk::out::Out;

    use super::{BenchArgs, RunArgs};

    pub(crate) fn bench(_: &BenchArgs, _: &mut Out) -> anyhow::Result<()> {
        anyhow::bail!("plimsoll measures on Linux, on x86_64 and aarch64")
    }

    pub(crate) fn run(_: &RunArgs, out: &mut Out) -> anyhow::Result<()> {
        anyhow::bail!("plimsoll measures on Linux, on x86_64 and aarch64")
    }
}
