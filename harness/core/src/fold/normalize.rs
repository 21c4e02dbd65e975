//! Normalises names, so that they survive a rebuild, a new compiler and another mangling.

use std::borrow::Cow;

use super::UNKNOWN;
use super::scan::{closing_angle, find_outside, outside};

/// One step from a name to its stable form. Most rules leave most names as they are, and copy
/// nothing then.
type Rule = fn(&str) -> Cow<'_, str>;

/// The rules, in order. They are applied to measured stacks, and to a baseline as it is read,
/// so that a new rule never turns an old baseline red.
const RULES: &[Rule] = &[
    strip_compiler_suffixes, // foo.llvm.123, foo.part.0, foo.cold, foo@@GLIBC_2.2.5 → foo
    strip_module_offset,     // libfoo.so.6+0x1234 → libfoo.so.6
    strip_hash,              // foo::bar::h0123456789abcdef → foo::bar
    strip_disambiguators,    // foo[1a2b3c]::bar → foo::bar
    collapse_braces,         // {closure#3}, {async_fn_env#0}, closure$0 → {{closure}}
    simplify_path, // <a::B<T> as c::D<U>>::f::<V>, x::<impl c::D for a::B>::f → <a::B as c::D>::f
    escape_separators, // `;` and control characters
                   // New rules go here, at the end, with the symbol that made them necessary.
];

/// The most rounds of all rules until a name no longer changes. One round is enough for every
/// name that a compiler writes.
const ROUNDS: usize = 4;

/// Returns a function's name without what changes from build to build.
///
/// Rust names lose the hash, crate disambiguators, generic arguments and the numbers of
/// closures. A type that a trait is implemented for keeps its path. A tuple, slice, array,
/// pointer or reference keeps its shape, because legacy mangling has `(A,B)` where v0 has
/// `(u8, u16)`. Names in C and C++ only lose the suffixes that compilers and linkers add. An
/// address that was not resolved keeps its module.
///
/// Two kinds of names stay different, because nothing in a name tells that they are equal:
///
/// - a method that a trait provides: `a::Trait::f` in legacy mangling, `<a::B as a::Trait>::f`
///   in v0;
/// - an implementation for a type parameter: `<T as a::Trait>::f` and `<a::B as a::Trait>::f`.
///
/// Normalising a name twice gives the same as once. A text that still changes after several
/// rounds is no name, and stays as it is.
///
/// ```
/// # use plimsoll_core::fold::normalize_frame;
/// assert_eq!(normalize_frame("<alloc::vec::Vec<u8>>::push"), "alloc::vec::Vec::push");
/// assert_eq!(normalize_frame("alloc::vec::Vec<T,A>::push"), "alloc::vec::Vec::push");
/// ```
pub fn normalize_frame(name: &str) -> String {
    let mut settled = Cow::Borrowed(name);
    for _ in 0..ROUNDS {
        let next = RULES.iter().fold(settled.clone(), apply);
        if next == settled {
            return settled.into_owned();
        }
        settled = next;
    }
    name.to_owned()
}

fn apply<'a>(name: Cow<'a, str>, rule: &Rule) -> Cow<'a, str> {
    match name {
        Cow::Borrowed(name) => rule(name),
        Cow::Owned(name) => {
            let next = Some(rule(&name)).filter(|next| *next != name);
            let next = next.map(Cow::into_owned);
            Cow::Owned(next.unwrap_or(name))
        }
    }
}

/// Returns whether a name follows C++'s grammar. In C++, arguments are part of the name.
fn is_cpp(name: &str) -> bool {
    let operator = name.match_indices("operator").any(|(at, word)| {
        let before = name[..at].chars().next_back();
        let after = name[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && after.is_some_and(|char| !is_word(char) && char != ':')
    });
    operator || outside(name).any(|(_, byte)| byte == b'(')
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

/// Suffixes that compilers append to a function's name when they split or copy it. Each may be
/// followed by a number.
const SUFFIXES: [&str; 8] = [
    "part",
    "isra",
    "constprop",
    "cold",
    "llvm",
    "lto_priv",
    "localalias",
    "warm",
];

fn strip_compiler_suffixes(name: &str) -> Cow<'_, str> {
    let mut name = name.trim();
    // The version goes first, because `GLIBC_2.2.5` contains dots.
    if let Some((function, version)) = name.split_once('@') {
        let version = version.trim_start_matches('@');
        let is_version = version.bytes().all(is_version_byte);
        if is_version && !function.is_empty() && !version.is_empty() {
            name = function;
        }
    }
    while let Some(shorter) = without_suffix(name) {
        name = shorter;
    }
    name.into()
}

fn is_version_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.'
}

/// Returns `foo` for `foo.part.0` and `foo.cold`.
fn without_suffix(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once('.')?;
    if SUFFIXES.contains(&last) {
        return Some(rest).filter(|rest| !rest.is_empty());
    }
    let (rest, word) = rest.rsplit_once('.')?;
    let numbered = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (numbered && SUFFIXES.contains(&word) && !rest.is_empty()).then_some(rest)
}

