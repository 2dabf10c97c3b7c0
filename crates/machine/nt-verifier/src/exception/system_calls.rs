//! Stops system calls of the driver. A driver that executes a system call instruction would call Linux.
//!
//! A seccomp filter checks the address that each call comes from. Filters cannot be removed, but this process lives for
//! one driver only.

use nt_processor::image;
use nt_processor::memory::Region;

/// Offsets in `struct seccomp_data`: the architecture, and the two halves of the address after the instruction.
const ARCHITECTURE: u32 = 4;
const ADDRESS_LOW: u32 = 8;
const ADDRESS_HIGH: u32 = 12;
/// `AUDIT_ARCH_X86_64`. Calls by `int 0x80` have another value.
const X86_64: u32 = 0x3E | 3 << 30;
/// The trap number of a system call, which is not a fault of the processor.
pub(super) const NUMBER: i64 = -1;
/// The maximum number of images that get a filter: every system call passes through all filters.
const MOST: usize = 64;

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const GREATER_OR_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;

const fn step(code: u16, value: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k: value }
}

/// Stops system calls from the code of an image. Does nothing if the system does not support filters.
pub fn forbid(region: Region) {
    let end = region.base + region.size;
    // The address after the last instruction may be the end. An image that crosses a 4 GiB boundary gets no filter.
    if region.base >> 32 != end >> 32 || image::count_unloaded() >= MOST {
        return;
    }
    let high = (end >> 32) as u32;
    let low = region.base as u32;
    let end = end as u32;
    let mut filter = [
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, X86_64, 0, 6),
        step(LOAD, ADDRESS_HIGH, 0, 0),
        step(EQUAL, high, 0, 3),
        step(LOAD, ADDRESS_LOW, 0, 0),
        step(GREATER_OR_EQUAL, low, 0, 1),
        step(GREATER_OR_EQUAL, end.saturating_add(1), 0, 1),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_TRAP, 0, 0),
    ];
    install(&mut filter);
}

/// Stops system calls from code in the pool. Called for every image; only the first call has an effect.
pub fn forbid_pool(region: Region) {
    if image::count_unloaded() != 0 {
        return;
    }
    let end = region.base + region.size;
    let high = (region.base >> 32) as u32;
    let low = region.base as u32;
    let end = (end >> 32) as u32;
    let mut filter = [
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, X86_64, 0, 7),
        step(LOAD, ADDRESS_HIGH, 0, 0),
        // The last part of the range, of less than 4 GiB, is allowed: the pool is never used up.
        step(GREATER_OR_EQUAL, end, 4, 0),
        step(GREATER_OR_EQUAL, high.saturating_add(1), 4, 0),
        step(EQUAL, high, 0, 2),
        step(LOAD, ADDRESS_LOW, 0, 0),
        step(GREATER_OR_EQUAL, low, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_TRAP, 0, 0),
    ];
    install(&mut filter);
}

fn install(filter: &mut [libc::sock_filter]) {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the call takes numbers only.
    let allowed = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if allowed == 0 {
        let flags = libc::SECCOMP_FILTER_FLAG_TSYNC;
        // SAFETY: the program is complete, and the system copies it.
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    }
}
