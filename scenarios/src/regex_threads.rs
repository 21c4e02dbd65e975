//! One regular expression (`regex`) with which several threads search.
//!
//! What could leak: a search needs scratch space, for example the states of a lazy automaton,
//! which are built as the text demands. The scratch space comes from a pool: one for the first
//! thread, and stacks of them for the others. A pool would grow if searches did not give it
//! back, or if each new thread got its own.
//!
//! Healthy: three threads live for the whole run. There are as many scratch spaces as threads
//! have searched at once, and it takes some time until chance has brought all threads
//! together. Automaton states come from 64 lines and are all built early.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use regex::Regex;

use crate::random::random;

/// A thread, with a queue of line numbers for it and a queue of what it found in the lines.
struct Searcher {
    lines: SyncSender<u64>,
    hosts: Receiver<Option<usize>>,
}

/// All threads search one line of a log at the same time.
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

/// Returns one of 64 lines.
fn line(i: u64) -> String {
    let number = random(i % 64);
    let [a, b, c, d, ..] = number.to_le_bytes();
    let verb = if a.is_multiple_of(2) { "GET" } else { "POST" };
    format!("{a}.{b}.{c}.{d} {verb} /item/{b:x}?q={c} {d}ms")
}
