use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::Avma;

/// One function at an address, as the symboliser found it. An address has several functions if
/// calls were inlined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceFrame {
    /// The demangled name with its path and generic arguments, without the hash. If nothing
    /// resolves the address: `module+0x1234`.
    pub function: String,
    /// The file as the debug information has it; `None` without debug information.
    pub file: Option<String>,
    /// The line of the call in `file`, counted from 1.
    pub line: Option<u32>,
    /// The generic arguments, such as `<u64, alloc::sync::Arc<app::Session>>`. `None` if nobody
    /// asked for them, and if the debug information has none.
    pub arguments: Option<Box<str>>,
}

impl SourceFrame {
    /// Makes a frame of which only the name is known.
    pub fn named(function: String) -> SourceFrame {
        SourceFrame {
            function,
            file: None,
            line: None,
            arguments: None,
        }
    }
}

/// Why a program does not tell the line of an address that is in its Rust code.
///
/// The greater one takes more to mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Lacks {
    /// The debug information is in `.dwo` or `.dwp` files that were not found.
    SplitFiles,
    /// The program was built without debug information.
    DebugInfo,
    /// The program was stripped: of its debug information, or of its symbols as well.
    Stripped,
}

/// The functions at every address of a profile. It is a value, so folding needs no file and no
/// symboliser.
///
/// The order at an address is leaf first, as on the stack: inlined frames come first, the
/// physical function last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolTable {
    /// The frames at each address, leaf first.
    pub frames: BTreeMap<Avma, Vec<SourceFrame>>,
    /// Addresses of which the program would tell more if it was built otherwise.
    pub lacks: BTreeMap<Avma, Lacks>,
    /// Distinct addresses for which only a symbol table gave a name.
    pub without_debug_info: usize,
    /// Distinct addresses for which nothing gave a name.
    pub unresolved: usize,
    /// What a reader of the report should know about how names were found, such as a stripped
    /// file or a file that is gone. Each note is a sentence fragment.
    pub notes: Vec<String>,
}

impl SymbolTable {
    /// Adds a note once.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the frames at an address, leaf first. Empty if the address was never looked up.
    pub fn get(&self, address: Avma) -> &[SourceFrame] {
        self.frames.get(&address).map_or(&[], Vec::as_slice)
    }
}

/// A frame as it is shown: a normalised name, and its place in this build.
///
/// File and line are for people. They are never part of a stack's identity, because they
/// change with every edit.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// The normalised name, as in a [`FoldedStack`].
    pub function: String,
    /// The file, shortened for people: `lru-0.18.1/src/lib.rs`, `src/main.rs`.
    #[serde(deserialize_with = "crate::required::required")]
    pub file: Option<String>,
    /// The line in `file`, counted from 1.
    #[serde(deserialize_with = "crate::required::required")]
    pub line: Option<u32>,
}

impl Frame {
    /// Returns the place as `src/main.rs:14`. `None` if the file is not known.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(match self.line {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        })
    }
}

/// A stack as normalised function names, root first: what a baseline stores, and what flame
/// graphs call a folded stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
pub struct FoldedStack(pub Vec<String>);

impl FoldedStack {
    /// Stands for a run of frames if a pattern is shown as a stack.
    pub(crate) const ANY: &str = "...";

    /// Returns the names, root first.
    pub fn frames(&self) -> &[String] {
        &self.0
    }

    /// Returns the name nearest the leaf, which messages use for the stack. A run of frames
    /// counts only if there is no other name. Empty if the stack has no frame.
    pub fn leaf(&self) -> &str {
        let run = |name: &&String| *name != Self::ANY;
        let named = self.0.iter().rfind(run);
        named.or(self.0.last()).map_or("", String::as_str)
    }

    /// Returns the frame that calls the frames which two stacks have in common at their leaf.
    /// `None` if all frames of this stack are common.
    pub fn caller_apart_from(&self, other: &FoldedStack) -> Option<&str> {
        let (ours, theirs) = (self.0.iter().rev(), other.0.iter().rev());
        let common = ours.zip(theirs).take_while(|(a, b)| a == b).count();
        self.0.iter().rev().nth(common).map(String::as_str)
    }
}

/// Joins the names with `;`, as flame graph tools read them.
impl fmt::Display for FoldedStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(";"))
    }
}
