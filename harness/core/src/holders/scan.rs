//! Finds the words that are addresses inside objects.

use super::graph::{Edge, Graph, Source};
use super::{Object, Root};

/// The most references that are kept. Later ones are counted alone.
const MAX_EDGES: usize = 1 << 26;

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
    /// For each page from `low` on, one more than the number of the last object that begins in it
    /// or before it. Empty if objects lie too far apart.
    pages: Vec<u32>,
    roots: Vec<Root>,
    edges: Vec<Edge>,
    first_words: Vec<[u64; 2]>,
    read: u64,
    left_out: u64,
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
        let pages = (span >> PAGE) + 2;
        let mut table = Vec::new();
        if pages * 4 <= MAX_TABLE {
            table.resize(usize::try_from(pages).unwrap_or(0), 0);
            for (number, object) in (1..).zip(&objects) {
                let page = (object.address >> PAGE) - (low >> PAGE);
                table[usize::try_from(page).unwrap_or(0)] = number;
            }
            let mut last = 0;
            for entry in &mut table {
                last = (*entry).max(last);
                *entry = last;
            }
        }
        Scan {
            first_words: vec![[0; 2]; objects.len()],
            objects,
            low,
            span,
            pages: table,
            roots: Vec::new(),
            edges: Vec::new(),
            read: 0,
            left_out: 0,
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
            self.root_word(root, to);
        }
    }

    fn root_word(&mut self, root: Root, to: u32) {
        let from = Source::root(self.roots.len());
        self.roots.push(root);
        self.edges.push(Edge { from, at: 0, to });
    }

    /// Ends the scan.
    pub fn finish(self) -> Graph {
        Graph::new(self.objects, self.first_words, self.roots, self.edges)
    }

    /// Adds an edge for each word that points to an object. `edge` takes the word's offset.
    fn references(&mut self, bytes: &[u8], edge: impl Fn(u64, u32) -> Edge) {
        /// Words that are looked at together: nearly always, none of them is an address.
        const TOGETHER: usize = 8;
        self.read += bytes.len() as u64;
        let (low, span) = (self.low, self.span);
        let is_near = |word: u64| word.wrapping_sub(low) < span;
        let mut at = 0;
        for chunk in bytes.chunks(TOGETHER * 8) {
            let mut near = false;
            let mut values = [0_u64; TOGETHER];
            for (value, word) in values.iter_mut().zip(words(chunk)) {
                *value = word;
                near |= is_near(word);
            }
            if near {
                for (word, at) in values.into_iter().zip((at..).step_by(8)) {
                    let found = is_near(word).then(|| self.find(word)).flatten();
                    match found {
                        Some(to) if self.edges.len() < MAX_EDGES => self.edges.push(edge(at, to)),
                        Some(_) => self.left_out += 1,
                        None => {}
                    }
                }
            }
            at += chunk.len() as u64;
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
                let mut after = *self.pages.get(usize::try_from(page).ok()?)? as usize;
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

/// Returns the words of some memory, in the byte order of this machine.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}
