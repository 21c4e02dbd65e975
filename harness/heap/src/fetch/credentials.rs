//! Credentials for a request: from the address, from the environment, or from netrc. The first of
//! these that has any counts.

use std::env;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;

use super::netrc;
use plimsoll_desk::status::Refused;

const TOKEN: &str = "PLIMSOLL_HTTP_TOKEN";
const USER: &str = "PLIMSOLL_HTTP_USER";
const PASSWORD: &str = "PLIMSOLL_HTTP_PASSWORD";

/// The credentials of a request. They are not `Debug`, so that no message can contain them.
#[derive(Clone)]
pub(crate) struct Credentials {
    header: HeaderValue,
    /// Texts that must not be shown, even if a server repeats them.
    secrets: Vec<String>,
}

impl Credentials {
    /// Returns the credentials for an address from the command line.
    pub(crate) fn of(url: &Url) -> anyhow::Result<Option<Credentials>> {
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = Some(decoded(url.username())).filter(|user| !user.is_empty());
        if let Some(password) = url.password() {
            return basic(user.as_deref().unwrap_or_default(), &decoded(password)).map(Some);
        }
        if user.is_none()
            && let Some(given) = Credentials::of_environment()?
        {
            return Ok(Some(given));
        }
        let host = url.host_str().unwrap_or_default();
        let entry = match netrc_file() {
            Some((path, is_given)) => netrc::entry(&path, is_given, host, user.as_deref())?,
            None => None,
        };
        match (entry, user) {
            (Some(entry), _) => basic(&entry.login, &entry.password).map(Some),
            (None, Some(user)) => basic(&user, "").map(Some),
            (None, None) => Ok(None),
        }
    }

    fn of_environment() -> anyhow::Result<Option<Credentials>> {
        match (variable(TOKEN)?, variable(USER)?, variable(PASSWORD)?) {
            (None, None, None) => Ok(None),
            (Some(token), None, None) => {
                let header = sensitive(&format!("Bearer {token}"))
                    .ok_or_else(|| Refused::usage(format!("{TOKEN}: expected one line of text")))?;
                Ok(Some(Credentials {
                    header,
                    secrets: vec![token],
                }))
            }
            (None, user, password) => {
                basic(&user.unwrap_or_default(), &password.unwrap_or_default()).map(Some)
            }
            (Some(_), ..) => Err(Refused::usage(format!(
                "expected either {TOKEN} or {USER} and {PASSWORD}, found both"
            ))),
        }
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// Replaces secrets in a text of the server.
    pub(super) fn hidden(&self, text: &str) -> String {
        let mut hidden = text.to_owned();
        for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
            hidden = hidden.replace(secret.as_str(), "***");
        }
        hidden
    }
}

fn basic(user: &str, password: &str) -> anyhow::Result<Credentials> {
    let encoded = STANDARD.encode(format!("{user}:{password}"));
    let header = sensitive(&format!("Basic {encoded}"))
        .ok_or_else(|| Refused::usage("expected a user and a password of text"))?;
    Ok(Credentials {
        header,
        secrets: vec![encoded, password.to_owned()],
    })
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::from_str(text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns a variable without surrounding white space: a value that was read from a file may
/// end in a line feed.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    let value = env::var_os(name).unwrap_or_default().into_string();
    let value = value.map_err(|_| {
        Refused::usage(format!(
            "{name}: expected text, found bytes that are not UTF-8"
        ))
    })?;
    let value = value.trim();
    Ok((!value.is_empty()).then(|| value.to_owned()))
}

/// Returns the path of the netrc file: `NETRC`, or the one in the home folder. Also returns
/// whether `NETRC` names it.
fn netrc_file() -> Option<(PathBuf, bool)> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    match named("NETRC") {
        Some(path) => Some((path.into(), true)),
        None => named("HOME").map(|home| (PathBuf::from(home).join(".netrc"), false)),
    }
}
