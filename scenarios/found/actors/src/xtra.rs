//! An actor (`xtra`) that waits for something else, and would handle messages meanwhile.
//!
//! Kept: a place in the queue of receivers that wait, for each `select` or `join` that ended
//! without a message. A `ReceiveFuture` that is dropped does not leave the queue
//! (`Waiting::drop`). The next message pops such places (`Inner::try_fulfill_receiver`).

use std::future::ready;
use std::ops::ControlFlow;

use plimsoll::Scenario;
use tokio::runtime::Runtime;
use xtra::prelude::*;

#[derive(xtra::Actor)]
struct Clock;

struct Adjust;

impl Handler<Adjust> for Clock {
    type Return = ();

    async fn handle(&mut self, _: Adjust, _: &mut Context<Self>) {}
}

pub struct Loop {
    runtime: Runtime,
    address: Address<Clock>,
    mailbox: Mailbox<Clock>,
    clock: Clock,
}

pub fn setup() -> Loop {
    let (address, mailbox) = Mailbox::unbounded();
    Loop {
        runtime: super::runtime(),
        address,
        mailbox,
        clock: Clock,
    }
}

/// One turn of the actor's loop: it is time, and there is no message.
pub fn tick(state: &mut Loop, i: u64) {
    let ticked = xtra::join(&state.mailbox, &mut state.clock, ready(i));
    assert_eq!(state.runtime.block_on(ticked), i);
}

/// There is a message in every hundredth turn.
pub fn tick_and_adjust(state: &mut Loop, i: u64) {
    tick(state, i);
    if i % 100 == 99 {
        state.runtime.block_on(async {
            let adjusted = state.address.send(Adjust).detach().await.expect("it runs");
            let flow = xtra::yield_once(&state.mailbox, &mut state.clock).await;
            assert_eq!(flow, ControlFlow::Continue(()));
            assert_eq!(adjusted.await, Ok(()));
        });
    }
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("xtra_join", setup, tick),
        Scenario::with_state("xtra_join_and_messages", setup, tick_and_adjust),
    ]
}
