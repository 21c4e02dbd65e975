//! What the objects of a stack are: containers with the types of their elements, for people.
//!
//! Debug information has the generic arguments of every function. Those of the function that
//! allocates say what a container has in it: `insert<u64, alloc::sync::Arc<app::Session,
//! alloc::alloc::Global>, std::hash::random::RandomState, alloc::alloc::Global>`, a method of
//! `HashMap`, fills a `HashMap<u64, Arc<Session>>`.

use super::scan::{closing, outside};

/// The most characters of a type that is shown.
const MAX: usize = 80;

/// How deep types are shown within each other. What is deeper would be cut.
const DEPTH: usize = 12;

/// Types of the standard library that allocate, and a few of other crates: the module and the name, what people call
/// it, and how many arguments say what is in it.
///
/// Functions that are inlined have no type in their names in some builds, but always a module. Without
/// debug information they are not there, and what is left of a `Vec` is a buffer that grows.
const CONTAINERS: [(&str, &str, usize); 27] = [
    ("alloc::boxed", "Box", 1),
    ("alloc::collections::binary_heap", "BinaryHeap", 1),
    ("alloc::collections::btree::map", "BTreeMap", 2),
    ("alloc::collections::btree::set", "BTreeSet", 1),
    ("alloc::collections::linked_list", "LinkedList", 1),
    ("alloc::collections::vec_deque", "VecDeque", 1),
    ("alloc::ffi::c_str", "CString", 0),
    ("alloc::raw_vec", "buffer", 1),
    ("alloc::rc", "Rc", 1),
    ("alloc::string", "String", 0),
    ("alloc::sync", "Arc", 1),
    ("alloc::vec", "Vec", 1),
    ("crossbeam_channel::flavors::list", "Block", 1),
    ("hashbrown::map", "HashMap", 2),
    ("hashbrown::raw", "RawTable", 1),
    ("hashbrown::rustc_entry", "HashMap", 2),
    ("hashbrown::set", "HashSet", 1),
    ("hashbrown::table", "HashTable", 1),
    ("indexmap::inner", "Core", 2),
    ("indexmap::map", "IndexMap", 2),
    ("indexmap::map::core", "IndexMapCore", 2),
    ("indexmap::set", "IndexSet", 1),
    ("smallvec", "SmallVec", 1),
    ("std::collections::hash::map", "HashMap", 2),
    ("std::collections::hash::set", "HashSet", 1),
    ("std::sync::mpmc", "channel", 1),
    ("tokio::sync::mpsc::block", "Block", 1),
];

/// Those that are parts of others.
const PARTS: [&str; 2] = ["RawTable", "buffer"];

/// A module with functions that these call to allocate.
const BELOW: &str = "hashbrown::alloc";

/// Returns whether a function is one of these modules'.
pub(super) fn is_of_container(function: &str) -> bool {
    let modules = CONTAINERS.iter().map(|(module, ..)| *module);
    let mut modules = modules.chain([BELOW]);
    modules.any(|module| within(module, function).is_some())
}

/// Returns what follows the module in a function's name. `None` if it is not of that module.
fn within<'a>(module: &str, function: &'a str) -> Option<&'a str> {
    let inner = function.strip_prefix('<').unwrap_or(function);
    inner.strip_prefix(module)?.strip_prefix("::")
}

