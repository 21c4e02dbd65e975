//! Reads call frame information: what `.eh_frame` says about a code address.
//!
//! ```text
//! .eh_frame_hdr   where .eh_frame is; a sorted table of functions into it
//! .eh_frame       CIE: what functions have in common    FDE: one function
//!                   augmentation, factors, instructions   its CIE, its extent, instructions
//! ```
//!
//! The instructions make a table with rows for the addresses of a function. A row says how to
//! find the CFA (canonical frame address) there, and each register that the caller had.
//!
//! DWARF 5, section 6.4, describes rows and instructions. The "Linux Standard Base Core
//! Specification", 10.5 and 10.6, describes the two sections and their encodings of addresses.
//! "DWARF for the Arm 64-bit Architecture", 4.3 and 4.4, describes what AArch64 adds.
//!
//! This code runs on the stack of the program when it allocates, maybe on the small stack of a
//! coroutine. So results are written in place, and few are passed by value. Two encodings are
//! refused, and a walk ends at code that uses them: the `eh` augmentation of old versions of
//! gcc, and indirect addresses (`DW_EH_PE_indirect`).

#[cfg(test)]
pub(super) mod tests;

use super::cursor::Cursor;
use super::machine;

/// A section, and the address of its first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub(super) bytes: &'a [u8],
    address: u64,
}

impl Section<'static> {
    /// Makes a section from bytes that are loaded at their own address.
    pub(super) fn loaded(bytes: &'static [u8]) -> Section<'static> {
        Section {
            bytes,
            address: bytes.as_ptr() as u64,
        }
    }
}

// Encodings of an address (`DW_EH_PE_*`): a format, and what the address is relative to.
const FORMAT: u8 = 0x0f;
const SIGNED_FOUR_BYTES: u8 = 0x0b;
const ABSOLUTE: u8 = 0x00;
const RELATIVE_TO_ITSELF: u8 = 0x10;
const RELATIVE_TO_DATA: u8 = 0x30;
const OMITTED: u8 = 0xff;

/// Converts a number to an offset in a section.
#[expect(
    clippy::cast_possible_truncation,
    reason = "of 64 bits on both machines"
)]
fn place(number: u64) -> usize {
    number as usize
}

/// Reads a number in the format of an encoding.
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

/// Reads an address in a section whose first byte is at `start`.
///
/// `DW_EH_PE_datarel` is relative to `start` if `has_data`, which only `.eh_frame_hdr` sets;
/// otherwise it is refused.
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

/// The start of `.eh_frame_hdr`, before its table.
struct Header {
    frames: u64,
    /// The number of functions in the table; zero if there is no table.
    functions: u64,
    /// The offset of the table, and the encoding of its addresses.
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
        let functions = match has_table {
            true => number(&mut from, of_count),
            false => 0,
        };
        (!from.is_broken()).then(|| Header {
            frames,
            functions,
            table: from.at(),
            encoding,
        })
    }
}

/// Returns the address of `.eh_frame`, which `.eh_frame_hdr` contains.
pub(super) fn frames_address(index: &Section<'_>) -> Option<u64> {
    Header::read(index).map(|header| header.frames)
}

/// Looks in the table for the last function that begins at an address or before it. Returns the
/// function's offset in `.eh_frame`.
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

/// Reads an address in the table.
fn relative(index: &Section<'_>, at: usize) -> u64 {
    let distance = Cursor::new(index.bytes, at).signed(4);
    index.address.wrapping_add_signed(distance)
}

/// An entry of `.eh_frame`: a CIE or an FDE.
struct Entry {
    /// The offsets of the first byte behind the entry's length, and of the entry's end.
    start: usize,
    end: usize,
    is_common: bool,
    /// The offset of the function's CIE; an invalid one is beyond the end of the section.
    common: usize,
}

impl Entry {
    /// Reads the entry at an offset. Returns `None` behind the last entry, which a length of
    /// zero marks, and for an invalid entry.
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
        // This field has four bytes, even if the length has eight.
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

