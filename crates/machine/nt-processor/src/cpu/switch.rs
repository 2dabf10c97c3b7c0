//! Switches between host and driver: the host calls a routine of the driver, and the driver calls an import.
//!
//! Each thread has two stacks, and a block at its GS base that says where each of them continues. Calls nest: a driver
//! calls a routine, which calls the driver back, and so on. Each crossing leaves the other stack unchanged.

use std::arch::naked_asm;
use std::mem::offset_of;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::handler::ARCH_SET_FS;
use crate::layout::{CALL_FRAME, PROCESSOR_BLOCK};

/// The maximum number of arguments of a call into a driver. All of them are always passed.
pub(crate) const MAX_ARGUMENTS: usize = 10;

/// The word that identifies a [`CALL_FRAME`].
pub(super) const MARK: u64 = 0x6B6E_694C_7473_6F48;

/// The offset from the GS base of the address where the host's stack continues.
pub const HOST_STACK: usize = offset_of!(PROCESSOR_BLOCK, HostStack);
/// The offset from the GS base of the address where the driver's stack continues.
pub const DRIVER_STACK: usize = offset_of!(PROCESSOR_BLOCK, DriverStack);

/// The offset from the GS base of the host's FS base.
const HOST_THREAD: usize = offset_of!(PROCESSOR_BLOCK, HostThread);

/// The direction flag. The calling convention requires that it is clear.
pub const DIRECTION: u32 = 0x400;
/// The alignment check flag. The calling convention requires that it is clear.
pub const ALIGNMENT_CHECK: u32 = 0x4_0000;
/// A bit that no flag has: the driver's FS base was not that of the thread, and was restored.
pub const FOREIGN_FS: u32 = 1 << 31;

/// The floating-point control of a new thread: all exceptions masked, rounding to nearest.
pub const MXCSR: u32 = 0x1F80;

/// The result of a call into the driver.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    /// rax.
    pub value: u64,
    /// The flags, with [`FOREIGN_FS`].
    pub flags: u32,
    /// The floating-point control and status.
    pub mxcsr: u32,
}

/// What receives the driver's calls, on the host's stack: the number of the routine, the address of its arguments, the
/// return address, and the driver's flags and floating-point control.
pub type Dispatch = extern "sysv64" fn(index: u32, slots: u64, from: u64, flags: u32, mxcsr: u32) -> u64;

/// The address of the [`Dispatch`] of the kernel, the layer above. [`import_entry`] calls it; a driver's call that comes
/// before it is set ends the process.
static DISPATCH: AtomicUsize = AtomicUsize::new(0);

/// Sets what receives the driver's calls.
pub fn on_call(dispatch: Dispatch) {
    DISPATCH.store((dispatch as *const ()).expose_provenance(), Ordering::Release);
}

unsafe extern "C" {
    // The linker defines both for a section whose name is an identifier.
    static __start_driver_switch: u8;
    static __stop_driver_switch: u8;
}

/// Returns whether an address is in the code that uses the driver's stack and registers as the driver has left them, so
/// that a fault there is the driver's mistake.
pub fn contains(address: u64) -> bool {
    let start = (&raw const __start_driver_switch).addr() as u64;
    let stop = (&raw const __stop_driver_switch).addr() as u64;
    (start..stop).contains(&address)
}

