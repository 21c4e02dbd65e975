//! One hash, for names that have to be the same in the next release.

/// FNV-1a, 64 bits: the same in every version of the compiler.
pub fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.add(bytes);
    hash.0
}

/// The same, of several parts.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// A part with its length in front, so that no two lists of parts are the same.
    pub fn part(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    /// The hash of all parts.
    pub fn finish(self) -> u64 {
        self.0
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
