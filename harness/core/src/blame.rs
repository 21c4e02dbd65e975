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

mod closure;
mod own;
mod packages;
mod plumbing;
mod scan;
mod source;

use serde::Serialize;

pub use self::packages::Packages;
pub use self::plumbing::is_plumbing;
pub use self::source::SourceFiles;
use crate::Frame;
use crate::fold::{self, Trace, crate_of, package_of_file, version_of_file};

/// The place to blame for a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(deny_unknown_fields)]
pub struct Blame {
    /// The frame nearest to the allocation that is not plumbing. `None` if no function is known
    /// but those of the harness and the standard library; then [`origin`](Blame::origin) says
    /// where that was.
    #[serde(deserialize_with = "crate::required::required")]
    pub at: Option<Frame>,
    /// The function of a dependency that the reader's own code called and that led to `at`.
    /// `None` if it is `at`. If `at` is the reader's own, it is the function that ran `at`, and may
    /// keep what that returns.
    #[serde(deserialize_with = "crate::required::required")]
    pub called: Option<Frame>,
    /// The reader's own frame that is nearest to the allocation. `None` if it is `at`, or if
    /// there is none.
    #[serde(deserialize_with = "crate::required::required")]
    pub caller: Option<Frame>,
    /// The function of Rust that called `at`, if `at` is C: what C returns has to be freed by
    /// whoever called it. `None` if it is `called` or `caller`. Reports of older versions do not
    /// have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Frame>,
    /// Where the stack begins, if no frame is the reader's own. `None` if the stack does not
    /// tell. Reports of older versions do not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The crate whose thread or task it is, if the stack begins in a thread and no frame is the
    /// reader's or may be.
    #[serde(deserialize_with = "crate::required::required")]
    pub thread_of: Option<String>,
    /// The reader's own dependency that needs that crate. `None` if it is the crate itself, or
    /// if it is not certain.
    #[serde(deserialize_with = "crate::required::required")]
    pub needed_by: Option<String>,
}

