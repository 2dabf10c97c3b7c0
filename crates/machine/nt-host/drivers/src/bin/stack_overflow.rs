//! Calls itself until the stack overflows.

#![no_std]
#![no_main]

use core::hint::black_box;

use drivers::buggy;
use drivers::sys::DriverObject;

drivers::driver!(load, unload);

/// Its frame is larger than a page, so the prolog calls `__chkstk`, which touches each page of the frame.
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    // BUG
    let frame = black_box([depth; 600]);
    if depth == 0 { 0 } else { deeper(depth - 1) + frame[1] }
}

fn load(_: *mut DriverObject) -> u32 {
    black_box(deeper(if buggy() { 1000 } else { 1 }));
    0
}

fn unload() {}
