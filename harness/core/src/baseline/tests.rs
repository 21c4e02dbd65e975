use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::fold::normalize_frame;

/// What is read, one line for each thing, or the error.
#[track_caller]
fn parsed(text: &str) -> String {
    match Baseline::parse(text.as_bytes()) {
        Ok(baseline) => shown(&baseline),
        Err(err) => format!("error: {err}"),
    }
}

fn shown(baseline: &Baseline) -> String {
    let mut lines = Vec::new();
    if let Some(measured) = &baseline.measured {
        lines.push(format!("{measured:?}"));
    }
    for Allowance {
        subject,
        rate,
        law,
        bytes_law,
        reason,
        issue,
        expires,
    } in &baseline.allowances
    {
        let words = [
            (bytes_law != law).then(|| format!(" bytes={bytes_law}")),
            reason.as_ref().map(|reason| format!(" reason={reason}")),
            issue.as_ref().map(|issue| format!(" issue={issue}")),
            expires.map(|date| format!(" expires={date}")),
        ];
        let words: String = words.into_iter().flatten().collect();
        lines.push(format!(
            "{subject} {:?} {:?} {law}{words}",
            rate.objects, rate.bytes
        ));
    }
    lines.join("\n")
}

/// A file with one allowance, whose lines are given after `[[allow]]`.
fn allow(lines: &str) -> String {
    parsed(&format!("format = 1\n[[allow]]\n{lines}\n"))
}

const FULL: &str = r#"
# Agreed on in May.
format = 1 # the first

[measured]
target = "x86_64-unknown-linux-gnu"
profile = "debug"
toolchain = "rustc 1.95.0"
jemalloc = "5.3.0"
sample-interval = 1
iterations = 65536

# The index.
[[allow]]
stack = [
    "...",
    "lru_churn::fill", # ours
    "lru::LruCache::put",
]
objects = 1
bytes = 48.5
law = "linear"
reason = "never pruned"
issue = "https://example.org/7"
expires = 2027-01-31

[[allow]]
resource = "threads"
objects = 0.5
law = "stepped"
expires = "2027-02-28"

# The end.
"#;