/// Returns whether a name is that of an address for which no function was found.
pub(super) fn is_unresolved(name: &str) -> bool {
    strip_module_offset(name) != name
}

fn strip_module_offset(name: &str) -> Cow<'_, str> {
    let is_hex =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if name.strip_prefix("0x").is_some_and(is_hex) {
        return UNKNOWN.into();
    }
    match name.rsplit_once("+0x") {
        Some((module, offset)) if is_hex(offset) && !module.is_empty() => module.into(),
        _ => name.into(),
    }
}

fn strip_hash(name: &str) -> Cow<'_, str> {
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name.rsplit_once("::h") {
        Some((path, hash)) if is_hash(hash) && !path.is_empty() => path.into(),
        _ => name.into(),
    }
}

/// Removes brackets that follow a name directly. `[u8]` follows a space or a bracket, and
/// stays.
fn strip_disambiguators(name: &str) -> Cow<'_, str> {
    if !name.contains('[') {
        return name.into();
    }
    let mut stripped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let (before, bracket) = rest.split_at(open);
        stripped.push_str(before);
        let after_name = stripped.chars().next_back().is_some_and(is_word);
        // The disambiguator of a crate has 64 bits.
        let length = bracket[1..]
            .bytes()
            .take(17)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        let closed = bracket[1 + length..].starts_with(']');
        if after_name && closed && (1..=16).contains(&length) {
            rest = &bracket[length + 2..];
        } else {
            stripped.push('[');
            rest = &bracket[1..];
        }
    }
    (stripped + rest).into()
}

/// The compilers' words for a function without a name, and the word that replaces each.
const ANONYMOUS: [(&str, &str); 14] = [
    ("async_block", "{{closure}}"),
    ("async_block_env", "{{closure}}"),
    ("async_closure", "{{closure}}"),
    ("async_closure_env", "{{closure}}"),
    ("async_fn", "{{closure}}"),
    ("async_fn_env", "{{closure}}"),
    ("async_gen_fn_env", "{{closure}}"),
    ("closure", "{{closure}}"),
    ("closure_env", "{{closure}}"),
    ("coroutine", "{{closure}}"),
    ("coroutine_env", "{{closure}}"),
    ("gen_block_env", "{{closure}}"),
    ("gen_fn_env", "{{closure}}"),
    ("impl", "{{impl}}"),
];

fn collapse_braces(name: &str) -> Cow<'_, str> {
    if !name.contains(['{', '$']) || is_cpp(name) {
        return name.into();
    }
    let mut collapsed = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find(['{', '$']) {
        let (before, special) = rest.split_at(open);
        collapsed.push_str(before);
        rest = match special.strip_prefix('$') {
            Some(number) => collapse_dollar(&mut collapsed, number),
            None => collapse_brace(&mut collapsed, special),
        };
    }
    (collapsed + rest).into()
}

/// Collapses `{closure#0}`, `{{closure}}`, `{shim:vtable#0}` or `{{vtable.shim}}` at the start
/// of a text. Returns what follows.
fn collapse_brace<'a>(collapsed: &mut String, text: &'a str) -> &'a str {
    let inner = text.trim_start_matches('{');
    let braces = text.len() - inner.len();
    let end = inner
        .find(|char| !is_word(char) && !"#:.".contains(char))
        .unwrap_or(inner.len());
    let (word, after) = inner.split_at(end);
    let closes = "}}".get(..braces).filter(|close| after.starts_with(close));
    let (Some(close), false) = (closes, word.is_empty()) else {
        collapsed.push_str(&text[..braces]);
        return inner;
    };
    let mut after = &after[close.len()..];
    if word.starts_with("shim:") || word == "vtable.shim" {
        let length = collapsed.trim_end_matches("::").len();
        collapsed.truncate(length);
        return after;
    }
    let kind = word.split_once('#').map_or(word, |(kind, _)| kind);
    match ANONYMOUS.iter().find(|(theirs, _)| *theirs == kind) {
        Some((_, ours)) => collapsed.push_str(ours),
        None => *collapsed += &format!("{{{{{kind}}}}}"),
    }
    if let Some(number) = after.strip_prefix('#')
        && number.starts_with(|char: char| char.is_ascii_digit())
    {
        after = number.trim_start_matches(|char: char| char.is_ascii_digit());
    }
    after
}

/// Collapses `closure_env$0`, a form for Windows' debuggers. The word before the `$` is
/// already in `collapsed`. Returns what follows.
fn collapse_dollar<'a>(collapsed: &mut String, number: &'a str) -> &'a str {
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let word = ANONYMOUS.iter().find_map(|(theirs, ours)| {
        let before = collapsed.strip_suffix(theirs)?;
        (!before.ends_with(is_word)).then_some((before.len(), ours))
    });
    let (Some((start, ours)), 1..) = (word, digits) else {
        collapsed.push('$');
        return number;
    };
    collapsed.truncate(start);
    collapsed.push_str(ours);
    &number[digits..]
}

/// The deepest nesting of types: `<<<a::B as c::D>::E as f::G>::…`. Deeper types become `_`.
const MAX_DEPTH: usize = 16;

