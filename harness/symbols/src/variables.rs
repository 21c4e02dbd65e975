//! Finds statics and thread-locals by their addresses, in the symbol tables of a file.

use object::{Object, ObjectSymbol, SymbolKind, elf};

use crate::bytes::Bytes;
use crate::image::Image;
use crate::mapping::MappedFile;
use crate::name;

/// The most bytes of all names of one file.
const MAX_NAMES: usize = 1 << 28;

/// The statics and the thread-locals of one file that a process has mapped.
#[derive(Debug, Default)]
pub struct Variables {
    /// What is added to an SVMA to make it an AVMA.
    bias: u64,
    statics: Vec<Variable>,
    thread_locals: Vec<Variable>,
    /// Where the block of this file's thread-locals begins, from the thread pointer, if the file is
    /// the program.
    block: i64,
}

/// A variable, from its first address on; of a thread-local that is the place in the block.
#[derive(Debug)]
struct Variable {
    start: u64,
    end: u64,
    name: String,
}

impl Variables {
    /// Reads the variables of a file. Empty if the file cannot be read, or was stripped.
    ///
    /// `mapping` is any mapping of the file.
    pub fn of(mapping: &MappedFile) -> Variables {
        Self::read(mapping).unwrap_or_default()
    }

    fn read(mapping: &MappedFile) -> Option<Variables> {
        if mapping.deleted && mapping.open.is_none() {
            return None;
        }
        let bytes = Bytes::open(mapping.open.as_deref().unwrap_or(&mapping.path)).ok()?;
        let image = Image::parse(&bytes).ok()?;
        let bias = mapping.start.wrapping_sub(image.svma(mapping.file_offset)?);
        let mut variables = Variables {
            bias,
            block: block(&bytes)?,
            ..Variables::default()
        };
        let mut left = MAX_NAMES;
        let all = image.object.symbols().chain(image.object.dynamic_symbols());
        for symbol in all.filter(|symbol| !symbol.is_undefined() && symbol.size() > 0) {
            let of = match symbol.kind() {
                SymbolKind::Tls => &mut variables.thread_locals,
                SymbolKind::Data => &mut variables.statics,
                _ => continue,
            };
            let Ok(name) = symbol.name() else { continue };
            left = left.checked_sub(name.len())?;
            of.push(Variable {
                start: symbol.address(),
                end: symbol.address().saturating_add(symbol.size()),
                name: name.to_owned(),
            });
        }
        for of in [&mut variables.statics, &mut variables.thread_locals] {
            of.sort_unstable_by(|a, b| (a.start, &a.name).cmp(&(b.start, &b.name)));
        }
        Some(variables)
    }

    /// Returns the name of the static that an address is in.
    pub fn static_at(&self, avma: u64) -> Option<String> {
        find(&self.statics, avma.wrapping_sub(self.bias))
    }

    /// Returns the name of the thread-local that an address is in, by its distance from the thread
    /// pointer of its thread. Only those of the program itself are told.
    pub fn thread_local_at(&self, distance: i64) -> Option<String> {
        let place = u64::try_from(distance.checked_sub(self.block)?).ok()?;
        find(&self.thread_locals, place)
    }
}

/// How the name of a static of `lazy_static!` ends, whose beginning is the name that people gave it.
const OF_LAZY_STATIC: &str = " as core::ops::deref::Deref>::deref::__stability::LAZY";

fn find(sorted: &[Variable], address: u64) -> Option<String> {
    let after = sorted.partition_point(|one| one.start <= address);
    // Of several at one address, the first by name.
    let nearest = sorted.get(after.checked_sub(1)?)?.start;
    let first = sorted.partition_point(|one| one.start < nearest);
    let mut near = sorted[first..after].iter();
    let found = near.find(|one| address < one.end)?;
    let name = name::shown(&found.name);
    let own = name
        .strip_prefix('<')
        .and_then(|name| name.strip_suffix(OF_LAZY_STATIC));
    Some(own.map(str::to_owned).unwrap_or(name))
}

/// Returns where the program's thread-locals begin, from the thread pointer.
///
/// The ABI decides ("ELF Handling For Thread-Local Storage", Drepper 2013): on x86 they end at the
/// thread pointer, and on Arm they begin behind two words that are there.
fn block(bytes: &[u8]) -> Option<i64> {
    use object::read::elf::{FileHeader, ProgramHeader};

    let header = elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let mut segments = header.program_headers(endian, bytes).ok()?.iter();
    let Some(of_threads) = segments.find(|segment| segment.p_type(endian) == elf::PT_TLS) else {
        return Some(0);
    };
    let align = of_threads.p_align(endian).max(1);
    let up = |bytes: u64| bytes.checked_next_multiple_of(align);
    match header.e_machine(endian) {
        elf::EM_AARCH64 => i64::try_from(up(16)?).ok(),
        _ => {
            let size = up(of_threads.p_memsz(endian))?;
            i64::try_from(size).ok()?.checked_neg()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lazy_static_has_the_name_that_people_gave_it() {
        let name = |mangled: &str| {
            let one = Variable {
                start: 16,
                end: 24,
                name: mangled.to_owned(),
            };
            find(&[one], 20)
        };
        let lazy = "_ZN73_$LT$rathole..protocol..PACKET_LEN$u20$as$u20$core..ops..deref..Deref$GT$\
                    5deref11__stability4LAZY17h11d54b669c104c70E";
        assert_eq!(name(lazy).as_deref(), Some("rathole::protocol::PACKET_LEN"));
        let plain = "_ZN4case4SEEN17h11d54b669c104c70E";
        assert_eq!(name(plain).as_deref(), Some("case::SEEN"));
    }
}
