//! Jobs (`clokwerk`) that run once.
//!
//! Kept: every job. One that has run as often as it should stays in the list
//! (`Scheduler::run_pending`), and the scheduler has no method that removes a job.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeZone, Utc};
use clokwerk::timeprovider::TimeProvider;
use clokwerk::{Job, Scheduler, TimeUnits};
use plimsoll::Scenario;

/// A clock that a workload moves on by itself, so that it need not wait.
struct Clock;

static NOW: AtomicI64 = AtomicI64::new(0);

impl TimeProvider for Clock {
    fn now<Tz: TimeZone + Sync + Send>(zone: &Tz) -> DateTime<Tz> {
        DateTime::from_timestamp(NOW.load(Ordering::Relaxed), 0)
            .expect("a time of this era")
            .with_timezone(zone)
    }
}

struct Reminders {
    scheduler: Scheduler<Utc, Clock>,
    ran: Arc<AtomicU64>,
    due: Arc<Mutex<VecDeque<u64>>>,
}

fn setup() -> Reminders {
    Reminders {
        scheduler: Scheduler::with_tz_and_provider(Utc),
        ran: Arc::default(),
        due: Arc::default(),
    }
}

fn setup_one_job() -> Reminders {
    let mut reminders = setup();
    let (ran, due) = (Arc::clone(&reminders.ran), Arc::clone(&reminders.due));
    reminders.scheduler.every(1.minute()).run(move || {
        let due = std::mem::take(&mut *due.lock().expect("no panic"));
        ran.fetch_add(due.len() as u64, Ordering::Relaxed);
    });
    reminders
}

/// A minute passes after every hundred reminders, and all of them have run.
fn pass(reminders: &mut Reminders, i: u64) {
    if i % 100 == 99 {
        NOW.fetch_add(61, Ordering::Relaxed);
        reminders.scheduler.run_pending();
        assert_eq!(reminders.ran.swap(0, Ordering::Relaxed), 100);
    }
}

fn remind(reminders: &mut Reminders, i: u64) {
    let ran = Arc::clone(&reminders.ran);
    reminders.scheduler.every(1.minute()).once().run(move || {
        ran.fetch_add(1, Ordering::Relaxed);
    });
    pass(reminders, i);
}

fn remind_from_list(reminders: &mut Reminders, i: u64) {
    reminders.due.lock().expect("no panic").push_back(i);
    pass(reminders, i);
}

/// A job for each reminder.
fn clokwerk_once() -> Scenario {
    Scenario::with_state("clokwerk_once", setup, remind)
}

/// One job for all, and a list of reminders.
fn clokwerk_once_one_job() -> Scenario {
    Scenario::with_state("clokwerk_once_one_job", setup_one_job, remind_from_list)
}

pub fn scenarios() -> [Scenario; 2] {
    [clokwerk_once(), clokwerk_once_one_job()]
}
