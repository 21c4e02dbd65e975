//! The releases of one package in a registry's index, in the two forms that cargo has on disk.
//!
//! ```text
//! in the cache        3, four bytes, what the server called this version of the
//!                     file, NUL; then for each release: version, NUL, JSON, NUL
//! local registry      JSON, one release on each line
//! ```
//!
//! cargo documents the JSON of a release. The form of the cache is cargo's own and may change, so
//! every part of it is checked, and anything unexpected is an error.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use semver::Version;
use serde::Deserialize;

use super::{MOST, Published};
use plimsoll_desk::out::safe_line;

/// The largest there are have some 10 MiB.
const MOST_BYTES: u64 = 64 << 20;
/// What cargo writes.
const FORM: u8 = 3;
/// Bytes before the server's word for the file: the form, and a number of the
/// registry's format.
const HEAD: usize = 5;

/// Of a release's many keys, these.
#[derive(Deserialize)]
struct Record {
    name: String,
    vers: String,
    #[serde(default)]
    yanked: Option<bool>,
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |err| format!("{}: {err}", path.display());
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(format!(
            "{}: expected at most {} MiB, found more",
            path.display(),
            MOST_BYTES >> 20
        )),
        false => Ok(bytes),
    }
}

/// A file of cargo's cache.
pub(super) fn cached(bytes: &[u8], name: &str) -> Result<Vec<Published>, String> {
    match bytes.first() {
        Some(&FORM) => {}
        Some(other) => return Err(format!("expected form {FORM} of the cache, found {other}")),
        None => return Err("expected an index, found an empty file".to_owned()),
    }
    let rest = bytes.get(HEAD..).unwrap_or_default();
    // Each part ends with a NUL, so what is behind the last one is empty.
    let mut parts: Vec<&[u8]> = rest.split(|byte| *byte == 0).collect();
    if parts.pop() != Some(&[]) || parts.len() % 2 != 1 {
        return Err("expected a version and a record for each release, found half of one".into());
    }
    let releases = parts[1..]
        .chunks_exact(2)
        .map(|pair| (Some(pair[0]), pair[1]));
    all(releases, name)
}

/// A file of a local registry.
pub(super) fn lines(bytes: &[u8], name: &str) -> Result<Vec<Published>, String> {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    all(lines.map(|line| (None, line)), name)
}

