//! Unwind information itself, through gimli: what a rule is made from, and the
//! few frames that no rule can say. Nothing here allocates.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, Evaluation, EvaluationResult,
    EvaluationStorage, Expression, FrameDescriptionEntry, LittleEndian, Pointer, Register,
    RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection,
    UnwindTableRow, Value,
};

use super::machine::{self, Captured, Frame};
use super::memory;
use super::modules::{self, Module};
use super::rule::{Rule, Step};

type Bytes = EndianSlice<'static, LittleEndian>;

/// Where gimli works: in arrays on the stack, which may be a coroutine's and small.
struct OnStack;

impl UnwindContextStorage<usize> for OnStack {
    type Rules = [(Register, RegisterRule<usize>); machine::MOST_RULES];
    // What the header says, what holds now, and one that is remembered.
    type Stack = [UnwindTableRow<usize, Self>; 3];
}

impl EvaluationStorage<Bytes> for OnStack {
    type Stack = [Value; 16];
    type ExpressionStack = [(Bytes, Bytes); 2];
    type Result = [gimli::Piece<Bytes>; 1];
}

/// What is known of a code address.
struct Entry {
    section: EhFrame<Bytes>,
    bases: BaseAddresses,
    entry: FrameDescriptionEntry<Bytes>,
}

fn entry(module: &Module, address: u64) -> Option<Entry> {
    let index_address = module.index.as_ptr() as u64;
    let bases = BaseAddresses::default().set_eh_frame_hdr(index_address);
    let index = EhFrameHdr::new(module.index, LittleEndian)
        .parse(&bases, 8)
        .ok()?;
    let Pointer::Direct(start) = index.eh_frame_ptr() else {
        return None;
    };
    let mut section = EhFrame::new(module.from(start)?, LittleEndian);
    section.set_vendor(machine::VENDOR);
    let bases = bases.set_eh_frame(start);
    let entry = match index.table() {
        Some(table) => table.fde_for_address(&section, &bases, address, EhFrame::cie_from_offset),
        // A linker that could not read all of it makes no table.
        None => section.fde_for_address(&bases, address, EhFrame::cie_from_offset),
    }
    .ok()?;
    Some(Entry {
        section,
        bases,
        entry,
    })
}

/// The rule of the code that a frame is in.
#[cold]
#[inline(never)]
pub(super) fn rule(frame: &Frame) -> Rule {
    with_row(frame.lookup(), |_, entry, row| {
        // A signal's frame is not left by a call, so the next address is exact.
        if entry.entry.is_signal_trampoline() {
            return Rule::INVOLVED;
        }
        simple(entry, row).unwrap_or(Rule::INVOLVED)
    })
    .unwrap_or_else(|| {
        if is_signal_return(frame.pc) {
            Rule::INVOLVED
        } else {
            Rule::UNKNOWN
        }
    })
}

/// Whether the instructions at an address are those by which a signal's handler
/// returns. They are the same everywhere, and libgcc goes by them as well where they
/// have no unwind information (linux-unwind.h): in the kernel on aarch64, in musl,
/// and in a runtime of its own.
fn is_signal_return(pc: u64) -> bool {
    let length = machine::SIGNAL_RETURN.len() as u64;
    let words = [pc & !7, pc.wrapping_add(length - 1) & !7];
    words.into_iter().all(memory::is_readable)
        // SAFETY: the kernel has just said that the word can be read that they are in, or
        // the two. Any bits are bytes.
        && unsafe { std::slice::from_raw_parts(pc as *const u8, machine::SIGNAL_RETURN.len()) }
            == machine::SIGNAL_RETURN
}

fn with_row<T>(
    address: u64,
    then: impl FnOnce(u64, &Entry, &UnwindTableRow<usize, OnStack>) -> T,
) -> Option<T> {
    let entry = entry(&modules::find(address)?, address)?;
    let mut context: UnwindContext<usize, OnStack> = UnwindContext::new_in();
    let row = entry
        .entry
        .unwind_info_for_address(&entry.section, &entry.bases, &mut context, address)
        .ok()?;
    Some(then(address, &entry, row))
}

