//! Finds the words that are addresses inside objects.

use super::graph::{Edge, Graph, Source};
use super::{Object, Root};

/// The most references. With some of them missing, all could look lost.
const MAX_EDGES: usize = 1 << 26;

/// How many words are looked at together.
const TOGETHER: usize = 8;

/// The bits of an address that are its number within a page.
const PAGE: u32 = 12;

/// The most bytes of the table of pages. Objects that lie further apart are found without it.
const MAX_TABLE: u64 = 64 << 20;

/// Reads words, and keeps those that are addresses inside objects.
#[derive(Debug)]
pub struct Scan {
    objects: Vec<Object>,
    /// The lowest address of an object.
    low: u64,
    /// The number of bytes from the lowest to the highest address.
    span: u64,
    /// The pages from that of `low` on. Empty if objects lie too far apart.
    pages: Vec<Page>,
    roots: Vec<Root>,
    edges: Vec<Edge>,
    first_words: Vec<[u64; 2]>,
    read: u64,
}

impl Scan {
    /// Begins with all objects that are alive. They are sorted by address here; where two overlap,
    /// the first is kept.
    pub fn new(mut objects: Vec<Object>) -> Scan {
        objects.sort_unstable_by_key(|object| (object.address, object.bytes, object.group));
        let mut end = 0;
        objects.retain(|object| {
            let is_free = object.address >= end;
            if is_free {
                end = object.address.saturating_add(object.bytes.max(1));
            }
            is_free
        });
        objects.truncate(u32::MAX as usize / 2);
        let low = objects.first().map_or(0, |first| first.address);
        let last = objects.last();
        let high = last.map_or(0, |last| last.address.saturating_add(last.bytes.max(1)));
        let span = high - low;
        let pages = pages(&objects, low, span);
        Scan {
            first_words: vec![[0; 2]; objects.len()],
            objects,
            low,
            span,
            pages,
            roots: Vec::new(),
            edges: Vec::new(),
            read: 0,
        }
    }

    /// Returns the objects, sorted by address. An object's number is its place here.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the bytes that were read so far.
    pub fn bytes(&self) -> u64 {
        self.read
    }

    /// Reads a part of an object, from `offset` on. The part must begin at a word.
    pub fn object(&mut self, number: usize, offset: u64, bytes: &[u8]) {
        if offset == 0
            && let Some(first) = self.first_words.get_mut(number)
        {
            let mut words = words(bytes);
            *first = [words.next().unwrap_or(0), words.next().unwrap_or(0)];
        }
        let source = Source::object(number);
        self.references(bytes, |at, to| Edge {
            from: source,
            // No object is so large that its words have no number.
            at: u32::try_from((offset + at) / 8).unwrap_or(u32::MAX),
            to,
        });
    }

    /// Reads memory outside the objects, and calls a function with each word that is the address of
    /// something in one, and with the word's offset. [`Scan::word`] adds it, once its root is known.
    pub fn each(&mut self, bytes: &[u8], mut word: impl FnMut(u64, u64)) {
        let (low, span) = (self.low, self.span);
        self.read += bytes.len() as u64;
        for (value, at) in words(bytes).zip((0..).step_by(8)) {
            if value.wrapping_sub(low) < span && self.find(value).is_some() {
                word(at, value);
            }
        }
    }

    /// Adds that a root has a word with this value, such as one that is in a register.
    pub fn word(&mut self, root: Root, word: u64) {
        if let Some(to) = self.find(word) {
            let from = Source::root(self.roots.len());
            self.roots.push(root);
            self.edges.push(Edge { from, at: 0, to });
        }
    }

    /// Ends the scan. `None` if there were too many references.
    pub fn finish(self) -> Option<Graph> {
        let is_whole = self.edges.len() < MAX_EDGES;
        is_whole.then(|| Graph::new(self.objects, self.first_words, self.roots, self.edges))
    }

    /// Adds an edge for each word that points to an object. `edge` takes the word's offset.
    fn references(&mut self, bytes: &[u8], edge: impl Fn(u64, u32) -> Edge) {
        if self.edges.len() >= MAX_EDGES {
            return;
        }
        self.read += bytes.len() as u64;
        let (low, span) = (self.low, self.span);
        let is_near = |word: &[u8; 8]| u64::from_ne_bytes(*word).wrapping_sub(low) < span;
        let (words, _) = bytes.as_chunks::<8>();
        // Nearly always, none of several words is an address: they are looked at together.
        for (group, words) in words.chunks(TOGETHER).enumerate() {
            if !words.iter().fold(false, |near, word| near | is_near(word)) {
                continue;
            }
            for (number, word) in words.iter().enumerate().filter(|(_, word)| is_near(word)) {
                if let Some(to) = self.find(u64::from_ne_bytes(*word)) {
                    let at = (group * TOGETHER + number) * 8;
                    self.edges.push(edge(at as u64, to));
                }
            }
        }
    }

    /// Returns the object that an address is in.
    fn find(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.low)?;
        if offset >= self.span {
            return None;
        }
        let after = match self.pages.is_empty() {
            false => {
                let page = (address >> PAGE) - (self.low >> PAGE);
                let page = *self.pages.get(usize::try_from(page).ok()?)?;
                if page.bytes != Page::LOOK {
                    let in_page = address & ((1 << PAGE) - 1);
                    return (in_page < u64::from(page.bytes)).then_some(page.last);
                }
                let mut after = page.last as usize + 1;
                while after > 0 && self.objects[after - 1].address > address {
                    after -= 1;
                }
                after
            }
            true => self
                .objects
                .partition_point(|object| object.address <= address),
        };
        let number = after.checked_sub(1)?;
        let object = self.objects[number];
        let is_inside = address - object.address < object.bytes.max(1);
        is_inside.then_some(u32::try_from(number).ok()?)
    }
}

/// What is in a page.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// The last object that begins in it or before it.
    last: u32,
    /// How many bytes of it are that object's, if it begins with the object and has no other: so
    /// most references are found without a look at the object. Otherwise [`Page::LOOK`].
    bytes: u32,
}

impl Page {
    const LOOK: u32 = u32::MAX;
}

/// Returns what is in each page from that of `low` on. Empty if that is too much.
fn pages(objects: &[Object], low: u64, span: u64) -> Vec<Page> {
    let count = (span >> PAGE) + 2;
    if count * size_of::<Page>() as u64 > MAX_TABLE {
        return Vec::new();
    }
    let mut pages = vec![Page::default(); usize::try_from(count).unwrap_or(0)];
    let mut objects = (0..).zip(objects).peekable();
    let mut last: Option<(u32, &Object)> = None;
    let starts = (low >> PAGE..).map(|page| page << PAGE);
    for (page, start) in pages.iter_mut().zip(starts) {
        let before = last.filter(|(_, object)| start.wrapping_sub(object.address) < object.bytes);
        let begin = |(_, object): &(u32, &Object)| object.address.wrapping_sub(start) < 1 << PAGE;
        let first = objects.next_if(begin);
        let mut others = 0;
        last = first.or(last);
        while let Some(next) = objects.next_if(begin) {
            last = Some(next);
            others += 1;
        }
        let Some((number, object)) = last else {
            continue;
        };
        page.last = number;
        page.bytes = match (before, first) {
            (None, None) => 0,
            (None, Some((_, first))) if others == 0 && first.address == start => {
                let bytes = object.bytes.clamp(1, 1 << PAGE);
                u32::try_from(bytes).unwrap_or(Page::LOOK)
            }
            _ => Page::LOOK,
        };
    }
    pages
}

/// Returns the words of some memory, in the byte order of this machine.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}
