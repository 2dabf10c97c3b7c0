//! Between the host and the driver: calling a driver's routine, and a driver calling ours.
//!
//! Each thread has two stacks, and a block at its GS base that says where each of them continues. Calls nest: a driver
//! calls a routine, which calls the driver back, and so on; each crossing leaves the other stack where it was.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::layout::{CALL_FRAME, PROCESSOR_BLOCK};

/// Arguments of a call into a driver. Registers and stack always get all of them.
pub(crate) const MOST_ARGUMENTS: usize = 10;

/// The word that a [`CALL_FRAME`] is known by.
pub(super) const MARK: u64 = 0x6B6E_694C_7473_6F48;

/// Where the stacks continue, from the GS base.
pub(crate) const HOST_STACK: usize = offset_of!(PROCESSOR_BLOCK, HostStack);
pub(crate) const DRIVER_STACK: usize = offset_of!(PROCESSOR_BLOCK, DriverStack);

/// What a thread's floating-point control is when it starts: every exception masked, rounding to nearest.
pub(crate) const MXCSR: u32 = 0x1F80;

unsafe extern "sysv64" {
    /// Where a driver's calls arrive: the kernel above this layer defines it.
    fn nt_machine_dispatch(index: u32, slots: u64, from: u64, flags: u32, mxcsr: u32) -> u64;
}

/// Calls `target` in the Windows convention with `arguments`, on the driver's stack.
///
/// # Safety
///
/// The calling thread has a block at its GS base with a driver's stack in it, and `target` is code that follows the
/// convention.
#[unsafe(naked)]
pub(super) unsafe extern "sysv64" fn call_driver(target: u64, arguments: *const [u64; MOST_ARGUMENTS]) -> u64 {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "mov rbx, rsp",
        "mov r12, gs:[{host}]",
        "mov gs:[{host}], rsp",
        "mov rax, rdi",
        "mov r10, rsi",
        "mov rsp, gs:[{driver}]",
        "mov rcx, rsp",
        "and rsp, -16",
        "sub rsp, 96",
        "mov [rsp + {link}], rcx",
        "movabs rcx, {mark}",
        "mov [rsp + {mark_at}], rcx",
        "mov r11, [r10 + 32]",
        "mov [rsp + 32], r11",
        "mov r11, [r10 + 40]",
        "mov [rsp + 40], r11",
        "mov r11, [r10 + 48]",
        "mov [rsp + 48], r11",
        "mov r11, [r10 + 56]",
        "mov [rsp + 56], r11",
        "mov r11, [r10 + 64]",
        "mov [rsp + 64], r11",
        "mov r11, [r10 + 72]",
        "mov [rsp + 72], r11",
        "mov rcx, [r10]",
        "mov rdx, [r10 + 8]",
        "mov r8, [r10 + 16]",
        "mov r9, [r10 + 24]",
        "call rax",
        "mov gs:[{host}], r12",
        "mov rsp, rbx",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        host = const HOST_STACK,
        driver = const DRIVER_STACK,
        link = const offset_of!(CALL_FRAME, Link),
        mark_at = const offset_of!(CALL_FRAME, Mark),
        mark = const MARK,
    )
}

/// Where every import of a driver leads, by way of a stub that puts the routine's number into r11.
///
/// The four register arguments are stored in the place that the caller keeps for them, so that all arguments lie in a
/// row: a routine may take any number. Below the return address goes what the caller keeps in its registers: the
/// [`Crossing`](super::crossing::Crossing), from which its callers are found. Then the kernel's dispatcher runs on the host's stack.
///
/// # Safety
///
/// Jumped to by a stub only, on a thread with a block at its GS base.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn import_entry() {
    naked_asm!(
        "mov [rsp + 8], rcx",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], r8",
        "mov [rsp + 32], r9",
        "push rbx",
        "push rbp",
        "push rsi",
        "push rdi",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rbp, rsp",
        // The convention wants the direction flag clear and the floating-point control as it was. The driver may have broken
        // it; the dispatcher hears of it, and does not suffer from it.
        "pushfq",
        "pop r10",
        "cld",
        "mov rax, gs:[{driver}]",
        "mov gs:[{driver}], rsp",
        "mov rsp, gs:[{host}]",
        "and rsp, -16",
        "sub rsp, 176",
        "movaps [rsp], xmm6",
        "movaps [rsp + 16], xmm7",
        "movaps [rsp + 32], xmm8",
        "movaps [rsp + 48], xmm9",
        "movaps [rsp + 64], xmm10",
        "movaps [rsp + 80], xmm11",
        "movaps [rsp + 96], xmm12",
        "movaps [rsp + 112], xmm13",
        "movaps [rsp + 128], xmm14",
        "movaps [rsp + 144], xmm15",
        "mov [rsp + 160], rax",
        "stmxcsr [rsp + 168]",
        "mov dword ptr [rsp + 172], {mxcsr}",
        "ldmxcsr [rsp + 172]",
        "mov edi, r11d",
        "lea rsi, [rbp + 72]",
        "mov rdx, [rbp + 64]",
        "mov ecx, r10d",
        "mov r8d, [rsp + 168]",
        "call {dispatch}",
        "ldmxcsr [rsp + 168]",
        "movaps xmm6, [rsp]",
        "movaps xmm7, [rsp + 16]",
        "movaps xmm8, [rsp + 32]",
        "movaps xmm9, [rsp + 48]",
        "movaps xmm10, [rsp + 64]",
        "movaps xmm11, [rsp + 80]",
        "movaps xmm12, [rsp + 96]",
        "movaps xmm13, [rsp + 112]",
        "movaps xmm14, [rsp + 128]",
        "movaps xmm15, [rsp + 144]",
        "mov r10, [rsp + 160]",
        "mov gs:[{driver}], r10",
        "mov rsp, rbp",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rdi",
        "pop rsi",
        "pop rbp",
        "pop rbx",
        "ret",
        host = const HOST_STACK,
        driver = const DRIVER_STACK,
        mxcsr = const MXCSR,
        dispatch = sym nt_machine_dispatch,
    )
}

/// `__chkstk`: touches each page of a large frame from the top, so that the guard page is met. Keeps every register; the
/// size is in rax.
///
/// # Safety
///
/// Called by compiled code only, in its own convention.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn check_stack() {
    naked_asm!(
        "push rcx",
        "push rax",
        "lea rcx, [rsp + 24]",
        "cmp rax, 0x1000",
        "jb 3f",
        "2:",
        "sub rcx, 0x1000",
        "test [rcx], cl",
        "sub rax, 0x1000",
        "cmp rax, 0x1000",
        "ja 2b",
        "3:",
        "sub rcx, rax",
        "test [rcx], cl",
        "pop rax",
        "pop rcx",
        "ret",
    )
}

/// Control flow guard's check: every target is good.
///
/// # Safety
///
/// Called by compiled code only.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn guard_check() {
    naked_asm!("ret")
}

/// Control flow guard's dispatcher: goes where rax says.
///
/// # Safety
///
/// Called by compiled code only.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn guard_dispatch() {
    naked_asm!("jmp rax")
}
