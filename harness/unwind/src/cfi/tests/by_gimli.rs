//! Rows and expressions as gimli reads them. Tests compare this unwinder's results with them.

use gimli::{
    BaseAddresses, EhFrame, EndianSlice, Evaluation, EvaluationResult, EvaluationStorage,
    FrameDescriptionEntry, LittleEndian, Location, Register, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindSection, UnwindTableRow, Value,
};

use crate::{expression, memory};

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;
pub(crate) type Entry<'a> = FrameDescriptionEntry<Bytes<'a>>;
pub(crate) type Row = UnwindTableRow<usize, Storage>;
pub(crate) type Context = UnwindContext<usize, Storage>;

/// Room for more rules and states than any function needs.
#[derive(Debug)]
pub(crate) struct Storage;

impl UnwindContextStorage<usize> for Storage {
    type Rules = [(Register, RegisterRule<usize>); 192];
    type Stack = [Row; 8];
}

impl<'a> EvaluationStorage<Bytes<'a>> for Storage {
    type Stack = [Value; 16];
    type ExpressionStack = [(Bytes<'a>, Bytes<'a>); 2];
    type Result = [gimli::Piece<Bytes<'a>>; 1];
}

/// Returns an `.eh_frame` whose first byte is at an address.
pub(crate) fn section(bytes: &[u8], address: u64) -> (EhFrame<Bytes<'_>>, BaseAddresses) {
    let mut section = EhFrame::new(bytes, LittleEndian);
    if cfg!(target_arch = "aarch64") {
        section.set_vendor(gimli::Vendor::AArch64);
    }
    (section, BaseAddresses::default().set_eh_frame(address))
}

/// Evaluates an expression with gimli, with known registers and memory.
fn value(
    operations: &[u8],
    cfa: Option<u64>,
    register: &dyn Fn(u16) -> Option<u64>,
    memory: &dyn Fn(u64, u8) -> Option<u64>,
) -> Option<u64> {
    let encoding = gimli::Encoding {
        format: gimli::Format::Dwarf32,
        version: 1,
        address_size: 8,
    };
    let operations = EndianSlice::new(operations, LittleEndian);
    let mut evaluation: Evaluation<Bytes<'_>, Storage> = Evaluation::new_in(operations, encoding);
    evaluation.set_max_iterations(64);
    if let Some(cfa) = cfa {
        evaluation.set_initial_value(cfa);
    }
    let mut result = evaluation.evaluate();
    loop {
        result = match result.ok()? {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister {
                register: number, ..
            } => evaluation.resume_with_register(Value::Generic(register(number.0)?)),
            EvaluationResult::RequiresMemory {
                address,
                size,
                space: None,
                ..
            } => evaluation.resume_with_memory(Value::Generic(memory(address, size)?)),
            _ => return None,
        };
    }
    match evaluation.value_result() {
        Some(value) => value.to_u64(u64::MAX).ok(),
        None => match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Some(address),
                _ => None,
            },
            _ => None,
        },
    }
}

/// Returns the row for an address, from the function's entry at an offset.
pub(crate) fn row(
    frames: &[u8],
    start: u64,
    entry: usize,
    address: u64,
    context: &mut Context,
) -> Option<Row> {
    let (section, bases) = section(frames, start);
    let cie = |section: &EhFrame<_>, bases: &_, at| section.cie_from_offset(bases, at);
    let entry = section.fde_from_offset(&bases, entry.into(), cie).ok()?;
    let row = entry.unwind_info_for_address(&section, &bases, context, address);
    row.ok().cloned()
}

/// Words in memory and registers. Some are addresses of the words, the others are not.
pub(crate) struct State {
    words: Box<[u64; 32]>,
    registers: [Option<u64>; 17],
}

impl State {
    pub(crate) fn new(random: &mut Random) -> State {
        let mut words = Box::new([0; 32]);
        let start = words.as_ptr() as u64;
        let mut number = || match random.below(4) {
            0 => random.next(),
            1 => u64::from(random.byte()),
            2 => start + random.next() % 256,
            _ => start + random.next() % 32 * 8,
        };
        for word in words.iter_mut() {
            *word = number();
        }
        let registers = [(); 17].map(|()| Some(number()).filter(|number| number % 5 != 0));
        State { words, registers }
    }

    /// Evaluates an expression with both, checks that the results are equal, and returns the
    /// result.
    #[track_caller]
    pub(crate) fn check(&self, operations: &[u8], cfa: Option<u64>) -> Option<u64> {
        let register = |number: u16| *self.registers.get(usize::from(number))?;
        // Only bytes that are in one aligned word.
        let memory = |address: u64, size: u8| {
            let word = memory::read(address & !7)?.to_le_bytes();
            let (start, size) = ((address & 7) as usize, usize::from(size));
            let mut bytes = [0; 8];
            let is_size = size.is_power_of_two();
            bytes
                .get_mut(..size)?
                .copy_from_slice(word.get(start..start + size).filter(|_| is_size)?);
            Some(u64::from_le_bytes(bytes))
        };
        let ours = expression::evaluate(operations, cfa, &register);
        let theirs = value(operations, cfa, &register, &memory);
        assert_eq!(ours, theirs, "{operations:x?} from {cfa:x?}");
        ours
    }

    pub(crate) fn cfa(&self) -> u64 {
        self.words.as_ptr() as u64 + 128
    }
}

/// Random numbers, the same in every run (Marsaglia's xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap() % end
    }

    /// Returns a byte; small ones are more frequent.
    pub(crate) fn byte(&mut self) -> u8 {
        let [byte, choice, ..] = self.next().to_le_bytes();
        byte >> (choice % 6)
    }
}
