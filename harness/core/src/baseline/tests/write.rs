//! What becomes of a file's text.

use crate::Resource;

use super::*;

/// A file's text after all of it was accepted.
#[track_caller]
fn settled(existing: Option<&str>, acceptance: &Acceptance) -> String {
    let text = match update(existing, acceptance) {
        Ok(text) => text,
        Err(err) => return format!("error: {err}"),
    };
    let again = update(Some(&text), acceptance);
    assert_eq!(again.as_ref(), Ok(&text), "accepted twice");
    text
}

/// A file's text after an allowance was accepted.
#[track_caller]
fn updated(existing: Option<&str>, allowances: Vec<Accepted>) -> String {
    settled(existing, &with(allowances))
}

/// A file's text after what it has for one stack became another one's.
#[track_caller]
fn moved(existing: &str, from: &str, to: &str) -> String {
    let (from, to) = (folded(from), folded(to));
    let acceptance = Acceptance {
        moved: vec![Moved { from, to }],
        ..Acceptance::default()
    };
    settled(Some(existing), &acceptance)
}

/// A file's text without what it has for these, as they are shown.
#[track_caller]
fn removed(existing: &str, shown: &[&str]) -> String {
    let subject = |shown: &&str| match Resource::from_word(shown) {
        Some(resource) => AllowanceSubject::Resource(resource),
        None => AllowanceSubject::Stack(StackPattern::from_shown(&folded(shown))),
    };
    let acceptance = Acceptance {
        removed: shown.iter().map(subject).collect(),
        ..Acceptance::default()
    };
    settled(Some(existing), &acceptance)
}

const MEASURED: &str = r#"[measured]
test = "lru/leaks"
target = "aarch64-unknown-linux-gnu"
profile = "release"
toolchain = "rustc 1.96.0"
jemalloc = "5.3.1"
sample-interval = 1
iterations = 1024
"#;

fn all_of_the_run(allowances: Vec<Accepted>) -> Acceptance {
    Acceptance {
        measured: Some(measured()),
        ..with(allowances)
    }
}

