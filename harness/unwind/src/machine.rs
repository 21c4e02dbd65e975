//! The differences between x86-64 and AArch64: registers, and their DWARF numbers.
//!
//! The numbers are from the System V ABI supplements: x86-64 figure 3.36, and "DWARF for the
//! Arm 64-bit Architecture" section 4.1.

/// A frame: the registers of a function that are mostly enough to find its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The return address into the function; for the first frame, the instruction itself.
    pub(super) pc: u64,
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    /// Whether `pc` is the next instruction to execute, and not one behind a call. This is so
    /// in the first frame, and in a function that a signal interrupted.
    pub(super) is_exact: bool,
    /// The address from which `pc` was read, if it may be read again; otherwise zero.
    pub(super) pc_at: u64,
    /// The address from which the frame pointer was read; zero if the callee has not changed
    /// it.
    pub(super) frame_pointer_at: u64,
    /// The link register, if it is known: in the first frame, and in a function that a signal
    /// interrupted.
    pub(super) link: u64,
}

impl Frame {
    /// Makes a frame that was left by a call.
    #[inline]
    pub(super) fn caller(pc: u64, stack_pointer: u64, frame_pointer: u64) -> Frame {
        Frame {
            pc,
            stack_pointer,
            frame_pointer,
            is_exact: false,
            pc_at: 0,
            frame_pointer_at: 0,
            link: 0,
        }
    }

    /// Returns the address by which the code is looked up. Behind a call another function may
    /// already begin, so there it is one byte less.
    #[inline]
    pub(super) fn lookup(&self) -> u64 {
        self.pc.wrapping_sub(u64::from(!self.is_exact))
    }
}

/// Returns the link register, if the frame has it and has not saved it.
pub(super) fn link_register(frame: &Frame) -> Option<u64> {
    (frame.link != 0).then_some(frame.link)
}

/// The registers at one point of a function; [`capture!`](crate::capture) fills them in.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Captured {
    pub(crate) pc: u64,
    pub(crate) stack_pointer: u64,
    pub(crate) frame_pointer: u64,
    #[cfg(target_arch = "aarch64")]
    pub(crate) link: u64,
    pub(crate) preserved: [u64; PRESERVED.len()],
}

impl Captured {
    pub(crate) fn frame(&self) -> Frame {
        Frame {
            is_exact: true,
            #[cfg(target_arch = "aarch64")]
            link: self.link,
            ..Frame::caller(self.pc, self.stack_pointer, self.frame_pointer)
        }
    }
}

