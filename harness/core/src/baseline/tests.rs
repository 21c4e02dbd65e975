//! Reading and writing baselines.

mod laws;
mod read;
mod write;

use insta::assert_snapshot;

use super::*;

/// What is read, one line for each thing, or the error.
#[track_caller]
fn parsed(text: &str) -> String {
    match Baseline::parse(text.as_bytes()) {
        Ok(baseline) => shown(&baseline),
        Err(err) => format!("error: {err}"),
    }
}

fn shown(baseline: &Baseline) -> String {
    let measured = baseline.measured.iter();
    let mut lines: Vec<String> = measured.map(|measured| format!("{measured:?}")).collect();
    for one in &baseline.allowances {
        let Rate { objects, bytes } = one.rate;
        let bytes_law = Some(one.bytes_law).filter(|law| *law != one.law);
        let words = [
            bytes_law.map(|law| format!(" bytes={law}")),
            one.reason
                .as_ref()
                .map(|reason| format!(" reason={reason}")),
            one.issue.as_ref().map(|issue| format!(" issue={issue}")),
            one.expires.map(|date| format!(" expires={date}")),
        ];
        let words: String = words.into_iter().flatten().collect();
        let (subject, law) = (&one.subject, one.law);
        lines.push(format!("{subject} {objects:?} {bytes:?} {law}{words}"));
    }
    lines.join("\n")
}

/// The text of an allowance for a stack, whose frames are a word each.
fn entry(frames: &str) -> String {
    let frames: Vec<String> = frames.split(' ').map(|name| format!("'{name}'")).collect();
    let frames = frames.join(", ");
    format!("[[allow]]\nstack = [{frames}]\nobjects = 1\nbytes = 8\nlaw = 'linear'\n")
}

const THREADS: &str = "[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";

const FULL: &str = r#"
# Agreed on in May.
format = 1 # the first

[measured]
target = "x86_64-unknown-linux-gnu"
profile = "debug"
toolchain = "rustc 1.95.0"
jemalloc = "5.3.0"
sample-interval = 1
iterations = 65536

# The index.
[[allow]]
stack = [
    "...",
    "lru_churn::fill", # ours
    "lru::LruCache::put",
]
objects = 1
bytes = 48.5
law = "linear"
reason = "never pruned"
issue = "https://example.org/7"
expires = 2027-01-31

[[allow]]
resource = "threads"
objects = 0.5
law = "stepped"
expires = "2027-02-28"

# The end.
"#;

fn with(allowances: Vec<Accepted>) -> Acceptance {
    Acceptance {
        allowances,
        ..Acceptance::default()
    }
}

fn folded(frames: &str) -> FoldedStack {
    FoldedStack(frames.split_whitespace().map(str::to_owned).collect())
}

/// One accepted stack, its frames in one word each.
fn accept(frames: &str, objects: f64, bytes: f64) -> Accepted {
    let pattern = StackPattern::exact(&folded(frames));
    accept_for(AllowanceSubject::Stack(pattern), objects, bytes)
}

fn accept_for(subject: AllowanceSubject, objects: f64, bytes: f64) -> Accepted {
    let allowance = Allowance {
        subject,
        rate: Rate { objects, bytes },
        law: Law::Linear,
        bytes_law: Law::Linear,
        reason: None,
        issue: None,
        expires: None,
    };
    Accepted {
        allowance,
        expired: false,
    }
}

fn measured() -> MeasuredWith {
    MeasuredWith {
        per: Per::Iteration,
        test: Some("lru/leaks".to_owned()),
        target: "aarch64-unknown-linux-gnu".to_owned(),
        profile: "release".to_owned(),
        toolchain: "rustc 1.96.0".to_owned(),
        jemalloc: "5.3.1".to_owned(),
        sample_interval: 1,
        iterations: 1024,
    }
}
