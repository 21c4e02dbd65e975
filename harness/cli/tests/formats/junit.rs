//! `--format junit`, as XML and as text.

use insta::assert_snapshot;
use plimsoll_core::report::text::{self, Style};
use plimsoll_report::joined::Joined;
use plimsoll_report::render::junit;
use serde_json::Value;

use crate::{HOSTILE, assert_clean, joined, measured_on, one_of_each, with};

/// The file, which any reader of XML can read.
#[track_caller]
fn rendered(joined: &Joined) -> String {
    let xml = junit::render(joined);
    assert_clean(&xml);
    quick_xml::de::from_str::<Value>(&xml).expect("well-formed XML");
    xml
}

/// Elements and attributes are those of `junit-10.xsd` of Jenkins' xUnit plugin. Added are `file`
/// and `line` of a test case, which GitLab and others read.
#[test]
fn one_of_each_verdict() {
    let all = one_of_each();
    let xml = rendered(&all);
    let growth = all.scenarios[1].report().unwrap();
    let in_full = text::render(growth, &Style::plain());
    assert!(xml.contains(in_full.trim_end()), "{xml}");
    // The first line of each text, and of the findings the properties of one.
    let others = "growth.1. growth.2. growth.4. growth.5. resources.1. resources.2. improved.1.";
    let is_shown = |line: &&str| {
        line.contains('<')
            && !others
                .split(' ')
                .any(|other| line.contains(&format!("\"{other}")))
    };
    let shown: Vec<&str> = xml.lines().filter(is_shown).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="plimsoll" tests="8" failures="3" errors="3" time="0">
      <testsuite name="demo/leaks" tests="8" failures="3" errors="3" time="0" skipped="0">
        <properties>
          <property name="run" value="r1"/>
          <property name="platform" value="x86_64-unknown-linux-gnu"/>
          <property name="profile" value="debug"/>
          <property name="toolchain" value="rustc 1.95.0"/>
          <property name="jemalloc" value="5.3.0"/>
          <property name="within.iterations" value="1024"/>
          <property name="growth.iterations" value="1024"/>
          <property name="growth.3.grows" value="agreed"/>
          <property name="growth.3.verdict" value="regressed"/>
          <property name="growth.3.objects_per_iteration" value="1"/>
          <property name="growth.3.bytes_per_iteration" value="96"/>
          <property name="growth.3.allowed_objects_per_iteration" value="1"/>
          <property name="growth.3.allowed_bytes_per_iteration" value="96"/>
          <property name="resources.iterations" value="1024"/>
          <property name="improved.iterations" value="1024"/>
          <property name="inconclusive.iterations" value="1024"/>
          <property name="failed.iterations" value="1024"/>
          <property name="broken.iterations" value="1024"/>
        </properties>
        <testcase classname="demo.leaks" name="within" time="0">
          <system-out>1,024 iterations, nothing grows; would have seen 1 object per 1,000 iterations; the budget was spent</system-out>
        </testcase>
        <testcase classname="demo.leaks" name="growth" time="0" file="scenarios/src/lru churn.rs" line="14">
          <failure message="2 stacks and 1 allocation site keep growing, +192 B per iteration together (1,024 iterations, every allocation counted)" type="regressed">growth: 2 stacks and 1 allocation site keep growing, +192 B per iteration
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
          <error message="the measurement cannot be trusted (1,024 iterations, every allocation counted)" type="broken">broken: the measurement cannot be trusted
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
    let xml = rendered(&joined(with(HOSTILE)));
    let case = xml.lines().find(|line| line.contains("<testcase")).unwrap();
    // And no file: there is none of that name.
    assert_snapshot!(case, @r#"    <testcase classname="demo.leaks" name="a[31mb&lt;x y='z'&gt;&quot;&amp;amp;]]&gt;`|\[c](https://x)  {0}ü" time="0">"#);
    let quoted = "\\u{fffe}&lt;x y='z'&gt;\"&amp;amp;]]&gt;`|";
    assert!(xml.contains(quoted), "{xml}");
}

#[test]
fn a_suite_for_each_target_and_platform() {
    // With one platform alone, it is not named.
    let xml = rendered(&measured_on(&["aarch64", "x86_64"]));
    let is_named = |line: &&str| line.contains(" name=\"") && !line.contains("<property");
    let names: Vec<&str> = xml.lines().filter(is_named).collect();
    assert_snapshot!(names.join("\n"), @r#"
    <testsuites name="plimsoll" tests="4" failures="0" errors="0" time="0">
      <testsuite name="demo/leaks (aarch64)" tests="1" failures="0" errors="0" time="0" skipped="0">
        <testcase classname="demo.leaks.aarch64" name="lru_churn" time="0">
      <testsuite name="demo/slow (aarch64)" tests="1" failures="0" errors="0" time="0" skipped="0">
        <testcase classname="demo.slow.aarch64" name="lru_churn" time="0">
      <testsuite name="demo/leaks (x86_64)" tests="1" failures="0" errors="0" time="0" skipped="0">
        <testcase classname="demo.leaks.x86_64" name="lru_churn" time="0">
      <testsuite name="demo/slow (x86_64)" tests="1" failures="0" errors="0" time="0" skipped="0">
        <testcase classname="demo.slow.x86_64" name="lru_churn" time="0">
    "#);
}
