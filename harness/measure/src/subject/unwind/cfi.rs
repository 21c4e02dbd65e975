//! Call frame information: what `.eh_frame` says of a code address.
//!
//! ```text
//! .eh_frame_hdr   where .eh_frame is; a sorted table of functions into it
//! .eh_frame       CIE: what functions have in common    FDE: one function
//!                   augmentation, factors, instructions   its CIE, its extent, instructions
//! ```
//!
//! Instructions make a table, a row for some addresses of the function: how the CFA
//! (canonical frame address) is found there, and each register that its caller had.
//!
//! DWARF 5, section 6.4, describes rows and instructions; the "Linux Standard Base Core
//! Specification", 10.5 and 10.6, the two sections and how they write addresses; "DWARF
//! for the Arm 64-bit Architecture", 4.3 and 4.4, what AArch64 adds.
//!
//! It is read where the program was when it allocated, maybe on the small stack of a
//! coroutine: so everything is written to one place, and little is handed on by value.
//! Two encodings are refused, and a walk ends at code that uses them: old
//! gcc's `eh` augmentation, addresses that are kept elsewhere (`DW_EH_PE_indirect`).

#[cfg(test)]
mod tests;

use super::cursor::Cursor;
use super::machine;

/// A section, and the address of its first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    bytes: &'a [u8],
    address: u64,
}

impl Section<'static> {
    /// One that is where it belongs.
    pub(super) fn loaded(bytes: &'static [u8]) -> Section<'static> {
        Section {
            bytes,
            address: bytes.as_ptr() as u64,
        }
    }
}

impl Section<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

// How an address is written (`DW_EH_PE_*`): a format, and what it is relative to.
const FORMAT: u8 = 0x0f;
const SIGNED_FOUR_BYTES: u8 = 0x0b;
const ABSOLUTE: u8 = 0x00;
const RELATIVE_TO_ITSELF: u8 = 0x10;
const RELATIVE_TO_DATA: u8 = 0x30;
const OMITTED: u8 = 0xff;

/// A number as a place in a section.
#[expect(
    clippy::cast_possible_truncation,
    reason = "of 64 bits on both machines"
)]
fn place(number: u64) -> usize {
    number as usize
}

/// A number in one of the formats.
fn number(from: &mut Cursor<'_>, encoding: u8) -> u64 {
    match encoding & FORMAT {
        0x00 | 0x04 | 0x0c => from.fixed(8),
        0x01 => from.uleb(),
        0x02 => from.fixed(2),
        0x03 => from.fixed(4),
        0x09 => from.sleb().cast_unsigned(),
        0x0a => from.signed(2).cast_unsigned(),
        SIGNED_FOUR_BYTES => from.signed(4).cast_unsigned(),
        _ => {
            from.refuse();
            0
        }
    }
}

/// An address in a section whose first byte is at `start`. "Data" is that section, in
/// the one that has such addresses, and in the other refused.
fn address(from: &mut Cursor<'_>, encoding: u8, start: u64, has_data: bool) -> u64 {
    let base = match encoding & !FORMAT {
        ABSOLUTE => 0,
        RELATIVE_TO_ITSELF => start.wrapping_add(from.at() as u64),
        RELATIVE_TO_DATA if has_data => start,
        _ => {
            from.refuse();
            0
        }
    };
    base.wrapping_add(number(from, encoding))
}

/// What stands before the table in `.eh_frame_hdr`.
struct Header {
    frames: u64,
    /// How many functions are in the table; zero without one.
    functions: u64,
    /// Where it begins, and how it is written.
    table: usize,
    encoding: u8,
}

