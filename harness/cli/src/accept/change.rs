//! The change to one baseline file.

use std::path::PathBuf;

use anyhow::{Context, bail};
use plimsoll_core::FoldedStack;
use plimsoll_core::baseline::{self, Acceptance, AllowanceSubject, Baseline, Moved, StackPattern};
use plimsoll_core::layout;
use plimsoll_core::report::Report;

use crate::config;
use plimsoll_desk::out::{Out, Paint, safe, safe_line};
use plimsoll_desk::project::{Project, shown};
use plimsoll_desk::status::Refused;
use plimsoll_desk::{atomic, diff, file};

/// The planned change to one file.
pub(crate) struct Change {
    scenario: String,
    file: BaselineFile,
    updated: String,
    allowances: usize,
    /// Who holds the objects of stacks that are allowed: leaves and sentences.
    holders: Vec<(String, String)>,
    /// The leaf of an allowance that has no reason, if a reason is required.
    unreasoned: Option<String>,
    /// The stacks that are allowed.
    patterns: Vec<StackPattern>,
    moved: Vec<Moved>,
    removed: Vec<AllowanceSubject>,
}

/// The baseline file of a scenario as it is now.
pub(crate) struct BaselineFile {
    dir: PathBuf,
    path: PathBuf,
    /// The allowances of the file; empty if there is no file.
    pub(crate) baseline: Baseline,
    text: Option<String>,
}

impl BaselineFile {
    pub(crate) fn of(report: &Report, project: &Project) -> anyhow::Result<BaselineFile> {
        let (scenario, package) = (&report.scenario, &report.run.package);
        if !layout::valid_scenario_name(scenario) {
            bail!("{}: no scenario can have that name", safe_line(scenario));
        }
        let dir = project.baselines_dir(package).ok_or_else(|| {
            Refused::usage(format!(
                "{scenario} is a scenario of the package {}, which is not in this workspace\n  \
             hint: say where it is with --manifest-path",
                safe_line(package)
            ))
        })?;
        let path = layout::baseline_file(&dir, scenario);
        let bytes = file::if_there(file::read(&path, baseline::MAX_BYTES));
        let bytes = bytes.with_context(|| format!("cannot read {}", shown(&path)))?;
        let (baseline, text) = match bytes {
            None => (Baseline::default(), None),
            // Parsed as bytes before it becomes text, because the parser explains its errors
            // better.
            Some(bytes) => {
                let baseline = Baseline::parse(&bytes)
                    .map_err(|err| anyhow::anyhow!("{}", err.explain(&shown(&path), scenario)))?;
                (baseline, Some(String::from_utf8(bytes)?))
            }
        };
        Ok(BaselineFile {
            dir,
            path,
            baseline,
            text,
        })
    }
}

impl Change {
    /// Plans the change for what somebody accepts of a report.
    pub(crate) fn of(
        report: &Report,
        acceptance: &Acceptance,
        project: &Project,
    ) -> anyhow::Result<Change> {
        let file = BaselineFile::of(report, project)?;
        let scenario = &report.scenario;
        let explain = |err: baseline::BaselineError| {
            anyhow::anyhow!("{}", err.explain(&shown(&file.path), scenario))
        };
        let updated = if file.text.is_none() && acceptance.allowances.is_empty() {
            // No file is created only to remove allowances.
            String::new()
        } else {
            baseline::update(file.text.as_deref(), acceptance).map_err(explain)?
        };
        let after = match updated.as_str() {
            "" => Baseline::default(),
            text => Baseline::parse(text.as_bytes()).map_err(explain)?,
        };
        let unreasoned = acceptance.allowances.iter().find(|accepted| {
            let agreed = after.get(&accepted.allowance.subject);
            agreed.is_some_and(|allowance| !allowance.has_reason())
        });
        let unreasoned = unreasoned.map(|accepted| leaf_of(&accepted.allowance.subject));
        let requires_reason = config::require_reason(&file.dir, project)?;
        // Only what the file had counts: the file may have changed since the run.
        let went = |subject: &AllowanceSubject| {
            file.baseline.get(subject).is_some() && after.get(subject).is_none()
        };
        let mut moved = acceptance.moved.clone();
        moved.retain(|moved| went(&exact(&moved.from)) && after.get(&exact(&moved.to)).is_some());
        let mut removed = acceptance.removed.clone();
        removed.retain(went);
        let accepted = acceptance.allowances.iter();
        let patterns = accepted.filter_map(|one| match &one.allowance.subject {
            AllowanceSubject::Stack(pattern) => Some(pattern.clone()),
            AllowanceSubject::Resource(_) => None,
        });
        let patterns: Vec<StackPattern> = patterns.collect();
        let held = report.findings.iter().filter_map(|finding| {
            let stack = finding.subject.stack()?;
            let is_accepted = patterns.iter().any(|pattern| pattern.matches(stack));
            let holder = finding.holder(report).filter(|_| is_accepted)?;
            Some((stack.leaf().to_owned(), holder.plain()))
        });
        Ok(Change {
            holders: held.collect(),
            scenario: scenario.clone(),
            updated,
            allowances: acceptance.allowances.len(),
            unreasoned: unreasoned.filter(|_| requires_reason),
            patterns,
            moved,
            removed,
            file,
        })
    }

