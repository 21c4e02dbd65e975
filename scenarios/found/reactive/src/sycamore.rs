//! A page (`sycamore-reactive`): a feed of messages with a row for each, and dialogs, each in a
//! scope of its own.
//!
//! Kept: the id of every scope that was disposed, by the scope in which it was created
//! (`ReactiveNode::children`), until that scope is disposed. `NodeHandle::dispose` takes a node
//! out of the lists of its dependencies and dependents, and leaves it in the list of its parent.
//! `map_keyed` and `map_indexed`, on which the lists of a view are built, create a scope for each
//! new row. `NodeHandle::dispose_children` empties the list of the scope that it is called on.

use plimsoll::Scenario;
use sycamore_reactive::{
    NodeHandle, ReadSignal, RootHandle, Signal, create_child_scope, create_effect, create_memo,
    create_root, create_signal, map_keyed, on_cleanup,
};

/// What lives as long as the page.
pub struct Page {
    root: RootHandle,
    messages: Signal<Vec<u64>>,
    price: Signal<u64>,
    scope: NodeHandle,
    rows: ReadSignal<Vec<u64>>,
}

/// A row for each message.
fn feed(messages: Signal<Vec<u64>>) -> ReadSignal<Vec<u64>> {
    let row = |message| create_memo(move || message * 2).get();
    map_keyed(messages, row, |message| *message)
}

pub fn page() -> Page {
    let mut page = None;
    let root = create_root(|| {
        let (messages, price) = (create_signal((0..100).collect()), create_signal(1));
        let scope = create_child_scope(|| {});
        let rows = scope.run_in(|| feed(messages));
        page = Some((messages, price, scope, rows));
    });
    let (messages, price, scope, rows) = page.expect("the root ran its closure");
    Page {
        root,
        messages,
        price,
        scope,
        rows,
    }
}

/// A message comes, and the oldest of a hundred goes.
pub fn message(page: &mut Page, i: u64) {
    page.root.run_in(|| {
        page.messages.update(|messages| {
            messages.remove(0);
            messages.push(100 + i);
        });
        assert_eq!(page.rows.with(|rows| rows[99]), (100 + i) * 2);
    });
}

pub fn message_renewed(page: &mut Page, i: u64) {
    message(page, i);
    if i.is_multiple_of(64) {
        page.scope.dispose_children();
        page.rows = page.scope.run_in(|| feed(page.messages));
    }
}

/// A dialog opens, follows the price, and is closed.
pub fn dialog(page: &mut Page, i: u64) {
    let price = page.price;
    page.root.run_in(|| {
        let dialog = create_child_scope(|| {
            let twice = create_memo(move || price.get() * 2);
            create_effect(move || assert!(twice.get() > 0));
            on_cleanup(move || assert!(price.get() > 0));
        });
        price.set(i + 1);
        dialog.dispose();
    });
}

/// The price changes, and what depends on it is made anew.
pub fn price(page: &mut Page, i: u64) {
    page.root.run_in(|| page.price.set(i + 1));
}

pub fn page_with_price() -> Page {
    let page = page();
    let price = page.price;
    page.root.run_in(|| {
        create_effect(move || {
            let now = price.get();
            let own = create_signal(now);
            create_effect(move || assert_eq!(own.get(), now));
            on_cleanup(move || assert!(now > 0));
        });
    });
    page
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("sycamore_feed", page, message),
        Scenario::with_state("sycamore_feed_renewed", page, message_renewed),
        Scenario::with_state("sycamore_dialogs", page, dialog),
        Scenario::with_state("sycamore_price", page_with_price, price),
    ]
}
