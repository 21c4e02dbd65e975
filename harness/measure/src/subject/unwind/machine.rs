//! What differs between x86-64 and AArch64: registers, and their DWARF numbers.
//!
//! Numbers are those of the System V ABI supplements: x86-64 figure 3.36, and
//! "DWARF for the Arm 64-bit Architecture" section 4.1.

/// Where a function is, as far as its caller can mostly be found from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The return address into it; of the first frame, the instruction itself.
    pub(super) pc: u64,
    pub(super) stack_pointer: u64,
    pub(super) frame_pointer: u64,
    /// Whether `pc` is the instruction to be executed next and not one behind a
    /// call: in the first frame, and in what a signal interrupted.
    pub(super) is_exact: bool,
    /// Where `pc` was read, if it may be read there again; else zero.
    pub(super) pc_at: u64,
    /// Where the frame pointer was read; zero where its callee had left it alone.
    pub(super) frame_pointer_at: u64,
    /// The link register, where it is known: in the first frame, and in what a signal
    /// interrupted.
    pub(super) link: u64,
}

impl Frame {
    /// A frame that was left by a call.
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

    /// The address to look the code up by: behind a call there may be another
    /// function already.
    #[inline]
    pub(super) fn lookup(&self) -> u64 {
        self.pc.wrapping_sub(u64::from(!self.is_exact))
    }
}

/// The link register of a frame that has not saved it.
pub(super) fn link_register(frame: &Frame) -> Option<u64> {
    (frame.link != 0).then_some(frame.link)
}

#[cfg(target_arch = "x86_64")]
mod this {
    use super::Frame;

    pub(crate) const STACK_POINTER: u16 = 7;
    pub(crate) const FRAME_POINTER: u16 = 6;
    /// Where a return address is that nothing is said of.
    pub(crate) const LINK_REGISTER: Option<u16> = None;
    /// Instructions of call frame information that say a return address is signed.
    pub(crate) const SIGNS_RETURN_ADDRESS: &[u8] = &[];
    /// DWARF numbers in use, the return address among them.
    pub(crate) const REGISTERS: usize = 17;
    /// What a call preserves beside the two pointers: rbx, r12 to r15.
    pub(crate) const PRESERVED: [u16; 5] = [3, 12, 13, 14, 15];

    /// What a signal's handler returns to: `mov rax, SYS_rt_sigreturn; syscall`.
    pub(crate) const SIGNAL_RETURN: &[u8] = &[0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05];
    /// Where the kernel keeps the interrupted registers, from the stack pointer there:
    /// `uc_mcontext` of a `struct ucontext` (asm/ucontext.h, asm/sigcontext.h).
    pub(crate) const INTERRUPTED: u64 = 40;
    /// Which those are, in the kernel's order; behind them is the instruction's address.
    pub(crate) const INTERRUPTED_REGISTERS: [u16; 16] =
        [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];

    /// The registers at one point of a function.
    #[derive(Clone, Copy, Debug, Default)]
    #[repr(C)]
    pub(crate) struct Captured {
        pub(crate) pc: u64,
        pub(crate) stack_pointer: u64,
        pub(crate) frame_pointer: u64,
        pub(crate) preserved: [u64; PRESERVED.len()],
    }

    impl Captured {
        pub(crate) fn frame(&self) -> Frame {
            Frame {
                is_exact: true,
                ..Frame::caller(self.pc, self.stack_pointer, self.frame_pointer)
            }
        }
    }

    /// Captures the registers of the function that it stands in.
    macro_rules! capture {
        () => {{
            let mut captured = $crate::subject::unwind::machine::Captured::default();
            // SAFETY: seven stores into a structure of eight words that lives
            // across the block; one register is an output, nothing else changes.
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
    pub(crate) use capture;

    #[inline(always)]
    pub(crate) fn without_signature(address: u64) -> u64 {
        address
    }

    /// The word at an address. By an instruction: other functions' frames are no
    /// objects that the compiler may reason about, and in a test build a volatile read
    /// is three calls.
    ///
    /// # Safety
    ///
    /// The address must be aligned, and of memory that can be read. Any bits are a
    /// number.
    #[inline(always)]
    pub(crate) unsafe fn load(address: u64) -> u64 {
        let word: u64;
        // SAFETY: reads eight bytes, which the caller says can be read.
        unsafe {
            std::arch::asm!(
                "mov {word}, [{address}]",
                address = in(reg) address,
                word = out(reg) word,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }
}

#[cfg(target_arch = "aarch64")]
mod this {
    use super::Frame;

    pub(crate) const STACK_POINTER: u16 = 31;
    pub(crate) const FRAME_POINTER: u16 = 29;
    pub(crate) const LINK_REGISTER: Option<u16> = Some(30);
    /// `DW_CFA_AARCH64_negate_ra_state_with_pc` and `DW_CFA_AARCH64_negate_ra_state`, in
    /// every function that signs its return address. Neither has an operand.
    pub(crate) const SIGNS_RETURN_ADDRESS: &[u8] = &[0x2c, 0x2d];
    pub(crate) const REGISTERS: usize = 32;
    /// x19 to x28.
    pub(crate) const PRESERVED: [u16; 10] = [19, 20, 21, 22, 23, 24, 25, 26, 27, 28];

    /// `mov x8, SYS_rt_sigreturn; svc 0`. Since Linux 5.8 the kernel's own has no unwind
    /// information (arch/arm64/kernel/vdso/sigreturn.S).
    pub(crate) const SIGNAL_RETURN: &[u8] = &[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];
    /// Behind `siginfo_t`, 128 bytes, and 176 of `struct ucontext` up to its aligned
    /// `uc_mcontext`, where `fault_address` comes first.
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

    #[derive(Clone, Copy, Debug, Default)]
    #[repr(C)]
    pub(crate) struct Captured {
        pub(crate) pc: u64,
        pub(crate) stack_pointer: u64,
        pub(crate) frame_pointer: u64,
        pub(crate) link: u64,
        pub(crate) preserved: [u64; PRESERVED.len()],
    }

    impl Captured {
        pub(crate) fn frame(&self) -> Frame {
            Frame {
                is_exact: true,
                link: self.link,
                ..Frame::caller(self.pc, self.stack_pointer, self.frame_pointer)
            }
        }
    }

    macro_rules! capture {
        () => {{
            let mut captured = $crate::subject::unwind::machine::Captured::default();
            // SAFETY: stores into a structure of fourteen words that lives across
            // the block; one register is an output, nothing else changes.
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
    pub(crate) use capture;

    /// The word at an address; see the other machine's.
    ///
    /// # Safety
    ///
    /// The address must be aligned, and of memory that can be read.
    #[inline(always)]
    pub(crate) unsafe fn load(address: u64) -> u64 {
        let word: u64;
        // SAFETY: reads eight bytes, which the caller says can be read.
        unsafe {
            std::arch::asm!(
                "ldr {word}, [{address}]",
                address = in(reg) address,
                word = out(reg) word,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }

    /// A return address without its pointer authentication code, which signs it
    /// in the bits that addresses do not use.
    pub(crate) fn without_signature(address: u64) -> u64 {
        let stripped: u64;
        // SAFETY: XPACLRI changes x30 alone, which is its input and its output; where
        // there is no such thing it is a hint that does nothing.
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