/// Where a stack begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "reports", derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In an iteration of the workload of the scenario with this name.
    Workload(String),
    /// In the setup of the workload of the scenario with this name.
    Setup(String),
    /// In a thread.
    Thread,
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
    /// Finds the place to blame for a folded stack of a scenario. Returns `None` for a stack
    /// without frames.
    ///
    /// The functions of the place have their types, if `sources` has the files of methods that
    /// the debug information gives no type.
    pub fn of(
        trace: &Trace,
        scenario: &str,
        packages: &Packages,
        sources: &SourceFiles<'_>,
    ) -> Option<Blame> {
        let frames = trace.frames.as_slice();
        if frames.is_empty() {
            return None;
        }
        let owner = |frame: &Frame| owner(frame, packages);
        let own = frames
            .iter()
            .position(|frame| owner(frame) == Owner::Reader);
        let origin = trace.origin.filter(|_| own.is_none());
        let origin = origin.map(|origin| match origin {
            fold::Origin::Iteration => Origin::Workload(scenario.to_owned()),
            fold::Origin::Setup => Origin::Setup(scenario.to_owned()),
            fold::Origin::Thread => Origin::Thread,
        });
        // The reader's own code calls what is left of such a stack, and is inlined; or a thread
        // does so.
        let is_of_thread = origin == Some(Origin::Thread) && trace.lacks.is_some();
        let is_of_workload = matches!(origin, Some(Origin::Workload(_) | Origin::Setup(_)));
        let mut foreign = &frames[..own.unwrap_or(frames.len())];
        while let Some((last, rest)) = foreign.split_last()
            && (is_harness(last)
                || is_test_program(&last.function)
                || is_of_thread && fold::is_of_std(&last.function)
                || is_of_workload && is_std_copy(last, packages))
        {
            foreign = rest;
        }
        let is_called_by_reader = own.is_some() || is_of_workload;
        let at = nearest(foreign, is_called_by_reader)
            // All of it is plumbing: a runtime that the reader calls by its internals, or C. A
            // loop only runs what it was given.
            .or_else(|| {
                let is_loop = |frame: &Frame| plumbing::is_loop(&frame.function);
                let end = foreign.iter().position(is_loop);
                end.filter(|end| *end > 0)
                    .unwrap_or(foreign.len())
                    .checked_sub(1)
            })
            .or(own);
        let called = is_called_by_reader.then_some(()).and_then(|()| {
            let is_called = |place: &usize| {
                owner(&foreign[*place]) == Owner::Dependency && is_named(foreign, *place)
            };
            let named = (0..foreign.len()).rev().find(is_called);
            named.or(foreign.len().checked_sub(1))
        });
        let ran = || {
            let is_own = |frame: &Frame| owner(frame) == Owner::Reader;
            let mut start = frames.iter().position(|frame| !is_own(frame))?;
            // The function that was passed may be a closure which calls others.
            if !closure::is_one(&frames[start - 1]) {
                start = 1;
            }
            let end = start + frames[start..].iter().position(is_own)?;
            // A future is run by whoever waits for it.
            let is_future = |frame: &Frame| frame.function.ends_with("::poll");
            let is_theirs = |place: &usize| {
                owner(&frames[*place]) == Owner::Dependency && is_named(frames, *place)
            };
            let waits = frames[start..end].iter().any(is_future);
            (start..end).rfind(|place| !waits && is_theirs(place))
        };
        let called = called.or_else(|| (own == Some(0)).then(ran)?);
        // Without debug information, the reader's own frame may be one of an unknown crate.
        let may_be_own = |frame: &Frame| {
            let is_unknown = owner(frame) == Owner::Other && !is_std_copy(frame, packages);
            is_unknown && crate_of(&frame.function).is_some()
        };
        let theirs = || {
            let frames = frames.iter().rev();
            frames.filter(|frame| owner(frame) == Owner::Dependency)
        };
        // Without lines, the function that the thread was given may be inlined into any other.
        let is_complete = trace.lacks.is_none() && !frames.iter().any(may_be_own);
        let thread_of = match origin == Some(Origin::Thread) && is_complete {
            // A runtime's thread runs whatever it is given: the task's crate says more.
            true => theirs()
                .find(|frame| !is_plumbing(&frame.function))
                .or_else(|| theirs().next()),
            false => None,
        };
        let krate = thread_of.and_then(|frame| crate_of(&frame.function));
        let needed_by = krate.and_then(|krate| {
            let file = thread_of.and_then(|frame| frame.file.as_deref());
            packages.direct_that_needs(krate, file.and_then(version_of_file))
        });
        let named = |place: usize| match sources.name(&frames[place]) {
            Some(function) => Frame {
                function,
                ..frames[place].clone()
            },
            None => closure::named(frames, place),
        };
        let other_than_at = |place: Option<usize>| {
            let place = place.filter(|place| at.is_none_or(|at| frames[*place] != frames[at]));
            place.map(named)
        };
        let by = at.filter(|at| is_c(&frames[*at])).and_then(|at| {
            let is_rust = |place: &usize| !is_c(&frames[*place]) && is_named(foreign, *place);
            (at + 1..foreign.len()).find(is_rust)
        });
        Some(Blame {
            by: other_than_at(by.filter(|_| by != called)),
            at: at.map(named),
            called: other_than_at(called),
            caller: other_than_at(own),
            origin,
            thread_of: krate.map(str::to_owned),
            needed_by,
        })
    }

    /// Returns the frame of the reader's own code, if its line is known.
    pub(crate) fn own_line(&self) -> Option<&Frame> {
        let own = self.caller.as_ref().or(self.at.as_ref());
        own.filter(|own| self.origin.is_none() && own.line.is_some())
    }

    /// Returns the frames that it names.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        let frames = [&self.at, &self.by, &self.called, &self.caller];
        frames.into_iter().flatten()
    }

    /// Returns whether a frame of the stack is the one that is blamed as `blamed`.
    pub(crate) fn is_frame(blamed: &Frame, frame: &Frame) -> bool {
        blamed == frame || source::is_renamed(blamed, frame)
    }

    /// Returns what the places of several stacks have in common. `None` if they allocate at
    /// different functions.
    pub fn common(blames: impl IntoIterator<Item = Blame>) -> Option<Blame> {
        blames.into_iter().map(Some).reduce(|one, other| {
            let (mut one, other) = (one?, other?);
            let function = |blame: &Blame| blame.at.as_ref().map(|at| at.function.clone());
            if function(&one) != function(&other) {
                return None;
            }
            if one.thread_of != other.thread_of {
                one.needed_by = None;
            }
            Some(Blame {
                origin: one.origin.filter(|own| other.origin.as_ref() == Some(own)),
                caller: one.caller.filter(|own| other.caller.as_ref() == Some(own)),
                called: one.called.filter(|own| other.called.as_ref() == Some(own)),
                by: one.by.filter(|own| other.by.as_ref() == Some(own)),
                thread_of: one
                    .thread_of
                    .filter(|own| other.thread_of.as_ref() == Some(own)),
                ..one
            })
        })?
    }
}

