//! `plimsoll accept`: writes growth of a report into a baseline.

mod change;
mod choice;

use std::env;

use plimsoll_core::accept::functions;
use plimsoll_core::baseline::{Acceptance, AllowanceSubject, Baseline, Date};
use plimsoll_core::judge::Verdict;
use plimsoll_core::report::{Report, Standing};

use crate::args::{AcceptArgs, Expiry};
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::Project;
use plimsoll_desk::settings;
use plimsoll_desk::status::Refused;

use change::leaf_of;
pub(crate) use change::{BaselineFile, Change};
pub(crate) use choice::{Chosen, Which, choose, unknown};

/// From so many allowances on, one for all of them is suggested.
const MANY: usize = 4;

/// What people say of an allowance. It replaces what the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) reason: Option<String>,
    pub(crate) issue: Option<String>,
    pub(crate) expires: Option<Expiry>,
}

impl Words {
    /// Writes the words into everything that is accepted.
    pub(crate) fn write(&self, acceptance: &mut Acceptance) {
        for accepted in &mut acceptance.allowances {
            accepted.allowance.reason.clone_from(&self.reason);
            accepted.allowance.issue.clone_from(&self.issue);
            match self.expires {
                Some(Expiry::On(date)) => accepted.allowance.expires = Some(date),
                Some(Expiry::Never) => accepted.expired = true,
                None => {}
            }
        }
    }
}

pub(crate) fn run(args: &AcceptArgs, name: &str, out: &mut Out) -> anyhow::Result<()> {
    let scenarios = match args.all {
        true => "--all".to_owned(),
        false => args.chosen.scenarios.join(" "),
    };
    let command = format!("{name} accept {scenarios}");
    refuse_under_ci(args.dry_run, command.trim_end())?;
    if let Some(Expiry::On(date)) = args.expires
        && let Some(problem) = is_over(date, settings::today()?)
    {
        return Err(Refused::usage(format!("--expires {problem}")));
    }
    let project = Project::find(args.chosen.project.manifest_path.as_deref())?;
    let which = match (args.all, args.lower) {
        (true, _) => Which::All,
        (false, true) => Which::Trusted,
        (false, false) => Which::Named,
    };
    // Everything is decided before anything is written.
    let chosen = choose(&args.chosen, which, &project, out)?;
    let is_each_said = args.all || !args.chosen.scenarios.is_empty();
    let mut changes = Vec::new();
    let mut with_many = Vec::new();
    let mut is_agreed = false;
    for chosen in &chosen {
        let report = &chosen.report;
        let baseline = match args.lower || Acceptance::is_due(report) {
            true => BaselineFile::of(report, &project)?.baseline,
            false => Baseline::default(),
        };
        let mut acceptance = acceptance(report, &baseline, args)?;
        if args.lower {
            let mut lower = Acceptance::lower(&baseline, report);
            words(args).write(&mut lower);
            acceptance.add(lower);
        }
        chosen.leave_to_others(&mut acceptance, &baseline, out);
        if acceptance.is_empty() && is_each_said {
            let name = safe_line(&report.scenario);
            let why = match report.verdict {
                Verdict::Regressed => "the baseline allows what grew: measure again".to_owned(),
                verdict => format!("it is {verdict}"),
            };
            out.print(&format!("{name}: nothing to accept, {why}\n"))?;
        }
        if acceptance.is_empty() {
            continue;
        }
        is_agreed |= !acceptance.allowances.is_empty();
        with_many.extend(Some(report).filter(|_| acceptance.allowances.len() >= MANY));
        let change = Change::of(report, &acceptance, &project)?;
        change.refuse_without_reason()?;
        changes.push(change);
    }
    if changes.is_empty() && !is_each_said {
        return Ok(out.print("nothing to accept in any scenario of the last run\n")?);
    }
    for change in &changes {
        change.make(args.dry_run, out)?;
    }
    for report in with_many {
        suggest_through(report, name, out);
    }
    if !is_agreed && !changes.is_empty() && words(args) != Words::default() {
        out.note(
            "no allowance was written, so --reason, --issue and --expires have no effect\n  \
             hint: edit the file",
        );
    }
    Ok(())
}

fn words(args: &AcceptArgs) -> Words {
    Words {
        reason: args.reason.clone(),
        issue: args.issue.clone(),
        expires: args.expires,
    }
}

pub(crate) fn refuse_under_ci(dry_run: bool, command: &str) -> anyhow::Result<()> {
    let ci = env::var_os("CI").unwrap_or_default();
    let under_ci = !(ci.is_empty() || ci == "false" || ci == "0");
    if !under_ci || dry_run {
        return Ok(());
    }
    Err(Refused::usage(format!(
        "the variable CI is set: in CI nothing is accepted, because a person has to accept \
         growth\n  \
         hint: run `cargo test --test leaks` and `{command}` where you work, \
         and commit what changes"
    )))
}

/// Returns why an allowance cannot expire on that day.
pub(crate) fn is_over(date: Date, today: Date) -> Option<String> {
    (date < today).then(|| format!("{date} is over: expected {today} or later, or `never`"))
}

