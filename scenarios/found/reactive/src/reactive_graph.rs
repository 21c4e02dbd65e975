//! A page (`reactive_graph`, the signals of Leptos) whose owner lives long: rows and derived
//! values come and go.
//!
//! Kept: the memory of every owner that was dropped, by a weak pointer in the owner in which it
//! was created (`OwnerInner::children`), until that owner is cleaned up. A memo and an effect
//! have an owner each, also the counted ones (`ArcMemo`).
//!
//! Kept too: the memory of every memo and effect that was dropped, by a weak pointer in each
//! signal that it read (`SubscriberSet`), as long as the signal lives. A signal that is set
//! notifies a copy of the set, and what is dropped does not unsubscribe.

use plimsoll::Scenario;
use reactive_graph::computed::ArcMemo;
use reactive_graph::effect::ImmediateEffect;
use reactive_graph::graph::{Subscriber, ToAnySubscriber};
use reactive_graph::owner::{Owner, on_cleanup, provide_context};
use reactive_graph::signal::{ArcRwSignal, RwSignal};
use reactive_graph::traits::{Get, Set};

/// What lives as long as the page.
pub struct Page {
    owner: Owner,
    list: Owner,
    price: ArcRwSignal<u64>,
}

pub fn page() -> Page {
    let owner = Owner::new();
    let list = owner.child();
    Page {
        owner,
        list,
        price: ArcRwSignal::new(1),
    }
}

/// A row of a list comes, and goes.
pub fn row(page: &mut Page, i: u64) {
    let row = page.list.child();
    row.with(|| {
        let own = RwSignal::new(i);
        provide_context(i);
        on_cleanup(move || assert_eq!(own.get(), i));
    });
    drop(row);
}

pub fn row_and_list(page: &mut Page, i: u64) {
    row(page, i);
    if i.is_multiple_of(64) {
        page.list.cleanup();
    }
}

/// The price changes, and for a moment something is derived from it.
fn derive(page: &mut Page, i: u64) -> ArcMemo<u64> {
    page.price.set(i);
    let price = page.price.clone();
    let twice = ArcMemo::new(move |_| price.get() * 2);
    assert_eq!(twice.get(), i * 2);
    twice
}

pub fn derived(page: &mut Page, i: u64) {
    drop(derive(page, i));
}

pub fn derived_unsubscribed(page: &mut Page, i: u64) {
    let twice = derive(page, i);
    let subscriber = twice.to_any_subscriber();
    subscriber.clear_sources(&subscriber);
}

/// An effect that lives, and runs again when the price changes.
pub fn page_with_effect() -> (Page, ImmediateEffect) {
    let page = page();
    let price = page.price.clone();
    let follow = move || {
        let now = price.get();
        let own = RwSignal::new(now);
        on_cleanup(move || assert!(now > 0));
        assert_eq!(own.get(), now);
    };
    let effect = page.owner.with(|| ImmediateEffect::new_isomorphic(follow));
    (page, effect)
}

pub fn price((page, _): &mut (Page, ImmediateEffect), i: u64) {
    page.price.set(i + 1);
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("reactive_graph_rows", page, row),
        Scenario::with_state("reactive_graph_rows_list_cleaned", page, row_and_list),
        Scenario::with_state("reactive_graph_derived", page, derived),
        Scenario::with_state(
            "reactive_graph_derived_unsubscribed",
            page,
            derived_unsubscribed,
        ),
        Scenario::with_state("reactive_graph_price", page_with_effect, price),
    ]
}
