//! Computes the place to blame for a growing stack: the function that allocates what stays, and
//! the line of the reader's own code that led there.
//!
//! ```text
//! tokio::runtime::task::core::Cell::new              plumbing: shown, and never blamed
//! tokio::runtime::task::raw::RawTask::new            plumbing
//! tokio::task::spawn::spawn                          at
//! jobs::start                      src/jobs.rs:41    caller
//! main
//! ```
//!
//! ```text
//! minijinja::vm::closure_object::Closure::new        at
//! minijinja::vm::Vm::eval                            (whatever is between is not named)
//! minijinja::template::Template::render              called
//! pages::index                     src/pages.rs:12   caller
//! ```
//!
//! The reader's own code is that of the workspace's packages. `Cargo.lock` says which these are.
//! The path of a source file decides where the names of a package and of its crate differ.

mod packages;
mod plumbing;

use serde::{Deserialize, Serialize};

pub use self::packages::Packages;
pub use self::plumbing::is_plumbing;
use crate::Frame;
use crate::fold::{crate_of, package_of_file};
use crate::required::required;

/// The place to blame for a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blame {
    /// The frame nearest to the allocation that is not plumbing.
    pub at: Frame,
    /// The function of a dependency that [`caller`](Blame::caller) called and that led to `at`.
    /// `None` if it is `at`, or if there is no caller.
    #[serde(deserialize_with = "required")]
    pub called: Option<Frame>,
    /// The reader's own frame that is nearest to the allocation. `None` if it is `at`, or if
    /// there is none.
    #[serde(deserialize_with = "required")]
    pub caller: Option<Frame>,
    /// The crate whose thread it is, if no frame is the reader's or may be.
    #[serde(deserialize_with = "required")]
    pub thread_of: Option<String>,
    /// The reader's own dependency that needs that crate. `None` if it is the crate itself, or
    /// if it is not known.
    #[serde(deserialize_with = "required")]
    pub needed_by: Option<String>,
}

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// A package of the workspace.
    Reader,
    /// A package from a registry or a repository.
    Dependency,
    /// C code, the standard library, or unknown.
    Other,
}

impl Blame {
    /// Finds the place to blame for a folded stack, whose frames are given leaf first. Returns
    /// `None` for a stack without frames.
    pub fn of(frames: &[Frame], packages: &Packages) -> Option<Blame> {
        let owner = |frame: &Frame| owner(frame, packages);
        let own = frames
            .iter()
            .position(|frame| owner(frame) == Owner::Reader);
        let foreign = &frames[..own.unwrap_or(frames.len())];
        let is_named = |frame: &&Frame| !is_plumbing(&frame.function) && !is_closure(frame);
        let caller = own.map(|own| &frames[own]);
        let at = foreign
            .iter()
            .find(is_named)
            // All of it is plumbing: a runtime that the reader calls by its internals, or C.
            .or(foreign.last())
            .or(caller)?;
        let called = caller.and_then(|_| {
            let dependency = |frame: &&Frame| owner(frame) == Owner::Dependency;
            let named = foreign.iter().rev().filter(dependency).find(is_named);
            named.or(foreign.last())
        });
        // Without debug information, the reader's own frame may be one of an unknown crate.
        let may_be_own =
            |frame: &Frame| owner(frame) == Owner::Other && crate_of(&frame.function).is_some();
        let thread_of = match own.is_some() || frames.iter().any(may_be_own) {
            true => None,
            false => frames
                .iter()
                .rev()
                .find(|frame| owner(frame) == Owner::Dependency)
                .and_then(|frame| crate_of(&frame.function)),
        };
        let other_than_at = |frame: Option<&Frame>| frame.filter(|frame| *frame != at).cloned();
        Some(Blame {
            at: at.clone(),
            called: other_than_at(called),
            caller: other_than_at(caller),
            thread_of: thread_of.map(str::to_owned),
            needed_by: thread_of.and_then(|krate| packages.direct_that_needs(krate)),
        })
    }

    /// Returns what the places of several stacks have in common. `None` if they allocate at
    /// different functions.
    pub fn common(blames: impl IntoIterator<Item = Blame>) -> Option<Blame> {
        blames.into_iter().map(Some).reduce(|one, other| {
            let (mut one, other) = (one?, other?);
            if one.at.function != other.at.function {
                return None;
            }
            if one.caller != other.caller {
                one.caller = None;
            }
            if one.called != other.called {
                one.called = None;
            }
            if one.thread_of != other.thread_of {
                (one.thread_of, one.needed_by) = (None, None);
            }
            Some(one)
        })?
    }
}

/// Returns whose code a frame is.
fn owner(frame: &Frame, packages: &Packages) -> Owner {
    let file = frame.file.as_deref();
    if file.is_some_and(|file| file.starts_with("library/")) {
        return Owner::Other;
    }
    let is_own = |krate: &str| packages.is_own(krate);
    let krate = crate_of(&frame.function);
    // `lru-0.18.1/src/lib.rs`. A folder of the workspace may have such a name as well.
    if let Some(package) = file.and_then(package_of_file) {
        let is_theirs = !is_own(&package) || packages.is_foreign(&package);
        if is_theirs {
            return Owner::Dependency;
        }
    }
    match krate {
        Some(krate) if is_own(krate) => Owner::Reader,
        Some(krate) if packages.is_foreign(krate) => Owner::Dependency,
        // A test target, or a library with another name than its package.
        _ if file.is_some_and(|file| file.ends_with(".rs")) => Owner::Reader,
        _ => Owner::Other,
    }
}

/// Returns whether a frame is a closure of which nothing is known but its file.
fn is_closure(frame: &Frame) -> bool {
    frame.function.starts_with("{{")
}

#[cfg(test)]
mod tests;
