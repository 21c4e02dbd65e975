//! How fast a ladder is climbed, and how long one would take.

use std::time::Duration;

use plimsoll_core::ladder::RUNGS_PER_OCTAVE;

/// How long iterations and what is between them take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    /// Seconds an iteration, of the last rungs.
    recent: Vec<f64>,
    between: Duration,
    /// Iterations so far, and the time that they took with all their dumps.
    done: u64,
    elapsed: Duration,
}

impl Pace {
    pub(crate) fn reached(&mut self, done: u64, elapsed: Duration) {
        self.done = done;
        self.elapsed = elapsed;
    }

    pub(crate) fn note(&mut self, iterations: u64, ran: Duration, between: Duration) {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        self.recent.push(ran.as_secs_f64() / iterations as f64);
        if self.recent.len() > RUNGS_PER_OCTAVE {
            self.recent.remove(0);
        }
        self.between = between;
    }

    /// How long a ladder of so many iterations takes, if they go on as fast as the fastest
    /// of the last octave.
    pub(crate) fn until(&self, iterations: u64) -> Option<Duration> {
        let fastest = self.recent.iter().copied().reduce(f64::min)?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = fastest * iterations.saturating_sub(self.done) as f64;
        let ahead = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(self.elapsed.saturating_add(ahead))
    }

    /// How long the next rung will take: the slowest pace of the last octave.
    pub(crate) fn predict(&self, iterations: u64) -> Duration {
        let slowest = self.recent.iter().copied().fold(0.0, f64::max);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let seconds = slowest * iterations as f64;
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(Duration::MAX)
            .saturating_add(self.between)
    }
}