impl Header {
    fn read(index: &Section<'_>) -> Option<Header> {
        let mut from = Cursor::new(index.bytes, 0);
        let version = from.byte();
        let of_frames = from.byte();
        let of_count = from.byte();
        let encoding = from.byte();
        if version != 1 || of_frames == OMITTED {
            return None;
        }
        let frames = address(&mut from, of_frames, index.address, true);
        let has_table = of_count != OMITTED && encoding != OMITTED;
        let functions = if has_table {
            number(&mut from, of_count)
        } else {
            0
        };
        if from.is_broken() {
            return None;
        }
        Some(Header {
            frames,
            functions,
            table: from.at(),
            encoding,
        })
    }
}

/// The address of `.eh_frame`, as `.eh_frame_hdr` gives it.
pub(super) fn frames_address(index: &Section<'_>) -> Option<u64> {
    Header::read(index).map(|header| header.frames)
}

/// Where in `.eh_frame` the last function is that begins at an address or before, as
/// the table says.
fn in_table(
    header: &Header,
    index: &Section<'_>,
    frames: &Section<'_>,
    address: u64,
) -> Option<usize> {
    const PAIR: usize = 8;
    let room = (index.bytes.len() - header.table) / PAIR;
    if header.functions > room as u64 {
        return None;
    }
    let (mut low, mut high) = (0, place(header.functions));
    while low < high {
        let middle = low + (high - low) / 2;
        if relative(index, header.table + PAIR * middle) <= address {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let last = low.checked_sub(1)?;
    let entry = relative(index, header.table + PAIR * last + PAIR / 2);
    Some(place(entry.wrapping_sub(frames.address)))
}

/// An address in the table.
fn relative(index: &Section<'_>, at: usize) -> u64 {
    let distance = Cursor::new(index.bytes, at).signed(4);
    index.address.wrapping_add_signed(distance)
}

/// An entry of `.eh_frame`, of either kind.
struct Entry {
    /// Where its length ends, and it does.
    start: usize,
    end: usize,
    is_common: bool,
    /// Where the CIE of a function is; beyond the end where it is nowhere.
    common: usize,
}

impl Entry {
    /// None behind the last one, which a length of zero ends.
    fn read(frames: &Section<'_>, at: usize) -> Option<Entry> {
        let mut from = Cursor::new(frames.bytes, at);
        let mut length = from.fixed(4);
        match length {
            0 => return None,
            0xffff_ffff => length = from.fixed(8),
            0xffff_fff0.. => return None,
            _ => {}
        }
        let start = from.at();
        // Of four bytes, whatever the length is of.
        let back = from.fixed(4);
        if from.is_broken() || length < 4 || length > (frames.bytes.len() - start) as u64 {
            return None;
        }
        let end = start + place(length);
        Some(Entry {
            start,
            end,
            is_common: back == 0,
            common: start.wrapping_sub(place(back)),
        })
    }

    /// What stands behind the first four bytes.
    fn contents<'a>(&self, frames: &Section<'a>) -> Cursor<'a> {
        Cursor::new(&frames.bytes[..self.end], self.start + 4)
    }
}

/// What functions have in common (a common information entry, CIE).
#[derive(Debug)]
struct Common<'a> {
    instructions: Cursor<'a>,
    /// Factors of distances in code and on the stack.
    code_factor: u64,
    data_factor: i64,
    return_address: u16,
    /// How the addresses of functions are written.
    encoding: u8,
    is_signal_frame: bool,
    /// Whether its functions have data of the augmentation before their instructions.
    has_data: bool,
    /// The address of the section that it is in.
    frames: u64,
}

