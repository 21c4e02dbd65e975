//! Decides whether two names may be one function's name in two builds.
//!
//! ```text
//! shelf::boards::Board::lay     shelf::boards::lay, lay     inlined, named by line tables only
//! <a::Hole as a::Keep>::keep    a::keep, keep
//! a::serve::{{closure}}         a::{{closure}}, {{closure}}
//! <a::Hole as a::Keep>::some    a::Keep::some               provided by the trait, legacy mangling
//! <a::Hole as a::Keep>::some    <T as a::Keep>::some        implemented for a type parameter
//! ```

use super::qualify::{crate_of, is_identifier};
use super::scan::{closing_angle, find_outside};

/// Returns whether two normalised names are equal, or one is what a build with less
/// information has in place of the other.
pub fn may_be_one(one: &str, other: &str) -> bool {
    one == other || is_less_of(one, other) || is_less_of(other, one)
}

/// Returns whether a build with less information may have `less` for `full`.
fn is_less_of(less: &str, full: &str) -> bool {
    let ((less, name), (full, last)) = (split(less), split(full));
    if name != last {
        return false;
    }
    match (less, of_trait(full)) {
        // A name without a path, from sources whose crate is not known.
        ("", _) => !full.is_empty(),
        (less, None) => segments(full).starts_with(&segments(less)),
        (less, Some((implementor, implemented))) => match of_trait(less) {
            Some((parameter, same)) => same == implemented && is_identifier(parameter),
            None => less == implemented || is_file_of(less, implementor, &implemented),
        },
    }
}

/// Splits `a::B::f` into `a::B` and `f`.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once("::") {
        Some((path, last)) if !last.contains('>') => (path, last),
        _ => ("", name),
    }
}

/// Splits `<a::B as c::D>::f` into `a::B` and `c::D::f`.
fn of_trait(path: &str) -> Option<(&str, String)> {
    let close = closing_angle(path, 0).filter(|_| path.starts_with('<'))?;
    let inner = &path[1..close];
    let (implementor, implemented) = inner.split_at(find_outside(inner, " as ")?);
    Some((
        implementor,
        format!("{}{}", &implemented[" as ".len()..], &path[close + 1..]),
    ))
}

/// Returns the modules and types of a path. Line tables have `{{impl}}` (with a number) for an
/// impl, which is left out.
fn segments(path: &str) -> Vec<&str> {
    let segments = path.split("::");
    segments.filter(|segment| *segment != "{{impl}}").collect()
}

/// Returns whether a path is only modules, of a crate that may have this implementation.
fn is_file_of(modules: &str, implementor: &str, implemented: &str) -> bool {
    let krate = modules.split("::").next();
    let is_module = |segment: &str| !segment.starts_with(|char: char| char.is_uppercase());
    segments(modules).into_iter().all(is_module)
        && [implementor, implemented]
            .into_iter()
            .any(|path| krate.is_some() && crate_of(path) == krate)
}

#[cfg(test)]
mod tests {
    use super::may_be_one;

    /// Checks names that are separated by spaces. In each name, `_as_` stands for ` as `.
    #[track_caller]
    fn check(full: &str, may: &str, may_not: &str) {
        for (names, expected) in [(may, true), (may_not, false)] {
            for name in names.split(' ').map(|name| name.replace("_as_", " as ")) {
                assert_eq!(may_be_one(full, &name), expected, "`{full}` and `{name}`");
                assert_eq!(may_be_one(&name, full), expected, "`{name}` and `{full}`");
            }
        }
    }

    #[test]
    fn by_the_file_and_of_a_trait() {
        check(
            "a::b::Board::lay",
            "a::b::Board::lay a::b::lay a::lay lay",
            "a::b::Board::put a::c::lay b::lay a::b::Board a ",
        );
        check(
            "a::serve::{{closure}}",
            "a::{{closure}} {{closure}} a::{{impl}}::{{closure}}",
            "a::serve a::read::{{closure}} b::{{closure}}",
        );
        check(
            "<a::b::Hole as c::d::Keep>::keep",
            "a::keep a::x::keep c::keep keep c::d::Keep::keep <T_as_c::d::Keep>::keep",
            "d::keep a::b::Hole::keep c::d::Other::keep <a::b::Drawer_as_c::d::Keep>::keep \
             <T_as_c::d::Keep>::put <T_as_c::Keep>::keep",
        );
        check(
            "<a::B as a::C>::f::{{closure}}",
            "a::{{closure}} <T_as_a::C>::f::{{closure}} a::C::f::{{closure}}",
            "<T_as_a::C>::g::{{closure}} a::C::g::{{closure}}",
        );
    }

    #[test]
    fn names_that_are_none() {
        for name in ["", "<", "<a", "<a as ", "a::<", "::", "<a as b", "é<>::x"] {
            may_be_one(name, "<a::B as a::C>::f");
            may_be_one(name, "f");
            assert!(may_be_one(name, name));
        }
    }
}
