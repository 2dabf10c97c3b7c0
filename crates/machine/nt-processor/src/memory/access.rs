//! The only code that touches guest memory.
//!
//! A guest passes untrusted addresses. Each primitive below is a few instructions long, and all of them lie in a
//! section of their own. If one of them faults, the signal handler calls [`recover`] to find out where to continue: the
//! primitive returns at once and reports the fault. Rust never sees a pointer to guest memory, so its checks for null
//! and alignment do not apply, neither in debug nor in release builds.
//!
//! Loads and stores of 1, 2, 4 and 8 bytes are single instructions: another thread sees the old value or the new one.

use std::arch::naked_asm;
use std::ptr;

use super::fault::{Access, Fault, Recovery, is_canonical};

/// The return value of a primitive, in rax and rdx.
#[repr(C)]
struct Done {
    /// The value; after a fault, the address that the processor reported.
    value: u64,
    /// 0, or a combination of [`FAULTED`], [`WROTE`] and [`NO_ADDRESS`].
    fault: u64,
}

const FAULTED: u64 = 1;
const WROTE: u64 = 2;
/// A general protection fault: the processor reports no address.
const NO_ADDRESS: u64 = 4;

macro_rules! primitives {
    ($($name:ident($($argument:ident),+): $($instruction:literal),+;)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(link_section = "guest_access")]
            unsafe extern "sysv64" fn $name($($argument: u64),+) -> Done {
                naked_asm!($($instruction,)+ "xor edx, edx", "ret")
            }
        )*
    };
}

// They are in a section of their own so that `recover` can recognise them. No primitive uses the stack, so after a
// fault the return address is still on top.
primitives! {
    load8(_from): "movzx eax, byte ptr [rdi]";
    load16(_from): "movzx eax, word ptr [rdi]";
    load32(_from): "mov eax, [rdi]";
    load64(_from): "mov rax, [rdi]";
    store8(_to, _value): "mov [rdi], sil";
    store16(_to, _value): "mov [rdi], si";
    store32(_to, _value): "mov [rdi], esi";
    store64(_to, _value): "mov [rdi], rsi";
    swap32(_at, _value): "mov eax, esi", "xchg [rdi], eax";
    swap64(_at, _value): "mov rax, rsi", "xchg [rdi], rax";
    add32(_at, _value): "mov eax, esi", "lock xadd [rdi], eax";
    add64(_at, _value): "mov rax, rsi", "lock xadd [rdi], rax";
    exchange32(_at, _old, _new): "mov eax, esi", "lock cmpxchg [rdi], edx";
    exchange64(_at, _old, _new): "mov rax, rsi", "lock cmpxchg [rdi], rdx";
    move_bytes(_to, _from, _length): "mov rcx, rdx", "rep movsb";
    fill_bytes(_to, _byte, _length): "mov rcx, rdx", "mov eax, esi", "rep stosb";
}

/// Where a primitive continues after a fault: it returns what the signal handler put into rax and rdx.
#[unsafe(naked)]
unsafe extern "sysv64" fn abandoned() {
    naked_asm!("ret")
}

unsafe extern "C" {
    // The linker defines both for a section whose name is an identifier.
    static __start_guest_access: u8;
    static __stop_guest_access: u8;
}

/// Returns how a thread continues after a fault at `rip`, or `None` if the fault was not in a primitive. `address` is
/// `None` for a general protection fault. Called by the signal handler.
pub fn recover(rip: u64, address: Option<u64>, write: bool) -> Option<Recovery> {
    let start = (&raw const __start_guest_access).addr() as u64;
    let stop = (&raw const __stop_guest_access).addr() as u64;
    if !(start..stop).contains(&rip) {
        return None;
    }
    let fault = FAULTED | if write { WROTE } else { 0 } | if address.is_none() { NO_ADDRESS } else { 0 };
    let target = (abandoned as *const ()).addr() as u64;
    Some(Recovery { target, address: address.unwrap_or_default(), fault })
}

