//! The settings of a project, from its files and from the environment.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use plimsoll_core::baseline::Date;
use plimsoll_core::layout;
use plimsoll_core::settings::{Layer, MAX_BYTES, Settings};

use crate::file;
use crate::out::{safe, safe_line};
use crate::status::Refused;

/// Returns the settings that apply in a folder of the workspace with this root.
pub fn of(dir: &Path, root: &Path) -> anyhow::Result<Settings> {
    let mut all = variables()?.settings;
    for path in layout::settings_files(dir, root, |path| path.exists()) {
        all = all.or(&read(&path, root)?.settings);
    }
    Ok(all)
}

/// Reads a settings file.
pub fn read(path: &Path, root: &Path) -> anyhow::Result<Layer> {
    let shown = path.strip_prefix(root).unwrap_or(path);
    let shown = safe_line(&shown.to_string_lossy());
    let bytes = file::read(path, MAX_BYTES).with_context(|| shown.clone())?;
    Layer::parse(&bytes).map_err(|error| anyhow!(error.explain(&shown)))
}

/// Reads the settings in environment variables.
pub fn variables() -> anyhow::Result<Layer> {
    Layer::from_variables(std::env::vars_os())
        .map_err(|error| Refused::usage(safe(&error.to_string())))
}

/// Returns today's date in UTC. The tests use the same date for allowances that expire.
pub fn today() -> anyhow::Result<Date> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let day = now.ok();
    let day = day.and_then(|now| Date::from_unix_seconds(now.as_secs()));
    day.context("the machine's clock is in no year from 1970 to 9999")
}
