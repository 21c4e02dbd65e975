//! Evaluates DWARF expressions, as far as unwind information uses them (DWARF 5, sections 2.5
//! and 7.7.1).
//!
//! An expression is a program for a stack machine. The result is the value on top of the stack
//! at the end. Refused are operations that need what a frame does not have or that say where a
//! variable is, and programs that do not end soon.

use super::cursor::Cursor;
use super::memory;

/// The most operations that are executed. Expressions of linkers and compilers have about
/// eight.
const MOST_STEPS: u32 = 64;

/// The values of the stack machine. An overflow or underflow leaves a mark, as in a [`Cursor`].
struct Stack {
    values: [u64; 16],
    depth: usize,
    is_broken: bool,
}

impl Stack {
    fn push(&mut self, value: u64) {
        if self.depth < self.values.len() {
            self.values[self.depth] = value;
            self.depth += 1;
        } else {
            self.is_broken = true;
        }
    }

    fn pop(&mut self) -> u64 {
        let value = self.peek(0);
        self.depth = self.depth.saturating_sub(1);
        value
    }

    /// Returns the value at a depth, from the top.
    fn peek(&mut self, depth: usize) -> u64 {
        if depth < self.depth {
            self.values[self.depth - 1 - depth]
        } else {
            self.is_broken = true;
            0
        }
    }
}

/// Evaluates an expression; `cfa` is pushed first if there is one. `register` returns the
/// frame's registers that are known.
pub(super) fn evaluate(
    operations: &[u8],
    cfa: Option<u64>,
    register: &dyn Fn(u16) -> Option<u64>,
) -> Option<u64> {
    let mut from = Cursor::new(operations, 0);
    let mut stack = Stack {
        values: [0; 16],
        depth: 0,
        is_broken: false,
    };
    if let Some(cfa) = cfa {
        stack.push(cfa);
    }
    let mut steps = 0;
    while !from.is_at_end() {
        if steps == MOST_STEPS {
            return None;
        }
        steps += 1;
        execute(&mut from, &mut stack, register);
        if from.is_broken() || stack.is_broken {
            return None;
        }
    }
    let value = stack.pop();
    (!stack.is_broken).then_some(value)
}

fn execute(from: &mut Cursor<'_>, stack: &mut Stack, register: &dyn Fn(u16) -> Option<u64>) {
    let operation = from.byte();
    match operation {
        CONST1U..=CONSTS | LIT0..=LIT31 => {
            let value = constant(operation, from);
            stack.push(value);
        }
        BREG0..=BREG31 | BREGX => {
            let number = match operation {
                BREGX => u16::try_from(from.uleb()).unwrap_or(u16::MAX),
                _ => u16::from(operation - BREG0),
            };
            let offset = from.sleb();
            match register(number) {
                Some(value) => stack.push(value.wrapping_add_signed(offset)),
                None => from.refuse(),
            }
        }
        DEREF | DEREF_SIZE => {
            let size = match operation {
                DEREF => 8,
                _ => from.byte(),
            };
            match load(stack.pop(), size) {
                Some(value) => stack.push(value),
                None => from.refuse(),
            }
        }
        DUP..=ROT => rearrange(operation, from, stack),
        ABS | NEG | NOT | PLUS_UCONST => {
            let value = stack.pop();
            stack.push(match operation {
                ABS => value.cast_signed().wrapping_abs().cast_unsigned(),
                NEG => value.wrapping_neg(),
                NOT => !value,
                _ => value.wrapping_add(from.uleb()),
            });
        }
        AND..=XOR | EQ..=NE => {
            let right = stack.pop();
            let left = stack.pop();
            match combine(operation, left, right) {
                Some(value) => stack.push(value),
                None => from.refuse(),
            }
        }
        BRA | SKIP => {
            let distance = from.signed(2);
            if operation == SKIP || stack.pop() != 0 {
                from.jump(distance);
            }
        }
        NOP => {}
        _ => from.refuse(),
    }
}

fn constant(operation: u8, from: &mut Cursor<'_>) -> u64 {
    match operation {
        CONST1U => from.fixed(1),
        CONST1S => from.signed(1).cast_unsigned(),
        CONST2U => from.fixed(2),
        CONST2S => from.signed(2).cast_unsigned(),
        CONST4U => from.fixed(4),
        CONST4S => from.signed(4).cast_unsigned(),
        CONST8U | CONST8S => from.fixed(8),
        CONSTU => from.uleb(),
        CONSTS => from.sleb().cast_unsigned(),
        _ => u64::from(operation.wrapping_sub(LIT0)),
    }
}

/// Reads `size` bytes of memory, if they are in one aligned word.
fn load(address: u64, size: u8) -> Option<u64> {
    let before = address % 8;
    if !matches!(size, 1 | 2 | 4 | 8) || before + u64::from(size) > 8 {
        return None;
    }
    let word = memory::read(address - before)?;
    let unused = 64 - 8 * u32::from(size);
    Some((word >> (8 * before)) << unused >> unused)
}

fn rearrange(operation: u8, from: &mut Cursor<'_>, stack: &mut Stack) {
    match operation {
        DROP => _ = stack.pop(),
        SWAP => {
            let (first, second) = (stack.pop(), stack.pop());
            stack.push(first);
            stack.push(second);
        }
        ROT => {
            let (first, second, third) = (stack.pop(), stack.pop(), stack.pop());
            stack.push(first);
            stack.push(third);
            stack.push(second);
        }
        _ => {
            let depth = match operation {
                PICK => usize::from(from.byte()),
                OVER => 1,
                _ => 0,
            };
            let value = stack.peek(depth);
            stack.push(value);
        }
    }
}

