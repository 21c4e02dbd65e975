//! Bindings of databases, and stores of sessions: what current releases keep, one project in each file.

mod git2;
mod heed;
mod poem;
mod rusqlite;
mod sled;

use plimsoll::Scenario;

/// All scenarios of this package.
pub fn scenarios() -> Vec<Scenario> {
    [
        git2::scenarios(),
        heed::scenarios(),
        poem::scenarios(),
        rusqlite::scenarios(),
        sled::scenarios(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