impl<'a> Common<'a> {
    const NONE: Common<'a> = Common {
        instructions: Cursor::new(&[], 0),
        code_factor: 0,
        data_factor: 0,
        return_address: 0,
        encoding: ABSOLUTE,
        is_signal_frame: false,
        has_data: false,
        frames: 0,
    };

    /// Makes it the entry that is there; answers whether one is.
    fn read(&mut self, frames: &Section<'a>, at: usize) -> bool {
        let Some(entry) = Entry::read(frames, at) else {
            return false;
        };
        *self = Common::NONE;
        self.frames = frames.address;
        self.instructions = entry.contents(frames);
        let from = &mut self.instructions;
        let version = from.byte();
        if !entry.is_common || !matches!(version, 1 | 3) {
            return false;
        }
        let mut augmentation = *from;
        while from.byte() != 0 {}
        self.code_factor = from.uleb();
        self.data_factor = from.sleb();
        self.return_address = match version {
            1 => u16::from(from.byte()),
            _ => register(from),
        };
        self.augment(&mut augmentation)
            && !self.instructions.is_broken()
            && usize::from(self.return_address) < machine::REGISTERS
    }

    /// Reads what the letters of the augmentation say is there.
    fn augment(&mut self, letters: &mut Cursor<'_>) -> bool {
        let mut data = self.instructions;
        let mut is_first = true;
        loop {
            match letters.byte() {
                0 => break,
                b'z' if is_first => {
                    self.has_data = true;
                    let length = self.instructions.uleb();
                    data = self.instructions;
                    self.instructions.skip(length);
                }
                b'S' => self.is_signal_frame = true,
                // AArch64: return addresses are signed with the other key, memory is
                // tagged.
                b'B' | b'G' => {}
                b'R' if self.has_data => self.encoding = data.byte(),
                // Where a function's catch blocks are, of interest to nobody here.
                b'L' if self.has_data => _ = data.byte(),
                // The function that looks for them.
                b'P' if self.has_data => {
                    let encoding = data.byte();
                    number(&mut data, encoding);
                }
                _ => return false,
            }
            is_first = false;
        }
        data.at() <= self.instructions.at() && !data.is_broken()
    }
}

/// What `.eh_frame` says of one function (a frame description entry, FDE).
#[derive(Debug)]
pub(super) struct Function<'a> {
    start: u64,
    end: u64,
    instructions: Cursor<'a>,
    common: Common<'a>,
}

impl<'a> Function<'a> {
    pub(super) const NONE: Function<'a> = Function {
        start: 0,
        end: 0,
        instructions: Cursor::new(&[], 0),
        common: Common::NONE,
    };

    /// Makes it the function that an address is in; answers whether one is known.
    pub(super) fn find(&mut self, index: &Section<'_>, frames: &Section<'a>, address: u64) -> bool {
        let Some(header) = Header::read(index) else {
            return false;
        };
        // Every linker writes this one. One that could not read all of `.eh_frame`
        // writes none.
        if header.functions == 0 || header.encoding != RELATIVE_TO_DATA | SIGNED_FOUR_BYTES {
            return self.walk(frames, address);
        }
        let at = in_table(&header, index, frames, address);
        at.is_some_and(|at| self.read(frames, at)) && self.contains(address)
    }

    /// The same by looking at one after the other.
    fn walk(&mut self, frames: &Section<'a>, address: u64) -> bool {
        let mut at = 0;
        while let Some(entry) = Entry::read(frames, at) {
            if !entry.is_common {
                if !self.read(frames, at) {
                    return false;
                }
                if self.contains(address) {
                    return true;
                }
            }
            // Behind its length at least, and so behind `at`.
            at = entry.end;
        }
        false
    }

    /// Makes it the entry that is there; answers whether one is.
    fn read(&mut self, frames: &Section<'a>, at: usize) -> bool {
        let Some(entry) = Entry::read(frames, at) else {
            return false;
        };
        self.instructions = entry.contents(frames);
        !entry.is_common && self.common.read(frames, entry.common) && self.read_head()
    }

    /// Reads what stands before the instructions.
    fn read_head(&mut self) -> bool {
        let from = &mut self.instructions;
        let common = &self.common;
        self.start = address(from, common.encoding, common.frames, false);
        self.end = self.start.wrapping_add(number(from, common.encoding));
        if common.has_data {
            let length = from.uleb();
            from.skip(length);
        }
        !from.is_broken()
    }

    fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Writes the row of an address in the function; answers whether its instructions
    /// were understood. In place: by value it would be three rows on the stack.
    pub(super) fn row(&self, address: u64, row: &mut Row) -> bool {
        let mut rows = Rows::NEW;
        let common = &self.common;
        // All of them, whatever addresses they speak of.
        if !rows.execute(&common.instructions, common, 0, u64::MAX) {
            return false;
        }
        rows.initial.clone_from(&rows.row);
        rows.has_initial = true;
        let is_understood = rows.execute(&self.instructions, common, self.start, address);
        row.clone_from(&rows.row);
        is_understood
    }

    /// Whether a signal's handler returns to it.
    pub(super) fn is_signal_frame(&self) -> bool {
        self.common.is_signal_frame
    }

    /// The number that the return address has among the registers.
    pub(super) fn return_address(&self) -> u16 {
        self.common.return_address
    }

    /// The operations of an expression.
    pub(super) fn operations(&self, expression: Expression) -> Option<&'a [u8]> {
        let mut from = Cursor::new(self.instructions.bytes(), expression.0 as usize);
        let length = from.uleb();
        let start = from.at();
        from.skip(length);
        if from.is_broken() {
            return None;
        }
        from.bytes().get(start..from.at())
    }
}

