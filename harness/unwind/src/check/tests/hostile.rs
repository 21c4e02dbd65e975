//! Stacks that nobody's compiler made, or not for us: signals, generated code,
//! other stacks, wrong unwind information.

#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::ffi::{CString, c_int, c_void};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::cfi::tests::by_gimli::Random;
use crate::{machine, recent, refresh_loaded};

/// Walks in both ways from within `records`, and answers how ours ended, and after
/// how many frames.
#[track_caller]
fn walked(stack: &str, records: impl FnOnce(&mut Both)) -> (End, usize) {
    let mut answer = (End::Astray, 0);
    let outcome = compare(stack, |both| {
        records(both);
        answer = (both.end, both.ours.length);
    });
    assert_eq!(outcome, Ok(()));
    answer
}

/// With glibc's function and with the table.
fn however_modules_are_found(test: impl Fn()) {
    let _alone = ALONE.lock();
    for prepare in [modules::prepare_table, || modules::prepare(Files::Loaded)] {
        prepare();
        cache::clear();
        recent::forget();
        test();
    }
}

/// What code in C and in bytes calls back.
type CallBack = unsafe extern "C" fn(*mut c_void);

/// Calls what it is given a pointer to.
unsafe extern "C" fn call_it(then: *mut c_void) {
    // SAFETY: everything here gives it the pointer of `pointer_to`, which is to a
    // reference that nobody else uses meanwhile.
    let then = unsafe { &mut *then.cast::<&mut dyn FnMut()>() };
    then();
    black_box(());
}

fn pointer_to(then: &mut &mut dyn FnMut()) -> *mut c_void {
    ptr::from_mut(then).cast()
}

/// Memory of its own between two parts that nobody may touch.
struct Mapped {
    start: *mut u8,
    length: usize,
}

const PAGE: usize = 1 << 16;

impl Mapped {
    fn new(length: usize, protection: c_int) -> Mapped {
        let length = length.next_multiple_of(4_096);
        // SAFETY: mmap(2): new memory, at no address in particular; mprotect(2) of a
        // part of it.
        unsafe {
            let (none, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let all = libc::mmap(ptr::null_mut(), length + 2 * PAGE, none, kind, -1, 0);
            assert_ne!(all, libc::MAP_FAILED);
            let start = all.cast::<u8>().wrapping_add(PAGE);
            assert_eq!(libc::mprotect(start.cast(), length, protection), 0);
            Mapped { start, length }
        }
    }

    fn stack(length: usize) -> Mapped {
        Mapped::new(length, libc::PROT_READ | libc::PROT_WRITE)
    }

    #[cfg(target_arch = "x86_64")]
    fn code(bytes: &[u8]) -> Mapped {
        let code = Mapped::new(bytes.len(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: as long as that at least, and nobody else's; mprotect(2) of it.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), code.start, bytes.len());
            let executable = libc::PROT_READ | libc::PROT_EXEC;
            let protected = libc::mprotect(code.start.cast(), code.length, executable);
            assert_eq!(protected, 0);
        }
        code
    }

    fn top(&self) -> *mut u8 {
        self.start.wrapping_add(self.length)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: what `new` mapped, and nobody uses any longer.
        unsafe { libc::munmap(self.start.wrapping_sub(PAGE).cast(), self.length + 2 * PAGE) };
    }
}

// Signals.

static IN_HANDLER: AtomicUsize = AtomicUsize::new(0);
static WRONG_IN_HANDLER: AtomicUsize = AtomicUsize::new(0);
static TO_ROOT: AtomicUsize = AtomicUsize::new(0);
static STACK_OF_HANDLER: AtomicUsize = AtomicUsize::new(0);

extern "C" fn on_signal(_: c_int) {
    let here = 0_u8;
    STACK_OF_HANDLER.store(&raw const here as usize, Ordering::Relaxed);
    let mut end = End::Astray;
    let outcome = compare("in a handler", |both| {
        deeper(2, &mut || record(both));
        end = both.end;
    });
    // What was interrupted may be code of which nothing is known.
    TO_ROOT.fetch_add(usize::from(end == End::Root), Ordering::Relaxed);
    WRONG_IN_HANDLER.fetch_add(usize::from(outcome.is_err()), Ordering::Relaxed);
    IN_HANDLER.fetch_add(1, Ordering::Release);
}

/// Has `on_signal` called for a signal while something runs; answers how often it
/// was called, and in how many of them the walk came to the root.
fn with_handler(signal: c_int, flags: c_int, something: impl FnOnce()) -> (usize, usize) {
    for counter in [&IN_HANDLER, &WRONG_IN_HANDLER, &TO_ROOT] {
        counter.store(0, Ordering::Relaxed);
    }
    // SAFETY: sigaction(2) with filled structures; the handler touches atomics and its
    // own stack alone, as long as nothing differs.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = flags | libc::SA_RESTART;
        let mut old: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(signal, &raw const action, &raw mut old), 0);
        something();
        assert_eq!(libc::sigaction(signal, &raw const old, ptr::null_mut()), 0);
    }
    assert_eq!(WRONG_IN_HANDLER.load(Ordering::Relaxed), 0);
    let load = |counter: &AtomicUsize| counter.load(Ordering::Acquire);
    (load(&IN_HANDLER), load(&TO_ROOT))
}

