//! A deserializer for formats in which no key may be absent.

use serde::{Deserialize, Deserializer};

/// Deserializes a value that may be `null`. Unlike `Option`'s own deserializer, it rejects an
/// absent key instead of taking it for `null`.
pub fn required<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
