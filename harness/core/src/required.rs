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

/// The law of objects and of bytes in format 1, before it is known which it is.
pub(crate) fn law() -> crate::Law {
    crate::Law::Linear
}
