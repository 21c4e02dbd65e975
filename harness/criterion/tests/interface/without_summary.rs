//! A program whose `main` ends without a word to the front.

use crate::front;

pub(crate) fn program() {
    criterion::Criterion::default().bench_function("alone", |b| b.iter(|| 1));
}

tests!(the_front_sees_the_exit_alone);

fn the_front_sees_the_exit_alone() {
    let run = |asked| front::run("without_summary", asked);
    assert_eq!(run("list"), "scenario alone\nexit status: 0\n");
    front::climbs("without_summary", ["alone"]);
    assert_eq!(run("measure none"), "exit status: 0\n");
}
