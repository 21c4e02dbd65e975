//! The environment variables that GitHub Actions sets for a job.

use std::env;
use std::fmt;
use std::path::PathBuf;

/// The values of the variables. An empty variable counts as absent.
#[derive(Debug, Default)]
pub struct Environment {
    /// Whether a runner reads commands from standard output.
    pub actions: bool,
    pub api_url: Option<String>,
    pub server_url: Option<String>,
    pub repository: Option<String>,
    pub event_name: Option<String>,
    pub event_path: Option<PathBuf>,
    pub run_id: Option<u64>,
    pub run_attempt: Option<u64>,
    pub sha: Option<String>,
    pub step_summary: Option<PathBuf>,
    pub workspace: Option<PathBuf>,
    pub token: Option<Token>,
}

impl Environment {
    pub fn of_this_process() -> Self {
        let path = |name: &str| {
            let value = env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        Environment {
            actions: text("GITHUB_ACTIONS").is_some_and(|value| value == "true"),
            api_url: text("GITHUB_API_URL"),
            server_url: text("GITHUB_SERVER_URL"),
            repository: text("GITHUB_REPOSITORY"),
            event_name: text("GITHUB_EVENT_NAME"),
            event_path: path("GITHUB_EVENT_PATH"),
            run_id: number("GITHUB_RUN_ID"),
            run_attempt: number("GITHUB_RUN_ATTEMPT"),
            sha: text("GITHUB_SHA"),
            step_summary: path("GITHUB_STEP_SUMMARY"),
            workspace: path("GITHUB_WORKSPACE"),
            token: text("GITHUB_TOKEN")
                .map(|token| Token(token.trim().to_owned()))
                .filter(|token| !token.0.is_empty()),
        }
    }
}

fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str) -> Option<u64> {
    text(name)?.parse().ok()
}

/// The token, which is the only secret. Nothing prints it, not even a failing test.
pub struct Token(String);

impl Token {
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Returns whether the token can stand in a header.
    pub fn is_plain(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }

    /// Replaces the token in a text that may have echoed it.
    pub(crate) fn scrub(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "***"),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_printed_by_nobody() {
        let token = |text: &str| Token(text.to_owned());
        assert_eq!(format!("{:?}", token("ghs_1")), "Token(***)");
        let scrubbed = token("ghs_1").scrub("Bearer ghs_1, ghs_1");
        assert_eq!(scrubbed, "Bearer ***, ***");
        assert_eq!(token("").scrub("text"), "text");
        assert!(token("ghs_1").is_plain());
        for text in ["ghs_1\nghs_2", "ghs 1", "ghs_\u{fc}"] {
            assert!(!token(text).is_plain(), "{text}");
        }
    }
}
