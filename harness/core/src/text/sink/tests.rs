use super::*;

/// What a text becomes, a row each.
#[track_caller]
fn check(sink: impl Fn(&str) -> String, rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(sink(text), *expected, "{text:?}");
    }
}

#[test]
fn code_spans() {
    let rows = [
        ("lru::put", "`lru::put`"),
        ("a`b", "``a`b``"),
        ("`a``b", "``` `a``b ```"),
        ("`", "`` ` ``"),
        ("", "`(no name)`"),
        (" \t\u{2028}\u{200b} ", "`(no name)`"),
        ("a\r\nb\u{0}c\u{1b}[31m", "`a  bc[31m`"),
        ("user\u{202e}nimda", "`usernimda`"),
        ("@someone", "`@\u{200b}someone`"),
        ("a|b", "`a|b`"),
        (
            &"x".repeat(41),
            "`xxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxx`",
        ),
    ];
    check(|text| code_span(text, 40), &rows);
    let in_tables = [
        ("a|b", "`a\\|b`"),
        ("a\\|b", "`a\\\u{200b}\\|b`"),
        ("a\\\\|b||", "`a\\\\\u{200b}\\|b\\|\\|`"),
    ];
    check(|text| table_code_span(text, 40), &in_tables);
}

#[test]
fn fences() {
    let steering = "\u{1b}[31mred\u{1b}[0m\u{1b}[é\u{2028}::error::\u{0}";
    let rows = [
        ("a\n  b\r\nc", "```text\na\n  b\nc\n```"),
        ("```\n<b>", "````text\n```\n<b>\n````"),
        (steering, "```text\nred[é\n::error::\n```"),
    ];
    check(|text| fenced(text, 40), &rows);
}

#[test]
fn html_places() {
    let text = "Vec&lt;T&gt;::push(&#39;@\u{200b}a&#39; &amp; &quot;b&quot;)";
    assert_eq!(html_text("Vec<T>::push('@a' & \"b\")", 60), text);
    let attribute = "&quot;&gt;&lt;script&gt;";
    assert_eq!(html_attribute("\"><script>\n", 60), attribute);
}

#[test]
fn addresses() {
    let address = url("https://example.org/a/b?c=d&e=(f)");
    assert_eq!(
        address.as_deref(),
        Some("https://example.org/a/b?c=d&amp;e=%28f%29")
    );
    let no = "javascript:alert(1) https:// https://a\"b https://a`b https://a<b https://a\\b //a https://a|b";
    for no in no.split(' ').chain(["https://a b"]) {
        assert_eq!(url(no), None, "{no}");
    }
}

#[test]
fn commands_of_a_runner() {
    let data = "50%25%0A: :error::x%0A# #[group]y";
    assert_eq!(
        workflow_command_data("50%\r\n::error::x\n##[group]y", 40),
        data
    );
    let property = "a%3Ab%2Cc%25 %3A%3Ax";
    assert_eq!(workflow_command_property("a:b,c%\n::x", 40), property);
}

#[test]
fn logs_hold_no_command() {
    let rows = [
        ("plain :: text", "plain :: text"),
        ("::error::x", ": :error::x"),
        ("  :::add-mask::x", "  : ::add-mask::x"),
        ("\u{a0}::debug::", "\u{a0}: :debug::"),
        ("a ##[error]b ###[c]", "a # #[error]b ## #[c]"),
        ("a\n::error::b", "a\n: :error::b"),
        (
            "a\r::add-mask::x\r\n##[error]y",
            "a\n: :add-mask::x\n# #[error]y",
        ),
    ];
    check(log, &rows);
}

#[test]
fn plain_lines() {
    assert_eq!(plain_line("a\r\n<b>\u{202e}`c`", 40), "a  <b>`c`");
    assert_eq!(plain_line("", 40), "(no name)");
    // Accents take no room of their own, but not without end.
    let heap = format!("a{}", "\u{301}".repeat(500));
    assert_eq!(plain_line(&heap, 40), "a");
    assert_eq!(plain_line("e\u{301}", 40), "e\u{301}");
}