/// Returns what the objects of a stack are, such as `HashMap<u64, Arc<Session>>`. `None` if no
/// function tells.
///
/// `functions` are those of the standard library nearest the leaf, leaf first: normalised names, and
/// the generic arguments that debug information has.
pub(super) fn container<'a>(
    functions: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Option<Contents> {
    let mut found = None;
    let mut elements: Vec<String> = Vec::new();
    let mut part_of = None;
    for (function, arguments) in functions {
        // A container that calls back has the value made that it will have.
        if let Some((name, _)) = found
            && calls_back(function)
            && !PARTS.contains(&name)
        {
            break;
        }
        // The outermost one is what the program's own code calls.
        let container = CONTAINERS.iter().find(|(module, name, _)| {
            let rest = within(module, function);
            let is_type = |segment: &str| {
                segment.split(" as ").next() == Some(name) || segment.ends_with("VacantEntry")
            };
            let is_of_buffer = *name == "buffer";
            rest.is_some_and(|rest| {
                is_of_buffer || !rest.contains("::") || rest.split("::").any(is_type)
            })
        });
        let Some((_, name, takes)) = container else {
            continue;
        };
        if let Some(future) = arguments.and_then(future_of_task) {
            return Some(Contents::Task(cut(&future)));
        }
        let arguments = arguments.map(split).unwrap_or_default();
        if arguments.len() >= *takes && *takes > 0 {
            part_of = whole(&arguments[..*takes]);
            elements = arguments
                .iter()
                .take(*takes)
                .map(|one| short(one))
                .collect();
            // A table has pairs of a key and a value.
            if let [pair] = elements.as_slice()
                && *name == "RawTable"
                && let Some(pair) = pair
                    .strip_prefix('(')
                    .and_then(|pair| pair.strip_suffix(')'))
            {
                elements = parts(pair).into_iter().map(str::to_owned).collect();
            }
        }
        found = Some((*name, *takes));
        if makes_a_value(function) && !PARTS.contains(name) {
            break;
        }
    }
    let (name, takes) = found?;
    if let Some(of) = part_of {
        return Some(Contents::Container(cut(&of)));
    }
    // Functions that nothing was inlined into have no arguments in builds with line tables alone.
    // Those that they call have the same.
    let elements = match name {
        "RawTable" => &elements[..],
        _ => elements.get(..takes).unwrap_or_default(),
    };
    let name = match name {
        "Core" | "IndexMapCore" => "IndexMap",
        name => name,
    };
    let name = match (name, elements) {
        (_, []) => name.to_owned(),
        // What an `Arc` or an `Rc` allocates.
        ("Box", [inner]) if let Some((counted, value)) = counted(inner) => {
            format!("{counted}<{value}>")
        }
        ("RawTable", [key, value]) if value == "()" => format!("HashSet<{key}>"),
        ("RawTable", [key, value]) => format!("HashMap<{key}, {value}>"),
        (_, some) => format!("{name}<{}>", some.join(", ")),
    };
    Some(Contents::Container(cut(&name)))
}

/// Returns whether a function calls what it was given: a closure, or an iterator's.
fn calls_back(function: &str) -> bool {
    let of_core = function.trim_start_matches('<').strip_prefix("core::");
    of_core.is_some_and(|rest| rest.starts_with("ops::function") || rest.starts_with("iter::"))
}

/// Returns whether a function makes a value of a type for whoever has some, as `or_default` does.
fn makes_a_value(function: &str) -> bool {
    matches!(function.rsplit("::").next(), Some("default" | "clone"))
}

/// Returns the name and the value of `ArcInner<T>` and its like, which have the counts beside it.
fn counted(name: &str) -> Option<(&'static str, &str)> {
    let (inner, value) = name.strip_suffix('>')?.split_once('<')?;
    match inner {
        "ArcInner" => Some(("Arc", value)),
        "RcInner" | "RcBox" => Some(("Rc", value)),
        _ => None,
    }
}

/// Types inside of containers: where their own functions are inlined, nothing else tells. The type,
/// with its path, because others have a `LeafNode` too; and what the container is called that has its
/// arguments.
const INSIDE: [(&str, &str); 6] = [
    (
        "crossbeam_utils::cache_padded::CachePadded<lock_api::rwlock::RwLock<dashmap::lock::RawRwLock, \
         hashbrown::raw::RawTable<(",
        "DashMap",
    ),
    (
        "crossbeam_utils::cache_padded::CachePadded<lock_api::rwlock::RwLock<dashmap::lock::RawRwLock, \
         hashbrown::map::HashMap<",
        "DashMap",
    ),
    ("alloc::collections::btree::node::InternalNode<", "BTreeMap"),
    ("alloc::collections::btree::node::LeafNode<", "BTreeMap"),
    ("lru::LruEntry<", "LruCache"),
    ("core::ptr::non_null::NonNull<lru::LruEntry<", "LruCache"),
];

/// What a `DashMap` has around its values.
const SHARED: &str = "dashmap::util::SharedValue<";

