//! A table of the objects that are alive, with the stack that allocated each.
//!
//! jemalloc's profiler calls one hook for every object that it samples, and another when such an
//! object is freed (`experimental.hooks.prof_sample` and `prof_sample_free`, since 5.3.1). In an
//! exact profile these are all objects. The hooks run inside `malloc` and `free`, on any thread, in
//! signal handlers and after a fork. So they neither allocate nor lock: every step is an operation
//! on an atomic, and the table has a fixed size.
//!
//! The front reads the table from the memory of the stopped process; `docs/protocol.md` describes
//! it.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::unwind::birth;
use crate::{jemalloc, sys};

/// The number of objects that the table has room for.
const OBJECTS: usize = 1 << 22;

/// How many places are tried for an object.
const TRIES: usize = 16;

/// How many objects are in one part of the table. Parts without any are not read.
const PART: usize = 128;

/// The number of stacks that the table has room for.
const STACKS: usize = 1 << 17;

/// The most words of all stacks together.
const WORDS: usize = 1 << 22;

/// How many words stay free, for stacks that several threads write at once.
const SPARE: usize = 1 << 16;

/// The number of low bits that the addresses of sampled objects have in common: the profiler
/// gives each of them pages of its own.
const PAGE: u32 = 12;

/// An object. Its memory is free if the address is zero.
#[repr(C)]
struct Object {
    address: AtomicU64,
    /// The bytes that were asked for.
    bytes: AtomicU64,
    /// How many iterations were done when it was allocated.
    iteration: AtomicU64,
    /// Where its stack begins in the words; 0 if there was no room.
    stack: AtomicU32,
    /// How often its address will be freed before it is free: once more for each time that it was
    /// reallocated in place, because jemalloc calls the hook of the new object first.
    frees: AtomicU32,
}

/// The table. Its memory is zero at first, and only the pages that are used are there.
#[repr(C)]
struct Table {
    objects: [Object; OBJECTS],
    /// For each part of the objects, whether one was ever in it.
    parts: [AtomicU8; OBJECTS / PART],
    /// Where each stack begins in `words`, by a hash; 0 is free.
    stacks: [AtomicU32; STACKS],
    /// For each stack, the number of its words, and these.
    words: [AtomicU64; WORDS],
    /// How many words are taken, besides the first, which is never used.
    taken: AtomicU32,
    /// How many objects found no room.
    left_out: AtomicU64,
}

static TABLE: AtomicPtr<Table> = AtomicPtr::new(std::ptr::null_mut());

/// Iterations done.
static ITERATION: AtomicU64 = AtomicU64::new(0);

/// Notes how many iterations are done.
pub(crate) fn set_iteration(done: u64) {
    ITERATION.store(done, Ordering::Relaxed);
}

/// Keeps a table from here on.
///
/// # Errors
///
/// Why not.
pub(crate) fn keep() -> Result<(), String> {
    let memory = sys::reserve(size_of::<Table>());
    let memory = memory.map_err(|error| format!("there is no memory for the table: {error}"))?;
    TABLE.store(memory.cast(), Ordering::Release);
    jemalloc::set_prof_sample_hooks(sampled, freed)
        .map_err(|error| format!("expected jemalloc 5.3.1 or newer, which has the hooks: {error}"))
}

/// Where the parts of the table are, as the front is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) objects: u64,
    pub(crate) parts: u64,
    pub(crate) words: u64,
    pub(crate) taken: u64,
    pub(crate) left_out: u64,
}

impl Place {
    /// The number of places in `objects`, and how many of them are in a part.
    pub(crate) const OBJECTS: [usize; 2] = [OBJECTS, PART];
}

/// Stops keeping the table, and returns where it is. `None` if it was not kept.
pub(crate) fn place() -> Option<Place> {
    let table = table()?;
    // Whoever stops the process looks at it as it is now.
    TABLE.store(std::ptr::null_mut(), Ordering::Release);
    Some(Place {
        objects: table.objects.as_ptr() as u64,
        parts: table.parts.as_ptr() as u64,
        words: table.words.as_ptr() as u64,
        taken: u64::from(table.taken.load(Ordering::Relaxed)) + 1,
        left_out: table.left_out.load(Ordering::Relaxed),
    })
}