/// Returns whether a frame is the harness's own: nothing of the harness is to blame.
fn is_harness(frame: &Frame) -> bool {
    fold::is_harness(&frame.function)
}

/// Crates that the standard library has copies of, under the same names.
const STD_COPIES: [&str; 7] = [
    "addr2line",
    "gimli",
    "hashbrown",
    "memchr",
    "miniz_oxide",
    "object",
    "rustc_demangle",
];

/// Returns whether a frame is of such a copy, as far as can be known: no file names the package,
/// and the reader's own packages do not call a crate of this name.
fn is_std_copy(frame: &Frame, packages: &Packages) -> bool {
    let krate = crate_of(&frame.function).filter(|krate| STD_COPIES.contains(krate));
    frame.file.is_none() && krate.is_some_and(|krate| !packages.is_needed_by_own(krate))
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
        // A macro of theirs makes closures of the reader's crate, such as `tokio::select`.
        if is_theirs {
            return match krate {
                Some(krate) if is_own(krate) && !packages.is_foreign(krate) => Owner::Other,
                _ => Owner::Dependency,
            };
        }
    }
    match krate {
        _ if is_harness(frame) => Owner::Other,
        Some(krate) if is_own(krate) => Owner::Reader,
        _ if is_std_copy(frame, packages) => Owner::Other,
        Some(krate) if packages.is_foreign(krate) => Owner::Dependency,
        // A test target, or a library with another name than its package.
        _ if file.is_some_and(|file| file.ends_with(".rs")) => Owner::Reader,
        _ => Owner::Other,
    }
}

/// Returns the place of the frame nearest to the allocation that is to blame, among those before
/// the reader's own. `None` if all of them are plumbing.
fn nearest(foreign: &[Frame], is_called_by_reader: bool) -> Option<usize> {
    let named = |place: &usize| is_named(foreign, *place);
    let first = (0..foreign.len()).find(named)?;
    if is_c(&foreign[first]) {
        // What a C function returns has to be freed by whoever called it. The function that Rust
        // called is the one with a documentation.
        let run = foreign[first..].iter().take_while(|frame| is_c(frame));
        let end = first + run.count();
        let is_called = is_called_by_reader || end < foreign.len();
        return match is_called {
            true => (first..end).rev().find(named),
            false => Some(first),
        };
    }
    Some(first)
}

/// Returns whether the frame at a place may be named: it is a function, and not plumbing.
fn is_named(frames: &[Frame], place: usize) -> bool {
    let frame = &frames[place];
    let is_allocator = || {
        // `mlua::memory::allocator`, which Lua calls.
        let function = frame.function.rsplit("::").next().unwrap_or_default();
        function.contains("alloc") && frames.get(place + 1).is_some_and(is_c) && !is_c(frame)
    };
    !is_plumbing(&frame.function)
        && !frame.function.starts_with("{{")
        && !is_module(&frame.function)
        && !is_allocator()
}

/// Returns whether a frame is C code, resolved or not.
fn is_c(frame: &Frame) -> bool {
    let in_rust = frame
        .file
        .as_deref()
        .is_some_and(|file| file.ends_with(".rs"));
    let has_path = frame.function.contains("::") || frame.function.starts_with(['<', '{']);
    !in_rust && !has_path
}

/// Returns whether a name is that of a library in which a function was not found, or none at
/// all.
fn is_module(function: &str) -> bool {
    let file = function.rsplit('/').next().unwrap_or_default();
    file.ends_with(".so")
        || file.contains(".so.")
        || file.starts_with('[')
        || is_test_program(function)
}

/// Returns whether a name is that of a program which cargo built for a test, as
/// `leaks-0123456789abcdef`: a function of the program whose name was stripped.
fn is_test_program(function: &str) -> bool {
    let hash = function.rsplit_once('-').map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests;
