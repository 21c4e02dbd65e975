use plimsoll_core::judge::Verdict;

use super::{Theme, svg};
use crate::render::fixtures::{growth, regressed, report};

#[test]
fn a_picture_for_each_theme() {
    let report = regressed(
        "http::parse",
        &[("main serve parse", 48.0), ("main log", 2.0)],
    );
    let light = svg(&report, Theme::Light).unwrap();
    let dark = svg(&report, Theme::Dark).unwrap();
    for image in [&light, &dark] {
        for part in [
            "width=\"800\"",
            "http::parse: grew +50 B per iteration",
            "serve (48,000 bytes per 1,000 iterations",
        ] {
            assert!(image.contains(part), "{part}: {image}");
        }
        for of_a_program in ["function ", ">Search<", ">Reset Zoom<"] {
            assert!(!image.contains(of_a_program), "{of_a_program}: {image}");
        }
    }
    assert!(light.contains("stop-color=\"#ffffff\""), "{light}");
    assert!(dark.contains("stop-color=\"#0d1117\""), "{dark}");
    assert!(dark.contains("fill=\"rgb(230,237,243)\""), "{dark}");
}

#[test]
fn no_picture_of_nothing() {
    assert_eq!(svg(&report("a", Verdict::Within), Theme::Light), None);
}

#[test]
fn pictures_stay_small() {
    let mut report = regressed("wide", &[]);
    for place in 0..400 {
        let stack: Vec<String> = (0..25)
            .map(|depth| format!("{place}_{depth}_{}", "<&>'".repeat(100)))
            .collect();
        report
            .growth
            .push(growth(&stack.join(" "), 48.0 + f64::from(place)));
    }
    let image = svg(&report, Theme::Dark).unwrap();
    assert!(image.len() <= 1 << 20, "{}", image.len());
}
