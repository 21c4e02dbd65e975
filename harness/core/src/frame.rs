use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Avma;
use crate::required::required;

/// One function at an address, as the symboliser found it; an address has
/// several where calls were inlined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFrame {
    /// Demangled, with its path and generic arguments, without the hash. For
    /// an address that nothing resolves: `module+0x1234`.
    pub function: String,
    /// As the debug information has it; absent without one.
    pub file: Option<String>,
    /// Of the call in `file`, from 1.
    pub line: Option<u32>,
}

/// What every address of a profile resolves to: a value, so that folding needs
/// no file and no symboliser.
///
/// Inlined frames come first, the physical function last: leaf first, as on
/// the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolTable {
    frames: BTreeMap<Avma, Vec<SourceFrame>>,
    /// Distinct addresses for which only a symbol table gave a name.
    pub without_debug_info: usize,
    /// Distinct addresses for which nothing gave a name.
    pub unresolved: usize,
    /// What a reader of the report should know about how names were found, a
    /// sentence fragment each: a stripped file, a file that is gone.
    pub notes: Vec<String>,
}

/// Collects frames for a [`SymbolTable`].
#[derive(Debug, Default)]
pub struct SymbolTableBuilder(SymbolTable);

impl SymbolTableBuilder {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says what stands at an address, leaf first.
    pub fn insert(&mut self, address: Avma, frames: Vec<SourceFrame>) -> &mut Self {
        self.0.frames.insert(address, frames);
        self
    }

    /// Adds a note once.
    pub fn note(&mut self, note: String) -> &mut Self {
        if !self.0.notes.contains(&note) {
            self.0.notes.push(note);
        }
        self
    }

    /// Counts an address whose name came from a symbol table alone.
    pub fn count_without_debug_info(&mut self) -> &mut Self {
        self.0.without_debug_info += 1;
        self
    }

    /// Counts an address that has no name.
    pub fn count_unresolved(&mut self) -> &mut Self {
        self.0.unresolved += 1;
        self
    }

    /// The finished table.
    pub fn build(self) -> SymbolTable {
        self.0
    }
}

impl SymbolTable {
    /// The frames at an address, leaf first; empty where it was never looked up.
    pub fn get(&self, address: Avma) -> &[SourceFrame] {
        self.frames.get(&address).map_or(&[], Vec::as_slice)
    }

    /// Every address with its frames, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Avma, &[SourceFrame])> {
        self.frames
            .iter()
            .map(|(address, frames)| (*address, frames.as_slice()))
    }
}

/// A frame as it is shown: a normalised name, and where it stood in this build.
///
/// File and line are for people. They are never part of a stack's identity,
/// because they change with every edit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Normalised, as in a [`FoldedStack`].
    pub function: String,
    /// Shortened for people: `lru-0.18.1/src/lib.rs`, `src/main.rs`.
    #[serde(deserialize_with = "required")]
    pub file: Option<String>,
    /// In `file`, from 1.
    #[serde(deserialize_with = "required")]
    pub line: Option<u32>,
}

impl Frame {
    /// `src/main.rs:14`; absent where its file is not known.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        })
    }
}

/// A stack by its normalised function names, root first, leaf last: what a
/// baseline stores and what flame graphs call a folded stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FoldedStack(pub Vec<String>);

impl FoldedStack {
    /// What stands for a run of frames where a pattern is shown as a stack.
    pub(crate) const ANY: &str = "...";

    /// The names, root first.
    pub fn frames(&self) -> &[String] {
        &self.0
    }

    /// The leaf-most name, by which a message calls it; a run of frames, as a pattern
    /// has it, is none where there is another. Empty where there is no frame.
    pub fn leaf(&self) -> &str {
        let run = |name: &&String| *name != Self::ANY;
        let named = self.0.iter().rfind(run);
        named.or(self.0.last()).map_or("", String::as_str)
    }

    /// The frame that calls what two stacks have in common at their leaf;
    /// absent where all of this one is common.
    pub fn caller_apart_from(&self, other: &FoldedStack) -> Option<&str> {
        let (ours, theirs) = (self.0.iter().rev(), other.0.iter().rev());
        let common = ours.zip(theirs).take_while(|(a, b)| a == b).count();
        self.0.iter().rev().nth(common).map(String::as_str)
    }
}

/// Joined by `;`, as flame graph tools read it.
impl fmt::Display for FoldedStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, frame) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(";")?;
            }
            f.write_str(frame)?;
        }
        Ok(())
    }
}
