//! What the tests look at: programs with births, each in a process of its own.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::hint::black_box;
use std::time::Duration;

use plimsoll_ages::{install, testing};
use tikv_jemalloc_ctl::raw;

const HOUR: Duration = Duration::from_secs(3_600);

/// Runs a program by its name. `folder` is for dumps.
pub(crate) fn run(name: &str, folder: &str) {
    match name {
        "install" => installs(),
        "births" => births(folder),
        "stacks" => stacks(),
        "deep" => deep(folder),
        "measured" => measured(folder),
        name => panic!("no program `{name}`"),
    }
}

/// Installs on many threads at once, and says what came of it.
fn installs() {
    let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(install)).collect();
    let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
    let first: Vec<_> = outcomes
        .filter(|outcome| *outcome != plimsoll_ages::Outcome::AlreadyInstalled)
        .collect();
    println!("{}\n{}", first[0], install());
    assert!(!first[0].is_installed() || first.len() == 1, "{first:?}");
}

/// The objects of each birth. Each is 32 times as large as the largest sample interval, so the
/// profiler samples it. It takes no memory, because it is never written to.
pub(crate) const OBJECTS: usize = 20;
const OBJECT: usize = 32 << 19;

/// Keeps objects that were allocated before the installation, and one and ten hours after.
fn births(folder: &str) {
    let mut kept = [const { None }; 3];
    kept[0] = Some(keep());
    println!("{}", install());
    testing::advance_clock(HOUR);
    kept[1] = Some(keep());
    testing::advance_clock(9 * HOUR);
    kept[2] = Some(keep());
    dump(folder, "births.heap");
    black_box(&kept);
}

#[inline(never)]
fn keep() -> [Vec<u8>; OBJECTS] {
    std::array::from_fn(|_| black_box(vec![0; OBJECT]))
}

/// `prof_backtrace_hook_t` of jemalloc's prof_hook.h.
type Hook = unsafe extern "C" fn(*mut *mut c_void, *mut c_uint, c_uint);

const HOOK: &CStr = c"experimental.hooks.prof_backtrace";

/// Walks stacks with the hook that was there and with that of `install`, and says who has walked
/// for the latter.
fn stacks() {
    let before: Hook = get(HOOK);
    println!("{}", install());
    let hooks = Hooks(before, get(HOOK));
    call(1, &mut || record("1 call", hooks));
    call(200, &mut || record("200 calls", hooks));
    let on_a_thread = move || call(2, &mut || record("on a thread", hooks));
    std::thread::spawn(on_a_thread).join().unwrap();
    for name in [
        "through a library that was loaded later",
        "through another one in its place",
    ] {
        // At the end of the loop it is unloaded.
        let library = plimsoll_unwind::testing::load().expect("a shared library");
        library.call(&mut || call(2, &mut || record(name, hooks)));
    }
}

/// The hook that was there, and that of `install`.
#[derive(Clone, Copy)]
struct Hooks(Hook, Hook);

#[inline(never)]
fn call(calls: usize, walk: &mut dyn FnMut()) {
    match calls {
        0 => walk(),
        _ => call(calls - 1, walk),
    }
    black_box(());
}

/// As in jemalloc.
const LIMIT: c_uint = 128;

/// Calls both hooks on this stack.
#[inline(never)]
fn record(name: &str, Hooks(before, ours): Hooks) {
    // SAFETY: jemalloc(3): the number of bytes that this thread has allocated so far.
    let allocated = || unsafe { *get::<*const u64>(c"thread.allocatedp") };
    let mut stacks = [[0_usize; LIMIT as usize]; 2];
    // From one place, so that both find the same return addresses.
    for (frames, hook) in stacks.iter_mut().zip(black_box(&[before, ours][..])) {
        let bytes = allocated();
        let mut length = 0;
        // SAFETY: prof_hook.h: an array, its length, which is 0 before, and its capacity.
        unsafe { hook(frames.as_mut_ptr().cast(), &raw mut length, LIMIT) };
        assert_eq!(allocated(), bytes, "{name}: the hook has allocated");
    }
    let bytes = allocated();
    let [theirs, ours] =
        stacks.map(|frames| Vec::from_iter(frames.into_iter().take_while(|frame| *frame != 0)));
    assert!(allocated() > bytes, "{name}: allocations are not counted");
    let (birth, ours) = ours.split_last().unwrap();
    let is_birth = birth % 1_024 >= 16 && !theirs.contains(birth);
    assert!(is_birth, "{name}: {birth:#x} is no birth");
    // libgcc begins with the hook that it is called from. A full stack has lost a frame.
    let is = |theirs: &[usize]| theirs.starts_with(ours) && ours.len() + 1 >= theirs.len();
    let by = match (is(&theirs[1..]), is(&theirs)) {
        (true, false) => "plimsoll",
        (false, true) => "libgcc",
        _ => panic!("{name}: {ours:x?} of {theirs:x?}"),
    };
    println!("{name}: {by}");
}

/// The word that the harness of `plimsoll` writes behind the root.
pub(crate) const GENERATION: usize = 0x1017;

/// Installs over the hook of the harness.
fn measured(folder: &str) {
    unsafe extern "C" fn hook(frames: *mut *mut c_void, length: *mut c_uint, _: c_uint) {
        // SAFETY: prof_hook.h: `frames` is an array with room for more than two words.
        unsafe { *frames = keep as *const () as *mut c_void };
        // SAFETY: as above.
        unsafe { *frames.add(1) = GENERATION as *mut c_void };
        // SAFETY: prof_hook.h: `length` is the number of words.
        unsafe { *length = 2 };
    }
    let hook: Hook = hook;
    set(HOOK, hook);
    println!("{}", install());
    let kept = keep();
    dump(folder, "measured.heap");
    black_box(&kept);
}

/// The calls of [`descend`]; more than a stack keeps.
const DEPTH: usize = 200;

fn deep(folder: &str) {
    println!("{}", install());
    testing::advance_clock(HOUR);
    let kept = descend(DEPTH);
    dump(folder, "deep.heap");
    black_box(&kept);
}

#[inline(never)]
fn descend(calls: usize) -> [Vec<u8>; OBJECTS] {
    if calls == 0 {
        return keep();
    }
    // After the call, which otherwise could become a jump.
    black_box(descend(calls - 1))
}

fn dump(folder: &str, name: &str) {
    let path = CString::new(format!("{folder}/{name}")).unwrap();
    set(c"prof.dump", path.as_ptr());
}

/// Writes a value of jemalloc(3); that of `prof.dump` is a string, that of the hook a function.
fn set<T>(name: &CStr, value: T) {
    // SAFETY: jemalloc copies a value of this type, which lives across the call.
    unsafe { raw::write(name.to_bytes_with_nul(), value) }.unwrap();
}

/// Reads a value of jemalloc(3), which must have this type.
fn get<T: Copy>(name: &CStr) -> T {
    // SAFETY: jemalloc(3) lists this name as readable, with this type.
    unsafe { raw::read(name.to_bytes_with_nul()) }.unwrap()
}