/// Returns the container that something is a part of, by the types of its elements.
fn whole(arguments: &[&str]) -> Option<String> {
    let elements = match arguments {
        // A table has pairs of a key and a value.
        [pair] if pair.starts_with('(') => parts(pair.get(1..pair.len() - 1).unwrap_or_default()),
        _ => arguments.to_vec(),
    };
    let last = elements.last()?;
    let inside = INSIDE.iter().find_map(|(inside, name)| {
        let rest = last.strip_prefix(inside)?;
        Some((*name, parts(&rest[..closing(rest)])))
    });
    let (name, elements) = match inside {
        Some(inside) => inside,
        None if last.starts_with(SHARED) => ("DashMap", elements),
        None => return None,
    };
    let elements = elements.into_iter().map(|element| {
        let shared = element.strip_prefix(SHARED);
        short(
            shared
                .and_then(|value| value.strip_suffix('>'))
                .unwrap_or(element),
        )
    });
    let elements: Vec<String> = elements.collect();
    Some(match elements.as_slice() {
        [key, value] if value == "SetValZST" => format!("BTreeSet<{key}>"),
        _ => format!("{name}<{}>", elements.join(", ")),
    })
}

/// What the objects of a stack are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contents {
    /// A container of the standard library, by its type.
    Container(String),
    /// A task of tokio, by its future.
    Task(String),
}

impl Contents {
    /// Returns whether no word of these objects is a reference: they are text or numbers.
    pub fn has_no_references(&self) -> bool {
        /// Whose storage has nothing but elements.
        const PLAIN: [&str; 10] = [
            "Arc",
            "BinaryHeap",
            "Box",
            "HashMap",
            "HashSet",
            "Rc",
            "RawTable",
            "SmallVec",
            "Vec",
            "VecDeque",
        ];
        const NUMBERS: [&str; 20] = [
            "bool",
            "char",
            "str",
            "u8",
            "u16",
            "u32",
            "u64",
            "u128",
            "usize",
            "i8",
            "i16",
            "i32",
            "i64",
            "i128",
            "isize",
            "f32",
            "f64",
            "Duration",
            "Instant",
            "CachePadded",
        ];
        let Contents::Container(name) = self else {
            return false;
        };
        if matches!(name.as_str(), "String" | "CString") {
            return true;
        }
        let Some((outer, elements)) = name.strip_suffix('>').and_then(|name| name.split_once('<'))
        else {
            return false;
        };
        let is_number = |word: &str| {
            let is_count = word.starts_with(|c: char| c.is_ascii_digit());
            // Other crates' types, such as `AtomicBucket`, have pointers.
            let atomic = word.strip_prefix("Atomic").map(str::to_lowercase);
            let word = atomic.as_deref().unwrap_or(word);
            is_count || NUMBERS.contains(&word)
        };
        let is_separator =
            |c: char| matches!(c, '<' | '>' | '(' | ')' | '[' | ']' | ',' | ';' | ' ');
        let mut words = elements.split(is_separator).filter(|word| !word.is_empty());
        PLAIN.contains(&outer) && words.all(is_number)
    }
}

/// The allocation of a task in tokio: its state, its future and its scheduler.
const TASK: &str = "tokio::runtime::task::core::Cell<";

/// Returns the future of a task, if these are the generic arguments of the function that boxes it.
fn future_of_task(arguments: &str) -> Option<String> {
    let argument = *split(arguments).first()?;
    let inside = argument.strip_prefix(TASK)?;
    Some(short(parts(&inside[..closing(inside)]).first()?))
}

/// Splits `<A, B<C, D>>` into `A` and `B<C, D>`.
fn split(arguments: &str) -> Vec<&str> {
    let inner = arguments.strip_prefix('<').unwrap_or(arguments);
    let inner = &inner[..closing(inner)];
    parts(inner)
}

/// Splits at the commas that are in no bracket.
fn parts(text: &str) -> Vec<&str> {
    let commas = outside(text).filter(|(_, byte)| *byte == b',');
    let mut start = 0;
    let ends = commas.map(|(at, _)| at).chain([text.len()]);
    let parts = ends.map(|end| text[std::mem::replace(&mut start, end + 1)..end].trim());
    parts.filter(|part| !part.is_empty()).collect()
}

/// Types that are there by default, and that nobody writes.
const DEFAULTS: [&str; 4] = ["Global", "RandomState", "System", "BuildHasherDefault"];

