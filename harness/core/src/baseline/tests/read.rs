//! What the text of a baseline means, and what is said of a wrong one.

use super::*;

/// The outcome for a file with one allowance, whose lines are given after `[[allow]]`.
fn allow(lines: &str) -> String {
    parsed(&format!("format = 1\n[[allow]]\n{lines}\n"))
}

#[track_caller]
fn explained(text: &str) -> String {
    let error = Baseline::parse(text.as_bytes()).unwrap_err();
    error.explain("baselines/lru.toml", "lru")
}

#[test]
fn everything() {
    assert_snapshot!(parsed(FULL), @r#"
    MeasuredWith { test: None, per: Iteration, target: "x86_64-unknown-linux-gnu", profile: "debug", toolchain: "rustc 1.95.0", jemalloc: "5.3.0", sample_interval: 1, iterations: 65536 }
    ...;lru_churn::fill;lru::LruCache::put 1.0 48.5 linear reason=never pruned issue=https://example.org/7 expires=2027-01-31
    threads 0.5 0.0 stepped expires=2027-02-28
    "#);
    assert_eq!(Baseline::parse(b"format = 1"), Ok(Baseline::default()));
    // A function may have the name of a resource.
    assert_snapshot!(parsed(&format!("format = 1\n{THREADS}{}", entry("threads"))), @"
    threads 1.0 0.0 linear
    threads 1.0 8.0 linear
    ");
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

#[test]
fn no_baseline() {
    assert_snapshot!(parsed(""), @"error: `format` is missing: expected it in the file, found none");
    assert_snapshot!(parsed("format = 0"), @"error: line 1: unexpected `format`: expected a format from 1 to 1, found `0`");
    assert_snapshot!(parsed("format = '1'"), @r#"error: line 1: unexpected `format`: expected a format from 1 to 1, found the text `"1"`"#);
    assert_snapshot!(parsed("\nnew = true\nformat = 3"), @"error: line 3: written by a newer plimsoll: expected format 1 or older, found 3");
    assert_snapshot!(parsed("format = 1\n[[allow]\n"), @"error: line 2: not TOML: unclosed array table, expected `]`");
    assert_snapshot!(parsed("format = 1\nformat = 1\n"), @"error: line 2: not TOML: duplicate key");
    assert_snapshot!(parsed("format = \"\u{202e}\n"), @r#"error: line 1: not TOML: invalid basic string, expected `"`"#);
    assert_snapshot!(Baseline::parse(b"format = 1\n# \xff\n").unwrap_err(), @"line 2: not a text file: expected UTF-8, found other bytes");
}

#[test]
fn unknown_and_missing_keys() {
    assert_snapshot!(parsed("format = 1\nalow = []"), @"error: line 2: unknown key `alow`: expected one of `format`, `measured`, `allow`");
    assert_snapshot!(parsed("format = 1\n\n[measured]\nsample_interval = 1"), @"error: line 4: unknown key `sample_interval`: expected one of `test`, `per`, `target`, `profile`, `toolchain`, `jemalloc`, `sample-interval`, `iterations`");
    assert_snapshot!(allow("stack = []\nbyte = 1"), @"error: line 4: unknown key `byte`: expected one of `stack`, `resource`, `objects`, `bytes`, `law`, `bytes-law`, `reason`, `issue`, `expires`");
    assert_snapshot!(allow("\"#\\u001b[31m\u{202e}\" = 1"), @r#"error: line 3: unknown key `#\u{1b}[31m\u{202e}`: expected one of `stack`, `resource`, `objects`, `bytes`, `law`, `bytes-law`, `reason`, `issue`, `expires`"#);
    assert_snapshot!(allow(""), @"error: line 2: `stack` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("stack = ['a']"), @"error: line 2: `objects` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("stack = ['a']\nobjects = 1"), @"error: line 2: `bytes` is missing: expected it in [[allow]], found none");
    assert_snapshot!(allow("resource = 'threads'\nobjects = 1"), @"error: line 2: `law` is missing: expected it in [[allow]], found none");
    assert_snapshot!(parsed("format = 1\n[measured]\ntarget = 'x'"), @"error: line 2: `profile` is missing: expected it in [measured], found none");
}

#[test]
fn values() {
    assert_snapshot!(allow("resource = 'descriptors'\nobjects = 1\nlaw = 'linear'"), @"descriptors 1.0 0.0 linear");
    assert_snapshot!(allow("resource = 'files'"), @"error: line 3: unexpected `resource`: expected `threads`, `descriptors`, `mappings` or `outside`, found `files`");
    assert_snapshot!(allow("resource = 'threads'\nstack = []"), @"error: line 3: unexpected `resource`: expected either `stack` or `resource`, found `threads`");
    assert_snapshot!(allow("resource = 'threads'\nobjects = 1\nbytes = 1"), @"error: line 5: unexpected `bytes`: expected no bytes beside the resource `threads`, found `1`");
    assert_snapshot!(allow("resource = 'outside'\nbytes = 4096\nlaw = 'linear'"), @"outside 0.0 4096.0 linear");
    assert_snapshot!(allow("resource = 'outside'\nobjects = 1"), @"error: line 4: unexpected `objects`: expected no objects beside the resource `outside`, found `1`");
    assert_snapshot!(allow("resource = 'mappings'\nobjects = 1\nlaw = 'linear'"), @"mappings 1.0 0.0 linear");
    assert_snapshot!(allow("stack = 'a'"), @"error: line 3: unexpected `stack`: expected an array of frames, found `a`");
    assert_snapshot!(allow("stack = [\n  'a',\n  1,\n]"), @"error: line 5: unexpected `stack`: expected a frame's name, found `1`");
    assert_snapshot!(allow("stack = ['...', '...']"), @r#"error: line 3: unexpected `stack`: expected a frame beside `"..."`, found a pattern for everything"#);
    assert_snapshot!(parsed("format = 1\nallow = [{ stack = ['a'] }]"), @"error: line 2: unexpected `allow`: expected tables `[[allow]]`, found an array");
    assert_snapshot!(parsed("format = 1\nmeasured = {}"), @"error: line 2: unexpected `measured`: expected a header `[measured]`, found a table");
    let interval = FULL.replace("sample-interval = 1", "sample-interval = 0");
    assert_snapshot!(parsed(&interval), @"error: line 10: unexpected `sample-interval`: expected 1, which is exact, or more, found `0`");

    let rate = |rate| {
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
    // As many frames and bytes as there may be.
    let most = entry(&format!("a{}", " a".repeat(MAX_FRAMES - 1)));
    assert!(Baseline::parse(format!("format = 1\n{most}").as_bytes()).is_ok());
    let longest = entry(&"a".repeat(MAX_FRAME_BYTES));
    assert!(Baseline::parse(format!("format = 1\n{longest}").as_bytes()).is_ok());
}

#[test]
fn errors_with_hints() {
    assert_snapshot!(explained("format = 3"), @"
    baselines/lru.toml:1: written by a newer plimsoll
      expected format 1 or older, found 3
      hint: upgrade, or remove the file and re-record with `plimsoll accept lru`
    ");
    assert_snapshot!(explained("format = 1\nmeasurd = 1"), @"
    baselines/lru.toml:2: unknown key `measurd`
      expected one of `format`, `measured`, `allow`
      hint: did you mean `measured`?
    ");
    // Each of two people has accepted it, and a merge kept both.
    let one = entry("a");
    let stack_twice = explained(&format!("format = 1\n{one}{THREADS}{one}"));
    assert_snapshot!(stack_twice, @"
    baselines/lru.toml:11: allowed twice
      expected one `[[allow]]` for each stack or resource, found the same on line 2
      hint: keep one of the two, with the rate that both together may have
    ");
    let threads_twice = explained(&format!("format = 1\n{THREADS}{one}{THREADS}"));
    assert_eq!(threads_twice, stack_twice);
    assert_snapshot!(explained(&format!("format = 1\n{one}<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> theirs\n")), @"
    baselines/lru.toml:7: a merge conflict
      expected a baseline, found git's conflict markers
      hint: keep each `[[allow]]` of both sides once, or take one side and run `plimsoll accept lru`
    ");
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