/// Reads the word at an address.
///
/// It uses an instruction, because the frames of other functions are no objects that the
/// compiler may reason about. In a test build, a volatile read would be three calls.
///
/// # Safety
///
/// The address must be aligned, and in memory that can be read. Any bits are a valid number.
#[inline(always)]
pub(crate) unsafe fn load(address: u64) -> u64 {
    let word: u64;
    // SAFETY: reads eight bytes, which the caller promises can be read.
    unsafe {
        std::arch::asm!(
            load_instruction!(),
            address = in(reg) address,
            word = out(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

#[cfg(target_arch = "x86_64")]
mod this {
    pub(crate) const STACK_POINTER: u16 = 7;
    pub(crate) const FRAME_POINTER: u16 = 6;
    /// The register that holds the return address if the unwind information does not say so.
    pub(crate) const LINK_REGISTER: Option<u16> = None;
    /// Instructions of call frame information that say that a return address is signed.
    pub(crate) const SIGNS_RETURN_ADDRESS: &[u8] = &[];
    /// The number of DWARF registers in use, with the return address.
    pub(crate) const REGISTERS: usize = 17;
    /// Registers that a call preserves, besides the two pointers: rbx, r12 to r15.
    pub(crate) const PRESERVED: [u16; 5] = [3, 12, 13, 14, 15];

    /// The code that a signal handler returns to: `mov rax, SYS_rt_sigreturn; syscall`.
    pub(crate) const SIGNAL_RETURN: &[u8] = &[0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];
    /// Where the kernel saves the interrupted registers, as an offset from the stack pointer in
    /// that code: `uc_mcontext` of a `struct ucontext` (asm/ucontext.h, asm/sigcontext.h).
    pub(crate) const INTERRUPTED: u64 = 40;
    /// The saved registers in the kernel's order; the instruction's address follows them.
    pub(crate) const INTERRUPTED_REGISTERS: [u16; 16] =
        [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];

    /// Captures the registers of the function that contains this macro, for
    /// [`walk`](crate::walk).
    #[macro_export]
    macro_rules! capture {
        () => {{
            let mut captured = $crate::Captured::default();
            // SAFETY: eight stores into a structure of eight words that lives across the block.
            // One register is an output; nothing else changes.
            unsafe {
                std::arch::asm!(
                    "lea {scratch}, [rip]",
                    "mov [{to}], {scratch}",
                    "mov [{to} + 8], rsp",
                    "mov [{to} + 16], rbp",
                    "mov [{to} + 24], rbx",
                    "mov [{to} + 32], r12",
                    "mov [{to} + 40], r13",
                    "mov [{to} + 48], r14",
                    "mov [{to} + 56], r15",
                    to = in(reg) &raw mut captured,
                    scratch = out(reg) _,
                    options(nostack, preserves_flags),
                );
            }
            captured
        }};
    }

    #[inline(always)]
    pub(crate) fn without_signature(address: u64) -> u64 {
        address
    }

    macro_rules! load_instruction {
        () => {
            "mov {word}, [{address}]"
        };
    }
    pub(super) use load_instruction;
}

#[cfg(target_arch = "aarch64")]
mod this {
    pub(crate) const STACK_POINTER: u16 = 31;
    pub(crate) const FRAME_POINTER: u16 = 29;
    pub(crate) const LINK_REGISTER: Option<u16> = Some(30);
    /// `DW_CFA_AARCH64_negate_ra_state_with_pc` and `DW_CFA_AARCH64_negate_ra_state`. Every
    /// function that signs its return address has one of them. Neither has an operand.
    pub(crate) const SIGNS_RETURN_ADDRESS: &[u8] = &[0x2c, 0x2d];
    pub(crate) const REGISTERS: usize = 32;
    /// x19 to x28.
    pub(crate) const PRESERVED: [u16; 10] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28];

    /// `mov x8, SYS_rt_sigreturn; svc 0`. Since Linux 5.8, the kernel's own copy of it has no
    /// unwind information (arch/arm64/kernel/vdso/sigreturn.S).
    pub(crate) const SIGNAL_RETURN: &[u8] = &[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
    /// Behind `siginfo_t` of 128 bytes, and 176 bytes of `struct ucontext` up to its aligned
    /// `uc_mcontext`, whose first field is `fault_address`.
    pub(crate) const INTERRUPTED: u64 = 128 + 176 + 8;
    /// x0 to x30, and the stack pointer.
    pub(crate) const INTERRUPTED_REGISTERS: [u16; 32] = {
        let mut registers = [0; 32];
        let mut number = 0;
        while number < 32 {
            registers[number as usize] = number;
            number += 1;
        }
        registers
    };

    /// Captures the registers of the function that contains this macro, for
    /// [`walk`](crate::walk).
    #[macro_export]
    macro_rules! capture {
        () => {{
            let mut captured = $crate::Captured::default();
            // SAFETY: stores into a structure of fourteen words that lives across the block.
            // One register is an output; nothing else changes.
            unsafe {
                std::arch::asm!(
                    "adr {scratch}, .",
                    "str {scratch}, [{to}]",
                    "mov {scratch}, sp",
                    "str {scratch}, [{to}, 8]",
                    "stp x29, x30, [{to}, 16]",
                    "stp x19, x20, [{to}, 32]",
                    "stp x21, x22, [{to}, 48]",
                    "stp x23, x24, [{to}, 64]",
                    "stp x25, x26, [{to}, 80]",
                    "stp x27, x28, [{to}, 96]",
                    to = in(reg) &raw mut captured,
                    scratch = out(reg) _,
                    options(nostack, preserves_flags),
                );
            }
            captured
        }};
    }

    macro_rules! load_instruction {
        () => {
            "ldr {word}, [{address}]"
        };
    }
    pub(super) use load_instruction;

    /// Removes the pointer authentication code from a return address: a signature in the bits
    /// that addresses do not use.
    pub(crate) fn without_signature(address: u64) -> u64 {
        let stripped: u64;
        // SAFETY: XPACLRI changes only x30, which is its input and its output. On a processor
        // without pointer authentication it is a hint that does nothing.
        unsafe {
            std::arch::asm!(
                "hint #7",
                inlateout("x30") address => stripped,
                options(nomem, nostack, preserves_flags),
            );
        }
        stripped
    }
}

pub(crate) use this::*;
