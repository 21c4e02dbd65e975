//! The report of the base branch, with which growth is compared.

use std::env;
use std::path::Path;

use anyhow::Context;
use plimsoll_desk::out::Out;
use plimsoll_report::input::{self, Reader};
use plimsoll_report::render::base::Base;

/// Reads the report of the base.
pub(crate) fn read(path: &Path, reader: Reader, out: &Out) -> anyhow::Result<Base> {
    let joined =
        input::read(&[path.to_owned()], None, reader, out).context("the report of the base")?;
    let branch = env::var("GITHUB_BASE_REF").ok();
    let branch = branch.filter(|branch| !branch.is_empty());
    let branch = branch.unwrap_or_else(|| "main".to_owned());
    Ok(Base { branch, joined })
}
