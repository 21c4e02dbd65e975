//! What takes instructions of one machine: other stacks, and code that was generated.

use super::*;

/// How many bytes of a stack are written to when something is called on it.
fn used_of_stack(switch: OnStack, something: &mut dyn FnMut()) -> usize {
    const PAINT: u64 = 0x5af3_5af3_5af3_5af3;
    let stack = Mapped::stack(128 << 10);
    let (words, count) = (stack.start.cast::<u64>(), stack.length / 8);
    // SAFETY: words of a stack that nobody is on.
    unsafe { (0..count).for_each(|word| words.add(word).write_volatile(PAINT)) };
    let mut start = 0;
    on_stack(switch, stack.top(), &mut || {
        start = crate::capture!().stack_pointer;
        something();
    });
    // SAFETY: as above.
    let is_paint = |word: &usize| unsafe { words.add(*word).read_volatile() } == PAINT;
    let painted = (0..count).take_while(is_paint).count();
    usize::try_from(start).unwrap() - (words as usize + 8 * painted)
}

/// A coroutine has to have so much to spare wherever it allocates. In bytes, with and
/// without optimisations: 700 and 2,800 where all rules are known, 1,900 and 3,300 where
/// one is found out, 2,300 and 4,300 where an expression is evaluated or all registers
/// are needed. libgcc's takes 1,600.
#[test]
fn a_walk_needs_little_of_a_stack() {
    let [most_known, most_simple, most_involved] = match cfg!(debug_assertions) {
        true => [3_500, 4_096, 5_000],
        false => [1_000, 2_300, 2_500],
    };
    however_modules_are_found(|| {
        let mut frames = [ptr::null_mut(); MOST_FRAMES];
        let mut walk = || assert!(by_hook(&mut frames).0 > 4);
        cache::clear();
        // In a loop: the first makes known what the second finds.
        let mut used = [0; 2];
        for used in black_box(&mut used[..]) {
            *used = used_of_stack(plimsoll_test_on_stack_by_rbp, &mut walk);
        }
        let [simple, known] = used;
        assert!(known < most_known, "{known} bytes");
        assert!(simple < most_simple, "{simple} bytes");
        for switch in [
            plimsoll_test_on_stack_by_expression,
            plimsoll_test_on_stack_by_r13,
        ] {
            let involved = used_of_stack(switch, &mut walk);
            assert!(involved < most_involved, "{involved} bytes");
        }
    });
}

/// Calls `f(x)` from code that nothing is known of, with a frame pointer that is
/// none.
#[rustfmt::skip]
const GENERATED: [u8; 19] = [
    0x55, // push rbp
    0x48, 0x89, 0xd5, // mov rbp, rdx
    0x48, 0x89, 0xf8, // mov rax, rdi
    0x48, 0x89, 0xf7, // mov rdi, rsi
    0xff, 0xd0, // call rax
    0x5d, // pop rbp
    0xc3, // ret
    0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
];
type Generated = unsafe extern "C" fn(CallBack, *mut c_void, u64);

fn call(code: &Mapped, frame_pointer: u64, mut then: &mut dyn FnMut()) {
    // SAFETY: the bytes above are such a function.
    let function: Generated = unsafe { std::mem::transmute(code.start) };
    // SAFETY: `call_it` gets its pointer.
    unsafe { function(call_it, pointer_to(&mut then), frame_pointer) };
}

#[test]
fn generated_code_ends_a_walk() {
    let library = Compiled::new("generated", &["-O0"]);
    let code = Mapped::code(&GENERATED);
    let guarded = Mapped::stack(4_096);
    let here = 0_u64;
    let (start, top) = (guarded.start as u64, guarded.top() as u64);
    let small = [0, 5, 8, 0x1235];
    let large = [
        1 << 46,
        1 << 63,
        0xdead_beef_dead_beef,
        u64::MAX,
        u64::MAX - 7,
    ];
    let stacks = [top - 8, top, start, &raw const here as u64];
    however_modules_are_found(|| {
        for frame_pointer in small.into_iter().chain(large).chain(stacks) {
            let (end, frames) = walked("under generated code", |both| {
                call(&code, frame_pointer, &mut || record(both));
            });
            assert_eq!(end, End::NoInformation, "{frame_pointer:#x}");
            assert!(frames > 0);
            for name in in_c() {
                let (end, deeper) = walked("under generated code", |both| {
                    call(&code, frame_pointer, &mut || {
                        library.call(name, &mut || record(both));
                    });
                });
                assert_eq!(end, End::NoInformation, "{name}, {frame_pointer:#x}");
                assert!(deeper > frames);
            }
        }
    });
}

/// In musl the code that a handler returns to has no unwind information, nor in
/// runtimes that bring their own; aarch64's kernel has such code too.
#[test]
fn where_a_handler_returns_without_unwind_information() {
    /// The kernel's `struct sigaction`.
    #[repr(C)]
    struct Action {
        handler: extern "C" fn(c_int),
        flags: u64,
        restorer: *const u8,
        mask: u64,
    }
    const SA_RESTORER: u64 = 0x0400_0000;
    let restorer = Mapped::code(machine::SIGNAL_RETURN);
    however_modules_are_found(|| {
        let signals = with_handler(libc::SIGUSR1, 0, || {
            let action = Action {
                handler: on_signal,
                flags: SA_RESTORER,
                restorer: restorer.start,
                mask: 0,
            };
            let (signal, old) = (libc::SIGUSR1, ptr::null_mut::<Action>());
            // SAFETY: rt_sigaction(2) with such a structure, and a set of 8 bytes;
            // the restorer is the instructions that it has to be.
            let answer = unsafe {
                libc::syscall(
                    libc::SYS_rt_sigaction,
                    signal,
                    &raw const action,
                    old,
                    8_usize,
                )
            };
            assert_eq!(answer, 0);
            deeper(3, &mut || raise(libc::SIGUSR1));
        });
        assert_eq!(signals, (1, 1));
    });
}

