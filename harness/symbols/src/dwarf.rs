use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use addr2line::gimli::{self, DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use addr2line::{Context, LookupContinuation, LookupResult};
use object::{CompressionFormat, Object, ObjectSection};

/// Inlined frames at one address. Real ones reach some tens; a file that
/// claims more than this is lying.
const MAX_INLINED: usize = 1000;

/// What a compressed section may claim to hold: more than the largest programs
/// have, less than what takes a machine down.
const MAX_UNCOMPRESSED: u64 = 4 << 30;

/// How many bytes one compressed byte may stand for: deflate's own limit. zstd
/// can say more, but debug information never shrinks to a hundredth.
const MAX_RATIO: u64 = 1032;

/// Why a file's DWARF cannot be used.
#[derive(Debug)]
pub(crate) enum DwarfError {
    /// It is compressed, and this build does not decompress.
    Compressed,
    /// Its container is damaged.
    Elf(object::Error),
    /// A compressed section claims to hold so many bytes.
    TooLarge(u64),
    /// It is damaged.
    Dwarf(gimli::Error),
}

impl fmt::Display for DwarfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DwarfError::Compressed => f.write_str("it is compressed"),
            DwarfError::Elf(err) => err.fmt(f),
            DwarfError::TooLarge(bytes) => {
                write!(
                    f,
                    "expected sections of at most {MAX_UNCOMPRESSED} bytes, found {bytes}"
                )
            }
            DwarfError::Dwarf(err) => err.fmt(f),
        }
    }
}

/// The bytes of the debug sections.
pub(crate) struct Sections<'data> {
    sections: DwarfSections<Cow<'data, [u8]>>,
    endian: RunTimeEndian,
}

impl<'data> Sections<'data> {
    /// `None` for a file without debug information.
    pub(crate) fn load(object: &object::File<'data>) -> Result<Option<Self>, DwarfError> {
        let main = object.section_by_name(SectionId::DebugInfo.name());
        if main.is_none_or(|section| section.size() == 0) {
            return Ok(None);
        }
        let sections = DwarfSections::load(|id| section(object, id))?;
        let endian = if object.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        Ok(Some(Self { sections, endian }))
    }
}

fn section<'data>(
    object: &object::File<'data>,
    id: SectionId,
) -> Result<Cow<'data, [u8]>, DwarfError> {
    // object finds the older `.zdebug_info` under this name as well.
    let Some(section) = object.section_by_name(id.name()) else {
        return Ok(Cow::Borrowed(&[]));
    };
    let data = section.compressed_data().map_err(DwarfError::Elf)?;
    if data.format != CompressionFormat::None {
        if !cfg!(feature = "compressed") {
            return Err(DwarfError::Compressed);
        }
        let length = u64::try_from(data.data.len()).unwrap_or(u64::MAX);
        let limit = MAX_UNCOMPRESSED.min(length.saturating_mul(MAX_RATIO));
        if data.uncompressed_size > limit {
            return Err(DwarfError::TooLarge(data.uncompressed_size));
        }
    }
    data.decompress().map_err(DwarfError::Elf)
}

type Reader<'a> = EndianSlice<'a, RunTimeEndian>;

/// A file's debug information, parsed as far as it is asked about.
pub(crate) struct Dwarf<'a> {
    context: Context<Reader<'a>>,
    dwarf: Arc<gimli::Dwarf<Reader<'a>>>,
}

/// One function at an address, before its name is made readable.
#[derive(Debug)]
pub(crate) struct RawFrame {
    pub(crate) function: Option<Function>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Function {
    /// The linkage name, else the bare one.
    pub(crate) symbol: String,
    /// In C, the bare name is the linkage name.
    pub(crate) is_c: bool,
}

/// What DWARF says of one address.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Leaf first; the physical function last.
    pub(crate) frames: Vec<RawFrame>,
    /// Whether more is said in another file, which is not read.
    pub(crate) split: bool,
}

impl<'a> Dwarf<'a> {
    pub(crate) fn new(sections: &'a Sections<'_>) -> Result<Self, DwarfError> {
        let endian = sections.endian;
        let dwarf = sections
            .sections
            .borrow(|bytes| EndianSlice::new(bytes, endian));
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).map_err(DwarfError::Dwarf)?;
        Ok(Self { context, dwarf })
    }

    /// Whether all there is came with Rust's standard library: so it is in
    /// every Rust program that was built without debug information.
    pub(crate) fn is_only_of_std(&self) -> bool {
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = self.dwarf.unit(header) else {
                return false;
            };
            // Where the distributed library and the crates in it were built,
            // by the remapping that rustc's own build does.
            let of_std = |directory: &[u8]| {
                directory.starts_with(b"/rustc/") || directory.starts_with(b"/rust/deps/")
            };
            if !unit
                .comp_dir
                .is_some_and(|directory| of_std(directory.slice()))
            {
                return false;
            }
        }
        true
    }

    /// The frames of the instruction at an address.
    pub(crate) fn frames(&self, svma: u64) -> Result<Frames, DwarfError> {
        let mut found = Frames::default();
        let mut lookup = self.context.find_frames(svma);
        let frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { continuation, .. } => {
                    found.split = true;
                    lookup = continuation.resume(None);
                }
            }
        };
        let mut frames = frames.map_err(DwarfError::Dwarf)?;
        while let Some(frame) = frames.next().map_err(DwarfError::Dwarf)? {
            if found.frames.len() > MAX_INLINED {
                // The physical function comes last, and is kept.
                found.frames.pop();
            }
            found.frames.push(raw(&frame));
        }
        Ok(found)
    }
}

fn raw(frame: &addr2line::Frame<'_, Reader<'_>>) -> RawFrame {
    let function = frame.function.as_ref().map(|function| Function {
        symbol: String::from_utf8_lossy(function.name.slice()).into_owned(),
        is_c: matches!(
            function.language,
            Some(
                gimli::DW_LANG_C
                    | gimli::DW_LANG_C89
                    | gimli::DW_LANG_C99
                    | gimli::DW_LANG_C11
                    | gimli::DW_LANG_C17
            )
        ),
    });
    let location = frame.location.as_ref();
    RawFrame {
        function,
        file: location
            .and_then(|location| location.file)
            .map(str::to_owned),
        line: location.and_then(|location| location.line),
    }
}
