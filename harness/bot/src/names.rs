//! Names that become part of a URL. Each name is checked once, when it is parsed.

use std::fmt;
use std::str::FromStr;

/// Defines a name that is checked when it is parsed.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The `owner/name` of a repository.
    Repository
}
name! {
    /// The full name of a commit in lower-case hexadecimal digits: SHA-1 or SHA-256.
    Sha
}
name! {
    /// The key that tells several comments on one pull request apart.
    Key
}

/// Whether a byte can stand in each of these names.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

impl Repository {
    pub fn owner(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }
}

impl FromStr for Repository {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |part: &str| {
            (1..=100).contains(&part.len())
                && part.bytes().all(is_plain)
                && part.bytes().any(|byte| byte != b'.')
        };
        match text.split_once('/') {
            Some((owner, name)) if plain(owner) && plain(name) => Ok(Repository(text.to_owned())),
            _ => Err("expected OWNER/NAME, as in `tokio-rs/tokio`".to_owned()),
        }
    }
}

impl FromStr for Sha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match matches!(text.len(), 40 | 64) && text.bytes().all(hex) {
            true => Ok(Sha(text.to_owned())),
            false => Err("expected a commit's whole name, 40 hexadecimal digits".to_owned()),
        }
    }
}

impl Key {
    pub fn is_default(&self) -> bool {
        self.0 == "default"
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The key stands in an HTML comment, in the name of a branch and in the name of a
        // check. So it has no two dashes in a row, and no dot at either end.
        let plain = (1..=50).contains(&text.len()) && text.bytes().all(is_plain);
        let edges = text.starts_with(['.', '-']) || text.ends_with(['.', '-']);
        let doubled = text.contains("--") || text.contains("..") || text.ends_with(".lock");
        match plain && !edges && !doubled {
            true => Ok(Key(text.to_owned())),
            false => Err(
                "expected 1 to 50 of `A-Z a-z 0-9 _ - .`, neither a dot nor a dash at an \
                 end or twice in a row"
                    .to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_into_an_address() {
        let repository = |text: &str| text.parse::<Repository>().is_ok();
        assert!(repository("octo/demo") && repository("o-1/a.b_c"));
        for text in [
            "", "octo", "octo/", "/demo", "a/b/c", "../..", "a/..", "a b/c", "a/b?c", "a/b%2f",
        ] {
            assert!(!repository(text), "{text}");
        }
        let sha = |text: &str| text.parse::<Sha>().is_ok();
        assert!(sha(&"0a".repeat(20)) && sha(&"f".repeat(64)));
        for text in ["", "abc", &"g".repeat(40), &"A".repeat(40), &"0".repeat(41)] {
            assert!(!sha(text), "{text}");
        }
        let key = |text: &str| text.parse::<Key>().is_ok();
        assert!(key("default") && key("linux-arm64_1.0"));
        let too_long = "a".repeat(51);
        for text in [
            "", "-a", "a-", "a--b", "a b", "a..b", ".a", "-->", "x.lock", &too_long,
        ] {
            assert!(!key(text), "{text}");
        }
    }
}