fn raise(signal: c_int) {
    // SAFETY: raise(3) takes a number.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

#[test]
fn in_a_handler_on_a_stack_of_its_own() {
    however_modules_are_found(|| {
        let on_thread = || {
            let stack = Mapped::stack(64 << 10);
            let alternate = libc::stack_t {
                ss_sp: stack.start.cast(),
                ss_flags: 0,
                ss_size: stack.length,
            };
            // SAFETY: sigaltstack(2): zeros are a value of its structure; memory that
            // outlives the thread, and the one before is put back.
            unsafe {
                let mut old: libc::stack_t = std::mem::zeroed();
                assert_eq!(libc::sigaltstack(&raw const alternate, &raw mut old), 0);
                deeper(3, &mut || raise(libc::SIGUSR1));
                let there = STACK_OF_HANDLER.load(Ordering::Relaxed);
                assert!((stack.start as usize..stack.top() as usize).contains(&there));
                assert_eq!(libc::sigaltstack(&raw const old, ptr::null_mut()), 0);
            }
        };
        let signals = with_handler(libc::SIGUSR1, libc::SA_ONSTACK, || {
            std::thread::scope(|scope| scope.spawn(on_thread).join().unwrap());
        });
        assert_eq!(signals, (1, 1));
    });
}

/// At whichever instruction, of walks as well.
#[test]
fn where_a_signal_interrupts() {
    const SIGNALS: usize = 500;
    however_modules_are_found(|| {
        let (is_done, walks) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (tell, told) = std::sync::mpsc::channel();
        let busy = || {
            // SAFETY: pthread_self(3) takes nothing.
            tell.send(unsafe { libc::pthread_self() }).unwrap();
            while !is_done.load(Ordering::Relaxed) {
                let depth = walks.fetch_add(1, Ordering::Relaxed) % 7;
                let mut both = || {
                    let outcome = compare("between signals", |both| {
                        deeper(depth, &mut || record(both));
                    });
                    assert_eq!(outcome, Ok(()));
                };
                match depth % 3 {
                    0 => through_c(&mut both),
                    _ => both(),
                }
                if depth == 5 {
                    cache::clear();
                }
            }
        };
        let signals = with_handler(libc::SIGUSR2, 0, || {
            std::thread::scope(|scope| {
                let thread = scope.spawn(busy);
                let id = told.recv().unwrap();
                for _ in 0..SIGNALS {
                    let before = IN_HANDLER.load(Ordering::Acquire);
                    // SAFETY: pthread_kill(3): a thread that was not joined.
                    assert_eq!(unsafe { libc::pthread_kill(id, libc::SIGUSR2) }, 0);
                    while IN_HANDLER.load(Ordering::Acquire) == before && !thread.is_finished() {
                        std::thread::yield_now();
                    }
                }
                is_done.store(true, Ordering::Relaxed);
                thread.join().unwrap();
            });
        });
        assert_eq!(signals.0, SIGNALS);
        assert!(signals.1 > 0);
        assert!(walks.into_inner() > 0);
    });
}

// Depth, threads, libraries.

#[test]
fn of_more_frames_than_there_is_room_for_the_first() {
    however_modules_are_found(|| {
        for _ in 0..3 {
            let mut both = nothing();
            deeper(300, &mut || record(&mut both));
            assert_eq!(both.end, End::Full);
            assert_eq!(both.ours.length, MOST_FRAMES);
            assert_eq!(both.ours.frames[..MOST_FRAMES - 1], both.libgcc.frames[1..]);
        }
        // And less after that.
        walked("after a deep one", record);
    });
}

/// One walk goes on from another that had room for more, or for less.
#[test]
fn into_any_room() {
    #[inline(never)]
    fn into(frames: &mut [*mut c_void]) -> (usize, End) {
        walk(&crate::capture!(), frames)
    }
    however_modules_are_found(|| {
        for round in 0..600 {
            let (depth, room) = (round * 7 % 45, round * 31 % (MOST_FRAMES + 1));
            deeper(depth, &mut || {
                let mut both = nothing();
                record(&mut both);
                let mut frames = [ptr::null_mut(); MOST_FRAMES];
                let (walked, end) = into(&mut frames[..room]);
                let all = both.ours.frames();
                // All but the leaf's, where the two are called from.
                let is_whole = room >= all.len();
                assert_eq!(walked, room.min(all.len()), "{round}");
                assert_eq!(frames[1.min(walked)..walked], all[1.min(walked)..walked]);
                assert_eq!(end == End::Full, !is_whole, "{round}");
            });
        }
    });
}

fn nothing() -> Both {
    Both {
        ours: RecordedStack::nothing(),
        libgcc: RecordedStack::nothing(),
        end: End::Root,
    }
}

#[test]
fn of_any_number_of_threads() {
    const WALKS: usize = 400;
    however_modules_are_found(|| {
        let walking = AtomicUsize::new(8);
        std::thread::scope(|scope| {
            for seed in 0..8_usize {
                let walking = &walking;
                scope.spawn(move || {
                    for walk in 0..WALKS {
                        let depth = (walk * 7 + seed * 13) % 60;
                        walked("of many threads", |both| {
                            deeper(depth, &mut || match depth % 3 {
                                0 => record(both),
                                _ => through_c(&mut || deeper(seed, &mut || record(both))),
                            });
                        });
                    }
                    walking.fetch_sub(1, Ordering::Relaxed);
                });
            }
            while walking.load(Ordering::Relaxed) > 0 {
                let library = library::load().expect("a shared library");
                refresh_loaded();
                walked("through a library", |both| {
                    library.call(&mut || record(both));
                });
                drop(library);
                refresh_loaded();
            }
        });
    });
}

#[test]
fn through_a_library_that_is_loaded_later() {
    let _alone = ALONE.lock();
    modules::prepare(Files::Loaded);
    cache::clear();
    let deep = |library: &library::Library, both: &mut Both| {
        library.call(&mut || deeper(2, &mut || record(both)));
    };
    // glibc knows it at once.
    let library = library::load().expect("a shared library");
    walked("through a new library", |both| deep(&library, both));
    drop(library);
    // The table does not, and says that something is missing.
    modules::prepare_table();
    cache::clear();
    let library = library::load().expect("a shared library");
    let mut both = nothing();
    deep(&library, &mut both);
    assert_eq!(both.end, End::NoInformation);
    assert!(modules::has_missed());
    refresh_loaded();
    assert!(!modules::has_missed());
    let (end, _) = walked("through a library", |both| deep(&library, both));
    assert_eq!(end, End::Root);
    modules::prepare(Files::Loaded);
}

/// A library that may be unloaded is never looked at, whether it was loaded before or after.
#[test]
fn through_a_library_that_the_program_is_not_linked_to() {
    let _alone = ALONE.lock();
    let before = library::load().expect("a shared library");
    modules::prepare(Files::Linked);
    cache::clear();
    recent::forget();
    let after = library::load().expect("a shared library");
    for library in [before, after] {
        let mut both = nothing();
        library.call(&mut || deeper(2, &mut || record(&mut both)));
        // Three of `deeper`, one that the library calls, and one in the library.
        assert_eq!((both.end, both.ours.length > 4), (End::NoInformation, true));
        let ours = both.ours.frames();
        assert!(both.libgcc.frames()[1..].starts_with(ours));
    }
    modules::prepare(Files::Loaded);
    cache::clear();
}

/// Where the code of the library is, other code may have been, of which nothing was
/// known.
#[test]
fn what_was_known_of_addresses_is_forgotten_when_a_library_comes() {
    however_modules_are_found(|| {
        modules::refresh(false);
        assert!(!modules::refresh(false));
        let library = library::load().expect("a shared library");
        assert!(modules::refresh(false));
        drop(library);
        assert!(modules::refresh(false));
    });
}

// Through C.

/// A library in C, with functions that call back in every way there is.
const C: &str = include_str!("hostile/calls.c");

/// The names of the functions.
fn in_c() -> impl Iterator<Item = &'static str> {
    let exported = C.lines().filter_map(|line| line.strip_prefix("EXPORT "));
    exported.filter_map(|line| line.split([' ', '(']).nth(1))
}

