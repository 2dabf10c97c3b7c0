//! Panics in `alloc`: allocates memory with a function that does not return a failure.

#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::hint::black_box;

use drivers::buggy;
use drivers::sys::{DriverObject, ExAllocatePool2, ExFreePoolWithTag, NON_PAGED, TAG};

drivers::driver!(load, unload);

/// Unoptimised code of `alloc` refers to it. The driver never calls it.
#[unsafe(no_mangle)]
pub extern "C" fn strlen() -> usize {
    0
}

struct Pool;

// SAFETY: the pool returns memory of the requested size that nothing else uses, aligned to 16 bytes.
unsafe impl GlobalAlloc for Pool {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: flags, size and tag are valid.
        unsafe { ExAllocatePool2(NON_PAGED, layout.size(), TAG) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: `alloc` returned this memory.
        unsafe { ExFreePoolWithTag(memory, TAG) };
    }
}

#[global_allocator]
static POOL: Pool = Pool;

fn load(_: *mut DriverObject) -> u32 {
    let mut bytes: Vec<u8> = Vec::new();
    if buggy() {
        bytes.reserve(black_box(100)); // BUG
    } else if bytes.try_reserve(black_box(100)).is_err() {
        return 0xC000_009A;
    }
    bytes.push(black_box(1));
    0
}

fn unload() {}