    /// Returns the entry's bytes behind the first four.
    fn contents<'a>(&self, frames: &Section<'a>) -> Cursor<'a> {
        Cursor::new(&frames.bytes[..self.end], self.start + 4)
    }
}

/// What several functions have in common (a common information entry, CIE).
#[derive(Debug)]
struct Common<'a> {
    instructions: Cursor<'a>,
    /// Factors for distances in code and on the stack.
    code_factor: u64,
    data_factor: i64,
    return_address: u16,
    /// The encoding of the functions' addresses.
    encoding: u8,
    is_signal_frame: bool,
    /// Whether its functions have augmentation data before their instructions.
    has_data: bool,
    /// The address of the section that contains the entry.
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

    /// Reads the CIE at an offset into `self`. Returns whether there is a valid one.
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

    /// Reads the fields that the letters of the augmentation announce.
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
                // AArch64: return addresses are signed with the B key; memory is tagged.
                b'B' | b'G' => {}
                b'R' if self.has_data => self.encoding = data.byte(),
                // Where a function's catch blocks are, which this unwinder does not need.
                b'L' if self.has_data => _ = data.byte(),
                // The function that looks for catch blocks.
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

/// What `.eh_frame` says about one function (a frame description entry, FDE).
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

    /// Reads the function that contains an address into `self`. Returns whether there is one.
    pub(super) fn find(&mut self, index: &Section<'_>, frames: &Section<'a>, address: u64) -> bool {
        let Some(header) = Header::read(index) else {
            return false;
        };
        // Every linker writes the table with this encoding. A linker that could not read all of
        // `.eh_frame` writes no table.
        if header.functions == 0 || header.encoding != RELATIVE_TO_DATA | SIGNED_FOUR_BYTES {
            return self.walk(frames, address);
        }
        let at = in_table(&header, index, frames, address);
        at.is_some_and(|at| self.read(frames, at)) && self.contains(address)
    }

    /// Does the same without the table, by looking at one entry after the other.
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
            // The end is behind the entry's length, so behind `at`, and the loop ends.
            at = entry.end;
        }
        false
    }

    /// Reads the FDE at an offset into `self`. Returns whether there is a valid one.
    fn read(&mut self, frames: &Section<'a>, at: usize) -> bool {
        let Some(entry) = Entry::read(frames, at) else {
            return false;
        };
        self.instructions = entry.contents(frames);
        !entry.is_common && self.common.read(frames, entry.common) && self.read_head()
    }

    /// Reads the fields before the instructions.
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

    /// Writes the row for an address in the function to `row`. Returns whether all instructions
    /// were understood.
    ///
    /// The row is not returned by value, because that would take the space of three rows on the
    /// stack.
    pub(super) fn row(&self, address: u64, row: &mut Row) -> bool {
        let mut rows = Rows::NEW;
        let common = &self.common;
        // All instructions of the CIE are executed, whatever address the row is for.
        if !rows.execute(&common.instructions, common, 0, u64::MAX) {
            return false;
        }
        rows.initial.clone_from(&rows.row);
        rows.has_initial = true;
        let is_understood = rows.execute(&self.instructions, common, self.start, address);
        row.clone_from(&rows.row);
        is_understood
    }

    /// Returns whether a signal handler returns to this function.
    pub(super) fn is_signal_frame(&self) -> bool {
        self.common.is_signal_frame
    }

    /// Returns the register number of the return address.
    pub(super) fn return_address(&self) -> u16 {
        self.common.return_address
    }

    /// Returns the operations of an expression.
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

/// The place of an expression, as an offset in `.eh_frame`. The expression's length comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Expression(u32);

/// How to find the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CfaRule {
    Register { register: u16, offset: i64 },
    Expression(Expression),
}

/// How to find a register of the caller. Offsets are from the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterRule {
    /// The unwind information does not mention it.
    Unspecified,
    Undefined,
    SameValue,
    /// It was saved at this offset.
    Offset(i32),
    /// It is the address at this offset.
    ValueOffset(i32),
    Register(u16),
    /// It was saved at the address that the expression yields.
    Expression(Expression),
    /// It is the value that the expression yields.
    ValueExpression(Expression),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    cfa_register: u16,
    cfa_offset: i64,
    /// Replaces register and offset. Both are kept, because libgcc uses the old value if a
    /// later instruction sets only one of them. Hand-written assembly (libgcrypt's) relies on
    /// that.
    cfa_expression: Option<Expression>,
    /// Without registers that this unwinder does not use, such as vector registers.
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

