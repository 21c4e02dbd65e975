//! Any bytes are pprof's protobuf or an error; what was read is written so that it is
//! read again, as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_profile::read::Limits;
use plimsoll_profile::write::pprof;
use plimsoll_profile::{Filter, Frames, Granularity, Names, Profile, View, read};

/// An empty field that nobody knows: with it, no bytes are taken for another format.
const PPROF: [u8; 3] = [0xa2, 0x06, 0x00];

fuzz_target!(|bytes: &[u8]| {
    let bytes = [&PPROF, bytes].concat();
    let Ok(profile) = read(&mut bytes.as_slice(), Limits::default()) else {
        return;
    };
    let once = written(&profile);
    let again = read(&mut once.as_slice(), Limits::default()).expect("what we wrote");
    assert_eq!(again.len(), profile.len());
    assert_eq!(written(&again), once);
});

fn written(profile: &Profile) -> Vec<u8> {
    let (filter, mut names) = (Filter::default(), Names::default());
    let view = View::new(
        profile,
        Granularity::Functions,
        Frames::All,
        &filter,
        &mut names,
    );
    packed(None, &view)
}

fn packed(before: Option<&View<'_>>, after: &View<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pprof(&mut bytes, before, after, &[]).expect("memory takes it");
    bytes
}
