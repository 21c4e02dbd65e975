//! A service of two stages (`tokio`), with bounded queues for requests and a oneshot channel
//! for each reply.
//!
//! What could leak: `mpsc` keeps messages in linked blocks of 32, which are reused or freed
//! when the reader has passed them. Two sides share a `oneshot` and either may go first, so a
//! requester that gives up must not leave the reply behind. Wakers are stored and have to be
//! dropped.
//!
//! Healthy: before the next request, every request is answered, or given up and dropped.

use anyhow::{Context, ensure};
use plimsoll::Scenario;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use crate::random::every;

struct Request {
    text: String,
    reply: oneshot::Sender<String>,
}

/// Sends a request through both stages. Every tenth time, sends another one before it without
/// waiting for its reply.
pub fn tokio_pipeline() -> Scenario {
    Scenario::new("tokio_pipeline", || {
        let runtime: Runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .expect("a tokio runtime with two workers starts");
        let (requests, to_parse) = mpsc::channel(16);
        let (parsed, to_answer) = mpsc::channel(16);
        runtime.spawn(parse(to_parse, parsed));
        runtime.spawn(answer(to_answer));
        move |i: u64| -> anyhow::Result<()> {
            runtime.block_on(async {
                if every(10, i) {
                    // Given up before the answer is there.
                    drop(ask(&requests, i).await?);
                }
                let answer = ask(&requests, i).await?.await.context("no answer")?;
                ensure!(answer.ends_with('!'), "a wrong answer: {answer}");
                Ok(())
            })
        }
    })
}

async fn ask(
    requests: &mpsc::Sender<Request>,
    i: u64,
) -> anyhow::Result<oneshot::Receiver<String>> {
    let (reply, answer) = oneshot::channel();
    let request = Request {
        text: format!("request {i}"),
        reply,
    };
    let sent = requests.send(request).await;
    sent.context("the first stage is gone")?;
    Ok(answer)
}

async fn parse(mut requests: mpsc::Receiver<Request>, parsed: mpsc::Sender<Request>) {
    while let Some(mut request) = requests.recv().await {
        request.text.make_ascii_uppercase();
        if parsed.send(request).await.is_err() {
            return;
        }
    }
}

async fn answer(mut parsed: mpsc::Receiver<Request>) {
    while let Some(Request { mut text, reply }) = parsed.recv().await {
        text.push('!');
        // If the requester has gone, nobody needs the answer.
        drop(reply.send(text));
    }
}