/// Where an expression is, from the first byte of `.eh_frame`: its length, and then it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expression(u32);

/// How the CFA is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CfaRule {
    Register { register: u16, offset: i64 },
    Expression(Expression),
}

/// How a register is found that the caller had. Offsets are from the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterRule {
    /// Nothing is said of it.
    Unspecified,
    Undefined,
    SameValue,
    /// It was saved there.
    Offset(i32),
    /// It is that address.
    ValueOffset(i32),
    Register(u16),
    /// It was saved at the address that comes out.
    Expression(Expression),
    /// It is what comes out.
    ValueExpression(Expression),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    cfa_register: u16,
    cfa_offset: i64,
    /// In the place of both, which are kept: libgcc goes back to them when it is told
    /// but one of them, and assembly by hand (libgcrypt's) counts on it.
    cfa_expression: Option<Expression>,
    /// Not of registers that nobody here goes by, such as those of vectors.
    registers: [RegisterRule; machine::REGISTERS],
}

impl Row {
    pub(super) const UNSPECIFIED: Row = Row {
        cfa_register: 0,
        cfa_offset: 0,
        cfa_expression: None,
        registers: [RegisterRule::Unspecified; machine::REGISTERS],
    };

    pub(super) fn cfa(&self) -> CfaRule {
        match self.cfa_expression {
            Some(expression) => CfaRule::Expression(expression),
            None => CfaRule::Register {
                register: self.cfa_register,
                offset: self.cfa_offset,
            },
        }
    }

    pub(super) fn register(&self, register: u16) -> RegisterRule {
        self.registers[usize::from(register)]
    }
}

/// How deep states are remembered in each other. Compilers do not nest them.
const REMEMBERED: usize = 2;

/// A row, and those that it may come back to.
struct Rows {
    row: Row,
    /// What the CIE's instructions made, once they are executed.
    initial: Row,
    has_initial: bool,
    remembered: [Row; REMEMBERED],
    depth: usize,
}

impl Rows {
    const NEW: Rows = Rows {
        row: Row::UNSPECIFIED,
        initial: Row::UNSPECIFIED,
        has_initial: false,
        remembered: [Row::UNSPECIFIED; REMEMBERED],
        depth: 0,
    };

    /// Executes instructions up to the first that is for addresses behind this one.
    /// Answers whether it could.
    fn execute(
        &mut self,
        instructions: &Cursor<'_>,
        common: &Common<'_>,
        start: u64,
        address: u64,
    ) -> bool {
        let mut from = *instructions;
        let mut location = start;
        while !from.is_at_end() {
            let next = self.instruction(&mut from, common, location);
            // Rows are in the order of their addresses.
            if from.is_broken() || next < location {
                return false;
            }
            if address < next {
                return true;
            }
            location = next;
        }
        true
    }

