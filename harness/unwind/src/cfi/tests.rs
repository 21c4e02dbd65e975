//! Holds every row of real files against gimli's, and reads what no assembler wrote.

pub(crate) mod by_gimli;

use std::collections::BTreeSet;
use std::fmt::Write;

use gimli::{CieOrFde, UnwindSection};
use object::{Object, ObjectSection};

use self::by_gimli::{Context, Random};
use super::*;

/// The unwind information of one file.
struct File {
    name: String,
    index: (Vec<u8>, u64),
    frames: (Vec<u8>, u64),
}

fn section((bytes, address): &(Vec<u8>, u64)) -> Section<'_> {
    let address = *address;
    Section { bytes, address }
}

impl File {
    fn index(&self) -> Section<'_> {
        section(&self.index)
    }

    fn frames(&self) -> Section<'_> {
        section(&self.frames)
    }

    /// What is loaded here: the program, the loader, C libraries.
    fn loaded() -> Vec<File> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let code = maps.lines().filter(|line| line.contains(" r-xp "));
        let named = code.filter_map(|line| line.split_whitespace().nth(5));
        let files: BTreeSet<&str> = named.collect();
        // A mapping of another test may be gone at any moment.
        let parsed = |name| File::parse(name, &std::fs::read(name).ok()?);
        files.into_iter().filter_map(parsed).collect()
    }

    /// A file as if it were loaded at its own addresses; none where it is not of this
    /// machine, or has no unwind information.
    fn parse(name: &str, file: &[u8]) -> Option<File> {
        let file = object::File::parse(file).ok()?;
        let of_here = match cfg!(target_arch = "x86_64") {
            true => object::Architecture::X86_64,
            false => object::Architecture::Aarch64,
        };
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            Some((section.data().ok()?.to_vec(), section.address()))
        };
        (file.architecture() == of_here).then_some(())?;
        let (index, frames) = (section(".eh_frame_hdr")?, section(".eh_frame")?);
        let name = name.to_owned();
        Some(File {
            name,
            index,
            frames,
        })
    }
}

fn read<'a>(frames: &Section<'a>, at: usize) -> Option<Function<'a>> {
    let mut function = Function::NONE;
    function.read(frames, at).then_some(function)
}

fn found<'a>(file: &'a File, address: u64) -> Option<Function<'a>> {
    let mut function = Function::NONE;
    let is_found = function.find(&file.index(), &file.frames(), address);
    is_found.then_some(function)
}

/// As where there is no table.
fn walked<'a>(file: &'a File, address: u64) -> Option<Function<'a>> {
    let mut function = Function::NONE;
    function.walk(&file.frames(), address).then_some(function)
}

fn row_of(function: &Function<'_>, address: u64) -> Option<Row> {
    let mut row = Row::UNSPECIFIED;
    function.row(address, &mut row).then_some(row)
}

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    functions: usize,
    rows: usize,
    refused_by_gimli: usize,
    differences: Vec<String>,
}

impl Compared {
    fn file(&mut self, file: &File) {
        assert_eq!(frames_address(&file.index()), Some(file.frames.1));
        let (section, bases) = by_gimli::section(&file.frames.0, file.frames.1);
        let mut entries = section.entries(&bases);
        // Up to what ends it, or to what is behind it where nothing does.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            match partial.parse(|section, bases, at| section.cie_from_offset(bases, at)) {
                Ok(theirs) => self.function(file, &theirs),
                Err(_) => self.refused_by_gimli += 1,
            }
        }
    }

    fn function(&mut self, file: &File, theirs: &by_gimli::Entry<'_>) {
        self.functions += 1;
        let (start, end) = (theirs.initial_address(), theirs.end_address());
        let place = format!("{}: {start:#x}", file.name);
        let frames = file.frames();
        let Some(ours) = read(&frames, theirs.offset()) else {
            return self.differences.push(format!("{place}: refused"));
        };
        let known = (ours.start, ours.end, ours.is_signal_frame());
        if known != (start, end, theirs.is_signal_trampoline()) {
            self.differences.push(format!("{place}: {known:x?}"));
        }
        // Of no code, or the linker took it out and left it at zero.
        if start != 0 && start < end {
            let found = found(file, start).map(|found| (found.start, found.end));
            if found != Some((start, end)) {
                self.differences.push(format!("{place}: found elsewhere"));
            }
        }
        self.rows_of(file, theirs, &ours, &place);
    }

    fn rows_of(
        &mut self,
        file: &File,
        theirs: &by_gimli::Entry<'_>,
        ours: &Function<'_>,
        place: &str,
    ) {
        let (section, bases) = by_gimli::section(&file.frames.0, file.frames.1);
        let mut context = Box::new(Context::new_in());
        let at = |address: u64, what: String| {
            let mut text = format!("{place}: at {address:#x}: ");
            let mut all = theirs.instructions(&section, &bases);
            while let Ok(Some(instruction)) = all.next() {
                write!(text, "{instruction:x?} ").unwrap();
            }
            text + ": " + &what
        };
        let mut rows = theirs.rows(&section, &bases, &mut context).unwrap();
        loop {
            let Ok(row) = rows.next_row() else {
                self.refused_by_gimli += 1;
                return;
            };
            let Some(row) = row else { return };
            let (start, end) = (row.start_address(), row.end_address());
            let middle = start.wrapping_add(end.wrapping_sub(start) / 2);
            for address in [start, middle] {
                if !row.contains(address) || !ours.contains(address) {
                    continue;
                }
                self.rows += 1;
                let Some(found) = row_of(ours, address) else {
                    return self.differences.push(at(address, "refused".to_owned()));
                };
                let difference = difference(ours, &found, row, &file.frames.0);
                self.differences
                    .extend(difference.map(|what| at(address, what)));
            }
        }
    }
}

