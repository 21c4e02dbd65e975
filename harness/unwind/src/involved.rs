//! Makes rules from [call frame information](super::cfi), and walks the few frames that do not
//! fit into a rule. Nothing here allocates.

use super::cfi::{CfaRule, Expression, Function, RegisterRule, Row};
use super::expression;
use super::machine::{self, Captured, Frame};
use super::memory;
use super::modules;
use super::rule::{Rule, Step};

/// Finds the function that contains an address, and the row there. Returns whether both are
/// known.
fn look_up(address: u64, function: &mut Function<'static>, row: &mut Row) -> bool {
    match modules::find(address) {
        Some(module) => {
            function.find(&module.index, &module.frames, address) && function.row(address, row)
        }
        None => false,
    }
}

/// Makes the rule for the code of a frame.
#[cold]
#[inline(never)]
pub(super) fn rule(frame: &Frame) -> Rule {
    let mut function = Function::NONE;
    let mut row = Row::UNSPECIFIED;
    if look_up(frame.lookup(), &mut function, &mut row) {
        // A signal's frame was not left by a call, so the next address is exact. A rule cannot
        // say that.
        if function.is_signal_frame() {
            return Rule::INVOLVED;
        }
        return simple(&function, &row).unwrap_or(Rule::INVOLVED);
    }
    match is_signal_return(frame.pc) {
        true => Rule::INVOLVED,
        false => Rule::UNKNOWN,
    }
}

/// Returns whether the code at an address is the one by which a signal handler returns.
///
/// These instructions are the same everywhere. libgcc recognises them too if they have no
/// unwind information (linux-unwind.h): in the kernel on aarch64, in musl, and in a runtime of
/// its own.
fn is_signal_return(pc: u64) -> bool {
    let length = machine::SIGNAL_RETURN.len() as u64;
    let words = [pc & !7, pc.wrapping_add(length - 1) & !7];
    words.into_iter().all(memory::is_readable)
        // SAFETY: the kernel has just said that the one or two words that contain these bytes
        // can be read. Any bits are valid bytes.
        && unsafe { std::slice::from_raw_parts(pc as *const u8, machine::SIGNAL_RETURN.len()) }
            == machine::SIGNAL_RETURN
}

/// Makes a rule. Returns `None` if it does not fit into a word.
fn simple(function: &Function<'_>, row: &Row) -> Option<Rule> {
    // An undefined return address means that there is no caller; libgcc reads it so too.
    let saved_return_address = match row.register(function.return_address()) {
        RegisterRule::Undefined => return Some(Rule::OUTERMOST),
        RegisterRule::Offset(offset) => Some(i64::from(offset)),
        RegisterRule::Unspecified | RegisterRule::SameValue if machine::LINK_REGISTER.is_some() => {
            None
        }
        RegisterRule::Unspecified => return Some(Rule::OUTERMOST),
        _ => return None,
    };
    let saved_frame_pointer = match row.register(machine::FRAME_POINTER) {
        RegisterRule::Unspecified | RegisterRule::SameValue | RegisterRule::Undefined => None,
        RegisterRule::Offset(offset) => Some(i64::from(offset)),
        _ => return None,
    };
    // The caller's stack pointer is the CFA, unless the row says something else.
    if row.register(machine::STACK_POINTER) != RegisterRule::Unspecified {
        return None;
    }
    let CfaRule::Register { register, offset } = row.cfa() else {
        return None;
    };
    let from_frame_pointer = match register {
        machine::STACK_POINTER => false,
        machine::FRAME_POINTER => true,
        _ => return None,
    };
    Rule::simple(
        from_frame_pointer,
        offset,
        saved_frame_pointer,
        saved_return_address,
    )
}

#[expect(clippy::cast_possible_truncation, reason = "there are few")]
const REGISTERS: u16 = machine::REGISTERS as u16;

/// The known registers of a frame.
pub(super) struct Registers {
    values: Values,
    frame: Frame,
}

struct Values {
    values: [u64; machine::REGISTERS],
    /// One bit for each register that is known.
    known: u32,
}

impl Values {
    const NONE: Values = Values {
        values: [0; machine::REGISTERS],
        known: 0,
    };

    fn get(&self, register: u16) -> Option<u64> {
        let value = *self.values.get(usize::from(register))?;
        (self.known >> register & 1 != 0).then_some(value)
    }

    fn set(&mut self, register: u16, value: Option<u64>) {
        match value {
            Some(value) => {
                self.values[usize::from(register)] = value;
                self.known |= 1 << register;
            }
            None => self.known &= !(1 << register),
        }
    }
}

/// Goes from a frame to its caller, by the unwind information itself. Returns `Involved` if
/// that needs a register that a [`Frame`] does not have.
#[cold]
#[inline(never)]
pub(super) fn step(frame: &Frame) -> Step {
    Registers::of(frame).step()
}

impl Registers {
    /// Starts with the registers that every frame has.
    fn of(frame: &Frame) -> Registers {
        let mut values = Values::NONE;
        values.set(machine::STACK_POINTER, Some(frame.stack_pointer));
        values.set(machine::FRAME_POINTER, Some(frame.frame_pointer));
        if let Some(register) = machine::LINK_REGISTER {
            values.set(register, machine::link_register(frame));
        }
        Registers {
            values,
            frame: *frame,
        }
    }

