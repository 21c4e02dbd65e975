//! A sentence that keeps quoted text apart from plimsoll's own words. Each output escapes the
//! quoted text, and writes the other words as they are.
//!
//! ```
//! use plimsoll_core::text::words::Words;
//!
//! let sentence = Words::default().stress("+96 B").say(" in ").quote("lru::put");
//! assert_eq!(sentence.plain(), "+96 B in lru::put");
//! assert_eq!(sentence.markdown(40, |_, _| None), "**+96 B** in `lru::put`");
//! ```

use super::sink::code_span;

/// A sentence, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Word>);

/// A run of text in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// plimsoll's own words.
    Said(String),
    /// plimsoll's own words, emphasised.
    Stressed(String),
    /// Text of others: a name, a path or a message. Nothing in it is escaped yet.
    Quoted(String),
    /// A name of others that reads like plimsoll's own words, such as that of a scenario. Text
    /// without other marks has it in backticks.
    Named(String),
    /// A line of a source file, which an output may link. The path is text of others.
    Line {
        /// The path, as reports have it.
        file: String,
        /// The number of the line, counted from 1.
        line: Option<u32>,
    },
}

impl Words {
    /// Adds plimsoll's own words.
    #[must_use]
    pub fn say(self, words: impl Into<String>) -> Self {
        self.and(Word::Said(words.into()))
    }

    /// Adds plimsoll's own words, emphasised.
    #[must_use]
    pub fn stress(self, words: impl Into<String>) -> Self {
        self.and(Word::Stressed(words.into()))
    }

    /// Adds text of others.
    #[must_use]
    pub fn quote(self, text: impl Into<String>) -> Self {
        self.and(Word::Quoted(text.into()))
    }

    /// Adds a name that may read like plimsoll's own words.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.and(Word::Named(name.into()))
    }

    /// Adds a line of a source file.
    #[must_use]
    pub fn line(self, file: impl Into<String>, line: Option<u32>) -> Self {
        let file = file.into();
        self.and(Word::Line { file, line })
    }

    fn and(mut self, word: Word) -> Self {
        self.0.push(word);
        self
    }

    /// Adds another sentence, or a part of one.
    #[must_use]
    pub fn join(mut self, other: Words) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns the sentence with a capital letter, if it begins with plimsoll's own words.
    #[must_use]
    pub fn capital(mut self) -> Self {
        if let Some(Word::Said(text) | Word::Stressed(text)) = self.0.first_mut() {
            *text = capital(text);
        }
        self
    }

    /// Returns the runs of text, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Word> {
        self.0.iter()
    }

    /// Joins the runs of text, each as `write` returns it.
    pub fn write(&self, write: impl FnMut(&Word) -> String) -> String {
        self.0.iter().map(write).collect()
    }

    /// Returns the sentence as text. Nothing is escaped.
    pub fn plain(&self) -> String {
        self.write(|word| match word {
            Word::Said(text) | Word::Stressed(text) | Word::Quoted(text) => text.clone(),
            Word::Named(name) => format!("`{name}`"),
            Word::Line { file, line } => place(file, *line),
        })
    }

    /// Returns the sentence as a line of Markdown. Each quoted text takes at most `room`
    /// columns. `url` returns the address of a line of a source file, if it has one.
    pub fn markdown(
        &self,
        room: usize,
        url: impl Fn(&str, Option<u32>) -> Option<String>,
    ) -> String {
        self.write(|word| match word {
            Word::Said(text) => text.clone(),
            Word::Stressed(text) => format!("**{text}**"),
            Word::Quoted(text) | Word::Named(text) => code_span(text, room),
            Word::Line { file, line } => {
                let shown = code_span(&place(file, *line), room);
                match url(file, *line) {
                    Some(url) => format!("[{shown}]({url})"),
                    None => shown,
                }
            }
        })
    }
}

/// Returns a text with a capital letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + chars.as_str()
}

/// Returns a line of a source file as text: `src/jobs.rs:41`.
pub fn place(file: &str, line: Option<u32>) -> String {
    match line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    }
}