/// Where two rows differ.
fn difference(
    function: &Function<'_>,
    ours: &Row,
    theirs: &by_gimli::Row,
    frames: &[u8],
) -> Option<String> {
    use gimli::{CfaRule as TheirCfa, RegisterRule as Theirs};
    let expression = |ours: Expression| {
        let operations = function.operations(ours).unwrap();
        gimli::UnwindExpression {
            offset: operations.as_ptr().addr() - frames.as_ptr().addr(),
            length: operations.len(),
        }
    };
    let cfa = match ours.cfa() {
        CfaRule::Register { register, offset } => TheirCfa::RegisterAndOffset {
            register: gimli::Register(register),
            offset,
        },
        CfaRule::Expression(ours) => TheirCfa::Expression(expression(ours)),
    };
    if cfa != *theirs.cfa() {
        return Some(format!("{cfa:?}, {:?}", theirs.cfa()));
    }
    (0..).take(machine::REGISTERS).find_map(|register| {
        let rule = match ours.register(register) {
            RegisterRule::Unspecified => None,
            RegisterRule::Undefined => Some(Theirs::Undefined),
            RegisterRule::SameValue => Some(Theirs::SameValue),
            RegisterRule::Offset(offset) => Some(Theirs::Offset(offset.into())),
            RegisterRule::ValueOffset(offset) => Some(Theirs::ValOffset(offset.into())),
            RegisterRule::Register(other) => Some(Theirs::Register(gimli::Register(other))),
            RegisterRule::Expression(ours) => Some(Theirs::Expression(expression(ours))),
            RegisterRule::ValueExpression(ours) => Some(Theirs::ValExpression(expression(ours))),
        };
        let theirs = theirs.register(gimli::Register(register));
        (rule != theirs).then(|| format!("register {register}: {rule:?}, {theirs:?}"))
    })
}

/// Every row of what is loaded.
#[test]
fn rows_are_those_of_gimli() {
    let mut compared = Compared::default();
    for file in File::loaded() {
        compared.file(&file);
    }
    assert!(compared.functions > 1_000 && compared.rows > 10_000);
    assert!(compared.refused_by_gimli * 100 <= compared.functions);
    assert_eq!(compared.differences, Vec::<String>::new());
}

/// The entries of all functions.
fn entries(frames: &Section<'_>) -> Vec<usize> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(entry) = Entry::read(frames, at) {
        if !entry.is_common {
            entries.push(at);
        }
        at = entry.end;
    }
    entries
}

#[test]
fn without_a_table_the_same_functions_are_found() {
    let mut file = small();
    // How many functions, and how they are written.
    file.index.0[2..4].fill(OMITTED);
    let frames = file.frames();
    let entries = entries(&frames);
    for at in entries.iter().step_by(entries.len() / 40) {
        let function = read(&frames, *at).unwrap();
        for address in [function.start, function.end - 1] {
            let found = found(&file, address).unwrap();
            assert_eq!((found.start, found.end), (function.start, function.end));
        }
    }
    for address in [0, file.index.1, u64::MAX] {
        assert!(found(&file, address).is_none());
    }
}

/// The smallest of what is loaded that has some hundred functions.
fn small() -> File {
    let files = File::loaded().into_iter();
    files
        .filter(|file| entries(&file.frames()).len() > 100)
        .min_by_key(|file| entries(&file.frames()).len())
        .unwrap()
}

