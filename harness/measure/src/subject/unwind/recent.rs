//! The last walk of each thread.
//!
//! Two allocations in a row mostly come from stacks that differ near their leaves
//! alone. Where a walk comes to a frame that the last one came to, with the same
//! registers, the rest is the same if the same words of memory still hold the same
//! return addresses and frame pointers: reading them again takes an eighth of the
//! time, since nobody waits for one address to find the next.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::machine::{self, Frame};
use super::memory;

/// Frames of a walk: jemalloc's greatest `prof_bt_max`.
const MOST: usize = 128;

/// A frame, and where its registers were saved by the frame that it called.
#[derive(Clone, Copy)]
pub(super) struct Saved {
    pub(super) pc: u64,
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    pub(super) pc_at: u64,
    /// Zero where the frame pointer was not saved.
    pub(super) frame_pointer_at: u64,
}

impl Saved {
    const NOTHING: Saved = Saved {
        pc: 0,
        stack_pointer: 0,
        frame_pointer: 0,
        pc_at: 0,
        frame_pointer_at: 0,
    };

    fn of(frame: &Frame) -> Saved {
        Saved {
            pc: frame.pc,
            stack_pointer: frame.stack_pointer,
            frame_pointer: frame.frame_pointer,
            pc_at: frame.pc_at,
            frame_pointer_at: frame.frame_pointer_at,
        }
    }

    fn frame(&self) -> Frame {
        Frame {
            pc_at: self.pc_at,
            frame_pointer_at: self.frame_pointer_at,
            ..Frame::caller(self.pc, self.stack_pointer, self.frame_pointer)
        }
    }

    /// Whether the frame that it called, of which that is known to be as it was,
    /// still has it as its caller.
    #[inline(always)]
    fn still_holds(&self) -> bool {
        // SAFETY: a frame is noted only with addresses that were read, near its
        // callee's stack pointer; and the callee, which is as it was, would have
        // them read anew.
        let pc = machine::without_signature(unsafe { memory::read_again(self.pc_at) });
        if pc != self.pc {
            return false;
        }
        self.frame_pointer_at == 0
            // SAFETY: the same.
            || unsafe { memory::read_again(self.frame_pointer_at) } == self.frame_pointer
    }
}

/// What a thread keeps of its last walk, and works on during the next.
struct Recent {
    /// Whoever sets this has the rest: a thread, or a signal's handler that comes in
    /// the middle of a walk and does not.
    is_in_use: AtomicBool,
    contents: UnsafeCell<Contents>,
}

struct Contents {
    /// The number of the thread whose walk it is.
    thread: usize,
    /// The [`GENERATION`] that it is of.
    generation: usize,
    /// The last walk is `last[start..]`, leaf first.
    start: usize,
    last: [Saved; MOST],
    fresh: [Saved; MOST],
}

// SAFETY: the contents are those of whoever has set `is_in_use`.
unsafe impl Sync for Recent {}

/// Threads that walk at once and have their last walk each. Where there are more,
/// some of them share, and begin anew each time.
///
/// Not a thread's own: that is part of its stack (pthread_create(3) refuses a small
/// one with EINVAL), and these are ten kilobytes. A page is memory once it is written
/// to.
const THREADS: usize = 64;

static RECENT: [Recent; THREADS] = [const {
    Recent {
        is_in_use: AtomicBool::new(false),
        contents: UnsafeCell::new(Contents {
            thread: 0,
            generation: 0,
            start: 0,
            last: [Saved::NOTHING; MOST],
            fresh: [Saved::NOTHING; MOST],
        }),
    }
}; THREADS];

/// Threads that have walked.
static LAST_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // Neither made when it is first used nor dropped: a plain address.
    /// This thread's number; zero before its first walk.
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

fn this_thread() -> usize {
    THREAD.with(|thread| {
        if thread.get() == 0 {
            // A handler that comes in between takes a number that is then lost.
            thread.set(LAST_THREAD.fetch_add(1, Ordering::Relaxed) + 1);
        }
        thread.get()
    })
}

static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Has every thread forget its last walk.
pub(super) fn forget() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// One walk, with the last one of the thread at hand.
pub(super) struct Walk<'a> {
    contents: &'a mut Contents,
    /// Where in `last` the frame that comes next may be.
    next: usize,
    walked: usize,
    /// Whether the last walk was met: then frames from `next` on are of this one too.
    is_joined: bool,
    /// Whether frames are still noted: not behind one that cannot be read again, nor
    /// behind the root of the last walk.
    is_open: bool,
}

