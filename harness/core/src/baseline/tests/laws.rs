//! Laws that hold for any baseline.

use proptest::prelude::*;

use super::*;
use crate::Resource;
use crate::fold::normalize_frame;
use crate::growth::Unit;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z:<>]{0,6}",
        Just("...x".to_owned()),
        "[\"'\\\\#\\[\\]=\n\t\u{0}-\u{1f}\u{7f}\u{202e}é]{0,6}",
    ]
}

fn any_subject() -> impl Strategy<Value = AllowanceSubject> {
    let frame = prop_oneof![
        1 => Just(PatternFrame::Any),
        4 => any_text().prop_map(|name| PatternFrame::Frame(normalize_frame(&name))),
    ];
    let pattern = prop::collection::vec(frame, 0..5)
        .prop_map(StackPattern::new)
        .prop_filter("everything", |pattern| {
            pattern.frames() != [PatternFrame::Any]
        });
    prop_oneof![
        6 => pattern.prop_map(AllowanceSubject::Stack),
        2 => prop::sample::select(Resource::ALL.to_vec()).prop_map(AllowanceSubject::Resource),
    ]
}

fn any_law() -> impl Strategy<Value = Law> {
    prop::sample::select(vec![Law::Linear, Law::Stepped, Law::Fluctuating])
}

prop_compose! {
    fn any_accepted()(
        subject in any_subject(),
        objects in 0..5_000_u32,
        bytes in 0..5_000_000_u32,
        law in any_law(),
        bytes_law in any_law(),
        reason in prop::option::of(any_text()),
        issue in prop::option::of(any_text()),
        expires in prop::option::of((1..=9999_u16, 1..=12_u8, 1..=28_u8)),
    ) -> Accepted {
        let mut rate = Rate { objects: f64::from(objects) / 1e3, bytes: f64::from(bytes) / 1e3 };
        match subject.resource().map(Resource::unit) {
            None => {}
            Some(Unit::Objects) => rate.bytes = 0.0,
            Some(Unit::Bytes) => rate.objects = 0.0,
        }
        let expires = expires.and_then(|(year, month, day)| Date::new(year, month, day));
        Accepted {
            allowance: Allowance { subject, rate, law, bytes_law, reason, issue, expires },
            expired: false,
        }
    }
}

fn any_acceptance() -> impl Strategy<Value = Acceptance> {
    let measured = prop::option::of(any_text().prop_map(|target| MeasuredWith {
        target,
        ..measured()
    }));
    (measured, prop::collection::vec(any_accepted(), 0..6)).prop_map(|(measured, allowances)| {
        Acceptance {
            measured,
            ..with(allowances)
        }
    })
}

/// Of few names, so that moves, removals and a file meet in every way.
fn any_few_names() -> impl Strategy<Value = Acceptance> {
    let stack = || prop::sample::select(vec!["a", "b", "a b", "c a b", "b b", ""]).prop_map(folded);
    let moved = (stack(), stack()).prop_map(|(from, to)| Moved { from, to });
    let subject = |stack: FoldedStack| AllowanceSubject::Stack(StackPattern::exact(&stack));
    let accepted = (stack(), 0..3_u32).prop_map(move |(stack, rate)| {
        accept(&stack.frames().join(" "), f64::from(rate), f64::from(rate))
    });
    (
        prop::collection::vec(accepted, 0..4),
        prop::collection::vec(moved, 0..4),
        prop::collection::vec(stack().prop_map(subject), 0..4),
    )
        .prop_map(|(allowances, moved, removed)| Acceptance {
            moved,
            removed,
            ..with(allowances)
        })
}

