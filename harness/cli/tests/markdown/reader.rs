//! Markdown as GitHub reads it, and what must not be in it.

use comrak::nodes::{Node, NodeValue};
use comrak::{Arena, Options, format_html, parse_document};

/// The tags that pages are made of.
const TAGS: &[&str] = &["details", "summary", "b", "code", "sub"];

#[derive(Default)]
pub(crate) struct Page {
    pub(crate) text: String,
    /// Rows of each table, its head included.
    pub(crate) tables: Vec<usize>,
    headlines: Vec<String>,
    /// Of links and images; and tags in HTML of any kind, `/` first where they close.
    links: Vec<String>,
    tags: Vec<String>,
    /// Text that is neither code nor in `<code>`.
    prose: Vec<String>,
    /// Kinds of all blocks but paragraphs of a list, in order.
    outline: Vec<&'static str>,
    comments: usize,
    html: [String; 2],
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options
}

impl Page {
    pub(crate) fn read(text: &str) -> Page {
        let arena = Arena::new();
        let mut options = options();
        let root = parse_document(&arena, text, &options);
        let mut page = Page {
            text: text.to_owned(),
            ..Page::default()
        };
        page.walk(root);
        for (html, raw) in page.html.iter_mut().zip([true, false]) {
            options.render.r#unsafe = raw;
            format_html(root, &options, html).unwrap();
        }
        page
    }

    fn walk(&mut self, root: Node<'_>) {
        for node in root.descendants() {
            let data = node.data();
            let kind = match &data.value {
                NodeValue::Table(_) => {
                    self.tables.push(node.children().count());
                    "table"
                }
                NodeValue::Heading(_) => {
                    let mut text = String::new();
                    for below in node.descendants() {
                        if let NodeValue::Text(words) = &below.data().value {
                            text.push_str(words);
                        }
                    }
                    self.headlines.push(text);
                    "heading"
                }
                NodeValue::Link(link) | NodeValue::Image(link) => {
                    self.links.push(link.url.clone());
                    ""
                }
                NodeValue::HtmlBlock(block) => {
                    self.html_of(&block.literal);
                    "html"
                }
                NodeValue::HtmlInline(html) => {
                    self.html_of(html);
                    ""
                }
                NodeValue::Text(text) => {
                    self.prose.push(text.to_string());
                    ""
                }
                NodeValue::CodeBlock(block) => {
                    assert_eq!(block.info, "text", "{}", self.text);
                    assert!(block.fenced && block.closed, "{}", self.text);
                    "code block"
                }
                NodeValue::List(_) => "list",
                NodeValue::Item(_) => "item",
                NodeValue::Document
                | NodeValue::Paragraph
                | NodeValue::TableRow(_)
                | NodeValue::TableCell
                | NodeValue::Code(_)
                | NodeValue::Strong
                | NodeValue::SoftBreak => "",
                other => panic!("{other:?} in\n{}", self.text),
            };
            if !kind.is_empty() {
                self.outline.push(kind);
            }
        }
    }

    /// Reads tags as a browser would: nothing of ours has a `<` in an attribute.
    fn html_of(&mut self, html: &str) {
        let mut rest = html;
        let mut in_code = false;
        while let Some(start) = rest.find('<') {
            if !in_code {
                self.prose.push(rest[..start].to_owned());
            }
            if let Some(after) = rest[start..].strip_prefix("<!--") {
                self.comments += 1;
                rest = &after[after.find("-->").unwrap() + 3..];
                continue;
            }
            let end = start + rest[start..].find('>').unwrap();
            let tag = &rest[start + 1..end];
            let name = tag.split(' ').next().unwrap();
            if let "code" | "/code" = name {
                in_code = name == "code";
            }
            let plain = tag == name || tag == "details open";
            assert!(plain, "<{tag}> in\n{}", self.text);
            self.tags.push(name.to_owned());
            rest = &rest[end + 1..];
        }
        if !in_code {
            self.prose.push(rest.to_owned());
        }
    }

    pub(crate) fn headline(&self) -> &str {
        &self.headlines[0]
    }

    /// Its parts, whatever they say.
    pub(crate) fn outline(&self) -> (&[&str], &[String], &[usize]) {
        (&self.outline, &self.tags, &self.tables)
    }

    #[track_caller]
    pub(crate) fn check(&self) {
        let text = &self.text;
        assert_eq!(self.headlines.len(), 1, "{text}");
        assert!(text.starts_with("### "), "{text}");
        // At a desk there is nothing to link to.
        assert!(self.links.is_empty(), "{:?} in\n{text}", self.links);
        assert_eq!(self.comments, 0, "{text}");
        for tag in &self.tags {
            let name = tag.trim_start_matches('/');
            assert!(TAGS.contains(&name), "<{tag}> in\n{text}");
        }
        let mut open: Vec<&str> = Vec::new();
        for tag in &self.tags {
            match tag.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{text}"),
                None => open.push(tag),
            }
        }
        assert!(open.is_empty(), "{open:?} in\n{text}");
        for prose in &self.prose {
            // All of it is ours, and we write none of these.
            for no in [
                "@", "#", "GH-", "://", "www.", "[", "]", "evil", "someone", "\\",
            ] {
                assert!(!prose.contains(no), "{no} in {prose:?} in\n{text}");
            }
            let is_shortcode = |word: &str| word.len() > 2 && word.starts_with(':');
            assert!(!prose.split(' ').any(is_shortcode), "{text}");
        }
        for c in text.chars() {
            assert!(c == '\n' || !c.is_control(), "{c:?} in\n{text}");
            let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
            assert!(!reorders && !ends_line, "{c:?} in\n{text}");
        }
        let [raw, sanitised] = &self.html;
        for html in [raw, sanitised] {
            for no in ["<script", "<img", "<a ", "<h1", "onerror=alert(1)>"] {
                assert!(!html.contains(no), "{no} in\n{html}");
            }
        }
        let [opened, closed] = ["<details", "</details>"].map(|tag| raw.matches(tag).count());
        assert_eq!(opened, closed);
        assert!(!sanitised.contains("<details"), "{sanitised}");
    }
}