// On another stack: (f, x, its top). Each keeps the caller's stack pointer
// elsewhere, and says so.
std::arch::global_asm!(
    // In the frame pointer.
    ".globl plimsoll_test_on_stack_by_rbp; plimsoll_test_on_stack_by_rbp:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16; .cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdx",
    "mov rax, rdi; mov rdi, rsi; call rax",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret; .cfi_endproc",
    // On the new stack, where an expression finds it.
    ".globl plimsoll_test_on_stack_by_expression; plimsoll_test_on_stack_by_expression:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16; .cfi_offset rbp, -16",
    "mov [rdx - 16], rsp",
    "lea rbp, [rdx - 16]",
    "mov rsp, rbp",
    // DW_CFA_def_cfa_expression: DW_OP_breg6 0, DW_OP_deref, DW_OP_plus_uconst 16.
    ".cfi_escape 0x0f, 5, 0x76, 0, 0x06, 0x23, 16",
    "mov rax, rdi; mov rdi, rsi; call rax",
    "mov rsp, [rsp]",
    ".cfi_def_cfa rsp, 16",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret; .cfi_endproc",
    // In a register that only those know who keep them all.
    ".globl plimsoll_test_on_stack_by_r13; plimsoll_test_on_stack_by_r13:",
    ".cfi_startproc",
    "push r13",
    ".cfi_def_cfa_offset 16; .cfi_offset r13, -16",
    "mov r13, rsp",
    ".cfi_def_cfa_register r13",
    "mov rsp, rdx",
    "mov rax, rdi; mov rdi, rsi; call rax",
    "mov rsp, r13",
    ".cfi_def_cfa_register rsp",
    "pop r13",
    ".cfi_def_cfa rsp, 8",
    "ret; .cfi_endproc",
    // Nowhere: the stack ends there.
    ".globl plimsoll_test_on_stack_that_ends; plimsoll_test_on_stack_that_ends:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push r13; mov r13, rsp; mov rsp, rdx",
    "mov rax, rdi; mov rdi, rsi; call rax",
    "mov rsp, r13; pop r13; ret; .cfi_endproc",
    // A lie: beyond the stack's end.
    ".globl plimsoll_test_on_stack_beyond; plimsoll_test_on_stack_beyond:",
    ".cfi_startproc",
    "push r13; mov r13, rsp; mov rsp, rdx",
    ".cfi_def_cfa rsp, 4104",
    "mov rax, rdi; mov rdi, rsi; call rax",
    "mov rsp, r13; pop r13; ret; .cfi_endproc",
);

type OnStack = unsafe extern "C" fn(CallBack, *mut c_void, *mut u8);

unsafe extern "C" {
    fn plimsoll_test_on_stack_by_rbp(f: CallBack, x: *mut c_void, top: *mut u8);
    fn plimsoll_test_on_stack_by_expression(f: CallBack, x: *mut c_void, top: *mut u8);
    fn plimsoll_test_on_stack_by_r13(f: CallBack, x: *mut c_void, top: *mut u8);
    fn plimsoll_test_on_stack_that_ends(f: CallBack, x: *mut c_void, top: *mut u8);
    fn plimsoll_test_on_stack_beyond(f: CallBack, x: *mut c_void, top: *mut u8);
}

fn on_stack(switch: OnStack, top: *mut u8, mut then: &mut dyn FnMut()) {
    // SAFETY: the functions above call `call_it` with its pointer, on a stack that
    // ends at `top`, and come back.
    unsafe { switch(call_it, pointer_to(&mut then), top) };
}

const LINKED: [OnStack; 3] = [
    plimsoll_test_on_stack_by_rbp,
    plimsoll_test_on_stack_by_expression,
    plimsoll_test_on_stack_by_r13,
];

/// From one to another that is below it, and to one that is above.
#[test]
fn from_stack_to_stack() {
    let both_stacks = Mapped::stack(128 << 10);
    let low = both_stacks.start.wrapping_add(64 << 10);
    let high = both_stacks.top();
    however_modules_are_found(|| {
        for first in LINKED {
            for second in LINKED {
                for (from, to) in [(low, high), (high, low)] {
                    for _ in 0..2 {
                        let (end, _) = walked("over stacks", |both| {
                            on_stack(first, from, &mut || {
                                on_stack(second, to, &mut || {
                                    deeper(1, &mut || record(both));
                                });
                            });
                        });
                        assert_eq!(end, End::Root);
                    }
                }
            }
        }
    });
}

#[test]
fn a_stack_that_ends_ends_a_walk() {
    let stack = Mapped::stack(64 << 10);
    however_modules_are_found(|| {
        for _ in 0..2 {
            let (end, _) = walked("on a stack that ends", |both| {
                let stack_ends = plimsoll_test_on_stack_that_ends;
                on_stack(stack_ends, stack.top(), &mut || {
                    deeper(3, &mut || record(both))
                });
            });
            assert_eq!(end, End::Root);
        }
    });
}

/// libgcc reads there, and the process ends.
#[test]
fn nothing_is_read_beyond_the_end_of_a_stack() {
    let stack = Mapped::stack(64 << 10);
    however_modules_are_found(|| {
        let mut answer = (0, End::Root);
        let mut frames = [ptr::null_mut(); MOST_FRAMES];
        on_stack(plimsoll_test_on_stack_beyond, stack.top(), &mut || {
            answer = walk(&crate::capture!(), &mut frames);
        });
        assert_eq!(answer.1, End::Astray);
    });
}