/// Returns the value of a primitive, or its fault. `at` lists the addresses it used, for a fault without an address.
#[inline]
fn finish(done: &Done, at: &[(u64, Access)]) -> Result<u64, Fault> {
    if done.fault == 0 {
        return Ok(done.value);
    }
    if done.fault & NO_ADDRESS != 0 {
        let bad = at.iter().find(|(address, _)| !is_canonical(*address)).or(at.first());
        let (address, access) = bad.copied().unwrap_or((0, Access::Read));
        return Err(Fault { address, access });
    }
    let access = if done.fault & WROTE == 0 { Access::Read } else { Access::Write };
    Err(Fault { address: done.value, access })
}

macro_rules! primitive {
    ($name:ident($at:expr, $access:ident $(, $argument:expr)*)) => {{
        // SAFETY: the primitive accesses guest memory at an address that the guest could access itself, and a fault is
        // returned as an error. The address may belong to the host, but the guest runs in this process and could access
        // it as well.
        let done = unsafe { $name($at $(, $argument)*) };
        finish(&done, &[($at, Access::$access)])
    }};
}

/// Loads 1, 2, 4 or 8 bytes.
#[inline]
pub(super) fn load(at: u64, width: usize) -> Result<u64, Fault> {
    match width {
        1 => primitive!(load8(at, Read)),
        2 => primitive!(load16(at, Read)),
        4 => primitive!(load32(at, Read)),
        _ => primitive!(load64(at, Read)),
    }
}

/// Stores 1, 2, 4 or 8 bytes.
#[inline]
pub(super) fn store(at: u64, value: u64, width: usize) -> Result<(), Fault> {
    let done = match width {
        1 => primitive!(store8(at, Write, value)),
        2 => primitive!(store16(at, Write, value)),
        4 => primitive!(store32(at, Write, value)),
        _ => primitive!(store64(at, Write, value)),
    };
    done.map(drop)
}

/// Exchanges 4 or 8 bytes and returns the old value.
#[inline]
pub(super) fn swap(at: u64, value: u64, width: usize) -> Result<u64, Fault> {
    if width == 4 { primitive!(swap32(at, Write, value)) } else { primitive!(swap64(at, Write, value)) }
}

/// Adds to 4 or 8 bytes, wrapping, and returns the old value.
#[inline]
pub(super) fn add(at: u64, value: u64, width: usize) -> Result<u64, Fault> {
    if width == 4 { primitive!(add32(at, Write, value)) } else { primitive!(add64(at, Write, value)) }
}

/// Stores `new` into 4 or 8 bytes if their value is `old`. Returns the value before.
pub(super) fn compare_exchange(at: u64, old: u64, new: u64, width: usize) -> Result<u64, Fault> {
    if width == 4 { primitive!(exchange32(at, Write, old, new)) } else { primitive!(exchange64(at, Write, old, new)) }
}

/// Fills memory with a byte.
pub(super) fn fill(at: u64, byte: u8, length: u64) -> Result<(), Fault> {
    primitive!(fill_bytes(at, Write, byte.into(), length)).map(drop)
}

/// Copies forward, byte by byte.
pub(super) fn copy(to: u64, from: u64, length: u64) -> Result<(), Fault> {
    // SAFETY: see the macro `primitive`.
    let done = unsafe { move_bytes(to, from, length) };
    finish(&done, &[(from, Access::Read), (to, Access::Write)]).map(drop)
}

/// Copies guest memory to the host.
pub(super) fn copy_in(to: &mut [u8], from: u64) -> Result<(), Fault> {
    copy(to.as_mut_ptr().expose_provenance() as u64, from, to.len() as u64)
}

/// Copies host memory to the guest.
pub(super) fn copy_out(to: u64, from: &[u8]) -> Result<(), Fault> {
    copy(to, from.as_ptr().expose_provenance() as u64, from.len() as u64)
}

/// Returns whether memory is mapped at an address. Uses a system call, so there is no fault.
pub(super) fn is_mapped(address: u64) -> bool {
    let mut residence = 0_u8;
    let page = ptr::with_exposed_provenance_mut((address & !(super::PAGE - 1)) as usize);
    // SAFETY: the call does not read memory at the address, and there is room for its one byte of output.
    let result = unsafe { libc::mincore(page, 1, &raw mut residence) };
    result == 0
}