/// Bytes that are wrong in a section that is right: nothing panics or goes on for ever,
/// and what both of us still understand is the same.
#[test]
fn over_wrong_bytes() {
    let mut file = small();
    let entries = entries(&file.frames());
    let last = entries[entries.len() - 1];
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut context = Box::new(Context::new_in());
    let (mut understood, mut by_both) = (0, 0);
    for round in 0..20_000 {
        let at = entries[random.below(entries.len())];
        let frames = file.frames();
        let function = read(&frames, at).unwrap();
        let length = usize::try_from(function.end - function.start).unwrap();
        let address = function.start + random.below(length.max(1)) as u64;
        let entry = Entry::read(&file.frames(), at).unwrap();
        // In the function's entry, or in what it has in common with others.
        let of_common = entry.common..entry.common + 24;
        let wrong: Vec<(usize, u8)> = (0..=random.below(3))
            .map(|_| match random.below(3) {
                0 => of_common.start + random.below(of_common.len()),
                _ => at + random.below(entry.end - at),
            })
            .map(|place| (place, file.frames.0[place]))
            .collect();
        for (place, _) in &wrong {
            file.frames.0[*place] = random.byte();
        }
        let frames = file.frames();
        let function = read(&frames, at).filter(|function| function.contains(address));
        let row = function
            .as_ref()
            .and_then(|function| row_of(function, address));
        if let (Some(function), Some(row)) = (&function, &row) {
            understood += 1;
            let theirs = by_gimli::row(frames.bytes, frames.address, at, address, &mut context);
            if let Some(theirs) = theirs {
                by_both += 1;
                assert_eq!(difference(function, row, &theirs, frames.bytes), None);
            }
        }
        if round % 64 == 0 {
            walked(&file, address);
            read(&frames, random.below(last));
        }
        for (place, byte) in wrong.into_iter().rev() {
            file.frames.0[place] = byte;
        }
    }
    assert!(by_both > 5_000, "{by_both}");
    assert!(by_both > understood / 10 * 9, "{by_both} of {understood}");
}

/// One of every kind, some of them for rows of their own.
#[rustfmt::skip]
const WRITTEN: [u8; 63] = [
    ADVANCE_LOC | 1, DEF_CFA_OFFSET, 16, OFFSET | 6, 2,
    ADVANCE_LOC1, 3, DEF_CFA_REGISTER, 6, REMEMBER_STATE,
    ADVANCE_LOC2, 4, 0, OFFSET_EXTENDED, 3, 3, VAL_OFFSET, 13, 4, OFFSET_EXTENDED_SF, 14, 0x7b,
    ADVANCE_LOC4, 8, 0, 0, 0, RESTORE_STATE, REGISTER, 15, 1, UNDEFINED, 3, VAL_OFFSET_SF, 14, 5,
    GNU_ARGS_SIZE, 0x80, 1, EXPRESSION, 8, 2, 0x77, 0, VAL_EXPRESSION, 9, 1, 0x30,
    ADVANCE_LOC | 8, RESTORE | 12, RESTORE_EXTENDED, 6, DEF_CFA_SF, 7, 0x70,
    DEF_CFA_OFFSET_SF, 0x6f, DEF_CFA_EXPRESSION, 3, 0x77, 8, 0x06, NOP,
];

/// As an assembler would write it, with a table of one function, which is at 0x1000.
fn written() -> File {
    const START: u64 = 0x2000;
    let mut frames = vec![0, 0, 0, 0, 0, 0, 0, 0, 1];
    frames.extend(b"zPLRSB\0");
    frames.extend([1, 0x78, 16, 7]);
    // A pointer in four bytes, two bytes of each function, distances in four bytes.
    frames.extend([0x9b, 1, 2, 3, 4, 0x02, 0x1b]);
    frames.extend([DEF_CFA, 7, 8, OFFSET | 16, 1, SAME_VALUE, 12]);
    let length = u8::try_from(frames.len() - 4).unwrap();
    frames[0] = length;
    let at = frames.len();
    frames.extend([0, 0, 0, 0, length + 8, 0, 0, 0]);
    let to = 0x1000_u32.wrapping_sub(u32::try_from(START).unwrap() + u32::from(length) + 12);
    frames.extend(to.to_le_bytes());
    frames.extend([0x40, 0, 0, 0, 2, 0, 0]);
    frames.extend(WRITTEN);
    frames[at] = u8::try_from(frames.len() - at - 4).unwrap();
    frames.extend([0; 4]);
    // Before it, at a distance of 32.
    let mut index = vec![1, 0x1b, 3, 0x3b, 28, 0, 0, 0, 1, 0, 0, 0];
    let address = START - 32;
    let relative = |to: u64| u32::try_from(to.wrapping_sub(address) & 0xffff_ffff).unwrap();
    index.extend(relative(0x1000).to_le_bytes());
    index.extend(relative(START + at as u64).to_le_bytes());
    File {
        name: "written".to_owned(),
        index: (index, address),
        frames: (frames, START),
    }
}

