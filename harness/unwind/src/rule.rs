//! The step from one frame to its caller, in one word.

use super::machine::{self, Frame};
use super::memory;

/// What the unwind information says about one code address. It is packed, so that a table entry
/// of two words holds both it and its address.
///
/// ```text
/// bits 0–3    kind
/// bits 4–23   canonical frame address (CFA): base + 8 · this
/// bits 24–43  the frame pointer was saved at CFA − 8 · this; 0: it is unchanged
/// bits 44–63  the return address was saved at CFA − 8 · this; 0: in the link register
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule(pub(super) u64);

/// Bits of an offset.
pub(super) const FIELD: u32 = 20;
pub(super) const FIELD_MASK: u64 = (1 << FIELD) - 1;

pub(super) const FROM_STACK_POINTER: u64 = 1;
pub(super) const FROM_FRAME_POINTER: u64 = 2;
const OUTERMOST: u64 = 3;
const UNKNOWN: u64 = 4;
const INVOLVED: u64 = 5;

/// The result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The caller.
    Caller(Frame),
    /// There is no caller: this is a thread's first function.
    Root,
    /// There is no unwind information for this code.
    NoInformation,
    /// The unwind information leads nowhere: to memory that cannot be read, or to no progress.
    Astray,
    /// The rule does not fit into a word; see [`super::involved`].
    Involved,
}

impl Rule {
    /// The rule of a thread's first function, which has no caller.
    pub(super) const OUTERMOST: Rule = Rule(OUTERMOST);
    /// The rule of code without unwind information.
    pub(super) const UNKNOWN: Rule = Rule(UNKNOWN);
    /// A rule that does not fit into a word.
    pub(super) const INVOLVED: Rule = Rule(INVOLVED);

    /// Makes a rule from offsets in bytes. Returns `None` if they do not fit, or are not
    /// multiples of 8.
    pub(super) fn simple(
        from_frame_pointer: bool,
        cfa: i64,
        saved_frame_pointer: Option<i64>,
        saved_return_address: Option<i64>,
    ) -> Option<Rule> {
        let words = |bytes: i64| {
            let words = u64::try_from(bytes).ok()?;
            (words.is_multiple_of(8) && words / 8 <= FIELD_MASK).then_some(words / 8)
        };
        let saved = |offset: Option<i64>| match offset {
            None => Some(0),
            Some(offset) => words(offset.checked_neg()?).filter(|words| *words > 0),
        };
        let kind = match from_frame_pointer {
            true => FROM_FRAME_POINTER,
            false => FROM_STACK_POINTER,
        };
        Some(Rule(
            kind | words(cfa)? << 4
                | saved(saved_frame_pointer)? << (4 + FIELD)
                | saved(saved_return_address)? << (4 + 2 * FIELD),
        ))
    }

    fn field(self, index: u32) -> u64 {
        ((self.0 >> (4 + index * FIELD)) & FIELD_MASK) * 8
    }

    /// Goes from a frame to its caller.
    #[inline]
    pub(super) fn apply(self, frame: &Frame) -> Step {
        let base = match self.0 & 0xF {
            FROM_STACK_POINTER => frame.stack_pointer,
            FROM_FRAME_POINTER => frame.frame_pointer,
            OUTERMOST => return Step::Root,
            INVOLVED => return Step::Involved,
            _ => return Step::NoInformation,
        };
        let cfa = base.wrapping_add(self.field(0));
        // Only a leaf that keeps its return address in a register may have a frame of no bytes.
        // If the CFA comes from the frame pointer, it may be lower: the caller then has another
        // stack. An example is a coroutine that keeps the place that it came from in the frame
        // pointer.
        let in_register = self.field(2) == 0;
        let is_below = cfa < frame.stack_pointer && self.0 & 0xF == FROM_STACK_POINTER;
        if is_below || cfa == frame.stack_pointer && !in_register {
            return Step::Astray;
        }
        let address = |field: u32| cfa.wrapping_sub(self.field(field));
        let (frame_pointer, frame_pointer_at) = match self.field(1) {
            0 => (Some(frame.frame_pointer), 0),
            _ => (memory::read(address(1)), address(1)),
        };
        let (return_address, pc_at) = if in_register {
            (machine::link_register(frame), 0)
        } else {
            (memory::read(address(2)), address(2))
        };
        let (Some(frame_pointer), Some(return_address)) = (frame_pointer, return_address) else {
            return Step::Astray;
        };
        let return_address = machine::without_signature(return_address);
        if return_address == 0 {
            return Step::Root;
        }
        let can_be_read_again = memory::is_near(pc_at, frame)
            && (frame_pointer_at == 0 || memory::is_near(frame_pointer_at, frame));
        Step::Caller(Frame {
            pc_at: if can_be_read_again { pc_at } else { 0 },
            frame_pointer_at,
            ..Frame::caller(return_address, cfa, frame_pointer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_into_a_word_is_refused() {
        assert!(Rule::simple(false, 16, None, Some(-8)).is_some());
        assert!(Rule::simple(true, 16, Some(-16), Some(-8)).is_some());
        assert!(Rule::simple(false, 8 << 20, None, Some(-8)).is_none());
        assert!(Rule::simple(false, 12, None, Some(-8)).is_none());
        assert!(Rule::simple(false, -16, None, Some(-8)).is_none());
        assert!(Rule::simple(false, 16, Some(8), Some(-8)).is_none());
        assert!(Rule::simple(false, 16, Some(0), Some(-8)).is_none());
        assert!(Rule::simple(false, 16, Some(i64::MIN), Some(-8)).is_none());
    }

    #[test]
    fn a_step_reads_what_the_rule_says() {
        let stack: [u64; 4] = [1, 0x7777, 0x1234_5678, 4];
        let start = stack.as_ptr() as u64;
        let frame = Frame::caller(0x1000, start, 0x9999);
        let rule = Rule::simple(false, 24, Some(-16), Some(-8)).unwrap();
        let caller = Frame {
            pc_at: start + 16,
            frame_pointer_at: start + 8,
            ..Frame::caller(0x1234_5678, start + 24, 0x7777)
        };
        assert_eq!(rule.apply(&frame), Step::Caller(caller));
        let unsaved = Rule::simple(false, 24, None, Some(-8)).unwrap();
        let caller = Frame {
            pc_at: start + 16,
            ..Frame::caller(0x1234_5678, start + 24, 0x9999)
        };
        assert_eq!(unsaved.apply(&frame), Step::Caller(caller));
    }

    #[test]
    fn a_frame_pointer_that_is_none_leads_astray_and_nowhere_else() {
        let stack = [0_u64; 4];
        let start = stack.as_ptr() as u64;
        let rule = Rule::simple(true, 16, Some(-16), Some(-8)).unwrap();
        for garbage in [0, 5, 8, start - 16, 1 << 46, u64::MAX, u64::MAX - 15] {
            let frame = Frame::caller(0x1000, start, garbage);
            assert_eq!(rule.apply(&frame), Step::Astray, "{garbage:#x}");
        }
    }

    #[test]
    fn ends() {
        let frame = Frame::caller(0x1000, 0x2000, 0);
        assert_eq!(Rule::OUTERMOST.apply(&frame), Step::Root);
        assert_eq!(Rule::UNKNOWN.apply(&frame), Step::NoInformation);
        assert_eq!(Rule::INVOLVED.apply(&frame), Step::Involved);
    }
}