type InC = unsafe extern "C" fn(CallBack, *mut c_void);

/// A library that a compiler made, loaded, and gone afterwards.
struct Compiled {
    handle: NonNull<c_void>,
    file: PathBuf,
}

impl Compiled {
    fn new(name: &str, options: &[&str]) -> Compiled {
        Self::load(Self::file(name, options))
    }

    fn file(name: &str, options: &[&str]) -> PathBuf {
        const SOURCE: &str = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/check/tests/hostile/calls.c"
        );
        let name = format!("plimsoll-unwinder-{}-{name}", std::process::id());
        let library = std::env::temp_dir().join(name);
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let output = Command::new(compiler)
            .args(["-shared", "-fPIC", "-g0", "-o"])
            .args([&library, Path::new(SOURCE)])
            .args(options)
            .output()
            .expect("a C compiler");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        library
    }

    fn load(file: PathBuf) -> Compiled {
        let name = CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: a name that ends in a zero, of a library that runs nothing when it
        // is loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).expect("a shared library");
        Compiled { handle, file }
    }

    fn function(&self, name: &str) -> InC {
        let name = CString::new(name).unwrap();
        // SAFETY: an open handle, and a name that ends in a zero.
        let function = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        assert!(!function.is_null(), "{name:?}");
        // SAFETY: all functions of the library take these two arguments first; the
        // others of `busy` are numbers, and any will do.
        unsafe { std::mem::transmute::<*mut c_void, InC>(function) }
    }

    fn call(&self, name: &str, mut then: &mut dyn FnMut()) {
        // SAFETY: a function of the library, which calls `call_it` with that pointer.
        unsafe { self.function(name)(call_it, pointer_to(&mut then)) };
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: what dlopen(3) answered, and closed once.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
        let _ = std::fs::remove_file(&self.file);
    }
}

