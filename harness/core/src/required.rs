//! For formats in which no key may be absent.

use serde::{Deserialize, Deserializer};

/// With this, serde misses an absent key instead of taking it for `null`.
pub(crate) fn required<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
