//! Reads numbers from bytes that may be anything.

/// Parses a number of decimal digits. `None` if there is anything else, or if the number does
/// not fit.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parses a number of hexadecimal digits and nothing else.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let (number, length) = leading_hexadecimal(digits);
    number.filter(|_| length == digits.len())
}

/// Parses the hexadecimal digits at the beginning of a text. Returns the number and how many
/// digits there are. The number is `None` if there is no digit, or more than fit.
pub(super) fn leading_hexadecimal(text: &[u8]) -> (Option<u64>, usize) {
    let mut number = 0_u64;
    let mut length = 0;
    for byte in text {
        let digit = DIGITS[usize::from(*byte)];
        if digit == NO_DIGIT {
            break;
        }
        if number >> 60 != 0 {
            return (None, length);
        }
        number = number << 4 | u64::from(digit);
        length += 1;
    }
    ((length > 0).then_some(number), length)
}

const NO_DIGIT: u8 = 0xff;

/// The value of each byte as a hexadecimal digit. A dump is mostly addresses.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0_u8;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        digits[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