/// None where it takes more than a word to say.
fn simple(entry: &Entry, row: &UnwindTableRow<usize, OnStack>) -> Option<Rule> {
    let return_address = entry.entry.cie().return_address_register();
    // How libgcc says that as well: there is nobody to return to.
    let saved_return_address = match row.register(return_address) {
        Some(RegisterRule::Undefined) => return Some(Rule::OUTERMOST),
        Some(RegisterRule::Offset(offset)) => Some(offset),
        None | Some(RegisterRule::SameValue) if machine::LINK_REGISTER.is_some() => None,
        None => return Some(Rule::OUTERMOST),
        _ => return None,
    };
    let saved_frame_pointer = match row.register(Register(machine::FRAME_POINTER)) {
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => None,
        Some(RegisterRule::Offset(offset)) => Some(offset),
        _ => return None,
    };
    // The caller's stack pointer is the CFA, unless something else is said.
    if row.register(Register(machine::STACK_POINTER)).is_some() {
        return None;
    }
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
        return None;
    };
    let from_frame_pointer = match register.0 {
        machine::STACK_POINTER => false,
        machine::FRAME_POINTER => true,
        _ => return None,
    };
    Rule::simple(
        from_frame_pointer,
        *offset,
        saved_frame_pointer,
        saved_return_address,
    )
}

/// All registers of a frame that are known.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    known: [Option<u64>; machine::REGISTERS],
    frame: Frame,
}

impl Registers {
    /// Those that every frame has.
    pub(super) fn of(frame: &Frame) -> Registers {
        let mut known = [None; machine::REGISTERS];
        known[usize::from(machine::STACK_POINTER)] = Some(frame.stack_pointer);
        known[usize::from(machine::FRAME_POINTER)] = Some(frame.frame_pointer);
        if let Some(register) = machine::LINK_REGISTER {
            known[usize::from(register)] = machine::link_register(frame);
        }
        Registers {
            known,
            frame: *frame,
        }
    }

