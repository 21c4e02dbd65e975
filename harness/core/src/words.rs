//! Enums whose variants have a word in files and messages.

/// Gives an enum its words: `as_str` and `from_word`.
macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// All values, in order.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// The word of each value.
            pub const WORDS: &[&str] = &[$($word),+];

            /// Returns the word that files and messages use.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// Returns the value with that word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;
