//! Names from `.symtab` and `.dynsym`.

use std::ops::Range;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::name;

/// How many symbols are looked at, from the nearest one down, for one that
/// holds an address: labels inside a function hide it from a search by start.
const MAX_STEPS: usize = 64;

/// The functions of a file, by address.
#[derive(Debug)]
pub(crate) struct SymbolIndex<'data>(Vec<Symbol<'data>>);

/// In the order in which one is preferred where several start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol<'data> {
    svma: u64,
    /// Only in `.dynsym`: a subset, and with the exported alias only.
    dynamic: bool,
    /// `malloc` before `__libc_malloc`.
    internal: bool,
    /// Global before weak before local.
    binding: Binding,
    name: &'data str,
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Global,
    Weak,
    Local,
}

impl<'data> SymbolIndex<'data> {
    pub(crate) fn new(object: &object::File<'data>, code: &[Range<u64>]) -> Self {
        let full = object
            .symbols()
            .filter_map(|symbol| function(&symbol, false));
        let dynamic = object
            .dynamic_symbols()
            .filter_map(|symbol| function(&symbol, true));
        let mut symbols: Vec<Symbol> = full.chain(dynamic).collect();
        symbols.sort_unstable();

        // Without a size, as in hand-written assembly, a function lasts until
        // the next symbol or the end of the code.
        let mut next = u64::MAX;
        let mut same = u64::MAX;
        for symbol in symbols.iter_mut().rev() {
            if symbol.svma != same {
                next = same;
                same = symbol.svma;
            }
            if symbol.end == symbol.svma {
                let code = code.iter().find(|code| code.contains(&symbol.svma));
                symbol.end = code.map_or(symbol.svma, |code| code.end.min(next));
            }
        }
        Self(symbols)
    }

    /// The name of the function that holds an address. Where several functions
    /// are one, the one that DWARF calls `bare` if that can be told.
    pub(crate) fn find(&self, svma: u64, bare: Option<&str>) -> Option<String> {
        let after = self.0.partition_point(|symbol| symbol.svma <= svma);
        let holds = |symbol: &&Symbol| svma < symbol.end;
        let nearest = self.0[..after].iter().rev().take(MAX_STEPS).find(holds)?;
        let first = self.0.partition_point(|symbol| symbol.svma < nearest.svma);
        let mut aliases = self.0[first..after]
            .iter()
            .filter(holds)
            .map(|symbol| symbol.name);
        let Some(bare) = bare else {
            return aliases.next().map(name::shown);
        };
        let mut names = aliases.take(MAX_STEPS).map(name::shown);
        let preferred = names.next()?;
        if name::is_of(&preferred, bare) {
            return Some(preferred);
        }
        Some(
            names
                .find(|name| name::is_of(name, bare))
                .unwrap_or(preferred),
        )
    }
}

fn function<'data>(symbol: &impl ObjectSymbol<'data>, dynamic: bool) -> Option<Symbol<'data>> {
    // Without a type, it is a label: of a function in assembly, or one that
    // only tools read (`$x` on Arm, `.L…`).
    if !symbol.is_definition() || !matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown) {
        return None;
    }
    let name = symbol.name().ok()?;
    // `memcpy@@GLIBC_2.14`: the version is not part of the name.
    let name = name.split('@').next().unwrap_or(name);
    if name.is_empty() || name.starts_with(['$', '.']) {
        return None;
    }
    let svma = symbol.address();
    let binding = match () {
        () if symbol.is_weak() => Binding::Weak,
        () if symbol.is_local() => Binding::Local,
        () => Binding::Global,
    };
    Some(Symbol {
        svma,
        dynamic,
        internal: name.starts_with('_') && !name::is_mangled(name),
        binding,
        name,
        end: svma.saturating_add(symbol.size()),
    })
}