/// Returns a type without the paths of its parts, and without arguments that have their defaults:
/// `Arc<Session>`.
fn short(name: &str) -> String {
    short_within(name, DEPTH)
}

fn short_within(name: &str, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else {
        return "…".to_owned();
    };
    let short = |name| short_within(name, depth);
    let mut out = String::new();
    let mut word = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        match c {
            '<' | '(' | '[' | '{' => {
                let inside = &rest[1..];
                let end = closing(inside);
                let (inside, after) = (&inside[..end], inside.get(end + 1..).unwrap_or_default());
                match c {
                    '{' => word.push_str(&kind_of_closure(inside)),
                    // Those of a closure are its captures, and long.
                    '<' if word.contains("::a ") => {}
                    '<' => {
                        let name = last(&std::mem::take(&mut word));
                        out.push_str(&name);
                        let kept: Vec<String> = parts(inside)
                            .into_iter()
                            .map(short)
                            .filter(|part| {
                                !DEFAULTS.contains(&part.split('<').next().unwrap_or(""))
                            })
                            .collect();
                        match kept.as_slice() {
                            [] => {}
                            [takes, gives] if name.starts_with("Fn") && takes.starts_with('(') => {
                                let gives = gives.trim_start_matches("Output=");
                                let gives = match gives {
                                    "()" => String::new(),
                                    some => format!(" -> {some}"),
                                };
                                out.push_str(&format!("{takes}{gives}"));
                            }
                            some => out.push_str(&format!("<{}>", some.join(", "))),
                        }
                    }
                    _ => {
                        out.push_str(&last(&word));
                        word.clear();
                        let (open, close) = match c {
                            // `Box<(dyn Fn() + Send)>`
                            '(' if inside.starts_with("dyn ") => ("", ""),
                            '(' => ("(", ")"),
                            _ => ("[", "]"),
                        };
                        let kept: Vec<String> = parts(inside).into_iter().map(short).collect();
                        out.push_str(&format!("{open}{}{close}", kept.join(", ")));
                    }
                }
                rest = after;
            }
            c if c.is_alphanumeric() || matches!(c, '_' | ':') => {
                word.push(c);
                rest = &rest[c.len_utf8()..];
            }
            c => {
                out.push_str(&last(&word));
                word.clear();
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out.push_str(&last(&word));
    out
}

/// Returns the last part of a path; of what a function contains, the function's name too.
fn last(path: &str) -> String {
    let mut segments = path.rsplit("::").filter(|one| !one.is_empty());
    match segments.next() {
        Some(inner) if inner.starts_with("a ") => {
            let function = segments.find(|one| !one.starts_with("a "));
            function.map_or(inner.to_owned(), |function| {
                format!("{inner} of {function}")
            })
        }
        last => last.unwrap_or_default().to_owned(),
    }
}

/// Returns what the compiler's name for something without a name means.
fn kind_of_closure(inside: &str) -> String {
    let kind = inside.split(['#', ' ']).next().unwrap_or(inside);
    match kind {
        "closure_env" | "closure" => "a closure".to_owned(),
        "async_block_env" | "async_block" => "a future".to_owned(),
        "async_fn_env" | "async_fn" => "a future".to_owned(),
        "async_closure_env" | "async_closure" => "a future".to_owned(),
        other => format!("{{{other}}}"),
    }
}

/// Cuts a name that is too long to be read.
fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_without_paths_and_defaults() {
        for (name, expected) in [
            ("u64", "u64"),
            ("&str", "&str"),
            ("&mut [u8]", "&mut [u8]"),
            (
                "alloc::sync::Arc<app::Session, alloc::alloc::Global>",
                "Arc<Session>",
            ),
            (
                "(u64, alloc::sync::Arc<app::Session, alloc::alloc::Global>)",
                "(u64, Arc<Session>)",
            ),
            (
                "std::collections::hash::map::HashMap<alloc::string::String, [u8; 4], \
                 std::hash::random::RandomState, alloc::alloc::Global>",
                "HashMap<String, [u8; 4]>",
            ),
            (
                "alloc::boxed::Box<(dyn core::ops::function::FnMut<(u64), Output=()> + \
                 core::marker::Send), alloc::alloc::Global>",
                "Box<dyn FnMut(u64) + Send>",
            ),
            (
                "alloc::boxed::Box<dyn core::ops::function::Fn<(), Output=alloc::vec::Vec<u8>>>",
                "Box<dyn Fn() -> Vec<u8>>",
            ),
            ("fn(&u8) -> app::Id", "fn(&u8) -> Id"),
            ("app::open::{closure_env#0}", "a closure of open"),
            (
                "app::open::{closure#1}::{closure_env#0}<app::A, app::B>",
                "a closure of open",
            ),
            ("app::serve::{async_fn_env#0}", "a future of serve"),
            (
                "app::serve::{async_block_env#1}<app::Io>",
                "a future of serve",
            ),
            ("core::option::Option<app::A<app::B>>", "Option<A<B>>"),
            // What no compiler writes.
            ("", ""),
            ("<", ""),
            ("a<b", "a<b>"),
            (">>", ">>"),
            ("{", "{}"),
            ("é::ü<ö>", "ü<ö>"),
        ] {
            assert_eq!(short(name), expected, "{name}");
        }
    }

    /// Each container stands above its functions, leaf first; `-` is none.
    #[test]
    fn containers_are_told_by_what_allocates() {
        let cases = "
            HashMap<u64, Arc<Session>>
              alloc::alloc::alloc
              hashbrown::raw::RawTable::reserve_rehash @ <(u64, Arc), G>
              hashbrown::map::HashMap::insert @ <u64, alloc::sync::Arc<app::Session, alloc::alloc::Global>, S, G>
              std::collections::hash::map::HashMap::insert @ <u64, alloc::sync::Arc<app::Session, alloc::alloc::Global>, S, G>
            # Another version of hashbrown, of a crate that has a table of its own.
            HashMap<u64, u8>
              hashbrown::raw::RawTable::resize @ <(u64, u8), G>
            # With line tables alone, a function that nothing is inlined into has no arguments.
            HashMap<u64, Arc<A>>
              hashbrown::raw::RawTable::reserve_rehash @ <(u64, alloc::sync::Arc<app::A>), G>
              std::collections::hash::map::HashMap::insert
            VecDeque<A>
              alloc::raw_vec::RawVec::grow_one @ <app::A, G>
              alloc::collections::vec_deque::VecDeque::push_back
            # Inlined, with line tables alone: a module, and no type.
            Vec<Entry>
              alloc::vec::push @ <app::Entry>
            Vec
              alloc::vec::Vec::push
            String
              <alloc::string::String as core::convert::From>::from
            Arc<A>
              alloc::sync::Arc::new @ <app::A>
            Rc<RefCell<A>>
              alloc::boxed::Box::new @ <alloc::rc::RcInner<core::cell::RefCell<app::A>>, G>
            Block<A>
              alloc::boxed::Box::new @ <tokio::sync::mpsc::block::Block<app::A>>
              tokio::sync::mpsc::block::Block::new @ <app::A>
            # A map that has its values made.
            Arc<A>
              <alloc::sync::Arc as core::default::Default>::default @ <app::A>
              std::collections::hash::map::Entry::or_default @ <u64, Arc, A>
            Box<A>
              alloc::boxed::Box::new @ <app::A>
              core::iter::adapters::map::map_fold
              alloc::vec::Vec::from_iter @ <Box, G>
            # And one that is copied as a whole.
            HashMap<u64, u8>
              <hashbrown::raw::RawTable as core::clone::Clone>::clone @ <(u64, u8), G>
              <std::collections::hash::map::HashMap as core::clone::Clone>::clone @ <u64, u8, S>
            BTreeMap<u64, A>
              alloc::boxed::Box::new_uninit_in @ <alloc::collections::btree::node::LeafNode<u64, app::A>>
              alloc::collections::btree::map::entry::VacantEntry::insert @ <u64, app::A, G>
              alloc::collections::btree::map::entry::Entry::or_default @ <u64, app::A, G>
            BTreeMap<u64, A>
              alloc::boxed::Box::new_uninit_in @ <alloc::collections::btree::node::LeafNode<u64, app::A>, G>
            BTreeSet<u64>
              alloc::boxed::Box::new_uninit_in @ <alloc::collections::btree::node::InternalNode<u64, alloc::collections::btree::set_val::SetValZST>, G>
            # A tree of the program's own.
            Box<LeafNode<u64, A>>
              alloc::boxed::Box::new @ <app::tree::LeafNode<u64, app::A>, G>
            LruCache<u64, A>
              alloc::boxed::Box::new @ <lru::LruEntry<u64, app::A>, G>
            LruCache<u64, A>
              <hashbrown::map::HashMap as core::iter::Extend>::extend @ <lru::KeyRef<u64>, core::ptr::non_null::NonNull<lru::LruEntry<u64, app::A>>, S, G>
            DashMap<u64, A>
              <hashbrown::raw::RawTable as core::clone::Clone>::clone @ <(u64, dashmap::util::SharedValue<app::A>), G>
            DashMap<u64, A>
              alloc::vec::Vec::push @ <crossbeam_utils::cache_padded::CachePadded<lock_api::rwlock::RwLock<dashmap::lock::RawRwLock, hashbrown::raw::RawTable<(u64, dashmap::util::SharedValue<app::A>)>>>, G>
            IndexMap<u64, A>
              alloc::raw_vec::RawVec::grow_one @ <indexmap::Bucket<u64, app::A>, G>
              indexmap::inner::Core::push @ <u64, app::A>
              indexmap::map::IndexMap::insert @ <u64, app::A, S>
            IndexMap<u64, A>
              indexmap::map::core::IndexMapCore::push @ <u64, app::A>
            IndexSet<u64>
              indexmap::inner::Core::insert_full @ <u64, ()>
              indexmap::set::insert
            -
              alloc::alloc::exchange_malloc
            -
        ";
        let lines = cases.lines().filter_map(|line| line.get(12..));
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
        let is_function = |line: &&str| line.starts_with(' ');
        for case in lines.chunk_by(|_, line| is_function(line)) {
            let functions = case[1..]
                .iter()
                .map(|line| match line.trim().split_once(" @ ") {
                    Some((function, arguments)) => (function, Some(arguments)),
                    None => (line.trim(), None),
                });
            let expected = (case[0] != "-").then(|| Contents::Container(case[0].to_owned()));
            assert_eq!(container(functions), expected, "{case:#?}");
        }
    }

    #[test]
    fn text_and_numbers_have_no_references() {
        let is = |name: &str| Contents::Container(name.to_owned()).has_no_references();
        let plain = [
            "String",
            "Vec<u8>",
            "Box<[u64; 16]>",
            "HashMap<u64, (u8, ())>",
            "Arc<str>",
            "Arc<CachePadded<AtomicUsize>>",
            "Arc<[AtomicBool]>",
        ];
        assert!(plain.into_iter().all(is));
        let others = [
            "Vec",
            "Vec<String>",
            "Vec<&u8>",
            "Box<*mut u8>",
            "BTreeMap<u64, u64>",
            "Box<fn(u8)>",
            "Arc<AtomicPtr<u8>>",
            "Arc<AtomicBucketInstant<f64>>",
            "Arc<Atomic<u8>>",
            "HashMap<u64, u…",
        ];
        assert!(!others.into_iter().any(is));
    }

    #[test]
    fn a_task_is_told_by_its_future() {
        let task = "<tokio::runtime::task::core::Cell<app::serve::{async_fn_env#0}, \
                    alloc::sync::Arc<tokio::runtime::scheduler::Handle>>>";
        let found = container([("alloc::boxed::Box::new", Some(task))].into_iter());
        assert_eq!(found, Some(Contents::Task("a future of serve".to_owned())));
    }

    #[test]
    fn deep_types_need_no_deep_stack() {
        let deep = format!("{}u8{}", "A<".repeat(100_000), ">".repeat(100_000));
        assert!(
            short(&deep).ends_with("A<…>>>>>>>>>>>>"),
            "{}",
            short(&deep)
        );
    }

    #[test]
    fn long_types_are_cut() {
        let long = format!("<{}>", "x".repeat(200));
        let found = container([("alloc::vec::Vec::push", Some(long.as_str()))].into_iter());
        let Some(Contents::Container(name)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(name.chars().count(), MAX + 1);
    }
}
