//! `plimsoll show` and `compare`.

use plimsoll_profile::Names;

use crate::args::{CompareArgs, ShowArgs};
use crate::gate::Grown;
use crate::load::load;
use crate::output::{Heap, measure, view, what};
use crate::series;
use crate::source::Source;
use plimsoll_desk::out::Out;
use plimsoll_desk::status::{ExitStatus, Refused};

pub fn show(args: &ShowArgs, out: &mut Out) -> anyhow::Result<()> {
    let source = Source::of(&args.dump, &args.http)?;
    args.output.check(&source.files())?;
    let [loaded] = load([&source], &args.symbols, out)?;
    let measure = measure(&args.what, &[&loaded])?;
    let mut names = Names::default();
    let view = view(&loaded, &args.what, &mut names);
    let heap = Heap {
        title: format!("{} of {}", what(measure), loaded.name),
        sides: &[&loaded],
        views: &[&view],
        names: &names,
        measure,
        drop_negative: false,
    };
    heap.output(&args.output, out)
}

pub fn compare(args: &CompareArgs, out: &mut Out) -> anyhow::Result<()> {
    let Some(after) = args.after.as_ref().filter(|_| !args.series) else {
        return series::compare(args, out);
    };
    if args.before == "-" && after == "-" {
        return Err(Refused::usage(
            "standard input can be only one of the two profiles",
        ));
    }
    let before = Source::named(&args.before, &args.http)?;
    let after = Source::of(after, &args.http)?;
    args.output
        .check(&[before.files(), after.files()].concat())?;
    let [before, after] = load([&before, &after], &args.symbols, out)?;
    let measure = measure(&args.what, &[&before, &after])?;
    for gate in &args.fail_on {
        for side in [&before, &after] {
            gate.check(&side.name, &side.profile, measure)?;
        }
    }
    let mut names = Names::default();
    let view_before = view(&before, &args.what, &mut names);
    let view_after = view(&after, &args.what, &mut names);
    let heap = Heap {
        title: format!(
            "growth of {} from {} to {}",
            what(measure),
            before.name,
            after.name
        ),
        sides: &[&before, &after],
        views: &[&view_before, &view_after],
        names: &names,
        measure,
        drop_negative: args.drop_negative,
    };
    heap.output(&args.output, out)?;
    if args.fail_on.is_empty() {
        return Ok(());
    }
    let grown = Grown {
        calls: &heap.calls(),
        names: &names,
        measure,
        drop_negative: args.drop_negative,
    };
    let holds = args.fail_on.iter().filter_map(|gate| gate.holds(grown));
    let holds: Vec<String> = holds.collect();
    match holds.is_empty() {
        true => Ok(()),
        false => Err(Refused::with_status(
            ExitStatus::Regressed,
            holds.join("\n"),
        )),
    }
}