#[test]
fn every_kind_of_instruction() {
    let file = written();
    assert!(found(&file, 0x1000).unwrap().is_signal_frame());
    // gimli knows no `B`.
    let mut known = written();
    let mut bytes = known.frames.0.iter();
    let letter = bytes.position(|byte| *byte == b'B').unwrap();
    known.frames.0[letter] = b'S';
    let mut compared = Compared::default();
    compared.file(&known);
    assert_eq!(compared.differences, Vec::<String>::new());
    let counts = (compared.functions, compared.rows, compared.refused_by_gimli);
    assert_eq!(counts, (1, 12, 0));
}

/// The row at the end of the function, with other instructions.
fn row_with(instructions: &[u8]) -> Option<Row> {
    let mut file = written();
    let end = file.frames.0.len() - 4;
    let written = &mut file.frames.0[end - WRITTEN.len()..end];
    written.fill(NOP);
    written[..instructions.len()].copy_from_slice(instructions);
    row_of(&found(&file, 0x1000).unwrap(), 0x103f)
}

/// As libgcc does.
#[test]
fn what_gimli_does_not_know() {
    let row = row_with(&[GNU_NEGATIVE_OFFSET_EXTENDED, 3, 2]).unwrap();
    assert_eq!(row.register(3), RegisterRule::Offset(16));
    let cfa = |instructions: &[u8]| row_with(instructions).unwrap().cfa();
    let of_register = |register, offset| CfaRule::Register { register, offset };
    // An expression, and then a part of what it stands in the place of.
    let of_offset = cfa(&[DEF_CFA_EXPRESSION, 0, DEF_CFA_OFFSET, 16]);
    assert!(matches!(of_offset, CfaRule::Expression(_)));
    let both = [DEF_CFA_OFFSET, 16, DEF_CFA_REGISTER, 6];
    let of_both = cfa(&[&[DEF_CFA_EXPRESSION, 0], &both[..]].concat());
    assert_eq!(of_both, of_register(6, 16));
    let of_one = cfa(&[DEF_CFA_EXPRESSION, 0, DEF_CFA_REGISTER, 6]);
    assert_eq!(of_one, of_register(6, 8));
}

#[test]
fn what_is_refused() {
    for instructions in [
        &[REMEMBER_STATE; REMEMBERED + 1][..],
        &[RESTORE_STATE],
        &[OFFSET | 3, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        // Back.
        &[SET_LOC, 0, 0xe8, 0xff, 0xff],
        &[0x17],
        &[0x3f],
    ] {
        assert!(row_with(instructions).is_none(), "{instructions:x?}");
    }
    assert!(row_with(&[REMEMBER_STATE, REMEMBER_STATE, RESTORE_STATE, RESTORE_STATE]).is_some());
    // On, and behind the function.
    assert!(row_with(&[SET_LOC, 0, 0, 0, 0, 0x17]).is_some());
}

/// Wherever it ends.
#[test]
fn of_a_section_that_ends_too_soon() {
    let whole = written();
    let mut understood = 0;
    for length in 0..whole.frames.0.len() {
        let mut file = written();
        file.frames.0.truncate(length);
        for address in [0, 0x1000, 0x1020, u64::MAX] {
            let function = found(&file, address);
            let row = function.and_then(|function| row_of(&function, address));
            understood += usize::from(row.is_some());
            walked(&file, address);
        }
    }
    // All but the zeros behind the last entry.
    assert_eq!(understood, 2 * 4);
    for length in 0..whole.index.0.len() {
        let mut file = written();
        file.index.0.truncate(length);
        assert!(found(&file, 0x1000).is_none());
    }
}

/// Whatever byte is anywhere in it.
#[test]
fn over_a_wrong_index() {
    let mut file = written();
    for place in 0..file.index.0.len() {
        for byte in 0..=u8::MAX {
            let right = std::mem::replace(&mut file.index.0[place], byte);
            for address in [0, 0x1000, u64::MAX] {
                let function = found(&file, address);
                assert!(function.is_none_or(|function| function.start == 0x1000));
            }
            file.index.0[place] = right;
        }
    }
}
