use crate::Avma;

/// The function whose addresses say when an object was born, as `plimsoll-ages` names it.
pub const FUNCTION: &str = "plimsoll_ages::time_of_birth";

/// The last birth, which ends with the last millisecond of an uptime.
const LAST: u16 = 220;
/// The length of the first births.
const UNIT_MS: u64 = 250;
/// The function is aligned to so many bytes, and as long.
const ALIGNMENT: u64 = 1_024;
/// The offset of birth 0 in the function. Tools may look up the address before.
const OFFSET: u64 = 16;

/// When an object was born: a step of the program's uptime, as a number.
///
/// The first four steps have 250 ms each. Above one second, there are four steps to each
/// doubling of the uptime, so that a day has 70 births.
///
/// ```
/// use plimsoll_core::Avma;
/// use plimsoll_core::ages::Birth;
/// let birth = Birth::of(Avma(0x55d0_0400 + 16 + 52)).unwrap();
/// assert_eq!((birth.start(), birth.end()), (4_096.0, 5_120.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Birth(pub(super) u16);

impl Birth {
    /// The first birth.
    pub const FIRST: Birth = Birth(0);

    /// Returns the birth with a number. `None` if no uptime has so large a number.
    pub fn new(number: u16) -> Option<Birth> {
        (number <= LAST).then_some(Birth(number))
    }

    /// Returns the birth that an address in [`FUNCTION`] stands for.
    pub fn of(address: Avma) -> Option<Birth> {
        let number = (address.0 % ALIGNMENT).checked_sub(OFFSET)?;
        Birth::new(u16::try_from(number).ok()?)
    }

    /// Returns the number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Returns the uptime at which the birth starts, in milliseconds.
    pub fn start_ms(self) -> u64 {
        let (octave, step) = (self.0 / 4, u64::from(self.0 % 4));
        let units = match octave.checked_sub(1) {
            None => step,
            Some(doublings) => (4 + step) << doublings,
        };
        units * UNIT_MS
    }

    /// Returns the uptime at which the birth ends, in milliseconds. The last has no end.
    pub(crate) fn end_ms(self) -> u64 {
        Birth::new(self.0 + 1).map_or(u64::MAX, Birth::start_ms)
    }

    /// Returns the uptime at which the birth starts, in seconds.
    pub fn start(self) -> f64 {
        seconds(self.start_ms())
    }

    /// Returns the uptime at which the birth ends, in seconds.
    pub fn end(self) -> f64 {
        seconds(self.end_ms())
    }
}

fn seconds(ms: u64) -> f64 {
    crate::rate::to_f64(ms) / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn births_are_steps_without_gaps_four_to_each_doubling() {
        for (number, start) in [
            (0, 0),
            (3, 750),
            (4, 1_000),
            (7, 1_750),
            (8, 2_000),
            (51, 3_584_000),
            (52, 4_096_000),
            (69, 81_920_000),
            (220, 18_014_398_509_481_984_000),
        ] {
            assert_eq!(Birth(number).start_ms(), start, "{number}");
        }
        for number in 0..=LAST {
            let birth = Birth(number);
            assert!(birth.start_ms() < birth.end_ms(), "{number}");
            let before = number.checked_sub(4).map(|number| Birth(number).start_ms());
            assert!(
                number < 8 || before == Some(birth.start_ms() / 2),
                "{number}"
            );
        }
        assert_eq!(Birth(LAST).end_ms(), u64::MAX);
    }

    #[test]
    fn an_address_outside_of_the_births_is_none() {
        for (address, number) in [
            (0x1400, None),
            (0x140f, None),
            (0x1410, Some(0)),
            (0x1410 + 220, Some(220)),
            (0x1410 + 221, None),
            (0x17ff, None),
        ] {
            assert_eq!(Birth::of(Avma(address)).map(Birth::number), number);
        }
    }
}
