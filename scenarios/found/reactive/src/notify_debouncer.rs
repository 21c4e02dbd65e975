//! Projects that are watched (`notify-debouncer-full`), closed, or deleted by somebody.
//!
//! Kept: the path of every watched folder that was deleted (`DebounceDataInner::roots`). The
//! watcher ends its watch when the folder goes. From then on `Debouncer::unwatch` returns
//! `WatchNotFound`, and returns before it has removed the root.

use std::fs;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anyhow::ensure;
use notify_debouncer_full::notify::{EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer,
};
use plimsoll::Scenario;
use tempfile::TempDir;

pub struct Watched {
    folder: TempDir,
    debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
    events: Receiver<DebounceEventResult>,
}

pub fn nothing_watched() -> Watched {
    let (to, events) = mpsc::channel();
    let timeout = Duration::from_millis(1);
    Watched {
        folder: tempfile::tempdir().expect("a folder"),
        debouncer: new_debouncer(timeout, Some(timeout), to).expect("a watcher"),
        events,
    }
}

fn wait(watched: &Watched, wanted: impl Fn(&DebouncedEvent) -> bool) -> anyhow::Result<()> {
    loop {
        let Ok(events) = watched.events.recv_timeout(Duration::from_secs(10))? else {
            continue;
        };
        if events.iter().any(&wanted) {
            return Ok(());
        }
    }
}

fn is_removed(event: &DebouncedEvent) -> bool {
    matches!(event.kind, EventKind::Remove(_))
}

/// A project is opened and closed.
pub fn close(watched: &mut Watched, i: u64) -> anyhow::Result<()> {
    let project = watched.folder.path().join(format!("project-{i}"));
    fs::create_dir(&project)?;
    watched
        .debouncer
        .watch(&project, RecursiveMode::Recursive)?;
    watched.debouncer.unwatch(&project)?;
    fs::remove_dir(&project)?;
    Ok(())
}

/// A project is opened, and deleted.
pub fn delete(watched: &mut Watched, i: u64) -> anyhow::Result<()> {
    let project = watched.folder.path().join(format!("project-{i}"));
    fs::create_dir(&project)?;
    watched
        .debouncer
        .watch(&project, RecursiveMode::Recursive)?;
    fs::remove_dir(&project)?;
    wait(watched, |event| {
        is_removed(event) && event.paths[0] == project
    })?;
    ensure!(watched.debouncer.unwatch(&project).is_err());
    Ok(())
}

/// The folder of all projects is watched, and each project is deleted.
pub fn folder_watched() -> Watched {
    let mut watched = nothing_watched();
    let folder = watched.folder.path().to_owned();
    let watching = watched.debouncer.watch(folder, RecursiveMode::Recursive);
    watching.expect("a folder that is there");
    watched
}

pub fn delete_below(watched: &mut Watched, i: u64) -> anyhow::Result<()> {
    let project = watched.folder.path().join(format!("project-{i}"));
    fs::create_dir(&project)?;
    wait(watched, |event| event.paths[0] == project)?;
    fs::write(project.join("draft"), b"text")?;
    fs::rename(project.join("draft"), project.join("final"))?;
    fs::remove_dir_all(&project)?;
    wait(watched, |event| {
        is_removed(event) && event.paths[0] == project
    })
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("notify_debouncer_deleted", nothing_watched, delete),
        Scenario::with_state("notify_debouncer_closed", nothing_watched, close),
        Scenario::with_state(
            "notify_debouncer_deleted_below",
            folder_watched,
            delete_below,
        ),
    ]
}