/// How many states can be remembered at the same time. Compilers do not nest them.
const REMEMBERED: usize = 2;

/// The current row, and the rows that instructions may return to.
struct Rows {
    row: Row,
    /// The row after the CIE's instructions.
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

    /// Executes instructions, up to the first one for addresses behind `address`. Returns
    /// whether all of them were understood.
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
            // Rows are in ascending order of their addresses.
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

    /// Executes one instruction. Returns the location to which the next instructions apply.
    fn instruction(&mut self, from: &mut Cursor<'_>, common: &Common<'_>, location: u64) -> u64 {
        let byte = from.byte();
        // The most frequent instructions have their first operand in the same byte.
        let (most, operand) = (byte & 0xc0, byte & 0x3f);
        match most {
            ADVANCE_LOC => advanced(location, u64::from(operand), common),
            OFFSET => {
                let offset = factored(from.uleb().cast_signed(), from, common);
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
                // The size of a call's arguments, which matters only where a panic is caught.
                GNU_ARGS_SIZE => {
                    from.uleb();
                    location
                }
                // A signed return address is recognised by its bits.
                _ if machine::SIGNS_RETURN_ADDRESS.contains(&operand) => location,
                _ => {
                    self.define(operand, from, common);
                    location
                }
            },
        }
    }

    /// Executes an instruction that says how to find a register.
    fn define(&mut self, instruction: u8, from: &mut Cursor<'_>, common: &Common<'_>) {
        let register = self::register(from);
        let offset = match instruction {
            OFFSET_EXTENDED | GNU_NEGATIVE_OFFSET_EXTENDED | VAL_OFFSET => {
                factored(from.uleb().cast_signed(), from, common)
            }
            OFFSET_EXTENDED_SF | VAL_OFFSET_SF => factored(from.sleb(), from, common),
            _ => 0,
        };
        let rule = match instruction {
            OFFSET_EXTENDED | OFFSET_EXTENDED_SF => RegisterRule::Offset(offset),
            GNU_NEGATIVE_OFFSET_EXTENDED => RegisterRule::Offset(offset.wrapping_neg()),
            VAL_OFFSET | VAL_OFFSET_SF => RegisterRule::ValueOffset(offset),
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

    /// Executes an instruction that says how to find the CFA.
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

    /// Restores the rule that the CIE gave for a register. While the CIE itself is executed
    /// there is none, so the instruction is refused.
    fn restore(&mut self, register: u16, from: &mut Cursor<'_>) {
        if !self.has_initial {
            from.refuse();
        } else if let Some(rule) = self.initial.registers.get(usize::from(register)) {
            self.set(register, *rule);
        }
    }

    /// Remembers the row, restores the row that was remembered last, or does nothing, as the
    /// instruction says.
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

/// Returns the location that is this many units of code further.
fn advanced(location: u64, units: u64, common: &Common<'_>) -> u64 {
    location.wrapping_add(units.wrapping_mul(common.code_factor))
}

/// Reads the number of a register.
fn register(from: &mut Cursor<'_>) -> u16 {
    let number = u16::try_from(from.uleb());
    from.accept(number)
}

/// Converts a number of words of the stack to an offset in bytes; no frame has two gigabytes.
fn factored(words: i64, from: &mut Cursor<'_>, common: &Common<'_>) -> i32 {
    from.accept(i32::try_from(words.wrapping_mul(common.data_factor)))
}

/// Skips an expression, and returns its place.
fn expression(from: &mut Cursor<'_>) -> Expression {
    let at = from.accept(u32::try_from(from.at()));
    let length = from.uleb();
    from.skip(length);
    Expression(at)
}

// Instructions (`DW_CFA_*`). The first three have an operand in their low six bits.
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