    /// Executes one, and answers for which location those behind it are.
    fn instruction(&mut self, from: &mut Cursor<'_>, common: &Common<'_>, location: u64) -> u64 {
        let byte = from.byte();
        // Those that are most frequent have their first operand in the same byte.
        let (most, operand) = (byte & 0xc0, byte & 0x3f);
        match most {
            ADVANCE_LOC => advanced(location, u64::from(operand), common),
            OFFSET => {
                let offset = factored(from, common);
                self.set(u16::from(operand), RegisterRule::Offset(offset));
                location
            }
            RESTORE => {
                self.restore(u16::from(operand), from);
                location
            }
            _ => match operand {
                SET_LOC => self::address(from, common.encoding, common.frames, false),
                ADVANCE_LOC1 => advanced(location, from.fixed(1), common),
                ADVANCE_LOC2 => advanced(location, from.fixed(2), common),
                ADVANCE_LOC4 => advanced(location, from.fixed(4), common),
                NOP | REMEMBER_STATE | RESTORE_STATE => {
                    self.remember(operand, from);
                    location
                }
                DEF_CFA..=DEF_CFA_EXPRESSION | DEF_CFA_SF | DEF_CFA_OFFSET_SF => {
                    self.define_cfa(operand, from, common);
                    location
                }
                // The size of a call's arguments, for who goes on after a panic.
                GNU_ARGS_SIZE => {
                    from.uleb();
                    location
                }
                // Whether a return address is signed is seen from its bits.
                _ if machine::SIGNS_RETURN_ADDRESS.contains(&operand) => location,
                _ => {
                    self.define(operand, from, common);
                    location
                }
            },
        }
    }

    /// Executes one that says of a register how it is found.
    fn define(&mut self, instruction: u8, from: &mut Cursor<'_>, common: &Common<'_>) {
        let register = self::register(from);
        let rule = match instruction {
            OFFSET_EXTENDED => RegisterRule::Offset(factored(from, common)),
            OFFSET_EXTENDED_SF => RegisterRule::Offset(factored_signed(from, common)),
            GNU_NEGATIVE_OFFSET_EXTENDED => {
                RegisterRule::Offset(factored(from, common).wrapping_neg())
            }
            VAL_OFFSET => RegisterRule::ValueOffset(factored(from, common)),
            VAL_OFFSET_SF => RegisterRule::ValueOffset(factored_signed(from, common)),
            UNDEFINED => RegisterRule::Undefined,
            SAME_VALUE => RegisterRule::SameValue,
            REGISTER => RegisterRule::Register(self::register(from)),
            EXPRESSION => RegisterRule::Expression(expression(from)),
            VAL_EXPRESSION => RegisterRule::ValueExpression(expression(from)),
            RESTORE_EXTENDED => return self.restore(register, from),
            _ => return from.refuse(),
        };
        self.set(register, rule);
    }

    /// Executes one that says how the CFA is found.
    fn define_cfa(&mut self, instruction: u8, from: &mut Cursor<'_>, common: &Common<'_>) {
        let row = &mut self.row;
        match instruction {
            DEF_CFA | DEF_CFA_SF | DEF_CFA_REGISTER => {
                row.cfa_register = register(from);
                row.cfa_expression = None;
            }
            DEF_CFA_EXPRESSION => row.cfa_expression = Some(expression(from)),
            _ => {}
        }
        match instruction {
            DEF_CFA | DEF_CFA_OFFSET => row.cfa_offset = from.uleb().cast_signed(),
            DEF_CFA_SF | DEF_CFA_OFFSET_SF => {
                row.cfa_offset = from.sleb().wrapping_mul(common.data_factor);
            }
            _ => {}
        }
    }

    fn set(&mut self, register: u16, rule: RegisterRule) {
        if let Some(place) = self.row.registers.get_mut(usize::from(register)) {
            *place = rule;
        }
    }