fn acceptance(
    report: &Report,
    baseline: &Baseline,
    args: &AcceptArgs,
) -> anyhow::Result<Acceptance> {
    let mut acceptance = match &args.through {
        Some(function) => through(function, report, baseline)?,
        None => Acceptance::of(report, baseline),
    };
    // Without the name of a scenario, only new growth is meant, and not what was accepted
    // since the run.
    if args.chosen.scenarios.is_empty() {
        acceptance.leave_out(baseline, settings::today()?);
    }
    let has_lapsed = acceptance.allowances.iter().any(|one| one.expired);
    words(args).write(&mut acceptance);
    // Somebody accepted this growth only until a day, and has to say how long it may go on.
    // The date must not be lost unnoticed.
    let mut findings = report.findings.iter();
    let lapsed =
        findings.find(|finding| finding.standing == Standing::Expired && !finding.is_unused());
    if let (true, Some(finding), None) = (has_lapsed, lapsed, args.expires) {
        let reason = finding.reason.as_deref().map(safe_line);
        let reason = reason.map_or_else(String::new, |why| format!("\n  its reason: {why}"));
        return Err(Refused::usage(format!(
            "{}: an allowance has expired{reason}\n  \
             hint: set its new last day with `--expires YYYY-MM-DD`, or use `--expires never`",
            safe_line(&report.scenario)
        )));
    }
    refuse_lost_words(report, &acceptance, baseline, args)?;
    Ok(acceptance)
}

/// Accepts what passes through the one function that has this name, or whose name ends in it.
fn through(name: &str, report: &Report, baseline: &Baseline) -> anyhow::Result<Acceptance> {
    let functions = functions(report);
    let functions: Vec<&str> = functions.into_iter().map(|one| one.0).collect();
    let has_name = |function: &&&str| {
        let before = function.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    };
    let named: Vec<&str> = functions.iter().filter(has_name).copied().collect();
    let (problem, expected) = match named.as_slice() {
        _ if functions.is_empty() => return Ok(Acceptance::default()),
        [one] => return Ok(Acceptance::through(one, report, baseline)),
        _ if named.contains(&name) => return Ok(Acceptance::through(name, report, baseline)),
        [] => ("nothing to accept passes through", &functions),
        [..] => ("more than one function ends in", &named),
    };
    let expected = expected.iter().take(5).map(|name| safe_line(name));
    let expected: Vec<String> = expected.collect();
    Err(Refused::usage(format!(
        "{}: {problem} {}\n  expected a name such as\n    {}",
        safe_line(&report.scenario),
        safe_line(name),
        expected.join("\n    ")
    )))
}

/// Says that one allowance could take the place of many, and names the functions that they pass
/// through: for each number of stacks the innermost.
fn suggest_through(report: &Report, name: &str, out: &Out) {
    let mut functions = functions(report);
    functions.retain(|(_, stacks)| *stacks >= MANY);
    functions.dedup_by_key(|(_, stacks)| *stacks);
    let functions = functions.iter().take(3).map(|(function, stacks)| {
        let function = safe_line(function);
        format!("\n    {stacks} stacks pass through {function}")
    });
    let functions: String = functions.collect();
    if !functions.is_empty() {
        let scenario = safe_line(&report.scenario);
        out.note(&format!(
            "{scenario}: growth of one cause can have one allowance{functions}\n  \
             hint: {name} accept {scenario} --through FUNCTION --reason \"…\""
        ));
    }
}

/// Refuses to lose what people said of an allowance. An allowance that is removed while
/// another is added may be the same growth under another name.
fn refuse_lost_words(
    report: &Report,
    acceptance: &Acceptance,
    baseline: &Baseline,
    args: &AcceptArgs,
) -> anyhow::Result<()> {
    let is_stack = |subject: &&AllowanceSubject| matches!(subject, AllowanceSubject::Stack(_));
    let subjects = acceptance.allowances.iter();
    let mut stacks = subjects.map(|one| &one.allowance.subject).filter(is_stack);
    let Some(new) = stacks.find(|stack| baseline.get(stack).is_none()) else {
        return Ok(());
    };
    let gone = acceptance.removed.iter().filter(is_stack);
    for gone in gone.filter_map(|gone| baseline.get(gone)) {
        let reason = gone.reason.as_ref().filter(|_| args.reason.is_none());
        let expires = gone.expires.filter(|_| args.expires.is_none());
        let mut say = Vec::new();
        let mut lost = String::new();
        if let Some(reason) = reason {
            lost += &format!("\n  its reason: {}", safe_line(reason));
            say.push("`--reason \"…\"`");
        }
        if let Some(date) = expires {
            lost += &format!("\n  its last day: {date}");
            say.push("`--expires YYYY-MM-DD` or `--expires never`");
        }
        if !say.is_empty() {
            return Err(Refused::usage(format!(
                "{}: the allowance of {} would be removed and one of {} added: they may be \
                 the same growth{lost}\n  \
                 hint: repeat this for the new allowance, with {}",
                safe_line(&report.scenario),
                safe_line(&leaf_of(&gone.subject)),
                safe_line(&leaf_of(new)),
                say.join(" and "),
            )));
        }
    }
    Ok(())
}
