/// Returns whether a name matches a pattern: `*` matches any text, `?` one character, and any
/// other character itself.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut read) = (0, 0);
    // The position of the last `*`, and the end of the text that it matches so far.
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(char) if *char == '?' || *char == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else {
                    return false;
                };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|char| *char == '*')
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
