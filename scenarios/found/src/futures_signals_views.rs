//! Views that come and go, and watch a setting (`futures-signals`) as long as they live.
//!
//! Kept: a weak pointer to each signal, and with it the signal's memory. They leave when the
//! setting is set (`MutableLockState::notify`), but for the room of their list, and this setting
//! is not set.

use futures_signals::signal::{Mutable, SignalExt};
use futures_util::FutureExt;
use plimsoll::Scenario;

fn setup() -> Mutable<u64> {
    Mutable::new(0)
}

/// A view that draws itself once, and is closed.
fn view(setting: &mut Mutable<u64>, _i: u64) {
    let mut drawn = 0;
    let view = setting.signal().for_each(|_| {
        drawn += 1;
        std::future::ready(())
    });
    assert!(view.now_or_never().is_none(), "the setting is still there");
    assert_eq!(drawn, 1);
}

fn view_and_touch(setting: &mut Mutable<u64>, i: u64) {
    view(setting, i);
    if i.is_multiple_of(100) {
        setting.set(setting.get());
    }
}

/// A setting that is never set.
fn futures_signals_views() -> Scenario {
    Scenario::with_state("futures_signals_views", setup, view)
}

/// The same value is set now and then.
fn futures_signals_views_touched() -> Scenario {
    Scenario::with_state("futures_signals_views_touched", setup, view_and_touch)
}

pub fn scenarios() -> [Scenario; 2] {
    [futures_signals_views(), futures_signals_views_touched()]
}
