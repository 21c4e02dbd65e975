//! Turns symbols into readable names.

/// Longer names are cut. The longest names of generic, asynchronous Rust have some tens of
/// thousands of bytes. A hostile file can have one symbol as long as itself.
const MAX_BYTES: usize = 1 << 16;

/// Demangles a symbol, without its hash. Returns `None` if the symbol is not mangled, or if
/// this build does not know the kind of mangling.
pub(crate) fn demangle(symbol: &str) -> Option<String> {
    if symbol.len() > MAX_BYTES {
        return None;
    }
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return Some(cut(format!("{name:#}")));
    }
    demangle_cpp(symbol)
}

#[cfg(feature = "cpp")]
fn demangle_cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let name = cpp_demangle::Symbol::new(symbol).ok()?;
    let mut shown = Bounded(String::new());
    let whole = name.structured_demangle(&mut shown, &Default::default());
    // A name that is only too long is cut. Any other error means that it cannot be demangled.
    (whole.is_ok() || shown.0.len() > MAX_BYTES).then(|| cut(shown.0))
}

/// Limits the output: a few bytes that refer to each other can expand to a name of gigabytes.
#[cfg(feature = "cpp")]
struct Bounded(String);

#[cfg(feature = "cpp")]
impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.push_str(text);
        if self.0.len() > MAX_BYTES {
            return Err(std::fmt::Error);
        }
        Ok(())
    }
}

#[cfg(not(feature = "cpp"))]
fn demangle_cpp(_: &str) -> Option<String> {
    None
}

/// Returns the name as it is shown.
pub(crate) fn shown(symbol: &str) -> String {
    demangle(symbol).unwrap_or_else(|| cut(symbol.to_owned()))
}

/// Returns whether this is a linkage name, which says which function it is, and not a bare name
/// like `push`. A C++ name counts even if it stays mangled.
pub(crate) fn is_mangled(symbol: &str) -> bool {
    symbol.starts_with("_Z") || rustc_demangle::try_demangle(symbol).is_ok()
}

fn cut(mut name: String) -> String {
    if name.len() > MAX_BYTES {
        let mut ends = (0..=MAX_BYTES).rev();
        let end = ends.find(|end| name.is_char_boundary(*end));
        name.truncate(end.unwrap_or(0));
        name.push('…');
    }
    name
}

/// Returns whether a demangled name can belong to the function that DWARF calls `bare`.
/// `lru::LruCache<K,V>::put` and `<lru::LruCache<u8>>::put::<u8>` both match `put` and
/// `put<u8>`.
pub(crate) fn is_of(name: &str, bare: &str) -> bool {
    let bare = bare.split('<').next().unwrap_or(bare);
    !bare.is_empty() && last_segment(name) == bare
}

fn last_segment(name: &str) -> &str {
    let mut end = name.len();
    if name.ends_with('>') {
        // Cut `::<u8>` or `<u8>`, back to the bracket that opens it.
        let mut depth = 0_usize;
        for (index, byte) in name.bytes().enumerate().rev() {
            match byte {
                // The arrow of `fn() -> T` is not a closing bracket.
                b'>' if index == 0 || name.as_bytes()[index - 1] != b'-' => depth += 1,
                b'<' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && byte == b'<' {
                end = index;
                break;
            }
        }
    }
    let name = name[..end].trim_end_matches("::");
    name.rfind("::").map_or(name, |at| &name[at + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_lose_their_hash() {
        assert_eq!(shown("_ZN3foo3bar17h05af221e174051e9E"), "foo::bar");
        assert_eq!(
            shown("_ZN3foo3bar17h05af221e174051e9E.llvm.1234"),
            "foo::bar"
        );
        assert_eq!(shown("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
    }

    #[test]
    fn c_names_stay() {
        assert_eq!(shown("malloc"), "malloc");
        assert!(!is_mangled("malloc"));
        assert!(!is_mangled("_start"));
    }

    #[test]
    fn cpp_names() {
        let symbol = "_ZN3foo3barEi";
        assert!(is_mangled(symbol));
        let expected = if cfg!(feature = "cpp") {
            "foo::bar(int)"
        } else {
            symbol
        };
        assert_eq!(shown(symbol), expected);
    }

    /// The name `f(T0, T1, ...)`, in which each type is a pair of the one before.
    #[cfg(feature = "cpp")]
    #[test]
    fn names_that_double() {
        let digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".as_bytes();
        // S_ is `p`, S0_ is `p<int, int>`, and so on.
        let mut types = String::from("1pIiiE");
        for last in digits.iter().take(34) {
            let last = *last as char;
            types.push_str(&format!("S_IS{last}_S{last}_E"));
        }
        let name = shown(&format!("_Z1f{types}"));
        assert!(name.len() <= MAX_BYTES + '…'.len_utf8(), "{}", name.len());
        assert!(
            name.starts_with("f(p<int, int>, p<p<int, int>"),
            "{name:.200}"
        );
    }

    #[test]
    fn long_names_are_cut() {
        let name = shown(&"é".repeat(MAX_BYTES));
        assert_eq!(name.len(), MAX_BYTES + '…'.len_utf8());
    }

    #[test]
    fn last_segments() {
        for (name, last) in [
            ("foo", "foo"),
            ("a::b::foo", "foo"),
            ("<a::B<u8>>::foo::<fn(u8) -> u8>", "foo"),
            ("a::B<K,V>::foo", "foo"),
            ("a::foo::{closure#0}", "{closure#0}"),
            ("a::foo::{{closure}}", "{{closure}}"),
            (">", ">"),
            ("<", "<"),
            ("", ""),
        ] {
            assert_eq!(last_segment(name), last, "{name}");
        }
        assert!(is_of("<a::B<u8>>::foo::<u8>", "foo<u8>"));
        assert!(!is_of("a::foo", "oo"));
        assert!(!is_of("a::foo", ""));
    }
}
