use url::Url;

/// Values of a query that are no secrets: those that the servers of `--from` take.
const HARMLESS: [&str; 4] = ["seconds", "debug", "output", "jeprof"];

/// Whether a profile is named by an address, not by a path.
pub(crate) fn is_address(text: &str) -> bool {
    let starts_with = |scheme: &str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts_with("http://") || starts_with("https://")
}

/// An address that was given. The text itself is not in the error: there may be a
/// password in it.
pub(crate) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|err| format!("expected an address, found that: {err}"))?;
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(_)) => Ok(url),
        _ => Err("expected an address of http or https, with a host".to_owned()),
    }
}

/// To be shown: without the user, the password and what a query may have of secrets.
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
            // It may be the secret itself.
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
