use url::Url;

/// The query parameters whose values are shown, because they are not secrets. The servers of
/// `--from` take them.
const HARMLESS: [&str; 4] = ["seconds", "debug", "output", "jeprof"];

/// Tells whether a profile is named by an address and not by a path.
pub(crate) fn is_address(text: &str) -> bool {
    let starts_with = |scheme: &str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts_with("http://") || starts_with("https://")
}

/// Parses an address. The text is not part of the error, because it may contain a password.
pub(crate) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|err| format!("expected an address, found that: {err}"))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(_)) => Ok(url),
        _ => Err("expected an address of http or https, with a host".to_owned()),
    }
}

/// Returns an address that can be shown: without the user, the password, and query values that
/// may be secrets.
pub(crate) fn cleaned(url: &Url) -> String {
    let mut shown = url.clone();
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_fragment(None);
    shown.set_query(None);
    let mut text = shown.to_string();
    let pairs = url.query().unwrap_or_default().split('&');
    for (number, pair) in pairs.filter(|pair| !pair.is_empty()).enumerate() {
        text.push(if number == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if HARMLESS.contains(&name) => text.push_str(pair),
            Some((name, _)) => text.push_str(&format!("{name}=…")),
            // A query without a name may be the secret itself.
            None => text.push('…'),
        }
    }
    plimsoll_desk::out::safe_line(&text)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(url) => cleaned(&url),
            Err(err) => format!("error: {err}"),
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_snapshot!(
            shown("http://user:pass@host:80/a?seconds=0&token=abc&def#ghi"),
            @"http://host/a?seconds=0&token=…&…"
        );
        assert_snapshot!(shown("https://token@host"), @"https://host/");
        assert!(!shown("http://user:pass@host:99999/").contains("pass"));
        assert!(!shown("ftp://user:pass@host/").contains("pass"));
    }

    #[test]
    fn addresses_are_told_from_paths() {
        assert!(is_address("HTTP://host"));
        assert!(is_address("https://host"));
        assert!(!is_address("http"));
        assert!(!is_address("./http://host"));
        assert!(!is_address("jeprof.1.0.f.heap"));
    }
}