fn table() -> Option<&'static Table> {
    // SAFETY: the pointer is null, or that of a mapping of this size that is never unmapped. All
    // of its fields are atomics, for which any bits are valid.
    unsafe { TABLE.load(Ordering::Acquire).as_ref() }
}

/// `prof_sample_hook_t` of jemalloc's prof_hook.h.
unsafe extern "C" fn sampled(
    address: *const c_void,
    bytes: usize,
    frames: *mut *mut c_void,
    length: c_uint,
    _: usize,
) {
    let Some(table) = table() else { return };
    // SAFETY: `prof_malloc_sample_object` in prof.c passes the vector of a `prof_bt_t` with as
    // many words; nobody changes it.
    let frames = unsafe { std::slice::from_raw_parts(frames.cast::<u64>(), length as usize) };
    table.add(address as u64, bytes as u64, birth::without(frames));
}

/// `prof_sample_free_hook_t` of jemalloc's prof_hook.h.
unsafe extern "C" fn freed(address: *const c_void, _: usize) {
    if let Some(table) = table() {
        table.remove(address as u64);
    }
}

impl Table {
    /// Returns the places where an object may be, with the parts that they are in.
    fn places(&self, address: u64) -> impl Iterator<Item = (&Object, &AtomicU8)> {
        let first = (address >> PAGE) as usize;
        let places = (first..first + TRIES).map(|place| place % OBJECTS);
        places.map(|place| (&self.objects[place], &self.parts[place / PART]))
    }

    /// Returns an object by its address.
    fn find(&self, address: u64) -> Option<&Object> {
        let mut places = self.places(address).map(|(object, _)| object);
        places.find(|object| object.address.load(Ordering::Relaxed) == address)
    }

