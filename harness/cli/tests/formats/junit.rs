//! `--format junit`, read back, and held against what readers of it know.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::project::Project;
use crate::{assert_clean, hostile, measured_on, one_of_each, written};

/// An element with all that is in it.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn open(start: &BytesStart) -> Self {
        let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        // Twice the same is an error here.
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = utf8(&attribute.value);
            let value = quick_xml::escape::unescape(&value).unwrap().into_owned();
            (utf8(attribute.key.as_ref()), value)
        });
        Element {
            name: utf8(start.name().as_ref()),
            attributes: attributes.collect(),
            ..Element::default()
        }
    }

    fn parse(text: &str) -> Element {
        let mut reader = Reader::from_str(text);
        let mut open = vec![Element::default()];
        loop {
            let current = open.last_mut().unwrap();
            match reader.read_event().expect("well-formed XML") {
                Event::Decl(_) => assert!(text.starts_with("<?xml")),
                Event::Start(start) => open.push(Element::open(&start)),
                Event::Empty(start) => current.children.push(Element::open(&start)),
                Event::Text(part) => current.text += &part.decode().unwrap(),
                Event::GeneralRef(part) => {
                    let name = part.decode().unwrap();
                    let known = quick_xml::escape::resolve_predefined_entity(&name);
                    current.text += known.expect("an entity that every reader knows");
                }
                Event::End(_) => {
                    let done = open.pop().unwrap();
                    open.last_mut().unwrap().children.push(done);
                }
                Event::Eof => break,
                other => panic!("{other:?}"),
            }
        }
        let [root] = open.try_into().unwrap();
        let [suites] = root.children.try_into().unwrap();
        suites
    }

    fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.get(name).map(String::as_str);
        found.unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    fn number(&self, name: &str) -> usize {
        self.attribute(name).parse().unwrap()
    }
}

/// What may stand in an element, as in `junit-10.xsd` of Jenkins' xUnit plugin: its name,
/// its children, the attributes that it needs, and those that it may have. Added are
/// `file` and `line` of a test case, which GitLab and others read.
const KNOWN: &str = "
testsuites | testsuite | | name time tests failures errors
testsuite | properties testcase | name tests failures errors | time skipped
properties | property | |
property | | name value |
testcase | error failure system-out | name classname | time file line
failure | | type message |
error | | type message |
system-out | | |";

#[track_caller]
fn check(element: &Element) {
    let cells = |line: &'static str| {
        line.split('|')
            .map(|cell| cell.split_whitespace().collect())
    };
    let mut known = KNOWN
        .lines()
        .map(|line| cells(line).collect::<Vec<Vec<&str>>>());
    let known = known.find(|cells| cells[0] == [element.name.as_str()]);
    let known = known.expect(&element.name);
    for child in &element.children {
        let is_known = known[1].contains(&child.name.as_str());
        assert!(is_known, "{child:?} in {element:?}");
        check(child);
    }
    for name in &known[2] {
        element.attribute(name);
    }
    for name in element.attributes.keys() {
        let mut all = known[2].iter().chain(&known[3]);
        assert!(all.any(|known| known == name), "{name} in {element:?}");
    }
    if !["failure", "error", "system-out"].contains(&element.name.as_str()) {
        assert_eq!(element.text.trim(), "", "text in {}", element.name);
    }
}

/// What a project has, as the binary writes it and as it is read.
#[track_caller]
fn junit(project: &Project, args: &[&str]) -> (String, Element) {
    let text = written(project, "junit", args);
    assert_clean(&text);
    assert!(!text.contains("<![CDATA["));
    let suites = Element::parse(&text);
    assert_eq!(suites.name, "testsuites");
    check(&suites);
    let numbers = |of: &Element| ["tests", "failures", "errors"].map(|name| of.number(name));
    let mut sums = [0; 3];
    for suite in suites.all("testsuite") {
        let with = |name| {
            let has = |case: &&Element| case.all(name).count() == 1;
            suite.all("testcase").filter(has).count()
        };
        let cases = suite.all("testcase").count();
        assert_eq!(numbers(suite), [cases, with("failure"), with("error")]);
        assert_eq!(suite.number("skipped"), 0);
        for (sum, count) in sums.iter_mut().zip(numbers(suite)) {
            *sum += count;
        }
    }
    assert_eq!(numbers(&suites), sums);
    (text, suites)
}

