//! A hash for names that must stay the same in the next release.

/// Returns the 64-bit FNV-1a hash. It is the same in every version of the compiler.
pub fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.add(bytes);
    hash.0
}

/// A 64-bit FNV-1a hash of several parts.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a part after its length, so that no two different lists of parts give the same
    /// bytes.
    pub fn part(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    /// Returns the hash of all parts.
    pub fn finish(self) -> u64 {
        self.0
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