    fn add(&self, address: u64, bytes: u64, stack: &[u64]) {
        let stack = self.stack(stack);
        let fill = |object: &Object| {
            object.bytes.store(bytes, Ordering::Relaxed);
            let iteration = ITERATION.load(Ordering::Relaxed);
            object.iteration.store(iteration, Ordering::Relaxed);
            object.stack.store(stack, Ordering::Relaxed);
            object.frees.fetch_add(1, Ordering::Relaxed);
        };
        if let Some(known) = self.find(address) {
            return fill(known);
        }
        for (object, part) in self.places(address) {
            let (free, relaxed) = (&object.address, Ordering::Relaxed);
            if free.load(relaxed) == 0
                && free
                    .compare_exchange(0, address, Ordering::AcqRel, relaxed)
                    .is_ok()
            {
                part.store(1, Ordering::Relaxed);
                return fill(object);
            }
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    fn remove(&self, address: u64) {
        if let Some(object) = self.find(address)
            && object.frees.fetch_sub(1, Ordering::Relaxed) == 1
        {
            object.address.store(0, Ordering::Release);
        }
    }

    /// Returns where a stack begins in the words; 0 if there is no room.
    fn stack(&self, stack: &[u64]) -> u32 {
        let mut hash = stack.len() as u64;
        for word in stack {
            hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        let first = (hash >> 40) as usize;
        for place in first..first + TRIES {
            let place = &self.stacks[place % STACKS];
            let mut begins = place.load(Ordering::Acquire);
            if begins == 0 {
                let Some(new) = self.write(stack) else {
                    return 0;
                };
                match place.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return new,
                    Err(other) => begins = other,
                }
            }
            if self.is_at(begins as usize, stack) {
                return begins;
            }
        }
        0
    }

    /// Writes a stack behind the words that are taken.
    fn write(&self, stack: &[u64]) -> Option<u32> {
        let length = u32::try_from(stack.len() + 1).ok()?;
        if self.taken.load(Ordering::Relaxed) as usize > WORDS - SPARE {
            return None;
        }
        let begins = self.taken.fetch_add(length, Ordering::Relaxed) + 1;
        let words = self.words.get(begins as usize..)?;
        let (count, words) = words.split_first()?;
        count.store(stack.len() as u64, Ordering::Relaxed);
        for (place, word) in words.iter().zip(stack) {
            place.store(*word, Ordering::Relaxed);
        }
        Some(begins)
    }

    fn is_at(&self, begins: usize, stack: &[u64]) -> bool {
        let Some((count, words)) = self.words.get(begins..).and_then(<[_]>::split_first) else {
            return false;
        };
        let is_same = |(place, word): (&AtomicU64, &u64)| place.load(Ordering::Relaxed) == *word;
        count.load(Ordering::Relaxed) == stack.len() as u64 && words.iter().zip(stack).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table {
        let memory = sys::reserve(size_of::<Table>()).unwrap();
        // SAFETY: the memory is as large as a table, zero, and never unmapped.
        unsafe { &*memory.cast::<Table>() }
    }

    /// Returns the objects: address, bytes and stack.
    fn objects(table: &Table) -> Vec<(u64, u64, Vec<u64>)> {
        let all = table.objects.iter().filter_map(|object| {
            let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
            let begins = object.stack.load(Ordering::Relaxed) as usize;
            let count = usize::try_from(load(&table.words[begins])).unwrap();
            let words = table.words[begins + 1..][..count].iter().map(load);
            let address = load(&object.address);
            (address != 0).then(|| (address, load(&object.bytes), words.collect()))
        });
        all.collect()
    }

    #[test]
    fn what_is_freed_is_gone() {
        let table = table();
        table.add(0x5000, 48, &[1, 2, 3]);
        table.add(0x9000, 64, &[1, 2]);
        table.add(0xd000, 80, &[1, 2, 3]);
        table.remove(0x9000);
        // An object that was there before.
        table.remove(0x7000);
        let expected = [(0x5000, 48, vec![1, 2, 3]), (0xd000, 80, vec![1, 2, 3])];
        assert_eq!(objects(table), expected);
        // Equal stacks are kept once.
        assert_eq!(table.taken.load(Ordering::Relaxed), 4 + 3);
    }

    /// jemalloc adds the new object before it removes the old one, at the same address.
    #[test]
    fn a_reallocation_in_place_keeps_the_new_object() {
        let table = table();
        table.add(0x5000, 48, &[1]);
        for bytes in [64, 80] {
            table.add(0x5000, bytes, &[2]);
            table.remove(0x5000);
            assert_eq!(objects(table), [(0x5000, bytes, vec![2])]);
        }
        table.remove(0x5000);
        assert_eq!(objects(table), []);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let table = table();
        let apart = (OBJECTS as u64) << PAGE;
        for number in 1..=TRIES as u64 + 2 {
            table.add(0x5000 + number * apart, 8, &[1]);
        }
        assert_eq!(objects(table).len(), TRIES);
        assert_eq!(table.left_out.load(Ordering::Relaxed), 2);
        // Stacks without room are not known.
        let all = u32::try_from(WORDS).unwrap();
        table.taken.store(all, Ordering::Relaxed);
        table.add(0x100_0000, 8, &[7]);
        assert!(objects(table).contains(&(0x100_0000, 8, vec![])));
    }

    #[test]
    fn threads_share_a_table() {
        let table = table();
        let threads = (1..=4_u64).map(|thread| {
            std::thread::spawn(move || {
                for number in 0..20_000_u64 {
                    let address = (thread << 30) + ((number % 1_000) << PAGE);
                    table.add(address, thread, &[number % 7, 1]);
                    if number % 1_000 != 999 || number < 19_000 {
                        table.remove(address);
                    }
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        let left: Vec<u64> = objects(table)
            .into_iter()
            .map(|(_, thread, _)| thread)
            .collect();
        assert_eq!(left, [1, 2, 3, 4]);
    }
}
