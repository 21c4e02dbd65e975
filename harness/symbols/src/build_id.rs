use std::fmt;

/// The build ID of a file, which a linker writes into `.note.gnu.build-id`. It shows whether a
/// mapped file and a file on disk are the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// Makes a build ID from the bytes of the note, or `None` if there are no bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.to_vec()))
    }

    /// Parses pairs of hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16)?).ok();
        let pairs = text.as_bytes().chunks(2).map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        Self::from_bytes(&pairs.collect::<Option<Vec<u8>>>()?)
    }
}

/// Prints lower-case hexadecimal digits, like `readelf -n` and `file`.
impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let id = BuildId::parse("00ffA1").unwrap();
        assert_eq!(id.to_string(), "00ffa1");
        assert_eq!(id.0, [0x00, 0xff, 0xa1]);
        for wrong in ["", "0", "00f", "0x00", "zz", "+1"] {
            assert_eq!(BuildId::parse(wrong), None, "{wrong:?}");
        }
    }
}