/// Calls `target` with `arguments` in the Windows calling convention, on the driver's stack.
///
/// # Safety
///
/// The calling thread must have a block at its GS base that holds a driver stack, and `target` must be code that
/// follows the calling convention.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub(super) unsafe extern "sysv64" fn call_driver(target: u64, arguments: *const [u64; MAX_ARGUMENTS]) -> Returned {
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
        // As in `import_entry`: the driver may return with forbidden state.
        "pushfq",
        "pop rdx",
        "cld",
        "test edx, {alignment}",
        "jnz 3f",
        "2:",
        "mov rcx, fs:[0]",
        "cmp rcx, gs:[{thread}]",
        "jne 5f",
        "4:",
        "stmxcsr [rsp]",
        "mov ecx, [rsp]",
        "shl rcx, 32",
        "mov edx, edx",
        "or rdx, rcx",
        "mov dword ptr [rsp], {mxcsr}",
        "ldmxcsr [rsp]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        "3:",
        "pushfq",
        "and dword ptr [rsp], {no_alignment}",
        "popfq",
        "jmp 2b",
        "5:",
        "mov r13, rax",
        "mov r14, rdx",
        "mov eax, {arch_prctl}",
        "mov edi, {set_fs}",
        "mov rsi, gs:[{thread}]",
        "syscall",
        "mov rsi, gs:[{thread}]",
        "mov fs:[0], rsi",
        "mov fs:[16], rsi",
        "mov rax, r13",
        "mov rdx, r14",
        "or edx, {foreign}",
        "jmp 4b",
        host = const HOST_STACK,
        driver = const DRIVER_STACK,
        thread = const HOST_THREAD,
        alignment = const ALIGNMENT_CHECK,
        no_alignment = const !ALIGNMENT_CHECK,
        arch_prctl = const libc::SYS_arch_prctl,
        set_fs = const ARCH_SET_FS,
        foreign = const FOREIGN_FS,
        mxcsr = const MXCSR,
        link = const offset_of!(CALL_FRAME, Link),
        mark_at = const offset_of!(CALL_FRAME, Mark),
        mark = const MARK,
    )
}

/// The common entry of all imports of a driver. A stub puts the routine's number into r11 and jumps here.
///
/// The four register arguments are stored in the caller's home space, so that all arguments lie in a row: a routine may
/// take any number of them. The caller's nonvolatile registers are stored below the return address. They form the
/// [`Crossing`](super::crossing::Crossing), from which the callers are found. Then the kernel's dispatcher runs on the
/// host's stack.
///
/// # Safety
///
/// Only a stub may jump here, on a thread that has a block at its GS base.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
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
        // The calling convention requires a clear direction flag and an unchanged floating-point control, and the host
        // needs its FS base and no alignment checks. The driver may have violated this: all are set to valid values, and
        // the dispatcher gets the original ones. If the load from FS faults, the signal handler restores FS.
        "pushfq",
        "pop r10",
        "cld",
        "test r10d, {alignment}",
        "jnz 3f",
        "2:",
        "mov rax, fs:[0]",
        "cmp rax, gs:[{thread}]",
        "jne 5f",
        "4:",
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
        "call qword ptr [rip + {dispatch}]",
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
        "3:",
        "pushfq",
        "and dword ptr [rsp], {no_alignment}",
        "popfq",
        "jmp 2b",
        "5:",
        "mov r12, r11",
        "mov eax, {arch_prctl}",
        "mov edi, {set_fs}",
        "mov rsi, gs:[{thread}]",
        "syscall",
        "mov rsi, gs:[{thread}]",
        "mov fs:[0], rsi",
        "mov fs:[16], rsi",
        "mov r11, r12",
        "or r10d, {foreign}",
        "jmp 4b",
        host = const HOST_STACK,
        driver = const DRIVER_STACK,
        thread = const HOST_THREAD,
        alignment = const ALIGNMENT_CHECK,
        no_alignment = const !ALIGNMENT_CHECK,
        arch_prctl = const libc::SYS_arch_prctl,
        set_fs = const ARCH_SET_FS,
        foreign = const FOREIGN_FS,
        mxcsr = const MXCSR,
        dispatch = sym DISPATCH,
    )
}

/// `__chkstk`: touches each page of a large frame from the top down, so that the guard page is hit. Preserves all
/// registers; the size of the frame is in rax.
///
/// # Safety
///
/// Must be called by compiled code only, in the calling convention of `__chkstk`.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub unsafe extern "C" fn check_stack() {
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

/// The check function of Control Flow Guard. It accepts every target.
///
/// # Safety
///
/// Must be called by compiled code only.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub unsafe extern "C" fn guard_check() {
    naked_asm!("ret")
}

/// The dispatch function of Control Flow Guard: jumps to the address in rax.
///
/// # Safety
///
/// Must be called by compiled code only.
#[unsafe(naked)]
#[unsafe(link_section = "driver_switch")]
pub unsafe extern "C" fn guard_dispatch() {
    naked_asm!("jmp rax")
}
