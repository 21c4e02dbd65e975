//! An interner (`lasso`) that is fed the path of every request.
//!
//! **Known to grow.** An interner gives out small numbers for strings. A number has to mean
//! its string as long as the interner lives, so nothing can be removed from it. The text of
//! new strings goes into an arena, whose blocks double in size. The table of strings and the
//! map from strings to numbers double as well. So none of this looks like one object an
//! iteration: it grows in steps.
//!
//! A path with the number of an order is new each time. The growth is accepted, with the
//! reason, in `baselines/lasso_paths.toml`.

use anyhow::{Context, ensure};
use lasso::Rodeo;
use plimsoll::Scenario;

/// Interns one path that is new, and one that is not.
pub fn lasso_paths() -> Scenario {
    Scenario::new("lasso_paths", || {
        let mut paths = Rodeo::default();
        move |i: u64| -> anyhow::Result<()> {
            let path = format!("/orders/{i:08}");
            for path in [path.as_str(), "/login"] {
                let key = paths.try_get_or_intern(path);
                let key = key.context("the interner is full")?;
                ensure!(paths.resolve(&key) == path, "the key means another path");
            }
            Ok(())
        }
    })
}