    /// Starts with the registers that were captured.
    pub(super) fn captured(captured: &Captured) -> Registers {
        let mut registers = Self::of(&captured.frame());
        for (register, value) in machine::PRESERVED.into_iter().zip(captured.preserved) {
            registers.values.set(register, Some(value));
        }
        registers
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Goes to the caller, by the unwind information itself. Returns `Involved` if that needs a
    /// register that is not known.
    #[cold]
    #[inline(never)]
    pub(super) fn step(&mut self) -> Step {
        let mut function = Function::NONE;
        let mut row = Row::UNSPECIFIED;
        if look_up(self.frame.lookup(), &mut function, &mut row) {
            return self.leave(&function, &row);
        }
        self.leave_handler()
    }

    /// Goes from the code by which a signal handler returns to the function that the signal
    /// interrupted.
    fn leave_handler(&mut self) -> Step {
        if !is_signal_return(self.frame.pc) {
            return Step::NoInformation;
        }
        let mut at = self.frame.stack_pointer.wrapping_add(machine::INTERRUPTED);
        for register in machine::INTERRUPTED_REGISTERS {
            self.values.set(register, memory::read(at));
            at = at.wrapping_add(8);
        }
        let (Some(pc), Some(stack_pointer), Some(frame_pointer)) = (
            memory::read(at),
            self.values.get(machine::STACK_POINTER),
            self.values.get(machine::FRAME_POINTER),
        ) else {
            return Step::Astray;
        };
        self.frame = Frame::caller(pc, stack_pointer, frame_pointer);
        self.interrupted();
        Step::Caller(self.frame)
    }

    /// Makes this the frame of a function that a signal interrupted. It may be a leaf that has
    /// not saved its return address.
    fn interrupted(&mut self) {
        self.frame.is_exact = true;
        self.frame.link = machine::LINK_REGISTER
            .and_then(|register| self.values.get(register))
            .unwrap_or(0);
    }

    fn leave(&mut self, function: &Function<'_>, row: &Row) -> Step {
        let Some(cfa) = self.cfa(function, row) else {
            return Step::Involved;
        };
        let return_column = function.return_address();
        if row.register(return_column) == RegisterRule::Undefined {
            return Step::Root;
        }
        let mut callers = Values::NONE;
        for register in 0..REGISTERS {
            callers.set(register, self.recover(function, row, register, cfa));
        }
        let return_address = match row.register(return_column) {
            RegisterRule::Unspecified => machine::link_register(&self.frame),
            _ => callers.get(return_column),
        };
        let Some(return_address) = return_address.map(machine::without_signature) else {
            return Step::Astray;
        };
        if return_address == 0 {
            return Step::Root;
        }
        let stack_pointer = callers.get(machine::STACK_POINTER).unwrap_or(cfa);
        // The caller may be on another stack, at any address. But the same place again would be
        // an endless loop.
        if stack_pointer == self.frame.stack_pointer && return_address == self.frame.pc {
            return Step::Astray;
        }
        let frame_pointer = callers.get(machine::FRAME_POINTER).unwrap_or(0);
        self.frame = Frame::caller(return_address, stack_pointer, frame_pointer);
        self.values = callers;
        if function.is_signal_frame() {
            self.interrupted();
        }
        Step::Caller(self.frame)
    }

    fn cfa(&self, function: &Function<'_>, row: &Row) -> Option<u64> {
        match row.cfa() {
            CfaRule::Register { register, offset } => {
                let base = self.values.get(register)?;
                Some(base.wrapping_add_signed(offset))
            }
            CfaRule::Expression(expression) => self.evaluate(function, expression, None),
        }
    }

    /// Returns the value that a register had in the caller.
    fn recover(&self, function: &Function<'_>, row: &Row, register: u16, cfa: u64) -> Option<u64> {
        match row.register(register) {
            RegisterRule::Unspecified if register == machine::STACK_POINTER => Some(cfa),
            // A call may change this register, so its value is not known.
            RegisterRule::Unspecified if !is_preserved(register) => None,
            RegisterRule::Unspecified | RegisterRule::SameValue => self.values.get(register),
            RegisterRule::Undefined => None,
            RegisterRule::Offset(offset) => memory::read(cfa.wrapping_add_signed(offset.into())),
            RegisterRule::ValueOffset(offset) => Some(cfa.wrapping_add_signed(offset.into())),
            RegisterRule::Register(other) => self.values.get(other),
            RegisterRule::Expression(expression) => self
                .evaluate(function, expression, Some(cfa))
                .and_then(memory::read),
            RegisterRule::ValueExpression(expression) => {
                self.evaluate(function, expression, Some(cfa))
            }
        }
    }

    /// Evaluates an expression. Returns `None` if it needs an unknown value, or does not end.
    fn evaluate(
        &self,
        function: &Function<'_>,
        expression: Expression,
        cfa: Option<u64>,
    ) -> Option<u64> {
        let register = |register: u16| {
            // In a procedure linkage table, the expression reads the current address from this
            // register.
            match register == function.return_address() {
                true => Some(self.frame.pc),
                false => self.values.get(register),
            }
        };
        expression::evaluate(function.operations(expression)?, cfa, &register)
    }
}

/// Returns whether a call leaves a register unchanged.
fn is_preserved(register: u16) -> bool {
    register == machine::FRAME_POINTER || machine::PRESERVED.contains(&register)
}
