//! Every command that a page or a workflow shows is one that the program takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use comrak::nodes::NodeValue;
use comrak::{Arena, Options, parse_document};

fn files(dir: &str, extension: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(root.join(dir)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    paths.sort();
    paths
}

fn pages() -> Vec<PathBuf> {
    [files("", "md"), files("docs", "md")].concat()
}

/// Where a page is broken by hand, its texts are easily broken at another place than the tool's.
#[test]
fn a_number_and_its_unit_are_on_one_line() {
    let units = [
        "B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "s", "ms", "min", "h", "%",
    ];
    let pages = pages();
    for path in &pages {
        let page = fs::read_to_string(path).unwrap();
        for (number, (line, next)) in page.lines().zip(page.lines().skip(1)).enumerate() {
            let mut words = next.split(|c: char| c.is_whitespace() || ").,;:".contains(c));
            let unit = words.find(|word| !word.is_empty()).unwrap_or_default();
            let is_broken = line.ends_with(|c: char| c.is_ascii_digit()) && units.contains(&unit);
            assert!(!is_broken, "{}:{}: {line}", path.display(), number + 1);
        }
    }
    assert!(pages.len() > 10);
}

/// A page's lines in fences, and what stands between backticks elsewhere.
fn code(page: &str) -> Vec<String> {
    let arena = Arena::new();
    let nodes = parse_document(&arena, page, &Options::default()).descendants();
    let code = nodes.map(|node| match &node.data().value {
        NodeValue::Code(code) => code.literal.clone(),
        NodeValue::CodeBlock(block) => block.literal.replace("\\\n", " "),
        _ => String::new(),
    });
    code.flat_map(|code| code.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The arguments, where a line calls the program; up to what stands for anything.
fn arguments(line: &str) -> Option<Vec<String>> {
    let mut line = line.trim();
    for prefix in ["- ", "$ ", "run: ", "cargo ", "./"] {
        line = line.strip_prefix(prefix).unwrap_or(line);
    }
    let words = shlex::split(line.strip_prefix("plimsoll ")?);
    let words = words.unwrap_or_else(|| panic!("an open quote: {line}"));
    let mut arguments = Vec::new();
    for word in words {
        let is_end = ["|", "&&", "||"].contains(&&*word);
        if is_end || word.starts_with('>') || word.starts_with("${") {
            break;
        }
        if word.contains('…') {
            // `--format …`
            arguments.pop_if(|before: &mut String| before.starts_with("--"));
            break;
        }
        // What stands for something has to look like it.
        arguments.push(match word.as_str() {
            "DATE" => "2030-01-31".to_owned(),
            "$shell" => "bash".to_owned(),
            "$PAGE" => "https://example.com/".to_owned(),
            _ => word,
        });
    }
    Some(arguments)
}

/// Whether the program knows the command and its options; it does nothing else.
fn takes(arguments: &[String]) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .arg("--help")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    output.status.success().then_some(()).ok_or(said)
}

#[test]
fn the_program_takes_what_is_shown() {
    let mut shown = BTreeSet::new();
    for page in &pages() {
        shown.extend(code(&fs::read_to_string(page).unwrap()));
    }
    for workflow in files(".github/workflows", "yml") {
        let text = fs::read_to_string(workflow).unwrap().replace("\\\n", " ");
        shown.extend(text.lines().map(str::to_owned));
    }
    let commands: BTreeSet<Vec<String>> = shown.iter().filter_map(|line| arguments(line)).collect();
    let used: BTreeSet<&str> = commands
        .iter()
        .filter_map(|words| Some(words.first()?.as_str()))
        .collect();
    for name in ["report", "accept", "comment", "fetch"] {
        assert!(used.contains(name), "`{name}` is shown nowhere: {used:?}");
    }
    assert!(takes(&["coment".to_owned()]).is_err());
    for command in &commands {
        takes(command).unwrap_or_else(|err| panic!("{command:?} is shown:\n{err}"));
    }
}
