//! Names methods of which only the file is known.
//!
//! With `debug = "line-tables-only"`, an inlined method has no type in the debug information, and
//! an inlined closure has no function. The source file has both:
//!
//! ```text
//! shelf::boards::lay             src/boards.rs:12     shelf::boards::Board::lay
//! shelf::boards::{{closure}}     src/boards.rs:31     shelf::boards::Board::sort::{{closure}}
//! ```
//!
//! These names are for people. A stack's identity stays what the program's file says, because
//! sources are not everywhere.

use std::cell::RefCell;
use std::fmt;

use super::closure::CLOSURE;
use super::scan::{Function, functions};
use crate::Frame;
use crate::SmallMap;

/// Returns the text of a file, by its path in a [`Frame`].
type Read<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The source files of frames. Each is read at most once, and only if a name needs it. By default
/// there are none.
pub struct SourceFiles<'a> {
    read: Box<Read<'a>>,
    functions: RefCell<SmallMap<String, Vec<Function>>>,
}

impl<'a> SourceFiles<'a> {
    /// Makes them of a function that returns the text of a file, by its path in a [`Frame`].
    pub fn new(read: impl Fn(&str) -> Option<String> + 'a) -> SourceFiles<'a> {
        SourceFiles {
            read: Box::new(read),
            functions: RefCell::default(),
        }
    }

    /// Returns the whole name of a frame's function. `None` if the source does not say it.
    pub(super) fn name(&self, frame: &Frame) -> Option<String> {
        let (file, line) = (frame.file.as_deref()?, frame.line?);
        let function = frame.function.trim_end_matches(CLOSURE);
        let closures = &frame.function[function.len()..];
        // `module::{{closure}}`, or a function.
        let is_closure = !closures.is_empty() && is_module(function, file);
        let (path, last) = match function.rsplit_once("::") {
            _ if is_closure => (function, None),
            Some((path, last)) => (path, Some(last)),
            None => ("", Some(function)),
        };
        if !is_closure && !is_module(path, file) {
            return None;
        }
        let mut known = self.functions.borrow_mut();
        if known.get(file).is_none() {
            let text = (self.read)(file);
            let found = text.map_or_else(Vec::new, |text| functions(&text));
            known.insert(file.to_owned(), found);
        }
        let around = known
            .get(file)?
            .iter()
            .filter(|one| one.lines.contains(&line) && last.is_none_or(|last| one.name == last));
        // The innermost one starts last.
        let around: Vec<&Function> = around.collect();
        let found = *around.last()?;
        // Of two on one line, either may be meant.
        let is_other = |one: &&&Function| one.lines.start() == found.lines.start();
        if around.iter().filter(is_other).count() > 1 {
            return None;
        }
        let mut segments: Vec<&str> = path.split("::").filter(|part| is_shown(part)).collect();
        let inner: Vec<&str> = found.path.iter().map(String::as_str).collect();
        if !segments.ends_with(&inner) {
            segments.extend(inner);
        }
        segments.push(&found.name);
        Some(segments.join("::") + closures)
    }
}

/// Returns whether a frame may have been given the name of `named`: it is the same function or
/// closure, with less of a path.
pub(super) fn is_renamed(named: &Frame, frame: &Frame) -> bool {
    let last = |frame: &Frame| frame.function.rsplit("::").next().map(str::to_owned);
    (&named.file, named.line) == (&frame.file, frame.line) && last(named) == last(frame)
}

fn is_shown(part: &str) -> bool {
    !part.is_empty() && part != "{{impl}}"
}

/// Returns whether a path may be what a file alone says: its modules, without a type or a trait.
fn is_module(path: &str, file: &str) -> bool {
    let Some(file) = file.strip_suffix(".rs") else {
        return false;
    };
    let mut of_file = file.rsplit('/');
    let stem = match of_file.next() {
        Some("mod") => of_file.next(),
        // The crate, whose name need not be that of a folder.
        Some("lib" | "main") => None,
        stem => stem,
    };
    let mut parts = path.rsplit("::").filter(|part| is_shown(part));
    match (parts.next(), stem) {
        (None, _) => true,
        (Some(part), Some(stem)) => part == stem.replace('-', "_"),
        (Some(_), None) => parts.next().is_none(),
    }
}

impl Default for SourceFiles<'_> {
    fn default() -> Self {
        SourceFiles::new(|_| None)
    }
}

