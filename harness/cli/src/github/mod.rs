//! GitHub: what a workflow is told, what is asked of the API, what is left there.
//!
//! [`target`] finds out what is commented on, from the event and the API alone.
//! [`sticky`], [`check`] and [`images`] each leave one thing, whatever fails on
//! the way; all of them go through [`api`], the one place that waits, repeats
//! and follows redirects. Nothing here knows how a report looks.

pub(crate) mod annotations;
pub(crate) mod api;
pub(crate) mod artifact;
pub(crate) mod check;
pub(crate) mod environment;
pub(crate) mod event;
pub(crate) mod images;
pub(crate) mod names;
pub(crate) mod problem;
pub(crate) mod sticky;
pub(crate) mod target;
pub(crate) mod touched;
