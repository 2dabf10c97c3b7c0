//! Leaves what a thread was doing: enters the handling of a fault, and returns to driver code with given registers.

use std::arch::naked_asm;
use std::mem::offset_of;

use nt_processor::cpu::switch::{DRIVER_STACK, HOST_STACK};
use nt_processor::layout::CONTEXT;

/// Where a thread continues after a signal if its driver code faulted and may have a handler for the fault. rdi and rsp
/// are the exception's `Area` on the driver's stack. The search for handlers runs on the host's stack; it returns the
/// `CONTEXT` to continue with.
///
/// # Safety
///
/// Must be entered through a signal's context only, on a thread with a block at its GS base.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub(super) unsafe extern "C" fn fault_entry() {
    naked_asm!(
        "mov rax, gs:[{driver}]",
        "mov gs:[{driver}], rdi",
        "mov rsp, gs:[{host}]",
        "and rsp, -16",
        "sub rsp, 16",
        "mov [rsp], rax",
        "call {handle}",
        "mov rdi, rax",
        "mov rsi, [rsp]",
        "jmp {resume}",
        host = const HOST_STACK,
        driver = const DRIVER_STACK,
        handle = sym super::raise::handle_fault,
        resume = sym resume,
    )
}

/// Continues with the registers of a `CONTEXT`. `stack` is where the driver's stack continues for later callbacks.
///
/// Rip, rcx and the flags are passed below the new top of the stack. This is possible because the Windows convention
/// has no red zone.
///
/// # Safety
///
/// `context` must be a complete `CONTEXT` of driver code in the calling thread's current call into the driver. The
/// host's stack frames above that call are abandoned without dropping their values.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub(super) unsafe extern "sysv64" fn resume(context: u64, stack: u64) -> ! {
    naked_asm!(
        "mov gs:[{driver}], rsi",
        "mov rcx, rdi",
        "movups xmm0, [rcx + {xmm}]",
        "movups xmm1, [rcx + {xmm} + 16]",
        "movups xmm2, [rcx + {xmm} + 32]",
        "movups xmm3, [rcx + {xmm} + 48]",
        "movups xmm4, [rcx + {xmm} + 64]",
        "movups xmm5, [rcx + {xmm} + 80]",
        "movups xmm6, [rcx + {xmm} + 96]",
        "movups xmm7, [rcx + {xmm} + 112]",
        "movups xmm8, [rcx + {xmm} + 128]",
        "movups xmm9, [rcx + {xmm} + 144]",
        "movups xmm10, [rcx + {xmm} + 160]",
        "movups xmm11, [rcx + {xmm} + 176]",
        "movups xmm12, [rcx + {xmm} + 192]",
        "movups xmm13, [rcx + {xmm} + 208]",
        "movups xmm14, [rcx + {xmm} + 224]",
        "movups xmm15, [rcx + {xmm} + 240]",
        "mov rdx, [rcx + {general} + 32]",
        "sub rdx, 24",
        "mov rax, [rcx + {rip}]",
        "mov [rdx + 16], rax",
        "mov rax, [rcx + {general} + 8]",
        "mov [rdx + 8], rax",
        "mov eax, [rcx + {eflags}]",
        "mov [rdx], rax",
        "mov rax, [rcx + {general}]",
        "mov rbx, [rcx + {general} + 24]",
        "mov rbp, [rcx + {general} + 40]",
        "mov rsi, [rcx + {general} + 48]",
        "mov rdi, [rcx + {general} + 56]",
        "mov r8, [rcx + {general} + 64]",
        "mov r9, [rcx + {general} + 72]",
        "mov r10, [rcx + {general} + 80]",
        "mov r11, [rcx + {general} + 88]",
        "mov r12, [rcx + {general} + 96]",
        "mov r13, [rcx + {general} + 104]",
        "mov r14, [rcx + {general} + 112]",
        "mov r15, [rcx + {general} + 120]",
        "mov rsp, rdx",
        "mov rdx, [rcx + {general} + 16]",
        "popfq",
        "pop rcx",
        "ret",
        driver = const DRIVER_STACK,
        general = const offset_of!(CONTEXT, General),
        xmm = const offset_of!(CONTEXT, XmmRegisters),
        rip = const offset_of!(CONTEXT, Rip),
        eflags = const offset_of!(CONTEXT, EFlags),
    )
}
