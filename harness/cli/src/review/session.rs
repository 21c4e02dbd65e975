//! The effect of each answer. This module reads and prints nothing.

use plimsoll_core::baseline::{Acceptance, Date};
use plimsoll_core::text::escape::is_hidden;

use crate::accept::{Words, is_over};
use crate::args::Expiry;

const HELP: &str = "a  accept it\n  \
     s  skip it, and leave the file as it is there\n  \
     r  say why it may grow\n  \
     i  say where it is discussed\n  \
     e  say until when it may grow\n  \
     q  quit; asks whether to write what was accepted\n  \
     ?  this";

/// The effect of accepting a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Allows growth.
    Allow,
    /// Moves an allowance to its new stack.
    Move,
    /// Removes an allowance.
    Remove,
}

impl Kind {
    pub(super) fn of(acceptance: &Acceptance) -> Kind {
        match acceptance {
            one if !one.allowances.is_empty() => Kind::Allow,
            one if !one.moved.is_empty() => Kind::Move,
            _ => Kind::Remove,
        }
    }

    /// Returns the question.
    fn question(self) -> &'static str {
        match self {
            Kind::Allow => "allow this growth?",
            Kind::Move => "give the allowance its new stack?",
            Kind::Remove => "take the allowance out?",
        }
    }
}

/// A finding, and what was decided on it.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// Whether the growth was accepted until a day that has passed.
    pub(super) has_expired: bool,
    /// Whether a reason is required, and there is none yet.
    pub(super) lacks_reason: bool,
    pub(super) words: Words,
    pub(super) is_accepted: bool,
}

/// What follows an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// These words, and then the prompt.
    Say(String),
    /// The prompt.
    Ask,
    /// The end: everything is decided.
    Done,
}

/// The question that the next line answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Choice,
    Reason,
    Issue,
    Expires,
    Write,
}

/// A review in progress.
#[derive(Debug)]
pub(super) struct Session {
    items: Vec<Item>,
    at: usize,
    asked: Asked,
    today: Date,
}

impl Session {
    /// Starts a review of at least one item.
    pub(super) fn new(items: Vec<Item>, today: Date) -> Self {
        Session {
            items,
            at: 0,
            asked: Asked::Choice,
            today,
        }
    }

