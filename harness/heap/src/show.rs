//! `plimsoll show` and `compare`.

use crate::ages;
use crate::args::{CompareArgs, ShowArgs};
use crate::load::{Loaded, load, load_births};
use crate::output::{Heap, measure};
use crate::series;
use crate::source::Source;
use plimsoll_desk::out::Out;
use plimsoll_desk::status::Refused;

pub fn show(args: &ShowArgs, out: &mut Out) -> anyhow::Result<()> {
    if args.ages {
        return ages::show(args, out);
    }
    let common = &args.common;
    let source = Source::of(&args.dump, &common.http)?;
    common.output.check(&source.files())?;
    let [loaded] = load([&source], &common.symbols, out)?;
    let measure = measure(&common.what, &[&loaded])?;
    Heap::of(vec![&loaded], &common.what, measure, false).output(&common.output, out)
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
    let common = &args.common;
    let before = Source::named(&args.before, &common.http)?;
    let after = Source::of(after, &common.http)?;
    common
        .output
        .check(&[before.files(), after.files()].concat())?;
    let [before, after] = load_births([&before, &after], &common.symbols, out)?;
    if let Some(note) = ages::compared(&before, &after) {
        out.note(&note);
    }
    let [before, after] = [before, after].map(Loaded::put_together);
    let measure = measure(&common.what, &[&before, &after])?;
    for gate in &args.fail_on {
        for side in [&before, &after] {
            gate.check(&side.name, &side.profile, measure)?;
        }
    }
    let heap = Heap::of(
        vec![&before, &after],
        &common.what,
        measure,
        args.drop_negative,
    );
    heap.output(&common.output, out)?;
    heap.check(&args.fail_on)
}