proptest! {
    #[test]
    fn moves_and_removals_settle(
        first in any_few_names(),
        second in any_few_names(),
        comments in prop::collection::vec("(\n|# [a-z]\n){0,4}", 5),
    ) {
        // Twice the same stacks, as another build names them: several allowances add up to one.
        let file = update(None, &with(first.allowances.clone())).unwrap();
        let (head, tables) = file.split_once("[[allow]]").unwrap_or((&file, ""));
        let mut text = head.to_owned();
        if !tables.is_empty() {
            let others = tables.replace("\",\n", "::h0123456789abcdef\",\n");
            let is_named = |table: &&str| !table.contains("stack = []");
            let others = others.split("[[allow]]").filter(is_named);
            let others: String = others.map(|table| format!("\n[[allow]]{table}")).collect();
            let all = format!("{tables}{others}");
            for (table, comment) in all.split("[[allow]]").zip(comments.iter().cycle()) {
                text += &format!("{comment}[[allow]]{table}");
            }
        }
        let before = Baseline::parse(text.as_bytes()).unwrap();
        let once = update(Some(&text), &second).unwrap();
        prop_assert_eq!(&update(Some(&once), &second).unwrap(), &once);
        let mut turned = second.clone();
        turned.moved.reverse();
        turned.removed.reverse();
        prop_assert_eq!(&update(Some(&text), &turned).unwrap(), &once);
        // Nothing but what was accepted may grow faster than before.
        let after = Baseline::parse(once.as_bytes()).unwrap();
        let agreed = with(second.allowances);
        let bytes = |baseline: &Baseline| -> f64 {
            let others = baseline.allowances.iter().filter(|allowance| {
                agreed.allowances.iter().all(|one| one.allowance.subject != allowance.subject)
            });
            others.map(|allowance| allowance.rate.bytes).sum()
        };
        prop_assert!(bytes(&after) <= bytes(&before));
    }

    #[test]
    fn what_is_written_is_read(accepted in any_acceptance()) {
        let text = update(None, &accepted).unwrap();
        prop_assert_eq!(&update(Some(&text), &accepted).unwrap(), &text);
        let read = Baseline::parse(text.as_bytes()).unwrap();
        let agreed: Vec<Allowance> =
            accepted.allowances.iter().map(|one| one.allowance.clone()).collect();
        let lines = vec![1..=1; agreed.len()];
        let (mut expected, _) = merged(agreed, lines);
        for allowance in &mut expected {
            let Rate { objects, bytes } = allowance.rate;
            allowance.rate = Rate {
                objects: round_up(objects).unwrap(),
                bytes: round_up(bytes).unwrap(),
            };
        }
        expected.sort_by(|one, two| one.subject.cmp(&two.subject));
        // Of different subjects, the order does not matter.
        if expected.len() == accepted.allowances.len() {
            let mut turned = accepted.clone();
            turned.allowances.reverse();
            prop_assert_eq!(update(None, &turned).unwrap(), text);
        }
        prop_assert_eq!(read, Baseline { measured: accepted.measured, allowances: expected });
    }

    #[test]
    fn hand_edits_survive(
        first in any_acceptance(),
        second in any_acceptance(),
        comments in prop::collection::vec("# [a-z #'\"=]{0,9}", 20),
    ) {
        // A comment above every line that is not within a string over many lines.
        let text = update(None, &first).unwrap();
        let mut edited = String::new();
        let mut written = Vec::new();
        for (line, comment) in text.lines().zip(comments.iter().cycle()) {
            if line.starts_with('[') || line.contains(" = ") && !line.starts_with(' ') {
                let comment = format!("{comment} {}", written.len());
                edited.extend([comment.as_str(), "\n"]);
                written.push(comment);
            }
            edited.extend([line, "\n"]);
        }
        prop_assume!(Baseline::parse(edited.as_bytes()) == Baseline::parse(text.as_bytes()));
        let updated = update(Some(&edited), &second).unwrap();
        prop_assert_eq!(&update(Some(&updated), &second).unwrap(), &updated);
        let mut lines = updated.lines();
        for comment in written {
            prop_assert!(lines.any(|line| line == comment), "`{comment}` went from\n{updated}");
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Baseline::parse(&bytes);
    }

    #[test]
    fn any_toml_is_refused_or_read(text in "(format = 1\n)?((\\[\\[allow\\]\\]|stack = \\[|'a',|\\]|objects = 1|law = 'linear'|bytes|=|1|\"|#|\n| ){0,30})") {
        if let Ok(baseline) = Baseline::parse(text.as_bytes()) {
            let updated = update(Some(&text), &Acceptance::default());
            prop_assert_eq!(updated.map(|text| Baseline::parse(text.as_bytes())), Ok(Ok(baseline)));
        }
    }
}
