//! Reads the memory of a stopped subject: its table of objects, and the words that may point to
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use plimsoll_core::dump::{Mapping, Maps};
use plimsoll_core::holders::{Object, Reference, Root, Scan, Storage};
use plimsoll_core::outside::Counts;
use plimsoll_core::report::units::duration;
use plimsoll_core::{Avma, SmallMap};
use plimsoll_symbols::Variables;

use crate::profile::mapped_files;
use crate::sys;

/// The most bytes that are read of objects and roots.
const MAX_BYTES: u64 = 1 << 30;

/// The most bytes that are read of the program's own mappings.
const MAX_MAPPED: u64 = 256 << 20;

/// The most bytes of one of these mappings. It takes seconds to ask which pages of larger ones are
/// in use.
const MAX_RESERVED: u64 = 64 << 30;

/// In `/proc/PID/pagemap`, set for a page that is in memory or in the swap file.
const IN_USE: u64 = 0b11 << 62;

/// The bytes of the blocks in which jemalloc maps memory for itself (`HUGEPAGE`).
const BLOCK: u64 = 1 << 21;

/// How many words like those of the allocator a block of the program's may have by chance.
const FEW: usize = 4;

/// How many bytes are read at once.
const PART: usize = 1 << 18;

/// Bytes of an object in the table: its address, its bytes, the iteration, its stack, and one more
/// number of 32 bits.
const OBJECT: usize = 8 + 8 + 8 + 4 + 4;

/// Bytes below the stack pointer that a function may use (the red zone of x86-64's ABI).
const RED_ZONE: u64 = 128;

/// The end of the name of jemalloc's own thread-local.
const ALLOCATORS: &str = "je_tsd_tls";

/// Bytes of the C library's control block of a thread, above the thread pointer, and more.
const CONTROL_BLOCK: u64 = 1 << 13;

/// What the words of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Any of them may be a reference.
    Any,
    /// None is: text or numbers, and room behind them that has what was there before.
    NoReferences,
    /// Those in the parts of a container's storage that are in use may be references.
    InUse(Storage),
    /// The object is the workload's own closure, if the harness has it.
    OfState,
}

/// The bytes of an object's first two words.
const FIRST_WORDS: u64 = 16;

/// An object of the table, with the number of its stack in [`Stopped::stacks`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// How many iterations were done when it was allocated.
    pub(crate) iteration: u64,
    pub(crate) stack: usize,
}

/// A thread.
#[derive(Clone, Debug)]
struct Thread {
    name: String,
    stack_pointer: u64,
    thread_pointer: u64,
    registers: Vec<u64>,
}

/// A stopped subject.
#[derive(Debug)]
pub(crate) struct Stopped {
    memory: File,
    /// Which of its pages are in use, if that can be asked.
    pages: Option<File>,
    pub(crate) maps: Maps,
    pub(crate) objects: Vec<Live>,
    pub(crate) stacks: Vec<Vec<Avma>>,
    /// The address of the table.
    table: u64,
    /// How many objects found no room in it.
    pub(crate) left_out: u64,
    /// The first is the one that ran the workload.
    threads: Vec<Thread>,
    /// How many threads did not stop in time.
    pub(crate) running: u64,
    /// An estimate from above of the bytes of each thread's thread-locals.
    thread_local_bytes: u64,
    /// Bytes of a page of jemalloc's.
    page: u64,
    /// Memory of the subject's own, with registers of the program, which are no references.
    own: [Range<u64>; 2],
}

/// What the roots are called, by rank.
#[derive(Debug, Default)]
pub(crate) struct RootNames {
    names: Vec<String>,
    /// Whether all memory was searched.
    pub(crate) are_all: bool,
}

