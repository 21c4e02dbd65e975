//! Takes the common steps of a walk, in one plain loop.
//!
//! A test build is not optimised, and there walking takes most of the time of profiling: every
//! closure, iterator and passed `Option` is a call or a copy. So this loop does by hand what
//! `cache::get`, `Rule::apply`, `memory::read` and `Walk::note` do, as far as that is
//! sufficient. If it is not (a rule that is not cached, a page that was not read before, the
//! root), the loop stops before the step. The caller then takes the step with those functions.

use std::ffi::c_void;

use super::cache;
use super::machine::{self, Frame};
use super::memory::{KNOWN, NEAR, PAGE, PAGES};
use super::recent::{Saved, Walk};
use super::rule::{FIELD, FIELD_MASK, FROM_FRAME_POINTER, FROM_STACK_POINTER};
use super::{End, HARNESS_EXTENT};

/// Why the loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The next step needs more than this loop does.
    Step,
    /// The frame is also one of the last walk.
    Met,
    /// The walk has ended.
    End(End),
}

/// Returns whether the thread knows the page of an address to be readable. The known pages are
/// the `PAGES` words at `known`.
#[inline(always)]
fn is_known(known: u64, address: u64) -> bool {
    let page = address / PAGE;
    // SAFETY: this is one of the `PAGES` words, which live as long as the thread.
    let known = unsafe { machine::load(known + page % PAGES as u64 * 8) };
    known == page && page != 0
}

/// Continues a walk from a frame, with cached rules and known pages. `walked` counts the
/// callers that are in `frames`.
pub(super) fn advance(
    walk: &mut Walk<'_>,
    frame: &mut Frame,
    frames: &mut [*mut c_void],
    walked: &mut usize,
    harness: u64,
) -> Stop {
    let known = KNOWN.with(|known| known.as_ptr()) as u64;
    let mut at = *walked;
    let (mut pc, mut stack_pointer) = (frame.pc, frame.stack_pointer);
    let (mut frame_pointer, mut is_exact) = (frame.frame_pointer, frame.is_exact);
    let (mut pc_at, mut frame_pointer_at) = (frame.pc_at, frame.frame_pointer_at);
    let mut link = frame.link;
    let stop = loop {
        let address = if is_exact { pc } else { pc.wrapping_sub(1) };
        let rule = cache::word(cache::scramble(address));
        let base = match rule & 0xF {
            FROM_STACK_POINTER => stack_pointer,
            FROM_FRAME_POINTER => frame_pointer,
            _ => break Stop::Step,
        };
        let cfa = base.wrapping_add(((rule >> 4) & FIELD_MASK) * 8);
        let saved_pc = (rule >> (4 + 2 * FIELD)) * 8;
        let saved_frame_pointer = ((rule >> (4 + FIELD)) & FIELD_MASK) * 8;
        if cfa <= stack_pointer || saved_pc == 0 || cfa & 7 != 0 {
            break Stop::Step;
        }
        let next_pc_at = cfa.wrapping_sub(saved_pc);
        if next_pc_at.wrapping_sub(stack_pointer) >= NEAR || !is_known(known, next_pc_at) {
            break Stop::Step;
        }
        let mut next_frame_pointer_at = 0;
        let mut next_frame_pointer = frame_pointer;
        if saved_frame_pointer != 0 {
            next_frame_pointer_at = cfa.wrapping_sub(saved_frame_pointer);
            if next_frame_pointer_at.wrapping_sub(stack_pointer) >= NEAR
                || !is_known(known, next_frame_pointer_at)
            {
                break Stop::Step;
            }
            // SAFETY: the address is aligned, as the CFA is; the kernel has said that its page
            // can be read.
            next_frame_pointer = unsafe { machine::load(next_frame_pointer_at) };
        }
        // SAFETY: as above.
        let next_pc = machine::without_signature(unsafe { machine::load(next_pc_at) });
        if next_pc == 0 {
            break Stop::Step;
        }
        pc = next_pc;
        stack_pointer = cfa;
        frame_pointer = next_frame_pointer;
        pc_at = next_pc_at;
        frame_pointer_at = next_frame_pointer_at;
        is_exact = false;
        link = 0;
        if stack_pointer.wrapping_sub(harness) < HARNESS_EXTENT {
            break Stop::End(End::Root);
        }
        if at >= frames.len() {
            break Stop::End(End::Full);
        }
        frames[at] = pc as *mut c_void;
        at += 1;
        if walk.note_plain(&Saved {
            pc,
            stack_pointer,
            frame_pointer,
            pc_at,
            frame_pointer_at,
        }) {
            break Stop::Met;
        }
    };
    *walked = at;
    *frame = Frame {
        pc,
        stack_pointer,
        frame_pointer,
        is_exact,
        pc_at,
        frame_pointer_at,
        link,
    };
    stop
}
