//! Finds who holds objects: what points to them, what points to that, up to a root.
//!
//! ```text
//! objects ─┐
//! words  ──┼─► Scan ──► Graph ──► held(accused) ──► Held: links upward, and an end
//! roots  ──┘   which words are     what reaches
//!              addresses            the accused
//! ```
//!
//! A word counts as a reference if it is an address inside a live object: collectors call this
//! conservative (Boehm and Weiser, "Garbage Collection in an Uncooperative Environment", 1988). Some
//! words only look like references, because memory keeps what was there before. Such a stale word
//! points to one object or two, but a real holder to nearly all of a group. So holders are told by
//! shares: those objects that were allocated by one stack are a group, and a group is a holder if it
//! holds most of the accused.
//!
//! Nothing here knows a process. Words may come from a stopped one, from a core file, or from a test.

mod chain;
mod graph;
mod scan;
mod told;
mod used;

pub use self::chain::{End, Held, Holder, Link};
pub use self::graph::Graph;
pub use self::scan::{Reference, Scan};
pub use self::told::{BackReference, ChainEnd, HolderLink, Holders, LinkKind, MAX_LINKS};
pub use self::used::Storage;

/// An object that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The address of its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The group that it belongs to: the rank of the stack that allocated it. Ranks must come from
    /// an order of names, because they decide where nothing else does.
    pub group: u32,
    /// Whether it was there when the first iteration had ended.
    pub is_early: bool,
}

/// What the caller knows of the objects of a group, by their type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// They are allocations of an `Arc` or `Rc`.
    pub is_counted: bool,
    /// Nobody knows whether they are.
    pub may_be_counted: bool,
    /// They are made of elements of one type: a map, a list, a buffer.
    pub is_container: bool,
    /// They have a `Weak`, which keeps no value.
    pub has_weak: bool,
}

/// What a word outside the objects belongs to.
///
/// The order is that of preference, where several roots lead to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// What the scenario's setup returned, and its closure captured.
    State,
    /// A static of the program or of a library, by the rank of its name.
    Static(u32),
    /// A thread-local, by the rank of its name.
    ThreadLocal(u32),
    /// Memory that was mapped outside the allocator, of which nobody knows what is in use.
    Mapped,
    /// The stack of a thread, by the rank of the thread's name. It may have stale words.
    Stack(u32),
    /// A word among the thread-locals of a thread, by the rank of the thread's name, that belongs to
    /// none that is known. It may be between them.
    Unnamed(u32),
}

impl Root {
    /// Returns whether its words are in use for certain.
    pub(crate) fn is_certain(self) -> bool {
        matches!(self, Root::State | Root::Static(_) | Root::ThreadLocal(_))
    }
}

#[cfg(test)]
mod tests;
