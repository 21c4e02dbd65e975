use super::*;

#[test]
fn code_spans() {
    let check = |text: &str, expected: &str| assert_eq!(code_span(text, 40), expected, "{text:?}");
    check("lru::put", "`lru::put`");
    check("a`b", "``a`b``");
    check("`a``b", "``` `a``b ```");
    check("`", "`` ` ``");
    check("", "`(no name)`");
    check(" \t\u{2028}\u{200b} ", "`(no name)`");
    check("a\r\nb\u{0}c\u{1b}[31m", "`a  bc[31m`");
    check("user\u{202e}nimda", "`usernimda`");
    check("@someone", "`@\u{200b}someone`");
    check("a|b", "`a|b`");
    check(
        &"x".repeat(41),
        "`xxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxx`",
    );
}

#[test]
fn code_spans_in_tables() {
    assert_eq!(table_code_span("a|b", 40), "`a\\|b`");
    assert_eq!(table_code_span("a\\|b", 40), "`a\\\u{200b}\\|b`");
    assert_eq!(
        table_code_span("a\\\\|b||", 40),
        "`a\\\\\u{200b}\\|b\\|\\|`"
    );
}

#[test]
fn fences() {
    assert_eq!(fenced("a\n  b\r\nc", 40), "```text\na\n  b\nc\n```");
    assert_eq!(fenced("```\n<b>", 40), "````text\n```\n<b>\n````");
    assert_eq!(
        fenced("\u{1b}[31mred\u{1b}[0m\u{1b}[é\u{2028}::error::\u{0}", 40),
        "```text\nred[é\n::error::\n```"
    );
}

#[test]
fn html_places() {
    assert_eq!(
        html_code("Vec<T>::push('@a' & \"b\")", 60),
        "<code>Vec&lt;T&gt;::push(&#39;@\u{200b}a&#39; &amp; &quot;b&quot;)</code>"
    );
    assert_eq!(
        html_attribute("\"><script>\n", 60),
        "&quot;&gt;&lt;script&gt;"
    );
}

#[test]
fn addresses() {
    assert_eq!(
        url("https://example.org/a/b?c=d&e=(f)").as_deref(),
        Some("https://example.org/a/b?c=d&amp;e=%28f%29")
    );
    for no in [
        "javascript:alert(1)",
        "https://",
        "https://a b",
        "https://a\"b",
        "https://a`b",
        "https://a<b",
        "https://a\\b",
        "//a",
        "https://a|b",
    ] {
        assert_eq!(url(no), None, "{no}");
    }
}

#[test]
fn commands_of_a_runner() {
    assert_eq!(
        workflow_command_data("50%\r\n::error::x\n##[group]y", 40),
        "50%25%0A: :error::x%0A# #[group]y"
    );
    assert_eq!(
        workflow_command_property("a:b,c%\n::x", 40),
        "a%3Ab%2Cc%25 %3A%3Ax"
    );
}

#[test]
fn logs_hold_no_command() {
    let check = |text: &str, expected: &str| assert_eq!(log(text), expected, "{text:?}");
    check("plain :: text", "plain :: text");
    check("::error::x", ": :error::x");
    check("  :::add-mask::x", "  : ::add-mask::x");
    check("\u{a0}::debug::", "\u{a0}: :debug::");
    check("a ##[error]b ###[c]", "a # #[error]b ## #[c]");
    check("a\n::error::b", "a\n: :error::b");
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

#[test]
fn a_carriage_return_begins_no_command() {
    assert_eq!(
        log("a\r::add-mask::x\r\n##[error]y"),
        "a\n: :add-mask::x\n# #[error]y"
    );
}