    /// Returns the index of the item that is asked about.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    pub(super) fn prompt(&self) -> String {
        match self.asked {
            Asked::Choice => {
                let letters = match self.items[self.at].kind {
                    Kind::Allow => "a,s,r,i,e,q,?",
                    Kind::Move | Kind::Remove => "a,s,q,?",
                };
                format!("{} [{letters}]", self.items[self.at].kind.question())
            }
            Asked::Reason => "why it may grow:".to_owned(),
            Asked::Issue => "where it is discussed:".to_owned(),
            Asked::Expires => {
                "the last day on which it may grow (YYYY-MM-DD, or never):".to_owned()
            }
            Asked::Write => format!("write the {} accepted so far? [y,n]", self.accepted()),
        }
    }

    /// Takes an answer: a line without the space around it.
    pub(super) fn answer(&mut self, line: &str) -> Next {
        if line.contains(|c: char| is_hidden(c) || c == char::REPLACEMENT_CHARACTER) {
            return say("expected one line of text; nothing was taken of it");
        }
        match self.asked {
            Asked::Choice => self.choice(line),
            Asked::Write => self.write(line),
            Asked::Reason | Asked::Issue | Asked::Expires => {
                let asked = std::mem::replace(&mut self.asked, Asked::Choice);
                match line {
                    "" => say("left as it is"),
                    line => self.words(asked, line),
                }
            }
        }
    }

    fn choice(&mut self, line: &str) -> Next {
        let item = &mut self.items[self.at];
        match line {
            "a" if item.has_expired && item.kind == Kind::Allow && item.words.expires.is_none() => {
                self.asked = Asked::Expires;
                say("its allowance has expired: until when does it hold now?")
            }
            "a" if item.lacks_reason && item.words.reason.is_none() => {
                self.asked = Asked::Reason;
                say("plimsoll.toml has `require-reason = true`")
            }
            "a" => {
                item.is_accepted = true;
                self.go_on()
            }
            "s" => self.go_on(),
            "r" | "i" | "e" if item.kind != Kind::Allow => {
                say("an allowance that moves keeps its words; one that goes needs none")
            }
            "r" => self.ask(Asked::Reason),
            "i" => self.ask(Asked::Issue),
            "e" => self.ask(Asked::Expires),
            "q" if self.accepted() == 0 => Next::Done,
            "q" => self.ask(Asked::Write),
            "?" => say(HELP),
            _ => say("expected a, s, r, i, e, q or ?"),
        }
    }

    fn ask(&mut self, what: Asked) -> Next {
        self.asked = what;
        Next::Ask
    }

    fn go_on(&mut self) -> Next {
        if self.at + 1 == self.items.len() {
            return Next::Done;
        }
        self.at += 1;
        Next::Ask
    }

    fn words(&mut self, asked: Asked, line: &str) -> Next {
        let words = &mut self.items[self.at].words;
        match asked {
            Asked::Issue => words.issue = Some(line.to_owned()),
            Asked::Expires => {
                let expiry: Expiry = match line.parse() {
                    Ok(expiry) => expiry,
                    Err(problem) => return Next::Say(problem),
                };
                if let Expiry::On(date) = expiry
                    && let Some(problem) = is_over(date, self.today)
                {
                    return Next::Say(problem);
                }
                words.expires = Some(expiry);
            }
            Asked::Choice | Asked::Reason | Asked::Write => words.reason = Some(line.to_owned()),
        }
        Next::Ask
    }

    fn write(&mut self, line: &str) -> Next {
        match line {
            "y" => Next::Done,
            "n" => {
                for item in &mut self.items {
                    item.is_accepted = false;
                }
                Next::Done
            }
            _ => say("expected y or n"),
        }
    }

    fn accepted(&self) -> usize {
        self.items.iter().filter(|item| item.is_accepted).count()
    }
}

