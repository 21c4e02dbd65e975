//! A sentence that keeps text of others apart from words of ours, so that each output escapes the
//! one and writes the other as it is.
//!
//! ```
//! use plimsoll_text::words::Words;
//!
//! let sentence = Words::default().stress("+96 B").say(" in ").quote("lru::put");
//! assert_eq!(sentence.plain(), "+96 B in lru::put");
//! assert_eq!(sentence.markdown(40), "**+96 B** in `lru::put`");
//! ```

use crate::sink::code_span;

/// A sentence, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Word>);

/// A run of text in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Words of ours.
    Said(String),
    /// Words of ours that matter most.
    Stressed(String),
    /// Text of others: a name, a path, a message. Nothing in it has been escaped.
    Quoted(String),
}

impl Words {
    /// Adds words of ours.
    #[must_use]
    pub fn say(self, words: impl Into<String>) -> Self {
        self.and(Word::Said(words.into()))
    }

    /// Adds words of ours that matter most.
    #[must_use]
    pub fn stress(self, words: impl Into<String>) -> Self {
        self.and(Word::Stressed(words.into()))
    }

    /// Adds text of others.
    #[must_use]
    pub fn quote(self, text: impl Into<String>) -> Self {
        self.and(Word::Quoted(text.into()))
    }

    fn and(mut self, word: Word) -> Self {
        self.0.push(word);
        self
    }

    /// Adds another sentence or part of one.
    #[must_use]
    pub fn join(mut self, other: Words) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Its runs of text, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Word> {
        self.0.iter()
    }

    /// Puts the words together as `write` has each of them.
    pub fn write(&self, write: impl FnMut(&Word) -> String) -> String {
        self.0.iter().map(write).collect()
    }

    /// As text in which nothing is escaped.
    pub fn plain(&self) -> String {
        self.write(|word| match word {
            Word::Said(text) | Word::Stressed(text) | Word::Quoted(text) => text.clone(),
        })
    }

    /// In a line of Markdown; each quoted text takes at most `room` columns.
    pub fn markdown(&self, room: usize) -> String {
        self.write(|word| match word {
            Word::Said(text) => text.clone(),
            Word::Stressed(text) => format!("**{text}**"),
            Word::Quoted(text) => code_span(text, room),
        })
    }
}
