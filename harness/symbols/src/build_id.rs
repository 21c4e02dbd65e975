use std::fmt;
use std::str::FromStr;

/// The build ID of a file, which a linker writes into `.note.gnu.build-id`. It shows whether a
/// mapped file and a file on disk are the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(Vec<u8>);

impl BuildId {
    /// Makes a build ID from the bytes of the note, or `None` if there are no bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.to_vec()))
    }

    /// Returns the bytes of the note.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
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

/// The error of a text that is not a build ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBuildIdError;

impl fmt::Display for ParseBuildIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a build ID: pairs of hexadecimal digits")
    }
}

impl std::error::Error for ParseBuildIdError {}

impl FromStr for BuildId {
    type Err = ParseBuildIdError;

    fn from_str(text: &str) -> Result<Self, ParseBuildIdError> {
        let digit = |byte: u8| {
            (byte as char)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        let pairs = text.as_bytes().chunks(2);
        let bytes = pairs.map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        });
        bytes
            .collect::<Option<Vec<u8>>>()
            .and_then(|bytes| Self::from_bytes(&bytes))
            .ok_or(ParseBuildIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let id: BuildId = "00ffA1".parse().unwrap();
        assert_eq!(id.to_string(), "00ffa1");
        assert_eq!(id.as_bytes(), [0x00, 0xff, 0xa1]);
        for wrong in ["", "0", "00f", "0x00", "zz", "+1"] {
            assert_eq!(
                wrong.parse::<BuildId>(),
                Err(ParseBuildIdError),
                "{wrong:?}"
            );
        }
    }
}