impl Stopped {
    /// Reads the table and the threads. `numbers` is what the subject has answered.
    /// The files are its memory and its mappings.
    pub(crate) fn read(
        process: u32,
        numbers: &str,
        [memory, mut mappings]: [File; 2],
    ) -> Result<Stopped, String> {
        let said: Vec<u64> = numbers
            .split(' ')
            .filter_map(|number| number.parse().ok())
            .collect();
        let &[
            objects,
            object_count,
            parts,
            in_a_part,
            words,
            word_count,
            left_out,
            threads,
            thread_count,
            thread_bytes,
            running,
            thread_local_bytes,
            walks,
            of_walks,
            page,
        ] = said.as_slice()
        else {
            return Err(format!(
                "expected fifteen numbers from the subject, found `{numbers}`"
            ));
        };
        let mut maps = Vec::new();
        let read = mappings.read_to_end(&mut maps);
        read.map_err(|error| format!("its mappings cannot be read: {error}"))?;
        let mut stopped = Stopped {
            memory,
            pages: File::open(format!("/proc/{process}/pagemap")).ok(),
            maps: Maps::parse(&maps),
            objects: Vec::new(),
            stacks: Vec::new(),
            table: objects,
            left_out,
            threads: Vec::new(),
            running,
            thread_local_bytes,
            page: page.clamp(1, 1 << 24),
            own: [
                walks..walks.saturating_add(of_walks),
                threads..threads.saturating_add(thread_count.saturating_mul(thread_bytes)),
            ],
        };
        let words = stopped.words(words, word_count.min(1 << 24))?;
        let table = stopped.table(objects, object_count.min(1 << 26), parts, in_a_part.max(1))?;
        stopped.add_objects(table, &words);
        let each = thread_bytes.min(1 << 12);
        let all = stopped.words(threads, thread_count.min(1 << 14) * (each / 8))?;
        let all = all.chunks_exact(usize::try_from(each / 8).unwrap_or(1).max(3));
        stopped.threads = all
            .map(|of_one| Thread {
                name: fs::read_to_string(format!("/proc/{process}/task/{}/comm", of_one[0]))
                    .map_or_else(|_| String::new(), |name| name.trim_end().to_owned()),
                stack_pointer: of_one[1],
                thread_pointer: of_one[2],
                registers: of_one[3..].to_vec(),
            })
            .collect();
        // Whoever has no thread pointer was met in the kernel: nobody knows its registers. A stack that
        // is not in a mapping is an emulator's own.
        let maps = &stopped.maps;
        let is_met = |thread: &&Thread| {
            let pointer = thread.stack_pointer;
            let mut mappings = maps.mappings.iter();
            thread.thread_pointer == 0
                && mappings.any(|one| (one.start..one.end).contains(&pointer))
        };
        stopped.running += stopped.threads.iter().filter(is_met).count() as u64;
        // A thread that nobody named has the program's name.
        let of_program = stopped.threads.first().map(|first| first.name.clone());
        for thread in stopped.threads.iter_mut().skip(1) {
            if Some(&thread.name) == of_program.as_ref() {
                thread.name.clear();
            }
        }
        Ok(stopped)
    }

