//! Ages as JSON for programs. docs/show.md and a schema describe it.

use plimsoll_core::ages::{Generation, Span};
use plimsoll_core::blame::Blame;
use plimsoll_core::{Frame, Rate};
use serde_json::{Value, json};

use super::{Ages, Stack};

/// The version of the JSON format.
const VERSION: u64 = 1;

impl Ages<'_> {
    pub(super) fn json(&self) -> String {
        let whole = json!({
            "version": VERSION,
            "plimsoll": env!("CARGO_PKG_VERSION"),
            "kind": "ages",
            "profile": self.name,
            "uptime": { "from": self.youngest.start(), "to": self.youngest.end() },
            "stacks": self.stacks.iter().map(stack).collect::<Vec<Value>>(),
        });
        format!("{whole:#}\n")
    }
}

fn stack(stack: &Stack) -> Value {
    let judged = &stack.judged;
    let births = stack.born.iter().map(|(birth, born)| {
        let mut one = generation(born);
        one["birth"] = json!(birth.number());
        one["from"] = json!(birth.start());
        one["to"] = json!(birth.end());
        one
    });
    let span = |span: &Span| {
        let mut one = generation(&span.born);
        one["from"] = json!(span.start);
        one["to"] = json!(span.end);
        one
    };
    json!({
        "stack": stack.names.iter().rev().collect::<Vec<_>>(),
        "blame": stack.blame.as_ref().map(blame),
        "fate": judged.fate.as_str(),
        "rate": rate(judged.rate),
        "error": rate(judged.error),
        "sureness": judged.sureness,
        "next_uptime": judged.wait,
        "alive": generation(&stack.alive),
        "spans": judged.spans.iter().map(span).collect::<Vec<Value>>(),
        "births": births.collect::<Vec<Value>>(),
    })
}

fn blame(blame: &Blame) -> Value {
    let frame = |frame: &Frame| json!({ "function": frame.function, "file": frame.file, "line": frame.line });
    json!({
        "at": blame.at.as_ref().map(frame),
        "called": blame.called.as_ref().map(frame),
        "caller": blame.caller.as_ref().map(frame),
        "text": blame.words().plain(),
    })
}

fn rate(rate: Rate) -> Value {
    json!({ "objects": rate.objects, "bytes": rate.bytes })
}

fn generation(born: &Generation) -> Value {
    json!({
        "objects": born.alive.objects,
        "bytes": born.alive.bytes,
        "sampled": born.sampled,
        "ever": (born.ever > 0.0).then_some(born.ever),
    })
}
