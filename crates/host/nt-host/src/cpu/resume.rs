//! Leaving what a thread was doing: into the handling of a fault, and back to driver code with given registers.

use std::arch::naked_asm;

use super::thread::{DRIVER_STACK, HOST_STACK};

/// Where a thread goes on after a signal, when its driver code faulted and may have a handler for it: rdi and rsp are the
/// exception's `Area` on the driver's stack. The handlers are looked for on the host's stack; what
/// comes back is the `CONTEXT` to go on with.
///
/// # Safety
///
/// Entered by way of a signal's context only, on a thread with a block at its GS base.
#[unsafe(naked)]
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
        handle = sym crate::seh::handle_fault,
        resume = sym resume,
    )
}

/// Goes on with the registers of a `CONTEXT`; `stack` is where the driver's stack continues for later callbacks.
///
/// Rip, rcx and the flags travel below the new stack top: in the convention of Windows nothing is kept there.
///
/// # Safety
///
/// `context` is a whole `CONTEXT` of driver code of the calling thread's current call into the driver. What the host has
/// on its stack above that call is left without being dropped.
#[unsafe(naked)]
pub(crate) unsafe extern "sysv64" fn resume(context: u64, stack: u64) -> ! {
    naked_asm!(
        "mov gs:[{driver}], rsi",
        "mov rcx, rdi",
        "movups xmm0, [rcx + 0x1A0]",
        "movups xmm1, [rcx + 0x1B0]",
        "movups xmm2, [rcx + 0x1C0]",
        "movups xmm3, [rcx + 0x1D0]",
        "movups xmm4, [rcx + 0x1E0]",
        "movups xmm5, [rcx + 0x1F0]",
        "movups xmm6, [rcx + 0x200]",
        "movups xmm7, [rcx + 0x210]",
        "movups xmm8, [rcx + 0x220]",
        "movups xmm9, [rcx + 0x230]",
        "movups xmm10, [rcx + 0x240]",
        "movups xmm11, [rcx + 0x250]",
        "movups xmm12, [rcx + 0x260]",
        "movups xmm13, [rcx + 0x270]",
        "movups xmm14, [rcx + 0x280]",
        "movups xmm15, [rcx + 0x290]",
        "mov rdx, [rcx + 0x98]",
        "sub rdx, 24",
        "mov rax, [rcx + 0xF8]",
        "mov [rdx + 16], rax",
        "mov rax, [rcx + 0x80]",
        "mov [rdx + 8], rax",
        "mov eax, [rcx + 0x44]",
        "mov [rdx], rax",
        "mov rax, [rcx + 0x78]",
        "mov rbx, [rcx + 0x90]",
        "mov rbp, [rcx + 0xA0]",
        "mov rsi, [rcx + 0xA8]",
        "mov rdi, [rcx + 0xB0]",
        "mov r8, [rcx + 0xB8]",
        "mov r9, [rcx + 0xC0]",
        "mov r10, [rcx + 0xC8]",
        "mov r11, [rcx + 0xD0]",
        "mov r12, [rcx + 0xD8]",
        "mov r13, [rcx + 0xE0]",
        "mov r14, [rcx + 0xE8]",
        "mov r15, [rcx + 0xF0]",
        "mov rsp, rdx",
        "mov rdx, [rcx + 0x88]",
        "popfq",
        "pop rcx",
        "ret",
        driver = const DRIVER_STACK,
    )
}