fn say(text: &str) -> Next {
    Next::Say(text.to_owned())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn item(kind: Kind) -> Item {
        Item {
            kind,
            has_expired: false,
            lacks_reason: false,
            words: Words::default(),
            is_accepted: false,
        }
    }

    /// Returns the prompts, the answers, what was printed, and what was decided in the end.
    #[track_caller]
    fn check(items: Vec<Item>, answers: &[&str]) -> String {
        let mut session = Session::new(items, "2026-11-21".parse().unwrap());
        let mut text = String::new();
        for (place, answer) in answers.iter().enumerate() {
            let line = format!("{} {}", session.prompt(), answer.escape_default());
            text += &format!("{}\n", line.trim_end());
            match session.answer(answer) {
                Next::Say(said) => text += &format!("  {said}\n"),
                Next::Ask => {}
                Next::Done => {
                    assert_eq!(place + 1, answers.len());
                    for item in session.items() {
                        let Words {
                            reason,
                            issue,
                            expires,
                        } = &item.words;
                        text += &format!("{} {reason:?} {issue:?} {expires:?}\n", item.is_accepted);
                    }
                    return text;
                }
            }
        }
        text + "unfinished\n"
    }

    #[test]
    fn accepted_and_skipped() {
        let items = vec![item(Kind::Allow), item(Kind::Move), item(Kind::Remove)];
        assert_snapshot!(check(items, &["a", "s", "a"]), @"
        allow this growth? [a,s,r,i,e,q,?] a
        give the allowance its new stack? [a,s,q,?] s
        take the allowance out? [a,s,q,?] a
        true None None None
        false None None None
        true None None None
        ");
    }

    #[test]
    fn words() {
        let answers = [
            "r",
            "a pool",
            "i",
            "https://example.org/7",
            "e",
            "2026-11-20",
            "e",
            "2027",
            "e",
            "2026-11-21",
            "r",
            "",
            "a",
        ];
        assert_snapshot!(check(vec![item(Kind::Allow)], &answers), @r#"
        allow this growth? [a,s,r,i,e,q,?] r
        why it may grow: a pool
        allow this growth? [a,s,r,i,e,q,?] i
        where it is discussed: https://example.org/7
        allow this growth? [a,s,r,i,e,q,?] e
        the last day on which it may grow (YYYY-MM-DD, or never): 2026-11-20
          2026-11-20 is over: expected 2026-11-21 or later, or `never`
        allow this growth? [a,s,r,i,e,q,?] e
        the last day on which it may grow (YYYY-MM-DD, or never): 2027
          expected a day as `YYYY-MM-DD`, or `never`
        allow this growth? [a,s,r,i,e,q,?] e
        the last day on which it may grow (YYYY-MM-DD, or never): 2026-11-21
        allow this growth? [a,s,r,i,e,q,?] r
        why it may grow:
          left as it is
        allow this growth? [a,s,r,i,e,q,?] a
        true Some("a pool") Some("https://example.org/7") Some(On(Date { year: 2026, month: 11, day: 21 }))
        "#);
    }

    #[test]
    fn what_has_expired_and_what_needs_a_reason() {
        let item = Item {
            has_expired: true,
            lacks_reason: true,
            ..item(Kind::Allow)
        };
        assert_snapshot!(check(vec![item], &["a", "never", "a", "", "a", "why", "a"]), @r#"
        allow this growth? [a,s,r,i,e,q,?] a
          its allowance has expired: until when does it hold now?
        the last day on which it may grow (YYYY-MM-DD, or never): never
        allow this growth? [a,s,r,i,e,q,?] a
          plimsoll.toml has `require-reason = true`
        why it may grow:
          left as it is
        allow this growth? [a,s,r,i,e,q,?] a
          plimsoll.toml has `require-reason = true`
        why it may grow: why
        allow this growth? [a,s,r,i,e,q,?] a
        true Some("why") None Some(Never)
        "#);
    }

    #[test]
    fn quitting() {
        let two = || vec![item(Kind::Allow), item(Kind::Remove)];
        assert_snapshot!(check(two(), &["q"]), @"
        allow this growth? [a,s,r,i,e,q,?] q
        false None None None
        false None None None
        ");
        assert_snapshot!(check(two(), &["a", "q", "", "n"]), @"
        allow this growth? [a,s,r,i,e,q,?] a
        take the allowance out? [a,s,q,?] q
        write the 1 accepted so far? [y,n]
          expected y or n
        write the 1 accepted so far? [y,n] n
        false None None None
        false None None None
        ");
        let kept = check(two(), &["a", "q", "y"]);
        assert!(
            kept.ends_with("true None None None\nfalse None None None\n"),
            "{kept}"
        );
    }

    #[test]
    fn what_is_no_answer() {
        assert_snapshot!(check(vec![item(Kind::Remove)], &["", "A", "r", "\u{1b}[A", "?"]), @r"
        take the allowance out? [a,s,q,?]
          expected a, s, r, i, e, q or ?
        take the allowance out? [a,s,q,?] A
          expected a, s, r, i, e, q or ?
        take the allowance out? [a,s,q,?] r
          an allowance that moves keeps its words; one that goes needs none
        take the allowance out? [a,s,q,?] \u{1b}[A
          expected one line of text; nothing was taken of it
        take the allowance out? [a,s,q,?] ?
          a  accept it
          s  skip it, and leave the file as it is there
          r  say why it may grow
          i  say where it is discussed
          e  say until when it may grow
          q  quit; asks whether to write what was accepted
          ?  this
        unfinished
        ");
    }
}