    /// Those that were captured.
    pub(super) fn captured(captured: &Captured) -> Registers {
        let mut registers = Self::of(&captured.frame());
        for (register, value) in machine::PRESERVED.into_iter().zip(captured.preserved) {
            registers.known[usize::from(register)] = Some(value);
        }
        registers
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    fn get(&self, register: Register) -> Option<u64> {
        *self.known.get(usize::from(register.0))?
    }

    /// Goes to the caller, whatever that takes. Answers `Involved` where it takes a
    /// register that is not known.
    #[cold]
    #[inline(never)]
    pub(super) fn step(&mut self) -> Step {
        with_row(self.frame.lookup(), |_, entry, row| self.leave(entry, row))
            .unwrap_or_else(|| self.leave_handler())
    }

    /// Goes from where a signal's handler returns to what the signal interrupted.
    fn leave_handler(&mut self) -> Step {
        if !is_signal_return(self.frame.pc) {
            return Step::NoInformation;
        }
        let mut at = self.frame.stack_pointer.wrapping_add(machine::INTERRUPTED);
        for register in machine::INTERRUPTED_REGISTERS {
            self.known[usize::from(register)] = memory::read(at);
            at = at.wrapping_add(8);
        }
        let known = |register: u16| self.known[usize::from(register)];
        let (Some(pc), Some(stack_pointer), Some(frame_pointer)) = (
            memory::read(at),
            known(machine::STACK_POINTER),
            known(machine::FRAME_POINTER),
        ) else {
            return Step::Astray;
        };
        self.frame = Frame::caller(pc, stack_pointer, frame_pointer);
        self.interrupted();
        Step::Caller(self.frame)
    }

    /// Makes this the frame of what a signal interrupted: maybe a leaf, that has not
    /// saved its return address.
    fn interrupted(&mut self) {
        self.frame.is_exact = true;
        self.frame.link = machine::LINK_REGISTER
            .and_then(|register| self.get(Register(register)))
            .unwrap_or(0);
    }

    fn leave(&mut self, entry: &Entry, row: &UnwindTableRow<usize, OnStack>) -> Step {
        let frame = self.frame;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => self
                .get(*register)
                .map(|value| value.wrapping_add_signed(*offset)),
            CfaRule::Expression(expression) => self.evaluate(entry, expression, None),
        };
        let Some(cfa) = cfa else {
            return Step::Involved;
        };
        let return_column = entry.entry.cie().return_address_register();
        let mut caller = *self;
        // Not what a call may change, and what nothing is known of.
        for (number, known) in caller.known.iter_mut().enumerate() {
            let is_preserved = machine::PRESERVED.iter().any(|p| usize::from(*p) == number)
                || number == usize::from(machine::FRAME_POINTER);
            if !is_preserved {
                *known = None;
            }
        }
        caller.known[usize::from(machine::STACK_POINTER)] = Some(cfa);
        let mut return_address = match row.register(return_column) {
            None | Some(RegisterRule::SameValue) => machine::link_register(&frame),
            _ => None,
        };
        for (register, rule) in row.registers() {
            let at = |offset: i64| cfa.wrapping_add_signed(offset);
            let value = match rule {
                RegisterRule::Undefined if *register == return_column => return Step::Root,
                RegisterRule::Undefined => None,
                RegisterRule::SameValue => self.get(*register),
                RegisterRule::Offset(offset) => memory::read(at(*offset)),
                RegisterRule::ValOffset(offset) => Some(at(*offset)),
                RegisterRule::Register(other) => self.get(*other),
                RegisterRule::Expression(expression) => self
                    .evaluate(entry, expression, Some(cfa))
                    .and_then(memory::read),
                RegisterRule::ValExpression(expression) => {
                    self.evaluate(entry, expression, Some(cfa))
                }
                _ => None,
            };
            if *register == return_column {
                return_address = value;
            }
            if let Some(known) = caller.known.get_mut(usize::from(register.0)) {
                *known = value;
            }
        }
        let Some(return_address) = return_address.map(machine::without_signature) else {
            return Step::Astray;
        };
        if return_address == 0 {
            return Step::Root;
        }
        let stack_pointer = caller.known[usize::from(machine::STACK_POINTER)].unwrap_or(cfa);
        // Another stack may be anywhere; the same place again would be for ever.
        if stack_pointer == frame.stack_pointer && return_address == frame.pc {
            return Step::Astray;
        }
        let frame_pointer = caller.known[usize::from(machine::FRAME_POINTER)].unwrap_or(0);
        caller.frame = Frame::caller(return_address, stack_pointer, frame_pointer);
        if entry.entry.is_signal_trampoline() {
            caller.interrupted();
        }
        *self = caller;
        Step::Caller(caller.frame)
    }

    /// The value of an expression; none where it needs what is not known, or does
    /// not end.
    fn evaluate(
        &self,
        entry: &Entry,
        expression: &UnwindExpression<usize>,
        cfa: Option<u64>,
    ) -> Option<u64> {
        let Expression(code) = expression.get(&entry.section).ok()?;
        let encoding = entry.entry.cie().encoding();
        let mut evaluation: Evaluation<Bytes, OnStack> = Evaluation::new_in(code, encoding);
        evaluation.set_max_iterations(64);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    // In a procedure linkage table the expression asks where we are.
                    let is_here = register == entry.entry.cie().return_address_register();
                    let value = if is_here {
                        Some(self.frame.pc)
                    } else {
                        self.get(register)
                    }?;
                    evaluation
                        .resume_with_register(Value::Generic(value))
                        .ok()?
                }
                EvaluationResult::RequiresMemory {
                    address,
                    size: 8,
                    space: None,
                    ..
                } => {
                    let value = memory::read(address)?;
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.value_result() {
            Some(value) => value.to_u64(u64::MAX).ok(),
            // Without one the result is the address of a location.
            None => match evaluation.as_result() {
                [piece] => match piece.location {
                    gimli::Location::Address { address } => Some(address),
                    _ => None,
                },
                _ => None,
            },
        }
    }
}
