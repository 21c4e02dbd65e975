//! Measures the two ends of a search. If one cannot be measured, looks for the nearest
//! revision that can.

use plimsoll_core::report::Report;
use plimsoll_core::report::units::plural;

use super::Search;
use crate::bench::{Bench, Length};
use crate::measure::{Cause, Unusable};
use crate::narrow;
use crate::revision::Revision;
use plimsoll_desk::project::shown;
use plimsoll_desk::status::{ExitStatus, Refused};

impl Search<'_> {
    /// Measures an end over the whole ladder. Without both ends there is no search.
    pub(super) fn end(
        &mut self,
        bench: &mut Bench,
        revision: &Revision,
        name: &str,
    ) -> anyhow::Result<Report> {
        // The reason may be gone: the user may have fixed it.
        bench.cache.forget_unusable(revision);
        match bench.climb(revision, Length::Full)? {
            Ok(report) => Ok(report),
            Err(why) => Err(self.unusable_end(bench, revision, name, &why)?),
        }
    }

    /// Returns the error for an end that cannot be measured.
    pub(super) fn unusable_end(
        &self,
        bench: &mut Bench,
        end: &Revision,
        name: &str,
        why: &Unusable,
    ) -> anyhow::Result<anyhow::Error> {
        let (of_end, mut hint) = match (end, why.cause) {
            (Revision::Commit(_) | Revision::WorkingTree(_), _) => (
                format!("the {name} end"),
                "name another commit for it".to_owned(),
            ),
            (Revision::Release { .. }, cause) => {
                let mut hint = "name another release for it".to_owned();
                if cause == Cause::Lockfile {
                    hint += "; the requirement in Cargo.toml, as it was committed, has to admit it";
                }
                ("one of the ends".to_owned(), hint)
            }
        };
        let what = format!("{of_end}, {},", end.name());
        if why.cause.is_of_code() {
            bench.tools.progress.note(&format!(
                "{what} cannot be measured; looking for the nearest revision that can be built"
            ));
            let (tried, nearest) = self.nearest(bench, end)?;
            hint += &match nearest {
                Some(nearest) => {
                    let nearest = nearest.short();
                    format!("\n  the nearest revision that can be built: {nearest}")
                }
                None if tried == 0 => String::new(),
                None => format!(
                    "\n  of {} that were tried, up to the other end, none can be built",
                    plural(tried as u64, "other", "others")
                ),
            };
        }
        let logs = shown(&self.logs);
        let text = format!("{what} cannot be measured: {why}\n  logs: {logs}\n  hint: {hint}");
        Ok(Refused::with_status(ExitStatus::Stop, text))
    }

    /// Returns how many revisions were tried, and the one nearest to an end that can be built.
    fn nearest(
        &self,
        bench: &mut Bench,
        end: &Revision,
    ) -> anyhow::Result<(usize, Option<Revision>)> {
        let inwards = self.inwards(end)?;
        let mut tried = 0;
        let found = narrow::first_that(inwards.len(), |at| {
            let revision = &inwards[at];
            tried += 1;
            let can = bench.can_be_built(revision)?;
            bench.forget(revision);
            let said = match &can {
                Ok(()) => "can be built".to_owned(),
                Err(why) => why.to_string(),
            };
            let line = format!("      {}  {said}", revision.name());
            bench.tools.progress.note(&line);
            anyhow::Ok(can.is_ok())
        })?;
        Ok((tried, found.map(|at| inwards[at].clone())))
    }

    /// Returns the revisions from an end to the other one, without the end itself.
    fn inwards(&self, end: &Revision) -> anyhow::Result<Vec<Revision>> {
        let mut row = self.releases.clone();
        if row.is_empty() {
            let (first, last) = (self.good.commit(), self.bad.commit());
            let after = self.git.after(first, last, self.session.first_parent)?;
            row.push(self.good.clone());
            row.extend(after.into_iter().map(Revision::Commit));
        }
        if row.first() != Some(end) {
            row.reverse();
        }
        Ok(row.split_off(1))
    }
}
