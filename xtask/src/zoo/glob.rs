/// Returns whether a name matches a pattern: `*` matches any text, `?` one character, and any
/// other character itself.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (mut wanted, mut found) = (pattern.chars(), name.chars());
    match (wanted.next(), found.next()) {
        (None, next) => next.is_none(),
        (Some('*'), next) => {
            matches(wanted.as_str(), name) || next.is_some() && matches(pattern, found.as_str())
        }
        (Some(char), next) => {
            next.is_some_and(|next| char == '?' || char == next)
                && matches(wanted.as_str(), found.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("a", "a"),
            ("*", ""),
            ("ctl-*", "ctl-lru-fill"),
            ("*lru*", "ctl-lru-fill"),
            ("*-fill", "ctl-lru-fill"),
            ("c?l*f*", "ctl-lru-fill"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("", "a"), ("*-full", "ctl-fill"), ("?", "")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
