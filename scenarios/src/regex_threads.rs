//! One regular expression (`regex`) that several threads search with.
//!
//! What could leak: a search needs scratch space, among it the states of a lazy
//! automaton that are built as the text demands. It comes from a pool: one for
//! the thread that came first, stacks of them for the others. A pool that takes
//! but does not give back, or gives each new thread its own, grows.
//!
//! Healthy: three threads live for the whole run. Scratch spaces are as many as
//! threads have met, which takes chance some time; automaton states come from
//! 64 lines and are all built early.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use regex::Regex;

use crate::random::random;

/// A thread with its own queue of line numbers and of what it found in them.
struct Searcher {
    lines: SyncSender<u64>,
    hosts: Receiver<Option<usize>>,
}

/// Every thread searches a line of a log at the same time.
pub fn regex_threads() -> Scenario {
    Scenario::new("regex_threads", || {
        let pattern = Regex::new(
            r"(?x) ^ (?<ip> [0-9]{1,3} (?: \.[0-9]{1,3} ){3}) \s
              (?: GET | POST ) \s /(?<path> [a-z0-9/]* ) (?: \?[^\ ]* )? \s (?<ms> [0-9]+ ) ms $",
        )
        .expect("the pattern is valid");
        let searchers: [Searcher; 3] = std::array::from_fn(|_| searcher(pattern.clone()));
        move |i: u64| -> anyhow::Result<()> {
            for searcher in &searchers {
                searcher.lines.send(i).context("a searcher is gone")?;
            }
            for searcher in &searchers {
                let path = searcher.hosts.recv().context("a searcher is gone")?;
                ensure!(path.is_some(), "no match in line {i}");
            }
            Ok(())
        }
    })
}

fn searcher(pattern: Regex) -> Searcher {
    let (lines, todo) = sync_channel(1);
    let (found, hosts) = sync_channel(1);
    thread::spawn(move || {
        for i in todo {
            let line = line(i);
            let path = pattern.captures(&line).map(|groups| groups["path"].len());
            if found.send(path).is_err() {
                return;
            }
        }
    });
    Searcher { lines, hosts }
}

/// One of 64 lines.
fn line(i: u64) -> String {
    let number = random(i % 64);
    let [a, b, c, d, ..] = number.to_le_bytes();
    let verb = if a.is_multiple_of(2) { "GET" } else { "POST" };
    format!("{a}.{b}.{c}.{d} {verb} /item/{b:x}?q={c} {d}ms")
}