impl fmt::Debug for SourceFiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.functions.borrow();
        let files = functions.iter().map(|(file, _)| file);
        f.debug_set().entries(files).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARDS: &str = r##"
use std::fmt;
const ODD: &str = "fn lay() { \" }";
const RAW: &str = r#"impl Fake { fn lay() {" }"#;
pub fn free<'a>(x: &'a [u8; 4]) -> char { if x[0] > 1 { '{' } else { '\'' } }
/// fn lay() {
/* impl X { /* nested */ */
impl<'a, T: Fn(u8) -> u8> Board<'a, T>
where
    T: Clone,
{
    #[inline]
    pub(crate) fn lay<F>(&mut self, width: [u8; { 2 }]) -> impl Iterator<Item = u8> {
        self.rows.push(width);
        fn helper() {
            grow();
        }
        self.rows.sort_by(|a, b| {
            a.cmp(b)
        });
    }
}
impl<T> fmt::Display for super::Plank<T> { fn fmt(&self) -> fmt::Result {
    write!(f, "{}", self.0)
} }
cfg_rt! {
    impl Saw { async fn cut(self) { wait().await } }
}
mod inner {
    impl<T: Tool> Sharpen for T {
        fn sharpen(&self) { self.grind() }
    }
    trait Grind { fn grind(&self) { work() } }
    impl Grind for (u8, u8) { fn work() { f() } }
}
impl A { fn one(&self) { a() } } impl B { fn one(&self) { b() } }
impl for<'x> Call<'x> for Box<dyn Fn(&'x u8) -> u8> { fn call(&self) { run() } }
macro_rules! both { ($t:ty) => { impl Keep for $t { fn keep(&self) { hold() } } } }
"##;

    #[test]
    fn names_of_methods() {
        let read = |file: &str| (file == "src/boards.rs").then(|| BOARDS.to_owned());
        let sources = SourceFiles::new(read);
        for (function, line, expected) in [
            ("shelf::boards::free", 5, "shelf::boards::free"),
            ("shelf::boards::lay", 14, "shelf::boards::Board::lay"),
            (
                "shelf::boards::{{impl}}::lay",
                14,
                "shelf::boards::Board::lay",
            ),
            ("lay", 14, "Board::lay"),
            ("shelf::boards::helper", 16, "shelf::boards::helper"),
            // Another version of the file was built.
            ("shelf::boards::saw", 14, "shelf::boards::saw"),
            ("shelf::boards::lay", 2, "shelf::boards::lay"),
            (
                "shelf::boards::{{closure}}",
                19,
                "shelf::boards::Board::lay::{{closure}}",
            ),
            (
                "shelf::boards::lay::{{closure}}::{{closure}}",
                19,
                "shelf::boards::Board::lay::{{closure}}::{{closure}}",
            ),
            ("shelf::boards::fmt", 24, "shelf::boards::Plank::fmt"),
            ("shelf::boards::cut", 27, "shelf::boards::Saw::cut"),
            (
                "shelf::boards::sharpen",
                31,
                "shelf::boards::inner::Sharpen::sharpen",
            ),
            (
                "shelf::boards::grind",
                33,
                "shelf::boards::inner::Grind::grind",
            ),
            // A tuple has no name that a path could have.
            ("shelf::boards::work", 34, "shelf::boards::work"),
            ("shelf::boards::one", 36, "shelf::boards::one"),
            ("shelf::boards::call", 37, "shelf::boards::Box::call"),
            ("shelf::boards::keep", 38, "shelf::boards::keep"),
            // A name that has its type already.
            ("shelf::Shelf::lay", 14, "shelf::Shelf::lay"),
            ("<a::Hole as a::Keep>::lay", 14, "<a::Hole as a::Keep>::lay"),
        ] {
            let frame = Frame {
                function: function.to_owned(),
                file: Some("src/boards.rs".to_owned()),
                line: Some(line),
            };
            let named = sources.name(&frame).unwrap_or_else(|| function.to_owned());
            assert_eq!(named, expected, "{function} at {line}");
        }
    }
}