    /// Returns whether what was allowed by this is allowed by something else now.
    fn covers(&self, gone: &AllowanceSubject) -> bool {
        match gone {
            AllowanceSubject::Stack(gone) => {
                let mut patterns = self.patterns.iter();
                patterns.any(|pattern| pattern.matches(&gone.shown()))
            }
            AllowanceSubject::Resource(_) => false,
        }
    }

    /// Returns whether a reason is required and an accepted allowance would have none.
    pub(crate) fn lacks_reason(&self) -> bool {
        self.unreasoned.is_some()
    }

    pub(crate) fn refuse_without_reason(&self) -> anyhow::Result<()> {
        let Some(what) = &self.unreasoned else {
            return Ok(());
        };
        Err(Refused::usage(format!(
            "{}: an allowance has no reason\n  \
             `require-reason = true` needs one for {}\n  \
             hint: give the reason with --reason",
            safe_line(&self.scenario),
            safe_line(what)
        )))
    }

    /// Returns whether the file already has all of the change.
    pub(crate) fn is_nothing(&self) -> bool {
        self.file.text.as_deref().unwrap_or_default() == self.updated
    }

    /// Writes the file, and prints what changes in it.
    pub(crate) fn make(&self, dry_run: bool, out: &mut Out) -> anyhow::Result<()> {
        let Change {
            scenario,
            file: BaselineFile { path, text, .. },
            updated,
            ..
        } = self;
        let path_shown = shown(path);
        if self.is_nothing() {
            let has = match self.allowances {
                0 => "no longer has it",
                _ => "already has it",
            };
            out.print(&format!("{path_shown}: {has}, nothing changes\n"))?;
            return Ok(());
        }
        let new = if text.is_none() { " (new)" } else { "" };
        let head = out.paint(Paint::Bold, &format!("{path_shown}{new}"));
        let lines = diff::render(text.as_deref().unwrap_or_default(), updated, out);
        if !dry_run {
            atomic::write(path, updated)?;
        }
        let then = if dry_run { "" } else { "; commit the file" };
        let end = format!("{}: {}{then}\n", safe(scenario), done(self, dry_run));
        let told = told(self, dry_run);
        out.print(&format!("{head}\n{lines}{told}{end}"))?;
        Ok(())
    }
}

fn exact(stack: &FoldedStack) -> AllowanceSubject {
    AllowanceSubject::Stack(StackPattern::exact(stack))
}

/// Returns one line for each stack of which it is known who holds its objects, and for each allowance
/// that moves or is removed.
fn told(change: &Change, dry_run: bool) -> String {
    let name = safe(&change.scenario);
    let (moved, removed) = match dry_run {
        true => ("would move", "would remove"),
        false => ("moved", "removed"),
    };
    let mut told = String::new();
    for (leaf, holder) in &change.holders {
        told += &format!("{name}: {}\n", safe_line(&format!("{leaf}: {holder}")));
    }
    for Moved { from, to } in &change.moved {
        let none = "no caller";
        let line = format!(
            "{moved} {} from {} to {}",
            to.leaf(),
            from.caller_apart_from(to).unwrap_or(none),
            to.caller_apart_from(from).unwrap_or(none)
        );
        told += &format!("{name}: {}\n", safe_line(&line));
    }
    for subject in change.removed.iter().filter(|gone| !change.covers(gone)) {
        let line = format!("{removed} {}, which no longer grows", leaf_of(subject));
        told += &format!("{name}: {}\n", safe_line(&line));
    }
    told
}

/// Returns the leaf of an allowance's stack, or its resource. The diff shows the other frames,
/// and a reader finds them there by the leaf.
pub(super) fn leaf_of(subject: &AllowanceSubject) -> String {
    match subject {
        AllowanceSubject::Stack(pattern) => pattern.shown().leaf().to_owned(),
        AllowanceSubject::Resource(_) => subject.to_string(),
    }
}

/// Returns a summary such as `accepted 1 allowance, moved 2, removed 1`.
fn done(change: &Change, dry_run: bool) -> String {
    let words = match dry_run {
        true => ["accept", "move", "remove"],
        false => ["accepted", "moved", "removed"],
    };
    let counts = [change.allowances, change.moved.len(), change.removed.len()];
    let mut parts: Vec<String> = Vec::new();
    for (word, count) in words.into_iter().zip(counts) {
        let noun = match (parts.is_empty(), count) {
            (_, 0) => continue,
            (false, _) => "",
            (true, 1) => " allowance",
            (true, _) => " allowances",
        };
        parts.push(format!("{word} {count}{noun}"));
    }
    let would = if dry_run { "would " } else { "" };
    format!("{would}{}", parts.join(", "))
}
