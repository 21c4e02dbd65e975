//! Keeps the last walk of each thread.
//!
//! Two allocations in a row mostly come from stacks that differ only near their leaves. So a
//! walk often reaches a frame of the last walk, with the same registers. The rest of the stack
//! is the same if the same words of memory still hold the same return addresses and frame
//! pointers. Reading these words again takes an eighth of the time, because no read depends on
//! the result of another one.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::machine::{self, Frame};

/// The most frames of a walk: jemalloc's largest `prof_bt_max`.
const MOST: usize = 128;

/// A frame, and where its callee has saved its registers.
#[derive(Clone, Copy)]
pub(super) struct Saved {
    pub(super) pc: u64,
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    pub(super) pc_at: u64,
    /// Zero if the callee has not saved the frame pointer.
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

    /// Returns whether this frame is still the caller of its callee, which must be known to be
    /// unchanged.
    #[inline(always)]
    fn still_holds(&self) -> bool {
        // SAFETY: a frame is noted only if these addresses were read, and are near the stack
        // pointer of its callee. The callee is unchanged, so a new walk would read the same
        // addresses.
        let pc = machine::without_signature(unsafe { machine::load(self.pc_at) });
        if pc != self.pc {
            return false;
        }
        self.frame_pointer_at == 0
            // SAFETY: as above.
            || unsafe { machine::load(self.frame_pointer_at) } == self.frame_pointer
    }
}

/// The last walk of a thread, and room for the next one.
struct Recent {
    /// Whoever sets this owns the contents. That is a thread. A signal handler that interrupts
    /// a walk finds it set, and does not use the contents.
    is_in_use: AtomicBool,
    contents: UnsafeCell<Contents>,
}

struct Contents {
    /// The number of the thread that made the walk.
    thread: usize,
    /// The value of [`GENERATION`] at the walk.
    generation: usize,
    /// The last walk is `last[start..]`, leaf first.
    start: usize,
    last: [Saved; MOST],
    fresh: [Saved; MOST],
}

// SAFETY: the contents are used only by whoever has set `is_in_use`.
unsafe impl Sync for Recent {}

/// How many threads can keep their last walks at the same time. If there are more threads, some
/// share an entry, and begin anew each time.
///
/// The entries are not thread-locals: those are part of each thread's stack (pthread_create(3)
/// fails with EINVAL if the stack is too small for them), and an entry has ten kilobytes. The
/// pages of this table use memory only once they are written to.
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

/// The number of threads that have walked so far.
static LAST_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // Has neither a constructor nor a destructor, so access is a plain address.
    /// This thread's number; zero before its first walk.
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

fn this_thread() -> usize {
    THREAD.with(|thread| {
        if thread.get() == 0 {
            // If a signal handler comes in between, it takes a number that is then lost.
            thread.set(LAST_THREAD.fetch_add(1, Ordering::Relaxed) + 1);
        }
        thread.get()
    })
}

static GENERATION: AtomicUsize = AtomicUsize::new(0);

/// Makes every thread forget its last walk.
pub(super) fn forget() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Returns the address and the bytes of the last walks. Their registers may look like references.
pub(super) fn place() -> (u64, u64) {
    (RECENT.as_ptr() as u64, size_of_val(&RECENT) as u64)
}

/// A walk in progress, and the thread's last walk.
pub(super) struct Walk<'a> {
    contents: &'a mut Contents,
    /// The first place in `last` where the next frame may be.
    next: usize,
    walked: usize,
    /// Whether this walk has met the last one. Then the frames from `next` on belong to this
    /// one too.
    is_joined: bool,
    /// Whether frames are still noted. No frame is noted behind one that cannot be read again,
    /// or behind the root of the last walk.
    is_open: bool,
}

impl Walk<'_> {
    /// Calls `then` with this thread's walk. Returns `None` if the entry is already in use.
    #[inline]
    pub(super) fn with<T>(then: impl FnOnce(&mut Walk<'_>) -> T) -> Option<T> {
        let thread = this_thread();
        let recent = &RECENT[thread % THREADS];
        if recent.is_in_use.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: `is_in_use` was false and is now true. Until it is set to false below, nobody
        // else gets here, and nothing in between unwinds a panic.
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

    /// Notes a frame. Returns whether the last walk has the same frame.
    pub(super) fn note(&mut self, frame: &Frame) -> bool {
        // Without an address to read again, this frame cannot be checked later.
        self.is_open &= frame.pc_at != 0;
        self.note_plain(&Saved::of(frame))
    }

    /// Does the same for a frame whose registers can be read again. The code is as plain as
    /// [`advance`](super::quick::advance), for the same reason.
    #[inline(always)]
    pub(super) fn note_plain(&mut self, saved: &Saved) -> bool {
        if !self.is_open || self.walked >= MOST {
            return false;
        }
        // Word by word, because in a test build a copy of the whole is a call.
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
        // Stack pointers grow towards the root. On another stack, no frame of the last walk
        // matches.
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

    /// Writes the frames of the last walk that are behind the met frame and still hold. Returns
    /// their number and the outermost of them, if there is one.
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
            // Only a part of the last walk holds. That part is noted as if it had been walked
            // anew.
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

    /// Keeps nothing of this walk, because it is repeated in another way.
    pub(super) fn discard(&mut self) {
        self.walked = 0;
        self.is_joined = false;
        self.is_open = false;
    }

    /// Stores the frames that were walked in front of those that were taken over.
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