    fn words(&self, address: u64, count: u64) -> Result<Vec<u64>, String> {
        let mut words = Vec::new();
        self.each_part(address, count * 8, |_, bytes| {
            let all = bytes.chunks_exact(8);
            words.extend(all.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())));
        });
        match words.len() as u64 == count {
            true => Ok(words),
            false => Err("its memory cannot be read".to_owned()),
        }
    }

    /// Reads the parts of the table that have had objects: their addresses, bytes and iterations, and
    /// the words at which their stacks begin.
    fn table(
        &self,
        address: u64,
        count: u64,
        parts: u64,
        in_a_part: u64,
    ) -> Result<Vec<[u64; 4]>, String> {
        let mut used = Vec::new();
        self.each_part(parts, count / in_a_part, |_, bytes| {
            used.extend_from_slice(bytes)
        });
        let bytes = in_a_part * OBJECT as u64;
        let (mut objects, mut read, mut wanted) = (Vec::new(), 0, 0);
        for (part, _) in (0..).zip(&used).filter(|(_, used)| **used != 0) {
            wanted += bytes;
            self.each_part(address + part * bytes, bytes, |_, bytes| {
                read += bytes.len() as u64;
                for object in bytes.chunks_exact(OBJECT) {
                    let word = |at: usize| {
                        let word = object.get(at..at + 8).and_then(|word| word.try_into().ok());
                        word.map_or(0, u64::from_ne_bytes)
                    };
                    if word(0) != 0 && word(8) != 0 {
                        // The stack's number is the first of two.
                        let stack = word(24).to_ne_bytes();
                        let stack = u32::from_ne_bytes([stack[0], stack[1], stack[2], stack[3]]);
                        objects.push([word(0), word(8), word(16), u64::from(stack)]);
                    }
                }
            });
        }
        match read == wanted && used.len() as u64 == count / in_a_part {
            true => Ok(objects),
            false => Err("its table of objects cannot be read".to_owned()),
        }
    }

    /// Adds objects, and their stacks.
    fn add_objects(&mut self, objects: Vec<[u64; 4]>, words: &[u64]) {
        let mut known: BTreeMap<u64, usize> = BTreeMap::new();
        for [address, bytes, iteration, begins] in objects {
            let stack = *known.entry(begins).or_insert_with(|| {
                let begins = usize::try_from(begins).unwrap_or(0);
                let count = words.get(begins).copied().filter(|_| begins > 0);
                let count = usize::try_from(count.unwrap_or(0))
                    .unwrap_or(0)
                    .min(1 << 10);
                let stack = words.get(begins + 1..begins + 1 + count);
                let stack = stack.unwrap_or_default().iter().copied().map(Avma);
                self.stacks.push(stack.collect());
                self.stacks.len() - 1
            });
            self.objects.push(Live {
                address,
                bytes,
                iteration,
                stack,
            });
        }
    }

    /// Reads memory part by part, as far as it is there.
    fn each_part(&self, address: u64, bytes: u64, mut part: impl FnMut(u64, &[u8])) {
        let mut buffer = vec![0; PART.min(usize::try_from(bytes).unwrap_or(PART))];
        let mut at = 0;
        while at < bytes {
            let most = usize::try_from(bytes - at).unwrap_or(PART).min(PART);
            match self.memory.read_at(&mut buffer[..most], address + at) {
                Ok(read @ 1..) => {
                    part(at, &buffer[..read]);
                    at += read as u64;
                }
                _ => return,
            }
        }
    }

    /// Reads all objects and roots. `groups` has the group of each object of the table, and `contents`
    /// says of a group what its objects have. So many iterations are done, and reading may take so long.
    ///
    /// # Errors
    ///
    /// If that is too much.
    pub(crate) fn scan(
        &self,
        groups: &[u32],
        contents: &dyn Fn(u32) -> Words,
        (done, time): (u64, Duration),
    ) -> Result<(Scan, RootNames), String> {
        let end = Instant::now() + time;
        let objects = self.objects.iter().zip(groups).map(|(live, group)| Object {
            address: live.address,
            bytes: live.bytes,
            group: *group,
            is_early: done > 1 && live.iteration == 0,
        });
        let mut scan = Scan::new(objects.collect());
        let sum: u64 = self.objects.iter().map(|live| live.bytes).sum();
        let mebibytes = |bytes: u64| bytes >> 20;
        if sum > MAX_BYTES {
            return Err(format!(
                "{} MiB are alive, and at most {} MiB are read",
                mebibytes(sum),
                mebibytes(MAX_BYTES)
            ));
        }
        let storage = |object: &Object| match contents(object.group) {
            Words::InUse(storage) => Some(storage),
            _ => None,
        };
        let containers = scan.objects().iter().enumerate();
        let containers = containers.filter_map(|(number, object)| Some((number, storage(object)?)));
        let mut containers: Vec<(usize, Storage)> = containers.collect();
        containers
            .iter()
            .for_each(|(number, _)| scan.watch(*number));
        let (names, found) = self.scan_roots(&mut scan, sum, (end, time))?;
        let of_state = found.iter().filter(|(root, _)| *root == Root::State);
        let of_state = of_state.filter_map(|(_, word)| scan.object_at(*word));
        let of_state: BTreeSet<usize> = of_state.collect();
        for (root, word) in found {
            scan.word(root, word);
        }
        for (number, object) in scan.objects().to_vec().iter().enumerate() {
            match contents(object.group) {
                Words::OfState if of_state.contains(&number) => {
                    let mut words = Vec::new();
                    self.each_part(object.address, object.bytes, |_, bytes| {
                        scan.each(bytes, |_, word| words.push(word));
                    });
                    for word in words {
                        scan.word(Root::State, word);
                    }
                }
                Words::InUse(_) => {}
                Words::Any | Words::OfState => self.read_whole(&mut scan, number),
                Words::NoReferences => {
                    let first = object.bytes.min(FIRST_WORDS);
                    self.each_part(object.address, first, |at, bytes| {
                        scan.first_words(number, at, bytes);
                    });
                }
            }
            if number % 1024 == 0 && Instant::now() > end {
                return Err(too_slow(time));
            }
        }
        // What points to a container may be in another one.
        let mut are_read = true;
        while are_read {
            if Instant::now() > end {
                return Err(too_slow(time));
            }
            let before = containers.len();
            containers.retain(|(number, storage)| !self.read_used(&mut scan, *number, *storage));
            are_read = containers.len() < before;
        }
        for (number, _) in containers {
            if Instant::now() > end {
                return Err(too_slow(time));
            }
            self.read_whole(&mut scan, number);
        }
        Ok((scan, names))
    }

    fn read_whole(&self, scan: &mut Scan, number: usize) {
        let object = scan.objects()[number];
        self.each_part(object.address, object.bytes, |at, bytes| {
            scan.object(number, at, bytes);
        });
    }

    /// Reads the parts of a container's storage that are in use. Returns whether something points to
    /// it that tells which these are.
    fn read_used(&self, scan: &mut Scan, number: usize, storage: Storage) -> bool {
        let object = scan.objects()[number];
        let references = scan.references_to(number);
        if references.is_empty() {
            return false;
        }
        // The words beside a root are not known.
        let is_pointer = |one: &&Reference| one.word == object.address;
        let mut pointers = references.iter().filter(is_pointer);
        if storage != Storage::Table && pointers.any(|one| one.from.is_none()) {
            self.read_whole(scan, number);
            return true;
        }
        let used = references.iter().filter_map(|one| {
            let around = self.around(scan, one);
            let read = |part: Range<u64>| {
                let mut read = Vec::new();
                let bytes = part.end - part.start;
                self.each_part(object.address + part.start, bytes, |_, bytes| {
                    read.extend_from_slice(bytes);
                });
                read
            };
            storage.used(object.bytes, one.word - object.address, around, read)
        });
        // An older copy of a pointer may have fewer elements.
        let size = |parts: &Vec<Range<u64>>| {
            let sizes = parts.iter().map(|part| part.end - part.start);
            sizes.sum::<u64>()
        };
        let Some(used) = used.max_by_key(size) else {
            return false;
        };
        let mut used = used.into_iter().peekable();
        self.each_part(object.address, object.bytes, |at, bytes| {
            let end = at + bytes.len() as u64;
            while let Some(part) = used.peek().filter(|part| part.start < end) {
                let (from, to) = (part.start.max(at), part.end.min(end));
                let place = |offset: u64| usize::try_from(offset - at).unwrap_or(0);
                scan.object(number, from, &bytes[place(from)..place(to)]);
                if part.end > end {
                    break;
                }
                used.next();
            }
        });
        true
    }

    /// Returns the word before a reference and the two after it, as far as its object has them.
    fn around(&self, scan: &Scan, reference: &Reference) -> [Option<u64>; 3] {
        let Some((from, at)) = reference.from else {
            return [None; 3];
        };
        let object = scan.objects()[from];
        [at.checked_sub(8), Some(at + 8), Some(at + 16)].map(|at| {
            let at = at.filter(|at| at + 8 <= object.bytes)?;
            self.words(object.address + at, 1).ok()?.first().copied()
        })
    }

    /// Returns the words of roots that are addresses in objects. So many bytes will be read of objects.
    fn scan_roots(
        &self,
        scan: &mut Scan,
        of_objects: u64,
        (end, time): (Instant, Duration),
    ) -> Result<(RootNames, Vec<(Root, u64)>), String> {
        let files = mapped_files(&self.maps);
        let mut variables: SmallMap<&str, Variables> = SmallMap::default();
        // Every word that is found, with the name of what it belongs to.
        let mut found: Vec<(Root, String, u64)> = Vec::new();
        let mut program = None;
        let mut last_file: Option<&Mapping> = None;
        let (mut are_all, mut mapped) = (true, 0_u64);
        for (mapping, file) in self.maps.mappings.iter().zip(&files) {
            if let Some(path) = mapping.file()
                && mapping.offset == 0
            {
                if variables.get(path).is_none() {
                    variables.insert(path, Variables::of(file));
                }
                program = program.or(Some(path));
            }
            let is_private = !mapping.permissions.shared;
            if mapping.file().is_some() && is_private {
                last_file = Some(mapping);
            }
            if !mapping.permissions.read || !mapping.permissions.write {
                continue;
            }
            // A file that others share has no addresses of this process.
            let is_memory =
                Counts::of(mapping) == Counts::Memory || mapping.path.starts_with("/memfd:");
            if !is_private && !is_memory {
                continue;
            }
            // `.bss` follows the file's last mapping.
            let is_bss =
                mapping.path.is_empty() && last_file.is_some_and(|last| last.end == mapping.start);
            let is_static = is_private && (mapping.file().is_some() || is_bss);
            if Instant::now() > end {
                return Err(too_slow(time));
            }
            let room = MAX_BYTES.saturating_sub(of_objects + scan.bytes());
            if is_static && mapping.end - mapping.start > room {
                return Err("there is too much memory to be searched".to_owned());
            }
            if is_static {
                let of = last_file.and_then(Mapping::file);
                self.statics(
                    scan,
                    mapping,
                    of.and_then(|path| variables.get(path)),
                    &mut found,
                );
            } else if self.has_thread(mapping) {
                let program = program.and_then(|path| variables.get(path));
                self.threads_in(scan, mapping, program, &mut found);
            } else if !self.has_objects(scan, mapping) {
                let room = room.min(MAX_MAPPED.saturating_sub(mapped));
                let read = self.mapped(scan, mapping, (room, end), &mut found);
                are_all &= read.is_some();
                mapped += read.unwrap_or(0);
            }
        }
        for thread in self.threads.iter().skip(1) {
            for register in &thread.registers {
                found.push((Root::Stack(0), thread.name.clone(), *register));
            }
        }
        let names: BTreeSet<String> = found.iter().map(|(_, name, _)| name.clone()).collect();
        let names: Vec<String> = names.into_iter().collect();
        let found = found.into_iter().map(|(root, name, word)| {
            let rank = names.binary_search(&name).unwrap_or(0);
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            let root = match root {
                Root::Static(_) => Root::Static(rank),
                Root::ThreadLocal(_) => Root::ThreadLocal(rank),
                Root::Stack(_) => Root::Stack(rank),
                Root::Unnamed(_) => Root::Unnamed(rank),
                other => other,
            };
            (root, word)
        });
        let found = found.collect();
        Ok((RootNames { names, are_all }, found))
    }

    /// Reads the statics in a mapping.
    fn statics(
        &self,
        scan: &mut Scan,
        mapping: &Mapping,
        variables: Option<&Variables>,
        found: &mut Vec<(Root, String, u64)>,
    ) {
        self.each_part(mapping.start, mapping.end - mapping.start, |at, bytes| {
            scan.each(bytes, |offset, word| {
                let address = mapping.start + at + offset;
                if self.own.iter().any(|own| own.contains(&address)) {
                    return;
                }
                let name = variables.and_then(|all| all.static_at(address));
                found.push((Root::Static(0), name.unwrap_or_default(), word));
            });
        });
    }

    /// Returns whether a thread has its stack or its thread-locals in a mapping.
    fn has_thread(&self, mapping: &Mapping) -> bool {
        let has = |address: u64| (mapping.start..mapping.end).contains(&address);
        let mut threads = self.threads.iter();
        threads.any(|thread| has(thread.stack_pointer) || has(thread.thread_pointer))
    }

    /// Returns whether the allocator has a mapping, as far as objects and the table tell.
    fn has_objects(&self, scan: &Scan, mapping: &Mapping) -> bool {
        let has = |address: u64| (mapping.start..mapping.end).contains(&address);
        let objects = scan.objects();
        let first = objects.partition_point(|object| object.address < mapping.start);
        has(self.table) || objects.get(first).is_some_and(|object| has(object.address))
    }

    /// Reads memory that may have been mapped by the program.
    ///
    /// It may also be the allocator's own, which has the address of every object. For an object, it
    /// has in the next word the bytes of its pages (`edata_t` of jemalloc's edata.h), and it maps such
    /// memory in blocks. A block that has some of these words is left out.
    ///
    /// Returns how many bytes were read. `None` if there is no room for all of it, or no time.
    fn mapped(
        &self,
        scan: &mut Scan,
        mapping: &Mapping,
        (room, end): (u64, Instant),
        found: &mut Vec<(Root, String, u64)>,
    ) -> Option<u64> {
        if mapping.end - mapping.start > MAX_RESERVED {
            return None;
        }
        let mut read = 0;
        let mut start = mapping.start;
        while start < mapping.end {
            let next = (start + 1).next_multiple_of(BLOCK).min(mapping.end);
            let mut words: Vec<(u64, u64)> = Vec::new();
            for pages in self.in_use(start..next) {
                read += pages.end - pages.start;
                if read > room || Instant::now() > end {
                    return None;
                }
                self.each_part(pages.start, pages.end - pages.start, |_, bytes| {
                    scan.each(bytes, |offset, value| {
                        let next = usize::try_from(offset + 8).unwrap_or(usize::MAX);
                        let next = bytes.get(next..).and_then(|bytes| bytes.first_chunk());
                        words.push((value, next.map_or(0, |next| u64::from_ne_bytes(*next))));
                    });
                });
            }
            let objects = scan.objects();
            let is_of_allocator = |(address, next): &&(u64, u64)| {
                let object = objects.binary_search_by_key(address, |object| object.address);
                object.is_ok_and(|number| {
                    let page = self.page;
                    let pages = objects[number].bytes.next_multiple_of(page);
                    // A page is left free behind it, and larger sizes are rounded up.
                    (pages + page..pages + pages / 4 + 5 * page).contains(&(next / page * page))
                })
            };
            if words.iter().filter(is_of_allocator).count() < FEW {
                let words = words.into_iter().map(|(value, _)| value);
                found.extend(words.map(|value| (Root::Mapped, String::new(), value)));
            }
            start = next;
        }
        Some(read)
    }

    /// Returns the pages of some memory that are in use, as ranges; all of it, if that is unknown.
    fn in_use(&self, memory: Range<u64>) -> Vec<Range<u64>> {
        let page = sys::page_size().max(1);
        let count = (memory.end - memory.start).div_ceil(page);
        let mut entries = vec![0; usize::try_from(count * 8).unwrap_or(0)];
        let read = self.pages.as_ref().map(|pages| {
            let read = pages.read_at(&mut entries, memory.start / page * 8);
            read.is_ok_and(|read| read == entries.len())
        });
        if read != Some(true) {
            return vec![memory];
        }
        let starts = (memory.start..memory.end).step_by(usize::try_from(page).unwrap_or(1));
        let pages = entries.as_chunks::<8>().0.iter().zip(starts);
        let pages = pages.filter(|(entry, _)| u64::from_ne_bytes(**entry) & IN_USE != 0);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (_, start) in pages {
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end += page,
                _ => ranges.push(start..start + page),
            }
        }
        ranges
    }

    /// Reads the stacks and the thread-locals of the threads that have theirs in a mapping.
    fn threads_in(
        &self,
        scan: &mut Scan,
        mapping: &Mapping,
        program: Option<&Variables>,
        found: &mut Vec<(Root, String, u64)>,
    ) {
        let has = |address: u64| (mapping.start..mapping.end).contains(&address);
        for (number, thread) in self.threads.iter().enumerate() {
            let locals = thread
                .thread_pointer
                .saturating_sub(self.thread_local_bytes);
            let locals = locals.max(mapping.start);
            // On Arm the thread-locals are above the thread pointer, and on x86 below.
            let above = match cfg!(target_arch = "aarch64") {
                true => self.thread_local_bytes,
                false => 0,
            };
            let end = thread.thread_pointer.saturating_add(CONTROL_BLOCK + above);
            let end = end.min(mapping.end);
            if has(thread.thread_pointer) {
                self.each_part(locals, end - locals, |at, bytes| {
                    scan.each(bytes, |offset, word| {
                        let address = locals + at + offset;
                        let distance = address.wrapping_sub(thread.thread_pointer).cast_signed();
                        let name = program.and_then(|all| all.thread_local_at(distance));
                        match name {
                            Some(name) if name.ends_with(ALLOCATORS) => {}
                            Some(name) => {
                                // What follows is the standard library's: `app::SEEN::{{constant}}::…`.
                                let end = name.find("::{").unwrap_or(name.len());
                                let name = name[..end].to_owned();
                                found.push((Root::ThreadLocal(0), name, word));
                            }
                            None => found.push((Root::Unnamed(0), thread.name.clone(), word)),
                        }
                    });
                });
            }
            if has(thread.stack_pointer) {
                let red_zone = if number == 0 { 0 } else { RED_ZONE };
                let start = thread.stack_pointer.saturating_sub(red_zone) & !7;
                let start = start.max(mapping.start);
                let end = match has(thread.thread_pointer) {
                    true => locals.max(start),
                    false => mapping.end,
                };
                let root = if number == 0 {
                    Root::State
                } else {
                    Root::Stack(0)
                };
                self.each_part(start, end - start, |_, bytes| {
                    scan.each(bytes, |_, word| {
                        found.push((root, thread.name.clone(), word))
                    });
                });
            }
        }
    }
}

fn too_slow(limit: Duration) -> String {
    let limit = duration(limit.as_secs_f64());
    format!("reading its memory takes more than {limit}: set `PLIMSOLL_HOLDERS` to a longer time")
}

impl RootNames {
    /// Returns the name of a root. `None` if it has none.
    pub(crate) fn name(&self, root: Root) -> Option<&str> {
        match root {
            Root::Static(rank) | Root::ThreadLocal(rank) | Root::Stack(rank) => {
                let name = self.names.get(usize::try_from(rank).ok()?)?;
                (!name.is_empty()).then_some(name)
            }
            Root::State | Root::Mapped | Root::Unnamed(_) => None,
        }
    }
}
