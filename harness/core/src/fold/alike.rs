//! Whether two names may be one function's, in two builds.
//!
//! ```text
//! shelf::boards::Board::lay     shelf::boards::lay, lay       inlined, named by line tables alone
//! <a::Hole as a::Keep>::keep    a::keep, keep
//! a::serve::{{closure}}         a::{{closure}}, {{closure}}
//! <a::Hole as a::Keep>::some    a::Keep::some                 of the trait's own, in legacy mangling
//! <a::Hole as a::Keep>::some    <T as a::Keep>::some          for a type parameter, as the trait has it
//! ```

use super::qualify::{crate_of, is_identifier};
use super::scan::{closing_angle, find_outside};

/// Whether one of two normalised names is the other, or what a build that knows
/// less has in place of it.
pub(crate) fn may_be_one(one: &str, other: &str) -> bool {
    one == other || is_less_of(one, other) || is_less_of(other, one)
}

/// Whether a build that knows less may have `less` for `full`.
fn is_less_of(less: &str, full: &str) -> bool {
    let ((less, name), (full, last)) = (split(less), split(full));
    if name != last {
        return false;
    }
    match (less, of_trait(full)) {
        // A name without a path, of sources whose crate is not known.
        ("", _) => !full.is_empty(),
        (less, None) => segments(full).starts_with(&segments(less)),
        (less, Some((implementor, implemented))) => match of_trait(less) {
            Some((parameter, same)) => same == implemented && is_identifier(parameter),
            None => less == implemented || is_file_of(less, implementor, &implemented),
        },
    }
}

/// `a::B` and `f` of `a::B::f`.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once("::") {
        Some((path, last)) if !last.contains('>') => (path, last),
        _ => ("", name),
    }
}

/// `a::B` and `c::D::f` of `<a::B as c::D>::f`.
fn of_trait(path: &str) -> Option<(&str, String)> {
    let close = closing_angle(path, 0).filter(|_| path.starts_with('<'))?;
    let inner = &path[1..close];
    let (implementor, implemented) = inner.split_at(find_outside(inner, " as ")?);
    Some((
        implementor,
        format!("{}{}", &implemented[" as ".len()..], &path[close + 1..]),
    ))
}

/// The modules and types of a path. Line tables leave a number where an impl is.
fn segments(path: &str) -> Vec<&str> {
    let segments = path.split("::");
    segments.filter(|segment| *segment != "{{impl}}").collect()
}

/// Whether this is modules alone, of a crate that may implement that.
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

    /// The names in words, with a space between two words of one name written as `_`.
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
