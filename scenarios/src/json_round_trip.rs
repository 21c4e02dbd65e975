//! An order that is written to JSON and read again (`serde_json`), with and without its type.
//!
//! What could leak: very little, on purpose. Everything that is allocated belongs to the
//! values, so this scenario shows whether the harness sees growth where there is none. Input
//! that ends in the middle takes the path on which half-built values are dropped.
//!
//! Healthy: nothing lives longer than its iteration.

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use serde::{Deserialize, Serialize};

use crate::random::random;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    customer: String,
    lines: Vec<Line>,
    note: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    article: String,
    pieces: u32,
    price: f64,
}

/// Writes an order, reads it with and without its type, and fails to read half of it.
pub fn json_round_trip() -> Scenario {
    Scenario::new("json_round_trip", || {
        |i: u64| -> anyhow::Result<()> {
            let order = order(i);
            let text = serde_json::to_string(&order).context("an order is not written")?;
            let read: Order = serde_json::from_str(&text).context("an order is not read")?;
            ensure!(read == order, "another order was read");
            let value: serde_json::Value = serde_json::from_str(&text)?;
            ensure!(value["id"] == i, "another order was read without its type");
            let half: Result<Order, _> = serde_json::from_slice(&text.as_bytes()[..text.len() / 2]);
            ensure!(half.is_err(), "half an order was read");
            Ok(())
        }
    })
}

fn order(i: u64) -> Order {
    let [pieces, lines, note, ..] = random(i).to_le_bytes();
    let line = || Line {
        article: "Pümpel".to_owned(),
        pieces: pieces.into(),
        price: 0.25,
    };
    Order {
        id: i,
        customer: format!("c{}", i % 100),
        lines: (0..=lines % 2).map(|_| line()).collect(),
        note: note
            .is_multiple_of(2)
            .then(|| "quote \" and \n line".to_owned()),
    }
}