impl Walk<'_> {
    /// Does something with this thread's walk; none where there is one already.
    #[inline]
    pub(super) fn with<T>(then: impl FnOnce(&mut Walk<'_>) -> T) -> Option<T> {
        let thread = this_thread();
        let recent = &RECENT[thread % THREADS];
        if recent.is_in_use.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: `is_in_use` was not set, and is now: until it is unset below, nobody
        // else gets here, and nothing here unwinds a panic.
        let contents = unsafe { &mut *recent.contents.get() };
        let generation = GENERATION.load(Ordering::Relaxed);
        if (contents.thread, contents.generation) != (thread, generation) {
            (contents.thread, contents.generation) = (thread, generation);
            contents.start = MOST;
        }
        let mut walk = Walk {
            next: contents.start,
            contents,
            walked: 0,
            is_joined: false,
            is_open: true,
        };
        let answer = then(&mut walk);
        walk.keep();
        recent.is_in_use.store(false, Ordering::Release);
        Some(answer)
    }

    /// Notes a frame, and says whether the last walk came to it as well.
    pub(super) fn note(&mut self, frame: &Frame) -> bool {
        // Without an address to look at, nothing can be held against it later.
        self.is_open &= frame.pc_at != 0;
        self.note_plain(&Saved::of(frame))
    }

    /// The same of a frame whose registers can be read again. As plain as
    /// [`advance`](super::quick::advance), for the same reason.
    #[inline(always)]
    pub(super) fn note_plain(&mut self, saved: &Saved) -> bool {
        if !self.is_open || self.walked >= MOST {
            return false;
        }
        // Word by word: in a test build the whole is a call.
        let fresh = &mut self.contents.fresh[self.walked];
        fresh.pc = saved.pc;
        fresh.stack_pointer = saved.stack_pointer;
        fresh.frame_pointer = saved.frame_pointer;
        fresh.pc_at = saved.pc_at;
        fresh.frame_pointer_at = saved.frame_pointer_at;
        self.walked += 1;
        if self.is_joined {
            return false;
        }
        // Towards the root stack pointers grow; on another stack nothing is found.
        let mut next = self.next;
        while next < MOST && self.contents.last[next].stack_pointer < saved.stack_pointer {
            next += 1;
        }
        self.next = next;
        if next >= MOST {
            return false;
        }
        let last = &self.contents.last[next];
        last.stack_pointer == saved.stack_pointer
            && last.pc == saved.pc
            && last.frame_pointer == saved.frame_pointer
    }

    /// Writes those frames behind the one that was met which still hold; answers the
    /// outermost of them, with their number, if there is one.
    pub(super) fn join(&mut self, frames: &mut [*mut c_void]) -> Option<(usize, Frame)> {
        self.is_joined = true;
        let same = self.next + 1;
        let mut end = same;
        while end < MOST && end - same < frames.len() {
            let saved = &self.contents.last[end];
            if !saved.still_holds() {
                break;
            }
            frames[end - same] = saved.pc as *mut c_void;
            end += 1;
        }
        let outermost = self.contents.last[end - 1].frame();
        if end < MOST {
            // Not all of it: what does hold is as if it had been walked anew.
            for saved in &self.contents.last[same..end] {
                let Some(fresh) = self.contents.fresh.get_mut(self.walked) else {
                    self.is_open = false;
                    break;
                };
                *fresh = *saved;
                self.walked += 1;
            }
            self.next = MOST;
        } else {
            self.is_open = false;
            self.next = same;
        }
        (end > same).then_some((end - same, outermost))
    }

    /// Keeps nothing of this walk, which is begun anew in another way.
    pub(super) fn discard(&mut self) {
        self.walked = 0;
        self.is_joined = false;
        self.is_open = false;
    }

    /// Puts the frames that were walked before those that were joined.
    fn keep(&mut self) {
        let end = if self.is_joined { self.next } else { MOST };
        match end.checked_sub(self.walked) {
            Some(start) => {
                let Contents { last, fresh, .. } = &mut *self.contents;
                last[start..end].copy_from_slice(&fresh[..self.walked]);
                self.contents.start = start;
            }
            None => self.contents.start = MOST,
        }
    }
}
