//! Finds the words that are addresses inside objects.

use std::collections::BTreeSet;

use super::graph::{Edge, Graph, Source};
use super::{Object, Root};

/// The most references. With some of them missing, all could look lost.
const MAX_EDGES: usize = 1 << 26;

/// How many words that are near objects are kept until their objects are looked for. Of many, the
/// processor waits for the tables of several at a time. A power of two.
const TOGETHER: usize = 1024;

/// How many words are looked at at once.
const AT_ONCE: usize = 8;

/// The fewest bits of an address that are its offset within a block: those of a page.
const PAGE: u32 = 12;

/// Reads words, and keeps those that are addresses inside objects.
#[derive(Debug)]
pub struct Scan {
    objects: Vec<Object>,
    /// The lowest address of an object.
    low: u64,
    /// The number of bytes from the lowest to the highest address.
    span: u64,
    /// How many bits of an address are its offset within a block.
    bits: u32,
    /// The blocks from that of `low` on: no more than twice as many as objects, so that the table
    /// fits into the processor's caches.
    blocks: Vec<Block>,
    roots: Vec<Root>,
    edges: Vec<Edge>,
    /// The words that were read last, and may be addresses of objects.
    near: Box<[Near; TOGETHER]>,
    /// How many these are.
    near_count: usize,
    first_words: Vec<[u64; 2]>,
    /// The objects whose references are kept, and these.
    is_watched: Vec<bool>,
    watched: BTreeSet<(u32, Reference)>,
    read: u64,
}

/// A word that is an address inside an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The address.
    pub word: u64,
    /// The number of the object that has it, and the offset there. `None` if a root has it.
    pub from: Option<(usize, u64)>,
}

