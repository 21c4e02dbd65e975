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
struct Saved {
    pc: u64,
    stack_pointer: u64,
    frame_pointer: u64,
    pc_at: u64,
    /// Zero where the frame pointer was not saved.
    frame_pointer_at: u64,
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
    #[inline]
    fn still_holds(&self) -> bool {
        // SAFETY: a frame is noted only with addresses that were read, near its
        // callee's stack pointer; and the callee, which is as it was, would have
        // them read anew.
        let (pc, frame_pointer) = unsafe {
            (
                memory::read_again(self.pc_at),
                match self.frame_pointer_at {
                    0 => self.frame_pointer,
                    at => memory::read_again(at),
                },
            )
        };
        machine::without_signature(pc) == self.pc && frame_pointer == self.frame_pointer
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

    /// Notes a frame. Where the last walk went on from here to others, those that
    /// still hold are written behind `frames[written]`, and the outermost of them
    /// answered, with their number.
    #[inline]
    pub(super) fn note(
        &mut self,
        frame: &Frame,
        frames: &mut [*mut c_void],
    ) -> Option<(usize, Frame)> {
        // Without an address to look at, nothing can be held against it later.
        self.is_open &= frame.pc_at != 0;
        if !self.is_open {
            return None;
        }
        let fresh = self.contents.fresh.get_mut(self.walked)?;
        *fresh = Saved::of(frame);
        self.walked += 1;
        if self.is_joined {
            return None;
        }
        // Towards the root stack pointers grow; on another stack nothing is found.
        while let Some(last) = self.contents.last.get(self.next)
            && last.stack_pointer < frame.stack_pointer
        {
            self.next += 1;
        }
        let last = self.contents.last.get(self.next)?;
        if last.stack_pointer != frame.stack_pointer
            || last.pc != frame.pc
            || last.frame_pointer != frame.frame_pointer
        {
            return None;
        }
        self.join(frames)
    }

    fn join(&mut self, frames: &mut [*mut c_void]) -> Option<(usize, Frame)> {
        self.is_joined = true;
        let same = self.next + 1;
        let mut end = same;
        let room = &mut frames.iter_mut();
        while let Some(saved) = self.contents.last.get(end)
            && saved.still_holds()
            && let Some(place) = room.next()
        {
            *place = saved.pc as *mut c_void;
            end += 1;
        }
        let outermost = self.contents.last.get(end.checked_sub(1)?)?.frame();
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