#[test]
fn a_new_file() {
    let site = StackPattern::ending_in(&folded("b::c"));
    let mut threads = accept_for(AllowanceSubject::Resource(Resource::Threads), 1.0, 0.0);
    threads.allowance.reason = Some("a pool that is \"never\" joined\nas it should be".to_owned());
    threads.allowance.issue = Some("https://example.org/7".to_owned());
    threads.allowance.expires = Date::new(2027, 1, 31);
    let c = accept("main a <dyn b>::\"c\"", 30.7213, 48.0);
    let site = accept_for(AllowanceSubject::Stack(site), 0.0, 0.25);
    let text = settled(None, &all_of_the_run(vec![threads, c, site]));
    assert_snapshot!(text.replace(MEASURED, "(measured)\n"), @r#"
    # What this scenario may grow per iteration, as agreed with `plimsoll accept`.
    format = 1

    (measured)

    [[allow]]
    stack = [
        "...",
        "b::c",
    ]
    objects = 0.0
    bytes = 0.25
    law = "linear"

    [[allow]]
    stack = [
        "main",
        "a",
        "<dyn",
        'b>::"c"',
    ]
    objects = 30.722
    bytes = 48.0
    law = "linear"

    [[allow]]
    resource = "threads"
    objects = 1.0
    law = "linear"
    reason = """
    a pool that is "never" joined
    as it should be"""
    issue = "https://example.org/7"
    expires = 2027-01-31
    "#);
}

#[test]
fn an_edited_file() {
    let fill = StackPattern::from_shown(&folded("... lru_churn::fill lru::LruCache::put"));
    let mut leak = accept_for(AllowanceSubject::Stack(fill), 2.0, 96.0);
    leak.allowance.law = Law::Stepped;
    leak.allowance.bytes_law = Law::Stepped;
    leak.allowance.issue = Some("https://example.org/8".to_owned());
    let acceptance = all_of_the_run(vec![leak, accept("z a", 1.0, 8.0)]);
    let mut expected = FULL.to_owned();
    let z = "[[allow]]\nstack = [\n    \"z\",\n    \"a\",\n]\nobjects = 1.0\nbytes = 8.0\nlaw = \"linear\"\n\n";
    for (before, after) in [
        ("x86_64", "aarch64"),
        ("debug", "release"),
        ("1.95.0", "1.96.0"),
        ("5.3.0", "5.3.1"),
        ("65536", "1024\ntest = \"lru/leaks\""),
        ("objects = 1\nbytes = 48.5", "objects = 2.0\nbytes = 96.0"),
        ("linear", "stepped"),
        ("org/7", "org/8"),
        ("[[allow]]\nresource", &format!("{z}[[allow]]\nresource")),
    ] {
        assert!(expected.contains(before), "{before}");
        expected = expected.replacen(before, after, 1);
    }
    assert_eq!(settled(Some(FULL), &acceptance), expected);
}

#[test]
fn what_is_as_agreed_stays_as_it_is_written() {
    let text = "format=1\n[[allow]]   # odd\nlaw='linear'\nstack=['a','b']\n  bytes = 4_8\nobjects=1.000\n";
    assert_eq!(updated(Some(text), vec![accept("a b", 1.0, 48.0)]), text);
    assert_eq!(updated(Some(text), vec![]), text);
    let windows = updated(
        Some("format = 1\r\n# ours\r\n"),
        vec![accept("a", 1.0, 8.0)],
    );
    assert!(windows.contains("# ours\r\n"));
    assert!(!windows.replace("\r\n", "").contains('\n'));
    let odd = "format = 1\r\n[[ allow ]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n# end";
    assert_eq!(updated(Some(odd), vec![]), odd);
}

#[test]
fn measured_goes_before_what_it_measured() {
    let text = format!("# ours\nformat = 1\n\n# why\n{THREADS}");
    let measured_too = text.replacen("\n\n", &format!("\n\n{MEASURED}\n"), 1);
    assert_eq!(settled(Some(&text), &all_of_the_run(vec![])), measured_too);
    // It stays there without allowances, and above the only one.
    let alone = format!("# ours\nformat = 1\n\n{MEASURED}");
    assert_eq!(removed(&measured_too, &["threads"]), alone);
    let replaced = Acceptance {
        removed: vec![AllowanceSubject::Resource(Resource::Threads)],
        ..all_of_the_run(vec![accept("a", 1.0, 8.0)])
    };
    let updated = settled(Some(&format!("format = 1\n{THREADS}")), &replaced);
    let place = |table| updated.find(table).unwrap();
    assert!(place("[measured]") < place("[[allow]]"), "{updated}");
    // Iterations, which differ in each run, change with what else it was measured with.
    let of_run = |iterations| Acceptance {
        measured: Some(MeasuredWith {
            iterations,
            ..measured()
        }),
        ..with(vec![accept("a", 1.0, 8.0)])
    };
    let once = settled(None, &of_run(64));
    assert_eq!(settled(Some(&once), &of_run(128)), once);
}

/// A server's file says what its rates are per, and nothing that nobody knows.
#[test]
fn rates_of_a_server() {
    let per = |per: &str| Acceptance {
        measured: Some(MeasuredWith {
            test: Some("lru/watch".to_owned()),
            per: per.parse().unwrap(),
            sample_interval: 524_288,
            iterations: 1024,
            ..MeasuredWith::default()
        }),
        ..with(vec![accept("a", 1.0, 8.0)])
    };
    let by_requests = settled(None, &per("http_requests_total"));
    let (head, _) = by_requests.split_once("[[allow]]").unwrap();
    assert_snapshot!(head, @r#"
    # What this scenario may grow per http_requests_total, as agreed with `plimsoll accept`.
    format = 1

    [measured]
    test = "lru/watch"
    per = "http_requests_total"
    sample-interval = 524288
    iterations = 1024
    "#);
    assert_snapshot!(settled(Some(&by_requests), &per("second")), @"error: rates of another unit: expected allowances per second, found allowances per http_requests_total");
    let by_second = by_requests.replace("\"http_requests_total\"", "\"second\"");
    let (empty, _) = by_second.split_once("[[allow]]").unwrap();
    let anew = settled(Some(empty), &per("http_requests_total"));
    assert!(anew.contains("per = \"http_requests_total\"\n"), "{anew}");
    let wrong = by_second.replace("\"second\"", "\"a second\"");
    assert_snapshot!(parsed(&wrong), @"error: line 6: unexpected `per`: expected `second`, or the name of a counter, found `a second`");
}

#[test]
fn equal_allowances_become_one() {
    let text = "format = 1\n\
        # one\n[[allow]]\nstack = ['a::h0123456789abcdef']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        # other\n[[allow]]\nstack = ['b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        # two\n[[allow]] # three\nstack = ['a', # four\n]\nobjects = 1 # five\nbytes = 8\n\
        law = 'linear'\nreason = 'no #6'\n";
    let accepted = accept("a::h00112233aabbccdd", 3.0, 8.0);
    let expected = "format = 1\n\
        # one\n# two\n# three\n# four\n# five\n[[allow]]\nstack = ['a::h0123456789abcdef']\n\
        objects = 3.0\nbytes = 8\nlaw = 'linear'\nreason = \"no #6\"\n# other\n"
        .to_owned();
    assert_eq!(updated(Some(text), vec![accepted]), expected + &entry("b"));
    assert_snapshot!(parsed(&moved(text, "a", "b a")), @"
    b;a 2.0 16.0 linear reason=no #6
    b 1.0 8.0 linear
    ");
}

/// Two that are accepted on two branches are lines apart, where something is between them.
#[test]
fn a_new_one_stands_where_its_stack_belongs() {
    let accepted = |names: &[&str]| names.iter().map(|name| accept(name, 1.0, 8.0)).collect();
    let before = updated(None, accepted(&["c", "e"]));
    let many: Vec<String> = (0..200).map(|n| format!("d{n:03}")).collect();
    let most: Vec<&str> = many.iter().map(String::as_str).collect();
    for (names, expected) in [
        (&[][..], "ce"),
        (&["a"], "ace"),
        (&["d"], "cde"),
        (&["f"], "cef"),
        (&["b", "a", "d", "f"], "abcdef"),
        (&most, &format!("c{}e", many.concat())),
    ] {
        let after = updated(Some(&before), accepted(names));
        let stacks = after.lines().filter(|line| line.starts_with("    \""));
        let stacks = stacks.map(|line| line.trim_matches([' ', '"', ',']));
        assert_eq!(stacks.collect::<String>(), expected, "{after}");
        // Nothing else changes.
        let mut left = after.lines();
        let stays = before.lines().all(|line| left.any(|other| other == line));
        assert!(stays, "{after}");
    }
}

#[test]
fn an_expired_allowance() {
    let text = format!(
        "format = 1\n{}expires = '2026-01-01' # spring\n",
        entry("a")
    );
    let last = |expired, date: Option<Date>| {
        let mut accepted = accept("a", 1.0, 8.0);
        accepted.expired = expired;
        accepted.allowance.expires = date;
        let text = updated(Some(&text), vec![accepted]);
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_snapshot!(last(false, None), @"expires = '2026-01-01' # spring");
    assert_snapshot!(last(true, None), @"law = 'linear'");
    assert_snapshot!(last(true, Date::new(2027, 1, 1)), @r#"expires = "2027-01-01" # spring"#);
}

#[test]
fn what_is_not_written() {
    assert_snapshot!(updated(Some("format = 2"), vec![]), @"error: line 1: written by a newer plimsoll: expected format 1 or older, found 2");
    assert_snapshot!(updated(Some("format = 1\nx = 1"), vec![]), @"error: line 2: unknown key `x`: expected one of `format`, `measured`, `allow`");
    assert_snapshot!(updated(None, vec![accept("a", f64::NAN, 1.0)]), @"error: unexpected `objects`: expected a rate from 0 to 1e15, found `NaN`");
    assert_snapshot!(updated(None, vec![accept("a", 1.0, -1.0)]), @"error: unexpected `bytes`: expected a rate from 0 to 1e15, found `-1.0`");
    assert_snapshot!(updated(None, vec![accept("a ... b", 1.0, 1.0)]), @"error: unexpected `stack`: expected a frame's name, found `...`");
    assert_snapshot!(updated(None, vec![accept(&"a ".repeat(MAX_FRAMES + 1), 1.0, 1.0)]), @"error: line 5: too many frames: expected at most 1000, found 1001");
}

#[test]
fn a_stripped_build() {
    let stack = "leaks-0d41d9de727c60ea libc.so.6";
    let error = update(None, &with(vec![accept(stack, 1.0, 8.0)])).unwrap_err();
    assert_snapshot!(error.explain("baselines/lru.toml", "lru"), @"
    baselines/lru.toml: a stack without names
      expected functions, found `leaks-0d41d9de727c60ea`, which cargo calls otherwise in another build
      hint: the build was stripped: set `strip = false` in the profile in Cargo.toml, measure and accept again
    ");
    for named in [
        "a::b libc.so.6",
        "deadbeefdeadbeef",
        "x-0d41",
        "<a-0123456789abcdef>::d",
    ] {
        assert!(
            update(None, &with(vec![accept(named, 1.0, 8.0)])).is_ok(),
            "{named}"
        );
    }
    // One that was written before is read, and can be taken out.
    let text = format!("format = 1\n{}", entry("leaks-0d41d9de727c60ea"));
    assert_eq!(removed(&text, &["leaks-0d41d9de727c60ea"]), "format = 1\n");
}

const CALLERS: &str = r#"format = 1

# The index.
[[allow]]
stack = [
    "main", # ours
    "old", # the caller
    "a",
    "b", # the leaf
]
objects = 1 # as measured
bytes = 48
law = "linear"
reason = "never pruned"
expires = 2027-01-31

[[allow]]
stack = ['x', 'a']
objects = 2
bytes = 8
law = "linear"
"#;

/// New frames, and the lines of the stack that had been `main old a b`.
const MOVED: &str = r#"
main new a b = "main", # ours | "new", # the caller | "a", | "b", # the leaf
main one two a b = "main", # ours | "one", # the caller | "two", | "a", | "b", # the leaf
main a b = "main", # ours | # the caller | "a", | "b", # the leaf
a b = # ours | # the caller | "a", | "b", # the leaf
x main old a b = "x", | "main", # ours | "old", # the caller | "a", | "b", # the leaf
main old = "main", # ours | "old", # the caller | # the leaf
p q = "p", # ours | "q", # the caller | # the leaf
"#;

#[test]
fn a_moved_allowance_keeps_all_but_its_caller() {
    // The lines of the frames of its first allowance; the rest is as it was.
    let (start, rest) = CALLERS.split_once("    \"main\"").unwrap();
    let end = &rest[rest.find("]\nobjects").unwrap()..];
    for line in MOVED.trim().lines() {
        let (to, expected) = line.split_once(" = ").unwrap();
        let text = moved(CALLERS, "main old a b", to);
        let frames = text
            .strip_prefix(start)
            .and_then(|text| text.strip_suffix(end));
        let frames = frames.unwrap_or_else(|| panic!("{to}: {text}")).lines();
        let frames: Vec<&str> = frames.map(str::trim).collect();
        assert_eq!(frames.join(" | "), expected, "{to}");
    }
    for (to, line) in [
        ("y a", r#"stack = ["y", 'a']"#),
        ("y z a", r#"stack = ["y", "z", 'a']"#),
        ("w x a", r#"stack = ["w", 'x', 'a']"#),
        ("a", "stack = ['a']"),
    ] {
        let expected = CALLERS.replace("stack = ['x', 'a']", line);
        assert_eq!(moved(CALLERS, "x a", to), expected);
    }
    let lines = CALLERS.replace("['x', 'a']", "[\n    'x',\n    'y',\n    'a',\n]");
    let shorter = CALLERS.replace("['x', 'a']", "[\n    'a',\n]");
    assert_eq!(moved(&lines, "x y a", "a"), shorter);
    let last = CALLERS.replace("['x', 'a']", "[\n    'x', # x\n    'y', 'a'\n]");
    let longer = last.replace("'a'\n", "'a',\n    \"b\"\n");
    assert_eq!(moved(&last, "x y a", "x y a b"), longer);
    let shorter = last.replace(", 'a'", "");
    assert_eq!(moved(&last, "x y a", "x y"), shorter);
    let empty = CALLERS.replace("['x', 'a']", "[]");
    let filled = CALLERS.replace("['x', 'a']", r#"["y", "a"]"#);
    assert_eq!(moved(&empty, "", "y a"), filled);
    // Nothing to move; as it is; or what somebody has written there since.
    assert_eq!(moved(CALLERS, "main gone", "main new"), CALLERS);
    assert_eq!(moved(CALLERS, "x a", "x a"), CALLERS);
    assert_eq!(moved(CALLERS, "x a", "main old a b"), CALLERS);
    assert_eq!(moved("format = 1\n", "a", "b"), "format = 1\n");
}

#[test]
fn a_removed_allowance_takes_its_own_comment_along() {
    let first = "# the first\n[[allow]] # odd\nstack = [\n    '...',\n    'a', # leaf\n]\n\
                 objects = 1\nbytes = 8\nlaw = 'linear'\n";
    let second = format!("# the second\n# in two lines\n{THREADS}");
    let (head, tail) = ("# ours\nformat = 1\n\n# Caches.\n\n", "# The end.\n");
    let third = entry("b");
    let text = format!("{head}{first}{second}\n# Pools.\n\n{third}\n{tail}");
    assert_eq!(removed(&text, &["... a"]), text.replace(first, ""));
    assert_eq!(removed(&text, &["threads"]), text.replace(&second, ""));
    let none = format!("{head}# Pools.\n\n{tail}");
    assert_eq!(removed(&text, &["b", "threads", "... a"]), none);
    assert_eq!(removed(&text, &["a", "descriptors", "... b"]), text);
    let windows = text.replace('\n', "\r\n");
    let expected = removed(&text, &["threads"]).replace('\n', "\r\n");
    assert_eq!(removed(&windows, &["threads"]), expected);
}