/// A word that is between the lowest and the highest address of an object.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    from: Source,
    at: u32,
    word: u64,
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
        let bits = (span / (objects.len() as u64).max(1))
            .max(1 << PAGE)
            .ilog2();
        let blocks = blocks(&objects, low, span, bits);
        Scan {
            first_words: vec![[0; 2]; objects.len()],
            is_watched: vec![false; objects.len()],
            watched: BTreeSet::new(),
            low,
            span,
            bits,
            blocks,
            roots: Vec::new(),
            // About as many as objects of programs have.
            edges: Vec::with_capacity(2 * objects.len()),
            near: Box::new([Near::default(); TOGETHER]),
            near_count: 0,
            objects,
            read: 0,
        }
    }

    /// Returns the objects, sorted by address. An object's number is its place here.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the number of the object that an address is in.
    pub fn object_at(&self, address: u64) -> Option<usize> {
        self.find(address).map(|number| number as usize)
    }

    /// Returns the bytes that were read so far.
    pub fn bytes(&self) -> u64 {
        self.read
    }

    /// Reads the first two words of an object alone, if `offset` is 0: they are no references.
    pub fn first_words(&mut self, number: usize, offset: u64, bytes: &[u8]) {
        if offset == 0
            && let Some(first) = self.first_words.get_mut(number)
        {
            let mut words = words(bytes);
            *first = [words.next().unwrap_or(0), words.next().unwrap_or(0)];
        }
    }

    /// Reads a part of an object, from `offset` on. The part must begin at a word.
    pub fn object(&mut self, number: usize, offset: u64, bytes: &[u8]) {
        self.first_words(number, offset, bytes);
        self.read += bytes.len() as u64;
        let (low, span) = (self.low, self.span);
        let (words, _) = bytes.as_chunks::<8>();
        // No object is so large that its words have no number.
        let first = u32::try_from(offset / 8).unwrap_or(u32::MAX);
        for (words, first) in words.chunks(AT_ONCE).zip((first..).step_by(AT_ONCE)) {
            if self.near_count + AT_ONCE > TOGETHER {
                self.look_up();
            }
            let is_near = |word: &[u8; 8]| u64::from_ne_bytes(*word).wrapping_sub(low) < span;
            // Nearly always, none of several words is an address.
            if !words.iter().fold(false, |near, word| near | is_near(word)) {
                continue;
            }
            // Nothing branches here, because nobody can predict which it is.
            let mut count = self.near_count;
            for (at, word) in (first..).zip(words) {
                self.near[count % TOGETHER] = Near {
                    from: Source::object(number),
                    at,
                    word: u64::from_ne_bytes(*word),
                };
                count += usize::from(is_near(word));
            }
            self.near_count = count;
        }
    }

    /// Looks for the objects of the words that are near.
    fn look_up(&mut self) {
        for number in 0..std::mem::take(&mut self.near_count) {
            let Near { from, at, word } = self.near[number];
            if let Some(to) = self.find(word)
                && self.edges.len() < MAX_EDGES
            {
                self.edges.push(Edge { from, at, to });
                let from = from.number().ok();
                self.note(to, word, from.map(|from| (from, u64::from(at) * 8)));
            }
        }
    }

    fn note(&mut self, to: u32, word: u64, from: Option<(usize, u64)>) {
        if self.is_watched[to as usize] {
            self.watched.insert((to, Reference { word, from }));
        }
    }

    /// Says that the references to an object are asked for later.
    pub fn watch(&mut self, number: usize) {
        self.is_watched[number] = true;
    }

    /// Returns the references to an object that is watched, of what was read so far.
    pub fn references_to(&mut self, number: usize) -> Vec<Reference> {
        self.look_up();
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let first = Reference {
            word: 0,
            from: None,
        };
        let from = self.watched.range((number, first)..);
        let own = from.take_while(|(to, _)| *to == number);
        own.map(|(_, reference)| *reference).collect()
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
            self.note(to, word, None);
        }
    }

    /// Ends the scan. `None` if there were too many references.
    pub fn finish(mut self) -> Option<Graph> {
        self.look_up();
        let is_whole = self.edges.len() < MAX_EDGES;
        is_whole.then(|| Graph::new(self.objects, self.first_words, self.roots, self.edges))
    }

    /// Returns the object that an address is in.
    fn find(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.low)?;
        if offset >= self.span {
            return None;
        }
        let number = usize::try_from((address >> self.bits) - (self.low >> self.bits)).ok()?;
        let block = *self.blocks.get(number)?;
        if block.bytes != Block::LOOK {
            let in_block = address & ((1 << self.bits) - 1);
            return (in_block < u64::from(block.bytes)).then_some(block.last);
        }
        let before = number
            .checked_sub(1)
            .map_or(0, |before| self.blocks[before].last as usize);
        let objects = &self.objects[before..=block.last as usize];
        let after = objects.partition_point(|object| object.address <= address);
        let number = before + after.checked_sub(1)?;
        let object = self.objects[number];
        let is_inside = address - object.address < object.bytes.max(1);
        is_inside.then_some(u32::try_from(number).ok()?)
    }
}

/// What is in a block of addresses.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// The last object that begins in it or before it.
    last: u32,
    /// How many bytes of it are that object's, if it begins with the object and has no other: so
    /// most references are found without a look at the object. Otherwise [`Block::LOOK`].
    bytes: u32,
}

impl Block {
    const LOOK: u32 = u32::MAX;
}

/// Returns what is in each block of so many bits from that of `low` on.
fn blocks(objects: &[Object], low: u64, span: u64, bits: u32) -> Vec<Block> {
    let count = usize::try_from((span >> bits) + 2).unwrap_or(0);
    let size = 1_u64 << bits;
    let mut blocks = vec![Block::default(); count];
    let mut objects = (0..).zip(objects).peekable();
    let mut last: Option<(u32, &Object)> = None;
    for (block, number) in blocks.iter_mut().zip(low >> bits..) {
        let start = number << bits;
        let before = last.filter(|(_, object)| start.wrapping_sub(object.address) < object.bytes);
        let begin = |(_, object): &(u32, &Object)| object.address.wrapping_sub(start) < size;
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
        block.last = number;
        block.bytes = match (before, first) {
            (None, None) => 0,
            (None, Some((_, first))) if others == 0 && first.address == start => {
                u32::try_from(object.bytes.clamp(1, size)).unwrap_or(Block::LOOK)
            }
            _ => Block::LOOK,
        };
    }
    blocks
}

/// Returns the words of some memory, in the byte order of this machine.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}