/// As Debian and Fedora compile C: jumps may only go where one is expected and, on AArch64,
/// return addresses are signed. There with the other key as well, and in functions that call
/// none.
#[cfg(target_arch = "x86_64")]
const PROTECTED: &[&str] = &["-O2 -fcf-protection=full"];
#[cfg(target_arch = "aarch64")]
const PROTECTED: &[&str] = &[
    "-O0 -mbranch-protection=standard",
    "-O2 -mbranch-protection=standard",
    "-O2 -mbranch-protection=pac-ret+leaf+b-key",
];

#[test]
fn through_c_however_it_is_compiled() {
    let options = [
        "-O0 -fno-omit-frame-pointer",
        "-O2 -fomit-frame-pointer",
        "-O2 -fno-omit-frame-pointer",
        "-O1 -fstack-protector-all",
        "-Os -fomit-frame-pointer",
    ];
    let options = options.iter().chain(PROTECTED);
    let options = options.map(|options| options.split_once(' ').unwrap());
    let libraries: Vec<Compiled> = options
        .map(|(level, option)| Compiled::new(&format!("{level}{option}"), &[level, option]))
        .collect();
    however_modules_are_found(|| {
        for library in &libraries {
            for outer in in_c() {
                for inner in in_c() {
                    // Twice: the second goes on from the first.
                    for _ in 0..2 {
                        let (end, _) = walked(&format!("through {outer}, {inner}"), |both| {
                            library.call(outer, &mut || {
                                library.call(inner, &mut || deeper(1, &mut || record(both)));
                            });
                        });
                        assert_eq!(end, End::Root, "{outer}, {inner}");
                    }
                }
            }
        }
    });
}

