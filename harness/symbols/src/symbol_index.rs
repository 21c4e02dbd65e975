//! Finds function names in `.symtab` and `.dynsym`.

use std::cell::Cell;
use std::ops::Range;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::name;

/// How many symbols are tried for an address, from the nearest one down, because labels inside
/// a function come between its start and the address. Also how many aliases are tried.
const MAX_STEPS: usize = 64;

/// The most bytes of all names, as the file contains them. Chromium has 200 MB. A hostile file
/// can give one long name to every symbol.
const MAX_NAMES: usize = 1 << 30;

/// The most bytes of names that are demangled.
const MAX_SHOWN: usize = 1 << 28;

/// The functions of a file, sorted by address.
#[derive(Debug)]
pub(crate) struct SymbolIndex<'data> {
    symbols: Vec<Symbol<'data>>,
    /// The rest of [`MAX_SHOWN`].
    left: Cell<usize>,
}

/// The order of the fields decides which of several symbols at one address is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol<'data> {
    svma: u64,
    /// Whether it comes from `.dynsym`, which has only exported names.
    dynamic: bool,
    /// Prefers `malloc` to `__libc_malloc`. Only set if there are aliases.
    internal: bool,
    /// Prefers global to weak to local symbols.
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
    /// Returns the functions that contain one of these addresses, which are sorted: of a million
    /// functions, a thousand are asked for.
    pub(crate) fn new(
        object: &object::File<'data>,
        more: Option<&object::File<'data>>,
        code: &[Range<u64>],
        svmas: &[u64],
    ) -> Self {
        let mut index = Self {
            symbols: Vec::new(),
            left: Cell::new(MAX_SHOWN),
        };
        let more = more.into_iter().flat_map(|more| more.symbols());
        let full = object.symbols().chain(more).map(|symbol| (symbol, false));
        let dynamic = object.dynamic_symbols().map(|symbol| (symbol, true));
        let mut left = MAX_NAMES;
        // Where the last function up to each address starts.
        let mut starts: Vec<Option<u64>> = vec![None; svmas.len()];
        for (symbol, dynamic) in full.chain(dynamic) {
            let start = symbol.address();
            let at = svmas.partition_point(|svma| *svma < start);
            let Some(svma) = svmas.get(at) else { continue };
            let is_asked = symbol.size() == 0 || *svma - start < symbol.size();
            if !is_asked && starts[at] >= Some(start) {
                continue;
            }
            let Some(symbol) = function(&symbol, dynamic) else {
                continue;
            };
            left = left.saturating_sub(symbol.name.len());
            if left == 0 {
                break;
            }
            starts[at] = starts[at].max(Some(start));
            if is_asked {
                index.symbols.push(symbol);
            }
        }
        index.end_each(code, svmas, starts);
        index
            .symbols
            .sort_unstable_by_key(|symbol| (symbol.svma, symbol.dynamic));
        // Checking whether a name is mangled is slow, and only matters for aliases.
        let aliases = |a: &Symbol, b: &Symbol| (a.svma, a.dynamic) == (b.svma, b.dynamic);
        for aliases in index.symbols.chunk_by_mut(aliases) {
            if aliases.len() > 1 {
                for alias in &mut *aliases {
                    alias.internal = alias.name.starts_with('_') && !name::is_mangled(alias.name);
                }
                aliases.sort_unstable();
            }
        }
        index
    }

    /// Gives an end to symbols without a size, as those in hand-written assembly: they end at the
    /// next symbol, or at the end of the code. No address that is asked for is between their ends
    /// and those that they get here.
    fn end_each(&mut self, code: &[Range<u64>], svmas: &[u64], mut starts: Vec<Option<u64>>) {
        for at in 1..starts.len() {
            starts[at] = starts[at].max(starts[at - 1]);
        }
        for symbol in &mut self.symbols {
            if symbol.end == symbol.svma {
                let last = starts.partition_point(|start| *start <= Some(symbol.svma));
                let next = last
                    .checked_sub(1)
                    .map_or(symbol.svma, |last| svmas[last].saturating_add(1));
                let code = code.iter().find(|code| code.contains(&symbol.svma));
                symbol.end = code.map_or(symbol.svma, |code| code.end.min(next));
            }
        }
    }

    /// Returns the name of the function that contains an address. If several symbols are there,
    /// returns the one that matches `bare`, DWARF's name for the function, if there is one.
    pub(crate) fn find(&self, svma: u64, bare: Option<&str>) -> Option<String> {
        let after = self.symbols.partition_point(|symbol| symbol.svma <= svma);
        let holds = |symbol: &&Symbol| svma < symbol.end;
        let mut near = self.symbols[..after].iter().rev().take(MAX_STEPS);
        let nearest = near.find(holds)?.svma;
        let first = self.symbols.partition_point(|symbol| symbol.svma < nearest);
        let aliases = self.symbols[first..after].iter().filter(holds);
        let mut aliases = aliases.map(|symbol| symbol.name);
        let Some(bare) = bare else {
            return aliases.next().and_then(|name| self.shown(name));
        };
        let mut names = aliases.take(MAX_STEPS).map_while(|name| self.shown(name));
        let preferred = names.next()?;
        if name::is_of(&preferred, bare) {
            return Some(preferred);
        }
        let other = names.find(|name| name::is_of(name, bare));
        Some(other.unwrap_or(preferred))
    }

    fn shown(&self, name: &str) -> Option<String> {
        let left = self.left.get().checked_sub(name.len())?;
        let shown = name::shown(name);
        self.left.set(left.saturating_sub(shown.len()));
        Some(shown)
    }
}

fn function<'data>(symbol: &impl ObjectSymbol<'data>, dynamic: bool) -> Option<Symbol<'data>> {
    // A symbol without a type is a label: of a function in assembly, or one for tools only
    // (`$x` on Arm, `.L…`).
    if !symbol.is_definition() || !matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown) {
        return None;
    }
    let name = symbol.name().ok()?;
    // In `memcpy@@GLIBC_2.14` the version is not part of the name.
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
        internal: false,
        binding,
        name,
        end: svma.saturating_add(symbol.size()),
    })
}
