//! Measures how fast a ladder is climbed, and predicts how long one would take.

use std::time::Duration;

use plimsoll_core::ladder::RUNGS_PER_OCTAVE;
use plimsoll_core::to_f64;

/// How long a number of iterations took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    pub(crate) all: Duration,
    /// The part of this time for which the workload waited for a processor that other processes
    /// used.
    pub(crate) waited: Duration,
}

impl Took {
    pub(crate) fn ran(&self) -> Duration {
        self.all.saturating_sub(self.waited)
    }
}

/// How long iterations take, and the dumps between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Seconds per iteration at the rungs of the last octave: in total, and without waiting for
    /// a processor.
    recent: Vec<(f64, f64)>,
    between: Duration,
    /// Iterations so far, and the time that they and all their dumps took, without waiting for
    /// a processor.
    done: u64,
    elapsed: Duration,
}

impl Pace {
    pub(crate) fn reached(&mut self, done: u64, elapsed: Duration) {
        self.done = done;
        self.elapsed = elapsed;
    }

    pub(crate) fn note(&mut self, iterations: u64, took: Took) {
        let each = |time: Duration| time.as_secs_f64() / to_f64(iterations);
        self.recent.push((each(took.all), each(took.ran())));
        if self.recent.len() > RUNGS_PER_OCTAVE {
            self.recent.remove(0);
        }
    }

    pub(crate) fn rested(&mut self, between: Duration) {
        self.between = between;
    }

    /// Predicts how long a ladder of this many iterations takes if no other process needs the
    /// processor, and if the rest is as fast as the fastest rung of the last octave.
    pub(crate) fn until(&self, iterations: u64) -> Option<Duration> {
        let paces = self.recent.iter().map(|(_, ran)| *ran);
        let fastest = paces.reduce(f64::min)?;
        let seconds = fastest * to_f64(iterations.saturating_sub(self.done));
        let ahead = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(self.elapsed.saturating_add(ahead))
    }

    /// Predicts how long the next rung will take, at the slowest pace of the last octave.
    pub(crate) fn predict(&self, iterations: u64) -> Duration {
        let paces = self.recent.iter().map(|(all, _)| *all);
        let slowest = paces.fold(0.0, f64::max);
        let seconds = slowest * to_f64(iterations);
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(Duration::MAX)
            .saturating_add(self.between)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_took_is_no_reason_to_give_up() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::default();
        assert_eq!(pace.until(100), None);
        let took = |all, waited| Took {
            all: seconds(all),
            waited: seconds(waited),
        };
        pace.note(10, took(100, 90));
        pace.reached(10, seconds(12));
        pace.rested(seconds(2));
        assert_eq!(pace.until(20), Some(seconds(22)));
        // The prediction for the next rung includes waiting.
        assert_eq!(pace.predict(10), seconds(102));
    }
}
