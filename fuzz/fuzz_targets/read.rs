//! Any bytes are a profile of some kind or an error; what was read has a table and a
//! tree, shortened or not, and can be written for pprof and read again, as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_profile::read::Limits;
use plimsoll_profile::write::{folded, pprof};
use plimsoll_profile::{
    Calls, Filter, Frames, Granularity, Least, Measure, Names, Table, View, read,
};

fuzz_target!(|bytes: &[u8]| {
    // Compressed bytes are many when they come out.
    let limits = Limits { bytes: 1 << 20 };
    let Ok(profile) = read(&mut &*bytes, limits) else {
        return;
    };
    let filter = Filter::default();
    for frames in [Frames::Folded, Frames::All] {
        let mut names = Names::default();
        let view = View::new(&profile, Granularity::Lines, frames, &filter, &mut names);
        for measure in Measure::ALL {
            assert!(Table::of(&view, measure, false, &names).total.is_finite());
        }
        let calls = Calls::of(&view);
        assert_eq!(calls.is_empty(), profile.is_empty());
        let gains = calls.gains(profile.measures[0], false);
        for least in [Least::Width(0.0), Least::Widest(3)] {
            let left: f64 = calls
                .wide(&gains, 1.0, least)
                .iter()
                .map(|(_, gain)| gain)
                .sum();
            assert!(left <= 1.01 * gains.iter().sum::<f64>());
        }
        let mut lines = Vec::new();
        folded(&mut lines, &calls, &gains, &names).expect("memory takes it");
        assert!(String::from_utf8(lines).is_ok());
        let written = packed(None, &view);
        let again = read(&mut written.as_slice(), Limits::default()).expect("what we wrote");
        assert_eq!(again.len(), profile.len());
        if frames == Frames::All && profile.scaled_by.is_none() {
            let mut names = Names::default();
            let view = View::new(&again, Granularity::Lines, frames, &filter, &mut names);
            assert_eq!(packed(None, &view), written);
        }
        let difference = packed(Some(&view), &view);
        let difference = read(&mut difference.as_slice(), Limits::default());
        assert!(difference.expect("what we wrote").is_empty());
    }
});

fn packed(before: Option<&View<'_>>, after: &View<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pprof(&mut bytes, before, after, &[]).expect("memory takes it");
    bytes
}