    /// Goes back to what the CIE says of a register; while that is executed, it has said
    /// nothing.
    fn restore(&mut self, register: u16, from: &mut Cursor<'_>) {
        if !self.has_initial {
            from.refuse();
        } else if let Some(rule) = self.initial.registers.get(usize::from(register)) {
            self.set(register, *rule);
        }
    }

    /// Remembers the row, goes back to the last one that was remembered, or neither.
    fn remember(&mut self, instruction: u8, from: &mut Cursor<'_>) {
        match instruction {
            REMEMBER_STATE if self.depth < REMEMBERED => {
                self.remembered[self.depth].clone_from(&self.row);
                self.depth += 1;
            }
            RESTORE_STATE if self.depth > 0 => {
                self.depth -= 1;
                self.row.clone_from(&self.remembered[self.depth]);
            }
            NOP => {}
            _ => from.refuse(),
        }
    }
}

/// A location so many units of code further on.
fn advanced(location: u64, units: u64, common: &Common<'_>) -> u64 {
    location.wrapping_add(units.wrapping_mul(common.code_factor))
}

/// The number of a register.
fn register(from: &mut Cursor<'_>) -> u16 {
    u16::try_from(from.uleb()).unwrap_or_else(|_| {
        from.refuse();
        0
    })
}

/// An offset from the CFA, counted in words of the stack.
fn factored(from: &mut Cursor<'_>, common: &Common<'_>) -> i32 {
    let words = from.uleb().cast_signed();
    narrow(words.wrapping_mul(common.data_factor), from)
}

fn factored_signed(from: &mut Cursor<'_>, common: &Common<'_>) -> i32 {
    let words = from.sleb();
    narrow(words.wrapping_mul(common.data_factor), from)
}

/// No frame is of two gigabytes.
fn narrow(offset: i64, from: &mut Cursor<'_>) -> i32 {
    i32::try_from(offset).unwrap_or_else(|_| {
        from.refuse();
        0
    })
}

/// Goes past an expression.
fn expression(from: &mut Cursor<'_>) -> Expression {
    let at = u32::try_from(from.at()).unwrap_or_else(|_| {
        from.refuse();
        0
    });
    let length = from.uleb();
    from.skip(length);
    Expression(at)
}

// Instructions (`DW_CFA_*`). Three have an operand in their low six bits.
const ADVANCE_LOC: u8 = 0x40;
const OFFSET: u8 = 0x80;
const RESTORE: u8 = 0xc0;
const NOP: u8 = 0x00;
const SET_LOC: u8 = 0x01;
const ADVANCE_LOC1: u8 = 0x02;
const ADVANCE_LOC2: u8 = 0x03;
const ADVANCE_LOC4: u8 = 0x04;
const OFFSET_EXTENDED: u8 = 0x05;
const RESTORE_EXTENDED: u8 = 0x06;
const UNDEFINED: u8 = 0x07;
const SAME_VALUE: u8 = 0x08;
const REGISTER: u8 = 0x09;
const REMEMBER_STATE: u8 = 0x0a;
const RESTORE_STATE: u8 = 0x0b;
const DEF_CFA: u8 = 0x0c;
const DEF_CFA_REGISTER: u8 = 0x0d;
const DEF_CFA_OFFSET: u8 = 0x0e;
const DEF_CFA_EXPRESSION: u8 = 0x0f;
const EXPRESSION: u8 = 0x10;
const OFFSET_EXTENDED_SF: u8 = 0x11;
const DEF_CFA_SF: u8 = 0x12;
const DEF_CFA_OFFSET_SF: u8 = 0x13;
const VAL_OFFSET: u8 = 0x14;
const VAL_OFFSET_SF: u8 = 0x15;
const VAL_EXPRESSION: u8 = 0x16;
const GNU_ARGS_SIZE: u8 = 0x2e;
const GNU_NEGATIVE_OFFSET_EXTENDED: u8 = 0x2f;