#[test]
fn one_of_each_verdict() {
    let (text, suites) = junit(&Project::with(&one_of_each()), &[]);
    let suite = suites.all("testsuite").next().unwrap();
    let properties = suite.all("properties").flat_map(|all| all.all("property"));
    // Those of one finding on one line.
    let mut of_findings = String::new();
    for property in properties.skip(5) {
        let (of, what) = property.attribute("name").rsplit_once('.').unwrap();
        if ["iterations", "grows"].contains(&what) {
            of_findings += &format!("\n{of}:");
        }
        of_findings += &format!(" {what}={}", property.attribute("value"));
    }
    assert_snapshot!(of_findings, @"
    within: iterations=1024
    growth: iterations=1024
    growth.1: grows=lru::LruCache::put verdict=regressed objects_per_iteration=1 bytes_per_iteration=96 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    growth.2: grows=lru::LruCache::put verdict=regressed objects_per_iteration=1 bytes_per_iteration=96 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    growth.3: grows=agreed verdict=regressed objects_per_iteration=1 bytes_per_iteration=96 allowed_objects_per_iteration=1 allowed_bytes_per_iteration=96
    growth.4: grows=unsure verdict=inconclusive objects_per_iteration=1 bytes_per_iteration=96 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    growth.5: grows=allowed verdict=within objects_per_iteration=1 bytes_per_iteration=96 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    resources: iterations=1024
    resources.1: grows=threads verdict=regressed objects_per_iteration=1 bytes_per_iteration=0 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    resources.2: grows=file descriptors verdict=regressed objects_per_iteration=1 bytes_per_iteration=0 allowed_objects_per_iteration=0 allowed_bytes_per_iteration=0
    improved: iterations=1024
    improved.1: grows=mended verdict=improved objects_per_iteration=0 bytes_per_iteration=0 allowed_objects_per_iteration=1 allowed_bytes_per_iteration=96
    inconclusive: iterations=1024
    failed: iterations=1024
    broken: iterations=1024
    ");
    let (start, end) = text.split_once("      <property name=\"within.").unwrap();
    let (_, end) = end.split_once("    </properties>\n").unwrap();
    let (grows, others) = end.split_once("</failure>\n").unwrap();
    // The text of a report is what core's tests are about: one of them is enough.
    let others: Vec<&str> = others.lines().filter(|line| line.contains('<')).collect();
    let shown = [start, grows, "</failure>\n", &others.join("\n")].concat();
    assert_snapshot!(shown, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="plimsoll" tests="8" failures="3" errors="3" time="0">
      <testsuite name="demo/leaks" tests="8" failures="3" errors="3" time="0" skipped="0">
        <properties>
          <property name="run" value="r1"/>
          <property name="platform" value="x86_64-unknown-linux-gnu"/>
          <property name="profile" value="debug"/>
          <property name="toolchain" value="rustc 1.95.0"/>
          <property name="jemalloc" value="5.3.0"/>
        <testcase classname="demo.leaks" name="within" time="0">
          <system-out>1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent</system-out>
        </testcase>
        <testcase classname="demo.leaks" name="growth" time="0" file="scenarios/src/lru churn.rs" line="14">
          <failure message="2 stacks and 1 allocation site keep growing, +192 B per iteration together (1,024 iterations, every allocation counted)" type="regressed">growth: 2 stacks and 1 allocation site keep growing, +192 B per iteration
      together

      1. +96 B, +1.00 objects per iteration (allowed: 0 B)
         in lru::LruCache::put at lru-0.18.1/src/lib.rs:212
         1 GiB in 3.1 h at 1,000 iterations a second
      2. +96 B, +1.00 objects per iteration (allowed: 0 B)
         in lru::LruCache::put at lru-0.18.1/src/lib.rs:212
         1 GiB in 3.1 h at 1,000 iterations a second
      3. +96 B, +1.00 objects per iteration (its allowance of 96 B, 1.00 objects has
         expired)
         in agreed at src/lib.rs:7
         1 GiB in 3.1 h at 1,000 iterations a second

      a cache looks like this too: make it smaller in the scenario, or raise the
        budget until it is full

      fix it, or accept it again: cargo plimsoll accept growth --expires \
        YYYY-MM-DD --reason "…"
      measure it again: cargo test -p demo --test leaks -- --exact growth

      1. linear over 1,024 iterations, every allocation counted (not in the
        baseline)
        lru::LruCache::put                            lru-0.18.1/src/lib.rs:212
        └ fill                                        scenarios/src/lru churn.rs:14
          └ main                                      scenarios/src/main.rs:3

      2. linear over 1,024 iterations, every allocation counted (not in the
        baseline)
        over 1,024 stacks of this allocation site
        lru::LruCache::put                            lru-0.18.1/src/lib.rs:212

      3. linear over 1,024 iterations, every allocation counted (its allowance has
        expired)
        agreed                                        src/lib.rs:7
        └ main                                        src/lib.rs:7
        accepted because: [until](https://x) the rewrite

      1 stack grows within its allowance
      too little was measured to tell whether 1 stack keeps growing

      files: target/plimsoll/demo/leaks/growth/</failure>
        </testcase>
        <testcase classname="demo.leaks" name="resources" time="0">
          <failure message="threads and file descriptors keep growing, +1.00 threads and +1.00 file descriptors per iteration together (1,024 iterations, every allocation counted)" type="regressed">resources: threads and file descriptors keep growing, +1.00 threads and
      files: target/plimsoll/demo/leaks/resources/</failure>
        </testcase>
        <testcase classname="demo.leaks" name="improved" time="0">
          <system-out>1 allowance is no longer needed; the budget was spent (1,024 iterations, every allocation counted)</system-out>
        </testcase>
        <testcase classname="demo.leaks" name="inconclusive" time="0">
          <failure message="too little was measured to tell (1,024 iterations, every allocation counted)" type="inconclusive">inconclusive: too little was measured to tell (1,024 iterations, every
      files: target/plimsoll/demo/leaks/inconclusive/</failure>
        </testcase>
        <testcase classname="demo.leaks" name="failed" time="0">
          <error message="failed in iteration 4: panicked: &lt;no&gt; &quot;route&quot; &amp; [more]" type="failed">failed: failed in iteration 4: panicked: &lt;no&gt; "route" &amp; [more]
      files: target/plimsoll/demo/leaks/failed/</error>
        </testcase>
        <testcase classname="demo.leaks" name="broken" time="0">
          <error message="the measurement cannot be trusted (1,024 iterations, every allocation counted)" type="broken">broken: the measurement cannot be trusted (1,024 iterations, every allocation
      files: target/plimsoll/demo/leaks/broken/</error>
        </testcase>
        <testcase classname="demo.leaks" name="lost" time="0">
          <error message="no result, it left no report in this run" type="no result">it left no report in this run</error>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn hostile_text_stays_text() {
    let (_, suites) = junit(&Project::with(&[hostile()]), &[]);
    let suite = suites.all("testsuite").next().unwrap();
    let case = suite.all("testcase").next().unwrap();
    assert_snapshot!(case.attribute("name"), @r#"a[31mb<x y='z'>"&amp;]]>`|\[c](https://x)  {0}ü"#);
    assert_eq!(case.attributes.get("file"), None);
    let text = &case.all("failure").next().unwrap().text;
    assert!(text.contains(r#"<x y='z'>"&amp;]]>"#), "{text}");
}

#[test]
fn a_suite_for_each_target_and_platform() {
    let on = |platform: &str, run: &str| {
        let one = measured_on(platform, run);
        let mut slow = one.clone();
        slow.run.target = "slow".to_owned();
        Project::with(&[one, slow])
    };
    let names = |args: &[&str]| {
        let (_, suites) = junit(&on("aarch64", "r1"), args);
        let names = suites.all("testsuite").map(|suite| {
            let case = suite.all("testcase").next().unwrap();
            let of = [suite.attribute("name"), case.attribute("classname")];
            of.join(" ")
        });
        names.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(names(&[]), @"
    demo/leaks demo.leaks
    demo/slow demo.slow
    ");
    let intel = on("x86_64", "r2");
    let other = intel.path("target/plimsoll").display().to_string();
    assert_snapshot!(names(&["target/plimsoll", &other]), @"
    demo/leaks (aarch64) demo.leaks.aarch64
    demo/slow (aarch64) demo.slow.aarch64
    demo/leaks (x86_64) demo.leaks.x86_64
    demo/slow (x86_64) demo.slow.x86_64
    ");
}