/// How a walk ends from within each function.
#[track_caller]
fn all_end(library: &Compiled, expected: End) {
    however_modules_are_found(|| {
        for name in in_c() {
            let (end, _) = walked(name, |both| library.call(name, &mut || record(both)));
            assert_eq!(end, expected, "{name}");
        }
    });
}

#[test]
fn c_without_unwind_information_ends_a_walk() {
    let options = "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions";
    let options: Vec<&str> = options.split(' ').collect();
    all_end(&Compiled::new("without", &options), End::NoInformation);
}

/// As tools leave it that edit libraries, and need more headers than there is room
/// for.
#[test]
fn with_its_headers_at_the_end_of_the_file() {
    fn number<const SIZE: usize>(file: &[u8], at: usize) -> usize {
        let mut number = [0; 8];
        number[..SIZE].copy_from_slice(&file[at..at + SIZE]);
        usize::from_le_bytes(number)
    }
    let file = Compiled::file("edited", &["-O2"]);
    let mut bytes = std::fs::read(&file).unwrap();
    let (start, length) = (64, 56 * number::<2>(&bytes, 56));
    bytes.resize(bytes.len().next_multiple_of(4_096), 0);
    let end = bytes.len() as u64;
    let mut headers = bytes[start..start + length].to_vec();
    for header in headers.chunks_mut(56) {
        // What says where the headers are loaded is no longer true.
        if header.starts_with(&libc::PT_PHDR.to_le_bytes()) {
            header[..4].fill(0);
        }
    }
    bytes[start..start + length].fill(0);
    bytes.extend(headers);
    bytes[32..40].copy_from_slice(&end.to_le_bytes());
    std::fs::write(&file, bytes).unwrap();
    all_end(&Compiled::load(file), End::Root);
}

/// In the table it still is, until somebody looks.
#[test]
fn generated_code_where_a_library_was() {
    let _alone = ALONE.lock();
    modules::prepare_table();
    // SAFETY: mmap(2) where nothing is any longer, or else it fails.
    let map = |place: usize| unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        libc::mmap(place as *mut c_void, 4_096, protection, kind, -1, 0)
    };
    // A thread of another test may take the place first, for its stack.
    let code = (0..100)
        .find_map(|_| {
            let library = Compiled::new("gone", &["-O2"]);
            modules::refresh(true);
            let place = (library.function("plain") as usize) & !4_095;
            drop(library);
            Some(map(place)).filter(|&code| code as usize == place)
        })
        .expect("the place of a library that is gone");
    cache::clear();
    let mut frames = [ptr::null_mut(); 4];
    let captured = machine::Captured {
        pc: code as u64 + 16,
        stack_pointer: &raw const frames as u64,
        ..machine::Captured::default()
    };
    assert_eq!(walk(&captured, &mut frames), (0, End::NoInformation));
    // SAFETY: mapped above, and used by nothing else.
    unsafe { libc::munmap(code, 4_096) };
    modules::prepare(Files::Loaded);
}

// What the hook may not do.

/// As a hook does; answers how many frames there are, and how the walk ended.
#[inline(never)]
fn by_hook(frames: &mut [*mut c_void; MOST_FRAMES]) -> (usize, End) {
    walk(&crate::capture!(), frames)
}

