//! Progress bars (`indicatif`), one for each job, below one for the whole.
//!
//! Kept: the place of every finished bar. A bar that was dropped leaves at once only if it is
//! the first (`MultiState::mark_zombie`); when bars are drawn, those at the head of the list
//! leave (`MultiState::draw`). The bar for the whole stays at the head.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use plimsoll::Scenario;

struct Jobs {
    bars: MultiProgress,
    whole: ProgressBar,
}

fn setup() -> Jobs {
    // As it is where standard error is no terminal: under CI, or in a service.
    let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
    let whole = bars.add(ProgressBar::new_spinner());
    Jobs { bars, whole }
}

fn job(jobs: &mut Jobs) -> ProgressBar {
    let bar = jobs.bars.add(ProgressBar::new(10));
    bar.inc(10);
    bar.finish_and_clear();
    jobs.whole.inc(1);
    bar
}

fn dropped(jobs: &mut Jobs, _i: u64) {
    drop(job(jobs));
}

fn removed(jobs: &mut Jobs, _i: u64) {
    let bar = job(jobs);
    jobs.bars.remove(&bar);
}

/// Bars that are finished and dropped.
fn indicatif_bars() -> Scenario {
    Scenario::with_state("indicatif_bars", setup, dropped)
}

/// Bars that are removed as well.
fn indicatif_bars_removed() -> Scenario {
    Scenario::with_state("indicatif_bars_removed", setup, removed)
}

pub fn scenarios() -> [Scenario; 2] {
    [indicatif_bars(), indicatif_bars_removed()]
}