fn all<'a>(
    releases: impl Iterator<Item = (Option<&'a [u8]>, &'a [u8])>,
    name: &str,
) -> Result<Vec<Published>, String> {
    let mut all = Vec::new();
    for (index, (version, record)) in releases.enumerate() {
        let number = index + 1;
        if number > MOST {
            return Err(format!("expected {MOST} releases at most, found more"));
        }
        let record: Record = serde_json::from_slice(record)
            .map_err(|err| format!("release {number}: {}", safe_line(&err.to_string())))?;
        let found = |what: &str| {
            format!(
                "release {number}: {what}, found `{}`",
                safe_line(&record.name)
            )
        };
        if !record.name.eq_ignore_ascii_case(name) {
            return Err(found(&format!("expected one of `{name}`")));
        }
        if version.is_some_and(|version| version != record.vers.as_bytes()) {
            return Err(format!(
                "release {number}: its record is of another version, {}",
                safe_line(&record.vers)
            ));
        }
        // From before versions were checked: cargo cannot choose it, either.
        let Ok(version) = Version::parse(&record.vers) else {
            continue;
        };
        all.push(Published {
            version,
            yanked: record.yanked == Some(true),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn shown(found: Result<Vec<Published>, String>) -> String {
        match found {
            Ok(all) => {
                let words = all.iter().map(|one| match one.yanked {
                    true => format!("{} (yanked)", one.version),
                    false => one.version.to_string(),
                });
                words.collect::<Vec<String>>().join(" ")
            }
            Err(why) => format!("error: {why}"),
        }
    }

    fn from_cache(bytes: &[u8]) -> String {
        shown(cached(bytes, "leaky"))
    }

    /// As cargo 1.95 has written it, with one of its checksums.
    const CACHED: &[u8] = b"\x03\x02\0\0\0ad388ceaa753fbad5f958ddc4983d6c338928388\0\
        0.1.0\0{\"name\":\"leaky\",\"vers\":\"0.1.0\",\"deps\":[],\
        \"cksum\":\"340b0aa27786573ef1f973fd1356 47ad\",\"features\":{},\"yanked\":false}\0\
        0.1.1\0{\"name\":\"leaky\",\"vers\":\"0.1.1\",\"deps\":[{\"name\":\"log\",\"req\":\"^0.4\"}],\
        \"features\":{\"default\":[]},\"yanked\":true,\"rust_version\":\"1.60\",\"v\":2}\0\
        0.2.0-rc.1\0{\"name\": \"leaky\", \"vers\": \"0.2.0-rc.1\"}\0";

    #[test]
    fn what_cargo_keeps() {
        assert_snapshot!(from_cache(CACHED), @"0.1.0 0.1.1 (yanked) 0.2.0-rc.1");
        // A registry may have a package and no release of it.
        assert_snapshot!(from_cache(b"\x03\x02\0\0\0\"etag\"\0"), @"");
    }

    #[test]
    fn not_as_expected() {
        assert_snapshot!(from_cache(b""), @"error: expected an index, found an empty file");
        assert_snapshot!(from_cache(b"\x04\x02\0\0\0x\0"), @"error: expected form 3 of the cache, found 4");
        assert_snapshot!(from_cache(b"\x03"), @"error: expected a version and a record for each release, found half of one");
        assert_snapshot!(from_cache(b"\x03\x02\0\0\0x\x000.1.0\0{}"), @"error: expected a version and a record for each release, found half of one");
        assert_snapshot!(from_cache(b"\x03\x02\0\0\0x\x000.1.0\0{}\0"), @"error: release 1: missing field `name` at line 1 column 2");
        assert_snapshot!(from_cache(b"\x03\x02\0\0\0x\x000.1.0\0\xff\0"), @"error: release 1: expected value at line 1 column 1");
        assert_snapshot!(
            from_cache(b"\x03\x02\0\0\0x\x000.1.0\0{\"name\":\"other\",\"vers\":\"0.1.0\"}\0"),
            @"error: release 1: expected one of `leaky`, found `other`"
        );
        assert_snapshot!(
            from_cache(b"\x03\x02\0\0\0x\x000.1.0\0{\"name\":\"leaky\",\"vers\":\"0.1.\\u001b\"}\0"),
            @r"error: release 1: its record is of another version, 0.1.\u{1b}"
        );
        assert_snapshot!(
            from_cache(b"\x03\x02\0\0\0x\x000.1.0\0{\"name\":\"leaky\",\"vers\":\"0.1.1\"}\0"),
            @"error: release 1: its record is of another version, 0.1.1"
        );
    }

    #[test]
    fn every_beginning_of_a_file() {
        // Where it ends with a release, it is one.
        let whole = (0..CACHED.len()).filter(|end| cached(&CACHED[..*end], "leaky").is_ok());
        assert_eq!(whole.count(), 3);
    }

    #[test]
    fn a_name_that_begins_no_version() {
        // cargo cannot choose it, and neither can we.
        let line = "{\"name\":\"leaky\",\"vers\":\"0.1\"}\n{\"name\":\"Leaky\",\"vers\":\"0.1.1\"}";
        assert_snapshot!(shown(lines(line.as_bytes(), "leaky")), @"0.1.1");
    }

    #[test]
    fn a_local_registry() {
        let text = "{\"name\":\"leaky\",\"vers\":\"0.1.0\",\"yanked\":null}\n";
        assert_snapshot!(shown(lines(text.as_bytes(), "leaky")), @"0.1.0");
        let text = "{\"name\":\"leaky\",\"vers\":\"0.1.0\",\"yanked\":false}\r\n\n\
             {\"name\":\"leaky\",\"vers\":\"0.1.1\",\"deps\":[]}\n";
        assert_snapshot!(shown(lines(text.as_bytes(), "leaky")), @"0.1.0 0.1.1");
    }

    #[test]
    fn too_many() {
        let line = "{\"name\":\"leaky\",\"vers\":\"0.1.0\"}\n";
        assert_snapshot!(shown(lines(line.repeat(MOST + 1).as_bytes(), "leaky")), @"error: expected 10000 releases at most, found more");
    }
}
