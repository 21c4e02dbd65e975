//! Who holds the objects of a finding, as a report has it.

use serde::Serialize;

use crate::blame::Blame;

/// The most links of a chain in a report.
pub const MAX_LINKS: usize = 16;

/// Who holds the objects of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Holders {
    /// What the objects are: the type of a container, or the future of a task. `None` if nobody
    /// knows.
    #[serde(deserialize_with = "crate::required::required")]
    pub what: Option<String>,
    /// How many objects were looked at.
    pub of: u64,
    /// For how many of them this is the answer.
    pub objects: u64,
    /// How many of them are allocations of an `Arc` or `Rc` that only a `Weak` keeps.
    pub weak: u64,
    /// The holders, from the objects upward. Empty if nothing points to them.
    pub chain: Vec<HolderLink>,
    /// What is above the last of them.
    pub end: ChainEnd,
    /// Another container that holds the objects as well, or those that hold them: to free them, both
    /// have to let go. Or the stack of a thread that points to the last object of the chain as well,
    /// where one of both has only a `Weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<HolderLink>,
    /// The reference that closes the cycle, if they are one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<BackReference>,
}

/// What holds the objects of the level below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct HolderLink {
    /// What kind of thing it is.
    pub kind: LinkKind,
    /// The type of a container, the future of a task, or the name of a static, a thread-local or a
    /// thread. `None` if nobody knows.
    #[serde(deserialize_with = "crate::required::required")]
    pub name: Option<String>,
    /// Where its objects are allocated: who fills it. `None` for what is no object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// How many objects it is.
    pub count: u64,
    /// The bytes of these.
    pub bytes: u64,
    /// Whether it was there when the first iteration had ended, as a buffer of a fixed size. What grows is
    /// allocated anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fixed: bool,
    /// How many objects of the level below it holds itself.
    pub holds: u64,
    /// How many more of them these lead to, as in a list of which only the first is held.
    pub through: u64,
    /// How many objects the level below has.
    pub of: u64,
}

/// What kind of thing holds objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// Other objects.
    Objects,
    /// Tasks of a runtime, which have not ended.
    Tasks,
    /// Tasks of a runtime that have ended. Somebody keeps them, such as by a `JoinHandle`.
    EndedTasks,
    /// What the scenario's setup returned, and its closure captured.
    State,
    /// A static.
    Static,
    /// A thread-local.
    ThreadLocal,
    /// Memory that was mapped outside the allocator.
    Mapped,
    /// The stack of a thread.
    Stack,
}

/// What is above the last link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum ChainEnd {
    /// The last link is a root.
    Root,
    /// Nothing points to it.
    Lost,
    /// Nothing but what it holds itself points to it.
    Cycle,
    /// Only words on a stack lead there, which may be left over.
    Unsure,
    /// There are more links than were followed.
    Deeper,
}

/// A reference that closes a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct BackReference {
    /// The type of the object that has it. `None` if nobody knows.
    #[serde(deserialize_with = "crate::required::required")]
    pub from: Option<String>,
    /// The type of the object that it points to. `None` if nobody knows.
    #[serde(deserialize_with = "crate::required::required")]
    pub to: Option<String>,
}