#[test]
fn everything() {
    assert_snapshot!(parsed(FULL), @r#"
    MeasuredWith { test: None, target: "x86_64-unknown-linux-gnu", profile: "debug", toolchain: "rustc 1.95.0", jemalloc: "5.3.0", sample_interval: 1, iterations: 65536 }
    ...;lru_churn::fill;lru::LruCache::put 1.0 48.5 linear reason=never pruned issue=https://example.org/7 expires=2027-01-31
    threads 0.5 0.0 stepped expires=2027-02-28
    "#);
}

#[test]
fn nothing_allowed() {
    assert_eq!(Baseline::parse(b"format = 1"), Ok(Baseline::default()));
}

#[test]
fn equal_allowances_add_up() {
    let text = "format = 1\n\
        [[allow]]\nstack = ['a']\nobjects = 1\nbytes = 8\nlaw = 'linear'\nexpires = 2027-02-01\n\
        [[allow]]\nstack = ['b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        [[allow]]\nstack = ['a::h0123456789abcdef']\nobjects = 0.5\nbytes = 4\n\
        law = 'stepped'\nreason = 'two'\nexpires = 2027-01-01\n\
        [[allow]]\nstack = ['a::h00112233aabbccdd']\nobjects = 0\nbytes = 4\nlaw = 'stepped'\nreason = 'three'\n";
    assert_snapshot!(parsed(text), @r"
    a 1.5 16.0 linear reason=two expires=2027-01-01
    b 1.0 8.0 linear
    ");
}

/// Each of two people has agreed to it, and a merge kept both.
#[test]
fn the_same_twice() {
    let one = "[[allow]]\nstack = ['a']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n";
    let threads = "[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";
    let explained = |text: &str| {
        let error = Baseline::parse(text.as_bytes()).unwrap_err();
        error.explain("baselines/lru.toml", "lru")
    };
    assert_snapshot!(explained(&format!("format = 1\n{one}{threads}{one}")), @"
    baselines/lru.toml:11: allowed twice
      expected one `[[allow]]` for each stack or resource, found the same on line 2
      hint: keep one of the two, with the rate that both together may have
    ");
    assert_snapshot!(explained(&format!("format = 1\n{threads}{one}{threads}")), @"
    baselines/lru.toml:11: allowed twice
      expected one `[[allow]]` for each stack or resource, found the same on line 2
      hint: keep one of the two, with the rate that both together may have
    ");
    let function = threads.replace("resource = 'threads'", "stack = ['threads']\nbytes = 8");
    let both = format!("format = 1\n{threads}{function}");
    assert_eq!(
        Baseline::parse(both.as_bytes()).map(|all| all.allowances.len()),
        Ok(2)
    );
    let conflict = format!("format = 1\n{one}<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> theirs\n");
    assert_snapshot!(explained(&conflict), @"
    baselines/lru.toml:7: a merge conflict
      expected a baseline, found git's conflict markers
      hint: keep each `[[allow]]` of both sides once, or take one side and run `plimsoll accept lru`
    ");
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
    let text = "format = 1\n[[allow]]\nstack = ['leaks-0d41d9de727c60ea']\nobjects = 1\n\
        bytes = 8\nlaw = 'linear'\n";
    let removed = AllowanceSubject::Stack(StackPattern::exact(&folded("leaks-0d41d9de727c60ea")));
    let acceptance = Acceptance {
        removed: vec![removed],
        ..Acceptance::default()
    };
    assert_snapshot!(update(Some(text), &acceptance).unwrap(), @"format = 1");
}

/// Two that are agreed to on two branches are lines apart, where something is between them.
#[test]
fn a_new_one_stands_where_its_stack_belongs() {
    let before = updated(None, vec![accept("c", 1.0, 8.0), accept("e", 1.0, 8.0)]);
    let stacks = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("    \""));
        lines
            .map(|line| line.trim_matches([' ', '"', ',']))
            .collect::<String>()
    };
    let new = |names: &[&str]| {
        let accepted = names.iter().map(|name| accept(name, 1.0, 8.0)).collect();
        updated(Some(&before), accepted)
    };
    assert_eq!(stacks(&before), "ce");
    for (names, expected) in [
        (&["a"][..], "ace"),
        (&["d"], "cde"),
        (&["f"], "cef"),
        (&["b", "a", "d", "f"], "abcdef"),
    ] {
        let after = new(names);
        assert_eq!(stacks(&after), expected, "{after}");
        // Nothing else changes.
        let mut left = after.lines();
        assert!(
            before.lines().all(|line| left.any(|other| other == line)),
            "{after}"
        );
    }
    // As many as there may be.
    let many: Vec<String> = (0..200).map(|n| format!("d{n:03}")).collect();
    let after = new(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(stacks(&after), format!("c{}e", many.concat()));
    // Of the run, what differs each time changes with what it was measured with.
    let measured = |iterations| Acceptance {
        measured: Some(MeasuredWith {
            iterations,
            ..measured()
        }),
        ..with(vec![accept("a", 1.0, 8.0)])
    };
    let once = update(None, &measured(64)).unwrap();
    assert_eq!(update(Some(&once), &measured(128)), Ok(once));
}

#[test]
fn formats() {
    assert_snapshot!(parsed(""), @"error: `format` is missing: expected it in the file, found none");
    assert_snapshot!(parsed("format = 0"), @"error: line 1: unexpected `format`: expected a format from 1 to 1, found `0`");
    assert_snapshot!(parsed("format = '1'"), @r#"error: line 1: unexpected `format`: expected a format from 1 to 1, found the text `"1"`"#);
    assert_snapshot!(parsed("\nnew = true\nformat = 3"), @"error: line 3: written by a newer plimsoll: expected format 1 or older, found 3");
}

#[test]
fn not_toml() {
    assert_snapshot!(parsed("format = 1\n[[allow]\n"), @"error: line 2: not TOML: unclosed array table, expected `]`");
    assert_snapshot!(parsed("format = 1\nformat = 1\n"), @"error: line 2: not TOML: duplicate key");
    assert_snapshot!(parsed("format = \"\u{202e}\n"), @r#"error: line 1: not TOML: invalid basic string, expected `"`"#);
    let bytes = Baseline::parse(b"format = 1\n# \xff\n");
    assert_snapshot!(bytes.unwrap_err(), @"line 2: not a text file: expected UTF-8, found other bytes");
}

#[test]
fn unknown_keys() {
    assert_snapshot!(parsed("format = 1\nalow = []"), @"error: line 2: unknown key `alow`: expected one of `format`, `measured`, `allow`");
    assert_snapshot!(parsed("format = 1\n\n[measured]\nsample_interval = 1"), @"error: line 4: unknown key `sample_interval`: expected one of `test`, `target`, `profile`, `toolchain`, `jemalloc`, `sample-interval`, `iterations`");
    assert_snapshot!(allow("stack = []\nbyte = 1"), @"error: line 4: unknown key `byte`: expected one of `stack`, `resource`, `objects`, `bytes`, `law`, `bytes-law`, `reason`, `issue`, `expires`");
    assert_snapshot!(allow("\"#\\u001b[31m\u{202e}\" = 1"), @r#"error: line 3: unknown key `#\u{1b}[31m\u{202e}`: expected one of `stack`, `resource`, `objects`, `bytes`, `law`, `bytes-law`, `reason`, `issue`, `expires`"#);
}

#[test]
fn missing_keys() {
    assert_snapshot!(allow(""), @"error: line 2: `stack` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("stack = ['a']"), @"error: line 2: `objects` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("stack = ['a']\nobjects = 1"), @"error: line 2: `bytes` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("resource = 'threads'\nobjects = 1"), @"error: line 2: `law` is missing: expected it in [[allow]], found none");
    assert_snapshot!(parsed("format = 1\n[measured]\ntarget = 'x'"), @"error: line 2: `profile` is missing: expected it in [measured], found none");
}

#[test]
fn subjects() {
    assert_snapshot!(allow("resource = 'descriptors'\nobjects = 1\nlaw = 'linear'"), @"descriptors 1.0 0.0 linear");
    assert_snapshot!(allow("resource = 'files'"), @"error: line 3: unexpected `resource`: expected `threads` or `descriptors`, found `files`");
    assert_snapshot!(allow("resource = 'threads'\nstack = []"), @"error: line 3: unexpected `resource`: expected either `stack` or `resource`, found `threads`");
    assert_snapshot!(allow("resource = 'threads'\nobjects = 1\nbytes = 1"), @"error: line 5: unexpected `bytes`: expected no bytes beside a `resource`, found `1`");
    assert_snapshot!(allow("stack = 'a'"), @"error: line 3: unexpected `stack`: expected an array of frames, found `a`");
    assert_snapshot!(allow("stack = [\n  'a',\n  1,\n]"), @"error: line 5: unexpected `stack`: expected a frame's name, found `1`");
    assert_snapshot!(allow("stack = ['...', '...']"), @r#"error: line 3: unexpected `stack`: expected a frame beside `"..."`, found a pattern for everything"#);
    assert_snapshot!(parsed("format = 1\nallow = [{ stack = ['a'] }]"), @"error: line 2: unexpected `allow`: expected tables `[[allow]]`, found an array");
}

#[test]
fn rates() {
    let rate = |rate: &str| {
        allow(&format!(
            "resource = 'threads'\nlaw = 'linear'\nobjects = {rate}"
        ))
    };
    assert_snapshot!(rate("1_000"), @"threads 1000.0 0.0 linear");
    assert_snapshot!(rate("1e-3"), @"threads 0.001 0.0 linear");
    assert_snapshot!(rate("-0.0"), @"threads 0.0 0.0 linear");
    assert_snapshot!(rate("nan"), @"error: line 5: unexpected `objects`: expected a rate from 0 to 1e15, found `NaN`");
    assert_snapshot!(rate("inf"), @"error: line 5: unexpected `objects`: expected a rate from 0 to 1e15, found `inf`");
    assert_snapshot!(rate("-0.5"), @"error: line 5: unexpected `objects`: expected a rate from 0 to 1e15, found `-0.5`");
    assert_snapshot!(rate("9_000_000_000_000_000"), @"error: line 5: unexpected `objects`: expected a rate from 0 to 1e15, found `9000000000000000`");
    assert_snapshot!(rate("'1'"), @r#"error: line 5: unexpected `objects`: expected a rate from 0 to 1e15, found the text `"1"`"#);
}

#[test]
fn laws_and_dates() {
    let with = |line: &str| allow(&format!("resource = 'threads'\nobjects = 1\n{line}"));
    assert_snapshot!(with("law = 'quadratic'"), @"error: line 5: unexpected `law`: expected `linear`, `stepped`, `filling` or `fluctuating`, found `quadratic`");
    assert_snapshot!(with("law = 'linear'\nexpires = 2027-02-30"), @"error: line 6: not TOML: invalid date, expected day between 01 and 28");
    assert_snapshot!(with("law = 'linear'\nexpires = '2027-02-30'"), @"error: line 6: unexpected `expires`: expected a day of the calendar as `YYYY-MM-DD`, found `2027-02-30`");
    assert_snapshot!(with("law = 'linear'\nexpires = 2027-02-03T12:00:00Z"), @"error: line 6: unexpected `expires`: expected a day of the calendar as `YYYY-MM-DD`, found `2027-02-03T12:00:00Z`");
    assert_snapshot!(with("law = 'linear'\nreason = 7"), @"error: line 6: unexpected `reason`: expected a string, found `7`");
}

#[test]
fn limits() {
    let large = vec![b'#'; MAX_BYTES + 1];
    assert_snapshot!(Baseline::parse(&large).unwrap_err(), @"too many bytes: expected at most 8388608, found 8388609");
    assert_snapshot!(parsed(&"[[allow]]\n".repeat(MAX_ALLOWANCES + 1).replacen("", "format = 1\n", 1)), @"error: too many allowances: expected at most 10000, found 10001");
    assert_snapshot!(parsed(&format!("a = [{}]", "1,".repeat(1_000_000))), @"error: too many values: expected at most 262144, found 1000002");
    assert_snapshot!(allow(&format!("stack = [{}]", "'a',".repeat(MAX_FRAMES + 1))), @"error: line 3: too many frames: expected at most 1000, found 1001");
    assert_snapshot!(allow(&format!("stack = ['{}']", "a".repeat(MAX_FRAME_BYTES + 1))), @"error: line 3: too many bytes in a frame: expected at most 4096, found 4097");
    assert_snapshot!(parsed(&format!("a = {}", "[".repeat(100_000))), @"error: line 1: not TOML: cannot recurse further; max recursion depth met");
}

#[test]
fn explained() {
    let explain = |text: &str| {
        let err = Baseline::parse(text.as_bytes()).unwrap_err();
        err.explain("baselines/lru_churn.toml", "lru_churn")
    };
    assert_snapshot!(explain("format = 3"), @"
    baselines/lru_churn.toml:1: written by a newer plimsoll
      expected format 1 or older, found 3
      hint: upgrade, or remove the file and re-record with `plimsoll accept lru_churn`
    ");
    assert_snapshot!(explain("format = 1\nmeasurd = 1"), @"
    baselines/lru_churn.toml:2: unknown key `measurd`
      expected one of `format`, `measured`, `allow`
      hint: did you mean `measured`?
    ");
}

/// A file's text after an allowance was accepted.
#[track_caller]
fn updated(existing: Option<&str>, allowances: Vec<Accepted>) -> String {
    settled(existing, &with(allowances))
}

fn with(allowances: Vec<Accepted>) -> Acceptance {
    Acceptance {
        allowances,
        ..Acceptance::default()
    }
}

/// A file's text after all of it was accepted.
#[track_caller]
fn settled(existing: Option<&str>, acceptance: &Acceptance) -> String {
    let text = match update(existing, acceptance) {
        Ok(text) => text,
        Err(err) => return format!("error: {err}"),
    };
    assert_eq!(
        update(Some(&text), acceptance).as_ref(),
        Ok(&text),
        "accepted twice"
    );
    text
}

fn folded(frames: &str) -> FoldedStack {
    FoldedStack(frames.split_whitespace().map(str::to_owned).collect())
}

/// One accepted stack, its frames in one word each.
fn accept(frames: &str, objects: f64, bytes: f64) -> Accepted {
    let stack = folded(frames);
    let allowance = Allowance {
        subject: AllowanceSubject::Stack(StackPattern::exact(&stack)),
        rate: Rate { objects, bytes },
        law: Law::Linear,
        bytes_law: Law::Linear,
        reason: None,
        issue: None,
        expires: None,
    };
    Accepted {
        allowance,
        expired: false,
    }
}

fn measured() -> MeasuredWith {
    MeasuredWith {
        test: Some("lru/leaks".to_owned()),
        target: "aarch64-unknown-linux-gnu".to_owned(),
        profile: "release".to_owned(),
        toolchain: "rustc 1.96.0".to_owned(),
        jemalloc: "5.3.1".to_owned(),
        sample_interval: 1,
        iterations: 1024,
    }
}

#[test]
fn a_new_file() {
    let mut site = accept("b::c", 0.0, 0.25);
    site.allowance.subject = AllowanceSubject::Stack(StackPattern::ending_in(&FoldedStack(vec![
        "b::c".to_owned(),
    ])));
    let mut threads = accept("", 1.0, 0.0);
    threads.allowance.subject = AllowanceSubject::Threads;
    threads.allowance.reason = Some("a pool that is \"never\" joined\nas it should be".to_owned());
    threads.allowance.issue = Some("https://example.org/7".to_owned());
    threads.allowance.expires = Date::new(2027, 1, 31);
    let acceptance = Acceptance {
        measured: Some(measured()),
        allowances: vec![
            threads,
            accept("main a <dyn b>::\"c\"", 30.7213, 48.0),
            site,
        ],
        ..Acceptance::default()
    };
    assert_snapshot!(update(None, &acceptance).unwrap(), @r#"
    # What this scenario may grow per iteration, as agreed with `plimsoll accept`.
    format = 1

    [measured]
    test = "lru/leaks"
    target = "aarch64-unknown-linux-gnu"
    profile = "release"
    toolchain = "rustc 1.96.0"
    jemalloc = "5.3.1"
    sample-interval = 1
    iterations = 1024

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
    let mut leak = accept("lru_churn::fill lru::LruCache::put", 2.0, 96.0);
    leak.allowance.subject = match leak.allowance.subject {
        AllowanceSubject::Stack(pattern) => AllowanceSubject::Stack(StackPattern::new(
            [PatternFrame::Any]
                .into_iter()
                .chain(pattern.frames().iter().cloned()),
        )),
        other => other,
    };
    leak.allowance.law = Law::Stepped;
    leak.allowance.bytes_law = Law::Stepped;
    leak.allowance.issue = Some("https://example.org/8".to_owned());
    let acceptance = Acceptance {
        measured: Some(measured()),
        allowances: vec![leak, accept("z a", 1.0, 8.0)],
        ..Acceptance::default()
    };
    let text = update(Some(FULL), &acceptance).unwrap();
    assert_eq!(update(Some(&text), &acceptance).as_ref(), Ok(&text));
    assert_snapshot!(text, @r#"

    # Agreed on in May.
    format = 1 # the first

    [measured]
    target = "aarch64-unknown-linux-gnu"
    profile = "release"
    toolchain = "rustc 1.96.0"
    jemalloc = "5.3.1"
    sample-interval = 1
    iterations = 1024
    test = "lru/leaks"

    # The index.
    [[allow]]
    stack = [
        "...",
        "lru_churn::fill", # ours
        "lru::LruCache::put",
    ]
    objects = 2.0
    bytes = 96.0
    law = "stepped"
    reason = "never pruned"
    issue = "https://example.org/8"
    expires = 2027-01-31

    [[allow]]
    stack = [
        "z",
        "a",
    ]
    objects = 1.0
    bytes = 8.0
    law = "linear"

    [[allow]]
    resource = "threads"
    objects = 0.5
    law = "stepped"
    expires = "2027-02-28"

    # The end.
    "#);
}

#[test]
fn what_is_as_agreed_stays_as_it_is_written() {
    let text = "format=1\n[[allow]]   # odd\nlaw='linear'\nstack=['a','b']\n  bytes = 4_8\nobjects=1.000\n";
    assert_eq!(updated(Some(text), vec![accept("a b", 1.0, 48.0)]), text);
    assert_eq!(updated(Some(text), vec![]), text);
}

#[test]
fn measured_goes_before_what_it_measured() {
    let text = "# ours\nformat = 1\n\n# why\n[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";
    let acceptance = Acceptance {
        measured: Some(measured()),
        ..Acceptance::default()
    };
    assert_snapshot!(update(Some(text), &acceptance).unwrap(), @r#"
    # ours
    format = 1

    [measured]
    test = "lru/leaks"
    target = "aarch64-unknown-linux-gnu"
    profile = "release"
    toolchain = "rustc 1.96.0"
    jemalloc = "5.3.1"
    sample-interval = 1
    iterations = 1024

    # why
    [[allow]]
    resource = 'threads'
    objects = 1
    law = 'linear'
    "#);
}

#[test]
fn equal_allowances_become_one() {
    let text = "format = 1\n\
        # one\n[[allow]]\nstack = ['a']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        # other\n[[allow]]\nstack = ['b']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        # two\n[[allow]] # three\nstack = ['a::h0123456789abcdef', # four\n]\nobjects = 1 # five\nbytes = 8\n\
        law = 'linear'\nreason = 'no #6'\n";
    assert_snapshot!(updated(Some(text), vec![accept("a", 3.0, 8.0)]), @r#"
    format = 1
    # one
    # two
    # three
    # four
    # five
    [[allow]]
    stack = ['a']
    objects = 3.0
    bytes = 8
    law = 'linear'
    reason = "no #6"
    # other
    [[allow]]
    stack = ['b']
    objects = 1
    bytes = 8
    law = 'linear'
    "#);
}

#[test]
fn expired() {
    let text = "format = 1\n[[allow]]\nstack = ['a']\nobjects = 1.0\nbytes = 8.0\nlaw = 'linear'\nexpires = '2026-01-01' # spring\n";
    let with = |expired, date: Option<Date>| {
        let mut accepted = accept("a", 1.0, 8.0);
        accepted.expired = expired;
        accepted.allowance.expires = date;
        let text = updated(Some(text), vec![accepted]);
        text.lines().last().unwrap_or_default().to_owned()
    };
    assert_snapshot!(with(false, None), @"expires = '2026-01-01' # spring");
    assert_snapshot!(with(true, None), @"law = 'linear'");
    assert_snapshot!(with(true, Date::new(2027, 1, 1)), @r#"expires = "2027-01-01" # spring"#);
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
fn line_ends_stay() {
    let text = "format = 1\r\n# ours\r\n";
    let text = updated(Some(text), vec![accept("a", 1.0, 8.0)]);
    assert!(text.contains("# ours\r\n"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

/// A file's text after what it has for one stack became another one's.
#[track_caller]
fn moved(existing: &str, from: &str, to: &str) -> String {
    let moved = Moved {
        from: folded(from),
        to: folded(to),
    };
    let acceptance = Acceptance {
        moved: vec![moved],
        ..Acceptance::default()
    };
    settled(Some(existing), &acceptance)
}

/// A file's text without what it has for these, as they are shown.
#[track_caller]
fn removed(existing: &str, shown: &[&str]) -> String {
    let subject = |shown: &&str| {
        AllowanceSubject::from_resource(shown)
            .unwrap_or_else(|| AllowanceSubject::Stack(StackPattern::from_shown(&folded(shown))))
    };
    let acceptance = Acceptance {
        removed: shown.iter().map(subject).collect(),
        ..Acceptance::default()
    };
    settled(Some(existing), &acceptance)
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

#[test]
fn a_moved_allowance_keeps_all_but_its_caller() {
    assert_snapshot!(moved(CALLERS, "main old a b", "main new a b"), @r#"
    format = 1

    # The index.
    [[allow]]
    stack = [
        "main", # ours
        "new", # the caller
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
    "#);
    let stack = |to: &str| {
        let text = moved(CALLERS, "main old a b", to);
        let end = text.find("objects").unwrap();
        text[text.find("stack").unwrap()..end].to_owned()
    };
    assert_snapshot!(stack("main one two a b"), @r#"
    stack = [
        "main", # ours
        "one", # the caller
        "two",
        "a",
        "b", # the leaf
    ]
    "#);
    assert_snapshot!(stack("main a b"), @r#"
    stack = [
        "main", # ours
        # the caller
        "a",
        "b", # the leaf
    ]
    "#);
    assert_snapshot!(stack("a b"), @r#"
    stack = [
        # ours
        # the caller
        "a",
        "b", # the leaf
    ]
    "#);
    assert_snapshot!(stack("x main old a b"), @r#"
    stack = [
        "x",
        "main", # ours
        "old", # the caller
        "a",
        "b", # the leaf
    ]
    "#);
    assert_snapshot!(stack("main old"), @r#"
    stack = [
        "main", # ours
        "old", # the caller
        # the leaf
    ]
    "#);
    assert_snapshot!(stack("p q"), @r#"
    stack = [
        "p", # ours
        "q", # the caller
        # the leaf
    ]
    "#);
    let line = |to: &str| {
        let text = moved(CALLERS, "x a", to);
        text.lines()
            .find(|line| line.contains('[') && line.contains("'a'"))
            .unwrap()
            .to_owned()
    };
    assert_snapshot!(line("y a"), @r#"stack = ["y", 'a']"#);
    assert_snapshot!(line("y z a"), @r#"stack = ["y", "z", 'a']"#);
    assert_snapshot!(line("w x a"), @r#"stack = ["w", 'x', 'a']"#);
    assert_snapshot!(line("a"), @"stack = ['a']");
}

#[test]
fn what_does_not_move() {
    // Nothing to move; as it is; or what somebody has written there since.
    assert_eq!(moved(CALLERS, "main gone", "main new"), CALLERS);
    assert_eq!(moved(CALLERS, "x a", "x a"), CALLERS);
    assert_eq!(moved(CALLERS, "x a", "main old a b"), CALLERS);
    assert_eq!(moved("format = 1\n", "a", "b"), "format = 1\n",);
}

#[test]
fn what_adds_up_moves_together() {
    let text = "format = 1\n\
        [[allow]]\nstack = ['a']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        [[allow]]\nstack = ['a::h0123456789abcdef']\nobjects = 2\nbytes = 8\nlaw = 'linear'\n";
    assert_snapshot!(parsed(&moved(text, "a", "b a")), @"b;a 3.0 16.0 linear");
}

#[test]
fn a_removed_allowance_takes_its_own_comment_along() {
    let text = "\
# ours
format = 1

# Caches.

# the first
[[allow]] # odd
stack = [
    '...',
    'a', # leaf
]
objects = 1
bytes = 8
law = 'linear'
# the second
# in two lines
[[allow]]
resource = 'threads'
objects = 1
law = 'linear'

# Pools.

[[allow]]
stack = ['b']
objects = 1
bytes = 8
law = 'linear'

# The end.
";
    assert_snapshot!(removed(text, &["... a"]), @"
    # ours
    format = 1

    # Caches.

    # the second
    # in two lines
    [[allow]]
    resource = 'threads'
    objects = 1
    law = 'linear'

    # Pools.

    [[allow]]
    stack = ['b']
    objects = 1
    bytes = 8
    law = 'linear'

    # The end.
    ");
    assert_snapshot!(removed(text, &["threads"]), @"
    # ours
    format = 1

    # Caches.

    # the first
    [[allow]] # odd
    stack = [
        '...',
        'a', # leaf
    ]
    objects = 1
    bytes = 8
    law = 'linear'

    # Pools.

    [[allow]]
    stack = ['b']
    objects = 1
    bytes = 8
    law = 'linear'

    # The end.
    ");
    assert_snapshot!(removed(text, &["b", "threads", "... a"]), @"
    # ours
    format = 1

    # Caches.

    # Pools.

    # The end.
    ");
    assert_eq!(removed(text, &["a", "descriptors", "... b"]), text);
    let windows = text.replace('\n', "\r\n");
    assert_eq!(
        removed(&windows, &["threads"]),
        removed(text, &["threads"]).replace('\n', "\r\n")
    );
}

#[test]
fn what_measured_them_stays_without_allowances() {
    let text = settled(
        None,
        &Acceptance {
            measured: Some(measured()),
            ..with(vec![accept("a", 1.0, 8.0)])
        },
    );
    assert_snapshot!(removed(&text, &["a"]), @r#"
    # What this scenario may grow per iteration, as agreed with `plimsoll accept`.
    format = 1

    [measured]
    test = "lru/leaks"
    target = "aarch64-unknown-linux-gnu"
    profile = "release"
    toolchain = "rustc 1.96.0"
    jemalloc = "5.3.1"
    sample-interval = 1
    iterations = 1024
    "#);
}

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
        1 => Just(AllowanceSubject::Threads),
        1 => Just(AllowanceSubject::Descriptors),
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
        let bytes = if subject.resource().is_some() { 0.0 } else { f64::from(bytes) / 1e3 };
        let rate = Rate { objects: f64::from(objects) / 1e3, bytes };
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
        // Nothing but what was agreed to may grow faster than before.
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
        prop_assert_eq!(read, Baseline { measured: accepted.measured, allowances: expected });
    }

    #[test]
    fn accepting_twice_changes_nothing(first in any_acceptance(), second in any_acceptance()) {
        let once = update(None, &first).unwrap();
        prop_assert_eq!(&update(Some(&once), &first).unwrap(), &once);
        let then = update(Some(&once), &second).unwrap();
        prop_assert_eq!(&update(Some(&then), &second).unwrap(), &then);
    }

    #[test]
    fn order_does_not_matter(accepted in any_acceptance()) {
        let subjects: std::collections::BTreeSet<_> =
            accepted.allowances.iter().map(|one| one.allowance.subject.clone()).collect();
        prop_assume!(subjects.len() == accepted.allowances.len());
        let mut turned = accepted.clone();
        turned.allowances.reverse();
        prop_assert_eq!(update(None, &turned), update(None, &accepted));
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

#[test]
fn no_profile_samples_at_no_interval() {
    assert!(Baseline::parse(measured_text(1).as_bytes()).is_ok());
    assert_snapshot!(parsed(&measured_text(0)), @"error: line 7: unexpected `sample-interval`: expected 1, which is exact, or more, found `0`");
}

fn measured_text(interval: u64) -> String {
    format!(
        "format = 1\n[measured]\ntarget = 'x'\nprofile = 'debug'\ntoolchain = 'x'\n\
         jemalloc = '5.3.0'\nsample-interval = {interval}\niterations = 64\n"
    )
}

#[test]
fn what_it_was_measured_with_stays_above_the_only_allowance() {
    let text = "format = 1\n[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n";
    let accepted = Acceptance {
        measured: Some(measured()),
        allowances: vec![accept("a", 1.0, 8.0)],
        removed: vec![AllowanceSubject::Threads],
        ..Acceptance::default()
    };
    let updated = update(Some(text), &accepted).unwrap();
    let place = |table| updated.find(table);
    assert!(place("[measured]") < place("[[allow]]"), "{updated}");
}

#[test]
fn lines_of_allowances() {
    let text = "format = 1\n\n[[allow]]\nstack = [\n  'a', # leaf\n]\nobjects = 1\nbytes = 8\n\
        law = 'linear'\n\n# more\n[[allow]]\nresource = 'threads'\nobjects = 1\nlaw = 'linear'\n\
        reason = \"\"\"\nfor\nthem\"\"\"\n[[allow]]\nlaw = 'linear'\n\
        stack = ['a::h0123456789abcdef']\nobjects = 1\n\
        bytes = 8";
    let (baseline, lines) = Baseline::placed(text.as_bytes()).unwrap();
    assert_eq!(Ok(baseline), Baseline::parse(text.as_bytes()));
    assert_eq!(lines, [vec![3..=9, 19..=23], vec![12..=18]]);
}

#[test]
fn frames_are_normalised_as_they_are_read() {
    let text = "format = 1\n\
        [[allow]]\nstack = ['a::b::h0123456789abcdef']\nobjects = 1\nbytes = 8\nlaw = 'linear'\n\
        [[allow]]\nstack = ['a::b']\nobjects = 0.5\nbytes = 8\nlaw = 'linear'\n";
    assert_snapshot!(parsed(text), @"a::b 1.5 16.0 linear");
    // And written as they are named today.
    let accepted = accept("a::b::h00112233aabbccdd", 1.0, 8.0);
    assert_snapshot!(updated(Some(text), vec![accepted]), @"
    format = 1
    [[allow]]
    stack = ['a::b::h0123456789abcdef']
    objects = 1
    bytes = 8
    law = 'linear'
    ");
}
