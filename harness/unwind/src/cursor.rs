//! Reads numbers from bytes that may hold anything.

/// A position in bytes that are read forwards.
///
/// A number that is not there reads as zero, and leaves a mark. The reader checks the mark once
/// for each instruction. In a test build, an `Option` for every number would take more of the
/// stack than everything else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    is_broken: bool,
}

impl<'a> Cursor<'a> {
    /// Starts at an offset of the bytes.
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor {
            bytes,
            at,
            is_broken: false,
        }
    }

    /// Returns all bytes, from the first one and not from the current position.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns whether a number was read that is not there or is invalid.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Leaves the mark.
    pub(super) fn refuse(&mut self) {
        self.is_broken = true;
    }

    /// Returns a number that was converted. If it did not fit, leaves the mark.
    pub(super) fn accept<T: Default, E>(&mut self, converted: Result<T, E>) -> T {
        converted.unwrap_or_else(|_| {
            self.refuse();
            T::default()
        })
    }

    pub(super) fn byte(&mut self) -> u8 {
        if self.at >= self.bytes.len() {
            self.is_broken = true;
            return 0;
        }
        let byte = self.bytes[self.at];
        self.at += 1;
        byte
    }

    pub(super) fn skip(&mut self, length: u64) {
        self.go_to((self.at as u64).saturating_add(length));
    }

    /// Moves by a number of bytes, forwards or backwards.
    pub(super) fn jump(&mut self, distance: i64) {
        self.go_to((self.at as u64).wrapping_add_signed(distance));
    }

    fn go_to(&mut self, place: u64) {
        if place > self.bytes.len() as u64 {
            self.is_broken = true;
            return;
        }
        #[expect(clippy::cast_possible_truncation, reason = "no more than a length")]
        let place = place as usize;
        self.at = place;
    }

    /// Reads a little-endian number of `size` bytes, at most eight.
    pub(super) fn fixed(&mut self, size: u32) -> u64 {
        let mut value = 0;
        let mut read = 0;
        while read < size {
            value |= u64::from(self.byte()) << (8 * read);
            read += 1;
        }
        value
    }

    /// Reads like [`Self::fixed`], in two's complement.
    pub(super) fn signed(&mut self, size: u32) -> i64 {
        let unused = 64 - 8 * size;
        (self.fixed(size) << unused).cast_signed() >> unused
    }

    /// Reads a LEB128 number: seven bits in each byte, the lowest first (DWARF 5, 7.6).
    pub(super) fn uleb(&mut self) -> u64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let byte = self.byte();
            // The tenth byte has the last bit, and there is no eleventh byte.
            if shift == 63 && byte > 1 {
                self.is_broken = true;
                return 0;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
            shift += 7;
        }
    }

    /// Reads like [`Self::uleb`], in two's complement.
    pub(super) fn sleb(&mut self) -> i64 {
        let mut value = 0;
        let mut shift = 0;
        loop {
            let byte = self.byte();
            if shift == 63 && byte != 0 && byte != 0x7f {
                self.is_broken = true;
                return 0;
            }
            value |= i64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                let is_negative = byte & 0x40 != 0 && shift < 64;
                return if is_negative {
                    value | -1 << shift
                } else {
                    value
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uleb(bytes: &[u8]) -> Option<u64> {
        let mut cursor = Cursor::new(bytes, 0);
        let value = cursor.uleb();
        (!cursor.is_broken()).then_some(value)
    }

    fn sleb(bytes: &[u8]) -> Option<i64> {
        let mut cursor = Cursor::new(bytes, 0);
        let value = cursor.sleb();
        (!cursor.is_broken()).then_some(value)
    }

    #[test]
    fn numbers_of_any_length() {
        assert_eq!(uleb(&[0x7f]), Some(127));
        assert_eq!(uleb(&[0x80, 0x01]), Some(128));
        assert_eq!(uleb(&[0x80]), None);
        let mut greatest = [0xff; 10];
        greatest[9] = 1;
        assert_eq!(uleb(&greatest), Some(u64::MAX));
        greatest[9] = 2;
        assert_eq!(uleb(&greatest), None);
        assert_eq!(uleb(&[0x80; 20]), None);
        assert_eq!(sleb(&[0x7f]), Some(-1));
        assert_eq!(sleb(&[0x3f]), Some(63));
        assert_eq!(sleb(&[0x80, 0x7f]), Some(-128));
        let mut least = [0x80; 10];
        least[9] = 0x7f;
        assert_eq!(sleb(&least), Some(i64::MIN));
        least[9] = 0x40;
        assert_eq!(sleb(&least), None);
        assert_eq!(sleb(&[0xff; 20]), None);
    }

    #[test]
    fn what_is_behind_the_end_is_zero_and_leaves_a_mark() {
        let mut cursor = Cursor::new(&[1, 0xfe, 0xff], 0);
        assert_eq!((cursor.byte(), cursor.signed(2)), (1, -2));
        assert!(cursor.is_at_end() && !cursor.is_broken());
        cursor.jump(-2);
        assert_eq!(cursor.fixed(4), 0xfffe);
        assert!(cursor.is_broken());
        for distance in [-1, 4, i64::MIN, i64::MAX] {
            let mut cursor = Cursor::new(&[1, 2, 3], 0);
            cursor.jump(distance);
            assert!(cursor.is_broken(), "{distance}");
        }
        for length in [4, u64::MAX] {
            let mut cursor = Cursor::new(&[1, 2, 3], 0);
            cursor.skip(length);
            assert!(cursor.is_broken(), "{length}");
        }
    }
}