/// Computes a binary operation.
///
/// Division, comparisons and `SHRA` are signed; the modulus is not. A shift by 64 bits or more
/// leaves only copies of the sign (`SHRA`) or zero.
fn combine(operation: u8, left: u64, right: u64) -> Option<u64> {
    let (left_signed, right_signed) = (left.cast_signed(), right.cast_signed());
    let bits = u32::try_from(right).unwrap_or(u32::MAX);
    let value = match operation {
        AND => left & right,
        OR => left | right,
        XOR => left ^ right,
        PLUS => left.wrapping_add(right),
        MINUS => left.wrapping_sub(right),
        MUL => left.wrapping_mul(right),
        DIV if right != 0 => left_signed.wrapping_div(right_signed).cast_unsigned(),
        MOD if right != 0 => left % right,
        SHL => left.checked_shl(bits).unwrap_or(0),
        SHR => left.checked_shr(bits).unwrap_or(0),
        SHRA => (left_signed >> bits.min(63)).cast_unsigned(),
        EQ => u64::from(left == right),
        NE => u64::from(left != right),
        GE => u64::from(left_signed >= right_signed),
        GT => u64::from(left_signed > right_signed),
        LE => u64::from(left_signed <= right_signed),
        LT => u64::from(left_signed < right_signed),
        _ => return None,
    };
    Some(value)
}

// Operations (`DW_OP_*`).
const DEREF: u8 = 0x06;
const CONST1U: u8 = 0x08;
const CONST1S: u8 = 0x09;
const CONST2U: u8 = 0x0a;
const CONST2S: u8 = 0x0b;
const CONST4U: u8 = 0x0c;
const CONST4S: u8 = 0x0d;
const CONST8U: u8 = 0x0e;
const CONST8S: u8 = 0x0f;
const CONSTU: u8 = 0x10;
const CONSTS: u8 = 0x11;
const DUP: u8 = 0x12;
const DROP: u8 = 0x13;
const OVER: u8 = 0x14;
const PICK: u8 = 0x15;
const SWAP: u8 = 0x16;
const ROT: u8 = 0x17;
const ABS: u8 = 0x19;
const AND: u8 = 0x1a;
const DIV: u8 = 0x1b;
const MINUS: u8 = 0x1c;
const MOD: u8 = 0x1d;
const MUL: u8 = 0x1e;
const NEG: u8 = 0x1f;
const NOT: u8 = 0x20;
const OR: u8 = 0x21;
const PLUS: u8 = 0x22;
const PLUS_UCONST: u8 = 0x23;
const SHL: u8 = 0x24;
const SHR: u8 = 0x25;
const SHRA: u8 = 0x26;
const XOR: u8 = 0x27;
const BRA: u8 = 0x28;
const EQ: u8 = 0x29;
const GE: u8 = 0x2a;
const GT: u8 = 0x2b;
const LE: u8 = 0x2c;
const LT: u8 = 0x2d;
const NE: u8 = 0x2e;
const SKIP: u8 = 0x2f;
const LIT0: u8 = 0x30;
const LIT31: u8 = 0x4f;
const BREG0: u8 = 0x70;
const BREG31: u8 = 0x8f;
const BREGX: u8 = 0x92;
const DEREF_SIZE: u8 = 0x94;
const NOP: u8 = 0x96;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfi::tests::by_gimli::{Random, State};

    /// Valid operations in any order, and bytes that are no operation.
    #[test]
    fn any_operations_come_to_what_they_do_in_gimli() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut values = 0;
        for _ in 0..30_000 {
            let state = State::new(&mut random);
            let mut operations = Vec::new();
            for _ in 0..random.below(16) {
                operations.push(match random.below(8) {
                    0 | 1 => LIT0 + random.byte() % 32,
                    2 => BREG0 + random.byte() % 18,
                    3 => DUP + random.byte() % 6,
                    4 => ABS + random.byte() % 15,
                    5 => EQ + random.byte() % 6,
                    6 => [DEREF, DEREF_SIZE, BRA, SKIP, BREGX, NOP][random.below(6)],
                    _ => random.byte(),
                });
                match operations.last() {
                    Some(&(BREG0..=BREG31 | PICK | PLUS_UCONST)) => operations.push(random.byte()),
                    Some(&DEREF_SIZE) => operations.push(1 << (random.byte() % 4)),
                    Some(&(BRA | SKIP)) => operations.extend([random.byte() % 9, 0]),
                    Some(&CONSTS) => operations.extend([0x80 | random.byte(), random.byte() >> 1]),
                    _ => {}
                }
            }
            // gimli accepts operations for parts of a variable, which no frame has.
            let is_of_parts = |byte: &u8| matches!(byte, 0x93 | 0x9d);
            if !operations.iter().any(is_of_parts) {
                let cfa = Some(state.cfa()).filter(|_| random.below(3) > 0);
                values += usize::from(state.check(&operations, cfa).is_some());
            }
        }
        assert!(values > 3_000, "{values}");
    }

    #[test]
    fn what_does_not_end_or_does_not_fit_is_refused() {
        let of = |operations: &[u8]| evaluate(operations, None, &|_| None);
        assert_eq!(of(&[SKIP, 0xfd, 0xff]), None);
        assert_eq!(of(&[NOP; 64]), None);
        let mut steps = vec![LIT0 + 7];
        steps.extend([NOP; 63]);
        assert_eq!(of(&steps), Some(7));
        steps.push(NOP);
        assert_eq!(of(&steps), None);
        assert_eq!(of(&[LIT0 + 1; 16]), Some(1));
        assert_eq!(of(&[LIT0 + 1; 17]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[LIT0, LIT0, DIV]), None);
        assert_eq!(of(&[CONST8U, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(evaluate(&[], Some(5), &|_| None), Some(5));
    }
}