fn simplify_path(name: &str) -> Cow<'_, str> {
    if !name.contains('<') || is_cpp(name) {
        name.into()
    } else {
        path(name, MAX_DEPTH).into()
    }
}

/// Cuts generic arguments, and gives an impl the same spelling for both manglings.
fn path(text: &str, depth: usize) -> String {
    let mut simple = String::with_capacity(text.len());
    let mut position = 0;
    while let Some(offset) = text[position..].find('<') {
        let open = position + offset;
        let Some(close) = closing_angle(text, open) else {
            break;
        };
        simple.push_str(&text[position..open]);
        let inner = &text[open + 1..close];
        let turbofish = simple.ends_with("::");
        if simple.is_empty() {
            simple = qualified(inner, depth);
        } else if let (true, Some(implementation)) = (turbofish, inner.strip_prefix("impl ")) {
            simple = match find_outside(implementation, " for ") {
                Some(at) => qualified_as(&implementation[at + 5..], &implementation[..at], depth),
                None => inherent(implementation, depth),
            };
        } else if turbofish {
            simple.truncate(simple.len() - 2);
        }
        position = close + 1;
    }
    simple + &text[position..]
}

/// Simplifies what is between the brackets of `<X as T>::f` or `<X>::f`.
fn qualified(inner: &str, depth: usize) -> String {
    match find_outside(inner, " as ") {
        Some(at) => qualified_as(&inner[..at], &inner[at + 4..], depth),
        None => inherent(inner, depth),
    }
}

fn qualified_as(implementor: &str, implemented: &str, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return "_".to_owned();
    };
    format!(
        "<{} as {}>",
        type_of(implementor, depth),
        path(implemented.trim(), depth)
    )
}

/// Returns `a::B` for a type with a path. A type without a path keeps its brackets: `<[_]>`.
fn inherent(implementor: &str, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return "_".to_owned();
    };
    let simple = type_of(implementor, depth);
    if simple.starts_with(|char: char| is_word(char) || char == '{') && !simple.contains(' ') {
        simple
    } else {
        format!("<{simple}>")
    }
}

/// Returns the path of a type, or its shape if it has no path.
fn type_of(text: &str, depth: usize) -> String {
    let text = text.trim();
    if let Some(target) = text.strip_prefix('&') {
        let target = match target.strip_prefix('\'') {
            Some(lifetime) => lifetime.trim_start_matches(is_word).trim_start(),
            None => target,
        };
        let mutable = target.starts_with("mut ");
        return if mutable { "&mut _" } else { "&_" }.to_owned();
    }
    for pointer in ["*const ", "*mut "] {
        if text.starts_with(pointer) {
            return format!("{pointer}_");
        }
    }
    if text.starts_with('[') {
        return "[_]".to_owned();
    }
    let in_brackets = text.strip_prefix('(');
    if let Some(elements) = in_brackets.and_then(|text| text.strip_suffix(')')) {
        return tuple(elements, depth);
    }
    let unbound = without_binder(text);
    let functions = ["fn(", "unsafe fn(", "extern ", "unsafe extern "];
    if functions.iter().any(|start| unbound.starts_with(start)) {
        return "fn".to_owned();
    }
    if let Some(bounds) = unbound.strip_prefix("dyn ") {
        let bounds = without_binder(bounds);
        let principal = find_outside(bounds, "+").map_or(bounds, |plus| &bounds[..plus]);
        return format!("dyn {}", path(principal.trim(), depth));
    }
    path(text, depth)
}

/// Returns a type without its `for<'a>`.
fn without_binder(text: &str) -> &str {
    let binder = text
        .strip_prefix("for")
        .filter(|rest| rest.starts_with('<'));
    match binder.and_then(|rest| Some((rest, closing_angle(rest, 0)?))) {
        Some((rest, close)) => rest[close + 1..].trim_start(),
        None => text,
    }
}

fn tuple(elements: &str, depth: usize) -> String {
    let elements = elements.trim();
    if elements.is_empty() {
        return "()".to_owned();
    }
    let commas = outside(elements).filter(|(_, byte)| *byte == b',').count();
    match (commas, elements.ends_with(',')) {
        // These are brackets around one type: `(dyn a::B + c::D)`.
        (0, _) => match depth.checked_sub(1) {
            Some(depth) => type_of(elements, depth),
            None => "_".to_owned(),
        },
        (1, true) => "(_,)".to_owned(),
        (commas, trailing) => {
            let more = if trailing { commas - 1 } else { commas };
            format!("(_{})", ", _".repeat(more))
        }
    }
}

/// Replaces `;` and control characters. A `;` would end the frame in a folded stack, and a
/// line feed would end the stack.
fn escape_separators(name: &str) -> Cow<'_, str> {
    let is_separator = |char: char| char == ';' || char.is_control();
    if !name.contains(is_separator) {
        return name.into();
    }
    let escaped = name.chars().map(|char| match char {
        ';' => ':',
        char if is_separator(char) => char::REPLACEMENT_CHARACTER,
        char => char,
    });
    Cow::Owned(escaped.collect())
}