#[test]
fn a_walk_allocates_nothing_and_leaves_errno_alone() {
    let library = Compiled::new("errno", &["-O0"]);
    let allocated = || {
        // SAFETY: jemalloc(3) lists `thread.allocated` as readable, of type uint64_t.
        unsafe { tikv_jemalloc_ctl::raw::read::<u64>(b"thread.allocated\0") }.unwrap()
    };
    // SAFETY: errno(3): the calling thread's own number.
    let errno = || unsafe { &mut *libc::__errno_location() };
    however_modules_are_found(|| {
        let mut frames = [ptr::null_mut(); MOST_FRAMES];
        library.call("aligned_dynamic", &mut || {
            let before = allocated();
            drop(black_box(Vec::<u64>::with_capacity(100)));
            assert!(allocated() > before, "this is not jemalloc");
            let before = allocated();
            for _ in 0..200 {
                *errno() = 77;
                cache::clear();
                let (walked, end) = by_hook(&mut frames);
                assert!(walked > 4, "{walked} frames, {end:?}");
                assert_eq!(*errno(), 77);
            }
            assert_eq!(allocated(), before);
        });
    });
}

/// Words of every kind where a stack should be, and registers that are none: a walk
/// ends, whatever it finds, and the process does not.
#[test]
fn over_garbage() {
    let mut real = nothing();
    through_c(&mut || record(&mut real));
    // Code of this program and of the C library, at any instruction, and in between.
    let frames = real.ours.frames().iter().map(|place| *place as u64);
    let of_libc = [libc::qsort as *const (), libc::printf as *const ()];
    let code: Vec<u64> = frames.chain(of_libc.map(|place| place as u64)).collect();
    let stack = Mapped::stack(16 << 10);
    let (start, top) = (stack.start as u64, stack.top() as u64);
    let word = |random: &mut Random| {
        let (some_code, more) = (code[random.below(code.len())], random.next());
        match random.below(48) {
            0..=40 => some_code,
            41 => some_code
                .wrapping_add(more % 0x2_0000)
                .wrapping_sub(0x1_0000),
            42 => start + more % (top - start) / 8 * 8,
            43 => top - 64 + more % 128,
            44 => start.wrapping_add(more % 0x4_0000),
            45 => more % 64,
            _ => more,
        }
    };
    however_modules_are_found(|| {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let (mut ends, mut deepest) = ([0_usize; 4], 0);
        let mut frames = [ptr::null_mut(); MOST_FRAMES];
        for _ in 0..4_000 {
            let words = stack.length / 8;
            for _ in 0..64 {
                let at = random.below(words);
                // SAFETY: a word of the stack, which nobody is on.
                unsafe { stack.start.cast::<u64>().add(at).write(word(&mut random)) };
            }
            let mut captured = machine::Captured {
                pc: word(&mut random),
                stack_pointer: match random.below(4) {
                    0 => word(&mut random),
                    _ => start + random.next() % (top - start) / 8 * 8,
                },
                frame_pointer: word(&mut random),
                ..machine::Captured::default()
            };
            for register in &mut captured.preserved {
                *register = word(&mut random);
            }
            let (walked, end) = walk(&captured, &mut frames);
            deepest = deepest.max(walked);
            ends[end as usize] += 1;
        }
        let is_hit = |end: End| ends[end as usize] > 0;
        let is_each_hit = is_hit(End::NoInformation) && is_hit(End::Astray);
        assert!(is_each_hit, "{ends:?}");
        assert!(deepest > 2, "{deepest}");
    });
}

/// The smallest that there may be. What each thread has of its own is on its stack
/// too, and where that is too much, there is no thread.
#[test]
fn threads_may_have_small_stacks() {
    extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
        ptr::null_mut()
    }
    // SAFETY: pthread_create(3) with attributes that were made for it, and a function
    // that does nothing; zeros are a value of both types.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
        let size = libc::PTHREAD_STACK_MIN;
        let sized = libc::pthread_attr_setstacksize(&raw mut attributes, size);
        assert_eq!(sized, 0);
        let mut thread = std::mem::zeroed();
        let (attributes, to) = (&raw mut attributes, ptr::null_mut());
        let started = libc::pthread_create(&raw mut thread, attributes, nothing, to);
        assert_eq!(started, 0, "pthread_create(3)");
        assert_eq!(libc::pthread_join(thread, ptr::null_mut()), 0);
        assert_eq!(libc::pthread_attr_destroy(attributes), 0);
    }
}
